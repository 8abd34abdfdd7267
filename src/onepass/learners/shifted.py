"""The shifted perceptron: steps along x − T instead of x, so that output noise cancels. See barkai1995, eq. 10 and 12.

    W' = W + (η(t)/N)·y·(x − T)  after a mistake, T = ⟨y·x⟩/⟨y⟩ by running averages;   W = W'/‖W'‖

Noise turns labels over wherever the input lies, so around the teacher the plain rule is pulled towards the mean of the
inputs it gets wrong; T is the one constant shift for which that pull is zero. Three things the source leaves open:

- T can be known only where the labels are not balanced: it is used while |Σy| > 3√t, and the plain step otherwise;
- −W₀ attracts as well, so the plain rule runs until α = t/N reaches WARMUP: it ends in the teacher's half;
- and should W still settle at the mirror image, more than half of its answers are wrong, and it is turned to −W.
"""

from __future__ import annotations

from typing import NamedTuple

from onepass._jit import by_type
from onepass.schedules import Schedule

WARMUP = 20.0  # α until which the plain rule runs
WINDOW = 1000  # rounds over which the running error is counted
SIGMAS = 3.0  # how far from its chance value a count must be before it is believed


class Shifted(NamedTuple):
    """T learned by running averages and used from α = warmup on; rate η(t)/N."""

    schedule: Schedule
    N: float
    warmup: float = WARMUP


def _shifts(rule, total, t):  # type: ignore[no-untyped-def]
    return t > rule.warmup * rule.N and total * total > SIGMAS * SIGMAS * t


def mirrored(rule, mistakes):  # type: ignore[no-untyped-def]
    """Whether so many mistakes in one window say that W is nearer to the teacher's mirror image."""
    excess = mistakes - 0.5 * WINDOW
    return excess > 0.0 and excess * excess > SIGMAS * SIGMAS * 0.25 * WINDOW


shifts = by_type({Shifted: _shifts})  # shifts(rule, Σy, t): whether T is used in round t
