"""What `onepass cluster` does between its options and its words: read, cluster, read again, write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from onepass.cli import inputs, terminal
from onepass.cli.outputs import Output
from onepass.errors import DataError
from onepass.files import replacing

if TYPE_CHECKING:
    from onepass.cluster.collector import Collector, CollectorOptions
    from onepass.cluster.run import Result

TARGETS = ("target", "label", "class")  # names that a column of labels often has


class Points(NamedTuple):
    """What was read: the rows, or what stands for them, under the names of their columns."""

    collected: Collector
    names: list[str]
    identity: list[Any]  # of the files, to know them again


class Count(NamedTuple):
    """Rows of each cluster and their inertia, in the whole of the data."""

    sizes: npt.NDArray[np.int64]
    inertias: npt.NDArray[np.float64]


def read(
    paths: tuple[str, ...], reading: inputs.Reading, options: CollectorOptions, messages: terminal.Messages
) -> Points:
    """One pass over the files, under a bar of bytes."""
    from onepass.cluster.collector import Collector

    collected = Collector(options)
    with inputs.opened(paths, reading, labelled=None) as stream, terminal.bar(stream.total_bytes, messages) as tick:
        messages.note(f"reading {', '.join(stream.paths[:3])} as {stream.format}, compression {stream.compression}")
        for chunk in stream:
            try:
                collected.feed(chunk.rows)
            except DataError as error:
                raise stream.located(error) from None
            inputs.check_bad(stream, reading)
            tick(stream.consumed, partial(_rows_read, collected), partial(_facts, "read", collected))
    names = _names(stream.columns, collected.width)
    ignored = [note for note in stream.notes if note.startswith("labels: ")]
    if ignored:
        messages.note("labels are ignored (" + ignored[0].removeprefix("labels: ") + ")")
    for note in stream.notes:
        if note not in ignored:
            messages.note(note)
    for name in names:
        if name.strip().lower() in TARGETS:
            messages.note(f"column {name!r} counts like any other; --target {name} leaves it out")
    if collected.method is not None:
        messages.note(_reduced(collected, options))
    return Points(collected, names, stream.identity)


def _rows_read(collected: Collector) -> str:
    how = f", {collected.method}" if collected.method else f", {collected.needed / 2**20:.0f} MB needed"
    return f"{collected.rows:,} rows{how}"


def _facts(phase: str, collected: Collector) -> dict[str, Any]:
    return {"phase": phase, "rows": collected.rows, "stream": collected.method}


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


def run(X: Any, weights: Any, k: int, messages: terminal.Messages, parameters: dict[str, Any]) -> Result:
    """k-means under a bar that ends where n_init runs of max_iter iterations would."""
    from onepass.cluster.run import kmeans

    runs, most = parameters["n_init"], parameters["max_iter"]
    seeding = 0
    patience = threading.Timer(0.5, messages.note, ["seeding (the first time, kernels are compiled) …"])
    patience.daemon = True
    with terminal.bar(runs * most, messages) as tick:

        def follow(iteration: int, inertia: float, shift: float) -> None:
            nonlocal seeding
            patience.cancel()
            seeding += iteration == 1
            tick(
                (seeding - 1) * most + iteration,
                lambda: f"k = {k}, seeding {seeding} of {runs}, iteration {iteration}, inertia {inertia:.6g}",
                lambda: {
                    "phase": "cluster",
                    "n_clusters": k,
                    "seeding": seeding,
                    "iteration": iteration,
                    "inertia": inertia,
                    "shift": shift,
                },
            )

        patience.start()
        try:
            return kmeans(X, k, sample_weight=weights, callback=follow, **parameters)
        finally:
            patience.cancel()


def count(X: Any, weights: Any, centres: npt.NDArray[Any], threads: int | None) -> Count:
    """Sizes and inertias of the clusters of rows that are at hand, each counted `weights` times."""
    from onepass.cluster.kmeans import assign
    from onepass.cluster.points import as_points, in_type

    labels, distances = assign(in_type(as_points(X), centres), centres, threads)
    k, weights = len(centres), np.ones(len(labels)) if weights is None else weights
    sizes = np.rint(np.bincount(labels, weights, k)).astype(np.int64)
    return Count(sizes, np.bincount(labels, weights * distances, k).astype(np.float64))


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


@contextmanager
def label_file(target: Output | None, rows: int) -> Iterator[Callable[[Any], object]]:
    """Takes labels piece by piece, `rows` in all; the file takes its place only when it is whole."""
    if target is None:
        yield lambda labels: None
        return
    kind = Path(target.path).suffix.lower()
    with target.writing(), replacing(target.path, overwrite=target.overwrite) as file:
        if kind == ".npy":
            header = {"descr": "<i4", "fortran_order": False, "shape": (rows,)}
            np.lib.format.write_array_header_1_0(file, header)
            yield lambda labels: file.write(labels.astype("<i4").tobytes())
        elif kind == ".parquet":
            import pyarrow
            from pyarrow import parquet

            schema = pyarrow.schema([("label", pyarrow.int32())])
            with parquet.ParquetWriter(file, schema) as writer:
                yield lambda labels: writer.write_table(pyarrow.table({"label": labels}, schema=schema))
        else:
            file.write(b"label\n")
            yield lambda labels: file.write(("\n".join(map(str, labels.tolist())) + "\n").encode())


def least_bytes(path: str, rows: int) -> int:
    """What a file of so many labels takes at least: four bytes each, or a digit and the end of a line."""
    return rows * {".npy": 4, ".csv": 2}.get(Path(path).suffix.lower(), 0)


def write_centres(target: Output, centres: npt.NDArray[Any], names: list[str]) -> None:
    """The centres under the names of their columns, in the format of the file's ending; whole or not at all."""
    kind = Path(target.path).suffix.lower()
    with target.writing(), replacing(target.path, overwrite=target.overwrite) as file:
        if kind == ".npy":
            np.save(file, centres)
            return
        import pyarrow as pa

        table = pa.table(dict(zip(names, centres.T, strict=True)))
        if kind == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, file)
        else:
            from pyarrow import csv

            csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))
