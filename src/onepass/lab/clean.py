"""A student of a noiseless perceptron with centred inputs, in one number: the angle between W and W₀.

The inputs have no preferred direction, so only the angle θ matters, and between two mistakes it does not change:

- a mistake has probability θ/π, so the number of rounds until the next one is geometric;
- in the plane of W and W₀ an input has length r, r²/2 exponential, and given a mistake its direction is uniform in the
  wedge between the two boundaries: |W₀·S| = r·sin(uθ), |W·S| = r·sin((1−u)θ), u uniform in (0, 1);
- across that plane only the length of S counts, χ² with N − 2 degrees of freedom.

This is exact for every N, and costs one short computation per *mistake*, whatever N is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from onepass._jit import by_type, jit
from onepass.learners import normalized

NEVER = 2**62  # a round that no simulation reaches

step = by_type(normalized.STEPS)


class CleanStudent(NamedTuple):
    angle: float  # between W and W₀
    norm2: float  # ‖W‖²
    due: int  # round of the next mistake


@jit
def wait(angle, rng):  # type: ignore[no-untyped-def]
    """Rounds until the next mistake, that one included."""
    if angle <= 0.0:
        return NEVER
    return min(rng.geometric(angle / math.pi), NEVER)


@jit
def advance(student, rule, stop, times, out, rng):  # type: ignore[no-untyped-def]
    """The student after round `stop`.

    IN  times (points): the rounds after which to look, all at most stop and none before the last call's
    OUT out (points, 2): the angle between W and W₀ there, and U·W, which is 0
    """
    angle, norm2, due = student.angle, student.norm2, student.due
    point = 0
    while True:
        while point < times.size and times[point] < due:
            out[point, 0], out[point, 1] = angle, 0.0
            point += 1
        if due > stop:
            return CleanStudent(angle, norm2, due)
        r = math.sqrt(2.0 * rng.standard_exponential())
        u = rng.random()
        across2 = rng.chisquare(rule.N - 2.0)
        length = math.sqrt(norm2)
        margin = -length * r * math.sin((1.0 - u) * angle)
        x2 = r * r + across2
        _, a, norm2, _ = step(rule, margin, norm2, x2, x2, due)
        a /= length
        angle = math.atan2(
            math.hypot(math.sin(angle) - a * r * math.cos(u * angle), a * math.sqrt(across2)),
            math.cos(angle) + a * r * math.sin(u * angle),
        )
        due += wait(angle, rng)
