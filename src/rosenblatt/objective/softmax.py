"""Softmax, the joint loss of several classes, on whole arrays; like `losses`, it needs no compiler."""

from __future__ import annotations

from typing import Any

import numpy as np

MODERATE = 16.0  # scores whose exponentials lose nothing in float32


def softmax(xp: Any, f: Any, codes: Any, classes: Any) -> tuple[Any, Any]:
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


def _softmax_in_place(xp: Any, f: Any, codes: Any) -> tuple[Any, Any]:
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
