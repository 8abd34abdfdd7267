"""k-means on the points of one call, for one k or several."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from onepass.cli import inputs, terminal
from onepass.cli.clustering.files import label_file
from onepass.cli.clustering.reading import Count, Points, read_again
from onepass.cli.options import Arguments
from onepass.cli.outputs import Output

if TYPE_CHECKING:
    from onepass.cluster.run import Result


class ClusterJob:
    """The points of one call, and what is done with them for one k or several."""

    def __init__(
        self,
        paths: tuple[str, ...],
        reading: inputs.Reading,
        points: Points,
        messages: terminal.Messages,
        parameters: Arguments,
    ) -> None:
        self.paths, self.reading, self.points = paths, reading, points
        self.messages, self.parameters = messages, parameters
        self.method = points.collected.method
        self.exact = self.method is None  # whether sizes and inertias are counted, not estimated
        self.X: Any = None
        self.weights: Any = None
        if self.method is None:
            self.X = points.collected.table()
        elif self.method == "coreset":
            self.X, self.weights = points.collected.sample()

    def cluster(self, k: int) -> Result:
        """The best clustering found; without labels and inertia where all rows are gone."""
        from onepass.cluster.run import Result

        if self.method == "mini-batch":
            none = np.empty(0, dtype=np.int32)
            return Result(self.points.collected.clusters().centres, none, np.nan, 0, [], [], None)
        result = run(self.X, self.weights, k, self.messages, self.parameters)
        # The theorem speaks of the rows that were seeded, not of those they stand for.
        return result if self.method is None else result._replace(quality=None)

    def counts(self, found: list[Result], labels: Output | None, again: bool) -> list[Count]:
        """Sizes and inertias: counted, or, of a stream that is not read again, as what stands for it has them."""
        collected = self.points.collected
        if self.method is None or again:
            with label_file(labels, collected.rows) as write:
                if self.method is None:
                    write(found[-1].labels)
                else:
                    centres = [one.centres for one in found]
                    self.exact = True
                    return read_again(self.paths, self.reading, self.points, centres, write, self.messages)
        if self.method == "mini-batch":
            sizes = np.rint(collected.clusters().mass).astype(np.int64)
            return [Count(sizes, np.full(sizes.size, np.nan))]
        return [count(self.X, self.weights, one.centres, self.parameters["threads"]) for one in found]

    @property
    def drawable(self) -> bool:
        """Whether there are points, or a coreset of them, that can be drawn."""
        return self.X is not None and not scipy.sparse.issparse(self.X)

    def facts(self) -> terminal.Record:
        """What every result says of the points."""
        collected = self.points.collected
        return {
            "n_samples": collected.rows,
            "n_features": collected.width,
            "stream": self.method,
            "coreset_points": None if self.weights is None else len(self.weights),
            "exact": self.exact,
            "parameters": self.parameters,
        }


def run(X: Any, weights: Any, k: int, messages: terminal.Messages, parameters: Arguments) -> Result:
    """k-means under a bar that ends where n_init runs of max_iter iterations would."""
    from onepass.cluster.run import kmeans

    runs, most = parameters["n_init"], parameters["max_iter"]
    seeding = 0
    patience = threading.Timer(0.5, messages.note, ["seeding (the first time, kernels are compiled) …"])
    patience.daemon = True
    with terminal.bar(runs * most, messages) as tick:

        def follow(iteration: int, inertia: float, shift: float) -> None:
            nonlocal seeding
            patience.cancel()
            seeding += iteration == 1
            tick(
                (seeding - 1) * most + iteration,
                lambda: f"k = {k}, seeding {seeding} of {runs}, iteration {iteration}, inertia {inertia:.6g}",
                lambda: {
                    "phase": "cluster",
                    "n_clusters": k,
                    "seeding": seeding,
                    "iteration": iteration,
                    "inertia": inertia,
                    "shift": shift,
                },
            )

        patience.start()
        try:
            return kmeans(X, k, sample_weight=weights, callback=follow, **parameters)
        finally:
            patience.cancel()


def count(X: Any, weights: Any, centres: npt.NDArray[Any], threads: int | None) -> Count:
    """Sizes and inertias of the clusters of rows that are at hand, each counted `weights` times."""
    from onepass.cluster.kmeans import assign
    from onepass.cluster.points import as_points, in_type

    labels, distances = assign(in_type(as_points(X), centres), centres, threads)
    k, weights = len(centres), np.ones(len(labels)) if weights is None else weights
    sizes = np.rint(np.bincount(labels, weights, k)).astype(np.int64)
    return Count(sizes, np.bincount(labels, weights * distances, k).astype(np.float64))
