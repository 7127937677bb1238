"""The squared hinge loss with an L2 penalty, solved by Newton's method.

    minimise P(w, b) = ½‖w‖² + Σ C_i max(0, 1 − y_i (w·x_i + b))²

P is piecewise quadratic. With A the rows inside the margin, the next point is the minimum of their quadratic,
(I + 2 Σ_A C_i x̂_i x̂_iᵀ) ŵ = 2 Σ_A C_i y_i x̂_i, approached by a line search that decreases P; it ends when A stops
changing (S. Keerthi, D. DeCoste, "A modified finite Newton method", JMLR 6, 2005). The intercept is not penalised.
With α_i = 2 C_i max(0, 1 − y_i f_i), the dual bound P ≥ Σα − ½‖Σ α_i y_i x_i‖² − Σ α_i²/(4C_i) gives the duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse.linalg as spl

Array = np.ndarray[Any, Any]
MOST, DIRECT = 100, 1500  # maximum steps; maximum columns for a direct solution of the linear system


@dataclass(frozen=True)
class NewtonResult:
    """A plane, its dual variables, the duality gap relative to P, and the number of steps."""

    w: Array
    b: float
    alpha: Array
    gap: float
    steps: int


def minimise_squared_hinge(X: Any, y: Array, C: Array, fit_intercept: bool) -> NewtonResult:
    """Solve for rows X (an array or CSR), sides y = ±1 and one C per row."""
    w, b = np.zeros(X.shape[1]), 0.0
    f = np.zeros(X.shape[0])
    value = _value(w, f, y, C)
    inside = np.ones(X.shape[0], dtype=bool)
    steps = 0
    while steps < MOST:
        steps += 1
        v, c = _quadratic(X[inside], y[inside], C[inside], fit_intercept, w)
        g = X @ v + c
        step = 1.0
        while (there := _value(w + step * (v - w), f + step * (g - f), y, C)) > value and step > 1e-10:
            step /= 2
        if there > value:
            break
        w, b, f, value = w + step * (v - w), b + step * (c - b), f + step * (g - f), there
        before, inside = inside, y * f < 1
        if step == 1.0 and np.array_equal(before, inside):
            break
    alpha = 2 * C * np.maximum(0.0, 1 - y * f)
    u = np.asarray(X.T @ (alpha * y)).ravel()
    dual = alpha.sum() - 0.5 * u @ u - (alpha * alpha / (4 * C)).sum()
    return NewtonResult(w, float(b), alpha, float(max(value - dual, 0.0) / max(value, 1e-300)), steps)


def _value(w: Array, f: Array, y: Array, C: Array) -> float:
    lack = np.maximum(0.0, 1 - y * f)
    return float(0.5 * w @ w + C @ (lack * lack))


def _quadratic(X: Any, y: Array, C: Array, fit_intercept: bool, start: Array) -> tuple[Array, float]:
    """The minimum of the quadratic of these rows."""
    d = X.shape[1]
    # b is eliminated by subtracting weighted means, which leaves a system in w alone.
    mass = C.sum()
    share = C / mass if fit_intercept and mass > 0 else np.zeros_like(C)
    mean, middle = np.asarray(share @ X, dtype=np.float64).ravel(), float(share @ y)
    right = 2 * (np.asarray(X.T @ (C * y)).ravel() - (mass * middle * mean if fit_intercept else 0.0))
    if d <= DIRECT:
        weighted = X.T @ (C[:, None] * X) if isinstance(X, np.ndarray) else (X.T @ X.multiply(C[:, None])).toarray()
        H = np.eye(d) + 2 * (
            np.asarray(weighted, dtype=np.float64) - (mass * np.outer(mean, mean) if fit_intercept else 0.0)
        )
        w = np.linalg.solve(H, right)
    else:

        def product(v: Array) -> Array:
            v = v.ravel()
            Xv = X @ v
            shift = mass * float(mean @ v) * mean if fit_intercept else 0.0
            return np.asarray(v + 2 * (X.T @ (C * Xv) - shift))

        H = spl.LinearOperator((d, d), matvec=product, dtype=np.float64)
        w = spl.cg(H, right, x0=start, rtol=1e-10, maxiter=2000)[0]
    return w, middle - float(mean @ w)
