"""The mistakes of a run, and their bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.plot.drawing import COLOURS, Display, count_in_whole_numbers

Array = np.ndarray[Any, Any]
LOG_SCALE_RATIO = 20  # a bound larger than this many times the mistakes is drawn on a logarithmic scale


@dataclass(repr=False)
class MistakesDisplay(Display):
    """The number of mistakes so far, and Novikoff's bound.

    Attributes
    ----------
    visits, mistakes : ndarray
        The number of mistakes after each number of visits, from 0.
    bound : float or None
    ax_, figure_ : set by `plot`
    """

    visits: Array
    mistakes: Array
    bound: float | None

    def _draw(self, ax: Any) -> None:
        ax.step(self.visits, self.mistakes, where="post", color=COLOURS[0], label="mistakes so far")
        count_in_whole_numbers(ax.xaxis, ax.yaxis)
        if self.bound is not None:
            ax.axhline(self.bound, color=COLOURS[4], linestyle="--", label=f"bound {self.bound:.4g}")
            if self.bound > LOG_SCALE_RATIO * max(self.mistakes[-1], 1):
                ax.set_yscale("symlog", linthresh=1)
        ax.set(xlabel="rows visited", ylabel="mistakes", ylim=(0, None))
        ax.set_title("" if self.bound is not None else "no bound holds for this run")
        ax.legend()


def mistakes(trace: Any, *, ax: Any = None) -> MistakesDisplay:
    """Plot the number of mistakes of a run and Novikoff's bound.

    Parameters
    ----------
    trace : Trace
        The run to draw, as `trace` recorded it.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    MistakesDisplay

    Examples
    --------
    >>> from rosenblatt import plot, trace
    >>> run = trace([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    >>> display = plot.mistakes(run)
    >>> display.mistakes
    array([0, 1, 2, 2, 2, 2, 2, 2, 2])
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['mistakes so far', 'bound 2']
    """
    counts = np.array([0, *(step.updates for step in trace.steps)])
    bound = None if trace.bound is None else float(trace.bound)
    return MistakesDisplay(np.arange(counts.size), counts, bound).plot(ax=ax)
