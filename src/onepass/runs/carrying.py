"""What Adaptive carries from one run to the next, and how the runs of several machines become one start.

Sums add: what a column was met with, how often, its squared steps. Weights do not: each column's move by the mean
change of the runs that met it (b by that of all), since a column that one run met should move as far as it did there.
Centres and scales follow from the sums; weights do not move along with them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepass.rows import Floats

SUMS = 4  # A, s1, s2, count of a column; in the first line Σ r² of the intercept and the rounds with loss


class Carried(NamedTuple):
    """Where a run of Adaptive starts, or what it has come to."""

    weights: Floats  # (1 + features, outputs), intercept first
    sums: Floats  # (1 + features, 4)


def arrays_of(origin: Floats | Carried) -> tuple[Floats, ...]:
    """What any learner starts from, as arrays to be stored."""
    return tuple(origin) if isinstance(origin, Carried) else (origin,)


def changes(start: Carried | None, now: Carried) -> Floats:
    """What a run adds: (1 + features, sums, outputs, and whether it met the column). Such arrays add."""
    met = np.zeros((len(now.weights), 1))
    found = np.hstack([now.sums, now.weights, met])
    if start is not None:
        found[: len(start.sums), :SUMS] -= start.sums
        found[: len(start.weights), SUMS:-1] -= start.weights
    found[:, -1] = found[:, SUMS - 1] > 0.0
    found[0, -1] = 1.0
    return found


def merged(start: Carried | None, total: Floats) -> Carried:
    """Where the next runs start, from the sum of all changes."""
    sums, moved, met = total[:, :SUMS].copy(), total[:, SUMS:-1], total[:, -1:]
    weights = moved / np.maximum(met, 1.0)
    if start is not None:
        sums[: len(start.sums)] += start.sums
        weights[: len(start.weights)] += start.weights
    return Carried(weights, sums)
