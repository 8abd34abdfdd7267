"""The way back: rows and labels to svmlight text that reads to the same bits."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import nullcontext
from typing import IO, Any

import numpy as np

from onepass.files import replacing
from onepass.rows import AnyRows, Dense, Rows, count
from onepass.structure import check_structure


def dump_svmlight(file: str | os.PathLike[str] | IO[bytes], X: Any, y: Any, *, zero_based: bool = False) -> None:
    r"""Write examples as svmlight text.

    Every number is the shortest text that `float()` reads to the same bits. Explicit zeros of sparse rows are kept,
    zeros of dense rows are left out. Indices are written as they stand.

    Parameters
    ----------
    file : path or binary file
        A path, which is written atomically, or a binary file, which is written to.
    X : array_like, sparse matrix, Rows or Dense
        The rows.
    y : array_like
        Their labels.
    zero_based : bool, default False
        Whether the first feature has index 0.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> dump_svmlight(file, [[0.1, 0.0, 2.0], [0.0, -3.0, 0.0]], [1, -1])
    >>> file.getvalue()
    b'1 1:0.1 3:2\n-1 2:-3\n'
    """
    rows, labels = _rows(X), np.asarray(y)
    if labels.shape != (count(rows),):
        raise ValueError(f"y must hold one label for each of the {count(rows)} rows; its shape is {labels.shape}")
    if labels.dtype.kind not in "biuf":
        raise ValueError("y must be numbers: svmlight has no other labels")
    for name, values in (("y", labels), ("X", rows.values)):
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds a number that is not finite")
    target = replacing(file) if isinstance(file, str | os.PathLike) else nullcontext(file)
    with target as out:
        for line in _lines(rows, labels, 0 if zero_based else 1):
            out.write(line)


def _rows(X: Any) -> AnyRows:
    if isinstance(X, Rows | Dense):
        return X
    check_structure(X)
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        return Rows(matrix.indptr, matrix.indices, matrix.data)
    values = np.asarray(X, np.float64)
    if values.ndim != 2:
        raise ValueError(f"X must have two dimensions; its shape is {values.shape}")
    return Dense(values)


def _lines(rows: AnyRows, labels: Any, base: int) -> Iterator[bytes]:
    for i, label in enumerate(labels.tolist()):
        if isinstance(rows, Dense):
            indices = np.flatnonzero(rows.values[i]).tolist()
            values = rows.values[i][indices].tolist()
        else:
            stored = slice(rows.indptr[i], rows.indptr[i + 1])
            indices, values = rows.indices[stored].tolist(), rows.values[stored].tolist()
        words = [f"{index + base}:{_shortest(value)}" for index, value in zip(indices, values, strict=True)]
        yield (" ".join([_shortest(label), *words]) + "\n").encode()


def _shortest(value: float) -> str:
    text = repr(value) if not isinstance(value, bool) else str(int(value))
    return text.removesuffix(".0")
