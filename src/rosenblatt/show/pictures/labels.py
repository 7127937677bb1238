"""Rows multiplied by their labels, and the logistic curve from scores to probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.sparse_checks import well_formed
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
