"""Whether a stored position can be that of a stream: every field, before anything is opened or skipped by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.errors import CheckpointError
from onepass.io.chunk import Origin
from onepass.io.formats import FORMATS
from onepass.io.position import Position
from onepass.io.sources import Identity
from onepass.state_checks import is_count


def check_position(position: Position) -> None:
    """Raise CheckpointError, naming the field, unless a stream can have been there."""
    numbers = ("file", "at", "line", "consumed", "rows", "skipped", "quarantined", "flags")
    for name in numbers:
        _has(is_count(getattr(position, name)), name)
    _has(type(position.format) is str and position.format in FORMATS, "format")
    _has(type(position.truncated) is bool, "truncated")
    for name in ("changed", "faults", "notes"):
        texts = getattr(position, name)
        _has(type(texts) is tuple and all(type(text) is str for text in texts), name)
    _has(type(position.identity) is tuple and all(map(_is_identity, position.identity)), "identity")
    _has(type(position.labels) is tuple and all(map(_is_label, position.labels)), "labels")
    _has(type(position.names) is tuple and len(position.names) in (0, 3), "names")
    _has(all(isinstance(array, np.ndarray) and array.ndim == 1 for array in position.names), "names")
    _has([array.dtype.str for array in position.names] in ([], ["<i8", "<i8", "|u1"]), "names")
    _has(position.file < max(1, len(position.identity)), "file")
    if None not in position.identity:
        _has(position.consumed <= sum(known.size for known in position.identity if known is not None), "consumed")


def _is_identity(known: Any) -> bool:
    if not isinstance(known, Identity):
        return known is None
    texts = (known.path, known.ends)
    moment = type(known.modified) is int and abs(known.modified) < 1 << 63
    return all(type(text) is str for text in texts) and is_count(known.size) and moment


def _is_label(pair: Any) -> bool:
    """Whether this is a label that was met, with the place where it was."""
    if type(pair) is not tuple or len(pair) != 2 or not isinstance(pair[0], float | str):
        return False
    origin = pair[1]
    return isinstance(origin, Origin) and type(origin.path) is str and all(map(is_count, origin[1:]))


def _has(condition: Any, name: str) -> None:
    if not condition:
        raise CheckpointError(f"damaged: its field 'position.{name}' is missing or not what it should be")
