"""Steps as a blackboard shows them, for learners with an arithmetic of their own: each visit with all of its numbers.

Pegasos, stochastic gradient descent and the dual perceptron, in fractions or in floats, by slow loops that visit rows
in the order of the learner itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.kernel.estimators import KernelPerceptron
from rosenblatt.learn.evaluation import whole_problem
from rosenblatt.learn.number_format import MOST_BITS, counted, format_number, format_vector, printed_fraction, too_long
from rosenblatt.learn.orders import visited
from rosenblatt.learn.schemes import TWO
from rosenblatt.objective.linear import LinearClassifier, LinearRegressor
from rosenblatt.objective.svm import Pegasos
from rosenblatt.shell.online_learner import learnable, plan_of
from rosenblatt.shell.parameters import new_seed

Array = np.ndarray[Any, Any]
DEFAULT_EPOCHS = 2  # of learners that never end by themselves
MOST_EPOCHS = 1000  # of the dual perceptron, which ends when it separates the rows
MOST_SHOWN = 200
EXACT_SLOPES = ("perceptron", "hinge", "squared", "absolute", "huber", "epsilon_insensitive")


@dataclass(frozen=True)
class WorkedStep:
    """One visit to a row, with the numbers that its arithmetic has.

    Attributes
    ----------
    number : int
        From 1.
    epoch : int
        From 1.
    row : int
        From 0.
    updated : bool
        Whether the row changed the model.
    values : dict
        The columns of the table: "f", "y·f", "η", "w", "b", "α" and so on; numbers, or tuples of numbers.

    Examples
    --------
    >>> from rosenblatt import Pegasos, trace
    >>> learner = Pegasos(alpha=0.5, order="cyclic", fit_intercept=False, max_epochs=1)
    >>> step = trace([[1, 0], [0, -1]], [1, -1], learner, exact=True).steps[1]
    >>> step.row, step.updated, str(step.values["η"])
    (1, True, '1')
    """

    number: int
    epoch: int
    row: int
    updated: bool
    values: dict[str, Any]


@dataclass(frozen=True)
class WorkedTrace:
    """A run of a learner in its own arithmetic; prints its rule and a table. Made by `trace`.

    Attributes
    ----------
    learner : str
        Its name.
    rule : str
        What a visit does, as a formula.
    X : tuple of rows
        Each a tuple of numbers.
    y : tuple of labels
        As they were given.
    exact : bool
        Whether the numbers are fractions.
    steps : tuple of WorkedStep
        Every visit, in order.
    coef, intercept : tuple and number
        The last w and b; of the dual perceptron with the linear kernel, Σ α·y·x. None for another kernel.
    ending : str
        The last line: how the run ended.
    first : int
        The number of the first row where rows are printed.

    Examples
    --------
    >>> from rosenblatt import Pegasos, trace
    >>> learner = Pegasos(alpha=0.5, order="cyclic", fit_intercept=False, max_epochs=1)
    >>> print(trace([[1, 0], [0, -1]], [1, -1], learner, exact=True))
    Pegasos: w ← (1 − 1/t)·w, + η·y·x if y·f < 1, η = 1/(λt), λ = 0.5
    <BLANKLINE>
    step  epoch  row  x        y   f  y·f  η  w
       1      1    0  (1, 0)   +1  0    0  2  (2, 0)
       2      1    1  (0, −1)  −1  0    0  1  (1, 1)
    <BLANKLINE>
    2 updates in 2 steps
    """

    learner: str
    rule: str
    X: tuple[tuple[Any, ...], ...]
    y: tuple[Any, ...]
    exact: bool
    steps: tuple[WorkedStep, ...]
    coef: tuple[Any, ...] | None
    intercept: Any
    ending: str
    first: int = 0

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[WorkedStep]:
        return iter(self.steps)

    @property
    def updates(self) -> tuple[WorkedStep, ...]:
        """The steps that changed the model by their row."""
        return tuple(step for step in self.steps if step.updated)

    def __str__(self) -> str:
        """The rule, one line per step, and how many there were."""
        heads = ["step", "epoch", "row", "x", "y", *(self.steps[0].values if self.steps else ())]
        lines = [heads, *([*self._seen(step), *map(_shown, step.values.values())] for step in self.steps[:MOST_SHOWN])]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        left = {"x", "y", "w", "α", "b"}
        text = [f"{self.learner}: {self.rule}", ""]
        for line in lines:
            cells = zip(line, widths, heads, strict=True)
            row = [cell.ljust(width) if head in left else cell.rjust(width) for cell, width, head in cells]
            text.append("  ".join(row).rstrip())
        if len(self.steps) > MOST_SHOWN:
            text.append(f"… and {len(self.steps) - MOST_SHOWN:,} more steps")
        return "\n".join([*text, "", self.ending])

    def _seen(self, step: WorkedStep) -> list[str]:
        label = self.y[step.row]
        signed = set(self.y) <= {1, -1} and not isinstance(label, str)
        named = ("+1" if label == 1 else "−1") if signed else str(label)
        x = format_vector(self.X[step.row])
        return [str(step.number), str(step.epoch), str(step.row + self.first), x, named]


def _shown(value: Any) -> str:
    return format_vector(value) if isinstance(value, tuple) else format_number(value)


# -- the arithmetic of one visit -------------------------------------------------------------------------------------

Visit = Callable[[int, Array, Any], tuple[bool, dict[str, Any]]]


class Worked:
    """What a learner does at a visit; `number` makes a fraction or a float of each parameter."""

    ends = False  # whether a run ends when an epoch changes nothing
    linear = True

    def __init__(self, model: Any, plan: Any, rows: Array, y: Array, number: Callable[[Any], Any]) -> None:
        self.model, self.plan, self.rows, self.y, self.number = model, plan, rows, y, number
        self.bias = number(1 if plan.bias != "none" else 0)
        self.w, self.b, self.visits = rows[0] * 0, number(0), 0

    @property
    def rule(self) -> str:
        """What a visit does, as a formula."""
        raise NotImplementedError

    def visit(self, row: int) -> tuple[bool, dict[str, Any]]:
        """Visit a row; return whether it changed the model, and the numbers to show."""
        raise NotImplementedError

    def shown_plane(self) -> dict[str, Any]:
        """The columns of w and b."""
        return {"w": tuple(self.w)} | ({"b": self.b} if self.bias else {})


class WorkedPegasos(Worked):
    """w ← (1 − 1/t)·w, + η·y·x if y·f < 1, with η = 1/(λt); b is the weight of a constant feature."""

    def __init__(self, model: Any, plan: Any, rows: Array, y: Array, number: Callable[[Any], Any]) -> None:
        super().__init__(model, plan, rows, y, number)
        if plan.project or plan.batch_size != 1:
            raise ValueError("trace shows Pegasos row by row: batch_size=1, without project (a square root).")

    @property
    def rule(self) -> str:
        """What a visit does, as a formula."""
        b = "; the same for b" if self.bias else ""
        lam = format_number(self.number(self.plan.alpha))
        return f"w ← (1 − 1/t)·w, + η·y·x if y·f < 1{b}, η = 1/(λt), λ = {lam}"

    def visit(self, row: int) -> tuple[bool, dict[str, Any]]:
        """Shrink w, and add the row if its margin is below 1."""
        self.visits += 1
        x, y = self.rows[row], self.y[row]
        f = self.w @ x + self.b
        eta, kept = 1 / (self.number(self.plan.alpha) * self.visits), 1 - self.number(1) / self.visits
        lacks = bool(y * f < 1)
        self.w, self.b = kept * self.w + (eta * y * lacks) * x, kept * self.b + eta * y * lacks * self.bias
        return lacks, {"f": f, "y·f": y * f, "η": eta, **self.shown_plane()}


class WorkedDescent(Worked):
    """w ← (1 − ηλ)·w − η·ℓ′·x, b ← b − η·ℓ′, where ℓ′ is the slope of the loss in f."""

    def __init__(self, model: Any, plan: Any, rows: Array, y: Array, number: Callable[[Any], Any]) -> None:
        super().__init__(model, plan, rows, y, number)
        if number is printed_fraction and plan.loss not in EXACT_SLOPES:
            raise ValueError(f"exact=True supports the losses {', '.join(EXACT_SLOPES)}, not {plan.loss}.")
        constant = not isinstance(plan.rate, str) and not callable(plan.rate)
        if not (constant or plan.rate == "1/t") or plan.penalty not in (None, "l2"):
            raise ValueError('trace shows descent with learning_rate a number or "1/t", and penalty "l2" or None.')
        if not math.isfinite(plan.loss_class.steep) or plan.solver not in ("stochastic", "auto"):
            raise ValueError(
                f"trace shows row-by-row descent on a loss of bounded curvature or slope, not {plan.loss}."
            )
        self.decay = number(plan.alpha if plan.penalty == "l2" else 0)

    @property
    def rule(self) -> str:
        """What a visit does, as a formula."""
        rate = "1/t" if isinstance(self.plan.rate, str) else format_number(self.number(self.plan.rate))
        shrink = f"(1 − η·{format_number(self.decay)})·w" if self.decay else "w"
        b = ", b ← b − η·ℓ′" if self.bias else ""
        loss = self.plan.loss.replace("_", " ")
        return f"w ← {shrink} − η·ℓ′·x{b}, η = {rate}, ℓ′ the slope of the {loss} loss"

    def visit(self, row: int) -> tuple[bool, dict[str, Any]]:
        """Step against the gradient of this row's loss."""
        self.visits += 1
        x, y, number = self.rows[row], self.y[row], self.number
        f = self.w @ x + self.b
        loss, residual = self.plan.loss_class, self.plan.criterion.numbers
        at = f - y if residual else y * f
        width = number(self.plan.width)
        slope = number(loss.slope(at, width)) * (1 if residual else y)
        eta = number(1) / self.visits if isinstance(self.plan.rate, str) else number(self.plan.rate)
        self.w = max(1 - eta * self.decay, number(0)) * self.w - (eta * slope) * x
        self.b = self.b - eta * slope * self.bias
        where = {"f − y": at} if residual else {"y·f": at}
        return bool(slope != 0), {"f": f, **where, "ℓ′": slope, "η": eta, **self.shown_plane()}


class WorkedDual(Worked):
    """α_i counts the mistakes on row i: α_i ← α_i + 1 if y_i·f(x_i) ≤ 0, f(x) = Σ α_j·y_j·K(x_j, x)."""

    ends = True

    def __init__(self, model: Any, plan: Any, rows: Array, y: Array, number: Callable[[Any], Any]) -> None:
        super().__init__(model, plan, rows, y, number)
        if model.kernel not in ("linear", "poly") or model.max_support is not None or model.keep != "last":
            raise ValueError('trace shows the dual perceptron with the kernel "linear" or "poly" and no max_support.')
        self.linear = model.kernel == "linear"
        products = rows @ rows.T
        if not self.linear:
            if isinstance(model.gamma, str) or model.degree != int(model.degree):
                raise ValueError("trace shows the polynomial kernel with gamma a number and degree a whole number.")
            products = (number(model.gamma) * products + number(model.coef0)) ** int(model.degree)
        feature = squared_bias_feature(plan.bias, max(np.diagonal(products)))
        self.shift = number(feature) * self.bias
        self.K, self.counts = products + self.shift, [0] * len(rows)

    @property
    def rule(self) -> str:
        """What a visit does, as a formula."""
        plus = f" + {format_number(self.shift)}" if self.shift else ""
        inner = "x_j·x" if self.linear else "(γ·x_j·x + c)^degree"
        return f"α_i ← α_i + 1 if y·f ≤ 0, f(x) = Σ α_j·y_j·K(x_j, x), K = {inner}{plus}"

    def visit(self, row: int) -> tuple[bool, dict[str, Any]]:
        """Count a mistake."""
        beta = np.array([count * side for count, side in zip(self.counts, self.y, strict=True)], dtype=self.K.dtype)
        f = beta @ self.K[row]
        mistake = bool(self.y[row] * f <= 0)
        self.counts[row] += mistake
        if mistake:
            beta[row] = beta[row] + self.y[row]
            self.w, self.b = beta @ self.rows, self.shift * beta.sum()
        return mistake, {"f": f, "y·f": self.y[row] * f, "α": tuple(self.counts)}


WORKED: dict[type, type[Worked]] = {
    Pegasos: WorkedPegasos,
    LinearClassifier: WorkedDescent,
    LinearRegressor: WorkedDescent,
    KernelPerceptron: WorkedDual,
}


def trace_worked(X: Any, y: Any, model: Any, *, exact: bool, first: int) -> WorkedTrace:
    """Run a learner of `WORKED` from zero and record every visit."""
    learner = clone(model)
    number: Callable[[Any], Any] = printed_fraction if exact else float
    given = well_formed(X).toarray() if sp.issparse(X) else np.asarray(X)
    rows = np.empty(given.shape, dtype=object if exact else np.float64)
    for place in np.ndindex(given.shape):
        rows[place] = number(given[place])
    seed = learner.random_state = new_seed(learner.random_state)
    plan = plan_of(learner)
    if learner.early_stopping or learner.class_weight is not None:
        raise ValueError("trace shows all rows with equal weights: without early_stopping and class_weight.")
    examples = learnable(learner, plan, rows.astype(float), y, None)
    if examples.classes is not None and (examples.classes.size != 2 or examples.target.ndim > 1):
        raise ValueError(f"This learner is traced for two classes; y has {examples.classes.size}.")
    labels = np.asarray(y)
    numbers = labels if examples.classes is None else np.where(examples.target == 1, 1, -1)
    sides = np.array([number(value) for value in numbers], dtype=rows.dtype)
    worked = next(make for kind, make in WORKED.items() if type(model) is kind)(learner, plan, rows, sides, number)
    problem = whole_problem(examples, TWO)
    order, steps = plan.make_order(problem, seed), list[WorkedStep]()
    limit = learner.max_epochs or (MOST_EPOCHS if worked.ends else DEFAULT_EPOCHS)
    for epoch in range(limit):
        for row in map(int, visited(order, problem.present, epoch, 0, order.size)):
            updated, values = worked.visit(row)
            if exact and too_long((*worked.w, worked.b)):
                raise ValueError(
                    f"After {counted(len(steps) + 1, 'step')} the fractions have more than {MOST_BITS * 3 // 10:,} "
                    "digits: use exact=False, or fewer epochs (max_epochs)."
                )
            steps.append(WorkedStep(len(steps) + 1, epoch + 1, row, updated, values))
        if worked.ends and order.covers and not any(step.updated for step in steps[-order.size :]):
            break
    made = sum(step.updated for step in steps)
    coef = tuple(worked.w) if worked.linear else None
    ending = f"{counted(made, 'update')} in {counted(len(steps), 'step')}"
    if worked.ends and coef is not None:
        b = f", b = {format_number(worked.b)}" if worked.bias else ""
        ending += f"; w = Σ α·y·x = {format_vector(coef)}{b}"
    X, y = tuple(map(tuple, rows.tolist())), tuple(labels.tolist())
    return WorkedTrace(type(model).__name__, worked.rule, X, y, exact, tuple(steps), coef, worked.b, ending, first)
