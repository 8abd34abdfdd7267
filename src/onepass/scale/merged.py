"""What several machines leave behind: it stands where a pass would, and holds one conversion's model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from onepass.certificates import Certificate, certify
from onepass.certified import Certified, Question
from onepass.conversions.frozen import prices
from onepass.deployment import ScoreReading, score_reading
from onepass.errors import ConversionError
from onepass.labels import Label
from onepass.models import LinearModel
from onepass.options import OPTIONS
from onepass.passes import Pass
from onepass.regimes import Regimes
from onepass.rows import Floats
from onepass.scale.summaries import Summary
from onepass.trace import Evidence, WatchedEvidence
from onepass.trace.tally import Tally
from onepass.trace.watched import Watched

if TYPE_CHECKING:
    from onepass.scale.tasks import Job


class Outcome(NamedTuple):
    """How the run went."""

    chunks: int
    waves: int
    begin: int  # the first wave that counts, from 1; of a frozen model, the one after it was frozen
    cutoffs: tuple[int, ...]  # of each wave
    again: int  # chunks begun once more, after a worker was lost
    lost: int  # workers lost
    stopped: bool = False  # at the end of a wave, since the certificate had reached `stop_at`


class Merged(Certified):
    """One model and one certificate for all chunks: `model`, `certificate` and `trace` as a pass has them.

    `learn` makes it. It holds the model of one conversion and no rows, and learns no more.

    Attributes
    ----------
    learner : Learner
        Who learned.
    conversion : str
        How the hypotheses became one model.
    outcome : Outcome
        How the run went: chunks, waves, workers lost.
    rows, rounds : int
        Rows read, and those of them that the certificate speaks of.
    skipped : int
        Bad lines left out.
    classes : tuple of label
        What the model predicts.
    delta, bound, loss : float, str, str or None
        As they were declared.
    columns : tuple of str or None
        The names of the feature columns, where the chunks had them.

    Examples
    --------
    >>> from onepass.scale import cut, learn
    >>> X = np.random.default_rng(0).normal(size=(4000, 5))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> merged = learn(cut([(X[at : at + 1000], y[at : at + 1000]) for at in range(0, 4000, 1000)]), waves=2)
    >>> merged.outcome.chunks, merged.outcome.waves, merged.certificate().informative
    (4, 2, True)
    """

    look = None  # it learns no more
    notes: tuple[str, ...] = ()

    def __init__(
        self,
        evidence: Evidence,
        weights: Floats,
        chosen: Pass,
        job: Job,
        summary: Summary,
        outcome: Outcome,
        regimes: Regimes,
    ) -> None:
        self.learner, self.conversion, self.outcome = chosen.learner, chosen.conversion, outcome
        self.rows, self.rounds, self.skipped = summary.rows, evidence.rounds, summary.skipped
        self.regimes, self._restarts = regimes, chosen.on_drift == "restart"
        self.columns, self.feature_names = summary.columns, summary.names
        self._evidence, self._weights = evidence, weights
        self.delta, self.bound, self.loss = chosen.delta, chosen.bound, chosen.loss
        self._own = evidence if evidence.watched is None else replace(evidence, watched=self._chosen(evidence))
        self._options = {name: getattr(chosen, name) for name in OPTIONS}
        self._radius = job.radius if job.options["radius"] == "auto" else chosen.scaled_onto
        self.classes: tuple[Label, ...] = tuple(job.options["classes"])

    @property
    def delta_share(self) -> float:
        """What certificates have of the declared δ: all, or with on_drift="restart" the last start's share."""
        return self.regimes.share if self._restarts else 1.0

    @property
    def stopped(self) -> bool:
        """Whether the certificate has reached `stop_at`."""
        return self.outcome.stopped

    @property
    def width(self) -> int:
        """Features met."""
        return len(self._weights) - 1

    @property
    def mistakes(self) -> int:
        """Mistakes made on the way, in all chunks."""
        return self._evidence.mistakes

    def _must_be_sound(self) -> None:
        pass  # its weights were looked at when they were added

    def _answer(self, question: Question) -> Certificate:
        """The certificate of the one model that there is, over all chunks' rounds.

        Another δ, bound or loss changes what is claimed, not the model: the cutoff stays the one that was chosen.
        """
        self._must_be_own(question.conversion)
        return certify(self._own, self.conversion, delta=question.delta, bound=question.bound, loss=question.loss)

    def _deploy(self, certificate: Certificate, how: str) -> LinearModel:
        """The model of the conversion that was asked for before the first row."""
        if how != "combine":
            raise ConversionError("vote: the hypotheses were left on the workers; use how='combine'")
        watched = self._own.watched is not None and certificate.choice.value
        reading = score_reading(self._own, certificate, 0) if watched else ScoreReading()
        about, bias = self._about(certificate), self._evidence.terms.bias
        return LinearModel(self._weights, self.classes, bias, self._radius, about, *reading)

    def _evidence_now(self) -> Evidence:
        return self._own

    def _chosen(self, evidence: Evidence) -> WatchedEvidence:
        """What is known of the watched model that is deployed: whatever is asked later is answered of it alone."""
        watched, question = evidence.watched, self._question()
        assert watched is not None
        frozen = certify(evidence, "frozen", delta=question.delta, bound=self.bound, loss=self.loss).choice.value
        if not frozen:
            return watched
        line = np.flatnonzero(watched.counts.frozen == frozen)[:1]
        hinge = None if watched.hinge is None else Tally._make(array[line] for array in watched.hinge)
        counts, at_look = (Watched._make(array[line] for array in one) for one in (watched.counts, watched.at_look))
        return WatchedEvidence(counts, at_look, hinge, prices(evidence)[line])

    def _must_be_own(self, conversion: str) -> None:
        from onepass.scale.tasks import refuse

        if conversion != self.conversion:
            refuse(conversion, "grid", {})
            raise ConversionError(
                f"{conversion}: the workers sent the vectors of {self.conversion}; run again with "
                f"conversion={conversion!r}"
            )

    def _about(self, certificate: Certificate) -> dict[str, Any]:
        told = {"rows": self.rows, "rounds": self.rounds, "updates": self._evidence.updates, "mistakes": self.mistakes}
        scale = {"chunks": self.outcome.chunks, "waves": self.outcome.waves}
        return {
            "learner": repr(self.learner),
            "options": self._options,
            **told,
            "scale": scale,
            "certificate": certificate.as_dict(),
            **({"regimes": self.regimes.as_list()} if self.regimes.ended else {}),
        }

    def trace(self) -> Evidence:
        """The merged evidence of all chunks. The hypotheses themselves stayed on the workers."""
        return self._evidence

    def feed(self, X: Any, y: Any) -> None:
        """Refused: a merged model has no state to learn on from."""
        raise ConversionError("a model merged from several machines cannot learn on: fit again with all chunks")

    def feed_one(self, X: Any, y: Any) -> bool:
        """Refused, as `feed`."""
        self.feed(X, y)
        return False

    def without_rows(self) -> Merged:
        """Itself: it holds no rows."""
        return self
