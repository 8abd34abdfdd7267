"""Figures of the lab: simulations as lines with a band of 90 % of the replicas, theory dashed, references dotted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from onepass.lab.results import Experiment, Panel
from onepass.report.style import COLOURS, figure

FEW = 10  # points up to which each is marked
DASHES, DOTS = ("--", "-."), (":", (0, (1, 4)), (0, (5, 5)))


def draw(experiment: Experiment, path: str | Path) -> None:
    """The experiment's panels side by side, saved to `path`.

    >>> import tempfile, numpy as np
    >>> from onepass.lab.results import Experiment, Panel, Series
    >>> x = np.array([1.0, 10.0, 100.0])
    >>> panel = Panel("", "α", "error", [Series("1/α", "theory", x, 1 / x)])
    >>> path = Path(tempfile.mkdtemp()) / "law.svg"
    >>> draw(Experiment("law", "A law", {}, [panel], []), path)
    >>> path.read_bytes().startswith(b"<?xml")
    True
    """
    columns = len(experiment.panels)
    with figure(path, columns=columns, size=(1.0 + 5.6 * columns, 4.4)) as axes:
        for axis, panel in zip(np.atleast_1d(axes), experiment.panels, strict=True):
            _draw_panel(axis, panel)
        np.atleast_1d(axes)[0].figure.suptitle(experiment.title)


def _draw_panel(axis: Any, panel: Panel) -> None:
    """A theory line has the colour of the simulation before it in the list."""
    colour, simulations, since, references = COLOURS[0], 0, 0, 0
    for series in panel.series:
        marker = "o" if len(series.x) <= FEW else None
        if series.kind == "simulation":
            colour, since = COLOURS[simulations % len(COLOURS)], 0
            simulations += 1
            axis.plot(series.x, series.y, color=colour, marker=marker, label=series.label)
            if series.low is not None:
                axis.fill_between(series.x, series.low, series.high, color=colour, alpha=0.18, linewidth=0.0)
        elif series.kind == "theory":
            dashes = DASHES[since % len(DASHES)]
            axis.plot(series.x, series.y, color=colour, linestyle=dashes, linewidth=1.1, label=series.label)
            since += 1
        else:
            dots = DOTS[references % len(DOTS)]
            axis.plot(series.x, series.y, color="0.35", linestyle=dots, linewidth=1.1, label=series.label)
            references += 1
    axis.set(xscale="log", yscale=panel.y_scale, xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title)
    axis.legend(fontsize="small")
