"""Online learners of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from rosenblatt.data.examples import Examples, widened
from rosenblatt.estimators.base.fitting import all_or_nothing, one_epoch
from rosenblatt.estimators.base.given_weights import take_weights
from rosenblatt.estimators.base.online_learner import OnlineLearner
from rosenblatt.learn.epochs import InMemory
from rosenblatt.learn.models import Model
from rosenblatt.learn.overflow import check_scores
from rosenblatt.learn.schemes import TWO, Scheme

Array = np.ndarray[Any, Any]


class OnlineRegressor(RegressorMixin, OnlineLearner):
    """An online learner of numbers."""

    def _publish(self, kept: Model) -> None:
        super()._publish(kept)
        self.coef_ = self.coef_[0]

    def _scheme(self, classes: int, labels: bool) -> Scheme:
        return TWO

    def _encode_target(self, y: Any, rows: Any, weights: Array | None, known: Array | None) -> tuple[Any, ...]:
        y = column_or_1d(y, warn=True)
        if y.dtype.kind in "mM" and np.isnat(y).any():  # NumPy would take NaT as the smallest integer
            raise ValueError(f"Input y contains NaT at row {int(np.argmax(np.isnat(y)))}.")
        try:
            target = np.ascontiguousarray(y, dtype=widened(rows.values.dtype))
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must be numbers for regression: {error}.") from error
        if not np.isfinite(target).all():
            row = int(np.flatnonzero(~np.isfinite(target))[0])
            raise ValueError(f"Input y contains NaN or infinity at row {row}.")
        return target, None, weights

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Any:
        """Learn until every row is within its tube or the budget is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight, coef_init, intercept_init : array-like, optional
        X_val, y_val, sample_weight_val : array-like, optional
            With `early_stopping`: the rows to score each epoch on, in place of a part of X.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, coef_init, intercept_init, (X_val, y_val, sample_weight_val))

    @classmethod
    def from_weights(cls, coef: Any, intercept: Any = 0.0, **params: Any) -> Any:
        """A model with these weights, as if it had learned them; `report_` is None.

        Parameters
        ----------
        coef : array-like of shape (d,)
        intercept : float, default=0.0
        **params
            Parameters of the estimator.

        Returns
        -------
        estimator
            It can predict, be saved, and continue learning with `partial_fit`.
        """
        return take_weights(cls(**params), coef, intercept)

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Make one epoch over these rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        self._validate_params()
        plan = self._plan()
        first = self._begins(plan)
        dtype = None if first else self._state.dtype
        examples = self._examples(X, y, sample_weight, reset=first, dtype=dtype)
        self._check_rows(plan, examples)
        source = InMemory(examples)
        state = self._new_state(source, plan) if first else self._state_now(plan)
        one_epoch(self, self._solver(plan, state), source)
        return self

    def _held_out_score(self, kept: Model, examples: Examples, rows: Array) -> float:
        """Weighted R² on held-out rows."""
        mass = None if examples.weights is None else examples.weights[rows]
        said = check_scores(kept.scores(examples.rows, rows))
        return float(r2_score(examples.target[rows], said, sample_weight=mass))

    def predict(self, X: Any) -> Array:
        """Predicted values of rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._answer(self._scores(X), X)
