"""Smooth functions f(x; W) and their slopes in W.

A function is a NamedTuple; its type chooses

    size(function)                       how many parameters W holds
    value(function, W, x)                f(x; W)
    gradient(function, W, x, out)        out[:] = ∇_W f(x; W)

W is one flat array, so that a learner need not know what its numbers mean. Both are compiled inside kernels and run
as plain Python outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onepass._jit import by_type, jit
from onepass.errors import DataError
from onepass.rows import Floats, Ints

ROOT_HALF = math.sqrt(0.5)
ROOT_2_OVER_PI = math.sqrt(2.0 / math.pi)


class Linear(NamedTuple):
    """f = Σ_i W_i x_i: the perceptron.

    >>> float(value(Linear(2), np.array([3.0, -1.0]), np.array([1.0, 2.0])))
    1.0
    """

    inputs: int


class SoftCommittee(NamedTuple):
    """f = Σ_k erf(W_k·x/√2): a vote of soft hidden units, W_k at W[k·inputs : (k+1)·inputs].

    Take an odd number of hidden units: two agree on sgn f with the one unit W_1 + W_2.

    >>> value(SoftCommittee(1, 3), np.array([1.0, -1.0, 0.0]), np.array([2.0]))
    0.0
    """

    inputs: int
    hidden: int


class Quadratic(NamedTuple):
    """f = Σ_i W_i x_i + Σ_{i≤j} W_ij x_i x_j − 1: a quadric surface; the linear part first, then the pairs row by row.

    The constant is held at −1 because only ratios matter to the sign; were it free, the length of W would grow for
    ever, as the unnormalised perceptron's does, and no error level would be stationary.

    >>> circle = Quadratic(2), np.array([0.0, 0.0, 2.0, 0.0, 2.0])
    >>> float(value(*circle, np.array([0.5, 0.5])))
    0.0
    """

    inputs: int


Function = Linear | SoftCommittee | Quadratic


def _size_linear(function):  # type: ignore[no-untyped-def]
    return function.inputs


def _value_linear(function, W, x):  # type: ignore[no-untyped-def]
    f = 0.0
    for i in range(np.uint64(x.size)):
        f += W[i] * x[i]
    return f


def _gradient_linear(function, W, x, out):  # type: ignore[no-untyped-def]
    for i in range(np.uint64(x.size)):
        out[i] = x[i]


def _size_committee(function):  # type: ignore[no-untyped-def]
    return function.inputs * function.hidden


def _value_committee(function, W, x):  # type: ignore[no-untyped-def]
    f = 0.0
    n = np.uint64(x.size)
    for k in range(np.uint64(function.hidden)):
        field = 0.0
        for i in range(n):
            field += W[k * n + i] * x[i]
        f += math.erf(field * ROOT_HALF)
    return f


def _gradient_committee(function, W, x, out):  # type: ignore[no-untyped-def]
    n = np.uint64(x.size)
    for k in range(np.uint64(function.hidden)):
        field = 0.0
        for i in range(n):
            field += W[k * n + i] * x[i]
        slope = ROOT_2_OVER_PI * math.exp(-0.5 * field * field)
        for i in range(n):
            out[k * n + i] = slope * x[i]


def _size_quadratic(function):  # type: ignore[no-untyped-def]
    return function.inputs + function.inputs * (function.inputs + 1) // 2


def _value_quadratic(function, W, x):  # type: ignore[no-untyped-def]
    f = -1.0
    n = np.uint64(x.size)
    place = n
    for i in range(n):
        inner = W[i]
        for j in range(i, n):
            inner += W[place] * x[j]
            place += np.uint64(1)
        f += inner * x[i]
    return f


def _gradient_quadratic(function, W, x, out):  # type: ignore[no-untyped-def]
    n = np.uint64(x.size)
    place = n
    for i in range(n):
        out[i] = x[i]
        for j in range(i, n):
            out[place] = x[i] * x[j]
            place += np.uint64(1)


size = by_type({Linear: _size_linear, SoftCommittee: _size_committee, Quadratic: _size_quadratic})
value = by_type({Linear: _value_linear, SoftCommittee: _value_committee, Quadratic: _value_quadratic})
gradient = by_type({Linear: _gradient_linear, SoftCommittee: _gradient_committee, Quadratic: _gradient_quadratic})


class Given(NamedTuple):
    """A function of the user's own: f(W, x) and gradient(W, x), plain Python or compiled by numba."""

    f: Callable[[Floats, Floats], float]
    gradient: Callable[[Floats, Floats], Any]
    parameters: int


BLOCK = 1 << 14  # rows that a kernel looks at in one call


@jit
def _next_mistake(function: Function, W: Floats, X: Floats, y: Ints, first: int, last: int) -> int:
    for i in range(first, last):
        if not y[i] * value(function, W, X[i]) > 0.0:
            return i
    return last


@jit
def _values(function: Function, W: Floats, X: Floats, out: Floats) -> None:
    for i in range(out.size):
        out[i] = value(function, W, X[i])


@jit
def _slope(function: Function, W: Floats, x: Floats, out: Floats) -> None:
    gradient(function, W, x, out)


def next_mistake(function: Function | Given, W: Floats, X: Floats, y: Ints, first: int) -> int:
    """The first row from `first` on where sgn f(x; W) ≠ y (0 is wrong for both), or the number of rows."""
    if isinstance(function, Given):
        for i in range(first, len(y)):
            if not y[i] * given_value(function, W, X[i]) > 0.0:
                return i
        return len(y)
    while first < len(y):
        last = min(first + BLOCK, len(y))
        first = int(_next_mistake(function, W, X, y, first, last))
        if first < last:
            return first
    return first


def values(function: Function | Given, W: Floats, X: Floats) -> Floats:
    """f(x; W) of every row."""
    out = np.empty(len(X))
    if isinstance(function, Given):
        out[:] = [given_value(function, W, x) for x in X]
    else:
        for first in range(0, len(X), BLOCK):
            _values(function, W, X[first : first + BLOCK], out[first : first + BLOCK])
    return out


def given_value(function: Given, W: Floats, x: Floats) -> float:
    """f(x; W) of a user's function, checked."""
    f = float(function.f(W, x))
    if not math.isfinite(f):
        raise DataError(f"function: f(W, x) gave {f}; a finite number expected")
    return f


def slope(function: Function | Given, W: Floats, x: Floats) -> Floats:
    """∇_W f(x; W), checked."""
    if isinstance(function, Given):
        out = np.array(function.gradient(W, x), dtype=np.float64)
        if out.shape != W.shape:
            raise DataError(f"gradient: shape {W.shape} expected, as W has, got {out.shape}")
    else:
        out = np.empty_like(W)
        _slope(function, W, x, out)
    if not np.isfinite(out).all():
        raise DataError("gradient: not finite; rescale the features, or lower the rate")
    return out


def check_gradient(
    f: Callable[[Floats, Any], float],
    gradient: Callable[[Floats, Any], Floats],
    W: Floats,
    x: Any,
    tolerance: float = 1e-5,
) -> float:
    """The largest gap between gradient(W, x) and central differences of f(W, x), in units of the largest slope.

    Parameters
    ----------
    f : callable
        f(W, x).
    gradient : callable
        gradient(W, x), an array like W.
    W : array of float
        Where.
    x : array_like
        A row.
    tolerance : float, default 1e-5
        The largest gap that is no fault.

    Returns
    -------
    float
        The largest gap.

    Raises
    ------
    ValueError
        Where the gap exceeds the tolerance; it names the parameter.

    Examples
    --------
    >>> f = lambda W, x: W[0] * x + W[1] ** 2
    >>> check_gradient(f, lambda W, x: np.array([x, 2 * W[1]]), np.array([1.0, 3.0]), 0.5) < 1e-8
    True
    >>> check_gradient(f, lambda W, x: np.array([x, W[1]]), np.array([1.0, 3.0]), 0.5)
    Traceback (most recent call last):
    ValueError: gradient: parameter 1 has slope 6 by finite differences, but the gradient says 3
    """
    W = np.array(W, dtype=np.float64)
    claimed = np.asarray(gradient(W.copy(), x), dtype=np.float64)
    if claimed.shape != W.shape:
        raise ValueError(f"gradient: shape {W.shape} expected, as W has, got {claimed.shape}")
    measured = np.empty_like(W)
    for i in range(W.size):
        h = 1e-5 * max(
            1.0, abs(W[i])
        )  # near the cube root of the rounding unit, where both errors of a difference meet
        up, down = W.copy(), W.copy()
        up[i] += h
        down[i] -= h
        measured[i] = (f(up, x) - f(down, x)) / (up[i] - down[i])
    gaps = np.abs(claimed - measured) / max(1.0, float(np.abs(measured).max(initial=0.0)))
    worst = int(np.argmax(gaps))
    if not gaps[worst] <= tolerance:  # written so that NaN fails
        raise ValueError(
            f"gradient: parameter {worst} has slope {measured[worst]:.6g} by finite differences, "
            f"but the gradient says {claimed[worst]:.6g}"
        )
    return float(gaps[worst])
