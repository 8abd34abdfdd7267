"""The two steps and the waves.

Step 1: every chunk is learned by itself; its summary travels, its log stays on the worker. The summaries are merged and
the cutoff k is chosen. Step 2: every chunk gives one vector Σ_j (n_j − k)₊·w_j; they are added in a fixed tree and
divided once.

With several waves each wave starts from the average of the last one's final hypotheses, and a falling learning rate
goes on where they had come to. (Starting from what the last wave would deploy, itself an average over its rounds, or
with the rate begun anew, loses much of what was learned.) A wave's k is chosen from the wave before it, which is
predictable and costs nothing; only the first wave's own choice is priced. Later waves need no second step and keep no
log. Early waves know less than the last: so the cutoff counts from the wave on that gives the best certificate, each of
the w waves at δ/w.

Of `frozen` no chunk sends a vector: a candidate is made of where waves start, and the rows of later waves watch it (see
`candidates`). One chunk is a plain pass.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from onepass.certificates import Certificate, certify
from onepass.costs import costs_of
from onepass.errors import ConversionError, DataError
from onepass.files import sha256
from onepass.guards.drift import drift_reason, joint_drift
from onepass.labels import MORE, MOST
from onepass.learners import named
from onepass.passes import Pass
from onepass.race import entries_named
from onepass.regimes import Regimes
from onepass.rows import Floats, must_be_finite
from onepass.runs.carrying import Carried
from onepass.runs.carrying import merged as merged_start
from onepass.scale.candidates import MergedCandidates
from onepass.scale.executors import DaskExecutor, Executor, Handle, LocalExecutor, sum_in_tree
from onepass.scale.inputs import Inputs
from onepass.scale.merged import Merged, Outcome
from onepass.scale.summaries import Prefix, Summary, count, evidence_of, merge, together
from onepass.scale.tasks import (
    Job,
    Part,
    WaveStart,
    add,
    alone_of,
    left_by,
    refuse,
    run,
    start,
    summaries_of,
    vector_of,
)
from onepass.scale.versions import versions
from onepass.scale.wave_states import (
    WHAT,
    need_vector,
    plain_settled,
    plain_start,
    plain_summary,
    plain_terms,
    regimes_from,
    settled_from,
    start_from,
    summary_from,
    terms_from,
)
from onepass.state_checks import is_count, need, need_fields
from onepass.tables.plan import ENCODINGS
from onepass.trace import Evidence, SettledCutoff, WatchedEvidence

if TYPE_CHECKING:
    from onepass.scale.racing import MergedRace, WaveRace


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes
    ----------
    done : int
        Chunks learned, of `chunks`.
    chunks : int
        All of them.
    wave : int
        From 1.
    step : int
        1: learning; 2: vectors of the first wave.
    bytes : int
        Of the chunks done.
    rows : int
        Of the longest complete prefix, of which the certificate speaks.
    mistakes : int
        In it.
    again : int
        Chunks begun once more.
    lost : int
        Workers lost.
    certificate : callable
        Gives the certificate of that prefix, or None.

    Examples
    --------
    >>> from onepass.scale import cut, learn
    >>> X = np.random.default_rng(0).normal(size=(4000, 5))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> told = []
    >>> chunks = cut([(X[at : at + 1000], y[at : at + 1000]) for at in range(0, 4000, 1000)])
    >>> merged = learn(chunks, waves=2, watch=told.append)
    >>> told[-1].done, told[-1].chunks, told[-1].wave, told[-1].rows
    (4, 4, 2, 4000)
    """

    done: int  # chunks learned, of `chunks`
    chunks: int
    wave: int  # from 1
    step: int  # 1: learning; 2: vectors of the first wave
    bytes: int  # of the chunks done
    rows: int  # of the longest complete prefix, of which the certificate speaks
    mistakes: int
    again: int  # chunks begun once more
    lost: int  # workers lost
    certificate: Callable[[], Certificate | None]  # of that prefix


class Back(NamedTuple):
    """What is kept here of a chunk that has come back."""

    chunk: int
    digest: str
    rows: int
    rounds: int


class Known(NamedTuple):
    """What the certificate of a prefix needs beside it."""

    before: Summary | None  # of the waves done, since a drift
    settled: list[SettledCutoff]  # of them, at their cutoffs
    watched: WatchedEvidence | None  # of frozen models, the prefix included
    regimes: Regimes


class Seat(NamedTuple):
    """Where an entry of a race sits: its number, and how many of the rows' features it sees; None: all."""

    number: int = 0
    features: int | None = None


class Checkpoints(Protocol):
    """Keeps what a run has come to."""

    def restore(self, run: WaveRun | WaveRace) -> None:
        """Bring a new run to where it was saved, if it was."""
        ...

    def save(self, run: WaveRun | WaveRace) -> None:
        """A wave is done, and another will begin."""
        ...


Watch = Callable[[Progress], None]
MOST_WAVES, FEWEST_WAVES, PER_WAVE = 32, 8, 4  # waves, and the chunks that a wave should have; small data has one each


def learn(
    inputs: Inputs,
    client: Any = None,
    *,
    waves: int | None = None,
    watch: Watch | None = None,
    patience: float = 60.0,
    checkpoints: Checkpoints | None = None,
    race: str | Sequence[str] | None = None,
    **options: Any,
) -> Merged | MergedRace:
    r"""Learn from the chunks on the workers of a Dask client; without one, here, chunk after chunk, to the same bits.

    `stop_at` and, with on_drift="restart", the drift alarm are looked at when a wave ends.

    Parameters
    ----------
    inputs : Inputs
        The chunks, from `cut`.
    client : distributed.Client or None, default None
        Whose workers learn. None: this process.
    waves : int or None, default None
        How many times the chunks' models are merged on the way. None: 32, fewer where a wave would have fewer than four
        chunks, but at least eight as long as there are chunks.
    watch : callable or None, default None
        Is told, by a Progress, of every chunk that is done.
    patience : float, default 60.0
        A cluster that has had no worker for so many seconds is given up.
    checkpoints : Checkpoints or None, default None
        Are asked where to go on from, and to save the run after each wave.
    race : str, list of str or None, default None
        Entries that learn from the same chunks, each read once, of which the best certified is deployed: learners, or
        encodings of a table that `cut` has found, as a list or with commas between. None or "off": none.
    \*\*options
        Those of `onepass.Pass`.

    Returns
    -------
    Merged or MergedRace
        It has `model()`, `certificate()` and `trace()` as a pass does; of a race they are the leader's.

    Raises
    ------
    ScaleError
        If the run cannot be finished; the message names the chunk.
    ConversionError
        If several machines cannot give this conversion, or not with this learner.
    ValueError, TypeError
        If an option cannot be so.

    Examples
    --------
    >>> from onepass.scale import cut, learn
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 5))
    >>> y = np.where(X[:, 0] > 0, "up", "down")
    >>> chunks = cut([(X[at : at + 1000], y[at : at + 1000]) for at in range(0, 4000, 1000)])
    >>> merged = learn(chunks, waves=2)
    >>> merged.rounds, merged.model().predict([[3.0, 0, 0, 0, 0], [-3.0, 0, 0, 0, 0]]).tolist()
    (4000, ['up', 'down'])
    """
    from onepass.scale.racing import begin

    chosen = Pass(**options)  # says at once what is wrong with the options
    refuse(chosen.conversion, chosen.cutoffs, options)
    names = () if race is None else entries_named(race)
    for learner in map(named, {*names} - {*ENCODINGS} or [options.get("learner")]):
        if not learner.keeps_rows:
            raise ConversionError(f"{type(learner).__name__}: its traces cannot be merged; run it in one pass")
    waves = waves_of(inputs) if waves is None else waves
    if isinstance(waves, bool) or not isinstance(waves, (int, np.integer)) or waves < 1:
        raise ValueError(f"waves: a positive whole number expected, got {waves!r}")
    if waves > len(inputs.chunks):
        raise ValueError(f"waves: {waves} waves of {len(inputs.chunks)} chunks; make waves fewer or chunks smaller")
    with DaskExecutor(client, patience) if client is not None else nullcontext(LocalExecutor()) as executor:
        run: WaveRun | WaveRace
        if names:
            run = begin(names, inputs, executor, options, watch, int(waves))
        else:
            run = WaveRun(inputs, executor, chosen, options, watch, int(waves))
        if checkpoints is not None:
            checkpoints.restore(run)
        return run.learn(checkpoints)


class WaveRun:
    """One run: what it has been told, and what has come back so far."""

    def __init__(
        self,
        inputs: Inputs,
        executor: Executor,
        chosen: Pass,
        options: dict[str, Any],
        watch: Watch | None,
        waves: int,
        seat: Seat = Seat(),  # noqa: B008 - a value
    ) -> None:
        self.seat = seat
        self.inputs, self.executor, self.chosen, self.watch = inputs, executor, chosen, watch
        self.waves, self.wave = waves, 0  # in all, and those done
        self.origin: WaveStart | None = None  # of the next
        self.last: Summary | None = None  # of the wave before it
        self.vectors: list[Floats] = []  # of each wave
        self.names = [str(chunk) for chunk in inputs.chunks]
        self.settled: list[SettledCutoff] = []  # of the waves done, at their cutoffs
        self.cutoffs: list[int] = []
        self.before: Summary | None = None  # of the waves done, since a drift
        self.past: Summary | None = None  # of those before it
        self.regimes = Regimes()
        self.firsts: list[int] = []  # the number of each chunk's first row, and of the one after the last
        self.candidates: MergedCandidates | None = None  # of `frozen`
        self.held: dict[int, Handle] = {}  # wave → its candidate, where workers can have it
        self.prefix = Prefix(0, 0)  # of the wave at hand
        self.back = list[Back]()  # its chunks, as far as they have come back
        self.done = self.bytes = 0
        if inputs.features is not None:
            options = options | {"n_features": inputs.features, "max_features": max(1 << 24, inputs.features)}
        full = {"classes": None, "radius": None} | options
        if chosen.cost is not None:  # it has declared them
            full["classes"] = list(chosen.classes)
        self.job = self._started(Job(executor.name, full, versions(), features=seat.features))
        whole = Pass(**self.job.options)  # says what is wrong with the options, now that the labels are known
        if chosen.conversion == "frozen" and len(inputs.chunks) > 1:
            classes, bias, memory = len(whole.classes), float(chosen.fit_intercept), chosen.max_watch_memory
            costs = None if chosen.cost is None else costs_of(chosen.cost, self.job.options["classes"])
            hinge = chosen.loss == "hinge"
            self.candidates = MergedCandidates(waves, classes, bias, memory, hinge=hinge, costs=costs)

    def learn(self, checkpoints: Checkpoints | None = None) -> Merged:
        """Wave after wave."""
        if self.chosen.conversion == "frozen" and self.candidates is None:
            return self._alone()
        reached = False
        parts = np.array_split(np.arange(len(self.inputs.chunks)), self.waves)
        while self.wave < self.waves and not reached:
            reached = (self._combined if self.candidates is None else self._frozen)(parts[self.wave])
            self.wave += 1
            if checkpoints is not None and self.wave < self.waves and not reached:
                checkpoints.save(self)
        return self._sum(reached) if self.candidates is None else self._chosen_candidate(self.candidates, reached)

    def _combined(self, chunks: Any) -> bool:
        """A wave whose chunks send vectors, of which the model is a sum; whether it is good enough."""
        k = self._next_cutoff(self.last)
        handles = send([self], chunks, k)
        gather([self], handles, chunks, partial(self._tell, 1, k, None))
        self.last, k = self._merge_wave(k)
        if self.chosen.conversion == "longest":
            self.vectors = self._longest(handles, self.vectors)
        else:
            self.vectors.append(self._vector(handles, k))
        reached = self._reached()
        if self.wave < self.waves - 1 and not reached:
            self.origin = self._origin(handles)
        self.executor.drop(handles)
        return reached

    def _sum(self, stopped: bool) -> Merged:
        assert self.before is not None
        evidence, begin = self._best(self.before, self.settled)
        weights = add(self.vectors[begin:])
        if self.chosen.conversion != "longest":
            weights /= float(max(1, together(self.settled[begin:], 1).rounds))
        must_be_finite(weights)
        return self._merged(evidence, weights, begin + 1, stopped=stopped)

    def _frozen(self, chunks: Any) -> bool:
        """A wave whose rows watch the candidates, of which one will be the model; whether one is good enough."""
        handles = send([self], chunks, 0)
        gather([self], handles, chunks, partial(self._tell, 1, 0, None))
        self.enter_wave()
        reached = self._reached()
        self.end_wave(handles, reached)
        self.executor.drop(handles)
        return reached

    def enter_wave(self) -> None:
        """All rows of the wave have watched the candidates."""
        assert self.candidates is not None
        summary, _ = self._merge_wave(0)
        self.candidates.enter(summary.watched)

    def end_wave(self, handles: list[Handle], stops: bool) -> None:
        """Find where the next wave starts, and freeze a candidate; nothing of it where this is the last."""
        assert self.candidates is not None
        last = stops or self.wave == self.waves - 1
        if last and self.candidates.met:
            return
        self.origin = self._origin(handles)
        if not last:
            self._restart_if_due(self.waves - 1 - self.wave)
        if self.origin is not None and any(one.rounds for one in self.back):
            self.candidates.freeze(self.wave + 1, self.rounds, weights_of(self.origin))

    def merged_of_candidate(self, stopped: bool) -> Merged:
        """The candidate whose certificate is best."""
        assert self.candidates is not None
        return self._chosen_candidate(self.candidates, stopped)

    def _chosen_candidate(self, candidates: MergedCandidates, stopped: bool) -> Merged:
        assert self.before is not None
        self.executor.drop(list(self.held.values()))
        evidence = self._watched_evidence(self.before, candidates.evidence(), self.regimes)
        nothing = np.zeros((1 + joined(self.past, self.before).width, evidence.terms.outputs))
        if not candidates.watched:  # no row was learned, and whoever asks for the model is told so
            return self._merged(evidence, nothing, 1)
        model = candidates.named(self._certify(evidence).choice.value or candidates.watched[-1].frozen)
        weights = add([model.weights, nothing])  # features that came later have no weight
        return self._merged(evidence, weights, model.wave + 1, stopped=stopped)

    def _restart_if_due(self, waves: int) -> None:
        """Where rows drift, the certificate starts anew with the next wave, of so many, and learning goes on."""
        assert self.before is not None
        assert self.candidates is not None
        if self.chosen.on_drift != "restart" or not (found := joint_drift(self.before.drift)).alarm:
            return
        since = self.firsts[found.since] - self.regimes.first + 1
        mistakes = int(self.before.tally.mistakes.sum())
        self.regimes.restart(self.rows, self.before.rounds, mistakes, found._replace(since=since), None)
        self.past, self.before = joined(self.past, self.before), None
        self.candidates = self.candidates.anew(waves)

    @property
    def rows(self) -> int:
        """Of all waves done."""
        return self.firsts[-1] - 1 if self.firsts else 0

    @property
    def rounds(self) -> int:
        """Of all waves done."""
        return sum(part.rounds for part in (self.past, self.before) if part is not None)

    def _alone(self) -> Merged:
        """One chunk is a plain pass."""
        handles = send([self], np.arange(1), 0)
        gather([self], handles, np.arange(1), partial(self._tell, 1, 0, None))
        merged = self.merged_alone(handles)
        self.executor.drop(handles)
        return merged

    def merged_alone(self, handles: list[Handle]) -> Merged:
        """What the only chunk has come to."""
        self._merge_wave(0)
        sent = self.executor.each(self._key("alone"), alone_of, self._parts(handles))
        ((_, alone),) = self.executor.fetch(sent, self.names)
        self.executor.drop(sent)
        assert self.before is not None
        must_be_finite(alone.weights)
        self.regimes.ended = alone.regimes
        evidence = replace(self._watched_evidence(self.before, alone.watched, self.regimes), drift=alone.drift)
        self._tell(2, 0, alone.watched)
        return self._merged(evidence, alone.weights, 1, stopped=alone.stopped)

    def _merged(self, evidence: Evidence, weights: Floats, begin: int, *, stopped: bool = False) -> Merged:
        assert self.before is not None
        told = self.executor.again(), self.executor.lost()
        outcome = Outcome(len(self.inputs.chunks), self.waves, begin, tuple(self.cutoffs), *told, stopped)
        return Merged(evidence, weights, self.chosen, self.job, joined(self.past, self.before), outcome, self.regimes)

    # --- what a checkpoint holds --------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, Any]:
        """What the run was made with, in plain values: two runs with the same options can share a state."""
        return run_options(self.chosen, self.inputs, self.waves)

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """What the waves done have come to, as `restore` takes it; not copied, it shares arrays with the run."""
        known = self.before or self.past
        state = {
            "wave": self.wave,
            "terms": None if known is None else plain_terms(known.terms),
            **{name: plain_summary(getattr(self, name)) for name in ("before", "past", "last")},
            "origin": plain_start(self.origin),
            "vectors": tuple(self.vectors),
            "settled": plain_settled(self.settled),
            "cutoffs": tuple(self.cutoffs),
            "firsts": tuple(self.firsts),
            "regimes": tuple(tuple(one) for one in self.regimes.ended),
            "candidates": None if self.candidates is None else self.candidates.state(),
        }
        return copy.deepcopy(state) if copied else state

    def check_state(self, state: Any) -> None:
        """Raise CheckpointError unless the state is one that a run like this can have."""
        copy.copy(self).restore(state)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken; CheckpointError, and nothing changed, if it is no state of such a run."""
        need_fields(state, self.state(copied=False), WHAT)
        need(is_count(state["wave"]) and 0 < state["wave"] < self.waves, WHAT)
        parts = np.array_split(np.arange(len(self.inputs.chunks)), self.waves)
        done = sum(map(len, parts[: state["wave"]]))
        firsts, outputs = state["firsts"], 1 if (classes := len(self.job.options["classes"])) == 2 else classes
        need(isinstance(firsts, tuple) and len(firsts) == done + 1 and all(map(is_count, firsts)), WHAT)
        need(firsts[0] == 1 and bool((np.diff(firsts) >= 0).all()), WHAT)
        terms = terms_from(state["terms"], self.chosen.learner, classes)
        before, past, last = (
            summary_from(state[name], terms, self.inputs.table) for name in ("before", "past", "last")
        )
        need(before is not None or past is not None, WHAT)
        need(sum(part.rows for part in (before, past) if part is not None) == firsts[-1] - 1, WHAT)
        origin, settled = (
            start_from(state["origin"], outputs, self.chosen.learner.deltas),
            settled_from(state["settled"]),
        )
        need(isinstance(state["vectors"], tuple) and isinstance(state["cutoffs"], tuple), WHAT)
        need(len(settled) == len(state["cutoffs"]) == state["wave"] and all(map(is_count, state["cutoffs"])), WHAT)
        for vector in state["vectors"]:
            need_vector(vector, outputs)
        ended = regimes_from(state["regimes"], firsts[-1] - 1)
        need((state["candidates"] is None) == (self.candidates is None), WHAT)
        candidates = copy.copy(self.candidates)
        if candidates is not None:
            candidates.restore(state["candidates"], self.waves)
        self.wave, self.done, self.firsts = state["wave"], done, list(firsts)
        self.bytes = sum(getattr(chunk, "bytes", 0) for chunk in self.inputs.chunks[:done])
        self.before, self.past, self.last, self.origin, self.settled = before, past, last, origin, settled
        self.vectors, self.cutoffs, self.candidates = list(state["vectors"]), list(state["cutoffs"]), candidates
        self.regimes = Regimes()
        self.regimes.ended = ended

    # --- before the first row -----------------------------------------------------------------------------------------

    def _started(self, job: Job) -> Job:
        """The job with what every chunk must know beforehand: the classes, and what radius="auto" comes to."""
        need_radius = job.options["radius"] == "auto"
        met: dict[Any, None] = {}
        for chunk, data in zip(self.inputs.chunks, self.inputs.data, strict=True):
            need_labels = job.options["classes"] is None and len(met) < 2
            if not (need_labels or (need_radius and chunk.number == 0)):
                break
            handles = self.executor.each(f"start-{chunk.number}", start, [(job, chunk, data, need_labels)])
            ((_, found),) = self.executor.fetch(handles, [str(chunk)])
            self.executor.drop(handles)
            met |= dict.fromkeys(found.labels)
            job = job if found.radius is None else job._replace(radius=found.radius)
        if job.options["classes"] is None:
            if not met:
                raise DataError("no examples", source=getattr(self.inputs.chunks[0], "path", None))
            if len(met) < 2:
                raise DataError(f"y: all labels are {next(iter(met))!r}; at least two classes are needed")
            if len(met) > (most := job.options.get("max_classes", MOST)):
                raise DataError(f"y: {len(met)} labels in the first rows, and at most {most} may be met", remedy=MORE)
            job = job._replace(options=job.options | {"classes": sorted(met)})
        return job

    # --- a wave -------------------------------------------------------------------------------------------------------

    def _next_cutoff(self, summary: Summary | None) -> int | None:
        """The cutoff of the next wave, from the one before it; None: to be chosen from the wave itself."""
        if self.chosen.conversion != "cutoff":
            return 0
        return None if summary is None else self._certify(evidence_of(summary)).choice.value

    def hold_origin(self) -> Handle | None:
        """Where the wave starts, where workers can have it."""
        return None if self.origin is None else self.executor.hold(self._key("origin"), self.origin)

    def _key(self, what: str) -> str:
        """A name that no other task of the run has."""
        return f"{what}-{self.seat.number}-{self.wave}"

    def _parts(self, handles: list[Handle]) -> list[tuple[Handle, Part]]:
        """Of each chunk of the wave, what is this entry's."""
        pairs = zip(handles, self.back, strict=True)
        return [(handle, Part(self.seat.number, self.inputs.chunks[one.chunk], one.digest)) for handle, one in pairs]

    def rule(self, k: int | None) -> str | int:
        """What a chunk is to leave on its worker."""
        if self.chosen.conversion == "frozen":
            return "model" if self.candidates is None else "nothing"
        whole = {"longest": "longest", "average": "sum"}.get(self.chosen.conversion)
        return whole or ("log" if k is None else k)

    def hold_candidates(self) -> list[Handle]:
        """The candidates that rows are to watch, each sent once."""
        watched = [] if self.candidates is None else self.candidates.watched
        known = self.held
        self.held = {
            one.wave: known.get(one.wave) or self.executor.hold(f"candidate-{self.seat.number}-{one.wave}", one)
            for one in watched
        }
        self.executor.drop([handle for wave, handle in known.items() if wave not in self.held])
        return list(self.held.values())

    def expect(self, chunks: Any) -> None:
        """A wave of these chunks is on its way."""
        self.prefix = Prefix(int(chunks[0]), len(chunks), None if self.before is None else self.before.labels)
        self.back = [Back(int(number), "", 0, 0) for number in chunks]

    def arrived(self, place: int, summary: Summary) -> None:
        """A chunk of the wave has come back."""
        self.prefix.add(summary)
        number = self.back[place].chunk
        self.back[place] = Back(number, summary.digest, summary.rows, summary.rounds)
        self.done += 1
        self.bytes += getattr(self.inputs.chunks[number], "bytes", 0)

    def _merge_wave(self, k: int | None) -> tuple[Summary, int]:
        """All chunks of the wave have come back: (their summary, its cutoff)."""
        self.firsts = np.cumsum([*np.diff(self.firsts or [1], prepend=0), *(one.rows for one in self.back)]).tolist()
        whole = self._noted(self.prefix.whole())
        if k is None:
            k = self._certify(evidence_of(whole)).choice.value or 0
        self.settled.append(count(whole, k, self.wave == 0))
        self.cutoffs.append(k)
        self.before = joined(self.before, whole)
        return whole, k

    def _vector(self, handles: list[Handle], k: int) -> Floats:
        """The wave's Σ (n_j − k)₊·w_j."""
        kind, lines = self._key("vector"), [(*pair, k) for pair in self._parts(handles)]
        total = self._added(kind, self.executor.each(kind, vector_of, lines), self.back)
        self._tell(2, k, None)
        return total

    def _origin(self, handles: list[Handle]) -> WaveStart | None:
        """Where the next wave starts, from what this one's chunks (those that had rows) have left."""
        before, kind = self.origin, self._key("left")
        back = [one for one in self.back if one.rounds]
        if not back:
            return before
        lines = [line for line, one in zip(self._parts(handles), self.back, strict=True) if one.rounds]
        total = self._added(kind, self.executor.each(kind, left_by, lines), back)
        elapsed = sum(one.rounds for one in back) // len(back) + (0 if before is None else before.elapsed)
        origin = None if before is None else before.origin
        if self.chosen.learner.deltas:
            assert origin is None or isinstance(origin, Carried)
            return WaveStart(merged_start(origin, total), elapsed)
        assert not isinstance(origin, Carried)
        mean = total / float(len(back))
        if not self.chosen.learner.tracks_norm:
            mean = _grown(mean, origin, math.sqrt(len(back)))
        return WaveStart(mean, elapsed)

    def _added(self, kind: str, leaves: list[Handle], back: list[Back]) -> Floats:
        """Vectors added in a fixed tree on the workers; only the sum travels here."""
        first, last = self.names[back[0].chunk], self.names[back[-1].chunk]
        name = first if first == last else f"{first} to {last}"
        return np.asarray(sum_in_tree(self.executor, f"{kind}-sum", add, leaves, name))

    def _longest(self, handles: list[Handle], before: list[Floats]) -> list[Floats]:
        """The longest survivor so far; only the chunk that has it sends its vector."""
        assert self.before is not None
        assert self.before.longest is not None
        longest = self.before.longest.part
        here = [(*pair, None) for pair in self._parts(handles) if pair[1].chunk.number == longest]
        if not here:
            return before
        sent = self.executor.each(f"longest-{longest}", vector_of, here)
        ((_, vector),) = self.executor.fetch(sent, [str(here[0][1].chunk)])
        self.executor.drop(sent)
        return [np.asarray(vector)]

    # --- certificates -------------------------------------------------------------------------------------------------

    def _noted(self, summary: Summary) -> Summary:
        """With what is known of the files, and of lines left out."""
        void = tuple(dict.fromkeys((*summary.void, *self.inputs.void)))
        assumed = summary.assumed
        if summary.skipped:
            assumed = (*assumed, "bad lines were left out, which is no fault of their labels")
        return summary._replace(void=void, assumed=tuple(dict.fromkeys(assumed)))

    def _best(self, summary: Summary, settled: list[SettledCutoff]) -> tuple[Evidence, int]:
        """The evidence of all rounds, and the wave from which a cutoff counts: that with the smallest bound."""
        evidence = evidence_of(summary)
        if len(self.inputs.chunks) > 1:
            evidence = replace(evidence, pocket=summary.longest)
        if self.chosen.conversion != "cutoff":
            return evidence, 0
        starts = [replace(evidence, settled=together(settled[wave:], self.waves)) for wave in range(len(settled))]
        risks = [self._certify(replace(one, void=())).risk for one in starts]
        best = int(np.argmin(risks))
        return starts[best], best

    def _watched_evidence(self, summary: Summary, watched: WatchedEvidence, regimes: Regimes) -> Evidence:
        """The evidence of all rounds, with what is known of frozen models and was declared of them."""
        told = self.chosen
        target = None if told.target is None else (told.target.kind, told.target.limit)
        terms = summary.terms._replace(cost=told.cost, target=target)
        found = joint_drift(summary.drift)
        assumed = tuple(dict.fromkeys((*summary.assumed, *regimes.words)))
        evidence = replace(evidence_of(summary), terms=terms, watched=watched, drift=found, assumed=assumed)
        reason = None if told.on_drift == "ignore" else drift_reason(found)
        return evidence if reason is None else replace(evidence, void=(*evidence.void, reason))

    def _reached(self) -> bool:
        """Whether the waves done certify as much as `stop_at` asks; with one label alone nothing is."""
        asked = self.chosen.stop_at
        return asked is not None and enough(self.certificate_now(), asked) and not self.one_label_only

    def certificate_now(self) -> Certificate:
        """Of the waves done."""
        assert self.before is not None
        if self.candidates is None:
            return self._certify(self._best(self.before, self.settled)[0])
        return self._certify(self._watched_evidence(self.before, self.candidates.evidence(), self.regimes))

    @property
    def one_label_only(self) -> bool:
        """Whether all rows so far had the same label."""
        return self.before is not None and np.count_nonzero(self.before.labels.seen) == 1

    def _certify(self, evidence: Evidence, regimes: Regimes | None = None) -> Certificate:
        told, delta = self.chosen, self.chosen.delta
        if told.on_drift == "restart":
            delta *= (regimes or self.regimes).share
        return certify(evidence, told.conversion, delta=delta, bound=told.bound, loss=told.loss)

    def _so_far(self, known: Known, prefix: Summary | None, k: int | None) -> Certificate | None:
        """The certificate of all rounds up to the prefix's end."""
        before, settled, watched, regimes = known
        if prefix is None and before is None:
            return None
        if self.chosen.conversion == "frozen":
            summary = before if prefix is None else joined(before, self._noted(prefix))
            assert summary is not None
            if watched is None:
                return None
            return self._certify(self._watched_evidence(summary, watched, regimes), regimes)
        if prefix is None:
            assert before is not None
            return self._certify(self._best(before, settled)[0])
        prefix = self._noted(prefix)
        if before is None:
            k = self._certify(evidence_of(prefix)).choice.value or 0
        assert k is not None
        settled = [*settled, count(prefix, k, before is None)]
        return self._certify(self._best(joined(before, prefix), settled)[0])

    def _tell(self, step: int, k: int | None, watched: WatchedEvidence | None) -> None:
        """Tell of what is known now."""
        if self.watch is not None:
            self.watch(self.progress(step, k, watched))

    def progress(self, step: int, k: int | None, watched: WatchedEvidence | None = None) -> Progress:
        """What is known now: whoever asks for the certificate later gets that of now."""
        prefix = self.prefix.summary() if step == 1 else None
        if self.candidates is not None:
            watched = self.candidates.evidence(None if prefix is None else prefix.watched)
        known = Known(self.before, list(self.settled), watched, copy.copy(self.regimes))
        parts = [part for part in ((self.before if step == 1 else None), prefix) if part is not None]
        parts = parts or [part for part in (self.before,) if part is not None]
        parts += [] if self.past is None else [self.past]
        return Progress(
            done=self.done,
            chunks=len(self.inputs.chunks),
            wave=self.wave + 1,
            step=step,
            bytes=self.bytes,
            rows=sum(part.rows for part in parts),
            mistakes=sum(int(part.tally.mistakes.sum()) for part in parts),
            again=self.executor.again(),
            lost=self.executor.lost(),
            certificate=partial(self._so_far, known, prefix, k),
        )


def send(runs: Sequence[WaveRun], chunks: Any, k: int | None) -> list[Handle]:
    """One task for each chunk of a wave, which is read once and learned from by all runs."""
    first = runs[0]
    inputs, jobs = first.inputs, [one.job for one in runs]
    begin, held = [one.hold_origin() for one in runs], [one.hold_candidates() for one in runs]
    lines = [(jobs, inputs.chunks[p], inputs.data[p], begin, first.rule(k), held) for p in chunks]
    return first.executor.each(f"run-{first.wave}", run, lines)


def gather(runs: Sequence[WaveRun], handles: list[Handle], chunks: Any, tell: Callable[[], None]) -> None:
    """Hand every run its summary of each chunk as it comes."""
    first = runs[0]
    small = first.executor.each(f"summary-{first.wave}", summaries_of, [(handle,) for handle in handles])
    for one in runs:
        one.expect(chunks)
    for place, summaries in first.executor.fetch(small, [first.names[p] for p in chunks]):
        for one, summary in zip(runs, summaries, strict=True):
            one.arrived(place, summary)
        tell()
    first.executor.drop(small)


def enough(certificate: Certificate, stop_at: float) -> bool:
    """Whether a certificate has reached what was asked for."""
    return certificate.withheld is None and certificate.risk <= stop_at


def waves_of(inputs: Inputs) -> int:
    """How many waves these chunks make, where nobody says."""
    chunks = len(inputs.chunks)
    return min(chunks, max(FEWEST_WAVES, min(MOST_WAVES, chunks // PER_WAVE)))


def run_options(chosen: Pass, inputs: Inputs, waves: int) -> dict[str, Any]:
    """What a run over these chunks, in so many waves, is made with, in plain values."""
    cuts = sha256(*(str(getattr(chunk, "span", None)).encode() for chunk in inputs.chunks))[:8]
    return {**chosen.options, "waves": waves, "chunks": f"{len(inputs.chunks)} (cut as {cuts})"}


def joined(before: Summary | None, following: Summary) -> Summary:
    """The summary of the waves done and of this one, or a part of it, without what it showed of candidates."""
    return following._replace(watched=None) if before is None else merge(before, following)


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
