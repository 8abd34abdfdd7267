"""Classes that join while rows come: the definition, any cutting, resuming, refusals, files and frames."""

import json
from itertools import pairwise

import numpy as np
import pytest

from onepass import DataError, LimitError, LinearModel, ModelError, Pass, train
from onepass.checkpoints import checkpoint
from onepass.cli import main
from onepass.conversions import CONVERSIONS
from onepass.guards.order import join_label, observe_labels, order_reason, order_state
from onepass.io import dump_svmlight
from onepass.outputs import NEVER
from oracles_joining import judged, perceptron
from strategies import csr, cuts, dyadic
from test_learners import same_state

NAMES = np.array(["kiwi", "apple", "fig", "date", "plum"])
LEARNERS = ("perceptron", "pa", "margin", "adaptive")


def drawn(seed, rows=400, classes=4, late=90):
    """Rows whose classes come one after the other, each `late` rows after the one before it."""
    X, codes = dyadic(seed, rows, 5, classes, noise=0.1)
    codes = np.where(codes > 1 + np.arange(rows) // late, codes % 2, codes)
    return X, NAMES[codes]


@pytest.mark.parametrize("layout", [np.asarray, csr], ids=["dense", "sparse"])
@pytest.mark.parametrize("memory", [256 << 20, 8000], ids=["rows kept", "compacted"])
def test_hypotheses_are_those_of_the_definition(layout, memory):
    X, y = drawn(1)
    used, classes, _ = perceptron(X, y.tolist())
    run = Pass("perceptron", conversion="cutoff", watch=False, max_trace_memory=memory)
    run.feed(layout(X), y)
    order = np.argsort(classes)
    assert run.classes == tuple(np.array(classes)[order].tolist())
    assert (trace := run.trace()).columns is None or memory == 8000
    average = np.sum(used, axis=0)[order].T / len(y)
    np.testing.assert_array_equal(run.model("average").weights, average)
    changed = [t for t in range(1, len(used)) if (used[t] != used[t - 1]).any()]
    assert trace.updates == len(changed) or trace.updates == len(changed) + 1  # the last row may have changed it
    if memory > 8000:
        assert trace.survival[: len(changed)].tolist() == np.diff([0, *changed]).tolist()
        votes = run.model("average", how="vote").predict(X)
        scores = np.einsum("jcf,nf->njc", np.array(used), np.column_stack([np.ones(len(X)), X]))
        tied = (scores == scores.max(axis=2, keepdims=True)).sum(axis=2) > 1
        chosen = np.apply_along_axis(np.bincount, 1, scores.argmax(axis=2), minlength=len(classes))
        clear = ~tied.any(axis=1) & (np.sort(chosen, axis=1)[:, -1] > np.sort(chosen, axis=1)[:, -2])
        assert (np.array(classes)[chosen.argmax(axis=1)] == votes)[clear].all()


@pytest.mark.parametrize("intercept", [True, False])
def test_candidates_never_say_a_class_younger_than_they_are(intercept):
    X, y = drawn(2, 700, late=230)
    run = Pass("perceptron", fit_intercept=intercept)
    run.feed(csr(X), y)
    used, classes, known = perceptron(X, y.tolist())
    if not intercept:
        return _never_said(run, X, classes, known)
    codes = np.array([classes.index(label) for label in y])
    counts = run.trace().watched.counts
    assert sorted(s for s in counts.frozen if s) == [384, 448, 512, 640]  # the last class joined at round 461
    for slot, s in enumerate(counts.frozen):
        if s:
            mean, wrong = judged(used, known, X, codes, s)
            expected = [np.bincount(codes[s:], weights, len(classes)) for weights in (None, wrong)]
            np.testing.assert_array_equal([counts.rows[slot], counts.mistakes[slot]], expected)
            weights = run.watched.model(s)
            np.testing.assert_array_equal(weights[1:, : known[s]], mean[: known[s], 1:].T)
            assert (weights[0, known[s] :] < -1e300).all()
    return _never_said(run, X, classes, known)


def _never_said(run, X, classes, known):
    model, chosen = run.model(), run.certificate().choice.value
    assert set(model.predict(X).tolist()) <= set(classes[: known[chosen]])
    assert np.isfinite(model.decision(X)).all()


@pytest.mark.parametrize("intercept", [True, False])
def test_a_model_that_never_says_a_class_can_be_saved_loaded_and_shown(intercept, tmp_path):
    """The candidate that is deployed was frozen before the last class joined."""
    X, y = drawn(3, 1100, late=450)
    path = tmp_path / "rows.csv"
    lines = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["a,b,c,d,e,label", *lines]) + "\n")
    options = [] if intercept else ["--no-intercept"]
    model, page = str(tmp_path / "m"), str(tmp_path / "page.html")
    _done(["train", str(path), "--race", "off", "-q", "-o", model, "--report", page, *options])
    found = LinearModel.load(model)
    assert len(found.classes) == 4
    assert (found.weights[0] == NEVER).any()
    assert "never said" in (tmp_path / "page.html").read_text()
    _done(["predict", model, str(path), "-o", str(tmp_path / "out.csv")])
    _done(["inspect", model])
    _done(["verify", model, str(path)])
    _done(["report", model, "-o", str(tmp_path / "again.html")])
    damaged = LinearModel.load(model)
    damaged.weights[1, 0] = NEVER
    damaged.save(tmp_path / "damaged")
    with pytest.raises(ModelError, match="weights"):
        LinearModel.load(tmp_path / "damaged")


def _done(command):
    with pytest.raises(SystemExit) as exit:
        main(command)
    assert exit.value.code == 0


@pytest.mark.parametrize(
    "options", [{}, {"fit_intercept": False}, {"conversion": "cutoff"}, {"uncounted_rows": 100}], ids=str
)
@pytest.mark.parametrize("learner", LEARNERS)
def test_any_cutting_and_resuming_give_the_same_bits(learner, options, tmp_path):
    X, y = drawn(3)
    whole = Pass(learner, **options)
    whole.feed(csr(X), y)
    pieces, borders = Pass(learner, **options), cuts(4, len(y), 9)
    for number, (first, last) in enumerate(pairwise(borders)):
        pieces.feed(csr(X[first:last]), y[first:last])
        if number % 3 == 2:
            checkpoint.save(tmp_path / "c", pieces)
            pieces = Pass(learner, **options)
            checkpoint.resume(tmp_path / "c", pieces)
    assert same_state(whole.state(), pieces.state())
    assert whole.certificate() == pieces.certificate()
    np.testing.assert_array_equal(whole.model().weights, pieces.model().weights)


def test_two_batches_and_their_rejection():
    """A batch with a bad row in a later class changes nothing; then the good one is learned."""
    X, y = drawn(5)
    run = Pass()
    run.feed(X[:50], y[:50])
    before, bad = run.state(), X[50:].copy()
    bad[-1, 0] = np.nan
    with pytest.raises(DataError, match="row 349"):
        run.feed(bad, y[50:])
    assert same_state(run.state(), before)
    whole = Pass()
    run.feed(X[50:], y[50:])
    whole.feed(X, y)
    assert same_state(run.state(), whole.state())


@pytest.mark.parametrize("learner", ["perceptron", "adaptive"])
def test_a_join_that_has_no_room_changes_nothing(learner):
    """The third class has room and the fourth has not, in one batch, in a pass that started from rows not counted."""
    X, y = drawn(7)
    run = Pass(learner, uncounted_rows=50, max_watch_memory=8 * 5 * 3 * 2)
    run.feed(X[:80], y[:80])
    before = run.state()
    with pytest.raises(LimitError, match="5 features × 4 classes × 2 watched models"):
        run.feed(X[80:], y[80:])
    assert same_state(run.state(), before)
    run.feed(X[80:160], y[80:160])  # in which the third joins
    run.check_state(before)
    run.restore(before)
    assert same_state(run.state(), before)


REFUSED = {
    "hinge": ({"learner": "margin", "radius": 4.0}, "a certificate in hinge loss must know all classes"),
    "kept out": ({"conversion": "validation", "validation_fraction": 0.1}, "must know all classes beforehand"),
    "two classes": ({"learner": "shifted", "n_features": 5}, "ShiftedPerceptron learns two classes"),
    "too many": ({"max_classes": 3}, "label 'date' is number 4, and at most 3 classes may be met"),
    "declared": ({"classes": ["apple", "fig", "kiwi"]}, "label 'date' is not one of the known classes"),
    "positive": ({"positive": "apple"}, "positive: one of two classes is meant"),
    "target": ({"max_false_alarm": 0.1}, "a threshold cuts the scores of two classes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_class_that_may_not_join_changes_nothing(case):
    options, message = REFUSED[case]
    X, y = drawn(6)
    run = Pass(**options)
    run.feed(X[:80], y[:80])
    before = run.state()
    with pytest.raises(ValueError, match=message):
        run.feed(X[80:], y[80:])
    assert same_state(run.state(), before)


@pytest.mark.parametrize("options", [{"positive": "apple"}, {"max_false_alarm": 0.1}], ids=str)
def test_a_third_class_where_two_are_meant_is_an_error_with_its_row(options):
    X, y = drawn(6)
    run = Pass(**options)
    run.feed(X[:80], y[:80])
    with pytest.raises(DataError, match="here is a third: '") as error:
        run.feed(X[80:], y[80:])
    row = 80 + error.value.row
    assert len(set(y[:row])) == 2 < len(set(y[: row + 1]))


def test_the_order_alarm_grows_with_the_classes():
    """Blocks of twenty rows of each of many classes ring it; independent draws from many classes do not."""
    rng = np.random.default_rng(0)

    def rings(codes):
        order, met = order_state(2), 2
        for code in codes.tolist():
            if code >= met:
                met += 1
                order = join_label(order, met, 50)
            observe_labels(order, np.array([2 * code - 1 if met == 2 else code]))
        return order_reason(order) is not None

    assert rings(np.repeat(np.arange(12), 20))
    for _ in range(20):
        codes = rng.integers(0, 12, 400)
        assert not rings(np.unique(codes, return_index=True)[1].argsort().argsort()[codes])


def test_certificates_hold_where_classes_join():
    """Of the deployed model's risk, known by enumeration, in at most δ of the runs; several classes, some rare."""
    points = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)])
    chances = np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.2, 0.0], [0.05, 0.05, 0.9, 0.0], [0.0, 0.3, 0.1, 0.6]])
    false, delta = 0, 0.3
    for seed in range(120):
        rng = np.random.default_rng(seed)
        at = rng.integers(0, 4, 300)
        y = NAMES[(rng.random(300)[:, None] > np.cumsum(chances[at], axis=1)).sum(axis=1)]
        run = Pass("perceptron", delta=delta)
        run.feed(points[at], y)
        said = run.model().predict(points)
        risk = 1 - np.mean([chances[i, NAMES.tolist().index(label)] for i, label in enumerate(said)])
        false += risk > run.certificate().risk
    assert false <= 120 * delta


@pytest.mark.parametrize("workers", [(), ("--workers", "1")], ids=["one process", "workers"])
def test_a_file_of_several_classes_needs_no_option(tmp_path, monkeypatch, capsys, workers):
    monkeypatch.chdir(tmp_path)
    X, y = drawn(7, 600)
    dump_svmlight("three.svm", X, np.searchsorted(np.sort(NAMES), y))
    with pytest.raises(SystemExit) as ended:
        main(["train", "three.svm", "-o", "m.safetensors", "--json", *workers])
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["classes"] == [0, 1, 2, 3]
    model = LinearModel.load("m.safetensors")
    assert set(model.predict(X).tolist()) <= {0, 1, 2, 3}
    if not workers:
        with pytest.raises(SystemExit) as ended:
            main(["verify", "m.safetensors", "three.svm"])
        assert not ended.value.code


def test_a_frame_of_several_classes_needs_no_option():
    import pandas as pd

    X, y = drawn(8, 700, late=300)  # the fourth class comes after the rows that decide what columns are
    frame = pd.DataFrame(X, columns=list("abcde")).assign(fruit=y)
    result = train(frame)
    assert result.model.classes == ("apple", "date", "fig", "kiwi")
    assert result.run.uncounted_rows == 256


@pytest.mark.parametrize("learner", ["perceptron", "adaptive"])
def test_mistakes_of_every_class_are_counted_where_classes_join(learner):
    """By the tally and, of the suffix, by the log: of labels in the order met."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = NAMES[np.minimum((X + rng.normal(size=X.shape)).argmax(axis=1), np.arange(300) // 60)]
    (run, one), wrong = (Pass(learner, conversion="suffix", order_alarm=False) for _ in range(2)), {}
    run.feed(X, y)
    for x, label in zip(X, y, strict=True):
        before = one.mistakes
        one.feed([x], [label])
        wrong[label] = wrong.get(label, 0) + one.mistakes - before
    rates = run.certificate("average").rates.rates
    assert {rate.label: round(300 * rate.observed) for rate in rates} == wrong
    assert CONVERSIONS["suffix"].mistakes(run.trace(), 0).tolist() == [wrong[rate.label] for rate in rates]
    assert run.trace().tally.kinds.sum(axis=0).tolist() == [wrong[label] for label in run.intake.labels.classes]


def test_after_a_class_has_joined_adaptive_grows_as_one_that_was_restored():
    """The line behind all columns, with which blocks of eight are filled up, is no column's."""

    def rows(count, classes, extra=None, seed=0):
        rng = np.random.default_rng(seed)
        X = np.zeros((count, 10 if extra is None else extra + 1))
        X[:, :10] = rng.normal(size=(count, 10)) * (rng.random((count, 10)) < 0.5)
        if extra is not None:
            X[::3, extra] = rng.normal(size=len(X[::3]))
        return csr(X), rng.integers(0, classes, count)

    def learned(restored):
        run = Pass("adaptive", conversion="last")
        run.feed(*rows(200, 2))
        run.feed(*rows(50, 3, seed=1))
        room = len(run.learner_run.store.columns) - 1
        if restored:
            run.restore(run.state())
        run.feed(*rows(600, 3, room, seed=2))
        return run.model("last").weights

    np.testing.assert_array_equal(learned(False), learned(True))
