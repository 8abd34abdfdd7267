"""Pictures of a clustering: the points with their centres, the inertia by iteration, and the elbow over k."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass.report.charts import clipped
from onepass.report.origin import origin
from onepass.report.page import Figure, Page, Section, TableBlock, Text
from onepass.report.style import COLOURS, figure
from onepass.report.svg import INK, PAPER, drawing, thousands

SHOWN = 20_000  # points drawn at most: more only makes the file heavy
FEWER = 1500  # on a page, where each is an element
MARKERS = "osD^v<>P"


def draw_clusters(
    path: str | Path,
    X: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    centres: npt.NDArray[Any],
    history: Sequence[float],
    names: Sequence[str] = (),
    *,
    overwrite: bool = True,
) -> None:
    """Left the points in the colour of their cluster (on two principal axes if there are more), right the inertia."""
    shown = np.linspace(0, len(X) - 1, min(len(X), SHOWN)).astype(np.int64)
    points, middles, axes_names, kept = plane(X[shown], centres, names)
    with figure(path, columns=2, size=(11.0, 4.6), overwrite=overwrite) as (left, right):
        colours = np.array(COLOURS)[labels[shown] % len(COLOURS)]
        left.scatter(points[:, 0], points[:, 1], s=3, c=colours, linewidths=0, alpha=0.6, rasterized=True)
        left.scatter(middles[:, 0], middles[:, 1], s=42, c="white", edgecolors="black", marker="X", label="centres")
        left.set_xlabel(axes_names[0])
        left.set_ylabel(axes_names[1])
        left.set_title(f"{len(centres)} clusters{kept}")
        left.legend(loc="best")
        right.plot(range(1, len(history) + 1), history, marker="o", markersize=3)
        right.set_xlabel("iteration")
        right.set_ylabel("inertia")
        right.set_title("inertia by iteration")


def draw_elbow(path: str | Path, counts: Sequence[int], inertias: Sequence[float], *, overwrite: bool = True) -> None:
    """The inertia reached for each number of clusters."""
    with figure(path, overwrite=overwrite) as axes:
        axes.plot(counts, inertias, marker="o")
        axes.set_xlabel("number of clusters k")
        axes.set_ylabel("inertia")
        axes.set_ylim(bottom=0)
        axes.set_title("where the curve bends, more clusters stop paying")


def plane(
    X: npt.NDArray[Any], centres: npt.NDArray[Any], names: Sequence[str]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], tuple[str, str], str]:
    """Points and centres in two dimensions: as they are, or along the two directions of largest variance.

    >>> plane(np.array([[3.0], [5.0]]), np.array([[4.0]]), ["height"])[2]
    ('height', '')
    """
    width = X.shape[1]
    if width == 1:
        flat = np.zeros((len(X), 1)), np.zeros((len(centres), 1))
        return np.hstack([X, flat[0]]), np.hstack([centres, flat[1]]), (names[0] if names else "x1", ""), ""
    if width == 2:
        return X, centres, (names[0], names[1]) if names else ("x1", "x2"), ""
    mean = X.mean(axis=0, dtype=np.float64)
    values, vectors = np.linalg.eigh(np.cov(X, rowvar=False, dtype=np.float64))
    axes = vectors[:, ::-1][:, :2]
    kept = f" ({values[-2:].sum() / values.sum():.0%} of the variance shown)" if values.sum() > 0 else ""
    return (X - mean) @ axes, (centres - mean) @ axes, ("first principal axis", "second principal axis"), kept


def details(
    X: npt.NDArray[Any], labels: npt.NDArray[Any], centres: npt.NDArray[Any], names: Sequence[str]
) -> dict[str, Any]:
    """Some of the points in the plane as plain values, for a page."""
    shown = np.linspace(0, len(X) - 1, min(len(X), FEWER)).astype(np.int64)
    points, middles, axes, kept = plane(X[shown].astype(np.float64), centres.astype(np.float64), list(names))
    if len(X) > FEWER:
        kept = f"{kept} ({FEWER:,} of {len(X):,} points shown)"
    return {
        "plane": {
            "points": {"x": _five(points[:, 0]), "y": _five(points[:, 1]), "label": labels[shown].tolist()},
            "centres": {"x": _five(middles[:, 0]), "y": _five(middles[:, 1])},
            "axes": list(axes),
            "kept": kept,
        }
    }


def _five(values: npt.NDArray[Any]) -> list[float]:
    """Numbers to five digits: a picture needs no more."""
    return [float(f"{value:.5g}") for value in values]


def page(record: dict[str, Any]) -> Page:
    """The page of what `cluster` found: of one k, or of a range of them."""
    more = record.get("details", {})
    if "k_range" in record:
        tried = record["k_range"]
        title = f"{record['n_samples']:,} points, {tried[0]['n_clusters']} to {tried[-1]['n_clusters']} clusters"
        number, meaning = f"{len(tried)}", "numbers of clusters were tried; the inertia of each is below."
        return Page("cluster", title, number, meaning, (), [Section("The elbow", [_elbow(tried)]), origin(more)])
    figures = []
    if more.get("plane", {}).get("points", {}).get("x"):
        figures.append(_plane(more["plane"], record["n_clusters"]))
    if record.get("history"):
        figures.append(_inertia(record["history"]))
    total = max(1, sum(record["sizes"]))
    rows = [
        [str(c), f"{size:,}", f"{100 * size / total:.1f} %", _number(part, 1, ".6g"), _number(part, size, ".4g")]
        for c, (size, part) in enumerate(zip(record["sizes"], record["inertias"], strict=False))
    ]
    columns = ["cluster", "points", "share", "inertia", "inertia a point"]
    sections = [
        Section("In pictures", figures or [Text("This file has no picture: run cluster with --report.")]),
        Section("Clusters", [TableBlock("Every cluster", columns, rows, frozenset(columns))]),
        Section("How far from the best possible", [Text(_quality(record))]),
        origin(more),
    ]
    facts = [
        ("points", f"{record['n_samples']:,}"),
        ("columns", f"{record.get('n_features', 0):,}"),
        ("iterations", f"{record['n_iter']:,}"),
    ]
    title = f"{record['n_samples']:,} points, {record['n_clusters']:,} clusters"
    meaning = "is the inertia: the sum of squared distances from every point to its cluster's centre."
    return Page("cluster", title, _number(record["inertia"], 1, ".6g"), meaning, facts, sections)


def _number(value: float | None, points: int, form: str) -> str:
    """A number for so many points, or a dash: of a stream whose rows are gone no inertia is known."""
    return "–" if value is None else f"{value / max(points, 1):{form}}"


def _quality(record: dict[str, Any]) -> str:
    if record.get("quality"):
        return str(record["quality"]["statement"])
    return "Nothing is proved here: the theorem speaks of plain k-means++ seedings (and local-search++) alone."


def _plane(plane: dict[str, Any], k: int) -> Figure:
    points, centres = plane["points"], plane["centres"]
    x, y, labels = (np.array(points[name]) for name in ("x", "y", "label"))
    said = f"{k} clusters{plane['kept']}. Colours and marks repeat after eight clusters; crosses are centres."
    with drawing("f1", "The points and their centres", said, size=(5.0, 4.0)) as shown:
        for c in np.unique(labels):
            place, marker = int(c) % len(COLOURS), MARKERS[int(c) % len(MARKERS)]
            shown.axes.plot(x[labels == c], y[labels == c], marker, color=COLOURS[place], markersize=2.2, mew=0)
        shown.axes.plot(centres["x"], centres["y"], "X", color=PAPER, markeredgecolor=INK, markersize=8)
        for axis in (shown.axes.xaxis, shown.axes.yaxis):
            thousands(axis)
        shown.axes.set(**dict(zip(("xlabel", "ylabel"), map(clipped, plane["axes"]), strict=False)))
    return shown.block(said)


def _inertia(history: Sequence[float]) -> Figure:
    said = f"{len(history)} iterations, from {history[0]:.6g} to {history[-1]:.6g}."
    with drawing("f2", "Inertia by iteration", said, size=(5.0, 4.0)) as shown:
        shown.axes.plot(range(1, len(history) + 1), history, marker="o", markersize=3)
        shown.axes.set(xlabel="iteration", ylabel="inertia")
        thousands(shown.axes.yaxis)
    rows = [[f"{i + 1}", f"{value:.6g}"] for i, value in enumerate(history)]
    columns = ["iteration", "inertia"]
    return shown.block(said, TableBlock("Inertia", columns, rows, frozenset(columns)))


def _elbow(tried: Sequence[dict[str, Any]]) -> Figure:
    said = "Where the curve bends, more clusters stop paying."
    with drawing("f1", "Inertia for every k", said) as shown:
        shown.axes.plot([line["n_clusters"] for line in tried], [line["inertia"] for line in tried], marker="o")
        shown.axes.set(xlabel="number of clusters k", ylabel="inertia")
        shown.axes.set_ylim(bottom=0)
        thousands(shown.axes.yaxis)
    columns = ["k", "inertia", "iterations"]
    rows = [[f"{line['n_clusters']}", f"{line['inertia']:.6g}", f"{line['n_iter']}"] for line in tried]
    return shown.block(said, TableBlock("The elbow", columns, rows, frozenset(columns)))
