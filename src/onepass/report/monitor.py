"""The page of a model in use: how the evidence against its certificate grew, on a log axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from onepass.certificates import round_down, round_up
from onepass.guards.drift import odds
from onepass.report.charts import label_text
from onepass.report.origin import origin
from onepass.report.page import Figure, Page, Section, TableBlock, Text, Warn
from onepass.report.style import COLOURS
from onepass.report.svg import INK, drawing, powers, thousands
from onepass.rows import Floats

LINES = {"risk": "risk", "rates": "rates, the largest", "scores": "scores"}
STYLES = ("-", "--", ":")
FEWER = 300  # points of a curve on a page


def path_of(path: Floats) -> dict[str, list[Any]]:
    """The looks of a monitor as plain values: log10 of the evidence; None where there is none."""
    columns = path.T.tolist()
    plain = [[value if math.isfinite(value) else None for value in column] for column in columns[1:]]
    return {"row": [int(row) for row in columns[0]], **dict(zip(LINES, plain, strict=True))}


def page(record: dict[str, Any]) -> Page:
    """The page of what `monitor` found."""
    more, alarms = record.get("details", {}), record["alarms"]
    risk = record["risk"]
    blocks: list[Any] = [Warn(f"Alarm: {', '.join(alarms)}.")] if alarms else []
    path = more.get("path", {})
    blocks += [_evidence("f1", path, record)] if path.get("row") else [Text("This file has no curve.")]
    facts = [
        ("rows watched", f"{record['rows']:,}"),
        ("with labels", f"{record['labelled']:,}"),
        ("probability of a false alarm, at most", f"{record['delta']:g}"),
    ]
    if risk["observed"] is not None:
        facts.append(("risk, observed", f"{risk['observed']:.4f}"))
        facts.append(("on average between", f"{round_down(risk['lower'])} and {round_up(risk['upper'])}"))
    sections = [
        Section("In pictures", blocks),
        Section("Claim by claim", [_claims(record)]),
        Section("What an alarm means", [Text(_MEANING), Text(_NOT_SEEN)]),
        origin(more),
    ]
    number = "alarm" if alarms else "no alarm"
    said = f"in {record['rows']:,} rows. " + (
        "What was certified is not true of them." if alarms else "No sign against what was certified."
    )
    return Page("monitor", f"{record['model']} in use", number, said, facts, sections)


_MEANING = (
    "Against each claim somebody bets, at odds that are fair while it is true. The evidence is how much the stake has "
    "grown; whatever the rows are, it reaches x with probability at most 1/x while the claim is true, at any time. "
    "The averages are over all rows watched: what the risk is at this moment nobody can say."
)
_NOT_SEEN = (
    "Not seen: a change that leaves both the scores and the mistakes alone; and rows whose labels were chosen by what "
    "they are."
)


def _claims(record: dict[str, Any]) -> TableBlock:
    columns = ["what", "certified", "observed", "on average between", "rows", "evidence", "alarm"]
    rows, marked = [], set()
    for i, one in enumerate([record["risk"], *record["rates"]]):
        name = one["name"] if one["label"] is None else f"{one['name']} of {label_text(one['label'])}"
        bound = "–" if one["certified"] is None else f"{one['certified']:.4f}"
        seen = "–" if one["observed"] is None else f"{one['observed']:.4f}"
        between = f"{round_down(one['lower'])} – {round_up(one['upper'])}"
        rows.append([name, bound, seen, between, f"{one['counted']:,}", _times(one["evidence"]), _rang(one)])
        if one["alarm"]:
            marked.add(i)
    if (scores := record["scores"]) is not None:
        rows.append(
            ["scores", "as in training", "–", "–", f"{record['rows']:,}", _times(scores["evidence"]), _rang(scores)]
        )
        if scores["alarm"]:
            marked.add(len(rows) - 1)
    numbers = frozenset(["certified", "observed", "rows", "evidence"])
    return TableBlock("What was certified, and what came", columns, rows, numbers, frozenset(marked))


def _times(evidence: float | None) -> str:
    return "–" if evidence is None else odds(evidence)


def _rang(one: dict[str, Any]) -> str:
    return f"row {one['alarm']:,}, from {one['since']:,} on" if one["alarm"] else "–"


def _evidence(key: str, path: dict[str, list[Any]], record: dict[str, Any]) -> Figure:
    kept = _thinned(len(path["row"]))
    rows = [path["row"][i] for i in kept]
    known = {name: [path[name][i] for i in kept] for name in LINES}
    known = {name: values for name, values in known.items() if any(value for value in values)}
    levels = {"risk": record["risk"]["alarm_at"], "scores": (record["scores"] or {}).get("alarm_at")}
    said = f"After {rows[-1]:,} rows: " + (", ".join(record["alarms"]) + " rang." if record["alarms"] else "no alarm.")
    with drawing(key, "Evidence against the certificate", said) as shown:
        for i, (name, values) in enumerate(known.items()):
            there = [(row, 10.0**value) for row, value in zip(rows, values, strict=True) if value is not None]
            shown.axes.plot(*zip(*there, strict=True), STYLES[i], color=COLOURS[i], label=LINES[name])
        for name in [name for name in known if levels.get(name) is not None]:
            shown.axes.axhline(levels[name], color=INK, linewidth=0.8, linestyle=(0, (1, 2)), label=f"alarm, {name}")
        shown.axes.set_yscale("log")
        if rows[-1] > rows[0]:
            shown.axes.set_xscale("log")
        thousands(shown.axes.xaxis)
        powers(shown.axes.yaxis)
        shown.axes.set(xlabel="row", ylabel="evidence, to one")
        shown.legend(2)
    columns = ["row", *(LINES[name] for name in known)]
    table = [[f"{row:,}", *(_power(values[i]) for values in known.values())] for i, row in enumerate(rows)]
    caption = f"How much a stake of 1 against each claim has become. {said}"
    return shown.block(caption, TableBlock("Evidence, row by row", columns, table, frozenset(columns), folded=True))


def _power(value: float | None) -> str:
    return "–" if value is None else f"{10.0**value:.3g}"


def _thinned(size: int) -> Sequence[int]:
    """At most so many places, the last among them."""
    return sorted({round(i * (size - 1) / max(1, min(size, FEWER) - 1)) for i in range(min(size, FEWER))})
