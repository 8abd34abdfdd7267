"""A noiseless teacher: the flow of a student, and where it ends. See barkai1995, eq. 4 to 6."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from onepass.lab.theory.flow import Flow, integrated
from onepass.rows import Floats
from onepass.schedules import ROOT_2PI, Schedule, checked, rate

BATCH = 0.625  # error·α of batch learning (Seung et al. 1992)
ONLINE_OPTIMUM = 0.88  # error·α of the best on-line rule (Kinouchi and Caticha 1992)
UNNORMALIZED = (2.0 / 3.0) ** (1.0 / 3.0) / math.pi  # error·α^(1/3) of the perceptron that is never normalised


def clean_flow(schedule: Schedule, N: float, alphas: npt.ArrayLike, R: float = 0.0, normalized: bool = True) -> Flow:
    """The overlap of a student of a noiseless perceptron, from R at α = 0. See barkai1995, eq. 4.

    Equation 4, dR/dα = η·(1 − R²)/√(2π) − η²·R·arccos(R)/(2π), is solved in θ = arccos R, which stays exact as R → 1.
    Without normalisation η/L stands for η, and the length follows dL/dα = −η·(1 − R)/√(2π) + η²·θ/(2πL), L = 1 at the
    start.

    Parameters
    ----------
    schedule : Schedule
        The rate.
    N : float
        Inputs.
    alphas : array_like
        Where to look, rising.
    R : float, default 0.0
        The overlap at α = 0.
    normalized : bool, default True
        Whether the weights are held at length 1.

    Returns
    -------
    Flow
        `R`, `q` and `error` at every α.

    Examples
    --------
    >>> from onepass.schedules import clean_optimum
    >>> flow = clean_flow(clean_optimum(1000), 1000, [1e4])
    >>> abs(flow.error[0] * 1e4 / (4 / math.pi) - 1) < 1e-3
    np.True_
    """
    schedule = checked(schedule)

    def slope(alpha: float, state: Floats) -> list[float]:
        theta, length = state
        eta = rate(schedule, max(alpha * N, 1.0))
        h = eta if normalized else eta / length
        turn = -h * math.sin(theta) / ROOT_2PI + h * h * theta / (2.0 * math.pi * math.tan(theta))
        grow = -eta * (1.0 - math.cos(theta)) / ROOT_2PI + eta * h * theta / (2.0 * math.pi)
        return [turn, 0.0 if normalized else grow]

    alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    theta, _ = integrated(slope, [math.acos(R), 1.0], alphas)
    return Flow(alphas, theta, np.zeros_like(theta), theta / math.pi)


def stationary_error(eta: npt.ArrayLike) -> Floats:
    """ε_∞ = η/√(2π³) for a small constant rate and a noiseless teacher. See barkai1995, eq. 5.

    Parameters
    ----------
    eta : array_like
        The rate.

    Returns
    -------
    array of float
        The error at rest.

    Examples
    --------
    >>> float(stationary_error(math.sqrt(2 * math.pi**3)))
    1.0
    """
    return np.asarray(eta, dtype=np.float64) / math.sqrt(2.0 * math.pi**3)


def clean_constant(eta0: float) -> float:
    """lim α·ε_g for η = η₀√(2π)/α, η₀ > 1: η₀²/(π(η₀ − 1)), least at η₀ = 2. See barkai1995, eq. 6.

    Parameters
    ----------
    eta0 : float
        Above 1.

    Returns
    -------
    float
        The limit.

    Examples
    --------
    >>> clean_constant(2.0) == 4 / math.pi
    True
    """
    if not eta0 > 1.0:
        raise ValueError(f"eta0: above 1 expected, got {eta0!r}; at and below 1 the error falls more slowly than 1/α")
    return eta0**2 / (math.pi * (eta0 - 1.0))


def clean_law(alpha: npt.ArrayLike, eta0: float, z: float, amplitude: float = 1.0) -> Floats:
    """ε_g at large α for η = η₀√(2π)·α^(−z). See barkai1995, eq. 6.

        z < 1            η₀/π·α^(−z)
        z = 1, η₀ > 1    η₀²/(π(η₀ − 1))/α
        z = 1, η₀ = 1    ln α/(πα)
        z = 1, η₀ < 1    amplitude·α^(−η₀): how far it starts decides
        z > 1            amplitude: it stalls

    Differs: the print has √(ln α)/α at η₀ = 1; eq. 4 itself gives ln α/(πα).

    Parameters
    ----------
    alpha : array_like
        Examples per input.
    eta0 : float
        η₀.
    z : float
        How fast the rate falls.
    amplitude : float, default 1.0
        Where the law leaves it open.

    Returns
    -------
    array of float
        ε_g.

    Examples
    --------
    >>> clean_law([100.0], eta0=2.0, z=0.5) * math.pi
    array([0.2])
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if z < 1.0:
        return np.asarray(eta0 / math.pi * alpha**-z)
    if z > 1.0:
        return np.full_like(alpha, amplitude)
    if eta0 == 1.0:
        return np.asarray(np.log(alpha) / (math.pi * alpha))
    return clean_constant(eta0) / alpha if eta0 > 1.0 else np.asarray(amplitude * alpha**-eta0)
