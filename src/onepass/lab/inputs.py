"""Inputs that are not Gaussian. The large-N results rest on W₀·S and W·S being normal, which sums of many inputs are.

Every input is drawn whole here, whatever its law, around U and with variance 1; teacher and U have random directions,
for a teacher along one axis would see one input and no sum.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onepass._jit import by_type, jit
from onepass.lab import theory
from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.curves import LearningCurves
from onepass.lab.results import Experiment, Finding, Panel, Series, simulation_series, standard_error
from onepass.lab.simulate import generators_of, run_blocks
from onepass.lab.teachers import PerceptronTeacher
from onepass.learners import normalized
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.learners.shifted import Shifted, shifts
from onepass.rows import Floats
from onepass.schedules import Constant, Schedule, checked, clean_optimum, noisy_optimum, rate


class GaussianInputs(NamedTuple):
    deviation: float = 1.0


class BinaryInputs(NamedTuple):
    size: float = 1.0  # each input is ±size


class UniformInputs(NamedTuple):
    reach: float = math.sqrt(3.0)  # each input lies between ±reach


def _gaussian(inputs, rng):  # type: ignore[no-untyped-def]
    return inputs.deviation * rng.standard_normal()


def _binary(inputs, rng):  # type: ignore[no-untyped-def]
    return inputs.size if rng.random() < 0.5 else -inputs.size


def _uniform(inputs, rng):  # type: ignore[no-untyped-def]
    return inputs.reach * (2.0 * rng.random() - 1.0)


draw = by_type({GaussianInputs: _gaussian, BinaryInputs: _binary, UniformInputs: _uniform})


def _plain_step(rule, W, S, y, norm2, sums, t):  # type: ignore[no-untyped-def]
    x2 = 0.0
    margin = 0.0
    for i in range(W.size):
        x2 += S[i] * S[i]
        margin += W[i] * S[i]
    _, a, norm2, shrink = perceptron(rule, y * margin, norm2, x2, x2, t)
    for i in range(W.size):
        W[i] = shrink * (W[i] + a * y * S[i])
    return norm2


def _shifted_step(rule, W, S, y, norm2, sums, t):  # type: ignore[no-untyped-def]
    A, total = sums
    k = 1.0 / total[0] if shifts(rule, total[0], t, t) else 0.0
    h = y * rate(rule.schedule, t) / rule.N
    norm2 = 0.0
    for i in range(W.size):
        W[i] += h * (S[i] - k * A[i])
        norm2 += W[i] * W[i]
    for i in range(W.size):
        W[i] /= math.sqrt(norm2)
    return 1.0


perceptron = by_type(normalized.STEPS)
learn = by_type({Normalized: _plain_step, Unnormalized: _plain_step, Shifted: _shifted_step})


@jit
def advance(student, teacher, rule, t, stop, looks, rng):  # type: ignore[no-untyped-def]
    """Rounds t+1..stop, in place.

    IN  student: W, ‖W‖² (1), Σ y·S, Σ y (1), differences (1); teacher: inputs, W₀, U, p
    OUT looks[1] (points): how often student and clean teacher differed up to looks[0]
    """
    (W, norm2, A, total, differences), (inputs, W0, U, p), (times, out) = student, teacher, looks
    S = np.empty(W.size)
    point = 0
    while t < stop:
        t += 1
        right = said = 0.0
        for i in range(S.size):
            S[i] = U[i] + draw(inputs, rng)
            right += W0[i] * S[i]
            said += W[i] * S[i]
        differences[0] += (right > 0.0) != (said > 0.0)
        y = 1.0 if right > 0.0 else -1.0
        if p > 0.0 and rng.random() < p:
            y = -y
        total[0] += y
        for i in range(S.size):
            A[i] += y * S[i]
        if not y * said > 0.0:
            norm2[0] = learn(rule, W, S, y, norm2[0], (A, total), t)
        if point < times.size and t == times[point]:
            out[point] = differences[0]
            point += 1


InputLaw = GaussianInputs | BinaryInputs | UniformInputs
WholeRule = Normalized | Unnormalized | Shifted


def run_whole(
    teacher: PerceptronTeacher, law: InputLaw, rule: WholeRule, alphas: Floats, bench: Bench
) -> LearningCurves:
    """Learning curves of students that draw their inputs whole; the error is counted between looks, without noise."""
    N, seed = teacher.N, bench.how.seed
    made = rule._replace(schedule=checked(rule.schedule), N=float(rule.N))
    times = np.rint(alphas * N).astype(np.int64)
    counts, rngs = np.empty((bench.replicas, times.size), dtype=np.int64), generators_of(bench.replicas, seed)
    students, teachers = [], []
    for rng in rngs:
        axes, _ = np.linalg.qr(rng.standard_normal((N, 3)))
        W = rng.standard_normal(N)
        W /= math.sqrt(W @ W)
        students.append((W, np.ones(1), np.zeros(N), np.zeros(1), np.zeros(1, dtype=np.int64)))
        U = teacher.q0 * axes[:, 0] + teacher.side * axes[:, 1]
        teachers.append((law, np.ascontiguousarray(axes[:, 0]), U, float(teacher.p)))

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        here = times[looks], counts[i, looks]
        advance(students[i], teachers[i], made._replace(schedule=schedule), first, stop, here, rngs[i])

    block = max(1, (1 << 23) // N)
    run_blocks(one, bench.replicas, times, block, made.schedule, bench.how.threads, bench.next_progress())
    share = np.diff(counts, axis=1, prepend=0) / np.diff(times, prepend=0)
    return LearningCurves(times, times / N, share)


LAWS: dict[str, InputLaw] = {"Gaussian": GaussianInputs(), "binary": BinaryInputs(), "uniform": UniformInputs()}


def inputs(replicas: int = 40, alpha: float = FULL["inputs"], how: RunOptions = DEFAULT) -> Experiment:
    """Gaussian, binary and uniform inputs, N = 100: the same curves. See barkai1995, section 5."""
    N, q0 = 100, -1.0
    clean, noisy = PerceptronTeacher(N), PerceptronTeacher(N, 0.1, 2.0, q0)
    one, best, shifted = Constant(1.0), clean_optimum(N), noisy_optimum(N, q0)
    alphas = np.geomspace(1.0, alpha, 30)
    cases: list[tuple[str, PerceptronTeacher, WholeRule, theory.Flow]] = [
        ("η = 2√(2π)/α", clean, Normalized(best, N), theory.clean_flow(best, N, alphas)),
        ("never normalised", clean, Unnormalized(one, N), theory.clean_flow(one, N, alphas, normalized=False)),
        ("noise, plain", noisy, Normalized(shifted, N), theory.noisy_flow(noisy, shifted, alphas)),
        ("noise, shifted", noisy, Shifted(shifted, N), theory.noisy_flow(noisy, shifted, alphas, "learned")),
    ]
    bench, findings = Bench(replicas, alpha, how, len(cases) * len(LAWS)), []
    panels = [Panel(title, "α", "student differs from the clean teacher", []) for title in ("no noise", "p = 0.1")]
    late = alphas >= alpha / 3.0
    for label, teacher, rule, flow in cases:
        panel = panels[0] if teacher.centred else panels[1]
        expected = (flow.error - teacher.p) / (1.0 - 2.0 * teacher.p)
        # a look counts all rounds since the one before: so does the flow, by trapezoids
        between = 0.5 * (expected[1:] + expected[:-1])
        for name, law in LAWS.items():
            curves = run_whole(teacher, law, rule, alphas, bench)
            panel.series.append(simulation_series(f"{label}, {name}", curves))
            chosen = np.flatnonzero(late)
            ratio = (curves.error[:, chosen] / between[chosen - 1]).mean(axis=1)
            what = f"{label}, {name} inputs: error over the flow's for α ≥ {alpha / 3:g}"
            findings.append(Finding(what, float(ratio.mean()), standard_error(ratio), 1.0, 0.06, 3.0))
        panel.series.append(Series(f"{label}: flow", "theory", alphas, expected))
    title = "Gaussian, binary and uniform inputs"
    return bench.experiment("inputs", title, panels, findings, N=N)
