"""The state that the pages of one visitor share: points, settings, the run and its current step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from rosenblatt.lab.canvas import arrays, points_source
from rosenblatt.lab.points import LECTURES, CSVTable, Points, principal_directions
from rosenblatt.lab.runs import Run, RunSettings, run_perceptron
from rosenblatt.lab.sharing import Snapshot
from rosenblatt.plot.verdict import Verdict, separability_verdict

Array = np.ndarray[Any, Any]
FIRST = "CUHK: through the origin"


class Session:
    """The shared state; pages add a listener and redraw when it changes."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.settings = RunSettings()
        self.classes: tuple[str, ...] = ("−", "+")
        self.note = ""
        self.axes: tuple[str, str] = ("x₁", "x₂")
        self.step = 0
        self.table: CSVTable | None = None
        self.projection: tuple[Array, Array, Array] | None = None  # all columns, mean, directions
        self.loaded: Points | None = None  # None once a point was changed
        self.X, self.y = np.zeros((0, 2)), np.zeros(0, dtype=int)
        self.source = points_source(self.X, self.y)
        self.run: Run | None = None
        self.verdict: Verdict | None = None
        self._placing = False
        self.source.on_change("data", lambda name, old, new: self.dropped(new))
        self.load(LECTURES[FIRST])

    # -- reading the state -------------------------------------------------------------------------------------------

    @property
    def missing(self) -> str | None:
        """What the user must do before training can start, or None."""
        kinds = np.unique(self.y)
        if not len(self.y):
            return "The canvas is empty: click on it to add points, or choose an example."
        if kinds.size < 2:
            return "All points are of one class: select the other class and click to add a point."
        return None

    @property
    def rows(self) -> Array:
        """The training rows: the points, or all columns if the points are a projection."""
        return self.X if self.projection is None else self.projection[0]

    def binary(self) -> Array:
        """The labels as two classes: 0 for the first class, 1 for the others."""
        return (self.y > 0).astype(int)

    def plane(self) -> tuple[Array, float]:
        """The current w and b in the coordinates of the picture; of a projection, where the plane intersects it."""
        assert self.run is not None
        w, b = self.run.W[self.step], float(self.run.b[self.step])
        if self.projection is None:
            return w, b
        _, mean, directions = self.projection
        return directions @ w, float(b + w @ mean)

    # -- changes -----------------------------------------------------------------------------------------------------

    def load(self, points: Points, projection: tuple[Array, Array, Array] | None = None) -> None:
        """Replace the points, and take over their settings."""
        self.settings = replace(RunSettings(), **points.settings)
        self.classes, self.note, self.axes, self.projection = points.classes, points.note, points.axes, projection
        self.loaded = points
        self._place(points.X, points.y)
        self.relearn(0)

    def clear(self) -> None:
        """Remove all points."""
        self.projection = self.loaded = None
        self.note = ""
        self._place(np.zeros((0, 2)), np.zeros(0, dtype=int))
        self.relearn(0)

    def _place(self, X: Array, y: Array) -> None:
        self.X, self.y = X, y
        self._placing = True
        try:
            self.source.selected.indices = []
            self.source.data = dict(points_source(X, y).data)
        finally:
            self._placing = False

    def dropped(self, data: Any) -> None:
        """The browser moved, added or deleted points."""
        if self._placing:
            return
        self.moved(data)

    def moved(self, data: Any) -> None:
        """Take over moved points, during a drag and after it."""
        X, y = arrays(data)
        same = X.shape == self.X.shape and np.array_equal(X, self.X) and np.array_equal(y, self.y)
        if same:
            return
        if self.projection is not None:  # points of a projection cannot be moved
            self._place(self.X, self.y)
            return
        at_end = self.run is not None and self.step == self.run.updates
        self.X, self.y, self.loaded, self.note = X, y, None, ""
        self.relearn(None if at_end and self.step else self.step)

    def set(self, **changes: Any) -> None:
        """Change settings; ValueError, and no change, if they are not valid."""
        self.settings = RunSettings.read(asdict(replace(self.settings, **changes)))
        self.relearn(0)

    def relearn(self, step: int | None) -> None:
        """Run again and go to a step; None is the last."""
        self.run, self.verdict = None, None
        if self.missing is None:
            y = self.binary()
            self.run = run_perceptron(self.rows, y, self.settings)
            self.verdict = separability_verdict(self.rows, y, self.settings.bias != "none")
            self.step = self.run.updates if step is None else max(0, min(step, self.run.updates))
        else:
            self.step = 0
        self.changed()

    def go(self, step: int) -> None:
        """Go to another step."""
        if self.run is not None:
            self.step = max(0, min(step, self.run.updates))
            self.changed()

    def edit(self, action: str) -> str:
        """Delete or relabel the selected points; return a message if that is not possible, else ''."""
        chosen = [k for k in self.source.selected.indices if k < len(self.y)]
        if not chosen:
            return "Click on a point to select it first (hold Shift for several)."
        if self.projection is not None:
            return "Points of a projection cannot be edited: choose two columns to edit points."
        X, y = self.X.copy(), self.y.copy()
        if action == "delete":
            keep = np.setdiff1d(np.arange(len(y)), chosen)
            X, y = X[keep], y[keep]
        else:
            y[chosen] = (y[chosen] + 1) % len(self.classes)
        self.loaded, self.note = None, ""
        self._place(X, y)
        self.relearn(self.step)
        return ""

    def changed(self) -> None:
        """Call all listeners."""
        for listener in self.listeners:
            listener()

    # -- sharing -----------------------------------------------------------------------------------------------------

    def snapshot(self, page: int = 0, pages: dict[str, Any] | None = None) -> Snapshot:
        """The state as a snapshot, with that of the pages."""
        return Snapshot(
            tuple(self.X[:, 0].tolist()),
            tuple(self.X[:, 1].tolist()),
            tuple(int(k) for k in self.y),
            self.classes,
            self.settings,
            self.step,
            page,
            self.axes,
            self.note,
            () if self.projection is None else tuple(tuple(row) for row in self.projection[0].tolist()),
            pages or {},
        )

    def restore(self, shot: Snapshot) -> None:
        """Restore the state of a snapshot."""
        self.classes, self.axes, self.note = shot.classes, shot.axes, shot.note
        columns = np.array(shot.columns, dtype=float)
        self.projection = (columns, *principal_directions(columns)) if len(columns) else None
        self.settings = shot.settings
        X, y = np.column_stack([shot.x, shot.y]).reshape(-1, 2), np.array(shot.labels, dtype=int)
        examples = [one for one in LECTURES.values() if np.array_equal(one.X, X) and np.array_equal(one.y, y)]
        self.loaded = examples[0] if examples else None
        self._place(X, y)
        self.relearn(shot.step)
