"""The loss as a function of w, which training descends: piecewise constant for 0/1, sloped for the perceptron loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.objective.compiled_losses import curve
from rosenblatt.objective.losses import LOSSES
from rosenblatt.plot.drawing import COLOURS, Display, require_two_features
from rosenblatt.plot.loss_curves import MARGIN_LOSSES, loss_title

Array = np.ndarray[Any, Any]
SIDE = 160  # points per side; even, to leave out w = 0, where every row is on the plane


@dataclass(repr=False)
class SurfaceDisplay(Display):
    """The mean loss of rows of two features for every w = (w₁, w₂), with b fixed.

    Attributes
    ----------
    loss : str
    w1, w2 : ndarray of shape (k,)
    values : ndarray of shape (k, k)
        The mean loss at (w1[j], w2[i]).
    path : ndarray of shape (steps, 2)
        The w of a run after each update; may be empty.
    in_3d : bool
        Whether the loss is the height of a surface, and not a colour.
    ax_, figure_ : set by `plot`
    """

    loss: str
    w1: Array
    w2: Array
    values: Array
    path: Array
    in_3d: bool = False

    def _projection(self) -> str | None:
        return "3d" if self.in_3d else None

    def _draw_3d(self, ax: Any) -> None:
        across, up = np.meshgrid(self.w1, self.w2)
        style = {"cmap": "cividis", "rcount": SIDE // 2, "ccount": SIDE // 2, "linewidth": 0, "antialiased": False}
        ax.plot_surface(across, up, self.values, **style)
        if len(self.path):
            columns, rows = (np.abs(self.path[:, [k]] - at).argmin(axis=1) for k, at in enumerate((self.w1, self.w2)))
            height = self.values[rows, columns] + 0.02 * self.values.max()
            ax.plot(*self.path.T, height, color=COLOURS[4], marker="o", markersize=4, label="w of the run", zorder=10)
            ax.legend(fontsize="small")
        ax.set(xlabel="w₁", ylabel="w₂", zlabel=f"mean loss: {loss_title(self.loss)}")
        ax.set_zlim(0, 1 if self.loss == "zero_one" else None)
        ax.view_init(elev=35, azim=-60)

    def _draw(self, ax: Any) -> None:
        if self.in_3d:
            self._draw_3d(ax)
            return
        # Cividis looks the same to people with and without colour vision deficiency.
        seen = ax.pcolormesh(self.w1, self.w2, self.values, cmap="cividis", shading="nearest", rasterized=True)
        if self.loss != "zero_one":
            ax.contour(self.w1, self.w2, self.values, levels=12, colors="white", linewidths=0.5, alpha=0.5)
        ax.figure.colorbar(seen, ax=ax, label=f"mean loss: {loss_title(self.loss)}")
        if len(self.path):
            ax.plot(*self.path.T, color=COLOURS[4], marker="o", markersize=4, linewidth=1.5, label="w of the run")
            ax.plot(*self.path[-1], color=COLOURS[4], marker="*", markersize=14, label="last w")
            ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize="small", frameon=False)
        reach = float(self.w1[-1])
        ax.set(xlabel="w₁", ylabel="w₂", xlim=(-reach, reach), ylim=(-reach, reach))
        ax.set_aspect("equal", adjustable="box")


def surface(
    X: Any = None,
    y: Any = None,
    loss: str = "perceptron",
    *,
    trace: Any = None,
    reach: float | None = None,
    intercept: float | None = None,
    in_3d: bool = False,
    ax: Any = None,
) -> SurfaceDisplay:
    """Plot the mean loss for every w: piecewise constant for 0/1, sloped for the perceptron loss.

    Parameters
    ----------
    X : array-like of shape (n, 2)
        The rows to draw, with two features.
    y : array-like of shape (n,)
        Labels of two classes; the larger is positive.
    loss : str, default="perceptron"
        A loss of the margin, as in `LinearClassifier`, or "zero_one".
    trace : Trace, optional
        A run on two classes over two features, instead of `X` and `y`: the picture has its path.
    reach : float, optional
        w₁ and w₂ go from −reach to reach; by default 2, or a little more than the path needs.
    intercept : float, optional
        By default 0, or the last value of b in the run.
    in_3d : bool, default=False
        Draw the loss as the height of a surface, not as a colour.
    ax : matplotlib axes, optional
        Where to draw, with projection "3d" if `in_3d`; by default a new figure.

    Returns
    -------
    SurfaceDisplay

    Examples
    --------
    >>> from rosenblatt import plot, trace
    >>> plot.surface([[-2, 3], [-1, -1], [2, -3]], [1, -1, 1], "zero_one").ax_.get_xlabel()
    'w₁'
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> plot.surface(trace=trace(X, y, fit_intercept=False)).path
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    """
    if not (X is None) == (y is None) == (trace is not None):
        raise ValueError("A loss surface is drawn for X and y, or for a trace, which has both.")
    path, wide, last = np.zeros((0, 2)), 2.0, 0.0
    if trace is not None:
        if not trace.binary:
            raise ValueError("A loss surface can be drawn for two classes, which have one plane.")
        X, y = np.array(trace.X, dtype=float), np.array(trace.y)
        W, b = trace.planes()
        path, last = W[:, 0], float(b[-1, 0])
        wide = 1.25 * float(np.abs(path).max()) or 1.0
    if loss not in LOSSES or LOSSES[loss].of != "margin":
        raise ValueError(f"{loss!r} is not among {', '.join(MARGIN_LOSSES)}.")
    rows, labels = require_two_features(X, "A loss surface"), np.asarray(y)
    classes = np.unique(labels)
    if classes.size != 2:
        raise ValueError(f"A loss surface can be drawn for two classes; y has {classes.size}.")
    signs = np.where(labels == classes[1], 1.0, -1.0)
    reach, intercept = wide if reach is None else reach, last if intercept is None else intercept
    at = np.linspace(-reach, reach, SIDE)
    places = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    values = np.zeros(len(places))
    for x, sign in zip(rows, signs, strict=True):
        values += curve(loss, sign * (places @ x + intercept))
    return SurfaceDisplay(loss, at, at, (values / len(rows)).reshape(SIDE, SIDE), path, in_3d).plot(ax=ax)
