"""What the pages of one visitor share: points, settings, the run, the step they stand at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from rosenblatt.show.lab.canvas import arrays, points_source
from rosenblatt.show.lab.points import LECTURES, Points, Table, principal
from rosenblatt.show.lab.runs import Run, Settings, learn
from rosenblatt.show.lab.sharing import Snapshot
from rosenblatt.show.verdict import Verdict, separability_verdict

Array = np.ndarray[Any, Any]
FIRST = "CUHK: through the origin"


class Session:
    """The state behind the pages; pages listen and draw."""

    def __init__(self, table: Table | None = None) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.settings = Settings()
        self.classes: tuple[str, ...] = ("−", "+")
        self.note = ""
        self.axes: tuple[str, str] = ("x₁", "x₂")
        self.step = 0
        self.table = table
        self.full: tuple[Array, Array, Array] | None = None  # all columns, mean, directions: a projection is shown
        self.loaded: Points | None = None  # what is shown as it was loaded, until it is changed
        self.X, self.y = np.zeros((0, 2)), np.zeros(0, dtype=int)
        self.source = points_source(self.X, self.y)
        self.run: Run | None = None
        self.verdict: Verdict | None = None
        self._quiet = False
        self.source.on_change("data", lambda name, old, new: self.dropped(new))
        self.load(LECTURES[FIRST])

    # -- what is shown -----------------------------------------------------------------------------------------------

    @property
    def ready(self) -> str | None:
        """None, or what must be done before anything can be learned."""
        kinds = np.unique(self.y)
        if not len(self.y):
            return "The canvas is empty: click on it to add points, or choose an example."
        if kinds.size < 2:
            return "All points are of one class: choose the other class and click, to add a point of it."
        return None

    @property
    def rows(self) -> Array:
        """What is learned from: the points, or all columns when they are a projection."""
        return self.X if self.full is None else self.full[0]

    def binary(self) -> Array:
        """The labels as two classes: the first against the others."""
        return (self.y > 0).astype(int)

    def plane(self, k: int | None = None) -> tuple[Array, float]:
        """W and b after k updates, as the picture shows them: of a projection, where the plane cuts it."""
        assert self.run is not None
        k = self.step if k is None else k
        w, b = self.run.W[k], float(self.run.b[k])
        if self.full is None:
            return w, b
        _, mean, directions = self.full
        return directions @ w, float(b + w @ mean)

    # -- changes -----------------------------------------------------------------------------------------------------

    def load(self, points: Points, full: tuple[Array, Array, Array] | None = None) -> None:
        """Other points, with the settings that belong to them."""
        self.settings = replace(Settings(), **points.settings)
        self.classes, self.note, self.axes, self.full = points.classes, points.note, points.axes, full
        self.loaded = points
        self._place(points.X, points.y)
        self.relearn(0)

    def clear(self) -> None:
        """No points at all."""
        self.full = self.loaded = None
        self.note = ""
        self._place(np.zeros((0, 2)), np.zeros(0, dtype=int))
        self.relearn(0)

    def _place(self, X: Array, y: Array) -> None:
        self.X, self.y = X, y
        self._quiet = True
        try:
            self.source.selected.indices = []
            self.source.data = dict(points_source(X, y).data)
        finally:
            self._quiet = False

    def dropped(self, data: Any) -> None:
        """The browser moved, added or deleted points."""
        if self._quiet:
            return
        self.moved(data)

    def moved(self, data: Any) -> None:
        """Points are somewhere else: during a drag and after it."""
        X, y = arrays(data)
        same = X.shape == self.X.shape and np.array_equal(X, self.X) and np.array_equal(y, self.y)
        if same:
            return
        if self.full is not None:  # points of a projection stay where they are
            self._place(self.X, self.y)
            return
        at_end = self.run is not None and self.step == self.run.updates
        self.X, self.y, self.loaded, self.note = X, y, None, ""
        self.relearn(None if at_end and self.step else self.step)

    def set(self, **changes: Any) -> None:
        """Other settings; ValueError, and no change, where they are none."""
        self.settings = Settings.read(asdict(replace(self.settings, **changes)))
        self.relearn(0)

    def relearn(self, step: int | None) -> None:
        """Run again, and stand at a step: None is the last."""
        self.run, self.verdict = None, None
        if self.ready is None:
            y = self.binary()
            self.run = learn(self.rows, y, self.settings)
            self.verdict = separability_verdict(self.rows, y, self.settings.bias != "none")
            self.step = self.run.updates if step is None else max(0, min(step, self.run.updates))
        else:
            self.step = 0
        self.changed()

    def go(self, step: int) -> None:
        """Stand at another step."""
        if self.run is not None:
            self.step = max(0, min(step, self.run.updates))
            self.changed()

    def edit(self, action: str) -> str:
        """Delete or relabel the points that are selected; a sentence when there are none."""
        chosen = [k for k in self.source.selected.indices if k < len(self.y)]
        if not chosen:
            return "Click on a point to select it first (with Shift for several)."
        if self.full is not None:
            return "A projection of more columns is only looked at: choose two columns to edit points."
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
        """Tell the pages."""
        for listener in self.listeners:
            listener()

    # -- sharing -----------------------------------------------------------------------------------------------------

    def snapshot(self, page: int = 0, pages: dict[str, Any] | None = None) -> Snapshot:
        """All that is shown."""
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
            () if self.full is None else tuple(tuple(row) for row in self.full[0].tolist()),
            pages or {},
        )

    def restore(self, shot: Snapshot) -> None:
        """Show what a snapshot shows."""
        self.classes, self.axes, self.note, self.loaded = shot.classes, shot.axes, shot.note, None
        columns = np.array(shot.columns, dtype=float)
        self.full = (columns, *principal(columns)) if len(columns) else None
        self.settings = shot.settings
        self._place(np.column_stack([shot.x, shot.y]).reshape(-1, 2), np.array(shot.labels, dtype=int))
        self.relearn(shot.step)
