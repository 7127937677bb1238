"""The simplex method in floating point, and in exact integer arithmetic where that is needed.

The problem, for columns a_j with costs c_j ≥ 0, and a penalty s_i > 0 on the residual of row i:

    minimise  Σ c_j λ_j + Σ s_i |b − Σ λ_j a_j|_i  over λ ≥ 0
    maximise  b·π  over a_j·π ≤ c_j, |π_i| ≤ s_i                     (its dual)

Both questions of separation have this form (`search`, `quasi_complete`). `FloatSimplex` is fast but may be wrong; the
rows in its basis are where `ExactSimplex` starts. `ExactSimplex` is the revised simplex with B⁻¹ = adjugate/determinant
in integers (Edmonds 1967); it switches to Bland's rule when it stalls, so it terminates.

Basis entries: j ≥ 0 is column j, −1 − i is the artificial column +e_i and −1 − m − i is −e_i.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class FloatSimplex:
    """The simplex method in doubles. Columns can be added at any time; the basis is kept between runs."""

    def __init__(self, b: Array, s: Array, seed: int = 0) -> None:
        self.m = b.size
        self.b, self.s = b, s
        # Perturbing b keeps step lengths positive: without it most pivots of these problems are degenerate.
        noise = np.random.default_rng(seed).uniform(0.5, 1.0, self.m) * 1e-7 * max(np.abs(b).max(), 1e-300)
        self.perturbed = b + np.where(b < 0, -noise, noise)
        self.columns = np.zeros((0, self.m))
        self.costs = np.zeros(0)
        side = np.where(self.perturbed < 0, -1.0, 1.0)
        self.basis = np.where(side > 0, -1 - np.arange(self.m), -1 - self.m - np.arange(self.m))
        self.inverse = np.diag(side)
        self.x = np.abs(self.perturbed)
        self.basis_costs = self.s.copy()  # the costs of the basis
        self.pi = np.zeros(self.m)
        self.pivots = 0

    def extend(self, columns: Array, costs: Array | None = None) -> None:
        """Add columns, given one per row."""
        self.columns = np.concatenate([self.columns, columns])
        self.costs = np.concatenate([self.costs, np.zeros(len(columns)) if costs is None else costs])

    def column(self, j: int) -> Array:
        """The column of a basis entry."""
        return self.columns[j] if j >= 0 else artificial_column(j, self.m)

    def run(self, most: int, tolerance: float = 1e-9) -> bool:
        """Pivot to the optimum; False if that takes too many pivots or the basis becomes singular."""
        for step in range(most):
            if step % 100 == 99 and not self.refactorise():
                return False
            self.pi = self.basis_costs @ self.inverse
            reduced = self.costs - self.columns @ self.pi
            j = int(np.argmin(reduced)) if reduced.size else 0
            best = reduced[j] if reduced.size else 0.0
            short = self.s - np.abs(self.pi)
            i = int(np.argmin(short))
            if min(best, short[i]) > -tolerance:
                return self.refactorise()
            if best <= short[i]:
                name, cost = j, self.costs[j]
            else:
                name, cost = (-1 - i if self.pi[i] > 0 else -1 - self.m - i), self.s[i]
            if not self._pivot(name, float(cost)):
                return False
        return False

    def _pivot(self, name: int, cost: float) -> bool:
        u = self.inverse @ self.column(name)
        open_rows = np.flatnonzero(u > 1e-10)
        if not open_rows.size:
            return False
        ratios = np.maximum(self.x[open_rows], 0.0) / u[open_rows]
        near = open_rows[ratios <= ratios.min() * (1 + 1e-9) + 1e-14]
        r = int(near[np.argmax(u[near])])
        row = self.inverse[r] / u[r]
        step = self.x[r] / u[r]
        self.inverse -= np.outer(u, row)
        self.inverse[r] = row
        self.x -= u * step
        self.x[r] = step
        self.basis[r], self.basis_costs[r] = name, cost
        self.pivots += 1
        return True

    def refactorise(self) -> bool:
        """Invert the basis from scratch; False if it is singular or infeasible."""
        try:
            self.inverse = np.linalg.inv(np.array([self.column(int(j)) for j in self.basis]).T)
        except np.linalg.LinAlgError:
            return False
        self.x = self.inverse @ self.perturbed
        self.pi = self.basis_costs @ self.inverse
        return bool(np.isfinite(self.inverse).all() and self.x.min() > -1e-6)

    def infeasibility(self) -> float:
        """Σ s|b − Aλ| at the basis, for the unperturbed b."""
        x = self.inverse @ self.b
        return float(np.abs(self.basis_costs[self.basis < 0]) @ np.abs(x[self.basis < 0]))

    def support(self) -> Array:
        """The columns in the basis."""
        return self.basis[self.basis >= 0]


def artificial_column(j: int, m: int) -> Array:
    """The artificial column +e_i or −e_i of a basis entry."""
    e = np.zeros(m)
    e[-1 - j if j >= -m else -1 - m - j] = 1.0 if j >= -m else -1.0
    return e


class ExactSimplex:
    """The simplex method in integers. A column may be any positive multiple of the column it represents."""

    def __init__(self, b: Sequence[int], s: Sequence[int]) -> None:
        self.m = len(b)
        self.s = [int(cost) for cost in s]
        self.columns: list[Array] = []
        self.costs: list[int] = []
        side = [-1 if value < 0 else 1 for value in b]
        self.basis = [-1 - i if side[i] > 0 else -1 - self.m - i for i in range(self.m)]
        # The adjugate, with x as last column; all to be divided by the determinant.
        self.tableau = np.zeros((self.m, self.m + 1), dtype=object)
        for i in range(self.m):
            self.tableau[i, i], self.tableau[i, self.m] = side[i], abs(int(b[i]))
        self.det = 1
        self.stalled = 0
        self.work = 0

    def extend(self, columns: Sequence[Sequence[int]], costs: Sequence[int] | None = None) -> None:
        """Add columns of integers."""
        self.columns.extend(np.array([int(value) for value in column], dtype=object) for column in columns)
        self.costs.extend([0] * len(columns) if costs is None else [int(cost) for cost in costs])

    def _cost(self, j: int) -> int:
        return self.costs[j] if j >= 0 else self.s[-1 - j if j >= -self.m else -1 - self.m - j]

    def duals(self) -> Array:
        """π times the determinant."""
        return np.asarray(np.array([self._cost(j) for j in self.basis], dtype=object) @ self.tableau[:, : self.m])

    @property
    def infeasibility(self) -> Fraction:
        """Σ s|b − Aλ| at the basis."""
        total = sum(self._cost(j) * x for j, x in zip(self.basis, self.tableau[:, self.m], strict=True) if j < 0)
        return Fraction(int(total), int(self.det))

    def values(self) -> dict[int, Fraction]:
        """The nonzero λ of the columns in the basis."""
        found = zip(self.basis, self.tableau[:, self.m], strict=True)
        return {j: Fraction(int(x), int(self.det)) for j, x in found if j >= 0 and x}

    def run(self, most: float = float("inf")) -> bool:
        """Pivot to the optimum; False once all runs together have used more than `most` bit operations."""
        while self.work <= most:
            self.work += self.m**2 * int(self.det).bit_length()  # runs without a pivot count too
            name = self._entering()
            if name is None:
                return True
            self._pivot(name)
        return False

    def _entering(self) -> int | None:
        pi = self.duals()
        found: list[tuple[int, Fraction]] = []
        if self.columns:
            reduced = np.array(self.costs, dtype=object) * self.det - np.array(self.columns, dtype=object) @ pi
            found = [(j, value) for j, value in enumerate(reduced) if value < 0]
        for i in range(self.m):
            if abs(pi[i]) > self.s[i] * self.det:
                name = -1 - i if pi[i] > 0 else -1 - self.m - i
                found.append((name, self.s[i] * self.det - abs(pi[i])))
        if not found:
            return None
        if self.stalled > 2 * self.m:  # Bland's rule: the first candidate, so that no basis repeats
            return min(found, key=lambda entry: (entry[0] < 0, abs(entry[0])))[0]
        return min(found, key=lambda entry: entry[1])[0]

    def _pivot(self, name: int) -> None:
        column = self.columns[name] if name >= 0 else artificial_column(name, self.m).astype(int).astype(object)
        u = self.tableau[:, : self.m] @ column
        x = self.tableau[:, self.m]
        order = [(Fraction(int(x[r]), int(u[r])), self.basis[r] < 0, abs(self.basis[r]), r)
                 for r in range(self.m) if u[r] > 0]  # fmt: skip
        if self.stalled <= 2 * self.m:  # artificial columns leave first
            order = [(ratio, not artificial, rank, r) for ratio, artificial, rank, r in order]
        step, _, _, r = min(order)
        self.stalled = 0 if step > 0 else self.stalled + 1
        pivot, row = u[r], self.tableau[r].copy()
        self.tableau = (self.tableau * pivot - np.outer(u, row)) // self.det
        self.tableau[r] = row
        self.det, self.basis[r] = pivot, name
