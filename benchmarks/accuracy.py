"""Test error after one pass: Adaptive, the Perceptron and PA against Vowpal Wabbit, scikit-learn and river.

    python benchmarks/accuracy.py --data FOLDER [--sets a9a,sms] [--splits 5] [--jobs 2] [--json FILE]

FOLDER holds a9a, elec2, mnist, rcv1, reuters21578, sms_spam and tables, as SETS below reads them. Every set is split at
random, 70 to 30, at most 20,000 rows to learn and 10,000 to test; all learners read the same rows in the same order,
once, except the last one, logistic regression fitted to all rows at once. Scales and idf come from the rows to learn.
Nothing is tuned: all have their default settings. river sees the sets with at most 200 features. It is not meant for
timing: the seconds in the JSON file include whatever text a peer has to be written.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import lzma
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache, partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from onepass import Pass

LEARN, TEST = 20_000, 10_000  # rows at most
RIVER_FEATURES = 200
HALF = "Adaptive half"
WABBITS = ("VW logistic", "VW hinge")
COLUMNS = (
    *("Adaptive average", HALF, "Adaptive cutoff", "Adaptive frozen", "Adaptive last", "Percep. average", "PA average"),
    *(*WABBITS, "SGD average", "river logistic", "batch logistic"),
)


# --- sets: rows as a sparse matrix, classes as 0, 1, … ----------------------------------------------------------------


def a9a(folder: Path):
    parts = [load_svmlight_file(folder / "a9a" / name, n_features=123) for name in ("a9a.svm.gz", "a9a.t.svm.gz")]
    return scipy.sparse.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts]) > 0


def rcv1(folder: Path):
    """Rows that belong to both sides are left out."""
    sides = np.loadtxt(folder / "rcv1" / "binary_labels.txt.gz", dtype=int)
    with lzma.open(folder / "rcv1" / "rcv1_v2_sample.topics.svm.xz") as file:
        X, _ = load_svmlight_file(file, multilabel=True)
    return X[sides != 0], sides[sides != 0] > 0


def words(texts: Iterable[str]):
    return CountVectorizer(dtype=np.float64).fit_transform(texts)


def newswire(folder: Path) -> list[dict[str, Any]]:
    """The documents of the ModApte split that have a body."""
    with lzma.open(folder / "reuters21578" / "reuters21578.jsonl.xz", "rt", encoding="utf-8") as file:
        documents = [json.loads(line) for line in file]
    return [one for one in documents if one["modapte"] in ("train", "test") and one["body"]]


def reuters(folder: Path):
    documents = newswire(folder)
    X = words(f"{one['title']} {one['body']}" for one in documents)
    return X, np.array(["acq" in one["topics"] for one in documents])


def reuters10(folder: Path):
    """The ten most frequent topics; documents with exactly one of them."""
    documents = newswire(folder)
    counts = Counter(topic for one in documents for topic in one["topics"])
    ten = [topic for topic, _ in counts.most_common(10)]
    kept = [(one, [t for t in one["topics"] if t in ten]) for one in documents]
    kept = [(one, topics) for one, topics in kept if len(topics) == 1]
    return words(f"{one['title']} {one['body']}" for one, _ in kept), np.array([ten.index(t) for _, (t,) in kept])


def sms(folder: Path):
    with gzip.open(folder / "sms_spam" / "SMSSpamCollection.tsv.gz", "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return words(text for _, text, *_ in lines), np.array([label == "spam" for label, *_ in lines])


def mnist10(folder: Path):
    def read(kind: str, header: int):
        files = [folder / "mnist" / f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k")]
        unpacked = [gzip.decompress(file.read_bytes()) for file in files]
        return np.concatenate([np.frombuffer(one, dtype=np.uint8, offset=header) for one in unpacked])

    return scipy.sparse.csr_array(read("images-idx3", 16).reshape(-1, 784)), read("labels-idx1", 8)


def mnist(folder: Path):
    X, digits = mnist10(folder)
    return X, digits % 2


def table(folder: Path, path: str, target: str, positive: str):
    """Numbers as they are, one column for each value of the others."""

    def value(cell: str) -> float | str:
        try:
            return float(cell)
        except ValueError:
            return cell

    with lzma.open(folder / path, "rt", encoding="utf-8", newline="") as file:
        records = [{k.strip(): cell.strip() for k, cell in row.items()} for row in csv.DictReader(file)]
    y = np.array([row.pop(target) == positive for row in records])
    return DictVectorizer().fit_transform([{k: value(cell) for k, cell in row.items()} for row in records]), y


TABLE = {"raw": None, "scaled": StandardScaler}
TEXT = {"counts": None, "tf-idf": TfidfTransformer}
SETS: dict[str, tuple[Callable[[Path], Any], dict[str, type | None]]] = {  # name → reader, preparations
    "a9a": (a9a, {"": None}),
    "rcv1": (rcv1, {"tf-idf": None}),
    "reuters": (reuters, TEXT),
    "sms": (sms, TEXT),
    "mnist": (mnist, TABLE),
    "elec2": (partial(table, path="elec2/elec.csv.xz", target="class", positive="1"), TABLE),
    "bank": (partial(table, path="tables/bank-full.csv.xz", target="y", positive="yes"), TABLE),
    "income": (partial(table, path="tables/income_evaluation.csv.xz", target="income", positive=">50K"), TABLE),
    "mnist10": (mnist10, TABLE),
    "reuters10": (reuters10, TEXT),
}


@lru_cache(maxsize=1)
def read_set(name: str, folder: Path):
    X, y = SETS[name][0](folder)
    X = scipy.sparse.csr_array(X).astype(np.float64)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    X.sort_indices()
    return X, np.asarray(y).astype(np.int64)


class Problem(NamedTuple):
    """Rows to learn, in the order in which they are learned, and rows to test."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    classes: int


def draw(name: str, variant: str, seed: int, folder: Path, most: int = LEARN) -> Problem:
    X, y = read_set(name, folder)
    order = np.random.default_rng(seed).permutation(len(y))
    cut = len(y) * 7 // 10
    learn, test = order[: min(cut, most)], order[cut : cut + TEST]
    rows, rows_test = X[learn], X[test]
    preparation = SETS[name][1][variant]
    if preparation is StandardScaler:
        rows, rows_test = rows.toarray(), rows_test.toarray()
    if preparation is not None:
        fitted = preparation().fit(rows)
        rows, rows_test = fitted.transform(rows), fitted.transform(rows_test)
    return Problem(rows, y[learn], rows_test, y[test], int(y.max()) + 1)


# --- learners: predicted classes by column ----------------------------------------------------------------------------


def begin(problem: Problem, learner: str, **options: Any) -> Pass:
    return Pass(learner, classes=list(range(problem.classes)), n_features=problem.X.shape[1], **options)


def feed_halves(run: Pass, problem: Problem):
    """Learn all rows; the sum of the hypotheses in use in the last half of them."""
    middle = len(problem.y) // 2
    run.feed(problem.X[:middle], problem.y[:middle])
    first = hypotheses_sum(run)
    run.feed(problem.X[middle:], problem.y[middle:])
    return hypotheses_sum(run) - first


def adaptive(problem: Problem) -> dict[str, Any]:
    run = begin(problem, "adaptive", conversion="cutoff", watch=True, expected_rows=len(problem.y))
    half = feed_halves(run, problem)
    conversions = ("average", "cutoff", "frozen", "last")
    found = {f"Adaptive {how}": run.model(how).predict(problem.X_test) for how in conversions}
    return {**found, HALF: predicted(half, problem.X_test)}


def hypotheses_sum(run: Pass):
    """The hypotheses in use in all rounds so far, added up."""
    return run.rounds * run.model("average").weights


def predicted(weights, X):
    """Classes by weights whose first row is the intercept."""
    scores = X @ weights[1:] + weights[0]
    return scores.argmax(axis=1) if scores.shape[1] > 1 else scores[:, 0] > 0


def averaged(problem: Problem, learner: str, column: str) -> dict[str, Any]:
    run = begin(problem, learner)
    run.feed(problem.X, problem.y)
    return {column: run.model("average").predict(problem.X_test)}


def wabbit(problem: Problem) -> dict[str, Any]:
    """The rows to test follow without a label: Vowpal Wabbit predicts them and learns nothing."""
    from vowpalwabbit import Workspace

    binary = problem.classes == 2
    kind = "" if binary else f"--oaa {problem.classes}"
    labels = np.where(problem.y > 0, "1", "-1") if binary else (problem.y + 1).astype(str)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "rows", Path(folder) / "predictions"
        with file.open("wb") as stream:
            write_rows(stream, problem.X, labels)
            write_rows(stream, problem.X_test, np.full(len(problem.y_test), ""))
        for column in WABBITS:
            loss = column.removeprefix("VW ")
            Workspace(f"-d {file} --loss_function {loss} {kind} -b 22 --quiet -p {out}").finish()
            told = np.loadtxt(out)
            if len(told) != len(problem.y) + len(problem.y_test):
                raise SystemExit(f"Vowpal Wabbit gave {len(told)} predictions")
            told = told[len(problem.y) :]
            found[column] = told > 0 if binary else told - 1
    return found


def write_rows(stream, X, labels, block: int = 2000) -> None:
    """Lines `label | column:value …`."""
    for first in range(0, len(labels), block):
        rows = scipy.sparse.csr_array(X[first : first + block])
        names = pa.array(rows.indices.astype(np.int32)).cast(pa.string())
        values = pa.array(rows.data.astype(np.float32)).cast(pa.string())
        tokens = pc.binary_join_element_wise(names, values, ":")
        lines = pc.binary_join(pa.ListArray.from_arrays(rows.indptr.astype(np.int32), tokens), " ").to_pylist()
        named = zip(labels[first : first + block], lines, strict=True)
        stream.write("".join(f"{label} | {line}\n" for label, line in named).encode())


def stochastic(problem: Problem) -> dict[str, Any]:
    peer = SGDClassifier(loss="hinge", average=True, max_iter=1, tol=None, shuffle=False)
    return {"SGD average": peer.fit(problem.X, problem.y).predict(problem.X_test)}


def river(problem: Problem) -> dict[str, Any]:
    if problem.classes > 2 or problem.X.shape[1] > RIVER_FEATURES:
        return {}
    from river import linear_model, preprocessing

    def records(X):
        return (dict(enumerate(x)) for x in (X.toarray() if scipy.sparse.issparse(X) else X).tolist())

    peer = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    for x, label in zip(records(problem.X), problem.y.tolist(), strict=True):
        peer.learn_one(x, label > 0)
    return {"river logistic": np.array([peer.predict_one(x) for x in records(problem.X_test)])}


def batch(problem: Problem) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression(max_iter=200).fit(problem.X, problem.y)
    return {"batch logistic": fitted.predict(problem.X_test)}


LEARNERS: dict[str, Callable[[Problem], dict[str, Any]]] = {
    "adaptive": adaptive,
    "perceptron": partial(averaged, learner="perceptron", column="Percep. average"),
    "pa": partial(averaged, learner="pa", column="PA average"),
    "vowpalwabbit": wabbit,
    "sgd": stochastic,
    "river": river,
    "batch": batch,
}


# --- trials -----------------------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """One split of one variant of a set, for these learners."""

    name: str
    variant: str
    seed: int
    folder: Path
    learners: tuple[str, ...]

    @property
    def title(self) -> str:
        return f"{self.name} {self.variant}".strip()


def attempt(trial: Trial) -> tuple[dict[str, float], dict[str, float]]:
    """Test errors in % by column, and seconds by learner."""
    problem = draw(trial.name, trial.variant, trial.seed, trial.folder)
    errors, seconds = {}, {}
    for learner in trial.learners:
        start = time.perf_counter()
        columns = LEARNERS[learner](problem)
        seconds[learner] = time.perf_counter() - start
        errors |= {column: 100 * float((told != problem.y_test).mean()) for column, told in columns.items()}
    return errors, seconds


def attempt_all(trials: list[Trial], jobs: int) -> dict[str, dict[str, Any]]:
    """By title: errors and seconds, of each column or learner one per split."""
    results: dict[Trial, Any] = {}
    begun = time.perf_counter()
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=threadpool_limits, initargs=(1,)) as pool:
        started = {pool.submit(attempt, trial): trial for trial in trials}
        for future in as_completed(started):
            trial = started[future]
            results[trial] = future.result()
            spent = " ".join(f"{name} {s:.1f}" for name, s in results[trial][1].items())
            clock = f"{time.perf_counter() - begun:5.0f} s  {len(results):3d} of {len(trials)}"
            print(f"{clock}  {trial.title}, seed {trial.seed}: {spent}", file=sys.stderr, flush=True)
    gathered: dict[str, dict[str, Any]] = {}
    for trial in trials:
        place = gathered.setdefault(trial.title, {"errors": {}, "seconds": {}})
        for part, values in zip(place.values(), results[trial], strict=True):
            for name, value in values.items():
                part.setdefault(name, []).append(value)
    return gathered


# --- what came out ----------------------------------------------------------------------------------------------------


def show(errors: dict[str, dict[str, list[float]]]) -> None:
    means = {title: {c: float(np.mean(e)) for c, e in row.items()} for title, row in errors.items()}
    columns = [c for c in COLUMNS if any(c in row for row in means.values())]
    for words_of in zip(*(c.split() for c in columns), strict=True):
        print(f"{'':18s}" + "".join(f"{word:>10s}" for word in words_of))
    for title, row in means.items():
        print_row(title, row, columns)
    everywhere = [c for c in columns if all(c in row for row in means.values())]
    print_row(f"mean of {len(means)}", mean_row(list(means.values()), everywhere), columns)
    complete = [row for row in means.values() if all(c in row for c in columns)]
    if 0 < len(complete) < len(means):
        print_row(f"mean of {len(complete)} full", mean_row(complete, columns), columns)


def print_row(title: str, row: dict[str, float], columns: list[str]) -> None:
    print(f"{title:18s}" + "".join(f"{row[c]:10.2f}" if c in row else f"{'–':>10s}" for c in columns))


def mean_row(rows: list[dict[str, float]], columns: list[str]) -> dict[str, float]:
    return {c: float(np.mean([row[c] for row in rows])) for c in columns}


def compare(errors: dict[str, dict[str, list[float]]], peers: tuple[str, ...], called: str) -> None:
    """Where Adaptive errs less than the best of these columns, and where more; ± is the standard error."""
    gaps = {}
    for title, row in errors.items():
        if all(peer in row for peer in peers):
            best = min(peers, key=lambda peer: np.mean(row[peer]))
            gaps[title] = np.subtract(row[HALF], row[best])
    if not gaps:
        return
    worse = {t: gap for t, gap in sorted(gaps.items(), key=lambda item: -item[1].mean()) if gap.mean() > 0}
    better = sum(gap.mean() < 0 for gap in gaps.values())
    print(f"\nAdaptive (last half) better than {called} on {better} of {len(gaps)}; ", end="")
    if not worse:
        print("never worse")
        return
    worst, gap = next(iter(worse.items()))
    print(f"at worst {gap.mean():.1f} points worse ({worst})")
    for title, gap in worse.items():
        print(f"  worse by {gap.mean():5.2f} ± {gap.std(ddof=1) / len(gap) ** 0.5 if len(gap) > 1 else 0:.2f}  {title}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, metavar="FOLDER")
    options.add_argument("--sets", default=",".join(SETS), help="which ones, with commas between (default: all)")
    options.add_argument("--splits", type=int, default=5)
    options.add_argument("--jobs", type=int, default=2, help="processes")
    options.add_argument("--json", type=Path, metavar="FILE", help="write all errors and seconds there")
    args = options.parse_args()
    if args.data is None:
        print("the data sets are not part of this project: give the folder that holds them as --data")
        return
    names = args.sets.split(",")
    if unknown := [name for name in names if name not in SETS]:
        options.error(f"no set is called {unknown[0]!r}; there are {', '.join(SETS)}")
    missing = [peer for peer in ("vowpalwabbit", "river") if find_spec(peer) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}; pip install 'onepass[bench]'", file=sys.stderr)
    learners = tuple(name for name in LEARNERS if name not in missing)
    trials = [
        Trial(name, variant, 1000 + i, args.data, learners)
        for name in names
        for variant in SETS[name][1]
        for i in range(args.splits)
    ]
    found = attempt_all(trials, args.jobs)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    errors = {title: result["errors"] for title, result in found.items()}
    print(f"test error in %, mean over random splits: {args.splits}\n")
    show(errors)
    for peers, called in (
        (WABBITS, "the better of Vowpal Wabbit's two losses"),
        *(((wabbit,), f"Vowpal Wabbit ({wabbit.removeprefix('VW ')})") for wabbit in WABBITS),
        (("SGD average",), "scikit-learn's SGD"),
        (("river logistic",), "river"),
        (("batch logistic",), "batch logistic regression"),
    ):
        compare(errors, peers, called)


if __name__ == "__main__":
    main()
