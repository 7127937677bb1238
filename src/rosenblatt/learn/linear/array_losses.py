"""The losses of `losses` on whole arrays, of any library that follows the array API standard.

Each takes the namespace, an array of margins m = y·f or residuals r = f − y, and the width, and returns the losses and
their slopes; at a kink the slope is that of `losses`. This module needs NumPy only, so that it also runs where there is
no compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Both = tuple[Any, Any]
LARGEST_EXPONENT = 80.0  # e^80 is nearly the largest float32
MODERATE = 16.0  # scores whose exponentials lose nothing in float32
LN2 = 0.6931471805599453


def perceptron(xp: Any, m: Any, width: float) -> Both:
    """max(0, −m); a tie is a mistake."""
    wrong = xp.astype(m <= 0.0, m.dtype)
    return -m * wrong, -wrong


def hinge(xp: Any, m: Any, width: float) -> Both:
    """max(0, 1 − m)."""
    short = xp.astype(m < 1.0, m.dtype)
    return (1.0 - m) * short, -short


def squared_hinge(xp: Any, m: Any, width: float) -> Both:
    """max(0, 1 − m)²."""
    lacking = (1.0 - m) * xp.astype(m < 1.0, m.dtype)
    return lacking * lacking, -2.0 * lacking


def log(xp: Any, m: Any, width: float) -> Both:
    """ln(1 + e^−m)."""
    e = xp.exp(-xp.abs(m))
    wrong = xp.astype(m <= 0.0, m.dtype)
    return xp.log1p(e) - m * wrong, -(e + wrong * (1.0 - e)) / (1.0 + e)


def exponential(xp: Any, m: Any, width: float) -> Both:
    """e^−m."""
    e = xp.exp(xp.clip(-m, None, LARGEST_EXPONENT))
    return e, -e


def modified_huber(xp: Any, m: Any, width: float) -> Both:
    """The squared hinge, straight below m = −1."""
    far = xp.astype(m < -1.0, m.dtype)
    value, slope = squared_hinge(xp, m, width)
    return value + far * (-4.0 * m - value), slope + far * (-4.0 - slope)


def squared(xp: Any, r: Any, width: float) -> Both:
    """½r²."""
    return 0.5 * r * r, r


def absolute(xp: Any, r: Any, width: float) -> Both:
    """|r|."""
    return xp.abs(r), xp.sign(r)


def huber(xp: Any, r: Any, width: float) -> Both:
    """½r², straight beyond the width."""
    slope = xp.clip(r, -width, width)
    return slope * (r - 0.5 * slope), slope


def log_cosh(xp: Any, r: Any, width: float) -> Both:
    """Ln cosh r."""
    size = xp.abs(r)
    return size + xp.log1p(xp.exp(-2.0 * size)) - LN2, xp.tanh(r)


def epsilon_insensitive(xp: Any, r: Any, width: float) -> Both:
    """max(0, |r| − width)."""
    out = xp.astype(xp.abs(r) > width, r.dtype)
    return (xp.abs(r) - width) * out, xp.sign(r) * out


def softmax(xp: Any, f: Any, codes: Any, classes: Any) -> Both:
    """The loss ln Σ e^f_k − f_y over the last axis, and its slopes p − y, in the memory of f (B, P, K).

    `codes` (B, 1, 1) are the classes of the rows, `classes` are 0 to K − 1.
    """
    if xp.__name__ in ("numpy", "array_api_compat.numpy"):
        return _softmax_in_place(xp, f, codes)
    codes_of_all = xp.broadcast_to(codes, (*f.shape[:2], 1))
    if hasattr(f, "log_softmax"):  # torch has one kernel for what takes four passes below
        logs = f.log_softmax(-1)
        own = logs.gather(-1, codes_of_all)
        return -own[:, :, 0], logs.exp_().scatter_add_(-1, codes_of_all, xp.full_like(own, -1.0))
    f -= xp.max(f, axis=-1, keepdims=True)
    own = xp.take_along_axis(f, codes_of_all, axis=-1)
    p = xp.exp(f)
    total = xp.sum(p, axis=-1, keepdims=True)
    p /= total
    p -= xp.astype(codes == classes, f.dtype)
    return (xp.log(total) - own)[:, :, 0], p


def _softmax_in_place(xp: Any, f: Any, codes: Any) -> Both:
    """The same in NumPy, whose arrays can be indexed and computed in place.

    The largest score of each row is subtracted only where exponentials could overflow: it takes as long as these.
    """
    rows, penalties, K = f.shape
    if not (f.size and f.max() <= MODERATE and f.min() >= -MODERATE):
        f -= xp.max(f, axis=-1, keepdims=True)
    f = xp.ascontiguousarray(f)
    flat = f.reshape(-1)
    at = xp.arange(0, flat.size, K).reshape(rows, penalties) + codes[:, :, 0]
    own = flat[at]
    xp.exp(f, out=f)
    with np.errstate(invalid="ignore"):  # of numbers beyond the end, which some kernels read and drop
        total = f.reshape(-1, K) @ xp.ones(K, dtype=f.dtype)
    f *= (1.0 / total).reshape(rows, penalties, 1)
    flat[at] -= 1.0
    return xp.log(total).reshape(rows, penalties) - own, f


@dataclass(frozen=True)
class ArrayLoss:
    """A loss with what decides on a step size.

    of : "margin" or "residual".
    both : its values and slopes.
    curvature : the largest second derivative; 1 if there is a kink.
    steepest : the largest slope, in units of the width if `by_width`; 0 if there is none.
    smooth : whether it has no kink.
    """

    of: str
    both: Callable[[Any, Any, float], Both]
    curvature: float = 1.0
    steepest: float = 0.0
    by_width: bool = False
    smooth: bool = True


ARRAY_LOSSES = {
    "perceptron": ArrayLoss("margin", perceptron, smooth=False),
    "hinge": ArrayLoss("margin", hinge, smooth=False),
    "squared_hinge": ArrayLoss("margin", squared_hinge, 2.0),
    "log": ArrayLoss("margin", log, 0.25),
    "exponential": ArrayLoss("margin", exponential),
    "modified_huber": ArrayLoss("margin", modified_huber, 2.0),
    "squared": ArrayLoss("residual", squared),
    "absolute": ArrayLoss("residual", absolute, steepest=1.0, smooth=False),
    "huber": ArrayLoss("residual", huber, steepest=1.0, by_width=True),
    "log_cosh": ArrayLoss("residual", log_cosh, steepest=1.0),
    "epsilon_insensitive": ArrayLoss("residual", epsilon_insensitive, steepest=1.0, smooth=False),
}
