"""Tables in memory, or on their way: whatever hands out Arrow batches, and frames of pandas, batch by batch.

A column of pandas that holds several kinds of objects is taken as text, each as it would be written. What Arrow has no
kind for (periods, intervals, lists) comes as Arrow's own type, and is left out by whoever finds the kinds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from onepass.errors import DataError, Phrase, advises, printable
from onepass.tables.plan import LOOKED_AT, CellError

ROWS, CELLS = 1 << 15, 1 << 19  # of a table that are looked at at once, at most
JOINED = "join them, e.g. frame.columns = ['_'.join(map(str, names)) for names in frame.columns]"


class Batches(NamedTuple):
    """A table's names, its number of rows where that is known, and its rows as Arrow batches, once."""

    names: list[str]
    size: int | None
    batches: Iterator[Any]


def is_table(source: Any) -> bool:
    """Whether this is a table with named columns.

    >>> import pyarrow
    >>> is_table(pyarrow.table({"a": [1]})), is_table([[1.0]])
    (True, False)
    """
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__") or _is_pandas(source)


def _is_pandas(source: Any) -> bool:
    return type(source).__module__.split(".")[0] == "pandas" and hasattr(source, "columns")


def batches_of(source: Any) -> Batches:
    """The batches of a table: pyarrow's own, a frame, or anything that has `__arrow_c_stream__`. Raises DataError.

    >>> import pyarrow
    >>> names, size, batches = batches_of(pyarrow.table({"a": [1, 2], "b": ["x", "y"]}))
    >>> names, size, [batch.num_rows for batch in batches]
    (['a', 'b'], 2, [2])
    """
    import pyarrow

    if _is_pandas(source):
        return _of_pandas(source)
    try:
        if not hasattr(source, "__arrow_c_stream__"):
            source = pyarrow.Table.from_batches([pyarrow.record_batch(source)])
        reader = (
            source if isinstance(source, pyarrow.RecordBatchReader) else pyarrow.RecordBatchReader.from_stream(source)
        )
        size = len(source) if hasattr(source, "__len__") else None
    except (pyarrow.ArrowException, TypeError, NotImplementedError) as error:
        raise DataError(f"this is no table that Arrow can read: {printable(str(error))}") from None
    return Batches([str(name) for name in reader.schema.names], size, _read(reader, size))


def rows_at_once(columns: int) -> int:
    """How many rows of so many columns are looked at at once.

    >>> rows_at_once(10), rows_at_once(100), rows_at_once(10_000)
    (32768, 5242, 256)
    """
    return max(LOOKED_AT, min(ROWS, CELLS // max(1, columns)))


def _read(reader: Any, size: int | None) -> Iterator[Any]:
    """The batches, unless they are damaged, fewer than there should be, or of other columns."""
    import pyarrow

    done = 0
    try:
        for batch in reader:
            if (batch.schema.names, batch.schema.types) != (reader.schema.names, reader.schema.types):
                raise DataError(f"the Arrow stream changes its schema after {done:,} rows")
            batch.validate()  # or a batch may claim more rows than there will ever be
            done += batch.num_rows
            rows = rows_at_once(batch.num_columns)
            for start in range(0, batch.num_rows, rows):
                yield _plain(batch.slice(start, rows))
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"the Arrow stream is damaged, ends early or changes its schema after {done:,} rows: "
            f"{printable(str(error))}"
        ) from None
    if size is not None and done != size:
        raise DataError(f"the Arrow stream ends early: {done:,} rows came, and there should be {size:,}")


def _plain(batch: Any) -> Any:
    """The batch with texts of dictionaries as Arrow's functions take them: polars hands over views of them."""
    import pyarrow
    from pyarrow import types

    views = [
        place
        for place, kind in enumerate(batch.schema.types)
        if types.is_dictionary(kind) and types.is_string_view(kind.value_type)
    ]
    columns = list(batch.columns)
    for place in views:
        words = columns[place].dictionary.cast(pyarrow.string())
        columns[place] = pyarrow.DictionaryArray.from_arrays(columns[place].indices, words)
    return batch_of(batch.schema.names, columns) if views else batch


def first_rows(names: Sequence[str], batches: Iterator[Any]) -> tuple[list[Any], Iterator[Any]]:
    """(each column's first rows, which decide what it is; all batches, from the first on). Raises DataError if none."""
    import pyarrow

    held, rows = list[Any](), 0
    while rows < LOOKED_AT and (batch := next(batches, None)) is not None:
        held.append(batch)
        rows += batch.num_rows
    if not names or not rows:
        raise DataError("no examples: the table has no rows" if names else "the table has no columns")
    sample = []
    for place in range(len(names)):
        parts = [batch.column(place) for batch in held]
        whole = parts[0] if len(parts) == 1 else pyarrow.chunked_array(parts).unify_dictionaries().combine_chunks()
        sample.append(whole.slice(0, LOOKED_AT))
    return sample, itertools.chain(held, batches)


def bad_cell(cell: CellError, before: int) -> DataError:
    """What is wrong with a value, by its row in a table, of which so many came before this batch."""
    return DataError(cell.message, row=before + cell.row, remedy=without_lines(cell.remedy))


def without_lines(remedy: str | None) -> str | None:
    """A remedy where no line can be left out, since there are none."""
    if isinstance(remedy, Phrase) and advises(remedy, "on_error"):
        return Phrase("mend it, or {}", remedy.parts[-1])
    return remedy


def _of_pandas(frame: Any) -> Batches:
    if getattr(frame.columns, "nlevels", 1) > 1:
        raise DataError("the columns of the frame have several levels, so that none has a name", remedy=JOINED)
    names = [str(name) for name in frame.columns]

    def batches() -> Iterator[Any]:
        rows = rows_at_once(len(names))
        for start in range(0, len(frame), rows):
            part = frame.iloc[start : start + rows]
            yield batch_of(names, [_array(part.iloc[:, place], names[place]) for place in range(len(names))])

    return Batches(names, len(frame), batches())


def batch_of(names: Sequence[str], arrays: Sequence[Any]) -> Any:
    """A batch of these columns."""
    import pyarrow

    return pyarrow.RecordBatch.from_arrays(arrays, list(names)) if arrays else pyarrow.record_batch({})


def _array(column: Any, name: str) -> Any:
    """A column of pandas."""
    import pyarrow

    try:
        found = pyarrow.Array.from_pandas(column)
    except (pyarrow.ArrowException, TypeError, OverflowError, ValueError):
        return array_of(column.tolist(), name)
    return found.combine_chunks() if hasattr(found, "combine_chunks") else found


def array_of(values: list[Any], name: str) -> Any:
    """Values of any kind as an Arrow array: what they are where they are alike, else text; NaN is missing.

    >>> array_of([1, None, float("nan")], "a").to_pylist(), array_of([1, "a", 2.0, True, None], "a").to_pylist()
    ([1, None, None], ['1', 'a', '2', 'true', None])
    """
    import pyarrow

    try:
        return pyarrow.array(values, from_pandas=True)
    except (pyarrow.ArrowException, TypeError, OverflowError, ValueError):
        pass
    try:
        return pyarrow.array([None if _is_missing(value) else _text(value) for value in values], pyarrow.string())
    except (pyarrow.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"column {printable(name)!r} cannot be read: {printable(str(error))}") from None


def _is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has for them."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _text(value: Any) -> str:
    """A value as files have it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2.0**53:
        return str(int(value))
    return str(value).encode("utf-8", "replace").decode()
