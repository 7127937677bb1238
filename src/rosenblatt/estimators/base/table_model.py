"""What `TableClassifier` and `TableRegressor` share: encode, score out of fold, learn from all rows, summarise."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rosenblatt.data.columns.encoding import ParsedColumn, encoded, learned
from rosenblatt.data.columns.frames import Table, as_table
from rosenblatt.estimators.base.calibration import by_class
from rosenblatt.estimators.base.state_checks import check_attributes, must
from rosenblatt.estimators.base.table_summary import TableSummary
from rosenblatt.estimators.table_encoder import DROP, TableEncoder

Array = np.ndarray[Any, Any]
MANY_ROWS, HELD_OUT = 200_000, 100_000  # with more rows, so many are held out once, in place of folds
FAR_APART = 0.1  # training and out-of-fold scores


class TableModel(BaseEstimator):
    """What both models of tables share: encode, score out of fold, learn from all rows, summarise."""

    _parameter_constraints: dict[str, Any] = {
        "columns": [Mapping, None],
        "learner": [StrOptions({"auto"}), HasMethods(["fit", "predict"])],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state"],
    }
    _auto_name: str
    encoder_: TableEncoder
    learner_: Any
    summary_: TableSummary
    n_features_in_: int
    columns: Mapping[str, str] | None
    learner: Any
    scoring: Any
    cv: int
    random_state: Any

    def fit(self, X: Any, y: Any) -> Any:
        """Learn from a table.

        Parameters
        ----------
        X : frame (pandas, polars, Arrow), array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        table = as_table(X)
        y = labels(y)
        if y.shape[0] != table.rows:
            raise ValueError(f"X has {table.rows} rows and y has {y.shape[0]}: inconsistent numbers of samples.")
        return self._fit_table(table, y)

    def _fit_table(self, table: Table, y: Array, kinds: Mapping[str, str] | None = None) -> Any:
        """Learn from columns; `kinds` are those that the format of a file tells."""
        began = time.perf_counter()
        self._validate_params()
        target = self._encode_target(y)
        if table.rows < 2:
            raise ValueError(f"{type(self).__name__} cannot learn from 1 sample: it needs two rows or more.")
        rng = check_random_state(self.random_state)
        self._seed = int(rng.randint(np.iinfo(np.int32).max))
        self.encoder_ = TableEncoder(columns={**(kinds or {}), **(self.columns or {})} or None)
        columns = self.encoder_._columns(table, target, self._class_count())
        self.n_features_in_ = self.encoder_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if table.named:
            self.feature_names_in_ = self.encoder_.feature_names_in_
        folds, notes = self._folds(target, rng)
        tested = np.flatnonzero(folds >= 0)
        scores = self._out_of_fold(columns, target, folds)
        self.encoder_._learn(columns)
        X = encoded(self.encoder_.columns_, columns, table.rows)
        self.learner_ = self._learn(X, target)
        own = self._scores(self.learner_, X)
        self._finish(scores[tested], target[tested], own, target)
        notes += [f"column {name!r}: {note}" for name, note in self.encoder_._notes.items()]
        notes += list(self._suspicious(columns, target, folds))
        summary = self._summarise(scores[tested], target, tested, folds, own)
        summary = replace(summary, weights=self._weights(X), seconds=time.perf_counter() - began)
        self.summary_ = replace(summary, warnings=(*notes, *summary.warnings))
        self._warn()
        return self

    def _warn(self) -> None:
        for name, reason in self.summary_.left_out:
            if (self.columns or {}).get(name) != DROP:
                warnings.warn(f"Column {name!r} is left out: {reason}.", UserWarning, stacklevel=4)
        for one in self.summary_.warnings:
            warnings.warn(one[0].upper() + one[1:] + ".", UserWarning, stacklevel=4)

    # -- for the two to say --------------------------------------------------------------------------------------------

    def _encode_target(self, y: Array) -> Array:
        raise NotImplementedError

    def _class_count(self) -> int | None:
        raise NotImplementedError

    def _auto(self, rows: int) -> Any:
        raise NotImplementedError

    def _folds(self, target: Array, rng: Any) -> tuple[Array, list[str]]:
        raise NotImplementedError

    def _scores(self, learner: Any, X: Any) -> Array:
        raise NotImplementedError

    def _finish(self, scores: Array, target: Array, own: Array, all_targets: Array) -> None:
        raise NotImplementedError

    def _suspicious(self, columns: list[ParsedColumn], target: Array, folds: Array) -> Iterator[str]:
        raise NotImplementedError

    def _summarise(self, scores: Array, target: Array, tested: Array, folds: Array, own: Array) -> TableSummary:
        raise NotImplementedError

    def _weights(self, X: Any) -> tuple[tuple[str, float], ...]:
        raise NotImplementedError

    # -- training ------------------------------------------------------------------------------------------------------

    def _learn(self, X: Any, target: Array) -> Any:
        """A learner of these rows; None where there is no column to learn from."""
        if not X.shape[1]:
            return None
        learner = self._auto(X.shape[0]) if isinstance(self.learner, str) else clone(self.learner)
        if "random_state" in learner.get_params() and learner.get_params()["random_state"] is None:
            learner.set_params(random_state=self._seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # passes are limited on purpose
            return learner.fit(X, target)

    def _out_of_fold(self, columns: list[ParsedColumn], target: Array, folds: Array) -> Array:
        """The score of each row by a model that has seen neither it nor its fold, not even to encode columns."""
        scores: Array | None = None
        for fold in range(int(folds.max(initial=-1)) + 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            seen = [column.take(train) for column in columns]
            encodings = tuple(learned(column) for column in seen)
            learner = self._learn(encoded(encodings, seen, train.size), target[train])
            asked = encoded(encodings, [column.take(test) for column in columns], test.size)
            found = self._scores(learner, asked)
            if scores is None:
                scores = np.zeros((folds.size, *found.shape[1:]))
            scores[test] = found
        return np.zeros(folds.size) if scores is None else scores

    def _base_summary(self, task: str, rows: int, measure: str) -> dict[str, Any]:
        kinds = Counter(one.kind for one in self.encoder_.columns_)
        used = {one.name for one in self.encoder_.columns_}
        return {
            "task": task,
            "rows": rows,
            "kinds": tuple(kinds.most_common()),
            "missing": tuple((name, n) for name, n in self.encoder_.missing_counts_.items() if name in used),
            "left_out": tuple(self.encoder_.left_out_.items()),
            "learner": self._learner_name(),
            "passes": int(getattr(self.learner_, "n_iter_", 0) or 0),
            "seconds": 0.0,
            "measure": measure,
        }

    def _learner_name(self) -> str:
        if self.learner_ is None:
            return "no learner"
        return self._auto_name if isinstance(self.learner, str) else type(self.learner_).__name__

    def _feature_weights(self, X: Any, scale: float) -> tuple[list[str], Array, Array]:
        """Names of features, what each adds per unit, (planes, features), and its deviation."""
        coef = getattr(self.learner_, "coef_", None)
        if coef is None or not X.shape[1]:
            return [], np.zeros((0, 0)), np.zeros(0)
        mean, square = (np.bincount(X.indices, part, X.shape[1]) / X.shape[0] for part in (X.data, X.data**2))
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
        return self.encoder_.get_feature_names_out().tolist(), scale * np.atleast_2d(coef), deviation

    # -- use -----------------------------------------------------------------------------------------------------------

    def _table_scores(self, X: Any) -> Array:
        check_is_fitted(self, "summary_")
        return self._scores(self.learner_, self.encoder_.transform(X))

    def __sklearn_tags__(self) -> Any:
        """Mixed tables with missing values, and sparse matrices."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    # -- model files ---------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Renew what is inside."""
        if getattr(self, "learner_", None) is not None:
            self.learner_._renew()

    def _check_whole(self) -> None:
        """Refuse a model whose parts do not fit together."""
        check_attributes(self)
        if "summary_" not in vars(self):
            return
        must(isinstance(self.summary_, TableSummary) and str(self.summary_), "a summary")
        must(isinstance(vars(self).get("encoder_"), TableEncoder) and "columns_" in vars(self.encoder_), "an encoder")
        self.encoder_._check_whole()
        must("learner_" in vars(self), "a learner")
        width = sum(one.encoding.width for one in self.encoder_.columns_)
        if self.learner_ is None:
            return
        must(width > 0 and hasattr(self.learner_, "_check_whole"), "a learner of rosenblatt")
        self.learner_._check_whole()
        must(vars(self.learner_).get("n_features_in_") == width, "a learner of the encoder's features")


def labels(y: Any) -> Array:
    """The labels as an array, one per row, none of them missing."""
    if hasattr(y, "to_numpy"):
        y = y.to_numpy()
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(f"y has {y.shape[1]} columns, several labels per row: fit one model for each column.")
    y = column_or_1d(y, warn=True)
    missing = np.array([one is None or one != one for one in y.tolist()]) if y.dtype.kind in "Of" else np.zeros(0)
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(f"y contains NaN or None, a missing label, at row {row}: leave out rows without a label.")
    found: Array = y.astype(str) if y.dtype.kind == "O" and all(isinstance(one, str) for one in y.tolist()) else y
    return found


def held_out(rows: Array, total: int, rng: Any) -> Array:
    """Those of these rows that are held out: their share of `HELD_OUT` among all rows."""
    found: Array = rng.permutation(rows)[: rows.size * HELD_OUT // total]
    return found


def r2(target: Array, predictions: Array) -> float:
    """The share of the target's variance that the predictions explain."""
    spread = float(((target - target.mean()) ** 2).sum()) if target.size else 0.0
    return 1 - float(((target - predictions) ** 2).sum()) / spread if spread else 0.0


def doubts(found: dict[str, Any]) -> Iterator[str]:
    """Reasons to distrust the result."""
    if found["score"] - found["interval"] <= found["baseline"]:
        always = "the mean" if found["task"] == "regression" else "the most frequent class"
        yield f"the model is no better, within its interval, than always predicting {always}"
    if found["training_score"] - found["score"] > FAR_APART:
        yield (
            f"{found['measure']} is {found['training_score']:.3f} on the training rows and {found['score']:.3f} out "
            "of fold: the model knows its training rows by heart"
        )


def separation(scores: Array, target: Array) -> str:
    """The proof that planes separate the training rows, if these do: the smallest margin."""
    both = by_class(scores)
    own = np.take_along_axis(both, target[:, None], axis=1)[:, 0]
    rivals = both.copy()
    rivals[np.arange(target.size), target] = -np.inf
    margin = float((own - rivals.max(axis=1)).min())
    if not margin > 0:
        return ""
    return f"separated: every training row is on its side of the learned planes (smallest margin {margin:.3g})"
