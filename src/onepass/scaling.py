"""The radius of a pass: rows outside the ball are scaled onto it, and "auto" measures the first rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onepass.errors import DataError
from onepass.rows import AnyRows, count, onto_ball, squared_norms
from onepass.state_checks import need, need_fields

AUTO_ROWS = 1000  # rows that radius="auto" reads and does not count


class RowScaling:
    """What rows are scaled onto, as declared or as measured; None: no scaling."""

    def __init__(self, radius: float | str | None) -> None:
        self.auto = radius == "auto"
        self.radius = None if radius is None or isinstance(radius, str) else float(radius)
        self.longest = 0.0  # row so far, while it is measured

    @property
    def measuring(self) -> bool:
        """Whether rows are still read for their length alone."""
        return self.auto and self.radius is None

    def measure(self, rows: AnyRows) -> None:
        """Look at how long these rows are."""
        norms = np.zeros(count(rows))
        squared_norms(rows, norms)
        self.longest = max(self.longest, math.sqrt(norms.max(initial=0.0)))

    def settle(self) -> None:
        """From now on the radius is the longest row's."""
        if self.longest == 0.0:
            raise DataError(f"radius='auto': the first {AUTO_ROWS} rows are all zero; give radius a number")
        self.radius = self.longest

    def scale(self, rows: AnyRows) -> AnyRows:
        """The rows, those outside scaled onto the ball."""
        return rows if self.radius is None else onto_ball(rows, self.radius)

    def state(self) -> dict[str, Any]:
        """What is measured."""
        return {"radius": self.radius, "longest": self.longest}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.radius, self.longest = state["radius"], state["longest"]

    def check_state(self, state: Any) -> None:
        """Raise CheckpointError unless a pass with this radius can have this state."""
        need_fields(state, self.state(), "the radius")
        radius, longest = state["radius"], state["longest"]
        need(radius is None or (isinstance(radius, float) and 0.0 < radius < math.inf), "R")
        need(isinstance(longest, float) and 0.0 <= longest < math.inf, "longest_row")
