"""`onepass predict`: labels for new rows, in order, as they come."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from onepass.cli import inputs, signals, terminal
from onepass.cli.deployment import PassingWatch
from onepass.cli.options import Sectioned, option, options_of
from onepass.cli.outputs import Output, Outputs
from onepass.cli.spelling import words
from onepass.errors import DataError
from onepass.files import replacing
from onepass.tables.plan import listed

if TYPE_CHECKING:
    from onepass.io import Stream
    from onepass.io.chunk import Labels
    from onepass.models import LinearModel
    from onepass.rows import AnyRows, Floats, Ints

Sink = Callable[[list[int], "Floats | None"], None]  # takes the places of the classes, and numbers if some are wanted
NOTHING = -1  # in place of a class: a bad line, which has no prediction


@dataclass(frozen=True)
class Prediction:
    """What is written of every row, and where."""

    output: str = option(
        "-o",
        "--output",
        default="-",
        show_default=False,
        help="Write here: .csv, .jsonl, .parquet, else plain.  [default: stdout]",
    )
    scores: bool = option(is_flag=True, help="Also the score, or one score per class (as `inspect` lists them).")
    proba: bool = option(is_flag=True, help="Also how probable each class is, for models of watched scores.")
    force: bool = option(is_flag=True, help="Overwrite OUTPUT if it is there.")
    append: bool = option(is_flag=True, help="Write behind what OUTPUT holds (not .parquet).")
    wider: str = option(type=click.Choice(["error", "ignore"]), default="error", help="Features beyond the model's.")

    def columns(self, names: list[str]) -> list[str]:
        """The names of the numbers beside each label: scores, then probabilities."""
        scores = ["score"] if len(names) == 2 else [f"score_{name}" for name in names]
        return scores * self.scores + [f"proba_{name}" for name in names] * self.proba


class PredictionCount(NamedTuple):
    """Rows that were predicted, those of them that had a label of their own, and those that were predicted wrong."""

    rows: int = 0
    labelled: int = 0
    wrong: int = 0
    unmet: int = 0  # values in them, categories and words, that the model never met
    other_labels: int = 0  # rows whose label is none of the model's classes

    def and_more(self, rows: int, labelled: int, wrong: int) -> PredictionCount:
        """With these rows besides."""
        return self._replace(rows=self.rows + rows, labelled=self.labelled + labelled, wrong=self.wrong + wrong)


@click.command("predict", cls=Sectioned)
@click.argument("model", type=click.Path())
@click.argument("paths", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@options_of(Prediction)
@inputs.options
@terminal.message_options
def command(
    model: str,
    paths: tuple[str, ...],
    prediction: Prediction,
    reading: inputs.Reading,
    messages: terminal.Messages,
) -> None:
    """Predict the label of every row of FILE..., in order; memory does not grow with the file.

    Where the rows have labels of their own, the share of wrong predictions is told on stderr. The columns of a table
    are found by name, in whatever order; others are named and left out, and missing ones are an error. With --on-error
    skip a bad line has an empty prediction, so that rows and predictions stay side by side. --json and --jsonl tell of
    the run, and so need an --output FILE for the labels; if that ends in .jsonl, each row is an object.

    A model that was trained for a target (--max-false-alarm, …) predicts by its threshold. Probabilities say what came
    of rows with such scores in training, after the model was frozen; the label is the most probable class, unless it is
    given by a threshold.

    \b
    Examples:
      onepass predict model.safetensors new.svm > labels.txt
      onepass predict model.safetensors new.csv --target class --scores -o scored.csv
      onepass predict model.safetensors new.csv --proba -o probable.parquet
      zcat new.gz | onepass predict model.safetensors - --format svmlight | head
    """
    from onepass.models import LinearModel

    outputs = Outputs(paths, [model])
    place = _place(outputs, prediction, messages)
    outputs.claim("--on-error", reading.quarantine)
    with terminal.opening(model):
        found = LinearModel.load(model)
    if prediction.proba:
        _check_probable(found, messages)
    own = inputs.recall(found.about.get("reading"), found.table, found.features, reading)
    interruptible = signals.exiting(messages, "interrupted")  # SIGTERM cleans up as Ctrl-C does
    with interruptible, inputs.opened(paths, reading, own, labelled=False) as stream:
        watch = PassingWatch(found)
        tally = _predict(found, stream, place, prediction, reading, messages, watch)
    if place.path == "-" and (prediction.scores or prediction.proba):
        shown = [inputs.label_text(label) for label in found.classes]
        messages.note(f"columns, with spaces between: label {' '.join(prediction.columns(shown))}")
    if tally.labelled:
        messages.note(
            f"{tally.wrong / tally.labelled:.4f} of the {tally.labelled:,} labelled rows were predicted wrong"
        )
    if tally.other_labels:
        messages.note(f"{tally.other_labels:,} of them have a label that is none of the model's classes")
    if stream.unused_columns:
        messages.note(f"columns that the model does not know: {listed(stream.unused_columns)}")
    if tally.unmet:
        messages.note(f"{tally.unmet:,} values, categories or words, were never met in training and count for nothing")
    if (line := watch.line()) is not None:
        messages.note(line)
    if stream.skipped:
        bad = "1 bad line has" if stream.skipped == 1 else f"{stream.skipped:,} bad lines have"
        messages.note(f"{bad} an empty prediction, the first: {words(stream.faults[0])}")
    if place.path != "-":
        result = {"command": "predict", **tally._asdict(), "skipped": stream.skipped, "output": place.written}
        result["monitor"] = watch.record()
        messages.result(result, lambda: f"wrote {tally.rows:,} predictions to {terminal.name(place.written)}")
    outputs.settle()


def _check_probable(model: LinearModel, messages: terminal.Messages) -> None:
    """Refuse to give probabilities that nothing stands behind."""
    if model.calibration is None and len(model.classes) > 1:
        raise click.UsageError(
            "--proba: this model has no probabilities: they are made from the scores of a watched model on later rows; "
            "train with --conversion frozen, on more than 8 rows"
        )
    if model.calibration is not None and model.calibration.fallback:
        messages.note("no row came after this model was frozen: its probabilities are only its scores, squashed")


def _place(outputs: Outputs, prediction: Prediction, messages: terminal.Messages) -> Output:
    """Where predictions go, as far as that can be known before the model is."""
    if prediction.output == "-" and messages.as_objects:
        raise click.UsageError("--json and --jsonl print on stdout, where the labels go: add --output FILE")
    if prediction.output == "-" and sys.stdout is None:
        raise click.UsageError("stdout is closed: --output FILE writes to a file")
    remedy = "--force overwrites it, --append writes behind it"
    place = outputs.check("--output", prediction.output, prediction.force, append=prediction.append, remedy=remedy)
    assert place is not None
    return place


def _predict(
    model: LinearModel,
    stream: Stream,
    place: Output,
    prediction: Prediction,
    reading: inputs.Reading,
    messages: terminal.Messages,
    watch: PassingWatch,
) -> PredictionCount:
    """Write what the model says of every row."""
    from onepass.tables.reading import narrowed

    classes, tally = np.array(model.classes), PredictionCount()
    names = [inputs.label_text(label) if not isinstance(label, str) else label for label in model.classes]
    inputs.check_bad(stream, reading)  # is it a number? Before anything is written
    with _sink(place, prediction, names) as write, terminal.bar(stream.total_bytes, messages) as tick:
        for chunk in stream:
            inputs.check_bad(stream, reading)
            lenient = prediction.wider == "ignore" or stream.table is not None
            given = narrowed(chunk.rows, model.features) if lenient else chunk.rows
            unmet = _unmet(model, chunk.rows) if stream.table is not None else 0
            try:
                for where, at, numbers in _predicted(model, given, prediction):
                    write(*_with_gaps(at, numbers, where, stream.gaps, chunk.size))
                    known, differ = _judged(classes[at], None if chunk.labels is None else chunk.labels[where])
                    tally = tally.and_more(len(at), known, differ)
                other = tally.other_labels + _others(classes, chunk.labels)
                tally = tally._replace(unmet=tally.unmet + unmet, other_labels=other)
                watch.observe(given, chunk.labels)
            except DataError as error:
                raise stream.located(error) from None
            tick(stream.consumed, partial("{:,} rows".format, tally.rows), partial(dict, rows=tally.rows))
        inputs.check_bad(stream, reading, at_the_end=True)
        if stream.gaps:
            write([NOTHING] * len(stream.gaps), np.full((len(stream.gaps), len(prediction.columns(names))), np.nan))
    return tally


def _with_gaps(
    at: Ints, numbers: Floats | None, where: slice, gaps: list[int], size: int
) -> tuple[list[int], Floats | None]:
    """Predictions of these rows of a chunk of this size, with nothing where bad lines stood before them."""
    first, last, _ = where.indices(size)
    here = [row - first for row in gaps if first <= row < last or row == last == size]
    if not here:
        return at.tolist(), numbers
    return np.insert(at, here, NOTHING).tolist(), None if numbers is None else np.insert(numbers, here, np.nan, axis=0)


def _predicted(
    model: LinearModel, rows: AnyRows, prediction: Prediction
) -> Iterator[tuple[slice, Ints, Floats | None]]:
    """(which rows, the places of their classes, numbers if they are asked for), a block of scores at a time."""
    from onepass.models import places

    if not (prediction.scores or prediction.proba):
        yield slice(None), model.chosen(rows), None
        return
    for where, decision in model.decisions(rows):
        parts = [decision.reshape(len(decision), -1)] if prediction.scores else []
        parts += [model.probability(decision)] if prediction.proba else []
        yield where, places(decision, len(model.classes), model.cut), np.hstack(parts)


def _unmet(model: LinearModel, rows: AnyRows) -> int:
    """How many values in these rows the model never met."""
    from onepass.rows import Rows

    return model.names.unmet(rows.indices) if model.names is not None and isinstance(rows, Rows) else 0


def _others(classes: Labels, labels: Labels | None) -> int:
    """How many rows have a label that is none of the classes."""
    return 0 if labels is None else int((_labelled(labels) & ~np.isin(labels, classes)).sum())


def _labelled(labels: Labels) -> npt.NDArray[np.bool_]:
    """Which rows have a label of their own."""
    return np.asarray(np.isfinite(labels) if labels.dtype.kind == "f" else labels != "")


def _judged(predicted: Labels, labels: Labels | None) -> tuple[int, int]:
    """(rows that have a label of their own, those of them that were predicted wrong)."""
    if labels is None:
        return 0, 0
    known = _labelled(labels)
    return int(known.sum()), int((predicted[known] != labels[known]).sum())


@contextmanager
def _sink(place: Output, prediction: Prediction, names: list[str]) -> Iterator[Sink]:
    """Where predictions go. A file takes its place only when it is whole, unless it is appended to."""
    output, append = place.path, prediction.append
    kind = output.rsplit(".", 1)[-1].lower() if output != "-" else "txt"
    if kind == "parquet" and append:
        raise click.UsageError("--append: a Parquet file cannot be appended to")
    if kind != "jsonl":  # JSON can hold half of a surrogate pair, UTF-8 cannot
        names = [name.encode(errors="backslashreplace").decode() for name in names]
    columns = prediction.columns(names)
    begun = append and os.path.exists(output) and os.path.getsize(output) > 0
    with place.writing(), _opened(place, append) as file:
        if kind == "parquet":
            with _parquet(file, names, columns) as write:
                yield write
        else:
            if kind == "csv" and not begun:
                file.write((",".join(map(_cell, ["label", *columns])) + "\n").encode())
            shown = [terminal.name(name) for name in names] if output == "-" and sys.stdout.isatty() else names
            yield _text(file, kind, shown, columns)


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


def _cell(text: str) -> str:
    """The text as a cell of CSV: in quotes if it holds a comma, a quote or the end of a line.

    >>> _cell("yes, sir")
    '"yes, sir"'
    """
    row = io.StringIO()
    csv.writer(row, lineterminator="\r\n").writerow([text])
    return row.getvalue().removesuffix("\r\n")


def _text(file: IO[bytes], kind: str, names: list[str], columns: list[str]) -> Sink:
    if kind not in ("csv", "jsonl") and any({"\n", "\r"} & set(name) for name in names):
        raise click.UsageError("a label holds the end of a line: --output a .csv, .jsonl or .parquet file")
    comma = "," if kind == "csv" else " "
    cells = [_cell(name) for name in names] if kind == "csv" else names
    empty = comma.join(['""' if kind == "csv" else "", *[""] * len(columns)])  # a line of nothing at all is none in CSV
    if kind == "jsonl":
        empty = json.dumps(dict.fromkeys(["label", *columns]))

    def line(i: int, row: Sequence[float] = ()) -> str:
        if i == NOTHING:
            return empty
        if kind == "jsonl":
            return json.dumps({"label": names[i]} | dict(zip(columns, row, strict=True)))
        return comma.join([cells[i], *map(repr, row)])

    labels = {i: line(i) for i in range(NOTHING, len(names)) if not columns}

    def write(at: list[int], numbers: Floats | None) -> None:
        if not columns:
            lines = [labels[i] for i in at]
        else:
            assert numbers is not None
            lines = [line(i, row) for i, row in zip(at, numbers.tolist(), strict=True)]
        file.write(("\n".join(lines) + "\n").encode())

    return write


@contextmanager
def _parquet(file: IO[bytes], names: list[str], columns: list[str]) -> Iterator[Sink]:
    import pyarrow
    import pyarrow.parquet

    fields = [("label", pyarrow.string()), *((name, pyarrow.float64()) for name in columns)]
    schema = pyarrow.schema(fields)
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:

        def write(at: list[int], numbers: Floats | None) -> None:
            table: Iterable[Floats] = numbers.T if numbers is not None else ()
            parts = [[None if i == NOTHING else names[i] for i in at], *table]
            writer.write_table(pyarrow.table(dict(zip(schema.names, parts, strict=True)), schema=schema))

        yield write
