"""The duality gap of a linear support vector machine, computed from its rows and α, with a bound on its own rounding.

The problem and the notation are those of `svm_dual`. Steps update w in the precision of the rows, and their rounding
adds up; a gap that relies on w = Σ α_i z_i is then too small. Here u = Σ α_i z_i is summed again in double precision,
the primal is that of the weights w as they are published, rounded to their dtype, and the dual that of α:

    gap = P(w) − D(α),   D(α) = Σ α_i − ½‖u‖² − ½Σ D_i α_i²

which bounds P(w) − min P for every w. To the gap is added what its own sums may have lost. In double precision, with
eps = 2⁻⁵² and rows of at most k stored values,

    |m_i − w·z_i| ≤ (k + 6)·eps·‖w‖‖x̂_i‖          ‖ũ − u‖ ≤ (n + 4)·eps·Σ α_i‖x̂_i‖

(N. Higham, "Accuracy and Stability of Numerical Algorithms", 2002, section 3.1, where eps/2 is the unit).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import Dense
from rosenblatt.compiled.row_targets import code_of, is_on
from rosenblatt.compiled.rows import add, add_class, dot, dots
from rosenblatt.learn.evaluation import Problem
from rosenblatt.objective.stochastic_visits import add_all

if TYPE_CHECKING:
    from rosenblatt.objective.svm_dual import Ascent

Array = np.ndarray[Any, Any]
EPS = float(np.finfo(np.float64).eps)
CURVE, CAP = 0, 1  # columns of `DualVariables.rows`: ‖x̂_i‖² and C_i
LOSS, ERROR = 0, 1


class Sums(NamedTuple):
    """u in double precision, in the layout of w, its intercepts, and Σ |α_i|·‖x̂_i‖ of each column."""

    u: Array
    b: Array
    spread: Array
    steps: Array  # scratch space of K values


class Published(NamedTuple):
    """w and b in double precision, and per unit of ‖x̂_i‖ how far a computed score may be from the exact one."""

    w: Array
    b: Array
    noise: Array
    scores: Array  # scratch space of K values


class Gap(NamedTuple):
    """Bounds that hold for the exact values."""

    relative: float  # an upper bound of (primal − dual)/primal
    primal: float
    dual: float


@compiled
def sum_one(sums: Sums, alpha: Array, data: Array, rows: Any, y: Array, index: Array, bias: float) -> None:
    """Add these rows' α_i z_i to u."""
    for i in index:
        a = alpha[i, 0]
        if a != 0.0:
            step = np.float64(y[i]) * a
            add(rows, i, step, sums.u)
            sums.b[0] += step * bias
            sums.spread[0] += a * math.sqrt(data[i, CURVE])


@compiled
def sum_many(
    sums: Sums, alpha: Array, data: Array, rows: Any, y: Array, index: Array, bias: float, together: bool
) -> None:
    """The same for K columns."""
    steps = sums.steps
    for i in index:
        moved, size = 0, math.sqrt(data[i, CURVE])
        for k in range(steps.size):
            a = alpha[i, k]
            steps[k] = a if together or is_on(y, i, k) else -a
            sums.b[k] += steps[k] * bias
            sums.spread[k] += abs(a) * size
            moved += a != 0.0
        if moved > 3:
            add_all(rows, i, steps, sums.u)
        elif moved > 0:
            for k in range(steps.size):
                if steps[k] != 0.0:
                    add_class(rows, i, steps[k], sums.u, k)


@compiled
def loss_of_row(m: float, error: float, cap: float, squared: bool, out: Array) -> None:
    """Add C ξ or C ξ², and how far it may be from that of the exact margin."""
    xi = max(0.0, 1.0 - m)
    if m - error > 1.0:
        return
    out[LOSS] += cap * (xi * xi if squared else xi)
    out[ERROR] += cap * (2.0 * xi * error + error * error if squared else error)


@compiled
def loss_one(of: Published, data: Array, rows: Any, y: Array, index: Array, squared: bool, out: Array) -> None:
    """Add the losses of these rows."""
    for i in index:
        m = np.float64(y[i]) * (dot(rows, i, of.w) + of.b[0])
        error = of.noise[0] * math.sqrt(data[i, CURVE]) + EPS * (1.0 + abs(m))
        loss_of_row(m, error, data[i, CAP], squared, out)


@compiled
def loss_many(of: Published, data: Array, rows: Any, y: Array, index: Array, squared: bool, out: Array) -> None:
    """The same for K columns, each against the rest."""
    for i in index:
        dots(rows, i, of.w, of.scores)
        size = math.sqrt(data[i, CURVE])
        for k in range(of.b.size):
            m = (1.0 if is_on(y, i, k) else -1.0) * (of.scores[k] + of.b[k])
            loss_of_row(m, of.noise[k] * size + EPS * (1.0 + abs(m)), data[i, CAP], squared, out)


@compiled
def loss_together(of: Published, data: Array, alpha: Array, rows: Any, y: Array, index: Array, out: Array) -> None:
    """Crammer and Singer; the error includes that of a row whose α_k do not add up to exactly 0."""
    for i in index:
        dots(rows, i, of.w, of.scores)
        true, best, largest, left, most = code_of(y, i), -np.inf, 1.0, 0.0, 0.0
        for k in range(of.b.size):
            f = of.scores[k] + of.b[k]
            best = max(best, f + (0.0 if k == true else 1.0))
            largest = max(largest, abs(f))
            left += alpha[i, k]
            most = max(most, of.noise[k])
        cap, size = data[i, CAP], most * math.sqrt(data[i, CURVE])
        out[LOSS] += cap * (best - of.scores[true] - of.b[true])
        out[ERROR] += cap * (2.0 * size + 4.0 * EPS * largest) + abs(left) * (1.0 + 2.0 * (largest + size))


def summed(problem: Problem, alpha: Array, data: Array, shape: tuple[int, ...], bias: float) -> Sums:
    """u, by a pass over the rows with α > 0."""
    K = alpha.shape[1]
    sums = Sums(np.zeros(shape), np.zeros(K), np.zeros(K), np.zeros(K))
    for index in problem.pieces(K):
        given = (sums, alpha, data, problem.rows, problem.truth, index, bias)
        if problem.scheme.single:
            sum_one(*given)
        else:
            sum_many(*given, problem.scheme.joint)
    return sums


def losses(problem: Problem, alpha: Array, data: Array, of: Published, squared: bool) -> Array:
    """The loss of the rows, and how far it may be from the exact one."""
    out = np.zeros(2)
    for index in problem.pieces(of.b.size):
        if problem.scheme.joint:
            loss_together(of, data, alpha, problem.rows, problem.truth, index, out)
        else:
            run = loss_one if problem.scheme.single else loss_many
            run(of, data, problem.rows, problem.truth, index, squared, out)
    return out


def duality_gap(ascent: Ascent, sums: Sums, w: Array, b: Array) -> Gap:
    """The gap between these weights, in the layout of u, and α, by a pass over all rows."""
    bias, across = ascent.how.bias, ascent.across
    w, b = np.ascontiguousarray(w, np.float64), b.astype(np.float64)
    length = np.sqrt(_squares(w, b, bias, across))  # a free b counts in the rounding of margins only
    counted = 0.0 if ascent.plan.free else bias
    of = Published(w, b, (ascent.longest + 6.0) * EPS * length, np.zeros(b.size))
    loss, error = ascent.losses(of).tolist()
    square = float(_squares(w, b, counted, across).sum())
    own = np.sqrt(_squares(sums.u, sums.b, counted, across))
    terms = ascent.size + ascent.parts - 1.0  # of a sum over shards of sums over rows
    off = (terms + 4.0) * EPS * sums.spread
    shortfall = float((off * (own + 0.5 * off)).sum())
    linear, quadratic = ascent.linear_terms()
    primal = 0.5 * square + loss
    dual = linear - quadratic - 0.5 * float(own @ own)
    rounding = (terms + w.size / b.size + 8.0) * EPS
    error += rounding * (primal + abs(linear) + quadratic + 0.5 * float(own @ own)) + shortfall
    if ascent.plan.free:  # what Σ y_i α_i ≠ 0 may gain: a best b has |b| ≤ 1 + max|w·x|, 2 + 2 max|w·x| of K together
        absolute, curve = ascent.alpha_bounds()
        farthest = math.sqrt(2.0 * (primal + error) * curve)
        left = np.abs(sums.b) / bias + (terms + 4.0) * EPS * absolute
        error += float(left.sum()) * (2.0 + 2.0 * farthest)
    gap = max(primal - dual, 0.0) + error
    least = primal - error
    relative = gap / least if least > 0.0 else 0.0 if gap == 0.0 else math.inf
    return Gap(relative, primal, dual)


def longest(problem: Problem) -> int:
    """The most stored values of a row."""
    rows = problem.rows
    if isinstance(rows, Dense):
        return int(rows.values.shape[1])
    return int(np.diff(rows.starts.astype(np.int64)).max(initial=0))


def _squares(w: Array, b: Array, bias: float, across: int | None) -> Array:
    """‖ŵ‖² of each column."""
    found = np.atleast_1d((w * w).sum(axis=across))
    return np.asarray(found + b * b / bias if bias else found)
