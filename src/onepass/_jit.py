"""The one compiler setting, and dispatch on the type of a rule.

`jit` compiles kernels, `allocating` those that make arrays, and `inlined` what is to disappear inside them. fastmath
stays off: it decides exact ties otherwise, hides NaN, and makes gathers slower. Compiled code is cached on disk; where
no folder is writable it is compiled anew in each process, with one notice.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import lower_builtin, overload, type_callable

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


def instructions(function: Function, result: Callable[..., Any]) -> Callable[[Function], Function]:
    """What the decorated function writes stands, compiled, for a call of `function`; `result` is the type of that.

    The writer is handed numba's context, a builder, the types of the arguments, and these. A function of its own for
    each, as `intrinsic` and `overload` make it, would take longer to compile wherever it is called first.
    """
    parameters = inspect.signature(function)

    def known(write: Function) -> Function:
        def typing(context: Any) -> Any:
            def typer(*kinds: Any) -> Any:
                return result(*kinds)

            typer.pysig = parameters  # type: ignore[attr-defined]
            return typer

        def code(context: Any, builder: Any, called: Any, arguments: Any) -> Any:
            found = write(context, builder, called.args, *arguments)
            return context.get_dummy_value() if called.return_type == types.none else found

        type_callable(function)(typing)
        lower_builtin(function, types.VarArg(types.Any))(code)
        return write

    return known


def whole_number(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """A whole number of any type as one of 64 bits without a sign."""
    return context.cast(builder, value, kind, types.uint64)


def trailing_zeros(word: Any) -> Any:
    """How many zeros stand below the lowest one of a 64-bit word (64 if there is none): an instruction, compiled."""
    return np.uint64((int(word) & -int(word)).bit_length() - 1 if word else 64)


@instructions(trailing_zeros, lambda word: types.uint64)
def _trailing_zeros(context: Any, builder: Any, kinds: Any, word: Any) -> Any:
    return builder.cttz(whole_number(context, builder, kinds[0], word), ir.Constant(ir.IntType(1), False))


def fused(x: Any, y: Any, z: Any) -> Any:
    """x·y + z for floats of one type; compiled, rounded once where the processor can, which is twice as fast.

    For what only rules out, with room for rounding: its last bit is not the same on every machine.
    """
    return x * y + z


@instructions(fused, lambda x, y, z: x if x == y == z else None)
def _fused(context: Any, builder: Any, kinds: Any, *arguments: Any) -> Any:
    kind = arguments[0].type
    shape = ir.FunctionType(kind, [kind, kind, kind])
    return builder.call(builder.module.declare_intrinsic("llvm.fmuladd", (kind,), shape), arguments)


def prefetch(array: Any, at: Any) -> None:
    """Tell the processor that array[at] will be wanted; compiled, an instruction that reads nothing and cannot fail."""


@instructions(prefetch, lambda array, at: types.none)
def _prefetch(context: Any, builder: Any, kinds: Any, array: Any, at: Any) -> Any:
    with suppress(ImportError, AttributeError, TypeError):  # what is not public in numba may change; do without
        _ask_for(context, builder, kinds[0], array, whole_number(context, builder, kinds[1], at))


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


def _compare(relation: str, function: Function) -> None:
    """The instruction that holds 64 bytes against one."""
    block = ir.VectorType(ir.IntType(8), 64)

    @instructions(function, lambda text, at, byte: types.uint64)
    def compared(context: Any, builder: Any, kinds: Any, text: Any, at: Any, byte: Any) -> Any:
        whole = context.make_array(kinds[0])(context, builder, text)
        first = builder.gep(whole.data, [whole_number(context, builder, kinds[1], at)])
        place = builder.bitcast(first, block.as_pointer())
        wanted = _everywhere(builder, context.cast(builder, byte, kinds[2], types.uint8), 64)
        found = builder.icmp_unsigned(relation, builder.load(place, align=1), wanted)
        return builder.bitcast(found, ir.IntType(64))


_compare("==", equal_bytes)
_compare("<", lower_bytes)
