"""The loss as a function of w, which training descends: piecewise constant for 0/1, sloped for the perceptron loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.learn.linear.losses import LOSSES, curve
from rosenblatt.show.pictures.drawing import COLOURS, Display, require_two_features
from rosenblatt.show.pictures.loss_curves import MARGIN_LOSSES, loss_title

if TYPE_CHECKING:
    from rosenblatt.show.trace import Trace

Array = np.ndarray[Any, Any]
SIDE = 160  # points per side; even, to leave out w = 0, where every row is on the plane


@dataclass
class SurfaceDisplay(Display):
    """The mean loss of rows of two features for every w = (w₁, w₂), with b fixed.

    Use `from_data` or `from_trace`.

    Attributes
    ----------
    loss : str
    w1, w2 : ndarray of shape (k,)
    values : ndarray of shape (k, k)
        The mean loss at (w1[j], w2[i]).
    path : ndarray of shape (steps, 2)
        The w of a run after each update; may be empty.
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import SurfaceDisplay, trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> SurfaceDisplay.from_trace(trace(X, y, fit_intercept=False)).path
    array([[0., 0.],
           [1., 0.],
           [1., 1.]])
    """

    loss: str
    w1: Array
    w2: Array
    values: Array
    path: Array

    @classmethod
    def from_data(
        cls, X: Any, y: Any, loss: str = "perceptron", *, reach: float = 2.0, intercept: float = 0.0, ax: Any = None
    ) -> SurfaceDisplay:
        """Draw the surface of a loss over w.

        Parameters
        ----------
        X : array-like of shape (n, 2)
        y : array-like of shape (n,)
            Labels of two classes; the larger is positive.
        loss : str, default="perceptron"
            A loss of the margin, as in `LinearClassifier`, or "zero_one".
        reach : float, default=2.0
            w₁ and w₂ go from −reach to reach.
        intercept : float, default=0.0
        ax : matplotlib axes, optional

        Returns
        -------
        SurfaceDisplay
        """
        return cls._of(X, y, loss, reach, intercept, np.zeros((0, 2))).plot(ax=ax)

    @classmethod
    def from_trace(
        cls, trace: Trace, loss: str = "perceptron", *, reach: float | None = None, ax: Any = None
    ) -> SurfaceDisplay:
        """Draw the surface of a loss with the path of a run on it.

        Parameters
        ----------
        trace : Trace
            Of two classes over two features.
        loss : str, default="perceptron"
        reach : float, optional
            By default a little more than the path needs.
        ax : matplotlib axes, optional

        Returns
        -------
        SurfaceDisplay
            With b fixed at its last value of the run.
        """
        if not trace.binary:
            raise ValueError("A loss surface can be drawn for two classes, which have one plane.")
        X = require_two_features(np.array(trace.X, dtype=float), "A loss surface")
        W, b = trace.planes()
        path = W[:, 0]
        wide = 1.25 * float(np.abs(path).max()) or 1.0
        return cls._of(X, np.array(trace.y), loss, reach or wide, float(b[-1, 0]), path).plot(ax=ax)

    @classmethod
    def _of(cls, X: Any, y: Any, loss: str, reach: float, intercept: float, path: Array) -> SurfaceDisplay:
        if loss not in LOSSES or LOSSES[loss].of != "margin":
            raise ValueError(f"{loss!r} is not among {', '.join(MARGIN_LOSSES)}.")
        rows, labels = require_two_features(X, "A loss surface"), np.asarray(y)
        classes = np.unique(labels)
        if classes.size != 2:
            raise ValueError(f"A loss surface can be drawn for two classes; y has {classes.size}.")
        signs = np.where(labels == classes[1], 1.0, -1.0)
        at = np.linspace(-reach, reach, SIDE)
        places = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
        values = np.zeros(len(places))
        for x, sign in zip(rows, signs, strict=True):
            values += curve(loss, sign * (places @ x + intercept))
        return cls(loss, at, at, (values / len(rows)).reshape(SIDE, SIDE), path)

    def _draw(self, ax: Any) -> None:
        # Cividis looks the same to people with and without colour vision deficiency.
        seen = ax.pcolormesh(self.w1, self.w2, self.values, cmap="cividis", shading="nearest", rasterized=True)
        if self.loss != "zero_one":
            ax.contour(self.w1, self.w2, self.values, levels=12, colors="white", linewidths=0.5, alpha=0.5)
        ax.figure.colorbar(seen, ax=ax, label=f"mean loss: {loss_title(self.loss)}")
        if len(self.path):
            ax.plot(*self.path.T, color=COLOURS[4], marker="o", markersize=4, linewidth=1.5, label="w of the run")
            ax.plot(*self.path[-1], color=COLOURS[4], marker="*", markersize=14, label="last w")
            ax.legend(loc="best", fontsize="small")
        reach = float(self.w1[-1])
        ax.set(xlabel="w₁", ylabel="w₂", xlim=(-reach, reach), ylim=(-reach, reach))
        ax.set_aspect("equal", adjustable="box")


def plot_surface(X: Any, y: Any, loss: str = "perceptron", *, reach: float = 2.0, ax: Any = None) -> Any:
    """Plot the mean loss for every w: piecewise constant for 0/1, sloped for the perceptron loss.

    Parameters
    ----------
    X : array-like of shape (n, 2)
    y : array-like of shape (n,)
    loss : str, default="perceptron"
    reach : float, default=2.0
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import plot_surface
    >>> plot_surface([[-2, 3], [-1, -1], [2, -3]], [1, -1, 1], "zero_one").get_xlabel()
    'w₁'
    """
    return SurfaceDisplay.from_data(X, y, loss, reach=reach, ax=ax).ax_
