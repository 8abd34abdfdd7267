"""Several runs over consecutive parts of one stream, as one trace."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from onepass.errors import ConversionError
from onepass.guards.duplicates import Duplicates, merged
from onepass.guards.order import LabelTransitions, joint_order_reason
from onepass.trace.columns import Columns
from onepass.trace.evidence import Survivor
from onepass.trace.hypotheses import CompactedMembers, Hypotheses
from onepass.trace.tally import Tally
from onepass.trace.trace import Trace


def merge(traces: Sequence[Trace]) -> Trace:
    """One trace for several runs over consecutive parts of one stream, each started afresh; the order is theirs.

    Hypotheses of later parts depend only on earlier rows, as in one run, and their restart is a constant: so one
    certificate covers all the rounds. Runs never cross a border, and only the first part's default hypothesis counts
    a round more. A part may start at an `origin` made from parts before it: that, too, depends on earlier rows only.

    What comes out is compacted. Frozen candidates belong to one run and are left out. Labels whose order over all parts
    no independent draws would show void the certificate, as they do in one run.

    Parameters
    ----------
    traces : sequence of Trace
        Of passes with equal terms, in the order of the rows.

    Returns
    -------
    Trace
        Of all rounds.

    Raises
    ------
    ValueError
        If there are none, their terms or labels differ, or two of them come from the same rows.
    ConversionError
        If the learner's traces cannot be merged.

    Examples
    --------
    >>> from onepass import Pass
    >>> X, traces = np.random.default_rng(0).normal(size=(800, 3)), []
    >>> for part in (X[:400], X[400:]):
    ...     run = Pass("margin", conversion="average", radius=3.0, classes=[0, 1], horizon=800)
    ...     run.feed(part, part[:, 0] > 0)
    ...     traces.append(run.trace())
    >>> both = merge(traces)
    >>> both.rounds, both.merged, both.mistakes == sum(trace.mistakes for trace in traces)
    (800, True, True)
    """
    _must_fit_together(traces)
    parts = [trace.compact() for trace in traces]
    columns, pocket = _merged_columns(parts)
    first, last = parts[0], parts[-1]
    rounds = sum(part.rounds for part in parts)
    return Trace(
        terms=first.terms,
        rounds=rounds,
        updates=sum(part.updates for part in parts),
        alive=0,
        tally=_merged_tally(parts),
        first=first.first,
        pocket=pocket,
        void=tuple(dict.fromkeys((*(reason for part in parts for reason in part.void), *_joint_order(parts)))),
        assumed=tuple(dict.fromkeys(text for part in parts for text in part.assumed)),
        merged=True,
        fineness=columns.bits,
        transitions=_joined(parts),
        streams=tuple(key for part in parts for key in part.streams),
        duplicates=_counted_together(parts),
        hypotheses=Hypotheses(
            last=last.last,
            rounds=rounds,
            alive=0,
            bias=first.terms.bias,
            log=None,
            columns=columns,
            origin=first.hypotheses.origin,
        ),
    )


def _must_fit_together(traces: Sequence[Trace]) -> None:
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
    first: dict[int, int] = {}  # a hash of rows (or which object it is, where rows were not watched) → its part
    for p, trace in enumerate(traces):
        for key in trace.streams or (id(trace),):
            if key in first:
                raise ValueError(
                    f"traces: part {p} comes from the same rows as part {first[key]}, which would count them twice; "
                    "merge traces of different parts of a stream"
                )
            first[key] = p


def _merged_tally(parts: Sequence[Trace]) -> Tally:
    """All parts' tallies, the hypothesis still in use in each entered, and all logarithms taken."""
    tallies = []
    for part in parts:
        tally = part.with_living()
        tallies.append(tally._replace(logs=tally.logs + np.log(tally.product), product=np.ones_like(tally.product)))
    total = Tally._make(reduce(np.add, column) for column in zip(*tallies, strict=True))
    return total._replace(product=np.ones_like(tallies[0].product))


def _merged_columns(parts: Sequence[Trace]) -> tuple[Columns, Survivor]:
    """The parts' columns, living hypotheses entered, and the longest survivor of all, whose weights they hold."""
    width = max(len(part.last) for part in parts)
    columns = reduce(lambda a, b: a + b, (_living_entered(part, width) for part in parts))
    where = max(range(len(parts)), key=lambda p: (parts[p].longest.survival, -p))
    pocket, hypotheses = parts[where].longest, parts[where].hypotheses
    member = CompactedMembers.LAST if pocket.margin is None else CompactedMembers.LONGEST
    best = hypotheses.combine(hypotheses.only(member))
    weights = np.zeros((width, parts[0].terms.outputs))
    weights[: len(best)] = best
    columns.fold.longest[:] = weights.reshape(-1)
    return columns, pocket._replace(part=where)


def _living_entered(trace: Trace, width: int) -> Columns:
    assert trace.columns is not None
    last = np.zeros((width, trace.terms.outputs))
    last[: len(trace.last)] = trace.last
    return trace.columns.with_alive(trace.alive, last)


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
