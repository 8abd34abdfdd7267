"""Many rows against one pair of centres at a time, a row to each lane of the vector registers.

Compilers vectorise loops that run along rows: no lane waits for another, nothing is reordered, and each lane's result
is that of the plain loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass._jit import fused, jit

LANES = 128  # rows in a tile: d·128 numbers stay in the first-level cache while d ≤ 64 (float32)


@jit
def keep_nearest(tile, around, near, acc, found) -> Any:  # type: ignore[no-untyped-def]
    """The two smallest scores ‖y‖²/2 − ⟨x, y⟩ of each lane over the points y of `near`, and whose the smallest is.

    Points come in pairs, an even number of them. Four columns make a sweep (their number is padded), and the last sweep
    also compares: a score that only passes through a register is neither written nor read. Nothing is sliced in here,
    since a slice counts references, which costs as much as a sweep.
    """
    away, half_norms, names = around
    first, second, which = found
    lanes, four = np.uint64(first.size), np.uint64(4)
    last = np.uint64(tile.shape[0]) - four
    for j in range(np.uint64(0), np.uint64(near.size), np.uint64(2)):
        p, q = np.uint64(near[j]), np.uint64(near[j + np.uint64(1)])
        a, b, h0, h1 = names[p], names[q], half_norms[p], half_norms[q]
        for l in range(lanes):
            acc[0, l] = h0
            acc[1, l] = h1
        for f in range(np.uint64(0), last, four):
            f1, f2, f3 = f + np.uint64(1), f + np.uint64(2), f + np.uint64(3)
            u0, u1, u2, u3 = away[p, f], away[p, f1], away[p, f2], away[p, f3]
            v0, v1, v2, v3 = away[q, f], away[q, f1], away[q, f2], away[q, f3]
            for l in range(lanes):
                x0, x1, x2, x3 = tile[f, l], tile[f1, l], tile[f2, l], tile[f3, l]
                acc[0, l] = fused(-x3, u3, fused(-x2, u2, fused(-x1, u1, fused(-x0, u0, acc[0, l]))))
                acc[1, l] = fused(-x3, v3, fused(-x2, v2, fused(-x1, v1, fused(-x0, v0, acc[1, l]))))
        g1, g2, g3 = last + np.uint64(1), last + np.uint64(2), last + np.uint64(3)
        u0, u1, u2, u3 = away[p, last], away[p, g1], away[p, g2], away[p, g3]
        v0, v1, v2, v3 = away[q, last], away[q, g1], away[q, g2], away[q, g3]
        for l in range(lanes):
            x0, x1, x2, x3 = tile[last, l], tile[g1, l], tile[g2, l], tile[g3, l]
            u = fused(-x3, u3, fused(-x2, u2, fused(-x1, u1, fused(-x0, u0, acc[0, l]))))
            v = fused(-x3, v3, fused(-x2, v2, fused(-x1, v1, fused(-x0, v0, acc[1, l]))))
            low, high = (v, u) if v < u else (u, v)
            name = b if v < u else a
            nearer = low < first[l]
            loser = first[l] if nearer else low
            worst = high if high < second[l] else second[l]
            second[l] = loser if loser < worst else worst
            first[l] = low if nearer else first[l]
            which[l] = name if nearer else which[l]


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
