"""What a pass holds while it runs: weights, log or columns, tally, alarms; their room, their folding, their state."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

import numpy as np

from onepass.background import Background
from onepass.candidates import FrozenCandidates
from onepass.errors import ConversionError, DataError
from onepass.guards import Guards
from onepass.intake import survey
from onepass.labels import Labels
from onepass.learners import Setting, has_own_rate
from onepass.loop import RADIUS2, first_state, head_of, renew_norm
from onepass.options import Options, is_number
from onepass.rows import AnyRows, Dense, Floats, count
from onepass.schedules import Schedule
from onepass.shifting import empty_lazy, size_after, wider
from onepass.trace import Survivor
from onepass.trace.columns import Columns, empty_columns
from onepass.trace.grid import BINS, coarse, floor_index
from onepass.trace.log import PER_UPDATE, PER_VALUE, Log, empty_log
from onepass.trace.tally import empty_tally, enter


class UnsoundError(Exception):
    """A kernel has met a row that nobody had checked, and that is not fit for it."""


class Holding(Options):
    """The changing part of a pass, made ready for the first row."""

    def __post_init__(self, classes: Any, origin: Any) -> None:
        super().__post_init__(classes, origin)
        self.rows = 0  # rows read
        self.rounds = 0  # rows learned from
        self.stopped = False
        self._labels = Labels.of(classes)
        self._codes = {
            label: self._labels.encode([label], 1)[1]
            for label in (self._labels.classes if self._labels.declared else ())
        }
        if self._labels.count > 2 and not self.learner.several:
            raise ValueError(f"classes: {type(self.learner).__name__} learns two classes, got {self._labels.count}")
        self._bias = 1.0 if self.fit_intercept else 0.0
        self._R = float(self.radius) if is_number(self.radius) else None
        self._longest_row = 0.0  # for radius="auto"
        self._dense_width: int | None = None
        self._origin = None if origin is None else self._starting(origin)
        self._weights = (
            np.zeros((1 + (self.n_features or 0), self._outputs)) if self._origin is None else self._origin.copy()
        )
        self._take_room(self._weights)
        self._state = first_state()
        self._log = empty_log()
        self._lent = False  # whether a trace that was given away sees the log's arrays
        self._columns: Columns | None = None
        self._lazy = None if self.learner.keeps_rows else empty_lazy(self.n_features or 0)
        self._tally = empty_tally(BINS)
        self._tallied, self._since = 0, 0  # updates of the log entered in the tally; round of the last of them
        self._first: Survivor | None = None
        self._updates = 0
        self.guards = Guards(self._labels.count, order=self.order_alarm, repeats=self.repeat_alarm)
        self._void: tuple[str, ...] = ()
        self._assumed: tuple[str, ...] = ()
        self._watched: dict[str, FrozenCandidates] = {}
        if self.penalised is not None:
            self._watched["penalised"] = FrozenCandidates(self.penalised)
        if self.validation_fraction > 0.0:
            self._watched["validation"] = FrozenCandidates("hypothesis")
        self._unseen: AnyRows | None = None  # rows being fed that are not checked yet
        self._stated: int | None = None  # columns that the rows being fed say they have
        self._background = Background()
        self._rates: Schedule | None = None  # of the rows being fed, where the rate is a user's function
        self._answers: dict[Any, Any] = {}  # the trace and the certificates asked for since the last row
        self._declare_radius(self._R)
        self._plain = (  # a row goes straight to the learner
            self.radius is None and not self._watched and self.stop_at is None and not has_own_rate(self._rule)
        )
        self._widen(self.n_features or 0)
        if self._origin is not None:
            renew_norm(self._head, self._state)

    def __getstate__(self) -> dict[str, Any]:
        """All but the views of the weights, which would come out as arrays of their own."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_room", "_head")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._take_room(self._weights)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two passes that write into one log would write past its end

    def _twin(self) -> Self:
        """A pass that shares every array with this one."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def _starting(self, origin: Any) -> Floats:
        """The origin, checked, in an array of our own."""
        weights = np.array(origin, dtype=np.float64, order="C")
        if not self.learner.keeps_rows:
            raise ConversionError(f"origin: {type(self.learner).__name__} starts at 0")
        if weights.ndim != 2 or weights.shape[1] != self._outputs or not len(weights):
            raise ValueError(f"origin: weights (1 + features, {self._outputs}) expected, got shape {weights.shape}")
        if len(weights) - 1 > (self.n_features or self.max_features):
            raise ValueError(f"origin: {len(weights) - 1} features are more than the pass may have")
        if not np.isfinite(weights).all():
            raise ValueError("origin: finite numbers expected")
        if self.learner.bounded and np.linalg.norm(weights) > 1.0 + 1e-9:
            raise ValueError(f"origin: {type(self.learner).__name__} starts in the unit ball")
        return weights

    def _widen(self, width: int) -> None:
        if width + 1 > len(self._weights) or self._weights.shape[1] != self._outputs:
            self._make_room(width)
            self._weights = weights = self._room[: max(width + 1, len(self._weights))]
            for watched in self._watched.values():
                for number, old in watched.live.items():
                    watched.live[number] = np.zeros_like(weights)
                    watched.live[number][: len(old)] = old
        if self._lazy is not None:
            self._lazy = wider(self._lazy, width)

    def _make_room(self, width: int) -> None:
        """Room for the weights of so many features, should they be met: zeros that are not touched cost nothing."""
        if width + 1 > len(self._room) or self._room.shape[1] != self._outputs:
            more = min(2 * len(self._room), 1 + (self.n_features or self.max_features))
            room = np.zeros((max(width + 1, len(self._weights), more), self._outputs))
            room[: len(self._weights)] = self._weights
            self._take_room(room)

    def _take_room(self, room: Floats) -> None:
        self._weights, self._room = room[: len(self._weights)], room
        self._head = head_of(room, self._bias)

    def _compact(self) -> None:
        """Fold the log into columns; from the start, so that it does not matter when this was first called."""
        self._see()
        width = len(self._weights) - 1
        self._background.join()
        self._enter_tally()
        columns = self._columns or empty_columns(width, self._outputs, self.max_trace_memory, self._origin)
        self._columns = columns.add(self._log, self._bias, width)
        self._empty_log()

    def _empty_log(self) -> None:
        if self._lent:  # a trace that somebody keeps sees these arrays
            self._log, self._lent = empty_log(), False
        self._log.cursor[:] = 0
        self._tallied = 0

    def _may_fold(self, rows: AnyRows) -> bool:
        """Whether update rows may be folded into columns while these rows are learned."""
        size = self._log.size + count(rows) * PER_UPDATE + values_in(rows) * PER_VALUE
        folded = self._columns is not None or self._lazy is not None
        return folded or self.learner.grows or size > self.max_trace_memory

    def _may_refuse(self, rows: AnyRows, width: int) -> bool:
        """Whether these rows could bring the trace to a size that even the coarsest columns do not fit in."""
        n = count(rows)
        if self._lazy is not None:
            return size_after(self.rounds + n, max(width, self.width)) > self.max_trace_memory
        if not self._may_fold(rows):
            return False
        columns = coarse(1, floor_index(self.rounds + n) + 1).size
        return 8 * (max(width + 1, len(self._weights))) * self._outputs * columns > self.max_trace_memory

    def _enter_tally(self, log: Log | None = None) -> None:
        log = self._log if log is None else log
        enter(self._tally, log, self._since, self._loss_bound or 0.0, self._tallied)
        self._tallied = log.updates
        if self._tallied:
            self._since = int(log.round[self._tallied - 1])

    def _declare_radius(self, radius: float | None) -> None:
        self._R = radius
        self._rule = self.learner.rule(self._setting)
        self._state[RADIUS2] = (self._setting.reach or 0.0) ** 2

    @property
    def _outputs(self) -> int:
        return 1 if self._labels.count == 2 else self._labels.count

    @property
    def _setting(self) -> Setting:
        if self._R is None:
            return Setting(self.horizon, None, self.n_features)
        fan = 1.0 if self._outputs == 1 else 2.0
        return Setting(self.horizon, math.sqrt(fan * (self._R * self._R + self._bias)), self.n_features)

    @property
    def _loss_bound(self) -> float | None:
        reach = self._setting.reach
        return 1.0 + reach if self.learner.bounded and reach is not None else None

    @property
    def origin(self) -> Floats | None:
        """A copy of the weights that the pass started from; None: from 0."""
        return None if self._origin is None else self._origin.copy()

    @property
    def width(self) -> int:
        """Features met, or declared."""
        return len(self._weights) - 1

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """All that changes while rows are fed, as a copy that `restore` takes.

        Not copied, it shares arrays with the pass: store it before the next row.
        """
        self._enter_tally()
        kept = {name: getattr(self, name) for name in _CHANGING}
        state = {**kept, "guards": self.guards.state(), "_log": self._log.cut(), "_columns": self._columns}
        return copy.deepcopy(state) if copied else state

    def _mark(self) -> dict[str, Any]:
        """A state to go back to as long as nothing is folded: of the log, which only grows, its end."""
        kept = copy.deepcopy({name: getattr(self, name) for name in _CHANGING} | {"guards": self.guards.state()})
        return {**kept, "_log": self._log._replace(cursor=self._log.cursor.copy())}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken, in a pass with the same options."""
        parts = copy.deepcopy(state)
        self.guards.restore(parts.pop("guards"))
        for name, value in parts.items():
            setattr(self, name, value)
        self._answers = {}
        self._take_room(self._weights)
        self._rule = self.learner.rule(self._setting)

    def _see(self) -> None:
        """Look at the rows that are still unseen, before a step that cannot be undone."""
        if self._unseen is not None:
            try:
                width, canonical = survey(self._unseen, self.n_features or self.max_features, self._stated)
            except DataError:
                raise UnsoundError from None
            if not canonical or self._may_refuse(self._unseen, width):
                raise UnsoundError
            self._unseen = None


_CHANGING = (
    "rows",
    "rounds",
    "stopped",
    "_labels",
    "_R",
    "_longest_row",
    "_dense_width",
    "_weights",
    "_state",
    "_lazy",
    "_tally",
    "_tallied",
    "_since",
    "_first",
    "_updates",
    "_void",
    "_assumed",
    "_watched",
)


def values_in(rows: AnyRows) -> int:
    return rows.values.size if isinstance(rows, Dense) else int(rows.indptr[-1] - rows.indptr[0])
