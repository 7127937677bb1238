"""A perceptron run as the lab shows it: every update at the full speed of the compiled loop."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rosenblatt.estimators.perceptron import VotedPerceptron
from rosenblatt.learn.kept import Ballot

Array = np.ndarray[Any, Any]
VISITS, EPOCHS = 6_000, 500  # where a run that has not converged stops
ORDERS = ("cyclic", "shuffle", "random", "first", "worst", "these rows")


@dataclass(frozen=True)
class Settings:
    """How the lab's perceptron learns.

    Attributes
    ----------
    bias : {"none", "unit", "radius"}
    rate : float
    margin : float
    order : one of ORDERS
    rows : str
        The rows to visit, for the order "these rows": "4, 2, 0".
    seed : int
    start : (w₁, w₂, b)
    """

    bias: str = "unit"
    rate: float = 1.0
    margin: float = 0.0
    order: str = "cyclic"
    rows: str = ""
    seed: int = 0
    start: tuple[float, ...] = (0.0, 0.0, 0.0)

    def sequence(self, n: int) -> str | list[int]:
        """The order as `Perceptron` takes it."""
        if self.order != "these rows":
            return self.order
        try:
            rows = [int(part) for part in self.rows.replace(";", ",").split(",") if part.strip()]
        except ValueError:
            rows = []
        rows = [row for row in rows if 0 <= row < n]
        return rows or "cyclic"

    def parameters(self, n: int) -> dict[str, Any]:
        """The parameters of `Perceptron`, but for those at their defaults."""
        found: dict[str, Any] = {"order": self.sequence(n)}
        if self.bias == "none":
            found["fit_intercept"] = False
        elif self.bias == "radius":
            found["bias_step"] = "radius"
        if self.rate != 1:
            found["learning_rate"] = self.rate
        if self.margin:
            found["margin"] = self.margin
        if self.order in ("shuffle", "random"):
            found["random_state"] = self.seed
        return found


@dataclass(frozen=True)
class Run:
    """The planes of a run: W[k], b[k] after k updates, the k-th made by rows[k − 1].

    Attributes
    ----------
    W, b : ndarray of shape (k + 1, d) and (k + 1,)
    rows : ndarray of int
    visits : ndarray of int
        Rows visited before each update.
    converged : bool
    bound : float or None
    """

    W: Array
    b: Array
    rows: Array
    visits: Array
    converged: bool
    bound: float | None

    @property
    def updates(self) -> int:
        """How many there were."""
        return len(self.rows)


def learn(X: Array, y: Array, settings: Settings, start: Array | None = None) -> Run:
    """Run the perceptron on rows of two classes, codes 0 and 1."""
    n, d = X.shape
    epochs = EPOCHS if settings.order in ("first", "worst") else min(EPOCHS, VISITS // n)
    model = VotedPerceptron(max_epochs=max(1, epochs), **settings.parameters(n))
    begin = np.asarray(settings.start if start is None else start, dtype=float)
    begin = begin if begin.size == d + 1 else np.zeros(d + 1)
    initial = {"coef_init": [begin[:d]], "intercept_init": [begin[d]]} if begin.any() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y, **initial)
    assert isinstance(model._kept, Ballot)
    history = model._kept.histories[0]
    known = {(X[i].tobytes(), bool(y[i])): i for i in reversed(range(n))}
    made = np.asarray(history.support)[history.which]
    rows = [known[row.tobytes(), bool(step > 0)] for row, step in zip(made, history.steps, strict=True)]
    return Run(
        model.vectors_,
        model.intercepts_,
        np.array(rows, dtype=int),
        history.clocks.astype(int),
        model.report_.outcome == "converged",
        model.report_.bound,
    )
