"""Model files: safetensors with one tensor of weights and a JSON text that says what they are, and the SHA-256 of both.

Such a file cannot hold code. The hash finds accidents, not forgers: who can write the file can write the hash. So every
field is checked as well, and a file that names the right hash of a wrong field is refused by the field's name. There is
no clock in it: the same model is the same bytes. This room is light (no kernels), so that a model can be looked at in
an instant.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass import __version__
from onepass.container import Kind, raw_bytes
from onepass.container import read as read_container
from onepass.errors import LimitError, ModelError, printable
from onepass.files import replacing, sha256

FORMAT = 1
MODEL = Kind("model", "onepass", 1 << 24, ModelError)
LARGEST_VALUE = 2.0**480  # `rows.LARGEST`, which this room does not import: it would bring the compiler
LARGEST_WEIGHT = 2.0**512  # times the largest value, in rows of 2^31 values, it does not overflow a score
Weights = npt.NDArray[np.float64]


def write(path: str | os.PathLike[str], said: dict[str, Any], weights: Weights, *, overwrite: bool = True) -> None:
    """Write weights and what is said of them, atomically; see files.replacing for `overwrite`."""
    from safetensors.numpy import save

    content = {"format": FORMAT, "version": __version__, **said}
    weights = np.ascontiguousarray(weights, dtype="<f8")
    content["sha256"] = _hash(content, weights)
    with replacing(path, overwrite=overwrite) as file:  # one metadata key: safetensors writes several in no fixed order
        file.write(save({"weights": weights}, metadata={"onepass": json.dumps(content, sort_keys=True)}))


def read(path: str | os.PathLike[str], max_bytes: int = 1 << 34) -> tuple[dict[str, Any], Weights]:
    """(what is said, weights) of a file that `write` wrote, or a ModelError that says what is wrong with it."""
    try:
        content, _, arrays = read_container(path, MODEL, max_bytes, _check_header)
        weights = arrays["weights"]
        if _hash(content, weights) != content["sha256"]:
            raise ModelError("damaged: its content does not have the SHA-256 that it names")
        _check_weights(weights)
    except (ModelError, LimitError) as error:
        raise type(error)(f"{printable(os.fspath(path))}: {error}") from None
    return content, weights


def _check_header(content: dict[str, Any], layout: dict[str, dict[str, Any]]) -> None:
    """Raise ModelError, naming the field, unless this can be what `write` says of weights of this layout."""
    _check_format(content)
    _check_classes(content.get("classes"))
    bias, radius = content.get("bias"), content.get("radius", math.nan)
    _need(isinstance(bias, float) and abs(bias) <= LARGEST_VALUE, "bias", "a finite number")
    _need(radius is None or (isinstance(radius, float) and 0.0 < radius < math.inf), "radius", "null or above 0")
    _check_about(content.get("about"))
    _need(set(layout) == {"weights"} and layout["weights"]["dtype"] == "F64", "weights", "one tensor of float64")
    shape, classes = layout["weights"]["shape"], len(content["classes"])
    outputs = 1 if classes <= 2 else classes
    fits = len(shape) == 2 and shape[0] >= 1 and shape[1] == outputs
    _need(fits, "weights", f"for {classes} classes of shape (1 + features, {outputs}), and not {tuple(shape)}")


def _check_format(content: dict[str, Any]) -> None:
    number = content.get("format")
    _need(type(number) is int and number >= 1, "format", "the number of a format")
    _need(isinstance(content.get("version"), str), "version", "text")
    if number != FORMAT:
        raise ModelError(
            f"written by onepass {printable(content['version'])}, in a newer format than this version reads"
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
    "categorical": (list,),
    "ignore": (list,),
    "columns": (list, type(None)),
    "missing": (str, type(None)),
    "text_column": (str, int, type(None)),
    "header": (bool, type(None)),
    "width": (int, type(None)),
    "delimiter": (str, type(None)),
    "bits": (int, type(None)),
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
            plain = not isinstance(value, list) or all(isinstance(column, str | int) for column in value)
            _need(type(value) in kinds and plain, f"about.reading.{name}", "what `train` writes there")


def _check_weights(weights: Weights) -> None:
    low, high = float(weights.min()), float(weights.max())  # NaN if there is one
    _need(math.isfinite(low) and math.isfinite(high), "weights", "finite numbers")
    _need(max(-low, high) <= LARGEST_WEIGHT, "weights", f"numbers up to {LARGEST_WEIGHT:.3g}")


def _need(condition: Any, field: str, expected: str) -> None:
    if not condition:
        raise ModelError(f"its field {field!r} is missing or wrong: it must be {expected}")


def _hash(content: dict[str, Any], weights: Weights) -> str:
    plain = {name: value for name, value in content.items() if name != "sha256"}
    return sha256(json.dumps(plain, sort_keys=True).encode(), raw_bytes(weights))
