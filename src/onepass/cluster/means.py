"""Sums of the rows of each cluster, kept up to date by the rows that changed.

Each cluster's sum is added up in the order of the rows by one thread, so the number of threads cannot be seen in it.
After as many moves as there are rows (or when half of them move at once) all is summed afresh, so rounding cannot build
up.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, jit
from onepass.cluster.points import Labels
from onepass.cluster.spans import WORK, Span
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Dense, Floats, Ints, Rows, count

WORTH_SHARING = 2e6  # additions that take longer than waking the threads, each of which reads all labels


class Means:
    """Weighted means of the clusters of `rows`."""

    def __init__(self, rows: AnyRows, weights: Floats, k: int, width: int):
        self.rows, self.weights = rows, weights
        self.sums = np.zeros((k, width))
        self.mass = np.zeros(k)
        self.members = np.zeros(k, dtype=np.int64)  # rows of positive weight: says exactly whether a cluster is empty
        self.labels: Labels = np.full(count(rows), -1, dtype=np.int32)  # -1: in no sum yet
        self.moves = 0

    def follow(self, labels: Labels, executor: ThreadExecutor, afresh: bool = False) -> int:
        """Takes the rows to their new clusters; how many moved."""
        moved = np.flatnonzero(labels != self.labels)
        count = int(moved.size)
        self.moves += count
        if afresh or 2 * count >= labels.size or self.moves >= labels.size:
            self.sums[:], self.mass[:], self.members[:], self.moves = 0, 0, 0, 0
            self.labels[:] = -1
            moved = np.arange(labels.size)
        cost = moved.size * self.sums.shape[1]
        k = len(self.mass)
        shares = executor.threads if cost > WORTH_SHARING else 1
        # Neighbours stay with one thread: two that wrote to one cache line would wait for each other all the time.
        bounds = [Span(k * share // shares, k * (share + 1) // shares) for share in range(shares)]
        for part in np.array_split(moved, int(cost / WORK) + 1):
            executor.map(partial(self._transfer, labels, part), bounds)
        self.labels[moved] = labels[moved]
        empty = self.members == 0
        self.sums[empty], self.mass[empty] = 0, 0
        return count

    def centres(self, before: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The means in the type of `before`; an empty cluster keeps the centre it had."""
        means = self.sums / np.where(self.members > 0, self.mass, 1)[:, None]
        return np.where((self.members > 0)[:, None], means, before).astype(before.dtype)

    def _transfer(self, labels: Labels, moved: Ints, share: Span) -> None:
        totals = self.mass, self.members
        _transfer(self.rows, self.weights, moved, (self.labels, labels), share, self.sums, totals)


def masses(labels: Labels, weights: Floats, k: int) -> Floats:
    """The weight of each cluster."""
    return np.bincount(labels, weights, k).astype(np.float64)


def _add_dense(rows, i, w, sums, c) -> Any:  # type: ignore[no-untyped-def]
    for f in range(np.uint64(sums.shape[1])):
        sums[c, f] += w * rows.values[i, f]


def _add_sparse(rows, i, w, sums, c) -> Any:  # type: ignore[no-untyped-def]
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        sums[c, np.uint32(rows.indices[j])] += w * rows.values[j]


_add = by_type({Dense: _add_dense, Rows: _add_sparse})


@jit
def _transfer(rows, weights, moved, labels, share, sums, totals) -> Any:  # type: ignore[no-untyped-def]
    """Moves each row's weight from its old cluster to its new one, for the clusters of this share."""
    before, after = labels
    mass, members = totals
    for j in range(np.uint64(moved.size)):
        i = np.uint64(moved[j])
        w = weights[i]
        if w == 0.0:
            continue
        a, b = before[i], after[i]
        if share.first <= b < share.last:
            _add(rows, i, w, sums, np.uint64(b))
            mass[b] += w
            members[b] += 1
        if share.first <= a < share.last:
            _add(rows, i, -w, sums, np.uint64(a))
            mass[a] -= w
            members[a] -= 1
