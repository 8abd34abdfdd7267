"""Text with one example a line: a compiled tokenizer for what is plain, a Python definition for the rest.

A format gives two readers of the same language:

- `tokenize`, a kernel that reads line after line into a `CsrBuffer` and *stops at the first line it does not like*;
- `read_line`, ordinary Python, which is the format's definition: it reads any line or says what is wrong with it,
  where, and what to do about it.

So the kernel needs no error codes and the messages need no kernel; a number with 800 digits is read by the second, and
costs its own line only. Tests hold the two to the same answers.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from onepass.errors import Argument
from onepass.io.chunk import Bytes, Labels
from onepass.io.words import PAD
from onepass.rows import AnyRows, Floats, Ints, Rows
from onepass.tables.sorting import KEEP_NONE, KEEP_SUM

WINDOW = 1 << 14  # how far to look at once for the end of a line


class LineError(Exception):
    """What is wrong with one line, at which byte (from 1), and what to do about it."""

    def __init__(self, message: str, column: int | None = None, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message, self.column, self.remedy = message, column, remedy


class BadLine(NamedTuple):
    """A line that could not be read, by its number in the block (from 0)."""

    line: int
    text: bytes
    fault: LineError


class Parsed(NamedTuple):
    """What a block held, and where it stood. `bad` lines were left out; `flags` are the format's own remarks."""

    rows: AnyRows
    labels: Labels | None
    lines: int
    bad: list[BadLine]
    flags: int = 0
    start: int = 0
    stop: int = 0
    places: Ints | None = None  # the line of each row, from 0 at the block's first; None if every line is a row
    met: tuple[Any, ...] = ()  # names of features among them, where they are remembered

    @property
    def gaps(self) -> list[int]:
        """Before which row each bad line stood; behind the last, if that is as many as there are."""
        if not self.bad:
            return []
        lines = sorted(line for line, _, _ in self.bad)
        assert self.places is not None  # a line that is bad is no row
        return [int(row) for row in np.searchsorted(self.places, lines)]


class Example(NamedTuple):
    """One line as the definition reads it."""

    label: float
    indices: list[int]
    values: list[float]
    flags: int = 0


class CsrBuffer(NamedTuple):
    """Where a tokenizer writes: CSR arrays and labels, long enough for whatever the block may hold."""

    indptr: Ints
    indices: npt.NDArray[np.int32]
    values: Floats
    labels: Floats
    lines: Ints  # where each row stood, from 0 at the block's first line


class TokenizerState(NamedTuple):
    """How far a tokenizer has come: byte, row, non-zero, line, and remarks so far."""

    position: int
    row: int
    nonzeros: int
    line: int
    flags: int


class LineFormat(Protocol):
    """A text format with one example a line."""

    shortest_row: int  # bytes of the shortest line that is an example, its newline counted
    shortest_feature: int  # bytes of the shortest feature, the space before it counted

    def tokenize(self, text: Bytes, size: int, table: CsrBuffer, state: TokenizerState) -> TokenizerState:
        """Read on from `state` until the block's end or a line that `read_line` must judge."""
        ...

    def read_line(self, line: bytes) -> Example | None:
        """The example of a line (without its newline), None for a blank or comment. Raises LineError."""
        ...


def closed(*parts: bytes | memoryview) -> tuple[Bytes, int]:
    """The text in a buffer, closed by a newline and PAD bytes more, and its size with that newline.

    Every loop of a tokenizer stops at a newline, so none has to look for the end of the buffer.
    """
    size = sum(map(len, parts))
    buffer = np.empty(size + 1 + PAD, np.uint8)
    at = 0
    for part in parts:
        buffer[at : at + len(part)] = np.frombuffer(part, np.uint8)
        at += len(part)
    buffer[size:] = 10
    return buffer, size + 1 if size and buffer[size - 1] != 10 else size


def parse_lines(form: LineFormat, text: Bytes, size: int, skip: bool = False) -> Parsed:
    """The examples of a block of whole lines (`closed`). Without `skip` reading ends at the first bad line."""
    table = CsrBuffer(
        np.empty(size // form.shortest_row + 2, np.int64),
        np.empty(size // form.shortest_feature + 1, np.int32),
        np.empty(size // form.shortest_feature + 1, np.float64),
        np.empty(size // form.shortest_row + 1, np.float64),
        np.empty(size // form.shortest_row + 1, np.int64),
    )
    table.indptr[0] = 0
    state, bad = TokenizerState(0, 0, 0, 0, 0), list[BadLine]()
    with np.errstate(over="ignore"):  # hashes and long mantissas wrap on purpose; compiled code does not ask
        state = form.tokenize(text, size, table, state)
        while state.position < size:
            end = find_newline(text, state.position, size)
            line = text[state.position : end if end >= 0 else size].tobytes()
            try:
                state = _store(form.read_line(line), len(line) + 1, table, state)
            except LineError as fault:
                bad.append(BadLine(state.line, line, fault))
                if not skip:
                    break
                state = state._replace(position=state.position + len(line) + 1, line=state.line + 1)
            state = form.tokenize(text, size, table, state)
    arrays: tuple[npt.NDArray[Any], ...] = table
    for array, used in zip(arrays, (state.row + 1, state.nonzeros, state.nonzeros, state.row, state.row), strict=True):
        array.resize(used, refcheck=False)  # gives the rest back in place: nobody else holds these arrays yet
    places = table.lines if state.line != state.row else None
    return Parsed(Rows(*table[:3]), table.labels, state.line, bad, state.flags, places=places)


def find_newline(text: Bytes, start: int, stop: int) -> int:
    """The place of the first newline in text[start:stop]; −1 if there is none."""
    for at in range(start, stop, WINDOW):
        found = text[at : min(at + WINDOW, stop)].tobytes().find(b"\n")
        if found >= 0:
            return at + found
    return -1


def _store(example: Example | None, length: int, table: CsrBuffer, state: TokenizerState) -> TokenizerState:
    position, line = state.position + length, state.line + 1
    if example is None:
        return state._replace(position=position, line=line)
    end = state.nonzeros + len(example.indices)
    table.indices[state.nonzeros : end] = example.indices
    table.values[state.nonzeros : end] = example.values
    table.labels[state.row] = example.label
    table.lines[state.row] = state.line
    table.indptr[state.row + 1] = end
    return TokenizerState(position, state.row + 1, end, line, state.flags | example.flags)


NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def finite(text: bytes, column: int, what: str, missing: str = "error") -> float:
    """The number that the text is. Raises LineError at its first bad byte, or with what it is instead."""
    plain = text.lower().lstrip(b"+-")
    if plain == b"nan":
        if missing == "zero":
            return 0.0
        raise LineError(
            f"{what} {text.decode()} is not a finite number",
            column,
            None if what == "label" else Argument("missing", "zero"),
        )
    if plain in (b"inf", b"infinity"):
        raise LineError(f"{what} {text.decode()} is not a finite number", column)
    match = NUMBER.match(text)
    end = match.end() if match else 0
    if end < len(text) or not match:
        raise LineError(f"this {what} is not a number", column + end)
    value = float(text)
    if math.isinf(value):
        raise LineError(f"{what} overflows: it is beyond the largest float, 1.8e308", column)
    return value


def carriage_return(line: bytes) -> LineError:
    """What to say of a CR that does not stand before an LF."""
    return LineError(
        "a carriage return in the middle of a line; the lines may end in CR only",
        line.index(b"\r") + 1,
        "convert the line ends, e.g. tr '\\r' '\\n'",
    )


def tidied(indices: list[int], values: list[float], keep: int) -> tuple[list[int], list[float]] | None:
    """The same for lists; None where `tidy` gives −1."""
    joined: dict[int, float] = {}
    for index, value in zip(indices, values, strict=True):
        if index in joined and keep == KEEP_NONE:
            return None
        joined[index] = joined[index] + value if index in joined and keep == KEEP_SUM else value
    order = sorted(joined)
    return order, [joined[index] for index in order]
