"""Prediction with expert advice: against the definitions, against the theorems, cut anywhere, with sleepers."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import oracles_experts as naive
from games_experts import NAN, each_forecaster, votes, with_sleepers
from onepass.errors import DataError
from onepass.experts import (
    AdaHedge,
    Anytime,
    Doubling,
    FixedShare,
    Hedge,
    Horizon,
    RandomizedWeightedMajority,
    WeightedMajority,
    bounds,
    oracle,
)
from onepass.experts.rates import epoch, tuned_beta
from onepass.experts.reductions import decay, fold, least
from onepass.experts.run import snapshots
from onepass.experts.votes import tally

matrices = hnp.arrays(
    np.uint8, st.tuples(st.integers(1, 24), st.integers(1, 6)), elements=st.integers(0, 1)
)  # 24 penalties of ¼ are 48 bits: sums of weights are exact


# Against the definitions


@settings(deadline=None, max_examples=60)
@given(matrices, st.randoms(use_true_random=False), st.sampled_from([0.5, 0.25]))
def test_weighted_majority_is_the_definition(advice, random, beta):
    outcomes = [random.randint(0, 1) for _ in advice]
    predictions, weights = naive.weighted_majority(advice, outcomes, Fraction(beta))
    forecaster = WeightedMajority(beta)
    run = forecaster.run(advice, outcomes)
    assert run.mistakes == sum(p != y for p, y in zip(predictions, outcomes, strict=True))
    assert run.losses.tolist() == np.cumsum(np.not_equal(predictions, outcomes)).tolist()
    assert run.expert_losses.tolist() == (advice != np.array(outcomes)[:, None]).sum(axis=0).tolist()
    assert run.weights.tolist() == [[float(w / sum(row)) for w in row] for row in weights]
    assert np.allclose(forecaster.log_weights, [math.log(w) for w in weights[-1]], rtol=1e-15)


@settings(deadline=None, max_examples=60)
@given(matrices, st.randoms(use_true_random=False), st.sampled_from([0.5, 0.25]))
def test_randomized_is_the_definition(advice, random, beta):
    outcomes = [random.randint(0, 1) for _ in advice]
    probabilities, weights = naive.randomized(advice, outcomes, lambda t: (Fraction(beta), False))
    forecaster = RandomizedWeightedMajority(beta, random_state=7)
    run = forecaster.run(advice, outcomes)
    assert run.forecasts.tolist() == [float(p) for p in probabilities]
    assert run.weights.tolist() == [[float(w / sum(row)) for w in row] for row in weights]
    wrong = np.array([float(1 - p if y else p) for p, y in zip(probabilities, outcomes, strict=True)])
    assert run.loss == pytest.approx(wrong.sum(), abs=1e-12)


@pytest.mark.parametrize("beta", [0.07, 0.3, 0.9, 0.999])
def test_any_beta_follows_the_fractions(beta):
    advice, outcomes = votes(250, 7)
    probabilities, weights = naive.randomized(advice, outcomes, lambda t: (Fraction(beta), False))
    run = RandomizedWeightedMajority(beta).run(advice, outcomes)
    assert np.allclose(run.forecasts, [float(p) for p in probabilities], rtol=1e-12)
    assert np.allclose(run.weights[-1], [float(w / sum(weights[-1])) for w in weights[-1]], rtol=1e-12)
    predictions, _ = naive.weighted_majority(advice, outcomes, Fraction(beta))
    run = WeightedMajority(beta).run(advice, outcomes)
    assert np.diff(run.losses, prepend=0).tolist() == np.not_equal(predictions, outcomes).tolist()


def test_doubling_restarts_with_the_epochs_beta():
    advice, outcomes = votes(200, 5)

    def beta(t):
        length, left = epoch(t)
        return Fraction(tuned_beta(5, length)), length == left

    probabilities, _ = naive.randomized(advice, outcomes, beta)
    run = RandomizedWeightedMajority(Doubling()).run(advice, outcomes)
    assert np.allclose(run.forecasts, [float(p) for p in probabilities], rtol=1e-12)


@pytest.mark.parametrize("sleepers", [False, True])
@pytest.mark.parametrize(
    ("rate", "eta"),
    [
        (0.3, lambda t: 0.3),
        (40.0, lambda t: 40.0),
        (Horizon(150), lambda t: math.sqrt(8 * math.log(6) / 150)),
        (Anytime(), lambda t: math.sqrt(8 * math.log(6) / (t + 1))),
    ],
)
def test_hedge_is_the_definition(rate, eta, sleepers):
    losses = np.random.default_rng(3).random((150, 6))
    losses = with_sleepers(losses) if sleepers else losses
    lost, weights = naive.hedge(losses, eta)
    run = Hedge(rate).run(losses)
    assert np.allclose(run.losses, np.cumsum(lost), rtol=1e-11)
    at = run.times[run.times < 150]
    assert np.allclose(run.weights[: at.size], weights[at], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("drift", [0.0, 0.4])
def test_adahedge_is_the_definition(drift):
    losses = np.random.default_rng(4).random((200, 5)) * (1 - drift) + drift * (np.arange(5) > 1)
    run = Hedge().run(losses)
    assert np.allclose(run.losses, np.cumsum(naive.adahedge(losses)), rtol=1e-10)


def test_fixed_share_is_the_definition():
    losses = np.random.default_rng(5).random((200, 5))
    run = FixedShare(2, 200, rate=0.7, share=0.02).run(losses)
    assert np.allclose(run.losses, np.cumsum(naive.fixed_share(losses, 0.7, 0.02)), rtol=1e-12)


def test_losses_are_advice_about_zero():
    advice, outcomes = votes(80, 4)
    loss = np.abs(advice - outcomes[:, None].astype(float))
    assert Hedge().run(loss).losses.tolist() == Hedge().run(advice, outcomes).losses.tolist()


@settings(deadline=None, max_examples=40)
@given(
    hnp.arrays(
        np.float64, st.tuples(st.integers(1, 6), st.integers(1, 3)), elements=st.integers(0, 8).map(lambda n: n / 8)
    ),
    st.integers(0, 3),
)
def test_oracle_finds_the_best_sequence(losses, switches):
    known = oracle(losses, switches=switches)
    assert known.sequence_loss == naive.best_sequence(losses, switches)
    assert losses[np.arange(len(losses)), known.sequence].sum() == known.sequence_loss
    assert known.switches <= switches
    assert known.loss == losses.sum(axis=0).min() == losses[:, known.best].sum()


# Cut anywhere, stop and resume


@each_forecaster
@pytest.mark.parametrize("sleepers", [False, True])
def test_cutting_the_game_changes_nothing(make, sleepers, tmp_path):
    advice, outcomes = votes(300, 5)
    advice = with_sleepers(advice) if sleepers else advice
    whole = make().run(advice, outcomes)
    cut, stopped = make(), make()
    parts = [cut.run(advice[a:b], outcomes[a:b]) for a, b in ((0, 1), (1, 130), (130, 300))]
    stopped.run(advice[:130], outcomes[:130])
    np.savez(tmp_path / "state.npz", **stopped.state())
    resumed = make()
    with np.load(tmp_path / "state.npz", allow_pickle=False) as state:
        resumed.restore(state)
    again = resumed.run(advice[130:], outcomes[130:])
    for last in (parts[-1], again):
        assert (last.rounds, last.mistakes, last.loss) == (whole.rounds, whole.mistakes, whole.loss)
        assert last.expert_losses.tolist() == whole.expert_losses.tolist()
        assert last.weights[-1].tolist() == whole.weights[-1].tolist()
    for series in ("forecasts", "losses", "best_losses", "bounds"):
        joined = np.concatenate([getattr(part, series) for part in parts])
        assert joined.tolist() == getattr(whole, series).tolist()


@each_forecaster
def test_predict_and_update_are_run_row_by_row(make):
    advice, outcomes = votes(70, 4)
    advice = with_sleepers(advice)
    run, forecaster, mistakes = make().run(advice, outcomes), make(), 0
    for t, (said, y) in enumerate(zip(advice, outcomes, strict=True)):
        before = getattr(forecaster, "probability", forecaster.predict)(said)
        predicted = forecaster.predict(said)
        assert predicted == forecaster.predict(said)
        if not isinstance(forecaster, WeightedMajority):
            assert before == run.forecasts[t]
        mistakes += predicted != y
        forecaster.update(said, y)
    assert forecaster.weights.tolist() == run.weights[-1].tolist()
    assert run.mistakes in (None, mistakes)


def test_layouts_and_types_do_not_matter():
    advice, outcomes = votes(100, 6)
    want = WeightedMajority().run(advice, outcomes)
    locked = advice.copy()
    locked.flags.writeable = False
    for form in (advice.astype(bool), advice.astype(np.int64), advice.astype(np.float32), np.asfortranarray(advice),
                 np.repeat(advice, 2, axis=0)[::2], advice.tolist(), locked):  # fmt: skip
        assert WeightedMajority().run(form, outcomes.astype(float)).weights.tolist() == want.weights.tolist()


def test_snapshots_are_thinned_and_fixed_by_the_round():
    assert snapshots(0, 1_000_000, 10).size < 1200
    assert snapshots(0, 1_000_000, 1_000_000).size < 50
    whole = set(snapshots(0, 5000, 3))
    assert set(snapshots(0, 777, 3)) | set(snapshots(777, 5000, 3)) == whole | {777}


# Sleepers


@pytest.mark.parametrize("beta", [0.5, 0.8])
def test_sleepers_in_the_deterministic_vote(beta):
    advice, outcomes = votes(150, 5)
    advice = with_sleepers(advice)
    predictions, weights = naive.weighted_majority(advice, outcomes, Fraction(beta))
    run = WeightedMajority(beta).run(advice, outcomes)
    mistake = np.not_equal(predictions, outcomes)
    assert np.diff(run.losses, prepend=0).tolist() == mistake.tolist()
    assert np.allclose(run.weights[-1], [float(w / sum(weights[-1])) for w in weights[-1]], rtol=1e-10)
    for i in range(5):  # while expert i is awake the vote makes at most bound(m_i) mistakes
        awake = ~np.isnan(advice[:, i])
        own = float((advice[awake, i] != outcomes[awake]).sum())
        assert mistake[awake].sum() <= bounds.weighted_majority(own, 5, beta)
        assert run.expert_losses[i] == own + mistake[~awake].sum()


@each_forecaster
def test_bounds_hold_with_sleepers(make):
    rng = np.random.default_rng(11)
    for seed in range(100):
        experts = int(rng.integers(2, 6))
        advice, outcomes = votes(40, experts, seed)
        run = make().run(with_sleepers(advice, seed), outcomes)
        assert (run.losses <= run.bounds + 1e-9).all()


@each_forecaster
def test_a_mask_is_the_same_as_nan(make):
    advice, outcomes = votes(50, 4)
    sleepy = with_sleepers(advice)
    want = make().run(sleepy, outcomes)
    run = make().run(advice, outcomes, awake=~np.isnan(sleepy))
    assert run.losses.tolist() == want.losses.tolist()
    assert run.weights.tolist() == want.weights.tolist()


@pytest.mark.parametrize("make", [lambda: RandomizedWeightedMajority(0.5), lambda: Hedge(2.0), lambda: Hedge()])
def test_awake_experts_far_behind_still_decide(make):
    """Two experts lag by 5000 mistakes; when only they are awake they are weighed against each other."""
    advice = np.ones((5000, 3))
    advice[:, 0] = 0
    forecaster = make()
    forecaster.run(advice, np.zeros(5000))
    assert forecaster.predict([NAN, 1, 1]) == 1
    forecaster.run([[NAN, 1, 0]] * 3, [0, 0, 0])
    probability = getattr(forecaster, "probability", forecaster.predict)
    assert probability([NAN, 0, 1]) > 0.5
    assert probability([0, 1, 1]) < 1e-9


# Bad input


@pytest.mark.parametrize(
    ("advice", "outcomes", "message"),
    [
        ([[0, 2]], [1], "round 0, expert 1 says 2"),
        ([[0, 0.5]], [1], "expert 1 says 0.5"),
        ([[0, -1]], [1], "says -1"),
        ([[0, math.inf]], [1], "says inf"),
        ([[0, 1], [NAN, NAN]], [1, 1], "in round 1 every expert is asleep"),
        ([[0, 1]], [NAN], "outcomes: round 0 has nan"),
        ([[0, 1]], [3], "outcomes: round 0 has 3"),
        ([[0, 1]], [0, 1], r"outcomes: shape \(2,\)"),
        ([[0, 1]], None, "outcomes: shape"),
        ([[0, 1, 1]], [1], "3 experts, but 2"),
        ([0, 1], [1], "shape"),
        (np.zeros((0, 2)), [], "at least one"),
        (np.zeros((2, 0)), [1, 1], "at least one"),
        ([["0", "1"]], [1], "numbers are needed"),
        ([[0j, 1]], [1], "numbers are needed"),
    ],
)
@pytest.mark.parametrize("make", [lambda: WeightedMajority(), lambda: RandomizedWeightedMajority(), lambda: Hedge()])
def test_bad_rounds_are_refused_and_change_nothing(make, advice, outcomes, message):
    forecaster = make()
    forecaster.run([[0, 1], [1, 1]], [1, 0])
    if isinstance(forecaster, Hedge) and (outcomes is None or "0.5" in message):
        pytest.skip("Hedge takes these")
    before = forecaster.state()
    with pytest.raises(DataError, match=message):
        forecaster.run(advice, outcomes)
    after = forecaster.state()
    assert all(np.array_equal(before[key], after[key]) for key in before)


@pytest.mark.parametrize("awake", [[[True]], [[1, 1]], [[False, False]]])
def test_bad_masks_are_refused(awake):
    with pytest.raises(DataError, match=r"awake|asleep"):
        Hedge().run([[0, 1]], [1], awake=awake)


@pytest.mark.parametrize("beta", [0, 1, -0.5, 1.5, NAN, "half", None, True, AdaHedge()])
@pytest.mark.parametrize("rule", [WeightedMajority, RandomizedWeightedMajority])
def test_beta_must_lie_between_0_and_1(rule, beta):
    with pytest.raises(ValueError, match="beta="):
        rule(beta)


def test_other_bad_arguments():
    with pytest.raises(ValueError, match="beta=Anytime"):
        WeightedMajority(Anytime())  # no theorem of that kind for the deterministic vote
    for rate in (0, -1, math.inf, NAN, "fast"):
        with pytest.raises(ValueError, match="rate="):
            Hedge(rate)
    with pytest.raises(ValueError, match="rounds=0"):
        Horizon(0)
    for switches, horizon in ((0, 10), (5, 10), (1, 1)):
        with pytest.raises(ValueError, match="switches="):
            FixedShare(switches, horizon)
    with pytest.raises(ValueError, match="share="):
        FixedShare(1, 10, share=0.9)
    with pytest.raises(ValueError, match="switches=-1"):
        oracle([[0, 1]], switches=-1)


def test_state_of_another_forecaster_is_refused():
    forecaster = Hedge()
    forecaster.run([[0, 1]], [1])
    with pytest.raises(ValueError, match=r"Hedge\(rate=0.5\)"):
        Hedge(0.5).restore(forecaster.state())
    with pytest.raises(ValueError, match="since must be"):
        Hedge().restore({**forecaster.state(), "since": np.zeros(3)})
    with pytest.raises(ValueError, match="no round has been played"):
        _ = Hedge().weights


def test_scikit_learn_is_left_alone():
    code = "import sys, onepass.experts; sys.exit('sklearn' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# The arithmetic underneath


@pytest.mark.parametrize("n", [1, 3, 8, 9, 31, 32, 33, 35, 36, 130, 1001])
def test_folding_is_summing(n):
    x = np.random.default_rng(n).integers(-64, 65, n) / 64  # dyadic: every order of summing gives the same
    assert fold(np.append(x, np.full(3, NAN)), n) == x.sum()
    assert least(x, np.empty(n)) == x.min()
    votes_, scratch = (x > 0).astype(np.uint8), np.full(n + 4, NAN)
    assert tally(x, votes_, np.uint8(1), scratch) == x[x > 0].sum()


def test_decay_is_exp_to_two_units_in_the_last_place():
    x = np.concatenate([np.linspace(0, 720, 20_001), np.geomspace(1e-18, 1, 2000), [0.0]])
    w = np.empty_like(x)
    decay(1.0, x, 0.0, w)
    exact = np.array([math.exp(-z) for z in x])
    inside = x <= 700
    assert np.abs(w - exact)[inside].max() > 0
    assert (np.abs(w - exact)[inside] <= 2 * np.spacing(exact[inside])).all()
    assert (w[~inside] == 0).all()
    assert w[-1] == 1.0
    decay(np.inf, np.array([2.0, 1.0, 1.0]), 1.0, w[:3])
    assert w[:3].tolist() == [0.0, 1.0, 1.0]
