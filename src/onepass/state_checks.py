"""What every part of a pass asks of a stored state before it trusts it: kinds, shapes, counts.

A hash finds accidents. These checks find the rest: whatever a file says, no kernel reads or writes outside its arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onepass.errors import CheckpointError


def need(condition: Any, what: str) -> None:
    """Raise CheckpointError, naming what is wrong, unless the condition holds."""
    if not condition:
        raise CheckpointError(f"its state is not that of a pass with these options ({what})")


def need_fields(state: Any, names: Any, what: str) -> None:
    """The state is a dict with just these names."""
    need(isinstance(state, dict) and set(state) == set(names), what)


def need_alike(array: Any, pattern: Any, what: str) -> None:
    """An array of the pattern's type and number of dimensions."""
    need(isinstance(array, np.ndarray) and array.dtype == pattern.dtype and array.ndim == pattern.ndim, what)


def need_all_alike(value: Any, pattern: Any, what: str) -> None:
    """A NamedTuple of the pattern's type whose arrays are alike."""
    need(type(value) is type(pattern), what)
    for array, like in zip(value, pattern, strict=True):
        need_alike(array, like, what)


def need_same_shapes(value: Any, pattern: Any, what: str) -> None:
    """Arrays of the pattern's own shapes: one, or a NamedTuple of them."""
    if isinstance(pattern, np.ndarray):
        value, pattern = (value,), (pattern,)
    need_all_alike(value, pattern, what)
    need(all(array.shape == like.shape for array, like in zip(value, pattern, strict=True)), what)


def is_count(number: Any) -> bool:
    """Whether this is a whole number that can count rows."""
    return type(number) is int and 0 <= number < 1 << 62
