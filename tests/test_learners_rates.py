"""Learners that take a rate: against their definitions, with a user's own rates, in any pieces, for long runs."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

import oracles
import oracles_rates
from onepass import ConversionError, DataError, Pass
from onepass.learners import MarginPerceptron, NormalizedPerceptron
from onepass.loop import LOW
from onepass.scale import cut, learn
from onepass.schedules import Constant, Custom, InverseRoot, PowerLaw, Tabulated, clean_optimum
from strategies import csr, cuts, dyadic
from test_learners import naive, same_state


def own(t):
    return 1.0 / (1.0 + t // 50)


RATES = {
    "constant": (Constant(0.5), lambda t: 0.5),
    "root": (InverseRoot(2.0), lambda t: 2.0 / np.sqrt(t)),
    "optimum": (None, lambda t: 2 * np.sqrt(2 * np.pi) / max(t / 7, 1.0)),
    "own": (own, own),
}


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_normalized_equals_its_definition(name, classes, intercept):
    schedule, eta = RATES[name]
    X, y = dyadic(3, 150, 7, classes)
    run = Pass(
        NormalizedPerceptron(schedule, N=7), classes=range(classes) if classes > 2 else [-1, 1], fit_intercept=intercept
    )
    run.feed(csr(X), y)
    Z, shaped, W = naive(X, y, classes, intercept, oracles_rates.normalized(eta, 7))
    trace = run.trace()
    margins = oracles.margins(Z, y, W)
    np.testing.assert_array_equal(trace.survival, oracles.survivals(margins <= 0))
    np.testing.assert_allclose(trace.last, shaped[-1], atol=1e-12)
    np.testing.assert_allclose(run.model("average").weights, np.mean(shaped[:-1], axis=0), atol=1e-12)
    assert np.linalg.norm(trace.last) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("name", RATES)
def test_margin_takes_every_schedule(name):
    schedule, eta = RATES[name]
    if schedule is None:
        schedule = PowerLaw(2, 1, 7)
    X, y = dyadic(4, 150, 7)
    run = Pass(MarginPerceptron(schedule=schedule), radius=None, fit_intercept=False)
    run.feed(X, y)
    _, shaped, _ = naive(X, y, 2, False, oracles_rates.margin(eta))
    np.testing.assert_allclose(run.trace().last, shaped[-1], atol=1e-12)


@pytest.mark.parametrize("learner", [NormalizedPerceptron(own), MarginPerceptron(schedule=own), NormalizedPerceptron()])
def test_cutting_the_stream_changes_nothing(learner):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 6)), rng.choice([-1, 1], size=300)
    whole, pieces, rows = (
        Pass(learner, n_features=6, classes=[-1, 1], watch=True, validation_fraction=0.1) for _ in range(3)
    )
    whole.feed(X, y)
    for first, last in pairwise(cuts(2, 300, 40)):
        pieces.feed(X[first:last], y[first:last])
    for i in range(300):
        if not rows.feed_one(X[i : i + 1], y[i : i + 1]):
            rows.feed(X[i : i + 1], y[i : i + 1])
    for other in (pieces, rows):
        assert same_state(whole.state(), other.state())
        np.testing.assert_array_equal(whole.model().weights, other.model().weights)
        np.testing.assert_array_equal(whole.model("frozen").weights, other.model("frozen").weights)


def test_own_rates_are_asked_for_once_each_in_order_before_a_row_is_learned():
    asked = []

    def rate(t):
        asked.append(t)
        return 1.0 if t < 90 else -1.0

    X, y = dyadic(5, 100, 4)
    run = Pass(NormalizedPerceptron(rate), n_features=4)
    run.feed(X[:60], y[:60])
    before = run.state()
    with pytest.raises(ValueError, match="t = 90"):
        run.feed(X[60:], y[60:])
    assert same_state(run.state(), before)
    run.feed(X[60:80], y[60:80])
    assert asked[:60] == list(range(1, 61))
    assert asked[-20:] == list(range(61, 81))


def test_what_cannot_be_a_rate_is_said_when_the_learner_is_made():
    with pytest.raises(TypeError, match="schedule: "):
        MarginPerceptron(schedule=0.1)
    with pytest.raises(ValueError, match="eta must be positive"):
        NormalizedPerceptron(Constant(0.0))
    with pytest.raises(TypeError, match="a table ends"):
        NormalizedPerceptron(Tabulated(1, np.ones(5)))
    with pytest.raises(ValueError, match="n_features"):
        Pass("normalized")
    with pytest.raises(ValueError, match="N: a positive number"):
        Pass(NormalizedPerceptron(N=0))
    assert repr(MarginPerceptron(schedule=own)) == "MarginPerceptron(projection='ball', schedule=Custom(own))"
    assert NormalizedPerceptron(own) == NormalizedPerceptron(Custom(own))
    assert pickle.loads(pickle.dumps(NormalizedPerceptron(own))) == NormalizedPerceptron(own)


def test_it_learns_as_fast_as_the_theory_says():
    """4/π/α at α = 200, N = 50: one student is within a third of it, and the plain Perceptron is not."""
    rng = np.random.default_rng(0)
    X, teacher = rng.normal(size=(10_000, 50)), rng.normal(size=50)
    y = np.where(X @ teacher > 0, 1, -1)
    error = {}
    for learner in (NormalizedPerceptron(clean_optimum(50)), "perceptron"):
        run = Pass(learner, n_features=50, fit_intercept=False)
        run.feed(X, y)
        w = run.trace().last[1:, 0]
        error[learner] = np.arccos(w @ teacher / np.linalg.norm(w) / np.linalg.norm(teacher)) / np.pi
    normalized, plain = error.values()
    assert normalized == pytest.approx(4 / np.pi / 200, rel=0.33)
    assert plain > 2 * normalized


def test_a_scale_that_rises_for_ever_does_no_harm():
    """Noise and a constant rate make ‖v‖ shrink without end: past 2^-300 here, where sums of rows fail at 2^-53.

    (An oracle is of no use: two roundings of this learner part as fast as the scale rises.)
    """
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(6000, 4)), rng.choice([-1, 1], size=6000)
    whole, rows = (
        Pass(
            NormalizedPerceptron(Constant(0.5)), conversion="cutoff", n_features=4, classes=[-1, 1], fit_intercept=False
        )
        for _ in range(2)
    )
    whole.feed(X, y)
    used = []
    for i in range(6000):
        used.append(rows.learner_run.last())
        if i == 0 or not rows.feed_one(X[i : i + 1], y[i : i + 1]):
            rows.feed(X[i : i + 1], y[i : i + 1])
    assert same_state(whole.state(), rows.state())
    assert whole.learner_run.step_state[LOW] < 1e-80  # so the scale was shifted up
    np.testing.assert_allclose([np.linalg.norm(w) for w in used[1:]], 1.0, rtol=1e-9)
    mistakes = [y[i] * float(X[i] @ used[i][1:, 0]) <= 0 for i in range(6000)]
    trace = whole.trace()
    assert (trace.compacted, trace.mistakes) == (True, sum(mistakes))
    np.testing.assert_allclose(whole.model("average").weights, np.mean(used, axis=0), atol=1e-12)
    k = whole.certificate("cutoff").choice.value
    n = oracles.survivals(mistakes)
    kept = np.maximum(n - k, 0) + (np.arange(n.size) == 0) * (k > 0)
    members = [used[i] for i in np.cumsum(n[:-1])[n[1:] > 0]]
    expected = kept[0] * used[0] + sum(q * w for q, w in zip(kept[1:][n[1:] > 0], members, strict=True))
    np.testing.assert_allclose(whole.model("cutoff").weights, expected / kept.sum(), atol=1e-12)
    with pytest.raises(ConversionError, match="raised the scale"):
        whole.model("suffix")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("memory", [256 << 20, 1 << 12])
def test_normalized_stays_finite_on_rows_of_any_length(classes, memory):
    """Each row of 1e142 takes the scale down by 1e-142, a few of them beyond the smallest number there is."""
    X, y = dyadic(5, 200, 6, classes)
    X = X * 10.0 ** np.random.default_rng(1).uniform(94, 142, size=(200, 1))
    declared = range(classes) if classes > 2 else [-1, 1]
    run = Pass(NormalizedPerceptron(Constant(0.5)), classes=declared, n_features=6, max_trace_memory=memory)
    run.feed(X, y)
    _, shaped, _ = naive(X, y, classes, True, oracles_rates.normalized(lambda t: 0.5, 6))
    np.testing.assert_allclose(run.trace().last, shaped[-1], atol=1e-9)
    np.testing.assert_allclose(run.model("average").weights, np.mean(shaped[:-1], axis=0), atol=1e-9)


def overflowing(**options):
    run = Pass(NormalizedPerceptron(Constant(1e300)), n_features=2, **options)
    run.feed([[1e100, 1.0], [-1e100, 1.0], [1.0, 1e100], [1.0, -1e100]] * 3, [0, 1, 0, 1] * 3)
    return run


@pytest.mark.parametrize("options", [{}, {"conversion": "frozen"}, {"stop_at": 0.9}])
def test_no_model_and_no_certificate_of_weights_that_are_no_numbers(options):
    run = overflowing(**options)
    for ask in (run.model, run.certificate, run.trace):
        with pytest.raises(DataError, match="scale the features"):
            ask()


def test_nor_from_several_machines():
    rows = np.array([[1e100, 1.0], [-1e100, 1.0], [1.0, 1e100], [1.0, -1e100]] * 3)
    chunks = cut([(rows, [0, 1, 0, 1] * 3)] * 2)
    with pytest.raises(DataError, match="scale the features"):
        learn(chunks, learner=NormalizedPerceptron(Constant(1e300)), n_features=2)
