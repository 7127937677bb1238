"""After a witness is found: a direction that separates weakly, or rows that prove that there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.prove.exact.arithmetic import (
    SignedRows,
    as_fractions,
    bareiss_reduce,
    integers_and_exponents,
    null_vectors,
    power_of_two,
)
from rosenblatt.prove.separation.projected_rows import ProjectedRows
from rosenblatt.prove.separation.simplex import ExactSimplex, FloatSimplex

Array = np.ndarray[Any, Any]
MAX_WORK = 1e9  # bit operations allowed for the exact maximiser: about ten seconds


@dataclass(frozen=True)
class ReductionStep:
    """A step of facial reduction: rows with Σ λ_i z_i = 0 for some λ > 0 that is unique up to scale."""

    q: ProjectedRows
    rows: Array
    zero_columns: list[int] | None  # the remaining columns, if floating point proved the witness

    def remaining(self) -> ProjectedRows:
        """The problem for the directions that vanish on these rows."""
        return self.q.restricted_to_null_space(self.rows, self.zero_columns)


def witness_weights(block: Array) -> tuple[Fraction, ...]:
    """The λ > 0 with Σ λ = 1 and Σ λ_i z_i = 0, for rows for which it is unique."""
    numbers, _ = integers_and_exponents(block)
    (found,) = null_vectors(numbers.T).values()
    total = sum(found)
    return tuple(value / total for value in found)


def spanning_combination(z: SignedRows, steps: list[ReductionStep]) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """The rows of all steps, with positive weights that sum to 1 and make Σ λ_i z_i = 0 (Steinitz).

    The weighted sum v of a step's rows lies in the span of the rows of the steps before it, whose weights λ' are
    positive: v = −Σ c_i z_i for some c, and c + tλ' > 0 for t large enough.
    """
    rows, weights = steps[0].rows, list(witness_weights(z.block(steps[0].rows)))
    for step in steps[1:]:
        numbers = np.array(step.q.integer_rows(step.rows, last=False), dtype=object)
        (mu,) = null_vectors(numbers.T).values()
        # `integer_rows` multiplies each row by a factor of its own: undo it.
        factor = _row_factors(step.q, step.rows, numbers)
        mu = [value * f for value, f in zip(mu, factor, strict=True)]
        if mu[0] < 0:
            mu = [-value for value in mu]
        c = _solve_combination(z, rows, step.rows, mu)
        t = max((-value / weight for value, weight in zip(c, weights, strict=True)), default=Fraction(0))
        t = max(t, Fraction(0)) + 1
        weights = [value + t * weight for value, weight in zip(c, weights, strict=True)] + mu
        rows = np.concatenate([rows, step.rows])
    total = sum(weights)
    return tuple(int(row) for row in rows), tuple(weight / total for weight in weights)


def _row_factors(q: ProjectedRows, rows: Array, numbers: Array) -> list[Fraction]:
    """The factor by which `integer_rows` multiplied each row."""
    found = []
    for i, row in enumerate(rows):
        k = next(k for k in range(q.width) if numbers[i, k])
        value = q.z.exact_products(np.array([row]), q.vectors[k])[0]
        found.append(Fraction(int(numbers[i, k])) * power_of_two(int(q.scale[k])) / value)
    return found


def _solve_combination(z: SignedRows, rows: Array, others: Array, mu: list[Fraction]) -> list[Fraction]:
    """Some c with Σ c_i z_i over `rows` = −Σ mu_i z_i over `others`."""
    numbers, _ = integers_and_exponents(z.block(np.concatenate([rows, others])))
    common = math.lcm(*(value.denominator for value in mu))
    v = np.array([int(value * common) for value in mu], dtype=object) @ numbers[len(rows) :].astype(object)
    system = np.concatenate([numbers[: len(rows)].T.astype(object), -v[:, None]], axis=1)
    reduced, pivots, last = bareiss_reduce(system)
    c = [Fraction(0)] * len(rows)
    for i, column in enumerate(pivots):
        c[column] = Fraction(int(reduced[i, -1]), int(last) * common)
    return c


# -- the direction -----------------------------------------------------------------------------------------------------


def maximal_direction(q: ProjectedRows) -> tuple[Fraction, ...] | None:
    """The exact w = N c that maximises Σ z_i·w subject to z_i·w ≥ 0 on the active rows and |w_j| ≤ 1.

    None if it is too expensive. The active rows are known to be separable within N. With g = Σ z_i N this is the dual
    of the problem in `simplex` with b = g, the columns −z_i N with cost 0, and ±N_j with cost 1: the bounds |w_j| ≤ 1
    for the columns that are not pivot columns of N.
    """
    if q.width == 1:
        (v,) = q.vectors
        side = int(q.z.signs(v)[q.index[0]])
        most = max(abs(value) for value in v)
        return tuple(side * value / most for value in v)
    flat = [power_of_two(int(e)) for e in q.scale]  # the columns are scaled, and so are their bounds
    box = [j for j in range(q.z.width) if j not in q.pivot_columns and any(v[j] for v in q.vectors)]
    across = [[v[j] / f for v, f in zip(q.vectors, flat, strict=True)] for j in box]
    b = [value / f for value, f in zip(_sum_of_rows(q), flat, strict=True)]
    try:
        rows = _likely_basis_rows(q, b, flat, across)
    except OverflowError:  # the scales overflow doubles
        rows = q.index[:0]
    once = math.lcm(*(f.denominator for f in flat))
    simplex = ExactSimplex(_clear_denominators(b)[0], [int(f * once) for f in flat])
    for column in across:
        numbers, factor = _clear_denominators(column)
        simplex.extend([numbers, [-value for value in numbers]], [int(factor * once)] * 2)
    simplex.extend([[-value for value in row] for row in q.integer_rows(rows, last=False)])
    while simplex.run(MAX_WORK):
        w = q.lift([Fraction(int(value), int(simplex.det) * once) for value in simplex.duals()])
        wrong = q.index[q.signs(w) < 0]
        if not wrong.size:
            return tuple(w)
        wrong = wrong[:: max(1, wrong.size // 20)]
        simplex.extend([[-value for value in row] for row in q.integer_rows(wrong, last=False)])
    return None


def full_support_direction(q: ProjectedRows, w: Any, best: tuple[Fraction, ...] | None) -> tuple[Fraction, ...]:
    """A direction that is nonzero in every coefficient where some direction is.

    This is the maximiser `best` if it qualifies, else `best` plus a small multiple of w, perturbed where w is 0.
    z·w > 0 on every active row, so a small enough step within N keeps it positive, and N covers every such coefficient.
    """
    reach = [j for j in range(q.z.width) if any(v[j] for v in q.vectors)]
    if best is not None and all(best[j] for j in reach):
        return best
    inner, step, turn, base = as_fractions(w), power_of_two(-1) * max(abs(value) for value in as_fractions(w)), 1, 3
    # For a coefficient where w is 0 the sum is a polynomial in base^turn, which has fewer roots than q has columns.
    while not all(inner[j] for j in reach):
        moved = [value + step * sum((v[j] * pow(base, turn * k) for k, v in enumerate(q.vectors)), Fraction(0))
                 for j, value in enumerate(as_fractions(w))]  # fmt: skip
        if (q.signs(moved) > 0).all():
            inner, base = moved, base + (turn == 3)
        step, turn = step / 8, turn % 3 + 1
    if best is None:
        return tuple(inner)
    little = min(abs(value) for value in best if value) / max(abs(value) for value in inner) / 16
    both = [a + little * b for a, b in zip(best, inner, strict=True)]
    most = max(abs(value) for value in both)
    return tuple(value / most for value in both)


def _clear_denominators(v: list[Fraction]) -> tuple[list[int], int]:
    """V times a positive integer that makes it integral, and that integer."""
    common = math.lcm(*(value.denominator for value in v))
    return [int(value * common) for value in v], common


def _sum_of_rows(q: ProjectedRows) -> list[Fraction]:
    """Σ z_i N over the active rows, summed in doubles."""
    share = np.zeros(q.z.n)
    share[q.index] = q.z.sides[q.index]
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.asarray(share @ q.z.table.X, dtype=np.float64)
        if not np.isfinite(total).all():
            total = np.asarray((share / 2.0**64) @ q.z.table.X, dtype=np.float64)
            share = share / 2.0**64
    total = np.append(total, share.sum()) if q.z.intercept else total
    exact = [Fraction(float(value)) for value in total]
    return [sum((a * b for a, b in zip(exact, v, strict=True) if b), Fraction(0)) for v in q.vectors]


def _likely_basis_rows(
    q: ProjectedRows, b: list[Fraction], flat: list[Fraction], across: list[list[Fraction]]
) -> Array:
    """Rows that are probably in the optimal basis, found in floating point."""
    size = max(max(abs(value) for value in b), Fraction(1, 10**300))
    simplex = FloatSimplex(np.array([float(value / size) for value in b]), np.array([float(f) for f in flat]))
    if across:
        block = np.array([[float(value) for value in column] for column in across])
        simplex.extend(np.concatenate([block, -block]), np.ones(2 * len(across)))
    offset, rows = 2 * len(across), np.zeros(0, dtype=np.int64)
    rng = np.random.default_rng(0)
    more = np.sort(rng.choice(q.index, size=min(q.index.size, 10 * q.width + 200), replace=False))
    for _ in range(40):
        simplex.extend(-q.block(more))
        rows = np.concatenate([rows, more])
        if not simplex.run(60 * (q.width + 10)):
            break
        w = q.lift(simplex.pi.copy())
        f = q.z.approximate_products(w)[0][q.index]
        wrong = np.flatnonzero(f < -1e-9 * max(float(np.abs(f).max()), 1e-300))
        if wrong.size > 200:
            wrong = wrong[np.argpartition(f[wrong], 200)[:200]]
        more = np.setdiff1d(q.index[wrong], rows)
        if not more.size:
            break
    found = simplex.support() - offset
    return np.asarray(rows[found[found >= 0]])
