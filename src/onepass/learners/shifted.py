"""The shifted perceptron: steps along x − T instead of x, so that output noise cancels. See barkai1995, eq. 10 and 12.

    W' = W + (η(t)/N)·y·(x − T(x))  after a mistake, T(x) = ψ(x)·⟨y·x⟩/⟨y·ψ⟩ by running averages;   W = W'/‖W'‖

Noise turns labels over wherever the input lies, so around the teacher the plain rule is pulled towards the mean of the
inputs it gets wrong; with ⟨y·(x − T(x))⟩ = 0 that pull is zero. ψ ≡ 1 is the paper's shift by a constant. Where both
labels are equally frequent ⟨y⟩ is 0 and there is none; the paper asks for a T that depends on x then, and names none.
Here:

    linear      ψ(x) = v·x          v = the mean of y·x in the rows of the warm-up, fixed from then on
    half-space  ψ(x) = [v·x > 0]    the same v

Why linear is what is taken by itself. Let g(W) = ⟨sgn(W·x)·x⟩, the slope of ⟨|W·x|⟩, and g₀ = g(W₀). The mean step is
−½·(g(W) − g₀·(v·g(W))/(v·g₀)), and across W₀ its slope is −½·(I − c·vᵀ)·H with H ≥ 0 the curvature of ⟨|W·x|⟩ and
c = g₀/(v·g₀): stable if (v·W₀)/(v·g₀) > 0. For v near g₀ that is so for every distribution of inputs, since
g₀·W₀ = ⟨|W₀·x|⟩; steps are orthogonal to v, so no other zero of the mean step lies in the half where v·W > 0. A
half-space, and a constant where inputs are not Gaussian, can make W₀ repel.

Three more things the source leaves open:

- T is used while |Σy·ψ| > 3√(Σψ²), so that ⟨y·ψ⟩ is known from zero, and the plain step otherwise;
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


class Weighting(NamedTuple):
    """ψ(x) = level + slope·(v·x) + step·[v·x > 0] after the warm-up; ψ ≡ 1 in it."""

    level: float
    slope: float
    step: float
    patience: float = 0.0  # above 0: ψ ≡ 1 stays for so many rounds, and for good if labels are not balanced by then


WEIGHTINGS = {
    "auto": Weighting(0.0, 1.0, 0.0, patience=1000.0),
    "uniform": Weighting(1.0, 0.0, 0.0),
    "linear": Weighting(0.0, 1.0, 0.0),
    "halfspace": Weighting(0.0, 0.0, 1.0),
}


class Shifted(NamedTuple):
    """T learned by running averages and used from α = warmup on; rate η(t)/N."""

    schedule: Schedule
    N: float
    warmup: float = WARMUP
    weighting: Weighting = WEIGHTINGS["uniform"]


def _shifts(rule, total, squares, t):  # type: ignore[no-untyped-def]
    return t > rule.warmup * rule.N and total * total > SIGMAS * SIGMAS * squares


def _weighs(rule, t):  # type: ignore[no-untyped-def]
    # v needs rows even without a warm-up, and whether labels are balanced needs more
    return t > max(max(rule.warmup, 1.0) * rule.N, rule.weighting.patience)


def mirrored(rule, mistakes):  # type: ignore[no-untyped-def]
    """Whether so many mistakes in one window say that W is nearer to the teacher's mirror image."""
    excess = mistakes - 0.5 * WINDOW
    return excess > 0.0 and excess * excess > SIGMAS * SIGMAS * 0.25 * WINDOW


shifts = by_type({Shifted: _shifts})  # shifts(rule, Σyψ, Σψ², t): whether T is used in round t
weighs = by_type({Shifted: _weighs})  # weighs(rule, t): whether ψ is fixed by round t


@dataclass(frozen=True)
class ShiftedPerceptron(Learner):
    """The normalised perceptron stepping along x − T: it tends to the teacher though labels are turned over at random.

    Two classes. T is used while `|Σy·ψ| > 3√(Σψ²)`, and a model says if it is not. With ψ ≡ 1 the constant feature of
    an intercept has T = 1, so the intercept stays where the plain rule left it.

    Parameters
    ----------
    schedule : schedule, callable or None, default None
        η(t): one of `onepass.schedules` or a function of t. None: NoisyPowerLaw(2, 0.75, N, q0=1), which falls slowly
        enough for any q₀ (z = 1 is better where q₀ is known: `noisy_optimum`).
    N : float or None, default None
        The number of inputs; None: the number of features declared on the pass (the estimator declares it).
    warmup : float, default 20.0
        α = t/N from which x is shifted; the plain rule runs until then.
    weighting : str, default "auto"
        T(x) = ψ(x)·⟨y·x⟩/⟨y·ψ⟩: "uniform" (ψ ≡ 1, for labels that are not balanced), "linear" (ψ = v·x), "halfspace"
        (ψ = [v·x > 0]), v the mean of y·x in the warm-up. "auto": uniform if `|Σy| > 3√t` at the end of the warm-up
        (and not before round 1,000), else linear.

    Examples
    --------
    >>> ShiftedPerceptron(N=50, weighting="uniform").rule(Setting())[:3]
    (NoisyPowerLaw(eta0=2.0, z=0.75, N=50.0, q0=1.0), 50.0, 20.0)
    """

    schedule: Schedule | Callable[[float], float] | None = None
    N: float | None = None
    warmup: float = WARMUP
    weighting: str = "auto"

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
        if self.weighting not in WEIGHTINGS:
            raise ValueError(f"weighting: {', '.join(WEIGHTINGS)} expected, got {self.weighting!r}")
        schedule = own_rate(self.schedule) or NoisyPowerLaw(2.0, 0.75, N, 1.0)
        return Shifted(schedule, N, float(self.warmup), WEIGHTINGS[self.weighting])


class ShiftEvidence(NamedTuple):
    """What the running averages know of ψ: Σy·ψ, Σψ², and of the updates since the warm-up how many were which."""

    total: float
    squares: float
    plain: int
    shifted: int
    uniform: bool  # ψ ≡ 1


def unshifted(rule: Shifted, found: ShiftEvidence, t: int) -> str | None:
    """Why the plain rule is in use after round t, if it is.

    >>> rule = ShiftedPerceptron(N=5, weighting="uniform").rule(Setting())
    >>> print(unshifted(rule, ShiftEvidence(12.0, 400.0, 30, 4, uniform=True), 400))
    shifted: the labels are too balanced for the shift: |Σy| = 12 after 400 rounds, and T = ⟨y·x⟩/⟨y⟩ is used only
    above 3√t = 60. The plain rule is in use (30 of 34 updates since the warm-up): its model is biased if labels are
    noisy. Set weighting='linear'
    """
    if t <= rule.warmup * rule.N:
        return (
            f"shifted: rows are shifted from α = t/N = {rule.warmup:g} on, which is after round "
            f"{rule.warmup * rule.N:,.0f}; after {t:,} rounds only the plain rule has been used. "
            "Feed more rows, or set a smaller warmup or N"
        )
    if shifts(rule, found.total, found.squares, t):
        return None
    least = SIGMAS * math.sqrt(found.squares)
    in_use = (
        f"The plain rule is in use ({found.plain:,} of {found.plain + found.shifted:,} updates since the warm-up): its "
        "model is biased if labels are noisy"
    )
    if found.uniform:
        return (
            f"shifted: the labels are too balanced for the shift: |Σy| = {abs(found.total):,.0f} after {t:,} rounds, "
            f"and T = ⟨y·x⟩/⟨y⟩ is used only above 3√t = {least:,.0f}. {in_use}. Set weighting='linear'"
        )
    return (
        f"shifted: the weight ψ says too little of the labels: |Σy·ψ| = {abs(found.total):.3g} after {t:,} rounds, and "
        f"T = ψ·⟨y·x⟩/⟨y·ψ⟩ is used only above 3√(Σψ²) = {least:.3g}. {in_use}. Feed more rows"
    )
