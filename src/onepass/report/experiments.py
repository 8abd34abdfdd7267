"""The figures of dekel2008, Section 4, one panel a problem, and the one it did not draw: certificates over time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from onepass.experiments.study import Curves, Study
from onepass.report.style import COLOURS, figure

COLUMNS = 5
TICKS = [digit * 10.0**power for power in range(-4, 3) for digit in (1, 2, 5)]
NAMES = {"zero_one": "test 0-1 loss", "hinge": "test hinge loss"}
LINES = {  # label, colour, line
    "last": ("last hypothesis", COLOURS[1], "-"),
    "average": ("average", COLOURS[2], "-"),
    "cutoff_dekel2008": ("cutoff, k by dekel2008", COLOURS[4], "--"),
    "cutoff": ("cutoff, k by betting", COLOURS[0], "-"),
}
CERTIFICATES = {
    "certificate_dekel2008": ("certified, dekel2008", COLOURS[4], "--"),
    "certificate": ("certified, betting", COLOURS[0], "-"),
    "covered": ("true: test loss of what betting certifies", COLOURS[6], "-"),
}
CUTOFFS = {"k_dekel2008": ("", COLOURS[4], "--"), "k": ("", COLOURS[0], "-")}


def draw_losses(study: Study, path: str | Path, *, overwrite: bool = True) -> None:
    """Test loss against training rounds, a panel a problem: last, average, cutoff; saved to `path`.

    >>> import tempfile
    >>> from onepass.experiments import Design, newswire, study
    >>> [found] = study(newswire(400), ["perceptron"], Design(repeats=2, per_decade=2))
    >>> path = Path(tempfile.mkdtemp()) / "figure2.svg"
    >>> draw_losses(found, path)
    >>> path.read_text().count('id="axes_')
    10
    """
    rows, columns = _shape(study)
    with figure(path, rows=rows, columns=columns, size=_size(rows, columns, 2.5), overwrite=overwrite) as axes:
        panels = np.atleast_1d(axes).reshape(-1)
        for axis, curves in zip(panels, study.curves, strict=False):
            for name, look in LINES.items():
                _line(axis, curves, name, look, banded=name in ("last", "cutoff"))
            axis.set(xscale="log", title=curves.problem)
        _share_height(panels, columns)
        _finish(panels, study, f"{_learner(study)}: {NAMES[study.loss]} against training rounds", NAMES[study.loss])


def draw_certificates(study: Study, path: str | Path, *, overwrite: bool = True) -> None:
    """Certificates above the truth, and below each panel the chosen cutoff; saved to `path`."""
    rows, columns = _shape(study)
    heights = [3.0, 1.0] * rows
    shape: Any = {"rows": 2 * rows, "columns": columns, "size": _size(rows, columns, 3.4), "heights": heights}
    with figure(path, **shape, overwrite=overwrite) as axes:
        grid = np.asarray(axes).reshape(2 * rows, columns)
        panels, below = grid[0::2].reshape(-1), grid[1::2].reshape(-1)
        for axis, under, curves in zip(panels, below, study.curves, strict=False):
            for name, look in CERTIFICATES.items():
                if not np.isnan(curves.values[name]).any():
                    _line(axis, curves, name, look, banded=True)
            for name, look in CUTOFFS.items():
                _line(under, curves, name, look, banded=False)
            axis.set(xscale="log", title=curves.problem, xticklabels=[])
            under.set(xscale="log", ylim=(0.0, max(1.0, under.get_ylim()[1])))
        _share_height(panels, columns)
        for under in below[len(study.curves) :]:
            under.set_visible(False)
        for under in below[::columns]:
            under.set_ylabel("cutoff k")
        title = (
            f"{_learner(study)}: certified and true {study.loss.replace('zero_one', '0-1')} risk, and the cutoff chosen"
        )
        _finish(panels, study, title, "risk", below)


def _shape(study: Study) -> tuple[int, int]:
    rows = math.ceil(len(study.curves) / COLUMNS)
    return rows, math.ceil(len(study.curves) / rows)


def _size(rows: int, columns: int, height: float) -> tuple[float, float]:
    return max(5.0, 2.6 * columns), 0.9 + height * rows


def _line(axis: Any, curves: Curves, name: str, look: tuple[str, str, str], banded: bool) -> None:
    label, colour, line = look
    axis.plot(curves.rounds, curves.mean(name), line, color=colour, label=label, linewidth=1.3)
    if banded:
        axis.fill_between(curves.rounds, *curves.band(name), color=colour, alpha=0.18, linewidth=0.0)


def _share_height(panels: Any, columns: int) -> None:
    """One logarithmic scale for all panels, so that problems can be compared, with its numbers at the left only."""
    limits = [axis.dataLim.intervaly for axis in panels if axis.lines]
    low, high = max(1e-4, min(low for low, _ in limits)) / 1.1, max(high for _, high in limits) * 1.1
    ticks = [tick for tick in TICKS if low <= tick <= high]
    for place, axis in enumerate(panels):
        axis.set(yscale="log", ylim=(low, high))
        axis.set_yticks([], minor=True)
        axis.set_yticks(ticks, labels=[f"{tick:g}" for tick in ticks] if place % columns == 0 else [""] * len(ticks))


def _finish(panels: Any, study: Study, title: str, y_label: str, lowest: Any = None) -> None:
    """Title, one legend for all, names at the left and at the bottom, and no empty panels."""
    columns = _shape(study)[1]
    for axis in panels[len(study.curves) :]:
        axis.set_visible(False)
    for axis in panels[::columns]:
        axis.set_ylabel(y_label)
    shown = (panels if lowest is None else lowest)[: len(study.curves)]
    for axis in shown[-columns:]:
        axis.set_xlabel("training rounds")
    canvas = panels[0].figure
    canvas.suptitle(
        f"{title}\n{study.corpus}; mean of {study.design.repeats} splits, band of 90 % of them", fontsize="medium"
    )
    canvas.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize="small")


def _learner(study: Study) -> str:
    return {"perceptron": "Perceptron", "margin": "Margin-based Perceptron"}[study.learner]
