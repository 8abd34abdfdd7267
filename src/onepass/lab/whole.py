"""Students whose inputs are drawn whole, so that they need not be Gaussian.

The large-N results rest on W₀·S and W·S being normal, which sums of many inputs are. Inputs lie around U, or around ±U,
with variance 1; teacher and U have random directions, for a teacher along one axis would see one input and no sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.random import Generator
from scipy import special

from onepass._jit import allocating, by_type, jit
from onepass.lab.bench import Bench
from onepass.lab.curves import LearningCurves
from onepass.lab.noisy import ExactlyShifted, ExactlyWeighted
from onepass.lab.parity import ParityTeacher
from onepass.lab.simulate import generators_of, run_blocks
from onepass.lab.teachers import PerceptronTeacher
from onepass.learners import normalized
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.learners.shifted import Shifted, shifts
from onepass.rows import Floats, Ints
from onepass.schedules import Custom, Schedule, checked, rate

InputLaw = Callable[[Generator, tuple[int, int]], Floats]


def gaussian(rng: Generator, shape: tuple[int, int]) -> Floats:
    return rng.standard_normal(shape)


def binary(rng: Generator, shape: tuple[int, int]) -> Floats:
    """±1."""
    return 2.0 * rng.integers(0, 2, shape, dtype=np.int8).astype(np.float64) - 1.0


def uniform(rng: Generator, shape: tuple[int, int]) -> Floats:
    """Between ±√3."""
    return math.sqrt(3.0) * (2.0 * rng.random(shape) - 1.0)


LAWS: dict[str, InputLaw] = {"Gaussian": gaussian, "binary": binary, "uniform": uniform}


def _plain_step(rule, W, S, y, norm2, averages, t):  # type: ignore[no-untyped-def]
    x2 = 0.0
    margin = 0.0
    for i in range(W.size):
        x2 += S[i] * S[i]
        margin += W[i] * S[i]
    _, a, norm2, shrink = perceptron(rule, y * margin, norm2, x2, x2, t)
    for i in range(W.size):
        W[i] = shrink * (W[i] + a * y * S[i])
    return norm2


@jit
def _step_less(W, S, h, A, k):  # type: ignore[no-untyped-def]
    """W ← W + h·(S − k·A), normalised."""
    norm2 = 0.0
    for i in range(W.size):
        W[i] += h * (S[i] - k * A[i])
        norm2 += W[i] * W[i]
    for i in range(W.size):
        W[i] /= math.sqrt(norm2)
    return 1.0


def _shifted_step(rule, W, S, y, norm2, averages, t):  # type: ignore[no-untyped-def]
    A, total, _ = averages
    k = 1.0 / total[0] if shifts(rule, total[0], t, t) else 0.0
    return _step_less(W, S, y * rate(rule.schedule, t) / rule.N, A, k)


def _exactly_shifted_step(rule, W, S, y, norm2, averages, t):  # type: ignore[no-untyped-def]
    k = 1.0 if t > rule.warmup * rule.N else 0.0
    return _step_less(W, S, y * rate(rule.schedule, t) / rule.N, averages[2], k)


def _exactly_weighted_step(rule, W, S, y, norm2, averages, t):  # type: ignore[no-untyped-def]
    g = averages[2]
    weight = length2 = 0.0
    for i in range(g.size):
        weight += g[i] * S[i]
        length2 += g[i] * g[i]
    k = weight / length2 if t > rule.warmup * rule.N else 0.0
    return _step_less(W, S, y * rate(rule.schedule, t) / rule.N, g, k)


perceptron = by_type(normalized.STEPS)
learn = by_type(
    {
        Normalized: _plain_step,
        Unnormalized: _plain_step,
        Shifted: _shifted_step,
        ExactlyShifted: _exactly_shifted_step,
        ExactlyWeighted: _exactly_weighted_step,
    }
)


@jit
def advance(student, teacher, rule, first, S, flips, looks):  # type: ignore[no-untyped-def]
    """Rounds first+1, first+2, … with the inputs S (rounds, N), in place.

    IN  student: W, ‖W‖² (1), Σ y·S, Σ y (1), differences (1); teacher: W₀, and what an exact rule knows, T or ⟨y·S⟩;
        flips (rounds): whether the label is turned over
    OUT looks[1] (points): how often student and clean teacher differed up to looks[0]
    """
    (W, norm2, A, total, differences), (W0, known), (times, out) = student, teacher, looks
    point = 0
    for row in range(S.shape[0]):
        x = S[row]
        right = said = 0.0
        for i in range(x.size):
            right += W0[i] * x[i]
            said += W[i] * x[i]
        differences[0] += (right > 0.0) != (said > 0.0)
        y = 1.0 if (right > 0.0) != flips[row] else -1.0
        total[0] += y
        for i in range(x.size):
            A[i] += y * x[i]
        if not y * said > 0.0:
            norm2[0] = learn(rule, W, x, y, norm2[0], (A, total, known), first + row + 1)
        if point < times.size and first + row + 1 == times[point]:
            out[point] = differences[0]
            point += 1


@allocating
def advance_parity(student, teacher, rule, first, S, looks):  # type: ignore[no-untyped-def]
    """The same for a parity machine that learns by the least action (see `parity`); units share the columns of S.

    IN  student: W (units, inputs), ‖W‖² (units), differences (1); teacher: W₀ (units, inputs)
    """
    (W, norms2, differences), W0, (times, out) = student, teacher, looks
    width = W.shape[1]
    nothing = np.empty(0), np.empty(0), np.empty(0)
    point = 0
    for row in range(S.shape[0]):
        right = said = 1.0
        least, field = 0, math.inf
        for k in range(W.shape[0]):
            along = own = 0.0
            for i in range(width):
                along += W0[k, i] * S[row, k * width + i]
                own += W[k, i] * S[row, k * width + i]
            right = right if along > 0.0 else -right
            said = said if own > 0.0 else -said
            own /= math.sqrt(norms2[k])
            if abs(own) < abs(field):
                least, field = k, own
        if right != said:
            differences[0] += 1
            y = -1.0 if field > 0.0 else 1.0
            x = S[row, least * width : (least + 1) * width]
            norms2[least] = learn(rule, W[least], x, y, norms2[least], nothing, first + row + 1)
        if point < times.size and first + row + 1 == times[point]:
            out[point] = differences[0]
            point += 1


WholeRule = Normalized | Unnormalized | Shifted | ExactlyShifted | ExactlyWeighted


class InputSource(NamedTuple):
    """A teacher and the law of its inputs, around U or, with `mirrored` = ½, around ±U."""

    teacher: PerceptronTeacher
    law: InputLaw
    mirrored: float = 0.0

    def direct(self, rng: Generator) -> tuple[Floats, Floats]:
        """W₀ and the direction of the rest of U, drawn."""
        axes, _ = np.linalg.qr(rng.standard_normal((self.teacher.N, 2)))
        return np.ascontiguousarray(axes[:, 0]), np.ascontiguousarray(axes[:, 1])

    def known(self, rule: WholeRule, W0: Floats, across: Floats) -> Floats:
        """T, or ⟨y·S⟩, as they are for Gaussian inputs; 0 for a rule that knows neither."""
        along, beside = self.teacher.mean_signed_input
        mean = along * W0 + beside * across
        if isinstance(rule, ExactlyShifted):
            return mean / float(special.erf(self.teacher.q0 / math.sqrt(2.0)))
        return mean if isinstance(rule, ExactlyWeighted) else np.zeros_like(mean)

    def draw(self, U: Floats, rng: Generator, rows: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Inputs, and whether their labels are turned over."""
        side = np.where(rng.random(rows) < self.mirrored, -1.0, 1.0)
        return side[:, None] * U + self.law(rng, (rows, U.size)), rng.random(rows) < self.teacher.p


def run_whole(source: InputSource, rule: WholeRule, alphas: Floats, bench: Bench) -> LearningCurves:
    """Learning curves of students that draw their inputs whole; the error is counted between looks, without noise."""
    teacher = source.teacher
    rngs = generators_of(bench.replicas, bench.how.seed)
    students, teachers, means = [], [], []
    for rng in rngs:
        W0, across = source.direct(rng)
        W = rng.standard_normal(teacher.N)
        W /= math.sqrt(W @ W)
        students.append((W, np.ones(1), np.zeros(teacher.N), np.zeros(1), np.zeros(1, dtype=np.int64)))
        teachers.append((W0, source.known(rule, W0, across)))
        means.append(teacher.q0 * W0 + teacher.side * across)

    def run(i: int, made: Any, rounds: tuple[int, int], looks: tuple[Ints, Ints]) -> None:
        S, flips = source.draw(means[i], rngs[i], rounds[1] - rounds[0])
        advance(students[i], teachers[i], made, rounds[0], S, flips, looks)

    return _count(run, rule, (teacher.N, alphas), bench)


def run_whole_parity(
    teacher: ParityTeacher, law: InputLaw, rule: Normalized | Unnormalized, alphas: Floats, bench: Bench
) -> LearningCurves:
    """The same for a parity machine whose units start at the overlap ½."""
    K, n = teacher.K, teacher.inputs
    rngs = generators_of(bench.replicas, bench.how.seed)
    students, teachers = [], []
    for rng in rngs:
        axes = np.linalg.qr(rng.standard_normal((K, n, 2)))[0]
        W0, across = np.ascontiguousarray(axes[:, :, 0]), axes[:, :, 1]
        teachers.append(W0)
        students.append((0.5 * W0 + math.sqrt(0.75) * across, np.ones(K), np.zeros(1, dtype=np.int64)))

    def run(i: int, made: Any, rounds: tuple[int, int], looks: tuple[Ints, Ints]) -> None:
        S = law(rngs[i], (rounds[1] - rounds[0], teacher.N))
        advance_parity(students[i], teachers[i], made, rounds[0], S, looks)

    return _count(run, rule, (teacher.N, alphas), bench)


def _count(run: Callable[..., None], rule: Any, looks: tuple[int, Floats], bench: Bench) -> LearningCurves:
    """The share of rounds between looks on which student and clean teacher differ."""
    N, alphas = looks
    schedule = checked(rule.schedule)
    times: Ints = np.rint(alphas * N).astype(np.int64)
    counts: Ints = np.empty((bench.replicas, times.size), dtype=np.int64)

    def one(i: int, first: int, stop: int, here: slice, table: Schedule) -> None:
        run(i, rule._replace(schedule=table, N=float(rule.N)), (first, stop), (times[here], counts[i, here]))

    block = max(1, (1 << 19) // N)
    written_out = Custom(
        lambda t: float(rate(schedule, t))
    )  # so that each rule is compiled once, whatever its schedule
    run_blocks(one, bench.replicas, times, block, written_out, bench.how.threads, bench.next_progress())
    share = np.diff(counts, axis=1, prepend=0) / np.diff(times, prepend=0)
    return LearningCurves(times, times / N, share)
