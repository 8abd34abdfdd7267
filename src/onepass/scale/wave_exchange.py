"""What goes to the workers for a wave, and how its chunks come back: each is read once, for all entries of a race."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from onepass.scale.executors import Executor, Handle
from onepass.scale.tasks import WaveStart, run, summaries_of
from onepass.scale.watching import Candidate
from onepass.scale.wave_sums import task_name

if TYPE_CHECKING:
    from onepass.scale.waves import WaveRun


class Seat(NamedTuple):
    """Where an entry of a race sits: its number, and how many of the rows' features it sees; None: all."""

    number: int = 0
    features: int | None = None


class SentValues:
    """What one entry's rows need of the waves before, each sent once."""

    def __init__(self, executor: Executor, seat: int) -> None:
        self.executor, self.seat = executor, seat
        self._held: dict[int, Handle] = {}  # wave → its candidate

    def origin(self, origin: WaveStart | None, wave: int) -> Handle | None:
        """Where the wave starts."""
        return None if origin is None else self.executor.hold(task_name("origin", self.seat, wave), origin)

    def candidates(self, watched: Sequence[Candidate]) -> list[Handle]:
        """The candidates that rows are to watch; those that are watched no more are let go."""
        known = self._held
        self._held = {
            one.wave: known.get(one.wave) or self.executor.hold(task_name("candidate", self.seat, one.wave), one)
            for one in watched
        }
        self.executor.drop([handle for wave, handle in known.items() if wave not in self._held])
        return list(self._held.values())

    def drop(self) -> None:
        """Let all go."""
        self.executor.drop(list(self._held.values()))


def send(runs: Sequence[WaveRun], chunks: Any, k: int | None) -> list[Handle]:
    """One task for each chunk of a wave, which is read once and learned from by all runs."""
    first = runs[0]
    inputs, jobs = first.inputs, [one.job for one in runs]
    begin, held = zip(*[one.send() for one in runs], strict=True)
    lines = [(jobs, inputs.chunks[p], inputs.data[p], list(begin), first.rule(k), list(held)) for p in chunks]
    return first.executor.each(f"run-{first.wave}", run, lines)


def gather(runs: Sequence[WaveRun], handles: list[Handle], chunks: Any, tell: Callable[[], None]) -> None:
    """Hand every run its summary of each chunk as it comes."""
    first, names = runs[0], runs[0].inputs.chunk_names
    small = first.executor.each(f"summary-{first.wave}", summaries_of, [(handle,) for handle in handles])
    for one in runs:
        one.expect(chunks)
    for place, summaries in first.executor.fetch(small, [names[p] for p in chunks]):
        for one, summary in zip(runs, summaries, strict=True):
            one.arrived(place, summary)
        tell()
    first.executor.drop(small)
