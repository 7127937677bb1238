"""Online learners that classify: labels to codes, two classes or many, new classes in later calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.callback import with_callbacks
from sklearn.utils import column_or_1d

from rosenblatt.data.examples import (
    Examples,
    as_labels,
    check_labels,
    coded_labels,
    distinct,
    encode_indicator,
    encode_labels,
    merge_labels,
)
from rosenblatt.data.row_weights import class_weights
from rosenblatt.data.sparse_checks import well_formed
from rosenblatt.estimators.base.fitting import all_or_nothing, named_classes, one_epoch, warn
from rosenblatt.estimators.base.given_weights import take_weights
from rosenblatt.estimators.base.online_learner import OnlineLearner
from rosenblatt.learn.epochs import InMemory
from rosenblatt.learn.online.new_classes import grow
from rosenblatt.learn.online.solver import Plan
from rosenblatt.learn.overflow import check_scores
from rosenblatt.learn.schemes import REST, SCHEMES, TWO, Scheme
from rosenblatt.learn.tie_rule import decide

Array = np.ndarray[Any, Any]


def encoded_classes(y: Any, weights: Array | None, known: Array | None, class_weight: Any) -> tuple[Any, ...]:
    """Codes of the rows' classes or an indicator of labels, the classes, and the rows' weights times class weights."""
    sparse = sp.issparse(y)
    if sparse and len(y.shape) == 2 and y.shape[1] == 1:
        y, sparse = well_formed(y, "y").toarray(), False  # one column of classes, as in a dense y
    y = y if sparse else as_labels(y)
    if sparse or (y.ndim == 2 and y.shape[1] > 1):
        indicator = encode_indicator(y)
        if class_weight is not None:
            raise ValueError("class_weight weighs classes; for an indicator of labels pass sample_weight.")
        return indicator, np.arange(indicator.shape[1]), weights
    plain = y.ndim == 1 and y.dtype.kind in "biufUSO"  # nothing that scikit-learn would convert or refuse
    y = y if plain else column_or_1d(y, warn=True)
    present = y if weights is None or weights.all() else y[weights > 0]
    coded = coded_labels(y) if present is y and known is None else None
    classes = distinct(present) if coded is None else coded[0]
    check_labels(y, classes if present is y else distinct(y))
    if known is not None:
        classes = merge_labels(known, classes) if classes.size else known
    if present is not y:  # labels of rows of weight 0 are not classes; their code is never read
        codes = np.zeros(y.shape[0], dtype=np.int32)
        codes[weights > 0] = encode_labels(present, classes)  # type: ignore[operator]
    else:
        codes = encode_labels(y, classes) if coded is None else coded[1]
    shares = None if class_weight is None else class_weights(class_weight, classes, codes, weights)
    if shares is not None:
        weights = shares[codes] * (1.0 if weights is None else weights)
        if not weights.any():
            raise ValueError("class_weight is zero on every row: there is nothing to learn from.")
    return codes, classes, weights


class OnlineClassifier(ClassifierMixin, OnlineLearner):
    """An online learner of classes, or of labels by an indicator matrix."""

    classes_: Array
    multiclass: str
    class_weight: Any

    def _scheme(self, classes: int, labels: bool) -> Scheme:
        return REST if labels else TWO if classes <= 2 else SCHEMES[self.multiclass]

    def _encode_target(self, y: Any, rows: Any, weights: Array | None, known: Array | None) -> tuple[Any, ...]:
        return encoded_classes(y, weights, known, self.class_weight)

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
        return self._fit(X, y, sample_weight, coef_init, intercept_init, (X_val, y_val, sample_weight_val))

    @classmethod
    def from_weights(cls, coef: Any, intercept: Any = 0.0, classes: Any = (-1, 1), **params: Any) -> Any:
        """A model with these weights, as if it had learned them; `report_` is None.

        Parameters
        ----------
        coef : array-like of shape (d,) or (K, d)
        intercept : float or array-like of shape (K,), default=0.0
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

    def _check_classes(self, examples: Examples) -> None:
        assert examples.classes is not None
        if examples.classes.size < 2 and examples.target.ndim == 1:
            raise ValueError(
                f"{type(self).__name__} needs at least 2 classes to learn from; y has 1 class: "
                f"{examples.classes.item(0)!r}."
            )
        self._check_labels(examples)

    def _check_labels(self, examples: Examples) -> None:
        """Warn that a one-hot y is read as labels: with two dimensions a row may have several."""
        if examples.target.ndim == 2 and examples.target.shape[0] > 1 and (examples.target.sum(axis=1) == 1).all():
            warn(
                "y has exactly one 1 in every row, and is read as labels: each column is learned on its own, and a row "
                "may get several or none. If the columns are classes, pass y.argmax(axis=1).",
                UserWarning,
            )

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
        self._validate_params()
        plan = self._plan()
        if isinstance(self.class_weight, str):
            raise ValueError('class_weight="balanced" needs all rows at once; pass a mapping to partial_fit.')
        first = self._begins(plan)
        known = None if first else self.classes_
        if classes is not None:
            named = named_classes(classes)
            known = named if known is None else merge_labels(known, named)
        dtype = None if first else self._state.dtype
        examples = self._examples(X, y, sample_weight, reset=first, dtype=dtype, known=known)
        self._check_rows(plan, examples)
        if first:
            self._check_labels(examples)
        source = InMemory(examples)
        state = self._new_state(source, plan) if first else self._grown(examples, plan)
        one_epoch(self, self._solver(plan, state), source)
        return self

    def _grown(self, examples: Examples, plan: Plan) -> Any:
        """A copy of the state, stored once its epoch is complete, extended by new classes."""
        assert examples.classes is not None
        known, found, labels = self.classes_.size, examples.classes.size, examples.target.ndim == 2
        if labels != self._labels() or (labels and known != found):
            raise ValueError(
                f"y has {found} {'label columns' if labels else 'classes'}, the model learned {known} "
                f"{'label columns' if self._labels() else 'classes'}."
            )
        scheme = self._scheme(found, labels)
        if known > 2 and scheme != self._state.scheme:
            raise ValueError(
                f"multiclass was {self._state.scheme.name!r} in the first call and is now {scheme.name!r}."
            )
        if known == found:
            return self._state_now(plan)
        places = np.searchsorted(examples.classes, self.classes_)
        return grow(self._state_now(plan), places, found, scheme, plan.rule)

    def _labels(self) -> bool:
        """Whether the model was fitted to an indicator of labels."""
        return bool(self._by_labels)

    def _held_out_score(self, kept: Any, examples: Examples, rows: Array) -> float:
        """Weighted accuracy on held-out rows."""
        labels, right, total = examples.target.ndim == 2, 0.0, 0.0
        for begin in range(0, rows.size, 1 << 14):
            index = rows[begin : begin + (1 << 14)]
            truth, said = examples.target[index], decide(check_scores(kept.scores(examples.rows, index)), labels)
            hit = (said == truth) if not labels else (said == truth).all(axis=1)
            mass = np.ones(index.size) if examples.weights is None else examples.weights[index]
            right, total = right + float(mass[hit].sum()), total + float(mass.sum())
        return right / total

    def decision_function(self, X: Any) -> Array:
        """Scores of rows: (n,) for two classes, positive for `classes_[1]`; (n, K) for more.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        ndarray
        """
        return self._answer(self._scores(X), X)

    def predict(self, X: Any) -> Array:
        """Classes of rows, or an indicator of labels if that is what was learned.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        ndarray
        """
        scores = self._scores(X)
        if self._labels():
            return self._answer(decide(scores, labels=True).astype(np.int64), X)
        codes = decide(scores)
        return self._answer(self.classes_[codes if self.classes_.size > 1 else np.zeros_like(codes)], X)

    def __sklearn_tags__(self) -> Any:
        """An indicator of labels is accepted if the learner supports it."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._takes_labels
        return tags
