"""Guards: what shows, while rows are fed, that they are no independent draws.

`order` looks at the labels' order, `repeats` for blocks of rows that came before, `duplicates` counts rows that equal
an earlier one. The first two withhold a certificate, the third is only told.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.guards.duplicates import Duplicates, check_duplicates, count_rows, no_duplicates
from onepass.guards.fingerprints import fingerprints
from onepass.guards.order import (
    LabelTransitions,
    Order,
    check_order,
    label_transitions,
    observe_labels,
    one_label_only,
    order_reason,
    order_state,
)
from onepass.guards.repeats import Repeats, check_repeats, no_repeats, observe_prints, repeat_reason, stream_hash
from onepass.rows import AnyRows, Dense, Ints
from onepass.state_checks import need_fields

SINGLES = 64  # rows fed one by one that are fingerprinted together: a call for each costs as much as learning it


class Guards:
    """All guards of one pass: `observe` the rows as they are fed, then ask for `reasons`."""

    def __init__(self, classes: int, *, order: bool, repeats: bool) -> None:
        self.watches_order, self.watches_repeats = order, repeats
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

    def reasons(self) -> tuple[str, ...]:
        """Why no certificate may be given, if there is a reason."""
        self.flush()
        found = (
            order_reason(self.order) if self.watches_order else None,
            repeat_reason(self.repeats) if self.watches_repeats else None,
        )
        return tuple(reason for reason in found if reason is not None)

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
        return {"order": self.order, "repeats": self.repeats, "duplicates": self.duplicates}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.order, self.repeats, self.duplicates = state["order"], state["repeats"], state["duplicates"]
        self._single = []

    def check_state(self, state: Any) -> None:
        """Raise CheckpointError unless a pass with these guards can have this state."""
        need_fields(state, self.state(), "the guards")
        check_order(state["order"], self.order)
        check_repeats(state["repeats"])
        check_duplicates(state["duplicates"])
