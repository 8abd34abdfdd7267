"""The theorems of prediction with expert advice, on games made to break them, and on very long ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracles_experts as naive
from games_experts import FORECASTERS, each_forecaster, votes
from onepass.experts import (
    Anytime,
    Doubling,
    FixedShare,
    Hedge,
    RandomizedWeightedMajority,
    WeightedMajority,
    bounds,
    oracle,
)


def sequences(kind: str, count: int, seed: int):
    """Games of 40 rounds with 2 to 5 experts: advice and outcomes of 0 and 1."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        experts = int(rng.integers(2, 6))
        advice = (rng.random((40, experts)) < rng.random(experts)).astype(np.uint8)
        match kind:
            case "random":
                outcomes = (rng.random(40) < rng.random()).astype(np.uint8)
            case "contradicts the vote":
                outcomes = naive.contradict(advice, 0.5)
            case "leader errs":  # the expert with the fewest mistakes is always wrong, ties to the first
                outcomes, mistakes = np.zeros(40, np.uint8), np.zeros(experts)
                for t in range(40):
                    outcomes[t] = 1 - advice[t, np.argmin(mistakes)]
                    mistakes += advice[t] != outcomes[t]
            case "one errs at a time":
                outcomes = rng.integers(0, 2, 40, dtype=np.uint8)
                advice = outcomes[:, None] ^ (np.arange(40)[:, None] % experts == np.arange(experts)).astype(np.uint8)
        yield advice, outcomes


@pytest.fixture(scope="module")
def games():
    kinds = ["random", "contradicts the vote", "leader errs", "one errs at a time"]
    return [game for seed, kind in enumerate(kinds) for game in sequences(kind, 2500, seed)]


@pytest.mark.slow
@each_forecaster
def test_bound_holds_at_every_round_of_ten_thousand_games(make, games):
    assert len(games) == 10_000
    for advice, outcomes in games:
        run = make().run(advice, outcomes)
        assert (run.losses <= run.bounds + 1e-9).all(), (advice, outcomes)


@each_forecaster
def test_bound_holds_against_an_adversary_that_watches(make):
    """Each outcome contradicts what this very learner is about to say."""
    rng = np.random.default_rng(0)
    for experts in (2, 3, 8):
        forecaster = make()
        for advice in rng.integers(0, 2, (60, experts)):
            probability = getattr(forecaster, "probability", forecaster.predict)
            forecaster.update(advice, int(probability(advice) < 0.5))
        advice = np.zeros((1, experts))
        advice[0, 0] = 1
        run = forecaster.run(advice, [0])
        assert run.rounds == 61
        assert run.loss <= run.bound
    assert run.loss >= 30  # the adversary does its work: the learner loses half of all rounds


def test_simplified_randomized_bound_is_false_at_small_beta_and_not_reported():
    """Experts that err in turn: (2−β)m* + ln N/(1−β) is broken at β = 0.1, the bound that is reported holds."""
    experts, cycles, beta = 200, 40, 0.1
    advice = np.tile(np.eye(experts, dtype=np.uint8), (cycles, 1))
    run = RandomizedWeightedMajority(beta).run(advice, np.zeros(len(advice)))
    simplified = (2 - beta) * run.best_loss + math.log(experts) / (1 - beta)
    assert simplified < run.loss <= run.bound
    assert run.bound == bounds.randomized(40.0, experts, beta)


def test_deterministic_bound_is_nearly_reached():
    """The adversary makes the vote err in every round, so the theorem is tested where it bites."""
    advice = np.tile([[1, 0], [0, 1]], (500, 1))
    run = WeightedMajority(0.5).run(advice, naive.contradict(advice, 0.5))
    assert run.mistakes == 1000
    assert run.mistakes <= run.bound < 1.25 * run.mistakes


@pytest.mark.parametrize(
    ("make", "constant"),
    [
        (lambda: Hedge(Doubling()), 2.42),
        (lambda: RandomizedWeightedMajority(Doubling()), 6.83),
        (lambda: Hedge(Anytime()), math.sqrt(2)),
        (lambda: RandomizedWeightedMajority(Anytime()), math.sqrt(2)),
        (lambda: Hedge(), 1.0),
    ],
)
def test_a_million_rounds_without_knowing_it(make, constant):
    rounds, experts = 1_000_000, 4
    rng = np.random.default_rng(1)
    advice = rng.integers(0, 2, (rounds, experts), dtype=np.uint8)
    run = make().run(advice, np.zeros(rounds))
    assert (run.losses <= run.bounds + 1e-6).all()
    rate = constant * np.sqrt(rounds * math.log(experts))
    assert run.bound - run.best_loss == pytest.approx(rate, rel=0.01)
    assert 0 < run.regret < rate


def test_anytime_multiplied_along_would_be_another_rule():
    """The theorem is for exp(−η_t·cumulative loss), recomputed; the recursion w·exp(−η_t·ℓ_t) has other weights."""
    losses = np.random.default_rng(2).random((30, 3))
    log_w = -sum(np.sqrt(8 * np.log(3) / (t + 1)) * loss for t, loss in enumerate(losses))
    recursion = np.exp(log_w - log_w.max())
    assert not np.allclose(Hedge(Anytime()).run(losses).weights[-1], recursion / recursion.sum(), rtol=0.05)


def drifting(rounds: int = 4000) -> np.ndarray:
    """The best of four experts changes every thousand rounds."""
    rng = np.random.default_rng(8)
    good = np.arange(rounds) * 4 // rounds
    return (rng.random((rounds, 4)) < np.where(np.arange(4) == good[:, None], 0.1, 0.5)).astype(float)


def test_adahedge_beats_the_worst_fixed_rate_on_drifting_data():
    losses = drifting()
    fixed = [Hedge(rate).run(losses).loss for rate in np.geomspace(1e-3, 10, 9)]
    assert Hedge().run(losses).loss < max(fixed)


def test_fixed_share_follows_a_best_expert_that_changes():
    losses = drifting()
    forecaster = FixedShare(switches=3, horizon=len(losses))
    run, known = forecaster.run(losses), oracle(losses, switches=3)
    bound = forecaster.tracking_bound(known.sequence_loss, 4, len(losses), known.switches)
    assert known.switches == 3
    assert run.loss <= bound
    assert run.loss < known.loss  # better than any single expert, which Hedge is not
    assert Hedge().run(losses).loss > run.loss


def test_fixed_share_bound_holds_for_every_number_of_switches():
    """2,500 games, each against the best sequences with 0, 3, 6 and 9 switches: 10,000 comparators."""
    rng = np.random.default_rng(9)
    for _ in range(2500):
        losses = np.repeat(rng.integers(0, 9, (12, 3)) / 8, 5, axis=0)
        forecaster = FixedShare(int(rng.integers(1, 12)), 60)
        loss = forecaster.run(losses).loss
        for switches in range(0, 12, 3):
            known = oracle(losses, switches=switches)
            assert loss <= forecaster.tracking_bound(known.sequence_loss, 3, 60, switches)


@pytest.mark.parametrize("make", FORECASTERS, ids=lambda make: repr(make()))
def test_one_expert_is_simply_followed(make):
    advice, outcomes = votes(40, 1)
    run = make().run(advice, outcomes)
    assert run.loss == run.best_loss == run.bound


def test_one_expert_is_followed_through_losses_that_round():
    run = Hedge().run(np.random.default_rng(0).random((1000, 1)))
    assert run.loss == run.best_loss == run.bound


# Long games


@pytest.mark.parametrize("make", [lambda: RandomizedWeightedMajority(0.5), lambda: Hedge(0.7)])
def test_ten_million_rounds_do_not_underflow(make):
    million = 1_000_000
    first_errs, second_errs = (np.tile(np.array(row, np.uint8), (million, 1)) for row in ([1, 0], [0, 1]))
    forecaster = make()
    for advice in [first_errs] * 5 + [second_errs] * 5:
        run = forecaster.run(advice, np.zeros(million))
        assert np.isfinite(run.forecasts).all()
        if run.rounds == 5 * million:
            assert run.weights[-1].tolist() == [0.0, 1.0]
    assert run.rounds == 10 * million
    assert run.best_loss == 5 * million
    assert run.weights[-1].tolist() == [0.5, 0.5]  # as if nothing had happened
    assert run.loss <= run.bound


def test_ten_million_mistakes_of_the_vote():
    million = 1_000_000
    forecaster = WeightedMajority(0.5)
    for _ in range(10):  # everyone is always wrong: all weights are 2^-10,000,000 in the end, and still equal
        run = forecaster.run(np.ones((million, 3), np.uint8), np.zeros(million))
    assert run.mistakes == 10 * million
    assert forecaster.log_weights.tolist() == [10 * million * math.log(0.5)] * 3
    assert forecaster.predict([0, 0, 1]) == 0


@pytest.mark.parametrize("beta", [0.5, 0.001, 0.9])
def test_an_expert_comes_back_from_any_depth(beta):
    """After falling 3000 penalties behind, the first expert needs exactly 3000 of the other's to be level again."""
    advice = np.repeat(np.array([[1, 0], [0, 1]], np.uint8), 3000, axis=0)
    forecaster = RandomizedWeightedMajority(beta)
    assert forecaster.run(advice[:3000], np.zeros(3000)).weights[-1, 0] < 1e-100
    assert forecaster.run(advice[3000:], np.zeros(3000)).weights[-1] == pytest.approx([0.5, 0.5], rel=1e-12)
