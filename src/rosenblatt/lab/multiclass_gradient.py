"""Losses of several classes and their gradients in W and b, for the page on which they are changed by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
LOSSES = ("softmax", "Weston and Watkins", "one-vs-all", "Crammer and Singer", "perceptron")
PENALTIES = ("L2: λ·ΣW²", "L1: λ·Σ|W|", "none")
OBJECTIVE, DATA, NOTES = "data loss + penalty", "data loss", "as the notes print them"
GRADIENTS = {  # what is shown, each with a sentence
    OBJECTIVE: "∇ is the gradient of data loss + penalty, along which the steps go.",
    DATA: "∇ is the gradient of the data loss alone.",
    NOTES: "∇ is that of the data loss + 0.05·W, as in the notes. The gradient of their penalty 0.1·ΣW² is 0.2·W.",
}
LECTURE_PENALTY_SLOPE = 0.05  # what the notes add to their gradients, times W
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
    data_dW : ndarray
        That of the data loss alone; the penalty does not change that of b.
    errors : int
        Points of another class than the highest score; a tie goes to the lowest index.
    """

    scores: Array
    losses: Array
    data_loss: float
    penalty: float
    dW: Array
    db: Array
    data_dW: Array
    errors: int


def multiclass_loss_and_gradient(
    W: Array, b: Array, X: Array, y: Array, loss: str, penalty: str, strength: float
) -> LossAndGradient:
    """Compute the scores, the losses, the penalty and the gradient of the objective.

    With s = Wx + b: softmax, log Σ exp(s_r) − s_y; Weston and Watkins, Σ_{r≠y} max(0, 1 + s_r − s_y); one-vs-all,
    Σ_r max(0, 1 − t_r·s_r) with t_r = +1 for the class of the row, −1 for the others; Crammer and Singer,
    max(0, 1 + max_{r≠y} s_r − s_y); perceptron, the same without the 1.
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
    elif loss == "one-vs-all":
        signs = np.where(np.arange(scores.shape[1]) == y[:, None], 1.0, -1.0)
        gaps = 1 - signs * scores
        slopes, losses = -signs * (gaps > 0), np.maximum(gaps, 0).sum(axis=1)
    else:
        others = scores.copy()
        others[at, y] = -np.inf
        rival = others.argmax(axis=1)
        gaps = (1.0 if loss == "Crammer and Singer" else 0.0) + others[at, rival] - true
        losses = np.maximum(gaps, 0)
        slopes = np.zeros_like(scores)
        slopes[at, rival] = gaps > 0
    if loss == "softmax":
        slopes[at, y] -= 1
    elif loss != "one-vs-all":  # the true class loses what the others gain
        slopes[at, y] = 0.0
        slopes[at, y] = -slopes.sum(axis=1)
    data_dW, db = slopes.T @ X / n, slopes.sum(axis=0) / n
    penalty_value, dW = 0.0, data_dW
    if penalty.startswith("L2"):
        penalty_value, dW = strength * float((W**2).sum()), dW + 2 * strength * W
    elif penalty.startswith("L1"):
        penalty_value, dW = strength * float(np.abs(W).sum()), dW + strength * np.sign(W)
    errors = int((scores.argmax(axis=1) != y).sum())
    return LossAndGradient(scores, losses, float(losses.mean()), penalty_value, dW, db, data_dW, errors)
