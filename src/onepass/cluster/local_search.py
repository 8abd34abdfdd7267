"""Better seeds by single swaps: a row drawn ∝ w·D² takes the place of the centre that is missed least.

See lattanzi2019 (S. Lattanzi, C. Sohler, *A better k-means++ algorithm via local search*, ICML 2019). A swap is made
only if it lowers the potential, so whatever the plain seeding guarantees stays true. Each row knows its two nearest
centres, so one look at the rows prices all k swaps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.cluster.distance import Targets, squared_distance
from onepass.cluster.points import Labels
from onepass.cluster.spans import BLOCK, WORK, Span, split_rows
from onepass.executor import ThreadExecutor
from onepass.rows import AnyRows, Floats, count

SLAB = 65536  # rows whose losses are added together first, whatever the number of threads


class TwoNearest(NamedTuple):
    """D² to the nearest and to the second nearest centre, and which they are."""

    first: Floats
    second: Floats
    owner: Labels
    heir: Labels


class LocalSearch:
    """The two nearest centres of every row, while centres are swapped."""

    def __init__(self, rows: AnyRows, weights: Floats, centres: Targets, executor: ThreadExecutor):
        n = count(rows)
        self.rows, self.weights, self.centres, self.executor = rows, weights, centres, executor
        self.two = TwoNearest(np.empty(n), np.empty(n), np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32))
        self.slabs = [Span(first, min(first + SLAB, n)) for first in range(0, n, SLAB)]
        self.spans = split_rows(n, centres.values.size, executor.threads)
        self._renew(-1)

    def best(self, tried: Targets) -> tuple[int, float]:
        """The centre whose place the tried row would best take, and the potential it would leave."""
        losses = np.zeros((len(self.slabs), self.centres.norms.size + 1))
        step = max(BLOCK, int(WORK / tried.values.size))

        def add(at: int) -> None:
            slab = self.slabs[at]
            for first in range(slab.first, slab.last, step):
                part = Span(first, min(first + step, slab.last))
                _losses(self.rows, tried, self.weights, self.two, part, losses[at])

        self.executor.map(add, range(len(self.slabs)))
        total = losses.sum(axis=0)
        out = int(total[:-1].argmin())
        return out, float(total[-1] + total[out])

    def swap(self, out: int, tried: Targets) -> None:
        """Puts the tried row in the place of centre `out`."""
        self.centres.values[out], self.centres.norms[out] = tried.values[0], tried.norms[0]
        self._renew(out)

    def _renew(self, changed: int) -> None:
        self.executor.map(lambda span: _renew(self.rows, self.centres, changed, self.two, span), self.spans)


@jit
def _losses(rows, tried, weights, two, span, losses) -> Any:  # type: ignore[no-untyped-def]
    """losses[k] = Σ w·min(D₁, p) with p = D(x, tried); losses[j] = what more it would be without centre j."""
    first, second, owner, _ = two
    for i in range(np.uint64(span.first), np.uint64(span.last)):
        p = squared_distance(rows, i, tried, np.uint64(0))
        least = min(first[i], p)
        losses[losses.size - 1] += weights[i] * least
        losses[np.uint64(owner[i])] += weights[i] * (min(second[i], p) - least)


@jit
def _renew(rows, centres, changed, two, span) -> Any:  # type: ignore[no-untyped-def]
    """The two nearest centres again after one changed: by that one alone, unless a row had it among its two."""
    first, second, owner, heir = two
    for i in range(np.uint64(span.first), np.uint64(span.last)):
        begin, end = changed, changed + 1
        if owner[i] == changed or heir[i] == changed or changed < 0:
            first[i] = second[i] = np.inf
            begin, end = 0, centres.norms.size
        for c in range(begin, end):
            distance = squared_distance(rows, i, centres, np.uint64(c))
            if distance < first[i]:
                second[i], heir[i] = first[i], owner[i]
                first[i], owner[i] = distance, c
            elif distance < second[i]:
                second[i], heir[i] = distance, c
