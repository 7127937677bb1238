"""Kernels K(x, x′), computed block by block with BLAS.

    linear  x·x′        poly  (γ x·x′ + c)^degree        rbf  exp(−γ‖x − x′‖²)        or any function of two matrices

`shift` is added to every value: it acts as a bias, a constant feature of value √shift.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.row_arrays import Dense
from rosenblatt.formats.declared_fields import matrix, must, such_that
from rosenblatt.kernel.gaussian import gaussian
from rosenblatt.kernel.sparse_products import sparse_products
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import copy_rows

Array = np.ndarray[Any, Any]
COLUMNS_AT_ONCE = 1 << 10  # keeps a block of values in the cache
MOST_DEGREE = 1 << 31
KIND = such_that(lambda kind: callable(kind) or kind in ("linear", "poly", "rbf"), "a kernel")


@dataclass(frozen=True)
class Kernel:
    """A kernel and its settings."""

    kind: Annotated[str | Callable[[Any, Any], Any], KIND]
    degree: float = 3.0
    gamma: float = 1.0
    coef0: float = 0.0
    shift: float = 0.0

    def check(self) -> None:
        """A degree that can be computed."""
        must(abs(self.degree) < MOST_DEGREE, "a kernel of a degree that can be computed")

    def block(self, A: Any, B: Any, squares: tuple[Array, Array] | None = None) -> Array:
        """K of every row of A with every row of B, (a, b), in A's precision; `squares` are their squared norms."""
        if callable(self.kind):
            values = self._called(A, B)
        else:
            values = sparse_products(A, B) if sp.issparse(A) and sp.issparse(B) else np.ascontiguousarray(A @ B.T)
            self._apply(values, squares or (self.squares(A), self.squares(B)))
        if self.shift and self.kind != "rbf":
            values += values.dtype.type(self.shift)
        return values

    def _called(self, A: Any, B: Any) -> Array:
        assert callable(self.kind)
        returned = self.kind(A, B)
        try:
            found = np.asarray(returned)
            values = None if np.iscomplexobj(found) else np.array(found, dtype=A.dtype, order="C")
        except (TypeError, ValueError):
            raise ValueError(f"kernel must return a matrix of numbers, got {returned!r:.200}.") from None
        if values is None:
            raise ValueError("kernel returned complex numbers: a kernel is real, so return the real part if it is one.")
        if values.shape != (A.shape[0], B.shape[0]):
            raise ValueError(f"kernel returned shape {values.shape} for {A.shape[0]} and {B.shape[0]} rows.")
        if not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0].tolist()
            what = "NaN" if np.isnan(values[i, j]) else "infinity"
            raise ValueError(f"kernel returned {what} for the rows {_shown(A, i)} and {_shown(B, j)}.")
        return values

    def squares(self, A: Any) -> Array:
        """‖x‖² of every row of A, if the kernel depends on it."""
        return squared_lengths(A) if self.kind == "rbf" else np.zeros(A.shape[0])

    def _apply(self, values: Array, squares: tuple[Array, Array]) -> None:
        """Turn dot products x·x′ into kernel values, in place (RBF: with the shift)."""
        kind = values.dtype.type
        if self.kind == "poly":
            if self.gamma != 1.0:
                values *= kind(self.gamma)
            if self.coef0 != 0.0:
                values += kind(self.coef0)
            if self.degree == 2:
                np.square(values, out=values)
            elif self.degree != 1:
                np.power(values, int(self.degree) if self.degree == int(self.degree) else self.degree, out=values)
        elif self.kind == "rbf":
            a, b = (one.astype(values.dtype) for one in squares)
            gaussian(values, a, b, float(self.gamma), float(self.shift))

    def diagonal(self, A: Any) -> Array:
        """K(x, x) of every row of A."""
        if callable(self.kind):
            return np.array([self.block(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(A.shape[0])], np.float64)
        if self.kind == "rbf":
            return np.full(A.shape[0], 1.0 + self.shift)
        squares = squared_lengths(A)
        if self.kind == "poly":
            squares = np.asarray((self.gamma * squares + self.coef0) ** self.degree)
        return np.asarray(squares + self.shift)

    @property
    def definite(self) -> bool:
        """Whether every matrix of values is known to be positive semidefinite, whatever the rows."""
        if self.kind == "poly":
            return self.coef0 >= 0.0 and self.degree == int(self.degree)
        return not callable(self.kind)

    def rounding(self, lengths2: Array, weights: Array, width: int, eps: float) -> Array:
        """A bound on the rounding of Σ_j weights_j K(x_i, x_j) for every row i, where weights_j ≥ 0.

        `lengths2` are ‖x‖², or K(x, x) of a callable, whose values count as exact; `width` is the number of features.
        With K(x, x′) ≤ κκ′ a dot product, a power or a sum of m terms has an error of at most a multiple of m·eps·κκ′;
        the exponent of the RBF is rounded in units of ‖x‖² + ‖x′‖², however near the rows are.
        """
        terms, exponent = 4.0 + np.count_nonzero(weights), np.zeros(lengths2.size)
        size2 = np.abs(lengths2)
        if self.kind == "linear":
            terms += width + 4.0
        elif self.kind == "poly":
            size2 = (self.gamma * size2 + abs(self.coef0)) ** self.degree
            each = (width + 4.0) * eps
            terms += (self.degree * each if self.degree >= 1 else each**self.degree) / eps
        elif self.kind == "rbf":
            exponent = (2.0 * width + 8.0) * self.gamma * (lengths2 * weights.sum() + lengths2 @ weights)
            size2 = np.ones(lengths2.size)
        size = np.sqrt(size2 + self.shift)
        return np.asarray(eps * (terms * size * float(size @ weights) + exponent))

    def score(self, A: Any, support: Any, coef: Array) -> Array:
        """Σ_j coef_jk K(x, s_j) for every row of A, (a, K), in double; a block of support rows at a time."""
        out = np.zeros((A.shape[0], coef.shape[1]))
        weights = coef.astype(A.dtype)
        for begin in range(0, support.shape[0], COLUMNS_AT_ONCE):
            end = begin + COLUMNS_AT_ONCE
            out += self.block(A, support[begin:end]) @ weights[begin:end]
        return out


def squared_lengths(A: Any) -> Array:
    """‖x‖² of every row of A, in double precision."""
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A, dtype=np.float64))


def _shown(A: Any, i: int) -> str:
    row = A[i : i + 1].toarray()[0] if sp.issparse(A) else A[i]
    return np.array2string(row, threshold=6, precision=4)


def scale_gamma(gamma: float | str, examples: Examples) -> float:
    """The value of γ: "scale" means 1/(d·Var(X)) over all rows that take part, "auto" 1/d."""
    if not isinstance(gamma, str):
        return float(gamma)
    if gamma == "auto":
        return 1.0 / examples.n_features
    rows, d = examples.rows, examples.n_features
    if examples.present is None:
        values, n = rows.values, examples.size
    else:
        part = copy_rows(rows, examples.present, d)
        values, n = (part if isinstance(rows, Dense) else part.data), examples.size
    mean = float(values.sum(dtype=np.float64)) / (n * d)
    square = float(np.einsum("i,i->", values.ravel(), values.ravel(), dtype=np.float64)) / (n * d)
    variance = square - mean * mean
    return 1.0 / (d * variance) if variance > 0 else 1.0


class GrowingRows:
    """Rows that can only be appended to; copies share memory until one of them appends."""

    def __init__(self, d: int, dtype: Any) -> None:
        self._rows: Any = np.empty((0, d), dtype)
        self.size = 0
        self._owned = True

    @classmethod
    def of(cls, rows: Any, size: int | None = None) -> GrowingRows:
        """These rows, or the first `size` of them, in memory that must not be written to."""
        found = object.__new__(cls)
        found._rows, found.size, found._owned = rows, int(rows.shape[0] if size is None else size), False
        return found

    def check(self, rows: int, inputs: int) -> None:
        """So many rows of so many features."""
        matrix("rows", "inputs")(self.rows, {"rows": rows, "inputs": inputs}, "support")

    def copy(self) -> GrowingRows:
        """The same rows."""
        return GrowingRows.of(self._rows, self.size)

    def __getstate__(self) -> dict[str, Any]:
        return {"_rows": self.rows, "size": self.size, "_owned": False}

    @property
    def rows(self) -> Any:
        """All rows, an array or a CSR matrix."""
        return self._rows[: self.size]

    def add(self, more: Any) -> None:
        """Append rows, dense or sparse as the stored ones are."""
        if sp.issparse(self._rows) or (sp.issparse(more) and self.size == 0):
            before = [sp.csr_matrix(self._rows[: self.size])] if self.size else []
            self._rows = sp.vstack([*before, sp.csr_matrix(more)], format="csr")
        else:
            more = more.toarray() if sp.issparse(more) else more
            if not self._owned or self.size + more.shape[0] > self._rows.shape[0]:
                room = np.empty((max(2 * self.size, self.size + more.shape[0], 64), more.shape[1]), self._rows.dtype)
                room[: self.size] = self._rows[: self.size]
                self._rows, self._owned = room, True
            self._rows[self.size : self.size + more.shape[0]] = more
        self.size += more.shape[0]
