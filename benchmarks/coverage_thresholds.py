"""How often what is claimed of a threshold, of the other rate there, and of the band of probabilities is false.

    python benchmarks/coverage_thresholds.py [--runs 2000] [--jobs 1] [--claims precision band] [--positives 0.5]

A run has eight candidates, each at an eighth of δ, with scores of their own; an adversary who knows the truth takes the
worst of 47 looks between 32 and 19,800 rows and the worst candidate (tests/worlds_scores.py has the worlds, each as
hard as can be for its claim). A claim may fail in at most δ of the runs; without the price of the candidates, and where
each border's own bound is claimed, it fails more often (both in a quarter of the runs).
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import worlds_scores

KINDS, SHARES, DELTAS = ("false alarm", "miss", "precision"), (0.01, 0.03, 0.5), (0.05, 0.3)
CLAIMS = (*KINDS, "band", "own")


def thresholds(setting: tuple[str, float, float, int]) -> tuple[str, list[float]]:
    kind, share, delta, runs = setting
    plain = worlds_scores.failures(kind, share, delta, runs)
    tied = worlds_scores.failures(kind, share, delta, runs, ties=True)
    fewer = max(1, runs // 4)
    unpriced, _ = worlds_scores.failures(kind, share, delta, fewer, price=1.0)
    return f"{kind:12s} {share:4.0%} {delta:5.2f}", [*(n / runs for n in (*plain, *tied)), unpriced / fewer]


def band(setting: tuple[float, float, int]) -> tuple[str, list[float]]:
    share, delta, runs = setting
    return f"{'band':12s} {share:4.0%} {delta:5.2f}", [worlds_scores.band_failures(share, delta, runs) / runs]


def own_bounds(delta: float, runs: int) -> float:
    rng = np.random.default_rng(0)
    even = worlds_scores.world("precision", 0.5, 0.5)
    return sum(worlds_scores.own_bounds_fail(even, delta, rng) for _ in range(runs)) / runs


def show(title: str, shares: list[Any]) -> None:
    print(f"{title:24s}" + "".join(f"{share:14.4f}" for share in shares), flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--claims", nargs="+", default=CLAIMS, choices=CLAIMS)
    options.add_argument("--positives", type=float, nargs="+", default=SHARES, help="shares of the positive class")
    args = options.parse_args()
    kinds = [kind for kind in KINDS if kind in args.claims]
    shares_of_band = args.positives if "band" in args.claims else []
    print(f"share of {args.runs} runs in which a claim was false\n\nclaim   positives    δ  ", end="")
    print("".join(f"{name:>14s}" for name in ("target", "other rate", "target, tied", "other, tied", "without price")))
    with ProcessPoolExecutor(args.jobs) as pool:
        for title, shares in pool.map(
            thresholds, [(*one, args.runs) for one in product(kinds, args.positives, DELTAS)]
        ):
            show(title, shares)
        for title, shares in pool.map(band, [(*one, args.runs) for one in product(shares_of_band, DELTAS)]):
            show(title, shares)
    for delta in DELTAS if "own" in args.claims else ():
        show(f"each border's own {delta:5.2f}", [own_bounds(delta, max(1, args.runs // 4))])


if __name__ == "__main__":
    main()
