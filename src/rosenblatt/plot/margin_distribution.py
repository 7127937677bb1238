"""The distribution of the margins of rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.plot.drawing import COLOURS, Display
from rosenblatt.prove.margins import margins as measured

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class MarginsDisplay(Display):
    """The cumulative distribution of margins: for each value, the share of rows whose margin is no larger.

    Attributes
    ----------
    margins : ndarray
        Sorted. The geometric margins of `rosenblatt.margins` if the model has one plane per class (one in all for two
        classes); else y·f for two classes and s_y − max s_r for more.
    shares : ndarray
    geometric : bool
    ax_, figure_ : set by `plot`
    """

    margins: Array
    shares: Array
    geometric: bool

    def _draw(self, ax: Any) -> None:
        ax.step(self.margins, self.shares, where="post", color=COLOURS[0])
        ax.axvline(0, color="black", linewidth=0.8)
        ax.axvspan(min(self.margins[0], 0), 0, color=COLOURS[4], alpha=0.15, label="on the wrong side")
        kind = "geometric margin" if self.geometric else "margin"
        ax.set(xlabel=kind, ylabel="share of rows up to this margin", ylim=(0, 1.02))
        ax.legend(loc="lower right")


def scored(model: Any, X: Any, y: Any, scores: Any) -> tuple[Array, Array, Array]:
    """Labels, scores and classes of rows: scored by a model, or with given scores, whose classes are those of y."""
    if y is None or (model is None) == (scores is None) or (model is None) != (X is None):
        raise ValueError("Rows have labels y, and their scores come from a model and X or are given as scores=.")
    if scores is not None:
        return np.asarray(y), np.asarray(scores, dtype=float), np.unique(np.asarray(y))
    found = np.asarray(model.decision_function(well_formed(X)), dtype=float)
    return np.asarray(y), found, np.asarray(model.classes_)


def functional_margins(labels: Array, scores: Array, classes: Array) -> Array:
    """y·f for two classes, s_y − max s_r for more."""
    if scores.ndim == 1:
        return np.where(labels == classes[-1], scores, -scores)
    codes, at = np.searchsorted(classes, labels), np.arange(labels.size)
    others = scores.copy()
    others[at, codes] = -np.inf
    return np.asarray(scores[at, codes] - others.max(axis=1))


def margins(model: Any = None, X: Any = None, y: Any = None, *, scores: Any = None, ax: Any = None) -> MarginsDisplay:
    """Plot the margin distribution of rows under a model.

    Parameters
    ----------
    model : fitted classifier with a `decision_function`
        The model whose margins are drawn.
    X : array-like or sparse matrix of shape (n, d)
        The rows whose margins are wanted.
    y : array-like of shape (n,)
        Their labels.
    scores : array-like of shape (n,) or (n, K), optional
        The scores of the rows, instead of `model` and `X`. The labels in `y`, in sorted order, belong to its columns,
        or are the negative and the positive class.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    MarginsDisplay

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> display = plot.margins(Perceptron(fit_intercept=False, order="cyclic").fit(X, y), X, y)
    >>> display.margins.round(3)
    array([0.707, 0.707, 0.707, 0.707])
    >>> display.ax_.get_xlabel()
    'geometric margin'
    """
    geometric = False
    if model is not None and scores is None:
        planes = (1 if len(model.classes_) <= 2 else len(model.classes_), model.n_features_in_)
        geometric = np.shape(getattr(model, "coef_", ())) == planes
    found = measured(model, X, y).geometric if geometric else functional_margins(*scored(model, X, y, scores))
    shares = np.arange(1, found.size + 1) / found.size
    return MarginsDisplay(np.sort(found), shares, geometric).plot(ax=ax)
