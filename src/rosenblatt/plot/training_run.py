"""The planes of a training run over two features, as a picture or an animation."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from rosenblatt.learn.number_format import format_number, format_vector
from rosenblatt.plot.drawing import (
    COLOURS,
    Display,
    centre_and_half_sizes,
    foot_and_ends,
    frame_around,
    import_pyplot,
    legend_beside,
    line_across,
    perpendicular,
    require_two_features,
    scatter_by_class,
    set_window,
)

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class RunDisplay(Display):
    """The planes of a run after each update, with early ones drawn faintly, and the arrow w of the last.

    Several classes have a line each, where the score of the class is 0, and arrows in proportion to ‖w‖.

    Attributes
    ----------
    X, y : ndarray
    coef, intercept : ndarray of shape (k, 2) and (k,), or (k, K, 2) and (k, K) for several classes
        The initial planes, then those after each update.
    rows : list of int or None
        The row that made each update.
    ax_, figure_ : set by `plot`
    """

    X: Array
    y: Array
    coef: Array
    intercept: Array
    rows: list[int | None]
    _last: int = field(init=False)

    def plot(self, ax: Any = None, until: int | None = None) -> Self:
        """Draw the planes up to an update.

        Parameters
        ----------
        ax : matplotlib axes, optional
        until : int, optional
            How many updates to draw; all by default.

        Returns
        -------
        self
        """
        self._last = len(self.rows) if until is None else min(until, len(self.rows))
        return super().plot(ax)

    def _draw(self, ax: Any) -> None:
        last = self._last
        frame = frame_around(self.X)
        planes, shifts = self.coef.reshape(len(self.coef), -1, 2), self.intercept.reshape(len(self.coef), -1)
        several = planes.shape[1] > 1
        longest = max(float(np.linalg.norm(planes[last], axis=1).max()), 1e-300)
        middle, sizes = centre_and_half_sizes(frame)
        for j in range(planes.shape[1]):
            line, tip = (COLOURS[j % 8], COLOURS[j % 8]) if several else ("black", COLOURS[4])
            for k in range(last + 1):
                share = (k + 1) / (last + 1)
                style = {"color": line, "alpha": 0.12 + 0.88 * share**3, "linewidth": 0.8 + share}
                ax.plot(*line_across(planes[k, j], shifts[k, j], frame), **style)
            w, b = planes[last, j], float(shifts[last, j])
            if w.any():
                foot, _ = foot_and_ends(w, b, middle, sizes, 1.0)
                way = (0.4 if several else 0.24) * float(np.linalg.norm(w)) / longest * perpendicular(w, sizes)
                style = {"width": 0.006, "angles": "xy", "scale_units": "xy", "scale": 1, "color": tip, "zorder": 5}
                ax.quiver(*foot, *way, **style)
        scatter_by_class(ax, self.X, self.y, np.unique(self.y))
        row = self.rows[last - 1] if last else None
        if row is not None:
            ax.scatter(*self.X[row], s=220, facecolor="none", edgecolor=COLOURS[4], linewidth=2, zorder=4)
        set_window(ax, frame)
        legend_beside(ax)
        now = "" if several else f": w = {format_vector(w)}, b = {format_number(b)}"
        ax.set_title(f"update {last} of {len(self.rows)}{now}", fontsize="medium")


def run(trace: Any, *, ax: Any = None) -> RunDisplay:
    """Plot the planes of a training run over two features.

    Of several classes each has its own line, where its score is 0 (not a border between classes), and an arrow w.

    Parameters
    ----------
    trace : Trace
        The run to draw, as `trace` recorded it.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    RunDisplay
        Its `plot(until=k)` draws the first k updates.

    Examples
    --------
    >>> from rosenblatt import plot, trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> display = plot.run(trace(X, y, fit_intercept=False))
    >>> display.coef
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    >>> display.ax_.get_title()
    'update 2 of 2: w = (1, 1), b = 0'
    """
    return _planes(trace).plot(ax=ax)


def _planes(trace: Any) -> RunDisplay:
    """The planes of a run, not drawn yet."""
    W, b = trace.planes()
    classes = np.unique(np.array(trace.y))
    if not trace.binary and W.shape[1] != (classes.size if trace.classes is None else len(trace.classes)):
        raise ValueError("A run can be drawn for two classes, or for several with one plane per class.")
    if trace.parameters.get("multiclass") == "ovo" and not trace.binary:
        raise ValueError("A run can be drawn for one plane per class, not for one-vs-one.")
    X = require_two_features(np.array(trace.X, dtype=float), "A run")
    if trace.binary:
        W, b = W[:, 0], b[:, 0]
    return RunDisplay(X, np.array(trace.y), W, b, [step.row for step in trace.updates])


def animate(trace: Any, path: Any = None, *, seconds: float = 0.7) -> Any:
    """Animate a run: the plane moves at each update.

    Parameters
    ----------
    trace : Trace
        Of two classes over two features.
    path : str or Path, optional
        A file to write: .gif, .mp4 (needs ffmpeg) or .html, which embeds its pictures.
    seconds : float, default=0.7
        How long each plane is shown.

    Returns
    -------
    matplotlib.animation.FuncAnimation

    Examples
    --------
    >>> from rosenblatt import plot, trace
    >>> run = trace([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    >>> movie = plot.animate(run)
    >>> movie._draw_was_started = True  # keeps matplotlib from warning that it was never drawn
    >>> sum(1 for _ in movie.new_frame_seq())
    3
    """
    plt = import_pyplot()
    from matplotlib.animation import FFMpegWriter, FuncAnimation, PillowWriter

    kind = None if path is None else Path(path).suffix.lower()
    if kind not in (None, ".gif", ".mp4", ".html"):
        raise ValueError(f"{str(path)!r} must end in .gif, .mp4 or .html.")
    if kind == ".mp4" and not FFMpegWriter.isAvailable():
        raise RuntimeError("An MP4 needs ffmpeg on the path; a .gif or .html file needs nothing.")
    display = _planes(trace)
    figure, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")

    def draw(k: int) -> list[Any]:
        ax.clear()
        display.plot(ax, until=k)
        return []

    frames = len(display.rows) + 1
    movie: Any = FuncAnimation(figure, draw, frames=frames, interval=1000 * seconds, init_func=lambda: [])
    if path is None:
        return movie
    if kind == ".html":
        Path(path).write_text(movie.to_jshtml(), encoding="utf-8")
    else:
        writer = PillowWriter if kind == ".gif" else FFMpegWriter
        movie.save(path, writer=writer(fps=cast(Any, 1 / seconds)))
    movie._draw_was_started = True  # saved: matplotlib need not warn that it was never shown
    plt.close(figure)
    return movie
