"""Numbers and categories of plain records, read from the bytes of a block, whose cells' ends are found first.

Plain is what most tables hold: no quote, no NUL, no lone carriage return, cells that are numbers as `float()` reads
them, short texts, or missing. Whatever else stands in a block, it is left to Arrow, whole: so nothing is decided here
but how fast. What comes out are the bits that come out there. Arrow reads text into columns, and columns of text have
to be looked up and hashed word by word; here a cell is hashed where it stands, which is about three times as fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import inlined, jit
from onepass.io.cell_ends import NEWLINE, RETURN, SPACE, TAB, cell_ends
from onepass.io.chunk import Bytes, Labels
from onepass.io.numbers import READ, TENS, long_decimal, number, short_decimal
from onepass.io.words import below_byte, three_words, word
from onepass.rows import LARGEST, Ints
from onepass.tables.encoding import Encoded, ParsedColumn, encode_parsed
from onepass.tables.feature_names import FeatureNames, Met
from onepass.tables.hashing import murmur3, murmur3_of, murmur3_short
from onepass.tables.plan import CATEGORY, NULLS, NUMBER, TablePlan

LEFT, NUMERIC, HASHED, LABEL, NUMERIC_LABEL = range(5)  # what a column is to the kernel
PLUS, MINUS = 43, 45
MOST_LABELS = 64  # different ones in a block


class Grammar(NamedTuple):
    """What the kernel knows of a table."""

    mark: np.uint8
    kinds: Ints  # of each column of the file
    lines: Ints  # where its values go
    seeds: npt.NDArray[np.uint64]  # of hashes
    nulls: npt.NDArray[np.uint64]  # texts that say that a value is missing, as `_packed`


class Cells(NamedTuple):
    """What the kernel finds; 0 where a value is missing."""

    values: npt.NDArray[np.float64]  # (columns of numbers, rows); the label's stand last, if it is one
    hashes: Ints  # (columns of categories, rows)
    absent: npt.NDArray[np.bool_]  # (columns of the file, rows)
    codes: Ints  # of the labels
    spans: Ints  # (MOST_LABELS, 2): where in the text each label first stands
    counts: Ints  # labels, and values met
    met: Ints  # (values met, 4): hash, column, begin, end


class PlainCells:
    """Reads plain blocks of a file by a plan; `of` makes it, where the plan has only columns that it reads."""

    def __init__(self, plan: TablePlan, at: Mapping[str, int], target: int | None, width: int) -> None:
        self.plan, self.target = plan, target
        self._at = dict(at)
        self._numbers = [column.name for column in plan.used if column.kind == NUMBER]
        self._hashed = [column.name for column in plan.used if column.kind == CATEGORY]
        self._kinds, self._lines = np.zeros(width, np.int64), np.zeros(width, np.int64)
        self._seeds = np.zeros(width, np.uint64)
        for kind, names in ((NUMERIC, self._numbers), (HASHED, self._hashed)):
            for line, name in enumerate(names):
                self._kinds[at[name]], self._lines[at[name]] = kind, line
                self._seeds[at[name]] = murmur3_of(name.encode(errors="replace"))
        if target is not None:
            self._kinds[target] = NUMERIC_LABEL if plan.label == "number" else LABEL
            self._lines[target] = len(self._numbers)

    @classmethod
    def of(cls, plan: TablePlan, at: Mapping[str, int], target: int | None, width: int) -> PlainCells | None:
        """For a file of so many columns, each of the plan's where `at` says."""
        plain = all(column.kind in (NUMBER, CATEGORY) and not column.constant for column in plan.used)
        own = plain and target not in at.values()  # a column may be a feature and the label at once
        return cls(plan, at, target, width) if own and plan.missing != "error" else None

    def read(
        self, text: Bytes, end: int, mark: str, quote: str | None, names: FeatureNames | None, plan: TablePlan
    ) -> Any:
        """(rows with names met, labels or None) of the records in text[:end], behind which PAD bytes follow.

        By the plan or a narrower one. None: they are not plain.
        """
        if not end or text[end - 1] != NEWLINE:
            return None
        size = int(np.count_nonzero(text[:end] == NEWLINE))
        ends = cell_ends(text, end, mark, quote, size * len(self._kinds))
        if ends is None:
            return None
        known = np.zeros(0, np.uint32) if names is None or names.full else names.known
        cells = self._room(size, known.size > 0)
        with np.errstate(over="ignore"):  # words wrap on purpose; compiled code does not ask
            plain = _read(text, *ends, self._grammar(mark), known, cells)
        if not plain:
            return None
        columns = [*zip(self._numbers, cells.values, strict=False), *zip(self._hashed, cells.hashes, strict=True)]
        parsed = {name: ParsedColumn(values, cells.absent[self._at[name]]) for name, values in columns}
        encoded: Encoded = encode_parsed(parsed, plan, names, self._met(text, cells))
        return encoded, self._labels(text, cells)

    def _room(self, size: int, named: bool) -> Cells:
        places = len(self._hashed) * size if named else 0
        return Cells(
            np.empty((len(self._numbers) + 1, size)),
            np.empty((len(self._hashed), size), np.int64),
            np.zeros((len(self._kinds), size), np.bool_),
            np.empty(size, np.int64),
            np.zeros((MOST_LABELS, 2), np.int64),
            np.zeros(2, np.int64),
            np.empty((places, 4), np.int64),
        )

    def _grammar(self, mark: str) -> Grammar:
        nulls = np.array([_packed_text(null) for null in NULLS], np.uint64)
        return Grammar(np.uint8(ord(mark)), self._kinds, self._lines, self._seeds, nulls)

    def _met(self, text: Bytes, cells: Cells) -> list[Met]:
        """The values that were not known yet, once each."""
        found = cells.met[: cells.counts[1]]
        _, first = np.unique(found[:, :2], axis=0, return_index=True)
        by_place = {self._at[name]: name for name in self._hashed}
        names = [
            f"{by_place[place]}={text[begin:end].tobytes().decode()}" for _, place, begin, end in found[first].tolist()
        ]
        return [Met(found[first, 0].astype(np.uint32), names)] if names else []

    def _labels(self, text: Bytes, cells: Cells) -> Labels | None:
        if self.target is None:
            return None
        if self._kinds[self.target] == NUMERIC_LABEL:
            numbers: Labels = cells.values[-1]
            return numbers
        spans = cells.spans[: cells.counts[0]].tolist()
        known = np.array([text[begin:end].tobytes().decode() for begin, end in spans], dtype=np.str_)
        labels: Labels = known[cells.codes]
        return labels


def _packed_text(word: str) -> int:
    return int.from_bytes(word.encode(), "little")


TRUE, FALSE = (np.uint64(_packed_text(word)) for word in ("true", "false"))
SMALL = np.uint64(0x2020202020)  # the bits that tell small letters from capitals, in five of them


@jit
def _read(text: Any, ends: Any, returns: Any, grammar: Any, known: Any, cells: Any) -> Any:
    """Read all cells of the block; False where one of them, or a record, is not plain.

    Tuples are taken apart here, and what is called is compiled into this: else references would be counted for every
    cell, which takes longer than reading it.
    """
    mark, kinds, lines, seeds, nulls = grammar
    values, hashes, absent, codes, spans, counts, met = cells
    one, width, at, after = np.uint64(1), np.uint64(kinds.size), np.uint64(0), np.uint64(0)
    for i in range(np.uint64(codes.size)):
        for column in range(width):
            begin, stop = after, np.uint64(ends[at])
            last = column + one == width
            if text[stop] != (NEWLINE if last else mark):
                return False
            at, after = at + one, stop + one
            if last and stop > begin and text[stop - one] == RETURN:
                stop -= one
                returns -= 1
            while begin < stop and (text[begin] == SPACE or text[begin] == TAB):
                begin += one
            while begin < stop and (text[stop - one] == SPACE or text[stop - one] == TAB):
                stop -= one
            kind, line = kinds[column], np.uint64(lines[column])
            if kind == LEFT:
                continue
            if kind in (NUMERIC, NUMERIC_LABEL):
                value, fine = _number(text, begin, stop)
                if fine:
                    values[line, i] = value
                    continue
            packed = _packed(text, begin, stop)
            if _is_null(packed, stop - begin, nulls):
                if kind in (LABEL, NUMERIC_LABEL):
                    return False
                absent[column, i] = True
                if kind == NUMERIC:
                    values[line, i] = 0.0
                else:
                    hashes[line, i] = 0
            elif kind == HASHED:
                if _is_loud_truth(packed, stop - begin):
                    return False
                hashed = _hash(text, begin, stop, packed, seeds[column])
                hashes[line, i] = np.int64(hashed)
                if known.size and known[hashed & np.uint64(known.size - 1)] != np.uint32(hashed + one):
                    row = counts[1]
                    met[row, 0], met[row, 1], met[row, 2], met[row, 3] = hashed, column, begin, stop
                    counts[1] += 1
            elif kind == LABEL:
                codes[i] = _code(text, begin, stop, spans, counts)
                if codes[i] == MOST_LABELS:
                    return False
            else:
                return False
    return returns == 0  # others stand inside cells


@inlined
def _number(text: Any, begin: Any, stop: Any) -> Any:
    """(the number that stands there, whether one does that Arrow reads, too)."""
    negative = np.uint64(text[begin] == MINUS)
    p = begin + negative
    size = stop - p
    value, fine = 0.0, False
    if np.uint64(0) < size <= np.uint64(8):
        mantissa, after, fine = short_decimal(word(text, p), size)
        value = np.float64(mantissa) / TENS[after]
    elif size != np.uint64(0):
        value, length = long_decimal(*three_words(text, p))
        fine = length == size
    if fine:
        return -value if negative else value, True
    value, p, status = number(text, begin)
    return value, p == stop and p != begin and status == READ and abs(value) <= LARGEST and text[begin] != PLUS


@inlined
def _packed(text: Any, begin: Any, stop: Any) -> Any:
    """The bytes of a text as a number, of a long one the first eight."""
    size = stop - begin
    return word(text, begin) & below_byte(min(size, np.uint64(8))) if size != np.uint64(0) else np.uint64(0)


@inlined
def _hash(text: Any, begin: Any, stop: Any, packed: Any, seed: Any) -> Any:
    """A text's hash."""
    size = stop - begin
    return murmur3_short(packed, size, seed) if size <= np.uint64(8) else murmur3(text, begin, stop, seed)


@inlined
def _is_null(packed: Any, size: Any, nulls: Any) -> Any:
    """Whether a text says that a value is missing; no such word has more than four letters."""
    if size > np.uint64(4):
        return False
    for j in range(nulls.size):  # noqa: SIM110 (numba knows no generators)
        if packed == nulls[j]:
            return True
    return False


@inlined
def _is_loud_truth(packed: Any, size: Any) -> Any:
    """Whether it is a truth with capitals, which stands for another text."""
    if size != np.uint64(4) and size != np.uint64(5):
        return False
    small = packed | (SMALL >> np.uint64(8) * (np.uint64(5) - size))
    return small in (TRUE, FALSE) and packed != small


@jit
def _code(text: Any, begin: Any, stop: Any, spans: Any, counts: Any) -> Any:
    """The label's number, a new one if it was not met in this block; MOST_LABELS where there are too many."""
    size = stop - begin
    for code in range(counts[0]):
        first = np.uint64(spans[code, 0])
        j = np.uint64(0) if np.uint64(spans[code, 1]) - first == size else size + np.uint64(1)
        while j < size and text[first + j] == text[begin + j]:
            j += np.uint64(1)
        if j == size:
            return code
    code = counts[0]
    if code < MOST_LABELS:
        spans[code, 0], spans[code, 1] = begin, stop
        counts[0] += 1
    return code
