"""From a certificate to the model that it speaks of: weights or votes, in the order in which classes are told.

A pass numbers labels as they come; a model has them sorted. With two, another order turns the signs of all scores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onepass.certificates import Calibration, Certificate, calibrate
from onepass.certificates.score_bins import ScoreHistogram
from onepass.certificates.score_bins import flip as flip_bins
from onepass.conversions import conversion_named
from onepass.conversions.frozen import prices
from onepass.errors import ConversionError
from onepass.labels import Label
from onepass.models import LinearModel
from onepass.outputs import NEVER
from onepass.rows import must_be_finite
from onepass.trace import Evidence, Trace
from onepass.voted import VotedModel


class ScoreReading(NamedTuple):
    """What makes predictions and probabilities of a model's scores."""

    cut: float = 0.0  # where scores are cut
    calibration: Calibration | None = None
    seen: ScoreHistogram | None = None  # where they lay on later rows


def deployed_model(
    trace: Trace,
    certificate: Certificate,
    how: str,
    classes: tuple[Label, ...],
    scaled_onto: float | None,
    about: Callable[[], dict[str, Any]],
) -> LinearModel | VotedModel:
    """The model of a certificate of this trace, with these classes: "combine" gives weights, "vote" a majority."""
    met, bias = trace.terms.labels, trace.terms.bias
    flipped = classes != met and len(met) == 2
    flip = -1.0 if flipped else 1.0
    order = [met.index(label) for label in classes] if len(met) > 2 else [0]
    conversion, value = conversion_named(certificate.conversion), certificate.choice.value
    if how == "combine":
        weights = conversion.weights(trace, value)
        must_be_finite(weights)  # a sum may overflow where its parts do not
        weights = flip * weights[:, order]
        told, bias = about(), 1.0 if (weights[0] == NEVER).any() else bias
        reading = ScoreReading()
        if conversion.watched and value and trace.watched is not None:
            reading = score_reading(trace, certificate, trace.watched.counts.slot_of(value), flipped=flipped)
        return LinearModel(weights, classes, bias, scaled_onto, told, *reading)
    q = conversion.members(trace, value)
    if trace.hypotheses.origin is not None:
        raise ConversionError("vote: not offered for a pass that started from an origin; use how='combine'")
    trace.need_updates("vote")
    assert trace.log is not None
    log = trace.log._replace(a=flip * trace.log.a)
    if len(met) > 2:
        log = log.relabelled(np.argsort(order), len(met))
    return VotedModel(log, q, len(trace.last) - 1, classes, bias, scaled_onto)


def score_reading(evidence: Evidence, certificate: Certificate, slot: int, *, flipped: bool = False) -> ScoreReading:
    """Of the watched model in this slot, whose scores have the other sign where it is flipped."""
    assert evidence.watched is not None
    kept, counts = certificate.threshold, evidence.watched.counts
    aimed = kept is not None and kept.reached
    cut = kept.cut(flipped=flipped) if kept is not None and aimed else 0.0
    bins, borders = counts.bins[slot], counts.borders[slot]
    if flipped:
        bins, borders = flip_bins(bins, borders)
    seen = ScoreHistogram(borders, bins.sum(axis=0), float(prices(evidence)[slot]))
    return ScoreReading(cut, calibrate(bins, borders, None if aimed else cut, evidence.terms.classes), seen)
