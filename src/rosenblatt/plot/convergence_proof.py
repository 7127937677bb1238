"""The two quantities of the convergence proof, closing on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.learn.number_format import format_number
from rosenblatt.plot.drawing import COLOURS, Display, count_in_whole_numbers
from rosenblatt.prove.novikoff_table import NovikoffTable, novikoff_table

Array = np.ndarray[Any, Any]


@dataclass(repr=False)
class ConvergenceDisplay(Display):
    """w·u and ‖w‖ after each update, between kγ, which grows with k, and √k·R, which grows with its root.

    Attributes
    ----------
    table : NovikoffTable
    at : ndarray
        The k of the two curves, up to a little beyond the bound.
    lower, upper : ndarray
        kγ and √k·R there.
    ax_, figure_ : set by `plot`
    """

    table: NovikoffTable
    at: Array
    lower: Array
    upper: Array

    def _draw(self, ax: Any) -> None:
        table, k = self.table, np.arange(self.table.updates + 1)
        ax.fill_between(self.at, self.lower, self.upper, where=self.upper >= self.lower, color="#eeeeee", zorder=0)
        ax.plot(self.at, self.upper, color=COLOURS[1], label="√k·R: the longest w")
        ax.plot(k, np.sqrt(table.squares), color=COLOURS[1], marker="s", markersize=5, linestyle=":", label="‖w‖")
        ax.plot(k, table.along, color=COLOURS[0], marker="o", markersize=5, linestyle=":", label="w·u")
        ax.plot(self.at, self.lower, color=COLOURS[0], label="kγ: the least w·u")
        bound = format_number(table.bound)
        ax.axvline(table.bound, color=COLOURS[4], linestyle="--", label=f"they meet at k = (R/γ)² = {bound}")
        ax.set(xlabel="updates k", ylabel="length", xlim=(0, self.at[-1]), ylim=(0, None))
        count_in_whole_numbers(ax.xaxis)
        ax.legend(loc="upper left", fontsize="small")


def convergence(trace: Any, *, ax: Any = None) -> ConvergenceDisplay:
    """Plot the two quantities of Novikoff's proof: kγ ≤ w·u ≤ ‖w‖ ≤ √k·R ends where the outer two meet.

    u is the unit normal of the widest plane, γ its margin, R the length of the longest row, w is divided by η; with a
    bias, rows and w have one more entry. The numbers are those of `teaching.proof`.

    Parameters
    ----------
    trace : Trace
        Of a perceptron on two separable classes, from zero, at a constant learning rate and without a margin.
    ax : matplotlib axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    ConvergenceDisplay

    Examples
    --------
    >>> from rosenblatt import plot, trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> display = plot.convergence(trace(X, y, fit_intercept=False))
    >>> display.table.along.round(3), display.table.squares, display.table.bound
    (array([0.   , 0.707, 1.414]), array([0., 1., 2.]), 2.0)
    """
    table = novikoff_table(trace)
    at = np.linspace(0, 1.15 * max(table.bound, table.updates), 400)
    return ConvergenceDisplay(table, at, at * table.gamma, np.sqrt(at) * table.radius).plot(ax=ax)
