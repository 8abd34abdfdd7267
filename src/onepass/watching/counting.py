"""What the watched models made of a block of rows is counted: bins of scores, rows and mistakes of each class, pairs.

Slot by slot, so that a processor searches the bins of several rows at the same time.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onepass._jit import jit
from onepass.guards.drift import Cells
from onepass.rows import Floats
from onepass.trace.watched import BORDERS, Watched
from onepass.watching.board import EMPTY, RECENT, Board

Bytes = npt.NDArray[np.uint8]
SIDE = BORDERS + 1  # cells of one label, or of rows misjudged, before those of the other


@jit
def count(board: Board, n: int, counts: Watched) -> None:
    """Enter the verdicts on n rows into what is known of each model, and of it beside its elder."""
    for c in range(np.uint64(counts.rows.shape[1])):
        _count_class(board, np.int64(c), n, counts)
    for k in range(np.uint64(board.elders.size)):
        if board.elders[k] != EMPTY:
            _count_bins(board, k, n, counts)
            if board.level.size > 0:
                _count_costs(board, k, n, counts)
    _remember_scores(board, n)


@jit
def _count_class(board: Board, c: int, n: int, counts: Watched) -> None:
    """Rows of one class, the mistakes of each model in them, and how model and elder fared on the same rows.

    Sums over a block, since entering row by row into the same few counters is to wait for each of them.
    """
    labels, wrong, elders = board.judged.label, board.judged.wrong, board.elders
    own, met = board.judged.own, np.int64(0)
    for i in range(np.uint64(n)):
        own[i] = labels[i] == c
        met += np.int64(own[i])
    if met == 0:
        return
    for k in range(np.uint64(elders.size)):
        if elders[k] == EMPTY:
            continue
        missed = _shared(wrong, k, k, own, n)
        counts.rows[k, c] += met
        counts.mistakes[k, c] += missed
        if elders[k] >= 0:
            elder, pair = np.uint64(elders[k]), counts.pair
            by_elder, by_both = _shared(wrong, elder, elder, own, n), _shared(wrong, elder, k, own, n)
            pair[k, c, 1, 1] += by_both
            pair[k, c, 1, 0] += by_elder - by_both
            pair[k, c, 0, 1] += missed - by_both
            pair[k, c, 0, 0] += met - by_elder - missed + by_both


@jit
def _shared(wrong: Bytes, k: int, other: int, own: Bytes, n: int) -> int:
    """How many rows of the class both models misjudge."""
    found = np.int64(0)
    for i in range(np.uint64(n)):
        found += np.int64(wrong[k, i] & wrong[other, i] & own[i])
    return int(found)


@jit
def _count_bins(board: Board, k: int, n: int, counts: Watched) -> None:
    scores, sides, places = board.judged.score, board.judged.side, board.judged.bin
    bins, borders = counts.bins, counts.borders
    for i in range(np.uint64(n)):
        at = np.uint64(_bin(borders, k, scores[k, i]))
        places[k, i] = at
        bins[k, sides[k, i], at] += 1


@jit
def _bin(borders: Floats, k: int, score: float) -> int:
    """How many of the 128 borders of slot k are at or below the score; without a branch, since none is likely."""
    at = np.uint64(0)
    step = np.uint64(64)
    while step > np.uint64(0):
        at += step * np.uint64(borders[k, at + step - np.uint64(1)] <= score)
        step >>= np.uint64(1)
    return int(at + np.uint64(borders[k, at] <= score))


@jit
def _count_costs(board: Board, k: int, n: int, counts: Watched) -> None:
    paid, costs, pair, elder = board.judged.paid, counts.costs, counts.cost_pair, board.elders[k]
    for i in range(np.uint64(n)):
        costs[k, paid[k, i]] += 1
        if elder >= 0:
            pair[k, paid[np.uint64(elder), i], paid[k, i]] += 1


@jit
def _remember_scores(board: Board, n: int) -> None:
    """Those of the newest candidate."""
    recent, scores = board.recent, board.judged.score
    entered, newest = np.uint64(board.progress[0]), np.uint64(board.progress[1])
    for i in range(np.uint64(n)):
        recent[entered & np.uint64(RECENT - 1)] = scores[newest, i]
        entered += np.uint64(1)
    board.progress[0] = entered


@jit
def note_cells(board: Board, n: int, borders: Floats, several: bool, cells: Cells) -> None:
    """For the models that are tested: the bin of the score, and before it that beside which the label stands; last,
    whether the first of them misjudged the row.

    Signed by the label, a score of two classes lies on the label's side; of several it is the lead of the label's own
    class over the best other one, and misjudged, that of the other.
    """
    sides, places, lacks, wrong = board.judged.side, board.judged.bin, board.judged.lack, board.judged.wrong
    for tester in range(2):
        k = np.uint64(board.progress[2 + tester])
        if board.progress[2 + tester] >= 0:
            for i in range(np.uint64(n)):
                at = places[k, i]
                signed = _bin(borders, k, lacks[k, i]) if several and wrong[k, i] else sides[k, i] * SIDE + at
                cells[i, 2 * tester], cells[i, 2 * tester + 1] = signed, at
                if tester == 0:
                    cells[i, 4] = wrong[k, i]
