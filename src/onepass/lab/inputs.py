"""The experiment on inputs that are not Gaussian: the curves that theory has for large N, with three laws of inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onepass.lab import theory
from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.curves import LearningCurves
from onepass.lab.noisy import ExactlyShifted, ExactlyWeighted
from onepass.lab.parity import ParityTeacher, run_parity
from onepass.lab.results import Experiment, Finding, Panel, Series, standard_error, three_sigma
from onepass.lab.teachers import PerceptronTeacher
from onepass.lab.whole import LAWS, InputLaw, InputSource, WholeRule, run_whole, run_whole_parity
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.learners.shifted import Shifted
from onepass.rows import Floats
from onepass.schedules import Constant, PowerLaw, clean_optimum, noisy_optimum

N = 100
TITLES = (
    "no noise: rates that stay, or fall slowly",
    "no noise: the best rate, and none",
    "output noise 0.1",
    "output noise 0.1: exact shifts",
    "a parity machine of two units",
)


class Case(NamedTuple):
    """One curve: how to run it with a law of inputs, and how often student and clean teacher must differ at each α."""

    panel: int
    label: str
    run: Callable[[InputLaw], LearningCurves]
    expected: Floats


def perceptron_cases(alphas: Floats, bench: Bench) -> list[Case]:
    """The rules of figures 1 and 2 and their kin, each with its flow."""
    clean, noisy = PerceptronTeacher(N), PerceptronTeacher(N, 0.1, 2.0, -1.0)
    clouds = PerceptronTeacher(N, 0.1, 2.5, 0.8)
    one, root, best, shifted = Constant(1.0), PowerLaw(2.0, 0.5, N), clean_optimum(N), noisy_optimum(N, -1.0)
    weighted = noisy_optimum(N, clouds.q0)
    cases: list[tuple[str, PerceptronTeacher, WholeRule, theory.Flow]] = [  # two to a panel
        ("η = 1", clean, Normalized(one, N), theory.clean_flow(one, N, alphas)),
        ("η ∝ α^(−1/2)", clean, Normalized(root, N), theory.clean_flow(root, N, alphas)),
        ("η = 2√(2π)/α", clean, Normalized(best, N), theory.clean_flow(best, N, alphas)),
        ("never normalised", clean, Unnormalized(one, N), theory.clean_flow(one, N, alphas, normalized=False)),
        ("plain", noisy, Normalized(shifted, N), theory.noisy_flow(noisy, shifted, alphas)),
        ("T learned", noisy, Shifted(shifted, N), theory.noisy_flow(noisy, shifted, alphas, "learned")),
        ("T exact", noisy, ExactlyShifted(shifted, N), theory.noisy_flow(noisy, shifted, alphas, "exact")),
        (
            "balanced labels, T(S)",
            clouds,
            ExactlyWeighted(weighted, N),
            theory.noisy_flow(clouds, weighted, alphas, "weighted"),
        ),
    ]

    def runner(teacher: PerceptronTeacher, rule: WholeRule) -> Callable[[InputLaw], LearningCurves]:
        mirrored = 0.5 if teacher is clouds else 0.0
        return lambda law: run_whole(InputSource(teacher, law, mirrored), rule, alphas, bench)

    return [
        Case(i // 2, label, runner(teacher, rule), (flow.error - teacher.p) / (1.0 - 2.0 * teacher.p))
        for i, (label, teacher, rule, flow) in enumerate(cases)
    ]


def parity_cases(alphas: Floats, bench: Bench) -> list[Case]:
    """A parity machine; what must come out are students in two angles, which are exact for Gaussian inputs."""
    teacher = ParityTeacher(N, 2)
    n = teacher.inputs
    rules: list[tuple[str, Any]] = [
        ("parity, never normalised", Unnormalized(Constant(1.0), n)),
        ("parity, η = 2√(2π)/(2α)", Normalized(clean_optimum(n)._replace(floor=20.0), n)),
    ]
    start, cases = np.full(MANY * bench.replicas, 0.5), []
    for label, rule in rules:
        how = bench.how._replace(seed=bench.how.seed + 1, progress=bench.next_progress())
        exact = run_parity(teacher, rule, alphas, start, how)

        def run(law: InputLaw, rule: Any = rule) -> LearningCurves:
            return run_whole_parity(teacher, law, rule, alphas, bench)

        cases.append(Case(4, label, run, exact.mean))
    return cases


MANY = 10  # times as many of the cheap students that others are compared with


def compare(case: Case, curves: dict[str, LearningCurves], first: float) -> list[Finding]:
    """The mean error from `first` on: over what it must be, and over that of Gaussian inputs, student by student."""
    alphas = curves["Gaussian"].alpha
    chosen = np.flatnonzero(alphas >= first)
    between = 0.5 * (case.expected[chosen] + case.expected[chosen - 1])  # a look counts all rounds since the last one
    ratios = {name: (found.error[:, chosen] / between).mean(axis=1) for name, found in curves.items()}
    replicas = curves["Gaussian"].replicas
    farthest = max(ratios, key=lambda name: abs(float(ratios[name].mean()) - 1.0))
    over = ratios[farthest]
    what = f"{case.label}: error over the theory's, farthest from 1 ({farthest} inputs)"
    sigmas = three_sigma(len(ratios), replicas)
    findings = [Finding(what, float(over.mean()), standard_error(over), 1.0, 0.05, sigmas)]
    apart = {name: ratio - ratios["Gaussian"] for name, ratio in ratios.items() if name != "Gaussian"}
    farthest = max(apart, key=lambda name: abs(float(apart[name].mean())))
    gap = apart[farthest]
    what = f"{case.label}: that of {farthest} inputs less that of Gaussian ones"
    sigmas = three_sigma(len(apart), replicas)
    return [*findings, Finding(what, float(gap.mean()), standard_error(gap), 0.0, 0.02, sigmas)]


def inputs(replicas: int = 40, alpha: float = FULL["inputs"], how: RunOptions = DEFAULT) -> Experiment:
    """Gaussian, binary and uniform inputs, N = 100: the same curves. See barkai1995, section 5.

    Parameters
    ----------
    replicas : int, default 40
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 300.0
        The largest α: examples per input.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*inputs(replicas=10).findings)  # doctest: +SKIP
    """
    alphas, bench = np.geomspace(1.0, alpha, 30), Bench(replicas, alpha, how, 32)
    cases = [*perceptron_cases(alphas, bench), *parity_cases(alphas, bench)]
    panels = [Panel(title, "α", "student differs from the clean teacher", []) for title in TITLES]
    findings: list[Finding] = []
    for case in cases:
        curves = {name: case.run(law) for name, law in LAWS.items()}
        middle = np.sqrt(alphas * np.concatenate([[1.0 / N], alphas[:-1]]))  # mistakes are counted from look to look
        lines = [Series(f"{case.label}, {name}", "simulation", middle, c.mean) for name, c in curves.items()]
        panels[case.panel].series.extend([*lines, Series(f"{case.label}: theory", "theory", alphas, case.expected)])
        findings += compare(case, curves, alpha / 3.0)
    return bench.experiment("inputs", "Gaussian, binary and uniform inputs", panels, findings, N=N)
