"""Clustering: k-means and k-means++, exact, fast, the same bits on any number of threads.

points     checked rows and weights             distance      the distance that decides
spans      the rows that a thread is given      bounds        which rows need no look
exponion   open rows, few columns               gemm          open rows, many columns or sparse
simd       many rows against two centres        means         sums of the clusters
kmeans     Lloyd's iteration                    seeding       where it starts
projection distances that seeding leaves out    local_search  better seeds by single swaps
optimum    how far from optimal, at most        streams       mini-batches and coresets
run        k-means from beginning to end        collector     rows from a reader, kept or reduced
estimator  KMeans, for scikit-learn
"""

from __future__ import annotations

from typing import Any

from onepass._exports import exported

_HOME = {
    "Coreset": "streams",
    "KMeans": "estimator",
    "Quality": "optimum",
    "Seeding": "seeding",
    "draw_seeds": "seeding",
    "kmeans_plusplus": "seeding",
    "quality": "optimum",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    return exported(__name__, _HOME, name)


def __dir__() -> list[str]:
    return __all__
