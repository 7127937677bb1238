"""`Dense` and `Sparse`: rows of arrays as compiled code reads them, and how they are read piece by piece."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from rosenblatt.compiled.machine_code import compiled, verb
from rosenblatt.compiled.threads import MANY_VALUES, Result, in_threads

Array = np.ndarray[Any, Any]
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
VALUES_AT_ONCE = 1 << 22  # stored values read per call of compiled code: about 10 ms
MOST_ROWS = 1 << 16  # rows read per call, however short they are
VALUES_PER_THREAD = 1 << 20  # the same if threads share the work


def read_only(array: Array) -> Array:
    """A read-only view.

    Rows are never written to. Numba compiles one version for writable and another for read-only arrays, such as memory
    maps: with read-only views everywhere, one version is enough.
    """
    view = array.view()
    view.flags.writeable = False
    return view


class Dense(NamedTuple):
    """Rows of a C-contiguous (n, d) array, read-only."""

    values: Array


class Sparse(NamedTuple):
    """Rows of a CSR matrix without duplicate entries; the index arrays are unsigned, and all are read-only."""

    values: Array
    columns: Array
    starts: Array


NARROW = ("float16", "bfloat16", "int8", "uint8")  # types of rows that are stored as given, and widened in blocks


def widened(dtype: Any) -> np.dtype[Any]:
    """The dtype in which values of this one, of NumPy or of another library, are computed with."""
    if dtype is DOUBLE or dtype is SINGLE:  # comparing names takes longer than learning a row
        return dtype
    return np.dtype(np.float64 if str(dtype).endswith("float64") else np.float32)


def is_narrow(rows: Dense | Sparse) -> TypeGuard[Dense]:
    """Whether compiled code cannot read the rows as they are."""
    if not isinstance(rows, Dense):
        return False
    return not (isinstance(rows.values, np.ndarray) and rows.values.dtype in (DOUBLE, SINGLE))


def gathered(rows: Dense, index: Any) -> Dense:
    """A copy of these rows that compiled code can read."""
    return Dense(read_only(np.ascontiguousarray(rows.values[index], dtype=widened(rows.values.dtype))))


def rows_per_call(per_row: float, values: int = VALUES_AT_ONCE) -> int:
    """The number of rows, of about `per_row` values each, to read in one call of compiled code."""
    return max(1, min(MOST_ROWS, int(values / max(per_row, 1.0))))


def spans(total: int, per_row: float, values: int = VALUES_AT_ONCE) -> Iterator[tuple[int, int]]:
    """Split `total` rows of about `per_row` values each into ranges for one call of compiled code."""
    step = rows_per_call(per_row, values)
    for begin in range(0, total, step):
        yield begin, min(begin + step, total)


def in_pieces(
    function: Callable[[tuple[int, int]], Result], total: int, per_row: float, columns: int = 1
) -> list[Result]:
    """`function` of ranges that cover all rows, in order; on several threads if the rows have many values.

    The scores of several columns cost less per value, and get longer ranges.
    """
    values = total * per_row * columns
    if values < MANY_VALUES:
        return [function((0, total))] if total else []
    at_once = VALUES_PER_THREAD if columns == 1 else VALUES_AT_ONCE
    # Equal pieces, a multiple of four: on two or four threads none waits long for the others.
    count = 4 * math.ceil(max(values / at_once, total / MOST_ROWS) / 4)
    return in_threads(function, spans(total, 1.0, math.ceil(total / count)), values)


def values_per_row(rows: Dense | Sparse) -> float:
    """The mean number of stored values per row; more for narrow rows, whose pieces are copied and should be short."""
    if is_narrow(rows):
        return float(8 * rows.values.shape[1])
    count = rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1
    return float(rows.values.size / max(count, 1))


def _norm_dense(rows: Any, i: Any) -> Any:
    x = rows.values[i]
    total = 0.0
    for j in range(x.size):  # in the same order as row checks, for the same bits
        total += np.float64(x[j]) * np.float64(x[j])
    return total


def _norm_sparse(rows: Any, i: Any) -> Any:
    x = rows.values[np.uint64(rows.starts[i]) : np.uint64(rows.starts[i + np.uint64(1)])]
    total = 0.0
    for j in range(x.size):
        total += np.float64(x[j]) * np.float64(x[j])
    return total


norm = verb({Dense: _norm_dense, Sparse: _norm_sparse})  # ‖x_i‖², in double precision


@compiled
def _largest_norm(rows: Any, index: Array) -> float:
    largest = 0.0
    for i in index:
        largest = max(largest, norm(rows, i))
    return largest


def radius2(rows: Dense | Sparse, index: Array) -> float:
    """R² over the given rows."""
    largest = 0.0
    for begin, end in spans(index.size, values_per_row(rows)):
        part, here = rows, index[begin:end]
        if is_narrow(rows):
            part, here = gathered(rows, here), np.arange(end - begin, dtype=np.uint64)
        largest = max(largest, _largest_norm(part, here))
    return largest
