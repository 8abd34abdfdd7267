"""Adaptive at work: its columns, what it knows of them, and the log of its changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onepass.background import Background
from onepass.errors import LimitError
from onepass.learners import Learner
from onepass.outputs import spread
from onepass.rows import AnyRows, Floats, Ints, part, zeros_in_lines
from onepass.runs.adapting import (
    DENSE,
    DROPPED,
    INTERCEPT,
    LOSSES,
    MET,
    UNCENTRED,
    Multiple,
    Single,
    Store,
    adapt,
    standardise,
    sum_columns,
)
from onepass.runs.adaptive_blocks import BLOCK, COUNT, INV, MU, S1, S2, A, Columns, Entries, U, W
from onepass.runs.carrying import SUMS, Carried, changes
from onepass.runs.logged import LoggedRun
from onepass.runs.run import Frame, UnsoundError, values_in
from onepass.state_checks import need, need_alike, need_fields
from onepass.trace import SumSoFar
from onepass.trace.log import Log, no_deltas

FIELDS = ("columns", "b", "ub", "numbers", "dense")  # of the store that change
KEPT = [A, S1, S2, COUNT]  # what runs carry on of a column
NO_COLUMNS = np.zeros(0, dtype=np.int32)
FEW = 4  # times as many columns as were met, or more: then those met are few


class AdaptiveRun(LoggedRun):
    """Adaptive: see `adapting` for the loop."""

    def __init__(self, learner: Learner, frame: Frame, background: Background, start: Carried | None) -> None:
        super().__init__(learner, frame, background, None if start is None else start.weights, no_deltas())
        self.start = start
        self._width = 0
        self.entries = _entries(0)
        self.store: Store = _empty(frame.outputs, frame.bias, 0)
        if start is not None:
            self._begin(start)
        self.widen(frame.features or 0)

    def _begin(self, start: Carried) -> None:
        """Start from what other runs carried: centres and scales follow from its sums."""
        self.widen(len(start.weights) - 1)
        store, width = self.store, self._width
        known = (start.sums[1:] != 0.0).any(axis=1) | (start.weights[1:] != 0.0).any(axis=1)
        met = self._note(np.flatnonzero(known))
        store.b[:], store.columns[met[:, None], KEPT] = start.weights[0], start.sums[1:][met]
        if isinstance(store, Single):
            store.columns[met, W] = start.weights[1:][met, 0]
        else:
            store.w[met] = start.weights[1:][met]
        store.numbers[[INTERCEPT, LOSSES]] = start.sums[0, :2]
        self.store = store._replace(dense=np.zeros(width, dtype=np.int32))
        standardise(self.store)

    def carried(self) -> Carried:
        """What this run has come to."""
        store, met = self.store, self._met
        sums = np.zeros((1 + self._width, SUMS))
        sums[0, :2], sums[1 + met] = store.numbers[[INTERCEPT, LOSSES]], store.columns[met[:, None], KEPT]
        return Carried(self.last(), sums)

    def leaves(self) -> Floats:
        return changes(self.start, self.carried())

    def __getstate__(self) -> dict[str, Any]:
        """All but the room: two views of the same numbers would come out as arrays of their own."""
        kept = {name: value for name, value in self.__dict__.items() if name not in ("store", "entries")}
        return {**kept, "carried": self._carried()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        carried = state.pop("carried")
        self.__dict__.update(state)
        self.entries, self.store = _entries(0), _empty(self.frame.outputs, self.frame.bias, 0)
        self._adopt(carried, self._width)

    # --- weights ------------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        return self._width

    @property
    def _met(self) -> Columns:
        """The columns that are known: all numbers of the others are 0, and nobody need look at them."""
        return self.store.met[: int(self.store.numbers[MET])]

    def _note(self, met: Ints) -> Columns:
        """These, in rising order, are the columns that are known."""
        self.store.numbers[MET] = met.size
        self.store.met[: met.size] = met
        return self._met

    def widen(self, width: int) -> None:
        self._make_room(width)
        self._width = max(self._width, width)

    def join(self, outputs: int) -> None:
        super().join(outputs)
        old, db = self.store, np.zeros(outputs)
        b, ub = spread(old.b[None], outputs)[0], spread(old.ub[None], outputs)[0]
        known = (old.numbers, old.dense, old.met, old.in_dense, old.bias)
        shared = (old.columns, old.flat, b, ub, db, *known)
        if isinstance(old, Single):
            w, u = (spread(old.columns[:-1, [place]], outputs) for place in (W, U))
            old.columns[:, [W, U]] = 0.0
        else:
            w, u = spread(old.w, outputs), spread(old.u, outputs)
        self.store = Multiple(*shared, w, u, np.zeros(outputs))
        if self.start is not None:
            self.start = Carried(spread(self.start.weights, outputs), self.start.sums)

    def _make_room(self, width: int) -> None:
        """Room for so many columns, should they be met: zeros that are not touched cost nothing."""
        room, outputs = len(self.store.columns) - 1, self.frame.outputs
        if (width + 1) * outputs > (1 << 31) - 1:
            raise LimitError(f"max_features: {width} features × {outputs} outputs are more than 2^31 weights")
        if width > room:
            self.store = _wider(self.store, max(width, min(2 * room, self.frame.most)))

    def last(self) -> Floats:
        weights = np.zeros((1 + self._width, self.frame.outputs))
        weights[0] = self.store.b
        store, columns = self.store, self._worth_a_look
        weights[1:][columns] = store.columns[columns, W : W + 1] if isinstance(store, Single) else store.w[columns]
        return weights

    @property
    def _worth_a_look(self) -> Columns | slice:
        """The columns met, in place of all of them, where they are few: most are stepped over sooner than sought."""
        return self._met if FEW * self._met.size < self._width else slice(0, self._width)

    def settle_norm(self) -> None:
        pass

    # --- learning -----------------------------------------------------------------------------------------------------

    def learn(self, rows: AnyRows, y: Ints, rounds: int, columns: int | None) -> None:
        done = 0
        before = self.log.updates
        if not self.log.has_room(len(y), values_in(rows)):
            self.log = self.log.with_room(len(y), values_in(rows))
        while done < len(y):
            rest = part(rows, done, len(y)) if done else rows
            given = (self.store, rest, y[done:], self.log, self.entries)
            n, width, entries = adapt(*given, self._width, rounds + done)
            if width < 0 or (columns is not None and width > columns):
                raise UnsoundError
            self._width = max(self._width, width)
            done += n
            if done < len(y):
                self._enlarge(entries)
        self._size = self.log.size
        self.ledger.count(self.log, before)
        if self.background.active:  # of few rows it pays only when somebody asks
            self.enter_tally()
        if not self._undoable or self._lets_go:  # a mark keeps a log that is let go
            self.fold_if_due()

    def _enlarge(self, entries: int) -> None:
        """Room for a round with so many entries."""
        if self.entries.picked.size < entries:
            self.entries = _entries(2 * entries)
        if self.store.dense.size < entries:
            dense = np.zeros(2 * entries, dtype=np.int32)
            dense[: self.store.dense.size] = self.store.dense
            self.store = self.store._replace(dense=dense)
        self.log = self.log.with_room(0, (2 * entries + 2) * self.frame.outputs)

    # --- rows that nobody has looked at -------------------------------------------------------------------------------

    def mark(self, rows: AnyRows, columns: int | None, several: bool) -> StoreMark | None:
        """All that the store holds, and the log's end."""
        outputs = self.frame.outputs
        width = self._unchecked_width(rows, columns, several, 8 if outputs == 1 else 8 + 2 * outputs)
        if width is None:
            return None
        self._make_room(width)
        ledger = copy.deepcopy(self.ledger.state()) if several else None
        self._undoable = several
        log = (self.log, self.log.cursor.copy(), self._dropped)
        return StoreMark(copy.deepcopy(self._carried()), self._width, *log, ledger)

    def rewind(self, mark: StoreMark) -> None:
        self._undoable = False
        self._adopt(mark.carried, mark.width)
        self.log, self._dropped = mark.log, mark.dropped
        self.log.cursor[:] = mark.cursor
        self._size = self.log.size
        if mark.ledger is not None:
            self.ledger.restore(mark.ledger)

    # --- the record ---------------------------------------------------------------------------------------------------

    @property
    def _must_fold(self) -> bool:
        return False

    @property
    def _lets_go(self) -> bool:
        return not self.frame.needs_log

    @property
    def _reads_log_beside(self) -> bool:
        return False

    def total(self, rounds: int, last: Floats) -> Floats:
        store, columns = self.store, self._worth_a_look
        total = np.zeros(last.shape)
        total[0] = rounds * store.b - store.ub
        if isinstance(store, Single):
            few = NO_COLUMNS if isinstance(columns, slice) else columns
            sum_columns(store.flat, few, float(rounds), total[1:])
        else:
            total[1:][columns] = rounds * store.w[columns] - store.u[columns]
        return total

    def sum_so_far(self, rounds: int) -> Callable[[], SumSoFar]:
        columns, total = self._worth_a_look, self.total(rounds, np.empty((1 + self._width, self.frame.outputs)))
        found = SumSoFar(total, None if isinstance(columns, slice) else columns)
        return lambda: found

    def _drop(self) -> None:
        super()._drop()
        self.store = self.store._replace(numbers=self.store.numbers.copy())  # a twin without its log shares the old
        self.store.numbers[DROPPED] = 1.0

    # --- state --------------------------------------------------------------------------------------------------------

    def _carried(self) -> dict[str, Any]:
        """What the store holds of the columns met, sharing its arrays."""
        store, width = self.store, self._width
        found = {name: getattr(store, name) for name in FIELDS}
        found |= {"columns": store.columns[:width], "dense": store.dense[: int(store.numbers[DENSE])]}
        return found if isinstance(store, Single) else {**found, "w": store.w[:width], "u": store.u[:width]}

    def _adopt(self, carried: dict[str, Any], width: int) -> None:
        """Go on from what was carried, in arrays of this run's own."""
        room = max(len(self.store.columns) - 1, width)
        self._width, self.store = width, _empty(self.frame.outputs, self.frame.bias, room)
        for name, array in carried.items():
            if name != "dense":
                getattr(self.store, name)[: len(array)] = array
        self.store = self.store._replace(dense=carried["dense"].copy())
        self.store.in_dense[carried["dense"]] = 1.0
        known = (self.store.columns[:width] != 0.0).any(axis=1)
        self._note(np.flatnonzero(known if "w" not in carried else known | carried["w"].any(axis=1)))

    def state(self) -> dict[str, Any]:
        return {**super().state(), "carried": self._carried()}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self._adopt(state["carried"], len(state["carried"]["columns"]))

    def check_state(self, state: Any, rounds: int) -> int:
        need_fields(state, self.state(), "the learner")
        carried, own, what = state["carried"], self._carried(), "the learner's state"
        need_fields(carried, own, what)
        for name, array in own.items():
            need_alike(carried[name], array, what)
            need(carried[name].shape[1:] == array.shape[1:], what)
            need(name in ("columns", "dense", "w", "u") or carried[name].shape == array.shape, what)
            need(bool(np.isfinite(carried[name]).all()), what)
        columns, dense = carried["columns"], carried["dense"]
        width = len(columns)
        need(width <= self.frame.most and bool((columns[:, [A, S2, COUNT, INV]] >= 0.0).all()), what)
        need("w" not in carried or len(carried["w"]) == len(carried["u"]) == width, what)
        need(dense.size == carried["numbers"][DENSE] and bool((np.diff(dense) > 0).all()), what)
        need(not dense.size or 0 <= dense[0] <= dense[-1] < width, what)
        need(carried["numbers"][UNCENTRED] == np.count_nonzero(columns[dense, MU] == 0.0), what)
        need(bool(carried["numbers"][DROPPED]) == state["dropped"], what)
        self.check_record(state, rounds, width)
        return width


class StoreMark(NamedTuple):
    """Where a run stood before rows that nobody had looked at."""

    carried: dict[str, Any]
    width: int
    log: Log
    cursor: Ints  # its end
    dropped: bool
    ledger: dict[str, Any] | None


def _entries(n: int) -> Entries:
    whole = -(-n // 8)
    block, (scale, centre) = zeros_in_lines(whole, int(BLOCK)).reshape(-1), np.zeros((2, n))
    return Entries(np.zeros(8 * whole, dtype=np.int32), block, np.zeros(n, dtype=np.int32), scale, centre)


def _empty(outputs: int, bias: float, room: int) -> Store:
    """No row met, and room for so many columns."""
    b, ub, db = np.zeros((3, outputs))
    columns, met, in_dense = _room_for(room)
    shared = (columns, columns.reshape(-1), b, ub, db, np.zeros(7), np.zeros(0, dtype=np.int32), met, in_dense, bias)
    if outputs == 1:
        return Single(*shared)
    w, u = np.zeros((2, room, outputs))
    return Multiple(*shared, w, u, np.zeros(outputs))


def _room_for(columns: int) -> tuple[Floats, Columns, Floats]:
    """Lines, the columns met, and which are dense; each has one more, for the line of zeros behind all columns."""
    return zeros_in_lines(columns + 1, 8), np.zeros(columns + 1, dtype=np.int32), np.zeros(columns + 1)


def _wider(store: Store, room: int) -> Store:
    columns, met, in_dense = _room_for(room)
    columns[: len(store.columns)], met[: len(store.met)] = store.columns, store.met
    in_dense[: len(store.in_dense)] = store.in_dense
    store = store._replace(columns=columns, flat=columns.reshape(-1), met=met, in_dense=in_dense)
    if isinstance(store, Single):
        return store
    w, u = np.zeros((2, room, store.b.size))
    w[: len(store.w)], u[: len(store.u)] = store.w, store.u
    return store._replace(w=w, u=u)
