"""How many rows equal an earlier one: a sketch of bounded size, of rows chosen by what they hold.

Rows that come again in another order look like draws from few values: no alarm can tell, so nothing is withheld for
them, but their share is told. A row is counted if its fingerprint and its hash end in as many zero bits as are asked
for, so all its copies are counted with it. None are asked for until 2048 different rows are held: then one more, which
drops half of them. (Wegman's adaptive sampling; Flajolet 1990.) Up to there the share is exact.

The fingerprint decides which rows are hashed whole, a few in the end, so that all this costs next to nothing. Where
fingerprints do not tell rows apart, half of them would be an odd half: there the hash decides alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.guards.fingerprints import BASE1, Words, whole
from onepass.rows import AnyRows, Ints
from onepass.state_checks import need, need_all_alike

FEWEST, MOST = 1 << 6, 1 << 12  # places in the table, half of them in use at most: 1.5 kB at first, 98 kB at most
APART = 0.9  # different fingerprints per different row from which on fingerprints tell rows apart
ROWS, HELD, PRINT_MASK, HASH_MASK = range(4)
HASH, PRINT, COUNT = range(3)


class Duplicates(NamedTuple):
    """State of the sketch."""

    scope: Words  # rows so far; different rows held; the bits that must be zero in a fingerprint, and in a hash
    table: Words  # (places, 3): a row's hash, fingerprint, and how often it came


def no_duplicates() -> Duplicates:
    return Duplicates(np.zeros(4, np.uint64), np.zeros((FEWEST, 3), np.uint64))


def count_rows(duplicates: Duplicates, rows: AnyRows, y: Ints, prints: Words) -> Duplicates:
    """The state after these rows with labels y and their fingerprints."""
    done = 0
    with np.errstate(over="ignore"):
        while True:
            done = int(_count(duplicates, rows, y, prints, done))
            if done == len(y):
                return duplicates
            duplicates = _table_of(duplicates.scope, _entries(duplicates))


def share(duplicates: Duplicates) -> float | None:
    """The share of the rows that equal an earlier one, label included; None if nothing can be said.

    It is the share among the rows counted, unless the number of different rows contradicts it: where a few rows make up
    much of the stream it is chance whether they are among those counted, and that number is the better witness.
    """
    n, different = int(duplicates.scope[ROWS]), int(duplicates.scope[HELD])
    if not different:
        return None
    seen = int(duplicates.table[:, COUNT].sum())
    chance = 0.5 ** sum(int(mask).bit_count() for mask in duplicates.scope[PRINT_MASK:])
    among = 1.0 - different / seen
    overall = 1.0 - different / (chance * n)
    error = (1.0 - overall) * math.sqrt((1.0 - chance) / different)
    return min(1.0, max(0.0, overall if abs(overall - among) > 4.0 * error else among))


def merged(one: Duplicates, other: Duplicates) -> Duplicates:
    """The sketch of both streams together."""
    scope = one.scope | other.scope  # of masks, ones at the end, the longer
    scope[ROWS] = one.scope[ROWS] + other.scope[ROWS]
    entries = np.concatenate([_entries(one), _entries(other)])
    _, first, place = np.unique(entries[:, HASH], return_index=True, return_inverse=True)
    total = entries[first]
    total[:, COUNT] = 0
    np.add.at(total[:, COUNT], place, entries[:, COUNT])
    return _table_of(scope, total)


def _entries(duplicates: Duplicates) -> Words:
    return duplicates.table[duplicates.table[:, COUNT] > 0]


def _table_of(scope: Words, entries: Words) -> Duplicates:
    """The entries that pass the masks, which are made longer until there is room for more."""
    scope = scope.copy()
    while True:
        entries = entries[(entries[:, PRINT] & scope[PRINT_MASK] | entries[:, HASH] & scope[HASH_MASK]) == 0]
        if 2 * len(entries) < MOST:
            break
        apart = 1 + np.count_nonzero(np.diff(np.sort(entries[:, PRINT]))) >= APART * len(entries)
        which = PRINT_MASK if apart else HASH_MASK
        scope[which] = 2 * scope[which] + 1
    places = FEWEST
    while places <= 2 * len(entries):
        places *= 2
    table = np.zeros((places, 3), np.uint64)
    with np.errstate(over="ignore"):
        _put(entries, table)
    scope[HELD] = len(entries)
    return Duplicates(scope, table)


@jit
def _count(duplicates, rows, y, prints, start):  # type: ignore[no-untyped-def]
    """Count rows from `start` on; where it stopped: at the end, or when the table wants room."""
    scope, table = duplicates.scope, duplicates.table
    one, none = np.uint64(1), np.uint64(0)
    print_mask, hash_mask = scope[PRINT_MASK], scope[HASH_MASK]
    i, end = np.uint64(start), np.uint64(prints.size)
    while i < end and np.uint64(2) * scope[HELD] < np.uint64(table.shape[0]):
        if prints[i] & print_mask == none:
            key = whole(rows, i, y[i])
            if key & hash_mask == none:
                slot = _slot(key, table)
                if table[slot, COUNT] == none:
                    table[slot, HASH], table[slot, PRINT] = key, prints[i]
                    scope[HELD] += one
                table[slot, COUNT] += one
        i += one
    scope[ROWS] += i - np.uint64(start)
    return i


@jit
def _slot(key, table):  # type: ignore[no-untyped-def]
    """The place where the row with this hash is, or would be."""
    slot = (key * BASE1 >> np.uint64(32)) & np.uint64(table.shape[0] - 1)
    while table[slot, COUNT] != np.uint64(0) and table[slot, HASH] != key:
        slot = (slot + np.uint64(1)) & np.uint64(table.shape[0] - 1)
    return slot


@jit
def _put(entries, table):  # type: ignore[no-untyped-def]
    for e in range(entries.shape[0]):
        slot = _slot(entries[e, HASH], table)
        for c in range(3):
            table[slot, c] = entries[e, c]


def check_duplicates(sketch: Any) -> None:
    """Raise CheckpointError unless a pass can have this sketch."""
    what, fresh = "the sketch of repeated rows", no_duplicates()
    need_all_alike(sketch, fresh, what)
    size = len(sketch.table)
    need(sketch.scope.shape == fresh.scope.shape and sketch.table.shape[1] == 3, what)
    need(FEWEST <= size <= MOST and size & (size - 1) == 0, what)
    held = int(np.count_nonzero(sketch.table[:, COUNT]))  # a search must come to an empty place
    need(sketch.scope[HELD] == held and held < size, what)
    need(int(sketch.table[:, COUNT].max()) <= int(sketch.scope[ROWS]) < 1 << 62, what)
