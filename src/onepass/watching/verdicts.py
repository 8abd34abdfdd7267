"""Whether one frozen model misjudged each of the last rows: what two entries of a race are compared by.

It is the model that is tested for drift from every power of two to the next, so that at any round all entries of a race
show a model of the same age.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onepass.guards.drift import Cells

WRONG = 4  # the place of the verdict in a row's cells
Bools = npt.NDArray[np.bool_]


class Verdicts:
    """Rows since the last `take`; rows that are shown again, after a batch was put back, count once.

    >>> verdicts = Verdicts()
    >>> verdicts.note(np.array([[0, 0, 0, 0, 0], [0, 0, 0, 0, 1]], np.int16), 8)
    >>> verdicts.note(np.array([[0, 0, 0, 0, 1]], np.int16), 9)
    >>> verdicts.take()
    (8, array([False,  True]))
    """

    def __init__(self) -> None:
        self._parts = list[tuple[int, Bools]]()

    def note(self, cells: Cells | None, rounds: int) -> None:
        """What the models that are tested made of the rows after so many rounds (`judging`); None: no model yet."""
        kept = [(start, wrong[: rounds - start]) for start, wrong in self._parts if start < rounds]
        self._parts = kept if cells is None else [*kept, (rounds, cells[:, WRONG] != 0)]

    def take(self) -> tuple[int, Bools]:
        """(rounds before the first of the rows, whether each was misjudged); they are forgotten."""
        parts, self._parts = self._parts, []
        start = parts[0][0] if parts else 0
        return start, np.concatenate([wrong for _, wrong in parts] or [np.zeros(0, np.bool_)])
