"""The convex hulls of two classes: disjoint, with the widest plane between them, or intersecting, with a witness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from rosenblatt.plot.drawing import (
    COLOURS,
    Display,
    frame_around,
    legend_beside,
    line_across,
    require_two_features,
    scatter_by_class,
    set_window,
)
from rosenblatt.plot.verdict import Verdict, separability_verdict

Array = np.ndarray[Any, Any]


def hull_corners(points: Array) -> Array:
    """The corners of the convex hull of points in the plane, in order; the two ends if the points lie on a line."""
    distinct = np.unique(points, axis=0)
    try:
        return np.asarray(distinct[ConvexHull(distinct).vertices])
    except (QhullError, ValueError):
        if len(distinct) < 2:
            return distinct
        along = (distinct - distinct[0]) @ (distinct[-1] - distinct[0])
        return distinct[[int(along.argmin()), int(along.argmax())]]


@dataclass(repr=False)
class HullsDisplay(Display):
    """The convex hulls of two classes, and whether the classes are separable.

    Attributes
    ----------
    X, y : ndarray
    verdict : Verdict
    hulls : (ndarray, ndarray)
        The corners of each class's hull.
    crossing : ndarray or None
        A point in both hulls, if they intersect.
    ax_, figure_ : set by `plot`
    """

    X: Array
    y: Array
    verdict: Verdict
    hulls: tuple[Array, Array]
    crossing: Array | None

    def _draw(self, ax: Any) -> None:
        frame = frame_around(self.X)
        for k, corners in enumerate(self.hulls):
            ax.fill(*corners.T, facecolor=COLOURS[k], edgecolor=COLOURS[k], alpha=0.2, linewidth=1.5)
        scatter_by_class(ax, self.X, self.y, np.unique(self.y))
        if self.verdict.coef is not None and self.verdict.intercept is not None:
            w, b, margin = self.verdict.coef, self.verdict.intercept, self.verdict.margin or 0.0
            ax.plot(*line_across(w, b, frame), color="black", label="widest plane")
            for shift in (-margin, margin):
                ax.plot(*line_across(w, b + shift, frame), color="black", linewidth=0.8, linestyle="--")
        if self.crossing is not None:
            witness = self.X[list(self.verdict.rows)]
            ax.scatter(*witness.T, s=180, facecolor="none", edgecolor="black", zorder=4, label="witness rows")
            ax.scatter(
                *self.crossing, marker="x", s=120, color=COLOURS[4], linewidth=3, zorder=5, label="in both hulls"
            )
        set_window(ax, frame)
        ax.set_title(str(self.verdict))
        legend_beside(ax)


def common_point(X: Array, positive: Array, verdict: Verdict) -> Array | None:
    """A point in both hulls, from the witness of a verdict; None if there is no witness."""
    if verdict.separable or not verdict.rows:
        return None
    rows, weights = np.array(verdict.rows), np.array(verdict.weights)
    mine = positive[rows]
    total = weights[mine].sum()
    return np.asarray(weights[mine] @ X[rows[mine]] / total) if total > 0 else None


def hulls(X: Any, y: Any, *, ax: Any = None) -> HullsDisplay:
    """Plot the convex hulls of two classes: disjoint, or with rows that show that they cross.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        The rows to draw, with two features.
    y : array-like of shape (n,)
        Their labels.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    HullsDisplay
        Whether the two classes are separable, decided and proven, is its `verdict`.

    Examples
    --------
    >>> from rosenblatt import plot
    >>> display = plot.hulls([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
    >>> display.crossing
    array([0.5, 0.5])
    >>> display.ax_.get_title()
    'not separable: the hulls of rows 0, 1, 2, 3 cross'
    """
    rows, labels = require_two_features(X, "A picture of hulls"), np.asarray(y)
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"Hulls are drawn for two classes; y has {classes.size}.")
    verdict = separability_verdict(rows, labels)
    crossing = common_point(rows, labels == classes[1], verdict)
    corners = hull_corners(rows[labels == classes[0]]), hull_corners(rows[labels == classes[1]])
    return HullsDisplay(rows, labels, verdict, corners, crossing).plot(ax=ax)
