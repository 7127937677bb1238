"""Scores to probabilities: Platt's sigmoid, and its form for several classes.

    p_k ∝ exp(a·s_k + b_k)          a ≥ 0, b_1 = 0

with a and b fitted by the log loss to out-of-fold scores. As in Platt's method the targets are smoothed: a row of
class c, which has n_c of the rows, counts as class c by 1 − e and as each of the others by e/(K − 1), with

    e = 1/(n_c·K/2 + 2)

Without it a and b diverge where the scores separate the classes. For two classes this is his sigmoid; of more classes,
which share the scale a, all rows together are smoothed as much as those of two classes would be.

J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers, 1999.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

Array = np.ndarray[Any, Any]
NEWTON_STEPS = 100
FLAT = 1e-13  # twice the decrease that another step would bring
SINGULAR = 1e-12  # added to the Hessian: where no score tells classes apart it is singular


@dataclass(frozen=True)
class Calibration:
    """The scale a and the shift b_k of each class."""

    scale: float
    shifts: Array

    def probabilities(self, scores: Array) -> Array:
        """Probabilities of shape (n, K) from scores of shape (n, K), or (n,) for two classes."""
        found: Array = softmax(self.scale * by_class(scores) + self.shifts, axis=1)
        return found


def by_class(scores: Array) -> Array:
    """Scores of shape (n, K); those of two classes, s, as −s/2 and s/2."""
    return np.column_stack([-scores / 2, scores / 2]) if scores.ndim == 1 else scores


def calibrated(scores: Array, target: Array, classes: int, weights: Array | None = None) -> Calibration:
    """Fit a and b to scores and the class of each row.

    Parameters
    ----------
    scores : ndarray of shape (n, K), or (n,) for two classes
    target : ndarray of shape (n,)
        The number of each row's class.
    classes : int
    weights : ndarray of shape (n,), optional
    """
    scores = by_class(scores)
    mass = np.ones(target.size) if weights is None or not weights.any() else weights
    mass = mass / mass.sum()
    if not mass.all():  # of a class of weight 0, for one: the Newton steps divide by the mass
        kept = np.flatnonzero(mass)
        scores, target, mass = scores[kept], target[kept], mass[kept]
    counts = np.bincount(target, minlength=classes)
    own = counts[target]
    smoothed = 1.0 / (own * classes / 2 + 2)
    wanted = np.repeat((smoothed / (classes - 1))[:, None], classes, axis=1)
    wanted[np.arange(target.size), target] = 1 - smoothed
    mass = mass[:, None]
    unit = float(np.abs(scores).max(initial=0.0)) or 1.0
    found = _minimum(scores / unit, wanted, mass)
    if found[0] < 0:  # the loss is convex: with a ≥ 0 its minimum is at a = 0, where p_k is the mean of what is wanted
        logs = np.log((mass * wanted).sum(axis=0))
        found = np.concatenate([[0.0], logs[1:] - logs[0]])
    return Calibration(float(found[0]) / unit, np.concatenate([[0.0], found[1:]]))


def _minimum(s: Array, wanted: Array, mass: Array) -> Array:
    """The a and b_2, …, b_K of the lowest loss Σ m_i Σ_k −q_ik ln p_ik, by Newton's method with step halving."""
    K = s.shape[1]
    at, loss, slope = np.zeros(K), np.inf, np.zeros(K)
    step, size, weighted = np.zeros(K), 1.0, mass * wanted
    at[0] = 1.0
    for _ in range(NEWTON_STEPS):
        new = at + size * step
        p = new[0] * s + np.concatenate([[0.0], new[1:]])
        p -= p.max(axis=1, keepdims=True)
        there = -float((weighted * p).sum())
        np.exp(p, out=p)
        total = p.sum(axis=1, keepdims=True)
        there += float((mass * np.log(total)).sum())
        if not there <= loss + 1e-4 * size * float(slope @ step):
            size /= 2.0
            continue
        at, loss, size = new, there, 1.0
        p *= mass / total  # from here on p is m_i p_ik
        error, own = p - weighted, (p * s).sum(axis=1, keepdims=True)
        slope = np.concatenate([[(error * s).sum()], error.sum(axis=0)[1:]])
        H = np.empty((K, K))  # Σ m_i (diag p − ppᵀ), with s_i for the first direction
        H[0, 0] = (p * s * s).sum() - (own * own / mass).sum()
        H[0, 1:] = H[1:, 0] = ((p * s).sum(axis=0) - (p * (own / mass)).sum(axis=0))[1:]
        H[1:, 1:] = (np.diag(p.sum(axis=0)) - (p / mass).T @ p)[1:, 1:]
        step = -np.linalg.solve(H + SINGULAR * np.eye(K), slope)
        if -slope @ step <= FLAT:
            break
    return at


def temperature(scores: Array, target: Array, weights: Array | None = None) -> float:
    """The scale a alone, for scores of logistic models: shifts stay 0, so that decisions do not change.

    Parameters
    ----------
    scores : ndarray of shape (n, K), or (n,) for two classes
    target : ndarray of shape (n,) or (n, K)
        The number of each row's class, or an indicator of labels.
    weights : ndarray of shape (n,), optional
    """
    labels = target.ndim == 2
    scores = scores.astype(np.float64) if labels else by_class(scores.astype(np.float64))
    smoothed = 1.0 / (target.shape[0] + 2.0)
    mass = np.ones(target.shape[0]) if weights is None else weights
    mass = mass / mass.sum()
    rows = np.arange(target.shape[0])

    def loss(log_scale: float) -> float:
        f = np.exp(log_scale) * scores
        if labels:
            side = np.where(target != 0, -f, f)
            return float(mass @ (np.logaddexp(0.0, side) + smoothed * -side).sum(axis=1))
        logs = log_softmax(f, axis=1)
        return -float(mass @ ((1.0 - smoothed) * logs[rows, target] + smoothed * logs.mean(axis=1)))

    found = minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded", options={"xatol": 1e-3})
    return float(np.exp(found.x))
