"""Pass: the one mutable thing of the house, and a thin one: it holds parts, hands them rows and asks them.

`intake` takes rows in, `scaling` brings them onto the ball, `learner_run` learns them and keeps the record,
`candidates` are models that were frozen on the way, `guards` look for signs that the rows are no independent draws.
Each part has its own state and its own check of it. Whatever way a stream is cut into `feed` calls, the same bits come
out.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from onepass.background import Background
from onepass.candidates import FrozenCandidates
from onepass.certificates import Calibration, Certificate, Target, Threshold, calibrate, certified_loss, certify
from onepass.certificates.deployed import threshold_of
from onepass.certificates.rates import positive_of
from onepass.certificates.score_bins import ScoreHistogram
from onepass.certificates.score_bins import flip as flip_bins
from onepass.certified import Certified, Question
from onepass.conversions import conversion_named
from onepass.conversions.frozen import prices
from onepass.costs import Costs, costs_of
from onepass.errors import ConversionError, DataError, LimitError, StoppedError
from onepass.files import sha256
from onepass.guards import Guards
from onepass.guards.duplicates import Duplicates
from onepass.heldout import held_out, stretch_end
from onepass.intake import Batch, Intake
from onepass.labels import DECLARE, Label, Labels, sortable
from onepass.learners import Setting, has_own_rate
from onepass.looks import last_look, next_look
from onepass.models import LinearModel
from onepass.options import OPTIONS, Options
from onepass.outputs import NEVER, outputs_of, spread_if
from onepass.regimes import Regimes
from onepass.regret_bound import Regret, regret
from onepass.rows import AnyRows, Floats, Ints, must_be_finite, part, take
from onepass.runs import RENEW, Carried, Frame, LearnerRun, UnsoundError, begin
from onepass.runs.carrying import arrays_of
from onepass.scaling import AUTO_ROWS, RowScaling
from onepass.state_checks import is_count, need, need_fields
from onepass.trace import Hypotheses, Survivor, Terms, Trace, Updates
from onepass.trace.kinds import mistake_kinds
from onepass.trace.tally import Tally
from onepass.voted import VotedModel
from onepass.watching import WatchedModels, next_freezing
from onepass.watching.verdicts import Verdicts


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
        limit = self.n_features or self.max_features
        if classes is None and self.cost is not None:
            classes = sorted({label for label, _, _ in self.cost}, key=sortable)
        self.intake = Intake(classes, self.n_features, limit, self.max_classes)
        labels = self.intake.labels
        if labels.declared:
            self._must_be_meant(labels)
        if labels.count > 2 and not self.learner.several:
            raise ValueError(f"classes: {type(self.learner).__name__} learns two classes, got {labels.count}")
        self._declared = self._origin = None if origin is None else self._starting(origin)
        self._prepared: Floats | Carried | None = None  # what rows that are not counted have left
        self._background = Background()
        self.regimes = Regimes()
        self.learner_run = self._begun_run()
        self.scaling = RowScaling(self.radius)
        waits = self.uncounted_rows and self._starts_anywhere and not self.scaling.auto  # which measures more rows
        self.counting = not waits
        self.learner_run.declare(self._setting)
        self.guards = self._guarding()
        self.watched = self._watching() if self.watch else None
        self.candidates = FrozenCandidates() if self.validation_fraction > 0.0 else None
        self.verdicts: Verdicts | None = None  # of one watched model on the last rows, where somebody compares passes
        self._void: tuple[str, ...] = ()
        self._assumed: tuple[str, ...] = ()
        self._cache: dict[Any, Any] = {}  # the trace and the certificates asked for since the last row
        self._warned = False
        if self.watched is not None:
            self.watched.must_fit(self.n_features or 0)
        self._widen(self.n_features or 0)
        certified_loss(self._trace(), self.conversion, self.loss)

    def _begun_run(self) -> LearnerRun:
        """The learner at work, from where the present regime begins."""
        needs_log = self.cutoffs == "all" or conversion_named(self.conversion).from_log
        frame = Frame(
            self._outputs,
            self._bias,
            self.n_features,
            self.n_features or self.max_features,
            self.max_trace_memory,
            self._elapsed,
            needs_log,
            bool(self.watch),
            mistake_kinds(self.intake.labels.count, self._costs).table,
        )
        return begin(self.learner, frame, self._background, self._origin)

    def __repr__(self) -> str:
        return f"<Pass of {self.learner!r}, {self.conversion}: {self.rounds:,} rounds, {self.mistakes:,} mistakes>"

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two passes that write into one log would write past its end

    def _watching(self) -> WatchedModels:
        hinge, classes = self.loss == "hinge", self.intake.labels.count
        return WatchedModels(classes, self._bias, self.max_watch_memory, hinge=hinge, costs=self._costs)

    @property
    def _costs(self) -> Costs | None:
        return None if self.cost is None else costs_of(self.cost, self.intake.labels.classes)

    def _guarding(self) -> Guards:
        return Guards(
            self.intake.labels.count,
            order=self.order_alarm,
            repeats=self.repeat_alarm,
            drift=bool(self.watch),
            on_drift=self.on_drift,
            seed=self.seed,
        )

    # --- what it was made with ----------------------------------------------------------------------------------------

    def _starting(self, origin: Any) -> Floats | Carried:
        """The origin, checked, in an array of our own."""
        if not self.learner.keeps_rows:
            raise ConversionError(f"origin: {type(self.learner).__name__} starts at 0")
        if self.learner.deltas != isinstance(origin, Carried):
            raise ConversionError(
                f"origin: {type(self.learner).__name__} starts from "
                + ("what another run of it carried, or at 0" if self.learner.deltas else "weights")
            )
        given = [origin] if not isinstance(origin, Carried) else origin
        arrays = [np.array(array, dtype=np.float64, order="C") for array in given]
        weights = arrays[0]
        if weights.ndim != 2 or weights.shape[1] != self._outputs or not len(weights):
            raise ValueError(f"origin: weights (1 + features, {self._outputs}) expected, got shape {weights.shape}")
        if len(weights) - 1 > (self.n_features or self.max_features):
            raise ValueError(f"origin: {len(weights) - 1} features are more than the pass may have")
        if not all(np.isfinite(array).all() for array in arrays):
            raise ValueError("origin: finite numbers expected")
        if self.learner.bounded and np.linalg.norm(weights) > 1.0 + 1e-9:
            raise ValueError(f"origin: {type(self.learner).__name__} starts in the unit ball")
        return Carried._make(arrays) if self.learner.deltas else weights

    @property
    def _origin_weights(self) -> Floats | None:
        return self._origin.weights if isinstance(self._origin, Carried) else self._origin

    @property
    def options(self) -> dict[str, Any]:
        """What the pass was made with, in plain values: two passes with the same options can share a state."""
        plain = {name: getattr(self, name) for name in OPTIONS}
        labels = self.intake.labels
        return {
            "learner": repr(self.learner),
            "classes": list(labels.classes) if labels.declared else None,
            "origin": None
            if self._declared is None
            else sha256(*(array.tobytes() for array in arrays_of(self._declared))),
            "elapsed": self.elapsed,
            **plain,
        }

    @property
    def origin(self) -> Floats | None:
        """A copy of the weights that the pass started from; None: from 0."""
        return None if self._origin_weights is None else self._origin_weights.copy()

    @property
    def _elapsed(self) -> int:
        return self.elapsed + (self.uncounted_rows if self._prepared is not None else 0) + self.regimes.elapsed

    @property
    def _bias(self) -> float:
        return 1.0 if self.fit_intercept else 0.0

    @property
    def _outputs(self) -> int:
        return outputs_of(self.intake.labels.count)

    @property
    def _setting(self) -> Setting:
        radius = self.scaling.radius
        if radius is None:
            return Setting(self.horizon, None, self.n_features)
        fan = 1.0 if self._outputs == 1 else 2.0
        return Setting(self.horizon, math.sqrt(fan * (radius * radius + self._bias)), self.n_features)

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
        if reason not in self._void:
            self._void = (*self._void, reason)

    def assume(self, text: str) -> None:
        """Say one more thing in every certificate's list of assumptions."""
        if text not in self._assumed:
            self._assumed = (*self._assumed, text)

    # --- rows in ------------------------------------------------------------------------------------------------------

    def feed(self, X: Any, y: Any) -> None:
        """Learn from these rows, in this order. All of them are checked before the first is learned."""
        self.stopped = self.stopped and self.stop_at is not None
        if self.stopped:
            raise StoppedError(f"the certificate has reached stop_at={self.stop_at}; set stop_at to None to go on")
        batch, run = self.intake.take(X, y), self.learner_run
        self._must_be_meant(batch.labels)
        joins = len(batch.labels.classes) > self.intake.labels.count
        with self._background.running(len(batch.spans) > 1), run.rates_of(self.rounds, len(batch.y)):
            if joins:
                self._learn_joining(batch)
            elif not self._learn_unchecked(batch):
                self._learn_checked(self.intake.check(batch))

    def _must_be_meant(self, labels: Labels) -> None:
        """Raise unless `positive`, and a threshold, can speak of these labels."""
        if self.positive is not None and len(labels.classes) >= 2:
            if len(labels.classes) > 2:
                raise ValueError(f"positive: one of two classes is meant, and here are {len(labels.classes)}")
            positive_of(labels.classes, self.positive)
        if self.target is not None and labels.count > 2:
            raise ValueError(f"a {self.target}: a threshold cuts the scores of two classes; here are {labels.count}")

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
            self._restore(before)
            raise

    def _must_join(self, row: int) -> None:
        """Raise unless a class may join with this row of a batch."""
        if not self.learner.several:
            why = f"{type(self.learner).__name__} learns two classes"
        elif self.learner_run.loss_bound is not None:
            why = "a certificate in hinge loss must know all classes beforehand"
        elif self.candidates is not None:
            why = "models judged on rows kept out must know all classes beforehand"
        else:
            return
        message = f"a label after the first {self.intake.labels.count}, and {why}"
        raise DataError(message, argument="y", row=row, remedy=DECLARE if self.learner.several else None)

    def _join(self, labels: Labels) -> None:
        """A class joins with the next row: every part makes room for it."""
        self._background.join()
        outputs = outputs_of(labels.count)
        if self.watched is not None:
            self.watched.must_fit(self.width, labels.count)
        self.learner_run.join(outputs)
        if self.watched is not None:
            self.watched.join(labels.count, self.rounds)
        self.guards.join(labels.count, labels.most, None if self.watched is None else self.watched.bins())
        self.intake.labels = labels
        self._origin, self._prepared = self._of_outputs(self._origin), self._of_outputs(self._prepared)
        self.regimes.origin = self._of_outputs(self.regimes.origin)
        self.learner_run.agree(self._setting)
        self._cache = {}

    def _of_outputs(self, origin: Floats | Carried | None) -> Floats | Carried | None:
        """A start with as many outputs as there are now."""
        if isinstance(origin, Carried):
            return origin._replace(weights=spread_if(origin.weights, self._outputs))
        return None if origin is None else spread_if(origin, self._outputs)

    def feed_one(self, X: Any, y: Any) -> bool:
        """Feed one row without the cost of looking at it in general; False, and nothing done, if it is no such case.

        One dense float64 row of the declared width with one declared label: everything else goes by `feed`.
        """
        run = self.learner_run
        general = self.stopped or self.scaling.auto or not self.counting or has_own_rate(run.rule)
        row = None if general else self.intake.one_row(X, y)
        if row is None or run.may_refuse(row[0], run.width, self.rounds):
            return False
        self._learn_piece(*row, None)
        return True

    def _learn_checked(self, batch: Batch) -> None:
        """Learn rows whose content was looked at."""
        if self.watched is not None and self.rounds + len(batch.y) >= next_freezing(self.rounds):
            self.watched.must_fit(max(batch.width, self.width))
        refusable = self.learner_run.may_refuse(batch.rows, batch.width, self.rounds)
        before = self.state() if refusable or self.scaling.measuring or not self.counting else None
        self._widen(batch.width)
        try:
            self._learn_pieces(batch)
        except (LimitError, DataError):
            if before is not None:
                self._restore(before)
            raise

    def _learn_unchecked(self, batch: Batch) -> bool:
        """Learn rows and let the kernel check them on the way, which spares reading them twice.

        If one is bad, all is put back. False, and nothing done, if so, or if this is no such case: then a look at the
        rows says what is wrong.
        """
        run, several = self.learner_run, len(batch.spans) > 1
        plain = self.radius is None and self.candidates is None and self.stop_at is None and not has_own_rate(run.rule)
        plain = plain and self.counting and self.on_drift != "restart"
        if not plain or not (several or self.rounds + len(batch.y) < self._next_border()):
            return False
        before = run.mark(batch.rows, batch.columns, several)
        if before is None:
            return False
        own = self._own_state()
        parts = copy.deepcopy([part.state() for part in self._beside()]) if several else None
        try:
            self._learn_pieces(batch, batch.columns)
            run.fold_if_due()
        except (UnsoundError, LimitError) as error:
            self._background.join()
            run.rewind(before)
            self._restore_own(own)
            if parts is not None:  # of one piece they are shown the rows once these are learned
                for part_, state in zip(self._beside(), parts, strict=True):
                    part_.restore(state)
            if isinstance(error, LimitError):
                raise
            return False
        return True

    def _learn_pieces(self, batch: Batch, columns: int | None = None) -> None:
        """Learn the batch, piece by piece; `columns`: more of them in a row make it unsound."""
        self.intake.adopt(batch)
        if len(batch.spans) > 1:
            self.learner_run.expect(batch.rows)
        for first, last in batch.spans:
            if not self.stopped:
                self._learn_piece(batch.piece(first, last), batch.y[first:last], columns)
                self._background.start()

    def _learn_piece(self, rows: AnyRows, y: Ints, columns: int | None) -> None:
        """Rows as they come, in stretches that end where something happens between two rows."""
        if self.scaling.measuring:
            first = min(len(y), AUTO_ROWS - self.rows)
            self._measure(part(rows, 0, first), y[:first])
            rows, y = part(rows, first, len(y)), y[first:]
        fed, rows = rows, self.scaling.scale(rows)
        if not self.counting:
            first = min(len(y), self.uncounted_rows - self.rows)
            self._prepare(part(rows, 0, first), part(fed, 0, first), y[:first], columns)
            rows, fed, y = part(rows, first, len(y)), part(fed, first, len(y)), y[first:]
        fraction = self.validation_fraction
        held = held_out(self.seed, self.rows, len(y), fraction) if fraction else None
        done = 0
        while done < len(y) and not self.stopped:
            ahead = self._next_border() - self.rounds
            stop = min(len(y), done + ahead) if held is None else stretch_end(held, done, ahead)
            stretch, labels = _slice(rows, y, done, stop)
            if held is not None:
                out = held[done:stop]
                self._validate(take(stretch, out), labels[out])
                stretch, labels = take(stretch, ~out), labels[~out]
            self._learn_stretch(stretch, labels, columns)
            self._observe(*_slice(fed, y, done, stop))
            if len(labels):
                self._between(self.rounds)
            done = stop

    def _learn_stretch(self, rows: AnyRows, y: Ints, columns: int | None) -> None:
        """Learn rows up to the next border."""
        if not len(y):
            return
        self.learner_run.learn(rows, y, self.rounds, columns)
        if self.watched is not None:
            bound = self.learner_run.loss_bound or 0.0
            self._background.submit(self._watch, rows, y, self.rounds, self.learner_run.width, bound)
        self.rounds += len(y)
        if self.learner.tracks_norm and self.rounds % RENEW == 0:
            self.learner_run.settle_norm()

    def _watch(self, rows: AnyRows, y: Ints, rounds: int, width: int, bound: float) -> None:
        """Show the watched models rows that came after so many rounds, and the drift alarm what they make of them."""
        assert self.watched is not None
        cells = self.watched.watch(rows, y, rounds, width, bound)
        self.guards.observe_cells(cells, rounds)
        if self.verdicts is not None:
            self.verdicts.note(cells, rounds)

    def _freeze(self, rounds: int, sum_so_far: Callable[[], Floats]) -> None:
        assert self.watched is not None
        for tester, bins in self.watched.freeze(rounds, sum_so_far).items():
            self.guards.begin_segment(tester, bins)

    def _observe(self, rows: AnyRows, y: Ints) -> None:
        """Show the guards the rows as they were fed, beside the learning."""
        self.rows += len(y)
        self._background.submit(self.guards.observe, rows, y)

    def _measure(self, rows: AnyRows, y: Ints) -> None:
        """radius="auto": the first rows only tell how long rows are."""
        self.scaling.measure(rows)
        self._observe(rows, y)
        if self.rows >= AUTO_ROWS:
            self.scaling.settle()
            self.learner_run.declare(self._setting)

    def _prepare(self, rows: AnyRows, fed: AnyRows, y: Ints, columns: int | None) -> None:
        """Learn rows that no certificate counts; after the last of them the counting run starts from what they left."""
        if len(y):
            self.learner_run.learn(rows, y, self.rounds, columns)
            self.rounds += len(y)
        self._observe(fed, y)
        self._cache = {}
        if self.rows >= self.uncounted_rows:
            self._background.join()
            self.counting = True
            self._start_from(self.learner_run.carried(), self.learner_run.width)

    @property
    def _starts_anywhere(self) -> bool:
        """Whether a run of this learner can start from the weights of another."""
        return self.learner.keeps_rows and not has_own_rate(self.learner_run.rule)

    def _start_from(self, origin: Floats | Carried, width: int) -> None:
        """The run from here on is one of its own, from these weights."""
        self._prepared = self._origin = origin
        self.learner_run, self.rounds = self._begun_run(), 0
        self.learner_run.declare(self._setting)
        self._widen(width)

    def _widen(self, width: int) -> None:
        self.learner_run.widen(width)
        if self.candidates is not None:
            self.candidates.widen(self.learner_run.width)

    # --- between rows -------------------------------------------------------------------------------------------------

    def _next_border(self) -> int:
        """The next round at which something happens between two rows; fixed by the round alone."""
        border = self.rounds + (1 << 62)
        if self.watched is not None:
            border = min(border, next_freezing(self.rounds))
        if self.candidates is not None:
            border = min(border, 1 << self.rounds.bit_length())
        if self.stop_at is not None or self.on_drift == "restart":
            border = min(border, next_look(self.rounds))
        if self.learner.tracks_norm:
            border = min(border, (self.rounds // RENEW + 1) * RENEW)
        return border

    def _between(self, t: int) -> None:
        """Freeze candidates and look at the certificate, each at its rounds."""
        if self.watched is not None and next_freezing(t - 1) == t:
            self._background.submit(self._freeze, t, self.learner_run.sum_so_far(t))
            self._cache = {}
        if self.candidates is not None and t & (t - 1) == 0:
            self._background.join()
            self.candidates.freeze(t.bit_length() - 1, self._trace().last)
            self._cache = {}
        if self.stop_at is not None and next_look(t - 1) == t:
            self._background.join()
            certificate = self._answer(self._question())
            fine = certificate.withheld is None and certificate.risk <= self.stop_at
            self.stopped = fine and not self.guards.one_label_only
        if self.on_drift == "restart" and next_look(t - 1) == t and not self.stopped:
            self._background.join()
            found = self.guards.drifted
            if found is not None and found.alarm:
                self.regimes.restart(self.rows, t, self.mistakes, found, self.learner_run.carried())
                self.guards.restart()
                self._begin_regime()

    def _begin_regime(self) -> None:
        """All that is counted begins anew, and the learner goes on from what it has come to."""
        width = self.learner_run.width
        start = self._declared if self._prepared is None else self._prepared
        self._origin = self._of_outputs(self.regimes.origin if self.regimes.ended else start)
        self.learner_run, self.rounds, self._cache = self._begun_run(), 0, {}
        self.learner_run.declare(self._setting)
        self.watched = self._watching() if self.watch else None
        self._widen(width)

    def _validate(self, rows: AnyRows, y: Ints) -> None:
        """Judge the candidates of `validation` on rows kept out of the pass."""
        if self.candidates is not None and len(y):
            self.candidates.watch(self._bias, rows, y, self.learner_run.loss_bound or 0.0)

    def _beside(self) -> list[Guards | WatchedModels]:
        """The parts that look at rows beside the learning."""
        return [self.guards] if self.watched is None else [self.guards, self.watched]

    # --- what it leaves behind ----------------------------------------------------------------------------------------

    def trace(self) -> Trace:
        """What the pass has left behind so far: a value that later feeding does not change."""
        self._must_be_sound()
        trace = self._trace()
        self.learner_run.log_shared = True
        tally = Tally._make(array.copy() for array in trace.tally)
        columns = trace.columns.copy() if trace.columns is not None else None
        watched = None if self.watched is None else self.watched.models().__getitem__
        hypotheses = replace(trace.hypotheses, columns=columns, watched=watched)
        return replace(
            trace,
            tally=tally,
            hypotheses=hypotheses,
            transitions=self.guards.transitions,
            streams=self.guards.streams,
            duplicates=trace.duplicates and Duplicates._make(array.copy() for array in trace.duplicates),
        )

    def _trace(self) -> Trace:
        """The trace, sharing arrays with the pass: for use before the next row."""
        self.learner_run.enter_tally()
        void = tuple(dict.fromkeys((*self._void, *self._too_early(), *self.guards.reasons())))
        assumed = (*self._assumed, *self.regimes.words)
        now = (self.rows, self.rounds, void, assumed)
        if self._cache.get("now") == now:
            known: Trace = self._cache["trace"]
            return known
        log, columns, ledger = self.learner_run.kept_log(), self.learner_run.columns(), self.learner_run.ledger
        alive, last = self.rounds - ledger.since, self.learner_run.last()
        trace = Trace(
            terms=Terms(
                self.learner,
                self._setting,
                self.intake.labels.count,
                self._bias,
                self.learner_run.loss_bound,
                self.horizon,
                self.cutoffs,
                self.intake.labels.classes,
                self.expected_rows,
                self.positive,
                self.cost,
                None if self.target is None else (self.target.kind, self.target.limit),
            ),
            rounds=self.rounds,
            updates=ledger.updates,
            alive=alive,
            tally=ledger.tally,
            first=ledger.first or Survivor(0, self.rounds, None),
            ended=None if log is None else Updates(log.round, log.margin, log),
            pocket=None if columns is None else columns.longest(ledger.updates, alive),
            fineness=3 if columns is None else columns.bits,
            candidates=None if self.candidates is None else self.candidates.losses(),
            watched=None if self.watched is None else self.watched.evidence(),
            void=void,
            assumed=assumed,
            transitions=self.guards.transitions,
            dropped=self.learner_run.dropped,
            duplicates=self.guards.counted,
            drift=self.guards.drifted,
            elapsed=self._elapsed,
            hypotheses=Hypotheses(
                last=last,
                rounds=self.rounds,
                alive=alive,
                bias=self._bias,
                log=log,
                columns=columns,
                total=self.learner_run.total(self.rounds, last),
                origin=self._origin_weights,
                frozen={} if self.candidates is None else self.candidates.frozen(),
                watched=None if self.watched is None else self.watched.model,
            ),
        )
        self._cache = {"now": now, "trace": trace}
        return trace

    def _too_early(self) -> tuple[str, ...]:
        """Why there is no certificate of the first rows."""
        if self.uncounted_rows and not self._starts_anywhere and not self.scaling.auto:
            return (
                f"the first {self.uncounted_rows} rows decided how all are read, and {type(self.learner).__name__} "
                "cannot start anew after them: declare what every column is",
            )
        if self.counting:
            return ()
        return (
            f"the first {self.uncounted_rows} rows decided how all are read, no certificate counts them, and there "
            f"were only {self.rows} (declare what every column is, and all of them count)",
        )

    def _must_be_sound(self) -> None:
        """Of weights that are no finite numbers nothing is given away: looked at once, and not in the loop.

        A weight that is no finite number never becomes one again: the last hypothesis tells for all of them.
        """
        trace = self._trace()
        if "finite" not in self._cache:
            must_be_finite(trace.last)
            self._cache["finite"] = True

    def _answer(self, question: Question) -> Certificate:
        """The certificate of the trace as it is now, made once for each question."""
        trace, declared = self._trace(), self._question()
        if question not in self._cache:
            found = certify(trace, question.conversion, delta=question.delta, bound=question.bound, loss=question.loss)
            if question != declared:
                own = self._answer(declared)
                found = replace(found, deployed=(found.conversion, found.choice) == (own.conversion, own.choice))
            self._cache[question] = found
        known: Certificate = self._cache[question]
        return known

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
        certificate, trace = replace(certificate, deployed=True), self._trace()
        met = self.intake.labels.classes
        flip = -1.0 if self.classes != met and len(met) == 2 else 1.0
        order = [met.index(label) for label in self.classes] if len(met) > 2 else [0]
        conversion, value = conversion_named(certificate.conversion), certificate.choice.value
        if how == "combine":
            weights = conversion.weights(trace, value)
            must_be_finite(weights)  # a sum may overflow where its parts do not
            weights = flip * weights[:, order]
            about, bias = self._about(certificate), 1.0 if (weights[0] == NEVER).any() else self._bias
            decided = self._decided(certificate, trace, flip)
            return LinearModel(weights, self.classes, bias, self.scaled_onto, about, *decided)
        q = conversion.members(trace, value)
        if trace.hypotheses.origin is not None:
            raise ConversionError("vote: not offered for a pass that started from an origin; use how='combine'")
        trace.need_updates("vote")
        assert trace.log is not None
        log = trace.log._replace(a=flip * trace.log.a)
        if len(met) > 2:
            log = log.relabelled(np.argsort(order), len(met))
        return VotedModel(log, q, len(trace.last) - 1, self.classes, self._bias, self.scaled_onto)

    def _decided(
        self, certificate: Certificate, trace: Trace, flip: float
    ) -> tuple[float, Calibration | None, ScoreHistogram | None]:
        """(where scores are cut, what makes probabilities of them, their histogram) of a watched model."""
        frozen = certificate.choice.value
        if not (conversion_named(certificate.conversion).watched and frozen) or trace.watched is None:
            return 0.0, None, None
        kept = certificate.threshold
        cut = kept.cut(flipped=flip < 0.0) if kept is not None and kept.reached else 0.0
        counts = trace.watched.counts
        slot = counts.slot_of(frozen)
        bins, borders = counts.bins[slot], counts.borders[slot]
        if flip < 0.0:
            bins, borders = flip_bins(bins, borders)
        seen = ScoreHistogram(borders, bins.sum(axis=0), float(prices(trace)[slot]))
        return cut, calibrate(bins, borders, cut, self.intake.labels.count), seen

    def threshold_for(self, target: Target) -> Threshold:
        """Where to cut the scores of the deployed model so that it keeps this target; see `Target.declared`."""
        trace, certificate = self._trace(), self.certificate()
        if not conversion_named(certificate.conversion).watched or not certificate.choice.value:
            raise ConversionError("a threshold is found on the scores of a watched model: choose conversion='frozen'")
        return threshold_of(trace, certificate.choice.value, target, self.delta * self.delta_share)

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
        state = self._own_state() | {
            "guards": self.guards.state(),
            "candidates": None if self.candidates is None else self.candidates.state(),
            "watched": None if self.watched is None else self.watched.state(),
            "learner": self.learner_run.state(),
            "origin": None if self._prepared is None else arrays_of(self._prepared),
        }
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
        for name in ("void", "assumed"):
            need(isinstance(state[name], tuple) and all(isinstance(text, str) for text in state[name]), name)
        labels = self.intake.labels_of(state["intake"])
        if labels.count != self.intake.labels.count:  # its parts are those of so many classes
            later = copy.deepcopy(self)
            later._adopt_labels(labels)
            later.check_state(state)
            return
        self.regimes.check_state(state["regimes"], state["rows"], self._outputs, 2 if self.learner.deltas else 1)
        need(self.on_drift == "restart" or not state["regimes"]["ended"], "the regimes")
        need(type(state["counting"]) is bool, "counting")
        self._check_origin(state["origin"], state["counting"])
        if len(state["regimes"]["ended"]) != len(self.regimes.ended):  # its parts are those of a later regime
            later = copy.deepcopy(self)
            later._adopt_start(copy.deepcopy(state))
            later.check_state(state)
            return
        self.scaling.check_state(state["scaling"])
        width = self.learner_run.check_state(state["learner"], rounds)
        self.intake.check_state(state["intake"], width)
        self.guards.check_state(state["guards"], rounds)
        need((state["candidates"] is None) == (self.candidates is None), "the candidates")
        if self.candidates is not None:
            self.candidates.check_state(state["candidates"], (1 + width, self._outputs))
        need((state["watched"] is None) == (self.watched is None), "the watched models")
        if self.watched is not None:
            self.watched.check_state(state["watched"], rounds, width)

    def _check_origin(self, origin: Any, counting: bool) -> None:
        """What the first rows left, where they were not counted, is what a run can start from."""
        started = bool(self.uncounted_rows) and counting and not self.scaling.auto and self._starts_anywhere
        need((origin is not None) == started, "the origin")
        if started:
            need(isinstance(origin, tuple) and all(isinstance(array, np.ndarray) for array in origin), "the origin")
            try:
                self._starting(Carried._make(origin) if self.learner.deltas else origin[0])
            except (ValueError, TypeError, ConversionError):
                need(False, "the origin")

    def _own_state(self) -> dict[str, Any]:
        """The part of the state that is no arrays: values that nothing changes in place."""
        return {
            "rows": self.rows,
            "rounds": self.rounds,
            "counting": self.counting,
            "stopped": self.stopped,
            "void": self._void,
            "assumed": self._assumed,
            "regimes": self.regimes.state(),
            "intake": self.intake.state(),
            "scaling": self.scaling.state(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a state that nobody else holds."""
        self._adopt_start(state)
        self._restore_own(state)
        self.guards.restore(state["guards"])
        if self.candidates is not None:
            self.candidates.restore(state["candidates"])
        if self.watched is not None:
            self.watched.restore(state["watched"])
        self.learner_run.restore(state["learner"])
        self.learner_run.agree(self._setting)

    def _adopt_start(self, state: dict[str, Any]) -> None:
        """Begin where the run of the state began: with its classes, after rows that are not counted, after a drift."""
        if (labels := state["intake"]["labels"]).count != self.intake.labels.count:
            self._adopt_labels(labels)
        if state["counting"] == self.counting and len(state["regimes"]["ended"]) == len(self.regimes.ended):
            return
        kept, self.counting = state["origin"], state["counting"]
        self._prepared = None if kept is None else Carried._make(kept) if self.learner.deltas else kept[0]
        self.regimes.restore(state["regimes"])
        self._begin_regime()

    def _adopt_labels(self, labels: Labels) -> None:
        """Parts of so many classes, from where the present regime begins."""
        self.intake.labels = labels
        self.guards = self._guarding()
        self._begin_regime()

    def _restore_own(self, state: dict[str, Any]) -> None:
        self.rows, self.rounds, self.stopped = state["rows"], state["rounds"], state["stopped"]
        self.counting = state["counting"]
        self._void, self._assumed = state["void"], state["assumed"]
        self.intake.restore(state["intake"])
        self.scaling.restore(state["scaling"])
        self._cache = {}

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
        twin.learner_run, twin._cache = folded, {}
        return twin


def _slice(rows: AnyRows, y: Ints, first: int, last: int) -> tuple[AnyRows, Ints]:
    """Rows first..last with their labels; as they are, if these are all."""
    return (rows, y) if last - first == len(y) else (part(rows, first, last), y[first:last])
