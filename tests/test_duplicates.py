"""The share of rows that equal an earlier one: exact while they are few, near it for many; told, and void for none."""

import json
import re

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import onepass.guards.duplicates
from onepass import Pass
from onepass.checkpoints import checkpoint
from onepass.errors import CheckpointError
from onepass.guards.duplicates import HASH_MASK, MOST, PRINT_MASK, count_rows, merged, no_duplicates, share
from onepass.guards.fingerprints import fingerprints
from onepass.io import dump_svmlight
from onepass.scale import cut, learn
from onepass.trace import merge
from onepass.validate import accept, block
from test_cli import onepass as program
from test_learners import same_state
from test_repeats import as_tuples, draws


def counted(X, y, cuts=()):
    """The sketch after these rows, fed in these pieces."""
    rows, state = accept(X), no_duplicates()
    for first, last in zip([0, *cuts], [*cuts, len(y)], strict=True):
        piece, labels = block(rows, first, last), y[first:last]
        state = count_rows(state, piece, labels, fingerprints(piece, labels))
    return state


def truth(X, y):
    """The definition."""
    rows = as_tuples(X, y)
    return 1 - len(set(rows)) / len(rows)


def copies(seed=0, n=300, times=10):
    """Random rows with random labels, each several times, in random order: nothing can be learned from them."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.repeat(np.arange(n), times))
    return rng.normal(size=(n, 20))[order], rng.choice([-1, 1], size=n)[order]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 100), values=st.integers(2, 9), cuts=st.lists(st.integers(0, 900), max_size=6).map(sorted))
def test_few_rows_are_counted_exactly_wherever_the_stream_is_cut(seed, values, cuts):
    X, y = draws(np.random.default_rng(seed), 900, 3, values)
    state = counted(X, y, cuts)
    assert same_state(state, counted(X, y))
    assert share(state) == pytest.approx(truth(X, y))
    assert share(counted(scipy.sparse.csr_array(X), y)) == share(state)


def many(kind, n=30_000):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 20))
    if kind == "each three times":
        X = X[rng.permutation(np.repeat(np.arange(n // 3), 3))]
    elif kind == "one in fifty":
        X[: n // 50] = X[n // 50 : 2 * (n // 50)]
    elif kind == "half of them zero":
        X[rng.random(n) < 0.5] = 0.0
    elif kind == "few common, many rare":
        X = X[np.minimum(rng.zipf(1.5, size=n), n) - 1]
    elif kind == "long rows that fingerprints do not tell apart":
        X = np.hstack([np.zeros((n, 1)), rng.integers(0, n, size=(n, 1)), np.zeros((n, 30))])
    return X, np.ones(n, dtype=np.int64)


KINDS = {
    "all different": 0.0,
    "each three times": 0.02,
    "one in fifty": 0.01,
    "half of them zero": 0.05,
    "few common, many rare": 0.05,
    "long rows that fingerprints do not tell apart": 0.05,
}


@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_are_estimated_in_bounded_memory(kind):
    X, y = many(kind)
    state = counted(X, y)
    assert abs(share(state) - truth(X, y)) <= KINDS[kind]
    assert len(state.table) <= MOST
    assert same_state(state, counted(X, y, [1, 5000, 5001, 22_222]))
    alike = kind.startswith("long rows")
    assert bool(state.scope[HASH_MASK]) == alike
    assert not (alike and state.scope[PRINT_MASK])


@pytest.mark.parametrize("kind", ["few", *KINDS])
def test_sketches_of_two_streams_add(kind):
    X, y = draws(np.random.default_rng(0), 1000) if kind == "few" else many(kind)
    half = len(y) // 3
    both = merged(counted(X[:half], y[:half]), counted(X[half:], y[half:]))
    assert share(both) == pytest.approx(truth(X, y), abs=1e-12 if kind == "few" else KINDS[kind])
    assert both.scope[0] == len(y)
    assert 2 * both.scope[1] <= len(both.table) <= MOST


def test_copies_in_another_order_are_told_with_the_certificate_and_void_nothing():
    X, y = copies()
    run = Pass(classes=[-1, 1])
    run.feed(X, y)
    found = run.certificate()
    assert found.withheld is None
    assert found.repeated == pytest.approx(0.9)
    assert "Noticed: about 90 % of the rows equal an earlier one" in str(found)
    assert run.model().about["certificate"]["repeated"] == found.repeated
    clean = Pass(classes=[-1, 1])
    X = np.random.default_rng(1).normal(size=(2000, 3))
    clean.feed(X, np.where(X[:, 0] > 0, 1, -1))
    assert clean.certificate().repeated == 0.0
    assert "Noticed" not in str(clean.certificate())
    deaf = Pass(classes=[-1, 1], repeat_alarm=False)
    deaf.feed(X, np.where(X[:, 0] > 0, 1, -1))
    assert deaf.certificate().repeated is None


def test_the_program_and_its_page_tell_it(tmp_path):
    X, y = copies()
    with open(tmp_path / "a.svm", "wb") as file:
        dump_svmlight(file, X, y)
    said = json.loads(program(tmp_path, "train", "a.svm", "--json", "-q", "--report", "p.html").stdout)
    assert said["certificate"]["repeated"] == pytest.approx(0.9)
    page = (tmp_path / "p.html").read_text()
    assert "About 90 % of the rows equal an earlier one" in page
    assert re.search(r">rows that equal an earlier one</t[dh]>\s*<td[^>]*>90 %<", page)


def test_rows_fed_one_by_one_are_counted_too():
    X, y = copies(n=30)
    whole, single = Pass(classes=[-1, 1], n_features=20), Pass(classes=[-1, 1], n_features=20)
    whole.feed(X, y)
    for i in range(len(y)):
        if not single.feed_one(X[i : i + 1], y[i : i + 1]):
            single.feed(X[i : i + 1], y[i : i + 1])
    assert single.certificate() == whole.certificate()
    assert same_state(single.state()["guards"]["duplicates"], whole.state()["guards"]["duplicates"])


def test_it_goes_on_after_the_repeat_alarm_has_rung():
    X, y = draws(np.random.default_rng(0), 400)
    run = Pass(classes=[-1, 1])
    run.feed(np.vstack([X, X, X]), np.concatenate([y, y, y]))
    found = run.certificate()
    assert found.withheld is not None
    assert found.repeated == pytest.approx(truth(np.vstack([X, X, X]), np.concatenate([y, y, y])))


def test_a_resumed_pass_has_the_same_sketch_and_a_forged_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(onepass.guards.duplicates, "MOST", 256)
    X, y = copies()
    whole, first, second = (Pass(classes=[-1, 1]) for _ in range(3))
    whole.feed(X, y)
    first.feed(X[:1234], y[:1234])
    checkpoint.save(tmp_path / "c", first)
    checkpoint.resume(tmp_path / "c", second)
    second.feed(X[1234:], y[1234:])
    assert same_state(second.state(), whole.state())
    assert second.certificate() == whole.certificate()
    first.guards.duplicates.table[:] = 1  # full: a search would never end
    checkpoint.save(tmp_path / "c", first)
    checkpoint.save(tmp_path / "c", first)
    with pytest.raises(CheckpointError, match="sketch of repeated rows"):
        checkpoint.resume(tmp_path / "c", Pass(classes=[-1, 1]))


def test_a_trace_keeps_its_share_and_merged_traces_count_together():
    X, y = copies()
    parts = []
    for first in (0, 1500):
        run = Pass(classes=[-1, 1], n_features=20)
        run.feed(X[first : first + 1500], y[first : first + 1500])
        parts.append(run.trace())
        run.feed(X, y)  # which does not change the trace
    assert share(parts[0].duplicates) == pytest.approx(truth(X[:1500], y[:1500]))
    assert share(merge(parts).duplicates) == pytest.approx(0.9)


def test_chunks_on_several_machines_are_counted_together():
    X, y = copies()
    found = learn(cut([(X[at : at + 500], y[at : at + 500]) for at in range(0, 3000, 500)]), classes=[-1, 1])
    assert found.certificate().repeated == pytest.approx(0.9)
