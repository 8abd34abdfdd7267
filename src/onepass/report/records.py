"""What a page is made from: the object that a command prints with --json, the lines of --jsonl, or a model file.

Such a file may come from anywhere. Every field that a page uses is looked at before it is used, and what is wrong is
named; nothing in it is executed, and all of its texts are shown as text.
"""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

from onepass.errors import DataError, printable
from onepass.report.fields import KINDS, WrongFieldError, check
from onepass.report.page import Page

LARGEST = 1 << 28  # bytes of a file that is read


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The record in this file, its fields not yet checked: a model file, one JSON object, or JSON lines."""
    with open(path, "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise DataError(f"more than {LARGEST >> 20} MB: not what a command printed", source=os.fspath(path))
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
        raise DataError("neither a model file nor JSON", source=path) from None
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
                "neither a model file nor what --json or --jsonl prints (or the run did not end)", source=path
            ) from None
    if not isinstance(found, dict) or not isinstance(found.get("command"), str):
        raise DataError("not what --json prints: it does not name its command", source=path)
    return found


def _line(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def of_model(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a model file says of itself, in the words of a record."""
    from onepass.model_files import read as read_model
    from onepass.report.weights import feature_names, heaviest, names_in_file

    said, arrays = read_model(path)
    weights = arrays["weights"]
    about = said["about"]
    reading = about.get("reading") if isinstance(about.get("reading"), dict) else {}
    known = {name: about[name] for name in ("rows", "rounds", "mistakes", "learner", "certificate") if name in about}
    details: dict[str, Any] = {"versions": {"onepass": said["version"]}}
    details |= {name: about[name] for name in ("options", "data") if name in about}
    details["weights"] = heaviest(weights, said["classes"], feature_names(reading or {}, names_in_file(said, arrays)))
    about_it = {"command": "model", "features": len(weights) - 1, "classes": said["classes"], "details": details}
    return {**about_it, **known, "title": f"The model in {Path(path).name}"}


def join_records(records: list[dict[str, Any]], paths: list[str]) -> dict[str, Any]:
    """One record of a model and of the run that made it."""
    models = [record for record in records if record["command"] == "model"]
    runs = [record for record in records if record["command"] != "model"]
    if len(records) == 1:
        return records[0]
    if len(models) != 1 or len(runs) != 1:
        raise DataError("one run, one model, or one of each expected: a page shows one run", source=paths[1])
    run, model = runs[0], models[0]
    if run.get("certificate") != model.get("certificate"):
        raise DataError("the model's certificate is not the run's: they do not belong together", source=paths[1])
    details = {**model["details"], **run.get("details", {})}
    return {**run, "details": details}


def page_of(record: dict[str, Any], path: str) -> Page:
    """The page of a record, whatever command it comes from. A DataError names the first field that is not right."""
    kind = record["command"]
    if kind not in KINDS:
        raise DataError(f"there is no page for {printable(kind)!r}: {', '.join(sorted(KINDS))} have one", source=path)
    module, shape = KINDS[kind]
    try:
        check(shape, record)
    except WrongFieldError as wrong:
        raise DataError(f"its field {printable(str(wrong))}", source=path) from None
    made = importlib.import_module(f"onepass.report.{module}").page(record)
    assert isinstance(made, Page)
    return made
