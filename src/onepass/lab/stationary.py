"""The experiment on the law of one parameter near the teacher: equations 24, 26 and 27, beside simulated students."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from onepass.executor import ThreadExecutor
from onepass.lab import threshold_law as law
from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.results import Experiment, Finding, Panel, Series, standard_error, three_sigma
from onepass.lab.simulate import generators_of
from onepass.rows import Floats
from onepass.schedules import ROOT_2PI, Constant, PowerLaw, Schedule

W0, SLOPE = 0.3, 1.0  # the teacher's boundary, off the middle, and a
GROUP = 500  # students that share a generator
BINS = 50
LOOKS = 9  # numbers that are judged: limits are such that all together err as one does at three sigma
MANY = 60  # times as many students where a small correction is looked for


class Course(NamedTuple):
    """Rounds from `first` on at this rate, looks at `times`; inputs N(0, 1), this teacher, slope and output noise."""

    schedule: Schedule
    first: int
    times: Sequence[int]
    w0: float = W0
    a: float = SLOPE
    p: float = 0.0


def follow(start: Floats, course: Course, seed: int, bench: Bench) -> Floats:
    """w of every student (rows) at every look; students in groups, and each group has a generator of its own."""
    firsts = range(0, start.size, GROUP)
    rngs, times, tell = generators_of(len(firsts), seed), np.array(course.times, dtype=np.int64), bench.next_progress()
    w, setting = np.empty((start.size, times.size)), (course.w0, course.a, course.p)

    def one(group: int) -> None:
        mine = slice(firsts[group], firsts[group] + GROUP)
        law.advance(start[mine], setting, course.schedule, course.first, times, w[mine], rngs[group])

    with ThreadExecutor(bench.how.threads) as executor:
        executor.map(one, range(len(firsts)), lambda done: tell(done / len(firsts)))
    return w


def density_of(x: float) -> float:
    """φ(x): how dense the inputs lie there."""
    return math.exp(-x * x / 2.0) / ROOT_2PI


def histogram(label: str, x: Floats, reach: float) -> Series:
    """The share of students in bins, as a density; the band is two standard errors of each count."""
    edges = np.linspace(-reach, reach, BINS + 1)
    counts = np.histogram(x, edges)[0]
    width, middle = edges[1] - edges[0], 0.5 * (edges[1:] + edges[:-1])
    spread = 2.0 * np.sqrt(counts + 1.0)
    unit = x.size * width
    return Series(
        label, "simulation", middle, counts / unit, (counts - spread).clip(0) / unit, (counts + spread) / unit
    )


def gap(what: str, x: Floats, share: Floats) -> Finding:
    """Whether a sample follows a law, by Kolmogorov and Smirnov's largest gap."""
    limit = law.kolmogorov_limit(LOOKS)
    return Finding(f"{what}: √n · largest gap of the distributions", law.kolmogorov(x, share), 0.0, 0.0, limit)


def _number(what: str, values: Floats, expected: float, tolerance: float) -> Finding:
    """A mean over students; its standard errors count besides, corrected for the number of looks."""
    sigmas = three_sigma(LOOKS, values.size)
    return Finding(what, float(values.mean()), standard_error(values), expected, tolerance, sigmas)


def at_rest(bench: Bench, rounds: int) -> tuple[Panel, list[Finding]]:
    """Equation 24: a constant rate, from a broad start and from one phase."""
    eta, n = 0.02, bench.replicas
    rng = np.random.default_rng([bench.how.seed, 24])
    wide = W0 + 20.0 * eta * rng.uniform(-1.0, 1.0, n)
    x = np.sort((follow(wide, Course(Constant(eta), 0, [rounds]), bench.how.seed, bench)[:, 0] - W0) / eta)
    grid = np.linspace(-1.2, 1.2, 121)
    panel = Panel("constant rate: equation 24", "x = δw/η", "density", [], "linear", "linear")
    bell = np.exp(-(grid**2) / (2.0 * x.var())) / (ROOT_2PI * x.std())
    panel.series.extend(
        [
            histogram("students", x, 1.2),
            Series("F = 1 − |x|", "theory", grid, law.triangle(grid)),
            Series("a Gaussian of the same width", "reference", grid, bell),
        ]
    )
    phase = 0.3
    narrow = np.full(n, W0 + eta * (5.0 + phase))
    one = (follow(narrow, Course(Constant(eta), 0, [rounds]), bench.how.seed + 1, bench)[:, 0] - W0) / eta
    above = (one > 0.0).astype(np.float64)
    fourth = (x / x.std()) ** 4
    findings = [
        gap("constant rate, equation 24", x, law.triangle_share(x)),
        Finding("constant rate: largest |x|, in units of |f₀′|", float(np.abs(x).max()), 0.0, 1.0, 0.05),
        _number("constant rate: kurtosis − 3 (a Gaussian's is 0)", fourth - 3.0, -0.6, 0.01),
        _number("one phase, x mod a = 0.3: share of x > 0", above, 1.0 - phase, 0.001),
    ]
    return panel, findings


def falling_slowly(bench: Bench, rounds: int) -> tuple[Panel, list[Finding]]:
    """Equation 26: a rate ∝ n^(−½) from the law of a constant one on.

    Time in units of 1/(ρη) is 1/ε here, and what a student forgets which side it is on in is one such unit: looks four
    apart are as good as other students. `rounds` does not matter; ε, which must be small, is chosen instead.
    """
    z, eta, rho, n = 0.5, 0.002, density_of(W0), MANY * bench.replicas
    first = round(z * 40.0 / (rho * eta))  # ε = 1/40
    epsilon = 1.0 / np.arange(50.0, 101.0, 4.0)
    eta0 = eta * first**z
    times = np.rint((z / (rho * eta0 * epsilon)) ** (1.0 / (1.0 - z))).astype(np.int64)
    rng = np.random.default_rng([bench.how.seed, 26])
    start = W0 + eta * (rng.random(n) - rng.random(n))  # the triangle
    course = Course(PowerLaw(eta0 / ROOT_2PI, z, 1.0), first, times.tolist())
    x = (follow(start, course, bench.how.seed + 3, bench) - W0) / (eta0 * times**-z)
    return sides_by_phase(x, epsilon), [first_order_ratio(x, epsilon), worst_phase(x, epsilon)]


def shares_by_phase(x: Floats, epsilon: Floats) -> Series:
    """(P(x > 0 | θ) − (1 − θ))/ε in bins of the phase θ, all looks together; the band is two standard errors."""
    edges = np.linspace(0.0, 1.0, 21)
    phase = np.mod(x, 1.0)
    bins, middle = np.minimum((phase * 20.0).astype(np.int64), 19), 0.5 * (edges[1:] + edges[:-1])
    weights = np.broadcast_to(epsilon, x.shape)  # the best weights for a mean of so many 1/ε
    beyond = weights * ((x > 0.0) - (1.0 - phase))
    total = np.bincount(bins.ravel(), (weights**2).ravel(), middle.size)
    variance = np.bincount(bins.ravel(), (weights**2 * phase * (1.0 - phase)).ravel(), middle.size)
    mean = np.bincount(bins.ravel(), beyond.ravel(), middle.size) / total
    spread = 2.0 * np.sqrt(variance) / total
    return Series("students", "simulation", middle, mean, mean - spread, mean + spread)


def sides_by_phase(x: Floats, epsilon: Floats) -> Panel:
    panel = Panel(
        "η ∝ n^(−1/2): equation 26", "phase θ = x mod |f₀′|", "(P(x > 0 | θ) − (1 − θ))/ε", [], "linear", "linear"
    )
    students = shares_by_phase(x, epsilon)
    law_of_G = Series("from G", "theory", students.x, 2.0 * students.x - 1.0)
    panel.series.extend([students, law_of_G, Series("without G", "reference", students.x, np.zeros_like(students.x))])
    return panel


def worst_phase(x: Floats, epsilon: Floats) -> Finding:
    """The bin farthest from G; those within 0.1 of 0, where what the phase loses gathers, left out."""
    students = shares_by_phase(x, epsilon)
    assert students.high is not None
    gaps = np.abs(students.y - (2.0 * students.x - 1.0)) / (0.5 * (students.high - students.y))
    inner = gaps[2:-2]
    what = "η ∝ n^(−1/2), equation 26: P(x > 0 | phase), largest gap in standard errors"
    return Finding(what, float(inner.max()), 0.0, 0.0, three_sigma(inner.size * LOOKS, x.shape[0]))


def first_order_ratio(x: Floats, epsilon: Floats) -> Finding:
    """⟨x·sin 2πx⟩ over what F + ε·G has for any law of the phase, all looks together."""
    turn = 2.0 * math.pi * x
    found = (epsilon * x * np.sin(turn)).sum(axis=1)
    expected = (epsilon**2 * 2.0 * math.pi * np.maximum(x, 0.0) * np.cos(turn)).sum(axis=1)
    ratio = found.mean() / expected.mean()
    error = standard_error((found - ratio * expected) / expected.mean())
    second = float((2.0 * math.pi * epsilon.max()) ** 2)  # the order left out
    what = "η ∝ n^(−1/2), equation 26: ⟨x·sin 2πx⟩ over 2πε·⟨x⁺·cos 2πx⟩ (0 for F, 1 for F + ε·G)"
    return Finding(what, float(ratio), error, 1.0, second, three_sigma(LOOKS, x.shape[0]))


def falling_best(bench: Bench, rounds: int) -> tuple[Panel, list[Finding]]:
    """Equation 27: η = η₀/n."""
    kappa, rho = 3.0, density_of(W0)
    eta0, first = kappa / rho, 200
    rng = np.random.default_rng([bench.how.seed, 27])
    start = W0 + eta0 / first * rng.uniform(-1.0, 1.0, bench.replicas)
    schedule = PowerLaw(eta0 / ROOT_2PI, 1.0, 1.0)
    w = follow(start, Course(schedule, first, [rounds]), bench.how.seed + 4, bench)[:, 0]
    x = np.sort((w - W0) * rounds / eta0)
    exact = law.falling_law(kappa)
    panel = Panel("η ∝ 1/n: equation 27", "x = δw/η", "density", [], "linear", "linear")
    grid = np.concatenate([-exact.x[::-1], exact.x[1:]])
    shown = np.abs(grid) <= 3.0
    both = np.concatenate([exact.density[::-1], exact.density[1:]])
    panel.series.extend(
        [histogram("students", x, 3.0), Series("F of equation 27", "theory", grid[shown][::8], both[shown][::8])]
    )
    error = special.ndtr(w) - special.ndtr(W0)
    scaled = rounds * np.abs(error)
    return panel, [
        gap("η ∝ 1/n, equation 27", x, exact.share(x)),
        _number("η ∝ 1/n: n·error", scaled, kappa * exact.mean_size, 0.01),
    ]


def with_noise(bench: Bench, rounds: int) -> tuple[Panel, list[Finding]]:
    """Output noise p = 0.1 at w₀ = 0, where T = 0: δw/√η is Gaussian."""
    p, eta = 0.1, 0.0005  # the variance is larger by a share ∝ √η, 2 % here
    variance = law.gaussian_variance(SLOPE, p, density_of(0.0))
    rng = np.random.default_rng([bench.how.seed, 28])
    start = math.sqrt(eta * variance) * rng.standard_normal(bench.replicas)
    w = follow(start, Course(Constant(eta), 0, [4 * rounds], 0.0, SLOPE, p), bench.how.seed + 5, bench)[:, 0]
    x = np.sort(w / math.sqrt(eta))
    grid = np.linspace(-1.5, 1.5, 121)
    bell = np.exp(-(grid**2) / (2.0 * variance)) / math.sqrt(2.0 * math.pi * variance)
    panel = Panel("output noise 0.1", "δw/√η", "density", [], "linear", "linear")
    panel.series.extend([histogram("students", x, 1.5), Series("Gaussian, variance p/(2ρ)", "theory", grid, bell)])
    return panel, [gap("output noise, Gaussian", x, special.ndtr(x / math.sqrt(variance)))]


def stationary(replicas: int = 10_000, alpha: float = FULL["stationary"], how: RunOptions = DEFAULT) -> Experiment:
    """The law of one parameter near the teacher; `alpha` is the number of examples. See barkai1995, eq. 24, 26, 27.

    Parameters
    ----------
    replicas : int, default 10000
        Students; fewer are quick and say the same with wider error bars.
    alpha : float, default 1e4
        The number of examples, n.
    how : RunOptions, default RunOptions()
        Seed, threads, and whom to tell the share of the work done.

    Returns
    -------
    Experiment
        Panels to draw, findings to check.

    Examples
    --------
    >>> print(*stationary(replicas=10).findings)  # doctest: +SKIP
    """
    bench, rounds = Bench(replicas, alpha, how, 5), int(alpha)
    parts = [part(bench, rounds) for part in (at_rest, falling_slowly, falling_best, with_noise)]
    findings = [finding for _, found in parts for finding in found]
    title = "The law of one parameter near the teacher: f = w − s"
    return bench.experiment("stationary", title, [panel for panel, _ in parts], findings, w0=W0, slope=SLOPE)
