"""Streams larger than memory: mini-batches, and a coreset that merges.

Both cut the stream at row numbers of their own, so that feeding it in other pieces changes no bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from onepass.cluster.kmeans import assign, lloyd
from onepass.cluster.means import Means, masses
from onepass.cluster.points import WeightedRows, as_points, in_type, piece_weights
from onepass.cluster.run import as_centres, called
from onepass.cluster.seeding import D2Sampler, d2_sampling, seed
from onepass.errors import DataError
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Dense, Floats, count

FAN = 4  # sets of a coreset that are merged at a time


class RowBuffer:
    """Rows that wait until there are enough of them."""

    def __init__(self) -> None:
        self.parts: list[tuple[Any, Floats]] = []
        self.count = 0

    def add(self, X: Any, weights: Floats) -> None:
        self.parts.append((X, weights))
        self.count += weights.size

    def own(self) -> None:
        """Copies what waits of the last piece: whoever fed it may fill its array anew."""
        X, weights = self.parts[-1]
        self.parts[-1] = X.copy(), weights

    def first(self, size: int) -> tuple[Any, Floats]:
        """The first `size` rows, which wait no longer."""
        X, weights = self.all()
        self.parts, self.count = [(X[size:], weights[size:])], self.count - size
        return X[:size], weights[:size]

    def all(self) -> tuple[Any, Floats]:
        """Every row that waits, as one table."""
        if len(self.parts) > 1:
            tables = [X for X, _ in self.parts]
            stack = np.concatenate
            if sp.issparse(tables[0]):
                stack, width = sp.vstack, max(X.shape[1] for X in tables)
                tables = [widened(X, width) for X in tables]
            self.parts = [(stack(tables), np.concatenate([weights for _, weights in self.parts]))]
        return self.parts[0]


def widened(X: Any, width: int) -> Any:
    """Sparse rows with zeros in the columns that they did not know of."""
    if X.shape[1] == width:
        return X
    return sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


class Clusters(NamedTuple):
    """Centres and the weight that each has seen."""

    centres: npt.NDArray[Any]
    mass: Floats


class MiniBatches:
    """k-means over a stream: every `batch_size` rows, each centre goes to the mean of all rows it was ever given.

    See sculley2010 (D. Sculley, *Web-scale k-means clustering*, WWW 2010). Differs: a batch's rows are taken together,
    and batches are counted from the stream's first row, whatever pieces it comes in. The first batch is seeded by
    `init` and clustered by itself. Sparse rows may grow wider as the stream goes on: a new column was 0 until then.
    """

    def __init__(
        self,
        n_clusters: int,
        batch_size: int,
        random_state: int,
        start: Clusters | None = None,
        init: Any = "k-means++",
    ):
        if batch_size < n_clusters:
            raise ValueError(f"batch_size={batch_size} must be at least n_clusters={n_clusters}")
        self.n_clusters, self.batch_size, self.random_state = n_clusters, batch_size, random_state
        self.init = init
        self.pending = RowBuffer()
        self.settled = start  # after the last whole batch

    def feed(self, X: Any, weights: Floats, threads: int | None) -> None:
        """Takes the rows in; whole batches are learned from at once, the rest waits."""
        self.pending.add(X, weights)
        while self.pending.count >= self.batch_size:
            self.settled = self._after(*self.pending.first(self.batch_size), threads)
        self.pending.own()

    def clusters(self, threads: int | None) -> Clusters | None:
        """As if the stream ended here; None while fewer than n_clusters rows that count have come."""
        X, weights = self.pending.all()
        if self.settled is None and np.count_nonzero(weights) < self.n_clusters:
            return None
        return self._after(X, weights, threads)

    def _after(self, X: Any, weights: Floats, threads: int | None) -> Clusters | None:
        if not weights.any():
            return self.settled
        rows = as_points(X)
        if self.settled is not None and X.shape[1] != self.settled.centres.shape[1]:
            width = max(X.shape[1], self.settled.centres.shape[1])
            room = ((0, 0), (0, width - self.settled.centres.shape[1]))
            self.settled = Clusters(np.pad(self.settled.centres, room), self.settled.mass)
            X = widened(X, width)
        if self.settled is None:
            fit = lloyd(rows, self._seeded(X, rows, weights, threads), weights, threads=threads)
            return Clusters(fit.centres, masses(fit.labels, weights, self.n_clusters))
        centres, mass = self.settled
        labels, _ = assign(in_type(rows, centres), centres, threads)
        batch = Means(rows, weights, self.n_clusters, X.shape[1])
        with ThreadExecutor(threads) as executor:
            batch.follow(labels, executor)
        total = mass + batch.mass
        offset = batch.sums - batch.mass[:, None] * centres
        moved = centres + offset / np.where(total > 0, total, 1)[:, None]
        return Clusters(moved.astype(centres.dtype), total)

    def _seeded(self, X: Any, rows: AnyRows, weights: Floats, threads: int | None) -> npt.NDArray[Any]:
        k, width, own = self.n_clusters, X.shape[1], self.random_state
        if isinstance(self.init, str):
            points = WeightedRows(rows, width, weights)
            return seed(points, k, method=self.init, random_state=own, threads=threads).centres
        return as_centres(called(self.init, X, k, own), k, width, rows.values.dtype)


class Coreset:
    """A small weighted sample that stands for all rows fed so far: at most 3·size·log₄(rows/size) rows or so.

    Runs of `size` rows are merged four by four; of each four k-means++ keeps `size` rows, each with the weight of the
    rows nearest to it (a counter of such sets, to the base 4). The total weight is kept. See ackermann2012 (M.
    Ackermann et al., *StreamKM++*, JEA 2012). Differs: the paper merges two by two, which draws three times as often.
    A size of 200·k or so serves k clusters.

    Parameters
    ----------
    size : int
        Rows kept for each level; 200 for each cluster serve.
    random_state : int, default 0
        Seed.

    Examples
    --------
    >>> coreset = Coreset(size=100)
    >>> for part in np.array_split(np.arange(4000.0).reshape(-1, 1), 7):
    ...     coreset = coreset.feed(part)
    >>> points, weights = coreset.points()
    >>> float(weights.sum()), len(points) < 700
    (4000.0, True)
    """

    def __init__(self, size: int, random_state: int = 0):
        if size < 1:
            raise ValueError(f"size must be at least 1, not {size}")
        self.size, self.random_state = size, random_state
        self.pending = RowBuffer()
        self.levels: list[list[tuple[npt.NDArray[np.float64], Floats]]] = []
        self.width: int | None = None
        self.reductions = 0

    def feed(self, X: Any, sample_weight: Any = None) -> Coreset:
        """Takes rows in; returns itself."""
        rows = as_points(X)
        if not isinstance(rows, Dense):
            raise DataError("X is sparse: a coreset keeps dense rows; use KMeans.partial_fit, or X.toarray()")
        weights = piece_weights(sample_weight, count(rows))
        self._expect(rows.values.shape[1])
        self.pending.add(rows.values.astype(np.float64), weights)
        while self.pending.count >= self.size:
            self._carry(0, self.pending.first(self.size))
        return self

    def merge(self, other: Coreset) -> Coreset:
        """Takes in all that the other coreset has seen; returns itself. Sizes must agree."""
        if other.size != self.size:
            raise ValueError(f"coresets of sizes {self.size} and {other.size} do not merge")
        if other.width is not None:
            self._expect(other.width)
        for level, kept in enumerate(other.levels):
            for pair in kept:
                self._carry(level, pair)
        if other.pending.count:
            X, weights = other.pending.all()
            self.feed(X, weights)
        return self

    def points(self) -> tuple[npt.NDArray[np.float64], Floats]:
        """The rows kept and their weights, for any weighted algorithm: KMeans(k).fit(rows, sample_weight=weights)."""
        kept = [pair for level in self.levels for pair in level]
        if self.pending.count:
            kept.append(self.pending.all())
        if not kept:
            raise DataError("the coreset has seen no rows: feed some first")
        return np.concatenate([X for X, _ in kept]), np.concatenate([weights for _, weights in kept])

    def _expect(self, width: int) -> None:
        if self.width not in (None, width):
            raise DataError(f"X has {width} columns, but the coreset has rows of {self.width}")
        self.width = width

    def _carry(self, level: int, pair: tuple[Any, Floats]) -> None:
        """Adds one to the counter at this level."""
        self.levels.extend([] for _ in range(level + 1 - len(self.levels)))
        kept = self.levels[level]
        kept.append(pair)
        if len(kept) == FAN:
            X, weights = (np.concatenate(parts) for parts in zip(*kept, strict=True))
            kept.clear()
            self._carry(level + 1, self._reduced(X, weights))

    def _reduced(self, X: npt.NDArray[np.float64], weights: Floats) -> tuple[npt.NDArray[np.float64], Floats]:
        if not weights.any():
            return X[: self.size], weights[: self.size]
        self.reductions += 1
        rng = np.random.default_rng([self.random_state, self.reductions])
        with ThreadExecutor(1) as executor:
            sampler = D2Sampler(WeightedRows(Dense(X), X.shape[1], weights), rng, executor)
            chosen = d2_sampling(sampler, min(self.size, len(X)), 1)
        return X[chosen], masses(sampler.owner, weights, chosen.size)
