"""`onepass train`: from a file to a certified model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from onepass.cli import checkpoints, distributed, inputs, memory, pages, signals, terminal, training
from onepass.cli.options import Arguments, Sectioned, Size
from onepass.cli.outputs import Output, Outputs
from onepass.cli.spelling import words

if TYPE_CHECKING:
    from onepass.certificates import Certificate


@click.command("train", cls=Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="Write the model here (safetensors).")
@pages.option
@click.option("--force", is_flag=True, help="Overwrite OUTPUT and the page if they are there.")
@click.option(
    "--conversion",
    type=click.Choice(training.CONVERSIONS),
    default="cutoff",
    show_default=True,
    help="How the hypotheses become one model.",
)
@click.option("--validation-fraction", type=float, default=0.0, help="Rows kept out, for --conversion validation.")
@click.option("--stop-at", type=float, help="Stop as soon as the certified risk is at most this.")
@click.option("--require-risk", type=float, help="Exit with 5 unless the certified risk is at most this.")
@click.option("--max-memory", type=Size(), help="Refuse a run that may need more.")
@click.option("--show-code", is_flag=True, help="Print the equivalent Python and stop.")
@distributed.options
@training.options
@inputs.options
@checkpoints.options
@terminal.message_options
def command(
    paths: tuple[str, ...],
    output: str | None,
    report: str | None,
    force: bool,
    conversion: str,
    validation_fraction: float,
    stop_at: float | None,
    require_risk: float | None,
    max_memory: int | None,
    show_code: bool,
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
      onepass train data.svm
      onepass train data.svm.gz --conversion penalised --stop-at 0.05 -o model.safetensors
      onepass train mail.csv --target class --text-column text --conversion penalised
      onepass train data.svm --report page.html
      onepass train big.svm.gz -o model.safetensors --checkpoint big.checkpoint --resume
      zcat part-*.gz | onepass train - --format svmlight --require-risk 0.1
      onepass train parts/*.svm --workers 4 --waves 8 -o model.safetensors

    Exit codes: 0 done, 2 wrong usage, 3 bad data, 5 --require-risk not met, 130 interrupted (143: by SIGTERM).
    """
    options = learning.arguments() | {
        "conversion": conversion,
        "validation_fraction": validation_fraction,
        "stop_at": stop_at,
        "penalised": "average" if conversion == "penalised" else None,
        "max_features": reading.max_columns,
    }
    quarantine = reading.quarantine
    if conversion == "validation" and not validation_fraction:
        raise click.UsageError("--conversion validation keeps rows out of the pass: add --validation-fraction 0.1")
    if distribution.asked:
        if max_memory is not None:
            raise click.UsageError("--max-memory is for one process; workers have --memory-limit, an option of Dask's")
        alone = {"--report": report, "--checkpoint": checkpointing.checkpoint, "--on-error quarantine": quarantine}
        for name, given in alone.items():
            if given:
                raise click.UsageError(f"{name} is for one process: leave it out, or leave out --dask and --workers")
        distributed.check(distribution, reading, output)
        if show_code:
            terminal.echo(distributed.code(distribution, paths, output, options, reading))
            return
        outputs = Outputs(paths, distribution.tls.values())
        place = outputs.check("--output", output, force)
        risk = distributed.train(distribution, paths, place, options, reading, messages)
        outputs.settle()
        _require(require_risk, risk, messages)
        return
    if show_code:
        terminal.echo(code(paths, output, options, reading))
        return
    if output == "-":
        raise click.UsageError("--output - is not supported: a model is a file")
    outputs = Outputs(paths)
    outputs.claim("--output", output)
    checkpoints.claim(outputs, checkpointing.checkpoint)
    outputs.claim("--on-error", quarantine)
    page = pages.check(outputs, report, force)
    checkpointer = checkpoints.begin(checkpointing, paths, outputs, force, messages)
    place = outputs.check("--output", output, force or checkpointer.wrote(output))
    run = training.make(options)
    checkpointer.restore(run, reading)
    if checkpointer.finished:
        result, text = checkpointer.result(paths, output)
        pages.write(result, page)
        messages.result(result, lambda: text)
        outputs.settle()
        _require(require_risk, result["risk"], messages)
        return
    shown = bool(report) or messages.as_json or messages.as_jsonl
    run = pages.watched(run, shown, checkpointer.history)
    with inputs.opened(paths, reading, resumed=checkpointer) as stream:
        messages.note(
            f"reading {terminal.name(', '.join(stream.paths[:3]))} as {stream.format}, compression {stream.compression}"
        )
        checkpointer.look_at(stream)

        look = partial(memory.check, run, stream, reading, max_memory, messages, training.peak_memory())
        trained = training.feed(run, stream, reading, messages, checkpointer, look)
        notes = stream.notes
    for note in [*notes, *_no_better_than_a_guess(run)]:
        messages.note(note)
    with signals.gate(messages.quiet) as gate:
        try:
            with gate.waiting():  # all rows are learned: what they have given is not to be lost
                certificate = _conclude(run, trained, checkpointer, place, page, shown, options, reading, messages)
        except KeyboardInterrupt:
            raise SystemExit(gate.status) from None
    if trained.interrupted:
        raise SystemExit(trained.status)
    outputs.settle()
    _require(require_risk, None if certificate.withheld else certificate.risk, messages)


def _conclude(
    run: Any,
    trained: training.Training,
    checkpointer: checkpoints.Checkpointer,
    output: Output | None,
    page: Output | None,
    shown: bool,
    options: Arguments,
    reading: inputs.Reading,
    messages: terminal.Messages,
) -> Certificate:
    """Write model, page and checkpoint, and say what came out."""
    stream, certificate = trained.stream, run.certificate()
    if trained.interrupted:
        messages.note(f"interrupted after {run.rows:,} rows; neither model nor page was written")
        if checkpointer.how_to_go_on():
            messages.note(f"to go on: {checkpointer.how_to_go_on()}")
    elif output is not None:
        model = run.model()
        model.about["reading"] = inputs.remember(reading, stream)
        model.about["data"] = inputs.identities(stream.identity)
        try:
            with output.writing():
                model.save(output.path, overwrite=output.overwrite)
        except click.ClickException:
            checkpointer.save(run)
            raise
    result = {
        "command": "train",
        **trained.facts(),
        "features": run.width,
        "classes": list(run.classes),
        "learner": repr(run.learner),
        "stopped": run.stopped,
        "skipped": stream.skipped,
        "skipped_lines": [words(fault) for fault in stream.faults],
        "certificate": certificate.as_dict(),
        "output": None if trained.interrupted or output is None else output.written,
        "report": None,
    }
    seconds = trained.seconds
    if shown:
        result["details"] = pages.of_pass(run, stream, reading, options)
        result["report"] = None if trained.interrupted else pages.write(result, page)
    if trained.interrupted:
        result["resume"] = checkpointer.how_to_go_on()
    else:
        checkpointer.finish(run, result, _summary(result, certificate))
    messages.result(result, lambda: _summary(result, certificate))
    rate = (stream.consumed - trained.begun) / 1e6 / seconds
    messages.note(
        f"{seconds:.2f} s, {rate:.0f} MB/s, {run.rows / seconds:,.0f} rows/s, {training.peak_memory():.0f} MB at most"
    )
    messages.detail(
        f"learning {trained.learning:.2f} s, checkpoints {checkpointer.spent:.2f} s, reading, certificate and "
        f"model {seconds - trained.learning - checkpointer.spent:.2f} s"
    )
    return cast("Certificate", certificate)


def _no_better_than_a_guess(run: Any) -> list[str]:
    """A note, if the most frequent label alone would have made fewer mistakes."""
    seen = run.guards.order.seen
    if seen.sum() < 100 or run.mistakes / max(run.rounds, 1) < (share := 1.0 - seen.max() / seen.sum()):
        return []
    return [
        f"always saying the most frequent label would err in {share:.1%} of the rows, and this learner erred in "
        f"{run.mistakes / max(run.rounds, 1):.1%}: are some columns far larger than others? Scale them, or try another "
        "--learner"
    ]


def _require(require_risk: float | None, risk: float | None, messages: terminal.Messages) -> None:
    if require_risk is not None and (risk is None or not risk <= require_risk):
        messages.note(f"--require-risk {require_risk} is not met")
        raise SystemExit(5)


def _summary(result: terminal.Record, certificate: Certificate) -> str:
    classes = ", ".join(inputs.label_text(label) for label in result["classes"])
    lines = [
        f"{result['rows']:,} rows, {result['features']:,} features, labels {classes}",
        f"{result['learner']}: {result['mistakes']:,} mistakes in {result['rounds']:,} rounds",
    ]
    if result["skipped"]:
        lines.append(f"left out {result['skipped']:,} bad lines, the first: {result['skipped_lines'][0]}")
    if result["stopped"]:
        lines.append("stopped: the certified risk has reached --stop-at")
    lines.append(str(certificate))
    lines += [f"wrote {terminal.name(result[name])}" for name in ("output", "report") if result[name]]
    return "\n".join(lines)


def code(paths: tuple[str, ...], output: str | None, options: Arguments, reading: inputs.Reading) -> str:
    """The Python that does the same."""
    import inspect

    from onepass.passes import Pass

    defaults = {name: p.default for name, p in inspect.signature(Pass).parameters.items()}
    learner_name = options.pop("learner")
    given = "".join(f", {name}={value!r}" for name, value in options.items() if value != defaults[name])
    read = "".join(f", {name}={value!r}" for name, value in reading.in_python().items())
    files = repr(list(paths) if len(paths) > 1 else paths[0])
    lines = [
        "from onepass import Pass",
        "from onepass.io import open_stream",
        "",
        f"run = Pass({learner_name!r}{given})",
        f"with open_stream({files}{read}) as stream:",
        "    for rows, labels, origin in stream:",
        "        run.feed(rows, labels)",
    ]
    if options["stop_at"] is not None:
        lines += ["        if run.stopped:", "            break"]
    lines.append("print(run.certificate())")
    if output:
        lines.append(f"run.model().save({output!r})")
    return "\n".join(lines)
