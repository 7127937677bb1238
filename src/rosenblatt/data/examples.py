"""`Examples`: rows, labels and weights, checked and encoded once.

After this module nobody asks "sparse or dense?" or "which dtype?"; `label_codes` encodes labels, `row_weights` weights.
Input that cannot be learned from is refused with an error that names the row and the column. C-contiguous arrays and
canonical CSR are not copied.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiling import compiled
from rosenblatt.data.errors import NonFiniteInputError
from rosenblatt.data.sparse_checks import check_arrays, out_of_range_message
from rosenblatt.threads import MANY_VALUES, Result, in_threads, thread_count

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


@compiled
def _scan_dense(values: Array, begin: int, end: int) -> float:
    """The largest ‖x‖² of rows begin to end; not finite if a value is not."""
    largest = 0.0
    for i in range(begin, end):
        x = values[i]
        total = 0.0
        for j in range(x.size):
            total += np.float64(x[j]) * np.float64(x[j])
        if not total <= largest:
            largest = total
            if not total < np.inf:  # also for NaN; `isfinite` computes total - total, which fast-math folds to 0
                break
    return largest


@compiled
def _in_range(columns: Array, starts: Array, d: int, i: int) -> bool:
    """Whether the offsets and columns of row i are in range."""
    start, stop = np.uint64(starts[i]), np.uint64(starts[i + 1])
    if stop < start or stop > np.uint64(columns.size):
        return False
    beyond = 0
    for j in range(start, stop):
        beyond += 1 if np.uint64(columns[j]) >= np.uint64(d) else 0
    return beyond == 0


@compiled
def _scan_sparse(values: Array, columns: Array, starts: Array, d: int, begin: int, end: int) -> tuple[float, int, bool]:
    """The largest ‖x‖², the first row with an index out of range (or −1), and whether columns always increase.

    Columns are read as one array, without regard to rows, because loops over short rows do not become vector code:
    they increase in every row if they decrease nowhere but between rows.
    """
    wrong = np.uint64(starts[end]) > np.uint64(values.size)
    for i in range(begin, end):
        wrong |= starts[i + 1] < starts[i]
    first = np.uint64(starts[begin])
    column = columns[first : first if wrong else np.uint64(starts[end])]
    one, none = columns.dtype.type(1), columns.dtype.type(0)
    falls, top = none, none
    for j in range(column.size):
        top = max(top, column[j])
    for j in range(1, column.size):
        falls += one if column[j] <= column[j - 1] else none
    if wrong or (column.size > 0 and top >= np.uint64(d)):
        bad = begin
        while _in_range(columns, starts, d, bad):
            bad += 1
        return 0.0, bad, True
    largest = 0.0
    for i in range(begin, end):
        start, stop = np.uint64(starts[i]), np.uint64(starts[i + 1])
        if first < start < stop and columns[start] <= columns[start - np.uint64(1)]:
            falls -= one
        x, total = values[start:stop], 0.0
        for j in range(x.size):
            total += np.float64(x[j]) * np.float64(x[j])
        if not total <= largest and largest < np.inf:
            largest = total
    return largest, -1, falls == none


@compiled
def _has_duplicates(columns: Array, starts: Array, seen: Array, begin: int, end: int) -> bool:
    """Whether a row from `begin` to `end` has a column twice; `seen` holds the last row that used each column."""
    for i in range(begin, end):
        for j in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
            if seen[columns[j]] == i:
                return True
            seen[columns[j]] = i
    return False


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


def encode_rows(X: Any) -> tuple[Dense | Sparse, float]:
    """Encode X (float32 or float64; an array or CSR) as rows, with R²; refuse values that are not finite.

    Arrays of narrower types are not converted, whatever their layout.
    """
    if sp.issparse(X):
        return _encode_sparse(X)
    values, narrow = X, is_narrow(Dense(X))
    if not (X.flags.c_contiguous or narrow):  # converted in blocks, so that Ctrl-C is handled promptly
        values = np.empty(X.shape, X.dtype)
        for begin in range(0, X.shape[0], 1 << 12):
            values[begin : begin + (1 << 12)] = X[begin : begin + (1 << 12)]
    values = read_only(values)

    def check(span: tuple[int, int]) -> float:
        begin, end = span
        if narrow:
            block = gathered(Dense(values), slice(begin, end)).values
            return _refuse_nonfinite(_scan_dense(block, 0, end - begin), block, begin)
        return _refuse_nonfinite(_scan_dense(values, begin, end), values[begin:end], begin)

    found = in_pieces(check, values.shape[0], values_per_row(Dense(values)))
    return Dense(values), max(found, default=0.0)


def _encode_sparse(X: Any) -> tuple[Sparse, float]:
    n, d = X.shape
    check_arrays(X)
    values, columns, starts = read_only(X.data), _as_unsigned(X.indices), _as_unsigned(X.indptr)

    def check(span: tuple[int, int]) -> tuple[float, bool]:
        begin, end = span
        norm2, bad, increasing = _scan_sparse(values, columns, starts, d, begin, end)
        if bad >= 0:
            raise ValueError(out_of_range_message(X, bad))
        return _refuse_nonfinite(norm2, X[begin:end] if not np.isfinite(norm2) else None, begin), increasing

    found = in_pieces(check, n, values.size / max(n, 1))
    if not all(increasing for _, increasing in found) and _repeats_column(columns, starts, d):
        X = X.copy()  # ‖x‖² needs each column once
        X.sum_duplicates()
        return _encode_sparse(X)
    return Sparse(values, columns, starts), max((norm2 for norm2, _ in found), default=0.0)


def _repeats_column(columns: Array, starts: Array, d: int) -> bool:
    """Whether some row has a column twice."""
    n = starts.size - 1
    # Each thread stores a row number per column, in total no more than the size of the matrix.
    count = min(thread_count(), max(1, columns.size // d)) if columns.size >= MANY_VALUES else 1
    parts = np.linspace(0, n, 1 + count, dtype=np.int64).tolist()

    def check(part: tuple[int, int]) -> bool:
        seen = np.full(d, -1, dtype=np.int32 if n < 1 << 31 else np.int64)
        return any(
            _has_duplicates(columns, starts, seen, part[0] + begin, part[0] + end)
            for begin, end in spans(part[1] - part[0], columns.size / n)
        )

    return any(in_threads(check, itertools.pairwise(parts)))


def _as_unsigned(index: Array) -> Array:
    """A read-only view of the same memory; negative indices become too large for any range."""
    return read_only(index.view(np.dtype(f"u{index.dtype.itemsize}")))


def as_signed(index: Array) -> Array:
    """A view of the same memory with the signed dtype that SciPy uses."""
    return index.view(np.dtype(f"i{index.dtype.itemsize}"))


def _refuse_nonfinite(norm2: float, block: Any, first: int) -> float:
    """Return the largest ‖x‖², or refuse a value that is not finite; a square that overflows is accepted."""
    if math.isfinite(norm2):
        return float(norm2)
    if sp.issparse(block):
        block = block.tocoo()
        where = np.flatnonzero(~np.isfinite(block.data))
        found = [(int(block.row[k]), int(block.col[k]), block.data[k]) for k in where[:1]]
    else:
        found = [(int(i), int(j), block[i, j]) for i, j in np.argwhere(~np.isfinite(block))[:1]]
    for row, column, value in found:
        what = "NaN" if np.isnan(value) else "infinity"
        raise NonFiniteInputError(what, first + row, column)
    return float(norm2)
