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

from onepass._jit import add_four, by_type, inlined, jit
from onepass.rows import AnyRows, Floats, Ints
from onepass.runs.adaptive_rows import COUNT, INV, MU, S1, S2, A, Entries, U, W, at, collect, length, score, scores
from onepass.trace.log import Deltas

INTERCEPT, LOSSES, DENSE, ROUND, DROPPED, MET = range(6)  # places in `numbers`
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
    numbers: Floats  # Σ r² of the intercept, rounds with loss, dense columns, the round, no log, columns met
    dense: npt.NDArray[np.int32]  # the dense columns, rising
    met: npt.NDArray[np.int32]  # the columns that are known, in the order in which they were met
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
    met: npt.NDArray[np.int32]
    bias: float
    w: Floats  # (features, classes)
    u: Floats
    scores: Floats  # room for those of one row


Store = Single | Multiple
Columns = npt.NDArray[np.int32]
Row = tuple[Columns, Floats, Floats, Floats, Columns, Floats, Columns, Floats]
# of `Entries`: column, value, z, squares, picked, scale; of the store: the columns met, and its numbers


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


def _rescale_single(store, columns, entries, n, log):  # type: ignore[no-untyped-def]
    flat, picked, centres, scales, x = store.flat, entries.picked, entries.centre, entries.scale, entries.value
    places, values = log.indices, log.values
    t, end, shift, moved = store.numbers[ROUND], log.cursor[1], 0.0, 0.0
    for j in range(np.uint64(n)):
        f, mu, scale = np.uint32(columns[picked[j]]), centres[j], scales[j]
        inv, old = flat[at(f, INV)], flat[at(f, W)]
        d = old * (scale / inv if inv > 0.0 else 0.0) - old
        if d != 0.0:
            flat[at(f, W)] += d
            flat[at(f, U)] += t * d
            moved += d * x[picked[j]]
            places[end], values[end] = np.int64(f) + 1, d
            end += 1
        shift += flat[at(f, MU)] * old - mu * flat[at(f, W)]
        flat[at(f, MU)], flat[at(f, INV)] = mu, scale
    store.db[0] += shift
    log.cursor[1] = end
    return moved


def _rescale_multiple(store, columns, entries, n, log):  # type: ignore[no-untyped-def]
    flat, picked, centres, scales = store.flat, entries.picked, entries.centre, entries.scale
    places, values = log.indices, log.values
    w, u, db, outputs = store.w, store.u, store.db, store.db.size
    t, end = store.numbers[ROUND], log.cursor[1]
    for j in range(np.uint64(n)):
        f, mu, scale = np.uint32(columns[picked[j]]), centres[j], scales[j]
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
    return 0.0


def _push_single(store, entries, n, log, c, y, rival):  # type: ignore[no-untyped-def]
    flat, columns, steps, places, values = store.flat, entries.column, entries.step, log.indices, log.values
    zs, t, shift, signed, end = entries.z, store.numbers[ROUND], 0.0, c * y, np.uint64(log.cursor[1])
    for j in range(np.uint64(n)):
        f = np.uint32(columns[j])
        d = signed * steps[j] * flat[at(f, INV)]
        add_four(flat, at(f, MU), 0.0, zs[j] * zs[j], d, t * d)
        shift += d * flat[at(f, MU)]
        places[end], values[end] = np.int64(f) + 1, d
        end += np.uint64(d != 0.0)
    store.db[0] -= shift
    log.cursor[1] = end


def _push_multiple(store, entries, n, log, c, y, rival):  # type: ignore[no-untyped-def]
    flat, columns, steps, places, values = store.flat, entries.column, entries.step, log.indices, log.values
    w, u, zs, outputs = store.w, store.u, entries.z, store.b.size
    t, shift, end = store.numbers[ROUND], 0.0, log.cursor[1]
    for j in range(np.uint64(n)):
        f = np.uint32(columns[j])
        d = c * steps[j] * flat[at(f, INV)]
        flat[at(f, A)] += zs[j] * zs[j]
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
rescale = by_type({Single: _rescale_single, Multiple: _rescale_multiple})  # those picked; weights follow: Σ d·x
push = by_type({Single: _push_single, Multiple: _push_multiple})  # w += ±c·step·inv on the entries; A is kept
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
def _observe(flat: Floats, dense: Columns, row: Row, sizes: tuple[int, int]) -> int:
    """Enter a row's values into the statistics of their columns, and pick those that have strayed: how many.

    One that is met for the first time is among them, and is noted. `sizes` are those of the row and of the dense
    columns. Every value is written where the next strayed one belongs, and stays there if it is that: a tenth of them
    are, and no processor foresees which.
    """
    columns, x, zs, squares, picked, _, _, _ = row
    strayed = np.uint64(0)
    for j in range(np.uint64(sizes[0])):
        f, v = np.uint32(columns[j]), x[j]
        count, square, inv, mu = flat[at(f, COUNT)], flat[at(f, S2)], flat[at(f, INV)], flat[at(f, MU)]
        zs[j], squares[j] = (v - mu) * inv, flat[at(f, A)]
        if (v * v * count > CLIP * square) & (count >= 16.0):
            v = math.copysign(math.sqrt(CLIP * square / count), v)
        count, square = count + 1.0, square + v * v
        add_four(flat, at(f, S1), v, v * v, 1.0, 0.0)
        picked[strayed] = j
        strayed += np.uint64((abs(square * inv * inv - count) > STRAY * count) & (mu == 0.0))  # only dense ones have mu
    return int(_settle_strayed(flat, dense, row, (int(strayed), sizes[1])))


@jit
def _settle_strayed(flat: Floats, dense: Columns, row: Row, sizes: tuple[int, int]) -> int:
    """The new scales of the entries picked that are not dense; columns that are new are noted. How many are left."""
    columns, _, _, _, picked, scales, met, numbers = row
    p, many, left, known = np.uint64(0), np.uint64(sizes[1]), np.uint64(0), np.uint64(numbers[MET])
    for k in range(np.uint64(sizes[0])):
        f = np.uint32(columns[picked[k]])
        while p < many and dense[p] < f:
            p += np.uint64(1)
        if not (p < many and dense[p] == f):
            count = flat[at(f, COUNT)]
            picked[left], scales[left] = picked[k], math.sqrt(count / flat[at(f, S2)])
            left += np.uint64(1)
            met[known] = f  # if it is new: else the next one takes its place
            known += np.uint64(count == 1.0)
    numbers[MET] = known
    return int(left)


@jit
def _rescale_strayed(store: Store, entries: Entries, n: int, log: Deltas) -> float:
    """Rescale the entries picked, which have no centre. What that adds to the score, where there is one."""
    moved = rescale(store, entries.column, entries, n, log)
    zs, x, picked, scales = entries.z, entries.value, entries.picked, entries.scale
    for j in range(np.uint64(n)):
        zs[picked[j]] = x[picked[j]] * scales[j]
    return float(moved)


@jit
def _rescale_dense(store: Store, entries: Entries, n: int, log: Deltas) -> None:
    """Rescale the dense columns picked, each to its centre; centres are 0 again afterwards."""
    rescale(store, store.dense, entries, n, log)
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
            n += np.uint64(1)
    _rescale_dense(store, entries, n, log)
    n = np.uint64(0)
    for f in range(np.uint64(met)):
        if flat[at(f, COUNT)] > 0.5 * losses:
            dense[n] = f
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
    flat, dense, many = store.flat, store.dense, np.uint64(store.numbers[DENSE])
    for p in range(many):
        f = dense[p]
        entries.picked[p] = p
        entries.centre[p], entries.scale[p] = _standard(flat[at(f, S1)], flat[at(f, S2)], losses, store.bias)
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
    for j in range(np.uint64(store.numbers[MET])):
        f = np.uint32(met[j])
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
def _look_at_dense(store: Store, entries: Entries, n: int, log: Deltas, met: int) -> None:
    """At some rounds: which columns are dense, and their centres and scales; the row is standardised anew."""
    losses = np.int64(store.numbers[LOSSES])
    if _decides_dense(losses):
        _decide_dense(store, losses, entries, log, met)
    _centre(store, losses, entries, log)
    _settle_intercept(store, log)
    flat, columns, x, zs = store.flat, entries.column, entries.value, entries.z
    for j in range(np.uint64(n)):
        f = np.uint32(columns[j])
        zs[j] = (x[j] - flat[at(f, MU)]) * flat[at(f, INV)]


@jit
def _add_dense(flat: Floats, dense: Columns, row: Row, sizes: tuple[int, int]) -> int:
    """Append to a row the dense columns that it has not, at value 0. How many entries there are."""
    columns, _, zs, squares, _, _, _, _ = row
    filled, end, p = np.uint64(sizes[0]), np.uint64(sizes[0]), np.uint64(0)
    for q in range(np.uint64(sizes[1])):
        f = dense[q]
        while p < filled and columns[p] < f:
            p += np.uint64(1)
        if p == filled or columns[p] != f:
            columns[end], zs[end], squares[end] = f, -flat[at(f, MU)] * flat[at(f, INV)], flat[at(f, A)]
            end += np.uint64(1)
    return int(end)


@inlined
def _total(a: Floats, b: Floats, n: int) -> float:
    """Σ a·b over the first n, in four fixed partial sums."""
    j, end = np.uint64(0), np.uint64(n)
    s0 = s1 = s2 = s3 = 0.0
    while j + np.uint64(4) <= end:
        s0 += a[j] * b[j]
        s1 += a[j + np.uint64(1)] * b[j + np.uint64(1)]
        s2 += a[j + np.uint64(2)] * b[j + np.uint64(2)]
        s3 += a[j + np.uint64(3)] * b[j + np.uint64(3)]
        j += np.uint64(4)
    while j < end:
        s0 += a[j] * b[j]
        j += np.uint64(1)
    return (s0 + s1) + (s2 + s3)


@jit
def _step(zs: Floats, squares: Floats, steps: Floats, n: int, bias: float) -> tuple[float, float]:
    """(1 over the row's length, how far a whole step goes): the steps of a standardised row."""
    length2 = bias + _total(zs, zs, n)
    if not length2 > 0.0:
        return 0.0, 0.0
    r = 1.0 / math.sqrt(length2)
    for j in range(np.uint64(n)):
        z = r * zs[j]
        square = squares[j] + z * z
        zs[j] = z
        steps[j] = z / math.sqrt(square) if square > 0.0 else 0.0
    return r, _total(zs, steps, n)


@jit
def _lifted(numbers: Floats, r: float) -> float:
    """The intercept's step."""
    numbers[INTERCEPT] += r * r
    return r / math.sqrt(numbers[INTERCEPT])


@jit
def _add_squares(flat: Floats, columns: Columns, zs: Floats, n: int) -> None:
    for j in range(np.uint64(n)):
        flat[at(np.uint32(columns[j]), A)] += zs[j] * zs[j]


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
    columns, zs, squares, steps = entries.column, entries.z, entries.squares, entries.step
    row = (columns, entries.value, zs, squares, entries.picked, entries.scale, store.met, numbers)
    rounds, margins, rivals, indptr = log.round, log.margin, log.rival, log.indptr
    first = k = np.uint64(cursor[0])
    width, most, done, outputs, bias = np.int64(0), np.int64(0), np.int64(y.size), store.b.size, store.bias
    room, values = min(columns.size, dense.size), log.values.size
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
        t, now, n = t0 + np.int64(i) + 1, margin, np.int64(collect(rows, i, entries))
        numbers[LOSSES], numbers[ROUND] = losses, t
        strayed = _observe(flat, dense, row, (n, many))
        if strayed > 0:
            now += y[i] * _rescale_strayed(store, entries, strayed, log)
        if _has_few_bits(losses):
            _look_at_dense(store, entries, n, log, max(met, width))
            many = np.int64(numbers[DENSE])
        if cursor[1] > start and (outputs > 1 or _has_few_bits(losses)):
            now, rival = _judge_again(store, rows, i, y[i])
        if many > 0:
            n = _add_dense(flat, dense, row, (n, many))
        r, reach = _step(zs, squares, steps, n, bias)
        lifted = _lifted(numbers, r) if bias > 0.0 else 0.0
        reach = (reach + r * lifted) * (1.0 if outputs == 1 else 2.0)  # of several, one class goes up, another down
        if reach > 0.0 and now * r < 1.0:
            c = min(1.0, (1.0 - now * r) / reach)
            push(store, entries, n, log, c, y[i], rival)
            lift(store, c * lifted, y[i], rival)
            _settle_intercept(store, log)
        else:
            _add_squares(flat, columns, zs, n)
        if numbers[DROPPED] > 0.0:
            cursor[1] = start
        rounds[k], margins[k] = t, margin
        rivals[k] = (1 if y[i] < 0 else 2) if outputs == 1 else y[i] * outputs + met_as  # label·classes + rival
        k += np.uint64(1)
        indptr[k] = cursor[1]
    _fill(log, first, k)
    cursor[0] = k
    return int(done), int(width), int(most)
