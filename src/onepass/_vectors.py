"""Eight floats at once: what compilers make of a plain loop only if they are in the mood.

In plain Python an `Eight` is a NumPy array of eight floats; compiled, it is a register, and what is done to it is an
instruction (or two, or four, where a processor's registers are shorter). Each of the eight is treated as a float of its
own would be, so that results have the same bits on every processor, compiled or not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import datamodel
from numba.extending import intrinsic, overload, register_model

DOUBLE, PLACE, NUMBER = ir.DoubleType(), ir.IntType(64), ir.IntType(32)
FLOATS = ir.VectorType(DOUBLE, 8)
ALIGNED = {"float64": 8, "float32": 4}  # bytes: all that is known of where an item of an array begins


class EightType(types.Type):  # type: ignore[misc]
    """The type of eight floats in a register."""

    def __init__(self) -> None:
        super().__init__(name="Eight")


eight = EightType()


@register_model(EightType)
class _EightModel(datamodel.models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, FLOATS)


def load(array: Any, at: Any) -> Any:
    """array[at:at+8], of 32 or 64 bits."""
    return array[at : at + 8].astype(np.float64)


def store(array: Any, at: Any, values: Any) -> None:
    """array[at:at+8] = values."""
    array[at : at + 8] = values


def every(x: Any) -> Any:
    """Eight times the same float."""
    return np.full(8, x, dtype=np.float64)


def size_of(values: Any) -> Any:
    """Their absolute values."""
    return np.abs(values)


def roots(values: Any) -> Any:
    """Their square roots."""
    return np.sqrt(values)


def quotients(one: Any, other: Any) -> Any:
    """one / other; by 0 it is infinite, or not a number."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return one / other


def where_less(one: Any, other: Any, then: Any, otherwise: Any) -> Any:
    """`then` where one < other, else `otherwise`."""
    return np.where(one < other, then, otherwise)


def flags(values: Any) -> Any:
    """A bit for each that is not 0, the first one lowest."""
    return np.uint64(np.packbits(values != 0.0, bitorder="little")[0])


def sum_of(values: Any) -> Any:
    """Their sum, in one order for all."""
    pairs = values[::2] + values[1::2]
    return (pairs[0] + pairs[1]) + (pairs[2] + pairs[3])


def load_chosen(array: Any, chosen: Any, first: Any) -> Any:
    """The eight items of an array of floats that chosen[first:first+8] name."""
    return array[chosen[first : first + 8]]


def load_turned(lines: Any, chosen: Any, first: Any) -> Any:
    """Of the eight lines of eight floats that chosen[first:first+8] name: what stands first in each, then second, …"""
    return tuple(lines.reshape(-1, 8)[chosen[first : first + 8]].T.copy())


def store_turned(lines: Any, chosen: Any, first: Any, turned: Any) -> None:
    """The reverse of `load_turned`. A line that is named twice must be given the same floats twice."""
    lines.reshape(-1, 8)[chosen[first : first + 8]] = np.stack(turned).T


# --- compiled ---------------------------------------------------------------------------------------------------------


def _at(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    """Where eight items of an array of this type begin."""
    whole = context.make_array(kind)(context, builder, array)
    item = context.get_value_type(kind.dtype)
    return builder.bitcast(builder.gep(whole.data, [at]), ir.VectorType(item, 8).as_pointer())


def _read(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    values = builder.load(_at(context, builder, kind, array, at), align=ALIGNED[kind.dtype.name])
    return values if kind.dtype == types.float64 else builder.fpext(values, FLOATS)


def _write(context: Any, builder: Any, kind: Any, array: Any, at: Any, values: Any) -> None:
    builder.store(values, _at(context, builder, kind, array, at), align=ALIGNED["float64"])


@intrinsic
def _load(context, array, at):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return _read(context, builder, signature.args[0], *arguments)

    return eight(array, types.uint64), code


@intrinsic
def _store(context, array, at, values):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        _write(context, builder, signature.args[0], *arguments)
        return context.get_dummy_value()

    return types.void(array, types.uint64, eight), code


def _shuffled(builder: Any, one: Any, other: Any, *places: int) -> Any:
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(NUMBER, len(places)), list(places)))


@intrinsic
def _every(context, x):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        nothing = ir.Constant(FLOATS, ir.Undefined)
        one = builder.insert_element(nothing, arguments[0], NUMBER(0))
        return _shuffled(builder, one, nothing, *[0] * 8)

    return eight(types.float64), code


def _instruction(count: int, write: Callable[[Any, list[Any]], Any]) -> Any:
    """An operation on so many eights that gives eight."""
    signature = eight(*[eight] * count)

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return write(builder, list(arguments))

    def one(context, a):  # type: ignore[no-untyped-def]
        return signature, code

    def two(context, a, b):  # type: ignore[no-untyped-def]
        return signature, code

    def four(context, a, b, c, d):  # type: ignore[no-untyped-def]
        return signature, code

    return intrinsic({1: one, 2: two, 4: four}[count])


def _known(name: str) -> Callable[[Any, list[Any]], Any]:
    """A function that the compiler knows."""

    def write(builder: Any, arguments: list[Any]) -> Any:
        shape = ir.FunctionType(FLOATS, [FLOATS])
        return builder.call(builder.module.declare_intrinsic(f"llvm.{name}.v8f64", (), shape), arguments)

    return write


_add = _instruction(2, lambda builder, of: builder.fadd(*of))
_subtract = _instruction(2, lambda builder, of: builder.fsub(*of))
_multiply = _instruction(2, lambda builder, of: builder.fmul(*of))
_quotients = _instruction(2, lambda builder, of: builder.fdiv(*of))
_size_of, _roots = _instruction(1, _known("fabs")), _instruction(1, _known("sqrt"))
_where_less = _instruction(4, lambda builder, of: builder.select(builder.fcmp_ordered("<", *of[:2]), *of[2:]))


@intrinsic
def _flags(context, values):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        unlike = builder.fcmp_unordered("!=", arguments[0], ir.Constant(FLOATS, [0.0] * 8))
        return builder.zext(builder.bitcast(unlike, ir.IntType(8)), PLACE)

    return types.uint64(eight), code


@intrinsic
def _sum_of(context, values):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        parts = [builder.extract_element(arguments[0], NUMBER(k)) for k in range(8)]
        while len(parts) > 1:
            parts = [builder.fadd(parts[k], parts[k + 1]) for k in range(0, len(parts), 2)]
        return parts[0]

    return types.float64(eight), code


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """The columns of eight rows of eight, in three steps of shuffles that processors have as instructions."""
    pairs = [
        [_shuffled(builder, rows[k], rows[k + 1], *(c + side for c in (0, 8, 2, 10, 4, 12, 6, 14))) for side in (0, 1)]
        for k in range(0, 8, 2)
    ]
    even, odd = (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15)
    columns: list[Any] = [None] * 8
    for side in (0, 1):
        for first, half in ((side, even), (side + 2, odd)):
            upper = _shuffled(builder, pairs[0][side], pairs[1][side], *half)
            lower = _shuffled(builder, pairs[2][side], pairs[3][side], *half)
            columns[first] = _shuffled(builder, upper, lower, *even)
            columns[first + 4] = _shuffled(builder, upper, lower, *odd)
    return columns


def _named(context: Any, builder: Any, kind: Any, chosen: Any, first: Any) -> list[Any]:
    """Eight items of an array of whole numbers, from `first` on."""
    names = context.make_array(kind)(context, builder, chosen)
    items = [builder.load(builder.gep(names.data, [builder.add(first, PLACE(k))])) for k in range(8)]
    return [builder.zext(item, PLACE) for item in items]


def _lines_at(context: Any, builder: Any, kind: Any, chosen: Any, first: Any) -> list[Any]:
    """Where the lines begin that these name."""
    return [builder.shl(item, PLACE(3)) for item in _named(context, builder, kind, chosen, first)]


@intrinsic
def _load_chosen(context, array, chosen, first):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        floats = context.make_array(signature.args[0])(context, builder, arguments[0])
        values = ir.Constant(FLOATS, ir.Undefined)
        for k, item in enumerate(_named(context, builder, signature.args[1], *arguments[1:])):
            values = builder.insert_element(values, builder.load(builder.gep(floats.data, [item])), NUMBER(k))
        return values

    return eight(array, chosen, types.uint64), code


@intrinsic
def _load_turned(context, lines, chosen, first):  # type: ignore[no-untyped-def]
    eights = types.UniTuple(eight, 8)

    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kinds = signature.args
        places = _lines_at(context, builder, kinds[1], *arguments[1:3])
        rows = [_read(context, builder, kinds[0], arguments[0], at) for at in places]
        return context.make_tuple(builder, eights, _turned(builder, rows))

    return eights(lines, chosen, types.uint64), code


@intrinsic
def _store_turned(context, lines, chosen, first, turned):  # type: ignore[no-untyped-def]
    def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        kinds = signature.args
        rows = _turned(builder, [builder.extract_value(arguments[3], k) for k in range(8)])
        places = _lines_at(context, builder, kinds[1], *arguments[1:3])
        for at, row in zip(places, rows, strict=True):
            _write(context, builder, kinds[0], arguments[0], at, row)
        return context.get_dummy_value()

    return types.void(lines, chosen, types.uint64, turned), code


overload(load)(lambda array, at: lambda array, at: _load(array, at))
overload(store)(lambda array, at, values: lambda array, at, values: _store(array, at, values))
overload(every)(lambda x: lambda x: _every(x))
overload(size_of)(lambda values: lambda values: _size_of(values))
overload(roots)(lambda values: lambda values: _roots(values))
overload(quotients)(lambda one, other: lambda one, other: _quotients(one, other))
overload(flags)(lambda values: lambda values: _flags(values))
overload(sum_of)(lambda values: lambda values: _sum_of(values))


@overload(where_less)
def _compiled_where_less(one, other, then, otherwise):  # type: ignore[no-untyped-def]
    return lambda one, other, then, otherwise: _where_less(one, other, then, otherwise)


@overload(load_chosen)
def _compiled_load_chosen(array, chosen, first):  # type: ignore[no-untyped-def]
    return lambda array, chosen, first: _load_chosen(array, chosen, first)


@overload(load_turned)
def _compiled_load_turned(lines, chosen, first):  # type: ignore[no-untyped-def]
    return lambda lines, chosen, first: _load_turned(lines, chosen, first)


@overload(store_turned)
def _compiled_store_turned(lines, chosen, first, turned):  # type: ignore[no-untyped-def]
    return lambda lines, chosen, first, turned: _store_turned(lines, chosen, first, turned)


@overload(operator.add)
def _sum(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: _add(a, b)) if a == b == eight else None


@overload(operator.sub)
def _difference(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: _subtract(a, b)) if a == b == eight else None


@overload(operator.mul)
def _product(a, b):  # type: ignore[no-untyped-def]
    return (lambda a, b: _multiply(a, b)) if a == b == eight else None
