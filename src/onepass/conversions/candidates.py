"""penalised and validation: one of the candidates that were frozen during the pass, exactly as it was watched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from onepass.conversions.choices import Choice, Choices, Conversion, price, totals
from onepass.errors import ConversionError
from onepass.rows import Floats, Ints
from onepass.trace import CandidateLosses, Evidence, Trace


class _Frozen(Conversion):
    """Candidate i, frozen at round 2^i, on the rows that came later."""

    name: ClassVar[str]
    ensemble: ClassVar[bool] = False
    from_log: ClassVar[bool] = False
    declared_by: ClassVar[str]  # what must be said before the first row

    def choices(self, evidence: Evidence, loss: str) -> Iterator[Choices]:
        candidates = self._watched(evidence)
        i = candidates.number
        losses, log_bets = totals(candidates.tally, loss)
        yield Choices(1 << i, candidates.tally.rounds[i], losses[i], log_bets[i], self._price(i))

    def _price(self, number: Ints) -> Floats:
        raise NotImplementedError

    def _watched(self, evidence: Evidence) -> CandidateLosses:
        if self.name not in evidence.candidates:
            raise ConversionError(
                f"{self.name} watches candidates during the pass: declare {self.declared_by} before the first row"
            )
        return evidence.candidates[self.name]

    def members(self, trace: Trace, value: int | None) -> Ints:
        """There is nothing to vote on."""
        raise ConversionError(f"{self.name} deploys one candidate: there is nothing to vote on")

    def weights(self, trace: Trace, value: int | None) -> Floats:
        self._watched(trace)
        return trace.hypotheses.frozen[self.name][value or 0].copy()

    def describe(self, value: int) -> Choice:
        return Choice(value, f"frozen at round {value:,}")


class Penalised(_Frozen):
    """Watched on the rows that are learned after it. See Cesa-Bianchi and Gentile 2006; i costs δ/((i+1)(i+2))."""

    name: ClassVar[str] = "penalised"
    unmergeable: ClassVar[str | None] = "candidates frozen in one chunk are not watched on the rows of the others"
    declared_by: ClassVar[str] = "penalised='average'"

    def _price(self, number: Ints) -> Floats:
        return np.asarray(price(number))


class Validation(_Frozen):
    """Watched on rows that are kept out of the pass; each of 64 costs δ/64."""

    name: ClassVar[str] = "validation"
    betting_only: ClassVar[bool] = True
    unmergeable: ClassVar[str | None] = "candidates of one chunk are not judged on the rows kept out of the others"
    declared_by: ClassVar[str] = "validation_fraction above 0"

    def _price(self, number: Ints) -> Floats:
        return np.full(number.size, 1.0 / 64.0)
