"""A noisy teacher and shifted inputs: the flow of a student, and where it ends. See barkai1995, eq. 14 to 18."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from onepass.lab.teachers import PerceptronTeacher
from onepass.lab.theory.exact_errors import disagreement_at, generalization_error
from onepass.lab.theory.flow import ROOT_2, Flow, Shift, integrated
from onepass.learners.shifted import WARMUP
from onepass.rows import Floats
from onepass.schedules import ROOT_2PI, Schedule, checked, rate


def noisy_flow(
    teacher: PerceptronTeacher,
    schedule: Schedule,
    alphas: npt.ArrayLike,
    shift: Shift = "none",
    start: tuple[float, float] = (0.0, 0.0),
    warmup: float = WARMUP,
) -> Flow:
    """Overlaps (R, q) of a student of a noisy perceptron with shifted inputs, from `start` at α = 0.

    With F = ⟨e·y·(S − T)⟩ of the package's head, dW/dα = η·(F − W·(F·W)) − ½η²·ε_g·W, projected on W₀ and U; near the
    teacher this is barkai1995, eq. 14. A learned T is T + B/⟨y⟩, B the noise of the running average ⟨y·S⟩: it is
    orthogonal to W₀ and U, `|B|² = 1/α`, and F gains −(m/⟨y⟩)·B. Its overlap with W, G = α·(B·W), closes the system::

        dG/dα = η·ε_g + η·α·(F·B) − G·(η·F·W + ½η²·ε_g),      F·B = −φ(q)·G/α − m/(⟨y⟩·α)

    (the first term: the example that moves W also enters the average). The shift starts at α = warmup.

    Weighted, with g(W) = ⟨sgn(W·S)·S⟩ = erf(q/√2)·U + 2φ(q)·W and g₀ = g(W₀)::

        F = −½·(g(W) − g₀·(g₀·g(W))/|g₀|²)

    Parameters
    ----------
    teacher : PerceptronTeacher
        Who gives the labels.
    schedule : Schedule
        The rate.
    alphas : array_like
        Where to look, rising.
    shift : str, default "none"
        "none", "exact", "learned" or "weighted": how inputs are shifted.
    start : tuple[float, float], default (0.0, 0.0)
        (R, q) at α = 0.
    warmup : float, default 20.0
        α from which inputs are shifted.

    Returns
    -------
    Flow
        `R`, `q` and `error` at every α.

    Examples
    --------
    >>> from onepass.schedules import noisy_optimum
    >>> teacher = PerceptronTeacher(N=250, p=0.2, u=4.0, q0=-1.95)
    >>> flow = noisy_flow(teacher, noisy_optimum(250, -1.95), [100.0, 1000.0], shift="exact", start=(0.5, -1.0))
    >>> bool(0.2 < flow.error[1] < flow.error[0] < 0.5)
    True
    """
    schedule = checked(schedule)
    kappa = teacher.shift_along_teacher if shift in ("exact", "learned") else 0.0
    g1, g2 = teacher.mean_signed_input

    def slope(alpha: float, state: Floats) -> list[float]:
        R, q, G = state
        eta = rate(schedule, max(alpha * teacher.N, 1.0))
        error = float(generalization_error(min(max(R, -1.0), 1.0), q, teacher.q0, teacher.p))
        m = 0.5 * (teacher.balance - math.erf(q / ROOT_2))
        density = math.exp(-q * q / 2.0) / ROOT_2PI
        shifted = shift != "none" and alpha > warmup
        along_U = 0.0 if shifted else m  # m·(U − T) is m·U before the shift and −m·κ·W₀ after
        along_W0 = (1.0 - 2.0 * teacher.p) * teacher.boundary - (m * kappa if shifted else 0.0)
        if shifted and shift == "weighted":
            sign, g0_U = math.erf(teacher.q0 / ROOT_2), g1 * teacher.q0 + g2 * teacher.side
            g0_W = sign * q + 2.0 * teacher.boundary * R
            share = (math.erf(q / ROOT_2) * g0_U + 2.0 * density * g0_W) / (g1 * g1 + g2 * g2)
            along_U, along_W0 = 0.5 * (share * sign - math.erf(q / ROOT_2)), share * teacher.boundary
        pull = m / teacher.balance if shifted and shift == "learned" else 0.0
        overlap = G / max(alpha, 1e-300)  # B·W
        F_W = along_U * q + along_W0 * R - density - pull * overlap
        F_W0 = along_U * teacher.q0 + along_W0 - density * R
        F_U = along_U * teacher.u**2 + along_W0 * teacher.q0 - density * q
        loss = eta * F_W + 0.5 * eta * eta * error
        G_slope = eta * error - eta * (density * G + pull) - G * loss
        return [eta * F_W0 - R * loss, eta * F_U - q * loss, G_slope]

    alphas = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
    R, q, _ = integrated(slope, [*start, 0.0], alphas, kink=None if shift == "none" else warmup)
    angle = np.arccos(np.clip(R, -1.0, 1.0))
    return Flow(alphas, angle, q, teacher.p + (1.0 - 2.0 * teacher.p) * disagreement_at(angle, q, teacher.q0))


def noisy_stationary_excess(eta: npt.ArrayLike, p: float, q0: float) -> Floats:
    """ε_∞ − p = (1 − 2p)·√(ηp)·exp(−q₀²/4)/(2π³)^(1/4) for a small constant rate. See barkai1995, eq. 15.

    The printed equation is P(student ≠ clean teacher); the excess over p is 1 − 2p times that. A learned T is as good
    as an exact one here, since it has all the time to become exact.

    Parameters
    ----------
    eta : array_like
        The rate.
    p : float
        Output noise.
    q0 : float
        The teacher's projection of the inputs' mean.

    Returns
    -------
    array of float
        The excess over p.

    Examples
    --------
    >>> low, high = noisy_stationary_excess([0.01, 0.04], p=0.1, q0=-1.0)
    >>> round(float(high / low), 9)
    2.0
    """
    disagree = np.sqrt(np.asarray(eta, dtype=np.float64) * p) * math.exp(-(q0**2) / 4.0) / (2.0 * math.pi**3) ** 0.25
    return np.asarray((1.0 - 2.0 * p) * disagree)


def noisy_constant(p: float, eta0: float = 2.0, shift: Shift = "learned") -> float:
    """lim √α·(ε_g − p) for η = η₀/(2φα), η₀ > 1. See barkai1995, eq. 18.

    Near the teacher 1 − R = D/α and P(student ≠ teacher) = 2φ·√(D/(πα)), where

        D·φ²·(η₀ − 1) = η₀²·p/8                        T exact
        D·φ²·(η₀ − 1) = η₀²·p/8 + η₀·c·(p + c)/2       T learned, c = p/(1 − 2p)

    so for η₀ = 2 the excess is (1 − 2p)·√(2p/(πα)) with T exact and √(2p/(πα)), eq. 18 as printed, with T learned.

    Parameters
    ----------
    p : float
        Output noise.
    eta0 : float, default 2.0
        Above 1.
    shift : str, default "learned"
        Whether T is "learned" or "exact".

    Returns
    -------
    float
        The constant.

    Raises
    ------
    ValueError
        If η₀ is not above 1.

    Examples
    --------
    >>> round(noisy_constant(0.2), 3), round(noisy_constant(0.2, shift="exact"), 3)
    (0.357, 0.214)
    """
    if not eta0 > 1.0:
        raise ValueError(f"eta0: above 1 expected, got {eta0!r}; at and below 1 the excess falls more slowly than 1/√α")
    c = p / (1.0 - 2.0 * p) if shift == "learned" else 0.0
    D = (eta0**2 * p / 8.0 + eta0 * c * (p + c) / 2.0) / (eta0 - 1.0)  # times φ², which cancels
    return (1.0 - 2.0 * p) * 2.0 * math.sqrt(D / math.pi)


def best_eta0(p: float, shift: Shift = "learned") -> float:
    """The η₀ of the least `noisy_constant`: 2 with T exact, 1 + √(1 + 4p − 4p²)/(1 − 2p) with T learned.

    Parameters
    ----------
    p : float
        Output noise.
    shift : str, default "learned"
        Whether T is "learned" or "exact".

    Returns
    -------
    float
        η₀.

    Examples
    --------
    >>> best_eta0(0.2, shift="exact"), round(best_eta0(0.2), 2)
    (2.0, 3.13)
    """
    return 2.0 if shift == "exact" else 1.0 + math.sqrt(1.0 + 4.0 * p - 4.0 * p * p) / (1.0 - 2.0 * p)


def noisy_law(
    alpha: npt.ArrayLike, p: float, eta0: float = 2.0, z: float = 1.0, shift: Shift = "learned", amplitude: float = 1.0
) -> Floats:
    """ε_g − p at large α for η = η₀/(2φ)·α^(−z). See barkai1995, eq. 16-18.

        z < 1            (1 − 2p)·√(η₀p/(2π))·α^(−z/2)
        z = 1, η₀ > 1    noisy_constant/√α
        z = 1, η₀ < 1    amplitude·α^(−η₀/2)

    Parameters
    ----------
    alpha : array_like
        Examples per input.
    p : float
        Output noise.
    eta0 : float, default 2.0
        η₀.
    z : float, default 1.0
        How fast the rate falls.
    shift : str, default "learned"
        Whether T is "learned" or "exact".
    amplitude : float, default 1.0
        Where the law leaves it open.

    Returns
    -------
    array of float
        The excess over p.

    Raises
    ------
    ValueError
        If no power law is known: z above 1, or η₀ = 1 at z = 1.

    Examples
    --------
    >>> bool(noisy_law([400.0], p=0.2)[0] == noisy_constant(0.2) / 20.0)
    True
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    if z < 1.0:
        return np.asarray((1.0 - 2.0 * p) * math.sqrt(eta0 * p / (2.0 * math.pi)) * alpha ** (-z / 2.0))
    if z > 1.0 or eta0 == 1.0:
        raise ValueError(f"no power law is known for z = {z!r}, eta0 = {eta0!r}; take z ≤ 1 and eta0 ≠ 1")
    if eta0 < 1.0:
        return np.asarray(amplitude * alpha ** (-eta0 / 2.0))
    return np.asarray(noisy_constant(p, eta0, shift) / np.sqrt(alpha))
