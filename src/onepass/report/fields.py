"""What the fields of a record must be, command by command, and the first that is not.

A shape is written as what it describes: {"rows": WHOLE, "title?": TEXT} is an object with the field rows, and perhaps
title; [WHOLE] is a list of whole numbers; and what is neither is a function of (value, where), which returns nothing or
raises WrongFieldError.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

Leaf = Callable[[Any, str], None]
Shape = Leaf | dict[str, Any] | list[Any]


class WrongFieldError(Exception):
    """The name of a field, and what it should have been."""


def check(shape: Shape, value: Any, where: str = "") -> None:
    """Raise WrongFieldError unless the value has this shape.

    >>> check({"rows": WHOLE, "names?": [TEXT]}, {"rows": 3, "names": ["a", 4]})
    Traceback (most recent call last):
    onepass.report.fields.WrongFieldError: 'names[1]' should be a text
    """
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise WrongFieldError(f"{where!r} should be a list")
        for i, item in enumerate(value):
            check(shape[0], item, f"{where}[{i}]")
    elif isinstance(shape, dict):
        TABLE(value, where)
        for key, part in shape.items():
            name = key.removesuffix("?")
            place = f"{where}.{name}" if where else name
            if name in value:
                check(part, value[name], place)
            elif name == key:
                raise WrongFieldError(f"{place!r} is missing")
    else:
        shape(value, where)


def _is(test: Callable[[Any], bool], words: str) -> Callable[[Any, str], None]:
    def leaf(value: Any, where: str) -> None:
        if not test(value):
            raise WrongFieldError(f"{where or 'record'!r} should be {words}")

    return leaf


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value) and abs(value) < 1e300)


WHOLE = _is(lambda value: _is_whole(value) and value >= 0, "a whole number of at least 0")
NUMBER = _is(_is_number, "a number")
AMOUNT = _is(lambda value: _is_number(value) and value >= 0, "a number of at least 0")
SHARE = _is(lambda value: _is_number(value) and 0 <= value <= 1, "a number from 0 to 1")
PROBABILITY = _is(lambda value: _is_number(value) and 0 < value < 1, "a number between 0 and 1")
TEXT = _is(lambda value: isinstance(value, str), "a text")
FLAG = _is(lambda value: isinstance(value, bool), "true or false")
LABEL = _is(lambda value: isinstance(value, str) or _is_number(value), "a label")
TABLE = _is(lambda value: isinstance(value, dict), "an object")


def maybe(shape: Shape) -> Shape:
    """That, or null."""
    return lambda value, where: None if value is None else check(shape, value, where)


def one_of(*words: str) -> Shape:
    return _is(lambda value: value in words if isinstance(value, str) else False, f"one of {', '.join(words)}")


def columns(**shapes: Shape) -> Leaf:
    """An object of lists of one length."""

    def whole(value: Any, where: str) -> None:
        check({name: [shape] for name, shape in shapes.items()}, value, where)
        _of_one_length(where, *(value[name] for name in shapes))

    return whole


def _of_one_length(where: str, *lists: list[Any]) -> None:
    if len({len(one) for one in lists}) > 1:
        raise WrongFieldError(f"{where!r} should hold lists of one length")


_RATES = {
    "delta": PROBABILITY,
    "price": SHARE,
    "parts": WHOLE,
    "frozen": maybe(WHOLE),
    "positive": maybe(LABEL),
    "covers": one_of("model", "members"),
    "rates": [
        {
            "name": one_of("miss", "false alarm", "precision", "F1", "balanced error", "joint miss"),
            "label": maybe(LABEL),
            "bound": AMOUNT,
            "at_most": FLAG,
            "observed": maybe(AMOUNT),
            "counted": WHOLE,
            "trivial": AMOUNT,
            "free": FLAG,
        }
    ],
}


_EVIDENCE = _is(lambda value: _is_number(value) and 0 < value < 1e299, "an evidence above 0")
_DRIFT = {
    **dict.fromkeys(("tested", "row", "since", "alarm"), WHOLE),
    "evidence": AMOUNT,
    "score": one_of("signed", "unsigned"),
    "unit": one_of("row", "chunk"),
    "now?": AMOUNT,
}


def _threshold(value: Any, where: str) -> None:
    """A threshold knows itself what it can be."""
    from onepass.certificates.threshold import Threshold
    from onepass.errors import ModelError

    try:
        Threshold.from_dict(value)
    except ModelError as error:
        raise WrongFieldError(f"{where!r} should be a threshold: {error}") from None


def _curve(value: Any, where: str) -> None:
    """The ROC curve: from all false alarms and no miss to all misses and no false alarm."""
    columns(false_alarm=SHARE, miss=SHARE)(value, where)
    check({"positive": LABEL, "negative": LABEL}, value, where)
    check({"own": {"false_alarm": maybe(SHARE), "miss": maybe(SHARE)}}, value, where)
    falling = all(a >= b for a, b in pairwise(value["false_alarm"]))
    if not falling or not all(a <= b for a, b in pairwise(value["miss"])):
        raise WrongFieldError(f"{where!r} should hold false alarms that fall and misses that rise")


def _reliability(value: Any, where: str) -> None:
    """Groups of scores: each share lies in its band."""
    columns(rows=WHOLE, share=maybe(SHARE), mean=maybe(SHARE), lower=SHARE, upper=SHARE)(value, where)
    check({"delta": PROBABILITY}, value, where)
    for rows, share, mean, lower, upper in zip(
        *(value[name] for name in ("rows", "share", "mean", "lower", "upper")), strict=True
    ):
        if (share is None) != (rows == 0) or (mean is None) != (rows == 0):
            raise WrongFieldError(f"{where!r} should have a share just where there are rows")
        if not lower <= (lower if share is None else share) <= upper:
            raise WrongFieldError(f"{where!r} should hold shares within their bands")


_CERTIFICATE: Shape = {
    "risk": maybe(NUMBER),
    "delta": NUMBER,
    "conversion": TEXT,
    "choice": {"value": maybe(WHOLE), "words": TEXT},
    "covers": one_of("model", "members"),
    "loss": one_of("zero_one", "hinge", "given", "cost"),
    "loss_bound": NUMBER,
    "bound": TEXT,
    "empirical": maybe(NUMBER),
    "counted": WHOLE,
    "rounds": WHOLE,
    "assumptions": [TEXT],
    "compacted": FLAG,
    "withheld": maybe(TEXT),
    "repeated?": maybe(NUMBER),
    "drift?": maybe(_DRIFT),
    "rates?": maybe(_RATES),
    "threshold?": maybe(_threshold),
}


_WHO = ("learner?", "encoding?", "entry?", "data?")  # whose conversion it is, of several


def _conversion(value: Any, where: str) -> None:
    check({"conversion": TEXT}, value, where)
    if "refused" in value:
        check({"refused": TEXT}, value, where)
    else:
        check(_CERTIFICATE, value, where)
        measured = dict.fromkeys(("true?", "test_error?", "test_hinge?"), maybe(NUMBER))
        check({"informative": FLAG, **measured, **dict.fromkeys(_WHO, TEXT)}, value, where)


_MADE: dict[str, Shape] = {
    "command?": TEXT,
    "data?": [{"size": WHOLE, "ends": TEXT, "path?": TEXT}],
    "options?": TABLE,
    "versions?": TABLE,
    "notes?": [TEXT],
}
_OF_PASS = {
    **_MADE,
    "watched?": {"conversion": TEXT, "delta": NUMBER, "bound": TEXT, "loss": TEXT},
    "history?": columns(rows=WHOLE, rounds=WHOLE, mistakes=WHOLE, loss=NUMBER, risk=maybe(NUMBER), choice=maybe(WHOLE)),
    "cutoffs?": columns(k=WHOLE, counted=WHOLE, loss=NUMBER, betting=NUMBER, dekel2008=NUMBER),
    "martingale?": columns(rows=WHOLE, evidence=_EVIDENCE),
    "survival?": columns(up_to=WHOLE, hypotheses=WHOLE, rounds=WHOLE),
    "conversions?": [_conversion],
    "baseline?": maybe({"label": LABEL, "share": SHARE, "rows": WHOLE}),
    "deployed?": maybe({"frozen": WHOLE, "rows": WHOLE, "scores?": _curve, "reliability?": _reliability}),
    "weights?": {
        "features": [{"name": TEXT, "weight": NUMBER, "towards": LABEL}],
        "non_zero": WHOLE,
        "intercept": [maybe(NUMBER)],  # null: of a class that the model never says
    },
}
_RACE: Shape = {
    "deployed": TEXT,
    "delta": PROBABILITY,
    "entries": [
        {
            "name": TEXT,
            **dict.fromkeys(("rows", "mistakes"), WHOLE),
            "delta": PROBABILITY,
            "risk": maybe(AMOUNT),
            "withheld": maybe(TEXT),
            "dropped": maybe(
                {
                    **dict.fromkeys(("row", "own", "other"), WHOLE),
                    "rival": TEXT,
                    **dict.fromkeys(("wealth", "needed"), NUMBER),
                    "reason?": maybe(TEXT),
                }
            ),
        }
    ],
}
_PASS: Shape = {
    **dict.fromkeys(("rows", "rounds", "mistakes"), WHOLE),
    "learner": TEXT,
    "classes": [LABEL],
    "certificate": _CERTIFICATE,
    "delta?": NUMBER,
    "features?": maybe(WHOLE),
    "target?": maybe(TEXT),
    "kinds?": [TEXT],
    "skipped?": WHOLE,
    "stopped?": FLAG,
    "regimes?": [
        {
            **dict.fromkeys(("first", "last", "mistakes", "since"), WHOLE),
            "evidence": AMOUNT,
            "score": one_of("signed", "unsigned"),
        }
    ],
    "race?": _RACE,
    "title?": TEXT,
    "details?": _OF_PASS,
}


def _trust(value: Any, where: str) -> None:
    """Weights over time: every line as long as the list of rounds."""
    check({"round": [WHOLE], "lines": [{"name": TEXT, "weight": [NUMBER]}]}, value, where)
    _of_one_length(where, value["round"], *(line["weight"] for line in value["lines"]))


_EXPERTS: Shape = {
    "rounds": WHOLE,
    "experts": WHOLE,
    "forecaster": TEXT,
    "best": TEXT,
    "mistakes": maybe(WHOLE),
    **dict.fromkeys(("loss", "bound", "regret", "best_loss"), NUMBER),
    "table": [{"expert": TEXT, "loss": NUMBER, "weight": NUMBER}],
    "sequence_loss?": NUMBER,
    "sequence_switches?": WHOLE,
    "tracking_bound?": NUMBER,
    "details?": {**_MADE, "regret?": columns(round=WHOLE, regret=NUMBER, bound=maybe(NUMBER)), "weights?": _trust},
}
_PLANE = {
    "points": columns(x=NUMBER, y=NUMBER, label=WHOLE),
    "centres": columns(x=NUMBER, y=NUMBER),
    "axes": [TEXT],
    "kept": TEXT,
}
_CLUSTERS = {
    **dict.fromkeys(("n_samples", "n_clusters", "n_iter", "n_features?"), WHOLE),
    "inertia": maybe(NUMBER),
    "sizes": [WHOLE],
    "inertias": [maybe(NUMBER)],
    "history?": [NUMBER],
    "quality?": maybe({"statement": TEXT}),
    "details?": {**_MADE, "plane?": _PLANE},
}
_ELBOW = {
    "n_samples": WHOLE,
    "k_range": [{"n_clusters": WHOLE, "inertia": NUMBER, "n_iter": WHOLE}],
    "details?": _MADE,
}


def _cluster(value: Any, where: str) -> None:
    check(_ELBOW if "k_range" in value else _CLUSTERS, value, where)
    if value.get("k_range") == []:
        raise WrongFieldError("'k_range' should not be empty")


def _series(value: Any, where: str) -> None:
    """A line: x and y of one length, and below and above it a band or nothing."""
    numbers: Shape = [maybe(NUMBER)]
    kinds = one_of("simulation", "theory", "reference")
    check({"label": TEXT, "kind": kinds, "x": [NUMBER], "y": numbers}, value, where)
    check({"low": maybe(numbers), "high": maybe(numbers)}, value, where)
    band = [value[name] for name in ("low", "high") if value[name] is not None]
    if len(band) == 1:
        raise WrongFieldError(f"{where!r} should hold lists of one length")
    _of_one_length(where, value["x"], value["y"], *band)


_NUMBERS = dict.fromkeys(("measured", "error", "expected", "tolerance"), NUMBER)
_PANEL = {
    **dict.fromkeys(("title", "x_label", "y_label"), TEXT),
    "y_scale": one_of("log", "linear"),
    "x_scale?": one_of("log", "linear"),
    "series": [_series],
}
_LAB: Shape = {
    "experiment": TEXT,
    "findings": [{"what": TEXT, "holds": FLAG, **_NUMBERS}],
    "details?": {**_MADE, "title?": TEXT, "panels?": [_PANEL]},
}
_CLAIM = {
    "name": one_of("risk", "mean cost", "miss", "false alarm", "precision", "F1"),
    "label": maybe(LABEL),
    "certified": maybe(AMOUNT),
    "observed": maybe(AMOUNT),
    **dict.fromkeys(("counted", "alarm", "since"), WHOLE),
    **dict.fromkeys(("lower", "upper", "evidence"), AMOUNT),
    "alarm_at": maybe(AMOUNT),
}
_POWER = maybe(_is(lambda value: _is_number(value) and abs(value) < 300, "a logarithm"))
_MONITOR: Shape = {
    **dict.fromkeys(("rows", "labelled"), WHOLE),
    "model": TEXT,
    "delta": PROBABILITY,
    "alarms": [TEXT],
    "risk": _CLAIM,
    "rates": [_CLAIM],
    "scores": maybe(
        {**dict.fromkeys(("seen", "alarm", "since"), WHOLE), "evidence": AMOUNT, "alarm_at": maybe(AMOUNT)}
    ),
    "details?": {**_MADE, "path?": columns(row=WHOLE, risk=_POWER, rates=_POWER, scores=_POWER)},
}
KINDS: dict[str, tuple[str, Shape]] = {  # command → the module that has its page, and what its record must hold
    "train": ("learning", _PASS),
    "compare": ("learning", _PASS),
    "demo": ("learning", _PASS),
    "model": ("learning", _PASS),
    "experts": ("experts", _EXPERTS),
    "cluster": ("cluster", _cluster),
    "lab": ("lab", _LAB),
    "monitor": ("monitor", _MONITOR),
}
