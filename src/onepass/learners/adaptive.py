"""Adaptive: columns standardised, rows divided by their length and steps chosen per column, all on the way.

Conservative: the hypothesis (w, b), in the user's own columns, and everything else change only in rounds with loss. The
loss asks for a margin of 1 in standardised columns; a row of n non-zeros has about the length √(1 + n) there, so a
round has no loss if margin² ≥ 1 + n. `onepass.runs.adapting` has the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from onepass.learners.learner import Learner, Setting


class AdaptiveRule(NamedTuple):
    """Nothing is left to choose."""


@dataclass(frozen=True)
class Adaptive(Learner):
    """Learns scales, centres and rates from the rows it errs on; there is no parameter to tune.

    Multiplying a column by any number changes nothing but rounding, and so does the order of columns.

    Examples
    --------
    >>> Adaptive()
    Adaptive()
    """

    drives: ClassVar[str] = "margin"
    deltas: ClassVar[bool] = True
    statistics: ClassVar[int] = 8

    def rule(self, setting: Setting) -> AdaptiveRule:
        return AdaptiveRule()
