"""Rows of examples as kernels see them: CSR (`Rows`) and dense (`Dense`), and what one does to a row.

Rows are fit for a kernel if their arrays are writable, their int32 indices lie inside the width and increase strictly
in each row, and their float32 or float64 values are finite and small enough to be squared. `validate` makes such rows
of what users have, and `scan` sees for itself, as it multiplies, whether a row is fit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, inlined, jit, prefetch
from onepass.errors import DataError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

LARGEST = 2.0**480  # a value beyond this (3e144) could overflow in a dot product of long rows
AHEAD = np.uint64(56)  # values ahead of a dot product whose weights are asked for: sooner or later is slower


class Rows(NamedTuple):
    """Sparse rows: row i holds values[indptr[i]:indptr[i+1]] at features indices[indptr[i]:indptr[i+1]]."""

    indptr: Ints
    indices: Array
    values: Array


class Dense(NamedTuple):
    """Dense rows: values[i, f]."""

    values: Array


AnyRows = Rows | Dense


LINE = 64  # bytes that memory hands to a processor at once


def zeros_in_lines(*shape: int) -> Floats:
    """Zeros whose first stands where a line of memory begins, as NumPy's own do not: a row of eight is then one line.

    >>> zeros_in_lines(3, 8).ctypes.data % 64
    0
    """
    size, spare = math.prod(shape), LINE // 8
    whole = np.zeros(size + spare)
    first = -whole.ctypes.data % LINE // 8
    return whole[first : first + size].reshape(shape)


def must_be_finite(weights: Any) -> None:
    """Raise DataError unless all weights are finite numbers: of others no model and no certificate may be given."""
    if not np.isfinite(weights).all():
        raise DataError(
            "the weights have outgrown floating-point numbers: there is no model, and no certificate",
            remedy="scale the features, to values around 1, and learn again",
        )


# --- kernels ----------------------------------------------------------------------------------------------------------
# Unsigned indices spare numba the test for negative ones; four fixed partial sums let the processor overlap additions
# without the freedom (and the slow gathers) of fastmath.


@inlined
def _scan_sparse(indices, values, first, end, w):  # type: ignore[no-untyped-def]
    j = first
    ahead = AHEAD if end + AHEAD <= np.uint64(indices.size) else np.uint64(0)
    before, width, fit = np.int32(-1), np.int32(w.size), True
    s0 = s1 = s2 = s3 = q0 = q1 = q2 = q3 = 0.0
    while j + np.uint64(4) <= end:
        soon = j + ahead
        prefetch(w, np.uint32(indices[soon]))
        prefetch(w, np.uint32(indices[soon + np.uint64(1)]))
        prefetch(w, np.uint32(indices[soon + np.uint64(2)]))
        prefetch(w, np.uint32(indices[soon + np.uint64(3)]))
        f0, x0 = indices[j], np.float64(values[j])
        f1, x1 = indices[j + np.uint64(1)], np.float64(values[j + np.uint64(1)])
        f2, x2 = indices[j + np.uint64(2)], np.float64(values[j + np.uint64(2)])
        f3, x3 = indices[j + np.uint64(3)], np.float64(values[j + np.uint64(3)])
        fit = before < f0 < f1 < f2 < f3 < width
        if not fit:
            break
        s0 += w[np.uint32(f0)] * x0
        s1 += w[np.uint32(f1)] * x1
        s2 += w[np.uint32(f2)] * x2
        s3 += w[np.uint32(f3)] * x3
        q0 += x0 * x0
        q1 += x1 * x1
        q2 += x2 * x2
        q3 += x3 * x3
        before = f3
        j += np.uint64(4)
    while fit and j < end:
        f0, x0 = indices[j], np.float64(values[j])
        fit = before < f0 < width
        if fit:
            s0 += w[np.uint32(f0)] * x0
            q0 += x0 * x0
            before = f0
        j += np.uint64(1)
    norm2 = (q0 + q1) + (q2 + q3)
    for at in range(end if norm2 <= LARGEST else first, end):  # if it is, no value is too large, or not a number
        fit = fit and bool(abs(np.float64(values[at])) <= LARGEST)
    return (s0 + s1) + (s2 + s3), norm2, np.int64(before) + 1 if fit else np.int64(-1)


def _scan_rows(rows, i, w):  # type: ignore[no-untyped-def]
    first, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    return _scan_sparse(rows.indices, rows.values, first, end, w)


def _scan_dense(rows, i, w):  # type: ignore[no-untyped-def]
    x = rows.values[i]
    j, end, fit = np.uint64(0), np.uint64(x.size), True
    s0 = s1 = s2 = s3 = q0 = q1 = q2 = q3 = 0.0
    while j + np.uint64(4) <= end:
        x0, x1 = np.float64(x[j]), np.float64(x[j + np.uint64(1)])
        x2, x3 = np.float64(x[j + np.uint64(2)]), np.float64(x[j + np.uint64(3)])
        s0 += w[j] * x0
        s1 += w[j + np.uint64(1)] * x1
        s2 += w[j + np.uint64(2)] * x2
        s3 += w[j + np.uint64(3)] * x3
        q0 += x0 * x0
        q1 += x1 * x1
        q2 += x2 * x2
        q3 += x3 * x3
        j += np.uint64(4)
    while j < end:
        x0 = np.float64(x[j])
        s0 += w[j] * x0
        q0 += x0 * x0
        j += np.uint64(1)
    norm2 = (q0 + q1) + (q2 + q3)
    for f in range(end if norm2 <= LARGEST else np.uint64(0), end):
        fit = fit and bool(abs(np.float64(x[f])) <= LARGEST)
    return (s0 + s1) + (s2 + s3), norm2, np.int64(end) if fit else np.int64(-1)


def _dots_rows(rows, i, W, out):  # type: ignore[no-untyped-def]
    first, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    before, width, fit, norm2 = np.int32(-1), np.int32(W.shape[0]), True, 0.0
    for j in range(first, end):
        f, x = rows.indices[j], np.float64(rows.values[j])
        fit &= before < f < width
        if fit:
            for c in range(np.uint64(out.size)):
                out[c] += W[np.uint32(f), c] * x
        norm2 += x * x
        before = f
    for at in range(end if norm2 <= LARGEST else first, end):
        fit = fit and bool(abs(np.float64(rows.values[at])) <= LARGEST)
    return norm2, np.int64(before) + 1 if fit else np.int64(-1)


def _dots_dense(rows, i, W, out):  # type: ignore[no-untyped-def]
    end, fit, norm2 = np.uint64(rows.values.shape[1]), True, 0.0
    for f in range(end):
        x = np.float64(rows.values[i, f])
        for c in range(np.uint64(out.size)):
            out[c] += W[f, c] * x
        norm2 += x * x
    for f in range(end if norm2 <= LARGEST else np.uint64(0), end):
        fit = fit and bool(abs(np.float64(rows.values[i, f])) <= LARGEST)
    return norm2, np.int64(end) if fit else np.int64(-1)


def _add_rows(rows, i, w, a):  # type: ignore[no-untyped-def]
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        w[np.uint32(rows.indices[j])] += a * rows.values[j]


def _add_dense(rows, i, w, a):  # type: ignore[no-untyped-def]
    for f in range(np.uint64(rows.values.shape[1])):
        w[f] += a * rows.values[i, f]


def _transfer_rows(rows, i, W, a, to, out_of):  # type: ignore[no-untyped-def]
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        f, d = np.uint32(rows.indices[j]), a * rows.values[j]
        W[f, to] += d
        W[f, out_of] -= d


def _transfer_dense(rows, i, W, a, to, out_of):  # type: ignore[no-untyped-def]
    for f in range(np.uint64(rows.values.shape[1])):
        d = a * rows.values[i, f]
        W[f, to] += d
        W[f, out_of] -= d


def _norm_rows(rows, i):  # type: ignore[no-untyped-def]
    s = 0.0
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        x = np.float64(rows.values[j])
        s += x * x
    return s


def _norm_dense(rows, i):  # type: ignore[no-untyped-def]
    s = 0.0
    for f in range(np.uint64(rows.values.shape[1])):
        x = np.float64(rows.values[i, f])
        s += x * x
    return s


def _filled_rows(rows, i):  # type: ignore[no-untyped-def]
    return rows.indptr[i + np.uint64(1)] - rows.indptr[i]


def _filled_dense(rows, i):  # type: ignore[no-untyped-def]
    n = 0
    for f in range(np.uint64(rows.values.shape[1])):
        n += rows.values[i, f] != 0.0
    return n


def _copy_rows(rows, i, kept, end):  # type: ignore[no-untyped-def]
    start, n = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + 1] - rows.indptr[i])
    for j in range(n):  # two plain copies: each becomes one call that moves memory
        kept.indices[np.uint64(end) + j] = rows.indices[start + j]
    for j in range(n):
        kept.values[np.uint64(end) + j] = rows.values[start + j]


def _copy_dense(rows, i, kept, end):  # type: ignore[no-untyped-def]
    for f in range(rows.values.shape[1]):
        x = rows.values[i, f]
        if x != 0.0:
            kept.indices[end] = f
            kept.values[end] = x
            end += 1


# scan(rows, i, w) = (⟨w, x_i⟩, ‖x_i‖², the width that row i needs, or −1 if it is not fit for a kernel). Looking at the
# row costs no time: the processor waits for weights, which lie far apart, and which are asked for ahead of their use.
scan = by_type({Rows: _scan_rows, Dense: _scan_dense})
dots = by_type({Rows: _dots_rows, Dense: _dots_dense})  # out += W' x_i for dots(rows, i, W, out) = (‖x_i‖², the width)
add = by_type({Rows: _add_rows, Dense: _add_dense})  # add(rows, i, w, a): w += a·x_i
transfer = by_type({Rows: _transfer_rows, Dense: _transfer_dense})  # column `to` += a·x_i, column `out_of` −= a·x_i
squared_norm = by_type({Rows: _norm_rows, Dense: _norm_dense})  # squared_norm(rows, i) = ‖x_i‖²
filled = by_type({Rows: _filled_rows, Dense: _filled_dense})  # filled(rows, i) = values of row i that count
copy_row = by_type({Rows: _copy_rows, Dense: _copy_dense})  # copy_row(rows, i, kept, end): row i into kept, from end


@jit
def squared_norms(rows: AnyRows, norms: Floats) -> None:
    """norms[i] = ‖x_i‖² for every row."""
    for i in range(np.uint64(norms.size)):
        norms[i] = squared_norm(rows, i)


# --- rows that are fit for a kernel -----------------------------------------------------------------------------------


def count(rows: AnyRows) -> int:
    """How many rows there are."""
    return len(rows.values) if isinstance(rows, Dense) else rows.indptr.size - 1


def part(rows: AnyRows, first: int, last: int) -> AnyRows:
    """Rows first..last of kernel-ready rows, as a view."""
    if isinstance(rows, Dense):
        return Dense(rows.values[first:last])
    return Rows(rows.indptr[first : last + 1], rows.indices, rows.values)


def take(rows: AnyRows, chosen: npt.NDArray[np.bool_]) -> AnyRows:
    """The chosen rows of kernel-ready rows, copied."""
    if isinstance(rows, Dense):
        return Dense(rows.values[chosen])
    lengths = np.diff(rows.indptr)
    keep = np.repeat(chosen, lengths)
    base, end = int(rows.indptr[0]), int(rows.indptr[-1])
    indptr = np.concatenate([[0], np.cumsum(lengths[chosen])]).astype(np.int64)
    return Rows(indptr, rows.indices[base:end][keep], rows.values[base:end][keep])


def onto_ball(rows: AnyRows, radius: float) -> AnyRows:
    """Kernel-ready rows with every row outside the ball of this radius scaled onto it; copied only if there is one."""
    norms = np.empty(count(rows))
    squared_norms(rows, norms)
    outside = norms > radius * radius
    if not outside.any():
        return rows
    factor = np.where(outside, radius / np.sqrt(np.maximum(norms, 1e-300)), 1.0)
    if isinstance(rows, Dense):
        return Dense(np.ascontiguousarray(rows.values * factor[:, None]))
    base, end = int(rows.indptr[0]), int(rows.indptr[-1])
    values = rows.values[base:end] * np.repeat(factor, np.diff(rows.indptr))
    return Rows(rows.indptr - base, rows.indices[base:end], values)
