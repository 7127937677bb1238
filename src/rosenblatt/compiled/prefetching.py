"""Hints to the processor to load memory that will be read soon; they do nothing when compilation is off."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

Array = np.ndarray[Any, Any]


def _hint(level: int) -> Any:
    @intrinsic
    def hint(_: Any, array: Any, index: Any) -> Any:  # pragma: no cover
        from llvmlite import ir

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(array)(context, builder, args[0]).data
            byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
            address = builder.bitcast(builder.gep(data, [args[1]]), byte)
            shape = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
            call = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
            builder.call(call, [address, i32(0), i32(level), i32(1)])  # read, locality, data cache
            return context.get_dummy_value()

        return types.void(array, index), emit

    return hint


_to_first, _to_second = _hint(3), _hint(2)


def prefetch(array: Array, index: Any, near: bool) -> None:
    """Prefetch array.flat[index] into the L1 cache if `near`, else into L2."""


@overload(prefetch, strict=False)
def _prefetch_compiled(array: Any, index: Any, near: Any) -> Any:  # pragma: no cover
    def body(array: Any, index: Any, near: Any) -> Any:
        if near:
            _to_first(array, index)
        else:
            _to_second(array, index)

    return body
