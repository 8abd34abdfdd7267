"""Forecasters and games that the tests of the experts room share."""

import numpy as np
import pytest

from onepass.experts import (
    AdaHedge,
    Anytime,
    Doubling,
    FixedShare,
    Hedge,
    Horizon,
    RandomizedWeightedMajority,
    WeightedMajority,
)

NAN = float("nan")
FORECASTERS = [
    lambda: WeightedMajority(0.5),
    lambda: WeightedMajority(Horizon(300)),
    lambda: WeightedMajority(Doubling()),
    lambda: RandomizedWeightedMajority(0.5),
    lambda: RandomizedWeightedMajority(0.1),
    lambda: RandomizedWeightedMajority(Horizon(300)),
    lambda: RandomizedWeightedMajority(Doubling()),
    lambda: RandomizedWeightedMajority(Anytime()),
    lambda: Hedge(0.5),
    lambda: Hedge(Horizon(300)),
    lambda: Hedge(Doubling()),
    lambda: Hedge(Anytime()),
    lambda: Hedge(AdaHedge()),
    lambda: FixedShare(switches=3, horizon=300),
]
each_forecaster = pytest.mark.parametrize("make", FORECASTERS, ids=lambda make: repr(make()))


def votes(rounds: int, experts: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Experts that are right with different probabilities."""
    rng = np.random.default_rng(seed)
    outcomes = rng.integers(0, 2, rounds, dtype=np.uint8)
    wrong = rng.random((rounds, experts)) < np.linspace(0.3, 0.6, experts)
    return (outcomes[:, None] ^ wrong).astype(np.uint8), outcomes


def with_sleepers(advice: np.ndarray, seed: int = 1) -> np.ndarray:
    """A third of the advice missing, but never all of a round's."""
    asleep = np.random.default_rng(seed).random(advice.shape) < 1 / 3
    asleep[:, 0] &= ~asleep.all(axis=1)
    return np.where(asleep, NAN, advice)
