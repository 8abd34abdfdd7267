"""A two-layer parity machine with non-overlapping inputs, learned by the least-action rule. See barkai1995, section 5.

Each of K hidden units sees inputs of its own, N/K of them; the answer is the product of their signs. After a mistake
the unit whose field is nearest to zero, which costs least to turn, takes a perceptron step towards the other sign.

Units see independent inputs without a preferred direction, so a student is K angles, exactly, and jumps from mistake to
mistake as in `clean`: first which units err, an odd number, then where in their planes the inputs lie. Near the teacher
a mistake is nearly always that of one unit, whose field is then the smallest: each unit learns like a perceptron of N/K
inputs, α_k = K·α, and with K small errors adding up

    never normalised      ε = K·0.278·(Kα)^(−1/3)         Kabashima's exponent
    constant rate         ε = K·η/√(2π³)
    η = η₀√(2π)·(Kα)^(−z) ε = K·η₀/π·(Kα)^(−z) for z < 1; η₀²/(π(η₀ − 1))/α for z = 1, η₀ > 1, whatever K is, least
                          at η₀ = 2: (4/π)/α; and for z > 1 it stalls
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from onepass._jit import allocating, by_type, jit
from onepass.lab import theory
from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.clean import NEVER
from onepass.lab.curves import LearningCurves
from onepass.lab.results import Experiment, Finding, Panel, Series, exponent, final_level, simulation_series
from onepass.lab.simulate import BLOCK, Progress, generators_of, run_blocks
from onepass.learners import normalized
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.rows import Floats, Ints
from onepass.schedules import Constant, PowerLaw, Schedule, checked

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
def odd(angles, k):  # type: ignore[no-untyped-def]
    """The probability that of the units k, k+1, … an odd number errs."""
    even = 1.0
    for j in range(k, angles.size):
        even *= 1.0 - 2.0 * angles[j] / math.pi
    return 0.5 * (1.0 - even)


@jit
def wait(angles, rng):  # type: ignore[no-untyped-def]
    """Rounds until the next mistake, that one included."""
    share = odd(angles, 0)
    return min(rng.geometric(share), NEVER) if share > 0.0 else NEVER


@jit
def draw_mistake(angles, along, across, rng):  # type: ignore[no-untyped-def]
    """The unit that steps after a mistake, and its field.

    OUT along, across (units): the inputs in the planes of W₀ and W, but for a common sign, which does not matter
    """
    missing = True  # an odd number of units must err yet
    least, field = 0, math.inf
    for k in range(angles.size):
        theta, rest = angles[k], odd(angles, k + 1)
        if not missing:
            rest = 1.0 - rest
        errs = theta / math.pi * (1.0 - rest)
        wrong = rng.random() * (errs + (1.0 - theta / math.pi) * rest) < errs
        # directions that err fill a wedge of the angle θ, the others the rest of the half-plane, evenly
        r, u = math.sqrt(2.0 * rng.standard_exponential()), rng.random()
        if wrong:
            missing = not missing
            along[k], across[k], own = r * math.sin(u * theta), -r * math.cos(u * theta), -r * math.sin((1 - u) * theta)
        else:
            turn = theta + u * (math.pi - theta)
            along[k], across[k], own = r * math.sin(turn), -r * math.cos(turn), r * math.sin(turn - theta)
        if abs(own) < abs(field):
            least, field = k, own
    return least, field


@allocating
def advance(student, rule, stop, looks, rng):  # type: ignore[no-untyped-def]
    """Rounds up to stop, in place.

    IN  student: angles (units), ‖W‖² (units), the round of the next mistake (1)
    OUT looks[1] (points, units): the angles after the rounds looks[0]
    """
    (angles, norms2, due), (times, out) = student, looks
    along, across = np.empty(angles.size), np.empty(angles.size)
    point = 0
    while True:
        while point < times.size and times[point] < due[0]:
            out[point] = angles
            point += 1
        if due[0] > stop:
            return
        k, field = draw_mistake(angles, along, across, rng)
        y = -1.0 if field > 0.0 else 1.0  # the sign that the least action would give
        beyond2 = rng.chisquare(rule.N - 2.0)
        length = math.sqrt(norms2[k])
        x2 = along[k] * along[k] + across[k] * across[k] + beyond2
        _, a, norms2[k], _ = step(rule, -length * abs(field), norms2[k], x2, x2, due[0])
        a /= length
        angles[k] = math.atan2(
            math.hypot(math.sin(angles[k]) + a * y * across[k], a * math.sqrt(beyond2)),
            math.cos(angles[k]) + a * y * along[k],
        )
        due[0] += wait(angles, rng)


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
    due = np.array([[wait(angles[i], rng)] for i, rng in enumerate(rngs)])
    out = np.empty((replicas, times.size, teacher.K))

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        here = times[looks], out[i, looks]
        advance((angles[i], norms2[i], due[i]), made._replace(schedule=schedule), stop, here, rngs[i])

    progress: Progress | None = how.progress
    run_blocks(one, replicas, times, BLOCK, made.schedule, how.threads, progress)
    return LearningCurves(times, times / teacher.N, parity_error(out))


class Falling(NamedTuple):
    """η = η₀√(2π)·(Kα)^(−z) for a unit, held at its value at α_k = `floor` before."""

    eta0: float
    z: float
    floor: float = 20.0  # until units have settled: steps as long as the weights themselves would throw them off again

    @property
    def label(self) -> str:
        return f"z = {self.z:g}, η₀ = {self.eta0:g}"

    def schedule(self, inputs: int) -> PowerLaw:
        return PowerLaw(self.eta0, self.z, inputs, self.floor)

    def law(self, alpha: Floats, K: int, amplitude: float = 1.0) -> Floats:
        """K units, each a perceptron that has seen K·α examples for each of its inputs."""
        return K * theory.clean_law(K * alpha, self.eta0, self.z, amplitude)


FALLING = [Falling(1.0, 0.5), Falling(2.0, 1.0), Falling(2.0, 1.5, floor=5.0)]


def parity(replicas: int = 100, alpha: float = FULL["parity"], how: RunOptions = DEFAULT) -> Experiment:
    """A parity machine of two units, N = 100, from R = ½: never normalised, at a constant rate, and by schedules.

    Parameters
    ----------
    replicas : int, default 100
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 1e4
        The largest α: examples per input.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*parity(replicas=10).findings)  # doctest: +SKIP
    """
    teacher = ParityTeacher(N=100, K=2)
    alphas, bench = np.geomspace(1.0, alpha, 60), Bench(replicas, alpha, how, 2 + len(FALLING))
    start = np.full(replicas, 0.5)

    def run(rule: Normalized | Unnormalized) -> LearningCurves:
        return run_parity(teacher, rule, alphas, start, bench.how._replace(progress=bench.next_progress()))

    steady, falling = _unscheduled(teacher, run), [_scheduled(teacher, one, run) for one in FALLING]
    panels = [
        Panel(title, "α = examples / inputs", "generalisation error", [])
        for title in ("constant rate", "schedules: η = η₀√(2π)·(2α)^(−z)")
    ]
    findings = [finding for _, found in (steady, *falling) for finding in found]
    panels[0].series.extend(steady[0])
    panels[1].series.extend(line for lines, _ in falling for line in lines)
    title = "A parity machine of two units, learned by the least action"
    return bench.experiment("parity", title, panels, findings, N=teacher.N, K=teacher.K)


Run = Callable[[Normalized | Unnormalized], LearningCurves]
Part = tuple[list[Series], list[Finding]]


def _unscheduled(teacher: ParityTeacher, run: Run) -> Part:
    """Never normalised, α^(−1/3); and normalised at a constant rate, which ends at a level."""
    n, K, eta = teacher.inputs, teacher.K, 0.3
    grown, held = run(Unnormalized(Constant(1.0), n)), run(Normalized(Constant(eta), n))
    alpha = grown.alpha[-1]
    late = grown.alpha[grown.alpha >= alpha / 20.0]
    third, level = K ** (2.0 / 3.0) * theory.UNNORMALIZED, K * float(theory.stationary_error(eta))
    series = [
        simulation_series("never normalised", grown),
        Series(f"{third:.3f}·α^(−1/3)", "theory", late, third * late ** (-1.0 / 3.0)),
        simulation_series(f"η = {eta:g}", held),
        Series("2η/√(2π³)", "theory", late, np.full_like(late, level)),
    ]
    return series, [
        exponent("never normalised: exponent", grown.fit(alpha / 10.0, alpha), -1.0 / 3.0, 0.03),
        final_level("never normalised: α^(1/3)·ε", grown, third, 0.05 * third, power=1.0 / 3.0),
        final_level(f"constant rate {eta:g}: ε", held, level, 0.1 * level),
    ]


def _scheduled(teacher: ParityTeacher, falling: Falling, run: Run) -> Part:
    """One schedule: its law, and where the law leaves the amplitude open, its exponent."""
    K, z, eta0, label = teacher.K, falling.z, falling.eta0, falling.label
    curves = run(Normalized(falling.schedule(teacher.inputs), teacher.inputs))
    alpha = curves.alpha[-1]
    late = curves.alpha[curves.alpha >= alpha / 20.0]
    open_ended = z > 1.0 or eta0 < 1.0 == z
    amplitude = float(curves.mean[-1] / falling.law(curves.alpha[-1:], K)[0]) if open_ended else 1.0
    series = [
        simulation_series(label, curves),
        Series(f"{label}: law", "theory", late, falling.law(late, K, amplitude)),
    ]
    expected = 0.0 if z > 1.0 else -min(z, eta0) if z == 1.0 else -z
    findings = [exponent(f"{label}: exponent", curves.fit(alpha / 10.0, alpha), expected, 0.05)]
    if not open_ended:
        law = float(falling.law(curves.alpha[-1:], K)[0] * alpha**z)
        findings.append(final_level(f"{label}: α^{z:g}·ε", curves, law, 0.05 * law, power=z))
    return series, findings
