"""The race on several machines: every chunk is read once, and all entries learn from it on its worker.

Each entry is a run of its own, with its own waves, candidates and counts, at its share of δ; what it comes to is what
it would have come to alone. The one with the best certificate is deployed. Nobody is dropped for a better one: that
would save time, and no certificate needs it. An entry whose candidates outgrow `max_watch_memory` when one is frozen is
deployed no more, unless it is the last; it learns on, since chunks leave the work of all entries side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from onepass import race
from onepass.certificates import Certificate
from onepass.errors import LimitError
from onepass.scale.executors import Executor, Handle
from onepass.scale.inputs import Inputs
from onepass.scale.merged import Merged, Outcome
from onepass.scale.progress import Checkpoints, Progress, Watch
from onepass.scale.wave_certificates import enough
from onepass.scale.wave_exchange import Seat, gather, send
from onepass.scale.wave_states import WHAT
from onepass.scale.waves import WaveRun
from onepass.standings import CROWDED, Dropped, Entry, Standings, best_of, rank
from onepass.state_checks import is_count, need, need_fields


class MergedRace(Standings):
    """What a race on several machines leaves behind: one `Merged` for each entry, asked like the leader's.

    Attributes
    ----------
    entries : tuple of Entry
        Those that took part; `run` is what each has come to.
    delta : float
        Of all of them together.
    rows : int
        Rows read.
    outcome : Outcome
        How the run of the leader went.

    Examples
    --------
    >>> from onepass.scale import cut, learn
    >>> X = np.random.default_rng(0).normal(size=(4000, 5))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> chunks = cut([(X[at : at + 1000], y[at : at + 1000]) for at in range(0, 4000, 1000)])
    >>> merged = learn(chunks, waves=4, race="adaptive,perceptron")
    >>> merged.leader.name, merged.certificate().entries, merged.certificate().delta
    ('adaptive', 2, 0.05)
    """

    def __init__(self, entries: Sequence[Entry], delta: float) -> None:
        super().__init__(entries, delta)
        self.rows: int = entries[0].run.rows

    def _reasons(self, entry: Entry) -> Sequence[str]:
        found: Sequence[str] = entry.run.trace().void
        return found

    @property
    def outcome(self) -> Outcome:
        """How the run of the leader went."""
        found: Outcome = self.leader.run.outcome
        return found

    def without_rows(self) -> MergedRace:
        """Itself: it holds no rows."""
        return self


def begin(
    names: Sequence[str],
    inputs: Inputs,
    executor: Executor,
    options: dict[str, Any],
    watch: Watch | None,
    waves: int,
) -> WaveRace:
    """The race of these entries over the chunks; encodings are those of their table. Raises ValueError."""
    entries = race.begin(names, options, inputs.table).entries
    shared = options | {"stop_at": None}  # the race stops, for all
    runs = list[WaveRun]()
    for number, entry in enumerate(entries):
        own = shared | {"delta": entry.run.delta}
        if entry.encoding is None:
            own["learner"] = entry.name
        seat = Seat(number, entry.features)
        runs.append(WaveRun(inputs, executor, entry.run, own, None, waves, seat))
        shared["classes"] = runs[0].job.options["classes"]  # looked up once
    return WaveRace(entries, runs, options, watch)


class WaveRace:
    """One run for each entry, which go from wave to wave together."""

    def __init__(
        self, entries: Sequence[Entry], runs: list[WaveRun], options: dict[str, Any], watch: Watch | None
    ) -> None:
        self.entries, self.runs, self.watch = entries, runs, watch
        self.delta = float(options.get("delta", 0.05))
        self.stop_at: float | None = options.get("stop_at")
        self.inputs, self.executor, self.waves = runs[0].inputs, runs[0].executor, runs[0].waves

    @property
    def alive(self) -> list[WaveRun]:
        """Runs of which one will be deployed."""
        return [one for entry, one in zip(self.entries, self.runs, strict=True) if entry.dropped is None]

    @property
    def wave(self) -> int:
        """Waves done."""
        return self.runs[0].wave

    @property
    def rows(self) -> int:
        """Of all waves done."""
        return self.runs[0].known.rows

    def learn(self, checkpoints: Checkpoints | None = None) -> MergedRace:
        """Wave after wave."""
        if len(self.inputs.chunks) == 1:  # plain passes
            handles = self._learned(np.arange(1))
            found = [one.merged_alone(handles) for one in self.runs]
            self.executor.drop(handles)
            return self._merged(found)
        reached = False
        for chunks in self.runs[0].chunks_of_waves()[self.wave :]:
            if reached:
                break
            reached = self._wave(chunks)
            for one in self.runs:
                one.end()
            if checkpoints is not None and self.wave < self.waves and not reached:
                checkpoints.save(self)
        return self._merged([one.merged_of_candidate(reached) for one in self.runs])

    def _wave(self, chunks: Any) -> bool:
        """One wave of all entries; whether the best of them is good enough."""
        handles = self._learned(chunks)
        for one in self.runs:
            one.enter_wave()
        reached = self._reached()
        for entry, one in zip(self.entries, self.runs, strict=True):
            try:
                one.end_wave(handles, reached)
            except LimitError as error:
                self._leave_out(entry, error)
        self.executor.drop(handles)
        return reached

    def _leave_out(self, entry: Entry, error: LimitError) -> None:
        """Drop an entry whose next candidate has no room, or raise what says so where no other is left."""
        if entry.dropped is None:
            if len(self.alive) == 1:
                raise error
            entry.dropped = Dropped(self.rows, reason=CROWDED)

    def _learned(self, chunks: Any) -> list[Handle]:
        handles = send(self.runs, chunks, 0)
        gather(self.runs, handles, chunks, self._tell)
        return handles

    def _merged(self, found: Sequence[Merged]) -> MergedRace:
        entries = [replace(entry, run=own) for entry, own in zip(self.entries, found, strict=True)]
        return MergedRace(entries, self.delta)

    def _reached(self) -> bool:
        """Whether the waves done certify as much as `stop_at` asks; rows that drift for one drift for all."""
        if self.stop_at is None:
            return False
        certificates = [one.certificate_now() for one in self.alive]
        sound = all(one.withheld is None for one in certificates) and not self.runs[0].known.one_label_only
        return sound and enough(min(certificates, key=rank), self.stop_at)

    def _tell(self) -> None:
        if self.watch is None:
            return
        found = [one.progress(1, 0) for one in self.alive]
        fewest = min(one.mistakes for one in found)
        self.watch(replace(found[0], mistakes=fewest, certificate=partial(_best_so_far, found, len(self.runs))))

    # --- what a checkpoint holds --------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, Any]:
        """What all were made with, in plain values, and what tells them apart."""
        return race_options(self.entries, self.runs[0].options, self.delta, self.stop_at)

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """What the waves done have come to, as `restore` takes it."""
        dropped = [None if entry.dropped is None else entry.dropped.row for entry in self.entries]
        return {"entries": [one.state(copied=copied) for one in self.runs], "dropped": dropped}

    def check_state(self, state: Any) -> None:
        """Raise CheckpointError unless the state is one that a race like this can have."""
        need_fields(state, {"entries", "dropped"}, WHAT)
        for name in ("entries", "dropped"):
            need(isinstance(state[name], list) and len(state[name]) == len(self.runs), WHAT)
        need(all(row is None or is_count(row) for row in state["dropped"]) and None in state["dropped"], WHAT)
        for one, own in zip(self.runs, state["entries"], strict=True):
            one.check_state(own)
        need(all((own["wave"], own["firsts"]) == _place(state["entries"][0]) for own in state["entries"]), WHAT)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken; CheckpointError, and nothing changed, if it can be none of its own."""
        self.check_state(state)
        for one, own in zip(self.runs, state["entries"], strict=True):
            one.restore(own)
        for entry, row in zip(self.entries, state["dropped"], strict=True):
            entry.dropped = None if row is None else Dropped(row, reason=CROWDED)


def race_options(
    entries: Sequence[Entry], first: dict[str, Any], delta: float, stop_at: float | None
) -> dict[str, Any]:
    """The options of a race, in plain values, of which `first` are its first entry's."""
    own: dict[str, Any] = {"delta": delta, "stop_at": stop_at, "race": [entry.name for entry in entries]}
    if entries[0].encoding is None:
        own["learner"] = ", ".join(repr(entry.run.learner) for entry in entries)
    return {**first, **own}


def _place(state: dict[str, Any]) -> tuple[Any, Any]:
    return state["wave"], state["firsts"]


def _best_so_far(found: Sequence[Progress], entries: int) -> Certificate | None:
    """What the best entry certifies of a prefix, said of one that was chosen among several."""
    known = [certificate for one in found if (certificate := one.certificate()) is not None]
    return best_of(min(known, key=rank), entries) if known else None
