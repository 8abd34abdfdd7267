"""What a page shows of a pass beyond its certificate, as plain values: no drawing here, and nothing that JSON lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onepass.certificates import Certificate, betting, certified_loss, dekel2008, dekel2008_a
from onepass.conversions import CONVERSIONS
from onepass.errors import ConversionError
from onepass.history import Point
from onepass.passes import Pass
from onepass.report.deployed import baseline, of_candidate
from onepass.trace import Evidence
from onepass.trace.grid import point

HEAVIEST = 20  # weights shown
MOST_CUTOFFS = 64  # points of the curve over k


def of_pass(run: Pass, points: Sequence[Point], certificate: Certificate | None = None) -> dict[str, Any]:
    """History, bound against k, survival times, every conversion and the deployed model of a pass.

    `certificate`: the one that the page speaks of; None: the pass's own.

    >>> run = Pass()
    >>> run.feed([[1.0], [-1.0], [2.0], [-2.0]], [1, 0, 1, 0])
    >>> found = of_pass(run, [])
    >>> sorted(found)
    ['baseline', 'conversions', 'cutoffs', 'deployed', 'history', 'survival', 'watched']
    >>> found["survival"]
    {'up_to': [1, 2], 'hypotheses': [2, 1], 'rounds': [2, 2]}
    """
    trace = run.trace()
    own = run.certificate()
    history = {name: [getattr(at, name) for at in points] for name in Point._fields}
    if own.loss == "cost":  # nobody counts what the hypotheses on the way would have cost
        history["loss"] = [at.mistakes / at.rounds for at in points]
    return {
        "watched": {name: getattr(own, name) for name in ("conversion", "delta", "bound", "loss")},
        "history": history,
        "cutoffs": cutoffs(trace, run.delta, run.loss),
        "survival": survival(trace),
        "conversions": conversions(run),
        "baseline": baseline(run),
        "deployed": of_candidate(run, certificate or own),
    }


def cutoffs(trace: Evidence, delta: float, loss: str | None = None) -> dict[str, list[Any]]:
    """For every cutoff k: the average loss of the rounds it counts, and what each theorem makes of it.

    All lines of one column hold together with probability 1 − δ: choosing among them is paid for.
    """
    loss = certified_loss(trace, "cutoff", loss)
    C = 1.0 if loss == "zero_one" else trace.terms.loss_bound or 1.0
    (block,) = CONVERSIONS["cutoff"].choices(trace, loss)
    shown = np.flatnonzero(block.rounds > 0)
    if shown.size > MOST_CUTOFFS:
        places = np.geomspace(1, shown.size, MOST_CUTOFFS).astype(np.int64) - 1
        shown = shown[np.unique(places)]
    a = dekel2008_a(trace.rounds, trace.terms.horizon, delta, family=True)
    rounds, losses = block.rounds[shown], block.losses[shown]
    bets = [betting(int(block.rounds[i]), block.bets[i], float(delta * block.price[i])) for i in shown]
    return {
        "k": block.value[shown].tolist(),
        "counted": rounds.tolist(),
        "loss": (C * losses / rounds).tolist(),
        "betting": (C * np.array(bets)).tolist(),
        "dekel2008": (C * dekel2008(rounds, losses, a)).tolist(),
    }


def survival(trace: Evidence) -> dict[str, list[int]]:
    """How many hypotheses lived for 1, 2, 3–4, 5–8, … rounds, and how many rounds were theirs.

    From the tally, which compaction keeps; the hypothesis still in use is counted with the rounds it has.
    """
    tally = trace.with_living()
    runs, rounds = tally.runs, tally.rounds
    busy = np.flatnonzero(runs)
    longest = point(int(busy[-1]) + 1) if busy.size else 1
    ends = [1 << e for e in range((longest - 1).bit_length() + 1)]
    octave = [point(i).bit_length() for i in range(int(busy[-1]) + 1 if busy.size else 0)]
    hypotheses, lived = np.zeros((2, len(ends)), dtype=np.int64)
    np.add.at(hypotheses, octave, runs[: len(octave)])
    np.add.at(lived, octave, rounds[: len(octave)])
    return {"up_to": ends, "hypotheses": hypotheses.tolist(), "rounds": lived.tolist()}


def conversions(run: Pass) -> list[dict[str, Any]]:
    """Every conversion that this pass can give, certified at δ divided by their number, so that all hold together."""
    able = [name for name in CONVERSIONS if _is_able(run, name)]
    return [certified(run, name, run.delta / len(able)) for name in able]


def _is_able(run: Pass, conversion: str) -> bool:
    trace = run.trace()
    try:
        next(CONVERSIONS[conversion].choices(trace, certified_loss(trace, conversion, run.loss)))
    except ConversionError:
        return False
    return not (CONVERSIONS[conversion].betting_only and run.bound == "dekel2008")


def certified(run: Pass, conversion: str, delta: float) -> dict[str, Any]:
    """The certificate of a conversion as plain values."""
    certificate = run.certificate(conversion, delta=delta)
    return {"informative": certificate.informative, **certificate.as_dict()}


def heaviest(weights: Any, classes: Sequence[Any], name: Callable[[int], str]) -> dict[str, Any]:
    """The features with the largest weights, the intercept apart; for several classes, by the largest of each.

    >>> heaviest(np.array([[0.5], [0.0], [-2.0], [1.0]]), ("no", "yes"), "feature {}".format)["features"]
    [{'name': 'feature 1', 'weight': -2.0, 'towards': 'no'}, {'name': 'feature 2', 'weight': 1.0, 'towards': 'yes'}]
    """
    body = np.asarray(weights)[1:]
    size = np.abs(body).max(axis=1, initial=0.0)
    used = int((size > 0.0).sum())
    largest = np.argpartition(-size, HEAVIEST - 1)[:HEAVIEST] if size.size > HEAVIEST else np.arange(size.size)
    order = sorted((int(f) for f in largest if size[f] > 0.0), key=lambda f: (-size[f], f))
    features = []
    for f in order:
        column = int(np.abs(body[f]).argmax())
        weight = float(body[f, column])
        towards = classes[column] if len(classes) > 2 else classes[-1 if weight > 0.0 else 0]
        features.append({"name": name(f), "weight": weight, "towards": towards})
    intercept = [float(value) for value in np.asarray(weights)[0]]
    return {"features": features, "non_zero": used, "intercept": intercept}


def feature_names(reading: dict[str, Any]) -> Callable[[int], str]:
    """From a feature's place to its name in the file: a column, or a number where there are no names.

    >>> name = feature_names({"format": "csv", "columns": ["age", "city"], "categorical": ["city"]})
    >>> name(0), name(9)
    ('age', 'hashed 8')
    >>> feature_names({"format": "svmlight"})(0)
    'feature 1'
    """
    form = reading.get("format")
    hashed = [str(column) for column in reading.get("categorical") or ()]
    columns = [str(column) for column in reading.get("columns") or ()]
    if form == "svmlight":
        start = 0 if reading.get("zero_based") else 1
        return lambda place: f"feature {place + start}"
    if form == "vw" or reading.get("text_column") is not None:
        return lambda place: f"hashed {place}"
    if not columns or not set(hashed) <= set(columns):
        return lambda place: f"feature {place}"
    numbers = [column for column in columns if column not in hashed]
    names = numbers + ([f"{column} missing" for column in numbers] if reading.get("missing") == "indicator" else [])
    return lambda place: names[place] if place < len(names) else f"hashed {place - len(names)}"
