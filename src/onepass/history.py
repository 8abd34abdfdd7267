"""The history of a pass: loss so far and certificate, at a few rows fixed beforehand.

Certificates hold at every round at once, so looking at them on the way costs no probability, and it changes no bit of
the result: a `History` only cuts the stream at the rows at which it looks, and cutting changes nothing. Where it can, a
look only puts the tally aside (0.04 ms), and the certificate is made of it when somebody asks (1 ms).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from onepass.certificates import Certificate, certify
from onepass.conversions import CONVERSIONS
from onepass.errors import DataError
from onepass.passes import Pass
from onepass.race import Race
from onepass.rows import count, part
from onepass.trace import Evidence
from onepass.trace.grid import floor_index, point
from onepass.validate import accept

FIRST = 16  # rows before the first look
WIDE = 1 << 20  # features from which a look is dear, since it copies the weights


class Point(NamedTuple):
    """One look at a pass, after so many rows.

    Attributes
    ----------
    rows : int
        Fed so far.
    rounds : int
        Those of them that were learned from.
    mistakes : int
        Made on the way.
    loss : float
        The average over all rounds.
    risk : float or None
        The certificate of the pass's own conversion; None where it is withheld.
    choice : int or None
        The number that it chose.
    drift : float or None, default None
        M, how strong the evidence is that rows drift, where that is tested.

    Examples
    --------
    >>> Point(rows=16, rounds=16, mistakes=4, loss=0.25, risk=0.9, choice=8).drift is None
    True
    """

    rows: int
    rounds: int
    mistakes: int
    loss: float
    risk: float | None
    choice: int | None
    drift: float | None = None  # M, where it is tested whether rows drift


class History:
    """A pass that is watched while it is fed: feed this instead of the pass. In all else it is that pass.

    It looks after 16, 20, 24, 28, 32, 40, … rows, four times in each doubling (the cutoff grid), or once where a look
    is dear (a wide model; the conversion `suffix` and `cutoffs="all"`, whose certificates walk all updates).

    Rows are checked from look to look: of a batch with a bad row, those before the look before it are learned.

    Parameters
    ----------
    run : Pass
        The pass to watch; feed this instead of it.

    Examples
    --------
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

    def __init__(self, run: Pass | Race) -> None:
        self.run = run
        self._walks = run.conversion == "suffix" or run.cutoffs == "all"
        self._hasty = (
            self._walks or run.conversion == "longest" or run.on_drift == "restart"
        )  # what later rows may overwrite is not put aside
        self._points = list[Point]()
        self._pending = list[tuple[int, Evidence]]()

    def __getattr__(self, name: str) -> Any:
        if name == "run":  # not there yet, while it is being copied
            raise AttributeError(name)
        return getattr(self.run, name)

    @property
    def points(self) -> list[Point]:
        """The looks so far."""
        for rows, evidence in self._pending:
            run = self.run
            own = certify(evidence, run.conversion, delta=run.delta * run.delta_share, bound=run.bound, loss=run.loss)
            block = next(CONVERSIONS["average"].choices(evidence, _counted(own)))
            loss = (own.loss_bound if own.loss == "hinge" else 1.0) * float(block.losses[0]) / evidence.rounds
            self._points.append(_point(rows, evidence.mistakes, loss, own))
        self._pending.clear()
        return self._points

    def remember(self) -> list[list[Any]]:
        """The looks so far as plain values, for a checkpoint."""
        return [list(at) for at in self.points]

    def recall(self, points: Iterable[Sequence[Any]]) -> None:
        """Begin with the looks that an earlier run remembered, before it was stopped."""
        self._points = [Point(*at) for at in points]

    def feed(self, X: Any, y: Any) -> None:
        """Feed the pass, and look at it where a look is due; rows that fall into parts are all checked before."""
        rows, done = accept(X), 0
        if self.run.rows + count(rows) > self._next_look():
            self.run.check(X, y)
        while done < count(rows) and not self.run.stopped:
            due = self._next_look()
            stop = min(count(rows), done + due - self.run.rows)
            try:
                self.run.feed(part(rows, done, stop), y[done:stop])
            except DataError as error:  # that only learning shows
                error.row = None if error.row is None else error.row + done
                raise
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
        dear = self._walks or self.run.width >= WIDE
        return 1 << rows.bit_length() if dear else point(floor_index(rows) + 1)

    def _look(self) -> None:
        run = self.run
        if not run.rounds:  # so far the rows have only told how long rows are
            return
        if not self._hasty:
            trace = run.trace()
            self._hasty = trace.compacted  # from now on: a copy of its columns would cost more than a certificate
            if not trace.compacted:
                self._pending.append((run.rows, trace.evidence()))
                return
        ready = self.points  # those put aside come first
        own = run.certificate()
        ready.append(_point(run.rows, run.mistakes, run.certificate("average", loss=_counted(own)).empirical, own))


def _counted(own: Certificate) -> str:
    """The loss of all rounds that is shown beside a certificate: its own, or the share of mistakes beside costs."""
    return "zero_one" if own.loss == "cost" else own.loss


def _point(rows: int, mistakes: int, loss: float, own: Certificate) -> Point:
    drift = None if own.drift is None else own.drift.now
    return Point(rows, own.rounds, mistakes, loss, None if math.isnan(own.risk) else own.risk, own.choice.value, drift)
