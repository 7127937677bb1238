"""What all pictures share: matplotlib when it is there, colours that the colour-blind can tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Okabe and Ito's colours, and a marker with each, so that no class is told by colour alone.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
GRID = 200  # points a side of a picture of regions


def matplotlib() -> Any:
    """Matplotlib's pyplot, or a sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "rosenblatt[plot]"') from error
    return plt


def axes(ax: Any = None, size: tuple[float, float] = (6.0, 4.5)) -> Any:
    """The axes to draw on: those given, or new ones."""
    if ax is not None:
        return ax
    return matplotlib().subplots(figsize=size, layout="constrained")[1]


def frame_of(X: Array, room: float = 0.15) -> tuple[float, float, float, float]:
    """A window around rows of two features: left, right, bottom, top."""
    low, high = X.min(axis=0), X.max(axis=0)
    pad = np.maximum((high - low).max() * room, 0.5)
    return float(low[0] - pad), float(high[0] + pad), float(low[1] - pad), float(high[1] + pad)


def two_features(X: Any, what: str) -> Array:
    """Rows of two features, or a sentence."""
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"{what} is drawn for rows of two features; X has shape {rows.shape}.")
    return rows


def scatter(ax: Any, X: Array, y: Array, classes: Array) -> None:
    """Rows, each class with its colour and marker."""
    for k, name in enumerate(classes):
        mine = y == name
        style = {"color": COLOURS[k % 8], "marker": MARKERS[k % 8], "edgecolor": "white", "linewidth": 0.8}
        ax.scatter(X[mine, 0], X[mine, 1], s=45, zorder=3, label=f"class {name}", **style)


def line(w: Array, b: float, frame: tuple[float, float, float, float]) -> tuple[Array, Array]:
    """Two points of the line w·x + b = 0, far enough apart to cross the frame; NaN where w is zero."""
    length2 = float(w @ w)
    if length2 == 0:
        return np.full(2, np.nan), np.full(2, np.nan)
    left, right, bottom, top = frame
    centre = np.array([(left + right) / 2, (bottom + top) / 2])
    foot = centre - (w @ centre + b) / length2 * w
    along = np.array([-w[1], w[0]]) / np.sqrt(length2) * 2 * max(right - left, top - bottom)
    return np.array([foot[0] - along[0], foot[0] + along[0]]), np.array([foot[1] - along[1], foot[1] + along[1]])


def window(ax: Any, frame: tuple[float, float, float, float], names: tuple[str, str] = ("x₁", "x₂")) -> None:
    """Limits and labels of a picture of two features."""
    ax.set(xlim=frame[:2], ylim=frame[2:], xlabel=names[0], ylabel=names[1])
    ax.set_aspect("equal", adjustable="box")
