"""A perceptron run with all of its updates, recorded by the compiled loop at full speed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from rosenblatt.lab import state_limits
from rosenblatt.lab.state_limits import MOST_RUN_EPOCHS, MOST_RUN_VISITS
from rosenblatt.learn.report import unseen
from rosenblatt.learn.schemes import TWO
from rosenblatt.online.perceptron import VotedPerceptron
from rosenblatt.shell.online_learner import prepare

Array = np.ndarray[Any, Any]
LONGEST_ROWS = 10 * MOST_RUN_VISITS  # characters
BIASES = ("none", "unit", "radius")
FIRST_ROW = 1  # the lab numbers rows as slides do; its links and code count from 0
ORDERS = ("cyclic", "shuffle", "random", "first", "worst", "these rows")


@dataclass(frozen=True)
class RunSettings:
    """The settings of the lab's perceptron.

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

    @classmethod
    def read(cls, given: Any) -> RunSettings:
        """Settings from a dict of untrusted values; ValueError if one is not valid."""
        kept = state_limits.fields(given, "settings", (field.name for field in fields(cls)))
        (bias,), (order,) = (
            state_limits.chosen([kept[name]], name, options) for name, options in (("bias", BIASES), ("order", ORDERS))
        )
        rows = state_limits.text(kept["rows"], "rows", LONGEST_ROWS)
        if (count := len(_parts(rows))) > MOST_RUN_VISITS:
            raise ValueError(f"rows: {count:,} rows are given, but a run visits at most {MOST_RUN_VISITS:,}")
        return cls(
            bias=bias,
            rate=state_limits.number(kept["rate"], "rate", state_limits.SMALLEST_RATE, state_limits.LARGEST_RATE),
            margin=state_limits.number(kept["margin"], "margin", low=0.0),
            order=order,
            rows=rows,
            seed=state_limits.integer(kept["seed"], "seed", 0, state_limits.LARGEST_SEED),
            start=state_limits.numbers(kept["start"], "start", 3, 3),
        )

    def visiting_order(self, n: int) -> str | list[int]:
        """The order as `Perceptron` takes it."""
        if self.order != "these rows":
            return self.order
        try:
            rows = [int(part) for part in _parts(self.rows)]
        except ValueError:
            rows = []
        rows = [row for row in rows if 0 <= row < n]
        return rows or "cyclic"

    def visits_per_epoch(self, n: int) -> int:
        """The largest number of rows that an epoch visits."""
        order = self.visiting_order(n)
        return max(n, 1, 0 if isinstance(order, str) else len(order))

    def initial_plane(self, d: int) -> dict[str, Any]:
        """The initial plane for d columns, as keyword arguments of `fit` and `trace`; none if it is zero."""
        if d != 2 or not any(self.start):
            return {}
        *w, b = self.start
        return {"coef_init": [w], "intercept_init": [b]}

    def parameters(self, n: int) -> dict[str, Any]:
        """The parameters of `Perceptron` that differ from its defaults."""
        passes = (
            MOST_RUN_EPOCHS
            if self.order in ("first", "worst")
            else min(MOST_RUN_EPOCHS, MOST_RUN_VISITS // self.visits_per_epoch(n))
        )
        found: dict[str, Any] = {"order": self.visiting_order(n), "max_epochs": max(1, passes)}
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


def renumbered(rows: str, by: int) -> str:
    """Numbers of rows in text, each plus `by`; anything else is left as it is.

    >>> renumbered("4; 2, 0", 1), renumbered("none", 1)
    ('5, 3, 1', 'none')
    """
    parts = [part.strip() for part in _parts(rows)]
    return ", ".join(str(int(part) + by) if part.removeprefix("-").isdecimal() else part for part in parts)


def _parts(rows: str) -> list[str]:
    return [part for part in rows.replace(";", ",").split(",") if part.strip()]


@dataclass(frozen=True)
class Run:
    """The planes of a run: W[k], b[k] after k updates, the k-th made by rows[k − 1].

    Attributes
    ----------
    W, b : ndarray of shape (k + 1, d) and (k + 1,)
    rows : ndarray of int
    converged : bool
    bound : float or None
    """

    W: Array
    b: Array
    rows: Array
    converged: bool
    bound: float | None

    @property
    def updates(self) -> int:
        """The number of updates."""
        return len(self.rows)


def run_perceptron(X: Array, y: Array, settings: RunSettings) -> Run:
    """Run the perceptron on rows of two classes with codes 0 and 1."""
    n, d = X.shape
    model = VotedPerceptron(**settings.parameters(n))
    start = settings.initial_plane(d)
    run = prepare(model, X, y, None, (start.get("coef_init"), start.get("intercept_init"))).run
    solver, source, run.limit = run.solver, run.source, model.max_epochs or MOST_RUN_EPOCHS
    for _ in run:
        pass
    converged = run.outcome == "separated" or solver.clean(source)
    kept = solver.model()
    bound = None
    if converged:  # only the bound: a full report counts the errors of the vote, which takes longer than training
        bound = solver.conclude(source, unseen("separated", run, run.records, 0.0), kept).bound
    (history,) = kept.histories
    W, b, _ = history.vectors(TWO)
    known = {(X[i].tobytes(), bool(y[i])): i for i in reversed(range(n))}
    made = np.asarray(history.rows)[history.which]
    rows = [known[row.tobytes(), bool(step > 0)] for row, step in zip(made, history.steps, strict=True)]
    return Run(W, b, np.array(rows, dtype=int), bool(converged), bound)
