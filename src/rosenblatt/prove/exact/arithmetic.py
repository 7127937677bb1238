"""Exact arithmetic on rows: certain signs of z·w, ranks and null vectors.

z_i = y_i (x_i, 1), or y_i x_i without an intercept; the last column belongs to the intercept. A double is an integer
times a power of two, so every question here has an exact answer. Floating point is used where its rounding error is
provably too small to change the answer (|fl(f) − f| ≤ γ_k Σ|x_j w_j|, γ_k = k·2⁻⁵³/(1 − k·2⁻⁵³), for any order of
summation; Higham 2002), and integers everywhere else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.prove.exact.labelled_rows import LabelledRows

Array = np.ndarray[Any, Any]
Vector = Sequence[Fraction] | Array  # exact: fractions, or doubles taken as exact values
VALUES_AT_ONCE = 1 << 21
PRIME = 2**31 - 1  # products of two residues fit into 62 bits
LARGEST_INT = np.iinfo(np.int64).max
PRODUCT_UNDERFLOW = 2.0**-1000  # more than all products can lose to underflow
CONVERSION_UNDERFLOW = 2.0**-1073  # more than converting a fraction to a double can lose; the loss is multiplied by x
SQUARE_UNDERFLOW = 2.0**-1022  # more than a square can lose to underflow


def gamma(k: int) -> float:
    """γ_k, enlarged slightly to cover the rounding of the bound itself."""
    u = (k + 3) * 2.0**-53
    return u / (1 - u) * (1 + 2.0**-40)


# -- integers --------------------------------------------------------------------------------------------------------


def integers_and_exponents(block: Array) -> tuple[Array, Array]:
    """Integers m (int64 if they fit, else Python integers) and exponents e with block_ij = m_ij·2^(e_j)."""
    part, power = np.frexp(np.asarray(block, dtype=np.float64))
    mantissa = (part * 2.0**53).astype(np.int64)
    some = mantissa != 0
    low = np.where(some, mantissa & -mantissa, 1)
    trailing = np.frexp(low.astype(np.float64))[1] - 1
    mantissa >>= trailing
    power = power.astype(np.int64) - 53 + trailing
    unit = np.where(some, power, LARGEST_INT).min(axis=0, initial=LARGEST_INT)
    unit = np.where(some.any(axis=0), unit, 0)
    shift = np.where(some, power - unit, 0)
    if not shift.size or int((shift + np.frexp(np.abs(mantissa).astype(np.float64))[1]).max()) < 62:
        return mantissa << shift, unit
    return mantissa.astype(object) << shift.astype(object), unit


def power_of_two(power: int) -> Fraction:
    """2^power."""
    return Fraction(1 << power) if power >= 0 else Fraction(1, 1 << -power)


def squared_norm(w: Vector) -> Fraction:
    """‖w‖²."""
    if not isinstance(w, np.ndarray):
        return sum((value * value for value in w), Fraction(0))
    numbers, unit = integers_and_exponents(np.asarray(w, dtype=np.float64)[None, :])
    least = int(unit.min(initial=0))
    return sum((int(m) << int(e) - least) ** 2 for m, e in zip(numbers[0], unit, strict=True)) * power_of_two(2 * least)


def as_fractions(w: Vector) -> list[Fraction]:
    """The entries of w as fractions."""
    return [value if isinstance(value, Fraction) else Fraction(float(value)) for value in w]


def integer_product(m: Array, v: Sequence[int]) -> Array:
    """M @ v for integers, without overflow."""
    most = max((abs(value) for value in v), default=0)
    if m.dtype == np.int64 and most < 2**62 and m.size:
        reach = int(np.abs(m).max()) * most * m.shape[1]
        if reach < 2**62:
            return np.asarray(m @ np.array(v, dtype=np.int64))
    return np.asarray(m.astype(object) @ np.array(v, dtype=object))


# -- the rows z ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SignedRows:
    """The rows z_i = y_i (x_i, 1), where one class is positive and all others are negative.

    Attributes
    ----------
    table : LabelledRows
    sides : ndarray of int8
        y, +1 or −1.
    intercept : bool
        Whether z has a last column for the intercept.
    """

    table: LabelledRows
    sides: Array
    intercept: bool

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.table.shape[0]

    @property
    def width(self) -> int:
        """The number of columns of z."""
        return self.table.shape[1] + self.intercept

    @property
    def dense(self) -> bool:
        """Whether X is an array rather than a sparse matrix."""
        return isinstance(self.table.X, np.ndarray)

    def block(self, index: Array) -> Array:
        """These rows of z as float64, which is exact."""
        index = np.asarray(index, dtype=np.int64)
        part = self.table.X[index]
        part = np.asarray(part if self.dense else part.toarray(), dtype=np.float64)
        if self.intercept:
            part = np.concatenate([part, np.ones((index.size, 1))], axis=1)
        return np.asarray(part * self.sides[index][:, None])

    def spans(self) -> Iterator[tuple[int, int]]:
        """Split all rows into ranges small enough for a temporary copy."""
        stored = self.table.X.size if self.dense else self.table.X.nnz
        step = max(1, int(VALUES_AT_ONCE / max(stored / self.n, 1.0)))
        for begin in range(0, self.n, step):
            yield begin, min(begin + step, self.n)

    def approximate_products(self, w: Vector) -> tuple[Array, float]:
        """fl(z·w) for every row, and a bound on the error of any of them (not finite if floating point fails)."""
        v, b = self._split(_nearest_doubles(w))
        out = np.empty(self.n)
        with np.errstate(over="ignore", invalid="ignore"):
            for begin, end in self.spans():
                out[begin:end] = (self.table.X[begin:end] @ v + b) * self.sides[begin:end]
            lost = math.sqrt(SQUARE_UNDERFLOW * self.width)  # of the length of a row and of w whose squares underflow
            radius = math.sqrt(self.table.radius2) + lost
            reach = radius * (float(np.linalg.norm(v)) + lost) * (1 + 2.0**-30) + abs(b)
        return out, gamma(self.width + 1) * reach + PRODUCT_UNDERFLOW * (
            1 + reach
        ) + CONVERSION_UNDERFLOW * radius * self.width

    def _split(self, w: Array) -> tuple[Array, float]:
        return (w[:-1], float(w[-1])) if self.intercept else (w, 0.0)

    def signs(self, w: Vector) -> Array:
        """The exact sign of z·w for every row; 0 if w overflowed, so that it separates nothing."""
        if isinstance(w, np.ndarray) and not np.isfinite(w).all():
            return np.zeros(self.n, dtype=np.int8)
        approximate, error = self.approximate_products(w)
        signs = np.sign(approximate)
        open_rows = np.flatnonzero(~(np.abs(approximate) > error)) if math.isfinite(error) else np.arange(self.n)
        for index in self._small_batches(self._still_uncertain(open_rows, w)):
            if self.dense:
                signs[index] = np.sign(self._numerators(index, w)[0])
            else:
                signs[index] = [(value > 0) - (value < 0) for value in self.exact_products(index, w)]
        return signs.astype(np.int8)

    def _small_batches(self, index: Array) -> Iterator[Array]:
        step = max(1, VALUES_AT_ONCE // 8 // max(self.width, 1))
        for begin in range(0, index.size, step):
            yield index[begin : begin + step]

    def _still_uncertain(self, index: Array, w: Vector) -> Array:
        """The rows whose sign is uncertain even with an error bound from their own Σ|x_j w_j|."""
        v, b = self._split(_nearest_doubles(w))
        left = []
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, index.size, 1 << 14):
                piece = index[begin : begin + (1 << 14)]
                part = self.table.X[piece]
                size = abs(part) @ np.abs(v) + abs(b)
                error = (
                    gamma(self.width + 1) * size
                    + PRODUCT_UNDERFLOW * (1 + size)
                    + abs(part) @ np.full(v.size, CONVERSION_UNDERFLOW)
                )
                left.append(piece[~(np.abs(part @ v + b) > error)])
        return np.concatenate(left) if left else index

    def exact_products(self, index: Array, w: Vector) -> list[Fraction]:
        """The exact z·w of these rows."""
        if not self.dense:
            exact = as_fractions(w)
            return [self._sparse_value(int(i), exact) for i in index]
        total, unit = self._numerators(index, w)
        return [int(value) * unit for value in total]

    def _numerators(self, index: Array, w: Vector) -> tuple[Array, Fraction]:
        """z·w of dense rows: integer numerators, and the positive fraction that multiplies them."""
        used = np.flatnonzero(np.array([bool(value) for value in w], dtype=bool))
        numbers, unit = integers_and_exponents(self.block(index)[:, used])
        if isinstance(w, np.ndarray):
            own, power = integers_and_exponents(np.asarray(w, dtype=np.float64)[None, used])
            power = power + unit
            least = int(power.min(initial=0))
            return integer_product(
                numbers, [int(m) << int(e) - least for m, e in zip(own[0], power, strict=True)]
            ), power_of_two(least)
        scaled = [w[int(j)] * power_of_two(int(e)) for j, e in zip(used, unit, strict=True)]
        common = math.lcm(*(value.denominator for value in scaled)) if scaled else 1
        return integer_product(numbers, [int(value * common) for value in scaled]), Fraction(1, common)

    def _sparse_value(self, i: int, w: list[Fraction]) -> Fraction:
        X = self.table.X
        start, end = X.indptr[i], X.indptr[i + 1]
        total = w[-1] if self.intercept else Fraction(0)
        for value, j in zip(X.data[start:end], X.indices[start:end], strict=True):
            if w[j]:
                total += Fraction(float(value)) * w[j]
        return total * int(self.sides[i])

    def smallest_product(self, w: Vector) -> Fraction:
        """The exact smallest z·w."""
        approximate, error = self.approximate_products(w)
        index = np.arange(self.n)
        if math.isfinite(error) and np.isfinite(approximate).all():
            index = np.flatnonzero(approximate <= approximate.min() + 2 * error)
        if not self.dense:
            return min(self.exact_products(index, w))
        found = (self._numerators(piece, w) for piece in self._small_batches(index))
        return min(int(total.min()) * unit for total, unit in found)


def _nearest_doubles(w: Vector) -> Array:
    """W as doubles; fractions are divided by a power of two near the largest, so that none overflows."""
    if isinstance(w, np.ndarray):
        return np.asarray(w, dtype=np.float64)
    most = max((abs(value) for value in w), default=Fraction(0))
    if not most:
        return np.zeros(len(w))
    over = power_of_two(most.numerator.bit_length() - most.denominator.bit_length())
    return np.array([float(value / over) for value in w])


# -- ranks and null vectors ------------------------------------------------------------------------------------------


def reduce_modulo(m: Array, prime: int = PRIME) -> tuple[list[int], list[int], Array]:
    """Row reduction modulo a prime: independent rows, pivot columns, and the reduced rows, one per pivot.

    Rows that are independent modulo a prime are independent.
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


def _rational_from_residue(residue: int, prime: int) -> Fraction | None:
    """Rational reconstruction: the fraction with this residue whose numerator and denominator are small, if any."""
    a, b, x, y = prime, residue, 0, 1
    limit = math.isqrt(prime // 2)
    while b > limit:
        q = a // b
        a, b, x, y = b, a - q * b, y, x - q * y
    if y == 0 or abs(y) > limit:
        return None
    return Fraction(b, y)


def null_vectors(m: Array) -> dict[int, list[Fraction]]:
    """A basis of {v: m v = 0}; the vector with key j has a 1 in column j, where all others have 0.

    Residues modulo a prime are tried first: this is fast and finds small fractions, which are then checked. Otherwise
    fraction-free elimination is used (Bareiss 1968).
    """
    prime = PRIME
    _, pivots, reduced = reduce_modulo(m)
    free = [j for j in range(m.shape[1]) if j not in set(pivots)]
    found = {}
    for j in free:
        entries = {c: _rational_from_residue(int(-reduced[i, j] % prime), prime) for i, c in enumerate(pivots)}
        if any(value is None for value in entries.values()):
            break
        v = [entries.get(c) or Fraction(int(c == j)) for c in range(m.shape[1])]
        common = math.lcm(*(value.denominator for value in v))
        if any(integer_product(m, [int(value * common) for value in v])):
            break
        found[j] = v
    return found if len(found) == len(free) else _null_vectors_by_bareiss(m)


def _null_vectors_by_bareiss(m: Array) -> dict[int, list[Fraction]]:
    reduced, pivots, last = bareiss_reduce(m)
    found = {}
    for j in range(m.shape[1]):
        if j not in pivots:
            v = [Fraction(0)] * m.shape[1]
            v[j] = Fraction(1)
            for i, c in enumerate(pivots):
                v[c] = Fraction(-int(reduced[i, j]), int(last))
            found[j] = v
    return found


def bareiss_reduce(m: Array) -> tuple[Array, list[int], int]:
    """Fraction-free row reduction: integer rows, the pivot columns, and the common denominator of the rows."""
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
class RowSpace:
    """The row space: independent rows that span it, and as many independent columns."""

    rows: Array
    columns: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The dimension of the space."""
        return len(self.columns)


def row_space(z: SignedRows, start: Array | None = None) -> RowSpace:
    """The exact row space of all rows. Columns are considered in order, starting with the intercept."""
    p = z.width
    order = [p - 1, *range(p - 1)] if z.intercept else list(range(p))
    if start is None:
        start = np.unique(np.linspace(0, z.n - 1, num=min(z.n, 3 * p + 8)).astype(np.int64))
    chosen, before = np.asarray(start, dtype=np.int64), -1
    while True:  # the rank grows each time, because signs are exact: at most p times
        numbers, unit = integers_and_exponents(z.block(chosen)[:, order])
        names, pivots, _ = reduce_modulo(numbers)
        if len(pivots) <= before:  # the rank was lost modulo the prime: reduce the integers themselves
            names = bareiss_reduce(numbers.T)[1]
            pivots = bareiss_reduce(numbers[names])[1]
        everything = chosen.size == z.n
        chosen, before = chosen[names], len(pivots)
        if len(pivots) == p:
            return RowSpace(chosen, tuple(range(p)))
        if everything and z.n <= p and len(pivots) == z.n - len(null_vectors(numbers.T)):
            return RowSpace(chosen, tuple(sorted(order[c] for c in pivots)))
        nulls = []
        for v in null_vectors(numbers[names]).values():
            exact = [Fraction(0)] * p
            for j, value, e in zip(order, v, unit, strict=True):
                exact[j] = value / power_of_two(int(e))
            nulls.append(tuple(exact))
        outside = np.zeros(z.n, dtype=bool)
        for vector in nulls:
            outside |= z.signs(vector) != 0
        more = np.flatnonzero(outside)
        if not more.size:
            return RowSpace(chosen, tuple(sorted(order[c] for c in pivots)))
        chosen = np.concatenate([chosen, more[: 2 * p]])
