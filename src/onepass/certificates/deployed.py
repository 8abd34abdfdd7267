"""The watched model that is deployed: which of the candidates, with what threshold, and what is certified of it.

The choice is made by the counts at the last look; what is then said of it follows from all counts so far. Any rule of
choosing is allowed, since every candidate has its own price, fixed before the first row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepass.certificates.losses import of_costs
from onepass.certificates.pair import best_candidate, candidate_risk, cost_risk
from onepass.certificates.rates import Rates, positive_of, rates
from onepass.certificates.target import MISS, Confidence, Target
from onepass.certificates.threshold import Threshold
from onepass.certificates.threshold_choice import choose_threshold, risk_at
from onepass.conversions.frozen import need_watched
from onepass.conversions.frozen import prices as prices_of
from onepass.costs import Costs
from onepass.rows import Floats
from onepass.trace import Evidence, Terms
from onepass.trace.watched import Watched


class Deployed(NamedTuple):
    """One watched model, and what is known of it."""

    counts: Watched
    slot: int
    price: float
    risk: float  # the bound on its mean loss, in units of the loss
    losses: float  # their sum, in units of the largest
    threshold: Threshold | None  # where one was declared

    @property
    def frozen(self) -> int:
        return int(self.counts.frozen[self.slot])

    @property
    def rows(self) -> int:
        """Rows it was watched on."""
        return int(self.counts.rows[self.slot].sum())


def deployed(evidence: Evidence, delta: float, loss: str) -> Deployed | None:
    """The candidate with the smallest bound (with a target, the one that keeps it best); None: none is frozen yet."""
    watched, terms = need_watched(evidence), evidence.terms
    counts, at_look = watched.counts, watched.at_look
    if not counts.frozen.any():
        return None
    prices = prices_of(evidence)
    costs = terms.costs if loss == "cost" else None
    if costs is not None:
        slot = _cheapest(at_look, delta, prices, costs)
    else:
        slot, _ = best_candidate(at_look, delta, prices)
    threshold = None
    if terms.target is not None and len(terms.labels) == 2:
        target = Target(*terms.target)
        slot = _best_kept(at_look, target, delta, prices, terms, slot)
        threshold = _threshold(counts, slot, target, Confidence(delta, delta, float(prices[slot])), terms)
    price = float(prices[slot])
    return Deployed(counts, slot, price, *_bound(counts, slot, delta * price, costs, threshold), threshold)


def _bound(
    counts: Watched, slot: int, level: float, costs: Costs | None, threshold: Threshold | None
) -> tuple[float, float]:
    """(the bound on the mean loss, the sum of losses in units of the largest)."""
    bins = counts.bins[slot]
    if threshold is not None and threshold.reached:
        wrong = int(bins[0, threshold.index + 1 :].sum() + bins[1, : threshold.index + 1].sum())
        return risk_at(bins, threshold.index, level), float(wrong)
    if costs is None:
        return candidate_risk(counts, slot, level), float(counts.mistakes[slot].sum())
    spent = of_costs(counts, slot, costs)
    return cost_risk(counts, slot, costs, level), float((spent.rows * spent.values).sum())


def _cheapest(counts: Watched, delta: float, prices: Floats, costs: Costs) -> int:
    slots = sorted(np.flatnonzero(counts.frozen).tolist(), key=lambda slot: -counts.frozen[slot])
    bounds = [cost_risk(counts, slot, costs, delta * float(prices[slot])) for slot in slots]
    return int(slots[int(np.argmin(bounds))])


def _best_kept(counts: Watched, target: Target, delta: float, prices: Floats, terms: Terms, otherwise: int) -> int:
    """The candidate that keeps the target with the least of the other rate; `otherwise`, where none keeps it."""
    best, least = otherwise, np.inf
    for slot in sorted(np.flatnonzero(counts.frozen).tolist(), key=lambda slot: -counts.frozen[slot]):
        found = _threshold(counts, slot, target, Confidence(delta, delta, float(prices[slot])), terms)
        other = found.false_alarm if target.kind == MISS else found.miss
        if found.reached and other is not None and other < least:
            best, least = slot, other
    return best


def _threshold(counts: Watched, slot: int, target: Target, confidence: Confidence, terms: Terms) -> Threshold:
    labels = terms.labels
    positive = labels.index(positive_of(labels, terms.positive))
    bins, borders = counts.bins[slot], counts.borders[slot]
    return choose_threshold(bins, borders, target, confidence, positive=positive, labels=labels)


def threshold_of(evidence: Evidence, frozen: int, target: Target, delta: float) -> Threshold:
    """The threshold of one watched model for a target that was not declared."""
    counts = need_watched(evidence).counts
    slot = counts.slot_of(frozen)
    price = float(prices_of(evidence)[slot])
    return _threshold(counts, slot, target, Confidence(delta, delta, price), evidence.terms)


def rates_of(model: Deployed, terms: Terms, delta: float) -> Rates | None:
    """The rates of the model that hold together, beside the risk; None: a threshold speaks of them, or too few rows."""
    if len(terms.labels) < 2 or (model.threshold is not None and model.threshold.reached):
        return None
    positive = positive_of(terms.labels, terms.positive) if len(terms.labels) == 2 else None
    return rates(model.counts, model.slot, delta, model.price, terms.labels, positive)
