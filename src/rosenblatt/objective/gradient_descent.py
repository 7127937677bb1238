"""Plain gradient descent, as in lectures: W ← W − η∇J over all rows, one step per epoch.

J is mean loss + α·penalty (`stochastic`). At a kink the gradient is the subgradient that the stochastic solver uses:
for the perceptron criterion that of a mistake, so that its steps from zero are those of the batch perceptron.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.evaluation import problems
from rosenblatt.learn.overflow import all_finite
from rosenblatt.objective.proximal_gradient import CertifiedSolver, SmoothedObjective, store_point


class GradientSolver(CertifiedSolver):
    """Steps of the given rate, until one could not lower J by tol² of itself and `duality_gap` proves the minimum."""

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Score the rows by the weights at the start."""
        state = self.state
        (examples,) = source.parts(state.epoch)
        state.radius2 = max(state.radius2, examples.radius2)
        (problem,) = problems(examples, state.scheme, state.classes)
        (machine,) = state.machines
        W = (machine.coef.T if machine.by_feature else machine.coef).astype(np.float64)
        self.objective = SmoothedObjective(problem, self.plan, state.scheme, W.shape[1], W.shape[0])
        self.here = self.objective.point(W, machine.intercept.astype(np.float64) + W @ self.objective.mean)

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One step."""
        (machine,) = self.state.machines
        objective, plan, here = self.objective, self.plan, self.here
        loss, slopes = objective.loss(here.scores, 0.0)
        by_W, by_b = objective.gradient(slopes)
        # `objective` keeps c = b + W·mean fixed while W changes; here b is fixed.
        by_W = by_W + np.outer(by_b, objective.mean) + plan.penalty_class.slope(here.W, plan.alpha, plan.ratio)
        self.loss = loss + objective.penalty(here.W)
        if not (math.isfinite(self.loss) and all_finite(by_W, by_b)):
            remedy = 'Scale the features, lower learning_rate or use solver="batch".'
            raise NotFiniteError("The objective or its gradient overflowed", remedy=remedy)
        eta = self._rate()
        self.fall = eta * float((by_W * by_W).sum() + by_b @ by_b)
        if self.fall:
            W = here.W - eta * by_W
            b = here.c - here.W @ objective.mean - eta * by_b
            self.here = objective.point(W, b + W @ objective.mean)
            machine.tally[Count.UPDATES] += 1.0
        yield PartOfEpoch(objective.problem.size, int(self.fall > 0))

    def _rate(self) -> float:
        t = self.state.epoch + 1
        if isinstance(self.plan.rate, str):
            return {"optimal": 1.0, "1/t": 1.0 / t, "1/sqrt(t)": 1.0 / math.sqrt(t)}[self.plan.rate]
        return self.plan.constant_rate(t)

    def ending(self, source: Source) -> Ending:
        """J before the step, and whether the step was too small to matter."""
        (machine,) = self.state.machines
        store_point(machine, self.objective, self.here)
        done, scale = self.fall <= self.plan.tol**2 * self.scale(self.loss), self.scale(self.loss)
        if done:
            done, _ = self.check(self.here, 0.0, self.loss, bool(self.fall <= np.finfo(np.float64).eps * scale))
        return Ending(self.loss, done)
