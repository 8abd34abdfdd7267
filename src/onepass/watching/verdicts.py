"""Whether one frozen model misjudged each of the last rows: what two entries of a race are compared by.

It is the model that is tested for drift, mostly from every power of two to the next. An entry with room for few models
watches it for a shorter time and goes on with a younger one, so that every verdict has the age of its model: two
entries are compared on the rows on which both show models of one age. Which rows these are follows from widths and
classes that were met before them, never from the verdicts on them, so that leaving the others out bends no bet.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onepass.guards.drift import Cells
from onepass.rows import Ints

WRONG = 4  # the place of the verdict in a row's cells
Bools = npt.NDArray[np.bool_]


class Verdicts:
    """Rows since the last `take`; rows that are shown again, after a batch was put back, count once.

    >>> verdicts = Verdicts()
    >>> verdicts.note(np.array([[0, 0, 0, 0, 0], [0, 0, 0, 0, 1]], np.int16), 8, 8)
    >>> verdicts.note(np.array([[0, 0, 0, 0, 1]], np.int16), 9, 8)
    >>> verdicts.take()
    (8, array([False,  True]), array([8, 8]))
    """

    def __init__(self) -> None:
        self._parts = list[tuple[int, Bools, int]]()

    def note(self, cells: Cells | None, rounds: int, age: int) -> None:
        """What a model frozen at round `age` made of the rows after so many rounds (`judging`); None: no model yet."""
        kept = [(start, wrong[: rounds - start], known) for start, wrong, known in self._parts if start < rounds]
        self._parts = kept if cells is None else [*kept, (rounds, cells[:, WRONG] != 0, age)]

    def take(self) -> tuple[int, Bools, Ints]:
        """(rounds before the first of the rows, whether each was misjudged, the model's age); they are forgotten."""
        parts, self._parts = self._parts, []
        start = parts[0][0] if parts else 0
        ages = np.repeat([age for *_, age in parts], [len(wrong) for _, wrong, _ in parts]).astype(np.int64)
        return start, np.concatenate([wrong for _, wrong, _ in parts] or [np.zeros(0, np.bool_)]), ages
