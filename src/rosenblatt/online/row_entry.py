"""One row at a time: a compiled entry that checks a row, predicts it, and visits it as a pass does.

A pass over one row costs the choice of machine code and of a layout, which here is made once (`machine_code.direct`).
The update is that of `visits.visit`, so that rows one by one give the bits of `partial_fit` row by row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import compiled, direct, verb
from rosenblatt.compiled.row_arrays import Dense, Sparse, norm
from rosenblatt.compiled.rows import dot, dots
from rosenblatt.compiled.step_sizes import squared_bias_feature
from rosenblatt.learn.counters import Count
from rosenblatt.online.first_order import JointPlanes, OnePlane, SeparatePlanes
from rosenblatt.online.rules import Encoded
from rosenblatt.online.second_order import AROWPlane, Diagonal, Full, scores_of
from rosenblatt.online.solver import OnlinePlan
from rosenblatt.online.visits import learner, visit
from rosenblatt.planes.state import State
from rosenblatt.planes.update_log import NO_LOG, UpdateLog

Array = np.ndarray[Any, Any]
# Why a row is refused, before anything changes.
NOT_FINITE, NO_COLUMN, WIDTH, TOO_LARGE, UNSORTED, BROKEN = -1, -2, -3, -4, -5, -6
# The largest ‖x‖² and weight, by the bytes of a weight: beyond them an update could overflow.
LARGEST = {4: (1e20, 1e26), 8: (1e100, 1e150)}
SHORT = 64  # values for which there is room at first


class Scratch(NamedTuple):
    """Room for the scores of a row and for the model's weights of its features, 0, 1, 2, …, and counters."""

    scores: Array
    mean: Array
    places: Array
    facts: Array  # max‖x‖² so far, whether the bias step is this, the largest ‖x‖² and weight, Σ loss, rows learned


# -- the scores by the model: the last iterate, or the average ---------------------------------------------------------


def _mean_dense(rows: Any, w: Array, u: Array, clock: float, scratch: Scratch) -> Any:
    mean, N = scratch.mean.reshape(-1), clock if clock > 0.0 else 1.0
    flat, sums = w.reshape(-1), u.reshape(-1)
    for j in range(flat.size):
        mean[j] = flat[j] - sums[j] / N
    return rows


def _mean_sparse(rows: Any, w: Array, u: Array, clock: float, scratch: Scratch) -> Any:
    columns, N = rows.columns, clock if clock > 0.0 else 1.0
    K = np.int64(w.size // w.shape[0])
    flat, sums, mean = w.reshape(-1), u.reshape(-1), scratch.mean.reshape(-1)
    for j in range(columns.size):
        at = np.int64(columns[j]) * K
        for k in range(K):
            mean[j * K + k] = flat[at + k] - sums[at + k] / N
    return Sparse(rows.values, scratch.places[: columns.size], rows.starts)


mean_weights = verb({Dense: _mean_dense, Sparse: _mean_sparse})  # w − u/N of the row's features, and where they are


def _score_one(learner: OnePlane, rows: Any, rule: Encoded, clock: float, scratch: Scratch) -> None:
    if learner.u.size > 0:
        placed = mean_weights(rows, learner.w, learner.u, clock, scratch)
        b = scratch.scores.dtype.type(learner.b[0] - learner.v[0] / (clock if clock > 0.0 else 1.0))
        scratch.scores[0] = dot(placed, 0, scratch.mean) + b
    else:
        scratch.scores[0] = dot(rows, 0, learner.w) + learner.b[0]


def _score_planes(learner: Any, rows: Any, rule: Encoded, clock: float, scratch: Scratch) -> None:
    scores = scratch.scores
    if learner.v.size > 0:
        placed = mean_weights(rows, learner.w, learner.u, clock, scratch)
        dots(placed, 0, scratch.mean, scores)
        for k in range(scores.size):
            scores[k] += scores.dtype.type(learner.b[k] - learner.v[k] / (clock if clock > 0.0 else 1.0))
    else:
        dots(rows, 0, learner.w, scores)
        for k in range(scores.size):
            scores[k] += learner.b[k]


def _score_arow(learner: AROWPlane, rows: Any, rule: Encoded, clock: float, scratch: Scratch) -> None:
    scratch.scores[0] = dot(rows, 0, learner.w) + learner.b[0]


def _score_second_order(learner: Any, rows: Any, rule: Encoded, clock: float, scratch: Scratch) -> None:
    scores_of(learner, rows, 0, rule)
    for k in range(scratch.scores.size):
        scratch.scores[k] = learner.scores[k]


score_row = verb(
    {
        OnePlane: _score_one,
        JointPlanes: _score_planes,
        SeparatePlanes: _score_planes,
        AROWPlane: _score_arow,
        Diagonal: _score_second_order,
        Full: _score_second_order,
    }
)  # the scores of a row by the model that `keep` selects


# -- checks, before anything changes -----------------------------------------------------------------------------------


def _checked_dense(rows: Any, w: Array, d: int, distinct: bool, largest: float) -> int:
    if rows.values.shape[1] != d:
        return WIDTH
    flat = w.reshape(-1)
    for j in range(flat.size):
        if not abs(flat[j]) <= largest:
            return TOO_LARGE
    return 0


def _checked_sparse(rows: Any, w: Array, d: int, distinct: bool, largest: float) -> int:
    columns, starts = rows.columns, rows.starts
    if not (starts.size == 2 and starts[0] == 0 and starts[1] == columns.size and columns.size == rows.values.size):
        return BROKEN
    K, flat = np.int64(w.size // w.shape[0]), w.reshape(-1)
    for j in range(columns.size):
        if np.uint64(columns[j]) >= np.uint64(d):
            return NO_COLUMN
        if not distinct and j > 0 and columns[j] <= columns[j - 1]:
            return UNSORTED
        at = np.int64(columns[j]) * K
        for k in range(K):
            if not abs(flat[at + k]) <= largest:
                return TOO_LARGE
    return 0


checked_row = verb({Dense: _checked_dense, Sparse: _checked_sparse})  # 0, or why the row is refused


@compiled
def _take(
    machine: Any,
    rows: Any,
    distinct: bool,
    d: int,
    y: Array,
    weight: float,
    rule: Encoded,
    tally: Array,
    log: UpdateLog,
    scratch: Scratch,
) -> int:
    facts = scratch.facts
    refused = checked_row(rows, machine.w, d, distinct, facts[3])
    if refused < 0:
        return refused  # type: ignore[no-any-return]
    norm2 = norm(rows, 0)
    if not norm2 <= facts[2]:
        return TOO_LARGE if norm2 < np.inf else NOT_FINITE
    clock = tally[Count.CLOCK]
    score_row(machine, rows, rule, clock, scratch)
    scores, said = scratch.scores, 0
    if scores.size == 1:
        said = 1 if scores[0] > 0 else 0
    else:
        for k in range(1, scores.size):
            said = k if scores[k] > scores[said] else said
    if weight == 0.0:
        return said
    facts[0] = max(facts[0], norm2)
    if facts[1] > 0.0:
        rule = Encoded(rule.code, rule.low, rule.high, rule.cap, rule.extra, rule.tube, rule.eta, rule.decay, facts[0])
    tally[Count.VIOLATIONS] = tally[Count.LOSS] = tally[Count.LEFT] = 0.0
    tally[Count.POSITION] = 1.0
    left = weight
    while left > 0.0:
        share = min(left, 1.0)
        changed = visit(machine, rows, y, np.uint64(0), share, rule, tally, log)
        share = share if changed else left
        clock += share
        tally[Count.CLOCK] = clock
        if not changed:
            break
        left -= share
    facts[4] += tally[Count.LOSS]
    facts[5] += 1.0
    return said


@compiled
def take_dense(
    machine: Any,
    values: Array,
    d: int,
    y: Array,
    weight: float,
    rule: Encoded,
    tally: Array,
    log: UpdateLog,
    scratch: Scratch,
) -> int:
    """Predict a row (d,), then visit it with this weight, unless it is 0; returns the code of its class.

    That of one plane is 1 where its score is above 0. A code below 0 says why the row is refused: nothing has changed.
    As in a pass, a weight s means ⌈s⌉ visits.
    """
    return _take(machine, Dense(values.reshape(1, values.size)), True, d, y, weight, rule, tally, log, scratch)


@compiled
def take_sparse(
    machine: Any,
    values: Array,
    columns: Array,
    starts: Array,
    distinct: bool,
    d: int,
    y: Array,
    weight: float,
    rule: Encoded,
    tally: Array,
    log: UpdateLog,
    scratch: Scratch,
) -> int:
    """The same for the values and columns of a CSR row; `distinct` promises that no column comes twice."""
    rows = Sparse(values, columns.view(np.uint32), starts.view(np.uint32))
    return _take(machine, rows, distinct, d, y, weight, rule, tally, log, scratch)


# -- the entry ---------------------------------------------------------------------------------------------------------


# The values, columns and starts of a CSR matrix of one row, and whether it is certain that no column comes twice. A
# plain tuple, because making a named one would take as long as the rest of a call.
StoredRow = tuple[Array, Array, Array, bool]


class RowEntry:
    """A state, ready to predict and learn single rows of the kind of `row`: dense (d,), or `StoredRow`.

    Training writes to the arrays of the state; its counters are brought up to date by `update`.
    """

    def __init__(self, state: State, plan: OnlinePlan, row: Array | StoredRow) -> None:
        (machine,) = state.machines
        self.dense, self.plan, self.state = isinstance(row, np.ndarray), plan, state
        d, dtype, K = state.width, state.dtype, machine.intercept.size
        values, columns = np.zeros(1, dtype), np.zeros(1, np.int32)
        self.room = 0 if self.dense else max(SHORT, 2 * row[0].size)
        like: Any = Dense(values.reshape(1, 1)) if self.dense else Sparse(values, columns.view(np.uint32), columns)
        self.arrays = learner(machine, state.scheme, plan.rule, like)
        w = self.arrays.w
        mean = np.zeros((0,) * w.ndim, dtype)
        if machine.average is not None:
            mean = np.zeros(w.shape if self.dense else (self.room, K)[: w.ndim], dtype)
        follows = float(plan.bias == "radius")
        facts = np.array([state.radius2, follows, *LARGEST[w.itemsize], 0.0, 0.0])
        self.scratch = Scratch(np.zeros(K, dtype), mean, np.arange(self.room, dtype=np.uint32), facts)
        self.scores, self.tally, self.d = self.scratch.scores, machine.tally, d
        if plan.criterion.numbers:
            self.targets = [np.zeros(1, dtype)]
        elif state.scheme.single:
            self.targets = [np.array([side], np.int8) for side in (-1, 1)]
        else:
            self.targets = [np.array([code], np.int32) for code in range(state.classes)]
        state.bias = float(squared_bias_feature(plan.bias, state.radius2))
        self.epoch, self.rule = state.epoch, plan.encode(state.epoch + 1, state.bias)
        first = (values,) if self.dense else (values, columns, columns, True)
        self.varies, self.rest = callable(plan.rate), (self.rule, self.tally, NO_LOG, self.scratch)
        like = (self.arrays, *first, d, self.targets[0], 1.0, *self.rest)
        self.enter = direct(take_dense if self.dense else take_sparse, *like)

    def fits(self, row: Array | StoredRow) -> bool:
        """Whether there is room for such a row."""
        return row[0].size <= self.room if type(row) is tuple else self.dense

    def take(self, row: Array | StoredRow, target: Array, weight: float) -> int:
        """Predict and, unless the weight is 0, learn: see `take_dense`."""
        if self.varies:
            rule = self.plan.encode(self.epoch + int(self.scratch.facts[5]) + 1, self.state.bias)
            self.rest = (rule, *self.rest[1:])
        said: int
        if type(row) is tuple:
            said = self.enter(self.arrays, *row, self.d, target, weight, *self.rest)
        else:
            said = self.enter(self.arrays, row, self.d, target, weight, *self.rest)
        return said

    def update(self) -> float:
        """Bring the counters of the state up to date; returns the sum of the losses since the last time."""
        facts, state = self.scratch.facts, self.state
        state.radius2, loss = float(facts[0]), float(facts[4])
        state.bias = float(squared_bias_feature(self.plan.bias, state.radius2))
        state.epoch = self.epoch = self.epoch + int(facts[5])
        facts[4:] = 0.0
        return loss
