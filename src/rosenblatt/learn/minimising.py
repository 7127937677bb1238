"""Mean loss + penalty as an aim, and its stochastic descent, epoch after epoch.

    F(W, b) = Σ_i s_i ℓ(x_i, y_i)/Σ_i s_i + α·P(W)

For one-vs-rest ℓ is summed over the columns. `descend` is a generator of epoch records like `training.epochs`; the
batch solver, `batch.descend`, is another.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.data.compiling import compiled
from rosenblatt.data.errors import NotFiniteError
from rosenblatt.data.examples import Dense, Examples, Sparse, spans
from rosenblatt.learn.descent import (
    FIXED,
    HARMONIC,
    MARGIN,
    RESIDUAL,
    ROOT,
    SOFTMAX,
    Fall,
    Falling,
    FallingMany,
    code_of,
    partial,
    settle,
    softmax,
)
from rosenblatt.learn.evaluation import Problem
from rosenblatt.learn.finite import all_finite
from rosenblatt.learn.kept import Planes
from rosenblatt.learn.loops import sweep
from rosenblatt.learn.losses import CODES, LOSSES, Loss
from rosenblatt.learn.machines import NO_LOG, Machine, State, lay_out
from rosenblatt.learn.orders import visited
from rosenblatt.learn.penalties import PENALTIES, Penalty
from rosenblatt.learn.training import EpochRecord, Plan, problems, recorded
from rosenblatt.learn.visits import CLOCK, LEFT, LOSS, POSITION, is_on

Array = np.ndarray[Any, Any]
BIAS_CURVATURE = 0.01  # what the schedule of an intercept without penalty counts on


@dataclass(frozen=True)
class Aim(Plan):
    """What to minimise and how; `rule` is asked only which rows are answered wrongly."""

    loss: str = "log"
    penalty: str | None = "l2"
    alpha: float = 1e-4
    ratio: float = 0.15
    width: float = 0.1
    tol: float = 1e-4
    patience: int = 5

    @property
    def shape(self) -> type[Loss]:
        """The loss."""
        return LOSSES[self.loss]

    @property
    def price(self) -> type[Penalty]:
        """The penalty."""
        return PENALTIES[self.penalty]

    def penalty_of(self, coef: Array) -> float:
        """α·P(W)."""
        return self.price.value(coef.astype(np.float64), self.alpha, self.ratio)

    def ripe(self, t: float, radius2: float) -> bool:
        """Whether the objective met after t steps says something of how far the descent is."""
        return True

    def fall(self, epoch: int, reach: float, scheme: str, visits: float = 1.0) -> Fall:
        """Loss, penalty and schedule as compiled code takes them; reach = max‖x‖², visits those of an epoch.

        "optimal" is η = 1/(α(t + t₀)), where t₀ makes the first step one that no row overshoots by; the intercept has
        half of such a step for itself, and falls as if it had a penalty. Without a penalty both fall with the root of
        the epochs.
        """
        l1, l2 = self.price.parts(self.alpha, self.ratio) or (0.0, 0.0)
        bias = 0.0 if self.bias == "none" else 1.0
        steep = self.shape.steep if math.isfinite(self.shape.steep) else 1.0
        bias_eta, strength = 1.0 / ((1.0 + bias) * steep), l1 + l2
        eta, power = bias_eta / max(reach, 1e-12), HARMONIC
        if not eta > 0.0:
            raise NotFiniteError("The squared length of a row overflows, so that no step is short enough")
        fade, bias_fade = eta * strength, bias_eta * max(strength, BIAS_CURVATURE)
        if not strength:
            fade, bias_fade, power = 1.0 / visits, 1.0 / visits, ROOT
        if self.rate in ("1/t", "1/sqrt(t)"):
            eta, fade, power = 1.0, 1.0, HARMONIC if self.rate == "1/t" else ROOT
        elif not isinstance(self.rate, str):
            eta, fade, power = self._constant(epoch), 0.0, FIXED
        if self.rate != "optimal":
            bias_eta, bias_fade = eta, fade
        kind = RESIDUAL if self.shape.of == "residual" else SOFTMAX if scheme == "multinomial" else MARGIN
        capped = not math.isfinite(self.shape.steep)
        return Fall(CODES[self.loss], self.width, kind, capped, l1, l2, eta, fade, power, bias, bias_eta, bias_fade)

    def _constant(self, epoch: int) -> float:
        """η of this epoch, a number or what a callable says."""
        eta = float(self.rate(epoch) if callable(self.rate) else self.rate)
        if not (math.isfinite(eta) and eta > 0):
            raise ValueError(f"learning_rate({epoch}) returned {eta}: a rate must be finite and above 0.")
        return eta


# -- the value of the aim --------------------------------------------------------------------------------------------


@compiled
def _loss_one(fall: Fall, y: Array, weights: Array, index: Array, scores: Array) -> float:
    total = 0.0
    for t in range(index.size):
        i = index[t]
        total += (weights[i] if weights.size > 0 else 1.0) * partial(fall, np.float64(scores[t]), np.float64(y[i]))[0]
    return total


@compiled
def _loss_many(fall: Fall, y: Array, weights: Array, index: Array, scores: Array) -> float:
    total = 0.0
    for t in range(index.size):
        i, loss = index[t], 0.0
        if fall.kind == SOFTMAX:
            loss = softmax(scores[t], code_of(y, i))
        else:
            for k in range(scores.shape[1]):
                loss += partial(fall, np.float64(scores[t, k]), 1.0 if is_on(y, i, k) else -1.0)[0]
        total += (weights[i] if weights.size > 0 else 1.0) * loss
    return total


def total_loss(examples: Examples, aim: Aim, planes: Planes) -> tuple[float, float]:
    """Σ s_i ℓ(x_i, y_i) of these planes, and Σ s_i."""
    (problem,) = problems(examples, planes.scheme, planes.classes)
    fall, total = aim.fall(1, 1.0, planes.scheme), 0.0
    for index in problem.pieces(planes.coef.shape[0]):
        scores = planes.raw(problem.rows, index)
        measure = _loss_one if scores.ndim == 1 else _loss_many
        total += measure(fall, problem.truth, problem.weights, index, scores)
    return total, problem.total


def objective(examples: Examples, aim: Aim, planes: Planes) -> float:
    """F of these planes."""
    return objective_of_parts([examples], aim, planes)


def objective_of_parts(parts: Iterable[Examples], aim: Aim, planes: Planes) -> float:
    """F of these planes on the rows of all parts."""
    loss, mass = np.sum([total_loss(examples, aim, planes) for examples in parts], axis=0)
    return float(loss / mass) + aim.penalty_of(planes.coef)


class Patience:
    """Whether the objective has stopped to fall: for `patience` epochs not by `tol` of itself below the lowest."""

    def __init__(self, aim: Aim) -> None:
        self.aim, self.lowest, self.waited = aim, math.inf, 0

    def spent(self, loss: float, ripe: bool = True) -> bool:
        """Take note of an epoch; one that is not ripe says nothing."""
        if not ripe:
            return False
        self.waited = 0 if loss < self.lowest - self.aim.tol * abs(self.lowest) else self.waited + 1
        self.lowest = min(self.lowest, loss)
        return self.aim.tol > 0 and self.waited >= self.aim.patience


# -- stochastic descent ----------------------------------------------------------------------------------------------


def descend(examples: Examples, aim: Aim, state: State, restore: bool = True) -> Generator[EpochRecord, None, None]:
    """Pass after pass, changing `state`, until the objective met on the way has stopped to fall."""
    state.bias = 0.0 if aim.bias == "none" else 1.0
    return passes(examples, aim, state, restore, _pass)


def passes(
    examples: Examples,
    aim: Any,
    state: State,
    restore: bool,
    run: Callable[[Machine, Problem, Any, State], None],
) -> Generator[EpochRecord, None, None]:
    """Run passes until the objective met on the way has stopped to fall."""
    state.radius2 = max(state.radius2, examples.radius2)
    (problem,) = problems(examples, state.scheme, state.classes)
    (machine,) = state.machines
    patience = Patience(aim)
    while True:
        began, before = time.perf_counter(), machine.updates
        snapshot = state.copy() if restore and state.epoch else None
        try:
            machine.tally[[LOSS, POSITION, LEFT]] = 0.0
            run(machine, problem, aim, state)
            state.epoch += 1
            loss = machine.tally[LOSS] / problem.total + aim.penalty_of(machine.coef)
            done = patience.spent(loss, aim.ripe(machine.tally[CLOCK], state.radius2))
            seconds = time.perf_counter() - began
            record = recorded(state.epoch, machine.updates - before, None, loss, seconds, done)
        except BaseException:
            if snapshot is not None:
                state.__dict__.update(snapshot.__dict__)
            raise
        yield record
        if done:
            return


def _pass(machine: Machine, problem: Problem, aim: Aim, state: State) -> None:
    run, order = Pass(aim, state, problem.rows, problem.total), aim.make_order(problem, state.seed)
    for begin, end in spans(order.size, problem.per_row * machine.intercept.size):
        piece = visited(order, problem.present, state.epoch, begin, end)
        run.visit(problem, piece)
    run.end()


class Pass:
    """One pass, over rows that may come in pieces; `total` is the weight of all of them, `rows` some of them."""

    def __init__(self, aim: Aim, state: State, rows: Dense | Sparse, total: float) -> None:
        (machine,) = state.machines
        lay_out(machine, rows, state.scheme)
        # Weights may be summed in more than one order: a whole number of visits is the same for all.
        fall = aim.fall(state.epoch + 1, state.radius2, state.scheme, max(float(round(total)), 1.0))
        K = machine.intercept.size
        if fall.l1 > 0 and (not machine.total_b.size or (machine.total_b != machine.total_b.max()).any()):
            # No debts yet, or classes have come since: all weights start with none.
            machine.total, machine.total_b = np.zeros(machine.coef.shape), np.zeros(K)
        q = machine.total if fall.l1 > 0 else np.zeros((0, 0))
        scale = np.array([1.0, machine.total_b[0] if fall.l1 > 0 else 0.0])
        if state.scheme == "one":
            one = q[0] if q.size else np.zeros(0)
            work: Any = Falling(machine.coef[0], machine.coef, q, machine.intercept, one, scale)
        else:
            scores = np.zeros(K, machine.coef.dtype)
            work = FallingMany(machine.coef, machine.coef, q, machine.intercept, q, scale, scores)
        self.state, self.machine, self.fall, self.work = state, machine, fall, work

    def visit(self, problem: Problem, piece: Array) -> None:
        """Visit these rows."""
        tally = self.machine.tally
        tally[POSITION] = 0.0
        while tally[POSITION] < piece.size:
            sweep(self.work, problem.rows, problem.truth, problem.weights, piece, self.fall, tally, NO_LOG, piece.size)

    def end(self) -> None:
        """Weights as they are, after the last row."""
        settle(self.work)
        machine = self.machine
        if self.fall.l1 > 0:
            machine.total_b[:] = self.work.scale[1]
        check_weights(machine, self.state.epoch + 1)


def check_weights(machine: Machine, epoch: int) -> None:
    """Refuse weights that steps too long for the rows have made infinite or NaN."""
    if not all_finite(machine.coef, machine.intercept):
        remedy = 'Scale the features, choose a smaller learning_rate or solver="batch".'
        raise NotFiniteError(f"The weights overflowed in epoch {epoch}", remedy=remedy)
