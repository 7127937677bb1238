"""The decision regions of a model over two features, with its plane, margins and slack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.plot.drawing import (
    COLOURS,
    GRID,
    Display,
    frame_around,
    legend_beside,
    line_across,
    require_two_features,
    scatter_by_class,
    set_window,
)

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class RegionsDisplay(Display):
    """The decision regions of a model over two features, with its plane, its margin and the rows on the margin.

    Attributes
    ----------
    X, y : ndarray
    classes : ndarray
    grid : (ndarray, ndarray)
        The values of x₁ and x₂ at which the model is evaluated.
    codes : ndarray of shape (GRID, GRID)
        The class predicted at each point, as an index into `classes`.
    coef, intercept : ndarray or None
        The planes, if the model has any.
    margin : float or None
        Geometric margin of two classes, negative if a row is on the wrong side.
    support : ndarray of int
        Rows at the margin.
    slack : ndarray or None
        max(0, 1 − y·f) of each row, if requested.
    ax_, figure_ : set by `plot`
    """

    X: Array
    y: Array
    classes: Array
    grid: tuple[Array, Array]
    codes: Array
    coef: Array | None
    intercept: Array | None
    margin: float | None
    support: Array
    slack: Array | None = None

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import ListedColormap

        across, up = self.grid
        colours = ListedColormap([COLOURS[k % 8] for k in range(max(2, self.classes.size))])
        ax.pcolormesh(
            across, up, self.codes, cmap=colours, vmin=0, vmax=colours.N - 1, alpha=0.18, shading="nearest", zorder=0,
            rasterized=True,
        )  # fmt: skip
        frame = (across[0], across[-1], up[0], up[-1])
        if self.coef is not None and self.intercept is not None and len(self.coef) == 1:
            w, b = self.coef[0], float(self.intercept[0])
            ax.plot(*line_across(w, b, frame), color="black", linewidth=1.6, label="plane")
            if self.slack is not None:
                self._draw_slack(ax, w, b, frame)
            elif self.margin is not None and self.margin > 0:
                reach = self.margin * float(np.linalg.norm(w))
                for shift in (-reach, reach):
                    ax.plot(*line_across(w, b + shift, frame), color="black", linewidth=0.9, linestyle="--")
                held = self.X[self.support]
                ax.scatter(
                    held[:, 0], held[:, 1], s=160, facecolor="none", edgecolor="black", label="at the margin", zorder=4
                )
        scatter_by_class(ax, self.X, self.y, self.classes)
        set_window(ax, frame)
        legend_beside(ax)
        if self.slack is not None:
            ax.set_title(f"{np.count_nonzero(self.slack)} rows short of y·f = 1, by {self.slack.sum():.4g} in all")
        elif self.margin is not None:
            ax.set_title(f"margin {self.margin:.4g}" if self.margin > 0 else "rows on the wrong side")

    def _draw_slack(self, ax: Any, w: Array, b: float, frame: Any) -> None:
        """Draw the lines y·f = 1, and from each row the distance by which it falls short of its line."""
        assert self.slack is not None
        for side in (-1.0, 1.0):
            ax.plot(*line_across(w, b + side, frame), color="black", linewidth=0.9, linestyle="--")
        sides = np.where(self.y == self.classes[1], 1.0, -1.0)
        ends = self.X + (sides * self.slack)[:, None] * w / (w @ w)
        label = "slack ξ"
        for row in np.flatnonzero(self.slack):
            pair = np.stack([self.X[row], ends[row]])
            ax.plot(pair[:, 0], pair[:, 1], color=COLOURS[4], linewidth=1.5, zorder=2, label=label)
            label = "_"


def regions(model: Any, X: Any, y: Any, *, slack: bool = False, ax: Any = None) -> RegionsDisplay:
    """Plot the decision regions of a model over two features, with its plane, its margin and the rows on the margin.

    Parameters
    ----------
    model : fitted classifier
        The model whose regions are drawn.
    X : array-like of shape (n, 2)
        The rows to draw, with two features.
    y : array-like of shape (n,)
        Their labels.
    slack : bool, default=False
        Instead of the margin, draw the lines y·f = 1 of the soft margin and the slack of each row that falls short
        of its line; for one plane between two classes.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    RegionsDisplay

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> display = plot.regions(Perceptron(fit_intercept=False, order="cyclic").fit(X, y), X, y)
    >>> round(display.margin, 4), display.support
    (0.7071, array([0, 1, 2, 3]))
    >>> display.ax_.get_title()
    'margin 0.7071'
    """
    rows, labels = require_two_features(X, "A picture of regions"), np.asarray(y)
    left, right, bottom, top = frame_around(rows)
    across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    points = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    classes = np.asarray(model.classes_)
    codes = np.searchsorted(classes, model.predict(points)).reshape(GRID, GRID)
    coef, intercept, margin, support = None, None, None, np.zeros(0, dtype=int)
    if hasattr(model, "coef_") and np.atleast_2d(model.coef_).shape[1] == 2:
        coef, intercept = np.atleast_2d(model.coef_).astype(float), np.atleast_1d(model.intercept_).astype(float)
        if len(coef) == 1 and classes.size == 2 and coef.any():
            sides = np.where(labels == classes[1], 1.0, -1.0)
            distances = sides * (rows @ coef[0] + intercept[0]) / np.linalg.norm(coef[0])
            margin = float(distances.min())
            support = np.flatnonzero(distances <= margin + 1e-6 * max(1.0, abs(margin)))
    short = None
    if slack:
        if margin is None or coef is None or intercept is None:
            raise ValueError("Slack is drawn for one plane between two classes.")
        short = np.maximum(0.0, 1.0 - sides * (rows @ coef[0] + intercept[0]))
    shown = RegionsDisplay(rows, labels, classes, (across, up), codes, coef, intercept, margin, support, short)
    return shown.plot(ax=ax)
