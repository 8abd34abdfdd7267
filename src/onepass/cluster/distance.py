"""The distance that decides, and how far a faster one may lie from it.

A row belongs to the centre with the smallest D(x, c) = ‖x − c‖², the lower number when two are equal, and D is
always the float64 sum below, in its fixed order. Everything quicker in this room (bounds, float32 lanes, matrix
products) only *rules centres out*, with room for rounding; where that leaves a doubt, `nearest` asks D itself. So
labels depend neither on the shortcut taken, nor on the BLAS at hand, nor on the number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, jit, prefetch
from onepass.cluster.spans import split_rows
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Dense, Floats, Rows, count


class Targets(NamedTuple):
    """What rows are measured against: k points of the rows' own type, and their squared lengths in float64."""

    values: npt.NDArray[Any]
    norms: Floats


class Slack(NamedTuple):
    """Room for rounding. A sum of squares v in the type of the data has its true value within v·relative + absolute.

    A distance taken from D, or a bound written back in the type of the data, is off by a factor 1 ± step at most.
    """

    relative: float
    absolute: float
    step: float
    far: float  # a score that no row can have, see REACH


def targets(values: npt.NDArray[Any]) -> Targets:
    """The points with their squared lengths, each summed in feature order as `squared_distance` needs it.

    >>> targets(np.array([[3.0, 4.0]])).norms
    array([25.])
    """
    norms = np.empty(values.shape[0])
    _norms(values, norms)
    return Targets(values, norms)


def slack(dtype: Any, width: int) -> Slack:
    """For sums of `width` squares in any order: a relative error of (width + 2)·2^-24 (float32), doubled twice.

    The absolute part covers squares that underflow.
    """
    kind, double = np.finfo(dtype), np.finfo(np.float64)
    step = max(2 * float(kind.eps), (width + 8) * 2 * float(double.eps))
    return Slack((width + 8) * 2 * float(kind.eps), (width + 8) * float(kind.tiny), step, float(kind.max) / 8)


def _dense_distance(rows, i, centres, c) -> Any:  # type: ignore[no-untyped-def]
    x, y = rows.values[i], centres.values[c]
    end = np.uint64(x.size)
    f = np.uint64(0)
    s0 = s1 = s2 = s3 = 0.0
    while f + np.uint64(4) <= end:
        t0 = np.float64(x[f]) - np.float64(y[f])
        t1 = np.float64(x[f + np.uint64(1)]) - np.float64(y[f + np.uint64(1)])
        t2 = np.float64(x[f + np.uint64(2)]) - np.float64(y[f + np.uint64(2)])
        t3 = np.float64(x[f + np.uint64(3)]) - np.float64(y[f + np.uint64(3)])
        s0 += t0 * t0
        s1 += t1 * t1
        s2 += t2 * t2
        s3 += t3 * t3
        f += np.uint64(4)
    while f < end:
        t0 = np.float64(x[f]) - np.float64(y[f])
        s0 += t0 * t0
        f += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


def _sparse_distance(rows, i, centres, c) -> Any:  # type: ignore[no-untyped-def]
    # ‖c‖² − Σ (c_f² − (x_f − c_f)²) over the row's own features: exactly 0 for x = c, since both sums run alike.
    y = centres.values[c]
    s = 0.0
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        v = np.float64(y[np.uint32(rows.indices[j])])
        t = np.float64(rows.values[j]) - v
        s += v * v - t * t
    return max(centres.norms[c] - s, 0.0)


def _seek_dense(rows, i):  # type: ignore[no-untyped-def]
    prefetch(rows.values[i], np.uint64(0))


def _seek_sparse(rows, i):  # type: ignore[no-untyped-def]
    first = np.uint64(rows.indptr[i])
    prefetch(rows.indices, first)
    prefetch(rows.values, first)


squared_distance = by_type({Dense: _dense_distance, Rows: _sparse_distance})
seek = by_type({Dense: _seek_dense, Rows: _seek_sparse})  # row i will be measured soon


@jit
def nearest(rows, i, centres) -> Any:  # type: ignore[no-untyped-def]
    """The definition: argmin over c of D(x_i, c), the lower number when equal."""
    best, least = np.int32(0), np.inf
    for c in range(np.uint64(centres.norms.size)):
        distance = squared_distance(rows, i, centres, c)
        if distance < least:
            best, least = np.int32(c), distance
    return best


@jit
def own_distances(rows, centres, labels, first, out) -> Any:  # type: ignore[no-untyped-def]
    """out[j] = D(x_i, c) for row i = first + j and its own centre c = labels[i]."""
    for j in range(np.uint64(out.size)):
        i = np.uint64(first) + j
        out[j] = squared_distance(rows, i, centres, np.uint64(labels[i]))


def distances_to_own(
    rows: AnyRows, centres: Targets, labels: npt.NDArray[np.int32], executor: ThreadExecutor
) -> Floats:
    """D(x_i, c) of every row and its own centre c = labels[i]."""
    out = np.empty(labels.size)
    executor.map(
        lambda span: own_distances(rows, centres, labels, span.first, out[span.first : span.last]),
        split_rows(labels.size, centres.values.shape[1], executor.threads),
    )
    return out


def distances_to_point(rows: AnyRows, point: npt.NDArray[Any], executor: ThreadExecutor) -> Floats:
    """D(x_i, point) of all rows."""
    return distances_to_own(rows, targets(point[None]), np.zeros(count(rows), dtype=np.int32), executor)


@jit
def every_distance(rows, centres, span, out) -> Any:  # type: ignore[no-untyped-def]
    """out[i, c] = d(x_i, c) for the rows of the span."""
    for i in range(np.uint64(span.first), np.uint64(span.last)):
        for c in range(np.uint64(centres.norms.size)):
            out[i, c] = np.sqrt(squared_distance(rows, i, centres, c))


@jit
def _norms(values, out) -> Any:  # type: ignore[no-untyped-def]
    for c in range(values.shape[0]):
        s = 0.0
        for f in range(values.shape[1]):
            v = np.float64(values[c, f])
            s += v * v
        out[c] = s
