"""Rows as exact numbers: signs of z·w that are certain, ranks, null vectors.

z_i = y_i (x_i, 1), or y_i x_i without an intercept; its last column is the intercept's. A double is a whole number
times a power of two, so that every question here has an exact answer. Floats answer where their error is provably too
small to matter (|fl(f) − f| ≤ γ_k Σ|x_j w_j|, γ_k = k·2⁻⁵³/(1 − k·2⁻⁵³), in whatever order a sum is taken;
Higham 2002), whole numbers elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.prove.exact.labelled_rows import Table

Array = np.ndarray[Any, Any]
Vector = Sequence[Fraction] | Array  # exact: fractions, or doubles taken at their word
VALUES_AT_ONCE = 1 << 21
PRIME = 2**31 - 1  # products of two residues fit into 62 bits
BEYOND = np.iinfo(np.int64).max
TINY = 2.0**-1000  # more than all that underflow can lose in products
LOST = 2.0**-1073  # more than it loses of a fraction that becomes a double; what is lost is multiplied by x


def gamma(k: int) -> float:
    """γ_k, with a little to spare for the rounding of the bound itself."""
    u = (k + 3) * 2.0**-53
    return u / (1 - u) * (1 + 2.0**-40)


# -- whole numbers ---------------------------------------------------------------------------------------------------


def whole(block: Array) -> tuple[Array, Array]:
    """Whole numbers m (int64 where they fit, else Python's) and exponents e with block_ij = m_ij·2^(e_j)."""
    part, power = np.frexp(np.asarray(block, dtype=np.float64))
    mantissa = (part * 2.0**53).astype(np.int64)
    some = mantissa != 0
    low = np.where(some, mantissa & -mantissa, 1)
    trailing = np.frexp(low.astype(np.float64))[1] - 1
    mantissa >>= trailing
    power = power.astype(np.int64) - 53 + trailing
    unit = np.where(some, power, BEYOND).min(axis=0, initial=BEYOND)
    unit = np.where(some.any(axis=0), unit, 0)
    shift = np.where(some, power - unit, 0)
    if not shift.size or int((shift + np.frexp(np.abs(mantissa).astype(np.float64))[1]).max()) < 62:
        return mantissa << shift, unit
    return mantissa.astype(object) << shift.astype(object), unit


def two_to(power: int) -> Fraction:
    """2^power."""
    return Fraction(1 << power) if power >= 0 else Fraction(1, 1 << -power)


def squared(w: Vector) -> Fraction:
    """‖w‖²."""
    if not isinstance(w, np.ndarray):
        return sum((value * value for value in w), Fraction(0))
    numbers, unit = whole(np.asarray(w, dtype=np.float64)[None, :])
    least = int(unit.min(initial=0))
    return sum((int(m) << int(e) - least) ** 2 for m, e in zip(numbers[0], unit, strict=True)) * two_to(2 * least)


def fractions_of(w: Vector) -> list[Fraction]:
    """The entries of w as fractions."""
    return [value if isinstance(value, Fraction) else Fraction(float(value)) for value in w]


def multiply(m: Array, v: Sequence[int]) -> Array:
    """M @ v for whole numbers, without overflow."""
    most = max((abs(value) for value in v), default=0)
    if m.dtype == np.int64 and most < 2**62 and m.size:
        reach = int(np.abs(m).max()) * most * m.shape[1]
        if reach < 2**62:
            return np.asarray(m @ np.array(v, dtype=np.int64))
    return np.asarray(m.astype(object) @ np.array(v, dtype=object))


# -- the rows z ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signed:
    """The rows z_i = y_i (x_i, 1) of a table, of which one class is positive.

    Attributes
    ----------
    table : Table
    sides : ndarray of int8
        y, +1 or −1.
    intercept : bool
        Whether z has a last column for the intercept.
    """

    table: Table
    sides: Array
    intercept: bool

    @property
    def n(self) -> int:
        """How many rows."""
        return self.table.shape[0]

    @property
    def width(self) -> int:
        """How many columns z has."""
        return self.table.shape[1] + self.intercept

    @property
    def dense(self) -> bool:
        """Whether the rows are an array."""
        return isinstance(self.table.X, np.ndarray)

    def block(self, index: Array) -> Array:
        """Rows of z, as float64; exact."""
        index = np.asarray(index, dtype=np.int64)
        part = self.table.X[index]
        part = np.asarray(part if self.dense else part.toarray(), dtype=np.float64)
        if self.intercept:
            part = np.concatenate([part, np.ones((index.size, 1))], axis=1)
        return np.asarray(part * self.sides[index][:, None])

    def spans(self) -> Iterator[tuple[int, int]]:
        """Pieces of all rows, small enough for a temporary copy."""
        stored = self.table.X.size if self.dense else self.table.X.nnz
        step = max(1, int(VALUES_AT_ONCE / max(stored / self.n, 1.0)))
        for begin in range(0, self.n, step):
            yield begin, min(begin + step, self.n)

    def products(self, w: Vector) -> tuple[Array, float]:
        """fl(z·w) of every row, and the most by which any of them may be off (not finite where floats fail)."""
        v, b = self._split(_nearest(w))
        out = np.empty(self.n)
        with np.errstate(over="ignore", invalid="ignore"):
            for begin, end in self.spans():
                out[begin:end] = (self.table.X[begin:end] @ v + b) * self.sides[begin:end]
            radius = math.sqrt(self.table.radius2)
            reach = radius * float(np.linalg.norm(v)) * (1 + 2.0**-30) + abs(b)
        return out, gamma(self.width + 1) * reach + TINY * (1 + reach) + LOST * radius * self.width

    def _split(self, w: Array) -> tuple[Array, float]:
        return (w[:-1], float(w[-1])) if self.intercept else (w, 0.0)

    def signs(self, w: Vector) -> Array:
        """The sign of z·w, exactly, of every row."""
        approximate, error = self.products(w)
        signs = np.sign(approximate)
        open_rows = np.flatnonzero(~(np.abs(approximate) > error)) if math.isfinite(error) else np.arange(self.n)
        for index in self._few(self._finer(open_rows, w)):
            if self.dense:
                signs[index] = np.sign(self._numerators(index, w)[0])
            else:
                signs[index] = [(value > 0) - (value < 0) for value in self.values(index, w)]
        return signs.astype(np.int8)

    def _few(self, index: Array) -> Iterator[Array]:
        step = max(1, VALUES_AT_ONCE // 8 // max(self.width, 1))
        for begin in range(0, index.size, step):
            yield index[begin : begin + step]

    def _finer(self, index: Array, w: Vector) -> Array:
        """Of these rows, those whose own Σ|x_j w_j| does not settle the sign either."""
        v, b = self._split(_nearest(w))
        left = []
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, index.size, 1 << 14):
                piece = index[begin : begin + (1 << 14)]
                part = self.table.X[piece]
                size = abs(part) @ np.abs(v) + abs(b)
                error = gamma(self.width + 1) * size + TINY * (1 + size) + abs(part) @ np.full(v.size, LOST)
                left.append(piece[~(np.abs(part @ v + b) > error)])
        return np.concatenate(left) if left else index

    def values(self, index: Array, w: Vector) -> list[Fraction]:
        """z·w of these rows, exactly."""
        if not self.dense:
            exact = fractions_of(w)
            return [self._sparse_value(int(i), exact) for i in index]
        total, unit = self._numerators(index, w)
        return [int(value) * unit for value in total]

    def _numerators(self, index: Array, w: Vector) -> tuple[Array, Fraction]:
        """z·w of dense rows: whole numbers, and the positive fraction that they are multiples of."""
        used = np.flatnonzero(np.array([bool(value) for value in w], dtype=bool))
        numbers, unit = whole(self.block(index)[:, used])
        if isinstance(w, np.ndarray):
            own, power = whole(np.asarray(w, dtype=np.float64)[None, used])
            power = power + unit
            least = int(power.min(initial=0))
            return multiply(numbers, [int(m) << int(e) - least for m, e in zip(own[0], power, strict=True)]), two_to(
                least
            )
        scaled = [w[int(j)] * two_to(int(e)) for j, e in zip(used, unit, strict=True)]
        common = math.lcm(*(value.denominator for value in scaled)) if scaled else 1
        return multiply(numbers, [int(value * common) for value in scaled]), Fraction(1, common)

    def _sparse_value(self, i: int, w: list[Fraction]) -> Fraction:
        X = self.table.X
        start, end = X.indptr[i], X.indptr[i + 1]
        total = w[-1] if self.intercept else Fraction(0)
        for value, j in zip(X.data[start:end], X.indices[start:end], strict=True):
            if w[j]:
                total += Fraction(float(value)) * w[j]
        return total * int(self.sides[i])

    def least(self, w: Vector) -> Fraction:
        """The smallest z·w, exactly."""
        approximate, error = self.products(w)
        index = np.arange(self.n)
        if math.isfinite(error) and np.isfinite(approximate).all():
            index = np.flatnonzero(approximate <= approximate.min() + 2 * error)
        if not self.dense:
            return min(self.values(index, w))
        found = (self._numerators(piece, w) for piece in self._few(index))
        return min(int(total.min()) * unit for total, unit in found)


def _nearest(w: Vector) -> Array:
    """W as doubles; fractions over a power of two near the largest, so that none overflows."""
    if isinstance(w, np.ndarray):
        return np.asarray(w, dtype=np.float64)
    most = max((abs(value) for value in w), default=Fraction(0))
    if not most:
        return np.zeros(len(w))
    over = two_to(most.numerator.bit_length() - most.denominator.bit_length())
    return np.array([float(value / over) for value in w])


# -- ranks and null vectors ------------------------------------------------------------------------------------------


def eliminated(m: Array, prime: int = PRIME) -> tuple[list[int], list[int], Array]:
    """Row reduction modulo a prime: independent rows, pivot columns, and the reduced rows, one a pivot.

    What is independent modulo a prime is independent.
    """
    left = (m % prime).astype(np.int64)
    names, rank, pivots = np.arange(m.shape[0]), 0, []
    for column in range(m.shape[1]):
        found = np.flatnonzero(left[rank:, column])
        if not found.size:
            continue
        at = rank + int(found[0])
        left[[rank, at]], names[[rank, at]] = left[[at, rank]], names[[at, rank]]
        left[rank] = left[rank] * pow(int(left[rank, column]), -1, prime) % prime
        others = np.flatnonzero(left[:, column])
        others = others[others != rank]
        left[others] = (left[others] - left[others, column][:, None] * left[rank] % prime) % prime
        pivots.append(column)
        rank += 1
        if rank == m.shape[0]:
            break
    return names[:rank].tolist(), pivots, left[:rank]


def _small(residue: int, prime: int) -> Fraction | None:
    """The fraction with small numerator and denominator that is this residue, if there is one."""
    a, b, x, y = prime, residue, 0, 1
    limit = math.isqrt(prime // 2)
    while b > limit:
        q = a // b
        a, b, x, y = b, a - q * b, y, x - q * y
    if y == 0 or abs(y) > limit:
        return None
    return Fraction(b, y)


def null_vectors(m: Array) -> dict[int, list[Fraction]]:
    """A basis of {v: m v = 0}; the vector named j has a 1 at column j, where the others have 0.

    First from residues modulo a prime, which is quick and finds small fractions, checked; else by elimination without
    fractions (Bareiss 1968).
    """
    prime = PRIME
    _, pivots, reduced = eliminated(m)
    free = [j for j in range(m.shape[1]) if j not in set(pivots)]
    found = {}
    for j in free:
        entries = {c: _small(int(-reduced[i, j] % prime), prime) for i, c in enumerate(pivots)}
        if any(value is None for value in entries.values()):
            break
        v = [entries.get(c) or Fraction(int(c == j)) for c in range(m.shape[1])]
        common = math.lcm(*(value.denominator for value in v))
        if any(multiply(m, [int(value * common) for value in v])):
            break
        found[j] = v
    return found if len(found) == len(free) else _null_vectors_slowly(m)


def _null_vectors_slowly(m: Array) -> dict[int, list[Fraction]]:
    reduced, pivots, last = bareiss(m)
    found = {}
    for j in range(m.shape[1]):
        if j not in pivots:
            v = [Fraction(0)] * m.shape[1]
            v[j] = Fraction(1)
            for i, c in enumerate(pivots):
                v[c] = Fraction(-int(reduced[i, j]), int(last))
            found[j] = v
    return found


def bareiss(m: Array) -> tuple[Array, list[int], int]:
    """Row reduction in whole numbers: the reduced rows over one denominator, and the pivot columns."""
    left, rank, last, pivots = m.astype(object), 0, 1, []
    for column in range(m.shape[1]):
        nonzero = [i for i in range(rank, left.shape[0]) if left[i, column]]
        if not nonzero:
            continue
        at = min(nonzero, key=lambda i: abs(left[i, column]))
        left[[rank, at]] = left[[at, rank]]
        pivot = left[rank, column]
        others = np.arange(left.shape[0]) != rank
        left[others] = (pivot * left[others] - left[others, column][:, None] * left[rank]) // last
        pivots.append(column)
        last, rank = pivot, rank + 1
        if rank == left.shape[0]:
            break
    return left[:rank], pivots, last


@dataclass(frozen=True)
class Space:
    """What all rows span: independent rows that span it, and as many independent columns."""

    rows: Array
    columns: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The dimension."""
        return len(self.columns)


def row_space(z: Signed, start: Array | None = None) -> Space:
    """The space that all rows span, exactly. Columns are taken in order, the intercept's first."""
    p = z.width
    order = [p - 1, *range(p - 1)] if z.intercept else list(range(p))
    if start is None:
        start = np.unique(np.linspace(0, z.n - 1, num=min(z.n, 3 * p + 8)).astype(np.int64))
    chosen, before = np.asarray(start, dtype=np.int64), -1
    while True:
        numbers, unit = whole(z.block(chosen)[:, order])
        names, pivots, _ = eliminated(numbers)
        if len(pivots) <= before:  # a prime that hides a row: ask the whole numbers themselves
            names = bareiss(numbers.T)[1]
            pivots = bareiss(numbers[names])[1]
        everything = chosen.size == z.n
        chosen, before = chosen[names], len(pivots)
        if len(pivots) == p:
            return Space(chosen, tuple(range(p)))
        if everything and z.n <= p and len(pivots) == z.n - len(null_vectors(numbers.T)):
            return Space(chosen, tuple(sorted(order[c] for c in pivots)))
        nulls = []
        for v in null_vectors(numbers[names]).values():
            exact = [Fraction(0)] * p
            for j, value, e in zip(order, v, unit, strict=True):
                exact[j] = value / two_to(int(e))
            nulls.append(tuple(exact))
        outside = np.zeros(z.n, dtype=bool)
        for vector in nulls:
            outside |= z.signs(vector) != 0
        more = np.flatnonzero(outside)
        if not more.size:
            return Space(chosen, tuple(sorted(order[c] for c in pivots)))
        chosen = np.concatenate([chosen, more[: 2 * p]])
