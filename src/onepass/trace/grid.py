"""The cutoff grid: the integers with at most three significant bits, 0…8, 10, 12, 14, 16, 20, 24, 28, 32, 40, …

Between two neighbours κ_b < κ_{b+1} every (s − κ)₊ with κ on the grid is linear in s. So a hypothesis that survived s
rounds counts exactly as the part 1 − λ of one that survived κ_b and the part λ of one that survived κ_{b+1}, with
λ = (s − κ_b)/(κ_{b+1} − κ_b), a dyadic fraction. One vector per grid point then serves every cutoff on the grid.
"""

from __future__ import annotations

import numpy as np

from onepass._jit import jit
from onepass.rows import Ints

BINS = 256  # more grid points than fit below 2^63


@jit
def floor_index(s: int) -> int:
    """The index of the largest grid point ≤ s."""
    if s < 4:
        return s
    e = 2
    while s >> (e + 1):
        e += 1
    return 4 * (e - 1) + ((s >> (e - 2)) & 3)


@jit
def upper_share(s: float, lower: float, upper: float) -> float:
    """λ: the part of survival s that its upper neighbour on the grid takes; the lower one takes 1 − λ.

    >>> upper_share(11, 10, 12)
    0.5
    """
    return (s - lower) / (upper - lower)


def point(i: int) -> int:
    """The i-th grid point.

    >>> [point(i) for i in range(15)]
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24]
    """
    return i if i < 4 else (4 + i % 4) << (i // 4 - 1)


def points(indices: Ints) -> Ints:
    """The grid points with these indices."""
    return np.array([point(int(i)) for i in indices], dtype=np.int64)


def coarse(bits: int, last: int) -> Ints:
    """Indices, up to the first that reaches `last`, of the grid points with at most `bits` significant bits.

    >>> points(coarse(2, 13)).tolist()
    [0, 1, 2, 3, 4, 6, 8, 12, 16, 24]
    """
    stride, low = {3: (1, 4), 2: (2, 4), 1: (4, 3)}[bits]
    kept = [i for i in range(last + stride + 1) if (i < low) or (i >= 4 and i % stride == 0)]
    return np.array(kept[: 1 + int(np.searchsorted(kept, last))], dtype=np.int64)
