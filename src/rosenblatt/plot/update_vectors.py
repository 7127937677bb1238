"""One update as the addition of vectors, and the plane that turns and then shifts."""

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
    scatter_by_class,
    set_window,
)

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class UpdateDisplay(Display):
    """w, the step η·y·x and their sum, with the plane before, after its change of direction, and after its shift.

    Attributes
    ----------
    X, y : ndarray
    rows : list of int
        The rows that made the update: one, or several in a batch.
    before, step, after : ndarray of shape (2,)
        w, the step, and their sum.
    intercepts : (float, float)
        b before and after.
    title : str
    ax_, figure_ : set by `plot`
    """

    X: Array
    y: Array
    rows: list[int]
    before: Array
    step: Array
    after: Array
    intercepts: tuple[float, float]
    title: str

    def _size(self) -> tuple[float, float]:
        return 7.5, 4.5

    def _draw(self, ax: Any) -> None:
        frame = frame_around(np.vstack([self.X, np.zeros(2), self.before, self.after]))
        old, new = self.intercepts
        lines = [(self.before, old, "#888888", "--", "plane before"), (self.after, new, "black", "-", "plane after")]
        if old != new and self.before.any():
            lines.insert(1, (self.after, old, "#444444", ":", "change of direction"))
            lines[2] = (*lines[2][:4], "then parallel shift")
        for w, b, colour, dash, label in lines:
            if w.any():
                ax.plot(*line_across(w, b, frame), color=colour, linestyle=dash, linewidth=1.6, label=label)
        scatter_by_class(ax, self.X, self.y, np.unique(self.y))
        ax.scatter(*self.X[self.rows].T, s=220, facecolor="none", edgecolor=COLOURS[4], linewidth=2, zorder=4)
        ax.plot(0, 0, color="black", marker="+", markersize=12)
        ways = [(np.zeros(2), self.before, "#888888", "w"), (self.before, self.step, COLOURS[4], "step η·y·x")]
        ways.append((np.zeros(2), self.after, "black", "w + η·y·x"))
        for start, way, colour, label in ways:
            if way.any():
                style = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.008, "zorder": 5}
                ax.quiver(*start, *way, color=colour, label=label, **style)
        set_window(ax, frame)
        ax.set_title(self.title, fontsize="medium")
        legend_beside(ax)


def update(trace: Any, number: int = 1, *, ax: Any = None) -> UpdateDisplay:
    """Plot one update of a run as vector addition, w + η·y·x, with the plane before and after it.

    The step turns the plane (change of direction); the step of b then moves it along its normal (parallel shift).

    Parameters
    ----------
    trace : Trace
        Of two classes over two features.
    number : int, default=1
        Which update, counted from 1.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    UpdateDisplay

    Examples
    --------
    >>> from rosenblatt import plot, trace
    >>> X, y = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]], [1, 1, 1, -1, -1, -1]
    >>> run = trace(X, y, learning_rate=0.2, coef_init=[[1, 0.5]], order=[4, 2, 0], max_epochs=1, exact=True)
    >>> display = plot.update(run)
    >>> display.before, display.step, display.after
    (array([1. , 0.5]), array([-0.4,  0.4]), array([0.6, 0.9]))
    """
    if not trace.binary:
        raise ValueError("An update can be drawn for two classes, which have one plane.")
    X = require_two_features(np.array(trace.X, dtype=float), "An update")
    if not 1 <= number <= len(trace.updates):
        raise ValueError(f"number must be from 1 to {len(trace.updates)}, the updates of this run, got {number!r}.")
    step = trace.updates[number - 1]
    W, b = trace.planes()
    rows = [step.row] if step.row is not None else list(step.rows)
    named = ", ".join(str(row + trace.first) for row in rows)
    old, new = float(b[number - 1, 0]), float(b[number, 0])
    title = f"update {number}, row{'' if len(rows) == 1 else 's'} {named}: {format_vector(W[number - 1, 0])} + "
    title += f"{format_vector(step.change[0])} = {format_vector(W[number, 0])}"
    title += f", b = {format_number(old)} → {format_number(new)}" if old != new else ""
    change = np.array(step.change[0], dtype=float)
    return UpdateDisplay(X, np.array(trace.y), rows, W[number - 1, 0], change, W[number, 0], (old, new), title).plot(
        ax=ax
    )
