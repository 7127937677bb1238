"""Networks: the same points learned by layers of units before one's eyes, and a small Mark I."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import panel as pn

from rosenblatt.estimators.network import MarkI, MultilayerPerceptron
from rosenblatt.show.lab import state_limits
from rosenblatt.show.lab.canvas import Canvas
from rosenblatt.show.lab.periodic import repeat
from rosenblatt.show.lab.points import LECTURES
from rosenblatt.show.lab.session import Session

PERIOD_MS, EPOCHS_A_TICK = 120, 10
MOST_EPOCHS, MOST_VISITS = 5_000, 1_000_000  # of rows: where a network stops to learn
FINE = 120  # points a side of a picture
UNITS = 64  # association units of the small Mark I
Array = np.ndarray[Any, Any]


class NetworkPage:
    """The network's regions while it learns, and what a Mark I makes of the same points."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.shown = False
        self.network: Any = None
        self.began: tuple[Array, Array] = (np.zeros((0, 2)), np.zeros(0))  # what it learned from at first
        self.moved = False
        self.epochs = 0
        self.running: Any = None
        self.canvas = Canvas(session.source, title="Network", height=400)
        self.canvas.listen(session.moved)
        self.machine = Canvas(session.source, title="Mark I", height=400, draggable=False)
        wide = {"sizing_mode": "stretch_width"}
        self.units = pn.widgets.IntSlider(label="Hidden units", start=1, end=24, value=8, **wide)
        self.activation = pn.widgets.Select(label="Units", options=["tanh", "logistic", "relu"], **wide)
        self.rate = pn.widgets.FloatInput(label="Learning rate", value=0.05, start=0.0001, step=0.01, **wide)
        self.seed = pn.widgets.IntInput(label="Seed", value=0, start=0, end=state_limits.LARGEST_SEED, **wide)
        self.start = pn.widgets.Button(label="Learn", color="primary", css_classes=["learn"])
        self.again = pn.widgets.Button(label="Start again")
        self.xor = pn.widgets.Button(label="Load XOR", css_classes=["load-xor"])
        self.words = pn.pane.HTML("", css_classes=["board", "network"], sizing_mode="stretch_width")
        self.mark_words = pn.pane.HTML("", css_classes=["board"], sizing_mode="stretch_width")
        self.hint = pn.pane.HTML("", css_classes=["hint"])
        self.start.on_click(lambda event: self.toggle())
        self.again.on_click(lambda event: self.renew())
        self.xor.on_click(lambda event: self._load())
        for widget in (self.units, self.activation, self.rate, self.seed):
            widget.param.watch(lambda event: self.renew(), "value")
        self.view = self._layout()
        session.listeners.append(self.points_changed)

    def _load(self) -> None:
        self.session.load(LECTURES["KTH: XOR"])
        self.canvas.fit_window(self.session.X, self.session.axes)

    def renew(self) -> None:
        """Forget what was learned."""
        self.network, self.epochs = None, 0
        self.draw()

    def toggle(self) -> None:
        """Learn, or pause."""
        if self.running is None:
            self.running = repeat(self.tick, PERIOD_MS, self.toggle, most=MOST_EPOCHS)
        else:
            self.running.stop()
            self.running = None
        self.start.label = "Learn" if self.running is None else "Pause"

    def tick(self) -> None:
        """Some epochs more."""
        self.learn(EPOCHS_A_TICK)
        if self.running is not None and self.left() == 0:
            self.toggle()

    def left(self) -> int:
        """How many epochs more this network may learn for."""
        return max(0, min(MOST_EPOCHS, MOST_VISITS // max(1, len(self.session.y))) - self.epochs)

    def learn(self, epochs: int) -> None:
        """So many epochs more, up to the most there may be."""
        epochs = min(epochs, self.left())
        if self.session.ready is not None or not epochs:
            return
        X, y = self.session.X, self.session.binary()
        if self.network is None:
            self.began, self.moved = (X, y), False
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
        self.epochs += epochs
        self.draw()

    def points_changed(self) -> None:
        """The network goes on learning from where it is; the Mark I starts anew."""
        if self.network is not None:
            now = self.session.X, self.session.binary()
            self.moved |= not all(np.array_equal(a, b) for a, b in zip(self.began, now, strict=True))
        if self.shown:
            self.draw(machine=True)

    def draw(self, machine: bool = False) -> None:
        """Regions and errors now."""
        session = self.session
        self.hint.object = session.ready or "No single plane solves XOR; a layer of hidden units does."
        if session.ready is not None:
            self.canvas.show_nothing()
            self.machine.show_nothing()
            self.words.object = self.mark_words.object = ""
            return
        if machine:
            self._draw_machine()
        if self.network is None:
            self.canvas.show_nothing()
            self.words.object = "Not trained yet: press Learn."
            return
        self.canvas.show_regions(self.network.predict, FINE)
        wrong = int((self.network.predict(session.X) != session.binary()).sum())
        solved = " Solved." if not wrong else ""
        self.words.object = (
            f"<b>{wrong} of {len(session.y)}</b> points wrong after {self.epochs} epochs, "
            f"loss {self.network.loss_:.3f}.{solved}"
        )

    def _draw_machine(self) -> None:
        session = self.session
        machine = MarkI(n_units=UNITS, random_state=self.seed.value or 0)
        if session.loaded is not None:
            self.machine.fit_window(session.X, session.axes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(session.X, session.binary())
        self.machine.show_regions(machine.predict, FINE)
        wrong = int((machine.predict(session.X) != session.binary()).sum())
        self.mark_words.object = (
            f"<b>{wrong} of {len(session.y)}</b> points wrong. Its association units are wired at random and stay as "
            "they are; only the weights of the response unit are learned."
        )

    def look(self) -> None:
        """The page came into sight."""
        for canvas in (self.canvas, self.machine):
            canvas.fit_window(self.session.X, self.session.axes)
        self.draw(machine=True)

    def _layout(self) -> Any:
        controls = pn.Column(
            self.xor,
            self.units,
            self.activation,
            self.rate,
            self.seed,
            pn.Row(self.start, self.again),
            css_classes=["side"],
        )
        net = pn.Column(
            pn.pane.Bokeh(self.canvas.figure, sizing_mode="stretch_width"), self.words, css_classes=["half"]
        )
        mark = pn.Column(
            pn.pane.Bokeh(self.machine.figure, sizing_mode="stretch_width"), self.mark_words, css_classes=["half"]
        )
        page = pn.FlexBox(controls, net, mark, css_classes=["page"], sizing_mode="stretch_width")
        return pn.Column(self.hint, page, sizing_mode="stretch_width")

    # -- sharing -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps of this page: of a network that learned from other points before, not its epochs."""
        return {
            "units": self.units.value,
            "activation": self.activation.value,
            "rate": self.rate.value,
            "seed": self.seed.value,
            "epochs": 0 if self.moved else self.epochs,
        }

    def read(self, given: Any) -> dict[str, Any]:
        """What a snapshot kept, with every value within its bounds."""
        kept = state_limits.fields(given, "network", self.state())
        return {
            "units": state_limits.whole(kept["units"], "units", self.units.start, self.units.end),
            "activation": state_limits.chosen([kept["activation"]], "activation", self.activation.options)[0],
            "rate": state_limits.number(kept["rate"], "rate", state_limits.SMALLEST_RATE, state_limits.LARGEST_RATE),
            "seed": state_limits.whole(kept["seed"], "seed", 0, state_limits.LARGEST_SEED),
            "epochs": state_limits.whole(kept["epochs"], "epochs", 0, MOST_EPOCHS),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Show what a snapshot kept; the network learns once more, as it did."""
        self.units.value, self.activation.value = kept["units"], kept["activation"]
        self.rate.value, self.seed.value = kept["rate"], kept["seed"]
        self.renew()
        self.learn(kept["epochs"])
