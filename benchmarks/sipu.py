"""Are all true clusters found? The best of 10 seedings on Fränti's benchmark sets, by how they are seeded.

    python benchmarks/sipu.py FOLDER [--quick] [--seeds 5]

FOLDER holds NAME.data.gz and NAME.labels0.gz of the SIPU sets (github.com/gagolews/clustering-data-v1). Printed is the
number of clusters found, for several random seeds; local-search++ is what `onepass cluster` does unless told otherwise.
A cluster counts as found by the centroid index: true centres to which no found centre is nearest, or the other way
round, whichever is more, are missed. See franti2014 (P. Fränti, M. Rezaei, Q. Zhao, Pattern Recognition 47).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.cluster

from onepass.cluster import KMeans
from onepass.cluster.kmeans import assign
from onepass.cluster.points import as_points

warnings.filterwarnings("ignore")
SETS = ("s1", "s2", "a1", "a2", "birch1")


def centroid_index(found: Any, true: Any) -> int:
    """The larger of the two numbers of orphans."""
    orphans = [len(b) - np.unique(assign(as_points(a), b)[0]).size for a, b in ((found, true), (true, found))]
    return max(orphans)


def ways(k: int, seed: int) -> dict[str, Callable[[], Any]]:
    """Name → an estimator with ten seedings of that kind."""
    inits = ("k-means++", "greedy-k-means++", "local-search++")
    ours = {f"onepass {init}": lambda init=init: KMeans(k, init=init, n_init=10, random_state=seed) for init in inits}
    greedy = {"scikit-learn (greedy)": lambda: sklearn.cluster.KMeans(k, n_init=10, random_state=seed)}
    return {**ours, **greedy}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder with the SIPU sets")
    parser.add_argument("--quick", action="store_true", help="only the smallest set, one seed")
    parser.add_argument("--seeds", type=int, default=3, help="how many random seeds")
    options = parser.parse_args()
    if options.folder is None:
        print("sipu: no FOLDER given, nothing to do")
        return
    seeds = range(1 if options.quick else options.seeds)
    for name in SETS[:1] if options.quick else SETS:
        X = np.loadtxt(options.folder / f"{name}.data.gz")
        labels = np.loadtxt(options.folder / f"{name}.labels0.gz", dtype=int)
        true = np.array([X[labels == c].mean(axis=0) for c in np.unique(labels[labels > 0])])
        print(f"{name}: {len(X):,} points, {len(true)} clusters; found from the best of 10, for seeds 0 to {seeds[-1]}")
        for way in ways(len(true), 0):
            found, took, limit = [], 0.0, ""
            for seed in seeds:
                model = ways(len(true), seed)[way]()
                start = time.perf_counter()
                model.fit(X)
                took += time.perf_counter() - start
                found.append(len(true) - centroid_index(model.cluster_centers_, true))
                if getattr(model, "quality_", None) is not None:
                    limit = f", at most {model.quality_.ratio:.1f} times the least possible inertia (95%)"
            counts = " ".join(f"{number:3d}" for number in found)
            print(f"  {way:26s} {counts}   {took / len(seeds):6.2f} s{limit}", flush=True)


if __name__ == "__main__":
    main()
