"""Updates and errors per epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from rosenblatt.plot.drawing import COLOURS, Display, count_in_whole_numbers

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class EpochsDisplay(Display):
    """The updates made during each epoch and the errors left at its end.

    Attributes
    ----------
    epochs, updates : ndarray
    errors : ndarray
        NaN in epochs whose errors were not counted (record_errors=True counts them).
    ax_, figure_ : set by `plot`
    """

    epochs: Array
    updates: Array
    errors: Array

    def _draw(self, ax: Any) -> None:
        ax.plot(self.epochs, self.updates, color=COLOURS[0], marker="o", markersize=4, label="updates during the epoch")
        ax.plot(self.epochs, self.errors, color=COLOURS[1], marker="s", markersize=4, label="errors after the epoch")
        ax.set(xlabel="epoch", ylabel="rows", ylim=(0, None))
        count_in_whole_numbers(ax.xaxis, ax.yaxis)
        ax.legend()


def epochs(report: Any, *, ax: Any = None) -> EpochsDisplay:
    """Plot the updates and the errors of each epoch.

    Parameters
    ----------
    report : Report, or a fitted estimator that has one
        The fit whose epochs are drawn.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    EpochsDisplay

    Examples
    --------
    >>> from rosenblatt import Perceptron, plot
    >>> model = Perceptron(order="cyclic").fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> display = plot.epochs(model)
    >>> display.updates
    array([2, 2, 2, 1, 1, 0])
    >>> display.ax_.get_xlabel()
    'epoch'
    """
    report = report.report_ if isinstance(report, BaseEstimator) else report
    records = report.epochs
    errors = np.array([math.nan if record.errors is None else record.errors for record in records], dtype=float)
    if errors.size and report.errors is not None and math.isnan(errors[-1]):
        errors[-1] = report.errors
    numbers = np.array([record.epoch for record in records])
    return EpochsDisplay(numbers, np.array([record.updates for record in records]), errors).plot(ax=ax)
