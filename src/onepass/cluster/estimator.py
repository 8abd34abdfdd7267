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

from onepass.cluster.kmeans import Callback, all_distances, assign
from onepass.cluster.means import masses
from onepass.cluster.points import as_count, as_points, as_weights, in_type, piece_weights
from onepass.cluster.run import as_centres, check_parameters, kmeans, seeding_count
from onepass.cluster.streams import Clusters, MiniBatches
from onepass.rows import AnyRows, count
from onepass.structure import check_structure

ALGORITHMS = ("lloyd", "elkan")


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """k-means: Lloyd's iteration, exactly, from k-means++ seeds.

    All but the last four parameters are scikit-learn's, and mean what they mean there. Differs: "k-means++" is plain
    D² sampling, where scikit-learn's keeps the best of several draws, which is "greedy-k-means++" here.

    A cluster that loses its last row starts again at the row farthest from its centre. With fewer distinct rows than
    clusters the surplus clusters stay empty, and a ConvergenceWarning says so.

    Parameters
    ----------
    n_clusters : int, default 8
        How many clusters.
    init : str, array_like or callable, default "k-means++"
        "k-means++" (plain, with its guarantee), "greedy-k-means++", "local-search++", "k-means||", "random" (see
        `draw_seeds`), an array of centres, or a callable (X, n_clusters, random_state) → centres.
    n_init : int or "auto", default "auto"
        How many seedings, of which the best result is kept; "auto" is 1, but 10 for "random" and callables.
    max_iter : int, default 300
        Stop after so many iterations.
    tol : float, default 1e-4
        Stop when the centres' squared shift falls to tol times the mean variance of the columns; 0 goes on until no
        label changes.
    verbose : int, default 0
        1 prints a line for each iteration, and where and why each seeding's iterations ended.
    random_state : int, RandomState or None, default None
        Seed.
    copy_x : bool, default True
        X is never written to, so both values do the same.
    algorithm : str, default "lloyd"
        "lloyd" or "elkan", two ways to the same result: distances are left out by bounds in either case, so both run
        the same, in memory that does not grow with rows × clusters.
    delta : float, default 0.05
        The statement of quality holds with probability 1 − delta.
    batch_size : int, default 1024
        Rows that `partial_fit` learns from at a time.
    threads : int or None, default None
        None for all cores; the result is the same, bit for bit, for any number.
    callback : callable or None, default None
        Called after each iteration with (iteration, inertia, squared shift).

    Attributes
    ----------
    cluster_centers_, labels_, inertia_, n_iter_
        As in scikit-learn; the inertia is summed anew from the labels.
    history_ : array
        The inertia of each iteration's clusters about their means.
    potentials_ : array
        The potential of each seeding (all n_init of them).
    quality_ : Quality or None
        How far from the optimum the inertia can be; None unless init is "k-means++" or "local-search++", to which the
        theorem applies.

    Examples
    --------
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
        verbose: int = 0,
        random_state: Any = None,
        copy_x: bool = True,
        algorithm: str = "lloyd",
        delta: float = 0.05,
        batch_size: int = 1024,
        threads: int | None = None,
        callback: Callback | None = None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.delta = delta
        self.batch_size = batch_size
        self.threads = threads
        self.callback = callback

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Clusters the rows of X, each counted sample_weight times."""
        X = self._validated(X, reset=True)
        self._check_choices()
        self._n_init = seeding_count(self.init, self.n_init)
        result = kmeans(
            X,
            self.n_clusters,
            sample_weight=sample_weight,
            init=self.init,
            n_init=self._n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            delta=self.delta,
            threads=self.threads,
            callback=self._report,
            log=print if self.verbose else None,
            random_state=self._number(),
        )
        found = np.unique(result.labels).size
        if found < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters ({self.n_clusters}). "
                "Possibly due to duplicate points in X. The surplus clusters are empty: lower n_clusters",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.cluster_centers_, self.labels_, self.inertia_, self.n_iter_ = result[:4]
        self.history_, self.potentials_, self.quality_ = result[4:]
        self._stream: MiniBatches | None = None
        self._mass = masses(self.labels_, as_weights(sample_weight, X.shape[0]), self.n_clusters)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KMeans:
        """Goes on with more rows of a stream, in bounded memory; after `fit`, from the fitted centres.

        Rows are learned from in batches of batch_size counted from the first row ever fed, so pieces of any length
        give the same bits. The first batch is seeded once, by `init`, and clustered until no label changes; n_init,
        max_iter and tol are for `fit` alone. Until n_clusters rows of weight above 0 have come there is no
        model yet.
        """
        first = not hasattr(self, "n_features_in_")
        try:
            X = self._validated(X, reset=first)
            rows, weights = as_points(X), piece_weights(sample_weight, X.shape[0])
            check_parameters(self.init, self.max_iter, self.tol, self.delta)
            stream = getattr(self, "_stream", None) or self._new_stream(X.shape[1])
        except ValueError:
            if first and hasattr(self, "n_features_in_"):
                del self.n_features_in_  # a rejected first batch leaves no trace
            raise
        stream.feed(X, weights, self.threads)
        self._stream = stream
        clusters = stream.clusters(self.threads)
        if clusters is not None:
            self.cluster_centers_ = clusters.centres
            self.labels_, distances = assign(in_type(rows, clusters.centres), clusters.centres, self.threads)
            self.inertia_ = float(np.sum(weights * distances))
        return self

    def predict(self, X: Any) -> npt.NDArray[np.int32]:
        """The nearest centre of each row."""
        return assign(self._points(X), self.cluster_centers_, self.threads)[0]

    def transform(self, X: Any) -> npt.NDArray[Any]:
        """The distance of each row to every centre."""
        return all_distances(self._points(X), self.cluster_centers_, self.threads)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of X about the fitted centres."""
        rows = self._points(X)
        weights = as_weights(sample_weight, count(rows))
        return -float(np.sum(weights * assign(rows, self.cluster_centers_, self.threads)[1]))

    def _check_choices(self) -> None:
        """Raises ValueError for a choice that there is not; warns of one that cannot be followed."""
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, not {self.algorithm!r}")
        if not isinstance(self.copy_x, (bool, np.bool_)):
            raise ValueError(f"copy_x must be True or False, not {self.copy_x!r}")
        if self.algorithm == "elkan" and self.n_clusters == 1:
            once = "algorithm='elkan' doesn't make sense for a single cluster: there is nothing to leave out"
            warnings.warn(once, RuntimeWarning, stacklevel=3)
        given = not isinstance(self.init, str) and not callable(self.init)
        if given and self.n_init not in ("auto", 1):
            start = "Explicit initial center position passed: performing only one init"
            warnings.warn(f"{start}, where n_init={self.n_init} would repeat it", RuntimeWarning, stacklevel=3)

    def _new_stream(self, width: int) -> MiniBatches:
        k, size, init = as_count(self.n_clusters, self.n_clusters), self.batch_size, self.init
        if hasattr(self, "cluster_centers_"):
            return MiniBatches(k, size, self._number(), start=Clusters(self.cluster_centers_, self._mass))
        if not isinstance(init, str) and not callable(init):
            init = as_centres(init, k, width, np.float64)
        return MiniBatches(k, size, self._number(), init=init)

    def _validated(self, X: Any, reset: bool) -> Any:
        check_structure(X)
        # as_points looks for NaN and infinity itself, in the same reading that finds the largest value
        kinds = [np.float64, np.float32]
        return validate_data(self, X, reset=reset, accept_sparse="csr", dtype=kinds, order="C", ensure_all_finite=False)

    def _points(self, X: Any) -> AnyRows:
        check_is_fitted(self, "cluster_centers_")
        return in_type(as_points(self._validated(X, reset=False)), self.cluster_centers_)

    def _number(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _report(self, iteration: int, inertia: float, shift: float) -> None:
        if self.verbose:
            print(f"Iteration {iteration}, inertia {inertia:.6g}, squared shift {shift:.3g}")
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
