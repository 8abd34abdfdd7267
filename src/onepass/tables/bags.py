"""Words to rows: a hashed bag of words, each worth log2(1 + how often it stands there). See dekel2008, section 4.

A word is a run of ASCII letters, digits and bytes beyond ASCII (so that words in any script stay whole); ASCII capitals
are lowered. Its place is its MurmurHash3 modulo 2^bits; words that fall together are counted together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.rows import Rows
from onepass.tables.hashing import murmur3
from onepass.tables.sorting import KEEP_SUM, tidy

# What each byte is in a word: itself, its small letter, or 0 for what separates words.
LETTER = np.arange(256, dtype=np.uint8)
LETTER[:128] = [ord(chr(byte).lower()) if chr(byte).isalnum() else 0 for byte in range(128)]


def bag_of_words(texts: Any, bits: int, seed: int = 0) -> Rows:
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
    return bags(np.frombuffer(data or b"", np.uint8), ends, bits, seed)


def bags(text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64], bits: int, seed: int = 0) -> Rows:
    """The rows of texts that lie one after another: text i is text[ends[i]:ends[i + 1]]."""
    first, last = int(ends[0]), int(ends[-1])
    letters, ends = LETTER[text[first:last]], ends - first
    room = letters.size // 2 + len(ends)
    rows = Rows(np.zeros(len(ends), np.int64), np.empty(room, np.int32), np.empty(room))
    with np.errstate(over="ignore"):
        used = int(_bags(letters, ends, np.uint64((1 << bits) - 1), np.uint64(seed), rows))
    return Rows(rows.indptr, rows.indices[:used].copy(), rows.values[:used].copy())


@jit
def _bags(letters: Any, ends: Any, mask: Any, seed: Any, rows: Any) -> Any:
    k = 0
    for i in range(ends.size - 1):
        first, p, stop = k, np.uint64(ends[i]), np.uint64(ends[i + 1])
        while p < stop:
            start = p
            while p < stop and letters[p] != 0:
                p += np.uint64(1)
            if p > start:
                rows.indices[k] = np.int64(murmur3(letters, start, p, seed) & mask)
                rows.values[k] = 1.0
                k += 1
            p += np.uint64(1)
        k = tidy(rows.indices, rows.values, first, k, KEEP_SUM)
        for j in range(first, k):
            rows.values[j] = math.log2(1.0 + rows.values[j])
        rows.indptr[i + 1] = k
    return k


def words_of(
    texts: Any, bits: int, seed: int, known: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """(hashes, words) that stand in an Arrow array of strings and are not `known`: hashes plus 1, by place."""
    import pyarrow

    texts = texts.cast(pyarrow.large_string()).fill_null("")
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
    first, last = int(ends[0]), int(ends[-1])
    letters = LETTER[np.frombuffer(data or b"", np.uint8)[first:last]]
    met, room = known.copy(), letters.size // 2 + len(ends)
    starts, stops, hashes = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.uint32)
    with np.errstate(over="ignore"):
        size = int(_words(letters, ends - first, np.uint64(seed), met, (starts, stops), hashes))
    text = letters.tobytes()
    pairs = zip(starts[:size].tolist(), stops[:size].tolist(), strict=True)
    return hashes[:size], [text[start:stop].decode("utf-8", "replace") for start, stop in pairs]


@jit
def _words(letters: Any, ends: Any, seed: Any, met: Any, where: Any, hashes: Any) -> Any:
    k, mask, (starts, stops) = 0, np.uint64(met.size - 1), where
    for i in range(ends.size - 1):
        p, stop = np.uint64(ends[i]), np.uint64(ends[i + 1])
        while p < stop:
            start = p
            while p < stop and letters[p] != 0:
                p += np.uint64(1)
            if p > start:
                h = murmur3(letters, start, p, seed)
                mark = np.uint32(h + np.uint64(1))
                if met[h & mask] != mark:
                    met[h & mask] = mark
                    starts[k], stops[k], hashes[k] = start, p, h
                    k += 1
            p += np.uint64(1)
    return k
