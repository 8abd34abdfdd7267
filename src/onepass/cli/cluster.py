"""`onepass cluster points.csv -k 20`: k-means on files of points."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from onepass.cli import clustering, pages, terminal
from onepass.cli import reading as reader
from onepass.cli.learning import Size, peak_memory
from onepass.cli.outputs import Output, Outputs
from onepass.errors import DataError

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


@click.command(name="cluster")
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
@click.option("--stream", is_flag=True, help="Keep no rows: one pass in bounded memory, whatever the size.")
@click.option(
    "--max-memory", type=Size(), default="2GB", show_default=True, help="Stream if clustering would need more."
)
@click.option("--coreset-size", type=click.IntRange(1), help="Rows that stand for a stream.  [default: 200 a cluster]")
@click.option("--exact", is_flag=True, help="After a stream read again, for exact sizes (--labels does so too).")
@click.option("--labels", type=click.Path(), help="Write each point's cluster (.csv, .parquet, .npy).")
@click.option("--centres", type=click.Path(), help="Write the centres (.csv, .parquet, .npy).")
@click.option("--figure", type=click.Path(), help="Draw the clusters or the elbow (.png, .svg, .pdf).")
@pages.option
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@reader.options
@terminal.talking
def command(
    paths: tuple[str, ...],
    n_clusters: int | None,
    k_range: range | None,
    dtype: str,
    stream: bool,
    max_memory: int,
    coreset_size: int | None,
    exact: bool,
    labels: str | None,
    centres: str | None,
    figure: str | None,
    report: str | None,
    force: bool,
    reading: dict[str, Any],
    say: terminal.Say,
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
    from onepass.cluster.gather import Plan

    if (n_clusters is None) == (k_range is None):
        raise click.UsageError("Give either -k or --k-range.")
    if k_range is not None and (labels or centres):
        raise click.UsageError("--labels and --centres go with -k: choose one k from the range first.")
    outputs = Outputs(paths)
    labels_file = _checked(outputs, "--labels", labels, TABLES, force)
    centres_file = _checked(outputs, "--centres", centres, TABLES, force)
    figure_file = _checked(outputs, "--figure", figure, FIGURES, force)
    page = pages.check(outputs, report, force)
    outputs.claim("--on-error", reader.quarantine(reading))
    again = bool(labels or exact)
    if stream and again and "-" in paths:
        raise click.UsageError("--labels and --exact read a stream twice, and stdin can be read only once: save it.")
    parameters["threads"] = reading["threads"]
    ks = k_range or range(n_clusters or 1, (n_clusters or 1) + 1)
    plan = Plan(
        ks[-1], max_memory, stream, coreset_size, None, np.dtype(dtype), reading["threads"], parameters["random_state"]
    )
    points = clustering.read(paths, reading, plan, say)
    if ks[-1] > points.gathered.rows:
        raise DataError(
            f"n_clusters={ks[-1]} is more than the {points.gathered.rows} points: "
            + ("lower -k" if n_clusters else f"end --k-range at {points.gathered.rows} or below")
        )
    if points.gathered.method and again and "-" in paths:
        raise DataError("stdin can be read only once", remedy="save it, or raise --max-memory")
    if points.gathered.method == "mini-batch" and len(ks) > 1:
        raise DataError("--k-range: sparse rows of a stream are not kept to try several k", remedy="raise --max-memory")
    if labels_file is not None:
        labels_file.check_space(clustering.least_bytes(labels_file.path, points.gathered.rows))
    job = _Job(paths, reading, points, say, parameters, page)
    found = [job.cluster(k) for k in ks]
    counts = job.counts(found, labels_file, again)
    if k_range is not None:
        if figure_file:
            from onepass.report.cluster import draw_elbow

            with figure_file.writing():
                inertias = [float(one.inertias.sum()) for one in counts]
                draw_elbow(figure_file.path, ks, inertias, overwrite=figure_file.overwrite)
        files = _tell_elbow(job, ks, found, counts, [figure_file.written] if figure_file else [])
    else:
        if centres_file:
            clustering.write_centres(centres_file, found[0].centres, points.names)
        if figure_file and not _draw(figure_file, job, found[0]):
            figure_file = None
        written = [file.written for file in (labels_file, centres_file, figure_file) if file]
        files = _tell(job, found[0], counts[0], written)
    if files:
        say.aside(f"Wrote {', '.join(files)}.")
    say.aside(f"{peak_memory():.0f} MB at most")
    outputs.settle()


class _Job:
    """The points of one call, and what is done with them for one k or several."""

    def __init__(
        self,
        paths: tuple[str, ...],
        reading: dict[str, Any],
        points: clustering.Points,
        say: terminal.Say,
        parameters: dict[str, Any],
        page: Output | None,
    ) -> None:
        self.paths, self.reading, self.points, self.say, self.parameters = paths, reading, points, say, parameters
        self.page = page
        self.method = points.gathered.method
        self.exact = self.method is None  # whether sizes and inertias are counted, not estimated
        self.X: Any = None
        self.weights: Any = None
        if self.method is None:
            self.X = points.gathered.table()
        elif self.method == "coreset":
            self.X, self.weights = points.gathered.sample()

    def cluster(self, k: int) -> Any:
        """The best clustering found; without labels and inertia where all rows are gone."""
        from onepass.cluster.run import Result

        if self.method == "mini-batch":
            none = np.empty(0, dtype=np.int32)
            return Result(self.points.gathered.clusters().centres, none, np.nan, 0, [], [], None)
        result = clustering.run(self.X, self.weights, k, self.say, self.parameters)
        # The theorem speaks of the rows that were seeded, not of those they stand for.
        return result if self.method is None else result._replace(quality=None)

    def counts(self, found: list[Any], labels: Output | None, again: bool) -> list[clustering.Count]:
        """Sizes and inertias: counted, or, of a stream that is not read again, as what stands for it has them."""
        gathered = self.points.gathered
        if self.method is None or again:
            with clustering.label_file(labels, gathered.rows) as write:
                if self.method is None:
                    write(found[-1].labels)
                else:
                    centres = [one.centres for one in found]
                    self.exact = True
                    return clustering.read_again(self.paths, self.reading, self.points, centres, write, self.say)
        if self.method == "mini-batch":
            sizes = np.rint(gathered.clusters().mass).astype(np.int64)
            return [clustering.Count(sizes, np.full(sizes.size, np.nan))]
        return [clustering.count(self.X, self.weights, one.centres, self.parameters["threads"]) for one in found]

    def facts(self) -> dict[str, Any]:
        """What every result says of the points."""
        gathered = self.points.gathered
        return {
            "n_samples": gathered.rows,
            "n_features": gathered.width,
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
        self.say.result(result, text)
        return list(result["files"])

    def plane(self, result: Any) -> dict[str, Any]:
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


def _draw(file: Output, job: _Job, result: Any) -> bool:
    """Draw the points, or the coreset that stands for them; false where there is nothing that can be drawn."""
    import scipy.sparse

    from onepass.report.cluster import draw_clusters

    if job.X is None or scipy.sparse.issparse(job.X):
        job.say.aside("--figure: sparse rows are not drawn")
        return False
    with file.writing():
        shown = result.labels, result.centres, result.history
        draw_clusters(file.path, job.X, *shown, job.points.names, overwrite=file.overwrite)
    return True


def _tell_elbow(job: _Job, ks: range, found: list[Any], counts: list[clustering.Count], files: list[str]) -> list[str]:
    inertias = [float(one.inertias.sum()) for one in counts]
    rows = [
        {"n_clusters": k, "inertia": inertia, "n_iter": result.iterations}
        for k, inertia, result in zip(ks, inertias, found, strict=True)
    ]
    result = {"command": "cluster", "k_range": rows, **job.facts()}
    table = _table(["k", "inertia", "of k before"], _falls(ks, inertias))
    return job.tell(result, lambda: table if job.exact else f"{table}\n{job.caveat().strip()}", {}, files)


def _falls(ks: range, inertias: list[float]) -> list[tuple[str, ...]]:
    before = [0.0, *inertias]
    return [
        (str(k), f"{inertia:.6g}", f"{inertia / last:.1%}" if last > 0 else "")
        for k, inertia, last in zip(ks, inertias, before, strict=False)
    ]


def _tell(job: _Job, result: Any, count: clustering.Count, files: list[str]) -> list[str]:
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
        n = job.points.gathered.rows
        rows: list[tuple[str, ...]] = [
            (str(c), f"{size:,}", f"{size / n:.1%}", f"{part:.6g}", f"{part / max(size, 1):.4g}")
            for c, (size, part) in enumerate(zip(sizes.tolist(), parts.tolist(), strict=True))
        ]
        ended = f" after {result.iterations} iterations" if result.iterations else ""
        lines = [
            _table(["cluster", "points", "share", "inertia", "a point"], rows),
            f"{n:,} points, {len(sizes)} clusters, inertia {inertia:.6g}{ended}{job.caveat()}.",
        ]
        if quality is not None and not job.say.quiet:
            lines.append(str(quality))
        return "\n".join(lines)

    wanted = job.page or job.say.as_json or job.say.as_jsonl
    return job.tell(told, text, job.plane(result) if wanted else {}, files)


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else value


def _table(names: list[str], rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in [names, *rows]]
    return "\n".join(lines)
