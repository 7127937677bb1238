"""The base class of classifiers that are not simply one plane per class: kernels, trees, networks."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.callback import with_callbacks

from rosenblatt.shell.fitting import all_or_nothing
from rosenblatt.shell.online_classifier import OnlineClassifier


class EpochClassifier(OnlineClassifier):
    """A classifier with its own kind of state."""

    several_labels: ClassVar[bool] = False

    @classmethod
    def from_weights(cls, coef: Any, intercept: Any = 0.0, classes: Any = (-1, 1), **params: Any) -> Any:
        """Not available: the model is not a plane."""
        raise TypeError(f"{cls.__name__} is not a linear model: from_weights is for linear models only.")

    @all_or_nothing
    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Any:
        """Learn until the training rows are separated or the budget is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            float32 and float64 are used as they are.
        y : array-like of shape (n,)
            The labels of the rows.
        sample_weight : array-like of shape (n,), optional
            Weight 0 is as if the row were not there.
        X_val, y_val, sample_weight_val : array-like, optional
            With `early_stopping`: the rows to score each epoch on, in place of a part of X.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight, (None, None), (X_val, y_val, sample_weight_val))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Make one epoch over these rows; E calls on all rows are one fit of E epochs.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array-like, optional
            In the first call: all classes to expect.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, classes, sample_weight)
