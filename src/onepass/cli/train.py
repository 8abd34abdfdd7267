"""`onepass train`: from a file to a certified model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import click

from onepass.cli import learning as learner
from onepass.cli import memory, pages, resuming, spread, terminal
from onepass.cli import reading as reader
from onepass.cli.outputs import Output, Outputs

if TYPE_CHECKING:
    from onepass.certificates import Certificate


@click.command("train", cls=terminal.Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("-o", "--output", type=click.Path(), help="Write the model here (safetensors).")
@pages.option
@click.option("--force", is_flag=True, help="Overwrite OUTPUT and the page if they are there.")
@click.option(
    "--conversion",
    type=click.Choice(learner.CONVERSIONS),
    default="cutoff",
    show_default=True,
    help="How the hypotheses become one model.",
)
@click.option("--validation-fraction", type=float, default=0.0, help="Rows kept out, for --conversion validation.")
@click.option("--stop-at", type=float, help="Stop as soon as the certified risk is at most this.")
@click.option("--require-risk", type=float, help="Exit with 5 unless the certified risk is at most this.")
@click.option("--max-memory", type=learner.Size(), help="Refuse a run that may need more.")
@click.option("--show-code", is_flag=True, help="Print the equivalent Python and stop.")
@spread.options
@learner.options
@reader.options
@resuming.options
@terminal.talking
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
    spreading: spread.Spreading,
    learning: dict[str, Any],
    reading: dict[str, Any],
    keeping: dict[str, Any],
    say: terminal.Say,
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
    more = {"conversion": conversion, "validation_fraction": validation_fraction, "stop_at": stop_at}
    more["penalised"] = "average" if conversion == "penalised" else None
    more["max_features"] = reader.features_allowed(reading)
    quarantine = reader.quarantine(reading)
    if conversion == "validation" and not validation_fraction:
        raise click.UsageError("--conversion validation keeps rows out of the pass: add --validation-fraction 0.1")
    if spreading.asked:
        if max_memory is not None:
            raise click.UsageError("--max-memory is for one process; workers have --memory-limit, an option of Dask's")
        alone = {"--report": report, "--checkpoint": keeping["checkpoint"], "--on-error quarantine": quarantine}
        for name, given in alone.items():
            if given:
                raise click.UsageError(f"{name} is for one process: leave it out, or leave out --dask and --workers")
        spread.check(spreading, reading, output)
        if show_code:
            terminal.echo(spread.code(spreading, paths, output, learning | more, spread.asked(reading)))
            return
        outputs = Outputs(paths, spreading.tls.values())
        place = outputs.check("--output", output, force)
        risk = spread.train(spreading, paths, place, learning | more, reading, say)
        outputs.settle()
        _require(require_risk, risk, say)
        return
    if show_code:
        bad_lines = {} if reading["on_error"] == "stop" else {"on_error": "skip"}
        terminal.echo(code(paths, output, learning | more, reader.said(reading) | bad_lines))
        return
    if output == "-":
        raise click.UsageError("--output - is not supported: a model is a file")
    outputs = Outputs(paths)
    outputs.claim("--output", output)
    resuming.claim(outputs, keeping["checkpoint"])
    outputs.claim("--on-error", quarantine)
    page = pages.check(outputs, report, force)
    kept = resuming.begin(keeping, paths, outputs, force, say)
    place = outputs.check("--output", output, force or kept.wrote(output))
    run = learner.make(learning, **more)
    kept.restore(run, reading)
    if kept.finished:
        result, text = kept.result(paths, output)
        pages.write(result, page)
        say.result(result, lambda: text)
        outputs.settle()
        _require(require_risk, result["risk"], say)
        return
    shown = bool(report) or say.as_json or say.as_jsonl
    run = pages.watched(run, shown, kept.history)
    with reader.opened(paths, reading, resumed=kept) as stream:
        say.aside(
            f"reading {terminal.name(', '.join(stream.paths[:3]))} as {stream.format}, compression {stream.compression}"
        )
        kept.look_at(stream)

        look = partial(memory.check, run, stream, reading, max_memory, say, learner.peak_memory())
        feeding = learner.feed(run, stream, reading["max_bad"], say, kept, look)
        notes = stream.notes
    for note in [*notes, *_no_better_than_a_guess(run)]:
        say.aside(note)
    with resuming.attending(say) as attention:
        try:
            with attention.waiting():  # all rows are learned: what they have given is not to be lost
                certificate = _conclude(run, feeding, kept, place, page, shown, learning | more, reading, say)
        except KeyboardInterrupt:
            raise SystemExit(attention.status) from None
    if feeding.interrupted:
        raise SystemExit(feeding.status)
    outputs.settle()
    _require(require_risk, None if certificate.withheld else certificate.risk, say)


def _conclude(
    run: Any,
    feeding: learner.Feeding,
    kept: resuming.Keeper,
    output: Output | None,
    page: Output | None,
    shown: bool,
    options: dict[str, Any],
    reading: dict[str, Any],
    say: terminal.Say,
) -> Certificate:
    """Write model, page and checkpoint, and say what came out."""
    stream, certificate = feeding.stream, run.certificate()
    if feeding.interrupted:
        say.aside(f"interrupted after {run.rows:,} rows; neither model nor page was written")
        if kept.how_to_go_on():
            say.aside(f"to go on: {kept.how_to_go_on()}")
    elif output is not None:
        model = run.model()
        model.about["reading"] = reader.remember(reading, stream)
        model.about["data"] = [reader.identity(known) for known in stream.identity if known is not None]
        try:
            with output.writing():
                model.save(output.path, overwrite=output.overwrite)
        except click.ClickException:
            kept.save(run)
            raise
    result = {
        "command": "train",
        **feeding.facts(),
        "features": run.width,
        "classes": list(run.classes),
        "learner": repr(run.learner),
        "stopped": run.stopped,
        "skipped": stream.skipped,
        "skipped_lines": [str(fault) for fault in stream.faults],
        "certificate": certificate.as_dict(),
        "output": None if feeding.interrupted or output is None else output.written,
        "report": None,
    }
    seconds = feeding.seconds
    if shown:
        result["details"] = pages.of_pass(run, stream, reading, options)
        result["report"] = None if feeding.interrupted else pages.write(result, page)
    if feeding.interrupted:
        result["resume"] = kept.how_to_go_on()
    else:
        kept.finish(run, result, _summary(result, certificate))
    say.result(result, lambda: _summary(result, certificate))
    rate = (stream.consumed - feeding.begun) / 1e6 / seconds
    say.aside(
        f"{seconds:.2f} s, {rate:.0f} MB/s, {run.rows / seconds:,.0f} rows/s, {learner.peak_memory():.0f} MB at most"
    )
    say.detail(
        f"learning {feeding.learning:.2f} s, checkpoints {kept.spent:.2f} s, reading, certificate and "
        f"model {seconds - feeding.learning - kept.spent:.2f} s"
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


def _require(require_risk: float | None, risk: float | None, say: terminal.Say) -> None:
    if require_risk is not None and (risk is None or not risk <= require_risk):
        say.aside(f"--require-risk {require_risk} is not met")
        raise SystemExit(5)


def _summary(result: dict[str, Any], certificate: Any) -> str:
    classes = ", ".join(reader.label_text(label) for label in result["classes"])
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


def code(paths: tuple[str, ...], output: str | None, options: dict[str, Any], reading: dict[str, Any]) -> str:
    """The Python that does the same."""
    import inspect

    from onepass.passes import Pass

    defaults = {name: p.default for name, p in inspect.signature(Pass).parameters.items()}
    learner_name = options.pop("learner")
    given = "".join(f", {name}={value!r}" for name, value in options.items() if value != defaults[name])
    read = "".join(f", {name}={value!r}" for name, value in reading.items())
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
