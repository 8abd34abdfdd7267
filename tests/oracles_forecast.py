"""dekel2008, Section 3, in NumPy: the three bounds in advance, each written out."""

import numpy as np

BETS = np.geomspace(1e-4, 0.999, 64)


def learner_loss(u, R, m, delta):
    """L₁: Theorem 1's regret on top of Bernstein's bound for the average of m losses in [0, 1 + R] with mean u."""
    C, b = 1 + R, np.log(2 / delta)
    return min(C, u + np.sqrt(2 * C * u * b / m) + C * b / (3 * m) + R / np.sqrt(m))


def by_theorem_2(L1, R, m, a):
    C = 1 + R
    return min(C, L1 + np.sqrt(2 * C * a * L1 / m) + 7 * C * a / m)


def by_betting(L1, R, m, delta):
    """The largest μ on a fine grid at which 64 gamblers, on m losses of 0 or C with mean L₁, own less than 1/δ."""
    C = 1 + R
    mu = np.linspace(0, 1, 200_001)[1:-1, None]
    exponent = m * (L1 / C) * np.log(1 - BETS) - m * np.log(1 - BETS * mu)
    top = exponent.max(axis=1)
    wealth = top + np.log(np.exp(exponent - top[:, None]).mean(axis=1))
    poor = wealth < np.log(1 / delta)
    return C * (mu[poor, 0].max() if poor.any() else 0.0)
