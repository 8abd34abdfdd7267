"""How far from the best possible clustering this one can be, at most.

Plain D² sampling gives E φ ≤ B·φ_OPT with B = 8(ln k + 2) (wang-lecture10). So φ_i/(B·φ_OPT) has mean at most 1, the
product over independent seedings is a non-negative supermartingale, and by Ville's inequality, for all n at once,

    P( φ_OPT ≥ (Π φ_i)^(1/n) · δ^(1/n) / B ) ≥ 1 − δ.

Every seeding that was made must be counted: leaving out the worse ones would void it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Quality(NamedTuple):
    """An inertia, a lower bound on the least possible one, and what their ratio means; `str` says it in words.

    Attributes
    ----------
    inertia : float
        Σ w·D² of the centres found.
    optimum_at_least : float
        What no centres are below, with probability 1 − delta; 0: nothing is proved.
    delta : float
        The bound fails with at most this probability, over the draws of the seedings.
    seedings : int
        How many it was made of.
    n_clusters : int
        k.

    Examples
    --------
    >>> Quality(inertia=3.0, optimum_at_least=1.5, delta=0.05, seedings=10, n_clusters=4).ratio
    2.0
    """

    inertia: float
    optimum_at_least: float
    delta: float
    seedings: int
    n_clusters: int

    @property
    def ratio(self) -> float:
        """The inertia is at most so many times the least possible one (1 if both are 0)."""
        if self.inertia == 0:
            return 1.0
        return self.inertia / self.optimum_at_least if self.optimum_at_least > 0 else math.inf

    def __str__(self) -> str:
        if self.inertia == 0:
            return "Inertia 0: every row lies on its centre, and nothing can be better."
        if self.optimum_at_least == 0:
            return f"Inertia {self.inertia:.6g}. Nothing is proved about the least possible inertia."
        drawn = "one random seeding" if self.seedings == 1 else f"{self.seedings} random seedings"
        return (
            f"Inertia {self.inertia:.6g}. With probability {1 - self.delta:.0%} over the draws of {drawn}, no "
            f"{self.n_clusters} centres for these rows have an inertia below {self.optimum_at_least:.4g}; so this "
            f"inertia is at most {self.ratio:.3g} times the least possible. That is a proved limit, not an estimate: "
            "the true factor may be far smaller, and it says nothing about rows not yet seen."
        )


def guarantee(k: int) -> float:
    """8(ln k + 2): by how much plain k-means++ can exceed the optimum in the mean.

    >>> guarantee(1)
    16.0
    """
    return 8 * (math.log(k) + 2)


def quality(inertia: float, potentials: Sequence[float], n_clusters: int, delta: float = 0.05) -> Quality:
    """What seedings with these potentials (all of them, by plain k-means++, before any swaps) prove about an inertia.

    Parameters
    ----------
    inertia : float
        Of the result.
    potentials : sequence of float
        Of all its seedings, by plain k-means++, before any swaps.
    n_clusters : int
        K.
    delta : float, default 0.05
        The statement fails with at most this probability.

    Returns
    -------
    Quality
        The statement; `str()` says it in words.

    Examples
    --------
    >>> found = quality(100.0, [120.0, 130.0, 110.0], n_clusters=2)
    >>> round(found.optimum_at_least, 3), round(found.ratio, 1)
    (2.047, 48.8)
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, not {delta}")
    if not potentials or inertia < 0 or min(potentials) < 0:
        raise ValueError("quality needs an inertia and at least one seeding's potential, none of them negative")
    bound = 0.0
    if min(potentials) > 0:
        mean_log = (math.fsum(map(math.log, potentials)) + math.log(delta)) / len(potentials)
        bound = math.exp(mean_log) / guarantee(n_clusters) * (1 - 1e-9)  # rounding must not flatter
    return Quality(inertia, min(bound, inertia), delta, len(potentials), n_clusters)
