"""Prices: which share of δ each candidate has, since the one that is deployed is chosen by what the rows showed."""

from __future__ import annotations

from functools import cache

from onepass.trace.grid import floor_index, point
from onepass.trace.watched import FIRST

CANDIDATES = 192  # 48 octaves with four grid points each: rounds 8 to 2^51


def candidate_price(frozen: int, expected_rows: int | None = None) -> float:
    """The price of the candidate frozen after this round: all prices together are at most 1.

    Where nobody knows how many rows will come, 1/192 for each. With m expected rows: ½ on the largest grid point that
    is at most 0.8·m, ¼ spread over the grid points in (m/4, m], ¼ over all 192. The number is a price and nothing else,
    and must be declared before the first row that counts.

    Parameters
    ----------
    frozen : int
        The round, on the cutoff grid, from 8 on.
    expected_rows : int or None, default None
        m, if it was declared.

    Returns
    -------
    float
        The share of δ that this candidate has.

    Raises
    ------
    ValueError
        If no candidate is frozen at this round, or fewer than one row is expected.

    Examples
    --------
    >>> candidate_price(16) == 1 / 192
    True
    >>> round(candidate_price(768, expected_rows=1000), 4)  # 0.8 · 1000 is 800, and the grid has 768
    0.5326
    """
    index = _index(frozen)
    if expected_rows is None:
        return 1.0 / CANDIDATES if index < CANDIDATES else 0.0
    return _price(index, expected_rows)


def _index(frozen: int) -> int:
    """The number of a candidate, from 0 on."""
    at = int(floor_index(frozen))
    if frozen < FIRST or point(at) != frozen:
        raise ValueError(f"frozen: a round of the cutoff grid from {FIRST} on expected, got {frozen!r}")
    return at - int(floor_index(FIRST))


@cache
def _rounds() -> tuple[int, ...]:
    """The rounds of all candidates that have a price."""
    first = int(floor_index(FIRST))
    return tuple(point(first + i) for i in range(CANDIDATES))


def _price(index: int, expected: int) -> float:
    if expected < 1:
        raise ValueError(f"expected_rows: a number of rows from 1 on expected, got {expected!r}")
    if index >= CANDIDATES:
        return 0.0
    rounds = _rounds()
    favourite = sum(5 * s <= 4 * expected for s in rounds) - 1  # −1: too few rows for any
    near = [i for i, s in enumerate(rounds) if 4 * s > expected and s <= expected]
    price = 0.25 / CANDIDATES
    if index == favourite:
        price += 0.5
    if index in near:
        price += 0.25 / len(near)
    return price
