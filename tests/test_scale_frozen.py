"""Frozen models on several machines: candidates and counts by the definition, and what becomes of them."""

import copy

import numpy as np
import pytest

import oracles
import oracles_scale
from onepass import OnePassClassifier, Pass, scale
from onepass.certificates import Target
from onepass.certificates.pair import candidate_risk
from onepass.certificates.score_bins import border_levels
from onepass.datasets import Newswire
from onepass.errors import ConversionError, LimitError
from onepass.scale import cut, learn
from oracles_adaptive import Adaptive
from strategies import csr, dyadic
from test_learners_adaptive import drawn


def pieces(X, y, chunks, layout=np.asarray):
    rows = np.array_split(np.arange(len(y)), chunks)
    return [(layout(X[part]), y[part]) for part in rows]


def two_classes(w, Z):
    return (Z @ w > 0).astype(int)


def waves_of(X, y, waves, chunks):
    """The rows of each wave, with labels 0, 1, …"""
    parts = np.array_split(np.arange(chunks), waves)
    rows = np.array_split(np.arange(len(y)), chunks)
    codes = np.searchsorted(np.unique(y), y)
    return [(X[at], codes[at]) for at in (np.concatenate([rows[p] for p in part]) for part in parts)]


def frozen_at(waves):
    """The waves after which a candidate is frozen and met by rows: numbers of at most three significant bits."""
    return [wave for wave in range(1, waves) if wave % 2 ** max(0, wave.bit_length() - 3) == 0]


def must_be(run, expected, rows, judge):
    """Every watched candidate has met the rows of later waves, and has done with them what the definition says."""
    watched = run.trace().watched
    ends = np.cumsum([len(labels) for _, labels in rows])
    at = frozen_at(len(rows))
    assert watched.counts.frozen.tolist() == [ends[wave - 1] for wave in at][-len(watched.prices) :]
    for slot, frozen in enumerate(watched.counts.frozen):
        wave = ends.tolist().index(frozen)
        met, mistakes = oracles_scale.watched(expected[wave], rows[wave + 1 :], judge)
        assert watched.counts.rows[slot].tolist() == met
        assert watched.counts.mistakes[slot].tolist() == mistakes
        assert watched.counts.bins[slot].sum() == sum(met)
    assert watched.prices.tolist() == [1.0 / len(at)] * len(watched.prices)


# --- by the definition ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["perceptron", "margin"])
@pytest.mark.parametrize(("waves", "chunks"), [(2, 6), (3, 6), (12, 24)])
def test_candidates_and_counts_are_the_definition(learner, waves, chunks):
    rng = np.random.default_rng(waves)
    X = rng.normal(size=(1200, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=1200) > 0, 1, -1)
    options = {"radius": 1.0} if learner == "margin" else {}
    run = learn(cut(pieces(X, y, chunks)), waves=waves, learner=learner, fit_intercept=False, **options)
    rule = oracles_scale.perceptron if learner == "perceptron" else oracles_scale.margin_perceptron(1.0)
    ends = oracles_scale.ends(pieces(X, y, chunks), [chunks // waves] * waves, rule, grows=learner == "perceptron")
    expected, rows = oracles_scale.candidates(ends), waves_of(X, y, waves, chunks)
    must_be(run, expected, rows, two_classes)
    assert len(run.trace().watched.prices) == min(8, waves - 1)  # the newest
    counts, certificate = run.trace().watched.counts, run.certificate()
    price = 1.0 / len(frozen_at(waves))
    bounds = [candidate_risk(counts, slot, 0.05 * price) for slot in range(len(counts.frozen))]
    assert certificate.risk == min(bounds)
    assert certificate.choice.value == counts.frozen[np.argmin(bounds)]
    at = run.outcome.begin - 2
    np.testing.assert_allclose(run.model().weights[1:, 0], expected[at], atol=1e-12)
    assert certificate.counted == sum(len(labels) for _, labels in rows[at + 1 :])
    # planned bets are about as good as the 64 that know nothing, or better; never below what was seen
    wrong = counts.mistakes[np.argmin(bounds)].sum()
    losses = np.repeat([1.0, 0.0], [wrong, certificate.counted - wrong])
    assert losses.mean() < certificate.risk < 1.2 * oracles.betting(losses, 0.05 * price)


def test_hinge_losses_of_candidates_are_the_definition():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(900, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X[:, 0] + 0.2 * rng.normal(size=900) > 0, 1, -1)
    options = {"learner": "margin", "radius": 1.0, "fit_intercept": False, "loss": "hinge"}
    run = learn(cut(pieces(X, y, 9)), waves=3, **options)
    ends = oracles_scale.ends(pieces(X, y, 9), [3] * 3, oracles_scale.margin_perceptron(1.0), grows=False)
    bounds = []
    for w, later in zip(oracles_scale.candidates(ends), (slice(300, None), slice(600, None)), strict=False):
        losses = np.maximum(0.0, 1.0 - y[later] * (X[later] @ w))
        bounds.append((2.0 * oracles.betting(losses / 2.0, 0.05 / 2), losses.mean()))
    certificate = run.certificate()
    assert (certificate.loss, certificate.covers, certificate.loss_bound) == ("hinge", "model", 2.0)
    assert certificate.risk == pytest.approx(min(bounds)[0], rel=1e-6)
    assert certificate.empirical == pytest.approx(min(bounds)[1], rel=1e-6)
    assert run.certificate(loss="zero_one").choice == certificate.choice


@pytest.mark.parametrize("classes", [2, 3])
def test_adaptive_candidates_are_the_definition(classes):
    X, y = drawn(3, 1200, 7, classes, 0.5)
    chunks, labels = pieces(X, y, 12), [-1, 1] if classes == 2 else list(range(classes))
    cost = {(a, b): float(a + 2 * b) for a in labels for b in labels if a != b} if classes > 2 else None
    run = learn(cut(chunks), waves=6, classes=None if cost else labels, cost=cost)
    start, ends = Adaptive(7, 1 if classes == 2 else classes, True), []
    for wave in range(6):
        here = [copy.deepcopy(start) for _ in range(2)]
        for one, (rows, given) in zip(here, chunks[2 * wave : 2 * wave + 2], strict=True):
            for x, label in zip(rows, given, strict=True):
                one.learn(x, label)
        start.merge(here)
        ends.append(start.weights.copy())

    def judge(W, Z):
        scores = W[0] + Z @ W[1:]
        return (scores[:, 0] > 0).astype(int) if classes == 2 else np.argmax(scores, axis=1)

    expected = oracles_scale.candidates(ends)
    rows = waves_of(X, y, 6, 12)
    must_be(run, expected, rows, judge)
    assert len(run.trace().watched.prices) == (5 if classes == 2 else 4)
    if cost:  # the newest four, of which the first was frozen after the second wave
        for wave, counted in enumerate(run.trace().watched.counts.costs, start=2):
            later = [
                (a, b) for Z, codes in rows[wave:] for a, b in zip(codes, judge(expected[wave - 1], Z), strict=True)
            ]
            spent = [cost.get((labels[a], labels[b]), 0.0) for a, b in later]
            assert counted.tolist() == [spent.count(value) for value in sorted({0.0, *cost.values()})]
        assert run.certificate().empirical < run.certificate().risk < run.certificate().loss_bound == max(cost.values())
    np.testing.assert_allclose(run.model().weights, expected[run.outcome.begin - 2], rtol=1e-8, atol=1e-12)


def test_bins_have_borders_where_the_scores_of_the_candidate_before_lay():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(9000, 3))
    y = np.where(X[:, 0] + rng.normal(size=9000) > 0, 1, -1)
    run = learn(cut(pieces(X, y, 9)), waves=3, learner="perceptron", fit_intercept=False)
    ends = oracles_scale.ends(pieces(X, y, 9), [3] * 3, oracles_scale.perceptron, grows=True)
    first, second = oracles_scale.candidates(ends)[:2]
    counts = run.trace().watched.counts
    np.testing.assert_array_equal(counts.borders[0], np.sinh(np.linspace(-8.0, 8.0, 128)))
    seen = (X[3000:6000] @ first)[-1024:]
    np.testing.assert_allclose(counts.borders[1], np.quantile(seen, border_levels()), rtol=1e-9)
    for slot, (w, later) in enumerate([(first, slice(3000, None)), (second, slice(6000, None))]):
        bins = np.searchsorted(counts.borders[slot], X[later] @ w, side="right")
        for code, label in enumerate((-1, 1)):
            expected = np.bincount(bins[y[later] == label], minlength=129)
            np.testing.assert_array_equal(counts.bins[slot, code], expected)


@pytest.mark.parametrize("layout", [np.asarray, csr])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_model_is_the_one_that_was_watched_to_the_bit(layout, classes):
    """Rows on a grid have scores of exactly 0, and equal ones: with other roundings the counts would differ."""
    X, y = dyadic(6, 1600, 6, classes, zeros=0.5, noise=0.2)
    labels = [-1, 1] if classes == 2 else list(range(classes))
    run = learn(cut(pieces(X, y, 16, layout)), learner="perceptron", classes=labels, waves=8)
    model, counts = run.model(), run.trace().watched.counts
    slot = counts.frozen.tolist().index(run.certificate().choice.value)
    later = slice(int(counts.frozen[slot]), None)
    scores = model.decision(layout(X[later]))
    if classes == 2:
        wrong = ~(y[later] * scores > 0)
        bins = np.searchsorted(counts.borders[slot], scores, side="right")
        np.testing.assert_array_equal(np.bincount(bins, minlength=129), counts.bins[slot].sum(axis=0))
    else:
        own = scores[np.arange(len(scores)), y[later]]
        others = scores.copy()
        others[np.arange(len(scores)), y[later]] = -np.inf
        wrong = ~(own > others.max(axis=1))
    assert [int((wrong & (y[later] == label)).sum()) for label in labels] == counts.mistakes[slot].tolist()
    assert model.about["certificate"] == run.certificate().as_dict()


# --- what there is to certify -----------------------------------------------------------------------------------------


def test_before_a_second_wave_nothing_is_certified():
    X, y = drawn(1, 600, 4)
    run = learn(cut(pieces(X, y, 4)), learner="perceptron", classes=[-1, 1], waves=1)
    certificate = run.certificate()
    assert not certificate.informative
    assert (certificate.risk, certificate.counted, certificate.rounds) == (1.0, 0, 600)
    assert "Not yet informative" in str(certificate)
    with_intercept = [(np.column_stack([np.ones(len(b)), a]), b) for a, b in pieces(X, y, 4)]
    (end,) = oracles_scale.ends(with_intercept, [4], oracles_scale.perceptron, grows=True)
    np.testing.assert_allclose(run.model().weights[:, 0], end, atol=1e-12)
    nothing = (np.zeros((0, 4)), np.zeros(0))
    empty = learn(cut([*pieces(X, y, 4), nothing, nothing]), learner="perceptron", classes=[-1, 1], waves=3)
    assert empty.outcome.begin == 2
    late = learn(cut([nothing, nothing, *pieces(X, y, 2)]), learner="perceptron", classes=[-1, 1], waves=4)
    assert (late.certificate().choice.value, late.certificate().counted) == (300, 300)


def test_rates_thresholds_costs_and_probabilities_of_a_merged_model():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(8000, 5))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=8000) > 0.8, "yes", "no")
    chunks, fresh = cut(pieces(X, y, 32)), rng.normal(size=(20_000, 5))
    truth = np.where(fresh[:, 0] + 0.5 * rng.normal(size=20_000) > 0.8, "yes", "no")
    run = learn(chunks, max_false_alarm=0.02)
    kept, model = run.certificate().threshold, run.model()
    assert kept.reached
    assert model.cut > 0.0
    alarms = model.predict(fresh) == "yes"
    assert alarms[truth == "no"].mean() <= 0.02
    chances = model.predict_proba(fresh)
    assert abs(chances[:, 1].mean() - (truth == "yes").mean()) < 0.02
    plain = learn(chunks)
    assert plain.certificate().rates is not None
    assert plain.model().cut == 0.0
    target = Target("false alarm", 0.02, declared=False)
    assert plain.threshold_for(target).target.limit == 0.02
    cost = learn(chunks, cost={("yes", "no"): 5.0, ("no", "yes"): 1.0}).certificate()
    assert (cost.loss, cost.loss_bound) == ("cost", 5.0)
    assert cost.risk > plain.certificate().risk
    with pytest.raises(ConversionError, match="frozen"):
        learn(chunks, conversion="average").threshold_for(target)
    clf = scale.fit(OnePassClassifier(max_false_alarm=0.02), pieces(X, y, 32))
    np.testing.assert_array_equal(clf.predict(fresh), model.predict(fresh))
    np.testing.assert_array_equal(clf.predict_proba(fresh), chances)


def test_a_run_stops_at_the_end_of_the_wave_that_has_reached_it():
    X, y = drawn(2, 4000, 5, noise=0.2)
    chunks, told = cut(pieces(X, y, 40)), []
    whole = learn(chunks, waves=10, classes=[-1, 1], watch=lambda progress: told.append(progress.certificate()))
    ends = [told[at] for at in range(3, 40, 4)]
    stop_at = ends[4].risk
    first = next(wave for wave, one in enumerate(ends) if one.risk <= stop_at)
    run = learn(chunks, waves=10, classes=[-1, 1], stop_at=stop_at)
    assert run.stopped
    assert run.rounds == 400 * (first + 1) < 4000
    assert run.certificate() == ends[first]
    assert not whole.stopped
    never = learn(chunks, waves=10, classes=[-1, 1], stop_at=1e-6)
    assert not never.stopped
    np.testing.assert_array_equal(never.model().weights, whole.model().weights)


@pytest.mark.parametrize("conversion", ["cutoff", "average"])
def test_ensembles_stop_at_the_end_of_a_wave_too(conversion):
    """What was learned by then is a run over the chunks so far, in as many waves."""
    X, y = drawn(2, 4000, 5, noise=0.2)
    told, options = [], {"classes": [-1, 1], "conversion": conversion}
    learn(cut(pieces(X, y, 8)), waves=8, watch=lambda one: told.append((one.step, one.certificate())), **options)
    ends = [certificate for step, certificate in told if step == 2]
    run = learn(cut(pieces(X, y, 8)), waves=8, stop_at=ends[3].risk, **options)
    first = next(wave for wave, one in enumerate(ends) if one.risk <= ends[3].risk)
    assert run.stopped
    assert run.rounds == 500 * (first + 1) < 4000
    assert run.certificate() == ends[first]


def test_whatever_is_asked_later_speaks_of_the_one_model():
    X, y = drawn(7, 2000, 4, noise=0.5)
    run = learn(cut(pieces(X, y, 20)), classes=[-1, 1], waves=10)
    own = run.certificate()
    for delta in (1e-12, 0.9):
        asked = run.certificate(delta=delta)
        assert (asked.choice, asked.counted, asked.empirical) == (own.choice, own.counted, own.empirical)
        np.testing.assert_array_equal(run.model(asked).weights, run.model().weights)
    assert run.certificate(delta=1e-12).risk > own.risk > run.certificate(delta=0.9).risk


# --- limits -----------------------------------------------------------------------------------------------------------


def test_fewer_are_watched_where_memory_is_short():
    X, y = drawn(8, 1000, 9)
    chunks = cut(pieces(X, y, 10))
    line = 8 * 9  # bytes of one candidate
    for memory, slots in ((8 * line, 8), (8 * line - 1, 4), (4 * line - 1, 2), (2 * line, 2)):
        run = learn(chunks, waves=10, classes=[-1, 1], max_watch_memory=memory)
        assert run.trace().watched.counts.frozen.tolist() == [100 * wave for wave in range(9 - slots, 9)]
    with pytest.raises(LimitError, match="set max_watch_memory=144"):
        learn(chunks, waves=10, classes=[-1, 1], max_watch_memory=2 * line - 1)


def test_rows_that_only_tell_the_radius_leave_no_model():
    X, y = drawn(11, 1000, 3)
    nothing = (np.zeros((0, 3)), np.zeros(0))
    run = learn(cut([(X, y), nothing]), learner="margin", radius="auto", classes=[-1, 1])
    assert run.certificate().withheld == "no row has been learned yet"
    with pytest.raises(ConversionError, match="no row has been learned yet"):
        run.model()


def test_features_that_come_late_have_no_weight():
    X, y = drawn(9, 800, 6)
    X[:400, 4:] = 0.0
    rows = [(csr(a)[:, :4] if at < 4 else csr(a), b) for at, (a, b) in enumerate(pieces(X, y, 8))]
    wide = learn(cut(pieces(X, y, 8, csr)), learner="perceptron", classes=[-1, 1], waves=4)
    late = learn(cut(rows), learner="perceptron", classes=[-1, 1], waves=4)
    assert late.certificate() == wide.certificate()
    last = cut([*rows[:4], (csr(X[400:600]), y[400:600])])
    early = learn(last, learner="perceptron", classes=[-1, 1], waves=2)
    assert early.outcome.begin == 2
    assert early.model().weights.shape == (7, 1)
    assert not early.model().weights[5:].any()
    assert early.model().predict(csr(X)).shape == (800,)


def test_updates_that_were_let_go_are_not_missed():
    """Adaptive lets its log go where it outgrows its room, and a summary does without."""
    X, y = drawn(10, 2000, 5, noise=0.5)
    runs = [learn(cut(pieces(X, y, 8)), classes=[-1, 1], max_trace_memory=memory) for memory in (1 << 28, 2_000)]
    assert runs[0].certificate() == runs[1].certificate()
    np.testing.assert_array_equal(runs[0].model().weights, runs[1].model().weights)


def test_text_is_learned_as_well_as_in_one_pass():
    X, labels = Newswire().documents(0, 20_000, categories=("CCAT", "GCAT"))
    y = np.where(labels == "CCAT", 1, -1)
    merged = learn(cut(pieces(X[:12_000], y[:12_000], 64, lambda rows: rows)), classes=[-1, 1])
    plain = Pass(classes=[-1, 1])
    plain.feed(X[:12_000], y[:12_000])
    errors = [(run.model().predict(X[12_000:]) != y[12_000:]).mean() for run in (merged, plain)]
    assert errors[0] < 1.1 * errors[1]
    assert errors[0] < merged.certificate().risk < 1.1 * plain.certificate().risk


@pytest.mark.parametrize("conversion", ["cutoff", "average"])
def test_joint_rates_and_costs_of_members_on_several_machines(conversion):
    """Counts of all chunks add; with one wave they are those of the chunks' own passes."""
    X, y = dyadic(8, 600, 4, 3, noise=0.1)
    cost = {(a, b): 1.0 + 2.0 * a + b for a in range(3) for b in range(3) if a != b}
    options = {"learner": "perceptron", "conversion": conversion, "cost": cost}
    merged = learn(cut(pieces(X, y, 4)), waves=1, **options)
    mistakes, spent = np.zeros(3), 0.0
    for rows, labels in pieces(X, y, 4):
        one = Pass(**options)
        one.feed(rows, labels)
        kinds, counted = one.trace().terms.kinds, one.trace().tally.kinds.sum(axis=0)
        np.add.at(mistakes, kinds.label, counted)
        spent += counted @ kinds.cost * max(cost.values())
    certificate = merged.certificate("average" if conversion == "average" else None)
    assert (certificate.loss, certificate.covers) == ("cost", "members")
    if certificate.counted == 600:
        assert certificate.empirical == pytest.approx(spent / 600)
        assert [rate.observed for rate in certificate.rates.rates] == (mistakes / 600).tolist()
    assert certificate.empirical < certificate.risk < max(cost.values())
