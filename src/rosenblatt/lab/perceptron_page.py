"""The page that steps through a perceptron run: points, plane, arithmetic, bound and verdict."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import panel as pn

from rosenblatt.lab.canvas import Canvas, paths
from rosenblatt.lab.periodic import repeat
from rosenblatt.lab.points import GENERATORS, LECTURES, CSVError, parse_csv
from rosenblatt.lab.runs import BIASES, FIRST_ROW, ORDERS, renumbered
from rosenblatt.lab.session import Session
from rosenblatt.lab.state_limits import LARGEST_SEED, MOST_RUN_VISITS
from rosenblatt.lab.step_arithmetic import bound_text, step_lines
from rosenblatt.learn.number_format import format_number
from rosenblatt.plot.convex_hulls import common_point, hull_corners
from rosenblatt.plot.drawing import COLOURS

Array = np.ndarray[Any, Any]
PERIOD_MS = 700
OWN = "own points"
COMPONENTS = "first two principal components"


class PerceptronPage:
    """Controls on the left, canvas in the middle, arithmetic on the right; stacked on a narrow screen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.canvas = Canvas(session.source)
        self.canvas.on_drag(session.moved)
        self.playing: Any = None
        self._busy = False
        self.fitted: Any = None  # the points that the window was last fitted to
        self._make_controls()
        self._make_player()
        self.board = pn.pane.HTML("", css_classes=["board"], sizing_mode="stretch_width")
        self.verdict = pn.pane.HTML("", css_classes=["verdict"], sizing_mode="stretch_width")
        self.bound = pn.pane.HTML("", css_classes=["bound"], sizing_mode="stretch_width")
        self.hint = pn.pane.HTML("", css_classes=["hint"], sizing_mode="stretch_width")
        self.view = self._layout()
        session.listeners.append(self.draw)
        self.draw(fit=True)

    # -- controls ----------------------------------------------------------------------------------------------------

    def _make_controls(self) -> None:
        wide = {"sizing_mode": "stretch_width"}
        self.example = pn.widgets.Select(label="Lecture example", options=[*LECTURES, OWN], **wide)
        self.generator = pn.widgets.Select(label="Generator", options=list(GENERATORS), **wide)
        self.size = pn.widgets.IntSlider(label="Points", start=4, end=200, value=40, **wide)
        self.gap = pn.widgets.FloatSlider(label="Margin", start=0.0, end=1.0, step=0.05, value=0.2, **wide)
        self.seed = pn.widgets.IntInput(label="Seed", value=0, start=0, end=LARGEST_SEED, **wide)
        self.make = pn.widgets.Button(label="Generate", color="primary", **wide)
        self.upload = pn.widgets.FileInput(accept=".csv,text/csv", **wide)
        self.target = pn.widgets.Select(label="Label column", options=[], visible=False, **wide)
        self.first = pn.widgets.Select(label="Horizontal", options=[], visible=False, **wide)
        self.second = pn.widgets.Select(label="Vertical", options=[], visible=False, **wide)
        self.scaled = pn.widgets.Checkbox(label="Standardise columns", visible=False, **wide)
        self.message = pn.pane.HTML("", css_classes=["message"], **wide)
        self.label = pn.widgets.RadioButtonGroup(label="New points", options={"−": "0", "+": "1"}, value="1")
        self.relabel = pn.widgets.Button(label="Change class")
        self.delete = pn.widgets.Button(label="Delete")
        self.clear = pn.widgets.Button(label="Clear")
        self.bias = pn.widgets.Select(label="Bias step", options=list(BIASES), **wide)
        self.rate = pn.widgets.FloatInput(label="Learning rate η", value=1.0, start=0.001, step=0.1, **wide)
        self.margin = pn.widgets.FloatInput(label="Required margin τ", value=0.0, start=0.0, step=0.1, **wide)
        self.order = pn.widgets.Select(label="Order", options=list(ORDERS), **wide)
        self.rows = pn.widgets.TextInput(label="Rows to visit", placeholder="5, 3, 1", visible=False, **wide)
        self.example.param.watch(lambda event: self._choose(event.new), "value")
        self.make.on_click(lambda event: self._generate())
        self.upload.param.watch(lambda event: self._read(event.new), "value")
        for widget in (self.first, self.second, self.scaled):
            widget.param.watch(lambda event: self._columns(), "value")
        self.target.param.watch(lambda event: self._retarget(event.new), "value")
        self.label.param.watch(lambda event: self._pick(event.new), "value")
        self.canvas.tool.empty_value = "1"
        self.relabel.on_click(lambda event: self._edit("relabel"))
        self.delete.on_click(lambda event: self._edit("delete"))
        self.clear.on_click(lambda event: self._clear())
        for control, name in ((self.bias, "bias"), (self.rate, "rate"), (self.margin, "margin"), (self.order, "order")):
            control.param.watch(lambda event, name=name: self._set(name, event.new), "value")
        self.rows.param.watch(lambda event: self._set("rows", renumbered(event.new, -FIRST_ROW)), "value")

    def _choose(self, name: str) -> None:
        if name in LECTURES and not self._busy:
            self.session.load(LECTURES[name])
            self.draw(fit=True)

    def _generate(self) -> None:
        points = GENERATORS[self.generator.value](self.size.value, self.gap.value, self.seed.value)
        self.session.load(points)
        self.draw(fit=True)

    def _pick(self, label: str | None) -> None:
        if label is not None:  # None for a moment while the classes change
            self.canvas.tool.empty_value = label

    def _edit(self, action: str) -> None:
        self.show_message(self.session.edit(action))

    def _clear(self) -> None:
        self.session.clear()
        self.show_message("")

    def _set(self, name: str, value: Any) -> None:
        if self._busy or value is None:
            return
        try:
            self.session.set(**{name: value})
            self.show_message("")
        except ValueError as error:
            self.show_message(f"{error}.")

    def show_message(self, text: str) -> None:
        """Show a message below the controls."""
        self.message.object = escape(text, quote=False)

    # -- the user's CSV file -----------------------------------------------------------------------------------------

    def _read(self, data: bytes | None) -> None:
        if data is None:
            return
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.show_message("The file is not UTF-8 text: save it as CSV (UTF-8) and try again.")
            return
        self._text = text
        self.open(text)

    def open(self, text: str, target: str | None = None) -> None:
        """Show the points of a CSV, or what is wrong with it."""
        try:
            table = parse_csv(text, target)
        except CSVError as error:
            self.show_message(str(error))
            return
        self._text, self.session.table = text, table
        self._busy = True
        names = list(table.names)
        self.target.options = [*names, table.target]
        self.target.value = table.target
        self.first.options = [COMPONENTS, *names] if len(names) > 2 else names
        self.first.value = names[0]
        self.second.options = names
        self.second.value = names[min(1, len(names) - 1)]
        self.target.visible = self.first.visible = self.second.visible = self.scaled.visible = True
        self._busy = False
        self.own.collapsed = False
        self.show_message("")
        self._columns()

    def _retarget(self, name: str) -> None:
        if not self._busy:
            self.open(self._text, name)

    def _columns(self) -> None:
        table = self.session.table
        if self._busy or table is None or self.first.value is None:
            return
        self.second.visible = self.first.value != COMPONENTS
        table = table.standardised() if self.scaled.value else table
        if self.first.value == COMPONENTS:
            points, mean, directions = table.projected()
            self.session.load(points, (table.values, mean, directions))
        else:
            self.session.load(table.points(self.first.value, self.second.value))
        self.draw(fit=True)

    # -- playing -----------------------------------------------------------------------------------------------------

    def _make_player(self) -> None:
        self.rewind = pn.widgets.Button(label="|◀ Rewind", css_classes=["rewind"])
        self.back = pn.widgets.Button(label="◀ Back", css_classes=["back"])
        self.play = pn.widgets.Button(label="▶ Play", color="primary", css_classes=["play"])
        self.step = pn.widgets.Button(label="Step ▶", css_classes=["step"])
        self.end = pn.widgets.Button(label="End ▶|", css_classes=["end"])
        self.slider = pn.widgets.IntSlider(label="Update", start=0, end=1, value=0, sizing_mode="stretch_width")
        session = self.session
        self.rewind.on_click(lambda event: session.go(0))
        self.back.on_click(lambda event: session.go(session.step - 1))
        self.step.on_click(lambda event: session.go(session.step + 1))
        self.end.on_click(lambda event: session.go(10**9))
        self.play.on_click(lambda event: self.toggle())
        self.slider.param.watch(lambda event: None if self._busy else session.go(event.new), "value")

    def toggle(self) -> None:
        """Start or pause playing."""
        if self.playing is not None:
            self.playing.stop()
            self.playing = None
        elif self.session.run is not None:
            if self.session.step == self.session.run.updates:
                self.session.go(0)
            self.playing = repeat(self.tick, PERIOD_MS, self.toggle, most=MOST_RUN_VISITS)
        self.play.label = "▶ Play" if self.playing is None else "Pause"

    def tick(self) -> None:
        """Advance one update while playing."""
        run = self.session.run
        if run is None or self.session.step >= run.updates:
            if self.playing is not None:
                self.toggle()
            return
        self.session.go(self.session.step + 1)

    def key(self, name: str) -> None:
        """Handle a key: arrows step, space plays, Home rewinds, End goes to the end, R relabels, Delete deletes."""
        session = self.session
        if name == " ":
            self.toggle()
        elif name in ("ArrowLeft", "ArrowRight"):
            session.go(session.step + (1 if name == "ArrowRight" else -1))
        elif name in ("Home", "End"):
            session.go(0 if name == "Home" else 10**9)
        elif name in ("r", "R"):
            self._edit("relabel")
        elif name == "Delete":
            self._edit("delete")

    # -- drawing -----------------------------------------------------------------------------------------------------

    def draw(self, fit: bool = False) -> None:
        """Redraw everything from the session."""
        session = self.session
        self._show_settings()
        # Points that another page loaded are fitted too; not moved ones, under the pointer.
        if fit or (session.loaded is not None and session.loaded is not self.fitted):
            self.fitted = session.loaded
            self.canvas.fit_window(session.X, session.axes)
        several = f"{session.classes[0]} against the rest. " if len(session.classes) > 2 else ""
        scales = " Each axis has its own scale." if self.canvas.separate_scales else ""
        self.hint.object = escape(session.missing or f"{several}{session.note}{scales}", quote=False)
        self.canvas.show_row_numbers(session.X, FIRST_ROW)
        if session.run is None or session.verdict is None:
            self.canvas.show_half_planes(np.zeros(2), 0.0)
            self.canvas.show_rings(np.zeros((0, 2)), [])
            self._show_hulls()
            self.board.object = self.bound.object = ""
            self.verdict.object = "No verdict yet."
            return
        run, k = session.run, session.step
        w, b = session.plane()
        self.canvas.show_half_planes(w, b, self._band(w, b))
        visited = session.X[[run.rows[k - 1]]] if k else np.zeros((0, 2))
        self.canvas.show_rings(visited, [COLOURS[4]] * len(visited))
        radius2 = float((session.rows**2).sum(axis=1).max())
        self.board.object = step_lines(run, k, session.rows, session.binary(), session.settings, radius2)
        self.bound.object = bound_text(run, k)
        self._show_hulls()
        self.verdict.object = self._verdict_words()

    def _show_settings(self) -> None:
        session = self.session
        self._busy = True
        settings = session.settings
        named = [name for name, points in LECTURES.items() if points is session.loaded]
        self.example.value = named[0] if named else OWN
        self.bias.value, self.rate.value, self.margin.value = settings.bias, settings.rate, settings.margin
        self.order.value, self.rows.value = settings.order, renumbered(settings.rows, FIRST_ROW)
        self.rows.visible = settings.order == "these rows"
        self.gap.visible = self.generator.value in ("separable", "rings")
        options = {name: str(k) for k, name in enumerate(session.classes)}
        if self.label.options != options:
            self.label.options = options
            self.label.value = str(len(options) - 1)
        updates = session.run.updates if session.run is not None else 0
        self.slider.param.update(end=max(1, updates), value=session.step, disabled=updates == 0)
        self._busy = False

    def _band(self, w: Array, b: float) -> float:
        """The margin of the current plane; 0 if a row is on the wrong side or a projection is shown."""
        size = float(np.linalg.norm(w))
        if not size or self.session.projection is not None:
            return 0.0
        signs = np.where(self.session.binary() > 0, 1.0, -1.0)
        return max(0.0, float((signs * (self.session.X @ w + b)).min() / size))

    def _show_hulls(self) -> None:
        """Draw the hulls of the witness and a point in both; without a bias, ring the witness rows instead."""
        session, verdict = self.session, self.session.verdict
        parts: list[Array] = []
        point = None
        if verdict is not None and verdict.separable is False and session.projection is None:
            rows, positive = np.array(verdict.rows), session.binary() > 0
            if session.settings.bias == "none":
                rings = [*self.canvas.marks.data["colour"], *["black"] * len(rows)]
                seen = np.column_stack([self.canvas.marks.data["x"], self.canvas.marks.data["y"]]).reshape(-1, 2)
                self.canvas.show_rings(np.vstack([seen, session.X[rows]]), rings)
            else:
                parts = [hull_corners(session.X[rows[positive[rows] == side]]) for side in (False, True)]
                point = common_point(session.X, positive, verdict)
        self.canvas.hulls.data = paths(parts, COLOURS)
        at = [] if point is None else [[float(value)] for value in point]
        self.canvas.cross.data = {"x": at[0], "y": at[1]} if at else {"x": [], "y": []}

    def _verdict_words(self) -> str:
        verdict = self.session.verdict
        assert verdict is not None
        through = " through the origin" if self.session.settings.bias == "none" else ""
        if self.session.projection is not None:
            through += " in all columns"
        if verdict.separable is None:
            return "<b>Undecided</b>: neither a separating plane nor a witness was found."
        if verdict.separable:
            return f"<b>Separable</b>{through}, with a margin of {format_number(verdict.margin)}."
        named = ", ".join(str(row + FIRST_ROW) for row in verdict.rows)
        if self.session.settings.bias == "none":
            why = "a convex combination of their y·x is zero"
        else:
            why = "their hulls touch" if verdict.touching else "their hulls cross"
        return f"<b>Not separable</b>{through}: rows {named} show it; {why}."

    def _layout(self) -> Any:
        wide = {"sizing_mode": "stretch_width"}
        card = {**wide, "margin": (4, 10)}
        self.own = pn.Card(
            self.upload, self.target, self.first, self.second, self.scaled, title="Your CSV", collapsed=True, **card
        )
        data = pn.Column(
            self.example,
            pn.Card(
                self.generator,
                self.size,
                self.gap,
                self.seed,
                self.make,
                title="Generate points",
                collapsed=True,
                **card,
            ),
            self.own,
            self.message,
            pn.Row(pn.pane.HTML("New points"), self.label),
            pn.FlexBox(self.relabel, self.delete, self.clear),
            pn.Card(self.bias, self.rate, self.margin, self.order, self.rows, title="Learning", **card),
            css_classes=["side"],
        )
        middle = pn.Column(
            self.hint,
            self.canvas.pane(),
            pn.FlexBox(self.rewind, self.back, self.play, self.step, self.end),
            self.slider,
            css_classes=["middle"],
        )
        keys = (
            "Click to add a point, drag to move it, click on it to select it. Keys: ← → step, space plays and pauses, "
            "Home rewinds, End goes to the end; R changes the class of the selected points, Delete deletes them."
        )
        right = pn.Column(
            pn.pane.HTML("<h3>The arithmetic</h3>"),
            self.board,
            self.bound,
            self.verdict,
            pn.pane.HTML(keys, css_classes=["keys"]),
            css_classes=["beside"],
        )
        return pn.FlexBox(data, middle, right, css_classes=["page"], **wide)
