"""Teachers: who gives the labels, and where the inputs lie. See barkai1995, eq. 1, 7 and 19.

Inputs are Gaussian with unit variance in every direction; a perceptron's may be centred or shifted by U.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from onepass._jit import allocating
from onepass.rows import Floats
from onepass.smooth.functions import Function, Quadratic, SoftCommittee, size, value


@dataclass(frozen=True)
class PerceptronTeacher:
    """y = sgn(W₀·S), turned over with probability p; S ~ N(U, 1) in N dimensions, `‖U‖ = u`, U·W₀ = q₀.

    Parameters
    ----------
    N : int
        Inputs.
    p : float, default 0.0
        Output noise, in [0, ½).
    u : float, default 0.0
        The length of the mean of the inputs.
    q0 : float, default 0.0
        Its projection on the teacher; between −u and u.

    Examples
    --------
    >>> round(PerceptronTeacher(N=250, p=0.2, u=4.0, q0=-1.95).shift_along_teacher, 4)
    -0.1256
    >>> S, y = PerceptronTeacher(N=5).sample(1000, seed=0)
    >>> S.shape, bool((y == np.sign(S[:, 0])).all())  # W₀ is the first axis
    ((1000, 5), True)
    """

    N: int
    p: float = 0.0
    u: float = 0.0
    q0: float = 0.0

    def __post_init__(self) -> None:
        if self.N < 5:
            raise ValueError(f"N: at least 5 inputs expected, got {self.N!r}")
        if not 0.0 <= self.p < 0.5:
            raise ValueError(f"p: a probability in [0, 0.5) expected, got {self.p!r}; at 0.5 nothing can be learned")
        if not 0.0 <= self.u < math.inf:
            raise ValueError(f"u: a length expected, got {self.u!r}")
        if not abs(self.q0) <= self.u:
            raise ValueError(f"q0: U·W₀ is at most ‖U‖ = {self.u!r} in size, got {self.q0!r}")

    @property
    def centred(self) -> bool:
        return self.u == 0.0

    @property
    def side(self) -> float:
        """The part of ‖U‖ across W₀."""
        return math.sqrt(max(self.u**2 - self.q0**2, 0.0))

    @property
    def boundary(self) -> float:
        """φ(q₀): how dense the inputs lie on the teacher's boundary."""
        return math.exp(-(self.q0**2) / 2.0) / math.sqrt(2.0 * math.pi)

    @property
    def balance(self) -> float:
        """⟨y⟩ = (1 − 2p)·(1 − 2H(q₀))."""
        return (1.0 - 2.0 * self.p) * float(special.erf(self.q0 / math.sqrt(2.0)))

    @property
    def mean_signed_input(self) -> tuple[float, float]:
        """⟨sgn(W₀·S)·S⟩ = erf(q₀/√2)·U + 2φ(q₀)·W₀, along W₀ and along the rest of U."""
        sign = float(special.erf(self.q0 / math.sqrt(2.0)))
        return sign * self.q0 + 2.0 * self.boundary, sign * self.side

    @property
    def shift_along_teacher(self) -> float:
        """κ in T = U + κ·W₀, the exact shift: √(2/π)·exp(−q₀²/2)/(1 − 2H(q₀)). See barkai1995, eq. 13."""
        if self.q0 == 0.0:
            raise ValueError("q0: with U·W₀ = 0 both labels are equally frequent, and no shift T exists")
        return 2.0 * self.boundary / float(special.erf(self.q0 / math.sqrt(2.0)))

    def sample(self, rows: int, seed: int | np.random.Generator = 0) -> tuple[Floats, Floats]:
        """Examples (S, y) in coordinates whose first axis is W₀ and whose second is the rest of U."""
        rng = np.random.default_rng(seed)
        S = rng.standard_normal((rows, self.N))
        S[:, 0] += self.q0
        S[:, 1] += self.side
        y = np.where(S[:, 0] > 0.0, 1.0, -1.0)
        return S, np.where(rng.random(rows) < self.p, -y, y)


@dataclass(frozen=True, eq=False)
class SmoothTeacher:
    """y = sgn f(S; W₀) for a smooth f, S ~ N(0, 1). `committee` and `quadratic` make good ones.

    Attributes
    ----------
    function : Function
        f: linear, soft committee, quadratic, or the user's own.
    W0 : array of float
        Its parameters.

    Raises
    ------
    ValueError
        If the function has not so many parameters, or they are not finite.

    Examples
    --------
    >>> teacher = quadratic(4)
    >>> teacher.function, teacher.W0.size  # 4 linear and 10 quadratic terms
    (Quadratic(inputs=4), 14)
    """

    function: Function
    W0: Floats

    def __post_init__(self) -> None:
        expected = size(self.function)
        if self.W0.shape != (expected,):
            raise ValueError(f"W0: {expected} parameters expected for {self.function}, got shape {self.W0.shape}")
        if not np.isfinite(self.W0).all():
            raise ValueError("W0: finite parameters expected")

    def sample(self, rows: int, seed: int | np.random.Generator = 0) -> tuple[Floats, Floats]:
        """Examples (S, y)."""
        S = np.random.default_rng(seed).standard_normal((rows, self.function.inputs))
        return S, _labels(self.function, self.W0, S)


@allocating
def _labels(function, W, S):  # type: ignore[no-untyped-def]
    y = np.empty(S.shape[0])
    for i in range(y.size):
        y[i] = 1.0 if value(function, W, S[i]) > 0.0 else -1.0
    return y


def committee(N: int, hidden: int = 3, seed: int = 0) -> SmoothTeacher:
    """A soft committee of orthogonal hidden units of length 2, 3, 4, …, so that no two can be exchanged.

    Parameters
    ----------
    N : int
        Inputs.
    hidden : int, default 3
        Units, at most N.
    seed : int, default 0
        Of their directions.

    Returns
    -------
    SmoothTeacher
        Who labels by it.

    Raises
    ------
    ValueError
        If there cannot be so many units.

    Examples
    --------
    >>> S, y = committee(6).sample(1000)
    >>> bool(abs(y.mean()) < 0.1)  # odd in S: both labels are equally frequent
    True
    """
    if not 1 <= hidden <= N:
        raise ValueError(f"hidden: 1 to N = {N} units expected, got {hidden!r}")
    axes, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((N, hidden)))
    lengths = 2.0 + np.arange(hidden)
    return SmoothTeacher(SoftCommittee(N, hidden), np.ascontiguousarray((axes * lengths).T).ravel())


def quadratic(N: int, seed: int = 0) -> SmoothTeacher:
    """An ellipsoid around a point off the origin that holds about half of the inputs.

    Parameters
    ----------
    N : int
        Inputs.
    seed : int, default 0
        Of its shape.

    Returns
    -------
    SmoothTeacher
        Who labels by it.

    Raises
    ------
    ValueError
        If there is no input.

    Examples
    --------
    >>> S, y = quadratic(4).sample(1000)
    >>> bool(abs(y.mean()) < 0.3)
    True
    """
    if N < 1:
        raise ValueError(f"N: at least one input expected, got {N!r}")
    rng = np.random.default_rng(seed)
    curvature = np.triu(0.2 * rng.standard_normal((N, N)), 1) + np.diag(rng.uniform(0.7, 1.3, N))
    linear = 0.3 * rng.standard_normal(N) / math.sqrt(N)
    return SmoothTeacher(Quadratic(N), np.concatenate([linear, curvature[np.triu_indices(N)] / N]))
