"""Claim: the certificate of the entry that a race deploys is false in at most δ of the runs, whoever was dropped.

    python benchmarks/race.py                    # 2,000 runs of each kind; a few minutes
    python benchmarks/race.py --runs 200

Entries see blocks of features of their own, so that they err independently of each other: equal ones, whose blocks tell
the same, and unequal ones. The label is the side of a plane in every block, up to noise, so that the risk of a linear
model is known. Entries may be dropped from 128 rows on. Printed is in how many runs the deployed model's risk lay above
its certificate, and, by simulating the definition alone, what giving a dropped entry's δ to the others would do.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from onepass.passes import Pass
from onepass.race import Entry, Race

DELTA, ROWS, FEATURES, FIRST = 0.1, 400, 3, 128


class BlockPass(Pass):
    """A pass that sees its own columns of the rows."""

    block = 0

    def feed(self, X: Any, y: Any) -> None:
        super().feed(X.values[:, self.block * FEATURES : (self.block + 1) * FEATURES], y)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    for entries in (3, 10):
        for equal in (True, False):
            start = time.perf_counter()
            found = [raced(seed, entries, equal) for seed in range(runs)]
            wrong, dropped = (np.mean([one[i] for one in found]) for i in (0, 1))
            kind = "equal" if equal else "unequal"
            print(
                f"{entries:2d} {kind:7s} entries: false in {100 * wrong:.2f} % of {runs:,} runs "
                f"(δ = {100 * DELTA:g} %), {dropped:.2f} dropped a run, {time.perf_counter() - start:.0f} s",
                flush=True,
            )
    for entries in (3, 10, 30):
        rates = [np.mean([simulated(seed, entries, back) for seed in range(runs)]) for back in (False, True)]
        print(
            f"{entries:2d} equal entries, dropped when far behind: false in {100 * rates[0]:.2f} % of the runs at "
            f"δ/c, in {100 * rates[1]:.2f} % with what the dropped had given to the others"
        )


def raced(seed: int, entries: int, equal: bool) -> tuple[bool, int]:
    """(whether the certificate is false, how many were dropped)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, entries * FEATURES))
    truth = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)
    noise = np.full(entries, 0.2) if equal else np.linspace(0.05, 0.45, entries)
    for i in range(entries):  # the first feature of a block has the label's sign, but for noise
        told = np.where(rng.random(ROWS) < noise[i], -truth, truth)
        X[:, i * FEATURES] = told * np.abs(X[:, i * FEATURES])
    options: dict[str, Any] = {"classes": [-1.0, 1.0], "fit_intercept": False, "delta": DELTA / entries}
    runs = [BlockPass(**options) for _ in range(entries)]
    for i, run in enumerate(runs):
        run.block = i
    race = Race([Entry(f"e{i}", run) for i, run in enumerate(runs)], DELTA, FIRST)
    race.feed(X, truth)
    w = race.model().weights[1:, 0]
    angle = np.arccos(np.clip(w[0] / np.linalg.norm(w), -1.0, 1.0)) / np.pi
    p = noise[int(race.leader.name[1:])]
    return bool(p + (1.0 - 2.0 * p) * angle > race.certificate().risk), entries - len(race.alive)


def simulated(seed: int, entries: int, given_back: bool, risk: float = 0.3) -> bool:
    """Whether the best entry's certificate ever fails: its wealth at the true risk reaches 1/level."""
    rng = np.random.default_rng(seed)
    bets = np.geomspace(1e-4, 0.999, 64)
    looks = np.unique(np.geomspace(30, 10**6, 100).astype(int))
    mistakes = np.cumsum(rng.binomial(np.diff(looks, prepend=0)[:, None], risk, (len(looks), entries)), axis=0)
    far = 2.5 * np.sqrt(looks * risk * (1 - risk))[:, None]
    alive = ~np.maximum.accumulate(mistakes - mistakes.min(axis=1, keepdims=True) > far, axis=0)
    alive[:, 0] |= ~alive.any(axis=1)
    best = np.where(alive, mistakes, looks[:, None]).min(axis=1)
    grown = best[:, None] * np.log1p(-bets) - looks[:, None] * np.log1p(-bets * risk)
    most = grown.max(axis=1)
    wealth = most + np.log(np.exp(grown - most[:, None]).mean(axis=1))
    return bool((wealth >= np.log((alive.sum(axis=1) if given_back else entries) / DELTA)).any())


if __name__ == "__main__":
    main()
