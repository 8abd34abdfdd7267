"""The history of a pass: true at every look, the same however the stream is cut, and without a trace in the result."""

import itertools
import json

import numpy as np
import pytest

from onepass.errors import DataError
from onepass.history import History
from onepass.passes import Pass
from onepass.race import Entry, Race
from onepass.report import details
from onepass.report.weights import HEAVIEST, feature_names, heaviest
from onepass.tables.feature_names import FeatureNames
from onepass.tables.plan import Column, TablePlan
from strategies import dyadic

X, Y = dyadic(3, 700, 6, noise=0.1)
KINDS = {
    "cutoff": {"conversion": "cutoff"},
    "average": {"conversion": "average"},
    "last": {"conversion": "last"},
    "longest": {"conversion": "longest"},
    "suffix": {"conversion": "suffix"},
    "all cutoffs": {"conversion": "cutoff", "cutoffs": "all"},
    "frozen": {"conversion": "frozen"},
    "validation": {"conversion": "validation", "validation_fraction": 0.25},
    "hinge": {"learner": "margin", "radius": 2.0},
    "dekel2008": {"conversion": "cutoff", "bound": "dekel2008", "horizon": 700},
    "compacted": {"conversion": "cutoff", "max_trace_memory": 6000},
    "dropped": {"max_trace_memory": 6000},
    "stopping": {"stop_at": 0.5},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_look_is_what_a_pass_over_those_rows_alone_says(kind):
    history = History(Pass(**KINDS[kind]))
    history.feed(X, Y)
    points = history.finish()
    assert len(points) > 5
    for at in points[::3] + points[-1:]:
        run = Pass(**KINDS[kind])
        run.feed(X[: at.rows], Y[: at.rows])
        own = run.certificate()
        assert (at.rows, at.rounds, at.mistakes) == (run.rows, run.rounds, run.mistakes)
        assert (at.risk, at.choice) == (own.risk, own.choice.value)
        assert at.loss == pytest.approx(run.certificate("average", loss=own.loss).empirical, rel=1e-12)


@pytest.mark.parametrize("raced", [False, True])
@pytest.mark.parametrize("bad", ["nan", "label", "length"])
def test_a_batch_is_learned_whole_or_not_at_all(raced, bad):
    options = {"max_classes": 2}
    run = Race([Entry("a", Pass(**options)), Entry("b", Pass("pa", **options))], 0.05) if raced else Pass(**options)
    history = History(run)
    history.feed(X[:10], Y[:10])
    rows, labels = X[10:].copy(), Y[10:].tolist()
    if bad == "nan":
        rows[600, 2] = np.nan
    elif bad == "label":
        labels[600] = "third"
    else:
        labels = labels[:600]
    with pytest.raises(DataError) as error:
        history.feed(rows, np.array(labels, dtype=object) if bad == "label" else labels)
    assert run.rows == 10
    if bad != "length":
        assert error.value.row == 600


@pytest.mark.parametrize("kind", KINDS)
def test_watching_changes_no_bit_and_cutting_changes_no_look(kind):
    plain, whole, cut = Pass(**KINDS[kind]), History(Pass(**KINDS[kind])), History(Pass(**KINDS[kind]))
    plain.feed(X, Y)
    whole.feed(X, Y)
    for start in range(0, len(Y), 37):
        if not cut.run.stopped:
            cut.feed(X[start : start + 37], Y[start : start + 37])
    assert whole.finish() == cut.finish()
    for run in (whole.run, cut.run):
        assert run.rows == plain.rows
        assert run.certificate() == plain.certificate()
        assert run.model().weights.tobytes() == plain.model().weights.tobytes()


def test_looks_are_log_spaced_and_asking_early_is_the_same():
    early, late = History(Pass()), History(Pass())
    for start in range(0, 700, 50):
        early.feed(X[start : start + 50], Y[start : start + 50])
        assert early.points == sorted(early.points)
        late.feed(X[start : start + 50], Y[start : start + 50])
    assert early.finish() == late.finish()
    rows = [at.rows for at in late.points]
    assert rows[:6] == [16, 20, 24, 28, 32, 40]
    assert rows[-1] == 700
    assert all(b / a <= 1.25 + 1e-9 for a, b in itertools.pairwise(rows))


def test_a_history_goes_on_where_an_earlier_run_was_stopped():
    whole, first = History(Pass()), History(Pass())
    whole.feed(X, Y)
    first.feed(X[:333], Y[:333])
    run = Pass()
    run.restore(first.state())  # what is not its own is the pass's
    second = History(run)
    second.recall(json.loads(json.dumps(first.remember())))
    second.feed(X[333:], Y[333:])
    assert second.finish() == whole.finish()


def test_rows_that_only_tell_the_radius_are_no_look():
    history = History(Pass("margin", radius="auto"))
    history.feed(np.tile(X, (2, 1)), np.tile(Y, 2))
    points = history.finish()
    assert points[0].rows > 1000
    assert points[0].rounds == points[0].rows - 1000


# --- details ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [1 << 20, 6000])
def test_survival_is_the_histogram_of_the_hypotheses(memory):
    run = Pass(max_trace_memory=memory)
    run.feed(X, Y)
    assert run.trace().compacted == (memory == 6000)
    kept = Pass()
    kept.feed(X, Y)
    lives = kept.trace().survival
    lives = lives[lives > 0]
    found = details.survival(run.trace())
    for end, hypotheses, rounds in zip(found["up_to"], found["hypotheses"], found["rounds"], strict=True):
        inside = lives[(lives > end // 2) & (lives <= end)]
        assert (hypotheses, rounds) == (len(inside), inside.sum())
    assert sum(found["rounds"]) == 700


@pytest.mark.parametrize(("bound", "loss"), [("betting", None), ("dekel2008", None), ("betting", "zero_one")])
def test_the_least_of_the_curve_over_k_is_the_certificate(bound, loss):
    run = Pass("margin", conversion="cutoff", radius=2.0, bound=bound, loss=loss, delta=0.1)
    run.feed(X, Y)
    curve, own = details.cutoffs(run.trace(), 0.1, loss), run.certificate()
    at = min(range(len(curve["k"])), key=lambda i: (curve[bound][i], curve["k"][i]))
    assert (curve["k"][at], curve["counted"][at]) == (own.choice.value, own.counted)
    assert curve[bound][at] == pytest.approx(own.risk, rel=1e-9)
    assert curve["loss"][at] == pytest.approx(own.empirical, rel=1e-12)


def test_conversions_share_delta_and_leave_out_what_cannot_be_had():
    run = Pass(conversion="cutoff", delta=0.1, watch=True)
    run.feed(X, Y)
    lines = details.conversions(run)
    assert {line["conversion"] for line in lines} == {"cutoff", "average", "last", "longest", "suffix", "frozen"}
    assert sum(line["delta"] for line in lines) == pytest.approx(0.1)
    compacted = Pass(conversion="cutoff", delta=0.1, max_trace_memory=6000)
    compacted.feed(X, Y)
    assert "suffix" not in {line["conversion"] for line in details.conversions(compacted)}


def test_heaviest_weights_are_the_heaviest():
    weights = np.random.default_rng(0).normal(size=(101, 3))
    weights[40] = 0.0
    found = heaviest(weights, ("a", "b", "c"), str)
    sizes = np.abs(weights[1:]).max(axis=1)
    order = np.argsort(-sizes, kind="stable")[:HEAVIEST]
    assert [feature["name"] for feature in found["features"]] == [str(f) for f in order]
    assert [abs(feature["weight"]) for feature in found["features"]] == sizes[order].tolist()
    first = found["features"][0]
    assert weights[1 + order[0], "abc".index(first["towards"])] == first["weight"]
    assert (found["non_zero"], found["intercept"]) == (99, weights[0].tolist())


def test_names_are_those_of_the_columns():
    names = FeatureNames(TablePlan((Column("a", "number"), Column("city", "category"))))
    assert feature_names({"format": "csv"}, names)(0) == "a"
    assert feature_names({"format": "csv"}, names)(8) == "hashed 7"
    assert feature_names({"format": "svmlight", "zero_based": True})(0) == "feature 0"
    assert feature_names({})(3) == "feature 3"
