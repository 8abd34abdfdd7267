"""All watched models judge a row in one walk over it: their weights stand side by side, one line per feature.

Scores are summed in the order in which a model of its own sums them (`rows.scan`, `rows.dots`), so that what is
deployed says of every row, exact ties included, what it said when it was watched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, jit, prefetch
from onepass.guards.drift import Cells
from onepass.rows import AHEAD, AnyRows, Dense, Floats, Ints, Rows, zeros_in_lines
from onepass.trace.watched import BORDERS, Watched

Features = npt.NDArray[np.int32]
SIDE = BORDERS + 1  # cells of one label, or of rows misjudged, before those of the other
RECENT = 1024  # scores of the newest candidate that are remembered, for the borders of the next one's bins


class Board(NamedTuple):
    """What the kernel reads and writes. A lane is one output of one slot: slot · outputs + output."""

    weights: Floats  # (features · lanes): one line per feature
    intercepts: Floats  # (lanes)
    sums: Floats  # (4 · lanes): partial sums of one row
    wrong: npt.NDArray[np.uint8]  # (slots): whether it misjudges the row
    scores: Floats  # (slots): its score
    places: Ints  # (slots): the bin of it
    elders: Ints  # (slots): the slot of its elder, −1: none is watched; −2: the slot is empty
    recent: Floats  # (1024): a ring
    progress: Ints  # scores that have entered it; the slots of the newest candidate and of the two tested, −1: none
    level: Ints  # (classes, classes): of what [label, prediction] costs; empty: costs are not counted
    paid: Ints  # (slots): the level of the row

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
    wrong, scores = np.zeros(slots, dtype=np.uint8), np.zeros(slots)
    places, paid = np.zeros((2, slots), dtype=np.int64)
    elders, progress = np.full(slots, -2), np.array([0, -1, -1, -1])
    return Board(weights, intercepts, sums, wrong, scores, places, elders, np.zeros(RECENT), progress, level, paid)


def _add_rows(rows, i, weights, lanes, group, sums):  # type: ignore[no-untyped-def]
    indices, values = rows.indices, rows.values
    j, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    ahead = AHEAD if end + AHEAD <= np.uint64(indices.size) else np.uint64(0)
    while j + np.uint64(4) <= end:
        for q in range(np.uint64(4)):
            prefetch(weights, np.uint64(np.uint32(indices[j + ahead + q])) * lanes)
            x, line, at = np.float64(values[j + q]), np.uint64(np.uint32(indices[j + q])) * lanes, q * group
            for c in range(lanes):
                sums[at + c] += weights[line + c] * x
        j += np.uint64(4)
    while j < end:
        x, line = np.float64(values[j]), np.uint64(np.uint32(indices[j])) * lanes
        for c in range(lanes):
            sums[c] += weights[line + c] * x
        j += np.uint64(1)


def _add_dense(rows, i, weights, lanes, group, sums):  # type: ignore[no-untyped-def]
    values = rows.values[i]
    j, end = np.uint64(0), np.uint64(values.size)
    while j + np.uint64(4) <= end:
        for q in range(np.uint64(4)):
            x, line, at = np.float64(values[j + q]), (j + q) * lanes, q * group
            for c in range(lanes):
                sums[at + c] += weights[line + c] * x
        j += np.uint64(4)
    while j < end:
        x, line = np.float64(values[j]), j * lanes
        for c in range(lanes):
            sums[c] += weights[line + c] * x
        j += np.uint64(1)


# add(rows, i, weights, lanes, group, sums): sums[q·group + lane] += weights·x, where q is the value's place in its four
add = by_type({Rows: _add_rows, Dense: _add_dense})


@jit
def _bin(borders: Floats, score: float) -> int:
    """How many of the 128 borders of a slot are at or below the score; without a branch, since none is likely."""
    at = np.uint64(0)
    step = np.uint64(64)
    while step > np.uint64(0):
        at += step * np.uint64(borders[at + step - np.uint64(1)] <= score)
        step >>= np.uint64(1)
    return int(at + np.uint64(borders[at] <= score))


@jit
def _paid(level: Ints, label: int, other: int, lead: float) -> int:
    """The level of a row whose label leads the best other class by so much; of a tie, the dearer of the two."""
    if lead > 0.0:
        return int(level[label, label])
    return int(level[label, other] if lead < 0.0 else max(level[label, label], level[label, other]))


@jit
def watch_two(rows: AnyRows, y: Ints, bias: float, board: Board, counts: Watched, cells: Cells) -> None:
    """Two classes, labels ±1: count what every watched model makes of these rows. They were looked at before.

    `cells` (rows, 5) is for those of the models that are tested: the bin of the score, and before it that beside which
    the label stands; last, whether the first of them misjudged the row.
    """
    weights, intercepts, sums, wrong, elders = board.weights, board.intercepts, board.sums, board.wrong, board.elders
    met, mistakes, pair, bins, borders = counts.rows, counts.mistakes, counts.pair, counts.bins, counts.borders
    recent, entered, newest = board.recent, np.uint64(board.progress[0]), np.uint64(board.progress[1])
    scores, places, first, second = board.scores, board.places, board.progress[2], board.progress[3]
    slots = np.uint64(elders.size)
    for i in range(np.uint64(y.size)):
        sums[:] = 0.0
        add(rows, i, weights, slots, slots, sums)
        label = np.uint64(y[i] > 0)
        for k in range(slots):
            total = (sums[k] + sums[k + slots]) + (sums[k + slots * np.uint64(2)] + sums[k + slots * np.uint64(3)])
            score = total + bias * intercepts[k]
            wrong[k] = not y[i] * score > 0.0
            scores[k] = score
            if elders[k] != -2:
                places[k] = _bin(borders[k], score)
                bins[k, label, np.uint64(places[k])] += 1
                met[k, label] += 1
                mistakes[k, label] += wrong[k]
        recent[entered & np.uint64(RECENT - 1)] = scores[newest]
        entered += np.uint64(1)
        if first >= 0:
            cells[i, 4] = wrong[np.uint64(first)]
            at = places[np.uint64(first)]
            cells[i, 0], cells[i, 1] = np.int64(label) * SIDE + at, at
        if second >= 0:
            at = places[np.uint64(second)]
            cells[i, 2], cells[i, 3] = np.int64(label) * SIDE + at, at
        for k in range(slots):
            if elders[k] >= 0:
                pair[k, label, wrong[elders[k]], wrong[k]] += 1
    board.progress[0] = entered


@jit
def watch_several(rows: AnyRows, y: Ints, bias: float, board: Board, counts: Watched, cells: Cells) -> None:
    """Several classes, labels 0, 1, …: the same, and the score in the bins is the margin of the class chosen.

    Signed by the label it is the lead of the label's own class over the best other one; misjudged, that of the other.
    Where costs are counted, so is what each row costs.
    """
    weights, intercepts, sums, wrong, elders = board.weights, board.intercepts, board.sums, board.wrong, board.elders
    met, mistakes, pair, bins, borders = counts.rows, counts.mistakes, counts.pair, counts.bins, counts.borders
    recent, entered, newest = board.recent, np.uint64(board.progress[0]), np.uint64(board.progress[1])
    scores, places, first, second = board.scores, board.places, board.progress[2], board.progress[3]
    level, paid, costs, cost_pair = board.level, board.paid, counts.costs, counts.cost_pair
    slots, lanes = np.uint64(elders.size), np.uint64(intercepts.size)
    outputs = lanes // slots
    for i in range(np.uint64(y.size)):
        for c in range(lanes):
            sums[c] = bias * intercepts[c]
        add(rows, i, weights, lanes, np.uint64(0), sums)
        label = np.uint64(y[i])
        for k in range(slots):
            own, top, next_best = sums[k * outputs + label], -np.inf, -np.inf
            rival, other = -np.inf, np.int64(label)
            for c in range(outputs):
                score = sums[k * outputs + c]
                if c != label and score > rival:
                    rival, other = score, np.int64(c)
                if score > top:
                    top, next_best = score, top
                elif score > next_best:
                    next_best = score
            wrong[k] = not own > rival
            scores[k] = top - next_best
            if elders[k] != -2:
                places[k] = _bin(borders[k], top - next_best)
                bins[k, np.uint64(1 - wrong[k]), np.uint64(places[k])] += 1
                met[k, label] += 1
                mistakes[k, label] += wrong[k]
                if level.size > 0:
                    paid[k] = _paid(level, label, other, own - rival)
                    costs[k, paid[k]] += 1
            for tester, tested in enumerate((first, second)):
                if np.int64(k) == tested:
                    at = _bin(borders[k], rival - own) if wrong[k] else SIDE + places[k]
                    cells[i, 2 * tester], cells[i, 2 * tester + 1] = at, places[k]
        if first >= 0:
            cells[i, 4] = wrong[np.uint64(first)]
        recent[entered & np.uint64(RECENT - 1)] = scores[newest]
        entered += np.uint64(1)
        for k in range(slots):
            if elders[k] >= 0:
                pair[k, label, wrong[elders[k]], wrong[k]] += 1
                if level.size > 0:
                    cost_pair[k, paid[elders[k]], paid[k]] += 1
    board.progress[0] = entered


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
