"""Randomized weighted majority: the vote decides a probability."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass.experts import bounds, mixture, votes
from onepass.experts.advice import Advice
from onepass.experts.rates import Anytime, Doubling, Horizon
from onepass.experts.weighted_majority import VoteForecaster, beta_now, check_beta
from onepass.rows import Floats, Ints


class RandomizedWeightedMajority(VoteForecaster):
    """Predicts 1 with probability Σ_{i says 1} w_i / Σ w_i; whoever is wrong weighs β times less, every round.

    Its expected mistakes Σ p_t are at most (m∗ ln(1/β) + ln N)/(1−β), where the best expert makes m∗. See
    wang-lecture10, Algorithm 2. `Horizon(T)`, `Doubling()` and `Anytime()` stay within c·√(T ln N) of m∗.

    `run.loss` is Σ p_t, of which the bound speaks; `run.mistakes` counts the predictions drawn. The draw of round t
    depends on `random_state` and t alone.

    Parameters
    ----------
    beta : float, Horizon, Doubling or Anytime, default 0.5
        A number in (0, 1), `Horizon(T)`, `Doubling()` or `Anytime()`.
    random_state : int, default 0
        Seed of the predictions drawn.

    Examples
    --------
    >>> run = RandomizedWeightedMajority(beta=0.5).run([[1, 0], [1, 0], [1, 1]], [1, 1, 0])
    >>> run.expected_mistakes == 1/2 + 1/3 + 1, run.best_loss, round(run.bound, 3)
    (True, 1.0, 2.773)
    """

    options = ("beta", "random_state")
    title = "Randomized weighted majority"

    def __init__(self, beta: float | Horizon | Doubling | Anytime = 0.5, random_state: int = 0) -> None:
        super().__init__()
        self.beta = check_beta(beta, (Horizon, Doubling, Anytime))
        self.random_state = random_state

    def predict(self, advice: npt.ArrayLike, *, awake: npt.ArrayLike | None = None) -> int:
        """A draw, 0 or 1, with the probability of one row of advice; nothing changes, so it is the same draw again."""
        return int(self._draws(1)[0] < self.probability(advice, awake=awake))

    def probability(self, advice: npt.ArrayLike, *, awake: npt.ArrayLike | None = None) -> float:
        """The probability of predicting 1.

        >>> RandomizedWeightedMajority().probability([0, 1, 1, 1])
        0.75
        """
        return super().predict(advice, awake=awake)

    @property
    def mistakes(self) -> int:
        """Mistakes of the predictions that were drawn."""
        return self._realised

    def _draws(self, rounds: int) -> Floats:
        generator = np.random.PCG64(self.random_state)
        generator.advance(self.rounds)  # one draw a round: nothing but the round's number has to be remembered
        return np.random.Generator(generator).random(rounds)

    def _realise(self, outcomes: npt.NDArray[Any], forecasts: Floats) -> int:
        return int(np.count_nonzero((self._draws(outcomes.size) < forecasts) != outcomes))

    def _rule(self, experts: int, rounds: int) -> Any:
        if isinstance(self.beta, Anytime):  # β^mistakes = exp(−η_t·mistakes)
            return mixture.DecreasingRate(math.log(experts))
        return votes.randomized(beta_now(self.beta, experts, rounds))

    def _forecast(self, game: Any, advice: Advice) -> float:
        if isinstance(game, mixture.Mixture):
            return game.forecast(advice)
        ones, zeros = game.sides(advice)
        return float(ones / (ones + zeros))

    def _bounds(self, rounds: Ints, best: Floats) -> Any:
        experts, beta = self._game.expert_losses.size, self.beta
        if isinstance(beta, Anytime):
            return bounds.anytime(best, experts, rounds)
        if isinstance(beta, Doubling):
            return bounds.randomized_doubling(best, experts, rounds)
        bound = bounds.randomized(best, experts, beta_now(beta, experts, 0))
        if isinstance(beta, Horizon):
            tuned = bounds.randomized_tuned(best, experts, beta.rounds)
            bound = np.where(rounds <= beta.rounds, np.minimum(bound, tuned), bound)
        return bound
