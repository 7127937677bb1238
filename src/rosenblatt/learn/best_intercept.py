"""The best intercept of a plane whose weights are given, and the constraint that it puts on dual variables."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def best_intercept(f: Array, positive: Array, caps: Array, squared: bool) -> float:
    """The b that minimises Σ C_i ξ_i or Σ C_i ξ_i², where y_i f_i are the margins without it.

    A row's loss begins at b = y_i − f_i, for positive rows below it, for negative ones above. Rows of one side leave b
    open: it is 1 beyond all of these.

    >>> best_intercept(np.array([1.0, -3.0]), np.array([True, False]), np.ones(2), False)
    1.0
    """
    kinks = np.where(positive, 1.0, -1.0) - f
    order = np.argsort(kinks, kind="stable")
    t, C, plus = kinks[order], caps[order], positive[order]
    if plus.all() or not plus.any():
        return float(t[-1] + 1.0 if plus.any() else t[0] - 1.0)
    if not squared:  # the slope is −Σ C of positive rows at first, and grows by C_i at each kink
        slope = np.cumsum(C) - C[plus].sum()
        k = min(int(np.searchsorted(slope, 0.0)), t.size - 1)
        flat = slope[k] == 0.0 and k + 1 < t.size
        return float(0.5 * (t[k] + t[k + 1]) if flat else t[k])
    above, below = np.where(plus, C, 0.0), np.where(plus, 0.0, C)
    mass = above.sum() - np.cumsum(above) + np.cumsum(below)  # of the rows with a loss just above t_k
    sums = (above * t).sum() - np.cumsum(above * t) + np.cumsum(below * t)
    k = max(int(np.searchsorted(mass * t - sums >= 0.0, True)) - 1, 0)
    return float(sums[k] / mass[k]) if mass[k] > 0 else float(t[k])


def even_sides(alpha: Array, positive: Array) -> Array:
    """α whose sum is the same on both sides of each column, (n, K): those of the heavier side are scaled down."""
    sums = [np.where(side, alpha, 0.0).sum(axis=0) for side in (positive, ~positive)]
    least = np.minimum(*sums)
    shrink = [np.divide(least, total, out=np.ones_like(total), where=total > 0) for total in sums]
    return np.asarray(alpha * np.where(positive, *shrink))
