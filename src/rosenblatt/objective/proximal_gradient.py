"""The batch solver: accelerated proximal gradient descent with line search, for any loss and any penalty.

The objective is that of `stochastic`, F(W, b) = D(W, b) + α·P(W), D the mean loss. From the point Y, which is W plus
momentum, a proximal step with the diagonal metric h and the step size 1/L is

    W⁺ = prox of α·P with step sizes 1/(L h_j) at Y_j − ∂D/∂w_j /(L h_j)          Y⁺ = W⁺ + (t − 1)/t⁺ · (W⁺ − W)

L doubles until D(W⁺) ≤ D(Y) + ⟨∇D, W⁺ − Y⟩ + L/2·‖W⁺ − Y‖²_h, and decreases slightly after each step (FISTA: Beck and
Teboulle 2009). When the momentum points uphill it is reset (O'Donoghue and Candès 2015).

Two changes of variables make unscaled tables fast to fit. h_j is the variance of feature j, so that units do not
matter; and the intercept is taken at the mean row μ, c = b + W·μ, so that it is decoupled from features far from 0.
Neither changes the problem.

A loss with kinks is smoothed: Moreau's envelope min_p ℓ(p) + (m − p)²/2μ lies below ℓ by at most μ/2 and has the slope
(m − p)/μ. μ decreases from 1 to tol·F/2, each problem warm-started from the one before (Nesterov 2005).

Scores are stored for every row: since they are linear in W, those of Y need no pass, and an iteration makes two.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import Dense, gathered, is_narrow, spans
from rosenblatt.compiled.row_targets import code_of, is_on, number_of
from rosenblatt.compiled.rows import ONE, add
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.learn.counters import Count
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Source
from rosenblatt.learn.evaluation import Problem, problems
from rosenblatt.learn.models import score_many, score_one
from rosenblatt.learn.overflow import all_finite
from rosenblatt.learn.schemes import Scheme
from rosenblatt.objective.compiled_losses import loss_slope, loss_value, near
from rosenblatt.objective.duality_gap import GapBound
from rosenblatt.objective.stochastic import ObjectiveSolver
from rosenblatt.objective.stochastic_visits import (
    RESIDUAL,
    SOFTMAX,
    DescentSettings,
    add_all,
    softmax_slopes,
)
from rosenblatt.planes.state import Machine, State

if TYPE_CHECKING:
    from rosenblatt.learn.report import Report
    from rosenblatt.objective.objective_plan import ObjectivePlan

Array = np.ndarray[Any, Any]
CHECKS = 5  # in a row that do not halve the gap, before a fit is given up as stalled
WAIT = 0.2  # part of the epochs so far until the next check
MOST_HALVINGS = 10
MU_DECREASE = 0.25  # the factor by which μ decreases
SMALLEST_METRIC = 1e-10  # as a fraction of the largest h


@compiled
def loss_and_slopes(
    settings: DescentSettings, mu: float, y: Array, weights: Array, index: Array, scores: Array, slopes: Array
) -> float:
    """Σ s_i ℓ_i of these rows, smoothed by mu; slopes_tk = s_i ∂ℓ_i/∂f_k."""
    total = 0.0
    for t in range(index.size):
        i = index[t]
        share = weights[i] if weights.size > 0 else 1.0
        f, g, loss = scores[t], slopes[t], 0.0
        if settings.kind == SOFTMAX:
            for k in range(f.size):
                g[k] = f[k]
            loss = softmax_slopes(g, code_of(y, i))
        else:
            for k in range(f.size):
                side = 1.0 if settings.kind == RESIDUAL or is_on(y, i, k) else -1.0
                m = f[k] - number_of(y, i) if settings.kind == RESIDUAL else side * f[k]
                if mu > 0.0:
                    p = near(settings.code, m, mu, settings.width)
                    loss += loss_value(settings.code, p, settings.width) + 0.5 * (m - p) ** 2 / mu
                    g[k] = side * (m - p) / mu
                else:
                    loss += loss_value(settings.code, m, settings.width)
                    g[k] = side * loss_slope(settings.code, m, settings.width)
        for k in range(f.size):
            g[k] *= share
        total += share * loss
    return total


@compiled
def gather_one(rows: Any, index: Array, slopes: Array, out: Array) -> None:
    """Out += Σ_t slopes_t x_t."""
    for t in range(index.size):
        if slopes[t, 0] != 0.0:
            add(rows, index[t], slopes[t, 0], out)


@compiled
def gather_many(rows: Any, index: Array, slopes: Array, out: Array) -> None:
    """The same for each column, in the layout described in `rows`."""
    for t in range(index.size):
        add_all(rows, index[t], slopes[t], out)


@compiled
def _moments_dense(rows: Any, index: Array, weights: Array, both: Array) -> None:
    for i in index:
        x, share = rows.values[i], weights[i] if weights.size > 0 else 1.0
        for j in range(x.size):
            both[j, 0] += share * x[j]
            both[j, 1] += share * np.float64(x[j]) * x[j]


@compiled
def _moments_sparse(rows: Any, index: Array, weights: Array, both: Array) -> None:
    for i in index:
        start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
        share = weights[i] if weights.size > 0 else 1.0
        for at in range(start, end):
            x = np.float64(rows.values[at])
            j = rows.columns[at]
            both[j, 0] += share * x
            both[j, 1] += share * x * x


@dataclass
class Iterate:
    """W (K, d), c (K,) and the scores (n, K) they give."""

    W: Array
    c: Array
    scores: Array

    def ahead(self, before: Iterate, far: float) -> Iterate:
        """The point plus `far` times the step from the one before."""
        return Iterate(
            self.W + far * (self.W - before.W),
            self.c + far * (self.c - before.c),
            self.scores + far * (self.scores - before.scores),
        )


class SmoothedObjective:
    """D and F on one problem, in double precision whatever the type of the rows."""

    def __init__(self, problem: Problem, plan: ObjectivePlan, scheme: Scheme, d: int, K: int) -> None:
        self.problem, self.plan, self.K = problem, plan, K
        self.settings = plan.descent_settings(1, 1.0, scheme)
        both = np.zeros((d, 2))  # interleaved: the two sums of a feature share a cache line
        moments = _moments_dense if isinstance(problem.rows, Dense) else _moments_sparse
        for _, index in self.pieces():
            moments(problem.rows, index, problem.weights, both)
        first, second = both.T
        self.mean = first / problem.total if self.settings.bias else np.zeros(d)
        metric = np.maximum(second / problem.total - self.mean**2, 0.0)
        if not all_finite(metric):
            raise NotFiniteError("The variance of a feature overflows")
        largest = float(metric.max(initial=0.0)) or 1.0  # of constant features alone, any scale will do
        self.metric = np.maximum(metric, SMALLEST_METRIC * largest)
        # The targets of two classes are ±1; `is_on` expects codes, 0 for the positive class.
        self.truth = problem.truth
        if scheme.single and self.settings.kind != RESIDUAL:
            self.truth = np.where(problem.truth > 0, np.int32(0), np.int32(1))

    def pieces(self) -> Iterator[tuple[slice, Array]]:
        """Slices of positions, and the rows at them."""
        for begin, end in spans(self.problem.size, self.problem.per_row * self.K):
            yield slice(begin, end), self.problem.index(begin, end)

    def point(self, W: Array, c: Array) -> Iterate:
        """The iterate with the scores of all rows."""
        b, scores = c - W @ self.mean, np.empty((self.problem.size, self.K))
        if not W.any():  # at the start: no rows are read
            scores[:] = b
            return Iterate(W, c, scores)
        w = W[0] if self.K == 1 else np.ascontiguousarray(W if isinstance(self.problem.rows, Dense) else W.T)
        for place, index in self.pieces():
            out = scores[place]
            (score_one if self.K == 1 else score_many)(
                self.problem.rows, index, w, b, out[:, 0] if self.K == 1 else out
            )
        return Iterate(W, c, scores)

    def loss(self, scores: Array, mu: float) -> tuple[float, Array]:
        """D, and its slope in each score."""
        slopes, total = np.empty_like(scores), 0.0
        for place, index in self.pieces():
            total += loss_and_slopes(
                self.settings, mu, self.truth, self.problem.weights, index, scores[place], slopes[place]
            )
        return total / self.problem.total, slopes

    def gradient(self, slopes: Array) -> tuple[Array, Array]:
        """∂D/∂W and ∂D/∂c."""
        d, by_class = self.mean.size, self.K == 1 or isinstance(self.problem.rows, Dense)
        out = np.zeros((self.K, d) if by_class else (d, self.K))
        for place, index in self.pieces():
            if self.K == 1:
                gather_one(self.problem.rows, index, slopes[place], out[0])
            else:
                gather_many(self.problem.rows, index, slopes[place], out)
        by_c = slopes.sum(axis=0) / self.problem.total
        return (out if by_class else out.T) / self.problem.total - np.outer(by_c, self.mean), by_c * self.settings.bias

    def penalty(self, W: Array) -> float:
        """α·P(W)."""
        return self.plan.penalty_of(W)

    @property
    def unit(self) -> float:
        """The scale of the loss, for problems whose minimum is 0: a margin missed by 1, or the mean of |y|."""
        if self.settings.kind != RESIDUAL or not self.truth.size:
            return 1.0
        return float(np.abs(self.truth).mean()) or 1.0


@dataclass
class AcceleratedDescent:
    """The state of the descent: W (`here`), Y (`ahead`), L and the momentum parameter t."""

    here: Iterate
    ahead: Iterate
    L: float
    t: float = 1.0
    known: tuple[float, Array] | None = None  # D and its slopes at `ahead`, if the last step computed them

    def step(self, objective: SmoothedObjective, mu: float) -> tuple[float, float]:
        """One iteration; returns F at the new W and L‖W⁺ − Y‖²_h, the decrease another such step could bring."""
        Y, plan, h = self.ahead, objective.plan, objective.metric
        loss, slopes = self.known or objective.loss(Y.scores, mu)
        by_W, by_c = objective.gradient(slopes)
        if not (math.isfinite(loss) and all_finite(by_W, by_c)):
            raise NotFiniteError("The loss or its gradient overflowed")
        while math.isfinite(self.L):  # as L grows W approaches Y, where all is finite: about 2,000 rounds at most
            length = 1.0 / (self.L * h)
            W = plan.penalty_class.shrink(Y.W - length * by_W, length, plan.alpha, plan.ratio)
            new = objective.point(W, Y.c - by_c / self.L)
            dW, dc = W - Y.W, new.c - Y.c
            square = float((dW * dW * h).sum() + dc @ dc)
            there, slopes_there = objective.loss(new.scores, mu)
            most = loss + float((by_W * dW).sum() + by_c @ dc) + 0.5 * self.L * square
            # If differences of D are lost in rounding, those of its gradient still decide: ⟨∇D⁺ − ∇D, Δ⟩ ≤ L‖Δ‖²_h.
            bend = float(np.vdot(slopes_there - slopes, new.scores - Y.scores)) / objective.problem.total
            if all_finite(new.scores) and (there <= most or bend <= self.L * square or square == 0.0):
                break
            self.L *= 2.0
        else:
            raise NotFiniteError("No step size is small enough to decrease the loss")
        move = self.L * square
        uphill = ((Y.W - W) * h * (W - self.here.W)).sum() + (Y.c - new.c) @ (new.c - self.here.c) > 0
        t = 1.0 if uphill else 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.t**2))
        still = uphill or self.t == 1.0  # no momentum: the next step starts here
        self.ahead = new if still else new.ahead(self.here, (self.t - 1.0) / t)
        self.known = (there, slopes_there) if still else None
        self.here, self.t = new, t
        self.L *= 0.95
        return there + objective.penalty(W), move


class CertifiedSolver(ObjectiveSolver):
    """A solver that has solved its problem only if a duality gap proves that F is within tol·F of the minimum.

    F is replaced by tol times the loss's unit where that is larger, because no fraction is small if the minimum is 0.
    """

    finished = "solved"
    objective: SmoothedObjective
    lowest, checks, next_check = math.inf, 0, 0

    def scale(self, F: float) -> float:
        """F, or what replaces it."""
        return max(abs(F), self.plan.tol * self.objective.unit)

    def check(self, at: Iterate, mu: float, F: float, resting: bool) -> tuple[bool, Iterate | None]:
        """Whether to end: solved, or stalled if `resting` or checks no longer halve the gap; else the Newton point.

        A check costs as much as several iterations: after one that fails, the next waits.
        """
        if self.state.epoch < self.next_check and not resting:
            return False, None
        enough, (machine,) = self.plan.tol * self.scale(F), self.state.machines
        W, b = at.W, at.c - at.W @ self.objective.mean
        if machine.coef.dtype != np.float64:  # the weights of the model are rounded
            W, b = (each.astype(machine.coef.dtype).astype(np.float64) for each in (W, b))
            at = self.objective.point(W, b + W @ self.objective.mean)
        bound, newton = GapBound(self.objective, at, mu), None
        gap = bound.at_point()
        if gap > enough:
            found, P, c = bound.newton(enough)
            gap, newton = min(gap, found), (P, c)
        self.finished = "solved" if gap <= enough else "stalled"
        self.lowest, self.checks = (gap, 0) if gap <= 0.5 * self.lowest else (self.lowest, self.checks + 1)
        self.next_check = self.state.epoch + max(1, int(WAIT * self.state.epoch))
        if gap <= enough or self.checks >= CHECKS or newton is None:
            return True, None
        point = self._lower(at, *newton, mu)
        return point is None and resting, point

    def _lower(self, at: Iterate, P: Array, c: Array, mu: float) -> Iterate | None:
        """The point after the Newton step, or after a part of it that lowers F."""
        before, step = self.objective.loss(at.scores, mu)[0] + self.objective.penalty(at.W), 1.0
        for _ in range(MOST_HALVINGS):
            point = self.objective.point(at.W + step * P, at.c + step * c)
            if self.objective.loss(point.scores, mu)[0] + self.objective.penalty(point.W) < before:
                return point
            step *= 0.5
        return None


class BatchSolver(CertifiedSolver):
    """Iterates until a step can no longer decrease F by the fraction tol² of it, and `duality_gap` proves the minimum.

    Where it does not, it goes on, from the point of the Newton step that the proof took if F is lower there.
    """

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Compute the moments of the features, and the scores by the initial weights."""
        state, plan = self.state, self.plan
        (examples,) = source.parts(state.epoch)
        if is_narrow(examples.rows):  # "auto" is "batch" only where they are few
            examples = replace(examples, rows=gathered(examples.rows, slice(None)))
        state.radius2 = max(state.radius2, examples.radius2)
        (problem,) = problems(examples, state.scheme, state.classes)
        (machine,) = state.machines
        W = (machine.coef.T if machine.by_feature else machine.coef).astype(np.float64)
        self.objective = SmoothedObjective(problem, plan, state.scheme, W.shape[1], W.shape[0])
        at = self.objective.point(W, machine.intercept.astype(np.float64) + W @ self.objective.mean)
        if plan.loss == "perceptron" and not (W.any() or at.c.any()):
            # At 0 every row is wrong but has no loss: take one step of the perceptron first.
            by_W, by_c = self.objective.gradient(self.objective.loss(at.scores, 0.0)[1])
            at = self.objective.point(W - by_W, at.c - by_c)
        self.mu = 1.0 if plan.loss_class.kinked else 0.0
        self.descent = AcceleratedDescent(at, at, min(plan.loss_class.steep, 1.0))

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One iteration."""
        (machine,) = self.state.machines
        self.F, self.move = self.descent.step(self.objective, self.mu)
        machine.tally[Count.UPDATES] += 1.0
        yield PartOfEpoch(self.objective.problem.size, 1)

    def ending(self, source: Source) -> Ending:
        """F, and whether another step could decrease it; if not, a smoothed loss is smoothed less until μ is small."""
        plan, unit, scale = self.plan, self.objective.unit, self.scale(self.F)
        solved, finest = self.move <= plan.tol**2 * scale, 0.5 * plan.tol * scale
        done = solved and self.mu <= finest
        if solved and not done:
            self.mu = max(MU_DECREASE * self.mu, finest, 1e-15 * unit)
            self.descent = AcceleratedDescent(self.descent.here, self.descent.here, self.descent.L / MU_DECREASE)
        elif done:
            resting = bool(self.move <= np.finfo(np.float64).eps * scale)
            done, point = self.check(self.descent.here, self.mu, self.F, resting)
            if point is not None:
                self.descent = AcceleratedDescent(point, point, self.descent.L)
                self.F = self.objective.loss(point.scores, self.mu)[0] + self.objective.penalty(point.W)
        (machine,) = self.state.machines
        store_point(machine, self.objective, self.descent.here)
        return Ending(self.F, done)

    def copy(self) -> State:
        """A copy that shares the weights, which are replaced and never written to."""
        return self.state.shallow()

    def measured(self, report: Report) -> float | None:
        """That of the last record, if it is of the model returned and was not smoothed."""
        last = report.epochs[-1]
        return None if self.plan.loss_class.kinked or last.epoch != self.state.epoch else float(last.loss)


def store_point(machine: Machine, objective: SmoothedObjective, point: Iterate) -> None:
    """Make this point the machine's weights."""
    machine.coef = np.ascontiguousarray(point.W, dtype=machine.coef.dtype)
    machine.by_feature = False
    machine.intercept = (point.c - point.W @ objective.mean).astype(machine.intercept.dtype)
