"""How far a point can be above the minimum of a linear model's objective: a duality gap.

F(W, b) = Σ s_i ℓ_i(f_i)/S + α·P(W), S = Σ s_i. A convex loss lies above its tangents, ℓ_i(f) ≥ θ_i·f − ℓ_i*(θ_i), so
that for any slopes θ whose gradients of the intercepts, Σ s_i θ_i/S, are 0, and with G = Σ s_i θ_i x_iᵀ/S

    F ≥ −Σ s_i ℓ_i*(θ_i)/S − (α·P)*(−G) everywhere          (α·P)*(u) = Σ max(0, |u| − λ₁)²/2λ₂

(Fenchel). The slopes at the point itself give ‖∇F‖²/2λ₂ for L2, small enough where features are of similar size and λ₂
is not too small. Otherwise the slopes θ + ℓ''·Δf are tried, where Δf are the changes of the scores by a Newton
step, found by conjugate gradients: for them the gradient of F vanishes. At a kink ℓ'' is that of a wider neighbourhood,
so that the slopes of all rows near it are free. Slopes are moved into the domain of ℓ*; without
λ₂ they are scaled so that no |G| is above λ₁. What remains of a gradient that must be 0, that of the intercepts or of
weights without any penalty, counts times `REACH` times the size of the weights: the bound is one for all weights of up
to that size. A loss is never negative, and therefore F itself is a bound, too.

J. Borwein, A. Lewis, "Convex Analysis and Nonlinear Optimization", 2006, theorem 3.3.5.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.objective.stochastic_visits import RESIDUAL, SOFTMAX

if TYPE_CHECKING:
    from rosenblatt.objective.proximal_gradient import Iterate, SmoothedObjective

Array = np.ndarray[Any, Any]
REACH = 1e6
MOST_CONJUGATE = 200  # steps of conjugate gradients
ENOUGH = 0.05  # part of the bound that is asked for, to which conjugate gradients lower what remains of the gradient
ROUNDS = 10  # of conjugate gradients for a loss with kinks, whose slopes leave the domain of ℓ* and stay at its end
NEAR = (1e-4, 1e-3, 3e-3, 1e-2)  # of a kink, in units of the loss: rows whose slopes are free
STEP = 1e-4  # of the differences of slopes that estimate ℓ''


class GapBound:
    """Bounds F − min F at a point, where the loss is smoothed by mu for the slopes only."""

    def __init__(self, objective: SmoothedObjective, at: Iterate, mu: float) -> None:
        problem, plan = objective.problem, objective.plan
        self.objective, self.at, self.mu = objective, at, mu
        index = problem.index(0, problem.size).astype(np.int64)
        weights = problem.weights[index] if problem.weights.size else np.ones(problem.size)
        self.s = (weights / problem.total)[:, None]
        self.softmax, self.residual = objective.settings.kind == SOFTMAX, objective.settings.kind == RESIDUAL
        truth = objective.truth[index]
        if self.residual:
            self.side, self.y = np.ones((1, 1)), truth[:, None].astype(np.float64)
        else:
            on = truth != 0 if truth.ndim == 2 else truth[:, None] == np.arange(objective.K)[None, :]
            self.on, self.side = on, np.where(on, 1.0, -1.0)
        self.l1, self.l2 = plan.penalty_class.parts(plan.alpha, plan.ratio) or (math.nan, math.nan)
        self.F = objective.loss(at.scores, 0.0)[0] + objective.penalty(at.W)
        self.theta = self._slopes(at.scores)
        self._curve(STEP * objective.unit)
        h = objective.metric
        size = max(float(np.abs(at.W * np.sqrt(h)).max(initial=0.0)), float(np.abs(at.c).max()), objective.unit)
        self.reach_W, self.reach_c = REACH * size / np.sqrt(h), REACH * size
        held = float(np.abs(at.W).sum(axis=0) @ np.sqrt(h + objective.mean**2)) + float(np.abs(at.c).sum())
        self.rounding = np.finfo(np.float64).eps * (
            (64.0 + math.sqrt(problem.size)) * abs(self.F) + 4.0 * held * float((self.s * np.abs(self.theta)).sum())
        )

    def _slopes(self, scores: Array) -> Array:
        """∂ℓ/∂f of each row."""
        slopes = self.objective.loss(scores, self.mu)[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.s > 0, slopes / (self.s * self.objective.problem.total), 0.0)

    def _curve(self, step: float) -> None:
        """ℓ'' at the point, from differences of slopes; of softmax P."""
        if self.softmax:
            self.curvature = self.theta + self.on
            return
        ahead, behind = (self._slopes(self.at.scores + each) for each in (step, -step))
        self.curvature = np.maximum(ahead - behind, 0.0) / (2.0 * step)

    def _bent(self, z: Array) -> Array:
        """The changes of the slopes with those of the scores."""
        if self.softmax:
            p = self.curvature
            return np.asarray(p * (z - (p * z).sum(axis=1, keepdims=True)))
        return np.asarray(self.curvature * z)

    def _gradient(self, theta: Array) -> tuple[Array, Array]:
        return self.objective.gradient(self.s * self.objective.problem.total * theta)

    def _within(self, theta: Array) -> Array:
        """The slopes, moved into the domain of ℓ*."""
        if self.softmax:
            p = np.maximum(theta + self.on, 0.0)
            return np.asarray(p / p.sum(axis=1, keepdims=True) - self.on)
        low, high = self.objective.plan.loss_class.slopes(self.objective.plan.width)
        return self.side * np.clip(self.side * theta, low, high)

    def _conjugate(self, theta: Array) -> float:
        """Σ s_i ℓ_i*(θ_i)/S."""
        if self.softmax:
            p = theta + self.on
            each = p * np.log(np.where(p > 0, p, 1.0))
        else:
            each = self.objective.plan.loss_class.conjugate(self.side * theta, self.objective.plan.width)
            if self.residual:
                each = each + theta * self.y
        return float((self.s * each).sum())

    def _balanced(self, theta: Array) -> Array:
        """The slopes with those changes, as of a shift of the scores, for which the gradient of the intercepts is 0."""
        if not self.objective.settings.bias:
            return theta
        K = theta.shape[1]
        for _ in range(2):
            lack = (self.s * theta).sum(axis=0)
            H = np.array([(self.s * self._bent(np.broadcast_to(e, theta.shape))).sum(axis=0) for e in np.eye(K)])
            theta = self._within(theta - self._bent(np.broadcast_to(np.linalg.pinv(H) @ lack, theta.shape)))
        return theta

    def of(self, theta: Array) -> float:
        """The bound by these slopes."""
        theta = self._balanced(self._within(theta))
        G, g = self._gradient(theta)
        left, size = 0.0, np.abs(G)
        if self.l2 > 0:
            left = float((np.maximum(size - self.l1, 0.0) ** 2).sum()) / (2.0 * self.l2)
        elif self.l1 > 0:
            shrink = min(1.0, self.l1 / max(float(size.max(initial=0.0)), 1e-300))
            theta, g = shrink * theta, shrink * g
        else:
            left = float((size * self.reach_W).sum())
        left += float(np.abs(g).sum()) * self.reach_c * bool(self.objective.settings.bias)
        conjugate = self._conjugate(theta)
        gap = self.F + conjugate + left
        eps = np.finfo(np.float64).eps * (64.0 + math.sqrt(self.s.size))
        gap = max(gap, 0.0) + self.rounding + eps * (abs(conjugate) + left)
        return gap if math.isfinite(gap) else math.inf

    def at_point(self) -> float:
        """The bound by the slopes at the point, or by F itself."""
        return min(self.F, self.of(self.theta))

    def newton(self, enough: float) -> tuple[float, Array, Array]:
        """The bound by the slopes after a Newton step, to which conjugate gradients are exact enough; and the step."""
        objective, at = self.objective, self.at
        best, first = math.inf, None
        for near in NEAR if self.mu else (STEP,):
            self._curve(near * objective.unit)
            P, c, theta = np.zeros_like(at.W), np.zeros_like(at.c), self.theta
            for _ in range(ROUNDS if self.mu or self.l1 else 1):
                G, g = self._gradient(theta)
                # Of L1, weights that are 0 stay 0 unless their gradient is above λ₁.
                moved = (at.W != 0.0) | (np.abs(G) > self.l1) if self.l1 > 0 else np.ones(at.W.shape, bool)
                sign = np.where(at.W != 0.0, np.sign(at.W), -np.sign(G))
                r, q = -(G + self.l2 * (at.W + P) + self.l1 * sign) * moved, -g
                dW, dc, z = self._solved(r, q, moved, enough)
                free = theta + self._bent(z)
                theta, P, c = self._within(free), P + dW, c + dc
                first, best = first or (P, c), min(best, self.of(theta))
                if best <= enough:
                    return best, *first
                ended = (free != theta) & (self.curvature > 0.0)
                if not ended.any():
                    break
                self.curvature = np.where(ended, 0.0, self.curvature)
        assert first is not None
        return best, *first

    def _solved(self, r: Array, q: Array, moved: Array, enough: float) -> tuple[Array, Array, Array]:
        """The step that changes the gradients by r and q, by conjugate gradients, and its changes of the scores."""
        objective, at = self.objective, self.at
        mean = np.maximum((self.s * np.abs(self._diagonal())).sum(axis=0), 1e-12)
        over_W, over_c = 1.0 / (mean[:, None] * objective.metric + self.l2), 1.0 / mean
        P, c, z = np.zeros_like(at.W), np.zeros_like(at.c), np.zeros_like(at.scores)
        dW, dc, before = np.zeros_like(P), np.zeros_like(c), math.inf
        for _ in range(min(MOST_CONJUGATE, 4 * (P.size + c.size) + 10)):
            product = float((r * over_W * r).sum() + q @ (over_c * q))
            if self._left(r, q) <= ENOUGH * enough or not product > 0.0:
                break
            beta = product / before
            dW, dc, before = over_W * r + beta * dW, over_c * q + beta * dc, product
            dz = objective.point(dW, dc).scores
            HW, Hc = self._gradient(self._bent(dz))
            HW = (HW + self.l2 * dW) * moved
            curve = float((dW * HW).sum() + dc @ Hc)
            if not curve > 0.0:
                break
            a = product / curve
            P, c, z, r, q = P + a * dW, c + a * dc, z + a * dz, r - a * HW, q - a * Hc
        return P, c, z

    def _diagonal(self) -> Array:
        return np.asarray(self.curvature * (1.0 - self.curvature) if self.softmax else self.curvature)

    def _left(self, r: Array, q: Array) -> float:
        """What these remains of the gradient add to the bound."""
        if self.l2 > 0:
            return float((r * r).sum()) / (2.0 * self.l2) + float(q @ q)
        return float((np.abs(r) * self.reach_W).sum()) + float(np.abs(q).sum()) * self.reach_c
