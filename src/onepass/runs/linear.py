"""A linear learner at work: weights in a head, update rows kept in a log until they are folded into columns."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from onepass.background import Background
from onepass.learners import Learner, Setting
from onepass.loop import GREW, RADIUS2, SCALE, Head, first_state, head_of, keep, learn, renew_norm
from onepass.rows import AnyRows, Floats, Ints, count
from onepass.runs.run import Frame, LearnerRun, UnsoundError, values_in
from onepass.trace.columns import Columns, empty_columns
from onepass.trace.grid import coarse, floor_index
from onepass.trace.log import PER_UPDATE, PER_VALUE, Log, empty_log


class LinearRun(LearnerRun):
    """Every learner whose hypotheses are sums of update rows."""

    def __init__(self, learner: Learner, frame: Frame, background: Background, origin: Floats | None) -> None:
        super().__init__(learner, frame, background)
        self.origin = origin
        self.weights = np.zeros((1 + (frame.features or 0), frame.outputs)) if origin is None else origin.copy()
        self.step_state = first_state()
        self.before_folding: Callable[[], None] = no_check  # what must be known before a step that cannot be undone
        self._columns: Columns | None = None
        self._take_room(self.weights)
        self.widen(frame.features or 0)
        if origin is not None:
            renew_norm(self.head, self.step_state)

    def __getstate__(self) -> dict[str, Any]:
        """All but the views of the weights, which would come out as arrays of their own."""
        return {name: value for name, value in self.__dict__.items() if name not in ("room", "head", "before_folding")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.before_folding = no_check
        self._take_room(self.weights)

    def declare(self, setting: Setting) -> None:
        super().declare(setting)
        self.step_state[RADIUS2] = (setting.reach or 0.0) ** 2

    # --- weights ------------------------------------------------------------------------------------------------------

    @property
    def width(self) -> int:
        return len(self.weights) - 1

    def widen(self, width: int) -> None:
        if width + 1 > len(self.weights):
            self.make_room(width)
            self.weights = self.room[: width + 1]

    def make_room(self, width: int) -> None:
        """Room for the weights of so many features, should they be met: zeros that are not touched cost nothing."""
        if width + 1 > len(self.room):
            more = min(2 * len(self.room), 1 + self.frame.most)
            room = np.zeros((max(width + 1, len(self.weights), more), self.frame.outputs))
            room[: len(self.weights)] = self.weights
            self._take_room(room)

    def _take_room(self, room: Floats) -> None:
        self.weights, self.room = room[: len(self.weights)], room
        self.head: Head = head_of(room, self.frame.bias)

    def last(self) -> Floats:
        weights: Floats = self.step_state[SCALE] * self.weights
        return weights

    def settle_norm(self) -> None:
        renew_norm(self.head, self.step_state)

    # --- learning -----------------------------------------------------------------------------------------------------

    def learn(self, rows: AnyRows, y: Ints, rounds: int, stated: int | None) -> None:
        elapsed, values = self.frame.elapsed, values_in(rows)
        if not self.log.has_room(len(y), values):
            self.background.join()
            self.log = self.log.with_room(len(y), values)
        before = self.log.updates
        width = learn(self.head, rows, y, self.current_rule, self.step_state, self.log, elapsed + rounds)
        if width < 0 or (stated is not None and width > stated):
            raise UnsoundError
        self.widen(width)
        if self.log.updates > before:
            if elapsed:
                self.log.round[before : self.log.updates] -= elapsed
            self._keep(rows, before)
        self.ledger.count(self.log, before)
        if self._columns is not None or self.log.size > self.frame.memory or self.step_state[GREW]:
            self.compact()

    def _keep(self, rows: AnyRows, first: int) -> None:
        """Copy the rows of the newest updates into the log; if there is a thread, beside the learning of the next."""
        log = self.log.cut()
        self.background.submit(keep, log, rows, first)
        if self.background.active:  # of few rows it pays only when somebody asks
            self.background.submit(self.ledger.enter, log, self.loss_bound)

    def make_log_room(self, updates: int, values: int) -> None:
        """Room for a whole batch at once: growing copies, and room that is not used costs nothing."""
        self.log = self.log.with_room(updates, min(values, self.frame.memory // PER_VALUE))

    # --- the record ---------------------------------------------------------------------------------------------------

    @property
    def folded(self) -> bool:
        return self._columns is not None or self.learner.grows

    def kept_log(self) -> Log | None:
        return self.log.cut() if self._columns is None else None

    def columns(self) -> Columns | None:
        return self._columns

    def may_fold(self, rows: AnyRows) -> bool:
        """Whether update rows may be folded into columns while these rows are learned."""
        size = self.log.size + count(rows) * PER_UPDATE + values_in(rows) * PER_VALUE
        return self.folded or size > self.frame.memory

    def may_refuse(self, rows: AnyRows, width: int, rounds: int) -> bool:
        if not self.may_fold(rows):
            return False
        columns = coarse(1, floor_index(rounds + count(rows)) + 1).size
        return 8 * (max(width + 1, len(self.weights))) * self.frame.outputs * columns > self.frame.memory

    def compact(self) -> None:
        """Fold the log into columns; from the start, so that it does not matter when this was first called."""
        self.before_folding()
        self.background.join()
        self.enter_tally()
        frame = self.frame
        columns = self._columns or empty_columns(self.width, frame.outputs, frame.memory, self.origin)
        self._columns = columns.add(self.log, frame.bias, self.width)
        if self.lent:  # a trace that somebody keeps sees these arrays
            self.log, self.lent = empty_log(), False
        self.log.cursor[:] = 0
        self.ledger.entered = 0

    def compacted(self) -> LinearRun:
        """This run with its update rows folded, to be stored; it shares arrays with this one."""
        self.enter_tally()  # now, or both would enter the same updates into the tally that they share
        twin = object.__new__(LinearRun)
        twin.__dict__.update(self.__dict__)
        twin.ledger = copy.copy(self.ledger)
        twin.log, twin.before_folding = self.log.cut(), no_check
        twin.compact()
        twin.log = empty_log()
        return twin

    # --- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        self.enter_tally()
        return {
            "weights": self.weights,
            "step": self.step_state,
            "ledger": self.ledger.state(),
            "log": self.log.cut(),
            "columns": self._columns,
        }

    def mark(self) -> dict[str, Any]:
        """A state to go back to as long as nothing is folded: of the log, which only grows, its end."""
        kept = copy.deepcopy({"weights": self.weights, "step": self.step_state, "ledger": self.ledger.state()})
        return {**kept, "log": self.log._replace(cursor=self.log.cursor.copy()), "columns": self._columns}

    def restore(self, state: dict[str, Any]) -> None:
        self.weights, self.step_state, self.log = state["weights"], state["step"], state["log"]
        self.ledger.restore(state["ledger"])
        self._columns = state["columns"]
        self._take_room(self.weights)


def no_check() -> None:
    pass
