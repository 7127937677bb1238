"""Rows of any array library, of any real type, in memory, on a GPU or in a file, widened one batch at a time.

`RowReader` knows which rows are used, where they are and which type they are widened to; the functions below it read
all rows once, block by block.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_cupy_array

from rosenblatt.formats.errors import NonFiniteInputError
from rosenblatt.learn.embeddings import StackedRows

Array = Any  # an array of whichever library the rows are in
Host = np.ndarray[Any, Any]
BLOCK_VALUES, DEVICE_BLOCK_VALUES = 1 << 18, 1 << 24  # of the rows that are widened at once, where all are read
ALIGNED = 256  # products of 16 bits over a number of rows that it does not divide take several times as long


def type_name(dtype: Any) -> str:
    """The name of a type of numbers, in whichever library and byte order."""
    return str(dtype.name if isinstance(dtype, np.dtype) else dtype).rpartition(".")[2]


def take(xp: Any, array: Array, index: Array) -> Array:
    """Rows of an array by number; in torch without `take`, which looks for numbers below 0 first."""
    return array.index_select(0, index) if hasattr(array, "index_select") else xp.take(array, index, axis=0)


def wide_product(xp: Any, a: Array, b: Array, dtype: Any) -> Array:
    """a·b of 16 bits, summed and returned in `dtype`: the sum over a batch may exceed what 16 bits can hold."""
    try:
        return xp.mm(a, b, out_dtype=dtype)
    except (AttributeError, TypeError, NotImplementedError):  # CuPy, torch before 2.8, devices without it
        return xp.astype(a, dtype) @ xp.astype(b, dtype)


def to_host(array: Array) -> Host:
    """The array as NumPy's."""
    if hasattr(array, "detach"):
        array = array.detach().cpu()
    if is_cupy_array(array):
        array = array.get()
    return np.asarray(array)


def on_gpu(X: Array) -> bool:
    """Whether the array is in the memory of an accelerator."""
    return is_cupy_array(X) or "cuda" in str(device(X)).lower()


class RowReader:
    """Rows of X, by number, widened; X may be a memory map, or the rows of an Arrow file.

    Parameters
    ----------
    X : array of shape (n, d)
    present : ndarray of whole numbers, optional
        The rows that are used; None for all.
    """

    def __init__(self, X: Array, present: Host | None = None) -> None:
        self.X = X = X.detach() if hasattr(X, "detach") else X  # torch would keep every step to differentiate it
        self.own = isinstance(X, StackedRows)
        self.xp: Any = array_namespace(np.empty(0) if self.own else X)
        self.device = None if self.own else device(X)
        self.gpu = not self.own and on_gpu(X)
        self.in_file = self.own or isinstance(X, np.memmap)
        self.present = None if present is None else self.place(present.astype(np.int64))
        self.n = int(X.shape[0] if present is None else present.size)
        self.d = int(X.shape[1])
        self.half = self.gpu and type_name(X.dtype) in ("float16", "bfloat16")
        # Doubles stay doubles; all narrower numbers become floats of 32 bits.
        self.dtype = self.xp.float64 if type_name(X.dtype) == "float64" else self.xp.float32

    def place(self, values: Any, dtype: Any = None) -> Array:
        """Values from the host, where the rows are."""
        return self.xp.asarray(values, dtype=dtype, device=self.device)

    def used(self, each: Array) -> Array:
        """The values of the rows that are used, from one value per row of X."""
        return each if self.present is None else self.xp.take(each, self.present, axis=0)

    def at(self, index: Array, dtype: Any = None) -> Array:
        """The rows at these positions, widened, or in another type."""
        if self.present is not None:
            index = self.xp.take(self.present, index)
        rows = self.X.gather_rows(index) if self.own else take(self.xp, self.X, index)
        return self.xp.astype(self.xp.asarray(rows), self.dtype if dtype is None else dtype, copy=False)

    def blocks(self, columns: int = 1, dtype: Any = None) -> Iterator[tuple[int, int, Array]]:
        """All rows in order, block by block, widened, or in another type: begin, end, rows.

        `columns` are computed from each row. A block may share the memory of X.
        """
        dtype = self.dtype if dtype is None else dtype
        size = max(1, (DEVICE_BLOCK_VALUES if self.gpu else BLOCK_VALUES) // max(self.d, columns, 1))
        if self.gpu and size > ALIGNED:
            size -= size % ALIGNED
        for begin in range(0, self.n, size):
            end = min(begin + size, self.n)
            if self.present is None and not self.own:
                yield begin, end, self.xp.astype(self.X[begin:end, :], dtype, copy=False)
            else:
                yield begin, end, self.at(self.place(np.arange(begin, end)), dtype)

    def number(self, position: int) -> int:
        """The row of X at this position."""
        return position if self.present is None else int(self.present[position])


def find_bad_row(rows: RowReader) -> None:
    """Refuse the first value that is NaN or infinite, if there is one, by its row and column."""
    xp = rows.xp
    for begin, _, block in rows.blocks():
        fine = xp.isfinite(block)
        if not bool(xp.all(fine)):
            row = int(xp.argmin(xp.astype(xp.all(fine, axis=1), xp.int32)))
            column = int(xp.argmin(xp.astype(fine[row, :], xp.int32)))
            what = "NaN" if bool(xp.isnan(block[row, column])) else "infinity"
            raise NonFiniteInputError(what, rows.number(begin + row), column)


def largest(rows: RowReader) -> tuple[int, int, float]:
    """Row, column and value of the entry with the largest absolute value."""
    xp, found = rows.xp, (0, 0, 0.0)
    for begin, _, block in rows.blocks():
        at = int(xp.argmax(xp.abs(xp.reshape(block, (-1,)))))
        row, column = divmod(at, rows.d)
        value = float(block[row, column])
        if abs(value) > abs(found[2]):
            found = (rows.number(begin + row), column, value)
    return found


def longest(rows: RowReader) -> float:
    """max‖x‖²; refuses values that are not finite."""
    xp, largest = rows.xp, 0.0
    for _, _, block in rows.blocks():
        found = float(xp.max(xp.sum(block * block, axis=1)))
        if not math.isfinite(found):
            find_bad_row(rows)
        largest = max(largest, found)
    return largest


def scores_of(X: Array, W: Host, b: Host) -> Array:
    """X·Wᵀ + b, (n, K), where X is; rows are widened a block at a time."""
    return RowReader(X).xp.concat([scores for _, scores in score_blocks(RowReader(X), W, b)])


def score_blocks(rows: RowReader, W: Host, b: Host) -> Iterator[tuple[slice, Array]]:
    """X·Wᵀ + b, block by block, with the positions of its rows; refuses values that are not finite."""
    planes, shift = rows.place(W.T, rows.dtype), rows.place(b, rows.dtype)
    for begin, end, block in rows.blocks(W.shape[0]):
        scores = block @ planes + shift
        if not bool(rows.xp.all(rows.xp.isfinite(scores))):
            find_bad_row(rows)
        yield slice(begin, end), scores
