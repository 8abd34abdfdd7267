"""`onepass monitor`: a model in use against its certificate."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import click

from onepass.cli import inputs, pages, signals, terminal
from onepass.cli.deployment import DELTA
from onepass.cli.options import Sectioned, option, options_of
from onepass.cli.outputs import Outputs
from onepass.errors import DataError

if TYPE_CHECKING:
    from onepass.io import Stream
    from onepass.models import LinearModel
    from onepass.monitoring import Monitor

ALARM = 6  # the exit code


@dataclass(frozen=True)
class Watching:
    """How the model is watched, and what is kept of it."""

    state: str | None = option(
        metavar="FILE", help="Go on from this file if it is there, and write it when all is read."
    )
    delta: float | None = option(
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help=f"How probable a false alarm may be, in all.  [default: {DELTA}]",
    )
    risk: float | None = option(
        type=click.FloatRange(0, min_open=True), help="Hold the risk against this, not the certificate."
    )
    seed: int | None = option(type=click.IntRange(0), help="Breaks ties among scores.  [default: 0]")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite the page if it is there.")

    @property
    def chosen(self) -> dict[str, float | int]:
        """What was said of it."""
        given = {"delta": self.delta, "risk": self.risk, "seed": self.seed}
        return {name: value for name, value in given.items() if value is not None}


@click.command("monitor", cls=Sectioned)
@click.argument("model", type=click.Path())
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@options_of(Watching)
@inputs.options
@terminal.message_options
def command(
    model: str,
    paths: tuple[str, ...],
    watching: Watching,
    reading: inputs.Reading,
    messages: terminal.Messages,
) -> None:
    """Watch a model in use: does what was certified still hold for the rows of FILE...?

    Rows with labels are held against the certified risk and rates, all rows against the scores of training. Every alarm
    has a proved level: while all that was certified is true, one rings with probability at most --delta, however long
    the model is watched and however often one looks. Memory does not grow with the rows. Labels may be missing, but
    must not be missing by what they are.

    With --state the next run goes on where this one ended; until all is read the file stays as it was.

    \b
    Examples:
      onepass monitor model.safetensors today.csv --state watch.state
      onepass monitor model.safetensors new.svm --report page.html
      tail -f rows.jsonl | onepass monitor model.safetensors - --format jsonl --jsonl

    Exit codes: 0 no alarm, 6 an alarm, 3 bad data, 4 a bad model or state file.
    """
    from onepass.models import LinearModel

    outputs = Outputs(paths, [model])
    page = pages.check(outputs, watching.report, watching.force)
    state = outputs.check("--state", watching.state, True)
    outputs.claim("--on-error", reading.quarantine)
    with terminal.opening(model):
        found = LinearModel.load(model)
    monitor = _begun(found, watching)
    before = monitor.rows
    own = inputs.recall(found.about.get("reading"), found.table, found.features, reading)
    interruptible = signals.exiting(messages, "interrupted: nothing was written")
    with interruptible, inputs.opened(paths, reading, own, labelled=False) as stream:
        _watch(monitor, stream, reading, messages)
        if state is not None:
            with state.writing():
                monitor.save(state.path)
    result = monitor.result()
    record = {"command": "monitor", "model": model, **result.as_dict(), "resumed_after": before}
    record |= {"skipped": stream.skipped, "state": None if state is None else state.path}
    if page is not None or messages.as_objects:
        from onepass.report.monitor import path_of

        told = asdict(replace(watching, report=None, state=None)) | reading.arguments()
        made = pages.made(options=told, data=pages.identity(*stream.paths))
        record["details"] = {"path": path_of(monitor.path), **made}
        record["report"] = pages.write(record, page)
    resumed = f"going on after {before:,} rows\n" if before else ""
    messages.result(record, lambda: resumed + str(result))
    for written in (None if state is None else state.path, None if page is None else page.written):
        if written is not None:
            messages.note(f"wrote {terminal.name(written)}")
    outputs.settle()
    if result.alarms:
        raise SystemExit(ALARM)


def _begun(model: LinearModel, watching: Watching) -> Monitor:
    """The monitor, anew or from where its state file stands."""
    from onepass.monitoring import Monitor

    if watching.state is None or not os.path.exists(watching.state):
        with terminal.usage_errors(ValueError):
            return Monitor(model, **({"delta": DELTA} | watching.chosen))  # type: ignore[arg-type]
    monitor = Monitor.load(watching.state, model)
    for name, value in watching.chosen.items():
        if getattr(monitor, name) != value:
            raise click.UsageError(
                f"--{name} {value}: the state in {terminal.name(watching.state)} was begun with "
                f"{getattr(monitor, name)}; leave it out, or begin another --state"
            )
    return monitor


def _watch(monitor: Monitor, stream: Stream, reading: inputs.Reading, messages: terminal.Messages) -> None:
    """Watch every row, and tell of an alarm as soon as it rings."""
    from onepass.tables.reading import narrowed

    rang: tuple[str, ...] = monitor.alarms
    inputs.check_bad(stream, reading)
    with terminal.bar(stream.total_bytes, messages) as tick:
        for chunk in stream:
            inputs.check_bad(stream, reading)
            try:
                rows = chunk.rows if stream.table is None else narrowed(chunk.rows, monitor.model.features)
                now = monitor.observe(rows, chunk.labels)
            except DataError as error:
                raise stream.located(error) from None
            new = [name for name in now if name not in rang]
            if new and messages.as_jsonl:
                terminal.print_json({"event": "alarm", "alarms": new, "rows": monitor.rows})
            elif new:
                messages.note(f"ALARM, within the first {monitor.rows:,} rows: {', '.join(new)}")
            rang = now
            tick(stream.consumed, partial("{:,} rows".format, monitor.rows), partial(dict, rows=monitor.rows))
        inputs.check_bad(stream, reading, at_the_end=True)
