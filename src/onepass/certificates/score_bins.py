"""Bins in which the scores of a watched model were counted: what they must be, and what follows from counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onepass.certificates.betting import betting
from onepass.errors import ModelError
from onepass.rows import Floats, Ints
from onepass.trace.tally import BETS
from onepass.trace.watched import BORDERS


def border_levels() -> Floats:
    """The quantiles at which the 128 borders are drawn: ½·2^(−i/8) for i = 1, …, 64 from either end, rising.

    Even ones would leave a single border for the top 1 % of the scores, where a rare class is told from the other.

    Returns
    -------
    array of float
        (128): the quantiles.

    Examples
    --------
    >>> levels = border_levels()
    >>> len(levels), levels[[0, 8, 56, 71, 119, 127]].tolist()
    (128, [0.001953125, 0.00390625, 0.25, 0.75, 0.99609375, 0.998046875])
    """
    tail = 0.5 * 2.0 ** (-np.arange(BORDERS // 2, 0, -1) / 8.0)
    return np.concatenate([tail, 1.0 - tail[::-1]])


@dataclass(frozen=True, eq=False)
class ScoreHistogram:
    """The scores of a model on rows that it had not learned (of several classes, the lead of the best), in bins.

    `price` is the share of a probability that may be spent on this model, since it was chosen among several by the rows
    that are counted here.
    """

    borders: Floats  # (128): rising; bin k has k borders at or below the score
    counts: Ints  # (129)
    price: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for model files."""
        return {"borders": self.borders.tolist(), "counts": self.counts.tolist(), "price": self.price}

    @classmethod
    def from_dict(cls, plain: Any) -> ScoreHistogram:
        """What `as_dict` made; a ModelError names the field that cannot be so."""
        need_field(isinstance(plain, dict) and set(plain) == {"borders", "counts", "price"}, "scores", "a histogram")
        borders, counts, price = plain["borders"], plain["counts"], plain["price"]
        fine = isinstance(borders, list) and len(borders) == BORDERS and all(type(one) is float for one in borders)
        need_field(fine and np.isfinite(borders).all() and (np.diff(borders) >= 0.0).all(), "scores.borders", "rising")
        fine = isinstance(counts, list) and len(counts) == BORDERS + 1
        fine = fine and all(type(one) is int and 0 <= one < 1 << 52 for one in counts)
        need_field(fine, "scores.counts", "numbers of rows")
        need_field(type(price) is float and 0.0 < price <= 1.0, "scores.price", "above 0 and at most 1")
        return cls(np.array(borders), np.array(counts, dtype=np.int64), price)


def check_bins(bins: Ints, borders: Floats) -> None:
    """Raise ValueError unless these can be bins of one candidate and their borders."""
    if bins.shape != (2, BORDERS + 1) or borders.shape != (BORDERS,):
        raise ValueError(
            f"bins and borders: shapes (2, {BORDERS + 1}) and ({BORDERS},) expected, got {bins.shape}, {borders.shape}"
        )
    if not np.isfinite(borders).all() or (borders[1:] < borders[:-1]).any():
        raise ValueError("borders: finite and rising expected")


def flip(bins: Ints, borders: Floats) -> tuple[Ints, Floats]:
    """Bins and borders of the negated scores, with the two classes the other way round."""
    return bins[::-1, ::-1].copy(), -borders[::-1]


def count_bound(wrong: int, rows: int, level: float) -> float:
    """The bound by betting on a rate, from so many mistakes among so many rows.

    >>> round(count_bound(10, 1000, 0.05), 4)
    0.0245
    """
    return betting(int(rows), float(wrong) * np.log1p(-BETS), level)


def need_field(condition: Any, field: str, expected: str) -> None:
    """Raise ModelError, naming the field of a stored record, unless the condition holds."""
    if not condition:
        raise ModelError(f"its field {field!r} is missing or wrong: it must be {expected}")
