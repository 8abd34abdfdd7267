"""Votes of 0 and 1: the loop that weighted majority and its randomized twin share.

Expert i's weight is β^penalty_i. The penalties are the state; they cannot underflow, and an expert that was hopeless
for a million rounds comes back as soon as the others fall behind it. Floating-point weights, relative to the leader,
are a cache of them: multiplied along while rounds pass, and computed anew from the penalties after every `period`
rounds. Between two refreshes a weight shrinks by at most 2^-460; a weight below 2^-540 of the leader's is dropped until
the next one. So no weight is ever subnormal, and what was dropped is at most 2^-80 of the vote.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, jit
from onepass.experts.advice import ASLEEP, Advice
from onepass.experts.run import Log
from onepass.rows import Floats, Ints

DROPPED = 2.0**-540
PERIOD_BITS = 460
LONGEST_PERIOD = 1024  # so that a weight's rounding error stays below 1024 · 2^-53


class Deterministic(NamedTuple):
    """Predict what the heavier side says; penalise only when that was a mistake."""

    beta: float
    nap: float
    period: int


class Randomized(NamedTuple):
    """Predict 1 with the probability that is the weight of the experts who say 1; penalise in every round."""

    beta: float
    nap: float
    period: int


Rule = Deterministic | Randomized


def deterministic(beta: float) -> Deterministic:
    """The rule for β. A sleeper pays what the vote is sure to lose by its mistake: a factor (1+β)/2."""
    return Deterministic(beta, math.log(2.0 / (1.0 + beta)) / -math.log(beta), _period(beta))


def randomized(beta: float) -> Randomized:
    """The rule for β. A sleeper pays β to the learner's expected mistake."""
    return Randomized(beta, 1.0, _period(beta))


def _period(beta: float) -> int:
    return min(LONGEST_PERIOD, max(1, int(PERIOD_BITS / -math.log2(beta))))


class VoteState(NamedTuple):
    """All that the next round needs to know."""

    weights: Floats  # β^penalty relative to the leader, as cached
    penalties: Floats  # in factors of β, since the last restart
    mistakes: Ints  # of each expert while awake
    absences: Floats  # what the learner lost while each expert slept
    loss: Floats  # [what the learner lost]
    clock: Ints  # [rounds since the last restart]


class Block(NamedTuple):
    """Rounds to play."""

    advice: npt.NDArray[np.uint8]
    asleep: npt.NDArray[np.bool_]
    outcomes: npt.NDArray[np.uint8]


def _judge_deterministic(rule, ones, zeros, y):  # type: ignore[no-untyped-def]
    predicted = 1 if ones >= zeros else 0
    mistake = predicted != y
    return (1.0 if mistake else 0.0), mistake


def _judge_randomized(rule, ones, zeros, y):  # type: ignore[no-untyped-def]
    wrong = zeros if y == 1 else ones
    return wrong / (ones + zeros), True


judge = by_type({Deterministic: _judge_deterministic, Randomized: _judge_randomized})
"""The learner's loss in a round, and whether the experts who were wrong pay for it."""


@jit
def fold(x, n):  # type: ignore[no-untyped-def]
    """Σ x[:n], overwriting x: quarters are added onto each other until eight numbers are left.

    The order depends on n alone. Every step is elementwise, so it is vectorised without fastmath: twice as fast as
    four partial sums.
    """
    while n > 8:
        q = (n + 3) // 4
        for i in range(n, 4 * q):
            x[i] = 0.0
        for i in range(q):
            x[i] = (x[i] + x[i + q]) + (x[i + 2 * q] + x[i + 3 * q])
        n = q
    s = 0.0
    for i in range(n):
        s += x[i]
    return s


@jit
def tally(w, a, side, scratch):  # type: ignore[no-untyped-def]
    """The weight of the experts that vote for `side`."""
    for i in range(w.size):
        scratch[i] = w[i] if a[i] == side else 0.0
    return fold(scratch, w.size)


@jit
def weigh(rule, penalties, a, w):  # type: ignore[no-untyped-def]
    """w[i] = β^(penalty_i − least), relative to the least penalty of those awake in a. OUT: w (asleep: 0)."""
    least = np.inf
    for i in range(w.size):
        if a[i] != ASLEEP and penalties[i] < least:
            least = penalties[i]
    for i in range(w.size):
        w[i] = rule.beta ** (penalties[i] - least) if a[i] != ASLEEP else 0.0
        if w[i] < DROPPED:
            w[i] = 0.0


@jit
def count(rule, state, a, asleep, scratch, everyone):  # type: ignore[no-untyped-def]
    """Weight of the experts who say 1, and of those who say 0.

    When someone sleeps, the weights are taken relative to those awake, whose cached ones may all have been dropped.
    """
    w = state.weights
    if asleep:
        w = everyone
        weigh(rule, state.penalties, a, w)
    return tally(w, a, 1, scratch), tally(w, a, 0, scratch)


@jit
def smallest(mistakes, absences, nap):  # type: ignore[no-untyped-def]
    """min_i mistakes_i + nap·absences_i."""
    least = np.inf
    for i in range(mistakes.size):
        least = min(least, mistakes[i] + nap * absences[i])
    return least


@jit
def play(rule, state, block, log):  # type: ignore[no-untyped-def]
    """Plays the block's rounds. IN: rule, block. IN and OUT: state. OUT: log.

    Predict by the weighted vote; then w_i ← β·w_i for the experts who were wrong, in the rounds that the rule says.
    See wang-lecture10, Algorithms 1 and 2.
    """
    w, penalties, mistakes, absences, loss, clock = state
    n = w.size
    scratch, everyone, all_awake = np.empty(n + 4), np.empty(n), np.zeros(n, np.uint8)
    slept = absences.max() > 0.0
    best = mistakes.min()
    k = 0
    for t in range(block.outcomes.size):
        a, y, asleep = block.advice[t], block.outcomes[t], block.asleep[t]
        ones, zeros = count(rule, state, a, asleep, scratch, everyone)
        lost, penalise = judge(rule, ones, zeros, y)
        wrong = 1 - y
        if asleep:
            slept = True
            for i in range(n):
                if a[i] == ASLEEP:
                    penalties[i] += rule.nap * lost
                    absences[i] += lost
                elif a[i] == wrong:
                    penalties[i] += 1.0 if penalise else 0.0
                    mistakes[i] += 1
        else:
            if penalise:
                for i in range(n):
                    w[i] *= rule.beta if a[i] == wrong else 1.0
                    penalties[i] += 1.0 if a[i] == wrong else 0.0
            leaders = 0
            for i in range(n):
                mistakes[i] += 1 if a[i] == wrong else 0
                leaders += 1 if mistakes[i] <= best else 0
            if leaders == 0:  # all who had `best` mistakes have made exactly one more
                best += 1
        clock[0] += 1
        if asleep or clock[0] % rule.period == 0:
            weigh(rule, penalties, all_awake, w)
        loss[0] += lost
        log.forecasts[t] = ones / (ones + zeros)
        log.losses[t] = loss[0]
        log.best[t] = smallest(mistakes, absences, 1.0) if slept else best
        log.pivots[t] = smallest(mistakes, absences, rule.nap) if slept else best
        if k < log.due.size and log.due[k] == t + 1:
            scratch[:n] = w
            log.weights[k] = w / fold(scratch, n)
            k += 1


class Votes:
    """A game of votes: its rule, its state, and what can be asked of them."""

    rule: Rule
    state: VoteState

    def __init__(self, rule: Rule, experts: int) -> None:
        self.rule = rule
        self.state = VoteState(
            weights=np.ones(experts),
            penalties=np.zeros(experts),
            mistakes=np.zeros(experts, np.int64),
            absences=np.zeros(experts),
            loss=np.zeros(1),
            clock=np.zeros(1, np.int64),
        )

    def restart(self, rule: Rule) -> None:
        """Equal weights again; what was lost stays lost."""
        self.rule = rule
        self.state.weights[:] = 1.0
        self.state.penalties[:] = 0.0
        self.state.clock[:] = 0

    def play(self, advice: Advice, outcomes: npt.NDArray[np.uint8], log: Log) -> None:
        """Plays the rounds; the log gets one entry for each."""
        rows = np.require(advice.values, requirements=["C", "W"])  # read-only rows would compile every kernel once more
        play(self.rule, self.state, Block(rows, advice.asleep, outcomes), log)

    def sides(self, advice: Advice) -> tuple[float, float]:
        """The weight for 1 and the weight for 0, for one row of advice."""
        n = self.state.weights.size
        scratch, everyone = np.empty(n + 4), np.empty(n)
        ones, zeros = count(self.rule, self.state, advice.values[0], advice.asleep[0], scratch, everyone)
        return float(ones), float(zeros)

    @property
    def weights(self) -> Floats:
        """The coming round's weights; they sum to 1."""
        w = self.state.weights
        return w / float(fold(np.append(w, np.zeros(4)), w.size))

    @property
    def log_weights(self) -> Floats:
        """ln w_i = penalty_i · ln β, exact at any distance."""
        return self.state.penalties * math.log(self.rule.beta)

    @property
    def expert_losses(self) -> Floats:
        """Mistakes, and for a sleeper what the learner lost meanwhile."""
        return self.state.mistakes + self.state.absences
