"""What barkai1995 proves: exact errors, order-parameter equations for N → ∞, and the laws they end in.

The two facts behind the equations. The mean step of a student W, given the input S, is along

    ⟨e·y | S⟩ = ½·((1 − 2p)·sgn(W₀·S) − sgn(W·S)),            e = 1 on a mistake

and with S = U + Z, Z standard normal, Stein's lemma gives ⟨sgn(W·S)·Z⟩ = 2φ(q)·W, φ the normal density, q = U·W. So

    ⟨e·y·(S − T)⟩ = m·(U − T) + (1 − 2p)·φ(q₀)·W₀ − φ(q)·W,    m = ½·((1 − 2p)·erf(q₀/√2) − erf(q/√2))

from which every flow below follows by projection. `shift` is "none", "exact" (T known), "learned" (T by running
averages) or "weighted" (T(S) = ψ(S)·⟨y·S⟩/⟨y·ψ⟩ known, ψ linear) throughout.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import integrate, optimize, special

from onepass.lab.teachers import PerceptronTeacher
from onepass.learners.shifted import WARMUP
from onepass.rows import Floats
from onepass.schedules import ROOT_2PI, Schedule, checked, rate

Shift = Literal["none", "exact", "learned", "weighted"]

ROOT_2 = math.sqrt(2.0)

BATCH = 0.625  # error·α of batch learning (Seung et al. 1992)
ONLINE_OPTIMUM = 0.88  # error·α of the best on-line rule (Kinouchi and Caticha 1992)
UNNORMALIZED = (2.0 / 3.0) ** (1.0 / 3.0) / math.pi  # error·α^(1/3) of the perceptron that is never normalised


# Exact errors


def disagreement(R: npt.ArrayLike, q: npt.ArrayLike = 0.0, q0: float = 0.0) -> Floats:
    """P(sgn x ≠ sgn x₀), x and x₀ normal with means q, q₀, variance 1 and correlation R; arccos(R)/π if q = q₀ = 0.

    Parameters
    ----------
    R : array_like
        Overlap of student and teacher, between −1 and 1.
    q : array_like, default 0.0
        The student's projection of the inputs' mean.
    q0 : float, default 0.0
        The teacher's.

    Returns
    -------
    array of float
        How often they disagree.

    Raises
    ------
    ValueError
        If R is no overlap.

    Examples
    --------
    >>> disagreement([1.0, 0.5, 0.0])
    array([0.        , 0.33333333, 0.5       ])
    >>> float(disagreement(1.0, q=1.0, q0=0.0) - (special.ndtr(1.0) - 0.5))
    0.0
    """
    R = np.asarray(R, dtype=np.float64)
    if not (np.abs(R) <= 1.0).all():
        raise ValueError("R: an overlap lies between −1 and 1")
    return disagreement_at(np.arccos(R), q, q0)


def disagreement_at(angle: npt.ArrayLike, q: npt.ArrayLike = 0.0, q0: float = 0.0) -> Floats:
    """The same for R = cos(angle), without the rounding of an R near 1: 2·T(q, a) + 2·T(q₀, a₀) + [q·q₀ < 0].

    T is Owen's function and a = (q₀/q − R)/√(1 − R²), a₀ with q and q₀ exchanged.

    Parameters
    ----------
    angle : array_like
        Between student and teacher.
    q : array_like, default 0.0
        The student's projection of the inputs' mean.
    q0 : float, default 0.0
        The teacher's.

    Returns
    -------
    array of float
        How often they disagree.

    Examples
    --------
    >>> round(float(disagreement_at(math.pi / 4)), 9)
    0.25
    """
    angle, q = np.asarray(angle, dtype=np.float64), np.asarray(q, dtype=np.float64)
    obtuse = angle > 0.5 * math.pi  # then ask where −W disagrees: near −1, too, R is rounded
    angle, q = np.where(obtuse, math.pi - angle, angle), np.where(obtuse, -q, q)
    tiny = 1e-150  # stands for 0: the formula holds in the limit
    h, k = np.where(q == 0.0, tiny, q), tiny if q0 == 0.0 else q0
    sine, versine = np.maximum(np.sin(angle), 1e-300), 2.0 * np.sin(0.5 * angle) ** 2
    with np.errstate(over="ignore"):  # the slopes of coinciding or opposite directions are infinite, rightly
        slope_h, slope_k = ((k - h) / h + versine) / sine, ((h - k) / k + versine) / sine
    share = 2.0 * special.owens_t(h, slope_h) + 2.0 * special.owens_t(k, slope_k) + ((h < 0.0) != (k < 0.0))
    return np.asarray(np.clip(np.where(obtuse, 1.0 - share, share), 0.0, 1.0))


def generalization_error(R: npt.ArrayLike, q: npt.ArrayLike = 0.0, q0: float = 0.0, p: float = 0.0) -> Floats:
    """ε_g = p + (1 − 2p)·P(sgn x ≠ sgn x₀). See barkai1995, eq. 3 and 8.

    Differs: the print of eq. 8 lacks the factor 1 − 2p, without which a student at W = −W₀ would err more than always.

    Parameters
    ----------
    R : array_like
        Overlap with the teacher.
    q : array_like, default 0.0
        The student's projection of the inputs' mean.
    q0 : float, default 0.0
        The teacher's.
    p : float, default 0.0
        Output noise.

    Returns
    -------
    array of float
        ε_g.

    Examples
    --------
    >>> float(generalization_error(-1.0, p=0.25))
    0.75
    """
    return p + (1.0 - 2.0 * p) * disagreement(R, q, q0)


# Flows: order parameters for N → ∞


class Flow(NamedTuple):
    """Order parameters and error along α.

    Attributes
    ----------
    alpha : array of float
        Examples per input.
    angle : array of float
        arccos R.
    q : array of float
        U·W.
    error : array of float
        The generalisation error.

    Examples
    --------
    >>> Flow(np.array([1.0]), np.array([0.0]), np.array([0.0]), np.array([0.0])).error.tolist()
    [0.0]
    """

    alpha: Floats
    angle: Floats
    q: Floats
    error: Floats


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
    theta, _ = _integrate(slope, [math.acos(R), 1.0], alphas)
    return Flow(alphas, theta, np.zeros_like(theta), theta / math.pi)


def noisy_flow(
    teacher: PerceptronTeacher,
    schedule: Schedule,
    alphas: npt.ArrayLike,
    shift: Shift = "none",
    start: tuple[float, float] = (0.0, 0.0),
    warmup: float = WARMUP,
) -> Flow:
    """Overlaps (R, q) of a student of a noisy perceptron with shifted inputs, from `start` at α = 0.

    With F = ⟨e·y·(S − T)⟩ of the module's head, dW/dα = η·(F − W·(F·W)) − ½η²·ε_g·W, projected on W₀ and U; near the
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
    R, q, _ = _integrate(slope, [*start, 0.0], alphas, kink=None if shift == "none" else warmup)
    angle = np.arccos(np.clip(R, -1.0, 1.0))
    return Flow(alphas, angle, q, teacher.p + (1.0 - 2.0 * teacher.p) * disagreement_at(angle, q, teacher.q0))


def _integrate(
    slope: Callable[[float, Floats], list[float]], start: list[float], alphas: Floats, kink: float | None = None
) -> Any:
    if alphas.size == 0 or not (alphas > 0.0).all() or not (np.diff(alphas) > 0.0).all():
        raise ValueError("alphas: positive and increasing numbers expected")
    borders = [0.0, *([kink] if kink is not None and 0.0 < kink < alphas[-1] else []), float(alphas[-1])]
    pieces, state = [], np.array(start)
    for begin, end in itertools.pairwise(borders):  # a rule that changes at a kink is smooth between
        inside = alphas[(alphas > begin) & (alphas <= end)]
        looks = inside if inside.size and inside[-1] == end else np.append(inside, end)
        solution = integrate.solve_ivp(slope, (begin, end), state, "LSODA", looks, rtol=1e-9, atol=1e-12)
        if not solution.success:
            raise RuntimeError(f"the flow could not be integrated beyond α = {solution.t[-1]:g}: {solution.message}")
        pieces.append(solution.y[:, : inside.size])
        state = solution.y[:, -1]
    return np.concatenate(pieces, axis=1)


# Laws: where the flows end


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


def plain_limit_of_small_noise(teacher: PerceptronTeacher) -> float:
    """Where the plain rule ends as η → 0, to first order in p. See barkai1995, eq. 9.

        ε = p + p·|1 − 2H(q₀)|·s·⟨|s + z|⟩/(1 + s²),    s² = u² − q₀²,  z standard normal

    It follows from the head of this module: W = W₀ + p·δ with ½·H·δ = −⟨sgn(W₀·S)·S⟩ across W₀, where H has
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
