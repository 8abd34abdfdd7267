"""Are all true clusters found? The best of 10 plain seedings on Fränti's benchmark sets.

    python benchmarks/sipu.py FOLDER

FOLDER holds NAME.data.gz and NAME.labels0.gz of the SIPU sets (github.com/gagolews/clustering-data-v1). The centroid
index counts true centres to which no found centre is nearest, or the other way round, whichever is more: 0 means that
every cluster was found. See franti2014 (P. Fränti, M. Rezaei, Q. Zhao, Pattern Recognition 47).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from onepass.cluster import KMeans
from onepass.cluster.kmeans import assign
from onepass.cluster.points import as_points

SETS = ("s1", "s2", "a1", "a2", "birch1")


def centroid_index(found: Any, true: Any) -> int:
    """The larger of the two numbers of orphans."""
    orphans = [len(b) - np.unique(assign(as_points(a), b)[0]).size for a, b in ((found, true), (true, found))]
    return max(orphans)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", help="folder with the SIPU sets")
    parser.add_argument("--quick", action="store_true", help="only the smallest set")
    options = parser.parse_args()
    if options.folder is None:
        print("sipu: no FOLDER given, nothing to do")
        return
    for name in SETS[:1] if options.quick else SETS:
        X = np.loadtxt(options.folder / f"{name}.data.gz")
        labels = np.loadtxt(options.folder / f"{name}.labels0.gz", dtype=int)
        numbers = np.unique(labels[labels > 0])
        true = np.array([X[labels == c].mean(axis=0) for c in numbers])
        for init in ("k-means++", "greedy-k-means++", "local-search++"):
            start = time.perf_counter()
            model = KMeans(len(true), init=init, n_init=10, random_state=0).fit(X)
            took = time.perf_counter() - start
            missed = centroid_index(model.cluster_centers_, true)
            print(f"{name}: {len(X):,} points, {len(true)} clusters, best of 10 {init}: {missed} missed, {took:.2f} s")
            if model.quality_ is not None:
                print(f"    at most {model.quality_.ratio:.1f} times the least possible inertia (95%)")


if __name__ == "__main__":
    main()
