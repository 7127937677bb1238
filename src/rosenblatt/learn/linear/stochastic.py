"""The objective, mean loss plus penalty, and its minimisation by stochastic gradient descent.

    F(W, b) = Σ_i s_i ℓ(x_i, y_i)/Σ_i s_i + α·P(W)

For one-vs-rest ℓ is summed over the columns. `StochasticSolver` makes one step per row; the batch solver is in
`proximal_gradient`, Pegasos in `pegasos`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.compiling import compiled
from rosenblatt.data.errors import NotFiniteError
from rosenblatt.data.examples import Dense, Sparse, rows_per_call
from rosenblatt.learn.compiled_loops import sweep
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Patience, Source
from rosenblatt.learn.evaluation import Problem
from rosenblatt.learn.linear.losses import CODES, LOSSES, Loss
from rosenblatt.learn.linear.penalties import PENALTIES, Penalty
from rosenblatt.learn.linear.stochastic_visits import (
    FIXED,
    HARMONIC,
    MARGIN,
    RESIDUAL,
    ROOT,
    SOFTMAX,
    DescentPlane,
    DescentPlanes,
    DescentSettings,
    apply_scale_and_debts,
    partial,
    softmax_slopes,
)
from rosenblatt.learn.online.first_order import code_of, is_on
from rosenblatt.learn.online.penalty_debt import L1Debt
from rosenblatt.learn.online.solver import LinearSolver, Plan, problems
from rosenblatt.learn.online.state import Machine, State, lay_out
from rosenblatt.learn.online.votes import NO_LOG
from rosenblatt.learn.overflow import all_finite
from rosenblatt.learn.repeated_visits import check_total
from rosenblatt.learn.schemes import Scheme

Array = np.ndarray[Any, Any]
BIAS_CURVATURE = 0.01  # the curvature that the schedule of the unpenalised intercept assumes


@dataclass(frozen=True)
class ObjectivePlan(Plan):
    """The objective and how it is minimised; `rule` only decides which rows are misclassified."""

    loss: str = "log"
    penalty: str | None = "l2"
    alpha: float = 1e-4
    ratio: float = 0.15
    width: float = 0.1
    tol: float = 1e-4
    patience: int = 5

    @property
    def loss_class(self) -> type[Loss]:
        """The loss."""
        return LOSSES[self.loss]

    @property
    def penalty_class(self) -> type[Penalty]:
        """The penalty."""
        return PENALTIES[self.penalty]

    def penalty_of(self, coef: Array) -> float:
        """α·P(W)."""
        return self.penalty_class.value(coef.astype(np.float64), self.alpha, self.ratio)

    def past_burn_in(self, t: float, radius2: float) -> bool:
        """Whether the objective after t steps is past the burn-in, so that it can be used for stopping."""
        return True

    def descent_settings(self, epoch: int, reach: float, scheme: Scheme, visits: float = 1.0) -> DescentSettings:
        """Loss, penalty and schedule for compiled code; reach = max‖x‖², visits: the visits of an epoch.

        "optimal" is η = 1/(α(t + t₀)), with t₀ such that the first step overshoots on no row. The intercept has its own
        step size, which starts at half of what would not overshoot and decreases as if it were penalised. Without a
        penalty both decrease with the square root of the epochs.
        """
        l1, l2 = self.penalty_class.parts(self.alpha, self.ratio) or (0.0, 0.0)
        bias = 0.0 if self.bias == "none" else 1.0
        steep = self.loss_class.steep if math.isfinite(self.loss_class.steep) else 1.0
        bias_eta, strength = 1.0 / ((1.0 + bias) * steep), l1 + l2
        eta, power = bias_eta / max(reach, 1e-12), HARMONIC
        if not eta > 0.0:
            raise NotFiniteError("The squared length of a row overflows, so that no step size is small enough")
        fade, bias_fade = eta * strength, bias_eta * max(strength, BIAS_CURVATURE)
        if not strength:
            fade, bias_fade, power = 1.0 / visits, 1.0 / visits, ROOT
        if self.rate in ("1/t", "1/sqrt(t)"):
            eta, fade, power = 1.0, 1.0, HARMONIC if self.rate == "1/t" else ROOT
        elif not isinstance(self.rate, str):
            eta, fade, power = self.constant_rate(epoch), 0.0, FIXED
        if self.rate != "optimal":
            bias_eta, bias_fade = eta, fade
        kind = RESIDUAL if self.loss_class.of == "residual" else SOFTMAX if scheme.joint else MARGIN
        capped = not math.isfinite(self.loss_class.steep)
        return DescentSettings(
            CODES[self.loss], self.width, kind, capped, l1, l2, eta, fade, power, bias, bias_eta, bias_fade
        )

    def constant_rate(self, epoch: int) -> float:
        """η of this epoch: the given number, or the value of a callable."""
        eta = float(self.rate(epoch) if callable(self.rate) else self.rate)
        if not (math.isfinite(eta) and eta > 0):
            raise ValueError(f"learning_rate({epoch}) returned {eta}: a rate must be finite and above 0.")
        return eta


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


class StochasticSolver(LinearSolver):
    """Makes one step per row, until the objective, averaged over each pass, stops decreasing."""

    plan: ObjectivePlan

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
