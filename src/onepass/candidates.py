"""Hypotheses frozen during the pass, at rounds 1, 2, 4, 8, …, and judged on rows that are kept out of it.

That is the conversion `validation`, a rival of `frozen`, which keeps no row out. Only the newest are judged and kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onepass.loop import head_of, watch
from onepass.rows import AnyRows, Floats, Ints
from onepass.state_checks import need, need_fields, need_same_shapes
from onepass.trace import CandidateLosses
from onepass.trace.tally import Tally, empty_tally

ALIVE = 5
MOST = 64


@dataclass
class FrozenCandidates:
    """The live candidates."""

    tally: Tally = field(default_factory=lambda: empty_tally(MOST))
    live: dict[int, Floats] = field(default_factory=dict)  # number i (frozen at round 2^i) → weights

    def freeze(self, number: int, weights: Floats) -> None:
        """Candidate `number` is what `weights` are now; the oldest is let go."""
        self.live[number] = weights
        while len(self.live) > ALIVE:
            del self.live[min(self.live)]

    def widen(self, width: int) -> None:
        """Weights of 0 for the features that candidates have not met."""
        for number, old in self.live.items():
            if len(old) < width + 1:
                self.live[number] = np.zeros((width + 1, old.shape[1]))
                self.live[number][: len(old)] = old

    def watch(self, bias: float, rows: AnyRows, y: Ints, bound: float) -> None:
        """Charge every live candidate with its losses on these rows."""
        for number, weights in self.live.items():
            watch(head_of(weights, bias), rows, y, self.tally, number, bound)

    def losses(self) -> CandidateLosses:
        """What the live candidates have lost so far."""
        return CandidateLosses(
            np.array(sorted(self.live), dtype=np.int64), Tally._make(part.copy() for part in self.tally)
        )

    def frozen(self) -> dict[int, Floats]:
        """Their weights, by the round at which they were frozen."""
        return {1 << number: weights for number, weights in self.live.items()}

    def state(self) -> dict[str, Any]:
        """What changes, sharing its arrays."""
        return {"tally": self.tally, "live": self.live}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.tally, self.live = state["tally"], state["live"]

    def check_state(self, state: Any, shape: tuple[int, int]) -> None:
        """Raise CheckpointError unless candidates of weights of this shape can have this state."""
        what = "the candidates"
        need_fields(state, self.state(), what)
        need_same_shapes(state["tally"], self.tally, what)
        need(isinstance(state["live"], dict), what)
        for number, weights in state["live"].items():
            need(type(number) is int and 0 <= number < MOST, what)
            need(isinstance(weights, np.ndarray) and weights.dtype == np.float64 and weights.shape == shape, what)
