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
from onepass.experts.folding import decay, fold, least
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
    eta = np.inf
    if state.memory[1] > 0.0 and rule.log_experts > 0.0:  # one expert: a gap of roundings, and any rate will do
        eta = rule.log_experts / state.memory[1]
    return eta


rate = by_type({Constant: _rate_constant, Decreasing: _rate_decreasing, Adaptive: _rate_adaptive})
"""η of the coming round."""


class Desk(NamedTuple):
    """Room for a round's arithmetic."""

    weights: Floats  # of the experts awake, up to their sum; 0 for sleepers
    suffered: Floats  # each expert's loss
    scratch: Floats


@jit
def new_desk(n):  # type: ignore[no-untyped-def]
    """Room for n experts."""
    return Desk(np.empty(n), np.empty(n), np.empty(n + 4))


@jit
def total(x, desk):  # type: ignore[no-untyped-def]
    """Σ x. OUT: desk.scratch."""
    desk.scratch[: x.size] = x
    return fold(desk.scratch, x.size)


@jit
def product(x, desk):  # type: ignore[no-untyped-def]
    """Σ w_i x_i, where a weight of 0 silences even NaN. OUT: desk.scratch."""
    w, scratch = desk.weights, desk.scratch
    for i in range(x.size):
        scratch[i] = w[i] * x[i] if w[i] > 0.0 else 0.0
    return fold(scratch, x.size)


def _weigh_by_loss(rule, state, a, asleep, desk):  # type: ignore[no-untyped-def]
    behind = state.since
    if asleep:  # sleepers are infinitely far behind, and the others stand relative to the best of those awake
        behind = desk.suffered
        for i in range(a.size):
            behind[i] = np.inf if math.isnan(a[i]) else state.since[i]
    low = least(behind, desk.scratch)
    decay(rate(rule, state), behind, low, desk.weights)
    return low


def _weigh_by_share(rule, state, a, asleep, desk):  # type: ignore[no-untyped-def]
    for i in range(a.size):
        desk.weights[i] = 0.0 if math.isnan(a[i]) else state.shares[i]
    return 0.0


weigh = by_type(
    {Constant: _weigh_by_loss, Decreasing: _weigh_by_loss, Adaptive: _weigh_by_loss, Shared: _weigh_by_share}
)
"""The weights of the experts awake in a, up to their sum; returns the loss that has weight 1. OUT: desk."""


def _learn_losses(rule, state, lost, low, whole, asleep, desk):  # type: ignore[no-untyped-def]
    for i in range(desk.suffered.size):
        state.since[i] += desk.suffered[i]


def _learn_gap(rule, state, lost, low, whole, asleep, desk):  # type: ignore[no-untyped-def]
    """gap += lost − mix, where mix = −(1/η) ln Σ p_i exp(−η ℓ_i) is what the round would cost at best.

    mix is how much the potential −(1/η) ln Σ exp(−η·loss_i), sleepers included, grows in the round.
    """
    eta, since, w = rate(rule, state), state.since, desk.weights
    if asleep:  # so far only those awake were weighed
        low = least(since, desk.scratch)
        decay(eta, since, low, w)
        whole = total(w, desk)
    for i in range(w.size):
        since[i] += desk.suffered[i]
    new_low = least(since, desk.scratch)
    decay(eta, since, new_low, w)
    mix = new_low - low
    if eta != np.inf:
        mix -= math.log(total(w, desk) / whole) / eta
    state.memory[1] += max(0.0, lost - mix)


def _learn_share(rule, state, lost, low, whole, asleep, desk):  # type: ignore[no-untyped-def]
    w = state.shares
    decay(rule.eta, desk.suffered, least(desk.suffered, desk.scratch), desk.weights)
    for i in range(w.size):
        w[i] *= desk.weights[i]
    whole = total(w, desk)
    for i in range(w.size):
        w[i] = (1.0 - rule.alpha) * (w[i] / whole) + rule.alpha / w.size


learn = by_type({Constant: _learn_losses, Decreasing: _learn_losses, Adaptive: _learn_gap, Shared: _learn_share})
"""What a rule keeps of a round: desk.suffered, and what the learner lost. OUT: state, desk."""


@jit
def forecast(rule, state, a, asleep, desk):  # type: ignore[no-untyped-def]
    """The forecast Σ w_i a_i / Σ w_i; and what the weights are relative to, and their sum. OUT: desk."""
    low = weigh(rule, state, a, asleep, desk)
    whole = total(desk.weights, desk)
    return product(a, desk) / whole, low, whole


@jit
def suffer(a, y, asleep, whole, desk):  # type: ignore[no-untyped-def]
    """The learner's loss Σ w_i |a_i − y| / Σ w_i. OUT: desk.suffered, each expert's.

    A sleeper suffers what the learner does. So regret against it counts its waking rounds alone, and every theorem
    stands as it is: the weighted mean of the losses is the same with the sleepers as without.
    """
    suffered = desk.suffered
    for i in range(a.size):
        suffered[i] = abs(a[i] - y)
    lost = product(suffered, desk) / whole
    if asleep:
        for i in range(a.size):
            suffered[i] = lost if math.isnan(a[i]) else suffered[i]
    return lost


@jit
def shares(rule, state, desk):  # type: ignore[no-untyped-def]
    """The weights of the coming round if nobody sleeps; they sum to 1. OUT: desk."""
    weigh(rule, state, np.zeros(state.since.size), False, desk)
    return desk.weights / total(desk.weights, desk)


@jit
def play(rule, state, block, log):  # type: ignore[no-untyped-def]
    """Plays the block's rounds. IN: rule, block. IN and OUT: state. OUT: log."""
    desk = new_desk(state.since.size)
    k = 0
    for t in range(block.outcomes.size):
        a, asleep = block.advice[t], block.asleep[t]
        log.forecasts[t], low, whole = forecast(rule, state, a, asleep, desk)
        lost = suffer(a, block.outcomes[t], asleep, whole, desk)
        learn(rule, state, lost, low, whole, asleep, desk)
        for i in range(a.size):
            state.losses[i] += desk.suffered[i]
        state.clock[0] += 1
        state.memory[0] += lost
        log.losses[t] = state.memory[0]
        log.best[t] = log.pivots[t] = least(state.losses, desk.scratch)
        if k < log.due.size and log.due[k] == t + 1:
            log.weights[k] = shares(rule, state, desk)
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
        desk = new_desk(self.state.since.size)
        return float(forecast(self.rule, self.state, _floats(advice)[0], advice.asleep[0], desk)[0])

    @property
    def weights(self) -> Floats:
        """The coming round's weights; they sum to 1."""
        weights: Floats = shares(self.rule, self.state, new_desk(self.state.since.size))
        return weights

    @property
    def expert_losses(self) -> Floats:
        """Each expert's loss, and for a sleeper what the learner lost meanwhile."""
        return self.state.losses


def _floats(advice: Advice) -> Floats:
    values = advice.values
    return as_forecasts(values) if values.dtype == np.uint8 else np.require(values, requirements=["C", "W"])
