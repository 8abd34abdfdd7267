"""CSV and TSV: blocks of whole records, each parsed by pyarrow in a worker.

A sample of the first rows decides, once and for all, whether there is a header and which columns are numbers; a cell
that says otherwise is an error with its line and column, in our own words. In CSV a quoted field may hold newlines; in
TSV a quote is a letter like any other.
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

from onepass.errors import Argument, DataError, Phrase, printable
from onepass.io import detect
from onepass.io.blocks import Load, Work, blocks, record_ends, records
from onepass.io.chunk import Bytes, Labels
from onepass.io.columns import (
    NUMBER,
    TEXT,
    CellError,
    ColumnPlan,
    TableOptions,
    examples,
    hash_or_ignore,
    make_plan,
    no_label,
    no_value,
    target_place,
    text_places,
)
from onepass.io.lines import BadLine, LineError, Parsed, carriage_return, closed, finite
from onepass.io.sources import BOM, HEAD, Source
from onepass.rows import AnyRows, Dense, Ints, count

NULLS = ["", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "?"]
SAMPLE = 1000  # rows
NOTHING: tuple[AnyRows, Labels | None] = Dense(np.zeros((0, 0))), None


@dataclass(frozen=True)
class Csv(TableOptions):
    """The format with its options: those of every table, and header (None: look), delimiter, quote.

    width: how many columns a table without header had that a model was trained on. One that has all but the target is
    then known as such, and its columns go by the same numbers.
    """

    header: bool | None = None
    delimiter: str = ","
    quote: str | None = '"'
    width: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("delimiter", "quote"):
            letter = getattr(self, name)
            if letter is not None and (len(letter) != 1 or not letter.isascii()):
                raise ValueError(f"{name} must be one ASCII character; got {letter!r}")

    @property
    def splits(self) -> bool:
        """Not if quotes can hold newlines: what a newline is depends on all that comes before."""
        return self.quote is None

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Blocks of records, and how many bytes of the first are the header."""
        sample, body = self._sample(source)
        if not sample:
            return
        header = looks_like_header(sample) if self.header is None else self.header
        if self.header is None:
            what = "the header" if header else "data, there is no header"
            source.note(Phrase("{}: the first row is {} ({})", printable(source.path), what, Argument("header")))
        names = sample[0] if header else self._numbers(len(sample[0]))
        plan = self._sure_plan(names, sample[header:], header, source)
        loads = blocks(source) if self.quote is None else records(source, self.delimiter, self.quote)
        for load in loads:
            yield Work(load.consumed, partial(self._parse, load, plan, body if header else 0, skip))

    def _numbers(self, size: int) -> list[str]:
        """The names of columns that have none."""
        unlabelled = [str(place) for place in range(self.width or 0) if str(place) != self.target]
        if self.labelled is False and len(unlabelled) == size:
            return unlabelled
        return [str(place) for place in range(size)]

    def _sample(self, source: Source) -> tuple[list[list[str]], int]:
        """The first records, and where in the file the first one ends."""
        head, size = source.head, HEAD
        while len(head) == size < source.limits.max_line and head.count(b"\n") < 2:
            size *= 4  # a header of many columns
            head = source.see(size)
        if len(head) == size:
            head = head[: head.rfind(b"\n") + 1]
        rows = [row for _, row in itertools.islice(self._numbered(head.decode("utf-8", "replace")), SAMPLE)]
        start = 0
        text, size = closed(head)
        for end in record_ends(text[:size], self.delimiter, self.quote).tolist():
            if head[start:end].strip(b"\r\n"):
                try:
                    head[start:end].decode()  # names must be right; of other rows their own block will say
                except UnicodeDecodeError as error:
                    line, fault = head.count(b"\n", 0, start) + 1, _not_text(head[start:end], error)
                    raise DataError(
                        fault.message, source=source.path, line=line, column=fault.column, remedy=fault.remedy
                    ) from error
                return rows, end + len(BOM) * source.bom
            start = end
        return rows, 0

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

    def _sure_plan(self, names: list[str], rows: list[list[str]], header: bool, source: Source) -> ColumnPlan:
        """The plan, unless the columns do not fit, or there is but one, because this is no table at all."""
        likely = detect.lines_of(source.head)
        if likely is not None and len(names) == 1 and self.text_column is None:
            raise _another(likely, "one column only", source)
        self._check_width(names[0] if header else rows[0][0], len(names), source)
        try:
            return self._plan(names, rows, header, source)
        except DataError as error:
            if likely is None:
                raise
            raise _another(likely, error.args[0], source, error.argument) from error

    def _check_width(self, first: str, width: int, source: Source) -> None:
        if width == 1 and self.text_column is None:
            other = next((mark for mark in ";\t|" if mark in first), None)
            if other is not None:
                raise DataError(
                    f"one column only: the fields seem to be separated by {other!r}",
                    source=source.path,
                    remedy=Argument("format", "tsv") if other == "\t" else Argument("delimiter", other),
                )

    def _plan(self, names: list[str], rows: list[list[str]], header: bool, source: Source) -> ColumnPlan:
        kinds = [_kind([row[j] for row in rows if j < len(row)]) for j in range(len(names))]
        for place in text_places(self, names, source.path):
            kinds[place] = TEXT
        target = target_place(self, names, source.path)
        if target is not None and not all(_is_number(row[target]) for row in rows if target < len(row)):
            kinds[target] = TEXT  # a label that is no number is a label like the others
        if self._plans and len(names) == len(self._plans[0].kinds):
            kinds = list(self._plans[0].kinds)  # a sample decides once: a later file must keep to it, line by line
        return self.settle(make_plan(self, names, kinds, source.path)._replace(header=header), source.path)

    def _parse(self, load: Load, plan: ColumnPlan, body: int, skip: bool) -> Parsed:
        block = load.block()
        text = block.text[: block.size]
        first = max(0, min(block.size, body - block.start))  # bytes of the header
        bad = list[BadLine]()
        try:
            rows, labels = self._examples(text[first:], plan)
        except CellError:
            bad, good = self._sift(text, first, plan, skip)
            try:
                rows, labels = self._examples(good, plan) if skip else NOTHING
            except CellError as cell:  # what is good alone is good together: this would be a fault of ours
                raise AssertionError(f"a good record turned bad: {cell.fault.message}") from cell
        lines = int(np.count_nonzero(text == 10))
        places = None if lines == count(rows) else self._places(text, first, bad)
        return Parsed(rows, labels, lines, bad, 0, block.start, block.stop, places)

    def _places(self, text: Bytes, first: int, bad: list[BadLine]) -> Ints:
        """The line of each good record behind the header: others are blank, bad, or go on in the next line."""
        ends = record_ends(text, self.delimiter, self.quote)
        begins = np.concatenate([[0], ends[:-1]])
        blank = (text[begins] == 10) | ((text[begins] == 13) & (ends - begins == 2))
        lines = np.concatenate([[0], np.cumsum(text == 10)])[begins]
        places: Ints = lines[(begins >= first) & ~blank & ~np.isin(lines, [line for line, _, _ in bad])]
        return places

    def _sift(self, text: Bytes, first: int, plan: ColumnPlan, skip: bool) -> tuple[list[BadLine], Bytes]:
        """(bad records, the others): the block is halved until what cannot be read is one record. Without `skip` the
        first bad record is enough."""
        ends = record_ends(text, self.delimiter, self.quote)
        ends = np.concatenate([[first], ends[ends > first]])
        bad, good = list[BadLine](), list[Bytes]()
        waiting = [(0, len(ends) - 1)]
        while waiting and (skip or not bad):
            begin, end = waiting.pop()
            piece = text[ends[begin] : ends[end]]
            try:
                self._examples(piece, plan)
                good.append(piece)
            except CellError as cell:
                if end - begin > 1:
                    middle = (begin + end) // 2
                    waiting += [(middle, end), (begin, middle)]
                    continue
                record = piece.tobytes().removesuffix(b"\n").removesuffix(b"\r")
                line = int(np.count_nonzero(text[: ends[begin]] == 10))
                bad.append(BadLine(line, record, self._fault(record, plan) or cell.fault))
        return bad, np.concatenate([text[:0], *good])

    def _examples(self, text: Bytes, plan: ColumnPlan) -> tuple[AnyRows, Labels | None]:
        if not text.size:
            return NOTHING
        returns = np.flatnonzero(text[:-1] == 13)
        if (text[returns + 1] != 10).any() and self._lone_return(text):  # Arrow would end a row there
            raise CellError(0, LineError("a carriage return in the middle of a line"))
        return examples(self._columns(text, plan), plan, self)

    def _lone_return(self, text: Bytes) -> bool:
        """Whether a carriage return stands neither in quotes nor before a newline."""
        if self.quote is None or not (text == ord(self.quote)).any():
            return True
        return any(
            _fields(text[start:end].tobytes(), self.delimiter, self.quote) is None
            for start, end in itertools.pairwise([0, *record_ends(text, self.delimiter, self.quote).tolist()])
            if (text[start:end] == 13).any()
        )

    def _columns(self, text: Bytes, plan: ColumnPlan) -> dict[int, Any]:
        """The block's columns that matter, by place."""
        import pyarrow
        from pyarrow import csv as arrow_csv

        if (text == 0).any():
            raise CellError(0, LineError("a NUL byte: this is not text"))
        quoted = self.quote is not None and bool((text == ord(self.quote)).any())
        floats, strings = pyarrow.float64(), pyarrow.string()
        names = [str(place) for place in range(len(plan.names))]
        try:
            table = arrow_csv.read_csv(
                pyarrow.BufferReader(pyarrow.py_buffer(text)),
                arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
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
            raise CellError(0, LineError(printable(str(error)))) from error
        return {place: table.column(j).combine_chunks() for j, place in enumerate(plan.used)}

    def _fault(self, record: bytes, plan: ColumnPlan) -> LineError | None:
        """What is wrong with a record that Arrow could not read: where, and what to do about it."""
        if b"\0" in record:
            return LineError("a NUL byte: this is not text", record.index(b"\0") + 1)
        try:
            record.decode()
        except UnicodeDecodeError as error:
            return _not_text(record, error)
        fields = _fields(record, self.delimiter, self.quote)
        if fields is None:
            return carriage_return(record)
        if len(fields) != len(plan.names):
            return LineError(f"expected {len(plan.names)} columns, got {len(fields)}")
        for place in plan.used:
            fault = self._bad_cell(*fields[place], plan, place)
            if fault is not None:
                return fault
        return None

    def _bad_cell(self, column: int, cell: bytes, plan: ColumnPlan, place: int) -> LineError | None:
        name = printable(plan.names[place])
        if cell.decode() in NULLS if plan.kinds[place] == NUMBER else not cell and place != plan.text:
            if place == plan.target:
                return no_label(plan.names[place], column) if self.labelled else None
            return no_value(plan.names[place], column) if self.missing == "error" else None
        if plan.kinds[place] != NUMBER:
            return None
        try:
            finite(cell.strip(), column + len(cell) - len(cell.lstrip()), "value", self.missing)
        except LineError as fault:
            remedy = Phrase("mend it, or {}", Argument("on_error", "skip"))
            if place != plan.target:
                remedy = Phrase("{}; if it is no number, {}", remedy, hash_or_ignore(name))
            shown = printable(cell[:40])
            return LineError(
                f"column {name!r} holds numbers, but here {shown!r}: {fault.message} (columns: {plan})",
                fault.column,
                remedy,
            )
        return None


@dataclass(frozen=True)
class Tsv(Csv):
    """CSV with tabs, and without quotes unless one is given."""

    delimiter: str = "\t"
    quote: str | None = None


def _another(likely: str, message: str, source: Source, argument: str | None = None) -> DataError:
    message, remedy = Phrase("{} (this looks like {})", message, likely), Argument("format", likely)
    return DataError(message, source=source.path, argument=argument, remedy=remedy)


def _not_text(record: bytes, error: UnicodeDecodeError) -> LineError:
    return LineError(
        f"byte 0x{record[error.start]:02x} is not UTF-8; this may be Latin-1",
        error.start + 1,
        "convert it, e.g. iconv -f LATIN1 -t UTF-8",
    )


def _fields(record: bytes, delimiter: str, quote: str | None) -> list[tuple[int, bytes]] | None:
    """(column from 1, content) of each field, by the rules of `Quotes`; None if a carriage return stands among them.

    >>> _fields(b'a,"b ""c"" ,",3', ",", '"')
    [(1, b'a'), (4, b'b "c" ,'), (15, b'3')]
    """
    fields, at = list[tuple[int, bytes]](), 0
    mark = b"" if quote is None else quote.encode()
    plain = re.compile(b"[^" + re.escape(delimiter.encode()) + b"]*")
    quoted = re.compile(b"(?:[^%b]|%b%b)*" % ((re.escape(mark),) * 3)) if mark else plain
    while True:
        start, content = at + 1, b""
        if mark and record[at : at + 1] == mark:
            found = quoted.match(record, at + 1)
            content = found[0].replace(mark + mark, mark) if found else b""
            start, at = start + 1, (found.end() if found else at) + 1
        rest = plain.match(record, at)
        text = rest[0] if rest else b""
        at += len(text)
        if b"\r" in text.removesuffix(b"\n").removesuffix(b"\r"):
            return None
        fields.append((start, content + text))
        if at >= len(record):
            return fields
        at += 1


def _kind(cells: list[str]) -> str:
    """What a column holds, by a vote of the cells that hold any text: one bad cell does not make it a text.

    >>> _kind(["1", "", "x", "2.5"]), _kind(["Rome", "7"])
    ('number', 'text')
    """
    filled = [cell for cell in cells if cell.strip() not in NULLS and not {"\0", "\ufffd"} & {*cell}]
    return NUMBER if 2 * sum(map(_is_number, filled)) > len(filled) or not filled else TEXT


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
