"""`onepass cluster points.csv -k 20`: k-means on files of points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from onepass.cli import clustering, inputs, pages, terminal
from onepass.cli.options import Sectioned, Size, grouped
from onepass.cli.outputs import Output, Outputs
from onepass.cli.training import peak_memory
from onepass.errors import DataError

if TYPE_CHECKING:
    from onepass.cluster.collector import Collector, CollectorOptions
    from onepass.cluster.run import Result

TABLES = (".csv", ".parquet", ".npy")
FIGURES = (".png", ".svg", ".pdf")
METHODS = ("local-search++", "k-means++", "greedy-k-means++", "k-means||", "random")


def _range(context: click.Context, parameter: click.Parameter, value: str | None) -> range | None:
    if value is None:
        return None
    first, colon, last = value.partition(":")
    if not (colon and first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last)):
        raise click.BadParameter("give first:last, such as 2:20")
    return range(int(first), int(last) + 1)


class Streaming(NamedTuple):
    """What to do with points that are too many to be kept."""

    stream: bool
    max_memory: int
    coreset_size: int | None
    exact: bool


class ResultPaths(NamedTuple):
    """Where the results go, as the options have it."""

    labels: str | None
    centres: str | None
    figure: str | None
    report: str | None
    force: bool


class ResultFiles(NamedTuple):
    """The same once they are known to be writable."""

    labels: Output | None
    centres: Output | None
    figure: Output | None
    page: Output | None


@click.command(name="cluster", cls=Sectioned)
@click.argument("paths", nargs=-1, required=True, metavar="FILE...")
@click.option("-k", "--n-clusters", type=click.IntRange(1), help="How many clusters.")
@click.option("--k-range", callback=_range, help="Try every k of first:last, such as 2:20, and draw the elbow.")
@click.option("--init", type=click.Choice(METHODS), default=METHODS[0], show_default=True, help="Where to start.")
@click.option("--n-init", type=click.IntRange(1), default=10, show_default=True, help="Seedings; the best is kept.")
@click.option("--max-iter", type=click.IntRange(1), default=300, show_default=True, help="Iterations at most.")
@click.option("--tol", type=click.FloatRange(0), default=1e-4, show_default=True, help="0: until no label changes.")
@click.option(
    "--delta", type=float, default=0.05, show_default=True, help="The quality holds with probability 1 - delta."
)
@click.option("--random-state", "--seed", type=int, default=0, show_default=True, help="Seed of the draws.")
@click.option(
    "--dtype", type=click.Choice(["float64", "float32"]), default="float64", show_default=True, help="Number type."
)
@grouped(
    "Points larger than memory",
    "streaming",
    Streaming,
    click.option("--stream", is_flag=True, help="Keep no rows: one pass in bounded memory, whatever the size."),
    click.option(
        "--max-memory", type=Size(), default="2GB", show_default=True, help="Stream if clustering would need more."
    ),
    click.option(
        "--coreset-size", type=click.IntRange(1), help="Rows that stand for a stream.  [default: 200 a cluster]"
    ),
    click.option("--exact", is_flag=True, help="After a stream read again, for exact sizes (--labels does so too)."),
)
@grouped(
    "Results",
    "results",
    ResultPaths,
    click.option("--labels", type=click.Path(), help="Write each point's cluster (.csv, .parquet, .npy)."),
    click.option("--centres", type=click.Path(), help="Write the centres (.csv, .parquet, .npy)."),
    click.option("--figure", type=click.Path(), help="Draw the clusters or the elbow (.png, .svg, .pdf)."),
    pages.option,
    click.option("--force", is_flag=True, help="Overwrite files that exist."),
)
@inputs.options
@terminal.message_options
def command(
    paths: tuple[str, ...],
    n_clusters: int | None,
    k_range: range | None,
    streaming: Streaming,
    results: ResultPaths,
    reading: inputs.Reading,
    messages: terminal.Messages,
    **parameters: Any,
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
    if (n_clusters is None) == (k_range is None):
        raise click.UsageError("Give either -k or --k-range.")
    if k_range is not None and (results.labels or results.centres):
        raise click.UsageError("--labels and --centres go with -k: choose one k from the range first.")
    outputs = Outputs(paths)
    files = _check_files(outputs, results)
    outputs.claim("--on-error", reading.quarantine)
    again = bool(results.labels or streaming.exact)
    if streaming.stream and again and "-" in paths:
        raise click.UsageError("--labels and --exact read a stream twice, and stdin can be read only once: save it.")
    ks = k_range or range(n_clusters or 1, (n_clusters or 1) + 1)
    points = clustering.read(paths, reading, _collector_options(ks[-1], streaming, reading, parameters), messages)
    _check_points(points.collected, ks, again, paths, k_range is not None)
    if files.labels is not None:
        files.labels.check_space(clustering.least_bytes(files.labels.path, points.collected.rows))
    job = _Job(paths, reading, points, messages, parameters, files.page)
    found = [job.cluster(k) for k in ks]
    counts = job.counts(found, files.labels, again)
    finish = _finish_elbow if k_range is not None else _finish
    written = finish(job, ks, found, counts, files)
    if written:
        messages.note(f"Wrote {', '.join(written)}.")
    messages.note(f"{peak_memory():.0f} MB at most")
    outputs.settle()


def _check_files(outputs: Outputs, results: ResultPaths) -> ResultFiles:
    """What would spoil the end is said before the work."""
    labels = _checked(outputs, "--labels", results.labels, TABLES, results.force)
    centres = _checked(outputs, "--centres", results.centres, TABLES, results.force)
    figure = _checked(outputs, "--figure", results.figure, FIGURES, results.force)
    return ResultFiles(labels, centres, figure, pages.check(outputs, results.report, results.force))


def _collector_options(
    most: int, streaming: Streaming, reading: inputs.Reading, parameters: dict[str, Any]
) -> CollectorOptions:
    """How the points are collected; `parameters` is left with what clustering itself takes."""
    from onepass.cluster.collector import CollectorOptions

    parameters["threads"] = reading.threads
    return CollectorOptions(
        most,
        streaming.max_memory,
        streaming.stream,
        streaming.coreset_size,
        dtype=np.dtype(parameters.pop("dtype")),
        threads=reading.threads,
        random_state=parameters["random_state"],
    )


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


def _finish_elbow(
    job: _Job, ks: range, found: list[Result], counts: list[clustering.Count], files: ResultFiles
) -> list[str]:
    """Draw and tell the inertia of every k; all files written."""
    inertias = [float(one.inertias.sum()) for one in counts]
    if files.figure:
        from onepass.report.cluster import draw_elbow

        with files.figure.writing():
            draw_elbow(files.figure.path, ks, inertias, overwrite=files.figure.overwrite)
    return _tell_elbow(job, ks, found, inertias, [files.figure.written] if files.figure else [])


def _finish(job: _Job, ks: range, found: list[Result], counts: list[clustering.Count], files: ResultFiles) -> list[str]:
    """Write, draw and tell the one clustering; all files written."""
    if files.centres:
        clustering.write_centres(files.centres, found[0].centres, job.points.names)
    if files.figure and not _draw(files.figure, job, found[0]):
        files = files._replace(figure=None)
    written = [file.written for file in files[:3] if file]
    return _tell(job, found[0], counts[0], written)


class _Job:
    """The points of one call, and what is done with them for one k or several."""

    def __init__(
        self,
        paths: tuple[str, ...],
        reading: inputs.Reading,
        points: clustering.Points,
        messages: terminal.Messages,
        parameters: dict[str, Any],
        page: Output | None,
    ) -> None:
        self.paths, self.reading, self.points = paths, reading, points
        self.messages, self.parameters, self.page = messages, parameters, page
        self.method = points.collected.method
        self.exact = self.method is None  # whether sizes and inertias are counted, not estimated
        self.X: Any = None
        self.weights: Any = None
        if self.method is None:
            self.X = points.collected.table()
        elif self.method == "coreset":
            self.X, self.weights = points.collected.sample()

    def cluster(self, k: int) -> Result:
        """The best clustering found; without labels and inertia where all rows are gone."""
        from onepass.cluster.run import Result

        if self.method == "mini-batch":
            none = np.empty(0, dtype=np.int32)
            return Result(self.points.collected.clusters().centres, none, np.nan, 0, [], [], None)
        result = clustering.run(self.X, self.weights, k, self.messages, self.parameters)
        # The theorem speaks of the rows that were seeded, not of those they stand for.
        return result if self.method is None else result._replace(quality=None)

    def counts(self, found: list[Result], labels: Output | None, again: bool) -> list[clustering.Count]:
        """Sizes and inertias: counted, or, of a stream that is not read again, as what stands for it has them."""
        collected = self.points.collected
        if self.method is None or again:
            with clustering.label_file(labels, collected.rows) as write:
                if self.method is None:
                    write(found[-1].labels)
                else:
                    centres = [one.centres for one in found]
                    self.exact = True
                    return clustering.read_again(self.paths, self.reading, self.points, centres, write, self.messages)
        if self.method == "mini-batch":
            sizes = np.rint(collected.clusters().mass).astype(np.int64)
            return [clustering.Count(sizes, np.full(sizes.size, np.nan))]
        return [clustering.count(self.X, self.weights, one.centres, self.parameters["threads"]) for one in found]

    def facts(self) -> dict[str, Any]:
        """What every result says of the points."""
        collected = self.points.collected
        return {
            "n_samples": collected.rows,
            "n_features": collected.width,
            "stream": self.method,
            "coreset_points": None if self.weights is None else len(self.weights),
            "exact": self.exact,
            "parameters": self.parameters,
        }

    def tell(
        self, result: dict[str, Any], text: Callable[[], str], shown: dict[str, Any], files: list[str]
    ) -> list[str]:
        """The result, and its page if one was asked for; `shown` is what only the page needs. All files written."""
        made = pages.made(data=pages.identity(*self.paths), options=self.parameters)
        result["details"] = shown | made
        result["report"] = pages.write(result, self.page)
        result["files"] = files + ([result["report"]] if result["report"] else [])
        self.messages.result(result, text)
        return list(result["files"])

    def plane(self, result: Result) -> dict[str, Any]:
        """Some points in the plane, where there are points that can be drawn."""
        import scipy.sparse

        from onepass.report.cluster import details

        if self.X is None or scipy.sparse.issparse(self.X):
            return {}
        return details(self.X, result.labels, result.centres, self.points.names)

    def caveat(self) -> str:
        """What a reader of estimates must know."""
        if self.exact:
            return ""
        return f" (sizes and inertia as the {self.method} has them; --exact or --labels reads again and counts)"


def _checked(outputs: Outputs, option: str, path: str | None, kinds: tuple[str, ...], force: bool) -> Output | None:
    """The output, if one is wanted; says before the work what would spoil it afterwards."""
    if path is not None and Path(path).suffix.lower() not in kinds:
        raise click.UsageError(f"{option}: {terminal.name(path)} must end in one of {', '.join(kinds)}")
    return outputs.check(option, path, force)


def _draw(file: Output, job: _Job, result: Result) -> bool:
    """Draw the points, or the coreset that stands for them; false where there is nothing that can be drawn."""
    import scipy.sparse

    from onepass.report.cluster import draw_clusters

    if job.X is None or scipy.sparse.issparse(job.X):
        job.messages.note("--figure: sparse rows are not drawn")
        return False
    with file.writing():
        shown = result.labels, result.centres, result.history
        draw_clusters(file.path, job.X, *shown, job.points.names, overwrite=file.overwrite)
    return True


def _tell_elbow(job: _Job, ks: range, found: list[Result], inertias: list[float], files: list[str]) -> list[str]:
    rows = [
        {"n_clusters": k, "inertia": inertia, "n_iter": result.iterations}
        for k, inertia, result in zip(ks, inertias, found, strict=True)
    ]
    result = {"command": "cluster", "k_range": rows, **job.facts()}
    table = terminal.table([("k", "inertia", "of k before"), *_falls(ks, inertias)], ">")
    return job.tell(result, lambda: table if job.exact else f"{table}\n{job.caveat().strip()}", {}, files)


def _falls(ks: range, inertias: list[float]) -> list[tuple[str, ...]]:
    before = [0.0, *inertias]
    return [
        (str(k), f"{inertia:.6g}", f"{inertia / last:.1%}" if last > 0 else "")
        for k, inertia, last in zip(ks, inertias, before, strict=False)
    ]


def _tell(job: _Job, result: Result, count: clustering.Count, files: list[str]) -> list[str]:
    sizes, parts = count
    inertia = float(parts.sum()) if job.method else result.inertia
    quality = result.quality
    told = {
        "command": "cluster",
        "n_clusters": len(sizes),
        "inertia": _number(inertia),
        "n_iter": result.iterations,
        "history": result.history,
        "sizes": sizes.tolist(),
        "inertias": [_number(part) for part in parts.tolist()],
        "centres": result.centres.tolist(),
        "quality": quality and {**quality._asdict(), "ratio": quality.ratio, "statement": str(quality)},
        **job.facts(),
    }

    def text() -> str:
        n = job.points.collected.rows
        rows: list[tuple[str, ...]] = [
            (str(c), f"{size:,}", f"{size / n:.1%}", f"{part:.6g}", f"{part / max(size, 1):.4g}")
            for c, (size, part) in enumerate(zip(sizes.tolist(), parts.tolist(), strict=True))
        ]
        ended = f" after {result.iterations} iterations" if result.iterations else ""
        lines = [
            terminal.table([("cluster", "points", "share", "inertia", "a point"), *rows], ">"),
            f"{n:,} points, {len(sizes)} clusters, inertia {inertia:.6g}{ended}{job.caveat()}.",
        ]
        if quality is not None and not job.messages.quiet:
            lines.append(str(quality))
        return "\n".join(lines)

    wanted = job.page or job.messages.as_json or job.messages.as_jsonl
    return job.tell(told, text, job.plane(result) if wanted else {}, files)


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else value
