"""The normalised perceptron: a small step after each mistake, then back onto the unit sphere. See barkai1995, eq. 2.

    W' = W + (η(t)/N)·y·x  if y·⟨W, x⟩ ≤ 0;   W = W'/‖W'‖

Differs: the source prints the error indicator as 1 when the signs agree; it is 1 when they differ. `Unnormalized`
leaves W' as it is: its length grows as α^(1/3), so its effective rate falls by itself, and its error as α^(−1/3).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from onepass.schedules import Schedule, rate


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
    return 1.0, a, 1.0, 1.0 / math.sqrt(norm2)


def step_unnormalized(rule, margin, norm2, x2, radius2, t):  # type: ignore[no-untyped-def]
    if margin > 0.0:
        return 0.0, 0.0, norm2, 1.0
    a = rate(rule.schedule, t) / rule.N
    return 1.0, a, norm2 + a * (2.0 * margin + a * x2), 1.0


STEPS: dict[type, Callable[..., Any]] = {Normalized: step_normalized, Unnormalized: step_unnormalized}
