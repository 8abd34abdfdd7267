"""From the bins in which the scores of a frozen model are counted to those in which the drift alarm ranks them.

The row's *cell* is known from counting it: the bin of its score, on one of two sides, so that ranking searches for
nothing. Of two classes a side has the rows of one label, and on the side of the lower one scores are turned. Of several
the upper side has the rows that were judged rightly, by the lead of their label's class, the lower one the others, by
what their label's class lacks. Cells that follow each other, by the middle of their scores, make up one of 16 bins:
as many as have a 16th of the rows, if scores fall as those did that the borders come from and either side has half.
Which cell lies in which bin is known when the model is frozen, and that is all that the alarm's level needs.
"""

from __future__ import annotations

import numpy as np

from onepass.certificates.score_bins import border_levels
from onepass.guards.drift import CELLS, TESTED_BINS
from onepass.rows import Floats, Ints


def bins_of_cells(borders: Floats) -> Ints:
    """(2, 258): the bin of each cell, lower side first, for signed scores; for unsigned ones, which have one side.

    >>> signed, unsigned = bins_of_cells(np.linspace(-4.0, 4.0, 128))
    >>> signed[[128, 0, 129, 257]].tolist(), unsigned[[0, 64, 128]].tolist()
    ([0, 15, 0, 15], [0, 8, 15])
    """
    middle = np.concatenate([[-np.inf], 0.5 * (borders[1:] + borders[:-1]), [np.inf]])
    signed, unsigned = np.zeros((2, CELLS), dtype=np.int64)
    order = np.argsort(np.concatenate([-middle, middle]), kind="stable")
    signed[order] = _parts(np.tile(0.5 * SHARES, 2)[order])
    unsigned[: len(SHARES)] = EVEN_BINS
    return np.stack([signed, unsigned])


def _parts(shares: Floats) -> Ints:
    """Which of 16 equal parts the middle of each share lies in."""
    return np.asarray(TESTED_BINS * (np.cumsum(shares) - 0.5 * shares)).astype(np.int64)


SHARES = np.diff(border_levels(), prepend=0.0, append=1.0)  # of the rows, between two borders
EVEN_BINS = _parts(SHARES)  # of cells of one side
