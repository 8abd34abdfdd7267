"""The risk of a watched candidate, from its own rows and from its elder's: one e-process, one δ, at all times at once.

With r and ρ the risks of the elder i and the candidate J, and bets fixed before the rows they are made on (`plans`),

    W(r, ρ) = Π_{s_i<t≤s_J} (1 − c·X_i)/(1 − c·r) · Π_{t>s_J} (1 + α·X_i − γ·X_J)/(1 + α·r − γ·ρ)

is a martingale at the true (r, ρ): what the elder did beside the candidate, measured against what it did before, tells
which part of the candidate's mistakes was bad luck (a control variate). ln W is jointly convex, and so is the logarithm
F of a mixture of such W and of direct bets Π (1 − c·X_J)/(1 − c·ρ). So g(ρ) = min_r F is convex, rises, and reaches
ln(1/level) at the true ρ, ever, with probability at most `level`: the bound is the root of g(ρ) = ln(1/level).

A tangent of F lies below it. So from any (r₀, ρ₀), however well r₀ minimises, F ≥ ln(1/level) holds for all r at every
ρ ≥ ρ₀ − (F − max(F_r·r₀, −F_r·(1 − r₀)) − ln(1/level))/F_ρ, and that is Newton's next point: from ρ₀ = 1 on every one
of them is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.certificates.losses import Losses, of_class, of_costs, zero_one
from onepass.certificates.plans import plan
from onepass.costs import Costs
from onepass.rows import Floats, Ints
from onepass.trace.watched import Watched


class Wealth(NamedTuple):
    """The mixture as kernels see it: its logarithm at (r, ρ) is ln Σ exp(base − Σ n·ln(1 − bet·risk))."""

    direct: Floats  # (2, bets): c, base: ln weight + Σ ln(1 − c·X), lowered for rounding
    pair: Floats  # (4, bets): c, α, γ, base
    rows: Floats  # (3): rows of the candidate, of the elder alone, of both
    needed: float  # ln(1/level)


def candidate_risk(watched: Watched, slot: int, level: float) -> float:
    """How often this candidate errs, at most: with probability 1 − level at all times at once.

    For the candidate that was chosen among several by what they did, the level is δ times its price.

    Parameters
    ----------
    watched : Watched
        Counts of watched models.
    slot : int
        Which of them.
    level : float
        The bound fails with at most this probability; below 1.

    Returns
    -------
    float
        The bound on the 0-1 risk; 1 where nothing better is known.

    Raises
    ------
    ValueError
        If the level is not below 1.

    Examples
    --------
    >>> from onepass.trace.watched import nothing_watched
    >>> watched = nothing_watched(1, 2)
    >>> watched.frozen[0], watched.rows[0], watched.mistakes[0] = 8, (500, 500), (5, 5)
    >>> 0.01 < candidate_risk(watched, 0, 0.05) < 0.03
    True
    """
    return risk(zero_one(watched, slot), level)


def class_risk(watched: Watched, slot: int, label_code: int, level: float) -> float:
    """P(ŷ ≠ c | y = c), at most, for the class with this number; both risks are conditional, and so are the bets.

    Parameters
    ----------
    watched : Watched
        Counts of watched models.
    slot : int
        Which of them.
    label_code : int
        The number of the class, as the pass codes it.
    level : float
        The bound fails with at most this probability; below 1.

    Returns
    -------
    float
        The bound on the miss rate; 1 where nothing better is known.

    Raises
    ------
    ValueError
        If the level is not below 1.

    Examples
    --------
    >>> from onepass.trace.watched import nothing_watched
    >>> watched = nothing_watched(1, 2)
    >>> watched.frozen[0], watched.rows[0], watched.mistakes[0] = 8, (900, 100), (0, 50)
    >>> class_risk(watched, 0, 0, 0.05) < 0.01, class_risk(watched, 0, 1, 0.05) > 0.5
    (True, True)
    """
    return risk(of_class(watched, slot, label_code), level)


def cost_risk(watched: Watched, slot: int, costs: Costs, level: float) -> float:
    """The mean of cost[y][ŷ], at most.

    Parameters
    ----------
    watched : Watched
        Counts of watched models.
    slot : int
        Which of them.
    costs : Costs
        By the numbers of the labels.
    level : float
        The bound fails with at most this probability; below 1.

    Returns
    -------
    float
        The bound on the mean cost; the largest cost where nothing better is known.

    Raises
    ------
    ValueError
        If the level is not below 1.

    Examples
    --------
    >>> from onepass.costs import cost_of, costs_of
    >>> from onepass.trace.watched import nothing_watched
    >>> costs = costs_of(cost_of({("no", "yes"): 1, ("yes", "no"): 5}), ("no", "yes"))
    >>> watched = nothing_watched(1, 2)
    >>> watched.frozen[0], watched.rows[0], watched.mistakes[0] = 8, (500, 500), (5, 5)
    >>> 0.03 < cost_risk(watched, 0, costs, 0.05) < 0.15
    True
    """
    return costs.largest * risk(of_costs(watched, slot, costs), level)


def best_candidate(watched: Watched, delta: float, prices: Sequence[float] | Floats) -> tuple[int, float]:
    """(slot, bound) of the candidate with the smallest bound at δ·price; of equals, the oldest.

    As long as no bound is below 1 it is the newest. All are tested at the best bound so far, and only those are solved
    that are below it.

    Parameters
    ----------
    watched : Watched
        Counts of watched models.
    delta : float
        The bound fails with at most this probability, whichever is chosen.
    prices : sequence of float
        One for each slot; empty slots are passed over.

    Returns
    -------
    tuple of int and float
        The slot, and the bound on its 0-1 risk.

    Raises
    ------
    ValueError
        If no candidate has been frozen yet.

    Examples
    --------
    >>> from onepass.trace.watched import nothing_watched
    >>> watched = nothing_watched(2, 2)
    >>> watched.frozen[:], watched.rows[:], watched.mistakes[:] = (8, 16), 500, [(50, 50), (5, 5)]
    >>> slot, bound = best_candidate(watched, 0.05, [0.5, 0.5])
    >>> slot, bound == candidate_risk(watched, 1, 0.025)
    (1, True)
    """
    slots = np.flatnonzero(watched.frozen > 0)
    if not slots.size:
        raise ValueError("watched: no candidate has been frozen yet")
    slots = slots[np.argsort(watched.frozen[slots])]
    levels = {int(slot): delta * float(prices[int(slot)]) for slot in slots}
    left = {slot: wealth(zero_one(watched, slot), level) for slot, level in levels.items() if level > 0.0}
    best, bound = int(slots[-1]), 1.0
    while left:
        above = {slot: excess(mixture, bound) for slot, mixture in left.items()}
        left = {slot: left[slot] for slot in left if above[slot] >= 0.0}
        if not left:
            break
        slot = max(left, key=above.__getitem__)
        found = _root(left.pop(slot))
        older = watched.frozen[slot] < watched.frozen[best]
        if found < bound or (found == bound < 1.0 and older):
            best, bound = slot, found
    return best, bound


def risk(losses: Losses, level: float) -> float:
    """The bound on the mean loss; 1 where nothing better is known."""
    if not level < 1.0:
        raise ValueError(f"level: a number below 1 expected, got {level!r}")
    return _root(wealth(losses, level)) if level > 0.0 else 1.0


# --- the mixture ------------------------------------------------------------------------------------------------------


def wealth(losses: Losses, level: float) -> Wealth:
    """The mixture of all bets, with what the rows have made of each."""
    bets = plan(losses, level)
    n = np.array([losses.rows.sum(), losses.elder_rows.sum(), losses.pair.sum()], dtype=np.float64)
    direct, pair = bets.direct.copy(), bets.pair.copy()
    enter_rows(direct, losses.values, losses.rows)
    enter_pairs(pair, losses.values, losses.elder_rows, losses.pair)
    return Wealth(direct, pair, n, math.log(1.0 / level))


def excess(mixture: Wealth, rho: float) -> float:
    """By how much the wealth at ρ is certain to exceed what is needed: ≥ 0 where the bound is at most ρ."""
    value, _, _ = tangent(mixture.direct, mixture.pair, mixture.rows, rho, 0.5)
    return float(value - mixture.needed)


def _root(mixture: Wealth) -> float:
    return float(root(mixture.direct, mixture.pair, mixture.rows, mixture.needed))


# --- kernels ----------------------------------------------------------------------------------------------------------


@jit
def lowered(log: float, rows: float) -> float:
    """A logarithm less what rounding may have added to it, here and wherever it is used."""
    return log - 1e-9 * (1.0 + abs(log)) - 2e-15 * rows


@jit
def enter_rows(direct: Floats, values: Floats, rows: Ints) -> None:
    """Add Σ ln(1 − c·X) over the candidate's rows to each direct bet's logarithm."""
    for k in range(direct.shape[1]):
        log, count = 0.0, 0
        for g in range(rows.shape[0]):
            for mine in range(rows.shape[1]):
                count += rows[g, mine]
                if rows[g, mine] > 0:
                    log += rows[g, mine] * math.log1p(-direct[0, k] * values[g, mine])
        direct[1, k] += lowered(log, count)


@jit
def enter_pairs(pair: Floats, values: Floats, elder_rows: Ints, both: Ints) -> None:
    """Add Σ ln(1 − c·X_i) over the elder's rows and Σ ln(1 + α·X_i − γ·X_J) over those of both to each pair bet's."""
    for k in range(pair.shape[1]):
        c, alpha, gamma = pair[0, k], pair[1, k], pair[2, k]
        log, count = 0.0, 0
        for g in range(both.shape[0]):
            for its in range(both.shape[1]):
                count += elder_rows[g, its]
                if elder_rows[g, its] > 0:
                    log += elder_rows[g, its] * math.log1p(-c * values[g, its])
                for mine in range(both.shape[2]):
                    count += both[g, its, mine]
                    if both[g, its, mine] > 0:
                        log += both[g, its, mine] * math.log1p(alpha * values[g, its] - gamma * values[g, mine])
        pair[3, k] += lowered(log, count)


@jit
def direct_log(direct: Floats, n: float, rho: float) -> tuple[float, float]:
    """The logarithm of the direct bets' wealth at ρ, and its slope."""
    c, base = direct
    top = -math.inf
    for k in range(c.size):
        top = max(top, base[k] - n * math.log1p(-c[k] * rho))
    total = slope = 0.0
    for k in range(c.size):
        wealth = math.exp(base[k] - n * math.log1p(-c[k] * rho) - top)
        total += wealth
        slope += wealth * n * c[k] / (1.0 - c[k] * rho)
    return top + math.log(total), slope / total


@jit
def pair_log(pair: Floats, rows: Floats, rho: float, r: float) -> tuple[float, float, float, float]:
    """The logarithm of the pair bets' wealth at (r, ρ), its slopes in ρ and r, and its curvature in r."""
    c, alpha, gamma, base = pair
    n1, n2 = rows[1], rows[2]
    top = -math.inf
    total = by_rho = by_r = by_rr = 0.0
    for k in range(c.size):
        elders, both = 1.0 - c[k] * r, 1.0 + alpha[k] * r - gamma[k] * rho
        value = base[k] - n1 * math.log(elders) - n2 * math.log(both)
        if value > top:  # all so far in units of the largest
            shrink = math.exp(top - value)
            total, by_rho, by_r, by_rr = total * shrink, by_rho * shrink, by_r * shrink, by_rr * shrink
            top = value
        wealth = math.exp(value - top)
        slope = n1 * c[k] / elders - n2 * alpha[k] / both
        total += wealth
        by_rho += wealth * n2 * gamma[k] / both
        by_r += wealth * slope
        by_rr += wealth * (n1 * (c[k] / elders) ** 2 + n2 * (alpha[k] / both) ** 2 + slope * slope)
    by_r /= total
    return top + math.log(total), by_rho / total, by_r, by_rr / total - by_r * by_r


@jit
def tangent(direct: Floats, pair: Floats, rows: Floats, rho: float, r: float) -> tuple[float, float, float]:
    """(a value that min_r F at ρ is not below, the slope of F in ρ there, the r that was found), sought from r on.

    The slope in r rises with r: Newton's steps where they stay between the r known to be too small and too large, else
    the middle of these.
    """
    log_direct, slope = direct_log(direct, rows[0], rho)
    if pair.shape[1] == 0:
        return log_direct, slope, r
    low, high = -1.0, 2.0  # so that the ends are tried themselves
    for _ in range(100):
        log_pair, by_rho, by_r, by_rr = pair_log(pair, rows, rho, r)
        if by_r > 0.0:
            high = r
        else:
            low = r
        below = max(by_r * r, -by_r * (1.0 - r))  # by how much the tangent falls towards the end of [0, 1]
        if below <= 1e-10 or high - low < 1e-16:
            break
        r = min(max(r - by_r / by_rr, 0.0), 1.0)
        if not low < r < high:
            r = 0.5 * (max(low, 0.0) + min(high, 1.0))
    top = max(log_direct, log_pair)
    mine, its = math.exp(log_direct - top), math.exp(log_pair - top)
    share = its / (mine + its)
    value = top + math.log(mine + its) - share * below
    return value, (1.0 - share) * slope + share * by_rho, r


@jit
def root(direct: Floats, pair: Floats, rows: Floats, needed: float) -> float:
    """The smallest ρ that is certain to be excluded, with all above it; 1 where none is, or where nothing fits."""
    rho, r = 1.0, 0.5
    for _ in range(200):
        value, slope, r = tangent(direct, pair, rows, rho, r)
        if not value > needed:
            break
        step = (value - needed) / slope
        rho -= step
        if rho <= 0.0:  # no two risks go with such rows: they are no draws from one distribution
            return 1.0
        if step <= 1e-13 * rho:
            break
    return rho
