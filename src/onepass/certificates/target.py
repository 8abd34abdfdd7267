"""What a threshold is asked to keep: a rate of one of two classes within a limit, and how sure that must be.

One of the classes is the *positive* one. The *false-alarm rate* is the share of the other class's rows that are called
positive, the *miss rate* the share of the positive class's that are not, *precision* the share of those called positive
that are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

FALSE_ALARM, MISS, PRECISION = KINDS = ("false alarm", "miss", "precision")
ARGUMENTS = {FALSE_ALARM: "max_false_alarm", MISS: "max_miss", PRECISION: "min_precision"}  # what a user calls them


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


def percent(share: float) -> str:
    """A share for reading.

    >>> percent(0.07), percent(1.0 - 0.05)
    ('7 %', '95 %')
    """
    return f"{100.0 * share:.6g} %"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
