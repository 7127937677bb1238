"""Scores to probabilities: Platt's sigmoid, and its form for several classes.

    p_k ∝ exp(a·s_k + b_k)          a ≥ 0, b_1 = 0

with a and b fitted by the log loss to out-of-fold scores. As in Platt's method the targets are smoothed: a row of
class c, which has n_c of the rows, counts as class c by 1 − e and as each of the others by e/(K − 1), with

    e = 1/(n_c·K/2 + 2)

Without smoothing a and b diverge if the scores separate the classes. For two classes this is Platt's sigmoid; with
more, classes share the scale a, and the smoothing of all rows adds up to that of two classes.

J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers, 1999.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax, softmax

Array = np.ndarray[Any, Any]
NEWTON_STEPS = 100
FLAT = 1e-13  # twice the decrease that another step would bring
NEGLIGIBLE = 1e-7  # the same, where losses are only compared
SINGULAR = 1e-12  # added to the Hessian, which is singular if the scores do not distinguish the classes


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
    mass = _shares(target.size, weights)
    if not mass.all():  # for example of a class of weight 0: the Newton steps divide by the mass
        kept = np.flatnonzero(mass)
        scores, target, mass = scores[kept], target[kept], mass[kept]
    wanted = _wanted(target, classes)
    mass = mass[:, None]
    unit = float(np.abs(scores).max(initial=0.0)) or 1.0
    found = _minimum(scores / unit, wanted, mass)
    if found[0] < 0:
        found = _without_scores(wanted, mass)
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


def calibrated_losses(scores: Array, target: Array, classes: int, weights: Array | None = None) -> tuple[Array, Array]:
    """Whether each row is classified correctly, and its log loss, by each of several learners, (learners, n).

    Scores, of shape (learners, n, K), or (learners, n) for two classes, are calibrated on the same rows, those of all
    learners by the same Newton steps.
    """
    mass = _shares(target.size, weights)
    kept = np.flatnonzero(mass) if not mass.all() else slice(None)
    s = scores[None] if scores.ndim == 2 else np.ascontiguousarray(np.moveaxis(scores, 2, 0))
    s = s / np.maximum(np.abs(s).mean(axis=(0, 2)), 1e-300)[:, None]
    at = _minima(s[:, :, kept], _wanted(target[kept], classes), mass[kept])
    f = _logits(at, s)
    if len(f) == 1:
        return (f[0] > 0) == (target == 1), np.logaddexp(0.0, np.where(target == 1, -f[0], f[0]))
    right = f.argmax(axis=0) == target
    own = np.take_along_axis(f, np.broadcast_to(target, (1, *right.shape)), axis=0)[0]
    return right, np.log(np.exp(f, out=f).sum(axis=0)) - own


def _shares(rows: int, weights: Array | None) -> Array:
    """The share of each row in the sum of weights."""
    mass = np.ones(rows) if weights is None or not weights.any() else weights
    found: Array = mass / mass.sum()
    return found


def _wanted(target: Array, classes: int) -> Array:
    """The smoothed targets (n, K)."""
    counts = np.bincount(target, minlength=classes)
    own = counts[target]
    smoothed = 1.0 / (own * classes / 2 + 2)
    wanted = np.repeat((smoothed / (classes - 1))[:, None], classes, axis=1)
    wanted[np.arange(target.size), target] = 1 - smoothed
    return wanted


def _without_scores(wanted: Array, mass: Array) -> Array:
    """The minimum with a = 0, which is that with a ≥ 0 if a < 0 at the minimum: the loss is convex."""
    logs = np.log((mass * wanted).sum(axis=0))  # p_k is the mean of the smoothed targets
    return np.concatenate([[0.0], logs[1:] - logs[0]])


def _logits(at: Array, s: Array) -> Array:
    """a·s_k + b_k less the largest, with a and b_2, …, b_K of each learner in `at`; of two classes a·s + b.

    `s` is of shape (K, learners, n), or (1, learners, n) for two classes.
    """
    if len(s) == 1:
        found: Array = at[:, :1] * s + at[:, 1:]
        return found
    shifts = at.T.copy()
    shifts[0] = 0.0
    found = at[:, 0, None] * s + shifts[..., None]
    found -= found.max(axis=0)
    return found


def _minima(s: Array, wanted: Array, mass: Array) -> Array:
    """The same as `_minimum`, for the scores of several learners, in the form that `_logits` takes."""
    S, K = s.shape[1], wanted.shape[1]
    at, step, slope = np.zeros((S, K)), np.zeros((S, K)), np.zeros((S, K))
    loss, size = np.full(S, np.inf), np.ones(S)
    weighted = (mass[:, None] * wanted).T[1 if len(s) == 1 else 0 :]
    at[:, 0] = 2.0
    for _ in range(NEWTON_STEPS):
        new = at + size[:, None] * step
        f = _logits(new, s)
        there = -np.einsum("kn,ksn->s", weighted, f)
        p, logs = _probabilities(f)
        there += logs @ mass
        fine = there <= loss + 1e-4 * size * (slope * step).sum(axis=1)
        at, loss = np.where(fine[:, None], new, at), np.where(fine, there, loss)
        size = np.where(fine, 1.0, size / 2.0)
        gradient, H = (_two if len(s) == 1 else _several)(p, s, weighted, mass)
        newton = -np.linalg.solve(H + SINGULAR * np.eye(K), gradient[..., None])[..., 0]
        slope, step = np.where(fine[:, None], gradient, slope), np.where(fine[:, None], newton, step)
        if (-size * (slope * step).sum(axis=1)).max() <= NEGLIGIBLE:
            break
    at[at[:, 0] < 0] = _without_scores(wanted, mass[:, None])
    return at


def _probabilities(f: Array) -> tuple[Array, Array]:
    """The probabilities of the classes (for two classes of the second only), and the logarithms of the normalisers."""
    if len(f) == 1:
        return expit(f), np.logaddexp(0.0, f[0])
    p = np.exp(f)
    total = p.sum(axis=0)
    p /= total
    return p, np.log(total)


def _two(p: Array, s: Array, weighted: Array, mass: Array) -> tuple[Array, Array]:
    """The slopes (learners, 2) and Hessians of two classes, with p and s of shape (1, learners, n)."""
    p, s = p[0], s[0]
    error, curve = p * mass - weighted, mass * p * (1.0 - p)
    slope = np.column_stack([np.einsum("sn,sn->s", error, s), error.sum(axis=1)])
    by_score, alone = np.einsum("sn,sn->s", curve, s), curve.sum(axis=1)
    H = np.stack([np.einsum("sn,sn,sn->s", curve, s, s), by_score, by_score, alone], axis=1).reshape(-1, 2, 2)
    return slope, H


def _several(p: Array, s: Array, weighted: Array, mass: Array) -> tuple[Array, Array]:
    """The slopes (learners, K) and Hessians of K classes, with p and s of shape (K, learners, n)."""
    own = np.einsum("ksn,ksn->sn", p, s)
    error = p * mass - weighted[:, None]
    slope = error.sum(axis=2).T
    slope[:, 0] = np.einsum("ksn,ksn->s", error, s)
    q = p.swapaxes(0, 1)  # (learners, K, n)
    H = -(q * mass) @ q.swapaxes(1, 2)
    H[:, range(p.shape[0]), range(p.shape[0])] += (p @ mass).T
    H[:, 0, 0] = np.einsum("ksn,ksn,n->s", p * s, s, mass) - own**2 @ mass
    H[:, 0, 1:] = H[:, 1:, 0] = ((p * (s - own)) @ mass).T[:, 1:]
    return slope, H


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
