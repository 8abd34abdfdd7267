"""`onepass train`: from a file to a certified model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import click

from onepass.cli import (
    ahead,
    checkpoints,
    columns,
    distributed,
    expected,
    feeding,
    inputs,
    kernels,
    memory,
    pages,
    python_code,
    signals,
    terminal,
    training,
)
from onepass.cli.commands import check
from onepass.cli.options import Arguments, Named, Sectioned, Size, option, options_of
from onepass.cli.outputs import Output, Outputs
from onepass.names import CONVERSIONS, LEARNERS


@dataclass(frozen=True)
class Request:
    """What is to be made of the files, and where it goes."""

    output: str | None = option("-o", "--output", type=click.Path(), help="Write the model here (safetensors).")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite OUTPUT and the page if they are there.")
    conversion: str = option(type=Named([*CONVERSIONS]), default="frozen", help="How the hypotheses become one model.")
    validation_fraction: float = option(
        type=float, default=0.0, show_default=False, help="Rows kept out, for --conversion validation."
    )
    stop_at: float | None = option(type=float, help="Stop as soon as the certified risk is at most this.")
    require_risk: float | None = option(type=float, help="Exit with 5 unless the certified risk is at most this.")
    max_false_alarm: float | None = option(
        type=float, help="Cut the scores so that of the negative class at most this share is called positive."
    )
    max_miss: float | None = option(
        type=float, help="The same: of the positive class at most this share is called negative."
    )
    min_precision: float | None = option(
        type=float, help="The same: of what is called positive at least this share is."
    )
    cost: tuple[str, ...] = option(
        multiple=True, metavar="LABEL,PREDICTION=N", help="Certify the mean cost; may be repeated."
    )
    max_memory: int | None = option(type=Size(), help="Refuse a run that may need more.")
    dry_run: bool = option(is_flag=True, help="Check files and options, and tell what is there; learn nothing.")
    show_code: bool = option(is_flag=True, help="Print the equivalent Python and stop.")
    race: str | None = option(
        metavar="off|ENTRIES",
        help="Entries, with commas between, that learn from the same rows: encodings plain, bins, crosses, or "
        "learners; the best certified is deployed.  [default: the encodings that a table has]",
        about={"section": inputs.RACE},
    )

    def entries(self, options: Arguments, reading: inputs.Reading) -> tuple[str, ...] | None:
        """Who takes part in a race, as far as that is known before the first row."""
        from onepass.training import entries_asked

        try:
            return entries_asked(self.race, options, reading.arguments())
        except ValueError as error:
            raise click.UsageError(f"--{error}") from None

    def arguments(self) -> Arguments:
        """What a `Pass` is told of it."""
        if self.conversion == "validation" and not self.validation_fraction:
            raise click.UsageError("--conversion validation keeps rows out of the pass: add --validation-fraction 0.1")
        as_they_are = (
            *("conversion", "validation_fraction", "stop_at"),
            *("max_false_alarm", "max_miss", "min_precision"),
        )
        costs = dict(_cost(text) for text in self.cost)
        if len(costs) < len(self.cost):
            raise click.UsageError("--cost: the same label and prediction are given twice")
        return {name: getattr(self, name) for name in as_they_are} | {"cost": costs or None}


def _cost(text: str) -> tuple[tuple[float | str, float | str], float]:
    """What it costs to take one label for another.

    >>> _cost("yes,no=5")
    (('yes', 'no'), 5.0)
    """
    pair, _, amount = text.rpartition("=")
    labels = [training.label(one) for one in pair.split(",")]
    try:
        label, prediction = labels
        return (label, prediction), float(amount)
    except ValueError:
        raise click.UsageError(f"--cost {text}: LABEL,PREDICTION=NUMBER expected, such as yes,no=5") from None


@click.command("train", cls=Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@options_of(Request, "Options")
@distributed.options
@training.options
@inputs.options
@checkpoints.options
@terminal.message_options
def command(
    paths: tuple[str, ...],
    request: Request,
    distribution: distributed.Distribution,
    learning: training.Learning,
    reading: inputs.Reading,
    checkpointing: checkpoints.Checkpointing,
    messages: terminal.Messages,
) -> None:
    """Learn from FILE... in one pass, and say how wrong the model can be.

    FILE may be a path, a glob, a folder, @list.txt, or - for stdin; svmlight, Vowpal Wabbit, CSV, TSV, JSONL, Parquet,
    Arrow, npy and npz, plain or compressed, are told apart by their content.

    \b
    Examples:
      onepass train table.csv -o model.safetensors
      onepass train data.svm                  (tells, and writes nothing)
      onepass train data.svm.gz --stop-at 0.05 -o model.safetensors
      onepass train mail.csv --target class --text-column text
      onepass train bank.csv --target y --positive yes --max-false-alarm 0.01 -o model.safetensors
      onepass train bank.csv --target y --cost yes,no=5 --cost no,yes=1
      onepass train data.svm --report page.html
      onepass train big.svm.gz -o model.safetensors --checkpoint big.checkpoint --resume
      zcat part-*.gz | onepass train - --format svmlight --require-risk 0.1
      onepass train parts/*.svm --workers 4 --waves 8 -o model.safetensors

    Exit codes: 0 done, 2 wrong usage, 3 bad data, 5 --require-risk not met, 130 interrupted (143: by SIGTERM).
    """
    options = learning.arguments() | request.arguments() | {"max_features": reading.max_columns}
    if learning.bound == "dekel2008" and request.conversion == "frozen":
        raise click.UsageError("--bound dekel2008: frozen models are certified by betting; add --conversion cutoff")
    entries = request.entries(options, reading)
    if distribution.asked:
        _check_several(request, distribution, reading)
    if request.dry_run:
        training.make(options)
        check.look_through(paths, reading, messages)
        return
    if request.show_code:
        if not distribution.asked:
            options = expected.declared(options, paths, reading, messages)
        terminal.echo(
            python_code.program(paths, request.output, training.Learned(options, entries), reading, distribution)
        )
        return
    learned = training.Learned(options, entries)
    missing = kernels.tell_if_missing(messages, LEARNERS[learning.learner][1])  # before anything heavy is imported
    if distribution.asked:
        files = _files(paths, request, reading, checkpointing, messages, distribution.tls)
        plan = distributed.plan(distribution, paths, learned, reading, messages)
        result = _train_on_workers(distribution, plan, request, reading, files, messages)
    else:
        files = _files(paths, request, reading, checkpointing, messages)
        with ahead.compiling(missing and ahead.helps(paths, learning.learner, request.conversion)):
            result = _train(paths, request, learned, reading, files, messages)
    files.outputs.settle()
    if request.require_risk is not None and (result["risk"] is None or not result["risk"] <= request.require_risk):
        messages.note(f"--require-risk {request.require_risk} is not met")
        raise SystemExit(5)


def _train_on_workers(
    distribution: distributed.Distribution,
    plan: distributed.ChunkPlan,
    request: Request,
    reading: inputs.Reading,
    files: Files,
    messages: terminal.Messages,
) -> terminal.Record:
    """Learn on several workers, or find that this was done."""
    checkpointer = files.checkpointer
    if checkpointer.finished:
        checkpointer.restore(plan, reading)
        return _told(plan.paths, request, files, messages)
    trained = distributed.train(distribution, plan, reading, checkpointer, messages)
    trained.save(files.model, reading)

    def complete(result: terminal.Record) -> None:
        if files.page is not None:
            names = trained.about(reading)["reading"]
            result["details"] = pages.of_workers(trained.run, plan.paths, reading, names, plan.arguments)
            result["report"] = pages.write(result, files.page)
        checkpointer.finish(plan, result, trained.summary(result))

    return trained.conclude(files.model, messages, complete)


def _told(paths: tuple[str, ...], request: Request, files: Files, messages: terminal.Messages) -> terminal.Record:
    """What a run gave that had ended."""
    result, text = files.checkpointer.result(paths, request.output)
    pages.write(result, files.page)
    messages.result(result, lambda: text)
    return result


def _check_several(
    request: Request,
    distribution: distributed.Distribution,
    reading: inputs.Reading,
) -> None:
    """Refuse options that several workers cannot follow."""
    if request.max_memory is not None:
        raise click.UsageError("--max-memory is for one process; workers have --memory-limit, an option of Dask's")
    distributed.check(distribution, reading, request.output)


class Files(NamedTuple):
    """Where a run writes."""

    outputs: Outputs
    model: Output | None
    page: Output | None
    checkpointer: checkpoints.Checkpointer


def _files(
    paths: tuple[str, ...],
    request: Request,
    reading: inputs.Reading,
    checkpointing: checkpoints.Checkpointing,
    messages: terminal.Messages,
    read: dict[str, str] | None = None,
) -> Files:
    if request.output == "-":
        raise click.UsageError("--output - is not supported: a model is a file")
    outputs = Outputs(paths, (read or {}).values())
    outputs.claim("--output", request.output)
    checkpoints.claim(outputs, checkpointing.checkpoint)
    outputs.claim("--on-error", reading.quarantine)
    page = pages.check(outputs, request.report, request.force)
    checkpointer = checkpoints.begin(checkpointing, paths, outputs, request.force, messages)
    model = outputs.check("--output", request.output, request.force or checkpointer.wrote(request.output))
    return Files(outputs, model, page, checkpointer)


def _train(
    paths: tuple[str, ...],
    request: Request,
    learned: training.Learned,
    reading: inputs.Reading,
    files: Files,
    messages: terminal.Messages,
) -> terminal.Record:
    """Learn in this process, or find that this was done."""
    from onepass.training import entries_of, one_label

    checkpointer = files.checkpointer
    options = expected.declared(learned.options, paths, reading, messages, checkpointer)
    if checkpointer.finished:
        entries = checkpointer.raced if learned.entries is None else learned.entries
        checkpointer.restore(training.make(columns.resumed(options, checkpointer), entries), reading)
        return _told(paths, request, files, messages)
    used = training.peak_memory()
    with inputs.opened(paths, reading, learned.usual, resumed=checkpointer) as stream:
        what = terminal.name(", ".join(stream.paths[:3]))
        form = f"{stream.format}, compression {stream.compression}"
        messages.note(f"reading {what} as {form}, seed {options['seed']}")
        columns.look(stream)
        if stream.table is not None and checkpointer.found is None:
            options = columns.settled(options, stream.table, stream.paths[0], reading, messages)
        options = columns.resumed(options, checkpointer)
        run = training.make(options, entries_of(learned.entries, stream.table), stream.table)
        checkpointer.restore(run, reading)
        history = pages.watched(run, request.report, messages, checkpointer.history)
        if history is not None:
            checkpointer.looks = history.remember
        checkpointer.look_at(stream)
        limit = memory.MemoryLimit(run, stream, reading, request.max_memory, messages, used)
        trained = feeding.feed(run, stream, reading, messages, checkpointer, limit.check, history)
        notes = [*stream.notes, *one_label(run)]
    for note in notes:
        messages.note(note)
    details = None if history is None else partial(pages.of_pass, history, stream, reading, options)
    with signals.exiting(messages) as gate, gate.waiting():  # all rows are learned: what they gave is not to be lost
        result = _conclude(trained, files, reading, details, messages)
    if trained.interrupted:
        raise SystemExit(trained.status)
    return result


def _conclude(
    trained: training.LocalTraining,
    files: Files,
    reading: inputs.Reading,
    details: Callable[[], terminal.Record] | None,
    messages: terminal.Messages,
) -> terminal.Record:
    """Write model, page and checkpoint, and say what came out."""
    run, checkpointer = trained.run, files.checkpointer
    model, page = (None, None) if trained.interrupted else (files.model, files.page)
    if trained.interrupted:
        messages.note(f"interrupted after {run.rows:,} rows; neither model nor page was written")
        if checkpointer.how_to_go_on():
            messages.note(f"to go on: {checkpointer.how_to_go_on()}")
    try:
        trained.save(model, reading)
    except click.ClickException:
        checkpointer.save(run)
        raise

    def complete(result: terminal.Record) -> None:
        if details is not None:
            result["details"] = details()
            result["report"] = pages.write(result, page)
        if trained.interrupted:
            result["resume"] = checkpointer.how_to_go_on()
        else:
            checkpointer.finish(run, result, trained.summary(result))

    result = trained.conclude(model, messages, complete)
    messages.detail(
        f"learning {trained.learning:.2f} s, checkpoints {checkpointer.spent:.2f} s, reading, certificate and "
        f"model {trained.took - trained.learning - checkpointer.spent:.2f} s"
    )
    return result
