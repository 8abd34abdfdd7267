"""`onepass demo --all`: every conversion of two learners, on documents and on digits, with the truth beside it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from onepass.cli import pages, terminal

if TYPE_CHECKING:
    from onepass.cli.outputs import Output
    from onepass.history import History
    from onepass.passes import Pass

FRESH = 50_000  # documents on which the true risk is measured
PAIR = ("CCAT", "MCAT")
SCALE = 4.0  # rows for the margin learner, whose weights stay in the unit ball, are scaled up to reach a margin of 1


def show(documents: int, seed: int, delta: float, messages: terminal.Messages, page: Output | None) -> None:
    """Learn, measure, print both tables, and write the page if one is wanted."""
    from onepass.history import History

    perceptron, margin = passes(documents)
    history = None if page is None else History(perceptron)
    wire = newswire(documents, seed, delta, messages, runs=(history or perceptron, margin))
    hand = digits(delta)
    if history is not None:
        pages.write(_record(documents, history, wire, hand), page)
    if messages.as_json:
        terminal.print_json({"newswire": wire, "digits": hand})
        return
    if messages.quiet:
        return
    print_lines(f"{title(documents)}; true risk on {FRESH:,} fresh ones", wire, delta)
    print_lines("Digits: 1,297 images of ten digits; true risk on the other 500", hand, delta)


def title(documents: int) -> str:
    return f"Newswire: {documents:,} documents, {PAIR[0]} or {PAIR[1]}"


def passes(documents: int) -> tuple[Pass, Pass]:
    """A pass of the Perceptron and one of the margin-based Perceptron, from which every conversion can be had."""
    from onepass.passes import Pass

    kept: dict[str, Any] = {"classes": PAIR, "validation_fraction": 0.1, "expected_rows": documents}
    return Pass("perceptron", **kept), Pass("margin", radius=16.0 * SCALE, **kept)


def newswire(
    documents: int,
    seed: int,
    delta: float,
    messages: terminal.Messages,
    measured: int = FRESH,
    runs: tuple[Pass | History, Pass] | None = None,
) -> list[terminal.Record]:
    """One line per learner and conversion."""
    from onepass.datasets import Newswire

    wire = Newswire(seed)
    start = time.perf_counter()
    perceptron, margin = runs or passes(documents)
    with terminal.progress("learning (the first time also compiling)", documents, messages) as tick:
        done = 0
        for X, y in wire.stream(documents, PAIR):
            perceptron.feed(X, y)
            margin.feed(SCALE * X, y)
            done += len(y)
            tick(done, note=f"risk ≤ {perceptron.certificate().risk:.3f}")
    rate = 2 * documents / (time.perf_counter() - start)
    messages.note(f"{rate:,.0f} documents a second, drawing them included")
    fresh = wire.documents(documents, documents + measured, PAIR)
    with terminal.progress("measuring the truth", None, messages):
        scaled = SCALE * fresh[0], fresh[1]
        return lines("perceptron", perceptron, delta, fresh) + lines("margin", margin, delta, scaled)


def _record(
    documents: int, history: History, wire: list[terminal.Record], hand: list[terminal.Record]
) -> terminal.Record:
    """What the page shows: the Perceptron on the newswire, and every line of both tables."""
    from onepass.report import details
    from onepass.report.weights import heaviest

    lines = [{"data": "newswire", **line} for line in wire] + [{"data": "digits", **line} for line in hand]
    run, best = history.run, next(line for line in wire if line["conversion"] == "frozen")
    headline = run.certificate("frozen", delta=best["delta"])
    found = details.of_pass(run, history.finish(), headline) | {"conversions": lines}
    model: Any = run.model(headline)
    found["weights"] = heaviest(model.weights, run.classes, "feature {}".format)
    return {
        "command": "demo",
        "title": title(documents),
        **{name: getattr(run, name) for name in ("rows", "rounds", "mistakes")},
        "features": run.width,
        "classes": list(run.classes),
        "learner": repr(run.learner),
        "certificate": {name: best[name] for name in run.certificate().as_dict()},
        "details": found | pages.made(),
    }


def digits(delta: float) -> list[terminal.Record]:
    """The same for several classes."""
    from onepass.datasets import digits
    from onepass.passes import Pass

    X, y = digits()
    found = []
    for name, scale, radius in (("perceptron", 1.0, None), ("margin", SCALE, 5.0 * SCALE)):
        run = Pass(name, classes=range(10), validation_fraction=0.1, radius=radius, expected_rows=1297)
        run.feed(scale * X[:1297], y[:1297])
        found += lines(name, run, delta, (scale * X[1297:], y[1297:]))
    return found


def lines(name: str, run: Pass | History, delta: float, fresh: tuple[Any, Any]) -> list[terminal.Record]:
    """What each conversion of one of two runs certifies, ensembles first, and the true value of just that."""
    from onepass.conversions import CONVERSIONS

    trace = run.trace()
    found, judged = [], None
    for conversion in sorted(CONVERSIONS, key=lambda conversion: not CONVERSIONS[conversion].ensemble):
        certificate = run.certificate(conversion, delta=delta / (2 * len(CONVERSIONS)))
        model: Any = run.model(certificate)
        wrong = float((model.predict(fresh[0]) != fresh[1]).mean())
        if certificate.covers == "members":
            if judged is None:  # every hypothesis on its own: the dearest number here
                voted: Any = run.model("average", how="vote")
                judged = voted.member_errors(*fresh)
            q = CONVERSIONS[conversion].members(trace, certificate.choice.value)
            true = float(q @ judged / q.sum())
        else:
            true = wrong if certificate.loss == "zero_one" else hinge(model, *fresh)
        about = {"learner": name, **certificate.as_dict(), "informative": certificate.informative}
        found.append({**about, "true": true, "test_error": wrong})
    return found


def hinge(model: Any, X: Any, y: Any) -> float:
    """The average hinge loss on fresh rows."""
    scores = model.decision(X)
    codes = np.array([model.classes.index(label) for label in np.asarray(y).tolist()])
    if scores.ndim == 1:
        return float(np.maximum(0.0, 1.0 - (2 * codes - 1) * scores).mean())
    own = scores[np.arange(len(codes)), codes]
    scores[np.arange(len(codes)), codes] = -np.inf
    return float(np.maximum(0.0, 1.0 - own + scores.max(axis=1)).mean())


def print_lines(title: str, found: list[terminal.Record], delta: float) -> None:
    """The table on stdout."""
    from onepass.certificates.rounding import probability_text, round_up

    rows = [("learner", "conversion", "certified", "of", "true", "test error")]
    for line in found:
        risk = round_up(line["risk"]) if line["informative"] else "nothing yet"
        of = f"{'0-1' if line['loss'] == 'zero_one' else 'hinge'}, {line['covers']}"
        rows.append((line["learner"], line["conversion"], risk, of, f"{line['true']:.4f}", f"{line['test_error']:.4f}"))
    terminal.echo(title)
    terminal.print_table(rows, "<<><>")
    terminal.echo("true: of what `of` names; test error: of the model; nothing yet: no more than the loss's own bound")
    together = "every certified number above is at least the true one, all together"
    terminal.echo(f"With probability {probability_text(delta)} {together}.\n")
