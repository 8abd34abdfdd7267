"""The one compiler setting, and dispatch on the type of a rule.

`jit` compiles kernels, and `inlined` what is to disappear inside them. fastmath stays off: it decides exact ties
otherwise, hides NaN, and makes gathers slower. Compiled code is cached on disk; where no folder is writable it is
compiled anew in each process, with one notice.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.cgutils import get_item_pointer
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import rtsys
from numba.extending import intrinsic, overload

Function = Callable[..., Any]
SETTING = {"nogil": True, "fastmath": False}


def jit(function: Function) -> Function:
    """The function, compiled at its first call (never at import)."""
    compiled = numba.njit(**SETTING)(function)
    if compiled is not function:  # the JIT may be off
        compiled._cache = _Cache(function)
    return compiled  # type: ignore[no-any-return]


def inlined(function: Function) -> Function:
    """A function compiled into each kernel that uses it with no call left, however long it is."""
    return numba.njit(**SETTING, forceinline=True)(function)  # type: ignore[no-any-return]


class _Cache:
    """numba's cache of one function's compiled code, but it is looked for only when the function is called.

    And it is ready at once: numba itself makes all its libraries known to the compiler before it loads what needs no
    compiler, 0.2 s at the start of every program (0.4 s with SciPy). A damaged file is as good as none.
    """

    def __init__(self, function: Function) -> None:
        self._function = function

    @cached_property
    def _cache(self) -> Any:
        try:
            found = FunctionCache(self._function)
        except RuntimeError:  # numba finds neither the package folder nor the home writable
            _notice()
            return NullCache()
        found._cache_file = _Files(
            cache_path=found._cache_path,
            filename_base=found._impl.filename_base,
            source_stamp=found._impl.locator.get_source_stamp(),
        )
        return found

    @property
    def cache_path(self) -> str | None:
        """The folder, if there is one."""
        return self._cache.cache_path  # type: ignore[no-any-return]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled function for these types, or None."""
        if isinstance(self._cache, NullCache):
            return None
        rtsys.initialize(target_context)  # what arrays inside kernels are allocated with
        with self._cache._guard_against_spurious_io_errors():
            return self._cache._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled."""
        self._cache.save_overload(sig, data)

    def flush(self) -> None:
        """Forget all of it."""
        self._cache.flush()


@cache
def _notice() -> None:
    print("onepass: no writable folder for compiled kernels; compiling in every process", file=sys.stderr)


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # whatever unpickling junk may raise
            return {}

    def _load_data(self, name: str) -> Any:
        try:
            with open(self._data_path(name), "rb") as file:
                return _Unpickler(file).load()
        except Exception as error:
            raise OSError(f"{name} is damaged") from error  # which numba takes as: not there


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _environment if name == "_rebuild_env" else super().find_class(module, name)


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """What numba gives a compiled function at hand, without importing the module that it was written in.

    That of np.empty alone takes 30 ms; kernels know their globals, and look up constants only.
    """
    if (known := lookup_environment(name)) is not None:
        return known
    made = Environment(vars(sys.modules[module]) if module in sys.modules else {})
    made.consts[:] = constants
    made.env_name = name
    Environment._memo[name] = made
    return made


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


def trailing_zeros(word: Any) -> Any:
    """How many zeros stand below the lowest one of a 64-bit word (64 if there is none): an instruction, compiled."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64)


@intrinsic
def _trailing_zeros(context, word):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), False))

    return types.uint64(types.uint64), code


@overload(trailing_zeros)
def _compiled_trailing_zeros(word):  # type: ignore[no-untyped-def]
    return lambda word: _trailing_zeros(word)


def fused(x: Any, y: Any, z: Any) -> Any:
    """x·y + z for floats of one type; compiled, rounded once where the processor can, which is twice as fast.

    For what only rules out, with room for rounding: its last bit is not the same on every machine.
    """
    return x * y + z


@intrinsic
def _fused(context, x, y, z):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kind = arguments[0].type
        shape = ir.FunctionType(kind, [kind, kind, kind])
        return builder.call(builder.module.declare_intrinsic("llvm.fmuladd", (kind,), shape), arguments)

    return x(x, x, x), code


@overload(fused)
def _compiled_fused(x, y, z):  # type: ignore[no-untyped-def]
    return lambda x, y, z: _fused(x, y, z)


def prefetch(array: Any, at: Any) -> None:
    """Tell the processor that array[at] will be wanted; compiled, an instruction that reads nothing and cannot fail."""


@intrinsic
def _prefetch(context, array, at):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array, kind = arguments[0], signature.args[0]
        whole = context.make_array(kind)(context, builder, array)
        item = get_item_pointer(context, builder, kind, whole, [arguments[1]])
        place, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [place, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", (place,), shape)
        to_read, into_all_caches, not_code = number(0), number(3), number(1)
        builder.call(fetch, [builder.bitcast(item, place), to_read, into_all_caches, not_code])
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


@overload(prefetch)
def _compiled_prefetch(array, at):  # type: ignore[no-untyped-def]
    return lambda array, at: _prefetch(array, at)
