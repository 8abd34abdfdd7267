"""Claim: over five learners on elec2, the vote makes at most 1.02 times the mistakes of the best one in hindsight.

elec2 is 45,312 half-hours of a drifting market. Every row is predicted, then learned, in time order; its six columns
are scaled by a running mean and deviation first.

    python benchmarks/elec2.py path/to/elec.csv.xz [--rules hedge,majority,share] [--quick]
"""

from __future__ import annotations

import argparse
import csv
import lzma
import time
import warnings

import numpy as np
import sklearn
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from onepass.experts import ExpertsClassifier, FixedShare, Hedge, WeightedMajority


def read(path: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and classes, in time order."""
    with lzma.open(path, "rt") if path.endswith(".xz") else open(path) as file:
        rows = list(csv.DictReader(file))
    y = np.array([int(float(row.pop("class"))) for row in rows])
    return np.array([[float(value) for value in row.values()] for row in rows]), y


def running_scale(X: np.ndarray) -> np.ndarray:
    """Each row minus the mean and over the deviation of the rows before it (and itself)."""
    count = np.arange(1, len(X) + 1)[:, None]
    mean = np.cumsum(X, axis=0) / count
    variance = np.cumsum(X**2, axis=0) / count - mean**2
    return (X - mean) / np.sqrt(np.maximum(variance, 1e-12))


def learners() -> list[tuple[str, object]]:
    def sgd(**options: object) -> SGDClassifier:
        return SGDClassifier(random_state=0, **options)

    return [
        ("perceptron", sgd(loss="perceptron", learning_rate="constant", eta0=1.0, penalty=None)),
        ("hinge, slow", sgd(loss="hinge", learning_rate="constant", eta0=0.01)),
        ("logistic, fast", sgd(loss="log_loss", learning_rate="constant", eta0=0.5)),
        ("logistic, decaying", sgd(loss="log_loss")),
        ("naive Bayes", GaussianNB()),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", help="elec2 as CSV, plain or .xz; it is not part of this project")
    parser.add_argument("--rules", default="hedge", help="some of hedge,majority,share")
    parser.add_argument("--quick", action="store_true", help="the first 2,000 rows")
    options = parser.parse_args()
    if options.file is None:
        print("skipped: name the elec2 file as the argument")
        return
    sklearn.set_config(assume_finite=True, skip_parameter_validation=True)  # most of a row's time would go there
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="sklearn.naive_bayes")  # its first, equal rows
    X, y = read(options.file)
    X = running_scale(X)
    rows = 2_000 if options.quick else len(y)
    rules = {"hedge": Hedge(), "majority": WeightedMajority(0.5), "share": FixedShare(100, rows)}
    for name in options.rules.split(","):
        start = time.perf_counter()
        model = ExpertsClassifier(learners(), rules[name]).fit(X[:rows], y[:rows])
        mistakes = model.run_.expert_losses
        print(f"{rules[name]!r}, {model.rounds_:,} rounds, {time.perf_counter() - start:.0f} s")
        for (expert, _), made, weight in zip(learners(), mistakes, model.weights_, strict=True):
            print(f"  {expert:20} {made:8,.0f} mistakes   weight at the end {weight:.3f}")
        best = mistakes.min()
        print(f"  {'the vote':20} {model.mistakes_:8,} mistakes   {model.mistakes_ / best:.3f} × the best learner's")
        print(f"  Σ p·ℓ = {model.run_.loss:,.1f}, at most {model.run_.bound:,.1f} by theorem")


if __name__ == "__main__":
    main()
