"""The repeat alarm: a block of rows that stood in the stream before, so that they were not drawn but fed twice.

Every row has a fingerprint (of its label, its length and a few of its entries: onepass.guards.fingerprints), every 64
consecutive rows a hash of theirs. In each 100 rows there are 37 such windows, and the one with the smallest hash is an
anchor: whoever feeds 100 rows again feeds their anchor again. (Winnowing: Schleimer, Wilkerson and Aiken 2003.) Anchors
are kept in a table, some 5 in 100 rows; when it has no more room, only hashes that end in one more zero bit are kept:
memory is bounded, and from then on short repeats may go by, long ones do not.

No false alarm. A repeat counts only if at least 32 different fingerprints stand in its window. If rows are independent
draws, so are their fingerprints, whatever they leave out. A given sequence of 64 with 32 different ones among them has
probability at most p_1·…·p_32 ≤ 32^-32 = 2^-160 (the p sum to at most 1, so their product is largest when all are
equal), hence so has the event that a window and one before it are the same: where they overlap, by d rows' shift, the
sequence has period d, its last d rows hold all the different ones, and the d new rows must hit them. Among n rows there
are n²/2 pairs: n = 2^40 gives 2^-81, for any distribution, one with a handful of values included. The hashes (64 bits
and 24 more) add 2^-42 for the 2^46 pairs that a full table and a billion rows make.

What it cannot see: rows with fewer than 32 different fingerprints in 64, repeats that were shuffled (`duplicates`
counts those), or of which single rows were changed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onepass._jit import jit
from onepass.guards.fingerprints import BASE1, BASE2, Words
from onepass.splitmix import finalize
from onepass.state_checks import need, need_all_alike

WINDOW = 64  # rows that make a hash
STRETCH = 37  # windows in a block of 100 rows
DIFFERENT = 32  # fingerprints that a window must hold to count
RING = 128  # the last fingerprints and hashes: at least WINDOW + STRETCH − 1, and a power of two
FEWEST, MOST = 1 << 8, 1 << 20  # places in the table: 4 kB at first, 16 MB at most
OUT1, OUT2 = (np.uint64(pow(int(base), WINDOW, 1 << 64)) for base in (BASE1, BASE2))  # weight of a row that leaves
ROW_BITS = np.uint64(40)
ROWS, HASH1, HASH2, ANCHOR, MASK, KEPT, AGAIN, BEFORE, STREAM = range(9)


class Repeats(NamedTuple):
    """State of the repeat alarm."""

    ring: Words  # (RING, 3): fingerprint of a row, and both hashes of the window that it ends
    place: Words  # rows so far; hashes of the window; row of the anchor; mask; anchors kept; the repeat, its original;
    # a hash of all rows
    table: Words  # (places, 2): an anchor's first hash; 24 bits of its second and 40 of its row's number


def no_repeats() -> Repeats:
    return Repeats(np.zeros((RING, 3), np.uint64), np.zeros(9, np.uint64), np.zeros((FEWEST, 2), np.uint64))


def observe_prints(repeats: Repeats, prints: Words) -> Repeats:
    """The state after rows with these fingerprints, in which they may have been recognised as a repeat."""
    done = 0
    with np.errstate(over="ignore"):  # hashes wrap on purpose; compiled code does not ask
        while not repeats.place[AGAIN]:  # once it has rung there is nothing more to learn
            done = int(_observe(repeats, prints, done))
            if done == len(prints):
                break
            repeats = _with_room(repeats)
    return repeats


def _with_room(repeats: Repeats) -> Repeats:
    """A table twice as large, or half as many anchors."""
    size = len(repeats.table)
    if size < MOST:
        size *= 2
    else:
        repeats.place[MASK] = repeats.place[MASK] * 2 + 1
    table = np.zeros((size, 2), np.uint64)
    repeats.place[KEPT] = _move(repeats.table, table, repeats.place[MASK])
    return repeats._replace(table=table)


def stream_hash(repeats: Repeats) -> tuple[int, ...]:
    """A hash of all rows with their labels, in their order; none before the first. (After an alarm it stands still.)"""
    return (int(repeats.place[STREAM]),) if repeats.place[ROWS] else ()


def repeat_reason(repeats: Repeats) -> str | None:
    """Why no certificate may be given, if the alarm rang."""
    again, before = int(repeats.place[AGAIN]), int(repeats.place[BEFORE])
    if not again:
        return None
    return (
        f"rows {again - WINDOW + 1:,} to {again:,} are rows {before - WINDOW + 1:,} to {before:,} once more: was a "
        "file or a block fed twice? Independent draws do not repeat themselves; feed each row once"
    )


@jit
def _observe(repeats, prints, start):  # type: ignore[no-untyped-def]
    """Hear rows from `start` on; where it stopped: at the end, or when the table wants room."""
    ring, place, table = repeats.ring, repeats.place, repeats.table
    one, last, window = np.uint64(1), np.uint64(RING - 1), np.uint64(WINDOW)
    t, h1, h2, anchor, stream = place[ROWS], place[HASH1], place[HASH2], place[ANCHOR], place[STREAM]
    i, end = np.uint64(start), np.uint64(prints.size)
    while i < end and np.uint64(2) * place[KEPT] < np.uint64(table.shape[0]):
        f = prints[i]
        i += one
        t += one
        gone = ring[(t - window) & last, 0]  # 0 while there are fewer rows
        h1 = h1 * BASE1 + f - gone * OUT1
        h2 = h2 * BASE2 + f - gone * OUT2
        stream = stream * BASE1 + f
        here = t & last
        ring[here, 0], ring[here, 1], ring[here, 2] = f, finalize(h1) | one, h2
        if t < np.uint64(WINDOW + STRETCH - 1):
            continue
        if anchor + np.uint64(STRETCH) <= t:  # it is too long ago: the smallest of the last, the latest of equals
            anchor = t
            for back in range(one, np.uint64(STRETCH)):
                if ring[(t - back) & last, 1] < ring[anchor & last, 1]:
                    anchor = t - back
        elif ring[here, 1] <= ring[anchor & last, 1]:
            anchor = t
        else:
            continue
        if (ring[anchor & last, 1] >> one) & place[MASK] == np.uint64(0):
            _keep(ring, place, table, anchor)
            if place[AGAIN] != np.uint64(0):
                i = end
    place[ROWS], place[HASH1], place[HASH2], place[ANCHOR], place[STREAM] = t, h1, h2, anchor, stream
    return i


@jit
def _keep(ring, place, table, anchor):  # type: ignore[no-untyped-def]
    """Find the anchor in the table, or put it there."""
    low = (np.uint64(1) << ROW_BITS) - np.uint64(1)
    here = anchor & np.uint64(RING - 1)
    key, tag = ring[here, 1], ring[here, 2] & ~low
    slot = _slot(key, table)
    while table[slot, 0] != np.uint64(0):
        if table[slot, 0] == key and table[slot, 1] & ~low == tag:
            if _different(ring, anchor) >= DIFFERENT:
                place[AGAIN], place[BEFORE] = anchor, table[slot, 1] & low
            return
        slot = (slot + np.uint64(1)) & np.uint64(table.shape[0] - 1)
    table[slot, 0], table[slot, 1] = key, tag | anchor
    place[KEPT] += np.uint64(1)


@jit
def _slot(key, table):  # type: ignore[no-untyped-def]
    return (key * BASE1 >> np.uint64(32)) & np.uint64(table.shape[0] - 1)


@jit
def _different(ring, anchor):  # type: ignore[no-untyped-def]
    """How many different fingerprints the window has that ends at the anchor."""
    different, last = 0, np.uint64(RING - 1)
    for k in range(np.uint64(WINDOW)):  # seldom called: sorting would only make the kernel larger
        new = 1
        for j in range(k):
            if ring[(anchor - j) & last, 0] == ring[(anchor - k) & last, 0]:
                new = 0
        different += new
    return different


@jit
def _move(old, table, mask):  # type: ignore[no-untyped-def]
    """Put those anchors into the table that pass the mask; how many there are."""
    kept = np.uint64(0)
    for place in range(old.shape[0]):
        key = old[place, 0]
        if key != np.uint64(0) and (key >> np.uint64(1)) & mask == np.uint64(0):
            slot = _slot(key, table)
            while table[slot, 0] != np.uint64(0):
                slot = (slot + np.uint64(1)) & np.uint64(table.shape[0] - 1)
            table[slot, 0], table[slot, 1] = key, old[place, 1]
            kept += np.uint64(1)
    return kept


def check_repeats(repeats: Any) -> None:
    """Raise CheckpointError unless a pass can have this state."""
    what, fresh = "the repeat alarm", no_repeats()
    need_all_alike(repeats, fresh, what)
    need(repeats.ring.shape == fresh.ring.shape and repeats.place.shape == fresh.place.shape, what)
    size = len(repeats.table)
    need(repeats.table.shape[1] == 2 and FEWEST <= size <= MOST and size & (size - 1) == 0, what)
    kept = int(np.count_nonzero(repeats.table[:, 0]))  # a search must come to an empty place
    need(repeats.place[KEPT] == kept and kept < size, what)
