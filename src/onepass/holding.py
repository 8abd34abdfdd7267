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
from onepass.options import Options, is_number
from onepass.rows import AnyRows, Floats
from onepass.runs import Frame, UnsoundError, begin


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
        self._background = Background()
        most = self.n_features or self.max_features
        frame = Frame(self._outputs, self._bias, self.n_features, most, self.max_trace_memory, self.elapsed)
        self.learner_run = begin(self.learner, frame, self._background, self._origin)
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
        self._answers: dict[Any, Any] = {}  # the trace and the certificates asked for since the last row
        self._declare_radius(self._R)
        self._plain = (  # a row goes straight to the learner
            self.radius is None
            and not self._watched
            and self.stop_at is None
            and not has_own_rate(self.learner_run.rule)
        )
        self._widen(self.n_features or 0)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two passes that write into one log would write past its end

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
        self.learner_run.widen(width)
        for watched in self._watched.values():
            watched.widen(self.learner_run.width)

    def _declare_radius(self, radius: float | None) -> None:
        self._R = radius
        self.learner_run.declare(self._setting)

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
    def origin(self) -> Floats | None:
        """A copy of the weights that the pass started from; None: from 0."""
        return None if self._origin is None else self._origin.copy()

    @property
    def width(self) -> int:
        """Features met, or declared."""
        return self.learner_run.width

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """All that changes while rows are fed, as a copy that `restore` takes.

        Not copied, it shares arrays with the pass: store it before the next row.
        """
        state = self._small_state() | {"learner": self.learner_run.state()}
        return copy.deepcopy(state) if copied else state

    def _small_state(self) -> dict[str, Any]:
        """All but what the learner has."""
        kept = {name: getattr(self, name) for name in _CHANGING}
        return {**kept, "guards": self.guards.state()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken, in a pass with the same options."""
        self._restore(copy.deepcopy(state))

    def _restore(self, parts: dict[str, Any]) -> None:
        """The same, from a state that nobody else holds."""
        self.guards.restore(parts["guards"])
        self.learner_run.restore(parts["learner"])
        for name in _CHANGING:
            setattr(self, name, parts[name])
        self._answers = {}
        self.learner_run.agree(self._setting)

    def _see(self) -> None:
        """Look at the rows that are still unseen, before a step that cannot be undone."""
        if self._unseen is not None:
            try:
                width, canonical = survey(self._unseen, self.n_features or self.max_features, self._stated)
            except DataError:
                raise UnsoundError from None
            if not canonical or self.learner_run.may_refuse(self._unseen, width, self.rounds):
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
    "_void",
    "_assumed",
    "_watched",
)
