"""Loss functions of the margin or of the residual, with rows marked on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.sparse_checks import well_formed
from rosenblatt.learn.linear.losses import LOSSES, curve
from rosenblatt.show.pictures.drawing import COLOURS, Display
from rosenblatt.show.pictures.margin_distribution import functional_margins

Array = np.ndarray[Any, Any]
MARGIN_LOSSES = tuple(name for name, loss in LOSSES.items() if loss.of == "margin")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


def loss_title(loss: str) -> str:
    """The name of a loss in a legend.

    >>> loss_title("zero_one"), loss_title("squared_hinge")
    ('0/1', 'squared hinge')
    """
    return "0/1" if loss == "zero_one" else loss.replace("_", " ").replace("huber", "Huber")


@dataclass
class LossesDisplay(Display):
    """Loss functions of the margin (or of the residual), with rows marked on them.

    Use `from_losses`, `from_estimator` or `from_predictions`.

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

    Examples
    --------
    >>> from rosenblatt import LossesDisplay
    >>> sorted(LossesDisplay.from_losses(["hinge", "log"]).curves)
    ['hinge', 'log']
    """

    margin: Array
    curves: dict[str, Array]
    points: Array
    label: str

    @classmethod
    def from_losses(
        cls, losses: Sequence[str] | None = None, *, points: Any = (), epsilon: float = 1.0, ax: Any = None
    ) -> LossesDisplay:
        """Draw losses by name.

        Parameters
        ----------
        losses : sequence of str, optional
            Of the margin, as in `LinearClassifier`: "zero_one", "perceptron", "hinge", "squared_hinge", "log",
            "exponential", "modified_huber" (the default is all of these); or of the residual, as in
            `LinearRegressor`: "squared", "absolute", "huber", "log_cosh", "epsilon_insensitive".
        points : array-like, optional
            Margins to mark.
        epsilon : float, default=1.0
            Where Huber's loss becomes linear; half the width of the ε-insensitive tube.
        ax : matplotlib axes, optional

        Returns
        -------
        LossesDisplay
        """
        names = list(MARGIN_LOSSES) if losses is None else list(losses)
        wrong = [name for name in names if name not in LOSSES]
        if wrong:
            raise ValueError(f"{wrong[0]!r} is not among {', '.join(LOSSES)}.")
        kinds = {LOSSES[name].of for name in names}
        if len(kinds) > 1:
            raise ValueError("Losses of the margin and losses of the residual cannot be drawn in one picture.")
        label = "residual f − y" if kinds == {"residual"} else "margin y·f"
        at = np.linspace(-3, 3, 601)
        curves = {name: curve(name, at, epsilon) for name in names}
        return cls(at, curves, np.asarray(points, dtype=float), label).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, losses: Sequence[str] | None = None, ax: Any = None
    ) -> LossesDisplay:
        """Draw losses of the margin with the rows of a fitted classifier on them.

        Parameters
        ----------
        model : fitted classifier with a `decision_function`
        X, y : rows and labels
        losses : sequence of str, optional
        ax : matplotlib axes, optional

        Returns
        -------
        LossesDisplay
        """
        margins = functional_margins(y, model.decision_function(well_formed(X)), np.asarray(model.classes_))
        return cls.from_losses(losses, points=margins, ax=ax)

    @classmethod
    def from_predictions(
        cls, y: Any, scores: Any, *, losses: Sequence[str] | None = None, ax: Any = None
    ) -> LossesDisplay:
        """Draw losses of the margin with the margins of given scores on them.

        Parameters
        ----------
        y : array-like of shape (n,)
        scores : array-like of shape (n,) or (n, K)
        losses : sequence of str, optional
        ax : matplotlib axes, optional

        Returns
        -------
        LossesDisplay
        """
        return cls.from_losses(losses, points=functional_margins(y, scores, np.unique(np.asarray(y))), ax=ax)

    def _draw(self, ax: Any) -> None:
        for k, (name, values) in enumerate(self.curves.items()):
            ax.plot(
                self.margin, values, color=COLOURS[k % 8], linestyle=DASHES[k % 7], linewidth=2, label=loss_title(name)
            )
            on = np.clip(self.points, self.margin[0], self.margin[-1])
            ax.scatter(on, np.interp(on, self.margin, values), s=14, color=COLOURS[k % 8], zorder=3)
        ax.set(xlabel=self.label, ylabel="loss", ylim=(-0.1, 4))
        ax.legend()


def plot_losses(losses: Sequence[str] | None = None, *, points: Any = (), epsilon: float = 1.0, ax: Any = None) -> Any:
    """Plot loss functions of the margin, or of the residual.

    Parameters
    ----------
    losses : sequence of str, optional
        See `LossesDisplay.from_losses`.
    points : array-like, optional
        Margins to mark on the curves.
    epsilon : float, default=1.0
        Where Huber's loss becomes linear; half the width of the ε-insensitive tube.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import plot_losses
    >>> len(plot_losses(["hinge", "log"]).get_lines())
    2
    """
    return LossesDisplay.from_losses(losses, points=points, epsilon=epsilon, ax=ax).ax_
