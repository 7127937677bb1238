"""The distribution of the margins of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.sparse_checks import well_formed
from rosenblatt.prove.margins import margins as measured
from rosenblatt.show.pictures.drawing import COLOURS, Display

Array = np.ndarray[Any, Any]


@dataclass
class MarginsDisplay(Display):
    """The cumulative distribution of margins: for each value, the share of rows whose margin is no larger.

    Use `from_estimator` or `from_predictions`.

    Attributes
    ----------
    margins : ndarray
        Sorted. The geometric margins of `rosenblatt.margins` if the model has one plane per class (one in all for two
        classes); else y·f for two classes and s_y − max s_r for more.
    shares : ndarray
    geometric : bool
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import MarginsDisplay, Perceptron
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(fit_intercept=False, order="cyclic").fit(X, y)
    >>> MarginsDisplay.from_estimator(model, X, y).margins.round(3)
    array([0.707, 0.707, 0.707, 0.707])
    """

    margins: Array
    shares: Array
    geometric: bool

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> MarginsDisplay:
        """Draw the margins of rows under a fitted classifier.

        Parameters
        ----------
        model : fitted classifier with a `decision_function`
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        ax : matplotlib axes, optional

        Returns
        -------
        MarginsDisplay
        """
        planes = (1 if len(model.classes_) <= 2 else len(model.classes_), model.n_features_in_)
        if np.shape(getattr(model, "coef_", ())) == planes:
            return cls._of(measured(model, X, y).geometric, True, ax)
        return cls._of(
            functional_margins(y, model.decision_function(well_formed(X)), np.asarray(model.classes_)), False, ax
        )

    @classmethod
    def from_predictions(cls, y: Any, scores: Any, *, ax: Any = None) -> MarginsDisplay:
        """Draw the margins of given scores.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels; in sorted order they belong to the columns of `scores`, or are the negative and the positive class.
        scores : array-like of shape (n,) or (n, K)
        ax : matplotlib axes, optional

        Returns
        -------
        MarginsDisplay
        """
        return cls._of(functional_margins(y, scores, np.unique(np.asarray(y))), False, ax)

    @classmethod
    def _of(cls, margins: Array, geometric: bool, ax: Any) -> MarginsDisplay:
        shares = np.arange(1, margins.size + 1) / margins.size
        return cls(np.sort(margins), shares, geometric).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.step(self.margins, self.shares, where="post", color=COLOURS[0])
        ax.axvline(0, color="black", linewidth=0.8)
        ax.axvspan(min(self.margins[0], 0), 0, color=COLOURS[4], alpha=0.15, label="on the wrong side")
        kind = "geometric margin" if self.geometric else "margin"
        ax.set(xlabel=kind, ylabel="share of rows up to this margin", ylim=(0, 1.02))
        ax.legend(loc="lower right")


def functional_margins(y: Any, scores: Any, classes: Array) -> Array:
    """y·f for two classes, s_y − max s_r for more."""
    labels, found = np.asarray(y), np.asarray(scores, dtype=float)
    if found.ndim == 1:
        return np.where(labels == classes[-1], found, -found)
    codes, at = np.searchsorted(classes, labels), np.arange(labels.size)
    others = found.copy()
    others[at, codes] = -np.inf
    return np.asarray(found[at, codes] - others.max(axis=1))


def plot_margins(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Plot the margin distribution of rows under a model.

    Parameters
    ----------
    model : fitted classifier with a `decision_function`
    X, y : rows and labels
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot_margins
    >>> X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    >>> plot_margins(Perceptron(random_state=0).fit(X, y), X, y).get_xlabel()
    'geometric margin'
    """
    return MarginsDisplay.from_estimator(model, X, y, ax=ax).ax_
