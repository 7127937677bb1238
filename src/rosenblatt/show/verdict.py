"""Whether a plane separates two classes, for pictures: the widest one, or rows whose hulls cross.

Where `rosenblatt` has its proofs, they decide. Otherwise one non-negative least squares problem does, to rounding: of
min ‖w‖ with y_i(w·x_i + b) ≥ 1, in the form of Lawson and Hanson's least distance programming. A residual of zero
means that no such w exists, and the solution is then a witness λ ≥ 0 with Σ λ_i y_i (x_i, 1) = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

import rosenblatt

Array = np.ndarray[Any, Any]
FLAT = 1e-9  # a residual below this is zero
FREE = 1e4  # the bias feature, in units of R: large, so that b costs next to nothing


@dataclass(frozen=True)
class Verdict:
    """Whether rows of two classes can be separated, and what shows it.

    Attributes
    ----------
    separable : bool
    margin : float or None
        Of the widest plane.
    coef, intercept : ndarray and float, or None
        The widest plane, w of length 1.
    support : tuple of int
        Rows on the margin of the widest plane.
    rows : tuple of int
        Of rows that cannot be separated, a few whose hulls cross.
    weights : tuple of float
        How the crossing point is mixed from `rows`; they sum to 1, one half for each class (with a free bias).
    proven : bool
        Whether an exact certificate stands behind it.
    """

    separable: bool
    margin: float | None = None
    coef: Array | None = None
    intercept: float | None = None
    support: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    proven: bool = False

    def __str__(self) -> str:
        """The verdict in words."""
        if self.separable:
            return f"separable, with a margin of {self.margin:.4g}"
        named = ", ".join(str(row) for row in self.rows)
        return f"not separable: the hulls of rows {named} cross"


def look(X: Any, y: Any, fit_intercept: bool = True) -> Verdict:
    """The verdict about two classes; the larger label is positive.

    >>> look([[0.0], [1.0], [3.0]], [0, 0, 1]).margin
    1.0
    >>> print(look([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]))
    not separable: the hulls of rows 0, 1, 2, 3 cross
    """
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    signs = np.where(y == np.unique(y)[-1], 1.0, -1.0)
    if hasattr(rosenblatt, "separability") and hasattr(rosenblatt, "max_margin"):
        return _proven(X, y, signs, fit_intercept)
    return _computed(X, signs, fit_intercept)


def _proven(X: Array, y: Array, signs: Array, fit_intercept: bool) -> Verdict:
    verdict = rosenblatt.separability(X, y, fit_intercept=fit_intercept)
    if not verdict.separable and verdict.rows is None:  # too wide to be decided: nothing is proven
        return _computed(X, signs, fit_intercept)
    if not verdict.separable:
        weights = np.array([float(weight) for weight in verdict.weights])
        return Verdict(False, rows=verdict.rows, weights=tuple(weights / weights.sum()), proven=True)
    widest = rosenblatt.max_margin(X, y, fit_intercept=fit_intercept)
    w, b = np.asarray(widest.coef, dtype=np.float64).ravel(), float(widest.intercept)
    return _separated(X, signs, w, b, proven=True)


def _computed(X: Array, signs: Array, fit_intercept: bool) -> Verdict:
    n, d = X.shape
    scale = float(np.sqrt((X**2).sum(axis=1).max())) or 1.0
    Z = signs[:, None] * (np.column_stack([X / scale, np.full(n, FREE)]) if fit_intercept else X / scale)
    target = np.append(np.zeros(Z.shape[1]), 1.0)
    weights, _ = nnls(np.vstack([Z.T, np.ones(n)]), target)
    residual = np.vstack([Z.T, np.ones(n)]) @ weights - target
    w = residual[:d] / -residual[-1] if abs(residual[-1]) > FLAT else np.zeros(d)
    if fit_intercept and w.any():
        f = X @ w
        b = -(f[signs > 0].min() + f[signs < 0].max()) / 2
    else:
        b = 0.0
    if w.any() and (signs * (X @ w + b)).min() > 0:
        return _separated(X, signs, w, float(b))
    rows = np.flatnonzero(weights > FLAT * weights.max())
    shares = weights[rows] / weights[rows].sum()
    return Verdict(False, rows=tuple(int(row) for row in rows), weights=tuple(float(share) for share in shares))


def _separated(X: Array, signs: Array, w: Array, b: float, proven: bool = False) -> Verdict:
    length = float(np.linalg.norm(w))
    distances = signs * (X @ w + b) / length
    margin = float(distances.min())
    on = np.flatnonzero(distances <= margin * (1 + 1e-5) + 1e-12)
    return Verdict(True, margin, w / length, b / length, tuple(int(row) for row in on), proven=proven)
