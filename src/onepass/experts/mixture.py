"""Losses in [0, 1]: the loop that Hedge, AdaHedge and fixed share have in common.

An expert's loss is |advice − outcome|. The state is each expert's cumulative loss, so that weights exp(−η·loss) live
in the log domain: each round forms them anew, at its own rate, relative to the best expert that is awake.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import allocating, by_type, jit
from onepass.experts.advice import Advice, Rounds, as_forecasts
from onepass.experts.reductions import decay, fold, least
from onepass.experts.run import RoundLog
from onepass.rows import Floats, Ints


class ConstantRate(NamedTuple):
    """w_i ∝ exp(−η·loss_i)."""

    eta: float


class DecreasingRate(NamedTuple):
    """w_i ∝ exp(−η_t·loss_i), η_t = √(8 ln N / t)."""

    log_experts: float


class AdaptiveRate(NamedTuple):
    """w_i ∝ exp(−η·loss_i), η = ln N / gap; all weight on the leaders while the gap is 0."""

    log_experts: float


class FixedShareRule(NamedTuple):
    """w_i ← (1−α)·w_i·exp(−η·ℓ_i)/Σ + α/N: every expert keeps enough weight to come back quickly."""

    eta: float
    alpha: float


Rule = ConstantRate | DecreasingRate | AdaptiveRate | FixedShareRule


class MixtureState(NamedTuple):
    """All that the next round needs to know."""

    since: Floats  # each expert's loss since the last restart
    losses: Floats  # each expert's loss
    shares: Floats  # fixed share's weights (at least α/N each, so they need no logarithm)
    loss: Floats  # [what the learner lost]
    gap: Floats  # [what AdaHedge's rates have cost]
    clock: Ints  # [rounds since the last restart]


def _rate_constant(rule, state):  # type: ignore[no-untyped-def]
    return rule.eta


def _rate_decreasing(rule, state):  # type: ignore[no-untyped-def]
    return math.sqrt(8.0 * rule.log_experts / (state.clock[0] + 1))


def _rate_adaptive(rule, state):  # type: ignore[no-untyped-def]
    eta = np.inf
    if state.gap[0] > 0.0 and rule.log_experts > 0.0:  # one expert: a gap of roundings, and any rate will do
        eta = rule.log_experts / state.gap[0]
    return eta


rate = by_type({ConstantRate: _rate_constant, DecreasingRate: _rate_decreasing, AdaptiveRate: _rate_adaptive})
"""η of the coming round."""


class Workspace(NamedTuple):
    """Room for a round's arithmetic."""

    weights: Floats  # of the experts awake, up to their sum; 0 for sleepers
    suffered: Floats  # each expert's loss
    scratch: Floats


@allocating
def workspace(n):  # type: ignore[no-untyped-def]
    """Room for n experts."""
    return Workspace(np.empty(n), np.empty(n), np.empty(n + 4))


@jit
def total(x, work):  # type: ignore[no-untyped-def]
    """Σ x. OUT: work.scratch."""
    scratch = work.scratch
    for i in range(x.size):
        scratch[i] = x[i]
    return fold(scratch, x.size)


@jit
def product(x, work):  # type: ignore[no-untyped-def]
    """Σ w_i x_i, where a weight of 0 silences even NaN. OUT: work.scratch."""
    w, scratch = work.weights, work.scratch
    for i in range(x.size):
        scratch[i] = w[i] * x[i] if w[i] > 0.0 else 0.0
    return fold(scratch, x.size)


def _weigh_by_loss(rule, state, a, asleep, work):  # type: ignore[no-untyped-def]
    behind = state.since
    if asleep:  # sleepers are infinitely far behind, and the others stand relative to the best of those awake
        behind = work.suffered
        for i in range(a.size):
            behind[i] = np.inf if math.isnan(a[i]) else state.since[i]
    low = least(behind, work.scratch)
    decay(rate(rule, state), behind, low, work.weights)
    return low


def _weigh_by_share(rule, state, a, asleep, work):  # type: ignore[no-untyped-def]
    for i in range(a.size):
        work.weights[i] = 0.0 if math.isnan(a[i]) else state.shares[i]
    return 0.0


weigh = by_type(
    {
        ConstantRate: _weigh_by_loss,
        DecreasingRate: _weigh_by_loss,
        AdaptiveRate: _weigh_by_loss,
        FixedShareRule: _weigh_by_share,
    }
)
"""The weights of the experts awake in a, up to their sum; returns the loss that has weight 1. OUT: work."""


def _learn_losses(rule, state, lost, low, whole, asleep, work):  # type: ignore[no-untyped-def]
    for i in range(work.suffered.size):
        state.since[i] += work.suffered[i]


def _learn_gap(rule, state, lost, low, whole, asleep, work):  # type: ignore[no-untyped-def]
    """gap += lost − mix, where mix = −(1/η) ln Σ p_i exp(−η ℓ_i) is what the round would cost at best.

    mix is how much the potential −(1/η) ln Σ exp(−η·loss_i), sleepers included, grows in the round.
    """
    eta, since, w = rate(rule, state), state.since, work.weights
    if asleep:  # so far only those awake were weighed
        low = least(since, work.scratch)
        decay(eta, since, low, w)
        whole = total(w, work)
    for i in range(w.size):
        since[i] += work.suffered[i]
    new_low = least(since, work.scratch)
    decay(eta, since, new_low, w)
    mix = new_low - low
    if eta != np.inf:
        mix -= math.log(total(w, work) / whole) / eta
    state.gap[0] += max(0.0, lost - mix)


def _learn_share(rule, state, lost, low, whole, asleep, work):  # type: ignore[no-untyped-def]
    w = state.shares
    decay(rule.eta, work.suffered, least(work.suffered, work.scratch), work.weights)
    for i in range(w.size):
        w[i] *= work.weights[i]
    whole = total(w, work)
    for i in range(w.size):
        w[i] = (1.0 - rule.alpha) * (w[i] / whole) + rule.alpha / w.size


learn = by_type(
    {ConstantRate: _learn_losses, DecreasingRate: _learn_losses, AdaptiveRate: _learn_gap, FixedShareRule: _learn_share}
)
"""What a rule keeps of a round: work.suffered, and what the learner lost. OUT: state, work."""


@jit
def forecast(rule, state, a, asleep, work):  # type: ignore[no-untyped-def]
    """The forecast Σ w_i a_i / Σ w_i; and what the weights are relative to, and their sum. OUT: work."""
    low = weigh(rule, state, a, asleep, work)
    whole = total(work.weights, work)
    return product(a, work) / whole, low, whole


@jit
def suffer(a, y, asleep, whole, work):  # type: ignore[no-untyped-def]
    """The learner's loss Σ w_i |a_i − y| / Σ w_i. OUT: work.suffered, each expert's.

    A sleeper suffers what the learner does. So regret against it counts its waking rounds alone, and every theorem
    stands as it is: the weighted mean of the losses is the same with the sleepers as without.
    """
    suffered = work.suffered
    for i in range(a.size):
        suffered[i] = abs(a[i] - y)
    lost = product(suffered, work) / whole
    if asleep:
        for i in range(a.size):
            suffered[i] = lost if math.isnan(a[i]) else suffered[i]
    return lost


@allocating
def shares(rule, state, work):  # type: ignore[no-untyped-def]
    """The weights of the coming round if nobody sleeps; they sum to 1. OUT: work."""
    weigh(rule, state, np.zeros(state.since.size), False, work)
    return work.weights / total(work.weights, work)


@allocating
def play(rule, state, block, log):  # type: ignore[no-untyped-def]
    """Plays the block's rounds. IN: rule, block. IN and OUT: state. OUT: log."""
    work = workspace(state.since.size)
    k = 0
    for t in range(block.outcomes.size):
        a, asleep = block.advice[t], block.asleep[t]
        log.forecasts[t], low, whole = forecast(rule, state, a, asleep, work)
        lost = suffer(a, block.outcomes[t], asleep, whole, work)
        learn(rule, state, lost, low, whole, asleep, work)
        for i in range(a.size):
            state.losses[i] += work.suffered[i]
        state.clock[0] += 1
        state.loss[0] += lost
        log.losses[t] = state.loss[0]
        log.best[t] = log.pivots[t] = least(state.losses, work.scratch)
        if k < log.due.size and log.due[k] == t + 1:
            log.weights[k] = shares(rule, state, work)
            k += 1


class Mixture:
    """A game of losses: its rule, its state, and what can be asked of them."""

    rule: Rule
    state: MixtureState

    def __init__(self, rule: Rule, experts: int) -> None:
        self.rule = rule
        self.state = MixtureState(
            since=np.zeros(experts),
            losses=np.zeros(experts),
            shares=np.full(experts, 1.0 / experts),
            loss=np.zeros(1),
            gap=np.zeros(1),
            clock=np.zeros(1, np.int64),
        )

    def restart(self, rule: Rule) -> None:
        """Equal weights again; what was lost stays lost."""
        self.rule = rule
        self.state.since[:] = 0.0
        self.state.clock[:] = 0

    def play(self, advice: Advice, outcomes: npt.NDArray[np.generic], log: RoundLog) -> None:
        """Plays the rounds; the log gets one entry for each."""
        play(self.rule, self.state, Rounds(_floats(advice), advice.asleep, outcomes.astype(np.float64)), log)

    def forecast(self, advice: Advice) -> float:
        """The weighted mean of one row of advice."""
        work = workspace(self.state.since.size)
        return float(forecast(self.rule, self.state, _floats(advice)[0], advice.asleep[0], work)[0])

    @property
    def weights(self) -> Floats:
        """The coming round's weights; they sum to 1."""
        weights: Floats = shares(self.rule, self.state, workspace(self.state.since.size))
        return weights

    @property
    def expert_losses(self) -> Floats:
        """Each expert's loss, and for a sleeper what the learner lost meanwhile."""
        return self.state.losses


def _floats(advice: Advice) -> Floats:
    values = advice.values
    return as_forecasts(values) if values.dtype == np.uint8 else np.require(values, requirements=["C", "W"])
