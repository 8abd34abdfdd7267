"""The best that could have been done, known afterwards: one expert, or a sequence of experts that changes s times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.errors import DataError
from onepass.experts.advice import check_forecasts, check_outcomes
from onepass.rows import Floats, Ints

CELLS = 1 << 23  # rounds × experts × segments that the kernel walks before it lets Ctrl-C through


@dataclass(frozen=True, eq=False)
class Oracle:
    """What `oracle` knows.

    Attributes
    ----------
    expert_losses : array of float
        Of each expert over all rounds.
    best : int
        The best single expert.
    loss : float
        Its loss.
    sequence : array of int
        Per round, the expert that the best sequence follows.
    sequence_loss : float
        Its loss.

    Examples
    --------
    >>> known = oracle([[0, 1], [0, 1], [1, 0]], switches=1)
    >>> known.expert_losses, known.switches
    (array([1., 2.]), 1)
    """

    expert_losses: Floats  # of each expert over all rounds
    best: int  # the best single expert
    loss: float  # its loss
    sequence: Ints  # per round, the expert that the best sequence follows
    sequence_loss: float  # its loss

    @property
    def switches(self) -> int:
        """How often the sequence changes (at most as often as was allowed)."""
        return int(np.count_nonzero(np.diff(self.sequence)))


def oracle(
    advice: npt.ArrayLike,
    outcomes: npt.ArrayLike | None = None,
    *,
    switches: int = 0,
    awake: npt.ArrayLike | None = None,
) -> Oracle:
    """The best single expert, and the best sequence of experts with at most `switches` changes.

    Losses are the distance of advice and outcome, or the advice itself without outcomes. To follow an expert that
    sleeps costs 1. Time grows with rounds × experts × switches, memory with rounds × switches.

    Parameters
    ----------
    advice : array_like
        (rounds, experts), in [0, 1]; NaN: the expert sleeps.
    outcomes : array_like or None, default None
        What came true in each round, in [0, 1]. None: advice is losses.
    switches : int, default 0
        How often the sequence may change.
    awake : array_like or None, default None
        (rounds, experts), False where an expert sleeps.

    Returns
    -------
    Oracle
        The best expert and the best sequence, with their losses.

    Raises
    ------
    DataError
        If advice or outcomes are not such, or the sequence is too long to be remembered.

    Examples
    --------
    >>> known = oracle([[0, 1], [0, 1], [1, 0]], switches=1)
    >>> known.best, known.loss, known.sequence, known.sequence_loss
    (0, 1.0, array([0, 0, 1]), 0.0)
    """
    if switches < 0:
        raise ValueError(f"switches={switches!r} must not be negative")
    said = check_forecasts(advice, awake).values
    rounds, experts = said.shape
    if rounds * (switches + 1) > 1 << 31:
        raise DataError(f"switches={switches}: {rounds} rounds would need 2^31 steps to be remembered; allow fewer")
    truth = np.zeros(rounds) if outcomes is None else check_outcomes(outcomes, rounds, binary=False)
    cost = np.zeros((switches + 1, experts))
    born = np.zeros((switches + 1, experts), np.int64)
    leader = np.zeros((rounds, switches + 1), np.int64)
    since = np.zeros((rounds, switches + 1), np.int64)
    totals = np.zeros(experts)
    step = max(1, CELLS // (experts * (switches + 1)))
    for first in range(0, rounds, step):
        block = slice(first, min(first + step, rounds))
        losses = np.nan_to_num(np.abs(said[block] - truth[block, None]), nan=1.0)
        walk(losses, first, cost, born, leader, since)
        totals += losses.sum(axis=0)
    return Oracle(
        expert_losses=totals,
        best=int(np.argmin(totals)),
        loss=float(totals.min()),
        sequence=_trace_back(leader, since),
        sequence_loss=float(cost[switches].min()),
    )


@jit
def walk(losses, first, cost, born, leader, since):  # type: ignore[no-untyped-def]
    """cost[s, i] = the least loss of a sequence with at most s changes that ends with expert i:

        cost_t[s, i] = ℓ_t,i + min(cost_{t−1}[s, i], min_j cost_{t−1}[s−1, j])

    IN and OUT: cost, born (the round in which its last segment began). OUT: per round and s the leading i and its born.
    """
    segments, experts = cost.shape
    for r in range(losses.shape[0]):
        t = first + r
        for s in range(segments - 1, -1, -1):  # downwards, so that row s − 1 is still the last round's
            for i in range(experts):
                if s > 0 and t > 0 and cost[s - 1, leader[t - 1, s - 1]] < cost[s, i]:
                    cost[s, i] = cost[s - 1, leader[t - 1, s - 1]]
                    born[s, i] = t
                cost[s, i] += losses[r, i]
            low = 0
            for i in range(experts):
                if cost[s, i] < cost[s, low]:
                    low = i
            leader[t, s] = low
            since[t, s] = born[s, low]


def _trace_back(leader: Ints, since: Ints) -> Ints:
    rounds, segments = leader.shape
    sequence = np.empty(rounds, np.int64)
    end, s = rounds, segments - 1
    while end > 0:
        begin = int(since[end - 1, s])
        sequence[begin:end] = leader[end - 1, s]
        end, s = begin, s - 1
    return sequence
