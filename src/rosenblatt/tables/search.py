"""The search of `learner="auto"`: which learner, which strength, and numbers as given, as splines or random features.

Settings race on a part of the rows, and only the best few are learned on all folds (of many rows on one). Of these, and
within one standard error of the best accuracy, the one with the lowest log loss is chosen, or a simpler one whose loss
is within one standard error of it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.parallel import _get_threadpool_controller

from rosenblatt.tables import search_rows as table_search_rows
from rosenblatt.tables import settings as table_settings
from rosenblatt.tables.cross_fitting import Candidates, best_first, simplest_first
from rosenblatt.tables.search_folds import FoldLearner
from rosenblatt.tables.search_rows import TableForm, TableRows, in_form
from rosenblatt.tables.settings import GROUPS, NUMBER_GROUPS, TableSetting

Array = np.ndarray[Any, Any]
BUDGET = 3_000_000_000  # values visited, counted for each column of a run
DESCENT = 10  # passes of an online learner that take as long as the descent of one penalty
DENSE_DESCENT = 2  # the same of products of dense matrices
RACE_FEATURES, MANY_RACE_FEATURES = 100, 300  # random features that show whether more would help; of many rows
RACE_ROWS, MANY_RACE_ROWS = 2_000, 6_000  # rows that show which settings are far behind
FEW_TO_RACE = 200  # fewer test rows do not
FINALISTS = 4  # settings that are learned on all folds
ERRORS = 2.0  # standard errors behind the best loss at which a setting leaves the race
clock = time.perf_counter


@dataclass(frozen=True)
class Trial:
    """A setting with its out-of-fold accuracy and log loss, or R² and mean squared error."""

    setting: TableSetting
    score: float
    loss: float
    losses: Array  # of the test rows


@dataclass(frozen=True)
class Contender:
    """A setting in the race."""

    setting: TableSetting
    group: int
    losses: Array  # of the test rows of the race
    scores: Array | None  # of the same rows, if they are out-of-fold scores of the search


@dataclass
class TableSearch:
    """Tries settings on the folds of a table; fills `trials` and the out-of-fold scores group by group."""

    rows: TableRows
    waves: bool  # whether random Fourier features may be tried
    seconds: float | None = None
    trials: list[Trial] = field(default_factory=list)
    scores: dict[TableSetting, Array] = field(default_factory=dict)
    spent: float = 0.0
    raced: list[TableSetting] = field(default_factory=list)  # tried on at least one fold
    lowest: float = np.inf  # the lowest loss in the race
    _raced: list[Array] = field(default_factory=list)  # scores of the race, if they are out-of-fold scores of all rows
    _contenders: list[Contender] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.learner = FoldLearner(self.rows)

    def run(self) -> TableSearch:
        """Try as many groups of settings as the budget, or the time, allows."""
        deadline = np.inf if self.seconds is None else clock() + self.seconds
        # The matrix products are too small for several threads.
        with _get_threadpool_controller().limit(limits=1, user_api="blas"):
            for k, group in enumerate(GROUPS if self.rows.classes else NUMBER_GROUPS):
                if not self._over(deadline) and self._applies(group[0]):
                    self._race(group, k, deadline)
            self._learn_finalists(deadline)
        return self

    def _over(self, deadline: float) -> bool:
        """Whether the time, or else the budget, is spent."""
        return bool(clock() >= deadline) if self.seconds is not None else self.spent >= BUDGET

    def _applies(self, setting: TableSetting) -> bool:
        if not self.learner.folds:
            return False
        columns, formed = self.rows.columns, in_form(setting, self.rows.columns, self.rows.fixed)
        if setting.splines and all(one is other for one, other in zip(formed, columns, strict=True)):
            return False
        if setting.by_descent and not setting.fourier:
            return True
        plain = self.learner.form(replace(setting, fourier=0.0))
        return self.waves and plain.is_small and plain.shape[1] > 0 if setting.fourier else not plain.is_small

    # -- the race ------------------------------------------------------------------------------------------------------

    def _race(self, group: list[TableSetting], number: int, deadline: float) -> None:
        """Race some settings; a race on all folds is a trial."""
        racer, rows = self.racer, self.race_rows
        waves = RACE_FEATURES if not self.one_fold else MANY_RACE_FEATURES
        form = racer.form(group[0], waves)
        self.spent += cost(group, form, self._race_folds, self.rows.classes)
        if self._over(deadline):
            return
        scores = np.concatenate(racer.scores(group, form, list(range(self._race_folds))), axis=1)
        self.raced += group
        right, losses = racer.rows.losses(scores, rows)
        if racer is self.learner:
            self._raced.append(scores)
        lowest = float(np.fmin.reduce(racer.rows.mean(losses, rows), initial=np.inf))  # a NaN loss never leads
        self.lowest = min(lowest, self.lowest)
        whole = racer is self.learner and (not group[0].fourier or waves >= table_settings.FOURIER_COUNT)
        if whole and self._race_folds == self.test_folds:
            self._add(group, scores, right, losses, rows)
            return
        kept = scores if whole else [None] * len(group)
        self._contenders += [Contender(group[k], number, losses[k], kept[k]) for k in range(len(group))]
        self._contenders = [self._contenders[k] for k in in_the_race(racer.rows, self._race_losses(), rows)]

    def _race_losses(self) -> Array:
        return np.array([one.losses for one in self._contenders])

    @cached_property
    def racer(self) -> FoldLearner:
        """The learner of the rows of the race, up to half of them in the first fold."""
        n, folds, race = self.rows.target.size, self.rows.folds, RACE_ROWS if not self.one_fold else MANY_RACE_ROWS
        first = (folds == 0) & self.rows.weighs
        tests = min(int(np.count_nonzero(first)), race // 2)
        if n <= race or tests < FEW_TO_RACE:
            return self.learner
        chosen, shuffled = np.zeros(n, bool), np.random.default_rng(self.rows.seed).permutation(n)
        for part, size in ((first, tests), (folds != 0, race - tests)):
            chosen[shuffled[part[shuffled]][:size]] = True
        least = max(1, min(table_search_rows.CLASS_ROWS, race // max(self.rows.classes, 1)))
        for k in range(self.rows.classes):  # learners of the race need every class
            training = np.flatnonzero((self.rows.target == k) & (folds != 0))
            if np.count_nonzero(chosen[training]) < least:
                chosen[training[:least]] = True
        places = np.flatnonzero(chosen)
        return FoldLearner(replace(self.rows.take(places), numbers=places))

    @cached_property
    def _race_folds(self) -> int:
        """The number of folds with enough test rows for a race."""
        sizes = np.bincount(self.rows.folds[(self.rows.folds >= 0) & self.rows.weighs])
        enough = np.flatnonzero(np.cumsum(sizes) >= FEW_TO_RACE)
        return 1 if self.racer is not self.learner else int(enough[0]) + 1 if enough.size else self.test_folds

    @cached_property
    def race_rows(self) -> Array:
        """The test rows of the race, fold by fold."""
        folds = self.racer.rows.folds
        return np.concatenate([np.flatnonzero(folds == fold) for fold in range(self._race_folds)])

    @cached_property
    def test_folds(self) -> int:
        """How many folds finalists are tested on: of many rows the first is enough."""
        return self.learner.folds if self.rows.target.size <= table_settings.FEW_ROWS else min(self.learner.folds, 1)

    # -- all folds -----------------------------------------------------------------------------------------------------

    @property
    def one_fold(self) -> bool:
        """Whether finalists are tested on the first fold alone."""
        return self.test_folds < self.learner.folds

    @property
    def whole(self) -> bool:
        """Whether there are out-of-fold scores of all rows of the table."""
        return self.rows.numbers is None and not self.one_fold

    @property
    def tested(self) -> Array:
        """Whether each row is in a test part of the finalists."""
        found: Array = (self.rows.folds >= 0) & (self.rows.folds < self.test_folds)
        return found

    def _learn_finalists(self, deadline: float) -> None:
        """Learn the remaining settings on all folds, the best of the race first."""
        if not self._contenders:
            return
        order = np.argsort(self.racer.rows.mean(self._race_losses(), self.race_rows), kind="stable")
        best = [self._contenders[k] for k in order]
        for number in dict.fromkeys(one.group for one in best):
            some = [one for one in best if one.group == number]
            self._learn_folds([one.setting for one in some], [one.scores for one in some], deadline)

    def _learn_folds(self, group: list[TableSetting], raced: list[Array | None], deadline: float) -> None:
        """Learn settings on all folds except those whose scores the race already has."""
        others = list(range(0 if raced[0] is None else self._race_folds, self.test_folds))
        form, tested = self.learner.form(group[0], table_settings.FOURIER_COUNT), np.flatnonzero(self.tested)
        self.spent += cost(group, form, len(others), self.rows.classes)
        if self._over(deadline) and (self.seconds is None or self.trials):
            return
        learned = self.learner.scores(group, form, others)
        scores = np.zeros((len(group), self.rows.target.size, *learned[0].shape[2:]))
        for fold, part in zip(others, learned, strict=True):
            scores[:, self.rows.folds == fold] = part
        if raced[0] is not None:
            scores[:, self.race_rows] = raced
        self._add(group, scores[:, tested], *self.rows.losses(scores[:, tested], tested), tested)

    def _add(self, group: list[TableSetting], scores: Array, right: Array, losses: Array, rows: Array) -> None:
        """Add trials from the scores of the test rows; only scores that may be needed later are stored."""
        found = np.zeros((len(group), self.rows.target.size, *scores.shape[2:]))
        found[:, rows] = scores
        self.scores |= dict(zip(group, found, strict=True))
        self.trials += map(Trial, group, *self.rows.measures(right, losses, rows), losses)

    def ranked(self) -> list[Trial]:
        """The trials within one standard error of the best score, the lowest loss first, after the one that is chosen.

        It is the simplest of those whose loss is within one standard error of the lowest.
        """
        scores, losses = [one.score for one in self.trials], [one.loss for one in self.trials]
        near = best_first(scores, losses, int(self.tested.sum()), self.rows.classes)
        each, mass = np.array([one.losses for one in self.trials]), self.rows.weights
        weights = None if mass is None else mass[self.tested]
        complexity = [one.setting.complexity for one in self.trials]
        return [self.trials[k] for k in simplest_first(near, each, complexity, weights)]

    def candidates(self) -> list[Candidates]:
        """All settings among which one was chosen, to choose again without the labels of some rows.

        Rows of a race by learners of fewer rows are not reported: no other scores of the settings that lost are known.
        """
        tested = self.tested
        raced = np.zeros(tested.size, np.bool_)
        if self._contenders:
            numbers = self.racer.rows.numbers if self.racer is not self.learner else None
            raced[self.race_rows if numbers is None else numbers[self.race_rows]] = True
        found = [self._candidates(list(self.scores), np.array(list(self.scores.values())), tested, tested & ~raced)]
        if self._contenders and self.racer is self.learner:
            scores = np.zeros((sum(map(len, self._raced)), tested.size, *self._raced[0].shape[2:]))
            scores[:, self.race_rows] = np.concatenate(self._raced)
            found.append(self._candidates(self.raced, scores, raced, raced))
        return found

    def _candidates(self, settings: list[TableSetting], scores: Array, known: Array, reported: Array) -> Candidates:
        """Those whose weights did not overflow; if there are none, scores of 0."""
        fine = np.isfinite(scores).reshape(len(scores), -1).all(axis=1)
        if not fine.any():
            return Candidates(np.zeros((1, *scores.shape[1:])), known, reported)
        complexity = tuple(settings[k].complexity for k in np.flatnonzero(fine).tolist())
        return Candidates(scores[fine], known, reported, complexity)


def cost(group: Sequence[TableSetting], form: TableForm, folds: int, classes: int) -> float:
    """Values visited in this many folds by all columns."""
    planes = classes if classes > 2 else 1
    if group[0].by_descent:
        n, d = form.shape
        values = DENSE_DESCENT * n * d if form.is_small else DESCENT * form.X.nnz
        return float(values) * planes * len(group) * folds
    machines = len({replace(one, keep="last") for one in group}) * (2 if group[0].learner == "AROW" else 1)
    return group[0].passes(form.shape[0]) * float(form.X.nnz) * planes * machines * folds


def in_the_race(table: TableRows, losses: Array, rows: Array) -> list[int]:
    """The better half of the settings, at most FINALISTS, without those several standard errors behind the best.

    With too few test rows to tell, all settings.
    """
    if rows.size < FEW_TO_RACE:
        return list(range(len(losses)))
    order = np.argsort(table.mean(losses, rows), kind="stable")
    above = losses - losses[order[0]]
    mean = table.mean(above, rows)
    error = np.sqrt(table.mean((above - mean[:, None]) ** 2, rows) / rows.size)
    half = order[: min(FINALISTS, (order.size + 1) // 2)]
    return sorted(half[~(mean[half] > ERRORS * error[half])].tolist())
