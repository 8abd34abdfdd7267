"""Learning rates η(t), t = 1, 2, …: NamedTuples that kernels take as they are, printed as they are written.

    Constant(eta)                      η
    InverseRoot(eta0)                  η₀/√t
    PowerLaw(eta0, z, N)               η₀·√(2π)·α^(−z),          α = t/N       barkai1995, section 2
    NoisyPowerLaw(eta0, z, N, q0)      η₀/(2φ(q₀))·(α + α₀)^(−z)               barkai1995, section 3
    Custom(function)                   whatever function(t) returns

`rate(schedule, t)` is η(t), in kernels and outside. Any callable may stand where a schedule is asked for: `checked`
wraps it, and `for_kernel` tabulates it for the rounds of one block, since no kernel can call it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type

ROOT_2PI = math.sqrt(2.0 * math.pi)


class Constant(NamedTuple):
    """η(t) = η.

    Parameters
    ----------
    eta : float
        The rate.

    Examples
    --------
    >>> rate(Constant(0.5), 9)
    0.5
    """

    eta: float

    def __str__(self) -> str:
        return f"η = {self.eta:g}"


class InverseRoot(NamedTuple):
    """η(t) = η₀/√t: the rate that needs no horizon.

    Parameters
    ----------
    eta0 : float
        The rate of the first round.

    Examples
    --------
    >>> rate(InverseRoot(3.0), 9)
    1.0
    """

    eta0: float

    def __str__(self) -> str:
        return f"η = {self.eta0:g}/√t"


class PowerLaw(NamedTuple):
    """η(t) = η₀·√(2π)·max(α, floor)^(−z) with α = t/N. See barkai1995, eq. 6.

    z < 1 ends at error ∝ α^(−z), z > 1 stalls; z = 1 and η₀ = 2 is best (`clean_optimum`). Below the floor, where the
    power law would take steps longer than the weights themselves, the rate is held.

    Parameters
    ----------
    eta0 : float
        η₀.
    z : float
        How fast it falls.
    N : float
        Inputs.
    floor : float, default 1.0
        α below which the rate is held.

    Examples
    --------
    >>> schedule = PowerLaw(eta0=2.0, z=1.0, N=50)
    >>> schedule
    PowerLaw(eta0=2.0, z=1.0, N=50, floor=1.0)
    >>> print(schedule)
    η = 2√(2π)·α^(−1)
    >>> rate(schedule, 5000) == rate(schedule, 50) / 100
    True
    """

    eta0: float
    z: float
    N: float
    floor: float = 1.0

    def __str__(self) -> str:
        return f"η = {self.eta0:g}√(2π)·α^(−{self.z:g})"


class NoisyPowerLaw(NamedTuple):
    """η(t) = η₀/(2φ)·(α + α₀)^(−z), φ = exp(−q₀²/2)/√(2π), for targets with output noise. See barkai1995, eq. 16-18.

    q₀ is the teacher's projection of the inputs' mean. α₀ = (η₀/(2φ))^(1/z) makes the first rate 1. For z = 1 and η₀ =
    2 it is the best of its kind (`noisy_optimum`).

    Parameters
    ----------
    eta0 : float
        η₀.
    z : float
        How fast it falls.
    N : float
        Inputs.
    q0 : float
        The teacher's projection of the inputs' mean.

    Examples
    --------
    >>> rate(NoisyPowerLaw(eta0=2.0, z=1.0, N=250, q0=-1.95), 0)
    1.0
    """

    eta0: float
    z: float
    N: float
    q0: float

    def __str__(self) -> str:
        return f"η = {self.eta0:g}/(2φ)·(α + α₀)^(−{self.z:g})"


class Tabulated(NamedTuple):
    """η(first), η(first + 1), … written out: what a kernel sees of a user's own function.

    >>> float(rate(Tabulated(10, np.array([0.5, 0.25])), 11))
    0.25
    """

    first: int
    values: npt.NDArray[np.float64]


class Custom(NamedTuple):
    """A rate of the user's own: function(t) ≥ 0 for every round t = 1, 2, …

    >>> def halving(t):
    ...     return 2.0 ** -(t // 1000)
    >>> Custom(halving)
    Custom(halving)
    >>> rate(Custom(halving), 2500)
    0.25
    """

    function: Callable[[float], float]

    def __repr__(self) -> str:
        return f"Custom({getattr(self.function, '__qualname__', repr(self.function))})"

    def __str__(self) -> str:
        return f"η = {getattr(self.function, '__name__', repr(self.function))}(t)"


Schedule = Constant | InverseRoot | PowerLaw | NoisyPowerLaw | Tabulated | Custom


def _constant(schedule, t):  # type: ignore[no-untyped-def]
    return schedule.eta


def _inverse_root(schedule, t):  # type: ignore[no-untyped-def]
    return schedule.eta0 / math.sqrt(t)


def _power_law(schedule, t):  # type: ignore[no-untyped-def]
    return schedule.eta0 * ROOT_2PI * max(t / schedule.N, schedule.floor) ** -schedule.z


def _noisy_power_law(schedule, t):  # type: ignore[no-untyped-def]
    top = schedule.eta0 * ROOT_2PI * math.exp(schedule.q0 * schedule.q0 / 2.0) / 2.0  # η₀/(2φ)
    return top * (t / schedule.N + top ** (1.0 / schedule.z)) ** -schedule.z


def _tabulated(schedule, t):  # type: ignore[no-untyped-def]
    return schedule.values[t - schedule.first]


def _custom(schedule, t):  # type: ignore[no-untyped-def]
    return schedule.function(t)


rate = by_type(  # rate(schedule, t) → η(t)
    {
        Constant: _constant,
        InverseRoot: _inverse_root,
        PowerLaw: _power_law,
        NoisyPowerLaw: _noisy_power_law,
        Tabulated: _tabulated,
        Custom: _custom,
    }
)


def clean_optimum(N: float) -> PowerLaw:
    """The best power law for a target without noise: 2√(2π)/α, error (4/π)/α. See barkai1995, eq. 6.

    Parameters
    ----------
    N : float
        Inputs.

    Returns
    -------
    PowerLaw
        The schedule.

    Examples
    --------
    >>> clean_optimum(50)
    PowerLaw(eta0=2.0, z=1.0, N=50, floor=1.0)
    """
    return PowerLaw(eta0=2.0, z=1.0, N=N)


def noisy_optimum(N: float, q0: float) -> NoisyPowerLaw:
    """The best power law for a target with output noise: error − p ∝ α^(−1/2). See barkai1995, eq. 18.

    Parameters
    ----------
    N : float
        Inputs.
    q0 : float
        The teacher's projection of the inputs' mean.

    Returns
    -------
    NoisyPowerLaw
        The schedule.

    Examples
    --------
    >>> noisy_optimum(250, q0=-1.95)
    NoisyPowerLaw(eta0=2.0, z=1.0, N=250, q0=-1.95)
    """
    return NoisyPowerLaw(eta0=2.0, z=1.0, N=N, q0=q0)


def checked(schedule: Any) -> Schedule:
    """The schedule with its numbers as floats (so that kernels compile once), a plain callable wrapped as Custom.

    >>> checked(PowerLaw(2, 1, 50))
    PowerLaw(eta0=2.0, z=1.0, N=50.0, floor=1.0)
    >>> checked(PowerLaw(2, 1, 0))
    Traceback (most recent call last):
    ValueError: PowerLaw: N must be positive and finite, got 0
    """
    if isinstance(schedule, Custom | Tabulated):
        return schedule
    if not isinstance(schedule, Constant | InverseRoot | PowerLaw | NoisyPowerLaw):
        if callable(schedule) and not isinstance(schedule, type):
            return Custom(schedule)
        raise TypeError(f"schedule: one of onepass.schedules or a function of t expected, got {schedule!r}")
    for field, value in zip(schedule._fields, schedule, strict=True):
        if not (math.isfinite(value) and (value > 0.0 or field == "q0")):
            wanted = "finite" if field == "q0" else "positive and finite"
            raise ValueError(f"{type(schedule).__name__}: {field} must be {wanted}, got {value!r}")
    if isinstance(schedule, NoisyPowerLaw) and abs(schedule.q0) > 30.0:  # exp(q₀²/2) would leave the floats
        raise ValueError(f"NoisyPowerLaw: |q0| must be at most 30, got {schedule.q0!r}; no label would ever differ")
    return type(schedule)(*map(float, schedule))


def for_kernel(schedule: Schedule, first: int, last: int) -> Schedule:
    """What a kernel may be handed for rounds first..last: the schedule itself, or the table of a user's function.

    >>> for_kernel(Custom(lambda t: 1 / t), 2, 4)
    Tabulated(first=2, values=array([0.5       , 0.33333333, 0.25      ]))
    """
    if not isinstance(schedule, Custom):
        return schedule
    values = np.array([schedule.function(t) for t in range(first, last + 1)], dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if bad.size:
        raise ValueError(
            f"schedule: {schedule!r} gave {values[bad[0]]!r} at t = {first + bad[0]}; "
            "a rate must be finite and not negative"
        )
    return Tabulated(first, values)
