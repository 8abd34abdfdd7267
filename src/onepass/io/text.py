"""Raw text to rows: a hashed bag of words, each worth log2(1 + how often it stands there). See dekel2008, section 4.

A word is a run of ASCII letters, digits and bytes beyond ASCII (so that words in any script stay whole); ASCII capitals
are lowered. Its place is its MurmurHash3 modulo 2^bits; words that fall together are counted together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.errors import Argument, DataError, Phrase
from onepass.io.blocks import Load, TextBlock, Work, blocks
from onepass.io.chunk import Labels
from onepass.io.hashing import murmur3
from onepass.io.lines import KEEP_SUM, BadLine, LineError, Parsed, tidy
from onepass.io.options import between
from onepass.io.sources import Source
from onepass.rows import Rows

# What each byte is in a word: itself, its small letter, or 0 for what separates words.
LETTER = np.arange(256, dtype=np.uint8)
LETTER[:128] = [ord(chr(byte).lower()) if chr(byte).isalnum() else 0 for byte in range(128)]


def bag_of_words(texts: Any, bits: int) -> Rows:
    """The rows of an Arrow array of strings.

    >>> import pyarrow
    >>> rows = bag_of_words(pyarrow.array(["To be or not to be", ""]), bits=18)
    >>> rows.indptr, rows.values
    (array([0, 4, 4]), array([1.5849625, 1.       , 1.       , 1.5849625]))
    """
    import pyarrow

    texts = texts.cast(pyarrow.large_string()).fill_null("")
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    return bags(np.frombuffer(data or b"", np.uint8), ends, bits)


def bags(text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], bits: int) -> Rows:
    """The rows of texts that lie one after another: text i is text[ends[i]:ends[i + 1]]."""
    first, last = int(ends[0]), int(ends[-1])
    letters, ends = LETTER[text[first:last]], ends - first
    room = letters.size // 2 + len(ends)
    rows = Rows(np.zeros(len(ends), np.int64), np.empty(room, np.int32), np.empty(room))
    with np.errstate(over="ignore"):
        used = int(_bags(letters, ends, np.uint64((1 << bits) - 1), rows))
    return Rows(rows.indptr, rows.indices[:used].copy(), rows.values[:used].copy())


@jit
def _bags(letters: Any, ends: Any, mask: Any, rows: Any) -> Any:
    k = 0
    for i in range(ends.size - 1):
        first, p, stop = k, np.uint64(ends[i]), np.uint64(ends[i + 1])
        while p < stop:
            start = p
            while p < stop and letters[p] != 0:
                p += np.uint64(1)
            if p > start:
                rows.indices[k] = np.int64(murmur3(letters, start, p, np.uint64(0)) & mask)
                rows.values[k] = 1.0
                k += 1
            p += np.uint64(1)
        k = tidy(rows.indices, rows.values, first, k, KEEP_SUM)
        for j in range(first, k):
            rows.values[j] = math.log2(1.0 + rows.values[j])
        rows.indptr[i + 1] = k
    return k


@dataclass(frozen=True)
class JsonLines:
    """One JSON object a line; text_column and target name its members. bits, labelled: as for other formats."""

    text_column: str | None = None
    target: str | None = None
    bits: int = 18
    labelled: bool = True
    _kinds: list[type] = field(default_factory=list, init=False, repr=False)  # of the first label

    splits = True

    def __post_init__(self) -> None:
        between("bits", self.bits, 1, 31)
        if self.target is not None and self.target == self.text_column:
            raise ValueError(f"member {self.target!r} cannot be both target and text_column")

    def works(self, source: Source, skip: bool) -> Iterator[Work]:
        """Blocks of lines."""
        if self.text_column is None:
            message = "JSON lines are read as text, and it is not said which member holds it"
            raise DataError(message, source=source.path, remedy=Argument("text_column", like="NAME"))
        if self.target is None and self.labelled:
            message = "it is not said which member is the label"
            raise DataError(message, source=source.path, remedy=Argument("target", like="NAME"))
        for load in blocks(source):
            if not self._kinds:
                self._look(load)
            yield Work(load.consumed, partial(self._parse, load, skip))

    def go_on(self, label: float | str) -> None:
        """Keep to what the first label of an earlier run decided."""
        self._kinds.append(type(label))

    def remarks(self, flags: int) -> list[str]:
        """What to tell the user after the last line."""
        return [Phrase("words are hashed into 2^{} places ({})", self.bits, Argument("bits"))]

    def _look(self, load: Load) -> None:
        """The first label decides for all blocks, which are parsed in any order, whether labels are numbers or text."""
        for line in _lines(load.block()):
            with suppress(LineError):
                example = self.read_line(line)
                if example is not None and example[1] is not None:
                    self._kinds.append(type(example[1]))
                    return

    def _parse(self, load: Load, skip: bool) -> Parsed:
        block: TextBlock = load.block()
        lines = _lines(block)
        texts, labels, bad = list[bytes](), list[float | str | None](), list[BadLine]()
        places = list[int]()
        for number, line in enumerate(lines):
            try:
                example = self.read_line(line)
                if example is not None and example[1] is not None and not isinstance(example[1], self._kinds[0]):
                    raise LineError("labels are numbers in some lines and text in others", None, "write all as text")
            except LineError as fault:
                bad.append(BadLine(number, line, fault))
                if not skip:
                    break
                continue
            if example is not None:
                texts.append(example[0])
                labels.append(example[1])
                places.append(number)
        ends = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=ends[1:])
        rows = bags(np.frombuffer(b"".join(texts), np.uint8), ends, self.bits)
        kept: Labels | None = None
        if any(label is not None for label in labels):
            missing = "" if self._kinds[0] is str else math.nan
            kept = np.array([missing if label is None else label for label in labels])
        return Parsed(rows, kept, len(lines), bad, 0, block.start, block.stop, np.array(places, np.int64))

    def read_line(self, line: bytes) -> tuple[bytes, float | str | None] | None:
        """(text, label) of a line, None if it is blank; the label is None if there is none. Raises LineError.

        >>> JsonLines(text_column="body", target="spam").read_line(b'{"spam": true, "body": "Win now"}')
        (b'Win now', 1.0)
        """
        if not line.strip():
            return None
        try:
            record = json.loads(line.decode())
        except UnicodeDecodeError as error:
            raise LineError("not UTF-8", error.start + 1, "convert it, e.g. iconv -f LATIN1 -t UTF-8") from error
        except json.JSONDecodeError as error:
            raise LineError(f"not JSON: {error.msg}", error.colno) from error
        except (RecursionError, ValueError) as error:
            raise LineError("not JSON that can be read: too deep, or a number with too many digits") from error
        if not isinstance(record, dict):
            raise LineError("a line must hold one JSON object")
        text = record.get(self.text_column)
        if not isinstance(text, str):
            raise LineError(f"no text in member {self.text_column!r}")
        return text.encode("utf-8", "replace"), self._label(record)

    def _label(self, record: dict[str, Any]) -> float | str | None:
        label = None if self.target is None else record.get(self.target)
        if not self.labelled and (label is None or label == "" or label != label):
            return None
        if isinstance(label, str) and label:
            return label
        if isinstance(label, int | float):
            try:
                number = float(label)
            except OverflowError:
                number = math.inf
            if math.isfinite(number):
                return number
        raise LineError(f"no label in member {self.target!r}: it must be text or a finite number")


def _lines(block: TextBlock) -> list[bytes]:
    return block.text[: block.size].tobytes().split(b"\n")[:-1]
