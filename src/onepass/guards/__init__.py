"""Guards: what shows, while rows are fed, that they are no independent draws.

`order` looks at the labels' order, `repeats` for blocks of rows that came before, `duplicates` counts rows that equal
an earlier one, `drift` tests the scores of models that were frozen on the way. Order, repeats and drift withhold a
certificate, duplicates are only told.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.guards.drift import (
    LEVEL,
    Cells,
    DriftEvidence,
    DriftState,
    begin_segment,
    check_drift,
    drift_evidence,
    drift_reason,
    no_drift,
    observe_cells,
)
from onepass.guards.duplicates import Duplicates, check_duplicates, count_rows, no_duplicates
from onepass.guards.fingerprints import fingerprints
from onepass.guards.order import (
    LabelTransitions,
    Order,
    check_order,
    join_label,
    label_transitions,
    observe_labels,
    one_label_only,
    order_reason,
    order_state,
)
from onepass.guards.repeats import Repeats, check_repeats, no_repeats, observe_prints, repeat_reason, stream_hash
from onepass.rows import AnyRows, Dense, Ints
from onepass.state_checks import need_fields

SINGLES = 64  # rows fed one by one that are looked at together: a call for each costs as much as learning it
SEEDS = (1 << 64) - 1


class Guards:
    """All guards of one pass: `observe` the rows as they are fed, then ask for `reasons`."""

    def __init__(
        self,
        classes: int,
        *,
        order: bool,
        repeats: bool,
        drift: bool = False,
        on_drift: str = "withhold",
        seed: int = 0,
    ) -> None:
        self.watches_order, self.watches_repeats, self.watches_drift = order, repeats, drift
        self.drift: DriftState = no_drift()
        self._withholds_drift = on_drift != "ignore"
        self.seed = np.uint64(seed & SEEDS)
        self._cells: list[Cells] = []  # of rows fed one by one that are not tested yet
        self._tested = 0  # the number of the row before them
        self.order: Order = order_state(classes)
        self.repeats: Repeats = no_repeats()
        self.duplicates: Duplicates = no_duplicates()
        self._counts_labels = order and classes <= self.order.seen.size
        self._single: list[tuple[Any, Ints]] = []  # rows fed one by one that are not fingerprinted yet

    def observe(self, rows: AnyRows, y: Ints) -> None:
        """Look at rows as they were fed, with their labels as numbers."""
        if self.watches_repeats:
            if len(y) == 1 and isinstance(rows, Dense) and rows.values.dtype == np.float64:
                self._wait(rows.values, y)
            else:
                self.flush()
                self._fingerprint(rows, y)
        if self._counts_labels:
            observe_labels(self.order, y)

    def observe_cells(self, cells: Cells | None, rounds: int) -> None:
        """Test where the scores of a frozen model lie, on the rows after so many; None: there is no such model yet."""
        if cells is None or not self.watches_drift:
            return
        if not self._cells:
            self._tested = rounds
        self._cells.append(cells)
        if len(cells) > 1 or len(self._cells) == SINGLES:
            self._test()

    def restart(self) -> None:
        """The rows from now on are another stream: their order and their scores are looked at anew."""
        self._test()
        self.order, self.drift = order_state(len(self.order.seen)), no_drift()

    def join(self, classes: int, most: int, bins: Ints | None) -> None:
        """With the next row a class joins, so that there are so many, of at most so many.

        Drift is tested anew, in these bins of the newest frozen model; None: there are none to be tested.
        """
        self.flush()
        self._test()
        self.order = join_label(self.order, classes, most)
        self._counts_labels = self.watches_order and classes <= self.order.seen.size
        if bins is not None:
            for tester in (0, 1):
                begin_segment(self.drift, tester, bins)

    def begin_segment(self, tester: int, bins: Ints) -> None:
        """From now on this tester looks at the scores of another frozen model, in these bins."""
        self._test()
        begin_segment(self.drift, tester, bins)

    def _test(self) -> None:
        """Test the rows that wait."""
        if self._cells:
            waiting, self._cells = self._cells, []
            cells = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
            observe_cells(self.drift, cells, self.seed, self._tested + 1, LEVEL)

    def _wait(self, x: Any, y: Ints) -> None:
        """A single row waits for others before the costly look."""
        self._single.append((x.copy(), y))
        if len(self._single) == SINGLES:
            self.flush()

    def flush(self) -> None:
        """Look at the rows that wait."""
        if self._single:
            rows, y = (np.concatenate(parts) for parts in zip(*self._single, strict=True))
            self._single = []
            self._fingerprint(Dense(rows), y)

    def _fingerprint(self, rows: AnyRows, y: Ints) -> None:
        prints = fingerprints(rows, y)
        self.repeats = observe_prints(self.repeats, prints)
        self.duplicates = count_rows(self.duplicates, rows, y, prints)

    def reasons(self, before: int = 0, untested: int = 0) -> tuple[str, ...]:
        """Why no certificate may be given, if there is a reason.

        So many rows were fed before those whose order is looked at, and so many of these before the first that can be
        tested for drift: with them the reasons speak of rows as the user counts them.
        """
        self.flush()
        found = (
            order_reason(self.order, before) if self.watches_order else None,
            repeat_reason(self.repeats) if self.watches_repeats else None,
            drift_reason(drift)
            if (drift := self.drifted_after(before + untested)) is not None and self._withholds_drift
            else None,
        )
        return tuple(reason for reason in found if reason is not None)

    @property
    def drifted(self) -> DriftEvidence | None:
        """The evidence that rows drift, by the number of the round; None: it is not tested."""
        return self.drifted_after(0)

    def drifted_after(self, before: int) -> DriftEvidence | None:
        """The same where so many rows were fed before the first round."""
        self._test()
        return drift_evidence(self.drift).later(before) if self.watches_drift else None

    @property
    def one_label_only(self) -> bool:
        """Whether nothing can be said of the labels' order yet, as at the beginning of sorted data."""
        return self.watches_order and one_label_only(self.order)

    @property
    def transitions(self) -> LabelTransitions | None:
        """The labels' order, as far as parts of one stream need it."""
        return label_transitions(self.order) if self.watches_order else None

    @property
    def streams(self) -> tuple[int, ...]:
        """A hash of all rows, in their order."""
        self.flush()
        return stream_hash(self.repeats) if self.watches_repeats else ()

    @property
    def counted(self) -> Duplicates | None:
        """How often rows came."""
        self.flush()
        return self.duplicates if self.watches_repeats else None

    def state(self) -> dict[str, Any]:
        """What has been seen so far, sharing its arrays."""
        self.flush()
        self._test()
        return {"order": self.order, "repeats": self.repeats, "duplicates": self.duplicates, "drift": self.drift}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.order, self.repeats, self.duplicates = state["order"], state["repeats"], state["duplicates"]
        self.drift = state["drift"]
        self._single, self._cells = [], []

    def check_state(self, state: Any, rounds: int) -> None:
        """Raise CheckpointError unless a pass of so many rounds with these guards can have this state."""
        need_fields(state, self.state(), "the guards")
        check_order(state["order"], self.order)
        check_repeats(state["repeats"])
        check_duplicates(state["duplicates"])
        check_drift(state["drift"], self.drift, rounds)
