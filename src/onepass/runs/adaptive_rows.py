"""What Adaptive does to a row: score it, count its non-zeros, see whether it is fit for a kernel, copy them."""

from __future__ import annotations

import numpy as np

from onepass._jit import by_type, inlined, prefetch
from onepass._vectors import load, store
from onepass.rows import LARGEST, Dense, Rows
from onepass.runs.adaptive_blocks import EIGHT, SHIFT, W, X, at, eight_of, of

AHEAD = np.uint64(128)  # values ahead whose columns are asked for
TINY, HUGE = 2.0**-960, LARGEST * LARGEST  # a square below the one counts as 0, above the other is refused


@inlined
def counts(x):  # type: ignore[no-untyped-def]
    """Whether the value is neither 0 nor too large; no branch, so that a loop looks at eight values at once."""
    return (x * x >= TINY) & (x * x <= HUGE)


# Values and columns are looked at before a row is scored, in loops of their own that become vector instructions:
# scoring is left with products alone.


@inlined
def _count(values, first, end):  # type: ignore[no-untyped-def]
    """(how many of these values count, whether all of them are fit for a kernel)."""
    filled, fit = 0, True
    for j in range(first, end):
        filled += counts(np.float64(values[j]))
    for j in range(end if filled == np.int64(end - first) else first, end):  # else one may be too large, or no number
        fit = fit and bool(abs(np.float64(values[j])) <= LARGEST)
    return filled, fit


@inlined
def _look(rows, first, end, width):  # type: ignore[no-untyped-def]
    """(how many values count, the width that these need, or −1 where they are not fit for a kernel of this width)."""
    indices, rising, needed = rows.indices, True, np.int64(0)
    filled, fit = _count(rows.values, first, end)
    for j in range(first + np.uint64(1), end):
        rising &= indices[j - np.uint64(1)] < indices[j]
    if first < end:
        needed = np.int64(indices[end - np.uint64(1)]) + 1
        rising &= indices[first] >= 0
    return filled, needed if bool(fit and rising and needed <= width) else np.int64(-1)


def _score_rows(rows, i, flat):  # type: ignore[no-untyped-def]
    indices, values = rows.indices, rows.values
    j, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    filled, width = _look(rows, j, end, np.int64(flat.size >> 3) - 1)
    ahead = AHEAD if end + AHEAD <= np.uint64(indices.size) else np.uint64(0)
    end = end if width >= 0 else j
    s0 = s1 = s2 = s3 = 0.0
    while j + np.uint64(4) <= end:
        soon = j + ahead
        prefetch(flat, at(np.uint32(indices[soon]), 0))
        prefetch(flat, at(np.uint32(indices[soon + np.uint64(1)]), 0))
        prefetch(flat, at(np.uint32(indices[soon + np.uint64(2)]), 0))
        prefetch(flat, at(np.uint32(indices[soon + np.uint64(3)]), 0))
        s0 += flat[at(np.uint32(indices[j]), W)] * np.float64(values[j])
        s1 += flat[at(np.uint32(indices[j + np.uint64(1)]), W)] * np.float64(values[j + np.uint64(1)])
        s2 += flat[at(np.uint32(indices[j + np.uint64(2)]), W)] * np.float64(values[j + np.uint64(2)])
        s3 += flat[at(np.uint32(indices[j + np.uint64(3)]), W)] * np.float64(values[j + np.uint64(3)])
        j += np.uint64(4)
    while j < end:
        s0 += flat[at(np.uint32(indices[j]), W)] * np.float64(values[j])
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3), filled, width


def _score_dense(rows, i, flat):  # type: ignore[no-untyped-def]
    x = rows.values[i]
    j, end = np.uint64(0), np.uint64(x.size)
    filled, fit = _count(x, j, end)
    s0 = s1 = s2 = s3 = 0.0
    while j + np.uint64(4) <= end:
        s0 += flat[at(j, W)] * np.float64(x[j])
        s1 += flat[at(j + np.uint64(1), W)] * np.float64(x[j + np.uint64(1)])
        s2 += flat[at(j + np.uint64(2), W)] * np.float64(x[j + np.uint64(2)])
        s3 += flat[at(j + np.uint64(3), W)] * np.float64(x[j + np.uint64(3)])
        j += np.uint64(4)
    while j < end:
        s0 += flat[at(j, W)] * np.float64(x[j])
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3), filled, np.int64(end) if fit else np.int64(-1)


def _scores_rows(rows, i, w, scores):  # type: ignore[no-untyped-def]
    indices, values = rows.indices, rows.values
    first, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    filled, width = _look(rows, first, end, np.int64(w.shape[0]))
    for j in range(first, end if width >= 0 else first):
        f, x = np.uint32(indices[j]), np.float64(values[j])
        for c in range(np.uint64(scores.size)):
            scores[c] += w[f, c] * x
    return filled, width


def _scores_dense(rows, i, w, scores):  # type: ignore[no-untyped-def]
    values = rows.values[i]
    end = np.uint64(values.size)
    filled, fit = _count(values, np.uint64(0), end)
    for f in range(end):
        x = np.float64(values[f])
        for c in range(np.uint64(scores.size)):
            scores[c] += w[f, c] * x
    return filled, np.int64(end) if fit else np.int64(-1)


def _collect_rows(rows, i, entries, filled):  # type: ignore[no-untyped-def]
    first, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    indices, columns = rows.indices, entries.column
    if np.uint64(filled) == end - first:
        for j in range(end - first):
            columns[j] = indices[first + j]
        return _collect_whole(rows.values, first, end - first, entries.block)
    values, block, n = rows.values, entries.block, np.uint64(0)
    for j in range(first, end):
        x = np.float64(values[j])
        columns[n], block[of(n, X)] = indices[j], x
        n += np.uint64(counts(x))
    return n


def _collect_dense(rows, i, entries, filled):  # type: ignore[no-untyped-def]
    values, columns, block, n = rows.values[i], entries.column, entries.block, np.uint64(0)
    if filled == values.size:
        for f in range(np.uint64(values.size)):
            columns[f] = f
        return _collect_whole(values, np.uint64(0), np.uint64(values.size), block)
    for f in range(np.uint64(values.size)):
        x = np.float64(values[f])
        columns[n], block[of(n, X)] = f, x
        n += np.uint64(counts(x))
    return n


@inlined
def _collect_whole(values, first, n, block):  # type: ignore[no-untyped-def]
    """All of the values, into blocks: how many."""
    for g in range(n >> SHIFT):
        store(block, eight_of(g, X), load(values, first + g * EIGHT))
    for j in range((n >> SHIFT) << SHIFT, n):
        block[of(j, X)] = np.float64(values[first + j])
    return n


def _length_rows(rows, i):  # type: ignore[no-untyped-def]
    return rows.indptr[i + np.uint64(1)] - rows.indptr[i]


def _length_dense(rows, i):  # type: ignore[no-untyped-def]
    return rows.values.shape[1]


score = by_type({Rows: _score_rows, Dense: _score_dense})  # (⟨w, x_i⟩, non-zeros, the width that it needs, or −1)
scores = by_type({Rows: _scores_rows, Dense: _scores_dense})  # the same for several classes, into `scores`
collect = by_type({Rows: _collect_rows, Dense: _collect_dense})  # the row's non-zeros, so many, into `entries`
length = by_type({Rows: _length_rows, Dense: _length_dense})  # values that row i stores
