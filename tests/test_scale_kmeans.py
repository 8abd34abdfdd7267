"""k-means by partial sums, as one process plays several machines."""

import numpy as np
import pytest
import scipy.sparse

from onepass.cluster import KMeans
from onepass.errors import DataError
from onepass.scale.lloyd import kmeans


def points(seed=0, rows=900):
    rng = np.random.default_rng(seed)
    return rng.integers(-64, 65, size=(rows, 3)) / 8.0 + 24.0 * rng.integers(0, 5, size=(rows, 1))


@pytest.mark.parametrize("far", [0, 2])
def test_kmeans_by_partial_sums_is_lloyd(far):
    """Dyadic points: the same centres, inertia and iterations as in one piece; clusters that start empty, too."""
    X = points()
    init = np.concatenate([X[: 9 - far], np.full((far, 3), 1e4)])
    whole = KMeans(9, init=init, tol=0.0).fit(X)
    parts = kmeans([X[:100], X[100:101], X[101:600], X[600:]], 9, init=init, tol=0.0)
    np.testing.assert_array_equal(parts.cluster_centers_, whole.cluster_centers_)
    assert (parts.inertia_, parts.n_iter_) == (whole.inertia_, whole.n_iter_)
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))
    sparse = kmeans([scipy.sparse.csr_array(X[:450]), scipy.sparse.csr_array(X[450:])], 9, init=init, tol=0.0)
    np.testing.assert_array_equal(sparse.cluster_centers_, whole.cluster_centers_)


def test_parallel_seeding_finds_good_centres():
    """Sixteen tight groups far apart: k-means|| finds all of them, whatever the cut; drawing at random does not."""
    rng = np.random.default_rng(0)
    groups = rng.integers(-500, 500, size=(16, 3)) * 8.0
    X = (groups[rng.integers(0, 16, size=2_000)] + rng.normal(size=(2_000, 3))).astype(np.float64)
    cuts = [np.array_split(X, n) for n in (1, 4, 11)]
    found = [kmeans(parts, 16, random_state=seed) for seed, parts in enumerate(cuts)]
    best = KMeans(16, init=groups).fit(X).inertia_
    for model in found:
        assert model.inertia_ < 1.01 * best
    lazy = KMeans(16, init=X[:16]).fit(X).inertia_
    assert lazy > 10 * best


def test_kmeans_with_fewer_distinct_rows_than_clusters_and_bad_input():
    model = kmeans([np.zeros((5, 2)), np.ones((4, 2))], 4)
    assert model.inertia_ == 0.0
    with pytest.raises(DataError, match="more than the 9 rows"):
        kmeans([np.zeros((5, 2)), np.ones((4, 2))], 10)
    with pytest.raises(DataError, match="numbers of columns"):
        kmeans([np.zeros((5, 2)), np.ones((4, 3))], 2)
    with pytest.raises(ValueError, match="init"):
        kmeans([np.zeros((5, 2))], 2, init="k-means++")
    with pytest.raises(DataError, match=r"chunk 1 .*NaN"):
        kmeans([np.zeros((5, 2)), np.full((4, 2), np.nan)], 2)
