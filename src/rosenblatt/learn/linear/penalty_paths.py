"""Linear models with several L2 penalties at once, for rows with few features: each penalty has columns of one W.

Least squares are solved in the basis of the eigenvectors of the covariance matrix of the features, where every penalty
is a division. The log loss

    F_α(W, b) = Σ s_i ℓ_i/Σ s_i + α/2·‖W‖²          ℓ = ln(1 + e^−m), for many classes ln Σ e^f_k − f_y

has in this basis, with eigenvalues λ_j, a Hessian of at most cλ_j + α in direction j: c = 1/4 for two classes, 1/2 for
softmax (Böhning 1992). Measured in these units every direction has a curvature of at most 1, so that accelerated
gradient steps of size 1 converge without a line search, however correlated the features are. Momentum that points
uphill is reset (O'Donoghue and Candès 2015). An iteration is two matrix products for all penalties.

D. Böhning, "Multinomial logistic regression algorithm", Ann. Inst. Statist. Math. 44, 1992.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import expit

Array = np.ndarray[Any, Any]


def logistic_path(
    X: Array,
    codes: Array,
    classes: int,
    alphas: Array,
    weights: Array | None = None,
    *,
    tol: float = 2e-3,
    iterations: int = 100,
) -> tuple[Array, Array]:
    """The weights (penalties, planes, d) and biases (penalties, planes) for each penalty; two classes have one plane.

    Iterations end when no step is longer than tol, in the units above.
    """
    n, d = X.shape
    planes, curve, A = (1, 0.25, alphas.size) if classes == 2 else (classes, 0.5, alphas.size)
    share = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    mean = share @ X
    Z = X - mean
    eigenvalues, V = _principal_axes(Z * np.sqrt(share)[:, None])
    Z = Z @ V
    d = V.shape[1]
    alpha = alphas[None, :, None]
    unit = 1.0 / np.sqrt(curve * eigenvalues[:, None, None] + alpha)  # (d, A, 1)
    by_bias = 1.0 / np.sqrt(curve)
    truth = (codes == 1)[:, None, None] if planes == 1 else (codes[:, None] == np.arange(classes))[:, None, :]
    here = ahead = np.zeros((d + 1, A, planes))
    t = np.ones(A)
    for _ in range(iterations):
        W = ahead[:-1] * unit
        scores = (Z @ W.reshape(d, A * planes)).reshape(n, A, planes) + by_bias * ahead[-1]
        slopes = (expit(scores) if planes == 1 else _softmax(scores)) - truth
        slopes *= share[:, None, None]
        gradient = np.empty_like(ahead)
        gradient[:-1] = unit * ((Z.T @ slopes.reshape(n, A * planes)).reshape(W.shape) + alpha * W)
        gradient[-1] = by_bias * slopes.sum(axis=0)
        new = ahead - gradient
        uphill = (gradient * (new - here)).sum(axis=(0, 2)) > 0
        following = np.where(uphill, 1.0, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2)))
        far = np.where(uphill, 0.0, (t - 1.0) / following)[:, None]
        here, ahead, t = new, new + far * (new - here), following
        if np.einsum("dap,dap->a", gradient, gradient).max() <= tol**2:
            break
    coef = np.einsum("jd,dap->apj", V, here[:-1] * unit)
    intercept: Array = by_bias * here[-1] - coef @ mean
    return coef, intercept


def ridge_path(X: Array, y: Array, alphas: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """The weights (penalties, 1, d) and biases (penalties, 1) of Σ s_i (f_i − y_i)²/2Σ s_i + α/2·‖w‖² for each α."""
    share = np.full(y.size, 1.0 / y.size) if weights is None else weights / weights.sum()
    mean, middle = share @ X, share @ y
    Z = X - mean
    eigenvalues, V = _principal_axes(Z * np.sqrt(share)[:, None])
    along = V.T @ (Z.T @ (share * (y - middle)))
    coef = (along / (eigenvalues + np.maximum(alphas, 1e-12 * eigenvalues.max(initial=1e-300))[:, None])) @ V.T
    return coef[:, None, :], (middle - coef @ mean)[:, None]


def _softmax(scores: Array) -> Array:
    scores -= scores.max(axis=2, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=2, keepdims=True)
    return scores


def _principal_axes(Y: Array) -> tuple[Array, Array]:
    """The eigenvalues of YᵀY and their eigenvectors; of more features than rows, those whose eigenvalue is not 0."""
    n, d = Y.shape
    if d <= n:
        eigenvalues, V = eigh(Y.T @ Y, check_finite=False)
        return np.maximum(eigenvalues, 0.0), V
    eigenvalues, U = eigh(Y @ Y.T, check_finite=False)
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    return eigenvalues[kept], Y.T @ (U[:, kept] / np.sqrt(eigenvalues[kept]))
