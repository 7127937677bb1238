"""Hints to the processor to load memory that will be read soon; they do nothing when compilation is off."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from rosenblatt.compiled.machine_code import intrinsic_of

Array = np.ndarray[Any, Any]


def prefetch(array: Array, index: Any, near: bool) -> None:
    """Prefetch array.flat[index] into the L1 cache if `near`, else into L2."""


@intrinsic_of(prefetch)
def _prefetch(_: Any, array: Any, index: Any, near: Any) -> Any:  # pragma: no cover
    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(array)(context, builder, args[0]).data
        byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        shape = ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32])
        call = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
        with builder.if_else(args[2]) as branches:
            for branch, level in zip(branches, (3, 2), strict=True):
                with branch:
                    builder.call(call, [address, i32(0), i32(level), i32(1)])  # read, locality, data cache
        return context.get_dummy_value()

    return types.void(array, index, types.boolean), emit
