"""The trace of a pass, put together from what its parts have kept."""

from __future__ import annotations

from dataclasses import replace

from onepass.guards.duplicates import Duplicates
from onepass.observers import Observers
from onepass.runs import LearnerRun
from onepass.trace import Hypotheses, Survivor, Terms, Trace, Updates
from onepass.trace.tally import Tally
from onepass.warm_start import WarmStart


def trace_of(
    terms: Terms,
    run: LearnerRun,
    observers: Observers,
    start: WarmStart,
    rounds: int,
    void: tuple[str, ...],
    assumed: tuple[str, ...],
) -> Trace:
    """The trace after so many rounds, sharing arrays with the parts: for use before the next row."""
    run.enter_tally()
    log, columns, ledger = run.kept_log(), run.columns(), run.ledger
    guards, candidates, watched = observers.guards, observers.candidates, observers.watched
    alive, last = rounds - ledger.since, run.last()
    return Trace(
        terms=terms,
        rounds=rounds,
        updates=ledger.updates,
        alive=alive,
        tally=ledger.tally,
        first=ledger.first or Survivor(0, rounds, None),
        ended=None if log is None else Updates(log.round, log.margin, log),
        pocket=None if columns is None else columns.longest(ledger.updates, alive),
        fineness=3 if columns is None else columns.bits,
        candidates=None if candidates is None else candidates.losses(),
        watched=None if watched is None else watched.evidence(),
        void=void,
        assumed=assumed,
        transitions=guards.transitions,
        dropped=run.dropped,
        duplicates=guards.counted,
        drift=guards.drifted_after(start.regimes.first - 1 + start.untested),
        elapsed=start.elapsed,
        hypotheses=Hypotheses(
            last=last,
            rounds=rounds,
            alive=alive,
            bias=terms.bias,
            log=log,
            columns=columns,
            total=run.total(rounds, last),
            origin=start.weights,
            frozen={} if candidates is None else candidates.frozen(),
            watched=None if watched is None else watched.model,
        ),
    )


def detached(trace: Trace, run: LearnerRun, observers: Observers) -> Trace:
    """The same trace as a value that later rows do not change; the log is shared until the run writes into it."""
    run.log_shared = True
    tally = Tally._make(array.copy() for array in trace.tally)
    columns = trace.columns.copy() if trace.columns is not None else None
    watched = None if observers.watched is None else observers.watched.models().__getitem__
    hypotheses = replace(trace.hypotheses, columns=columns, watched=watched)
    return replace(
        trace,
        tally=tally,
        hypotheses=hypotheses,
        transitions=observers.guards.transitions,
        streams=observers.guards.streams,
        duplicates=trace.duplicates and Duplicates._make(array.copy() for array in trace.duplicates),
    )
