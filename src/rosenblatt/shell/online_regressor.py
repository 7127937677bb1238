"""Online learners of numbers."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.callback import with_callbacks

from rosenblatt.shell.encoding import NUMBERS, Classes, Numbers
from rosenblatt.shell.fitting import all_or_nothing
from rosenblatt.shell.given_weights import take_weights
from rosenblatt.shell.online_learner import OnlineLearner

Array = np.ndarray[Any, Any]


class OnlineRegressor(RegressorMixin, OnlineLearner):
    """An online learner of numbers."""

    _target: ClassVar[Classes | Numbers] = NUMBERS

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
            The training rows.
        y : array-like of shape (n,)
            The targets of the rows.
        sample_weight, coef_init, intercept_init : array-like, optional
            The weights of the rows, and the initial weights and bias; by default 1 and 0.
        X_val, y_val, sample_weight_val : array-like, optional
            With `early_stopping`: the rows to score each epoch on, in place of a part of X.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, (coef_init, intercept_init), (X_val, y_val, sample_weight_val))

    @classmethod
    def from_weights(cls, coef: Any, intercept: Any = 0.0, **params: Any) -> Any:
        """A model with these weights, as if it had learned them; `report_` is None.

        Parameters
        ----------
        coef : array-like of shape (d,)
            The weights, one per feature.
        intercept : float, default=0.0
            The bias.
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
        return self._one_more_epoch(X, y, sample_weight)

    def predict(self, X: Any) -> Array:
        """Predicted values of rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows to predict.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._reader.answer(self._scores(X), X)
