"""What `TableClassifier` and `TableRegressor` share as estimators; `fit` and `results` do the work."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer_names
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from rosenblatt.formats.declared_fields import must, verify
from rosenblatt.learn.examples import encode_weights
from rosenblatt.learn.phases import printed
from rosenblatt.registry import family
from rosenblatt.shell.caller_warnings import warn
from rosenblatt.shell.fitted_attributes import SHARED, check_attributes
from rosenblatt.tables.columns.fourier import FourierFeatures
from rosenblatt.tables.columns.frames import as_table
from rosenblatt.tables.columns.used_columns import ColumnOptions
from rosenblatt.tables.encoder import TableEncoder, sparse_rows, warn_left_out
from rosenblatt.tables.explanation import Explanation, explained
from rosenblatt.tables.fit import learn_table
from rosenblatt.tables.measures import planes_of
from rosenblatt.tables.plan import TablePlan
from rosenblatt.tables.report import TableReport
from rosenblatt.tables.results import concluded
from rosenblatt.tables.settings import TableSetting
from rosenblatt.tables.summary import TableSummary
from rosenblatt.tables.targets import label_array

Array = np.ndarray[Any, Any]
ROWS_AT_ONCE = 8_192


class TableModel(BaseEstimator):
    """What both models of tables share."""

    # The last two are in older files.
    STORED = SHARED | {"encoder_", "fourier_", "learner_", "setting_", "summary_", "_large", "_seed"}
    _parameter_constraints: dict[str, Any] = {
        "columns": [Mapping, None],
        "learner": [StrOptions({"auto", "linear"}), HasMethods(["fit", "predict"]), None],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "seconds": [Interval(Real, 0, None, closed="neither"), None],
        "verbose": ["boolean"],
        "random_state": ["random_state"],
    }
    _target: type[Any]  # ClassTarget or NumberTarget
    encoder_: TableEncoder
    learner_: Any
    setting_: TableSetting | None
    fourier_: FourierFeatures | None
    summary_: TableSummary

    def __init__(
        self,
        *,
        columns: Mapping[str, Any] | None = None,
        learner: Any = "auto",
        scoring: Any = None,
        cv: int = 5,
        seconds: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.columns, self.learner, self.scoring, self.cv = columns, learner, scoring, cv
        self.seconds, self.verbose, self.random_state = seconds, verbose, random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from a table.

        Parameters
        ----------
        X : frame (pandas, polars, Arrow), array-like or sparse matrix of shape (n, d)
            The training rows.
        y : array-like of shape (n,)
            The targets of the rows.
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
        began, plan = time.perf_counter(), self.plan()
        target, y = plan.target.of(y, plan.class_weight)
        with printed(self.verbose):
            found = learn_table(plan, table, target, y, weights)
        return store(self, concluded(*found, began))

    def plan(self, kinds: Mapping[str, str] | None = None) -> TablePlan:
        """What the parameters say, checked, with the random numbers of one fit.

        Parameters
        ----------
        kinds : mapping of str to str, optional
            The kinds of columns that are known from a file's format.
        """
        self._validate_params()
        rng, given = check_random_state(self.random_state), self.get_params(deep=False)
        return TablePlan(
            type(self).__name__,
            self._target,
            ColumnOptions({**(kinds or {}), **(self.columns or {})}),
            self.learner,
            self.scoring,
            self.cv,
            given.get("class_weight"),
            self.seconds,
            rng,
            int(rng.randint(np.iinfo(np.int32).max)),
        )

    @property
    def report_(self) -> TableReport:
        """How the fit ended."""
        check_is_fitted(self, "summary_")
        return TableReport.of(self.summary_, self.learner_)

    def explain(self, X: Any) -> Explanation:
        """What each column adds to the scores of rows, for learners with one plane per class (or one for two).

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
            The rows to explain.

        Returns
        -------
        Explanation
            The base and the contributions, which add up to `decision_function`, or to `predict` of numbers.
        """
        check_is_fitted(self, "summary_")
        coef, base = self._score_planes()
        return explained(self.encoder_.columns_, self.fourier_, self.encoder_.transform(X), coef, base)

    def _score_planes(self) -> tuple[Array, Array]:
        """The weights (planes, features) and biases (planes,) of what `explain` explains."""
        raise NotImplementedError

    def _learned_planes(self, planes: int) -> tuple[Array, Array]:
        """The weights and biases of the learner, which must have so many planes."""
        if self.learner_ is None:
            return np.zeros((planes, 0)), np.zeros(planes)
        coef = planes_of(self.learner_)
        if coef is None or coef.shape[0] != planes:
            raise ValueError(
                f"explain needs one plane per class (one for two classes, or for numbers), which "
                f"{type(self.learner_).__name__} does not have: leave out learner, or take a linear one."
            )
        return coef.astype(np.float64), np.atleast_1d(self.learner_.intercept_).astype(np.float64)

    # -- scikit-learn and model files ----------------------------------------------------------------------------------

    def _parts(self, X: Any) -> Iterator[Any]:
        """The rows of a table as the learner gets them; those with random features, which are dense, part by part."""
        check_is_fitted(self, "summary_")
        rows = sparse_rows(self.encoder_, X)
        if self.fourier_ is None:
            yield rows
            return
        for begin in range(0, max(rows.shape[0], 1), ROWS_AT_ONCE):
            yield self.fourier_.beside(rows[begin : begin + ROWS_AT_ONCE])

    def __sklearn_tags__(self) -> Any:
        """X may have columns of mixed types, missing values, or be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    def _renew(self) -> None:
        """Restore the read-only views of the learner."""
        if vars(self).get("learner_") is not None:
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
            verify(fourier, FourierFeatures, d=width)
            width += fourier.width
        if self.learner_ is None:
            return
        must(width > 0 and family(self.learner_), "a learner of rosenblatt")
        self.learner_._check_whole()
        must(vars(self.learner_).get("n_features_in_") == width, "a learner of the encoder's features")


def store(model: TableModel, fitted: Mapping[str, Any]) -> Any:
    """Warn of what the user should know, then give a model these attributes in place of those of an earlier fit."""
    summary = fitted["summary_"]
    warn_left_out(dict(summary.left_out), model.columns)
    for one in summary.warnings:
        warn(one[0].upper() + one[1:] + ".", UserWarning)
    kept = {name: value for name, value in vars(model).items() if name not in model.STORED}
    model.__dict__ = {**kept, **fitted}
    return model
