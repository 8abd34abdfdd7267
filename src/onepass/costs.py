"""What it costs to take one label for another: declared before the first row, checked, and as levels to be counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onepass.errors import ConversionError, label_text
from onepass.labels import Label, sortable
from onepass.rows import Floats, Ints

MOST_LEVELS = 32  # different costs that are told apart: what pairs of models did is counted for each two of them
SHOWN = 8  # missing ones in a message

Cost = tuple[tuple[Label, Label, float], ...]  # (label, prediction, what that costs), of every two labels


class Costs(NamedTuple):
    """Costs by the labels' numbers. Where there are more than 32 different ones, a level stands for the next above."""

    table: Floats  # (classes, classes): cost[y][ŷ]
    values: Floats  # (levels): different costs, rising
    level: Ints  # (classes, classes): which of them counts, never less than the cost itself

    @property
    def largest(self) -> float:
        return float(self.values[-1])

    @property
    def in_units(self) -> Floats:
        """cost[y][ŷ] as it is counted, in units of the largest."""
        return np.asarray(self.values[self.level] / self.largest)


def cost_of(given: Any) -> Cost:
    """What every label costs when it is taken for another: {(label, prediction): cost}, checked.

    A list of (label, prediction, cost), as a file holds it, will do as well. What is right costs nothing unless it is
    said; every other pair of the labels that are named must be there.

    >>> cost_of({("no", "yes"): 1, ("yes", "no"): 5})
    (('no', 'no', 0.0), ('no', 'yes', 1.0), ('yes', 'no', 5.0), ('yes', 'yes', 0.0))
    """
    if isinstance(given, (list, tuple)) and all(isinstance(line, (list, tuple)) and len(line) == 3 for line in given):
        given = {(label, prediction): value for label, prediction, value in given}
    if not isinstance(given, dict) or not all(isinstance(key, tuple) and len(key) == 2 for key in given):
        raise ValueError(f"cost: a table {{(label, prediction): cost}} expected, got {given!r}")
    labels = sorted({label for key in given for label in key}, key=sortable)
    if len(labels) < 2:
        raise ValueError(f"cost: at least two classes expected, got {labels}")
    for key, value in given.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value < np.inf:
            raise ValueError(f"cost: of {key}: a finite number from 0 on expected, got {value!r}")
    missing = [(a, b) for a in labels for b in labels if a != b and (a, b) not in given]
    if missing:
        raise ValueError(f"cost: {_listed(missing)} missing: what does it cost to take the first for the second?")
    if max(given.values()) <= 0.0:
        raise ValueError("cost: one of them must be above 0")
    return tuple((a, b, float(given.get((a, b), 0.0))) for a in labels for b in labels)


def _listed(missing: Sequence[tuple[Label, Label]]) -> str:
    """
    >>> _listed([("a", "b")]), _listed([("a", 1.0), ("b", "a")])
    ('(a, b) is', '(a, 1), (b, a) are')
    """
    said = ", ".join(f"({label_text(a)}, {label_text(b)})" for a, b in missing[:SHOWN])
    more = f" and {len(missing) - SHOWN:,} more" if len(missing) > SHOWN else ""
    return f"{said}{more} {'is' if len(missing) == 1 else 'are'}"


def costs_of(cost: Cost, labels: Sequence[Label]) -> Costs:
    """The costs in the order of the labels' numbers."""
    known = {(label, prediction): value for label, prediction, value in cost}
    strange = [label for label in labels if (label, label) not in known]
    if strange:
        raise ConversionError(f"cost: nothing is declared for the label {strange[0]!r}")
    order = [*labels, *(label for label, other, _ in cost if label == other and label not in labels)]
    return costs_in(np.array([[known[a, b] for b in order] for a in order]))


def costs_in(table: Floats) -> Costs:
    """The costs of a whole table, which is trusted to hold finite numbers from 0 on, one above.

    >>> costs_in(np.array([[0.0, 1.0], [5.0, 0.0]])).level.tolist()
    [[0, 1], [2, 0]]
    """
    values = np.unique(table)
    if values.size > MOST_LEVELS:
        values = values[np.linspace(0, values.size - 1, MOST_LEVELS).round().astype(np.int64)]
    return Costs(table, values, np.searchsorted(values, table).astype(np.int64))
