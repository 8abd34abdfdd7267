"""Flows: order parameters for N → ∞, along α, the examples per input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import integrate

from onepass.rows import Floats

Shift = Literal["none", "exact", "learned", "weighted"]

ROOT_2 = math.sqrt(2.0)


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


def integrated(
    slope: Callable[[float, Floats], list[float]], start: list[float], alphas: Floats, kink: float | None = None
) -> Any:
    """The state at every α, from `start` at α = 0; a rule that changes at a kink is smooth before and after it."""
    if alphas.size == 0 or not (alphas > 0.0).all() or not (np.diff(alphas) > 0.0).all():
        raise ValueError("alphas: positive and increasing numbers expected")
    borders = [0.0, *([kink] if kink is not None and 0.0 < kink < alphas[-1] else []), float(alphas[-1])]
    pieces, state = [], np.array(start)
    for begin, end in itertools.pairwise(borders):
        inside = alphas[(alphas > begin) & (alphas <= end)]
        looks = inside if inside.size and inside[-1] == end else np.append(inside, end)
        solution = integrate.solve_ivp(slope, (begin, end), state, "LSODA", looks, rtol=1e-9, atol=1e-12)
        if not solution.success:
            raise RuntimeError(f"the flow could not be integrated beyond α = {solution.t[-1]:g}: {solution.message}")
        pieces.append(solution.y[:, : inside.size])
        state = solution.y[:, -1]
    return np.concatenate(pieces, axis=1)
