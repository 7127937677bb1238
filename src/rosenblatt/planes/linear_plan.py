"""What all learners of planes share: a plan whose state is machines of planes, and its solver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.learn.epochs import Solver, Source
from rosenblatt.learn.evaluation import Problem, problems
from rosenblatt.learn.examples import Facts
from rosenblatt.learn.models import Model, Planes
from rosenblatt.learn.plan import Plan, class_count
from rosenblatt.learn.report import Report
from rosenblatt.learn.schemes import PAIRS, Scheme
from rosenblatt.planes.companions import Weights
from rosenblatt.planes.conclusion import scanned
from rosenblatt.planes.new_classes import grow
from rosenblatt.planes.state import State, begin_at, new_machine

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class LinearPlan(Plan):
    """A plan whose state is machines of planes.

    Attributes
    ----------
    bias : str or float
        "none", "unit", "radius" or c², what a step of size 1 adds to b.
    """

    bias: str | float = "unit"
    grows: ClassVar[bool] = True

    @property
    def bounded(self) -> bool:
        """Whether the number of updates has a bound where the rows are separated."""
        return False

    @property
    def local(self) -> bool:
        """Whether an epoch changes only the weights of the features that its rows store."""
        return False

    @property
    def second_order(self) -> bool:
        """Whether machines have a covariance."""
        return self._rule is not None and self._rule.order == 2

    def new_state(self, source: Source, seed: int, weights: Weights | None = None) -> State:
        """Machines at zero or at these weights, one row per plane; covariances start as they do from zero."""
        facts = source.facts
        state = new_state(facts, self, self._rule, self.scheme_of(facts), class_count(facts), seed)
        if weights is not None:
            start_from(state, weights.coef, weights.intercept)
        return state

    def grown(self, state: State, places: Array, classes: int, scheme: Scheme) -> State:
        """The state with planes for new classes, which start at zero."""
        return grow(state, places, classes, scheme, self._rule)

    @property
    def _rule(self) -> Any:
        """The update rule, of online learners."""
        return None


def new_state(facts: Facts, plan: LinearPlan, rule: Any, scheme: Scheme, classes: int, seed: int) -> State:
    """A state with zero weights."""
    d, dtype = facts.n_features, facts.dtype
    columns = scheme.columns(classes)
    bias = float(squared_bias_feature(plan.bias, facts.radius2))
    machines = [new_machine(rule, plan.keep, columns, d, dtype, bias) for _ in range(scheme.machines(classes))]
    return State(machines, scheme, plan.keep, classes, seed, bias=bias)


def start_from(state: State, coef: Array, intercept: Array) -> None:
    """Start from these weights, one row per plane; covariances start as they do from zero."""
    at = 0
    for machine in state.machines:
        K = machine.intercept.size
        given = Weights(coef[at : at + K], intercept[at : at + K])
        given = given if machine.covariance is None else machine.covariance.weights(given)
        machine.coef[:], machine.intercept[:] = given
        at += K
        begin_at(machine, state.keep)
    state.from_zero = state.from_zero and not (coef.any() or intercept.any())


class LinearSolver(Solver):
    """A solver whose state is machines of planes."""

    state: State
    defers = True

    def __init__(self, plan: Any, state: State) -> None:
        self.plan, self.state = plan, state

    def whole_tasks(self, source: Source) -> list[Problem] | None:
        """The problem of each machine, if one part holds every row; None if they are made part by part."""
        if not source.whole or self.state.scheme == PAIRS:  # one pair at a time takes less memory
            return None
        (examples,) = source.parts(self.state.epoch)
        return list(problems(examples, self.state.scheme, self.state.classes))

    def last(self) -> Planes:
        """The last iterate, whatever `keep` is."""
        return self.state.last()

    def model(self) -> Model:
        """The model that `keep` selects."""
        return self.state.kept()

    def take(self, losses: Array, violations: float, updates: int) -> None:
        """Take over the results of an epoch that was run in shards: the losses of each machine."""
        raise NotImplementedError

    def radius(self, facts: Facts) -> float:
        """R of all rows so far."""
        return math.sqrt(max(self.state.radius2, facts.radius2))

    def conclude(self, source: Source, report: Report, kept: Model) -> Report:
        """The report after a scan of all rows."""
        return scanned(report, self, source, kept)
