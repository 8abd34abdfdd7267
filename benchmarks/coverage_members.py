"""How often joint rates and the mean cost of an ensemble's members are false, at any prefix and of any ensemble.

    python benchmarks/coverage_members.py [--runs 2000] [--deltas 0.05 0.3]

Average, cutoff and suffix certify their members in joint rates P(y = c, ŷ ≠ c) and in mean cost. A run counts as false
if any of them lies below the truth at any of the prefixes looked at, for any ensemble: each of the three has a δ for
its rates and one for its cost, so that 3 δ are allowed. tests/test_theorems.py has the world, in which the risks of
every hypothesis are known.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import test_theorems


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=2000)
    options.add_argument("--deltas", type=float, nargs="+", default=[0.05, 0.3])
    args = options.parse_args()
    print(f"{'δ':>5}{'joint rates':>14}{'mean cost':>14}")
    for delta in args.deltas:
        begin = time.perf_counter()
        rates, cost = (number / args.runs for number in test_theorems.joint_failures(args.runs, delta))
        took = time.perf_counter() - begin
        print(f"{delta:5g}{rates:14.4f}{cost:14.4f}   {args.runs:,} runs, {took:.0f} s", flush=True)


if __name__ == "__main__":
    main()
