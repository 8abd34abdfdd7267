"""Compaction: the update rows folded into one vector per cutoff.

Column c stands for grid point κ_c and holds Σ_j hat_c(n_j)·w_j over the finished hypotheses, where hat_c shares a
survival time out between its two neighbours on the grid (see grid). With A[c] = Σ_j hat_c(n_j)·scale_j over the
hypotheses that had ended when update i came, the one it ended included, summation by parts gives

    Σ_j hat_c(n_j)·w_j = A[c]·v − Σ_i A_i[c]·a_i·direction_i,

so an update costs one walk over its row times the columns, and no w_j is ever formed. `M` holds what is already settled
less the sum over i; the vectors are M + A·v. When the scale has fallen to 2^-10 of what it was, A·v is settled
(M += A·v, A = 0), or the difference would cancel; before the update where a single one makes it fall so far.

Columns are a commutative monoid: they add.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from onepass._jit import by_type, jit
from onepass.errors import LimitError
from onepass.outputs import spread_flat
from onepass.rows import Floats, Ints
from onepass.state_checks import need, need_all_alike
from onepass.trace.evidence import Survivor
from onepass.trace.grid import coarse, floor_index, points, upper_share
from onepass.trace.log import SHIFTS, Deltas, Log

SETTLE = 2.0**-10
SCALE, SETTLED, SINCE, MARGIN = 0, 1, 2, 3  # places in Fold.state
NUMBER, SURVIVAL, UPDATES, FEATURES = 0, 1, 2, 3  # places in Fold.record
PIECE = 1 << 22  # multiplications and additions in one call of the kernel
SPARE = 12  # columns that M has room for beyond those in use


class Fold(NamedTuple):
    """The arrays that the kernel works on. Weights lie flat: place (feature + 1)·classes + class, intercept first."""

    M: Floats  # (weights, columns and some to spare)
    A: Floats  # (columns)
    mass: Floats  # (columns): Σ_j hat_c(n_j), exact since the parts are dyadic
    v: Floats  # (weights)
    kappa: Floats  # (columns): κ_c
    lower: Ints  # grid index → column of the grid point at or below it
    state: Floats  # scale; scale when last settled; round of the last update; margin that ended the longest survivor
    longest: Floats  # (weights): the longest survivor, a pocket copy
    record: Ints  # its number and survival; number of updates folded; features met


def in_order(columns: Floats, q: Floats) -> Floats:
    """Σ_c columns[:, c]·q_c of the first columns, from the first to the last: a library's product of a matrix and a
    vector adds in an order of its own, another on each kind of processor.

    >>> in_order(np.array([[1.0, 2.0, 9.0], [3.0, 4.0, 9.0]]), np.array([10.0, 1.0])).tolist()
    [12.0, 34.0]
    """
    found = np.zeros(len(columns))
    _add_in_order(columns, np.asarray(q, np.float64), found)
    return found


@jit
def _add_in_order(columns: Any, q: Any, found: Any) -> None:
    for f in range(np.uint64(found.size)):
        total = 0.0
        for c in range(np.uint64(q.size)):
            total += columns[f, c] * q[c]
        found[f] = total


@jit
def _settle(fold: Fold) -> None:
    for f in range(np.uint64(fold.v.size)):
        for c in range(np.uint64(fold.A.size)):
            fold.M[f, c] += fold.A[c] * fold.v[f]
    fold.A[:] = 0.0
    fold.state[SETTLED] = fold.state[SCALE]


@jit
def _place(fold: Fold, f: int, d: float) -> None:
    fold.v[f] += d
    for c in range(np.uint64(fold.A.size)):
        fold.M[f, c] -= fold.A[c] * d


def _apply_row(log, i, fold, classes, bias):  # type: ignore[no-untyped-def]
    a = log.a[i]
    if classes == 1:
        a *= log.label[i]
        _place(fold, 0, a * bias)
        for j in range(log.indptr[i], log.indptr[i + 1]):
            _place(fold, np.int64(log.indices[j]) + 1, a * log.values[j])
    else:
        to, out_of = np.int64(log.label[i]), np.int64(log.rival[i])
        _place(fold, to, a * bias)
        _place(fold, out_of, -a * bias)
        for j in range(log.indptr[i], log.indptr[i + 1]):
            place = (np.int64(log.indices[j]) + 1) * classes
            _place(fold, place + to, a * log.values[j])
            _place(fold, place + out_of, -a * log.values[j])


def _apply_delta(log, i, fold, classes, bias):  # type: ignore[no-untyped-def]
    for j in range(log.indptr[i], log.indptr[i + 1]):
        _place(fold, np.int64(log.indices[j]), log.values[j])


def _features_of_row(log, j, classes):  # type: ignore[no-untyped-def]
    return np.int64(log.indices[j]) + 1


def _features_of_delta(log, j, classes):  # type: ignore[no-untyped-def]
    return np.int64(log.indices[j]) // classes


apply = by_type({Log: _apply_row, Deltas: _apply_delta})  # the columns after update i, of which A knows already
feature_count = by_type({Log: _features_of_row, Deltas: _features_of_delta})  # features up to that of value j


@jit
def _fold(fold: Fold, log: Log, classes: int, bias: float, limit: int, first: int, last: int) -> int:
    """Fold updates first..last; the number of the first that needs more columns or features than there are."""
    for i in range(first, last):
        survival = log.round[i] - np.int64(fold.state[SINCE])
        features = fold.record[FEATURES]
        for j in range(log.indptr[i], log.indptr[i + 1]):
            features = max(features, feature_count(log, j, classes))
        low = floor_index(survival)
        if low + 1 >= fold.lower.size or fold.lower[low] + 1 >= fold.A.size:
            return i
        if (features + 1) * classes * fold.A.size > limit:
            return i
        column = fold.lower[low]
        part = upper_share(survival, fold.kappa[column], fold.kappa[column + 1])
        scale = fold.state[SCALE]
        fold.A[column] += (1.0 - part) * scale
        fold.A[column + 1] += part * scale
        fold.mass[column] += 1.0 - part
        fold.mass[column + 1] += part
        if survival > fold.record[SURVIVAL]:
            fold.record[NUMBER], fold.record[SURVIVAL] = fold.record[UPDATES], survival
            fold.state[MARGIN] = log.margin[i]
            for f in range(np.uint64(fold.v.size)):
                fold.longest[f] = scale * fold.v[f]
        if log.scale[i] * SHIFTS[log.shift[i]] < SETTLE * scale:
            _settle(fold)  # now: beside the row that this update adds, v would be lost to rounding
        apply(log, i, fold, classes, bias)
        fold.record[UPDATES] += 1
        fold.record[FEATURES] = features
        fold.state[SINCE] = log.round[i]
        if log.shift[i]:
            _settle(fold)
            for f in range(np.uint64(fold.v.size)):
                fold.v[f] *= SHIFTS[log.shift[i]]
            fold.state[SETTLED] = log.scale[i]
        elif log.scale[i] < SETTLE * fold.state[SETTLED]:
            fold.state[SCALE] = log.scale[i]
            _settle(fold)
        fold.state[SCALE] = log.scale[i]
    return last


@dataclass(frozen=True, eq=False)
class Columns:
    """One vector per cutoff of the grid, and the longest survivor's; `bits` is the fineness of the grid, 3, 2 or 1."""

    fold: Fold
    classes: int  # columns of the weights: 1 for two classes
    bits: int
    limit: int  # numbers that M may hold

    def add(self, log: Log, bias: float, width: int) -> Columns:
        """These columns with all the updates of the log folded in (in place; the arrays may be new ones)."""
        columns = self._wider(width)
        first, last = 0, log.updates
        while first < last:
            piece = max(
                1, PIECE * (last - first) // max(1, int(log.indptr[last] - log.indptr[first]) * columns.fold.A.size)
            )
            stop = min(first + piece, last)
            done = _fold(columns.fold, log, columns.classes, bias, columns.limit, first, stop)
            if done < stop:
                since = int(columns.fold.state[SINCE])
                row = range(int(log.indptr[done]), int(log.indptr[done + 1]))
                features = max((int(feature_count(log, j, columns.classes)) for j in row), default=0)
                features = max(int(columns.fold.record[FEATURES]), features)
                columns = columns._roomier(int(log.round[done]) - since, features)
            first = done
        return columns

    def _wider(self, width: int) -> Columns:
        weights = (width + 1) * self.classes
        if weights <= self.fold.v.size:
            return self
        fold = self.fold
        M = np.zeros((weights, fold.M.shape[1]))
        M[: fold.v.size] = fold.M
        v, longest = np.zeros((2, weights))
        v[: fold.v.size] = fold.v
        longest[: fold.v.size] = fold.longest
        return replace(self, fold=fold._replace(M=M, v=v, longest=longest))

    def joined(self, outputs: int) -> Columns:
        """These columns with more outputs, on a coarser grid if the finer one would outgrow the limit."""
        before, features = self.classes, int(self.fold.record[FEATURES])
        roomy = replace(self, classes=outputs)._roomier(0, features)
        M, v, longest = (
            spread_flat(array, before, outputs) for array in (roomy.fold.M, roomy.fold.v, roomy.fold.longest)
        )
        return replace(roomy, fold=roomy.fold._replace(M=M, v=v, longest=longest))

    def _roomier(self, survival: int, features: int) -> Columns:
        """Columns up to this survival, on a coarser grid if the finer one would outgrow the limit."""
        last = max(floor_index(survival) + 1, floor_index(int(self.fold.kappa[-1])))
        for bits in range(self.bits, 0, -1):
            kept = coarse(bits, last)
            if (features + 1) * self.classes * kept.size <= self.limit:
                return self._on_grid(bits, kept)
        need = 8 * (features + 1) * self.classes * coarse(1, last).size
        raise LimitError(
            f"max_trace_memory: {features} features × {coarse(1, last).size} columns need {need:,} bytes, "
            f"{8 * self.limit:,} are allowed. Raise max_trace_memory to {need:,}, or hash the features into fewer"
        )

    def _on_grid(self, bits: int, kept: Ints) -> Columns:
        """The same sums on other grid points: each column shared out between its neighbours there (exact: dyadic)."""
        fold, old = self.fold, self.fold.A.size
        kappa = points(kept).astype(np.float64)
        lower = np.searchsorted(kept, np.arange(kept[-1] + 1), side="right").astype(np.int64) - 1
        share = np.zeros((old, kept.size))
        for c, k in enumerate(fold.kappa):
            column = min(int(np.searchsorted(kappa, k, side="right")) - 1, kept.size - 2)
            part = upper_share(float(k), kappa[column], kappa[column + 1])
            share[c, column], share[c, column + 1] = 1.0 - part, part
        if bits == self.bits and kept.size <= fold.M.shape[1]:
            M = fold.M  # only more columns at the end, for which there is room
        else:
            M = np.zeros((fold.v.size, kept.size + SPARE))
            np.matmul(fold.M[:, :old], share, out=M[:, : kept.size])
        fold = fold._replace(M=M, A=fold.A @ share, mass=fold.mass @ share, kappa=kappa, lower=lower)
        return replace(self, fold=fold, bits=bits)

    @property
    def survival(self) -> Ints:
        """κ_c per column."""
        return np.asarray(self.fold.kappa, dtype=np.int64)

    def combine(self, q: Floats) -> Floats:
        """Σ_c q_c·column_c, as (1 + features, classes)."""
        total = in_order(self.fold.M, q) + in_order(self.fold.A[None], q) * self.fold.v
        return np.asarray(total.reshape(-1, self.classes))

    def copy(self) -> Columns:
        return replace(self, fold=Fold._make(part.copy() for part in self.fold))

    def longest(self, updates: int, alive: int) -> Survivor:
        """The hypothesis that was in use longest, of those folded and the living one; of several, the first."""
        record = self.fold.record
        if alive > record[SURVIVAL]:
            return Survivor(updates, alive, None)
        return Survivor(int(record[NUMBER]), int(record[SURVIVAL]), float(self.fold.state[MARGIN]))

    def with_alive(self, survival: int, weights: Floats) -> Columns:
        """A settled copy in which the hypothesis still in use has entered its columns."""
        columns = self.copy()._wider(len(weights) - 1)
        columns = columns._roomier(survival, int(columns.fold.record[FEATURES]))
        fold = columns.fold
        _settle(fold)
        if survival == 0:
            return columns
        column = int(fold.lower[floor_index(survival)])
        part = upper_share(survival, fold.kappa[column], fold.kappa[column + 1])
        for c, share in ((column, 1.0 - part), (column + 1, part)):
            fold.M[:, c] += share * weights.reshape(-1)
            fold.mass[c] += share
        return columns

    def __add__(self, other: Columns) -> Columns:
        """The columns of two runs, settled and added: what they say of every cutoff is what both say together."""
        width = max(self.fold.v.size, other.fold.v.size) // self.classes - 1
        bits = min(self.bits, other.bits)
        last = max(self.fold.lower.size, other.fold.lower.size) - 1
        left, right = (part.copy()._wider(width)._on_grid(bits, coarse(bits, last)) for part in (self, other))
        _settle(left.fold)
        _settle(right.fold)
        n = right.fold.A.size
        right.fold.M[:, :n] += left.fold.M[:, :n]
        right.fold.mass[:] += left.fold.mass
        return right


def empty_columns(width: int, classes: int, memory: int, origin: Floats | None = None) -> Columns:
    """Columns of a pass that has made no update and starts at `origin`; `memory` in bytes bounds features × columns."""
    weights = (width + 1) * classes
    v = np.zeros(weights)
    if origin is not None:
        v[: origin.size] = origin.reshape(-1)
    kept = coarse(3, 1)
    kappa = points(kept).astype(np.float64)
    lower = np.arange(kept.size, dtype=np.int64)
    state = np.array([1.0, 1.0, 0.0, 0.0])
    zeros = np.zeros(kept.size)
    arrays = (np.zeros((weights, kept.size + SPARE)), zeros, zeros.copy(), v, kappa, lower, state)
    record = np.array([0, 0, 0, 0 if origin is None else len(origin) - 1])
    return Columns(Fold(*arrays, np.zeros(weights), record), classes, 3, memory // 8)


def check_columns(columns: Any, rounds: int, outputs: int, width: int, memory: int) -> None:
    """Raise CheckpointError unless a run of so many rounds, outputs, features and bytes can have these columns."""
    what = "the columns"
    need(isinstance(columns, Columns), what)
    need(columns.classes == outputs and columns.bits in (1, 2, 3), what)
    need(type(columns.limit) is int and columns.limit == memory // 8, what)
    fold = columns.fold
    need_all_alike(fold, empty_columns(0, 1, 0).fold, what)
    n, weights = fold.A.size, fold.v.size
    need(2 <= n <= fold.M.shape[1] and fold.mass.size == fold.kappa.size == n, what)
    need(len(fold.M) == fold.longest.size == weights and weights % outputs == 0, what)
    need(outputs <= weights <= (1 + width) * outputs, what)
    need(fold.kappa[0] == 0 and bool((np.diff(fold.kappa) > 0).all()), what)
    need(fold.lower.size > 0 and fold.lower.min() >= 0 and fold.lower.max() < n, what)
    need(fold.state.size == fold.record.size == 4 and bool(np.isfinite(fold.state).all()), what)
    need(0 <= fold.state[SINCE] <= rounds, what)
    need(0 <= fold.record[FEATURES] <= weights // outputs - 1, what)
