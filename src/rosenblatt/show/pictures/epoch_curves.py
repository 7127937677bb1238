"""Updates and errors per epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.show.pictures.drawing import COLOURS, Display

Array = np.ndarray[Any, Any]


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
