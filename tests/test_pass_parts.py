"""The parts of a pass, each by itself: where it starts, what watches its rows, caveats, answers."""

import numpy as np
import pytest

from onepass import CheckpointError, ConversionError, Pass
from onepass.answers import Answers
from onepass.background import Background
from onepass.caveats import Caveats
from onepass.certified import Question
from onepass.guards.drift import DriftEvidence
from onepass.labels import Labels
from onepass.learners import Adaptive, MarginPerceptron, Perceptron, ShiftedPerceptron
from onepass.observers import Observers
from onepass.options import Options
from onepass.rows import Dense
from onepass.runs import Carried
from onepass.warm_start import WarmStart
from strategies import dyadic
from test_learners import same_state

FOUND = DriftEvidence(tested=50, evidence=1e6, row=50, score="signed", since=40, alarm=49)


def begun(outputs=1, uncounted=10):
    return WarmStart(Perceptron(), None, outputs, 2, elapsed=5, uncounted=uncounted)


def test_rounds_before_a_run_are_those_of_all_that_it_started_from():
    start = begun()
    assert (start.elapsed, start.counting, start.weights) == (5, False, None)
    start.count_from(np.ones((3, 1)))
    assert (start.elapsed, start.counting) == (15, True)
    start.restart(50, 40, 7, FOUND, np.full((3, 1), 2.0))
    start.begin(1)
    assert (start.elapsed, start.weights.tolist()) == (55, [[2.0]] * 3)
    assert start.regimes.ended[0].mistakes == 7


def test_a_start_has_as_many_outputs_as_there_are():
    start = begun()
    start.count_from(np.array([[4.0], [-2.0]]))
    start.join(3)
    assert start.weights.tolist() == [[-2.0, 2.0, 0.0], [1.0, -1.0, 0.0]]
    start.begin(4)
    assert start.weights.tolist() == [[-2.0, 2.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0]]
    start.forget()
    start.begin(1)
    assert (start.weights, start.counting) == (None, False)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_start_goes_on_from_its_state(restarted):
    start, other = begun(), begun()
    start.count_from(np.ones((3, 1)))
    if restarted:
        start.restart(50, 40, 7, FOUND, np.full((3, 1), 2.0))
        start.begin(1)
    assert not other.began_alike(start.state())
    other.check_state(start.state(), 60, 1, restarted)
    other.restore(start.state())
    other.begin(1)
    assert other.began_alike(start.state())
    assert same_state(other.state(), start.state())
    np.testing.assert_array_equal(other.origin, start.origin)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"origin": None}, "the origin"),
        ({"origin": ()}, "the origin"),
        ({"origin": (np.ones((3, 2)),)}, "the origin"),
        ({"origin": (np.full((3, 1), np.nan),)}, "the origin"),
        ({"origin": (np.ones((9, 1)),)}, "the origin"),
        ({"counting": False}, "the origin"),
        ({"counting": 1}, "counting"),
        ({"regimes": {"ended": ((1, 50, 7, 1e6, "signed", 40),), "origin": None, "elapsed": 40}}, "the regimes"),
    ],
)
def test_a_start_knows_what_state_it_cannot_have(change, what):
    start = begun()
    start.count_from(np.ones((3, 1)))
    start.check_state(start.state(), 60, 1, True)
    with pytest.raises(CheckpointError, match=what):
        start.check_state(start.state() | change, 60, 1, True)


def test_what_is_no_origin_is_named():
    for learner, origin, message in (
        (ShiftedPerceptron(), np.ones((2, 1)), "ShiftedPerceptron starts at 0"),
        (Perceptron(), Carried(np.ones((2, 1)), np.ones((2, 4))), "Perceptron starts from weights"),
        (Adaptive(), np.ones((2, 1)), "what another run of it carried"),
    ):
        with pytest.raises(ConversionError, match=message):
            WarmStart(learner, origin, 1, 5)
    for learner, origin, message in (
        (Perceptron(), np.ones((2, 2)), r"weights \(1 \+ features, 1\) expected"),
        (Perceptron(), np.ones((7, 1)), "6 features are more than the pass may have"),
        (Perceptron(), np.full((2, 1), np.inf), "finite numbers expected"),
        (MarginPerceptron(), np.ones((3, 1)), "starts in the unit ball"),
    ):
        with pytest.raises(ValueError, match=message):
            WarmStart(learner, origin, 1, 5)


def test_a_start_says_why_first_rows_give_no_certificate():
    start = begun()
    assert "there were only 3" in start.reasons(3)[0]
    start.count_from(np.ones((3, 1)))
    assert start.reasons(10) == () == begun(uncounted=0).reasons(3)
    fixed = WarmStart(MarginPerceptron(), None, 1, 2, uncounted=10, own_rate=True)
    assert fixed.counting
    assert "MarginPerceptron cannot start anew" in fixed.reasons(3)[0]


# --- what watches rows ------------------------------------------------------------------------------------------------


def observing(**options):
    return Observers(Options(**options), Labels(), Background())


def test_something_is_frozen_at_rounds_that_the_options_settle():
    kept_out = {"conversion": "validation", "validation_fraction": 0.5}
    for options, expected in (
        ({}, [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32]),
        (kept_out, [1, 2, 4, 8, 16, 32]),
        ({"conversion": "average"}, []),
    ):
        run, observers = Pass("perceptron", **options).learner_run, observing(**options)
        assert [t for t in range(1, 40) if observers.freeze(t, run, run.last)] == expected
        assert {t for t in map(observers.next_freezing, range(39)) if t < 40} == {*expected}
    assert sorted(observing().state()) == ["candidates", "guards", "watched"]


def test_what_was_seen_since_a_mark_is_forgotten():
    X, y = dyadic(2, 300, 3, 2)
    observers, plain = observing(), observing()
    for one in (observers, plain):
        one.observe(Dense(X[:100]), y[:100])
    mark = observers.mark()
    observers.observe(Dense(X[100:]), y[100:])
    assert not same_state(observers.state(), plain.state())
    observers.rewind(mark)
    assert same_state(observers.state(), plain.state())


def test_observers_know_what_state_they_cannot_have():
    observers = observing()
    state = observers.state()
    observers.check_state(state, 0, (4, 1))
    for name, what in (("watched", "the watched models"), ("guards", "the guards")):
        with pytest.raises(CheckpointError, match=what):
            observers.check_state(state | {name: None}, 0, (4, 1))
    with pytest.raises(CheckpointError, match="the candidates"):
        observers.check_state(state | {"candidates": {}}, 0, (4, 1))


# --- what is said -----------------------------------------------------------------------------------------------------


def test_caveats_are_words():
    caveats, other = Caveats(), Caveats()
    caveats.withhold("a")
    caveats.withhold("b")
    caveats.withhold("a")
    caveats.assume("c")
    caveats.check_state(caveats.state())
    other.restore(caveats.state())
    assert (other.void, other.assumed) == (("a", "b"), ("c",))
    for name in ("void", "assumed"):
        for wrong in (["a"], ("a", 1), None):
            with pytest.raises(CheckpointError, match=name):
                caveats.check_state(caveats.state() | {name: wrong})


def test_an_answer_is_made_once_until_something_changes():
    X, y = dyadic(3, 200, 3, 2)
    run = Pass("perceptron", conversion="average")
    run.feed(X, y)
    answers, made = Answers(), []

    def trace():
        made.append(1)
        return run.trace()

    first = answers.trace(1, trace)
    declared = Question("average", 0.05, "betting", None)
    certificate = answers.certificate(first, declared, declared)
    other = answers.certificate(first, declared._replace(conversion="cutoff"), declared)
    assert answers.trace(1, trace) is first
    assert answers.certificate(first, declared, declared) is certificate
    assert (certificate.deployed, other.deployed) == (run.certificate().deployed, False)
    answers.trace(2, trace)
    assert answers.certificate(first, declared, declared) is not certificate
    answers.forget()
    answers.trace(2, trace)
    assert len(made) == 3
