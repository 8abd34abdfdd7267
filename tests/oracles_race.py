"""A race of two, by its definition: whose models misjudged which rows, and what a bet on that came to."""

import math

import numpy as np

BETS = [2.0**-k for k in range(1, 7)]


def wealth(own, other):
    """The mean over λ of (1 + λ)^own (1 − λ)^other."""
    return sum((1 + bet) ** own * (1 - bet) ** other for bet in BETS) / len(BETS)


def price(stretch, first, entries):
    """The wealth at which an entry is dropped in the stretch of rounds that begins at a power of two."""
    j = round(math.log2(stretch / first))
    return (entries - 1) * (j + 1) * (j + 2) / 0.01


def alone(first, second):
    """Rows that only the first misjudged, and that only the second did."""
    return (
        sum(a and not b for a, b in zip(first, second, strict=True)),
        sum(b and not a for a, b in zip(first, second, strict=True)),
    )


def log_bets(mistakes, rows, risk):
    """ln of the mean wealth of 64 bets c on "the risk is below this": mistakes·ln(1 − c) − rows·ln(1 − c·risk)."""
    c = np.geomspace(1e-4, 0.999, 64)
    grown = mistakes[:, None] * np.log1p(-c) - rows[:, None] * np.log1p(-c * risk)
    most = grown.max(axis=1)
    return most + np.log(np.exp(grown - most[:, None]).mean(axis=1))
