"""The logistic curve from scores to probabilities, with rows placed by their score and label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.sparse_checks import well_formed
from rosenblatt.show.pictures.drawing import (
    COLOURS,
    MARKERS,
    Display,
)

Array = np.ndarray[Any, Any]


@dataclass
class LogisticDisplay(Display):
    """The logistic curve 1/(1 + e^−f), with rows placed by their score and label.

    Use `from_estimator` or `from_predictions`.

    Attributes
    ----------
    scores, labels : ndarray
        The score f of each row, and whether it is of the positive class.
    at, curve : ndarray
        The curve.
    positive : label
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import LinearClassifier, LogisticDisplay
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> model = LinearClassifier(solver="batch", alpha=0.1).fit(X, y)
    >>> LogisticDisplay.from_estimator(model, X, y).labels
    array([False, False,  True,  True])
    """

    scores: Array
    labels: Array
    at: Array
    curve: Array
    positive: Any

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> LogisticDisplay:
        """Draw the rows of a fitted classifier of two classes on the logistic curve.

        Parameters
        ----------
        model : fitted classifier of two classes with a `decision_function`
        X, y : rows and labels
        ax : matplotlib axes, optional

        Returns
        -------
        LogisticDisplay
        """
        return cls._of(np.asarray(y), model.decision_function(well_formed(X)), np.asarray(model.classes_)).plot(ax=ax)

    @classmethod
    def from_predictions(cls, y: Any, scores: Any, *, ax: Any = None) -> LogisticDisplay:
        """Draw scores on the logistic curve.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels of two classes; the larger is positive.
        scores : array-like of shape (n,)
        ax : matplotlib axes, optional

        Returns
        -------
        LogisticDisplay
        """
        return cls._of(np.asarray(y), scores, np.unique(np.asarray(y))).plot(ax=ax)

    @classmethod
    def _of(cls, labels: Array, scores: Any, classes: Array) -> LogisticDisplay:
        found = np.asarray(scores, dtype=float)
        if classes.size != 2 or found.ndim != 1:
            raise ValueError(
                f"A logistic curve is drawn for two classes with one score per row; there are {classes.size} classes."
            )
        reach = max(6.0, 1.05 * float(np.abs(found).max()))
        at = np.linspace(-reach, reach, 401)
        return cls(found, labels == classes[1], at, 0.5 * (1 + np.tanh(at / 2)), classes[1])

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


def plot_logistic(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Plot the logistic curve, with rows placed by their score and label.

    Parameters
    ----------
    model : fitted classifier of two classes with a `decision_function`
    X, y : rows and labels
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import LinearClassifier, plot_logistic
    >>> X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    >>> plot_logistic(LinearClassifier(solver="batch", alpha=0.1).fit(X, y), X, y).get_ylabel()
    'probability of class 1'
    """
    return LogisticDisplay.from_estimator(model, X, y, ax=ax).ax_
