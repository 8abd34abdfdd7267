"""Points and weights as the kernels of this room see them, or a clear word about what is wrong with them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from onepass.errors import DataError
from onepass.rows import AnyRows, Dense, Floats, Ints, Rows
from onepass.structure import check_structure, refuse_masked

Centres = npt.NDArray[Any]
Labels = npt.NDArray[np.int32]

# Beyond these a squared distance could overflow its type: float32 points are widened, float64 points refused.
REACH = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e150}

PIECE = 1 << 16  # values looked at together: they fit the second-level cache


class WeightedRows(NamedTuple):
    """Checked rows, their number of columns (which sparse rows do not know), and a weight for each."""

    rows: AnyRows
    width: int
    weights: Floats


def as_points(X: Any, name: str = "X") -> AnyRows:
    """X (array-like or sparse) as checked rows: float32 stays float32, everything else becomes float64.

    >>> as_points([[1, 2], [3, 4]]).values.dtype
    dtype('float64')
    >>> as_points([[1.0, float("nan")]])
    Traceback (most recent call last):
    onepass.errors.DataError: row 0: X holds NaN or infinity: drop or fill those rows first
    """
    check_structure(X, name, indices=True)
    rows = _sparse(X, name) if sp.issparse(X) else _dense(X, name)
    if rows.values.size:
        reach = _reach(rows.values)
        if not np.isfinite(reach):
            raise DataError(f"{name} holds NaN or infinity: drop or fill those rows first", row=_beyond(rows, np.inf))
        if reach > (most := REACH[np.dtype(np.float64)]):
            message = f"{name} holds values beyond 1e150, whose squares overflow: rescale the columns"
            raise DataError(message, row=_beyond(rows, most))
        if reach > REACH[np.dtype(rows.values.dtype)]:
            rows = rows._replace(values=rows.values.astype(np.float64))
    return rows


def _beyond(rows: AnyRows, most: float) -> int:
    """The first row with a value that is beyond `most`, infinite or NaN."""
    with np.errstate(invalid="ignore"):
        bad = ~(np.abs(rows.values) <= most) | ~np.isfinite(rows.values)
    at = int(np.argmax(bad))
    if isinstance(rows, Dense):
        return at // int(rows.values.shape[1])
    return int(np.searchsorted(rows.indptr, at, side="right")) - 1


def as_weights(sample_weight: Any, n: int) -> Floats:
    """One weight a row, ones when None: finite, not negative, and not all zero."""
    weights = piece_weights(sample_weight, n)
    if not weights.any():
        raise DataError("sample_weight is zero everywhere: no row counts")
    return weights


def piece_weights(sample_weight: Any, n: int) -> Floats:
    """The same for a piece of a stream, which may hold no row that counts."""
    if sample_weight is None:
        return np.ones(n)
    refuse_masked(sample_weight, "sample_weight")
    weights = np.array(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise DataError(f"sample_weight has shape {weights.shape}, but X has {n} rows: give one weight a row")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise DataError("sample_weight must be finite and not negative")
    return weights


def as_count(n_clusters: Any, n: int) -> int:
    """The number of clusters, between 1 and the number of rows."""
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, (int, np.integer)) or n_clusters < 1:
        raise ValueError(f"n_clusters must be a positive integer, not {n_clusters!r}")
    if n_clusters > n:
        raise DataError(f"n_samples={n} should be >= n_clusters={n_clusters}: there must be a row for each cluster")
    return int(n_clusters)


def in_type(rows: AnyRows, centres: Centres) -> AnyRows:
    """The rows in the number type of the centres."""
    return rows._replace(values=rows.values.astype(centres.dtype, copy=False))


def take(rows: AnyRows, indices: Ints, width: int) -> npt.NDArray[Any]:
    """The chosen rows as a dense matrix of their own."""
    if isinstance(rows, Dense):
        return np.ascontiguousarray(rows.values[indices])
    out = np.zeros((indices.size, width), dtype=rows.values.dtype)
    for at, i in enumerate(indices):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        out[at, rows.indices[part]] = rows.values[part]
    return out


def _reach(values: npt.NDArray[Any]) -> float:
    """The largest absolute value, NaN if there is one; piece by piece, so that memory is read once."""
    flat = values.reshape(-1)
    pieces = [flat[at : at + PIECE] for at in range(0, flat.size, PIECE)]
    return float(
        np.max([max(-low, high) if (low := piece.min()) <= (high := piece.max()) else np.nan for piece in pieces])
    )


def _dense(X: Any, name: str) -> Dense:
    values = np.asarray(X)
    if values.dtype.kind not in "fiub":
        raise DataError(f"{name} holds {values.dtype} values: give real numbers")
    if values.ndim != 2 or 0 in values.shape:
        raise DataError(f"{name} has shape {values.shape}: give a table with at least one row and one column")
    kind = np.float32 if values.dtype == np.float32 else np.float64
    values = np.ascontiguousarray(values, dtype=kind)
    if not values.flags.writeable:  # numba compiles anew for read-only arrays: let it see one layout
        values = values.copy()
    return Dense(values)


def _sparse(X: Any, name: str) -> Rows:
    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"{name} has shape {X.shape}: give a table with at least one row and one column")
    if X.dtype.kind not in "fiub":
        raise DataError(f"{name} holds {X.dtype} values: give real numbers")
    kind = np.float32 if X.dtype == np.float32 else np.float64
    csr = sp.csr_array(X, dtype=kind, copy=True)
    csr.sum_duplicates()
    if X.shape[1] > np.iinfo(np.int32).max:
        raise DataError(f"{name} has {X.shape[1]} columns: at most 2^31 - 1")
    return Rows(csr.indptr.astype(np.int64), csr.indices.astype(np.int32), csr.data)
