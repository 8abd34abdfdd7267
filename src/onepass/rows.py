"""Rows of examples as kernels see them: CSR (`Rows`) and dense (`Dense`), and what one does to a row.

Rows are fit for a kernel if their arrays are writable, their int32 indices lie inside the width and increase strictly
in each row, and their float32 or float64 values are finite and small enough to be squared. `accept` and `survey` say
what is wrong with anything else, `block` makes kernel-ready pieces of the rest, and `scan` sees for itself, as it
multiplies, whether a row is fit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, inlined, jit, prefetch
from onepass.errors import DataError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

LARGEST = 2.0**480  # a value beyond this (3e144) could overflow in a dot product of long rows
BLOCK = 1 << 20  # values a kernel handles in one call: a few ms, so that Ctrl-C is answered
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


@jit
def _survey_indices(indptr, indices):  # type: ignore[no-untyped-def]
    """(smallest index, largest index, whether the indices of each row rise strictly)."""
    base, end = indptr[0], indptr[indptr.size - 1]
    if base == end:
        return np.int64(0), np.int64(-1), True
    low = high = indices[base]
    falls = np.int64(0)
    for j in range(np.uint64(base + 1), np.uint64(end)):  # one flat walk, which vectorises
        low = min(low, indices[j])
        high = max(high, indices[j])
        falls += indices[j] <= indices[j - np.uint64(1)]
    for i in range(np.uint64(indptr.size - 1)):  # a fall from the end of one row to the start of the next is none
        j = indptr[i]
        if base < j < indptr[i + np.uint64(1)]:
            falls -= indices[j] <= indices[j - 1]
    return np.int64(low), np.int64(high), falls == 0


@jit
def _largest(bits, mask):  # type: ignore[no-untyped-def]
    """The largest magnitude as a bit pattern: patterns of floats order like the floats, inf and NaN above all."""
    top = mask & ~mask
    for j in range(np.uint64(bits.size)):
        top = max(top, bits[j] & mask)
    return top


# --- from what users have to what kernels take ------------------------------------------------------------------------


def accept(X: Any) -> AnyRows:
    """X as Rows or Dense, its shape and types checked; its content is for `survey`.

    >>> accept([[1.0, 0.0], [0.0, 2.0]])
    Dense(values=array([[1., 0.], [0., 2.]]))
    """
    if isinstance(X, (Rows, Dense)):
        rows: AnyRows = X
    elif _is_sparse(X):
        csr = X.tocsr()
        rows = Rows(csr.indptr, csr.indices, csr.data)
    else:
        try:
            rows = Dense(np.asarray(X))
        except ValueError as error:
            raise DataError(f"X: not a table of numbers ({error})") from None
    values = rows.values
    if values.dtype.kind not in "biuf":
        raise DataError(f"X: numbers expected, got dtype {values.dtype}. Convert to float64 first.")
    if isinstance(rows, Dense):
        if values.ndim != 2:
            raise DataError(f"X: two dimensions expected (rows, features), got shape {values.shape}")
        return rows
    indptr, indices = rows.indptr, rows.indices
    if indptr.ndim != 1 or indices.ndim != 1 or values.ndim != 1 or indptr.size == 0:
        raise DataError("X: indptr, indices and values of CSR rows must be one-dimensional, and indptr not empty")
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise DataError(f"X: indptr and indices must be integers, got {indptr.dtype} and {indices.dtype}")
    if indices.size != values.size:
        raise DataError(f"X: {indices.size} indices for {values.size} values")
    if indptr[0] < 0 or indptr[-1] > indices.size or (indptr[1:] < indptr[:-1]).any():
        raise DataError(f"X: broken indptr: it must rise from 0 to at most the number of values, {indices.size}")
    return rows


def _is_sparse(X: Any) -> bool:
    """Whether X is one of SciPy's sparse things, without importing SciPy to find out (it takes as long as a file)."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(X))


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


def blocks(rows: AnyRows) -> Iterator[tuple[int, int]]:
    """Consecutive (first, last) of rows that a kernel handles in one short call."""
    n = count(rows)
    if isinstance(rows, Dense):
        step = max(1, BLOCK // max(1, rows.values.shape[1]))
        cuts = list(range(0, n, step))
    else:
        goals = np.arange(int(rows.indptr[0]) + BLOCK, int(rows.indptr[-1]), BLOCK)
        cuts = sorted({0, *np.searchsorted(rows.indptr[:-1], goals).tolist()} - {n})
    yield from zip(cuts, [*cuts[1:], n], strict=True) if n else ()


def block(rows: AnyRows, first: int, last: int, canonical: bool = True) -> AnyRows:
    """Rows first..last, ready for a kernel; copied only where the layout is not the kernels' own.

    Kernels are compiled for writable arrays of one layout; a read-only array would be one more compilation each.
    """
    if isinstance(rows, Dense):
        return Dense(_ready(rows.values[first:last]))
    indptr = writable(rows.indptr[first : last + 1], np.int64)
    start, end = int(indptr[0]), int(indptr[-1])
    if not canonical:
        import scipy.sparse

        piece = (rows.values[start:end], rows.indices[start:end].astype(np.int64), indptr - start)
        csr = scipy.sparse.csr_array(tuple(np.array(part) for part in piece), shape=(last - first, 1 << 31))
        csr.sum_duplicates()
        return Rows(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), _ready(csr.data))
    if rows.indices.dtype == np.int32 and rows.indices.flags.writeable and _is_ready(rows.values):
        return Rows(indptr, rows.indices, rows.values)
    return Rows(indptr - start, writable(rows.indices[start:end], np.int32), _ready(rows.values[start:end]))


def survey(rows: AnyRows, limit: int) -> tuple[int, bool]:
    """(width, whether the rows are canonical), or a DataError that says where the content is bad.

    `limit` is the number of features allowed; every index is checked against it before a kernel sees one.
    """
    found = [_survey(rows, limit, *span) for span in blocks(rows)]
    width = max((width for width, _ in found), default=rows.values.shape[1] if isinstance(rows, Dense) else 0)
    if width > limit:
        raise DataError(f"X: {width} features, but at most {limit} are allowed (max_features)")
    return width, all(rising for _, rising in found)


def _survey(rows: AnyRows, limit: int, first: int, last: int) -> tuple[int, bool]:
    """(width, whether canonical) of one block."""
    width, rising = (rows.values.shape[1], True) if isinstance(rows, Dense) else (0, True)
    values = rows.values[first:last]
    if isinstance(rows, Rows):
        ends = rows.indptr[first : last + 1]
        indices = rows.indices[ends[0] : ends[-1]]
        kept = writable(indices, np.int32 if indices.dtype.itemsize <= 2 else indices.dtype)
        low, high, rising = _survey_indices(writable(ends, np.int64) - int(ends[0]), kept)
        if low < 0 or high >= limit:
            _bad_index(rows, first, last, limit)
        width, values = high + 1, rows.values[ends[0] : ends[-1]]
    values = _ready(values).reshape(-1)
    if values.dtype == np.float64:
        fine = _largest(values.view(np.uint64), np.uint64(0x7FFF_FFFF_FFFF_FFFF)) <= _PATTERN
    else:
        fine = _largest(values.view(np.uint32), np.uint32(0x7FFF_FFFF)) < np.uint32(0x7F80_0000)
    if not fine:
        _bad_value(rows, first, last)
    return width, rising


_PATTERN = np.float64(LARGEST).view(np.uint64)


def _is_ready(values: Array) -> bool:
    flags = values.flags
    return values.dtype in (np.float64, np.float32) and bool(flags.c_contiguous and flags.writeable)


def _ready(values: Array) -> Array:
    if _is_ready(values):
        return values
    return np.array(values, dtype=values.dtype if values.dtype == np.float32 else np.float64, order="C")


def writable(array: Array, dtype: Any) -> Array:
    """The array in the layout that kernels are compiled for; copied only if it has another."""
    if array.dtype == dtype and array.flags.writeable and array.flags.c_contiguous:
        return array
    return np.array(array, dtype=dtype)


def _bad_index(rows: Rows, first: int, last: int, limit: int) -> None:
    start, end = int(rows.indptr[first]), int(rows.indptr[last])
    indices = rows.indices[start:end]
    at = start + int(np.flatnonzero((indices < 0) | (indices >= limit))[0])
    row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
    what = "negative" if rows.indices[at] < 0 else f"outside the {limit} features allowed (max_features)"
    raise DataError(f"X: row {row} has feature index {int(rows.indices[at])}, which is {what}")


def _bad_value(rows: AnyRows, first: int, last: int) -> None:
    if isinstance(rows, Dense):
        row, feature = (
            int(part[0]) for part in np.nonzero(~(np.abs(rows.values[first:last].astype(np.float64)) <= LARGEST))
        )
        row, value = row + first, rows.values[row + first, feature]
    else:
        start, end = int(rows.indptr[first]), int(rows.indptr[last])
        at = start + int(np.flatnonzero(~(np.abs(rows.values[start:end].astype(np.float64)) <= LARGEST))[0])
        row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
        feature, value = int(rows.indices[at]), rows.values[at]
    what = "too large to be squared: rescale this feature" if np.isfinite(value) else "not a finite number"
    raise DataError(f"X: row {row}, feature {feature}: {value} is {what}")
