"""Model files: safetensors with one tensor of weights and a JSON text that says what they are, and the SHA-256 of both.

Such a file cannot hold code. The hash finds accidents, not forgers: who can write the file can write the hash. There is
no clock in it: the same model is the same bytes. This room is light (no kernels), so that a model can be looked at in
an instant.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from onepass import __version__
from onepass.errors import ModelError, printable
from onepass.files import replacing, sha256

FORMAT = 1
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
    from safetensors import SafetensorError
    from safetensors.numpy import load

    def refuse(why: str) -> ModelError:
        return ModelError(f"{printable(os.fspath(path))}: {why}")

    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise refuse(f"{size:,} bytes are more than max_bytes={max_bytes:,} allows")
        data = file.read(max_bytes + 1)
    content = _content(data, refuse)
    try:
        tensors = load(data)
    except (SafetensorError, KeyError, ValueError, TypeError, MemoryError) as error:
        raise refuse(f"not a model file: {error}") from None
    weights = tensors.get("weights")
    outputs = 1 if len(content["classes"]) <= 2 else len(content["classes"])
    if set(tensors) != {"weights"} or weights is None or weights.dtype != np.float64:
        raise refuse("one tensor 'weights' of float64 expected")
    if weights.ndim != 2 or len(weights) < 1 or weights.shape[1] != outputs:
        raise refuse(f"weights of shape {weights.shape} do not fit {len(content['classes'])} classes")
    if _hash(content, weights) != content["sha256"]:
        raise refuse("damaged: its content does not have the SHA-256 that it names")
    if not np.isfinite(weights).all():
        raise refuse("its weights are not all finite numbers")
    return content, weights


def _content(data: bytes, refuse: Callable[[str], ModelError]) -> dict[str, Any]:
    """The JSON text of a model file, with every field there and of its kind."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= min(len(data) - 8, 1 << 24) or data[8:9] != b"{":
        raise refuse("not a model file (it does not begin as a safetensors file does)")
    try:
        content = json.loads(json.loads(data[8 : 8 + length])["__metadata__"]["onepass"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise refuse("not a onepass model (its header does not say so)") from None
    if not isinstance(content, dict) or not isinstance(content.get("format"), int):
        raise refuse("not a onepass model (its header does not say so)")
    if content["format"] > FORMAT:
        raise refuse(f"written by onepass {content.get('version')}, in a newer format than this version reads")
    kinds = {"classes": list, "bias": float, "radius": (float, type(None)), "about": dict, "sha256": str}
    for name, kind in kinds.items():
        if name not in content or not isinstance(content[name], kind):  # type: ignore[arg-type]
            raise refuse(f"its field {name!r} is missing or not what it should be")
    if not all(isinstance(label, (int, float, str)) for label in content["classes"]) or not content["classes"]:
        raise refuse("its classes are not labels")
    return content


def _hash(content: dict[str, Any], weights: Weights) -> str:
    plain = {name: value for name, value in content.items() if name != "sha256"}
    return sha256(json.dumps(plain, sort_keys=True).encode(), weights.tobytes())
