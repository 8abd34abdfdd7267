"""The figures of barkai1995 and their kin: simulation and theory on one axis, and what must come out, as numbers.

Each experiment is a function of (replicas, alpha, how) whose defaults are the full version; smaller numbers of replicas
are quick and say the same with wider error bars. `alpha` is the largest α (for `smooth`, the number of examples).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onepass.lab import simulate, theory
from onepass.lab.balanced import balanced
from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.curves import fit_power_law
from onepass.lab.inputs import inputs
from onepass.lab.noisy import ExactlyShifted
from onepass.lab.parity import parity
from onepass.lab.results import (
    Experiment,
    Finding,
    Panel,
    Series,
    exponent,
    final_level,
    level_series,
    mean,
    simulation_series,
    three_sigma,
)
from onepass.lab.smooth_noise import smooth_noise
from onepass.lab.stationary import stationary
from onepass.lab.teachers import PerceptronTeacher, SmoothTeacher, committee, quadratic
from onepass.learners.normalized import Normalized, Unnormalized
from onepass.learners.shifted import Shifted
from onepass.schedules import ROOT_2PI, Constant, NoisyPowerLaw, PowerLaw, clean_optimum, noisy_optimum


def figure1(replicas: int = 1000, alpha: float = FULL["figure1"], how: RunOptions = DEFAULT) -> Experiment:
    """A noiseless perceptron of N = 50 inputs, η = 2√(2π)/α: error (4/π)/α. See barkai1995, Figure 1.

    Parameters
    ----------
    replicas : int, default 1000
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 1e3
        The largest α: examples per input.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*figure1(replicas=10).findings)  # doctest: +SKIP
    """
    N, alphas, bench = 50, np.geomspace(0.5, alpha, 80), Bench(replicas, alpha, how, 2)
    teacher, schedule = PerceptronTeacher(N), clean_optimum(N)
    optimal = bench.run(teacher, Normalized(schedule, N), alphas)
    grown = bench.run(teacher, Unnormalized(Constant(1.0), N), alphas)
    late = alphas[alphas >= alpha / 20.0]
    series = [
        simulation_series("simulation", optimal),
        Series("equation 4", "theory", alphas, theory.clean_flow(schedule, N, alphas).error),
        Series("1.27/α", "theory", late, theory.clean_law(late, 2.0, 1.0)),
        simulation_series("simulation, never normalised", grown),
        Series("0.278·α^(−1/3)", "theory", late, theory.UNNORMALIZED * late ** (-1.0 / 3.0)),
        Series("0.88/α: on-line optimum", "reference", late, theory.ONLINE_OPTIMUM / late),
        Series("0.625/α: batch", "reference", late, theory.BATCH / late),
    ]
    constant, chosen = theory.clean_constant(2.0), optimal.alpha >= alpha / 5.0
    scaled = (optimal.alpha * optimal.error)[:, chosen]
    worst = scaled[:, np.argmax(np.abs(scaled.mean(axis=0) - constant))]
    what = f"α·ε for α ≥ {alpha / 5:g}, the mean farthest from 4/π"
    findings = [
        mean(what, worst, constant, 0.05 * constant),
        exponent("never normalised: exponent", grown.fit(alpha / 10.0, alpha), -1.0 / 3.0, 0.03),
    ]
    panel = Panel("", "α = examples / inputs", "generalisation error", series)
    title = "A perceptron learns a perceptron"
    return bench.experiment("figure1", title, [panel], findings, N=N, schedule=repr(schedule))


def figure2(replicas: int = 40, alpha: float = FULL["figure2"], how: RunOptions = DEFAULT) -> Experiment:
    """Output noise p = 0.2, N = 250, |U| = 4, q₀ = −1.95: only the shifted rule ends at p. See barkai1995, Figure 2.

    Parameters
    ----------
    replicas : int, default 40
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 3e4
        The largest α: examples per input.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*figure2(replicas=10).findings)  # doctest: +SKIP
    """
    teacher = PerceptronTeacher(N=250, p=0.2, u=4.0, q0=-1.95)
    p, schedule = teacher.p, noisy_optimum(teacher.N, teacher.q0)
    warmup = 50.0  # at α = 20 one student in a hundred is still so near the ridge between W₀ and −W₀ that it lingers
    alphas, bench, findings = np.geomspace(1.0, alpha, 80), Bench(replicas, alpha, how, 3), []
    late = alphas[alphas >= alpha / 100.0]
    error = Panel("", "α = examples / inputs", "generalisation error ε", [], "linear")
    excess = Panel("what the shifted rule has left to learn", "α", "ε − p", [])
    runs: list[tuple[str, simulate.Rule, theory.Shift]] = [
        ("plain", Normalized(schedule, teacher.N), "none"),
        ("shifted, T learned", Shifted(schedule, teacher.N, warmup), "learned"),
        ("shifted, T exact", ExactlyShifted(schedule, teacher.N, warmup), "exact"),
    ]
    for label, rule, shift in runs:
        curves = bench.run(teacher, rule, alphas)
        flow = theory.noisy_flow(teacher, schedule, alphas, shift, warmup=warmup)
        error.series.extend([simulation_series(label, curves), Series(f"{label}: flow", "theory", alphas, flow.error)])
        if shift == "none":
            findings.append(final_level("plain rule: error at the end", curves, 0.3225, 0.0225))
            continue
        left, constant = curves.less(p), theory.noisy_constant(p, shift=shift)
        law = Series(f"{constant:.3f}/√α", "theory", late, theory.noisy_law(late, p, shift=shift))
        excess.series.extend([simulation_series(label, left), law])
        assert curves.angle is not None
        at_teacher = float((np.cos(curves.angle[:, -1]) > 0.9).mean())
        findings += [
            exponent(f"{label}: exponent of ε − p", left.fit(alpha / 10.0, alpha), -0.5, 0.05),
            final_level(f"{label}: √α·(ε − p)", left, constant, 0.1 * constant, power=0.5),
            Finding(f"{label}: share of replicas that end at the teacher", at_teacher, 0.0, 1.0, 0.0),
        ]
    error.series.append(Series("p", "reference", alphas, np.full_like(alphas, p)))
    told = {"teacher": repr(teacher), "schedule": repr(schedule)}
    return bench.experiment("figure2", "A perceptron learns a noisy perceptron", [error, excess], findings, **told)


def schedules(replicas: int = 200, alpha: float = FULL["schedules"], how: RunOptions = DEFAULT) -> Experiment:
    """η = η₀√(2π)·α^(−z) with z below, at and above 1, and η₀ below, at and above 1. See barkai1995, eq. 6.

    Parameters
    ----------
    replicas : int, default 200
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 1e5
        The largest α: examples per input.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*schedules(replicas=10).findings)  # doctest: +SKIP
    """
    N, alphas = 50, np.geomspace(1.0, alpha, 60)
    cases = [(0.25, 2.0), (0.5, 2.0), (0.75, 2.0), (1.5, 2.0), (1.0, 2.0), (1.0, 1.0), (1.0, 0.5)]
    bench, findings = Bench(replicas, alpha, how, len(cases)), []
    panels = [Panel(title, "α", "generalisation error", []) for title in ("z below and above 1", "z = 1")]
    for z, eta0 in cases:
        schedule = PowerLaw(eta0, z, N)
        curves = bench.run(PerceptronTeacher(N), Normalized(schedule, N), alphas)
        panel, label = (panels[1], f"η₀ = {eta0:g}") if z == 1.0 else (panels[0], f"z = {z:g}")
        late = alphas[alphas >= alpha / 100.0]
        amplitude = 1.0
        if z > 1.0 or (z == 1.0 and eta0 < 1.0):  # the law leaves the amplitude open: take it from the last point
            amplitude = float(curves.mean[-1] / theory.clean_law(alphas[-1:], eta0, z)[0])
        law = theory.clean_law(late, eta0, z, amplitude)
        panel.series.extend([simulation_series(label, curves), Series(f"{label}: law", "theory", late, law)])
        if z != 1.0:
            expected, tolerance = (-z, 0.03) if z < 1.0 else (0.0, 0.1)
            findings.append(exponent(f"z = {z:g}: exponent", curves.fit(alpha / 10, alpha), expected, tolerance))
        elif eta0 != 1.0:
            expected = -min(eta0, 1.0)
            findings.append(exponent(f"z = 1, η₀ = {eta0:g}: exponent", curves.fit(alpha / 10, alpha), expected, 0.05))
        else:
            curve = theory.clean_flow(schedule, N, alphas).error
            what = "z = 1, η₀ = 1: simulation over equation 4 at the end"
            findings.append(mean(what, curves.error[:, -1] / curve[-1], 1.0, 0.1))
    return bench.experiment("schedules", "How fast the rate may fall: η = η₀√(2π)·α^(−z)", panels, findings, N=N)


def smooth(replicas: int = 16, alpha: float = FULL["smooth"], how: RunOptions = DEFAULT) -> Experiment:
    """Thresholded smooth functions: error ∝ η for a constant rate, ∝ n^(−z) for a falling one; `alpha` is n here.

    Parameters
    ----------
    replicas : int, default 16
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 3e6
        The number of examples, n.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*smooth(replicas=10).findings)  # doctest: +SKIP
    """
    N, etas = 50, np.array([0.1, 0.2, 0.4, 0.8])
    cases: list[tuple[str, SmoothTeacher, float]] = [
        ("quadratic", quadratic(3), 0.04),
        ("committee", committee(3), 0.08),
    ]
    bench, findings = Bench(replicas, alpha, how, len(etas) * 3 + 3), []
    at_rest = Panel("constant rate", "η relative to the largest", "error at rest", [])
    falling = Panel("falling rate", "examples n", "error", [])

    levels = []
    for eta in etas:
        looks, rule = np.linspace(100.0, 300.0, 100) / eta, Normalized(Constant(eta), N)
        curves = bench.run(PerceptronTeacher(N), rule, looks, replicas=max(replicas, 50))
        levels.append(curves.error.mean(axis=1))
    at_rest.series.append(level_series("perceptron", etas / etas[-1], levels))
    at_rest.series.append(Series("perceptron: η/√(2π³)", "theory", etas / etas[-1], theory.stationary_error(etas)))
    findings.append(exponent("perceptron: exponent of η", fit_power_law(etas, np.array(levels).T), 1.0, 0.03))

    for label, teacher, top in cases:
        shares, levels = np.array([0.125, 0.25, 0.5, 1.0]), []
        for share in shares:
            looks = np.array([0.25, 1.0]) * max(alpha / 6.0, 250_000.0) / share
            eta = float(top * share)
            curves = bench.run_smooth(teacher, Constant(eta), looks, distance=eta)
            levels.append(curves.error[:, 1])
        at_rest.series.append(level_series(label, shares, levels))
        findings.append(exponent(f"{label}: exponent of η", fit_power_law(shares, np.array(levels).T), 1.0, 0.03))

    held = min(10_000.0, alpha / 100.0)  # until here the rate stays at its top: the student must first settle
    for (label, teacher, top), z in [(cases[0], 0.5), (cases[0], 0.75), (cases[1], 0.5)]:
        schedule = PowerLaw(top * held**z / ROOT_2PI, z, 1, floor=held)
        looks = np.geomspace(held, alpha, 40)
        curves = bench.run_smooth(teacher, schedule, looks, distance=0.01)
        fit, late = curves.fit(10.0 * held, alpha), looks[looks >= 10.0 * held]
        amplitude = float(np.exp(np.log(curves.mean[-late.size :] * late**z).mean()))
        falling.series.append(simulation_series(f"{label}, z = {z:g}", curves))
        falling.series.append(Series(f"{label}: ∝ n^(−{z:g})", "theory", late, amplitude * late**-z))
        findings.append(exponent(f"{label}, z = {z:g}: exponent", fit, -z, 0.05))
    return bench.experiment("smooth", "Thresholded smooth functions", [at_rest, falling], findings)


def noise(replicas: int = 16, alpha: float = FULL["noise"], how: RunOptions = DEFAULT) -> Experiment:
    """The shifted rule under output noise: constant rates, falling rates, and how T's noise counts. Eq. 15-18.

    Parameters
    ----------
    replicas : int, default 16
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
    >>> print(*noise(replicas=10).findings)  # doctest: +SKIP
    """
    N, u, q0 = 250, 2.0, -1.0
    teacher = PerceptronTeacher(N, 0.1, u, q0)
    etas, strengths = np.array([0.0025, 0.005, 0.01, 0.02]), np.array([0.05, 0.1, 0.2, 0.3])
    bench, findings = Bench(replicas, alpha, how, etas.size + 2 + 2 * strengths.size), []
    at_rest = Panel("constant rate, T exact", "η", "ε − p at rest", [])
    falling = Panel("falling rate, T learned", "α", "ε − p", [])
    constants = Panel("rate ∝ 1/α", "noise p", "√α·(ε − p)", [])

    levels = []
    for eta in etas:
        looks, rule = np.linspace(15.0, 40.0, 40) / eta, ExactlyShifted(Constant(eta), N)
        near = (0.95, 0.95 * q0)  # so slow a rate would not leave a random start before the shift sets in
        curves = bench.run(teacher, rule, looks, start=near)
        levels.append(curves.error.mean(axis=1) - teacher.p)
    law = theory.noisy_stationary_excess(etas, teacher.p, q0)
    at_rest.series.extend([level_series("simulation", etas, levels), Series("equation 15", "theory", etas, law)])
    findings.append(exponent("constant rate: exponent of η", fit_power_law(etas, np.array(levels).T), 0.5, 0.03))
    findings.append(mean("smallest rate: ε − p over eq. 15", levels[0] / law[0], 1.0, 0.1))

    alphas = np.geomspace(1.0, alpha, 60)
    late = alphas[alphas >= alpha / 100.0]
    for z, eta0 in [(0.5, 0.4), (0.75, 2.0)]:
        learned = Shifted(NoisyPowerLaw(eta0, z, N, q0), N)
        curves = bench.run(teacher, learned, alphas)
        excess = curves.less(teacher.p)
        label, law = f"z = {z:g}, η₀ = {eta0:g}", theory.noisy_law(late, teacher.p, eta0, z)
        falling.series.extend([simulation_series(label, excess), Series(f"{label}: law", "theory", late, law)])
        decade = alphas[alphas >= alpha / 10.0]
        flow = theory.noisy_flow(teacher, learned.schedule, decade, "learned").error - teacher.p
        slope = fit_power_law(decade, [flow, flow]).exponent  # −z/2 is reached only later
        findings.append(exponent(f"{label}: exponent, against the flow's", excess.fit(decade[0], alpha), slope, 0.03))

    schedule, looks = noisy_optimum(N, q0), np.geomspace(alpha / 3.0, alpha, 20)
    rules: list[tuple[Any, theory.Shift]] = [(Shifted, "learned"), (ExactlyShifted, "exact")]
    for kind, shift in rules:
        measured, ratios = [], []
        for p in map(float, strengths):
            noisy = PerceptronTeacher(N, p, u, q0)
            curves = bench.run(noisy, kind(schedule, N), looks)
            measured.append(((curves.error - p) * np.sqrt(curves.alpha)).mean(axis=1))
            flow = (theory.noisy_flow(noisy, schedule, looks, shift).error - p) * np.sqrt(looks)
            ratios.append(measured[-1] / flow.mean())
        laws = np.array([theory.noisy_constant(float(p), shift=shift) for p in strengths])
        constants.series.append(level_series(f"T {shift}", strengths, measured))
        constants.series.append(Series(f"T {shift}: α → ∞", "theory", strengths, laws))
        worst = max(ratios, key=lambda r: abs(r.mean() - 1.0))
        what = f"T {shift}: √α·(ε − p) over the flow's, the farthest from 1 for p in 0.05..0.3"
        findings.append(mean(what, worst, 1.0, 0.1))
    panels, title = [at_rest, falling, constants], "The shifted perceptron under output noise"
    return bench.experiment("noise", title, panels, findings, teacher=repr(teacher))


def flow(replicas: int = 50, alpha: float = FULL["flow"], how: RunOptions = DEFAULT) -> Experiment:
    """Order-parameter equations against simulation at N = 1000, from R = 0 and q = 0. See barkai1995, eq. 4 and 14.

    Parameters
    ----------
    replicas : int, default 50
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
    >>> print(*flow(replicas=10).findings)  # doctest: +SKIP
    """
    N, q0, alphas = 1000, -1.95, np.geomspace(0.1, alpha, 40)
    plain, noisy = PerceptronTeacher(N), PerceptronTeacher(N, p=0.2, u=4.0, q0=q0)
    gentle, shifted = PowerLaw(2.0, 1.0, N, floor=5.0), noisy_optimum(N, q0)
    one = Constant(1.0)
    cases: list[tuple[str, PerceptronTeacher, Any, theory.Flow]] = [
        ("η = 1", plain, Normalized(one, N), theory.clean_flow(one, N, alphas)),
        ("η = 2√(2π)/α", plain, Normalized(gentle, N), theory.clean_flow(gentle, N, alphas)),
        ("never normalised", plain, Unnormalized(one, N), theory.clean_flow(one, N, alphas, normalized=False)),
        ("noise, plain", noisy, Normalized(shifted, N), theory.noisy_flow(noisy, shifted, alphas)),
        ("noise, T exact", noisy, ExactlyShifted(shifted, N), theory.noisy_flow(noisy, shifted, alphas, "exact")),
        ("noise, T learned", noisy, Shifted(shifted, N), theory.noisy_flow(noisy, shifted, alphas, "learned")),
    ]
    bench, findings = Bench(replicas, alpha, how, len(cases)), []
    limit = three_sigma(alphas.size, replicas)
    panels = [Panel(title, "α", "generalisation error", []) for title in ("no noise", "output noise p = 0.2")]
    for label, teacher, rule, curve in cases:
        start = 0.0 if teacher.centred else (0.0, 0.0)
        curves = bench.run(teacher, rule, alphas, start)
        panel = panels[0] if teacher.centred else panels[1]
        panel.series.extend([simulation_series(label, curves), Series(f"{label}: flow", "theory", alphas, curve.error)])
        gap = float(np.abs((curves.mean - curve.error) / curves.standard_error).max())
        findings.append(Finding(f"{label}: largest gap in standard errors", gap, 0.0, 0.0, limit))
    return bench.experiment("flow", "Order-parameter equations against simulation", panels, findings, N=N)


EXPERIMENTS: dict[str, Callable[..., Experiment]] = {
    "figure1": figure1,
    "figure2": figure2,
    "schedules": schedules,
    "smooth": smooth,
    "noise": noise,
    "flow": flow,
    "balanced": balanced,
    "stationary": stationary,
    "smooth-noise": smooth_noise,
    "parity": parity,
    "inputs": inputs,
}
