"""The normalised perceptron: a small step after each mistake, then back onto the unit sphere. See barkai1995, eq. 2.

    W' = W + (η(t)/N)·y·x  if y·⟨W, x⟩ ≤ 0;   W = W'/‖W'‖

Differs: the source prints the error indicator as 1 when the signs agree; it is 1 when they differ. `Unnormalized`
leaves W' as it is: its length grows as α^(1/3), so its effective rate falls by itself, and its error as α^(−1/3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from onepass.learners.learner import Learner, Setting, inputs, own_rate
from onepass.schedules import Schedule, clean_optimum, rate


class Normalized(NamedTuple):
    """W on the unit sphere; rate η(t)/N."""

    schedule: Schedule
    N: float


class Unnormalized(NamedTuple):
    """W as long as it grows; rate η(t)/N."""

    schedule: Schedule
    N: float


def step_normalized(rule, margin, norm2, x2, radius2, t):  # type: ignore[no-untyped-def]
    """(loss, a, norm2, shrink) for w ← shrink·(w + a·direction); a score of exactly 0 is a mistake."""
    if margin > 0.0:
        return 0.0, 0.0, norm2, 1.0
    a = rate(rule.schedule, t) / rule.N
    norm2 = norm2 + a * (2.0 * margin + a * x2)
    if norm2 <= 1e-30:  # w + a·direction is zero but for rounding: it has no direction to normalise
        return 1.0, a, max(norm2, 0.0), 1.0
    if not norm2 < math.inf:  # a step too long to be measured: no hypothesis comes out, and whoever asks is told so
        return 1.0, a, norm2, math.nan
    return 1.0, a, 1.0, 1.0 / math.sqrt(norm2)


def step_unnormalized(rule, margin, norm2, x2, radius2, t):  # type: ignore[no-untyped-def]
    if margin > 0.0:
        return 0.0, 0.0, norm2, 1.0
    a = rate(rule.schedule, t) / rule.N
    return 1.0, a, norm2 + a * (2.0 * margin + a * x2), 1.0


def widen(rule, radius2, x2):  # type: ignore[no-untyped-def]
    return radius2


STEPS: dict[type, Callable[..., Any]] = {Normalized: step_normalized, Unnormalized: step_unnormalized}
WIDEN: dict[type, Callable[..., Any]] = {Normalized: widen, Unnormalized: widen}


@dataclass(frozen=True)
class NormalizedPerceptron(Learner):
    """Steps of η(t)/N along y·x after mistakes, the weights held at length 1. See barkai1995, eq. 2.

    The theory is of inputs whose features have variance 1: standardise, or scale η accordingly.

    Parameters
    ----------
    schedule : schedule, callable or None, default None
        η(t): one of onepass.schedules or a function of t; None: the best one for clean targets, 2√(2π)·N/t.
    N : float or None, default None
        The number of inputs; None: the number of features declared on the pass (the estimator declares it).

    Examples
    --------
    >>> from onepass.schedules import Constant
    >>> NormalizedPerceptron(Constant(0.5), N=50).rule(Setting())
    Normalized(schedule=Constant(eta=0.5), N=50.0)
    >>> NormalizedPerceptron().rule(Setting(features=100))
    Normalized(schedule=PowerLaw(eta0=2.0, z=1.0, N=100.0, floor=1.0), N=100.0)
    """

    schedule: Schedule | Callable[[float], float] | None = None
    N: float | None = None

    drives: ClassVar[str] = "zero_one"
    tracks_norm: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", own_rate(self.schedule))

    @property
    def grows(self) -> bool:
        return True

    def rule(self, setting: Setting) -> Normalized:
        N = inputs(self.N, setting)
        return Normalized(own_rate(self.schedule) or clean_optimum(N), N)
