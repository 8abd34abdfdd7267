"""A linear learner at work: weights in a head, update rows in the log."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onepass.background import Background
from onepass.learners import Learner, Setting
from onepass.loop import GREW, RADIUS2, SCALE, Head, first_state, head_of, keep, learn, renew_norm
from onepass.outputs import spread
from onepass.rows import AnyRows, Floats, Ints
from onepass.runs.logged import LoggedRun
from onepass.runs.run import Frame, UnsoundError, values_in
from onepass.runs.running_sum import RunningSum
from onepass.state_checks import need, need_alike, need_fields, need_same_shapes
from onepass.trace import SumSoFar
from onepass.trace.log import Log, empty_log


class Mark(NamedTuple):
    """Where a run stood before rows that nobody had looked at."""

    weights: Floats
    step: Floats
    log: Log
    cursor: Ints  # its end
    dropped: bool
    ledger: dict[str, Any] | None
    running: dict[str, Any] | None


class LinearRun(LoggedRun):
    """Every learner whose hypotheses are sums of update rows."""

    def __init__(self, learner: Learner, frame: Frame, background: Background, origin: Floats | None) -> None:
        super().__init__(learner, frame, background, origin, empty_log())
        self.weights = np.zeros((1 + (frame.features or 0), frame.outputs)) if origin is None else origin.copy()
        self.step_state = first_state()
        self.running = RunningSum(frame.outputs, frame.bias, origin) if frame.sums else None
        self._take_room(self.weights)
        self.widen(frame.features or 0)
        if origin is not None:
            renew_norm(self.head, self.step_state)

    def __getstate__(self) -> dict[str, Any]:
        """All but the views of the weights, which would come out as arrays of their own."""
        return {name: value for name, value in self.__dict__.items() if name not in ("room", "head")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
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

    def join(self, outputs: int) -> None:
        super().join(outputs)
        if self.weights.shape[1] == 1:
            self.step_state[RADIUS2] *= 2.0  # a direction of several classes, +x and −x, is so much longer, squared
        self.weights = spread(self.weights, outputs)
        self._take_room(self.weights)
        renew_norm(self.head, self.step_state)
        if self.running is not None:
            self.running.join(outputs)

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

    def learn(self, rows: AnyRows, y: Ints, rounds: int, columns: int | None) -> None:
        elapsed, values = self.frame.elapsed, values_in(rows)
        if not self.log.has_room(len(y), values):
            self.background.join()
            self.log = self.log.with_room(len(y), values)
        log = self.log
        before = log.updates
        width = learn(self.head, rows, y, self.current_rule, self.step_state, log, elapsed + rounds)
        if width < 0 or (columns is not None and width > columns):
            raise UnsoundError
        self.widen(width)
        if (updates := log.updates) > before:
            if elapsed:
                log.round[before:updates] -= elapsed
            self._size = log.size
            self._keep(rows, before)
            self.ledger.count(log, before)
        if not self._undoable or self._lets_go:  # a mark keeps a log that is let go
            self.fold_if_due()

    def _keep(self, rows: AnyRows, first: int) -> None:
        """Copy the rows of the newest updates into the log; if there is a thread, beside the learning of the next."""
        log = self.log.cut()
        self.background.submit(keep, log, rows, first)
        if self.background.active:  # of few rows it pays only when somebody asks
            self.background.submit(self.ledger.enter, log, self.loss_bound)
        if self.running is not None:
            self.background.submit(self.running.follow, log, first, self.width)

    def sum_so_far(self, rounds: int) -> Callable[[], SumSoFar]:
        running, width = self.running, self.width
        assert running is not None
        return lambda: SumSoFar(running.total(rounds, width))

    def total(self, rounds: int, last: Floats) -> Floats | None:
        return None if self.running is None else self.running.total(rounds, self.width)

    # --- rows that nobody has looked at -------------------------------------------------------------------------------

    def mark(self, rows: AnyRows, columns: int | None, several: bool) -> Mark | None:
        """Weights, step and the log's end; of several pieces also the ledger, since earlier ones enter it."""
        width = self._unchecked_width(rows, columns, several, self.frame.outputs)
        if width is None:
            return None
        self.make_room(width)
        ledger = copy.deepcopy(self.ledger.state()) if several else None
        self._undoable = several
        running = copy.deepcopy(self.running.state()) if several and self.running is not None else None
        log = (self.log, self.log.cursor.copy(), self._dropped)
        return Mark(self.weights.copy(), self.step_state.copy(), *log, ledger, running)

    def rewind(self, mark: Mark) -> None:
        known, self._undoable = len(mark.weights), False
        self.room[known:] = 0.0
        self.weights = self.room[:known]
        self.weights[:], self.step_state[:] = mark.weights, mark.step
        self.log, self._dropped = mark.log, mark.dropped
        self.log.cursor[:] = mark.cursor
        if self.running is not None and mark.running is not None:
            self.running.restore(mark.running)
        self._size = self.log.size
        if mark.ledger is not None:
            self.ledger.restore(mark.ledger)

    @property
    def _lets_go(self) -> bool:
        return not self.frame.needs_log and self.running is not None

    @property
    def _must_fold(self) -> bool:
        return bool(self.step_state[GREW])

    # --- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        running = None if self.running is None else self.running.state()
        return {**super().state(), "weights": self.weights, "step": self.step_state, "running": running}

    def restore(self, state: dict[str, Any]) -> None:
        super().restore(state)
        self.weights, self.step_state = state["weights"], state["step"]
        if self.running is not None:
            self.running.restore(state["running"])
        self._take_room(self.weights)

    def check_state(self, state: Any, rounds: int) -> int:
        need_fields(state, self.state(), "the learner")
        weights, outputs = state["weights"], self.frame.outputs
        need_alike(weights, self.weights, "weights")
        need(len(weights) >= 1 and weights.shape[1] == outputs and bool(np.isfinite(weights).all()), "weights")
        width = len(weights) - 1
        need(width <= self.frame.most, "weights")
        need_same_shapes(state["step"], self.step_state, "the learner's state")
        need((state["running"] is None) == (self.running is None), "the sum of the hypotheses")
        if self.running is not None:
            self.running.check_state(state["running"], rounds)
        self.check_record(state, rounds, width)
        return width
