"""The figures of the watched model that is deployed: its rates, its ROC curve, and how its probabilities came true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from onepass.certificates import Certificate, round_down, round_up
from onepass.certificates.rates import Rate, Rates
from onepass.certificates.rounding import probability_text
from onepass.certificates.target import FALSE_ALARM, MISS
from onepass.certificates.threshold import Threshold
from onepass.report.charts import clipped, label_text
from onepass.report.page import Figure, TableBlock
from onepass.report.style import COLOURS
from onepass.report.svg import GREY, INK, drawing

SHOWN = 8  # rates of several classes that are drawn; the table has all
NAMES = {"miss": "miss rate", "false alarm": "false-alarm rate", "joint miss": "misjudged rows"}


def rate_name(rate: Rate) -> str:
    """Which rate, of which class."""
    name = NAMES.get(rate.name, rate.name)
    return name if rate.label is None else f"{name} of {label_text(rate.label)}"


def rates(key: str, found: Rates) -> Figure:
    """Observed shares beside their bounds; where a bound is from below, what lacks to 1 is drawn."""
    drawn = sorted(found.rates, key=lambda rate: -rate.bound)[:SHOWN] if len(found.rates) > SHOWN else found.rates
    together = f"With probability {probability_text(found.delta)} all {len(found.rates)} hold together."
    with drawing(key, "Rates and their bounds", together, size=(5.0, max(2.4, 0.9 + 0.42 * len(drawn)))) as shown:
        axes, places = shown.axes, list(range(len(drawn)))[::-1]
        seen = [0.0 if math.isnan(rate.observed) else _lack(rate, rate.observed) for rate in drawn]
        hatched = {"color": "none", "edgecolor": COLOURS[1], "hatch": "////"}
        axes.barh([p + 0.2 for p in places], seen, 0.38, color=COLOURS[0], label="observed")
        bounds = [_lack(rate, rate.bound) for rate in drawn]
        axes.barh([p - 0.2 for p in places], bounds, 0.38, label="certified, at most", **hatched)
        names = [("" if rate.at_most else "1 − ") + rate_name(rate) for rate in drawn]
        axes.set_yticks(places, [clipped(name) for name in names])
        axes.grid(axis="y", visible=False)
        axes.set_xlim(left=0.0)
        axes.set(xlabel="share of the rows that it counts")
        shown.legend(2)
    columns = ["rate", "certified", "observed", "rows counted"]
    rows = [[rate_name(rate), *_cells(rate)] for rate in found.rates]
    caption = f"{together} {_of_what(found)} The certificate of the risk has a delta of its own."
    return shown.block(caption, TableBlock("Rates and their bounds", columns, rows, frozenset(columns[1:])))


def _of_what(found: Rates) -> str:
    """What they speak of, and what is drawn."""
    if found.covers == "members":
        return (
            "They are of the ensemble's members, on average: the share of all rows that are of the class and are "
            "called otherwise. Nothing follows for the averaged model."
        )
    return (
        f"Counted on the rows after round {found.frozen or 0:,}, at which the model was frozen. Precision and F1 are "
        "bounded from below: drawn is what lacks to 1."
    )


def _lack(rate: Rate, value: float) -> float:
    return value if rate.at_most else max(0.0, 1.0 - value)


def _cells(rate: Rate) -> list[str]:
    bound = f"≤ {round_up(rate.bound)}" if rate.at_most else f"≥ {round_down(rate.bound)}"
    observed = "–" if math.isnan(rate.observed) else f"{rate.observed:.4f}"
    return [bound if rate.informative else "nothing yet", observed, f"{rate.counted:,}"]


def roc(key: str, scores: dict[str, Any], certificate: Certificate) -> Figure:
    """What was observed at every border of the scores; what is certified of the one that is used."""
    alarms, hits = scores["false_alarm"], [1.0 - miss for miss in scores["miss"]]
    own, kept = scores["own"], certificate.threshold
    name = "threshold" if kept is not None and kept.reached else "model"
    yes = label_text(scores["positive"])
    said = "At no border were rows of both classes seen."
    if None not in own.values():
        said = f"The {name} has false alarms in {_percent(own['false_alarm'])} and misses {_percent(own['miss'])}."
    with drawing(key, "Observed ROC curve", said) as shown:
        axes = shown.axes
        axes.plot(alarms, hits, color=COLOURS[0], label="observed, on rows after the freezing")
        axes.plot([0.0, 1.0], [0.0, 1.0], ":", color=GREY, label="a guess")
        if None not in own.values():
            axes.plot([own["false_alarm"]], [1.0 - own["miss"]], "o", color=INK, markersize=6, label=f"the {name}")
        for x, y, words in certified_points(certificate):
            axes.plot([x], [y], "s", color=COLOURS[1], markersize=6, label=words)
        widest = _widest(alarms, hits, [own["false_alarm"] or 0.0, *(x for x, _, _ in certified_points(certificate))])
        axes.set(xlabel="false-alarm rate", ylabel=f"found of {clipped(yes)}")
        axes.set(xlim=(-0.02 * widest, 1.02 * widest), ylim=(-0.02, 1.02))
        shown.legend(1)
    columns = ["false-alarm rate", "found"]
    steps = [[f"{x:.4f}", f"{y:.4f}"] for x, y in zip(alarms, hits, strict=True)]
    caption = (
        f"Each point is one of the borders that were fixed when the model was frozen: how much of {yes} is found, and "
        f"how much of {label_text(scores['negative'])} is called so by mistake. {said} The curve itself is only what "
        "was seen; certified is the point that is marked so: the truth lies to the left of it and above."
    )
    return shown.block(caption, TableBlock("Observed ROC curve", columns, steps, frozenset(columns), folded=True))


def _widest(alarms: Sequence[float], hits: Sequence[float], points: Sequence[float]) -> float:
    """How far to the right there is something to see: all points, and the curve until it has found nearly all."""
    rising = [x for x, y in zip(alarms, hits, strict=True) if y >= 0.99]
    return min(1.0, max(0.02, 2.0 * max(points, default=0.0), 2.0 * min(rising, default=1.0)))


def certified_points(certificate: Certificate) -> list[tuple[float, float, str]]:
    """(false-alarm rate at most, share found at least, words) of what is certified."""
    kept = certificate.threshold
    if kept is not None and kept.reached:
        limits = _limits(kept)
        return [] if limits is None else [(limits[0], 1.0 - limits[1], "certified at the declared target")]
    found = {} if certificate.rates is None else {rate.name: rate for rate in certificate.rates.rates}
    if FALSE_ALARM not in found or MISS not in found:
        return []
    return [(found[FALSE_ALARM].bound, max(0.0, 1.0 - found[MISS].bound), "certified")]


def _limits(kept: Threshold) -> tuple[float, float] | None:
    """(false-alarm rate, miss rate) that are certified together; None where the target is a precision."""
    if kept.target.kind == FALSE_ALARM:
        return kept.target.limit, kept.other_bound
    return (kept.other_bound, kept.target.limit) if kept.target.kind == MISS else None


def reliability(key: str, found: dict[str, Any], several: bool) -> Figure:
    """What came, group by group of scores, beside how probable it was called; with the band that holds."""
    lines = [
        line
        for line in zip(*(found[name] for name in ("rows", "mean", "share", "lower", "upper")), strict=True)
        if line[0]
    ]
    what = "the predicted class was right" if several else "the second class came"
    together = f"With probability {probability_text(found['delta'])} all true shares lie within their bands."
    with drawing(key, "How probabilities came true", together) as shown:
        axes = shown.axes
        axes.plot([0.0, 1.0], [0.0, 1.0], ":", color=GREY, label="as it is called")
        if lines:
            _, mean, share, lower, upper = zip(*lines, strict=True)
            axes.vlines(mean, lower, upper, color=COLOURS[1], linewidth=1.2, label="band of the true share")
            axes.plot(mean, share, "o", color=COLOURS[0], markersize=5, label="observed share")
        axes.set(xlabel="probability that the model gives, on average", ylabel="share of the rows")
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        shown.legend(2)
    columns = ["probability given", "observed share", "at least", "at most", "rows"]
    rows = [[f"{m:.4f}", f"{s:.4f}", round_down(low), round_up(high), f"{n:,}"] for n, m, s, low, high in lines]
    caption = (
        f"Rows after the freezing in up to 16 groups by their score: how often {what}, against the probability that "
        f"`predict --proba` gives them. {together} Of the curve between them nothing is certified."
    )
    return shown.block(caption, TableBlock("How probabilities came true", columns, rows, frozenset(columns)))


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"


def figures(certificate: Certificate, deployed: dict[str, Any] | None, classes: Sequence[Any]) -> list[Figure]:
    """All that the record has of them."""
    drawn = []
    if certificate.rates is not None and certificate.rates.rates:
        drawn.append(rates("f6", certificate.rates))
    if deployed is not None and certificate.withheld is None:
        if "scores" in deployed:
            drawn.append(roc("f7", deployed["scores"], certificate))
        if "reliability" in deployed:
            drawn.append(reliability("f8", deployed["reliability"], len(classes) > 2))
    return drawn
