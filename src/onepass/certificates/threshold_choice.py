"""How a threshold is chosen: each of 128 borders between the bins of later rows' scores is a rule, tested by betting.

The borders were fixed when the model was frozen. Each is a rule: of two classes the second is predicted where the score
is at or above it. All follows from counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onepass.certificates.betting import excess
from onepass.certificates.score_bins import check_bins, count_bound
from onepass.certificates.target import FALSE_ALARM, MISS, PRECISION, Confidence, Target
from onepass.certificates.threshold import Threshold
from onepass.labels import Label
from onepass.rows import Array, Floats, Ints
from onepass.trace.tally import BETS
from onepass.trace.watched import BORDERS

DECLARED = (0, 8, 16, 24, 32, 40, 48, 56, 71, 79, 87, 95, 103, 111, 119, 127)  # borders at 1/4, 1/8, … from the ends
LEVELS = np.array([0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
USUAL = Confidence()


def choose_threshold(
    bins: Ints,
    borders: Floats,
    target: Target,
    confidence: Confidence = USUAL,
    *,
    positive: int = 1,
    labels: tuple[Label, ...] = (0, 1),
) -> Threshold:
    """The border that keeps the target and has the least of the other rate; at all times at once.

    A rate's mistakes rise along the borders, from the safest on. So they are tested in that order, each by betting at
    level δ·price, and the first that fails ends it: a wrong border is certified only if the first of the wrong ones is,
    which happens with probability δ·price at any time. For the same reason it is not the bound at the chosen border
    that is claimed but the limit, and of the other rate the first of 16 levels that lies above its bound at δ·price/16.
    Where even the safest border fails, the bound there is the nearest limit (one border, fixed: no further price).
    Precision does not rise: 16 borders stand for all, at δ·price/16 each; of those that pass, the one with the fewest
    misses.

    Parameters
    ----------
    bins : array of int
        (2, 129): `bins[c, k]` counts later rows of class c whose score has exactly k borders at or below it.
    borders : array of float
        (128): of the bins, rising.
    target : Target
        What is to be kept.
    confidence : Confidence, default Confidence()
        How much may go wrong.
    positive : int, default 1
        The number of the positive class, 0 or 1.
    labels : tuple of label, default (0, 1)
        The two classes.

    Returns
    -------
    Threshold
        The border, and what is guaranteed there.

    Raises
    ------
    ValueError
        If an argument cannot be so.

    Examples
    --------
    >>> bins = np.zeros((2, 129), dtype=np.int64)
    >>> bins[0, :65], bins[1, 65:] = 100, 100
    >>> borders = np.linspace(-1.0, 1.0, 128)
    >>> choose_threshold(bins, borders, Target("miss", 0.05), labels=("ham", "spam")).reached
    True
    >>> choose_threshold(bins // 100, borders, Target("miss", 0.05)).reached  # too few rows
    False
    """
    _check(bins, borders, confidence, positive, labels)
    rules = _rules(bins, positive)
    at, nearest = (_best_precision if target.kind == PRECISION else _last_safe)(rules, target, confidence)
    alarms, misses, index = int(rules.alarms[at]), int(rules.misses[at]), int(rules.border[at])
    called = alarms + rules.positives - misses
    other = (FALSE_ALARM, alarms, rules.negatives) if target.kind == MISS else (MISS, misses, rules.positives)
    return Threshold(
        target=target,
        negative=labels[1 - positive],
        positive=labels[positive],
        border=float(borders[index]),
        index=index,
        reached=nearest is None,
        nearest=nearest,
        delta=confidence.delta,
        other=other[0],
        other_bound=_level_above(*other[1:], confidence),
        other_delta=confidence.other_delta,
        false_alarm=alarms / rules.negatives if rules.negatives else None,
        miss=misses / rules.positives if rules.positives else None,
        precision=(rules.positives - misses) / called if called else None,
        rows=rules.negatives,
        positive_rows=rules.positives,
    )


def risk_at(bins: Ints, index: int, level: float) -> float:
    """A bound on the 0-1 risk of the rule at a border that was chosen by the data: each of the 128 has its share."""
    wrong = int(bins[0, index + 1 :].sum() + bins[1, : index + 1].sum())
    return count_bound(wrong, int(bins.sum()), level / BORDERS)


class _Rules(NamedTuple):
    """What each border's rule did, from the most cautious (hardly any row is called positive) to the most eager."""

    border: Ints  # its index
    alarms: Ints  # rising
    misses: Ints  # falling
    negatives: int
    positives: int


def _rules(bins: Ints, positive: int) -> _Rules:
    """Rule b says "second" in bins b + 1, …, 128; equal borders leave the bins between them empty and are one rule."""
    rows = bins.sum(axis=1)
    order = np.arange(BORDERS)[::-1] if positive == 1 else np.arange(BORDERS)
    first = np.cumsum(bins, axis=1)[:, order]
    called = rows[:, None] - first if positive == 1 else first
    negatives, positives = int(rows[1 - positive]), int(rows[positive])
    return _Rules(order, called[1 - positive], positives - called[positive], negatives, positives)


def _last_safe(rules: _Rules, target: Target, confidence: Confidence) -> tuple[int, float | None]:
    """(place of the last rule before the first that fails, None), or (of the safest, the bound there)."""
    alarms = target.kind == FALSE_ALARM
    wrong, rows = (rules.alarms, rules.negatives) if alarms else (rules.misses[::-1], rules.positives)
    level = confidence.delta * confidence.price
    passed = _within(target.limit, wrong, rows, level)
    safe = BORDERS if passed.all() else int(np.argmin(passed))
    nearest = None if safe else count_bound(int(wrong[0]), rows, level)
    at = max(safe, 1) - 1
    return at if alarms else BORDERS - 1 - at, nearest


def _best_precision(rules: _Rules, target: Target, confidence: Confidence) -> tuple[int, float | None]:
    """(place of the most eager declared rule that passes, None), or (of the one with the highest bound, that bound)."""
    level = confidence.delta * confidence.price / len(DECLARED)
    places = np.array(DECLARED)
    wrong = rules.alarms[places]
    called = wrong + rules.positives - rules.misses[places]
    passed = _within(1.0 - target.limit, wrong, called, level)
    if passed.any():
        return int(places[passed][-1]), None
    least = [1.0 - count_bound(*counts, level) for counts in zip(wrong, called, strict=True)]
    best = int(np.argmax(least))
    return int(places[best]), least[best]


def _within(limit: float, wrong: Ints, rows: Any, level: float) -> Array:
    """Whether the bound on each rate, from so many mistakes, is at most the limit."""
    return np.asarray(excess(limit, rows, wrong[:, None].astype(np.float64) * np.log1p(-BETS), level) >= 0.0)


def _level_above(wrong: int, rows: int, confidence: Confidence) -> float:
    """The first declared level that the rate is certified to stay within, or 1."""
    bound = count_bound(wrong, rows, confidence.other_delta * confidence.price / len(LEVELS))
    above = LEVELS[bound <= LEVELS]
    return float(above[0]) if above.size else 1.0


def _check(bins: Ints, borders: Floats, confidence: Confidence, positive: int, labels: tuple[Label, ...]) -> None:
    if len(labels) != 2:
        raise ValueError(f"a threshold cuts the scores of two classes; here are {len(labels)}")
    if positive not in (0, 1):
        raise ValueError(f"positive: 0 or 1 expected, got {positive!r}")
    check_bins(bins, borders)
    for name, value in confidence._asdict().items():
        if not 0.0 < value < 1.0 and not (name == "price" and value == 1.0):
            raise ValueError(f"{name}: a number between 0 and 1 expected, got {value!r}")
