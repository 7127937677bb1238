"""Ascent on the dual of a support vector machine, two rows at a time.

    maximise Σ α_i − ½ Σ α_i α_j y_i y_j K̂_ij,   0 ≤ α_i ≤ limit_i;   with β = yα the gradient is r = y − f

The first row of a pair is the one with the largest |r| that its box allows, the second the one with which the Newton
step gains most (second-order selection: Fan, Chen and Lin, JMLR 6, 2005, there for a dual with an equality constraint).
Pairs matter because of the 1 in K̂ = K + 1, which couples all rows: a step in one coordinate alone moves b for all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from rosenblatt.compiling import OPTIONS, compiled, vectorised

Array = np.ndarray[Any, Any]
CHUNK = 512  # rows among which the place of a maximum is searched
SINGULAR = 1e-12  # a determinant below this part of the product of its diagonal is rounding


@compiled
def beta_room(y: float, alpha: float, limit: float) -> tuple[float, float]:
    """How far β = yα may move down (≤ 0) and up (≥ 0)."""
    if y > 0.0:
        return -alpha, limit - alpha
    return alpha - limit, alpha


@compiled
def clipped(step: float, low: float, high: float) -> float:
    """The step within its room."""
    return min(max(step, low), high)


@compiled
def pair_step(a: float, b: float, c: float, r: float, s: float, box: tuple[float, float, float, float]) -> Any:
    """The best (u, v) in a box: maximises ru + sv − ½(au² + 2cuv + bv²)."""
    low, high, down, up = box
    det = a * b - c * c
    u, v = 0.0, 0.0
    if det > SINGULAR * a * b:
        u, v = (b * r - c * s) / det, (a * s - c * r) / det
        if low <= u <= high and down <= v <= up:
            return u, v
    best, p, q = 0.0, 0.0, 0.0
    for side in range(4):  # on each side of the box the problem has one variable
        if side < 2:
            u = low if side == 0 else high
            v = clipped((s - c * u) / b, down, up) if b > 0.0 else 0.0
        else:
            v = down if side == 2 else up
            u = clipped((r - c * v) / a, low, high) if a > 0.0 else 0.0
        value = r * u + s * v - 0.5 * (a * u * u + 2.0 * c * u * v + b * v * v)
        if value > best:
            best, p, q = value, u, v
    return p, q


@intrinsic
def _bits(_: Any, value: Any) -> Any:  # pragma: no cover
    from llvmlite import ir

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), emit


def ordered(value: float) -> Any:
    """Something that orders values ≥ 0 alike; compiled: their bits, since a maximum of integers becomes vector code."""
    return value


@overload(ordered, strict=False, inline="always", jit_options=OPTIONS)
def _ordered_compiled(value: Any) -> Any:  # pragma: no cover
    return lambda value: _bits(value)  # type: ignore[call-arg]


class Violations(NamedTuple):
    """r = y − f of some rows, whether β may go up (1 or 0) or down (−1 or 0), and room for a number per row."""

    r: Array
    up: Array
    down: Array
    gains: Array


@vectorised
def _move(r: Array, up: Array, down: Array, p: Array, q: Array, u: float, v: float) -> Any:
    """Subtract u·p + v·q from r; the largest violation afterwards, as `ordered` has it."""
    most = ordered(0.0)
    for k in range(r.size):
        s = r[k] - u * p[k] - v * q[k]
        r[k] = s
        above, below = s * up[k], s * down[k]
        most = max(most, ordered(above if above > below else below))
    return most


@vectorised
def _gains(r: Array, up: Array, down: Array, gains: Array, p: Array, diagonal: Array, a: float, t: float) -> Any:
    """What the Newton step of each row with the row of diagonal a, gradient t and kernel row p gains; the most."""
    most = ordered(0.0)
    for k in range(r.size):
        b, c, s = diagonal[k], p[k], r[k]
        det = a * b - c * c
        u, v = (b * t - c * s) * t, a * s - c * t  # the step of the other row times t, of this row; both times det
        regular, allowed = det > SINGULAR * a * b, (v * up[k] > 0.0) | (v * down[k] > 0.0)
        gain = (u + v * s) / (det if regular else 1.0)
        gain = gain if regular & allowed & (u > 0.0) & (gain > 0.0) else 0.0
        gains[k] = gain
        most = max(most, ordered(gain))
    return most


@compiled
def _largest_violation(rows: Violations, p: Array, q: Array, u: float, v: float) -> int:
    """Move all rows by u·p + v·q; the one that then violates its condition most."""
    r, up, down, _ = rows
    worst, k = ordered(0.0), 0
    for begin in range(0, r.size, CHUNK):
        part = slice(begin, begin + CHUNK)
        found = _move(r[part], up[part], down[part], p[part], q[part], u, v)
        if found > worst:
            worst, k = found, begin
    while ordered(max(r[k] * up[k], r[k] * down[k])) != worst and k < r.size - 1:
        k += 1
    return k


@compiled
def _best_partner(rows: Violations, i: int, p: Array, diagonal: Array) -> int:
    """The row whose Newton step together with row i gains most, −1 if none gains more than row i alone."""
    r, up, down, gains = rows
    a, t = diagonal[i], r[i]
    if a <= 0.0:
        return -1
    best, j = ordered(t * t / a), -1
    for begin in range(0, r.size, CHUNK):
        part = slice(begin, begin + CHUNK)
        found = _gains(r[part], up[part], down[part], gains[part], p[part], diagonal[part], a, t)
        if found > best:
            best, j = found, begin
    while j >= 0 and ordered(gains[j]) != best:
        j += 1
    return j


@compiled
def _set_alpha(rows: Violations, k: int, y: float, alpha: Array, limit: float, step: float) -> None:
    """Move β = yα of row k, and note where it may still go."""
    alpha[k] = clipped(alpha[k] + y * step, 0.0, limit)
    low, high = beta_room(y, alpha[k], limit)
    rows.up[k], rows.down[k] = 1.0 if high > 0.0 else 0.0, -1.0 if low < 0.0 else 0.0


@compiled
def ascend_in_pairs(
    G: Array, diagonal: Array, y: Array, alpha: Array, limit: Array, rows: Violations, slack: float, most: int
) -> int:
    """Take steps in pairs until no row violates its optimality condition by more than `slack`; how many.

    G is the kernel matrix K̂ of the rows. One pass over them moves r and finds the first row of the next pair, a second
    pass finds the other.
    """
    r = rows.r
    for k in range(r.size):
        _set_alpha(rows, k, y[k], alpha, limit[k], 0.0)
    i, j, u, v = 0, 0, 0.0, 0.0
    for step in range(most + 1):
        i = _largest_violation(rows, G[i], G[j], u, v)
        if step == most or not max(r[i] * rows.up[i], r[i] * rows.down[i]) > slack:
            return step
        low, high = beta_room(y[i], alpha[i], limit[i])
        a = diagonal[i]
        j = _best_partner(rows, i, G[i], diagonal)
        if j < 0:
            j, v = i, 0.0
            u = clipped(r[i] / a, low, high) if a > 0.0 else (high if r[i] > 0.0 else low)
        else:
            down, up = beta_room(y[j], alpha[j], limit[j])
            u, v = pair_step(a, diagonal[j], G[i, j], r[i], r[j], (low, high, down, up))
            _set_alpha(rows, j, y[j], alpha, limit[j], v)
        _set_alpha(rows, i, y[i], alpha, limit[i], u)
    return most


def ascend_working_set(G: Array, y: Array, alpha: Array, limit: Array, f: Array, slack: float, most: int) -> int:
    """`ascend_in_pairs` on rows with the scores f, which it updates."""
    rows = Violations(y - f, *np.empty((3, y.size)))
    steps = ascend_in_pairs(G, np.diagonal(G).copy(), y, alpha, limit, rows, slack, most)
    np.subtract(y, rows.r, out=f)
    return steps
