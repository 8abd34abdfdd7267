"""`onepass cluster points.csv -k 20`: k-means on files of points."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from onepass.cli import inputs, pages, terminal
from onepass.cli.clustering.files import TABLES, least_bytes
from onepass.cli.clustering.job import ClusterJob
from onepass.cli.clustering.reading import read
from onepass.cli.clustering.summary import ResultFiles, finish, finish_elbow
from onepass.cli.options import Arguments, Sectioned, Size, option, options_of
from onepass.cli.outputs import FIGURES, Output, Outputs
from onepass.cli.training import peak_memory
from onepass.errors import DataError

if TYPE_CHECKING:
    from onepass.cluster.collector import Collector, CollectorOptions

METHODS = ("local-search++", "k-means++", "greedy-k-means++", "k-means||", "random")


def _range(context: click.Context, parameter: click.Parameter, value: str | None) -> range | None:
    if value is None:
        return None
    first, colon, last = value.partition(":")
    if not (colon and first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last)):
        raise click.BadParameter("give first:last, such as 2:20")
    return range(int(first), int(last) + 1)


@dataclass(frozen=True)
class Search:
    """How many clusters are sought, and how."""

    n_clusters: int | None = option("-k", "--n-clusters", type=click.IntRange(1), help="How many clusters.")
    k_range: range | None = option(callback=_range, help="Try every k of first:last, such as 2:20, and draw the elbow.")
    init: str = option(type=click.Choice(METHODS), default=METHODS[0], help="Where to start.")
    n_init: int = option(type=click.IntRange(1), default=10, help="Seedings; the best is kept.")
    max_iter: int = option(type=click.IntRange(1), default=300, help="Iterations at most.")
    tol: float = option(type=click.FloatRange(0), default=1e-4, help="0: until no label changes.")
    delta: float = option(type=float, default=0.05, help="The quality holds with probability 1 - delta.")
    random_state: int = option("--random-state", "--seed", type=int, default=0, help="Seed of the draws.")
    dtype: str = option(type=click.Choice(["float64", "float32"]), default="float64", help="Number type.")

    @property
    def ks(self) -> range:
        """The numbers of clusters to try."""
        if (self.n_clusters is None) == (self.k_range is None):
            raise click.UsageError("Give either -k or --k-range.")
        return self.k_range or range(self.n_clusters or 1, (self.n_clusters or 1) + 1)

    def parameters(self, threads: int | None) -> Arguments:
        """What `kmeans` is told."""
        names = ("init", "n_init", "max_iter", "tol", "delta", "random_state")
        return {name: getattr(self, name) for name in names} | {"threads": threads}


@dataclass(frozen=True)
class Streaming:
    """What to do with points that are too many to be kept."""

    stream: bool = option(is_flag=True, help="Keep no rows: one pass in bounded memory, whatever the size.")
    max_memory: int = option(type=Size(), default="2GB", help="Stream if clustering would need more.")
    coreset_size: int | None = option(
        type=click.IntRange(1), help="Rows that stand for a stream.  [default: 200 a cluster]"
    )
    exact: bool = option(is_flag=True, help="After a stream read again, for exact sizes (--labels does so too).")

    def collecting(self, search: Search, threads: int | None) -> CollectorOptions:
        """How the points are collected."""
        from onepass.cluster.collector import CollectorOptions

        return CollectorOptions(
            search.ks[-1],
            self.max_memory,
            self.stream,
            self.coreset_size,
            dtype=np.dtype(search.dtype),
            threads=threads,
            random_state=search.random_state,
        )


@dataclass(frozen=True)
class ResultPaths:
    """Where the results go."""

    labels: str | None = option(type=click.Path(), help="Write each point's cluster (.csv, .parquet, .npy).")
    centres: str | None = option(type=click.Path(), help="Write the centres (.csv, .parquet, .npy).")
    figure: str | None = option(type=click.Path(), help="Draw the clusters or the elbow (.png, .svg, .pdf).")
    report: str | None = option(**pages.OPTION)
    force: bool = option(is_flag=True, help="Overwrite files that exist.")

    def check(self, outputs: Outputs) -> ResultFiles:
        """What would spoil the end is said before the work."""
        return ResultFiles(
            _checked(outputs, "--labels", self.labels, TABLES, self.force),
            _checked(outputs, "--centres", self.centres, TABLES, self.force),
            _checked(outputs, "--figure", self.figure, FIGURES, self.force),
            pages.check(outputs, self.report, self.force),
        )


@click.command(name="cluster", cls=Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@options_of(Search)
@options_of(Streaming, "Points larger than memory")
@options_of(ResultPaths, "Results")
@inputs.options
@terminal.message_options
def command(
    paths: tuple[str, ...],
    search: Search,
    streaming: Streaming,
    result_paths: ResultPaths,
    reading: inputs.Reading,
    messages: terminal.Messages,
) -> None:
    """Cluster the points of FILE... by k-means.

    FILE may be a path, a glob, a folder, @list.txt, or - for stdin; CSV, TSV, Parquet, Arrow, npy, npz, svmlight and
    others, plain or compressed, are told apart by their content. Every column counts but those that --target and
    --ignore name; labels are ignored. --threads is for reading and computing, and changes no bit of the result.

    \b
    Examples:
      onepass cluster points.csv -k 20
      onepass cluster points.parquet -k 20 --labels labels.csv --centres centres.csv --figure clusters.png
      onepass cluster points.csv --k-range 2:20 --figure elbow.svg
      onepass cluster 'big-*.csv.gz' -k 20 --stream --labels labels.parquet
      onepass cluster points.csv -k 20 --report page.html
    """
    ks, several = search.ks, search.k_range is not None
    if several and (result_paths.labels or result_paths.centres):
        raise click.UsageError("--labels and --centres go with -k: choose one k from the range first.")
    outputs = Outputs(paths)
    files = result_paths.check(outputs)
    outputs.claim("--on-error", reading.quarantine)
    again = bool(result_paths.labels or streaming.exact)
    if streaming.stream and again and "-" in paths:
        raise click.UsageError("--labels and --exact read a stream twice, and stdin can be read only once: save it.")
    points = read(paths, reading, streaming.collecting(search, reading.threads), messages)
    _check_points(points.collected, ks, again, paths, several)
    if files.labels is not None:
        files.labels.check_space(least_bytes(files.labels.path, points.collected.rows))
    job = ClusterJob(paths, reading, points, messages, search.parameters(reading.threads))
    found = [job.cluster(k) for k in ks]
    counts = job.counts(found, files.labels, again)
    if several:
        written = finish_elbow(job, ks, found, counts, files)
    else:
        written = finish(job, found[0], counts[0], files)
    if written:
        messages.note(f"Wrote {', '.join(written)}.")
    messages.note(f"{peak_memory():.0f} MB at most")
    outputs.settle()


def _check_points(collected: Collector, ks: range, again: bool, paths: tuple[str, ...], several: bool) -> None:
    """Are there enough points, and can they be used as they were collected?"""
    if ks[-1] > collected.rows:
        raise DataError(
            f"n_clusters={ks[-1]} is more than the {collected.rows} points: "
            + (f"end --k-range at {collected.rows} or below" if several else "lower -k")
        )
    if collected.method and again and "-" in paths:
        raise DataError("stdin can be read only once", remedy="save it, or raise --max-memory")
    if collected.method == "mini-batch" and len(ks) > 1:
        raise DataError("--k-range: sparse rows of a stream are not kept to try several k", remedy="raise --max-memory")


def _checked(outputs: Outputs, option: str, path: str | None, kinds: tuple[str, ...], force: bool) -> Output | None:
    """The output, if one is wanted; says before the work what would spoil it afterwards."""
    if path is not None and Path(path).suffix.lower() not in kinds:
        raise click.UsageError(f"{option}: {terminal.name(path)} must end in one of {', '.join(kinds)}")
    return outputs.check(option, path, force)
