"""What the simplest model of all would do: always say the label that is most frequent."""

from __future__ import annotations

from typing import Any, NamedTuple

from onepass.certificates.score_bins import count_bound
from onepass.errors import printable
from onepass.trace import Evidence


class Baseline(NamedTuple):
    """The most frequent label of some rows, and the share of them that have another.

    Whoever always says one label errs at least as often as `least` says, on new rows: as surely as the certificate
    beside it holds.
    """

    label: Any
    error: float
    least: float

    def __str__(self) -> str:
        said = self.label if isinstance(self.label, str) else f"{self.label:g}"
        return f'always saying "{printable(said)}": {100 * self.error:.4g} %'


def baseline(evidence: Evidence, frozen: int, level: float) -> Baseline | None:
    """Of the rows that the certificate of a frozen model counts; else of all, where labels were counted.

    `level` is how probable it may be that the bound is false; it is shared out among the labels.
    """
    if frozen and evidence.watched is not None:
        counts = evidence.watched.counts
        seen = counts.rows[counts.slot_of(frozen)]
    elif evidence.transitions is not None:
        seen = evidence.transitions.seen
    else:
        return None
    labels, total = evidence.terms.labels, int(seen.sum())
    most = int(seen.argmax())
    if not total or most >= len(labels):
        return None
    label = labels[most]
    least = 1.0 - count_bound(int(seen[most]), total, level / len(labels))
    return Baseline(label.item() if hasattr(label, "item") else label, 1.0 - int(seen[most]) / total, least)
