"""What a model of tables does with a table: its parameters alone (`TablePlan`), then with the target (`TableTask`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone

from rosenblatt.tables.columns.encoding import ParsedColumn
from rosenblatt.tables.columns.fourier import FourierFeatures
from rosenblatt.tables.columns.used_columns import ColumnOptions
from rosenblatt.tables.cross_fitting import Candidates
from rosenblatt.tables.encoder import TableEncoder
from rosenblatt.tables.search import TableSearch
from rosenblatt.tables.search_rows import TableRows
from rosenblatt.tables.settings import TableSetting
from rosenblatt.tables.targets import Target

Array = np.ndarray[Any, Any]
AUTO, LINEAR = "auto", "linear"  # a search; one learner with fixed settings
RUNNERS_UP = 5  # settings listed in the summary


@dataclass(frozen=True)
class TablePlan:
    """The parameters of a model of tables, and the random numbers of one fit."""

    name: str  # of the estimator
    target: type[Any]  # ClassTarget or NumberTarget
    options: ColumnOptions
    learner: Any
    scoring: Any
    cv: int
    class_weight: Any
    seconds: float | None
    rng: np.random.RandomState
    seed: int


@dataclass(frozen=True)
class Choice:
    """The setting that a search chose, and what the summary says of the search."""

    setting: TableSetting | None = None  # None: there is no search
    details: dict[str, Any] | None = None
    why_not: str = ""  # why no setting was tried
    search: TableSearch | None = None

    @property
    def notes(self) -> list[str]:
        """A note if no setting was tried."""
        if not self.why_not:
            return []
        return [f'learner="auto" tried no setting, because {self.why_not}: learner="linear" is used']


@dataclass(frozen=True)
class TableTask:
    """A plan for a table with this target."""

    plan: TablePlan
    target: Target
    large: bool  # whether rows are held out once, in place of folds

    def rows(self, columns: list[ParsedColumn], y: Array, weights: Array | None, folds: Array) -> TableRows:
        """Rows for a search."""
        target, plan = self.target, self.plan
        fixed = frozenset(plan.options.columns)
        return TableRows(columns, y, weights, folds, target.classes, target.weights, fixed, plan.seed)

    def choice(self, columns: list[ParsedColumn], y: Array, weights: Array | None, folds: Array) -> Choice:
        """The setting of `learner="auto"`, by a search of these rows."""
        default, seconds = self.target.default, self.plan.seconds
        if self.plan.learner != AUTO:
            return Choice()
        if not columns:
            return Choice(default, why_not="no column can be used")
        table = self.rows(columns, self.target.for_learning(y), weights, folds)
        sample = table.sample(None)
        search = TableSearch(sample, not self.large, seconds).run()
        found = search.ranked()
        if not search.learner.folds:
            return Choice(default, why_not="there are too few rows for folds")
        if not found:
            return Choice(default, why_not=f"its {'budget ends' if seconds is None else 'seconds end'} before")
        best, unit = max(search.trials, key=lambda one: one.score), self.target.unit
        details = {
            "tried": len(search.trials),
            "raced": len(search.raced),
            "near": len(found),
            "best_score": best.score,
            "runners_up": tuple((str(one.setting), one.score, one.loss * unit) for one in found[1 : 1 + RUNNERS_UP]),
            "searched_rows": 0 if sample is table and not self.large else sample.target.size,
        }
        return Choice(found[0].setting, details, search=search)

    def choice_by_sample(
        self, columns: list[ParsedColumn], y: Array, weights: Array | None, numbers: Array | None
    ) -> Choice:
        """The same by a sample of the rows, which have these numbers; None: the rows are the sample."""
        if self.plan.learner != AUTO:
            return Choice()
        table = self.rows(columns, y, weights, np.full(y.size, -1))
        table = table if numbers is None else table.sample(numbers)
        if self.target.classes and np.unique(table.target).size < self.target.classes:
            return Choice(self.target.default, why_not="a class has no row in the sample that is searched")
        folds, _ = self.target.folds(table.target, self.plan.cv, self.plan.rng)
        return self.choice(table.columns, table.target, table.weights, folds)

    def new_learner(self, setting: TableSetting | None, rows: int, features: int) -> Any:
        """The unfitted learner for a table with this many rows and features."""
        if setting is not None:
            learner = setting.estimator(rows, features, self.target.weight_by_code, not self.large)
        elif self.plan.learner in (LINEAR, None):
            learner = self.target.default_learner(rows, self.large)
        else:
            learner = clone(self.plan.learner)
        if "random_state" in learner.get_params() and learner.get_params()["random_state"] is None:
            learner.set_params(random_state=self.plan.seed)
        return learner

    def learned(
        self,
        setting: TableSetting | None,
        X: Any,
        y: Array,
        weights: Array | None = None,
        start: tuple[Array, Array] | None = None,
    ) -> Any:
        """A learner fitted to these rows, starting from these planes if given; None if there is no column to use."""
        if not X.shape[1]:
            return None
        given: dict[str, Any] = {} if weights is None else {"sample_weight": weights}
        learner = self.new_learner(setting, *X.shape)
        if start is not None:
            given |= {"coef_init": start[0], "intercept_init": start[1]}
            learner.set_params(max_epochs=1)  # the start is close to the minimum: one step confirms it
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # passes are limited on purpose
            return learner.fit(X, self.target.for_learning(y), **given)


# -- what was learned, and from what ----------------------------------------------------------------------------------


class TrainingRows(NamedTuple):
    """Encoded rows that the model learned from, all or a part of them."""

    X: Any
    target: Array
    weights: Array | None

    def ask(self, question: Callable[[TrainingRows], Any]) -> Iterator[Any]:
        """The answer to the question for these rows."""
        yield question(self)


class TrainingParts(Protocol):
    """Encoded rows that the model learned from, in one part or many, here or elsewhere."""

    def ask(self, question: Callable[[TrainingRows], Any]) -> Iterator[Any]:
        """The answer to the question for each part, in order."""


class UnseenRows(NamedTuple):
    """Rows with the scores of a model that did not learn from them."""

    scores: Array
    target: Array
    folds: Array
    weights: Array | None
    columns: list[ParsedColumn]
    candidates: tuple[Candidates, ...] = ()  # if the setting was chosen by these rows


@dataclass(frozen=True)
class LearnedTable:
    """A learned encoder and a learner of what it encodes."""

    task: TableTask
    encoder: TableEncoder
    fourier: FourierFeatures | None
    learner: Any  # None if there is no column to learn from
    choice: Choice
    notes: tuple[str, ...]  # for the user
