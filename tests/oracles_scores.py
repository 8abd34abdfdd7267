"""Thresholds and isotonic curves by their definitions: raw scores, one rule at a time, NumPy and nothing of ours."""

from fractions import Fraction

import numpy as np

import oracles

LEVELS = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
HALVES = [0.5**j for j in range(9, 1, -1)]  # 1/512, …, 1/4: from either end, the levels of the sixteen declared borders


def levels():
    """½·2^(−i/8), i = 1, …, 64, from both ends."""
    tail = [0.5 * 2.0 ** (-i / 8) for i in range(1, 65)]
    return sorted(tail + [1.0 - level for level in tail])


def bins(scores, second, borders):
    """[class][k]: rows with exactly k borders at or below the score."""
    found = np.zeros((2, len(borders) + 1), dtype=np.int64)
    for score, label in zip(scores, second, strict=True):
        found[int(label), sum(border <= score for border in borders)] += 1
    return found


def bound(wrong, rows, delta):
    return oracles.betting(np.repeat([1.0, 0.0], [wrong, rows - wrong]), delta)


def rule(scores, second, border, positive):
    """(alarms, negatives, misses, positives, called) of "second where score ≥ border", for either positive class."""
    called = (scores >= border) == (positive == 1)
    is_positive = second == (positive == 1)
    return (
        int((called & ~is_positive).sum()),
        int((~is_positive).sum()),
        int((~called & is_positive).sum()),
        int(is_positive.sum()),
        int(called.sum()),
    )


def cautious_first(borders, positive):
    return list(borders)[::-1] if positive == 1 else list(borders)


def safe_border(scores, second, borders, kind, limit, delta, positive):
    """(border, None), or (the safest, the bound there): one test after the other until one fails."""
    order = cautious_first(borders, positive)
    if kind == "miss":
        order = order[::-1]
    last = None
    for border in order:
        alarms, negatives, misses, positives, _ = rule(scores, second, border, positive)
        wrong, rows = (alarms, negatives) if kind == "false alarm" else (misses, positives)
        found = bound(wrong, rows, delta)
        if found > limit:
            return (order[0], found) if last is None else (last, None)
        last = border
    return last, None


def precise_border(scores, second, borders, limit, delta, positive):
    """Of sixteen borders the last, from the most cautious on, whose precision is at least the limit."""
    known = levels()
    declared = [b for b, level in zip(borders, known, strict=True) if level in HALVES or 1.0 - level in HALVES]
    assert len(declared) == 16
    least = []
    for border in cautious_first(declared, positive):
        alarms, _, _, _, called = rule(scores, second, border, positive)
        least.append((1.0 - bound(alarms, called, delta / 16), border))
    passed = [border for precision, border in least if precision >= limit]
    return (passed[-1], None) if passed else max(least)[::-1]


def level_above(wrong, rows, delta):
    found = bound(wrong, rows, delta / 16)
    return min([level for level in LEVELS if level >= found], default=1.0)


def isotonic(ones, rows):
    """max over a ≤ k of min over b ≥ k of the mean of a, …, b: exact fractions."""

    def mean(a, b):
        return Fraction(int(sum(ones[a : b + 1])), int(sum(rows[a : b + 1])))

    n = len(rows)
    return [max(min(mean(a, b) for b in range(k, n)) for a in range(k + 1)) for k in range(n)]
