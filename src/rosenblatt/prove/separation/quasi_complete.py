"""After a witness: the direction that separates weakly, or the rows that prove that there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from rosenblatt.prove.exact.arithmetic import Signed, bareiss, fractions_of, null_vectors, two_to, whole
from rosenblatt.prove.separation.projected_rows import Quotient
from rosenblatt.prove.separation.simplex import Floats, Wholes

Array = np.ndarray[Any, Any]
WORK = 1e9  # bits that the exact maximiser may go through: some ten seconds


@dataclass(frozen=True)
class Stage:
    """Rows of a quotient with Σ λ_i z_i = 0 for some λ > 0, unique but for its length."""

    q: Quotient
    rows: Array
    zero: list[int] | None  # the columns left, where floats have proven the witness

    def rest(self) -> Quotient:
        """The directions that vanish on these rows."""
        return self.q.without(self.rows, self.zero)


def weights_of(block: Array) -> tuple[Fraction, ...]:
    """The λ > 0, Σ λ = 1, with Σ λ_i z_i = 0, of rows for which it is unique."""
    numbers, _ = whole(block)
    (found,) = null_vectors(numbers.T).values()
    total = sum(found)
    return tuple(value / total for value in found)


def spanning(z: Signed, stages: list[Stage]) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    """The rows of all stages with positive weights that sum to 1 and make Σ λ_i z_i = 0 (Steinitz).

    The rows of a stage sum, so weighted, to a vector v in the span of those before, whose weights λ' are positive:
    v = −Σ c_i z_i for some c, and c + tλ' > 0 for t large enough.
    """
    rows, weights = stages[0].rows, list(weights_of(z.block(stages[0].rows)))
    for stage in stages[1:]:
        numbers = np.array(stage.q.wholes(stage.rows, last=False), dtype=object)
        (mu,) = null_vectors(numbers.T).values()
        # `wholes` multiplies each row by a number of its own: undo it.
        factor = _factors(stage.q, stage.rows, numbers)
        mu = [value * f for value, f in zip(mu, factor, strict=True)]
        if mu[0] < 0:
            mu = [-value for value in mu]
        c = _solve(z, rows, stage.rows, mu)
        t = max((-value / weight for value, weight in zip(c, weights, strict=True)), default=Fraction(0))
        t = max(t, Fraction(0)) + 1
        weights = [value + t * weight for value, weight in zip(c, weights, strict=True)] + mu
        rows = np.concatenate([rows, stage.rows])
    total = sum(weights)
    return tuple(int(row) for row in rows), tuple(weight / total for weight in weights)


def _factors(q: Quotient, rows: Array, numbers: Array) -> list[Fraction]:
    """By what `wholes` multiplied each row."""
    found = []
    for i, row in enumerate(rows):
        k = next(k for k in range(q.width) if numbers[i, k])
        value = q.z.values(np.array([row]), q.vectors[k])[0]
        found.append(Fraction(int(numbers[i, k])) * two_to(int(q.scale[k])) / value)
    return found


def _solve(z: Signed, rows: Array, others: Array, mu: list[Fraction]) -> list[Fraction]:
    """Some c with Σ c_i z_i over `rows` = −Σ mu_i z_i over `others`."""
    numbers, _ = whole(z.block(np.concatenate([rows, others])))
    common = math.lcm(*(value.denominator for value in mu))
    v = np.array([int(value * common) for value in mu], dtype=object) @ numbers[len(rows) :].astype(object)
    system = np.concatenate([numbers[: len(rows)].T.astype(object), -v[:, None]], axis=1)
    reduced, pivots, last = bareiss(system)
    c = [Fraction(0)] * len(rows)
    for i, column in enumerate(pivots):
        c[column] = Fraction(int(reduced[i, -1]), int(last) * common)
    return c


# -- the direction -----------------------------------------------------------------------------------------------------


def maximiser(q: Quotient) -> tuple[Fraction, ...] | None:
    """The w = N c that maximises Σ z_i·w with z_i·w ≥ 0 on the active rows and |w_j| ≤ 1, exactly; None if too dear.

    All active rows are known to be separable along N. With g = Σ z_i N this is the dual of the simplex's problem with
    b = g, the columns −z_i N of cost 0 and ±N_j of cost 1: the box of the columns that are no units of N.
    """
    if q.width == 1:
        (v,) = q.vectors
        side = int(q.z.signs(v)[q.index[0]])
        most = max(abs(value) for value in v)
        return tuple(side * value / most for value in v)
    flat = [two_to(int(e)) for e in q.scale]  # the columns are scaled, and so is the box
    box = [j for j in range(q.z.width) if j not in q.units and any(v[j] for v in q.vectors)]
    across = [[v[j] / f for v, f in zip(q.vectors, flat, strict=True)] for j in box]
    b = [value / f for value, f in zip(_total(q), flat, strict=True)]
    try:
        rows = _suggested(q, b, flat, across)
    except OverflowError:  # the scales are beyond doubles
        rows = q.index[:0]
    once = math.lcm(*(f.denominator for f in flat))
    simplex = Wholes(_integral(b)[0], [int(f * once) for f in flat])
    for column in across:
        numbers, factor = _integral(column)
        simplex.extend([numbers, [-value for value in numbers]], [int(factor * once)] * 2)
    simplex.extend([[-value for value in row] for row in q.wholes(rows, last=False)])
    while simplex.run(WORK):
        w = q.lift([Fraction(int(value), int(simplex.det) * once) for value in simplex.duals()])
        wrong = q.index[q.signs(w) < 0]
        if not wrong.size:
            return tuple(w)
        wrong = wrong[:: max(1, wrong.size // 20)]
        simplex.extend([[-value for value in row] for row in q.wholes(wrong, last=False)])
    return None


def moving(q: Quotient, w: Any, best: tuple[Fraction, ...] | None) -> tuple[Fraction, ...]:
    """A direction other than 0 wherever one is: the maximiser, or with it a little of w, moved off the zeros it has.

    z·w > 0 on every active row, so that a small step along N keeps it: such w reach everywhere that N does.
    """
    reach = [j for j in range(q.z.width) if any(v[j] for v in q.vectors)]
    if best is not None and all(best[j] for j in reach):
        return best
    inner, step, turn = fractions_of(w), two_to(-1) * max(abs(value) for value in fractions_of(w)), 1
    while not all(inner[j] for j in reach):
        moved = [value + step * sum((v[j] * pow(3, turn * k) for k, v in enumerate(q.vectors)), Fraction(0))
                 for j, value in enumerate(fractions_of(w))]  # fmt: skip
        if (q.signs(moved) > 0).all():
            inner = moved
        step, turn = step / 8, turn % 3 + 1
    if best is None:
        return tuple(inner)
    little = min(abs(value) for value in best if value) / max(abs(value) for value in inner) / 16
    both = [a + little * b for a, b in zip(best, inner, strict=True)]
    most = max(abs(value) for value in both)
    return tuple(value / most for value in both)


def _integral(v: list[Fraction]) -> tuple[list[int], int]:
    """V times the returned positive whole number."""
    common = math.lcm(*(value.denominator for value in v))
    return [int(value * common) for value in v], common


def _total(q: Quotient) -> list[Fraction]:
    """Σ z_i N over the active rows, as far as doubles tell."""
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


def _suggested(q: Quotient, b: list[Fraction], flat: list[Fraction], across: list[list[Fraction]]) -> Array:
    """Rows that are in the optimal basis, as far as floats tell."""
    size = max(max(abs(value) for value in b), Fraction(1, 10**300))
    simplex = Floats(np.array([float(value / size) for value in b]), np.array([float(f) for f in flat]))
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
        f = q.z.products(w)[0][q.index]
        wrong = np.flatnonzero(f < -1e-9 * max(float(np.abs(f).max()), 1e-300))
        if wrong.size > 200:
            wrong = wrong[np.argpartition(f[wrong], 200)[:200]]
        more = np.setdiff1d(q.index[wrong], rows)
        if not more.size:
            break
    found = simplex.support() - offset
    return np.asarray(rows[found[found >= 0]])
