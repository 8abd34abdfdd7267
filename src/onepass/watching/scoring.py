"""All watched models judge a row in one walk over it.

Scores are summed in the order in which a model of its own sums them (`rows.scan`, `rows.dots`), so that what is
deployed says of every row, exact ties included, what it said when it was watched.
"""

from __future__ import annotations

import numpy as np

from onepass._jit import by_type, inlined, jit, prefetch
from onepass._vectors import every, load, store
from onepass.rows import AnyRows, Dense, Floats, Ints, Rows
from onepass.watching.board import Board, JudgedRows

AHEAD = np.uint64(128)  # values ahead whose lines are asked for
EIGHT = np.uint64(8)


@inlined
def _add_line(sums, at, weights, line, lanes, x):  # type: ignore[no-untyped-def]
    """sums[at + lane] += weights[line + lane]·x."""
    c = np.uint64(0)
    while c + EIGHT <= lanes:
        store(sums, at + c, load(sums, at + c) + load(weights, line + c) * every(x))
        c += EIGHT
    while c < lanes:
        sums[at + c] += weights[line + c] * x
        c += np.uint64(1)


def _add_rows(rows, i, weights, lanes, group, sums):  # type: ignore[no-untyped-def]
    indices, values = rows.indices, rows.values
    j, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    ahead = AHEAD if end + AHEAD <= np.uint64(indices.size) else np.uint64(0)
    while j + np.uint64(4) <= end:
        for q in range(np.uint64(4)):
            prefetch(weights, np.uint64(np.uint32(indices[j + ahead + q])) * lanes)
            line = np.uint64(np.uint32(indices[j + q])) * lanes
            _add_line(sums, q * group, weights, line, lanes, np.float64(values[j + q]))
        j += np.uint64(4)
    while j < end:
        line = np.uint64(np.uint32(indices[j])) * lanes
        _add_line(sums, np.uint64(0), weights, line, lanes, np.float64(values[j]))
        j += np.uint64(1)


def _add_dense(rows, i, weights, lanes, group, sums):  # type: ignore[no-untyped-def]
    values = rows.values
    j, end = np.uint64(0), np.uint64(values.shape[1])
    while j + np.uint64(4) <= end:
        for q in range(np.uint64(4)):
            _add_line(sums, q * group, weights, (j + q) * lanes, lanes, np.float64(values[i, j + q]))
        j += np.uint64(4)
    while j < end:
        _add_line(sums, np.uint64(0), weights, j * lanes, lanes, np.float64(values[i, j]))
        j += np.uint64(1)


# add(rows, i, weights, lanes, group, sums): sums[q·group + lane] += weights·x, where q is the value's place in its four
add = by_type({Rows: _add_rows, Dense: _add_dense})


def _eight_rows(rows, i, weights):  # type: ignore[no-untyped-def]
    indices, values = rows.indices, rows.values
    j, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    ahead = AHEAD if end + AHEAD <= np.uint64(indices.size) else np.uint64(0)
    s0 = s1 = s2 = s3 = every(0.0)
    while j + np.uint64(4) <= end:
        for q in range(np.uint64(4)):
            prefetch(weights, np.uint64(np.uint32(indices[j + ahead + q])) * EIGHT)
        s0 = s0 + _product(weights, np.uint32(indices[j]), values[j])
        s1 = s1 + _product(weights, np.uint32(indices[j + np.uint64(1)]), values[j + np.uint64(1)])
        s2 = s2 + _product(weights, np.uint32(indices[j + np.uint64(2)]), values[j + np.uint64(2)])
        s3 = s3 + _product(weights, np.uint32(indices[j + np.uint64(3)]), values[j + np.uint64(3)])
        j += np.uint64(4)
    while j < end:
        s0 = s0 + _product(weights, np.uint32(indices[j]), values[j])
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


def _eight_dense(rows, i, weights):  # type: ignore[no-untyped-def]
    values = rows.values[i]
    j, end = np.uint64(0), np.uint64(values.size)
    s0 = s1 = s2 = s3 = every(0.0)
    while j + np.uint64(4) <= end:
        s0 = s0 + _product(weights, j, values[j])
        s1 = s1 + _product(weights, j + np.uint64(1), values[j + np.uint64(1)])
        s2 = s2 + _product(weights, j + np.uint64(2), values[j + np.uint64(2)])
        s3 = s3 + _product(weights, j + np.uint64(3), values[j + np.uint64(3)])
        j += np.uint64(4)
    while j < end:
        s0 = s0 + _product(weights, j, values[j])
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


@inlined
def _product(weights, f, x):  # type: ignore[no-untyped-def]
    """The eight weights of a feature, times its value."""
    return load(weights, np.uint64(f) * EIGHT) * every(np.float64(x))


# score_eight(rows, i, weights): the scores of eight models, without their intercepts, in a register
score_eight = by_type({Rows: _eight_rows, Dense: _eight_dense})


@jit
def score_two(rows: AnyRows, first: int, y: Ints, bias: float, board: Board) -> None:
    """Two classes, labels ±1: the verdicts on the rows from `first` on, whose labels `y` are."""
    weights, intercepts, sums, scores = board.weights, board.intercepts, board.sums, board.judged.score
    slots = np.uint64(intercepts.size)
    for i in range(np.uint64(y.size)):
        if slots == EIGHT:
            found = score_eight(rows, np.uint64(first) + i, weights) + every(bias) * load(intercepts, np.uint64(0))
            store(sums, np.uint64(0), found)
        else:
            for c in range(sums.size):
                sums[c] = 0.0
            add(rows, np.uint64(first) + i, weights, slots, slots, sums)
            for k in range(slots):
                left, right = sums[k] + sums[k + slots], sums[k + slots * np.uint64(2)] + sums[k + slots * np.uint64(3)]
                sums[k] = (left + right) + bias * intercepts[k]
        for k in range(slots):
            scores[k, i] = sums[k]
    _judge_two(y, board, slots)


@jit
def _judge_two(y: Ints, board: Board, slots: int) -> None:
    """What the scores of two classes say, slot by slot, in loops that do the same to several rows at once."""
    labels, scores, wrong, side = board.judged.label, board.judged.score, board.judged.wrong, board.judged.side
    for i in range(np.uint64(y.size)):
        labels[i] = y[i] > 0
    for k in range(np.uint64(slots)):
        for i in range(np.uint64(y.size)):
            wrong[k, i] = np.uint8(not np.float64(y[i]) * scores[k, i] > 0.0)
        for i in range(np.uint64(y.size)):
            side[k, i] = labels[i]


@jit
def score_several(rows: AnyRows, first: int, y: Ints, bias: float, board: Board) -> None:
    """Several classes, labels 0, 1, …: the same."""
    intercepts, sums, judged = board.intercepts, board.sums, board.judged
    labels, lanes = judged.label, np.uint64(intercepts.size)
    outputs = lanes // np.uint64(board.elders.size)
    for i in range(np.uint64(y.size)):
        for c in range(lanes):
            sums[c] = bias * intercepts[c]
        add(rows, np.uint64(first) + i, board.weights, lanes, np.uint64(0), sums)
        labels[i] = y[i]
        for k in range(np.uint64(board.elders.size)):
            _judge(sums, k * outputs, outputs, (k, i), judged, board.level)


@jit
def _judge(sums: Floats, at: int, outputs: int, place: tuple[int, int], judged: JudgedRows, level: Ints) -> None:
    """The verdict of one model on a row, whose scores of the classes stand from `at` on."""
    k, i = place
    label = np.uint64(judged.label[i])
    own, top, next_best, rival, other = sums[at + label], -np.inf, -np.inf, -np.inf, np.int64(label)
    for c in range(np.uint64(outputs)):
        score = sums[at + c]
        if c != label and score > rival:
            rival, other = score, np.int64(c)
        if score > top:
            top, next_best = score, top
        elif score > next_best:
            next_best = score
    judged.wrong[k, i], judged.side[k, i] = not own > rival, own > rival
    judged.score[k, i], judged.lack[k, i] = top - next_best, rival - own
    if level.size > 0:
        judged.paid[k, i] = _paid(level, np.int64(label), other, own - rival)


@jit
def _paid(level: Ints, label: int, other: int, lead: float) -> int:
    """The level of a row whose label leads the best other class by so much; of a tie, the dearer of the two."""
    if lead > 0.0:
        return int(level[label, label])
    return int(level[label, other] if lead < 0.0 else max(level[label, label], level[label, other]))
