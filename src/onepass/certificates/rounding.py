"""Bounds for reading: rounded to the safe side."""

from __future__ import annotations

import math


def round_up(bound: float, digits: int = 4) -> str:
    """An upper bound: rounded up, never down.

    Parameters
    ----------
    bound : float
        The number.
    digits : int, default 4
        Behind the point.

    Returns
    -------
    str
        For reading.

    Examples
    --------
    >>> round_up(0.05312)
    '0.0532'
    """
    return f"{math.ceil(bound * 10**digits - 1e-9 * bound) / 10**digits:.{digits}f}"


def round_down(bound: float, digits: int = 4) -> str:
    """A lower bound: rounded down, never up.

    Parameters
    ----------
    bound : float
        The number.
    digits : int, default 4
        Behind the point.

    Returns
    -------
    str
        For reading.

    Examples
    --------
    >>> round_down(0.05318)
    '0.0531'
    """
    return f"{math.floor(bound * 10**digits + 1e-9 * bound) / 10**digits:.{digits}f}"
