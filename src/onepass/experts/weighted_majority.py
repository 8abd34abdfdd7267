"""Weighted majority: the deterministic vote."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from onepass.experts import bounds, votes
from onepass.experts.advice import Advice, check_outcomes, check_votes
from onepass.experts.forecaster import Forecaster
from onepass.experts.rates import Doubling, Horizon, epoch, tuned_beta
from onepass.rows import Floats, Ints


class VoteForecaster(Forecaster):
    """What both majorities have in common: advice and outcomes are 0 or 1."""

    def _advice(self, advice: npt.ArrayLike, awake: npt.ArrayLike | None) -> Advice:
        return check_votes(advice, awake)

    def _outcomes(self, outcomes: npt.ArrayLike | None, rounds: int) -> npt.NDArray[Any]:
        return check_outcomes([] if outcomes is None else outcomes, rounds, binary=True)


class WeightedMajority(VoteForecaster):
    """Predicts what the heavier half of the experts says; after a mistake, those who were wrong weigh β times less.

    It predicts 1 if the experts that say 1 have at least half of all weight. In rounds in which the vote is right no
    weight changes, whoever was wrong. It makes at most (m∗ ln(1/β) + ln N) / ln(2/(1+β)) mistakes when the best expert
    makes m∗. See wang-lecture10, Algorithm 1.

    Asleep: advice that is NaN, or `awake` False. While expert i is awake the vote makes at most bound(m_i) mistakes.

    Parameters
    ----------
    beta : float, Horizon or Doubling, default 0.5
        A number in (0, 1), `Horizon(T)` or `Doubling()`: what is left of the weight of who was wrong.

    Examples
    --------
    >>> run = WeightedMajority(beta=0.5).run([[1, 0, 0], [1, 0, 1], [0, 0, 1]], [1, 1, 0])
    >>> run.mistakes, run.best, run.regret, round(run.bound, 2)
    (1, 0, 1.0, 3.82)
    >>> run.weights[-1]
    array([0.5 , 0.25, 0.25])
    """

    options = ("beta",)
    title = "Weighted majority"

    def __init__(self, beta: float | Horizon | Doubling = 0.5) -> None:
        super().__init__()
        self.beta = check_beta(beta, (Horizon, Doubling))

    def predict(self, advice: npt.ArrayLike, *, awake: npt.ArrayLike | None = None) -> int:
        """What the vote says of one row of advice, 0 or 1; nothing changes.

        >>> WeightedMajority().predict([0, 1, 1])
        1
        """
        return int(super().predict(advice, awake=awake))

    @property
    def mistakes(self) -> int:
        """Mistakes made so far."""
        return 0 if self._game is None else int(self._game.state.loss[0])

    @property
    def log_weights(self) -> Floats:
        """ln w_i, exact at any distance from the leader."""
        self._started("log_weights")
        logs: Floats = self._game.log_weights
        return logs

    def _rule(self, experts: int, rounds: int) -> votes.Deterministic:
        price = 0.5 if isinstance(self.beta, Doubling) else None  # the slope of weighted_majority_doubling is 2
        return votes.deterministic(beta_now(self.beta, experts, rounds), price)

    def _forecast(self, game: votes.Votes, advice: Advice) -> float:
        ones, zeros = game.sides(advice)
        return float(ones >= zeros)

    def _bounds(self, rounds: Ints, best: Floats) -> Any:
        experts = self._game.expert_losses.size
        if isinstance(self.beta, Doubling):
            return bounds.weighted_majority_doubling(best, experts, rounds)
        return bounds.weighted_majority(best, experts, beta_now(self.beta, experts, 0))


def check_beta(beta: Any, rules: tuple[type, ...]) -> Any:
    """β itself, if it is a number in (0, 1) or one of the rules."""
    if isinstance(beta, rules):
        return beta
    names = ", ".join(f"{rule.__name__}({'T' if rule is Horizon else ''})" for rule in rules)
    if isinstance(beta, (int, float)) and not isinstance(beta, bool) and 0.0 < beta < 1.0:
        return float(beta)
    raise ValueError(f"beta={beta!r} must be a number in (0, 1) or one of {names}")


def beta_now(beta: float | Horizon | Doubling, experts: int, rounds: int) -> float:
    """β in the round that follows `rounds` others."""
    if isinstance(beta, Horizon):
        return tuned_beta(experts, beta.rounds)
    if isinstance(beta, Doubling):
        return tuned_beta(experts, epoch(rounds)[0])
    return beta
