"""The repeat alarm: it hears 100 rows that come again, wherever the stream is cut, and no draws."""

import gzip
import json

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import onepass.guards.repeats
from onepass import OnePassClassifier, Pass
from onepass.guards.fingerprints import fingerprints
from onepass.guards.repeats import AGAIN, BEFORE, KEPT, MASK, no_repeats, observe_prints, repeat_reason
from onepass.io import dump_svmlight
from onepass.rows import Dense
from onepass.validate import accept, block
from oracles_repeats import repeats
from test_cli import onepass as program


def draws(rng, n, features=3, values=8):
    """Independent rows of few values, and labels −1, +1."""
    return rng.integers(0, values, size=(n, features)) / 4, rng.choice([-1, 1], size=n)


def heard(X, y, cuts=()):
    """The alarm's state after these rows, fed in these pieces."""
    rows, state = accept(X), no_repeats()
    for first, last in zip([0, *cuts], [*cuts, len(y)], strict=True):
        state = observe_prints(state, fingerprints(block(rows, first, last), y[first:last]))
    return state


def as_tuples(X, y):
    return [(label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True)]


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    before=st.integers(0, 300),
    length=st.integers(40, 250),
    between=st.integers(0, 200),
    features=st.sampled_from([1, 3, 16]),
)
def test_it_rings_where_the_definition_sees_a_repeat_and_within_100_rows_of_it(seed, before, length, between, features):
    X, y = draws(np.random.default_rng(seed), before + length + between + 120, features)
    again = before + length + between
    order = np.concatenate([np.arange(again), np.arange(before, before + length), np.arange(again, len(y))])
    X, y = X[order], y[order]
    state, found = heard(X, y), repeats(as_tuples(X, y))
    rang = int(state.place[AGAIN])
    if rang:
        assert found[rang] == state.place[BEFORE]
    if length >= 100 and again + 100 in found:  # fewer features: there may be too few different rows
        assert again < rang <= again + 100


@pytest.mark.parametrize("kind", ["dense", "wide", "sparse", "patterned", "float32"])
def test_every_kind_of_row_is_recognised(kind):
    rng = np.random.default_rng(0)
    X, y = draws(rng, 400, 40)
    if kind == "wide":
        X = np.pad(X, ((0, 0), (0, 500)))
    elif kind == "float32":
        X = X.astype(np.float32)
    elif kind == "sparse":  # long rows, told apart by their features
        X = scipy.sparse.random_array((400, 500), density=0.1, format="csr", random_state=rng)
    elif kind == "patterned":  # long rows that have all features, told apart by their values
        X = scipy.sparse.csr_array(X + 1)
    order = [*range(400), *range(150, 250), *range(300)]
    state = heard(X[order], y[order])
    assert 400 < state.place[AGAIN] <= 500
    assert state.place[AGAIN] - state.place[BEFORE] == 250
    assert not heard(X, y).place[AGAIN]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 100), cuts=st.lists(st.integers(0, 900), max_size=6).map(sorted))
def test_cutting_the_stream_changes_nothing(seed, cuts):
    X, y = draws(np.random.default_rng(seed), 900)
    X[700:] = X[100:300]
    y[700:] = y[100:300]
    for whole, parts in zip(heard(X, y), heard(X, y, cuts), strict=True):
        assert whole.tobytes() == parts.tobytes()


@pytest.mark.parametrize("values", [1, 2, 3])
def test_draws_of_few_values_never_ring_it_though_their_windows_repeat(values):
    X, y = draws(np.random.default_rng(values), 60_000, 3, values)
    if values == 1:
        y[:] = 1
        assert repeats(as_tuples(X[:200], y[:200]), different=1)  # what the rule of 32 different rows is for
    assert not heard(X, y).place[AGAIN]


def test_a_full_table_keeps_fewer_anchors_and_still_hears_a_long_repeat(monkeypatch):
    monkeypatch.setattr(onepass.guards.repeats, "MOST", 512)
    X, y = draws(np.random.default_rng(5), 40_000)
    state = heard(X, y)
    assert state.place[MASK] > 0
    assert len(state.table) == 512
    assert 0 < state.place[KEPT] <= 256
    assert state.place[KEPT] == np.count_nonzero(state.table[:, 0])
    again = heard(np.concatenate([X, X[10_000:15_000]]), np.concatenate([y, y[10_000:15_000]]))
    assert again.place[AGAIN] - again.place[BEFORE] == 30_000


# What becomes of it -------------------------------------------------------------------------------


def test_a_pass_withholds_the_certificate_and_says_why():
    X, y = draws(np.random.default_rng(0), 500, 6)
    y = np.where(X[:, 0] > 1, 1, -1)
    once = Pass()
    once.feed(X, y)
    assert once.certificate().withheld is None
    twice = Pass()
    twice.feed(X, y)
    half = Pass()
    half.restore(twice.state())
    for run in (twice, half):
        run.feed(X[:100], y[:100])
        reason = run.certificate().withheld
        assert "once more: was a file or a block fed twice?" in reason
        assert reason == repeat_reason(run.guards.repeats)
    assert twice.state()["guards"]["repeats"].table.tobytes() == half.state()["guards"]["repeats"].table.tobytes()
    short = Pass()
    short.feed(X, y)
    short.feed(X[:60], y[:60])  # too short to tell
    deaf = Pass(repeat_alarm=False)
    deaf.feed(np.tile(X, (2, 1)), np.tile(y, 2))
    assert short.certificate().withheld is deaf.certificate().withheld is None


def test_rows_fed_one_by_one_and_scaled_rows_are_heard_too():
    X, y = draws(np.random.default_rng(1), 300, 6)
    y = np.where(X[:, 0] > 1, 1, -1)
    clf = OnePassClassifier()
    for i in [*range(300), *range(100)]:
        clf.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1])
    assert "rows 3" in clf.certificate_.withheld
    assert "fed twice" in clf.certificate_.withheld
    long = np.concatenate([X, np.random.default_rng(2).normal(size=(900, 6)), 2 * X[:100], X[:150]])
    labels = np.where(long[:, 0] > 1, 1, -1)
    run = Pass("margin", radius="auto")
    run.feed(long, labels)
    assert "fed twice" in run.certificate().withheld  # the first rows were read before there was a radius
    assert int(run.guards.repeats.place[BEFORE]) <= 100


def test_a_shard_under_another_compression_is_recognised(tmp_path):
    X, _ = draws(np.random.default_rng(3), 300, 6)
    dump_svmlight(tmp_path / "a.svm", X, np.where(X[:, 0] > 1, 1, -1))
    (tmp_path / "b.svm.gz").write_bytes(gzip.compress((tmp_path / "a.svm").read_bytes()))
    result = json.loads(program(tmp_path, "train", "a.svm", "b.svm.gz", "--json", "-q").stdout)
    assert "fed twice" in result["certificate"]["withheld"]
    assert result["risk"] is None
    program(tmp_path, "train", "a.svm", "b.svm.gz", "--require-risk", "0.9", "-q", code=5)
    assert json.loads(program(tmp_path, "train", "a.svm", "--json", "-q").stdout)["certificate"]["withheld"] is None


def test_a_dense_row_without_features_is_no_trouble():
    prints = fingerprints(Dense(np.zeros((300, 0))), np.ones(300, np.int64))
    assert not observe_prints(no_repeats(), prints).place[AGAIN]
