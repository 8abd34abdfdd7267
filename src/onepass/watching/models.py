"""The models that a pass freezes on the way and watches on later rows: one of them will be deployed, as it is.

Candidate s, frozen after round s of the cutoff grid, is the average of the hypotheses in use in rounds s/2+1 … s. Its
sum comes from the running sum beside the learner's weights at the two ends, never from the log. The newest eight are
watched (of several classes four; half as many, twice, where they would outgrow `max_watch_memory`): older ones have
weights that nobody would deploy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from onepass.certificates.score_bins import border_levels
from onepass.costs import Costs
from onepass.errors import Argument, LimitError, Phrase
from onepass.guards.drift import Cells
from onepass.looks import last_look
from onepass.loop import head_of, watch
from onepass.outputs import NEVER, outputs_of, spread, spread_if
from onepass.rows import AnyRows, Array, Floats, Ints, part
from onepass.state_checks import is_count, need, need_alike, need_fields, need_same_shapes
from onepass.trace import SumSoFar, WatchedEvidence
from onepass.trace.grid import floor_index, point
from onepass.trace.tally import Tally, empty_tally
from onepass.trace.watched import BORDERS, FIRST, Watched, nothing_watched
from onepass.watching.board import RECENT, empty_board
from onepass.watching.cells import bins_of_cells
from onepass.watching.judging import place, watch_several, watch_two

MOST, MOST_SEVERAL, FEWEST = 8, 4, 2  # candidates watched at a time: of two classes, of several, where memory is short
ELDER_STEPS = 4  # on the grid, which has four an octave: an elder has half the age
PLANNED_FROM = 4  # newest candidates whose pairs tell the next one how to bet


def next_freezing(rounds: int) -> int:
    """The first round after so many at which the sum of all hypotheses is taken and, from 8 on, a candidate frozen.

    >>> [next_freezing(t) for t in (0, 4, 8, 9, 16, 1000)]
    [4, 5, 10, 10, 20, 1024]
    """
    return max(FIRST // 2, point(floor_index(rounds) + 1))


class WatchedModels:
    """The candidates of one pass; `memory` is what their weights may take, `hinge` whether hinge losses are counted.

    What rows cost is counted of several classes; of two, mistakes per class tell it.
    """

    def __init__(
        self, classes: int, bias: float, memory: int, *, hinge: bool = False, costs: Costs | None = None
    ) -> None:
        self.classes, self.bias, self.memory = classes, bias, memory
        self.outputs = outputs_of(classes)
        self.slots = MOST if classes == 2 else MOST_SEVERAL
        self.width = 0
        self.since = 0  # the round at which the number of slots was last changed
        self.level = level_table(classes, costs)
        self.counts: Watched = self._nothing(self.slots)
        self.at_look: Watched = self._nothing(self.slots)  # the counts at the last look
        self.tally: Tally | None = empty_tally(self.slots) if hinge else None
        self.sums: dict[int, Floats] = {}  # round → Σ of the hypothesis in use up to it, for the last octave
        self.board = empty_board(self.slots, self.outputs, 0, self.level)

    def _nothing(self, slots: int) -> Watched:
        return nothing_watched(slots, self.classes, levels_in(self.level))

    # --- rows ---------------------------------------------------------------------------------------------------------

    def widen(self, width: int) -> None:
        """Weights of 0 for the features that candidates have not met."""
        self.width = max(self.width, width)
        if self.counts.frozen.any():
            self.board = self.board.widened(self.width)

    def watch(self, rows: AnyRows, y: Ints, rounds: int, width: int, hinge_bound: float) -> Cells | None:
        """Count what every candidate makes of these rows, of at most so many features, after so many rounds.

        What comes back are the cells of the scores of the two that are tested for drift, (rows, 5): signed by the label
        and as they are, of each; −1 where there is only one. None: there is none yet.
        """
        if self.board.progress[1] < 0:
            return None
        cells = np.full((len(y), 5), -1, dtype=np.int16)
        if width > self.width:
            self.widen(width)
        last = last_look(rounds + len(y))
        if last <= rounds or last == rounds + len(y):
            self._count(rows, y, hinge_bound, cells)
        else:
            at = last - rounds
            self._count(part(rows, 0, at), y[:at], hinge_bound, cells[:at])
            self._look()
            self._count(part(rows, at, len(y)), y[at:], hinge_bound, cells[at:])
        if last == rounds + len(y):
            self._look()
        return cells

    def _count(self, rows: AnyRows, y: Ints, hinge_bound: float, cells: Cells) -> None:
        counts = self.counts
        kernel = watch_two if self.outputs == 1 else watch_several
        kernel(rows, y, 1.0, self.board, counts, cells)  # without an intercept it is 0, or NEVER
        if self.tally is not None:
            for slot in np.flatnonzero(counts.frozen):
                watch(
                    head_of(self.board.model(int(slot), self.width), self.bias),
                    rows,
                    y,
                    self.tally,
                    int(slot),
                    hinge_bound,
                )

    def _look(self) -> None:
        """What has been counted is what the next choice looks at."""
        self.at_look = _copied(self.counts)

    # --- freezing -----------------------------------------------------------------------------------------------------

    def must_fit(self, width: int, classes: int | None = None) -> None:
        """LimitError unless the fewest candidates of so many features, and of these or so many classes, have room."""
        several = self.outputs if classes is None else outputs_of(classes)
        need = 8 * width * several * FEWEST
        if need > self.memory:
            outputs = f" × {several} classes" if several > 1 else ""
            models = f"{width:,} features{outputs} × {FEWEST} watched models"
            said = f"{models} need {need:,} bytes, {self.memory:,} are allowed"
            remedy = "set {}, hash the features into fewer ({}), or choose another conversion: {}"
            limit = Argument("max_watch_memory", need)
            others = Argument("bits"), Argument("conversion", "average")
            raise LimitError(Phrase(f"{{}}: {said}; {remedy}", Argument(limit.name), limit, *others))

    def fits(self, width: int, classes: int) -> bool:
        """Whether `must_fit` has nothing to say against so many features and classes."""
        return 8 * width * outputs_of(classes) * FEWEST <= self.memory

    def fitting(self, slots: int, width: int, outputs: int | None = None) -> int:
        """How many of the slots have room for candidates of so many features: all, or half as many, or a quarter."""
        while slots > FEWEST and 8 * width * (outputs or self.outputs) * slots > self.memory:
            slots //= 2
        return slots

    def freeze(self, rounds: int, sum_so_far: Callable[[], SumSoFar]) -> dict[int, Ints]:
        """After round `rounds` of the grid; the sum is Σ of the hypothesis in use so far, intercept first.

        What comes back are the testers of drift (0, 1) that test this candidate from now on, with the bins for it: the
        first from every power of two to the next (or where what it has tested is watched no more), the second from ¾ to
        5/4 of it.
        """
        found = sum_so_far()
        if rounds >= FIRST:
            self.must_fit(len(found.total) - 1)
            self._enter(rounds, found)
            self._look()
        self.sums[rounds] = found.total
        for old in [s for s in self.sums if 2 * s < max(FIRST, next_freezing(rounds))]:
            del self.sums[old]
        newest, *tested = self.board.progress[1:].tolist()
        testers = [tester for tester, slot in enumerate(tested) if slot == newest] if rounds >= FIRST else []
        return dict.fromkeys(testers, self.bins())

    def _enter(self, s: int, found: SumSoFar) -> None:
        """Candidate s takes the slot of the oldest."""
        self._fit_slots(len(found.total) - 1, s)
        counts, slot = self.counts, self._slot_of(s)
        newest = np.argsort(-counts.frozen, kind="stable")[: min(PLANNED_FROM, self.slots)]
        newest = newest[counts.frozen[newest] > 0]
        plan, cost_plan = counts.pair[newest].sum(axis=0), counts.cost_pair[newest].sum(axis=0)
        elder = self._elder_of(s)
        elder_slot = -1 if elder == 0 else self._slot_of(elder)
        its = (counts.rows, counts.mistakes, counts.plan, counts.costs, counts.cost_plan)
        known = [array[elder_slot].copy() for array in its]
        for array in counts:
            array[slot] = 0
        counts.frozen[slot], counts.elder[slot] = s, elder
        counts.plan[slot], counts.cost_plan[slot] = plan, cost_plan
        if elder:
            counts.elder_rows[slot], counts.elder_mistakes[slot], counts.elder_plan[slot] = known[:3]
            counts.elder_costs[slot], counts.elder_cost_plan[slot] = known[3:]
        counts.borders[slot] = self._borders()
        if self.tally is not None:
            for array in self.tally:
                array[slot] = 0
            self.tally.product[slot] = 1.0
        self._write(slot, s, found)
        self._seat()
        first, second = self.board.progress[2:].tolist()
        leading = s >> max(0, s.bit_length() - 3)  # 4: a power of two; 5: 5/4 of it; 6: ¾ of the next
        first = slot if leading == 4 or first in (-1, slot) else first
        second = slot if leading == 6 else -1 if leading == 5 or second == slot else second
        self.board.progress[:] = 0, slot, first, second

    def _elder_of(self, s: int) -> int:
        """The round of the candidate four steps older, or the oldest that will still be watched; 0: none.

        Which one it is must be known when the elder is frozen: after that, rows that it has met may not choose it. So
        one that was frozen when there were more slots is nobody's elder.
        """
        index = floor_index(s)
        elder = point(max(0, index - min(ELDER_STEPS, self.slots - 1)))
        known = elder >= self.since and bool((self.counts.frozen == elder).any())
        return elder if s >= 2 * FIRST and known else 0

    def _slot_of(self, s: int) -> int:
        return int(floor_index(s)) % self.slots

    def _borders(self) -> Floats:
        """Of the bins of the next candidate, from the last scores of the newest; the first one's are fixed."""
        return borders_after(self.board.recent[: min(int(self.board.progress[0]), RECENT)])

    def _write(self, slot: int, s: int, found: SumSoFar) -> None:
        total, met = found.total, found.met
        if met is None:
            met = np.arange(len(total) - 1, dtype=np.int32)
        half = self.sums.get(s // 2, np.zeros((1, self.outputs)))
        first, lanes = slot * self.outputs, self.slots * self.outputs
        self.widen(len(total) - 1)
        rounds = float(s - s // 2)
        place(total[1:], half[1:], rounds, met, self.board.weights, lanes, first)
        self.board.intercepts[first : first + self.outputs] = (total[0] - half[0]) / rounds

    def _seat(self) -> None:
        """Which slot holds whose elder."""
        counts = self.counts
        where = {int(s): slot for slot, s in enumerate(counts.frozen) if s}
        for slot, s in enumerate(counts.frozen):
            self.board.elders[slot] = where.get(int(counts.elder[slot]), -1) if s else -2

    def _fit_slots(self, width: int, s: int) -> None:
        """As many slots as have room: half as many where the features have grown too many."""
        slots = self.fitting(self.slots, width)
        if slots != self.slots:
            self.since = s
            self._rebuild(slots, self.classes)

    def join(self, classes: int, rounds: int) -> None:
        """After so many rounds a class joins: candidates live on, and never say a class younger than they are.

        Of several classes scores are counted as margins: a candidate of two counts them from here on, in bins whose
        borders are the newest one's last scores without their signs. Its sums go by another order from then on, which
        matters where a score is 0 but for rounding.
        """
        first, scores = self.outputs == 1, np.abs(self.board.recent[: min(int(self.board.progress[0]), RECENT)])
        slots = self.fitting(min(self.slots, MOST_SEVERAL), self.width, outputs_of(classes))
        self.since = rounds if slots < self.slots else self.since
        self._rebuild(slots, classes)
        self.sums = {s: spread(total, self.outputs) for s, total in self.sums.items()}
        if first:
            self.board.recent[:] = np.abs(self.board.recent)
            for counts in (self.counts, self.at_look):
                counts.bins[:] = 0
                counts.borders[:] = borders_after(scores)
        self.board.progress[2:] = self.board.progress[1], -1

    def bins(self) -> Ints:
        """Those in which drift is tested on the newest candidate; where there is none, as if of the first."""
        newest = int(self.board.progress[1])
        return bins_of_cells(borders_after(np.empty(0)) if newest < 0 else self.counts.borders[newest])

    def _rebuild(self, slots: int, classes: int) -> None:
        """The newest candidates in so many slots, of so many classes; those that join are never said."""
        kept = sorted(int(s) for s in self.counts.frozen if s)[-slots:]
        weights = {s: _known(self.model(s), outputs_of(classes)) for s in kept}
        lines = {s: self._slot_of(s) for s in kept}
        board, counts, at_look, tally = self.board, self.counts, self.at_look, self.tally
        self.slots, self.classes, self.outputs = slots, classes, outputs_of(classes)
        self.board = empty_board(slots, self.outputs, self.width if kept else 0, self.level)
        self.board.recent[:], self.board.progress[0] = board.recent, board.progress[0]
        where = {self._slot_of(s): line for s, line in lines.items()}
        self.counts, self.at_look = (_moved(old, self._nothing(slots), where) for old in (counts, at_look))
        for s, candidate in weights.items():
            self.board.put(self._slot_of(s), candidate)
        if tally is not None:
            self.tally = _moved(tally, empty_tally(slots), where)
        self.board.progress[1] = self._slot_of(kept[-1]) if kept else -1
        self._seat()

    # --- what comes out -----------------------------------------------------------------------------------------------

    def model(self, s: int) -> Floats:
        """The weights of candidate s, (1 + features, outputs), intercept first: as it is watched."""
        return self.board.model(self._slot_of(s), self.width)

    def models(self) -> dict[int, Floats]:
        """The weights of all candidates that are watched, by their round."""
        return {int(s): self.model(int(s)) for s in self.counts.frozen if s}

    @property
    def tested(self) -> int:
        """The round at which the model was frozen that is tested for drift first; 0: none is."""
        slot = int(self.board.progress[2])
        return 0 if slot < 0 else int(self.counts.frozen[slot])

    def evidence(self) -> WatchedEvidence:
        """What they have done so far, copied: it is small."""
        tally = None if self.tally is None else Tally._make(array.copy() for array in self.tally)
        return WatchedEvidence(_copied(self.counts), _copied(self.at_look), tally)

    # --- state --------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What changes, sharing its arrays."""
        board = self.board
        return {
            "counts": self.counts,
            "at_look": self.at_look,
            "tally": self.tally,
            "sums": self.sums,
            "weights": board.weights,
            "intercepts": board.intercepts,
            "recent": board.recent,
            "progress": board.progress,
            "width": self.width,
            "since": self.since,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.counts, self.at_look, self.tally = state["counts"], state["at_look"], state["tally"]
        self.sums, self.width, self.since = state["sums"], state["width"], state["since"]
        self.slots = state["counts"].frozen.size
        board = empty_board(self.slots, self.outputs, 0, self.level)
        self.board = board._replace(**{name: state[name] for name in ("weights", "intercepts", "recent", "progress")})
        self._seat()

    def check_state(self, state: Any, rounds: int, width: int) -> None:
        """Raise CheckpointError unless candidates of a pass of so many rounds and features can have this state."""
        what = "the watched models"
        need_fields(state, self.state(), what)
        slots = getattr(getattr(state["counts"], "frozen", None), "size", 0)
        need(slots in {self.slots >> halvings for halvings in range(3)} and slots >= FEWEST, what)
        pattern, lanes = self._nothing(slots), slots * self.outputs
        for counts in (state["counts"], state["at_look"]):
            need(isinstance(counts, Watched), what)
            need_same_shapes(counts, pattern, what)
            need(all(bool((array >= 0).all()) for array in counts[:-1]) and bool((counts.frozen <= rounds).all()), what)
            borders = counts.borders
            need(bool(np.isfinite(borders).all()) and bool((np.diff(borders, axis=1) >= 0).all()), what)
        frozen = state["counts"].frozen
        grid = [point(floor_index(s)) == s and floor_index(s) % slots == k for k, s in enumerate(frozen) if s]
        need(all(grid), what)
        need(all(elder == 0 or elder < s for s, elder in zip(frozen, state["counts"].elder, strict=True)), what)
        need((state["tally"] is None) == (self.tally is None), what)
        if self.tally is not None:
            need_same_shapes(state["tally"], empty_tally(slots), what)
        need(is_count(state["width"]) and state["width"] <= width, what)
        need(is_count(state["since"]) and state["since"] <= rounds, what)
        for name, size in (("intercepts", lanes), ("recent", RECENT), ("progress", 4)):
            need_alike(state[name], getattr(self.board, name), what)
            need(state[name].size == size and bool(np.isfinite(state[name]).all()), what)
        entered, *places = state["progress"].tolist()
        need(entered >= 0 and all(-1 <= slot < slots for slot in places), what)
        weights = state["weights"]
        need_alike(weights, self.board.weights, what)
        need(weights.size % lanes == 0 and bool(np.isfinite(weights).all()), what)
        need(weights.size // lanes >= state["width"] or not frozen.any(), what)
        need(isinstance(state["sums"], dict), what)
        for s, total in state["sums"].items():
            need(type(s) is int and 0 < s <= rounds, what)
            need(isinstance(total, np.ndarray) and total.dtype == np.float64 and total.ndim == 2, what)
            need(1 <= len(total) <= 1 + width and total.shape[1] == self.outputs, what)


def borders_after(scores: Floats) -> Floats:
    """The borders of a candidate's bins, from scores of the one before it; without any, fixed ones."""
    return np.quantile(scores, border_levels()) if scores.size else np.sinh(np.linspace(-8.0, 8.0, BORDERS))


def _known(weights: Floats, outputs: int) -> Floats:
    """The weights of a candidate with so many outputs, of which it never says those that it does not know."""
    wider = spread_if(weights, outputs)
    if outputs > weights.shape[1]:
        wider[0, max(2, weights.shape[1]) :] = NEVER
    return wider


Counts = TypeVar("Counts", Watched, Tally)


def _moved(old: Counts, new: Counts, where: dict[int, int]) -> Counts:
    """What was counted, in other slots (slot → where it was), of as many classes or more."""
    for to, array in zip(new, old, strict=True):
        for slot, line in where.items():
            _put(to, slot, np.asarray(array[line]))
    return new


def _put(to: Array, slot: int, line: Array) -> None:
    places: tuple[int | slice, ...] = (slot, *(slice(n) for n in line.shape))
    to[places] = line


def _copied(counts: Watched) -> Watched:
    return Watched._make(array.copy() for array in counts)


def level_table(classes: int, costs: Costs | None) -> Ints:
    """Which level of cost [label, prediction] has, where that is counted; else an empty table."""
    return np.zeros((0, 0), dtype=np.int64) if costs is None or classes == 2 else costs.level


def levels_in(level: Ints) -> int:
    """How many levels of cost are told apart."""
    return int(level.max(initial=-1)) + 1
