"""What watched models have done on rows that came after they were frozen: counts, from which certificates follow.

Candidate models are frozen at the rounds of the cutoff grid from 8 on, each the average of the hypotheses in use in the
last half of its rows, and the newest few are watched: every later row is judged by all of them. A *slot* holds one.
Its *elder* is the candidate of half its age (four steps back on the grid). Counts are whole numbers: they add, and
whatever is certified can be computed from them again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onepass.rows import Floats, Ints
from onepass.trace.tally import Tally

FIRST = 8  # the round of the first candidate
BORDERS = 128  # of the bins into which scores are counted


class Watched(NamedTuple):
    """One line per slot. Classes are numbered as the pass codes them: of two, 0 is −1 and 1 is +1."""

    frozen: Ints  # (slots): the round after which the candidate was frozen; 0: the slot is empty
    rows: Ints  # (slots, classes): later rows of each class
    mistakes: Ints  # (slots, classes): those of them that the candidate misjudged
    elder: Ints  # (slots): the round of its elder; 0: it has none
    elder_rows: Ints  # (slots, classes): what the elder had met when this one was frozen
    elder_mistakes: Ints  # (slots, classes)
    pair: Ints  # (slots, classes, 2, 2): later rows, while the elder was watched too, by [elder wrong, this one wrong]
    plan: Ints  # (slots, classes, 2, 2): pairs of earlier candidates, known when this one was frozen
    elder_plan: Ints  # (slots, classes, 2, 2): those known when its elder was frozen
    costs: Ints  # (slots, levels): later rows by what they cost; no levels: of two classes, or none were declared
    elder_costs: Ints  # (slots, levels): what the elder had met
    cost_pair: Ints  # (slots, levels, levels): as `pair`, by [elder's level, this one's]
    cost_plan: Ints  # (slots, levels, levels): as `plan`
    elder_cost_plan: Ints  # (slots, levels, levels)
    bins: Ints  # (slots, 2, 129): later rows by score; of two classes [class], of several [whether it was right]
    borders: Floats  # (slots, 128): of the bins, fixed when frozen, rising; bin k has k borders at or below the score

    def slot_of(self, frozen: int) -> int:
        """The slot of the candidate that was frozen after this round."""
        return int(np.flatnonzero(self.frozen == frozen)[0])


class WatchedEvidence(NamedTuple):
    """What is known of watched models."""

    counts: Watched
    at_look: Watched  # as it was at the last of the rounds at which the choice among them is made
    hinge: Tally | None = None  # their hinge losses, one line per slot, where these are counted
    prices: Floats | None = None  # of each slot, where candidates were not frozen at the rounds of the cutoff grid


def nothing_watched(slots: int, classes: int, levels: int = 0) -> Watched:
    """Empty slots; `levels` of cost are told apart."""
    frozen, elder = np.zeros((2, slots), dtype=np.int64)
    rows, mistakes, elder_rows, elder_mistakes = np.zeros((4, slots, classes), dtype=np.int64)
    pair, plan, elder_plan = np.zeros((3, slots, classes, 2, 2), dtype=np.int64)
    costs, elder_costs = np.zeros((2, slots, levels), dtype=np.int64)
    cost_pair, cost_plan, elder_cost_plan = np.zeros((3, slots, levels, levels), dtype=np.int64)
    bins = np.zeros((slots, 2, BORDERS + 1), dtype=np.int64)
    borders = np.zeros((slots, BORDERS))
    pairs = (elder, elder_rows, elder_mistakes, pair, plan, elder_plan)
    spent = (costs, elder_costs, cost_pair, cost_plan, elder_cost_plan)
    return Watched._make((frozen, rows, mistakes, *pairs, *spent, bins, borders))
