"""Shared by all pictures: the import of matplotlib, colour-blind safe colours, and the geometry of a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from rosenblatt.formats.arrow import check_buffers
from rosenblatt.formats.sparse_checks import well_formed

Array = np.ndarray[Any, Any]

# Okabe and Ito's colours, each with a marker, so that classes differ by more than colour.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_RANGE_RATIO = 8  # features whose ranges differ by a larger factor get separate scales
GRID = 200  # points per side of a picture of regions


def import_pyplot() -> Any:
    """Import matplotlib.pyplot, or say how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "rosenblatt[plot]"') from error
    return plt


@dataclass(kw_only=True, repr=False)
class Display:
    """A picture: the data it shows and, once drawn, its axes and figure, as in scikit-learn's displays."""

    ax_: Any = None
    figure_: Any = None

    def __repr__(self) -> str:
        """The name alone: the data are many, and most pictures are the last line of a cell."""
        return f"<{type(self).__name__}>"

    def plot(self, ax: Any = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New axes by default.

        Returns
        -------
        self
        """
        if ax is None:
            settings = {
                "figsize": self._size(),
                "layout": "constrained",
                "subplot_kw": {"projection": self._projection()},
            }
            ax = import_pyplot().subplots(**settings)[1]
        self.ax_ = ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _size(self) -> tuple[float, float]:
        """Width and height in inches of a new figure."""
        return 6.0, 4.5

    def _projection(self) -> str | None:
        """The kind of new axes: "3d" for a picture in three dimensions."""
        return None

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


Frame = tuple[float, float, float, float]


def frame_around(X: Array, room: float = 0.15) -> Frame:
    """The limits of a window around rows of two features: left, right, bottom, top."""
    low, high = X.min(axis=0), X.max(axis=0)
    spans = high - low
    pad = spans * room if _ranges_differ(spans) else np.full(2, (spans.max() or 1 / room) * room)
    return float(low[0] - pad[0]), float(high[0] + pad[0]), float(low[1] - pad[1]), float(high[1] + pad[1])


def _ranges_differ(spans: Array) -> bool:
    """Whether the ranges of two features are so different that they need separate scales."""
    return bool(spans.min() > 0 and spans.max() > MOST_RANGE_RATIO * spans.min())


def centre_and_half_sizes(frame: Frame) -> tuple[Array, Array]:
    """The centre of a window and half its width and height; if both axes share a scale, the longer half for both."""
    left, right, bottom, top = frame
    spans = np.array([right - left, top - bottom])
    sizes = spans / 2 if _ranges_differ(spans) else np.full(2, spans.max() / 2)
    return np.array([(left + right) / 2, (bottom + top) / 2]), sizes


def foot_and_ends(w: Array, b: float, middle: Array, sizes: Array, far: float) -> tuple[Array, Array]:
    """The point of the line w·x + b = 0 that is drawn nearest to the centre, and two points of it far outside."""
    square = w * sizes  # w in coordinates in which the window is a square
    foot = middle - (w @ middle + b) / (square @ square) * square * sizes
    along = far * np.array([-w[1], w[0]]) / np.linalg.norm(w) * sizes.max()
    return foot, np.array([foot - along, foot + along])


def perpendicular(w: Array, sizes: Array) -> Array:
    """The vector that is drawn perpendicular to the line of w, half as long as the window."""
    return np.asarray(w * sizes / np.linalg.norm(w * sizes) * sizes)


def require_two_features(X: Any, what: str) -> Array:
    """X as an array of shape (n, 2); ValueError if it has another shape."""
    check_buffers(X, "X")
    rows = np.asarray(well_formed(X).toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"{what} is drawn for rows of two features; X has shape {rows.shape}.")
    return rows


def scatter_by_class(ax: Any, X: Array, y: Array, classes: Array) -> None:
    """Draw rows, each class with its own colour and marker."""
    for k, name in enumerate(classes):
        mine = y == name
        style = {"color": COLOURS[k % 8], "marker": MARKERS[k % 8], "edgecolor": "white", "linewidth": 0.8}
        ax.scatter(X[mine, 0], X[mine, 1], s=45, zorder=3, label=f"class {name}", **style)


def legend_beside(ax: Any) -> None:
    """Put the legend to the right of the axes, where it covers no point."""
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)


def count_in_whole_numbers(*axes: Any) -> None:
    """Put the ticks of these axes, which count something, at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    for axis in axes:
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))


def line_across(w: Array, b: float, frame: Frame) -> tuple[Array, Array]:
    """Two points of the line w·x + b = 0 outside the frame, as (x, y) for `plot`; NaN if w is zero."""
    if not w.any():
        return np.full(2, np.nan), np.full(2, np.nan)
    _, ends = foot_and_ends(w, b, *centre_and_half_sizes(frame), far=4.0)
    return ends[:, 0], ends[:, 1]


def set_window(ax: Any, frame: Frame, names: tuple[str, str] = ("x₁", "x₂")) -> None:
    """Set the limits, axis labels and aspect of a picture of two features."""
    ax.set(xlim=frame[:2], ylim=frame[2:], xlabel=names[0], ylabel=names[1])
    if not _ranges_differ(np.array([frame[1] - frame[0], frame[3] - frame[2]])):
        ax.set_aspect("equal", adjustable="box")
