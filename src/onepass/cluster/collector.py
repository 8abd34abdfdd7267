"""Rows as they come from a reader: kept while they fit, reduced in one pass where they do not.

Dense rows that outgrow the limit go into a `Coreset`, sparse ones through `MiniBatches`; both in memory that hardly
grows with the number of rows. What was kept until then is fed to them first, so that the limit, like the reader's
chunks, decides only *whether* rows are kept: once they are not, neither can be seen in the result.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from onepass.cluster.points import as_points
from onepass.cluster.streams import Clusters, Coreset, MiniBatches, widened
from onepass.errors import DataError
from onepass.rows import AnyRows, Floats, Rows, count

COPIES = 2.5  # memory that clustering needs, in sizes of the table: itself, its projection, and passing copies
STATE = 64  # bytes of bounds, labels and distances for each row
A_CLUSTER = 200  # rows of the coreset for each cluster


class CollectorOptions(NamedTuple):
    """How the rows of a stream are to be collected."""

    n_clusters: int
    max_memory: float = np.inf  # bytes that clustering may need before rows are no longer kept
    stream: bool = False  # never keep rows
    coreset_size: int | None = None  # A_CLUSTER·n_clusters, at least 1000
    batch_size: int | None = None  # 10·n_clusters, at least 4096
    dtype: Any = np.float64
    threads: int | None = None
    random_state: int = 0


class Collector:
    """The rows fed so far, or what stands for them.

    >>> from onepass.rows import Dense
    >>> kept, reduced = Collector(CollectorOptions(2)), Collector(CollectorOptions(2, stream=True, coreset_size=50))
    >>> for part in np.array_split(np.arange(1000.0).reshape(-1, 2), 3):
    ...     kept.feed(Dense(part))
    ...     reduced.feed(Dense(part))
    >>> kept.table().shape, float(reduced.sample()[1].sum()), reduced.method
    ((500, 2), 500.0, 'coreset')
    """

    def __init__(self, options: CollectorOptions):
        self.options = options
        self.rows = self.width = 0
        self.sparse: bool | None = None
        self._parts: list[Any] = []
        self._bytes = 0
        self._coreset: Coreset | None = None
        self._batches: MiniBatches | None = None

    @property
    def method(self) -> str | None:
        """Either "coreset" or "mini-batch" once rows are no longer kept; None while they are."""
        if self._coreset is not None:
            return "coreset"
        return None if self._batches is None else "mini-batch"

    @property
    def needed(self) -> float:
        """Bytes that clustering the kept rows would need, roughly."""
        return COPIES * self._bytes + STATE * self.rows

    def feed(self, rows: AnyRows) -> None:
        """Takes the next rows of the stream; they must all be dense, of one width, or all sparse."""
        part = self._checked(rows)
        self.rows += part.shape[0]
        self.width = max(self.width, part.shape[1])
        if self.method is not None:
            self._reduce(part)
            return
        self._parts.append(part)
        self._bytes += part.data.nbytes + (part.indices.nbytes + part.indptr.nbytes if self.sparse else 0)
        if self.options.stream or self.needed > self.options.max_memory:
            kept, self._parts, self._bytes = self._parts[::-1], [], 0
            self._begin()
            while kept:
                self._reduce(kept.pop())

    def table(self) -> Any:
        """All rows, if they were kept: an array, or a CSR matrix if less than half of it is filled."""
        if self.method is not None or not self._parts:
            raise DataError("the rows were not kept: there is only what stands for them" if self.rows else "no rows")
        if self.sparse:
            whole = sp.vstack([widened(part, self.width) for part in self._parts], format="csr")
            return whole.toarray() if 2 * whole.nnz >= whole.shape[0] * whole.shape[1] else whole
        whole, at = np.empty((self.rows, self.width), dtype=self.options.dtype), 0
        self._parts.reverse()
        while self._parts:  # each part is let go as soon as it is copied
            part = self._parts.pop()
            whole[at : at + len(part)] = part
            at += len(part)
        self._parts = [whole]
        return whole

    def sample(self) -> tuple[npt.NDArray[Any], Floats]:
        """The coreset's rows, in the type that was asked for, and their weights."""
        if self._coreset is None:
            raise DataError(f"there is no coreset: the rows were {'kept' if self.method is None else 'sparse'}")
        points, weights = self._coreset.points()
        return points.astype(self.options.dtype, copy=False), weights

    def clusters(self) -> Clusters:
        """Where the mini-batches have led, and how many rows each centre was given."""
        if self._batches is None:
            raise DataError("there are no mini-batches: the rows were kept, or are dense")
        clusters = self._batches.clusters(self.options.threads)
        if clusters is None:
            raise DataError(f"n_clusters={self.options.n_clusters} is more than the {self.rows} rows: lower n_clusters")
        return clusters

    def _checked(self, rows: AnyRows) -> Any:
        sparse = isinstance(rows, Rows)
        if self.sparse not in (None, sparse):
            raise DataError("some rows are sparse and others dense: give files of one kind")
        part = as_table(rows, self.options.dtype)
        if not sparse and self.width not in (0, part.shape[1]):
            raise DataError(f"rows of {part.shape[1]} columns after rows of {self.width}")
        as_points(part)  # finite, and small enough to be squared
        self.sparse = sparse
        return part

    def _begin(self) -> None:
        options = self.options
        if self.sparse:
            size = options.batch_size or max(10 * options.n_clusters, 4096)
            self._batches = MiniBatches(options.n_clusters, size, options.random_state)
        else:
            self._coreset = Coreset(
                options.coreset_size or max(A_CLUSTER * options.n_clusters, 1000), options.random_state
            )

    def _reduce(self, part: Any) -> None:
        if self._coreset is not None:
            self._coreset.feed(part)
        if self._batches is not None:
            self._batches.feed(part, np.ones(part.shape[0]), self.options.threads)


def as_table(rows: AnyRows, dtype: Any, width: int = 1) -> Any:
    """A reader's rows as the array or CSR matrix that this room takes; a CSR matrix has at least `width` columns."""
    if not isinstance(rows, Rows):
        return np.asarray(rows.values, dtype=dtype)
    widest = int(rows.indices.max()) + 1 if rows.indices.size else 1
    shape = (count(rows), max(widest, width))
    return sp.csr_array((rows.values.astype(dtype, copy=False), rows.indices, rows.indptr), shape=shape)
