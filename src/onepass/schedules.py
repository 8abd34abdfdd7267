"""Learning rates η(t), t = 1, 2, …: NamedTuples that kernels take as they are."""

from __future__ import annotations

import math
from typing import NamedTuple

from onepass._jit import by_type


class Constant(NamedTuple):
    """η(t) = η.

    >>> rate(Constant(0.5), 9)
    0.5
    """

    eta: float


class InverseRoot(NamedTuple):
    """η(t) = η₀/√t: the rate that needs no horizon.

    >>> rate(InverseRoot(3.0), 9)
    1.0
    """

    eta0: float


def _constant(schedule, t):  # type: ignore[no-untyped-def]
    return schedule.eta


def _inverse_root(schedule, t):  # type: ignore[no-untyped-def]
    return schedule.eta0 / math.sqrt(t)


rate = by_type({Constant: _constant, InverseRoot: _inverse_root})  # rate(schedule, t)
Schedule = Constant | InverseRoot
