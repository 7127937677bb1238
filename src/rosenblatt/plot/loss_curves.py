"""Loss functions of the margin or of the residual, with rows marked on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.objective.compiled_losses import curve
from rosenblatt.objective.losses import LOSSES
from rosenblatt.plot.drawing import COLOURS, Display
from rosenblatt.plot.margin_distribution import functional_margins, scored

Array = np.ndarray[Any, Any]
MARGIN_LOSSES = tuple(name for name, loss in LOSSES.items() if loss.of == "margin")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def loss_title(loss: str) -> str:
    """The name of a loss in a legend.

    >>> loss_title("zero_one"), loss_title("squared_hinge")
    ('0/1', 'squared hinge')
    """
    return "0/1" if loss == "zero_one" else loss.replace("_", " ").replace("huber", "Huber")


@dataclass(repr=False)
class LossesDisplay(Display):
    """Loss functions of the margin (or of the residual), with rows marked on them.

    Attributes
    ----------
    margin : ndarray
        The margins (or residuals) of the curves.
    curves : dict of ndarray
    points : ndarray
        Margins of rows, marked on every curve; may be empty.
    label : str
        The label of the horizontal axis.
    ax_, figure_ : set by `plot`
    """

    margin: Array
    curves: dict[str, Array]
    points: Array
    label: str

    def _draw(self, ax: Any) -> None:
        for k, (name, values) in enumerate(self.curves.items()):
            ax.plot(
                self.margin, values, color=COLOURS[k % 8], linestyle=DASHES[k % 7], linewidth=2, label=loss_title(name)
            )
            on = np.clip(self.points, self.margin[0], self.margin[-1])
            ax.scatter(on, np.interp(on, self.margin, values), s=14, color=COLOURS[k % 8], zorder=3)
        top = 10 if {"squared_hinge", "modified_huber"} <= self.curves.keys() else 4  # they differ above 4 only
        ax.set(xlabel=self.label, ylabel="loss", ylim=(-0.1, top))
        ax.legend()


def losses(
    losses: Sequence[str] | None = None,
    *,
    points: Any = (),
    epsilon: float = 1.0,
    model: Any = None,
    X: Any = None,
    y: Any = None,
    scores: Any = None,
    ax: Any = None,
) -> LossesDisplay:
    """Plot loss functions of the margin, or of the residual.

    Parameters
    ----------
    losses : sequence of str, optional
        Of the margin, as in `LinearClassifier`: "zero_one", "perceptron", "hinge", "squared_hinge", "log",
        "exponential", "modified_huber" (the default is all of these); or of the residual, as in
        `LinearRegressor`: "squared", "absolute", "huber", "log_cosh", "epsilon_insensitive".
    points : array-like, optional
        Margins to mark on the curves.
    epsilon : float, default=1.0
        Where Huber's loss becomes linear; half the width of the ε-insensitive tube.
    model : fitted classifier with a `decision_function`, optional
        Marks the margins of the rows `X` with labels `y`.
    X, y : rows and labels
        The rows to mark, with their labels.
    scores : array-like of shape (n,) or (n, K), optional
        The scores of the rows with labels `y`, instead of `model` and `X`.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    LossesDisplay

    Examples
    --------
    >>> from rosenblatt import plot
    >>> display = plot.losses(["hinge", "log"], y=[0, 1], scores=[-0.5, -0.5])
    >>> sorted(display.curves), display.points
    (['hinge', 'log'], array([ 0.5, -0.5]))
    """
    names = list(MARGIN_LOSSES) if losses is None else list(losses)
    wrong = [name for name in names if name not in LOSSES]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not among {', '.join(LOSSES)}.")
    kinds = {LOSSES[name].of for name in names}
    if len(kinds) > 1:
        raise ValueError("Losses of the margin and losses of the residual cannot be drawn in one picture.")
    label = "residual f − y" if kinds == {"residual"} else "margin y·f"
    marked = np.asarray(points, dtype=float)
    if any(given is not None for given in (model, X, y, scores)):
        marked = np.append(marked, functional_margins(*scored(model, X, y, scores)))
    at = np.linspace(-3, 3, 601)
    return LossesDisplay(at, {name: curve(name, at, epsilon) for name in names}, marked, label).plot(ax=ax)
