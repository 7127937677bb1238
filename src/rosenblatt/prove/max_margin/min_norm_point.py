"""Wolfe's corral: the point of least norm in a convex hull, or the shortest way between two.

    minimise ½‖w‖²,  w = Σ α_i z_i,  α ≥ 0,  Σ α_i = 1 over each group

One group: the hull of z_i = y_i x_i (planes through the origin). Two groups, the classes: the hulls of x over y = +1
and over y = −1, z_i = y_i x_i (planes with an intercept). The corral is a set of rows on whose affine hull the least
point has α > 0; a row that lies lower than the corral joins it, and rows whose α would fall below 0 leave (P. Wolfe,
"Finding the nearest point in a polytope", 1976).

With M_ij = z_i·z_j + κ[same group], which is positive definite for affinely independent rows, the least point is
α = M⁻¹Eᵀμ, where E has a row of ones for each group and E M⁻¹Eᵀ μ = 1. The loops keep the Cholesky factor L of M.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.compiling import compiled

Array = np.ndarray[Any, Any]
DEPENDENT = 1e-13  # a row this near, by its squared distance, to the span of the corral cannot join


@compiled
def grow(L: Array, s: int, cross: Array, diagonal: float) -> bool:
    """Row s of L, from the products with the rows before; False when the row depends on them."""
    left = diagonal
    for i in range(s):
        total = cross[i]
        for j in range(i):
            total -= L[i, j] * L[s, j]
        L[s, i] = total / L[i, i]
        left -= L[s, i] * L[s, i]
    if not left > DEPENDENT * diagonal:
        return False
    L[s, s] = np.sqrt(left)
    return True


@compiled
def shrink(L: Array, s: int, k: int) -> None:
    """Take row k out of L: what follows moves up, and rotations make it triangular again."""
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
def back(L: Array, s: int, out: Array) -> None:
    """Out becomes M⁻¹ out."""
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
def least(L: Array, s: int, group: Array, groups: int, beta: Array, u: Array, v: Array) -> bool:
    """Beta, the α of the least point of the affine hull."""
    for i in range(s):
        u[i] = 1.0 if group[i] == 0 else 0.0
    back(L, s, u)
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
    back(L, s, v)
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


@compiled
def settle(
    L: Array, s: int, rows: Array, group: Array, groups: int, alpha: Array, beta: Array, u: Array, v: Array
) -> int:
    """Move to the least point, letting rows leave on the way; how many are left, 0 when numbers fail."""
    while True:
        if not least(L, s, group, groups, beta, u, v):
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
        shrink(L, s, leaves)
        for i in range(leaves, s - 1):
            rows[i], group[i], alpha[i] = rows[i + 1], group[i + 1], alpha[i + 1]
        s -= 1


class Corral:
    """Rows, their α and L; grows as it needs to."""

    def __init__(self, groups: int, kappa: float) -> None:
        self.groups, self.kappa, self.size = groups, kappa, 0
        self._room(64)

    def _room(self, room: int) -> None:
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
        """The rows in the corral."""
        return self.all_rows[: self.size]

    @property
    def alpha(self) -> Array:
        """Their weights."""
        return self.all_alpha[: self.size]

    def add(self, row: int, group: int, products: Array, square: float, alpha: float = 0.0) -> bool:
        """Let a row join, given its products with the rows in the corral; False when it depends on them."""
        if self.size == len(self.L):
            self._room(2 * self.size)
        cross = products + self.kappa * (self.group[: self.size] == group)
        if not grow(self.L, self.size, cross, square + self.kappa):
            return False
        self.all_rows[self.size], self.group[self.size], self.all_alpha[self.size] = row, group, alpha
        self.size += 1
        return True

    def settle(self) -> bool:
        """Move to the least point; False when numbers fail."""
        left = settle(
            self.L, self.size, self.all_rows, self.group, self.groups, self.all_alpha, self.beta, self.u, self.v
        )
        self.size = left or self.size
        return left > 0
