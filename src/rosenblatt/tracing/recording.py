"""Recording a run step by step: of the learner itself in floats, or of its exact counterpart in fractions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.learn.evaluation import Problem, problems
from rosenblatt.learn.models import VotedPlanes
from rosenblatt.learn.number_format import MOST_BITS, printed_fraction, printed_fractions, too_long
from rosenblatt.learn.schemes import TWO, Scheme
from rosenblatt.online.rules import PerceptronRule
from rosenblatt.planes.state import Machine, State
from rosenblatt.prove.mistake_formula import Separator, mistake_bound
from rosenblatt.shell.fitted import fitted
from rosenblatt.shell.fitting import train
from rosenblatt.shell.online_learner import initial_values, learnable, prepare
from rosenblatt.tracing.exact_learners import ExactMachine, exact_epochs, exact_plan, new_exact_machines, no_violations

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Step:
    """One visit of a run; numbers are floats, or fractions in an exact trace.

    Attributes
    ----------
    number : int
        Counted from 1.
    epoch : int
        Counted from 1.
    row : int or None
        The row visited, from 0; None for a batch update, which uses all rows.
    label : the label of the row, as it was given
        For a batch update None.
    scores, scores_after : tuple or None
        The scores of the row before and after the visit, one per plane.
    margin, margin_after : number or None
        y·f for two classes, s_y − max s_r for several, the smallest y_k·f_k for one-vs-rest, −|y − f| for regression.
    updated : bool
        Whether the visit changed w or b.
    change, shift : tuples
        Δw, one row per plane, and Δb.
    coef, intercept : tuples
        w and b after the visit.
    updates : int
        Updates so far.
    plane : int
        For one-vs-one, the pair of classes that was trained.
    rows : tuple of int
        For a batch update, the rows that lacked margin: their sum is the step.

    Examples
    --------
    >>> from rosenblatt import trace
    >>> X, y = [[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1]
    >>> step = trace(X, y, fit_intercept=False, exact=True).steps[1]
    >>> step.row, step.margin, step.change, step.coef
    (1, Fraction(0, 1), ((Fraction(0, 1), Fraction(1, 1)),), ((Fraction(1, 1), Fraction(1, 1)),))
    """

    number: int
    epoch: int
    row: int | None
    label: Any
    scores: tuple[Any, ...] | None
    margin: Any
    updated: bool
    change: tuple[tuple[Any, ...], ...]
    shift: tuple[Any, ...]
    coef: tuple[tuple[Any, ...], ...]
    intercept: tuple[Any, ...]
    scores_after: tuple[Any, ...] | None
    margin_after: Any
    updates: int
    plane: int = 0
    rows: tuple[int, ...] = ()


class Recorder:
    """Collects the steps of a run."""

    def __init__(self, X: Array, y: Array, start: tuple[Array, Array], epsilon: float) -> None:
        self.X, self.y, self.start, self.epsilon = X, y, start, epsilon
        self.steps: list[Step] = []
        self.latest: dict[int, tuple[Array, Array, int]] = {}  # planes and update count of each machine
        self.plane_tuples: dict[int, tuple[Any, Any]] = {}  # the same planes as tuples, shared by the steps

    def record(
        self, number: int, W: Array, b: Array, updates: int, problem: Problem, visit: int | tuple[int, ...], epoch: int
    ) -> None:
        """Add a visit to a row, or a batch update by several, after which this machine has planes W, b."""
        row, rows = (None, visit) if isinstance(visit, tuple) else (visit, ())
        first = number * len(b)
        if number not in self.latest:
            begin = self.start[0][first : first + len(b)], self.start[1][first : first + len(b)]
            self.latest[number], self.plane_tuples[number] = (*begin, 0), (as_tuples(begin[0]), as_tuples(begin[1]))
        before, shift, made = self.latest[number]
        updated = updates > made
        if updated:
            self.plane_tuples[number] = as_tuples(W), as_tuples(b)
        self.latest[number] = (W, b, updates)
        truth = None if row is None else problem.truth[row]
        old, low = self._score(before, shift, row, truth, problem.scheme)
        new, high = self._score(W, b, row, truth, problem.scheme)
        self.steps.append(
            Step(
                number=len(self.steps) + 1,
                epoch=epoch,
                row=row,
                label=None if row is None else _plain(self.y[row]),
                scores=old,
                margin=low,
                updated=updated,
                change=as_tuples(W - before),
                shift=as_tuples(b - shift),
                coef=self.plane_tuples[number][0],
                intercept=self.plane_tuples[number][1],
                scores_after=new,
                margin_after=high,
                updates=sum(entry[2] for entry in self.latest.values()),
                plane=first if len(self.latest) > 1 or len(self.start[1]) != len(b) else 0,
                rows=rows,
            )
        )

    def _score(self, W: Array, b: Array, row: int | None, truth: Any, scheme: Scheme) -> tuple[Any, Any]:
        if row is None:
            return None, None
        scores = W @ self.X[row] + b
        if self.epsilon >= 0:
            margin = -abs((printed_fraction(truth) if isinstance(scores[0], Fraction) else float(truth)) - scores[0])
        elif scheme.joint:
            margin = scores[truth] - max(score for k, score in enumerate(scores) if k != truth)
        elif scheme.single:
            margin = scores[0] if truth > 0 else -scores[0]
        else:
            on = truth != 0 if np.ndim(truth) else np.arange(len(b)) == truth
            margin = min(score if yes else -score for score, yes in zip(scores, on, strict=True))
        return as_tuples(scores), _plain(margin)


def _plain(value: Any) -> Any:
    return (
        as_tuples(value) if isinstance(value, np.ndarray) else value.item() if isinstance(value, np.generic) else value
    )


def as_tuples(array: Array) -> Any:
    """An array as nested tuples."""
    return tuple(as_tuples(row) for row in array) if array.ndim > 1 else tuple(array.tolist())


# -- running and recording -------------------------------------------------------------------------------------------


def record_in_floats(
    learner: Any, X: Any, rows: Array, y: Any, coef: Any, intercept: Any, weights: Any, known: Any
) -> dict[str, Any]:
    """Fit the learner and record every visit."""
    machines: list[Machine] = []

    def watch(machine: Machine, problem: Problem, row: int | tuple[int, ...], epoch: int) -> None:
        if not any(machine is one for one in machines):
            machines.append(machine)
        number = next(k for k, one in enumerate(machines) if one is machine)
        alone = State([machine], problem.scheme, "last", 0, 0).last()
        W, b = alone.coef.astype(np.float64), alone.intercept.astype(np.float64)
        recorder.record(number, W, b, machine.updates, problem, row, epoch)

    run = prepare(learner, X, y, weights, (coef, intercept), known=known).run
    solver: Any = run.solver
    start = solver.last()
    begin = start.coef.astype(np.float64), start.intercept.astype(np.float64)
    recorder = Recorder(rows.astype(np.float64), np.asarray(y), begin, solver.plan.criterion.tube)
    solver.plan = replace(solver.plan, watch=watch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in train(learner, run):
            pass
    voted = isinstance(fitted(learner).model, VotedPlanes)
    return {
        "start": (as_tuples(begin[0]), as_tuples(begin[1])),
        "steps": tuple(recorder.steps),
        "outcome": learner.report_.outcome,
        "coef": None if voted else as_tuples(np.atleast_2d(learner.coef_).astype(np.float64)),
        "intercept": None if voted else as_tuples(np.atleast_1d(learner.intercept_).astype(np.float64)),
        "bound": learner.report_.bound,
    }


def record_in_fractions(
    learner: Any, rows: Any, X: Array, y: Any, coef: Any, intercept: Any, weights: Any, known: Any
) -> dict[str, Any]:
    """Run the learner in exact arithmetic and record every visit."""
    plan, rate = exact_plan(learner)
    examples = learnable(learner, plan, X, y, weights, known=known)
    classes, labels = (1 if examples.classes is None else examples.classes.size), examples.target.ndim == 2
    if examples.classes is not None and classes < 2 and not labels:
        raise ValueError(f"A trace needs at least 2 classes; y has 1 class: {examples.classes.item(0)!r}.")
    scheme = plan.scheme(classes, labels)
    planes = scheme.planes(classes)
    start = (
        _start_in_fractions("coef_init", coef, (planes, rows.shape[1])),
        _start_in_fractions("intercept_init", intercept, (planes,)),
    )
    here = np.arange(len(rows)) if examples.present is None else examples.present
    radius2 = max((row @ row for row in rows[here]), default=Fraction(0))
    c2 = printed_fraction(squared_bias_feature(plan.bias, radius2))
    machines = new_exact_machines(plan, rate, scheme, planes, c2, start)
    truth = np.asarray(y)
    recorder = Recorder(rows, truth, start, plan.criterion.tube)

    def watch(number: int, machine: ExactMachine, problem: Problem, row: int | tuple[int, ...], epoch: int) -> None:
        W, b = machine.planes()
        if too_long((*W.ravel(), *b)):
            raise ValueError(
                f"After {machine.updates} updates the fractions have more than {MOST_BITS * 3 // 10:,} digits: "
                "use exact=False, or fewer epochs (max_epochs)."
            )
        recorder.record(number, W.copy(), b.copy(), machine.updates, problem, row, epoch)

    outcome = "budget"
    passes = exact_epochs(rows, examples, plan, machines, scheme, learner.random_state, watch)
    for epoch, converged in enumerate(passes, 1):
        if converged or epoch >= learner.max_epochs:
            tasks = list(problems(examples, scheme, classes))
            clean = converged or all(
                no_violations(rows, machine, task) for machine, task in zip(machines, tasks, strict=True) if task.size
            )
            outcome = ("separated" if examples.classes is not None else "solved") if clean else "budget"
            break
    kept = [machine.average() if plan.keep == "average" else machine.planes() for machine in machines]
    W, b = np.concatenate([part[0] for part in kept]), np.concatenate([part[1] for part in kept])
    from_zero = not (start[0].any() or start[1].any())
    bound = None
    if outcome == "separated" and from_zero and scheme == TWO and examples.classes is not None:
        bound = _exact_bound(rows, examples, plan, rate, machines[0], radius2)
    return {
        "start": (as_tuples(start[0]), as_tuples(start[1])),
        "steps": tuple(recorder.steps),
        "outcome": outcome,
        "coef": None if plan.keep == "vote" else as_tuples(W),
        "intercept": None if plan.keep == "vote" else as_tuples(b),
        "bound": bound,
    }


def _start_in_fractions(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """An initial value, checked; zeros when it is not given."""
    if value is None:
        return np.full(shape, Fraction(0), dtype=object)
    exact: Array = printed_fractions(value)
    initial_values(name, exact, shape)  # refuses another shape
    return exact.reshape(shape)


def _exact_bound(rows: Any, examples: Any, plan: Any, rate: Any, machine: ExactMachine, radius2: Fraction) -> Any:
    """Novikoff's bound as a fraction, from the margin of the last plane of two classes."""
    whole = examples.weights is None or bool((examples.weights == np.floor(examples.weights)).all())
    if not isinstance(plan.rule, PerceptronRule) or isinstance(rate, str) or callable(rate) or not whole:
        return None
    W, b = machine.planes()
    here = np.arange(len(rows)) if examples.present is None else examples.present
    low = min((W[0] @ rows[i] + b[0]) * (1 if examples.target[i] == 1 else -1) for i in here)
    plane = Separator(cast(Any, low), W[0] @ W[0], b[0] * b[0])
    asked = max(printed_fraction(plan.rule.low), printed_fraction(plan.rule.high))
    bias = plan.bias if isinstance(plan.bias, str) else cast(Any, printed_fraction(plan.bias))
    bound: Any = mistake_bound(
        plane, cast(Any, radius2), bias=bias, margin=cast(Any, asked), rate=cast(Any, printed_fraction(rate))
    )
    if plan.batch and bound is not None:
        bound *= len(here) if examples.weights is None else sum(map(printed_fraction, examples.weights[here]))
    return bound
