"""E-processes against what is claimed, and a martingale on the scores, row by row.

Against "the mean of X is at most B", for each of 16 fixed bets c:

    factor = (1 − c·(1 − X)) / (1 − c·(1 − B))

has a mean of at most 1 while the claim is true, whatever came before. Capital is put in at every row (`start_weight`),
so that all starting rows are mixed: M ← (M + w_t)·factor, with what is not put in yet counted as it is. M reaches 1/δ
with probability at most δ, at all times together. Scores are ranked among those seen in training and those watched so
far, and bet on as the drift alarm does.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.guards.drift import ENOUGH, TESTED_BINS, Jumper, jump, rank, start_weight, tie_breaker, weight_left
from onepass.looks import look_after
from onepass.rows import Floats, Ints

BETS = np.geomspace(0.005, 0.95, 16)
MOST_HELD = 2.0 * ENOUGH / (1.0 - BETS[-1])  # below ENOUGH all is bet, which wins 1/(1 − c) at most; twice for rounding
MOST_POINTS = 4096  # on the way; 64 looks an octave make some 2,600 in 2^40 rows


class ClaimLimits(NamedTuple):
    """What is claimed: one line per claim, the risk first."""

    fair: Floats  # (claims, 16): 1 / (1 − c·(1 − B))
    alarm: Floats  # (claims): M at which an alarm rings
    tables: Floats  # of two classes (claims, 2, 2): X by label and prediction; of several that of costs, if any, alone
    of_class: Ints  # of several (classes): the claim on the misses of each; −1: there is none


class Capital(NamedTuple):
    """What the bets have come to: one line per claim."""

    held: Floats  # (claims, 16)
    counted: Ints  # rows that count
    total: Floats  # ΣX
    growth: Floats  # how much the capital has grown since `grows_from`
    grows_from: Ints  # the row after which it has not been lower
    peak: Floats  # the largest M
    rang: Ints  # the row of the alarm; 0: none
    since: Ints  # the row from which its evidence grew


class Watch(NamedTuple):
    """All that rows change."""

    capital: Capital
    ranks: Ints  # (1, 17): as those of the drift alarm
    borders: Floats  # (15): of the bins in which scores are ranked, rising
    jumper: Jumper
    score: Floats  # the largest M of the scores, and M at which their alarm rings (∞: they are not tested)
    rows: Ints  # rows, those with labels, scores in the bag, points on the way, alarm of the scores, and since when
    points: Floats  # (4096, 4): row, log10 M of the risk, the largest of the rates, and of the scores


@jit
def bet(limits: ClaimLimits, capital: Capital, j: int, x: float, t: int) -> None:
    """Row t counts for claim j, with this X."""
    held, fair = capital.held, limits.fair
    n = capital.counted[j] + 1
    capital.counted[j] = n
    capital.total[j] += x
    there = 0.0
    for b in range(BETS.size):
        there += held[j, b]
    if there >= ENOUGH:
        return
    more, now = start_weight(n), 0.0
    for b in range(BETS.size):
        held[j, b] = (held[j, b] + more / BETS.size) * ((1.0 - BETS[b] * (1.0 - x)) * fair[j, b])
        now += held[j, b]
    growth = capital.growth[j] * (now / (there + more))
    if growth <= 1.0:
        growth = 1.0
        capital.grows_from[j] = t
    capital.growth[j] = min(growth, ENOUGH)
    wealth = now + weight_left(n)
    if wealth > capital.peak[j]:
        capital.peak[j] = wealth
        if capital.rang[j] == 0 and wealth >= limits.alarm[j]:
            capital.rang[j], capital.since[j] = t, capital.grows_from[j] + 1


@jit
def bin_of(borders: Floats, score: float) -> np.uint64:
    """How many of 15 borders are at or below the score."""
    at, step = np.uint64(0), np.uint64(TESTED_BINS // 2)
    while step > np.uint64(0):
        at += step * np.uint64(borders[at + step - np.uint64(1)] <= score)
        step >>= np.uint64(1)
    return at


@jit
def test_score(watch: Watch, score: float, seed: np.uint64, t: int) -> None:
    """Rank the score of row t, and bet on its rank."""
    rows, kind = watch.rows, np.uint64(0)
    rows[2] += 1
    p = rank(watch.ranks, kind, bin_of(watch.borders, score), tie_breaker(seed, t)) / np.float64(rows[2])
    wealth = jump(watch.jumper, kind, p - 0.5, start_weight(t), t) + weight_left(t)
    if wealth > watch.score[0]:
        watch.score[0] = wealth
        if rows[4] == 0 and wealth >= watch.score[1]:
            rows[4], rows[5] = t, watch.jumper.grows_from[0] + 1


@jit
def log_wealth(capital: Capital, j: int) -> float:
    """log10 of claim j's M."""
    left = weight_left(capital.counted[j]) if capital.counted[j] > 0 else 1.0
    total = left
    for b in range(BETS.size):
        total += capital.held[j, b]
    return math.log10(total)


@jit
def note_point(watch: Watch, t: int) -> None:
    """Remember how things stand."""
    at = watch.rows[3]
    if at < MOST_POINTS:
        best = -np.inf
        for j in range(1, watch.capital.counted.size):
            best = max(best, log_wealth(watch.capital, j))
        tested = watch.score[1] < np.inf
        there = watch.jumper.moments[0, 0] + weight_left(t)
        watch.points[at, 0], watch.points[at, 1] = float(t), log_wealth(watch.capital, 0)
        watch.points[at, 2], watch.points[at, 3] = best, math.log10(there) if tested else 0.0
        watch.rows[3] = at + 1


@jit
def watch_rows(limits: ClaimLimits, watch: Watch, codes: Ints, chosen: Ints, scores: Floats, seed: np.uint64) -> None:
    """Rows with their labels (their places among the classes; −1: none), predictions and scores."""
    classes, tests_scores, soon = limits.of_class.size, watch.score[1] < np.inf, look_after(watch.rows[0])
    for i in range(codes.size):
        t = watch.rows[0] + 1
        watch.rows[0] = t
        if tests_scores:
            test_score(watch, scores[i], seed, t)
        if codes[i] >= 0:
            watch.rows[1] += 1
            if classes <= 2:
                for j in range(watch.capital.counted.size):
                    x = limits.tables[j, codes[i], chosen[i]]
                    if not math.isnan(x):
                        bet(limits, watch.capital, j, x, t)
            else:
                wrong = 1.0 if codes[i] != chosen[i] else 0.0
                priced = limits.tables.shape[1] == classes
                bet(limits, watch.capital, 0, limits.tables[0, codes[i], chosen[i]] if priced else wrong, t)
                if limits.of_class[codes[i]] >= 0:
                    bet(limits, watch.capital, limits.of_class[codes[i]], wrong, t)
        if t == soon:
            soon = look_after(t)
            note_point(watch, t)
