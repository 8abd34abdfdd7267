"""Thresholded smooth functions: y = sgn f(x; W), W ← W + η(t)·y·∇f(x; W) after a mistake. See barkai1995, eq. 19-20."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from onepass.errors import DataError
from onepass.learners.learner import NonlinearLearner, own_rate
from onepass.rows import Floats
from onepass.schedules import InverseRoot, Schedule, rate
from onepass.smooth.functions import Function, Given, Linear, Quadratic, SoftCommittee, size, slope
from onepass.smooth.shift import GradientShift, plan_of

NAMES = ("linear", "committee", "quadratic")


@dataclass(frozen=True)
class SmoothThreshold(NonlinearLearner):
    """y = sgn f(x; W) for a differentiable f; W ← W + η(t)·y·∇f(x; W) after a mistake. See barkai1995, eq. 19-20.

    Its hypotheses are no linear models: it learns through `onepass.CutoffAverager`, in
    `onepass.SmoothThresholdClassifier`.

    Parameters
    ----------
    function : str or callable, default "committee"
        "linear", "committee" (soft, with `hidden` units), "quadratic", a NamedTuple of `onepass.smooth.functions`, or
        a function f(W, x) of your own.
    gradient : callable or None, default None
        Of a function of your own: gradient(W, x), an array like W.
    parameters : int or None, default None
        Of a function of your own: the length of W.
    hidden : int, default 3
        Units of the committee.
    schedule : schedule, callable or None, default None
        η(t): one of `onepass.schedules` or a function of t. None: 1/(inputs·√t).
    start : array_like or None, default None
        W before the first row. None: 0 for linear and quadratic, else small random numbers.
    weighting : str or None, default None
        How gradients are shifted so that output noise cancels: "uniform", "halfspace", "auto", or None: not at all. It
        costs a gradient for every row, not only for mistakes.
    warmup : float or None, default None
        Rows until gradients are shifted. None: 100 for each parameter.

    Examples
    --------
    >>> learner = SmoothThreshold("quadratic")
    >>> function = learner.function_of(inputs=2)
    >>> W = learner.first_weights(function, 2, np.random.default_rng(0))
    >>> learner.update(function, W, np.array([1.0, 2.0]), 1, t=1)
    array([0.5, 1. , 0.5, 1. , 2. ])
    """

    estimator: ClassVar[str] = "SmoothThresholdClassifier"

    function: Any = "committee"
    gradient: Callable[[Floats, Floats], Any] | None = None
    parameters: int | None = None
    hidden: int = 3
    schedule: Schedule | Callable[[float], float] | None = None
    start: Any = None
    weighting: str | None = None
    warmup: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "schedule", own_rate(self.schedule))

    def function_of(self, inputs: int) -> Function | Given:
        """The function for rows of so many inputs."""
        if isinstance(self.function, str):
            if self.function not in NAMES:
                raise ValueError(
                    f"function: {', '.join(NAMES)} or a function of W and x expected, got {self.function!r}"
                )
            if self.function == "committee":
                if not (isinstance(self.hidden, (int, np.integer)) and self.hidden >= 1):
                    raise ValueError(f"hidden: a whole number of at least 1 expected, got {self.hidden!r}")
                return SoftCommittee(inputs, int(self.hidden))
            return Linear(inputs) if self.function == "linear" else Quadratic(inputs)
        if isinstance(self.function, Linear | SoftCommittee | Quadratic):
            if self.function.inputs != inputs:
                raise ValueError(f"function: {self.function} does not fit rows of {inputs} inputs (intercept included)")
            return self.function
        if not callable(self.function):
            raise TypeError(f"function: a name or a function f(W, x) expected, got {self.function!r}")
        if not callable(self.gradient):
            raise TypeError("gradient: a function gradient(W, x) is needed beside a function of your own")
        if not (isinstance(self.parameters, (int, np.integer)) and self.parameters >= 1):
            raise ValueError(f"parameters: the length of W expected, got {self.parameters!r}")
        return Given(self.function, self.gradient, int(self.parameters))

    def first_weights(self, function: Function | Given, inputs: int, rng: np.random.Generator) -> Floats:
        """W before the first row. Equal hidden units would stay equal for ever: so they start at random."""
        n = function.parameters if isinstance(function, Given) else int(size(function))
        if self.start is not None:
            W = np.array(self.start, dtype=np.float64)
            if W.shape != (n,) or not np.isfinite(W).all():
                raise ValueError(f"start: {n} finite numbers expected, got shape {W.shape}")
            return W
        if isinstance(function, Linear | Quadratic):
            return np.zeros(n)
        return np.asarray(rng.standard_normal(n) / math.sqrt(inputs))

    def shift_for(self, parameters: int) -> GradientShift | None:
        """The shift before the first row, if there is one."""
        if self.weighting is None:
            return None
        return GradientShift(plan_of(self.weighting, self.warmup, parameters), parameters)

    def update(
        self, function: Function | Given, W: Floats, x: Floats, y: int, t: int, shift: GradientShift | None = None
    ) -> Floats:
        """W after a mistake in round t, a new array; the row enters the shift."""
        eta = float(rate(self.schedule or InverseRoot(1.0 / x.size), t))
        if not 0.0 <= eta < math.inf:
            raise ValueError(f"schedule: {self.schedule!r} gave {eta!r} at t = {t}; it must be finite and not negative")
        direction = slope(function, W, x) if shift is None else shift.direction(function, W, x, y)
        W = W + eta * y * direction
        if not np.isfinite(W).all():
            raise DataError(f"round {t}: the weights are no longer finite; rescale the features, or lower the rate")
        return W
