"""The functions that workers run. Each is pure: the same chunk gives the same bits on any worker, however often.

A worker tells that it has begun a chunk (an event for whoever counts what was run again), and nothing else leaves it
but its result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from onepass.conversions import CONVERSIONS
from onepass.conversions.frozen import need_watched
from onepass.costs import cost_of, costs_of
from onepass.errors import Argument, ConversionError, DataError, LimitError, OnepassError, Phrase, ScaleError
from onepass.guards.drift import DriftEvidence
from onepass.passes import Pass
from onepass.race import first_features
from onepass.regimes import Regime
from onepass.rows import Dense, Floats, Ints
from onepass.runs import Carried
from onepass.scale.chunks import Chunk, ReadReport
from onepass.scale.summaries import Summary, summarise
from onepass.scale.versions import must_match
from onepass.scale.watching import Candidate, CandidateWatch
from onepass.scaling import AUTO_ROWS
from onepass.trace import Trace, WatchedEvidence
from onepass.validate import accept

TOPIC = "onepass"
UNWATCHED = {  # options of a pass whose own models nobody watches: those of all chunks together are
    "conversion": "average",
    "watch": False,
    "loss": None,
    "cost": None,
    "max_false_alarm": None,
    "max_miss": None,
    "min_precision": None,
    "on_drift": "withhold",
}


class Job(NamedTuple):
    """What all chunks of a run have in common."""

    name: str
    options: dict[str, Any]  # of Pass
    versions: dict[str, str]
    radius: float | None = None  # what radius="auto" came to
    features: int | None = None  # of the rows, the first so many are seen; None: all

    def seen(self, rows: Any) -> Any:
        """The part of the rows that is learned from."""
        return rows if self.features is None else first_features(accept(rows), self.features)


class Ran(NamedTuple):
    """What a chunk leaves on its worker: the summary, which travels, and until they are fetched its log or vectors."""

    summary: Summary
    trace: Trace | None  # while the cutoff is not known
    vector: Floats | None
    leaves: Floats  # what it adds to the start of the next wave
    alone: Alone | None = None  # where it is the only chunk


class Alone(NamedTuple):
    """What the only chunk of a run has to tell of the conversion `frozen`: it was a plain pass."""

    watched: WatchedEvidence
    weights: Floats  # of the model that the pass deploys
    stopped: bool
    drift: DriftEvidence | None
    regimes: tuple[Regime, ...]


class WaveStart(NamedTuple):
    """Where a wave starts: what the waves before it came to, and the rounds that each chunk's hypothesis had seen."""

    origin: Floats | Carried
    elapsed: int


class Start(NamedTuple):
    """What must be known before the first round: the labels met in a chunk, and the radius that its first rows have."""

    labels: tuple[Any, ...]
    radius: float | None


def start(job: Job, chunk: Chunk, data: Any, want_labels: bool) -> Start:
    """Read the labels of the first rows, and on until two are met; the rest is not read."""
    must_match(job.versions)
    labels: dict[Any, None] = {}
    measure = (
        Pass("perceptron", radius="auto", order_alarm=False)
        if job.options["radius"] == "auto" and chunk.number == 0
        else None
    )
    read = 0
    for rows, given in _checked(chunk, data, ReadReport()):
        for label in np.asarray(given).tolist():
            if read >= AUTO_ROWS and len(labels) > 1:
                break
            labels[label] = None
            read += 1
        if measure is not None:
            measure.feed(job.seen(rows), np.zeros(len(given)))
        if (len(labels) > 1 or not want_labels) and read >= AUTO_ROWS:
            break
    if measure is not None and measure.scaled_onto is None:
        raise DataError(
            f"{chunk}: radius='auto' looks at the first {AUTO_ROWS:,} rows, and this chunk has {measure.rows:,}; "
            "take larger chunks or give radius a number"
        )
    return Start(tuple(labels), None if measure is None else measure.scaled_onto)


def run(
    jobs: Sequence[Job],
    chunk: Chunk,
    data: Any,
    origins: Sequence[WaveStart | None],
    rule: str | int,
    candidates: Sequence[Sequence[Candidate]],
) -> list[Ran]:
    """One pass over a chunk for each job, from its origin, whose rows watch the job's candidates; one reading for all.

    The rule says what to leave: "log", "longest", "sum" of all rounds, a cutoff's vector, "nothing" but where it ended,
    or its own "model".
    """
    must_match(jobs[0].versions)
    _announce(jobs[0], chunk)
    told = ReadReport()
    lines = zip(jobs, origins, candidates, strict=True)
    several = [ChunkPass(job, chunk, origin, watched, rule) for job, origin, watched in lines]
    for rows, labels in _checked(chunk, data, told):
        try:
            for one in several:
                one.feed(rows, labels)
        except LimitError as error:
            raise LimitError(Phrase("{}: {}", str(chunk), error)) from None
        except DataError as error:
            raise _located(chunk, error) from None
        if all(one.run.stopped for one in several):
            break
    return [one.end(told, rule) for one in several]


class ChunkPass:
    """A pass over the rows of one chunk, which watch the candidates of earlier waves."""

    def __init__(
        self, job: Job, chunk: Chunk, origin: WaveStart | None, candidates: Sequence[Candidate], rule: str | int
    ) -> None:
        self.job, self.chunk = job, chunk
        self.run = Pass(**_options(job, chunk, origin, rule))
        self.watch = _watch(job, self.run, candidates, chunk.number) if candidates else None
        self.dense: int | None = None

    def feed(self, rows: Any, labels: Any) -> None:
        """Learn from some rows of the chunk."""
        rows = self.job.seen(rows)
        ready = accept(rows)
        self.dense = ready.values.shape[1] if isinstance(ready, Dense) else self.dense
        self.run.feed(rows, labels)
        if self.watch is not None:
            self.watch.watch(self.run, rows, labels)

    def end(self, told: ReadReport, rule: str | int) -> Ran:
        """What all rows have come to, and what reading showed."""
        one, chunk, watch = self.run, self.chunk, self.watch
        if told.changed:
            one.withhold(f"{chunk}: the file changed while it was read")
        if told.truncated:
            one.assume("a compressed stream ended early, and what was lost is no different")
        trace = one.trace()
        summary = summarise(
            trace,
            chunk.number,
            rows=one.rows,
            dense=self.dense,
            columns=told.columns,
            names=told.names,
            skipped=told.skipped,
            watched=None if watch is None else watch.found(),
            drift=() if watch is None else (watch.tested(chunk.number),),
        )
        leaves = one.learner_run.leaves()
        if rule == "log":
            return Ran(summary, trace, None, leaves)
        if rule == "nothing":
            return Ran(summary, None, None, leaves)
        if rule == "model":
            return Ran(summary, None, None, leaves, _alone(one, trace))
        if rule == "longest":
            return Ran(summary, None, _weigh_longest(trace), leaves)
        vector = _in_use(trace, chunk) if rule == "sum" else _outlived(trace, int(rule), chunk)
        return Ran(summary, None, vector, leaves)


def _options(job: Job, chunk: Chunk, origin: WaveStart | None, rule: str | int) -> dict[str, Any]:
    """What the pass over a chunk is made with."""
    options = dict(job.options)
    if options["radius"] == "auto" and chunk.number > 0:
        options["radius"] = job.radius
    if chunk.number > 0:
        options["uncounted_rows"] = 0  # which are the first of all
    if origin is not None:
        options |= {"origin": origin.origin, "elapsed": origin.elapsed}
    if rule != "model":
        options["stop_at"] = None  # which is looked at when a wave ends
    return options | UNWATCHED if rule == "nothing" else options


def _watch(job: Job, one: Pass, candidates: Sequence[Candidate], chunk: int) -> CandidateWatch:
    hinge = job.options.get("loss") == "hinge"
    seed = one.seed + (chunk << 32)  # no two chunks draw alike
    cost = job.options.get("cost")
    costs = None if cost is None else costs_of(cost_of(cost), one.classes)
    return CandidateWatch(candidates, len(one.classes), float(one.fit_intercept), seed, hinge=hinge, costs=costs)


def _alone(one: Pass, trace: Trace) -> Alone:
    if not trace.rounds:  # nothing can be deployed, and the caller says so
        weights = trace.last
    else:
        weights = CONVERSIONS["frozen"].weights(trace, one.certificate().choice.value)
    return Alone(need_watched(trace), weights, one.stopped, trace.drift, one.regimes.ended)


def summaries_of(several: Sequence[Ran]) -> list[Summary]:
    """The part that travels, of each job."""
    return [ran.summary for ran in several]


class Part(NamedTuple):
    """Which part of what a chunk has left is asked for: of which job, and what its summary was."""

    job: int  # by its place among those of the run
    chunk: Chunk
    digest: str

    def of(self, several: Sequence[Ran]) -> Ran:
        """What the job has left; of a chunk that was run again, only if it gave what it gave before."""
        ran = several[self.job]
        if ran.summary.digest != self.digest:
            raise ScaleError(f"{self.chunk}: read again it gave other rows: its data has changed, start the run again")
        return ran


def vector_of(several: Sequence[Ran], part: Part, k: int | None) -> Floats:
    """Σ_j (n_j − k)₊·w_j of a chunk."""
    ran = part.of(several)
    if ran.vector is not None:
        return ran.vector
    assert ran.trace is not None
    assert k is not None
    return _outlived(ran.trace, k, part.chunk)


def left_by(several: Sequence[Ran], part: Part) -> Floats:
    """What a chunk adds to the start of the next wave."""
    return part.of(several).leaves


def alone_of(several: Sequence[Ran], part: Part) -> Alone:
    """What the only chunk has to tell."""
    alone = part.of(several).alone
    assert alone is not None
    return alone


def add(vectors: list[Floats]) -> Floats:
    """The sum, from the left; shorter vectors have no weight on the features they lack."""
    total = np.zeros_like(max(vectors, key=len))
    for vector in vectors:
        total[: len(vector)] += vector
    return total


def hold(value: Any) -> Any:
    """The value itself: a task, so that a worker that is lost with it can be replaced."""
    return value


def _outlived(trace: Trace, k: int, chunk: Chunk) -> Floats:
    """Σ_j (n_j − k)₊·w_j, not divided. H_0's extra round is no part of it: its w is 0."""
    if trace.columns is not None and k not in trace.columns.survival:
        raise LimitError(
            f"{chunk}: its columns were coarsened to stay within max_trace_memory and have no cutoff {k}; raise it"
        )
    q: Ints = np.maximum(trace.survival - k, 0)
    return trace.hypotheses.weigh(q)


def _in_use(trace: Trace, chunk: Chunk) -> Floats:
    """Σ of the hypothesis in use over all rounds, as a pass of its own would sum it for its average."""
    return _outlived(trace, 0, chunk) if trace.hypotheses.total is None else trace.hypotheses.total


def _weigh_longest(trace: Trace) -> Floats:
    return trace.hypotheses.weigh(CONVERSIONS["longest"].members(trace, None))


def _checked(chunk: Chunk, data: Any, told: ReadReport) -> Any:
    """The chunk's pieces; what is wrong with one names the chunk."""
    pieces = chunk.read(data, told)
    while True:
        try:
            piece = next(pieces, None)
        except DataError as error:
            raise _located(chunk, error) from None
        except (OnepassError, MemoryError):
            raise
        except Exception as error:
            raise ScaleError(f"{chunk}: {type(error).__name__}: {error}") from error
        if piece is None:
            return
        if piece.labels is None:
            remedy = Phrase("{} names the label's column", Argument("target"))
            raise DataError(f"{chunk}: no labels to learn from", remedy=remedy)
        yield piece


def _located(chunk: Chunk, error: DataError) -> DataError:
    if error.source is not None:
        return error
    return DataError(f"{chunk}: {error}")


def _announce(job: Job, chunk: Chunk) -> None:
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:  # this process itself is the executor
        return
    worker.log_event(TOPIC, {"job": job.name, "chunk": chunk.number})


def refuse(conversion: str, cutoffs: str, options: dict[str, Any]) -> None:
    """Say why, if this cannot be had from several machines."""
    reason = CONVERSIONS[conversion].unmergeable
    if reason is not None:
        raise ConversionError(f"{conversion}: {reason}. Choose frozen, cutoff, average or longest")
    if cutoffs == "all":
        raise ConversionError("cutoffs='all' needs the update rows of all chunks in one place: choose cutoffs='grid'")
    if options.get("validation_fraction"):
        raise ConversionError(
            "validation_fraction: candidates of one chunk are not watched in the others: leave it out"
        )
