"""Numbers and categories of plain records, read in one walk over the bytes of a block.

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
from onepass.io.chunk import Bytes, Labels
from onepass.io.numbers import READ, number
from onepass.rows import LARGEST, Ints
from onepass.tables.encoding import Encoded, ParsedColumn, encode_parsed
from onepass.tables.feature_names import FeatureNames, Met
from onepass.tables.hashing import murmur3, murmur3_of
from onepass.tables.plan import CATEGORY, NULLS, NUMBER, TablePlan

LEFT, NUMERIC, HASHED, LABEL, NUMERIC_LABEL = range(5)  # what a column is to the kernel
ORDINARY, END, STRANGE = range(3)  # what a byte is
NEWLINE, RETURN, SPACE, TAB, PLUS = 10, 13, 32, 9, 43
MOST_LABELS = 64  # different ones in a block
NO_QUOTE = 0xFF  # a byte that no text holds


class Grammar(NamedTuple):
    """What the kernel knows of a table."""

    mark: np.uint8
    classes: npt.NDArray[np.uint8]  # of each byte
    kinds: Ints  # of each column of the file
    lines: Ints  # where its values go
    seeds: npt.NDArray[np.uint64]  # of hashes
    nulls: npt.NDArray[np.uint64]  # texts that say that a value is missing, as `_packed`


class Cells(NamedTuple):
    """What the kernel finds."""

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

    def read(self, text: Bytes, mark: str, quote: str | None, names: FeatureNames | None, plan: TablePlan) -> Any:
        """(rows with names met, labels or None) of whole records by the plan or a narrower one; None: not plain."""
        if not text.size or text[-1] != NEWLINE or not _is_text(text):
            return None
        size = int(np.count_nonzero(text == NEWLINE))
        known = np.zeros(0, np.uint32) if names is None or names.full else names.known
        cells = self._room(size, known.size > 0)
        if not _walk(text, self._grammar(mark, quote), known, cells):
            return None
        columns = [*zip(self._numbers, cells.values, strict=False), *zip(self._hashed, cells.hashes, strict=True)]
        parsed = {name: ParsedColumn(values, cells.absent[self._at[name]]) for name, values in columns}
        encoded: Encoded = encode_parsed(parsed, plan, names, self._met(text, cells))
        return encoded, self._labels(text, cells)

    def _room(self, size: int, named: bool) -> Cells:
        places = len(self._hashed) * size if named else 0
        return Cells(
            np.zeros((len(self._numbers) + 1, size)),
            np.zeros((len(self._hashed), size), np.int64),
            np.zeros((len(self._kinds), size), np.bool_),
            np.zeros(size, np.int64),
            np.zeros((MOST_LABELS, 2), np.int64),
            np.zeros(2, np.int64),
            np.empty((places, 4), np.int64),
        )

    def _grammar(self, mark: str, quote: str | None) -> Grammar:
        classes = np.full(256, ORDINARY, np.uint8)
        classes[:SPACE] = STRANGE
        classes[[0xC2, 0xE1, 0xE2, 0xE3]] = STRANGE  # spaces beyond ASCII begin so: Arrow trims them
        classes[TAB] = ORDINARY
        classes[ord(quote) if quote else NO_QUOTE] = STRANGE
        classes[[NEWLINE, RETURN, ord(mark)]] = END
        nulls = np.array([_packed_text(null) for null in NULLS], np.uint64)
        return Grammar(np.uint8(ord(mark)), classes, self._kinds, self._lines, self._seeds, nulls)

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


def _is_text(text: Bytes) -> bool:
    """Whether it is UTF-8."""
    if not (text & 0x80).any():
        return True
    try:
        text.tobytes().decode()
    except UnicodeDecodeError:
        return False
    return True


def _packed_text(word: str) -> int:
    return int.from_bytes(word.encode(), "little")


TRUE, FALSE = (np.uint64(_packed_text(word)) for word in ("true", "false"))
SMALL = np.uint64(0x2020202020)  # the bits that tell small letters from capitals, in five of them


@jit
def _walk(text: Any, grammar: Any, known: Any, cells: Any) -> Any:
    """Read all cells of the block; False where one of them, or a record, is not plain.

    Tuples are taken apart here, and what is called is compiled into this: else references would be counted for every
    cell, which takes longer than reading it.
    """
    mark, classes, kinds, lines, seeds, nulls = grammar
    values, hashes, absent, codes, spans, counts, met = cells
    one, width, p = np.uint64(1), kinds.size, np.uint64(0)
    for i in range(codes.size):
        for place in range(width):
            while text[p] == SPACE or (text[p] == TAB and mark != TAB):
                p += one
            kind, begin = kinds[place], p
            if kind in (NUMERIC, NUMERIC_LABEL):
                value, p, status = number(text, p)
                if status != READ or not abs(value) <= LARGEST or text[begin] == PLUS:  # NaN is not
                    return False
                if p != begin and classes[text[p]] == END:
                    values[lines[place], i] = value
                    p = _past(text, p, mark, place + 1 == width)
                    if p == np.uint64(0):
                        return False
                    continue
            stop, p = _ends(text, begin, p, classes)
            lost = _is_null(text, begin, stop, nulls)
            if kind == HASHED and not lost:
                if _is_loud_truth(text, begin, stop):
                    return False
                hashed = murmur3(text, begin, stop, seeds[place])
                hashes[lines[place], i] = np.int64(hashed)
                if known.size and known[hashed & np.uint64(known.size - 1)] != np.uint32(hashed + one):
                    row = counts[1]
                    met[row, 0], met[row, 1], met[row, 2], met[row, 3] = hashed, place, begin, stop
                    counts[1] += 1
            elif kind == LABEL and not lost:
                codes[i] = _code(text, begin, stop, spans, counts)
                if codes[i] == MOST_LABELS:
                    return False
            elif kind != LEFT:
                if not lost or kind in (LABEL, NUMERIC_LABEL):
                    return False
                absent[place, i] = True
            p = _past(text, p, mark, place + 1 == width)
            if p == np.uint64(0):
                return False
    return p == np.uint64(text.size)


@inlined
def _ends(text: Any, begin: Any, p: Any, classes: Any) -> Any:
    """(the end of a cell without spaces behind it, where it is over: at a byte that ends one, or a strange one)."""
    while classes[text[p]] == ORDINARY:
        p += np.uint64(1)
    stop = p
    while stop > begin and (text[stop - np.uint64(1)] == SPACE or text[stop - np.uint64(1)] == TAB):
        stop -= np.uint64(1)
    return stop, p


@inlined
def _past(text: Any, p: Any, mark: Any, last: Any) -> Any:
    """The first byte of the next cell, of a record if this was the last; 0: the cell does not end as it should."""
    if not last:
        return p + np.uint64(1) if text[p] == mark else np.uint64(0)
    if text[p] == RETURN and text[p + np.uint64(1)] == NEWLINE:
        p += np.uint64(1)
    return p + np.uint64(1) if text[p] == NEWLINE else np.uint64(0)


@inlined
def _packed(text: Any, begin: Any, stop: Any) -> Any:
    """The bytes of a short text as a number."""
    word, q = np.uint64(0), stop
    while q > begin:
        q -= np.uint64(1)
        word = word << np.uint64(8) | np.uint64(text[q])
    return word


@inlined
def _is_null(text: Any, begin: Any, stop: Any, nulls: Any) -> Any:
    """Whether a text says that a value is missing; no such word has more than four letters."""
    if stop - begin > np.uint64(4):
        return False
    word = _packed(text, begin, stop)
    for j in range(nulls.size):  # noqa: SIM110 (numba knows no generators)
        if word == nulls[j]:
            return True
    return False


@inlined
def _is_loud_truth(text: Any, begin: Any, stop: Any) -> Any:
    """Whether it is a truth with capitals, which stands for another text."""
    size = stop - begin
    if size != np.uint64(4) and size != np.uint64(5):
        return False
    word = _packed(text, begin, stop)
    small = word | (SMALL >> np.uint64(8) * (np.uint64(5) - size))
    return small in (TRUE, FALSE) and word != small


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
