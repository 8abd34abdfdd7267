"""Fingerprints of rows: a quick one of a few entries, and a whole one of all of them. Equal rows have equal ones.

The label is part of both. A fingerprint is of the row as it is stored; the whole hash is of its values that are not
zero, in whatever order and form they are stored.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onepass._jit import by_type, inlined, jit, prefetch
from onepass.rows import AnyRows, Dense, Ints, Rows
from onepass.splitmix import GOLDEN, finalize

Words = npt.NDArray[np.uint64]

SAMPLE, FEW = 16, 4  # entries that a fingerprint looks at: all of a short row, some of a dense one; of a long one
BASE1, BASE2 = GOLDEN, np.uint64(0xD1342543DE82EF95)
AHEAD = np.uint64(16)  # rows ahead of the one at hand that are asked for


def fingerprints(rows: AnyRows, y: Ints) -> Words:
    """The fingerprint of every row with its label."""
    prints = np.empty(len(y), np.uint64)
    with np.errstate(over="ignore"):  # hashes wrap on purpose; compiled code does not ask
        _prints(rows, y, prints)
    return prints


@jit
def _stirred(s, index, value):  # type: ignore[no-untyped-def]
    return s * BASE1 + (np.float64(value).view(np.uint64) ^ np.uint64(index) * BASE2)


def _print_rows(rows, i, label):  # type: ignore[no-untyped-def]
    """All of a short row; of a long one its last features, or, where they are simply all features, its last values.

    That is one place in memory, fetched once: where it is not at hand, the fetching is what costs, and so `_seek` asks
    for it ahead.
    """
    j, end = np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])
    size = end - j
    s = np.uint64(label + 2) * BASE2 + size
    if size <= np.uint64(SAMPLE):
        while j < end:
            s = _stirred(s, np.uint64(np.uint32(rows.indices[j])), rows.values[j])
            j += np.uint64(1)
        return finalize(s)
    all_of_them = np.uint64(rows.indices[end - np.uint64(1)]) + np.uint64(1) == size
    for k in range(np.uint64(FEW)):
        at = end - np.uint64(1) - k
        if all_of_them:
            s = _stirred(s, k, rows.values[at])
        else:
            s = s * BASE1 + np.uint64(rows.indices[at]) * BASE2
    return finalize(s)


@inlined
def _stirred_at(rows, i, s, k, size):  # type: ignore[no-untyped-def]
    """With the sample's value number k of a dense row."""
    at = k * (size - np.uint64(1)) // np.uint64(SAMPLE - 1)
    return _stirred(s, at, rows.values[i, at])


def _print_dense(rows, i, label):  # type: ignore[no-untyped-def]
    """All values, or some from the first to the last."""
    size = np.uint64(rows.values.shape[1])
    s = np.uint64(label + 2) * BASE2 + size
    if size <= np.uint64(SAMPLE):
        for j in range(size):
            s = _stirred(s, j, rows.values[i, j])
    else:  # in four sums, which a processor makes at the same time
        s1 = s2 = s3 = np.uint64(0)
        for k in range(np.uint64(0), np.uint64(SAMPLE), np.uint64(4)):
            s = _stirred_at(rows, i, s, k, size)
            s1 = _stirred_at(rows, i, s1, k + np.uint64(1), size)
            s2 = _stirred_at(rows, i, s2, k + np.uint64(2), size)
            s3 = _stirred_at(rows, i, s3, k + np.uint64(3), size)
        s = ((s * BASE2 + s1) * BASE2 + s2) * BASE2 + s3
    return finalize(s)


def _seek_rows(rows, i):  # type: ignore[no-untyped-def]
    end = np.uint64(rows.indptr[i + np.uint64(1)])
    prefetch(rows.indices, end - np.uint64(1))
    prefetch(rows.indices, end - np.uint64(FEW))


def _seek_dense(rows, i):  # type: ignore[no-untyped-def]
    pass


_print = by_type({Rows: _print_rows, Dense: _print_dense})  # the fingerprint of row i with its label
_seek = by_type({Rows: _seek_rows, Dense: _seek_dense})  # ask for what the fingerprint of row i will look at


@jit
def _prints(rows, y, prints):  # type: ignore[no-untyped-def]
    """In a loop of its own: so short that the processor fetches several rows at once."""
    last = np.uint64(y.size - 1)
    for i in range(np.uint64(y.size)):
        _seek(rows, min(i + AHEAD, last))
        prints[i] = _print(rows, i, y[i])


@inlined
def _term(index, value):  # type: ignore[no-untyped-def]
    """0 for a zero; no branch, so that eight values are hashed at once."""
    z = (np.float64(value).view(np.uint64) ^ (np.uint64(index) + np.uint64(1)) * BASE1) * BASE2
    return (z ^ (z >> np.uint64(32))) * BASE1 * np.uint64(value != 0.0)


def _whole_rows(rows, i, label):  # type: ignore[no-untyped-def]
    s = np.uint64(label + 2) * BASE1
    for j in range(np.uint64(rows.indptr[i]), np.uint64(rows.indptr[i + np.uint64(1)])):
        s += _term(np.uint32(rows.indices[j]), rows.values[j])
    return finalize(s)


def _whole_dense(rows, i, label):  # type: ignore[no-untyped-def]
    s = np.uint64(label + 2) * BASE1
    for j in range(np.uint64(rows.values.shape[1])):
        s += _term(j, rows.values[i, j])
    return finalize(s)


whole = by_type({Rows: _whole_rows, Dense: _whole_dense})  # the hash of all of row i with its label
