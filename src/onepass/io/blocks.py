"""Text cut into blocks of whole lines, or of whole CSV records.

A plain file is cut at fixed bytes: a block owns the lines that *start* in its range, so any worker can find its own
lines with no word from the others. What can only be read from the front is cut by the thread that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.errors import Argument, DataError
from onepass.io.chunk import Bytes
from onepass.io.lines import WINDOW, LineFormat, Parsed, closed, find_newline, parse_lines
from onepass.io.sources import BOM, Source
from onepass.io.words import PAD
from onepass.rows import Ints


class TextBlock(NamedTuple):
    """Whole lines: text[:size] ends in a newline and stood at bytes start … stop of the file; PAD bytes follow it."""

    text: Bytes
    size: int
    start: int
    stop: int


class Load(NamedTuple):
    """A block still to be fetched, by whoever parses it; `consumed` bytes of the file are then read."""

    consumed: int
    block: Callable[[], TextBlock]


class Work(NamedTuple):
    """Something to parse, in any thread; when it is done, `consumed` bytes of its file are."""

    consumed: int
    run: Callable[[], Parsed]


def works_of_lines(form: LineFormat, source: Source, skip: bool) -> Iterator[Work]:
    """What a format with one example a line has to parse."""
    for load in blocks(source):
        yield Work(load.consumed, partial(_parse, form, load, skip))


def _parse(form: LineFormat, load: Load, skip: bool) -> Parsed:
    block = load.block()
    return parse_lines(form, block.text, block.size, skip)._replace(start=block.start, stop=block.stop)


def blocks(source: Source) -> Iterator[Load]:
    """The source's lines in order; of a span, those that start in it."""
    if source.limits.span is not None and not source.direct:
        raise DataError("only a plain file can be read from the middle", source=source.path)
    return _ranges(source) if source.direct else _cut(source, _last_newline)


def records(source: Source, delimiter: str, quote: str) -> Iterator[Load]:
    """The source's CSV records in order; a newline inside quotes ends none."""
    quotes = Quotes(source.path, delimiter, quote, source.line)
    return _cut(source, quotes.last_end, quotes.finish)


def _ranges(source: Source) -> Iterator[Load]:
    size, step = source.raw.size or 0, source.limits.block_size
    first = len(BOM) if source.bom else 0
    begin, end = source.limits.span or (first, size)
    begin, end = max(first, begin), min(end, size)
    source.must_hold(size)
    begun = max(source.begin, begin)
    for start in range(begun - (begun - begin) % step, end, step):  # cut where a run from the start cuts
        stop = min(start + step, end)
        if stop > begun:
            yield Load(stop, partial(_lines_between, source, first, max(start, begun), stop))


def _lines_between(source: Source, first: int, start: int, stop: int) -> TextBlock:
    """The lines that start at start … stop − 1."""
    size = source.raw.size or 0
    early = start - (start > first)  # one byte more, to see whether a line starts right here
    room = WINDOW  # for the end of the last line
    while True:
        body = np.empty(min(stop + room, size) - early + 1 + PAD, np.uint8)
        text = body[: -1 - PAD]
        if source.raw.read_at(early, text) < text.size:
            raise DataError("the file became shorter while it was being read", source=source.path)
        begin = 0 if early == start else find_newline(text, 0, stop - early - 1) + 1
        if begin == 0 and early < start:
            return TextBlock(text, 0, stop, stop)  # no line starts here
        last = find_newline(text, stop - early - 1, text.size)
        if last >= 0:
            return TextBlock(body[begin:], last + 1 - begin, early + begin, early + last + 1)
        if early + text.size >= size:
            body[text.size] = 10  # the last line has no newline of its own
            return TextBlock(body[begin:], text.size + 1 - begin, early + begin, size)
        room *= 8
        check_line(stop + room - early - begin, source)


def check_line(length: int, source: Source) -> None:
    """Refuse a line that would fill the memory."""
    if length > source.limits.max_line + source.limits.block_size:
        raise DataError(
            f"a line longer than {source.limits.max_line} bytes; this may not be text with one example a line",
            source=source.path,
            remedy=Argument("max_line"),
        )


def _cut(source: Source, last_end: Callable[[bytes], int], finish: Callable[[], None] = lambda: None) -> Iterator[Load]:
    """Blocks of about block_size bytes, up to the last place where `last_end` says that a record ends.

    `finish` may object to how the text ends before the last block is handed out. The pieces of a block are put together
    by whoever parses it.
    """
    step, start = source.limits.block_size, source.begin or (len(BOM) if source.bom else 0)
    held, size = list[memoryview](), 0  # not handed out yet
    whole, end = 0, 0  # records end in its first pieces, so many, at this byte of the last one
    for piece in source.rest():
        for at in range(0, len(piece), step):
            part = piece[at : at + step]
            held.append(memoryview(part))
            size += len(part)
            if (found := last_end(part)) >= 0:
                whole, end = len(held), found
            if size < step:
                continue
            if not whole:
                check_line(size, source)
                continue
            parts, held = _parted(held, whole, end)
            yield _loaded(source, parts, start)
            length = sum(map(len, parts))
            start, size, whole = start + length, size - length, 0
    if source.truncated:  # a cut line may still read as a line, with another number in it
        held, _ = _parted(held, whole, end)
    else:
        finish()
    if any(held):
        yield _loaded(source, held, start)


def _parted(held: list[memoryview], whole: int, end: int) -> tuple[list[memoryview], list[memoryview]]:
    """The pieces before and after byte `end` of the last of the first `whole`."""
    if not whole:
        return [], held
    last = held[whole - 1]
    return [*held[: whole - 1], last[:end]], [last[end:], *held[whole:]]


def _loaded(source: Source, parts: list[memoryview], start: int) -> Load:
    stop = start + sum(map(len, parts))
    return Load(source.raw.consumed, lambda: TextBlock(*closed(*parts), start, stop))


def _last_newline(text: bytes) -> int:
    return text.rfind(b"\n") + 1 or -1


class Quotes:
    """Where CSV records end. Quotes count only at the start of a field, as the parser sees them."""

    def __init__(self, path: str, delimiter: str, quote: str, line: int = 1) -> None:
        self._path, self._marks = path, (ord(delimiter), ord(quote))
        self._state, self._line, self._opened = FIELD, line, 0

    def last_end(self, text: bytes) -> int:
        """The end of the last record that ends in this text, which continues the text before it; −1 if none does."""
        if text and self._state != QUOTED and self._marks[1] not in text:  # most blocks: nothing to keep track of
            self._line += text.count(b"\n")
            self._state = FIELD if text[-1] in (10, self._marks[0]) else PLAIN
            return _last_newline(text)
        end, self._state, self._line, self._opened = _scan(
            np.frombuffer(text, np.uint8), self._marks, self._state, self._line, self._opened
        )
        return int(end)

    def finish(self) -> None:
        """The text has ended: an open quote has swallowed the rest of the file."""
        if self._state == QUOTED:
            raise DataError(
                "a quote is opened here and never closed",
                source=self._path,
                line=int(self._opened),
                remedy="double it: a quote in a field is two",
            )


def record_ends(text: Bytes, delimiter: str, quote: str | None) -> Ints:
    """Where each record of a block ends, its newline included.

    >>> record_ends(np.frombuffer(b'a,"b\\n"\\n\\nc\\n', np.uint8), ",", '"').tolist()
    [7, 8, 10]
    """
    ends = np.flatnonzero(text == 10) + 1
    if quote is None or not (text == ord(quote)).any():
        return ends
    used = _ends(text, (ord(delimiter), ord(quote)), ends)
    return ends[:used]


FIELD, PLAIN, QUOTED, CLOSING = 0, 1, 2, 3  # at a field's start, in it, in its quotes, after a quote in them


@jit
def _scan(text: Any, marks: Any, state: Any, line: Any, opened: Any) -> Any:
    delimiter, quote = marks
    end = np.int64(-1)
    for i in range(text.size):
        c = text[i]
        line += c == 10
        if state == QUOTED:
            if c == quote:
                state = CLOSING
        elif c == quote and state != PLAIN:
            if state == FIELD:
                opened = line
            state = QUOTED
        elif c == 10:
            state, end = FIELD, np.int64(i + 1)
        elif c == delimiter:
            state = FIELD
        else:
            state = PLAIN
    return end, state, line, opened


@jit
def _ends(text: Any, marks: Any, ends: Any) -> Any:
    used, start, state = 0, 0, FIELD
    for k in range(ends.size):
        _, state, _, _ = _scan(text[start : ends[k]], marks, state, 0, 0)
        start = ends[k]
        if state == FIELD:
            ends[used] = start
            used += 1
    return used
