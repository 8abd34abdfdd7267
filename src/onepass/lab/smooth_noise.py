"""Thresholded smooth functions under output noise: the shifted gradient rule. See barkai1995, section 4."""

from __future__ import annotations

import numpy as np

from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.curves import fit_power_law
from onepass.lab.results import Experiment, Panel, Series, exponent, level_series, simulation_series
from onepass.lab.simulate import NoisySmooth, run_noisy_smooth
from onepass.lab.teachers import quadratic
from onepass.schedules import ROOT_2PI, Constant, PowerLaw

P = 0.1
NAMES = {"uniform": "T constant", "halfspace": "T ∝ half-space", None: "not shifted"}


def smooth_noise(replicas: int = 16, alpha: float = FULL["smooth-noise"], how: RunOptions = DEFAULT) -> Experiment:
    """A quadric surface with output noise 0.1: ε − p ∝ √η at a constant rate, ∝ n^(−½) with η ∝ 1/n; `alpha` is n.

    Parameters
    ----------
    replicas : int, default 16
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 1e6
        The number of examples, n.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*smooth_noise(replicas=10).findings)  # doctest: +SKIP
    """
    teacher, etas = quadratic(3), 0.004 * np.array([0.125, 0.25, 0.5, 1.0])
    bench, findings = Bench(replicas, alpha, how, 2 * etas.size + 3), []
    at_rest = Panel("constant rate", "η", "ε − p at rest", [])
    falling = Panel("η ∝ 1/n", "examples n", "ε − p", [])
    starts = np.repeat(teacher.W0[None], replicas, axis=0)
    for weighting in ("uniform", "halfspace"):
        levels = []
        for eta in etas:
            # the slowest of nine directions needs some hundred units of η·n to settle
            looks = np.array([1.0, 3.0]) * max(alpha / 3e3, 100.0) / eta
            settings = bench.how.seed, bench.how.threads, bench.next_progress()
            curves, _ = run_noisy_smooth(
                teacher, NoisySmooth(Constant(float(eta)), P, weighting), looks, starts, settings
            )
            levels.append(curves.error[:, 1] - P)
        label = NAMES[weighting]
        law = np.mean(levels[0]) * np.sqrt(etas / etas[0])
        at_rest.series.extend([level_series(label, etas, levels), Series("∝ √η", "theory", etas, law)])
        fit = fit_power_law(etas, np.array(levels).T)
        findings.append(exponent(f"{label}, constant rate: exponent of η", fit, 0.5, 0.05))
    eta0 = 60.0
    held = min(eta0 / 0.006, alpha / 30.0)
    looks = np.geomspace(held, alpha, 30)
    schedule = PowerLaw(eta0 / ROOT_2PI, 1.0, 1, floor=held)
    cases: list[tuple[str | None, float]] = [("uniform", -0.5), ("halfspace", -0.5), (None, 0.0)]
    for shape, expected in cases:
        settings = bench.how.seed, bench.how.threads, bench.next_progress()
        curves, _ = run_noisy_smooth(teacher, NoisySmooth(schedule, P, shape), looks, starts, settings)
        excess, label = curves.less(P), NAMES[shape]
        late = looks[looks >= alpha / 10.0]
        falling.series.append(simulation_series(label, excess))
        if expected:
            scale = float(np.exp(np.log(excess.mean[-late.size :] * np.sqrt(late)).mean()))
            falling.series.append(Series("∝ n^(−1/2)", "theory", late, scale / np.sqrt(late)))
        what = f"{label}, η ∝ 1/n: exponent of n"
        findings.append(exponent(what, excess.fit(alpha / 10.0, alpha), expected, 0.05))
    title = "A noisy quadric surface: only shifted gradients reach p"
    return bench.experiment("smooth-noise", title, [at_rest, falling], findings, p=P, eta0=eta0)
