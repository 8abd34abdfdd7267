"""The margin-based Perceptron: a step of size η for each hinge loss, back into the unit ball. See dekel2008, Fig. 1.

    ℓ = (1 − y⟨w, x⟩)₊;  if ℓ > 0:  w' = w + η·y·x,  w = w'/max(1, ‖w'‖)
    η = 1/(R√m) for a declared horizon m, 1/(R√t) without

Differs: the source prints w = w'/‖w'‖ (projection="sphere"), for which the regret bound has no proof, and loses the end
of the root in η.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from onepass.learners.learner import Learner, Setting, own_rate
from onepass.schedules import Constant, InverseRoot, Schedule, rate


class Ball(NamedTuple):
    schedule: Schedule
    running: float  # 1 where the radius is the largest length met, 0 where it was declared


class Sphere(NamedTuple):
    schedule: Schedule
    running: float


def step_ball(rule, margin, norm2, x2, radius2, t):  # type: ignore[no-untyped-def]
    loss = 1.0 - margin
    if loss <= 0.0:
        return 0.0, 0.0, norm2, 1.0
    if radius2 <= 0.0:  # only zero rows so far: there is no direction to go
        return loss, 0.0, norm2, 1.0
    a = rate(rule.schedule, t) / math.sqrt(radius2)
    norm2 = norm2 + 2.0 * a * margin + a * a * x2  # ‖w + a·direction‖²
    if norm2 <= 1.0:
        return loss, a, max(norm2, 0.0), 1.0
    return loss, a, 1.0, 1.0 / math.sqrt(norm2)


def step_sphere(rule, margin, norm2, x2, radius2, t):  # type: ignore[no-untyped-def]
    loss = 1.0 - margin
    if loss <= 0.0:
        return 0.0, 0.0, norm2, 1.0
    if radius2 <= 0.0:
        return loss, 0.0, norm2, 1.0
    a = rate(rule.schedule, t) / math.sqrt(radius2)
    norm2 = norm2 + 2.0 * a * margin + a * a * x2
    if norm2 <= 1e-30:  # w + a·direction is zero but for rounding: it has no direction to normalise
        return loss, a, max(norm2, 0.0), 1.0
    return loss, a, 1.0, 1.0 / math.sqrt(norm2)


def widen(rule, radius2, x2):  # type: ignore[no-untyped-def]
    return max(radius2, rule.running * x2)


STEPS = {Ball: step_ball, Sphere: step_sphere}
WIDEN = {Ball: widen, Sphere: widen}


@dataclass(frozen=True)
class MarginPerceptron(Learner):
    """Online gradient descent on the hinge loss inside the unit ball: the learner with a certificate in hinge loss.

    Parameters
    ----------
    projection : str, default "ball"
        "ball", or "sphere": the variant as printed.
    schedule : schedule, callable or None, default None
        Replaces 1/√m or 1/√t (η is schedule/R): one of `onepass.schedules`, or any function of t.

    Examples
    --------
    >>> from onepass.schedules import Constant
    >>> MarginPerceptron(schedule=Constant(0.01))
    MarginPerceptron(projection='ball', schedule=Constant(eta=0.01))
    """

    projection: str = "ball"
    schedule: Schedule | Callable[[float], float] | None = None

    drives: ClassVar[str] = "hinge"
    bounded: ClassVar[bool] = True
    tracks_norm: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", own_rate(self.schedule))

    @property
    def grows(self) -> bool:
        return self.projection == "sphere"

    def rule(self, setting: Setting) -> Ball | Sphere:
        if self.projection not in ("ball", "sphere"):
            raise ValueError(f"projection: 'ball' or 'sphere' expected, got {self.projection!r}")
        schedule = own_rate(self.schedule)
        if schedule is None:
            schedule = Constant(1.0 / math.sqrt(setting.horizon)) if setting.horizon else InverseRoot(1.0)
        running = 0.0 if setting.reach else 1.0
        return Ball(schedule, running) if self.projection == "ball" else Sphere(schedule, running)

    def regret_bound(self, rounds: int, setting: Setting, reach: float) -> float | None:
        """See dekel2008, Theorem 1, and its kin for an unknown horizon or radius; `reach` is its R."""
        if self.projection != "ball" or self.schedule is not None:
            return None
        if setting.horizon is None:
            return 3.0 * reach / math.sqrt(rounds)
        m = setting.horizon
        if setting.reach is None:
            return 2.5 * reach / math.sqrt(m) if rounds == m else None
        return reach * math.sqrt(m) / (2 * rounds) + reach / (2 * math.sqrt(m))
