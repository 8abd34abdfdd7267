"""Hypotheses: what a pass went through, as the short list of its updates or, compacted, as grid columns.

Members are what weights are given to: hypotheses 0, 1, … of the log, or after compaction those of `CompactedMembers`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.executor import ThreadExecutor
from onepass.rows import Floats, Ints
from onepass.trace.columns import Columns
from onepass.trace.log import Log, coefficients, gather

MANY = 1 << 20  # values of update rows that two threads add up sooner than one
PIECE = 1 << 15  # updates in one call of a kernel


class SumSoFar(NamedTuple):
    """Σ of the hypothesis in use over the rounds so far."""

    total: Floats  # (1 + features, outputs), intercept first
    met: npt.NDArray[np.int32] | None = None  # features that may have been anything but 0 so far; None: all


class CompactedMembers:
    """Where the members of a compacted trace stand in an array of weights."""

    FIRST = 0  # the default hypothesis
    COLUMNS = slice(1, -2)  # the points of the cutoff grid
    LONGEST = -2  # the longest survivor among the finished ones, a pocket copy
    LAST = -1  # the living hypothesis


@dataclass(frozen=True, eq=False, kw_only=True)
class Hypotheses:
    """The sequence of hypotheses of one pass: `combine` makes one vector of it."""

    last: Floats  # (1 + features, outputs), intercept first: the living one
    rounds: int
    alive: int  # rounds that the living one has been in use
    bias: float
    log: Log | None
    columns: Columns | None
    total: Floats | None = None  # Σ of the hypothesis in use over all rounds, where the learner keeps it; as `last`
    origin: Floats | None = None  # w_0, where the pass did not start at 0; as `last`, perhaps with fewer features
    frozen: dict[int, Floats] = field(default_factory=dict)  # the candidates of `validation`, by their round
    watched: Callable[[int], Floats] | None = None  # the weights of the watched model of this round

    @cached_property
    def survival(self) -> Ints:
        """Rounds that each member was in use. They sum to `rounds` while the log is kept."""
        if self.log is not None:
            return np.diff(np.concatenate([[0], self.log.round, [self.rounds]])).astype(np.int64)
        assert self.columns is not None
        return np.concatenate([[0], self.columns.survival, [0, self.alive]]).astype(np.int64)

    @cached_property
    def mass(self) -> Floats:
        """How many hypotheses each member stands for."""
        if self.columns is None:
            return np.ones(len(self.survival))
        return np.concatenate([[1.0], self.columns.fold.mass, [1.0, 1.0]])

    def only(self, member: int) -> Ints:
        """All weight on one member."""
        q = np.zeros(len(self.survival), dtype=np.int64)
        q[member] = 1
        return q

    def combine(self, q: Ints) -> Floats:
        """Σ_j q_j·w_j / Σ_j q_j: one weight vector (1 + features, outputs), intercept first, from integer weights q.

        One walk over the update rows; no w_j is ever formed. Divides once, last.
        """
        if len(q) != len(self.survival) or (q < 0).any() or not q.any():
            raise ValueError(f"q: {len(self.survival)} weights expected, none negative and not all zero")
        weights = self.weigh(q)
        weights /= float((q * self.mass).sum())
        return weights

    def weigh(self, q: Ints) -> Floats:
        """Σ_j q_j·w_j: `combine` before its division, which is what several machines add up."""
        return self._weigh_columns(self.columns, q) if self.log is None else self._weigh_log(self.log, q)

    def _weigh_columns(self, columns: Columns | None, q: Ints) -> Floats:
        assert columns is not None
        weights = columns.combine(q[CompactedMembers.COLUMNS].astype(np.float64))
        if longest := q[CompactedMembers.LONGEST]:
            weights += longest * columns.fold.longest.reshape(weights.shape)
        if last := q[CompactedMembers.LAST]:
            weights += last * self.last
        if (first := q[CompactedMembers.FIRST]) and self.origin is not None:
            weights[: len(self.origin)] += first * self.origin
        return weights

    def _weigh_log(self, log: Log, q: Ints) -> Floats:
        weights = np.zeros_like(self.last)
        coefficient = np.empty(log.updates)
        everywhere = coefficients(log, q, coefficient)
        if self.origin is not None:
            weights[: len(self.origin)] = everywhere * self.origin
        if log.values.size < max(MANY, weights.size):
            self._gather(log, coefficient, weights, 0, log.updates)
            return weights
        half, rest = log.updates // 2, np.zeros_like(weights)
        halves = [(weights, 0, half), (rest, half, log.updates)]
        with ThreadExecutor(2) as executor:  # in two halves on any machine: the same bits
            executor.map(lambda part: self._gather(log, coefficient, *part), halves)
        weights += rest
        return weights

    def _gather(self, log: Log, coefficient: Floats, weights: Floats, first: int, last: int) -> None:
        """weights += Σ coefficient_i·direction_i over updates first..last, in calls that Ctrl-C need not wait for."""
        for start in range(first, last, PIECE):
            gather(log, coefficient, self.bias, weights, start, min(start + PIECE, last))
