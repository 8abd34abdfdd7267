"""Many rows against one pair of centres at a time, a row to each lane of the vector registers.

Compilers vectorise loops that run along rows: no lane waits for another, nothing is reordered, and each lane's result
is that of the plain loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass._jit import jit

LANES = 128  # rows in a tile: d·128 numbers stay in the first-level cache while d ≤ 64 (float32)


@jit
def score_pair(tile, y, half_norms, acc) -> Any:  # type: ignore[no-untyped-def]
    """acc[p, l] = ‖y_p‖²/2 − ⟨x_l, y_p⟩ for p = 0, 1 and every lane l; four columns in a sweep, their number padded."""
    h0, h1 = half_norms[0], half_norms[1]
    for l in range(LANES):
        acc[0, l] = h0
        acc[1, l] = h1
    for f in range(np.uint64(0), np.uint64(tile.shape[0]), np.uint64(4)):
        f1, f2, f3 = f + np.uint64(1), f + np.uint64(2), f + np.uint64(3)
        u0, u1, u2, u3 = y[0, f], y[0, f1], y[0, f2], y[0, f3]
        v0, v1, v2, v3 = y[1, f], y[1, f1], y[1, f2], y[1, f3]
        for l in range(LANES):
            x0, x1, x2, x3 = tile[f, l], tile[f1, l], tile[f2, l], tile[f3, l]
            acc[0, l] -= (x0 * u0 + x1 * u1) + (x2 * u2 + x3 * u3)
            acc[1, l] -= (x0 * v0 + x1 * v1) + (x2 * v2 + x3 * v3)


@jit
def keep_two(acc, a, b, first, second, which) -> Any:  # type: ignore[no-untyped-def]
    """The two smallest scores of every lane so far, and whose the smallest is; a < b are the centres of this pair."""
    for l in range(first.size):
        u, v, p, q = acc[0, l], acc[1, l], first[l], second[l]
        low, high = (v, u) if v < u else (u, v)
        name = b if v < u else a
        nearer = low < p
        loser = p if nearer else low
        worst = high if high < q else q
        second[l] = loser if loser < worst else worst
        first[l] = low if nearer else p
        which[l] = name if nearer else which[l]
