"""Measures of table models: R², the area under the ROC curve, proven margins, and a user's own scorer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import betaincinv
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

Array = np.ndarray[Any, Any]
FAR_APART = 0.1  # difference between training and out-of-fold scores that is worth a warning
NORMAL_95 = 1.959963984540054
FEW_ERRORS = 20  # for which the normal approximation is too narrow


def area_under_curve(positive: Array, scores: Array, weights: Array | None = None) -> float:
    """The weighted probability that a positive row scores above a negative one; ties count ½."""
    _, place = np.unique(scores, return_inverse=True)
    mass = np.ones(scores.size) if weights is None else weights
    ours, others = (np.bincount(place, mass * one) for one in (positive, ~positive))
    below = np.cumsum(others) - 0.5 * others
    return float(ours @ below / (ours.sum() * others.sum()))


def accuracy_interval(accuracy: float, rows: float) -> float:
    """Half the width of the 95 % interval of an accuracy on so many rows.

    It is the normal approximation, unless fewer than FEW_ERRORS rows are wrong, or right: then it reaches to the
    farther end of the exact interval (C. Clopper, E. Pearson, Biometrika 26, 1934).
    """
    half = NORMAL_95 * float(np.sqrt(accuracy * (1 - accuracy) / rows))
    fewer = min(accuracy, 1 - accuracy) * rows
    if fewer >= FEW_ERRORS:
        return half
    return max(half, float(betaincinv(fewer + 1, max(rows - fewer, 1e-9), 0.975)) - fewer / rows)


def r2_interval(target: Array, errors: Array, weights: Array | None = None) -> float:
    """Half the width of the 95 % interval of R², from the squared errors of the rows.

    By the delta method for ln(1 − R²), which is nearer to normal than R²; it reaches to the farther end.
    """
    mass = np.ones(target.size) if weights is None else weights
    away = (target - np.average(target, weights=mass)) ** 2
    spread = float(mass @ away)
    share = float(mass @ errors) / spread if spread else 0.0  # 1 − R²
    if not share:
        return 0.0
    excess = mass * (errors - share * away)
    return share * float(np.expm1(NORMAL_95 * np.sqrt(excess @ excess) / (spread * share)))


def user_score(scoring: Any, answers: list[tuple[Any, Array, Array | None]]) -> tuple[tuple[str, float], ...]:
    """The user's measure, if any, with its name: the mean over parts, each with its answers, truth and weights."""
    if scoring is None:
        return ()
    scorer, found = get_scorer(scoring), list[float]()
    for estimator, truth, weights in answers:
        by_weight = {} if weights is None else {"sample_weight": weights}
        found.append(float(scorer(estimator, np.arange(truth.size), truth, **by_weight)))
    return ((scoring if isinstance(scoring, str) else "scoring", float(np.mean(found))),)


class NumbersOutOfFold(RegressorMixin, BaseEstimator):
    """Out-of-fold predictions as an estimator, for scikit-learn's scorers; X is row numbers."""

    def __init__(self, answers: Array) -> None:
        self.answers = answers

    def predict(self, rows: Array) -> Array:
        """The predictions."""
        found: Array = self.answers[rows]
        return found


class ClassesOutOfFold(ClassifierMixin, BaseEstimator):
    """Out-of-fold probabilities and scores as an estimator, for scikit-learn's scorers; X is row numbers."""

    def __init__(self, classes_: Array, answers: Array, scores: Array) -> None:
        self.classes_, self.answers, self.scores = classes_, answers, scores

    def predict_proba(self, rows: Array) -> Array:
        """The probabilities."""
        found: Array = self.answers[rows]
        return found

    def decision_function(self, rows: Array) -> Array:
        """The scores; of two classes one number per row."""
        found: Array = self.scores[rows]
        return found[:, 1] - found[:, 0] if found.ndim == 2 and found.shape[1] == 2 else found

    def predict(self, rows: Array) -> Array:
        """The most probable classes."""
        found: Array = self.classes_[self.answers[rows].argmax(axis=1)]
        return found


def planes_of(learner: Any) -> Array | None:
    """The coefficients of a learner, (planes, features); None if it has none, or if they are of its own features."""
    coef = getattr(learner, "coef_", None)
    if coef is None:
        return None
    planes = np.atleast_2d(coef.toarray() if sp.issparse(coef) else np.asarray(coef))
    return planes if planes.shape[1] == learner.n_features_in_ else None


def r2(target: Array, predictions: Array, weights: Array | None = None) -> float:
    """The share of the target's variance that the predictions explain."""
    mass = np.ones(target.size) if weights is None else weights
    spread = float((mass * (target - np.average(target, weights=mass)) ** 2).sum()) if target.size else 0.0
    return 1 - float((mass * (target - predictions) ** 2).sum()) / spread if spread else 0.0


def doubts(found: dict[str, Any], always: str) -> Iterator[str]:
    """Reasons to distrust the result."""
    if found["score"] - found["interval"] <= found["baseline"]:
        yield f"the model is no better, within its interval, than always predicting {always}"
    if found["training_score"] - found["score"] > FAR_APART:
        yield (
            f"{found['measure']} is {found['training_score']:.3f} on the training rows and {found['score']:.3f} out "
            "of fold: the model overfits"
        )


def proven_margin(learner: Any, X: Any, target: Array) -> float:
    """A lower bound, rounding included, of how far the score of each row's class is above those of the others.

    A sum of m products of doubles in any order has an error of at most γ·Σ|w_i·x_i|, γ = m·u/(1 − m·u), u = 2⁻⁵³ (N.
    Higham, "Accuracy and stability of numerical algorithms", 2002, section 3.1). −∞ for a learner without planes, or
    with one plane per pair of classes.
    """
    coef = planes_of(learner)
    if coef is None or coef.shape[0] not in (1, learner.classes_.size):
        return -np.inf
    coef, bias = coef.astype(np.float64), np.atleast_1d(learner.intercept_).astype(np.float64)
    products = (int(np.diff(X.indptr).max(initial=0)) if sp.issparse(X) else X.shape[1]) + 4
    gamma = 2 * products * 2.0**-53 / (1 - products * 2.0**-53)  # twice, because Σ|w_i·x_i| is rounded as well
    low, high = (X @ coef.T + bias, abs(X) @ abs(coef).T + abs(bias))
    if coef.shape[0] == 1:
        return float((np.where(target == 1, low[:, 0], -low[:, 0]) - gamma * high[:, 0]).min())
    rows = np.arange(target.size)
    own = (low - gamma * high)[rows, target]
    rivals = low + gamma * high
    rivals[rows, target] = -np.inf
    return float((own - rivals.max(axis=1)).min())
