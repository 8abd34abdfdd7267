"""What a run leaves behind: the learner's loss, the best expert's, and the bound, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onepass.rows import Floats, Ints

SNAPSHOT_BYTES = 1 << 26  # weights over time are thinned so that they stay near this size


class RoundLog(NamedTuple):
    """Where a kernel writes: one entry a round, and the weights after the rounds that are due."""

    forecasts: Floats
    losses: Floats  # cumulative, the learner's
    best: Floats  # cumulative, the best expert's: what regret is measured from
    pivots: (
        Floats  # what the bound is measured from; it differs from `best` only for a deterministic vote with sleepers
    )
    due: Ints  # rounds, counted from 1
    weights: Floats

    @classmethod
    def empty(cls, start: int, rounds: int, experts: int) -> RoundLog:
        """Room for `rounds` rounds that follow `start` earlier ones."""
        due = snapshots(start, start + rounds, experts) - start
        forecasts, losses, best, pivots = np.empty((4, rounds))
        return cls(forecasts, losses, best, pivots, due, np.empty((due.size, experts)))

    def part(self, first: int, last: int) -> RoundLog:
        """The same memory, for rounds first..last alone."""
        a, b = np.searchsorted(self.due, (first + 1, last + 1))
        forecasts, losses, best, pivots = (array[first:last] for array in self[:4])
        return RoundLog(forecasts, losses, best, pivots, self.due[a:b] - first, self.weights[a:b])


@dataclass(frozen=True, eq=False)
class Run:
    """A game of prediction with expert advice. Totals speak of all rounds so far, series of this call's rounds.

    `losses`, `best_losses` and `bounds` are cumulative: losses[t] ≤ bounds[t] is what the theorem says, and
    losses − best_losses is the regret. `loss` is what the theorem speaks of: mistakes for the weighted majority,
    expected mistakes for the randomized one, Σ p·ℓ for Hedge.

    An expert that sleeps is charged the learner's own loss, so that regret against it counts its waking rounds alone.

    Attributes
    ----------
    rule : str
        The learner's name.
    rounds : int
        Played so far.
    mistakes : int or None
        Realised; None where outcomes are not 0 or 1.
    expert_losses : array of float
        Of each expert over all rounds.
    forecasts : array of float
        Weight of the experts that said 1, or the weighted mean forecast.
    losses : array of float
        The learner's, cumulative.
    best_losses : array of float
        The best expert's, cumulative.
    bounds : array of float
        What `losses` could not exceed.
    times : array of int
        Rounds after which `weights` were taken, thinned to about 64 an octave.
    weights : array of float
        (times, experts), each row sums to 1.

    Examples
    --------
    >>> from onepass.experts import WeightedMajority
    >>> run = WeightedMajority(beta=0.5).run([[1, 0, 0], [1, 0, 1], [0, 0, 1]], [1, 1, 0])
    >>> run.rounds, run.mistakes, run.expert_losses, bool((run.losses <= run.bounds).all())
    (3, 1, array([0., 2., 2.]), True)
    """

    rule: str
    rounds: int
    mistakes: int | None  # realised; None where outcomes are not 0 or 1
    expert_losses: Floats
    forecasts: Floats  # weight of the experts that said 1, or the weighted mean forecast
    losses: Floats
    best_losses: Floats
    bounds: Floats
    times: Ints  # rounds after which `weights` were taken, thinned to about 64 an octave
    weights: Floats  # (times, experts), each row sums to 1

    @property
    def start(self) -> int:
        """Rounds played before this call."""
        return self.rounds - self.losses.size

    @property
    def loss(self) -> float:
        """The learner's loss in all rounds so far."""
        return float(self.losses[-1])

    @property
    def expected_mistakes(self) -> float:
        """The same number, by the name it has for the randomized rule."""
        return self.loss

    @property
    def best(self) -> int:
        """The best expert so far (the first of several)."""
        return int(np.argmin(self.expert_losses))

    @property
    def best_loss(self) -> float:
        """Its loss."""
        return float(self.expert_losses[self.best])

    @property
    def regret(self) -> float:
        """How much more the learner lost than the best expert."""
        return self.loss - self.best_loss

    @property
    def regrets(self) -> Floats:
        """Regret after each round of this call."""
        return self.losses - self.best_losses

    @property
    def bound(self) -> float:
        """What `loss` could not exceed, whatever the outcomes."""
        return float(self.bounds[-1])

    def __str__(self) -> str:
        realised = "" if self.mistakes is None or self.mistakes == self.loss else f" ({self.mistakes} realised)"
        return (
            f"{self.rule}, {self.expert_losses.size} experts, {self.rounds} rounds: loss {self.loss:.6g}{realised},"
            f" at most {self.bound:.6g} by theorem; best expert {self.best} has {self.best_loss:.6g},"
            f" regret {self.regret:.6g}"
        )


def snapshots(start: int, end: int, experts: int) -> Ints:
    """Rounds in (start, end] after which weights are kept: multiples of 2^⌊log2 t − p⌋, and the last one.

    They are fixed by t and N, so that cutting a run elsewhere keeps the same ones (and one more at each cut).

    >>> snapshots(0, 10, experts=3)
    array([ 1,  2,  3,  4,  5,  6,  7,  8,  9, 10])
    >>> snapshots(1000, 1050, experts=3)
    array([1008, 1016, 1024, 1040, 1050])
    """
    octaves = 24  # of a long run
    fine = SNAPSHOT_BYTES // (8 * experts * octaves)
    p = min(6, max(0, fine.bit_length() - 1))
    grid = [
        np.arange(1 << e, min(1 << (e + 1), end + 1), 1 << max(0, e - p), dtype=np.int64)
        for e in range(end.bit_length())
    ]
    rounds = np.unique(np.append(np.concatenate(grid), end))
    return rounds[rounds > start]
