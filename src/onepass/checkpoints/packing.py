"""The state of a pass as JSON and arrays, and back: a walk over values of a few known kinds.

A value is plain (None, bool, int, float, str), an array, a tuple, list, set or dict of values, or one of `KNOWN`, the
NamedTuples and dataclasses that a pass is made of. Anything else is refused when it is packed. Nothing is imported or
called by a name that stands in a file but what this table holds.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from onepass.container import NAMES, Array
from onepass.errors import CheckpointError
from onepass.guards.drift import DriftState, Jumper
from onepass.guards.duplicates import Duplicates
from onepass.guards.order import Order
from onepass.guards.repeats import Repeats
from onepass.io.chunk import Origin
from onepass.io.position import Position
from onepass.io.sources import Identity
from onepass.labels import Labels
from onepass.runs.shifting import Lazy
from onepass.trace import Survivor
from onepass.trace.columns import Columns, Fold
from onepass.trace.log import Deltas, Log
from onepass.trace.tally import Tally
from onepass.trace.watched import Watched

_TYPES = (
    Columns,
    Deltas,
    DriftState,
    Duplicates,
    Fold,
    Identity,
    Jumper,
    Labels,
    Lazy,
    Log,
    Order,
    Origin,
    Position,
    Repeats,
    Survivor,
    Tally,
    Watched,
)
KNOWN: dict[str, Any] = {kind.__name__: kind for kind in _TYPES}
DEEP = 32  # levels; a pass has six


def pack(value: Any, arrays: dict[str, Array]) -> Any:
    """What JSON can hold of the value; its arrays go into `arrays`, each under a name that stands in its place.

    >>> arrays = {}
    >>> pack((1, {2: np.zeros(3)}), arrays), list(arrays)
    ({'tuple': [1, {'dict': [[2, {'array': '0'}]]}]}, ['0'])
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        if value.dtype not in NAMES:
            raise TypeError(f"arrays of {value.dtype} cannot be stored")
        arrays[str(len(arrays))] = np.ascontiguousarray(value)
        return {"array": str(len(arrays) - 1)}
    kind = type(value)
    if KNOWN.get(kind.__name__) is kind:
        return {kind.__name__: [pack(getattr(value, name), arrays) for name in _names(kind)]}
    if kind is dict:
        return {"dict": [[pack(key, arrays), pack(item, arrays)] for key, item in value.items()]}
    if kind in (tuple, list):
        return {kind.__name__: [pack(item, arrays) for item in value]}
    if kind in (set, frozenset):
        return {kind.__name__: sorted(pack(item, arrays) for item in value)}
    raise TypeError(f"{kind.__name__} cannot be stored")


def unpack(node: Any, arrays: dict[str, Array], depth: int = 0) -> Any:
    """The value that was packed. Raises CheckpointError where the text is none that `pack` gives."""
    if node is None or isinstance(node, bool | int | float | str):
        return node
    if not isinstance(node, dict) or len(node) != 1 or depth > DEEP:
        raise CheckpointError("damaged: its state is not in the form that onepass writes")
    ((kind, inside),) = node.items()
    try:
        if kind == "array":
            return arrays[inside]
        if kind == "dict":
            return {unpack(key, arrays, depth + 1): unpack(item, arrays, depth + 1) for key, item in inside}
        items = [unpack(item, arrays, depth + 1) for item in inside]
        if kind in ("tuple", "list", "set", "frozenset"):
            return {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}[kind](items)
        return KNOWN[kind](**dict(zip(_names(KNOWN[kind]), items, strict=True)))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"damaged: its state is not in the form that onepass writes ({error})") from None


def _names(kind: Any) -> list[str]:
    return [field.name for field in fields(kind)] if is_dataclass(kind) else list(kind._fields)
