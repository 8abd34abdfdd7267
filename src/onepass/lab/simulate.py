"""Many students at once, each with a seed of its own; what comes out does not depend on the number of threads.

Each replica draws from the generator that its number and the seed determine, and a thread runs whole blocks of one
replica at a time. `run` chooses the cheapest exact way: students of a noiseless perceptron jump from mistake to mistake
(see clean), students of a noisy one draw three numbers a round (see noisy). `run_smooth` draws everything.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass.lab import clean, noisy, smooth
from onepass.lab.curves import Curves
from onepass.lab.noisy import ExactlyShifted
from onepass.lab.teachers import Perceptron, Smooth
from onepass.lab.theory import disagreement_at
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.learners.shifted import Shifted
from onepass.rows import Floats, Ints
from onepass.schedules import Schedule, checked, for_kernel

Rule = Normalized | Unnormalized | Shifted | ExactlyShifted
Progress = Callable[[float], None]

BLOCK = 2**20  # rounds a kernel runs before it returns: at most about 0.1 s


def run(
    teacher: Perceptron,
    rule: Rule,
    alphas: npt.ArrayLike,
    replicas: int = 200,
    seed: int = 0,
    start: float | tuple[float, float] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Curves:
    """Learning curves of `replicas` students of one perceptron, looked at after α = rounds/N in `alphas`.

    Students start anywhere on the unit sphere, or all at the overlap R = `start` (with shifted inputs at (R, q), q the
    overlap with U). `progress` is called with the share of the work done, from 0 to 1.

    >>> from onepass.schedules import Constant
    >>> run(Perceptron(N=100), Normalized(Constant(0.5), 100), alphas=[10.0, 100.0], replicas=50)
    Curves(replicas=50, alpha=10..100, error=0.136..0.0635)
    """
    rule = _checked_rule(rule, teacher)
    times, generators = _times(alphas, teacher.N), _generators(replicas, seed)
    angle, q = np.empty((replicas, times.size)), np.zeros((replicas, times.size))
    advance: Callable[[int, Rule, int, int, slice], None]
    if teacher.p == 0.0 and teacher.centred and isinstance(rule, Normalized | Unnormalized):
        advance = _clean_students(rule, start, times, angle, generators)
    elif isinstance(rule, Unnormalized):
        raise ValueError("rule: Unnormalized is simulated for noiseless teachers with centred inputs only")
    else:
        advance = _noisy_students(teacher, rule, start, times, angle, q, generators)

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        advance(i, rule._replace(schedule=schedule), first, stop, looks)

    _together(one, replicas, times, rule.schedule, threads, progress)
    error = teacher.p + (1.0 - 2.0 * teacher.p) * disagreement_at(angle, q, teacher.q0)
    return Curves(times, times / teacher.N, error, angle, q)


def run_smooth(
    teacher: Smooth,
    schedule: Schedule,
    rounds: npt.ArrayLike,
    replicas: int = 20,
    seed: int = 0,
    distance: float = 0.1,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Curves:
    """Students of a thresholded smooth function that start `distance` away from W₀ in a random direction.

    The error at a look is the share of mistakes since the look before. (What is said of these functions is said near
    the teacher: far from it there may be other places to settle.)

    >>> from onepass.lab.teachers import quadratic
    >>> from onepass.schedules import Constant
    >>> curves = run_smooth(quadratic(3), Constant(0.01), rounds=[20_000, 40_000], replicas=4)
    >>> bool(curves.mean[1] < 0.02)
    True
    """
    if not 0.0 <= distance < math.inf:
        raise ValueError(f"distance: a length expected, got {distance!r}")
    schedule = checked(schedule)
    times, generators = _times(rounds, 1), _generators(replicas, seed)
    counts = np.empty((replicas, times.size), dtype=np.int64)
    directions = [rng.standard_normal(teacher.W0.size) for rng in generators]
    W = [teacher.W0 + distance * d / math.sqrt(d @ d) for d in directions]
    mistakes = [0] * replicas

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        mistakes[i] = smooth.advance(
            W[i], mistakes[i], teacher.function, teacher.W0, schedule, first, stop, times[looks], counts[i, looks],
            generators[i],
        )  # fmt: skip

    _together(one, replicas, times, schedule, threads, progress)
    share = np.diff(counts, axis=1, prepend=0) / np.diff(times, prepend=0)
    return Curves(times, times.astype(np.float64), share)


def _clean_students(
    rule: Normalized | Unnormalized, start: Any, times: Ints, angle: Floats, generators: Sequence[np.random.Generator]
) -> Callable[..., None]:
    if start is not None and not -1.0 < start < 1.0:
        raise ValueError(f"start: an overlap between −1 and 1 expected, got {start!r}")
    students = []
    for rng in generators:
        direction = rng.standard_normal(int(rule.N))
        first = float(direction[0] / math.sqrt(direction @ direction)) if start is None else float(start)
        theta = math.acos(first)
        students.append(clean.Student(theta, 1.0, clean.wait(theta, rng)))

    def advance(i: int, rule: Rule, first: int, stop: int, looks: slice) -> None:
        students[i] = clean.advance(students[i], rule, stop, times[looks], angle[i, looks], generators[i])

    return advance


def _noisy_students(
    teacher: Perceptron,
    rule: Normalized | Shifted | ExactlyShifted,
    start: Any,
    times: Ints,
    angle: Floats,
    q: Floats,
    generators: Sequence[np.random.Generator],
) -> Callable[..., None]:
    frame = noisy.frame(teacher, rule)
    out = np.empty((angle.shape[0], times.size, 2))
    students = []
    for rng in generators:
        if start is None:
            d = rng.standard_normal(teacher.N)
            w = (d / math.sqrt(d @ d)).tolist()
            w1, w2 = w[0], w[1]
        else:
            w1, overlap = map(float, start)
            w2 = (overlap - teacher.q0 * w1) / teacher.side if teacher.side > 0.0 else 0.0
            if not w1**2 + w2**2 < 1.0 or abs(teacher.q0 * w1 + teacher.side * w2 - overlap) > 1e-12:
                raise ValueError(f"start: no W on the unit sphere has overlaps (R, q) = {start!r} with W₀ and U")
        w3 = math.sqrt(1.0 - w1**2 - w2**2)
        students.append(noisy.Student(w1, w2, w3, *[0.0] * 10))

    def advance(i: int, rule: Rule, first: int, stop: int, looks: slice) -> None:
        students[i] = noisy.advance(students[i], frame, rule, first, stop, times[looks], out[i, looks], generators[i])
        angle[i, looks], q[i, looks] = out[i, looks, 0], out[i, looks, 1]

    return advance


def _together(
    one: Callable[[int, int, int, slice, Schedule], None],
    replicas: int,
    times: Ints,
    schedule: Schedule,
    threads: int | None,
    progress: Progress | None,
) -> None:
    """Block by block, all replicas: one(replica, first, stop, looks, schedule) runs rounds first+1..stop."""
    if threads is not None and threads < 1:
        raise ValueError(f"threads: at least 1 expected, got {threads!r}")
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        try:
            for first, stop in _blocks(int(times[-1])):
                looks = slice(*np.searchsorted(times, [first, stop], side="right"))
                table = for_kernel(schedule, first + 1, stop)
                jobs = [pool.submit(one, i, first, stop, looks, table) for i in range(replicas)]
                for done, job in enumerate(jobs, 1):
                    job.result()
                    if progress is not None:
                        progress((first + (stop - first) * done / replicas) / float(times[-1]))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # Ctrl-C waits for the blocks under way, not for all of them
            raise


def _blocks(rounds: int) -> Iterator[tuple[int, int]]:
    for first in range(0, rounds, BLOCK):
        yield first, min(first + BLOCK, rounds)


def _generators(replicas: int, seed: int) -> list[np.random.Generator]:
    if replicas < 1:
        raise ValueError(f"replicas: at least 1 expected, got {replicas!r}")
    return [np.random.Generator(np.random.SFC64(child)) for child in np.random.SeedSequence(seed).spawn(replicas)]


def _times(alphas: npt.ArrayLike, N: int) -> Ints:
    """The rounds after which to look."""
    alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    if alphas.ndim != 1 or alphas.size == 0 or not np.isfinite(alphas).all():
        raise ValueError("alphas: a list of finite numbers expected")
    times = np.rint(alphas * N).astype(np.int64)
    if times[0] < 1 or not (np.diff(times) > 0).all():
        raise ValueError("alphas: increasing numbers, the first and all steps at least one round, expected")
    return times


def _checked_rule(rule: Any, teacher: Perceptron) -> Any:
    if not isinstance(rule, Normalized | Unnormalized | Shifted | ExactlyShifted):
        raise TypeError(f"rule: Normalized, Unnormalized, Shifted or ExactlyShifted expected, got {rule!r}")
    if rule.N != teacher.N:
        raise ValueError(f"rule: its N = {rule.N!r} is not the teacher's, {teacher.N}")
    if isinstance(rule, Shifted | ExactlyShifted) and not rule.warmup >= 0.0:
        raise ValueError(f"rule: its warmup is an α of at least 0, got {rule.warmup!r}")
    return type(rule)(checked(rule.schedule), *map(float, rule[1:]))
