"""The file of a checkpoint: many arrays and one JSON text, written piece by piece, with the SHA-256 of it all.

It is written without a second copy in memory; `onepass.container` reads it. The hash finds accidents, not forgers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

from onepass.container import NAMES, Array, Kind, raw_bytes
from onepass.container import read as read_container
from onepass.errors import CheckpointError
from onepass.files import replacing

CHECKPOINT = Kind("checkpoint", "onepass-checkpoint", 1 << 26, CheckpointError)
BEGINNING = f'{{"__metadata__": {{"{CHECKPOINT.key}"'.encode()  # of the header


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
    data = [raw_bytes(array) for array in arrays.values()]
    for piece in data:
        digest.update(piece)
    text = json.dumps(content | {"sha256": digest.hexdigest()}, sort_keys=True)
    header = json.dumps({"__metadata__": {CHECKPOINT.key: text}} | layout).encode()
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
    content, layout, arrays = read_container(path, CHECKPOINT, max_bytes, lambda said, _: check(said))
    digest = _begun(content, layout)
    for array in arrays.values():
        digest.update(raw_bytes(array))
    if digest.hexdigest() != content["sha256"]:
        raise CheckpointError("damaged: its content does not have the SHA-256 that it names")
    return content, arrays


def _begun(content: dict[str, Any], layout: dict[str, Any]) -> Any:
    """The hash of all but the arrays' bytes."""
    plain = {name: value for name, value in content.items() if name != "sha256"}
    return hashlib.sha256(json.dumps([plain, list(layout.items())], sort_keys=True).encode())
