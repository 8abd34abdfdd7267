"""Pass: the one mutable thing of the house, and a thin one: it holds parts, hands them rows and asks them.

`intake` takes rows in, `scaling` brings them onto the ball, `start` says where the run begins, `learner_run` learns and
keeps the record, `observers` look at rows beside it: models that were frozen on the way, and guards that look for signs
that the rows are no independent draws. Each part has its own state and its own check of it. Whatever way a stream is
cut into `feed` calls, the same bits come out.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

from onepass.agreement import frame_of, setting_of, terms_of
from onepass.answers import Answers
from onepass.background import Background
from onepass.caveats import Caveats
from onepass.certificates import Certificate, certified_loss
from onepass.certified import Certified, Question
from onepass.conversions import conversion_named
from onepass.deployment import deployed_model
from onepass.errors import ConversionError, DataError, LimitError, StoppedError, label_text
from onepass.guards import Guards
from onepass.heldout import held_out, stretch_end
from onepass.intake import Batch, Intake
from onepass.labels import DECLARE, Label, Labels, sortable
from onepass.learners import Setting, has_own_rate
from onepass.looks import last_look, next_look
from onepass.models import LinearModel
from onepass.observers import Observers
from onepass.options import OPTIONS, Options
from onepass.outputs import outputs_of
from onepass.pass_trace import detached, trace_of
from onepass.regimes import Regimes
from onepass.regret_bound import Regret, regret
from onepass.rows import AnyRows, Dense, Floats, Ints, Rows, part, take
from onepass.runs import RENEW, LearnerRun, UnsoundError, begin
from onepass.runs.run import values_in
from onepass.scaling import AUTO_ROWS, RowScaling
from onepass.state_checks import is_count, need, need_fields
from onepass.trace import Trace
from onepass.voted import VotedModel
from onepass.warm_start import WarmStart
from onepass.watching import WatchedModels, next_freezing

THREADED = 1 << 16  # values of a batch from which on guards and watched models look at it beside the learner


class Way(NamedTuple):
    """How rows are learned."""

    columns: int | None  # more of them in a row make it unsound
    checked: bool  # whether somebody has looked at their content
    marked: bool  # whether all can be put back, guards included


CHECKED = Way(None, checked=True, marked=False)


class Pass(Options, Certified):
    """One pass over rows, fed in any pieces: `feed`, then `model`, `certificate`, `trace`, at any time.

    Parameters
    ----------
    learner : learner, class, str or None, default None
        A learner, its class or its name ("perceptron", "margin", "pa", …). None: Adaptive.
    classes : sequence or None, default None
        All labels; None: those met, at most max_classes. A class that joins starts with weights of 0, its first row is
        a mistake, and no model frozen before says it.
    conversion : str, default "frozen"
        How the hypotheses become one model, unless told otherwise: "frozen" (a model that was watched on later rows,
        and is certified itself), "average", "cutoff", "last", "longest", "suffix", "validation".
    cutoffs : str, default "grid"
        "grid", or "all": the cutoffs among which "cutoff" chooses.
    bound : str, default "betting"
        "betting" or "dekel2008", the theorem.
    delta : float, default 0.05
        The certificate fails with at most this probability.
    loss : str or None, default None
        "zero_one" or "hinge". None: what the learner and the conversion have.
    radius : float, "auto" or None, default None
        R: rows outside the ball are scaled onto it; "auto": the largest norm in the first 1000 rows, which are read
        and not counted. None: no scaling, and no certificate in hinge loss.
    horizon : int or None, default None
        The number of rows, if known beforehand: it sets the rate of the margin-based Perceptron.
    fit_intercept : bool, default True
        Whether a constant feature 1 is appended (after scaling).
    n_features : int or None, default None
        The width, if it is fixed.
    max_features : int, default 2**24
        How far the width may grow.
    max_classes : int, default MOST
        How many labels may be met, where classes are not declared.
    max_trace_memory : int, default 256 MB
        Bytes of updates kept before they are folded into one vector per cutoff; those of Adaptive are let go at 32 MB
        where the declared conversion does without them.
    max_watch_memory : int, default 256 MB
        Bytes that the weights of watched models may take: eight of them, or fewer.
    watch : bool or None, default None
        Whether models are frozen and watched; None: if the conversion is "frozen".
    expected_rows : int or None, default None
        How many rows are expected, if that is known beforehand: it sets prices of the conversion "frozen" and nothing
        else, and need not be true.
    positive : label or None, default None
        The class that misses and false alarms speak of. None: the second in sorted order.
    cost : dict or None, default None
        {(label, prediction): cost}: certify the mean cost in place of the share of mistakes.
    max_false_alarm, max_miss, min_precision : float or None, default None
        A target for the threshold of the model, kept with probability 1 − delta; one of them.
    validation_fraction : float, default 0.0
        Share of the rows kept out of the pass, for the conversion "validation".
    stop_at : float or None, default None
        Stop as soon as the certificate is at most this, and two labels have been met.
    order_alarm : bool, default True
        Whether to withhold certificates when labels come in an order that no i.i.d. draw would show.
    repeat_alarm : bool, default True
        Whether to withhold certificates when a block of 100 rows or more comes a second time, and to tell the share of
        rows that equal an earlier one.
    on_drift : str, default "withhold"
        What to do when rows are seen to drift: "withhold" certificates, "restart" them from there (each start with its
        own share of delta; the learner goes on), or "ignore" it and only tell.
    seed : int, default 0
        Chooses the rows kept out, and breaks ties where drift is tested.
    origin : array or None, default None
        Weights (1 + features, outputs), intercept first, to start from in place of 0: a model that depends on earlier
        rows only, so that certificates hold all the same.
    elapsed : int, default 0
        Rounds that went into the origin: a falling learning rate goes on from there.
    uncounted_rows : int, default 0
        The first rows, so many, are learned and counted by no certificate, since something was decided by looking at
        them: what they leave is where the counting run starts.

    Raises
    ------
    ValueError, TypeError
        If an option cannot be so.
    ConversionError
        If options do not go together.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> run = Pass("perceptron")
    >>> run.feed(X, np.where(X[:, 0] > 0, "up", "down"))
    >>> run.rounds, run.model().predict([[3.0, 0, 0, 0, 0], [-3.0, 0, 0, 0, 0]]).tolist()
    (2000, ['up', 'down'])
    >>> run.certificate().covers
    'model'
    >>> run
    <Pass of Perceptron(), frozen: 2,000 rounds, 116 mistakes>
    """

    def __post_init__(self, classes: Any, origin: Any) -> None:
        super().__post_init__(classes, origin)
        self.rows = 0  # rows read
        self.rounds = 0  # rows learned from
        self.stopped = False
        if classes is None and self.cost is not None:
            classes = sorted({label for label, _, _ in self.cost}, key=sortable)
        self.intake = Intake(classes, self.n_features, self.widest, self.max_classes)
        labels = self.intake.labels
        if labels.declared:
            self._must_be_meant(labels)
        if labels.count > 2 and not self.learner.several:
            raise ValueError(f"classes: {type(self.learner).__name__} learns two classes, got {labels.count}")
        self.scaling = RowScaling(self.radius)
        self.start = self._starting(origin)
        self._background = Background()
        self.observers = Observers(self, labels, self._background)
        self.learner_run = self._begun_run()
        self.learner_run.declare(self._setting)
        self._caveats, self._answers, self._warned = Caveats(), Answers(), False
        self.observers.must_fit(self.n_features or 0)
        self._widen(self.n_features or 0)
        certified_loss(self._trace(), self.conversion, self.loss)

    def _starting(self, origin: Any) -> WarmStart:
        """From where the run begins; radius="auto" itself measures more rows than others would not count."""
        uncounted = 0 if self.scaling.auto else self.uncounted_rows
        outputs, own_rate = self._outputs, has_own_rate(self.learner.rule(self._setting))
        start = WarmStart(self.learner, origin, outputs, self.widest, self.elapsed, uncounted, own_rate=own_rate)
        start.measured = AUTO_ROWS if self.scaling.auto else 0
        return start

    def _begun_run(self) -> LearnerRun:
        """The learner at work, from where the present regime begins."""
        frame = frame_of(self, self.intake.labels, self.start.elapsed)
        return begin(self.learner, frame, self._background, self.start.origin)

    def __repr__(self) -> str:
        return f"<Pass of {self.learner!r}, {self.conversion}: {self.rounds:,} rounds, {self.mistakes:,} mistakes>"

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two passes that write into one log would write past its end

    # --- what it was made with ----------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, Any]:
        """What the pass was made with, in plain values: two passes with the same options can share a state."""
        plain = {name: getattr(self, name) for name in OPTIONS}
        labels = self.intake.labels
        return {
            "learner": repr(self.learner),
            "classes": list(labels.classes) if labels.declared else None,
            "origin": self.start.digest,
            "elapsed": self.elapsed,
            **plain,
        }

    @property
    def origin(self) -> Floats | None:
        """A copy of the weights that the pass started from; None: from 0."""
        weights = self.start.weights
        return None if weights is None else weights.copy()

    @property
    def _outputs(self) -> int:
        return outputs_of(self.intake.labels.count)

    @property
    def _setting(self) -> Setting:
        return setting_of(self, self.intake.labels, self.scaling.radius)

    # --- what it has come to ------------------------------------------------------------------------------------------

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels: as declared, or those met, sorted."""
        labels = self.intake.labels
        return labels.classes if labels.declared else tuple(sorted(labels.classes, key=sortable))

    @property
    def width(self) -> int:
        """Features met, or declared."""
        return self.learner_run.width

    @property
    def scaled_onto(self) -> float | None:
        """The radius that rows are scaled onto: as declared, or as radius="auto" has found it; None: no scaling."""
        return self.scaling.radius

    @property
    def look(self) -> int | None:
        """The round that `model()` looked back to for its choice; None: it may be another after every row."""
        settled = conversion_named(self.conversion).watched and self.target is None and self.loss != "hinge"
        return last_look(self.rounds) if settled else None

    @property
    def guards(self) -> Guards:
        """What looks for signs that the rows are no independent draws."""
        return self.observers.guards

    @property
    def watched(self) -> WatchedModels | None:
        """The models that were frozen and are judged on later rows; None: none are."""
        return self.observers.watched

    @property
    def regimes(self) -> Regimes:
        """Stretches of the stream that a drift has ended."""
        return self.start.regimes

    @property
    def mistakes(self) -> int:
        """Mistakes made on the way."""
        self.learner_run.enter_tally()
        return int(self.learner_run.ledger.tally.mistakes.sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the learner fares; `model` says it once, as a warning."""
        return self.learner_run.notes(self.rounds)

    @property
    def delta_share(self) -> float:
        """What certificates given now have of the declared δ: all, or with on_drift="restart" this start's share."""
        return self.regimes.share if self.on_drift == "restart" else 1.0

    def withhold(self, reason: str) -> None:
        """Give no certificate from now on: something that it assumes is known to be false."""
        self._caveats.withhold(reason)

    def doubts(self) -> tuple[str, ...]:
        """Why the rows that were fed are no independent draws, if that shows; rows are numbered as they were fed."""
        return self.guards.reasons(self.regimes.first - 1, self.start.untested)

    def assume(self, text: str) -> None:
        """Say one more thing in every certificate's list of assumptions."""
        self._caveats.assume(text)

    # --- rows in ------------------------------------------------------------------------------------------------------

    def feed(self, X: Any, y: Any) -> None:
        """Learn from these rows, in this order. All of them are checked before the first is learned."""
        self.stopped = self.stopped and self.stop_at is not None
        if self.stopped:
            raise StoppedError(f"the certificate has reached stop_at={self.stop_at}; set stop_at to None to go on")
        batch, run = self.intake.take(X, y), self.learner_run
        joins = len(batch.labels.classes) > self.intake.labels.count
        if joins:
            self._must_stay_two(batch)
        self._must_be_meant(batch.labels)
        with self._background.running(self._pays_for_thread(X, batch)), run.rates_of(self.rounds, len(batch.y)):
            if joins:
                self._learn_joining(batch)
            elif not self._learn_unchecked(batch):
                self._learn_checked(self.intake.check(batch))

    def _pays_for_thread(self, X: Any, batch: Batch) -> bool:
        """Whether what looks at the rows should do so beside the learner.

        Rows that come as kernels want them come from readers, races and workers, which have the other cores parse.
        """
        several, ready = len(batch.spans) > 1, isinstance(X, (Rows, Dense))
        return several or (values_in(batch.rows) >= THREADED and not ready)

    def check(self, X: Any, y: Any) -> None:
        """Raise what `feed` would raise for what these rows hold, and learn nothing: for who feeds them in parts."""
        batch = self.intake.check(self.intake.take(X, y))
        if len(batch.labels.classes) > self.intake.labels.count:
            self._must_stay_two(batch)
        self._must_be_meant(batch.labels)

    def _must_stay_two(self, batch: Batch) -> None:
        """Raise, by its row, for a third class where only two can be meant."""
        if self.target is None and self.positive is None:
            return
        known = self.intake.labels
        what = "positive: one of two classes is meant" if self.target is None else f"a {self.target}"
        what += "" if self.target is None else ": a threshold cuts the scores of two classes"
        raise DataError(
            f"{what}, and here is a third: {label_text(batch.labels.classes[known.count])!r}",
            argument="y",
            row=batch.labels.joining(known, batch.y)[0],
            remedy="leave out rows of other classes",
        )

    def _learn_joining(self, batch: Batch) -> None:
        """Learn rows among which classes join: those before, then, with one class more, on from its first row."""
        known = self.intake.labels
        self._must_join(batch.labels.joining(known, batch.y)[0])
        batch, before = self.intake.check(batch), self.state()
        try:
            for stage in batch.stages(known):
                if self.stopped:
                    break
                if stage.labels.count > self.intake.labels.count:
                    self._join(stage.labels)
                self._learn_checked(stage)
        except (LimitError, DataError):
            self._background.abandon()
            self._restore(before)
            raise

    def _must_join(self, row: int) -> None:
        """Raise unless a class may join with this row of a batch."""
        if not self.learner.several:
            why = f"{type(self.learner).__name__} learns two classes"
        elif self.learner_run.loss_bound is not None:
            why = "a certificate in hinge loss must know all classes beforehand"
        elif self.observers.candidates is not None:
            why = "models judged on rows kept out must know all classes beforehand"
        else:
            return
        message = f"a label after the first {self.intake.labels.count}, and {why}"
        raise DataError(message, argument="y", row=row, remedy=DECLARE if self.learner.several else None)

    def _join(self, labels: Labels) -> None:
        """A class joins with the next row: every part makes room for it."""
        self._background.join()
        self.observers.must_fit(self.width, labels.count)
        self.learner_run.join(outputs_of(labels.count))
        self.observers.join(labels, self.rounds)
        self.intake.labels = labels
        self.start.join(self._outputs)
        self.learner_run.agree(self._setting)
        self._answers.forget()

    def feed_one(self, X: Any, y: Any) -> bool:
        """Feed one row without the cost of looking at it in general; False, and nothing done, if it is no such case.

        One dense float64 row of the declared width with one declared label: everything else goes by `feed`.
        """
        run = self.learner_run
        general = self.stopped or self.scaling.auto or not self.start.counting or has_own_rate(run.rule)
        row = None if general else self.intake.one_row(X, y)
        if row is None or run.may_refuse(row[0], run.width, self.rounds):
            return False
        self._learn_piece(*row, CHECKED)
        return True

    def _learn_checked(self, batch: Batch) -> None:
        """Learn rows whose content was looked at."""
        if self.rounds + len(batch.y) >= next_freezing(self.rounds):
            self.observers.must_fit(max(batch.width, self.width))
        refusable = self.learner_run.may_refuse(batch.rows, batch.width, self.rounds)
        before = self.state() if refusable or self.scaling.measuring or not self.start.counting else None
        self._widen(batch.width)
        try:
            self._learn_pieces(batch, CHECKED)
            self._background.join()
        except (LimitError, DataError):
            self._background.abandon()
            if before is not None:
                self._restore(before)
            raise

    def _learn_unchecked(self, batch: Batch) -> bool:
        """Learn rows and let the kernel check them on the way, which spares reading them twice.

        If one is bad, all is put back. False, and nothing done, if so, or if this is no such case: then a look at the
        rows says what is wrong.
        """
        run = self.learner_run
        several = len(batch.spans) > 1 or (self._background.active and not self.rows)  # at first little is to be kept
        plain = self.radius is None and self.stop_at is None and self.start.counting and self.on_drift != "restart"
        plain = plain and self.observers.candidates is None and not has_own_rate(run.rule)
        if not plain or not (several or self.rounds + len(batch.y) < self._next_border()):
            return False
        before = run.mark(batch.rows, batch.columns, several)
        if before is None:
            return False
        own = self._own_state()
        seen = self.observers.mark() if several else None
        try:
            self._learn_pieces(batch, Way(batch.columns, checked=False, marked=several))
            run.fold_if_due()
            self._background.join()
        except (UnsoundError, LimitError, DataError) as error:
            self._background.abandon()
            run.rewind(before)
            self._restore_own(own)
            if seen is not None:  # of one piece they are shown the rows once these are learned
                self.observers.rewind(seen)
            if not isinstance(error, UnsoundError):
                raise
            return False
        return True

    def _learn_pieces(self, batch: Batch, way: Way) -> None:
        """Learn the batch, piece by piece."""
        self.intake.adopt(batch)
        if len(batch.spans) > 1:
            self.learner_run.expect(batch.rows)
        for first, last in batch.spans:
            if not self.stopped:
                self._learn_piece(batch.piece(first, last), batch.y[first:last], way)
                self._background.start()

    def _learn_piece(self, rows: AnyRows, y: Ints, way: Way) -> None:
        """Rows as they come, in stretches that end where something happens between two rows."""
        if self.scaling.measuring:
            first = min(len(y), AUTO_ROWS - self.rows)
            self._measure(part(rows, 0, first), y[:first])
            rows, y = part(rows, first, len(y)), y[first:]
        fed, rows = rows, self.scaling.scale(rows)
        if not self.start.counting:
            first = min(len(y), self.uncounted_rows - self.rows)
            self._prepare(part(rows, 0, first), part(fed, 0, first), y[:first], way)
            rows, fed, y = part(rows, first, len(y)), part(fed, first, len(y)), y[first:]
            if len(y):
                self._begin_counting()
        fraction = self.validation_fraction
        held = held_out(self.seed, self.rows, len(y), fraction) if fraction else None
        done = 0
        while done < len(y) and not self.stopped:
            ahead = self._next_border() - self.rounds
            stop = min(len(y), done + ahead) if held is None else stretch_end(held, done, ahead)
            stretch, labels = _slice(rows, y, done, stop)
            if held is not None:
                out = held[done:stop]
                self.observers.validate(take(stretch, out), labels[out], self.learner_run)
                stretch, labels = take(stretch, ~out), labels[~out]
            before = self._background.active and (way.checked or way.marked)  # the guards need not wait for the learner
            if before:
                self._observe(*_slice(fed, y, done, stop))
            self._learn_stretch(stretch, labels, way)
            if not before:
                self._observe(*_slice(fed, y, done, stop))
            if len(labels):
                self._between(self.rounds)
            done = stop

    def _learn_stretch(self, rows: AnyRows, y: Ints, way: Way) -> None:
        """Learn rows up to the next border; models that are watched judge them beside that, once rows were checked."""
        if not len(y):
            return
        if way.checked:
            self.observers.watch(rows, y, self.rounds, self.learner_run)
        self._background.start()
        self.learner_run.learn(rows, y, self.rounds, way.columns)
        if not way.checked:
            self.observers.watch(rows, y, self.rounds, self.learner_run)
        self.rounds += len(y)
        if self.learner.tracks_norm and self.rounds % RENEW == 0:
            self.learner_run.settle_norm()

    def _observe(self, rows: AnyRows, y: Ints) -> None:
        """Show the guards the rows as they were fed, beside the learning."""
        self.rows += len(y)
        self.observers.observe(rows, y)

    def _measure(self, rows: AnyRows, y: Ints) -> None:
        """radius="auto": the first rows only tell how long rows are."""
        self.scaling.measure(rows)
        self._observe(rows, y)
        if self.rows >= AUTO_ROWS:
            self.scaling.settle()
            self.learner_run.declare(self._setting)

    def _prepare(self, rows: AnyRows, fed: AnyRows, y: Ints, way: Way) -> None:
        """Learn rows that no certificate counts."""
        if len(y):
            self.learner_run.learn(rows, y, self.rounds, way.columns)
            self.rounds += len(y)
            self._observe(fed, y)
        self._answers.forget()

    def _begin_counting(self) -> None:
        """With the row after them the counting run starts from what they left; without one, they are all there is."""
        self._background.join()
        self.start.count_from(self.learner_run.carried())
        self._begin(self.learner_run.width)

    def _begin(self, width: int) -> None:
        """A run of so many features begins, and is counted."""
        self.learner_run, self.rounds = self._begun_run(), 0
        self.learner_run.declare(self._setting)
        self._answers.forget()
        self._widen(width)

    def _widen(self, width: int) -> None:
        self.learner_run.widen(width)
        self.observers.widen(self.learner_run.width)

    # --- between rows -------------------------------------------------------------------------------------------------

    def _next_border(self) -> int:
        """The next round at which something happens between two rows; fixed by the round alone."""
        border = self.observers.next_freezing(self.rounds)
        if self.stop_at is not None or self.on_drift == "restart":
            border = min(border, next_look(self.rounds))
        if self.learner.tracks_norm:
            border = min(border, (self.rounds // RENEW + 1) * RENEW)
        return border

    def _between(self, t: int) -> None:
        """Freeze candidates and look at the certificate, each at its rounds."""
        if self.observers.freeze(t, self.learner_run, lambda: self._trace().last):
            self._answers.forget()
        if self.stop_at is not None and next_look(t - 1) == t:
            self._background.join()
            certificate = self._answer(self._question())
            fine = certificate.withheld is None and certificate.risk <= self.stop_at
            self.stopped = fine and not self.guards.one_label_only
        if self.on_drift == "restart" and next_look(t - 1) == t and not self.stopped:
            self._background.join()
            found = self.guards.drifted_after(self.start.untested)
            if found is not None and found.alarm:
                self.start.restart(self.rows, t, self.mistakes, found, self.learner_run.carried())
                self.guards.restart()
                self._begin_regime()

    def _begin_regime(self) -> None:
        """All that is counted begins anew, and the learner goes on from what it has come to."""
        self.start.begin(self._outputs)
        self.observers.begin(self, self.intake.labels)
        self._begin(self.learner_run.width)

    # --- what it leaves behind ----------------------------------------------------------------------------------------

    def trace(self) -> Trace:
        """What the pass has left behind so far: a value that later feeding does not change."""
        self._must_be_sound()
        return detached(self._trace(), self.learner_run, self.observers)

    def _trace(self) -> Trace:
        """The trace, sharing arrays with the pass: for use before the next row."""
        void = tuple(dict.fromkeys((*self._caveats.void, *self.start.reasons(self.rows), *self.doubts())))
        assumed = (*self._caveats.assumed, *self.regimes.words)
        now = (self.rows, self.rounds, void, assumed)
        return self._answers.trace(now, partial(self._new_trace, void, assumed))

    def _new_trace(self, void: tuple[str, ...], assumed: tuple[str, ...]) -> Trace:
        run = self.learner_run
        terms = terms_of(self, self.intake.labels, self._setting, run.loss_bound)
        return trace_of(terms, run, self.observers, self.start, self.rounds, void, assumed)

    def _must_be_sound(self) -> None:
        self._answers.must_be_sound(self._trace())

    def _answer(self, question: Question) -> Certificate:
        """The certificate of the trace as it is now, made once for each question."""
        return self._answers.certificate(self._trace(), question, self._question())

    def _evidence_now(self) -> Trace:
        return self._trace()

    def _must_have_learned(self) -> None:
        if not self.rounds and self.scaling.auto and self.rows:
            raise ConversionError(
                f"radius='auto' measures the first {AUTO_ROWS} rows and learns from the others, but there were "
                f"only {self.rows}: give radius a number"
            )
        super()._must_have_learned()

    def _deploy(self, certificate: Certificate, how: str) -> LinearModel | VotedModel:
        """The model that a certificate of the trace as it is now speaks of."""
        if self.notes and not self._warned:
            self._warned = True
            warnings.warn(self.notes[0], UserWarning, stacklevel=3)
        certificate = replace(certificate, deployed=True)
        about = partial(self._about, certificate)
        return deployed_model(self._trace(), certificate, how, self.classes, self.scaled_onto, about)

    def _about(self, certificate: Certificate) -> dict[str, Any]:
        """What a model file says of where the model comes from: plain values, and no clock."""
        return {
            "learner": repr(self.learner),
            "classes": self.options["classes"],  # None: not declared, and numbered as they came
            "options": {name: getattr(self, name) for name in OPTIONS},
            "rows": self.rows,
            "rounds": self.rounds,
            "updates": self.learner_run.ledger.updates,
            "mistakes": self.mistakes,
            "certificate": certificate.as_dict(),
            **({"regimes": self.regimes.as_list()} if self.regimes.ended else {}),
        }

    def regret(self, X: Any, y: Any, comparator: Any = None) -> Regret:
        """The regret on all the rows of the pass, fed again for their labels: see onepass.regret_bound."""
        batch = self.intake.check(self.intake.take(X, y))
        rows = self.scaling.scale(batch.piece(0, len(batch.y)))
        return regret(self._trace(), rows, batch.y, comparator)

    # --- its state ----------------------------------------------------------------------------------------------------

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """All that changes while rows are fed, as a copy that `restore` takes.

        Not copied, it shares arrays with the pass: store it before the next row.
        """
        parts = self.start.state() | self.observers.state()
        state = self._own_state() | parts | {"learner": self.learner_run.state()}
        return copy.deepcopy(state) if copied else state

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken, in a pass with the same options."""
        self._restore(copy.deepcopy(state))

    def check_state(self, state: Any) -> None:
        """Raise CheckpointError unless the state is one that a pass with these options can have."""
        need_fields(state, self.state(copied=False), "other fields than this version has")
        for name in ("rows", "rounds"):
            need(is_count(state[name]), name)
        rounds = state["rounds"]
        need(rounds <= state["rows"], "rounds")
        need(type(state["stopped"]) is bool, "stopped")
        self._caveats.check_state(state)
        labels = self.intake.labels_of(state["intake"])
        if labels.count != self.intake.labels.count:  # its parts are those of so many classes
            self._of_labels(labels).check_state(state)
            return
        self.start.check_state(state, state["rows"], self._outputs, self.on_drift == "restart")
        if len(state["regimes"]["ended"]) != len(self.regimes.ended):  # its parts are those of a later regime
            later = copy.deepcopy(self)
            later._adopt_start(copy.deepcopy(state))
            later.check_state(state)
            return
        self.scaling.check_state(state["scaling"])
        width = self.learner_run.check_state(state["learner"], rounds)
        self.intake.check_state(state["intake"], width)
        self.observers.check_state(state, rounds, (1 + width, self._outputs))

    def _own_state(self) -> dict[str, Any]:
        """The part of the state that is no arrays: values that nothing changes in place."""
        return {
            "rows": self.rows,
            "rounds": self.rounds,
            "stopped": self.stopped,
            "intake": self.intake.state(),
            "scaling": self.scaling.state(),
            **self._caveats.state(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that nobody else holds."""
        self._adopt_start(state)
        self._restore_own(state)
        self.observers.restore(state)
        self.learner_run.restore(state["learner"])
        self.learner_run.agree(self._setting)

    def _adopt_start(self, state: dict[str, Any]) -> None:
        """Begin where the run of the state began: with its classes, after rows that are not counted, after a drift."""
        labels = state["intake"]["labels"]
        alike = labels.count == self.intake.labels.count
        if alike and self.start.began_alike(state):
            return
        self.start.restore(state)
        if not alike:
            self.intake.labels = labels
            self.observers.meet(self, labels)
        self._begin_regime()

    def _of_labels(self, labels: Labels) -> Self:
        """A pass with the same options that has met these labels, and no row."""
        twin = copy.deepcopy(self)
        twin.intake.labels = labels
        twin.observers.meet(twin, labels)
        twin.start.forget()
        twin._begin_regime()
        return twin

    def _restore_own(self, state: dict[str, Any]) -> None:
        self.rows, self.rounds, self.stopped = state["rows"], state["rounds"], state["stopped"]
        self._caveats.restore(state)
        self.intake.restore(state["intake"])
        self.scaling.restore(state["scaling"])
        self._answers.forget()

    def without_rows(self) -> Pass:
        """This pass with its update rows folded into columns, to be stored; with its rows, where columns have no room.

        It shares arrays with this one: store it or let it go before the next row.
        """
        try:
            folded = self.learner_run.compacted()
        except LimitError:
            return self
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin.learner_run, twin._answers = folded, Answers()
        return twin


def _slice(rows: AnyRows, y: Ints, first: int, last: int) -> tuple[AnyRows, Ints]:
    """Rows first..last with their labels; as they are, if these are all."""
    return (rows, y) if last - first == len(y) else (part(rows, first, last), y[first:last])
