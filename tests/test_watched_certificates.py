"""Certificates of watched models: prices, the pair certificate and the rates, against their definitions."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import oracles_watched as oracle
from onepass.certificates import (
    Rate,
    Rates,
    best_candidate,
    candidate_price,
    candidate_risk,
    class_risk,
    cost_risk,
    rates,
)
from onepass.certificates.losses import judged, of_class, of_costs, positives, zero_one
from onepass.certificates.pair import excess, pair_log, risk, tangent, wealth
from onepass.certificates.plans import excluded, plan
from onepass.costs import MOST_LEVELS, costs_in, costs_of
from onepass.errors import DataError
from onepass.trace.grid import point
from onepass.trace.watched import Watched, nothing_watched

GRID = [point(i) for i in range(8, 200)]
COST = costs_in(np.array([[0.0, 1.0], [4.0, 0.5]]))
SEVERAL = costs_in(np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 4.0, 1.0]]))  # three levels


def drawn(seed, frozen=64, rows=40, classes=2, slots=1):
    """Watched candidates of two ages and any quality, the last rows without their elder."""
    rng = np.random.default_rng(seed)
    watched = nothing_watched(slots, classes, SEVERAL.values.size)
    share = rng.dirichlet(np.ones(classes))
    cells = np.concatenate([p * rng.dirichlet([8, 0.5, 0.5, 1]) for p in share])  # [class, elder wrong, wrong]
    elders = cells.reshape(classes, 2, 2).sum(axis=2).reshape(-1)
    for slot in range(slots):
        watched.frozen[slot], watched.elder[slot] = frozen << slot, frozen << slot >> 1
        watched.plan[slot] = rng.multinomial(frozen // 2, cells).reshape(classes, 2, 2)
        watched.elder_plan[slot] = rng.multinomial(frozen // 4, cells).reshape(classes, 2, 2)
        met = rng.multinomial(frozen // 2, elders).reshape(classes, 2)
        watched.elder_rows[slot], watched.elder_mistakes[slot] = met.sum(axis=1), met[:, 1]
        pair = rng.multinomial(rows, cells).reshape(classes, 2, 2)
        later = rng.multinomial(rows // 3, cells).reshape(classes, 2, 2).sum(axis=1)
        watched.pair[slot] = pair
        met = pair.sum(axis=1) + later
        watched.rows[slot], watched.mistakes[slot] = met.sum(axis=1), met[:, 1]
        cells_of_levels = rng.dirichlet([8, 0.5, 0.5, 0.5, 2, 0.5, 0.5, 0.5, 1]).reshape(3, 3)  # [elder's, its own]
        draw_costs(watched, slot, cells_of_levels, (frozen // 2, frozen // 4, rows), rng)
    return watched


def draw_costs(watched, slot, cells, numbers, rng):
    """What rows cost, by level; the last third of the candidate's without its elder."""
    before, planned, rows = numbers
    watched.elder_costs[slot] = rng.multinomial(before, cells.sum(axis=1))
    watched.cost_plan[slot] = rng.multinomial(before, cells.reshape(-1)).reshape(3, 3)
    watched.elder_cost_plan[slot] = rng.multinomial(planned, cells.reshape(-1)).reshape(3, 3)
    watched.cost_pair[slot] = rng.multinomial(rows, cells.reshape(-1)).reshape(3, 3)
    watched.costs[slot] = watched.cost_pair[slot].sum(axis=0) + rng.multinomial(rows // 3, cells.sum(axis=0))


TWO = {
    "zero_one": lambda watched: zero_one(watched, 0),
    "class": lambda watched: of_class(watched, 0, 1),
    "cost": lambda watched: of_costs(watched, 0, COST),
    "precision": lambda watched: judged(watched, 0, 1),
    "F1": lambda watched: positives(watched, 0, 1),
}
LOSSES = {**TWO, "cost of several": lambda watched: of_costs(watched, 0, SEVERAL)}


def losses_of(kind, seed, **how):
    return LOSSES[kind](drawn(seed, classes=2 if kind in TWO else 3, **how))


def sequences(losses):
    """The losses of each row: (candidate's, elder's before, (elder's, candidate's) of both)."""
    mine, elders, both = [], [], []
    for g, values in enumerate(losses.values.tolist()):
        for j, x in enumerate(values):
            mine += [x] * int(losses.rows[g, j])
            elders += [x] * int(losses.elder_rows[g, j])
            for i, its in enumerate(values):
                both += [(its, x)] * int(losses.pair[g, i, j])
    return mine, elders, both


def wagers(losses, level):
    bets = plan(losses, level)
    direct = [(math.exp(w), c) for c, w in bets.direct.T]
    return direct, [(math.exp(w), c, alpha, gamma) for c, alpha, gamma, w in bets.pair.T]


# --- prices ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("expected", [None, *range(1, 70), 1000, 4096, 123_457, 10**9, 10**15, 10**18])
def test_prices_are_as_defined_and_sum_to_at_most_one(expected):
    prices = oracle.prices(GRID, expected)
    ours = {s: candidate_price(s, expected) for s in GRID}
    assert ours == pytest.approx(prices, rel=1e-14)
    assert math.fsum(ours.values()) <= 1.0 + 1e-12
    assert candidate_price(point(200), expected) == 0.0


def test_a_number_of_rows_off_by_two_costs_nothing_against_unknown_rows():
    for expected in (1000, 5000, 16_384, 10**6):
        for s in (s for s in GRID if expected / 4 < s <= expected):
            assert candidate_price(s, expected) > candidate_price(s)


@pytest.mark.parametrize(("frozen", "expected"), [(9, None), (7, None), (0, None), (-8, None), (16, 0), (16, -3)])
def test_prices_of_what_is_no_candidate_are_refused(frozen, expected):
    with pytest.raises(ValueError, match="expected"):
        candidate_price(frozen, expected)


# --- the bound -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_is_the_definitions(kind, seed):
    rows = (1, 5, 40, 400)[seed % 4]
    losses = losses_of(kind, seed, frozen=(16, 64, 512)[seed % 3], rows=rows)
    level = (0.3, 0.01)[seed % 2]
    exact = oracle.risk(*sequences(losses), *wagers(losses, level), level)
    ours = risk(losses, level)
    assert exact - 1e-11 <= ours <= exact * (1 + 1e-6)


@pytest.mark.parametrize(
    "pair",
    [[[30, 0], [0, 0]], [[0, 0], [0, 30]], [[0, 30], [0, 0]], [[0, 0], [30, 0]], [[0, 15], [15, 0]]],
    ids=["never wrong", "both always", "younger always", "elder always", "in turn"],
)
@pytest.mark.parametrize("elder_mistakes", [0, 16, 32])
def test_the_bound_at_the_edges(pair, elder_mistakes):
    watched = drawn(3, classes=1)
    watched.pair[0, 0] = pair
    watched.rows[0], watched.mistakes[0] = 30, watched.pair[0, 0, :, 1].sum()
    watched.elder_mistakes[0] = elder_mistakes
    losses = zero_one(watched, 0)
    exact = oracle.risk(*sequences(losses), *wagers(losses, 0.05), 0.05)
    ours = candidate_risk(watched, 0, 0.05)
    assert exact - 1e-11 <= ours <= exact * (1 + 1e-6)


def test_no_rows_say_nothing():
    watched = drawn(0)
    for table in (watched.rows, watched.mistakes, watched.pair):
        table[:] = 0
    assert candidate_risk(watched, 0, 0.3) == class_risk(watched, 0, 1, 0.3) == 1.0
    assert cost_risk(watched, 0, COST, 0.3) == 4.0


def test_risks_that_contradict_each_other_certify_nothing():
    """No (r, ρ) goes with an elder that never errs and then always does: that is no draw from one distribution."""
    watched = drawn(1, frozen=4096, classes=1)
    watched.elder_mistakes[0] = 0
    watched.pair[0, 0] = [[0, 0], [2000, 0]]
    watched.rows[0], watched.mistakes[0] = 2000, 0
    losses = zero_one(watched, 0)
    assert excess(wealth(losses, 0.05), 0.0) > 0.0
    assert candidate_risk(watched, 0, 0.05) == 1.0


def test_large_counts_keep_their_digits():
    """A billion rows whose shares agree: the bound lies above the mean, and close to it."""
    watched = drawn(5, frozen=1 << 20, classes=1)
    watched.frozen[0], watched.elder[0] = 1 << 30, 1 << 29
    watched.elder_rows[0], watched.elder_mistakes[0] = 1 << 29, (1 << 29) * 55 // 975
    watched.plan[0, 0] = [[900_000, 20_000], [25_000, 30_000]]
    watched.pair[0, 0] = [[900_000_000, 20_000_000], [25_000_000, 30_000_000]]
    watched.rows[0], watched.mistakes[0] = watched.pair[0].sum(), 50_000_000
    mean = 50_000_000 / int(watched.rows[0, 0])
    assert mean < candidate_risk(watched, 0, 0.01) < mean * 1.002


@pytest.mark.parametrize("kind", LOSSES)
def test_wealth_is_convex_and_rises(kind):
    losses = losses_of(kind, 11, rows=80)
    mixture = wealth(losses, 0.05)
    g = np.array([tangent(mixture.direct, mixture.pair, mixture.rows, rho, 0.3)[0] for rho in np.linspace(0, 1, 301)])
    assert (np.diff(g) > 0).all()
    assert (np.diff(g, 2) > -1e-9 * (1 + np.abs(g[1:-1]))).all()


def test_the_logarithm_of_pair_wealth_is_jointly_convex():
    mixture = wealth(zero_one(drawn(2, rows=300), 0), 0.05)
    rng = np.random.default_rng(0)
    for a, b in rng.random((300, 2, 2)):
        ends = [pair_log(mixture.pair, mixture.rows, *p)[0] for p in (a, b)]
        middle = pair_log(mixture.pair, mixture.rows, *((a + b) / 2))[0]
        assert middle <= sum(ends) / 2 + 1e-9 * (1 + abs(middle))


def test_slopes_are_those_of_the_wealth():
    mixture = wealth(zero_one(drawn(7, rows=100), 0), 0.05)
    h = 1e-5

    def at(rho, r):
        return pair_log(mixture.pair, mixture.rows, rho, r)

    _, by_rho, by_r, by_rr = at(0.3, 0.4)
    assert by_rho == pytest.approx((at(0.3 + h, 0.4)[0] - at(0.3 - h, 0.4)[0]) / (2 * h), rel=1e-6)
    assert by_r == pytest.approx((at(0.3, 0.4 + h)[0] - at(0.3, 0.4 - h)[0]) / (2 * h), rel=1e-6, abs=1e-5)
    assert by_rr == pytest.approx((at(0.3, 0.4 + h)[2] - at(0.3, 0.4 - h)[2]) / (2 * h), rel=1e-6)


# --- it is a martingale: the mean over everything that can happen is 1 ------------------------------------------------


def one_of_each(kind, cells):
    """(r, ρ) of a loss, from the probabilities [class, elder wrong, wrong]."""
    mine, its = cells.sum(axis=1), cells.sum(axis=2)
    if kind == "zero_one":
        return its[:, 1].sum(), mine[:, 1].sum()
    if kind == "class":
        return its[1, 1] / its[1].sum(), mine[1, 1] / mine[1].sum()
    if kind == "cost":
        cost = np.array([[0.0, 1.0], [0.5, 4.0]]) / 4.0  # right, wrong
        return (its * cost).sum(), (mine * cost).sum()
    if kind == "precision":
        return math.nan, mine[0, 1] / (mine[0, 1] + mine[1, 0])
    return math.nan, mine[:, 1].sum() / (mine.sum() - mine[0, 0])


@pytest.mark.parametrize("kind", TWO)
def test_the_mean_of_the_wealth_is_one(kind):
    """Every outcome of two rows of the elder, two of both and one without it; later bets know the earlier rows."""
    cells = np.array([[[0.3, 0.1], [0.1, 0.05]], [[0.2, 0.04], [0.16, 0.05]]])
    r, rho = one_of_each(kind, cells)
    template = drawn(4, frozen=16)
    mean = 0.0
    for p, alone in oracle.draws(cells.sum(axis=2).reshape(-1), 2):
        elder = np.reshape(alone, (2, 2))
        for q, together in oracle.draws(cells.reshape(-1), 2):
            pair = np.reshape(together, (2, 2, 2))
            for s, later in oracle.draws(cells.sum(axis=1).reshape(-1), 1):
                met = pair.sum(axis=1) + np.reshape(later, (2, 2))
                watched = template._replace(
                    elder_rows=elder.sum(axis=1)[None],
                    elder_mistakes=elder[None, :, 1],
                    pair=pair[None],
                    rows=met.sum(axis=1)[None],
                    mistakes=met[None, :, 1],
                )
                mean += p * q * s * math.exp(log_wealth(LOSSES[kind](watched), r, rho))
    assert mean == pytest.approx(1.0, abs=1e-7)


def test_the_mean_of_the_wealth_of_costs_is_one():
    """The same of three levels: two rows of the elder, two of both, one without it."""
    cells = np.array([[0.4, 0.1, 0.05], [0.1, 0.1, 0.05], [0.05, 0.05, 0.1]])
    values = SEVERAL.values / 4.0
    r, rho = cells.sum(axis=1) @ values, cells.sum(axis=0) @ values
    template, mean = drawn(4, frozen=16, classes=3), 0.0
    for p, alone in oracle.draws(cells.sum(axis=1), 2):
        for q, together in oracle.draws(cells.reshape(-1), 2):
            pair = np.reshape(together, (3, 3))
            for s, later in oracle.draws(cells.sum(axis=0), 1):
                watched = template._replace(
                    elder_costs=np.array([alone]), cost_pair=pair[None], costs=(pair.sum(axis=0) + later)[None]
                )
                mean += p * q * s * math.exp(log_wealth(of_costs(watched, 0, SEVERAL), r, rho))
    assert mean == pytest.approx(1.0, abs=1e-7)


def test_many_costs_are_rounded_up_to_a_few_levels():
    table = np.random.default_rng(0).permutation(81.0 ** np.linspace(0, 1, 81)).reshape(9, 9) * (1 - np.eye(9))
    many = costs_of(tuple((a, b, float(table[a, b])) for a in range(9) for b in range(9)), range(9))
    counted = many.values[many.level]
    assert many.values.size == MOST_LEVELS
    assert many.largest == table.max()
    assert (counted >= table).all()
    assert (counted[np.eye(9, dtype=bool)] == 0.0).all()
    assert all(counted[a, b] == min(v for v in many.values if v >= table[a, b]) for a in range(9) for b in range(9))
    few = costs_in(table[:3, :3])
    assert (few.values[few.level] == table[:3, :3]).all()


def log_wealth(losses, r, rho):
    mixture = wealth(losses, 0.1)
    n, n1, n2 = mixture.rows
    c, base = mixture.direct
    logs = base - n * np.log1p(-c * rho)
    if mixture.pair.size:
        c, alpha, gamma, base = mixture.pair
        logs = np.concatenate([logs, base - n1 * np.log1p(-c * r) - n2 * np.log1p(alpha * r - gamma * rho)])
    return float(np.log(np.exp(logs).sum()))


# --- plans -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_closed_form_of_one_bet_is_its_bound(seed):
    rng = np.random.default_rng(seed)
    c, alpha, gamma = rng.uniform(0.05, 0.9, 3)
    losses = zero_one(drawn(seed, rows=200), 0)
    mine, elders, both = sequences(losses)
    S = sum(math.log1p(-c * x) for x in elders) + sum(math.log1p(alpha * x - gamma * y) for x, y in both)
    exact = oracle.risk(mine, elders, both, [(1e-300, 0.5)], [(1.0, c, alpha, gamma)], 0.05)
    assert min(1.0, excluded(S, len(elders), len(both), c, alpha, gamma, math.log(20))) == pytest.approx(
        exact, rel=1e-8
    )


@pytest.mark.parametrize("seed", range(4))
def test_planned_bets_are_nearly_the_best(seed):
    """Against 10,000 bets drawn at random, on the very table that they were planned from."""
    losses = zero_one(drawn(seed, frozen=1024), 0)
    table = (losses.plan + 0.5)[0] / (losses.plan + 0.5).sum()
    L, n1 = math.log(1 / 0.01), int(losses.elder_rows.sum())
    bets = plan(losses, 0.01)
    rng = np.random.default_rng(seed)
    for j, horizon in enumerate((1 / 16, 1 / 8, 1 / 4, 1 / 2, 1)):
        n2, c = 1024 * horizon, bets.pair[0, j]
        S = losses.elder_rows[0, 1] * math.log1p(-c)

        def reached(alpha, gamma, S=S, n2=n2, c=c):
            logs = table[1, 0] * math.log1p(alpha) + table[0, 1] * math.log1p(-gamma)
            logs += table[1, 1] * math.log1p(alpha - gamma)
            return excluded(S + n2 * logs, n1, n2, c, alpha, gamma, L)

        best = min(reached(*bet) for bet in np.exp(rng.uniform(np.log(1e-3), np.log(0.98), (10_000, 2))))
        assert reached(*bets.pair[1:3, j]) <= best * 1.002


def test_bets_know_nothing_that_came_after_the_freezing():
    watched = drawn(0)
    before = plan(zero_one(watched, 0), 0.05)
    for table in (watched.rows, watched.mistakes, watched.pair):
        table += 7
    after = plan(zero_one(watched, 0), 0.05)
    assert all((a == b).all() for a, b in zip(before, after, strict=True))
    watched.plan[0, 0, 0, 1] += 1  # and all that was known: c of the elder's rows alone stays as it was
    other = plan(zero_one(watched, 0), 0.05)
    assert (other.pair[0] == before.pair[0]).all()
    assert (other.pair[1:3] != before.pair[1:3]).any()


def test_weights_sum_to_one():
    for watched in (drawn(0), drawn(0)._replace(elder=np.zeros(1, dtype=np.int64))):
        bets = plan(zero_one(watched, 0), 0.05)
        assert np.exp(bets.direct[-1]).sum() + np.exp(bets.pair[-1]).sum() == pytest.approx(1.0, abs=1e-12)
        assert (bets.pair[:3] > 0).all()
        assert (bets.pair[2] <= 0.98).all()
        assert (bets.pair[0] < 1).all()


# --- the best of several ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(10))
def test_the_best_candidate_is_the_one_with_the_smallest_bound(seed):
    watched = drawn(seed, rows=(3, 60, 600)[seed % 3], slots=4)
    prices = np.random.default_rng(seed).uniform(0.01, 0.5, 4)
    if seed % 2:
        watched.frozen[2] = 0  # an empty slot
    taken = [slot for slot in range(4) if watched.frozen[slot]]
    bounds = {slot: candidate_risk(watched, slot, 0.05 * prices[slot]) for slot in taken}
    slot, bound = best_candidate(watched, 0.05, prices)
    assert bound == min(bounds.values())
    assert slot == (min(bounds, key=bounds.get) if bound < 1 else taken[-1])


def test_of_equals_the_older_is_best_and_before_any_row_the_newest():
    one = drawn(1, rows=300)
    watched = Watched(*(np.repeat(table, 3, axis=0) for table in one))
    watched.frozen[:] = [16, 8, 20]
    watched.elder[:], watched.plan[:], watched.elder_plan[:] = 0, 0, 0
    same = candidate_risk(watched, 1, 0.01)
    assert same < 1.0
    # without tables, plans differ by the round alone: let them be the same
    watched.frozen[:] = 8
    assert best_candidate(watched, 0.1, [0.1, 0.1, 0.1]) == (0, same)
    watched.frozen[:] = [16, 8, 20]
    watched.rows[:], watched.mistakes[:] = 0, 0
    assert best_candidate(watched, 0.1, [0.1, 0.1, 0.1]) == (2, 1.0)
    assert best_candidate(watched, 0.1, [0.0, 0.0, 0.0]) == (2, 1.0)


def test_without_candidates_there_is_no_best():
    with pytest.raises(ValueError, match="no candidate"):
        best_candidate(nothing_watched(3, 2), 0.05, [0.1] * 3)
    with pytest.raises(ValueError, match="slot"):
        candidate_risk(nothing_watched(3, 2), 1, 0.05)


# --- rates -----------------------------------------------------------------------------------------------------------


def test_rates_of_two_classes():
    watched = drawn(6, frozen=512, rows=600)
    found = rates(watched, 0, 0.05, 0.5, ["no", "yes"], "yes")
    level = 0.05 * 0.5 / 5
    (TN, FP), (TP, FN) = [(n - k, k) for n, k in zip(watched.rows[0], watched.mistakes[0], strict=True)]
    by = {(rate.name, rate.label): rate for rate in found.rates}
    assert found.parts == 5
    assert found.positive == "yes"
    assert [rate.at_most for rate in found.rates] == [True, True, False, False, False, True]
    assert by["miss", "yes"].bound == class_risk(watched, 0, 1, level)
    assert by["false alarm", "yes"].bound == class_risk(watched, 0, 0, level)
    assert by["miss", "yes"].observed == FN / (TP + FN)
    assert by["false alarm", "yes"].observed == FP / (TN + FP)
    assert by["precision", "yes"].observed == TP / (TP + FP)
    assert by["precision", "no"].observed == TN / (TN + FN)
    assert by["F1", "yes"].observed == pytest.approx(2 * TP / (2 * TP + FP + FN))
    balanced = by["balanced error", None]
    assert balanced.bound == (by["miss", "yes"].bound + by["false alarm", "yes"].bound) / 2
    assert balanced.free
    for rate in found.rates:
        assert rate.informative
        assert (rate.bound > rate.observed) == rate.at_most


def test_the_positive_class_may_be_the_first():
    watched = drawn(6, frozen=512, rows=600)
    one, other = (rates(watched, 0, 0.05, 0.5, ["no", "yes"], label).rates for label in ("no", "yes"))
    assert one[0].bound == other[1].bound
    assert one[1].bound == other[0].bound
    assert {rate.label: rate.bound for rate in one[2:4]} == {rate.label: rate.bound for rate in other[2:4]}
    assert rates(watched, 0, 0.05, 0.5, ["yes", "no"]).positive == "yes"  # the second in sorted order


def test_rates_of_several_classes():
    watched = drawn(8, frozen=512, rows=900, classes=3)
    found = rates(watched, 0, 0.3, 0.2, ["a", "b", "c"])
    assert [(rate.name, rate.label) for rate in found.rates[:3]] == [("miss", label) for label in "abc"]
    assert [rate.bound for rate in found.rates[:3]] == [class_risk(watched, 0, c, 0.3 * 0.2 / 3) for c in range(3)]
    assert found.rates[3].bound == pytest.approx(np.mean([rate.bound for rate in found.rates[:3]]))


def test_a_class_that_never_came_has_no_number():
    watched = drawn(6, frozen=512, rows=600)
    watched.rows[0, 1] = watched.mistakes[0, 1] = watched.mistakes[0, 0] = 0
    watched.pair[0, 1] = 0
    watched.pair[0, 0] = [[600, 0], [0, 0]]
    found = rates(watched, 0, 0.05, 0.5, ["no", "yes"])
    by = {(rate.name, rate.label): rate for rate in found.rates}
    for key, trivial in {("miss", "yes"): 1.0, ("precision", "yes"): 0.0, ("F1", "yes"): 0.0}.items():
        assert by[key].bound == trivial
        assert not by[key].informative
        assert math.isnan(by[key].observed)
        assert "not yet informative" in str(by[key])
    assert by["balanced error", None].bound == 0.5 + by["false alarm", "yes"].bound / 2
    assert Rates.from_dict(found.as_dict()) == found
    assert found.as_dict()["rates"][0]["observed"] is None


def test_rates_say_what_holds_together():
    found = rates(drawn(6, frozen=512, rows=600), 0, 0.05, 0.5, ["no", "yes"])
    assert found == Rates.from_dict(found.as_dict())
    assert isinstance(found.rates[0], Rate)
    said = str(found)
    for words in ("95 %", "all 6 hold together", "row 512", "among 5 of them", "balanced error follows", "its own"):
        assert words in said
    assert "miss rate of yes at most" in said
    assert "precision of no at least" in said
    many = str(rates(drawn(9, rows=900, classes=12), 0, 0.05, 0.5, list(range(12))))
    assert many.count("miss rate") == 8
    assert "of 12, the 8 with the largest bounds" in many


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"positive": "maybe"}, "'maybe' is not one of the classes no, yes"),
        ({"classes": ["a", "b", "c"]}, "classes: 2 labels"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"slot": 3}, "slot"),
    ],
)
def test_what_has_no_rates_is_refused(change, words):
    asked = {"slot": 0, "delta": 0.05, "price": 0.5, "classes": ["no", "yes"], **change}
    with pytest.raises(ValueError, match=words):
        rates(drawn(0), **asked)


def test_several_classes_have_no_positive_one():
    watched = drawn(8, classes=3)
    with pytest.raises(DataError, match="positive: 'a' cannot be"):
        rates(watched, 0, 0.05, 0.5, ["a", "b", "c"], "a")
    with pytest.raises(ValueError, match="label_code"):
        class_risk(watched, 0, 3, 0.05)


# --- coverage: the worst stopping and the worst choice among candidates whose risks are known -------------------------

RUNS, DELTA = 200, 0.3
LIMIT = binom.ppf(0.999, RUNS, DELTA) / RUNS


@pytest.fixture(scope="module")
def coverage():
    """The simulation of benchmarks/coverage.py; of 2,000 runs there, 200 here."""
    place = Path(__file__).resolve().parent.parent / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("benchmarks_coverage", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_costs_of_several_are_false_in_at_most_delta_of_the_runs(coverage):
    for name, confusions in coverage.CONFUSIONS.items():
        assert coverage.false_costs(confusions, DELTA, RUNS, 48) <= LIMIT, name
    assert coverage.false_costs(coverage.CONFUSIONS["noise"], DELTA, 40, 128, copies=8) > 0.5


WORLDS = ["risk 0", "risk 1/2", "1 % positives", "elder = younger", "labels are noise", "elder much worse"]


def test_every_world_is_tried(coverage):
    assert list(coverage.WORLDS) == WORLDS


@pytest.mark.parametrize("world", WORLDS)
def test_risks_are_false_in_at_most_delta_of_the_runs(coverage, world):
    shares = coverage.false_shares(coverage.WORLDS[world], DELTA, RUNS, 64, kinds=("risk",))
    assert shares["risk"] <= LIMIT


@pytest.mark.parametrize("world", ["1 % positives", "labels are noise"])
def test_rates_and_costs_are_false_in_at_most_delta_of_the_runs(coverage, world):
    shares = coverage.false_shares(coverage.WORLDS[world], DELTA, RUNS, 48, kinds=coverage.KINDS[1:])
    assert shares["cost"] <= LIMIT
    assert shares["together"] <= LIMIT


def test_certificates_are_false_where_rows_are_counted_again(coverage):
    """What they assume, broken on purpose: each row is fed four times."""
    world = coverage.WORLDS["risk 1/2"]
    shares = coverage.false_shares(world, DELTA, 60, 64, copies=4)
    assert shares["risk"] > 0.5
    assert shares["cost"] > 0.5
    assert shares["together"] > 0.5


def test_the_simulation_counts_what_happened(coverage):
    """Its counts, made of sums, are those of the rows one by one."""
    world = coverage.WORLDS["labels are noise"]
    y, wrong = coverage.draw(world, 64, 1, np.random.default_rng(0))
    frozen = coverage.grid(64)
    assert frozen == [8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56]
    *_, (watched, slots) = coverage.watch(y, wrong)
    assert slots == [*range(4, 12)]
    for j in slots:
        s, e = frozen[j], frozen[j - 4]
        end = frozen[j + 4] if j + 4 < len(frozen) else 64
        for c in range(2):
            assert watched.rows[j, c] == sum(y[s:] == c)
            assert watched.mistakes[j, c] == sum((y[s:] == c) & (wrong[s:, j] == 1))
            assert watched.elder_rows[j, c] == sum(y[e:s] == c)
            assert watched.elder_mistakes[j, c] == sum((y[e:s] == c) & (wrong[e:s, j - 4] == 1))
            both = [(wrong[t, j - 4], wrong[t, j]) for t in range(s, end) if y[t] == c]
            assert watched.pair[j, c].tolist() == [[both.count((a, b)) for b in range(2)] for a in range(2)]
