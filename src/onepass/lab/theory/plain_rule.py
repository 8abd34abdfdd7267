"""Where the plain rule, without a shift, ends as η → 0. See barkai1995, eq. 9 and section 3."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize

from onepass.lab.teachers import PerceptronTeacher
from onepass.lab.theory.exact_errors import generalization_error
from onepass.lab.theory.flow import ROOT_2
from onepass.schedules import ROOT_2PI


def plain_limit_of_small_noise(teacher: PerceptronTeacher) -> float:
    """Where the plain rule ends as η → 0, to first order in p. See barkai1995, eq. 9.

        ε = p + p·|1 − 2H(q₀)|·s·⟨|s + z|⟩/(1 + s²),    s² = u² − q₀²,  z standard normal

    It follows from the package's head: W = W₀ + p·δ with ½·H·δ = −⟨sgn(W₀·S)·S⟩ across W₀, where H has
    2φ(q₀)·(1 + s²) along the rest of U; the student then disagrees where `|W₀·S| < p·|δ·S|`. Zero, as the paper says,
    where U is nought, along W₀ or across it. The numerator is lost in the print.

    Parameters
    ----------
    teacher : PerceptronTeacher
        With a little output noise.

    Returns
    -------
    float
        The error.

    Examples
    --------
    >>> teacher = PerceptronTeacher(N=50, p=0.001, u=2.0, q0=-1.0)
    >>> round(plain_limit_of_small_noise(teacher), 6), round(plain_limits(teacher)[0].error, 6)
    (0.001522, 0.001521)
    """
    s = teacher.side
    mean = s * math.erf(s / ROOT_2) + 2.0 * math.exp(-s * s / 2.0) / ROOT_2PI
    return teacher.p * (1.0 + abs(math.erf(teacher.q0 / ROOT_2)) * s * mean / (1.0 + s * s))


class Limit(NamedTuple):
    """Where the plain rule can end as η → 0.

    Attributes
    ----------
    error : float
        The generalisation error there.
    R : float
        Overlap with the teacher.
    q : float
        U·W.
    stable : bool
        False: it attracts within the plane of W₀ and U and repels, slowly, across it.

    Examples
    --------
    >>> Limit(error=0.2, R=1.0, q=-1.95, stable=True).stable
    True
    """

    error: float
    R: float
    q: float
    stable: bool  # False: it attracts within the plane of W₀ and U and repels, slowly, across it


def plain_limits(teacher: PerceptronTeacher) -> list[Limit]:
    """The ends of the plain rule as η → 0: zeros of its mean step across W, attracting in the plane of W₀ and U.

    A small share of W outside that plane shrinks at a stable end and grows at the other kind, but so slowly that a
    rate ∝ 1/α can leave a student there for a long time. See barkai1995, section 3.

    Parameters
    ----------
    teacher : PerceptronTeacher
        With output noise and shifted inputs.

    Returns
    -------
    list[Limit]
        Each with its error, its overlaps, and whether it is stable.

    Examples
    --------
    >>> for limit in plain_limits(PerceptronTeacher(N=250, p=0.2, u=4.0, q0=-1.95)):
    ...     print(f"{limit.error:.3f} {limit.stable}")
    0.312 True
    0.341 False
    """
    p, q0, side = teacher.p, teacher.q0, teacher.side
    drive = (1.0 - 2.0 * p) * teacher.boundary

    def parts(beta: float) -> tuple[float, float]:
        """The mean step across W and along it (but for −φ(q)·W), for W = (cos β, sin β)."""
        R, s = math.cos(beta), math.sin(beta)
        m = 0.5 * (teacher.balance - math.erf((q0 * R + side * s) / ROOT_2))
        return m * (side * R - q0 * s) - drive * s, m * (q0 * R + side * s) + drive * R

    grid = np.linspace(-math.pi, math.pi, 4001) + 1e-7  # off the symmetric directions, where a zero would be missed
    values = np.array([parts(beta)[0] for beta in grid])
    ends = []
    for i in np.flatnonzero((values[:-1] > 0.0) & (values[1:] <= 0.0)):  # falling through zero
        beta = optimize.brentq(lambda b: parts(b)[0], grid[i], grid[i + 1], xtol=1e-14)
        R, q = math.cos(beta), q0 * math.cos(beta) + side * math.sin(beta)
        ends.append(Limit(float(generalization_error(R, q, q0, p)), R, q, parts(beta)[1] > 0.0))
    return sorted(ends)
