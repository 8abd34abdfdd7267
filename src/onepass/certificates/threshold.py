"""A threshold with a guarantee: where a watched model's scores are cut so that a rate stays within a limit."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from onepass.certificates.rounding import probability_text
from onepass.certificates.score_bins import need_field
from onepass.certificates.target import FALSE_ALARM, MISS, PRECISION, Target, percent
from onepass.errors import ModelError
from onepass.labels import Label
from onepass.trace.watched import BORDERS


@dataclass(frozen=True)
class Threshold:
    """Where the scores are cut, what is guaranteed there, and what was seen. `str()` is the sentence.

    Where the target is not `reached`, border and index are those of `nearest`, the best limit that can be certified.

    Attributes
    ----------
    target : Target
        What was asked for.
    negative, positive : label
        The two classes.
    border : float
        In the order of the pass's own codes: the second class where the score is at or above it.
    index : int
        Which of the 128 borders it is.
    reached : bool
        Whether the target is certified.
    nearest : float or None
        The best limit that can be certified; None: the target is reached.
    delta : float
        The guarantee fails with at most this probability.
    other : str
        The other rate: "miss", or "false alarm" beside a target for misses.
    other_bound : float
        One of the declared levels, which the other rate stays within; 1: nothing is known.
    other_delta : float
        That fails with at most this probability.
    false_alarm, miss, precision : float or None
        Seen; None: no such row came.
    rows, positive_rows : int
        Of the negative class and of the positive one, later than the candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from onepass.certificates import choose_threshold
    >>> bins = np.zeros((2, 129), dtype=np.int64)
    >>> bins[0, :65], bins[1, 65:] = 100, 100  # the scores tell the classes apart
    >>> threshold = choose_threshold(bins, np.linspace(-1.0, 1.0, 128), Target("false alarm", 0.01))
    >>> threshold.reached, threshold.false_alarm <= 0.01, threshold.rows, threshold.positive_rows
    (True, True, 6500, 6400)
    >>> Threshold.from_dict(threshold.as_dict()) == threshold
    True
    """

    target: Target
    negative: Label
    positive: Label
    border: float
    index: int
    reached: bool
    nearest: float | None  # None: it is reached
    delta: float
    other: str  # the other rate: "miss", or "false alarm" beside a target for misses
    other_bound: float  # one of the declared levels; 1: nothing is known
    other_delta: float
    false_alarm: float | None  # seen; None: no such row came
    miss: float | None
    precision: float | None
    rows: int  # of the negative class and of the positive one, later than the candidate
    positive_rows: int

    def cut(self, flipped: bool = False) -> float:
        """The τ with which "the second class where score > τ" is this rule, ties included; see `cut_of`."""
        return cut_of(self.border, flipped)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and model files."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Any) -> Threshold:
        """What `as_dict` made; a ModelError names the field that cannot be so."""
        return _checked(plain)

    def __str__(self) -> str:
        if not self.reached:
            return f"{self._not_reached()} {self._seen()}"
        condition = "" if self.target.declared else ", if the target was not chosen by looking at these rows"
        holds = f"With probability {probability_text(self.delta)} {self._claim(self.target.kind, self.target.limit)}"
        return f"{holds}{condition}. {self._other()} {self._seen()}"

    def _claim(self, kind: str, limit: float) -> str:
        no, yes = _named(self.negative), _named(self.positive)
        if kind == FALSE_ALARM:
            return f"at most {percent(limit)} of the rows of class {no} are called {yes}"
        if kind == MISS:
            return f"at most {percent(limit)} of the rows of class {yes} are called {no}"
        return f"at least {percent(limit)} of the rows called {yes} are of class {yes}"

    def _not_reached(self) -> str:
        assert self.nearest is not None
        says = f"Not reached: a {self.target} cannot be certified from {self.rows:,} rows of class "
        says += f"{_named(self.negative)} and {self.positive_rows:,} of class {_named(self.positive)}."
        if self.nearest in (0.0, 1.0):
            return f"{says} No other limit can be, either."
        claim = self._claim(self.target.kind, _outward(self.nearest, self.target.kind))
        return f"{says} The nearest that can: with probability {probability_text(self.delta)} {claim}."

    def _other(self) -> str:
        if self.other_bound >= 1.0:
            name = {FALSE_ALARM: "false-alarm rate", MISS: "miss rate"}[self.other]
            return f"Of the {name} there nothing can be certified yet."
        claim = self._claim(self.other, self.other_bound)
        both = probability_text(min(1.0, self.delta + self.other_delta))
        return f"With probability {probability_text(self.other_delta)} {claim}; both hold with probability {both}."

    def _seen(self) -> str:
        rates = {"false alarms": self.false_alarm, "misses": self.miss, "precision": self.precision}
        said = ", ".join(f"{name} {'–' if rate is None else f'{100 * rate:.3g} %'}" for name, rate in rates.items())
        return f"Seen on {self.rows + self.positive_rows:,} later rows: {said}."


def cut_of(border: float, flipped: bool = False) -> float:
    """τ such that "the second class where score > τ" is "the second class where score ≥ border", for every float.

    `flipped`: for a model whose classes are the other way round and whose scores are the negatives of these. Its second
    class is the first here: score < border, which is −score > −border.

    >>> cut_of(0.0), cut_of(1.0) < 1.0, cut_of(1.0, flipped=True)
    (-5e-324, True, -1.0)
    """
    return -border if flipped else math.nextafter(border, -math.inf)


def _named(label: Label) -> str:
    """A label for reading: text in quotes, a number as short as it can be."""
    return f"{label:g}" if isinstance(label, float) else repr(label)


def _outward(limit: float, kind: str) -> float:
    """A bound for reading, rounded to the safe side."""
    scaled = 10_000.0 * limit
    return (math.floor(scaled) if kind == PRECISION else math.ceil(scaled)) / 10_000.0


def _checked(plain: Any) -> Threshold:
    """A threshold from plain values of unknown origin."""
    names = [field.name for field in fields(Threshold)]
    need_field(isinstance(plain, dict) and set(plain) == set(names), "threshold", f"a record of {', '.join(names)}")
    asked = plain["target"]
    need_field(isinstance(asked, dict) and set(asked) == {"kind", "limit", "declared"}, "target", "a record of three")
    need_field(type(asked["declared"]) is bool and type(asked["limit"]) is float, "target", "a limit and true or false")
    try:
        target = Target(**asked)
    except (ValueError, TypeError) as error:
        raise ModelError(f"its field 'target' is wrong: {error}") from None
    for name in ("negative", "positive"):
        need_field(type(plain[name]) in (int, float, str, bool), name, "a label")
    need_field(plain["negative"] != plain["positive"], "positive", "another label than the negative one")
    need_field(type(plain["border"]) is float and math.isfinite(plain["border"]), "border", "a finite number")
    need_field(type(plain["index"]) is int and 0 <= plain["index"] < BORDERS, "index", f"a number below {BORDERS}")
    need_field(type(plain["reached"]) is bool, "reached", "true or false")
    need_field((plain["nearest"] is None) == plain["reached"], "nearest", "null just where the target is reached")
    need_field(plain["other"] == (FALSE_ALARM if target.kind == MISS else MISS), "other", "the rate beside the target")
    for name in ("delta", "other_delta"):
        need_field(_is_share(plain[name]) and 0.0 < plain[name] < 1.0, name, "a number between 0 and 1")
    need_field(_is_share(plain["other_bound"]), "other_bound", "a number from 0 to 1")
    for name in ("nearest", "false_alarm", "miss", "precision"):
        need_field(plain[name] is None or _is_share(plain[name]), name, "null or a number from 0 to 1")
    for name in ("rows", "positive_rows"):
        need_field(type(plain[name]) is int and 0 <= plain[name] < 1 << 62, name, "a number of rows")
    return Threshold(**{**plain, "target": target})


def _is_share(value: Any) -> bool:
    return type(value) is float and 0.0 <= value <= 1.0
