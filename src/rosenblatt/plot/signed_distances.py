"""A plane with its normal, and the signed distances of points from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.learn.number_format import format_number, format_vector
from rosenblatt.plot.drawing import (
    COLOURS,
    Display,
    frame_around,
    legend_beside,
    line_across,
    require_two_features,
    set_window,
)
from rosenblatt.prove.margins import margins

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class PlaneDisplay(Display):
    """A plane, its unit normal, and the perpendiculars from points with their signed distances.

    Attributes
    ----------
    coef : ndarray of shape (2,)
    intercept : float
    X : ndarray of shape (n, 2)
        The points; the first is the origin.
    feet : ndarray of shape (n, 2)
        The nearest points of the plane.
    distances : ndarray of shape (n,)
        f(x)/‖w‖; that of the origin is b/‖w‖.
    ax_, figure_ : set by `plot`
    """

    coef: Array
    intercept: float
    X: Array
    feet: Array
    distances: Array

    def _size(self) -> tuple[float, float]:
        return 7.0, 4.5

    def _draw(self, ax: Any) -> None:
        unit = self.coef / np.linalg.norm(self.coef)
        start = self.feet.mean(axis=0)
        frame = frame_around(np.vstack([self.X, self.feet, start + unit]), room=0.25)
        ax.plot(*line_across(self.coef, self.intercept, frame), color="black", linewidth=1.6, label="w·x + b = 0")
        arrow = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.008, "zorder": 5}
        ax.quiver(*start, *unit, color=COLOURS[4], label="w/‖w‖, the unit normal", **arrow)
        size = 0.04 * max(frame[1] - frame[0], frame[3] - frame[2])
        for x, foot, distance in zip(self.X, self.feet, self.distances, strict=True):
            colour = COLOURS[1] if distance > 0 else COLOURS[0]
            ax.plot(*np.stack([x, foot]).T, color=colour, linewidth=1.5, zorder=2)
            across, back = size * np.array([-unit[1], unit[0]]), size * np.sign(distance) * unit
            ax.plot(*np.stack([foot + across, foot + across + back, foot + back]).T, color="#666666", linewidth=0.8)
            away = 6 * np.sign(across) * np.array([-1, -1])
            words = ("+" if distance > 0 else "") + format_number(distance)
            style = {"ha": "left" if away[0] > 0 else "right", "va": "center", "color": colour, "zorder": 6}
            ax.annotate(words, (x + foot) / 2, xytext=away, textcoords="offset points", **style)
        ax.scatter(*self.X[1:].T, s=45, color="black", zorder=4)
        ax.scatter(*self.feet.T, s=14, color="#666666", zorder=4, label="foot of the perpendicular")
        ax.plot(0, 0, color="black", marker="+", markersize=12)
        set_window(ax, frame)
        b, far = format_number(self.intercept), format_number(self.distances[0])
        ax.set_title(f"w = {format_vector(self.coef)}, b = {b}: r₀ = b/‖w‖ = {far}")
        legend_beside(ax)


def plane(model: Any, X: Any = (), *, ax: Any = None) -> PlaneDisplay:
    """Plot a plane over two features with its normal, and the signed distances of points and of the origin.

    A distance f(x)/‖w‖ is positive on the side to which w points; that of the origin is r₀ = b/‖w‖.

    Parameters
    ----------
    model : fitted linear classifier of two classes, WidestPlane or Separability
        What has the plane.
    X : array-like of shape (n, 2), optional
        Points. The origin is always drawn.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    PlaneDisplay

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot
    >>> display = plot.plane(Perceptron.from_weights([3, 4], -12), [[0, 4]])
    >>> display.distances, display.feet.round(2)
    (array([-2.4,  0.8]), array([[ 1.44,  1.92],
           [-0.48,  3.36]]))
    """
    points = np.vstack([np.zeros((1, 2)), require_two_features(X, "A plane") if np.shape(X)[0] else np.zeros((0, 2))])
    seen = margins(model, points)
    if seen.coef.shape[0] != 1:
        raise ValueError("One plane between two classes can be drawn.")
    return PlaneDisplay(
        seen.coef[0], float(seen.intercept[0]), points, seen.project(points), np.asarray(seen.distances)
    ).plot(ax=ax)
