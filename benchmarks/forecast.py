"""Is the risk in advance true on drawn data, and how loose is it? (dekel2008, Section 3)

    python benchmarks/forecast.py [--runs 100]

Rows are Gaussian around ±1.5 of one direction, scaled onto the ball of radius R, with labels turned over at random; the
comparator is that direction, fixed before the data, and its risk comes from a million rows of its own. Each run learns
with the margin perceptron, and the hinge risk of its cutoff average is measured on 200,000 fresh rows.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from onepass.certificates import LearningPlan, expected_risk, risk_forecast
from onepass.passes import Pass

R, WIDTH = 3.0, 20


def draw(rows: int, seed: Any, noise: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.5, 1, -1)
    X = rng.normal(scale=0.4, size=(rows, WIDTH))
    X[:, 0] += 1.5 * y
    X *= np.minimum(1.0, R / np.linalg.norm(X, axis=1))[:, None]
    return X, np.where(rng.random(rows) < noise, -y, y)


def hinge(w: Any, X: Any, y: Any) -> float:
    return float(np.maximum(0.0, 1.0 - y * (X @ w)).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    runs = parser.parse_args().runs
    for noise in (0.0, 0.05):
        u = hinge(np.eye(WIDTH)[0], *draw(1_000_000, [1, 0], noise))
        fresh = draw(200_000, [2, 0], noise)
        plan = LearningPlan(u, R, fit_intercept=False)
        for rows in (1_000, 10_000):
            risks, averages = [], []
            for seed in range(runs):
                run = Pass("margin", classes=[-1, 1], radius=R, horizon=rows, fit_intercept=False, conversion="cutoff")
                run.feed(*draw(rows, [3, seed, rows], noise))
                risks.append(hinge(run.model().weights[1:, 0], *fresh))
                averages.append(hinge(run.model("average").weights[1:, 0], *fresh))
            worst, parts = max(risks), []
            for bound in ("betting", "dekel2008"):
                forecast = risk_forecast(plan, rows, bound)
                false = sum(risk > forecast for risk in risks)
                parts.append(f"{bound} {forecast:.3f}, false in {false}, {forecast / worst:.2f} x the worst")
            mean = expected_risk(plan, rows)
            parts.append(f"expected {mean:.3f} for {np.mean(averages):.3f} on average")
            print(f"u = {u:.3f}, {rows:,} rows, {runs} runs, worst risk {worst:.3f}: " + "; ".join(parts), flush=True)


if __name__ == "__main__":
    main()
