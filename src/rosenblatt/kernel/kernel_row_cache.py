"""Rows of the kernel matrix K̂ in a limited amount of memory.

If the whole matrix fits, it is computed at the start, in double precision, and all planes share it. If not, a row is
computed when an ascent needs it, together with others that it will need soon, in single precision and for the
columns that take part only; the rows that were used least recently make room.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.linalg

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import Dense
from rosenblatt.kernel.functions import COLUMNS_AT_ONCE, Kernel
from rosenblatt.kernel.pair_ascent import AscentRows, CachedKernelRows
from rosenblatt.kernel.perceptron import BLOCK, kernel_overflow
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import copy_rows

Array = np.ndarray[Any, Any]
ROWS_AT_ONCE = 64  # at most: one matrix product is faster than its rows one by one
ROUNDING = 10.0  # times n units in the last place of the largest value: a negative eigenvalue that may be 0


@compiled
def _copy_part(source: Array, width: int, rows: Array, columns: Array, out: Array) -> None:
    """Copy these rows and columns of a matrix of this width; it may overwrite itself if both are ascending."""
    at = 0
    for row in rows:
        begin = row * width
        for column in columns:
            out[at] = source[begin + column]
            at += 1


class KernelRowCache:
    """Kernel rows of the rows that take part in an ascent.

    Attributes
    ----------
    whole : ndarray of shape (n, n) or None
        The whole matrix, if it fits in addition to the rows of the largest plane that uses only some of the rows.
    cached : CachedKernelRows
        The kernel rows in memory, for the columns `index`.
    """

    cached: CachedKernelRows
    index = np.zeros(0, np.int64)

    def __init__(
        self, examples: Examples, kernel: Kernel, limit: float, largest_part: int, dtype: Any, precision: Any = None
    ) -> None:
        self.precision = np.dtype(
            precision or examples.dtype
        )  # in which kernel values are computed; `dtype`: in which they are kept
        self.examples, self.kernel, self.n = examples, kernel, examples.target.shape[0]
        self.sparse = not isinstance(examples.rows, Dense) and not callable(kernel.kind)  # products need columns of B
        self.squares = np.concatenate([kernel.squares(self._rows(part)) for part in _blocks(np.arange(self.n))])
        self.dtype, self.clock, room = np.dtype(dtype), 0, int(limit)
        self.whole: Array | None = None
        if 8 * (self.n**2 + largest_part**2) <= limit:
            self.whole = self._all()
            self.dtype, room = self.whole.dtype, room - self.whole.nbytes
        self.memory = np.zeros(max(2 * self.n, min(room // self.dtype.itemsize, self.n**2)), self.dtype)

    @property
    def exact(self) -> bool:
        """Whether the kernel values are kept in double precision."""
        return bool(self.dtype == np.float64)

    @property
    def precise(self) -> bool:
        """Whether they are computed in it, too."""
        return self.exact and bool(self.precision == np.float64)

    def fits(self, m: int) -> bool:
        """Whether m rows may be chosen: the whole matrix may leave no room for them."""
        return self.whole is None or m == self.n or m * m <= self.memory.size

    def choose(self, index: Array) -> None:
        """Store kernel rows of these rows, with themselves as columns; those over all rows stay for the next plane."""
        kept, self.index, m = self.index.size == index.size == self.n, index, index.size
        if self.whole is not None:
            values = self.whole if m == self.n else self.memory[: m * m].reshape(m, m)
            if m < self.n:
                _copy_part(self.whole.reshape(-1), self.n, index, index, self.memory)
            self.cached = CachedKernelRows(values, np.arange(m), np.zeros(m, np.int64))
        elif not kept:
            self._set(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def keep(self, kept: Array) -> None:
        """Drop all chosen rows except these."""
        if self.whole is not None:
            self.choose(self.index[kept])
            return
        _, slots, used = self.cached
        rows = np.flatnonzero(slots[kept] >= 0)
        rows = rows[np.argsort(slots[kept][rows])]
        held = slots[kept][rows]
        _copy_part(self.memory, self.index.size, held, kept, self.memory)
        self.index = self.index[kept]
        self._set(rows, used[held])

    def _set(self, rows: Array, used: Array) -> None:
        """The first slots belong to these rows, the others are free."""
        m = self.index.size
        count = min(m, max(2, self.memory.size // m))
        self.owners = np.full(count, -1)
        self.owners[: rows.size] = rows
        slots, when = np.full(m, -1), np.full(count, -1)
        slots[rows], when[: rows.size] = np.arange(rows.size), used
        self.cached = CachedKernelRows(self.memory[: count * m].reshape(count, m), slots, when)
        self.columns = self._rows(self.index).tocsc() if self.sparse else None

    def fetch(self, missing: int, rows: AscentRows) -> None:
        """Compute the kernel row of a row, and of others that violate their optimality conditions most."""
        values, slots, used = self.cached
        occupied = int(np.count_nonzero(slots >= 0))
        violation = np.maximum(rows.r * rows.up, rows.r * rows.down)
        violation[slots >= 0] = 0.0
        violation[missing] = np.inf
        most = max(1, min(ROWS_AT_ONCE, occupied // 4, used.size // 4))
        wanted = np.argpartition(violation, -most)[-most:]
        wanted = wanted[violation[wanted] > 0]
        free = np.argpartition(used, wanted.size - 1)[: wanted.size]  # never used, or longest ago
        before, values[free] = self.owners[free], self._values(wanted)
        slots[before[before >= 0]] = -1
        self.owners[free], slots[wanted], used[free] = wanted, free, self.clock

    def _values(self, wanted: Array) -> Array:
        """Kernel rows of a subset of the chosen rows."""
        index = self.index[wanted]
        A, a, at = self._rows(index), self.squares[index], 0
        out = np.empty((wanted.size, self.index.size), self.dtype)
        for part in [self.index] if self.columns is not None else _blocks(self.index, COLUMNS_AT_ONCE):
            B = self._rows(part) if self.columns is None else self.columns
            out[:, at : at + part.size] = self.kernel.block(A, B, (a, self.squares[part]))
            at += part.size
        if not np.isfinite(out).all():
            raise kernel_overflow()
        return out

    def _rows(self, index: Array) -> Any:
        """These rows; neighbours are not copied if they are dense."""
        rows = self.examples.rows
        if isinstance(rows, Dense) and index[-1] - index[0] == index.size - 1 and (np.diff(index) == 1).all():
            return rows.values[index[0] : index[-1] + 1].astype(self.precision, copy=False)
        return copy_rows(rows, index, self.examples.n_features).astype(self.precision, copy=False)

    def _all(self) -> Array:
        """The whole matrix, which is symmetric: each block is computed once."""
        every, out = np.arange(self.n), np.empty((self.n, self.n))
        for begin in range(0, self.n, BLOCK):
            end = begin + BLOCK
            squares = self.squares[begin:end], self.squares[begin:]
            out[begin:end, begin:] = self.kernel.block(self._rows(every[begin:end]), self._rows(every[begin:]), squares)
            out[end:, begin:end] = out[begin:end, end:].T
        if self.examples.present is not None:  # rows without weight may overflow
            absent = np.setdiff1d(every, self.examples.present)
            out[absent], out[:, absent] = 0.0, 0.0
        if not np.isfinite(out).all():
            raise kernel_overflow()
        return out

    def scores(self, beta: Array, precision: Any = None) -> Array:
        """Σ_j β_jk K̂(x, x_j) for every row x, (n, K), from kernel values in this precision, or in that of the cache."""
        precision = np.dtype(precision or self.precision)
        if self.whole is not None and precision == self.precision:
            return np.asarray(self.whole @ beta)
        out = np.zeros(beta.shape, np.promote_types(precision, np.float64))
        moved = np.flatnonzero(beta.any(axis=1))
        for some in _blocks(moved, COLUMNS_AT_ONCE):
            B = self._rows(some).astype(precision, copy=False)
            B = B.tocsc() if self.sparse else B
            for part in _blocks(np.arange(self.n)):
                A = self._rows(part).astype(precision, copy=False)
                block = self.kernel.block(A, B, (self.squares[part], self.squares[some]))
                out[part] += block.astype(out.dtype, copy=False) @ beta[some]
        return out

    def definite(self, first: Array) -> bool:
        """Whether K̂ has no negative eigenvalue beyond rounding; of as many rows as fit, `first` before others.

        A Cholesky decomposition exists if and only if the matrix is positive definite.
        """
        if self.kernel.definite:
            return True
        if self.whole is not None:
            values = self.whole.copy()
        else:
            present = np.arange(self.n) if self.examples.present is None else self.examples.present
            order = np.concatenate([first, np.setdiff1d(present, first)])
            chosen = np.sort(order[: max(2, math.isqrt(self.memory.size))])
            values = self.kernel.block(self._rows(chosen), self._rows(chosen)).astype(np.float64)
            values = np.tril(values) + np.tril(values, -1).T
        size = float(np.abs(values).max(initial=0.0))
        if size == 0.0:
            return True
        values.flat[:: values.shape[0] + 1] += ROUNDING * values.shape[0] * np.finfo(self.precision).eps * size
        try:
            scipy.linalg.cholesky(values, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return False
        return True


def _blocks(index: Array, size: int = BLOCK) -> list[Array]:
    return [index[begin : begin + size] for begin in range(0, index.size, size)]
