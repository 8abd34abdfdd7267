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
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model

from onepass._jit import instructions, whole_number

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


def _compiled(function: Callable[..., Any], result: Any) -> Callable[..., Any]:
    """What the decorated function writes stands, compiled, for a call of this one, whose type that is."""

    def known(write: Callable[..., Any]) -> Callable[..., Any]:
        @instructions(function, lambda *kinds: result)
        def code(context: Any, builder: Any, kinds: Any, *arguments: Any) -> Any:
            return write(_Writer(context, builder, kinds), *arguments)

        return write

    return known


class _Writer:
    """Writes instructions for arguments of these types."""

    def __init__(self, context: Any, builder: Any, kinds: Any) -> None:
        self.context, self.builder, self.kinds = context, builder, kinds

    def data(self, place: int, array: Any) -> Any:
        """Where the array begins that stands at this place among the arguments."""
        return self.context.make_array(self.kinds[place])(self.context, self.builder, array).data

    def number(self, place: int, at: Any) -> Any:
        """A whole number as one of 64 bits."""
        return whole_number(self.context, self.builder, self.kinds[place], at)

    def read(self, place: int, array: Any, at: Any) -> Any:
        """Eight items of an array."""
        kind = self.kinds[place].dtype
        where = self.builder.gep(self.data(place, array), [at])
        eight_items = ir.VectorType(self.context.get_value_type(kind), 8).as_pointer()
        found = self.builder.load(self.builder.bitcast(where, eight_items), align=ALIGNED[kind.name])
        return found if kind == types.float64 else self.builder.fpext(found, FLOATS)

    def write(self, place: int, array: Any, at: Any, values: Any) -> None:
        """Eight floats of 64 bits into an array of such."""
        where = self.builder.gep(self.data(place, array), [at])
        self.builder.store(values, self.builder.bitcast(where, FLOATS.as_pointer()), align=ALIGNED["float64"])

    def named(self, place: int, chosen: Any, first: Any) -> list[Any]:
        """Eight items of an array of whole numbers, from `first` on, which is the argument after it."""
        data, start = self.data(place, chosen), self.number(place + 1, first)
        places = [self.builder.gep(data, [self.builder.add(start, PLACE(k))]) for k in range(8)]
        return [self.builder.zext(self.builder.load(where), PLACE) for where in places]

    def lines(self, place: int, chosen: Any, first: Any) -> list[Any]:
        """Where the lines begin that these name."""
        return [self.builder.shl(item, PLACE(3)) for item in self.named(place, chosen, first)]

    def shuffled(self, one: Any, other: Any, *places: int) -> Any:
        """Eight of the items of both."""
        return self.builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(NUMBER, 8), list(places)))

    def turned(self, rows: list[Any]) -> list[Any]:
        """The columns of eight rows of eight, in three steps of shuffles that processors have as instructions."""
        pairs = [
            [self.shuffled(rows[k], rows[k + 1], *(c + side for c in (0, 8, 2, 10, 4, 12, 6, 14))) for side in (0, 1)]
            for k in range(0, 8, 2)
        ]
        even, odd = (0, 1, 4, 5, 8, 9, 12, 13), (2, 3, 6, 7, 10, 11, 14, 15)
        columns: list[Any] = [None] * 8
        for side in (0, 1):
            for first, half in ((side, even), (side + 2, odd)):
                upper = self.shuffled(pairs[0][side], pairs[1][side], *half)
                lower = self.shuffled(pairs[2][side], pairs[3][side], *half)
                columns[first] = self.shuffled(upper, lower, *even)
                columns[first + 4] = self.shuffled(upper, lower, *odd)
        return columns

    def known(self, name: str, values: Any) -> Any:
        """A function that the compiler knows, of each of eight floats."""
        shape = ir.FunctionType(FLOATS, [FLOATS])
        return self.builder.call(self.builder.module.declare_intrinsic(f"llvm.{name}.v8f64", (), shape), [values])


@_compiled(load, eight)
def _load(writer: _Writer, array: Any, at: Any) -> Any:
    return writer.read(0, array, writer.number(1, at))


@_compiled(store, types.none)
def _store(writer: _Writer, array: Any, at: Any, values: Any) -> Any:
    writer.write(0, array, writer.number(1, at), values)


@_compiled(every, eight)
def _every(writer: _Writer, x: Any) -> Any:
    x = writer.context.cast(writer.builder, x, writer.kinds[0], types.float64)
    nothing = ir.Constant(FLOATS, ir.Undefined)
    return writer.shuffled(writer.builder.insert_element(nothing, x, NUMBER(0)), nothing, *[0] * 8)


@_compiled(size_of, eight)
def _size_of(writer: _Writer, values: Any) -> Any:
    return writer.known("fabs", values)


@_compiled(roots, eight)
def _roots(writer: _Writer, values: Any) -> Any:
    return writer.known("sqrt", values)


@_compiled(quotients, eight)
def _quotients(writer: _Writer, one: Any, other: Any) -> Any:
    return writer.builder.fdiv(one, other)


@_compiled(where_less, eight)
def _where_less(writer: _Writer, one: Any, other: Any, then: Any, otherwise: Any) -> Any:
    return writer.builder.select(writer.builder.fcmp_ordered("<", one, other), then, otherwise)


@_compiled(flags, types.uint64)
def _flags(writer: _Writer, values: Any) -> Any:
    unlike = writer.builder.fcmp_unordered("!=", values, ir.Constant(FLOATS, [0.0] * 8))
    return writer.builder.zext(writer.builder.bitcast(unlike, ir.IntType(8)), PLACE)


@_compiled(sum_of, types.float64)
def _sum_of(writer: _Writer, values: Any) -> Any:
    parts = [writer.builder.extract_element(values, NUMBER(k)) for k in range(8)]
    while len(parts) > 1:
        parts = [writer.builder.fadd(parts[k], parts[k + 1]) for k in range(0, len(parts), 2)]
    return parts[0]


@_compiled(load_chosen, eight)
def _load_chosen(writer: _Writer, array: Any, chosen: Any, first: Any) -> Any:
    data, values = writer.data(0, array), ir.Constant(FLOATS, ir.Undefined)
    for k, item in enumerate(writer.named(1, chosen, first)):
        one = writer.builder.load(writer.builder.gep(data, [item]))
        values = writer.builder.insert_element(values, one, NUMBER(k))
    return values


@_compiled(load_turned, types.UniTuple(eight, 8))
def _load_turned(writer: _Writer, lines: Any, chosen: Any, first: Any) -> Any:
    rows = [writer.read(0, lines, at) for at in writer.lines(1, chosen, first)]
    return writer.context.make_tuple(writer.builder, types.UniTuple(eight, 8), writer.turned(rows))


@_compiled(store_turned, types.none)
def _store_turned(writer: _Writer, lines: Any, chosen: Any, first: Any, turned: Any) -> Any:
    rows = writer.turned([writer.builder.extract_value(turned, k) for k in range(8)])
    for at, row in zip(writer.lines(1, chosen, first), rows, strict=True):
        writer.write(0, lines, at, row)


for operation, instruction in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul")):

    @infer_global(operation)
    class _OfEights(ConcreteTemplate):  # type: ignore[misc]
        cases = [signature(eight, eight, eight)]  # noqa: RUF012 - as numba wants it

    @lower_builtin(operation, eight, eight)
    def _lowered(context, builder, called, arguments, instruction=instruction):  # type: ignore[no-untyped-def]
        return getattr(builder, instruction)(*arguments)
