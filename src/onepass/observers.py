"""What looks at rows beside the learning: the guards, models that were frozen and are watched, candidates.

Nothing of it changes what is learned, so that most of it may run in the background.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from onepass.background import Background
from onepass.candidates import FrozenCandidates
from onepass.guards import Guards
from onepass.labels import Labels
from onepass.options import Options
from onepass.rows import AnyRows, Floats, Ints
from onepass.runs import LearnerRun
from onepass.state_checks import need
from onepass.trace import SumSoFar
from onepass.watching import WatchedModels, next_freezing
from onepass.watching.verdicts import Verdicts


class Observers:
    """The observers of a pass with these options, which has met these labels.

    >>> import numpy as np
    >>> from onepass.rows import Dense
    >>> observers = Observers(Options(), Labels(), Background())
    >>> observers.observe(Dense(np.ones((200, 3))), np.repeat([1, -1], 100))
    >>> observers.next_freezing(100), len(observers.guards.reasons())
    (112, 1)
    """

    def __init__(self, options: Options, labels: Labels, background: Background) -> None:
        self.background = background
        self.guards = guards_of(options, labels)
        self.watched = watched_of(options, labels)
        self.candidates = FrozenCandidates() if options.validation_fraction > 0.0 else None
        self.verdicts: Verdicts | None = None  # of one watched model on the last rows, where somebody compares passes

    def meet(self, options: Options, labels: Labels) -> None:
        """Guards for these labels, before any row."""
        self.guards = guards_of(options, labels)

    def begin(self, options: Options, labels: Labels) -> None:
        """A run begins: no model is frozen yet."""
        self.watched = watched_of(options, labels)

    # --- rows ---------------------------------------------------------------------------------------------------------

    def observe(self, rows: AnyRows, y: Ints) -> None:
        """Show the guards rows as they were fed. (What they make of watched models is another part of their state.)"""
        self.background.submit_apart(self.guards.observe, rows, y)

    def watch(self, rows: AnyRows, y: Ints, rounds: int, run: LearnerRun) -> None:
        """Show the watched models rows that were learned after so many rounds."""
        if self.watched is not None:
            self.background.submit(self._watch, rows, y, rounds, run.width, run.loss_bound or 0.0)

    def _watch(self, rows: AnyRows, y: Ints, rounds: int, width: int, bound: float) -> None:
        assert self.watched is not None
        cells = self.watched.watch(rows, y, rounds, width, bound)
        self.guards.observe_cells(cells, rounds)
        if self.verdicts is not None:
            self.verdicts.note(cells, rounds, self.watched.tested)

    def validate(self, rows: AnyRows, y: Ints, run: LearnerRun) -> None:
        """Judge the candidates on rows kept out of the pass."""
        if self.candidates is not None and len(y):
            self.candidates.watch(run.frame.bias, rows, y, run.loss_bound or 0.0)

    # --- room ---------------------------------------------------------------------------------------------------------

    def must_fit(self, width: int, classes: int | None = None) -> None:
        """LimitError unless models of so many features, and of so many classes, have room to be watched."""
        if self.watched is not None:
            self.watched.must_fit(width, classes)

    def fits(self, width: int, classes: int) -> bool:
        """Whether they have."""
        return self.watched is None or self.watched.fits(width, classes)

    def widen(self, width: int) -> None:
        """There are so many features."""
        if self.candidates is not None:
            self.candidates.widen(width)

    def join(self, labels: Labels, rounds: int) -> None:
        """After so many rounds a class joins."""
        bins = None
        if self.watched is not None:
            self.watched.join(labels.count, rounds)
            bins = self.watched.bins()
        self.guards.join(labels.count, labels.most, bins)

    # --- between rows -------------------------------------------------------------------------------------------------

    def next_freezing(self, rounds: int) -> int:
        """The next round after which something is frozen; fixed by the round alone."""
        border = rounds + (1 << 62)
        if self.watched is not None:
            border = min(border, next_freezing(rounds))
        if self.candidates is not None:
            border = min(border, 1 << rounds.bit_length())
        return border

    def freeze(self, t: int, run: LearnerRun, last: Callable[[], Floats]) -> bool:
        """Freeze what is to be frozen after round t, `last` giving the hypothesis in use; whether anything was."""
        watches = self.watched is not None and next_freezing(t - 1) == t
        if watches:
            self.background.submit(self._freeze, t, run.sum_so_far(t))
        if self.candidates is None or t & (t - 1):
            return watches
        self.background.join()
        self.candidates.freeze(t.bit_length() - 1, last())
        return True

    def _freeze(self, rounds: int, sum_so_far: Callable[[], SumSoFar]) -> None:
        assert self.watched is not None
        for tester, bins in self.watched.freeze(rounds, sum_so_far).items():
            self.guards.begin_segment(tester, bins)

    # --- their state --------------------------------------------------------------------------------------------------

    def mark(self) -> list[dict[str, Any]]:
        """What `rewind` needs to put back what is seen of rows from now on."""
        return copy.deepcopy([part.state() for part in self._beside()])

    def rewind(self, mark: list[dict[str, Any]]) -> None:
        """Go back to a mark."""
        for part, state in zip(self._beside(), mark, strict=True):
            part.restore(state)

    def _beside(self) -> list[Guards | WatchedModels]:
        return [self.guards] if self.watched is None else [self.guards, self.watched]

    def state(self) -> dict[str, Any]:
        """What they have seen, sharing its arrays."""
        return {
            "guards": self.guards.state(),
            "candidates": None if self.candidates is None else self.candidates.state(),
            "watched": None if self.watched is None else self.watched.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.guards.restore(state["guards"])
        if self.candidates is not None:
            self.candidates.restore(state["candidates"])
        if self.watched is not None:
            self.watched.restore(state["watched"])

    def check_state(self, state: dict[str, Any], rounds: int, shape: tuple[int, int]) -> None:
        """Raise CheckpointError unless a pass of so many rounds, with weights of this shape, can have this state."""
        self.guards.check_state(state["guards"], rounds)
        need((state["candidates"] is None) == (self.candidates is None), "the candidates")
        if self.candidates is not None:
            self.candidates.check_state(state["candidates"], shape)
        need((state["watched"] is None) == (self.watched is None), "the watched models")
        if self.watched is not None:
            self.watched.check_state(state["watched"], rounds, shape[0] - 1)


def guards_of(options: Options, labels: Labels) -> Guards:
    """The guards that the options ask for."""
    return Guards(
        labels.count,
        order=options.order_alarm,
        repeats=options.repeat_alarm,
        drift=bool(options.watch),
        on_drift=options.on_drift,
        seed=options.seed,
    )


def watched_of(options: Options, labels: Labels) -> WatchedModels | None:
    """The models to be watched; None: none are."""
    if not options.watch:
        return None
    hinge, costs = options.loss == "hinge", options.costs(labels)
    return WatchedModels(labels.count, options.bias, options.max_watch_memory, hinge=hinge, costs=costs)
