"""Probabilities from the bins in which a watched model's scores were counted.

A curve that rises with the score goes through a few *knots*: the blocks of the isotonic regression of what came on the
bin that it came in, each at the mean place of its rows. Between them it is a straight line, beyond them it approaches 0
and 1. The curve has no guarantee; `reliability` has a band that has one. Nobody should call it calibrated without.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from onepass.certificates.score_bins import check_bins, count_bound, need_field
from onepass.rows import Floats, Ints
from onepass.trace.watched import BORDERS

GROUPS = (8, 16, 24, 32, 40, 48, 56, 63, 71, 79, 87, 95, 103, 111, 119)  # borders between the 16 groups of a band
MARGIN = 1e-6  # by which the class that is predicted stays above 1/classes, and a little above the rest
MOST_CLASSES = 1 << 24
LARGEST_PLACE = 2.0**1000  # of a knot: differences of two do not overflow


@dataclass(frozen=True)
class Calibration:
    """A rising curve from scores to probabilities.

    Two classes: the score is the second class's, and the curve is exactly ½ at `cut`, above which it is predicted, so
    that predictions stay what they are: the most probable class. Where a model predicts by the threshold of a declared
    target, there is no such place: at that threshold the classes are not equally probable, and the curve is what came.
    Several: the score is the margin, by which the best class leads; the curve says how probable it is that it is
    right.

    Attributes
    ----------
    classes : int
        How many.
    cut : float or None
        The score above which the second of two classes is more probable, and predicted. None: it is not predicted by
        that.
    place : tuple[float, ...]
        Of the knots, rising.
    value : tuple[float, ...]
        There, rising.
    scale : float
        Of scores: how far beyond the last knot the rest to 0 or 1 is halved.
    rows : int
        From which it was made.

    Examples
    --------
    >>> calibration = calibrate(np.zeros((2, 129), dtype=np.int64), np.zeros(128))
    >>> calibration.probability(np.array([-1.0, 0.0, 3.0])).tolist()
    [[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]]
    """

    classes: int
    cut: float | None
    place: tuple[float, ...]
    value: tuple[float, ...]
    scale: float
    rows: int

    @property
    def fallback(self) -> bool:
        """Whether no row told anything, so that it is no more than the score, squashed: `½(1 + z/(1 + |z|))`."""
        return self.rows == 0

    def probability(self, scores: Floats) -> Floats:
        """(rows, classes): they add up to 1, and unless `cut` is None the predicted class has the largest.

        `scores` are as a model's `decision` gives them: one a row for two classes, else one a row and class.
        """
        scores = np.asarray(scores, dtype=np.float64)
        if scores.ndim != (1 if self.classes == 2 else 2) or (scores.ndim == 2 and scores.shape[1] != self.classes):
            raise ValueError(f"scores of {self.classes} classes expected, got an array of shape {scores.shape}")
        if self.classes > 2:
            return _shared_out(scores, self._curve)
        p = self._curve(scores)
        if self.cut is not None:
            p = np.where(scores > self.cut, np.maximum(p, np.nextafter(0.5, 1.0)), np.minimum(p, 0.5))
        return np.column_stack([1.0 - p, p])

    def _curve(self, x: Floats) -> Floats:
        """Every step of it rounds a rising function: so what comes out rises too, to the last bit."""
        place, value = np.array(self.place), np.array(self.value)
        i = np.clip(np.searchsorted(place, x, side="right") - 1, 0, max(len(place) - 2, 0))
        j = np.minimum(i + 1, len(place) - 1)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            between = value[i] + (value[j] - value[i]) * ((x - place[i]) / (place[j] - place[i]))
            left = value[0] / (1.0 + (place[0] - x) / self.scale)
            right = 1.0 - (1.0 - value[-1]) / (1.0 + (x - place[-1]) / self.scale)
        between = np.clip(np.where(np.isnan(between), value[i], between), value[i], value[j])
        right = np.maximum(right, value[-1])
        return np.asarray(np.where(x <= place[0], left, np.where(x >= place[-1], right, between)))

    def reliability(self, bins: Ints, borders: Floats, level: float) -> Reliability:
        """What came, in 16 groups of bins fixed beforehand, and how probable this curve calls it.

        `bins` and `borders` as `calibrate` takes them (turned by `flip` where it was told so). With probability
        1 − `level` all 16 true shares lie within their bands, at all times at once: two bounds by betting a group, each
        at level/32.
        """
        check_bins(bins, borders)
        parts = np.split(np.arange(BORDERS + 1), np.array(GROUPS) + 1)
        rows = np.array([int(bins[:, part].sum()) for part in parts])
        came = np.array([int(bins[1, part].sum()) for part in parts])
        told = self._curve(_places(borders)) * bins.sum(axis=0)
        each = level / (2 * len(parts))
        with np.errstate(invalid="ignore"):
            share, mean = came / rows, np.array([told[part].sum() for part in parts]) / rows
        lower = np.array([1.0 - count_bound(n - k, n, each) for k, n in zip(came, rows, strict=True)])
        upper = np.array([count_bound(k, n, each) for k, n in zip(came, rows, strict=True)])
        return Reliability(rows, share, mean, lower, upper)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for model files."""
        return {**asdict(self), "place": list(self.place), "value": list(self.value)}

    @classmethod
    def from_dict(cls, plain: Any) -> Calibration:
        """What `as_dict` made; a ModelError names the field that cannot be so."""
        return _checked(plain)


class Reliability(NamedTuple):
    """One line per group of scores, from the lowest on.

    Attributes
    ----------
    rows : array of int
        Whose scores lie in the group.
    share : array of float
        Of them that were of the second class, or right; NaN where there are none.
    mean : array of float
        Of the curve over the places of their bins; NaN where there are none.
    lower, upper : array of float
        Between these lies the true share.

    Examples
    --------
    >>> calibration = calibrate(np.zeros((2, 129), dtype=np.int64), np.zeros(128))
    >>> int(calibration.reliability(np.zeros((2, 129), dtype=np.int64), np.zeros(128), 0.05).rows.sum())
    0
    """

    rows: Ints
    share: Floats  # of them that were of the second class, or right; NaN where there are none
    mean: Floats  # of the curve over the places of their bins; NaN where there are none
    lower: Floats
    upper: Floats


# --- how it is made ---------------------------------------------------------------------------------------------------


def calibrate(bins: Ints, borders: Floats, cut: float | None = 0.0, classes: int = 2) -> Calibration:
    """The curve of a candidate, from rows that came after it was frozen; with none, the score squashed.

    Knots on the wrong side of ½ at the cut are left out, so that the curve meets ½ there and is what the rows say
    elsewhere. No value is closer to 0 or 1 than 1/(rows + 2).

    Parameters
    ----------
    bins : array of int
        (2, 129): `bins[1]` counts rows of the second class (of several: rows judged rightly), `bins[0]` the others, by
        how many borders lie at or below the score (of several: the margin).
    borders : array of float
        (128): of the bins, rising.
    cut : float or None, default 0.0
        The score above which the second of two classes is predicted, as the more probable one. None: it is predicted by
        the threshold of a declared target, and the curve need not meet ½ anywhere.
    classes : int, default 2
        How many.

    Returns
    -------
    Calibration
        The curve.

    Raises
    ------
    ValueError
        If these cannot be bins of one candidate, or the cut is not finite.

    Examples
    --------
    >>> bins = np.zeros((2, 129), dtype=np.int64)
    >>> bins[1, 100], bins[0, 100] = 90, 10  # scores of which 90 of 100 were of the second class
    >>> calibration = calibrate(bins, np.linspace(-1.0, 1.0, 128))
    >>> calibration.rows, calibration.value
    (100, (0.5, 0.9))
    """
    check_bins(bins, borders)
    if cut is not None and not math.isfinite(cut):
        raise ValueError(f"cut: a finite number expected, got {cut!r}")
    rows = int(bins.sum())
    place, value = _blocks(bins, borders, rows) if rows else (np.empty(0), np.empty(0))
    if classes == 2 and cut is not None:
        kept = np.where(place < cut, value < 0.5, value > 0.5) & (place != cut)
        at = int(np.searchsorted(place[kept], cut))
        place, value = np.insert(place[kept], at, cut), np.insert(value[kept], at, 0.5)
    elif not rows:
        place, value = np.zeros(1), np.array([1.0 / classes])
    spread = float(borders[-1] - borders[0])
    scale = spread if 0.0 < spread < math.inf else 1.0
    return Calibration(
        classes, None if cut is None else float(cut), tuple(place.tolist()), tuple(value.tolist()), scale, rows
    )


def _blocks(bins: Ints, borders: Floats, rows: int) -> tuple[Floats, Floats]:
    """(places, values) of the isotonic regression's blocks: both rise strictly."""
    met = np.flatnonzero(bins.sum(axis=0))
    weights = bins[:, met].sum(axis=0).astype(np.float64)
    starts = _pooled(bins[1, met], bins[:, met].sum(axis=0))
    total = np.add.reduceat(weights, starts)
    lengths = np.diff([*starts, met.size])
    place = np.add.reduceat(_places(borders)[met] * (weights / np.repeat(total, lengths)), starts)
    value = np.clip(np.add.reduceat(bins[1, met], starts) / total, 1.0 / (rows + 2), 1.0 - 1.0 / (rows + 2))
    rises = np.concatenate([[True], (np.diff(place) > 0.0) & (np.diff(value) > 0.0)])
    return place[rises], value[rises]


def _pooled(came: Ints, rows: Ints) -> Ints:
    """Where the blocks of the isotonic regression of came/rows begin: neighbours that do not rise are pooled.

    By hand: SciPy's takes 0.2 s to import, a quarter of what it takes to learn from 0.5 GB, for at most 129 numbers.
    """
    blocks: list[tuple[int, int, int]] = []  # (first, came, rows)
    for i, block in enumerate(zip(came.tolist(), rows.tolist(), strict=True)):
        first, hits, total = i, *block
        while blocks and blocks[-1][1] * total >= hits * blocks[-1][2]:
            first, hits, total = blocks[-1][0], hits + blocks[-1][1], total + blocks[-1][2]
            blocks.pop()
        blocks.append((first, hits, total))
    return np.array([first for first, _, _ in blocks])


def _places(borders: Floats) -> Floats:
    """Where the rows of each bin lie: in its middle; of the first and the last, an octave of borders further out."""
    borders = np.clip(borders, -LARGEST_PLACE, LARGEST_PLACE)
    octave = max(borders[8] - borders[0], borders[-1] - borders[-9]) or borders[-1] - borders[0] or 1.0
    middle = 0.5 * borders[:-1] + 0.5 * borders[1:]
    return np.concatenate([[borders[0] - octave], middle, [borders[-1] + octave]])


def _shared_out(scores: Floats, curve: Any) -> Floats:
    """The best class has what the curve says of its lead, the others the rest in shares of exp(score).

    Where one of them would have more than the best, shares are drawn towards equal ones until it has not: possible
    just because the best has at least 1/classes.
    """
    every, best = np.arange(len(scores)), np.argmax(scores, axis=1)
    rivals = scores.copy()
    rivals[every, best] = -np.inf
    second = rivals.max(axis=1)
    with np.errstate(over="ignore", under="ignore"):
        p = np.maximum(curve(scores[every, best] - second), (1.0 + MARGIN) / scores.shape[1])
        shares = np.exp(rivals - second[:, None])
    shares /= shares.sum(axis=1, keepdims=True)
    found = (1.0 - p)[:, None] * _drawn(shares, p)
    found[every, best] = p
    return np.asarray(found)


def _drawn(shares: Floats, p: Floats) -> Floats:
    """The shares of the rest, mixed with equal ones so far that none has as much as p."""
    even, largest = 1.0 / (shares.shape[1] - 1), shares.max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        cap = p * (1.0 - 1e-3 * MARGIN) / (1.0 - p)
        kept = np.where(largest <= cap, 1.0, np.clip((cap - even) / (largest - even), 0.0, 1.0))[:, None]
    return np.asarray(kept * shares + (1.0 - kept) * even)


# --- what is read -----------------------------------------------------------------------------------------------------


def _checked(plain: Any) -> Calibration:
    """A calibration from plain values of unknown origin."""
    names = [field.name for field in fields(Calibration)]
    need_field(isinstance(plain, dict) and set(plain) == set(names), "calibration", f"a record of {', '.join(names)}")
    need_field(type(plain["classes"]) is int and 2 <= plain["classes"] <= MOST_CLASSES, "classes", "a number from 2 on")
    need_field(type(plain["rows"]) is int and 0 <= plain["rows"] < 1 << 62, "rows", "a number of rows")
    need_field(plain["cut"] is None or _is_finite(plain["cut"]), "cut", "a finite number, or none")
    need_field(_is_finite(plain["scale"]) and plain["scale"] > 0.0, "scale", "a number above 0")
    for name in ("place", "value"):
        numbers = plain[name]
        need_field(isinstance(numbers, list) and 0 < len(numbers) <= BORDERS + 2, name, "a list of knots")
        need_field(all(_is_finite(number) for number in numbers), name, "finite numbers")
        need_field(all(a < b for a, b in pairwise(numbers)), name, "rising")
    place, value = plain["place"], plain["value"]
    need_field(len(place) == len(value), "value", "one for each place")
    need_field(value[0] > 0.0 and value[-1] < 1.0, "value", "between 0 and 1")
    knots = dict(zip(place, value, strict=True))
    anywhere = plain["classes"] > 2 or plain["cut"] is None
    need_field(anywhere or knots.get(plain["cut"]) == 0.5, "cut", "where the value is ½")
    return Calibration(**{**plain, "place": tuple(place), "value": tuple(value)})


def _is_finite(value: Any) -> bool:
    return type(value) is float and math.isfinite(value)
