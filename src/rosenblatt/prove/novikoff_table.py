"""The two quantities of Novikoff's proof after every update of a run: w·u ≥ kγ and ‖w‖² ≤ kR².

With a bias whose step is η·y·c², rows are x̂ = (x, c), weights ŵ = (w, b/c), and planes go through the origin. Each
update is divided by η. u is the unit normal of the widest plane through the origin and γ its margin, R = max‖x̂‖. An
update adds y·x̂ with y·x̂·u ≥ γ and y·ŵ·x̂ ≤ 0, so that

    kγ ≤ ŵ·u ≤ ‖ŵ‖ ≤ √k·R          and          k ≤ (R/γ)²

A. Novikoff, "On convergence proofs for perceptrons", 1962.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.learn.number_format import format_number
from rosenblatt.prove.max_margin.search import max_margin

Array = np.ndarray[Any, Any]
HEADS = ("k", "w·u", "kγ", "‖w‖²", "kR²")


@dataclass(frozen=True)
class NovikoffTable:
    """w·u, kγ, ‖w‖² and kR² after each number k of updates, from 0; prints as a table.

    Attributes
    ----------
    u : ndarray of shape (d,) or (d + 1,)
        The unit normal of the widest plane; with a bias its last entry is that of the constant feature.
    gamma, radius : float
        γ and R.
    along : ndarray
        w·u, divided by η, for k = 0, 1, ….
    squares : ndarray
        ‖w‖², divided by η².
    bias : bool
        Whether w and the rows have an entry for the bias.

    Examples
    --------
    >>> from rosenblatt import teaching, trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> table = teaching.proof(trace(X, y, fit_intercept=False))
    >>> table.updates, table.bound
    (2, 2.0)
    """

    u: Array
    gamma: float
    radius: float
    along: Array
    squares: Array
    bias: bool

    @property
    def updates(self) -> int:
        """The number of updates."""
        return len(self.along) - 1

    @property
    def bound(self) -> float:
        """(R/γ)², rounded to twelve digits."""
        return float(f"{(self.radius / self.gamma) ** 2:.12g}")

    @property
    def holds(self) -> bool:
        """Whether w·u ≥ kγ and ‖w‖² ≤ kR² in every line, up to rounding."""
        k, slack = np.arange(len(self.along)), 1e-9 * self.radius**2
        below = self.along >= k * self.gamma - slack / self.radius
        return bool(below.all() and (self.squares <= k * self.radius**2 + slack * np.maximum(k, 1)).all())

    def __str__(self) -> str:
        """One line per update."""
        lines = [HEADS]
        for k, (along, square) in enumerate(zip(self.along, self.squares, strict=True)):
            values = (along, k * self.gamma, square, k * self.radius**2)
            lines.append((str(k), *map(format_number, values)))  # type: ignore[arg-type]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
        hats = ", where x has the constant feature of the bias" if self.bias else ""
        end = f"k ≤ (R/γ)² = {format_number(self.bound)}, since kγ ≤ w·u ≤ ‖w‖ ≤ √k·R{hats}"
        return "\n".join([*text, "", end])


def novikoff_table(trace: Any) -> NovikoffTable:
    """The table of a trace of a perceptron on two classes, from zero, at a constant rate."""
    settings = trace.parameters
    rate, margin = settings.get("learning_rate"), settings.get("margin")
    if not trace.binary or settings.get("update") != "online" or trace.sample_weight is not None:
        raise ValueError("The proof is about a perceptron that moves one plane by one row at a time, without weights.")
    if isinstance(rate, str) or callable(rate) or np.any(np.array(margin, dtype=float)):
        raise ValueError("The proof is shown for a constant learning_rate and margin=0.")
    if any(map(any, trace.start[0])) or any(trace.start[1]):
        raise ValueError("The proof needs a start at zero: from another start no bound of this form holds.")
    planes, shifts = trace.planes()
    X, W, b = np.array(trace.X, dtype=float), planes[:, 0] / float(rate), shifts[:, 0] / float(rate)
    bias = bool(settings.get("fit_intercept"))
    if bias:
        radius2 = float(np.square(X).sum(axis=1).max())
        c = math.sqrt(float(squared_bias_feature(settings["bias_step"], radius2)))
        X, W = np.column_stack([X, np.full(len(X), c)]), np.column_stack([W, b / c])
    try:
        widest = max_margin(X, np.array(trace.y), fit_intercept=False)
    except ValueError as error:
        raise ValueError("No plane separates these rows, so that there is no bound to prove.") from error
    length = float(np.linalg.norm(widest.coef))
    radius = math.sqrt(float(np.square(X).sum(axis=1).max()))
    u = np.asarray(widest.coef) / length
    return NovikoffTable(u, float(widest.margin), radius, W @ u, np.square(W).sum(axis=1), bias)
