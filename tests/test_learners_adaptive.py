"""Adaptive: its loop against whole vectors, in any pieces and layouts; scales and order of columns; bad rows."""

from itertools import pairwise

import numpy as np
import pytest

from onepass import ConversionError, DataError, LimitError, Pass
from onepass.checkpoints import checkpoint
from onepass.learners import Adaptive
from oracles_adaptive import adaptive
from strategies import csr, cuts
from test_learners import same_state


def drawn(seed, rows=600, features=10, classes=2, share=1.0, noise=1.0):
    """Rows of columns with their own scales, `share` of the values not 0, and labels of a noisy teacher."""
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(rows, features)) + rng.normal(size=features)) * 10.0 ** rng.uniform(-3, 3, features)
    X[rng.random(X.shape) > share] = 0.0
    outputs = 1 if classes == 2 else classes
    scores = (X / np.maximum(X.std(axis=0), 1e-12)) @ rng.normal(size=(features, outputs))
    scores += noise * scores.std() * rng.normal(size=scores.shape)
    return X, np.where(scores[:, 0] > np.median(scores), 1, -1) if classes == 2 else scores.argmax(axis=1)


def made(classes=2, **options):
    labels = [-1, 1] if classes == 2 else range(classes)
    return Pass("adaptive", **{"classes": labels, "conversion": "average", **options})


@pytest.mark.parametrize("layout", [np.asarray, csr, np.float32], ids=["dense", "sparse", "float32"])
@pytest.mark.parametrize("share", [1.0, 0.6, 0.2])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_loop_is_the_definition(classes, intercept, share, layout):
    X, y = drawn(1, 1500 if share < 1.0 else 400, classes=classes, share=share)
    rows = layout(X)
    seen = rows.astype(float) if layout is np.float32 else X
    history, margins, losses = adaptive(seen, y, 1 if classes == 2 else classes, intercept)
    run = made(classes, fit_intercept=intercept, n_features=X.shape[1])
    run.feed(rows, y)
    trace = run.trace()
    np.testing.assert_array_equal(trace.log.round, 1 + np.flatnonzero(losses))
    np.testing.assert_allclose(trace.log.margin, margins[losses], rtol=1e-9, atol=1e-9)
    assert run.mistakes == (margins <= 0).sum()
    np.testing.assert_allclose(trace.last, history[-1], rtol=1e-9, atol=1e-12)
    before = [np.zeros_like(history[0]), *history[:-1]]
    np.testing.assert_allclose(run.model("average").weights, np.mean(before, axis=0), rtol=1e-8, atol=1e-12)
    sums = run.learner_run.sum_so_far(run.rounds)().total
    np.testing.assert_allclose(sums / run.rounds, np.mean(before, axis=0), rtol=1e-8, atol=1e-12)
    for conversion in ("last", "longest", "cutoff", "suffix"):
        q = run.certificate(conversion).choice
        members = np.stack([np.zeros_like(history[0]), *[history[t - 1] for t in trace.log.round]])
        weights = trace_weights(trace, conversion, q)
        np.testing.assert_allclose(
            run.model(conversion).weights, np.tensordot(weights, members, 1) / weights.sum(), rtol=1e-8, atol=1e-12
        )


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 4])
def test_values_far_out_and_columns_around_zero_are_the_definition_too(classes, intercept, share):
    X, y = drawn(12, 800, 21, classes, share)
    rng = np.random.default_rng(13)
    X *= np.where(rng.random(X.shape) < 0.01, 1e4, 1.0)  # beyond ten times the rms
    X[:, 3] = np.resize([-2.0, 2.0], 800)  # of every even number of rows in a row the mean is 0
    X[:, 4] *= np.arange(800) > 400
    history, margins, losses = adaptive(X, y, 1 if classes == 2 else classes, intercept)
    run = made(classes, fit_intercept=intercept)
    run.feed(csr(X), y)
    np.testing.assert_array_equal(run.trace().log.round, 1 + np.flatnonzero(losses))
    np.testing.assert_allclose(run.trace().log.margin, margins[losses], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(run.trace().last, history[-1], rtol=1e-9, atol=1e-12)


def trace_weights(trace, conversion, choice):
    from onepass.conversions import CONVERSIONS

    return CONVERSIONS[conversion].members(trace, choice.value).astype(float)


@pytest.mark.parametrize("classes", [2, 3])
def test_votes_are_those_of_every_hypothesis(classes):
    X, y = drawn(2, 300, 6, classes, share=0.7)
    history, _, losses = adaptive(X, y, 1 if classes == 2 else classes)
    run = made(classes)
    run.feed(X, y)
    members = np.stack([np.zeros_like(history[0]), *[h for h, lost in zip(history, losses, strict=True) if lost]])
    scores = members[:, :1] + np.einsum("nf,mfo->mno", X, members[:, 1:])
    q = run.trace().survival.astype(float)
    shares = np.zeros((len(X), classes))
    for share, score in zip(q / q.sum(), scores, strict=True):
        if classes == 2:
            shares[score[:, 0] > 0, 1] += share
            shares[score[:, 0] < 0, 0] += share
        else:
            fine = score.max(axis=1) > score.min(axis=1)
            shares[np.flatnonzero(fine), score[fine].argmax(axis=1)] += share
    np.testing.assert_allclose(run.model("average", how="vote").shares(X), shares, atol=1e-12)


@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_cutting_the_stream_changes_nothing(seed, classes, share):
    X, y = drawn(seed, 400, 8, classes, share)
    whole, pieces, single = (made(classes, n_features=8) for _ in range(3))
    whole.feed(csr(X), y)
    for first, last in pairwise(cuts(seed, 400, 60)):
        pieces.feed(csr(X[first:last]), y[first:last])
    assert same_state(whole.state(), pieces.state())
    dense = made(classes, n_features=8)
    dense.feed(X, y)
    fed_alone = [
        single.feed_one(X[i : i + 1], y[i : i + 1]) or single.feed(X[i : i + 1], y[i : i + 1]) for i in range(400)
    ]
    assert fed_alone.count(True) > 300
    np.testing.assert_array_equal(single.trace().last, dense.trace().last)


@pytest.mark.parametrize("classes", [2, 3])
def test_folding_keeps_counts_and_weights(classes):
    X, y = drawn(5, 500, 8, classes, 0.5)
    kept, folded = (made(classes, conversion="cutoff", max_trace_memory=memory) for memory in (1 << 28, 20_000))
    for run in (kept, folded):
        run.feed(csr(X), y)
    assert folded.trace().compacted
    assert not kept.trace().compacted
    for conversion in ("average", "cutoff", "last", "longest"):
        one, other = kept.certificate(conversion), folded.certificate(conversion)
        assert (one.risk, one.choice.value) == (other.risk, other.choice.value)
        np.testing.assert_allclose(
            kept.model(conversion).weights, folded.model(conversion).weights, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("classes", [2, 3])
def test_a_log_that_nobody_needs_is_let_go_and_no_bit_of_the_average_changes(classes):
    X, y = drawn(5, 500, 8, classes, 0.5)
    kept, dropped, pieces = made(classes), *(made(classes, max_trace_memory=20_000) for _ in range(2))
    for run in (kept, dropped):
        run.feed(csr(X), y)
    for first, last in pairwise(cuts(1, 500, 60)):
        pieces.feed(csr(X[first:last]), y[first:last])
    assert dropped.trace().dropped
    assert not kept.trace().dropped
    for run in (dropped, pieces):
        for conversion in ("average", "last"):
            assert run.certificate(conversion).risk == kept.certificate(conversion).risk
        np.testing.assert_array_equal(run.model("average").weights, kept.model("average").weights)
        np.testing.assert_array_equal(run.model("last").weights, kept.trace().last)
    for ask in ("cutoff", "longest", "suffix"):
        with pytest.raises(ConversionError, match="were let go"):
            dropped.certificate(ask)
    with pytest.raises(ConversionError, match="were let go"):
        dropped.model("average", how="vote")


@pytest.mark.parametrize("conversion", ["average", "cutoff"])
@pytest.mark.parametrize("memory", [1 << 28, 20_000])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_run_that_was_stopped_goes_on_to_the_same_bits(tmp_path, classes, memory, conversion):
    X, y = drawn(6, 400, 8, classes, 0.5)
    whole, begun, resumed = (made(classes, max_trace_memory=memory, conversion=conversion) for _ in range(3))
    whole.feed(csr(X), y)
    begun.feed(csr(X[:150]), y[:150])
    checkpoint.save(tmp_path / "run", begun)
    checkpoint.resume(tmp_path / "run", resumed)
    resumed.feed(csr(X[150:]), y[150:])
    assert same_state(whole.state(), resumed.state())


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_powers_of_two_in_the_scales_leave_every_bit_alone(share):
    X, y = drawn(7, 800, 8, share=share)
    factor = 2.0 ** np.random.default_rng(0).integers(-30, 30, 8)
    one, other = made(), made()
    one.feed(X, y)
    other.feed(X * factor, y)
    np.testing.assert_array_equal(one.trace().last[1:], other.trace().last[1:] * factor[:, None])
    np.testing.assert_array_equal(one.trace().last[0], other.trace().last[0])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_scales_and_order_of_columns_change_nothing_but_rounding(share, classes):
    X, y = drawn(8, 1500, 8, classes, share)
    rng = np.random.default_rng(1)
    factor, order = 10.0 ** rng.uniform(-6, 6, 8), rng.permutation(8)
    one, scaled, turned = made(classes), made(classes), made(classes)
    one.feed(X, y)
    scaled.feed(X * factor, y)
    turned.feed(X[:, order], y)
    scores = one.model().decision(X)
    np.testing.assert_allclose(scaled.model().decision(X * factor), scores, rtol=1e-6, atol=1e-9 * np.abs(scores).max())
    np.testing.assert_allclose(
        turned.model().decision(X[:, order]), scores, rtol=1e-6, atol=1e-9 * np.abs(scores).max()
    )


def test_a_column_that_grows_late_and_one_that_is_constant():
    X, y = drawn(9, 600, 4)
    late = np.column_stack([X, np.where(np.arange(600) < 300, 0.0, X[:, 0]), np.full(600, 3.0)])
    run = made()
    run.feed(late, y)
    weights = run.model().weights
    assert np.isfinite(weights).all()
    assert abs(weights[6, 0]) * 3.0 < 10.0  # a constant says nothing that the intercept does not
    grown = made()
    grown.feed(csr(late[:300, :4]), y[:300])
    grown.feed(csr(late[300:]), y[300:])
    assert grown.width == 6
    assert np.isfinite(grown.model().weights).all()


@pytest.mark.parametrize("spike", [1e8, 1e100, -1e140])
def test_one_spike_does_not_kill_a_column(spike):
    X, y = drawn(10, 2000, 3, noise=0.2)
    X[:, 1:] = 0.0
    y = np.where(X[:, 0] > np.median(X[:, 0]), 1, -1)
    X[1000, 0] = spike
    run = made()
    run.feed(X, y)
    model = run.model("last")
    assert np.isfinite(model.weights).all()
    assert (model.predict(X[1100:]) == y[1100:]).mean() > 0.9


@pytest.mark.parametrize("value", [1e-160, 1e-308, 5e-324, 1e143])
def test_values_at_the_ends_of_the_numbers(value):
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 300)
    X = value * np.column_stack([y * rng.uniform(0.5, 1.0, 300), rng.normal(size=300)])
    for rows in (X, csr(X)):
        run = made()
        run.feed(rows, y)
        assert np.isfinite(run.model().weights).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e308])
@pytest.mark.parametrize("layout", [np.asarray, csr])
def test_a_bad_value_is_refused_and_nothing_has_changed(bad, layout):
    X, y = drawn(11, 300, 5)
    run = made()
    run.feed(layout(X), y)
    before = run.state()
    broken = X.copy()
    broken[250, 3] = bad
    for rows in (broken, np.tile(broken, (4, 1))):
        with pytest.raises(DataError, match="row 250"):
            run.feed(layout(rows), np.resize(y, len(rows)))
        assert same_state(run.state(), before)


def test_rows_of_zeros_and_one_label_for_long():
    run = made()
    run.feed(np.zeros((50, 3)), np.ones(50))
    assert np.isfinite(run.model("last").weights).all()
    bare = made(fit_intercept=False)
    bare.feed(np.zeros((50, 3)), np.ones(50))
    np.testing.assert_array_equal(bare.model("last").weights, 0.0)
    assert bare.mistakes == 50


def test_more_weights_than_places_are_refused():
    run = made(classes=300, max_features=1 << 24)
    row = csr(np.ones((1, 1)))
    row.resize((1, 1 << 24))
    row.indices[0] = (1 << 24) - 1
    with pytest.raises(LimitError, match="weights"):
        run.feed(row, [0])


def test_it_says_what_it_is():
    assert repr(Adaptive()) == "Adaptive()"
    assert Pass("adaptive").learner == Adaptive() == Pass(Adaptive).learner


def test_what_is_known_of_a_column_is_one_line_of_memory():
    """A column's eight numbers, and its weights in eight watched models, are fetched at once however wide it grows."""
    run, rng = Pass("adaptive"), np.random.default_rng(0)
    for width in (3, 500, 40_000):
        X = csr((rng.random((40, width)) < 0.01) * rng.normal(size=(40, width)))
        X.resize((40, width))
        run.feed(X, rng.random(40) < 0.5)
        for array in (run.learner_run.store.columns, run.watched.board.lines):
            assert array.shape[1] == 8
            assert array.ctypes.data % 64 == 0


def test_only_columns_met_are_looked_at_and_each_once(tmp_path):
    """Of 2^18 columns a table of words meets few, and what is frozen or stored of a run costs no more than those."""
    rng = np.random.default_rng(0)
    run = Pass("adaptive", classes=[0, 1], n_features=1 << 18)
    met: set[int] = set()
    for _ in range(3):
        X = csr(rng.random((60, 40)) < 0.2)
        X.resize((60, 1 << 18))
        X.indices[:] = X.indices * 6547 + 5
        run.feed(X, rng.random(60) < 0.5)
        learned = run.learner_run.store.columns[:, 3] > 0
        met = set(np.flatnonzero(learned).tolist())
        noted = run.learner_run.store.met[: len(met)].tolist()
        assert set(noted) == met
        assert len(met) == 40
    checkpoint.save(tmp_path / "c", run)
    again = Pass("adaptive", classes=[0, 1], n_features=1 << 18)
    checkpoint.resume(tmp_path / "c", again)
    np.testing.assert_array_equal(again.trace().last, run.trace().last)
    np.testing.assert_array_equal(again.model("average").weights, run.model("average").weights)
