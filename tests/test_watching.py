"""Watched models: counts against their definition, in any pieces, layouts and memory; deployed as watched."""

import copy
from itertools import pairwise

import numpy as np
import pytest

from onepass import CheckpointError, ConversionError, DataError, LimitError, LinearModel, OnePassClassifier, Pass
from onepass.checkpoints import checkpoint
from onepass.learners import Adaptive, MarginPerceptron, PassiveAggressive, Perceptron, ShiftedPerceptron
from onepass.trace.watched import Watched
from oracles_watching import watched
from strategies import csr, cuts, dyadic
from test_learners import same_state

LEARNERS = {
    "adaptive": Adaptive(),
    "perceptron": Perceptron(),
    "margin": MarginPerceptron(),
    "sphere": MarginPerceptron(projection="sphere"),
    "pa": PassiveAggressive(),
    "shifted": ShiftedPerceptron(N=6),
}


def drawn(seed, rows=700, features=6, classes=2, unequal=False):
    """Rows without ties: dyadic ones moved a little. (float32 keeps them as they are.)"""
    X, y = dyadic(seed, rows, features, classes, noise=0.15)
    X = (X + 0.01 * np.random.default_rng(seed).normal(size=X.shape)).astype(np.float32).astype(float)
    return X, np.where(X[:, 0] > 0, y, -1) if unequal else y


def made(learner, classes, **options):
    labels = [-1, 1] if classes == 2 else range(classes)
    return Pass(learner, **{"classes": labels, "conversion": "frozen", **options})


def in_use(learner, X, y, classes, **options):
    """The hypothesis in use in every round: what the pass has come to before each row."""
    run, used = made(learner, classes, conversion="last", n_features=X.shape[1], **options), []
    for x, label in zip(X, y, strict=True):
        used.append(run.learner_run.last().copy())
        run.feed([x], [label])
    return used


def assert_counts(run, expected):
    counts = run.trace().watched.counts
    assert sorted(s for s in counts.frozen if s) == sorted(expected)
    for slot, s in enumerate(counts.frozen):
        if s:
            for name, value in expected[s].items():
                if name == "weights":
                    np.testing.assert_allclose(run.watched.model(s), value, rtol=1e-9, atol=1e-12)
                else:
                    np.testing.assert_array_equal(getattr(counts, name)[slot], value, err_msg=f"{name} of {s}")


LAYOUTS = {"dense": np.asarray, "sparse": csr, "float32": np.float32}
CASES = [  # watching is the same for every learner: each is tried once per number of classes, every layout with two
    *((name, classes, "sparse") for name in LEARNERS for classes in (2, 3) if classes == 2 or LEARNERS[name].several),
    *(("perceptron", classes, layout) for classes in (2, 3) for layout in ("dense", "float32")),
    ("adaptive", 2, "dense"),
]


@pytest.mark.parametrize(("name", "classes", "layout"), CASES)
def test_counts_are_those_of_every_candidate(name, classes, layout):
    X, y = drawn(3, 300, classes=classes, unequal=name == "shifted")
    options = {"radius": 4.0} if name in ("margin", "sphere") else {}
    used = in_use(LEARNERS[name], X, y, classes, **options)
    scaled = X * np.minimum(1.0, 4.0 / np.linalg.norm(X, axis=1))[:, None] if options else X
    run = made(LEARNERS[name], classes, **options)
    run.feed(LAYOUTS[layout](X), y)
    assert_counts(run, watched(used, scaled, y, 8 if classes == 2 else 4, classes))


COST = [[0.0, 1.0, 5.0], [1.0, 0.5, 2.0], [9.0, 5.0, 0.0]]
COSTS = {(a, b): COST[a][b] for a in range(3) for b in range(3)}


@pytest.mark.parametrize("name", ["adaptive", "perceptron"])
def test_costs_are_those_of_every_candidate(name):
    X, y = drawn(3, 300, classes=3)
    run = made(LEARNERS[name], 3, cost=COSTS, expected_rows=300)
    run.feed(csr(X), y)
    expected = watched(in_use(LEARNERS[name], X, y, 3), X, y, 4, 3, COST)
    assert_counts(run, expected)
    certificate = run.certificate()
    spent = np.array(expected[certificate.choice.value]["costs"]) @ sorted({*COSTS.values()})
    assert (certificate.loss, certificate.loss_bound) == ("cost", 9.0)
    assert certificate.empirical == pytest.approx(spent / certificate.counted)
    assert certificate.empirical < certificate.risk < 9.0
    said = run.model().predict(X[certificate.choice.value :])
    assert sum(COST[a][b] for a, b in zip(y[certificate.choice.value :], said, strict=True)) == pytest.approx(spent)


def test_costs_of_several_go_on_after_a_checkpoint_and_with_fewer_models(tmp_path):
    X, y = drawn(5, 500, classes=3)
    options = {"cost": COSTS, "max_watch_memory": 8 * 6 * 3 * 2}
    whole, run, other = (made("perceptron", 3, **options) for _ in range(3))
    whole.feed(X, y)
    run.feed(X[:222], y[:222])
    checkpoint.save(tmp_path / "run.checkpoint", run)
    checkpoint.resume(tmp_path / "run.checkpoint", other)
    other.feed(X[222:], y[222:])
    assert same_state(whole.state(), other.state())
    assert_counts(whole, watched(in_use("perceptron", X, y, 3), X, y, 2, 3, COST))
    with pytest.raises(CheckpointError, match="not that of a pass with these options"):
        made("perceptron", 3, max_watch_memory=8 * 6 * 3 * 2).check_state(run.state())


def test_a_tie_costs_what_the_dearer_of_the_two_does():
    """Rows of zeros tie all classes of a model without intercept: the label's own and the first other one."""
    run = made("perceptron", 3, cost=COSTS, fit_intercept=False)
    run.feed(np.zeros((20, 2)), np.arange(20) % 3)
    counts = run.trace().watched.counts
    slot = counts.slot_of(16)
    levels = sorted({*COSTS.values()})
    dear = [max(COST[c][c], COST[c][1 if c == 0 else 0]) for c in (1, 2, 0, 1)]
    assert counts.costs[slot].tolist() == [dear.count(value) for value in levels]


@pytest.mark.parametrize("classes", [2, 4])
def test_what_is_deployed_judges_as_it_was_watched(classes):
    """To the bit, ties included: the mistakes of every model on the rows after its freezing are those counted."""
    X, y = dyadic(5, 900, 5, classes, noise=0.15)
    for learner in ("perceptron", "adaptive"):
        run = made(learner, classes)
        run.feed(csr(X), y)
        counts = run.trace().watched.counts
        for slot, s in enumerate(counts.frozen):
            scores = run.watched.model(int(s))
            model = run.model("last")
            model = type(model)(scores, model.classes)
            decided = model.decision(X[s:])
            if classes == 2:
                fails = ~(y[s:] * decided > 0)
                code = (y[s:] > 0).astype(int)
            else:
                own = decided[np.arange(len(decided)), y[s:]]
                others = decided.copy()
                others[np.arange(len(decided)), y[s:]] = -np.inf
                fails, code = ~(own > others.max(axis=1)), y[s:]
            mistakes = np.bincount(code, fails, minlength=classes)
            np.testing.assert_array_equal(mistakes, counts.mistakes[slot])
            assert counts.bins[slot].sum() == len(y) - s


@pytest.mark.parametrize("name", LEARNERS)
def test_any_cutting_gives_the_same_bits(name):
    X, y = drawn(7, 1500, unequal=name == "shifted")
    whole = made(LEARNERS[name], 2)
    whole.feed(csr(X), y)
    one = made(LEARNERS[name], 2)
    for first, last in pairwise(cuts(1, len(y), 40)):
        one.feed(csr(X[first:last]), y[first:last])
    assert same_state(whole.state(), one.state())
    assert whole.certificate() == one.certificate()
    np.testing.assert_array_equal(whole.model().weights, one.model().weights)


def test_one_row_at_a_time_gives_the_same_bits():
    X, y = drawn(9, 400)
    whole, one = (made("adaptive", 2, n_features=X.shape[1]) for _ in range(2))
    whole.feed(X, y)
    for i in range(len(y)):
        assert one.feed_one(X[i : i + 1], y[i : i + 1])
    assert same_state(whole.state(), one.state())


@pytest.mark.parametrize("name", ["adaptive", "perceptron", "sphere", "shifted"])
def test_resume_goes_on_to_the_same_bits(name, tmp_path):
    X, y = drawn(11, 1200, unequal=name == "shifted")
    options = {"radius": 4.0} if name == "sphere" else {}
    whole, run = made(LEARNERS[name], 2, **options), made(LEARNERS[name], 2, **options)
    whole.feed(X, y)
    run.feed(X[:555], y[:555])
    checkpoint.save(tmp_path / "run.checkpoint", run)
    other = made(LEARNERS[name], 2, **options)
    checkpoint.resume(tmp_path / "run.checkpoint", other)
    other.feed(X[555:], y[555:])
    assert same_state(whole.state(), other.state())


def test_less_memory_means_fewer_models():
    X, y = drawn(13, 900)
    for slots in (4, 2):
        run = made("perceptron", 2, max_watch_memory=8 * 6 * slots)
        run.feed(X, y)
        used = in_use("perceptron", X, y, 2)
        assert run.trace().watched.counts.frozen.size == slots
        assert_counts(run, watched(used, X, y, slots, 2))
    refused = made("perceptron", 2, max_watch_memory=8 * 6 * 2 - 1)
    before = refused.state()
    with pytest.raises(LimitError, match="max_watch_memory: 6 features × 2 watched models need 96 bytes"):
        refused.feed(X, y)
    assert same_state(before, refused.state())


def test_models_grow_fewer_as_features_are_met():
    X, y = drawn(15, 600, 40)
    X[:200, 10:] = 0.0
    run = made("perceptron", 2, max_watch_memory=8 * 10 * 8)
    run.feed(csr(X[:200, :10]), y[:200])
    assert run.trace().watched.counts.frozen.size == 8
    run.feed(csr(X[200:]), y[200:])
    assert run.trace().watched.counts.frozen.size == 2
    expected = watched(in_use("perceptron", X, y, 2), X, y, 2, 2)
    counts = run.trace().watched.counts
    for slot, s in enumerate(counts.frozen):
        np.testing.assert_array_equal(counts.mistakes[slot], expected[s]["mistakes"])
        np.testing.assert_allclose(run.watched.model(s), expected[s]["weights"], atol=1e-12)


def test_a_bad_row_leaves_all_as_it_was():
    X, y = drawn(17, 5000, 30)
    X = np.tile(X, (1, 40))  # several pieces
    run = made("adaptive", 2)
    run.feed(csr(X[:1000]), y[:1000])
    before = run.state()
    bad = X[1000:].copy()
    bad[3500, 7] = np.nan
    for rows in (csr(bad), bad):
        with pytest.raises(DataError, match="row 3500"):
            run.feed(rows, y[1000:])
        assert same_state(before, run.state())


def test_the_choice_is_looked_at_only_at_looks():
    X, y = drawn(19, 3000)
    run = made("perceptron", 2)
    run.feed(X[:2048], y[:2048])
    seen = set()
    for i in range(2048, 2111):  # looks are 16 rounds apart here
        run.feed(X[i : i + 1], y[i : i + 1])
        seen.add((run.rounds - run.rounds % 32, run.certificate().choice.value))
    looks = {look for look, _ in seen}
    assert len(seen) == len(looks)  # one choice between two looks


def test_what_needs_watching_says_so():
    X, y = drawn(21, 100)
    run = made("perceptron", 2, conversion="average")
    run.feed(X, y)
    with pytest.raises(ConversionError, match="declare conversion='frozen'"):
        run.certificate("frozen")
    with pytest.raises(ValueError, match="watch: conversion='frozen'"):
        made("perceptron", 2, watch=False)
    both = made("perceptron", 2, conversion="cutoff", watch=True)
    both.feed(X, y)
    assert both.certificate("frozen").covers == "model"
    with pytest.raises(ConversionError, match="betting only"):
        both.certificate("frozen", bound="dekel2008")
    with pytest.raises(ConversionError, match="nothing to vote on"):
        both.model("frozen", how="vote")


def test_before_the_ninth_row_the_model_is_the_average():
    X, y = drawn(23, 8)
    run = made("perceptron", 2)
    run.feed(X[:7], y[:7])
    certificate = run.certificate()
    assert not certificate.informative
    assert certificate.choice.value is None
    np.testing.assert_array_equal(run.model().weights, run.model("average").weights)


def test_the_trace_stays_what_it_was():
    X, y = drawn(25, 800)
    run = made("adaptive", 2)
    run.feed(X[:500], y[:500])
    trace = run.trace()
    s = int(trace.watched.counts.frozen.max())
    weights, counts = trace.hypotheses.watched(s).copy(), copy.deepcopy(trace.watched.counts)
    run.feed(X[500:], y[500:])
    np.testing.assert_array_equal(trace.hypotheses.watched(s), weights)
    assert all(np.array_equal(a, b) for a, b in zip(counts, trace.watched.counts, strict=True))
    assert isinstance(counts, Watched)


def test_hinge_loss_is_counted_where_it_was_declared():
    X, y = drawn(27, 2000)
    run = made(MarginPerceptron(), 2, radius=4.0, loss="hinge")
    run.feed(X, y)
    certificate = run.certificate()
    assert certificate.loss == "hinge"
    assert certificate.covers == "model"
    s = certificate.choice.value
    scaled = X * np.minimum(1.0, 4.0 / np.linalg.norm(X, axis=1))[:, None]
    margins = y[s:] * (run.model().decision(scaled[s:]))
    np.testing.assert_allclose(certificate.empirical, np.maximum(0, 1 - margins).mean(), rtol=1e-6)
    plain = made(MarginPerceptron(), 2, radius=4.0)
    plain.feed(X, y)
    assert plain.certificate().loss == "zero_one"
    with pytest.raises(ConversionError, match="declare loss='hinge' before the first row"):
        plain.certificate(loss="hinge")


# --- rates, thresholds, probabilities ---------------------------------------------------------------------------------


def rare(seed, rows=6000, share=0.1, features=8):
    """Rows of which a share is "spam", drawn from a law of its own."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < share, "spam", "ham")
    X = rng.normal(size=(rows, features))
    X[y == "spam", :3] += 1.5
    return X, y


@pytest.mark.parametrize("first", ["spam", "ham"], ids=["coded the other way round", "coded in order"])
@pytest.mark.parametrize("target", [{"max_false_alarm": 0.02}, {"max_miss": 0.1}, {"min_precision": 0.8}])
def test_a_threshold_is_applied_by_the_model_and_kept_in_its_file(first, target, tmp_path):
    X, y = rare(1)
    at = int(np.argmax(y == first))
    X[[0, at]], y[[0, at]] = X[[at, 0]], y[[at, 0]]
    run = Pass(positive="spam", expected_rows=len(y), **target)
    run.feed(X, y)
    certificate, model = run.certificate(), run.model()
    kept = certificate.threshold
    assert kept.reached
    assert str(certificate).startswith(str(kept))
    assert model.classes == ("ham", "spam")
    s = certificate.choice.value
    said = model.predict(X[s:])
    seen = {
        "false_alarm": np.mean(said[y[s:] == "ham"] == "spam"),
        "miss": np.mean(said[y[s:] == "spam"] == "ham"),
        "precision": np.mean(y[s:][said == "spam"] == "spam"),
    }
    for name, value in seen.items():
        assert getattr(kept, name) == pytest.approx(value, abs=1e-12)
    assert certificate.empirical == pytest.approx(np.mean(said != y[s:]), abs=1e-12)
    model.save(tmp_path / "m")
    back = LinearModel.load(tmp_path / "m")
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    chances = back.predict_proba(X)[:, 1]
    assert (np.diff(chances[np.argsort(back.decision(X))]) >= 0.0).all()
    assert chances[s:].mean() == pytest.approx(np.mean(y[s:] == "spam"), abs=0.02)  # not bent to ½ at the threshold


def test_rates_are_those_of_the_deployed_model():
    X, y = rare(2)
    run = Pass(expected_rows=len(y))
    run.feed(X, y)
    certificate, s = run.certificate(), run.certificate().choice.value
    said, truth = run.model().predict(X[s:]), y[s:]
    rates = {(rate.name, rate.label): rate for rate in certificate.rates.rates}
    assert certificate.rates.positive == "spam"
    expected = {
        ("miss", "spam"): np.mean(said[truth == "spam"] != "spam"),
        ("false alarm", "spam"): np.mean(said[truth == "ham"] != "ham"),
        ("precision", "spam"): np.mean(truth[said == "spam"] == "spam"),
        ("precision", "ham"): np.mean(truth[said == "ham"] == "ham"),
    }
    for key, value in expected.items():
        assert rates[key].observed == pytest.approx(value, abs=1e-12)
        assert (rates[key].bound >= value) == rates[key].at_most
    assert type(certificate).from_dict(certificate.as_dict()) == certificate


def test_a_cost_is_a_loss():
    X, y = rare(3)
    cost = {("spam", "ham"): 1.0, ("ham", "spam"): 9.0}
    run = Pass(cost=cost, expected_rows=len(y))
    run.feed(X, y)
    certificate, s = run.certificate(), run.certificate().choice.value
    said = run.model().predict(X[s:])
    spent = [cost.get((a, b), 0.0) for a, b in zip(y[s:], said, strict=True)]
    assert (certificate.loss, certificate.loss_bound) == ("cost", 9.0)
    assert certificate.empirical == pytest.approx(np.mean(spent), rel=1e-12)
    assert np.mean(spent) < certificate.risk < 9.0
    assert "the mean cost is at most" in str(certificate)
    np.testing.assert_array_equal(run.model(certificate).weights, run.model().weights)
    with pytest.raises(ValueError, match="loss: one of"):
        Pass().certificate(loss="cost")


def test_a_target_out_of_reach_is_said_with_the_nearest():
    X, y = rare(4, rows=400)
    run = Pass(positive="spam", max_false_alarm=1e-4)
    run.feed(X, y)
    kept = run.certificate().threshold
    assert not kept.reached
    assert str(run.certificate()).startswith("Not reached: a false-alarm rate of at most 0.01 %")
    assert run.model().cut == 0.0


def test_a_threshold_asked_for_later_says_what_it_takes():
    X, y = rare(5)
    clf = OnePassClassifier(positive="spam").fit(X, y)
    kept = clf.threshold_for(false_alarm=0.05)
    assert "if the target was not chosen by looking at these rows" in str(kept)
    assert clf.certificate_.threshold is None


def test_a_class_that_never_comes_again_is_not_yet_informative():
    X, y = rare(6, rows=500)
    y[:] = "ham"
    y[:40] = np.where(np.arange(40) % 2, "spam", "ham")
    run = Pass(positive="spam", order_alarm=False)
    run.feed(X, y)
    missed = next(rate for rate in run.certificate().rates.rates if rate.name == "miss")
    assert (missed.bound, missed.counted, missed.informative) == (1.0, 0, False)
    assert "not yet informative (0 rows)" in str(run.certificate().rates)


@pytest.mark.parametrize("classes", [2, 5])
def test_probabilities_follow_the_predictions(classes):
    X, y = drawn(31, 2000, classes=classes)
    clf = OnePassClassifier(shuffle=False).fit(X, y)
    p = clf.predict_proba(X)
    assert p.shape == (2000, classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(clf.classes_[p.argmax(axis=1)], clf.predict(X))


def test_predicting_between_two_looks_makes_no_new_model(monkeypatch):
    X, y = drawn(33, 3000)
    clf = OnePassClassifier().partial_fit(X[:2048], y[:2048], classes=[-1, 1])
    made = []
    model = Pass.model
    monkeypatch.setattr(Pass, "model", lambda run, *given: made.append(run.rounds) or model(run, *given))
    for i in range(2048, 2112):  # looks are 32 rounds apart here
        clf.predict(X[:1])
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
    assert made == [2048, 2080]
    monkeypatch.undo()
    np.testing.assert_array_equal(clf.coef_, clf.convert("frozen").weights[1:].T)


def test_certificates_fail_when_rows_are_counted_twice():
    """Fed again and again, with the alarms off, labels that are noise are learned by heart."""
    false = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 60)), rng.choice([-1, 1], size=60)
        run = Pass(classes=[-1, 1], order_alarm=False, repeat_alarm=False)
        for _ in range(8):
            run.feed(X, y)
        false += run.certificate().risk < 0.5  # which is the risk of whatever is learned from noise
    assert false > 20
