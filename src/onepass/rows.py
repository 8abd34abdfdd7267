"""Rows of examples as kernels see them: CSR (`Rows`) and dense (`Dense`), with the three things one does to a row.

Kernels trust what they get: int32 indices inside the width, finite float32 or float64 values, writable arrays.
`checked` makes that true of whatever a user hands over, or says what is wrong with it before anything is learned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Rows(NamedTuple):
    """Sparse rows: row i holds values[indptr[i]:indptr[i+1]] at features indices[indptr[i]:indptr[i+1]]."""

    indptr: Ints
    indices: npt.NDArray[np.int32]
    values: npt.NDArray[Any]


class Dense(NamedTuple):
    """Dense rows: values[i, f]."""

    values: npt.NDArray[Any]


AnyRows = Rows | Dense


def _dot_rows(rows, i, w):  # type: ignore[no-untyped-def]
    j, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    indices, values = rows.indices, rows.values
    s0 = s1 = s2 = s3 = 0.0
    while j + np.uint64(4) <= end:
        s0 += w[np.uint32(indices[j])] * values[j]
        s1 += w[np.uint32(indices[j + np.uint64(1)])] * values[j + np.uint64(1)]
        s2 += w[np.uint32(indices[j + np.uint64(2)])] * values[j + np.uint64(2)]
        s3 += w[np.uint32(indices[j + np.uint64(3)])] * values[j + np.uint64(3)]
        j += np.uint64(4)
    while j < end:
        s0 += w[np.uint32(indices[j])] * values[j]
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


def _dot_dense(rows, i, w):  # type: ignore[no-untyped-def]
    x = rows.values[i]
    end = np.uint64(x.size)
    j = np.uint64(0)
    s0 = s1 = s2 = s3 = 0.0
    while j + np.uint64(4) <= end:
        s0 += w[j] * x[j]
        s1 += w[j + np.uint64(1)] * x[j + np.uint64(1)]
        s2 += w[j + np.uint64(2)] * x[j + np.uint64(2)]
        s3 += w[j + np.uint64(3)] * x[j + np.uint64(3)]
        j += np.uint64(4)
    while j < end:
        s0 += w[j] * x[j]
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


dot = by_type({Rows: _dot_rows, Dense: _dot_dense})
