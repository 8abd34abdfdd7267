"""What every learner tells about itself."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple


class Setting(NamedTuple):
    """What a pass declares to its learner before the first row."""

    horizon: int | None = None  # number of rounds, if known
    reach: float | None = None  # largest length of an update direction, if a radius was declared


class Learner:
    """A rule for changing the hypothesis after a loss. Subclasses are frozen dataclasses."""

    drives: ClassVar[str]  # the loss that makes it change: "zero_one" or "hinge"
    bounded: ClassVar[bool] = False  # whether ‖w‖ ≤ 1 always, so that the hinge loss is bounded
    tracks_norm: ClassVar[bool] = False  # whether it carries ‖w‖² from step to step

    def rule(self, setting: Setting) -> Any:
        """The NamedTuple that the loop runs."""
        raise NotImplementedError

    def regret_bound(self, rounds: int, setting: Setting, reach: float) -> float | None:
        """What the average hinge regret after `rounds` rounds cannot exceed, or None where no theorem says."""
        return None
