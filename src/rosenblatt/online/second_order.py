"""Second-order learners: AROW and the second-order perceptron, which also learn a covariance of the weights.

A class k has weights w_k and a covariance Σ_k, full (d+1, d+1) with the bias as the last feature, or diagonal.
A bias feature of value c is one of value 1 whose weight has c² times the initial variance (`companions`).
On a row whose margin m is too small, with g = Σx̂, q = x̂ᵀg and β = 1/(q + r):

    w += (1 − m)·β·y·g          Σ −= β·g·gᵀ

AROW does so if m < 1; the second-order perceptron, with r = 1, on mistakes (`rules`). With many classes two change,
each with its own Σ, and q is the sum over both. A visit of weight s < 1 counts as an observation with s times the
precision: β = s/(s·q + r).

The diagonal second-order perceptron stores v and the diagonal a of A, and predicts with f = Σ_j x_j v_j/a_j;
v += y x, a += x². (If f used a_j + x_j², the diagonal of A + xxᵀ, its sign could differ from that of the plane.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import callee, verb
from rosenblatt.compiled.prefetching import prefetch
from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.compiled.row_targets import code_of, is_on
from rosenblatt.compiled.rows import FETCHED, FOUR, FOURS, ONE, THREE, TWO, Rows, dot, dots
from rosenblatt.compiled.tie_rule import rival
from rosenblatt.learn.counters import Count
from rosenblatt.online.first_order import tie_stands
from rosenblatt.online.rules import SECOND_ORDER, Encoded, violates
from rosenblatt.planes.update_log import UpdateLog

Array = np.ndarray[Any, Any]
PAIRWISE, BY_COLUMN, SINGLE = range(3)  # two classes change; columns are separate; one column, positive for code 1


class Diagonal(NamedTuple):
    """w and the diagonal s of Σ (AROW), or v and the diagonal of A, in the layout described in `rows`."""

    w: Array
    b: Array
    s: Array
    sb: Array
    scores: Array
    mode: int


class AROWPlane(NamedTuple):
    """Like `Diagonal`, for AROW with one plane: w and s are (d,), which saves a third to a half of the time."""

    w: Array
    b: Array
    s: Array
    sb: Array


class Full(NamedTuple):
    """W (K, d+1) and Σ (K, d+1, d+1); x holds one augmented row and g = Σx of each class."""

    w: Array
    s: Array
    x: Array
    g: Array
    scores: Array
    mode: int


# -- operations on the diagonal: by class, (K, d), for dense rows; by feature, (d, K), for sparse rows ----------------


def _quadratic_form_dense(rows: Rows, i: Any, S: Array, k: Any) -> Any:
    x, s = rows.values[i], S[k]
    total = 0.0
    for j in range(x.size):
        total += s[j] * x[j] * x[j]
    return total


def _quadratic_form_sparse(rows: Rows, i: Any, S: Array, k: Any) -> Any:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    total = 0.0
    for j in range(x.size):
        total += S[column[j], k] * x[j] * x[j]
    return total


quadratic_form = verb({Dense: _quadratic_form_dense, Sparse: _quadratic_form_sparse})  # q = xᵀ diag(s_k) x


def _scaled_dot_dense(rows: Rows, i: Any, V: Array, A: Array, k: Any) -> Any:
    x, v, a = rows.values[i], V[k], A[k]
    total = 0.0
    for j in range(x.size):
        total += x[j] * v[j] / a[j]
    return total


def _scaled_dot_sparse(rows: Rows, i: Any, V: Array, A: Array, k: Any) -> Any:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    total = 0.0
    for j in range(x.size):
        c = column[j]
        total += x[j] * V[c, k] / A[c, k]
    return total


scaled_dot = verb({Dense: _scaled_dot_dense, Sparse: _scaled_dot_sparse})  # f = Σ_j x_j v_j/a_j of class k


def _rank_one_dense(rows: Rows, i: Any, alpha: Any, beta: Any, W: Array, S: Array, k: Any, curve: Any) -> None:
    x, w, s = rows.values[i], W[k], S[k]
    for j in range(x.size):
        if curve:
            g = s[j] * x[j]
            w[j] += alpha * g
            s[j] -= beta * g * g
        else:
            w[j] += alpha * x[j]
            s[j] += beta * x[j] * x[j]


def _rank_one_sparse(rows: Rows, i: Any, alpha: Any, beta: Any, W: Array, S: Array, k: Any, curve: Any) -> None:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    for j in range(x.size):
        c = column[j]
        if curve:
            g = S[c, k] * x[j]
            W[c, k] += alpha * g
            S[c, k] -= beta * g * g
        else:
            W[c, k] += alpha * x[j]
            S[c, k] += beta * x[j] * x[j]


rank_one_step = verb(
    {Dense: _rank_one_dense, Sparse: _rank_one_sparse}
)  # AROW (curve): w += α Σx, Σ −= β (Σx)²; else v += α x, a += β x²


# -- operations on the diagonals of two classes, in one pass over the row ---------------------------------------------


def _fetch_column_dense(rows: Rows, i: Any, S: Array, k: Any) -> None:
    pass  # every row uses all of S


def _fetch_column_sparse(rows: Rows, i: Any, S: Array, k: Any) -> None:
    K = np.uint64(S.shape[1])
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        prefetch(S, np.uint64(rows.columns[j]) * K + np.uint64(k), False)


fetch_column = verb({Dense: _fetch_column_dense, Sparse: _fetch_column_sparse})  # what row i uses of column k


def _quadratic_pair_dense(rows: Rows, i: Any, S: Array, a: Any, b: Any) -> Any:
    return quadratic_form(rows, i, S, a) + quadratic_form(rows, i, S, b)


def _quadratic_pair_sparse(rows: Rows, i: Any, S: Array, a: Any, b: Any) -> Any:
    x, column = rows.values, rows.columns
    k, m = np.uint64(a), np.uint64(b)
    p = q = S.dtype.type(0)
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        c = column[j]
        p += S[c, k] * x[j] * x[j]
        q += S[c, m] * x[j] * x[j]
    return np.float64(p) + np.float64(q)


quadratic_pair = verb({Dense: _quadratic_pair_dense, Sparse: _quadratic_pair_sparse})  # xᵀ diag(s_a) x + xᵀ diag(s_b) x


def _arow_pair_dense(rows: Rows, i: Any, alpha: Any, beta: Any, W: Array, S: Array, a: Any, b: Any) -> None:
    rank_one_step(rows, i, alpha, beta, W, S, a, True)
    rank_one_step(rows, i, -alpha, beta, W, S, b, True)


def _arow_pair_sparse(rows: Rows, i: Any, alpha: Any, beta: Any, W: Array, S: Array, a: Any, b: Any) -> None:
    x, column = rows.values, rows.columns
    k, m = np.uint64(a), np.uint64(b)
    p, q = W.dtype.type(alpha), S.dtype.type(beta)
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        c = column[j]
        g, h = S[c, k] * x[j], S[c, m] * x[j]
        W[c, k] += p * g
        W[c, m] -= p * h
        S[c, k] -= q * g * g
        S[c, m] -= q * h * h


arow_pair = verb({Dense: _arow_pair_dense, Sparse: _arow_pair_sparse})  # α for class a, −α for class b


# -- operations on one plane, w and s (d,) ----------------------------------------------------------------------------


def _variance_dense(rows: Rows, i: Any, s: Array) -> Any:
    x = rows.values[i]
    total = s.dtype.type(0)
    for j in range(x.size):
        total += s[j] * x[j] * x[j]
    return total


def _variance_sparse(rows: Rows, i: Any, s: Array) -> Any:
    x, column = rows.values, rows.columns
    j, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    a = b = c = e = zero = s.dtype.type(0)
    if j == end:
        return zero
    whole, last = j + ((end - j) & FOURS), end - ONE
    while j < whole:
        a += s[column[j]] * x[j] * x[j]
        b += s[column[j + ONE]] * x[j + ONE] * x[j + ONE]
        c += s[column[j + TWO]] * x[j + TWO] * x[j + TWO]
        e += s[column[j + THREE]] * x[j + THREE] * x[j + THREE]
        j += FOUR
    # The remainder without a loop, as in `rows`.
    k, m, n = min(j, last), min(j + ONE, last), min(j + TWO, last)
    p, q, r = s[column[k]] * x[k] * x[k], s[column[m]] * x[m] * x[m], s[column[n]] * x[n] * x[n]
    a += p if j <= last else zero
    b += q if j + ONE <= last else zero
    c += r if j + TWO <= last else zero
    return (a + b) + (c + e)


variance = verb({Dense: _variance_dense, Sparse: _variance_sparse})  # q = xᵀ diag(s) x


def _arow_step_dense(rows: Rows, i: Any, alpha: Any, beta: Any, w: Array, s: Array) -> None:
    x, p, q = rows.values[i], w.dtype.type(alpha), w.dtype.type(beta)
    for j in range(x.size):
        g = s[j] * x[j]
        w[j] += p * g
        s[j] -= q * g * g


def _arow_step_sparse(rows: Rows, i: Any, alpha: Any, beta: Any, w: Array, s: Array) -> None:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    p, q = w.dtype.type(alpha), w.dtype.type(beta)
    for j in range(x.size):
        k = column[j]
        g = s[k] * x[j]
        w[k] += p * g
        s[k] -= q * g * g


arow_step = verb({Dense: _arow_step_dense, Sparse: _arow_step_sparse})  # w += α Σx, Σ −= β (Σx)²


def _scatter_dense(rows: Rows, i: Any, x: Array) -> None:
    row = rows.values[i]
    for j in range(row.size):
        x[j] = row[j]


def _scatter_sparse(rows: Rows, i: Any, x: Array) -> None:
    x[: x.size - 1] = 0
    for j in range(np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])):
        x[rows.columns[j]] = rows.values[j]


scatter = verb({Dense: _scatter_dense, Sparse: _scatter_sparse})  # x_i as a dense row, before the bias feature


# -- operations on a learner: its scores, q of a class, and the change of a class -------------------------------------


def _scores_diagonal(learner: Diagonal, rows: Rows, i: Any, rule: Encoded) -> None:
    scores, bias = learner.scores, rule.bias
    if rule.code == SECOND_ORDER:
        for k in range(scores.size):
            scores[k] = scaled_dot(rows, i, learner.w, learner.s, k) + bias * learner.b[k] / learner.sb[k]
    else:
        dots(rows, i, learner.w, scores)
        for k in range(scores.size):
            scores[k] += learner.b[k]


def _scores_full(learner: Full, rows: Rows, i: Any, rule: Encoded) -> None:
    x = learner.x
    scatter(rows, i, x)
    x[x.size - 1] = rule.bias
    for k in range(learner.scores.size):
        total = 0.0
        for j in range(x.size):
            total += learner.w[k, j] * x[j]
        learner.scores[k] = total


def _q_diagonal(learner: Diagonal, rows: Rows, i: Any, k: Any, rule: Encoded) -> Any:
    return quadratic_form(rows, i, learner.s, k) + rule.bias * learner.sb[k]


def _q_full(learner: Full, rows: Rows, i: Any, k: Any, rule: Encoded) -> Any:
    x, g, s = learner.x, learner.g[k], learner.s[k]
    total = 0.0
    for row in range(x.size):
        product = 0.0
        for j in range(x.size):
            product += s[row, j] * x[j]
        g[row] = product
        total += product * x[row]
    return total


def _change_diagonal(
    learner: Diagonal, rows: Rows, i: Any, k: Any, alpha: Any, beta: Any, share: Any, rule: Encoded
) -> None:
    if rule.code == SECOND_ORDER:
        side = share if alpha > 0.0 else -share
        rank_one_step(rows, i, side, share, learner.w, learner.s, k, False)
        learner.b[k] += side * rule.bias
        learner.sb[k] += share * rule.bias
    else:
        rank_one_step(rows, i, alpha, beta, learner.w, learner.s, k, True)
        g = learner.sb[k] * rule.bias
        learner.b[k] += alpha * g
        learner.sb[k] -= beta * g * g


def _change_full(learner: Full, rows: Rows, i: Any, k: Any, alpha: Any, beta: Any, share: Any, rule: Encoded) -> None:
    w, g, s = learner.w[k], learner.g[k], learner.s[k]
    for row in range(g.size):
        w[row] += alpha * g[row]
        for j in range(g.size):
            s[row, j] -= beta * g[row] * g[j]


scores_of = verb({Diagonal: _scores_diagonal, Full: _scores_full})  # the scores of every class, into learner.scores


q_of = verb({Diagonal: _q_diagonal, Full: _q_full})  # q = x̂ᵀΣ_k x̂


change = verb({Diagonal: _change_diagonal, Full: _change_full})  # w_k += α g, Σ_k −= β g gᵀ


def _q_pair_diagonal(learner: Diagonal, rows: Rows, i: Any, a: Any, b: Any, rule: Encoded) -> Any:
    return quadratic_pair(rows, i, learner.s, a, b) + rule.bias * (learner.sb[a] + learner.sb[b])


def _q_pair_full(learner: Full, rows: Rows, i: Any, a: Any, b: Any, rule: Encoded) -> Any:
    return q_of(learner, rows, i, a, rule) + q_of(learner, rows, i, b, rule)


def _change_pair_diagonal(
    learner: Diagonal, rows: Rows, i: Any, a: Any, b: Any, alpha: Any, beta: Any, share: Any, rule: Encoded
) -> None:
    if rule.code == SECOND_ORDER:
        change(learner, rows, i, a, alpha, beta, share, rule)
        change(learner, rows, i, b, -alpha, beta, share, rule)
    else:
        arow_pair(rows, i, alpha, beta, learner.w, learner.s, a, b)
        g, h = learner.sb[a] * rule.bias, learner.sb[b] * rule.bias
        learner.b[a] += alpha * g
        learner.b[b] -= alpha * h
        learner.sb[a] -= beta * g * g
        learner.sb[b] -= beta * h * h


def _change_pair_full(
    learner: Full, rows: Rows, i: Any, a: Any, b: Any, alpha: Any, beta: Any, share: Any, rule: Encoded
) -> None:
    change(learner, rows, i, a, alpha, beta, share, rule)
    change(learner, rows, i, b, -alpha, beta, share, rule)


# The same for two classes: the sum of their q; α for class a, −α for class b.
q_pair = verb({Diagonal: _q_pair_diagonal, Full: _q_pair_full})
change_pair = verb({Diagonal: _change_pair_diagonal, Full: _change_pair_full})


# -- what a visit does -----------------------------------------------------------------------------------------------


@callee
def _lack(rule: Encoded, margin: float, share: float, tally: Array) -> float:
    """How much of the margin is missing, added to the counters; below 0 if no update is needed."""
    lack = rule.high - margin
    if lack < 0.0 or (lack == 0.0 and rule.code != SECOND_ORDER):
        return -1.0
    if violates(rule, margin, lack):
        tally[Count.VIOLATIONS] += 1.0
    tally[Count.LOSS] += share * lack
    return lack


def _fetch_variances_diagonal(learner: Diagonal, rows: Rows, i: Any, k: Any) -> None:
    if learner.s.size > FETCHED:
        fetch_column(rows, i, learner.s, k)


def _fetch_variances_full(learner: Full, rows: Rows, i: Any, k: Any) -> None:
    pass


fetch_variances = verb({Diagonal: _fetch_variances_diagonal, Full: _fetch_variances_full})  # of class k, for row i


def visit_second_order(
    learner: Any, rows: Any, y: Array, i: Any, share: float, rule: Encoded, tally: Array, log: UpdateLog
) -> bool:
    """Visit row i; returns whether the learner changed."""
    if learner.mode == PAIRWISE:  # variances are prefetched while scores are computed
        fetch_variances(learner, rows, i, code_of(y, i))
    scores_of(learner, rows, i, rule)
    scores, changed = learner.scores, False
    if learner.mode == PAIRWISE:
        true = code_of(y, i)
        wrong = rival(scores, true)
        margin = np.float64(scores[true]) - np.float64(scores[wrong])
        if tie_stands(rule, rule.high - margin, true, wrong) or _lack(rule, margin, share, tally) < 0.0:
            return False
        beta = share / (share * q_pair(learner, rows, i, true, wrong, rule) + rule.extra)
        change_pair(learner, rows, i, true, wrong, (1.0 - margin) * beta, beta, share, rule)
        tally[Count.UPDATES] += 1.0
        return True
    for k in range(scores.size):
        side = 1.0 if is_on(y, i, k + (1 if learner.mode == SINGLE else 0)) else -1.0
        margin = side * np.float64(scores[k])
        if _lack(rule, margin, share, tally) < 0.0:
            continue
        beta = share / (share * q_of(learner, rows, i, k, rule) + rule.extra)
        change(learner, rows, i, k, side * (1.0 - margin) * beta, beta, share, rule)
        tally[Count.UPDATES] += 1.0
        changed = True
    return changed


def visit_arow_plane(
    learner: AROWPlane, rows: Any, y: Array, i: Any, share: float, rule: Encoded, tally: Array, log: UpdateLog
) -> bool:
    """AROW with a diagonal Σ for two classes, y = ±1."""
    side = np.float64(y[i])
    margin = side * np.float64(dot(rows, i, learner.w) + learner.b[0])
    if _lack(rule, margin, share, tally) < 0.0:
        return False
    beta = share / (share * (np.float64(variance(rows, i, learner.s)) + rule.bias * learner.sb[0]) + rule.extra)
    alpha = side * (1.0 - margin) * beta
    arow_step(rows, i, alpha, beta, learner.w, learner.s)
    g = learner.sb[0] * rule.bias
    learner.b[0] += alpha * g
    learner.sb[0] -= beta * g * g
    tally[Count.UPDATES] += 1.0
    return True
