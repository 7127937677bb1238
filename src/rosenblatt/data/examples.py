"""`Examples`: rows, labels and weights, checked and encoded once.

After this module nobody asks "sparse or dense?" or "which dtype?"; `label_codes` encodes labels, `row_weights` weights.
Input that cannot be learned from is refused with an error that names the row and the column. C-contiguous arrays and
canonical CSR are not copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from rosenblatt.compiling import compiled
from rosenblatt.threads import MANY_VALUES, Result, in_threads

Array = np.ndarray[Any, Any]
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
VALUES_AT_ONCE = 1 << 22  # stored values read per call of compiled code: about 10 ms
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


@dataclass(frozen=True)
class Examples:
    """The data of a fit: rows, targets and weights, checked and encoded.

    Attributes
    ----------
    rows : Dense or Sparse
    n_features : int
    target : ndarray
        Codes into `classes` (n,) int32; an indicator (n, K) int8 for several labels per row; numbers (n,) for
        regression.
    classes : ndarray or None
        The distinct labels as given, sorted; None for regression.
    weights : ndarray or None
        One float64 per row; None if all are 1.
    present : ndarray or None
        The rows that are used; None for all. Rows with weight 0 are left out.
    radius2 : float
        R² = max‖x‖² over the rows that are used.
    """

    rows: Dense | Sparse
    n_features: int
    target: Array
    classes: Array | None
    weights: Array | None
    present: Array | None
    radius2: float

    @property
    def size(self) -> int:
        """The number of rows that are used."""
        return int(self.target.shape[0] if self.present is None else self.present.size)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values, float32 or float64; narrower ones are widened to float32 when they are used."""
        return widened(self.rows.values.dtype)

    @property
    def stored(self) -> int:
        """The number of stored values that one pass reads."""
        total = self.target.shape[0]
        return int(math.prod(self.rows.values.shape) * (self.size / total)) if total else 0

    def only(self, rows: Array) -> Examples:
        """The same examples, restricted to these rows."""
        return Examples(
            self.rows, self.n_features, self.target, self.classes, self.weights, rows, radius2(self.rows, rows)
        )

    def facts(self) -> Facts:
        """Properties of all the rows that are used."""
        mass = float(self.size)
        if self.weights is not None:
            mass = float(self.weights.sum() if self.present is None else self.weights[self.present].sum())
        return Facts(
            self.n_features, self.classes, self.target.ndim == 2, self.dtype, self.size, mass, self.stored, self.radius2
        )


class Facts(NamedTuple):
    """Properties of all rows of a source, in memory or in files.

    Attributes
    ----------
    n_features : int
    classes : ndarray or None
        None for regression.
    by_labels : bool
        Whether the target is an indicator matrix of labels.
    dtype : dtype
        The dtype of the values.
    rows : int
        The number of rows that are used; 0 until a first pass has counted them.
    mass : float
        The sum of their weights.
    stored : int
        The number of stored values that a pass reads.
    radius2 : float
        max‖x‖².
    masses : ndarray or None
        The total weight of each class, if it was counted.
    """

    n_features: int
    classes: Array | None
    by_labels: bool
    dtype: np.dtype[Any]
    rows: int
    mass: float
    stored: int
    radius2: float
    masses: Array | None = None


# -- rows ------------------------------------------------------------------------------------------------------------


def rows_per_call(per_row: float, values: int = VALUES_AT_ONCE) -> int:
    """The number of rows, of about `per_row` values each, to read in one call of compiled code."""
    return max(1, min(1 << 16, int(values / max(per_row, 1.0))))


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
    return in_threads(function, spans(total, per_row * columns, at_once), values)


def values_per_row(rows: Dense | Sparse) -> float:
    """The mean number of stored values per row; more for narrow rows, whose pieces are copied and should be short."""
    if is_narrow(rows):
        return float(8 * rows.values.shape[1])
    count = rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1
    return float(rows.values.size / max(count, 1))


@compiled
def _largest_dense(values: Array, index: Array) -> float:
    largest = 0.0
    for i in index:
        x, total = values[i], 0.0
        for j in range(x.size):  # in the same order as _scan_dense, for the same bits
            total += np.float64(x[j]) * np.float64(x[j])
        largest = max(largest, total)
    return largest


@compiled
def _largest_sparse(values: Array, starts: Array, index: Array) -> float:
    largest = 0.0
    for i in index:
        x, total = values[np.uint64(starts[i]) : np.uint64(starts[i + np.uint64(1)])], 0.0
        for j in range(x.size):
            total += np.float64(x[j]) * np.float64(x[j])
        largest = max(largest, total)
    return largest


def radius2(rows: Dense | Sparse, index: Array) -> float:
    """R² over the given rows."""
    largest = 0.0
    for begin, end in spans(index.size, values_per_row(rows)):
        if isinstance(rows, Dense):
            here, values = index[begin:end], rows.values
            if is_narrow(rows):
                here, values = np.arange(end - begin, dtype=np.uint64), gathered(rows, here).values
            largest = max(largest, _largest_dense(values, here))
        else:
            largest = max(largest, _largest_sparse(rows.values, rows.starts, index[begin:end]))
    return largest


def as_signed(index: Array) -> Array:
    """A view of the same memory with the signed dtype that SciPy uses."""
    return index.view(np.dtype(f"i{index.dtype.itemsize}"))
