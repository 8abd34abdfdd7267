"""The shifted perceptron: steps along x − T instead of x, so that output noise cancels. See barkai1995, eq. 10 and 12.

    W' = W + (η(t)/N)·y·(x − T)  after a mistake, T = ⟨y·x⟩/⟨y⟩ by running averages;   W = W'/‖W'‖

Noise turns labels over wherever the input lies, so around the teacher the plain rule is pulled towards the mean of the
inputs it gets wrong; T is the one constant shift for which that pull is zero. Three things the source leaves open:

- T can be known only where the labels are not balanced: it is used while |Σy| > 3√t, and the plain step otherwise;
- −W₀ attracts as well, so the plain rule runs until α = t/N reaches WARMUP: it ends in the teacher's half;
- and should W still settle at the mirror image, more than half of its answers are wrong, and it is turned to −W.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from onepass._jit import by_type
from onepass.learners.learner import Learner, Setting, inputs, own_rate
from onepass.schedules import NoisyPowerLaw, Schedule

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


@dataclass(frozen=True)
class ShiftedPerceptron(Learner):
    """The normalised perceptron stepping along x − T: it tends to the teacher though labels are turned over at random.

    schedule    η(t): one of onepass.schedules or a function of t; None: NoisyPowerLaw(2, 0.75, N, q0=1), which falls
                slowly enough for any q₀ (z = 1 is better where q₀ is known: `noisy_optimum`)
    N           the number of inputs; None: the number of features declared on the pass (the estimator declares it)
    warmup      α = t/N from which x is shifted; the plain rule runs until then

    Two classes, and not balanced ones: T = ⟨y·x⟩/⟨y⟩ is used while |Σy| > 3√t, and a model says if it is not. The
    constant feature of an intercept has T = 1, so the intercept stays where the plain rule left it.

    >>> ShiftedPerceptron(N=50).rule(Setting())
    Shifted(schedule=NoisyPowerLaw(eta0=2.0, z=0.75, N=50.0, q0=1.0), N=50.0, warmup=20.0)
    """

    schedule: Schedule | Callable[[float], float] | None = None
    N: float | None = None
    warmup: float = WARMUP

    drives: ClassVar[str] = "zero_one"
    tracks_norm: ClassVar[bool] = True
    several: ClassVar[bool] = False
    keeps_rows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", own_rate(self.schedule))

    def rule(self, setting: Setting) -> Shifted:
        N = inputs(self.N, setting)
        if not 0.0 <= self.warmup < math.inf:
            raise ValueError(f"warmup: a number of at least 0 expected, got {self.warmup!r}")
        return Shifted(own_rate(self.schedule) or NoisyPowerLaw(2.0, 0.75, N, 1.0), N, float(self.warmup))


def unshifted(rule: Shifted, total: float, t: int, plain: int, shifted: int) -> str | None:
    """Why the plain rule is in use after round t, if it is; of the updates since the warm-up, so many were plain.

    >>> print(unshifted(ShiftedPerceptron(N=5).rule(Setting()), 12.0, 400, 30, 4))
    shifted: the labels are too balanced for the shift: |Σy| = 12 after 400 rounds, and T = ⟨y·x⟩/⟨y⟩ is used only
    above 3√t = 60. The plain rule is in use (30 of 34 updates since the warm-up): its model is biased if labels are
    noisy
    """
    if t <= rule.warmup * rule.N:
        return (
            f"shifted: rows are shifted from α = t/N = {rule.warmup:g} on, which is after round "
            f"{rule.warmup * rule.N:,.0f}; after {t:,} rounds only the plain rule has been used. "
            "Feed more rows, or set a smaller warmup or N"
        )
    if shifts(rule, total, t):
        return None
    return (
        f"shifted: the labels are too balanced for the shift: |Σy| = {abs(total):,.0f} after {t:,} rounds, and "
        f"T = ⟨y·x⟩/⟨y⟩ is used only above 3√t = {SIGMAS * math.sqrt(t):,.0f}. The plain rule is in use "
        f"({plain:,} of {plain + shifted:,} updates since the warm-up): its model is biased if labels are noisy"
    )
