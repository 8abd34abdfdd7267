"""Votes of 0 and 1: the loop that weighted majority and its randomized twin share.

Expert i's weight is β^penalty_i. The state is the penalties: counts, which cannot underflow, so that an expert that was
hopeless for a million rounds comes back as soon as the others fall behind it. Floating-point weights, relative to the
leader, are a cache of them: multiplied along while rounds pass, and computed anew from the penalties after every
`period` rounds. Between two refreshes a weight shrinks by at most 2^-460; a weight below 2^-540 of the leader's is
dropped until the next one. So no weight is ever subnormal, and what was dropped is at most 2^-80 of the vote.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import allocating, by_type, jit
from onepass.experts.advice import ASLEEP, Advice, Rounds
from onepass.experts.reductions import fold
from onepass.experts.run import RoundLog
from onepass.rows import Floats, Ints

DROPPED = 2.0**-540
PERIOD_BITS = 460
LONGEST_PERIOD = 1024  # so that a weight's rounding error stays below 1024 · 2^-53


class Deterministic(NamedTuple):
    """Predict what the heavier side says; penalise only when that was a mistake."""

    beta: float
    nap: float  # what a sleeper pays for the learner's loss, in factors of β
    price: float  # what the learner's loss counts for a sleeper, in the bound
    period: int


class Randomized(NamedTuple):
    """Predict 1 with the probability that is the weight of the experts who say 1; penalise in every round."""

    beta: float
    nap: float
    price: float
    period: int


Rule = Deterministic | Randomized


def deterministic(beta: float, price: float | None = None) -> Deterministic:
    """The rule for β. A sleeper pays what all weight is sure to shrink by at a mistake of the vote: a factor (1+β)/2.

    So while expert i, with m_i mistakes, is awake, the vote makes at most bound(m_i). With A_i more while i sleeps,
    A_i + bound(m_i) = bound(m_i + price·A_i), where price is one over the bound's slope: by default that of a fixed β.
    """
    nap = math.log(2.0 / (1.0 + beta)) / -math.log(beta)
    return Deterministic(beta, nap, nap if price is None else price, _period(beta))


def randomized(beta: float) -> Randomized:
    """The rule for β. A sleeper pays β to the learner's expected mistake."""
    return Randomized(beta, 1.0, 1.0, _period(beta))


def _period(beta: float) -> int:
    return min(LONGEST_PERIOD, max(1, int(PERIOD_BITS / -math.log2(beta))))


class VoteState(NamedTuple):
    """All that the next round needs to know."""

    weights: Floats  # β^penalty relative to the leader, as cached
    penalties: Floats  # of the deterministic rule, in factors of β, since the last restart
    mistakes: Ints  # of each expert while awake
    absences: Floats  # what the learner lost while each expert slept
    forgiven: Floats  # mistakes and absences before the last restart
    loss: Floats  # [what the learner lost]
    clock: Ints  # [rounds since the last restart]


def _judge_deterministic(rule, ones, zeros, y):  # type: ignore[no-untyped-def]
    predicted = 1 if ones >= zeros else 0
    return 1.0 if predicted != y else 0.0


def _judge_randomized(rule, ones, zeros, y):  # type: ignore[no-untyped-def]
    return (zeros if y == 1 else ones) / (ones + zeros)


judge = by_type({Deterministic: _judge_deterministic, Randomized: _judge_randomized})
"""What the learner loses in a round: a mistake, or the probability of one."""


def _penalty_deterministic(rule, state, i):  # type: ignore[no-untyped-def]
    return state.penalties[i]


def _penalty_randomized(rule, state, i):  # type: ignore[no-untyped-def]
    return state.mistakes[i] + state.absences[i] - state.forgiven[i]  # every mistake is penalised


penalty = by_type({Deterministic: _penalty_deterministic, Randomized: _penalty_randomized})
"""The exponent of expert i's weight: w_i = β^penalty."""


@jit
def tally(w, a, side, scratch):  # type: ignore[no-untyped-def]
    """The weight of the experts that vote for `side`."""
    n = w.size
    if n <= 32:  # too few for folding to pay
        s = 0.0
        for i in range(n):
            s += w[i] if a[i] == side else 0.0
        return s
    q = n // 4
    for i in range(q):
        first, second = w[i] if a[i] == side else 0.0, w[i + q] if a[i + q] == side else 0.0
        third, fourth = w[i + 2 * q] if a[i + 2 * q] == side else 0.0, w[i + 3 * q] if a[i + 3 * q] == side else 0.0
        scratch[i] = (first + second) + (third + fourth)
    for i in range(4 * q, n):
        scratch[i - 3 * q] = w[i] if a[i] == side else 0.0
    return fold(scratch, n - 3 * q)


@jit
def weigh(rule, state, a, w):  # type: ignore[no-untyped-def]
    """w_i = β^penalty_i, relative to the least penalty of those awake in a. OUT: w (0 for sleepers)."""
    least = np.inf
    for i in range(w.size):
        if a[i] != ASLEEP:
            least = min(least, penalty(rule, state, i))
    for i in range(w.size):
        w[i] = rule.beta ** (penalty(rule, state, i) - least) if a[i] != ASLEEP else 0.0
        if w[i] < DROPPED:
            w[i] = 0.0


@jit
def count(rule, state, a, asleep, scratch, awake):  # type: ignore[no-untyped-def]
    """Weight of the experts who say 1, and of those who say 0.

    When someone sleeps, weights are taken relative to those awake, whose cached ones may all have been dropped.
    """
    w = state.weights
    if asleep:
        w = awake
        weigh(rule, state, a, w)
    return tally(w, a, np.uint8(1), scratch), tally(w, a, np.uint8(0), scratch)


def _punish_deterministic(rule, state, a, wrong, lost):  # type: ignore[no-untyped-def]
    if lost > 0.0:
        for i in range(a.size):
            state.weights[i] *= rule.beta if a[i] == wrong else 1.0
        for i in range(a.size):
            state.penalties[i] += 1.0 if a[i] == wrong else rule.nap if a[i] == ASLEEP else 0.0


def _punish_randomized(rule, state, a, wrong, lost):  # type: ignore[no-untyped-def]
    for i in range(a.size):
        state.weights[i] *= rule.beta if a[i] == wrong else 1.0


punish = by_type({Deterministic: _punish_deterministic, Randomized: _punish_randomized})
"""w_i ← β·w_i for the experts that were wrong, when the rule says so. OUT: state."""


@jit
def charge(mistakes, a, wrong, best):  # type: ignore[no-untyped-def]
    """A mistake for each expert that was wrong. OUT: mistakes. Returns how many still have at most `best`."""
    leaders = 0
    for i in range(mistakes.size):
        mistakes[i] += 1 if a[i] == wrong else 0
        leaders += 1 if mistakes[i] <= best else 0
    return leaders


@jit
def smallest(mistakes, absences, price):  # type: ignore[no-untyped-def]
    """min_i mistakes_i + price·absences_i."""
    least = np.inf
    for i in range(mistakes.size):
        least = min(least, mistakes[i] + price * absences[i])
    return least


@allocating
def play(rule, state, block, log):  # type: ignore[no-untyped-def]
    """Plays the block's rounds. IN: rule, block. IN and OUT: state. OUT: log.

    Predict by the weighted vote; then w_i ← β·w_i for the experts who were wrong, in the rounds that the rule says.
    See wang-lecture10, Algorithms 1 and 2.
    """
    w, mistakes, absences = state.weights, state.mistakes, state.absences
    n = w.size
    scratch, awake, everyone = np.empty(n + 4), np.empty(n), np.zeros(n, np.uint8)
    slept = absences.max() > 0.0
    best = mistakes.min()
    k = 0
    for t in range(block.outcomes.size):
        a, y, asleep = block.advice[t], block.outcomes[t], block.asleep[t]
        ones, zeros = count(rule, state, a, asleep, scratch, awake)
        lost = judge(rule, ones, zeros, y)
        wrong = np.uint8(1 - y)
        punish(rule, state, a, wrong, lost)
        if charge(mistakes, a, wrong, best) == 0:  # all who had `best` mistakes have made exactly one more
            best += 1
        if asleep:
            slept = True
            for i in range(n):
                absences[i] += lost if a[i] == ASLEEP else 0.0
        state.clock[0] += 1
        if asleep or state.clock[0] % rule.period == 0:
            weigh(rule, state, everyone, w)
        state.loss[0] += lost
        log.forecasts[t] = ones / (ones + zeros)
        log.losses[t] = state.loss[0]
        log.best[t] = smallest(mistakes, absences, 1.0) if slept else best
        log.pivots[t] = smallest(mistakes, absences, rule.price) if slept else best
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
            forgiven=np.zeros(experts),
            loss=np.zeros(1),
            clock=np.zeros(1, np.int64),
        )

    def restart(self, rule: Rule) -> None:
        """Equal weights again; what was lost stays lost."""
        self.rule = rule
        self.state.weights[:] = 1.0
        self.state.penalties[:] = 0.0
        self.state.forgiven[:] = self.expert_losses
        self.state.clock[:] = 0

    def play(self, advice: Advice, outcomes: npt.NDArray[np.uint8], log: RoundLog) -> None:
        """Plays the rounds; the log gets one entry for each."""
        rows = np.require(advice.values, requirements=["C", "W"])  # read-only rows would compile every kernel once more
        play(self.rule, self.state, Rounds(rows, advice.asleep, outcomes), log)

    def sides(self, advice: Advice) -> tuple[float, float]:
        """The weight for 1 and the weight for 0, for one row of advice."""
        n = self.state.weights.size
        scratch, awake = np.empty(n + 4), np.empty(n)
        ones, zeros = count(self.rule, self.state, advice.values[0], advice.asleep[0], scratch, awake)
        return float(ones), float(zeros)

    @property
    def weights(self) -> Floats:
        """The coming round's weights; they sum to 1."""
        w = self.state.weights
        return w / float(fold(np.append(w, np.zeros(4)), w.size))

    @property
    def log_weights(self) -> Floats:
        """ln w_i = penalty_i · ln β, exact at any distance."""
        experts = range(self.state.weights.size)
        return np.array([penalty(self.rule, self.state, i) for i in experts]) * math.log(self.rule.beta)

    @property
    def expert_losses(self) -> Floats:
        """Mistakes, and for a sleeper what the learner lost meanwhile."""
        return self.state.mistakes + self.state.absences
