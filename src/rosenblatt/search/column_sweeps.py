"""One pass over rows for many machines, whose planes are columns of one W: see `many_settings`.

W is stored by feature, (d, columns). A visit computes the scores of all columns in one sweep over the row, asks each
machine for its step (none where its fold holds the row out), and adds x·stepᵀ to contiguous runs of W. The number of
columns is a multiple of 8 (`simd_lanes`); the last ones may belong to no machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from rosenblatt.compiled.machine_code import compiled, vectorised, verb
from rosenblatt.compiled.prefetching import prefetch
from rosenblatt.compiled.row_arrays import Dense, Sparse, norm
from rosenblatt.compiled.row_targets import is_on
from rosenblatt.compiled.rows import (
    FOUR,
    LANE,
    LINE,
    NONE,
    ONE,
    THREE,
    TWO,
    Rows,
    dots_sparse,
    fetch_ahead,
    usual_lines,
)
from rosenblatt.compiled.simd_lanes import add_scaled, load, store
from rosenblatt.compiled.tie_rule import rival
from rosenblatt.learn.sweep import VisitTask
from rosenblatt.online.first_order import tie_stands
from rosenblatt.online.rules import PERCEPTRON, step_size, violates

Array = np.ndarray[Any, Any]
SINGLE, PAIRWISE, BY_COLUMN = range(3)
WIDEST = 256  # more columns are changed row by row of W: the hardware prefetches a long row


# -- W xᵀ and W += x·stepᵀ, with W stored by feature ------------------------------------------------------------------


def _scores_dense(rows: Rows, i: Any, W: Array, scores: Array) -> None:
    x = rows.values[i]
    for c in range(scores.size):
        scores[c] = 0
    whole = x.size - x.size % 4
    for j in range(0, whole, 4):  # four features at a time: the scores are read and written a quarter as often
        a, b, e, f = x[j], x[j + 1], x[j + 2], x[j + 3]
        p, q, r, s = W[j], W[j + 1], W[j + 2], W[j + 3]
        for c in range(scores.size):
            scores[c] += (a * p[c] + b * q[c]) + (e * r[c] + f * s[c])
    for j in range(whole, x.size):
        a, p = x[j], W[j]
        for c in range(scores.size):
            scores[c] += a * p[c]


column_scores = verb({Dense: _scores_dense, Sparse: dots_sparse})  # scores_c = w_c·x_i


def _squares_dense(rows: Rows, i: Any, S: Array, q: Array) -> None:
    x = rows.values[i]
    for c in range(q.size):
        q[c] = 0
    for j in range(x.size):
        a, s = x[j] * x[j], S[j]
        for c in range(q.size):
            q[c] += a * s[c]


def _squares_sparse(rows: Rows, i: Any, S: Array, q: Array) -> None:
    x, column = rows.values, rows.columns
    for c in range(q.size):
        q[c] = 0
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        a, s = x[j] * x[j], S[column[j]]
        for c in range(q.size):
            q[c] += a * s[c]


column_squares = verb({Dense: _squares_dense, Sparse: _squares_sparse})  # q_c = Σ_j s_jc x_j²


def _add_dense(rows: Rows, i: Any, steps: Array, W: Array) -> None:
    x = rows.values[i]
    for j in range(x.size):
        a, w = x[j], W[j]
        for c in range(steps.size):
            w[c] += a * steps[c]


def _add_wide_sparse(rows: Rows, i: Any, steps: Array, W: Array) -> None:
    x, column = rows.values, rows.columns
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        a, w = x[j], W[column[j]]
        for c in range(steps.size):
            w[c] += a * steps[c]


add_wide = verb({Sparse: _add_wide_sparse})


def _add_sparse(rows: Rows, i: Any, steps: Array, W: Array) -> None:
    x, column = rows.values, rows.columns
    begin, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    c, columns = NONE, np.uint64(steps.size)
    if steps.size > WIDEST:
        add_wide(rows, i, steps, W)
        return
    while c + FOUR * LANE <= columns:
        p, q = load(steps, c), load(steps, c + LANE)
        r, s = load(steps, c + TWO * LANE), load(steps, c + THREE * LANE)
        for j in range(begin, end):
            a, at = x[j], np.uint64(column[j]) * columns + c
            store(W, at, add_scaled(load(W, at), a, p))
            store(W, at + LANE, add_scaled(load(W, at + LANE), a, q))
            store(W, at + TWO * LANE, add_scaled(load(W, at + TWO * LANE), a, r))
            store(W, at + THREE * LANE, add_scaled(load(W, at + THREE * LANE), a, s))
        c += FOUR * LANE
    while c < columns:
        p = load(steps, c)
        for j in range(begin, end):
            at = np.uint64(column[j]) * columns + c
            store(W, at, add_scaled(load(W, at), x[j], p))
        c += LANE


add_columns = verb({Dense: _add_dense, Sparse: _add_sparse})  # w_c += step_c·x_i


def _curve_dense(rows: Rows, i: Any, steps: Array, shrinks: Array, W: Array, S: Array) -> None:
    x = rows.values[i]
    for j in range(x.size):
        a, w, s = x[j], W[j], S[j]
        for c in range(steps.size):
            g = a * s[c]
            w[c] += steps[c] * g
            s[c] -= shrinks[c] * g * g


def _curve_sparse(rows: Rows, i: Any, steps: Array, shrinks: Array, W: Array, S: Array) -> None:
    x, column = rows.values, rows.columns
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        a, w, s = x[j], W[column[j]], S[column[j]]
        for c in range(steps.size):
            g = a * s[c]
            w[c] += steps[c] * g
            s[c] -= shrinks[c] * g * g


add_curved = verb({Dense: _curve_dense, Sparse: _curve_sparse})  # AROW: w_c += α_c Σx, Σ_c −= β_c (Σx)²


def _fetch_weights_dense(rows: Rows, i: Any, W: Array) -> None:
    pass  # every row uses all of W


def _fetch_weights_sparse(rows: Rows, i: Any, W: Array) -> None:
    columns = np.uint64(W.shape[1])
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        begin = np.uint64(rows.columns[j]) * columns
        for c in range(begin, begin + columns, LINE):
            prefetch(W, c, False)


fetch_weights = verb({Dense: _fetch_weights_dense, Sparse: _fetch_weights_sparse})  # the weights that row i uses


# -- the loop ----------------------------------------------------------------------------------------------------------


class Settings(NamedTuple):
    """One entry per machine: its rule, encoded, its fold and the weight of each class."""

    rules: Array  # records with the fields of `Encoded`
    cap: Array  # without weights and decay a step is fixed + min(cap, ℓ/(‖x‖² + extra + bias))
    bias: Array
    asked: Array  # (2, machines): low, high
    enough: Array  # (2, machines): a larger margin violates nothing
    fixed: Array
    extra_with_bias: Array
    class_weight: Array  # (machines, classes)


class Columns(NamedTuple):
    """The planes of all machines, K columns each, and what they count; empty arrays where nothing needs them."""

    w: Array  # (d, columns)
    b: Array
    u: Array  # Σ clock·Δ, for averages
    v: Array
    s: Array  # variances, for AROW
    sb: Array
    scores: Array  # of a row, as steps, timed, q and shrinks: one per column of w
    steps: Array
    timed: Array
    q: Array
    shrinks: Array
    margins: Array  # of a row, as sizes: one per machine
    sizes: Array
    moves: Array  # updates of each column
    clock: Array  # visits of each machine
    violations: Array
    updates: Array
    done: Array
    left: Array  # the weight that is left of the row, for each machine
    use: Array  # (patterns, machines): 1 where a machine learns from rows of a pattern of folds, else 0


@register_jitable(inline="always")  # a call would pass all of their arrays
def _first_order_step(rule: Any, state: Columns, m: Any, K: Any, mode: Any, y: Array, i: Any, q: float) -> bool:
    """The step of machine m for row i, of its share of a visit; returns whether there is one."""
    begin = m * K
    share = min(state.left[m], 1.0)
    if mode == PAIRWISE:
        scores, true = state.scores[begin : begin + K], np.int64(y[i])
        wrong = rival(scores, true)
        margin = np.float64(scores[true] - scores[wrong])
        lack = rule.high - margin
        if lack < 0.0 or tie_stands(rule, lack, true, wrong):
            return False
        if violates(rule, margin, lack):
            state.violations[m] += 1.0
        q = 0.0 if rule.code == PERCEPTRON else 2.0 * (q + rule.bias)
        step = share * step_size(rule, lack, q, state.moves[begin])
        if step == 0.0:
            return False
        state.steps[begin + true], state.steps[begin + wrong] = step, -step
        state.moves[begin] += 1.0
        state.updates[m] += 1.0
        return True
    changed = False
    q = 0.0 if rule.code == PERCEPTRON else q + rule.bias
    for k in range(K):
        side = 1.0 if is_on(y, i, k + (1 if mode == SINGLE else 0)) else -1.0
        margin = side * np.float64(state.scores[begin + k])
        lack = (rule.high if side > 0.0 else rule.low) - margin
        if lack < 0.0:
            continue
        if violates(rule, margin, lack):
            state.violations[m] += 1.0
        step = share * side * step_size(rule, lack, q, state.moves[begin + k])
        if step != 0.0:
            state.steps[begin + k] = step
            state.moves[begin + k] += 1.0
            state.updates[m] += 1.0
            changed = True
    return changed


@register_jitable(inline="always")
def _second_order_step(rule: Any, state: Columns, m: Any, K: Any, mode: Any, y: Array, i: Any) -> bool:
    """AROW's step of machine m for row i; the variance of the bias is the prior's, for a bias feature of 1."""
    begin = m * K
    share = min(state.left[m], 1.0)
    if mode == PAIRWISE:
        scores, true = state.scores[begin : begin + K], np.int64(y[i])
        wrong = rival(scores, true)
        margin = np.float64(scores[true]) - np.float64(scores[wrong])
        lack = rule.high - margin
        if lack <= 0.0:
            return False
        if violates(rule, margin, lack):
            state.violations[m] += 1.0
        q = (
            np.float64(state.q[begin + true])
            + state.sb[begin + true]
            + state.q[begin + wrong]
            + state.sb[begin + wrong]
        )
        beta = share / (share * q + rule.extra)
        state.steps[begin + true], state.steps[begin + wrong] = (1.0 - margin) * beta, -(1.0 - margin) * beta
        state.shrinks[begin + true] = state.shrinks[begin + wrong] = beta
        state.updates[m] += 1.0
        return True
    changed = False
    for k in range(K):
        c = begin + k
        side = 1.0 if is_on(y, i, k + (1 if mode == SINGLE else 0)) else -1.0
        margin = side * np.float64(state.scores[c])
        lack = rule.high - margin
        if lack <= 0.0:
            continue
        if violates(rule, margin, lack):
            state.violations[m] += 1.0
        beta = share / (share * (np.float64(state.q[c]) + state.sb[c]) + rule.extra)
        state.steps[c], state.shrinks[c] = side * (1.0 - margin) * beta, beta
        state.updates[m] += 1.0
        changed = True
    return changed


@vectorised
def sweep_single(state: Columns, settings: Settings, task: VisitTask, pattern: Array, order: Array) -> None:
    """`sweep_columns` for one plane per machine, first order, no weights and constant rates.

    Steps are made in short loops without branches: in one long loop over many arrays LLVM finds no vector code.
    """
    rows, y, _ = task
    w, b, u, v, scores, steps, timed = state.w, state.b, state.u, state.v, state.scores, state.steps, state.timed
    margins, sizes, clock, violations, updates = (
        state.margins,
        state.sizes,
        state.clock,
        state.violations,
        state.updates,
    )
    bias, cap, fixed, extra = settings.bias, settings.cap, settings.fixed, settings.extra_with_bias
    n, M = np.uint64(order.size), settings.cap.size
    lines = usual_lines(rows)
    for t in range(n):
        fetch_ahead(rows, y, order, t, lines)
        if t + ONE < n:
            fetch_weights(rows, order[t + ONE], w)
        i, use = order[t], state.use[pattern[t]]
        square = norm(rows, i)
        on = 1 if y[i] == 1 else 0
        side = 1.0 if on == 1 else -1.0
        asked, enough = settings.asked[on], settings.enough[on]
        column_scores(rows, i, w, scores)
        for m in range(M):
            margins[m] = side * np.float64(scores[m] + b[m])
        changed = 0.0
        for m in range(M):
            lack = asked[m] - margins[m]
            size = fixed[m] + min(cap[m], lack / (square + extra[m]))
            sizes[m] = 0.0 if (lack < 0.0) | (use[m] == 0.0) else side * size  # not a product: 0·∞ is NaN
            changed += abs(sizes[m])
        if changed != 0.0:
            for m in range(M):
                updates[m] += 0.0 if sizes[m] == 0.0 else 1.0
            for m in range(M):
                steps[m] = sizes[m]
                b[m] += sizes[m] * bias[m]
            add_columns(rows, i, steps, w)
            if v.size > 0:
                for m in range(M):
                    timed[m] = clock[m] * sizes[m]
                    v[m] += timed[m] * bias[m]
                add_columns(rows, i, timed, u)
        for m in range(M):
            violations[m] += use[m] * (0.0 if margins[m] > enough[m] else 1.0)
            clock[m] += use[m]


@compiled
def sweep_columns(state: Columns, settings: Settings, task: VisitTask, pattern: Array, order: Array, mode: int) -> None:
    """Visit rows in `order`; pattern[t] is the pattern of folds that learn from row order[t]."""
    rows, y, weights = task
    M, columns = settings.cap.size, state.b.size
    K = columns // M
    second = state.s.size > 0
    lines = usual_lines(rows)
    for t in range(np.uint64(order.size)):
        fetch_ahead(rows, y, order, t, lines)
        i = order[t]
        weight = weights[i] if weights.size > 0 else 1.0
        waiting = False
        for m in range(M):
            state.left[m] = weight * settings.class_weight[m, y[i]] * state.use[pattern[t], m]
            waiting |= state.left[m] > 0.0
        square = norm(rows, i)
        while waiting:
            waiting, changed = False, False
            column_scores(rows, i, state.w, state.scores)
            if second:
                column_squares(rows, i, state.s, state.q)
            for c in range(columns):
                state.scores[c] += state.b[c]
                state.steps[c] = state.timed[c] = 0
            if second:
                for c in range(columns):
                    state.shrinks[c] = 0
            for m in range(M):
                if not state.left[m] > 0.0:
                    continue
                rule = settings.rules[m]
                if second:
                    moved = _second_order_step(rule, state, m, K, mode, y, i)
                else:
                    moved = _first_order_step(rule, state, m, K, mode, y, i, square)
                if not moved:
                    state.clock[m] += state.left[m]
                    state.left[m] = 0.0
                    continue
                changed = True
                share = min(state.left[m], 1.0)
                for c in range(m * K, (m + 1) * K):
                    if second:
                        g = state.sb[c]
                        state.b[c] += state.steps[c] * g
                        state.sb[c] -= state.shrinks[c] * g * g
                    else:
                        state.b[c] += state.steps[c] * rule.bias
                        if state.v.size > 0:
                            state.timed[c] = state.clock[m] * state.steps[c]
                            state.v[c] += state.timed[c] * rule.bias
                state.clock[m] += share
                state.left[m] -= share
                waiting |= state.left[m] > 0.0
            if changed and second:
                add_curved(rows, i, state.steps, state.shrinks, state.w, state.s)
            elif changed:
                add_columns(rows, i, state.steps, state.w)
                if state.v.size > 0:
                    add_columns(rows, i, state.timed, state.u)


@compiled
def score_columns(rows: Any, index: Array, W: Array, b: Array, out: Array) -> None:
    """out_tc = w_c·x_i + b_c for i = index_t."""
    for t in range(index.size):
        scores = out[t]
        column_scores(rows, index[t], W, scores)
        for c in range(scores.size):
            scores[c] += b[c]
