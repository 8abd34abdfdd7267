"""Chunks: what a worker is given to read, named so that anyone can find it again.

A chunk is a value. The same chunk read twice gives the same rows, or an error that says that the data has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from onepass.errors import DataError, ScaleError, printable
from onepass.io.sources import identify
from onepass.tables.feature_names import FeatureNames


class Piece(NamedTuple):
    """Some rows and their labels."""

    rows: Any
    labels: Any


@dataclass
class ReadReport:
    """What reading a chunk showed beside its rows."""

    skipped: int = 0
    truncated: bool = False
    changed: bool = False
    columns: tuple[str, ...] | None = None
    names: FeatureNames | None = None


@dataclass(frozen=True)
class FileChunk:
    """The lines that start at bytes span[0] … span[1] − 1 of a file, some of its row groups, or all of it."""

    number: int
    path: str
    span: tuple[int, int] | None
    size: int  # of the file, and a hash of its ends, when the run began
    ends: str
    reading: dict[str, Any] = field(default_factory=dict)
    bytes: int = 0  # about how many there are to read

    def __str__(self) -> str:
        what = "row groups" if self.reading.get("format") == "parquet" else "bytes"
        part = "" if self.span is None else f", {what} {self.span[0]:,} to {self.span[1]:,}"
        return f"chunk {self.number} ({printable(self.path)}{part})"

    def read(self, data: Any, report: ReadReport) -> Iterator[Piece]:
        """Its rows, parsed by the caller's own thread."""
        from onepass.io import open_stream

        known = identify(self.path)
        if known is None or (known.size, known.ends) != (self.size, self.ends):
            raise ScaleError(f"{self}: the file is not the one that the run began with; start the run again")
        options = self.reading | ({} if self.span is None else {"span": self.span})
        try:
            with open_stream([self.path], threads=0, **options) as stream:
                for rows, labels, _ in stream:
                    yield Piece(rows, labels)
                report.skipped, report.truncated = stream.skipped, stream.truncated
                report.changed, report.columns = bool(stream.changed), stream.columns
                report.names = stream.feature_names
        except DataError as error:
            if error.line is not None and self.span is not None:
                error.line += _lines_before(self.path, self.span[0])
            raise


@dataclass(frozen=True)
class DataChunk:
    """One partition of a collection, or what one delayed call makes: it comes with the task."""

    number: int
    what: str
    target: Any = None  # of a data frame: the label's column

    def __str__(self) -> str:
        return f"chunk {self.number} ({self.what})"

    def read(self, data: Any, report: ReadReport) -> Iterator[Piece]:
        """Its rows."""
        if self.target is not None:
            features = data.drop(columns=[self.target])
            report.columns = tuple(map(str, features.columns))
            yield Piece(features.to_numpy(dtype=np.float64), data[self.target].to_numpy())
            return
        if not (isinstance(data, (tuple, list)) and len(data) == 2):
            raise DataError(f"{self}: a pair (X, y) expected, got {type(data).__name__}")
        X, y = data
        if np.ndim(y) and len(y):
            yield Piece(X, np.asarray(y))


Chunk = FileChunk | DataChunk


def pairs_of_rows(examples: Any) -> tuple[Any, Any]:
    """The examples of a bag's partition, pairs (row, label), as (X, y). A row is a sequence, or a dict place → value.

    >>> X, y = pairs_of_rows([({0: 1.0, 4: 2.0}, "a"), ({}, "b")])
    >>> X.toarray().tolist(), y.tolist()
    ([[1.0, 0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0, 0.0]], ['a', 'b'])
    """
    kept = list(examples)
    labels = np.array([label for _, label in kept])
    if not kept or not isinstance(kept[0][0], dict):
        return np.array([row for row, _ in kept], dtype=np.float64), labels
    import scipy.sparse

    places = [sorted(row) for row, _ in kept]
    indices = np.array([place for row in places for place in row], dtype=np.int64)
    values = np.array([row[place] for (row, _), sort in zip(kept, places, strict=True) for place in sort], dtype=float)
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in places])])
    shape = (len(kept), int(indices.max(initial=-1)) + 1)
    return scipy.sparse.csr_array((values, indices, indptr), shape=shape), labels


def _lines_before(path: str, start: int) -> int:
    """Lines that begin before the first one that begins at `start` or later: read only to word an error."""
    lines, done = 0, 0
    with open(path, "rb") as file:
        while done < start - 1:
            piece = file.read(min(1 << 20, start - 1 - done))
            if not piece:
                break
            lines += piece.count(b"\n")
            done += len(piece)
        return lines + (1 if start and file.readline() else 0)
