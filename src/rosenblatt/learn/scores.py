"""The scores of rows by planes, in compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.rows import dot, dots

Array = np.ndarray[Any, Any]


@compiled
def score_one(rows: Any, index: Array, w: Array, b: Array, out: Array) -> None:
    """out_t = w·x_i + b for i = index_t."""
    for t in range(index.size):
        out[t] = dot(rows, index[t], w) + b[0]


@compiled
def score_many(rows: Any, index: Array, W: Array, b: Array, out: Array) -> None:
    """out_tk = w_k·x_i + b_k for i = index_t."""
    for t in range(index.size):
        scores = out[t]
        dots(rows, index[t], W, scores)
        for k in range(scores.size):
            scores[k] += b[k]
