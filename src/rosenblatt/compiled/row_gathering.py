"""Copies sparse rows in a new order, so that a pass reads memory sequentially."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import compiled

Array = np.ndarray[Any, Any]
LARGE = 1 << 20  # bytes


@compiled
def _gather(values: Array, columns: Array, starts: Array, order: Array, out: Any, places: Any, ends: Array) -> None:
    at = np.uint64(0)
    for t in range(order.size):
        i = order[t]
        for j in range(np.uint64(starts[i]), np.uint64(starts[i + np.uint64(1)])):
            out[at] = values[j]
            places[at] = columns[j]
            at += np.uint64(1)
        ends[t + 1] = at


def room(count: int, dtype: Any) -> Array:
    """An array in its own memory mapping, which returns to the system as soon as the array is freed.

    The C library would keep freed memory for the thread that used it: half as much again as is ever in use.
    """
    size = count * np.dtype(dtype).itemsize
    if not (hasattr(mmap, "MAP_PRIVATE") and size >= LARGE):
        return np.empty(count, dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, dtype, count)


def gather(values: Array, columns: Array, starts: Array, order: Array) -> tuple[Array, Array, Array]:
    """The rows of CSR arrays in this order, in double precision; `order` is a permutation."""
    out, places = room(values.size, np.float64), room(columns.size, columns.dtype)
    ends = np.zeros(order.size + 1, starts.dtype)
    _gather(values, columns, starts, order, out, places, ends)
    return out, places, ends
