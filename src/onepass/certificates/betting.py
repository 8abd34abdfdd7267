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
    average of the μ_i is μ. The left side is convex and rises with μ, so that Newton's steps from above never pass its
    root: they begin where the best bet alone, with a 64th of the money, would end.

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
    if rounds <= 0:
        return 1.0
    alone = -np.expm1((_summed(log_bets) + np.log(delta) - np.log(BETS.size)) / rounds) / BETS
    mu, step = min(1.0, float(alone.min())), np.inf
    while step > 1e-12 * mu:
        above, slope = _rise(mu, rounds, log_bets, delta)
        step = above / slope
        if step < 0.0 and mu == 1.0:
            return 1.0
        mu -= max(0.0, step)
    return min(1.0, mu * (1.0 + 1e-12))


def _rise(mu: float, rounds: int, log_bets: Floats, delta: float) -> tuple[float, float]:
    """(what `excess` is at μ, how fast it rises there)."""
    exponent = _summed(log_bets) - rounds * np.log1p(-BETS * mu)
    top = exponent.max()
    less = np.expm1(exponent - top)  # as a difference from 1: δ may be near it
    mean, wealth = less.mean(), 1.0 + less
    slope = rounds * (wealth @ (BETS / (1.0 - BETS * mu))) / wealth.sum()
    return float(top + np.log1p(mean) + np.log(delta)), float(slope)


def _summed(log_bets: Floats) -> Floats:
    """S a little lower than it was summed, for rounding."""
    return log_bets * (1.0 + 1e-9)


def excess(mu: Any, rounds: Any, log_bets: Floats, delta: Any) -> Floats:
    """By how much the log-wealth at μ exceeds ln(1/δ), for several μ or several choices; it rises with μ and is ≥ 0
    where the bound is at most μ.
    """
    exponent = _summed(log_bets) - np.asarray(rounds)[..., None] * np.log1p(-BETS * np.asarray(mu)[..., None])
    top = exponent.max(axis=-1)
    wealth = top + np.log(np.exp(exponent - top[..., None]).mean(axis=-1))
    return np.asarray(wealth + np.log(delta))
