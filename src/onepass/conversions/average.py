"""average: every round counts the hypothesis in use. (The voted Perceptron is this, voted.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from onepass.conversions.choices import Choice, Choices, Conversion, Loss, one_choice, totals
from onepass.rows import Floats, Ints
from onepass.trace import Evidence, Trace


class Average(Conversion):
    """Weights n_j: B ≡ 1, one rule, so it costs nothing to choose."""

    name: ClassVar[str] = "average"
    ensemble: ClassVar[bool] = True
    family: ClassVar[bool] = False
    from_log: ClassVar[bool] = False

    def choices(self, evidence: Evidence, loss: Loss) -> Iterator[Choices]:
        losses, log_bets = totals(evidence.tally, loss)
        yield one_choice(0, evidence.rounds, float(losses.sum()), log_bets.sum(axis=0), 1.0)

    def mistakes(self, evidence: Evidence, value: int) -> Ints:
        return np.asarray(evidence.tally.kinds.sum(axis=0))

    def members(self, trace: Trace, value: int | None = None) -> Ints:
        """n_j."""
        return trace.survival.copy()

    def weights(self, trace: Trace, value: int | None) -> Floats:
        """From the running sum, where the learner keeps one: the same bits whether the log is kept or not."""
        total = trace.hypotheses.total
        return super().weights(trace, value) if total is None else np.asarray(total / max(1, trace.rounds))

    def describe(self, value: int) -> Choice:
        return Choice(None, "")
