"""Parquet and Arrow IPC, streamed by pyarrow batch by batch.

What the columns are is found from the first batch, or declared; see onepass.tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onepass.errors import DataError, printable
from onepass.io.blocks import Work
from onepass.io.columns import TableOptions
from onepass.io.layout import Examples, Layout, layout_of
from onepass.io.lines import BadLine, LineError, Parsed
from onepass.io.sources import Source
from onepass.rows import Dense
from onepass.tables.column_values import is_numeric, other_kind
from onepass.tables.frames import without_lines
from onepass.tables.plan import LOOKED_AT, NUMBER, CellError

CELLS = 1 << 17  # numbers in a batch: about the megabyte that text blocks have
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


@dataclass(frozen=True)
class _Table(TableOptions):
    splits = False

    def _layout(self, schema: Any, first: Any, source: Source) -> Layout:
        """By the columns of the first rows, a batch or a table."""
        sample = [_whole(column) for column in first.slice(0, LOOKED_AT).columns]
        layout = layout_of(schema.names, sample, self, source.path, source.note)
        if not layout.used:  # a batch without columns may claim any number of rows: there would be no end
            raise DataError("there is no column to read", source=source.path)
        for column in layout.plan.used:
            kind = schema.field(layout.at[column.name]).type
            plain = str(kind).startswith(("int", "uint", "double", "float", "halffloat", "string", "large_string"))
            if column.kind == NUMBER and not plain:
                source.note(f"column {column.name!r}: {kind} was read as float64")
        return layout

    def _parse(self, batch: Any, layout: Layout, start: int) -> Parsed:
        found, bad = Examples(Dense(np.zeros((0, 0))), None), list[BadLine]()
        names = [name.strip() for name in batch.schema.names]
        try:
            columns = {
                place: read_column(batch.column(names.index(layout.names[place])), layout, place)
                for place in layout.used
            }
            found = layout.examples(columns)
        except CellError as cell:
            bad.append(BadLine(cell.row, b"", LineError(cell.message, None, without_lines(cell.remedy))))
        return Parsed(found.rows, found.labels, batch.num_rows, bad, 0, start, start + batch.num_rows, None, found.met)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def read_column(column: Any, layout: Layout, place: int) -> Any:
    """The column, if it holds what it says, and numbers that float64 can hold. Raises CellError."""
    import pyarrow

    column = _whole(column)
    try:
        column.validate(full=True)
        plain = is_numeric(column.type) and not pyarrow.types.is_duration(column.type)
        if plain and layout.kinds.get(place) == NUMBER:
            column.cast(pyarrow.float64())  # exactly, or it is an error
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        name = printable(layout.names[place])
        message = f"column {name!r} cannot be read in this batch: {printable(str(error))}"
        raise CellError(0, message, None if place == layout.target else other_kind(name)) from error
    return column


@contextmanager
def _arrow_errors(source: Source) -> Iterator[None]:
    """pyarrow's errors as ours, with the file's name."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"damaged or cut short ({printable(str(error))})", source=source.path) from error


def _need_plain_file(source: Source, what: str) -> None:
    if not source.direct:
        raise DataError(
            f"{what} is read from both ends and must be a plain file", source=source.path, remedy="save it first"
        )


@dataclass(frozen=True)
class Parquet(_Table):
    """Row groups in batches, only the columns that are used. Page checksums are verified where the file has them."""

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Batches of rows."""
        from pyarrow import parquet

        _need_plain_file(source, "Parquet")
        size = source.raw.size or 0
        with _arrow_errors(source), parquet.ParquetFile(source.path, page_checksum_verification=True) as file:
            layout = self._layout(file.schema_arrow, _first_rows(file), source)
            names, done = [file.schema_arrow.names[place] for place in layout.used], 0
            groups = list(range(*(source.limits.span or (0, file.num_row_groups))))
            total = file.metadata.num_rows
            if source.limits.span is not None:
                total = sum(file.metadata.row_group(group).num_rows for group in groups)
            source.must_hold(total)
            rows = max(256, CELLS // max(1, len(names)))
            while groups and done + file.metadata.row_group(groups[0]).num_rows <= source.begin:
                done += file.metadata.row_group(groups.pop(0)).num_rows
            for batch in file.iter_batches(batch_size=rows, row_groups=groups, columns=names, use_threads=False):
                left = batch.slice(min(batch.num_rows, max(0, source.begin - done)))
                done += batch.num_rows
                if left.num_rows:
                    yield Work(
                        size * done // max(total, done), partial(self._parse, left, layout, done - left.num_rows)
                    )
        if done != total:
            raise DataError(f"{done} rows, but its footer promises {total}", source=source.path)


@dataclass(frozen=True)
class Arrow(_Table):
    """Arrow IPC, file (Feather 2) or stream."""

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Batches of rows."""
        with _arrow_errors(source):
            yield from self._file(source) if source.head.startswith(b"ARROW1") else self._stream(source)

    def _file(self, source: Source) -> Iterator[Work]:
        import pyarrow

        _need_plain_file(source, "an Arrow file (not stream)")
        size, done = source.raw.size or 0, 0
        with pyarrow.OSFile(source.path, "rb") as raw, pyarrow.ipc.open_file(raw) as reader:
            layout = self._layout(reader.schema, _first_batches(reader), source)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                yield from self._cut(
                    batch, layout, done, size * (number + 1) // reader.num_record_batches, source.begin
                )
                done += batch.num_rows
        source.must_hold(done)

    def _stream(self, source: Source) -> Iterator[Work]:
        import pyarrow

        text, done = _Reader(source), 0
        with pyarrow.ipc.open_stream(pyarrow.PythonFile(text, mode="r")) as reader:
            held, rows = list[Any](), 0
            while rows < LOOKED_AT and (batch := next(reader, None)) is not None:
                batch.validate()
                held.append(batch)
                rows += batch.num_rows
            layout = self._layout(reader.schema, pyarrow.Table.from_batches(held, reader.schema), source)
            for batch in itertools.chain(held, reader):
                yield from self._cut(batch, layout, done, source.raw.consumed, source.begin)
                done += batch.num_rows
        source.must_hold(done)
        # A stream cut between two messages reads as a whole one: only the closing mark tells.
        if text.last != END_OF_STREAM:
            raise DataError("the Arrow stream ends early: it has no end mark", source=source.path)
        if text.read(1):
            raise DataError("bytes follow the end of the Arrow stream", source=source.path)

    def _cut(self, batch: Any, layout: Layout, done: int, consumed: int, begin: int) -> Iterator[Work]:
        batch.validate()  # or a batch may claim more rows than there will ever be
        rows = max(256, CELLS // max(1, len(layout.used)))
        for start in range(max(0, begin - done), batch.num_rows, rows):
            yield Work(consumed, partial(self._parse, batch.slice(start, rows), layout, done + start))


def _first_rows(file: Any) -> Any:
    """The first rows of a Parquet file; none where it has none."""
    import pyarrow

    batches, rows = list[Any](), 0
    for batch in file.iter_batches(batch_size=LOOKED_AT, use_threads=False):
        batches.append(batch)
        rows += batch.num_rows
        if rows >= LOOKED_AT:
            break
    return pyarrow.Table.from_batches(batches, file.schema_arrow)


def _first_batches(reader: Any) -> Any:
    """The first rows of an Arrow file."""
    import pyarrow

    batches, rows = list[Any](), 0
    for number in range(reader.num_record_batches):
        batch = reader.get_batch(number)
        batch.validate()
        batches.append(batch)
        rows += batch.num_rows
        if rows >= LOOKED_AT:
            break
    return pyarrow.Table.from_batches(batches, reader.schema)


class _Reader:
    """The source's text as a file for pyarrow, with the last bytes it gave."""

    def __init__(self, source: Source) -> None:
        self._pieces, self._left = source.pieces(), b""
        self.last = b""
        self.closed = False

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only at the end."""
        parts, length = list[bytes](), 0
        while length < size:
            self._left = self._left or next(self._pieces, b"")
            if not self._left:
                break
            part, self._left = self._left[: size - length], self._left[size - length :]
            parts.append(part)
            length += len(part)
        data = b"".join(parts)
        self.last = (self.last + data[-8:])[-8:]
        return data

    def close(self) -> None:
        """Nothing to close: the source is its stream's."""
        self.closed = True
