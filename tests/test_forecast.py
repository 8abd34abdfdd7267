"""Risk in advance: the formulas, and whether they are true on data whose truth is known."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import oracles_forecast as oracle
from onepass.certificates import LearningPlan, expected_risk, risk_forecast, rows_needed
from onepass.passes import Pass

DELTA = 0.2


@pytest.mark.parametrize(
    ("u", "R", "m", "delta"), [(0.1, 1.0, 10_000, 0.05), (0.4, 3.0, 700, 0.2), (0.0, 0.5, 50, 0.01)]
)
def test_the_three_bounds_are_those_of_the_definition(u, R, m, delta):
    plan = LearningPlan(u, R, fit_intercept=False, delta=delta)
    L1 = oracle.learner_loss(u, R, m, delta)
    assert expected_risk(plan, m) == pytest.approx(u + R / math.sqrt(m))
    theorem = oracle.by_theorem_2(L1, R, m, math.log(2 * m**2 / delta))
    assert risk_forecast(plan, m, "dekel2008") == pytest.approx(theorem, rel=1e-9)
    assert risk_forecast(plan, m) == pytest.approx(oracle.by_betting(L1, R, m, delta / 4), abs=3e-5 * (1 + R))
    seen = plan._replace(measured=True)
    L1 = min(1 + R, u + R / math.sqrt(m))
    theorem = oracle.by_theorem_2(L1, R, m, math.log(m**2 / delta))
    assert risk_forecast(seen, m, "dekel2008") == pytest.approx(theorem, rel=1e-9)
    assert risk_forecast(seen, m) == pytest.approx(oracle.by_betting(L1, R, m, delta / 2), abs=3e-5 * (1 + R))


def test_the_figures_of_ten_thousand_rows():
    plan = LearningPlan(0.1, 1.0, fit_intercept=False)
    assert round(expected_risk(plan, 10_000), 3) == 0.110
    assert round(risk_forecast(plan, 10_000, "dekel2008"), 3) == 0.186
    assert round(risk_forecast(plan, 10_000), 3) == 0.141


@pytest.mark.parametrize("bound", ["expected", "betting", "dekel2008"])
@pytest.mark.parametrize("target", [0.15, 0.3, 5.0])
def test_the_number_of_rows_is_the_least(bound, target):
    plan = LearningPlan(0.1, 2.0)
    risk = (lambda m: expected_risk(plan, m)) if bound == "expected" else (lambda m: risk_forecast(plan, m, bound))
    rows = rows_needed(plan, target, bound)
    assert risk(rows) <= target
    assert rows == 4 or risk(rows - 1) > target
    assert rows_needed(plan, 0.1, bound) is None


def test_an_intercept_lengthens_the_rows():
    with_one, without = LearningPlan(0.1, 1.0), LearningPlan(0.1, math.sqrt(2.0), fit_intercept=False)
    assert risk_forecast(with_one, 5000) == pytest.approx(risk_forecast(without, 5000), rel=1e-12)


@pytest.mark.parametrize(
    ("plan", "m", "named"),
    [
        (LearningPlan(0.1, 0.0), 10, "radius"),
        (LearningPlan(0.1, math.inf), 10, "radius"),
        (LearningPlan(-0.1, 1.0), 10, "best_loss"),
        (LearningPlan(math.nan, 1.0), 10, "best_loss"),
        (LearningPlan(0.1, 1.0, delta=0.0), 10, "delta"),
        (LearningPlan(0.1, 1.0), 3, "horizon"),
        (LearningPlan(0.1, 1.0), 10.5, "horizon"),
    ],
)
def test_bad_arguments_are_named(plan, m, named):
    for forecast in (expected_risk, risk_forecast):
        with pytest.raises(ValueError, match=named):
            forecast(plan, m)


def test_bad_targets_and_bounds_are_named():
    with pytest.raises(ValueError, match="target"):
        rows_needed(LearningPlan(0.1, 1.0), math.nan)
    with pytest.raises(ValueError, match="bound"):
        risk_forecast(LearningPlan(0.1, 1.0), 100, "azuma")


class HingeWorld:
    """Twelve points of length at most 3, labels turned over with probability 0.05, and a good comparator."""

    R = 3.0

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.points = rng.normal(size=(12, 4))
        self.points *= self.R / np.linalg.norm(self.points, axis=1).max()
        self.label = np.where(self.points @ rng.normal(size=4) > 0, 1.0, -1.0)
        self.comparator = np.zeros(4)
        for t in range(1, 3000):  # projected subgradient descent on the risk itself
            w = self.comparator - 0.3 / math.sqrt(t) * self.slope(self.comparator)
            self.comparator = w / max(1.0, np.linalg.norm(w))
        self.best = self.risk(self.comparator)

    def slope(self, w):
        margin = self.points @ w * self.label
        push = 0.95 * (margin < 1) - 0.05 * (-margin < 1)
        return -(push * self.label) @ self.points / 12

    def risk(self, w):
        margin = self.points @ w * self.label
        return float((0.95 * np.maximum(0, 1 - margin) + 0.05 * np.maximum(0, 1 + margin)).mean())

    def draw(self, seed, rows):
        rng = np.random.default_rng(seed)
        at = rng.integers(12, size=rows)
        wrong = rng.random(rows) < 0.05
        return self.points[at], np.where(wrong, -self.label[at], self.label[at]).astype(int)

    def learned(self, seed, rows):
        X, y = self.draw(seed, rows)
        options = {"radius": self.R, "horizon": rows, "fit_intercept": False, "order_alarm": False}
        run = Pass("margin", classes=[-1, 1], conversion="cutoff", **options)
        run.feed(X, y)
        return run


def test_forecasts_are_true_on_drawn_data_and_how_loose_they_are():
    world, runs, rows = HingeWorld(1), 200, 500
    plan = LearningPlan(world.best, world.R, fit_intercept=False, delta=DELTA)
    done = [world.learned(seed, rows) for seed in range(runs)]
    average = np.array([world.risk(run.model("average").weights[1:, 0]) for run in done])
    spread = average.std(ddof=1) / math.sqrt(runs)
    assert average.mean() <= expected_risk(plan, rows) + 3 * spread
    assert average.mean() > world.best  # the comparator is as good as it is said to be
    limit = binom.ppf(0.999, runs, DELTA)
    for bound in ("betting", "dekel2008"):
        forecast = risk_forecast(plan, rows, bound)
        assert expected_risk(plan, rows) < forecast < 1 + world.R  # it says something
        risks = [world.risk(run.model("cutoff", bound=bound).weights[1:, 0]) for run in done]
        certified = [run.certificate("cutoff", bound=bound, delta=DELTA / 2).risk for run in done]
        assert np.sum(np.array(risks) > forecast) <= limit
        assert np.sum(np.array(certified) > forecast * (1 + 1e-9)) <= binom.ppf(0.999, runs, DELTA / 2)
        assert max(risks) < 0.75 * forecast  # and how loose: it is for the worst data of all


def test_a_forecast_is_false_where_no_comparator_is_as_good_as_was_said():
    world = HingeWorld(1)
    run = world.learned(0, 20_000)
    boast = LearningPlan(0.5 * world.best, world.R, fit_intercept=False, delta=DELTA)
    assert world.risk(run.model("cutoff").weights[1:, 0]) > risk_forecast(boast, 20_000)
