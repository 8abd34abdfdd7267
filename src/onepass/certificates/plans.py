"""Bets on the risk of a candidate, planned from what was known when it, and its elder, were frozen.

A bet that is fixed before the rows it is made on may be anything; how tight the bound gets is what it decides. Direct
bets multiply (1 − c·X_J)/(1 − c·ρ) over the rows after the candidate J was frozen. Pair bets multiply

    (1 − c·X_i)/(1 − c·r) over rows that only the elder i met,   (1 + α·X_i − γ·X_J)/(1 + α·r − γ·ρ) over rows of both

with r and ρ the risks of elder and candidate. One pair bet alone excludes, with n₁ and n₂ rows, S the logarithm of its
numerators and L = ln(1/level), every ρ above

    ρ* = (1 + α·r* − A·(1 − c·r*)^−q)/γ,   A = exp((S − L)/n₂),  q = n₁/n₂,  r* = (1 − (A·q·c/α)^(1/(q+1)))/c in [0, 1]

and that is what is made small here, on the shares of an earlier pair's table (2 rows added, ½ to each of four cells).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.certificates.losses import Losses
from onepass.rows import Floats
from onepass.trace.tally import BETS

DIRECT = 1.0 / 3.0  # the weight of direct bets beside pair bets
PLANNED = 0.8  # and, within it, of those that were planned; the rest lies on the 64 that know nothing
LARGEST = 0.98  # bet in a plan: what a row may cost is bounded
SMALLEST = 1e-6
HORIZONS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)  # for how many more rows bets are planned, in rounds of the freezing
AGES = (1.5, 3.0)  # in rounds of the elder: when its candidate is expected, for the bets on the elder's own rows
ELDERS_HORIZON = 0.25  # and for how many rows of both, in rounds of that candidate


class Plan(NamedTuple):
    """The bets of one candidate, and the logarithms of their weights, which sum to 1."""

    direct: Floats  # (2, bets): c, ln weight
    pair: Floats  # (4, bets): c, α, γ, ln weight


def plan(losses: Losses, level: float) -> Plan:
    """The bets on one candidate's loss: a function of what was known when it, and its elder, were frozen.

    The same arguments give the same bets, computed once. Direct bets have a third of the weight, or all where there is
    no elder; of theirs, four fifths lie on planned ones and a fifth on the 64 that know nothing.
    """
    tables = (losses.plan, losses.elder_plan, losses.elder_rows, losses.values)
    numbers = (losses.frozen, losses.elder, losses.part, losses.elder_part)
    return _plan(numbers, losses.values.shape, *(table.tobytes() for table in tables), level)


@lru_cache(maxsize=4096)
def _plan(
    numbers: tuple[int, int, float, float],
    shape: tuple[int, ...],
    table: bytes,
    elder_table: bytes,
    elder_rows: bytes,
    values: bytes,
    level: float,
) -> Plan:
    frozen, elder, part, elder_part = numbers
    losses = np.frombuffer(values).reshape(shape)
    L = math.log(1.0 / level)
    cells, rows = _cells(table, losses), part * frozen * np.array(HORIZONS)
    planned = [direct_bet(cells, float(n), L) for n in rows]
    weight = DIRECT if elder else 1.0
    weights = np.repeat([PLANNED / rows.size, (1.0 - PLANNED) / BETS.size], [rows.size, BETS.size])
    direct = np.stack([np.concatenate([planned, BETS]), np.log(weight * weights)])
    if not elder:
        return Plan(direct, np.empty((4, 0)))
    pair = np.full((4, len(AGES) * rows.size), math.log((1.0 - DIRECT) / (len(AGES) * rows.size)))
    met, elder_cells = np.frombuffer(elder_rows, dtype=np.int64), _cells(elder_table, losses)
    for i, age in enumerate(AGES):
        alone, both = elder_part * elder * (age - 1.0), elder_part * elder * age * ELDERS_HORIZON
        c = elder_bet(elder_cells, alone, both, L)
        S = float(met @ np.log1p(-c * losses.reshape(-1)))
        for j, n in enumerate(rows):
            pair[:3, i * rows.size + j] = c, *pair_bet(cells, c, S, float(met.sum()), float(n), L)
    return Plan(direct, pair)


def _cells(content: bytes, values: Floats) -> Floats:
    """(share, loss of the elder, loss of the candidate) of each cell of a table, 2 rows a group added evenly."""
    outcomes = values.shape[1]
    table = np.frombuffer(content, dtype=np.int64).reshape(-1, outcomes, outcomes) + 2.0 / outcomes**2
    its = np.broadcast_to(values[:, :, None], table.shape)
    mine = np.broadcast_to(values[:, None, :], table.shape)
    return np.stack([(table / table.sum()).reshape(-1), its.reshape(-1), mine.reshape(-1)])


# --- kernels ----------------------------------------------------------------------------------------------------------


@jit
def excluded(S: float, n1: float, n2: float, c: float, alpha: float, gamma: float, L: float) -> float:
    """ρ*: from where on one pair bet excludes the risk of the candidate, whatever the elder's is."""
    log_a, q = (S - L) / n2, n1 / n2
    r = 0.0
    if q * c > 0.0:
        r = (1.0 - math.exp((log_a + math.log(q * c / alpha)) / (q + 1.0))) / c
    else:
        r = 1.0
    r = min(max(r, 0.0), 1.0)
    return (1.0 + alpha * r - math.exp(log_a - q * math.log1p(-c * r))) / gamma


@jit
def expected_log(cells: Floats, alpha: float, gamma: float) -> float:
    """The mean of ln(1 + α·X_i − γ·X_J)."""
    total = 0.0
    for k in range(cells.shape[1]):
        total += cells[0, k] * math.log1p(alpha * cells[1, k] - gamma * cells[2, k])
    return total


@jit
def direct_bet(cells: Floats, n: float, L: float) -> float:
    """The c that is best for n rows: on a grid, then between its neighbours."""
    best, low = math.inf, math.log(SMALLEST)
    at, step = 0.0, (math.log(LARGEST) - low) / 24.0
    for k in range(25):
        rho = _excluded_directly(cells, n, low + k * step, L)
        if rho < best:
            best, at = rho, low + k * step
    while step > 0.02:
        step *= 0.5
        for side in (-1.0, 1.0):
            rho = _excluded_directly(cells, n, at + side * step, L)
            if rho < best:
                best, at = rho, at + side * step
                break
    return min(math.exp(at), LARGEST)


@jit
def _excluded_directly(cells: Floats, n: float, log_c: float, L: float) -> float:
    c = min(math.exp(log_c), LARGEST)
    return -math.expm1(expected_log(cells, 0.0, c) - L / n) / c


@jit
def pair_bet(cells: Floats, c: float, S: float, n1: float, n2: float, L: float) -> tuple[float, float]:
    """The (α, γ) that are best for n₂ rows of both, after n₁ of the elder with the numerators' logarithm S.

    On a grid around n₂·α = n₁·c, near which alone a pair bet works, then between neighbours on ever finer ones.
    """
    low, middle = math.log(SMALLEST), math.log(c * max(n1, 1.0) / n2)
    best, x, y, step, width = math.inf, low, middle, (math.log(LARGEST) - low) / 16.0, 0.5
    for k in range(17):
        for m in range(-2, 3):
            rho = _excluded_by(cells, (c, S, n1, n2, L), middle + m * width, low + k * step)
            if rho < best:
                best, x, y = rho, middle + m * width, low + k * step
    while step > 0.02:
        step, width = 0.5 * step, 0.5 * width
        for _ in range(3):  # a valley may run askew
            x0, y0 = x, y
            for i in range(-1, 2):
                for j in range(-1, 2):
                    rho = _excluded_by(cells, (c, S, n1, n2, L), x0 + i * width, y0 + j * step)
                    if rho < best:
                        best, x, y = rho, x0 + i * width, y0 + j * step
            if x == x0 and y == y0:
                break
    return math.exp(x), min(math.exp(y), LARGEST)


@jit
def _excluded_by(cells, elder, log_alpha, log_gamma):  # type: ignore[no-untyped-def]
    c, S, n1, n2, L = elder
    alpha, gamma = math.exp(log_alpha), min(math.exp(log_gamma), LARGEST)
    return excluded(S + n2 * expected_log(cells, alpha, gamma), n1, n2, c, alpha, gamma, L)


@jit
def elder_bet(cells: Floats, n1: float, n2: float, L: float) -> float:
    """The c that, with the best α and γ, is best for n₁ rows of the elder and then n₂ of both: sought likewise."""
    low = math.log(SMALLEST)
    best, x, y, z = math.inf, low, 0.0, low
    step, width = (math.log(LARGEST) - low) / 16.0, 0.5
    for k in range(17):
        for m in range(17):
            rho = _excluded_with(cells, (n1, n2, L), low + k * step, 0.0, low + m * step)
            if rho < best:
                best, x, z = rho, low + k * step, low + m * step
    while step > 0.02:
        step, width = 0.5 * step, 0.5 * width
        for _ in range(3):
            x0, y0, z0 = x, y, z
            for place in range(27):
                i, j, k = place // 9 - 1, place // 3 % 3 - 1, place % 3 - 1
                rho = _excluded_with(cells, (n1, n2, L), x0 + i * step, y0 + j * width, z0 + k * step)
                if rho < best:
                    best, x, y, z = rho, x0 + i * step, y0 + j * width, z0 + k * step
            if x == x0 and y == y0 and z == z0:
                break
    return min(math.exp(x), LARGEST)


@jit
def _excluded_with(cells, rows, log_c, log_ratio, log_gamma):  # type: ignore[no-untyped-def]
    """ρ* of c, γ and α = ratio·c·n₁/n₂."""
    n1, n2, L = rows
    c, gamma = min(math.exp(log_c), LARGEST), min(math.exp(log_gamma), LARGEST)
    alpha = math.exp(log_ratio) * c * n1 / n2
    S = n2 * expected_log(cells, alpha, gamma)
    for k in range(cells.shape[1]):
        S += n1 * cells[0, k] * math.log1p(-c * cells[1, k])
    return excluded(S, n1, n2, c, alpha, gamma, L)
