"""What the workers send of the chunks of a wave: vectors, of which only their sums travel, added in a fixed tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from onepass.learners import Learner
from onepass.rows import Floats
from onepass.runs.carrying import Carried
from onepass.runs.carrying import merged as merged_start
from onepass.scale.executors import Executor, Handle, sum_in_tree
from onepass.scale.inputs import Inputs
from onepass.scale.tasks import Alone, Part, WaveStart, add, alone_of, left_by, vector_of


class Back(NamedTuple):
    """What is kept here of a chunk that has come back."""

    chunk: int
    digest: str
    rows: int
    rounds: int


@dataclass(frozen=True)
class WaveSums:
    """The vectors of one entry's chunks of a wave that has been learned."""

    executor: Executor
    inputs: Inputs
    seat: int  # of the entry
    wave: int
    handles: list[Handle]  # the chunks' results, on the workers
    back: list[Back]

    def _key(self, what: str) -> str:
        return task_name(what, self.seat, self.wave)

    def _parts(self) -> list[tuple[Handle, Part]]:
        """Of each chunk of the wave, what is this entry's."""
        pairs = zip(self.handles, self.back, strict=True)
        return [(handle, Part(self.seat, self.inputs.chunks[one.chunk], one.digest)) for handle, one in pairs]

    def vector(self, k: int) -> Floats:
        """Σ (n_j − k)₊·w_j."""
        return self._added("vector", vector_of, [(*pair, k) for pair in self._parts()], self.back)

    def next_start(self, before: WaveStart | None, learner: Learner) -> WaveStart | None:
        """Where the next wave starts, from what this one's chunks (those that had rows) have left."""
        back = [one for one in self.back if one.rounds]
        if not back:
            return before
        lines = [line for line, one in zip(self._parts(), self.back, strict=True) if one.rounds]
        total = self._added("left", left_by, lines, back)
        elapsed = sum(one.rounds for one in back) // len(back) + (0 if before is None else before.elapsed)
        origin = None if before is None else before.origin
        if learner.deltas:
            assert origin is None or isinstance(origin, Carried)
            return WaveStart(merged_start(origin, total), elapsed)
        assert not isinstance(origin, Carried)
        mean = total / float(len(back))
        if not learner.tracks_norm:
            mean = _grown(mean, origin, math.sqrt(len(back)))
        return WaveStart(mean, elapsed)

    def longest(self, part: int) -> Floats | None:
        """The longest survivor, where this chunk is of the wave: only the chunk that has it sends its vector."""
        here = [(*pair, None) for pair in self._parts() if pair[1].chunk.number == part]
        if not here:
            return None
        sent = self.executor.each(f"longest-{part}", vector_of, here)
        ((_, vector),) = self.executor.fetch(sent, [str(here[0][1].chunk)])
        self.executor.drop(sent)
        return np.asarray(vector)

    def alone(self) -> Alone:
        """What the only chunk has come to."""
        sent = self.executor.each(self._key("alone"), alone_of, self._parts())
        ((_, alone),) = self.executor.fetch(sent, self.inputs.chunk_names)
        self.executor.drop(sent)
        found: Alone = alone
        return found

    def _added(self, what: str, task: Callable[..., Any], lines: list[Any], back: list[Back]) -> Floats:
        """Vectors added in a fixed tree on the workers; only the sum travels here."""
        kind, names = self._key(what), self.inputs.chunk_names
        leaves = self.executor.each(kind, task, lines)
        first, last = names[back[0].chunk], names[back[-1].chunk]
        name = first if first == last else f"{first} to {last}"
        return np.asarray(sum_in_tree(self.executor, f"{kind}-sum", add, leaves, name))


def task_name(what: str, seat: int, wave: int) -> str:
    """A name that no other task of a run has."""
    return f"{what}-{seat}-{wave}"


def weights_of(start: WaveStart) -> Floats:
    """The weights from which a wave starts."""
    return start.origin.weights if isinstance(start.origin, Carried) else start.origin


def _grown(mean: Floats, before: Floats | None, factor: float) -> Floats:
    """Where a wave began, and `factor` times the average way from there.

    A Perceptron that made M mistakes has ‖w‖ ≤ R√M: √s times the average of s runs grows as one run over all their rows
    would. Without it the next mistakes weigh too much: on the RCV1 sample, on the splits on which this was chosen, with
    4 shards in 4 to 16 waves, the Perceptron's test error was 4 to 9 % above the sequential one's, with it −2 to 4 %
    (Passive-Aggressive: 10 to 13 %, 3 to 5 %). Rules that project or normalise have a scale of their own.
    """
    moved = mean.copy()
    if before is not None:
        moved[: len(before)] -= before
    moved *= factor
    if before is not None:
        moved[: len(before)] += before
    return moved
