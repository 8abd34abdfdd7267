"""The experiment on the law of one parameter near the teacher: equations 24, 26 and 27, beside simulated students."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from onepass.lab import threshold_law as law
from onepass.lab.bench import DEFAULT, FULL, Bench, RunOptions
from onepass.lab.results import Experiment, Finding, Panel, Series, standard_error
from onepass.lab.simulate import generators_of, run_blocks
from onepass.rows import Floats
from onepass.schedules import ROOT_2PI, Constant, PowerLaw, Schedule

W0, SLOPE = 0.3, 1.0  # the teacher's boundary, off the middle, and a
ROUNDS = 1 << 20  # rounds of a block
BINS = 50
MANY = 10  # times as many students where a small correction is looked for


class Course(NamedTuple):
    """Rounds first+1..stop at this rate, for inputs N(0, 1) with this teacher, slope and output noise."""

    schedule: Schedule
    first: int
    stop: int
    w0: float = W0
    a: float = SLOPE
    p: float = 0.0


def follow(start: Floats, course: Course, seed: int, bench: Bench) -> Floats:
    """w of every student at the end of the course; each draws from a generator of its own."""
    rngs, w = generators_of(start.size, seed), start.copy()
    setting = (course.w0, course.a, course.p)

    def one(i: int, first: int, stop: int, looks: slice, schedule: Schedule) -> None:
        w[i] = law.advance(w[i], setting, schedule, course.first + first, course.first + stop, rngs[i])

    times = np.array([course.stop - course.first])
    run_blocks(one, start.size, times, ROUNDS, course.schedule, bench.how.threads, bench.next_progress())
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


def gap(what: str, x: Floats, share: Floats, looks: int) -> Finding:
    """Whether a sample follows a law, by Kolmogorov and Smirnov's largest gap."""
    limit = law.kolmogorov_limit(looks)
    return Finding(f"{what}: √n · largest gap of the distributions", law.kolmogorov(x, share), 0.0, 0.0, limit)


def _number(what: str, values: Floats, expected: float, tolerance: float) -> Finding:
    """A mean over students, which may be three of its standard errors off besides."""
    return Finding(what, float(values.mean()), standard_error(values), expected, tolerance, 3.0)


def at_rest(bench: Bench, rounds: int) -> tuple[Panel, list[Finding]]:
    """Equation 24: a constant rate, from a broad start and from one phase."""
    eta, n = 0.02, bench.replicas
    rng = np.random.default_rng([bench.how.seed, 24])
    wide = W0 + 20.0 * eta * rng.uniform(-1.0, 1.0, n)
    x = np.sort((follow(wide, Course(Constant(eta), 0, rounds), bench.how.seed, bench) - W0) / eta)
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
    one = (follow(narrow, Course(Constant(eta), 0, rounds), bench.how.seed + 1, bench) - W0) / eta
    above = (one > 0.0).astype(np.float64)
    fourth = (x / x.std()) ** 4
    findings = [
        gap("constant rate, equation 24", x, law.triangle_share(x), 3),
        Finding("constant rate: largest |x|, in units of |f₀′|", float(np.abs(x).max()), 0.0, 1.0, 0.05),
        _number("constant rate: kurtosis − 3 (a Gaussian's is 0)", fourth - 3.0, -0.6, 0.02),
        _number("one phase, x mod a = 0.3: share of x > 0", above, 1.0 - phase, 0.01),
    ]
    return panel, findings


def falling_slowly(bench: Bench, rounds: int) -> tuple[Panel, list[Finding]]:
    """Equation 26: a rate ∝ n^(−½) from the law of a constant one on; what holds for every law of the phase."""
    z, eta, first = 0.5, 0.02, 500
    rho, last, n = density_of(W0), 4 * first, MANY * bench.replicas
    rng = np.random.default_rng([bench.how.seed, 26])
    start = W0 + eta * (rng.random(n) - rng.random(n))  # the triangle
    eta0 = eta * first**z
    w = follow(start, Course(PowerLaw(eta0 / ROOT_2PI, z, 1.0), first, last), bench.how.seed + 3, bench)
    epsilon = z / (rho * eta0 * last ** (1.0 - z))
    x = (w - W0) / (eta0 * last**-z)
    phase = np.mod(x, 1.0)
    edges = np.linspace(0.0, 1.0, 21)
    bins, middle = np.digitize(phase, edges) - 1, 0.5 * (edges[1:] + edges[:-1])
    beyond = (x > 0.0) - (1.0 - phase)
    counts = np.maximum(np.bincount(bins, minlength=middle.size), 1)
    mean = np.bincount(bins, beyond, middle.size) / counts
    spread = 2.0 * np.sqrt(middle * (1.0 - middle) / counts)
    panel = Panel(
        "η ∝ n^(−1/2): equation 26", "phase θ = x mod |f₀′|", "P(x > 0 | θ) − (1 − θ)", [], "linear", "linear"
    )
    panel.series.extend(
        [
            Series("students", "simulation", middle, mean, mean - spread, mean + spread),
            Series(f"from {epsilon:.3f}·G", "theory", middle, -epsilon * (1.0 - 2.0 * middle)),
            Series("without G", "reference", middle, np.zeros_like(middle)),
        ]
    )
    turn = 2.0 * math.pi * x
    pull = x * np.sin(turn) / (2.0 * math.pi * epsilon * (np.maximum(x, 0.0) * np.cos(turn)).mean())
    what = "η ∝ n^(−1/2): ⟨x·sin 2πx⟩ over 2πε·⟨x⁺·cos 2πx⟩, which is 0 for F and 1 for F + ε·G"
    return panel, [_number(what, pull, 1.0, 0.15)]


def falling_best(bench: Bench, rounds: int) -> tuple[Panel, list[Finding]]:
    """Equation 27: η = η₀/n."""
    kappa, rho = 3.0, density_of(W0)
    eta0, first = kappa / rho, 200
    rng = np.random.default_rng([bench.how.seed, 27])
    start = W0 + eta0 / first * rng.uniform(-1.0, 1.0, bench.replicas)
    schedule = PowerLaw(eta0 / ROOT_2PI, 1.0, 1.0)
    w = follow(start, Course(schedule, first, rounds), bench.how.seed + 4, bench)
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
        gap("η ∝ 1/n, equation 27", x, exact.share(x), 3),
        _number("η ∝ 1/n: n·error", scaled, kappa * exact.mean_size, 0.02),
    ]


def with_noise(bench: Bench, rounds: int) -> tuple[Panel, list[Finding]]:
    """Output noise p = 0.1 at w₀ = 0, where T = 0: δw/√η is Gaussian."""
    p, eta = 0.1, 0.002
    variance = law.gaussian_variance(SLOPE, p, density_of(0.0))
    rng = np.random.default_rng([bench.how.seed, 28])
    start = math.sqrt(eta * variance) * rng.standard_normal(bench.replicas)
    w = follow(start, Course(Constant(eta), 0, rounds, 0.0, SLOPE, p), bench.how.seed + 5, bench)
    x = np.sort(w / math.sqrt(eta))
    grid = np.linspace(-1.5, 1.5, 121)
    bell = np.exp(-(grid**2) / (2.0 * variance)) / math.sqrt(2.0 * math.pi * variance)
    panel = Panel("output noise 0.1", "δw/√η", "density", [], "linear", "linear")
    panel.series.extend([histogram("students", x, 1.5), Series("Gaussian, variance p/(2ρ)", "theory", grid, bell)])
    return panel, [gap("output noise, Gaussian", x, special.ndtr(x / math.sqrt(variance)), 3)]


def stationary(replicas: int = 10_000, alpha: float = FULL["stationary"], how: RunOptions = DEFAULT) -> Experiment:
    """The law of one parameter near the teacher; `alpha` is the number of examples. See barkai1995, eq. 24, 26, 27."""
    bench, rounds = Bench(replicas, alpha, how, 5), int(alpha)
    parts = [part(bench, rounds) for part in (at_rest, falling_slowly, falling_best, with_noise)]
    findings = [finding for _, found in parts for finding in found]
    title = "The law of one parameter near the teacher: f = w − s"
    return bench.experiment("stationary", title, [panel for panel, _ in parts], findings, w0=W0, slope=SLOPE)
