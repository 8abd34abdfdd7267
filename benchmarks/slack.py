"""How much a certificate adds to what is true: betting against dekel2008, the cutoff grid against all cutoffs.

    python benchmarks/slack.py [--seeds 5]

10,000 newswire documents as separable as RCV1, hinge loss; the true loss is measured on 50,000 fresh documents.
"""

from __future__ import annotations

import argparse

import numpy as np

from onepass import Pass
from onepass.cli.commands.demo import hinge
from onepass.datasets import Newswire

PAIR, SCALE = ("CCAT", "GCAT"), 4.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--rows", type=int, default=10_000)
    args = options.parse_args()
    slack: dict[tuple[str, str], list[float]] = {}
    for seed in range(args.seeds):
        wire = Newswire(seed)
        X, y = wire.documents(0, args.rows, PAIR)
        fresh, truth = wire.documents(args.rows, args.rows + 50_000, PAIR)
        for cutoffs in ("grid", "all"):
            run = Pass("margin", classes=PAIR, radius=16.0 * SCALE, horizon=args.rows, cutoffs=cutoffs)
            run.feed(SCALE * X, y)
            for bound in ("betting", "dekel2008"):
                certificate = run.certificate(bound=bound)
                run.bound = bound
                true = hinge(run.model(), SCALE * fresh, truth)
                slack.setdefault((bound, cutoffs), []).append(certificate.risk - true)
                numbers = f"k = {certificate.choice.value:3d}  certified {certificate.risk:.4f}  true {true:.4f}"
                print(f"seed {seed}  {bound:9s} {cutoffs:4s}  {numbers}")
    for (bound, cutoffs), values in slack.items():
        ratio = np.mean(values) / np.mean(slack["dekel2008", cutoffs])
        print(f"mean slack of {bound:9s} over {cutoffs:4s} cutoffs: {np.mean(values):.4f}, {ratio:.2f} of dekel2008's")


if __name__ == "__main__":
    main()
