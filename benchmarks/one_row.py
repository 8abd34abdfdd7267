"""One row at a time: partial_fit calls per second, against scikit-learn and river, in one run.

python benchmarks/one_row.py [--rows 20000]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.linear_model import SGDClassifier

from onepass import OnePassClassifier


def seconds(call, rows: int) -> float:
    start = time.perf_counter()
    for i in range(rows):
        call(i)
    return time.perf_counter() - start


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=20_000)
    options.add_argument("--features", type=int, default=20)
    args = options.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(args.rows, args.features))
    y = (X[:, 0] + 0.3 * rng.normal(size=args.rows) > 0).astype(int)
    ours = OnePassClassifier(shuffle=False).partial_fit(X[:1], y[:1], classes=[0, 1])
    peer = SGDClassifier(loss="perceptron", average=True).partial_fit(X[:1], y[:1], classes=[0, 1])
    for each in (ours, peer):
        each.partial_fit(X[:1], y[:1]).predict(X[:1])
    few = min(args.rows, 5_000)
    rates = {
        "onepass partial_fit": args.rows / seconds(lambda i: ours.partial_fit(X[i : i + 1], y[i : i + 1]), args.rows),
        "scikit-learn partial_fit": few / seconds(lambda i: peer.partial_fit(X[i : i + 1], y[i : i + 1]), few),
        "onepass predict": few / seconds(lambda i: ours.predict(X[i : i + 1]), few),
        "scikit-learn predict": few / seconds(lambda i: peer.predict(X[i : i + 1]), few),
    }
    try:
        from river.linear_model import Perceptron
    except ImportError:
        print("river is not installed: pip install 'onepass[bench]'")
    else:
        other, rows = Perceptron(), [dict(enumerate(x)) for x in X[:few].tolist()]
        rates["river learn_one"] = few / seconds(lambda i: other.learn_one(rows[i], bool(y[i])), few)
    for name, rate in rates.items():
        print(f"{name:26s} {rate:12,.0f} rows/s   onepass partial_fit is {rates['onepass partial_fit'] / rate:6.1f} ×")


if __name__ == "__main__":
    main()
