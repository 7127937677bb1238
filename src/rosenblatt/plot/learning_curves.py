"""Errors on training and test rows, against passes over the rows or against their number."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.plot.drawing import COLOURS, Display, count_in_whole_numbers

Array = np.ndarray[Any, Any]
FRACTIONS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(repr=False)
class LearningDisplay(Display):
    """The share of wrong rows among those learned from and among test rows.

    Attributes
    ----------
    against : str
        "passes" or "rows".
    counts : ndarray
        The passes made, or the rows learned from.
    training, test : ndarray
        The errors after each, as shares.
    ax_, figure_ : set by `plot`
    """

    against: str
    counts: Array
    training: Array
    test: Array

    def _draw(self, ax: Any) -> None:
        style = {"markersize": 5, "linewidth": 1.5}
        ax.plot(self.counts, self.test, color=COLOURS[4], marker="s", label="test rows", **style)
        ax.plot(self.counts, self.training, color=COLOURS[0], marker="o", label="training rows", **style)
        ax.set(xlabel="passes" if self.against == "passes" else "training rows", ylabel="error", ylim=(0, None))
        count_in_whole_numbers(ax.xaxis)
        ax.yaxis.set_major_formatter("{x:.0%}" if ax.get_ylim()[1] > 0.1 else "{x:.1%}")
        ax.legend()


def learning(
    model: Any, X: Any, y: Any, X_test: Any, y_test: Any, *, against: str = "passes", passes: int = 10, ax: Any = None
) -> LearningDisplay:
    """Plot training and test errors against passes (does it overfit?) or against rows (would more rows help?).

    Parameters
    ----------
    model : classifier with `partial_fit`
        It is copied, not changed.
    X, y : rows to learn from, and their labels
        Against rows, the first 2 % to 100 % of them are learned from; mix them first if they are sorted.
    X_test, y_test : test rows, and their labels
        The rows of the second curve.
    against : {"passes", "rows"}, default="passes"
        What is counted along the axis.
    passes : int, default=10
        How many passes are made.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    LearningDisplay

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot, teaching
    >>> X, y, _ = teaching.teacher(400, 5, margin=0.1, random_state=0)
    >>> seen = plot.learning(Perceptron(random_state=0), X[:200], y[:200], X[200:], y[200:], passes=3)
    >>> seen.counts, float(seen.training[-1])
    (array([1, 2, 3]), 0.0)
    """
    if against not in ("passes", "rows"):
        raise ValueError(f'against must be "passes" or "rows", got {against!r}.')
    labels, classes = np.asarray(y), np.unique(np.asarray(y))
    rows = well_formed(X)
    rows = rows.tocsr() if hasattr(rows, "tocsr") else np.asarray(rows)
    found: list[tuple[int, float, float]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = len(labels)
        for n in [whole] if against == "passes" else sorted({max(1, round(part * whole)) for part in FRACTIONS}):
            learner = clone(model)
            for made in range(1, passes + 1):
                learner.partial_fit(rows[:n], labels[:n], classes=classes)
                if against == "passes" or made == passes:
                    errors = 1 - learner.score(rows[:n], labels[:n]), 1 - learner.score(X_test, y_test)
                    found.append((made if against == "passes" else n, *errors))
    counts, training, test = map(np.array, zip(*found, strict=True))
    return LearningDisplay(against, counts, training, test).plot(ax=ax)
