"""Many students at once, each with a seed of its own; what comes out does not depend on the number of threads.

Each replica draws from the generator that its number and the seed determine, and a thread runs whole blocks of one
replica at a time. `run` chooses the cheapest exact way: students of a noiseless perceptron jump from mistake to mistake
(see clean), students of a noisy one draw three numbers a round (see noisy). `run_smooth` draws everything.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
from numpy.random import Generator

from onepass.executor import ThreadExecutor
from onepass.lab import clean, noisy, smooth
from onepass.lab.curves import LearningCurves
from onepass.lab.noisy import ExactlyShifted, ExactlyWeighted
from onepass.lab.teachers import PerceptronTeacher, SmoothTeacher
from onepass.lab.theory import disagreement_at
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.learners.shifted import WEIGHTINGS, Shifted
from onepass.rows import Floats, Ints
from onepass.schedules import Schedule, checked, for_kernel
from onepass.smooth.shift import ShiftPlan, no_averages, plan_of

Rule = Normalized | Unnormalized | Shifted | ExactlyShifted | ExactlyWeighted
Progress = Callable[[float], None]
Start = tuple[float, float]
Advance = Callable[[int, Rule, int, int, Ints, Floats], None]

BLOCK = 2**20  # rounds that a kernel runs before it returns: less than 0.1 s


def run(
    teacher: PerceptronTeacher,
    rule: Rule,
    alphas: npt.ArrayLike,
    replicas: int = 200,
    seed: int = 0,
    start: float | tuple[float, float] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> LearningCurves:
    """Learning curves of `replicas` students of one perceptron, looked at after α = rounds/N in `alphas`.

    Parameters
    ----------
    teacher : PerceptronTeacher
        Who gives the labels.
    rule : rule
        How students learn, such as `Normalized(schedule, N)`.
    alphas : array_like
        Where to look: α = rounds/N, rising.
    replicas : int, default 200
        Students.
    seed : int, default 0
        Of all draws.
    start : float, (float, float) or None, default None
        The overlap R at which all start (with shifted inputs (R, q)). None: anywhere on the unit sphere.
    threads : int or None, default None
        None: all cores; the result is the same for any number.
    progress : callable or None, default None
        Called with the share of the work done, from 0 to 1.

    Returns
    -------
    LearningCurves
        The error of every student at every look.

    Examples
    --------
    >>> from onepass.schedules import Constant
    >>> run(PerceptronTeacher(N=100), Normalized(Constant(0.5), 100), alphas=[10.0, 100.0], replicas=50)
    LearningCurves(replicas=50, alpha=10..100, error=0.1331..0.06265)
    """
    rule = _checked_rule(rule, teacher)
    times, generators = _times(alphas, teacher.N), generators_of(replicas, seed)
    out = np.empty((replicas, times.size, 2))
    begin = _clean_students if _is_clean(teacher, rule) else _noisy_students
    advance = begin(teacher, rule, _starts(teacher, start, generators), generators)

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        advance(i, rule._replace(schedule=schedule), first, stop, times[looks], out[i, looks])

    run_blocks(one, replicas, times, BLOCK, rule.schedule, threads, progress)
    angle, q = out[:, :, 0], out[:, :, 1]
    error = teacher.p + (1.0 - 2.0 * teacher.p) * disagreement_at(angle, q, teacher.q0)
    return LearningCurves(times, times / teacher.N, error, angle, q)


def run_smooth(
    teacher: SmoothTeacher,
    schedule: Schedule,
    rounds: npt.ArrayLike,
    replicas: int = 20,
    seed: int = 0,
    distance: float = 0.1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> LearningCurves:
    """Students of a thresholded smooth function that start `distance` away from W₀ in a random direction.

    The error at a look is the share of mistakes since the look before. (What is said of these functions is said near
    the teacher: far from it there may be other places to settle.)

    Parameters
    ----------
    teacher : SmoothTeacher
        Who gives the labels.
    schedule : Schedule
        The rate.
    rounds : array_like
        Where to look, rising.
    replicas : int, default 20
        Students.
    seed : int, default 0
        Of all draws.
    distance : float, default 0.1
        From W₀, in a random direction, at the start.
    threads : int or None, default None
        None: all cores.
    progress : callable or None, default None
        Called with the share of the work done.

    Returns
    -------
    LearningCurves
        The share of mistakes since the look before, of every student at every look.

    Examples
    --------
    >>> from onepass.lab.teachers import quadratic
    >>> from onepass.schedules import Constant
    >>> curves = run_smooth(quadratic(3), Constant(0.01), rounds=[20_000, 40_000], replicas=4)
    >>> bool(curves.mean[1] < 0.02)
    True
    """
    if not 0.0 <= distance < math.inf:
        raise ValueError(f"distance: a length expected, got {distance!r}")
    schedule = checked(schedule)
    times, generators = _times(rounds, 1), generators_of(replicas, seed)
    counts = np.empty((replicas, times.size), dtype=np.int64)
    directions = [rng.standard_normal(teacher.W0.size) for rng in generators]
    students = [smooth.SmoothStudent(teacher.W0 + distance * d / math.sqrt(d @ d), 0) for d in directions]

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        here = times[looks], counts[i, looks]
        target = teacher.function, teacher.W0
        students[i] = smooth.advance(students[i], target, schedule, first, stop, here, generators[i])

    block = max(1, 4 * BLOCK // (teacher.function.inputs + teacher.W0.size))  # a round costs as much as it has numbers
    run_blocks(one, replicas, times, block, schedule, threads, progress)
    share = np.diff(counts, axis=1, prepend=0) / np.diff(times, prepend=0)
    return LearningCurves(times, times.astype(np.float64), share)


class NoisySmooth(NamedTuple):
    """What a student of a noisy smooth function does: its rate, and how it shifts.

    Attributes
    ----------
    schedule : Schedule
        Of its rate.
    p : float
        The probability that a label is turned over.
    weighting : str or None, default "auto"
        How the shift weighs rows. None: there is no shift.
    warmup : float or None, default None
        Rows before the shift is used. None: 100 for each parameter.

    Examples
    --------
    >>> from onepass.schedules import Constant
    >>> NoisySmooth(Constant(0.1), p=0.2).weighting
    'auto'
    """

    schedule: Schedule
    p: float
    weighting: str | None = "auto"
    warmup: float | None = None

    def plan(self, parameters: int) -> ShiftPlan:
        if self.weighting is None:
            return ShiftPlan(math.inf, WEIGHTINGS["uniform"])
        return plan_of(self.weighting, self.warmup, parameters)


def run_noisy_smooth(
    teacher: SmoothTeacher,
    rule: NoisySmooth,
    rounds: npt.ArrayLike,
    starts: Floats,
    how: tuple[int, int | None, Progress | None] = (0, None, None),
) -> tuple[LearningCurves, Floats]:
    """Students of labels that are turned over with probability p, from these starts (a row each); and where they end.

    The error is p + (1 − 2p) times the share of rows since the look before on which student and clean teacher differ.

    Parameters
    ----------
    teacher : SmoothTeacher
        Who gives the labels, before they are turned over.
    rule : NoisySmooth
        How students learn.
    rounds : array_like
        Where to look, rising.
    starts : array of float
        (students, parameters).
    how : tuple, default (0, None, None)
        Seed, threads, progress.

    Returns
    -------
    (LearningCurves, array of float)
        The error of every student at every look, and the parameters at the end.

    Raises
    ------
    ValueError
        If p is no probability below ½.

    Examples
    --------
    >>> from onepass.lab.teachers import quadratic
    >>> from onepass.schedules import Constant
    >>> teacher = quadratic(2)
    >>> rule = NoisySmooth(Constant(0.01), p=0.1)
    >>> curves, ends = run_noisy_smooth(teacher, rule, [1000], [teacher.W0] * 4)  # doctest: +SKIP
    """
    if not 0.0 <= rule.p < 0.5:
        raise ValueError(f"p: a probability in [0, 0.5) expected, got {rule.p!r}")
    seed, threads, progress = how
    schedule, plan = checked(rule.schedule), rule.plan(teacher.W0.size)
    times, generators = _times(rounds, 1), generators_of(len(starts), seed)
    counts = np.empty((len(starts), times.size), dtype=np.int64)
    students = [smooth.NoisySmoothStudent(W, no_averages(W.size), 0) for W in starts.copy()]
    target = teacher.function, teacher.W0, float(rule.p)

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        here = times[looks], counts[i, looks]
        students[i] = smooth.advance_noisy(students[i], target, (schedule, plan), first, stop, here, generators[i])

    block = max(1, 2 * BLOCK // (teacher.function.inputs + teacher.W0.size))
    run_blocks(one, len(starts), times, block, schedule, threads, progress)
    share = np.diff(counts, axis=1, prepend=0) / np.diff(times, prepend=0)
    curves = LearningCurves(times, times.astype(np.float64), rule.p + (1.0 - 2.0 * rule.p) * share)
    return curves, np.array([student.W for student in students])


def _is_clean(teacher: PerceptronTeacher, rule: Rule) -> bool:
    """Whether one angle says it all."""
    if teacher.p == 0.0 and teacher.centred and isinstance(rule, Normalized | Unnormalized):
        return True
    if isinstance(rule, Unnormalized):
        raise ValueError("rule: Unnormalized is simulated for noiseless teachers with centred inputs only")
    return False


def _clean_students(teacher: PerceptronTeacher, rule: Any, starts: list[Start], generators: list[Generator]) -> Advance:
    angles = [math.acos(w1) for w1, _ in starts]
    students = [
        clean.CleanStudent(angle, 1.0, clean.wait(angle, rng)) for angle, rng in zip(angles, generators, strict=True)
    ]

    def advance(i: int, rule: Rule, first: int, stop: int, times: Ints, out: Floats) -> None:
        students[i] = clean.advance(students[i], rule, stop, times, out, generators[i])

    return advance


def _noisy_students(teacher: PerceptronTeacher, rule: Any, starts: list[Start], generators: list[Generator]) -> Advance:
    geometry = noisy.geometry_of(teacher, rule)
    students = [noisy.NoisyStudent(w1, w2, math.sqrt(1.0 - w1**2 - w2**2), *[0.0] * 10) for w1, w2 in starts]

    def advance(i: int, rule: Rule, first: int, stop: int, times: Ints, out: Floats) -> None:
        students[i] = noisy.advance(students[i], geometry, rule, first, stop, times, out, generators[i])

    return advance


def _starts(teacher: PerceptronTeacher, start: Any, generators: list[Generator]) -> list[Start]:
    """Where each student's W lies along W₀ and along the rest of U."""
    if start is None:
        whole = [rng.standard_normal(teacher.N) for rng in generators]
        return [(float(W[0] / length), float(W[1] / length)) for W in whole for length in [math.sqrt(W @ W)]]
    if teacher.centred and np.ndim(start) == 0:
        start = (start, 0.0)
    if np.shape(start) != (2,):
        raise ValueError(f"start: overlaps (R, q) expected, or R alone where the inputs are centred, got {start!r}")
    R, q = map(float, start)
    w2 = (q - teacher.q0 * R) / teacher.side if teacher.side > 0.0 else 0.0
    if not R**2 + w2**2 < 1.0 or abs(teacher.q0 * R + teacher.side * w2 - q) > 1e-12:
        raise ValueError(f"start: no W on the unit sphere but ±W₀ has overlaps (R, q) = {start!r} with W₀ and U")
    return [(R, w2)] * len(generators)


def run_blocks(
    one: Callable[[int, int, int, slice, Schedule], None],
    replicas: int,
    times: Ints,
    block: int,
    schedule: Schedule,
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Block by block, all replicas: one(replica, first, stop, looks, schedule) runs rounds first+1..stop."""
    end = int(times[-1])

    def run_block(first: int, executor: ThreadExecutor) -> None:
        stop = min(first + block, end)
        looks = slice(*np.searchsorted(times, [first, stop], side="right"))
        table = for_kernel(schedule, first + 1, stop)

        def tick(done: int) -> None:
            if progress is not None:
                progress((first + (stop - first) * done / replicas) / end)

        executor.map(lambda i: one(i, first, stop, looks, table), range(replicas), tick)

    with ThreadExecutor(threads) as executor:
        for first in range(0, end, block):
            run_block(first, executor)


def generators_of(replicas: int, seed: int) -> list[Generator]:
    if replicas < 1:
        raise ValueError(f"replicas: at least 1 expected, got {replicas!r}")
    return [Generator(np.random.SFC64(child)) for child in np.random.SeedSequence(seed).spawn(replicas)]


def _times(alphas: npt.ArrayLike, N: int) -> Ints:
    """The rounds after which to look."""
    alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if alphas.ndim != 1 or alphas.size == 0 or not np.isfinite(alphas).all():
        raise ValueError("alphas: a list of finite numbers expected")
    times: Ints = np.rint(alphas * N).astype(np.int64)
    if times[0] < 1 or not (np.diff(times) > 0).all():
        raise ValueError("alphas: increasing numbers, the first and all steps at least one round, expected")
    return times


def _checked_rule(rule: Any, teacher: PerceptronTeacher) -> Any:
    if not isinstance(rule, Rule):
        raise TypeError(f"rule: {', '.join(kind.__name__ for kind in get_args(Rule))} expected, got {rule!r}")
    if rule.N != teacher.N:
        raise ValueError(f"rule: its N = {rule.N!r} is not the teacher's, {teacher.N}")
    if isinstance(rule, Shifted | ExactlyShifted | ExactlyWeighted) and not rule.warmup >= 0.0:
        raise ValueError(f"rule: its warmup is an α of at least 0, got {rule.warmup!r}")
    if isinstance(rule, Shifted) and rule.weighting != WEIGHTINGS["uniform"]:
        raise ValueError("rule: students are simulated with weighting='uniform'; ExactlyWeighted has a linear one")
    numbers: dict[str, Any] = {name: float(getattr(rule, name)) for name in ("N", "warmup") if name in rule._fields}
    return rule._replace(schedule=checked(rule.schedule), **numbers)
