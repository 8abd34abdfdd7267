"""`onepass predict`: labels for new rows, in order, as they come."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np

from onepass.cli import reading as reader
from onepass.cli import resuming, terminal
from onepass.cli.outputs import Output, Outputs
from onepass.errors import DataError
from onepass.files import replacing

if TYPE_CHECKING:
    from onepass.models import LinearModel

Sink = Callable[[list[int], Any], None]  # takes the places of the classes, and scores (None: nobody asked for them)


@click.command("predict", cls=terminal.Sectioned)
@click.argument("model", type=click.Path())
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@click.option("-o", "--output", default="-", help="Write here: .csv, .jsonl, .parquet, else plain.  [default: stdout]")
@click.option("--scores", is_flag=True, help="Also the score, or one score per class (as `inspect` lists them).")
@click.option("--force", is_flag=True, help="Overwrite OUTPUT if it is there.")
@click.option("--append", is_flag=True, help="Write behind what OUTPUT holds (not .parquet).")
@click.option(
    "--wider",
    type=click.Choice(["error", "ignore"]),
    default="error",
    show_default=True,
    help="Features beyond the model's.",
)
@reader.options
@terminal.talking
def command(
    model: str,
    paths: tuple[str, ...],
    output: str,
    scores: bool,
    force: bool,
    append: bool,
    wider: str,
    reading: dict[str, Any],
    say: terminal.Say,
) -> None:
    """Predict the label of every row of FILE..., in order; memory does not grow with the file.

    Where the rows have labels of their own, the share of wrong predictions is told on stderr. A table is read as in
    training (target, categories, …), and refused if its columns are others. --json and --jsonl tell of the run, and so
    need an --output FILE for the labels; if that ends in .jsonl, each row is an object.

    \b
    Examples:
      onepass predict model.safetensors new.svm > labels.txt
      onepass predict model.safetensors new.csv --target class --scores -o scored.csv
      zcat new.gz | onepass predict model.safetensors - --format svmlight | head
    """
    from onepass.models import LinearModel

    if output == "-" and (say.as_json or say.as_jsonl):
        raise click.UsageError("--json and --jsonl print on stdout, where the labels go: add --output FILE")
    if output == "-" and sys.stdout is None:
        raise click.UsageError("stdout is closed: --output FILE writes to a file")
    outputs = Outputs(paths, [model])
    remedy = "--force overwrites it, --append writes behind it"
    place = outputs.check("--output", output, force, append=append, remedy=remedy)
    assert place is not None
    outputs.claim("--on-error", reader.quarantine(reading))
    found = _load(model, LinearModel.load)
    classes = np.array(found.classes)
    names = [label if isinstance(label, str) else reader.label_text(label) for label in found.classes]
    kept = found.about.get("reading")
    own = reader.recall(kept, found.features, reading)
    rows = labelled = wrong = 0
    with _interruptible(say), reader.opened(paths, reading, own, labelled=False) as stream:
        reader.check_bad(stream, reading["max_bad"])  # is it a number? Before anything is written
        with _sink(place, scores, names, append) as write, terminal.bar(stream.total_bytes, say) as tick:
            for chunk in stream:
                reader.check_columns(stream, kept)
                reader.check_bad(stream, reading["max_bad"])
                given = _narrowed(chunk.rows, found.features) if wider == "ignore" else chunk.rows
                try:
                    for where, at, decision in _predicted(found, given, scores):
                        write(at.tolist(), decision)
                        known, differ = _judged(classes[at], None if chunk.labels is None else chunk.labels[where])
                        rows, labelled, wrong = rows + len(at), labelled + known, wrong + differ
                except DataError as error:
                    raise stream.located(error) from None
                tick(stream.consumed, partial("{:,} rows".format, rows), partial(dict, rows=rows))
            reader.check_bad(stream, reading["max_bad"], at_the_end=True)
    if labelled:
        say.aside(f"{wrong / labelled:.4f} of the {labelled:,} labelled rows were predicted wrong")
    if stream.skipped:
        say.aside(f"{stream.skipped:,} bad lines have no prediction, the first: {stream.faults[0]}")
    if output != "-":
        told = {"rows": rows, "labelled": labelled, "wrong": wrong, "skipped": stream.skipped}
        result = {"command": "predict", **told, "output": place.written}
        say.result(result, lambda: f"wrote {rows:,} predictions to {terminal.name(place.written)}")
    outputs.settle()


def _load(path: str, load: Callable[[str], Any]) -> Any:
    try:
        return load(path)
    except OSError as error:
        raise click.UsageError(f"{terminal.name(path)}: {error.strerror}") from None


@contextmanager
def _interruptible(say: terminal.Say) -> Iterator[None]:
    """SIGTERM cleans up as Ctrl-C does; the exit code tells which it was."""
    with resuming.attending(say) as attention:
        try:
            yield
        except KeyboardInterrupt:
            say.aside("interrupted")
            raise SystemExit(attention.status) from None


def _predicted(model: LinearModel, rows: Any, scores: bool) -> Iterator[tuple[slice, Any, Any]]:
    """(which rows, the places of their classes, their scores if they are asked for), a block of scores at a time."""
    from onepass.models import places

    if not scores:
        yield slice(None), model.chosen(rows), None
        return
    for where, decision in model.decisions(rows):
        yield where, places(decision, len(model.classes)), decision


def _judged(predicted: Any, labels: Any) -> tuple[int, int]:
    """(rows that have a label of their own, those of them that were predicted wrong)."""
    if labels is None:
        return 0, 0
    known = np.isfinite(labels) if labels.dtype.kind == "f" else labels != ""
    return int(known.sum()), int((predicted[known] != labels[known]).sum())


def _narrowed(rows: Any, features: int) -> Any:
    """The rows without the features that the model does not know."""
    from onepass.rows import Dense, Rows

    if isinstance(rows, Dense):
        return Dense(rows.values[:, :features])
    keep = rows.indices < features
    ends = np.concatenate([[0], np.cumsum(keep)])[rows.indptr]
    return Rows(ends, rows.indices[keep], rows.values[keep])


@contextmanager
def _sink(place: Output, scores: bool, names: list[str], append: bool) -> Iterator[Sink]:
    """Where predictions go. A file takes its place only when it is whole, unless it is appended to."""
    output = place.path
    kind = output.rsplit(".", 1)[-1].lower() if output != "-" else "txt"
    if kind == "parquet" and append:
        raise click.UsageError("--append: a Parquet file cannot be appended to")
    if kind != "jsonl":  # JSON can hold half of a surrogate pair, UTF-8 cannot
        names = [name.encode(errors="backslashreplace").decode() for name in names]
    begun = append and os.path.exists(output) and os.path.getsize(output) > 0
    with place.writing(), _opened(place, append) as file:
        if kind == "parquet":
            with _parquet(file, scores, names) as write:
                yield write
        else:
            if kind == "csv" and not begun:
                header = ["label", *(_columns(names) if scores else [])]
                file.write((",".join(map(_cell, header)) + "\n").encode())
            shown = [terminal.name(name) for name in names] if output == "-" and sys.stdout.isatty() else names
            yield _text(file, kind, scores, shown)


def _opened(place: Output, append: bool) -> AbstractContextManager[IO[bytes]]:
    if place.path == "-":
        return _stdout()
    return open(place.path, "ab") if append else replacing(place.path, overwrite=place.overwrite)


@contextmanager
def _stdout() -> Iterator[IO[bytes]]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where to what is left may go at exit
        if isinstance(error, BrokenPipeError):  # whoever read our output has had enough
            raise SystemExit(0) from None
        raise


def _columns(names: list[str]) -> list[str]:
    return ["score"] if len(names) == 2 else [f"score_{name}" for name in names]


def _cell(text: str) -> str:
    """The text as a cell of CSV: in quotes if it holds a comma, a quote or the end of a line.

    >>> _cell("yes, sir")
    '"yes, sir"'
    """
    row = io.StringIO()
    csv.writer(row, lineterminator="\r\n").writerow([text])
    return row.getvalue().removesuffix("\r\n")


def _text(file: IO[bytes], kind: str, scores: bool, names: list[str]) -> Sink:
    columns = _columns(names)
    if kind == "csv":
        cells = [_cell(name) for name in names]
    elif kind != "jsonl" and any({"\n", "\r"} & set(name) for name in names):
        raise click.UsageError("a label holds the end of a line: --output a .csv, .jsonl or .parquet file")
    else:
        cells = names

    def write(at: list[int], decision: Any) -> None:
        table = decision.reshape(len(at), -1).tolist() if scores else []
        if kind == "jsonl" and not scores:
            lines = [json.dumps({"label": names[i]}) for i in at]
        elif kind == "jsonl":
            lines = [
                json.dumps({"label": names[i]} | dict(zip(columns, row, strict=True)))
                for i, row in zip(at, table, strict=True)
            ]
        elif scores:
            comma = "," if kind == "csv" else " "
            lines = [comma.join([cells[i], *map(repr, row)]) for i, row in zip(at, table, strict=True)]
        else:
            lines = [cells[i] for i in at]
        file.write(("\n".join(lines) + "\n").encode())

    return write


@contextmanager
def _parquet(file: IO[bytes], scores: bool, names: list[str]) -> Iterator[Sink]:
    import pyarrow
    import pyarrow.parquet

    columns = _columns(names)
    fields = [("label", pyarrow.string()), *((name, pyarrow.float64()) for name in (columns if scores else []))]
    schema = pyarrow.schema(fields)
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:

        def write(at: list[int], decision: Any) -> None:
            table = decision.reshape(len(at), -1).T if scores else []
            parts = [[names[i] for i in at], *table]
            writer.write_table(pyarrow.table(dict(zip(schema.names, parts, strict=True)), schema=schema))

        yield write
