"""Pegasos: stochastic subgradient steps on mini-batches, with and without projection.

The problem: min ½λ‖w‖² + mean of max(0, 1 − y·f), f = w·x + b, b the weight of a constant feature 1. At t = 1, 2, …,
on a batch of k rows, all scored with the w before it,

    w ← (1 − 1/t)w + 1/(λtk) Σ_{y·f < 1} y·x          then, with projection,          w ← w·min(1, 1/(√λ‖w‖))

(Shalev-Shwartz, Singer, Srebro, Cotter 2011, figures 1 and 2). As in `stochastic_visits`, w = s·v, so that the cost of
a sparse row is its number of non-zeros; ‖w‖² is updated from w·x and ‖x‖².
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import norm
from rosenblatt.compiled.row_targets import is_on
from rosenblatt.compiled.rows import add, dot
from rosenblatt.learn.counters import Count
from rosenblatt.learn.evaluation import Problem
from rosenblatt.learn.models import Planes
from rosenblatt.learn.plan import Needs
from rosenblatt.objective.objective_plan import ObjectivePlan
from rosenblatt.objective.stochastic import StochasticSolver, check_weights
from rosenblatt.objective.stochastic_visits import SMALLEST_SCALE
from rosenblatt.planes.state import State

Array = np.ndarray[Any, Any]
FEWEST_VISITS = 1 << 10  # per call, if rows are visited repeatedly


@dataclass(frozen=True, kw_only=True)
class PegasosPlan(ObjectivePlan):
    """The settings of a support vector machine trained by Pegasos."""

    loss: str = "hinge"
    batch_size: int = 1
    project: bool = False

    @property
    def needs(self) -> Needs:
        """A batch must not end where a part of the rows does."""
        needs = super().needs
        if self.batch_size == 1:
            return needs
        why = "its mini-batches must not end where a part of the file ends"
        return replace(needs, memory=f"{{name}} cannot learn from files because {why}: use fit, in memory.")

    def follow(self, state: State) -> PegasosSolver:
        """The only solver."""
        return PegasosSolver(self, state)

    def past_burn_in(self, t: float, radius2: float) -> bool:
        """Whether the method's bound F ≤ F* + (√λ + R)²(1 + ln t)/2λt guarantees more than w = 0 does, F(0) = 1."""
        reach = math.sqrt(self.alpha) + math.sqrt(radius2 + (self.bias != "none"))
        return bool(reach * reach * (1.0 + math.log(t)) <= 2.0 * self.alpha * t)


@compiled
def scale_down(v: Array, b: Array, k: Any, state: Array, factor: float) -> None:
    """Multiply w by `factor`; state holds s and ‖w‖²."""
    state[0] *= factor
    state[1] *= factor * factor
    b[k] *= factor
    if state[0] < SMALLEST_SCALE:
        for j in range(v.size):
            v[j] *= state[0]
        state[0] = 1.0


class PegasosColumn(NamedTuple):
    """Column k: w = s·v, b, and the counters of its steps; state holds s, ‖w‖² and t, lacks has room for a batch."""

    v: Array
    b: Array
    k: int
    state: Array
    tally: Array
    lacks: Array


class PegasosSettings(NamedTuple):
    """The part of the plan that compiled code needs."""

    lam: float
    size: int
    bias: float
    project: bool


@compiled
def pegasos_steps(
    column: PegasosColumn, settings: PegasosSettings, rows: Any, y: Array, visits: Array, shares: Array
) -> None:
    """All batches of these visits, for one column."""
    v, b, k, state, tally, lacks = column
    lam, size, bias, project = settings
    for begin in range(0, visits.size, size):
        end = min(begin + size, visits.size)
        state[2] += 1.0
        mass = 0.0
        for at in range(begin, end):
            i = visits[at]
            side = 1.0 if is_on(y, i, k) else -1.0
            f = state[0] * np.float64(dot(rows, i, v)) + np.float64(b[k])
            lack = 1.0 - side * f
            lacks[at - begin] = 0.0
            if not lack <= 0.0:  # also true for NaN, so that it reaches the loss
                lacks[at - begin] = side * shares[at]
                tally[Count.LOSS] += shares[at] * lack
            mass += shares[at]
        scale_down(v, b, k, state, 1.0 - 1.0 / state[2])
        eta = 1.0 / (lam * state[2] * (end - begin))
        for at in range(begin, end):
            if lacks[at - begin] != 0.0:
                i, step = visits[at], eta * lacks[at - begin]
                f = state[0] * np.float64(dot(rows, i, v)) + bias * np.float64(b[k])
                state[1] += 2.0 * step * f + step * step * (norm(rows, i) + bias)
                add(rows, i, step / state[0], v)
                b[k] += bias * step
                tally[Count.UPDATES] += 1.0
        if project and lam * state[1] > 1.0:
            scale_down(v, b, k, state, 1.0 / math.sqrt(lam * state[1]))


class PegasosSolver(StochasticSolver):
    """Makes passes until the objective stops decreasing."""

    plan: PegasosPlan

    def new_pass(self, rows: Any, mass: float) -> PegasosPass:
        """A new pass."""
        return PegasosPass(self.plan, self.state)

    def penalty(self, kept: Planes) -> float:
        """½λ(‖w‖² + b²)."""
        return super().penalty(kept) + 0.5 * self.plan.alpha * float(np.square(kept.intercept, dtype=np.float64).sum())


class PegasosPass:
    """One pass over rows, possibly in pieces; a batch does not extend beyond its piece."""

    def __init__(self, plan: PegasosPlan, state: State) -> None:
        (machine,) = state.machines
        t = machine.tally[Count.CLOCK]
        self.plan, self.scheme, self.machine, self.epoch = plan, state.scheme, machine, state.epoch + 1
        self.work = [_start(machine.coef[k], machine.intercept[k], t) for k in range(machine.intercept.size)]
        self.lacks = np.empty(plan.batch_size)
        self.each = max(1, plan.batch_size // 1024)

    def visit(self, problem: Problem, pieces: Iterable[Array]) -> None:
        """Visit these rows, piece by piece."""
        plan, machine, truth = self.plan, self.machine, problem.truth
        if self.scheme.single:  # ±1 as codes, 0 for the positive class, which `is_on` expects
            truth = np.where(truth > 0, np.int32(0), np.int32(1))
        bias = 0.0 if plan.bias == "none" else 1.0
        settings = PegasosSettings(float(plan.alpha), int(plan.batch_size), bias, bool(plan.project))
        for visits, shares in (each for piece in pieces for each in _visits(piece, problem.weights, plan.batch_size)):
            for k, state in enumerate(self.work):
                column = PegasosColumn(machine.coef[k], machine.intercept, k, state, machine.tally, self.lacks)
                pegasos_steps(column, settings, problem.rows, truth, visits, shares)

    def end(self) -> None:
        """Multiply the scale s into the weights, after the last row."""
        for k, column in enumerate(self.work):
            self.machine.coef[k] *= column[0]
        self.machine.tally[Count.CLOCK] = self.work[0][2]
        check_weights(self.machine, self.epoch)


def _start(w: Array, b: Any, t: float) -> Array:
    return np.array([1.0, float(np.vdot(w, w)) + float(b) * float(b), t])


def _visits(piece: Array, weights: Array, batch: int) -> Iterator[tuple[Array, Array]]:
    """A row of weight s as ⌈s⌉ visits, the last with the remaining fraction; in groups of whole batches."""
    if not weights.size:
        yield piece, np.ones(piece.size)
        return
    mass = weights[piece]
    times = np.ceil(mass).astype(np.int64)
    ends = np.cumsum(times)
    step = -(-max(piece.size, FEWEST_VISITS) // batch) * batch
    for begin in range(0, int(times.sum()), step):
        at = np.arange(begin, min(begin + step, int(ends[-1])))
        row = np.searchsorted(ends, at, side="right")
        yield piece[row], np.where(at == ends[row] - 1, mass[row] - (times[row] - 1), 1.0)
