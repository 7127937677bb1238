"""The intercept of a support vector machine without a penalty on it.

The problem and the notation are those of `svm_dual`, without ½(b/B)². Its dual has the constraint Σ y_i α_i = 0 as
well, one per column. Passes ascend on the dual of a penalised problem whose penalty is centred again after each of them
(the method of multipliers: M. Hestenes, "Multiplier and gradient methods", JOTA 4, 1969):

    ½‖w‖² + ½((b − b₀)/B)² + Σ C_i ξ_i,   b = b₀ + B² Σ y_i α_i,   then b₀ ← b

so that Σ y_i α_i goes to 0. For the gap, the α of the heavier side are scaled until Σ y_i α_i = 0, and b is the best
one for w, by a search over the kinks of the loss. Of classes together (Crammer and Singer), Σ_i α_ik = 0 for each k:
what rows of class j take from class k is scaled, and b is that of the passes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rosenblatt.learn.best_intercept import best_intercept, even_sides
from rosenblatt.learn.models import score_many, score_one

if TYPE_CHECKING:
    from rosenblatt.objective.svm_dual import DualAscent

Array = np.ndarray[Any, Any]
SHARE = 0.3  # B² as a part of the mean of ‖x‖²: a larger one slows the passes, a smaller one b
MOST_ROUNDS = 200  # of scaling, of classes together


def sides_of(truth: Array, K: int, single: bool) -> Array:
    """(n, K): whether each row is on the positive side of each column."""
    if single:
        return np.asarray(truth[:, None] > 0)
    return np.asarray(truth != 0 if truth.ndim == 2 else truth[:, None] == np.arange(K))


def scores_without_intercept(ascent: DualAscent) -> Array:
    """(n, K): w_k·x of the rows that take part."""
    problem, duals = ascent.problem, ascent.duals
    out, begin = np.empty((problem.size, duals.b.size), np.float64), 0
    zero = np.zeros(duals.b.size)
    for index in problem.pieces(duals.b.size):
        part = np.empty((index.size, duals.b.size), duals.w.dtype)
        if ascent.scheme.single:
            score_one(problem.rows, index, duals.w, zero, part[:, 0])
        else:
            score_many(problem.rows, index, duals.w, zero, part)
        out[begin : begin + index.size] = part
        begin += index.size
    return out


def balanced(alpha: Array, truth: Array, joint: bool, single: bool) -> Array:
    """α with Σ y α = 0 in each column, by scaling some of them down."""
    K = alpha.shape[1]
    if joint:
        taken = np.zeros((K, K))  # of class j, by rows of class k
        np.add.at(taken, truth, -alpha)
        np.fill_diagonal(taken, 0.0)
        factors = _circulation(taken)[truth]
        found = alpha * factors
        rows = np.arange(truth.size)
        found[rows, truth] = 0.0
        found[rows, truth] = -found.sum(axis=1)
        return np.asarray(found)
    return even_sides(alpha, sides_of(truth, K, single))


def balance(ascent: DualAscent) -> None:
    """Scale the α of an ascent, so that Σ y α = 0."""
    problem, duals, scheme = ascent.problem, ascent.duals, ascent.scheme
    index = problem.index(0, problem.size)
    duals.alpha[index] = balanced(duals.alpha[index], problem.truth[index], scheme.joint, scheme.single)


def _circulation(flow: Array) -> Array:
    """Factors of at most 1 that make what enters each class what leaves it."""
    factors = np.ones_like(flow)
    for _ in range(MOST_ROUNDS):
        for k in range(len(flow)):
            now = flow * factors
            leaves, enters = now[k].sum(), now[:, k].sum()
            if leaves > enters:
                factors[k] *= enters / leaves
            elif enters > leaves:
                factors[:, k] *= leaves / enters
        now = flow * factors
        if np.abs(now.sum(axis=0) - now.sum(axis=1)).max() <= 1e-15 * now.sum():
            break
    return factors


def scanned_gap(ascent: DualAscent) -> float:
    """The gap of w and the best b, and of α scaled, by a scan of all rows."""
    problem, duals, scheme = ascent.problem, ascent.duals, ascent.scheme
    index = problem.index(0, problem.size)
    f, alpha, truth = scores_without_intercept(ascent), duals.alpha[index], problem.truth[index]
    caps = duals.rows[index, 1]
    kept = balanced(alpha, truth, scheme.joint, scheme.single)
    if scheme.joint:
        at = np.arange(truth.size)
        G = f + duals.b + 1.0
        G[at, truth] -= 1.0
        xi = G.max(axis=1) - G[at, truth]
        signed, change, linear = alpha, kept - alpha, kept[at, truth].sum()
        loss = float(caps @ xi)
    else:
        on = sides_of(truth, duals.b.size, scheme.single)
        side = np.where(on, 1.0, -1.0)
        b = intercepts(ascent, f)
        xi = np.maximum(0.0, 1.0 - side * (f + b))
        loss = float((caps[:, None] * (xi * xi if ascent.plan.squared else xi)).sum())
        signed, change, linear = side * alpha, side * (kept - alpha), kept.sum()
        if ascent.plan.squared:
            linear -= float(((kept * kept).sum(axis=1) / (4.0 * np.maximum(caps, 1e-300))).sum())
    moved = np.abs(change).sum(axis=1) @ np.sqrt(duals.rows[index, 0])  # at least ‖Σ change·x‖
    gap = loss + float(((signed + change) * f).sum()) - float(linear)
    return max(gap, 0.0) + 0.5 * float(moved) ** 2


def intercepts(ascent: DualAscent, f: Array | None = None) -> Array:
    """The best b of each column for w, whose scores are f; of classes together, that of the passes."""
    problem, duals = ascent.problem, ascent.duals
    if ascent.scheme.joint:
        return duals.b.copy()
    f = scores_without_intercept(ascent) if f is None else f
    index = problem.index(0, problem.size)
    on, caps = sides_of(problem.truth[index], duals.b.size, ascent.scheme.single), duals.rows[index, 1]
    return np.array([best_intercept(f[:, k], on[:, k], caps, ascent.plan.squared) for k in range(duals.b.size)])
