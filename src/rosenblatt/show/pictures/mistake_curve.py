"""The mistakes of a run, and their bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.show.pictures.drawing import COLOURS, Display

if TYPE_CHECKING:
    from rosenblatt.show.trace import Trace


Array = np.ndarray[Any, Any]


LOG_SCALE_RATIO = 20  # a bound larger than this many times the mistakes is drawn on a logarithmic scale


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
