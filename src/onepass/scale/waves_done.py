"""What the waves that are done have come to: all that the next one needs, and all that a checkpoint holds of them.

Where rows were seen to drift, certificates begin anew: what came before is kept apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.guards.drift import DriftEvidence
from onepass.learners import Learner
from onepass.outputs import outputs_of
from onepass.regimes import Regimes
from onepass.rows import Floats
from onepass.scale.summaries import Summary, count, merge
from onepass.scale.tasks import WaveStart
from onepass.scale.wave_states import (
    WHAT,
    need_vector,
    plain_settled,
    plain_start,
    plain_summary,
    plain_terms,
    regimes_from,
    settled_from,
    start_from,
    summary_from,
    terms_from,
)
from onepass.state_checks import is_count, need
from onepass.tables.plan import TablePlan
from onepass.trace import SettledCutoff

SUMMARIES = ("before", "past", "last")


class WavesDone:
    """So many waves, and what is known of them.

    >>> done = WavesDone()
    >>> done.number, done.rows, done.rounds, done.one_label_only
    (0, 0, 0, False)
    """

    def __init__(self) -> None:
        self.number = 0
        self.origin: WaveStart | None = None  # of the next
        self.last: Summary | None = None  # of the last one alone, where the next cutoff follows from it
        self.vectors: list[Floats] = []  # of each wave
        self.settled: list[SettledCutoff] = []  # of each, at its cutoff
        self.cutoffs: list[int] = []
        self.before: Summary | None = None  # of all, since a drift
        self.past: Summary | None = None  # of those before it
        self.regimes = Regimes()
        self.firsts: list[int] = []  # the number of each chunk's first row, and of the one after the last

    def enter(self, summary: Summary, k: int, rows: list[int]) -> None:
        """All chunks of a wave, of so many rows each, have come back; k is its cutoff."""
        self.firsts = np.cumsum([*np.diff(self.firsts or [1], prepend=0), *rows]).tolist()
        self.settled.append(count(summary, k, self.number == 0))
        self.cutoffs.append(k)
        self.before = joined(self.before, summary)

    def restart(self, found: DriftEvidence) -> None:
        """Certificates begin anew with the next wave: this is the evidence that rows drift, by chunks."""
        before = self.since_drift
        since = self.firsts[found.since] - self.regimes.first + 1
        mistakes = int(before.tally.mistakes.sum())
        self.regimes.restart(self.rows, before.rounds, mistakes, found._replace(since=since), None)
        self.past, self.before = joined(self.past, before), None

    @property
    def since_drift(self) -> Summary:
        """Of the waves that certificates speak of: there is one."""
        assert self.before is not None
        return self.before

    @property
    def whole(self) -> Summary:
        """Of all waves, those before a drift included."""
        return joined(self.past, self.since_drift)

    @property
    def rows(self) -> int:
        """Of all waves."""
        return self.firsts[-1] - 1 if self.firsts else 0

    @property
    def rounds(self) -> int:
        """Of all waves."""
        return sum(part.rounds for part in (self.past, self.before) if part is not None)

    @property
    def one_label_only(self) -> bool:
        """Whether all rows so far had the same label."""
        return self.before is not None and np.count_nonzero(self.before.labels.seen) == 1

    # --- what a checkpoint holds --------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What changes, in values that a checkpoint can hold, sharing arrays."""
        known = self.before or self.past
        return {
            "wave": self.number,
            "terms": None if known is None else plain_terms(known.terms),
            **{name: plain_summary(getattr(self, name)) for name in SUMMARIES},
            "origin": plain_start(self.origin),
            "vectors": tuple(self.vectors),
            "settled": plain_settled(self.settled),
            "cutoffs": tuple(self.cutoffs),
            "firsts": tuple(self.firsts),
            "regimes": tuple(tuple(one) for one in self.regimes.ended),
        }

    @classmethod
    def from_state(
        cls, state: dict[str, Any], ends: list[int], learner: Learner, classes: int, table: Any
    ) -> WavesDone:
        """What `state` gave, of a run whose waves end with so many chunks each; CheckpointError if it can be none."""
        need(is_count(state["wave"]) and 0 < state["wave"] < len(ends), WHAT)
        found, firsts = cls(), state["firsts"]
        need(isinstance(firsts, tuple) and len(firsts) == ends[state["wave"] - 1] + 1, WHAT)
        need(all(map(is_count, firsts)) and firsts[0] == 1 and bool((np.diff(firsts) >= 0).all()), WHAT)
        found.number, found.firsts = state["wave"], list(firsts)
        found._adopt_summaries(state, learner, classes, table)
        found._adopt_vectors(state, outputs_of(classes), learner)
        found.regimes.ended = regimes_from(state["regimes"], found.rows)
        return found

    def _adopt_summaries(self, state: dict[str, Any], learner: Learner, classes: int, table: TablePlan | None) -> None:
        terms = terms_from(state["terms"], learner, classes)
        self.before, self.past, self.last = (summary_from(state[name], terms, table) for name in SUMMARIES)
        known = [part for part in (self.before, self.past) if part is not None]
        need(known and sum(part.rows for part in known) == self.rows, WHAT)

    def _adopt_vectors(self, state: dict[str, Any], outputs: int, learner: Learner) -> None:
        self.origin = start_from(state["origin"], outputs, learner.deltas)
        self.settled = settled_from(state["settled"])
        need(isinstance(state["vectors"], tuple) and isinstance(state["cutoffs"], tuple), WHAT)
        need(len(self.settled) == len(state["cutoffs"]) == self.number and all(map(is_count, state["cutoffs"])), WHAT)
        for vector in state["vectors"]:
            need_vector(vector, outputs)
        self.vectors, self.cutoffs = list(state["vectors"]), list(state["cutoffs"])


def joined(before: Summary | None, following: Summary) -> Summary:
    """The summary of the waves done and of this one, or a part of it, without what it showed of candidates."""
    return following._replace(watched=None) if before is None else merge(before, following)
