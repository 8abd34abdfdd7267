"""Model files: safetensors with a model's arrays and a JSON text that says what they are, and the SHA-256 of both.

A linear model has one tensor of weights; a voted one (`kind` is "vote") has the log of its updates and the votes of
its members. Such a file cannot hold code. The hash finds accidents, not forgers: who can write the file can write the
hash. So every field is checked as well, and a file that names the right hash of a wrong field is refused by the field's
name. There is no clock in it: the same model is the same bytes. This room is light (no kernels), so that a model can be
looked at in an instant.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass import __version__
from onepass.container import KINDS, Array, Check, Kind, Path, raw_bytes
from onepass.container import read as read_container
from onepass.errors import LimitError, ModelError, printable
from onepass.files import replacing, sha256

FORMAT = 2
MODEL = Kind("model", "onepass", 1 << 24, ModelError)
LARGEST_VALUE = 2.0**480  # `rows.LARGEST`, which this room does not import: it would bring the compiler
NEVER = -(2.0**1000)  # `outputs.NEVER`, which this room does not know: the intercept of a class never said
LARGEST_WEIGHT = 2.0**512  # times the largest value, in rows of 2^31 values, it does not overflow a score
SHIFTS = 4  # `trace.log.SHIFTS` has so many
MOST_UPDATES = 1 << 31  # kernels number them in 32 bits
MOST_VOTES = 1 << 62  # that are given for one row
VOTE = {  # arrays of a voted model: `trace.log.Log` without its scratch, and the members' votes
    "round": "I64",
    "label": "I32",
    "rival": "I32",
    "a": "F64",
    "scale": "F64",
    "margin": "F64",
    "shift": "U8",
    "indptr": "I64",
    "indices": "I32",
    "values": "F64",
    "q": "I64",
}
NAMES = {"name_hashes": "I64", "name_ends": "I64", "name_text": "U8"}  # `tables.FeatureNames.arrays`
Weights = npt.NDArray[np.float64]
Arrays = dict[str, Array]
Layout = dict[str, dict[str, Any]]


def write(
    path: Path, said: dict[str, Any], weights: Weights, names: Arrays | None = None, *, overwrite: bool = True
) -> None:
    """Write weights, names of features and what is said of them, atomically; `overwrite`: see files.replacing."""
    plain = {name: np.ascontiguousarray((names or {})[name], dtype=KINDS[NAMES[name]]) for name in names or ()}
    _write(path, said, {"weights": np.ascontiguousarray(weights, dtype="<f8"), **plain}, overwrite)


def write_vote(path: Path, said: dict[str, Any], arrays: Arrays, *, overwrite: bool = True) -> None:
    """Write the arrays of a voted model and what is said of them, as `write` does."""
    plain = {name: np.ascontiguousarray(arrays[name], dtype=KINDS[kind]) for name, kind in VOTE.items()}
    _write(path, {"kind": "vote", **said}, plain, overwrite)


def read(path: Path, max_bytes: int = 1 << 34) -> tuple[dict[str, Any], Arrays]:
    """(what is said, arrays) of a file that `write` wrote, or a ModelError that says what is wrong with it."""
    return _read(path, max_bytes, _check_header, _check_weights)


def read_vote(path: Path, max_bytes: int = 1 << 34) -> tuple[dict[str, Any], Arrays]:
    """(what is said, arrays) of a file that `write_vote` wrote, or a ModelError that says what is wrong with it."""
    return _read(path, max_bytes, partial(_check_vote_header, max_bytes), _check_vote)


def is_vote(path: Path, max_bytes: int = 1 << 34) -> bool:
    """Whether a file says that it holds a voted model; whoever reads it checks the rest."""
    kinds = list[Any]()

    def look(content: dict[str, Any], layout: Layout) -> None:
        kinds.append(content.get("kind"))
        raise _SeenError

    with suppress(_SeenError, ModelError):
        read_container(path, MODEL, max_bytes, look)
    return kinds == ["vote"]


class _SeenError(Exception):
    """What was to be seen of a file is seen, and its arrays need not be read."""


def content_hash(content: dict[str, Any], arrays: Arrays) -> str:
    """The SHA-256 of a model: of what is said of it (but the hash itself) and of its arrays in the order of names."""
    plain = {name: value for name, value in content.items() if name != "sha256"}
    return sha256(json.dumps(plain, sort_keys=True).encode(), *(raw_bytes(arrays[name]) for name in sorted(arrays)))


def _write(path: Path, said: dict[str, Any], arrays: Arrays, overwrite: bool) -> None:
    from safetensors.numpy import save

    content = {"format": FORMAT, "version": __version__, **said}
    content["sha256"] = content_hash(content, arrays)
    with replacing(path, overwrite=overwrite) as file:  # one metadata key: safetensors writes several in no fixed order
        file.write(save(arrays, metadata={"onepass": json.dumps(content, sort_keys=True)}))


def _read(
    path: Path, max_bytes: int, check_header: Check, check_arrays: Callable[[dict[str, Any], Arrays], None]
) -> tuple[dict[str, Any], Arrays]:
    try:
        content, _, arrays = read_container(path, MODEL, max_bytes, check_header)
        if content_hash(content, arrays) != content["sha256"]:
            raise ModelError("damaged: its content does not have the SHA-256 that it names")
        check_arrays(content, arrays)
    except (ModelError, LimitError) as error:
        raise type(error)(f"{printable(os.fspath(path))}: {error}") from None
    return content, arrays


def _check_header(content: dict[str, Any], layout: Layout) -> None:
    """Raise ModelError, naming the field, unless this can be what `write` says of weights of this layout."""
    _check_format(content)
    if content.get("kind") == "vote":
        raise ModelError("a voted model, which `onepass.VotedModel.load` reads and no command does")
    _need("kind" not in content, "kind", "absent, or 'vote'")
    _check_common(content)
    _check_about(content.get("about"))
    cut, curve = content.get("cut"), content.get("calibration", 0)
    _need(isinstance(cut, float) and math.isfinite(cut), "cut", "a finite number")
    _need(len(content["classes"]) == 2 or cut == 0.0, "cut", "0 but for two classes")
    _need(curve is None or isinstance(curve, dict), "calibration", "null or an object")
    _need("weights" in layout and layout["weights"]["dtype"] == "F64", "weights", "one tensor of float64")
    named = {name: layout[name] for name in layout if name != "weights"}
    _need(not named or set(named) == set(NAMES), "weights", "one tensor, or one beside three of names")
    for name, said in named.items():
        _need(
            said["dtype"] == NAMES[name] and len(said["shape"]) == 1, name, f"a list of {np.dtype(KINDS[NAMES[name]])}"
        )
    table = content.get("table")
    _need(table is None or isinstance(table, dict), "table", "null or an object")
    shape, classes = layout["weights"]["shape"], len(content["classes"])
    outputs = 1 if classes <= 2 else classes
    fits = len(shape) == 2 and shape[0] >= 1 and shape[1] == outputs
    _need(fits, "weights", f"for {classes} classes of shape (1 + features, {outputs}), and not {tuple(shape)}")


def _check_vote_header(max_bytes: int, content: dict[str, Any], layout: Layout) -> None:
    """Raise ModelError, naming the field, unless this can be what `write_vote` says of arrays of this layout."""
    _check_format(content)
    _need(content.get("kind") == "vote", "kind", "'vote' (what has none is for `onepass.LinearModel.load`)")
    _check_common(content)
    width, most = content.get("width"), min(max_bytes // 8, 1 << 31)  # of a linear model as large as a file may be
    _need(type(width) is int and 0 <= width < most, "width", f"a number of features below {most:,}")
    _need(type(content.get("deltas")) is bool, "deltas", "true or false")
    for name, kind in VOTE.items():
        about = layout.get(name, {})
        _need(about.get("dtype") == kind and len(about["shape"]) == 1, name, f"a list of {np.dtype(KINDS[kind])}")
    other = sorted(set(layout) - set(VOTE))
    _need(not other, other[0] if other else "", "absent")
    lengths = {name: about["shape"][0] for name, about in layout.items()}
    updates = lengths["a"]
    _need(updates < MOST_UPDATES, "a", f"of fewer than {MOST_UPDATES:,} updates")
    expected = dict.fromkeys(VOTE, updates) | {"indptr": updates + 1, "q": updates + 1}
    expected |= {"indices": lengths["values"], "values": lengths["values"]}
    for name, length in expected.items():
        _need(lengths[name] == length, name, f"{length:,} long, and not {lengths[name]:,}")


def _check_common(content: dict[str, Any]) -> None:
    """What both kinds of model say."""
    _check_classes(content.get("classes"))
    bias, radius = content.get("bias"), content.get("radius", math.nan)
    _need(isinstance(bias, float) and abs(bias) <= LARGEST_VALUE, "bias", "a finite number")
    _need(radius is None or (isinstance(radius, float) and 0.0 < radius < math.inf), "radius", "null or above 0")


def _check_format(content: dict[str, Any]) -> None:
    number: Any = content.get("format")
    _need(type(number) is int and number >= 1, "format", "the number of a format")
    _need(isinstance(content.get("version"), str), "version", "text")
    if number != FORMAT:
        age = "an older" if number < FORMAT else "a newer"
        remedy = ": train it again" if number < FORMAT else ""
        raise ModelError(
            f"written by onepass {printable(content['version'])}, in {age} format than this version reads{remedy}"
        )


def _check_classes(classes: Any) -> None:
    """Labels that a pass can have: all text or all numbers, and no two alike."""
    _need(isinstance(classes, list) and classes, "classes", "a list of labels")
    texts = [isinstance(label, str) for label in classes]
    _need(all(texts) or not any(texts), "classes", "all text or all numbers")
    finite = all(
        isinstance(label, str | int) or (isinstance(label, float) and math.isfinite(label)) for label in classes
    )
    _need(finite, "classes", "text or finite numbers")
    _need(len(set(classes)) == len(classes), "classes", "labels of which no two are alike")


_READING = {  # what a model may remember of how its rows were read
    "format": (str,),
    "target": (str, int, type(None)),
    "header": (bool, type(None)),
    "width": (int, type(None)),
    "delimiter": (str, type(None)),
    "bits": (int, type(None)),
    "missing": (str, type(None)),
    "zero_based": (bool,),
    "unsorted": (str, type(None)),
    "duplicates": (str, type(None)),
    "on_error": (str,),
}


def _check_about(about: Any) -> None:
    """Words about the model, of which commands use some: those must be of their kind."""
    _need(isinstance(about, dict), "about", "an object")
    _need(isinstance(about.get("certificate", {}), dict), "about.certificate", "an object")
    reading = about.get("reading")
    _need(reading is None or isinstance(reading, dict), "about.reading", "an object")
    for name, kinds in _READING.items():
        if reading is not None and name in reading:
            value = reading[name]
            _need(type(value) in kinds, f"about.reading.{name}", "what `train` writes there")


def _check_weights(content: dict[str, Any], arrays: Arrays) -> None:
    weights, several = arrays["weights"], len(content["classes"]) > 2 and content["bias"] == 1.0
    intercepts = weights[0][weights[0] != NEVER] if several else weights[0]  # of a class that it does not know: never
    _need(intercepts.size, "weights", "those of a model that knows a class")
    for part in (intercepts, weights[1:]):
        low, high = (float(part.min()), float(part.max())) if part.size else (0.0, 0.0)  # NaN if there is one
        _need(math.isfinite(low) and math.isfinite(high), "weights", "finite numbers")
        _need(max(-low, high) <= LARGEST_WEIGHT, "weights", f"numbers up to {LARGEST_WEIGHT:.3g}")


def _check_vote(content: dict[str, Any], arrays: Arrays) -> None:
    """Every index that a kernel will trust, and every number that it adds up."""
    width, classes = content["width"], len(content["classes"])
    for name in ("a", "scale"):  # no vote needs a margin, which may overflow where weights do not
        _need(np.isfinite(arrays[name]).all(), name, "finite numbers")
    _need(_within(arrays["values"], -LARGEST_VALUE, LARGEST_VALUE), "values", f"numbers up to {LARGEST_VALUE:.3g}")
    rounds = arrays["round"]
    _need(not rounds.size or (rounds[0] > 0 and (rounds[1:] > rounds[:-1]).all()), "round", "rising, from 1 on")
    indptr, values = arrays["indptr"], arrays["values"].size
    rises = indptr[0] == 0 and indptr[-1] == values and (indptr[1:] >= indptr[:-1]).all()
    _need(rises, "indptr", f"rising from 0 to the number of values, {values:,}")
    if content["deltas"]:
        _check_deltas(arrays, (width + 1) * (classes if classes > 2 else 1))
    else:
        _check_update_rows(arrays, width, classes)
    q = arrays["q"]
    _need(_within(q, 0, MOST_VOTES) and 0.0 < q.sum(dtype=np.float64) <= MOST_VOTES, "q", "votes, not all of them 0")


def _check_deltas(arrays: Arrays, places: int) -> None:
    """Changes of weights, at places in the weights laid flat."""
    _need(_within(arrays["indices"], 0, places - 1), "indices", f"places below the number of weights, {places:,}")
    for name in ("label", "scale"):
        _need((arrays[name] == 1).all(), name, "1")
    _need(not arrays["shift"].any(), "shift", "0")


def _check_update_rows(arrays: Arrays, width: int, classes: int) -> None:
    """Rows by whose multiples weights were changed."""
    _need(_within(arrays["indices"], 0, width - 1), "indices", f"features below the width, {width:,}")
    _need(_within(arrays["shift"], 0, SHIFTS - 1), "shift", f"numbers below {SHIFTS}")
    if classes > 2:
        for name in ("label", "rival"):
            _need(_within(arrays[name], 0, classes - 1), name, f"places of {classes} classes")
    else:  # the one class that was met is the first of two, and has no rival
        _need((np.abs(arrays["label"]) == 1).all(), "label", "1 or -1")
        for name in ("label", "rival") if classes == 1 else ():
            _need((arrays[name] == -1).all(), name, "-1 where there is one class")


def _within(numbers: Array, least: float, most: float) -> bool:
    """Whether all numbers lie in this range; NaN does not."""
    return bool(not numbers.size or (least <= numbers.min() and numbers.max() <= most))


def _need(condition: Any, field: str, expected: str) -> None:
    if not condition:
        raise ModelError(f"its field {field!r} is missing or wrong: it must be {expected}")
