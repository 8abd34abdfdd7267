"""k-means and its seeding against scikit-learn, faiss and scikit-learn-intelex, in one run.

Same initial centres and the same number of iterations for all; whole `fit` calls, float32, all cores; each number is
the best of several interleaved repeats. The inertia of everyone's centres is recomputed in float64.

    python benchmarks/kmeans.py [--quick] [--mnist FOLDER]

FOLDER holds the four MNIST files (train-images-idx3-ubyte.gz and so on); without it those rows are left out.
"""

from __future__ import annotations

import argparse
import gzip
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.cluster

from onepass.cluster import KMeans, kmeans_plusplus
from onepass.cluster.kmeans import assign
from onepass.cluster.points import as_points

warnings.filterwarnings("ignore")


def blobs(n: int, d: int, k: int) -> Any:
    """k overlapping Gaussian clusters."""
    rng = np.random.default_rng(0)
    return (rng.uniform(-10, 10, (k, d))[rng.integers(0, k, n)] + 2 * rng.normal(size=(n, d))).astype(np.float32)


def uniform(n: int, d: int, k: int) -> Any:
    """No clusters at all: the hardest case for bounds."""
    return np.random.default_rng(0).uniform(-1, 1, (n, d)).astype(np.float32)


def mnist(folder: Path) -> Any:
    parts = [gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes()) for part in ("train", "t10k")]
    images = [np.frombuffer(part, np.uint8, offset=16).reshape(-1, 784) for part in parts]
    return np.concatenate(images).astype(np.float32) / 255


def contestants(X: Any, start: Any, iterations: int) -> dict[str, Callable[[], Any]]:
    """Name → a function that clusters X and returns its centres."""
    k = len(start)
    given = {"init": start, "n_init": 1, "max_iter": iterations, "tol": 0}
    runs: dict[str, Callable[[], Any]] = {
        "onepass": lambda: KMeans(k, **given).fit(X).cluster_centers_,
        "sklearn lloyd": lambda: sklearn.cluster.KMeans(k, **given).fit(X).cluster_centers_,
        "sklearn elkan": lambda: sklearn.cluster.KMeans(k, algorithm="elkan", **given).fit(X).cluster_centers_,
    }
    try:
        import faiss

        def with_faiss() -> Any:
            limits = {"max_points_per_centroid": 10**9, "min_points_per_centroid": 1}
            model = faiss.Kmeans(X.shape[1], k, niter=iterations, **limits)
            model.train(X, init_centroids=start)
            return model.centroids

        runs["faiss"] = with_faiss
    except ImportError:
        print("faiss is not installed: left out")
    try:
        from sklearnex.cluster import KMeans as Intelex

        runs["intelex"] = lambda: Intelex(k, **given).fit(X).cluster_centers_
    except ImportError:
        print("scikit-learn-intelex is not installed: left out")
    return runs


def best_times(runs: dict[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The least time of each, repeats interleaved so that a noisy minute hits all alike; and what each returned.

    A rest before each: idle threads of a BLAS or OpenMP keep a core busy for a while, at the next one's expense.
    """
    times: dict[str, float] = {}
    results = {name: run() for name, run in runs.items()}  # a first round to warm up
    for _ in range(repeats):
        for name, run in runs.items():
            time.sleep(0.2)
            start = time.perf_counter()
            run()
            times[name] = min(times.get(name, np.inf), time.perf_counter() - start)
    return times, results


def compare_fits(title: str, X: Any, k: int, iterations: int, repeats: int) -> None:
    start = X[np.random.default_rng(1).choice(len(X), k, replace=False)].copy()
    times, centres = best_times(contestants(X, start, iterations), repeats)
    inertias = {name: assign(as_points(X), np.ascontiguousarray(c))[1].sum() for name, c in centres.items()}
    ours, rivals = times["onepass"], {name: t for name, t in times.items() if name != "onepass"}
    fastest = min(rivals, key=lambda name: rivals[name])
    off = max(abs(inertia / inertias["onepass"] - 1) for inertia in inertias.values())
    print(
        f"{title}: onepass {ours:.3f} s, {rivals[fastest] / ours:.2f}x the fastest rival ({fastest})   "
        + "  ".join(f"{name} {t:.3f}" for name, t in rivals.items())
        + f"   inertias within {off:.3%}",
        flush=True,
    )


def compare_seedings(title: str, X: Any, k: int, repeats: int) -> None:
    trials = 2 + int(np.log(k))
    runs = {
        "plain": lambda: kmeans_plusplus(X, k, random_state=0),
        "greedy": lambda: kmeans_plusplus(X, k, n_local_trials=trials, random_state=0),
        "sklearn": lambda: sklearn.cluster.kmeans_plusplus(X, k, random_state=0),
        "sklearn, one trial": lambda: sklearn.cluster.kmeans_plusplus(X, k, random_state=0, n_local_trials=1),
    }
    times, _ = best_times(runs, repeats)
    print(
        f"{title}: seeding plain {times['plain']:.3f} s, {times['sklearn'] / times['plain']:.1f}x scikit-learn's "
        f"({times['sklearn, one trial'] / times['plain']:.1f}x with one trial); greedy ({trials} candidates) "
        f"{times['greedy']:.3f} s, {times['sklearn'] / times['greedy']:.1f}x",
        flush=True,
    )


def growth(n: int, d: int, k: int, repeats: int) -> None:
    """Seconds for 20 iterations as each of n, d, k doubles from a common middle."""
    print("time of 20 iterations, blobs (seconds):")
    for name, settings in (
        ("n", [(n * f, d, k) for f in (1, 2, 4, 8)]),
        ("d", [(n, d * f, k) for f in (1, 2, 4, 8, 16)]),
        ("k", [(n, d, k * f) for f in (1, 2, 4, 8)]),
    ):
        cells = []
        for rows, width, clusters in settings:
            X = blobs(rows, width, clusters)
            start = X[:clusters].copy()
            run = {"": lambda X=X, start=start: KMeans(len(start), init=start, max_iter=20, tol=0).fit(X)}
            cells.append(f"({rows}, {width}, {clusters}) {best_times(run, repeats)[0]['']:.3f}")
        print(f"  {name}: " + "   ".join(cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--mnist", type=Path, help="folder with the MNIST files")
    options = parser.parse_args()
    n, iterations, repeats = (5_000, 5, 1) if options.quick else (200_000, 40, 5)
    for d, k in ((4, 64), (16, 100)):
        for draw in (blobs, uniform):
            title = f"{n:,} x {d}, k = {k}, {draw.__name__}"
            X = draw(n, d, k)
            compare_fits(title, X, k, iterations, repeats)
            compare_seedings(title, X, max(k, 100), repeats)
    if options.mnist:
        X = mnist(options.mnist)[: n if options.quick else None]
        for k in (10, 100):
            compare_fits(f"MNIST {len(X):,} x 784, k = {k}", X, k, iterations // 2, max(repeats // 2, 1))
        compare_seedings(f"MNIST {len(X):,} x 784, k = 100", X, 100, max(repeats // 2, 1))
    growth(n // 8, 4, 16, repeats)


if __name__ == "__main__":
    main()
