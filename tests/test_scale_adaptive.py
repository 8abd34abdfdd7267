"""Adaptive on several machines: a wave starts from what the waves before it carried, by the definition."""

import copy

import numpy as np
import pytest

from onepass import ConversionError, Pass
from onepass.runs import Carried
from onepass.scale import cut, learn
from oracles_adaptive import Adaptive
from strategies import csr
from test_learners_adaptive import drawn


def pieces(X, y, chunks, layout=np.asarray):
    return [(layout(a), b) for a, b in zip(np.array_split(X, chunks), np.array_split(y, chunks), strict=True)]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_waves_are_the_definition(classes, intercept, share):
    X, y = drawn(3, 900, 7, classes, share)
    chunks, labels = pieces(X, y, 6), [-1, 1] if classes == 2 else list(range(classes))
    run = learn(cut(chunks), learner="adaptive", conversion="average", classes=labels, fit_intercept=intercept, waves=3)
    start = Adaptive(7, 1 if classes == 2 else classes, intercept)
    total, mistakes = np.zeros((8, start.b.size)), 0
    for wave in range(3):
        ends = []
        for rows, given in chunks[2 * wave : 2 * wave + 2]:
            here = copy.deepcopy(start)
            for x, label in zip(rows, given, strict=True):
                total += here.weights
                mistakes += here.learn(x, label)[0] <= 0
            ends.append(here)
        start.merge(ends)
    assert run.mistakes == mistakes
    np.testing.assert_allclose(run.model().weights, total / len(y), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("conversion", ["average", "cutoff", "longest"])
def test_waves_of_one_chunk_learn_as_one_pass_does(conversion):
    """But for centres and scales, which are those of the sums at a wave's start."""
    X, y = drawn(4, 3000, 6, noise=0.3)
    merged = learn(cut(pieces(X, y, 6, csr)), learner="adaptive", conversion=conversion, classes=[-1, 1])
    plain = Pass("adaptive", conversion=conversion, classes=[-1, 1])
    plain.feed(csr(X), y)
    assert merged.outcome.waves == 6
    assert abs(merged.mistakes - plain.mistakes) < 0.1 * plain.mistakes
    errors = [(run.model().predict(X) != y).mean() for run in (merged, plain)]
    assert errors[0] < 1.1 * errors[1] + 0.01


def test_how_many_waves_there_are():
    X, y = drawn(5, 640, 3)
    for chunks, waves in ((1, 1), (5, 5), (20, 8), (40, 10), (160, 32)):
        assert learn(cut(pieces(X, y, chunks)), classes=[-1, 1]).outcome.waves == waves


def test_what_adaptive_may_start_from():
    X, y = drawn(6, 200, 3)
    run = Pass("adaptive", classes=[-1, 1])
    run.feed(X, y)
    carried = run.learner_run.carried()
    again = Pass("adaptive", classes=[-1, 1], origin=carried)
    np.testing.assert_array_equal(again.origin, run.trace().last)
    assert (
        again.options["origin"]
        != Pass("adaptive", classes=[-1, 1], origin=carried._replace(sums=carried.sums + 1)).options["origin"]
    )
    with pytest.raises(ConversionError, match="Adaptive starts from what another run of it carried, or at 0"):
        Pass("adaptive", origin=np.zeros((4, 1)))
    with pytest.raises(ConversionError, match="Perceptron starts from weights"):
        Pass("perceptron", origin=carried)
    with pytest.raises(ValueError, match="finite"):
        Pass("adaptive", classes=[-1, 1], origin=Carried(carried.weights * np.nan, carried.sums))
