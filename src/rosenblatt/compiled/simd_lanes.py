"""Eight neighbouring values of an array as one value, which a loop can keep in registers; four for sums of products.

LLVM turns a short inner loop into vector code too, but checks at each entry whether its arrays overlap, and reads and
writes a sum that the outer loop carries at each turn. In plain Python lanes are an array of eight values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import models, register_model

from rosenblatt.compiled.machine_code import intrinsic_of

Array = np.ndarray[Any, Any]
WIDTH = 8
FOUR = 4
FLAGS = ("reassoc", "contract", "nsz", "arcp")  # as in `machine_code.OPTIONS`


def zeros(array: Array) -> Array:
    """Lanes of zeros, of the type of the array."""
    return np.zeros(WIDTH, array.dtype)


def load(array: Array, at: Any) -> Array:
    """The lanes array.flat[at : at + 8]."""
    return array.reshape(-1)[at : at + WIDTH].copy()


def store(array: Array, at: Any, lanes: Array) -> None:
    """array.flat[at : at + 8] = lanes."""
    array.reshape(-1)[at : at + WIDTH] = lanes


def add_scaled(lanes: Array, a: Any, others: Array) -> Array:
    """The lanes plus a·others."""
    return np.asarray(lanes + a * others, lanes.dtype)


def zero_products(array: Array) -> Array:
    """Four zeros, of the type of the array."""
    return np.zeros(FOUR, array.dtype)


def add_products(four: Array, x: Array, at: Any, index: Array, w: Array) -> Array:
    """The four values plus x[at + k]·w[index[at + k]], k = 0 to 3; `index` is unsigned.

    LLVM reads x as a whole this way: one instruction, and one multiplication, where four scalars need four.
    """
    here = slice(int(at), int(at) + FOUR)
    return np.asarray(four + x[here] * w[index[here]], four.dtype)


def lane(four: Array, k: int) -> Any:
    """The value of a lane."""
    return four[k]


# -- compiled ----------------------------------------------------------------------------------------------------------


class Lanes(types.Type):
    """The type of lanes in compiled code."""

    def __init__(self, dtype: Any, width: int = WIDTH) -> None:
        self.dtype, self.width = dtype, width
        super().__init__(name=f"Lanes({dtype}, {width})")


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        from llvmlite import ir

        each = manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, ir.VectorType(each, kind.width))  # type: ignore[no-untyped-call]


def _check(array: Any, dtype: Any) -> None:
    """Lanes are neighbours in memory, of the array's own type."""
    if array.layout != "C" or array.dtype != dtype:
        raise TypingError(f"lanes of {dtype} need a C-contiguous array of it, not {array}")


def _place(context: Any, builder: Any, array: Any, value: Any, at: Any, kind: Any) -> Any:
    """A pointer to the lanes of an array."""
    data = context.make_array(array)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [at]), context.get_value_type(kind).as_pointer())


def _make_zeros(plain: Any, width: int) -> None:
    @intrinsic_of(plain)
    def zeros_of(_: Any, array: Any) -> Any:  # pragma: no cover
        from llvmlite import ir

        kind = Lanes(array.dtype, width)

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return ir.Constant(context.get_value_type(kind), None)

        return kind(array), emit


_make_zeros(zeros, WIDTH)
_make_zeros(zero_products, FOUR)


@intrinsic_of(add_products)
def _add_products(_: Any, four: Any, x: Any, at: Any, index: Any, w: Any) -> Any:  # pragma: no cover
    from llvmlite import ir

    _check(x, min(x.dtype, four.dtype, key=lambda dtype: dtype.bitwidth))
    _check(w, four.dtype)
    _check(index, index.dtype)
    if index.dtype.signed:
        raise TypingError(f"lanes are read by unsigned columns, not {index.dtype}")

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        i32, i64 = ir.IntType(32), ir.IntType(64)
        place = _place(context, builder, x, args[1], args[2], Lanes(x.dtype, FOUR))
        values = builder.load(place, align=x.dtype.bitwidth // 8)
        if x.dtype != four.dtype:
            values = builder.fpext(values, context.get_value_type(four))
        first = builder.gep(context.make_array(index)(context, builder, args[3]).data, [args[2]])
        weights, data = ir.Constant(values.type, ir.Undefined), context.make_array(w)(context, builder, args[4]).data
        for k in range(FOUR):
            column = builder.load(builder.gep(first, [i32(k)]))
            column = builder.zext(column, i64) if column.type.width < 64 else column
            weights = builder.insert_element(weights, builder.load(builder.gep(data, [column])), i32(k))
        return builder.fadd(args[0], builder.fmul(values, weights, flags=FLAGS), flags=FLAGS)

    return four(four, x, at, index, w), emit


@intrinsic_of(lane)
def _lane(_: Any, four: Any, k: Any) -> Any:  # pragma: no cover
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.extract_element(args[0], args[1])

    return four.dtype(four, k), emit


@intrinsic_of(load)
def _load(_: Any, array: Any, at: Any) -> Any:  # pragma: no cover
    _check(array, array.dtype)
    kind = Lanes(array.dtype)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, array, args[0], args[1], kind)
        return builder.load(place, align=array.dtype.bitwidth // 8)

    return kind(array, at), emit


@intrinsic_of(store)
def _store(_: Any, array: Any, at: Any, lanes: Any) -> Any:  # pragma: no cover
    _check(array, lanes.dtype)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _place(context, builder, array, args[0], args[1], lanes)
        builder.store(args[2], place, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, at, lanes), emit


@intrinsic_of(add_scaled)
def _add_scaled(_: Any, lanes: Any, a: Any, others: Any) -> Any:  # pragma: no cover
    from llvmlite import ir

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole = context.get_value_type(lanes)
        undefined, first = ir.Constant(whole, ir.Undefined), ir.IntType(32)
        one = builder.insert_element(undefined, context.cast(builder, args[1], a, lanes.dtype), first(0))
        each = builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(first, WIDTH), [first(0)] * WIDTH))
        return builder.fadd(args[0], builder.fmul(each, args[2], flags=FLAGS), flags=FLAGS)

    return lanes(lanes, a, others), emit
