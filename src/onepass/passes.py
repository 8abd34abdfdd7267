"""Pass: the loop, its trace, its certificate and its model, held together.

The one mutable thing of the house: its options, what it holds, how it is fed and what comes out are a file each. The
estimator, the command line, several machines and checkpoints are thin shells around it. Whatever way a stream is cut
into `feed` calls, the same bits come out.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

from onepass.certificates import Certificate, certified_loss, certify
from onepass.conversions import CONVERSIONS, conversion_named
from onepass.errors import ConversionError, LimitError
from onepass.feeding import AUTO_ROWS, Feeding
from onepass.files import sha256
from onepass.guards.duplicates import Duplicates
from onepass.intake import accept, block, stated_columns, survey
from onepass.labels import Label
from onepass.learners.shifted import unshifted
from onepass.looks import next_look
from onepass.models import LinearModel, VotedModel
from onepass.options import OPTIONS
from onepass.regret import Regret, regret
from onepass.rows import count, must_be_finite, onto_ball
from onepass.runs import LinearRun, ShiftedRun
from onepass.runs.shifting import TOTAL, UNUSED, USED
from onepass.trace import Hypotheses, Survivor, Terms, Trace, Updates
from onepass.trace.tally import Tally


class Pass(Feeding):
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
    stop_at             stop as soon as the certificate is at most this, and two labels have been met
    order_alarm         whether to withhold certificates when labels come in an order that no i.i.d. draw would show
    repeat_alarm        whether to withhold certificates when a block of 100 rows or more comes a second time, and to
                        tell the share of rows that equal an earlier one
    seed                chooses the rows kept out
    origin              weights (1 + features, outputs), intercept first, to start from in place of 0: a model that
                        depends on earlier rows only, so that certificates hold all the same
    elapsed             rounds that went into the origin: a falling learning rate goes on from there

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> run = Pass("perceptron")
    >>> run.feed(X, np.where(X[:, 0] > 0, "up", "down"))
    >>> run.rounds, run.model().predict([[3.0, 0, 0, 0, 0], [-3.0, 0, 0, 0, 0]]).tolist()
    (2000, ['up', 'down'])
    >>> run.certificate().covers
    'members'
    >>> run
    <Pass of Perceptron(), cutoff: 2,000 rounds, 116 mistakes>
    """

    def __post_init__(self, classes: Any, origin: Any) -> None:
        self._warned = False
        super().__post_init__(classes, origin)
        certified_loss(self._trace(), self.loss)

    def __repr__(self) -> str:
        return f"<Pass of {self.learner!r}, {self.conversion}: {self.rounds:,} rounds, {self.mistakes:,} mistakes>"

    def _between(self, t: int) -> None:
        """Freeze candidates and look at the certificate, each at its rounds."""
        if self._watched and t & (t - 1) == 0:
            self._freeze(t.bit_length() - 1)
        if self.stop_at is not None and next_look(t - 1) == t:
            self._background.join()
            certificate = self._certificate()
            fine = certificate.withheld is None and certificate.risk <= self.stop_at
            self.stopped = fine and not self.guards.one_label_only

    def _freeze(self, number: int) -> None:
        self._background.join()
        trace = self._trace()
        for watched in self._watched.values():
            average = CONVERSIONS["average"]
            weights = trace.last if watched.what == "hypothesis" else average.weights(trace, None)
            watched.freeze(number, weights)
        self._answers = {}

    @property
    def classes(self) -> tuple[Label, ...]:
        """The labels: as declared, or those met, sorted."""
        return self._labels.classes if self._labels.declared else tuple(sorted(self._labels.classes, key=_sortable))

    @property
    def scaled_onto(self) -> float | None:
        """The radius that rows are scaled onto: as declared, or as radius="auto" has found it; None: no scaling."""
        return self._R

    @property
    def mistakes(self) -> int:
        """Mistakes made on the way."""
        self.learner_run.enter_tally()
        return int(self.learner_run.ledger.tally.mistakes.sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the learner fares; `model` says it once, as a warning."""
        if not isinstance(self.learner_run, ShiftedRun):
            return ()
        state = self.learner_run.lazy.state
        note = unshifted(self.learner_run.rule, state[TOTAL], self.rounds, int(state[UNUSED]), int(state[USED]))
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
        self._must_be_finite()
        trace = self._trace()
        self.learner_run.lent = True
        tally = Tally._make(array.copy() for array in trace.tally)
        columns = trace.columns.copy() if trace.columns is not None else None
        hypotheses = replace(trace.hypotheses, columns=columns)
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
        void = tuple(dict.fromkeys((*self._void, *self.guards.reasons())))
        now = (self.rows, self.rounds, void, self._assumed)
        if self._answers.get("now") == now:
            known: Trace = self._answers["trace"]
            return known
        log, columns, ledger = self.learner_run.kept_log(), self.learner_run.columns(), self.learner_run.ledger
        alive = self.rounds - ledger.since
        trace = Trace(
            terms=Terms(
                self.learner,
                self._setting,
                self._labels.count,
                self._bias,
                self.learner_run.loss_bound,
                self.horizon,
                self.cutoffs,
                self._labels.classes,
            ),
            rounds=self.rounds,
            updates=ledger.updates,
            alive=alive,
            tally=ledger.tally,
            first=ledger.first or Survivor(0, self.rounds, None),
            ended=None if log is None else Updates(log.round, log.margin),
            pocket=None if columns is None else columns.longest(ledger.updates, alive),
            fineness=3 if columns is None else columns.bits,
            candidates={kind: watched.losses() for kind, watched in self._watched.items()},
            void=void,
            assumed=self._assumed,
            duplicates=self.guards.counted,
            elapsed=self.elapsed,
            hypotheses=Hypotheses(
                last=self.learner_run.last(),
                rounds=self.rounds,
                alive=alive,
                bias=self._bias,
                log=log,
                columns=columns,
                origin=self._origin,
                frozen={kind: watched.frozen() for kind, watched in self._watched.items()},
            ),
        )
        self._answers = {"now": now, "trace": trace}
        return trace

    def _must_be_finite(self) -> None:
        """Of weights that are no finite numbers nothing is given away: looked at once, and not in the loop.

        A weight that is no finite number never becomes one again: the last hypothesis tells for all of them.
        """
        trace = self._trace()
        if "finite" not in self._answers:
            must_be_finite(trace.last)
            self._answers["finite"] = True

    def certificate(
        self,
        conversion: str | None = None,
        *,
        delta: float | None = None,
        bound: str | None = None,
        loss: str | None = None,
    ) -> Certificate:
        """The certificate of a conversion, as declared unless told otherwise. Valid at every round at once.

        It carries the choice (a cutoff, a candidate) that is best for these arguments: `model(certificate)`, or `model`
        with the same arguments, deploys just that. Where it is not the choice of `model()`, the certificate says so.
        """
        self._must_be_finite()
        return self._certificate(conversion, delta, bound, loss)

    def _certificate(
        self,
        conversion: str | None = None,
        delta: float | None = None,
        bound: str | None = None,
        loss: str | None = None,
    ) -> Certificate:
        """The certificate of the trace as it is now, made once for each question."""
        trace = self._trace()
        declared = (self.conversion, self.delta, self.bound, self.loss)
        asked = (
            conversion or self.conversion,
            self.delta if delta is None else delta,
            bound or self.bound,
            loss or self.loss,
        )
        if asked not in self._answers:
            found = certify(trace, asked[0], delta=asked[1], bound=asked[2], loss=asked[3])
            if asked != declared:
                own = self._certificate()
                found = replace(found, deployed=(found.conversion, found.choice) == (own.conversion, own.choice))
            self._answers[asked] = found
        known: Certificate = self._answers[asked]
        return known

    def model(
        self,
        choice: str | Certificate | None = None,
        *,
        delta: float | None = None,
        bound: str | None = None,
        loss: str | None = None,
        how: str = "combine",
    ) -> LinearModel | VotedModel:
        """The model of a conversion: its weighted average (`combine`) or its members' weighted majority (`vote`).

        `choice` is a conversion, with the other arguments of `certificate`, or a certificate that this pass has given
        since its last row: then the model is the one that it speaks of.
        """
        if how not in ("combine", "vote"):
            raise ValueError(f"how: 'combine' or 'vote' expected, got {how!r}")
        self._must_have_learned()
        self._must_be_finite()
        if self.notes and not self._warned:
            self._warned = True
            warnings.warn(self.notes[0], UserWarning, stacklevel=2)
        if isinstance(choice, Certificate):
            certificate = self._as_given(choice)
        else:
            certificate = self._certificate(choice, delta, bound, loss)
        return self._deploy(replace(certificate, deployed=True), how)

    def _must_have_learned(self) -> None:
        if self.rounds:
            return
        if self.radius == "auto" and self.rows:
            raise ConversionError(
                f"radius='auto' measures the first {AUTO_ROWS} rows and learns from the others, but there were "
                f"only {self.rows}: give radius a number"
            )
        raise ConversionError("no row has been learned yet")

    def _as_given(self, certificate: Certificate) -> Certificate:
        """The certificate as this pass gives it now: the same choice, or it is refused."""
        if certificate.rounds != self.rounds:
            raise ConversionError(
                f"this certificate was given after {certificate.rounds:,} rounds, and the pass has learned "
                f"{self.rounds:,}: ask for a new one"
            )
        now = self._certificate(certificate.conversion, certificate.delta, certificate.bound, certificate.loss)
        same = all(getattr(now, name) == getattr(certificate, name) for name in ("choice", "counted", "empirical"))
        if now.counted and not same:
            raise ConversionError("this certificate is not from this pass: ask the pass itself for one")
        return now

    def _deploy(self, certificate: Certificate, how: str) -> LinearModel | VotedModel:
        """The model that a certificate of the trace as it is now speaks of."""
        trace = self._trace()
        flip = -1.0 if self.classes != self._labels.classes else 1.0
        conversion, value = conversion_named(certificate.conversion), certificate.choice.value
        if how == "combine":
            weights = conversion.weights(trace, value)
            must_be_finite(weights)  # a sum may overflow where its parts do not
            weights *= flip
            return LinearModel(weights, self.classes, self._bias, self._R, self._about(certificate))
        q = conversion.members(trace, value)
        if trace.hypotheses.origin is not None:
            raise ConversionError("vote: not offered for a pass that started from an origin; use how='combine'")
        trace.need_updates("vote")
        assert trace.log is not None
        log = trace.log._replace(a=flip * trace.log.a)
        return VotedModel(log, q, len(trace.last) - 1, self.classes, self._bias, self._R)

    def _about(self, certificate: Certificate) -> dict[str, Any]:
        """What a model file says of where the model comes from: plain values, and no clock."""
        options = {name: getattr(self, name) for name in OPTIONS}
        told = {
            "rows": self.rows,
            "rounds": self.rounds,
            "updates": self.learner_run.ledger.updates,
            "mistakes": self.mistakes,
        }
        return {"learner": repr(self.learner), "options": options, **told, "certificate": certificate.as_dict()}

    def regret(self, X: Any, y: Any, comparator: Any = None) -> Regret:
        """The regret on all the rows of the pass, fed again for their labels: see onepass.regret."""
        rows = accept(X)
        _, codes = self._labels.encode(y, count(rows))
        _, canonical = survey(rows, self.width, stated_columns(X))
        ready = block(rows, 0, count(rows), canonical)
        return regret(self._trace(), onto_ball(ready, self._R) if self._R is not None else ready, codes, comparator)

    @property
    def options(self) -> dict[str, Any]:
        """What the pass was made with, in plain values: two passes with the same options can share a state."""
        plain = {name: getattr(self, name) for name in OPTIONS}
        classes = list(self._labels.classes) if self._labels.declared else None
        origin = None if self._origin is None else sha256(self._origin.tobytes())
        return {
            "learner": repr(self.learner),
            "classes": classes,
            "origin": origin,
            "elapsed": self.elapsed,
            **plain,
        }

    def without_rows(self) -> Pass:
        """This pass with its update rows folded into columns, to be stored; with its rows, where columns have no room.

        It shares arrays with this one: store it or let it go before the next row.
        """
        if not isinstance(self.learner_run, LinearRun):
            return self
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        try:
            twin.learner_run, twin._answers = self.learner_run.compacted(), {}
        except LimitError:
            return self
        return twin


def _sortable(label: Label) -> tuple[bool, Any]:
    return isinstance(label, str), label
