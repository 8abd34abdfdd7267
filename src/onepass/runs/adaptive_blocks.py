"""What a round with loss works on: the numbers of the row's columns, taken out of their lines, eight columns a block.

What is known of a column stands in one line of eight floats, 64 bytes. A *block* holds eight columns and, in addition,
what the arithmetic of the round needs: of each of its twelve numbers eight stand side by side, so that a processor does
the same to eight columns at once. The last block is filled up with the line behind all columns, which stays 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import inlined, jit
from onepass._vectors import (
    every,
    flags,
    load,
    load_turned,
    quotients,
    roots,
    size_of,
    store,
    store_turned,
    sum_of,
    where_less,
)
from onepass.rows import Floats

S1, S2, COUNT, INV, MU, A, U, W = range(8)  # places in a column's line; u of several classes stands elsewhere
X, Z, STEP, CHANGE = range(8, 12)  # numbers of a block beside those
EIGHT, BLOCK = np.uint64(8), np.uint64(96)  # columns, and floats, of a block
SHIFT = np.uint64(3)  # a column's line begins at its number shifted by this
CLIP = 100.0  # times the mean square, beyond which a value is clipped: one spike must not kill a column
STRAY = 0.1013  # how far a column's mean square may stray from 1; not 0.1, lest counts tie

Columns = npt.NDArray[np.int32]


class Entries(NamedTuple):
    """Room for the columns that a round with loss is about: the row's non-zeros, then the dense columns it has not."""

    column: Columns
    block: Floats
    picked: Columns  # of the dense columns those to be rescaled
    scale: Floats  # their new scales
    centre: Floats  # and centres


@inlined
def at(f, slot):  # type: ignore[no-untyped-def]
    """Where a column's number stands in `flat`."""
    return (np.uint64(f) << SHIFT) + np.uint64(slot)


@inlined
def eight_of(g, number):  # type: ignore[no-untyped-def]
    """Where the eight of a number begin in block g."""
    return g * BLOCK + np.uint64(number) * EIGHT


@inlined
def of(j, number):  # type: ignore[no-untyped-def]
    """Where a number of entry j stands in the blocks."""
    return eight_of(j >> SHIFT, number) + (j & np.uint64(7))


@inlined
def blocks(n):  # type: ignore[no-untyped-def]
    """How many blocks hold n entries."""
    return (np.uint64(n) + np.uint64(7)) >> SHIFT


@inlined
def fill_up(entries: Entries, n: int, last: int) -> None:
    """The last of the blocks of n entries is filled up with a column that nobody has."""
    for j in range(np.uint64(n), blocks(n) << SHIFT):
        entries.column[j], entries.block[of(j, X)] = last, 0.0


@jit
def take_out(flat: Floats, entries: Entries, n: int) -> None:
    """The lines of all entries into blocks, beside their standardised values."""
    block = entries.block
    for g in range(blocks(n)):
        s1, s2, count, inv, mu, squares, u, w = load_turned(flat, entries.column, g * EIGHT)
        _put(block, g, (s1, s2, count, inv, mu, squares, u, w))
        store(block, eight_of(g, Z), (load(block, eight_of(g, X)) - mu) * inv)


@inlined
def _put(block, g, lines):  # type: ignore[no-untyped-def]
    """The lines of eight columns, turned, into block g."""
    for slot in range(8):
        store(block, eight_of(g, slot), lines[slot])


@inlined
def lines_of(block, g, u, w):  # type: ignore[no-untyped-def]
    """The lines of a block's columns, turned, with these u and w."""
    s1, s2 = load(block, eight_of(g, S1)), load(block, eight_of(g, S2))
    count, inv = load(block, eight_of(g, COUNT)), load(block, eight_of(g, INV))
    mu, squares = load(block, eight_of(g, MU)), load(block, eight_of(g, A))
    return s1, s2, count, inv, mu, squares, u, w


@jit
def put_back(flat: Floats, entries: Entries, n: int) -> None:
    """The lines of all entries, as they stand in the blocks now."""
    block = entries.block
    for g in range(blocks(n)):
        u, w = load(block, eight_of(g, U)), load(block, eight_of(g, W))
        store_turned(flat, entries.column, g * EIGHT, lines_of(block, g, u, w))


@inlined
def observe(flat: Floats, entries: Entries, n: int) -> bool:
    """As `take_out`, and the row's values enter the statistics of their columns: whether one has strayed.

    Those that have have a CHANGE of 1, the others of 0; one that is met for the first time is among them, and dense
    ones may be. What stands in a block with value 0 is not met.
    """
    block, strayed, clipped = entries.block, np.uint64(0), np.uint64(0)
    zero, one = every(0.0), every(1.0)
    for g in range(blocks(n)):
        s1, s2, count, inv, mu, squares, u, w = load_turned(flat, entries.column, g * EIGHT)
        x = load(block, eight_of(g, X))
        store(block, eight_of(g, Z), (x - mu) * inv)
        x2 = x * x
        seen = where_less(count, every(16.0), zero, one)
        clipped |= flags(where_less(every(CLIP) * s2, x2 * count, seen, zero))
        met = where_less(zero, x2, one, zero)
        count, s2 = count + met, s2 + x2
        _put(block, g, (s1 + x, s2, count, inv, mu, squares, u, w))
        strays = where_less(every(STRAY) * count, size_of(s2 * inv * inv - count), met, zero)
        strays = where_less(zero, size_of(mu), zero, strays)  # only dense ones have mu
        strayed |= flags(strays)
        store(block, eight_of(g, CHANGE), strays)
    if clipped != np.uint64(0):
        return bool(_clip(flat, entries, n))
    return bool(strayed != np.uint64(0))


@jit
def _clip(flat: Floats, entries: Entries, n: int) -> bool:
    """Enter values that lie too far out as less than they are; `flat` is what was known before."""
    columns, block, strayed = entries.column, entries.block, False
    for j in range(np.uint64(n)):
        f, x = np.uint32(columns[j]), block[of(j, X)]
        count, square, inv = flat[at(f, COUNT)], flat[at(f, S2)], flat[at(f, INV)]
        if x * x * count > CLIP * square and count >= 16.0:
            v = math.copysign(math.sqrt(CLIP * square / count), x)
            square, count = square + v * v, count + 1.0
            block[of(j, S1)], block[of(j, S2)] = flat[at(f, S1)] + v, square
            strays = abs(square * inv * inv - count) > STRAY * count and flat[at(f, MU)] == 0.0
            block[of(j, CHANGE)] = 1.0 if strays else 0.0
        strayed = strayed or bool(block[of(j, CHANGE)] > 0.0)
    return strayed


@inlined
def step(block: Floats, n: int, bias: float) -> tuple[float, float]:
    """(1 over the row's length, how far a whole step goes): the steps of a standardised row; A is kept."""
    sums = every(0.0)
    for g in range(blocks(n)):
        z = load(block, eight_of(g, Z))
        sums = sums + z * z
    length2 = bias + sum_of(sums)
    if not length2 > 0.0:
        return 0.0, 0.0
    r, zero = 1.0 / math.sqrt(length2), every(0.0)
    sums = zero
    for g in range(blocks(n)):
        z = every(r) * load(block, eight_of(g, Z))
        squares = load(block, eight_of(g, A)) + z * z
        gone = where_less(zero, squares, quotients(z, roots(squares)), zero)
        store(block, eight_of(g, A), squares)
        store(block, eight_of(g, STEP), gone)
        sums = sums + z * gone
    return r, sum_of(sums)
