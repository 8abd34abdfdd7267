"""What the simplest model of all would do: always say the label that is most frequent."""

from __future__ import annotations

from typing import Any, NamedTuple

from onepass.errors import printable
from onepass.trace import Evidence


class Baseline(NamedTuple):
    """The most frequent label of some rows, and the share of them that have another."""

    label: Any
    error: float

    def __str__(self) -> str:
        said = self.label if isinstance(self.label, str) else f"{self.label:g}"
        return f'always saying "{printable(said)}": {100 * self.error:.4g} %'


def baseline(evidence: Evidence, frozen: int) -> Baseline | None:
    """Of the rows that the certificate of a frozen model counts; else of all, where labels were counted."""
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
    return Baseline(label.item() if hasattr(label, "item") else label, 1.0 - int(seen[most]) / total)
