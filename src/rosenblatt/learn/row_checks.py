"""`encode_rows`: X as rows for compiled code, after one scan that refuses what cannot be learned from.

The scan looks for NaN and infinity, for indices out of range and for columns that a sparse row repeats, and finds
R² = max‖x‖². It runs on several threads if there are many values.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import (
    Dense,
    Sparse,
    gathered,
    in_pieces,
    is_narrow,
    read_only,
    spans,
    values_per_row,
)
from rosenblatt.compiled.threads import MANY_VALUES, in_threads, thread_count
from rosenblatt.formats.errors import NonFiniteInputError
from rosenblatt.formats.sparse_checks import check_arrays, out_of_range_message
from rosenblatt.learn.examples import Array

VALUES_IN_CACHE = 1 << 16  # with their columns at most a megabyte


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
def _scan_block(values: Array, columns: Array, starts: Array, d: int, begin: int, end: int) -> tuple[float, bool, bool]:
    """The largest ‖x‖², whether all indices are in range, and whether columns increase in every row.

    Columns are read as one array, without regard to rows, because loops over short rows do not become vector code:
    they increase in every row if they decrease nowhere but between rows.
    """
    wrong = np.uint64(starts[end]) > np.uint64(values.size)
    for i in range(begin, end):
        wrong |= starts[i + 1] < starts[i]
    first = np.uint64(starts[begin])
    column = columns[first : first if wrong else np.uint64(starts[end])]
    one, none = columns.dtype.type(1), columns.dtype.type(0)
    falls, top = none, column[0] if column.size > 0 else none
    for j in range(1, column.size):
        falls += one if column[j] <= column[j - 1] else none
        top = max(top, column[j])
    if wrong or (column.size > 0 and top >= np.uint64(d)):
        return 0.0, False, True
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
    return largest, True, falls == none


@compiled
def _scan_sparse(values: Array, columns: Array, starts: Array, d: int, begin: int, end: int) -> tuple[float, int, bool]:
    """The largest ‖x‖², the first row with an index out of range (or −1), and whether columns always increase."""
    largest, increasing = 0.0, True
    # A block is read several times, from the cache.
    rows = max(1, (VALUES_IN_CACHE * (starts.size - 1)) // max(values.size, 1))
    for at in range(begin, end, rows):
        norm2, in_range, rising = _scan_block(values, columns, starts, d, at, min(at + rows, end))
        if not in_range:
            while _in_range(columns, starts, d, at):
                at += 1
            return 0.0, at, True
        increasing &= rising
        if not norm2 <= largest and largest < np.inf:
            largest = norm2
    return largest, -1, increasing


@compiled
def _has_duplicates(columns: Array, starts: Array, seen: Array, begin: int, end: int) -> bool:
    """Whether a row from `begin` to `end` has a column twice; `seen` holds the last row that used each column."""
    for i in range(begin, end):
        for j in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
            if seen[columns[j]] == i:
                return True
            seen[columns[j]] = i
    return False


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
    # Compiled code reads neighbours: arrays with gaps, such as the real part of complex numbers, are copied.
    data, indices, indptr = (np.ascontiguousarray(one) for one in (X.data, X.indices, X.indptr))
    values, columns, starts = read_only(data), _as_unsigned(indices), _as_unsigned(indptr)

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
    if columns.size < d // 8:  # sorting so few takes less time than an array of all columns
        rows = np.repeat(np.arange(n), (starts[1:] - starts[:-1]).astype(np.int64))
        order = np.lexsort((columns, rows))
        same = (np.diff(rows[order]) == 0) & (np.diff(columns[order].astype(np.int64)) == 0)
        return bool(same.any())
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
