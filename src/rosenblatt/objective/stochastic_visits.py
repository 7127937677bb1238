"""Stochastic gradient descent: what one visit does to a learner of mean loss plus penalty.

The problem: min over W, b of Σ_i s_i ℓ(x_i, y_i)/Σ s_i + λ₁Σ|w| + ½λ₂Σw². A visit to row i at time t, with the step
size η = η₀/(1 + ct)^p and g_k = ∂ℓ/∂f_k, is

    w_k ← (1 − ηλ₂)w_k − ηg_k x          b_k ← b_k − η_b g_k          u ← u + ηλ₁

followed by moving every weight towards 0, but not across it, by its debt: u minus the penalty applied to it so far
(the cumulative penalty of Tsuruoka, Tsujii and Ananiadou 2009: a weight at 0 stays there until its gradients outweigh
its debt, so that noise does not move it; truncated gradient, Langford, Li and Zhang 2009, keeps no debt).

Only the features of the row are touched. With w = s·v the decay is s ← (1 − ηλ₂)s (Bottou 2010; Pegasos); the L1
penalty of v, U = Σ ηλ₁/s, is applied lazily, when a row next contains the feature, with the same result as if it had
been applied at every visit. q holds the penalty applied to v so far, with its sign.

    DescentPlane   w (d,):        two classes, or regression
    DescentPlanes  W, K columns:  one-vs-rest or labels, each column with its own loss; or softmax,
                                  ℓ = ln Σ_k e^{f_k} − f_y, over all columns
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import compiled, verb
from rosenblatt.compiled.row_arrays import Dense, Sparse, norm
from rosenblatt.compiled.row_targets import code_of, is_on
from rosenblatt.compiled.rows import ONE, add, dot, dots
from rosenblatt.learn.counters import Count
from rosenblatt.learn.sweep import sweep_with
from rosenblatt.objective.compiled_losses import loss_slope, loss_value

Array = np.ndarray[Any, Any]
SMALLEST_SCALE = 1e-4  # below it s is multiplied into v, so that float32 keeps its precision
FIXED, ROOT, HARMONIC = range(3)  # p = 0, ½, 1
MARGIN, RESIDUAL, SOFTMAX = range(3)


class DescentSettings(NamedTuple):
    """A loss, a penalty and a schedule, encoded for compiled code."""

    code: int  # the loss
    width: float
    kind: int  # MARGIN, RESIDUAL or SOFTMAX
    capped: bool  # whether the slope is unbounded and steps are limited: see `capped_step`
    l1: float
    l2: float
    eta: float
    fade: float  # c
    power: int  # p
    bias: float  # 1, or 0 without intercept
    bias_eta: float  # η₀ and c of the intercept, which has no penalty for a schedule to rely on
    bias_fade: float


class DescentPlane(NamedTuple):
    """w = s·v; `scale` holds s and U; q, in the layout of v, is empty if λ₁ = 0."""

    v: Array
    all: Array  # v and q as arrays of two dimensions
    debts: Array
    b: Array
    q: Array
    scale: Array


class DescentPlanes(NamedTuple):
    """The same for K columns, which share s and U."""

    v: Array
    all: Array
    debts: Array
    b: Array
    q: Array
    scale: Array
    scores: Array


# -- operations on a row and all columns -----------------------------------------------------------------------------


def _add_all_dense(rows: Any, i: Any, steps: Array, W: Array) -> None:
    x = rows.values[i]
    for k in range(W.shape[0]):
        w, size = W[k], W.dtype.type(steps[k])
        if size != 0.0:
            for j in range(x.size):
                w[j] += size * x[j]


def _add_all_sparse(rows: Any, i: Any, steps: Array, W: Array) -> None:
    start, end = np.uint64(rows.starts[i]), np.uint64(rows.starts[i + ONE])
    x, column = rows.values[start:end], rows.columns[start:end]
    for j in range(x.size):
        w, a = W[column[j]], W.dtype.type(x[j])
        for k in range(w.size):
            w[k] += a * steps[k]


add_all = verb({Dense: _add_all_dense, Sparse: _add_all_sparse})  # w_k += steps_k·x_i for every column k


@compiled
def pulled(v: float, q: float, U: float) -> float:
    """The value of v after its debt is applied, not across 0."""
    if v > 0.0:
        return max(v - (U + q), 0.0)
    return min(v + (U - q), 0.0) if v < 0.0 else v


@compiled
def _catch_up(v: Array, q: Array, U: float) -> None:
    for j in range(v.size):
        before = np.float64(v[j])
        v[j] = pulled(before, q[j], U)
        q[j] += v[j] - before


def _catch_up_one_dense(rows: Any, i: Any, v: Array, q: Array, U: float) -> None:
    _catch_up(v, q, U)


def _catch_up_one_sparse(rows: Any, i: Any, v: Array, q: Array, U: float) -> None:
    for j in rows.columns[np.uint64(rows.starts[i]) : np.uint64(rows.starts[i + ONE])]:
        before = np.float64(v[j])
        v[j] = pulled(before, q[j], U)
        q[j] += v[j] - before


def _catch_up_many_dense(rows: Any, i: Any, v: Array, q: Array, U: float) -> None:
    for k in range(v.shape[0]):
        _catch_up(v[k], q[k], U)


def _catch_up_many_sparse(rows: Any, i: Any, v: Array, q: Array, U: float) -> None:
    for j in rows.columns[np.uint64(rows.starts[i]) : np.uint64(rows.starts[i + ONE])]:
        _catch_up(v[j], q[j], U)


# Apply the outstanding L1 penalty to the weights of row i's features.
catch_up_one = verb({Dense: _catch_up_one_dense, Sparse: _catch_up_one_sparse})
catch_up_many = verb({Dense: _catch_up_many_dense, Sparse: _catch_up_many_sparse})


# -- a visit ---------------------------------------------------------------------------------------------------------


@compiled
def rate(settings: DescentSettings, eta: float, fade: float, t: float) -> float:
    """η at time t."""
    if settings.power == FIXED:
        return eta
    if settings.power == ROOT:
        return eta / math.sqrt(1.0 + fade * t)
    return eta / (1.0 + fade * t)


@compiled
def bias_share(settings: DescentSettings, t: float) -> float:
    """The intercept's step size relative to that of the weights."""
    if settings.bias == 0.0:
        return 0.0
    return rate(settings, settings.bias_eta, settings.bias_fade, t) / rate(settings, settings.eta, settings.fade, t)


@compiled
def apply_scale_and_debts(learner: Any) -> None:
    """Apply all debts and multiply s into v, so that v = w for all features; debts are rescaled too."""
    s, U = learner.scale[0], learner.scale[1]
    V, Q = learner.all, learner.debts
    for a in range(V.shape[0]):
        w = V[a]
        if Q.size > 0:
            _catch_up(w, Q[a], U)
            for c in range(w.size):
                Q[a, c] *= s
        for c in range(w.size):
            w[c] *= s
    learner.scale[0], learner.scale[1] = 1.0, s * U


@compiled
def decay(learner: Any, settings: DescentSettings, eta: float) -> None:
    """Multiply s by 1 − ηλ₂, but not by less than 0: a step size above 1/λ₂ would reverse w."""
    learner.scale[0] *= max(1.0 - eta * settings.l2, 0.0)
    if learner.scale[0] < SMALLEST_SCALE:
        apply_scale_and_debts(learner)


@compiled
def partial(settings: DescentSettings, f: float, y: float) -> tuple[float, float]:
    """ℓ and ∂ℓ/∂f of one column; y = ±1, or a number."""
    if settings.kind == RESIDUAL:
        return loss_value(settings.code, f - y, settings.width), loss_slope(settings.code, f - y, settings.width)
    return loss_value(settings.code, y * f, settings.width), y * loss_slope(settings.code, y * f, settings.width)


@compiled
def capped_step(settings: DescentSettings, step: float, f: float, reach: float) -> float:
    """The step for an unbounded slope, limited so that f changes by at most 1 + |f|; reach = ‖x̂‖²."""
    most = (1.0 + abs(f)) / max(reach, 1e-300)
    return min(max(step, -most), most)


def visit_descent(
    learner: DescentPlane, rows: Any, y: Array, i: Any, share: float, settings: DescentSettings, tally: Array, log: Any
) -> bool:
    """Two classes, y = ±1, or regression."""
    eta = share * rate(settings, settings.eta, settings.fade, tally[Count.CLOCK])
    if learner.q.size > 0:
        catch_up_one(rows, i, learner.v, learner.q, learner.scale[1])
    f = learner.scale[0] * np.float64(dot(rows, i, learner.v)) + np.float64(learner.b[0])
    loss, g = partial(settings, f, np.float64(y[i]))
    tally[Count.LOSS] += share * (loss if abs(f) < np.inf else np.nan)  # a loss may be 0 where f is NaN
    decay(learner, settings, eta)
    if g != 0.0:
        step = eta * g
        if settings.capped:
            step = capped_step(settings, step, f, norm(rows, i) + settings.bias)
        add(rows, i, -step / learner.scale[0], learner.v)
        learner.b[0] -= bias_share(settings, tally[Count.CLOCK]) * step
        tally[Count.UPDATES] += 1.0
    if learner.q.size > 0:
        learner.scale[1] += eta * settings.l1 / learner.scale[0]
    return True


@compiled
def softmax_slopes(scores: Array, true: Any) -> float:
    """Turn scores into P(k|x) − [k = y], in place; returns −ln P(y|x)."""
    top = scores[0]
    for k in range(1, scores.size):
        top = max(top, scores[k])
    at, total = scores[true] - top, 0.0
    for k in range(scores.size):
        scores[k] = math.exp(scores[k] - top)
        total += scores[k]
    for k in range(scores.size):
        scores[k] /= total
    scores[true] -= 1.0
    return float(math.log(total) - at)


def visit_descent_many(
    learner: DescentPlanes, rows: Any, y: Array, i: Any, share: float, settings: DescentSettings, tally: Array, log: Any
) -> bool:
    """Many columns, each with its own loss, or softmax over all of them."""
    eta, scores = share * rate(settings, settings.eta, settings.fade, tally[Count.CLOCK]), learner.scores
    if learner.q.size > 0:
        catch_up_many(rows, i, learner.v, learner.q, learner.scale[1])
    dots(rows, i, learner.v, scores)
    for k in range(scores.size):
        scores[k] = learner.scale[0] * scores[k] + learner.b[k]
    if settings.kind == SOFTMAX:
        tally[Count.LOSS] += share * softmax_slopes(scores, code_of(y, i))
        for k in range(scores.size):
            scores[k] *= eta
    else:
        reach = norm(rows, i) + settings.bias if settings.capped else 0.0
        for k in range(scores.size):
            f = np.float64(scores[k])
            loss, g = partial(settings, f, 1.0 if is_on(y, i, k) else -1.0)
            tally[Count.LOSS] += share * (loss if abs(f) < np.inf else np.nan)
            scores[k] = capped_step(settings, eta * g, f, reach) if settings.capped else eta * g
    decay(learner, settings, eta)
    shift = bias_share(settings, tally[Count.CLOCK])
    for k in range(scores.size):
        learner.b[k] -= shift * scores[k]
        scores[k] /= -learner.scale[0]
    add_all(rows, i, scores, learner.v)
    if learner.q.size > 0:
        learner.scale[1] += eta * settings.l1 / learner.scale[0]
    tally[Count.UPDATES] += 1.0
    return True


# Inlined, because a call would cost more than a short row.
sweep = sweep_with(verb({DescentPlane: visit_descent, DescentPlanes: visit_descent_many}, inline="always"))
