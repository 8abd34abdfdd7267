"""A learner at work whose updates are kept in a log until they are folded into columns: the record of it."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from onepass.background import Background
from onepass.learners import Learner
from onepass.outputs import spread
from onepass.rows import AnyRows, Dense, Floats, Rows, count
from onepass.runs.run import Frame, LearnerRun, values_in
from onepass.state_checks import need
from onepass.trace.columns import Columns, check_columns, empty_columns
from onepass.trace.grid import coarse, floor_index
from onepass.trace.log import PER_UPDATE, PER_VALUE, Log, check_log

SPARE_LOG = 32 << 20  # bytes of the log that are kept for whoever may ask for another conversion than the declared one
ROOM = 1 << 16  # numbers of columns that may be met: room that is not used costs nothing


class LoggedRun(LearnerRun):
    """Every learner whose hypotheses are sums of what a log can hold."""

    def __init__(self, learner: Learner, frame: Frame, background: Background, origin: Floats | None, log: Log) -> None:
        super().__init__(learner, frame, background, log)
        self.origin = origin
        self._columns: Columns | None = None
        self._size = 0  # of the log, in bytes
        self._undoable = False  # whether a mark is held: nothing is folded meanwhile
        self._dropped = False  # whether the log was let go

    def join(self, outputs: int) -> None:
        self.background.join()
        self.enter_tally()
        before = self.frame.outputs
        if self._columns is not None:
            self._columns = self._columns.joined(outputs)
        self.log, self.log_shared = self.log.joined(before, outputs), False
        self.origin = None if self.origin is None else spread(self.origin, outputs)
        self.ledger.join(outputs)
        self._size, self.frame = self.log.size, self.frame._replace(outputs=outputs, kinds=self.ledger.kinds)

    def expect(self, rows: AnyRows) -> None:
        """Room in the log for a whole batch at once: growing copies, and room that is not used costs nothing."""
        self.log = self.log.with_room(count(rows), min(values_in(rows), self.frame.memory // PER_VALUE))

    def _unchecked_width(self, rows: AnyRows, columns: int | None, several: bool, numbers: int) -> int | None:
        """The width to make room for before rows that nobody has looked at; None: look at them first.

        What is folded cannot be put back. A mark copies `numbers` for every column met: for one piece that pays where
        they are fewer than the values, so a batch of a few rows is looked at instead.
        """
        most = self.frame.most
        if isinstance(rows, Rows) and rows.indices.dtype != np.int32:
            return None
        held = (1 + self.width) * numbers
        if self._folds or not (several or (held <= values_in(rows) and not self._may_fold(rows))):
            return None
        width = columns if several or isinstance(rows, Dense) else min(ROOM // numbers, most)
        return width if width and width <= most else None

    def kept_log(self) -> Log | None:
        return self.log.cut() if self._columns is None and not self._dropped else None

    def columns(self) -> Columns | None:
        return self._columns

    @property
    def dropped(self) -> bool:
        return self._dropped

    @property
    def log_room(self) -> int:
        """Bytes that kept updates may take."""
        return min(SPARE_LOG, self.frame.memory) if self._lets_go else self.frame.memory

    @property
    @abstractmethod
    def _lets_go(self) -> bool:
        """Whether the declared conversion does without the log: if it outgrows its room it is let go, not folded."""

    @property
    @abstractmethod
    def _must_fold(self) -> bool:
        """Whether the log cannot give back the hypotheses any more."""

    @property
    def _reads_log_beside(self) -> bool:
        """Whether the background reads the log."""
        return True

    @property
    def _folds(self) -> bool:
        """Whether learning changes what cannot be put back: updates are no longer kept."""
        return self._columns is not None or self.learner.grows

    def _may_fold(self, rows: AnyRows) -> bool:
        """Whether updates may be folded into columns while these rows are learned."""
        size = self._size + count(rows) * PER_UPDATE + values_in(rows) * PER_VALUE
        return not self._lets_go and (self._folds or size > self.frame.memory)

    def may_refuse(self, rows: AnyRows, width: int, rounds: int) -> bool:
        if not self._may_fold(rows):
            return False
        columns = coarse(1, floor_index(rounds + count(rows)) + 1).size
        return 8 * (max(width, self.width) + 1) * self.frame.outputs * columns > self.frame.memory

    def fold_if_due(self) -> None:
        self._undoable = False
        if self._lets_go:
            if self._dropped or self._size > self.log_room or self._must_fold:
                self._drop()
        elif self._columns is not None or self._size > self.frame.memory or self._must_fold:
            self.compact()

    def _drop(self) -> None:
        """Let the log go: all that is still asked of it is in the tally."""
        if self._reads_log_beside:
            self.background.join()
        self.enter_tally()
        if self.log_shared or not self._dropped:  # a trace that somebody keeps, or a mark, may see these arrays
            self.log, self.log_shared = self.empty, False
        self._dropped = True
        self.log.cursor[:] = self._size = 0
        self.ledger.entered = 0

    def compact(self) -> None:
        """Fold the log into columns; from the start, so that it does not matter when this was first called."""
        self.background.join()
        self.enter_tally()
        frame = self.frame
        columns = self._columns or empty_columns(self.width, frame.outputs, frame.memory, self.origin)
        self._columns = columns.add(self.log, frame.bias, self.width)
        if self.log_shared:  # a trace that somebody keeps sees these arrays
            self.log, self.log_shared = self.empty, False
        self.log.cursor[:] = self._size = 0
        self.ledger.entered = 0

    def compacted(self) -> Self:
        self.enter_tally()  # now, or both would enter the same updates into the tally that they share
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.ledger = copy.copy(self.ledger)
        if self._lets_go:
            twin.log_shared = True
            twin._drop()
            return twin
        twin.log = self.log.cut()
        twin.compact()
        twin.log = self.empty
        return twin

    def state(self) -> dict[str, Any]:
        self.enter_tally()
        kept = {"log": self.log.cut(), "columns": self._columns, "dropped": self._dropped}
        return {"ledger": self.ledger.state(), **kept}

    def restore(self, state: dict[str, Any]) -> None:
        self.log, self._columns, self._dropped = state["log"], state["columns"], state["dropped"]
        self._size = self.log.size
        self.ledger.restore(state["ledger"])

    def check_record(self, state: dict[str, Any], rounds: int, width: int) -> None:
        """Raise CheckpointError unless a run of so many rounds and features can have this record."""
        frame, log = self.frame, state["log"]
        check_log(log, self.empty, rounds, frame.outputs, width)
        self.ledger.check_state(state["ledger"], rounds, log)
        need(type(state["dropped"]) is bool and (self._lets_go or not state["dropped"]), "the log")
        if state["columns"] is not None:
            need(log.updates == 0, "the columns")
            check_columns(state["columns"], rounds, frame.outputs, width, frame.memory)
