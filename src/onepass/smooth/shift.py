"""The shift of thresholded smooth functions under output noise. See barkai1995, section 4.

    W ← W + η·y·(∇f − T) after a mistake,   T(x) = ψ(x)·⟨y·∇f⟩/⟨y·ψ⟩ by running averages

Labels that are turned over with probability p pull W₀ along −p·⟨sgn f₀·∇f⟩; with ⟨y·(∇f − T)⟩ = 0 that pull is zero, as
for the perceptron, whose ∇f is x. ψ ≡ 1, or ψ = [v·∇f > 0] (half-space), v the mean of y·∇f in the warm-up, which is
taken where labels are balanced. The perceptron's linear ψ = v·x is not for these functions: its steps are orthogonal to
v, and where f has no scale of its own to spare, as a perceptron has, v·W would stay where the warm-up left it for ever.
∇f changes with W, so the averages forget: whenever the number of rows doubles, what was summed before counts half.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onepass._jit import allocating, jit
from onepass.learners.shifted import SIGMAS, WEIGHTINGS, Weighting
from onepass.rows import Floats, Ints
from onepass.smooth.functions import BLOCK, Function, Given, gradient, slope

SHAPES = {  # ψ by name
    "auto": WEIGHTINGS["halfspace"]._replace(patience=WEIGHTINGS["auto"].patience),
    "uniform": WEIGHTINGS["uniform"],
    "halfspace": WEIGHTINGS["halfspace"],
}
TOTAL, SQUARES, FIXED, LEVEL, SLOPE, STEP, ROUNDS = range(7)  # places in Averages.state


class Averages(NamedTuple):
    """What is known of y·∇f so far; learning changes it in place."""

    P: Floats  # Σ y·∇f
    V: Floats  # v in ψ
    state: Floats  # Σ y·ψ, Σ ψ², whether ψ is fixed, its coefficients, rounds


class ShiftPlan(NamedTuple):
    """The rounds after which gradients are shifted, and ψ."""

    warmup: float
    weighting: Weighting


def no_averages(parameters: int) -> Averages:
    state = np.zeros(ROUNDS + 1)
    state[LEVEL] = 1.0
    return Averages(np.zeros(parameters), np.zeros(parameters), state)


def plan_of(weighting: str, warmup: float | None, parameters: int) -> ShiftPlan:
    """The plan by its name; the warm-up is 100 rows for each parameter unless it is said otherwise."""
    if weighting not in SHAPES:
        raise ValueError(f"weighting: {', '.join(SHAPES)} or None expected, got {weighting!r}")
    if warmup is None:
        warmup = 100.0 * parameters
    if not 0.0 <= warmup < np.inf:
        raise ValueError(f"warmup: a number of rows of at least 0 expected, got {warmup!r}")
    return ShiftPlan(float(warmup), SHAPES[weighting])


@jit
def enter(averages, plan, direction, label):  # type: ignore[no-untyped-def]
    """ψ of a row with this gradient and label, which enters the averages."""
    P, V, state = averages
    t = np.int64(state[ROUNDS]) + 1
    state[ROUNDS] = t
    weighting = plan.weighting
    if state[FIXED] == 0.0 and t > max(max(plan.warmup, 1.0), weighting.patience):
        state[FIXED] = 1.0
        spared = weighting.patience > 0.0 and state[TOTAL] * state[TOTAL] > SIGMAS * SIGMAS * state[SQUARES]
        if not spared and weighting.level != 1.0:
            for i in range(P.size):
                V[i] = P[i] / state[SQUARES]  # with ψ ≡ 1 so far, Σψ² is the number of rows that count
                P[i] = 0.0
            state[TOTAL], state[SQUARES] = 0.0, 0.0
            state[LEVEL], state[SLOPE], state[STEP] = weighting.level, weighting.slope, weighting.step
    elif t & (t - 1) == 0:  # a power of two: the past counts half
        for i in range(P.size):
            P[i] *= 0.5
        state[TOTAL] *= 0.5
        state[SQUARES] *= 0.5
    weight = 1.0
    if state[LEVEL] != 1.0:
        z = 0.0
        for i in range(P.size):
            z += V[i] * direction[i]
        weight = state[SLOPE] * z + (state[STEP] if z > 0.0 else 0.0)
    for i in range(P.size):
        P[i] += label * direction[i]
    state[TOTAL] += label * weight
    state[SQUARES] += weight * weight
    return weight


@jit
def shift(averages, plan, weight, direction):  # type: ignore[no-untyped-def]
    """∇f becomes ∇f − T, where ⟨y·ψ⟩ is known from zero; whether it did."""
    P, _, state = averages
    total = state[TOTAL]
    if not (state[ROUNDS] > plan.warmup and total * total > SIGMAS * SIGMAS * state[SQUARES]):
        return False
    for i in range(P.size):
        direction[i] -= weight * P[i] / total
    return True


@allocating
def _absorb(function, W, X, y, span, averages, plan):  # type: ignore[no-untyped-def]
    (first, last), direction = span, np.empty(W.size)
    for i in range(first, last):
        gradient(function, W, X[i], direction)
        enter(averages, plan, direction, float(y[i]))


class GradientShift:
    """The shift at work: rows in, shifted gradients out. A row enters before its own step, as the perceptron's does.

    >>> from onepass.smooth.functions import Linear
    >>> shift = GradientShift(plan_of("uniform", 0.0, 1), 1)
    >>> X, y = np.array([[1.0]] * 80), np.array([1] * 78 + [-1] * 2)
    >>> shift.absorb(Linear(1), np.zeros(1), X, y, 0, 79)
    >>> shift.direction(Linear(1), np.zeros(1), X[79], -1)
    array([0.])
    """

    def __init__(self, plan: ShiftPlan, parameters: int) -> None:
        self.plan, self.averages = plan, no_averages(parameters)

    def absorb(self, function: Function | Given, W: Floats, X: Floats, y: Ints, first: int, last: int) -> None:
        """Rows first..last − 1 enter the averages."""
        if isinstance(function, Given):
            for i in range(first, last):
                enter(self.averages, self.plan, slope(function, W, X[i]), float(y[i]))
            return
        for begin in range(first, last, BLOCK):
            span = (begin, min(begin + BLOCK, last))
            _absorb(function, W, X, y, span, self.averages, self.plan)

    def direction(self, function: Function | Given, W: Floats, x: Any, y: int) -> Floats:
        """∇f − T for a row, which enters the averages first."""
        out = slope(function, W, x)
        weight = enter(self.averages, self.plan, out, float(y))
        shift(self.averages, self.plan, weight, out)
        return out
