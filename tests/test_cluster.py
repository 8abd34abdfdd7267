"""Clustering: the plain loop's labels by every shortcut, the definition's draws, the theorem, streams, bad input."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracles_cluster as oracle
from onepass.cluster import Coreset, KMeans, draw_seeds, kmeans_plusplus, local_search, means, quality, spans
from onepass.cluster.distance import slack
from onepass.cluster.kmeans import assign, lloyd
from onepass.cluster.optimum import guarantee
from onepass.cluster.points import as_points
from onepass.cluster.seeding import METHODS
from onepass.cluster.simd import LANES, keep_nearest
from onepass.errors import DataError

WIDTHS = (1, 3, 5, 37)  # below and above the width at which matrix products take over


def dyadic(rng, n, width, shape):
    """Rows on a grid of eighths: sums are exact, and ties abound."""
    X = rng.integers(-32, 33, (n, width)) / 8
    if shape == "duplicated":
        X = X[rng.integers(0, max(n // 4, 1), n)]
    if shape == "collinear":
        X = X[:, :1] * np.arange(1, width + 1)
    if shape == "constant":
        X = np.broadcast_to(X[0], X.shape)
    return X


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("lanes", [1, 37, LANES])
def test_scores_in_lanes_are_within_the_room_for_rounding(dtype, lanes):
    rng = np.random.default_rng(lanes)
    x, y = (rng.normal(size=(8, n)).astype(dtype) * 1000 for n in (LANES, 6))
    half_norms = (0.5 * (y.astype(np.float64) ** 2).sum(axis=0)).astype(dtype)
    found = np.full(lanes, np.inf, dtype), np.full(lanes, np.inf, dtype), np.full(lanes, -1, np.int32)
    around = np.ascontiguousarray(y.T), half_norms, np.arange(6, dtype=np.int32)
    keep_nearest(x, around, np.arange(6, dtype=np.int32), np.empty((2, LANES), dtype), found)
    x, y = x[:, :lanes].astype(np.longdouble), y.astype(np.longdouble)
    scores = (y**2).sum(axis=0) / 2 - x.T @ y
    room = slack(dtype, 8).relative * (np.sqrt((x**2).sum(axis=0)) + np.sqrt((y**2).sum(axis=0)).max()) ** 2 / 2
    assert (found[2] == scores.argmin(axis=1)).all()
    for place in (0, 1):
        assert (abs(found[place] - np.sort(scores, axis=1)[:, place]) <= room).all()


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, width = draw(st.integers(1, 60)), draw(st.sampled_from(WIDTHS))
    X = dyadic(rng, n, width, draw(st.sampled_from(["random", "duplicated", "collinear", "constant"])))
    X = X.astype(draw(st.sampled_from([np.float32, np.float64])))
    k = draw(st.integers(1, min(n, 9)))
    w = rng.integers(0, 4, n) / 2 if draw(st.booleans()) else np.ones(n)
    w[rng.integers(n)] = 1.0
    start = X[rng.integers(0, n, k)] + (rng.integers(-2, 3, (k, width)) if draw(st.booleans()) else 0)
    return X, w, start.astype(X.dtype)


EMPTIED = np.array([[2.875], [1.125], [0.125], [-1.875], [-1.5]])  # both rows of a cluster leave it for empty ones


@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(1, 12), st.sampled_from([1, 2]))
@example((EMPTIED, np.ones(5), EMPTIED[[0, 0, 0, 4, 3]]), 1, 1)
def test_lloyd_is_the_naive_loop_bit_for_bit(problem, max_iter, threads):
    X, w, start = problem
    steps, centres, labels, inertia = oracle.lloyd(X, start, w, max_iter)
    fit = lloyd(as_points(X), start, w, max_iter=max_iter, threads=threads)
    assert fit.iterations == len(steps) - 1
    np.testing.assert_array_equal(fit.centres, centres)
    np.testing.assert_array_equal(fit.labels, labels)
    np.testing.assert_allclose(fit.inertia, inertia, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_every_iteration_has_the_naive_labels(dtype, width, offset):
    """Enough rows for several tiles and panels, far from the origin too; checked after each number of iterations."""
    rng = np.random.default_rng(width)
    X = (rng.normal(size=(3000, width)) + rng.integers(0, 4, (3000, 1)) * 2 + offset).astype(dtype)
    centres, w = X[:17].copy(), np.ones(3000)
    inertia = np.inf
    for iterations in range(1, 8):
        fit = lloyd(as_points(X), X[:17].copy(), w, max_iter=iterations)
        D = ((X[:, None, :].astype(float) - fit.centres[None].astype(float)) ** 2).sum(axis=2)
        np.testing.assert_array_equal(fit.labels, D.argmin(axis=1))
        np.testing.assert_allclose(fit.inertia, D.min(axis=1).sum(), rtol=1e-9)
        assert fit.inertia <= inertia
        inertia, centres = fit.inertia, fit.centres
    assert len(fit.history) == 7
    assert all(a >= b for a, b in zip(fit.history, fit.history[1:], strict=False))
    assert centres.dtype == dtype


@pytest.mark.parametrize("width", [2, 40])
def test_bits_do_not_depend_on_threads(width):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(9000, width)).astype(np.float32)
    w = rng.random(9000)
    fits = [KMeans(23, random_state=3, threads=threads, n_init=2).fit(X, sample_weight=w) for threads in (1, 2, 5)]
    for other in fits[1:]:
        np.testing.assert_array_equal(other.labels_, fits[0].labels_)
        np.testing.assert_array_equal(other.cluster_centers_, fits[0].cluster_centers_)
        assert other.inertia_ == fits[0].inertia_
        assert other.potentials_ == fits[0].potentials_


def test_bits_do_not_depend_on_how_the_work_is_cut(monkeypatch):
    """Pieces of one block each: swaps, restarts, sums and searches, dense and sparse."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 5)) * (rng.random((5000, 5)) < 0.5)
    start = np.concatenate([X[:6], np.full((4, 5), 99.0)])  # four clusters that start empty
    runs = [(X, start), (sp.csr_array(X), start), (X, "local-search++"), (sp.csr_array(X), "greedy-k-means++")]
    whole = [KMeans(10, init=init, random_state=0).fit(table) for table, init in runs]
    for room in (spans, local_search, means):
        monkeypatch.setattr(room, "WORK", 1.0)
    for (table, init), before in zip(runs, whole, strict=True):
        after = KMeans(10, init=init, random_state=0).fit(table)
        np.testing.assert_array_equal(after.labels_, before.labels_)
        np.testing.assert_array_equal(after.cluster_centers_, before.cluster_centers_)
        assert after.inertia_ == before.inertia_
    assert len(spans.split_rows(5000, cost=1, threads=1)) == 5


def test_sparse_rows_are_the_same_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 50)) * (rng.random((400, 50)) < 0.2)
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        dense = KMeans(6, random_state=0, tol=0).fit(X)
        sparse = KMeans(6, random_state=0, tol=0).fit(form(X))
        np.testing.assert_array_equal(sparse.labels_, dense.labels_)
        np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, atol=1e-12)
        np.testing.assert_allclose(sparse.inertia_, dense.inertia_, rtol=1e-12)
        np.testing.assert_allclose(sparse.transform(form(X)), dense.transform(X), atol=1e-7)


def test_weights_are_repetitions():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(200, 3)), rng.integers(0, 4, 200)
    once = KMeans(5, init=X[:5], tol=0).fit(X, sample_weight=w)
    again = KMeans(5, init=X[:5], tol=0).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(once.cluster_centers_, again.cluster_centers_, rtol=1e-12)
    np.testing.assert_allclose(once.inertia_, again.inertia_, rtol=1e-12)


def test_close_calls_are_decided_by_the_definition():
    """Centres that float32 products cannot tell apart: 1e-6 from each other, thousands from the origin."""
    rng = np.random.default_rng(2)
    for width in (4, 64):
        C = (3000 + rng.normal(size=(1, width)) + 2.0**-11 * rng.integers(-1, 2, (6, width))).astype(np.float32)
        X = np.concatenate([C + rng.integers(-2, 3, C.shape) * np.float32(2.0**-10) for _ in range(60)])
        np.testing.assert_array_equal(assign(as_points(X), C)[0], oracle.distances(X, C).argmin(axis=1))


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 1000), st.sampled_from([1, 3]))
def test_seeding_draws_as_defined(problem, seed, candidates):
    X, w, start = problem
    k = len(start)
    method = {"method": "greedy-k-means++", "n_local_trials": candidates} if candidates > 1 else {}
    indices, potential = oracle.plusplus(X, k, w, np.random.default_rng(seed), candidates)
    seeding = draw_seeds(X, k, sample_weight=w, random_state=seed, **method)
    np.testing.assert_array_equal(seeding.indices, indices + [indices[0]] * (k - len(indices)))
    np.testing.assert_array_equal(seeding.centres, X[seeding.indices])
    assert seeding.potential == potential


@pytest.mark.parametrize("method", ["k-means++", "random"])
def test_weights_count_in_seeding_and_a_row_of_weight_0_is_never_drawn(method):
    X = np.random.default_rng(3).integers(-64, 65, (60, 2)) / 8
    weights = np.where(np.arange(60) % 2, 1.0, 0.0)
    weights[1] = 1000.0  # of 1,029 in all
    drawn = [draw_seeds(X, 4, sample_weight=weights, random_state=seed, method=method).indices for seed in range(30)]
    assert (np.concatenate(drawn) % 2 == 1).all()
    assert np.mean([1 in indices for indices in drawn]) > 0.9


def test_pruning_skips_rows_and_changes_no_draw():
    """Thousands of rows in several blocks, wide ones too: the draws of the definition, all of them."""
    for width in (2, 80):
        X = np.random.default_rng(8).integers(-64, 65, (4000, width)) / 8
        D = np.full(4000, np.inf)
        seeding = draw_seeds(X, 30, random_state=4)
        rng = np.random.default_rng(4)
        for step, row in enumerate(seeding.indices):
            odds = D if step else np.ones(4000)
            assert row == oracle.draw(odds, rng.random(1)[0])
            D = np.minimum(D, ((X - X[row]) ** 2).sum(axis=1))
        assert seeding.potential == D.sum()


@settings(max_examples=40, deadline=None)
@given(problems(), st.integers(0, 1000))
def test_local_search_swaps_as_defined(problem, seed):
    X, w, start = problem
    rng = np.random.default_rng(seed)
    indices, before = oracle.plusplus(X, len(start), w, rng)
    indices, potential = oracle.local_search(X, indices, w, rng, 3 * len(start))
    seeding = draw_seeds(X, len(start), sample_weight=w, random_state=seed, method="local-search++")
    assert seeding.potential == potential <= before == seeding.drawn
    np.testing.assert_array_equal(seeding.indices, indices + [indices[0]] * (len(start) - len(indices)))


def pairs(k, gap, width=3):
    """k pairs of rows two apart, the pairs far from each other: the optimum for k clusters is 2k."""
    rng = np.random.default_rng(0)
    at = rng.permutation(8 * k)[:k, None] * gap * np.ones(width)
    step = np.eye(width)[0]
    return np.concatenate([at - step, at + step]), 2.0 * k


def test_the_seeding_theorem_holds_on_average_and_not_for_random_rows():
    X, optimum = pairs(12, gap=100.0)
    for method, within in (("k-means++", True), ("random", False)):
        mean = np.mean([draw_seeds(X, 12, method=method, random_state=s).potential for s in range(200)])
        assert (mean <= guarantee(12) * optimum) == within
    exact = [KMeans(12, n_init=10, random_state=s).fit(X).inertia_ for s in range(5)]
    assert exact == [optimum] * 5


def test_the_statement_of_quality_is_true_and_would_not_be_without_the_theorem():
    X, optimum = pairs(8, gap=5.0)
    false = naive = 0
    for s in range(100):
        potentials = [draw_seeds(X, 8, random_state=1000 * s + i).potential for i in range(4)]
        found = quality(optimum, potentials, 8, delta=0.2)
        assert found.ratio >= 1
        bound = np.exp(np.mean(np.log(potentials))) * 0.2**0.25
        false += bound / guarantee(8) > optimum
        naive += bound > optimum
    assert false <= 20 + 3 * 4
    assert naive > 50


def test_the_statement_of_quality_says_what_it_is():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = KMeans(4, n_init=10, random_state=0).fit(X)
    text = str(model.quality_)
    assert len(model.potentials_) == 10
    assert 1 < model.quality_.ratio < guarantee(4) * 2
    for words in ("95%", "proved limit, not an estimate", "10 random seedings", "not yet seen"):
        assert words in text
    assert KMeans(4, init="greedy-k-means++", random_state=0).fit(X).quality_ is None
    searched = KMeans(4, init="local-search++", n_init=10, random_state=0).fit(X)
    assert searched.quality_.optimum_at_least == model.quality_.optimum_at_least  # swaps do not weaken what is proved
    assert "nothing can be better" in str(KMeans(2, random_state=0).fit([[0.0], [1.0]]).quality_)
    assert KMeans(4, n_init=1, random_state=0).fit(X).quality_.ratio > model.quality_.ratio


@pytest.mark.parametrize("method", ["k-means++", "greedy-k-means++", "local-search++", "k-means||", "random"])
def test_every_seeding_is_repeatable_and_counts_its_potential(method):
    X = np.random.default_rng(3).normal(size=(2500, 4))
    w = np.random.default_rng(4).random(2500) * (np.arange(2500) % 3 > 0)
    a, b = (draw_seeds(X, 40, sample_weight=w, method=method, random_state=9, threads=t) for t in (1, 2))
    np.testing.assert_array_equal(a.indices, b.indices)
    assert len(set(a.indices)) == 40
    assert (w[a.indices] > 0).all()
    least = ((X[:, None] - a.centres[None]) ** 2).sum(axis=2).min(axis=1)
    np.testing.assert_allclose(a.potential, w @ least, rtol=1e-12)


def test_parallel_seeding_falls_back_when_its_rounds_find_too_few():
    X = np.repeat(np.arange(6.0), 5)[:, None]
    seeding = draw_seeds(X, 6, method="k-means||", random_state=0)
    assert seeding.potential == 0


def test_fewer_distinct_rows_than_clusters():
    X = np.repeat([[1.0, 2.0], [3.0, 4.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)"):
        model = KMeans(4, random_state=0).fit(X)
    assert model.inertia_ == 0
    assert model.cluster_centers_.shape == (4, 2)


def test_an_empty_cluster_starts_again_at_the_farthest_row():
    X = np.array([[0.0], [1.0], [2.0], [50.0]])
    model = KMeans(2, init=[[1.0], [900.0]], tol=0).fit(X)
    assert sorted(model.cluster_centers_.ravel()) == [1.0, 50.0]


@pytest.mark.parametrize("cuts", [[1] * 30, [7, 900, 3], [2000, 1]])
def test_cutting_the_stream_elsewhere_changes_nothing(cuts):
    X = np.random.default_rng(6).normal(size=(2500, 3))
    whole = KMeans(5, random_state=1, batch_size=300).partial_fit(X)
    cut = KMeans(5, random_state=1, batch_size=300)
    coreset, coreset_whole = Coreset(100, random_state=2), Coreset(100, random_state=2).feed(X)
    for part in np.split(X, np.cumsum(cuts)):
        cut.partial_fit(part)
        coreset.feed(part)
    np.testing.assert_array_equal(cut.cluster_centers_, whole.cluster_centers_)
    for a, b in zip(coreset.points(), coreset_whole.points(), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_buffer_may_be_filled_anew_after_each_piece(kind):
    X = np.random.default_rng(8).integers(1, 65, (90, 3)) / 8
    whole = KMeans(4, random_state=1, batch_size=40).partial_fit(kind(X), sample_weight=X[:, 0])
    model, buffer, weights = KMeans(4, random_state=1, batch_size=40), kind(X[:15].copy()), np.empty(15)
    values = buffer.data if sp.issparse(buffer) else buffer
    for first in range(0, 90, 15):
        values[...] = X[first : first + 15].reshape(values.shape)
        weights[:] = X[first : first + 15, 0]
        model.partial_fit(buffer, sample_weight=weights)
        values[...], weights[:] = 1e6, 7.0
    np.testing.assert_array_equal(model.cluster_centers_, whole.cluster_centers_)


def test_streams_come_near_the_batch_result():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(20000, 2)) + 8 * rng.integers(0, 3, (20000, 2))
    batch = KMeans(9, n_init=5, random_state=0).fit(X)
    halves = [Coreset(400, random_state=i).feed(half) for i, half in enumerate(np.array_split(X, 2))]
    points, weights = halves[0].merge(halves[1]).points()
    assert weights.sum() == 20000
    assert len(points) <= 400 * 8
    from_coreset = KMeans(9, n_init=5, random_state=0).fit(points, sample_weight=weights)
    assert -from_coreset.score(X) <= 1.1 * batch.inertia_
    stream = KMeans(9, random_state=0, batch_size=2000)
    for part in np.array_split(X, 13):
        stream.partial_fit(part)
    assert -stream.score(X) <= 1.5 * batch.inertia_


def test_partial_fit_waits_for_enough_rows_goes_on_after_fit_and_rejects_without_change():
    model = KMeans(3, random_state=0).partial_fit([[0.0], [1.0]])
    with pytest.raises(NotFittedError):
        model.predict([[0.0]])
    assert sorted(model.partial_fit([[5.0]]).cluster_centers_.ravel()) == [0.0, 1.0, 5.0]
    fresh = KMeans(1)
    with pytest.raises(DataError):
        fresh.partial_fit([[0.0, np.inf]])
    assert fresh.partial_fit([[3.0]]).cluster_centers_ == [[3.0]]
    before = model.cluster_centers_.copy()
    for bad in ([[np.nan]], [[1.0, 2.0]]):
        with pytest.raises(ValueError):
            model.partial_fit(bad)
    np.testing.assert_array_equal(model.partial_fit([[5.0]], sample_weight=[1e-300]).cluster_centers_, before)
    fitted = KMeans(2, init=[[0.0], [9.0]]).fit([[0.0], [8.0], [10.0]]).partial_fit([[12.0]])
    assert sorted(fitted.cluster_centers_.ravel()) == [0.0, 10.0]
    sparse = KMeans(2, random_state=0, batch_size=4)
    for row in sp.csr_array(np.eye(6)):
        sparse.partial_fit(sp.csr_array(row.reshape(1, -1)))
    assert sparse.cluster_centers_.shape == (2, 6)


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("sizes", [[20] * 6, [1] * 120, [45, 3, 52, 20]])
def test_a_piece_may_hold_no_row_that_counts(init, sizes):
    rng = np.random.default_rng(10)
    X, weights = rng.integers(-32, 33, (120, 2)) / 8, rng.integers(1, 4, 120).astype(float)
    weights[:20] = weights[60:100] = 0.0
    whole = KMeans(3, init=init, random_state=1, batch_size=40).partial_fit(X, sample_weight=weights)
    cut, coreset = KMeans(3, init=init, random_state=1, batch_size=40), Coreset(10)
    for rows in np.split(np.arange(120), np.cumsum(sizes)[:-1]):
        cut.partial_fit(X[rows], sample_weight=weights[rows])
        coreset.feed(X[rows], weights[rows])
    np.testing.assert_array_equal(cut.cluster_centers_, whole.cluster_centers_)
    np.testing.assert_array_equal(coreset.points()[1], Coreset(10).feed(X, weights).points()[1])


@pytest.mark.parametrize("init", [*METHODS, "array", "callable"])
def test_the_first_batch_of_a_stream_is_seeded_by_init(init):
    X = np.random.default_rng(9).integers(-32, 33, (60, 2)) / 8
    number = np.random.RandomState(0).randint(np.iinfo(np.int32).max)
    if init in METHODS:
        start = draw_seeds(X, 4, method=init, random_state=number).centres
        given = init
    else:
        start = np.array([[9.0, 9.0], [1.0, 1.0], [0.0, 0.0], [-5.0, 2.0]])
        given = start.copy() if init == "array" else lambda X, k, random_state: start
    model = KMeans(4, init=given, batch_size=60, random_state=0).partial_fit(X[:7])
    if init == "array":
        given[:] = 0.0
    model.partial_fit(X[7:])
    np.testing.assert_array_equal(model.cluster_centers_, lloyd(as_points(X), start, np.ones(60)).centres)


def test_an_init_that_does_not_fit_is_refused_with_the_first_piece():
    model = KMeans(2, init=[[0.0, 1.0]], batch_size=10)
    with pytest.raises(ValueError, match="initial centers"):
        model.partial_fit([[0.0, 0.0]])
    model.set_params(init=[[0.0], [1.0]]).partial_fit([[0.0], [4.0]])
    assert model.cluster_centers_.tolist() == [[0.0], [4.0]]


BAD = {
    "more clusters than rows": ({"n_clusters": 4}, [[0.0], [1.0]], "n_clusters=4"),
    "no cluster": ({"n_clusters": 0}, [[0.0]], "n_clusters"),
    "NaN": ({}, [[np.nan]], "NaN"),
    "infinity": ({}, [[np.inf]], "infinity"),
    "empty": ({}, np.empty((0, 2)), "0 sample"),
    "one dimension": ({}, [1.0, 2.0], "2D"),
    "text": ({}, [["a"]], "could not convert"),
    "complex": ({}, np.array([[1j]]), "omplex"),
    "overflow": ({"n_clusters": 1}, [[1e200]], "rescale"),
    "iterations": ({"n_clusters": 1, "max_iter": 0}, [[0.0]], "max_iter"),
    "seedings": ({"n_clusters": 1, "n_init": 0}, [[0.0]], "n_init"),
    "tolerance": ({"n_clusters": 1, "tol": -1.0}, [[0.0]], "tol"),
    "init": ({"n_clusters": 1, "init": "nearest"}, [[0.0]], "init must be one of"),
    "init's shape": ({"n_clusters": 1, "init": [[0.0, 1.0]]}, [[0.0]], "initial centers"),
    "init's values": ({"n_clusters": 1, "init": [[np.nan]]}, [[0.0]], "init holds NaN"),
    "threads": ({"n_clusters": 1, "threads": 0}, [[0.0]], "threads"),
    "delta": ({"n_clusters": 1, "delta": 1.0}, [[0.0]], "delta"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_named(case):
    parameters, X, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        KMeans(**parameters).fit(X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [([1.0], "one weight a row"), ([1.0, -1.0], "not negative"), ([np.nan, 1], "finite"), ([0, 0], "zero everywhere")],
)
def test_bad_weights_are_named(weights, message):
    runs = [KMeans(1).fit, lambda X, sample_weight: kmeans_plusplus(X, 1, sample_weight=sample_weight)]
    if any(weights):
        runs.append(KMeans(1).partial_fit)  # what follows may count
    for run in runs:
        with pytest.raises(DataError, match=message):
            run([[0.0], [1.0]], sample_weight=weights)


def test_bad_seeding_options_and_coresets_are_named():
    with pytest.raises(ValueError, match="method"):
        draw_seeds([[0.0]], 1, method="best")
    with pytest.raises(ValueError, match="n_local_trials"):
        draw_seeds([[0.0]], 1, n_local_trials=3)
    with pytest.raises(ValueError, match="n_local_trials"):
        kmeans_plusplus([[0.0]], 1, n_local_trials=0)
    with pytest.raises(DataError, match="positive weight"):
        draw_seeds([[0.0], [1.0]], 2, method="random", sample_weight=[0.0, 1.0])
    with pytest.raises(ValueError, match="size"):
        Coreset(0)
    with pytest.raises(DataError, match="no rows"):
        Coreset(3).points()
    with pytest.raises(DataError, match="2 columns"):
        Coreset(3).feed([[0.0]]).feed([[0.0, 1.0]])
    with pytest.raises(DataError, match="sparse"):
        Coreset(3).feed(sp.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="sizes 3 and 4"):
        Coreset(3).merge(Coreset(4))
    broken = sp.csr_array(np.eye(3))
    broken.indices[0] = 99
    with pytest.raises(ValueError):
        kmeans_plusplus(broken, 1)


def test_float32_beyond_its_squares_is_widened():
    model = KMeans(2, random_state=0).fit(np.array([[1e25], [2e25], [-1e25]], dtype=np.float32))
    assert model.cluster_centers_.dtype == np.float64
    assert np.isfinite(model.inertia_)


def test_callback_and_verbose_follow_the_iterations(capsys):
    X, seen = np.random.default_rng(0).normal(size=(100, 2)), []
    model = KMeans(3, random_state=0, verbose=1, callback=lambda *step: seen.append(step)).fit(X)
    assert [step[0] for step in seen] == list(range(1, model.n_iter_ + 1))
    assert [step[1] for step in seen] == model.history_
    assert capsys.readouterr().out.count("Iteration") == model.n_iter_


def test_kernels_run_without_the_compiler():
    script = """
import numpy as np
from onepass.cluster.kmeans import lloyd
from onepass.cluster.points import as_points
from onepass.cluster.seeding import draw_seeds
X = np.random.default_rng(0).normal(size=(150, 3)).astype(np.float32)
for rows in (X, np.repeat(X, 12, axis=1)):
    seeding = draw_seeds(rows, 4, random_state=0)
    fit = lloyd(as_points(rows), seeding.centres, np.ones(150), max_iter=4)
    print(seeding.indices.tolist(), fit.labels.sum(), float(fit.centres.sum()).hex(), fit.inertia.hex())
"""
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "NUMBA_DISABLE_JIT": off},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for off in ("0", "1")
    ]
    assert outputs[0] == outputs[1]
    assert outputs[0].count("\n") == 2


EXPECTED_FAILURES = {  # scikit-learn's own KMeans is excused too: draws go by row, so repeated rows are drawn otherwise
    "check_sample_weight_equivalence_on_dense_data": "seeds are drawn row by row",
    "check_sample_weight_equivalence_on_sparse_data": "seeds are drawn row by row",
}


@parametrize_with_checks([KMeans()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
