"""Bounds for reading: rounded to the safe side."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context

LARGE = 1e9  # from here on nobody counts digits
SURE = 99.9999  # from here on six digits would be rounded to certainty


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
    >>> round_up(0.05312), round_up(1.23456e300)
    ('0.0532', '1.23457e+300')
    """
    if bound >= LARGE:
        return str(Context(prec=6, rounding=ROUND_CEILING).create_decimal(bound)).replace("E", "e")
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


def probability_text(delta: float) -> str:
    """1 − δ for reading, never rounded to certainty.

    Parameters
    ----------
    delta : float
        What it may fail by.

    Returns
    -------
    str
        In per cent, or as 1 less δ.

    Examples
    --------
    >>> probability_text(0.05), probability_text(0.05 / 6), probability_text(1e-9)
    ('95 %', '99.1667 %', '1 - 1e-09')
    """
    percent = 100 * (1 - delta)
    return f"{percent:.6g} %" if percent <= SURE else f"1 - {delta:.6g}"
