"""Search of a grid in one pass: every setting and every fold of an online learner is a column of one matrix."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.metrics import get_scorer
from sklearn.metrics._scorer import _BaseScorer
from sklearn.model_selection import GridSearchCV as _GridSearchCV
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import column_or_1d, indexable

from rosenblatt.data.errors import NonFiniteInputError, NotFiniteError
from rosenblatt.data.examples import Dense, class_weights, is_narrow, radius2
from rosenblatt.data.formats.reading import in_bytes
from rosenblatt.data.sparse_checks import well_formed
from rosenblatt.estimators.base.online_classifier import OnlineClassifier
from rosenblatt.estimators.linear import LinearClassifier
from rosenblatt.estimators.passive_aggressive import PassiveAggressive
from rosenblatt.estimators.perceptron import AveragedPerceptron, Perceptron
from rosenblatt.estimators.second_order import AROW
from rosenblatt.learn.linear.many_descents import Descent, ManyDescents
from rosenblatt.learn.linear.stochastic import ObjectivePlan
from rosenblatt.learn.online.many_settings import FoldRows, ManySettings, Setting
from rosenblatt.learn.online.rules import AROW as SECOND
from rosenblatt.learn.online.rules import CONSTANT, HARMONIC, ROOT, Encoded, squared_bias_feature
from rosenblatt.learn.online.solver import Plan, default_epochs
from rosenblatt.learn.orders import Cyclic, Shuffled
from rosenblatt.learn.overflow import all_finite, largest_entry
from rosenblatt.learn.schemes import PAIRS, SCHEMES
from rosenblatt.learn.simd_lanes import WIDTH
from rosenblatt.learn.tie_rule import decide

Array = np.ndarray[Any, Any]
LEARNERS = (Perceptron, AveragedPerceptron, PassiveAggressive, AROW, LinearClassifier)
Run = ManySettings | ManyDescents
HEAVIEST = 100.0  # rows of larger weights need too many visits for a pass that all settings share


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
        As in scikit-learn. A fit that was part of a shared pass counts its share of the pass's time.
    one_pass_ : int
        How many of the fits (one per setting and fold) were columns of a shared pass.

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

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Try every setting on every fold, and fit the best one on all rows.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
        y : array-like of shape (n,)
        **params
            `sample_weight`, `groups` and others, passed on as in scikit-learn.

        Returns
        -------
        self
        """
        self._validate_params()
        limit = in_bytes(self.memory)
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


# -- which settings learn together -------------------------------------------------------------------------------------


def _key(params: Mapping[str, Any]) -> str:
    return repr(sorted((name, repr(value)) for name, value in params.items()))


@dataclass(frozen=True)
class GridColumn:
    """Where the scores of a setting are stored: the key of its machine, its number of epochs and its `keep`."""

    machine: tuple[Any, ...]
    epochs: int
    average: bool


@dataclass
class SharedPass:
    """All settings of a search that learn together, and their scores."""

    model: OnlineClassifier
    X: Any
    size: int
    splits: list[tuple[Array, Array]]
    data: FoldRows
    classes: Array
    order: Cyclic | Shuffled
    train_scores: bool
    limit: int
    columns: dict[tuple[int, str], GridColumn] = field(default_factory=dict)
    machines: dict[tuple[Any, ...], tuple[Encoded | ObjectivePlan, tuple[float, ...], int]] = field(
        default_factory=dict
    )
    found: dict[tuple[Any, ...], Array] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def prepare(
        cls, search: GridSearchCV, X: Any, y: Any, params: dict[str, Any], limit: int
    ) -> SharedPass | RefusedRows | None:
        """The settings that can learn together; None if there are none, or if a separate fit has to raise an error."""
        base = clone(search.estimator)
        candidates = list(ParameterGrid(search.param_grid))
        try:
            models = [clone(base).set_params(**clone(each, safe=False)) for each in candidates]
            able = [one if _able(one) else None for one in models]
            first = next((one for one in able if one is not None), None)
            if first is None:
                return None
            X, y = indexable(X, y)
            unweighted = clone(first).set_params(class_weight=None)  # each setting has its own class_weight
            examples = unweighted._examples(X, y, params.get("sample_weight"), reset=True)
        except NonFiniteInputError:
            # A matrix of labels is left to scikit-learn.
            return None if np.ndim(y) > 1 else RefusedRows(base, X, len(y), _splits(search, base, X, y, params))
        except (ValueError, TypeError):
            return None  # scikit-learn raises the error
        weights = np.zeros(0) if examples.weights is None else examples.weights
        n, classes = examples.target.shape[0], 0 if examples.classes is None else int(examples.classes.size)
        descends = isinstance(first, LinearClassifier)
        scheme = first._scheme(classes, False) if descends else SCHEMES["one" if classes == 2 else first.multiclass]
        if (
            is_narrow(examples.rows)
            or examples.target.ndim == 2
            or classes < 2
            or scheme == PAIRS
            or weights.max(initial=1.0) > HEAVIEST
            or (descends and (weights.size or not math.isfinite(examples.radius2)))  # some folds may have no step size
        ):
            return None
        assert examples.classes is not None
        splits = _splits(search, base, X, y, params)
        member = np.zeros((n, len(splits)), dtype=bool)
        for fold, (train, _) in enumerate(splits):
            member[train, fold] = True
        shuffled = first.order == "shuffle"
        # Not shared: folds with repeated rows or their own row order, and folds with identical training rows.
        alike = len({train.tobytes() for train, _ in splits} | {np.arange(n).tobytes()}) <= len(splits)
        twice = any(np.count_nonzero(member[:, fold]) != train.size for fold, (train, _) in enumerate(splits))
        turned = not shuffled and any((np.diff(train) < 0).any() for train, _ in splits)
        if weights.size:
            member[weights == 0] = False
        data = FoldRows(examples.rows, examples.target, weights, member, examples.n_features, classes, scheme)
        order = Shuffled(n, first._new_seed()) if shuffled else Cyclic(n)
        made = cls(base, X, n, splits, data, examples.classes, order, search.return_train_score, limit)
        for each, model in zip(candidates, able, strict=True):
            if model is not None and _together(model, first) and not (alike or twice or turned):
                made._place(each, model)
        return made

    def _place(self, params: Mapping[str, Any], model: Any) -> None:
        """Give a setting its machine in each fold that has every class; settings that a fit would refuse get none."""
        plan, data = model._plan(), self.data
        try:
            model._scheme(data.classes, False)
            for fold, (rows, codes, complete) in enumerate(self.learned):
                weights = data.weights[rows] if data.weights.size else None
                shares = class_weights(model.class_weight, self.classes, codes, weights)
                shares = np.ones(data.classes) if shares is None else shares
                heaviest = shares.max() * data.weights.max(initial=1.0)
                stored = _stored(data, rows)
                if not complete or not 0 < heaviest <= HEAVIEST or not _by_rows(model, stored):
                    continue
                rule = plan if isinstance(plan, ObjectivePlan) else _encoded(plan, _bias(plan, data, rows))
                key = (fold, rule, tuple(shares.tolist()))
                limit = model.max_epochs or default_epochs(stored, plan.keep)
                longest = max(limit, self.machines[key][2] if key in self.machines else 0)
                self.machines[key] = (key[1], key[2], longest)
                self.columns[fold, _key(params)] = GridColumn(key, limit, plan.keep == "average")
        except ValueError:
            return  # its own fit raises the error

    @functools.cached_property
    def learned(self) -> list[tuple[Array, Array, bool]]:
        """The rows that each fold learns from, their codes, and whether all classes are among them."""
        found = []
        for fold in range(len(self.splits)):
            rows = np.flatnonzero(self.data.member[:, fold])
            codes = self.data.codes[rows]
            found.append((rows, codes, bool(np.bincount(codes, minlength=self.data.classes).all())))
        return found

    @functools.cached_property
    def folds(self) -> dict[tuple[int, ...], list[int]]:
        """Folds by the sums of their training rows."""
        found: dict[tuple[int, ...], list[int]] = {}
        for fold, (train, _) in enumerate(self.splits):
            found.setdefault(_sums(train), []).append(fold)
        return found

    def fold(self, rows: Array) -> int | None:
        """The fold that learns from these rows."""
        alike = self.folds.get(_sums(rows), ())
        return next((fold for fold in alike if np.array_equal(rows, self.splits[fold][0])), None)

    def learn(self) -> None:
        """Train all machines."""
        began = time.perf_counter()
        for block in self._blocks() if self.machines else ():
            self._learn(block)
        self.seconds = time.perf_counter() - began

    def _blocks(self) -> Iterator[list[tuple[Any, ...]]]:
        """The machines in blocks whose weights fit the memory."""
        average = any(column.average for column in self.columns.values())
        rules = [rule for rule, _, _ in self.machines.values()]
        second = any(isinstance(rule, Encoded) and rule.code == SECOND for rule in rules)
        debts = any(isinstance(rule, ObjectivePlan) and rule.penalty in ("l1", "elasticnet") for rule in rules)
        size = self.data.rows.values.itemsize
        column = self.data.n_features * (size * (2 if second else 1) + (8 if average or debts else 0))
        room = max(1, self.limit // (WIDTH * column) * WIDTH // self.data.scheme.columns(self.data.classes))
        keys = sorted(self.machines, key=lambda key: key[0])  # folds together: their rows are scored together
        count = math.ceil(len(keys) / room)
        for part in np.array_split(np.arange(len(keys)), count):
            yield [keys[k] for k in part]

    def _learn(self, keys: list[tuple[Any, ...]]) -> None:
        """Train these machines, and store their scores at each requested number of epochs."""
        wanted: dict[tuple[Any, ...], set[tuple[int, bool]]] = {key: set() for key in keys}
        for column in self.columns.values():
            if column.machine in wanted:
                wanted[column.machine].add((column.epochs, column.average))
        average = any(keep for asked in wanted.values() for _, keep in asked)
        run = self._run(keys, average)
        told = np.zeros(len(keys), dtype=bool)
        for epoch in run.epochs():
            due: dict[tuple[int, bool], list[tuple[int, int]]] = {}
            for m, key in enumerate(keys):
                for epochs, keep in () if told[m] else wanted[key]:
                    if epochs == epoch or (run.done[m] and epochs > epoch):
                        due.setdefault((key[0], keep), []).append((m, epochs))
            told |= run.done
            for (fold, keep), asked in due.items():
                self._keep(run, fold, keep, keys, asked)

    def _run(self, keys: list[tuple[Any, ...]], average: bool) -> Run:
        settings, descents = list[Setting](), list[Descent]()
        for key in keys:
            rule, shares, epochs = self.machines[key]
            if isinstance(rule, ObjectivePlan):
                descents.append(Descent(rule, key[0], epochs))
            else:
                settings.append(Setting(rule, key[0], shares, epochs))
        if descents:
            return ManyDescents(self.data, descents, self.order)
        return ManySettings(self.data, settings, self.order, average)

    def _keep(
        self, run: ManySettings | ManyDescents, fold: int, average: bool, keys: list[Any], asked: list[tuple[int, int]]
    ) -> None:
        """Store the scores of machines of one fold, each at a number of epochs."""
        machines = np.array(sorted({m for m, _ in asked}))
        place = {int(m): k for k, m in enumerate(machines)}
        for part in range(2 if self.train_scores else 1):
            scores = run.scores(machines, average, self.splits[fold][1 - part].astype(np.uint64))
            for m, epochs in asked:
                self.found[keys[m], epochs, average, part] = scores[:, place[m]]

    def scores(self, params: Mapping[str, Any], fold: int, part: int) -> Array | None:
        """The scores of a setting on the test (0) or training (1) rows of a fold; None if it was not in the pass."""
        column = self.columns.get((fold, _key(params)))
        return None if column is None else self.found[column.machine, column.epochs, column.average, part]

    def share_time(self, results: dict[str, Any]) -> None:
        """Give each setting of the pass its share of the time."""
        share = self.seconds / len(self.columns)
        counts = [
            sum((fold, _key(params)) in self.columns for fold in range(len(self.splits)))
            for params in results["params"]
        ]
        results["mean_fit_time"] = results["mean_fit_time"] + share * np.array(counts) / len(self.splits)


@dataclass(frozen=True)
class RefusedRows:
    """Replaces `SharedPass` if rows are refused: each setting is fitted alone, and its error names the row of X."""

    model: OnlineClassifier
    X: Any
    size: int
    splits: list[tuple[Array, Array]]
    columns: tuple[()] = ()
    classes: Any = None

    def learn(self) -> None:
        """Do nothing: no settings learn together."""

    def fold(self, rows: Array) -> int | None:
        """None: no fold has learned."""
        return None

    def scores(self, params: Mapping[str, Any], fold: int, part: int) -> Array | None:
        """None: there are no scores."""
        return None

    def share_time(self, results: dict[str, Any]) -> None:
        """Do nothing: each fit has its own time."""


def _splits(search: GridSearchCV, model: Any, X: Any, y: Any, params: dict[str, Any]) -> list[tuple[Array, Array]]:
    """The training and the test rows of each fold."""
    rows, cv = np.arange(len(y)), check_cv(search.cv, y, classifier=is_classifier(model))
    return [(rows[train], rows[test]) for train, test in cv.split(X, y, params.get("groups"))]


def _sums(rows: Array) -> tuple[int, ...]:
    """A cheap hash of a set of row numbers."""
    return rows.size, int(rows.sum()), int(rows @ rows)


def _able(model: Any) -> bool:
    """Whether the pass can train this model; invalid parameters are left to its own fit, which raises the error."""
    if type(model) not in LEARNERS or model.early_stopping or getattr(model, "warm_start", False):
        return False
    try:
        model._validate_params()
        plan = model._plan()
    except (ValueError, TypeError):
        return False
    if isinstance(plan, ObjectivePlan) and not _descends(model, plan):
        return False
    rate = isinstance(plan.rate, int | float) or plan.rate in ("1/t", "1/sqrt(t)", "optimal")
    seeded = model.random_state is None or isinstance(model.random_state, int | np.integer)
    ordered = isinstance(plan.order, str) and plan.order in ("shuffle", "cyclic")
    full = getattr(plan.rule, "full", False)
    return bool(rate and seeded and ordered and not plan.batch and plan.keep in ("last", "average") and not full)


def _descends(model: Any, plan: ObjectivePlan) -> bool:
    """Whether the pass can minimise this objective: stochastic steps, a bounded slope, and no class weights."""
    visits = model.solver in ("stochastic", "auto") and plan.penalty_class.parts(1.0, 0.5) is not None
    return visits and math.isfinite(plan.loss_class.steep) and model.class_weight is None


def _by_rows(model: Any, stored: int) -> bool:
    """Whether a fit of rows with this many stored values makes one step per row."""
    return getattr(model, "solver", "stochastic") == "stochastic" or model._visits_rows(stored)


def _together(one: Any, other: Any) -> bool:
    """Whether two models can be columns of the same pass."""
    names = [name for name in ("order", "multiclass", "random_state", "loss") if hasattr(one, name)]
    return type(one) is type(other) and all(getattr(one, name) == getattr(other, name) for name in names)


def _encoded(plan: Plan, bias: float) -> Encoded:
    rate, decay = 1.0, CONSTANT
    if isinstance(plan.rate, str):
        decay = {"1/t": HARMONIC, "1/sqrt(t)": ROOT}[plan.rate]
    else:
        rate = float(plan.rate)  # type: ignore[arg-type]
    return plan.rule.encode(rate, decay, bias)._replace(bias=bias)  # c², for AROW too: the variance of its bias


def _bias(plan: Plan, data: FoldRows, train: Array) -> float:
    """c², what a step of 1 adds to b."""
    reach2 = radius2(data.rows, train.astype(np.uint64)) if plan.bias == "radius" else 0.0
    return float(squared_bias_feature(plan.bias, reach2))


def _stored(data: FoldRows, rows: Array) -> int:
    """Stored values of these rows, counted as `Examples` counts them."""
    if isinstance(data.rows, Dense):
        return int(rows.size * data.rows.values.shape[1])
    starts = data.rows.starts.astype(np.int64)
    return int((starts[rows + 1] - starts[rows]).sum())


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
