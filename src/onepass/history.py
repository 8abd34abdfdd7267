"""The history of a pass: loss so far and certificate, at a few rows fixed beforehand.

Certificates hold at every round at once, so looking at them on the way costs no probability, and it changes no bit of
the result: a `History` only cuts the stream at the rows at which it looks, and cutting changes nothing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from onepass.passes import Pass
from onepass.rows import accept, count, part
from onepass.trace.grid import floor_index, point

FIRST = 16  # rows before the first look
WIDE = 1 << 20  # features from which a look is dear, since it copies the weights


class Point(NamedTuple):
    """One look: after so many rows (of which `rounds` were learned from), the average loss of all rounds, the
    certificate of the pass's own conversion (None where it is withheld) and the number that it chose."""

    rows: int
    rounds: int
    mistakes: int
    loss: float
    risk: float | None
    k: int | None


class History:
    """A pass that is watched while it is fed: feed this instead of the pass.

    It looks after 16, 20, 24, 28, 32, 40, … rows, four times in each doubling (the cutoff grid), or once where a look
    is dear (a wide model; the conversion `suffix` and `cutoffs="all"`, whose certificates walk all updates).

    Rows are checked from look to look: of a batch with a bad row, those before the look before it are learned.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(100, 3))
    >>> history = History(Pass())
    >>> history.feed(x, x[:, 0] > 0)
    >>> [at.rows for at in history.points]
    [16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96]
    >>> last = history.finish()[-1]
    >>> last.rows, last.mistakes == history.run.mistakes, last.risk == history.run.certificate().risk
    (100, True, True)
    """

    def __init__(self, run: Pass) -> None:
        self.run = run
        self.points = list[Point]()

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels of the pass."""
        return self.run.classes

    def feed(self, X: Any, y: Any) -> None:
        """Feed the pass, and look at it where a look is due."""
        rows, done = accept(X), 0
        while done < count(rows) and not self.run.stopped:
            due = self._next_look()
            stop = min(count(rows), done + due - self.run.rows)
            self.run.feed(part(rows, done, stop), y[done:stop])
            done = stop
            if self.run.rows == due:
                self._look()

    def finish(self) -> list[Point]:
        """All points, and one more where the stream ended."""
        if not self.points or self.points[-1].rows < self.run.rows:
            self._look()
        return self.points

    def _next_look(self) -> int:
        rows = self.run.rows
        if rows < FIRST:
            return FIRST
        dear = self.run.conversion == "suffix" or self.run.cutoffs == "all" or self.run.width >= WIDE
        return 1 << rows.bit_length() if dear else point(floor_index(rows) + 1)

    def _look(self) -> None:
        if not self.run.rounds:  # rows that only tell how long rows are
            return
        loss = self.run.certificate("average").empirical
        own = self.run.certificate()
        risk = None if math.isnan(own.risk) else own.risk
        self.points.append(Point(self.run.rows, self.run.rounds, self.run.mistakes, loss, risk, own.k))
