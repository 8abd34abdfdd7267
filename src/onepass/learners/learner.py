"""What every learner tells about itself."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from onepass.errors import Argument, Phrase
from onepass.schedules import Schedule, Tabulated, checked


class Setting(NamedTuple):
    """What a pass declares to its learner before the first row.

    Attributes
    ----------
    horizon : int or None, default None
        The number of rounds, if known.
    reach : float or None, default None
        The largest length of an update direction, if a radius was declared.
    features : int or None, default None
        The number of features, if it is fixed.

    Examples
    --------
    >>> Setting(horizon=1000)
    Setting(horizon=1000, reach=None, features=None)
    """

    horizon: int | None = None  # number of rounds, if known
    reach: float | None = None  # largest length of an update direction, if a radius was declared
    features: int | None = None  # number of features, if it is fixed


class Learner:
    """A rule for changing the hypothesis after a loss. Subclasses are frozen dataclasses.

    Attributes
    ----------
    drives : str
        The loss that makes it change: "zero_one", "hinge" or, its own, "margin".
    bounded : bool
        Whether ‖w‖ ≤ 1 always, so that the hinge loss is bounded.
    tracks_norm : bool
        Whether it carries ‖w‖² from step to step.
    several : bool
        Whether it learns more than two classes.
    keeps_rows : bool
        Whether its hypotheses are sums of update rows, so that a log can hold them.
    deltas : bool
        Whether updates are no multiples of their rows.
    statistics : int
        Numbers that it keeps of a column beside its weights.

    Examples
    --------
    >>> from onepass.learners import MarginPerceptron
    >>> isinstance(MarginPerceptron(), Learner), MarginPerceptron.drives, MarginPerceptron.bounded
    (True, 'hinge', True)
    """

    drives: ClassVar[str]  # the loss that makes it change: "zero_one", "hinge" or, its own, "margin"
    bounded: ClassVar[bool] = False  # whether ‖w‖ ≤ 1 always, so that the hinge loss is bounded
    tracks_norm: ClassVar[bool] = False  # whether it carries ‖w‖² from step to step
    several: ClassVar[bool] = True  # whether it learns more than two classes
    keeps_rows: ClassVar[bool] = True  # whether its hypotheses are sums of update rows, so that a log can hold them
    deltas: ClassVar[bool] = False  # whether updates are no multiples of their rows
    statistics: ClassVar[int] = 0  # numbers that it keeps of a column beside its weights

    @property
    def grows(self) -> bool:
        """Whether w = scale·v may have a rising scale, so that v shrinks by cancellation."""
        return False

    def rule(self, setting: Setting) -> Any:
        """The NamedTuple that the loop runs."""
        raise NotImplementedError

    def regret_bound(self, rounds: int, setting: Setting, reach: float) -> float | None:
        """What the average hinge regret after `rounds` rounds cannot exceed, or None where no theorem says."""
        return None


class NonlinearLearner:
    """A rule whose hypotheses are no linear models, so that no pass can hold them."""

    estimator: ClassVar[str]  # the class that learns with it


def own_rate(schedule: Any) -> Schedule | None:
    """The schedule that a user gave to a learner, checked; None where none was given.

    >>> own_rate(lambda t: 1 / t)
    Custom(<lambda>)
    """
    if schedule is None:
        return None
    if isinstance(schedule, Tabulated):
        raise TypeError("schedule: a table ends, a stream need not; give a function of t")
    return checked(schedule)


def inputs(N: Any, setting: Setting) -> float:
    """N of barkai1995: as given to the learner, else the number of features declared on the pass."""
    found = setting.features if N is None else N
    if found is None:
        words = "N: the rate of this learner is η(t/N)/N; give it the number of inputs, N=…, or declare {}"
        raise ValueError(Phrase(words, Argument("n_features")))
    if isinstance(found, bool) or not isinstance(found, (int, float, np.number)) or not 0.0 < found < math.inf:
        raise ValueError(f"N: a positive number expected, got {found!r}")
    return float(found)
