"""Planes over two features: decision regions, margins, and the planes of a training run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from rosenblatt.show.number_format import format_number, format_vector
from rosenblatt.show.pictures.drawing import (
    COLOURS,
    GRID,
    Display,
    centre_and_half_sizes,
    foot_and_ends,
    frame_around,
    import_pyplot,
    line_across,
    perpendicular,
    require_two_features,
    scatter_by_class,
    set_window,
)

if TYPE_CHECKING:
    from rosenblatt.show.trace import Trace

Array = np.ndarray[Any, Any]


@dataclass
class RegionsDisplay(Display):
    """The decision regions of a model over two features, with its plane, its margin and the rows on the margin.

    Use `from_estimator`.

    Attributes
    ----------
    X, y : ndarray
    classes : ndarray
    grid : (ndarray, ndarray)
        The values of x₁ and x₂ at which the model is evaluated.
    codes : ndarray of shape (GRID, GRID)
        The class predicted at each point, as an index into `classes`.
    coef, intercept : ndarray or None
        The planes, if the model has any.
    margin : float or None
        Geometric margin of two classes, negative if a row is on the wrong side.
    support : ndarray of int
        Rows at the margin.
    slack : ndarray or None
        max(0, 1 − y·f) of each row, if requested.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import Perceptron, RegionsDisplay
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(fit_intercept=False, order="cyclic").fit(X, y)
    >>> display = RegionsDisplay.from_estimator(model, X, y)
    >>> round(display.margin, 4), display.support
    (0.7071, array([0, 1, 2, 3]))
    """

    X: Array
    y: Array
    classes: Array
    grid: tuple[Array, Array]
    codes: Array
    coef: Array | None
    intercept: Array | None
    margin: float | None
    support: Array
    slack: Array | None = None

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, slack: bool = False, ax: Any = None) -> RegionsDisplay:
        """Draw the regions of a fitted classifier, and rows.

        Parameters
        ----------
        model : fitted classifier
        X : array-like of shape (n, 2)
        y : array-like of shape (n,)
        slack : bool, default=False
            Instead of the margin, draw the lines y·f = 1 of the soft margin and the slack of each row that falls short
            of its line; for one plane between two classes.
        ax : matplotlib axes, optional

        Returns
        -------
        RegionsDisplay
        """
        rows, labels = require_two_features(X, "A picture of regions"), np.asarray(y)
        left, right, bottom, top = frame_around(rows)
        across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
        points = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
        classes = np.asarray(model.classes_)
        codes = np.searchsorted(classes, model.predict(points)).reshape(GRID, GRID)
        coef, intercept, margin, support = None, None, None, np.zeros(0, dtype=int)
        if hasattr(model, "coef_") and np.atleast_2d(model.coef_).shape[1] == 2:
            coef, intercept = np.atleast_2d(model.coef_).astype(float), np.atleast_1d(model.intercept_).astype(float)
            if len(coef) == 1 and classes.size == 2 and coef.any():
                sides = np.where(labels == classes[1], 1.0, -1.0)
                distances = sides * (rows @ coef[0] + intercept[0]) / np.linalg.norm(coef[0])
                margin = float(distances.min())
                support = np.flatnonzero(distances <= margin + 1e-6 * max(1.0, abs(margin)))
        short = None
        if slack:
            if margin is None or coef is None or intercept is None:
                raise ValueError("Slack is drawn for one plane between two classes.")
            short = np.maximum(0.0, 1.0 - sides * (rows @ coef[0] + intercept[0]))
        shown = cls(rows, labels, classes, (across, up), codes, coef, intercept, margin, support, short)
        return shown.plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import ListedColormap

        across, up = self.grid
        colours = ListedColormap([COLOURS[k % 8] for k in range(max(2, self.classes.size))])
        ax.pcolormesh(
            across, up, self.codes, cmap=colours, vmin=0, vmax=colours.N - 1, alpha=0.18, shading="nearest", zorder=0,
            rasterized=True,
        )  # fmt: skip
        frame = (across[0], across[-1], up[0], up[-1])
        if self.coef is not None and self.intercept is not None and len(self.coef) == 1:
            w, b = self.coef[0], float(self.intercept[0])
            ax.plot(*line_across(w, b, frame), color="black", linewidth=1.6, label="plane")
            if self.slack is not None:
                self._draw_slack(ax, w, b, frame)
            elif self.margin is not None and self.margin > 0:
                reach = self.margin * float(np.linalg.norm(w))
                for shift in (-reach, reach):
                    ax.plot(*line_across(w, b + shift, frame), color="black", linewidth=0.9, linestyle="--")
                held = self.X[self.support]
                ax.scatter(
                    held[:, 0], held[:, 1], s=160, facecolor="none", edgecolor="black", label="at the margin", zorder=4
                )
        scatter_by_class(ax, self.X, self.y, self.classes)
        set_window(ax, frame)
        ax.legend(loc="best", fontsize="small")
        if self.slack is not None:
            ax.set_title(f"{np.count_nonzero(self.slack)} rows short of y·f = 1, by {self.slack.sum():.4g} in all")
        elif self.margin is not None:
            ax.set_title(f"margin {self.margin:.4g}" if self.margin > 0 else "rows on the wrong side")

    def _draw_slack(self, ax: Any, w: Array, b: float, frame: Any) -> None:
        """Draw the lines y·f = 1, and from each row the distance by which it falls short of its line."""
        assert self.slack is not None
        for side in (-1.0, 1.0):
            ax.plot(*line_across(w, b + side, frame), color="black", linewidth=0.9, linestyle="--")
        sides = np.where(self.y == self.classes[1], 1.0, -1.0)
        ends = self.X + (sides * self.slack)[:, None] * w / (w @ w)
        label = "slack ξ = max(0, 1 − y·f)"
        for row in np.flatnonzero(self.slack):
            pair = np.stack([self.X[row], ends[row]])
            ax.plot(pair[:, 0], pair[:, 1], color=COLOURS[4], linewidth=1.5, zorder=2, label=label)
            label = "_"


@dataclass
class RunDisplay(Display):
    """The planes of a run, one after each update, with early ones drawn faintly.

    Use `from_trace`.

    Attributes
    ----------
    X, y : ndarray
    coef, intercept : ndarray of shape (k, 2) and (k,)
        The initial plane, then one plane per update.
    rows : list of int or None
        The row that made each update.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import RunDisplay, trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> RunDisplay.from_trace(trace(X, y, fit_intercept=False)).coef
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    """

    X: Array
    y: Array
    coef: Array
    intercept: Array
    rows: list[int | None]
    _last: int = field(init=False, repr=False)

    @classmethod
    def from_trace(cls, trace: Trace, *, ax: Any = None) -> RunDisplay:
        """Draw a run on two classes over two features.

        Parameters
        ----------
        trace : Trace
        ax : matplotlib axes, optional

        Returns
        -------
        RunDisplay
        """
        return cls._of(trace).plot(ax=ax)

    @classmethod
    def _of(cls, trace: Trace) -> RunDisplay:
        if not trace.binary:
            raise ValueError("A run can be drawn for two classes, which have one plane.")
        X = require_two_features(np.array(trace.X, dtype=float), "A run")
        W, b = trace.planes()
        return cls(X, np.array(trace.y), W[:, 0], b[:, 0], [step.row for step in trace.updates])

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
        for k in range(last + 1):
            share = (k + 1) / (last + 1)
            style = {"color": "black", "alpha": 0.12 + 0.88 * share**3, "linewidth": 0.8 + share}
            ax.plot(*line_across(self.coef[k], self.intercept[k], frame), **style)
        w, b = self.coef[last], self.intercept[last]
        if w.any():
            middle, sizes = centre_and_half_sizes(frame)
            foot, _ = foot_and_ends(w, b, middle, sizes, 1.0)
            tip = 0.24 * perpendicular(w, sizes)
            arrow = {"width": 0.006, "angles": "xy", "scale_units": "xy", "scale": 1, "color": COLOURS[4], "zorder": 5}
            ax.quiver(*foot, *tip, **arrow)
        scatter_by_class(ax, self.X, self.y, np.unique(self.y))
        row = self.rows[last - 1] if last else None
        if row is not None:
            ax.scatter(*self.X[row], s=220, facecolor="none", edgecolor=COLOURS[4], linewidth=2, zorder=4)
        set_window(ax, frame)
        ax.legend(loc="best", fontsize="small")
        ax.set_title(
            f"update {last} of {len(self.rows)}: w = {format_vector(w)}, b = {format_number(b)}", fontsize="medium"
        )


def plot_regions(model: Any, X: Any, y: Any, *, slack: bool = False, ax: Any = None) -> Any:
    """Plot the decision regions of a model over two features, with its plane, its margin and the rows on the margin.

    Parameters
    ----------
    model : fitted classifier
    X : array-like of shape (n, 2)
    y : array-like of shape (n,)
    slack : bool, default=False
        Draw the slack of the rows with y·f < 1 (the soft margin) instead of the margin.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot_regions
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> plot_regions(Perceptron(fit_intercept=False, order="cyclic").fit(X, y), X, y).get_title()
    'margin 0.7071'
    """
    return RegionsDisplay.from_estimator(model, X, y, slack=slack, ax=ax).ax_


def plot_run(trace: Trace, *, ax: Any = None) -> Any:
    """Plot the planes of a training run on two classes over two features.

    Parameters
    ----------
    trace : Trace
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import plot_run, trace
    >>> run = trace([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    >>> plot_run(run).get_title()
    'update 2 of 2: w = (1, 1), b = 0'
    """
    return RunDisplay.from_trace(trace, ax=ax).ax_


def animate(trace: Trace, path: Any = None, *, seconds: float = 0.7) -> Any:
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
    >>> from rosenblatt import animate, trace
    >>> run = trace([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    >>> movie = animate(run)
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
    display = RunDisplay._of(trace)
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
