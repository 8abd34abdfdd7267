"""Figures of the lab: simulations as lines with a band of 90 % of the replicas, theory dashed, references dotted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from onepass.lab.results import Experiment, Panel, Series
from onepass.report.origin import origin
from onepass.report.page import Figure, Page, Section, TableBlock, Text
from onepass.report.style import COLOURS, figure
from onepass.report.svg import drawing, thousands

FEW = 10  # points up to which each is marked
DASHES, DOTS = ("--", "-."), (":", (0, (1, 4)), (0, (5, 5)))


def draw(experiment: Experiment, path: str | Path, *, overwrite: bool = True) -> None:
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
    with figure(path, columns=columns, size=(1.0 + 5.6 * columns, 4.4), overwrite=overwrite) as axes:
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
    axis.set(xscale=panel.x_scale, yscale=panel.y_scale, xlabel=panel.x_label, ylabel=panel.y_label, title=panel.title)
    axis.legend(fontsize="small")


def details(experiment: Experiment) -> dict[str, Any]:
    """The experiment's lines as plain values, for a page."""
    panels = [
        {
            **panel._asdict(),
            "series": [{name: _plain(value) for name, value in line._asdict().items()} for line in panel.series],
        }
        for panel in experiment.panels
    ]
    return {"title": experiment.title, "panels": panels, "options": experiment.settings}


def _plain(value: Any) -> Any:
    return [x if math.isfinite(x) else None for x in value.tolist()] if isinstance(value, np.ndarray) else value


def page(record: dict[str, Any]) -> Page:
    """The page of what `lab` found."""
    found, more = record["findings"], record.get("details", {})
    rows = [
        (
            f["what"],
            f"{f['measured']:.4g} ± {f['error']:.2g}",
            f"{f['expected']:.4g} ± {f.get('allowed', f['tolerance']):.2g}",
            "holds" if f["holds"] else "does not hold",
        )
        for f in found
    ]
    columns = ["what", "measured", "expected", "verdict"]
    failing = frozenset(i for i, f in enumerate(found) if not f["holds"])
    table = TableBlock(
        "Measured and expected; marked: does not hold", columns, rows, frozenset({"measured", "expected"}), failing
    )
    figures = [_figure(f"f{i + 1}", panel) for i, panel in enumerate(more.get("panels", ()))]
    holds = sum(f["holds"] for f in found)
    sections = [Section("What had to come out", [table])]
    if figures:
        sections.append(Section("In pictures", figures))
    else:
        sections.append(Section("In pictures", [Text("This file has no curves: run the experiment with --report.")]))
    sections.append(origin(more))
    meaning = "numbers came out as theory has them: students were simulated, and theory was computed beside them."
    title = more.get("title", record["experiment"])
    return Page(f"lab {record['experiment']}", title, f"{holds} of {len(found)}", meaning, (), sections)


def _figure(key: str, panel: dict[str, Any]) -> Figure:
    lines = [Series(*(_array(line[name]) for name in Series._fields)) for line in panel["series"]]
    title = panel["title"] or f"{panel['y_label']} over {panel['x_label']}"
    names = ", ".join(line.label for line in lines)
    with drawing(key, title, f"Lines: {names}.", size=(5.0, 4.0)) as shown:
        scales = panel["y_scale"], panel.get("x_scale", "log")
        _draw_panel(shown.axes, Panel("", panel["x_label"], panel["y_label"], lines, *scales))
        shown.axes.get_legend().remove()
        thousands(shown.axes.xaxis)
        thousands(shown.axes.yaxis)
        shown.legend(1 if len(lines) < 4 else 2)
    caption = "Solid: simulation, with a band that holds 90 % of the replicas. Dashed: theory. Dotted: for reference."
    rows = [
        [line.label, line.kind, f"{x:.4g}", f"{y:.4g}"] for line in lines for x, y in zip(line.x, line.y, strict=True)
    ]
    columns = [panel["x_label"], panel["y_label"]]
    table = TableBlock(title, ["line", "kind", *columns], rows, frozenset(columns))
    return shown.block(caption, table)


def _array(value: Any) -> Any:
    return np.array(value, dtype=np.float64) if isinstance(value, list) else value
