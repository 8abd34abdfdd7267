"""How fast weight moves between experts: a number, or one of the rules below that find the number.

| rule         | needs            | what it does                                                              |
|--------------|------------------|---------------------------------------------------------------------------|
| a number     | a guess          | β (votes) or η (losses), the same in every round                          |
| `Horizon(T)` | T                | the one number that is best for T rounds                                  |
| `Doubling()` | nothing          | guesses 1, 2, 4, … rounds and forgets the weights at the end of each guess |
| `Anytime()`  | nothing          | η_t = √(8 ln N / t) on cumulative losses, nothing is forgotten            |
| `AdaHedge()` | nothing          | the rate follows the losses themselves: easy data, high rate              |
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Horizon:
    """The rate that is best when `rounds` rounds will be played.

    Parameters
    ----------
    rounds : int
        How many will be played.

    Examples
    --------
    >>> Horizon(1000)
    Horizon(rounds=1000)
    """

    rounds: int

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"rounds={self.rounds!r} must be at least 1; use Doubling() when it is unknown")


@dataclass(frozen=True)
class Doubling:
    """Epochs of 1, 2, 4, … rounds, each played afresh with the rate that is best for its length.

    Examples
    --------
    >>> from onepass.experts import WeightedMajority
    >>> WeightedMajority(beta=Doubling()).beta
    Doubling()
    """


@dataclass(frozen=True)
class Anytime:
    """η_t = √(8 ln N / t), applied to all losses so far: no horizon, and nothing is forgotten.

    Examples
    --------
    >>> from onepass.experts import Hedge
    >>> Hedge(rate=Anytime()).rate
    Anytime()
    """


@dataclass(frozen=True)
class AdaHedge:
    """η_t = ln N / Δ, where Δ is the gap that the rates so far have cost: no parameter at all.

    See S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen, *Follow the Leader If You Can, Hedge If You Must*,
    JMLR 15 (2014).

    Examples
    --------
    >>> from onepass.experts import Hedge
    >>> Hedge(rate=AdaHedge()).rate
    AdaHedge()
    """


def epoch(rounds: int) -> tuple[int, int]:
    """Length of the epoch that stands after `rounds` rounds, and how many of its rounds are still to come.

    >>> [epoch(t) for t in range(5)]
    [(1, 1), (2, 2), (2, 1), (4, 4), (4, 3)]
    """
    length = 1 << ((rounds + 1).bit_length() - 1)
    return length, 2 * length - 1 - rounds


def tuned_beta(experts: int, horizon: int) -> float:
    """β = 1 − min(½, √(ln N / T)). See wang-lecture10, §10.1.2, for T known. (One expert: any β will do.)

    >>> tuned_beta(experts=1, horizon=100), tuned_beta(experts=20, horizon=3)
    (0.5, 0.5)
    """
    return 1.0 - min(0.5, math.sqrt(math.log(experts) / horizon)) if experts > 1 else 0.5


def tuned_eta(experts: int, horizon: int) -> float:
    """η = √(8 ln N / T), the minimum of ln N / η + ηT/8. (One expert: any η will do.)"""
    return math.sqrt(8.0 * math.log(experts) / horizon) if experts > 1 else 1.0
