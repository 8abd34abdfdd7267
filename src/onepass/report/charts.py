"""The figures of a pass, from plain values: each curve has a colour, a line style and a name of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from onepass.certificates import round_up
from onepass.errors import printable
from onepass.report.page import Figure, TableBlock
from onepass.report.style import COLOURS
from onepass.report.svg import GREY, INK, drawing, short, thousands

LOSSES = {"zero_one": "0-1 loss", "hinge": "hinge loss", "cost": "cost"}
LONGEST = 28  # characters of a name beside a bar


def over_rounds(
    key: str,
    history: dict[str, list[Any]],
    watched: dict[str, Any],
    frozen: int | None = None,
    baseline: dict[str, Any] | None = None,
) -> Figure:
    """The certificate and the average loss so far, round by round; where the deployed model was frozen; a baseline."""
    loss = LOSSES.get(watched["loss"], "loss")
    way = "share of mistakes so far" if watched["loss"] == "cost" else f"average {loss} so far"
    history, skipped = _present(history)
    rounds = history["rounds"]
    known = [(t, risk) for t, risk in zip(rounds, history["risk"], strict=True) if risk is not None]
    said = f"After {rounds[-1]:,} rounds the average loss is {history['loss'][-1]:.4g}"
    said += f" and the certificate {round_up(known[-1][1])}." if known else "; the certificate is withheld."
    if frozen:
        said += f" The model that is deployed was frozen after round {frozen:,}."
    if skipped:
        said += f" Rounds are counted from row {skipped + 1:,} on."
    guess = None if baseline is None or watched["loss"] != "zero_one" else 1.0 - baseline["share"]
    with drawing(key, "Certificate and loss over the rounds", said) as shown:
        axes = shown.axes
        if known:
            axes.plot(*zip(*known, strict=True), color=COLOURS[1], label="certified risk, at most")
        axes.plot(rounds, history["loss"], "--", color=COLOURS[0], label=way)
        lately = _lately(history) if watched["loss"] == "zero_one" else []
        if lately:
            axes.plot(*zip(*lately, strict=True), ":", color=GREY, label="mistakes since the look before")
        if guess is not None and baseline is not None:
            name = f"always {clipped(label_text(baseline['label']))}"
            axes.axhline(guess, color=COLOURS[2], linestyle="-.", linewidth=1.0, label=name)
        if frozen:
            axes.axvline(frozen, color=INK, linestyle=(0, (1, 2)), linewidth=1.0, label="the deployed model was frozen")
        shares = [] if guess is None else [guess]
        risks, rates = (risk for _, risk in known), (rate for _, rate in lately)
        _logarithmic(axes, rounds, [*history["loss"], *risks, *rates, *shares])
        axes.set(xlabel="round", ylabel=loss)
        shown.legend(1)
    rows = [
        [f"{t:,}", f"{m:,}", f"{l:.4f}", "withheld" if r is None else round_up(r), "–" if k is None else f"{k:,}"]
        for t, m, l, r, k in zip(
            *(history[name] for name in ("rounds", "mistakes", "loss", "risk", "choice")), strict=True
        )
    ]
    columns = ["round", "mistakes", "loss so far", "certified", "chosen"]
    certificate = (
        f"The certificate ({watched['conversion']}, {watched['bound']}, delta = {watched['delta']:g}) holds at every "
        "round at once, so the whole curve may be read. "
    )
    caption = (
        f"{certificate if known else ''}"
        f"The loss is what the hypothesis of each round lost on an example it had not seen. {said}"
    )
    if guess is not None and baseline is not None:
        caption += f" Who always says {label_text(baseline['label'])} errs in {_percent(guess)} of the rows."
    table = TableBlock("Certificate and loss over the rounds", columns, rows, frozenset(columns))
    return shown.block(caption, table)


def _present(history: dict[str, list[Any]]) -> tuple[dict[str, list[Any]], int]:
    """The looks since rounds were last counted anew, and the rows before them.

    A restart after a drift counts anew; so does a race, once its leader is an entry that learned nothing from the rows
    that only told what the columns are.
    """
    rounds = history["rounds"]
    start = max((i for i in range(1, len(rounds)) if rounds[i] < rounds[i - 1]), default=0)
    skipped = history["rows"][start] - rounds[start] if start else 0
    return {name: values[start:] for name, values in history.items()}, skipped


def _lately(history: dict[str, list[Any]]) -> list[tuple[int, float]]:
    """Mistakes per round between looks; only where a stretch is long enough to mean something, and none is without."""
    rounds, mistakes = history["rounds"], history["mistakes"]
    stretches = zip(rounds, rounds[1:], mistakes, mistakes[1:], strict=False)
    rates = [(end, (b - a) / (end - start)) for start, end, a, b in stretches if end - start >= 16]
    return [(end, rate) for end, rate in rates if rate > 0.0]


def against_k(key: str, cutoffs: dict[str, list[Any]], watched: dict[str, Any]) -> Figure:
    """What each theorem says for every cutoff k, above the loss of the rounds that it counts."""
    k, bound = cutoffs["k"], watched["bound"]
    own = cutoffs[bound if bound in cutoffs else "betting"]
    best = min(range(len(k)), key=lambda i: (own[i], k[i]))
    said = f"The smallest bound ({bound}) is {round_up(own[best])}, at k = {k[best]:,}."
    loss = LOSSES.get(watched["loss"], "loss")
    with drawing(key, "Bound against the cutoff k", said) as shown:
        axes = shown.axes
        axes.plot(k, cutoffs["dekel2008"], "-.", color=COLOURS[2], label="bound, dekel2008")
        axes.plot(k, cutoffs["betting"], color=COLOURS[1], label="bound, betting")
        axes.plot(k, cutoffs["loss"], "--", color=COLOURS[0], label=f"average {loss} counted")
        axes.plot([k[best]], [own[best]], "o", color=INK, markersize=6, label=f"smallest, k = {k[best]:,}")
        axes.set_xscale("symlog", linthresh=1)
        thousands(axes.xaxis)
        everything = [*cutoffs["dekel2008"], *cutoffs["betting"], *cutoffs["loss"]]
        if all(value > 0.0 for value in everything):
            axes.set_yscale("log")
            thousands(axes.yaxis)
        axes.set(xlabel="cutoff k", ylabel=loss)
        axes.set_xlim(left=-0.1)
        shown.legend(2)
    rows = [
        [f"{k:,}", f"{n:,}", f"{l:.4f}", round_up(b), round_up(d)]
        for k, n, l, b, d in zip(
            *(cutoffs[name] for name in ("k", "counted", "loss", "betting", "dekel2008")), strict=True
        )
    ]
    columns = ["k", "rounds counted", "loss", "betting", "dekel2008"]
    caption = (
        "A hypothesis counts for the rounds it survived beyond k: a small k counts many rounds and many poor "
        f"hypotheses, a large k few rounds and good ones. {said} Each bound pays for the choice of k, so all its "
        "points hold together."
    )
    table = TableBlock("Bound against the cutoff", columns, rows, frozenset(columns), frozenset({best}))
    return shown.block(caption, table)


def survival_times(key: str, survival: dict[str, list[int]]) -> Figure:
    """How many hypotheses lived how long, beside the rounds that were theirs."""
    ends, hypotheses, rounds = (survival[name] for name in ("up_to", "hypotheses", "rounds"))
    all_hypotheses, all_rounds = max(1, sum(hypotheses)), max(1, sum(rounds))
    names = [short(end) if end <= 2 else f"{short(end // 2 + 1)}–{short(end)}" for end in ends]
    half = next((end for i, end in enumerate(ends) if 2 * sum(rounds[: i + 1]) >= all_rounds), ends[-1])
    said = (
        f"{sum(hypotheses):,} hypotheses in {sum(rounds):,} rounds; those that lived at most {half:,} rounds made up "
        f"{_percent(sum(h for h, end in zip(hypotheses, ends, strict=True) if end <= half) / all_hypotheses)} of them "
        f"and half of the rounds."
    )
    with drawing(key, "How long hypotheses lived", said) as shown:
        axes, places = shown.axes, range(len(ends))
        share = [100 * h / all_hypotheses for h in hypotheses]
        lived = [100 * n / all_rounds for n in rounds]
        hatched = {"color": "none", "edgecolor": COLOURS[1], "hatch": "////"}
        axes.bar([p - 0.2 for p in places], share, 0.4, color=COLOURS[0], label="of the hypotheses")
        axes.bar([p + 0.2 for p in places], lived, 0.4, label="of the rounds", **hatched)
        axes.set_xticks(list(places), [short(end) for end in ends], rotation=0 if len(ends) < 9 else 45)
        axes.grid(axis="x", visible=False)
        axes.set(xlabel="survived at most so many rounds", ylabel="per cent")
        shown.legend(2)
    rows = [
        [name, f"{h:,}", _percent(h / all_hypotheses), f"{n:,}", _percent(n / all_rounds)]
        for name, h, n in zip(names, hypotheses, rounds, strict=True)
    ]
    columns = ["rounds survived", "hypotheses", "share", "their rounds", "share of rounds"]
    caption = f"{said} Good hypotheses survive: this is what cutoff averaging counts."
    table = TableBlock("Survival times", columns, rows, frozenset(columns))
    return shown.block(caption, table)


def heaviest(key: str, features: Sequence[dict[str, Any]]) -> Figure:
    """The largest weights as bars."""
    shown_features = list(features)[::-1]
    first = features[0]
    said = f"The heaviest is {first['name']} with {first['weight']:.4g}, towards {label_text(first['towards'])}."
    height = max(2.0, 0.55 + 0.24 * len(shown_features))
    with drawing(key, "Heaviest weights", said, size=(5.0, height)) as shown:
        axes, places = shown.axes, list(range(len(shown_features)))
        weights = [feature["weight"] for feature in shown_features]
        axes.barh(places, [max(w, 0.0) for w in weights], 0.7, color=COLOURS[0])
        axes.barh(places, [min(w, 0.0) for w in weights], 0.7, color="none", edgecolor=COLOURS[1], hatch="////")
        axes.axvline(0.0, color=INK, linewidth=0.8)
        axes.set_yticks(places, [clipped(feature["name"]) for feature in shown_features])
        axes.grid(axis="y", visible=False)
        axes.margins(y=0.01)
        axes.set(xlabel="weight")
    caption = f"{said} Solid bars are positive, hatched ones negative."
    return shown.block(caption)


_WHO = ("learner", "encoding", "conversion")


def certified_and_measured(key: str, lines: Sequence[dict[str, Any]], measure: str, words: str) -> Figure:
    """For every conversion what is certified, and what was measured."""
    names = [", ".join(str(line[name]) for name in _WHO if name in line) for line in lines]
    alike = [measure != "test_error" or line["covers"] == "model" for line in lines]
    comparable = [line for line, same in zip(lines, alike, strict=True) if same]
    inside = sum(line[measure] <= line["risk"] for line in comparable)
    said = f"In {inside} of {len(comparable)} conversions the {words} lies below what is certified."
    if measure == "empirical":
        said = "The distance is what it costs to be sure, and to have chosen."
    elif not all(alike):
        said += " (Where the certificate speaks of an ensemble's members, an error of the model is another thing.)"
    with drawing(key, "What each conversion certifies", said, size=(5.0, max(3.4, 0.9 + 0.24 * len(names)))) as shown:
        axes, places = shown.axes, list(range(len(names)))[::-1]
        risks, measured = [line["risk"] for line in lines], [line[measure] for line in lines]
        axes.hlines(places, measured, risks, color=GREY, linewidth=1.0)
        axes.plot(risks, places, "<", color=COLOURS[1], label="certified, at most")
        axes.plot(measured, places, "o", color=COLOURS[0], label=words)
        axes.set_yticks(places, [clipped(name) for name in names])
        axes.margins(y=0.08)
        if all(value > 0.0 for value in measured):
            axes.set_xscale("log")
        thousands(axes.xaxis)
        kinds = {line["loss"] for line in lines}
        axes.set(xlabel=LOSSES.get(kinds.pop(), "loss") if len(kinds) == 1 else "loss")
        shown.legend(2)
    columns = ["conversion", "certified", words]
    rows = [[name, round_up(r), f"{m:.4f}"] for name, r, m in zip(names, risks, measured, strict=True)]
    table = TableBlock("What each conversion certifies", columns, rows, frozenset(columns[1:]))
    return shown.block(said, table)


def label_text(label: Any) -> str:
    """A label as it stood in the file: 1, not 1.0."""
    return printable(label) if isinstance(label, str) else f"{label:.17g}"


def _logarithmic(axes: Any, rounds: Sequence[int], values: Sequence[float]) -> None:
    if rounds[-1] > rounds[0]:
        axes.set_xscale("log")
    if all(value > 0.0 and math.isfinite(value) for value in values):
        axes.set_yscale("log")
    thousands(axes.xaxis)
    thousands(axes.yaxis)


def clipped(name: str) -> str:
    """A name short enough to stand beside a line or a bar."""
    text = printable(name)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
