"""A regression line with its residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.number_format import format_number
from rosenblatt.plot.drawing import COLOURS, Display, legend_beside

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class ResidualsDisplay(Display):
    """Rows of one feature, the prediction as a line, and the residual of each row.

    Attributes
    ----------
    x, y : ndarray of shape (n,)
    predicted : ndarray of shape (n,)
    residuals : ndarray of shape (n,)
        y − f.
    line : (ndarray, ndarray)
        The prediction over the range of x.
    ax_, figure_ : set by `plot`
    """

    x: Array
    y: Array
    predicted: Array
    residuals: Array
    line: tuple[Array, Array]

    def _draw(self, ax: Any) -> None:
        ax.plot(*self.line, color="black", linewidth=1.6, label="prediction f")
        ax.vlines(self.x, self.predicted, self.y, color=COLOURS[4], linewidth=1.5, label="residual y − f")
        ax.scatter(self.x, self.y, s=45, color=COLOURS[0], edgecolor="white", zorder=3, label="rows")
        ax.set(xlabel="x", ylabel="y")
        ax.set_title(f"mean squared residual {format_number(float(np.square(self.residuals).mean()))}")
        legend_beside(ax)


def residuals(model: Any, X: Any, y: Any, *, ax: Any = None) -> ResidualsDisplay:
    """Plot a regression on one feature: the rows, the line and the residuals.

    Parameters
    ----------
    model : fitted regressor
        What draws the line.
    X : array-like of shape (n, 1)
        The rows.
    y : array-like of shape (n,)
        Their numbers.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ResidualsDisplay

    Examples
    --------
    >>> from rosenblatt import LinearRegressor, plot
    >>> X, y = [[0], [1], [2]], [1, 3, 4]
    >>> plot.residuals(LinearRegressor(penalty=None, solver="batch").fit(X, y), X, y).residuals.round(2)
    array([-0.17,  0.33, -0.17])
    """
    rows = np.asarray(well_formed(X).toarray() if hasattr(X, "toarray") else X, dtype=float)
    numbers = np.asarray(y, dtype=float)
    if rows.ndim != 2 or rows.shape[1] != 1:
        raise ValueError(f"Residuals are drawn for rows of one feature; X has shape {rows.shape}.")
    predicted = np.asarray(model.predict(rows), dtype=float)
    at = np.linspace(rows.min(), rows.max(), 200)
    curve = np.asarray(model.predict(at[:, None]), dtype=float)
    return ResidualsDisplay(rows[:, 0], numbers, predicted, numbers - predicted, (at, curve)).plot(ax=ax)
