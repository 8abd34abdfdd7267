"""Claim: a whole game of expert advice plays at least 20 times faster than a NumPy loop and 50 times faster than river.

The rule is the same everywhere: randomized weighted majority with a fixed β, which is river's exponentially weighted
average (`EWARegressor`) with absolute loss and rate ln(1/β). The loop computes what a run knows: the probability, the
weights, each expert's mistakes and the best expert's mistakes after every round. Weights and losses are compared first.

    python benchmarks/experts.py [--quick]
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np

from onepass.experts import Anytime, Hedge, RandomizedWeightedMajority, WeightedMajority

BETA = 0.9


def game(rounds: int, experts: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    outcomes = rng.integers(0, 2, rounds, dtype=np.uint8)
    wrong = rng.random((rounds, experts)) < np.linspace(0.3, 0.5, experts)
    return (outcomes[:, None] ^ wrong).astype(np.uint8), outcomes


def numpy_loop(advice: np.ndarray, outcomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Final weights and the learner's loss in each round."""
    rounds, experts = advice.shape
    w, mistakes = np.ones(experts), np.zeros(experts, np.int64)
    lost, best = np.empty(rounds), np.empty(rounds, np.int64)
    for t in range(rounds):
        wrong = advice[t] != outcomes[t]
        lost[t] = w[wrong].sum() / w.sum()
        w *= np.where(wrong, BETA, 1.0)
        w /= w.max()  # or it underflows
        mistakes += wrong
        best[t] = mistakes.min()
    return w / w.sum(), lost


def hedge_loop(advice: np.ndarray, outcomes: np.ndarray) -> None:
    """Hedge with a fixed rate, in the log domain, and the best expert's loss after every round."""
    rounds, experts = advice.shape
    losses, lost, said, best = np.zeros(experts), np.empty(rounds), np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        w = np.exp(math.log(BETA) * (losses - losses.min()))
        w /= w.sum()
        loss = np.abs(advice[t] - outcomes[t])
        said[t], lost[t] = w @ advice[t], w @ loss
        losses += loss
        best[t] = losses.min()


def river_ewa(advice: np.ndarray, outcomes: np.ndarray) -> np.ndarray:
    """Final weights."""
    from river import base, ensemble, optim

    class Column(base.Regressor):
        def __init__(self, i: int) -> None:
            self.i = i

        def learn_one(self, x, y):  # type: ignore[no-untyped-def]
            pass

        def predict_one(self, x):  # type: ignore[no-untyped-def]
            return x[self.i]

    columns = [Column(i) for i in range(advice.shape[1])]
    model = ensemble.EWARegressor(columns, loss=optim.losses.Absolute(), learning_rate=-math.log(BETA))
    for x, y in zip(advice.tolist(), outcomes.tolist(), strict=True):
        model.learn_one(x, y)
    return np.array(model.weights)


def per_round(function: Callable[..., object], advice: np.ndarray, outcomes: np.ndarray, repeats: int = 3) -> float:
    """Seconds a round, the best of three for everyone."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(advice, outcomes)
        seconds.append(time.perf_counter() - start)
    return min(seconds) / len(outcomes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="2,000 rounds instead of 100,000")
    rounds = 2_000 if parser.parse_args().quick else 100_000

    def ours(a: np.ndarray, y: np.ndarray) -> object:
        return RandomizedWeightedMajority(BETA).run(a, y)

    print(f"randomized weighted majority, β = {BETA}, {rounds:,} rounds")
    print(f"{'experts':>8} {'onepass rounds/s':>17} {'bytes/s':>9} {'NumPy loop':>11} {'river':>8}   (times slower)")
    for experts in (10, 100, 1000):
        advice, outcomes = game(rounds, experts)
        few = max(100, 500_000 // experts) if rounds > 2_000 else 100  # rounds that river is given
        run = RandomizedWeightedMajority(BETA).run(advice[:few], outcomes[:few])
        weights, lost = numpy_loop(advice[:few], outcomes[:few])
        assert np.allclose(run.weights[-1], weights, rtol=1e-9)
        assert np.allclose(run.losses, np.cumsum(lost), rtol=1e-9)
        mine = per_round(ours, advice, outcomes)
        loop = per_round(numpy_loop, advice[:20_000], outcomes[:20_000])
        try:
            assert np.allclose(run.weights[-1], river_ewa(advice[:few], outcomes[:few]), rtol=1e-9)
            river = f"{per_round(river_ewa, advice[:few], outcomes[:few]) / mine:7.0f}×"
        except ImportError:
            river = "missing"
        print(f"{experts:8} {1 / mine:17,.0f} {experts / mine / 1e9:6.2f} GB {loop / mine:10.1f}× {river:>8}")

    print("\nother rules, rounds a second (and how many times slower a NumPy loop of Hedge with a fixed rate is)")
    rules = {
        "Hedge, fixed rate": lambda: Hedge(-math.log(BETA)),
        "Hedge, anytime": lambda: Hedge(Anytime()),
        "AdaHedge": lambda: Hedge(),
        "weighted majority": lambda: WeightedMajority(BETA),
    }
    for experts in (10, 100, 1000):
        advice, outcomes = game(min(rounds, 20_000), experts)
        advice, outcomes = advice.astype(np.float64), outcomes.astype(np.float64)
        loop, told = per_round(hedge_loop, advice, outcomes), []
        for name, make in rules.items():
            make().run(advice[:10], outcomes[:10])
            mine = per_round(lambda a, y, make=make: make().run(a, y), advice, outcomes)
            told.append(f"{name} {1 / mine:,.0f} ({loop / mine:.1f}×)")
        print(f"{experts:8} experts: " + "; ".join(told))


if __name__ == "__main__":
    main()
