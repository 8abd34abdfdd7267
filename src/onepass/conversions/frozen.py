"""frozen: one of the models that were watched on the rows after their freezing, exactly as it was watched.

Because a candidate was fixed before it met those rows, its mistakes on them certify itself, and not the members of an
ensemble. No row is kept out for that: all are learned. See Cesa-Bianchi and Gentile 2006 for the idea.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from onepass.conversions.average import Average
from onepass.conversions.choices import Choice, Choices, Conversion, Loss, totals
from onepass.conversions.pricing import candidate_price
from onepass.errors import ConversionError
from onepass.rows import Floats, Ints
from onepass.trace import Evidence, Trace, WatchedEvidence
from onepass.trace.tally import BETS


class Frozen(Conversion):
    """The candidate with the smallest certificate; each has its own price, known before the first row."""

    name: ClassVar[str] = "frozen"
    ensemble: ClassVar[bool] = False
    from_log: ClassVar[bool] = False
    betting_only: ClassVar[bool] = True
    watched: ClassVar[bool] = True

    def choices(self, evidence: Evidence, loss: Loss) -> Iterator[Choices]:
        """The candidates by their own losses alone: all that there is in hinge loss, and less than there is in 0-1."""
        watched = need_watched(evidence)
        counts, hinge = watched.counts, watched.hinge
        if loss == "hinge" and hinge is None:
            raise ConversionError("frozen: declare loss='hinge' before the first row, or certify loss='zero_one'")
        lines = np.flatnonzero(counts.frozen)
        mistakes = counts.mistakes.sum(axis=1)
        losses, log_bets = mistakes.astype(np.float64), np.outer(mistakes, np.log1p(-BETS))
        if hinge is not None and loss == "hinge":
            losses, log_bets = totals(hinge, loss)
        rounds = counts.rows[lines].sum(axis=1)
        yield Choices(counts.frozen[lines], rounds, losses[lines], log_bets[lines], prices(evidence)[lines])

    def members(self, trace: Trace, value: int | None) -> Ints:
        """There is nothing to vote on."""
        raise ConversionError("frozen deploys one model: there is nothing to vote on")

    def weights(self, trace: Trace, value: int | None) -> Floats:
        """The candidate as it is; before there is one, the average."""
        need_watched(trace)
        watched = trace.hypotheses.watched
        assert watched is not None
        return watched(value) if value else Average().weights(trace, None)

    def describe(self, value: int) -> Choice:
        return Choice(value, f"at round {value:,}") if value else Choice(None, "not yet: the average")


def need_watched(evidence: Evidence) -> WatchedEvidence:
    """What is known of watched models, or a refusal that says how to have them."""
    if evidence.watched is None:
        raise ConversionError(
            "frozen models are watched during a pass: declare conversion='frozen' (or watch=True) before the first row"
        )
    return evidence.watched


def prices(evidence: Evidence) -> Floats:
    """The share of δ that the candidate of each slot has, fixed before the first row; 0 for an empty slot."""
    watched = need_watched(evidence)
    if watched.prices is not None:
        return watched.prices
    expected = evidence.terms.expected_rows
    return np.array([candidate_price(int(s), expected) if s else 0.0 for s in watched.counts.frozen])
