"""A student of a thresholded smooth function: draw, judge, step. See barkai1995, eq. 19-20.

Nothing is known of the inputs' geometry here, so every input is drawn whole, and the error is counted, not computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepass._jit import allocating, jit
from onepass.rows import Floats
from onepass.schedules import rate
from onepass.smooth.functions import gradient, value
from onepass.smooth.shift import Averages, enter, shift


@jit
def positive(function, W, x):  # type: ignore[no-untyped-def]
    """Whether f(x; W) > 0. (A function of its own, because `value` is inlined where it is called.)"""
    return value(function, W, x) > 0.0


class SmoothStudent(NamedTuple):
    """The parameters, which learning changes in place, and the number of mistakes so far."""

    W: Floats
    mistakes: int


@allocating
def advance(student, teacher, schedule, t, stop, looks, rng):  # type: ignore[no-untyped-def]
    """The student after rounds t+1..stop.

    IN  teacher: the function and the teacher's parameters; looks[0] (points): the rounds after which to look, in
        t+1..stop
    OUT looks[1] (points): the number of mistakes up to there
    """
    (W, mistakes), (function, W0), (times, out) = student, teacher, looks
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
    return SmoothStudent(W, mistakes)


class NoisySmoothStudent(NamedTuple):
    """Parameters and averages, which learning changes in place, and how often it differed from the clean teacher."""

    W: Floats
    averages: Averages
    differences: int


@allocating
def advance_noisy(student, teacher, rule, t, stop, looks, rng):  # type: ignore[no-untyped-def]
    """The student of labels that are turned over with probability p, after rounds t+1..stop.

    IN  teacher: the function, the teacher's parameters and p; rule: the schedule and the plan of the shift
    OUT looks[1] (points): how often student and clean teacher differed up to looks[0]
    """
    (W, averages, differences), (function, W0, p), (times, out) = student, teacher, looks
    schedule, plan = rule
    x, direction = np.empty(function.inputs), np.empty(W.size)
    point = 0
    while t < stop:
        t += 1
        for i in range(x.size):
            x[i] = rng.standard_normal()
        clean, said = positive(function, W0, x), positive(function, W, x)
        differences += said != clean
        label = clean if rng.random() >= p else not clean
        gradient(function, W, x, direction)
        weight = enter(averages, plan, direction, 1.0 if label else -1.0)
        if said != label:
            shift(averages, plan, weight, direction)
            h = rate(schedule, t) if label else -rate(schedule, t)
            for i in range(W.size):
                W[i] += h * direction[i]
        if point < times.size and t == times[point]:
            out[point] = differences
            point += 1
    return NoisySmoothStudent(W, averages, differences)
