"""`onepass train` on several machines, or several processes of this one: --dask, --workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from onepass.cli import columns, inputs, terminal, training
from onepass.cli.options import Arguments, Size, option, options_of
from onepass.cli.spelling import certified
from onepass.errors import ConversionError

if TYPE_CHECKING:
    from onepass.cli.checkpoints import Checkpointer
    from onepass.io.position import Position
    from onepass.scale.inputs import Inputs
    from onepass.scale.merged import Merged
    from onepass.scale.progress import Progress
    from onepass.scale.racing import MergedRace, WaveRace
    from onepass.scale.waves import WaveRun
    from onepass.tables.feature_names import FeatureNames
    from onepass.tables.plan import TablePlan


TLS = ("tls_ca_file", "tls_cert", "tls_key")


@dataclass(frozen=True)
class Distribution:
    """Over which workers to spread, if at all."""

    dask: str | None = option(metavar="ADDRESS|local:N", help="Spread over the workers of this Dask scheduler.")
    workers: int | None = option(type=click.IntRange(1), help="Spread over N processes of this machine.")
    chunk_bytes: int | None = option(
        type=Size(),
        help="With --dask or --workers: size of a chunk; part of the result. Default: by the files' size, up to 64 MB.",
    )
    waves: int | None = option(
        type=click.IntRange(1),
        help="With --dask or --workers: how often chunks are merged, each time for a new start. Default: up to 32.",
    )
    tls_ca_file: str | None = option(metavar="FILE", help="With --dask tls://…: the authority's certificate.")
    tls_cert: str | None = option(metavar="FILE", help="With --dask tls://…: this side's certificate.")
    tls_key: str | None = option(metavar="FILE", help="With --dask tls://…: this side's key.")

    @property
    def asked(self) -> bool:
        """Whether several workers are wanted."""
        return self.dask is not None or self.workers is not None

    @property
    def local(self) -> int | None:
        """How many processes of this machine."""
        if self.dask is not None and self.dask.startswith("local:"):
            number = self.dask.removeprefix("local:")
            if not number.isdigit() or int(number) < 1:
                raise click.UsageError(f"--dask local:N expects a positive number, got {self.dask!r}")
            return int(number)
        return self.workers

    @property
    def tls(self) -> dict[str, str]:
        """The TLS files that were given."""
        return {name: file for name in TLS if (file := getattr(self, name)) is not None}


options = options_of(Distribution, "Several machines")


class DistributedTraining(training.Training):
    """What workers have learned, merged."""

    run: Merged | MergedRace

    def __init__(
        self, run: Merged | MergedRace, start: float, parts: Inputs, paths: tuple[str, ...], workers: int
    ) -> None:
        super().__init__(run, start)
        self.parts, self.paths, self.workers = parts, paths, workers
        self.stopped = run.stopped

    @property
    def bytes(self) -> int | None:
        return self.parts.bytes

    @property
    def skipped(self) -> terminal.Record:
        return {"skipped": self.run.skipped}

    @property
    def table(self) -> TablePlan | None:
        return self.parts.table

    @property
    def feature_names(self) -> FeatureNames | None:
        return self.run.feature_names

    def about(self, reading: inputs.Reading) -> terminal.Record:
        found = inputs.Found(str(self.parts.format), self.table, self.parts.decided, self.run.skipped)
        return {
            "reading": inputs.remember(reading, found),
            "data": inputs.identities(self.parts.identity),
        }

    def more(self) -> terminal.Record:
        return {**self.raced(), "report": None, "workers": self.workers, **self.run.outcome._asdict()}

    def remarks(self, result: terminal.Record) -> list[str]:
        waves = f" in {result['waves']} waves, {self._counted(result['begin'])}" * (result["waves"] > 1)
        again, lost = result["again"], result["lost"]
        lines = [f"{result['chunks']:,} chunks{waves}; {again:,} run again, {lost:,} worker{'s' * (lost != 1)} lost"]
        if result["stopped"]:
            lines.append("stopped at the end of a wave: the certified risk has reached --stop-at")
        return [*lines, *training.race_remarks(result)]

    def _counted(self, begin: int) -> str:
        if self.run.conversion == "frozen":
            return f"the model was frozen at the end of wave {begin - 1}"
        return f"the model counts from wave {begin} on"

    def means(self) -> str:
        return f" on {self.workers} workers"


@dataclass(frozen=True)
class ChunkPlan:
    """What is to be learned, cut into chunks."""

    paths: tuple[str, ...]
    parts: Inputs
    arguments: Arguments  # of the pass
    waves: int | None
    entries: tuple[str, ...] = ()  # of a race

    @property
    def options(self) -> Arguments:
        """All that a checkpoint of the run must agree with, in plain values."""
        from onepass.scale.beginning import run_options, waves_of

        waves = self.waves or waves_of(self.parts)
        run = training.make(self.arguments, self.entries, self.parts.table)
        if not self.entries:
            return run_options(run, self.parts, waves)
        from onepass.scale.racing import race_options

        return race_options(run.entries, run_options(run.entries[0].run, self.parts, waves), run.delta, run.stop_at)

    @property
    def position(self) -> Position:
        """What a checkpoint says of the files."""
        from onepass.io.position import Position

        return Position(str(self.parts.format), identity=tuple(self.parts.identity))


def plan(
    distribution: Distribution,
    paths: tuple[str, ...],
    learned: training.Learned,
    reading: inputs.Reading,
    messages: terminal.Messages,
) -> ChunkPlan:
    """Look at the files."""
    from onepass.training import entries_of

    options = learned.options
    _refuse(options)
    parts = _cut(paths, distribution.chunk_bytes, learned.usual, reading.in_python())
    for note in parts.notes:
        messages.note(note)
    if parts.table is not None:
        options = columns.settled(options, parts.table, paths[0], reading, messages)
    entries = entries_of(learned.entries, parts.table)
    training.make(options, entries, parts.table)  # says what is wrong with them before a worker is started
    return ChunkPlan(paths, parts, options, distribution.waves, entries)


class WaveCheckpoints:
    """The checkpoint of this command, written at the end of every wave."""

    def __init__(self, checkpointer: Checkpointer, plan: ChunkPlan, reading: inputs.Reading) -> None:
        self.checkpointer, self.plan, self.reading = checkpointer, plan, reading

    def restore(self, run: WaveRun | WaveRace) -> None:
        """Bring the run to where it was; what is different about it is a usage error that names it."""
        self.checkpointer.restore(run, self.reading)

    def save(self, run: WaveRun | WaveRace) -> None:
        """A wave is done."""
        self.checkpointer.wave_done(run, self.plan.position)

    def must_fit(self) -> None:
        """Raise unless the files are those of the checkpoint, if there is one."""
        from onepass.io.position import files_differ

        position, known = self.checkpointer.position, self.plan.parts.identity
        if position is not None and (differs := files_differ(position, [one.path for one in known], [*known])):
            raise click.UsageError(f"--resume: {self.checkpointer.shown} holds another run. {differs}")


def train(
    distribution: Distribution,
    plan: ChunkPlan,
    reading: inputs.Reading,
    checkpointer: Checkpointer,
    messages: terminal.Messages,
) -> DistributedTraining:
    """Learn on the workers."""
    start, parts, checkpoints = time.perf_counter(), plan.parts, WaveCheckpoints(checkpointer, plan, reading)
    checkpoints.must_fit()
    with _connected(distribution) as client:
        workers = len(client.nthreads())
        chunks = len(parts.chunks)
        messages.note(f"{_many(chunks, 'chunk')} of {parts.format}, {_many(workers, 'worker')}")
        if chunks < workers:
            messages.note(
                "too few chunks for all workers: a smaller --chunk-bytes, or more files where a file is one chunk"
            )
        merged = _learn(plan, client, checkpoints, messages)
    seen = merged.rows + merged.skipped
    inputs.check_share(merged.skipped, max(seen, 1000), seen, reading.max_bad)
    return DistributedTraining(merged, start, parts, plan.paths, workers)


def check(distribution: Distribution, reading: inputs.Reading, output: str | None) -> None:
    """Refuse options that do not go together."""
    if distribution.dask is not None and distribution.workers is not None:
        raise click.UsageError("--dask and --workers: give one of them")
    if output == "-":
        raise click.UsageError("--output - is not supported: a model is a file")
    if reading.on_error not in ("stop", "skip"):
        raise click.UsageError("--on-error quarantine=FILE works in one process; with several workers use skip or stop")
    if distribution.tls and distribution.local is not None:
        raise click.UsageError("--tls-…: workers of this machine listen on the loopback interface only, without TLS")


def _refuse(options: Arguments) -> None:
    """What several machines cannot give, before any of them is started."""
    from onepass.scale.tasks import refuse

    run = training.make(options)
    with terminal.usage_errors(ConversionError):
        refuse(run.conversion, run.cutoffs, options)


def _cut(paths: tuple[str, ...], chunk_bytes: int | None, usual: inputs.Defaults, given: Arguments) -> Inputs:
    from onepass.scale.inputs import cut

    if "-" in paths:
        raise click.UsageError("stdin cannot be spread over workers: save it first")
    with terminal.usage_errors(TypeError, ValueError, OSError):
        return cut(list(paths), chunk_bytes=chunk_bytes, defaults=usual, **given)


@contextmanager
def _connected(distribution: Distribution) -> Iterator[Any]:
    from onepass.scale import connect, local_workers
    from onepass.scale.clusters import tls_faults

    if distribution.local is not None:
        with local_workers(distribution.local) as client:
            yield client
        return
    assert distribution.dask is not None
    if distribution.tls and distribution.dask.startswith("tcp://"):
        raise click.UsageError(f"--tls-…: {distribution.dask} is not encrypted; the address must start with tls://")
    if wrong := tls_faults(distribution.dask, {name: getattr(distribution, name) for name in TLS}):
        raise click.UsageError("; ".join(f"--{name.replace('_', '-')}: {why}" for name, why in wrong.items()))
    with connect(distribution.dask, **distribution.tls) as client:
        yield client


def _learn(
    plan: ChunkPlan, client: Any, checkpoints: WaveCheckpoints, messages: terminal.Messages
) -> Merged | MergedRace:
    from onepass.scale.learning import learn

    latest: Progress | None = None
    try:
        with terminal.usage_errors(ValueError, TypeError), terminal.bar(plan.parts.bytes, messages) as tick:

            def watch(progress: Progress) -> None:
                nonlocal latest
                latest = progress
                tick(progress.bytes, lambda: _note(progress), lambda: _facts(progress))

            how = partial(learn, waves=plan.waves, watch=watch, checkpoints=checkpoints, race=plan.entries or None)
            return how(plan.parts, client, **plan.arguments)
    except KeyboardInterrupt:
        if latest is not None:
            messages.note(f"interrupted after {latest.done} of {latest.chunks} chunks; no model was written. So far:")
            found = latest.certificate()
            messages.note("no complete first chunk, no certificate" if found is None else str(certified(found)))
            if (command := checkpoints.checkpointer.how_to_go_on()) is not None:
                messages.note(f"to go on: {command}")
        raise


def _note(progress: Progress) -> str:
    """The right end of the bar: the certificate speaks of the longest complete prefix of the chunks."""
    certificate = progress.certificate()
    risk = "risk ≤ ?" if certificate is None else training.risk_text(certificate)
    again = f"  {progress.again} again" * (progress.again > 0)
    chunks = f"{progress.done}/{progress.chunks} chunks"
    return f"{chunks}  {progress.rows:,} rows  {progress.mistakes:,} mistakes  {risk}{again}"


def _facts(progress: Progress) -> terminal.Record:
    certificate = progress.certificate()
    known = ("done", "chunks", "wave", "rows", "mistakes", "bytes", "again")
    risk = None if certificate is None or certificate.withheld else certificate.risk
    return {**{name: getattr(progress, name) for name in known}, "risk": risk}


def _many(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"
