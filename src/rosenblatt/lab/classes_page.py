"""Several classes: the regions, lines and arrows of W and b, which are changed by hand or by gradient descent."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import panel as pn

from rosenblatt.lab import state_limits
from rosenblatt.lab.canvas import Canvas, arrays, paths, points_source
from rosenblatt.lab.multiclass_gradient import (
    DATA,
    GRADIENTS,
    LECTURE_PENALTY_SLOPE,
    LECTURE_WEIGHTS,
    LOSSES,
    NOTES,
    OBJECTIVE,
    PENALTIES,
    LossAndGradient,
    multiclass_loss_and_gradient,
)
from rosenblatt.lab.periodic import toggled
from rosenblatt.lab.points import THREE_CLASSES
from rosenblatt.plot.drawing import COLOURS

Array = np.ndarray[Any, Any]
NUDGE, PERIOD_MS = 0.1, 100
MOST_STEPS = 10_000  # of gradient descent, per press of the button


def _signed(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", "−")


class ClassesPage:
    """The canvas, the table of W and b with their gradients, the table of points, and the loss."""

    def __init__(self) -> None:
        self.W, self.b = LECTURE_WEIGHTS[0].copy(), LECTURE_WEIGHTS[1].copy()
        self.source = points_source(THREE_CLASSES.X, THREE_CLASSES.y)
        self.canvas = Canvas(self.source)
        self.canvas.fit_window(np.array([[-1.0, -1.0], [1.0, 1.0]]))
        self.source.on_change("data", lambda name, old, new: self._moved(None))
        self.canvas.on_drag(self._moved)
        self.running: Any = None
        self._make_controls()
        self.view = self._layout()
        self.result = self.draw()

    def _moved(self, data: Any) -> None:
        self.draw(data)

    def _make_controls(self) -> None:
        wide = {"sizing_mode": "stretch_width"}
        self.loss = pn.widgets.Select(label="Loss", options=list(LOSSES), **wide)
        self.penalty = pn.widgets.Select(label="Penalty", options=list(PENALTIES), **wide)
        self.gradient = pn.widgets.Select(label="Gradients shown", options=list(GRADIENTS), **wide)
        self.strength = pn.widgets.FloatInput(label="λ", value=0.1, start=0.0, step=0.01, **wide)
        self.rate = pn.widgets.FloatInput(label="Step size", value=0.1, start=0.001, step=0.05, **wide)
        self.label = pn.widgets.RadioButtonGroup(options={"0": "0", "1": "1", "2": "2"}, value="0")
        self.once = pn.widgets.Button(label="One gradient step", css_classes=["descend"])
        self.start = pn.widgets.Button(label="Run gradient descent", color="primary", css_classes=["descent"])
        self.shuffle = pn.widgets.Button(label="Random W, b")
        self.reset = pn.widgets.Button(label="Reset to the lecture")
        for widget in (self.loss, self.penalty, self.strength, self.gradient):
            widget.param.watch(lambda event: self.draw(), "value")
        self.label.param.watch(lambda event: self.canvas.tool.update(empty_value=event.new), "value")
        self.once.on_click(lambda event: self.descend())
        self.start.on_click(lambda event: self.toggle())
        self.shuffle.on_click(lambda event: self.set_weights(*self._random()))
        self.reset.on_click(lambda event: self.restart())
        self.cells: dict[tuple[int, int], Any] = {}
        self.buttons: dict[tuple[int, int, int], Any] = {}
        for k in range(3):
            for j in range(3):
                self.cells[k, j] = pn.pane.HTML("", css_classes=["cell"], width=74)
                for sign in (-1, 1):
                    button = pn.widgets.Button(
                        label="▲" if sign > 0 else "▼",
                        width=30,
                        css_classes=[f"nudge-{k}-{j}-{'up' if sign > 0 else 'down'}"],
                    )
                    button.on_click(partial(self._pressed, k, j, sign * NUDGE))
                    self.buttons[k, j, sign] = button
        self.sentence = pn.pane.HTML("", css_classes=["hint"], **wide)
        self.losses = pn.pane.HTML("", css_classes=["totals"], **wide)
        self.rows = pn.pane.HTML("", css_classes=["scores"], **wide)

    def _random(self) -> tuple[Array, Array]:
        rng = np.random.default_rng()
        return rng.normal(0, 1, (3, 2)).round(2), rng.normal(0, 0.3, 3).round(2)

    def restart(self) -> None:
        """Restore the points and weights of the lecture."""
        self.W, self.b = LECTURE_WEIGHTS[0].copy(), LECTURE_WEIGHTS[1].copy()
        self.source.data = dict(points_source(THREE_CLASSES.X, THREE_CLASSES.y).data)
        self.draw()

    def set_weights(self, W: Array, b: Array) -> None:
        """Replace the weights."""
        self.W, self.b = W, b
        self.draw()

    def nudge(self, k: int, j: int, by: float) -> None:
        """Add `by` to one weight (j = 2 is the bias)."""
        if j == 2:
            self.b[k] += by
        else:
            self.W[k, j] += by
        self.draw()

    def _pressed(self, k: int, j: int, by: float, event: Any) -> None:
        self.nudge(k, j, by)

    def descend(self) -> None:
        """Take one step of gradient descent."""
        self.W = self.W - self.rate.value * self.result.dW
        self.b = self.b - self.rate.value * self.result.db
        self.draw()

    def toggle(self) -> None:
        """Start or stop gradient descent."""
        self.running = toggled(self.running, self.descend, PERIOD_MS, self.toggle, MOST_STEPS)
        self.start.label = "Run gradient descent" if self.running is None else "Stop"

    # -- drawing -----------------------------------------------------------------------------------------------------

    def evaluate(self, data: Any = None) -> LossAndGradient:
        """The losses and gradients of the current weights on the points."""
        X, y = arrays(self.source.data if data is None else data)
        y = np.minimum(y, 2)
        if not len(y):
            nothing = np.zeros((0, 3))
            flat = np.zeros((3, 2))
            return LossAndGradient(nothing, np.zeros(0), 0.0, 0.0, flat, np.zeros(3), flat, 0)
        loss, penalty, strength = self.loss.value, self.penalty.value, self.strength.value or 0.0
        return multiclass_loss_and_gradient(self.W, self.b, X, y, loss, penalty, strength)

    def draw(self, data: Any = None) -> LossAndGradient:
        """Redraw everything from W, b and the points."""
        self.result = result = self.evaluate(data)
        self.canvas.show_class_regions(self.W, self.b)
        self._show_lines()
        slopes = self.shown_gradient()
        for (k, j), cell in self.cells.items():
            value, slope = (self.b[k], result.db[k]) if j == 2 else (self.W[k, j], slopes[k, j])
            name = f"b[{k}]" if j == 2 else f"W[{k},{j}]"
            cell.object = (
                f"<span class='name'>{name}</span><br><b>{_signed(value)}</b><br>"
                f"<span class='slope'>∇ {_signed(slope, 3)}</span>"
            )
        self.sentence.object = GRADIENTS[self.gradient.value]
        self.losses.object = (
            f"data loss <b>{result.data_loss:.4f}</b> + penalty <b>{result.penalty:.4f}</b> = "
            f"<b>{result.data_loss + result.penalty:.4f}</b>; {result.errors} of {len(result.losses)} points wrong"
        )
        self.rows.object = self._table(data)
        return result

    def shown_gradient(self) -> Array:
        """The gradient of W that the table shows."""
        if self.gradient.value == NOTES:
            return self.result.data_dW + LECTURE_PENALTY_SLOPE * self.W
        return self.result.data_dW if self.gradient.value == DATA else self.result.dW

    def _show_lines(self) -> None:
        shown = [k for k in range(3) if self.W[k].any()]
        colours, n = [COLOURS[k] for k in shown], len(shown)
        lines = [self.canvas.line(self.W[k], float(self.b[k])) for k in shown]
        drawn = paths([ends for _, ends in lines], colours)
        self.canvas.lines.data = {**drawn, "dash": ["solid"] * n, "width": [2.0] * n}
        steepness = [float(np.linalg.norm(self.W[k])) for k in shown]
        self.canvas.show_arrows([foot for foot, _ in lines], [self.W[k] for k in shown], colours, steepness)

    def _table(self, data: Any = None) -> str:
        X, y = arrays(self.source.data if data is None else data)
        names = ("x[0]", "x[1]", "y", "s[0]", "s[1]", "s[2]", "L")
        head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
        lines = []
        for x, label, scores, loss in zip(X, y, self.result.scores, self.result.losses, strict=True):
            cells = "".join(
                f"<td class='{'won' if score == scores.max() else ''}'>{_signed(score)}</td>" for score in scores
            )
            colour = COLOURS[min(int(label), 2)]
            lines.append(
                f"<tr><td>{_signed(x[0])}</td><td>{_signed(x[1])}</td><td style='color:{colour}'><b>{label}</b></td>"
                f"{cells}<td>{loss:.2f}</td></tr>"
            )
        mean = f"<tr><td colspan='6'>mean:</td><td><b>{self.result.data_loss:.2f}</b></td></tr>"
        return f"<table>{head}{''.join(lines)}{mean}</table>" if lines else "Click on the canvas to add points."

    def _layout(self) -> Any:
        cells: list[Any] = []
        for k in range(3):
            cells.append(pn.pane.HTML(f"<b style='color:{COLOURS[k]}'>class {k}</b>", width=58))
            for j in range(3):
                pair = pn.Row(self.buttons[k, j, -1], self.buttons[k, j, 1], margin=0)
                cells.append(pn.Column(self.cells[k, j], pair, margin=0))
        grid = pn.GridBox(*cells, ncols=4)
        hint = (
            "Drag the points. Each line is where the score of a class is 0 (it is not a border between classes); its "
            "arrow is W of that class, and longer where the score is steeper. The triangles change a weight by 0.1."
        )
        middle = pn.Column(
            pn.pane.HTML(hint, css_classes=["hint"]),
            self.canvas.pane(),
            pn.Row(pn.pane.HTML("New points"), self.label),
            css_classes=["middle"],
        )
        side = pn.Column(
            grid,
            self.sentence,
            self.losses,
            pn.FlexBox(self.start, self.once, self.shuffle, self.reset),
            css_classes=["weights"],
        )
        choices = pn.Column(
            pn.Row(self.loss, self.penalty),
            pn.Row(self.strength, self.rate),
            self.gradient,
            self.rows,
            css_classes=["table"],
        )
        return pn.FlexBox(middle, side, choices, css_classes=["page"], sizing_mode="stretch_width")

    # -- sharing -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """The state of this page, for a snapshot."""
        X, y = arrays(self.source.data)
        return {
            "W": self.W.tolist(),
            "b": self.b.tolist(),
            "x": X[:, 0].tolist(),
            "y": X[:, 1].tolist(),
            "labels": y.tolist(),
            "loss": self.loss.value,
            "penalty": self.penalty.value,
            "gradient": self.gradient.value,
            "strength": self.strength.value,
            "rate": self.rate.value,
        }

    def read(self, given: Any) -> dict[str, Any]:
        """Check the state of this page in a snapshot; ValueError if a value is out of bounds."""
        given = {"gradient": OBJECTIVE, **given} if isinstance(given, dict) else given  # older links have none
        kept = state_limits.fields(given, "classes", self.state())
        x = state_limits.numbers(kept["x"], "x")
        return {
            "W": [state_limits.numbers(row, "W", 2, 2) for row in state_limits.sequence(kept["W"], "W", 3, 3)],
            "b": state_limits.numbers(kept["b"], "b", 3, 3),
            "x": x,
            "y": state_limits.numbers(kept["y"], "y", len(x), len(x)),
            "labels": state_limits.labels(kept["labels"], "labels", len(x), state_limits.MOST_CLASSES),
            "loss": state_limits.chosen([kept["loss"]], "loss", LOSSES)[0],
            "penalty": state_limits.chosen([kept["penalty"]], "penalty", PENALTIES)[0],
            "gradient": state_limits.chosen([kept["gradient"]], "gradient", GRADIENTS)[0],
            "strength": state_limits.number(kept["strength"], "strength", 0.0, state_limits.LARGEST_RATE),
            "rate": state_limits.number(kept["rate"], "rate", state_limits.SMALLEST_RATE, state_limits.LARGEST_RATE),
        }

    def restore(self, kept: dict[str, Any]) -> None:
        """Restore the checked state of a snapshot."""
        self.W, self.b = np.array(kept["W"]), np.array(kept["b"])
        places = np.column_stack([kept["x"], kept["y"]]).reshape(-1, 2)
        self.source.data = dict(points_source(places, np.array(kept["labels"], dtype=int)).data)
        self.loss.value, self.penalty.value = kept["loss"], kept["penalty"]
        self.gradient.value = kept["gradient"]
        self.strength.value, self.rate.value = kept["strength"], kept["rate"]
        self.draw()
