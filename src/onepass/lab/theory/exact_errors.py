"""Exact errors: how often a student and its teacher disagree. See barkai1995, eq. 3 and 8."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from onepass.rows import Floats


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
