"""What `TableClassifier` and `TableRegressor` share: encode, score out of fold, learn from all rows, summarise."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rosenblatt.data.arrow_checks import check_collected
from rosenblatt.data.columns.encoding import ParsedColumn, encoded, learned
from rosenblatt.data.columns.fourier import FourierFeatures
from rosenblatt.data.columns.frames import Table, as_table
from rosenblatt.data.columns.held_out import at_level, level_for, row_hashes
from rosenblatt.data.declared_fields import must
from rosenblatt.data.examples import check_no_trailing_nul, is_missing, unrounded
from rosenblatt.data.row_weights import encode_weights
from rosenblatt.estimators.base.column_checks import check_fourier
from rosenblatt.estimators.base.cross_fitting import Candidates, Half, halves
from rosenblatt.estimators.base.fitted_attributes import SHARED, check_attributes
from rosenblatt.estimators.base.fitting import as_it_was
from rosenblatt.estimators.base.table_measures import planes_of
from rosenblatt.estimators.base.table_summary import TableSummary
from rosenblatt.estimators.table_encoder import DROP, TableEncoder
from rosenblatt.estimators.table_search import TableSearch
from rosenblatt.estimators.table_search_rows import TableRows, fourier_features, in_form
from rosenblatt.estimators.table_settings import FOURIER_ROWS, TableSetting

Array = np.ndarray[Any, Any]
MANY_ROWS, HELD_OUT = 200_000, 100_000  # tables with more rows hold out up to HELD_OUT of them once, in place of folds
RUNNERS_UP = 5  # settings listed in the summary


class TrainingParts(Protocol):
    """Encoded rows that the model learned from, in one part or many, here or elsewhere."""

    def ask(self, question: Callable[[TrainingRows], Any]) -> Iterator[Any]:
        """The answer to the question for each part, in order."""


class TrainingRows(NamedTuple):
    """Encoded rows that the model learned from, all or a part of them."""

    X: Any
    target: Array
    weights: Array | None

    def ask(self, question: Callable[[TrainingRows], Any]) -> Iterator[Any]:
        """The answer to the question for these rows."""
        yield question(self)


class UnseenRows(NamedTuple):
    """Rows with the scores of a model that did not learn from them."""

    scores: Array
    target: Array
    folds: Array
    weights: Array | None
    columns: list[ParsedColumn]
    candidates: tuple[Candidates, ...] = ()  # if the setting was chosen by these rows


class TableModel(BaseEstimator):
    """What both models of tables share: encode, score out of fold, learn from all rows, summarise."""

    STORED = SHARED | {"encoder_", "fourier_", "learner_", "setting_", "summary_", "_large", "_seed"}
    _parameter_constraints: dict[str, Any] = {
        "columns": [Mapping, None],
        "learner": [StrOptions({"auto"}), HasMethods(["fit", "predict"]), None],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "seconds": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }
    _default_name: str
    _default_setting: TableSetting
    encoder_: TableEncoder
    learner_: Any
    setting_: TableSetting | None
    fourier_: FourierFeatures | None
    summary_: TableSummary
    n_features_in_: int
    columns: Mapping[str, Any] | None
    learner: Any
    scoring: Any
    cv: int
    seconds: float | None
    random_state: Any
    _seed: int
    _large: bool

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from a table.

        Parameters
        ----------
        X : frame (pandas, polars, Arrow), array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights for the learner, the calibration and the scores; encoders count every row once. Weight 0
            means that the row is absent.
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        table = as_table(X)
        y = label_array(y)
        if y.shape[0] != table.rows:
            raise ValueError(f"X has {table.rows} rows and y has {y.shape[0]}: inconsistent numbers of samples.")
        weights = encode_weights(sample_weight, table.rows)
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            table, y, weights = table.take(kept), y[kept], weights[kept]
        with as_it_was(self):
            return self._fit_table(table, y, weights=weights)

    def _fit_table(
        self, table: Table, y: Array, kinds: Mapping[str, str] | None = None, weights: Array | None = None
    ) -> Any:
        """Learn from columns; `kinds` are the kinds that are known from a file's format."""
        self._validate_params()
        return self._fit_target(table, self._encode_target(y), kinds, weights)

    def _fit_target(
        self, table: Table, target: Array, kinds: Mapping[str, str] | None = None, weights: Array | None = None
    ) -> Any:
        """Learn from columns and an encoded target."""
        began = time.perf_counter()
        if table.rows < 2:
            raise ValueError(f"{type(self).__name__} cannot learn from 1 sample: it needs two rows or more.")
        rng = self._begin(kinds)
        columns = self.encoder_._columns(table, target, self._class_count())
        self._name_columns()
        self._large = table.rows > MANY_ROWS
        learn = self._hold_out if self._large else self._cross_validate
        unseen, training, notes = learn(columns, target, weights, rng)
        return self._conclude(unseen, training, notes, self._class_counts(target), began)

    def _begin(self, kinds: Mapping[str, str] | None) -> Any:
        """Create a new encoder; returns the random number generator."""
        rng = check_random_state(self.random_state)
        self._seed = int(rng.randint(np.iinfo(np.int32).max))
        self.encoder_ = TableEncoder(columns={**(kinds or {}), **(self.columns or {})} or None)
        self.setting_, self.fourier_ = self._default_setting if isinstance(self.learner, str) else None, None
        self._searched, self._unsearched = dict[str, Any](), "no column can be used"
        self.__dict__.pop("reading_", None)  # describes the file of an earlier fit
        return rng

    def _name_columns(self) -> None:
        self.n_features_in_ = self.encoder_.n_features_in_
        self.__dict__.pop("feature_names_in_", None)
        if hasattr(self.encoder_, "feature_names_in_"):
            self.feature_names_in_ = self.encoder_.feature_names_in_

    def _hold_out(
        self, columns: list[ParsedColumn], target: Array, weights: Array | None, rng: Any
    ) -> tuple[UnseenRows, TrainingRows, list[str]]:
        """Learn from most rows of a large table, and score the others."""
        hashes = row_hashes(0, target.size, self._seed)
        held = at_level(hashes, level_for(hashes, HELD_OUT))
        rare, notes = self._rare(np.bincount(target) if self._class_count() else np.zeros(0))
        back = held & np.isin(target, rare)
        rows = np.flatnonzero(held & ~back)
        rest = np.concatenate([np.flatnonzero(~held), np.flatnonzero(back)])
        seen = [column.take(rest) for column in columns]
        mass = None if weights is None else weights[rest]
        self._choose(seen, target[rest], mass, rest, rng)
        seen, tested = self._in_form(seen), [column.take(rows) for column in columns]
        self.encoder_._learn(seen)
        X = encoded(self.encoder_.columns_, seen, rest.size)
        self.learner_ = self._learn(X, target[rest], mass)
        scores = self._scores(self.learner_, encoded(self.encoder_.columns_, self._in_form(tested), rows.size))
        folds = np.zeros(rows.size, np.int64)
        unseen = UnseenRows(scores, target[rows], folds, None if weights is None else weights[rows], tested)
        return unseen, TrainingRows(X, target[rest], mass), notes

    def _cross_validate(
        self, columns: list[ParsedColumn], target: Array, weights: Array | None, rng: Any
    ) -> tuple[UnseenRows, TrainingRows, list[str]]:
        """Score each fold by a model of the others, then learn from all rows."""
        folds, notes = self._folds(target, rng)
        tested = np.flatnonzero(folds >= 0)
        search = self._search(columns, target, weights, folds)
        if search is None or search.rows.numbers is not None:
            used = self._in_form(columns)
            scores = self._out_of_fold(used, target, weights, folds)
            self.encoder_._learn(used)
            X = encoded(self.encoder_.columns_, used, target.size)
            self.fourier_ = self._new_fourier(X)
            X = X if self.fourier_ is None else self.fourier_.beside(X)
            self.learner_ = self._learn(X, target, weights)
        else:
            assert self.setting_ is not None
            scores, form = self._from_learning(search.scores[self.setting_]), search.form(self.setting_)
            self.encoder_.columns_, self.fourier_, X = form.encodings, form.waves, form.X
            self.learner_ = self._learn(X, target, weights, search.planes(self.setting_))
        candidates = self._candidates(search, scores, folds)
        mass = None if weights is None else weights[tested]
        asked = columns if tested.size == target.size else [column.take(tested) for column in columns]
        unseen = UnseenRows(scores[tested], target[tested], folds[tested], mass, asked, candidates)
        return unseen, TrainingRows(X, target, weights), notes

    def _candidates(self, search: TableSearch | None, scores: Array, folds: Array) -> tuple[Candidates, ...]:
        """What the setting was chosen from, for a score that accounts for the choice."""
        if search is None:
            return ()
        tested, numbers = folds >= 0, search.rows.numbers
        if numbers is not None and 2 * numbers.size <= folds.size:  # the other rows had no part in the choice
            others = tested.copy()
            others[numbers] = False
            found = [Candidates(scores[None], tested, others)]
        else:
            found = [one._replace(scores=self._from_learning(one.scores)) for one in search.candidates()]
            found = found if numbers is None else [one.among(numbers, folds.size) for one in found]
        return tuple(one.take(np.flatnonzero(tested)) for one in found)

    def _halves(self, unseen: UnseenRows) -> list[list[Half]]:
        """Predictions of the unseen rows that no label of their own half had a part in, for each cut into halves."""
        candidates = unseen.candidates or (Candidates.only(unseen.scores),)
        shares, K = self._class_shares(), self._class_count() or 0
        return list(halves(candidates, unseen.target, K, unseen.weights, shares, self._seed))

    # -- the search ----------------------------------------------------------------------------------------------------

    def _choose(
        self, columns: list[ParsedColumn], target: Array, weights: Array | None, numbers: Array | None, rng: Any
    ) -> None:
        """Choose a setting from a sample of the rows, which have these numbers; None: the rows are the sample."""
        if self.setting_ is None:
            return
        table = self._table_rows(columns, target, weights, np.full(target.size, -1))
        table = table if numbers is None else table.sample(numbers)
        K = self._class_count()
        self._unsearched = "a class has no row in the sample that is searched"
        if K is None or np.unique(table.target).size == K:
            folds = self._folds(table.target, rng)[0]
            self._search(table.columns, table.target, table.weights, folds)

    def _table_rows(self, columns: list[ParsedColumn], target: Array, weights: Array | None, folds: Array) -> TableRows:
        fixed = frozenset(self.encoder_.columns or {})
        return TableRows(
            columns, target, weights, folds, self._class_count() or 0, self._class_shares(), fixed, self._seed
        )

    def _search(
        self, columns: list[ParsedColumn], target: Array, weights: Array | None, folds: Array
    ) -> TableSearch | None:
        """Choose a setting; returns the search if it tried any."""
        if self.setting_ is None or not columns:
            return None
        table = self._table_rows(columns, self._for_learning(target), weights, folds)
        sample = table.sample(None)
        search = TableSearch(sample, not self._large and target.size <= FOURIER_ROWS, self.seconds).run()
        found = search.ranked()
        if not found:
            self._unsearched = "its budget ends before" if self.seconds is None else "its seconds end before"
            if not search.folds:
                self._unsearched = "there are too few rows for folds"
            return None
        self.setting_ = found[0].setting
        best = max(search.trials, key=lambda one: one.score)
        whole, unit = sample is table and not self._large, self._loss_unit()
        self._searched = {
            "tried": len(search.trials),
            "raced": search.raced,
            "near": len(found),
            "best_score": best.score,
            "runners_up": tuple((str(one.setting), one.score, one.loss * unit) for one in found[1 : 1 + RUNNERS_UP]),
            "searched_rows": 0 if whole else sample.target.size,
        }
        return search

    def _in_form(self, columns: list[ParsedColumn]) -> list[ParsedColumn]:
        """The columns in the form that the setting requires."""
        if self.setting_ is None:
            return columns
        return in_form(self.setting_, columns, frozenset(self.encoder_.columns or {}))

    def _new_fourier(self, X: Any) -> FourierFeatures | None:
        return None if self.setting_ is None or not X.shape[1] else fourier_features(self.setting_, X, self._seed)

    def _conclude(
        self,
        unseen: UnseenRows,
        training: TrainingParts,
        notes: list[str],
        counts: Array,
        began: float,
    ) -> Any:
        """Calibrate, score and summarise."""
        self._calibrate(unseen if unseen.target.size else self._seen(training))
        notes += [f"column {name!r}: {note}" for name, note in self.encoder_._notes.items()]
        notes += list(self._suspicious(unseen))
        if self.setting_ is not None and not self._searched:
            notes.append(f'learner="auto" tried no setting, because {self._unsearched}: the default is used')
        summary = self._summarise(unseen, training, counts)
        summary = replace(summary, weights=self._weights(training), seconds=time.perf_counter() - began)
        self.summary_ = replace(summary, warnings=(*notes, *summary.warnings))
        del self._searched, self._unsearched
        self._warn()
        return self

    def _seen(self, training: TrainingParts) -> UnseenRows:
        """The training rows, for a table with too few rows for folds."""
        scores, targets, weights = zip(*training.ask(self._scored), strict=True)
        target = np.concatenate(targets)
        return UnseenRows(
            np.concatenate(scores), target, target, None if weights[0] is None else np.concatenate(weights), []
        )

    def _scored(self, rows: TrainingRows) -> tuple[Array, Array, Array | None]:
        return self._scores(self.learner_, rows.X), rows.target, rows.weights

    def _warn(self) -> None:
        for name, reason in self.summary_.left_out:
            if (self.columns or {}).get(name) != DROP:
                warnings.warn(f"Column {name!r} is left out: {reason}.", UserWarning, stacklevel=4)
        for one in self.summary_.warnings:
            warnings.warn(one[0].upper() + one[1:] + ".", UserWarning, stacklevel=4)

    # -- what the two subclasses define -------------------------------------------------------------------------------

    def _encode_target(self, y: Array) -> Array:
        raise NotImplementedError

    def _class_count(self) -> int | None:
        raise NotImplementedError

    def _class_counts(self, target: Array) -> Array:
        """The number of rows of each class; for regression, of all rows."""
        raise NotImplementedError

    def _rare(self, counts: Array) -> tuple[Array, list[str]]:
        """The classes with too few rows to hold some of them out, and a note about them."""
        raise NotImplementedError

    def _default_learner(self, rows: int) -> Any:
        raise NotImplementedError

    def _class_shares(self) -> Array:
        """The weights of classes; empty for regression."""
        raise NotImplementedError

    def _for_learning(self, target: Array) -> Array:
        """The target as the learner gets it."""
        return target

    def _from_learning(self, scores: Array) -> Array:
        """The scores of a learner in the unit of the target."""
        return scores

    def _loss_unit(self) -> float:
        """A learner's loss of 1 in the unit of the target."""
        return 1.0

    def _folds(self, target: Array, rng: Any) -> tuple[Array, list[str]]:
        raise NotImplementedError

    def _scores(self, learner: Any, X: Any) -> Array:
        raise NotImplementedError

    def _calibrate(self, unseen: UnseenRows) -> None:
        raise NotImplementedError

    def _suspicious(self, unseen: UnseenRows) -> Iterator[str]:
        raise NotImplementedError

    def _summarise(self, unseen: UnseenRows, training: TrainingParts, counts: Array) -> TableSummary:
        raise NotImplementedError

    def _weights(self, training: TrainingParts) -> tuple[tuple[str, float], ...]:
        raise NotImplementedError

    # -- training ------------------------------------------------------------------------------------------------------

    def _learn(
        self, X: Any, target: Array, weights: Array | None = None, start: tuple[Array, Array] | None = None
    ) -> Any:
        """A learner fitted to these rows, starting from these planes if given; None if there is no column to use."""
        if not X.shape[1]:
            return None
        truth, given = self._for_learning(target), dict[str, Any]()
        if weights is not None:
            given["sample_weight"] = weights
        learner = self._new_learner(*X.shape)
        if start is not None:
            given |= {"coef_init": start[0], "intercept_init": start[1]}
            learner.set_params(max_epochs=1)  # the start is close to the minimum: one step confirms it
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # passes are limited on purpose
            return learner.fit(X, truth, **given)

    def _new_learner(self, rows: int, features: int) -> Any:
        """The unfitted learner for a table with this many rows and features."""
        if self.setting_ is None:
            learner = self._default_learner(rows) if self.learner is None else clone(self.learner)
        else:
            shares = self._class_shares()
            weights = None if (shares == 1).all() else dict(enumerate(shares.tolist()))
            learner = self.setting_.estimator(rows, features, weights, not self._large)
        if "random_state" in learner.get_params() and learner.get_params()["random_state"] is None:
            learner.set_params(random_state=self._seed)
        return learner

    def _out_of_fold(self, columns: list[ParsedColumn], target: Array, weights: Array | None, folds: Array) -> Array:
        """The score of each row by a model, encoders included, that was fitted without the row's fold."""
        scores: Array | None = None
        for fold in range(int(folds.max(initial=-1)) + 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            seen = [column.take(train) for column in columns]
            encodings = tuple(learned(column) for column in seen)
            mass = None if weights is None else weights[train]
            X = encoded(encodings, seen, train.size)
            asked = encoded(encodings, [column.take(test) for column in columns], test.size)
            waves = self._new_fourier(X)
            if waves is not None:
                X, asked = waves.beside(X), waves.beside(asked)
            found = self._scores(self._learn(X, target[train], mass), asked)
            if scores is None:
                scores = np.zeros((folds.size, *found.shape[1:]))
            scores[test] = found
        return np.zeros(folds.size) if scores is None else scores

    def _base_summary(self, task: str, rows: int, measure: str) -> dict[str, Any]:
        kinds = Counter("numbers" if one.kind == "splines" else one.kind for one in self.encoder_.columns_)
        used = {one.name for one in self.encoder_.columns_}
        return {
            "task": task,
            "rows": rows,
            "kinds": tuple(kinds.most_common()),
            "missing": tuple((name, n) for name, n in self.encoder_.missing_counts_.items() if name in used),
            "left_out": tuple(self.encoder_.left_out_.items()),
            "learner": self._learner_name(),
            "passes": int(np.max(getattr(self.learner_, "n_iter_", 0))),
            "seconds": 0.0,
            "measure": measure,
            **self._searched,
        }

    def _unseen_summary(self, unseen: UnseenRows) -> dict[str, Any]:
        """How rows were scored: the fields of the summary that do not depend on the scores."""
        folds = int(unseen.folds.max(initial=-1)) + 1
        held = int(unseen.target.size) if folds == 1 else 0
        return {"score": None, "interval": None, "folds": folds, "held_out": held, "warnings": ()}

    def _learner_name(self) -> str:
        if self.learner_ is None:
            return "no learner"
        if self.setting_ is not None:
            return str(self.setting_)
        return self._default_name if self.learner is None else type(self.learner_).__name__

    def _feature_weights(self, training: TrainingParts, scale: float) -> tuple[list[str], Array, Array]:
        """Names of features, what each adds to the score per unit, (planes, features), and its standard deviation."""
        coef = planes_of(self.learner_)
        if coef is None:
            return [], np.zeros((0, 0)), np.zeros(0)
        n, sums, squares = 0, np.zeros(coef.shape[1]), np.zeros(coef.shape[1])
        for rows, values, squared in training.ask(feature_sums):
            n, sums, squares = n + rows, sums + values, squares + squared
        deviation = np.sqrt(np.maximum(squares / n - (sums / n) ** 2, 0.0))
        names = self.encoder_.get_feature_names_out().tolist()  # random features have no names
        return names, scale * coef[:, : len(names)], deviation[: len(names)]

    # -- use -----------------------------------------------------------------------------------------------------------

    def _table_scores(self, X: Any) -> Array:
        check_is_fitted(self, "summary_")
        rows = self.encoder_.transform(X)
        return self._scores(self.learner_, rows if self.fourier_ is None else self.fourier_.beside(rows))

    def __sklearn_tags__(self) -> Any:
        """X may have columns of mixed types, missing values, or be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    # -- model files ---------------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        """Restore the read-only views of the learner."""
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
        must({"learner_", "setting_", "fourier_"} <= vars(self).keys(), "a learner, a setting and random features")
        width = sum(one.encoding.width for one in self.encoder_.columns_)
        setting, fourier = self.setting_, self.fourier_
        must(setting is None or (isinstance(setting, TableSetting) and setting.is_whole()), "a setting")
        if fourier is not None:
            must(isinstance(fourier, FourierFeatures), "random features")
            check_fourier(fourier, width)
            width += fourier.width
        if self.learner_ is None:
            return
        must(width > 0 and hasattr(self.learner_, "_check_whole"), "a learner of rosenblatt")
        self.learner_._check_whole()
        must(vars(self.learner_).get("n_features_in_") == width, "a learner of the encoder's features")


def label_array(y: Any) -> Array:
    """The labels as an array, one per row, none of them missing."""
    check_collected(y, "y")
    if hasattr(y, "to_numpy"):
        y = y.to_numpy(zero_copy_only=False) if isinstance(y, pa.Array) else y.to_numpy()
    y = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)  # NumPy would turn NaN into a string
    if y.ndim == 2 and y.shape[1] > 1:
        raise ValueError(f"y has {y.shape[1]} columns, several labels per row: fit one model for each column.")
    y = column_or_1d(y, warn=True)
    each = y.tolist() if y.dtype.kind in "Of" else []
    if each and all(type(one) is str for one in each):
        check_no_trailing_nul(each)
        return np.array(each)
    missing = np.isnat(y) if y.dtype.kind in "mM" else np.array([is_missing(one) for one in each])
    if missing.any():
        row = int(np.flatnonzero(missing)[0])
        raise ValueError(f"y contains NaN or None, a missing label, at row {row}: leave out rows without a label.")
    each = each if y.dtype.kind == "O" else []
    alike = any(all(isinstance(one, kind) for one in each) for kind in (str, bool | np.bool_, Real))
    found: Array = unrounded(each, np.array(each)) if each and alike else y
    return found


def feature_sums(rows: TrainingRows) -> tuple[int, Array, Array]:
    """The number of rows, and the sums of the values of each feature and of their squares."""
    X, ones = rows.X, np.ones(rows.X.shape[0])
    return X.shape[0], X.T @ ones, X._with_data(X.data**2, copy=False).T @ ones
