"""Early stopping with the user's own rows and measure: X_val, y_val, sample_weight_val, and scoring."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length
from sklearn.utils._param_validation import StrOptions

from rosenblatt.learn.examples import Examples, encode_weights
from rosenblatt.learn.labels import as_labels, distinct
from rosenblatt.shell.encoding import Reader

Array = np.ndarray[Any, Any]


class HeldOutRows(NamedTuple):
    """Rows to score on, as the user gave them."""

    X: Any
    y: Any
    weights: Array | None


def given_rows(
    estimator: Any, reader: Reader, examples: Examples, X_val: Any, y_val: Any, sample_weight_val: Any
) -> HeldOutRows | None:
    """The caller's validation rows, checked; None if there are none."""
    if X_val is None:
        if y_val is not None or sample_weight_val is not None:
            raise ValueError(f"{'sample_weight_val' if y_val is None else 'y_val'} is given without X_val: pass both.")
        return None
    if y_val is None:
        raise ValueError("X_val is given without y_val: pass both.")
    if not estimator.early_stopping:
        raise ValueError("X_val is for early stopping: set early_stopping=True.")
    reader.rows(estimator, X_val)
    check_consistent_length(X_val, y_val)
    if examples.classes is not None and examples.target.ndim == 1:
        strange = np.setdiff1d(distinct(as_labels(y_val)), examples.classes)
        if strange.size:
            raise ValueError(f"y_val has the class {strange.item(0)!r}, which y does not have.")
    weights = encode_weights(sample_weight_val, len(y_val) if not hasattr(y_val, "shape") else y_val.shape[0])
    return HeldOutRows(X_val, y_val, weights)


def chosen_rows(X: Any, y: Any, sample_weight: Any, rows: Array) -> HeldOutRows:
    """These rows of what the user gave."""
    index = rows.astype(np.int64)
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)[index]
    return HeldOutRows(_safe_indexing(X, index), _safe_indexing(y, index), weights)


class ScorerName(StrOptions):
    """The name of a scikit-learn scorer; the list of names, slow to import, is imported only to check a name."""

    def __init__(self) -> None:
        super().__init__({"accuracy"})

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether this is the name of a scorer."""
        if not isinstance(val, str):
            return False
        from sklearn.metrics import get_scorer_names

        return val in get_scorer_names()

    def __str__(self) -> str:
        return "the name of a scorer of scikit-learn (sklearn.metrics.get_scorer_names())"


class ScoredRows:
    """The score of a model on held-out rows, by the estimator's `scoring`; a copy of the estimator predicts."""

    def __init__(self, estimator: Any, attributes: Callable[[Any], dict[str, Any]], rows: HeldOutRows) -> None:
        from sklearn.metrics import check_scoring  # here, because it takes long to import

        self.estimator, self.attributes, self.rows = estimator, attributes, rows
        self.copy = clone(estimator)
        self.scorer = check_scoring(self.copy, scoring=estimator.scoring)

    def __call__(self, kept: Any) -> float:
        """Score this model."""
        vars(self.copy).update(self.attributes(kept))
        X, y, weights = self.rows
        score = float(self.scorer(self.copy, X, y, **({} if weights is None else {"sample_weight": weights})))
        if not math.isfinite(score):
            raise ValueError(f"scoring={self.estimator.scoring!r} gives {score} on the held-out rows.")
        return score
