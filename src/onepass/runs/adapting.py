"""The loop of Adaptive: judge a row, and if it has loss, learn its columns' scales from it, then take a step.

A round with loss works on `entries`, the row's non-zeros followed by the dense columns that it has not. Every change d
of a weight is applied as w + d and logged as that very d, so that the log adds up to the hypotheses. Arrays are taken
out of their tuples before a loop: inside it each look would count a reference, which costs more than the arithmetic.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, jit
from onepass.rows import AnyRows, Floats, Ints
from onepass.runs.adaptive_rows import COUNT, INV, MU, S1, S2, A, Entries, U, W, at, collect, length, score, scores
from onepass.trace.log import Deltas

INTERCEPT, LOSSES, DENSE, ROUND = range(4)  # places in `numbers`
CLIP = 100.0  # times the mean square, beyond which a value is clipped: one spike must not kill a column
STRAY = 0.1013  # how far a column's mean square may stray from 1; not 0.1, lest counts tie
CONSTANT = 1e-9  # of the mean square: a variance below this is none


class Single(NamedTuple):
    """Two classes: one output. `u` is Σ t·d over all changes d after round t: Σ_{j≤t} w_j = t·w − u."""

    columns: Floats  # (features, 8)
    flat: Floats  # the same numbers, seen as one line
    b: Floats  # (1)
    ub: Floats  # (1): u of the intercept
    db: Floats  # (1): its change in this round, until it is applied
    numbers: Floats  # Σ r² of the intercept, rounds with loss, dense columns, the round
    dense: npt.NDArray[np.int32]  # the dense columns, rising
    bias: float  # 1 with an intercept, 0 without


class Multiple(NamedTuple):
    """Several classes: what is learned of a column serves all of them."""

    columns: Floats
    flat: Floats
    b: Floats  # (classes)
    ub: Floats
    db: Floats
    numbers: Floats
    dense: npt.NDArray[np.int32]
    bias: float
    w: Floats  # (features, classes)
    u: Floats
    scores: Floats  # room for those of one row


Store = Single | Multiple


def _judge_single(store, rows, i, y):  # type: ignore[no-untyped-def]
    total, filled, width = score(rows, i, store.flat)
    return y * (total + store.b[0]), -1, filled, width


def _judge_multiple(store, rows, i, y):  # type: ignore[no-untyped-def]
    total, rival = store.scores, 1 if y == 0 else 0
    for c in range(np.uint64(total.size)):
        total[c] = store.b[c]
    filled, width = scores(rows, i, store.w, total)
    for c in range(total.size):
        if c != y and total[c] > total[rival]:
            rival = c
    return total[y] - total[rival], rival, filled, width


# --- changing ---------------------------------------------------------------------------------------------------------


def _rescale_single(store, columns, n, entries, log):  # type: ignore[no-untyped-def]
    flat, centres, scales, places, values = store.flat, entries.centre, entries.step, log.indices, log.values
    t, end, shift = store.numbers[ROUND], log.cursor[1], 0.0
    for j in range(np.uint64(n)):
        if scales[j] < 0.0:
            continue
        f, inv, old = np.uint32(columns[j]), flat[at(columns[j], INV)], flat[at(columns[j], W)]
        d = old * (scales[j] / inv if inv > 0.0 else 0.0) - old
        if d != 0.0:
            flat[at(f, W)] += d
            flat[at(f, U)] += t * d
            places[end], values[end] = np.int64(f) + 1, d
            end += 1
        shift += flat[at(f, MU)] * old - centres[j] * flat[at(f, W)]
        flat[at(f, MU)], flat[at(f, INV)] = centres[j], scales[j]
    store.db[0] += shift
    log.cursor[1] = end


def _rescale_multiple(store, columns, n, entries, log):  # type: ignore[no-untyped-def]
    flat, centres, scales, places, values = store.flat, entries.centre, entries.step, log.indices, log.values
    w, u, db, outputs = store.w, store.u, store.db, store.db.size
    t, end = store.numbers[ROUND], log.cursor[1]
    for j in range(np.uint64(n)):
        if scales[j] < 0.0:
            continue
        f, inv, centre = np.uint32(columns[j]), flat[at(columns[j], INV)], flat[at(columns[j], MU)]
        ratio = scales[j] / inv if inv > 0.0 else 0.0
        for c in range(np.uint64(outputs)):
            old = w[f, c]
            d = old * ratio - old
            if d != 0.0:
                w[f, c] += d
                u[f, c] += t * d
                places[end], values[end] = (np.int64(f) + 1) * outputs + np.int64(c), d
                end += 1
            db[c] += centre * old - centres[j] * w[f, c]
        flat[at(f, MU)], flat[at(f, INV)] = centres[j], scales[j]
    log.cursor[1] = end


def _push_single(store, entries, n, log, c, y, rival):  # type: ignore[no-untyped-def]
    flat, columns, steps, places, values = store.flat, entries.column, entries.step, log.indices, log.values
    t, shift, signed, end = store.numbers[ROUND], 0.0, c * y, np.uint64(log.cursor[1])
    for j in range(np.uint64(n)):
        f = np.uint32(columns[j])
        d = signed * steps[j] * flat[at(f, INV)]
        flat[at(f, W)] += d
        flat[at(f, U)] += t * d
        shift += d * flat[at(f, MU)]
        places[end], values[end] = np.int64(f) + 1, d
        end += np.uint64(d != 0.0)
    store.db[0] -= shift
    log.cursor[1] = end


def _push_multiple(store, entries, n, log, c, y, rival):  # type: ignore[no-untyped-def]
    flat, columns, steps, places, values = store.flat, entries.column, entries.step, log.indices, log.values
    w, u, outputs = store.w, store.u, store.b.size
    t, shift, end = store.numbers[ROUND], 0.0, log.cursor[1]
    for j in range(np.uint64(n)):
        f = np.uint32(columns[j])
        d = c * steps[j] * flat[at(f, INV)]
        if d != 0.0:
            w[f, y] += d
            w[f, rival] -= d
            u[f, y] += t * d
            u[f, rival] -= t * d
            place = (np.int64(f) + 1) * outputs
            places[end], values[end] = place + y, d
            places[end + 1], values[end + 1] = place + rival, -d
            end += 2
            shift += d * flat[at(f, MU)]
    store.db[y] -= shift
    store.db[rival] += shift
    log.cursor[1] = end


def _lift_single(store, c, y, rival):  # type: ignore[no-untyped-def]
    store.db[0] += c * y


def _lift_multiple(store, c, y, rival):  # type: ignore[no-untyped-def]
    store.db[y] += c
    store.db[rival] -= c


judge = by_type({Single: _judge_single, Multiple: _judge_multiple})  # (margin, rival, non-zeros, width or −1)
rescale = by_type({Single: _rescale_single, Multiple: _rescale_multiple})  # columns to new scales; weights follow
push = by_type({Single: _push_single, Multiple: _push_multiple})  # w += ±c·step·inv on the entries
lift = by_type({Single: _lift_single, Multiple: _lift_multiple})  # b += ±c


@jit
def _settle_intercept(store: Store, log: Deltas) -> None:
    """Apply the change of the intercept."""
    end = log.cursor[1]
    for c in range(store.b.size):
        d = store.db[c]
        if d != 0.0:
            store.b[c] += d
            store.ub[c] += store.numbers[ROUND] * d
            log.indices[end], log.values[end] = c, d
            end += 1
        store.db[c] = 0.0
    log.cursor[1] = end


@jit
def _observe(store: Store, entries: Entries, n: int, log: Deltas) -> None:
    """Enter the row's values into the statistics of their columns; those that have strayed are rescaled."""
    flat, dense, columns, x, scales = store.flat, store.dense, entries.column, entries.value, entries.step
    many, p, strayed = np.uint64(store.numbers[DENSE]), np.uint64(0), False
    for j in range(np.uint64(n)):
        f, v = np.uint32(columns[j]), x[j]
        count, square = flat[at(f, COUNT)], flat[at(f, S2)]
        if count >= 16.0 and v * v * count > CLIP * square:
            v = math.copysign(math.sqrt(CLIP * square / count), v)
        count, square = count + 1.0, square + v * v
        flat[at(f, S1)] += v
        flat[at(f, COUNT)], flat[at(f, S2)] = count, square
        while p < many and dense[p] < f:
            p += np.uint64(1)
        inv, scales[j] = flat[at(f, INV)], -1.0
        if abs(square * inv * inv - count) > STRAY * count and not (p < many and dense[p] == f):
            scales[j], strayed = math.sqrt(count / square), True
    if strayed:
        entries.centre[:n] = 0.0
        rescale(store, columns, n, entries, log)


@jit
def _decides_dense(losses: int) -> bool:
    return losses in (16, 128, 1024)


@jit
def _dense_after(store: Store, losses: int) -> int:
    """How many columns may be dense after one more row, at a round that decides it."""
    flat, n = store.flat, 0
    for f in range(np.uint64(flat.size >> 3)):
        n += int(flat[at(f, COUNT)] + 1.0 > 0.5 * losses)
    return n


@jit
def _decide_dense(store: Store, losses: int, entries: Entries, log: Deltas) -> None:
    """Dense are the columns of more than half of the rounds with loss; one that no longer is loses its centre."""
    flat, dense, many = store.flat, store.dense, np.int64(store.numbers[DENSE])
    for p in range(many):
        count = flat[at(dense[p], COUNT)]
        entries.centre[p], entries.step[p] = 0.0, -1.0
        if not count > 0.5 * losses:
            entries.step[p] = math.sqrt(count / flat[at(dense[p], S2)])
    rescale(store, dense, many, entries, log)
    n = 0
    for f in range(np.uint64(flat.size >> 3)):
        if flat[at(f, COUNT)] > 0.5 * losses:
            dense[n] = f
            n += 1
    store.numbers[DENSE] = n


@jit
def _standard(total: float, square: float, losses: float, bias: float) -> tuple[float, float]:
    """(mean, 1 over the standard deviation) of a dense column over all rounds with loss; 0 for one that is constant."""
    mean2, mu = square / losses, bias * total / losses
    variance = mean2 - mu * mu
    return mu, 1.0 / math.sqrt(variance) if variance > CONSTANT * mean2 else 0.0


@jit
def _centre(store: Store, losses: int, entries: Entries, log: Deltas) -> None:
    """Dense columns are centred and scaled anew from all rounds with loss."""
    flat, dense, many = store.flat, store.dense, np.int64(store.numbers[DENSE])
    for p in range(many):
        mu, inv = _standard(flat[at(dense[p], S1)], flat[at(dense[p], S2)], losses, store.bias)
        entries.centre[p], entries.step[p] = mu, inv
    rescale(store, dense, many, entries, log)


@jit
def _has_few_bits(n: int) -> bool:
    """Whether n has at most three significant bits."""
    while n >= 8:
        if n & 1:
            return False
        n >>= 1
    return True


@jit
def standardise(store: Store) -> None:
    """Which columns are dense, all centres and all scales, from the sums alone; weights stay as they are."""
    flat, dense, n, losses = store.flat, store.dense, 0, store.numbers[LOSSES]
    for f in range(np.uint64(flat.size >> 3)):
        count, square, mu, inv = flat[at(f, COUNT)], flat[at(f, S2)], 0.0, 0.0
        if losses >= 16.0 and count > 0.5 * losses:
            dense[n] = f
            n += 1
            mu, inv = _standard(flat[at(f, S1)], square, losses, store.bias)
        elif square > 0.0:
            inv = math.sqrt(count / square)
        flat[at(f, MU)], flat[at(f, INV)] = mu, inv
    store.numbers[DENSE] = n


@jit
def _learn_scales(store: Store, entries: Entries, n: int, log: Deltas) -> None:
    """Learn from the row how its columns are scaled and centred; weights and intercept follow."""
    losses = np.int64(store.numbers[LOSSES])
    _observe(store, entries, n, log)
    if _decides_dense(losses):
        _decide_dense(store, losses, entries, log)
    if _has_few_bits(losses):
        _centre(store, losses, entries, log)
    _settle_intercept(store, log)


@jit
def _add_dense(store: Store, entries: Entries, n: int) -> int:
    """Append the dense columns that the row has not, at value 0. How many entries there are."""
    dense, columns, x = store.dense, entries.column, entries.value
    many, p = np.uint64(n), np.uint64(0)
    for q in range(np.uint64(store.numbers[DENSE])):
        f = dense[q]
        while p < n and columns[p] < f:
            p += np.uint64(1)
        if p == n or columns[p] != f:
            columns[many], x[many] = f, 0.0
            many += np.uint64(1)
    return int(many)


@jit
def _step(store: Store, entries: Entries, n: int, margin: float, fan: float) -> tuple[float, float]:
    """(c, the intercept's step): go c along the entries' steps, at most 1, and no further than margin 1."""
    flat, columns, values, steps = store.flat, entries.column, entries.value, entries.step
    length2 = store.bias
    for j in range(np.uint64(n)):
        f = np.uint32(columns[j])
        z = (values[j] - flat[at(f, MU)]) * flat[at(f, INV)]
        values[j] = z
        length2 += z * z
    if not length2 > 0.0:
        return 0.0, 0.0
    r = 1.0 / math.sqrt(length2)
    room = 0.0
    for j in range(np.uint64(n)):
        f, z = np.uint32(columns[j]), r * values[j]
        squares = flat[at(f, A)] + z * z
        flat[at(f, A)] = squares
        step = z / math.sqrt(squares) if squares > 0.0 else 0.0
        steps[j] = step
        room += z * step
    lifted = 0.0
    if store.bias > 0.0:
        store.numbers[INTERCEPT] += r * r
        lifted = r / math.sqrt(store.numbers[INTERCEPT])
        room += r * lifted
    wanted = max(0.0, 1.0 - margin * r)
    return (min(1.0, wanted / (fan * room)) if room > 0.0 else 0.0), lifted


@jit
def _judge_again(store: Store, rows: AnyRows, i: int, y: int) -> tuple[float, int]:
    """(margin, rival) after scales have changed; a call of its own, since `judge` is inlined once in a function."""
    margin, rival, _, _ = judge(store, rows, i, y)
    return margin, rival


@jit
def _entries_needed(store: Store, values: int) -> int:
    """How many entries a round with loss may need for a row of so many values."""
    most, losses = values + np.int64(store.numbers[DENSE]), np.int64(store.numbers[LOSSES]) + 1
    if _decides_dense(losses):
        most += _dense_after(store, losses)
    return int(most)


@jit
def adapt(store: Store, rows: AnyRows, y: Ints, log: Deltas, entries: Entries, t0: int) -> tuple[int, int, int]:
    """Learn rows, which are rounds t0+1, t0+2, …: (rows learned, the width that they need or −1, entries wanted).

    Fewer than all: the next is not fit for a kernel (−1), or it may need more entries than there is room for.
    """
    k, width, done, outputs = np.uint64(log.cursor[0]), np.int64(0), np.int64(y.size), store.b.size
    room, most = min(entries.column.size, store.dense.size), np.int64(0)
    for i in range(np.uint64(y.size)):
        margin, rival, filled, needed = judge(store, rows, i, y[i])
        if needed < 0:
            width, done = np.int64(-1), np.int64(i)
            break
        width = max(width, needed)
        if margin > 0.0 and margin * margin >= store.bias + filled:
            continue
        most = np.int64(_entries_needed(store, length(rows, i)))
        if room < most or log.values.size < log.cursor[1] + (2 * most + 2) * outputs:
            done = np.int64(i)
            break
        t, start, now = t0 + np.int64(i) + 1, log.cursor[1], margin
        store.numbers[LOSSES] += 1.0
        store.numbers[ROUND] = t
        n = collect(rows, i, entries)
        _learn_scales(store, entries, n, log)
        if log.cursor[1] > start:
            now, rival = _judge_again(store, rows, i, y[i])
        n = np.uint64(_add_dense(store, entries, n))
        c, lifted = _step(store, entries, n, now, 1.0 if outputs == 1 else 2.0)
        if c > 0.0:
            push(store, entries, n, log, c, y[i], rival)
            lift(store, c * lifted, y[i], rival)
            _settle_intercept(store, log)
        log.row[k], log.round[k], log.label[k], log.rival[k], log.shift[k] = 0, t, 1, 0, 0
        log.a[k], log.scale[k], log.margin[k] = 1.0, 1.0, margin
        k += np.uint64(1)
        log.indptr[k] = log.cursor[1]
    log.cursor[0] = k
    return int(done), int(width), int(most)
