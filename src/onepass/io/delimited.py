"""CSV and TSV: blocks of whole records, each parsed by pyarrow in a worker.

A sample of the first rows decides, once and for all, whether there is a header and which columns are numbers; a column
that changes its mind later is an error with its row. In CSV a quoted field may hold newlines; in TSV a quote is a
letter like any other.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from onepass.errors import DataError, printable
from onepass.io.blocks import Block, Load, Work, blocks, records
from onepass.io.chunk import Labels
from onepass.io.columns import NUMBER, TEXT, CellError, Choices, Plan, examples, make_plan, text_places
from onepass.io.lines import BadLine, LineError, Parsed
from onepass.io.sources import HEAD, Source
from onepass.rows import AnyRows, Dense

NULLS = ["", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "?"]
SAMPLE = 1000  # rows


@dataclass(frozen=True)
class Csv(Choices):
    """The format with its options: those of every table, and header (None: look), delimiter, quote."""

    header: bool | None = None
    delimiter: str = ","
    quote: str | None = '"'

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("delimiter", "quote"):
            letter = getattr(self, name)
            if letter is not None and (len(letter) != 1 or not letter.isascii()):
                raise ValueError(f"{name} must be one ASCII character; got {letter!r}")

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Blocks of records, the first with the header in it."""
        sample = self._sample(source)
        if not sample:
            return
        header = looks_like_header(sample) if self.header is None else self.header
        if self.header is None:
            source.note(
                f"{source.path}: the first row is {'the header' if header else 'data, there is no header'} (--header)"
            )
        names = sample[0] if header else [str(place) for place in range(len(sample[0]))]
        self._check_width(sample, source)
        plan = self._plan(names, sample[header:], source)
        loads = blocks(source) if self.quote is None else records(source, self.delimiter, self.quote)
        for number, load in enumerate(loads):
            yield Work(load.consumed, partial(self._parse, load, plan, header and number == 0 and not source.begin))

    def _sample(self, source: Source) -> list[list[str]]:
        head = source.head
        if len(head) == HEAD:
            head = head[: head.rfind(b"\n") + 1]
        if b"\0" in head:
            line = head.count(b"\n", 0, head.index(b"\0")) + 1
            raise DataError("a NUL byte: this is not text", path=source.path, line=line)
        try:
            text = head.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"byte {error.start} (0x{head[error.start]:02x}) is not UTF-8: is this Latin-1?",
                path=source.path,
                line=head.count(b"\n", 0, error.start) + 1,
                remedy="convert it, e.g. iconv -f LATIN1 -t UTF-8",
            ) from error
        return [row for _, row in itertools.islice(self._numbered(text), SAMPLE)]

    def _numbered(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """Each record with the number of lines before it."""
        quoting: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if self.quote is None else {"quotechar": self.quote}
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.delimiter, **quoting)
        before = 0
        with suppress(csv.Error):  # it has limits that pyarrow, whose word counts, has not
            for row in reader:
                if row:
                    yield before, row
                before = reader.line_num

    def _check_width(self, sample: list[list[str]], source: Source) -> None:
        if len(sample[0]) == 1 and self.text_column is None:
            other = next((mark for mark in ";\t|" if mark in sample[0][0]), None)
            if other is not None:
                raise DataError(
                    f"one column only: the fields seem to be separated by {other!r}",
                    path=source.path,
                    remedy="--delimiter",
                )

    def _plan(self, names: list[str], rows: list[list[str]], source: Source) -> Plan:
        kinds = [NUMBER if all(_is_number(row[j]) for row in rows if j < len(row)) else TEXT for j in range(len(names))]
        for place in text_places(self, names, source.path):
            kinds[place] = TEXT
        if self._plans and len(names) == len(self._plans[0].kinds):
            kinds = list(self._plans[0].kinds)  # a sample decides once: a later file must keep to it, line by line
        return self.settle(make_plan(self, names, kinds, source.path), source.path)

    def _parse(self, load: Load, plan: Plan, header: bool) -> Parsed:
        block = load.block()
        text = block.text[: block.size]
        rows: AnyRows = Dense(np.zeros((0, 0)))
        labels: Labels | None = None
        bad = list[BadLine]()
        try:
            if block.size:  # no line may start in it, where one is longer than a block
                rows, labels = examples(self._columns(text, plan, header), plan, self)
        except CellError as cell:
            bad.append(BadLine(*self._record(block, cell.row + header), cell.fault))
        return Parsed(rows, labels, int(np.count_nonzero(text == 10)), bad, 0, block.start, block.stop)

    def _columns(self, text: Any, plan: Plan, header: bool) -> dict[int, Any]:
        """The block's columns that matter, by place."""
        import pyarrow
        from pyarrow import csv as arrow_csv

        if (text == 0).any():
            lines = np.count_nonzero(text[: (text == 0).argmax()] == 10)
            raise CellError(int(lines) - header, LineError("a NUL byte: this is not text"))
        quoted = self.quote is not None and bool((text == ord(self.quote)).any())
        floats, strings = pyarrow.float64(), pyarrow.string()
        names = [str(place) for place in range(len(plan.names))]
        try:
            table = arrow_csv.read_csv(
                pyarrow.BufferReader(pyarrow.py_buffer(text)),
                arrow_csv.ReadOptions(
                    use_threads=False, block_size=len(text) + 1, column_names=names, skip_rows_after_names=int(header)
                ),
                arrow_csv.ParseOptions(
                    delimiter=self.delimiter, quote_char=self.quote or False, newlines_in_values=quoted
                ),
                arrow_csv.ConvertOptions(
                    column_types={
                        names[place]: floats if plan.kinds[place] == NUMBER else strings for place in plan.used
                    },
                    include_columns=[names[place] for place in plan.used],
                    null_values=NULLS,
                    strings_can_be_null=False,
                ),
            )
        except pyarrow.ArrowInvalid as error:
            raise _bad_cell(str(error), plan, header) from error
        return {place: table.column(j).combine_chunks() for j, place in enumerate(plan.used)}

    def _record(self, block: Block, record: int) -> tuple[int, bytes]:
        """(lines before it, text) of a record of the block: on the way to an error, so it may take its time."""
        text = block.text[: block.size].tobytes().decode("latin-1")  # a letter a byte, whatever the bytes are
        lines = text.split("\n")
        for number, (before, _) in enumerate(self._numbered(text)):
            if number == record:
                before = min(before, len(lines) - 1)  # a lone carriage return ends a row too, but not a line
                return before, lines[before].encode("latin-1")
        return 0, b""


@dataclass(frozen=True)
class Tsv(Csv):
    """CSV with tabs, and without quotes unless one is given."""

    delimiter: str = "\t"
    quote: str | None = None


def _bad_cell(message: str, plan: Plan, header: bool) -> CellError:
    """pyarrow's message in our words, with the row and column that it names."""
    row = re.search(r"Row #(\d+)", message)
    place = int(row[1]) - 1 - header if row else 0
    if ragged := re.search(r"Expected (\d+) columns, got (\d+)", message):
        return CellError(place, LineError(f"expected {ragged[1]} columns, got {ragged[2]}"))
    column = re.search(r"In CSV column #(\d+)", message)
    name = printable(plan.names[int(column[1])]) if column else "?"
    if "invalid UTF8" in message:
        return CellError(
            place,
            LineError(f"column {name!r} is not UTF-8: is this Latin-1?", None, "convert it, e.g. iconv -f LATIN1"),
        )
    if value := re.search(r"invalid value '(.*)'", message, re.DOTALL):
        shown = printable(value[1][:40])
        return CellError(
            place, LineError(f"column {name!r} is a number up to here, but this is {shown!r} (columns: {plan})")
        )
    return CellError(place, LineError(printable(message)))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip() in NULLS
    return "_" not in cell


def looks_like_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: no number in it, and no cell that stands again in its own column.

    >>> looks_like_header([["age", "city"], ["31", "Rome"]]), looks_like_header([["ham", "hello"], ["ham", "good day"]])
    (True, False)
    """
    first, *rest = rows
    if any(_is_number(cell) for cell in first if cell.strip()):
        return False
    return not any(cell and cell == row[j] for row in rest for j, cell in enumerate(first) if j < len(row))
