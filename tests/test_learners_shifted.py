"""ShiftedPerceptron: lazy sums against whole vectors, in any pieces; what it says, refuses and turns."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import oracles_rates
from onepass import ConversionError, LimitError, Pass, certify
from onepass.conversions import CONVERSIONS
from onepass.learners import NormalizedPerceptron, ShiftedPerceptron
from onepass.runs import RENEW
from onepass.runs.shifting import TOTAL, UNUSED, USED
from onepass.schedules import Constant, noisy_optimum
from strategies import csr, cuts
from test_learners import same_state

pytestmark = pytest.mark.filterwarnings("ignore:shifted")


def noisy(seed, rows, features, p=0.2, mean=0.4, zeros=0.3):
    """Unbalanced labels, turned over with probability p. Not dyadic: ties would be decided by how W was rounded."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(rows, features)) + mean).astype(np.float32).astype(np.float64)
    X[rng.random(X.shape) < zeros] = 0.0
    return X, np.where((X.sum(axis=1) > 0) ^ (rng.random(rows) < p), 1, -1)


CASES = {
    "shifted early": (ShiftedPerceptron(warmup=5.0), 0.4),
    "balanced": (ShiftedPerceptron(warmup=5.0, weighting="uniform"), 0.0),
    "balanced, auto": (ShiftedPerceptron(warmup=5.0), 0.0),
    "linear": (ShiftedPerceptron(warmup=5.0, weighting="linear"), 0.4),
    "half-space": (ShiftedPerceptron(warmup=5.0, weighting="halfspace"), 0.0),
    "never": (ShiftedPerceptron(warmup=1e6), 0.4),
    "own rate": (ShiftedPerceptron(lambda t: 3.0 / (3.0 + t / 6), warmup=5.0), 0.4),
    "large steps": (ShiftedPerceptron(Constant(40.0), warmup=5.0), 0.4),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("intercept", [True, False])
def test_lazy_sums_equal_whole_vectors(case, intercept):
    learner, mean = CASES[case]
    rows = 1500 if case == "balanced, auto" else 600
    X, y = noisy(1, rows, 6, mean=mean)
    run = Pass(learner, n_features=6, classes=[-1, 1], fit_intercept=intercept)
    Z = np.column_stack([np.full(rows, float(intercept)), X])
    rule = learner.rule(run._setting)
    top = np.sqrt(2 * np.pi) * np.exp(0.5)  # 2/(2φ(1))
    eta = {"own rate": lambda t: 3.0 / (3.0 + t / 6), "large steps": lambda t: 40.0}.get(
        case, lambda t: top * (t / 6 + top ** (4 / 3)) ** -0.75
    )
    W, mistakes, turns = oracles_rates.shifted(Z, y, eta, 6, rule.warmup, weighting=learner.weighting)
    n = oracles_rates.shifted_survivals(mistakes, turns)
    run.feed(csr(X), y)
    trace = run.trace()
    np.testing.assert_allclose(trace.last[:, 0], W[-1], atol=1e-10)
    assert (trace.mistakes, trace.updates, trace.alive) == (mistakes.sum(), n.size - 1, n[-1])
    assert (run.learner_run.lazy.state[USED] > 0) == (case not in ("balanced", "never"))
    np.testing.assert_allclose(run.model("average").weights[:, 0], np.mean(W[:-1], axis=0), atol=1e-10)
    for k in (0, 1, 3, 8):
        kept = np.maximum(n - k, 0) + (np.arange(n.size) == 0) * (k > 0)
        used = np.array([W[i] for i in np.concatenate([[0], np.cumsum(n[:-1])])])
        found = CONVERSIONS["cutoff"].weights(trace, k)
        np.testing.assert_allclose(found[:, 0], kept @ used / kept.sum(), atol=1e-10)
    dense = Pass(learner, n_features=6, classes=[-1, 1], fit_intercept=intercept)
    dense.feed(X.astype(np.float32), y)
    np.testing.assert_allclose(dense.trace().last, trace.last, atol=1e-10)


@pytest.mark.parametrize("case", ["shifted early", "own rate", "linear", "half-space"])
def test_cutting_the_stream_changes_nothing(case):
    learner = CASES[case][0]
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(RENEW + 500, 3)) + 0.5, rng.choice([-1, 1, 1], size=RENEW + 500)
    for rows, pieces in ((2500, 60), (RENEW + 500, 7)):
        whole, cut = (Pass(learner, n_features=3, watch=True, validation_fraction=0.1) for _ in range(2))
        whole.feed(csr(X[:rows]), y[:rows])
        for first, last in pairwise(cuts(4, rows, pieces)):
            cut.feed(csr(X[first:last]), y[first:last])
        assert same_state(whole.state(), cut.state())
        assert str(whole.certificate()) == str(cut.certificate())
        for conversion in ("cutoff", "average", "last", "frozen", "validation"):
            np.testing.assert_array_equal(whole.model(conversion).weights, cut.model(conversion).weights)
        again = Pass(learner, n_features=3, watch=True, validation_fraction=0.1)
        again.feed(csr(X[:1000]), y[:1000])
        middle = again.state()
        again = Pass(learner, n_features=3, watch=True, validation_fraction=0.1)
        again.restore(middle)
        again.feed(csr(X[1000:rows]), y[1000:rows])
        assert same_state(whole.state(), again.state())


def test_the_width_may_grow():
    X, y = noisy(5, 600, 8)
    X[:300, 3:] = 0.0
    learner = ShiftedPerceptron(N=8, warmup=5.0)
    grown, fixed = Pass(learner), Pass(learner, n_features=8)
    grown.feed(csr(X[:300, :3]), y[:300])
    grown.feed(csr(X[300:]), y[300:])
    fixed.feed(csr(X), y)
    np.testing.assert_array_equal(grown.model("average").weights, fixed.model("average").weights)


def test_a_mirror_image_is_turned():
    """Labels that change sides after 2000 rounds: the rule is at −W₀ then, and a whole window says so."""
    X, y = noisy(6, 6000, 5, p=0.1, mean=1.0)
    y[2000:] *= -1
    learner = ShiftedPerceptron(Constant(0.001), warmup=5.0)
    run = Pass(learner, n_features=5, classes=[-1, 1], fit_intercept=False)
    run.feed(X, y)
    W, mistakes, turns = oracles_rates.shifted(np.column_stack([np.zeros(6000), X]), y, lambda t: 0.001, 5, 5.0)
    assert turns == [3000]
    np.testing.assert_allclose(run.trace().last[:, 0], W[-1], atol=1e-9)
    np.testing.assert_allclose(run.model("average").weights[:, 0], np.mean(W[:-1], axis=0), atol=1e-9)
    n = oracles_rates.shifted_survivals(mistakes, turns)
    assert (run.trace().updates, run.mistakes) == (n.size - 1, mistakes.sum())


def test_it_finds_the_teacher_where_the_plain_rule_does_not():
    """Figure 2 of barkai1995 in small: p = 0.2, |U| = 4, q0 = −1.95, N = 20, α = 3000."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60_000, 20))
    X[:, 0] -= 1.95
    X[:, 1] += np.sqrt(16 - 1.95**2)
    y = np.where((X[:, 0] > 0) ^ (rng.random(60_000) < 0.2), 1, -1)
    missed = {}
    for learner in (ShiftedPerceptron, NormalizedPerceptron):
        run = Pass(learner(noisy_optimum(20, -1.95)), n_features=20, fit_intercept=False, classes=[-1, 1])
        run.feed(X, y)
        missed[learner] = np.mean((X @ run.trace().last[1:, 0] > 0) != (X[:, 0] > 0))
    default = Pass("shifted", n_features=20, fit_intercept=False, classes=[-1, 1])
    default.feed(X, y)
    assert np.mean((X @ default.trace().last[1:, 0] > 0) != (X[:, 0] > 0)) < 0.03  # though nobody told it q0
    assert missed[ShiftedPerceptron] < 0.03  # theory: 0.011
    assert missed[NormalizedPerceptron] > 0.12  # theory: 0.19


def blobs(seed, rows, N, side=3.0, along=0.8, p=0.2):
    """Two clouds of equal weight at ±U, |U| across W₀ = e₁: balanced labels, of which a share p is turned over."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, N))
    cloud = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    X[:, 0] += along * cloud
    X[:, 1] += side * cloud
    return X, np.where((X[:, 0] > 0) ^ (rng.random(rows) < p), 1, -1)


def test_balanced_labels_are_shifted_by_a_weight_and_only_then_lead_to_the_teacher():
    X, y = blobs(11, 100_000, 20)
    assert abs(y.sum()) < 3 * np.sqrt(y.size)
    missed = {}
    for weighting in ("auto", "linear", "uniform"):
        learner = ShiftedPerceptron(noisy_optimum(20, 0.8), weighting=weighting)
        run = Pass(learner, n_features=20, fit_intercept=False, classes=[-1, 1])
        run.feed(X, y)
        missed[weighting] = np.mean((X @ run.trace().last[1:, 0] > 0) != (X[:, 0] > 0))
    assert max(missed["auto"], missed["linear"]) < 0.02
    assert missed["uniform"] > 0.1  # the plain rule, in effect


def test_a_weighting_that_there_is_not_is_refused():
    with pytest.raises(ValueError, match="weighting: auto, uniform, linear, halfspace"):
        Pass(ShiftedPerceptron(weighting="square"), n_features=4)


def test_it_says_when_the_shift_is_not_used():
    X, y = noisy(8, 1000, 4, mean=0.0)
    run = Pass(ShiftedPerceptron(), n_features=4)
    run.feed(X[:80], y[:80])
    with pytest.warns(UserWarning, match="after round 80; after 80 rounds only the plain rule"):
        run.model()
    assert abs(y.sum()) < 3 * np.sqrt(1000)
    run = Pass(ShiftedPerceptron(weighting="uniform"), n_features=4)
    run.feed(X, y)
    with pytest.warns(UserWarning, match="too balanced for the shift: .*3√t = 95"):
        run.model()
    assert run.learner_run.lazy.state[UNUSED] > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run.model("average")  # said once
        X, y = noisy(8, 1000, 4, mean=0.5)
        run = Pass(ShiftedPerceptron(weighting="uniform"), n_features=4)
        run.feed(X, y)
        run.model()
    assert run.notes == ()
    assert abs(run.learner_run.lazy.state[TOTAL]) == abs(y.sum())


def test_what_it_cannot_do_is_refused_with_the_reason():
    X, y = noisy(9, 500, 4)
    run = Pass("shifted", n_features=4)
    run.feed(X, y)
    for refused in (
        lambda: run.model("longest"),
        lambda: run.model("suffix"),
        lambda: run.model("average", how="vote"),
        lambda: certify(run.trace(), "longest"),
    ):
        with pytest.raises(ConversionError, match="no sums of rows"):
            refused()
    for options in ({"conversion": "suffix"}, {"conversion": "longest"}, {"cutoffs": "all"}):
        with pytest.raises(ConversionError, match="keeps no update rows"):
            Pass("shifted", n_features=4, **options)
    with pytest.raises(ValueError, match="two classes"):
        Pass("shifted", n_features=4, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="warmup"):
        Pass(ShiftedPerceptron(warmup=-1.0), n_features=4)
    with pytest.raises(ValueError, match="n_features"):
        Pass("shifted")


def test_columns_that_outgrow_the_limit_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    run = Pass("shifted", n_features=4, max_trace_memory=8 * 5 * 16)
    run.feed(X[:10], X[:10, 0] > 0)
    before = run.state()
    with pytest.raises(LimitError, match="max_trace_memory: 4 features"):
        run.feed(X[10:], X[10:, 0] > 0)
    assert same_state(run.state(), before)
