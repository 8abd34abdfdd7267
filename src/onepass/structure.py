"""What must be true of a table before SciPy, scikit-learn or a kernel may see it.

The compiled code of all three trusts the parts of a sparse matrix: one made by hand, whose parts contradict each other,
is a wild read or write there. So every public function that takes a table calls `check_structure` first, once; it looks
at each part's kind and length and at indptr. The feature indices of CSR are looked at later, by `intake.survey`, as no
conversion follows them; those of formats that must be converted are looked at here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from onepass.errors import DataError


def check_structure(X: Any, name: str = "X", *, indices: bool = False) -> None:
    """Raise DataError if X is a masked array with a mask, or sparse and broken.

    `indices`: look at the feature indices of CSR too, for kernels of others, which trust them.

    >>> import scipy.sparse
    >>> X = scipy.sparse.csr_array([[1.0, 0.0], [0.0, 2.0]])
    >>> X.indptr[1] = 10**6
    >>> check_structure(X)
    Traceback (most recent call last):
    onepass.errors.DataError: X: broken indptr: it must rise from 0 to at most the number of values, 2
    """
    refuse_masked(X, name)
    if is_sparse(X) and (check := _CHECKS.get(X.format)) is not None:
        check(X, name)
        if indices and X.format == "csr":
            _check_range(X.indices, X.shape[-1], name, "feature")


def is_sparse(X: Any) -> bool:
    """Whether X is one of SciPy's sparse things, without importing SciPy to find out (it takes as long as a file)."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(X))


def refuse_masked(values: Any, name: str) -> None:
    """Raise DataError if values are masked: NumPy's own conversions would take what stands under the mask."""
    if isinstance(values, np.ma.MaskedArray) and (masked := int(np.ma.getmaskarray(values).sum())):
        raise DataError(
            f"{name}: a masked array, {masked:,} of whose values are masked: fill them first, for instance with "
            f"{name}.filled(0), or leave out their rows"
        )


def check_compressed(indptr: Any, indices: Any, values: Any, name: str = "X", dimensions: int = 1) -> None:
    """Raise DataError unless row i can be values[indptr[i]:indptr[i+1]] at indices[indptr[i]:indptr[i+1]].

    Rows that are a part of others begin later than 0; that SciPy's begin there is for the caller to see.
    """
    parts = ((indptr, 1), (indices, 1), (values, dimensions))
    if not all(isinstance(part, np.ndarray) and part.ndim == expected for part, expected in parts) or not indptr.size:
        raise DataError(f"{name}: indptr, indices and values of CSR rows must be one-dimensional, and indptr not empty")
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise DataError(f"{name}: indptr and indices must be integers, got {indptr.dtype} and {indices.dtype}")
    if indices.size != len(values):
        raise DataError(f"{name}: {indices.size} indices for {len(values)} values")
    if indptr[0] < 0 or indptr[-1] > indices.size or (indptr[1:] < indptr[:-1]).any():
        raise _broken(name, indices.size)


def _broken(name: str, values: int) -> DataError:
    return DataError(f"{name}: broken indptr: it must rise from 0 to at most the number of values, {values}")


def _check_lines(X: Any, lines: int, name: str) -> None:
    """Of a compressed matrix: one stretch of indptr for each line, from 0."""
    check_compressed(X.indptr, X.indices, X.data, name, X.data.ndim if X.format == "bsr" else 1)
    if X.indptr.size != lines + 1:
        raise DataError(f"{name}: indptr of {X.indptr.size} numbers for shape {X.shape}: {lines + 1} expected")
    if X.indptr[0] != 0:
        raise _broken(name, X.indices.size)


def _check_csr(X: Any, name: str) -> None:
    _check_lines(X, X.shape[0] if X.ndim == 2 else 1, name)


def _check_csc(X: Any, name: str) -> None:
    _check_lines(X, X.shape[1], name)
    _check_range(X.indices, X.shape[0], name, "row")


def _check_bsr(X: Any, name: str) -> None:
    if X.data.ndim != 3 or 0 in X.data.shape[1:] or any(n % size for n, size in zip(X.shape, X.blocksize, strict=True)):
        raise DataError(f"{name}: blocks of shape {X.data.shape[1:]} do not fill shape {X.shape}")
    _check_lines(X, X.shape[0] // X.data.shape[1], name)
    _check_range(X.indices, X.shape[1] // X.data.shape[2], name, "block")


def _check_coo(X: Any, name: str) -> None:
    coords = X.coords if hasattr(X, "coords") else (X.row, X.col)
    for places, size, what in zip(coords, X.shape, ("row", "feature") if X.ndim == 2 else ("feature",), strict=True):
        if places.shape != (X.data.size,) or X.data.ndim != 1:
            raise DataError(f"{name}: {places.size} places for {X.data.size} values")
        _check_range(places, size, name, what)


def _check_dia(X: Any, name: str) -> None:
    if X.data.ndim != 2 or X.offsets.shape != (len(X.data),):
        raise DataError(f"{name}: {X.offsets.size} offsets for data of shape {X.data.shape}")


def _check_lil(X: Any, name: str) -> None:
    for row, (indices, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if len(indices) != len(values):
            raise DataError(f"{name}: row {row} has {len(indices)} indices for {len(values)} values")


def _check_range(indices: Any, limit: int, name: str, what: str) -> None:
    if indices.dtype.kind not in "iu":
        raise DataError(f"{name}: indices must be integers, got {indices.dtype}")
    if indices.size and not 0 <= indices.min() <= indices.max() < limit:
        wrong = int(indices[np.argmax((indices < 0) | (indices >= limit))])
        raise DataError(f"{name}: {what} index {wrong} is outside shape, which has {limit}")


_CHECKS: dict[str, Callable[[Any, str], None]] = {  # the others check themselves as they are converted
    "csr": _check_csr,
    "csc": _check_csc,
    "bsr": _check_bsr,
    "coo": _check_coo,
    "dia": _check_dia,
    "lil": _check_lil,
}
