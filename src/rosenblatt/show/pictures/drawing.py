"""What all pictures share: matplotlib when it is there, colours that the colour-blind can tell apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from rosenblatt.data.arrow_checks import check_buffers
from rosenblatt.data.sparse_checks import well_formed

Array = np.ndarray[Any, Any]

# Okabe and Ito's colours, and a marker with each, so that no class is told by colour alone.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
UNLIKE = 8  # features whose ranges differ by more are drawn on scales of their own
GRID = 200  # points a side of a picture of regions


def matplotlib() -> Any:
    """Matplotlib's pyplot, or a sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "rosenblatt[plot]"') from error
    return plt


@dataclass(kw_only=True)
class Display:
    """A picture: the data it shows, and once it is drawn its axes and figure, as scikit-learn's displays have them."""

    ax_: Any = field(default=None, repr=False)
    figure_: Any = field(default=None, repr=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            By default new ones.

        Returns
        -------
        self
        """
        self.ax_ = matplotlib().subplots(figsize=self._size(), layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _size(self) -> tuple[float, float]:
        """Inches across and up, for new axes."""
        return 6.0, 4.5

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError


Frame = tuple[float, float, float, float]


def frame_of(X: Array, room: float = 0.15) -> Frame:
    """A window around rows of two features: left, right, bottom, top."""
    low, high = X.min(axis=0), X.max(axis=0)
    spans = high - low
    pad = spans * room if _unlike(spans) else np.full(2, (spans.max() or 1 / room) * room)
    return float(low[0] - pad[0]), float(high[0] + pad[0]), float(low[1] - pad[1]), float(high[1] + pad[1])


def _unlike(spans: Array) -> bool:
    """Whether two features are of such different ranges that each needs a scale of its own."""
    return bool(spans.min() > 0 and spans.max() > UNLIKE * spans.min())


def middle_and_sizes(frame: Frame) -> tuple[Array, Array]:
    """The middle of a window, and half its sides; of one scale in both directions, the longer for both."""
    left, right, bottom, top = frame
    spans = np.array([right - left, top - bottom])
    sizes = spans / 2 if _unlike(spans) else np.full(2, spans.max() / 2)
    return np.array([(left + right) / 2, (bottom + top) / 2]), sizes


def crossing(w: Array, b: float, middle: Array, sizes: Array, far: float) -> tuple[Array, Array]:
    """The point of w·x + b = 0 nearest to the middle of a window, as it is seen, and two ends of it far outside."""
    square = w * sizes  # w in a picture whose window is a square
    foot = middle - (w @ middle + b) / (square @ square) * square * sizes
    along = far * np.array([-w[1], w[0]]) / np.linalg.norm(w) * sizes.max()
    return foot, np.array([foot - along, foot + along])


def square_to(w: Array, sizes: Array) -> Array:
    """The direction that looks square to the line of w, a side of the window long."""
    return np.asarray(w * sizes / np.linalg.norm(w * sizes) * sizes)


def two_features(X: Any, what: str) -> Array:
    """Rows of two features, or a sentence."""
    check_buffers(X, "X")
    rows = np.asarray(well_formed(X).toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"{what} is drawn for rows of two features; X has shape {rows.shape}.")
    return rows


def scatter(ax: Any, X: Array, y: Array, classes: Array) -> None:
    """Rows, each class with its colour and marker."""
    for k, name in enumerate(classes):
        mine = y == name
        style = {"color": COLOURS[k % 8], "marker": MARKERS[k % 8], "edgecolor": "white", "linewidth": 0.8}
        ax.scatter(X[mine, 0], X[mine, 1], s=45, zorder=3, label=f"class {name}", **style)


def line(w: Array, b: float, frame: Frame) -> tuple[Array, Array]:
    """Two points of the line w·x + b = 0, far enough apart to cross the frame; NaN where w is zero."""
    if not w.any():
        return np.full(2, np.nan), np.full(2, np.nan)
    _, ends = crossing(w, b, *middle_and_sizes(frame), far=4.0)
    return ends[:, 0], ends[:, 1]


def window(ax: Any, frame: Frame, names: tuple[str, str] = ("x₁", "x₂")) -> None:
    """Limits and labels of a picture of two features."""
    ax.set(xlim=frame[:2], ylim=frame[2:], xlabel=names[0], ylabel=names[1])
    if not _unlike(np.array([frame[1] - frame[0], frame[3] - frame[2]])):
        ax.set_aspect("equal", adjustable="box")
