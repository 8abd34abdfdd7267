"""How much memory a run may take, known once the first rows are there and before one of them is learned.

More features than they suggest are looked at when they come: then the run ends before it takes what it may not.

What the program takes is asked before anything is read: later, it would depend on how far ahead the threads have come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from onepass.cli import inputs, terminal
from onepass.io.formats import FORMATS
from onepass.tables.plan import NUMBER

if TYPE_CHECKING:
    from onepass.io import Chunk, Stream
    from onepass.passes import Pass
    from onepass.race import Race

KERNELS = 96 << 20  # what is still to be loaded: compiled code, and what writes the model and the page
ARROW = 80 << 20  # and what reads tables
UNSTEADY = 16 << 20  # a remedy leaves this free: no two runs take quite the same
PARSED = 5  # bytes that a byte of text takes while it is parsed and learned, its own included
TABLES = 20  # the same of a table: "0," becomes a double more than once
VECTORS = 8  # of weights at once: in use, to go back to, outgrown, last, model (two halves), folded (two)
STATISTICS = 3  # of what a learner keeps of its columns at once: in use, to go back to, outgrown
FROZEN = 6  # the same of the candidates of validation: the newest five, and the next
BOARDS = 3  # of the weights of watched models: in use, to go back to, outgrown or given away
GROWN = 2  # times as much as --max-watch-memory allows them, since room for features that are yet to come is doubled
SUMS = 14  # of sums of hypotheses: the running one, five of the last octave, the next; and to go back to
FEW = 1 << 18  # features that most data can do with
BOUNDS = {"bits": "--bits", "max_features": "--max-features"}  # on the number of features, where a format has them
TRACES = 3  # what folding update rows takes: the rows, the columns, and these on a coarser grid


class Need(NamedTuple):
    """Bytes, at most."""

    program: int
    reading: int
    weights: int
    trace: int
    features: int  # a number
    per_feature: int  # of the weights, at most: few features may have more watched models than many
    bounds: tuple[str, ...]  # options that may lower it

    @property
    def total(self) -> int:
        return self.program + self.reading + self.weights + self.trace

    def __str__(self) -> str:
        parts = (f"{name} {megabytes(getattr(self, name))}" for name in ("program", "reading", "weights", "trace"))
        return f"{megabytes(self.total)} at most ({', '.join(parts)}; {self.features:,} features)"


def needed(run: Pass | Race, stream: Stream, chunk: Chunk, reading: inputs.Reading, used: float) -> Need:
    """What a run may need that begins with this chunk, in a process that had used so many MB before it read."""
    from onepass.rows import Dense

    if hasattr(run, "entries"):
        return _of_all([needed(entry.run, stream, chunk, reading, used) for entry in run.entries])
    features = likely_features(chunk, stream, reading)
    outputs = 1 if len(run.classes) <= 2 else len(run.classes)
    candidates = FROZEN * (run.validation_fraction > 0.0) + SUMS * bool(run.watch)
    boards = 0 if run.watched is None else BOARDS * 8 * outputs * run.watched.slots
    vectors = 8 * (outputs * (VECTORS + candidates) + STATISTICS * run.learner.statistics)
    form = FORMATS[stream.format]
    growth = TABLES if form.table else PARSED
    whole = stream.total_bytes if stream.compression == "none" else None  # a small file keeps few rows
    return Need(
        int(used * 2**20) + KERNELS + ARROW * form.table,
        growth * (stream.room if whole is None else min(stream.room, whole)),
        (features + 1) * vectors + min((features + 1) * boards, GROWN * BOARDS * run.max_watch_memory),
        TRACES * min(run.learner_run.log_room, run.max_trace_memory if whole is None else growth * whole),
        features,
        vectors + boards,
        () if isinstance(chunk.rows, Dense) else tuple(BOUNDS[name] for name in BOUNDS if name in form.options),
    )


def _of_all(each: list[Need]) -> Need:
    """What the entries of a race may need: program and reading they share."""
    first, *_ = each
    sums = {name: sum(getattr(one, name) for one in each) for name in ("weights", "trace", "per_feature")}
    return first._replace(**sums)


class MemoryLimit:
    """What a run may take, held against --max-memory: by its first rows, and anew when it becomes wider than these."""

    def __init__(
        self,
        run: Pass | Race,
        stream: Stream,
        reading: inputs.Reading,
        limit: int | None,
        messages: terminal.Messages,
        used: float,
    ) -> None:
        self.run, self.stream, self.reading, self.limit = run, stream, reading, limit
        self.messages, self.used = messages, used
        self._features = -1

    def check(self, chunk: Chunk) -> None:
        """Say what the run may need if that is not known yet; end it if that is more than it is allowed."""
        if self._features >= 0 and width_of(chunk) <= self._features:
            return
        need = needed(self.run, self.stream, chunk, self.reading, self.used)
        self._features = need.features
        self.messages.detail(f"this run may need {need}")
        if self.limit is not None and need.total > self.limit:
            raise click.UsageError(
                f"this run may need {need}, and --max-memory allows {megabytes(self.limit)}: "
                f"{_remedy(need, self.limit)}"
            )


def width_of(chunk: Chunk) -> int:
    """Features of the rows of a chunk."""
    from onepass.rows import Dense

    rows = chunk.rows
    return int(rows.values.shape[1]) if isinstance(rows, Dense) else int(rows.indices.max(initial=-1)) + 1


def likely_features(chunk: Chunk, stream: Stream, reading: inputs.Reading) -> int:
    """How many features this and later chunks are likely to have: as many, or twice as many where more is to come.

    Hashed features lie anywhere among the places that there are.
    """
    most, met = inputs.most_features(chunk, stream.format, reading), width_of(chunk)
    if stream.table is not None:
        plain = all(column.kind == NUMBER for column in stream.table.used)
        most, met = stream.table.width, (met if plain else stream.table.width)
    last = stream.total_bytes is not None and chunk.origin.consumed >= stream.total_bytes
    return min(most, met if last else 2 * met)


def _remedy(need: Need, limit: int) -> str:
    """Options under which weights and trace have half each of what is left for them, and so fit.

    >>> _remedy(Need(200 << 20, 100 << 20, 1 << 30, 768 << 20, 1 << 24, 64, ("--bits", "--max-features")), 400 << 20)
    'try --bits 19 or --max-features 688127 for fewer weights, and --max-trace-memory 14MB for a shorter trace'
    """
    left = limit - need.program - need.reading - UNSTEADY
    half = left // 2 if need.bounds else left - need.weights  # dense rows have the features they have
    if half < max(TRACES << 20, 2 * need.per_feature):  # a megabyte of trace, two features
        enough = megabytes(need.total + UNSTEADY)
        if need.bounds and need.features > FEW:
            fewer = need._replace(weights=need.per_feature * (FEW + 1))
            enough += f", or {megabytes(fewer.total + UNSTEADY)} with {_bounded(need, FEW)}"
        return f"too little for any model; allow {enough}"
    tries = []
    if need.bounds and need.weights > half:
        tries.append(f"{_bounded(need, half // need.per_feature - 1)} for fewer weights")
    if need.trace > half:
        tries.append(f"--max-trace-memory {(half // TRACES) >> 20}MB for a shorter trace")
    return f"try {', and '.join(tries)}"


def _bounded(need: Need, most: int) -> str:
    """The options that allow so many features."""
    value = {"--bits": most.bit_length() - 1, "--max-features": most}
    return " or ".join(f"{option} {value[option]}" for option in need.bounds)


def megabytes(size: int) -> str:
    """
    >>> megabytes(300 << 20)
    '300 MB'
    """
    return f"{size / 2**20:,.0f} MB"
