"""Runs on several machines that stop after a wave and go on: the same bits, or a refusal that says why."""

import copy

import numpy as np
import pytest

from onepass.checkpoints import checkpoint
from onepass.errors import CheckpointError, ResumeError
from onepass.scale import cut, learn


class KilledError(Exception):
    pass


class Kept:
    """Saves every wave into a file, and ends the run after one of them."""

    def __init__(self, path, until=None):
        self.path, self.until, self.waves = path, until, []

    def restore(self, run):
        found, _ = checkpoint.last(self.path)
        if found is not None:
            found.restore(run)

    def save(self, run):
        checkpoint.save(self.path, run)
        self.waves.append(run.wave)
        if run.wave == self.until:
            raise KilledError


def drawn(turn=9600):
    """Labels follow the first column, from row `turn` on the second."""
    rng = np.random.default_rng(1)
    X = rng.integers(-8, 9, size=(9600, 4)) / 8.0
    y = np.where(np.where(np.arange(9600) < turn, X[:, 0], X[:, 1]) + 0.3 * rng.normal(size=9600) > 0, 1, -1)
    return cut([(X[at : at + 800], y[at : at + 800]) for at in range(0, 9600, 800)])


RUNS = {
    "frozen": {"learner": "perceptron"},
    "adaptive": {},
    "restart": {"learner": "perceptron", "on_drift": "restart"},
    "hinge": {"learner": "margin", "radius": 3.0, "loss": "hinge"},
    "cutoff": {"learner": "perceptron", "conversion": "cutoff"},
    "longest": {"learner": "perceptron", "conversion": "longest"},
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_goes_on_comes_to_the_same_bits(name, tmp_path):
    inputs, options = drawn(4400 if name == "restart" else 9600), {"classes": [-1, 1], "waves": 6, **RUNS[name]}
    whole = learn(inputs, **options)
    for until in (1, 4):
        with pytest.raises(KilledError):
            learn(inputs, checkpoints=Kept(tmp_path / "run", until), **options)
        later = Kept(tmp_path / "run")
        again = learn(inputs, checkpoints=later, **options)
        assert later.waves == list(range(until + 1, 6))
        np.testing.assert_array_equal(again.model().weights, whole.model().weights)
        assert again.certificate() == whole.certificate()
        assert again.model().about == whole.model().about
        assert again.outcome == whole.outcome
        (tmp_path / "run").unlink()
        (tmp_path / "run.prev").unlink()
    assert len(whole.regimes.ended) == (name == "restart")


def saved(path, **more):
    options = {"learner": "perceptron", "classes": [-1, 1], "waves": 6, **more}
    with pytest.raises(KilledError):
        learn(drawn(), checkpoints=Kept(path, 3), **options)
    return options


def test_another_run_is_refused_by_name(tmp_path):
    options = saved(tmp_path / "run")
    for change, words in (
        ({"waves": 4}, "waves: 6 then, 4 now"),
        ({"delta": 0.1}, "delta: 0.05 then, 0.1 now"),
        ({"conversion": "average"}, "conversion: 'frozen' then, 'average' now"),
    ):
        with pytest.raises(ResumeError, match=words):
            learn(drawn(), checkpoints=Kept(tmp_path / "run"), **(options | change))
    fewer = drawn()
    fewer.chunks.pop()
    fewer.data.pop()
    with pytest.raises(ResumeError, match="chunks: '12"):
        learn(fewer, checkpoints=Kept(tmp_path / "run"), **options)


def forged(state, name):
    """The state with one thing changed that no run can have."""
    state = copy.deepcopy(state)
    candidates, before = state["candidates"], state["before"]
    if name == "counts":
        candidates["counts"].rows[0] = -1
    elif name == "weights":
        candidates["watched"][0][2][0] = np.nan
    elif name == "borders":
        candidates["counts"].borders[0, 3] = 1e9
    elif name == "tally":
        before["tally"] = before["tally"]._replace(runs=before["tally"].runs[:-1])
    elif name == "labels":
        before["labels"] = (*before["labels"][:3], 7)
    elif name == "drift":
        before["drift"] = ((1, 2, np.nan, 0.0),)
    elif name == "origin":
        state["origin"] = ((np.zeros((5, 2)),), 3)
    else:
        state[name] = {"wave": 6, "firsts": (1, 2), "regimes": ((5, 4, 3, 2.0, "signed", 1),), "terms": ()}[name]
    return state


@pytest.mark.parametrize(
    "name",
    ["wave", "firsts", "regimes", "terms", "counts", "weights", "borders", "tally", "labels", "drift", "origin"],
)
def test_a_forged_state_is_refused(name, tmp_path):
    options = saved(tmp_path / "run")
    found, _ = checkpoint.last(tmp_path / "run")

    class Forger(Kept):
        def restore(self, run):
            run.check_state(found.state)
            before = run.state()
            with pytest.raises(CheckpointError):
                run.check_state(forged(found.state, name))
            assert run.wave == before["wave"] == 0
            raise KilledError

    with pytest.raises(KilledError):
        learn(drawn(), checkpoints=Forger(tmp_path / "run"), **options)
