"""The Trace: what a pass leaves behind, its evidence and its hypotheses together."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from onepass.rows import Floats, Ints
from onepass.trace.columns import Columns, empty_columns
from onepass.trace.evidence import Evidence
from onepass.trace.hypotheses import Hypotheses
from onepass.trace.log import Log


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace(Evidence):
    """Evidence, from which certificates are made, with the hypotheses, from which models are."""

    hypotheses: Hypotheses
    elapsed: int = 0  # rounds before the first, which a falling learning rate has seen

    @property
    def last(self) -> Floats:
        """The living hypothesis, (1 + features, outputs), intercept first."""
        return self.hypotheses.last

    @property
    def survival(self) -> Ints:
        """Rounds that each member was in use."""
        if self.dropped:
            self.need_updates("the survival of every hypothesis")
        return self.hypotheses.survival

    @property
    def log(self) -> Log | None:
        """The updates, while they are kept."""
        return self.hypotheses.log

    @property
    def columns(self) -> Columns | None:
        """What they became when they outgrew their room."""
        return self.hypotheses.columns

    def evidence(self) -> Evidence:
        """The evidence alone, without what later rows would overwrite: each hypothesis by itself."""
        parts = {part.name: getattr(self, part.name) for part in fields(Evidence)}
        pocket = self.pocket if self.pocket is not None or self.dropped else self.longest
        return Evidence(**{**parts, "ended": None, "pocket": pocket})

    def compact(self) -> Trace:
        """The same trace with its log folded into columns."""
        log = self.log
        if self.dropped:
            self.need_updates("this")
        if log is None:
            return self
        width = len(self.last) - 1
        columns = empty_columns(width, self.terms.outputs, 1 << 62, self.hypotheses.origin)
        columns = columns.add(log, self.terms.bias, width)
        hypotheses = replace(self.hypotheses, log=None, columns=columns)
        pocket = columns.longest(self.updates, self.alive)
        return replace(self, ended=None, pocket=pocket, fineness=columns.bits, hypotheses=hypotheses)


def combine(trace: Trace, q: Ints) -> Floats:
    """Σ_j q_j·w_j / Σ_j q_j: one weight vector (1 + features, outputs), intercept first, from integer weights q."""
    return trace.hypotheses.combine(q)
