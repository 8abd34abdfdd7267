"""The loop of the shifted perceptron: O(non-zeros) a row, though x − T changes with every row.

    W' = W + (η/N)·y·(x − T) after a mistake,   T = ψ(x)·P/S,   P = Σ y·x,   S = Σ y·ψ     barkai1995, eq. 10 and 12

It has a loop of its own because P takes in every row, not only the ones that change W, and because its steps are no
sums of update rows, which is what the common loop records. W = scale·v, and v is never formed:

    v = B − γ·P.   A row y·x enters P: B += γ·y·x, so v stays.   An update v += a·y·x − h·P: B += a·y·x, γ += h.

‖W‖, ⟨v, P⟩ and ‖P‖² are carried along. So are the columns, one for each point of the cutoff grid, holding
Σ_j hat(n_j)·w_j over the finished hypotheses (see trace.columns), by summation by parts, twice: with
A = Σ_j hat(n_j)·scale_j,

    column = M + A·v + G·P.   A row enters P: M −= G·y·x.   An update: M −= A·a·y·x, G += A·h.

When the scale has moved far, all of this is written out (`settle`) and begins afresh from W, before digits cancel.
ψ ≡ 1 until the end of the warm-up; where it is another from then on (see learners.shifted), P and S begin afresh too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from onepass._jit import allocating, by_type, jit
from onepass.errors import LimitError
from onepass.learners.shifted import SIGMAS, WINDOW, Shifted, mirrored, shifts, weighs
from onepass.rows import AnyRows, Dense, Floats, Ints, Rows, add, scan, squared_norm
from onepass.schedules import rate
from onepass.state_checks import need, need_all_alike
from onepass.trace.columns import Columns, Fold, in_order
from onepass.trace.grid import BINS, floor_index, point, upper_share
from onepass.trace.log import Log

# Places in Lazy.state: what is described above; the round in which the last run ended, mistakes in this window, updates
# that were shifted, and updates after the warm-up that were not; Σψ², whether ψ is fixed, and its three coefficients
SCALE, GAMMA, NORM2, PULL, PULL2, TOTAL, SINCE, MISTAKES, USED, UNUSED, SQUARES, FIXED, LEVEL, SLOPE, STEP = range(15)
MOVED = 2.0**8  # how far the scale may move before all is written out
OCTAVE = 4  # grid points added at a time
QUIET = 1.0  # a margin that stands for no loss: of a hypothesis that was turned, not found wrong

turns = by_type({Shifted: mirrored})


class Lazy(NamedTuple):
    """All that the loop changes; weights lie flat, intercept first."""

    B: Floats  # (weights)
    P: Floats  # (weights): Σ y·x
    V: Floats  # (weights): v in ψ
    M: Floats  # (weights, columns)
    A: Floats  # (columns)
    G: Floats  # (columns)
    mass: Floats  # (columns): Σ_j hat(n_j)
    kappa: Floats  # (columns): grid points
    state: Floats


def empty_lazy(width: int) -> Lazy:
    """W = 0, no row met."""
    kappa = np.array([float(point(i)) for i in range(2 * OCTAVE)])
    A, G, mass = (np.zeros(kappa.size) for _ in range(3))
    B, P, V = (np.zeros(width + 1) for _ in range(3))
    state = np.zeros(STEP + 1)
    state[SCALE], state[LEVEL] = 1.0, 1.0
    return Lazy(B, P, V, np.zeros((width + 1, kappa.size)), A, G, mass, kappa, state)


def check_lazy(lazy: Any, rounds: int, most: int) -> None:
    """Raise CheckpointError unless a run of so many rounds and at most so many features can have this state."""
    what, fresh = "the shifted learner", empty_lazy(0)
    need_all_alike(lazy, fresh, what)
    n = lazy.kappa.size
    need(n <= BINS and lazy.state.size == fresh.state.size, what)
    need(all(part.size == n for part in (lazy.A, lazy.G, lazy.mass)), what)
    need(lazy.P.size == lazy.V.size == lazy.B.size and lazy.M.shape == (lazy.B.size, n), what)
    need(1 <= lazy.B.size <= 1 + most, what)
    need(lazy.kappa.tolist() == [float(point(i)) for i in range(n)], what)
    need(0 <= lazy.state[SINCE] <= rounds, what)


def wider(lazy: Lazy, width: int) -> Lazy:
    """With room for so many features."""
    more = width + 1 - lazy.B.size
    if more <= 0:
        return lazy
    B, P, V = (np.pad(part, (0, more)) for part in (lazy.B, lazy.P, lazy.V))
    return lazy._replace(B=B, P=P, V=V, M=np.pad(lazy.M, ((0, more), (0, 0))))


def size_after(rounds: int, width: int) -> int:
    """The bytes that the columns may have come to by this round."""
    return 8 * (width + 1) * (int(floor_index(rounds)) + 2 * OCTAVE)


def advance(lazy: Lazy, rows: AnyRows, y: Ints, rule: Shifted, bias: float, log: Log, t0: int, memory: int) -> Lazy:
    """Learn the rows, which are rounds t0+1, t0+2, …: what ended which hypothesis goes to the log, without rows."""
    done = _learn(lazy, rows, y, rule, bias, log, t0, 0)
    while done < y.size:
        lazy = _roomier(lazy, memory)
        done = _learn(lazy, rows, y, rule, bias, log, t0, done)
    return lazy


def _roomier(lazy: Lazy, memory: int) -> Lazy:
    old = lazy.kappa.size
    need = 8 * lazy.B.size * (old + OCTAVE)
    if need > memory:
        raise LimitError(
            f"max_trace_memory: {lazy.B.size - 1} features × {old + OCTAVE} columns need {need:,} bytes, "
            f"{memory:,} are allowed. Raise max_trace_memory to {need:,}, or hash the features into fewer"
        )
    A, G, mass = (np.pad(part, (0, OCTAVE)) for part in (lazy.A, lazy.G, lazy.mass))
    kappa = np.array([float(point(i)) for i in range(old + OCTAVE)])
    return lazy._replace(M=np.pad(lazy.M, ((0, 0), (0, OCTAVE))), A=A, G=G, mass=mass, kappa=kappa)


# --- kernels ----------------------------------------------------------------------------------------------------------


def _spread_rows(rows, i, M, c):  # type: ignore[no-untyped-def]
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        f, x = np.uint64(rows.indices[j]) + np.uint64(1), np.float64(rows.values[j])
        for k in range(np.uint64(c.size)):
            M[f, k] -= c[k] * x


def _spread_dense(rows, i, M, c):  # type: ignore[no-untyped-def]
    for f in range(np.uint64(rows.values.shape[1])):
        x = np.float64(rows.values[i, f])
        for k in range(np.uint64(c.size)):
            M[f + np.uint64(1), k] -= c[k] * x


spread = by_type({Rows: _spread_rows, Dense: _spread_dense})  # spread(rows, i, M, c): M[feature] −= c·x


@jit
def _dot(rows: AnyRows, i: int, w: Floats) -> float:
    return float(scan(rows, i, w)[0])  # a function, since numba's inliner stumbles over two inlined calls in one loop


@jit
def _add(rows: AnyRows, i: int, w: Floats, a: float) -> None:
    add(rows, i, w, a)


@jit
def settle(lazy: Lazy) -> None:
    """Write W and the columns out, and sum ‖W‖², ⟨W, P⟩ and ‖P‖² afresh."""
    scale, gamma = lazy.state[SCALE], lazy.state[GAMMA]
    norm2 = pull = pull2 = 0.0
    for f in range(np.uint64(lazy.B.size)):
        p = lazy.P[f]
        v = lazy.B[f] - gamma * p
        for c in range(np.uint64(lazy.A.size)):
            lazy.M[f, c] += lazy.A[c] * v + lazy.G[c] * p
        w = scale * v
        lazy.B[f] = w
        norm2 += w * w
        pull += w * p
        pull2 += p * p
    lazy.A[:] = 0.0
    lazy.G[:] = 0.0
    state = lazy.state
    state[SCALE], state[GAMMA], state[NORM2], state[PULL], state[PULL2] = 1.0, 0.0, norm2, pull, pull2


@jit
def _fix_weight(lazy: Lazy, rule: Shifted, rounds: int) -> None:
    """ψ from now on, after so many rounds: v is the mean of y·x, and the running sums begin afresh with it."""
    state, weighting = lazy.state, rule.weighting
    state[FIXED] = 1.0
    spared = weighting.patience > 0.0 and state[TOTAL] * state[TOTAL] > SIGMAS * SIGMAS * rounds
    if spared or weighting.level == 1.0:
        return
    settle(lazy)
    for f in range(np.uint64(lazy.V.size)):
        lazy.V[f] = lazy.P[f] / rounds
    lazy.P[:] = 0.0
    state[PULL], state[PULL2], state[TOTAL], state[SQUARES] = 0.0, 0.0, 0.0, 0.0
    state[LEVEL], state[SLOPE], state[STEP] = weighting.level, weighting.slope, weighting.step


@jit
def _weight(lazy: Lazy, rows: AnyRows, i: int, bias: float) -> float:
    """ψ(x)."""
    if lazy.state[LEVEL] == 1.0:
        return 1.0
    z = _dot(rows, i, lazy.V[1:]) + bias * lazy.V[0]
    return float(lazy.state[SLOPE] * z + (lazy.state[STEP] if z > 0.0 else 0.0))


@jit
def _end(lazy: Lazy, log: Log, t: int, margin: float, scale: float, label: float) -> None:
    """A hypothesis ends in round t: into its two columns, and a line in the log."""
    survival = t - np.int64(lazy.state[SINCE])
    low = floor_index(survival)
    part = upper_share(survival, lazy.kappa[low], lazy.kappa[low + 1])
    lazy.A[low] += (1.0 - part) * scale
    lazy.A[low + 1] += part * scale
    lazy.mass[low] += 1.0 - part
    lazy.mass[low + 1] += part
    k = log.cursor[0]
    log.row[k], log.round[k], log.label[k], log.rival[k], log.shift[k] = 0, t, label, -1, 0
    log.a[k], log.scale[k], log.margin[k], log.indptr[k + 1] = 0.0, scale, margin, log.cursor[1]
    log.cursor[0] = k + 1
    lazy.state[SINCE] = t


@allocating
def _learn(lazy: Lazy, rows: AnyRows, y: Ints, rule: Shifted, bias: float, log: Log, t0: int, first: int) -> int:
    """Learn rows first, first + 1, …; the number of the first whose run may outlive the columns."""
    # Long, as one round is: its steps share nine numbers of the row, and must come in this order.
    B, P, M, state = lazy.B[1:], lazy.P[1:], lazy.M, lazy.state
    top = lazy.kappa[lazy.kappa.size - 1]
    share = np.zeros(lazy.A.size)
    for i in range(np.uint64(first), np.uint64(y.size)):
        t = t0 + np.int64(i) + 1
        if t - state[SINCE] >= top:
            return int(i)
        if state[FIXED] == 0.0 and weighs(rule, t):
            _fix_weight(lazy, rule, t - 1)
        weight = _weight(lazy, rows, i, bias)
        label, scale, gamma = np.float64(y[i]), state[SCALE], state[GAMMA]
        p = _dot(rows, i, P) + bias * lazy.P[0]
        field = _dot(rows, i, B) + bias * lazy.B[0] - gamma * p  # ⟨v, x⟩
        x2 = squared_norm(rows, i) + bias
        margin = label * scale * field
        # the row enters P
        _add(rows, i, P, label)
        lazy.P[0] += label * bias
        state[TOTAL] += label * weight
        state[SQUARES] += weight * weight
        state[PULL] += label * field
        state[PULL2] += 2.0 * label * p + x2
        push, a, h = label * gamma, 0.0, 0.0
        if margin <= 0.0:  # an update: v += a·y·x − h·P
            _end(lazy, log, t, margin, scale, label)
            state[MISTAKES] += 1.0
            a = rate(rule.schedule, t) / rule.N / scale * label
            if shifts(rule, state[TOTAL], state[SQUARES], t):
                h = a * weight / state[TOTAL]
                state[USED] += 1.0
            elif t > rule.warmup * rule.N:
                state[UNUSED] += 1.0
            px = p + label * x2  # ⟨P, x⟩
            along = a * field - h * state[PULL]
            length = a * (a * x2 - 2.0 * h * px) + h * h * state[PULL2]
            norm2 = state[NORM2] + scale * scale * (2.0 * along + length)
            state[PULL] += a * px - h * state[PULL2]
            push += a
            state[GAMMA] = gamma + h
            if norm2 > 1e-30:  # else W' is zero but for rounding: it has no direction to normalise
                state[SCALE], norm2 = scale / math.sqrt(norm2), 1.0
            state[NORM2] = max(norm2, 0.0)
        if push != 0.0:
            _add(rows, i, B, push)
            lazy.B[0] += push * bias
        some = False
        for c in range(np.uint64(share.size)):
            share[c] = label * lazy.G[c] + a * lazy.A[c]
            lazy.G[c] += h * lazy.A[c]
            some = some or share[c] != 0.0
        if some:
            spread(rows, i, M, share)
            for c in range(np.uint64(share.size)):
                M[0, c] -= share[c] * bias
        if not 1.0 / MOVED < abs(state[SCALE]) < MOVED:
            settle(lazy)
        if t % WINDOW == 0:
            if turns(rule, state[MISTAKES]):  # nearer to the teacher's mirror image
                if t > state[SINCE]:
                    _end(lazy, log, t, QUIET, state[SCALE], label)
                state[SCALE] = -state[SCALE]
            state[MISTAKES] = 0.0
    return int(y.size)


# --- what comes out ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ShiftedColumns(Columns):
    """Columns of which the part G·P is not written out."""

    G: Floats
    P: Floats

    def combine(self, q: Floats) -> Floats:
        return super().combine(q) + (in_order(self.G[None], q) * self.P)[:, None]

    def copy(self) -> ShiftedColumns:
        return replace(self, fold=Fold._make(part.copy() for part in self.fold), G=self.G.copy(), P=self.P.copy())


def columns_of(lazy: Lazy) -> ShiftedColumns:
    """The finished hypotheses, sharing arrays."""
    lower = np.arange(lazy.kappa.size, dtype=np.int64)
    v = lazy.B - lazy.state[GAMMA] * lazy.P
    unused = np.zeros(4), np.zeros_like(v), np.zeros(4, dtype=np.int64)
    return ShiftedColumns(Fold(lazy.M, lazy.A, lazy.mass, v, lazy.kappa, lower, *unused), 1, 3, 0, lazy.G, lazy.P)


def weights_of(lazy: Lazy) -> Floats:
    """W, (1 + features, 1)."""
    w: Floats = lazy.state[SCALE] * (lazy.B - lazy.state[GAMMA] * lazy.P)
    return w[:, None]
