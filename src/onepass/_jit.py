"""The one compiler setting, and dispatch on the type of a rule.

`jit` is the only decorator that compiles. fastmath stays off: it decides exact ties otherwise, hides NaN, and
makes gathers slower. Compiled code is cached on disk; where no folder is writable it is compiled anew in each
process, with one notice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numba
from numba.extending import overload

Function = Callable[..., Any]
_noticed = False


def jit(function: Function) -> Function:
    """The function, compiled at its first call (never at import)."""
    try:
        compiled = numba.njit(cache=True, nogil=True, fastmath=False)(function)
    except RuntimeError:  # numba finds neither the package folder nor the home writable
        global _noticed
        if not _noticed:
            print(
                "onepass: no writable folder for compiled kernels; compiling in every process",
                file=sys.stderr,
            )
            _noticed = True
        return numba.njit(nogil=True, fastmath=False)(function)  # type: ignore[no-any-return]
    _forgive(getattr(getattr(compiled, "_cache", None), "_cache_file", None))
    return compiled  # type: ignore[no-any-return]


def _forgive(cache: Any) -> None:
    """Let a damaged cache be an empty one: numba itself stumbles over a file that was cut short."""
    if cache is None:  # the JIT is off
        return
    load_index, load_data = cache._load_index, cache._load_data

    def index() -> Any:
        try:
            return load_index()
        except Exception:  # whatever unpickling junk may raise
            return {}

    def data(name: str) -> Any:
        try:
            return load_data(name)
        except Exception as error:
            raise OSError(f"{name} is damaged") from error  # which numba takes as: not there

    cache._load_index, cache._load_data = index, data


def by_type(table: Mapping[type, Function]) -> Function:
    """A function that hands its arguments to the entry for the *type* of its first one, a NamedTuple.

    In plain Python it looks the type up when called; compiled, the choice is made at compile time and inlined, so it
    costs nothing. (Handing functions to kernels, or building kernels in closures, would defeat the disk cache.)
    """

    def chosen(first, *rest):  # type: ignore[no-untyped-def]
        return table[type(first)](first, *rest)

    @overload(chosen, inline="always", strict=False)
    def compiled(first, *rest):  # type: ignore[no-untyped-def]
        return table.get(getattr(first, "instance_class", type(None)))

    return chosen
