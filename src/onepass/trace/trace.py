"""The Trace: what a pass leaves behind, and all that conversions and certificates need."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np

from onepass.alarms import LabelTransitions, joint_order_reason
from onepass.duplicates import Duplicates, merged
from onepass.errors import ConversionError
from onepass.learners import Learner, Setting
from onepass.rows import Floats, Ints
from onepass.trace.columns import MARGIN, NUMBER, SURVIVAL, Columns, empty_columns
from onepass.trace.grid import floor_index
from onepass.trace.log import Log, coefficients, gather
from onepass.trace.tally import Tally

MANY = 1 << 20  # values of update rows that two threads add up sooner than one
GREW = " (or when normalising had raised the scale so far that sums of rows would have cancelled)"


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

    @property
    def outputs(self) -> int:
        """Columns of the weights."""
        return 1 if self.classes == 2 else self.classes


class Survivor(NamedTuple):
    """One hypothesis: its number, the rounds it was in use, and the margin that ended it (None while it lives)."""

    number: int
    survival: int
    margin: float | None
    part: int | None = None  # of a merged trace, the run that it comes from


class Counted(NamedTuple):
    """Rounds counted by one rule that was settled wave by wave: each wave's cutoff is fixed by the waves before it.

    Where the first wave's k was chosen from itself, or the wave to begin with among several, that has its price.
    """

    k: int  # of the first wave counted
    rounds: int
    tally: Tally  # one line
    price: float  # the share of δ


class Candidates(NamedTuple):
    """Hypotheses frozen at rounds fixed beforehand, and the losses they made on rows that came later."""

    number: Ints  # candidate i was frozen at round 2^i
    weights: tuple[Floats, ...]
    tally: Tally
    what: str  # "hypothesis" or "average"


@dataclass(frozen=True, eq=False)
class Trace:
    """The sequence of hypotheses of one pass, as the short list of its updates or, compacted, as grid columns.

    Members are what weights are given to: hypotheses 0, 1, … of the log, or after compaction the default hypothesis,
    the grid columns, the longest survivor and the last hypothesis.
    """

    terms: Terms
    rounds: int
    updates: int
    last: Floats  # (1 + features, outputs), intercept first
    alive: int  # rounds that the last hypothesis has been in use
    tally: Tally  # of the finished hypotheses, on the bins of the cutoff grid
    first: Survivor
    log: Log | None
    columns: Columns | None
    frozen: dict[str, Candidates] = field(default_factory=dict)  # by conversion
    void: tuple[str, ...] = ()  # reasons why no certificate may be given
    assumed: tuple[str, ...] = ()  # what certificates must say beyond their own assumptions
    pocket: Survivor | None = None  # the longest survivor, where neither log nor columns tell (merged traces)
    origin: Floats | None = None  # w_0, where the pass did not start at 0; as `last`, perhaps with fewer features
    elapsed: int = 0  # rounds before the first, which a falling learning rate has seen
    fineness: int = 3  # significant bits of the cutoffs that may be chosen, where no columns tell
    counted: Counted | None = None  # the rounds that a cutoff counts, where it was chosen wave by wave
    transitions: LabelTransitions | None = None  # of the labels in the order fed, where the order alarm was on
    streams: tuple[int, ...] = ()  # a hash of the rows fed, for each part merged, where the repeat alarm was on
    duplicates: Duplicates | None = None  # how often rows came, where that was counted

    @property
    def compacted(self) -> bool:
        return self.log is None

    @property
    def bits(self) -> int:
        """Significant bits of the cutoffs on offer."""
        return self.fineness if self.columns is None else self.columns.bits

    @property
    def mistakes(self) -> int:
        """Mistakes made on the way."""
        return int(self.tally.mistakes.sum())

    @cached_property
    def survival(self) -> Ints:
        """Rounds that each member was in use. They sum to `rounds` while the log is kept."""
        if self.log is not None:
            ends = np.concatenate([[0], self.log.round, [self.rounds]])
            return np.diff(ends).astype(np.int64)
        assert self.columns is not None
        return np.concatenate([[0], self.columns.survival, [0, self.alive]]).astype(np.int64)

    @cached_property
    def mass(self) -> Floats:
        """How many hypotheses each member stands for."""
        if self.columns is None:
            return np.ones(self.updates + 1)
        return np.concatenate([[1.0], self.columns.fold.mass, [1.0, 1.0]])

    @cached_property
    def longest(self) -> Survivor:
        """The hypothesis that was in use longest; of several, the first."""
        if self.pocket is not None:
            return self.pocket
        if self.log is not None:
            number = int(np.argmax(self.survival))
            margin = float(self.log.margin[number]) if number < self.updates else None
            return Survivor(number, int(self.survival[number]), margin)
        assert self.columns is not None
        fold = self.columns.fold
        if self.alive > fold.record[SURVIVAL]:
            return Survivor(self.updates, self.alive, None)
        return Survivor(int(fold.record[NUMBER]), int(fold.record[SURVIVAL]), float(fold.state[MARGIN]))

    def need_log(self, what: str) -> Log:
        """The log, or a refusal that says how to keep it."""
        if not self.terms.learner.keeps_rows:
            raise ConversionError(
                f"{what} needs update rows, and the hypotheses of {type(self.terms.learner).__name__} are no sums of "
                "rows (x − T changes with every row). Choose last, average, cutoff, or declare penalised."
            )
        if self.log is None:
            raise ConversionError(
                f"{what} needs the update rows, which were compacted: they outgrew max_trace_memory, or were left out "
                f"of a pickle{GREW if self.terms.learner.grows else ''}. Raise max_trace_memory (or set pickle_rows), "
                "or choose last, average, longest or cutoff."
            )
        return self.log

    def compact(self) -> Trace:
        """The same trace with its log folded into columns."""
        if self.log is None:
            return self
        width = len(self.last) - 1
        columns = empty_columns(width, self.terms.outputs, 1 << 62, self.origin)
        columns = columns.add(self.log, self.terms.bias, width)
        return replace(self, log=None, columns=columns)


def combine(trace: Trace, q: Ints) -> Floats:
    """Σ_j q_j·w_j / Σ_j q_j: one weight vector (1 + features, outputs), intercept first, from integer weights q.

    One walk over the update rows; no w_j is ever formed. Divides once, last.
    """
    if len(q) != len(trace.survival) or (q < 0).any() or not q.any():
        raise ValueError(f"q: {len(trace.survival)} weights expected, none negative and not all zero")
    weights = weigh(trace, q)
    weights /= float((q * trace.mass).sum())
    return weights


def weigh(trace: Trace, q: Ints) -> Floats:
    """Σ_j q_j·w_j: `combine` before its division, which is what several machines add up."""
    if trace.log is None:
        assert trace.columns is not None
        weights = trace.columns.combine(q[1:-2].astype(np.float64))
        if q[-2]:
            weights += q[-2] * trace.columns.fold.longest.reshape(weights.shape)
        if q[-1]:
            weights += q[-1] * trace.last
        if q[0] and trace.origin is not None:
            weights[: len(trace.origin)] += q[0] * trace.origin
        return weights
    weights = np.zeros_like(trace.last)
    coefficient = np.empty(trace.updates)
    everywhere = coefficients(trace.log, q, coefficient)
    if trace.origin is not None:
        weights[: len(trace.origin)] = everywhere * trace.origin
    values = trace.log.values.size
    if values < MANY or values < weights.size:
        _gather(trace, coefficient, weights, 0, trace.updates)
        return weights
    half, rest = trace.updates // 2, np.zeros_like(weights)
    with ThreadPoolExecutor(1, "onepass-gather") as helper:  # in two halves on any machine: the same bits
        later = helper.submit(_gather, trace, coefficient, rest, half, trace.updates)
        _gather(trace, coefficient, weights, 0, half)
        later.result()
    weights += rest
    return weights


def _gather(trace: Trace, coefficient: Floats, weights: Floats, first: int, last: int) -> None:
    """weights += Σ coefficient_i·direction_i over updates first..last, in calls that Ctrl-C need not wait for."""
    assert trace.log is not None
    for start in range(first, last, 1 << 15):
        gather(trace.log, coefficient, trace.terms.bias, weights, start, min(start + (1 << 15), last))


def merge(traces: Sequence[Trace]) -> Trace:
    """One trace for several runs over consecutive parts of one stream, each started afresh; the order is theirs.

    Hypotheses of later parts depend only on earlier rows, as in one run, and their restart is a constant: so one
    certificate covers all the rounds. Runs never cross a border, and only the first part's default hypothesis counts
    a round more. A part may start at an `origin` made from parts before it: that, too, depends on earlier rows only.

    The traces must have equal terms; what comes out is compacted. Frozen candidates belong to one run and are left out.
    Rows that were fed to two of the runs are refused, and labels whose order over all parts no independent draws would
    show void the certificate, as they do in one run.
    """
    if not traces:
        raise ValueError("traces: at least one expected")
    if not traces[0].terms.learner.keeps_rows:
        raise ConversionError(
            f"{type(traces[0].terms.learner).__name__}: its traces cannot be merged; run it in one pass"
        )
    if len({trace.terms._replace(labels=()) for trace in traces}) > 1:
        raise ValueError("traces: they must come from passes with the same terms")
    if len({trace.terms.labels for trace in traces}) > 1:
        raise ValueError("traces: their passes met other labels, or in another order; declare `classes` in all of them")
    _refuse_the_same_rows(traces)
    parts = [trace.compact() for trace in traces]
    tallies = [_closed(part) for part in parts]
    width = max(len(part.last) for part in parts)
    columns = reduce(lambda a, b: a + b, (_alive_entered(part, width) for part in parts))
    where = max(range(len(parts)), key=lambda p: (parts[p].longest.survival, -p))
    pocket = parts[where].longest
    weights = np.zeros((width, traces[0].terms.outputs))
    best = combine(parts[where], _only(len(parts[where].survival), -1 if pocket.margin is None else -2))
    weights[: len(best)] = best
    columns.fold.longest[:] = weights.reshape(-1)
    return Trace(
        terms=traces[0].terms,
        rounds=sum(part.rounds for part in parts),
        updates=sum(part.updates for part in parts),
        last=parts[-1].last,
        alive=0,
        tally=Tally._make(reduce(np.add, column) for column in zip(*tallies, strict=True))._replace(
            product=np.ones_like(tallies[0].product)
        ),
        first=parts[0].first,
        log=None,
        columns=columns,
        void=tuple(dict.fromkeys((*(reason for part in parts for reason in part.void), *_joint_order(parts)))),
        assumed=tuple(dict.fromkeys(text for part in parts for text in part.assumed)),
        pocket=pocket._replace(part=where),
        origin=parts[0].origin,
        transitions=_joined(parts),
        streams=tuple(key for part in parts for key in part.streams),
        duplicates=_counted_together(parts),
    )


def _refuse_the_same_rows(traces: Sequence[Trace]) -> None:
    """Parts of one stream share no rows: nobody may be counted twice."""
    first: dict[int, int] = {}  # a hash of rows (or which object it is, where rows were not watched) → its part
    for p, trace in enumerate(traces):
        for key in trace.streams or (id(trace),):
            if key in first:
                raise ValueError(
                    f"traces: part {p} comes from the same rows as part {first[key]}, which would count them twice; "
                    "merge traces of different parts of a stream"
                )
            first[key] = p


def _joined(parts: Sequence[Trace]) -> LabelTransitions | None:
    """The labels of all parts, one after another; None if the order alarm was off in one of them."""
    known = [part.transitions for part in parts if part.transitions is not None]
    return reduce(LabelTransitions.followed_by, known) if len(known) == len(parts) else None


def _joint_order(parts: Sequence[Trace]) -> tuple[str, ...]:
    """Why the order of the labels, over the parts, voids a certificate, if no part alone was noticed."""
    labels = _joined(parts)
    reason = None
    if labels is not None and not any(part.void for part in parts):
        reason = joint_order_reason(labels, f"the end of part {len(parts) - 1}")
    return () if reason is None else (reason,)


def _counted_together(parts: Sequence[Trace]) -> Duplicates | None:
    sketches = [part.duplicates for part in parts if part.duplicates is not None]
    return reduce(merged, sketches) if len(sketches) == len(parts) else None


def _closed(trace: Trace) -> Tally:
    """The tally with the hypothesis still in use entered (it made no loss) and all logarithms taken."""
    tally = Tally._make(part.copy() for part in trace.tally)
    if trace.alive:
        group = floor_index(trace.alive - 1)
        tally.runs[group] += 1
        tally.rounds[group] += trace.alive
    return tally._replace(logs=tally.logs + np.log(tally.product), product=np.ones_like(tally.product))


def _alive_entered(trace: Trace, width: int) -> Columns:
    assert trace.columns is not None
    last = np.zeros((width, trace.terms.outputs))
    last[: len(trace.last)] = trace.last
    return trace.columns.with_alive(trace.alive, last)


def _only(members: int, one: int) -> Ints:
    q = np.zeros(members, dtype=np.int64)
    q[one] = 1
    return q
