"""`onepass train`: from a file to a certified model."""

from __future__ import annotations

import os
from typing import Any, cast

import click

from onepass.cli import learning as learner
from onepass.cli import reading as reader
from onepass.cli import spread, terminal


@click.command("train")
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", help="Write the model here (safetensors).")
@click.option("--force", is_flag=True, help="Overwrite OUTPUT if it is there.")
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
@click.option("--show-code", is_flag=True, help="Print the equivalent Python and stop.")
@spread.options
@learner.options
@reader.options
@terminal.talking
def command(
    paths: tuple[str, ...],
    output: str | None,
    force: bool,
    conversion: str,
    validation_fraction: float,
    stop_at: float | None,
    require_risk: float | None,
    show_code: bool,
    spreading: spread.Spreading,
    learning: dict[str, Any],
    reading: dict[str, Any],
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
      zcat part-*.gz | onepass train - --format svmlight --require-risk 0.1
      onepass train parts/*.svm --workers 4 --waves 8 -o model.safetensors

    Exit codes: 0 done, 2 wrong usage, 3 bad data, 5 --require-risk not met, 130 interrupted.
    """
    more = {"conversion": conversion, "validation_fraction": validation_fraction, "stop_at": stop_at}
    more["penalised"] = "average" if conversion == "penalised" else None
    if conversion == "validation" and not validation_fraction:
        raise click.UsageError("--conversion validation keeps rows out of the pass: add --validation-fraction 0.1")
    if spreading.asked:
        if not show_code:
            _check_output(output, force)
        spread.train(spreading, paths, output, require_risk, show_code, learning | more, reading, say)
        return
    if show_code:
        click.echo(code(paths, output, learning | more, reader.said(reading)))
        return
    from onepass.models import LinearModel

    _check_output(output, force)
    run = learner.make(learning, **more)
    with reader.opened(paths, reading) as stream:
        say.aside(f"reading {', '.join(stream.paths[:3])} as {stream.format}, compression {stream.compression}")
        feeding = learner.feed(run, stream, reading["max_bad"], say)
        notes = stream.notes
    for note in notes:
        say.aside(note)
    certificate = run.certificate()
    written = None
    if feeding.interrupted:
        say.aside(f"interrupted after {run.rows:,} rows; no model was written")
    elif output is not None:
        model = cast(LinearModel, run.model())
        model.about["reading"] = reader.remember(reading, stream)
        model.about["data"] = [_identity(known) for known in stream.identity if known is not None]
        if output == "-":
            raise click.UsageError("--output - is not supported: a model is a file")
        model.save(output)
        written = output
    result = {
        "command": "train",
        **feeding.facts(),
        "features": run.width,
        "classes": list(run.classes),
        "learner": repr(run.learner),
        "stopped": run.stopped,
        "skipped": stream.skipped,
        "certificate": certificate.as_dict(),
        "output": written,
    }
    say.result(result, lambda: _summary(result, certificate))
    seconds = feeding.seconds
    rate = stream.consumed / 1e6 / seconds
    say.aside(
        f"{seconds:.2f} s, {rate:.0f} MB/s, {run.rows / seconds:,.0f} rows/s, {learner.peak_memory():.0f} MB at most"
    )
    if feeding.interrupted:
        raise SystemExit(130)
    if require_risk is not None and not certificate.risk <= require_risk:
        say.aside(f"--require-risk {require_risk} is not met")
        raise SystemExit(5)


def _summary(result: dict[str, Any], certificate: Any) -> str:
    classes = ", ".join(reader.label_text(label) for label in result["classes"])
    lines = [
        f"{result['rows']:,} rows, {result['features']:,} features, labels {classes}",
        f"{result['learner']}: {result['mistakes']:,} mistakes in {result['rounds']:,} rounds",
    ]
    if result["stopped"]:
        lines.append("stopped: the certified risk has reached --stop-at")
    lines.append(str(certificate))
    if result["output"]:
        lines.append(f"wrote {result['output']}")
    return "\n".join(lines)


def _check_output(output: str | None, force: bool) -> None:
    """Before the run, not after an hour."""
    if output is None:
        return
    folder = os.path.dirname(output) or "."
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise click.UsageError(f"--output: the folder {folder} is not there or cannot be written to")
    if os.path.isdir(output):
        raise click.UsageError(f"--output: {output} is a folder")
    if os.path.exists(output) and not force:
        raise click.UsageError(f"--output: {output} is there already; --force overwrites it")


def _identity(known: Any) -> dict[str, Any]:
    """What tells a file from another: no path and no clock, so that the same data gives the same bytes."""
    return {"size": known.size, "ends": known.ends}


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
