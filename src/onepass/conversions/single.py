"""last and longest: one hypothesis of the sequence, deployed as it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from onepass.conversions.choices import Choice, Choices, Conversion, Loss, one_choice, price, scaled_loss
from onepass.errors import ConversionError
from onepass.rows import Floats, Ints
from onepass.trace import CompactedMembers, Evidence, Survivor, Trace
from onepass.trace.tally import BETS


class _Single(Conversion):
    """B = 1 while hypothesis j is in use; j costs δ/((j+1)(j+2)), in merged evidence its part p likewise."""

    name: ClassVar[str]
    ensemble: ClassVar[bool] = False

    def _choices(self, evidence: Evidence, loss: Loss, survivor: Survivor) -> Iterator[Choices]:
        x = scaled_loss(evidence, loss, survivor)
        share = price(survivor.number) * (1.0 if survivor.part is None else price(survivor.part))
        yield one_choice(survivor.number, survivor.survival, x, np.log1p(-BETS * x), share)

    def describe(self, value: int) -> Choice:
        return Choice(value, "")


class Last(_Single):
    """The final hypothesis."""

    name: ClassVar[str] = "last"
    from_log: ClassVar[bool] = False
    unmergeable: ClassVar[str | None] = "each chunk has a last hypothesis of its own, and none has seen all rows"

    def choices(self, evidence: Evidence, loss: Loss) -> Iterator[Choices]:
        if evidence.merged:
            raise ConversionError("last: a merged trace has no last hypothesis of its own to certify; choose cutoff")
        return self._choices(evidence, loss, Survivor(evidence.updates, evidence.alive, None))

    def members(self, trace: Trace, value: int | None = None) -> Ints:
        """All weight on the living hypothesis."""
        return trace.hypotheses.only(CompactedMembers.LAST)

    def weights(self, trace: Trace, value: int | None) -> Floats:
        """The living hypothesis, as the log gives it while there is one."""
        return trace.last.copy() if trace.dropped else super().weights(trace, value)


class Longest(_Single):
    """The hypothesis that was in use longest: the pocket algorithm."""

    name: ClassVar[str] = "longest"

    def choices(self, evidence: Evidence, loss: Loss) -> Iterator[Choices]:
        if not evidence.terms.learner.keeps_rows or evidence.dropped:
            evidence.need_updates(self.name)
        return self._choices(evidence, loss, evidence.longest)

    def members(self, trace: Trace, value: int | None = None) -> Ints:
        """All weight on the longest survivor."""
        if trace.log is not None:
            return trace.hypotheses.only(trace.longest.number)
        living = not trace.merged and trace.longest.margin is None
        return trace.hypotheses.only(CompactedMembers.LAST if living else CompactedMembers.LONGEST)
