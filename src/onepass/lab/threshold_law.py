"""One parameter, f(w; s) = a·(w − s): the law of δw = w − w₀ for small rates. See barkai1995, eq. 21-27.

With x = δw/η a student errs with probability ρη|x|, ρ the density of s at the boundary, and a mistake takes x to
x − a·sgn x. Balance of what leaves x and what comes to it is equation 24, a = |f₀′|:

    L F(x) = |x + a|·F(x + a)·[x > −a] + |x − a|·F(x − a)·[x < a] − |x|·F(x) = 0

What it says and what it leaves open. Mistakes lead from x in (0, a) to x − a and back, so x mod a never changes, and
equation 24 holds for F(x) = h(x mod a)·(1 − |x|/a)/a with *any* h ≥ 0 of mean 1: it has one solution for each
distribution of the phase x mod a, none Gaussian, all within |x| ≤ a. A start that is broad beside η has a uniform
phase, h = 1, and that law is the triangle F(x) = (1 − |x|/a)/a. (`triangle`.)

A falling rate stretches x by z/n a round. With η = η₀·n^(−z) and ε = z/(ρ·η₀·n^(1−z)), equation 26 reads
L G = (x·F)′ for P = F + ε·G, of which again only the part beside the phase is fixed:

    G(x) = (2|x|/a − 1)/a²,   and whatever the phase   ⟨x·φ(x)⟩ = ε·⟨x⁺·φ′(x)⟩   for smooth φ of period a

which is what equation 26 gives for the mean of x·φ: a jump takes a·sgn x·φ from it, and x grows by ε·x a unit of time
1/(ρη). The phase itself moves at second order only, ∂h/∂τ = ε²·∂²(θ(a − θ)·h)/∂θ², which empties the middle evenly: a
uniform phase stays so but near 0, where what is lost gathers. For φ = sin(2πx/a) and a uniform phase the next order in
ε cancels, and what is left is of the order (2πε)².

For z = 1 nothing is small: (x·F)′ = κ·L F with κ = ρ·η₀, equation 27, has one solution, for κ·a > 1. (`falling_law`.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse, special
from scipy.sparse.linalg import spsolve

from onepass._jit import jit
from onepass.lab.clean import NEVER
from onepass.rows import Floats
from onepass.schedules import rate

ROOT_2 = math.sqrt(2.0)


def triangle(x: npt.ArrayLike, a: float = 1.0) -> Floats:
    """F(x) = (1 − |x|/a)/a on |x| ≤ a: equation 24 for a uniform phase.

    >>> triangle([-2.0, 0.0, 0.5])
    array([0. , 1. , 0.5])
    """
    return np.asarray(np.maximum(1.0 - np.abs(np.asarray(x, dtype=np.float64)) / a, 0.0) / a)


def triangle_share(x: npt.ArrayLike, a: float = 1.0) -> Floats:
    """How much of the triangle lies below x."""
    t = np.clip(np.asarray(x, dtype=np.float64) / a, -1.0, 1.0)
    return np.asarray(0.5 + t - 0.5 * t * np.abs(t))


def correction(x: npt.ArrayLike, a: float = 1.0) -> Floats:
    """G(x) = (2|x|/a − 1)/a² on |x| ≤ a: equation 26 for the triangle, with a uniform phase.

    >>> correction([0.0, 0.5, 1.0, 2.0])
    array([-1.,  0.,  1.,  0.])
    """
    size = np.abs(np.asarray(x, dtype=np.float64)) / a
    return np.asarray(np.where(size <= 1.0, 2.0 * size - 1.0, 0.0) / a**2)


class FallingLaw(NamedTuple):
    """F on a grid x ≥ 0 (it is even), and what lies below."""

    x: Floats
    density: Floats

    @property
    def mean_size(self) -> float:
        """⟨|x|⟩: the error is κ·⟨|x|⟩/n."""
        return float(2.0 * np.trapezoid(self.x * self.density, self.x))

    def share(self, x: npt.ArrayLike) -> Floats:
        """How much of the law lies below x."""
        steps = 0.5 * (self.density[1:] + self.density[:-1]) * np.diff(self.x)
        above = 0.5 + np.concatenate([[0.0], np.cumsum(steps)])
        x = np.asarray(x, dtype=np.float64)
        half = np.interp(np.abs(x), self.x, above)
        return np.asarray(np.where(x >= 0.0, half, 1.0 - half))


def falling_law(kappa: float, a: float = 1.0, points: int = 400, reach: float = 12.0) -> FallingLaw:
    """Equation 27: (x·F)′ = κ·L F for η = η₀/n, κ = ρ·η₀, with κ·a > 1.

    For even F and u = x·F on x ≥ 0 it reads u′(x) = κ·(u(x + a) + u(a − x)·[x < a] − u(x)); trapezoids on `points`
    points for each a, up to `reach`·a beyond which u, of exponential tail, is 0.

    >>> law = falling_law(4.0)
    >>> round(4.0 * law.mean_size, 3)  # n times the error
    1.609
    """
    if not kappa * a > 1.0:
        raise ValueError(f"kappa: κ·a must be above 1, got {kappa * a!r}; x grows without end otherwise")
    m = int(reach * points)
    h = a / points
    at = np.arange(m + 1)
    rows, columns, values = [at], [at], [np.full(m + 1, -kappa)]
    for source, kept in ((at + points, at + points <= m), (points - at, at < points)):
        rows.append(at[kept])
        columns.append(source[kept])
        values.append(np.full(int(kept.sum()), kappa))
    inflow = sparse.csr_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(m + 1, m + 1)
    )
    step = sparse.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(m, m + 1)) / h
    balance = (step - 0.5 * (inflow[:-1] + inflow[1:])).tocsr()
    # u₀ = 0; its rows add up to 0, so the last one goes, and Σ u = 1 fixes the scale
    system = sparse.vstack([balance[:-1, 1:], sparse.csr_array(np.ones((1, m)))]).tocsc()
    right = np.zeros(m)
    right[-1] = 1.0
    u = np.concatenate([[0.0], spsolve(system, right)])
    x: Floats = np.asarray(at * h, dtype=np.float64)
    density = np.concatenate([[2.0 * u[1] / x[1] - u[2] / x[2]], u[1:] / x[1:]])
    return FallingLaw(x, density / (2.0 * np.trapezoid(density, x)))


def gaussian_variance(a: float, p: float, density: float) -> float:
    """Of δw/√η with output noise p and w₀ = 0, where T = 0: a·p/(2ρ), the law being Gaussian. See section 4.

    The mean step is −a·ρ·δw a round and its variance a²·p·η².
    """
    return a * p / (2.0 * density)


def kolmogorov(sample: Floats, share: Floats) -> float:
    """√n times the largest gap between the sample's distribution and a law with these shares below it (both sorted).

    >>> round(kolmogorov(np.array([0.5]), np.array([0.5])), 3)
    0.5
    """
    n = sample.size
    steps = np.arange(n + 1) / n
    return float(math.sqrt(n) * max(np.max(steps[1:] - share), np.max(share - steps[:-1])))


def kolmogorov_limit(looks: int) -> float:
    """What the largest of so many such gaps exceeds in 0.27 % of cases at most, as three sigma do.

    >>> round(kolmogorov_limit(1), 2)
    1.82
    """
    return float(special.kolmogi(0.0027 / looks))


@jit
def advance(w, setting, schedule, t, times, out, rng):  # type: ignore[no-untyped-def]
    """Students one after the other, from round t on: w ← w + η·y·a where a·(w − s) has not the sign of the label y.

    Between two mistakes w does not change, so the number of rounds until the next one is drawn at once, as in `clean`:
    exact, and what counts is how many mistakes there are, however small the rate is.

    IN  w (students); setting: w₀, a, the probability p that a label is turned over; times: rounds after which to look
    OUT out (students, looks): w there
    """
    w0, a, p = setting
    below0 = 0.5 * math.erfc(-w0 / ROOT_2)
    for i in range(w.size):
        now, due, point = w[i], t, 0
        while True:
            below = 0.5 * math.erfc(-now / ROOT_2)
            up = (1.0 - p) * max(below0 - below, 0.0) + p * (1.0 - max(below, below0))  # s > w, labelled +1
            down = (1.0 - p) * max(below - below0, 0.0) + p * min(below, below0)
            due = min(due + rng.geometric(up + down), NEVER) if up + down > 0.0 else NEVER
            while point < times.size and times[point] < due:
                out[i, point] = now
                point += 1
            if point == times.size:
                break
            rises = up > 0.0 and (down == 0.0 or rng.random() * (up + down) < up)
            now += a * rate(schedule, due) if rises else -a * rate(schedule, due)
