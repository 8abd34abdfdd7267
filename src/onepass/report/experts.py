"""A game of prediction with expert advice, drawn: who was trusted when, and regret against its bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onepass.experts.run import Run
from onepass.report.charts import clipped
from onepass.report.origin import origin
from onepass.report.page import Figure, Page, Section, TableBlock, Text
from onepass.report.style import COLOURS, figure
from onepass.report.svg import INK, Drawing, drawing, thousands
from onepass.rows import Floats, Ints

SHOWN = 7  # experts with a line of their own; the eighth colour is for the rest together
POINTS = 2000  # of a curve; more cannot be seen
FEWER = 200  # of a curve on a page, where each is also a line of a table
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)))


def draw(run: Run, path: str | Path, names: Sequence[str] | None = None, *, overwrite: bool = True) -> None:
    """Two panels in one file (.png, .svg, .pdf): the weights over time, and the regret under its bound."""
    experts = run.expert_losses.size
    names = names or [f"expert {i}" for i in range(experts)]
    trusted, rest = _trusted(run)
    at = np.unique(np.linspace(0, run.losses.size - 1, POINTS).astype(np.int64))
    rounds = run.start + 1 + at
    with figure(path, rows=2, size=(7.0, 6.4), overwrite=overwrite) as (above, below):
        for i in trusted:
            above.plot(run.times, run.weights[:, i], label=names[i])
        if rest.shape[1]:
            above.plot(run.times, rest.sum(axis=1), "--", label=f"the other {rest.shape[1]}")
        above.set(title=f"{run.rule}: {experts} experts, {run.rounds:,} rounds", ylabel="weight", ylim=(-0.02, 1.02))
        above.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
        below.plot(rounds, run.regrets[at], label="regret")
        below.plot(rounds, (run.bounds - run.best_losses)[at], "--", label="its bound")
        below.axhline(0.0, color="black", linewidth=0.8)
        below.set(xlabel="round", ylabel="loss above the best expert's")
        below.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")


def details(run: Run, names: Sequence[str]) -> dict[str, Any]:
    """Weights and regret over time as plain values, for a page: the experts trusted most, and the others together."""
    trusted, rest = _trusted(run)
    when = _thinned(run.times.size)
    lines = [{"name": str(names[i]), "weight": run.weights[when, i].tolist()} for i in trusted]
    if rest.shape[1]:
        lines.append({"name": f"the other {rest.shape[1]}", "weight": rest.sum(axis=1)[when].tolist()})
    at = _thinned(run.losses.size)
    bound = (run.bounds - run.best_losses)[at].tolist()
    return {
        "weights": {"round": run.times[when].tolist(), "lines": lines},
        "regret": {
            "round": (run.start + 1 + at).tolist(),
            "regret": run.regrets[at].tolist(),
            "bound": [value if math.isfinite(value) else None for value in bound],
        },
    }


def _trusted(run: Run) -> tuple[Ints, Floats]:
    """(the experts trusted most, the weights of the others)."""
    trusted = np.argsort(-run.weights.mean(axis=0), kind="stable")[:SHOWN]
    return trusted, np.delete(run.weights, trusted, axis=1)


def _thinned(size: int) -> Any:
    """Places that are log-spaced, the last among them."""
    return np.unique(np.geomspace(1, size, FEWER).round().astype(np.int64)) - 1 if size else np.zeros(0, np.int64)


def page(record: dict[str, Any]) -> Page:
    """The page of what `experts` found."""
    more = record.get("details", {})
    rows = [[row["expert"], f"{row['loss']:,.6g}", f"{row['weight']:.4f}"] for row in record["table"]]
    table = TableBlock("The best experts, and the weight they ended with", ["expert", "loss", "weight"], rows, _NUMBERS)
    facts = [
        ("rounds", f"{record['rounds']:,}"),
        ("experts", f"{record['experts']:,}"),
        ("loss", f"{record['loss']:,.6g}"),
        ("loss at most, by theorem", f"{record['bound']:,.6g}"),
        ("best expert", f"{record['best']}: {record['best_loss']:,.6g}"),
    ]
    if record["mistakes"] is not None:
        facts.append(("mistakes", f"{record['mistakes']:,}"))
    if "sequence_loss" in record:
        switches = record.get("sequence_switches", 0)
        facts.append((f"best sequence, {switches} switches", f"{record['sequence_loss']:,.6g}"))
    figures: list[Figure] = []
    if more.get("weights", {}).get("round"):
        figures.append(_trust("f1", more["weights"]))
    if more.get("regret", {}).get("round"):
        figures.append(_regret("f2", more["regret"]))
    blocks: list[Any] = [*figures] or [Text("This file has no curves: run experts with --report.")]
    assumed = "Nothing is assumed about how the outcomes come about: the theorem holds for every sequence of them."
    sections = [Section("In pictures", blocks), Section("Experts", [table])]
    sections += [Section("What is assumed", [Text(assumed)]), origin(more)]
    meaning = (
        f"is the regret: {record['forecaster']} lost {record['loss']:,.6g} where the best of {record['experts']:,} "
        f"experts lost {record['best_loss']:,.6g}, and could not have lost more than {record['bound']:,.6g}."
    )
    title = f"{record['experts']:,} experts, {record['rounds']:,} rounds"
    return Page("experts", title, f"{record['regret']:,.6g}", meaning, facts, sections)


_NUMBERS = frozenset({"loss", "weight"})


def _trust(key: str, weights: dict[str, Any]) -> Figure:
    rounds, lines = weights["round"], weights["lines"]
    said = "At the end: " + ", ".join(f"{line['name']} {line['weight'][-1]:.3f}" for line in lines) + "."
    with drawing(key, "Who was trusted when", said, size=(5.0, 4.0)) as shown:
        for i, line in enumerate(lines):
            label, colour = clipped(line["name"]), COLOURS[i % len(COLOURS)]
            shown.axes.plot(rounds, line["weight"], color=colour, linestyle=DASHES[i % len(DASHES)], label=label)
        _finish(shown, rounds, ylabel="weight", ylim=(-0.02, 1.02))
    columns = ["round", *(line["name"] for line in lines)]
    rows = [[f"{t:,}", *(f"{line['weight'][i]:.4f}" for line in lines)] for i, t in enumerate(rounds)]
    return shown.block(said, TableBlock("Weights", columns, rows, frozenset(columns)))


def _finish(shown: Drawing, rounds: Sequence[int], **axes: Any) -> None:
    """The axis of rounds, the names, the legend."""
    if rounds[-1] > rounds[0]:
        shown.axes.set_xscale("log")
    thousands(shown.axes.xaxis)
    shown.axes.set(xlabel="round", **axes)
    shown.legend(2)


def _regret(key: str, regret: dict[str, Any]) -> Figure:
    rounds = regret["round"]
    said = f"After {rounds[-1]:,} rounds the regret is {regret['regret'][-1]:,.6g}."
    bounds = [(t, bound) for t, bound in zip(rounds, regret["bound"], strict=True) if bound is not None]
    with drawing(key, "Regret under its bound", said, size=(5.0, 4.0)) as shown:
        shown.axes.plot(rounds, regret["regret"], color=COLOURS[0], label="regret")
        if bounds:
            shown.axes.plot(*zip(*bounds, strict=True), "--", color=COLOURS[1], label="its bound")
        shown.axes.axhline(0.0, color=INK, linewidth=0.8)
        _finish(shown, rounds, ylabel="loss above the best expert's")
    columns = ["round", "regret", "bound"]
    rows = [
        [f"{t:,}", f"{r:.6g}", "–" if b is None else f"{b:.6g}"]
        for t, r, b in zip(rounds, regret["regret"], regret["bound"], strict=True)
    ]
    caption = f"How much more was lost than the best expert lost, and what it could not exceed. {said}"
    return shown.block(caption, TableBlock("Regret", columns, rows, frozenset(columns)))
