"""Wolfe's algorithm: the point of least norm in a convex hull, or the shortest segment between two hulls.

    minimise ½‖w‖²,  w = Σ α_i z_i,  α ≥ 0,  Σ α_i = 1 over each group

One group: the hull of z_i = y_i x_i (planes through the origin). Two groups, the classes: the hulls of x over y = +1
and over y = −1, z_i = y_i x_i (planes with an intercept). The active rows (Wolfe's corral) are affinely independent,
and the point of least norm in their affine hull has α > 0. A major cycle adds a row that lies lower than the active
ones; minor cycles remove the rows whose α would become negative (P. Wolfe, "Finding the nearest point in a polytope",
1976).

With M_ij = z_i·z_j + κ[same group], which is positive definite for affinely independent rows, the point of least norm
of the affine hull is α = M⁻¹Eᵀμ, where E has a row of ones for each group and E M⁻¹Eᵀ μ = 1. The loops keep the
Cholesky factor L of M.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import compiled

Array = np.ndarray[Any, Any]
DEPENDENCE_TOL = 1e-13  # relative squared distance to the span of the active rows below which a row is dependent


@compiled
def append_cholesky_row(L: Array, s: int, cross: Array, diagonal: float) -> bool:
    """Append row s to L, given its products with the rows before it; False if it depends on them."""
    left = diagonal
    for i in range(s):
        total = cross[i]
        for j in range(i):
            total -= L[i, j] * L[s, j]
        L[s, i] = total / L[i, i]
        left -= L[s, i] * L[s, i]
    if not left > DEPENDENCE_TOL * diagonal:
        return False
    L[s, s] = np.sqrt(left)
    return True


@compiled
def remove_cholesky_row(L: Array, s: int, k: int) -> None:
    """Remove row k from L: later rows move up, and Givens rotations make L triangular again."""
    for i in range(k, s - 1):
        for j in range(i + 2):
            L[i, j] = L[i + 1, j]
    for j in range(k, s - 1):
        a, b = L[j, j], L[j, j + 1]
        r = np.sqrt(a * a + b * b)
        c, d = a / r, b / r
        L[j, j] = r
        for i in range(j + 1, s - 1):
            x, y = L[i, j], L[i, j + 1]
            L[i, j] = c * x + d * y
            L[i, j + 1] = c * y - d * x


@compiled
def solve_cholesky(L: Array, s: int, out: Array) -> None:
    """Replace out by M⁻¹ out."""
    for i in range(s):
        total = out[i]
        for j in range(i):
            total -= L[i, j] * out[j]
        out[i] = total / L[i, i]
    for i in range(s - 1, -1, -1):
        out[i] /= L[i, i]
        for j in range(i):
            out[j] -= L[i, j] * out[i]


@compiled
def affine_minimiser(L: Array, s: int, group: Array, groups: int, beta: Array, u: Array, v: Array) -> bool:
    """Set beta to the α of the point of least norm in the affine hull; False if numerically singular."""
    for i in range(s):
        u[i] = 1.0 if group[i] == 0 else 0.0
    solve_cholesky(L, s, u)
    aa = ab = bb = 0.0
    for i in range(s):
        if group[i] == 0:
            aa += u[i]
    if groups == 1:
        for i in range(s):
            beta[i] = u[i] / aa
        return aa > 0.0
    for i in range(s):
        v[i] = 1.0 if group[i] == 1 else 0.0
    solve_cholesky(L, s, v)
    for i in range(s):
        if group[i] == 0:
            ab += v[i]
        else:
            bb += v[i]
    det = aa * bb - ab * ab
    if not det > 0.0:
        return False
    p, q = (bb - ab) / det, (aa - ab) / det
    for i in range(s):
        beta[i] = p * u[i] + q * v[i]
    return True


class ActiveRows(NamedTuple):
    """The active rows with their groups and weights α, and L."""

    L: Array
    rows: Array
    group: Array
    alpha: Array


@compiled
def minor_cycles(active: ActiveRows, s: int, groups: int, beta: Array, u: Array, v: Array) -> int:
    """Minor cycles: move to the point of least norm, removing rows on the way.

    Returns the number of active rows that remain, or 0 on numerical failure.
    """
    L, rows, group, alpha = active
    while True:  # each cycle but the last removes a row
        if not affine_minimiser(L, s, group, groups, beta, u, v):
            return 0
        step, leaves = 1.0, -1
        for i in range(s):
            if beta[i] <= 0.0:
                share = alpha[i] / (alpha[i] - beta[i]) if alpha[i] > 0.0 else 0.0
                if leaves < 0 or share < step:
                    step, leaves = share, i
        for i in range(s):
            alpha[i] += step * (beta[i] - alpha[i])
        if leaves < 0:
            return s
        remove_cholesky_row(L, s, leaves)
        for i in range(leaves, s - 1):
            rows[i], group[i], alpha[i] = rows[i + 1], group[i + 1], alpha[i + 1]
        s -= 1


class MinNormPoint:
    """The point of least norm so far: its active rows, their α, and L; storage grows as needed."""

    def __init__(self, groups: int, kappa: float) -> None:
        self.groups, self.kappa, self.size = groups, kappa, 0
        self._reserve(64)

    def _reserve(self, room: int) -> None:
        def wider(old: Array | None, *shape: int, dtype: Any = np.float64) -> Array:
            new = np.zeros(shape, dtype)
            if old is not None:
                new[tuple(slice(0, k) for k in old.shape)] = old
            return new

        held = self.__dict__
        self.L = wider(held.get("L"), room, room)
        self.all_rows = wider(held.get("all_rows"), room, dtype=np.int64)
        self.group = wider(held.get("group"), room, dtype=np.int64)
        self.all_alpha = wider(held.get("all_alpha"), room)
        self.beta, self.u, self.v = np.zeros(room), np.zeros(room), np.zeros(room)

    @property
    def rows(self) -> Array:
        """The active rows."""
        return self.all_rows[: self.size]

    @property
    def alpha(self) -> Array:
        """The weights of the active rows."""
        return self.all_alpha[: self.size]

    def add(self, row: int, group: int, products: Array, square: float, alpha: float = 0.0) -> bool:
        """Add a row, given its products with the active rows; False if it depends on them."""
        if self.size == len(self.L):
            self._reserve(2 * self.size)
        cross = products + self.kappa * (self.group[: self.size] == group)
        if not append_cholesky_row(self.L, self.size, cross, square + self.kappa):
            return False
        self.all_rows[self.size], self.group[self.size], self.all_alpha[self.size] = row, group, alpha
        self.size += 1
        return True

    def minimise(self) -> bool:
        """Run minor cycles to the point of least norm; False on numerical failure."""
        active = ActiveRows(self.L, self.all_rows, self.group, self.all_alpha)
        left = minor_cycles(active, self.size, self.groups, self.beta, self.u, self.v)
        self.size = left or self.size
        return left > 0
