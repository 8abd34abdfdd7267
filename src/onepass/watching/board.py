"""What watching reads and writes: the weights of all watched models side by side, and room for a block of verdicts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.rows import Floats, Ints, zeros_in_lines

BLOCK = 256  # rows that are judged before they are counted
RECENT = 1024  # scores of the newest candidate that are remembered, for the borders of the next one's bins
EMPTY, ALONE = -2, -1  # in place of an elder: of a slot with no candidate, and of a candidate with no elder watched


class JudgedRows(NamedTuple):
    """What the models make of a block of rows: (slots, rows), but for the labels."""

    label: Ints  # (rows)
    own: npt.NDArray[np.uint8]  # (rows): whether it is the class that is being counted
    score: Floats  # of two classes the score, of several the lead of the class chosen
    lack: Floats  # of several: what the label's own class lacks of the best other one
    wrong: npt.NDArray[np.uint8]  # whether the model misjudges the row
    side: npt.NDArray[np.uint8]  # of the bins: of two classes the label's, of several 1 where it is judged rightly
    bin: Ints  # of the score
    paid: Ints  # the level of what the row costs


class Board(NamedTuple):
    """A lane is one output of one slot: slot · outputs + output."""

    weights: Floats  # (features · lanes): one line per feature
    intercepts: Floats  # (lanes)
    sums: Floats  # (4 · lanes): partial sums of one row
    judged: JudgedRows
    elders: Ints  # (slots): the slot of its elder; ALONE, EMPTY
    recent: Floats  # (1024): a ring
    progress: Ints  # scores that have entered it; the slots of the newest candidate and of the two tested, −1: none
    level: Ints  # (classes, classes): of what [label, prediction] costs; empty: costs are not counted

    @property
    def lines(self) -> Floats:
        """The weights as (features, lanes)."""
        return self.weights.reshape(-1, self.intercepts.size)

    def lanes(self, slot: int) -> slice:
        """Those of one slot."""
        outputs = self.intercepts.size // self.elders.size
        return slice(slot * outputs, (slot + 1) * outputs)

    def model(self, slot: int, width: int | None = None) -> Floats:
        """The weights of one slot, (1 + features, outputs), intercept first; of all features that there is room for."""
        lanes = self.lanes(slot)
        return np.concatenate([self.intercepts[None, lanes], self.lines[:width, lanes]])

    def put(self, slot: int, weights: Floats) -> None:
        """The weights of a model into an empty slot."""
        lanes = self.lanes(slot)
        self.lines[: len(weights) - 1, lanes], self.intercepts[lanes] = weights[1:], weights[0]

    def widened(self, width: int) -> Board:
        """With weights of 0 for features that nobody has met: the kernel looks at all that a row has."""
        room = len(self.lines)
        if width <= room:
            return self
        weights = zeros_in_lines(max(width, 2 * room) * self.intercepts.size)
        weights[: self.weights.size] = self.weights
        return self._replace(weights=weights)


def empty_board(slots: int, outputs: int, room: int, level: Ints) -> Board:
    """Empty slots, and room for so many features."""
    lanes = slots * outputs
    weights, intercepts, sums = zeros_in_lines(room * lanes), np.zeros(lanes), zeros_in_lines(4 * lanes)
    elders, progress = np.full(slots, EMPTY), np.array([0, -1, -1, -1])
    return Board(weights, intercepts, sums, _nothing_judged(slots), elders, np.zeros(RECENT), progress, level)


def _nothing_judged(slots: int) -> JudgedRows:
    score, lack = np.zeros((2, slots, BLOCK))
    wrong, side = np.zeros((2, slots, BLOCK), dtype=np.uint8)
    places, paid = np.zeros((2, slots, BLOCK), dtype=np.int64)
    label, own = np.zeros(BLOCK, dtype=np.int64), np.zeros(BLOCK, dtype=np.uint8)
    return JudgedRows(label, own, score, lack, wrong, side, places, paid)
