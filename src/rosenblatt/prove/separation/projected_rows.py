"""Rows seen along some directions: the problem that the search for a proof works on.

The question is about c: does w = N c have z_i·w > 0 on every active row? At first N holds unit vectors, one a column
of z that is no combination of others. Once rows are known that no w can have strictly on its side, w must vanish on
what they span, and N becomes a basis of the directions that do (facial reduction).

For the floats every column and every row is scaled by a power of two, which changes no sign and rounds nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.prove.exact.arithmetic import Signed, gamma, null_vectors, two_to

Array = np.ndarray[Any, Any]
SAMPLE = 2048


@dataclass(frozen=True)
class Quotient:
    """z along the columns of N.

    Attributes
    ----------
    z : Signed
    vectors : tuple of tuples of Fraction
        The columns of N, each with a 1 where all others have 0.
    units : tuple of int
        Where those 1s are.
    plain : bool
        Whether the vectors are unit vectors, so that floats see z itself.
    active : ndarray or None
        The rows that are not 0 along N; None for all.
    scale : ndarray of int
        The power of two over which each column is seen.
    """

    z: Signed
    vectors: tuple[tuple[Fraction, ...], ...]
    units: tuple[int, ...]
    plain: bool
    active: Array | None
    scale: Array

    @property
    def width(self) -> int:
        """How many directions."""
        return len(self.units)

    @property
    def index(self) -> Array:
        """The active rows."""
        return np.arange(self.z.n) if self.active is None else self.active

    def block(self, index: Array) -> Array:
        """Active rows as doubles, scaled; exact where `plain` (see `faithful`)."""
        block = self._along(index)
        with np.errstate(under="ignore", over="ignore"):
            block = np.ldexp(block, -self.scale)
            most = np.abs(block).max(axis=1, initial=0.0)
            return np.ldexp(block, -np.frexp(np.where(most > 0, most, 1.0))[1][:, None])

    def _along(self, index: Array) -> Array:
        block = self.z.block(index)
        if self.plain:
            return block[:, list(self.units)]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is left to whole numbers
            return np.asarray(block @ np.array([[_double(value) for value in v] for v in self.vectors]).T)

    def faithful(self, index: Array) -> bool:
        """Whether `block` lost nothing to underflow."""
        found, given = self.block(index), self._along(index)
        small = np.abs(found[found != 0]).min(initial=1.0)
        return self.plain and bool(((found != 0) == (given != 0)).all() and small > 2.0**-900)

    def wholes(self, index: Array, last: bool) -> list[list[int]]:
        """Each row, scaled as in `block` and with a 1 at the end if `last`, times a positive whole number."""
        exact = np.array([self.z.values(index, v) for v in self.vectors], dtype=object).T
        shrink = [two_to(-int(e)) for e in self.scale]
        rows = []
        for row in exact:
            scaled = [value * factor for value, factor in zip(row, shrink, strict=True)]
            if last:
                most = max(abs(value) for value in scaled)
                over = two_to(most.numerator.bit_length() - most.denominator.bit_length())
                scaled = [*(value / over for value in scaled), Fraction(1)]
            common = math.lcm(*(value.denominator for value in scaled))
            rows.append([int(value * common) for value in scaled])
        return rows

    def lift(self, c: Any) -> Any:
        """W = N c for c as the scaled columns have it: doubles where N is plain and c is, else fractions.

        Doubles that would leave their range are over a power of two, which changes no sign.
        """
        if self.plain and isinstance(c, np.ndarray):
            doubles = np.zeros(self.z.width)
            doubles[list(self.units)] = np.ldexp(c, -self.scale - self._excess(c))
            return doubles
        exact = [Fraction(value) * two_to(-int(e)) for value, e in zip(c, self.scale, strict=True)]
        w = [Fraction(0)] * self.z.width
        for value, v in zip(exact, self.vectors, strict=True):
            if value:
                w = [a + value * b for a, b in zip(w, v, strict=True)]
        return w

    def _excess(self, c: Array) -> int:
        """The power of two over which c, with its scale taken off, is within the range of doubles."""
        powers = (np.frexp(c)[1] - self.scale)[c != 0]
        if not powers.size or (powers.max() < 900 and powers.min() > -900):
            return 0
        return int(powers.max()) - (900 if powers.max() - powers.min() > 900 else 0)

    def signs(self, w: Any) -> Array:
        """The exact sign of z·w on the active rows."""
        signs = self.z.signs(w)
        return signs if self.active is None else signs[self.active]

    def without(self, rows: Array, zero: list[int] | None = None) -> Quotient:
        """What is left where w must vanish on what these rows span; `zero` names the columns if only they are left."""
        if zero is None:
            found = null_vectors(np.array(self.wholes(rows, last=False), dtype=object))
        else:
            found = {j: [Fraction(int(i == j)) for i in range(self.width)] for j in zero}
        vectors = []
        for j, v in found.items():
            w = self.lift(v)
            vectors.append(tuple(value / w[self.units[j]] for value in w))
        return quotient(self.z, vectors, [self.units[j] for j in found], self.plain and zero is not None)


def _double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def quotient(z: Signed, vectors: list[tuple[Fraction, ...]], units: list[int], plain: bool) -> Quotient:
    """Z along these vectors."""
    active = np.zeros(z.n, dtype=bool)
    for v in vectors:
        active |= z.signs(v) != 0
    index = np.flatnonzero(active)
    return _measured(Quotient(z, tuple(vectors), tuple(units), plain, index, np.zeros(len(units), dtype=int)))


def whole_problem(z: Signed, columns: tuple[int, ...]) -> Quotient:
    """All rows, along columns that are no combinations of others."""
    vectors = tuple(tuple(Fraction(int(i == j)) for i in range(z.width)) for j in columns)
    return _measured(Quotient(z, vectors, columns, True, None, np.zeros(len(columns), dtype=int)))


def _measured(q: Quotient) -> Quotient:
    """The same, its columns scaled by what a sample of the rows shows."""
    index = q.index
    if index.size == 0 or not q.units:
        return q
    sample = index[np.unique(np.linspace(0, index.size - 1, num=min(index.size, SAMPLE)).astype(np.int64))]
    most = np.abs(q._along(sample)).max(axis=0)
    return replace(q, scale=np.where((most > 0) & np.isfinite(most), np.frexp(most)[1], 0))


# -- a witness that floats can prove ---------------------------------------------------------------------------------


def proven(q: Quotient, rows: Array) -> list[int] | None:
    """The columns that are 0 on these rows, if floats prove that some λ > 0 has Σ λ_i z_i = 0 and rank is full else.

    With those columns left out A = (zᵀ; 1) must be square. If ‖I − RA‖ < 1 for some R, A is not singular, and
    ‖λ − λ̃‖ ≤ ‖R(b − Aλ̃)‖/(1 − ‖I − RA‖) for the solution λ of Aλ = b (Rump 1980), here with b = e_last.
    """
    if not q.plain or not q.faithful(rows):
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
