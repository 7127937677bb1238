"""Online learners that classify: labels to codes, two classes or many, new classes in later calls."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks

from rosenblatt.compiled.tie_rule import decide
from rosenblatt.shell.fitting import all_or_nothing
from rosenblatt.shell.given_weights import take_weights
from rosenblatt.shell.online_learner import OnlineLearner

Array = np.ndarray[Any, Any]


class OnlineClassifier(ClassifierMixin, OnlineLearner):
    """An online learner of classes, or of labels by an indicator matrix."""

    classes_: Array
    multiclass: str

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
        """Learn until every row is right or the budget is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            float32 and float64 are used as they are, without a copy.
        y : array-like of shape (n,), or an indicator of labels of shape (n, K)
            The labels of the rows.
        sample_weight : array-like of shape (n,), optional
            A row of weight s gets ⌈s⌉ visits in a row, the last with the remaining fraction as its step. Weight 0 means
            that the row is absent. Weights that make an epoch repeat more visits than 100 per row, and more than
            a million in all, are refused: scale them down.
        coef_init, intercept_init : array-like, optional
            Initial weights, in the shapes of `coef_` and `intercept_`; zero by default.
        X_val, y_val, sample_weight_val : array-like, optional
            With `early_stopping`: the rows to score each epoch on, in place of a part of X.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, (coef_init, intercept_init), (X_val, y_val, sample_weight_val))

    @classmethod
    def from_weights(cls, coef: Any, intercept: Any = 0.0, classes: Any = (-1, 1), **params: Any) -> Any:
        """A model with these weights, as if it had learned them; `report_` is None.

        Parameters
        ----------
        coef : array-like of shape (d,) or (K, d)
            The weights, one per feature.
        intercept : float or array-like of shape (K,), default=0.0
            The bias of each plane.
        classes : sequence, default=(-1, 1)
            Two classes for one row of coef, which is positive for the second; otherwise one class per row.
        **params
            Parameters of the estimator.

        Returns
        -------
        estimator
            It can predict, be plotted, saved and traced, and continue learning with `partial_fit`. In a vote the
            weights have one vote; covariances are the initial ones.

        Examples
        --------
        >>> from rosenblatt import Perceptron
        >>> Perceptron.from_weights([3, 4], -12).decision_function([[0, 4], [0, 0]])
        array([  4., -12.])
        """
        return take_weights(cls(**params), coef, intercept, classes)

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Make one epoch over these rows.

        E calls on all rows are one fit of E epochs. New classes may appear in any call.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            Classes to expect, whether or not they are in y.

        Returns
        -------
        self
        """
        return self._one_more_epoch(X, y, sample_weight, classes)

    def decision_function(self, X: Any) -> Array:
        """Scores of rows: (n,) for two classes, positive for `classes_[1]`; (n, K) for more.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows to score.

        Returns
        -------
        ndarray
        """
        return self._reader.answer(self._scores(X), X)

    def predict(self, X: Any) -> Array:
        """Classes of rows, or an indicator of labels if that is what was learned.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows to predict.

        Returns
        -------
        ndarray
        """
        scores = self._scores(X)
        if self._by_labels:
            return self._reader.answer(decide(scores, labels=True).astype(np.int64), X)
        codes = decide(scores)
        return self._reader.answer(self.classes_[codes if self.classes_.size > 1 else np.zeros_like(codes)], X)

    def __sklearn_tags__(self) -> Any:
        """An indicator of labels is accepted if the learner supports it."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.several_labels
        return tags
