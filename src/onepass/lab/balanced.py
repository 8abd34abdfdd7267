"""Balanced labels under output noise: no constant shift exists, a weighted one does. See barkai1995, section 3.

Inputs lie around +U and around −U, half of them each. Both labels are equally frequent then, and the plain rule is as
biased as with inputs around U alone (see `noisy.ExactlyWeighted`: it is the same process in law).
"""

from __future__ import annotations

import numpy as np

from onepass.lab import theory
from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.curves import LearningCurves, fit_power_law
from onepass.lab.noisy import ExactlyWeighted
from onepass.lab.results import (
    Experiment,
    Finding,
    Panel,
    Series,
    exponent,
    final_level,
    mean,
    simulation_series,
    three_sigma,
)
from onepass.lab.teachers import PerceptronTeacher
from onepass.learners.normalized import Normalized
from onepass.learners.shifted import ShiftedPerceptron
from onepass.passes import Pass
from onepass.rows import Floats
from onepass.schedules import noisy_optimum

CHUNK = 1 << 14  # rows that are drawn at a time


def two_clouds(teacher: PerceptronTeacher, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Examples around ±U, each with probability ½: those of the teacher, some of them with both signs turned."""
    S, y = teacher.sample(rows, rng)
    sign = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    return S * sign[:, None], y * sign


def learn_from_clouds(teacher: PerceptronTeacher, alphas: Floats, bench: Bench) -> LearningCurves:
    """ShiftedPerceptron itself, on drawn rows of balanced labels; its exact error at the looks."""
    replicas, seed, tell = bench.replicas, bench.how.seed, bench.next_progress()
    times = np.rint(alphas * teacher.N).astype(np.int64)
    W = np.empty((replicas, times.size, teacher.N))
    for i in range(replicas):
        rng = np.random.default_rng([seed, i])
        learner = ShiftedPerceptron(noisy_optimum(teacher.N, teacher.q0))
        run = Pass(learner, n_features=teacher.N, classes=[-1, 1], fit_intercept=False, watch=False, conversion="last")
        done = 0
        for look, end in enumerate(times):
            while done < end:
                rows = min(CHUNK, int(end) - done)
                S, y = two_clouds(teacher, rows, rng)
                run.feed(S, y.astype(np.int64))
                done += rows
            W[i, look] = run.trace().last[1:, 0]
        tell((i + 1) / replicas)
    W /= np.linalg.norm(W, axis=2, keepdims=True)
    angle = np.arctan2(np.linalg.norm(W[:, :, 1:], axis=2), W[:, :, 0])
    q = teacher.q0 * W[:, :, 0] + teacher.side * W[:, :, 1]
    error = teacher.p + (1.0 - 2.0 * teacher.p) * theory.disagreement_at(angle, q, teacher.q0)
    return LearningCurves(times, times / teacher.N, error, angle, q)


def balanced(replicas: int = 40, alpha: float = FULL["balanced"], how: RunOptions = DEFAULT) -> Experiment:
    """Inputs around ±U, output noise 0.1: both labels equally frequent. Plain rule and weighted shift. Section 3.

    Parameters
    ----------
    replicas : int, default 40
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 3e3
        The largest α: examples per input.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*balanced(replicas=10).findings)  # doctest: +SKIP
    """
    big, small = (PerceptronTeacher(N, p=0.1, u=2.5, q0=0.8) for N in (2000, 50))
    alphas, bench, findings = np.geomspace(1.0, alpha, 40), Bench(replicas, alpha, how, 3), []
    error = Panel("", "α = examples / inputs", "generalisation error ε", [], "linear")
    excess = Panel("what the weighted shift has left to learn", "α", "ε − p", [])
    schedule = noisy_optimum(big.N, big.q0)
    rules: list[tuple[str, Normalized | ExactlyWeighted, theory.Shift]] = [
        ("plain", Normalized(schedule, big.N), "none"),
        ("weighted, T exact", ExactlyWeighted(schedule, big.N), "weighted"),
    ]
    start, limit = (0.0, 0.0), three_sigma(alphas.size, replicas)
    for label, rule, shift in rules:
        curves = bench.run(big, rule, alphas, start)
        flow = theory.noisy_flow(big, schedule, alphas, shift, start)
        error.series.extend([simulation_series(label, curves), Series(f"{label}: flow", "theory", alphas, flow.error)])
        gap = float(np.abs((curves.mean - flow.error) / curves.standard_error).max())
        findings.append(Finding(f"{label}: largest gap to the flow in standard errors", gap, 0.0, 0.0, limit))
        if shift == "none":
            rest = theory.plain_limits(big)[0].error
            findings.append(final_level("plain rule: error at the end", curves, rest, 0.01))
        else:
            excess.series.append(simulation_series(label, curves.less(big.p)))
            excess.series.append(Series(f"{label}: flow", "theory", alphas, flow.error - big.p))
    learned = learn_from_clouds(small, alphas[alphas >= 10.0], bench).less(small.p)
    late = alphas[alphas >= alpha / 10.0]
    # near the teacher noise in ⟨y·S⟩ counts as it does for a constant shift, so that flow says how far −½ still is
    known = theory.noisy_flow(small, noisy_optimum(small.N, small.q0), late, "learned").error - small.p
    excess.series.append(simulation_series("ShiftedPerceptron, T learned", learned))
    excess.series.append(Series("T learned: flow", "theory", late, known))
    excess.series.append(Series("∝ α^(−1/2)", "reference", late, theory.noisy_law(late, small.p)))
    slope = fit_power_law(late, [known, known]).exponent
    what = "ShiftedPerceptron: exponent of ε − p, against the flow's"
    findings.append(exponent(what, learned.fit(late[0], alpha), slope, 0.03))
    ratio = (learned.error[:, -late.size :] / known).mean(axis=1)
    what = "ShiftedPerceptron: ε − p over the flow's"
    findings.append(mean(what, ratio, 1.0, 0.1))
    error.series.append(Series("p", "reference", alphas, np.full_like(alphas, big.p)))
    title = "Balanced labels: a shift that is weighted by the input"
    return bench.experiment("balanced", title, [error, excess], findings, teacher=repr(big), learner=repr(small))
