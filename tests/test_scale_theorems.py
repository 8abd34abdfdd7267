"""The theorem of onepass.scale: one certificate covers the rounds of all chunks, in waves too."""

import numpy as np
import pytest
from scipy.stats import binom

import oracles_scale
from onepass.scale import cut, learn
from test_theorems import World

RUNS = 300
FROZEN_RUNS = 200
LIMIT = int(binom.ppf(0.999, RUNS, 0.05))


def sharded(seed, waves, order, options):
    world = World(seed)
    X, y = world.draw(seed + 2_000_000, 240)
    if order == "sorted":
        by_label = np.argsort(y, kind="stable")
        X, y = X[by_label], y[by_label]
    pairs = [(X[at : at + 40], y[at : at + 40]) for at in range(0, 240, 40)]
    return world, pairs, learn(cut(pairs), waves=waves, classes=[-1, 1], **{"order_alarm": False} | options)


@pytest.mark.slow
@pytest.mark.parametrize("waves", [1, 3])
def test_the_certificate_is_false_in_at_most_delta_of_sharded_runs(waves):
    """Hinge: of the merged model itself. 0-1: of the members, found by the definition."""
    failed = {"hinge": 0, "members": 0}
    for seed in range(RUNS):
        world, _, merged = sharded(
            seed, waves, "as drawn", {"learner": "margin", "conversion": "cutoff", "radius": 1.0}
        )
        certificate = merged.certificate()
        assert certificate.covers == "model"
        failed["hinge"] += certificate.informative and world.risk(merged.model().weights, "hinge")[0] > certificate.risk
        world, pairs, merged = sharded(
            seed, waves, "as drawn", {"learner": "perceptron", "conversion": "cutoff", "fit_intercept": False}
        )
        certificate, outcome = merged.certificate(), merged.outcome
        parts = oracles_scale.waves(pairs, [6 // waves] * waves, outcome.cutoffs, oracles_scale.perceptron, True)
        W, B = (np.concatenate([part[i] for part in parts[outcome.begin - 1 :]]) for i in (0, 2))
        risks = world.risk(np.vstack([np.zeros(B.sum()), W[B].T]), "zero_one")
        failed["members"] += certificate.informative and risks.mean() > certificate.risk
    assert max(failed.values()) <= LIMIT, failed


def test_the_certificate_is_false_when_rows_are_sorted_by_label():
    """What it assumes is what it needs."""
    failed = 0
    for seed in range(60):
        world, pairs, merged = sharded(
            seed, 1, "sorted", {"learner": "perceptron", "conversion": "cutoff", "fit_intercept": False}
        )
        parts = oracles_scale.waves(pairs, [6], merged.outcome.cutoffs, oracles_scale.perceptron, True)
        W, _, B = parts[0]
        risk = world.risk(np.vstack([np.zeros(B.sum()), W[B].T]), "zero_one").mean()
        failed += merged.certificate().informative and risk > merged.certificate().risk
    assert failed > 5 * 0.05 * 60


@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize("stop_at", [None, 0.35])
def test_the_certificate_of_a_frozen_model_is_false_in_at_most_delta_of_runs(delta, stop_at):
    """Chosen among five candidates by what they did, and stopped, or not, when it looks good."""
    failed = informative = 0
    for seed in range(FROZEN_RUNS):
        options = {"learner": "perceptron", "delta": delta, "stop_at": stop_at}
        world, _, merged = sharded(seed, 6, "as drawn", options)
        certificate = merged.certificate()
        informative += certificate.informative
        failed += world.risk(merged.model().weights, "zero_one")[0] > certificate.risk
    assert informative > 0.9 * FROZEN_RUNS
    assert failed <= binom.ppf(0.999, FROZEN_RUNS, delta)


def test_the_certificate_of_a_frozen_model_is_false_when_later_waves_repeat_rows():
    """Labels are noise: whatever was learned of them is right on the same rows alone."""
    failed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 60)), rng.choice([-1, 1], size=60)
        options = {"waves": 8, "classes": [-1, 1], "order_alarm": False, "repeat_alarm": False}
        merged = learn(cut([(X, y)] * 8), learner="perceptron", **options)
        failed += merged.certificate().risk < 0.5
    assert failed > 5 * 0.05 * 20
