"""Regimes: stretches of a stream between two alarms of drift, each with a certificate of its own.

At an alarm the certificate starts anew and the learner goes on: what was learned is where the next run starts, which
depends on earlier rows alone. The j-th start (from 0) has the share 1/((j+1)(j+2)) of δ, so that all certificates
that are given on the way hold together with probability 1 − δ, however many there will be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onepass.guards.drift import DriftEvidence, odds
from onepass.rows import Floats
from onepass.runs import Carried
from onepass.runs.carrying import arrays_of
from onepass.state_checks import is_count, need, need_fields

Origin = Floats | Carried | None


class Regime(NamedTuple):
    """One that has ended; rows are numbered from 1, as they were read."""

    first: int
    last: int
    mistakes: int
    evidence: float  # that the rows had changed
    score: str  # what saw it
    since: int  # the row from which it grew


class Regimes:
    """Those that have ended, and where the present one began."""

    def __init__(self) -> None:
        self.ended: tuple[Regime, ...] = ()
        self.origin: Origin = None  # of the present one; of the first, as declared
        self.elapsed = 0  # rounds of all that have ended

    @property
    def first(self) -> int:
        """The row with which the present one begins."""
        return self.ended[-1].last + 1 if self.ended else 1

    @property
    def share(self) -> float:
        """What the present one has of δ."""
        return 1.0 / ((len(self.ended) + 1) * (len(self.ended) + 2))

    @property
    def words(self) -> tuple[str, ...]:
        """What every certificate must say."""
        if not self.ended:
            return ()
        before = "a drift" if len(self.ended) == 1 else f"{len(self.ended)} drifts"
        return (f"the rows from row {self.first:,} on are meant, after {before}",)

    def restart(self, rows: int, rounds: int, mistakes: int, found: DriftEvidence, origin: Origin) -> None:
        """After row `rows`, so many rounds and mistakes of this regime, and this evidence, the next one begins."""
        since = self.first + found.since - 1
        regime = Regime(self.first, rows, mistakes, found.evidence, found.score, since)
        self.ended, self.origin, self.elapsed = (*self.ended, regime), origin, self.elapsed + rounds

    def as_list(self) -> list[dict[str, Any]]:
        """Those that have ended, in plain values."""
        return [regime._asdict() for regime in self.ended]

    def state(self) -> dict[str, Any]:
        """What changes, sharing its arrays."""
        origin = None if self.origin is None else tuple(arrays_of(self.origin))
        return {"ended": tuple(tuple(regime) for regime in self.ended), "origin": origin, "elapsed": self.elapsed}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        arrays = state["origin"]
        self.origin = None if arrays is None else Carried(*arrays) if len(arrays) == 2 else arrays[0]
        self.ended, self.elapsed = tuple(Regime(*regime) for regime in state["ended"]), state["elapsed"]

    def check_state(self, state: Any, rows: int, outputs: int, arrays: int) -> None:
        """Raise CheckpointError unless a pass of so many rows and outputs can have it; an origin is so many arrays."""
        what = "the regimes"
        need_fields(state, self.state(), what)
        need(is_count(state["elapsed"]) and state["elapsed"] <= rows and isinstance(state["ended"], tuple), what)
        end = 0
        for regime in state["ended"]:
            need(isinstance(regime, tuple) and len(regime) == len(Regime._fields), what)
            first, last, mistakes, evidence, score, since = regime
            need(all(is_count(number) for number in (first, last, mistakes, since)), what)
            need(first == end + 1 and first <= last <= rows and mistakes <= last - end, what)
            need(isinstance(evidence, float) and evidence >= 1.0 and score in ("signed", "unsigned"), what)
            end = last
        need((state["origin"] is None) == (not state["ended"]), what)
        if state["origin"] is not None:
            need(isinstance(state["origin"], tuple) and len(state["origin"]) == arrays, what)
            for array in state["origin"]:
                fine = isinstance(array, np.ndarray) and array.dtype == np.float64 and array.ndim == 2
                need(fine and len(array) and np.isfinite(array).all(), what)
            need(state["origin"][0].shape[1] == outputs, what)


def regime_words(regime: dict[str, Any]) -> str:
    """One that has ended, in a line.

    >>> regime_words(Regime(1, 9000, 400, 4e5, "signed", 8500)._asdict())
    'rows 1 to 9,000: 400 mistakes; from row 8,500 on the rows drifted (400,000 : 1, signed scores)'
    """
    return (
        f"rows {regime['first']:,} to {regime['last']:,}: {regime['mistakes']:,} mistakes; from row "
        f"{regime['since']:,} on the rows drifted ({odds(regime['evidence'])}, {regime['score']} scores)"
    )
