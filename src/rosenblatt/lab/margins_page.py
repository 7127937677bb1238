"""Margins: the perceptron, PAUM, the support vector machine and the widest plane on the same points."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import panel as pn

from rosenblatt.lab import state_limits
from rosenblatt.lab.canvas import Canvas
from rosenblatt.lab.runs import FIRST_ROW
from rosenblatt.lab.session import Session
from rosenblatt.learn.number_format import counted, format_number
from rosenblatt.objective.max_margin import MaxMargin
from rosenblatt.objective.svm import LinearSVM
from rosenblatt.online.perceptron import PAUM, Perceptron
from rosenblatt.plot.drawing import COLOURS

Array = np.ndarray[Any, Any]
TITLES = ("Perceptron", "PAUM", "SVM", "Widest plane")
COSTS = {"0.01": 0.01, "0.1": 0.1, "1": 1.0, "10": 10.0, "100": 100.0}
LARGEST_TAU = 20.0
NEAR = 1e-6  # of the margin, up to which rows count as nearest


class MarginsPage:
    """Four canvases with their planes, bands and the rows that hold them."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.tau = pn.widgets.FloatSlider(label="Margin τ of PAUM", start=0.0, end=LARGEST_TAU, step=0.5, value=5.0)
        self.cost = pn.widgets.RadioButtonGroup(label="C of the SVM", options=list(COSTS), value="1")
        self.hint = pn.pane.HTML("", css_classes=["hint"], sizing_mode="stretch_width")
        self.words = {name: pn.pane.HTML("", css_classes=["board"], sizing_mode="stretch_width") for name in TITLES}
        self.canvases: dict[str, Canvas] = {}
        self.box = pn.FlexBox(css_classes=["page"], sizing_mode="stretch_width")
        controls = pn.FlexBox(self.tau, pn.Row(pn.pane.HTML("C of the SVM"), self.cost), sizing_mode="stretch_width")
        self.view = pn.Column(controls, self.hint, self.box, sizing_mode="stretch_width")
        self.shown = False
        for widget in (self.tau, self.cost):
            widget.param.watch(lambda event: self.draw(), "value")
        session.listeners.append(self.draw)

    def _make_canvases(self) -> None:
        if self.canvases:
            return
        for name in TITLES:
            self.canvases[name] = Canvas(self.session.source, title=name, height=300)
            self.canvases[name].on_drag(self.session.moved)
        self.box.objects = [
            pn.Column(self.canvases[name].pane(), self.words[name], css_classes=["half"]) for name in TITLES
        ]

    def learners(self) -> dict[str, Any]:
        """The four learners; those that go row by row have the order of the perceptron page, and visit every row."""
        settings = self.session.settings
        if settings.order == "these rows":
            settings = replace(settings, order="cyclic")
        given = settings.parameters(len(self.session.y))
        bias: dict[str, Any] = {"fit_intercept": settings.bias != "none"}
        shared = {name: value for name, value in given.items() if name not in ("margin", "bias_step", "learning_rate")}
        tau = float(self.tau.value or 0.0)
        return {
            "Perceptron": Perceptron(**given),
            "PAUM": PAUM(margin=(tau, tau), **shared),
            "SVM": LinearSVM(C=COSTS[self.cost.value], tol=1e-4, max_epochs=2000, random_state=0, **bias),
            "Widest plane": MaxMargin(**bias),
        }

    def draw(self, fit: bool = False) -> None:
        """Fit and draw all four, if the page is shown."""
        if not self.shown:
            return
        self._make_canvases()
        session = self.session
        self.hint.object = session.missing or "Dashed: the band. Ringed: the rows that hold it."
        for name, learner in self.learners().items():
            canvas = self.canvases[name]
            if fit or session.loaded is not None:  # not during a drag: the window must not move under the pointer
                canvas.fit_window(session.X, session.axes)
            canvas.clear_planes()
            canvas.show_rings(np.zeros((0, 2)), [])
            canvas.show_row_numbers(session.X, FIRST_ROW)
            if session.missing is not None:
                self.words[name].object = ""
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                learner.fit(session.X, session.binary())
            self._show(name, learner)

    def _show(self, name: str, model: Any) -> None:
        session, canvas = self.session, self.canvases[name]
        if name == "Widest plane" and model.report_.outcome == "inseparable":
            self.words[name].object = "No plane separates the points, so none is the widest."
            return
        w, b = model.coef_[0], float(model.intercept_[0])
        size = float(np.linalg.norm(w))
        if not size:
            self.words[name].object = "w = 0: no plane."
            return
        f = np.where(session.binary() > 0, 1.0, -1.0) * (session.X @ w + b)
        margin, wrong = float(f.min()) / size, int((model.predict(session.X) != session.binary()).sum())
        if name == "SVM":
            band, rows = 1.0 / size, model.support_
        else:
            band = max(margin, 0.0)
            near = f <= f.min() + NEAR * max(1.0, abs(float(f.min())))
            rows = model.support_ if name == "Widest plane" else np.flatnonzero(near if margin > 0 else f <= 0)
        canvas.show_half_planes(w, b, band)
        canvas.show_rings(session.X[rows], [COLOURS[4]] * len(rows))
        self.words[name].object = _words(name, model, margin, band, wrong, rows, f)

    def state(self) -> dict[str, Any]:
        """The state of this page, for a snapshot."""
        return {"tau": float(self.tau.value or 0.0), "C": self.cost.value}

    def read(self, given: Any) -> dict[str, Any]:
        """Check the state of this page in a snapshot; ValueError if a value is out of bounds."""
        kept = state_limits.fields(given, "margins", self.state())
        (cost,) = state_limits.chosen([kept["C"]], "C", COSTS)
        return {"tau": state_limits.number(kept["tau"], "tau", 0.0, LARGEST_TAU), "C": cost}

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore the checked state of a snapshot."""
        self.tau.value, self.cost.value = kept["tau"], kept["C"]


def _words(name: str, model: Any, margin: float, band: float, wrong: int, rows: Array, f: Array) -> str:
    """A sentence about the margin, and one about the rows that hold it."""
    named = ", ".join(str(row + FIRST_ROW) for row in rows[:12].tolist()) + (", …" if len(rows) > 12 else "")
    held = f"{'row' if len(rows) == 1 else 'rows'} {named}"
    if name == "SVM":
        slack = float(np.maximum(0.0, 1.0 - f).sum())
        text = f"Band 1/‖w‖ = {format_number(band)}, Σξ = {format_number(slack)}, {wrong} of {len(f)} wrong. "
        return f"{text}Support: {held}."
    if margin <= 0:
        return f"<b>{wrong} of {len(f)}</b> points wrong after {counted(model.report_.updates, 'update')}: no margin."
    if name == "Widest plane":
        return f"Margin {format_number(margin)}, the largest there is. Support: {held}."
    text = f"Margin {format_number(margin)} after {counted(model.report_.updates, 'update')}. "
    return f"{text}Nearest: {held}."
