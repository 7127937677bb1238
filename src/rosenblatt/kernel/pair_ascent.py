"""Ascent on the dual of a support vector machine, two rows at a time.

    maximise Σ α_i − ½ Σ α_i α_j y_i y_j K̂_ij,   0 ≤ α_i ≤ limit_i;   with β = yα the gradient is r = y − f

and Σ β_i = 0 if the intercept is free: what one row of a pair gains, the other loses. r is then y − f − b for the b of
the last `recentre`, and no pair can gain where no r violates its condition.

The first row of a pair is the one with the largest |r| that its box allows, the second the one with which the Newton
step gains most (second-order selection: Fan, Chen and Lin, JMLR 6, 2005, there for the dual of a free intercept).
Without one pairs matter because of the 1 in K̂ = K + 1, which couples all rows: a step in one coordinate alone moves b
for all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from rosenblatt.compiled.machine_code import compiled, intrinsic_of, vectorised

Array = np.ndarray[Any, Any]
CHUNK = 512  # rows among which the place of a maximum is searched
NEARLY = 0.7  # part of a violation, or of a gain, for which a row in memory is taken instead of a missing one
SINGULAR = 1e-12  # a determinant below this part of the product of its diagonal is rounding, and counts as this part


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


def ordered(value: float) -> Any:
    """A key in the order of values ≥ 0; compiled, their bits, because a maximum of integers becomes vector code."""
    return value


@intrinsic_of(ordered)
def _bits(_: Any, value: Any) -> Any:  # pragma: no cover
    from llvmlite import ir

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), emit


class AscentRows(NamedTuple):
    """The rows that take part in an ascent, one value per row."""

    y: Array
    limit: Array
    diagonal: Array  # K̂(x, x)
    alpha: Array
    r: Array  # y − f
    up: Array  # 1 where β = yα may grow, else 0
    down: Array  # −1 where it may fall, else 0
    gains: Array  # room for a number per row


class CachedKernelRows(NamedTuple):
    """Kernel rows that are in memory."""

    values: Array  # (slots, rows)
    slots: Array  # of each row, −1 if its kernel row is not in memory
    used: Array  # when each slot was last used


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
    """The gain of each row's Newton step with the row of diagonal a, gradient t and kernel row p; the largest."""
    most = ordered(0.0)
    for k in range(r.size):
        b, c, s = diagonal[k], p[k], r[k]
        det = a * b - c * c
        u, v = (b * t - c * s) * t, a * s - c * t  # the step of the other row times t, of this row; both times det
        least, allowed = SINGULAR * a * b, (v * up[k] > 0.0) | (v * down[k] > 0.0)
        det = det if det > least else least  # of equal rows that disagree: the step ends at their box
        gain = (u + v * s) / (det if det > 0.0 else 1.0)
        gain = gain if (det > 0.0) & allowed & (u > 0.0) & (gain > 0.0) else 0.0
        gains[k] = gain
        most = max(most, ordered(gain))
    return most


@vectorised
def _free_gains(r: Array, up: Array, down: Array, gains: Array, p: Array, diagonal: Array, a: float, t: float) -> Any:
    """The gain of moving β from each row to the row of diagonal a, gradient t and kernel row p, or back; the most."""
    most = ordered(0.0)
    for k in range(r.size):
        both, d = a + diagonal[k], t - r[k]
        curve, least = both - 2.0 * p[k], SINGULAR * both
        curve = curve if curve > least else least  # of equal rows that disagree: the step ends at their box
        allowed = (d * t > 0.0) & ((d * up[k] < 0.0) | (d * down[k] < 0.0))
        gain = d * d / (curve if curve > 0.0 else 1.0)
        gain = gain if allowed else 0.0
        gains[k] = gain
        most = max(most, ordered(gain))
    return most


@compiled
def _largest_violation(rows: AscentRows, p: Array, q: Array, u: float, v: float) -> int:
    """Move all rows by u·p + v·q; the one that then violates its condition most."""
    r, up, down = rows.r, rows.up, rows.down
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
def _best_partner(rows: AscentRows, i: int, p: Array, free: bool) -> int:
    """The row whose Newton step together with row i gains most, i itself if none gains more than row i alone."""
    r, up, down, gains, diagonal = rows.r, rows.up, rows.down, rows.gains, rows.diagonal
    a, t = diagonal[i], r[i]
    if a <= 0.0 and not free:
        return i
    best, j = ordered(0.0 if free else t * t / a), -1
    for begin in range(0, r.size, CHUNK):
        part = slice(begin, begin + CHUNK)
        if free:
            found = _free_gains(r[part], up[part], down[part], gains[part], p[part], diagonal[part], a, t)
        else:
            found = _gains(r[part], up[part], down[part], gains[part], p[part], diagonal[part], a, t)
        if found > best:
            best, j = found, begin
    if j < 0:
        return i
    while ordered(gains[j]) != best:
        j += 1
    return j


@compiled
def _set_alpha(rows: AscentRows, k: int, step: float) -> None:
    """Move β = yα of row k, and update in which directions it may still move."""
    y, limit = rows.y[k], rows.limit[k]
    alpha = clipped(rows.alpha[k] + y * step, 0.0, limit)
    low, high = beta_room(y, alpha, limit)
    rows.alpha[k], rows.up[k], rows.down[k] = alpha, 1.0 if high > 0.0 else 0.0, -1.0 if low < 0.0 else 0.0


@compiled
def _violation(rows: AscentRows, k: int) -> float:
    return max(rows.r[k] * rows.up[k], rows.r[k] * rows.down[k])  # type: ignore[no-any-return]


@compiled
def _violator_in_memory(rows: AscentRows, slots: Array, i: int) -> int:
    """The row in memory that violates its condition most, if nearly as much as row i, else i."""
    least, best = NEARLY * _violation(rows, i), i
    for k in range(slots.size):
        if slots[k] >= 0 and _violation(rows, k) > least:
            least, best = _violation(rows, k), k
    return best


@compiled
def _partner_in_memory(rows: AscentRows, slots: Array, i: int) -> int:
    """The row in memory that gains most together with row i, i itself if none gains more than row i alone."""
    best = i
    for k in range(slots.size):
        if slots[k] >= 0 and rows.gains[k] > (0.0 if best == i else rows.gains[best]):
            best = k
    return best


@compiled
def free_step(curve: float, d: float, low: float, high: float) -> float:
    """The u in [low, high] that maximises ud − ½·curve·u²."""
    if curve > 0.0:
        return clipped(d / curve, low, high)
    return high if d > 0.0 else low


@compiled
def _best_step(rows: AscentRows, i: int, j: int, c: float, free: bool) -> Any:
    """The best step of rows i and j, whose kernel is c, or of row i alone if j is i; and what it gains."""
    a, t = rows.diagonal[i], rows.r[i]
    low, high = beta_room(rows.y[i], rows.alpha[i], rows.limit[i])
    if free:
        if j == i:
            return 0.0, 0.0, 0.0
        b, d = rows.diagonal[j], t - rows.r[j]
        down, up = beta_room(rows.y[j], rows.alpha[j], rows.limit[j])
        curve = a + b - 2.0 * c
        curve = curve if curve > SINGULAR * (a + b) else 0.0
        u = free_step(curve, d, max(low, -up), min(high, -down))
        return u, -u, u * d - 0.5 * curve * u * u
    if j == i:
        u = clipped(t / a, low, high) if a > 0.0 else (high if t > 0.0 else low)
        return u, 0.0, u * (t - 0.5 * a * u)
    b, s = rows.diagonal[j], rows.r[j]
    down, up = beta_room(rows.y[j], rows.alpha[j], rows.limit[j])
    u, v = pair_step(a, b, c, t, s, (low, high, down, up))
    return u, v, u * (t - 0.5 * a * u - c * v) + v * (s - 0.5 * b * v)


@compiled
def ascend_in_pairs(rows: AscentRows, cached: CachedKernelRows, slack: float, most: int, clock: int, free: bool) -> Any:
    """Take at most `most` steps, until no row violates its optimality condition by more than `slack`.

    One pass over the rows moves r and finds the first row of the next pair, a second pass finds the other. It returns
    early if it needs a kernel row that is not in memory, and none in memory is nearly as good.

    Returns
    -------
    steps : int
    gain : float
        The increase of the dual.
    missing : int
        The row whose kernel row is needed, −1 if none is.
    """
    values, slots, used = cached
    steps, total = 0, 0.0
    i = _largest_violation(rows, values[0], values[0], 0.0, 0.0)
    while steps < most and _violation(rows, i) > slack:
        if slots[i] < 0:
            i = _violator_in_memory(rows, slots, i)
            if slots[i] < 0:
                return steps, total, i
        p = values[slots[i]]
        used[slots[i]] = clock + steps
        j = _best_partner(rows, i, p, free)
        if free and j == i:  # b is out of date
            return steps, total, -1
        u, v, gain = _best_step(rows, i, j, np.float64(p[j]), free)
        if slots[j] < 0:
            other, needed = _partner_in_memory(rows, slots, i), NEARLY * gain
            u, v, gain = _best_step(rows, i, other, np.float64(p[other]), free)
            if not gain > needed:
                return steps, total, j
            j = other
        used[slots[j]] = clock + steps
        if j != i:
            _set_alpha(rows, j, v)
        _set_alpha(rows, i, u)
        steps, total = steps + 1, total + gain
        i = _largest_violation(rows, p, values[slots[j]], u, v)
    return steps, total, -1


def recentre(rows: AscentRows) -> float:
    """Move r by the b that halves the largest violation of a free intercept; its change."""
    rising, falling = rows.r[rows.up > 0.0], rows.r[rows.down < 0.0]
    if not (rising.size and falling.size):
        return 0.0
    change = 0.5 * float(rising.max() + falling.min())
    rows.r[:] -= change
    return change


@vectorised
def gap_of(y: Array, limit: Array, alpha: Array, r: Array) -> float:
    """The part of primal − dual that is due to these rows: Σ limit·max(0, g) − α·g with g = 1 − yf = yr."""
    total = 0.0
    for k in range(y.size):
        g = y[k] * r[k]
        total += limit[k] * (g if g > 0.0 else 0.0) - alpha[k] * g
    return total
