"""Sharing: the state as a link or file, and exports of the picture, the trace and the code."""

from __future__ import annotations

import io
from collections.abc import Callable
from html import escape

import numpy as np
import panel as pn

from rosenblatt.lab.session import Session
from rosenblatt.lab.sharing import Snapshot
from rosenblatt.learn.number_format import counted
from rosenblatt.tracing.trace import trace


class SharePage:
    """Offers links and files, and restores the state from a file."""

    def __init__(
        self,
        session: Session,
        snapshot: Callable[[], Snapshot],
        restore: Callable[[Snapshot], None],
        address: Callable[[], str],
    ) -> None:
        self.session, self.snapshot, self.restore, self.address = session, snapshot, restore, address
        self.shown = False
        self.link = pn.widgets.TextInput(label="Link", css_classes=["link"], sizing_mode="stretch_width")
        self.code = pn.widgets.TextAreaInput(
            label="Python code that reproduces it",
            rows=12,
            css_classes=["code"],
            sizing_mode="stretch_width",
            max_length=2_000_000,
            stylesheets=["textarea { font-family: ui-monospace, monospace; font-size: 13px; }"],
        )
        self.message = pn.pane.HTML("", css_classes=["message"])
        self.upload = pn.widgets.FileInput(accept=".json", css_classes=["restore"])
        self.upload.param.watch(lambda event: self._open(event.new), "value")
        made = {
            "state": (self.state_file, "lab.json"),
            "picture": (self.picture, "lab.png"),
            "trace": (self.trace_file, "trace.json"),
            "code": (self.code_file, "lab.py"),
        }
        self.files = {
            name: pn.widgets.FileDownload(
                callback=make, filename=file, label=f"{name.capitalize()} ({file})", width=190
            )
            for name, (make, file) in made.items()
        }
        self.view = pn.Column(
            pn.pane.HTML("<h3>Share what you see</h3>"),
            self.link,
            pn.FlexBox(*self.files.values()),
            pn.Row(pn.pane.HTML("Restore from a file:"), self.upload),
            self.message,
            self.code,
            sizing_mode="stretch_width",
        )

    def draw(self) -> None:
        """Update the link and the code."""
        state = self.snapshot()
        query = state.to_link()
        self.link.value = f"{self.address()}{query}" if query else "Too many points for a link: use the file."
        self.code.value = state.code()

    def _open(self, data: bytes | None) -> None:
        if data is None:
            return
        try:
            state = Snapshot.from_json(data.decode("utf-8", errors="replace"))
            self.restore(state)
            self.message.object = "Restored."
        except ValueError as error:
            self.message.object = escape(str(error))

    def state_file(self) -> io.BytesIO:
        """The state as a file."""
        return io.BytesIO(self.snapshot().to_json().encode())

    def code_file(self) -> io.BytesIO:
        """The code as a file."""
        return io.BytesIO(self.snapshot().code().encode())

    def trace_file(self) -> io.BytesIO:
        """Every visit of the run, as JSON that `Trace.from_json` replays."""
        session = self.session
        if session.missing is not None:
            return io.BytesIO(session.missing.encode())
        rows, settings = session.rows, session.settings
        run = trace(rows, session.binary(), **settings.parameters(len(rows)), **settings.initial_plane(rows.shape[1]))
        return io.BytesIO(run.to_json().encode())

    def picture(self) -> io.BytesIO:
        """The current plane as a PNG."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        from rosenblatt.plot.drawing import frame_around, line_across, scatter_by_class, set_window

        session, out = self.session, io.BytesIO()
        drawing = Figure(figsize=(7, 5.5), layout="constrained")
        FigureCanvasAgg(drawing)
        ax = drawing.add_subplot()
        if session.run is not None:
            frame = frame_around(session.X)
            w, b = session.plane()
            ax.plot(*line_across(w, b, frame), color="black", linewidth=2)
            scatter_by_class(ax, session.X, session.y, np.unique(session.y))
            set_window(ax, frame, session.axes)
            ax.set_title(f"after {session.step} of {counted(session.run.updates, 'update')}")
        drawing.savefig(out, format="png", dpi=130)
        out.seek(0)
        return out
