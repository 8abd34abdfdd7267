"""The one loop over rows: judge, step, push, record.

A head holds the weights and knows how a row is judged and how it is pushed into them: `Binary` for labels ±1, `Several`
for class numbers 0, 1, …  The hypothesis is w = scale·v, where v is what the head holds; the constant feature of an
intercept has its own weight b.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepass._jit import by_type, jit
from onepass.learners import step, widen
from onepass.rows import AnyRows, Floats, Ints, add, copy_row, dots, filled, scan, transfer
from onepass.trace.log import SHIFTS, Log, shift_at
from onepass.trace.tally import Tally, charge


class Binary(NamedTuple):
    """Two classes: w (features), b (1); `bias` is the constant feature, 1 or 0."""

    w: Floats
    b: Floats
    bias: float


class Several(NamedTuple):
    """Several classes: w (features, classes), b (1, classes), and room for the scores of one row."""

    w: Floats
    b: Floats
    bias: float
    scores: Floats


Head = Binary | Several


def _judge_binary(head, rows, i, y):  # type: ignore[no-untyped-def]
    total, x2, width = scan(rows, i, head.w)
    return y * (total + head.bias * head.b[0]), -1, x2 + head.bias, width


def _judge_several(head, rows, i, y):  # type: ignore[no-untyped-def]
    scores, rival = head.scores, 1 if y == 0 else 0
    for c in range(np.uint64(scores.size)):
        scores[c] = head.bias * head.b[0, c]
    x2, width = dots(rows, i, head.w, scores)
    for c in range(scores.size):
        if c != y and scores[c] > scores[rival]:
            rival = c
    return scores[y] - scores[rival], rival, 2.0 * (x2 + head.bias), width


def _push_binary(head, a, rows, i, y, rival):  # type: ignore[no-untyped-def]
    add(rows, i, head.w, a * y)
    head.b[0] += a * y * head.bias


def _push_several(head, a, rows, i, y, rival):  # type: ignore[no-untyped-def]
    transfer(rows, i, head.w, a, y, rival)
    head.b[0, y] += a * head.bias
    head.b[0, rival] -= a * head.bias


def _rescale_binary(head, factor):  # type: ignore[no-untyped-def]
    head.b[0] *= factor
    for f in range(np.uint64(head.w.size)):
        head.w[f] *= factor


def _rescale_several(head, factor):  # type: ignore[no-untyped-def]
    for c in range(np.uint64(head.scores.size)):
        head.b[0, c] *= factor
        for f in range(np.uint64(head.w.shape[0])):
            head.w[f, c] *= factor


# judge(head, rows, i, y) = (margin under v, rival, squared length of the direction, the width that the row needs or −1)
judge = by_type({Binary: _judge_binary, Several: _judge_several})
push = by_type({Binary: _push_binary, Several: _push_several})  # v += a·direction
rescale = by_type({Binary: _rescale_binary, Several: _rescale_several})  # v *= factor

# Places in the learner's state. A rule that normalises may raise the scale, and then v shrinks by cancellation: RENEWED
# is the scale from which the carried ‖w‖² is still good, LOW the lowest scale ever, GREW whether it has risen so far
# that a sum of all update rows would not give w.
SCALE, NORM2, RADIUS2, RENEWED, LOW, GREW = 0, 1, 2, 3, 4, 5
RENEWAL = 2.0**8  # growth after which ‖w‖² is summed afresh: its error grows as the square of the scale
GROWTH = 2.0**20  # growth that update rows can stand: their sum loses as many digits as the scale has gained


def first_state() -> Floats:
    """The state before the first row: w = 0."""
    return np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0])


@jit
def renew_norm(head: Head, state: Floats) -> None:
    """‖w‖² afresh: the sum carried from step to step drifts after a huge row, and when the scale has risen."""
    total = 0.0
    for v in head.w.flat:
        total += v * v
    for v in head.b.flat:
        total += v * v
    state[NORM2] = state[SCALE] * state[SCALE] * total
    state[RENEWED] = state[SCALE]


@jit
def _follow(head: Head, state: Floats, scale: float, norm2: float) -> float:
    """‖w‖², afresh if the scale has risen much; notes how far it has risen and fallen."""
    state[LOW] = min(state[LOW], scale)
    state[RENEWED] = min(state[RENEWED], scale)
    if scale > GROWTH * state[LOW]:
        state[GREW] = 1.0
    if scale > RENEWAL * state[RENEWED]:
        state[SCALE] = scale
        renew_norm(head, state)
        return float(state[NORM2])
    return norm2


@jit
def _shift(head: Head, state: Floats, scale: float, factor: float) -> float:
    """v multiplied and the scale divided by a power of two, given back."""
    state[RENEWED] /= factor
    state[LOW] /= factor
    rescale(head, factor)
    return scale / factor


@jit
def learn(head: Head, rows: AnyRows, y: Ints, rule: object, state: Floats, log: Log, t0: int) -> int:
    """One pass over the rows, which are rounds t0+1, t0+2, …: changes head and state, appends the updates to log.

    The rows of the updates are noted, not copied: `keep` does that, beside the learning of the next rows.
    Nobody need have looked at the rows before: gives the width that they need, or −1 if one is not fit for a kernel;
    then learning has ended before it.
    """
    scale, norm2, radius2 = state[SCALE], state[NORM2], state[RADIUS2]
    k, end = np.uint64(log.cursor[0]), log.cursor[1]
    width = np.int64(0)
    for i in range(np.uint64(y.size)):
        t = t0 + np.int64(i) + 1
        margin, rival, x2, needed = judge(head, rows, i, y[i])
        if needed < 0:
            width = np.int64(-1)
            break
        width = max(width, needed)
        margin *= scale
        radius2 = widen(rule, radius2, x2)
        loss, a, norm2, shrink = step(rule, margin, norm2, x2, radius2, t)
        if loss > 0.0:
            a /= scale  # the log's a: v ← v + a·direction
            push(head, a, rows, i, y[i], rival)
            scale *= shrink
            if shrink != 1.0:
                norm2 = _follow(head, state, scale, norm2)
            log.shift[k] = shift_at(scale)
            if log.shift[k]:
                scale = _shift(head, state, scale, SHIFTS[log.shift[k]])
            end += filled(rows, i)
            log.indptr[k + np.uint64(1)] = end
            log.row[k], log.round[k], log.label[k], log.rival[k] = i, t, y[i], rival
            log.a[k], log.scale[k], log.margin[k] = a, scale, margin
            k += np.uint64(1)
    state[SCALE], state[NORM2], state[RADIUS2] = scale, norm2, radius2
    log.cursor[0], log.cursor[1] = k, end
    return int(width)


@jit
def keep(log: Log, rows: AnyRows, first: int) -> None:
    """Copy the rows of updates first, first + 1, … into the log."""
    for k in range(first, log.row.size):
        copy_row(rows, log.row[k], log, log.indptr[k])
        log.row[k] = 0  # where it stood depends on how the stream was cut, and nothing else may


@jit
def watch(head: Head, rows: AnyRows, y: Ints, tally: Tally, group: int, bound: float) -> bool:
    """Charge the weights in head, which stay as they are, with their losses on the rows; false if one is too large."""
    for i in range(np.uint64(y.size)):
        margin, _, _, _ = judge(head, rows, i, y[i])
        if not charge(tally, group, margin, bound):
            return False
    tally.rounds[group] += y.size
    return True


def _score_binary(head, rows, i, out):  # type: ignore[no-untyped-def]
    out[i, 0] = scan(rows, i, head.w)[0] + head.bias * head.b[0]


def _score_several(head, rows, i, out):  # type: ignore[no-untyped-def]
    for c in range(np.uint64(out.shape[1])):
        out[i, c] = head.bias * head.b[0, c]
    dots(rows, i, head.w, out[i])


_score = by_type({Binary: _score_binary, Several: _score_several})


@jit
def score(head: Head, rows: AnyRows, out: Floats) -> None:
    """out[i, c] = the score of row i, per class or (two classes) for the second."""
    for i in range(np.uint64(out.shape[0])):
        _score(head, rows, i, out)


def head_of(weights: Floats, bias: float) -> Head:
    """The head that holds weights (1 + features, outputs), intercept first; it sees them, not a copy."""
    if weights.shape[1] == 1:
        flat = weights.reshape(-1)
        return Binary(flat[1:], flat[:1], bias)
    return Several(weights[1:], weights[:1], bias, np.zeros(weights.shape[1]))
