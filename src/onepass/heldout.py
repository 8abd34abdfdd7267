"""Rows kept out of a pass, for the conversion `validation`: by a hash of their number, which no cutting changes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onepass.splitmix import GOLDEN, finalize

Mask = npt.NDArray[np.bool_]


def held_out(seed: int, start: int, rows: int, fraction: float) -> Mask:
    """Which of rows start, start+1, … are kept out."""
    with np.errstate(over="ignore"):
        z = np.arange(start, start + rows, dtype=np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)
        hashes = finalize((z + np.uint64(1)) * GOLDEN)
    held: Mask = hashes < np.uint64(int(fraction * 2**64))
    return held


def stretch_end(held: Mask, first: int, rounds: int) -> int:
    """The end of the rows from `first` on in which so many are learned, and not one more; at most all."""
    learned = np.flatnonzero(~held[first:])
    return first + int(learned[rounds - 1]) + 1 if rounds <= learned.size else len(held)
