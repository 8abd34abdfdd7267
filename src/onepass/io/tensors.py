"""Files of many arrays and one JSON text: safetensors, written and read piece by piece, with the SHA-256 of it all.

Such a file cannot hold code. It is written without a second copy in memory, and read without trusting any size that was
not first held against the file's own. The hash finds accidents, not forgers. Model files, which hold one array, are in
`model_files`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from onepass.errors import CheckpointError
from onepass.files import replacing

Array = npt.NDArray[Any]
KINDS = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U64": "<u8", "U32": "<u4", "U8": "|u1", "BOOL": "|b1"}
NAMES = {np.dtype(kind): name for name, kind in KINDS.items()}
HEADER = 1 << 26  # bytes of header that are read at most
KEY = "onepass-checkpoint"
BEGINNING = f'{{"__metadata__": {{"{KEY}"'.encode()  # of the header


def write(
    path: str | os.PathLike[str],
    content: dict[str, Any],
    arrays: dict[str, Array],
    previous: str | os.PathLike[str] | None = None,
) -> None:
    """Write the arrays and what is said of them, atomically; what was there is kept at `previous`."""
    layout, end = {}, 0
    for name, array in arrays.items():
        layout[name] = {"dtype": NAMES[array.dtype], "shape": array.shape, "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    digest = _begun(content, layout)
    data = [_bytes(array) for array in arrays.values()]
    for piece in data:
        digest.update(piece)
    text = json.dumps(content | {"sha256": digest.hexdigest()}, sort_keys=True)
    header = json.dumps({"__metadata__": {KEY: text}} | layout).encode()
    header += b" " * (-len(header) % 8)
    with replacing(path, previous) as file:
        file.write(len(header).to_bytes(8, "little") + header)
        for piece in data:
            file.write(piece)


def read(
    path: str | os.PathLike[str], check: Callable[[dict[str, Any]], None], max_bytes: int
) -> tuple[dict[str, Any], dict[str, Array]]:
    """(what is said, arrays) of a file that `write` wrote, or a CheckpointError that says what is wrong with it.

    `check` may object to what is said before the rest is read.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > max_bytes:
            raise CheckpointError(f"{size:,} bytes are more than max_bytes={max_bytes:,} allows")
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 2 <= length <= min(size - 8, HEADER):
            raise CheckpointError("not a checkpoint, or cut short (it does not begin as a safetensors file does)")
        content, layout = _header(file.read(length))
        check(content)
        _check_layout(layout, size - 8 - length)
        digest, arrays = _begun(content, layout), dict[str, Array]()
        for name, about in layout.items():
            arrays[name] = _filled(file, np.empty(about["shape"], KINDS[about["dtype"]]))
            digest.update(_bytes(arrays[name]))
    if digest.hexdigest() != content["sha256"]:
        raise CheckpointError("damaged: its content does not have the SHA-256 that it names")
    return content, arrays


def _header(data: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        layout = json.loads(data)
        content = json.loads(layout.pop("__metadata__")[KEY])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CheckpointError("not a onepass checkpoint, or damaged (its header does not say so)") from None
    if not isinstance(content, dict) or not isinstance(content.get("sha256"), str):
        raise CheckpointError("not a onepass checkpoint, or damaged (its header does not say so)")
    return content, layout


def _check_layout(layout: dict[str, Any], size: int) -> None:
    """Every array where the one before it ends, as long as its shape says, and nothing behind the last."""
    end = 0
    for about in layout.values():
        fields = about if isinstance(about, dict) else {}
        kind, shape, at = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
        if kind not in KINDS or not isinstance(shape, list) or not isinstance(at, list) or len(shape) > 8:
            raise CheckpointError("damaged: an array without type, shape or place")
        if any(type(number) is not int or number < 0 for number in [*shape, *at]):
            raise CheckpointError("damaged: an array of impossible shape")
        stop = end + math.prod(shape) * np.dtype(KINDS[kind]).itemsize
        if at != [end, stop] or stop > size:
            raise CheckpointError("damaged or cut short: its arrays do not fit into it")
        end = stop
    if end != size:
        raise CheckpointError("damaged: bytes follow the last array")


def _filled(file: IO[bytes], array: Array) -> Array:
    view, done = _bytes(array), 0
    while done < len(view):
        count = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise CheckpointError("cut short while it was read")
        done += count
    return array


def _begun(content: dict[str, Any], layout: dict[str, Any]) -> Any:
    """The hash of all but the arrays' bytes."""
    plain = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps([plain, list(layout.items())], sort_keys=True).encode())


def _bytes(array: Array) -> memoryview:
    """The array's bytes, shared with it."""
    return array.reshape(-1).view(np.uint8).data
