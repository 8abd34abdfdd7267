"""Evidence: all that a certificate needs of a pass. It holds no weights, and it merges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from onepass.costs import Costs, costs_of
from onepass.errors import ConversionError
from onepass.guards.drift import DriftEvidence
from onepass.guards.duplicates import Duplicates
from onepass.guards.order import LabelTransitions
from onepass.learners import Learner, Setting
from onepass.outputs import outputs_of
from onepass.rows import Floats, Ints
from onepass.trace.grid import floor_index
from onepass.trace.kinds import MistakeKinds, mistake_kinds
from onepass.trace.log import Deltas, Log
from onepass.trace.tally import Tally
from onepass.trace.watched import WatchedEvidence


class Terms(NamedTuple):
    """What was agreed before the first row."""

    learner: Learner
    setting: Setting
    classes: int = 2
    bias: float = 1.0  # the constant feature: 1 with an intercept, 0 without
    loss_bound: float | None = None  # C of the hinge loss, where it has one
    horizon: int | None = None
    cutoffs: str = "grid"
    labels: tuple[Any, ...] = ()  # as they are coded: of two, the first is −1
    expected_rows: int | None = None  # as declared: it sets prices and nothing else
    positive: Any = None  # the class that false alarms and misses speak of
    cost: tuple[tuple[Any, Any, float], ...] | None = None  # of (label, prediction), where mistakes are not alike
    target: tuple[str, float] | None = None  # of a threshold: the kind of rate, and its limit

    @property
    def outputs(self) -> int:
        """Columns of the weights."""
        return outputs_of(self.classes)

    @property
    def costs(self) -> Costs | None:
        """What was declared of costs, by the labels' numbers."""
        return None if self.cost is None else costs_of(self.cost, self.labels)

    @property
    def kinds(self) -> MistakeKinds:
        """Which mistakes are told apart."""
        return mistake_kinds(self.classes, self.costs)


class Survivor(NamedTuple):
    """One hypothesis: its number, the rounds it was in use, and the margin that ended it (None while it lives)."""

    number: int
    survival: int
    margin: float | None
    part: int | None = None  # of merged evidence, the run that it comes from
    kind: int = -1  # of the mistake that ended it, where it was the first; −1: it was none, or is not known


class Updates(NamedTuple):
    """When each finished hypothesis ended, by what margin and on what row; known while the log is kept."""

    round: Ints
    margin: Floats
    log: Log  # which says what label the row had, and what it was taken for

    def kinds(self, table: Ints) -> Ints:
        """The kind that a mistake in place of each would have, or was."""
        classes, columns = table.shape
        if isinstance(self.log, Deltas):
            label, rival = np.divmod(self.log.rival, len(table))
        elif classes > 2:
            label, rival = self.log.label, self.log.rival
        else:
            label = (self.log.label > 0).astype(np.int32)
            rival = 1 - label
        return np.asarray(table[label, rival % columns])


class SettledCutoff(NamedTuple):
    """Rounds counted by one rule that was settled wave by wave: each wave's cutoff is fixed by the waves before it.

    Where the first wave's k was chosen from itself, or the wave to begin with among several, that has its price.
    """

    k: int  # of the first wave counted
    rounds: int
    tally: Tally  # one line
    price: float  # the share of δ


class CandidateLosses(NamedTuple):
    """What hypotheses frozen at rounds fixed beforehand have lost on rows that came later."""

    number: Ints  # candidate i was frozen at round 2^i
    tally: Tally  # line i is candidate i's


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """The losses of one pass, or of several that follow each other, in the form that certificates need."""

    terms: Terms
    rounds: int
    updates: int  # hypotheses that have ended
    alive: int  # rounds that the living hypothesis has been in use
    tally: Tally  # of the finished hypotheses, on the bins of the cutoff grid
    first: Survivor
    ended: Updates | None = None  # every finished hypothesis by itself, while the log is kept
    pocket: Survivor | None = None  # the longest survivor, where it is not to be found in `ended`
    candidates: CandidateLosses | None = None  # of the conversion `validation`
    watched: WatchedEvidence | None = None
    void: tuple[str, ...] = ()  # reasons why no certificate may be given
    assumed: tuple[str, ...] = ()  # what certificates must say beyond their own assumptions
    merged: bool = False  # whether several runs left this
    fineness: int = 3  # significant bits of the cutoffs that may be chosen
    dropped: bool = False  # whether the log was let go, since the declared conversion does not need it
    settled: SettledCutoff | None = None  # the rounds that a cutoff counts, where it was chosen wave by wave
    transitions: LabelTransitions | None = None  # of the labels in the order fed, where the order alarm was on
    streams: tuple[int, ...] = ()  # a hash of the rows fed, for each part merged, where the repeat alarm was on
    duplicates: Duplicates | None = None  # how often rows came, where that was counted
    drift: DriftEvidence | None = None  # that the rows drift; None: not tested, since no model was watched

    @property
    def compacted(self) -> bool:
        """Whether the hypotheses are known only by the grid."""
        return self.ended is None

    @property
    def mistakes(self) -> int:
        """Mistakes made on the way."""
        return int(self.tally.mistakes.sum())

    @cached_property
    def run_lengths(self) -> Ints:
        """Rounds that each hypothesis was in use, the living one last."""
        ended = self.need_updates("the survival of every hypothesis")
        return np.diff(np.concatenate([[0], ended.round, [self.rounds]])).astype(np.int64)

    @cached_property
    def longest(self) -> Survivor:
        """The hypothesis that was in use longest; of several, the first."""
        if self.pocket is not None:
            return self.pocket
        ended = self.need_updates("longest")
        number = int(np.argmax(self.run_lengths))
        margin = float(ended.margin[number]) if number < self.updates else None
        return Survivor(number, int(self.run_lengths[number]), margin)

    def with_living(self) -> Tally:
        """The tally with the hypothesis still in use entered: it has made no loss."""
        runs, rounds = self.tally.runs.copy(), self.tally.rounds.copy()
        if self.alive:
            group = floor_index(self.alive - 1)
            runs[group] += 1
            rounds[group] += self.alive
        return self.tally._replace(runs=runs, rounds=rounds)

    def need_updates(self, what: str) -> Updates:
        """Every finished hypothesis by itself, or a refusal that says how to keep them."""
        learner = self.terms.learner
        if not learner.keeps_rows:
            raise ConversionError(
                f"{what} needs update rows, and the hypotheses of {type(learner).__name__} are no sums of "
                "rows (x − T changes with every row). Choose frozen, last, average or cutoff."
            )
        if self.dropped:
            raise ConversionError(
                f"{what} needs the change of every update, and these were let go: they outgrew their room, and the "
                "declared conversion does without them. Declare cutoff, longest or suffix before the first row, or "
                "choose frozen, last or average."
            )
        if self.ended is None:
            grew = " (or when normalising had raised the scale so far that sums of rows would have cancelled)"
            raise ConversionError(
                f"{what} needs the update rows, which were compacted: they outgrew max_trace_memory, or were left out "
                f"of a pickle{grew if learner.grows else ''}. Raise max_trace_memory (or set pickle_rows), "
                "or choose last, average, longest or cutoff."
            )
        return self.ended
