"""Passive-Aggressive: the smallest step that repairs the hinge loss, held back by C. (Crammer et al. 2006.)

ℓ = (1 − y⟨w, x⟩)₊;  w ← w + τ·y·x,  I: τ = min(C, ℓ/‖x‖²),  II: τ = ℓ/(‖x‖² + 1/(2C))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from onepass.learners.learner import Learner, Setting


class First(NamedTuple):
    C: float


class Second(NamedTuple):
    slack: float  # 1/(2C)


def step_first(rule, margin, norm2, x2, radius2, t):  # type: ignore[no-untyped-def]
    loss = 1.0 - margin
    if loss <= 0.0:
        return 0.0, 0.0, norm2, 1.0
    if loss >= rule.C * x2:  # written so that a zero row divides by nothing
        return loss, rule.C, norm2, 1.0
    return loss, loss / x2, norm2, 1.0


def step_second(rule, margin, norm2, x2, radius2, t):  # type: ignore[no-untyped-def]
    loss = 1.0 - margin
    if loss <= 0.0:
        return 0.0, 0.0, norm2, 1.0
    return loss, loss / (x2 + rule.slack), norm2, 1.0


def widen(rule, radius2, x2):  # type: ignore[no-untyped-def]
    return radius2


STEPS = {First: step_first, Second: step_second}
WIDEN = {First: widen, Second: widen}


@dataclass(frozen=True)
class PassiveAggressive(Learner):
    """Passive while the margin is 1, then as aggressive as C allows; variant 1 or 2 of the paper.

    Parameters
    ----------
    C : float, default 1.0
        How aggressive a step may be.
    variant : int, default 1
        1 or 2 of the paper.

    Examples
    --------
    >>> PassiveAggressive(C=0.1).rule(Setting())
    First(C=0.1)
    """

    C: float = 1.0
    variant: int = 1

    drives: ClassVar[str] = "hinge"

    def rule(self, setting: Setting) -> First | Second:
        if not 0.0 < self.C < float("inf"):
            raise ValueError(f"C: a positive number expected, got {self.C!r}")
        if self.variant not in (1, 2):
            raise ValueError(f"variant: 1 or 2 expected, got {self.variant!r}")
        return First(float(self.C)) if self.variant == 1 else Second(1.0 / (2.0 * self.C))
