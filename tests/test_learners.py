"""Each kernel against its ten-line oracle; dense = sparse; cutting the stream changes nothing."""

import math
from itertools import pairwise

import numpy as np
import pytest

import oracles
from onepass.learners import MarginPerceptron, PassiveAggressive, Perceptron
from onepass.passes import Pass
from strategies import csr, cuts, dyadic

FAMILY = {
    "perceptron": (Perceptron(), {}, lambda R: oracles.perceptron),
    "margin, horizon": (MarginPerceptron(), {"horizon": 150}, lambda R: oracles.margin_perceptron(R, 150)),
    "margin": (MarginPerceptron(), {}, lambda R: oracles.margin_perceptron(R)),
    "sphere": (MarginPerceptron("sphere"), {}, lambda R: oracles.margin_perceptron(R, sphere=True)),
    "pa 1": (PassiveAggressive(C=0.25), {}, lambda R: oracles.passive_aggressive(0.25)),
    "pa 2": (PassiveAggressive(C=0.5, variant=2), {}, lambda R: oracles.passive_aggressive(0.5, 2)),
}


def naive(X, y, classes, intercept, update):
    """All hypotheses, as (1 + features, outputs) arrays with the intercept first."""
    Z = np.column_stack([np.full(len(X), float(intercept)), X])
    shape = (Z.shape[1],) if classes == 2 else (Z.shape[1], classes)
    W = oracles.hypotheses(Z, y, update, shape)
    return Z, [w.reshape(Z.shape[1], -1) for w in W], W


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("radius", [None, 1.5])
def test_kernel_equals_oracle(name, classes, intercept, radius):
    learner, options, update = FAMILY[name]
    X, y = dyadic(3, 150, 7, classes)
    run = Pass(
        learner, classes=range(classes) if classes > 2 else [-1, 1], fit_intercept=intercept, radius=radius, **options
    )
    run.feed(X, y)
    scaled, reach = X, None
    if radius is not None:
        norms = np.linalg.norm(X, axis=1, keepdims=True)
        scaled = np.where(norms > radius, X * radius / np.maximum(norms, radius), X)
        reach = math.sqrt((1 if classes == 2 else 2) * (radius**2 + intercept))
    Z, shaped, W = naive(scaled, y, classes, intercept, update(reach))
    trace = run.trace()
    exact = name == "perceptron" and radius is None
    compare = np.testing.assert_array_equal if exact else lambda a, b: np.testing.assert_allclose(a, b, atol=1e-12)
    compare(trace.last, shaped[-1])
    margins = oracles.margins(Z, y, W)
    losses = margins <= 0 if learner.drives == "zero_one" else np.maximum(0, 1 - margins)
    np.testing.assert_array_equal(trace.survival, oracles.survivals(losses))
    compare(trace.log.margin, margins[losses > 0])
    assert trace.mistakes == (margins <= 0).sum()
    compare(run.model("average").weights, np.mean(shaped[:-1], axis=0))


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("classes", [2, 3])
def test_sparse_is_dense(name, classes):
    learner, options, _ = FAMILY[name]
    X, y = dyadic(4, 200, 9, classes)
    dense, sparse, single = (
        Pass(learner, classes=range(classes) if classes > 2 else None, **options) for _ in range(3)
    )
    dense.feed(X, y)
    sparse.feed(csr(X), y)
    single.feed(X.astype(np.float32), y)
    np.testing.assert_array_equal(dense.trace().survival, sparse.trace().survival)
    if name == "perceptron":
        np.testing.assert_array_equal(dense.trace().last, sparse.trace().last)
        np.testing.assert_array_equal(dense.trace().last, single.trace().last)
    else:
        np.testing.assert_allclose(dense.trace().last, sparse.trace().last, atol=1e-12)
        np.testing.assert_allclose(dense.trace().last, single.trace().last, atol=1e-12)


@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.parametrize("seed", range(3))
def test_cutting_the_stream_changes_nothing(name, seed):
    """Not even in the last bit, on data whose sums are rounded."""
    learner, options, _ = FAMILY[name]
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(300, 6)), rng.choice([-1, 1], size=300)
    whole, pieces = (Pass(learner, watch=True, validation_fraction=0.1, **options) for _ in range(2))
    whole.feed(csr(X), y)
    border = cuts(seed, 300, 40)
    for first, last in pairwise(border):
        pieces.feed(csr(X[first:last]), y[first:last])
    assert same_state(whole.state(), pieces.state())
    assert str(whole.certificate()) == str(pieces.certificate())
    for conversion in ("cutoff", "frozen", "validation"):
        np.testing.assert_array_equal(whole.model(conversion).weights, pieces.model(conversion).weights)


def same_state(one, other):
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_state(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(same_state(a, b) for a, b in zip(one, other, strict=True))
    if hasattr(one, "__dict__"):
        return same_state(vars(one), vars(other))
    return one == other


def test_classes_met_late_and_in_any_order_give_the_same_model():
    X, y = dyadic(5, 200, 6)
    met, declared = Pass(), Pass(classes=[-1, 1])
    met.feed(X, y)
    declared.feed(X, y)
    assert met.classes == (-1, 1)
    np.testing.assert_array_equal(met.model().weights, declared.model().weights)
    names = np.where(y > 0, "yes", "no")
    late = Pass()
    first = int(np.argmax(y != y[0]))
    late.feed(X[:first], names[:first])
    late.feed(X[first:], names[first:])
    np.testing.assert_array_equal(late.model().weights, declared.model().weights)
    assert late.model().predict(X[:5]).tolist() == np.where(declared.model().predict(X[:5]) > 0, "yes", "no").tolist()


def test_width_grows_between_chunks():
    X, y = dyadic(6, 200, 12)
    grown, fixed = Pass(), Pass(n_features=12)
    for first, width in ((0, 3), (100, 12)):
        part = X[first : first + 100].copy()
        part[:, width:] = 0
        grown.feed(csr(part[:, :width]), y[first : first + 100])
        fixed.feed(csr(part), y[first : first + 100])
    np.testing.assert_array_equal(grown.model().weights, fixed.model().weights)


@pytest.mark.parametrize("learner", ["perceptron", "margin", "pa", "pa2"])
def test_a_zero_row_ends_a_run_and_teaches_nothing(learner):
    run = Pass(learner, fit_intercept=False)
    run.feed(np.array([[1.0], [0.0], [0.0], [2.0]]), [1, 1, -1, 1])
    assert np.isfinite(run.trace().last).all()
    assert run.trace().updates >= 3
    assert run.trace().survival.sum() == 4


def test_a_huge_row_leaves_an_exact_norm():
    """After a spike the carried norm is summed afresh at a fixed round, not at the end of a chunk."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70_000, 3))
    X[10] *= 1e8
    run = Pass("margin", radius=None)
    run.feed(X, np.where(X[:, 0] > 0, 1, -1))
    assert abs(np.linalg.norm(run.trace().last) - 1) < 1e-6 or np.linalg.norm(run.trace().last) < 1
