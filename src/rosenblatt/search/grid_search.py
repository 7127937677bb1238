"""`GridSearchCV`: scikit-learn's search, with the settings and folds of online learners in one pass over the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import get_scorer
from sklearn.metrics._scorer import _BaseScorer
from sklearn.model_selection import GridSearchCV as _GridSearchCV
from sklearn.utils import column_or_1d

from rosenblatt.compiled.tie_rule import decide
from rosenblatt.formats.arrow import check_collected
from rosenblatt.formats.errors import NonFiniteInputError, NotFiniteError
from rosenblatt.formats.reading import in_bytes
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.overflow import all_finite, largest_entry
from rosenblatt.objective.linear import LinearClassifier
from rosenblatt.search.grid_search_pass import LEARNERS, RefusedRows, SharedPass

Array = np.ndarray[Any, Any]


class GridSearchCV(_GridSearchCV):
    """scikit-learn's `GridSearchCV`, with all settings and folds of an online learner in one pass over the rows.

    Settings of `Perceptron`, `AveragedPerceptron`, `PassiveAggressive` and `AROW` that differ in numbers (C, variant,
    margin, learning_rate, r, bias_step, class_weight, fit_intercept), in `keep` ("last" or "average") or in
    `max_epochs`, and all folds, learn as columns of one matrix: a row is read once per epoch for all of them. So do
    those of `LinearClassifier` with the stochastic solver and one loss, without weights, that differ in alpha, penalty,
    l1_ratio, learning_rate, fit_intercept, tol, n_iter_no_change or max_epochs.
    Settings that differ only in `keep` or `max_epochs` share one run. Each column makes the updates of a fit of its own
    that visits its rows in the order of the whole pass; scores are computed in one more sweep per number of epochs.
    Everything else (other estimators, pipelines, orders, early stopping, scoring by a function of X, metadata
    routing) is run as scikit-learn runs it.

    Parameters
    ----------
    estimator, param_grid, scoring, n_jobs, refit, cv, verbose, pre_dispatch, error_score, return_train_score
        As in `sklearn.model_selection.GridSearchCV`. A search in one pass uses one process, whatever `n_jobs` says.
    memory : str or int, default="1GB"
        The most memory that the weights of the columns may take; they learn in blocks that fit.

    Attributes
    ----------
    cv_results_, best_estimator_, best_score_, best_params_, best_index_, scorer_, n_splits_, refit_time_, …
        As in scikit-learn. A fit that was part of a shared pass counts its share of the pass's time. `best_score_` is
        the highest of many scores on the same folds, and therefore higher than the score to expect on new rows.
    one_pass_ : int
        How many of the fits (one per setting and fold) were columns of a shared pass.
    report_ : Report
        How the fit of the best setting on all rows ended: that of `best_estimator_`.

    Examples
    --------
    >>> import numpy as np
    >>> from rosenblatt import GridSearchCV, PassiveAggressive
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = X[:, 0] + 0.5 * rng.normal(size=200) > 0
    >>> grid = {"C": [0.01, 0.1, 1.0], "keep": ["last", "average"]}
    >>> search = GridSearchCV(PassiveAggressive(max_epochs=5, random_state=0), grid, cv=5).fit(X, y)
    >>> search.one_pass_, search.best_params_["keep"]
    (30, 'average')
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        memory: str | int = "1GB",
    ) -> None:
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.memory = memory

    @property
    def report_(self) -> Any:
        """How the fit of the best setting on all rows ended."""
        return self.best_estimator_.report_

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Try every setting on every fold, and fit the best one on all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The training rows.
        y : array-like of shape (n,)
            The labels of the rows.
        **params
            `sample_weight`, `groups` and others, passed on as in scikit-learn.

        Returns
        -------
        self
        """
        self._validate_params()
        limit = in_bytes(self.memory)
        for name, given in {"X": X, "y": y, **params}.items():
            check_collected(given, name)
        well_formed(X)  # SciPy would read outside a sparse matrix whose arrays do not fit together
        plain = (
            type(self.estimator) in LEARNERS
            and y is not None
            and set(params) <= {"sample_weight", "groups"}
            and not sklearn.get_config()["enable_metadata_routing"]
            and not any(getattr(one, "_skl_callbacks", None) for one in (self, self.estimator))
            and _scores_by_answers(self.scoring, type(self.estimator) is not LinearClassifier)
        )
        shared = SharedPass.prepare(self, X, y, params, limit) if plain else None
        if shared is None:
            super().fit(X, y, **params)
            self.one_pass_ = 0
            return self
        shared.learn()
        # The folds are already drawn; the remaining fits use the same ones.
        alone = isinstance(shared, SharedPass) and not shared.columns
        inner = _GridSearchCV(
            self.estimator if alone else OneOfMany(shared),
            self.param_grid,
            scoring=self.scoring,
            n_jobs=self.n_jobs if alone else None,
            refit=self.refit,
            cv=shared.splits,
            verbose=self.verbose,
            pre_dispatch=self.pre_dispatch,
            error_score=self.error_score,
            return_train_score=self.return_train_score,
        )
        given = {name: value for name, value in params.items() if name != "groups"}
        inner.fit(X if alone else np.arange(len(y)), column_or_1d(np.asarray(y)), **given)
        found = {name: value for name, value in vars(inner).items() if name.endswith("_") and not name.startswith("_")}
        if not alone:
            shared.share_time(found["cv_results_"])
            scorers, _ = self._get_scorers()  # of the user's estimator: the stand-in of the pass holds all rows
            found["scorer_"] = getattr(scorers, "_scorers", scorers)
            if "best_estimator_" in found:
                found["best_estimator_"] = found["best_estimator_"].own
                if hasattr(found["best_estimator_"], "feature_names_in_"):
                    found["feature_names_in_"] = found["best_estimator_"].feature_names_in_
        self.__dict__.update(found)
        self.one_pass_ = len(shared.columns)
        return self


def _scores_by_answers(scoring: Any, chances: bool) -> bool:
    """Whether the scorers need nothing but decisions, and probabilities only if `chances` allows them.

    A user's function of (estimator, X, y) may read X, which the pass replaces by row numbers.
    """
    each = (
        scoring.values()
        if isinstance(scoring, Mapping)
        else scoring
        if isinstance(scoring, list | tuple)
        else [scoring]
    )
    if not all(one is None or isinstance(one, str | _BaseScorer) for one in each):
        return False
    try:
        scorers = [] if chances else [get_scorer(one) for one in each if one is not None]
    except ValueError:
        return False  # scikit-learn raises the error
    return not any("predict_proba" in getattr(one, "_response_method", ()) for one in scorers)


@contextmanager
def _numbered_as(rows: Array) -> Iterator[None]:
    """Make errors about a row of a fold name the row of X."""
    try:
        yield
    except NonFiniteInputError as error:
        raise NonFiniteInputError(error.what, int(rows[error.row]), error.column) from None
    except NotFiniteError as error:
        if error.place is None:
            raise
        row, column, value = error.place
        raise error.at((int(rows[row]), column, value)) from None


class OneOfMany(BaseEstimator):
    """A setting of the pass as an estimator for scikit-learn's search: X is row numbers, and scores are looked up."""

    def __init__(self, shared: SharedPass | RefusedRows, params: dict[str, Any] | None = None) -> None:
        self.shared, self.params = shared, params or {}

    def __sklearn_clone__(self) -> OneOfMany:
        return OneOfMany(self.shared, dict(self.params))

    def set_params(self, **params: Any) -> OneOfMany:
        """Store the setting."""
        self.params.update(params)
        return self

    def __sklearn_tags__(self) -> Any:
        return self.shared.model.__sklearn_tags__()

    def fit(self, rows: Array, y: Any, sample_weight: Any = None) -> OneOfMany:
        """Look up the fold that learns from these rows; fit if there is none or the setting is not in the pass."""
        shared = self.shared
        self.fold = shared.fold(rows)
        if self.fold is not None and (scores := shared.scores(self.params, self.fold, 0)) is not None:
            if not all_finite(scores):
                raise NotFiniteError("The score of a row overflowed", largest_entry(shared.X))
            self.classes_ = shared.classes
            return self
        self.fold = None
        self.own = clone(shared.model).set_params(**clone(self.params, safe=False))
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        with _numbered_as(rows):
            self.own.fit(self._rows(rows), y, **given)
        self.classes_ = self.own.classes_
        return self

    def _rows(self, rows: Array) -> Any:
        from sklearn.utils import _safe_indexing

        X = self.shared.X
        return X if np.array_equal(rows, np.arange(self.shared.size)) else _safe_indexing(X, rows)

    def decision_function(self, rows: Array) -> Array:
        """The scores of these rows, which are the test or the training rows of the fold."""
        if self.fold is None:
            with _numbered_as(rows):
                return np.asarray(self.own.decision_function(self._rows(rows)))
        part = 0 if np.array_equal(rows, self.shared.splits[self.fold][1]) else 1
        found = self.shared.scores(self.params, self.fold, part)
        assert found is not None
        return found[:, 0] if found.shape[1] == 1 else found

    def predict(self, rows: Array) -> Any:
        """The classes of these rows."""
        return self.classes_[decide(self.decision_function(rows))]

    def score(self, rows: Array, y: Any, sample_weight: Any = None) -> float:
        """Accuracy."""
        return float(np.average(self.predict(rows) == y, weights=sample_weight))
