"""Vowpal Wabbit text: `label [importance] ['tag]|namespace[:weight] feature[:value] … |namespace …`, a line each.

Names become indices as Vowpal Wabbit makes them: the namespace's hash seeds the feature's, a name of digits alone
counts from that seed, nameless features count up from it, and the low `bits` bits are kept. Features that fall together
add.
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
from onepass.io.lines import CsrBuffer, Example, LineError, TokenizerState, carriage_return, finite, tidied
from onepass.io.numbers import READ, TENS, decimal, number, short_decimal, short_feature
from onepass.io.options import between
from onepass.io.sources import Source
from onepass.io.words import three_words, whole, word
from onepass.tables.hashing import hashed, murmur3
from onepass.tables.sorting import KEEP_SUM, tidy

NAME = re.compile(rb"[^ \t:|]*")
VALUE = re.compile(rb"[^ \t|]+")
WORD = re.compile(rb"[^ \t]+")
CONTROL = re.compile(rb"[\0-\x08\x0a-\x1f]")


class VwRules(NamedTuple):
    """The options as the kernel sees them."""

    mask: np.uint64  # 2^bits − 1
    labelled: np.bool_


@dataclass(frozen=True)
class VowpalWabbit:
    """The format with its options.

    bits: features live in 2^bits places, 18 as in Vowpal Wabbit. labelled: False accepts examples without a label (it
    is nan).
    """

    bits: int = 18
    labelled: bool = True

    splits = True
    shortest_row = 2  # "|\n"
    shortest_feature = 2  # " a"

    def __post_init__(self) -> None:
        between("bits", self.bits, 1, 31)

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Blocks of lines."""
        return works_of_lines(self, source, skip)

    def remarks(self, flags: int) -> list[str]:
        """What to tell the user after the last line."""
        return [Phrase("features are hashed into 2^{} places ({})", self.bits, Argument("bits"))]

    def tokenize(self, text: Bytes, size: int, table: CsrBuffer, state: TokenizerState) -> TokenizerState:
        """Read on until the end or a line for `read_line`."""
        rules = VwRules(np.uint64((1 << self.bits) - 1), np.bool_(self.labelled))
        return TokenizerState(*map(int, _tokenize(rules, text, np.uint64(size), table, state)))

    def read_line(self, line: bytes) -> Example | None:
        """The definition: label and hashed features of one line; None if it is blank. Raises LineError.

        >>> VowpalWabbit().read_line(b"-1 'house-7|size:0.5 rooms:4 2024 | old")
        Example(label=-1.0, indices=[73698, 126866, 205980], values=[0.5, 2.0, 1.0], flags=0)
        """
        line = line.removesuffix(b"\r")
        if b"\r" in line:
            raise carriage_return(line)
        if control := CONTROL.search(line):
            raise LineError("a control character: this is not text", control.start() + 1)
        if not line.strip(b" \t"):
            return None
        bar = line.find(b"|")
        if bar < 0:
            raise LineError("no | between the label and the features", len(line) + 1)
        label = self._label(line[:bar])
        indices, values = list[int](), list[float]()
        while bar < len(line):
            bar = self._namespace(line, bar + 1, indices, values)
        order, sums = tidied(indices, values, KEEP_SUM) or ([], [])
        if not all(map(math.isfinite, sums)):
            raise LineError("the sum of features that fall together is beyond the largest float")
        return Example(label, order, sums)

    def _label(self, text: bytes) -> float:
        words = list(WORD.finditer(text))
        if words and (words[-1][0].startswith(b"'") or words[-1].end() == len(text)):
            if len(words) == 1 and self.labelled:
                raise LineError("no label: what touches the | is a tag", len(text) + 1, "put a space before the |")
            del words[-1]
        if not words:
            if self.labelled:
                raise LineError("the example has no label", 1, "put a label first")
            return math.nan
        if b":" in words[0][0]:
            raise LineError("labels with costs are not supported", words[0].start() + 1, "give one number as the label")
        label, *others = (
            finite(word[0], word.start() + 1, "label" if word is words[0] else "weight") for word in words
        )
        if others and others[0] != 1.0:
            raise LineError("importance weights other than 1 are not supported", words[1].start() + 1, "leave it out")
        if len(others) > 1:
            raise LineError("an initial prediction is not supported", words[2].start() + 1, "leave it out")
        return label

    def _namespace(self, line: bytes, at: int, indices: list[int], values: list[float]) -> int:
        """Read the namespace whose bar stands before `at`; the place of the next bar, or the line's end."""
        name = _name(line, at)
        at += len(name)
        seed, weight, nameless = hashed(name) if name else 0, 1.0, 0
        if line[at : at + 1] == b":":
            if not name:
                raise LineError("a namespace without a name has a weight", at + 1)
            weight, at = _value(line, at + 1)
        while at < len(line) and line[at : at + 1] != b"|":
            if line[at : at + 1] not in b" \t":
                raise LineError("expected a space", at + 1)
            at += 1
            name = _name(line, at)
            at += len(name)
            value = 1.0
            index = hashed(name, seed)
            if line[at : at + 1] == b":":
                value, at = _value(line, at + 1)
                if not name:
                    index = seed + nameless
                    nameless += 1
            elif not name:
                continue
            if value * weight != 0.0:  # Vowpal Wabbit drops zeros too
                indices.append(index & ((1 << self.bits) - 1))
                values.append(value * weight)
        return at


def _name(line: bytes, at: int) -> bytes:
    found = NAME.match(line, at)
    return found[0] if found else b""


def _value(line: bytes, at: int) -> tuple[float, int]:
    text = VALUE.match(line, at)
    if text is None:
        raise LineError("no value after the colon", at + 1)
    return finite(text[0], at + 1, "value"), text.end()


@jit
def _tokenize(rules: Any, text: Any, size: Any, table: Any, state: Any) -> Any:
    """Lines from `state` on into `table`: until `size`, or the start of a line that is anything but plain."""
    p = np.uint64(state[0])
    row, k, line = np.uint64(state[1]), np.uint64(state[2]), np.uint64(state[3])
    while p < size:
        if text[p] == 10:  # an empty line, and there may be gigabytes of them: no call for each
            p += np.uint64(1)
            line += np.uint64(1)
            continue
        after, end, example = _line(rules, text, p, table, row, k)
        if after == p:
            break
        p, k = after, end
        if example:
            table.lines[row] = line
            row += np.uint64(1)
            table.indptr[row] = k
        line += np.uint64(1)
    return p, row, k, line, state[4]


@jit
def _line(rules: Any, text: Any, start: Any, table: Any, row: Any, first: Any) -> Any:
    """(start of the next line, end of the row, whether it is one); the line's own start if it is not plain."""
    # Long, as one walk: place, count and last feature stay in registers, where a part of its own would pass all back.
    one = np.uint64(1)
    refused = start, first, False
    p, k = _after_spaces(text, start), first
    c = text[p]
    example = c != 10 and c != 13
    if example:
        label, p, plain = _head(rules, text, p)
        if not plain:
            return refused
        table.labels[row] = label
        in_order, previous = True, np.int64(-1)
        while text[p] == 124:
            q = p + one
            p, seed = _name_at(text, q, np.uint64(0))
            weight, nameless = 1.0, np.uint64(0)
            if text[p] == 58:
                value, after, status = number(text, p + one)
                if p == q or after == p + one or status != READ or not math.isfinite(value):
                    return refused
                weight, p = value, after
            while text[p] == 32 or text[p] == 9:
                while text[p] == 32:  # features as most are: a short number, a short value; no function is called
                    index, length, size = short_feature(word(text, p + one), word(text, p + np.uint64(9)))
                    if size == np.uint64(16):
                        break
                    q = p + one + length
                    mantissa, after, good = short_decimal(word(text, q + one), size - length - one)
                    if length - one > np.uint64(6) or text[q] != 58 or not good:
                        break
                    value = np.float64(mantissa) / TENS[after] * weight
                    if value == 0.0 or not math.isfinite(value):
                        break
                    feature = np.int64((index + seed) & rules.mask)
                    if feature <= previous:
                        in_order = False
                    table.indices[k] = feature
                    table.values[k] = value
                    p, k, previous = p + one + size, k + one, feature
                if text[p] != 32 and text[p] != 9:
                    break
                p += one
                q, value = p, 1.0
                p, index = _name_at(text, q, seed)
                named = p > q
                if text[p] == 58:
                    p += one
                    value, length = decimal(*three_words(text, p))
                    after = p + length
                    if length == np.uint64(0) or text[after] > 32:
                        value, after, status = number(text, p)
                        if after == p or status != READ:
                            return refused
                    p = after
                elif not named:  # another space, a bar or the end
                    continue
                value *= weight
                if not math.isfinite(value):
                    return refused
                if not named:
                    index = seed + nameless
                    nameless += one
                if value != 0.0:
                    feature = np.int64(index & rules.mask)
                    if feature <= previous:
                        in_order = False
                    previous = feature
                    table.indices[k] = feature
                    table.values[k] = value
                    k += one
        c = text[p]
        if not in_order:
            end = tidy(table.indices, table.values, np.int64(first), np.int64(k), KEEP_SUM)
            if end < 0:
                return refused
            k = np.uint64(end)
    if c == 13:
        p += one
        c = text[p]
    if c != 10:
        return refused
    return p + one, k, example


@jit
def _head(rules: Any, text: Any, p: Any) -> Any:
    """(label, place of the first bar, whether what stands before it is `[label] [tag]`)."""
    if text[p] == 124:
        return math.nan, p, not rules.labelled
    label, q, status = number(text, p)
    if q == p or status != READ or not math.isfinite(label) or (text[q] != 32 and text[q] != 9):
        return label, q, False
    q = _after_spaces(text, q)
    quoted = text[q] == 39
    q = _after_name(text, q)  # a tag touches the bar, or starts with a quote
    if quoted:
        q = _after_spaces(text, q)
    return label, q, text[q] == 124


@jit
def _name_at(text: Any, p: Any, seed: Any) -> Any:
    """(end, hash) of the name at p, `name_hash` in one walk where it is a number; the seed itself if there is none."""
    number, length = whole(*three_words(text, p))
    after = p + length
    while 48 <= text[after] <= 57:  # more than 24 digits
        number = number * np.uint64(10) + np.uint64(text[after] - 48)
        after += np.uint64(1)
    end = _after_name(text, after)
    return end, number + seed if end == after else murmur3(text, p, end, seed)


@jit
def _after_spaces(text: Any, p: Any) -> Any:
    while text[p] == 32 or text[p] == 9:
        p += np.uint64(1)
    return p


@jit
def _after_name(text: Any, p: Any) -> Any:
    """The end of a name: a space, colon, bar or control character."""
    c = text[p]
    while c > 32 and c != 58 and c != 124:
        p += np.uint64(1)
        c = text[p]
    return p
