"""The logistic curve from scores to probabilities, with rows placed by their score and label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.plot.drawing import COLOURS, MARKERS, Display
from rosenblatt.plot.margin_distribution import scored

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class LogisticDisplay(Display):
    """The logistic curve 1/(1 + e^−f), with rows placed by their score and label.

    Attributes
    ----------
    scores, labels : ndarray
        The score f of each row, and whether it is of the positive class.
    at, curve : ndarray
        The curve.
    positive : label
    ax_, figure_ : set by `plot`
    """

    scores: Array
    labels: Array
    at: Array
    curve: Array
    positive: Any

    def _draw(self, ax: Any) -> None:
        ax.plot(self.at, self.curve, color="black", linewidth=1.6, label="1/(1 + e^−f)")
        ax.axvline(0, color="black", linewidth=0.6)
        for k, (side, name) in enumerate(((False, "the other class"), (True, f"class {self.positive}"))):
            mine = self.scores[self.labels == side]
            style = {"color": COLOURS[k], "marker": MARKERS[k], "s": 40, "zorder": 3, "edgecolor": "white"}
            ax.scatter(mine, np.full(mine.size, float(side)), label=name, **style)
            told = 0.5 * (1 + np.tanh(mine / 2))
            ax.vlines(mine, np.minimum(told, side), np.maximum(told, side), color=COLOURS[k], linewidth=0.8, alpha=0.6)
        ax.set(xlabel="score f = w·x + b", ylabel=f"probability of class {self.positive}", ylim=(-0.06, 1.06))
        ax.legend(loc="center right", fontsize="small")


def logistic(model: Any = None, X: Any = None, y: Any = None, *, scores: Any = None, ax: Any = None) -> LogisticDisplay:
    """Plot the logistic curve, with rows placed by their score and label.

    Parameters
    ----------
    model : fitted classifier of two classes with a `decision_function`
        The model whose scores are drawn.
    X, y : rows and labels
        The rows to mark, with their labels.
    scores : array-like of shape (n,), optional
        The scores of the rows with labels `y`, of which the larger is positive; instead of `model` and `X`.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    LogisticDisplay

    Examples
    --------
    >>> from rosenblatt import LinearClassifier, plot
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> display = plot.logistic(LinearClassifier(solver="batch", alpha=0.1).fit(X, y), X, y)
    >>> display.labels
    array([False, False,  True,  True])
    >>> display.ax_.get_ylabel()
    'probability of class 1'
    """
    labels, found, classes = scored(model, X, y, scores)
    if classes.size != 2 or found.ndim != 1:
        raise ValueError(
            f"A logistic curve is drawn for two classes with one score per row; there are {classes.size} classes."
        )
    reach = max(6.0, 1.05 * float(np.abs(found).max()))
    at = np.linspace(-reach, reach, 401)
    curve = 0.5 * (1 + np.tanh(at / 2))
    return LogisticDisplay(found, labels == classes[1], at, curve, classes[1]).plot(ax=ax)
