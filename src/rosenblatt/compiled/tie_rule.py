"""The tie rule, for prediction and training of all learners.

Two classes: in training y·f ≤ 0 is a mistake; in prediction f > 0 means the positive class. More than two classes, in
training and in prediction: the largest score wins, and the lowest index among equal scores. One-vs-one: each pair is
trained like two classes; in prediction a pair with f = 0 abstains, and classes are ranked by their votes first and by
the sum of their f second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from rosenblatt.compiled.machine_code import callee

Array = np.ndarray[Any, Any]


def decide(scores: Array, labels: bool = False) -> Array:
    """The predicted class codes (or indicator of labels): f > 0, or the first of the largest scores."""
    if labels:
        return (scores > 0).astype(np.int8)
    return (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)


@callee
def rival(scores: Array, true: Any) -> Any:
    """The class with the highest score other than the true one; the lowest index among equals."""
    best = 1 if true == 0 else 0
    for k in range(best + 1, scores.size):
        if k != true and scores[k] > scores[best]:
            best = k
    return best


@register_jitable
def wins_tie(one: Any, other: Any) -> Any:
    """Whether the first of two classes with equal scores is predicted; works elementwise on arrays."""
    return one < other


@callee
def edge(itemsize: int, y: float, f: float, tube: float) -> float:
    """The rounding error allowed in |y − f|, because a step puts a row exactly on the edge of its tube."""
    return (2e-15 if itemsize == 8 else 1e-6) * max(abs(y), abs(f), tube)
