"""The words with the largest weights in a text model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.plot.drawing import COLOURS, Display

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class WordsDisplay(Display):
    """The words with the largest weights for and against a class.

    Attributes
    ----------
    words : list of str
        From the most negative to the most positive.
    weights : ndarray
    label : the class
    ax_, figure_ : set by `plot`
    """

    words: list[str]
    weights: Array
    label: Any

    def _size(self) -> tuple[float, float]:
        return 6.0, max(2.5, 0.26 * len(self.words) + 1)

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.words))
        ax.barh(places, self.weights, color=[COLOURS[0] if weight > 0 else COLOURS[1] for weight in self.weights])
        ax.set_yticks(places, self.words)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set(xlabel=f"weight for class {self.label}", ylabel="word")


def words(model: Any, names: Any = None, *, label: Any = None, most: int = 10, ax: Any = None) -> WordsDisplay:
    """Plot the words with the largest weights in a text model.

    Parameters
    ----------
    model : fitted linear classifier
        The model whose weights are drawn.
    names : sequence of str, optional
        The word of each column, as `vectorizer.get_feature_names_out()` gives them; by default the names that the
        model was fitted with, or the numbers of the columns.
    label : optional
        The class; by default the positive one of two classes, required if there are more.
    most : int, default=10
        The most words for each sign.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    WordsDisplay

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot
    >>> model = Perceptron(order="cyclic").fit([[2.0, 0.0], [0.0, 1.0]], ["spam", "ham"])
    >>> display = plot.words(model, ["cheap", "lunch"])
    >>> display.words, str(display.label)
    (['lunch', 'cheap'], 'spam')
    """
    coef, classes = np.atleast_2d(model.coef_), list(model.classes_)
    if label is None:
        if len(coef) > 1:
            raise ValueError(f"Choose one of the classes with label=…: {classes}.")
        label = classes[-1]
    if label not in classes:
        raise ValueError(f"label={label!r} is not among {classes}.")
    weights = coef[classes.index(label)] if len(coef) > 1 else coef[0] * (1 if label == classes[-1] else -1)
    if names is None:
        names = getattr(model, "feature_names_in_", [f"column {j}" for j in range(weights.size)])
    names = list(names)
    if len(names) != weights.size:
        raise ValueError(f"names has {len(names)} words, the model {weights.size} columns.")
    order = np.argsort(weights, kind="stable")
    low = [j for j in order[:most] if weights[j] < 0]
    high = [j for j in order[-most:] if weights[j] > 0]
    chosen = [*low, *high]
    return WordsDisplay([str(names[j]) for j in chosen], weights[chosen], label).plot(ax=ax)
