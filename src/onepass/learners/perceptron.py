"""The Perceptron: w ← w + y·x after each mistake. See dekel2008, Fig. 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from onepass.learners.learner import Learner, Setting


class Classic(NamedTuple):
    amount: float


def step(rule, margin, norm2, x2, radius2, t):  # type: ignore[no-untyped-def]
    """A score of exactly 0 is a mistake."""
    if margin > 0.0:
        return 0.0, 0.0, norm2, 1.0
    return 1.0, rule.amount, norm2, 1.0


def widen(rule, radius2, x2):  # type: ignore[no-untyped-def]
    return radius2


STEPS = {Classic: step}
WIDEN = {Classic: widen}


@dataclass(frozen=True)
class Perceptron(Learner):
    """Adds y·x to w after each mistake, and nothing else; there is no parameter to tune.

    Examples
    --------
    >>> Perceptron()
    Perceptron()
    """

    drives: ClassVar[str] = "zero_one"

    def rule(self, setting: Setting) -> Classic:
        return Classic(1.0)
