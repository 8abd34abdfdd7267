"""One pass over 300,000 sparse rows, its model and certificate, against scikit-learn's averaged SGD.

    python benchmarks/one_pass.py [--rows 300000] [--noise 0.02]
    python benchmarks/one_pass.py --learner adaptive --conversion average [--dense]
    python benchmarks/one_pass.py --learner adaptive --conversion frozen [--dense]     # and what watching costs
    python benchmarks/one_pass.py --data FOLDER          # rcv1, a9a, and the Perceptron through the estimator

Same arrays for all, every figure the best of several repetitions in one run. "Bare read" is NumPy summing the two
arrays that hold the rows: no pass can be faster than that by much. FOLDER is that of real_data.py; with it the
Perceptron also goes through OnePassClassifier, on 200,000 rows of float32, with and without the repeat alarm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.linear_model import SGDClassifier

from onepass import OnePassClassifier, Pass


def rows(n: int, features: int, draws: int, noise: float, seed: int = 0):
    """Rows of a Zipf vocabulary, labelled by a random teacher; `noise` of the labels are drawn anew."""
    rng = np.random.default_rng(seed)
    cumulated = np.cumsum(1.0 / np.arange(1, features + 1) ** 1.05)
    words = np.searchsorted(cumulated / cumulated[-1], rng.random((n, draws))).astype(np.int32)
    words.sort(axis=1)
    new = np.ones(words.shape, dtype=bool)
    new[:, 1:] = words[:, 1:] != words[:, :-1]
    indptr = np.concatenate([[0], np.cumsum(new.sum(axis=1))]).astype(np.int32)
    X = scipy.sparse.csr_array((rng.random(int(indptr[-1])), words[new], indptr), shape=(n, features))
    y = np.where(X @ rng.normal(size=features) > 0, 1, -1)
    return X, np.where(rng.random(n) < noise, rng.choice([-1, 1], size=n), y)


def dense_rows(n: int, features: int, seed: int = 0):
    """Normal rows, labelled by a noisy random teacher."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    return X, np.where(X @ rng.normal(size=features) + rng.normal(size=n) > 0, 1, -1)


def best(call, times: int = 7) -> float:
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        spent.append(time.perf_counter() - start)
    return min(spent)


def first_call(cache: str, made: str) -> float:
    """Seconds of a first pass in a fresh process, imports not counted."""
    code = (
        "import time, numpy as np, scipy.sparse\n"
        "from onepass import Pass\n"
        "Pass\n"
        "X = scipy.sparse.random_array((1000, 50), density=0.2, format='csr', rng=np.random.default_rng(0))\n"
        "start = time.perf_counter()\n"
        f"run = {made}; run.feed(X, np.arange(1000) % 3 == 0); run.certificate(); run.model()\n"
        "print(time.perf_counter() - start)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    return float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout)


def watching(X, y, learner: str) -> None:
    """What watching costs beside the same pass without it, with a core free for it and with one core for both."""
    several = np.arange(len(y)) % 2 + 2 * (y > 0)  # four classes, of which two pairs cannot be told apart
    cores = os.sched_getaffinity(0)
    for words, labels in (("two classes", y), ("four classes", several)):
        for used in (cores, {min(cores)}):
            keep_to(used)
            plain, watched = (best(partial(feed, X, labels, learner, how), 4) for how in ("average", "frozen"))
            more = f"{plain:.3f} → {watched:.3f} s, {(watched - plain) / plain:+.2f} ×"
            print(f"watching, {words}, {len(used)} core{'s' * (len(used) > 1)}: {more}")
        keep_to(cores)


def keep_to(cores: set[int]) -> None:
    """Let every thread of this process run on these cores only, those that are there already too."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), cores)


def feed(X, y, learner: str, conversion: str) -> None:
    Pass(learner, conversion=conversion, classes=np.unique(y)).feed(X, y)


def averaged(loss: str) -> SGDClassifier:
    return SGDClassifier(loss=loss, average=True, max_iter=1, tol=None, shuffle=False)


def whole_pass(X, y, learner: str, conversion: str, **more) -> None:
    run = Pass(learner, conversion=conversion, **more)
    run.feed(X, y)
    run.certificate()
    run.model()


def real(folder: Path) -> None:
    """Sets that are over in milliseconds: what does not depend on the number of rows shows."""
    from real_data import rcv1, read

    for name, (X, y) in {"rcv1": rcv1(folder / "rcv1"), "a9a": read(folder / "a9a" / "a9a.svm.gz")}.items():
        X = scipy.sparse.csr_array(X[:, : X.indices.max() + 1])
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        peer = best(partial(averaged("hinge").fit, X, y), 15)
        for conversion in ("average", "frozen"):
            spent = best(partial(whole_pass, X, y, "adaptive", conversion), 15)
            print(f"{name:5s} {conversion:8s} {1e3 * spent:5.1f} ms, SGD {1e3 * peer:5.1f}: {spent / peer:5.2f} ×")


def through_estimator() -> None:
    """The Perceptron on rows of float32."""
    X, y = rows(200_000, 150_000, 103, 0.02)
    X = X.astype(np.float32)
    peer = best(partial(averaged("perceptron").fit, X, y))
    filled = f"{len(y):,} × {X.shape[1]:,} × {X.size / len(y):.0f}, float32"
    for conversion in ("average", "cutoff", "frozen"):
        spent = best(lambda how=conversion: OnePassClassifier("perceptron", shuffle=False, conversion=how).fit(X, y))
        print(f"OnePassClassifier, {filled}, {conversion:8s} {spent:.4f} s: SGD takes {peer / spent:.2f} × as long")
    heard, deaf = (
        best(partial(whole_pass, X, y, "perceptron", "average", repeat_alarm=alarm)) for alarm in (True, False)
    )
    print(f"the repeat alarm adds {heard / deaf - 1.0:+.1%} to a pass")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=300_000)
    options.add_argument("--features", type=int, default=200_000)
    options.add_argument("--draws", type=int, default=145, help="words drawn per row; about 106 of them differ")
    options.add_argument("--noise", type=float, default=0.02)
    options.add_argument("--learner", default="perceptron")
    options.add_argument("--conversion", default="cutoff")
    options.add_argument("--dense", action="store_true", help="500,000 rows of 40 numbers instead")
    options.add_argument("--data", type=Path)
    args = options.parse_args()
    if args.data is not None:
        real(args.data)
        through_estimator()
        return
    made = f"Pass({args.learner!r}, conversion={args.conversion!r})"
    if args.dense:
        X, y = dense_rows(500_000, 40)
        read = best(X.sum)
    else:
        X, y = rows(args.rows, args.features, args.draws, args.noise)
        read = best(lambda: (X.indices.sum(), X.data.sum()))
    filled = X.size / len(y)
    print(f"{len(y):,} rows × {X.shape[1]:,} features, {filled:.0f} non-zeros a row, float64; {made}")

    def whole() -> tuple[float, float]:
        """Seconds of a pass, and of its certificate and model."""
        start = time.perf_counter()
        run = Pass(args.learner, conversion=args.conversion)
        run.feed(X, y)
        middle = time.perf_counter()
        run.certificate()
        run.model()
        return middle - start, time.perf_counter() - middle

    whole()
    one, conversion = min((whole() for _ in range(7)), key=sum)
    loss = "perceptron" if args.learner == "perceptron" else "hinge"
    peer = best(partial(averaged(loss).fit, X, y))
    run = Pass(args.learner, conversion=args.conversion)
    run.feed(X, y)
    updates = run.trace().updates
    print(f"updates                           {updates / len(y):8.1%} of the rows")
    print(f"bare read of the arrays           {read:8.3f} s")
    print(f"pass (checks included)            {one:8.3f} s   {one / read:5.2f} × the bare read")
    print(f"model and certificate             {conversion:8.3f} s   {conversion / one:5.1%} of the pass")
    print(
        f"scikit-learn, averaged SGD        {peer:8.3f} s   {peer / (one + conversion):5.2f} × as long as all of that"
    )
    if args.conversion == "frozen":
        watching(X, y, args.learner)
    with tempfile.TemporaryDirectory() as cache:
        print(f"first call, nothing compiled      {first_call(cache, made):8.3f} s")
        print(f"first call, kernels from cache    {first_call(cache, made):8.3f} s")


if __name__ == "__main__":
    main()
