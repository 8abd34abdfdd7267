"""Kinds of mistakes: which of them are told apart where they are counted, and what each costs.

Mistakes on rows of one label that cost the same are of one kind. So counts by kind tell how often each label was
misjudged, and what that cost, without a table of all pairs of labels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepass.costs import Costs
from onepass.rows import Floats, Ints


class MistakeKinds(NamedTuple):
    """One line per kind, and where to look it up."""

    table: (
        Ints  # (classes, classes): the kind of taking this label for that one; (classes, 1): whatever it is taken for
    )
    label: Ints  # (kinds): the number of its label
    cost: Floats  # (kinds): in units of the largest cost; 1 where none were declared


def mistake_kinds(classes: int, costs: Costs | None = None) -> MistakeKinds:
    """Without costs there is one kind per class.

    >>> mistake_kinds(3).table.tolist()
    [[0], [1], [2]]
    """
    if costs is None:
        return MistakeKinds(np.arange(classes)[:, None], np.arange(classes), np.ones(classes))
    level = costs.level
    code = np.arange(classes)[:, None] * (1 + level.max()) + level
    np.fill_diagonal(code, code[np.arange(classes), (np.arange(classes) == 0).astype(np.int64)])  # right is no mistake
    known, table = np.unique(code, return_inverse=True)
    label, levels = np.divmod(known, 1 + level.max())
    return MistakeKinds(table.reshape(classes, classes).astype(np.int64), label, costs.values[levels] / costs.largest)
