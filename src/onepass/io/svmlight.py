"""svmlight and LIBSVM text: `label [qid:n] index:value … [# comment]`, one example a line.

Values are read to the bits that `float()` gives; indices must increase, and start at 1 unless told otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.errors import Argument, Phrase
from onepass.io.blocks import Work, works_of_lines
from onepass.io.chunk import Bytes
from onepass.io.lines import NUMBER, CsrBuffer, Example, LineError, TokenizerState, carriage_return, finite, tidied
from onepass.io.numbers import READ, TENS, decimal, number, short_decimal, short_feature
from onepass.io.options import between, one_of
from onepass.io.sources import Source
from onepass.io.words import three_words, whole, word
from onepass.tables.sorting import KEEP_LAST, KEEP_NONE, KEEP_SUM, tidy

QID, ZERO = 1, 2  # remarks: a qid was ignored; index 0 was met

TOKEN = re.compile(rb"[^ \t]+")
JOIN = Phrase("{} or {}", Argument("duplicates", "sum"), Argument("duplicates", "last"))
FOLD = Phrase("{} or {}", Argument("bits", 24), Argument("max_features"))
DUPLICATES = {"error": KEEP_NONE, "sum": KEEP_SUM, "last": KEEP_LAST}


class SvmlightRules(NamedTuple):
    """The options as the kernel sees them."""

    base: np.int64  # the first index: 0 or 1
    limit: np.int64  # features 0 … limit − 1 exist
    mask: np.int64  # −1, or 2^bits − 1 to fold indices
    sort: np.bool_  # whether a row out of order may be sorted
    keep: np.int64  # KEEP_*


@dataclass(frozen=True)
class Svmlight:
    """The format with its options.

    zero_based: the first feature is 0, not 1. max_features: a larger index is an error, found before any memory is
    asked for. bits: fold indices modulo 2^bits, adding what falls together. unsorted: "error" or "sort". duplicates:
    "error", "sum" or "last". missing: "error", or "zero" to read nan as 0. labelled: False accepts lines that start
    with a feature (their label is nan).
    """

    zero_based: bool = False
    max_features: int = 2**24
    bits: int | None = None
    unsorted: str = "error"
    duplicates: str = "error"
    missing: str = "error"
    labelled: bool = True

    splits = True
    shortest_row = 2  # "1\n"
    shortest_feature = 4  # " 1:2"

    def __post_init__(self) -> None:
        one_of("unsorted", self.unsorted, ("error", "sort"))
        one_of("duplicates", self.duplicates, tuple(DUPLICATES))
        one_of("missing", self.missing, ("error", "zero"))
        if self.bits is not None:
            between("bits", self.bits, 1, 31)
        between("max_features", self.max_features, 1, 2**31)

    @property
    def rules(self) -> SvmlightRules:
        """What the kernel needs to know of the options."""
        folded = self.bits is not None
        return SvmlightRules(
            np.int64(not self.zero_based),
            np.int64(2**63 - 1 if folded else self.max_features),
            np.int64((1 << self.bits) - 1 if self.bits is not None else -1),
            np.bool_(folded or self.unsorted == "sort"),
            np.int64(KEEP_SUM if folded and self.duplicates == "error" else DUPLICATES[self.duplicates]),
        )

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Blocks of lines."""
        return works_of_lines(self, source, skip)

    def remarks(self, flags: int) -> list[str]:
        """What to tell the user after the last line."""
        notes = list[str]()
        if flags & QID:
            notes.append("qid: query numbers were ignored")
        if self.zero_based and not flags & ZERO:
            notes.append(Phrase("no line has an index 0, though {} was given", Argument("zero_based", True)))
        return notes

    def tokenize(self, text: Bytes, size: int, table: CsrBuffer, state: TokenizerState) -> TokenizerState:
        """Read on until the end or a line for `read_line`."""
        return TokenizerState(*map(int, _tokenize(self.rules, text, np.uint64(size), table, state)))

    def read_line(self, line: bytes) -> Example | None:
        """The definition: label, features and remarks of one line; None if it holds nothing. Raises LineError.

        >>> Svmlight().read_line(b"-1 qid:3 2:0.5 7:1e-3 # a comment")
        Example(label=-1.0, indices=[1, 6], values=[0.5, 0.001], flags=1)
        """
        if line.endswith(b"\r"):
            line = line[:-1]
        if b"\r" in line:
            raise carriage_return(line)
        body = line.partition(b"#")[0]
        if b"\0" in body:
            raise LineError("NUL byte: this is not text", body.index(b"\0") + 1)
        words = list(TOKEN.finditer(body))
        if not words:
            return None
        flags, label = 0, math.nan
        if b":" not in words[0][0] or self.labelled:
            label = self._label(words.pop(0))
        if words and re.fullmatch(rb"qid:[0-9]+", words[0][0]):
            flags |= QID
            del words[0]
        indices, values = list[int](), list[float]()
        for found in words:
            index = self._index(found, indices[-1] if indices else -1)
            indices.append(index)
            values.append(self._value(found))
            flags |= ZERO * (index == 0 and self.zero_based)
        tidy_row = tidied(indices, values, int(self.rules.keep))
        if tidy_row is None:
            raise LineError("an index stands twice in the row", None, JOIN)
        if not all(map(math.isfinite, tidy_row[1])):
            raise LineError("the sum of a duplicate index is beyond the largest float")
        return Example(label, *tidy_row, flags)

    def _label(self, word: re.Match[bytes]) -> float:
        text, column = word[0], word.start() + 1
        if b":" in text:
            raise LineError("the line has no label before its first feature", column, "put a label first")
        if b"," in text and all(NUMBER.fullmatch(part) for part in text.split(b",")):
            raise LineError("several labels in one line are not supported", column, "keep one label a line")
        return finite(text, column, "label")

    def _index(self, word: re.Match[bytes], previous: int) -> int:
        text, column = word[0], word.start() + 1
        name, colon, value = text.partition(b":")
        if not colon:
            raise LineError("expected index:value", column)
        if not name:
            raise LineError("no index before the colon", column)
        if name[:1] == b"-" and name[1:].isdigit():
            raise LineError("a negative index", column)
        if not name.isdigit():
            raise LineError("an index must be a whole number", column + len(name) - len(name.lstrip(b"0123456789")))
        if not value:
            raise LineError("no value after the colon", column + len(name) + 1)
        name = name.lstrip(b"0") or b"0"
        if len(name) > 4000:  # more than int() takes
            raise LineError(f"an index of {len(name)} digits", column)
        index = int(name) - (not self.zero_based)
        if index < 0:
            raise LineError("index 0, but indices start at 1", column, Argument("zero_based", True))
        if self.bits is not None:
            return index % (1 << self.bits)
        if index >= self.max_features:
            shown = name.decode() if len(name) <= 20 else f"{name[:8].decode()}… ({len(name)} digits)"
            size = f"needs {8e-9 * index:,.3g} GB of weights; " if index < 2**40 else ""
            raise LineError(f"index {shown} {size}the limit is {self.max_features} features", column, FOLD)
        if index == previous and self.duplicates == "error":
            raise LineError(f"index {name.decode()} stands twice", column, JOIN)
        if index < previous and self.unsorted == "error":
            before = previous + (not self.zero_based)
            raise LineError(
                f"index {name.decode()} after {before} (must increase)", column, Argument("unsorted", "sort")
            )
        return index

    def _value(self, word: re.Match[bytes]) -> float:
        at = word[0].index(b":") + 1
        return finite(word[0][at:], word.start() + at + 1, "value", self.missing)


@jit
def _tokenize(rules: Any, text: Any, size: Any, table: Any, state: Any) -> Any:
    """Lines from `state` on into `table`: until `size`, or the start of a line that is anything but plain."""
    p = np.uint64(state[0])
    row, k, line, flags = np.uint64(state[1]), np.uint64(state[2]), np.uint64(state[3]), np.int64(state[4])
    while p < size:
        if text[p] == 10:  # an empty line, and there may be gigabytes of them: no call for each
            p += np.uint64(1)
            line += np.uint64(1)
            continue
        after, end, example, remarks = _line(rules, text, p, table, row, k)
        if after == p:
            break
        p, k, flags = after, end, flags | remarks
        if example:
            table.lines[row] = line
            row += np.uint64(1)
            table.indptr[row] = k
        line += np.uint64(1)
    return p, row, k, line, flags


@jit
def _line(rules: Any, text: Any, start: Any, table: Any, row: Any, first: Any) -> Any:
    """(start of the next line, end of the row, whether it is one, remarks); the line's own start if it is not plain."""
    # Long, as one walk: place, count and last feature stay in registers, where a part of its own would pass all back.
    one = np.uint64(1)
    refused = start, first, False, np.int64(0)
    p, k, remarks = start, first, np.int64(0)
    c = text[p]
    while c == 32 or c == 9:
        p += one
        c = text[p]
    example = c != 10 and c != 13 and c != 35
    if example:
        label, q, status = number(text, p)
        if q == p or status != READ or not math.isfinite(label):
            return refused
        table.labels[row] = label
        p, in_order, previous = q, True, np.int64(-1)
        c = text[p]
        while c == 32 or c == 9:
            while c == 32:  # features as most are: a short index, a short number; no function is called for them
                index, length, size = short_feature(word(text, p + one), word(text, p + np.uint64(9)))
                if size == np.uint64(16):
                    break
                index -= np.uint64(rules.base)  # 0 becomes the largest
                feature = np.int64(index) & rules.mask
                q = p + one + length
                mantissa, after, good = short_decimal(word(text, q + one), size - length - one)
                if length - one > np.uint64(6) or text[q] != 58 or index >= np.uint64(rules.limit):
                    break
                if feature <= previous or not good:
                    break
                table.indices[k] = feature
                table.values[k] = np.float64(mantissa) / TENS[after]
                p += size + one
                k, previous, c = k + one, feature, text[p]
            if c != 32 and c != 9:
                break
            p += one
            index, length = whole(*three_words(text, p))
            q = p + length
            c = text[q]
            if q == p:  # another space, the line's end, a comment, or a qid
                if c == 113 and k == first and remarks == 0:
                    p = _after_qid(text, p)
                    if p == q:
                        return refused
                    c = text[p]
                    remarks |= QID
                continue
            index -= np.uint64(rules.base)
            if c != 58 or length > np.uint64(18) or index >= np.uint64(rules.limit):
                return refused
            feature = np.int64(index) & rules.mask
            if feature <= previous:
                if not rules.sort and (feature < previous or rules.keep == KEEP_NONE):
                    return refused
                in_order = False
            p = q + one
            value, length = decimal(*three_words(text, p))
            q = p + length
            if length == np.uint64(0) or text[q] > 32:
                value, q, status = number(text, p)
                if q == p or status != READ or not math.isfinite(value):
                    return refused
            table.indices[k] = feature
            table.values[k] = value
            p, k, previous, c = q, k + one, feature, text[q]
        if not in_order:
            end = tidy(table.indices, table.values, np.int64(first), np.int64(k), rules.keep)
            if end < 0:
                return refused
            k = np.uint64(end)
        if rules.base == 0 and k > first and table.indices[first] == 0:
            remarks |= ZERO
    if c == 35:
        while c != 10 and c != 13:
            p += one
            c = text[p]
    if c == 13:
        p += one
        c = text[p]
    if c != 10:
        return refused
    return p + one, k, example, remarks


@jit
def _after_qid(text: Any, p: Any) -> Any:
    """The position after `qid:digits`, or p if that does not stand there."""
    q = p
    for expected in (113, 105, 100, 58):
        if text[q] != expected:
            return p
        q += np.uint64(1)
    if not 48 <= text[q] <= 57:
        return p
    while 48 <= text[q] <= 57:
        q += np.uint64(1)
    return q
