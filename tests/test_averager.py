"""CutoffAverager against eq. (3) and (4), with hypotheses of every shape."""

from collections import namedtuple

import numpy as np
import pytest
import scipy.sparse

import oracles
from onepass.averager import CutoffAverager
from onepass.errors import ConversionError, DataError
from onepass.looks import next_look
from onepass.passes import Pass
from strategies import dyadic

SHAPES = {
    "array": (lambda w: w, lambda h: h),
    "tuple": (lambda w: (w[:2], w[2:]), np.concatenate),
    "list": (lambda w: [w[:1], w[1:]], np.concatenate),
    "dict": (lambda w: {"a": w[:3], "b": w[3:]}, lambda h: np.concatenate([h["a"], h["b"]])),
    "nested": (lambda w: {"a": (w[:1], [w[1:]])}, lambda h: np.concatenate([h["a"][0], h["a"][1][0]])),
}


def watched(X, y, wrap, flat, **options):
    averager = CutoffAverager(**options)
    h = wrap(np.zeros(X.shape[1]))
    for x, label in zip(X, y, strict=True):
        loss = float(label * (flat(h) @ x) <= 0)
        averager.observe(h, loss)
        if loss:
            h = wrap(flat(h) + label * x)
    return averager


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_cutoff_average(shape, seed):
    X, y = dyadic(seed, 300, 5, noise=0.05)
    averager = watched(X, y, *SHAPES[shape])
    model, certificate = averager.result()
    W = oracles.hypotheses(X, y, oracles.perceptron, (5,))
    losses = oracles.margins(X, y, W) <= 0
    B = oracles.counted(losses, certificate.choice.value)
    np.testing.assert_allclose(SHAPES[shape][1](model), np.array(W[:-1])[B].mean(axis=0), atol=1e-12)
    run = Pass("perceptron", conversion="cutoff", classes=[-1, 1], fit_intercept=False)
    run.feed(X, y)
    expected = run.certificate()
    assert (certificate.choice.value, certificate.counted) == (expected.choice.value, expected.counted)
    assert certificate.risk == pytest.approx(expected.risk, rel=1e-6)
    assert (certificate.covers, CutoffAverager(convex=True).certificate().covers) == ("members", "model")


def test_named_tuples_stay_what_they_are():
    Pair = namedtuple("Pair", "w b")
    averager = CutoffAverager()
    averager.observe(Pair(np.zeros(2), 1.0), 0.0)
    model, _ = averager.result()
    assert isinstance(model, Pair)
    assert model.b == 1.0


def test_changing_in_place_after_a_loss_is_an_error_with_the_remedy():
    averager, w = CutoffAverager(), np.zeros(2)
    averager.observe(w, 1.0)
    w += 1.0
    with pytest.raises(DataError, match="new object"):
        averager.observe(w, 0.0)


def test_the_same_object_unchanged_after_a_loss_starts_a_new_run():
    averager, w = CutoffAverager(), np.ones(2)
    for loss in (0.0, 1.0, 0.0, 0.0, 1.0):
        averager.observe(w, loss)
    model, certificate = averager.result()
    np.testing.assert_array_equal(model, np.ones(2))
    assert averager._runs == 2
    assert certificate.rounds == 5


def test_a_new_object_without_a_loss_ends_the_run_too():
    averager = CutoffAverager()
    for value in (1.0, 1.0, 2.0):
        averager.observe(value, 0.0) if value == 2.0 else averager.observe(float("1"), 0.0)
    model, certificate = averager.result()
    assert certificate.rounds == 3
    assert 1.0 <= model <= 2.0


def test_bad_losses_and_bounds_are_named():
    averager = CutoffAverager(loss_bound=2.0)
    for loss in (-0.1, 2.1, float("nan")):
        with pytest.raises(DataError, match="loss: "):
            averager.observe(0.0, loss)
    assert averager.rounds == 0
    with pytest.raises(ValueError, match="loss_bound: "):
        CutoffAverager(loss_bound=0.0)
    with pytest.raises(ValueError, match="delta: "):
        CutoffAverager(delta=2.0)
    with pytest.raises(ConversionError, match="no round"):
        averager.result()


@pytest.mark.parametrize("bound", [1.0, 3.0, 1e-5, 1e-8, 1e-10, 1e-300, 1e300])
def test_losses_are_charged_in_units_of_their_bound(bound):
    """A loss of 1e-8 would be lost in 1 − (1 − loss), and the certificate would lie below the average loss."""
    averager = CutoffAverager(loss_bound=bound, convex=True)
    for i in range(500):
        averager.observe(np.full(1, float(i)), bound * (0.5 if i % 2 else 1.0))
    found = averager.certificate()
    assert found.loss_bound == bound
    assert found.empirical / bound == pytest.approx(0.75, rel=1e-8)
    assert 0.75 < found.risk / bound <= 1.0


def sparse(values):
    return scipy.sparse.csr_matrix(values.reshape(1, -1))


@pytest.mark.parametrize("wrap", [lambda w: w, lambda w: {"w": (w, 1.0)}], ids=["itself", "in containers"])
@pytest.mark.parametrize("made", [np.array, sparse], ids=["array", "sparse"])
@pytest.mark.parametrize("then", [(0.0,), (1.0,), None], ids=["no loss", "a loss", "another object"])
def test_changing_in_place_after_rounds_without_loss_is_seen_too(made, wrap, then):
    averager, w = CutoffAverager(), made(np.ones(3))
    h = wrap(w)
    for _ in range(100):
        averager.observe(h, 0.0)
    w *= 2.0 if made is np.array else 1.0
    if made is sparse:
        w.data[0] = 5.0
    with pytest.raises(DataError, match="new object"):
        averager.result()
    with pytest.raises(DataError, match="new object"):
        averager.observe(*((h, *then) if then else (wrap(made(np.zeros(3))), 0.0)))
    assert averager.rounds == 100


def test_a_change_between_two_looks_is_seen_at_the_second_or_when_the_run_ends():
    averager, w = CutoffAverager(), np.zeros(2)
    averager.observe(w, 0.0, rounds=1024)
    w += 1.0
    for _ in range(next_look(1024) - 1024 - 1):
        averager.observe(w, 0.0)
    with pytest.raises(DataError, match="new object"):
        averager.observe(w, 0.0)


def test_another_way_to_store_the_same_is_no_change():
    averager = CutoffAverager()
    w = scipy.sparse.csr_matrix((np.array([1.0, 0.0, 2.0]), np.array([2, 1, 0]), np.array([0, 3])), shape=(1, 3))
    averager.observe(w, 0.0)
    w.sort_indices()
    w.eliminate_zeros()
    averager.observe(w, 1.0)
    assert averager.result()[0].toarray().tolist() == [[2.0, 0.0, 1.0]]


def test_objects_of_your_own_are_looked_at_after_a_loss_alone():
    class Own:
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            return Own(self.value + other.value)

        def __mul__(self, number):
            return Own(self.value * number)

    averager, h = CutoffAverager(), Own(1.0)
    averager.observe(h, 0.0)
    h.value = 2.0
    averager.observe(h, 1.0)
    h.value = 3.0
    with pytest.raises(DataError, match="new object"):
        averager.observe(h, 0.0)


@pytest.mark.parametrize("bound", [1.0, 2.0, 1e-300])
def test_a_loss_above_its_bound_by_rounding_is_the_bound(bound):
    over, at = CutoffAverager(loss_bound=bound), CutoffAverager(loss_bound=bound)
    for i in range(50):
        over.observe(float(i), bound * (1.0 + 9e-10))
        at.observe(float(i), bound)
    assert over.certificate() == at.certificate()
    with pytest.raises(DataError, match="loss: round 51"):
        over.observe(0.0, bound * (1.0 + 1e-8))


@pytest.mark.parametrize("bad", [np.inf, np.nan])
@pytest.mark.parametrize("wrap", [np.asarray, float, lambda v: {"w": np.full(2, v)}, lambda v: sparse(np.full(2, v))])
def test_no_average_and_no_certificate_of_what_is_not_finite(wrap, bad):
    averager = CutoffAverager()
    averager.observe(wrap(1.0), 1.0)
    averager.observe(wrap(bad), 1.0)
    averager.observe(wrap(1.0), 1.0)
    for ask in (averager.certificate, averager.result):
        with pytest.raises(DataError, match="scale the features"):
            ask()
