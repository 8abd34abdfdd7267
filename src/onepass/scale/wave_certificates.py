"""What is certified while waves go: of the waves done, and of these and the first chunks of the one at hand.

The cutoff counts from the wave on that gives the best certificate, each of the w waves at δ/w: early waves know less
than the last.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from onepass.certificates import Certificate, certify
from onepass.guards.drift import drift_reason, joint_drift
from onepass.passes import Pass
from onepass.regimes import Regimes
from onepass.scale.inputs import Inputs
from onepass.scale.summaries import Summary, count, evidence_of, together
from onepass.scale.waves_done import WavesDone, joined
from onepass.trace import Evidence, SettledCutoff, WatchedEvidence


class Known(NamedTuple):
    """What the certificate of a prefix needs beside it."""

    before: Summary | None  # of the waves done, since a drift
    settled: list[SettledCutoff]  # of them, at their cutoffs
    watched: WatchedEvidence | None  # of frozen models, the prefix included
    regimes: Regimes


class WaveCertificates:
    """Certificates of a run over these chunks in so many waves, as `chosen` has declared them."""

    def __init__(self, chosen: Pass, inputs: Inputs, waves: int) -> None:
        self.chosen, self.inputs, self.waves = chosen, inputs, waves

    def certify(self, evidence: Evidence, regimes: Regimes) -> Certificate:
        """Of this evidence, after these regimes."""
        told, delta = self.chosen, self.chosen.delta
        if told.on_drift == "restart":
            delta *= regimes.share
        return certify(evidence, told.conversion, delta=delta, bound=told.bound, loss=told.loss)

    def noted(self, summary: Summary) -> Summary:
        """With what is known of the files, and of lines left out."""
        void = tuple(dict.fromkeys((*summary.void, *self.inputs.void)))
        assumed = summary.assumed
        if summary.skipped:
            assumed = (*assumed, "bad lines were left out, which is no fault of their labels")
        return summary._replace(void=void, assumed=tuple(dict.fromkeys(assumed)))

    def next_cutoff(self, done: WavesDone) -> int | None:
        """The cutoff of the next wave, from the one before it; None: to be chosen from the wave itself."""
        if self.chosen.conversion != "cutoff":
            return 0
        return None if done.last is None else self.best_cutoff(done.last, done.regimes)

    def best_cutoff(self, summary: Summary, regimes: Regimes) -> int | None:
        """The one that this summary's own certificate would choose."""
        found: int | None = self.certify(evidence_of(summary), regimes).choice.value
        return found

    def best(self, summary: Summary, settled: list[SettledCutoff], regimes: Regimes) -> tuple[Evidence, int]:
        """The evidence of all rounds, and the wave from which a cutoff counts: that with the smallest bound."""
        evidence = evidence_of(summary)
        if len(self.inputs.chunks) > 1:
            evidence = replace(evidence, pocket=summary.longest)
        if self.chosen.conversion != "cutoff":
            return evidence, 0
        starts = [replace(evidence, settled=together(settled[wave:], self.waves)) for wave in range(len(settled))]
        risks = [self.certify(replace(one, void=()), regimes).risk for one in starts]
        best = int(np.argmin(risks))
        return starts[best], best

    def watched(self, summary: Summary, watched: WatchedEvidence, regimes: Regimes) -> Evidence:
        """The evidence of all rounds, with what is known of frozen models and was declared of them."""
        told = self.chosen
        target = None if told.target is None else (told.target.kind, told.target.limit)
        terms = summary.terms._replace(cost=told.cost, target=target)
        found = joint_drift(summary.drift)
        assumed = tuple(dict.fromkeys((*summary.assumed, *regimes.words)))
        evidence = replace(evidence_of(summary), terms=terms, watched=watched, drift=found, assumed=assumed)
        reason = None if told.on_drift == "ignore" else drift_reason(found)
        return evidence if reason is None else replace(evidence, void=(*evidence.void, reason))

    def of_done(self, done: WavesDone, watched: WatchedEvidence | None) -> Certificate:
        """Of the waves done."""
        if watched is None:
            return self.certify(self.best(done.since_drift, done.settled, done.regimes)[0], done.regimes)
        return self.certify(self.watched(done.since_drift, watched, done.regimes), done.regimes)

    def so_far(self, known: Known, prefix: Summary | None, k: int | None) -> Certificate | None:
        """The certificate of all rounds up to the prefix's end."""
        before, settled, watched, regimes = known
        if prefix is None and before is None:
            return None
        if self.chosen.conversion == "frozen":
            summary = before if prefix is None else joined(before, self.noted(prefix))
            assert summary is not None
            return None if watched is None else self.certify(self.watched(summary, watched, regimes), regimes)
        if prefix is None:
            assert before is not None
            return self.certify(self.best(before, settled, regimes)[0], regimes)
        prefix = self.noted(prefix)
        if before is None:
            k = self.best_cutoff(prefix, regimes) or 0
        assert k is not None
        settled = [*settled, count(prefix, k, before is None)]
        return self.certify(self.best(joined(before, prefix), settled, regimes)[0], regimes)


def enough(certificate: Certificate, stop_at: float) -> bool:
    """Whether a certificate has reached what was asked for."""
    return certificate.withheld is None and certificate.risk <= stop_at
