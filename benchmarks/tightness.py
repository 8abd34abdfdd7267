"""How close a certificate comes to what is true: the deployed model's certificate beside its test error.

    python benchmarks/tightness.py --data FOLDER [--sets rcv1,a9a] [--splits 20] [--jobs 1] [--json FILE]

Sets and splits are those of accuracy.py, with seeds of their own: rcv1 (10,000 rows to learn), a9a, bank and income
(20,000), all with 10,000 to test at most, columns as they are; and 20,000 documents of two categories of the newswire
that is drawn, with the 10,000 after them to test. For the Perceptron and Adaptive stand, in means over the splits with
their standard errors: the certificate of a conversion that certifies the model which it deploys (δ = 0.05, 0-1 loss),
that model's test error, and the test error of the average of the last half's hypotheses, which nothing certifies. Sets
whose files are not there are left out, and that is said.

penalised_baseline.json beside this file has what the conversion `penalised`, which `frozen` has replaced, gave on the
same splits.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import accuracy
from onepass.datasets import Newswire

FIRST_SEED = 7000
LEARNERS = ("perceptron", "adaptive")
BASELINE = Path(__file__).with_name("penalised_baseline.json")
PAIR = ("CCAT", "GCAT")  # of the newswire


def newswire(seed: int, folder: Path) -> accuracy.Problem:
    """Of one newswire; no two splits have a document in common."""
    learn, rows = accuracy.LEARN, accuracy.LEARN + accuracy.TEST
    first = rows * (seed - FIRST_SEED)
    X, labels = Newswire().documents(first, first + rows, PAIR)
    y = (labels == PAIR[1]).astype(np.int64)
    return accuracy.Problem(X[:learn], y[:learn], X[learn:], y[learn:], classes=2)


SETS = {  # name → (seed, folder) → rows
    "rcv1": partial(accuracy.draw, "rcv1", "tf-idf", most=10_000),
    "newswire": newswire,
    "a9a": partial(accuracy.draw, "a9a", ""),
    "bank": partial(accuracy.draw, "bank", "raw"),
    "income": partial(accuracy.draw, "income", "raw"),
}


# --- what is measured -------------------------------------------------------------------------------------------------


def measured(rows: int) -> dict[str, dict[str, Any]]:
    """Title → options of the pass."""
    frozen = {"conversion": "frozen"}
    return {"frozen": frozen, "frozen, rows declared": frozen | {"expected_rows": rows}}


class Split(NamedTuple):
    """One split of one set, for one learner."""

    name: str
    learner: str
    seed: int
    folder: Path


def attempt(one: Split) -> dict[str, dict[str, float]]:
    """By title: what is certified, that model's test error, and the one of the last half's average."""
    problem = SETS[one.name](seed=one.seed, folder=one.folder)
    found = {}
    for title, options in measured(len(problem.y)).items():
        run = accuracy.begin(problem, one.learner, **options)
        half = accuracy.feed_halves(run, problem)
        certificate = run.certificate()
        if certificate.withheld or certificate.covers != "model" or certificate.loss != "zero_one":
            raise SystemExit(f"{title}: {certificate}")
        found[title] = {
            "certified": certificate.risk,
            "error": share(run.model().predict(problem.X_test) != problem.y_test),
            "half": share(accuracy.predicted(half, problem.X_test) != problem.y_test),
        }
    return found


def share(wrong: Any) -> float:
    return float(np.mean(wrong))


def attempt_all(splits: list[Split], jobs: int) -> dict[str, dict[str, dict[str, list[float]]]]:
    """By "set learner" and title: three lists with one number per split."""
    gathered: dict[str, dict[str, dict[str, list[float]]]] = {}
    context = get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=threadpool_limits, initargs=(1,))
    with pool:
        for number, (one, found) in enumerate(zip(splits, pool.map(attempt, splits), strict=True), 1):
            place = gathered.setdefault(f"{one.name} {one.learner}", {})
            for title, numbers in found.items():
                for name, value in numbers.items():
                    place.setdefault(title, {}).setdefault(name, []).append(value)
            print(f"{number} of {len(splits)}: {one.name} {one.learner}, seed {one.seed}", file=sys.stderr, flush=True)
    return gathered


# --- what came out ----------------------------------------------------------------------------------------------------


def summary(values: list[float]) -> tuple[float, float]:
    """Mean and standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def lines(found: dict[str, dict[str, dict[str, list[float]]]]) -> Iterator[str]:
    known = json.loads(BASELINE.read_text())["means"] if BASELINE.exists() else {}
    yield f"{'':20s} {'conversion':22s}" + "".join(f"{name:>18s}" for name in ("certified", "its error", "last half"))
    for title, kinds in found.items():
        means = {kind: {name: summary(values) for name, values in three.items()} for kind, three in kinds.items()}
        if title in known:
            means = {"penalised, recorded": known[title], **means}
        for kind, three in means.items():
            numbers = "".join(f"{mean:9.4f} ± {error:.4f}" for mean, error in three.values())
            yield f"{title:20s} {kind:22s}" + numbers


def there(name: str, folder: Path) -> bool:
    """Whether the set can be read."""
    try:
        SETS[name](seed=FIRST_SEED, folder=folder)
    except FileNotFoundError as error:
        print(f"left out: {name} ({error.filename} is not there)", file=sys.stderr)
        return False
    return True


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, metavar="FOLDER", default=Path("."))
    options.add_argument("--sets", default=",".join(SETS), help="which ones, with commas between (default: all)")
    options.add_argument("--learners", default=",".join(LEARNERS))
    options.add_argument("--splits", type=int, default=20)
    options.add_argument("--jobs", type=int, default=1, help="processes")
    options.add_argument("--json", type=Path, metavar="FILE", help="write every number there, and the means")
    args = options.parse_args()
    names = args.sets.split(",")
    if unknown := [name for name in names if name not in SETS]:
        options.error(f"no set is called {unknown[0]!r}; there are {', '.join(SETS)}")
    splits = [
        Split(name, learner, FIRST_SEED + i, args.data)
        for name in names
        if there(name, args.data)
        for learner in args.learners.split(",")
        for i in range(args.splits)
    ]
    found = attempt_all(splits, args.jobs)
    if args.json:
        means = {
            title: {kind: {name: summary(v) for name, v in three.items()} for kind, three in kinds.items()}
            for title, kinds in found.items()
        }
        args.json.write_text(json.dumps({"splits": args.splits, "means": means, "all": found}, indent=1))
    print(f"mean over {args.splits} random splits ± standard error; δ = 0.05\n")
    print("\n".join(lines(found)))


if __name__ == "__main__":
    main()
