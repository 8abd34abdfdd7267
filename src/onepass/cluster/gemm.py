"""Many columns, or sparse rows: open rows find their centre through a matrix product.

With an origin o near the data and c' = c − o,  ‖x − c‖² = ‖x − o‖² + h_c − 2⟨x, c'⟩  where  h_c = ‖c'‖² + 2⟨o, c'⟩.
The product is as fast as the machine goes and as exact as its type: the result is believed only where the runner-up
lies beyond the margin below, and D decides the rest. Lower bounds give the margin away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import allocating, jit
from onepass.cluster.bounds import Drift, RowBounds, drift_of_all
from onepass.cluster.distance import Slack, Targets, distances_to_point, slack, squared_distance
from onepass.cluster.simd import keep_two
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Dense, Floats, Ints, Rows

PANEL = 512  # rows in one product
SIDE = 16  # rows whose scores are turned together: each of their cache lines is read once


class OriginView(NamedTuple):
    """The centres as seen from the origin."""

    heights: Floats  # h_c
    longest: float  # max ‖c'‖
    origin: float  # ‖o‖
    radii: Floats  # ‖x − o‖ of every row


class GemmSearch:
    """How open rows find their centre: scores of a panel of rows against all centres at once."""

    def __init__(self, rows: AnyRows, width: int, origin: npt.NDArray[Any], executor: ThreadExecutor):
        self.rows, self.width = rows, width
        self.origin = np.zeros_like(origin) if isinstance(rows, Rows) else origin
        kind = np.float64 if isinstance(rows, Rows) else rows.values.dtype
        self.slack: Slack = slack(rows.values.dtype, width)
        self.margin: float = slack(kind, width).relative
        self.radii = np.sqrt(distances_to_point(rows, self.origin, executor))

    def prepare(self, own: Floats, centres: Targets, executor: ThreadExecutor) -> Drift:
        """Sees the centres from the origin. Distances between centres seldom help here: none are measured."""
        seen = (centres.values.astype(np.float64) - self.origin).astype(centres.values.dtype)
        exact = seen.astype(np.float64)
        lengths = np.einsum("cf,cf->c", exact, exact)
        heights = lengths + 2 * np.einsum("cf,f->c", exact, self.origin.astype(np.float64))
        longest, origin = float(np.sqrt(lengths.max())), float(np.linalg.norm(self.origin.astype(np.float64)))
        self.frame = OriginView(heights, longest, origin, self.radii)
        self.seen = np.ascontiguousarray(exact.T) if isinstance(self.rows, Rows) else seen
        return drift_of_all(own)

    def resolve(self, centres: Targets, state: RowBounds, todo: Ints) -> None:
        """The centre of every open row, with new bounds."""
        for begin in range(0, todo.size, PANEL):
            panel = todo[begin : begin + PANEL]
            _write_nearest(self.rows, centres, self.frame, (self.slack, self.margin), state, panel, self._scores(panel))

    def _scores(self, panel: Ints) -> npt.NDArray[Any]:
        """⟨x, c'⟩ for the rows x of the panel, side by side for each row."""
        if isinstance(self.rows, Dense):
            whole = panel[-1] - panel[0] == panel.size - 1
            rows = self.rows.values[panel[0] : panel[-1] + 1] if whole else self.rows.values[panel]
            return np.asarray(rows @ self.seen.T)  # a BLAS is slower the other way round
        scores = np.zeros((panel.size, self.seen.shape[1]))
        _sparse_products(self.rows, self.seen, panel, scores)
        return scores


@jit
def _sparse_products(rows, seen, panel, scores) -> Any:  # type: ignore[no-untyped-def]
    """scores[j] += Σ_f x_f·c'_f for all centres at once: `seen` holds feature f of every centre side by side."""
    for j in range(panel.size):
        i = panel[j]
        for p in range(rows.indptr[i], rows.indptr[i + 1]):
            f = np.uint32(rows.indices[p])
            v = np.float64(rows.values[p])
            for c in range(seen.shape[1]):
                scores[j, c] += v * seen[f, c]


@allocating
def _write_nearest(rows, centres, frame, slacks, state, panel, products) -> Any:  # type: ignore[no-untyped-def]
    """Writes the centre and the bounds of each row of the panel, asking D where scores h_c − 2⟨x, c'⟩ leave a doubt.

    Scores are turned to lie side by side for each centre, SIDE rows at a time, so that rows fill the vector registers.
    """
    slack, relative = slacks
    labels, upper, lower = state
    k, size = np.uint64(frame.heights.size), np.uint64(panel.size)
    scores = np.empty((frame.heights.size, panel.size), dtype=products.dtype)
    heights = frame.heights.astype(products.dtype)
    for begin in range(np.uint64(0), size, np.uint64(SIDE)):
        end = min(begin + np.uint64(SIDE), size)
        for c in range(k):
            for j in range(begin, end):
                scores[c, j] = heights[c] - 2 * products[j, c]
    first = np.full(panel.size, slack.far, dtype=scores.dtype)
    second = np.full(panel.size, slack.far, dtype=scores.dtype)
    which = np.zeros(panel.size, dtype=np.int32)
    for c in range(0, frame.heights.size - 1, 2):
        keep_two(scores[c : c + 2], np.int32(c), np.int32(c + 1), first, second, which)
    if frame.heights.size % 2:
        pair = np.full((2, panel.size), slack.far, dtype=scores.dtype)
        pair[0] = scores[frame.heights.size - 1]
        keep_two(pair, np.int32(frame.heights.size - 1), np.int32(0), first, second, which)
    for j in range(np.uint64(panel.size)):
        i = np.uint64(panel[j])
        r, best, least, runner_up = frame.radii[i], which[j], np.float64(first[j]), np.float64(second[j])
        margin = relative * frame.longest * (r + frame.origin + 2.0 * frame.longest) + slack.absolute
        if runner_up - least <= 2.0 * margin:
            best = _closest_of(rows, i, centres, scores[:, j], least + 2.0 * margin)
            runner_up = least
        labels[i] = best
        upper[i] = np.sqrt(r * r * (1.0 + slack.step) + least + margin) * (1.0 + slack.step)
        lower[i] = np.sqrt(max(r * r * (1.0 - slack.step) + runner_up - margin, 0.0)) * (1.0 - slack.step)


@jit
def _closest_of(rows, i, centres, scores, limit) -> Any:  # type: ignore[no-untyped-def]
    """The argmin of D(x_i, c), the lower number when equal, over the centres whose score is at most the limit."""
    best, least = np.int32(0), np.inf
    for c in range(np.uint64(scores.size)):
        if scores[c] <= limit:
            distance = squared_distance(rows, i, centres, c)
            if distance < least:
                best, least = np.int32(c), distance
    return best
