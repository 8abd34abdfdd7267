"""validation: one of the hypotheses that were frozen during the pass, judged on rows kept out of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from onepass.conversions.choices import Choice, Choices, Conversion, Loss, totals
from onepass.conversions.single import Last
from onepass.errors import ConversionError
from onepass.rows import Floats, Ints
from onepass.trace import CandidateLosses, Evidence, Trace


class Validation(Conversion):
    """Candidate i was frozen at round 2^i; each of 64 costs δ/64."""

    name: ClassVar[str] = "validation"
    ensemble: ClassVar[bool] = False
    from_log: ClassVar[bool] = False
    betting_only: ClassVar[bool] = True
    unmergeable: ClassVar[str | None] = "candidates of one chunk are not judged on the rows kept out of the others"

    def choices(self, evidence: Evidence, loss: Loss) -> Iterator[Choices]:
        candidates = self._judged(evidence)
        i = candidates.number
        losses, log_bets = totals(candidates.tally, loss)
        yield Choices(1 << i, candidates.tally.rounds[i], losses[i], log_bets[i], np.full(i.size, 1.0 / 64.0))

    def _judged(self, evidence: Evidence) -> CandidateLosses:
        if evidence.candidates is None:
            raise ConversionError(
                "validation judges candidates during the pass: declare validation_fraction above 0 before the first row"
            )
        return evidence.candidates

    def members(self, trace: Trace, value: int | None) -> Ints:
        """There is nothing to vote on."""
        raise ConversionError("validation deploys one candidate: there is nothing to vote on")

    def weights(self, trace: Trace, value: int | None) -> Floats:
        """The candidate; before there is one (among rows that are not counted), the last hypothesis."""
        self._judged(trace)
        return trace.hypotheses.frozen[value].copy() if value else Last().weights(trace, None)

    def describe(self, value: int) -> Choice:
        return Choice(value, f"frozen at round {value:,}") if value else Choice(None, "not yet: the last hypothesis")
