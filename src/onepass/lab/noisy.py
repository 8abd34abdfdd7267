"""A student of a noisy perceptron with shifted inputs, in a handful of numbers.

Five axes, of which the last three follow the student, carry all that matters; in every other direction all is alike:

    1  W₀        2  the rest of U        3  the rest of W        4  the rest of A = Σ y·S        5  the rest of S

Only the pair (W₀·S, W·S) and the noise decide whether a round errs. So a round draws S along axis 1 and along f, the
direction of W across W₀, and nothing else. The rest is drawn when a mistake happens, from its exact conditional law:
over n quiet rounds with labels y_i the rest of Σ y_i·S_i is Gaussian with mean (Σ y_i)·U and variance n, because the
labels depend only on what was drawn already. A round costs two normal numbers and a uniform one, whatever N is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from onepass._jit import by_type, jit
from onepass.lab.clean import NEVER
from onepass.lab.teachers import PerceptronTeacher
from onepass.learners.normalized import Normalized
from onepass.learners.shifted import WARMUP, WINDOW, Shifted, mirrored, shifts
from onepass.schedules import Schedule, rate


class ExactlyShifted(NamedTuple):
    """The shifted perceptron if T were known, used from α = warmup on; rate η(t)/N."""

    schedule: Schedule
    N: float
    warmup: float = WARMUP


class ExactlyWeighted(NamedTuple):
    """The perceptron shifted by T(S) = ψ(S)·⟨y·S⟩/⟨y·ψ⟩, ψ(S) = ⟨y·S⟩·S, if ⟨y·S⟩ were known; else like ExactlyShifted.

    T needs no ⟨y⟩ ≠ 0. Since y·S and y·ψ(S) stay as they are when S and y both change sign, a student of inputs
    around ±U, whose labels are balanced, is in law a student of inputs around U, and is simulated as one.
    """

    schedule: Schedule
    N: float
    warmup: float = WARMUP


class TeacherGeometry(NamedTuple):
    """The teacher, as the kernel sees it."""

    p: float
    q0: float  # U along axis 1
    side: float  # U along axis 2
    kappa: float  # T = U + κ·W₀
    g1: float  # g = ⟨sgn(W₀·S)·S⟩ along axes 1 and 2
    g2: float


class NoisyStudent(NamedTuple):
    w1: float  # W, along axes 1 to 3
    w2: float
    w3: float
    a1: float  # A up to the last mistake, along axes 1 to 4
    a2: float
    a3: float
    a4: float
    total: float  # Σ y over all rounds
    quiet: float  # rounds since the last mistake, and over these:
    quiet_y: float  # Σ y
    quiet_1: float  # Σ y·S along axis 1
    quiet_f: float  # Σ y·S along f
    mistakes: float  # in the current window


def geometry_of(teacher: PerceptronTeacher, rule: NamedTuple) -> TeacherGeometry:
    """The teacher's numbers; the exact shift is worked out only for the rule that needs it."""
    kappa = teacher.shift_along_teacher if isinstance(rule, ExactlyShifted) else 0.0
    return TeacherGeometry(float(teacher.p), float(teacher.q0), teacher.side, kappa, *teacher.mean_signed_input)


def _no_pull(rule, geometry, total, t, s1, s2):  # type: ignore[no-untyped-def]
    return 0.0, 0.0, 0.0


def _weighted_pull(rule, geometry, total, t, s1, s2):  # type: ignore[no-untyped-def]
    if t <= rule.warmup * rule.N:
        return 0.0, 0.0, 0.0
    g1, g2 = geometry.g1, geometry.g2
    weight = (g1 * s1 + g2 * s2) / (g1 * g1 + g2 * g2)
    return g1 * weight, g2 * weight, 0.0


def _exact_pull(rule, geometry, total, t, s1, s2):  # type: ignore[no-untyped-def]
    if t <= rule.warmup * rule.N:
        return 0.0, 0.0, 0.0
    return geometry.q0 + geometry.kappa, geometry.side, 0.0


def _running_pull(rule, geometry, total, t, s1, s2):  # type: ignore[no-untyped-def]
    return 0.0, 0.0, (1.0 / total if shifts(rule, total, t, t) else 0.0)


def _never_turns(rule, mistakes):  # type: ignore[no-untyped-def]
    return False


pull = by_type(  # (c1, c2, k): T has c1, c2 on axes 1, 2 and k·A on top
    {Normalized: _no_pull, ExactlyShifted: _exact_pull, ExactlyWeighted: _weighted_pull, Shifted: _running_pull}
)
turns = by_type({Normalized: _never_turns, ExactlyShifted: mirrored, ExactlyWeighted: mirrored, Shifted: mirrored})


@jit
def across(w2, w3, side):  # type: ignore[no-untyped-def]
    """W across W₀: its length, its direction f = (f2, f3), and U along f and along g = (−f3, f2)."""
    sine = math.hypot(w2, w3)
    f2, f3 = (w2 / sine, w3 / sine) if sine > 0.0 else (0.0, 1.0)
    return sine, f2, f3, side * f2, -side * f3


@jit
def advance(student, geometry, rule, t, stop, times, out, rng):  # type: ignore[no-untyped-def]
    """The student after rounds t+1..stop.

    IN  times (points): the rounds after which to look, in t+1..stop
    OUT out (points, 2): the angle between W and W₀, and q = U·W
    """
    # long, and with eight arguments: the student's thirteen numbers stay in registers from round to round
    w1, w2, w3 = student.w1, student.w2, student.w3
    a1, a2, a3, a4 = student.a1, student.a2, student.a3, student.a4
    total, mistakes = student.total, student.mistakes
    quiet, quiet_y, quiet_1, quiet_f = student.quiet, student.quiet_y, student.quiet_1, student.quiet_f
    others = rule.N - 4.0  # directions beyond the first four axes
    sine, f2, f3, u_f, u_g = across(w2, w3, geometry.side)
    point = 0
    look = times[0] if times.size else NEVER
    while t < stop:
        t += 1
        s1 = geometry.q0 + rng.standard_normal()
        sf = u_f + rng.standard_normal()
        y = 1.0 if s1 > 0.0 else -1.0
        if geometry.p > 0.0 and rng.random() < geometry.p:
            y = -y
        total += y
        if y * (w1 * s1 + sine * sf) > 0.0:
            quiet += 1.0
            quiet_y += y
            quiet_1 += y * s1
            quiet_f += y * sf
        else:
            mistakes += 1.0
            # what the quiet rounds added to A
            root = math.sqrt(quiet)
            quiet_g = quiet_y * u_g + root * rng.standard_normal()
            a1 += quiet_1
            a2 += quiet_f * f2 - quiet_g * f3
            a3 += quiet_f * f3 + quiet_g * f2
            a4 = math.hypot(a4 + root * rng.standard_normal(), root * math.sqrt(rng.chisquare(others)))
            quiet = quiet_y = quiet_1 = quiet_f = 0.0
            # the rest of this round's S, then A, T and W with it
            sg = u_g + rng.standard_normal()
            s2, s3 = sf * f2 - sg * f3, sf * f3 + sg * f2
            s4, s5 = rng.standard_normal(), math.sqrt(rng.chisquare(others))
            a1, a2, a3, a4, a5 = a1 + y * s1, a2 + y * s2, a3 + y * s3, a4 + y * s4, y * s5
            c1, c2, k = pull(rule, geometry, total, t, s1, s2)
            h = y * rate(rule.schedule, t) / rule.N
            w1 += h * (s1 - c1 - k * a1)
            w2 += h * (s2 - c2 - k * a2)
            w3 += h * (s3 - k * a3)
            w4 = h * (s4 - k * a4)
            w5 = h * (s5 - k * a5)
            length = math.sqrt(w1 * w1 + w2 * w2 + w3 * w3 + w4 * w4 + w5 * w5)
            w1, w2, w3, w4, w5 = w1 / length, w2 / length, w3 / length, w4 / length, w5 / length
            # axis 3 turns to the rest of the new W, axis 4 to what A has beyond it
            rest = math.sqrt(w3 * w3 + w4 * w4 + w5 * w5)
            e3, e4, e5 = w3 / rest, w4 / rest, w5 / rest
            along = a3 * e3 + a4 * e4 + a5 * e5
            a4 = math.sqrt((a3 - along * e3) ** 2 + (a4 - along * e4) ** 2 + (a5 - along * e5) ** 2)
            a3, w3 = along, rest
            sine, f2, f3, u_f, u_g = across(w2, w3, geometry.side)
        if t % WINDOW == 0:
            if turns(rule, mistakes):
                w1, w2, a3, quiet_f = -w1, -w2, -a3, -quiet_f  # axis 3 turns with W, so w3 stays
                sine, f2, f3, u_f, u_g = across(w2, w3, geometry.side)
            mistakes = 0.0
        if t == look:
            out[point, 0] = math.atan2(sine, w1)
            out[point, 1] = geometry.q0 * w1 + geometry.side * w2
            point += 1
            look = times[point] if point < times.size else NEVER
    return NoisyStudent(w1, w2, w3, a1, a2, a3, a4, total, quiet, quiet_y, quiet_1, quiet_f, mistakes)
