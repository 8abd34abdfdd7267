"""The candidates of the conversion `frozen` on several machines, and what all rows have shown of them.

The candidate at the end of a wave is the mean of the weights from which waves start, as they were at the ends of the
later half of the waves so far. One is frozen at the waves of the cutoff grid, 1 to 8, 10, 12, 14, 16, 20, …: the newest
eight then reach back to a quarter of the waves, and have more rows than those of the last eight waves would. The rows
of later waves watch it on every worker; counts are whole numbers and add. Which one is deployed is chosen by what the
rows showed, so that all have the same price, 1 divided by how many there can be. A wave without rows is none.
Differs: no elders. Bets on a candidate and its elder are as good as direct ones here, and no better.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.costs import Costs
from onepass.rows import Floats, must_be_finite
from onepass.scale.tasks import add
from onepass.scale.watching import Candidate, CandidateCounts, add_lines
from onepass.scale.wave_states import WHAT, need_vector
from onepass.state_checks import is_count, need, need_alike, need_fields, need_same_shapes
from onepass.trace import WatchedEvidence
from onepass.trace.grid import floor_index, point
from onepass.trace.tally import Tally, empty_tally
from onepass.trace.watched import Watched, nothing_watched
from onepass.watching import WatchedModels
from onepass.watching.models import PLANNED_FROM, borders_after, level_table, levels_in


def on_grid(wave: int) -> bool:
    """Whether a candidate is frozen at the end of this wave.

    >>> [wave for wave in range(1, 33) if on_grid(wave)]
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32]
    """
    return point(floor_index(wave)) == wave


class MergedCandidates:
    """The newest candidates of so many waves, of two classes eight, of several four; fewer where `memory` is short."""

    def __init__(
        self, waves: int, classes: int, bias: float, memory: int, *, hinge: bool = False, costs: Costs | None = None
    ) -> None:
        self.watched: list[Candidate] = []  # the oldest first
        self._waves, self._costs = waves, costs
        self._classes, self._levels = classes, levels_in(level_table(classes, costs))
        self._limits = WatchedModels(classes, bias, memory)
        self._slots = self._limits.slots
        self._ends: dict[int, Floats] = {}  # wave → where the next one started, of the later half
        self._past = 0  # waves that had rows
        self._recent = np.empty(0)  # scores of the newest candidate in the wave before
        self._counts = nothing_watched(0, classes, self._levels)
        self._hinge = empty_tally(0) if hinge else None

    def anew(self, waves: int) -> MergedCandidates:
        """None yet, before so many waves to come; where scores lie is known from the last one."""
        limits, hinge = self._limits, self._hinge is not None
        fresh = MergedCandidates(waves + 1, self._classes, limits.bias, limits.memory, hinge=hinge, costs=self._costs)
        fresh._recent = self._recent
        return fresh

    @property
    def met(self) -> bool:
        """Whether a row has watched one of them."""
        return bool(self._counts.rows.any())

    def enter(self, found: CandidateCounts | None) -> None:
        """The rows of a whole wave have shown this of the candidates, if there were any."""
        if found is not None:
            self._counts, self._hinge, self._recent = self._with(found), self._hinge_with(found), found.recent

    def freeze(self, wave: int, rounds: int, end: Floats) -> None:
        """After so many rounds a wave that had rows came to these weights; at some waves a candidate is frozen."""
        self._past += 1
        self._ends[self._past] = end
        self._ends = {number: kept for number, kept in self._ends.items() if 2 * number > self._past}
        if not on_grid(self._past):
            return
        weights = add(list(self._ends.values()))
        weights /= float(len(self._ends))
        must_be_finite(weights)
        self._fit(len(weights) - 1)
        line = nothing_watched(1, self._classes, self._levels)
        line.frozen[0], line.borders[0] = rounds, borders_after(self._recent)
        known = slice(-PLANNED_FROM, None)  # direct bets look at a candidate's own mistakes alone, never at an elder's
        mistakes = self._counts.mistakes[known].sum(axis=0)
        line.plan[0, :, 0, 0], line.plan[0, :, 0, 1] = self._counts.rows[known].sum(axis=0) - mistakes, mistakes
        if self._levels:
            line.cost_plan[0, 0] = self._counts.costs[known].sum(axis=0)
        lines = zip(self._counts, line, strict=True)
        self._counts = Watched._make(np.concatenate([old, new])[-self._slots :] for old, new in lines)
        self.watched = [*self.watched, Candidate(wave, rounds, weights, line.borders[0])][-self._slots :]
        if self._hinge is not None:
            pairs = zip(self._hinge, empty_tally(1), strict=True)
            self._hinge = Tally._make(np.concatenate([old, new])[-self._slots :] for old, new in pairs)
        self._recent = np.empty(0)

    def _fit(self, width: int) -> None:
        """As many candidates as have room; LimitError where the fewest have none."""
        self._limits.must_fit(width)
        self._slots = self._limits.fitting(self._slots, width)

    def _with(self, found: CandidateCounts) -> Watched:
        counts = self._counts
        names = ("rows", "mistakes", "bins", "costs")
        return counts._replace(**{name: getattr(counts, name) + getattr(found, name) for name in names})

    def _hinge_with(self, found: CandidateCounts) -> Tally | None:
        return self._hinge and found.hinge and add_lines(self._hinge, found.hinge)

    def evidence(self, more: CandidateCounts | None = None) -> WatchedEvidence:
        """What is known of them; `more`: with what a prefix of the wave at hand has shown."""
        counts = self._counts if more is None else self._with(more)
        hinge = self._hinge if more is None else self._hinge_with(more)
        price = 1.0 / max(1, sum(map(on_grid, range(1, self._waves))))  # one of the last wave meets no row
        return WatchedEvidence(counts, counts, hinge, np.full(len(self.watched), price))

    def named(self, frozen: int) -> Candidate:
        """The candidate that was frozen after so many rounds."""
        (found,) = (one for one in self.watched if one.frozen == frozen)
        return found

    # --- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What changes, in values that a checkpoint can hold."""
        return {
            "waves": self._waves,
            "watched": tuple(tuple(one) for one in self.watched),
            "slots": self._slots,
            "ends": dict(self._ends),
            "past": self._past,
            "recent": self._recent,
            "counts": self._counts,
            "hinge": self._hinge,
        }

    def restore(self, state: Any, waves: int) -> None:
        """Go on from a state, in a run of so many waves; CheckpointError if it can be none of theirs."""
        need_fields(state, self.state(), WHAT)
        outputs, watched = self._limits.outputs, state["watched"]
        need(all(is_count(state[name]) for name in ("waves", "slots", "past")), WHAT)
        need(0 < state["waves"] <= waves and state["slots"] <= self._slots and isinstance(watched, tuple), WHAT)
        need(all(isinstance(one, tuple) and len(one) == len(Candidate._fields) for one in watched), WHAT)
        found = [Candidate(*one) for one in watched]
        counts, pattern = state["counts"], nothing_watched(len(found), self._classes, self._levels)
        need_same_shapes(counts, pattern, WHAT)
        need(all(bool((array >= 0).all()) for array in counts[:-1]) and len(found) <= state["slots"], WHAT)
        need(bool(np.isfinite(counts.borders).all() and (np.diff(counts.borders, axis=1) >= 0.0).all()), WHAT)
        for slot, one in enumerate(found):
            need(is_count(one.wave) and is_count(one.frozen) and one.frozen == counts.frozen[slot], WHAT)
            need_vector(one.weights, outputs)
            need(np.array_equal(one.borders, counts.borders[slot]), WHAT)
        need(isinstance(state["ends"], dict) and all(map(is_count, state["ends"])), WHAT)
        for end in state["ends"].values():
            need_vector(end, outputs)
        need_alike(state["recent"], self._recent, WHAT)
        need(bool(np.isfinite(state["recent"]).all()) and (state["hinge"] is None) == (self._hinge is None), WHAT)
        if state["hinge"] is not None:
            need_same_shapes(state["hinge"], empty_tally(len(found)), WHAT)
        self._waves, self.watched, self._slots, self._ends = state["waves"], found, state["slots"], state["ends"]
        self._past, self._recent, self._counts, self._hinge = (
            state[name] for name in ("past", "recent", "counts", "hinge")
        )
