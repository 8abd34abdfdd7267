"""Pictures of a clustering: the points with their centres, the inertia by iteration, and the elbow over k."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass.report.style import COLOURS, figure

SHOWN = 20_000  # points drawn at most: more only makes the file heavy


def draw_clusters(
    path: str | Path,
    X: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    centres: npt.NDArray[Any],
    history: Sequence[float],
    names: Sequence[str] = (),
) -> None:
    """Left the points in the colour of their cluster (on two principal axes if there are more), right the inertia."""
    shown = np.linspace(0, len(X) - 1, min(len(X), SHOWN)).astype(np.int64)
    points, middles, axes_names, kept = plane(X[shown], centres, names)
    with figure(path, columns=2, size=(11.0, 4.6)) as (left, right):
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


def draw_elbow(path: str | Path, counts: Sequence[int], inertias: Sequence[float]) -> None:
    """The inertia reached for each number of clusters."""
    with figure(path) as axes:
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
