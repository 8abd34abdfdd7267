"""Tallies: how many rounds and how much loss fell on what, in the form that certificates need.

One line of a tally stands for one group of rounds: a bin of the cutoff grid, or one frozen candidate. For betting it
carries S(c_j) = Σ ln(1 − c_j·X) over its losses X ∈ [0, 1], kept as a running product that gives up its logarithm every
64 factors (25 times cheaper than a logarithm each time). X is rounded up to a multiple of 2^-30 and summed as an
integer, so that sums do not depend on their order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.errors import DataError
from onepass.rows import Floats, Ints
from onepass.trace.grid import floor_index
from onepass.trace.log import Log, judged

BETS = np.geomspace(1e-4, 0.999, 64)  # the c_j: frozen, since a grid that looks at the data would void the certificate
UNIT = 2.0**30
FACTORS = 64


class Tally(NamedTuple):
    """One line per group."""

    runs: Ints  # hypotheses that ended in this group
    rounds: Ints  # rounds that they lived, or that a candidate was watched
    mistakes: Ints
    kinds: Ints  # (groups, kinds): mistakes by kind (see `kinds`); no kinds: they are not told apart
    hinge: Floats  # Σ of hinge losses, whatever their bound
    units: Ints  # Σ X, in units of 2^-30
    factors: Ints  # factors so far in `product`
    product: Floats  # (groups, 64)
    logs: Floats  # (groups, 64)


def empty_tally(groups: int, kinds: int = 0) -> Tally:
    runs, rounds, mistakes, units, factors = np.zeros((5, groups), dtype=np.int64)
    by_kind, shape = np.zeros((groups, kinds), dtype=np.int64), (groups, BETS.size)
    return Tally(runs, rounds, mistakes, by_kind, np.zeros(groups), units, factors, np.ones(shape), np.zeros(shape))


@jit
def charge(tally: Tally, group: int, margin: float, bound: float) -> bool:
    """Enter one positive loss: a mistake if the margin is ≤ 0; where bound > 0 also the hinge loss (1 − margin)₊.

    False if the hinge loss lies above its bound (by more than rounding): the caller must not go on.
    """
    tally.mistakes[group] += not margin > 0.0  # where a margin is no number, nothing was predicted right
    tally.hinge[group] += max(0.0, 1.0 - margin)
    if bound <= 0.0 or margin >= 1.0:
        return True
    x = (1.0 - margin) / bound
    if not x <= 1.0 + 1e-9:
        return False
    units = min(math.ceil(x * UNIT), UNIT)
    x = units / UNIT
    tally.units[group] += np.int64(units)
    for j in range(BETS.size):
        tally.product[group, j] *= 1.0 - BETS[j] * x
    tally.factors[group] += 1
    if tally.factors[group] % FACTORS == 0:
        for j in range(BETS.size):
            tally.logs[group, j] += math.log(tally.product[group, j])
            tally.product[group, j] = 1.0
    return True


def bets(tally: Tally) -> Floats:
    """S(c_j) per group, (groups, 64), rounded downwards by what the products may have lost."""
    return np.asarray(tally.logs + np.log(tally.product) - tally.factors[:, None] * 2.0**-52)


@jit
def _enter(tally: Tally, log: Log, since: int, bound: float, kinds: Ints, first: int, last: int) -> int:
    """Enter updates first..last, the hypothesis of the first of them in use since round `since`; −1, or the bad one.

    A hypothesis that survived s rounds belongs to the bin of the largest grid point below s: it counts at the cutoffs
    up to that point and at no other.
    """
    for i in range(first, last):
        survival = log.round[i] - since
        since = log.round[i]
        group = floor_index(survival - 1)
        tally.runs[group] += 1
        tally.rounds[group] += survival
        if not charge(tally, group, log.margin[i], bound):
            return i
        if not log.margin[i] > 0.0:
            label, rival = judged(log, i, kinds.shape[0])
            tally.kinds[group, kinds[label, rival % kinds.shape[1]]] += 1
    return -1


def enter(tally: Tally, log: Log, since: int, bound: float, kinds: Ints, first: int) -> None:
    """Enter all updates from number `first` on; `kinds` [label, prediction] says of what kind a mistake is."""
    for start in range(first, log.updates, 1 << 16):
        stop = min(start + (1 << 16), log.updates)
        bad = _enter(tally, log, since, bound, kinds, start, stop)
        if bad >= 0:
            loss = 1.0 - log.margin[bad]
            raise DataError(f"round {log.round[bad]}: hinge loss {loss} lies above its bound {bound}")
        since = int(log.round[stop - 1])
