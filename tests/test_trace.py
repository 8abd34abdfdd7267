"""The grid, the log, compaction and merge."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onepass.trace.hypotheses
import oracles
from onepass.certificates import certify
from onepass.conversions import CONVERSIONS
from onepass.errors import ConversionError, LimitError
from onepass.learners import MarginPerceptron
from onepass.passes import Pass
from onepass.schedules import Constant
from onepass.trace import combine, merge
from onepass.trace.grid import coarse, floor_index, point, points
from strategies import csr, dyadic

cutoff = CONVERSIONS["cutoff"].members  # the weights (n_j − k)₊


@given(st.integers(min_value=0, max_value=1 << 20))
@settings(deadline=None, max_examples=200)
def test_floor_index_finds_the_grid_point_at_or_below(s):
    i = floor_index(s)
    assert point(i) <= s < point(i + 1)


def test_grid_is_the_integers_of_three_bits():
    top = 5000
    expected = oracles.grid(top)
    assert [point(i) for i in range(len(expected))] == expected
    for bits in (1, 2, 3):
        kept = [k for k in expected if len(bin(k).strip("0b")) <= bits]
        assert points(coarse(bits, len(expected) - 1)).tolist()[: len(kept)] == kept


@given(st.integers(min_value=1, max_value=100_000), st.integers(min_value=0, max_value=60))
@settings(deadline=None, max_examples=200)
def test_a_survival_time_is_shared_exactly_between_its_neighbours(s, i):
    """(s − κ)₊ = (1−λ)(κ_b − κ)₊ + λ(κ_{b+1} − κ)₊ for every κ on the grid."""
    b, k = floor_index(s), point(i)
    part = (s - point(b)) / (point(b + 1) - point(b))
    assert (1 - part) * max(point(b) - k, 0) + part * max(point(b + 1) - k, 0) == max(s - k, 0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("many", [0, 1 << 20])
def test_combine_equals_the_sum_over_all_hypotheses(monkeypatch, classes, intercept, many):
    monkeypatch.setattr(onepass.trace.hypotheses, "MANY", many)  # 0: two threads add up
    X, y = dyadic(1, 200, 6, classes)
    run = Pass(
        "perceptron", conversion="cutoff", classes=range(classes) if classes > 2 else [-1, 1], fit_intercept=intercept
    )
    run.feed(X, y)
    trace = run.trace()
    Z = np.column_stack([np.full(len(X), float(intercept)), X])
    W = oracles.hypotheses(Z, y, oracles.perceptron, (7,) if classes == 2 else (7, classes))
    starts = np.cumsum(trace.survival) - trace.survival
    distinct = [W[s].reshape(7, -1) for s in starts]
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.integers(0, 5, size=len(distinct))
        expected = sum(n * w for n, w in zip(q, distinct, strict=True)) / q.sum()
        np.testing.assert_array_equal(combine(trace, q), expected)


@pytest.mark.parametrize("bad", [np.array([1]), np.zeros(0, dtype=int)])
def test_combine_refuses_weights_that_do_not_fit(bad):
    X, y = dyadic(1, 50, 4)
    run = Pass()
    run.feed(X, y)
    with pytest.raises(ValueError, match="q: "):
        combine(run.trace(), bad)
    with pytest.raises(ValueError, match="q: "):
        combine(run.trace(), np.zeros(run.trace().updates + 1, dtype=int))


OPTIONS = {
    "perceptron": {"learner": "perceptron"},
    "perceptron, several": {"learner": "perceptron", "classes": range(4)},
    "margin": {"learner": "margin", "radius": 2.0},
    "margin, several": {"learner": "margin", "radius": 2.0, "classes": range(4)},
    "sphere": {"learner": "margin-sphere", "radius": 2.0, "fit_intercept": False},
    "pa": {"learner": "pa2"},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("memory", [7_000, 15_000])
def test_compacted_equals_row_keeping(name, memory):
    """Wherever compaction begins: counts, k and certificates bit for bit; weights too for the Perceptron."""
    options = {"conversion": "cutoff", **OPTIONS[name]}
    X, y = dyadic(7, 600, 8, 4 if "several" in name else 2, noise=0.2)
    kept, compacted = Pass(**options), Pass(max_trace_memory=memory, **options)
    kept.feed(csr(X), y)
    for first in range(0, 600, 50):
        compacted.feed(csr(X[first : first + 50]), y[first : first + 50])
    one, two = kept.trace(), compacted.trace()
    assert one.log.size > memory
    assert two.compacted
    assert two.columns.bits == 3
    assert (one.rounds, one.updates, one.alive, one.first) == (two.rounds, two.updates, two.alive, two.first)
    for part, other in zip(one.tally, two.tally, strict=True):
        np.testing.assert_array_equal(part, other)
    assert one.longest == two.longest
    np.testing.assert_array_equal(one.last, two.last)
    exact = name.startswith("perceptron")
    compare = np.testing.assert_array_equal if exact else lambda a, b: np.testing.assert_allclose(a, b, atol=1e-11)
    for conversion in ("cutoff", "average", "last", "longest"):
        for bound in ("betting", "dekel2008"):
            a, b = certify(one, conversion, bound=bound), certify(two, conversion, bound=bound)
            assert (a.risk, a.choice.value, a.counted, a.empirical) == (b.risk, b.choice.value, b.counted, b.empirical)
        value = a.choice.value or 0
        compare(
            combine(one, CONVERSIONS[conversion].members(one, value)),
            combine(two, CONVERSIONS[conversion].members(two, value)),
        )
    for k in points(np.arange(20)).tolist():
        compare(combine(one, cutoff(one, k)), combine(two, cutoff(two, k)))


@pytest.mark.parametrize("learner", ["perceptron", "margin"])
def test_compaction_does_not_depend_on_the_cutting(learner):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(500, 6)), rng.choice([-1, 1], size=500)
    runs = [Pass(learner, conversion="cutoff", radius=1.0, max_trace_memory=4_000) for _ in range(2)]
    runs[0].feed(csr(X), y)
    for x, label in zip(X, y, strict=True):
        runs[1].feed(csr(x[None, :]), [label])
    one, two = (run.trace() for run in runs)
    assert one.compacted
    for part, other in zip(one.columns.fold, two.columns.fold, strict=True):
        np.testing.assert_array_equal(part, other)
    np.testing.assert_array_equal(runs[0].model().weights, runs[1].model().weights)


@pytest.mark.parametrize("horizon", [None, 20_000])
def test_compaction_after_a_scale_far_below_one(horizon):
    """Projections shrink the scale below 2^-300 again and again: rows, columns and oracle agree.

    A large constant rate makes each projection worth many of the usual ones.
    """
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=3000) > 0, 1, -1)
    learner = MarginPerceptron(schedule=Constant(1.5))
    unit = {"classes": [-1, 1], "radius": 1.0, "fit_intercept": False}
    kept, compacted = (
        Pass(learner, conversion="cutoff", horizon=horizon, max_trace_memory=memory, **unit)
        for memory in (1 << 28, 20_000)
    )
    for run in (kept, compacted):
        run.feed(X, y)
    one, two = kept.trace(), compacted.trace()
    assert one.log.shift.sum() >= 3
    assert two.compacted
    W = [np.zeros(5)]
    for x, label in zip(X, y, strict=True):
        w = W[-1]
        if label * (w @ x) < 1:
            w = w + 1.5 * label * x
            w = w / max(1.0, np.linalg.norm(w))
        W.append(w)
    np.testing.assert_allclose(one.last[1:, 0], W[-1], atol=1e-9)
    for k in (0, 1, 2, 4):
        q = cutoff(one, k)
        starts = np.cumsum(one.survival) - one.survival
        expected = sum(n * W[s] for n, s in zip(q, starts, strict=True)) / q.sum()
        np.testing.assert_allclose(combine(one, q)[1:, 0], expected, atol=1e-9)
        np.testing.assert_allclose(combine(two, cutoff(two, k))[1:, 0], expected, atol=1e-9)
    assert certify(one).risk == certify(two).risk


def test_a_million_projections():
    """The default rate, a million rounds: the columns still hold what the rows do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0, 1, -1)
    kept, compacted = (
        Pass("margin", conversion="cutoff", radius=1.0, fit_intercept=False, max_trace_memory=memory)
        for memory in (1 << 30, 1 << 20)
    )
    for run in (kept, compacted):
        run.feed(X, y)
    one, two = kept.trace(), compacted.trace()
    assert one.updates > 900_000
    assert one.log.shift.any()
    assert two.compacted
    for k in (0, 1, 2):
        np.testing.assert_allclose(
            combine(one, cutoff(one, k)),
            combine(two, cutoff(two, k)),
            rtol=1e-8,
            atol=1e-10,
        )
    assert certify(one).risk == certify(two).risk


def test_columns_coarsen_exactly_and_then_refuse():
    """On a coarser grid what remains is still exact; past the coarsest the refusal names the number."""
    X, y = dyadic(8, 3000, 30, noise=0.02)
    kept = Pass("perceptron", conversion="cutoff")
    kept.feed(X, y)
    one = kept.trace()
    seen = set()
    for memory in range(1500, 12_000, 250):
        run = Pass("perceptron", conversion="cutoff", max_trace_memory=memory)
        if memory < 2_000:
            with pytest.raises(LimitError, match="max_trace_memory"):
                run.feed(X, y)
            assert run.rows == 0
            seen.add(0)
            continue
        run.feed(X, y)
        two = run.trace()
        seen.add(two.columns.bits)
        assert 8 * two.columns.fold.A.size * 31 <= memory
        for k in two.columns.survival.tolist():
            np.testing.assert_array_equal(combine(one, cutoff(one, k)), combine(two, cutoff(two, k)))
        certificate = run.certificate()
        assert certificate.choice.value in two.columns.survival
        assert certificate.risk >= kept.certificate().risk
    assert seen == {0, 1, 2, 3}


def test_what_compaction_takes_away_is_refused_with_the_remedy():
    X, y = dyadic(9, 400, 6)
    run = Pass("perceptron", conversion="cutoff", max_trace_memory=4_000)
    run.feed(X, y)
    with pytest.raises(ConversionError, match="max_trace_memory"):
        run.model("suffix")
    with pytest.raises(ConversionError, match="max_trace_memory"):
        run.model("average", how="vote")
    every = Pass("perceptron", conversion="cutoff", max_trace_memory=4_000, cutoffs="all")
    every.feed(X, y)
    with pytest.raises(ConversionError, match="max_trace_memory"):
        every.certificate()
    assert "gone after compaction" in str(run.certificate())


@pytest.mark.parametrize("learner", ["perceptron", "margin"])
def test_merge_is_the_run_with_restarts(learner):
    """Several parts, each started afresh, are one sequence of hypotheses: eq. (3) over all rounds."""
    X, y = dyadic(11, 900, 6, noise=0.15)
    parts, losses, W = [], [], []
    for first in (0, 200, 500):
        last = {0: 200, 200: 500, 500: 900}[first]
        run = Pass(learner, classes=[-1, 1], radius=4.0, n_features=6)
        run.feed(csr(X[first:last]), y[first:last])
        parts.append(run.trace())
        Z = np.column_stack([np.ones(last - first), X[first:last]])
        norms = np.linalg.norm(Z[:, 1:], axis=1, keepdims=True)
        Z[:, 1:] = np.where(norms > 4, Z[:, 1:] * 4 / np.maximum(norms, 4), Z[:, 1:])
        update = oracles.perceptron if learner == "perceptron" else oracles.margin_perceptron(np.sqrt(17))
        V = oracles.hypotheses(Z, y[first:last], update, (7,))
        m = oracles.margins(Z, y[first:last], V)
        losses.append(m <= 0 if learner == "perceptron" else np.maximum(0, 1 - m))
        W.append(V[:-1])
    merged = merge(parts)
    assert merged.rounds == 900
    for k in (0, 1, 2, 3, 6, 10):
        B = np.concatenate([oracles.counted(part, k) for part in losses])
        if k > 0:
            B[[200, 500]] = False  # B_0 = 1 holds for the first part only
        total = np.concatenate([np.array(v) for v in W])
        expected = (B[:, None] * total).sum(axis=0) / B.sum()
        got = combine(merged, cutoff(merged, k))
        np.testing.assert_allclose(got[:, 0], expected, atol=1e-12)
    with pytest.raises(ValueError, match="same terms"):
        merge([parts[0], Pass("pa").trace()])
    again = merge([merge(parts[:2]), parts[2]])
    np.testing.assert_array_equal(again.columns.fold.mass, merged.columns.fold.mass)
    assert certify(merged).counted == certify(again).counted
    assert merged.longest.survival == max(part.longest.survival for part in parts)
    assert np.isfinite(certify(merged, "longest").risk)


def test_traces_whose_labels_are_coded_otherwise_do_not_merge():
    X, y = dyadic(5, 200, 3)
    names = np.where(y > 0, "up", "down")
    other = 100 + int(np.argmax(names[100:] != names[0]))  # the second part meets the other label first
    one, two = Pass(), Pass()
    one.feed(X[:100], names[:100])
    two.feed(X[other:], names[other:])
    with pytest.raises(ValueError, match="declare `classes`"):
        merge([one.trace(), two.trace()])


def test_a_merged_trace_counts_where_the_first_part_began():
    """H_0 has a round more than it was in use, also if it is no zero."""
    X, y = dyadic(5, 300, 2, noise=0.2)
    origin = np.array([[0.0], [5.0], [0.0]])
    one, two = (
        Pass("perceptron", conversion="cutoff", classes=[-1, 1], origin=origin),
        Pass("perceptron", conversion="cutoff", classes=[-1, 1]),
    )
    one.feed(csr(X[:100]), y[:100])
    two.feed(csr(X[100:]), y[100:])
    merged = merge([one.trace(), two.trace()])
    W, losses = [], []
    for first, last, start in ((0, 100, origin[:, 0]), (100, 300, np.zeros(3))):
        w = start.copy()
        for x, label in zip(np.column_stack([np.ones(last - first), X[first:last]]), y[first:last], strict=True):
            W.append(w.copy())
            losses.append(label * (x @ w) <= 0)
            if losses[-1]:
                w = w + label * x
    for k in (0, 1, 2, 3, 5):
        B = np.concatenate([oracles.counted(np.array(losses[:100]), k), oracles.counted(np.array(losses[100:]), k)])
        if k > 0:
            B[100] = False
        expected = (B[:, None] * np.array(W)).sum(axis=0) / B.sum()
        np.testing.assert_allclose(combine(merged, cutoff(merged, k))[:, 0], expected, atol=1e-12)


def test_the_same_rows_do_not_merge_twice():
    X, y = dyadic(5, 300, 3, noise=0.1)

    def trace(first, last, **options):
        run = Pass("perceptron", conversion="cutoff", classes=[-1, 1], **options)
        run.feed(csr(X[first:last]), y[first:last])
        return run.trace()

    one, two = trace(0, 150), trace(150, 300)
    fresh = trace(0, 150, origin=np.ones((4, 1)))  # the same rows, another run of hypotheses
    for parts in ([one, one], [one, two, trace(0, 150)], [one, fresh], [merge([one, two]), two]):
        with pytest.raises(ValueError, match="the same rows as part"):
            merge(parts)
    unwatched = trace(0, 150, repeat_alarm=False)
    with pytest.raises(ValueError, match="the same rows as part"):
        merge([unwatched, unwatched])
    assert merge([one, two]).rounds == 300


@pytest.mark.parametrize("classes", [2, 3])
def test_parts_sorted_by_label_void_the_merged_certificate(classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), rng.integers(classes, size=600)

    def merged(labels, **options):
        parts = []
        for first in range(0, 600, 200):
            parts.append(Pass(classes=range(classes), **options))
            parts[-1].feed(X[first : first + 200], labels[first : first + 200])
        assert not any(part.trace().void for part in parts)
        return merge([part.trace() for part in parts])

    ordered = np.repeat([0, 1, 0], 200)  # each part alone has one label, and shows nothing
    certificate = certify(merged(ordered), "average")
    assert "order that independent draws would not show (noticed at the end of part 2)" in certificate.withheld
    assert certify(merged(ordered, order_alarm=False), "average").withheld is None
    assert certify(merged(y), "average").withheld is None
