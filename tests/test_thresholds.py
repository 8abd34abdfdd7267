"""Thresholds: the definition, ties to the last bit, what is refused, and how often a guarantee fails."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import oracles_scores
import worlds_scores
from onepass import LinearModel, ModelError
from onepass.certificates import Confidence, Target, Threshold, border_levels, choose_threshold, target_of
from onepass.certificates.threshold import cut_of
from onepass.certificates.threshold_choice import LEVELS, risk_at

RUNS = 200


def rows_of(seed, rows=400, share=0.3, values=24):
    """Scores on a dyadic grid, so that many equal a border; borders of other rows, many of them equal."""
    rng = np.random.default_rng(seed)
    second = rng.random(rows) < share
    scores = np.round((rng.normal(size=rows) + 2.0 * second) * values / 4) / (values / 2)
    others = np.round((rng.normal(size=rows) + 2.0 * (rng.random(rows) < share)) * values / 4) / (values / 2)
    return scores, second, np.quantile(others, border_levels(), method="lower")


def test_borders_are_drawn_at_halving_levels_from_both_ends():
    assert border_levels() == pytest.approx(oracles_scores.levels(), abs=1e-15)


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("kind", ["false alarm", "miss", "precision"])
@pytest.mark.parametrize("seed", range(3))
def test_the_choice_is_the_definition_on_raw_scores(kind, positive, seed):
    scores, second, borders = rows_of(seed)
    assert len(set(borders)) < len(borders)
    assert set(borders) & set(scores)
    confidence = Confidence(0.2, 0.3, 0.5)
    level, other_level = 0.2 * 0.5, 0.3 * 0.5
    counted = oracles_scores.bins(scores, second, borders)
    limits = {"precision": (0.3, 0.6, 0.9999)}.get(kind, (0.003, 0.1, 0.3))
    outcomes = set()
    for limit in limits:
        found = choose_threshold(counted, borders, Target(kind, limit), confidence, positive=positive)
        if kind == "precision":
            border, nearest = oracles_scores.precise_border(scores, second, borders, limit, level, positive)
        else:
            border, nearest = oracles_scores.safe_border(scores, second, borders, kind, limit, level, positive)
        assert (found.border, found.reached) == (border, nearest is None)
        assert found.nearest == (None if nearest is None else pytest.approx(nearest, rel=1e-6))
        alarms, negatives, misses, positives, called = oracles_scores.rule(scores, second, border, positive)
        seen = alarms / negatives, misses / positives, (positives - misses) / called if called else None
        assert (found.false_alarm, found.miss, found.precision) == seen
        other = (alarms, negatives) if kind == "miss" else (misses, positives)
        assert found.other_bound == oracles_scores.level_above(*other, other_level)
        outcomes.add(found.reached)
        wrong = alarms + misses
        risk = oracles_scores.bound(wrong, len(scores), 0.2 / 128)
        assert risk_at(counted, found.index, 0.2) == pytest.approx(risk, rel=1e-6)
    assert outcomes == {True, False}


# --- the rule that is deployed ----------------------------------------------------------------------------------------

HARD = [0.0, -0.0, 5e-324, -5e-324, 1.0, -1.0, 0.1, 2.0**-1022, 1e300, -1e300, 1.7976931348623157e308]


@pytest.mark.parametrize("border", HARD)
def test_the_cut_gives_the_same_rule_for_every_float(border):
    near = [border, math.nextafter(border, math.inf), math.nextafter(border, -math.inf)]
    for score in (one for one in (*near, *HARD) if math.isfinite(one)):
        assert (score > cut_of(border)) == (score >= border)
        assert (-score > cut_of(border, flipped=True)) == (score < border)  # the flipped model's second class


def test_a_model_and_its_mirror_cut_ties_alike():
    rng = np.random.default_rng(0)
    weights, X = rng.integers(-8, 9, (4, 1)) / 8, rng.integers(-8, 9, (500, 3)) / 8
    scores = LinearModel(weights, ("no", "yes")).decision(X)
    mirrored = LinearModel(-weights, ("yes", "no")).decision(X)
    border = float(np.median(scores))
    assert (scores == border).sum() > 3
    counted = oracles_scores.bins(scores, scores > 0, np.full(128, border))
    found = choose_threshold(counted, np.full(128, border), Target("miss", 0.9), labels=("no", "yes"))
    yes = scores >= found.border
    assert 0 < yes.sum() < len(yes)
    assert ((scores > found.cut()) == yes).all()
    assert ((mirrored > found.cut(flipped=True)) == ~yes).all()


# --- what is refused, said and stored ---------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0.0, 1.0, -0.1, 1.5, math.nan, math.inf, "0.1", True, None])
@pytest.mark.parametrize("kind", ["false alarm", "miss", "precision"])
def test_impossible_targets_are_refused_by_name(kind, limit):
    names = {"false alarm": "max_false_alarm", "miss": "max_miss", "precision": "min_precision"}
    with pytest.raises(ValueError, match=f"{names[kind]}: above 0 and below 1"):
        Target(kind, limit)


def test_targets_as_users_declare_them():
    assert target_of() is None
    assert target_of(max_false_alarm=0.01) == Target("false alarm", 0.01)
    assert target_of(min_precision=np.float64(0.9)) == Target("precision", 0.9)
    with pytest.raises(ValueError, match="max_false_alarm and max_miss: one threshold keeps one target"):
        target_of(max_false_alarm=0.01, max_miss=0.1)
    with pytest.raises(ValueError, match="kind: one of"):
        Target("recall", 0.5)


def test_what_cannot_be_cut_is_refused():
    counted, borders, target = np.zeros((2, 129), dtype=np.int64), np.zeros(128), Target("miss", 0.1)
    with pytest.raises(ValueError, match="two classes; here are 3"):
        choose_threshold(counted, borders, target, labels=("a", "b", "c"))
    with pytest.raises(ValueError, match="positive: 0 or 1"):
        choose_threshold(counted, borders, target, positive=2)
    with pytest.raises(ValueError, match="shapes"):
        choose_threshold(counted[:, 1:], borders, target)
    for bad in (np.arange(128.0)[::-1], np.full(128, np.inf), np.full(128, np.nan)):
        with pytest.raises(ValueError, match="finite and rising"):
            choose_threshold(counted, bad, target)
    for confidence in (Confidence(0.0), Confidence(1.0), Confidence(other_delta=2.0), Confidence(price=0.0)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            choose_threshold(counted, borders, target, confidence)


@pytest.mark.parametrize("kind", ["false alarm", "miss", "precision"])
def test_without_rows_nothing_is_claimed(kind):
    found = choose_threshold(np.zeros((2, 129), dtype=np.int64), np.zeros(128), Target(kind, 0.5))
    assert not found.reached
    assert found.nearest == (0.0 if kind == "precision" else 1.0)
    assert (found.false_alarm, found.miss, found.precision, found.other_bound) == (None, None, None, 1.0)
    assert "No other limit can be" in str(found)


def test_a_threshold_says_its_guarantee():
    scores, second, borders = rows_of(1, rows=4000)
    counted = oracles_scores.bins(scores, second, borders)

    def said(kind, limit, declared=True):
        target = Target(kind, limit, declared)
        return str(choose_threshold(counted, borders, target, labels=("no", "yes")))

    assert said("false alarm", 0.05).startswith(
        "With probability 95 % at most 5 % of the rows of class 'no' are called 'yes'. With probability 95 % at most "
    )
    assert "both hold with probability 90 %" in said("false alarm", 0.05)
    assert said("miss", 0.1).startswith(
        "With probability 95 % at most 10 % of the rows of class 'yes' are called 'no'."
    )
    assert "at least 70 % of the rows called 'yes' are of class 'yes'" in said("precision", 0.7)
    assert "if the target was not chosen by looking at these rows" in said("miss", 0.1, declared=False)
    assert said("false alarm", 1e-5).startswith("Not reached: a false-alarm rate of at most 0.001 %")
    assert "The nearest that can: with probability 95 % at most" in said("false alarm", 1e-5)


def stored():
    scores, second, borders = rows_of(2)
    counted = oracles_scores.bins(scores, second, borders)
    return choose_threshold(counted, borders, Target("false alarm", 0.1), labels=("no", "yes"))


def test_a_threshold_is_stored_in_plain_values():
    found = stored()
    assert Threshold.from_dict(json.loads(json.dumps(found.as_dict()))) == found


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("border", bad) for bad in (math.nan, math.inf, "0", None, 1)),
        *(("index", bad) for bad in (-1, 128, 1.0, True)),
        *(("delta", bad) for bad in (0.0, 1.0, math.nan, "x")),
        *(("other_delta", 0.0), ("other_bound", 2.0), ("other", "precision"), ("other", None)),
        *(("reached", 1), ("reached", False), ("nearest", 0.5), ("false_alarm", -1.0), ("miss", math.nan)),
        *(("rows", -1), ("positive_rows", 1.5), ("negative", None), ("negative", "yes"), ("positive", ["yes"])),
        *(("target", None), ("target", {"kind": "miss"}), ("target", {"kind": [], "limit": 0.1, "declared": True})),
        *(("target", {"kind": "miss", "limit": 1.0, "declared": True}), ("more", 1)),
    ],
)
def test_a_forged_threshold_is_refused(field, value):
    with pytest.raises(ModelError, match="field"):
        Threshold.from_dict({**stored().as_dict(), field: value})


@pytest.mark.parametrize("plain", [None, [], {}, "threshold"])
def test_what_is_no_threshold_is_refused(plain):
    with pytest.raises(ModelError, match="threshold"):
        Threshold.from_dict(plain)


# --- the guarantee ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize(("kind", "share"), [("false alarm", 0.03), ("miss", 0.5), ("miss", 0.01), ("precision", 0.5)])
def test_a_guarantee_fails_in_at_most_delta_of_the_runs(kind, share, delta, ties):
    """Whenever one stops and whichever of eight candidates one takes, at their prices."""
    limit = binom.ppf(0.999, RUNS, delta)
    target, other = worlds_scores.failures(kind, share, delta, RUNS, ties=ties)
    assert target <= limit
    assert other <= limit


@pytest.mark.slow
def test_without_its_price_the_best_of_eight_fails_more_often():
    target, _ = worlds_scores.failures("false alarm", 0.03, 0.3, RUNS, price=1.0)
    assert target > binom.ppf(0.999, RUNS, 0.3)


@pytest.mark.slow
def test_every_borders_own_bound_would_be_wrong_too_often():
    """So what is claimed is the limit, or a declared level, and never the bound at the border that was chosen."""
    rng, even = np.random.default_rng(0), worlds_scores.world("precision", 0.5, 0.5)
    failed = sum(worlds_scores.own_bounds_fail(even, 0.3, rng) for _ in range(RUNS // 2))
    assert failed > binom.ppf(0.999, RUNS // 2, 0.3)


def test_sixteen_levels_were_declared():
    assert LEVELS.tolist() == list(oracles_scores.LEVELS)
