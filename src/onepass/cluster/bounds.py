"""Which rows can keep their centre without being looked at: two bounds a row.

    upper ≥ d(x, own centre),   lower ≤ d(x, any other centre)

When centres move, upper grows by the own centre's step and lower shrinks by the largest step of the others. (Only of
those around the own centre a, if that is less: a centre at distance g or more from a is at least g − upper away.) While
upper < max(lower, half the distance from the own centre to its nearest neighbour), no other centre can be nearer, nor
as near. See hamerly2010 (G. Hamerly, *Making k-means even faster*, SDM 2010). Every rounding goes outward.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.cluster.distance import Targets, squared_distance
from onepass.cluster.points import Labels
from onepass.rows import Floats

FEW = 32  # centres up to which their float32 products cost less than one float64 distance


class RowBounds(NamedTuple):
    """What is known of each row: its centre, and the two bounds in the type of the data."""

    labels: Labels
    upper: npt.NDArray[Any]
    lower: npt.NDArray[Any]


class Drift(NamedTuple):
    """What happened to each centre since the bounds were last true, as distances."""

    own: Floats  # its own step, at least
    others: Floats  # the largest step of any other centre around it, at least
    beyond: Floats  # the distance to the nearest centre now that is not counted as around it, at most
    half: Floats  # half the distance to its nearest neighbour now, at most
    hope: Floats  # how much measuring the own distance may lower upper, where that is worth asking; else infinite


def no_bounds(n: int, dtype: Any) -> RowBounds:
    """Nothing known: centre 0 for all, and bounds that rule nothing out.

    >>> no_bounds(2, np.float32).labels
    array([0, 0], dtype=int32)
    """
    huge = np.finfo(dtype).max / 4  # not infinity, whose differences are NaN
    return RowBounds(np.zeros(n, dtype=np.int32), np.full(n, huge, dtype=dtype), np.zeros(n, dtype=dtype))


def steps(before: Targets, after: Targets) -> Floats:
    """How far each centre went, rounded up."""
    moved = after.values.astype(np.float64) - before.values.astype(np.float64)
    return np.asarray(np.sqrt(np.einsum("cf,cf->c", moved, moved)) * (1 + 1e-9))


def drift_of_all(own: Floats) -> Drift:
    """Every other centre counts, and nothing is known of the distances between them.

    Measuring a row's own distance is dear here: against a FEW centres the whole product costs less. Otherwise, a bound
    that was tight one step ago is at most two steps off now, and where that cannot close the row it is not tried.
    """
    others = np.full(own.size, own.max())
    if own.size > 1:
        farthest = int(own.argmax())
        others[farthest] = np.delete(own, farthest).max()
    else:
        others[:] = 0
    return Drift(own, others, np.full(own.size, np.inf), np.zeros(own.size), 2 * own * (own.size > FEW))


@jit
def screen(rows, centres, drift, slack, state, span, todo) -> Any:  # type: ignore[no-untyped-def]
    """Brings the bounds of the span's rows up to date; lists in `todo` those that stay open, and counts them.

    Where there is hope, a row's own distance is measured before giving up, and an open row's upper bound is tight. Both
    sweeps write every row to the list and move on only past those that stay, so that no branch is left to guess.
    """
    labels, uppers, lowers = state
    grow, shrink = 1.0 + slack.step, 1.0 - slack.step
    doubtful = np.uint64(0)
    for i in range(np.uint64(span.first), np.uint64(span.last)):
        own = np.uint64(labels[i])
        upper = (uppers[i] + drift.own[own]) * grow
        lower = max(min(lowers[i] - drift.others[own], drift.beyond[own] - upper), 0.0) * shrink
        uppers[i] = upper
        lowers[i] = lower
        todo[doubtful] = i
        doubtful += np.uint64(upper >= max(lower, drift.half[own]))
    count = np.uint64(0)
    for j in range(doubtful):
        row = np.uint64(todo[j])
        own = np.uint64(labels[row])
        upper, bar = np.float64(uppers[row]), max(np.float64(lowers[row]), drift.half[own])
        if upper - drift.hope[own] < bar:
            upper = np.sqrt(squared_distance(rows, row, centres, own) + slack.absolute) * grow
            uppers[row] = upper
        todo[count] = np.int64(row)
        count += np.uint64(upper >= bar)
    return count
