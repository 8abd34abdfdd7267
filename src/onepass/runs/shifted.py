"""The shifted perceptron at work: its steps are no sums of update rows, so columns are all that is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onepass.background import Background
from onepass.learners import Learner
from onepass.learners.shifted import ShiftEvidence, unshifted
from onepass.rows import AnyRows, Floats, Ints, count
from onepass.runs.run import Frame, LearnerRun
from onepass.runs.shifting import (
    LEVEL,
    SQUARES,
    TOTAL,
    UNUSED,
    USED,
    Lazy,
    advance,
    check_lazy,
    columns_of,
    empty_lazy,
    settle,
    size_after,
    weights_of,
    wider,
)
from onepass.state_checks import need_fields
from onepass.trace import SumSoFar
from onepass.trace.columns import Columns
from onepass.trace.log import Log, empty_log


class ShiftedRun(LearnerRun):
    """ShiftedPerceptron: see `shifting` for the loop."""

    def __init__(self, learner: Learner, frame: Frame, background: Background) -> None:
        super().__init__(learner, frame, background, empty_log())
        self.lazy: Lazy = empty_lazy(frame.features or 0)

    @property
    def width(self) -> int:
        return self.lazy.B.size - 1

    def widen(self, width: int) -> None:
        self.lazy = wider(self.lazy, width)

    def may_refuse(self, rows: AnyRows, width: int, rounds: int) -> bool:
        return size_after(rounds + count(rows), max(width, self.width)) > self.frame.memory

    def learn(self, rows: AnyRows, y: Ints, rounds: int, columns: int | None) -> None:
        self.log = self.log.with_room(len(y), 0)
        before = self.log.updates
        frame = self.frame
        self.lazy = advance(self.lazy, rows, y, self.current_rule, frame.bias, self.log, rounds, frame.memory)
        self.ledger.count(self.log, before)
        self.enter_tally()
        self.log.cursor[:] = 0
        self.ledger.entered = 0

    def expect(self, rows: AnyRows) -> None:
        pass

    def mark(self, rows: AnyRows, columns: int | None, several: bool) -> None:
        """None: every row changes sums that cannot be put back."""

    def rewind(self, mark: Any) -> None:
        raise NotImplementedError

    def fold_if_due(self) -> None:
        pass

    def settle_norm(self) -> None:
        settle(self.lazy)

    def last(self) -> Floats:
        return weights_of(self.lazy)

    def sum_so_far(self, rounds: int) -> Callable[[], SumSoFar]:
        columns = columns_of(self.lazy)
        alive = rounds - self.ledger.since
        found = SumSoFar(columns.combine(columns.survival.astype(np.float64)) + alive * self.last())
        return lambda: found

    def kept_log(self) -> Log | None:
        return None

    def columns(self) -> Columns | None:
        return columns_of(self.lazy)

    def state(self) -> dict[str, Any]:
        self.enter_tally()
        return {"lazy": self.lazy, "ledger": self.ledger.state()}

    def restore(self, state: dict[str, Any]) -> None:
        self.lazy, self.log = state["lazy"], empty_log()
        self.ledger.restore(state["ledger"])

    def check_state(self, state: Any, rounds: int) -> int:
        need_fields(state, self.state(), "the learner")
        self.ledger.check_state(state["ledger"], rounds, None)
        check_lazy(state["lazy"], rounds, self.frame.most)
        return int(state["lazy"].B.size) - 1

    def notes(self, rounds: int) -> tuple[str, ...]:
        state = self.lazy.state
        counts = int(state[UNUSED]), int(state[USED])
        found = ShiftEvidence(state[TOTAL], state[SQUARES], *counts, uniform=state[LEVEL] == 1.0)
        note = unshifted(self.rule, found, rounds)
        return () if note is None else (note,)
