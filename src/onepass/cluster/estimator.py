"""KMeans, the scikit-learn face of this room."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from onepass.cluster.kmeans import Callback, Fit, all_distances, assign, lloyd
from onepass.cluster.points import as_count, as_points, as_weights, height, in_type
from onepass.cluster.optimum import Quality, quality
from onepass.cluster.seeding import METHODS, seed
from onepass.cluster.streams import Clusters, MiniBatches
from onepass.rows import AnyRows, Floats


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """k-means: Lloyd's iteration, exactly, from k-means++ seeds.

    Parameters
    ----------
    n_clusters : how many clusters.
    init : "k-means++" (plain, with its guarantee), "greedy-k-means++", "k-means||", "random", an array of centres, or
        a callable (X, n_clusters, random_state) → centres.
    n_init : how many seedings, of which the best result is kept; "auto" is 1, but 10 for "random" and callables.
    max_iter, tol : stop after so many iterations, or when the centres' squared shift falls to tol times the mean
        variance of the columns; tol=0 goes on until no label changes.
    delta : the statement of quality holds with probability 1 − delta.
    batch_size : rows that `partial_fit` learns from at a time.
    threads : None for all cores. The result is the same, bit for bit, for any number.
    verbose : 1 prints a line for each iteration.
    callback : called after each iteration with (iteration, inertia, squared shift).
    random_state : seed, RandomState or None.

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_ : as in scikit-learn; the inertia is summed anew from the labels.
    history_ : the inertia of each iteration's clusters about their means.
    potentials_ : the potential of each seeding (all n_init of them).
    quality_ : a `Quality`, how far from the optimum the inertia can be; None unless init is "k-means++".

    A cluster that loses its last row starts again at the row farthest from its centre. With fewer distinct rows than
    clusters the surplus clusters stay empty, and a ConvergenceWarning says so.

    >>> points = [[0.0, 0.0], [0.0, 2.0], [10.0, 0.0], [10.0, 2.0]]
    >>> model = KMeans(n_clusters=2, n_init=5, random_state=0).fit(points)
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[0.0, 1.0], [10.0, 1.0]], 4.0)
    >>> model.predict([[9.0, 1.0]]) == model.labels_[3]
    array([ True])
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        delta: float = 0.05,
        batch_size: int = 1024,
        threads: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.delta = delta
        self.batch_size = batch_size
        self.threads = threads
        self.verbose = verbose
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Clusters the rows of X, each counted sample_weight times."""
        X = self._validated(X, reset=True)
        rows = as_points(X)
        weights = as_weights(sample_weight, height(rows))
        k = as_count(self.n_clusters, height(rows))
        self._check_parameters()
        source = check_random_state(self.random_state)
        potentials: list[float] = []
        best: Fit | None = None
        for _ in range(self._seedings()):
            start = self._start(X, rows, weights, k, source, potentials)
            fit = lloyd(
                rows,
                start,
                weights,
                max_iter=self.max_iter,
                tol=self.tol,
                threads=self.threads,
                callback=self._report,
            )
            if best is None or fit.inertia < best.inertia:
                best = fit
        assert best is not None
        found = np.unique(best.labels).size
        if found < k:
            warnings.warn(
                f"{found} distinct clusters found, fewer than n_clusters={k}: X may hold duplicate rows",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.cluster_centers_ = best.centres
        self.labels_, self.inertia_, self.n_iter_ = best.labels, best.inertia, best.iterations
        self.history_, self.potentials_ = best.history, potentials
        proved = isinstance(self.init, str) and self.init == "k-means++"
        self.quality_: Quality | None = quality(best.inertia, potentials, k, self.delta) if proved else None
        self._stream: MiniBatches | None = None
        self._mass: Floats = np.bincount(best.labels, weights, k)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Goes on with more rows of a stream, in bounded memory; after `fit`, from the fitted centres.

        Rows are learned from in batches of batch_size counted from the first row ever fed, so pieces of any length
        give the same bits. Until n_clusters rows have come there is no model yet.
        """
        first = not hasattr(self, "n_features_in_")
        X = self._validated(X, reset=first)
        weights = as_weights(sample_weight, X.shape[0])
        self._check_parameters()
        stream = getattr(self, "_stream", None)
        if stream is None:
            start = Clusters(self.cluster_centers_, self._mass) if hasattr(self, "cluster_centers_") else None
            number = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
            stream = MiniBatches(as_count(self.n_clusters, self.n_clusters), self.batch_size, number, start)
        stream.feed(X, weights, self.threads)
        self._stream = stream
        clusters = stream.clusters(self.threads)
        if clusters is not None:
            self.cluster_centers_ = clusters.centres
            self.labels_, distances = assign(in_type(as_points(X), clusters.centres), clusters.centres, self.threads)
            self.inertia_ = float(np.sum(weights * distances))
        return self

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The nearest centre of each row."""
        check_is_fitted(self, "cluster_centers_")
        return assign(self._points(X), self.cluster_centers_, self.threads)[0]

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """The distance of each row to every centre."""
        check_is_fitted(self, "cluster_centers_")
        return all_distances(self._points(X), self.cluster_centers_, self.threads)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of X about the fitted centres."""
        check_is_fitted(self, "cluster_centers_")
        rows = self._points(X)
        weights = as_weights(sample_weight, height(rows))
        return -float(np.sum(weights * assign(rows, self.cluster_centers_, self.threads)[1]))

    def _validated(self, X: Any, reset: bool) -> Any:
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")

    def _points(self, X: Any) -> AnyRows:
        return in_type(as_points(self._validated(X, reset=False)), self.cluster_centers_)

    def _check_parameters(self) -> None:
        if not isinstance(self.max_iter, (int, np.integer)) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a positive integer, not {self.max_iter!r}")
        if not self.tol >= 0:
            raise ValueError(f"tol must not be negative, but is {self.tol!r}")
        if isinstance(self.init, str) and self.init not in METHODS:
            raise ValueError(f"init must be one of {', '.join(METHODS)}, an array or a callable, not {self.init!r}")

    def _seedings(self) -> int:
        given = not isinstance(self.init, str) and not callable(self.init)
        if self.n_init == "auto":
            return 10 if callable(self.init) or (isinstance(self.init, str) and self.init == "random") else 1
        if not isinstance(self.n_init, (int, np.integer)) or self.n_init < 1:
            raise ValueError(f"n_init must be 'auto' or a positive integer, not {self.n_init!r}")
        return 1 if given else int(self.n_init)

    def _start(
        self, X: Any, rows: AnyRows, weights: Floats, k: int, source: Any, potentials: list[float]
    ) -> npt.NDArray[Any]:
        dtype, width = rows.values.dtype, X.shape[1]
        number = int(source.randint(np.iinfo(np.int32).max))
        if isinstance(self.init, str):
            start = seed(rows, width, k, weights, method=self.init, random_state=number, threads=self.threads)
            potentials.append(start.potential)
            return start.centres
        given = self.init(X, k, random_state=number) if callable(self.init) else self.init
        centres = np.array(given, dtype=dtype, order="C")
        if centres.shape != (k, width):
            raise ValueError(f"init has shape {centres.shape}, but n_clusters={k} and X has {width} columns")
        if not np.isfinite(centres).all():
            raise ValueError("init holds NaN or infinity")
        return centres

    def _report(self, iteration: int, inertia: float, shift: float) -> None:
        if self.verbose:
            print(f"iteration {iteration}: inertia {inertia:.6g}, shift {shift:.3g}")
        if self.callback is not None:
            self.callback(iteration, inertia, shift)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return int(self.cluster_centers_.shape[0])
