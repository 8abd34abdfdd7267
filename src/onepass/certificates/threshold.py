"""A threshold with a guarantee: where to cut a watched model's scores so that one of its rates stays within a limit.

Scores of later rows are counted in bins between 128 borders that were fixed when the model was frozen. Each border is a
rule: of two classes the second is predicted where the score is at or above it. One of the classes is the *positive*
one. The *false-alarm rate* is the share of the other class's rows that are called positive, the *miss rate* the share
of the positive class's that are not, *precision* the share of those called positive that are. All follows from counts.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from onepass.certificates.betting import excess
from onepass.certificates.score_bins import check_bins, count_bound, need_field
from onepass.errors import ModelError
from onepass.labels import Label
from onepass.rows import Array, Floats, Ints
from onepass.trace.tally import BETS
from onepass.trace.watched import BORDERS

FALSE_ALARM, MISS, PRECISION = KINDS = ("false alarm", "miss", "precision")
ARGUMENTS = {FALSE_ALARM: "max_false_alarm", MISS: "max_miss", PRECISION: "min_precision"}  # what a user calls them
DECLARED = (0, 8, 16, 24, 32, 40, 48, 56, 71, 79, 87, 95, 103, 111, 119, 127)  # borders at 1/4, 1/8, … from the ends
LEVELS = np.array([0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


# --- what is asked for ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Target:
    """What a threshold is to keep: a false-alarm or a miss rate of at most `limit`, or a precision of at least that.

    Attributes
    ----------
    kind : str
        "false alarm", "miss" or "precision".
    limit : float
        Above 0 and below 1.
    declared : bool, default True
        Before the first row. A target chosen by looking at the rows has no guarantee.

    Raises
    ------
    ValueError
        If there is no such target.

    Examples
    --------
    >>> str(Target("false alarm", 0.01))
    'false-alarm rate of at most 1 %'
    """

    kind: str
    limit: float
    declared: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"kind: one of {', '.join(KINDS)} expected, got {self.kind!r}")
        if not (_is_number(self.limit) and 0.0 < self.limit < 1.0):
            impossible = 1 if self.kind == PRECISION else 0
            why = f" ({impossible} cannot be certified from any number of rows)" if self.limit == impossible else ""
            raise ValueError(f"{ARGUMENTS[self.kind]}: above 0 and below 1 expected, got {self.limit!r}{why}")
        object.__setattr__(self, "limit", float(self.limit))

    def __str__(self) -> str:
        name = {FALSE_ALARM: "false-alarm rate", MISS: "miss rate", PRECISION: "precision"}[self.kind]
        return f"{name} of at {'least' if self.kind == PRECISION else 'most'} {percent(self.limit)}"


def target_of(
    max_false_alarm: float | None = None, max_miss: float | None = None, min_precision: float | None = None
) -> Target | None:
    """The one target that was declared, or None; two at a time are refused.

    Parameters
    ----------
    max_false_alarm : float or None, default None
        A limit for the false-alarm rate.
    max_miss : float or None, default None
        A limit for the miss rate.
    min_precision : float or None, default None
        A limit for the precision.

    Returns
    -------
    Target or None
        What is to be kept.

    Raises
    ------
    ValueError
        If two are declared, or a limit is not between 0 and 1.

    Examples
    --------
    >>> target_of(max_miss=0.1)
    Target(kind='miss', limit=0.1, declared=True)
    """
    given = {FALSE_ALARM: max_false_alarm, MISS: max_miss, PRECISION: min_precision}
    found = [Target(kind, limit) for kind, limit in given.items() if limit is not None]
    if len(found) > 1:
        names = " and ".join(ARGUMENTS[target.kind] for target in found)
        raise ValueError(f"{names}: one threshold keeps one target; declare one of them")
    return found[0] if found else None


class Confidence(NamedTuple):
    """How much may go wrong.

    Attributes
    ----------
    delta : float, default 0.05
        With this probability the target.
    other_delta : float, default 0.05
        With this one the bound on the other rate.
    price : float, default 1.0
        The share of either that this candidate has, since it was chosen among several by the data.

    Examples
    --------
    >>> Confidence(delta=0.01)
    Confidence(delta=0.01, other_delta=0.05, price=1.0)
    """

    delta: float = 0.05
    other_delta: float = 0.05
    price: float = 1.0  # the share of either that this candidate has, since it was chosen among several by the data


USUAL = Confidence()


# --- what comes out ---------------------------------------------------------------------------------------------------


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
        holds = f"With probability {percent(1.0 - self.delta)} {self._claim(self.target.kind, self.target.limit)}"
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
        return f"{says} The nearest that can: with probability {percent(1.0 - self.delta)} {claim}."

    def _other(self) -> str:
        if self.other_bound >= 1.0:
            name = {FALSE_ALARM: "false-alarm rate", MISS: "miss rate"}[self.other]
            return f"Of the {name} there nothing can be certified yet."
        claim = self._claim(self.other, self.other_bound)
        both = percent(max(0.0, 1.0 - self.delta - self.other_delta))
        return f"With probability {percent(1.0 - self.other_delta)} {claim}; both hold with probability {both}."

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


def percent(share: float) -> str:
    """A share for reading.

    >>> percent(0.07), percent(1.0 - 0.05)
    ('7 %', '95 %')
    """
    return f"{100.0 * share:.6g} %"


# --- how it is chosen -------------------------------------------------------------------------------------------------


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


def _outward(limit: float, kind: str) -> float:
    """A bound for reading, rounded to the safe side."""
    scaled = 10_000.0 * limit
    return (math.floor(scaled) if kind == PRECISION else math.ceil(scaled)) / 10_000.0


# --- what is given, and what is read ----------------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _check(bins: Ints, borders: Floats, confidence: Confidence, positive: int, labels: tuple[Label, ...]) -> None:
    if len(labels) != 2:
        raise ValueError(f"a threshold cuts the scores of two classes; here are {len(labels)}")
    if positive not in (0, 1):
        raise ValueError(f"positive: 0 or 1 expected, got {positive!r}")
    check_bins(bins, borders)
    for name, value in confidence._asdict().items():
        if not 0.0 < value < 1.0 and not (name == "price" and value == 1.0):
            raise ValueError(f"{name}: a number between 0 and 1 expected, got {value!r}")


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
