"""Parquet and Arrow IPC, streamed by pyarrow batch by batch.

Integers, floats, booleans and decimals become float64 (exactly, or it is an error); dictionaries are read as what they
stand for; dates, lists and other nested types are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onepass.errors import DataError, printable
from onepass.io.blocks import Work
from onepass.io.chunk import Labels
from onepass.io.columns import EMPTY, NUMBER, TEXT, CellError, ColumnPlan, TableOptions, examples, make_plan
from onepass.io.lines import BadLine, LineError, Parsed
from onepass.io.sources import Source
from onepass.rows import AnyRows, Dense

CELLS = 1 << 17  # numbers in a batch: about the megabyte that text blocks have
END_OF_STREAM = b"\xff\xff\xff\xff\0\0\0\0"


@dataclass(frozen=True)
class _Table(TableOptions):
    splits = False

    def _plan(self, schema: Any, source: Source) -> ColumnPlan:
        plan = make_plan(self, list(schema.names), [_kind(field.type) for field in schema], source.path)
        if not plan.used:  # a batch without columns may claim any number of rows: there would be no end
            raise DataError("there is no column to read", source=source.path)
        for place in plan.used:
            kind = str(schema.field(place).type)
            if plan.kinds[place] == NUMBER and not kind.startswith(("int", "uint", "double", "float", "halffloat")):
                source.note(f"column {plan.names[place]!r}: {kind} was read as float64")
        return self.settle(plan, source.path)

    def _parse(self, batch: Any, plan: ColumnPlan, start: int) -> Parsed:
        rows: AnyRows = Dense(np.zeros((0, 0)))
        labels: Labels | None = None
        bad = list[BadLine]()
        try:
            columns = {place: _read(batch.column(plan.names[place]), plan, place) for place in plan.used}
            rows, labels = examples(columns, plan, self)
        except CellError as cell:
            bad.append(BadLine(cell.row, b"", cell.fault))
        return Parsed(rows, labels, batch.num_rows, bad, 0, start, start + batch.num_rows)


def _kind(kind: Any) -> str:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return NUMBER
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return TEXT
    return EMPTY if types.is_null(kind) else str(kind)


def _read(column: Any, plan: ColumnPlan, place: int) -> Any:
    """The column as float64 or string."""
    import pyarrow
    from pyarrow import types

    name = printable(plan.names[place])
    try:
        column.validate(full=True)
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if plan.kinds[place] == TEXT or place in plan.categories:
            return column.cast(pyarrow.string())
        if types.is_boolean(column.type):
            column = column.cast(pyarrow.int8())
        return column.cast(pyarrow.float64())
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise CellError(
            0, LineError(f"column {name!r} cannot be read in this batch: {printable(str(error))}")
        ) from error


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
            plan = self._plan(file.schema_arrow, source)
            names, done = [plan.names[place] for place in plan.used], 0
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
                    yield Work(size * done // max(total, done), partial(self._parse, left, plan, done - left.num_rows))
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
            plan = self._plan(reader.schema, source)
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                yield from self._cut(batch, plan, done, size * (number + 1) // reader.num_record_batches, source.begin)
                done += batch.num_rows
        source.must_hold(done)

    def _stream(self, source: Source) -> Iterator[Work]:
        import pyarrow

        text, done = _Reader(source), 0
        with pyarrow.ipc.open_stream(pyarrow.PythonFile(text, mode="r")) as reader:
            plan = self._plan(reader.schema, source)
            for batch in reader:
                yield from self._cut(batch, plan, done, source.raw.consumed, source.begin)
                done += batch.num_rows
        source.must_hold(done)
        # A stream cut between two messages reads as a whole one: only the closing mark tells.
        if text.last != END_OF_STREAM:
            raise DataError("the Arrow stream ends early: it has no end mark", source=source.path)
        if text.read(1):
            raise DataError("bytes follow the end of the Arrow stream", source=source.path)

    def _cut(self, batch: Any, plan: ColumnPlan, done: int, consumed: int, begin: int) -> Iterator[Work]:
        batch.validate()  # or a batch may claim more rows than there will ever be
        rows = max(256, CELLS // max(1, len(plan.used)))
        for start in range(max(0, begin - done), batch.num_rows, rows):
            yield Work(consumed, partial(self._parse, batch.slice(start, rows), plan, done + start))


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
