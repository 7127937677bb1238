"""A network that learns the same points while its regions are redrawn, and a small Mark I."""

from __future__ import annotations

import warnings
from html import escape
from typing import Any

import numpy as np
import panel as pn

from rosenblatt.lab import state_limits
from rosenblatt.lab.canvas import Canvas, paths
from rosenblatt.lab.network_figure import NetworkFigure, line_style
from rosenblatt.lab.periodic import toggled
from rosenblatt.lab.points import LECTURES
from rosenblatt.lab.runs import FIRST_ROW
from rosenblatt.lab.session import Session
from rosenblatt.learn.number_format import counted
from rosenblatt.network.estimators import MultilayerPerceptron
from rosenblatt.network.worked_backpropagation import backpropagation
from rosenblatt.online.mark_i import MarkI

PERIOD_MS, EPOCHS_PER_TICK = 120, 10
MOST_EPOCHS, MOST_VISITS = 5_000, 1_000_000  # where training stops; a visit is of one row
FINE = 120  # points per side of a picture
MOST_WORKED = 3  # hidden units whose backpropagation is shown in numbers
MARK_UNITS = 64  # association units of the Mark I
Array = np.ndarray[Any, Any]


class NetworkPage:
    """The regions of the network while it learns, and those of a Mark I on the same points."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.shown = False
        self.network: Any = None
        self.trained_on: tuple[Array, Array] = (np.zeros((0, 2)), np.zeros(0))  # the points when training started
        self.moved = False
        self.epochs = 0
        self.running: Any = None
        self.canvas = Canvas(session.source, title="Network", height=400)
        self.canvas.on_drag(session.moved)
        self.mark_canvas = Canvas(session.source, title="Mark I", height=400, draggable=False)
        wide = {"sizing_mode": "stretch_width"}
        self.units = pn.widgets.IntSlider(label="Hidden units", start=1, end=24, value=8, **wide)
        self.activation = pn.widgets.Select(label="Activation", options=["tanh", "logistic", "relu"], **wide)
        self.rate = pn.widgets.FloatInput(label="Learning rate", value=0.05, start=0.0001, step=0.01, **wide)
        self.seed = pn.widgets.IntInput(label="Seed", value=0, start=0, end=state_limits.LARGEST_SEED, **wide)
        self.start = pn.widgets.Button(label="Learn", color="primary", css_classes=["learn"])
        self.once = pn.widgets.Button(label="One epoch", css_classes=["one-epoch"])
        self.restart = pn.widgets.Button(label="Reset")
        self.diagram = NetworkFigure()
        self.losses: list[float] = []
        self.numbers = pn.pane.HTML("", sizing_mode="stretch_width")
        self.xor = pn.widgets.Button(label="Load XOR", css_classes=["load-xor"])
        self.words = pn.pane.HTML("", css_classes=["board", "network"], sizing_mode="stretch_width")
        self.mark_words = pn.pane.HTML("", css_classes=["board"], sizing_mode="stretch_width")
        self.hint = pn.pane.HTML("", css_classes=["hint"])
        self.start.on_click(lambda event: self.toggle())
        self.once.on_click(lambda event: self.learn(1))
        self.restart.on_click(lambda event: self.reset())
        self.xor.on_click(lambda event: self._load())
        for widget in (self.units, self.activation, self.rate, self.seed):
            widget.param.watch(lambda event: self.reset(), "value")
        self.view = self._layout()
        session.listeners.append(self.points_changed)

    def _load(self) -> None:
        self.session.load(LECTURES["KTH: XOR"])
        self.canvas.fit_window(self.session.X, self.session.axes)

    def reset(self) -> None:
        """Discard the network."""
        self.network, self.epochs, self.losses = None, 0, []
        self.draw()

    def toggle(self) -> None:
        """Start or pause training."""
        self.running = toggled(self.running, self.tick, PERIOD_MS, self.toggle, MOST_EPOCHS)
        self.start.label = "Learn" if self.running is None else "Pause"

    def tick(self) -> None:
        """Train for a few epochs."""
        self.learn(EPOCHS_PER_TICK)
        if self.running is not None and self.epochs_left() == 0:
            self.toggle()

    def epochs_left(self) -> int:
        """The number of epochs that this network may still train for."""
        return max(0, min(MOST_EPOCHS, MOST_VISITS // max(1, len(self.session.y))) - self.epochs)

    def learn(self, epochs: int) -> None:
        """Train for more epochs, as far as the limit allows."""
        epochs = min(epochs, self.epochs_left())
        if self.session.missing is not None or not epochs:
            return
        X, y = self.session.X, self.session.binary()
        if self.network is None:
            self.trained_on, self.moved = (X, y), False
            self.network = MultilayerPerceptron(
                hidden_layer_sizes=(self.units.value or 1,),
                activation=self.activation.value,
                learning_rate_init=self.rate.value or 0.05,
                random_state=self.seed.value or 0,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(epochs):
                self.network.partial_fit(X, y, classes=np.array([0, 1]))
                self.losses.append(float(self.network.loss_))
        self.epochs += epochs
        self.draw()

    def points_changed(self) -> None:
        """The points changed: the network continues from its weights, the Mark I is trained anew."""
        if self.network is not None:
            now = self.session.X, self.session.binary()
            self.moved |= not all(np.array_equal(a, b) for a, b in zip(self.trained_on, now, strict=True))
        if self.shown:
            self.draw(mark=True)

    def draw(self, mark: bool = False) -> None:
        """Redraw the regions and the errors."""
        session = self.session
        self.hint.object = session.missing or "No single plane solves XOR; a layer of hidden units does."
        if session.missing is not None:
            self.canvas.clear_planes()
            self.mark_canvas.clear_planes()
            self.words.object = self.mark_words.object = self.numbers.object = ""
            self.diagram.clear()
            return
        if mark:
            self._draw_mark()
        if self.network is None:
            self.canvas.clear_planes()
            self.words.object, self.numbers.object = "Not trained yet: press Learn.", ""
            self.diagram.clear()
            return
        self.canvas.show_regions(self.network.predict, FINE)
        self._draw_units()
        wrong = int((self.network.predict(session.X) != session.binary()).sum())
        solved = " Solved." if not wrong else ""
        self.words.object = (
            f"<b>{wrong} of {len(session.y)}</b> points wrong after {counted(self.epochs, 'epoch')}, "
            f"loss {self.network.loss_:.3f}.{solved}"
        )

    def _draw_units(self) -> None:
        """The line of each hidden unit, as strong as its weight in the output; the network, and one row through it."""
        session, (W, out), (b, last) = self.session, self.network.coefs_, self.network.intercepts_
        self.diagram.show(self.network.coefs_, self.losses)
        colours, widths = line_style(out[:, 1] - out[:, 0])  # two outputs, one per class
        some = np.flatnonzero(np.linalg.norm(W, axis=0) > 0)
        ends = [self.canvas.line(W[:, j], float(b[j]))[1] for j in some]
        self.canvas.lines.data = {
            **paths(ends, [colours[j] for j in some]),
            "dash": ["dashed"] * len(some),
            "width": [widths[j] for j in some],
        }
        if len(b) > MOST_WORKED:
            self.numbers.object = f"Up to {MOST_WORKED} hidden units are worked out in numbers."
            return
        coefs, intercepts = ([part.round(2) for part in parts] for parts in ((W, out), (b, last)))
        x, u = session.X[0], np.eye(2)[session.binary()[0]]
        how = {"activation": self.network.activation, "learning_rate": self.network.learning_rate_init}
        worked = escape(str(backpropagation(coefs, intercepts, x, u, **how)), quote=False)
        self.numbers.object = f"<pre>Row {FIRST_ROW}, by the squared error, from weights of two digits\n{worked}</pre>"

    def _draw_mark(self) -> None:
        session = self.session
        mark = MarkI(n_units=MARK_UNITS, random_state=self.seed.value or 0)
        if session.loaded is not None:
            self.mark_canvas.fit_window(session.X, session.axes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mark.fit(session.X, session.binary())
        self.mark_canvas.show_regions(mark.predict, FINE)
        wrong = int((mark.predict(session.X) != session.binary()).sum())
        self.mark_words.object = (
            f"<b>{wrong} of {len(session.y)}</b> points wrong. Its association units are wired at random and "
            "fixed; only the weights of the response unit are trained."
        )

    def on_show(self) -> None:
        """The page was opened."""
        for canvas in (self.canvas, self.mark_canvas):
            canvas.fit_window(self.session.X, self.session.axes)
        self.draw(mark=True)

    def _layout(self) -> Any:
        controls = pn.Column(
            self.xor,
            self.units,
            self.activation,
            self.rate,
            self.seed,
            pn.FlexBox(self.start, self.once, self.restart),
            css_classes=["side"],
        )
        net = pn.Column(self.canvas.pane(), self.words, css_classes=["half"])
        mark = pn.Column(self.mark_canvas.pane(), self.mark_words, css_classes=["half"])
        inside = pn.Column(*self.diagram.panes(), css_classes=["half"])
        wide: dict[str, Any] = {"sizing_mode": "stretch_width"}
        worked = pn.Card(self.numbers, title="One backpropagation", collapsed=True, margin=(4, 10), **wide)
        page = pn.FlexBox(controls, net, inside, mark, worked, css_classes=["page"], **wide)
        return pn.Column(self.hint, page, sizing_mode="stretch_width")

    # -- sharing -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The state of this page, for a snapshot; 0 epochs if the points changed during training."""
        return {
            "units": self.units.value,
            "activation": self.activation.value,
            "rate": self.rate.value,
            "seed": self.seed.value,
            "epochs": 0 if self.moved else self.epochs,
        }

    def read(self, given: Any) -> dict[str, Any]:
        """Check the state of this page in a snapshot; ValueError if a value is out of bounds."""
        kept = state_limits.fields(given, "network", self.state())
        return {
            "units": state_limits.integer(kept["units"], "units", self.units.start, self.units.end),
            "activation": state_limits.chosen([kept["activation"]], "activation", self.activation.options)[0],
            "rate": state_limits.number(kept["rate"], "rate", state_limits.SMALLEST_RATE, state_limits.LARGEST_RATE),
            "seed": state_limits.integer(kept["seed"], "seed", 0, state_limits.LARGEST_SEED),
            "epochs": state_limits.integer(kept["epochs"], "epochs", 0, MOST_EPOCHS),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore the checked state of a snapshot, by training the network again."""
        self.units.value, self.activation.value = kept["units"], kept["activation"]
        self.rate.value, self.seed.value = kept["rate"], kept["seed"]
        self.reset()
        self.learn(kept["epochs"])
