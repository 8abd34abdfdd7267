"""Risk in advance, before any row is read: dekel2008, Section 3.

Hinge loss, MarginPerceptron with ball projection and η = 1/(R√m), rows of length at most R, so losses in [0, C] with
C = 1 + R. Beside it stands a comparator: a fixed vector of norm at most 1, chosen before the data, whose risk is u (it
need not be known which one). Theorem 1 bounds the learner's average loss by the comparator's plus R/√m, Bernstein's
inequality the comparator's average loss by its risk, and Theorem 2 at k = 0 the average's risk by that loss.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onepass.certificates.betting import betting
from onepass.certificates.dekel2008 import dekel2008
from onepass.trace.tally import BETS

LEAST = 4  # rounds from which Theorem 2 speaks
MOST = 2**60  # rows beyond which no plan is made


class LearningPlan(NamedTuple):
    """What is known before the first row.

    Attributes
    ----------
    best_loss : float
        Hinge risk of the comparator; its average loss on the same rows, if `measured`.
    radius : float
        R: no row is longer.
    fit_intercept : bool, default True
        Whether a constant feature 1 comes on top: R' = √(R² + 1) takes the place of R.
    delta : float, default 0.05
        The forecast fails at most this often.
    measured : bool, default False
        Whether `best_loss` was measured on the rows themselves.

    Examples
    --------
    >>> LearningPlan(best_loss=0.1, radius=1.0, fit_intercept=False).loss_bound
    2.0
    """

    best_loss: float
    radius: float
    fit_intercept: bool = True
    delta: float = 0.05
    measured: bool = False

    @property
    def reach(self) -> float:
        """The length of the longest row, intercept included."""
        return math.hypot(self.radius, 1.0) if self.fit_intercept else self.radius

    @property
    def loss_bound(self) -> float:
        """C: no loss is larger."""
        return 1.0 + self.reach


def expected_risk(plan: LearningPlan, horizon: int) -> float:
    """u + R/√m: an upper bound for the *mean* hinge risk of the model `average`, over all draws of the rows.

    A single run may be worse; of what holds for single runs speaks `risk_forecast`. See dekel2008, Section 3.

    Parameters
    ----------
    plan : LearningPlan
        What is known before the first row.
    horizon : int
        m: how many rows there will be, from 4 to 2^60.

    Returns
    -------
    float
        The bound; at most the loss's own.

    Raises
    ------
    ValueError
        If the plan or the horizon cannot be so.

    Examples
    --------
    >>> round(expected_risk(LearningPlan(best_loss=0.1, radius=1.0, fit_intercept=False), 10_000), 4)
    0.11
    """
    _check(plan, horizon)
    return min(plan.loss_bound, plan.best_loss + plan.reach / math.sqrt(horizon))


def risk_forecast(plan: LearningPlan, horizon: int, bound: str = "betting") -> float:
    """What the hinge risk of the cutoff average will be at most, with probability 1 − δ.

        L₁ = u + √(2Cub/m) + Cb/(3m) + R/√m,   b = ln(2/δ);     L₁ = ū + R/√m where ū is measured

    The certificate of the run at δ/2 (at δ where ū is measured) will not be larger, with probability 1 − δ/2. See
    dekel2008, Section 3. Differs: betting is not in the paper; the comparator's tail is Bernstein's with its
    constants, which the paper leaves to the reader.

    Parameters
    ----------
    plan : LearningPlan
        What is known before the first row.
    horizon : int
        m: how many rows there will be, from 4 to 2^60.
    bound : str, default "betting"
        "dekel2008": L₁ + √(2CaL₁/m) + 7Ca/m, a = ln(2m²/δ), or ln(m²/δ) where measured. "betting": the certificate of
        k = 0 if the losses were as bad for it as their sum m·L₁ allows. Since ln(1 − cx) ≥ x·ln(1 − c) on [0, 1], that
        is S(c) = (m·L₁/C)·ln(1 − c), at the price ½ of k = 0.

    Returns
    -------
    float
        The bound; at most the loss's own.

    Raises
    ------
    ValueError
        If an argument cannot be so.

    Examples
    --------
    >>> plan = LearningPlan(best_loss=0.1, radius=1.0, fit_intercept=False)
    >>> [round(risk_forecast(plan, 10_000, bound), 3) for bound in ("dekel2008", "betting")]
    [0.186, 0.141]
    """
    _check(plan, horizon)
    if bound not in ("betting", "dekel2008"):
        raise ValueError(f"bound: 'betting' or 'dekel2008' expected, got {bound!r}")
    C, losses = plan.loss_bound, _losses(plan, horizon)
    share = 1.0 if plan.measured else 2.0  # δ is halved where the comparator's loss may stray, too
    if bound == "dekel2008":
        a = 2.0 * math.log(horizon) + math.log(share / plan.delta)
        return float(C * dekel2008(horizon, horizon * losses / C, a))
    return C * betting(horizon, (horizon * losses / C) * np.log1p(-BETS), plan.delta / (2.0 * share))


def rows_needed(plan: LearningPlan, target: float, bound: str = "betting") -> int | None:
    """The least number of rows whose forecast is at most the target; None if no number is enough.

    Parameters
    ----------
    plan : LearningPlan
        What is known before the first row.
    target : float
        What the hinge risk should be at most.
    bound : str, default "betting"
        As in `risk_forecast`, or "expected" for `expected_risk`. All of them fall as rows are added.

    Returns
    -------
    int or None
        Rows.

    Raises
    ------
    ValueError
        If an argument cannot be so.

    Examples
    --------
    >>> plan = LearningPlan(best_loss=0.1, radius=1.0, fit_intercept=False)
    >>> rows_needed(plan, 0.2)
    1964
    >>> rows_needed(plan, 0.1) is None
    True
    """
    if not 0.0 < target < math.inf:
        raise ValueError(f"target: a positive number expected, got {target!r}")

    def enough(horizon: int) -> bool:
        risk = expected_risk(plan, horizon) if bound == "expected" else risk_forecast(plan, horizon, bound)
        return risk <= target

    low, high = LEAST - 1, LEAST
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _losses(plan: LearningPlan, horizon: int) -> float:
    """L₁: what the learner's average loss is at most."""
    C, u, regret = plan.loss_bound, plan.best_loss, plan.reach / math.sqrt(horizon)
    if plan.measured:
        return min(C, u + regret)
    b = math.log(2.0 / plan.delta)
    return min(C, u + math.sqrt(2.0 * C * u * b / horizon) + C * b / (3.0 * horizon) + regret)


def _check(plan: LearningPlan, horizon: int) -> None:
    if isinstance(horizon, bool) or not isinstance(horizon, (int, np.integer)) or not LEAST <= horizon <= MOST:
        raise ValueError(f"horizon: a whole number from {LEAST} to 2^60 expected, got {horizon!r}")
    if not 0.0 < plan.radius < math.inf:
        raise ValueError(f"radius: a positive number expected, got {plan.radius!r}")
    if not 0.0 <= plan.best_loss < math.inf:
        raise ValueError(f"best_loss: a number of at least 0 expected, got {plan.best_loss!r}")
    if not 0.0 < plan.delta < 1.0:
        raise ValueError(f"delta: a number between 0 and 1 expected, got {plan.delta!r}")
