"""Rates of a watched candidate: what one number over all classes hides, and which of them hold together.

A miss rate P(ŷ ≠ c | y = c) counts the rows of its class, with pair bets; a class's false alarms are the misses of the
other class. Precision P(y = c | ŷ = c) counts the rows that were judged c, and F1 = 2q/(1 + q), q = P(TP)/P(not TN),
those that are no true negatives: both by direct bets only, since on such rows the elder's mean is not its own rate. The
balanced error is the mean of the miss rates, and holds wherever these do: it costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from onepass.certificates.losses import Losses, judged, must_be_frozen, positives
from onepass.certificates.pair import class_risk, risk
from onepass.certificates.rounding import probability_text, round_down, round_up
from onepass.errors import ConversionError, DataError
from onepass.labels import Label, sortable
from onepass.trace.watched import Watched

SHOWN = 8  # rates in a sentence; all are in the value
_WORDS = {
    "miss": "miss rate of {}",
    "false alarm": "false-alarm rate of {}",
    "precision": "precision of {}",
    "F1": "F1 of {}",
    "balanced error": "balanced error",
    "joint miss": "share of rows that are {} and misjudged",
}


@dataclass(frozen=True, eq=False)
class Rate:
    """One rate with its bound: at most that, or (precision and F1) at least.

    Attributes
    ----------
    name : str
        "miss", "false alarm", "precision", "F1", "balanced error" or, of members, "joint miss".
    label : label or None
        The class that it speaks of; None: of all.
    bound : float
        What the rate is at most, or at least.
    at_most : bool
        Which of the two.
    observed : float
        The same rate in the rows counted; NaN where there is none.
    counted : int
        Rows.
    trivial : float
        What the bound is before any row: 1 or 0.
    free : bool, default False
        Whether it follows from the others and takes no part of δ.

    Examples
    --------
    >>> print(Rate("miss", "spam", 0.0312, True, 0.02, 1000, 1.0))
    miss rate of spam at most 0.0312, observed 0.0200 in 1,000 rows
    """

    name: str  # "miss", "false alarm", "precision", "F1", "balanced error" or, of members, "joint miss"
    label: Label | None  # the class that it speaks of; None: of all
    bound: float
    at_most: bool
    observed: float  # the same rate in the rows counted; NaN where there is none
    counted: int  # rows
    trivial: float  # what the bound is before any row: 1 or 0
    free: bool = False  # it follows from the others and takes no part of δ

    @property
    def informative(self) -> bool:
        """Whether the rows have shown anything yet."""
        return self.bound != self.trivial

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON: NaN becomes None."""
        plain = asdict(self)
        return {**plain, "observed": None if math.isnan(self.observed) else self.observed}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Rate:
        """What `as_dict` made, made a rate again."""
        known = {field.name: plain[field.name] for field in fields(cls) if field.name in plain}
        return cls(**{**known, "observed": math.nan if known["observed"] is None else known["observed"]})

    def __eq__(self, other: object) -> bool:
        """Of plain values: so a rate that was never observed equals itself."""
        return isinstance(other, Rate) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash((self.name, self.label, self.bound))

    def __str__(self) -> str:
        subject = _WORDS[self.name].format(self.label)
        if not self.informative:
            return f"{subject}: not yet informative ({self.counted:,} rows)"
        bound = f"at most {round_up(self.bound)}" if self.at_most else f"at least {round_down(self.bound)}"
        seen = "" if math.isnan(self.observed) else f", observed {self.observed:.4f} in {self.counted:,} rows"
        return f"{subject} {bound}{seen}"


@dataclass(frozen=True)
class Rates:
    """Rates of one candidate, or of an ensemble's members, that hold together, at all times, with probability 1 − δ.

    Each that is not free was given δ·price/parts. The certificate of the risk has a δ of its own.

    Attributes
    ----------
    delta : float
        They fail, all together, with at most this probability.
    price : float
        Of the candidate, or of the choice among ensembles.
    parts : int
        Among how many rates δ·price was shared out.
    frozen : int or None
        The round of the candidate; None: they are of members.
    positive : label or None
        Which class "false alarm" and F1 speak of; None: there are several, or they are of members.
    rates : tuple of Rate
        All of them.
    covers : str, default "model"
        Or "members": then what they say is true of these on average, and of no model.

    Examples
    --------
    >>> one = Rate("miss", "spam", 0.0312, True, 0.02, 1000, 1.0)
    >>> found = Rates(0.05, 0.5, 1, 768, None, (one,))
    >>> Rates.from_dict(found.as_dict()) == found
    True
    """

    delta: float
    price: float  # of the candidate, or of the choice among ensembles
    parts: int  # among how many rates δ·price was shared out
    frozen: int | None  # the round of the candidate; None: they are of members
    positive: Label | None  # which class "false alarm" and F1 speak of; None: there are several, or they are of members
    rates: tuple[Rate, ...]
    covers: str = "model"  # or "members": then what they say is true of these on average, and of no model

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {**plain, "rates": [rate.as_dict() for rate in self.rates]}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Rates:
        """What `as_dict` made, made a value again."""
        known = {field.name: plain[field.name] for field in fields(cls) if field.name in plain}
        return cls(**{**known, "rates": tuple(map(Rate.from_dict, known["rates"]))})

    def __str__(self) -> str:
        paid = [rate for rate in self.rates if not rate.free]
        free = [rate for rate in self.rates if rate.free]
        together = f"all {len(self.rates)} hold together"
        shown = paid if len(paid) <= SHOWN else sorted(paid, key=lambda rate: -rate.bound)[:SHOWN]
        more = "" if len(paid) <= SHOWN else f" (of {len(paid)}, the {SHOWN} with the largest bounds)"
        probability = probability_text(self.delta)
        follows = f"; the {_WORDS[free[0].name]} follows from these" if free else ""
        return (
            f"With probability {probability} {together} {self._subject}, at all times at once: "
            f"{'; '.join(map(str, shown + free))}{more}. δ = {self.delta:g} is shared out among {self.parts} "
            f"of them{follows}. The certificate of the risk has a δ of its own."
        )

    @property
    def _subject(self) -> str:
        """Whose they are."""
        if self.covers == "members":
            return "of the ensemble's members, on average"
        return f"for the model frozen after row {self.frozen or 0:,}"


def positive_of(labels: Sequence[Label], positive: Label | None) -> Label:
    """The class that false alarms and misses speak of: as declared, or the second in sorted order."""
    if positive is not None and positive not in labels:
        raise ConversionError(f"positive: {positive!r} is not one of the classes {', '.join(map(str, labels))}")
    return sorted(labels, key=sortable)[-1] if positive is None else positive


def rates(
    watched: Watched,
    slot: int,
    delta: float,
    price: float,
    classes: Sequence[Label],
    positive: Label | None = None,
) -> Rates:
    """The rates of one candidate that hold together with probability 1 − δ, if its price is `price`.

    Of two classes: miss and false-alarm rate of the positive one, precision of both, F1 and balanced error. Of several:
    the miss rate of each, and balanced error.

    Parameters
    ----------
    watched : Watched
        Counts of watched models.
    slot : int
        Which of them.
    delta : float
        They fail, all together, with at most this probability.
    price : float
        The share of δ that this candidate has.
    classes : sequence of label
        The labels in the order of their numbers.
    positive : label or None, default None
        The class that misses and false alarms speak of, of two. None: the second in sorted order.

    Returns
    -------
    Rates
        All of them; `str()` is a sentence.

    Raises
    ------
    ValueError
        If the slot is empty or an argument cannot be so.
    DataError
        If a positive class is named among several.
    ConversionError
        If the positive class is none of the two.

    Examples
    --------
    >>> from onepass.trace.watched import nothing_watched
    >>> watched = nothing_watched(1, 2)
    >>> watched.frozen[0], watched.rows[0], watched.mistakes[0] = 8, (900, 100), (9, 5)
    >>> found = rates(watched, 0, 0.05, 0.5, ["ham", "spam"])
    >>> [(rate.name, rate.label, rate.observed) for rate in found.rates[:2]]
    [('miss', 'spam', 0.05), ('false alarm', 'spam', 0.01)]
    """
    must_be_frozen(watched, slot)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta: a number between 0 and 1 expected, got {delta!r}")
    if len(classes) != watched.rows.shape[1]:
        raise ValueError(f"classes: {watched.rows.shape[1]} labels expected, got {list(classes)}")
    if len(classes) > 2:
        if positive is not None:
            raise DataError(
                f"{positive!r} cannot be the positive class of {len(classes)}",
                argument="positive",
                remedy="leave it out: every class has its miss rate",
            )
        parts = len(classes)
        found = [_miss(watched, slot, code, label, delta * price / parts) for code, label in enumerate(classes)]
        return Rates(delta, price, parts, int(watched.frozen[slot]), None, (*found, _balanced(found)))
    positive = positive_of(classes, positive)
    two = _of_two(watched, slot, delta * price / 5, classes, list(classes).index(positive))
    return Rates(delta, price, 5, int(watched.frozen[slot]), positive, tuple(two))


def _of_two(watched: Watched, slot: int, level: float, classes: Sequence[Label], yes: int) -> list[Rate]:
    """All rates of two classes; `yes` is the number of the positive one."""
    no, label = 1 - yes, classes[yes]
    missed = _miss(watched, slot, yes, label, level)
    alarms = _miss(watched, slot, no, label, level, "false alarm")
    found = [missed, alarms]
    for code in (yes, no):
        bound, seen, rows = _right(judged(watched, slot, code), level)
        found.append(Rate("precision", classes[code], bound, False, seen, rows, 0.0))
    q, seen, rows = _right(positives(watched, slot, yes), level)
    found.append(Rate("F1", label, 2.0 * q / (1.0 + q), False, 2.0 * seen / (1.0 + seen), rows, 0.0))
    found.append(_balanced([missed, alarms]))
    return found


def _right(losses: Losses, level: float) -> tuple[float, float, int]:
    """(lower bound on the share of right rows among those counted, that share in them, how many they are)."""
    right, rows = int(losses.rows[0, 0]), int(losses.rows.sum())
    return 1.0 - risk(losses, level), _share(right, rows), rows


def _miss(watched: Watched, slot: int, code: int, label: Label, level: float, name: str = "miss") -> Rate:
    rows, wrong = int(watched.rows[slot, code]), int(watched.mistakes[slot, code])
    return Rate(name, label, class_risk(watched, slot, code, level), True, _share(wrong, rows), rows, 1.0)


def _balanced(of_classes: Sequence[Rate]) -> Rate:
    """The mean of the classes' miss rates, on the event that they all hold."""
    bound = math.fsum(rate.bound for rate in of_classes) / len(of_classes)
    observed = math.fsum(rate.observed for rate in of_classes) / len(of_classes)
    rows = sum(rate.counted for rate in of_classes)
    return Rate("balanced error", None, bound, True, observed, rows, 1.0, free=True)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan
