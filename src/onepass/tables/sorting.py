"""Rows whose indices are in no order, or stand twice."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass._jit import allocating, jit
from onepass.rows import Ints

FEW = 32  # values that are sorted by comparing fixed pairs
PIECE = 512  # columns at once: they stay in the nearest cache
KEEP_NONE, KEEP_SUM, KEEP_LAST = 0, 1, 2  # what to do with a feature that stands twice in a row


@allocating
def tidy(indices: Any, values: Any, begin: Any, end: Any, keep: Any) -> Any:
    """The row's new end after sorting it by index and joining duplicates; −1 if `keep` forbids them or a sum overflows.

    Equal indices stay in their order (the key holds the place), so that sums have one value.
    """
    size = end - begin
    keys = np.empty(size, np.uint64)
    for j in range(size):
        keys[j] = (np.uint64(indices[begin + j]) << np.uint64(32)) | np.uint64(j)
    keys.sort()
    old = values[begin:end].copy()
    last = begin - 1
    for key in keys:
        index, value = np.int32(key >> np.uint64(32)), old[key & np.uint64(0xFFFFFFFF)]
        if last >= begin and indices[last] == index:
            if keep == KEEP_NONE:
                return np.int64(-1)
            values[last] = values[last] + value if keep == KEEP_SUM else value
            if not math.isfinite(values[last]):
                return np.int64(-1)
        else:
            last += 1
            indices[last], values[last] = index, value
    return np.int64(last + 1)


def exchanges(size: int) -> Ints:
    """Pairs (lower, upper) of places that sort so many values, if each pair is put in order in turn; of many none.

    Batcher's merge exchange: see Knuth, The Art of Computer Programming, algorithm 5.2.2 M.

    >>> exchanges(3).tolist()
    [[0, 2], [0, 1], [1, 2]]
    """
    pairs = list[tuple[int, int]]()
    top = 1 << max(0, (size - 1).bit_length() - 1)
    p = top if 1 < size <= FEW else 0
    while p:
        q, r, d = top, 0, p
        while True:
            pairs += [(i, i + d) for i in range(size - d) if i & p == r]
            if q == p:
                break
            d, q, r = q - p, q >> 1, p
        p >>= 1
    return np.array(pairs, np.int64).reshape(-1, 2)


def sort_columns(lines: npt.NDArray[np.uint32]) -> None:
    """Sort each column of an array with few lines; of one with many nothing is done.

    >>> lines = np.array([[3, 1], [2, 0], [1, 2]], np.uint32)
    >>> sort_columns(lines)
    >>> lines.tolist()
    [[1, 0], [2, 1], [3, 2]]
    """
    _exchange(lines, exchanges(len(lines)))


@jit
def _exchange(lines: Any, pairs: Any) -> None:
    """Put each pair of lines in order, piece by piece: many columns at once, and nothing that must be guessed."""
    size = np.uint64(lines.shape[1])
    for begin in range(np.uint64(0), size, np.uint64(PIECE)):
        end = min(begin + np.uint64(PIECE), size)
        for j in range(np.uint64(pairs.shape[0])):
            lower, upper = lines[np.uint64(pairs[j, 0])], lines[np.uint64(pairs[j, 1])]
            for i in range(begin, end):
                one, other = lower[i], upper[i]
                lower[i], upper[i] = min(one, other), max(one, other)
