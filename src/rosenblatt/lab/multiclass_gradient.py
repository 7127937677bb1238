"""Losses of several classes and their gradients in W and b, for the page on which they are changed by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LOSSES = ("softmax", "Weston and Watkins", "Crammer and Singer", "perceptron")
PENALTIES = ("L2: λ·ΣW²", "L1: λ·Σ|W|", "none")
LECTURE_WEIGHTS = np.array([[0.52, 0.68], [-0.82, 0.52], [0.20, -1.17]]), np.array([-0.18, -0.05, -0.06])


@dataclass(frozen=True)
class LossAndGradient:
    """The losses of W and b on points, and their gradient.

    Attributes
    ----------
    scores : ndarray of shape (n, K)
    losses : ndarray of shape (n,)
    data_loss : float
        The mean of `losses`.
    penalty : float
    dW, db : ndarray
        The gradient of data loss + penalty (a subgradient where it has none).
    errors : int
        Points of another class than the highest score; a tie goes to the lowest index.
    """

    scores: Array
    losses: Array
    data_loss: float
    penalty: float
    dW: Array
    db: Array
    errors: int


def multiclass_loss_and_gradient(
    W: Array, b: Array, X: Array, y: Array, loss: str, penalty: str, strength: float
) -> LossAndGradient:
    """Compute the scores, the losses, the penalty and the gradient of the objective.

    With s = Wx + b: softmax, log Σ exp(s_r) − s_y; Weston and Watkins, Σ_{r≠y} max(0, 1 + s_r − s_y); Crammer and
    Singer, max(0, 1 + max_{r≠y} s_r − s_y); perceptron, the same without the 1.
    """
    n, at = len(y), np.arange(len(y))
    scores = X @ W.T + b
    true = scores[at, y]
    if loss == "softmax":
        shifted = scores - scores.max(axis=1, keepdims=True)
        odds = np.exp(shifted)
        slopes = odds / odds.sum(axis=1, keepdims=True)
        losses = np.log(odds.sum(axis=1)) - shifted[at, y]
    elif loss == "Weston and Watkins":
        gaps = 1 + scores - true[:, None]
        gaps[at, y] = 0
        slopes, losses = (gaps > 0).astype(float), np.maximum(gaps, 0).sum(axis=1)
    else:
        others = scores.copy()
        others[at, y] = -np.inf
        rival = others.argmax(axis=1)
        gaps = (1.0 if loss == "Crammer and Singer" else 0.0) + others[at, rival] - true
        losses = np.maximum(gaps, 0)
        slopes = np.zeros_like(scores)
        slopes[at, rival] = gaps > 0
    if loss != "softmax":
        slopes[at, y] = 0.0
        slopes[at, y] = -slopes.sum(axis=1)
    else:
        slopes[at, y] -= 1
    dW, db = slopes.T @ X / n, slopes.sum(axis=0) / n
    penalty_value = 0.0
    if penalty.startswith("L2"):
        penalty_value, dW = strength * float((W**2).sum()), dW + 2 * strength * W
    elif penalty.startswith("L1"):
        penalty_value, dW = strength * float(np.abs(W).sum()), dW + strength * np.sign(W)
    errors = int((scores.argmax(axis=1) != y).sum())
    return LossAndGradient(scores, losses, float(losses.mean()), penalty_value, dW, db, errors)
