"""Where a run starts: at 0, at weights that were declared, or at what earlier rows have left.

Earlier rows are those that no certificate counts, since something was decided by looking at them, and those before a
drift. What they leave depends on none of the rows that are counted after them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.errors import ConversionError
from onepass.files import sha256
from onepass.guards.drift import DriftEvidence
from onepass.learners import Learner
from onepass.outputs import spread_if
from onepass.regimes import Origin, Regimes
from onepass.rows import Floats
from onepass.runs import Carried
from onepass.runs.carrying import arrays_of
from onepass.state_checks import need


class WarmStart:
    """What the run at work started from, and what came before its first row.

    most       features that weights may have
    elapsed    rounds that went into the origin
    uncounted  the first rows, so many, are learned and not counted
    measured   the first rows, so many, only tell how long rows are
    own_rate   whether the rate is a user's function, with which no run can go on from another's weights

    >>> from onepass.learners import Perceptron
    >>> start = WarmStart(Perceptron(), None, 1, 2, elapsed=5, uncounted=100)
    >>> start.counting, start.elapsed, start.origin is None
    (False, 5, True)
    >>> start.count_from(np.ones((3, 1)))
    >>> start.counting, start.elapsed, start.origin.tolist()
    (True, 105, [[1.0], [1.0], [1.0]])
    """

    def __init__(
        self,
        learner: Learner,
        origin: Any,
        outputs: int,
        most: int,
        elapsed: int = 0,
        uncounted: int = 0,
        *,
        own_rate: bool = False,
    ) -> None:
        self.learner, self.most = learner, most
        self._fixed = bool(uncounted) and (own_rate or not learner.keeps_rows)  # the run at work counts all it learns
        self._asked, self.uncounted = uncounted, 0 if self._fixed else uncounted
        self.regimes = Regimes()
        self.counting = not self.uncounted
        self._declared = None if origin is None else self._checked(origin, outputs)
        self._elapsed, self.measured = elapsed, 0
        self._prepared: Origin = None  # what rows that are not counted have left
        self.origin: Origin = self._declared  # None: 0

    def _checked(self, origin: Any, outputs: int) -> Floats | Carried:
        """The origin in an array of our own; ValueError, TypeError or ConversionError if no run can start from it."""
        name = type(self.learner).__name__
        if not self.learner.keeps_rows:
            raise ConversionError(f"origin: {name} starts at 0")
        if self.learner.deltas != isinstance(origin, Carried):
            raise ConversionError(
                f"origin: {name} starts from "
                + ("what another run of it carried, or at 0" if self.learner.deltas else "weights")
            )
        given = [origin] if not isinstance(origin, Carried) else origin
        arrays = [np.array(array, dtype=np.float64, order="C") for array in given]
        weights = arrays[0]
        if weights.ndim != 2 or weights.shape[1] != outputs or not len(weights):
            raise ValueError(f"origin: weights (1 + features, {outputs}) expected, got shape {weights.shape}")
        if len(weights) - 1 > self.most:
            raise ValueError(f"origin: {len(weights) - 1} features are more than the pass may have")
        if not all(np.isfinite(array).all() for array in arrays):
            raise ValueError("origin: finite numbers expected")
        if self.learner.bounded and np.linalg.norm(weights) > 1.0 + 1e-9:
            raise ValueError(f"origin: {name} starts in the unit ball")
        return self._of_arrays(arrays)

    def _of_arrays(self, arrays: Any) -> Floats | Carried:
        return Carried._make(arrays) if self.learner.deltas else arrays[0]

    @property
    def weights(self) -> Floats | None:
        """The weights that the run at work started from; None: 0."""
        return self.origin.weights if isinstance(self.origin, Carried) else self.origin

    @property
    def elapsed(self) -> int:
        """Rounds before the first of the run at work, which a falling rate has seen."""
        return self._elapsed + (0 if self._prepared is None else self.uncounted) + self.regimes.elapsed

    @property
    def untested(self) -> int:
        """Rows of the present regime that were fed before its first round."""
        if self.regimes.ended:
            return 0
        return self.measured + (0 if self._prepared is None else self.uncounted)

    @property
    def digest(self) -> str | None:
        """A hash of what was declared."""
        return None if self._declared is None else sha256(*(array.tobytes() for array in arrays_of(self._declared)))

    def reasons(self, rows: int) -> tuple[str, ...]:
        """Why there is no certificate after so many rows, where the first are to blame."""
        decided = f"the first {self._asked} rows decided how all are read"
        if self._fixed:
            name = type(self.learner).__name__
            return (f"{decided}, and {name} cannot start anew after them: declare what every column is",)
        if self.counting:
            return ()
        few = f"no certificate counts them, and there were only {rows}"
        return (f"{decided}, {few} (declare what every column is, and all of them count)",)

    def count_from(self, left: Floats | Carried) -> None:
        """From here on rows are counted, by a run that starts from what those before them have left."""
        self.counting = True
        self._prepared = self.origin = left

    def restart(self, rows: int, rounds: int, mistakes: int, found: DriftEvidence, left: Floats | Carried) -> None:
        """After row `rows`, so many rounds and mistakes of this regime, and this evidence, the next one begins."""
        self.regimes.restart(rows, rounds, mistakes, found, left)

    def begin(self, outputs: int) -> None:
        """A run of so many outputs begins where the present regime does."""
        first = self._declared if self._prepared is None else self._prepared
        self.origin = _of_outputs(self.regimes.origin if self.regimes.ended else first, outputs)

    def join(self, outputs: int) -> None:
        """There are so many outputs from the next row on."""
        self.origin, self._prepared = _of_outputs(self.origin, outputs), _of_outputs(self._prepared, outputs)
        self.regimes.origin = _of_outputs(self.regimes.origin, outputs)

    # --- its state ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What changes, sharing its arrays."""
        origin = None if self._prepared is None else arrays_of(self._prepared)
        return {"counting": self.counting, "regimes": self.regimes.state(), "origin": origin}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state; `begin` follows."""
        self.counting, arrays = state["counting"], state["origin"]
        self._prepared = None if arrays is None else self._of_arrays(arrays)
        self.regimes.restore(state["regimes"])

    def forget(self) -> None:
        """As before the first row; `begin` follows."""
        self.counting, self._prepared, self.regimes = not self.uncounted, None, Regimes()

    def began_alike(self, state: dict[str, Any]) -> bool:
        """Whether the run of a state, with as many outputs, began where the run at work did."""
        ended = len(state["regimes"]["ended"])
        return bool(state["counting"] == self.counting) and ended == len(self.regimes.ended)

    def check_state(self, state: dict[str, Any], rows: int, outputs: int, restarts: bool) -> None:
        """Raise CheckpointError unless a pass of so many rows and outputs can have it; `restarts`: after a drift."""
        self.regimes.check_state(state["regimes"], rows, outputs, 2 if self.learner.deltas else 1)
        need(restarts or not state["regimes"]["ended"], "the regimes")
        need(type(state["counting"]) is bool, "counting")
        origin, started = state["origin"], bool(self.uncounted) and state["counting"]
        need((origin is not None) == started, "the origin")
        if started:
            need(isinstance(origin, tuple) and all(isinstance(array, np.ndarray) for array in origin), "the origin")
            try:
                self._checked(self._of_arrays(origin), outputs)
            except (IndexError, ValueError, TypeError, ConversionError):
                need(False, "the origin")


def _of_outputs(origin: Origin, outputs: int) -> Origin:
    """A start with as many outputs as there are now."""
    if isinstance(origin, Carried):
        return origin._replace(weights=spread_if(origin.weights, outputs))
    return None if origin is None else spread_if(origin, outputs)
