"""One pass of stochastic gradient descent for many machines, whose planes are columns of one W: see `many_descents`.

W is stored by feature, (d, columns), as in `column_sweeps`. A visit computes the scores of all columns in one
sweep over the row; each machine has its own penalty and schedule, and with them its own scale s, w = s·v, and its own
L1 debt U (`stochastic_visits` has the formulas); −η·∂ℓ/∂f·x/s is added to contiguous runs of W.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from rosenblatt.compiled.machine_code import compiled, vectorised, verb
from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.compiled.row_targets import is_on
from rosenblatt.compiled.rows import ONE, Rows, fetch_ahead, usual_lines
from rosenblatt.learn.sweep import VisitTask
from rosenblatt.objective.stochastic_visits import (
    SMALLEST_SCALE,
    SOFTMAX,
    bias_share,
    partial,
    pulled,
    rate,
    softmax_slopes,
)
from rosenblatt.search.column_sweeps import add_columns, column_scores, fetch_weights

Array = np.ndarray[Any, Any]


class DescentColumns(NamedTuple):
    """The planes of all machines, K columns each."""

    v: Array  # (d, columns)
    q: Array  # the penalty applied to v so far, with its sign; empty without an L1 penalty
    b: Array
    owed: Array  # U of each column of v
    scale: Array  # s of each machine
    scores: Array  # of a row, as steps: one per column of v
    steps: Array
    slopes: Array  # of a machine and a row, rounded as in `stochastic_visits`
    clock: Array  # visits of each machine
    losses: Array
    use: Array  # (patterns, machines): 1 where a machine learns from rows of a pattern of folds, else 0


@compiled
def _catch_up(v: Array, q: Array, owed: Array) -> None:
    for c in range(v.size):
        before = np.float64(v[c])
        v[c] = pulled(before, q[c], owed[c])
        q[c] += v[c] - before


def _catch_up_dense(rows: Rows, i: Any, V: Array, Q: Array, owed: Array) -> None:
    for j in range(V.shape[0]):
        _catch_up(V[j], Q[j], owed)


def _catch_up_sparse(rows: Rows, i: Any, V: Array, Q: Array, owed: Array) -> None:
    for j in rows.columns[np.uint64(rows.starts[i]) : np.uint64(rows.starts[i + ONE])]:
        _catch_up(V[j], Q[j], owed)


catch_up_columns = verb({Dense: _catch_up_dense, Sparse: _catch_up_sparse})  # apply debts to the weights that i uses


@compiled
def settle(state: DescentColumns, first: int, end: int) -> None:
    """Apply the debts of machines `first` to `end` and multiply s into v."""
    K = state.slopes.size
    for j in range(state.v.shape[0]):
        for m in range(first, end):
            s = state.scale[m]
            for c in range(m * K, (m + 1) * K):
                if state.q.size > 0:
                    before = np.float64(state.v[j, c])
                    state.v[j, c] = pulled(before, state.q[j, c], state.owed[c])
                    state.q[j, c] = s * (state.q[j, c] + (state.v[j, c] - before))
                state.v[j, c] *= s
    for m in range(first, end):
        for c in range(m * K, (m + 1) * K):
            state.owed[c] *= state.scale[m]
        state.scale[m] = 1.0


@register_jitable(inline="always")  # a call would pass all of their arrays
def _descend(state: DescentColumns, one: Any, m: Any, y: Array, i: Any) -> None:
    """The steps of machine m for row i."""
    K, t, slopes = state.slopes.size, state.clock[m], state.slopes
    begin, eta = m * K, rate(one, one.eta, one.fade, t)
    for k in range(K):
        slopes[k] = state.scale[m] * np.float64(state.scores[begin + k]) + np.float64(state.b[begin + k])
    if one.kind == SOFTMAX:
        state.losses[m] += softmax_slopes(slopes, np.int64(y[i]))
        for k in range(K):
            slopes[k] *= eta
    else:
        for k in range(K):
            f = np.float64(slopes[k])
            loss, g = partial(one, f, 1.0 if is_on(y, i, k + (1 if K == 1 else 0)) else -1.0)
            state.losses[m] += loss if abs(f) < np.inf else np.nan
            slopes[k] = eta * g
    state.scale[m] *= max(1.0 - eta * one.l2, 0.0)
    if state.scale[m] < SMALLEST_SCALE:
        settle(state, m, m + 1)
    shift = bias_share(one, t)
    for k in range(K):
        step = np.float64(slopes[k])
        state.b[begin + k] -= shift * step
        state.steps[begin + k] = -step / state.scale[m]
        state.owed[begin + k] += eta * one.l1 / state.scale[m]
    state.clock[m] += 1.0


@vectorised
def sweep_descents(state: DescentColumns, machines: Array, task: VisitTask, pattern: Array, order: Array) -> None:
    """Visit rows in `order`; pattern[t] is the pattern of folds that learn from row order[t]."""
    rows, y, _ = task
    n, M, K = np.uint64(order.size), state.scale.size, state.slopes.size
    lines = usual_lines(rows)
    for t in range(n):
        fetch_ahead(rows, y, order, t, lines)
        if t + ONE < n:
            fetch_weights(rows, order[t + ONE], state.v)
        i, use = order[t], state.use[pattern[t]]
        if state.q.size > 0:
            catch_up_columns(rows, i, state.v, state.q, state.owed)
        column_scores(rows, i, state.v, state.scores)
        for m in range(M):
            if use[m] == 0.0:
                for c in range(m * K, (m + 1) * K):
                    state.steps[c] = 0
                continue
            _descend(state, machines[m], m, y, i)
        add_columns(rows, i, state.steps, state.v)
