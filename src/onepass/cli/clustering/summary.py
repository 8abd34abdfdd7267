"""What is written, drawn and said of a clustering, or of the elbow over several."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from onepass.cli import pages, terminal
from onepass.cli.clustering.files import write_centres
from onepass.cli.clustering.job import ClusterJob
from onepass.cli.clustering.reading import Count
from onepass.cli.outputs import Output

if TYPE_CHECKING:
    from onepass.cluster.run import Result


class ResultFiles(NamedTuple):
    """Where the results go, once that is known to be possible."""

    labels: Output | None
    centres: Output | None
    figure: Output | None
    page: Output | None


def finish_elbow(job: ClusterJob, ks: range, found: list[Result], counts: list[Count], files: ResultFiles) -> list[str]:
    """Draw and tell the inertia of every k; all files written."""
    inertias = [float(one.inertias.sum()) for one in counts]
    if files.figure:
        from onepass.report.cluster import draw_elbow

        with files.figure.writing():
            draw_elbow(files.figure.path, ks, inertias, overwrite=files.figure.overwrite)
    rows = [
        {"n_clusters": k, "inertia": inertia, "n_iter": result.iterations}
        for k, inertia, result in zip(ks, inertias, found, strict=True)
    ]
    result = {"command": "cluster", "k_range": rows, **job.facts()}
    falls = [
        (str(k), f"{inertia:.6g}", f"{inertia / last:.1%}" if last > 0 else "")
        for k, inertia, last in zip(ks, inertias, [0.0, *inertias], strict=False)
    ]
    table = terminal.table([("k", "inertia", "of k before"), *falls], ">")
    return _tell(job, result, lambda: table if job.exact else f"{table}\n{_caveat(job).strip()}", {}, files)


def finish(job: ClusterJob, result: Result, count: Count, files: ResultFiles) -> list[str]:
    """Write, draw and tell the one clustering; all files written."""
    if files.centres:
        write_centres(files.centres, result.centres, job.points.names)
    if files.figure and not job.drawable:
        job.messages.note("--figure: sparse rows are not drawn")
        files = files._replace(figure=None)
    if files.figure:
        from onepass.report.cluster import draw_clusters

        with files.figure.writing():
            shown = result.labels, result.centres, result.history
            draw_clusters(files.figure.path, job.X, *shown, job.points.names, overwrite=files.figure.overwrite)
    plane = {}
    if job.drawable and (files.page or job.messages.as_objects):
        from onepass.report.cluster import details

        plane = details(job.X, result.labels, result.centres, job.points.names)
    inertia = float(count.inertias.sum()) if job.method else result.inertia
    return _tell(job, _record(job, result, count, inertia), lambda: _text(job, result, count, inertia), plane, files)


def _tell(
    job: ClusterJob, result: terminal.Record, text: Callable[[], str], shown: terminal.Record, files: ResultFiles
) -> list[str]:
    """The result, and its page if one was asked for; `shown` is what only the page needs. All files written."""
    made = pages.made(data=pages.identity(*job.paths), options=job.parameters)
    result["details"] = shown | made
    result["report"] = pages.write(result, files.page)
    result["files"] = [file.written for file in files if file]
    job.messages.result(result, text)
    return list(result["files"])


def _record(job: ClusterJob, result: Result, count: Count, inertia: float) -> terminal.Record:
    quality = result.quality
    return {
        "command": "cluster",
        "n_clusters": len(count.sizes),
        "inertia": _number(inertia),
        "n_iter": result.iterations,
        "history": result.history,
        "sizes": count.sizes.tolist(),
        "inertias": [_number(part) for part in count.inertias.tolist()],
        "centres": result.centres.tolist(),
        "quality": quality and {**quality._asdict(), "ratio": quality.ratio, "statement": str(quality)},
        **job.facts(),
    }


def _text(job: ClusterJob, result: Result, count: Count, inertia: float) -> str:
    n = job.points.collected.rows
    rows: list[tuple[str, ...]] = [
        (str(c), f"{size:,}", f"{size / n:.1%}", f"{part:.6g}", f"{part / max(size, 1):.4g}")
        for c, (size, part) in enumerate(zip(count.sizes.tolist(), count.inertias.tolist(), strict=True))
    ]
    ended = f" after {result.iterations} iterations" if result.iterations else ""
    lines = [
        terminal.table([("cluster", "points", "share", "inertia", "a point"), *rows], ">"),
        f"{n:,} points, {len(rows)} clusters, inertia {inertia:.6g}{ended}{_caveat(job)}.",
    ]
    if result.quality is not None and not job.messages.quiet:
        lines.append(str(result.quality))
    return "\n".join(lines)


def _caveat(job: ClusterJob) -> str:
    """What a reader of estimates must know."""
    if job.exact:
        return ""
    return f" (sizes and inertia as the {job.method} has them; --exact or --labels reads again and counts)"


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if np.isnan(value) else value
