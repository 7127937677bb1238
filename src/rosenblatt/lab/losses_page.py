"""Losses as functions of the margin, and the current position of each point on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from rosenblatt.lab import state_limits
from rosenblatt.lab.runs import FIRST_ROW
from rosenblatt.lab.session import Session
from rosenblatt.learn.number_format import counted
from rosenblatt.objective.compiled_losses import curve
from rosenblatt.plot.drawing import COLOURS
from rosenblatt.plot.loss_curves import MARGIN_LOSSES, loss_title

LEAST = 4.0  # margins at least up to this are shown
DASHES: tuple[list[int], ...] = ([], [10, 4], [], [10, 4, 2, 4], [2, 3], [10, 4], [])


class LossesPage:
    """The curves, with the points of the perceptron page at its current step."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.shown = False
        self.choice = pn.widgets.CheckButtonGroup(
            options={loss_title(name): name for name in MARGIN_LOSSES},
            value=["zero_one", "perceptron", "hinge", "log"],
            css_classes=["wrap"],
        )
        self.scale = pn.widgets.RadioButtonGroup(
            options={"y·f": "functional", "y·f/‖w‖": "geometric"}, value="functional"
        )
        self.curves = ColumnDataSource({"xs": [], "ys": [], "colour": [], "dash": [], "name": []})
        self.dots = ColumnDataSource({"x": [], "y": [], "colour": [], "row": []})
        self.figure: Any = figure(
            height=440,
            sizing_mode="stretch_width",
            x_range=Range1d(start=-LEAST, end=LEAST),
            y_range=Range1d(start=-0.2, end=5),
            tools="wheel_zoom,pan,hover,reset,save",
            tooltips=[("row", "@row"), ("margin", "@x{0.00}"), ("loss", "@y{0.00}")],
            x_axis_label="margin y·f",
            y_axis_label="loss",
        )
        self.figure.toolbar.logo = None
        self.figure.multi_line(
            "xs", "ys", source=self.curves, color="colour", line_dash="dash", line_width=2.5, legend_field="name"
        )
        self.figure.scatter("x", "y", source=self.dots, color="colour", size=9, line_color="white")
        self.table = pn.pane.HTML("", css_classes=["scores"])
        self.hint = pn.pane.HTML("", css_classes=["hint"])
        for widget in (self.choice, self.scale):
            widget.param.watch(lambda event: self.draw(), "value")
        self.view = pn.Column(
            self.hint,
            pn.FlexBox(self.choice, self.scale),
            pn.pane.Bokeh(self.figure, sizing_mode="stretch_width"),
            self.table,
            sizing_mode="stretch_width",
        )
        session.listeners.append(self.draw)

    def margins(self) -> Any:
        """The margin of every point under the current plane."""
        session = self.session
        assert session.run is not None
        w, b = session.run.W[session.step], session.run.b[session.step]
        margins = np.where(session.binary() > 0, 1.0, -1.0) * (session.rows @ w + b)
        size = float(np.linalg.norm(w))
        return margins / size if self.scale.value == "geometric" and size else margins

    def _fit_window(self) -> tuple[float, float]:
        """Fit the window to the points, doubling it as needed; return its horizontal limits."""
        most = float(np.abs(self.margins()).max()) if self.session.missing is None else 0.0
        reach = LEAST * 2.0 ** max(0, math.ceil(math.log2(max(most, LEAST) / LEAST)))
        self.figure.x_range.update(start=-reach, end=reach)
        self.figure.y_range.update(start=-0.05 * reach, end=1.25 * reach)
        return -reach, reach

    def draw(self) -> None:
        """Redraw the selected curves and the points on them, if the page is shown."""
        if not self.shown:
            return
        names = [name for name in MARGIN_LOSSES if name in self.choice.value]
        at = np.linspace(*self._fit_window(), 801)
        colours = {name: COLOURS[k % 8] for k, name in enumerate(MARGIN_LOSSES)}
        self.curves.data = {
            "xs": [list(at)] * len(names),
            "ys": [list(curve(name, at)) for name in names],
            "colour": [colours[name] for name in names],
            "dash": [DASHES[MARGIN_LOSSES.index(name) % len(DASHES)] for name in names],
            "name": [loss_title(name) for name in names],
        }
        missing = self.session.missing
        if missing is not None:
            self.hint.object, self.table.object = missing, ""
            self.dots.data = {"x": [], "y": [], "colour": [], "row": []}
            return
        margins = self.margins()
        after = counted(self.session.step, "update")
        self.hint.object = f"The points of the perceptron page after {after}, on every curve."
        self.dots.data = {
            "x": [float(m) for _ in names for m in margins],
            "y": [float(value) for name in names for value in curve(name, margins)],
            "colour": [colours[name] for name in names for _ in margins],
            "row": [row + FIRST_ROW for _ in names for row in range(len(margins))],
        }
        means = "".join(f"<td>{curve(name, margins).mean():.3f}</td>" for name in names)
        head = "".join(f"<th style='color:{colours[name]}'>■ {loss_title(name)}</th>" for name in names)
        self.table.object = f"<table><tr><th></th>{head}</tr><tr><td>mean loss</td>{means}</tr></table>"

    def state(self) -> dict[str, Any]:
        """The state of this page, for a snapshot."""
        return {"losses": list(self.choice.value), "scale": self.scale.value}

    def read(self, given: Any) -> dict[str, Any]:
        """Check the state of this page in a snapshot; ValueError if a value is out of bounds."""
        kept = state_limits.fields(given, "losses", self.state())
        return {
            "losses": state_limits.chosen(kept["losses"], "losses", MARGIN_LOSSES),
            "scale": state_limits.chosen([kept["scale"]], "scale", self.scale.options.values())[0],
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore the checked state of a snapshot."""
        self.choice.value, self.scale.value = kept["losses"], kept["scale"]
