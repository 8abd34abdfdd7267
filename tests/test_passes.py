"""Pass: bad input, growing, stopping, restoring. A rejected batch leaves everything as it was."""

import copy
import json
import math
import pickle
from itertools import pairwise

import numba
import numpy as np
import pytest
import scipy.sparse

import onepass.validate
from onepass.conversions import CONVERSIONS
from onepass.errors import ConversionError, DataError, LimitError, StoppedError
from onepass.guards import Guards
from onepass.passes import Pass
from onepass.rows import Dense, Rows, dots, scan
from onepass.scaling import AUTO_ROWS
from onepass.trace import combine
from strategies import csr, cuts, dyadic
from test_learners import same_state

X, Y = dyadic(0, 120, 5)


def csr_parts(indptr, indices, values):
    return Rows(np.array(indptr), np.array(indices), np.array(values, dtype=float))


BAD = {
    "nan": (np.array([[1.0, np.nan, 0, 0, 0]]), [1], "row 0: feature 1: nan is not a finite number"),
    "inf": (np.array([[1.0, 0, 0, 0, 0], [0, 0, 0, -np.inf, 0]]), [1, 1], "row 1: feature 3: -inf is not"),
    "sparse nan": (csr(np.array([[1.0, 0, np.nan, 0, 0]])), [1], "feature 2: nan"),
    "1e308": (np.array([[1e308, 0, 0, 0, 0]]), [1], "too large to be squared"),
    "float32 inf": (np.array([[np.inf, 0, 0, 0, 0]], dtype=np.float32), [1], "not a finite number"),
    "one dimension": (np.ones(5), [1], "two dimensions expected"),
    "three dimensions": (np.ones((1, 1, 5)), [1], "two dimensions expected"),
    "ragged": ([[1.0, 2.0], [1.0]], [1, 1], "not a table of numbers"),
    "complex": (np.ones((1, 5), dtype=complex), [1], "dtype complex128"),
    "object": (np.array([[object()] * 5]), [1], "dtype object"),
    "text": (np.array([["a"] * 5]), [1], "numbers expected"),
    "other width": (np.ones((1, 6)), [1], "6 features, but 5 are expected"),
    "too few labels": (np.ones((2, 5)), [1], "1 labels for 2 rows"),
    "labels in a table": (np.ones((2, 5)), [[1], [1]], "one label per row"),
    "nan label": (np.ones((2, 5)), [1, math.nan], "row 1: label nan"),
    "complex label": (np.ones((1, 5)), [1j], "numbers or strings expected"),
    "many labels": (np.ones((60, 5)), range(60), "label [0-9]+ is number 51, and at most 50 classes may be met"),
    "text label": (np.ones((1, 5)), ["spam"], "the classes are numbers, but these labels are text"),
    "negative index": (csr_parts([0, 1], [-1], [1]), [1], "row 0: feature index -1 is negative"),
    "index too large": (
        csr_parts([0, 0, 1], [1 << 24], [1]),
        [1, 1],
        "row 1: feature index 16777216 .*max_features",
    ),
    "index 2^31": (csr_parts([0, 1], [1 << 31], [1]), [1], "max_features"),
    "index 2^40": (csr_parts([0, 1], [1 << 40], [1]), [1], "max_features"),
    "falling indptr": (csr_parts([0, 2, 1], [0, 1], [1, 1]), [1, 1], "broken indptr"),
    "indptr past the end": (csr_parts([0, 9], [0], [1]), [1], "broken indptr"),
    "negative indptr": (csr_parts([-1, 1], [0], [1]), [1], "broken indptr"),
    "float indptr": (Rows(np.array([0.0, 1.0]), np.array([0]), np.array([1.0])), [1], "must be integers"),
    "short values": (csr_parts([0, 1], [0, 1], [1]), [1], "2 indices for 1 values"),
    "empty indptr": (csr_parts([], [], []), [], "indptr not empty"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("learner", ["perceptron", "margin"])
def test_bad_rows_are_named_and_change_nothing(what, learner):
    rows, labels, message = BAD[what]
    run = Pass(learner, watch=True)
    run.feed(X, Y)
    before = run.state()
    with pytest.raises(DataError, match=message):
        run.feed(rows, labels)
    assert same_state(before, run.state())


def test_a_bad_row_far_into_a_batch_changes_nothing():
    run = Pass()
    run.feed(X, Y)
    before = run.state()
    many = np.tile(X, (20_000, 1))
    many[-1, -1] = np.nan
    with pytest.raises(DataError, match="row 2399999: feature 4"):
        run.feed(many, np.tile(Y, 20_000))
    assert same_state(before, run.state())


SPOILS = {
    "nan": lambda rows, i: rows.data.__setitem__(i, np.nan),
    "inf": lambda rows, i: rows.data.__setitem__(i, -np.inf),
    "1e300": lambda rows, i: rows.data.__setitem__(i, 1e300),
    "negative index": lambda rows, i: rows.indices.__setitem__(i, -1),
    "index past the width": lambda rows, i: rows.indices.__setitem__(i, 1 << 25),
}


@pytest.mark.parametrize("at", [0, 700, -1])
@pytest.mark.parametrize("what", SPOILS)
@pytest.mark.parametrize("block", [64, 1 << 20])  # a batch has many blocks, or is one
def test_rows_checked_on_the_way_change_nothing_if_one_is_bad(monkeypatch, what, at, block):
    monkeypatch.setattr(onepass.validate, "BLOCK", block)
    run = Pass("pa")
    run.feed(X, Y)
    before = run.state()
    many = csr(np.tile(X, (9, 1)))
    SPOILS[what](many, at)
    with pytest.raises(DataError, match="X: row"):
        run.feed(many, np.tile(Y, 9))
    assert same_state(before, run.state())


UNFIT = {
    "not a number": ("values", lambda at: np.nan),
    "infinite": ("values", lambda at: np.inf),
    "too large": ("values", lambda at: -(2.0**480) * (1 + 2**-52)),
    "negative": ("indices", lambda at: -1 - at),
    "as before": ("indices", lambda at: 3 * at - 3),
    "past the width": ("indices", lambda at: 60),
}


@pytest.mark.parametrize("kernels", ["compiled", "interpreted"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("behind", [0, 3, 200])
def test_a_kernel_sees_whether_the_row_is_fit_for_it(kernels, dtype, behind):
    """Of any length, wherever the fault is, and whether or not there are rows behind whose weights to ask for."""
    both = [numba.njit(lambda rows, i, w: scan(rows, i, w)), numba.njit(lambda rows, i, W, out: dots(rows, i, W, out))]
    one, several = both if kernels == "compiled" else (scan, dots)
    w, W = np.arange(60.0) - 30, np.arange(120.0).reshape(60, 2) - 50
    for n in range(14):
        indices = np.concatenate([3 * np.arange(n), np.full(behind, 59)]).astype(np.int32)
        values = np.concatenate([np.arange(n) - 4.0, np.ones(behind)]).astype(dtype)
        rows, x = Rows(np.array([0, n]), indices, values), values[:n].astype(np.float64)
        width, out = 3 * n - 2 if n else 0, np.zeros(2)
        assert one(rows, np.uint64(0), w) == (w[indices[:n]] @ x, x @ x, width)
        assert several(rows, np.uint64(0), W, out) == (x @ x, width)
        assert out.tolist() == (W[indices[:n]].T @ x).tolist()
        for name, (where, what) in UNFIT.items():
            for at in range(n):
                if name == "too large" and dtype is np.float32:
                    continue  # there is no such number
                bad = rows._replace(**{where: getattr(rows, where).copy()})
                getattr(bad, where)[at] = what(at)
                with np.errstate(over="ignore", invalid="ignore"):
                    assert one(bad, np.uint64(0), w)[2] == several(bad, np.uint64(0), W, out)[1] == -1, (name, at, n)
                    dense = Dense(values[None, :n].copy())
                    dense.values[0, at] = what(at) if where == "values" else 0.0
                    verdict = -1 if where == "values" else n
                    assert one(dense, np.uint64(0), w)[2] == several(dense, np.uint64(0), W, out)[1] == verdict


@pytest.mark.parametrize("kernels", ["compiled", "interpreted"])
def test_the_largest_values_are_fit(kernels):
    look = numba.njit(lambda rows, i, w: scan(rows, i, w)) if kernels == "compiled" else scan
    for n in range(1, 10):
        rows = Rows(np.array([0, n]), np.arange(n, dtype=np.int32), np.full(n, 2.0**480))
        assert look(rows, np.uint64(0), np.ones(n)) == look(Dense(rows.values[None]), np.uint64(0), np.ones(n))
        assert look(rows, np.uint64(0), np.ones(n)) == (n * 2.0**480, n * 2.0**960, n)


@pytest.mark.parametrize("learner", ["perceptron", "margin", "pa"])
@pytest.mark.parametrize("memory", [256 << 20, 6000])
@pytest.mark.parametrize("block", [64, 1 << 20])
def test_rows_checked_on_the_way_are_learned_like_any(monkeypatch, learner, memory, block):
    many, labels = csr(np.tile(X, (9, 1))), np.tile(Y, 9)
    shuffled = many.copy()  # the last rows have falling indices
    for i in range(1000, 1080):
        piece = slice(shuffled.indptr[i], shuffled.indptr[i + 1])
        shuffled.indices[piece], shuffled.data[piece] = shuffled.indices[piece][::-1], shuffled.data[piece][::-1]
    for rows, same in ((many, many), (shuffled, many), (many.toarray(), many.toarray())):
        whole, run = (Pass(learner, max_trace_memory=memory) for _ in range(2))
        with monkeypatch.context() as patch:
            patch.setattr(Pass, "_learn_unchecked", lambda *given: False)  # every row is looked at before
            whole.feed(same, labels)
        monkeypatch.setattr(onepass.validate, "BLOCK", block)
        run.feed(rows, labels)
        assert same_state(whole.state(), run.state())
        assert np.array_equal(run.model().weights, whole.model().weights)
        assert run.certificate() == whole.certificate()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", ["perceptron", "pa"])
def test_rows_that_grow_wider_are_learned_once(monkeypatch, learner, classes):
    """A batch whose width is met only while it is learned is put back and learned again, with nothing left behind."""
    rng = np.random.default_rng(5)
    batches = []
    for width in (6, 40, 41, 30, 200):
        narrow, labels = dyadic(width, 300, 6, classes)
        wide = np.zeros((300, width))
        wide[:, :6] = narrow
        wide[rng.integers(100, 300, 20), width - 1] = 1.0
        batches.append((csr(wide), labels))
    named = range(classes) if classes > 2 else [-1, 1]
    looked, run = (Pass(learner, classes=named) for _ in range(2))
    for rows, labels in batches:
        run.feed(Rows(rows.indptr, rows.indices, rows.data), labels)
        with monkeypatch.context() as patch:
            patch.setattr(Pass, "_learn_unchecked", lambda *given: False)
            looked.feed(rows, labels)
        assert same_state(looked.state(), run.state())
    assert run.width == 200


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"learner": "perceptrn"}, "did you mean 'perceptron'"),
        ({"delta": 0}, "delta: "),
        ({"delta": 1.5}, "delta: "),
        ({"horizon": -1}, "horizon: "),
        ({"horizon": 2.5}, "horizon: "),
        ({"radius": -1.0}, "radius: "),
        ({"radius": math.inf}, "radius: "),
        ({"radius": "big"}, "radius: "),
        ({"cutoffs": "some"}, "cutoffs: "),
        ({"conversion": "median"}, "conversion: "),
        ({"bound": "x"}, "bound: "),
        ({"classes": [1]}, "classes: "),
        ({"classes": [1, 1]}, "classes: "),
        ({"n_features": 0}, "n_features: "),
        ({"max_features": 1 << 31}, "max_features: "),
        ({"max_trace_memory": -1}, "max_trace_memory: "),
        ({"watch": "average"}, "watch: "),
        ({"expected_rows": 0}, "expected_rows: "),
        ({"max_watch_memory": -1}, "max_watch_memory: "),
        ({"max_false_alarm": 0.0}, "max_false_alarm: "),
        ({"max_miss": 1.0}, "max_miss: "),
        ({"min_precision": math.nan}, "min_precision: "),
        ({"max_miss": 0.1, "min_precision": 0.9}, "max_miss and min_precision: "),
        ({"max_miss": 0.1, "conversion": "average"}, "a miss rate of at most 10 % is kept by a watched model"),
        ({"max_miss": 0.1, "classes": [0, 1, 2]}, "a threshold cuts the scores of two classes; here are 3"),
        ({"positive": "c", "classes": ["a", "b"]}, "positive: 'c' is not one of the classes a, b"),
        ({"positive": 1, "classes": [0, 1, 2]}, "positive: one of two classes is meant, and here are 3"),
        ({"cost": [[0, 1], [1, 0]]}, "cost: a table"),
        ({"cost": {("a", "b"): 1.0}}, r"cost: \(b, a\) is missing"),
        ({"cost": {("a", "a"): 1.0}}, "cost: at least two classes expected"),
        ({"cost": {("a", "b"): 1.0, ("b", "a"): -1.0}}, "cost: of .* a finite number from 0 on"),
        ({"cost": {("a", "b"): math.inf, ("b", "a"): 1.0}}, "cost: of .* a finite number from 0 on"),
        ({"cost": {("a", "b"): 0.0, ("b", "a"): 0.0}}, "cost: one of them must be above 0"),
        ({"cost": {("a", "b"): 1.0, ("b", "c"): 1.0}}, r"cost: \(a, c\), \(b, a\), \(c, a\), \(c, b\) are missing"),
        ({"cost": {(a, 0): 1.0 for a in range(9)}}, "and 56 more are missing"),
        ({"cost": {("a", "b"): 1.0, ("b", "a"): 1.0}, "classes": ["a", "c"]}, "cost: it speaks of"),
        ({"cost": {("a", "b"): 1.0, ("b", "a"): 1.0}, "max_miss": 0.1}, "cost: a threshold's target"),
        ({"cost": {("a", "b"): 1.0, ("b", "a"): 1.0}, "conversion": "longest"}, "cost: .* the conversion frozen"),
        ({"validation_fraction": 1.0}, "validation_fraction: "),
        ({"stop_at": 0.0}, "stop_at: "),
        ({"horizon": math.inf}, "horizon: a whole number"),
        ({"max_trace_memory": math.nan}, "max_trace_memory: a whole number"),
        ({"seed": -1}, "seed: a whole number"),
        ({"learner": "margin", "classes": [0, 1], "origin": [[0.0], [-10.0]]}, "origin: .* unit ball"),
    ],
)
def test_bad_options_are_named(options, name):
    with pytest.raises(ValueError, match=name):
        Pass(**options)


def test_bad_parameters_of_learners_are_named():
    from onepass.learners import MarginPerceptron, PassiveAggressive

    for learner, name in (
        (MarginPerceptron("cube"), "projection: "),
        (PassiveAggressive(C=0.0), "C: "),
        (PassiveAggressive(variant=3), "variant: "),
    ):
        with pytest.raises(ValueError, match=name):
            Pass(learner)
    with pytest.raises(TypeError, match="learner: "):
        Pass(3)


def test_empty_batches_are_nothing():
    run, plain = Pass(n_features=5), Pass(n_features=5)
    run.feed(np.zeros((0, 5)), [])
    run.feed(csr(np.zeros((0, 5))), np.array([], dtype=int))
    run.feed(X, Y)
    plain.feed(X, Y)
    states = [dict(one.state(), intake=one.intake.labels) for one in (run, plain)]
    assert same_state(*states)
    with pytest.raises(ConversionError, match="no row"):
        Pass().model()


def test_one_class_is_learned_and_predicted():
    run = Pass()
    run.feed(X, np.ones(len(X), dtype=int))
    assert set(run.model().predict(X).tolist()) == {1}


@pytest.mark.parametrize(
    "same",
    [
        lambda A: A.astype(np.float32),
        lambda A: np.asfortranarray(A),
        lambda A: (8 * A).astype(np.int16) / np.float32(8),
        lambda A: A.astype(np.float16),
        lambda A: scipy.sparse.csc_array(A),
        lambda A: scipy.sparse.coo_matrix(A),
        lambda A: with_int64(scipy.sparse.csr_array(A)),
        lambda A: unsorted(scipy.sparse.csr_array(A)),
        lambda A: doubled(scipy.sparse.csr_array(A)),
        lambda A: A.tolist(),
        lambda A: Dense(A),
        lambda A: read_only(A),
        lambda A: read_only(scipy.sparse.csr_array(A)),
        lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    ],
)
def test_every_layout_gives_the_same_model(same):
    one, other = Pass(), Pass()
    one.feed(X, Y)
    other.feed(same(X), Y)
    np.testing.assert_array_equal(one.model().weights, other.model().weights)
    np.testing.assert_allclose(one.model().decision(X), one.model().decision(same(X)), rtol=1e-13)


def with_int64(A):
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


def unsorted(A):
    for i in range(A.shape[0]):
        part = slice(A.indptr[i], A.indptr[i + 1])
        A.indices[part], A.data[part] = A.indices[part][::-1].copy(), A.data[part][::-1].copy()
    A.has_sorted_indices = False
    return A


def doubled(A):
    """Every entry twice, at half its value."""
    return scipy.sparse.csr_array((np.repeat(A.data / 2, 2), np.repeat(A.indices, 2), A.indptr * 2), shape=A.shape)


def read_only(A):
    for array in (A.data, A.indices, A.indptr) if scipy.sparse.issparse(A) else (A := A.copy(),):
        array.flags.writeable = False
    return A


def test_memory_limit_is_refused_before_anything_is_learned():
    wide = scipy.sparse.csr_array((np.ones(200), (np.arange(200), np.arange(200) * 1000)), shape=(200, 200_000))
    run = Pass("perceptron", conversion="cutoff", max_trace_memory=10_000)
    before = run.state()
    with pytest.raises(LimitError, match="Raise max_trace_memory to"):
        run.feed(wide, np.arange(200) % 2)
    assert same_state(before, run.state())


def test_stop_at_stops_at_a_round_that_no_cutting_changes():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(6000, 4))
    labels = np.where(A[:, 0] > 0, 1, -1)
    whole, pieces = (Pass("perceptron", stop_at=0.05) for _ in range(2))
    whole.feed(A, labels)
    border = cuts(0, 6000, 90)
    for first, last in pairwise(border):
        if not pieces.stopped:
            pieces.feed(A[first:last], labels[first:last])
    assert whole.stopped
    assert 200 < whole.rounds < 6000
    assert whole.rounds == pieces.rounds
    assert same_state(whole.state(), pieces.state())
    assert whole.certificate().risk <= 0.05
    with pytest.raises(StoppedError, match="stop_at"):
        whole.feed(A, labels)
    whole.stop_at = None
    rest = whole.rounds
    whole.feed(A[:10], labels[:10])
    assert whole.rounds == rest + 10


def test_radius_auto_reads_a_thousand_rows_and_does_not_count_them():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(AUTO_ROWS + 500, 3))
    labels = np.where(A[:, 0] > 0, 1, -1)
    auto = Pass("margin", radius="auto")
    for first in range(0, len(A), 70):
        auto.feed(A[first : first + 70], labels[first : first + 70])
    R = float(np.linalg.norm(A[:AUTO_ROWS], axis=1).max())
    fixed = Pass("margin", radius=R)
    fixed.feed(A[AUTO_ROWS:], labels[AUTO_ROWS:])
    assert (auto.rounds, auto.rows) == (500, AUTO_ROWS + 500)
    np.testing.assert_array_equal(auto.model().weights, fixed.model().weights)
    assert auto.certificate().risk == fixed.certificate().risk
    zeros = Pass("margin", radius="auto")
    with pytest.raises(DataError, match="all zero"):
        zeros.feed(np.zeros((AUTO_ROWS, 2)), np.arange(AUTO_ROWS) % 2)


def test_rows_outside_the_radius_are_scaled_in_prediction_too():
    run = Pass("margin", radius=0.5, classes=[-1, 1])
    run.feed(X, Y)
    model = run.model()
    long = X[np.linalg.norm(X, axis=1) > 0.5][:5]
    norms = np.linalg.norm(long, axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision(long), model.decision(long * 0.5 / norms))
    assert (np.abs(model.decision(1e6 * long)) <= math.sqrt(1.25) + 1e-9).all()


def test_state_can_be_taken_and_restored():
    rng = np.random.default_rng(1)
    A, labels = rng.normal(size=(500, 4)), rng.choice([-1, 1], size=500)
    for options in ({}, {"max_trace_memory": 2_000}, {"watch": True, "validation_fraction": 0.2}):
        whole, first, second = (Pass("margin", radius=2.0, **options) for _ in range(3))
        whole.feed(A, labels)
        first.feed(A[:230], labels[:230])
        state = first.state()
        first.feed(A[:50], labels[:50])  # what happens later does not reach into the state
        second.restore(state)
        second.feed(A[230:], labels[230:])
        assert same_state(whole.state(), second.state())
        assert whole.certificate() == second.certificate()


def test_traces_do_not_change_when_the_pass_goes_on():
    for options in ({}, {"max_trace_memory": 1_500}):
        run = Pass("perceptron", conversion="cutoff", watch=True, **options)
        run.feed(X[:60], Y[:60])
        trace = run.trace()
        weights, risk = trace.last.copy(), run.certificate().risk
        run.feed(X[60:], Y[60:])
        np.testing.assert_array_equal(trace.last, weights)
        from onepass.certificates import certify

        assert certify(trace).risk == risk


def test_a_trace_with_its_rows_outlives_their_folding():
    average = CONVERSIONS["average"].weights
    run = Pass("perceptron", conversion="cutoff", max_trace_memory=2_000)
    run.feed(X[:30], Y[:30])
    trace = run.trace()
    before = average(trace, None)
    for i in range(30, 120, 10):
        run.feed(X[i : i + 10], Y[i : i + 10])
    assert trace.log is not None
    assert run.trace().log is None
    assert trace.updates < run.trace().updates
    np.testing.assert_array_equal(average(trace, None), before)


def test_votes_equal_the_majority_of_all_hypotheses():
    from test_theorems import every_hypothesis

    for classes in (2, 3):
        A, labels = dyadic(5, 150, 4, classes)
        run = Pass("perceptron", conversion="cutoff", classes=range(classes) if classes > 2 else [-1, 1])
        run.feed(A, labels)
        trace = run.trace()
        q = trace.survival
        if classes == 2:
            scores = np.column_stack([np.ones(len(A)), A]) @ every_hypothesis(trace)
            votes = (np.sign(scores) * q).sum(axis=1) / q.sum()
            np.testing.assert_allclose(run.model("average", how="vote").decision(A), votes, atol=1e-15)
        else:
            shares = run.model("average", how="vote").decision(csr(A))
            assert (shares.sum(axis=1) <= 1).all()
            assert (run.model("average", how="vote").predict(A) == labels).mean() > 0.6
    frozen = Pass("perceptron", conversion="cutoff", watch=True)
    frozen.feed(X, Y)
    with pytest.raises(ConversionError, match="vote"):
        frozen.model("frozen", how="vote")
    with pytest.raises(ValueError, match="how: "):
        run.model(how="guess")


def test_withheld_certificates_say_why():
    run = Pass()
    run.feed(X, Y)
    run.withhold("the rows were fed twice")
    assert math.isnan(run.certificate().risk)
    assert "fed twice" in str(run.certificate())


def test_models_refuse_wider_rows():
    run = Pass()
    run.feed(X, Y)
    with pytest.raises(DataError, match="trained on 5"):
        run.model().predict(np.ones((1, 6)))
    np.testing.assert_array_equal(
        run.model().decision(csr(X[:, :3])), run.model().decision(np.column_stack([X[:, :3], np.zeros((120, 2))]))
    )


def test_a_sparse_array_of_one_dimension_is_one_row():
    run = Pass(n_features=5)
    run.feed(scipy.sparse.coo_array(np.ones(5)), [1])
    assert run.rows == 1


def test_an_error_beside_the_learning_is_raised_once(monkeypatch):
    monkeypatch.setattr(onepass.validate, "BLOCK", 64)
    run = Pass(n_features=X.shape[1])
    with monkeypatch.context() as patch:
        patch.setattr(Guards, "observe", lambda *given: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            run.feed(X, Y)
    run.feed(X, Y)
    assert run.rounds == 2 * len(Y)


def test_nothing_stops_before_two_labels_have_been_met():
    """The first rows of sorted data have one label, which is easily learned, and no alarm can hear that."""
    rows, y = np.repeat([[1.0, 0.0], [0.0, 1.0]], 3000, axis=0), np.repeat([0, 1], 3000)
    run = Pass(stop_at=0.05, conversion="frozen", classes=[0, 1])
    run.feed(rows, y)
    assert run.rows == 6000
    assert run.certificate().withheld is not None


def test_options_may_be_scalars_of_numpy_and_come_out_plain():
    run = Pass("margin", horizon=np.int64(600), radius=np.float32(2.0), n_features=5.0, delta=np.float64(0.1))
    run.feed(X, Y)
    json.dumps(run.model().about)
    assert (type(run.n_features), run.n_features) == (int, 5)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda run: pickle.loads(pickle.dumps(run))])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"learner": "pa"},
        {"learner": "margin"},
        {"learner": "perceptron", "conversion": "cutoff", "max_trace_memory": 2_000},
    ],
)
def test_a_copy_goes_on_by_itself(copied, options):
    """Wider rows follow, so that the copy must make room for weights of its own."""
    wide = np.hstack([X, X[:, ::-1]])
    alone, run = Pass(**options), Pass(**options)
    for other in (alone, run):
        other.feed(csr(X), Y)
    twin = copied(run)
    for part in (wide[:60], wide[60:]):
        alone.feed(csr(part), Y[: len(part)])
    for part in (wide[:60], wide[60:]):
        twin.feed(csr(part), Y[: len(part)])
        run.feed(csr(part), Y[: len(part)])
    for other in (run, twin):
        assert other.certificate() == alone.certificate()
        for conversion in ("last", "average", "cutoff"):
            np.testing.assert_array_equal(other.model(conversion).weights, alone.model(conversion).weights)


def test_a_radius_that_cannot_be_measured_leaves_the_pass_as_it_was():
    run = Pass(radius="auto")
    with pytest.raises(DataError, match="all zero"):
        run.feed(np.zeros((AUTO_ROWS + 500, 5)), np.resize([0, 1], AUTO_ROWS + 500))
    assert run.rows == 0
    run.feed(np.resize(X, (AUTO_ROWS + 500, 5)), np.resize(Y, AUTO_ROWS + 500))
    assert run.rounds == 500


def test_a_model_wants_all_the_columns_of_dense_rows():
    run = Pass()
    run.feed(X, Y)
    with pytest.raises(DataError, match="X: 2 features, but the model was trained on 5"):
        run.model().predict(X[:3, :2])


def test_a_certificate_is_deployed_as_it_was_given_or_refused():
    X, y = dyadic(1, 400, 5, noise=0.2)
    run = Pass("margin", conversion="cutoff", classes=[-1, 1], radius=4.0, watch=True)
    run.feed(X[:300], y[:300])
    for conversion in ("cutoff", "frozen"):
        for asked in ({"delta": 1e-9}, {"bound": "dekel2008"}, {"loss": "zero_one"}):
            if conversion == "frozen" and "bound" in asked:
                continue
            certificate = run.certificate(conversion, **asked)
            model = run.model(certificate)
            assert model.about["certificate"] == certificate.as_dict()
            np.testing.assert_array_equal(model.weights, run.model(conversion, **asked).weights)
            if conversion == "cutoff":
                weights = combine(run.trace(), CONVERSIONS["cutoff"].members(run.trace(), certificate.choice.value))
            else:
                weights = run.trace().hypotheses.watched(certificate.choice.value)
            np.testing.assert_array_equal(model.weights, weights)
    other = Pass("margin", classes=[-1, 1], radius=4.0)
    other.feed(X[100:], y[100:])
    with pytest.raises(ConversionError, match="not from this pass"):
        other.model(run.certificate(delta=0.3))
    certificate = run.certificate()
    run.feed(X[300:], y[300:])
    with pytest.raises(ConversionError, match="after 300 rounds, and the pass has learned 400"):
        run.model(certificate)


def test_a_pass_tells_where_it_started():
    begun = Pass("perceptron", conversion="cutoff", origin=[[1.0], [2.0]], elapsed=np.int64(500))
    assert (begun.elapsed, type(begun.elapsed), begun.origin.tolist()) == (500, int, [[1.0], [2.0]])
    begun.origin[:] = 7.0  # a copy: the pass has its own
    begun.feed([[1.0], [-1.0]], [1, 0])
    assert begun.origin.tolist() == [[1.0], [2.0]]
    assert (Pass("perceptron", conversion="cutoff").elapsed, Pass("perceptron", conversion="cutoff").origin) == (
        0,
        None,
    )
    with pytest.raises(ValueError, match="elapsed: "):
        Pass("perceptron", conversion="cutoff", elapsed=-1)


def test_among_rows_that_are_not_counted_validation_certifies_nothing():
    X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 2
    run = Pass(conversion="validation", validation_fraction=0.3, classes=[0, 1], uncounted_rows=10)
    run.feed(X[:9], y[:9])
    assert run.certificate().withheld is not None
    assert (run.certificate().counted, run.certificate().choice.value) == (0, None)
    assert run.model().decision(X).shape == (20,)
    run.feed(X[9:], y[9:])
    assert run.certificate().choice.value
    assert run.certificate().counted > 0
