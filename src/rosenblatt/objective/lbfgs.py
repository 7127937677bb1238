"""L-BFGS in the variables of `scaled_objective`, from the point found by mini-batches to the minimum.

    A ← A − step·H∇F          H from the last ten changes of A and ∇F, starting from M/L

A step is halved until F decreases enough; where differences of F are lost in rounding, the slope along the direction
decides (Hager and Zhang 2005).

J. Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation 35, 1980. W. Hager,
H. Zhang, "A new conjugate gradient method with guaranteed descent and an efficient line search", SIAM J. Optimization
16, 2005.
"""

from __future__ import annotations

from typing import Any

from rosenblatt.objective.scaled_objective import ScaledObjective

Array = Any
MEMORY = 10
ENOUGH = 1e-4  # of the decrease that the slope promises
ROUNDING = 1e-6  # of F, below which the slope decides
MOST_HALVINGS = 30


class LimitedMemory:
    """A point A = (V, c) of one penalty, F and its gradient there, and the last changes of both."""

    def __init__(self, objective: ScaledObjective, V: Array, c: Array) -> None:
        self.objective, self.xp = objective, objective.xp
        self.A = self.xp.concat([V, c], axis=0)
        self.F, self.gradient = self._at(self.A)
        self.changes: list[tuple[Array, Array, float]] = []
        self.stuck = False

    @property
    def point(self) -> tuple[Array, Array]:
        """V and c."""
        return self.A[:-1, :], self.A[-1:, :]

    @property
    def decrease(self) -> float:
        """How much a step along the gradient could lower F, to first order."""
        return float(self.objective.decrease(self.gradient[:-1, :], self.gradient[-1:, :])[0])

    def _at(self, A: Array) -> tuple[float, Array]:
        V, c, objective = A[:-1, :], A[-1:, :], self.objective
        loss, G, g, _ = objective.whole(V, c)
        G = G + objective.by_feature * V * objective.smooth
        return float(loss[0]) + float(objective.penalty(V)[0]), self.xp.concat([G, g], axis=0)

    def _dot(self, a: Array, b: Array) -> float:
        return float(self.xp.sum(a * b))

    def _metric(self, q: Array) -> Array:
        """The start of H: M for the weights, 1 for the intercepts, over their curvatures."""
        objective = self.objective
        return self.xp.concat(
            [objective.divided(q[:-1, :]) / float(objective.steepness[0]), q[-1:, :] / objective.of_intercepts], axis=0
        )

    def direction(self) -> Array:
        """−H∇F, by the two loops of Nocedal."""
        q, steps = self.gradient, []
        for s, y, product in reversed(self.changes):
            a = self._dot(s, q) / product
            q = q - a * y
            steps.append(a)
        q = self._metric(q)
        if self.changes:
            s, y, product = self.changes[-1]
            q = q * (product / max(self._dot(y, self._metric(y)), 1e-300))
        for (s, y, product), a in zip(self.changes, reversed(steps), strict=True):
            q = q + (a - self._dot(y, q) / product) * s
        return -q

    def iterate(self) -> float:
        """One step; returns F. `stuck` says that no step along the direction lowers it."""
        D = self.direction()
        slope, step = self._dot(self.gradient, D), 1.0
        for _ in range(MOST_HALVINGS):
            A = self.A + step * D
            F, gradient = self._at(A)
            flat = self.F + ROUNDING * abs(self.F) >= F and abs(self._dot(gradient, D)) <= 0.9 * abs(slope)
            if self.F + ENOUGH * step * slope >= F or flat:
                break
            step *= 0.5
        else:
            self.stuck = True
            return self.F
        s, y = A - self.A, gradient - self.gradient
        product = self._dot(s, y)
        if product > 0.0:
            self.changes = [*self.changes[1 - MEMORY :], (s, y, product)]
        self.A, self.F, self.gradient = A, F, gradient
        return F
