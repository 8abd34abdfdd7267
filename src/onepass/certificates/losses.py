"""What a loss did to a watched candidate, as counts: 0-1, of one class, costs, and what precision and F1 need."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepass.costs import Costs
from onepass.rows import Floats, Ints
from onepass.trace.watched import Watched

_ZERO_ONE = np.array([[0.0, 1.0]])


class Losses(NamedTuple):
    """Rows in groups, each with a loss in [0, 1] for every outcome: right and wrong, or a level of cost.

    The 0-1 loss has one group with the losses 0 and 1. Costs of two classes have one group per class, those of several
    one group with an outcome per level.
    """

    values: Floats  # (groups, outcomes): the loss of a row with this outcome
    rows: Ints  # (groups, outcomes): rows after the freezing
    elder_rows: Ints  # (groups, outcomes): rows of the elder before that
    pair: Ints  # (groups, outcomes, outcomes): rows of both by [elder's outcome, candidate's outcome]
    plan: Ints  # (groups, outcomes, outcomes): the table that bets are planned from when the candidate is frozen
    elder_plan: Ints  # (groups, outcomes, outcomes): and when its elder is
    frozen: int  # the round of the candidate
    elder: int  # that of its elder; 0: it has none
    part: float  # of all rows, which part is counted here: as the plans' tables expect it
    elder_part: float


def zero_one(watched: Watched, slot: int) -> Losses:
    """Mistakes over all classes."""
    return _losses(watched, slot, _ZERO_ONE, np.ones((1, watched.rows.shape[1]), dtype=np.int64))


def of_class(watched: Watched, slot: int, label_code: int) -> Losses:
    """Mistakes on the rows of one class."""
    classes = watched.rows.shape[1]
    if not 0 <= label_code < classes:
        raise ValueError(f"label_code: a class from 0 to {classes - 1} expected, got {label_code!r}")
    return _losses(watched, slot, _ZERO_ONE, np.eye(classes, dtype=np.int64)[[label_code]])


def of_costs(watched: Watched, slot: int, costs: Costs) -> Losses:
    """What rows cost, in units of the largest cost."""
    if watched.rows.shape[1] == 2:
        values = np.stack([np.diag(costs.in_units), np.diag(costs.in_units[:, ::-1])], axis=1)
        return _losses(watched, slot, values, np.eye(2, dtype=np.int64))
    must_be_frozen(watched, slot)
    return Losses(
        (costs.values / costs.largest)[None],
        watched.costs[slot][None],
        watched.elder_costs[slot][None],
        watched.cost_pair[slot][None],
        watched.cost_plan[slot][None],
        watched.elder_cost_plan[slot][None],
        int(watched.frozen[slot]),
        int(watched.elder[slot]),
        part=1.0,
        elder_part=1.0,
    )


def judged(watched: Watched, slot: int, label_code: int) -> Losses:
    """Of two classes: mistakes on the rows that the candidate judged to be of this class. No elder: see `_alone`."""
    counted = np.zeros((2, 2), dtype=np.int64)
    counted[label_code, 0] = counted[1 - label_code, 1] = 1  # its own rows judged right, the other's judged wrong
    return _alone(watched, slot, counted)


def positives(watched: Watched, slot: int, label_code: int) -> Losses:
    """Of two classes: mistakes on the rows that are of this class or were judged so (all but true negatives)."""
    counted = np.ones((2, 2), dtype=np.int64)
    counted[1 - label_code, 0] = 0
    return _alone(watched, slot, counted)


def _losses(watched: Watched, slot: int, values: Floats, chosen: Ints) -> Losses:
    """`chosen` (groups, classes) says which classes make a group."""
    must_be_frozen(watched, slot)
    rows, mistakes = chosen @ watched.rows[slot], chosen @ watched.mistakes[slot]
    elder_rows, elder_mistakes = chosen @ watched.elder_rows[slot], chosen @ watched.elder_mistakes[slot]
    tables = (watched.pair[slot], watched.plan[slot], watched.elder_plan[slot])
    pair, plan, elder_plan = ((chosen @ table.reshape(-1, 4)).reshape(-1, 2, 2) for table in tables)
    return Losses(
        values,
        np.stack([rows - mistakes, mistakes], axis=1),
        np.stack([elder_rows - elder_mistakes, elder_mistakes], axis=1),
        pair,
        plan,
        elder_plan,
        int(watched.frozen[slot]),
        int(watched.elder[slot]),
        _part(plan, tables[1], int(chosen.sum())),
        _part(elder_plan, tables[2], int(chosen.sum())),
    )


def _alone(watched: Watched, slot: int, counted: Ints) -> Losses:
    """Mistakes on the cells [class, wrong] that are counted, without the elder.

    Which rows are counted depends on what the candidate said; among these the elder's mean is not its own rate, so that
    no pair bet would be fair.
    """
    must_be_frozen(watched, slot)
    wrong = watched.mistakes[slot]
    after = np.stack([watched.rows[slot] - wrong, wrong], axis=1)
    plan = np.zeros((1, 2, 2), dtype=np.int64)
    plan[0, 0] = (counted * watched.plan[slot].sum(axis=1)).sum(axis=0)
    rows, nothing = (counted * after).sum(axis=0)[None], np.zeros_like(plan)
    part = _part(plan, watched.plan[slot], 1)
    return Losses(_ZERO_ONE, rows, nothing[0, :1], nothing, plan, nothing, int(watched.frozen[slot]), 0, part, part)


def _part(counted: Ints, table: Ints, classes: int) -> float:
    """Which part of the rows is counted, as far as a table tells: one row more in each class."""
    return float((counted.sum() + classes) / (table.sum() + len(table)))


def must_be_frozen(watched: Watched, slot: int) -> None:
    """Raise ValueError for a slot without a candidate."""
    if not 0 <= slot < watched.frozen.size or watched.frozen[slot] == 0:
        raise ValueError(f"slot: one with a candidate expected, got {slot!r}")
