"""From what users have to what kernels take.

`accept` looks at shapes and types, `validate_rows` at the content, both say what is wrong; `block` makes kernel-ready
pieces of the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onepass._jit import jit
from onepass.errors import DataError
from onepass.rows import LARGEST, AnyRows, Array, Dense, Rows, count
from onepass.structure import check_compressed, check_structure, is_sparse

BLOCK = 1 << 20  # values a kernel handles in one call: a few ms, so that Ctrl-C is answered


def accept(X: Any) -> AnyRows:
    """X as Rows or Dense, its structure, shape and types checked; its content is for `validate_rows`.

    >>> accept([[1.0, 0.0], [0.0, 2.0]])
    Dense(values=array([[1., 0.], [0., 2.]]))
    """
    if isinstance(X, (Rows, Dense)):
        rows: AnyRows = X
    else:
        check_structure(X)
        try:
            rows = _rows(X) if is_sparse(X) else Dense(np.asarray(X))
        except ValueError as error:
            raise DataError(f"X: not a table of numbers ({error})") from None
    values = rows.values
    if values.dtype.kind not in "biuf":
        raise DataError(f"X: numbers expected, got dtype {values.dtype}. Convert to float64 first.")
    if isinstance(rows, Dense):
        if values.ndim != 2:
            raise DataError(f"X: two dimensions expected (rows, features), got shape {values.shape}")
        return rows
    check_compressed(*rows)
    return rows


def stated_columns(X: Any) -> int | None:
    """How many columns a sparse X says that it has: an index beyond them is a fault. None: X does not say."""
    return int(X.shape[-1]) if is_sparse(X) else None


def _rows(X: Any) -> Rows:
    csr = (X.reshape(1, -1) if X.ndim == 1 else X).tocsr()  # older SciPy has COO of one dimension, and no CSR
    return Rows(csr.indptr, csr.indices, csr.data)


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


def validate_rows(rows: AnyRows, limit: int, columns: int | None = None) -> tuple[int, bool]:
    """(width, whether the rows are canonical), or a DataError that says where the content is bad.

    `limit` is the number of features allowed, `columns` the number that the rows say they have; every index is checked
    against both before a kernel sees one.
    """
    allowed = f"the {limit} features allowed (max_features)"
    if columns is not None and columns < limit:
        limit, allowed = columns, f"the {columns} columns that X has"
    found = [_validate_block(rows, limit, allowed, *span) for span in blocks(rows)]
    width = max((width for width, _ in found), default=rows.values.shape[1] if isinstance(rows, Dense) else 0)
    if width > limit:
        raise DataError(f"X: {width} features, but at most {limit} are allowed (max_features)")
    return width, all(rising for _, rising in found)


def _validate_block(rows: AnyRows, limit: int, allowed: str, first: int, last: int) -> tuple[int, bool]:
    """(width, whether canonical) of one block."""
    width, rising = (rows.values.shape[1], True) if isinstance(rows, Dense) else (0, True)
    values = rows.values[first:last]
    if isinstance(rows, Rows):
        ends = rows.indptr[first : last + 1]
        indices = rows.indices[ends[0] : ends[-1]]
        kept = writable(indices, np.int32 if indices.dtype.itemsize <= 2 else indices.dtype)
        low, high, rising = _index_range(writable(ends, np.int64) - int(ends[0]), kept)
        if low < 0 or high >= limit:
            _bad_index(rows, (first, last), limit, allowed)
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


def _bad_index(rows: Rows, span: tuple[int, int], limit: int, allowed: str) -> None:
    start, end = (int(rows.indptr[row]) for row in span)
    indices = rows.indices[start:end]
    at = start + int(np.flatnonzero((indices < 0) | (indices >= limit))[0])
    row = int(np.searchsorted(rows.indptr, at, side="right")) - 1
    what = "negative" if rows.indices[at] < 0 else f"outside {allowed}"
    raise DataError(f"feature index {int(rows.indices[at])} is {what}", argument="X", row=row)


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
    what, remedy = "not a finite number", None
    if np.isfinite(value):
        what, remedy = "too large to be squared", "rescale this feature"
    raise DataError(f"feature {feature}: {value} is {what}", argument="X", row=row, remedy=remedy)


# --- kernels ----------------------------------------------------------------------------------------------------------


@jit
def _index_range(indptr, indices):  # type: ignore[no-untyped-def]
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
