"""Losses and their gradients, by name, as functions to call.

Losses of the margin m = y·f: "zero_one", "perceptron", "hinge", "squared_hinge", "log", "exponential" and
"modified_huber". Losses of the residual r = f − y: "squared", "absolute", "huber", "log_cosh" and
"epsilon_insensitive".

Examples
--------
>>> from rosenblatt import losses
>>> losses.value("hinge", [-1.0, 0.5, 2.0])
array([2. , 0.5, 0. ])
>>> losses.gradient("hinge", [-1.0, 0.5, 2.0])
array([-1., -1.,  0.])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.objective.compiled_losses import curve
from rosenblatt.objective.linear import LinearClassifier, LinearRegressor
from rosenblatt.objective.losses import LOSSES
from rosenblatt.objective.penalties import PENALTIES
from rosenblatt.shell.fitted import fitted

__all__ = ["Objective", "gradient", "objective", "value"]

Array = np.ndarray[Any, Any]


def value(loss: str, at: Any, *, epsilon: float = 0.1) -> Array:
    """The loss at margins or residuals.

    Parameters
    ----------
    loss : str
    at : array-like
        Margins y·f or residuals f − y.
    epsilon : float, default=0.1
        Where Huber's loss becomes straight, or half the width of the tube.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from rosenblatt import losses
    >>> losses.value("hinge", [-1, 0, 1, 2])
    array([2., 1., 0., 0.])
    """
    return curve(_known(loss), at, epsilon)


def gradient(loss: str, at: Any, *, epsilon: float = 0.1) -> Array:
    """The derivative of the loss at margins or residuals; at a kink, the subgradient that learners use.

    Parameters
    ----------
    loss, at, epsilon
        As in `value`.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> from rosenblatt import losses
    >>> losses.gradient("perceptron", [-1, 0, 1])
    array([-1., -1.,  0.])
    """
    return curve(_known(loss), at, epsilon, slopes=True)


def _known(loss: str) -> str:
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {sorted(LOSSES)}, got {loss!r}.")
    return loss


@dataclass(frozen=True)
class Objective:
    """Mean loss + penalty of a model on rows, and their gradients; what `objective` returns.

    Attributes
    ----------
    losses : ndarray of shape (n,)
        The loss of each row, summed over planes.
    data_loss : float
        Their weighted mean.
    penalty : float
    coef_gradient, intercept_gradient : ndarray
        The gradients of the data loss, in the shapes of `coef_` and `intercept_`.
    penalty_gradient : ndarray
        The gradient of the penalty, in the shape of `coef_`; intercepts are not penalised.
    """

    losses: Array
    data_loss: float
    penalty: float
    coef_gradient: Array
    intercept_gradient: Array
    penalty_gradient: Array

    @property
    def total(self) -> float:
        """Data loss + penalty."""
        return self.data_loss + self.penalty


def objective(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Objective:
    """The objective of a linear model on rows: its data loss and penalty, with their gradients.

    Parameters
    ----------
    model : LinearClassifier or LinearRegressor
        Fitted, or made by `from_weights`.
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
    sample_weight : array-like of shape (n,), optional

    Returns
    -------
    Objective

    Examples
    --------
    >>> from rosenblatt import LinearRegressor, losses
    >>> model = LinearRegressor.from_weights([2.0], 1.0, penalty=None)
    >>> found = losses.objective(model, [[0.0], [1.0]], [1.0, 5.0])
    >>> found.losses, found.data_loss, found.coef_gradient
    (array([0., 2.]), 1.0, array([-1.]))
    """
    if not isinstance(model, LinearClassifier | LinearRegressor):
        raise TypeError(f"objective takes a LinearClassifier or a LinearRegressor, not a {type(model).__name__}.")
    found, slopes = _of_residuals(model, X, y) if isinstance(model, LinearRegressor) else _of_margins(model, X, y)
    weights = np.ones(len(found)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    slopes = slopes * (weights / weights.sum())[:, None]
    rows = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    coef, penalty = np.asarray(model.coef_, dtype=np.float64), PENALTIES[model.penalty]
    by_intercept = slopes.sum(axis=0) if model.fit_intercept else np.zeros(slopes.shape[1])
    return Objective(
        found,
        float(weights @ found / weights.sum()),
        penalty.value(coef, model.alpha, model.l1_ratio),
        np.asarray((rows.T @ slopes).T).reshape(coef.shape),
        by_intercept,
        penalty.slope(coef, model.alpha, model.l1_ratio),
    )


def _of_residuals(model: LinearRegressor, X: Any, y: Any) -> tuple[Array, Array]:
    """The loss of each row, and its slope in f (n, 1)."""
    r = model.predict(X) - np.asarray(y, dtype=np.float64)
    return curve(model.loss, r, model.epsilon), curve(model.loss, r, model.epsilon, slopes=True)[:, None]


def _of_margins(model: LinearClassifier, X: Any, y: Any) -> tuple[Array, Array]:
    """The loss of each row, and its slope in the score of each plane (n, K)."""
    scores = np.asarray(model.decision_function(X), dtype=np.float64)
    y, classes = np.asarray(y), model.classes_
    if y.ndim == 1 and not np.isin(y, classes).all():
        raise ValueError(f"y has the label {y[~np.isin(y, classes)][0]!r}; the model knows {classes.tolist()}.")
    on = y[:, None] == classes if y.ndim == 1 else y != 0
    if fitted(model).model.scheme.joint:
        shifted = scores - scores.max(axis=1, keepdims=True)
        odds = np.exp(shifted)
        total = odds.sum(axis=1)
        return np.log(total) - shifted[on], odds / total[:, None] - on
    side = np.where(on[:, 1:] if scores.ndim == 1 else on, 1.0, -1.0)
    m = side * (scores[:, None] if scores.ndim == 1 else scores)
    return curve(model.loss, m).sum(axis=1), side * curve(model.loss, m, slopes=True)
