"""Curves: updates and errors per epoch, mistakes and their bound, margins and losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.data.sparse_checks import well_formed
from rosenblatt.learn.linear.losses import LOSSES, curve
from rosenblatt.prove.margins import margins as measured
from rosenblatt.show.pictures.drawing import COLOURS, Display

if TYPE_CHECKING:
    from rosenblatt.show.trace import Trace

Array = np.ndarray[Any, Any]
MARGIN_LOSSES = tuple(name for name, loss in LOSSES.items() if loss.of == "margin")
LOG_SCALE_RATIO = 20  # a bound larger than this many times the mistakes is drawn on a logarithmic scale
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))


@dataclass
class EpochsDisplay(Display):
    """The updates made during each epoch and the errors left at its end.

    Use `from_estimator` or `from_report`.

    Attributes
    ----------
    epochs, updates : ndarray
    errors : ndarray
        NaN in epochs whose errors were not counted (record_errors=True counts them).
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import EpochsDisplay, Perceptron
    >>> model = Perceptron(order="cyclic").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> EpochsDisplay.from_estimator(model).updates
    array([2, 2, 2, 1, 1, 0])
    """

    epochs: Array
    updates: Array
    errors: Array

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> EpochsDisplay:
        """Draw the epochs of a fitted model.

        Parameters
        ----------
        model : fitted estimator with a `report_`
        ax : matplotlib axes, optional

        Returns
        -------
        EpochsDisplay
        """
        return cls.from_report(model.report_, ax=ax)

    @classmethod
    def from_report(cls, report: Any, *, ax: Any = None) -> EpochsDisplay:
        """Draw the epochs of a report.

        Parameters
        ----------
        report : Report
        ax : matplotlib axes, optional

        Returns
        -------
        EpochsDisplay
        """
        records = report.epochs
        errors = np.array([math.nan if record.errors is None else record.errors for record in records], dtype=float)
        if errors.size and report.errors is not None and math.isnan(errors[-1]):
            errors[-1] = report.errors
        numbers = np.array([record.epoch for record in records])
        return cls(numbers, np.array([record.updates for record in records]), errors).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.epochs, self.updates, color=COLOURS[0], marker="o", markersize=4, label="updates during the epoch")
        ax.plot(self.epochs, self.errors, color=COLOURS[1], marker="s", markersize=4, label="errors after the epoch")
        ax.set(xlabel="epoch", ylabel="rows", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()


@dataclass
class MistakesDisplay(Display):
    """The number of mistakes so far, and Novikoff's bound.

    Use `from_trace`.

    Attributes
    ----------
    visits, mistakes : ndarray
        The number of mistakes after each number of visits, from 0.
    bound : float or None
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import MistakesDisplay, trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> display = MistakesDisplay.from_trace(trace(X, y, fit_intercept=False))
    >>> display.mistakes
    array([0, 1, 2, 2, 2, 2, 2, 2, 2])
    """

    visits: Array
    mistakes: Array
    bound: float | None

    @classmethod
    def from_trace(cls, trace: Trace, *, ax: Any = None) -> MistakesDisplay:
        """Draw the mistakes of a run.

        Parameters
        ----------
        trace : Trace
        ax : matplotlib axes, optional

        Returns
        -------
        MistakesDisplay
        """
        counts = np.array([0, *(step.updates for step in trace.steps)])
        bound = None if trace.bound is None else float(trace.bound)
        return cls(np.arange(counts.size), counts, bound).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.step(self.visits, self.mistakes, where="post", color=COLOURS[0], label="mistakes so far")
        if self.bound is not None:
            ax.axhline(self.bound, color=COLOURS[4], linestyle="--", label=f"bound {self.bound:.4g}")
            if self.bound > LOG_SCALE_RATIO * max(self.mistakes[-1], 1):
                ax.set_yscale("symlog", linthresh=1)
        ax.set(xlabel="rows visited", ylabel="mistakes", ylim=(0, None))
        ax.set_title("" if self.bound is not None else "no bound holds for this run")
        ax.legend()


@dataclass
class MarginsDisplay(Display):
    """The cumulative distribution of margins: for each value, the share of rows whose margin is no larger.

    Use `from_estimator` or `from_predictions`.

    Attributes
    ----------
    margins : ndarray
        Sorted. The geometric margins of `rosenblatt.margins` if the model has one plane per class (one in all for two
        classes); else y·f for two classes and s_y − max s_r for more.
    shares : ndarray
    geometric : bool
    ax_, figure_ : set by `plot`

    Examples
    --------
    >>> from rosenblatt import MarginsDisplay, Perceptron
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> model = Perceptron(fit_intercept=False, order="cyclic").fit(X, y)
    >>> MarginsDisplay.from_estimator(model, X, y).margins.round(3)
    array([0.707, 0.707, 0.707, 0.707])
    """

    margins: Array
    shares: Array
    geometric: bool

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> MarginsDisplay:
        """Draw the margins of rows under a fitted classifier.

        Parameters
        ----------
        model : fitted classifier with a `decision_function`
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        ax : matplotlib axes, optional

        Returns
        -------
        MarginsDisplay
        """
        planes = (1 if len(model.classes_) <= 2 else len(model.classes_), model.n_features_in_)
        if np.shape(getattr(model, "coef_", ())) == planes:
            return cls._of(measured(model, X, y).geometric, True, ax)
        return cls._of(
            functional_margins(y, model.decision_function(well_formed(X)), np.asarray(model.classes_)), False, ax
        )

    @classmethod
    def from_predictions(cls, y: Any, scores: Any, *, ax: Any = None) -> MarginsDisplay:
        """Draw the margins of given scores.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels; in sorted order they belong to the columns of `scores`, or are the negative and the positive class.
        scores : array-like of shape (n,) or (n, K)
        ax : matplotlib axes, optional

        Returns
        -------
        MarginsDisplay
        """
        return cls._of(functional_margins(y, scores, np.unique(np.asarray(y))), False, ax)

    @classmethod
    def _of(cls, margins: Array, geometric: bool, ax: Any) -> MarginsDisplay:
        shares = np.arange(1, margins.size + 1) / margins.size
        return cls(np.sort(margins), shares, geometric).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.step(self.margins, self.shares, where="post", color=COLOURS[0])
        ax.axvline(0, color="black", linewidth=0.8)
        ax.axvspan(min(self.margins[0], 0), 0, color=COLOURS[4], alpha=0.15, label="on the wrong side")
        kind = "geometric margin" if self.geometric else "margin"
        ax.set(xlabel=kind, ylabel="share of rows up to this margin", ylim=(0, 1.02))
        ax.legend(loc="lower right")


def loss_title(loss: str) -> str:
    """The name of a loss in a legend.

    >>> loss_title("zero_one"), loss_title("squared_hinge")
    ('0/1', 'squared hinge')
    """
    return "0/1" if loss == "zero_one" else loss.replace("_", " ").replace("huber", "Huber")


def functional_margins(y: Any, scores: Any, classes: Array) -> Array:
    """y·f for two classes, s_y − max s_r for more."""
    labels, found = np.asarray(y), np.asarray(scores, dtype=float)
    if found.ndim == 1:
        return np.where(labels == classes[-1], found, -found)
    codes, at = np.searchsorted(classes, labels), np.arange(labels.size)
    others = found.copy()
    others[at, codes] = -np.inf
    return np.asarray(found[at, codes] - others.max(axis=1))


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


def plot_epochs(report: Any, *, ax: Any = None) -> Any:
    """Plot the updates and the errors of each epoch.

    Parameters
    ----------
    report : Report, or a fitted estimator that has one
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot_epochs
    >>> model = Perceptron(random_state=0).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> plot_epochs(model).get_xlabel()
    'epoch'
    """
    return EpochsDisplay.from_report(getattr(report, "report_", report), ax=ax).ax_


def plot_mistakes(trace: Trace, *, ax: Any = None) -> Any:
    """Plot the number of mistakes of a run and Novikoff's bound.

    Parameters
    ----------
    trace : Trace
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import plot_mistakes, trace
    >>> run = trace([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    >>> [text.get_text() for text in plot_mistakes(run).get_legend().get_texts()]
    ['mistakes so far', 'bound 2']
    """
    return MistakesDisplay.from_trace(trace, ax=ax).ax_


def plot_margins(model: Any, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Plot the margin distribution of rows under a model.

    Parameters
    ----------
    model : fitted classifier with a `decision_function`
    X, y : rows and labels
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot_margins
    >>> X, y = [[0.0], [1.0], [3.0]], [0, 0, 1]
    >>> plot_margins(Perceptron(random_state=0).fit(X, y), X, y).get_xlabel()
    'geometric margin'
    """
    return MarginsDisplay.from_estimator(model, X, y, ax=ax).ax_


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
