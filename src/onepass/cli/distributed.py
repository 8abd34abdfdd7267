"""`onepass train` on several machines, or several processes of this one: --dask, --workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from onepass.cli import inputs, terminal, training
from onepass.cli.options import Arguments, Size, option, options_of
from onepass.cli.outputs import Output

if TYPE_CHECKING:
    from onepass.certificates import Certificate
    from onepass.scale import Inputs, Merged, Progress


@dataclass(frozen=True)
class Distribution:
    """Over which workers to spread, if at all."""

    dask: str | None = option(
        "--dask", metavar="ADDRESS|local:N", help="Spread over the workers of this Dask scheduler."
    )
    workers: int | None = option("--workers", type=click.IntRange(1), help="Spread over N processes of this machine.")
    chunk_bytes: int = option(
        "--chunk-bytes",
        type=Size(),
        default="64MB",
        show_default=True,
        help="With --dask or --workers: size of a chunk. Each restarts the learner; it is part of the result.",
    )
    waves: int = option(
        "--waves",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="With --dask or --workers: how often chunks are merged; each wave starts from the last.",
    )
    tls_ca_file: str | None = option(
        "--tls-ca-file", metavar="FILE", help="With --dask tls://…: the authority's certificate."
    )
    tls_cert: str | None = option("--tls-cert", metavar="FILE", help="With --dask tls://…: this side's certificate.")
    tls_key: str | None = option("--tls-key", metavar="FILE", help="With --dask tls://…: this side's key.")

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
        given = {"tls_ca_file": self.tls_ca_file, "tls_cert": self.tls_cert, "tls_key": self.tls_key}
        return {name: file for name, file in given.items() if file is not None}


options = options_of(Distribution, "Several machines")


def train(
    distribution: Distribution,
    paths: tuple[str, ...],
    output: Output | None,
    options: Arguments,
    reading: inputs.Reading,
    messages: terminal.Messages,
) -> float | None:
    """Learn on the workers; print the certificate, write the model. The certified risk, if there is one."""
    _refuse(options)
    begin = time.perf_counter()
    parts = _cut(paths, distribution.chunk_bytes, reading.in_python())
    for note in parts.notes:
        messages.note(note)
    with _connected(distribution) as client:
        workers = len(client.nthreads())
        chunks = len(parts.chunks)
        messages.note(f"{_many(chunks, 'chunk')} of {parts.format}, {_many(workers, 'worker')}")
        if chunks < workers:
            messages.note(
                "too few chunks for all workers: a smaller --chunk-bytes, or more files where a file is one chunk"
            )
        merged = _learn(parts, client, distribution.waves, options, messages)
    seen = merged.rows + merged.skipped
    inputs.check_share(merged.skipped, max(seen, 1000), seen, reading.max_bad)
    certificate = merged.certificate()
    if output is not None:
        model = merged.model()
        with inputs.opened(paths, reading) as stream:  # its first rows settle what the workers found, each for itself
            next(stream)
        model.about["reading"] = inputs.remember(reading, stream, merged.skipped)
        model.about["data"] = inputs.identities(parts.identity)
        with output.writing():
            model.save(output.path, overwrite=output.overwrite)
    seconds = time.perf_counter() - begin
    outcome = merged.outcome
    result = {
        "command": "train",
        "rows": merged.rows,
        "rounds": merged.rounds,
        "mistakes": merged.mistakes,
        "bytes": parts.bytes,
        "risk": None if certificate.withheld else certificate.risk,
        "features": merged.width,
        "classes": list(merged.classes),
        "learner": repr(merged.learner),
        "stopped": False,
        "skipped": merged.skipped,
        "certificate": certificate.as_dict(),
        "output": output and output.written,
        "workers": workers,
        **outcome._asdict(),
    }
    messages.result(result, lambda: _summary(result, certificate))
    rate = (parts.bytes or 0) / 1e6 / seconds
    messages.note(f"{seconds:.2f} s, {rate:.0f} MB/s, {merged.rows / seconds:,.0f} rows/s on {workers} workers")
    return None if certificate.withheld else certificate.risk


def _summary(result: terminal.Record, certificate: Certificate) -> str:
    classes = ", ".join(inputs.label_text(label) for label in result["classes"])
    waves = f" in {result['waves']} waves, the model counts from wave {result['begin']} on" * (result["waves"] > 1)
    again, lost = result["again"], result["lost"]
    lines = [
        f"{result['rows']:,} rows, {result['features']:,} features, labels {classes}",
        f"{result['learner']}: {result['mistakes']:,} mistakes in {result['rounds']:,} rounds",
        f"{result['chunks']:,} chunks{waves}; {again:,} run again, {lost:,} worker{'s' * (lost != 1)} lost",
        str(certificate),
    ]
    if result["output"]:
        lines.append(f"wrote {terminal.name(result['output'])}")
    return "\n".join(lines)


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
    from onepass.errors import ConversionError
    from onepass.scale.tasks import refuse

    run = training.make(options)
    try:
        refuse(run.conversion, run.cutoffs, options)
    except ConversionError as error:
        raise click.UsageError(str(error)) from None


def _cut(paths: tuple[str, ...], chunk_bytes: int, given: Arguments) -> Inputs:
    from onepass.errors import DataError
    from onepass.scale import cut

    if "-" in paths:
        raise click.UsageError("stdin cannot be spread over workers: save it first")
    try:
        return cut(list(paths), chunk_bytes=chunk_bytes, **given)
    except (TypeError, ValueError, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise click.UsageError(str(error)) from None


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
    files: dict[str, str | None] = {name: distribution.tls.get(name) for name in ("tls_ca_file", "tls_cert", "tls_key")}
    if wrong := tls_faults(distribution.dask, files):
        raise click.UsageError("; ".join(f"--{name.replace('_', '-')}: {why}" for name, why in wrong.items()))
    with connect(distribution.dask, **distribution.tls) as client:
        yield client


def _learn(parts: Inputs, client: Any, waves: int, options: Arguments, messages: terminal.Messages) -> Merged:
    from onepass.errors import DataError
    from onepass.scale import learn

    latest: Progress | None = None
    try:
        with terminal.bar(parts.bytes, messages) as tick:

            def watch(progress: Progress) -> None:
                nonlocal latest
                latest = progress
                tick(progress.bytes, lambda: _note(progress), lambda: _facts(progress))

            return learn(parts, client, waves=waves, watch=watch, **options)
    except (ValueError, TypeError) as error:
        if isinstance(error, DataError):
            raise
        raise click.UsageError(str(error)) from None
    except KeyboardInterrupt:
        if latest is not None:
            messages.note(f"interrupted after {latest.done} of {latest.chunks} chunks; no model was written. So far:")
            messages.note(str(latest.certificate() or "no complete first chunk, no certificate"))
        raise


def _note(progress: Progress) -> str:
    """The right end of the bar: the certificate speaks of the longest complete prefix of the chunks."""
    certificate = progress.certificate()
    risk = "risk ≤ ?" if certificate is None else _risk(certificate)
    again = f"  {progress.again} again" * (progress.again > 0)
    chunks = f"{progress.done}/{progress.chunks} chunks"
    return f"{chunks}  {progress.rows:,} rows  {progress.mistakes:,} mistakes  {risk}{again}"


def _risk(certificate: Certificate) -> str:
    return "no certificate" if certificate.withheld else f"risk ≤ {certificate.risk:.3f}"


def _facts(progress: Progress) -> terminal.Record:
    certificate = progress.certificate()
    return {
        "done": progress.done,
        "chunks": progress.chunks,
        "wave": progress.wave,
        "rows": progress.rows,
        "mistakes": progress.mistakes,
        "bytes": progress.bytes,
        "again": progress.again,
        "risk": None if certificate is None or certificate.withheld else certificate.risk,
    }


def code(
    distribution: Distribution,
    paths: tuple[str, ...],
    output: str | None,
    options: Arguments,
    reading: inputs.Reading,
) -> str:
    """The Python that does the same."""
    import inspect

    from onepass.passes import Pass

    defaults = {name: p.default for name, p in inspect.signature(Pass).parameters.items()} | {"learner": None}
    given = "".join(f", {name}={value!r}" for name, value in options.items() if value != defaults[name])
    read = "".join(f", {name}={value!r}" for name, value in reading.in_python().items())
    tls = "".join(f", {name}={file!r}" for name, file in distribution.tls.items())
    where = f"local_workers({distribution.local})" if distribution.local else f"connect({distribution.dask!r}{tls})"
    lines = [
        f"from onepass.scale import {'local_workers' if distribution.local else 'connect'}, cut, learn",
        "",
        'if __name__ == "__main__":  # worker processes import this file',
        f"    inputs = cut({list(paths)!r}, chunk_bytes={distribution.chunk_bytes}{read})",
        f"    with {where} as client:",
        f"        merged = learn(inputs, client, waves={distribution.waves}{given})",
        "    print(merged.certificate())",
    ]
    if output:
        lines.append(f"    merged.model().save({output!r})")
    return "\n".join(lines)


def _many(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"
