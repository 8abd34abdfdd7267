"""What a page shows of the deployed watched model, in plain values: its scores on later rows, and a baseline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepass.certificates import Certificate, candidate_price
from onepass.certificates.rates import positive_of
from onepass.certificates.score_bins import flip
from onepass.models import LinearModel
from onepass.passes import Pass
from onepass.rows import Floats, Ints


def baseline(run: Pass) -> dict[str, Any] | None:
    """The most frequent label, and its share of the rows: who always says it errs in the rest.

    Of those that the certificate sets beside its own, where there is one.

    >>> run = Pass()
    >>> run.feed([[1.0], [-1.0], [2.0]], ["yes", "no", "yes"])
    >>> baseline(run)["label"], baseline(run)["rows"]
    ('yes', 3)
    """
    certificate = run.certificate()
    if certificate.baseline is not None and certificate.counted:
        label, error, _ = certificate.baseline
        return {"label": label, "share": 1.0 - error, "rows": certificate.counted}
    labels = run.intake.labels.classes
    seen = run.guards.order.seen[: len(labels)]
    rows = int(seen.sum())
    if not rows:
        return None
    most = int(seen.argmax())
    return {"label": labels[most], "share": int(seen[most]) / rows, "rows": rows}


def of_candidate(run: Pass, certificate: Certificate) -> dict[str, Any] | None:
    """Of the frozen model that the certificate speaks of; None where it speaks of another kind, or is withheld."""
    watched, frozen = run.trace().watched, certificate.choice.value
    if certificate.conversion != "frozen" or certificate.withheld or not frozen or watched is None:
        return None
    counts = watched.counts
    slot = counts.slot_of(frozen)
    known: dict[str, Any] = {"frozen": frozen, "rows": int(counts.rows[slot].sum())}
    if len(run.classes) < 2:
        return known
    if len(run.classes) == 2:
        known["scores"] = _scores(run, counts.bins[slot], counts.rows[slot], counts.mistakes[slot], certificate)
    model = run.model(None if certificate == run.certificate() else certificate)
    if isinstance(model, LinearModel) and model.calibration is not None:
        bins, borders = counts.bins[slot], counts.borders[slot]
        if run.classes != run.intake.labels.classes:
            bins, borders = flip(bins, borders)
        level = certificate.delta / certificate.entries * candidate_price(frozen, run.expected_rows)
        found = model.calibration.reliability(bins, borders, level)
        columns = {name: [_plain(value) for value in column.tolist()] for name, column in found._asdict().items()}
        known["reliability"] = {**columns, "delta": certificate.delta}
    return known


def _scores(run: Pass, bins: Ints, rows: Ints, mistakes: Ints, certificate: Certificate) -> dict[str, Any]:
    """What false alarms and misses there would be at every border: the points of the observed ROC curve."""
    labels = run.intake.labels.classes
    yes = labels.index(positive_of(labels, run.positive))
    below = np.cumsum(bins[:, :-1], axis=1)  # rows of each class whose score is below a border
    total = bins.sum(axis=1, keepdims=True)
    if yes == 1:
        missed, alarms = below[1], total[0] - below[0]
    else:
        missed, alarms = total[0] - below[0], below[1]
        missed, alarms = missed[::-1], alarms[::-1]  # from the most alarms to the fewest
    kept = certificate.threshold
    own = {"false_alarm": _share(mistakes[1 - yes], rows[1 - yes]), "miss": _share(mistakes[yes], rows[yes])}
    if kept is not None and kept.reached:
        own = {"false_alarm": kept.false_alarm, "miss": kept.miss}
    return {
        "positive": labels[yes],
        "negative": labels[1 - yes],
        "false_alarm": [1.0, *_shares(alarms, int(total[1 - yes, 0])), 0.0],
        "miss": [0.0, *_shares(missed, int(total[yes, 0])), 1.0],
        "own": own,
    }


def _shares(counts: Ints, total: int) -> list[float]:
    shares: Floats = counts / max(total, 1)
    return [float(share) for share in shares]


def _share(part: Any, whole: Any) -> float | None:
    return float(part / whole) if whole else None


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value
