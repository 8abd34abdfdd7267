"""The parts of a run on several machines: what waves have come to, what is certified of it, what is sent to workers."""

import copy

import numpy as np
import pytest

from onepass import CheckpointError, Pass
from onepass.learners import Perceptron
from onepass.regimes import Regimes
from onepass.scale import cut
from onepass.scale.executors import LocalExecutor
from onepass.scale.summaries import summarise
from onepass.scale.tasks import WaveStart
from onepass.scale.watching import Candidate
from onepass.scale.wave_certificates import Known, WaveCertificates
from onepass.scale.wave_exchange import SentValues
from onepass.scale.wave_sums import Back, WaveSums
from onepass.scale.waves_done import WavesDone
from strategies import dyadic
from test_learners import same_state

ENDS = [1, 2, 3, 4]  # chunks in all, at the end of each wave


def done(waves=2, **options):
    """So many waves of one chunk each, with the passes that learned them."""
    found, runs = WavesDone(), []
    for wave in range(waves):
        X, y = dyadic(wave, 300, 3, 2)
        run = Pass("perceptron", classes=[-1, 1], conversion="cutoff", **options)
        run.feed(X, y)
        found.enter(summarise(run.trace(), wave, rows=300, dense=3, columns=None), 4, [300])
        found.vectors.append(run.model().weights)
        found.number += 1
        runs.append(run)
    return found, runs


def test_waves_add_up():
    found, runs = done(3)
    assert (found.number, found.rows, found.rounds, found.firsts) == (3, 900, 900, [1, 301, 601, 901])
    assert found.whole.tally.mistakes.sum() == sum(run.mistakes for run in runs)
    assert found.cutoffs == [4, 4, 4]
    assert not found.one_label_only


def again(state, classes=2):
    return WavesDone.from_state(state, ENDS, Perceptron(), classes, None)


def test_waves_go_on_from_their_state():
    found, _ = done()
    found.origin = WaveStart(np.ones((4, 1)), 300)
    other = again(copy.deepcopy(found.state()))
    assert same_state(other.state(), found.state())
    assert (other.number, other.rows, other.rounds, other.origin.elapsed) == (2, 600, 600, 300)


@pytest.mark.parametrize(
    "change",
    [
        {"wave": 0},
        {"wave": 4},
        {"wave": 1},
        {"firsts": (1, 301)},
        {"firsts": (1, 301, 602)},
        {"firsts": (1, 602, 601)},
        {"cutoffs": (4,)},
        {"cutoffs": (4, -1)},
        {"vectors": (np.ones((4, 2)),)},
        {"vectors": [np.ones((4, 1))]},
        {"origin": ((np.full((4, 1), np.nan),), 300)},
        {"before": None},
        {"settled": ()},
        {"terms": None},
    ],
    ids=str,
)
def test_waves_know_what_state_they_cannot_have(change):
    state = done()[0].state()
    again(state)
    with pytest.raises(CheckpointError, match="the waves done"):
        again(state | change)
    with pytest.raises(CheckpointError, match="the waves done"):
        again(state, classes=3)


def test_a_prefix_of_nothing_has_the_certificate_of_the_waves_before():
    found, (run, _) = done(1)[0], done()[1]
    inputs = cut([(np.eye(2), [0, 1])] * 4)
    certificates = WaveCertificates(run, inputs, 4)
    known = Known(found.before, found.settled, None, Regimes())
    assert certificates.so_far(known, None, 4) == certificates.of_done(found, None)
    assert certificates.so_far(known._replace(before=None), None, 4) is None
    assert certificates.next_cutoff(found) is None
    found.last = found.before
    assert certificates.next_cutoff(found) == certificates.best_cutoff(found.before, found.regimes)


def test_each_candidate_is_sent_once_and_let_go():
    calls = []

    class Counting(LocalExecutor):
        def hold(self, kind, value):
            calls.append(kind)
            return super().hold(kind, value)

        def drop(self, handles):
            calls.append(len(handles))
            super().drop(handles)

    sent = SentValues(Counting(), 3)
    one, two = (Candidate(wave, 8 * wave, np.ones((2, 1)), np.zeros(3)) for wave in (1, 2))
    sent.candidates([one])
    first = sent.candidates([one, two])[0]
    assert first.result() is one
    sent.candidates([two])
    assert sent.origin(None, 5) is None
    sent.origin(WaveStart(np.ones((2, 1)), 8), 5)
    sent.drop()
    assert calls == ["candidate-3-1", 0, "candidate-3-2", 0, 1, "origin-3-5", 1]


def test_a_wave_without_rows_leaves_the_start_as_it_was():
    before = WaveStart(np.ones((2, 1)), 8)
    sums = WaveSums(LocalExecutor(), cut([(np.eye(2), [0, 1])]), 0, 1, [], [Back(0, "", 0, 0)])
    assert sums.next_start(before, Perceptron()) is before
