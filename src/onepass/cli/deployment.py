"""A model in use is watched in passing, by commands whose aim is another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onepass.cli import terminal
from onepass.errors import DataError, ModelError

if TYPE_CHECKING:
    from onepass.models import LinearModel
    from onepass.monitoring import Monitor

DELTA = 0.01  # how probable a false alarm may be, unless told otherwise
MANY = 1000  # rows without labels from which on their scores are worth a line


class PassingWatch:
    """Rows that are watched in passing: what cannot be watched is let go, and in the end there is one line, or none."""

    def __init__(self, model: LinearModel) -> None:
        from onepass.monitoring import Monitor

        self.monitor: Monitor | None = None
        try:
            self.monitor = Monitor(model, delta=DELTA)
        except (ModelError, ValueError):
            return

    def observe(self, rows: object, labels: object) -> None:
        """Watch these rows; labels that the model does not know are no labels here."""
        if self.monitor is None:
            return
        try:
            self.monitor.observe(rows, labels)
        except DataError:
            self.monitor.observe(rows)

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
