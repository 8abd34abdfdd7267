"""What a worker does for the conversion `frozen`: its chunk's rows watch the models that earlier waves have frozen.

Scores are summed as a model of its own sums them, so that what is deployed says of every row what it said here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onepass.costs import Costs
from onepass.errors import DataError
from onepass.guards.drift import LEVEL, ChunkDrift, begin_segment, drift_now, no_drift, observe_cells
from onepass.loop import head_of, watch
from onepass.passes import Pass
from onepass.rows import AnyRows, Array, Floats, Ints
from onepass.trace.tally import Tally, empty_tally
from onepass.trace.watched import nothing_watched
from onepass.watching.board import RECENT, empty_board
from onepass.watching.cells import bins_of_cells
from onepass.watching.judging import watch_several, watch_two
from onepass.watching.models import level_table, levels_in


class Candidate(NamedTuple):
    """A merged model as it was at the end of a wave: it depends on the rows of that wave and earlier ones only."""

    wave: int  # from 1
    frozen: int  # rounds before it
    weights: Floats  # (1 + features, outputs), intercept first
    borders: Floats  # of the bins into which its scores are counted


class CandidateCounts(NamedTuple):
    """What the rows of a chunk, or of neighbours in one wave, have shown of the candidates, the oldest first."""

    rows: Ints  # (classes)
    mistakes: Ints  # (candidates, classes)
    bins: Ints  # (candidates, 2, 129): as in Watched
    costs: Ints  # (candidates, levels): as in Watched
    recent: Floats  # (at most 1024): the last scores of the newest one
    hinge: Tally | None = None  # hinge losses, one line per candidate, where these are counted

    def followed_by(self, later: CandidateCounts) -> CandidateCounts:
        """Those of these rows and, right after them, the later ones."""
        recent = np.concatenate([self.recent, later.recent])[-RECENT:]
        hinge = self.hinge and later.hinge and add_lines(self.hinge, later.hinge)
        rows, mistakes, bins, costs = (mine + theirs for mine, theirs in zip(self[:4], later[:4], strict=True))
        return CandidateCounts(rows, mistakes, bins, costs, recent, hinge)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All numbers in it."""
        return (*self[:5], *(self.hinge or ()))


def add_lines(left: Tally, right: Tally) -> Tally:
    """Line by line, of tallies whose products have entered their logarithms."""
    sums = Tally._make(a + b for a, b in zip(left, right, strict=True))
    return sums._replace(product=np.ones_like(left.product))


class CandidateWatch:
    """The candidates side by side, as a kernel takes them, and what they have made of the rows so far."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        classes: int,
        bias: float,
        seed: int,
        *,
        hinge: bool = False,
        costs: Costs | None = None,
    ) -> None:
        self.classes, self.bias, self.outputs = classes, bias, candidates[0].weights.shape[1]
        self.tally = empty_tally(len(candidates)) if hinge else None
        level = level_table(classes, costs)
        self.counts = nothing_watched(len(candidates), classes, levels_in(level))
        self.seed, self.drift = np.uint64(seed % (1 << 64)), no_drift()
        begin_segment(self.drift, 0, bins_of_cells(candidates[-1].borders))
        room = max(len(one.weights) for one in candidates) - 1
        self.board = empty_board(len(candidates), self.outputs, room, level)
        newest = len(candidates) - 1
        self.board.elders[:], self.board.progress[:] = -1, (0, newest, newest, -1)
        for slot, one in enumerate(candidates):
            self.board.put(slot, one.weights)
            self.counts.frozen[slot], self.counts.borders[slot] = one.frozen, one.borders

    def watch(self, run: Pass, X: Any, y: Any) -> None:
        """Count what every candidate makes of rows that this pass has taken."""
        batch = run.intake.check(run.intake.take(X, y))
        self.board = self.board.widened(batch.width)
        bound = run.learner_run.loss_bound or 0.0
        for first, last in batch.spans:
            rows, codes = run.scaling.scale(batch.piece(first, last)), batch.y[first:last]
            self._count(rows, codes)
            if self.tally is not None:
                self._charge(rows, codes, self.tally, bound)

    def _count(self, rows: AnyRows, y: Ints) -> None:
        kernel = watch_two if self.outputs == 1 else watch_several
        cells = np.full((len(y), 5), -1, dtype=np.int16)
        kernel(rows, y, self.bias, self.board, self.counts, cells)
        observe_cells(self.drift, cells, self.seed, int(self.drift.progress[0]) + 1, LEVEL)

    def _charge(self, rows: AnyRows, y: Ints, tally: Tally, bound: float) -> None:
        for slot, frozen in enumerate(self.counts.frozen):
            if not watch(head_of(self.board.model(slot), self.bias), rows, y, tally, slot, bound):
                raise DataError(f"a hinge loss of the model frozen at round {frozen:,} lies above its bound {bound}")

    def found(self) -> CandidateCounts:
        """What the rows have shown."""
        counts, entered, recent = self.counts, int(self.board.progress[0]), self.board.recent
        recent = np.roll(recent, -entered) if entered > RECENT else recent[:entered]
        found = counts.rows[0].copy(), counts.mistakes, counts.bins, counts.costs
        return CandidateCounts(*found, recent.copy(), self._hinge())

    def tested(self, chunk: int) -> ChunkDrift:
        """What the drift alarm makes of the chunk's rows."""
        signed, unsigned = np.log(drift_now(self.drift)[:2]).tolist()
        return ChunkDrift(chunk, int(self.drift.progress[0]), signed, unsigned)

    def _hinge(self) -> Tally | None:
        tally = self.tally
        if tally is None:
            return None
        return tally._replace(logs=tally.logs + np.log(tally.product), product=np.ones_like(tally.product))
