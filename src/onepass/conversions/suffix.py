"""suffix: uniform over the last rounds, from a start chosen by the bound. (Dekel and Singer 2005.)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from onepass.conversions.choices import (
    Choice,
    Choices,
    Conversion,
    Loss,
    kinds_among,
    price,
    scaled_losses,
    suffix_sums,
)
from onepass.rows import Ints
from onepass.trace import Evidence, Trace
from onepass.trace.tally import BETS

BLOCK = 4096  # starts looked at together


class Suffix(Conversion):
    """Weights n_j for what was in use after round s, a border between two hypotheses; s costs δ/((s+1)(s+2)).

    Starts inside a run are never better: they drop rounds without loss.
    """

    name: ClassVar[str] = "suffix"
    ensemble: ClassVar[bool] = True
    unmergeable: ClassVar[str | None] = (
        "it needs the update rows of all chunks in one place, and they stay on the workers"
    )

    def choices(self, evidence: Evidence, loss: Loss) -> Iterator[Choices]:
        ended = evidence.need_updates(self.name)
        starts = np.cumsum(evidence.run_lengths) - evidence.run_lengths
        x = np.concatenate([scaled_losses(evidence, loss, ended), [0.0]])
        losses, after = suffix_sums(x), np.zeros(BETS.size)
        for stop in range(starts.size, 0, -BLOCK):
            part = slice(max(0, stop - BLOCK), stop)
            log_bets = suffix_sums(np.log1p(-np.outer(x[part], BETS))) + after
            after = log_bets[0]
            s = starts[part]
            yield Choices(s, evidence.rounds - s, losses[part], log_bets, price(s))

    def mistakes(self, evidence: Evidence, value: int) -> Ints:
        ended = evidence.need_updates(self.name)
        return kinds_among(evidence, ended, ended.round > value)

    def members(self, trace: Trace, start: int | None) -> Ints:
        """n_j from the start on."""
        trace.need_updates(self.name)
        begins = np.cumsum(trace.survival) - trace.survival
        return np.where(begins >= (start or 0), trace.survival, 0)

    def describe(self, value: int) -> Choice:
        return Choice(value, f"from round {value:,}")
