"""A unit, a layer or a network as a diagram, its weights as lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.learn.number_format import format_number
from rosenblatt.plot.drawing import COLOURS, Display

Array = np.ndarray[Any, Any]
MOST_UNITS = 24  # of a layer, drawn one by one
MOST_LABELLED = 30  # weights whose numbers are written


@dataclass(repr=False)
class NetworkDisplay(Display):
    """Layers of units from left to right, with a line for each weight: width |w|, colour its sign.

    Attributes
    ----------
    weights : list of ndarray of shape (from, to)
    biases : list of ndarray of shape (to,)
    names : (list of str, list of str)
        The names of the inputs and of the outputs.
    places : list of ndarray of shape (units, 2)
        Where the units of each layer are drawn, the inputs first.
    ax_, figure_ : set by `plot`
    """

    weights: list[Array]
    biases: list[Array]
    names: tuple[list[str], list[str]]
    places: list[Array]

    def _size(self) -> tuple[float, float]:
        return 2.2 + 2.4 * len(self.weights), 1.5 + 0.75 * max(map(len, self.places))

    def _draw(self, ax: Any) -> None:
        largest = max(max(float(np.abs(W).max(initial=0.0)) for W in self.weights), 1e-300)
        labelled = sum(W.size for W in self.weights) <= MOST_LABELLED
        for W, left, right in zip(self.weights, self.places, self.places[1:], strict=False):
            for i, j in np.ndindex(W.shape):
                colour = COLOURS[0] if W[i, j] > 0 else COLOURS[4]
                width = 0.3 + 4 * abs(W[i, j]) / largest
                ax.plot(*np.stack([left[i], right[j]]).T, color=colour, linewidth=width, alpha=0.75, zorder=1)
                if labelled:
                    at = left[i] + (0.26 + 0.16 * (j % 3)) * (right[j] - left[i])
                    back = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                    style = {"ha": "center", "va": "center", "fontsize": "small", "color": colour, "bbox": back}
                    ax.text(*at, format_number(round(float(W[i, j]), 2)), zorder=2, **style)
        for layer, places in enumerate(self.places):
            face = "white" if layer else "#eeeeee"
            ax.scatter(*places.T, s=900, facecolor=face, edgecolor="black", zorder=3)
            for j, place in enumerate(places):
                text = self.names[0][j] if not layer else format_number(round(float(self.biases[layer - 1][j]), 2))
                ax.text(*place, text, ha="center", va="center", fontsize="small", zorder=4)
        for place, name in zip(self.places[-1], self.names[1], strict=True):
            ax.annotate(name, place, xytext=(24, 0), textcoords="offset points", va="center")
        ax.set(xlim=(-0.35, len(self.weights) + 0.6), ylim=(-0.6, max(map(len, self.places)) - 0.4))
        ax.set_axis_off()
        ax.set_title("in each unit its bias; blue weights are positive, red ones negative", fontsize="small")


def network(model: Any, names: Any = None, *, ax: Any = None) -> NetworkDisplay:
    """Plot a unit, a layer or a network: units with their biases, and a line for each weight.

    Parameters
    ----------
    model : fitted MultilayerPerceptron, or fitted linear classifier
        A linear classifier is one unit, or a layer of one unit per class.
    names : sequence of str, optional
        The names of the features; x₁, x₂, … by default.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    NetworkDisplay

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot
    >>> display = plot.network(Perceptron.from_weights([3, 4], -12))
    >>> display.weights, display.biases
    ([array([[3.],
           [4.]])], [array([-12.])])
    """
    linear = hasattr(model, "coef_")
    weights = [np.atleast_2d(model.coef_).T] if linear else list(model.coefs_)
    biases = [np.atleast_1d(model.intercept_)] if linear else list(model.intercepts_)
    weights, biases = ([np.array(each, dtype=float) for each in parts] for parts in (weights, biases))
    sizes = [len(weights[0]), *(W.shape[1] for W in weights)]
    if max(sizes) > MOST_UNITS:
        raise ValueError(f"A diagram has at most {MOST_UNITS} units per layer; this network has {max(sizes)}.")
    given = (
        [f"x{''.join('₀₁₂₃₄₅₆₇₈₉'[int(d)] for d in str(j + 1))}" for j in range(sizes[0])] if names is None else names
    )
    if len(given) != sizes[0]:
        raise ValueError(f"{len(given)} names for {sizes[0]} features.")
    classes = [f"class {name}" for name in getattr(model, "classes_", ())]
    outputs = classes if len(classes) == sizes[-1] else classes[1:] if len(classes) == 2 else []
    outputs = outputs or [f"o{j + 1}" for j in range(sizes[-1])] if sizes[-1] > 1 else outputs or ["f"]
    top = max(sizes)
    places = [
        np.column_stack([np.full(n, float(layer)), (top - 1) / 2 + (n - 1) / 2 - np.arange(n)])
        for layer, n in enumerate(sizes)
    ]
    return NetworkDisplay(weights, biases, (list(map(str, given)), outputs), places).plot(ax=ax)
