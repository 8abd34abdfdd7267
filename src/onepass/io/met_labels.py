"""The labels of a stream, and where each was met first."""

from __future__ import annotations

import numpy as np

from onepass.errors import Phrase, printable
from onepass.io.chunk import Labels, Origin

MANY = 1000  # different labels; beyond that they are not collected


class LabelNote(Phrase):
    """The note that lists the labels met."""

    @property
    def labels(self) -> str:
        """The first ten of them, and how many more there are."""
        return str(self.parts[0])


class MetLabels:
    """Labels, each with the origin of the chunk it first stood in.

    >>> met = MetLabels()
    >>> met.meet(np.array([1.0, -1.0, 1.0]), Origin("data.svm", 1, 0, 15, 15))
    >>> met.note().labels
    '-1, 1'
    """

    def __init__(self) -> None:
        self.first: dict[float | str, Origin] = {}

    def meet(self, labels: Labels | None, origin: Origin) -> None:
        """The labels of a chunk; None: it has none."""
        if labels is None or len(self.first) > MANY:
            return
        known = list(self.first)
        if 0 < len(known) <= 2 and ((labels == known[0]) | (labels == known[-1])).all():
            return
        few = len(labels) <= 1 << 12  # then a set is faster, and it does not wait for other threads
        for label in set(labels.tolist()) if few else np.unique(labels).tolist():
            if label == label and label != "":  # nan and "" are the labels of unlabelled examples
                self.first.setdefault(label, origin)

    def note(self) -> LabelNote:
        """What a user should know of them."""
        met = sorted(self.first, key=lambda label: (isinstance(label, str), label))
        shown = ", ".join(label if isinstance(label, str) else f"{label:g}" for label in met[:10])
        return LabelNote("labels: {}", printable(shown + (f" and {len(met) - 10} more" if len(met) > 10 else "")))
