"""`onepass cluster points.csv -k 20`: k-means on a file of points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from onepass.cli import pages
from onepass.cli.terminal import console, options, print_json, progress
from onepass.errors import DataError
from onepass.files import replacing

TABLES = (".csv", ".parquet", ".npy")
FIGURES = (".png", ".svg", ".pdf")
METHODS = ("k-means++", "greedy-k-means++", "local-search++", "k-means||", "random")


def _range(context: click.Context, parameter: click.Parameter, value: str | None) -> range | None:
    if value is None:
        return None
    first, colon, last = value.partition(":")
    if not (colon and first.isdigit() and last.isdigit() and 1 <= int(first) <= int(last)):
        raise click.BadParameter("give first:last, such as 2:20")
    return range(int(first), int(last) + 1)


@click.command(name="cluster")
@click.argument("points", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-k", "--n-clusters", type=click.IntRange(1), help="How many clusters.")
@click.option("--k-range", callback=_range, help="Try every k of first:last, such as 2:20, and draw the elbow.")
@click.option("--init", type=click.Choice(METHODS), default="k-means++", show_default=True, help="Where to start.")
@click.option("--n-init", type=click.IntRange(1), default=10, show_default=True, help="Seedings; the best is kept.")
@click.option("--max-iter", type=click.IntRange(1), default=300, show_default=True, help="Iterations at most.")
@click.option("--tol", type=click.FloatRange(0), default=1e-4, show_default=True, help="0: until no label changes.")
@click.option(
    "--delta", type=float, default=0.05, show_default=True, help="The quality holds with probability 1 - delta."
)
@click.option("--random-state", "--seed", type=int, default=0, show_default=True, help="Seed of the draws.")
@click.option("--threads", type=click.IntRange(1), help="Default: all cores. Changes no bit of the result.")
@click.option("--labels", type=click.Path(path_type=Path), help="Write each point's cluster (.csv, .parquet, .npy).")
@click.option("--centres", type=click.Path(path_type=Path), help="Write the centres (.csv, .parquet, .npy).")
@click.option("--figure", type=click.Path(path_type=Path), help="Draw the clusters or the elbow (.png, .svg, .pdf).")
@pages.option
@click.option("--force", is_flag=True, help="Overwrite files that exist.")
@options
def command(
    points: Path,
    n_clusters: int | None,
    k_range: range | None,
    labels: Path | None,
    centres: Path | None,
    figure: Path | None,
    report: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    **parameters: Any,
) -> None:
    """Cluster the points of a CSV, Parquet or npy file by k-means.

    \b
    onepass cluster points.csv -k 20
    onepass cluster points.parquet -k 20 --labels labels.csv --centres centres.csv --figure clusters.png
    onepass cluster points.csv --k-range 2:20 --figure elbow.svg
    onepass cluster points.csv -k 20 --report page.html
    """
    if (n_clusters is None) == (k_range is None):
        raise click.UsageError("Give either -k or --k-range.")
    if k_range is not None and (labels or centres):
        raise click.UsageError("--labels and --centres go with -k: choose one k from the range first.")
    for path, kinds in ((labels, TABLES), (centres, TABLES), (figure, FIGURES)):
        _writable(path, kinds, force)
    pages.check(report, force)
    X, names = read_points(points)
    if k_range is not None:
        _elbow(X, k_range, figure, as_json, quiet, parameters, (report, points))
        return
    assert n_clusters is not None
    result = _run(X, n_clusters, quiet, parameters)
    if labels:
        write_table(labels, result.labels[:, None], ["label"])
    if centres:
        write_table(centres, result.centres, names)
    if figure:
        from onepass.report.cluster import draw_clusters

        draw_clusters(figure, X, result.labels, result.centres, result.history, names)
    files = [str(path) for path in (labels, centres, figure, report) if path]
    record = _record(X, result, parameters) | {"files": files}
    if report or as_json:
        from onepass.report.cluster import details

        found = details(X, result.labels, result.centres, names)
        record |= {"report": report, "details": found | _made(points, parameters)}
        pages.write(record, report)
    _tell(record, result, as_json, quiet)


def read_points(path: Path) -> tuple[npt.NDArray[Any], list[str]]:
    """The table in the file as numbers, and the names of its columns. A CSV's first row is a header if it is no row of
    numbers."""
    kind = path.suffix.lower()
    if kind == ".npy":
        try:
            X = np.load(path, allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise DataError(f"{path}: not a readable .npy file ({error})") from error
        if X.ndim != 2:
            raise DataError(f"{path}: holds an array of shape {X.shape}; points are rows of a table")
        return X, [f"x{f + 1}" for f in range(X.shape[1])]
    import pyarrow as pa

    try:
        if kind == ".parquet":
            from pyarrow import parquet

            table = parquet.read_table(path)
        else:
            table = _read_csv(path)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: {str(error).strip()}") from error
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count:
            row = next(i for i, value in enumerate(column) if not value.is_valid)
            raise DataError(f"{path}: column {name!r} has no value in row {row + 1}: drop or fill that row")
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            raise DataError(f"{path}: column {name!r} holds {column.type}, not numbers: leave it out of the file")
        columns.append(column.to_numpy())
    if not columns or not table.num_rows:
        raise DataError(f"{path}: no points in it")
    dtype = np.float32 if all(column.dtype == np.float32 for column in columns) else np.float64
    return np.column_stack(columns).astype(dtype), [str(name) for name in table.column_names]


def _read_csv(path: Path) -> Any:
    from pyarrow import csv

    with path.open(encoding="utf-8-sig") as file:
        first = file.readline().strip()
    if not first:
        raise DataError(f"{path}: no points in it")
    bare = all(_is_number(cell) for cell in first.split(","))
    return csv.read_csv(path, read_options=csv.ReadOptions(autogenerate_column_names=bare))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def write_table(path: Path, values: npt.NDArray[Any], names: list[str]) -> None:
    """The columns under their names, in the format of the file's ending; whole or not at all."""
    with replacing(path) as file:
        if path.suffix.lower() == ".npy":
            np.save(file, values[:, 0] if names == ["label"] else values)
            return
        import pyarrow as pa

        table = pa.table(dict(zip(names, values.T, strict=True)))
        if path.suffix.lower() == ".parquet":
            from pyarrow import parquet

            parquet.write_table(table, file)
        else:
            from pyarrow import csv

            csv.write_csv(table, file, csv.WriteOptions(quoting_style="needed"))


def _writable(path: Path | None, kinds: tuple[str, ...], force: bool) -> None:
    """Says before the work what would spoil it afterwards."""
    if path is None:
        return
    if path.suffix.lower() not in kinds:
        raise click.UsageError(f"{path} must end in one of {', '.join(kinds)}.")
    if not path.parent.is_dir():
        raise click.UsageError(f"{path}: there is no folder {path.parent}.")
    if path.exists() and not force:
        raise click.UsageError(f"{path} exists; --force overwrites it.")


def _run(X: npt.NDArray[Any], k: int, quiet: bool, parameters: dict[str, Any]) -> Any:
    from onepass.cluster.run import kmeans

    rounds = parameters["n_init"]
    with progress(f"k = {k}", None, quiet) as tick:
        done = 0

        def follow(iteration: int, inertia: float, shift: float) -> None:
            nonlocal done
            done += 1
            tick(done, note=f"iterations, inertia {inertia:.6g}, {rounds} seedings")

        return kmeans(X, k, callback=follow, **parameters)


def _elbow(
    X: npt.NDArray[Any],
    ks: range,
    path: Path | None,
    as_json: bool,
    quiet: bool,
    parameters: dict[str, Any],
    page: tuple[str | None, Path],
) -> None:
    if ks[-1] > len(X):
        raise DataError(f"--k-range goes to {ks[-1]}, but there are only {len(X)} points: end it at {len(X)} or below")
    found = [(k, _run(X, k, quiet, parameters)) for k in ks]
    if path:
        from onepass.report.cluster import draw_elbow

        draw_elbow(path, [k for k, _ in found], [result.inertia for _, result in found])
    report, points = page
    files = [str(path) for path in (path, report) if path]
    rows = [{"n_clusters": k, "inertia": r.inertia, "n_iter": r.iterations} for k, r in found]
    record = {"command": "cluster", "k_range": rows, "n_samples": len(X), "files": files}
    record |= {"report": report, "details": _made(points, parameters)}
    pages.write(record, report)
    if as_json:
        print_json(record)
        return
    _table(["k", "inertia", "of k before"], _falls([(k, r.inertia) for k, r in found]))
    _wrote(files, quiet)


def _falls(found: list[tuple[int, float]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for at, (k, inertia) in enumerate(found):
        before = found[at - 1][1] if at else 0.0
        rows.append((str(k), f"{inertia:.6g}", f"{inertia / before:.1%}" if before > 0 else ""))
    return rows


def _made(points: Path, parameters: dict[str, Any]) -> dict[str, Any]:
    """How the result came about, for a page."""
    return pages.made(data=pages.identity(str(points)), options=parameters)


def _record(X: npt.NDArray[Any], result: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """The result, by the API's names."""
    k = len(result.centres)
    sizes = np.bincount(result.labels, minlength=k)
    offset = X.astype(np.float64) - result.centres[result.labels]
    parts = np.bincount(result.labels, np.einsum("if,if->i", offset, offset), k)
    quality = result.quality
    return {
        "command": "cluster",
        "n_clusters": k,
        "n_samples": len(X),
        "n_features": X.shape[1],
        "inertia": result.inertia,
        "n_iter": result.iterations,
        "history": result.history,
        "sizes": sizes.tolist(),
        "inertias": parts.tolist(),
        "centres": result.centres.tolist(),
        "quality": quality and {**quality._asdict(), "ratio": quality.ratio, "statement": str(quality)},
        "parameters": parameters,
    }


def _tell(record: dict[str, Any], result: Any, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json(record)
        return
    k, points = record["n_clusters"], record["n_samples"]
    rows: list[tuple[str, ...]] = [
        (str(c), f"{size:,}", f"{size / points:.1%}", f"{part:.6g}", f"{part / max(size, 1):.4g}")
        for c, (size, part) in enumerate(zip(record["sizes"], record["inertias"], strict=True))
    ]
    _table(["cluster", "points", "share", "inertia", "a point"], rows)
    click.echo(f"{points:,} points, {k} clusters, inertia {result.inertia:.6g} after {result.iterations} iterations.")
    if result.quality is not None and not quiet:
        click.echo(str(result.quality))
    _wrote(record["files"], quiet)


def _table(names: list[str], rows: list[tuple[str, ...]]) -> None:
    from rich.table import Table

    table = Table(box=None)
    for name in names:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*row)
    console().print(table)


def _wrote(files: list[str], quiet: bool) -> None:
    if files and not quiet:
        click.echo(f"Wrote {', '.join(files)}.", err=True)
