"""Linear models with several L2 penalties at once, for rows with few features: each penalty has columns of one W.

Least squares are solved in the basis of the eigenvectors of the covariance matrix of the features, where every penalty
is a division. The log loss

    F_α(W, b) = Σ s_i ℓ_i/Σ s_i + α/2·‖W‖²          ℓ = ln(1 + e^−m), for many classes ln Σ e^f_k − f_y

of centred rows with covariance Σ has a Hessian of at most H = cΣ + αI in the weights of a plane and c in its bias:
c = 1/4 for two classes, 1/2 for softmax (Böhning 1992). In the metric of H every direction has a curvature of at most
1, so that accelerated gradient steps W − G·H⁻¹ converge without a line search, however correlated the features are.
Momentum that points uphill is reset (O'Donoghue and Candès 2015). An iteration is two products with the rows for all
penalties and folds.

D. Böhning, "Multinomial logistic regression algorithm", Ann. Inst. Statist. Math. 44, 1992.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh, get_lapack_funcs

Array = np.ndarray[Any, Any]
NEAR = 8.0  # penalties within e^(1/8) of each other


@dataclass(frozen=True)
class CentredRows:
    """Rows less their mean, with a last column of ones for the bias; more features than rows are turned into axes."""

    Z: Array  # (n, axes + 1)
    covariance: Array  # (axes, axes)
    V: Array | None  # (d, axes); None: the axes are the features
    mean: Array
    share: Array  # of each row in the sum of weights

    @classmethod
    def of(cls, X: Array, weights: Array | None = None, dtype: Any = np.float64) -> CentredRows:
        """Dense rows and what each counts for; `dtype` is that of the descent."""
        n, d = X.shape
        share = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
        mean, V = share @ X, None
        Z = np.ones((n, min(d, n) + 1), dtype)
        if d <= n:
            np.subtract(X, mean, out=Z[:, :-1], casting="same_kind")
        else:
            Y = X - mean
            V = _principal_axes(Y * np.sqrt(share)[:, None])[1]
            Z = np.ones((n, V.shape[1] + 1), dtype)
            Z[:, :-1] = Y @ V
        scaled = Z[:, :-1] * np.sqrt(share, dtype=dtype)[:, None]
        return cls(Z, scaled.T @ scaled, V, mean, share)

    def planes(self, W: Array) -> tuple[Array, Array]:
        """The weights (columns, planes, d) and biases (columns, planes) of `W` (planes, columns, axes + 1)."""
        coef = W[..., :-1].swapaxes(0, 1)
        coef = coef if self.V is None else coef @ self.V.T
        return coef, W[..., -1].T - coef @ self.mean

    def columns(self, coef: Array, intercept: Array) -> Array:
        """The `W` of one column whose planes have these weights (planes, d) and biases (planes,)."""
        weights = coef if self.V is None else coef @ self.V
        return np.column_stack([weights, intercept + coef @ self.mean])[:, None]


def logistic_columns(
    rows: CentredRows,
    codes: Array,
    classes: int,
    alphas: Array,
    member: Array | None = None,
    start: Array | None = None,
    *,
    tol: float = 5e-3,
    iterations: int = 100,
) -> Array:
    """The weights (planes, columns, axes + 1) of columns, each with its own penalty and its own rows.

    `member` (columns, n) is True for the rows that each column learns from; None means all of them. Their covariance
    is at most that of all rows divided by their share of the weights, so that columns of one penalty share H. `start`
    is where they begin.
    A column stays where it is after a step no longer than tol, in the metric of H: the rows of one column do not decide
    how far another one goes.
    """
    Z, dtype = rows.Z, rows.Z.dtype
    planes, curve, A = (1, 0.25, alphas.size) if classes == 2 else (classes, 0.5, alphas.size)
    part = np.ones(A) if member is None else member @ rows.share
    share = (rows.share if member is None else member * (rows.share / part[:, None])).astype(dtype)
    scaled = _Metric.of(rows, alphas, curve / part)
    penalty = np.repeat(alphas[:, None], Z.shape[1], axis=1).astype(dtype)
    penalty[:, -1] = 0.0  # of the bias
    truth = (codes == 1 if planes == 1 else codes == np.arange(classes)[:, None])[..., None, :].astype(dtype)
    here = np.zeros((planes, A, Z.shape[1]), dtype) if start is None else start.astype(dtype)
    ahead, t, done = here, np.ones(A, dtype), np.zeros(A, bool)
    for _ in range(iterations):
        slopes = (ahead.reshape(-1, Z.shape[1]) @ Z.T).reshape(planes, A, -1)
        slopes = _sigmoid(slopes) if planes == 1 else _softmax(slopes)
        slopes -= truth
        slopes *= share
        gradient = (slopes.reshape(planes * A, -1) @ Z).reshape(ahead.shape) + penalty * ahead
        step = scaled(gradient)
        new = ahead - step
        move = new - here
        uphill = np.einsum("pad,pad->a", gradient, move) > 0
        following = np.where(uphill, 1.0, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2))).astype(dtype)
        new = np.where(done[:, None], here, new)
        pull = np.where(uphill | done, 0.0, (t - 1.0) / following).astype(dtype)
        here, ahead = new, new + pull[:, None] * move
        t = following
        done |= np.einsum("pad,pad->a", gradient, step) <= tol**2
        if done.all():
            break
    return here


@dataclass(frozen=True)
class _Metric:
    """The Cholesky factor of H for each penalty; columns whose penalties hardly differ share one."""

    factors: list[tuple[Array, Array]]  # columns, and the factor for their weights
    bias: Array  # the curvature of each column's bias
    solve: Any

    @classmethod
    def of(cls, rows: CentredRows, alphas: Array, curves: Array) -> _Metric:
        """Penalties, and the most that the loss curves in each column where rows have variance 1."""
        found, dtype = [], rows.Z.dtype
        close = np.round(NEAR * np.log(alphas))
        factor = get_lapack_funcs("potrf", dtype=np.float64)
        rounding = 4.0 * np.finfo(dtype).eps * np.trace(rows.covariance)  # H stays positive definite
        for one in np.unique(close):
            columns = np.flatnonzero(close == one)
            curve = curves[columns].max()
            H = curve * rows.covariance.astype(np.float64)
            H[np.diag_indices_from(H)] += alphas[columns].max() + curve * rounding
            found.append((columns, np.asfortranarray(factor(H, lower=1)[0], dtype)))
        found = found if len(rows.covariance) else []  # all features are constant
        return cls(found, curves.astype(dtype), get_lapack_funcs("potrs", dtype=dtype))

    def __call__(self, gradient: Array) -> Array:
        """The gradient (planes, columns, axes + 1) times H⁻¹."""
        step = gradient / self.bias[:, None]
        for columns, factor in self.factors:
            part = gradient[:, columns, :-1]
            solved = self.solve(factor, part.reshape(-1, len(factor)).T, lower=1)[0]
            step[:, columns, :-1] = solved.T.reshape(part.shape)
        return step


def ridge_path(X: Array, y: Array, alphas: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """The weights (penalties, 1, d) and biases (penalties, 1) of Σ s_i (f_i − y_i)²/2Σ s_i + α/2·‖w‖² for each α."""
    share = np.full(y.size, 1.0 / y.size) if weights is None else weights / weights.sum()
    mean, middle = share @ X, share @ y
    Z = X - mean
    eigenvalues, V = _principal_axes(Z * np.sqrt(share)[:, None])
    along = V.T @ (Z.T @ (share * (y - middle)))
    coef = (along / (eigenvalues + np.maximum(alphas, 1e-12 * eigenvalues.max(initial=1e-300))[:, None])) @ V.T
    return coef[:, None, :], (middle - coef @ mean)[:, None]


def _sigmoid(scores: Array) -> Array:
    """The probabilities of the second of two classes, in place."""
    with np.errstate(over="ignore"):  # 1/(1 + ∞) is right
        np.exp(np.negative(scores, out=scores), out=scores)
    scores += 1.0
    return np.reciprocal(scores, out=scores)


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
