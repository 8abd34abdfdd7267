"""Watching: blocks of rows are judged by all watched models, and what they made of them is counted."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.guards.drift import Cells
from onepass.rows import AnyRows, Floats, Ints
from onepass.trace.watched import Watched
from onepass.watching.board import BLOCK, Board
from onepass.watching.counting import count, note_cells
from onepass.watching.scoring import score_several, score_two

Features = npt.NDArray[np.int32]


@jit
def watch_two(rows: AnyRows, y: Ints, bias: float, board: Board, counts: Watched, cells: Cells) -> None:
    """Two classes, labels ±1: count what every watched model makes of these rows. They were looked at before.

    `cells` (rows, 5) is for those of the models that are tested.
    """
    for first in range(0, y.size, BLOCK):
        n = min(BLOCK, y.size - first)
        score_two(rows, first, y[first : first + n], bias, board)
        count(board, n, counts)
        note_cells(board, n, counts.borders, False, cells[first : first + n])


@jit
def watch_several(rows: AnyRows, y: Ints, bias: float, board: Board, counts: Watched, cells: Cells) -> None:
    """Several classes, labels 0, 1, …: the same, and where costs are counted, what each row costs."""
    for first in range(0, y.size, BLOCK):
        n = min(BLOCK, y.size - first)
        score_several(rows, first, y[first : first + n], bias, board)
        count(board, n, counts)
        note_cells(board, n, counts.borders, True, cells[first : first + n])


@jit
def place(now: Floats, half: Floats, rounds: float, met: Features, weights: Floats, lanes: int, first: int) -> None:
    """The mean over so many rounds, from sums at their end and at their beginning, into the lanes from `first` on.

    `now` and `half` are (features, outputs). Only the features `met` are looked at: of others there is nothing, neither
    in the sums nor in what stood in the lanes.
    """
    outputs = now.shape[1]
    known = half.shape[0]
    for j in range(np.uint64(met.size)):
        f = np.uint64(np.uint32(met[j]))
        for c in range(np.uint64(outputs)):
            total = now[f, c]
            if f < np.uint64(known):
                total -= half[f, c]
            at = f * np.uint64(lanes) + np.uint64(first) + c
            if total != 0.0 or weights[at] != 0.0:
                weights[at] = total / rounds
