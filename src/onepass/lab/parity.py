"""A two-layer parity machine with non-overlapping inputs, learned by the least-action rule. See barkai1995, section 5.

Each of K hidden units sees inputs of its own, N/K of them; the answer is the product of their signs. After a mistake
the unit whose field is nearest to zero, which costs least to turn, takes a perceptron step towards the other sign.

Units see independent inputs without a preferred direction, so a student is K angles, exactly, as in `clean`. Near the
teacher a mistake is nearly always that of one unit, whose field is then the smallest: each unit learns like a
perceptron of N/K inputs, α_k = K·α, and with K small errors adding up

    never normalised      ε = K·0.278·(Kα)^(−1/3)         Kabashima's exponent
    constant rate         ε = K·η/√(2π³)
    η = 2√(2π)/(Kα)       ε = (4/π)/α, whatever K is
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onepass._jit import by_type, jit
from onepass.lab import theory
from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.curves import LearningCurves
from onepass.lab.results import Experiment, Finding, Panel, Series, exponent, final_level, simulation_series
from onepass.lab.simulate import BLOCK, Progress, generators_of, run_blocks
from onepass.learners import normalized
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.rows import Floats, Ints
from onepass.schedules import Constant, Schedule, checked, clean_optimum

step = by_type(normalized.STEPS)


class ParityTeacher(NamedTuple):
    """The parity of K perceptrons with N/K Gaussian inputs each."""

    N: int
    K: int = 2

    @property
    def inputs(self) -> int:
        """Of one hidden unit."""
        return self.N // self.K


def parity_error(angles: Floats) -> Floats:
    """ε = ½·(1 − Π_k (1 − 2θ_k/π)), θ_k the angles between student's and teacher's hidden units (last axis).

    >>> parity_error(np.array([0.0, math.pi / 2])), round(float(parity_error(np.array([0.01, 0.02]))) * math.pi, 3)
    (np.float64(0.5), 0.03)
    """
    return np.asarray(0.5 * (1.0 - np.prod(1.0 - 2.0 * angles / math.pi, axis=-1)))[()]


@jit
def advance(angles, norms2, rule, t, stop, looks, rng):  # type: ignore[no-untyped-def]
    """Rounds t+1..stop, in place.

    IN  looks[0] (points): the rounds after which to look, in t+1..stop
    OUT looks[1] (points, units): the angles there
    """
    times, out = looks
    along, across, fields = np.empty(angles.size), np.empty(angles.size), np.empty(angles.size)
    point = 0
    while t < stop:
        t += 1
        right, said, least = 1.0, 1.0, 0
        for k in range(angles.size):
            along[k], across[k] = rng.standard_normal(), rng.standard_normal()
            fields[k] = math.cos(angles[k]) * along[k] + math.sin(angles[k]) * across[k]
            right = right if along[k] > 0.0 else -right
            said = said if fields[k] > 0.0 else -said
            if abs(fields[k]) < abs(fields[least]):
                least = k
        if right != said:
            k = least
            y = -1.0 if fields[k] > 0.0 else 1.0  # the sign that the least action would give
            beyond2 = rng.chisquare(rule.N - 2.0)
            length = math.sqrt(norms2[k])
            x2 = along[k] * along[k] + across[k] * across[k] + beyond2
            _, a, norms2[k], _ = step(rule, -length * abs(fields[k]), norms2[k], x2, x2, t)
            a /= length
            angles[k] = math.atan2(
                math.hypot(math.sin(angles[k]) + a * y * across[k], a * math.sqrt(beyond2)),
                math.cos(angles[k]) + a * y * along[k],
            )
        if point < times.size and t == times[point]:
            out[point] = angles
            point += 1


def run_parity(
    teacher: ParityTeacher, rule: Normalized | Unnormalized, alphas: Floats, start: Floats, how: RunOptions
) -> LearningCurves:
    """Students of a parity machine, all of whose units start at the overlap R = start (one number a student)."""
    if teacher.K < 1 or teacher.N % teacher.K or teacher.inputs < 3:
        raise ValueError(f"N: K times at least 3 inputs expected, got {teacher!r}")
    if teacher.inputs != rule.N:
        raise ValueError(f"rule: its N = {rule.N!r} is not the number of inputs of a unit, {teacher.inputs}")
    made = rule._replace(schedule=checked(rule.schedule), N=float(rule.N))
    times: Ints = np.rint(np.asarray(alphas) * teacher.N).astype(np.int64)
    replicas = start.size
    angles = np.repeat(np.arccos(start)[:, None], teacher.K, axis=1)
    norms2, rngs = np.ones_like(angles), generators_of(replicas, how.seed)
    out = np.empty((replicas, times.size, teacher.K))

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        here = times[looks], out[i, looks]
        advance(angles[i], norms2[i], made._replace(schedule=schedule), first, stop, here, rngs[i])

    progress: Progress | None = how.progress
    run_blocks(one, replicas, times, BLOCK // teacher.K, made.schedule, how.threads, progress)
    return LearningCurves(times, times / teacher.N, parity_error(out))


def parity(replicas: int = 100, alpha: float = FULL["parity"], how: RunOptions = DEFAULT) -> Experiment:
    """A parity machine of two units, N = 100, from R = ½: α^(−1/3) never normalised, (4/π)/α with the best schedule."""
    teacher = ParityTeacher(N=100, K=2)
    n, K, eta = teacher.inputs, teacher.K, 0.3
    alphas, bench = np.geomspace(1.0, alpha, 60), Bench(replicas, alpha, how, 3)
    late, start = alphas[alphas >= alpha / 20.0], np.full(replicas, 0.5)

    def run(rule: Normalized | Unnormalized) -> LearningCurves:
        return run_parity(teacher, rule, alphas, start, bench.how._replace(progress=bench.next_progress()))

    grown = run(Unnormalized(Constant(1.0), n))
    held = run(Normalized(Constant(eta), n))
    # held at ¼ until units have settled: steps as long as the weights themselves would throw them off again
    best = run(Normalized(clean_optimum(n)._replace(floor=20.0), n))
    constant, level = theory.clean_constant(2.0), K * float(theory.stationary_error(eta))
    third = K ** (2.0 / 3.0) * theory.UNNORMALIZED
    panel = Panel("", "α = examples / inputs", "generalisation error", [])
    panel.series.extend(
        [
            simulation_series("never normalised", grown),
            Series(f"{third:.3f}·α^(−1/3)", "theory", late, third * late ** (-1.0 / 3.0)),
            simulation_series(f"η = {eta:g}", held),
            Series("2η/√(2π³)", "theory", late, np.full_like(late, level)),
            simulation_series("η = 2√(2π)/(2α)", best),
            Series("1.27/α", "theory", late, constant / late),
        ]
    )
    findings: list[Finding] = [
        exponent("never normalised: exponent", grown.fit(alpha / 10.0, alpha), -1.0 / 3.0, 0.03),
        final_level("never normalised: α^(1/3)·ε", grown, third, 0.05 * third, power=1.0 / 3.0),
        final_level(f"constant rate {eta:g}: ε", held, level, 0.1 * level),
        exponent("best schedule: exponent", best.fit(alpha / 10.0, alpha), -1.0, 0.07),
        final_level("best schedule: α·ε", best, constant, 0.05 * constant, power=1.0),
    ]
    title = "A parity machine of two units, learned by the least action"
    return bench.experiment("parity", title, [panel], findings, N=teacher.N, K=K)
