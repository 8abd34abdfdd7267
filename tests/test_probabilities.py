"""Probabilities: the isotonic definition, the prediction is the most probable class, forged files, and the band."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom

import oracles_scores
import worlds_scores
from onepass import ModelError
from onepass.certificates import Calibration, border_levels, calibrate
from onepass.certificates.score_bins import flip

RUNS = 200
NOTHING = np.zeros((2, 129), dtype=np.int64)


def counted(seed, rows, share=0.3, values=None, gap=2.0):
    rng = np.random.default_rng(seed)
    second = rng.random(rows) < share
    scores, others = rng.normal(size=rows) + gap * second, rng.normal(size=1000) + gap * (rng.random(1000) < share)
    if values:
        scores, others = np.round(values * scores) / values, np.round(values * others) / values
    borders = np.quantile(others, border_levels(), method="lower")
    return oracles_scores.bins(scores, second, borders), borders, scores, second


def knots(bins, borders):
    """(places, values) of maximal runs of bins with one isotonic value, at the mean place of their rows."""
    gap = max(borders[8] - borders[0], borders[-1] - borders[-9])
    middles = [(a + b) / 2 for a, b in pairwise(borders)]
    place = np.array([borders[0] - gap, *middles, borders[-1] + gap])
    met = np.flatnonzero(bins.sum(axis=0))
    rows = bins.sum(axis=0)[met]
    fitted = oracles_scores.isotonic(bins[1, met].tolist(), rows.tolist())
    found = []
    for value in sorted(set(fitted)):
        inside = [i for i, one in enumerate(fitted) if one == value]
        x = float((place[met[inside]] * rows[inside]).sum() / rows[inside].sum())
        n = int(rows.sum())
        found.append((x, min(max(float(value), 1 / (n + 2)), 1 - 1 / (n + 2))))
    return found


@pytest.mark.parametrize("cut", [0.0, 0.9, -2.0, 5.0])
@pytest.mark.parametrize("values", [None, 4])
@pytest.mark.parametrize("rows", [1, 3, 40, 300])
def test_the_curve_goes_through_the_isotonic_regressions_blocks(rows, values, cut):
    bins, borders, _, _ = counted(rows, rows, values=values)
    wanted = [(x, p) for x, p in knots(bins, borders) if (x < cut and p < 0.5) or (x > cut and p > 0.5)]
    wanted = sorted([*wanted, (cut, 0.5)])
    found = calibrate(bins, borders, cut)
    assert pytest.approx(np.array(wanted), rel=1e-12, abs=1e-12) == np.array([found.place, found.value]).T
    x = np.linspace(wanted[0][0], wanted[-1][0], 101)
    between = np.interp(x, *zip(*wanted, strict=True))
    assert found.probability(x)[:, 1] == pytest.approx(between, abs=1e-9)


@pytest.mark.parametrize("cut", [0.0, math.nextafter(0.25, -1), -3.0, 1e300])
@pytest.mark.parametrize("rows", [0, 1, 5, 2000])
def test_of_two_classes_the_prediction_is_the_most_probable(rows, cut):
    bins, borders, scores, _ = counted(7, rows, values=8) if rows else (NOTHING, np.zeros(128), np.zeros(1), None)
    near = [cut, math.nextafter(cut, math.inf), math.nextafter(cut, -math.inf), 0.0, -0.0, 1e308, -1e308, 5e-324]
    x = np.sort(np.concatenate([scores, near, borders, np.linspace(-9, 9, 2001)]))
    calibration = calibrate(bins, borders, cut)
    told = calibration.probability(x)
    assert np.isfinite(told).all()
    assert told.min() >= 0.0
    assert told.max() <= 1.0
    assert told.sum(axis=1) == pytest.approx(1.0, abs=1e-15)
    assert (np.diff(told[:, 1]) >= 0.0).all()
    assert (np.argmax(told, axis=1) == (x > cut)).all()
    assert (calibration.probability(np.array([cut])) == 0.5).all()
    inner = np.linspace(-9, 9, 2001)
    if abs(cut) < 9:
        assert (np.diff(calibration.probability(inner)[:, 1]) > 0.0).all()
    assert calibration.fallback == (rows == 0)


def test_without_rows_the_score_is_squashed():
    x = np.array([-3.0, 0.0, 1.0])
    told = calibrate(NOTHING, np.zeros(128)).probability(x)[:, 1]
    assert told.tolist() == [0.5 * (1 + z / (1 + abs(z))) for z in x]


def test_it_is_near_the_truth_with_many_rows():
    bins, borders, _, _ = counted(3, 20_000)
    x = np.linspace(-1.0, 3.0, 41)
    odds = 0.3 / 0.7 * np.exp(2.0 * x - 2.0)
    cut = 1.0 - math.log(0.3 / 0.7) / 2  # where the true odds are even, so that nothing is left out
    told = calibrate(bins, borders, cut).probability(x)[:, 1]
    assert np.abs(told - odds / (1 + odds)).max() < 0.06


def test_negated_scores_with_the_classes_exchanged_have_the_same_probabilities():
    bins, borders, scores, _ = counted(4, 3000)
    here = calibrate(bins, borders, 0.75).probability(scores)
    there = calibrate(*flip(bins, borders), -0.75).probability(-scores)
    assert there[:, ::-1] == pytest.approx(here, abs=1e-9)


def test_a_threshold_elsewhere_does_not_bend_probabilities():
    """Forced through ½ at a threshold where the classes are not equally probable, the curve leaves its own band."""
    bins, borders, scores, _ = counted(5, 20_000)
    cut = float(np.quantile(scores, 0.95))  # above what is more probable of the second class
    free, bent = calibrate(bins, borders, None), calibrate(bins, borders, cut)
    inside = [
        (found.mean >= found.lower) & (found.mean <= found.upper) | (found.rows == 0)
        for found in (curve.reliability(bins, borders, 0.05) for curve in (free, bent))
    ]
    assert inside[0].all()
    assert not inside[1].all()
    told = free.probability(np.sort(scores))[:, 1]
    assert (np.diff(told) >= 0.0).all()
    assert Calibration.from_dict(free.as_dict()) == free


def test_with_no_row_and_no_cut_it_is_the_score_squashed():
    told = calibrate(NOTHING, np.zeros(128), None).probability(np.array([-3.0, 0.0, 1.0]))[:, 1]
    assert told.tolist() == [0.125, 0.5, 0.75]


# --- several classes --------------------------------------------------------------------------------------------------


def margins(seed, rows, classes):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(rows, classes))
    truth = np.array([rng.choice(classes, p=np.exp(2 * s) / np.exp(2 * s).sum()) for s in scores], dtype=int)
    ordered = np.sort(scores, axis=1)
    lead, right = ordered[:, -1] - ordered[:, -2], np.argmax(scores, axis=1) == truth
    borders = np.quantile(lead if rows else np.zeros(1), border_levels(), method="lower")
    return oracles_scores.bins(lead, right, borders), borders, scores


@pytest.mark.parametrize("classes", [3, 10])
@pytest.mark.parametrize("rows", [0, 1, 30, 3000])
def test_of_several_classes_the_prediction_is_the_most_probable(rows, classes):
    bins, borders, scores = margins(5, rows, classes)
    calibration = calibrate(bins, borders, classes=classes)
    rng = np.random.default_rng(1)
    tied = rng.integers(0, 2, (200, classes)).astype(float)
    close = np.tile([[0.0, *[-50.0] * (classes - 2), 1e-9]], (3, 1))
    for given in (scores, tied, close, 1e6 * tied, 1e306 * tied, np.zeros((2, classes))):
        told = calibration.probability(given)
        assert np.isfinite(told).all()
        assert told.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
        assert (told >= 0.0).all()
        assert (told <= 1.0).all()
        assert (np.argmax(told, axis=1) == np.argmax(given, axis=1)).all()


def test_the_lead_decides_and_the_rest_goes_by_exp_of_the_score():
    bins, borders, scores = margins(6, 5000, 4)
    told = calibrate(bins, borders, classes=4).probability(scores)
    best = np.argmax(scores, axis=1)
    ordered = np.sort(scores, axis=1)
    by_lead = told[np.arange(len(told)), best][np.argsort(ordered[:, -1] - ordered[:, -2])]
    assert (np.diff(by_lead) >= 0.0).all()
    sure = np.flatnonzero(told.max(axis=1) > 0.6)
    for i in sure[:50]:
        rest = [c for c in range(4) if c != best[i]]
        shares = np.exp(scores[i, rest])
        assert told[i, rest] == pytest.approx((1 - told[i].max()) * shares / shares.sum(), rel=1e-9)


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="scores of 3 classes"):
        calibrate(NOTHING, np.zeros(128), classes=3).probability(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="scores of 2 classes"):
        calibrate(NOTHING, np.zeros(128)).probability(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="cut"):
        calibrate(NOTHING, np.zeros(128), cut=math.nan)


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_calibration_is_stored_in_plain_values():
    bins, borders, scores, _ = counted(8, 500)
    found = calibrate(bins, borders, 0.5)
    again = Calibration.from_dict(json.loads(json.dumps(found.as_dict())))
    assert again == found
    assert (again.probability(scores) == found.probability(scores)).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("classes", bad) for bad in (1, 2.0, True, 1 << 40, None)),
        *(("cut", bad) for bad in (math.nan, math.inf, 0, 0.25, "0")),
        *(("scale", bad) for bad in (0.0, -1.0, math.inf, math.nan, None)),
        *(("rows", bad) for bad in (-1, 1.0, True)),
        *(("place", bad) for bad in ([], None, [0.0], [1.0, 0.5, 2.0], [0.0, math.nan, 1.0], [0.0, "1", 2.0], 3)),
        *(("value", bad) for bad in ([], [0.1, 0.5, 1.0], [0.0, 0.5, 0.9], [0.5, 0.1, 0.9], [0.1, 0.4, 0.9])),
        ("more", 1),
    ],
)
def test_a_forged_calibration_is_refused(field, value):
    sound = {"classes": 2, "cut": 0.5, "place": [0.0, 0.5, 2.0], "value": [0.1, 0.5, 0.9], "scale": 1.0, "rows": 9}
    assert Calibration.from_dict(sound).rows == 9
    with pytest.raises(ModelError, match="field"):
        Calibration.from_dict({**sound, field: value})


@pytest.mark.parametrize("plain", [None, [], {}, "x"])
def test_what_is_no_calibration_is_refused(plain):
    with pytest.raises(ModelError, match="calibration"):
        Calibration.from_dict(plain)


# --- the band ---------------------------------------------------------------------------------------------------------


def test_the_band_is_the_definition_on_raw_scores():
    bins, borders, scores, second = counted(9, 800)
    calibration = calibrate(bins, borders)
    told = calibration.reliability(bins, borders, 0.1)
    inner = [b for b, level in zip(borders, oracles_scores.levels(), strict=True) if is_group_border(level)]
    assert len(inner) == 15
    for i, (low, high) in enumerate(zip([-np.inf, *inner], [*inner, np.inf], strict=True)):
        inside = (scores >= low) & (scores < high)
        n, k = int(inside.sum()), int(second[inside].sum())
        assert told.rows[i] == n
        assert told.upper[i] == pytest.approx(oracles_scores.bound(k, n, 0.1 / 32), rel=1e-6)
        assert told.lower[i] == pytest.approx(1 - oracles_scores.bound(n - k, n, 0.1 / 32), rel=1e-6, abs=1e-9)
        if n:
            assert told.share[i] == k / n
            mean = calibration.probability(scores[inside])[:, 1].mean()
            assert told.mean[i] == pytest.approx(mean, abs=0.1)  # places of bins stand for scores
        else:
            assert np.isnan(told.share[i])


def is_group_border(level):
    """1/256, …, 1/4 from either end, and the one next below the middle."""
    return min(level, 1 - level) in [0.5**j for j in range(2, 9)] or level == 0.5 * 2 ** (-1 / 8)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.05, 0.3])
@pytest.mark.parametrize("share", [0.01, 0.03, 0.5])
def test_the_band_fails_in_at_most_delta_of_the_runs(share, delta):
    assert worlds_scores.band_failures(share, delta, RUNS) <= binom.ppf(0.999, RUNS, delta)


@pytest.mark.slow
def test_a_band_that_pays_neither_for_groups_nor_for_candidates_fails_more_often():
    failed = worlds_scores.band_failures(0.5, 0.3, RUNS // 4, price=32.0)  # each bound at δ itself
    assert failed > binom.ppf(0.999, RUNS // 4, 0.3)
