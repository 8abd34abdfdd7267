"""Hedge: exponential weights for losses in [0, 1], and fixed share for a best expert that changes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass.experts import bounds, mixture
from onepass.experts.advice import Advice, check_forecasts, check_outcomes
from onepass.experts.forecaster import Forecaster
from onepass.experts.rates import AdaHedge, Anytime, Doubling, Horizon, epoch, tuned_eta
from onepass.rows import Floats, Ints


class _MixtureForecaster(Forecaster):
    """What Hedge and FixedShare have in common: advice and outcomes in [0, 1], the weighted mean as the forecast."""

    @property
    def mistakes(self) -> None:
        """Not counted: outcomes are numbers."""
        return

    def _advice(self, advice: npt.ArrayLike, awake: npt.ArrayLike | None) -> Advice:
        return check_forecasts(advice, awake)

    def _outcomes(self, outcomes: npt.ArrayLike | None, rounds: int) -> npt.NDArray[Any]:
        return np.zeros(rounds) if outcomes is None else check_outcomes(outcomes, rounds, binary=False)

    def _forecast(self, game: mixture.Mixture, advice: Advice) -> float:
        return game.forecast(advice)


class Hedge(_MixtureForecaster):
    """Spreads its stake over the experts with p_i ∝ exp(−η·loss_i), and loses Σ p_i·ℓ_i in a round.

    An expert's loss is the distance of advice and outcome, both in [0, 1]. For losses of your own leave the outcomes
    out: a loss is what advice about the outcome 0 costs. With N experts, after T rounds, its loss is at most that of
    the best expert and::

        η               ln N/η + ηT/8
        Horizon(T)      √(T ln N/2)
        Anytime()       2√(T ln N/2) + √(ln N/8)
        Doubling()      2.42√(T ln N)
        AdaHedge()      √(T ln N) + (4/3) ln N + 2

    Parameters
    ----------
    rate : float, Horizon, Doubling, Anytime, AdaHedge or None, default None
        η > 0, `Horizon(T)`, `Doubling()`, `Anytime()` or `AdaHedge()`. None: `AdaHedge()`, which has no parameter.

    Examples
    --------
    >>> run = Hedge().run([[0.0, 1.0], [0.25, 0.5], [0.0, 1.0]])
    >>> run.best, run.best_loss, round(run.loss, 3)
    (0, 0.25, 0.953)
    >>> Hedge(rate=1.0).predict([0.25, 0.75])
    0.5
    """

    options = ("rate",)
    title = "Hedge"

    def __init__(self, rate: float | Horizon | Doubling | Anytime | AdaHedge | None = None) -> None:
        super().__init__()
        self.rate = AdaHedge() if rate is None else rate
        if not isinstance(self.rate, (Horizon, Doubling, Anytime, AdaHedge)):
            check_eta(self.rate, " or one of Horizon(T), Doubling(), Anytime(), AdaHedge()")

    def _rule(self, experts: int, rounds: int) -> mixture.Rule:
        match self.rate:
            case AdaHedge():
                return mixture.AdaptiveRate(math.log(experts))
            case Anytime():
                return mixture.DecreasingRate(math.log(experts))
            case Doubling():
                return mixture.ConstantRate(tuned_eta(experts, epoch(rounds)[0]))
            case Horizon(horizon):
                return mixture.ConstantRate(tuned_eta(experts, horizon))
            case eta:
                return mixture.ConstantRate(float(eta))

    def _bounds(self, rounds: Ints, best: Floats) -> Any:
        experts = self._game.expert_losses.size
        match self.rate:
            case AdaHedge():
                return bounds.adahedge(best, experts, rounds)
            case Anytime():
                return bounds.anytime(best, experts, rounds)
            case Doubling():
                return bounds.doubling(best, experts, rounds)
            case _:
                return bounds.hedge(best, experts, rounds, self._game.rule.eta)


class FixedShare(_MixtureForecaster):
    """Hedge for a best expert that changes: after each round everyone gets α/N of the stake.

    It is within `bounds.fixed_share` of the best *sequence* of experts that changes `switches` times in `horizon`
    rounds. α and η are tuned to these two; `share` and `rate` set them by hand.

    `run.bound` speaks, as everywhere, of the best single expert; `tracking_bound` of the best sequence.

    Parameters
    ----------
    switches : int
        How often the best expert may change.
    horizon : int
        Rounds that will be played.
    rate : float or None, default None
        η by hand. None: tuned to the two.
    share : float or None, default None
        α by hand. None: tuned to the two.

    Examples
    --------
    >>> import numpy as np
    >>> losses = np.repeat([[0.0, 1.0], [1.0, 0.0]], 50, axis=0)           # the first expert, then the second
    >>> run = FixedShare(switches=1, horizon=100).run(losses)
    >>> run.best_loss, run.loss < 10
    (50.0, True)
    """

    options = ("switches", "horizon", "rate", "share")
    title = "Fixed share"

    def __init__(self, switches: int, horizon: int, *, rate: float | None = None, share: float | None = None) -> None:
        super().__init__()
        if switches < 1 or horizon < 2 or switches > (horizon - 1) / 2:
            raise ValueError(
                f"switches={switches!r}, horizon={horizon!r}: 1 ≤ switches ≤ (horizon − 1)/2 is needed; without"
                " switches use Hedge(Horizon(horizon))"
            )
        if rate is not None:
            check_eta(rate, "; None tunes it")
        if share is not None and not 0.0 < share <= 0.5:
            raise ValueError(f"share={share!r} must be in (0, ½]; None tunes it")
        self.switches, self.horizon, self.rate, self.share = switches, horizon, rate, share

    def tracking_bound(self, best: Any, experts: int, rounds: Any, switches: int) -> Any:
        """What the loss cannot exceed when the best sequence with so many switches lost `best`."""
        rule = self._rule(experts, 0)
        return bounds.fixed_share(best, experts, rounds, rule.eta, rule.alpha, switches)

    def _rule(self, experts: int, rounds: int) -> mixture.FixedShareRule:
        """α = s/(T−1), the rate of switching; η balances the price of the sequence against ηT/8."""
        share = self.switches / (self.horizon - 1) if self.share is None else self.share
        if self.rate is not None:
            return mixture.FixedShareRule(self.rate, share)
        price = bounds.tracking_price(experts, self.horizon, share, self.switches)
        return mixture.FixedShareRule(math.sqrt(8.0 * price / self.horizon), share)

    def _bounds(self, rounds: Ints, best: Floats) -> Any:
        return self.tracking_bound(best, self._game.expert_losses.size, rounds, switches=0)


def check_eta(rate: Any, otherwise: str) -> None:
    """An error unless the rate is a positive, finite number."""
    if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0.0 < rate < math.inf:
        raise ValueError(f"rate={rate!r} must be a positive number{otherwise}")
