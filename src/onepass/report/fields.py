"""What the fields of a record must be, command by command: small checks put together, each naming the field it refuses.

A check is a function of (value, where); it returns nothing, or raises WrongFieldError.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

Check = Callable[[Any, str], None]


class WrongFieldError(Exception):
    """The name of a field, and what it should have been."""


def _is(test: Callable[[Any], bool], words: str) -> Check:
    def check(value: Any, where: str) -> None:
        if not test(value):
            raise WrongFieldError(f"{where or 'record'!r} should be {words}")

    return check


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value) and abs(value) < 1e300)


WHOLE = _is(lambda value: _is_whole(value) and value >= 0, "a whole number of at least 0")
NUMBER = _is(_is_number, "a number")
TEXT = _is(lambda value: isinstance(value, str), "a text")
FLAG = _is(lambda value: isinstance(value, bool), "true or false")
LABEL = _is(lambda value: isinstance(value, str) or _is_number(value), "a label")
TABLE = _is(lambda value: isinstance(value, dict), "an object")


def maybe(check: Check) -> Check:
    """That, or null."""
    return lambda value, where: None if value is None else check(value, where)


def one_of(*words: str) -> Check:
    return _is(lambda value: value in words if isinstance(value, str) else False, f"one of {', '.join(words)}")


def listed(check: Check) -> Check:
    """A list of these."""

    def each(value: Any, where: str) -> None:
        if not isinstance(value, list):
            raise WrongFieldError(f"{where!r} should be a list")
        for i, item in enumerate(value):
            check(item, f"{where}[{i}]")

    return each


def filled(check: Check) -> Check:
    """A list of at least one of these."""

    def each(value: Any, where: str) -> None:
        listed(check)(value, where)
        if not value:
            raise WrongFieldError(f"{where!r} should not be empty")

    return each


def fields(needed: dict[str, Check], *, known: dict[str, Check] | None = None) -> Check:
    """An object with these fields, and those of `known` where they are there."""

    def each(value: Any, where: str) -> None:
        TABLE(value, where)
        for name, check in {**needed, **(known or {})}.items():
            place = f"{where}.{name}" if where else name
            if name in value:
                check(value[name], place)
            elif name in needed:
                raise WrongFieldError(f"{place!r} is missing")

    return each


def columns(**checks: Check) -> Check:
    """An object of lists of one length."""
    whole = fields({name: listed(check) for name, check in checks.items()})

    def each(value: Any, where: str) -> None:
        whole(value, where)
        if len({len(value[name]) for name in checks}) > 1:
            raise WrongFieldError(f"{where!r} should hold lists of one length")

    return each


_CERTIFICATE = fields(
    {
        "risk": maybe(NUMBER),
        "delta": NUMBER,
        "conversion": TEXT,
        "choice": fields({"value": maybe(WHOLE), "words": TEXT}),
        "covers": one_of("model", "members"),
        "loss": one_of("zero_one", "hinge", "given"),
        "loss_bound": NUMBER,
        "bound": TEXT,
        "empirical": maybe(NUMBER),
        "counted": WHOLE,
        "rounds": WHOLE,
        "assumptions": listed(TEXT),
        "compacted": FLAG,
        "withheld": maybe(TEXT),
    },
    known={"repeated": maybe(NUMBER)},
)


def _conversion(value: Any, where: str) -> None:
    fields({"conversion": TEXT})(value, where)
    if "refused" in value:
        TEXT(value["refused"], f"{where}.refused")
    else:
        _CERTIFICATE(value, where)
        measured = dict.fromkeys(("true", "test_error", "test_hinge"), maybe(NUMBER))
        fields({"informative": FLAG}, known={**measured, "learner": TEXT, "data": TEXT})(value, where)


_MADE: dict[str, Check] = {
    "command": TEXT,
    "data": listed(fields({"size": WHOLE, "ends": TEXT}, known={"path": TEXT})),
    "options": TABLE,
    "versions": TABLE,
    "notes": listed(TEXT),
}
_PASS = fields(
    {"rows": WHOLE, "rounds": WHOLE, "mistakes": WHOLE, "learner": TEXT, "classes": listed(LABEL)}
    | {"certificate": _CERTIFICATE},
    known={
        "delta": NUMBER,
        "features": maybe(WHOLE),
        "skipped": WHOLE,
        "stopped": FLAG,
        "title": TEXT,
        "details": fields(
            {},
            known=_MADE
            | {
                "watched": fields({"conversion": TEXT, "delta": NUMBER, "bound": TEXT, "loss": TEXT}),
                "history": columns(
                    rows=WHOLE, rounds=WHOLE, mistakes=WHOLE, loss=NUMBER, risk=maybe(NUMBER), choice=maybe(WHOLE)
                ),
                "cutoffs": columns(k=WHOLE, counted=WHOLE, loss=NUMBER, betting=NUMBER, dekel2008=NUMBER),
                "survival": columns(up_to=WHOLE, hypotheses=WHOLE, rounds=WHOLE),
                "conversions": listed(_conversion),
                "weights": fields(
                    {
                        "features": listed(fields({"name": TEXT, "weight": NUMBER, "towards": LABEL})),
                        "non_zero": WHOLE,
                        "intercept": listed(NUMBER),
                    }
                ),
            },
        ),
    },
)


def _trust(value: Any, where: str) -> None:
    """Weights over time: every line as long as the list of rounds."""
    fields({"round": listed(WHOLE), "lines": listed(fields({"name": TEXT, "weight": listed(NUMBER)}))})(value, where)
    if any(len(line["weight"]) != len(value["round"]) for line in value["lines"]):
        raise WrongFieldError(f"{where!r} should hold lists of one length")


_EXPERTS = fields(
    {"rounds": WHOLE, "experts": WHOLE, "forecaster": TEXT, "best": TEXT, "mistakes": maybe(WHOLE)}
    | dict.fromkeys(("loss", "bound", "regret", "best_loss"), NUMBER)
    | {"table": listed(fields({"expert": TEXT, "loss": NUMBER, "weight": NUMBER}))},
    known={
        "sequence_loss": NUMBER,
        "sequence_switches": WHOLE,
        "tracking_bound": NUMBER,
        "details": fields(
            {}, known={**_MADE, "regret": columns(round=WHOLE, regret=NUMBER, bound=maybe(NUMBER)), "weights": _trust}
        ),
    },
)
_PLANE = fields(
    {
        "points": columns(x=NUMBER, y=NUMBER, label=WHOLE),
        "centres": columns(x=NUMBER, y=NUMBER),
        "axes": listed(TEXT),
        "kept": TEXT,
    }
)
_CLUSTERS = fields(
    {"n_samples": WHOLE, "n_clusters": WHOLE, "inertia": maybe(NUMBER), "n_iter": WHOLE}
    | {"sizes": listed(WHOLE), "inertias": listed(maybe(NUMBER))},
    known={
        "n_features": WHOLE,
        "history": listed(NUMBER),
        "quality": maybe(fields({"statement": TEXT})),
        "details": fields({}, known={**_MADE, "plane": _PLANE}),
    },
)
_ELBOW = fields(
    {"n_samples": WHOLE, "k_range": filled(fields({"n_clusters": WHOLE, "inertia": NUMBER, "n_iter": WHOLE}))},
    known={"details": fields({}, known=_MADE)},
)


def _cluster(value: Any, where: str) -> None:
    (_ELBOW if "k_range" in value else _CLUSTERS)(value, where)


def _series(value: Any, where: str) -> None:
    """A line: x and y of one length, and below and above it a band or nothing."""
    numbers = listed(maybe(NUMBER))
    kinds = one_of("simulation", "theory", "reference")
    fields({"label": TEXT, "kind": kinds, "x": listed(NUMBER), "y": numbers})(value, where)
    fields({"low": maybe(numbers), "high": maybe(numbers)})(value, where)
    band = [value[name] for name in ("low", "high") if value[name] is not None]
    if len(band) == 1 or any(len(line) != len(value["x"]) for line in (value["y"], *band)):
        raise WrongFieldError(f"{where!r} should hold lists of one length")


_NUMBERS = dict.fromkeys(("measured", "error", "expected", "tolerance"), NUMBER)
_PANEL = fields(
    {"title": TEXT, "x_label": TEXT, "y_label": TEXT, "y_scale": one_of("log", "linear"), "series": listed(_series)}
)
_LAB = fields(
    {"experiment": TEXT, "findings": listed(fields({"what": TEXT, "holds": FLAG, **_NUMBERS}))},
    known={"details": fields({}, known={**_MADE, "title": TEXT, "panels": listed(_PANEL)})},
)
KINDS: dict[str, tuple[str, Check]] = {  # command → the module that has its page, and what its record must hold
    "train": ("learning", _PASS),
    "compare": ("learning", _PASS),
    "demo": ("learning", _PASS),
    "model": ("learning", _PASS),
    "experts": ("experts", _EXPERTS),
    "cluster": ("cluster", _cluster),
    "lab": ("lab", _LAB),
}
