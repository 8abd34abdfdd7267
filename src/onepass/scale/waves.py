"""A run over several machines, wave after wave, as `learning` tells: what it was told, and what has come back."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from onepass.certificates import Certificate
from onepass.costs import costs_of
from onepass.guards.drift import joint_drift
from onepass.passes import Pass
from onepass.rows import Floats, must_be_finite
from onepass.scale.beginning import agreed, run_options
from onepass.scale.candidates import MergedCandidates
from onepass.scale.executors import Executor, Handle
from onepass.scale.inputs import Inputs
from onepass.scale.merged import Merged, Outcome
from onepass.scale.progress import Checkpoints, Progress, Watch
from onepass.scale.summaries import Prefix, Summary, together
from onepass.scale.tasks import Job, add
from onepass.scale.versions import versions
from onepass.scale.wave_certificates import Known, WaveCertificates, enough
from onepass.scale.wave_exchange import Seat, SentValues, gather, send
from onepass.scale.wave_states import WHAT
from onepass.scale.wave_sums import Back, WaveSums, weights_of
from onepass.scale.waves_done import WavesDone
from onepass.state_checks import need, need_fields
from onepass.trace import Evidence, WatchedEvidence


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
        self.inputs, self.executor, self.chosen, self.watch, self.seat = inputs, executor, chosen, watch, seat
        self.waves = waves  # in all
        self.certificates = WaveCertificates(chosen, inputs, waves)
        self.known = WavesDone()
        self.candidates: MergedCandidates | None = None  # of `frozen`
        self.sent = SentValues(executor, seat.number)
        self.prefix = Prefix(0, 0)  # of the wave at hand
        self.back = list[Back]()  # its chunks, as far as they have come back
        self.done = self.bytes = 0  # of chunks that have come back
        if inputs.features is not None:
            options = options | {"n_features": inputs.features, "max_features": max(1 << 24, inputs.features)}
        full = {"classes": None, "radius": None} | options
        if chosen.cost is not None:  # it has declared them
            full["classes"] = list(chosen.classes)
        self.job = agreed(Job(executor.name, full, versions(), features=seat.features), inputs, executor)
        whole = Pass(**self.job.options)  # says what is wrong with the options, now that the labels are known
        if chosen.conversion == "frozen" and len(inputs.chunks) > 1:
            classes, bias, memory = len(whole.classes), float(chosen.fit_intercept), chosen.max_watch_memory
            costs = None if chosen.cost is None else costs_of(chosen.cost, self.job.options["classes"])
            hinge = chosen.loss == "hinge"
            self.candidates = MergedCandidates(waves, classes, bias, memory, hinge=hinge, costs=costs)

    @property
    def rows(self) -> int:
        """Of all waves done."""
        return self.known.rows

    @property
    def wave(self) -> int:
        """Waves done."""
        return self.known.number

    def learn(self, checkpoints: Checkpoints | None = None) -> Merged:
        """Wave after wave."""
        if self.chosen.conversion == "frozen" and self.candidates is None:
            return self._alone()
        reached = False
        for chunks in self.chunks_of_waves()[self.wave :]:
            if reached:
                break
            reached = (self._combined if self.candidates is None else self._frozen)(chunks)
            self.end()
            if checkpoints is not None and self.wave < self.waves and not reached:
                checkpoints.save(self)
        return self._sum(reached) if self.candidates is None else self._chosen_candidate(self.candidates, reached)

    def chunks_of_waves(self) -> list[Any]:
        """The numbers of the chunks of each wave."""
        return np.array_split(np.arange(len(self.inputs.chunks)), self.waves)

    def end(self) -> None:
        """A wave is done."""
        self.known.number += 1

    # --- waves whose chunks send vectors ------------------------------------------------------------------------------

    def _combined(self, chunks: Any) -> bool:
        """A wave of whose chunks' vectors the model is a sum; whether it is good enough."""
        known, k = self.known, self.certificates.next_cutoff(self.known)
        handles = send([self], chunks, k)
        gather([self], handles, chunks, partial(self._tell, 1, k, None))
        known.last, k = self._merge_wave(k)
        sums = self._sums(handles)
        if self.chosen.conversion == "longest":
            longest = known.since_drift.longest
            assert longest is not None
            assert longest.part is not None
            vector = sums.longest(longest.part)
            known.vectors = known.vectors if vector is None else [vector]
        else:
            known.vectors.append(sums.vector(k))
            self._tell(2, k, None)
        reached = self._reached()
        if self.wave < self.waves - 1 and not reached:
            known.origin = sums.next_start(known.origin, self.chosen.learner)
        self.executor.drop(handles)
        return reached

    def _sum(self, stopped: bool) -> Merged:
        known = self.known
        evidence, begin = self.certificates.best(known.since_drift, known.settled, known.regimes)
        weights = add(known.vectors[begin:])
        if self.chosen.conversion != "longest":
            weights /= float(max(1, together(known.settled[begin:], 1).rounds))
        must_be_finite(weights)
        return self._merged(evidence, weights, begin + 1, stopped=stopped)

    # --- waves whose rows watch candidates ----------------------------------------------------------------------------

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
        last, known = stops or self.wave == self.waves - 1, self.known
        if last and self.candidates.met:
            return
        known.origin = self._sums(handles).next_start(known.origin, self.chosen.learner)
        if not last:
            self._restart_if_due(self.waves - 1 - self.wave)
        if known.origin is not None and any(one.rounds for one in self.back):
            self.candidates.freeze(self.wave + 1, known.rounds, weights_of(known.origin))

    def _restart_if_due(self, waves: int) -> None:
        """Where rows drift, the certificate starts anew with the next wave, of so many, and learning goes on."""
        assert self.candidates is not None
        if self.chosen.on_drift == "restart" and (found := joint_drift(self.known.since_drift.drift)).alarm:
            self.known.restart(found)
            self.candidates = self.candidates.anew(waves)

    def merged_of_candidate(self, stopped: bool) -> Merged:
        """The candidate whose certificate is best."""
        assert self.candidates is not None
        return self._chosen_candidate(self.candidates, stopped)

    def _chosen_candidate(self, candidates: MergedCandidates, stopped: bool) -> Merged:
        self.sent.drop()
        known = self.known
        evidence = self.certificates.watched(known.since_drift, candidates.evidence(), known.regimes)
        nothing = np.zeros((1 + known.whole.width, evidence.terms.outputs))
        if not candidates.watched:  # no row was learned, and whoever asks for the model is told so
            return self._merged(evidence, nothing, 1)
        best = self.certificates.certify(evidence, known.regimes).choice.value
        model = candidates.named(best or candidates.watched[-1].frozen)
        weights = add([model.weights, nothing])  # features that came later have no weight
        return self._merged(evidence, weights, model.wave + 1, stopped=stopped)

    # --- one chunk ----------------------------------------------------------------------------------------------------

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
        alone, known = self._sums(handles).alone(), self.known
        must_be_finite(alone.weights)
        known.regimes.ended = alone.regimes
        evidence = self.certificates.watched(known.since_drift, alone.watched, known.regimes)
        self._tell(2, 0, alone.watched)
        return self._merged(replace(evidence, drift=alone.drift), alone.weights, 1, stopped=alone.stopped)

    def _merged(self, evidence: Evidence, weights: Floats, begin: int, *, stopped: bool = False) -> Merged:
        known, told = self.known, (self.executor.again(), self.executor.lost())
        outcome = Outcome(len(self.inputs.chunks), self.waves, begin, tuple(known.cutoffs), *told, stopped)
        return Merged(evidence, weights, self.chosen, self.job, known.whole, outcome, known.regimes)

    # --- what a checkpoint holds --------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, Any]:
        """What the run was made with, in plain values: two runs with the same options can share a state."""
        return run_options(self.chosen, self.inputs, self.waves)

    def state(self, *, copied: bool = True) -> dict[str, Any]:
        """What the waves done have come to, as `restore` takes it; not copied, it shares arrays with the run."""
        state = {**self.known.state(), "candidates": None if self.candidates is None else self.candidates.state()}
        return copy.deepcopy(state) if copied else state

    def check_state(self, state: Any) -> None:
        """Raise CheckpointError unless the state is one that a run like this can have."""
        copy.copy(self).restore(state)

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from where `state` was taken; CheckpointError, and nothing changed, if it is no state of such a run."""
        need_fields(state, self.state(copied=False), WHAT)
        ends = np.cumsum([len(chunks) for chunks in self.chunks_of_waves()]).tolist()
        classes = len(self.job.options["classes"])
        known = WavesDone.from_state(state, ends, self.chosen.learner, classes, self.inputs.table)
        need((state["candidates"] is None) == (self.candidates is None), WHAT)
        candidates = copy.copy(self.candidates)
        if candidates is not None:
            candidates.restore(state["candidates"], self.waves)
        self.known, self.candidates, self.done = known, candidates, ends[known.number - 1]
        self.bytes = sum(getattr(chunk, "bytes", 0) for chunk in self.inputs.chunks[: self.done])

    # --- a wave -------------------------------------------------------------------------------------------------------

    def rule(self, k: int | None) -> str | int:
        """What a chunk is to leave on its worker."""
        if self.chosen.conversion == "frozen":
            return "model" if self.candidates is None else "nothing"
        whole = {"longest": "longest", "average": "sum"}.get(self.chosen.conversion)
        return whole or ("log" if k is None else k)

    def send(self) -> tuple[Handle | None, list[Handle]]:
        """Where the wave starts, and the candidates that its rows are to watch, where workers can have them."""
        watched = [] if self.candidates is None else self.candidates.watched
        return self.sent.origin(self.known.origin, self.wave), self.sent.candidates(watched)

    def expect(self, chunks: Any) -> None:
        """A wave of these chunks is on its way."""
        before = self.known.before
        self.prefix = Prefix(int(chunks[0]), len(chunks), None if before is None else before.labels)
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
        whole = self.certificates.noted(self.prefix.whole())
        if k is None:
            k = self.certificates.best_cutoff(whole, self.known.regimes) or 0
        self.known.enter(whole, k, [one.rows for one in self.back])
        return whole, k

    def _sums(self, handles: list[Handle]) -> WaveSums:
        return WaveSums(self.executor, self.inputs, self.seat.number, self.wave, handles, self.back)

    # --- what is told -------------------------------------------------------------------------------------------------

    def _reached(self) -> bool:
        """Whether the waves done certify as much as `stop_at` asks; with one label alone nothing is."""
        asked = self.chosen.stop_at
        return asked is not None and enough(self.certificate_now(), asked) and not self.known.one_label_only

    def certificate_now(self) -> Certificate:
        """Of the waves done."""
        return self.certificates.of_done(self.known, None if self.candidates is None else self.candidates.evidence())

    def _tell(self, step: int, k: int | None, watched: WatchedEvidence | None) -> None:
        """Tell of what is known now."""
        if self.watch is not None:
            self.watch(self.progress(step, k, watched))

    def progress(self, step: int, k: int | None, watched: WatchedEvidence | None = None) -> Progress:
        """What is known now: whoever asks for the certificate later gets that of now."""
        prefix = self.prefix.summary() if step == 1 else None
        if self.candidates is not None:
            watched = self.candidates.evidence(None if prefix is None else prefix.watched)
        done = self.known
        known = Known(done.before, list(done.settled), watched, copy.copy(done.regimes))
        parts = [part for part in ((done.before if step == 1 else None), prefix) if part is not None]
        parts = parts or [part for part in (done.before,) if part is not None]
        parts += [] if done.past is None else [done.past]
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
            certificate=partial(self.certificates.so_far, known, prefix, k),
        )
