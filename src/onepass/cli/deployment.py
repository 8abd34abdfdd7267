"""A model in use is watched in passing, by commands whose aim is another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onepass.cli import terminal
from onepass.errors import ModelError

if TYPE_CHECKING:
    from onepass.io.chunk import Labels
    from onepass.models import LinearModel
    from onepass.monitoring import Monitor

DELTA = 0.01  # how probable a false alarm may be, unless told otherwise
MANY = 1000  # rows without labels from which on their scores are worth a line


class PassingWatch:
    """Rows that are watched in passing: what cannot be watched is let go, and in the end there is one line, or none."""

    def __init__(self, model: LinearModel) -> None:
        from onepass.monitoring import Monitor

        self.monitor: Monitor | None = None
        self._labelled: bool | None = None  # whether the file's labels are the model's
        try:
            self.monitor = Monitor(model, delta=DELTA)
        except (ModelError, ValueError):
            return

    def observe(self, rows: object, labels: Labels | None) -> None:
        """Watch these rows; one with a label that the model does not know is misjudged.

        But where the first rows have no other, labels only stand where a format wants some, and are none.
        """
        if self.monitor is None:
            return
        if self._labelled is None and labels is not None:
            self._labelled = bool(set(labels.tolist()) & {*self.monitor.model.classes})
        self.monitor.observe(rows, labels if self._labelled else None, other_labels=True)

    def line(self) -> str | None:
        """What there is to say, if anything."""
        if self.monitor is None:
            return None
        result = self.monitor.result()
        tested = bool(result.labelled) and result.risk.claim.bound is not None
        scored = result.scores is not None and result.rows >= MANY
        return result.sentence() if tested or scored or result.alarms else None

    def record(self) -> terminal.Record | None:
        """The same for programs."""
        return None if self.monitor is None else self.monitor.result().as_dict()
