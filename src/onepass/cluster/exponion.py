"""Few columns: open rows that share a centre look outward from it together.

Rows are taken LANES at a time into a transposed tile, so that one centre is measured against all of them with full
vector registers. If c lies farther than 2·upper from the rows' centre a, then d(x, c) ≥ d(a, c) − d(x, a) > d(x, a):
such centres are passed over, and the nearest of them still gives a lower bound. See newling2016 (J. Newling,
F. Fleuret, *Fast k-means with accurate bounds*, ICML 2016, the exponion).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass._jit import allocating, jit, prefetch
from onepass.cluster.bounds import Drift, RowBounds
from onepass.cluster.distance import Slack, Targets, nearest, seek, slack, squared_distance
from onepass.cluster.simd import LANES, keep_nearest
from onepass.cluster.spans import split_rows
from onepass.executor import ThreadExecutor
from onepass.rows import Dense, Floats, Ints

AROUND = 2.0  # a centre's surroundings reach to so many times the distance of its nearest neighbour
EXTRA = 0.5  # so many half gaps farther than needed for the label, for the sake of the lower bound
AHEAD = 16  # rows that are on their way from memory while one is taken into its tile
SHELLS = 16  # steps of distance by which open rows are sorted, so that rows of a tile look equally far


class ExponionSearch:
    """How open rows find their centre: tiles of rows, looking outward."""

    def __init__(self, rows: Dense):
        self.rows = rows
        self.slack: Slack = slack(rows.values.dtype, rows.values.shape[1])
        self.gaps: Floats = np.empty((0, 0))

    def prepare(self, own: Floats, centres: Targets, executor: ThreadExecutor) -> Drift:
        """Measures the centres among themselves, and so the drift around each of them."""
        k = centres.norms.size
        self.gaps = np.empty((k, k))
        drift = Drift(own, np.empty(k), np.empty(k), np.empty(k), np.full(k, np.inf))
        executor.map(
            lambda span: _neighbourhoods(Dense(centres.values), centres, self.slack, drift, self.gaps, span),
            split_rows(k, k * self.rows.values.shape[1], executor.threads),
        )
        self.half = drift.half
        return drift

    def resolve(self, centres: Targets, state: RowBounds, todo: Ints) -> None:
        """The centre of every open row, with new bounds."""
        _search_tiles(self.rows, centres, (self.gaps, self.half), self.slack, state, todo)


@jit
def _neighbourhoods(rows, centres, slack, drift, gaps, span) -> Any:  # type: ignore[no-untyped-def]
    """gaps[a, c] ≤ d(a, c), and the drift of what lies around a, for the centres a of the span."""
    k = np.uint64(centres.norms.size)
    for a in range(np.uint64(span.first), np.uint64(span.last)):
        nearby = np.inf
        for c in range(k):
            gaps[a, c] = np.sqrt(squared_distance(rows, a, centres, c)) * (1.0 - slack.step)
            if c != a:
                nearby = min(nearby, gaps[a, c])
        others, beyond = 0.0, np.inf
        for c in range(k):
            if gaps[a, c] > AROUND * nearby:
                beyond = min(beyond, gaps[a, c])
            elif c != a:
                others = max(others, drift.own[c])
        drift.half[a], drift.others[a], drift.beyond[a] = 0.5 * nearby, others, beyond


@allocating
def _sort_by_centre(state, todo, k) -> Any:  # type: ignore[no-untyped-def]
    """The open rows by centre and, roughly, by distance from it (a counting sort); where each centre's begin, and the
    farthest of them."""
    labels, upper = state.labels, state.upper
    size, one, most = np.uint64(todo.size), np.uint64(1), np.uint32(SHELLS - 1)
    reach = np.zeros(k)
    for j in range(size):
        i = np.uint64(todo[j])
        own = np.uint64(labels[i])
        reach[own] = max(reach[own], np.float64(upper[i]))
    steps = SHELLS / np.maximum(reach, 1e-300)
    key = np.empty(todo.size, dtype=np.uint32)
    start = np.zeros(k * SHELLS + 1, dtype=np.int64)
    for j in range(size):
        i = np.uint64(todo[j])
        own = np.uint64(labels[i])
        shell = min(np.uint32(upper[i] * steps[own]), most)
        key[j] = np.uint32(own) * np.uint32(SHELLS) + shell
        start[np.uint64(key[j]) + one] += 1
    for c in range(k * SHELLS):
        start[c + 1] += start[c]
    order = np.empty_like(todo)
    place = start.copy()
    for j in range(size):
        at = np.uint64(key[j])
        order[np.uint64(place[at])] = todo[j]
        place[at] += 1
    return order, start[::SHELLS], reach


@allocating
def _search_tiles(rows, centres, around, slack, state, todo) -> Any:  # type: ignore[no-untyped-def]
    gaps, half = around
    k, width = centres.norms.size, rows.values.shape[1]
    padded = (width + 3) // 4 * 4
    dtype = rows.values.dtype
    tile, acc = np.zeros((padded, LANES), dtype=dtype), np.empty((2, LANES), dtype=dtype)
    first, second, which = np.empty(LANES, dtype=dtype), np.empty(LANES, dtype=dtype), np.empty(LANES, dtype=np.int32)
    away, half_norms = np.zeros((k + 1, padded), dtype=dtype), np.empty(k + 1, dtype=dtype)
    names, spans, near = np.empty(k + 1, dtype=np.int32), np.empty(k), np.empty(k + 1, dtype=np.int32)
    order, start, farthest_row = _sort_by_centre(state, todo, k)
    for a in range(k):
        if start[a] == start[a + 1]:
            continue
        widest = 2.0 * farthest_row[a] + EXTRA * half[a]
        count, beyond = _list_near(centres, gaps, a, widest, names, spans, (away, half_norms))
        half_norms[count], names[count] = slack.far, a  # a point that no row can be near, to make pairs
        for begin in range(start[a], start[a + 1], LANES):
            members = order[begin : min(begin + LANES, start[a + 1])]
            lanes = members.size
            reach = 0.0
            for l in range(np.uint64(lanes)):
                i = np.uint64(members[l])
                soon = np.uint64(order[min(np.uint64(begin) + l + np.uint64(AHEAD), np.uint64(order.size - 1))])
                seek(rows, soon)
                prefetch(state.upper, soon)
                reach = max(reach, np.float64(state.upper[i]))
                for f in range(np.uint64(width)):
                    tile[f, l] = rows.values[i, f] - centres.values[a, f]
            limit = 2.0 * reach + EXTRA * half[a]
            listed, farthest, outside = 0, 0.0, beyond
            for j in range(count):
                if spans[j] > limit:
                    outside = min(outside, spans[j])
                else:
                    farthest = max(farthest, spans[j])
                    near[listed] = j
                    listed += 1
            near[listed] = count
            first[:lanes] = slack.far
            second[:lanes] = slack.far
            which[:lanes] = a
            found = first[:lanes], second[:lanes], which[:lanes]
            keep_nearest(tile, (away, half_norms, names), near[: (listed + 1) // 2 * 2], acc, found)
            _write_nearest(rows, centres, slack, state, members, found, (farthest, outside))


@jit
def _list_near(centres, gaps, a, limit, names, spans, seen) -> Any:  # type: ignore[no-untyped-def]
    """Lists the centres within the limit of a, as seen from a. Returns their number and the nearest of the others."""
    away, half_norms = seen
    count, beyond = 0, np.inf
    for c in range(centres.norms.size):
        if gaps[a, c] > limit:
            beyond = min(beyond, gaps[a, c])
            continue
        norm = 0.0
        for f in range(centres.values.shape[1]):
            away[count, f] = centres.values[c, f] - centres.values[a, f]
            norm += np.float64(away[count, f]) * np.float64(away[count, f])
        names[count], spans[count], half_norms[count] = c, gaps[a, c], 0.5 * norm
        count += 1
    away[count, :] = 0
    return count, beyond


@jit
def _write_nearest(rows, centres, slack, state, members, found, horizon) -> Any:  # type: ignore[no-untyped-def]
    """Writes each member's centre and bounds; where two centres lie within rounding of each other, D decides.

    With r = d(x, a) and g the farthest centre looked at, a score is off by less than relative·(r + g)²/2.
    """
    labels, upper, lower = state
    first, second, which = found
    farthest, outside = horizon
    for l in range(np.uint64(members.size)):
        i = np.uint64(members[l])
        r = np.float64(upper[i])
        margin = slack.relative * (r + farthest) * (r + farthest) + slack.absolute
        label, least, runner_up = which[l], 2.0 * np.float64(first[l]), 2.0 * np.float64(second[l])
        if runner_up - least <= 2.0 * margin:
            label = nearest(rows, i, centres)
            runner_up = least
        inside = np.sqrt(max(r * r * (1.0 - 4.0 * slack.step) + runner_up - margin, 0.0))
        lower[i] = max(min(inside, outside - r), 0.0) * (1.0 - slack.step)
        if label != labels[i]:
            labels[i] = label
            distance = squared_distance(rows, i, centres, np.uint64(label))
            upper[i] = np.sqrt(distance + slack.absolute) * (1.0 + slack.step)
