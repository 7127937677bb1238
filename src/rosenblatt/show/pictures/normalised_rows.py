"""Label normalisation: rows multiplied by their labels, with a plane through the origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.show.pictures.drawing import (
    COLOURS,
    MARKERS,
    Display,
    frame_around,
    line_across,
    require_two_features,
    set_window,
)

Array = np.ndarray[Any, Any]


@dataclass
class NormalisedDisplay(Display):
    """Label normalisation: each row x becomes y·x, and a plane through the origin must have all of them on one side.

    Use `from_data` or `from_estimator`.

    Attributes
    ----------
    X, y : ndarray
    turned : ndarray
        y·x.
    coef : ndarray of shape (2,) or None
        The normal of the plane.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import NormalisedDisplay
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> NormalisedDisplay.from_data(X, y).turned
    array([[ 1.,  0.],
           [-0.,  1.],
           [ 0.,  1.],
           [ 1., -0.]])
    """

    X: Array
    y: Array
    turned: Array
    coef: Array | None

    @classmethod
    def from_data(cls, X: Any, y: Any, *, ax: Any = None) -> NormalisedDisplay:
        """Draw rows multiplied by their labels.

        Parameters
        ----------
        X : array-like of shape (n, 2)
        y : array-like of shape (n,)
            Labels of two classes; the larger counts as +1, the other as −1.
        ax : matplotlib axes, optional

        Returns
        -------
        NormalisedDisplay
        """
        return cls._of(X, y, None).plot(ax=ax)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> NormalisedDisplay:
        """Draw rows multiplied by their labels, and the plane of a model through the origin.

        Parameters
        ----------
        model : fitted classifier of two classes, without an intercept
        X : array-like of shape (n, 2)
        y : array-like of shape (n,)
        ax : matplotlib axes, optional

        Returns
        -------
        NormalisedDisplay
        """
        if np.any(model.intercept_):
            raise ValueError("Label normalisation needs a plane through the origin: fit with fit_intercept=False.")
        return cls._of(X, y, np.asarray(model.coef_, dtype=float)[0]).plot(ax=ax)

    @classmethod
    def _of(cls, X: Any, y: Any, coef: Array | None) -> NormalisedDisplay:
        rows, labels = require_two_features(X, "A picture of normalised rows"), np.asarray(y)
        classes = np.unique(labels)
        if classes.size != 2:
            raise ValueError(f"Rows are multiplied by labels of two classes; y has {classes.size}.")
        return cls(rows, labels, np.where(labels == classes[1], 1.0, -1.0)[:, None] * rows, coef)

    def _draw(self, ax: Any) -> None:
        frame = frame_around(np.vstack([self.X, self.turned, np.zeros((1, 2))]))
        for k, name in enumerate(np.unique(self.y)):
            mine = self.y == name
            style = {"color": COLOURS[k], "marker": MARKERS[k], "s": 45, "zorder": 3}
            ax.scatter(*self.turned[mine].T, edgecolor="white", label=f"y·x of class {name}", **style)
            if k == 0:
                ax.scatter(*self.X[mine].T, alpha=0.3, label=f"x of class {name}", **style)
                for x, z in zip(self.X[mine], self.turned[mine], strict=True):
                    ax.plot(*np.stack([x, z]).T, color=COLOURS[0], linewidth=0.7, linestyle=":")
        ax.plot(0, 0, color="black", marker="+", markersize=12)
        if self.coef is not None:
            ax.plot(*line_across(self.coef, 0.0, frame), color="black", linewidth=1.6, label="plane through the origin")
            wrong = int((self.turned @ self.coef <= 0).sum())
            ax.set_title(f"{wrong} of {len(self.y)} rows on the wrong side" if wrong else "all rows on one side")
        set_window(ax, frame)
        ax.legend(loc="best", fontsize="small")


def plot_normalised(X: Any, y: Any, *, ax: Any = None) -> Any:
    """Plot rows multiplied by their labels: a separating plane through the origin has all of them on one side.

    Parameters
    ----------
    X : array-like of shape (n, 2)
    y : array-like of shape (n,)
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import plot_normalised
    >>> plot_normalised([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]).get_xlabel()
    'x₁'
    """
    return NormalisedDisplay.from_data(X, y, ax=ax).ax_
