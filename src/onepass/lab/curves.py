"""What many students did, side by side: means, bands, and the power law that a mean curve follows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.rows import Floats


@dataclass(frozen=True, eq=False)
class LearningCurves:
    """The generalisation error of every student at every look.

    `angle` and `q` are the order parameters it was computed from; students of a smooth function have none, and their
    error is the share of mistakes since the look before.

    Attributes
    ----------
    rounds : array of int
        After which was looked.
    alpha : array of float
        The same, per input.
    error : array of float
        (students, looks).
    angle : array of float or None, default None
        arccos R.
    q : array of float or None, default None
        U·W.

    Examples
    --------
    >>> curves = LearningCurves(np.array([100, 200]), np.array([2.0, 4.0]), np.array([[0.5, 0.2], [0.3, 0.2]]))
    >>> curves
    LearningCurves(replicas=2, alpha=2..4, error=0.4..0.2)
    >>> curves.mean, curves.standard_error
    (array([0.4, 0.2]), array([0.1, 0. ]))
    """

    rounds: npt.NDArray[np.int64]
    alpha: Floats
    error: Floats
    angle: Floats | None = None
    q: Floats | None = None

    @property
    def replicas(self) -> int:
        return int(self.error.shape[0])

    @property
    def mean(self) -> Floats:
        return np.asarray(self.error.mean(axis=0))

    @property
    def standard_error(self) -> Floats:
        return np.asarray(self.error.std(axis=0, ddof=1) / math.sqrt(self.replicas))

    def band(self, coverage: float = 0.9) -> tuple[Floats, Floats]:
        """Below and above which (1 − coverage)/2 of the students lie, look by look."""
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage: a number between 0 and 1 expected, got {coverage!r}")
        low, high = np.quantile(self.error, [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0], axis=0)
        return low, high

    def less(self, floor: float) -> LearningCurves:
        """The same curves with error − floor in place of the error: what is left to learn above the noise."""
        return replace(self, error=self.error - floor)

    def fit(self, first: float, last: float) -> PowerLawFit:
        """The power law of the mean error for α in first..last. See `fit_power_law`."""
        chosen = (self.alpha >= first) & (self.alpha <= last)
        return fit_power_law(self.alpha[chosen], self.error[:, chosen])

    def __repr__(self) -> str:
        alpha = f"{self.alpha[0]:g}..{self.alpha[-1]:g}"
        return f"LearningCurves(replicas={self.replicas}, alpha={alpha}, error={self.mean[0]:.4g}..{self.mean[-1]:.4g})"


class PowerLawFit(NamedTuple):
    """y = constant·x^exponent, each with one standard error.

    Attributes
    ----------
    exponent, exponent_error : float
        The exponent.
    constant, constant_error : float
        The constant.

    Examples
    --------
    >>> print(PowerLawFit(-0.5, 0.01, 2.0, 0.1))
    x^(-0.500 ± 0.010) · (2 ± 0.1)
    """

    exponent: float
    exponent_error: float
    constant: float
    constant_error: float

    def __str__(self) -> str:
        return (
            f"x^({self.exponent:.3f} ± {self.exponent_error:.3f}) · ({self.constant:.4g} ± {self.constant_error:.2g})"
        )


def fit_power_law(x: npt.ArrayLike, y: npt.ArrayLike) -> PowerLawFit:
    """A straight line through the logarithms of x and of the mean of y[replica, x].

    The points of one curve are correlated, so their scatter says little about the exponent: the standard errors are
    the jackknife's, which leaves out one replica at a time.

    Parameters
    ----------
    x : array_like
        (points), positive.
    y : array_like
        (replicas, points), of positive means.

    Returns
    -------
    PowerLawFit
        Exponent and constant, with their errors.

    Raises
    ------
    ValueError
        If there are fewer than two replicas or points, or a mean is not positive.

    Examples
    --------
    >>> x = np.geomspace(1, 100, 5)
    >>> fit = fit_power_law(x, [3 / x, 5 / x])
    >>> round(fit.exponent, 9), round(fit.constant, 9), round(fit.constant_error, 9)
    (-1.0, 4.0, 1.0)
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if y.ndim != 2 or y.shape[0] < 2 or x.shape != y.shape[1:] or x.size < 2:
        raise ValueError(f"y: at least two replicas of at least two points expected, got {x.shape} and {y.shape}")
    n = y.shape[0]
    total = y.sum(axis=0)
    means = np.vstack([total / n, (total - y) / (n - 1)])  # all replicas, then all but one
    if not (means > 0.0).all() or not (x > 0.0).all():
        raise ValueError("y: a power law needs positive means; take more replicas, or look at earlier points")
    log_x, log_y = np.log(x), np.log(means)
    centred = log_x - log_x.mean()
    slopes = log_y @ centred / (centred @ centred)
    constants = np.exp(log_y.mean(axis=1) - slopes * log_x.mean())
    return PowerLawFit(float(slopes[0]), _jackknife(slopes[1:]), float(constants[0]), _jackknife(constants[1:]))


def _jackknife(left_out: Floats) -> float:
    n = left_out.size
    return float(math.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum()))
