"""The page of a pass: of `train`, `compare` and `demo`, or of a model file alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from onepass.certificates import Certificate, round_up
from onepass.certificates.rounding import probability_text
from onepass.report import charts, deployed_charts, drift
from onepass.report.charts import label_text
from onepass.report.origin import origin
from onepass.report.page import Bullets, Figure, Half, Page, Section, TableBlock, Text, Warn
from onepass.standings import dropped_words

MEASURES = {"true": "true", "test_error": "test error", "test_hinge": "test hinge"}


def page(record: dict[str, Any]) -> Page:
    """The page of what `train`, `compare` or `demo` found."""
    details = record.get("details", {})
    certificate = Certificate.from_dict(record["certificate"])
    sections = [_certified(record, certificate, details)]
    if "history" not in details:
        sections.append(Section("Curves", [Text(_NO_HISTORY if "workers" in record else _NO_CURVES)]))
    else:
        watched = details.get("watched", record["certificate"])
        sections.append(_on_the_way(details, watched, certificate, record.get("regimes", [])))
    if record.get("race"):
        sections.append(_race(record["race"]))
    if record.get("regimes"):
        regimes = drift.regime_table(record["regimes"], record["rows"], record["mistakes"])
        sections.append(Section("Regimes", [Text(_REGIMES), regimes]))
    figures = deployed_charts.figures(certificate, details.get("deployed"), record["classes"])
    if figures:
        sections.append(Section("The model that is deployed", figures))
    if details.get("conversions"):
        sections.append(_conversions(details["conversions"], certificate, record["command"]))
    if details.get("weights"):
        sections.append(_weights(details["weights"], certificate.conversion, len(record["classes"]) > 2))
    if record.get("kinds"):
        said = Text("By a look at the first rows, unless it was declared:")
        sections.append(Section("What the columns were taken for", [said, Bullets(record["kinds"])]))
    sections += [Section("The words on this page", [Bullets(_WORDS)]), origin(details)]
    number, meaning = _headline(certificate)
    if "delta" in record and details.get("conversions") and certificate.withheld is None:
        several = sum("refused" not in line for line in details["conversions"])
        meaning += (
            f" All {several} certificates below hold together with probability {probability_text(record['delta'])}."
        )
    return Page(record["command"], _title(record, details), number, meaning, _facts(record), sections)


_WORDS = (
    "Round: one row, predicted by the hypothesis of that moment before it was learned from. A mistake in it was a "
    "mistake on a row not seen before, which is what certificates are made of.",
    "0-1 risk: how often a fresh row is predicted wrong; 0.05 is 5 in 100. Hinge risk: the average of how far fresh "
    "rows fall short of a margin of 1; it is at least the 0-1 risk.",
    "Conversion: how the sequence of hypotheses becomes one model. Cutoff averages those that survived k rounds, "
    "each for its rounds beyond k; frozen takes one of the averages that were frozen on the way (four in each doubling "
    "of the rounds) and watched on the rows that came later, so that its certificate can lie below the loss of the "
    "whole run.",
    "Miss rate of a class: the share of its rows that are called otherwise. False-alarm rate: the share of the other "
    "class's rows that are called so. Precision: of the rows called so, the share that are. F1: of precision and what "
    "is found, the harmonic mean. Balanced error: the mean of the classes' miss rates.",
    "Of this model: of what predicts. Of the members: of the hypotheses that were averaged, taken together.",
    "Betting, dekel2008: the theorem behind the number. Certified, at most: it fails with probability delta, over "
    "the draw of the rows; the risk itself is usually smaller.",
)


_REGIMES = (
    "Each time that rows were seen to drift the certificate was started anew, with its own share of delta, and the "
    "learner went on: what is certified speaks of the present regime alone."
)
_NO_HISTORY = (
    "Workers learn side by side and send what certificates need, not how they came there: the curves over rounds and "
    "cutoffs are those of a run in one process."
)
_NO_CURVES = (
    "The curves over rounds and cutoffs are not in this file: a model holds what is needed to predict, not how it came "
    "about. Train with --report page.html, or hand over what --json or --jsonl printed."
)


def _title(record: dict[str, Any], details: dict[str, Any]) -> str:
    files = [known["path"] for known in details.get("data", ()) if known.get("path")]
    if record.get("title"):
        return str(record["title"])
    learner = record["learner"].partition("(")[0]
    if not files:
        return f"{learner} on {record['rows']:,} rows"
    rest = f" and {len(files) - 2} more" if len(files) > 2 else ""
    return f"{learner} on {', '.join(files[:2])}{rest}"


def _race(race: dict[str, Any]) -> Section:
    """Who took part, and what became of each."""
    rows = []
    for entry in race["entries"]:
        risk = "none" if entry["risk"] is None else f"≤ {round_up(entry['risk'])}"
        told = "deployed" if entry["name"] == race["deployed"] else ""
        told = told if entry["dropped"] is None else dropped_words(entry["dropped"])
        rows.append([entry["name"], risk, f"{entry['rows']:,}", f"{entry['mistakes']:,}", told])
    caption = (
        f"All learned from the same rows, each certified at delta = {race['entries'][0]['delta']:.4g}, so that all "
        f"certificates hold together with probability {probability_text(race['delta'])}, whichever is deployed."
    )
    columns = ("entry", "certified", "rows", "mistakes", "outcome")
    return Section("The race", [TableBlock(caption, columns, rows, frozenset(columns[1:4]))])


def _headline(certificate: Certificate) -> tuple[str, str]:
    if certificate.withheld is not None:
        return "no certificate", certificate.withheld
    if not certificate.informative:
        return "nothing yet", str(certificate)
    return f"≤ {round_up(certificate.risk)}", str(certificate).partition(" Assumed: ")[0]


def _facts(record: dict[str, Any]) -> list[tuple[str, str]]:
    rounds, mistakes = record["rounds"], record["mistakes"]
    labels = [label_text(label) for label in record["classes"]]
    shown = ", ".join(labels[:6]) + (f", … ({len(labels)})" if len(labels) > 6 else "")
    facts = [("rows read", f"{record['rows']:,}"), ("rounds", f"{rounds:,}")]
    facts.append(("mistakes on the way", f"{mistakes:,} ({100 * mistakes / max(rounds, 1):.2f} %)"))
    if record.get("features") is not None:
        facts.append(("features", f"{record['features']:,}"))
    if record.get("target") is not None:
        facts.append(("column of the labels", record["target"]))
    facts += [("labels", shown), ("learner", record["learner"])]
    if record.get("skipped"):
        facts.append(("bad lines left out", f"{record['skipped']:,}"))
    return facts


def _certified(record: dict[str, Any], certificate: Certificate, details: dict[str, Any]) -> Section:
    blocks: list[Any] = []
    if certificate.withheld is not None:
        blocks.append(Warn(f"No certificate: {certificate.withheld}."))
        blocks.append(Text("Something that a certificate assumes is known to be false here, so none is given."))
    else:
        blocks.append(Text("What is assumed, and cannot be seen from the data alone:"))
        blocks.append(Bullets([f"{text[0].upper()}{text[1:]}." for text in certificate.assumptions if text]))
    if certificate.noticed:
        blocks.append(Warn(f"{certificate.noticed[0].upper()}{certificate.noticed[1:]}."))
    if record.get("skipped"):
        blocks.append(Warn(f"{record['skipped']:,} bad lines were left out."))
    if record.get("stopped"):
        blocks.append(Text("The run stopped as soon as the certified risk had reached --stop-at, which is allowed."))
    if certificate.threshold is not None and certificate.withheld is None:
        blocks.insert(0, Text(str(certificate.threshold)))
    C, L, repeated = certificate.loss_bound, certificate.empirical, certificate.repeated
    facts = [
        ["certified risk", "withheld" if math.isnan(certificate.risk) else round_up(certificate.risk)],
        ["fails with probability at most (delta)", f"{certificate.delta:.6g}"],
        ["loss", f"{charts.LOSSES.get(certificate.loss, certificate.loss)}, at most {C:.6g}"],
        ["speaks of", _SUBJECTS[certificate.covers]],
        ["theorem", certificate.bound],
        ["conversion", ", ".join(filter(None, (certificate.conversion, str(certificate.choice))))],
        ["average loss in the rounds counted", "–" if math.isnan(L) else f"{L:.6g}"],
        ["rounds counted", f"{certificate.counted:,} of {certificate.rounds:,}"],
        ["evidence against independent draws", certificate.tested],
        ["rows that equal an earlier one", "not counted" if repeated is None else f"{100 * repeated:.3g} %"],
    ]
    if certificate.covers == "members" and certificate.withheld is None:
        blocks.append(Text(_MEMBERS))
    notes = [str(note) for note in details.get("notes", ())]
    if notes:
        blocks += [Text("Noticed while reading:"), Bullets(notes)]
    table = TableBlock("The certificate, piece by piece", ["what", "value"], facts)
    return Section("What is certified, and what is assumed", [Half(blocks), Half([table])])


_MEMBERS = (
    "In 0-1 loss this speaks of the hypotheses that the model averages, not of the averaged vector that predicts: "
    "their weighted vote errs at most twice as often. The conversion frozen certifies the vector itself."
)


_SUBJECTS = {"model": "this model", "members": "the ensemble's members, on average"}


def _on_the_way(
    details: dict[str, Any], watched: dict[str, Any], certificate: Certificate, regimes: list[dict[str, Any]]
) -> Section:
    """Withheld: what a certificate said before rests on the same false assumption."""
    figures, history, certified = [], details["history"], certificate.withheld is None
    frozen = certificate.choice.value if certified and certificate.conversion == "frozen" else None
    if history["rounds"]:
        known = history if certified else {**history, "risk": [None] * len(history["risk"])}
        figures.append(charts.over_rounds("f1", known, watched, frozen, details.get("baseline")))
    if details.get("martingale", {}).get("rows"):
        figures.append(drift.martingale("drift", details["martingale"], regimes))
    if certified and details.get("cutoffs", {}).get("k"):
        figures.append(charts.against_k("f2", details["cutoffs"], watched))
    if details.get("survival", {}).get("up_to"):
        figures.append(charts.survival_times("f3", details["survival"]))
    if details.get("conversions"):
        figures += _measured(details["conversions"])
    return Section("In pictures", figures)


def _conversions(lines: Sequence[dict[str, Any]], certificate: Certificate, command: str) -> Section:
    blocks: list[Any] = [Text("One pass serves every conversion of its hypotheses into a model.")]
    for data in dict.fromkeys(line.get("data") for line in lines):
        group = [line for line in lines if line.get("data") == data]
        blocks.append(_conversion_table(group, "" if data is None else f"{data}: ", command, certificate.conversion))
    return Section("Conversions", blocks)


def _conversion_table(lines: Sequence[dict[str, Any]], name: str, command: str, own: str) -> TableBlock:
    """Certificates that are claimed together: what they fail by together is the sum of their deltas."""
    extra = [name for name in ("learner", "encoding") if any(name in line for line in lines)]
    measures = [measure for measure in MEASURES if any(line.get(measure) is not None for line in lines)]
    columns = [*extra, "conversion", "certified", "of", "chosen", "rounds counted", *(MEASURES[m] for m in measures)]
    rows, marked, told = [], set(), []
    for i, line in enumerate(lines):
        before = [str(line.get(column, "")) for column in extra]
        after = ["–" if line.get(measure) is None else f"{line[measure]:.4f}" for measure in measures]
        if "refused" in line:
            rows.append([*before, line["conversion"], "refused", line["refused"], "", "", *after])
            continue
        found = Certificate.from_dict(line)
        risk = "withheld" if found.withheld else round_up(found.risk) if found.informative else "nothing yet"
        of = f"{'0-1' if found.loss == 'zero_one' else found.loss}, {found.covers}"
        chosen = str(found.choice) or "–"
        rows.append([*before, found.conversion, risk, of, chosen, f"{found.counted:,}", *after])
        told.append(found)
        if command == "train" and found.conversion == own:
            marked.add(i)
    together = probability_text(sum(found.delta for found in told))
    caption = f"{name}each at its share of delta, so that all {len(told)} hold together with probability {together}"
    if told and all(found.withheld for found in told):
        caption = f"{name}all certificates are withheld: {told[0].withheld}"
    numbers = frozenset(["certified", "rounds counted", *(MEASURES[name] for name in measures)])
    return TableBlock(caption[0].upper() + caption[1:], columns, rows, numbers, frozenset(marked))


def _measured(lines: Sequence[dict[str, Any]]) -> list[Figure]:
    """Every conversion: what is certified, above what was measured of the same thing, or else the loss it rests on."""
    told = [line for line in lines if "refused" not in line and line["risk"] is not None]
    shown = [line for line in told if line.get("data") == told[0].get("data")]
    for measure, words in (("true", "true risk"), ("test_hinge", "test hinge loss"), ("test_error", "test error")):
        same = [line for line in shown if line.get(measure) is not None]
        if same:
            return [charts.certified_and_measured("f4", same, measure, words)]
    same = [line for line in shown if line["empirical"] is not None]
    return [charts.certified_and_measured("f4", same, "empirical", "average loss counted")] if same else []


def _weights(weights: dict[str, Any], conversion: str, several: bool) -> Section:
    features = weights["features"]
    if not features:
        return Section("Heaviest weights", [Text("All weights are zero.")])
    if several:  # a negative weight speaks against its class, and for none of the others
        features = [
            {**f, "towards": f"{'not ' if f['weight'] < 0 else ''}{label_text(f['towards'])}"} for f in features
        ]
    rows = [[f["name"], f"{f['weight']:.6g}", label_text(f["towards"])] for f in features]
    intercept = ", ".join("never said" if value is None else f"{value:.6g}" for value in weights["intercept"])
    caption = (
        f"The model by {conversion}: {len(features)} of {weights['non_zero']:,} weights that are not zero; "
        f"intercept {intercept}"
    )
    table = TableBlock(caption, ["feature", "weight", "towards"], rows, frozenset({"weight"}))
    return Section("Heaviest weights", [charts.heaviest("f5", features), Half([table])])
