"""Three positives in a hundred: what one number hides, and a threshold that keeps false alarms at 1 %.

    python benchmarks/imbalance.py [--rows 40000] [--seeds 20]

Rows are drawn like w8a's: 300 binary features of which some 12 are set, and 3 % positives whose features are others.
The first seed goes through the command line and is shown as it prints; all seeds then through `Pass`, with 100,000
fresh rows for the truth.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

from onepass import Pass


def draw(rows: int, seed: int):
    """(rows, labels): each class has its own frequency for every feature."""
    law = np.random.default_rng(0)
    often = 12.0 * law.dirichlet(np.full(300, 0.3), size=1)[0]
    rare = 0.8 * often + 2.4 * law.dirichlet(np.full(300, 0.1), size=1)[0]
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.03, 1, -1)
    frequency = np.minimum(np.where(y[:, None] > 0, rare, often), 0.95)
    return scipy.sparse.csr_array((rng.random((rows, 300)) < frequency).astype(float)), y


def shown(X, y) -> None:
    """What the command line prints for a file of these rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rare.svm")
        dump_svmlight_file(X, y, path, zero_based=False)
        for options in ([], ["--max-false-alarm", "0.01"]):
            print("onepass train rare.svm --positive 1", *options, flush=True)
            command = [sys.executable, "-m", "onepass.cli", "train", path, "--positive", "1", "-q", *options]
            subprocess.run(command, check=True)
            print(flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=40_000)
    options.add_argument("--seeds", type=int, default=20)
    args = options.parse_args()
    shown(*draw(args.rows, 1))
    fresh, truth = draw(100_000, 10**6)
    found = []
    for seed in range(1, 1 + args.seeds):
        X, y = draw(args.rows, seed)
        run = Pass(classes=[-1, 1], n_features=300, positive=1, max_false_alarm=0.01, expected_rows=args.rows)
        run.feed(X, y)
        said, kept = run.model().predict(fresh), run.certificate().threshold
        alarms, misses = np.mean(said[truth < 0] > 0), np.mean(said[truth > 0] < 0)
        found.append((kept.reached, alarms, misses, kept.other_bound, misses > kept.other_bound))
    reached, alarms, misses, bounds, false = (np.array(column) for column in zip(*found, strict=True))
    print(f"{args.seeds} seeds: reached in {reached.sum()}; false alarms on fresh rows {alarms.mean():.4f} on average,")
    print(f"above 0.01 in {(reached & (alarms > 0.01)).sum()}; misses {misses.mean():.3f}, certified at most")
    print(f"{bounds.mean():.3f} on average, above their bound in {false.sum()}")


if __name__ == "__main__":
    main()
