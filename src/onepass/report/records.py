"""What a page is made from: the object that a command prints with --json, the lines of --jsonl, or a model file.

Such a file may come from anywhere. Every field that a page uses is looked at before it is used, and what is wrong is
named; nothing in it is executed, and all of its texts are shown as text.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onepass.errors import DataError, printable
from onepass.report.page import Page

LARGEST = 1 << 28  # bytes of a file that is read
Check = Callable[[Any, str], None]


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The record in this file, its fields not yet checked: a model file, one JSON object, or JSON lines."""
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DataError(f"more than {LARGEST >> 20} MB: not what a command printed", path=os.fspath(path))
    if data[8:9] == b"{" and data[:1] != b"{":
        return of_model(path)
    return parse(data, os.fspath(path))


def parse(data: bytes, path: str) -> dict[str, Any]:
    """The object that --json printed, or the result among the lines of --jsonl.

    >>> parse(b'{"event": "progress"}\\n{"event": "result", "command": "train"}\\n', "run.jsonl")["command"]
    'train'
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("neither a model file nor JSON", path=path) from None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
        for line in reversed(text.splitlines()):
            if '"result"' in line:
                found = _line(line)
                break
        if found is None:
            raise DataError(
                "neither a model file nor what --json or --jsonl prints (or the run did not end)", path=path
            ) from None
    if not isinstance(found, dict) or not isinstance(found.get("command"), str):
        raise DataError("not what --json prints: it does not name its command", path=path)
    return found


def _line(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def of_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself, in the words of a record."""
    from onepass.model_files import read as read_model
    from onepass.report.details import feature_names, heaviest

    said, weights = read_model(path)
    about = said["about"]
    reading = about.get("reading") if isinstance(about.get("reading"), dict) else {}
    known = {name: about[name] for name in ("rows", "rounds", "mistakes", "learner", "certificate") if name in about}
    details: dict[str, Any] = {"versions": {"onepass": said["version"]}}
    details |= {name: about[name] for name in ("options", "data") if name in about}
    details["weights"] = heaviest(weights, said["classes"], feature_names(reading or {}))
    about_it = {"command": "model", "features": len(weights) - 1, "classes": said["classes"], "details": details}
    return {**about_it, **known, "title": f"The model in {Path(path).name}"}


def joined(records: list[dict[str, Any]], paths: list[str]) -> dict[str, Any]:
    """One record of a model and of the run that made it."""
    models = [record for record in records if record["command"] == "model"]
    runs = [record for record in records if record["command"] != "model"]
    if len(records) == 1:
        return records[0]
    if len(models) != 1 or len(runs) != 1:
        raise DataError("one run, one model, or one of each expected: a page shows one run", path=paths[1])
    run, model = runs[0], models[0]
    if run.get("certificate") != model.get("certificate"):
        raise DataError("the model's certificate is not the run's: they do not belong together", path=paths[1])
    details = {**model["details"], **run.get("details", {})}
    return {**run, "details": details}


def page_of(record: dict[str, Any], path: str) -> Page:
    """The page of a record, whatever command it comes from. A DataError names the first field that is not right."""
    kind = record["command"]
    if kind not in _KINDS:
        raise DataError(
            f"there is no page for {printable(kind)!r}: {', '.join(sorted(_KINDS))} have one", path=path
        )
    module, check = _KINDS[kind]
    try:
        check(record, "")
    except _Wrong as wrong:
        raise DataError(f"its field {printable(str(wrong))}", path=path) from None
    import importlib

    made = importlib.import_module(f"onepass.report.{module}").page(record)
    assert isinstance(made, Page)
    return made


# --- what fields must be ----------------------------------------------------------------------------------------------


class _Wrong(Exception):
    """The name of a field, and what it should have been."""


def _is(test: Callable[[Any], bool], words: str) -> Check:
    def check(value: Any, where: str) -> None:
        if not test(value):
            raise _Wrong(f"{where or 'record'!r} should be {words}")

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
            raise _Wrong(f"{where!r} should be a list")
        for i, item in enumerate(value):
            check(item, f"{where}[{i}]")

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
                raise _Wrong(f"{place!r} is missing")

    return each


def columns(**checks: Check) -> Check:
    """An object of lists of one length."""
    whole = fields({name: listed(check) for name, check in checks.items()})

    def each(value: Any, where: str) -> None:
        whole(value, where)
        if len({len(value[name]) for name in checks}) > 1:
            raise _Wrong(f"{where!r} should hold lists of one length")

    return each


_CERTIFICATE = fields(
    {
        "risk": maybe(NUMBER),
        "delta": NUMBER,
        "conversion": TEXT,
        "k": maybe(WHOLE),
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
    }
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
    "code": TEXT,
    "data": listed(fields({"size": WHOLE, "ends": TEXT}, known={"path": TEXT})),
    "options": TABLE,
    "versions": TABLE,
    "notes": listed(TEXT),
}
_PASS = fields(
    {"rows": WHOLE, "rounds": WHOLE, "mistakes": WHOLE, "learner": TEXT, "classes": listed(LABEL)}
    | {"certificate": _CERTIFICATE},
    known={
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
                    rows=WHOLE, rounds=WHOLE, mistakes=WHOLE, loss=NUMBER, risk=maybe(NUMBER), k=maybe(WHOLE)
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
_EXPERTS = fields(
    {"rounds": WHOLE, "experts": WHOLE, "forecaster": TEXT, "best": TEXT, "mistakes": maybe(WHOLE)}
    | dict.fromkeys(("loss", "bound", "regret", "best_loss"), NUMBER)
    | {"table": listed(fields({"expert": TEXT, "loss": NUMBER, "weight": NUMBER}))},
    known={
        "sequence_loss": NUMBER,
        "sequence_switches": WHOLE,
        "tracking_bound": NUMBER,
        "details": fields(
            {},
            known=_MADE
            | {
                "regret": columns(round=WHOLE, regret=NUMBER, bound=maybe(NUMBER)),
                "weights": fields(
                    {"round": listed(WHOLE), "lines": listed(fields({"name": TEXT, "weight": listed(NUMBER)}))}
                ),
            },
        ),
    },
)
_CLUSTER = fields(
    {"n_samples": WHOLE},
    known={
        "n_clusters": WHOLE,
        "n_features": WHOLE,
        "inertia": NUMBER,
        "n_iter": WHOLE,
        "history": listed(NUMBER),
        "sizes": listed(WHOLE),
        "inertias": listed(NUMBER),
        "quality": maybe(fields({"statement": TEXT})),
        "k_range": listed(fields({"n_clusters": WHOLE, "inertia": NUMBER, "n_iter": WHOLE})),
        "details": fields(
            {},
            known=_MADE
            | {
                "plane": fields(
                    {
                        "points": columns(x=NUMBER, y=NUMBER, label=WHOLE),
                        "centres": columns(x=NUMBER, y=NUMBER),
                        "axes": listed(TEXT),
                        "kept": TEXT,
                    }
                )
            },
        ),
    },
)
_SERIES = fields(
    {"label": TEXT, "kind": one_of("simulation", "theory", "reference"), "x": listed(NUMBER), "y": listed(maybe(NUMBER))}
    | {"low": maybe(listed(maybe(NUMBER))), "high": maybe(listed(maybe(NUMBER)))}
)
_LAB = fields(
    {
        "experiment": TEXT,
        "findings": listed(
            fields(
                {"what": TEXT, "holds": FLAG}
                | dict.fromkeys(("measured", "error", "expected", "tolerance"), NUMBER)
            )
        ),
    },
    known={
        "details": fields(
            {},
            known=_MADE
            | {
                "title": TEXT,
                "panels": listed(
                    fields(
                        {"title": TEXT, "x_label": TEXT, "y_label": TEXT, "series": listed(_SERIES)}
                        | {"y_scale": one_of("log", "linear")}
                    )
                ),
            },
        )
    },
)
_KINDS: dict[str, tuple[str, Check]] = {  # command → the module that has its page, and what its record must hold
    "train": ("learning", _PASS),
    "compare": ("learning", _PASS),
    "demo": ("learning", _PASS),
    "model": ("learning", _PASS),
    "experts": ("experts", _EXPERTS),
    "cluster": ("cluster", _CLUSTER),
    "lab": ("lab", _LAB),
}
