"""Runs that are written down as they go: by the learner itself, or in fractions by its slow twin."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rosenblatt.learn.epochs import InMemory
from rosenblatt.learn.evaluation import Problem
from rosenblatt.learn.models import Ballot
from rosenblatt.learn.online.rules import PerceptronRule
from rosenblatt.learn.online.solver import problems
from rosenblatt.learn.online.state import Machine, State
from rosenblatt.learn.schemes import TWO, Scheme
from rosenblatt.prove.mistake_formula import Separator, mistake_bound
from rosenblatt.show import exact_learners as slow
from rosenblatt.show.number_format import as_fraction, fractions_of

Array = np.ndarray[Any, Any]
LONGEST = 10_000  # bits of a denominator: some rules double them with every update


@dataclass(frozen=True)
class Step:
    """One visit of a run; numbers are floats, or fractions in an exact trace.

    Attributes
    ----------
    number : int
        Counted from 1.
    epoch : int
    row : int or None
        The row visited, from 0; None for a batch, which looks at all.
    label : the label of the row, as it was given
    scores, scores_after : tuple or None
        f of the row, one a plane, before and after.
    margin, margin_after : number or None
        y·f; of many classes s_y − max s_r, one-vs-rest the smallest y_k·f_k; of regression −|y − f|.
    updated : bool
    change, shift : tuples
        Δw, a row a plane, and Δb.
    coef, intercept : tuples
        w and b after the visit.
    updates : int
        Updates so far.
    plane : int
        For one-vs-one, which pair learned.
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


class Recorder:
    """Takes down what each visit did."""

    def __init__(self, X: Array, y: Array, start: tuple[Array, Array], tube: float) -> None:
        self.X, self.y, self.start, self.tube = X, y, start, tube
        self.steps: list[Step] = []
        self.now: dict[int, tuple[Array, Array, int]] = {}  # planes and updates, by machine
        self.kept: dict[int, tuple[Any, Any]] = {}  # the same planes as tuples, shared between steps

    def note(
        self, number: int, W: Array, b: Array, updates: int, problem: Problem, row: int | None, epoch: int
    ) -> None:
        """A visit left this machine at W, b."""
        first = number * len(b)
        if number not in self.now:
            begin = self.start[0][first : first + len(b)], self.start[1][first : first + len(b)]
            self.now[number], self.kept[number] = (*begin, 0), (tuples(begin[0]), tuples(begin[1]))
        before, shift, made = self.now[number]
        updated = updates > made
        if updated:
            self.kept[number] = tuples(W), tuples(b)
        self.now[number] = (W, b, updates)
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
                change=tuples(W - before),
                shift=tuples(b - shift),
                coef=self.kept[number][0],
                intercept=self.kept[number][1],
                scores_after=new,
                margin_after=high,
                updates=sum(entry[2] for entry in self.now.values()),
                plane=first if len(self.now) > 1 or len(self.start[1]) != len(b) else 0,
            )
        )

    def _score(self, W: Array, b: Array, row: int | None, truth: Any, scheme: Scheme) -> tuple[Any, Any]:
        if row is None:
            return None, None
        scores = W @ self.X[row] + b
        if self.tube >= 0:
            margin = -abs((as_fraction(truth) if isinstance(scores[0], Fraction) else float(truth)) - scores[0])
        elif scheme.joint:
            margin = scores[truth] - max(score for k, score in enumerate(scores) if k != truth)
        elif scheme.single:
            margin = scores[0] if truth > 0 else -scores[0]
        else:
            on = truth != 0 if np.ndim(truth) else np.arange(len(b)) == truth
            margin = min(score if yes else -score for score, yes in zip(scores, on, strict=True))
        return tuples(scores), _plain(margin)


def _plain(value: Any) -> Any:
    return tuples(value) if isinstance(value, np.ndarray) else value.item() if isinstance(value, np.generic) else value


def tuples(array: Array) -> Any:
    """An array as tuples of tuples."""
    return tuple(tuples(row) for row in array) if array.ndim > 1 else tuple(array.tolist())


# -- the two ways to run ---------------------------------------------------------------------------------------------


def in_floats(learner: Any, X: Any, rows: Array, y: Any, coef: Any, intercept: Any, weights: Any) -> dict[str, Any]:
    """Let the learner run and listen to it."""
    plan = learner._plan()
    machines: list[Machine] = []

    def watch(machine: Machine, problem: Problem, row: int | None, epoch: int) -> None:
        if not any(machine is one for one in machines):
            machines.append(machine)
        number = next(k for k, one in enumerate(machines) if one is machine)
        alone = State([machine], problem.scheme, "last", 0, 0).last(plan.rule)
        W, b = alone.coef.astype(np.float64), alone.intercept.astype(np.float64)
        recorder.note(number, W, b, machine.updates, problem, row, epoch)

    examples = learner._examples(X, y, weights, reset=True)
    start = learner._new_state(InMemory(examples), plan, coef, intercept).last(plan.rule)
    begin = start.coef.astype(np.float64), start.intercept.astype(np.float64)
    recorder = Recorder(rows.astype(np.float64), np.asarray(y), begin, _tube(plan.rule))
    learner._plan = lambda: replace(plan, watch=watch)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            learner.fit(X, y, sample_weight=weights, coef_init=coef, intercept_init=intercept)
    finally:
        del learner._plan
    voted = isinstance(learner._kept, Ballot)
    return {
        "start": (tuples(begin[0]), tuples(begin[1])),
        "steps": tuple(recorder.steps),
        "outcome": learner.report_.outcome,
        "coef": None if voted else tuples(np.atleast_2d(learner.coef_).astype(np.float64)),
        "intercept": None if voted else tuples(np.atleast_1d(learner.intercept_).astype(np.float64)),
        "bound": learner.report_.bound,
    }


def in_fractions(learner: Any, rows: Any, X: Array, y: Any, coef: Any, intercept: Any, weights: Any) -> dict[str, Any]:
    """Run the slow twin."""
    learner._validate_params()
    plan, rate = slow.exact_plan(learner)
    examples = learner._examples(X, y, weights, reset=True)
    learner._check_rows(plan, examples)
    classes, labels = (1 if examples.classes is None else examples.classes.size), examples.target.ndim == 2
    if examples.classes is not None and classes < 2 and not labels:
        raise ValueError(f"A trace needs at least 2 classes to learn from; y has 1 class: {examples.classes[0]!r}.")
    scheme = learner._scheme(classes, labels)
    planes = scheme.planes(classes)
    zero = np.full((planes, rows.shape[1]), Fraction(0), dtype=object), np.full(planes, Fraction(0), dtype=object)
    start = (
        zero[0] if coef is None else fractions_of(coef).reshape(zero[0].shape),
        zero[1] if intercept is None else fractions_of(intercept).reshape(zero[1].shape),
    )
    if plan.rule.order == 2 and (coef is not None or intercept is not None):
        raise ValueError(f"{type(learner).__name__} starts from zero: coef_init and intercept_init are for others.")
    here = np.arange(len(rows)) if examples.present is None else examples.present
    radius2 = max((row @ row for row in rows[here]), default=Fraction(0))
    c = {"none": Fraction(0), "unit": Fraction(1), "radius": radius2}[plan.bias]
    machines = slow.new_machines(plan, rate, scheme, planes, rows.shape[1], c, start)
    truth = np.asarray(y)
    recorder = Recorder(rows, truth, start, _tube(plan.rule))

    def watch(number: int, machine: slow.Machine, problem: Problem, row: int | None, epoch: int) -> None:
        W, b = machine.planes()
        if any(value.denominator.bit_length() > LONGEST for value in (*W.ravel(), *b)):
            raise ValueError(
                f"After {machine.updates} updates the fractions have more than {LONGEST * 3 // 10:,} digits: "
                "use exact=False, or fewer epochs (max_epochs)."
            )
        recorder.note(number, W.copy(), b.copy(), machine.updates, problem, row, epoch)

    outcome = "budget"
    passes = slow.exact_epochs(rows, examples, plan, rate, machines, scheme, learner.random_state, watch)
    for epoch, converged in enumerate(passes, 1):
        if converged or epoch >= learner.max_epochs:
            tasks = list(problems(examples, scheme, classes))
            clean = converged or all(
                slow.clean(rows, machine, task) for machine, task in zip(machines, tasks, strict=True) if task.size
            )
            outcome = "converged" if clean else "budget"
            break
    kept = [machine.average() if plan.keep == "average" else machine.planes() for machine in machines]
    W, b = np.concatenate([part[0] for part in kept]), np.concatenate([part[1] for part in kept])
    from_zero = not (start[0].any() or start[1].any())
    bound = None
    if outcome == "converged" and from_zero and scheme == TWO and examples.classes is not None:
        bound = _exact_bound(rows, examples, plan, rate, machines[0], radius2)
    return {
        "start": (tuples(start[0]), tuples(start[1])),
        "steps": tuple(recorder.steps),
        "outcome": outcome,
        "coef": None if plan.keep == "vote" else tuples(W),
        "intercept": None if plan.keep == "vote" else tuples(b),
        "bound": bound,
    }


def _tube(rule: Any) -> float:
    return float(getattr(rule, "epsilon", -1.0))


def _exact_bound(rows: Any, examples: Any, plan: Any, rate: Any, machine: slow.Machine, radius2: Fraction) -> Any:
    """Novikoff's bound from the last plane of two classes, as a fraction."""
    whole = examples.weights is None or bool((examples.weights == np.floor(examples.weights)).all())
    if not isinstance(plan.rule, PerceptronRule) or isinstance(rate, str) or callable(rate) or not whole:
        return None
    W, b = machine.planes()
    here = np.arange(len(rows)) if examples.present is None else examples.present
    low = min((W[0] @ rows[i] + b[0]) * (1 if examples.target[i] == 1 else -1) for i in here)
    plane = Separator(cast(Any, low), W[0] @ W[0], b[0] * b[0])
    asked = max(as_fraction(plan.rule.low), as_fraction(plan.rule.high))
    return mistake_bound(
        plane, cast(Any, radius2), bias=plan.bias, margin=cast(Any, asked), rate=cast(Any, as_fraction(rate))
    )
