"""The log of a pass: one line per update, with the row that caused it.

Update i (from 0) turned hypothesis i into hypothesis i+1 in round `round[i]`, by v ← v + a·direction; after it the
hypothesis is w = scale[i]·v. The direction is label·x for two classes, and +x for class `label`, −x for class `rival`
for several. Where `shift` is set, v was multiplied by 2^-300 (DOWN), its square (FAR_DOWN) or 2^300 (UP) and the scale
divided by it, both exactly, after the update, lest the scale run out of floating-point numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, jit, prefetch
from onepass.rows import AHEAD, Floats, Ints
from onepass.state_checks import need, need_all_alike

TINY, HUGE = 2.0**-300, 2.0**300  # where the scale is shifted
DOWN, UP, FAR_DOWN = 1, 2, 3
SHIFTS = np.array([1.0, TINY, HUGE, TINY * TINY])  # what v was multiplied by


class Log(NamedTuple):
    """Arrays with room for more; `cursor` = (updates, values) in use. Rows are CSR, dense ones without their zeros."""

    row: Ints  # in the rows that were fed; of no use afterwards
    round: Ints
    label: npt.NDArray[np.int32]
    rival: npt.NDArray[np.int32]
    a: Floats
    scale: Floats
    margin: Floats  # of the hypothesis that the update ended
    shift: npt.NDArray[np.uint8]
    indptr: Ints
    indices: npt.NDArray[np.int32]
    values: Floats
    cursor: Ints

    @property
    def updates(self) -> int:
        return int(self.cursor[0])

    @property
    def size(self) -> int:
        """The exact size of the kept rows in bytes, whatever room the arrays have to spare."""
        return int(self.cursor[0]) * PER_UPDATE + int(self.cursor[1]) * PER_VALUE

    def cut(self) -> Self:
        """The part in use, as views: later appends go behind it and do not change it."""
        k, end = int(self.cursor[0]), int(self.cursor[1])
        parts = [getattr(self, name)[:k] for name in _PER_UPDATE]
        parts += [self.indptr[: k + 1], self.indices[:end], self.values[:end], np.array([k, end])]
        return type(self)._make(parts)

    def has_room(self, updates: int, values: int) -> bool:
        """Whether so many more updates and values fit."""
        return bool(self.cursor[0] + updates <= self.round.size and self.cursor[1] + values <= self.values.size)

    def with_room(self, updates: int, values: int) -> Log:
        """This log with room for so many more updates and values; grown fourfold, so seldom copied (spare room is not
        touched, and so takes no memory)."""
        k, end = int(self.cursor[0]), int(self.cursor[1])
        if k + updates > self.round.size:
            room = max(k + updates, 4 * self.round.size)
            grown = {name: _grown(getattr(self, name), k, room) for name in _PER_UPDATE}
            self = self._replace(**grown, indptr=_grown(self.indptr, k + 1, room + 1))
        if end + values > self.values.size:
            room = max(end + values, 4 * self.values.size)
            self = self._replace(indices=_grown(self.indices, end, room), values=_grown(self.values, end, room))
        return self

    def joined(self, before: int, outputs: int) -> Self:
        """This log, of so many outputs, as one of more: two classes are two halves, see `onepass.outputs`."""
        log = self.cut()
        if before > 1:
            return log
        label = ((log.label + 1) // 2).astype(np.int32)
        return log._replace(a=0.5 * log.a, label=label, rival=(1 - label).astype(np.int32))

    def relabelled(self, order: Ints, outputs: int) -> Self:
        """This log with its classes in another order: `order` has the place of each."""
        log = self.cut()
        return log._replace(label=order[log.label].astype(np.int32), rival=order[log.rival].astype(np.int32))


class Deltas(Log):
    """A log of learners whose updates are no multiples of their rows: each is a sparse change d of the hypothesis.

    `indices` are places in the weights laid flat, (feature + 1)·outputs + output, intercepts first; a place may stand
    twice. There w = v: scale and a are 1, and so is the label; `rival` holds both, as label·classes + rival.
    """

    __slots__ = ()

    def joined(self, before: int, outputs: int) -> Self:
        log = self.cut()
        label, rival = np.divmod(log.rival, max(2, before))
        log = log._replace(rival=label * np.int32(outputs) + rival)
        line, output = np.divmod(log.indices.astype(np.int64), before)
        if before > 1:
            return log._replace(indices=(line * outputs + output).astype(np.int32))
        first = line * outputs
        indices = np.stack([first, first + 1], axis=1).reshape(-1).astype(np.int32)
        values = np.stack([-0.5 * log.values, 0.5 * log.values], axis=1).reshape(-1)
        cursor = np.array([log.cursor[0], 2 * log.cursor[1]])
        return log._replace(indptr=2 * log.indptr, indices=indices, values=values, cursor=cursor)

    def relabelled(self, order: Ints, outputs: int) -> Self:
        log = self.cut()
        line, output = np.divmod(log.indices.astype(np.int64), outputs)
        label, rival = np.divmod(log.rival, outputs)
        moved = (order[label] * outputs + order[rival]).astype(np.int32)
        return log._replace(rival=moved, indices=(line * outputs + order[output]).astype(np.int32))


_PER_UPDATE = ("row", "round", "label", "rival", "a", "scale", "margin", "shift")
PER_UPDATE = 49  # bytes: five numbers of 8, two of 4, one of 1 (`row` is scratch)
PER_VALUE = 12  # an int32 index and a float64 value


def empty_log() -> Log:
    """A log with no update and no room."""
    f, i, h = np.empty(0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    shift = np.empty(0, dtype=np.uint8)
    return Log(i, i, h, h, f, f, f, shift, np.zeros(1, dtype=np.int64), h, f, np.zeros(2, dtype=np.int64))


def no_deltas() -> Deltas:
    """Deltas with no update and no room."""
    return Deltas._make(empty_log())


def check_log(log: Any, pattern: Log, rounds: int, outputs: int, width: int) -> None:
    """Raise CheckpointError unless this is the part in use of a log of so many rounds, outputs and features."""
    what = "the log"
    need_all_alike(log, pattern, what)
    need(log.cursor.size == 2, what)
    k, end = (int(number) for number in log.cursor)
    need(all(getattr(log, name).size == k for name in _PER_UPDATE) and log.indptr.size == k + 1, what)
    need(log.indices.size == log.values.size == end and log.indptr[0] == 0 and log.indptr[-1] == end, what)
    need(bool((np.diff(log.indptr) >= 0).all()), what)
    places = (width + 1) * outputs if isinstance(pattern, Deltas) else width
    need(not end or (log.indices.min() >= 0 and log.indices.max() < places), what)
    need(not k or log.shift.max() < SHIFTS.size, what)
    ends = np.concatenate([[0], log.round, [rounds + 1]])
    need(bool((np.diff(ends) > 0).all()), what)
    if k and isinstance(pattern, Deltas):
        need(bool((log.label == 1).all() and (log.a == 1.0).all() and (log.scale == 1.0).all()), what)
        need(not log.shift.any(), what)
        need(bool((log.rival >= 0).all()) and log.rival.max() < max(2, outputs) ** 2, what)
    elif k and outputs == 1:
        need(bool((np.abs(log.label) == 1).all()), what)
    elif k:
        both = np.concatenate([log.label, log.rival])
        need(both.min() >= 0 and both.max() < outputs, what)


def _grown(array: npt.NDArray[Any], used: int, room: int) -> npt.NDArray[Any]:
    grown = np.empty(room, dtype=array.dtype)
    grown[:used] = array[:used]
    return grown


def _judged_row(log, i, classes):  # type: ignore[no-untyped-def]
    if classes == 2:
        label = np.int64(log.label[i] > 0)
        return label, 1 - label
    return np.int64(log.label[i]), np.int64(log.rival[i])


def _judged_delta(log, i, classes):  # type: ignore[no-untyped-def]
    return np.int64(log.rival[i]) // classes, np.int64(log.rival[i]) % classes


judged = by_type({Log: _judged_row, Deltas: _judged_delta})  # (the number of update i's label, of the best other class)


@jit
def shift_at(scale: float) -> int:
    """The shift that brings the scale back between TINY and HUGE.

    Rows of 1e144 can take a scale from just above TINY to 1e-235 in one update: once down would leave it below TINY,
    and a few such rows later v would overflow.
    """
    if scale < TINY:
        return FAR_DOWN if scale < TINY * TINY else DOWN
    return UP if scale > HUGE else 0


@jit
def coefficients(log: Log, q: Ints, out: Floats) -> float:
    """out[i] = a_i · Σ_{j>i} q_j·scale_j: what update i adds to Σ_j q_j·w_j, since it lies in every later hypothesis.

    A suffix sum, walked from the end; a shift after update i multiplied all that came before it. Returned is the sum
    over all j: the coefficient of w_0, which lies in every hypothesis.
    """
    suffix = 0.0
    for i in range(out.size - 1, -1, -1):
        suffix += q[i + 1] * log.scale[i]
        if log.shift[i]:
            suffix *= SHIFTS[log.shift[i]]
        out[i] = log.a[i] * suffix
    return suffix + float(q[0])


def gather(log: Log, coefficient: Floats, bias: float, weights: Floats, first: int, last: int) -> None:
    """weights += Σ coefficient_i·direction_i over updates first..last; weights is (1 + features, columns)."""
    if isinstance(log, Deltas):
        _gather_deltas(log, coefficient, weights.reshape(-1), first, last)
    elif weights.shape[1] == 1:
        _gather_one(log, coefficient, bias, weights.reshape(-1), first, last)
    else:
        _gather_several(log, coefficient, bias, weights, first, last)


@jit
def _gather_one(log: Log, coefficient: Floats, bias: float, weights: Floats, first: int, last: int) -> None:
    for i in range(np.uint64(first), np.uint64(last)):
        c = coefficient[i] * log.label[i]
        weights[0] += c * bias
        start, end = np.uint64(log.indptr[i]), np.uint64(log.indptr[i + np.uint64(1)])
        ahead = AHEAD if end + AHEAD <= np.uint64(log.indices.size) else np.uint64(0)
        for j in range(start, end):
            prefetch(weights, np.uint32(log.indices[j + ahead]))
            weights[np.uint64(log.indices[j]) + np.uint64(1)] += c * log.values[j]


@jit
def _gather_several(log: Log, coefficient: Floats, bias: float, weights: Floats, first: int, last: int) -> None:
    for i in range(np.uint64(first), np.uint64(last)):
        c, to, out_of = coefficient[i], log.label[i], log.rival[i]
        weights[0, to] += c * bias
        weights[0, out_of] -= c * bias
        for j in range(np.uint64(log.indptr[i]), np.uint64(log.indptr[i + np.uint64(1)])):
            f = np.uint32(log.indices[j]) + 1
            weights[f, to] += c * log.values[j]
            weights[f, out_of] -= c * log.values[j]


@jit
def _gather_deltas(log: Deltas, coefficient: Floats, weights: Floats, first: int, last: int) -> None:
    for i in range(np.uint64(first), np.uint64(last)):
        c = coefficient[i]
        start, end = np.uint64(log.indptr[i]), np.uint64(log.indptr[i + np.uint64(1)])
        ahead = AHEAD if end + AHEAD <= np.uint64(log.indices.size) else np.uint64(0)
        for j in range(start, end):
            prefetch(weights, np.uint32(log.indices[j + ahead]))
            weights[np.uint32(log.indices[j])] += c * log.values[j]
