"""Pass: the loop, its trace, its certificate and its model, held together.

The one mutable thing of the house. Estimator, command line, several machines and checkpoints are thin shells around it.
Whatever way a stream is cut into `feed` calls, the same bits come out.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from onepass import conversions
from onepass.alarms import Order, listen, next_look, order_reason, order_state
from onepass.candidates import Watchlist
from onepass.certificates import Certificate, certified_loss, certify, check
from onepass.errors import ConversionError, DataError, LimitError, StoppedError
from onepass.files import sha256
from onepass.labels import Label, Labels
from onepass.learners import Setting, has_own_rate, named, rate_table
from onepass.learners.shifted import unshifted
from onepass.loop import GREW, RADIUS2, SCALE, first_state, head_of, keep, learn, renew_norm
from onepass.models import LinearModel, VotedModel
from onepass.regret import Regret, regret
from onepass.repeats import no_repeats, recognise, repeat_reason
from onepass.rows import (
    LARGEST,
    AnyRows,
    Dense,
    Floats,
    Ints,
    Rows,
    accept,
    block,
    blocks,
    count,
    onto_ball,
    part,
    squared_norms,
    survey,
    take,
)
from onepass.schedules import Schedule
from onepass.shifting import TOTAL, UNUSED, USED, advance, columns_of, empty_lazy, settle, size_after, weights_of, wider
from onepass.trace import Survivor, Terms, Trace, combine
from onepass.trace.columns import Columns, empty_columns
from onepass.trace.grid import BINS, coarse, floor_index
from onepass.trace.log import PER_UPDATE, PER_VALUE, empty_log
from onepass.trace.tally import Tally, empty_tally, enter

AUTO_ROWS = 1000  # rows that radius="auto" reads and does not count
SINGLES = 64  # rows fed one by one that the repeat alarm hears together
RENEW = 1 << 16  # rounds after which ‖w‖² is summed afresh


Spans = list[tuple[int, int]]


class _UnsoundError(Exception):
    """A kernel has met a row that nobody had checked, and that is not fit for it."""


class Pass:
    """One pass over rows, fed in any pieces: `feed`, then `model`, `certificate`, `trace`, at any time.

    learner             a learner, its class or its name ("perceptron", "margin", "pa", …)
    classes             all labels; None: the first two met
    conversion, cutoffs, bound, delta, loss
                        what `model()` and `certificate()` give unless told otherwise, and what `stop_at` looks at
    radius              R: rows outside the ball are scaled onto it; "auto": the largest norm in the first 1000 rows,
                        which are read and not counted; None: no scaling, and no certificate in hinge loss
    horizon             the number of rows, if known beforehand
    fit_intercept       whether a constant feature 1 is appended (after scaling)
    n_features          the width, if it is fixed; max_features: how far it may grow
    max_trace_memory    bytes of update rows kept before they are folded into one vector per cutoff
    penalised           "average" or "hypothesis": watch frozen candidates, for the conversion "penalised"
    validation_fraction share of the rows kept out of the pass, for the conversion "validation"
    stop_at             stop as soon as the certificate is at most this
    order_alarm         whether to withhold certificates when labels come in an order that no i.i.d. draw would show
    repeat_alarm        whether to withhold certificates when a block of 100 rows or more comes a second time
    seed                chooses the rows kept out
    origin              weights (1 + features, outputs), intercept first, to start from in place of 0: a model that
                        depends on earlier rows only, so that certificates hold all the same
    elapsed             rounds that went into the origin: a falling learning rate goes on from there

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> run = Pass("perceptron")
    >>> run.feed(X, np.where(X[:, 0] > 0, "up", "down"))
    >>> run.rounds, run.model().predict([[3.0, 0, 0, 0, 0], [-3.0, 0, 0, 0, 0]]).tolist()
    (2000, ['up', 'down'])
    >>> run.certificate().covers
    'members'
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        classes: Any = None,
        conversion: str = "cutoff",
        cutoffs: str = "grid",
        bound: str = "betting",
        delta: float = 0.05,
        loss: str | None = None,
        radius: float | str | None = None,
        horizon: int | None = None,
        fit_intercept: bool = True,
        n_features: int | None = None,
        max_features: int = 1 << 24,
        max_trace_memory: int = 256 << 20,
        penalised: str | None = None,
        validation_fraction: float = 0.0,
        stop_at: float | None = None,
        order_alarm: bool = True,
        repeat_alarm: bool = True,
        seed: int = 0,
        origin: Floats | None = None,
        elapsed: int = 0,
    ) -> None:
        self.learner = named(learner)
        check(conversion, delta, bound)
        if cutoffs not in ("grid", "all"):
            raise ValueError(f"cutoffs: 'grid' or 'all' expected, got {cutoffs!r}")
        if not (radius is None or radius == "auto" or (_is_number(radius) and 0.0 < radius < math.inf)):
            raise ValueError(f"radius: a positive number, 'auto' or None expected, got {radius!r}")
        _check_count("horizon", horizon, 1)
        _check_count("n_features", n_features, 1)
        _check_count("max_features", max_features, 1)
        _check_count("max_trace_memory", max_trace_memory, 0)
        _check_count("elapsed", elapsed, 0)
        self.learner.rule(Setting(features=n_features))  # says at once what is wrong with the learner's own parameters
        if max_features >= 1 << 31:
            raise ValueError(f"max_features: below 2^31 expected, got {max_features}")
        if not self.learner.keeps_rows and (cutoffs == "all" or conversion in ("longest", "suffix")):
            raise ConversionError(
                f"{type(self.learner).__name__} keeps no update rows (x − T changes with every row): choose the "
                "conversion last, average or cutoff on the grid, or penalised"
            )
        if penalised not in (None, "average", "hypothesis"):
            raise ValueError(f"penalised: 'average', 'hypothesis' or None expected, got {penalised!r}")
        if not 0.0 <= validation_fraction < 1.0:
            raise ValueError(f"validation_fraction: at least 0 and below 1 expected, got {validation_fraction!r}")
        if stop_at is not None and not stop_at > 0.0:
            raise ValueError(f"stop_at: a positive number expected, got {stop_at!r}")
        self.conversion, self.cutoffs, self.bound, self.delta, self.loss = conversion, cutoffs, bound, delta, loss
        self.radius, self.horizon, self.fit_intercept = radius, horizon, bool(fit_intercept)
        self.n_features, self.max_features, self.max_trace_memory = n_features, max_features, max_trace_memory
        self.validation_fraction, self.stop_at, self.order_alarm, self.seed = (
            validation_fraction,
            stop_at,
            order_alarm,
            seed,
        )
        self.penalised, self.repeat_alarm = penalised, bool(repeat_alarm)
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
        self._bias = 1.0 if fit_intercept else 0.0
        self._R = float(radius) if _is_number(radius) else None
        self._longest_row = 0.0  # for radius="auto"
        self._dense_width: int | None = None
        self._elapsed = elapsed
        self._origin = None if origin is None else self._starting(origin)
        self._weights = (
            np.zeros((1 + (n_features or 0), self._outputs)) if self._origin is None else self._origin.copy()
        )
        self._take_room(self._weights)
        self._state = first_state()
        self._log = empty_log()
        self._columns: Columns | None = None
        self._lazy = None if self.learner.keeps_rows else empty_lazy(n_features or 0)
        self._warned = False
        self._tally = empty_tally(BINS)
        self._tallied, self._since = 0, 0  # updates of the log entered in the tally; round of the last of them
        self._first: Survivor | None = None
        self._updates = 0
        self._order = order_state(self._labels.count)
        self._repeats = no_repeats()
        self._single: list[tuple[Any, Ints]] = []  # rows fed one by one that the repeat alarm has not heard yet
        self._void: tuple[str, ...] = ()
        self._assumed: tuple[str, ...] = ()
        self._watched: dict[str, Watchlist] = {}
        if penalised is not None:
            self._watched["penalised"] = Watchlist(penalised)
        if validation_fraction > 0.0:
            self._watched["validation"] = Watchlist("hypothesis")
        self._answers: dict[Any, Any] = {}  # the trace and the certificates asked for since the last row
        self._unseen: AnyRows | None = None  # rows being fed that are not checked yet
        self._helper: Executor | None = None  # while a long feed is under way
        self._waiting: list[Future[None]] = []
        self._rates: Schedule | None = None  # of the rows being fed, where the rate is a user's function
        self._declare_radius(self._R)
        self._plain = (  # a row goes straight to the learner
            radius is None and not self._watched and stop_at is None and not has_own_rate(self._rule)
        )
        self._widen(n_features or 0)
        if self._origin is not None:
            renew_norm(self._head, self._state)
        certified_loss(self._trace(), loss)

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
        return weights

    # --- feeding ------------------------------------------------------------------------------------------------------

    def feed(self, X: Any, y: Any) -> None:
        """Learn from these rows, in this order. All of them are checked before the first is learned."""
        if self.stopped:
            raise StoppedError(f"the certificate has reached stop_at={self.stop_at}; set stop_at to None to go on")
        rows = accept(X)
        spans = list(blocks(rows))
        with ThreadPoolExecutor(1, "onepass-keep") if len(spans) > 1 else nullcontext() as helper:
            self._helper = helper
            try:
                labels, codes = self._labels.encode(y, count(rows))
                if isinstance(rows, Dense) and rows.values.shape[1] != (expected := self._expected(rows)):
                    raise DataError(f"X: {rows.values.shape[1]} features, but {expected} are expected")
                if has_own_rate(self._rule):
                    done = self._elapsed + self.rounds
                    self._rates = rate_table(self._rule, done + 1, done + count(rows))
                if not self._feed_unseen(rows, getattr(X, "shape", (0, 0))[1], labels, codes, spans):
                    self._feed(rows, labels, codes, spans)
            finally:
                self._catch_up()
                self._helper = self._rates = None

    def _feed_unseen(self, rows: AnyRows, width: int, labels: Labels, codes: Ints, spans: Spans) -> bool:
        """Learn many rows and check them on the way, which spares reading them twice; if one is bad, put all back.

        False, and nothing done, if so, or if this is no such case: then `_feed` says what is wrong or goes on.
        """
        if len(spans) < 2 or not 0 < width <= (self.n_features or self.max_features):
            return False
        folds = self._columns is not None or self._lazy is not None or self.learner.grows  # which cannot be undone
        if folds or not self._plain or (isinstance(rows, Rows) and rows.indices.dtype != np.int32):
            return False
        before = self._mark()
        self._make_room(width)
        self._unseen = rows
        try:
            self._feed_blocks(rows, labels, codes, spans, canonical=True)
        except _UnsoundError:
            self._catch_up()
            self.restore(before)
            return False
        finally:
            self._unseen = None
        return True

    def _see(self) -> None:
        """Look at the rows that are still unseen, before a step that cannot be undone."""
        if self._unseen is not None:
            try:
                width, canonical = survey(self._unseen, self.n_features or self.max_features)
            except DataError:
                raise _UnsoundError from None
            if not canonical or self._may_refuse(self._unseen, width):
                raise _UnsoundError
            self._unseen = None

    def _feed(self, rows: AnyRows, labels: Labels, codes: Ints, spans: Spans) -> None:
        """Learn rows after a look at all of them."""
        width, canonical = survey(rows, self.n_features or self.max_features, self._helper)
        before = self.state() if self._may_refuse(rows, width) else None
        self._labels = labels
        self._widen(width)
        try:
            self._feed_blocks(rows, labels, codes, spans, canonical)
        except LimitError:
            if before is not None:
                self.restore(before)
            raise

    def _feed_blocks(self, rows: AnyRows, labels: Labels, codes: Ints, spans: Spans, canonical: bool) -> None:
        self._labels = labels
        if isinstance(rows, Dense):
            self._dense_width = rows.values.shape[1]
        if len(spans) > 1:  # room for the whole batch at once: growing copies, and room that is not used costs nothing
            values = min(_values(rows), self.max_trace_memory // PER_VALUE)
            self._log = self._log.with_room(count(rows), values)
        for first, last in spans:
            if self._unseen is not None:
                self._unseen = part(rows, first, count(rows))
            if not self.stopped:
                self._read(block(rows, first, last, canonical), codes[first:last])

    def _expected(self, rows: Dense) -> int:
        """The width that dense rows must have."""
        return self.n_features or self._dense_width or rows.values.shape[1]

    def feed_one(self, X: Any, y: Any) -> bool:
        """Feed one row without the cost of looking at it in general; False, and nothing done, if it is no such case.

        One dense float64 row of the declared width with one declared label: everything else goes by `feed`.
        """
        if not (type(X) is np.ndarray and X.dtype == np.float64 and X.shape == (1, self.n_features) and len(y) == 1):
            return False
        if not (X.flags.c_contiguous and X.flags.writeable and self._plain) or self.stopped:
            return False
        label = y[0]
        code = self._codes.get(label.item() if isinstance(label, np.generic) else label)
        if code is None or not np.abs(X).max() <= LARGEST or self._next_border() == self.rounds + 1:
            return False
        self._hear_one(X, code)
        self._advance(Dense(X), code)
        return True

    def _read(self, rows: AnyRows, y: Ints) -> None:
        """Rows as they come, in stretches that end where something happens between two rows."""
        if self._R is None and self.radius == "auto":
            first = min(len(y), AUTO_ROWS - self.rows)
            self._measure(part(rows, 0, first), y[:first])
            rows, y = part(rows, first, len(y)), y[first:]
        fed = rows
        if self._R is not None:
            rows = onto_ball(rows, self._R)
        held = held_out(self.seed, self.rows, len(y), self.validation_fraction)
        learned = np.flatnonzero(~held) if held.any() else None  # places of the rows to learn, if not all
        done = 0
        while done < len(y) and not self.stopped:
            ahead = self._next_border() - self.rounds
            if learned is None:
                stop = min(len(y), done + ahead)
                stretch, labels = part(rows, done, stop), y[done:stop]
            else:
                behind = int(np.searchsorted(learned, done))
                stop = int(learned[behind + ahead - 1]) + 1 if behind + ahead <= learned.size else len(y)
                out, stretch, labels = held[done:stop], part(rows, done, stop), y[done:stop]
                self._watch("validation", take(stretch, out), labels[out])
                stretch, labels = take(stretch, ~out), labels[~out]
            self._hear(part(fed, done, stop), y[done:stop])
            if len(labels):
                self._advance(stretch, labels)
            done = stop

    def _hear(self, rows: AnyRows, y: Ints) -> None:
        """What the alarms look at: the rows as they were fed."""
        if self.repeat_alarm:
            self._recall_single()
            self._beside(self._recognise, rows, y)
        self._listen(y)

    def _hear_one(self, X: Any, y: Ints) -> None:
        """The same for one row, which is kept until there are more: a call for each costs as much as learning it."""
        if self.repeat_alarm:
            self._single.append((X.copy(), y))
            if len(self._single) == SINGLES:
                self._recall_single()
        self._listen(y)

    def _listen(self, y: Ints) -> None:
        self.rows += len(y)
        if self.order_alarm and self._labels.count <= self._order.seen.size:
            self._beside(listen, self._order, y)

    def _recall_single(self) -> None:
        if self._single:
            rows, y = (np.concatenate(parts) for parts in zip(*self._single, strict=True))
            self._single = []
            self._recognise(Dense(rows), y)

    def _recognise(self, rows: AnyRows, y: Ints) -> None:
        self._repeats = recognise(self._repeats, rows, y)

    def _measure(self, rows: AnyRows, y: Ints) -> None:
        """radius="auto": the first rows only tell how long rows are."""
        norms = np.zeros(len(y))
        squared_norms(rows, norms)
        self._longest_row = max(self._longest_row, math.sqrt(norms.max(initial=0.0)))
        self._hear(rows, y)
        if self.rows >= AUTO_ROWS:
            if self._longest_row == 0.0:
                raise DataError(f"radius='auto': the first {AUTO_ROWS} rows are all zero; give radius a number")
            self._declare_radius(self._longest_row)

    def _next_border(self) -> int:
        """The next round at which something happens between two rows; fixed by the round alone."""
        border = self.rounds + (1 << 62)
        if self._watched:
            border = min(border, 1 << self.rounds.bit_length())
        if self.stop_at is not None:
            border = min(border, next_look(self.rounds))
        if self.learner.tracks_norm:
            border = min(border, (self.rounds // RENEW + 1) * RENEW)
        return border

    def _advance(self, rows: AnyRows, y: Ints) -> None:
        """Learn rows up to the next border."""
        self._watch("penalised", rows, y)
        values = 0 if self._lazy is not None else _values(rows)  # which keeps no rows
        if not self._log.has_room(len(y), values):
            self._catch_up()
            self._log = self._log.with_room(len(y), values)
        before = self._log.updates
        rule = self._rule if self._rates is None else self._rule._replace(schedule=self._rates)
        if self._lazy is not None:
            memory = self.max_trace_memory
            self._lazy = advance(self._lazy, rows, y, rule, self._bias, self._log, self.rounds, memory)
        else:
            done = self._elapsed + self.rounds
            width = learn(self._head, rows, y, rule, self._state, self._log, done, self._unseen is None)
            if width < 0:
                raise _UnsoundError
            self._widen(width)
            if self._log.updates > before:
                if self._elapsed:
                    self._log.round[before : self._log.updates] -= self._elapsed
                self._keep(rows, before)
        self.rounds += len(y)
        self._updates += self._log.updates - before
        if self._first is None and self._log.updates:
            self._first = Survivor(0, int(self._log.round[0]), float(self._log.margin[0]))
        if self._lazy is not None:
            self._enter_tally()
            self._empty_log()
        elif self._columns is not None or self._log.size > self.max_trace_memory or self._state[GREW]:
            self._compact()
        t = self.rounds
        if self.learner.tracks_norm and t % RENEW == 0:
            if self._lazy is not None:
                settle(self._lazy)
            else:
                renew_norm(self._head, self._state)
        if self._watched and t & (t - 1) == 0:
            self._freeze(t.bit_length() - 1)
        if self.stop_at is not None and next_look(t - 1) == t:
            self._catch_up()
            certificate = self.certificate()
            self.stopped = certificate.withheld is None and certificate.risk <= self.stop_at

    def _keep(self, rows: AnyRows, first: int) -> None:
        """Copy the rows of the newest updates into the log; if there is a helper, beside the learning of the next."""
        self._beside(keep, self._log.cut(), rows, first)

    def _beside(self, work: Callable[..., None], *arguments: Any) -> None:
        """Do what learning need not wait for: in order, on the helper's thread if there is one."""
        if self._helper is None:
            work(*arguments)
        else:
            self._waiting.append(self._helper.submit(work, *arguments))

    def _catch_up(self) -> None:
        """Wait until all that was done beside is done."""
        for work in self._waiting:
            work.result()
        self._waiting.clear()

    def _watch(self, kind: str, rows: AnyRows, y: Ints) -> None:
        if kind in self._watched and len(y):
            watched = self._watched[kind]
            heads = {number: head_of(weights, self._bias) for number, weights in watched.live.items()}
            watched.watch(heads, rows, y, self._loss_bound or 0.0)

    def _freeze(self, number: int) -> None:
        self._catch_up()
        trace = self._trace()
        for watched in self._watched.values():
            weights = trace.last if watched.what == "hypothesis" else combine(trace, conversions.average(trace))
            watched.freeze(number, weights)
        self._answers = {}

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
            room = np.zeros((max(width + 1, len(self._weights)), self._outputs))
            room[: len(self._weights)] = self._weights
            self._take_room(room)

    def _take_room(self, room: Floats) -> None:
        self._weights, self._room = room[: len(self._weights)], room
        self._head = head_of(room, self._bias)

    def _compact(self) -> None:
        """Fold the log into columns; from the start, so that it does not matter when this was first called."""
        self._see()
        width = len(self._weights) - 1
        self._catch_up()
        self._enter_tally()
        columns = self._columns or empty_columns(width, self._outputs, self.max_trace_memory, self._origin)
        self._columns = columns.add(self._log, self._bias, width)
        self._empty_log()

    def _empty_log(self) -> None:
        self._log.cursor[:] = 0
        self._tallied = 0

    def _may_fold(self, rows: AnyRows) -> bool:
        """Whether update rows may be folded into columns while these rows are learned."""
        size = self._log.size + count(rows) * PER_UPDATE + _values(rows) * PER_VALUE
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

    def _enter_tally(self) -> None:
        enter(self._tally, self._log, self._since, self._loss_bound or 0.0, self._tallied)
        self._tallied = self._log.updates
        if self._tallied:
            self._since = int(self._log.round[self._tallied - 1])

    # --- what the learner and the certificate read --------------------------------------------------------------------

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

    # --- what comes out -----------------------------------------------------------------------------------------------

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels: as declared, or those met, sorted."""
        return self._labels.classes if self._labels.declared else tuple(sorted(self._labels.classes, key=_sortable))

    @property
    def width(self) -> int:
        """Features met, or declared."""
        return len(self._weights) - 1

    @property
    def scaled_onto(self) -> float | None:
        """The radius that rows are scaled onto: as declared, or as radius="auto" has found it; None: no scaling."""
        return self._R

    @property
    def order(self) -> Order:
        """What the order alarm has counted so far."""
        return self._order

    @property
    def mistakes(self) -> int:
        """Mistakes made on the way."""
        self._enter_tally()
        return int(self._tally.mistakes.sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the learner fares; `model` says it once, as a warning."""
        if self._lazy is None:
            return ()
        state = self._lazy.state
        note = unshifted(self._rule, state[TOTAL], self.rounds, int(state[UNUSED]), int(state[USED]))
        return () if note is None else (note,)

    def withhold(self, reason: str) -> None:
        """Give no certificate from now on: something that it assumes is known to be false."""
        if reason not in self._void:
            self._void = (*self._void, reason)

    def assume(self, text: str) -> None:
        """Say one more thing in every certificate's list of assumptions."""
        if text not in self._assumed:
            self._assumed = (*self._assumed, text)

    def trace(self) -> Trace:
        """What the pass has left behind so far: a value that later feeding does not change."""
        trace = self._trace()
        tally = Tally._make(array.copy() for array in trace.tally)
        columns = trace.columns.copy() if trace.columns is not None else None
        return replace(trace, tally=tally, columns=columns)

    def _trace(self) -> Trace:
        """The trace, sharing arrays with the pass: for use before the next row."""
        self._enter_tally()
        self._recall_single()
        void = self._void
        for reason in (
            order_reason(self._order) if self.order_alarm else None,
            repeat_reason(self._repeats) if self.repeat_alarm else None,
        ):
            if reason is not None and reason not in void:
                void = (*void, reason)
        now = (self.rows, self.rounds, void, self._assumed)
        if self._answers.get("now") == now:
            known: Trace = self._answers["trace"]
            return known
        trace = Trace(
            terms=Terms(
                self.learner,
                self._setting,
                self._labels.count,
                self._bias,
                self._loss_bound,
                self.horizon,
                self.cutoffs,
            ),
            rounds=self.rounds,
            updates=self._updates,
            last=self._state[SCALE] * self._weights if self._lazy is None else weights_of(self._lazy),
            alive=self.rounds - self._since,
            tally=self._tally,
            first=self._first or Survivor(0, self.rounds, None),
            log=self._log.cut() if self._columns is None and self._lazy is None else None,
            columns=self._columns if self._lazy is None else columns_of(self._lazy),
            frozen={kind: watched.snapshot() for kind, watched in self._watched.items()},
            void=void,
            assumed=self._assumed,
            origin=self._origin,
        )
        self._answers = {"now": now, "trace": trace}
        return trace

    def certificate(
        self,
        conversion: str | None = None,
        *,
        delta: float | None = None,
        bound: str | None = None,
        loss: str | None = None,
    ) -> Certificate:
        """The certificate of a conversion, as declared unless told otherwise. Valid at every round at once."""
        return self._certificate(self._trace(), conversion, delta, bound, loss)

    def _certificate(
        self,
        trace: Trace,
        conversion: str | None,
        delta: float | None = None,
        bound: str | None = None,
        loss: str | None = None,
    ) -> Certificate:
        """The certificate of the trace as it is now, made once for each question."""
        asked = (
            conversion or self.conversion,
            self.delta if delta is None else delta,
            bound or self.bound,
            loss or self.loss,
        )
        if asked not in self._answers:
            self._answers[asked] = certify(trace, asked[0], delta=asked[1], bound=asked[2], loss=asked[3])
        found: Certificate = self._answers[asked]
        return found

    def model(self, conversion: str | None = None, *, how: str = "combine") -> LinearModel | VotedModel:
        """The model of a conversion: its weighted average (`combine`) or its members' weighted majority (`vote`)."""
        if how not in ("combine", "vote"):
            raise ValueError(f"how: 'combine' or 'vote' expected, got {how!r}")
        trace = self._trace()
        if not trace.rounds:
            if self.radius == "auto" and self.rows:
                raise ConversionError(
                    f"radius='auto' measures the first {AUTO_ROWS} rows and learns from the others, but there were "
                    f"only {self.rows}: give radius a number"
                )
            raise ConversionError("no row has been learned yet")
        if self.notes and not self._warned:
            self._warned = True
            warnings.warn(self.notes[0], UserWarning, stacklevel=2)
        certificate = self._certificate(trace, conversion)
        flip = -1.0 if self.classes != self._labels.classes else 1.0
        value = certificate.k or 0
        if certificate.conversion in trace.frozen:
            if how == "vote":
                raise ConversionError(f"{certificate.conversion} deploys one candidate: there is nothing to vote on")
            frozen = trace.frozen[certificate.conversion]
            weights = frozen.weights[frozen.number.tolist().index(value)]
            return LinearModel(flip * weights, self.classes, self._bias, self._R, self._about(certificate))
        q = conversions.weights(trace, certificate.conversion, value)
        if how == "combine":
            return LinearModel(flip * combine(trace, q), self.classes, self._bias, self._R, self._about(certificate))
        if trace.origin is not None:
            raise ConversionError("vote: not offered for a pass that started from an origin; use how='combine'")
        log = trace.need_log("vote")
        return VotedModel(log._replace(a=flip * log.a), q, len(trace.last) - 1, self.classes, self._bias, self._R)

    def _about(self, certificate: Certificate) -> dict[str, Any]:
        """What a model file says of where the model comes from: plain values, and no clock."""
        options = {name: getattr(self, name) for name in _OPTIONS}
        told = {"rows": self.rows, "rounds": self.rounds, "updates": self._updates, "mistakes": self.mistakes}
        return {"learner": repr(self.learner), "options": options, **told, "certificate": certificate.as_dict()}

    def regret(self, X: Any, y: Any, comparator: Any = None) -> Regret:
        """The regret on all the rows of the pass, fed again for their labels: see onepass.regret."""
        rows = accept(X)
        _, codes = self._labels.encode(y, count(rows))
        _, canonical = survey(rows, len(self._weights) - 1)
        ready = block(rows, 0, count(rows), canonical)
        return regret(self._trace(), onto_ball(ready, self._R) if self._R is not None else ready, codes, comparator)

    # --- state --------------------------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, Any]:
        """What the pass was made with, in plain values: two passes with the same options can share a state."""
        plain = {name: getattr(self, name) for name in _OPTIONS}
        classes = list(self._labels.classes) if self._labels.declared else None
        origin = None if self._origin is None else sha256(self._origin.tobytes())
        return {
            "learner": repr(self.learner),
            "classes": classes,
            "origin": origin,
            "elapsed": self._elapsed,
            **plain,
        }

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """All that changes while rows are fed, as a copy that `restore` takes.

        Not copied, it shares arrays with the pass: store it before the next row.
        """
        self._enter_tally()
        self._recall_single()
        kept = {name: getattr(self, name) for name in _CHANGING}
        state = {**kept, "_log": self._log.cut(), "_columns": self._columns}
        return copy.deepcopy(state) if copied else state

    def _mark(self) -> dict[str, Any]:
        """A state to go back to as long as nothing is folded: of the log, which only grows, its end."""
        kept = copy.deepcopy({name: getattr(self, name) for name in _CHANGING})
        return {**kept, "_log": self._log._replace(cursor=self._log.cursor.copy())}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken, in a pass with the same options."""
        for name, value in copy.deepcopy(state).items():
            setattr(self, name, value)
        self._answers, self._single = {}, []
        self._take_room(self._weights)
        self._rule = self.learner.rule(self._setting)

    def without_rows(self) -> Pass:
        """This pass with its update rows folded into columns, to be stored; with its rows, where columns have no room.

        It shares arrays with this one: store it or let it go before the next row.
        """
        if self._lazy is not None:
            return self
        self._enter_tally()  # now, or both would enter the same updates into the tally that they share
        twin = copy.copy(self)
        twin._log, twin._answers = self._log.cut(), {}
        try:
            twin._compact()
        except LimitError:
            return self
        twin._log = empty_log()
        return twin


_OPTIONS = (  # what it takes, beside learner and classes, to make the pass
    "conversion",
    "cutoffs",
    "bound",
    "delta",
    "loss",
    "radius",
    "horizon",
    "fit_intercept",
    "n_features",
    "max_features",
    "max_trace_memory",
    "penalised",
    "validation_fraction",
    "stop_at",
    "order_alarm",
    "repeat_alarm",
    "seed",
)

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
    "_order",
    "_repeats",
    "_void",
    "_assumed",
    "_watched",
)


def _values(rows: AnyRows) -> int:
    return rows.values.size if isinstance(rows, Dense) else int(rows.indptr[-1] - rows.indptr[0])


def held_out(seed: int, start: int, rows: int, fraction: float) -> Any:
    """Which of rows start, start+1, … are kept out: by a hash of (seed, row), which no cutting of the stream changes.

    The hash is splitmix64: every bit of the row's number reaches every bit of the result.
    """
    if fraction == 0.0:
        return np.zeros(rows, dtype=bool)
    with np.errstate(over="ignore"):
        z = np.arange(start, start + rows, dtype=np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return z < np.uint64(int(fraction * 2**64))


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _check_count(name: str, value: Any, least: int) -> None:
    if value is not None and not (_is_number(value) and value == int(value) and value >= least):
        raise ValueError(f"{name}: a whole number of at least {least} expected, got {value!r}")


def _sortable(label: Label) -> tuple[bool, Any]:
    return isinstance(label, str), label
