"""CSV and TSV: blocks of whole records, each parsed by pyarrow in a worker.

A sample of the first rows decides, once and for all, what separates the fields, whether there is a header and what the
columns are; a cell that says otherwise is an error with its line and column, in our own words. In CSV a quoted field
may hold newlines; in TSV a quote is a letter like any other. Fields may also be separated by runs of spaces.
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
from onepass.io.chunk import Bytes
from onepass.io.columns import TableOptions
from onepass.io.dialect import MARKS, SPACES, fields_of, looks_like_header, mark_of
from onepass.io.layout import Examples, Layout, layout_of
from onepass.io.lines import BadLine, LineError, Parsed, carriage_return, closed
from onepass.io.sources import BOM, HEAD, Source
from onepass.rows import Dense, Ints, Rows, count
from onepass.tables.plan import LOOKED_AT, NULLS, CellError
from onepass.tables.reading import joined

LONG = 1 << 22  # bytes of a file before which it is not worth compiling more than Arrow's own reading needs
NOTHING = Examples(Dense(np.zeros((0, 0))), None)
PADDED = [*NULLS, *(pad for null in NULLS for pad in (f" {null}", f"{null} "))]  # as they often stand behind a comma


@dataclass(frozen=True)
class Csv(TableOptions):
    """The format with its options: those of every table, and header and delimiter (None: look), quote.

    width: how many columns a table without header had that a model was trained on. One that has all but the target is
    then known as such, and its columns go by the same numbers.
    """

    header: bool | None = None
    delimiter: str | None = None
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
        return self._quote is None

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Blocks of records, and how many bytes of the first are the header."""
        self._find_mark(source)
        sample, body = self._sample(source)
        if not sample:
            return
        header = looks_like_header(sample) if self.header is None else self.header
        if self.header is None:
            what = "the header" if header else "data, there is no header"
            source.note(Phrase("{}: the first row is {} ({})", printable(source.path), what, Argument("header")))
        names = sample[0] if header else self._numbers(len(sample[0]))
        if not sample[header:]:  # names, and nothing else
            if (likely := detect.lines_of(source.head)) is not None:
                raise _another(likely, "no rows behind the first", source)
            return
        layout = self._sure_layout(names, sample[header:][:LOOKED_AT], header, source)
        loads = blocks(source) if self._quote is None else records(source, self.mark, self._quote)
        for load in loads:
            yield Work(load.consumed, partial(self._parse, load, layout, body if header else 0, skip))

    @property
    def mark(self) -> str:
        """What separates fields: as told, or as the first file showed."""
        return self.delimiter or self.settled.mark or ","

    @property
    def _quote(self) -> str | None:
        return None if self.mark == SPACES else self.quote

    def _find_mark(self, source: Source) -> None:
        if self.delimiter is None and self.settled.mark is None:
            self.settled.mark = mark_of(source.head, self.quote)
            if self.settled.mark not in (",", None):
                shown = "spaces" if self.settled.mark == SPACES else repr(self.settled.mark)
                source.note(
                    Phrase("{}: fields are separated by {} ({})", printable(source.path), shown, Argument("delimiter"))
                )

    def _numbers(self, size: int) -> list[str]:
        """The names of columns that have none."""
        target = self.target if self.plan is None else self.plan.target
        unlabelled = [str(place) for place in range(self.width or 0) if str(place) != target]
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
        rows = [row for _, row in itertools.islice(self._numbered(head.decode("utf-8", "replace")), LOOKED_AT + 1)]
        start = 0
        text, size = closed(head)
        for end in record_ends(text[:size], self.mark, self._quote).tolist():
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
        if self.mark == SPACES:
            for number, line in enumerate(text.split("\n")):
                if line.strip():
                    yield number, line.split()
            return
        quoting: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if self._quote is None else {"quotechar": self.quote}
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=self.mark, **quoting)
        before = 0
        with suppress(csv.Error):  # it has limits that pyarrow, whose word counts, has not
            for row in reader:
                if row:
                    yield before, row
                before = reader.line_num

    def _sure_layout(self, names: list[str], rows: list[list[str]], header: bool, source: Source) -> Layout:
        """The layout, unless the columns do not fit, or there is but one, because this is no table at all."""
        likely = detect.lines_of(source.head)
        if likely is not None and len(names) == 1 and self.text_column is None:
            raise _another(likely, "one column only", source)
        self._check_width(names[0] if header else rows[0][0], len(names), source)
        try:
            return self._layout(names, rows, header, source)
        except DataError as error:
            if likely is None:
                raise
            raise _another(likely, error.args[0], source, error.argument) from error

    def _check_width(self, first: str, width: int, source: Source) -> None:
        if width == 1 and self.text_column is None:
            other = next((mark for mark in MARKS if mark in first), None)
            if other is not None:
                raise DataError(
                    f"one column only: the fields seem to be separated by {other!r}",
                    source=source.path,
                    remedy=Argument("format", "tsv") if other == "\t" else Argument("delimiter", other),
                )

    def _layout(self, names: list[str], rows: list[list[str]], header: bool, source: Source) -> Layout:
        import pyarrow

        whole = [row for row in rows if not {"\0", "\ufffd"} & {*"".join(row)}]  # of others their own line will say
        whole = whole or rows
        sample = [pyarrow.array([row[j] for row in whole if j < len(row)], pyarrow.string()) for j in range(len(names))]
        return layout_of(names, sample, self, source.path, source.note, header)

    def _parse(self, load: Load, layout: Layout, body: int, skip: bool) -> Parsed:
        block = load.block()
        text = block.text[: block.size]
        first = max(0, min(block.size, body - block.start))  # bytes of the header
        bad = list[BadLine]()
        try:
            plain = self._plain(block.text[first:], block.size - first, layout) if block.start >= LONG else None
            found = plain or self._examples(text[first:], layout)
        except CellError:
            bad, found = self._sift(text, first, layout, skip)
        lines = int(np.count_nonzero(text == 10))
        places = None if lines == count(found.rows) else self._places(text, first, bad)
        return Parsed(found.rows, found.labels, lines, bad, 0, block.start, block.stop, places, found.met)

    def _places(self, text: Bytes, first: int, bad: list[BadLine]) -> Ints:
        """The line of each good record behind the header: others are blank, bad, or go on in the next line."""
        ends = record_ends(text, self.mark, self._quote)
        begins = np.concatenate([[0], ends[:-1]])
        blank = (text[begins] == 10) | ((text[begins] == 13) & (ends - begins == 2))
        lines = np.concatenate([[0], np.cumsum(text == 10)])[begins]
        places: Ints = lines[(begins >= first) & ~blank & ~np.isin(lines, [line for line, _, _ in bad])]
        return places

    def _sift(self, text: Bytes, first: int, layout: Layout, skip: bool) -> tuple[list[BadLine], Examples]:
        """(bad records, examples of the others): the block is halved until what cannot be read is one record. Without
        `skip` the first bad record is enough. Should there be none, all are examples: nothing is lost."""
        ends = record_ends(text, self.mark, self._quote)
        ends = np.concatenate([[first], ends[ends > first]])
        bad, good = list[BadLine](), list[Examples]()
        waiting = [(0, len(ends) - 1)]
        while waiting and (skip or not bad):
            begin, end = waiting.pop()
            piece = text[ends[begin] : ends[end]]
            try:
                good.append(self._examples(piece, layout))
            except CellError as cell:
                if end - begin > 1:
                    middle = (begin + end) // 2
                    waiting += [(middle, end), (begin, middle)]
                    continue
                record = piece.tobytes().removesuffix(b"\n").removesuffix(b"\r")
                line = int(np.count_nonzero(text[: ends[begin]] == 10))
                bad.append(
                    BadLine(line, record, self._fault(record, layout) or LineError(cell.message, None, cell.remedy))
                )
        return bad, _together(good)

    def _plain(self, text: Bytes, end: int, layout: Layout) -> Examples | None:
        """The same as `_examples`, faster, where a block has only what is simple up to its end; else None."""
        if self.mark == SPACES or not self.labelled or self.settled.dense:
            return None
        from onepass.io.plain_cells import PlainCells  # compiled code, which short files do without

        cells = PlainCells.of(layout.plan, layout.at, layout.target, len(layout.names))
        found = cells and cells.read(text, end, self.mark, self._quote, self.settled.names, layout.wanted)
        if not found:
            return None
        (rows, met), labels = found
        return Examples(rows, labels, tuple(met))

    def _examples(self, text: Bytes, layout: Layout) -> Examples:
        if not text.size:
            return NOTHING
        returns = np.flatnonzero(text[:-1] == 13)
        if (text[returns + 1] != 10).any() and self._lone_return(text):  # Arrow would end a row there
            raise CellError(0, "a carriage return in the middle of a line")
        return layout.examples(self._columns(text, layout))

    def _lone_return(self, text: Bytes) -> bool:
        """Whether a carriage return stands neither in quotes nor before a newline."""
        if self._quote is None or not (text == ord(self._quote)).any():
            return True
        return any(
            fields_of(text[start:end].tobytes(), self.mark, self._quote) is None
            for start, end in itertools.pairwise([0, *record_ends(text, self.mark, self._quote).tolist()])
            if (text[start:end] == 13).any()
        )

    def _columns(self, text: Bytes, layout: Layout) -> dict[int, Any]:
        """The block's columns that matter, by place: read as what they hold, or as text where that is not so simple."""
        import pyarrow

        if (text == 0).any():
            raise CellError(0, "a NUL byte: this is not text")
        if self.mark == SPACES:
            single = re.sub(rb"(?m)^[ \t]+|[ \t]+(?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", text.tobytes()))
            text = np.frombuffer(single, np.uint8)
        types = {place: layout.type_of(place) for place in layout.used}
        try:
            return self._read(text, layout, types)
        except pyarrow.ArrowInvalid:
            pass
        try:
            return self._read(text, layout, dict.fromkeys(types, pyarrow.string()))
        except pyarrow.ArrowInvalid as error:
            raise CellError(0, printable(str(error))) from error

    def _read(self, text: Bytes, layout: Layout, types: dict[int, Any]) -> dict[int, Any]:
        import pyarrow
        from pyarrow import csv as arrow_csv

        quoted = self._quote is not None and bool((text == ord(self._quote)).any())
        if text[: len(BOM)].tobytes() == BOM:  # Arrow leaves one out wherever a text begins: this one is a value's
            text = np.concatenate([np.frombuffer(BOM, np.uint8), text])
        names = [str(place) for place in range(len(layout.names))]
        table = arrow_csv.read_csv(
            pyarrow.BufferReader(pyarrow.py_buffer(text)),
            arrow_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            arrow_csv.ParseOptions(delimiter=self.mark, quote_char=self._quote or False, newlines_in_values=quoted),
            arrow_csv.ConvertOptions(
                column_types={names[place]: kind for place, kind in types.items()},
                include_columns=[names[place] for place in types],
                null_values=PADDED,
                strings_can_be_null=False,
            ),
        )
        return {place: _whole(table.column(j)) for j, place in enumerate(types)}

    def _fault(self, record: bytes, layout: Layout) -> LineError | None:
        """What is wrong with a record that Arrow could not read: where, and what to do about it."""
        if b"\0" in record:
            return LineError("a NUL byte: this is not text", record.index(b"\0") + 1)
        try:
            record.decode()
        except UnicodeDecodeError as error:
            return _not_text(record, error)
        fields = fields_of(record, self.mark, self._quote)
        if fields is None:
            return carriage_return(record)
        if len(fields) != len(layout.names):
            return LineError(
                f"expected {len(layout.names)} columns, got {len(fields)}",
                remedy=Phrase("mend it, or {}", Argument("on_error", "skip")),
            )
        for place in layout.used:
            column, cell = fields[place]
            fault = layout.fault(place, cell, column)
            if fault is not None:
                return fault
        return None


@dataclass(frozen=True)
class Tsv(Csv):
    """CSV with tabs, and without quotes unless one is given."""

    delimiter: str | None = "\t"
    quote: str | None = None


def _together(pieces: list[Examples]) -> Examples:
    """Examples of consecutive records."""
    some = [piece for piece in pieces if count(piece.rows)]
    if not some:
        return NOTHING
    labels = [piece.labels for piece in some if piece.labels is not None]
    met = tuple(itertools.chain.from_iterable(piece.met for piece in some))
    dense = [piece.rows.values for piece in some if isinstance(piece.rows, Dense)]
    rows = Dense(np.concatenate(dense)) if dense else joined([one.rows for one in some if isinstance(one.rows, Rows)])
    return Examples(rows, np.concatenate(labels) if labels else None, met)


def _another(likely: str, message: str, source: Source, argument: str | None = None) -> DataError:
    message, remedy = Phrase("{} (this looks like {})", message, likely), Argument("format", likely)
    return DataError(message, source=source.path, argument=argument, remedy=remedy)


def _not_text(record: bytes, error: UnicodeDecodeError) -> LineError:
    return LineError(
        f"byte 0x{record[error.start]:02x} is not UTF-8; this may be Latin-1",
        error.start + 1,
        "convert it, e.g. iconv -f LATIN1 -t UTF-8",
    )


def _whole(column: Any) -> Any:
    """A chunked column as one array; dictionaries of several chunks become one."""
    import pyarrow

    column = column.unify_dictionaries() if pyarrow.types.is_dictionary(column.type) else column
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
