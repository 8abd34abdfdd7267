"""Losses in [0, 1]: the loop that Hedge, AdaHedge and fixed share have in common.

An expert's loss is |advice − outcome|. The state is each expert's cumulative loss, so that weights exp(−η·loss) live
in the log domain: each round forms them anew, at its own rate, relative to the best expert that is awake.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, jit
from onepass.experts.advice import Advice, as_forecasts
from onepass.experts.run import Log
from onepass.rows import Floats, Ints


class Constant(NamedTuple):
    """w_i ∝ exp(−η·loss_i)."""

    eta: float


class Decreasing(NamedTuple):
    """w_i ∝ exp(−η_t·loss_i), η_t = √(8 ln N / t)."""

    log_experts: float


class Adaptive(NamedTuple):
    """w_i ∝ exp(−η·loss_i), η = ln N / gap; all weight on the leaders while the gap is 0."""

    log_experts: float


class Shared(NamedTuple):
    """w_i ← (1−α)·w_i·exp(−η·ℓ_i)/Σ + α/N: every expert keeps enough weight to come back quickly."""

    eta: float
    alpha: float


Rule = Constant | Decreasing | Adaptive | Shared


class MixState(NamedTuple):
    """All that the next round needs to know."""

    since: Floats  # each expert's loss since the last restart
    losses: Floats  # each expert's loss
    shares: Floats  # fixed share's weights (at least α/N each, so they need no logarithm)
    memory: Floats  # [what the learner lost, AdaHedge's gap]
    clock: Ints  # [rounds since the last restart]


class Block(NamedTuple):
    """Rounds to play."""

    advice: Floats
    asleep: npt.NDArray[np.bool_]
    outcomes: Floats


def _rate_constant(rule, state):  # type: ignore[no-untyped-def]
    return rule.eta


def _rate_decreasing(rule, state):  # type: ignore[no-untyped-def]
    return math.sqrt(8.0 * rule.log_experts / (state.clock[0] + 1))


def _rate_adaptive(rule, state):  # type: ignore[no-untyped-def]
    gap = state.memory[1]
    return np.inf if gap == 0.0 else rule.log_experts / gap


rate = by_type({Constant: _rate_constant, Decreasing: _rate_decreasing, Adaptive: _rate_adaptive})
"""η of the coming round."""


@jit
def decay(eta, distance):  # type: ignore[no-untyped-def]
    """exp(−η·distance); at an infinite rate 1 for a leader and 0 for the rest."""
    if eta == np.inf:
        return 1.0 if distance == 0.0 else 0.0
    return math.exp(-eta * distance)


def _weigh_by_loss(rule, state, a, w):  # type: ignore[no-untyped-def]
    eta = rate(rule, state)
    low = np.inf
    for i in range(w.size):
        if not math.isnan(a[i]):
            low = min(low, state.since[i])
    for i in range(w.size):
        w[i] = 0.0 if math.isnan(a[i]) else decay(eta, state.since[i] - low)


def _weigh_by_share(rule, state, a, w):  # type: ignore[no-untyped-def]
    for i in range(w.size):
        w[i] = 0.0 if math.isnan(a[i]) else state.shares[i]


weigh = by_type(
    {Constant: _weigh_by_loss, Decreasing: _weigh_by_loss, Adaptive: _weigh_by_loss, Shared: _weigh_by_share}
)
"""The weights of the experts awake in a, up to their sum. OUT: w."""


def _learn_nothing(rule, state, suffered, lost):  # type: ignore[no-untyped-def]
    pass


def _learn_gap(rule, state, suffered, lost):  # type: ignore[no-untyped-def]
    """gap += lost − mix, where mix = −(1/η) ln Σ p_i exp(−η ℓ_i) is what the round would cost at best."""
    eta = rate(rule, state)
    low = new_low = np.inf
    for i in range(suffered.size):
        low = min(low, state.since[i])
        new_low = min(new_low, state.since[i] + suffered[i])
    mix = new_low - low
    if eta != np.inf:
        before = after = 0.0
        for i in range(suffered.size):
            before += math.exp(-eta * (state.since[i] - low))
            after += math.exp(-eta * (state.since[i] + suffered[i] - new_low))
        mix -= math.log(after / before) / eta
    state.memory[1] += max(0.0, lost - mix)


def _learn_share(rule, state, suffered, lost):  # type: ignore[no-untyped-def]
    w, low, total = state.shares, suffered.min(), 0.0
    for i in range(w.size):
        w[i] *= math.exp(-rule.eta * (suffered[i] - low))
        total += w[i]
    for i in range(w.size):
        w[i] = (1.0 - rule.alpha) * (w[i] / total) + rule.alpha / w.size


learn = by_type({Constant: _learn_nothing, Decreasing: _learn_nothing, Adaptive: _learn_gap, Shared: _learn_share})
"""What a rule remembers of a round besides the cumulative losses."""


@jit
def mean(w, a):  # type: ignore[no-untyped-def]
    """The forecast Σ w_i a_i / Σ w_i of those awake."""
    total = said = 0.0
    for i in range(w.size):
        if not math.isnan(a[i]):
            total += w[i]
            said += w[i] * a[i]
    return said / total


@jit
def loss_of(w, a, y, suffered):  # type: ignore[no-untyped-def]
    """The learner's loss Σ w_i |a_i − y| / Σ w_i. OUT: suffered, each expert's.

    A sleeper suffers what the learner does. So regret against it counts its waking rounds alone, and every theorem
    stands as it is: the weighted mean of the losses is the same with the sleepers as without.
    """
    total = lost = 0.0
    for i in range(w.size):
        if not math.isnan(a[i]):
            suffered[i] = abs(a[i] - y)
            total += w[i]
            lost += w[i] * suffered[i]
    lost /= total
    for i in range(w.size):
        if math.isnan(a[i]):
            suffered[i] = lost
    return lost


@jit
def forecast(rule, state, a):  # type: ignore[no-untyped-def]
    """The weighted mean of what is said in a."""
    w = np.empty(a.size)
    weigh(rule, state, a, w)
    return mean(w, a)


@jit
def shares(rule, state):  # type: ignore[no-untyped-def]
    """The weights of the coming round if nobody sleeps; they sum to 1."""
    w = np.empty(state.since.size)
    weigh(rule, state, np.zeros(w.size), w)
    return w / w.sum()


@jit
def play(rule, state, block, log):  # type: ignore[no-untyped-def]
    """Plays the block's rounds. IN: rule, block. IN and OUT: state. OUT: log."""
    n = state.since.size
    w, suffered = np.empty(n), np.empty(n)
    k = 0
    for t in range(block.outcomes.size):
        a, y = block.advice[t], block.outcomes[t]
        weigh(rule, state, a, w)
        lost = loss_of(w, a, y, suffered)
        learn(rule, state, suffered, lost)
        best = np.inf
        for i in range(n):
            state.since[i] += suffered[i]
            state.losses[i] += suffered[i]
            best = min(best, state.losses[i])
        state.clock[0] += 1
        state.memory[0] += lost
        log.forecasts[t] = mean(w, a)
        log.losses[t] = state.memory[0]
        log.best[t] = best
        log.pivots[t] = best
        if k < log.due.size and log.due[k] == t + 1:
            log.weights[k] = shares(rule, state)
            k += 1


class Mixture:
    """A game of losses: its rule, its state, and what can be asked of them."""

    rule: Rule
    state: MixState

    def __init__(self, rule: Rule, experts: int) -> None:
        self.rule = rule
        self.state = MixState(
            since=np.zeros(experts),
            losses=np.zeros(experts),
            shares=np.full(experts, 1.0 / experts),
            memory=np.zeros(2),
            clock=np.zeros(1, np.int64),
        )

    def restart(self, rule: Rule) -> None:
        """Equal weights again; what was lost stays lost."""
        self.rule = rule
        self.state.since[:] = 0.0
        self.state.clock[:] = 0

    def play(self, advice: Advice, outcomes: npt.NDArray[np.generic], log: Log) -> None:
        """Plays the rounds; the log gets one entry for each."""
        play(self.rule, self.state, Block(_floats(advice), advice.asleep, outcomes.astype(np.float64)), log)

    def forecast(self, advice: Advice) -> float:
        """The weighted mean of one row of advice."""
        return float(forecast(self.rule, self.state, _floats(advice)[0]))

    @property
    def weights(self) -> Floats:
        """The coming round's weights; they sum to 1."""
        weights: Floats = shares(self.rule, self.state)
        return weights

    @property
    def expert_losses(self) -> Floats:
        """Each expert's loss, and for a sleeper what the learner lost meanwhile."""
        return self.state.losses


def _floats(advice: Advice) -> Floats:
    values = advice.values
    return as_forecasts(values) if values.dtype == np.uint8 else np.require(values, requirements=["C", "W"])
