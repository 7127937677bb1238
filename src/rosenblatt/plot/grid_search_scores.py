"""The scores of a grid search against one of its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from rosenblatt.plot.drawing import COLOURS, Display

Array = np.ndarray[Any, Any]
PASSES = {"max_epochs": "passes (max_epochs)"}
SPREAD = 20  # a range of this ratio or more is drawn on a logarithmic scale


@dataclass(repr=False)
class SearchDisplay(Display):
    """Mean scores over folds with a band of one standard deviation, one line per setting of the other parameters.

    Attributes
    ----------
    name : str
        The parameter on the horizontal axis.
    lines : dict of str to (values, means, deviations)
        By the other parameters of the grid, in words.
    chosen : tuple of float
        The value and the mean score of the setting that was chosen.
    ax_, figure_ : set by `plot`
    """

    name: str
    lines: dict[str, tuple[Array, Array, Array]]
    chosen: tuple[float, float]

    def _draw(self, ax: Any) -> None:
        for k, (others, (values, means, deviations)) in enumerate(self.lines.items()):
            colour = COLOURS[k % len(COLOURS)]
            ax.plot(values, means, color=colour, marker="o", markersize=4, label=others or None)
            ax.fill_between(values, means - deviations, means + deviations, color=colour, alpha=0.15, linewidth=0)
        ax.plot(*self.chosen, "o", markersize=12, markerfacecolor="none", markeredgecolor="black", label="chosen")
        every = np.concatenate([values for values, _, _ in self.lines.values()])
        if every.min() > 0 and every.max() >= SPREAD * every.min():
            ax.set_xscale("log")
        ax.set(xlabel=PASSES.get(self.name, self.name), ylabel="score on held-out folds")
        ax.legend()


def search(search: Any, name: str | None = None, *, ax: Any = None) -> SearchDisplay:
    """Plot the scores of a grid search against one of its parameters, with the chosen setting marked.

    Parameters
    ----------
    search : fitted `GridSearchCV`, of rosenblatt or scikit-learn
        The search whose scores are drawn.
    name : str, optional
        A parameter of the grid with numbers; by default the one with the most different numbers. "max_epochs" gives
        the score against passes, which rosenblatt's search reads off one run.
    ax : matplotlib axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    SearchDisplay

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt import GridSearchCV, PassiveAggressive, plot
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> learner = PassiveAggressive(max_epochs=5, random_state=0)
    >>> fitted = GridSearchCV(learner, {"C": [0.01, 0.1, 1.0]}, cv=3).fit(X, X[:, 0] > 0)
    >>> display = plot.search(fitted)
    >>> display.name, sum(len(values) for values, _, _ in display.lines.values())
    ('C', 3)
    """
    results = search.cv_results_
    metric = "score"
    if search.multimetric_:
        if not isinstance(search.refit, str):
            raise ValueError("A search by several measures is drawn by the one that refit= names.")
        metric = search.refit
    numbers: dict[str, set[float]] = {}
    for params in results["params"]:
        for key, value in params.items():
            if isinstance(value, Real) and not isinstance(value, bool):
                numbers.setdefault(key, set()).add(float(value))
    if not numbers or (name is not None and name not in numbers):
        raise ValueError(f"The grid has no parameter with numbers{'' if name is None else f' called {name!r}'}.")
    name = name or max(numbers, key=lambda key: len(numbers[key]))
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for params, mean, deviation in zip(
        results["params"], results[f"mean_test_{metric}"], results[f"std_test_{metric}"], strict=True
    ):
        if isinstance(params.get(name), Real):
            others = ", ".join(f"{key}={value}" for key, value in params.items() if key != name)
            lines.setdefault(others, []).append((float(params[name]), float(mean), float(deviation)))
    best = results["params"][search.best_index_]
    value = best.get(name)
    chosen = (
        float(value) if isinstance(value, Real) else np.nan,
        float(results[f"mean_test_{metric}"][search.best_index_]),
    )
    made = {others: tuple(np.array(sorted(points)).T) for others, points in lines.items()}
    return SearchDisplay(name, made, chosen).plot(ax=ax)
