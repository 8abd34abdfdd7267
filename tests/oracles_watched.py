"""Certificates of watched models, transcribed: whole sequences of losses, NumPy and nothing of ours.

A wager is (weight, c) for a direct bet and (weight, c, α, γ) for a pair bet. `mine` are the candidate's losses after it
was frozen, `elders` its elder's before that, `both` the pairs (elder's loss, candidate's loss) since.
"""

import itertools
import math

import numpy as np


def direct_wealth(rho, mine, wagers):
    """ln Σ w·Π (1 − c·X)/(1 − c·ρ)."""
    return log_sum([math.log(w) + math.fsum(math.log((1 - c * x) / (1 - c * rho)) for x in mine) for w, c in wagers])


def pair_wealth(r, rho, elders, both, wagers):
    """ln Σ w·Π (1 − c·X_i)/(1 − c·r)·Π (1 + α·X_i − γ·X_J)/(1 + α·r − γ·ρ), for one r or many."""
    r = np.asarray(r, dtype=float)
    logs = []
    for w, c, alpha, gamma in wagers:
        numerators = math.fsum(math.log(1 - c * x) for x in elders)
        numerators += math.fsum(math.log(1 + alpha * x - gamma * y) for x, y in both)
        denominators = len(elders) * np.log(1 - c * r) + len(both) * np.log(1 + alpha * r - gamma * rho)
        logs.append(math.log(w) + numerators - denominators)
    return log_sum(logs)


def log_sum(logs):
    logs = np.array(logs)
    top = logs.max(axis=0)
    return top + np.log(np.exp(logs - top).sum(axis=0))


def least(function):
    """The minimum on [0, 1] of a convex function: on 401 points, then on 401 between the best one's neighbours, …"""
    low, high = 0.0, 1.0
    while high - low > 1e-12:
        points = np.linspace(low, high, 401)
        values = function(points)
        at = int(np.argmin(values))
        if high - low < 1e-9 or values.max() - values.min() < 1e-13:
            break
        low, high = points[max(at - 1, 0)], points[min(at + 1, 400)]
    return float(values[at])


def risk(mine, elders, both, direct, pairs, level):
    """The ρ from which on the mixture exceeds 1/level whatever r is; 1 where there is none, or all are excluded."""

    def excess(rho):
        total = direct_wealth(rho, mine, direct)
        if pairs:
            total = log_sum([total, least(lambda r: pair_wealth(r, rho, elders, both, pairs))])
        return total - math.log(1 / level)

    if excess(1.0) < 0:
        return 1.0
    low, high = 0.0, 1.0
    if excess(low) >= 0:
        return 1.0
    for _ in range(44):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return high


def draws(probabilities, rows):
    """(probability, counts) of everything that so many independent draws can give."""
    for counts in itertools.product(range(rows + 1), repeat=len(probabilities)):
        if sum(counts) == rows:
            ways = math.factorial(rows) / math.prod(math.factorial(n) for n in counts)
            yield ways * math.prod(p**n for p, n in zip(probabilities, counts, strict=True)), counts


def prices(grid, expected):
    """Prices of the candidates frozen at the rounds of `grid`, which are all that there are."""
    price = {s: (1.0 if expected is None else 0.25) / len(grid) for s in grid}
    if expected is not None:
        early = [s for s in grid if s <= 0.8 * expected]
        near = [s for s in grid if expected / 4 < s <= expected]
        for s in early[-1:]:
            price[s] += 0.5
        for s in near:
            price[s] += 0.25 / len(near)
    return price
