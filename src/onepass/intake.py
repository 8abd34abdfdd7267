"""The way in: what users hand to a pass, as a batch of rows and label numbers.

`take` looks at shapes, types and labels; `check` at the content, before a kernel that trusts it sees a row; `one_row`
is both at once for the plainest case, a single dense row, where looking in general would cost more than learning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from onepass.errors import DataError
from onepass.labels import MOST, Labels
from onepass.rows import LARGEST, AnyRows, Dense, Ints, Rows, count, part
from onepass.state_checks import need, need_fields
from onepass.structure import refuse_masked
from onepass.validate import accept, block, blocks, stated_columns, validate_rows, writable


class Batch(NamedTuple):
    """Rows with their label numbers."""

    rows: AnyRows
    y: Ints
    labels: Labels  # as known after these rows
    spans: list[tuple[int, int]]  # the pieces that a kernel handles in one short call
    columns: int | None  # that the rows say they have: an index beyond them is a fault; None: they do not say
    width: int = 0  # features, once the content was looked at
    canonical: bool = True  # whether indices rise in each row
    checked: bool = False  # whether another look at its content would find nothing

    def piece(self, first: int, last: int) -> AnyRows:
        """Rows first..last, ready for a kernel."""
        return block(self.rows, first, last, self.canonical)

    def stages(self, known: Labels) -> Iterator[Batch]:
        """The batch, cut before every row with which a third or later class joins those known."""
        joins = self.labels.joining(known, self.y)
        ends = [*joins, len(self.y)]
        for step, (first, last) in enumerate(pairwise([0, *ends])):
            labels = replace(self.labels, classes=self.labels.classes[: known.count + step])
            rows, y = part(self.rows, first, last), self.y[first:last]
            y = 2 * y - 1 if labels.count == 2 else y
            if first < last:
                yield self._replace(rows=rows, y=y, labels=labels, spans=list(blocks(rows)))


@dataclass(frozen=True)
class CheckedLabels:
    """The labels of a batch that was taken and checked as a whole, to go with any piece of its rows, kernel-ready ones.

    A pass that is fed both looks at neither again. Cut like an array; a piece knows the labels met up to its end.

    >>> taken = Intake(None, None, 9).take(np.eye(4), ["a", "a", "b", "c"])
    >>> whole = CheckedLabels.of(taken, Labels())
    >>> [len(whole[:2]), *whole[:2].taken(Dense(np.eye(2)))[1:3], whole[2:3].taken(Dense(np.eye(1))).y]
    [2, array([-1, -1]), Labels(classes=('a',), declared=False, most=50), array([1])]
    """

    labels: Labels  # as known after the whole batch
    codes: Ints  # in these labels
    known: int  # classes before it
    firsts: tuple[int, ...]  # the rows with which others came, in the order of the classes
    first: int
    last: int

    @classmethod
    def of(cls, batch: Batch, before: Labels) -> CheckedLabels:
        """Those of a whole batch, before which these labels were known."""
        known, several = len(before.classes), len(batch.labels.classes) > 2
        new = range(known, len(batch.labels.classes))
        firsts = tuple(int(np.argmax(batch.y == (code if several else 2 * code - 1))) for code in new)
        return cls(batch.labels, batch.y, known, firsts, 0, len(batch.y))

    def __len__(self) -> int:
        return self.last - self.first

    def __getitem__(self, piece: slice) -> CheckedLabels:
        first, last, _ = piece.indices(len(self))
        return replace(self, first=self.first + first, last=self.first + max(first, last))

    def met(self, rows: int) -> Labels:
        """The labels known after so many rows of the whole batch."""
        return replace(self.labels, classes=self.labels.classes[: self.known + sum(at < rows for at in self.firsts)])

    def taken(self, rows: AnyRows) -> Batch:
        """The batch that these labels make with their rows."""
        labels, codes = self.met(self.last), self.codes[self.first : self.last]
        codes = 2 * codes - 1 if len(labels.classes) <= 2 < len(self.labels.classes) else codes
        columns = rows.values.shape[1] if isinstance(rows, Dense) else None
        return Batch(rows, codes, labels, list(blocks(rows)), columns, checked=True)


class Intake:
    """Labels met so far and the width that dense rows must have."""

    def __init__(self, classes: Any, features: int | None, most: int, most_classes: int = MOST) -> None:
        self.labels = Labels.of(classes, most_classes)
        self.features, self.most = features, most
        self.dense_width = features  # None: the first dense rows fix it
        known = self.labels.classes if self.labels.declared else ()
        self._codes = {label: self.labels.encode([label], 1)[1] for label in known}

    def take(self, X: Any, y: Any) -> Batch:
        """The batch, its content not looked at; DataError if it is no table of this pass's width, or a label is new."""
        rows = accept(X)
        if isinstance(y, CheckedLabels):
            return y.taken(rows)
        refuse_masked(y, "y")
        labels, codes = self.labels.encode(y, count(rows))
        if isinstance(rows, Rows):
            rows = rows._replace(indptr=writable(rows.indptr, np.int64))  # once, and not for each piece
            return Batch(rows, codes, labels, list(blocks(rows)), stated_columns(X))
        columns = rows.values.shape[1]
        expected = self.dense_width or columns
        if columns != expected:
            raise DataError(f"X: {columns} features, but {expected} are expected")
        return Batch(rows, codes, labels, list(blocks(rows)), columns)

    def check(self, batch: Batch) -> Batch:
        """The batch after a look at all of it; DataError says where its content is bad."""
        if batch.checked:
            return batch._replace(width=width_of(batch.rows))
        width, canonical = validate_rows(batch.rows, self.most, batch.columns)
        return batch._replace(width=width, canonical=canonical)

    def one_row(self, X: Any, y: Any) -> tuple[Dense, Ints] | None:
        """One dense float64 row of the declared width with one declared label, checked; None: it is no such case."""
        if not (type(X) is np.ndarray and X.dtype == np.float64 and X.shape == (1, self.features)):
            return None
        if not (isinstance(y, list) or (type(y) is np.ndarray and y.ndim == 1)) or len(y) != 1:
            return None
        label = y[0].item() if isinstance(y[0], np.generic) else y[0]
        code = self._codes.get(label) if isinstance(label, (str, int, float)) else None
        if code is None or not (X.flags.c_contiguous and X.flags.writeable) or not np.abs(X).max() <= LARGEST:
            return None
        return Dense(X), code

    def adopt(self, batch: Batch) -> None:
        """From now on its labels are known."""
        self.labels = batch.labels
        if isinstance(batch.rows, Dense):
            self.dense_width = batch.columns

    def state(self) -> dict[str, Any]:
        """What changes from batch to batch."""
        return {"labels": self.labels, "dense_width": self.dense_width}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.labels, self.dense_width = state["labels"], state["dense_width"]

    def check_state(self, state: Any, width: int) -> None:
        """Raise CheckpointError unless a pass with so many features can have this state."""
        self.labels_of(state)
        dense = state["dense_width"]
        need(dense is None or (type(dense) is int and 0 <= dense <= width), "the width")

    def labels_of(self, state: Any) -> Labels:
        """The labels of a state; CheckpointError unless they are such."""
        need_fields(state, self.state(), "the rows taken in")
        labels: Labels = state["labels"]
        need(isinstance(labels, Labels) and isinstance(labels.classes, tuple), "labels")
        need(all(isinstance(label, bool | int | float | str) for label in labels.classes), "labels")
        need(labels == self.labels if self.labels.declared else len(labels.classes) <= self.labels.most, "labels")
        need(labels.declared == self.labels.declared and labels.most == self.labels.most, "labels")
        need(len(set(labels.classes)) == len(labels.classes), "labels")
        return labels


def width_of(rows: AnyRows) -> int:
    """One more than the largest feature of rows in each of which indices rise; of dense rows the columns.

    >>> width_of(Rows(np.array([0, 2, 2, 3]), np.array([1, 6, 4], np.int32), np.ones(3)))
    7
    """
    if isinstance(rows, Dense):
        return int(rows.values.shape[1])
    return int(widths_of(rows).max(initial=0))


def widths_of(rows: Rows) -> Ints:
    """The width of each row alone."""
    begins, ends = rows.indptr[:-1], rows.indptr[1:]
    widths = np.zeros(len(ends), np.int64)
    some = ends > begins
    widths[some] = rows.indices[ends[some] - 1].astype(np.int64) + 1
    return widths
