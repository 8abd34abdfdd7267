"""The loop of Adaptive: judge a row, and if it has loss, learn its columns' scales from it, then take a step.

Every change d of a weight is applied as w + d and logged as that very d, so that the log adds up to the hypotheses.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onepass._jit import by_type, inlined, jit, trailing_zeros
from onepass._vectors import every, flags, load, load_chosen, quotients, roots, store_turned, sum_of, where_less
from onepass._vectors import store as put
from onepass.rows import AnyRows, Floats, Ints
from onepass.runs.adaptive_blocks import (
    CHANGE,
    COUNT,
    EIGHT,
    INV,
    MU,
    S1,
    S2,
    STEP,
    Columns,
    Entries,
    U,
    W,
    X,
    Z,
    at,
    blocks,
    eight_of,
    fill_up,
    lines_of,
    observe,
    of,
    put_back,
    step,
    take_out,
)
from onepass.runs.adaptive_rows import collect, length, score, scores
from onepass.trace.log import Deltas

INTERCEPT, LOSSES, DENSE, ROUND, DROPPED, MET, UNCENTRED = range(7)  # places in `numbers`
CONSTANT = 1e-9  # of the mean square: a variance below this is none


class Single(NamedTuple):
    """Two classes: one output. `u` is Σ t·d over all changes d after round t: Σ_{j≤t} w_j = t·w − u."""

    columns: Floats  # (features + 1, 8)
    flat: Floats  # the same numbers, seen as one line
    b: Floats  # (1)
    ub: Floats  # (1): u of the intercept
    db: Floats  # (1): its change in this round, until it is applied
    numbers: Floats  # Σ r² of the intercept, rounds with loss, dense columns, the round, no log, columns met,
    # and dense ones whose centre is 0
    dense: Columns  # the dense columns, rising
    met: Columns  # the columns that are known, in the order in which they were met
    in_dense: Floats  # (features + 1): 1 of a dense column, else 0
    bias: float  # 1 with an intercept, 0 without


class Multiple(NamedTuple):
    """Several classes: what is learned of a column serves all of them."""

    columns: Floats
    flat: Floats
    b: Floats  # (classes)
    ub: Floats
    db: Floats
    numbers: Floats
    dense: Columns
    met: Columns
    in_dense: Floats
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


def _rescale_single(store, entries, n, log):  # type: ignore[no-untyped-def]
    flat, dense, picked = store.flat, store.dense, entries.picked
    centres, scales = entries.centre, entries.scale
    places, values = log.indices, log.values
    t, end, shift = store.numbers[ROUND], log.cursor[1], 0.0
    for j in range(np.uint64(n)):
        f, mu, scale = np.uint32(dense[picked[j]]), centres[j], scales[j]
        inv, old = flat[at(f, INV)], flat[at(f, W)]
        d = old * (scale / inv if inv > 0.0 else 0.0) - old
        if d != 0.0:
            flat[at(f, W)] += d
            flat[at(f, U)] += t * d
            places[end], values[end] = np.int64(f) + 1, d
            end += 1
        shift += flat[at(f, MU)] * old - mu * flat[at(f, W)]
        flat[at(f, MU)], flat[at(f, INV)] = mu, scale
    store.db[0] += shift
    log.cursor[1] = end


def _rescale_multiple(store, entries, n, log):  # type: ignore[no-untyped-def]
    flat, dense, picked, centres, scales = store.flat, store.dense, entries.picked, entries.centre, entries.scale
    places, values = log.indices, log.values
    w, u, db, outputs = store.w, store.u, store.db, store.db.size
    t, end = store.numbers[ROUND], log.cursor[1]
    for j in range(np.uint64(n)):
        f, mu, scale = np.uint32(dense[picked[j]]), centres[j], scales[j]
        inv, centre = flat[at(f, INV)], flat[at(f, MU)]
        ratio = scale / inv if inv > 0.0 else 0.0
        for c in range(np.uint64(outputs)):
            old = w[f, c]
            d = old * ratio - old
            if d != 0.0:
                w[f, c] += d
                u[f, c] += t * d
                places[end], values[end] = (np.int64(f) + 1) * outputs + np.int64(c), d
                end += 1
            db[c] += centre * old - mu * w[f, c]
        flat[at(f, MU)], flat[at(f, INV)] = mu, scale
    log.cursor[1] = end


def _push_single(store, entries, n, log, c, y, rival):  # type: ignore[no-untyped-def]
    flat, columns, block = store.flat, entries.column, entries.block
    times, signed, shift = every(store.numbers[ROUND]), every(c * y), every(0.0)
    for g in range(blocks(n)):
        d = signed * load(block, eight_of(g, STEP)) * load(block, eight_of(g, INV))
        put(block, eight_of(g, CHANGE), d)
        shift = shift + d * load(block, eight_of(g, MU))
        u, w = load(block, eight_of(g, U)) + times * d, load(block, eight_of(g, W)) + d
        store_turned(flat, columns, g * EIGHT, lines_of(block, g, u, w))
    if store.numbers[DROPPED] == 0.0:
        _log_changes(block, columns, n, log)
    store.db[0] -= sum_of(shift)


def _push_multiple(store, entries, n, log, c, y, rival):  # type: ignore[no-untyped-def]
    columns, block, places, values = entries.column, entries.block, log.indices, log.values
    w, u, outputs = store.w, store.u, store.b.size
    t, shift, end = store.numbers[ROUND], 0.0, log.cursor[1]
    for j in range(np.uint64(n)):
        f = np.uint32(columns[j])
        d = c * block[of(j, STEP)] * block[of(j, INV)]
        if d != 0.0:
            w[f, y] += d
            w[f, rival] -= d
            u[f, y] += t * d
            u[f, rival] -= t * d
            place = (np.int64(f) + 1) * outputs
            places[end], values[end] = place + y, d
            places[end + 1], values[end + 1] = place + rival, -d
            end += 2
            shift += d * block[of(j, MU)]
    store.db[y] -= shift
    store.db[rival] += shift
    log.cursor[1] = end
    put_back(store.flat, entries, n)


def _lift_single(store, c, y, rival):  # type: ignore[no-untyped-def]
    store.db[0] += c * y


def _lift_multiple(store, c, y, rival):  # type: ignore[no-untyped-def]
    store.db[y] += c
    store.db[rival] -= c


def _follow_single(store, entries, n, log):  # type: ignore[no-untyped-def]
    columns, block, zero = entries.column, entries.block, every(0.0)
    times, moved = every(store.numbers[ROUND]), zero
    for g in range(blocks(n)):
        strays = load(block, eight_of(g, CHANGE))
        if flags(strays) == np.uint64(0):
            continue
        inv, x = load(block, eight_of(g, INV)), load(block, eight_of(g, X))
        scale = where_less(
            zero, strays, roots(quotients(load(block, eight_of(g, COUNT)), load(block, eight_of(g, S2)))), inv
        )
        old = load(block, eight_of(g, W))
        d = old * where_less(zero, inv, quotients(scale, inv), zero) - old
        d = where_less(zero, strays, d, zero)
        put(block, eight_of(g, W), old + d)
        moved = moved + d * x
        put(block, eight_of(g, INV), scale)
        put(block, eight_of(g, Z), where_less(zero, strays, x * scale, load(block, eight_of(g, Z))))
        put(block, eight_of(g, U), load(block, eight_of(g, U)) + times * d)
        put(block, eight_of(g, CHANGE), d)
    if store.numbers[DROPPED] == 0.0:
        _log_changes(block, columns, n, log)
    return sum_of(moved)


def _follow_multiple(store, entries, n, log):  # type: ignore[no-untyped-def]
    columns, block, places, values = entries.column, entries.block, log.indices, log.values
    w, u, outputs = store.w, store.u, store.b.size
    t, end = store.numbers[ROUND], log.cursor[1]
    for j in range(np.uint64(n)):
        if block[of(j, CHANGE)] > 0.0:
            f, inv = np.uint32(columns[j]), block[of(j, INV)]
            scale = math.sqrt(block[of(j, COUNT)] / block[of(j, S2)])
            ratio = scale / inv if inv > 0.0 else 0.0
            block[of(j, INV)], block[of(j, Z)] = scale, block[of(j, X)] * scale
            for c in range(np.uint64(outputs)):
                d = w[f, c] * ratio - w[f, c]
                if d != 0.0:
                    w[f, c] += d
                    u[f, c] += t * d
                    places[end], values[end] = (np.int64(f) + 1) * outputs + np.int64(c), d
                    end += 1
    log.cursor[1] = end
    return 0.0


@jit
def _log_changes(block: Floats, columns: Columns, n: int, log: Deltas) -> None:
    """Log the CHANGE of every entry's weight, where there is one output."""
    places, values, end = log.indices, log.values, np.uint64(log.cursor[1])
    for j in range(np.uint64(n)):
        d = block[of(j, CHANGE)]
        places[end], values[end] = columns[j] + 1, d
        end += np.uint64(d != 0.0)
    log.cursor[1] = end


judge = by_type({Single: _judge_single, Multiple: _judge_multiple})  # (margin, rival, non-zeros, width or −1)
rescale = by_type({Single: _rescale_single, Multiple: _rescale_multiple})  # the dense columns picked; weights follow
follow = by_type({Single: _follow_single, Multiple: _follow_multiple})  # strayed entries are rescaled: Σ d·x
push = by_type({Single: _push_single, Multiple: _push_multiple})  # w += ±c·step·inv on the entries
lift = by_type({Single: _lift_single, Multiple: _lift_multiple})  # b += ±c


@inlined
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


@inlined
def _settle_strayed(store: Store, entries: Entries, n: int) -> None:
    """Of the entries that have strayed dense ones are left as they are, and columns that are new are noted."""
    columns, block, met, zero = entries.column, entries.block, store.met, every(0.0)
    some, known = store.numbers[UNCENTRED] > 0.0, np.uint64(store.numbers[MET])
    for g in range(blocks(n)):
        strays = load(block, eight_of(g, CHANGE))
        if some:
            strays = where_less(zero, load_chosen(store.in_dense, columns, g * EIGHT), zero, strays)
            put(block, eight_of(g, CHANGE), strays)
        new = flags(where_less(load(block, eight_of(g, COUNT)), every(1.5), strays, zero))
        while new:
            met[known] = columns[g * EIGHT + trailing_zeros(new)]
            known += np.uint64(1)
            new &= new - np.uint64(1)
    store.numbers[MET] = known


@jit
def _rescale_dense(store: Store, entries: Entries, n: int, log: Deltas) -> None:
    """Rescale the dense columns picked, each to its centre; centres are 0 again afterwards."""
    rescale(store, entries, n, log)
    centres = entries.centre
    for p in range(np.uint64(n)):
        centres[p] = 0.0


@jit
def _decides_dense(losses: int) -> bool:
    return losses in (16, 128, 1024)


@jit
def _dense_after(flat: Floats, losses: int, met: int) -> int:
    """How many columns may be dense after one more row, at a round that decides it."""
    n = 0
    for f in range(np.uint64(met)):
        n += int(flat[at(f, COUNT)] + 1.0 > 0.5 * losses)
    return n


@jit
def _decide_dense(store: Store, losses: int, entries: Entries, log: Deltas, met: int) -> None:
    """Dense are the columns of more than half of the rounds with loss; one that no longer is loses its centre."""
    flat, dense, n = store.flat, store.dense, np.uint64(0)
    for p in range(np.uint64(store.numbers[DENSE])):
        f = dense[p]
        if not flat[at(f, COUNT)] > 0.5 * losses:
            entries.picked[n] = p
            entries.scale[n] = math.sqrt(flat[at(f, COUNT)] / flat[at(f, S2)])
            store.in_dense[f] = 0.0
            n += np.uint64(1)
    _rescale_dense(store, entries, n, log)
    n = np.uint64(0)
    for f in range(np.uint64(met)):
        if flat[at(f, COUNT)] > 0.5 * losses:
            dense[n] = f
            store.in_dense[f] = 1.0
            n += np.uint64(1)
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
    flat, dense, many, uncentred = store.flat, store.dense, np.uint64(store.numbers[DENSE]), 0
    for p in range(many):
        f = dense[p]
        entries.picked[p] = p
        entries.centre[p], entries.scale[p] = _standard(flat[at(f, S1)], flat[at(f, S2)], losses, store.bias)
        uncentred += entries.centre[p] == 0.0
    store.numbers[UNCENTRED] = uncentred
    _rescale_dense(store, entries, many, log)


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
    """Which columns are dense, all centres and all scales, from the sums alone; weights stay as they are.

    The columns met are in rising order here.
    """
    flat, dense, met, n, losses = store.flat, store.dense, store.met, 0, store.numbers[LOSSES]
    store.numbers[UNCENTRED] = 0.0
    for j in range(np.uint64(store.numbers[MET])):
        f = np.uint32(met[j])
        count, square, mu, inv = flat[at(f, COUNT)], flat[at(f, S2)], 0.0, 0.0
        if losses >= 16.0 and count > 0.5 * losses:
            dense[n] = f
            store.in_dense[f] = 1.0
            n += 1
            mu, inv = _standard(flat[at(f, S1)], square, losses, store.bias)
            store.numbers[UNCENTRED] += mu == 0.0
        elif square > 0.0:
            inv = math.sqrt(count / square)
        flat[at(f, MU)], flat[at(f, INV)] = mu, inv
    store.numbers[DENSE] = n


@jit
def _look_at_dense(store: Store, entries: Entries, log: Deltas, met: int) -> None:
    """At some rounds: which columns are dense, and their centres and scales."""
    losses = np.int64(store.numbers[LOSSES])
    if _decides_dense(losses):
        _decide_dense(store, losses, entries, log, met)
    _centre(store, losses, entries, log)
    _settle_intercept(store, log)


@inlined
def _lay_out(store: Store, entries: Entries, n: int) -> int:
    """Behind the n entries of a row come the dense columns that it has not, at value 0: how many there are."""
    columns, block, dense = entries.column, entries.block, store.dense
    filled, end, p = np.uint64(n), np.uint64(n), np.uint64(0)
    for q in range(np.uint64(store.numbers[DENSE])):
        f = dense[q]
        while p < filled and columns[p] < f:
            p += np.uint64(1)
        if p == filled or columns[p] != f:
            columns[end], block[of(end, X)] = f, 0.0
            end += np.uint64(1)
    fill_up(entries, end, len(store.columns) - 1)
    return int(end)


@inlined
def _lifted(numbers: Floats, r: float) -> float:
    """The intercept's step."""
    numbers[INTERCEPT] += r * r
    return r / math.sqrt(numbers[INTERCEPT])


@jit
def _judge_again(store: Store, rows: AnyRows, i: int, y: int) -> tuple[float, int]:
    """(margin, rival) after scales have changed; a call of its own, since `judge` is inlined once in a function."""
    margin, rival, _, _ = judge(store, rows, i, y)
    return margin, rival


@jit
def _fill(log: Deltas, first: int, last: int) -> None:
    """What all updates of a log of deltas have in common; no slices, which take long to compile."""
    row, label, shift, a, scale = log.row, log.label, log.shift, log.a, log.scale
    for k in range(np.uint64(first), np.uint64(last)):
        row[k], label[k], shift[k] = 0, 1, 0
        a[k] = scale[k] = 1.0


@jit
def adapt(store: Store, rows: AnyRows, y: Ints, log: Deltas, entries: Entries, met: int, t0: int) -> tuple[int, int, int]:  # fmt: skip  # noqa: E501
    """Learn rows, which are rounds t0+1, t0+2, …: (rows learned, the width that they need or −1, entries wanted).

    Fewer than all: the next is not fit for a kernel (−1), or it may need more entries than there is room for. `met`
    columns are all that were met before: there may be room for many more, which nobody need look at.
    """
    flat, dense, numbers, cursor = store.flat, store.dense, store.numbers, log.cursor
    rounds, margins, rivals, indptr = log.round, log.margin, log.rival, log.indptr
    first = k = np.uint64(cursor[0])
    width, most, done, outputs, bias = np.int64(0), np.int64(0), np.int64(y.size), store.b.size, store.bias
    room, values = min(entries.picked.size, dense.size), log.values.size
    for i in range(np.uint64(y.size)):
        margin, rival, filled, needed = judge(store, rows, i, y[i])
        if needed < 0:
            width, done = np.int64(-1), np.int64(i)
            break
        width = max(width, needed)
        if margin > 0.0 and margin * margin >= bias + filled:
            continue
        met_as = rival  # what the row was taken for, or nearly
        losses, many, start = np.int64(numbers[LOSSES]) + 1, np.int64(numbers[DENSE]), cursor[1]
        most = length(rows, i) + many + (_dense_after(flat, losses, max(met, width)) if _decides_dense(losses) else 0)
        if room < most or values < start + (2 * most + 2) * outputs:
            done = np.int64(i)
            break
        t, now, filled = t0 + np.int64(i) + 1, margin, np.int64(collect(rows, i, entries, filled))
        numbers[LOSSES], numbers[ROUND] = losses, t
        n = _lay_out(store, entries, filled)
        if observe(flat, entries, n):
            _settle_strayed(store, entries, n)
            now += y[i] * follow(store, entries, n, log)
        if _has_few_bits(losses):
            put_back(flat, entries, n)
            _look_at_dense(store, entries, log, max(met, width))
            n = _lay_out(store, entries, filled)
            take_out(flat, entries, n)
        if _has_few_bits(losses) or (outputs > 1 and cursor[1] > start):
            now, rival = _judge_again(store, rows, i, y[i])
        r, reach = step(entries.block, n, bias)
        lifted = _lifted(numbers, r) if bias > 0.0 else 0.0
        reach = (reach + r * lifted) * (1.0 if outputs == 1 else 2.0)  # of several, one class goes up, another down
        if reach > 0.0 and now * r < 1.0:
            c = min(1.0, (1.0 - now * r) / reach)
            push(store, entries, n, log, c, y[i], rival)
            lift(store, c * lifted, y[i], rival)
            _settle_intercept(store, log)
        else:
            put_back(flat, entries, n)
        if numbers[DROPPED] > 0.0:
            cursor[1] = start
        rounds[k], margins[k] = t, margin
        rivals[k] = (1 if y[i] < 0 else 2) if outputs == 1 else y[i] * outputs + met_as  # label·classes + rival
        k += np.uint64(1)
        indptr[k] = cursor[1]
    _fill(log, first, k)
    cursor[0] = k
    return int(done), int(width), int(most)


@jit
def sum_columns(flat: Floats, columns: Columns, rounds: float, total: Floats) -> None:
    """Σ of the weight in use over all rounds: rounds·w − u, of these columns, or where there are none of all."""
    for j in range(np.uint64(columns.size if columns.size > 0 else total.shape[0])):
        f = np.uint64(np.uint32(columns[j])) if columns.size > 0 else j
        total[f, 0] = rounds * flat[at(f, W)] - flat[at(f, U)]
