"""The objective, mean loss plus penalty, and its minimisation by stochastic gradient descent.

    F(W, b) = Σ_i s_i ℓ(x_i, y_i)/Σ_i s_i + α·P(W)

For one-vs-rest ℓ is summed over the columns. `StochasticSolver` makes one step per row; the batch solver is in
`proximal_gradient`, Pegasos in `pegasos`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import Dense, Sparse, rows_per_call
from rosenblatt.compiled.row_targets import code_of, is_on
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Patience, Source
from rosenblatt.learn.evaluation import Problem, problems
from rosenblatt.learn.models import Model, Planes
from rosenblatt.learn.overflow import all_finite, check_objective
from rosenblatt.learn.repeated_visits import check_total
from rosenblatt.learn.report import Report
from rosenblatt.objective.stochastic_visits import (
    SOFTMAX,
    DescentPlane,
    DescentPlanes,
    DescentSettings,
    apply_scale_and_debts,
    partial,
    softmax_slopes,
    sweep,
)
from rosenblatt.planes.conclusion import scanned
from rosenblatt.planes.linear_plan import LinearSolver
from rosenblatt.planes.penalty_debt import L1Debt
from rosenblatt.planes.state import Machine, State, lay_out
from rosenblatt.planes.update_log import NO_LOG

if TYPE_CHECKING:
    from rosenblatt.objective.objective_plan import ObjectivePlan

Array = np.ndarray[Any, Any]


# -- the value of the objective --------------------------------------------------------------------------------------


@compiled
def _loss_one(settings: DescentSettings, y: Array, weights: Array, index: Array, scores: Array) -> float:
    total = 0.0
    for t in range(index.size):
        i = index[t]
        total += (weights[i] if weights.size > 0 else 1.0) * partial(settings, np.float64(scores[t]), np.float64(y[i]))[
            0
        ]
    return total


@compiled
def _loss_many(settings: DescentSettings, y: Array, weights: Array, index: Array, scores: Array) -> float:
    total = 0.0
    for t in range(index.size):
        i, loss = index[t], 0.0
        if settings.kind == SOFTMAX:
            loss = softmax_slopes(scores[t], code_of(y, i))
        else:
            for k in range(scores.shape[1]):
                loss += partial(settings, np.float64(scores[t, k]), 1.0 if is_on(y, i, k) else -1.0)[0]
        total += (weights[i] if weights.size > 0 else 1.0) * loss
    return total


@dataclass(frozen=True)
class TotalLoss:
    """Σ s_i ℓ(x_i, y_i) of rows, from their scores, which are overwritten."""

    plan: ObjectivePlan

    def __call__(self, problem: Problem, index: Array, scores: Array) -> float:
        """The sum over these rows."""
        settings = self.plan.descent_settings(1, 1.0, problem.scheme)
        measure = _loss_one if scores.ndim == 1 else _loss_many
        return measure(settings, problem.truth, problem.weights, index, scores)


# -- stochastic descent ----------------------------------------------------------------------------------------------


class ObjectiveSolver(LinearSolver):
    """A solver that minimises an objective, which the final scan measures."""

    plan: ObjectivePlan

    def measured(self, report: Report) -> float | None:
        """The objective of the model, if the last epoch measured it; else the scan does."""
        return None

    def penalty(self, kept: Planes) -> float:
        """α·P of the model."""
        return self.plan.penalty_of(kept.coef)

    def conclude(self, source: Source, report: Report, kept: Model) -> Report:
        """Errors and margin, and the objective; of numbers only a tube makes some wrong."""
        assert isinstance(kept, Planes)
        plan, found = self.plan, self.measured(report)
        report = scanned(report, self, source, kept, TotalLoss(plan) if found is None else None)
        if found is None:
            assert report.objective is not None
            found = report.objective + self.penalty(kept)
        # w = 0 has loss 0 but classifies nothing.
        nothing = report.outcome == "solved" and plan.loss == "perceptron" and not kept.coef.any()
        return replace(
            report,
            outcome="stalled" if nothing else report.outcome,
            objective=check_objective(found),
            errors=report.errors if plan.counts_errors else None,
        )

    def complaint(self, name: str, report: Report) -> str:
        """The budget ended before the objective did."""
        return (
            f"{name} spent its budget of {report.n_epochs} epochs while the objective still fell by more than "
            f"tol={self.plan.tol:g} of itself. Raise max_epochs to get lower, or raise tol to stop sooner."
        )


class StochasticSolver(ObjectiveSolver):
    """Makes one step per row, until the objective, averaged over each pass, stops decreasing."""

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Set R, and continue the patience of the epochs so far."""
        state, plan = self.state, self.plan
        self.tasks = self.whole_tasks(source)
        state.radius2 = max(state.radius2, source.facts.radius2)
        state.bias = 0.0 if plan.bias == "none" else 1.0
        self.patience = Patience(plan.tol, plan.patience if plan.tol > 0 else math.inf)
        steps = state.machines[0].tally[Count.CLOCK] / max(state.epoch, 1)
        for record in records:
            self._spent(record.loss, steps * record.epoch)

    def _spent(self, loss: float, steps: float) -> bool:
        return self.plan.past_burn_in(steps, self.state.radius2) and self.patience.spent(loss)

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass over all parts; scale and penalty are applied to all weights at its end."""
        state, plan = self.state, self.plan
        (machine,) = state.machines
        machine.tally[[Count.LOSS, Count.POSITION, Count.LEFT]] = 0.0
        check_total(source.facts.mass, source.facts.rows)
        run = None
        for examples in source.parts(state.epoch):
            before = machine.updates
            (problem,) = self.tasks or problems(examples, state.scheme, state.classes)
            run = run or self.new_pass(problem.rows, source.facts.mass)
            run.visit(problem, plan.visits(problem, state, source.whole, machine.intercept.size * run.each))
            yield PartOfEpoch(examples.target.shape[0], machine.updates - before)
        assert run is not None
        run.end()

    def new_pass(self, rows: Dense | Sparse, mass: float) -> Any:
        """A new pass over rows like these, whose total weight is `mass`."""
        return StochasticPass(self.plan, self.state, rows, mass)

    def take(self, losses: Array, violations: float, updates: int) -> None:
        """Take over the losses of an epoch that was run elsewhere."""
        (self.state.machines[0].tally[Count.LOSS],) = losses

    def ending(self, source: Source) -> Ending:
        """The objective averaged over the pass, and whether it stopped decreasing."""
        (machine,) = self.state.machines
        objective = machine.tally[Count.LOSS] / source.facts.mass + self.plan.penalty_of(machine.coef)
        return Ending(float(objective), self._spent(objective, machine.tally[Count.CLOCK]))


class StochasticPass:
    """One pass over rows, possibly in pieces; `total` is the weight of all rows, `rows` some of them."""

    each = 1  # cost of a visit relative to reading its row and planes

    def __init__(self, plan: ObjectivePlan, state: State, rows: Dense | Sparse, total: float) -> None:
        (machine,) = state.machines
        lay_out(machine, rows, state.scheme)
        # Rounded, because the sum of the weights may depend on the order of summation.
        settings = plan.descent_settings(state.epoch + 1, state.radius2, state.scheme, max(float(round(total)), 1.0))
        K = machine.intercept.size
        debt = machine.debt
        if settings.l1 > 0 and (debt is None or (debt.owed != debt.owed.max()).any()):
            # No debts yet, or classes were added since: all weights start without debt.
            machine.debt = debt = L1Debt.zeros(machine.weights)
        if settings.l1 <= 0 or debt is None:
            debt = L1Debt(np.zeros((0, 0)), np.zeros(1))
        q, scale = debt.pulled, np.array([1.0, debt.owed[0]])
        if state.scheme.single:
            one = q[0] if q.size else np.zeros(0)
            work: Any = DescentPlane(machine.coef[0], machine.coef, q, machine.intercept, one, scale)
        else:
            scores = np.zeros(K, machine.coef.dtype)
            work = DescentPlanes(machine.coef, machine.coef, q, machine.intercept, q, scale, scores)
        self.state, self.machine, self.settings, self.work = state, machine, settings, work

    def visit(self, problem: Problem, pieces: Iterable[Array]) -> None:
        """Visit these rows, piece by piece."""
        tally, most = self.machine.tally, rows_per_call(problem.per_row * self.machine.intercept.size)
        for piece in pieces:
            task, places = problem.visit(piece)
            tally[Count.POSITION] = 0.0
            while tally[Count.POSITION] < piece.size:
                sweep(self.work, task, places, self.settings, tally, NO_LOG, most)

    def end(self) -> None:
        """Apply scale and penalty to all weights, after the last row."""
        apply_scale_and_debts(self.work)
        machine = self.machine
        if self.settings.l1 > 0:
            assert machine.debt is not None
            machine.debt.owed[:] = self.work.scale[1]
        check_weights(machine, self.state.epoch + 1)


def check_weights(machine: Machine, epoch: int) -> None:
    """Refuse weights that too large a step size has made infinite or NaN."""
    if not all_finite(machine.coef, machine.intercept):
        remedy = 'Scale the features, choose a smaller learning_rate or solver="batch".'
        raise NotFiniteError(f"The weights overflowed in epoch {epoch}", remedy=remedy)
