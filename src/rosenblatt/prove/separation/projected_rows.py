"""Rows projected onto a subspace: the problem that the search for a proof works on.

The question is whether some c has z_i·w > 0 on every active row, for w = N c. At first the columns of N are unit
vectors, one per column of z that is not a linear combination of others. Once a witness is found, a set of rows that no
w has strictly on their side, w must vanish on the span of these rows, and N becomes a basis of the directions that do
(facial reduction).

In floating point every column and every row is scaled by a power of two, which changes no sign and rounds nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.prove.exact.arithmetic import SignedRows, gamma, null_vectors, power_of_two

Array = np.ndarray[Any, Any]
SCALE_SAMPLE = 2048


@dataclass(frozen=True)
class ProjectedRows:
    """The rows z projected onto the columns of N.

    Attributes
    ----------
    z : SignedRows
    vectors : tuple of tuples of Fraction
        The columns of N, each with a 1 in an entry where all others have 0.
    pivot_columns : tuple of int
        The entries with those 1s.
    axis_aligned : bool
        Whether the vectors are unit vectors, so that projected rows are columns of z itself, without rounding.
    active : ndarray or None
        The rows whose projection is not 0; None if all.
    scale : ndarray of int
        The exponent of the power of two by which each column is divided.
    """

    z: SignedRows
    vectors: tuple[tuple[Fraction, ...], ...]
    pivot_columns: tuple[int, ...]
    axis_aligned: bool
    active: Array | None
    scale: Array

    @property
    def width(self) -> int:
        """The dimension of the subspace."""
        return len(self.pivot_columns)

    @property
    def index(self) -> Array:
        """The indices of the active rows."""
        return np.arange(self.z.n) if self.active is None else self.active

    def block(self, index: Array) -> Array:
        """Projected and scaled rows as doubles; exact if `axis_aligned`, except for underflow (see `is_exact`)."""
        block = self._projected(index)
        with np.errstate(under="ignore", over="ignore"):
            block = np.ldexp(block, -self.scale)
            most = np.abs(block).max(axis=1, initial=0.0)
            return np.ldexp(block, -np.frexp(np.where(most > 0, most, 1.0))[1][:, None])

    def _projected(self, index: Array) -> Array:
        block = self.z.block(index)
        if self.axis_aligned:
            return block[:, list(self.pivot_columns)]
        with np.errstate(over="ignore", invalid="ignore"):  # values that overflow are left to integer arithmetic
            return np.asarray(block @ np.array([[_to_double(value) for value in v] for v in self.vectors]).T)

    def is_exact(self, index: Array) -> bool:
        """Whether `block` is exact for these rows: axis-aligned, and nothing lost to underflow."""
        found, given = self.block(index), self._projected(index)
        small = np.abs(found[found != 0]).min(initial=1.0)
        return self.axis_aligned and bool(((found != 0) == (given != 0)).all() and small > 2.0**-900)

    def integer_rows(self, index: Array, last: bool) -> list[list[int]]:
        """The rows scaled as in `block`, with a 1 appended if `last`, each multiplied to become integers."""
        exact = np.array([self.z.exact_products(index, v) for v in self.vectors], dtype=object).T
        shrink = [power_of_two(-int(e)) for e in self.scale]
        rows = []
        for row in exact:
            scaled = [value * factor for value, factor in zip(row, shrink, strict=True)]
            if last:
                most = max(abs(value) for value in scaled)
                over = power_of_two(most.numerator.bit_length() - most.denominator.bit_length())
                scaled = [*(value / over for value in scaled), Fraction(1)]
            common = math.lcm(*(value.denominator for value in scaled))
            rows.append([int(value * common) for value in scaled])
        return rows

    def lift(self, c: Any) -> Any:
        """W = N c for c in terms of the scaled columns: doubles if c is and N is axis-aligned, else fractions.

        Doubles that would overflow or underflow are scaled by a power of two, which changes no sign.
        """
        if self.axis_aligned and isinstance(c, np.ndarray):
            doubles = np.zeros(self.z.width)
            doubles[list(self.pivot_columns)] = np.ldexp(c, -self.scale - self._excess(c))
            return doubles
        exact = [Fraction(value) * power_of_two(-int(e)) for value, e in zip(c, self.scale, strict=True)]
        w = [Fraction(0)] * self.z.width
        for value, v in zip(exact, self.vectors, strict=True):
            if value:
                w = [a + value * b for a, b in zip(w, v, strict=True)]
        return w

    def _excess(self, c: Array) -> int:
        """The power of two to divide c by, without its scale, so that it stays within the range of doubles."""
        powers = (np.frexp(c)[1] - self.scale)[c != 0]
        if not powers.size or (powers.max() < 900 and powers.min() > -900):
            return 0
        return int(powers.max()) - (900 if powers.max() - powers.min() > 900 else 0)

    def signs(self, w: Any) -> Array:
        """The exact sign of z·w on the active rows."""
        signs = self.z.signs(w)
        return signs if self.active is None else signs[self.active]

    def restricted_to_null_space(self, rows: Array, zero: list[int] | None = None) -> ProjectedRows:
        """The problem for w that vanish on the span of these rows; `zero` lists the remaining columns if known."""
        if zero is None:
            found = null_vectors(np.array(self.integer_rows(rows, last=False), dtype=object))
        else:
            found = {j: [Fraction(int(i == j)) for i in range(self.width)] for j in zero}
        vectors = []
        for j, v in found.items():
            w = self.lift(v)
            vectors.append(tuple(value / w[self.pivot_columns[j]] for value in w))
        return project_rows(
            self.z, vectors, [self.pivot_columns[j] for j in found], self.axis_aligned and zero is not None
        )


def _to_double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def project_rows(
    z: SignedRows, vectors: list[tuple[Fraction, ...]], pivot_columns: list[int], axis_aligned: bool
) -> ProjectedRows:
    """Project z onto these vectors."""
    active = np.zeros(z.n, dtype=bool)
    for v in vectors:
        active |= z.signs(v) != 0
    index = np.flatnonzero(active)
    return _with_column_scales(
        ProjectedRows(
            z, tuple(vectors), tuple(pivot_columns), axis_aligned, index, np.zeros(len(pivot_columns), dtype=int)
        )
    )


def rows_on_columns(z: SignedRows, columns: tuple[int, ...]) -> ProjectedRows:
    """All rows, restricted to these independent columns."""
    vectors = tuple(tuple(Fraction(int(i == j)) for i in range(z.width)) for j in columns)
    return _with_column_scales(ProjectedRows(z, vectors, columns, True, None, np.zeros(len(columns), dtype=int)))


def _with_column_scales(q: ProjectedRows) -> ProjectedRows:
    """The same rows, with column scales estimated from a sample."""
    index = q.index
    if index.size == 0 or not q.pivot_columns:
        return q
    sample = index[np.unique(np.linspace(0, index.size - 1, num=min(index.size, SCALE_SAMPLE)).astype(np.int64))]
    most = np.abs(q._projected(sample)).max(axis=0)
    return replace(q, scale=np.where((most > 0) & np.isfinite(most), np.frexp(most)[1], 0))


# -- a witness proven in floating point ------------------------------------------------------------------------------


def prove_witness(q: ProjectedRows, rows: Array) -> list[int] | None:
    """The columns that are 0 on these rows, if floating point proves that some λ > 0 has Σ λ_i z_i = 0; else None.

    Without those columns A = (zᵀ; 1) must be square. If ‖I − RA‖ < 1 for some R, A is nonsingular, and the solution λ
    of Aλ = b satisfies ‖λ − λ̃‖ ≤ ‖R(b − Aλ̃)‖/(1 − ‖I − RA‖) (Rump 1980), here with b = e_last.
    """
    if not q.axis_aligned or not q.is_exact(rows):
        return None
    block = q.block(rows)
    used = np.abs(block).max(axis=0) > 0
    k = len(rows)
    if np.count_nonzero(used) != k - 1:
        return None
    A = np.concatenate([block[:, used].T, np.ones((1, k))])
    b = np.append(np.zeros(k - 1), 1.0)
    try:
        R = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        return None
    slack = gamma(k + 2)
    size = np.abs(R) @ np.abs(A)
    alpha = float((np.abs(np.eye(k) - R @ A) + slack * (np.eye(k) + size)).sum(axis=1).max()) * (1 + 1e-9)
    if not alpha < 0.5:
        return None
    x = R @ b
    x += R @ (b - A @ x)
    residual = np.abs(b - A @ x) + slack * (np.abs(b) + np.abs(A) @ np.abs(x))
    error = float((np.abs(R) @ residual).max()) / (1 - alpha) * (1 + 1e-9)
    if not x.min() > error:
        return None
    return np.flatnonzero(~used).tolist()
