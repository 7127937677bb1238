"""Mini-batch descent as a solver of the one training loop, and the L-BFGS steps that may follow it.

An epoch of the first phase is a pass in mini-batches; the step size falls to 0 over the budget of that phase. With
`finish`, every further epoch is one iteration of L-BFGS over all rows, until a step could not decrease F by tol² of
itself. The outcome is "solved" only if then a bound proves that F is within tol·F of its minimum: for NumPy rows in
memory the duality gap, from whose Newton step L-BFGS goes on where it is too large, as in `proximal_gradient`; on
devices, in narrow types and for scores that take too much memory the strong convexity of an L2 penalty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.compiled.row_arrays import Dense, is_narrow
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.evaluation import problems
from rosenblatt.learn.models import Model
from rosenblatt.learn.overflow import check_objective
from rosenblatt.learn.report import Report
from rosenblatt.objective.lbfgs import LimitedMemory
from rosenblatt.objective.minibatch import MiniBatchDescent, default_batch
from rosenblatt.objective.minibatch_settings import Settings
from rosenblatt.objective.proximal_gradient import CHECKS, CertifiedSolver, Iterate, SmoothedObjective
from rosenblatt.objective.row_reader import RowReader, find_bad_row, largest, to_host
from rosenblatt.objective.scaled_objective import Minimum
from rosenblatt.planes.state import State

if TYPE_CHECKING:
    from rosenblatt.objective.objective_plan import ObjectivePlan

Array = np.ndarray[Any, Any]
FEWEST_STEPS = 640  # of a fit without max_epochs
FEWEST_EPOCHS, MOST_EPOCHS = 3, 100
MOST_ITERATIONS = 500  # of L-BFGS
MOST_SCORES = 1 << 24  # of all rows, in double precision: the duality gap needs about ten arrays of them


def default_passes(rows: int) -> int:
    """Passes in mini-batches: three, or as many as make 640 steps."""
    steps = max(1, round(rows / default_batch(rows, gpu=False)))
    return min(MOST_EPOCHS, max(FEWEST_EPOCHS, math.ceil(FEWEST_STEPS / steps)))


class MiniBatchSolver(CertifiedSolver):
    """Passes in mini-batches, then iterations of L-BFGS if `finish`."""

    def __init__(self, plan: ObjectivePlan, state: State, passes: int, finish: bool) -> None:
        super().__init__(plan, state)
        self.passes, self.finish = passes, finish
        self._measured: Minimum | None = None  # at the end of the passes
        self.exact: LimitedMemory | None = None

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Change the variables, and start from the weights of the state."""
        state, plan = self.state, self.plan
        (examples,) = source.parts(state.epoch)
        assert isinstance(examples.rows, Dense)
        state.radius2 = max(state.radius2, examples.radius2)
        (problem,) = problems(examples, state.scheme, state.classes)
        (machine,) = state.machines
        l1, l2 = plan.penalty_class.parts(plan.alpha, plan.ratio) or (0.0, 0.0)
        strength = l1 + l2
        settings = Settings(
            "softmax" if state.scheme.joint else plan.loss,
            machine.intercept.size,
            (strength,),
            l1_ratio=l1 / strength if strength else 0.0,
            intercept=plan.bias != "none",
            width=plan.width,
            epochs=self.passes,
            seed=state.seed,
        )
        X, weights = examples.rows.values, examples.weights
        place = RowReader(X).place
        if weights is not None:  # a row of weight 0 is absent: if all others are 1, there are no weights
            used = weights if examples.present is None else weights[examples.present]
            weights = None if (used == 1.0).all() else place((weights / used.mean()).astype(state.dtype))
        self.descent = MiniBatchDescent(X, place(problem.truth), settings, weights, examples.present)
        self.provable = not is_narrow(examples.rows) and problem.size * machine.intercept.size <= MOST_SCORES
        self.problem = problem
        if machine.coef.any() or machine.intercept.any():
            self.descent.start(machine.coef.astype(np.float64), machine.intercept.astype(np.float64))

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass, or one iteration."""
        descent, (machine,) = self.descent, self.state.machines
        if descent.epochs < self.passes:
            before = descent.step
            loss = float(descent.epoch()[0])
            V, c = descent.point()
            self.F = loss + descent.kappa * float(descent.penalty(V)[0])
            made = descent.step - before
        else:
            self.exact = self.exact or LimitedMemory(descent, *descent.point())
            self.F, made = descent.kappa * self.exact.iterate(), 1
            V, c = self.exact.point
        self._store(V, c)
        machine.tally[Count.UPDATES] += made
        yield PartOfEpoch(descent.rows.n, made)

    def _store(self, V: object, c: object) -> None:
        """Make this point the machine's weights."""
        (machine,) = self.state.machines
        W, b = (to_host(each)[0] for each in self.descent.planes(V, c))
        if not (math.isfinite(self.F) and np.isfinite(W).all() and np.isfinite(b).all()):
            find_bad_row(self.descent.rows)
            raise NotFiniteError("The weights or the loss overflowed", largest(self.descent.rows))
        machine.coef = np.ascontiguousarray(W, dtype=machine.coef.dtype)
        machine.intercept = b.astype(machine.intercept.dtype)

    def ending(self, source: Source) -> Ending:
        """F, and after the last pass whether it is at its minimum or cannot be lowered."""
        if self.descent.epochs < self.passes:
            return Ending(self.F, False)
        F, exact = self.F, self.exact
        if exact is None:
            found = self.minimum()
            F, decrease = float(found.loss[0] + found.penalty[0]), float(found.decrease[0])
        else:
            decrease = exact.decrease
        unit = 1.0 if self.descent.loss.of == "margin" else abs(self.descent.middle) or self.descent.s
        scale = max(F, self.plan.tol * unit)
        # Stuck: no remaining step is distinguishable from 0 in the precision of the rows.
        stuck = exact is not None and exact.stuck
        done = decrease <= self.plan.tol**2 * scale or stuck
        return Ending(self.F, done and self._ended(F, scale, stuck))

    def _ended(self, F: float, scale: float, stuck: bool) -> bool:
        """Whether to end, as solved or stalled; otherwise L-BFGS may go on from a point with a lower F."""
        plan, resting = self.plan, stuck or not self.finish
        if not self.provable:
            gap = self.minimum().gap
            self.finished = "solved" if gap <= plan.tol * scale else "stalled"
            self.lowest, self.checks = (gap, 0) if gap <= 0.5 * self.lowest else (self.lowest, self.checks + 1)
            return self.finished == "solved" or resting or self.checks >= CHECKS
        W, b = self._planes()
        at = self.objective.point(W, b + W @ self.objective.mean)
        done, point = self.check(at, 0.5 * plan.tol * scale if plan.loss_class.kinked else 0.0, F, resting)
        if point is not None and self.finish:
            self._continue_from(point)
        return done

    @cached_property
    def objective(self) -> SmoothedObjective:  # type: ignore[override]
        """The objective in doubles, of which a bound on the distance to its minimum is known."""
        planes, features = self._planes()[0].shape
        return SmoothedObjective(self.problem, self.plan, self.state.scheme, features, planes)

    def _planes(self) -> tuple[Array, Array]:
        (machine,) = self.state.machines
        return machine.coef.astype(np.float64), machine.intercept.astype(np.float64)

    def _continue_from(self, point: Iterate) -> None:
        self.descent.start(point.W, point.c - point.W @ self.objective.mean)
        V, c = self.descent.V, self.descent.c
        self.exact = LimitedMemory(self.descent, V, c)
        self.F = self.descent.kappa * self.exact.F
        self._store(V, c)

    def minimum(self) -> Minimum:
        """How near the model is to the minimum, by a pass over all rows."""
        if self.exact is not None:
            return self.descent.report(*self.exact.point)
        if self._measured is None or self.descent.epochs < self.passes:
            self._measured = self.descent.report(*self.descent.point())
        return self._measured

    def copy(self) -> State:
        """A copy that shares the weights, which are replaced and never written to."""
        return self.state.shallow()

    def conclude(self, source: Source, report: Report, kept: Model) -> Report:
        """Errors, the objective and its gradient, by a pass of matrix products."""
        found = self.minimum()
        loss, penalty = float(found.loss[0]), float(found.penalty[0])
        return replace(
            report,
            errors=found.errors if self.plan.counts_errors else None,
            objective=check_objective(loss + penalty),
            data_loss=loss,
            penalty=penalty,
            gradient_norm=float(found.gradient[0]),
        )

    def complaint(self, name: str, report: Report) -> str:
        """The budget ended, with a gradient of this length."""
        return (
            f"{name} spent its budget of {report.n_epochs} epochs; the gradient has length "
            f'{report.gradient_norm:.3g}. solver="minibatch+lbfgs" continues to the minimum.'
        )
