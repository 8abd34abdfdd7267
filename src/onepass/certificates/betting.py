"""Betting: a bound that holds at all times at once, from the losses themselves."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.rows import Floats
from onepass.trace.tally import BETS


def betting(rounds: int, log_bets: Floats, delta: float) -> float:
    """sup{μ : ln Σ_j (1/64)·exp(S(c_j) − n·ln(1 − c_j·μ)) < ln(1/δ)} for losses in [0, 1]: at all times at once.

    For each fixed c in (0, 1) the product Π (1 − c·X_i)/(1 − c·μ_i) is a non-negative martingale, and ln(1 − c·μ) is
    concave in μ; so by Ville's inequality the mixture over the c_j reaches 1/δ with probability at most δ, if the
    average of the μ_i is μ. The left side rises with μ: bisection, of which the upper end is returned.

    Parameters
    ----------
    rounds : int
        n: the rounds counted.
    log_bets : array of float
        (64): S(c_j) = Σ ln(1 − c_j·X_i) over them.
    delta : float
        The bound fails, at any time, with at most this probability.

    Returns
    -------
    float
        The bound on the average risk; 1 where nothing better is known.

    Examples
    --------
    >>> round(betting(1000, np.zeros(64), 0.05), 4)  # no loss in 1000 rounds; ln(1/δ)/n alone would be 0.0030
    0.0065
    """
    if rounds <= 0 or excess(1.0, rounds, log_bets, delta) < 0.0:
        return 1.0
    low, high = 0.0, 1.0
    while high - low > 1e-12 * high:
        middles = low + (high - low) * _THIRTYSECONDS  # five bisections at once
        below = int(np.count_nonzero(excess(middles[1:-1], rounds, log_bets, delta) < 0.0))
        low, high = float(middles[below]), float(middles[below + 1])
    return high


_THIRTYSECONDS = np.arange(33) / 32.0


def excess(mu: Any, rounds: Any, log_bets: Floats, delta: Any) -> Floats:
    """By how much the log-wealth at μ exceeds ln(1/δ), for several μ or several choices; it rises with μ and is ≥ 0
    where the bound is at most μ. S is taken 1e-9 lower than it was summed, for rounding.
    """
    exponent = log_bets * (1.0 + 1e-9) - np.asarray(rounds)[..., None] * np.log1p(-BETS * np.asarray(mu)[..., None])
    top = exponent.max(axis=-1)
    wealth = top + np.log(np.exp(exponent - top[..., None]).mean(axis=-1))
    return np.asarray(wealth + np.log(delta))
