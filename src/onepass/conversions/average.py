"""average: every round counts the hypothesis in use. (The voted Perceptron is this, voted.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from onepass.conversions.choices import Choice, Choices, Conversion, one_choice, totals
from onepass.rows import Ints
from onepass.trace import Evidence, Trace


class Average(Conversion):
    """Weights n_j: B ≡ 1, one rule, so it costs nothing to choose."""

    name: ClassVar[str] = "average"
    ensemble: ClassVar[bool] = True
    family: ClassVar[bool] = False

    def choices(self, evidence: Evidence, loss: str) -> Iterator[Choices]:
        losses, log_bets = totals(evidence.tally, loss)
        yield one_choice(0, evidence.rounds, float(losses.sum()), log_bets.sum(axis=0), 1.0)

    def members(self, trace: Trace, value: int | None = None) -> Ints:
        """n_j."""
        return trace.survival.copy()

    def describe(self, value: int) -> Choice:
        return Choice(None, "")
