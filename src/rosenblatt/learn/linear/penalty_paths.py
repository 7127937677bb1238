"""Linear models with several L2 penalties at once, for rows with few features: each penalty has columns of one W.

Least squares are solved in the basis of the eigenvectors of the covariance matrix of the features, where every penalty
is a division. The log loss

    F_α(W, b) = Σ s_i ℓ_i/Σ s_i + α/2·‖W‖²          ℓ = ln(1 + e^−m), for many classes ln Σ e^f_k − f_y

has in this basis, with eigenvalues λ_j, a Hessian of at most cλ_j + α in direction j: c = 1/4 for two classes, 1/2 for
softmax (Böhning 1992). Measured in these units every direction has a curvature of at most 1, so that accelerated
gradient steps of size 1 converge without a line search, however correlated the features are. Momentum that points
uphill is reset (O'Donoghue and Candès 2015). An iteration is two matrix products for all penalties and folds.

D. Böhning, "Multinomial logistic regression algorithm", Ann. Inst. Statist. Math. 44, 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import expit

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class PrincipalRows:
    """Rows along the principal axes of their features, with a last column of ones for the bias."""

    Z: Array  # (n, axes + 1)
    eigenvalues: Array
    V: Array  # (d, axes)
    mean: Array
    share: Array  # of each row in the sum of weights

    @classmethod
    def of(cls, X: Array, weights: Array | None = None, dtype: Any = np.float64) -> PrincipalRows:
        """Dense rows and what each counts for; `dtype` is that of the descent."""
        share = np.full(X.shape[0], 1.0 / X.shape[0]) if weights is None else weights / weights.sum()
        mean = share @ X
        Y = X - mean
        eigenvalues, V = _principal_axes(Y * np.sqrt(share)[:, None])
        Z = np.ones((X.shape[0], V.shape[1] + 1), dtype)
        Z[:, :-1] = Y @ V
        return cls(Z, eigenvalues, V, mean, share)

    def planes(self, W: Array) -> tuple[Array, Array]:
        """The weights (columns, planes, d) and biases (columns, planes) of `W` (planes, columns, axes + 1)."""
        coef = W[..., :-1].swapaxes(0, 1) @ self.V.T
        return coef, W[..., -1].T - coef @ self.mean


def logistic_columns(
    rows: PrincipalRows,
    codes: Array,
    classes: int,
    alphas: Array,
    member: Array | None = None,
    start: Array | None = None,
    *,
    tol: float = 2e-3,
    iterations: int = 100,
) -> Array:
    """The weights (planes, columns, axes + 1) of columns, each with its own penalty and its own rows.

    `member` (columns, n) is True for the rows that each column learns from; None means all of them. Their covariance
    is at most that of all rows divided by their share of the weights, so that all columns share the axes. `start` is
    where they begin.
    A column stays where it is after a step no longer than tol, in the units above: the rows of one column do not decide
    how far another one goes.
    """
    Z, dtype = rows.Z, rows.Z.dtype
    planes, curve, A = (1, 0.25, alphas.size) if classes == 2 else (classes, 0.5, alphas.size)
    part = np.ones(A) if member is None else member @ rows.share
    share = (rows.share if member is None else member * (rows.share / part[:, None])).astype(dtype)
    penalty = np.repeat(alphas[:, None], Z.shape[1], axis=1)
    penalty[:, -1] = 0.0  # of the bias
    unit = (1.0 / np.sqrt(curve * np.append(rows.eigenvalues, 1.0) / part[:, None] + penalty)).astype(dtype)
    penalty = penalty.astype(dtype)
    truth = (codes == 1 if planes == 1 else codes == np.arange(classes)[:, None])[..., None, :].astype(dtype)
    here = np.zeros((planes, A, Z.shape[1]), dtype) if start is None else (start / unit).astype(dtype)
    ahead, t, done = here, np.ones(A, dtype), np.zeros(A, bool)
    for _ in range(iterations):
        W = ahead * unit
        slopes = (W.reshape(-1, Z.shape[1]) @ Z.T).reshape(planes, A, -1)
        slopes = expit(slopes, out=slopes) if planes == 1 else _softmax(slopes)
        slopes -= truth
        slopes *= share
        gradient = unit * ((slopes.reshape(planes * A, -1) @ Z).reshape(W.shape) + penalty * W)
        new = ahead - gradient
        move = new - here
        uphill = np.einsum("pad,pad->a", gradient, move) > 0
        following = np.where(uphill, 1.0, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2))).astype(dtype)
        new = np.where(done[:, None], here, new)
        pull = np.where(uphill | done, 0.0, (t - 1.0) / following).astype(dtype)
        here, ahead = new, new + pull[:, None] * move
        t = following
        done |= np.einsum("pad,pad->a", gradient, gradient) <= tol**2
        if done.all():
            break
    found: Array = here * unit
    return found


def logistic_path(
    X: Array, codes: Array, classes: int, alphas: Array, weights: Array | None = None, **accuracy: Any
) -> tuple[Array, Array]:
    """The weights (penalties, planes, d) and biases (penalties, planes); two classes have one plane."""
    rows = PrincipalRows.of(X, weights)
    return rows.planes(logistic_columns(rows, codes, classes, alphas, **accuracy))


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
    """The probabilities of classes, which are along the first axis, in place."""
    scores -= scores.max(axis=0)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=0)
    return scores


def _principal_axes(Y: Array) -> tuple[Array, Array]:
    """The eigenvalues of YᵀY and their eigenvectors; of more features than rows, those whose eigenvalue is not 0."""
    n, d = Y.shape
    if d <= n:
        eigenvalues, V = eigh(Y.T @ Y, driver="evd", check_finite=False)
        return np.maximum(eigenvalues, 0.0), V
    eigenvalues, U = eigh(Y @ Y.T, driver="evd", check_finite=False)
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    return eigenvalues[kept], Y.T @ (U[:, kept] / np.sqrt(eigenvalues[kept]))
