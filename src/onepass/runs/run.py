"""A learner at work: what every kind of run offers a pass, and the record that all of them keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from onepass.background import Background
from onepass.learners import Learner, Setting, has_own_rate, rate_table
from onepass.rows import AnyRows, Dense, Floats, Ints
from onepass.runs.carrying import Carried
from onepass.schedules import Schedule
from onepass.state_checks import is_count, need, need_fields, need_same_shapes
from onepass.trace import SumSoFar, Survivor
from onepass.trace.columns import Columns
from onepass.trace.grid import BINS
from onepass.trace.kinds import mistake_kinds
from onepass.trace.log import Log, empty_log, judged
from onepass.trace.tally import Tally, empty_tally, enter

RENEW = 1 << 16  # rounds after which ‖w‖² is summed afresh


class UnsoundError(Exception):
    """A kernel has met a row that nobody had checked, and that is not fit for it."""


class Frame(NamedTuple):
    """What a run must know of the pass it works for."""

    outputs: int  # columns of the weights
    bias: float  # the constant feature: 1 with an intercept, 0 without
    features: int | None  # the width, if it is fixed
    most: int  # how wide it may become
    memory: int  # bytes that kept rows and columns may take
    elapsed: int  # rounds before the first, which a falling rate has seen
    needs_log: bool  # whether the declared conversion is made of what the log holds
    sums: bool  # whether sums of all hypotheses so far will be asked for on the way
    kinds: Ints  # of what kind it is to take this label for that one: the table of `MistakeKinds`


class Ledger:
    """How long each finished hypothesis was in use and what ended it, in the form that certificates need."""

    def __init__(self, kinds: Ints) -> None:
        self.kinds = kinds
        self.tally: Tally = empty_tally(BINS, int(kinds.max()) + 1)
        self.first: Survivor | None = None
        self.updates = 0  # hypotheses that have ended
        self.since = 0  # the round in which the last of those entered ended
        self.entered = 0  # updates of the log that are in the tally

    def join(self, classes: int) -> None:
        """A class has joined, of which no mistake was made. (Where costs are declared, classes are too.)"""
        self.kinds, before = mistake_kinds(classes).table, self.tally
        self.tally = before._replace(kinds=np.pad(before.kinds, ((0, 0), (0, classes - before.kinds.shape[1]))))

    def count(self, log: Log, before: int) -> None:
        """The log has grown from so many updates."""
        self.updates += log.updates - before
        if self.first is None and log.updates:
            label, rival = judged(log, 0, len(self.kinds))
            kind = -1 if log.margin[0] > 0.0 else int(self.kinds[label, rival % self.kinds.shape[1]])
            self.first = Survivor(0, int(log.round[0]), float(log.margin[0]), None, kind)

    def enter(self, log: Log, bound: float | None) -> None:
        """Enter what is new in the log; `bound` is the largest hinge loss, where it has one."""
        enter(self.tally, log, self.since, bound or 0.0, self.kinds, self.entered)
        self.entered = log.updates
        if self.entered:
            self.since = int(log.round[self.entered - 1])

    def state(self) -> dict[str, Any]:
        """What changes, sharing its arrays."""
        return {name: value for name, value in self.__dict__.items() if name != "kinds"}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.__dict__.update(state)

    def check_state(self, state: Any, rounds: int, log: Log | None) -> None:
        """Raise CheckpointError unless a run of so many rounds, with this log, can have this state."""
        need_fields(state, self.state(), "the tally")
        for name in ("updates", "since", "entered"):
            need(is_count(state[name]), name)
        need(state["since"] <= rounds, "rounds")
        need(state["entered"] == (0 if log is None else log.updates), "the log")
        need_same_shapes(state["tally"], self.tally, "the tally")
        need(state["first"] is None or isinstance(state["first"], Survivor), "the first hypothesis")


class LearnerRun(ABC):
    """A learner at work: it learns rows and keeps a record of its hypotheses."""

    def __init__(self, learner: Learner, frame: Frame, background: Background, log: Log) -> None:
        self.learner, self.frame, self.background = learner, frame, background
        self.ledger = Ledger(frame.kinds)
        self.log = log
        self.rule: Any = None
        self.loss_bound: float | None = None
        self.log_shared = False  # whether a trace that was given away sees the log's arrays
        self.rates: Schedule | None = None  # of the rows being fed, where the rate is a user's function

    def declare(self, setting: Setting) -> None:
        """What was agreed before the first row, or measured in the rows before it."""
        self.agree(setting)

    def agree(self, setting: Setting) -> None:
        """The rule and the largest loss that follow from the setting."""
        self.rule = self.learner.rule(setting)
        reach = setting.reach
        self.loss_bound = 1.0 + reach if self.learner.bounded and reach is not None else None

    @property
    def empty(self) -> Log:
        """A log of this run's kind with no update and no room."""
        return type(self.log)._make(empty_log())

    @property
    def current_rule(self) -> Any:
        """The rule, with the rates of the rows being fed where they are a user's."""
        return self.rule if self.rates is None else self.rule._replace(schedule=self.rates)

    @property
    def log_room(self) -> int:
        """Bytes that kept updates may take."""
        return self.frame.memory

    @property
    @abstractmethod
    def width(self) -> int:
        """Features that there is a weight for."""

    @abstractmethod
    def widen(self, width: int) -> None:
        """At least so many features."""

    def join(self, outputs: int) -> None:
        """More outputs: a class has joined. LimitError: there is no room for its record."""
        raise NotImplementedError  # of a learner of two classes: a pass refuses the label before

    @abstractmethod
    def may_refuse(self, rows: AnyRows, width: int, rounds: int) -> bool:
        """Whether these rows could bring the record to a size that there is no room for."""

    @abstractmethod
    def learn(self, rows: AnyRows, y: Ints, rounds: int, columns: int | None) -> None:
        """Learn rows after so many rounds; UnsoundError if one is not fit for a kernel, or has more columns."""

    @abstractmethod
    def expect(self, rows: AnyRows) -> None:
        """These rows are about to be learned, piece by piece."""

    @abstractmethod
    def mark(self, rows: AnyRows, columns: int | None, several: bool) -> Any:
        """What `rewind` needs should one of these rows prove bad while they are learned; None: check them before.

        `several`: they will be learned in several pieces, of which a later one can prove bad.
        """

    @abstractmethod
    def rewind(self, mark: Any) -> None:
        """Go back to a mark."""

    @abstractmethod
    def fold_if_due(self) -> None:
        """After a marked batch: fold what has outgrown its room meanwhile. LimitError: there is none."""

    def compacted(self) -> LearnerRun:
        """This run with its update rows folded, to be stored; it shares arrays with this one."""
        return self

    def notes(self, rounds: int) -> tuple[str, ...]:
        """What a user should know of how the learner fares."""
        return ()

    @abstractmethod
    def settle_norm(self) -> None:
        """Sum ‖w‖² afresh: what is carried from step to step drifts."""

    @abstractmethod
    def last(self) -> Floats:
        """The living hypothesis, (1 + features, outputs), intercept first."""

    def carried(self) -> Floats | Carried:
        """What another run of the learner would start from, to go on from here."""
        return self.last().copy()

    def leaves(self) -> Floats:
        """What this run adds to where the runs after it start: such arrays add."""
        return self.last()

    @abstractmethod
    def sum_so_far(self, rounds: int) -> Callable[[], SumSoFar]:
        """The sum of the hypotheses in use over all rounds so far: a function that gives it when its turn has come in
        the background."""

    def total(self, rounds: int, last: Floats) -> Floats | None:
        """Σ of the hypothesis in use over all rounds, of which `last` is the living one; None: it is not kept."""
        return None

    @property
    def dropped(self) -> bool:
        """Whether the log was let go."""
        return False

    @abstractmethod
    def kept_log(self) -> Log | None:
        """The updates, while they are kept; sharing arrays."""

    @abstractmethod
    def columns(self) -> Columns | None:
        """What they became; sharing arrays."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All that changes, sharing its arrays."""

    @abstractmethod
    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""

    @abstractmethod
    def check_state(self, state: Any, rounds: int) -> int:
        """The width of a stored state; CheckpointError if a run of so many rounds cannot have it."""

    @contextmanager
    def rates_of(self, rounds: int, rows: int) -> Iterator[None]:
        """The rates of the rows being fed, where they are a user's own function."""
        if not has_own_rate(self.rule):
            yield
            return
        first = self.frame.elapsed + rounds + 1
        self.rates = rate_table(self.rule, first, first + rows - 1)
        try:
            yield
        finally:
            self.rates = None

    def enter_tally(self) -> None:
        """Bring the tally up to the last update."""
        self.ledger.enter(self.log, self.loss_bound)


def values_in(rows: AnyRows) -> int:
    """How many values the rows store."""
    return rows.values.size if isinstance(rows, Dense) else int(rows.indptr[-1] - rows.indptr[0])
