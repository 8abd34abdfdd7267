"""Public names that are imported when they are first used: a package that has them costs next to nothing to import."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # to import typing takes longer than all of this
if TYPE_CHECKING:
    from typing import Any


def exported(package: str, home: dict[str, str], name: str) -> Any:
    """A name of a package, whose module `home` says; AttributeError if it is none of its own.

    >>> exported("onepass", {"next_look": "looks"}, "next_look")(127)
    128
    >>> exported("onepass", {"next_look": "looks"}, "nothing")
    Traceback (most recent call last):
    AttributeError: module 'onepass' has no attribute 'nothing'
    """
    if name not in home:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{package}.{home[name]}"), name)
