"""SmoothThresholdClassifier: against the definition, compiled and given functions alike, in any pieces."""

import math
import pickle
from itertools import pairwise

import numba
import numpy as np
import pytest
from scipy.special import erf
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracles_rates
from onepass import CutoffAverager, DataError, OnePassClassifier, SmoothThresholdClassifier
from onepass.schedules import Constant, InverseRoot
from onepass.smooth import SmoothThreshold
from onepass.smooth.functions import Linear, Quadratic, SoftCommittee
from strategies import cuts, dyadic
from test_learners import same_state


@parametrize_with_checks([SmoothThresholdClassifier()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def pairs(x):
    return np.concatenate([x, [x[i] * x[j] for i in range(x.size) for j in range(i, x.size)]])


def committee(W, x):
    return float(erf(W.reshape(3, -1) @ x / np.sqrt(2)).sum())


def committee_gradient(W, x):
    field = W.reshape(3, -1) @ x
    return np.outer(np.sqrt(2 / np.pi) * np.exp(-0.5 * field**2), x).reshape(-1)


FUNCTIONS = {  # name: (f, gradient, length of W), as NumPy has them
    "linear": (lambda W, x: float(W @ x), lambda W, x: x, lambda n: n),
    "quadratic": (lambda W, x: float(W @ pairs(x)) - 1.0, lambda W, x: pairs(x), lambda n: n + n * (n + 1) // 2),
    "committee": (committee, committee_gradient, lambda n: 3 * n),
}


def ring(seed, rows, inputs):
    X, _ = dyadic(seed, rows, inputs, zeros=0.1)
    return X, np.where((X**2).sum(axis=1) > 2.5, 1, -1)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("given", [True, False])
def test_it_equals_its_definition(name, intercept, given):
    f, gradient, length = FUNCTIONS[name]
    X, y = ring(1, 300, 3)
    Z = np.column_stack([X, np.ones(300)]) if intercept else X
    start = np.random.default_rng(2).integers(-4, 5, size=length(Z.shape[1])) / 8
    what = {"function": f, "gradient": gradient, "parameters": start.size} if given else {"function": name}
    clf = SmoothThresholdClassifier(
        **what, schedule=InverseRoot(0.5), start=start, fit_intercept=intercept, shuffle=False, check_gradient=True
    ).fit(X, y)
    path, mistakes = oracles_rates.smooth(f, gradient, start, Z, y, lambda t: 0.5 / math.sqrt(t))
    np.testing.assert_allclose(clf.last_, path[-1], atol=1e-11)
    k = clf.certificate_.choice.value
    np.testing.assert_allclose(clf.weights_, oracles_rates.cutoff_average(path, mistakes, k), atol=1e-11)
    assert clf.certificate_.rounds == 300
    assert 20 < mistakes.sum() < 280
    np.testing.assert_allclose(clf.decision_function(X), [f(clf.weights_, z) for z in Z], atol=1e-9)
    averager = CutoffAverager()
    for w, mistake in zip(path, mistakes, strict=False):
        averager.observe(w, float(mistake))
    assert averager.certificate() == clf.certificate_


@pytest.mark.parametrize("schedule", [None, lambda t: 1.0 / (1 + t // 100), Constant(0.01)])
@pytest.mark.parametrize("name", ["committee", "quadratic"])
def test_cutting_the_stream_changes_nothing(schedule, name):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(400, 3)), rng.choice(["a", "b"], size=400)
    whole = SmoothThresholdClassifier(name, schedule=schedule, shuffle=False).fit(X, y)
    pieces = SmoothThresholdClassifier(name, schedule=schedule)
    for first, last in pairwise(cuts(5, 400, 50)):
        if last > first:
            pieces.partial_fit(X[first:last], y[first:last], classes=["a", "b"])
    assert same_state(vars(whole._averager), vars(pieces._averager))
    np.testing.assert_array_equal(whole.weights_, pieces.weights_)
    assert whole.certificate_ == pieces.certificate_


def test_a_function_compiled_by_numba_gives_the_same():
    f = numba.njit(lambda W, x: W[0] * x[0] + W[1] * x[1] * x[1] - 1.0)
    gradient = numba.njit(lambda W, x: np.array([x[0], x[1] * x[1]]))
    X, y = ring(6, 500, 2)
    compiled, plain = (
        SmoothThresholdClassifier(*pair, parameters=2, fit_intercept=False, check_gradient=True).fit(X, y)
        for pair in ((f, gradient), (getattr(f, "py_func", f), getattr(gradient, "py_func", gradient)))
    )
    np.testing.assert_array_equal(compiled.weights_, plain.weights_)
    assert compiled.score(X, y) > 0.6


def test_it_learns_what_no_linear_model_can():
    rng = np.random.default_rng(7)
    X, new = rng.normal(size=(2, 20_000, 3))
    label = lambda X: np.where((X**2).sum(axis=1) > 2.4, "out", "in")  # noqa: E731
    clf = SmoothThresholdClassifier("quadratic").fit(X, label(X))
    assert clf.score(new, label(new)) > 0.95
    assert OnePassClassifier().fit(X, label(X)).score(new, label(new)) < 0.7
    assert clf.certificate_.risk < 0.1
    assert "members" in str(clf.certificate_)


def test_bad_rows_and_bad_functions_change_nothing():
    X, y = ring(8, 100, 3)

    def f(W, x):
        return math.nan if x[0] == 77 else float(W @ x)

    clf = SmoothThresholdClassifier(f, lambda W, x: x, 4).partial_fit(X, y, classes=[-1, 1])
    before = clf.last_.copy(), clf.weights_.copy(), clf._averager.rounds
    bad = X.copy()
    bad[50, 0] = 77
    for rows, labels, message in ((bad, y, "function: f"), (X, y + 5, "label"), (X * np.nan, y, "NaN")):
        with pytest.raises(ValueError, match=message):
            clf.partial_fit(rows, labels)
        np.testing.assert_array_equal(clf.last_, before[0])
        np.testing.assert_array_equal(clf.weights_, before[1])
        assert clf._averager.rounds == before[2]
    with pytest.raises(DataError, match=r"shape \(4,\) expected"):
        SmoothThresholdClassifier(f, lambda W, x: x[:2], 4).fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"function": "cubic"}, "function: "),
        ({"function": 3}, "function: "),
        ({"function": lambda W, x: 0.0}, "gradient: "),
        ({"function": lambda W, x: 0.0, "gradient": lambda W, x: W}, "parameters: "),
        ({"function": Linear(3)}, "does not fit rows of 4"),
        ({"hidden": 0}, "hidden: "),
        ({"start": [1.0]}, "start: 12 finite"),
        ({"schedule": 0.5}, "schedule: "),
        ({"schedule": lambda t: -1.0}, "schedule: "),
        ({"conversion": "suffix"}, "conversion: "),
        ({"delta": 2.0}, "delta: "),
        (
            {
                "function": lambda W, x: float(W @ x),
                "gradient": lambda W, x: 2 * x,
                "parameters": 4,
                "check_gradient": True,
            },
            "gradient: parameter",
        ),
    ],
)
def test_wrong_arguments_are_named(options, message):
    X, y = ring(9, 50, 3)
    with pytest.raises((ValueError, TypeError), match=message):
        SmoothThresholdClassifier(**options).fit(X, y)


def test_last_pickles_and_names():
    X, y = ring(10, 300, 3)
    last = SmoothThresholdClassifier("quadratic", conversion="last").fit(X, y)
    np.testing.assert_array_equal(last.weights_, last.last_)
    with pytest.raises(ValueError, match="conversion='cutoff'"):
        _ = last.certificate_
    clf = SmoothThresholdClassifier(Quadratic(4)).fit(X, y)
    back = pickle.loads(pickle.dumps(clf)).partial_fit(X, y)
    np.testing.assert_array_equal(back.weights_, clf.partial_fit(X, y).weights_)
    assert repr(SmoothThreshold("linear", schedule=Constant(0.1))).endswith("start=None, weighting=None, warmup=None)")
    assert SmoothThreshold(hidden=5).function_of(2) == SoftCommittee(2, 5)
    with pytest.raises(TypeError, match="SmoothThresholdClassifier"):
        OnePassClassifier(SmoothThreshold()).fit(X, y)


def test_several_quiet_rounds_at_once_are_the_same_rounds():
    one, many = CutoffAverager(), CutoffAverager()
    W = [np.array([float(j)]) for j in range(4)]
    for j, rounds in enumerate((3, 1, 7, 5)):
        for i in range(rounds):
            one.observe(W[j], float(i == rounds - 1 and j < 3))
        many.observe(W[j], float(j < 3), rounds)
    assert one.certificate() == many.certificate()
    np.testing.assert_array_equal(one.result()[0], many.result()[0])
    with pytest.raises(ValueError, match="rounds: "):
        many.observe(W[0], 0.0, 0)
