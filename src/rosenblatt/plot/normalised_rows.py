"""Label normalisation: rows multiplied by their labels, with a plane through the origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.plot.drawing import (
    COLOURS,
    MARKERS,
    Display,
    frame_around,
    legend_beside,
    line_across,
    require_two_features,
    set_window,
)

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class NormalisedDisplay(Display):
    """Label normalisation: each row x becomes y·x, and a plane through the origin must have all of them on one side.

    Attributes
    ----------
    X, y : ndarray
    turned : ndarray
        y·x.
    coef : ndarray of shape (2,) or None
        The normal of the plane.
    ax_, figure_ : set by `plot`
    """

    X: Array
    y: Array
    turned: Array
    coef: Array | None

    def _draw(self, ax: Any) -> None:
        frame = frame_around(np.vstack([self.X, self.turned, np.zeros((1, 2))]))
        for k, name in enumerate(np.unique(self.y)):
            mine = self.y == name
            style = {"marker": MARKERS[k], "zorder": 3}
            if k == 1:
                ax.scatter(
                    *self.X[mine].T, color=COLOURS[1], s=45, edgecolor="white", label=f"x of class {name}", **style
                )
            else:  # turned rows are rings, so that a row at the same place is seen inside
                ring = {**style, "s": 170, "facecolor": "none", "edgecolor": COLOURS[0], "linewidth": 2}
                ax.scatter(*self.turned[mine].T, label=f"−x of class {name}", **ring)
                ax.scatter(*self.X[mine].T, color=COLOURS[0], s=45, alpha=0.3, label=f"x of class {name}", **style)
                for x, z in zip(self.X[mine], self.turned[mine], strict=True):
                    ax.plot(*np.stack([x, z]).T, color=COLOURS[0], linewidth=0.7, linestyle=":")
        ax.plot(0, 0, color="black", marker="+", markersize=12)
        if self.coef is not None:
            ax.plot(*line_across(self.coef, 0.0, frame), color="black", linewidth=1.6, label="plane")
            wrong = int((self.turned @ self.coef <= 0).sum())
            ax.set_title(f"{wrong} of {len(self.y)} rows on the wrong side" if wrong else "all rows on one side")
        set_window(ax, frame)
        legend_beside(ax)


def normalised(X: Any, y: Any, *, model: Any = None, ax: Any = None) -> NormalisedDisplay:
    """Plot rows multiplied by their labels: a separating plane through the origin has all of them on one side.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        The rows to draw, with two features.
    y : array-like of shape (n,)
        Labels of two classes; the larger counts as +1, the other as −1.
    model : fitted classifier of two classes, without an intercept, optional
        Its plane is drawn too.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    NormalisedDisplay

    Examples
    --------
    >>> from rosenblatt import plot
    >>> plot.normalised([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]).turned
    array([[ 1.,  0.],
           [-0.,  1.],
           [ 0.,  1.],
           [ 1., -0.]])
    """
    if model is not None and np.any(model.intercept_):
        raise ValueError("Label normalisation needs a plane through the origin: fit with fit_intercept=False.")
    rows, labels = require_two_features(X, "A picture of normalised rows"), np.asarray(y)
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"Rows are multiplied by labels of two classes; y has {classes.size}.")
    turned = np.where(labels == classes[1], 1.0, -1.0)[:, None] * rows
    coef = None if model is None else np.asarray(model.coef_, dtype=float)[0]
    return NormalisedDisplay(rows, labels, turned, coef).plot(ax=ax)
