"""dekel2008, Theorem 2: a Bernstein bound for one rule or a family of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def dekel2008(rounds: Any, losses: Any, a: float) -> Any:
    """min(1, L̄ + √(2a·L̄/n) + 7a/n) for losses in [0, 1]. See dekel2008, Theorem 2.

    Differs: the print takes the last term into the root; the proof has it outside.

    Parameters
    ----------
    rounds : int or array_like
        n: the rounds counted, of one rule or of several.
    losses : float or array_like
        Their sum of losses.
    a : float
        From `dekel2008_a`.

    Returns
    -------
    array of float
        The bound of each rule; 1 where no round counts.

    Examples
    --------
    >>> round(float(dekel2008(10_000, 100.0, a=20.0)), 4)
    0.0303
    """
    n = np.maximum(np.asarray(rounds, dtype=np.float64), 1.0)
    mean = np.asarray(losses) / n
    bound = mean + np.sqrt(2.0 * a * mean / n) + 7.0 * a / n
    return np.where(np.asarray(rounds) > 0, np.minimum(1.0, bound * (1.0 + 1e-12)), 1.0)


def dekel2008_a(rounds: int, horizon: int | None, delta: float, family: bool) -> float:
    """ln(m/δ) for one fixed rule, ln(m²/δ) for a family; m is the declared horizon and serves every prefix.

    Horizon unknown: the least M = 2^(j+1) ≥ t takes the place of m, at the price δ/(j(j+1)).

    Parameters
    ----------
    rounds : int
        t: rounds so far.
    horizon : int or None
        m, if it was declared before the first row.
    delta : float
        The bound fails with at most this probability.
    family : bool
        Whether the rule is chosen among several.

    Returns
    -------
    float
        The `a` of `dekel2008`.

    Examples
    --------
    >>> dekel2008_a(900, 1000, 0.05, family=False) == math.log(1000 / 0.05)
    True
    """
    if horizon is not None:
        m, price = max(horizon, 4), 1.0
    else:
        j = max(1, (rounds - 1).bit_length() - 1)
        m, price = 2 ** (j + 1), j * (j + 1.0)
    return (2.0 if family else 1.0) * math.log(m) + math.log(price / delta)
