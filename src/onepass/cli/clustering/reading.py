"""The points of `onepass cluster`: read once, under a bar of bytes, and where that is asked for once more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.cli import inputs, terminal
from onepass.errors import DataError

if TYPE_CHECKING:
    from onepass.cluster.collector import Collector, CollectorOptions
    from onepass.io.sources import Identity

TARGETS = ("target", "label", "class")  # names that a column of labels often has


class Points(NamedTuple):
    """What was read: the rows, or what stands for them, under the names of their columns."""

    collected: Collector
    names: list[str]
    identity: list[Identity | None]  # of the files, to know them again


class Count(NamedTuple):
    """Rows of each cluster and their inertia, in the whole of the data."""

    sizes: npt.NDArray[np.int64]
    inertias: npt.NDArray[np.float64]


def read(
    paths: tuple[str, ...], reading: inputs.Reading, options: CollectorOptions, messages: terminal.Messages
) -> Points:
    """One pass over the files, under a bar of bytes."""
    from onepass.cluster.collector import Collector
    from onepass.io.met_labels import LabelNote

    collected = Collector(options)
    with inputs.opened(paths, reading, labelled=None) as stream, terminal.bar(stream.total_bytes, messages) as tick:
        messages.note(f"reading {', '.join(stream.paths[:3])} as {stream.format}, compression {stream.compression}")
        for chunk in stream:
            try:
                collected.feed(chunk.rows)
            except DataError as error:
                raise stream.located(error) from None
            inputs.check_bad(stream, reading)
            tick(stream.consumed, partial(_rows_read, collected), partial(_facts, collected))
    names = _names(stream.columns, collected.width)
    for note in sorted(stream.notes, key=lambda note: not isinstance(note, LabelNote)):
        messages.note(f"labels are ignored ({note.labels})" if isinstance(note, LabelNote) else note)
    for name in names:
        if name.strip().lower() in TARGETS:
            messages.note(f"column {name!r} counts like any other; --target {name} leaves it out")
    if collected.method is not None:
        messages.note(_reduced(collected, options))
    return Points(collected, names, stream.identity)


def _rows_read(collected: Collector) -> str:
    how = f", {collected.method}" if collected.method else f", {collected.needed / 2**20:.0f} MB needed"
    return f"{collected.rows:,} rows{how}"


def _facts(collected: Collector) -> terminal.Record:
    return {"phase": "read", "rows": collected.rows, "stream": collected.method}


def _reduced(collected: Collector, options: CollectorOptions) -> str:
    why = "" if options.stream else f" (clustering them would need more than {options.max_memory / 2**20:.0f} MB)"
    if collected.method == "mini-batch":
        return f"{collected.rows:,} sparse rows went through in mini-batches and were not kept{why}"
    return f"{collected.rows:,} rows were boiled down to a coreset of {len(collected.sample()[1]):,}{why}"


def _names(columns: tuple[str, ...] | None, width: int) -> list[str]:
    """The columns' names; x1, x2, … where they have none (a CSV without a header counts them)."""
    if columns is None or len(columns) != width:
        return [f"x{f + 1}" for f in range(width)]
    return [f"x{int(name) + 1}" if name.isdecimal() else name for name in columns]


def read_again(
    paths: tuple[str, ...],
    reading: inputs.Reading,
    before: Points,
    several: list[npt.NDArray[Any]],
    write: Callable[[Any], object],
    messages: terminal.Messages,
) -> list[Count]:
    """A second pass: for each set of centres the sizes and inertias; the last set's labels are written as they come."""
    from onepass.cluster.collector import as_table
    from onepass.cluster.kmeans import assign
    from onepass.cluster.points import as_points, in_type

    counts = [Count(np.zeros(len(c), dtype=np.int64), np.zeros(len(c))) for c in several]
    rows = 0
    with inputs.opened(paths, reading, labelled=None) as stream, terminal.bar(stream.total_bytes, messages) as tick:
        if stream.identity != before.identity:
            raise DataError("a file changed between the two readings", source=stream.paths[0], remedy="run it again")
        for chunk in stream:
            for centres, (sizes, inertias) in zip(several, counts, strict=True):
                points = in_type(as_points(as_table(chunk.rows, centres.dtype, centres.shape[1])), centres)
                labels, distances = assign(points, centres, reading.threads)
                sizes += np.bincount(labels, minlength=len(centres))
                inertias += np.bincount(labels, distances, len(centres))
            write(labels)
            rows += len(labels)
            tick(
                stream.consumed,
                partial("{:,} rows labelled".format, rows),
                partial(dict, phase="label", rows=rows),
            )
    if rows != before.collected.rows:
        raise DataError(f"{rows} rows in the second reading, {before.collected.rows} in the first")
    return counts
