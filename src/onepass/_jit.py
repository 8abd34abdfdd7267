"""The one compiler setting, and dispatch on the type of a rule.

`jit` compiles kernels, `allocating` those that make arrays, and `inlined` what is to disappear inside them. fastmath
stays off: it decides exact ties otherwise, hides NaN, and makes gathers slower. Compiled code is cached on disk; where
no folder is writable it is compiled anew in each process, with one notice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

try:
    from onepass._kernel_cache import KernelCache, serve_kernels
except ImportError:  # a numba whose internals have other names
    KernelCache = None  # type: ignore[assignment,misc]

Function = Callable[..., Any]
SETTING = {
    "nogil": True,
    "fastmath": False,
    "error_model": "numpy",  # a quotient is not looked at for a zero below it
    "no_cfunc_wrapper": True,  # nothing in C calls us
    "_nrt": False,  # who holds an array is not counted: that stops the processor several times a row
}
COUNTED = {"_nrt": True}  # for what makes arrays
INNER = {"no_cpython_wrapper": True}  # for what only kernels call


def jit(function: Function) -> Function:
    """The function, compiled at its first call (never at import). It can make no arrays: `allocating` can."""
    return _compiled(function, SETTING)


def allocating(function: Function) -> Function:
    """The same for a function that makes arrays, or calls one that returns some."""
    return _compiled(function, SETTING | COUNTED)


def _compiled(function: Function, setting: Mapping[str, Any]) -> Function:
    compiled = numba.njit(**setting)(function)
    if compiled is function:  # the JIT is off
        return compiled
    if KernelCache is None or not hasattr(compiled, "_cache"):
        return _cached_by_numba(function, setting)
    compiled._cache = KernelCache(function, _notice)

    def inner() -> Any:
        served = numba.njit(**setting, **INNER)(function)
        served._cache = KernelCache(function, _notice, part=".inner")
        return served

    return serve_kernels(compiled, inner)


def compiling() -> bool:
    """Whether this process has met a kernel that was not compiled before; True where that cannot be known."""
    return KernelCache is None or KernelCache.missing > 0


def _cached_by_numba(function: Function, setting: Mapping[str, Any]) -> Function:
    """The same with numba's own cache, which is slower to start, where its internals are not those that ours knows."""
    try:
        return numba.njit(**setting, cache=True)(function)  # type: ignore[no-any-return]
    except RuntimeError:  # no writable folder
        _notice()
        return numba.njit(**setting)(function)  # type: ignore[no-any-return]


@cache
def _notice() -> None:
    print("onepass: no writable folder for compiled kernels; compiling in every process", file=sys.stderr)


def inlined(function: Function) -> Function:
    """A function compiled into each kernel that uses it with no call left, however long it is."""
    compiled = numba.njit(**SETTING, forceinline=True)(function)
    if compiled is function or KernelCache is None:
        return compiled  # type: ignore[no-any-return]
    return serve_kernels(compiled, lambda: numba.njit(**SETTING, **INNER, forceinline=True)(function))


def by_type(table: Mapping[type, Function]) -> Function:
    """A function that hands its arguments to the entry for the *type* of its first one, a NamedTuple.

    In plain Python it looks the type up when called; compiled, the choice is made at compile time and inlined, so it
    costs nothing. (Handing functions to kernels, or building kernels in closures, would defeat the disk cache.) LLVM
    inlines it: numba's own way, `inline="always"`, infers all types anew wherever it is called, which took a third of
    the time that compiling takes.
    """

    def chosen(first, *rest):  # type: ignore[no-untyped-def]
        return table[type(first)](first, *rest)

    @overload(chosen, strict=False, jit_options={**SETTING, **INNER, "forceinline": True})
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
        with suppress(ImportError, AttributeError, TypeError):  # what is not public in numba may change; do without
            _ask_for(context, builder, signature.args[0], *arguments)
        return context.get_dummy_value()

    return types.void(array, types.uint64), code


def _ask_for(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> None:
    """The instruction for an item of an array of this type."""
    from numba.core.cgutils import get_item_pointer

    whole = context.make_array(kind)(context, builder, array)
    item = get_item_pointer(context, builder, kind, whole, [at])
    place, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    shape = ir.FunctionType(ir.VoidType(), [place, number, number, number])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", (place,), shape)
    to_read, into_all_caches, not_code = number(0), number(3), number(1)
    builder.call(fetch, [builder.bitcast(item, place), to_read, into_all_caches, not_code])


@overload(prefetch)
def _compiled_prefetch(array, at):  # type: ignore[no-untyped-def]
    return lambda array, at: _prefetch(array, at)


def _everywhere(builder: Any, value: Any, size: int) -> Any:
    """A vector that has the value at all of its places."""
    number, kind = ir.IntType(32), ir.VectorType(value.type, size)
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, number(0))
    return builder.shuffle_vector(
        one, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(number, size), [0] * size)
    )


def equal_bytes(text: Any, at: Any, byte: Any) -> Any:
    """A bit for each of text[at:at+64], the first one lowest: whether it is this byte; compiled, all at once."""
    return _bits(text[at : at + 64] == byte)


def lower_bytes(text: Any, at: Any, byte: Any) -> Any:
    """The same for whether it is less than this byte."""
    return _bits(text[at : at + 64] < byte)


def _bits(found: Any) -> Any:
    return np.packbits(found, bitorder="little").view(np.uint64)[0]


def _compare(relation: str) -> Any:
    """The instruction that holds 64 bytes against one."""

    @intrinsic
    def compared(context, text, at, byte):  # type: ignore[no-untyped-def]
        block = ir.VectorType(ir.IntType(8), 64)

        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            whole = context.make_array(signature.args[0])(context, builder, arguments[0])
            place = builder.bitcast(builder.gep(whole.data, [arguments[1]]), block.as_pointer())
            found = builder.icmp_unsigned(
                relation, builder.load(place, align=1), _everywhere(builder, arguments[2], 64)
            )
            return builder.bitcast(found, ir.IntType(64))

        return types.uint64(text, types.uint64, types.uint8), code

    return compared


_equal_bytes, _lower_bytes = _compare("=="), _compare("<")


@overload(equal_bytes)
def _compiled_equal_bytes(text, at, byte):  # type: ignore[no-untyped-def]
    return lambda text, at, byte: _equal_bytes(text, at, byte)


@overload(lower_bytes)
def _compiled_lower_bytes(text, at, byte):  # type: ignore[no-untyped-def]
    return lambda text, at, byte: _lower_bytes(text, at, byte)
