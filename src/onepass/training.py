"""From a source of rows to a certified model: what the command line, Python and workers share.

`train` is the face for Python. A table's first rows settle what a run needs to know (`settled_by`); rows are fed chunk
by chunk, and what reading showed goes into the certificate (`judge`). With the same rows and options the same model,
certificate and names come out, to the last bit, whether the rows stand in a file, a frame or an Arrow stream; but the
number of rows that is expected, where it is not named, is a guess that depends on the format.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, cast

from onepass.errors import Argument, DataError, Phrase, label_text, printable
from onepass.training_result import TrainingResult, remembered, table_of

if TYPE_CHECKING:
    from onepass.io import Chunk, Stream
    from onepass.io.table_stream import TableStream
    from onepass.models import LinearModel
    from onepass.passes import Pass
    from onepass.race import Race
    from onepass.tables.plan import TablePlan

WIDEST = 1 << 24  # features, unless told otherwise
SOURCES = (
    "a path, several paths, a DataFrame (pandas, polars), a pyarrow Table, RecordBatch or RecordBatchReader, or what "
    "has __arrow_c_stream__"
)


def train(
    source: Any, target: str | int | None = None, *, learner: Any = None, race: Any = None, **options: Any
) -> TrainingResult:
    r"""Learn from a source in one pass, and say how wrong the model can be: what `onepass train` does.

    What the columns of a table are is decided by its first 256 rows, which are learned and counted by no certificate;
    where every column is declared, all rows count. Labels of numbers are floats, others text, of truths "true" and
    "false"; if all are the same, the model always says that one, and a note tells so.

    Parameters
    ----------
    source : path, paths or table
        A path, several, or a table: a DataFrame (pandas, polars; an index is no column), a pyarrow Table, RecordBatch
        or RecordBatchReader, or whatever has `__arrow_c_stream__`, such as a result of DuckDB. It is read once, in
        order, batch by batch.
    target : str, int or None, default None
        The label's column, by name or place; None: guessed (it is called target, label, class or y, or is the last and
        looks like one).
    learner : learner, class, str or None, default None
        A learner, its class or its name; None: Adaptive.
    race : str, list of str or None, default None
        Entries that learn from the same rows, of which the best certified is deployed: encodings ("plain", "bins",
        "crosses") or learners, as a list or with commas between; "off": none. None: those encodings that a table has,
        where neither a learner nor bins or crosses are named.
    \*\*options
        Of tables: categorical, numeric, text, date, ignore (lists of columns, whatever these look like), text_column,
        missing ("indicator", "zero", "error"), bits, bins, cross ("all", "job*age"). Of files: format, compression,
        threads, header, delimiter, on_error and the others of `onepass.io.open_stream`. And all of `onepass.Pass`:
        conversion, delta, expected_rows, …

    Returns
    -------
    TrainingResult
        The model, its certificate, and how they came about; `str()` is a summary.

    Raises
    ------
    DataError
        For what cannot be learned from, such as whole numbers beyond 2^53 in a table that has types.
    ValueError, TypeError
        If an option cannot be so.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow
    >>> rng = np.random.default_rng(0)
    >>> age, job = rng.integers(20, 60, 4000), rng.choice(["cook", "poet", "smith"], 4000)
    >>> people = pyarrow.table({"job": job, "age": age, "rich": np.where((job == "poet") | (age < 30), "no", "yes")})
    >>> result = train(people, target="rich")
    >>> result.table.lines()[:2]
    ['numbers: age', 'categories: job']
    >>> result.model.predict(pyarrow.table({"age": [50, 50], "job": ["poet", "cook"]})).tolist()
    ['no', 'yes']
    >>> result.certificate.informative, result.certificate.rounds
    (True, 3744)
    """
    learning, reading = _parted(options)
    if target is not None and not isinstance(target, str | int):
        kind = type(target).__name__
        raise TypeError(f"target: the name or the place of a column of the table is expected, got {kind}")
    if target is not None:
        reading["target"] = target
    learning["learner"] = learner
    learning["max_features"] = most_columns(reading.get("bits"), learning.get("max_features"))
    names = entries_asked(race, learning, reading)
    usual = {**USUAL, **encodings_for(names), "max_features": learning["max_features"]}
    with _opened(source, reading, usual) as stream:
        if _is_table(stream):
            stream.look_ahead()
        if learning.get("expected_rows") is None and _is_watched(learning):
            learning["expected_rows"] = _expected(source, stream, reading)
        if stream.table is not None:
            learning = settled_by(stream.table, learning, _place(stream))
        run = made(learning, entries_of(names, stream.table), stream.table)
        feed(run, stream)
    return _result(run, stream, reading)


def _parted(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(options of a pass, options of reading)."""
    from onepass.options import Options

    known = {one.name for one in fields(Options)} | {"classes", "origin"}
    learning = {name: value for name, value in options.items() if name in known}
    reading = {name: value for name, value in options.items() if name not in known}
    strange = [name for name in reading if name not in _reading_options()]
    if strange:
        import difflib

        near = difflib.get_close_matches(strange[0], sorted(known | _reading_options()), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"train has no option {strange[0]!r}{hint}")
    return learning, reading


def _reading_options() -> set[str]:
    from onepass.io.formats import FORMATS
    from onepass.io.sources import Limits

    own = {"format", "compression", "threads", "on_error", "quarantine"}
    return {*own, *Limits._fields, *(option for known in FORMATS.values() for option in known.options)}


def most_columns(bits: int | None, max_features: int | None) -> int:
    """How many features a pass must take: more where hashes have more places, with room for numbers beside them."""
    return max(WIDEST, max_features or 0, (1 << bits) + (1 << 16) if bits else 0)


def _is_watched(learning: Mapping[str, Any]) -> bool:
    return bool(learning.get("conversion", "frozen") == "frozen" or learning.get("watch"))


# --- sources ----------------------------------------------------------------------------------------------------------


def _opened(source: Any, reading: dict[str, Any], usual: dict[str, Any]) -> Stream | TableStream:
    """The source as chunks; `usual` are options for what is not said."""
    from onepass.tables.frames import is_table

    if is_table(source):
        return _of_table(source, reading, usual)
    from onepass.io import open_stream

    return open_stream(_paths(source), defaults=lambda format: usual, **reading)


USUAL = {"kinds": "found", "named": True}  # where nothing is said, a table's columns are what they look like


def _of_table(source: Any, reading: dict[str, Any], usual: dict[str, Any]) -> TableStream:
    from onepass.io.columns import TableOptions
    from onepass.io.table_stream import TableStream

    known = {one.name for one in fields(TableOptions) if one.init}
    strange = [name for name in reading if name not in known]
    if strange:
        raise TypeError(f"{strange[0]}: this is an option of files, and the source is a table")
    fitting = {name: value for name, value in usual.items() if name in known}
    return TableStream(source, TableOptions(**{**fitting, **reading}))


def _paths(source: Any) -> list[str | os.PathLike[str]]:
    several = list(source) if isinstance(source, list | tuple | set) else [source]
    if not several or not all(isinstance(path, str | os.PathLike) for path in several):
        hint = "; collect() it first" if type(source).__name__ == "LazyFrame" else ""
        hint = "; `OnePassClassifier` and `Pass` learn from arrays" if hasattr(source, "__array__") else hint
        raise TypeError(f"source: {SOURCES} expected, got {type(source).__name__}{hint}")
    return several


def _is_table(stream: Stream | TableStream) -> bool:
    """Whether there are first rows that settle something."""
    from onepass.io.formats import FORMATS
    from onepass.io.table_stream import TableStream

    return isinstance(stream, TableStream) or FORMATS[stream.format].table


def _place(stream: Stream | TableStream) -> str:
    return str(getattr(stream, "paths", [""])[0])


def _expected(source: Any, stream: Stream | TableStream, reading: Mapping[str, Any]) -> int | None:
    """How many rows there will be, as far as the source tells."""
    from onepass.io.row_counts import expected_rows
    from onepass.io.table_stream import TableStream

    if isinstance(stream, TableStream):
        return stream.expected_rows
    return expected_rows(_paths(source), reading.get("format"), reading.get("compression"))


# --- learning ---------------------------------------------------------------------------------------------------------


def settled_by(table: TablePlan, options: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """The options of a pass with what a table's first rows settle: how many of them no certificate may count.

    Raises DataError where the label is a quantity.
    """
    from onepass.labels import MOST

    if options.get("classes") is None and len(table.labels) > options.get("max_classes", MOST):
        raise DataError(
            f"column {printable(str(table.target))} has {len(table.labels)} different values in its first rows: "
            "classes are wanted, and this looks like a quantity",
            source=path or None,
            remedy=Phrase("another {}, or {} that allows it", Argument("target"), Argument("max_classes")),
        )
    return {**options, "uncounted_rows": max(options.get("uncounted_rows") or 0, table.looked_at)}


def entries_asked(race: Any, learning: Mapping[str, Any], reading: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The entries of a race by name, () where there is to be none; None: those encodings that a table will have.

    Whoever names a learner, an encoding or a way of learning that cannot race asks for that alone. ValueError for what
    is no race.
    """
    from onepass.race import entries_named

    if race is not None:
        return entries_named(race)
    own = learning.get("learner") in (None, "adaptive") and _is_watched(learning)
    own = own and learning.get("conversion", "frozen") == "frozen" and not learning.get("validation_fraction")
    own = own and learning.get("on_drift", "withhold") != "restart" and learning.get("origin") is None
    encoded = any(reading.get(name) for name in ("bins", "cross", "text_column"))
    return None if own and not encoded else ()


def encodings_for(names: tuple[str, ...] | None) -> dict[str, Any]:
    """How a table must be read for a race of these entries: as the widest of them needs it."""
    from onepass.tables.plan import BINS, CROSSES

    if names is None:
        return {"wide": True}
    found: dict[str, Any] = {"bins": True} if {BINS, CROSSES} & {*names} else {}
    return found | ({"cross": ("all",)} if CROSSES in names else {})


def entries_of(names: tuple[str, ...] | None, table: TablePlan | None) -> tuple[str, ...]:
    """The entries of a race once it is known what the columns are; () where nothing is to be compared."""
    if names is not None:
        return names
    own = () if table is None else table.encodings
    return own if len(own) > 1 else ()


def made(learning: Mapping[str, Any], entries: tuple[str, ...], table: TablePlan | None) -> Pass | Race:
    """The pass, or the race of several."""
    from onepass import race
    from onepass.passes import Pass

    return race.begin(entries, learning, table) if entries else Pass(**learning)


def feed(run: Pass | Race, stream: Stream | TableStream) -> None:
    """Learn all rows of a stream, or as many as `stop_at` asks for; what is wrong is said by its place."""
    for chunk in stream:
        _feed_chunk(run, stream, chunk)
        narrow(run, stream)
        if run.stopped:
            break
    judge(run, stream)


def _feed_chunk(run: Pass | Race, stream: Stream | TableStream, chunk: Chunk) -> None:
    if chunk.labels is None:
        raise DataError(
            "no labels to learn from", source=chunk.origin.path or None, remedy=Argument("target", like="NAME")
        )
    try:
        run.feed(chunk.rows, chunk.labels)
    except DataError as error:
        raise stream.located(error) from None


def narrow(run: Pass | Race, stream: Stream | TableStream) -> None:
    """Have no features made that no entry of a race sees any more; when that begins to show changes nothing."""
    from onepass.race import Race

    if isinstance(run, Race) and run.widest is not None and stream.table is not None:
        stream.narrow(run.widest)


def judge(run: Pass | Race, stream: Stream | TableStream) -> None:
    """What reading showed that the certificate must say, or must not be given for."""
    from onepass.io.table_stream import TableStream

    if isinstance(stream, TableStream):
        return
    if stream.changed:
        run.withhold(f"{stream.changed[0]} changed while it was read")
    if stream.duplicate_reason is not None:
        run.withhold(stream.duplicate_reason)
    if stream.skipped:
        run.assume(f"{stream.skipped:,} bad lines were left out, which is no fault of their labels")
    if stream.truncated:
        run.assume("the compressed stream ended early, and what was lost is no different")


# --- what comes out ---------------------------------------------------------------------------------------------------


def _result(run: Pass | Race, stream: Stream | TableStream, reading: Mapping[str, Any]) -> TrainingResult:
    from onepass.io.table_stream import TableStream

    certificate = run.certificate()
    table = table_of(run, stream.table)
    model = replace(cast("LinearModel", run.model()), table=table, names=stream.feature_names)
    if not isinstance(stream, TableStream):
        known = [one for one in stream.identity if one is not None]
        model.about["reading"] = remembered(reading, stream)
        model.about["data"] = [{"size": one.size, "ends": one.ends} for one in known]
    skipped = 0 if isinstance(stream, TableStream) else stream.skipped
    notes = [*map(str, stream.notes), *one_label(run)]
    return TrainingResult(model, certificate, run, table, tuple(notes), skipped)


def one_label(run: Pass | Race) -> list[str]:
    """A note, if there is nothing to tell apart."""
    if len(run.classes) != 1:
        return []
    return [f"all {run.rows:,} rows have the label {label_text(run.classes[0])}: the model always says it"]
