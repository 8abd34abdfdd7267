"""How rows reach the learner: checked, scaled, kept out or learned, in stretches that end where something happens."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from onepass.errors import DataError, LimitError, StoppedError
from onepass.holding import Holding
from onepass.intake import accept, block, blocks, stated_columns, survey, writable
from onepass.labels import Labels
from onepass.learners import has_own_rate, rate_table
from onepass.looks import next_look
from onepass.loop import head_of
from onepass.rows import LARGEST, AnyRows, Dense, Ints, Rows, count, onto_ball, part, squared_norms, take
from onepass.runs import RENEW, LinearRun, UnsoundError, no_check, values_in
from onepass.splitmix import GOLDEN, finalize
from onepass.structure import refuse_masked

AUTO_ROWS = 1000  # rows that radius="auto" reads and does not count
ROOM = 1 << 16  # weights of features that may be met: room that is not used costs nothing

Spans = list[tuple[int, int]]


class Feeding(Holding):
    """A pass as far as it is fed; what it makes of its trace between two rows is for `_between` to say."""

    def feed(self, X: Any, y: Any) -> None:
        """Learn from these rows, in this order. All of them are checked before the first is learned."""
        self.stopped = self.stopped and self.stop_at is not None
        if self.stopped:
            raise StoppedError(f"the certificate has reached stop_at={self.stop_at}; set stop_at to None to go on")
        rows = accept(X)
        refuse_masked(y, "y")
        spans = list(blocks(rows))
        with self._background.running(len(spans) > 1):
            self._stated = stated_columns(X)
            try:
                labels, codes = self._labels.encode(y, count(rows))
                if isinstance(rows, Dense) and rows.values.shape[1] != (expected := self._expected(rows)):
                    raise DataError(f"X: {rows.values.shape[1]} features, but {expected} are expected")
                if has_own_rate(self.learner_run.rule):
                    done = self.elapsed + self.rounds
                    self.learner_run.rates = rate_table(self.learner_run.rule, done + 1, done + count(rows))
                if not self._feed_unseen(rows, getattr(X, "shape", (0,))[-1], labels, codes, spans):
                    self._feed(rows, labels, codes, spans)
            finally:
                self.learner_run.rates = self._stated = None

    def _feed_unseen(self, rows: AnyRows, width: int, labels: Labels, codes: Ints, spans: Spans) -> bool:
        """Learn rows and check them on the way, which spares reading them twice; if one is bad, put all back.

        False, and nothing done, if so, or if this is no such case: then `_feed` says what is wrong or goes on.
        """
        if not self._plain or (isinstance(rows, Rows) and rows.indices.dtype != np.int32):
            return False
        if len(spans) < 2:
            return self._feed_at_once(rows, labels, codes)
        run = self.learner_run
        if not isinstance(run, LinearRun) or run.folded or not 0 < width <= (self.n_features or self.max_features):
            return False  # what is folded cannot be put back
        before = copy.deepcopy(self._small_state()) | {"learner": run.mark()}
        run.make_room(width)
        self._unseen, run.before_folding = rows, self._see
        try:
            self._feed_blocks(rows, labels, codes, spans, canonical=True)
        except UnsoundError:
            self._background.join()
            self._restore(before)
            return False
        finally:
            self._unseen, run.before_folding = None, no_check  # no cycle: a pass's arrays go when it goes
        return True

    def _feed_at_once(self, rows: AnyRows, labels: Labels, codes: Ints) -> bool:
        """The same for rows that a single call learns: only the weights need putting back.

        So it pays where they are fewer than the values: a batch of a few rows is looked at instead.
        """
        n, run = len(codes), self.learner_run
        if not isinstance(run, LinearRun) or run.weights.size > values_in(rows) or run.may_fold(rows):
            return False
        limit = self.n_features or self.max_features
        width = rows.values.shape[1] if isinstance(rows, Dense) else min(ROOM // self._outputs, limit)
        if width > limit or self.rounds + n >= self._next_border():
            return False
        run.make_room(width)
        ready = block(rows, 0, n)
        known, before = len(run.weights), (run.weights.copy(), run.step_state.copy(), run.log.cursor.copy())
        try:
            self._advance(ready, codes)
        except UnsoundError:
            run.weights[:], run.step_state[:], run.log.cursor[:] = before
            run.room[known:] = 0.0
            return False
        self._labels = labels
        if isinstance(rows, Dense):
            self._dense_width = rows.values.shape[1]
        self._observe(ready, codes)
        return True

    def _feed(self, rows: AnyRows, labels: Labels, codes: Ints, spans: Spans) -> None:
        """Learn rows after a look at all of them."""
        width, canonical = survey(rows, self.n_features or self.max_features, self._stated)
        measuring = self._R is None and self.radius == "auto"
        before = self.state() if measuring or self.learner_run.may_refuse(rows, width, self.rounds) else None
        self._widen(width)
        try:
            self._feed_blocks(rows, labels, codes, spans, canonical)
        except (LimitError, DataError):
            if before is not None:
                self.restore(before)
            raise

    def _feed_blocks(self, rows: AnyRows, labels: Labels, codes: Ints, spans: Spans, canonical: bool) -> None:
        self._labels = labels
        if isinstance(rows, Dense):
            self._dense_width = rows.values.shape[1]
        if isinstance(rows, Rows):
            rows = rows._replace(indptr=writable(rows.indptr, np.int64))  # once, and not for each block
        if len(spans) > 1 and isinstance(self.learner_run, LinearRun):
            self.learner_run.make_log_room(count(rows), values_in(rows))
        for first, last in spans:
            if self._unseen is not None:
                self._unseen = part(rows, first, count(rows))
            if not self.stopped:
                self._read(block(rows, first, last, canonical), codes[first:last])
                self._background.start()

    def _expected(self, rows: Dense) -> int:
        """The width that dense rows must have."""
        return self.n_features or self._dense_width or rows.values.shape[1]

    def feed_one(self, X: Any, y: Any) -> bool:
        """Feed one row without the cost of looking at it in general; False, and nothing done, if it is no such case.

        One dense float64 row of the declared width with one declared label: everything else goes by `feed`.
        """
        if not (type(X) is np.ndarray and X.dtype == np.float64 and X.shape == (1, self.n_features)):
            return False
        if not (isinstance(y, list) or (type(y) is np.ndarray and y.ndim == 1)) or len(y) != 1:
            return False
        if not (X.flags.c_contiguous and X.flags.writeable and self._plain) or self.stopped:
            return False
        label = y[0].item() if isinstance(y[0], np.generic) else y[0]
        code = self._codes.get(label) if isinstance(label, (str, int, float)) else None
        if (
            code is None
            or self.learner_run.may_refuse(Dense(X), self.width, self.rounds)
            or not np.abs(X).max() <= LARGEST
            or self._next_border() == self.rounds + 1
        ):
            return False
        self.guards.observe_one(X, code)
        self.rows += 1
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
            self._observe(part(fed, done, stop), y[done:stop])
            if len(labels):
                self._advance(stretch, labels)
            done = stop

    def _observe(self, rows: AnyRows, y: Ints) -> None:
        """Show the guards the rows as they were fed, beside the learning."""
        self.rows += len(y)
        self._background.submit(self.guards.observe, rows, y)

    def _measure(self, rows: AnyRows, y: Ints) -> None:
        """radius="auto": the first rows only tell how long rows are."""
        norms = np.zeros(len(y))
        squared_norms(rows, norms)
        self._longest_row = max(self._longest_row, math.sqrt(norms.max(initial=0.0)))
        self._observe(rows, y)
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
        self.learner_run.learn(rows, y, self.rounds, self._stated)
        self.rounds += len(y)
        t = self.rounds
        if self.learner.tracks_norm and t % RENEW == 0:
            self.learner_run.settle_norm()
        self._between(t)

    def _watch(self, kind: str, rows: AnyRows, y: Ints) -> None:
        if kind in self._watched and len(y):
            watched = self._watched[kind]
            heads = {number: head_of(weights, self._bias) for number, weights in watched.live.items()}
            watched.watch(heads, rows, y, self.learner_run.loss_bound or 0.0)

    def _between(self, t: int) -> None:
        """After round t, before the next."""


def held_out(seed: int, start: int, rows: int, fraction: float) -> Any:
    """Which of rows start, start+1, … are kept out: by a hash of (seed, row), which no cutting changes."""
    if fraction == 0.0:
        return np.zeros(rows, dtype=bool)
    with np.errstate(over="ignore"):
        z = np.arange(start, start + rows, dtype=np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        hashes = finalize((z + np.uint64(1)) * GOLDEN)
    return hashes < np.uint64(int(fraction * 2**64))
