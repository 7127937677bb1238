"""The search of `learner="auto"`: which learner, which strength, and numbers as given, as splines or random features.

The settings of online learners in all folds are columns of one run, and the penalties of the log loss columns of one
descent. Columns of the table are encoded once, because no encoding uses labels; no fold's learner sees the labels
of its test rows. Settings race on a part of the rows, and only the best few are learned on all folds. Of these, and
within one standard error of the best accuracy, the one with the lowest log loss is chosen.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.parallel import _get_threadpool_controller

from rosenblatt.data.columns.encoding import ParsedColumn, encoded, learned
from rosenblatt.data.columns.fourier import FourierFeatures
from rosenblatt.estimators import table_search_rows, table_settings
from rosenblatt.estimators.base.calibration import by_class, calibrated_losses
from rosenblatt.estimators.base.cross_fitting import Candidates, best_first
from rosenblatt.estimators.base.online_learner import examples_of
from rosenblatt.estimators.passive_aggressive import PassiveAggressive
from rosenblatt.estimators.table_search_rows import TableForm, TableRows, in_form
from rosenblatt.estimators.table_settings import (
    GROUPS,
    NUMBER_GROUPS,
    TableSetting,
    passes,
)
from rosenblatt.learn.linear.penalty_paths import logistic_columns, ridge_path
from rosenblatt.learn.online.many_settings import FoldRows, ManySettings, Setting
from rosenblatt.learn.online.rules import CONSTANT, AROWRule, PassiveAggressiveRule
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.schemes import JOINT, TWO

Array = np.ndarray[Any, Any]
BUDGET = 3_000_000_000  # values visited, counted for each column of a run
DESCENT = 10  # passes of an online learner that take as long as the descent of one penalty
RACE_FEATURES = 100  # random features that show whether more would help
RACE_ROWS, FEW_TO_RACE = 2_000, 200  # rows that show which settings are far behind; fewer test rows do not
FINALISTS = 4  # settings that are learned on all folds
MOST_SCORES = 2_000_000  # that one descent works on at a time
ERRORS = 2.0  # standard errors behind the best loss at which a setting leaves the race
clock = time.perf_counter


@dataclass(frozen=True)
class Trial:
    """A setting with its out-of-fold accuracy and log loss, or R² and mean squared error."""

    setting: TableSetting
    score: float
    loss: float


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
    few: bool  # whether the whole table has few enough rows for random Fourier features
    seconds: float | None = None
    trials: list[Trial] = field(default_factory=list)
    scores: dict[TableSetting, Array] = field(default_factory=dict)
    spent: float = 0.0
    raced: int = 0  # settings tried on at least one fold
    starts: dict[TableSetting, tuple[Array, Array]] = field(default_factory=dict)  # planes of logistic regressions
    _lowest: float = np.inf  # the lowest loss in the race
    _raced: list[Array] = field(default_factory=list)  # scores of the race, if they are out-of-fold scores of all rows
    _tried: list[Array] = field(default_factory=list)  # scores of all trials
    _contenders: list[Contender] = field(default_factory=list)
    _forms: dict[tuple[bool, float, int], TableForm] = field(default_factory=dict)
    _lost: set[tuple[bool, float]] = field(default_factory=set)  # forms with which no learner improved

    def run(self) -> TableSearch:
        """Try as many groups of settings as the budget, or the time, allows."""
        deadline = np.inf if self.seconds is None else clock() + self.seconds
        # The matrix products are too small for several threads.
        with _get_threadpool_controller().limit(limits=1, user_api="blas"):
            for k, group in enumerate(GROUPS if self.rows.classes else NUMBER_GROUPS):
                if not self._over(deadline) and self._applies(group[0]):
                    self._try(group, k, deadline)
            self._learn_finalists(deadline)
        return self

    def _over(self, deadline: float) -> bool:
        """Whether the time, or else the budget, is spent."""
        return bool(clock() >= deadline) if self.seconds is not None else self.spent >= BUDGET

    # -- which groups --------------------------------------------------------------------------------------------------

    @property
    def folds(self) -> int:
        """The number of folds."""
        return int(self.rows.folds.max(initial=-1)) + 1

    def _applies(self, setting: TableSetting) -> bool:
        if not self.folds or (setting.splines, setting.fourier) in self._lost:
            return False
        if setting.fourier:
            plain = self._racer.form(replace(setting, fourier=0.0))
            return self.few and 0 < plain.shape[1] <= table_settings.MOST_FEATURES
        return not setting.splines or any(
            one is not other for one, other in zip(self._columns(setting), self.rows.columns, strict=True)
        )

    def _columns(self, setting: TableSetting) -> list[ParsedColumn]:
        return in_form(setting, self.rows.columns, self.rows.fixed)

    def _cost(self, group: Sequence[TableSetting], form: TableForm, folds: int) -> float:
        """Values visited in this many folds by all columns."""
        planes = self.rows.classes if self.rows.classes > 2 else 1
        if group[0].learner in ("log", "squared"):
            n, d = form.shape
            values = n * d if form.is_small else form.X.nnz
            return DESCENT * float(values) * planes * len(group) * folds
        machines = len({replace(one, keep="last") for one in group}) * (2 if group[0].learner == "AROW" else 1)
        return passes(form.shape[0]) * float(form.X.nnz) * planes * machines * folds

    # -- learning ------------------------------------------------------------------------------------------------------

    def _try(self, group: list[TableSetting], number: int, deadline: float) -> None:
        """Race the settings of a group; after the first group, its first setting races alone at first."""
        before = self._lowest
        parts = (group[:1], group[1:]) if np.isfinite(before) and len(group) > 1 else (group,)
        for part in parts:
            self._race(part, number, deadline)
            if not self._lowest < before:
                self._lost |= {(group[0].splines, group[0].fourier)} - {(False, 0.0)}
                break

    def _race(self, group: list[TableSetting], number: int, deadline: float) -> None:
        """Race some settings; a race on all folds is a trial."""
        racer, rows = self._racer, self._race_rows
        form = racer.form(group[0], RACE_FEATURES)
        self.spent += racer._cost(group, form, self._race_folds)
        if self._over(deadline):
            return
        scores = np.concatenate(racer._fold_scores(group, form, list(range(self._race_folds))), axis=1)
        self.raced += len(group)
        right, losses = racer._row_losses(scores, rows)
        if racer is self:
            self._raced.append(scores)
        lowest = float(np.fmin.reduce(racer._mean(losses, rows), initial=np.inf))  # a NaN loss never leads
        self._lowest = min(lowest, self._lowest)
        whole = racer is self and (not group[0].fourier or RACE_FEATURES >= table_settings.FOURIER_COUNT)
        if whole and self._race_folds == self.folds:
            self._add(group, scores, right, losses, rows)
            return
        kept = scores if whole else [None] * len(group)
        self._contenders += [Contender(group[k], number, losses[k], kept[k]) for k in range(len(group))]
        self._contenders = [self._contenders[k] for k in racer._in_the_race(self._race_losses(), rows)]

    def _race_losses(self) -> Array:
        return np.array([one.losses for one in self._contenders])

    def _learn_finalists(self, deadline: float) -> None:
        """Learn the remaining settings on all folds, the best of the race first."""
        if not self._contenders:
            return
        order = np.argsort(self._racer._mean(self._race_losses(), self._race_rows), kind="stable")
        best = [self._contenders[k] for k in order]
        for number in dict.fromkeys(one.group for one in best):
            some = [one for one in best if one.group == number]
            self._learn_folds([one.setting for one in some], [one.scores for one in some], deadline)

    def _learn_folds(self, group: list[TableSetting], raced: list[Array | None], deadline: float) -> None:
        """Learn settings on all folds except those whose scores the race already has."""
        others = list(range(0 if raced[0] is None else self._race_folds, self.folds))
        form, tested = self.form(group[0]), np.flatnonzero(self.rows.folds >= 0)
        self.spent += self._cost(group, form, len(others))
        if self._over(deadline) and (self.seconds is None or self.trials):
            return
        learned = self._fold_scores(group, form, others)
        scores = np.zeros((len(group), self.rows.target.size, *learned[0].shape[2:]))
        for fold, part in zip(others, learned, strict=True):
            scores[:, self.rows.folds == fold] = part
        if raced[0] is not None:
            scores[:, self._race_rows] = raced
        self._add(group, scores[:, tested], *self._row_losses(scores[:, tested], tested), tested)

    def _add(self, group: list[TableSetting], scores: Array, right: Array, losses: Array, rows: Array) -> None:
        """Add trials from the scores of the test rows; only scores that may be needed later are stored."""
        found = np.zeros((len(group), self.rows.target.size, *scores.shape[2:]))
        found[:, rows] = scores
        self.scores |= dict(zip(group, found, strict=True))
        self._tried.append(found)
        self.trials += map(Trial, group, *self._measures(right, losses, rows))
        front = {one.setting for one in self._front()}
        self.scores = {one: kept.copy() for one, kept in self.scores.items() if one in front}
        self.starts = {one: kept for one, kept in self.starts.items() if one in front}

    def _front(self) -> list[Trial]:
        """The Pareto front of the trials: no other has at least their score at a lower loss. One of them is chosen."""
        front, best = list[Trial](), -np.inf
        for one in sorted(self.trials, key=lambda one: (one.loss, -one.score)):
            if one.score > best:
                front, best = [*front, one], one.score
        return front

    def candidates(self) -> list[Candidates]:
        """All settings among which one was chosen, to choose again without the labels of some rows.

        Rows of a race by learners of fewer rows are not reported: no other scores of the settings that lost are known.
        """
        tested = self.rows.folds >= 0
        raced = np.zeros(tested.size, np.bool_)
        if self._contenders:
            numbers = self._racer.rows.numbers if self._racer is not self else None
            raced[self._race_rows if numbers is None else numbers[self._race_rows]] = True
        found = [Candidates(_finite(np.concatenate(self._tried)), tested, tested & ~raced)]
        if self._contenders and self._racer is self:
            scores = np.zeros((sum(map(len, self._raced)), tested.size, *self._raced[0].shape[2:]))
            scores[:, self._race_rows] = np.concatenate(self._raced)
            found.append(Candidates(_finite(scores), raced, raced))
        return found

    @cached_property
    def _racer(self) -> TableSearch:
        """The search over the rows of the race, up to half of them in the first fold."""
        n, folds = self.rows.target.size, self.rows.folds
        first = (folds == 0) & self.rows.weighs
        tests = min(int(np.count_nonzero(first)), RACE_ROWS // 2)
        if n <= RACE_ROWS or tests < FEW_TO_RACE:
            return self
        chosen, shuffled = np.zeros(n, bool), np.random.default_rng(self.rows.seed).permutation(n)
        for part, size in ((first, tests), (folds != 0, RACE_ROWS - tests)):
            chosen[shuffled[part[shuffled]][:size]] = True
        least = max(1, min(table_search_rows.CLASS_ROWS, RACE_ROWS // max(self.rows.classes, 1)))
        for k in range(self.rows.classes):  # learners of the race need every class
            training = np.flatnonzero((self.rows.target == k) & (folds != 0))
            if np.count_nonzero(chosen[training]) < least:
                chosen[training[:least]] = True
        places = np.flatnonzero(chosen)
        return TableSearch(replace(self.rows.take(places), numbers=places), self.few)

    @cached_property
    def _race_folds(self) -> int:
        """The number of folds with enough test rows for a race."""
        sizes = np.bincount(self.rows.folds[(self.rows.folds >= 0) & self.rows.weighs])
        enough = np.flatnonzero(np.cumsum(sizes) >= FEW_TO_RACE)
        return 1 if self._racer is not self else int(enough[0]) + 1 if enough.size else self.folds

    @cached_property
    def _race_rows(self) -> Array:
        """The test rows of the race, fold by fold."""
        folds = self._racer.rows.folds
        return np.concatenate([np.flatnonzero(folds == fold) for fold in range(self._race_folds)])

    def _in_the_race(self, losses: Array, rows: Array) -> list[int]:
        """The better half of the settings, at most FINALISTS, without those several standard errors behind the best.

        With too few test rows to tell, all settings.
        """
        if rows.size < FEW_TO_RACE:
            return list(range(len(losses)))
        order = np.argsort(self._mean(losses, rows), kind="stable")
        above = losses - losses[order[0]]
        mean = self._mean(above, rows)
        error = np.sqrt(self._mean((above - mean[:, None]) ** 2, rows) / rows.size)
        half = order[: min(FINALISTS, (order.size + 1) // 2)]
        return sorted(half[~(mean[half] > ERRORS * error[half])].tolist())

    def form(self, setting: TableSetting, count: int | None = None) -> TableForm:
        """The table in the form of a setting; `count` is the number of its random features, if it has any."""
        count = min(count or table_settings.FOURIER_COUNT, table_settings.FOURIER_COUNT) if setting.fourier else 0
        key = (setting.splines, setting.fourier, count)
        if key not in self._forms:
            self._forms[key] = self._encoded(setting, count)
        return self._forms[key]

    def _encoded(self, setting: TableSetting, count: int) -> TableForm:
        if setting.fourier:
            plain = self.form(replace(setting, fourier=0.0))
            return replace(plain, waves=FourierFeatures.drawn(plain.X, setting.fourier, count, self.rows.seed))
        columns = self._columns(setting)
        encodings = tuple(learned(column) for column in columns)
        n = self.rows.target.size
        return TableForm(encodings, encoded(encodings, columns, n), mass=self.rows.mass(np.arange(n)))

    def _fold_scores(self, group: list[TableSetting], form: TableForm, folds: list[int]) -> list[Array]:
        """The scores of the rows that each fold holds out, (settings, rows) or (settings, rows, classes)."""
        K, learner = self.rows.classes, group[0].learner
        if not form.shape[1]:
            sizes = [int((self.rows.folds == fold).sum()) for fold in folds]
            return [np.zeros((len(group), size, K) if K > 2 else (len(group), size)) for size in sizes]
        if learner not in ("log", "squared"):
            return self._online(group, form, folds)
        if learner == "log" and form.is_small:
            return self._at_once(group, form, folds)
        return [self._fold_alone(group, form, fold) for fold in folds]

    def _at_once(self, group: list[TableSetting], form: TableForm, folds: list[int]) -> list[Array]:
        """Logistic regressions of all settings and folds together."""
        rows, found, S = self.rows, list[Array](), len(group)
        planes = rows.classes if rows.classes > 2 else 1
        together = max(1, MOST_SCORES // (rows.target.size * S * planes))
        for part in (folds[k : k + together] for k in range(0, len(folds), together)):
            member = rows.folds != np.array(part)[:, None]
            alphas = np.outer(1.0 / np.count_nonzero(member, axis=1), [one.strength for one in group]).ravel()
            # Every fold starts at 0: the planes of another fold have seen the labels of its rows.
            if len(part) > 1:
                centred, target = form.centred(), rows.target
                W = logistic_columns(centred, target, rows.classes, alphas, np.repeat(member, S, axis=0))
            else:
                train = np.flatnonzero(member[0])
                centred, target = form.centred(train), rows.target[train]
                W = logistic_columns(centred, target, rows.classes, alphas)
            coef, b = (one.reshape(len(part), S, planes, -1) for one in centred.planes(W))
            self.starts |= {one: (coef[:, k].mean(axis=0), b[:, k].mean(axis=0)[:, 0]) for k, one in enumerate(group)}
            for k, fold in enumerate(part):
                scores = form.dense[rows.folds == fold] @ coef[k].reshape(S * planes, -1).T + b[k].ravel()
                found.append(self._by_setting(scores, S))
        return found

    def _fold_alone(self, group: list[TableSetting], form: TableForm, fold: int) -> Array:
        """The scores of one fold by learners fitted to the others."""
        rows, train, test = self.rows, np.flatnonzero(self.rows.folds != fold), np.flatnonzero(self.rows.folds == fold)
        X, target, mass, found = form.X[train], rows.target[train], rows.mass(train), []
        if form.is_small:
            coef, b = ridge_path(X.toarray(), target, np.array([one.strength for one in group]) / train.size, mass)
            return self._by_setting(form.X[test] @ coef.reshape(-1, coef.shape[2]).T + b.ravel(), len(group))
        for one in group:
            model = one.estimator(*X.shape).set_params(random_state=rows.seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # passes are limited on purpose
                model.fit(X, target, sample_weight=mass)
            found.append(self._of_all_classes(model, form.X[test]) if rows.classes else model.predict(form.X[test]))
        return np.array(found)

    def _of_all_classes(self, model: Any, X: Any) -> Array:
        """The scores of all classes: a class that the model does not know gets the lowest score in each row."""
        scores: Array = model.decision_function(X)
        if model.classes_.size == self.rows.classes:
            return scores
        scores = by_class(scores)
        spread = np.repeat(scores.min(axis=1)[:, None], self.rows.classes, axis=1)
        spread[:, model.classes_] = scores
        return spread

    def _online(self, group: list[TableSetting], form: TableForm, folds: list[int]) -> list[Array]:
        """Online learners: every setting in every fold is a machine of one run."""
        rows, n = self.rows, self.rows.target.size
        keys = list(dict.fromkeys(replace(one, keep="last") for one in group))
        known = np.arange(rows.classes)  # including those without a row here
        examples = examples_of(PassiveAggressive(), form.X, rows.target, rows.weights, known=known)
        scheme = TWO if rows.classes == 2 else JOINT
        member = rows.folds[:, None] != np.array(folds)
        given = np.zeros(0) if examples.weights is None else examples.weights
        data = FoldRows(examples.rows, examples.target, given, member, form.X.shape[1], rows.classes, scheme)
        shares, limit = tuple(rows.class_weights.tolist()), passes(n)
        settings = [Setting(_rule(key), fold, shares, limit) for fold in range(len(folds)) for key in keys]
        run = ManySettings(data, settings, Shuffled(n, rows.seed), any(one.keep == "average" for one in group))
        for _ in run.epochs():
            pass
        found = []
        for k in range(len(folds)):
            asked, machines = form.X[np.flatnonzero(~member[:, k])], np.arange(len(keys)) + k * len(keys)
            by_keep = {
                keep: self._by_setting(asked @ coef + b, len(keys))
                for keep in {one.keep for one in group}
                for coef, b in [run.weights(machines, keep == "average")]
            }
            found.append(np.array([by_keep[one.keep][keys.index(replace(one, keep="last"))] for one in group]))
        return found

    def _by_setting(self, scores: Array, count: int) -> Array:
        """Scores of all planes, (rows, planes), reshaped to (settings, rows) or (settings, rows, classes)."""
        apart = scores.reshape(scores.shape[0], count, -1).swapaxes(0, 1)
        return apart[:, :, 0] if self.rows.classes <= 2 else apart

    # -- choosing ------------------------------------------------------------------------------------------------------

    def _mean(self, values: Array, rows: Array) -> Array:
        """The weighted mean over these rows of each row of `values`."""
        weights = None if self.rows.weights is None else self.rows.weights[rows]
        found: Array = np.average(values, axis=1, weights=weights)
        return found

    def _row_losses(self, scores: Array, rows: Array) -> tuple[Array, Array]:
        """For each setting, calibrated on these rows, whether each row is right and its log loss; or squared errors."""
        table, target = self.rows, self.rows.target[rows]
        finite: Array = np.all(np.isfinite(scores).reshape(scores.shape[0], -1), axis=1, keepdims=True)
        scores = np.where(np.isfinite(scores), scores, 0.0)
        if not table.classes:
            return finite, np.where(finite, (scores - target) ** 2, np.inf)
        right, losses = calibrated_losses(scores, target, table.classes, table.mass(rows))
        return right & finite, np.where(finite, losses, np.inf)

    def _measures(self, right: Array, losses: Array, rows: Array) -> tuple[list[float], list[float]]:
        """The accuracy and the log loss of each setting on these rows; or R² and squared error."""
        loss = self._mean(losses, rows)
        if self.rows.classes:
            return self._mean(right, rows).tolist(), loss.tolist()
        target = self.rows.target[rows][None]
        spread = float(self._mean((target - self._mean(target, rows)) ** 2, rows)[0])
        return (1 - loss / spread if spread else 0.0 * loss).tolist(), loss.tolist()

    def planes(self, setting: TableSetting) -> tuple[Array, Array] | None:
        """The weights and biases of a logistic regression of all rows, close to its minimum."""
        if setting not in self.starts:
            return None
        rows, centred = self.rows, self.form(setting).centred()
        alphas, start = np.array([setting.strength / rows.target.size]), centred.columns(*self.starts[setting])
        W = logistic_columns(centred, rows.target, rows.classes, alphas, None, start)
        coef, intercept = centred.planes(W.astype(np.float64))
        return coef[0], intercept[0]

    def ranked(self) -> list[Trial]:
        """The trials within one standard error of the best score, the lowest loss first."""
        scores, losses = [one.score for one in self.trials], [one.loss for one in self.trials]
        tested = int((self.rows.folds >= 0).sum())
        return [self.trials[k] for k in best_first(scores, losses, tested, self.rows.classes)]


def _finite(scores: Array) -> Array:
    """The scores of settings whose weights did not overflow; if there are none, 0."""
    fine = np.isfinite(scores).reshape(len(scores), -1).all(axis=1)
    return scores[fine] if fine.any() else np.zeros((1, *scores.shape[1:]))


def _rule(setting: TableSetting) -> Any:
    if setting.learner == "AROW":
        return AROWRule(setting.strength).encode(1.0, CONSTANT, 1.0)._replace(bias=setting.bias_step)
    rule = PassiveAggressiveRule(setting.learner, setting.strength)
    return rule.encode(1.0, CONSTANT, setting.bias_step)
