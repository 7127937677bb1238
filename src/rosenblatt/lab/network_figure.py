"""The network itself: its units, its weights as lines, and its loss after each epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from rosenblatt.plot.drawing import COLOURS

Array = np.ndarray[Any, Any]
POSITIVE, NEGATIVE = COLOURS[0], COLOURS[4]  # of a weight
THICKEST = 6.0


def line_style(weights: Array) -> tuple[list[str], list[float]]:
    """Colours by sign, and widths by size, of weights."""
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    colours = [POSITIVE if w > 0 else NEGATIVE for w in weights.ravel()]
    return colours, [0.4 + THICKEST * abs(float(w)) / largest for w in weights.ravel()]


class NetworkFigure:
    """Units from left to right with a line for each weight, and the loss curve."""

    def __init__(self) -> None:
        self.weights = ColumnDataSource({"xs": [], "ys": [], "colour": [], "width": []}, name="weights")
        self.units = ColumnDataSource({"x": [], "y": [], "text": []}, name="units")
        self.curve = ColumnDataSource({"epoch": [], "loss": []}, name="loss")
        plain: dict[str, Any] = {"sizing_mode": "stretch_width", "tools": "", "toolbar_location": None}
        self.diagram: Any = figure(
            height=260,
            title="Weights: blue positive, red negative",
            x_range=Range1d(start=-0.4, end=2.4),
            y_range=Range1d(start=-0.8, end=1.8),
            **plain,
        )
        self.diagram.axis.visible = self.diagram.grid.visible = False
        self.diagram.multi_line("xs", "ys", source=self.weights, color="colour", line_width="width", alpha=0.75)
        self.diagram.scatter("x", "y", source=self.units, size=24, fill_color="white", line_color="black")
        self.diagram.text(
            "x", "y", "text", source=self.units, text_align="center", text_baseline="middle", text_font_size="11px"
        )
        self.losses: Any = figure(height=180, title="Loss", x_axis_label="epoch", **plain)
        self.losses.line("epoch", "loss", source=self.curve, color=COLOURS[0], line_width=2)
        self.losses.y_range.update(start=0)

    def panes(self) -> list[Any]:
        """Both figures as parts of a page."""
        return [pn.pane.Bokeh(one, sizing_mode="stretch_width") for one in (self.diagram, self.losses)]

    def show(self, coefs: Sequence[Array], losses: Sequence[float]) -> None:
        """Draw a network with these weights, and its losses."""
        sizes = [coefs[0].shape[0], *(W.shape[1] for W in coefs)]
        places = [np.column_stack([np.full(n, k), (n - 1) / 2 - np.arange(n)]) for k, n in enumerate(sizes)]
        xs, ys, colours, widths = [], [], [], []
        for W, left, right in zip(coefs, places, places[1:], strict=False):
            for i, j in np.ndindex(W.shape):
                xs.append([left[i][0], right[j][0]])
                ys.append([left[i][1], right[j][1]])
            style = line_style(np.asarray(W))
            colours += style[0]
            widths += style[1]
        self.weights.data = {"xs": xs, "ys": ys, "colour": colours, "width": widths}
        names = [["x₁", "x₂"], *([str(j + 1) for j in range(n)] for n in sizes[1:-1]), ["−", "+"]]
        every = np.vstack(places)
        text = [name for layer in names for name in layer]
        self.units.data = {"x": list(every[:, 0]), "y": list(every[:, 1]), "text": text}
        half = max(sizes) / 2 + 0.2
        self.diagram.y_range.update(start=-half, end=half)
        self.curve.data = {"epoch": list(range(1, len(losses) + 1)), "loss": list(losses)}

    def clear(self) -> None:
        """Draw nothing."""
        self.weights.data = {"xs": [], "ys": [], "colour": [], "width": []}
        self.units.data, self.curve.data = {"x": [], "y": [], "text": []}, {"epoch": [], "loss": []}
