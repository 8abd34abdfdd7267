"""A student of a thresholded smooth function: draw, judge, step. See barkai1995, eq. 19-20.

Nothing is known of the inputs' geometry here, so every input is drawn whole, and the error is counted, not computed.
"""

from __future__ import annotations

import numpy as np

from onepass._jit import jit
from onepass.learners.smooth import gradient, value
from onepass.schedules import rate


@jit
def positive(function, W, x):  # type: ignore[no-untyped-def]
    """Whether f(x; W) > 0. (A function of its own, because `value` is inlined where it is called.)"""
    return value(function, W, x) > 0.0


@jit
def advance(W, mistakes, function, W0, schedule, t, stop, times, out, rng):  # type: ignore[no-untyped-def]
    """The number of mistakes up to round `stop`, given those up to round t.

    IN  times (points): the rounds after which to look, in t+1..stop
    OUT out (points): the number of mistakes up to there; W is changed in place
    """
    x, slope = np.empty(function.inputs), np.empty(W.size)
    point = 0
    while t < stop:
        t += 1
        for i in range(x.size):
            x[i] = rng.standard_normal()
        right = positive(function, W0, x)
        if positive(function, W, x) != right:
            mistakes += 1
            gradient(function, W, x, slope)
            h = rate(schedule, t) if right else -rate(schedule, t)
            for i in range(W.size):
                W[i] += h * slope[i]
        if point < times.size and t == times[point]:
            out[point] = mistakes
            point += 1
    return mistakes
