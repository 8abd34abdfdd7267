"""How the test of exchangeable rows went, drawn on a log axis, and the regimes that it found."""

from __future__ import annotations

from typing import Any

from onepass.guards.drift import LEVEL, SPOKEN, odds
from onepass.report.page import Figure, TableBlock
from onepass.report.style import COLOURS
from onepass.report.svg import GREY, INK, drawing, powers, thousands


def martingale(key: str, path: dict[str, list[Any]], regimes: list[dict[str, Any]]) -> Figure:
    """The evidence against exchangeable rows, row by row, and the levels at which it is told and counts."""
    rows, evidence = path["rows"], path["evidence"]
    largest = max(evidence)
    said = f"After {rows[-1]:,} rows it stands at {odds(evidence[-1])}; at these looks it was {odds(largest)} at most."
    if regimes:
        said = f"The certificate was started anew {len(regimes)} times. {said}"
    with drawing(key, "Are the rows exchangeable?", said) as shown:
        axes = shown.axes
        axes.plot(rows, evidence, color=COLOURS[0], label="evidence against it, to one")
        axes.axhline(SPOKEN, color=GREY, linewidth=0.8, linestyle=":", label=f"told from {SPOKEN:,.0f} on")
        axes.axhline(LEVEL, color=INK, linewidth=0.8, linestyle="--", label=f"no certificate from {LEVEL:,.0f} on")
        for i, regime in enumerate(regimes):
            name = "started anew" if i == 0 else None
            axes.axvline(regime["last"], color=COLOURS[1], linewidth=1.0, linestyle="-.", label=name)
        axes.set_yscale("log")
        if rows[-1] > rows[0]:
            axes.set_xscale("log")
        thousands(axes.xaxis)
        powers(axes.yaxis)
        axes.set(xlabel="row", ylabel="evidence, to one")
        shown.legend(2)
    table = [[f"{row:,}", f"{value:.4g}"] for row, value in zip(rows, evidence, strict=True)]
    caption = (
        "A martingale that bets on the ranks of the frozen models' scores: while rows are independent draws from one "
        f"distribution it reaches x, at any time, with probability at most 2/x. {said}"
    )
    return shown.block(
        caption, TableBlock("The martingale", ["row", "evidence"], table, frozenset(["row", "evidence"]))
    )


def regime_table(regimes: list[dict[str, Any]], rows: int, mistakes: int) -> TableBlock:
    """Each stretch between two alarms, the present one last."""
    columns = ["rows", "mistakes", "share", "ended by"]
    lines = []
    for regime in regimes:
        length = regime["last"] - regime["first"] + 1
        why = f"{odds(regime['evidence'])}, {regime['score']} scores, from row {regime['since']:,} on"
        share = f"{100 * regime['mistakes'] / length:.2f} %"
        lines.append([f"{regime['first']:,} – {regime['last']:,}", f"{regime['mistakes']:,}", share, why])
    first = regimes[-1]["last"] + 1
    share = f"{100 * mistakes / max(1, rows - first + 1):.2f} %"
    lines.append([f"{first:,} – {rows:,}", f"{mistakes:,}", share, "the present, of which the certificate speaks"])
    numbers = frozenset(["rows", "mistakes", "share"])
    return TableBlock("Regimes", columns, lines, numbers, frozenset({len(lines) - 1}))
