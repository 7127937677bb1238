"""The search of `learner="auto"`: which learner, how strong, and numbers as they are, as splines or in random features.

The settings of online learners are columns of one pass per fold, the penalties of the log loss columns of one descent.
Each fold learns its own encodings, so that the out-of-fold scores of the setting that is chosen are honest. Of the
settings whose accuracy is within one standard error of the best, the one with the lowest log loss is chosen.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.parallel import _get_threadpool_controller

from rosenblatt.data.columns.encoding import ParsedColumn, encoded, learned
from rosenblatt.data.columns.fourier import FourierFeatures
from rosenblatt.data.columns.held_out import at_level, level_for, row_hashes
from rosenblatt.estimators.base.calibration import by_class, calibrated
from rosenblatt.estimators.base.state_checks import is_number
from rosenblatt.estimators.linear import LinearClassifier, LinearRegressor
from rosenblatt.estimators.passive_aggressive import PassiveAggressive
from rosenblatt.estimators.second_order import AROW
from rosenblatt.learn.linear.penalty_paths import logistic_path, ridge_path
from rosenblatt.learn.online.many_settings import FoldRows, ManySettings, Setting
from rosenblatt.learn.online.rules import CONSTANT, AROWRule, PassiveAggressiveRule
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.schemes import JOINT, TWO

Array = np.ndarray[Any, Any]
PASSES, LEAST_PASSES, VISITS = 10, 2, 500_000  # of the online learners: so many visits of rows are enough
BUDGET = 3_000_000_000  # values visited, counted for each column
DESCENT = 10  # visits that the descent of a penalty counts for: about so many passes take as long
MOST_FEATURES, MOST_CELLS = 1_000, 4_000_000  # of rows whose penalties are tried all at once
FOURIER_ROWS, FOURIER_COUNT = 10_000, 300
SEARCH_ROWS, CLASS_ROWS = 20_000, 20  # a search looks at so many rows at most, and at so many of each class at least
clock = time.perf_counter


@dataclass(frozen=True)
class TableSetting:
    """One way to learn from a table."""

    learner: str  # a key of NAMES
    strength: float  # C, r, or α times the number of rows
    keep: str = "last"
    bias_step: float = 1.0
    splines: bool = False
    fourier: float = 0.0  # the width of the kernel, in units of the rows' variance; 0: no such features

    def __str__(self) -> str:
        name, letter = NAMES[self.learner]
        parts = [f"{'averaged ' if self.keep == 'average' else ''}{name}", f"{letter} = {self.strength:g}"]
        parts += [f"bias step {self.bias_step:g}"] if self.bias_step != 1 else []
        parts += ["numbers as splines"] if self.splines else []
        parts += [f"{FOURIER_COUNT} random Fourier features"] if self.fourier else []
        return ", ".join(parts)

    def is_whole(self) -> bool:
        """Whether every field has a value that a search may give it: a model file may be forged."""
        numbers = all(is_number(one) for one in (self.strength, self.bias_step, self.fourier))
        named = isinstance(self.learner, str) and self.learner in NAMES and self.keep in ("last", "average")
        return named and numbers and self.strength > 0 and self.fourier >= 0 and isinstance(self.splines, bool)

    def estimator(
        self, rows: int, features: int, class_weight: dict[int, float] | None = None, whole: bool = True
    ) -> Any:
        """The learner, for so many rows and features; `whole`: all rows are in memory at once."""
        online: dict[str, Any] = {"order": "blocks", "max_epochs": passes(rows)}
        batch = {**online, "max_epochs": passes(rows // 4), "solver": "stochastic"}
        if whole and (features <= MOST_FEATURES or self.learner == "squared"):
            batch = {"solver": "batch", "tol": 1e-3 if at_once(rows, features) else 1e-4}
        if self.learner == "squared":
            return LinearRegressor(alpha=self.strength / rows, **batch)
        if self.learner == "log":
            return LinearClassifier(alpha=self.strength / rows, class_weight=class_weight, **batch)
        online |= {"bias_step": self.bias_step, "class_weight": class_weight}
        if self.learner == "AROW":
            return AROW(r=self.strength, **online)
        return PassiveAggressive(C=self.strength, variant=self.learner, keep=self.keep, **online)


NAMES = {
    "PA-I": ("passive-aggressive, PA-I", "C"),
    "PA-II": ("passive-aggressive, PA-II", "C"),
    "AROW": ("AROW", "r"),
    "log": ("logistic regression", "α·n"),
    "squared": ("least squares", "α·n"),
}


def at_once(rows: int, features: int) -> bool:
    """Whether rows are few and short enough for all penalties at once."""
    return features <= MOST_FEATURES and rows * features <= MOST_CELLS


def passes(rows: int) -> int:
    """The passes of an online learner over so many rows."""
    return max(LEAST_PASSES, min(PASSES, VISITS // max(rows, 1)))


DEFAULT = TableSetting("PA-I", 0.1, "average")
_FIRST = [
    *(TableSetting("PA-I", C, keep) for C in (0.1, 0.01, 1.0) for keep in ("average", "last")),
    *(TableSetting("PA-I", C, "average", 0.01) for C in (0.1, 0.01)),
    *(TableSetting("PA-II", C, keep) for C in (0.001, 0.01, 0.1) for keep in ("average", "last")),
]
_LOG = [TableSetting("log", strength) for strength in (0.3, 1.0, 3.0, 10.0, 30.0)]
_AROW = [TableSetting("AROW", r) for r in (1.0, 10.0, 100.0)]
# What is learned together, in the order in which a budget is spent. The first two are tried on all folds; others go on
# after a first fold only if the loss in it is the lowest so far.
GROUPS: list[list[TableSetting]] = [
    _FIRST,
    _LOG,
    [replace(one, splines=True) for one in _LOG],
    *([replace(one, fourier=width) for one in _LOG[::2]] for width in (1.0, 0.3)),
    [replace(one, splines=True) for one in _FIRST],
    _AROW,
    [replace(one, splines=True) for one in _AROW],
]
_SQUARED = [TableSetting("squared", strength) for strength in (0.1, 1.0, 10.0, 100.0)]
NUMBER_GROUPS: list[list[TableSetting]] = [
    _SQUARED,
    [replace(one, splines=True) for one in _SQUARED],
    *([replace(one, fourier=width) for one in _SQUARED] for width in (1.0, 0.3)),
]
NUMBER_DEFAULT = TableSetting("squared", 1.0)


@dataclass(frozen=True)
class Trial:
    """A setting, and out of fold its accuracy and log loss, or its R² and mean squared error."""

    setting: TableSetting
    score: float
    loss: float


@dataclass(frozen=True)
class TableRows:
    """A table that a search learns from: columns, target, weights, and the fold of each row (−1: in no test part)."""

    columns: list[ParsedColumn]
    target: Array
    weights: Array | None
    folds: Array
    classes: int  # 0: the target is numbers
    class_weights: Array
    fixed: frozenset[str]  # columns whose kind was asked for
    seed: int

    def take(self, rows: Array) -> TableRows:
        """Some of the rows."""
        return replace(
            self,
            columns=[column.take(rows) for column in self.columns],
            target=self.target[rows],
            weights=None if self.weights is None else self.weights[rows],
            folds=self.folds[rows],
        )

    def mass(self, rows: Array) -> Array | None:
        """What these rows count for, by the weights of rows and of classes; None if all count 1."""
        weights = None if self.weights is None else self.weights[rows]
        if not self.classes or (self.class_weights == 1).all():
            return weights
        found: Array = self.class_weights[self.target[rows]] * (1.0 if weights is None else weights)
        return found

    def sample(self, numbers: Array | None) -> TableRows:
        """The rows that a search looks at, by the hashes of their numbers in the table; all if they are few enough.

        Without numbers they are 0, 1, …, and some rows of each class are taken.
        """
        if self.target.size <= SEARCH_ROWS:
            return self
        hashes = row_hashes(0, self.target.size if numbers is None else int(numbers.max()) + 1, self.seed)
        hashes = search_hashes(hashes if numbers is None else hashes[numbers])
        chosen = at_level(hashes, level_for(hashes, SEARCH_ROWS, 0))
        for k in range(self.classes if numbers is None else 0):
            chosen[np.flatnonzero(self.target == k)[:CLASS_ROWS]] = True
        found = self.take(np.flatnonzero(chosen))
        _, folds = np.unique(found.folds, return_inverse=True)  # of many folds some may have no row in the sample
        return replace(found, folds=folds - int(found.folds.min(initial=0) < 0))


def search_hashes(hashes: Array) -> Array:
    """The bits of the hashes of rows that choose the rows of a search: others choose the rows that are held out."""
    found: Array = hashes >> np.uint64(32)
    return found


def in_form(setting: TableSetting, columns: list[ParsedColumn], fixed: frozenset[str]) -> list[ParsedColumn]:
    """The columns, with numbers as splines where the setting says so."""
    if not setting.splines:
        return columns
    return [
        replace(one, kind="splines") if one.kind == "numbers" and one.raw is None and one.name not in fixed else one
        for one in columns
    ]


@dataclass
class FoldForm:
    """One fold in one form: the encoded rows to learn from and to test on."""

    X: Any
    asked: Any
    train: Array
    test: Array


@dataclass
class TableSearch:
    """Tries settings on the folds of a table; `trials`, and the out-of-fold scores of each, fill as groups end."""

    rows: TableRows
    few: bool  # whether the whole table has few enough rows for random Fourier features
    seconds: float | None = None
    trials: list[Trial] = field(default_factory=list)
    scores: dict[TableSetting, Array] = field(default_factory=dict)
    spent: float = 0.0
    _lowest: float = np.inf  # loss in the first fold
    _forms: dict[tuple[bool, float, int], FoldForm] = field(default_factory=dict)

    def run(self) -> TableSearch:
        """Try as many groups of settings as the budget, or the time, allows."""
        deadline = np.inf if self.seconds is None else clock() + self.seconds
        # Products are too small to be shared by threads.
        with _get_threadpool_controller().limit(limits=1, user_api="blas"):
            for k, group in enumerate(GROUPS if self.rows.classes else NUMBER_GROUPS):
                if not self._over(deadline) and self._applies(group[0]):
                    self._try(group, k < 2, deadline)
        self._forms.clear()
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
        if not self.folds:
            return False
        if setting.fourier:
            return self.few and 0 < self._fold(replace(setting, fourier=0.0), 0).X.shape[1] <= MOST_FEATURES
        return not setting.splines or any(
            one is not other for one, other in zip(self._columns(setting), self.rows.columns, strict=True)
        )

    def _columns(self, setting: TableSetting) -> list[ParsedColumn]:
        return in_form(setting, self.rows.columns, self.rows.fixed)

    def _cost(self, group: Sequence[TableSetting], at: FoldForm) -> float:
        """Values visited in a fold by all columns."""
        planes = self.rows.classes if self.rows.classes > 2 else 1
        if group[0].learner in ("log", "squared"):
            values = at.X.shape[0] * at.X.shape[1] if at_once(*at.X.shape) else at.X.nnz
            return DESCENT * float(values) * planes * len(group)
        machines = len({replace(one, keep="last") for one in group}) * (2 if group[0].learner == "AROW" else 1)
        return passes(at.X.shape[0]) * float(at.X.nnz) * planes * machines

    # -- learning ------------------------------------------------------------------------------------------------------

    def _try(self, group: list[TableSetting], sure: bool, deadline: float) -> None:
        """Learn the settings of a group on all folds, unless the budget ends or the first fold disappoints."""
        n, K = self.rows.target.size, self.rows.classes
        found = np.zeros((len(group), n, K) if K > 2 else (len(group), n))
        for fold in range(self.folds):
            at = self._fold(group[0], fold)
            self.spent += self._cost(group, at)
            if self._over(deadline):
                return
            found[:, at.test] = self._fold_scores(group, at)
            if fold == 0:
                lowest = min(self._losses(scores, at.test)[1] for scores in found)
                if not (sure or lowest < self._lowest):
                    return
                self._lowest = min(lowest, self._lowest)
        tested = np.flatnonzero(self.rows.folds >= 0)
        for setting, scores in zip(group, found, strict=True):
            self.scores[setting] = scores
            self.trials.append(Trial(setting, *self._losses(scores, tested)))

    def _fold(self, setting: TableSetting, fold: int) -> FoldForm:
        key = (setting.splines, setting.fourier, fold)
        if key not in self._forms:
            self._forms[key] = self._encoded(setting, fold)
        return self._forms[key]

    def _encoded(self, setting: TableSetting, fold: int) -> FoldForm:
        folds = self.rows.folds
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        if setting.fourier:
            plain = self._fold(replace(setting, fourier=0.0), fold)
            waves = fourier_features(setting, plain.X, self.rows.seed)
            assert waves is not None
            return FoldForm(waves.beside(plain.X), waves.beside(plain.asked), train, test)
        columns = self._columns(setting)
        seen = [column.take(train) for column in columns]
        encodings = tuple(learned(column) for column in seen)
        asked = encoded(encodings, [column.take(test) for column in columns], test.size)
        return FoldForm(encoded(encodings, seen, train.size), asked, train, test)

    def _fold_scores(self, group: list[TableSetting], at: FoldForm) -> Array:
        """The scores of the rows that the fold holds out, (settings, rows) or (settings, rows, classes)."""
        if not at.X.shape[1]:
            shape = (len(group), at.test.size)
            return np.zeros(shape if self.rows.classes <= 2 else (*shape, self.rows.classes))
        if group[0].learner not in ("log", "squared"):
            return self._online(group, at)
        return self._at_once(group, at) if at_once(*at.X.shape) else self._one_by_one(group, at)

    def _at_once(self, group: list[TableSetting], at: FoldForm) -> Array:
        rows = self.rows
        strengths = np.array([one.strength for one in group])
        coef, b = penalty_path(at.X, rows.target[at.train], rows.classes, strengths, rows.mass(at.train))
        return self._by_setting(at.asked @ coef.reshape(-1, coef.shape[2]).T + b.ravel(), len(group))

    def _one_by_one(self, group: list[TableSetting], at: FoldForm) -> Array:
        rows, found = self.rows, []
        mass = rows.mass(at.train)
        for one in group:
            model = one.estimator(*at.X.shape).set_params(random_state=rows.seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # passes are limited on purpose
                model.fit(at.X, rows.target[at.train], sample_weight=mass)
            found.append((model.decision_function if rows.classes else model.predict)(at.asked))
        return np.array(found)

    def _online(self, group: list[TableSetting], at: FoldForm) -> Array:
        rows = self.rows
        keys = list(dict.fromkeys(replace(one, keep="last") for one in group))
        truth = rows.target[at.train]
        weights = None if rows.weights is None else rows.weights[at.train]
        examples = PassiveAggressive()._examples(at.X, truth, weights, reset=True)
        scheme = TWO if rows.classes == 2 else JOINT
        member = np.ones((truth.size, 1), dtype=bool)
        given = np.zeros(0) if examples.weights is None else examples.weights
        data = FoldRows(examples.rows, examples.target, given, member, at.X.shape[1], rows.classes, scheme)
        shares, limit = tuple(rows.class_weights.tolist()), passes(truth.size)
        settings = [Setting(_rule(key), 0, shares, limit) for key in keys]
        run = ManySettings(data, settings, Shuffled(truth.size, rows.seed), any(one.keep == "average" for one in group))
        for _ in run.epochs():
            pass
        found = {
            keep: self._by_setting(at.asked @ coef + b, len(keys))
            for keep in {one.keep for one in group}
            for coef, b in [run.weights(np.arange(len(keys)), keep == "average")]
        }
        return np.array([found[one.keep][keys.index(replace(one, keep="last"))] for one in group])

    def _by_setting(self, scores: Array, count: int) -> Array:
        """Scores of planes side by side, (rows, planes), as (settings, rows) or (settings, rows, classes)."""
        apart = scores.reshape(scores.shape[0], count, -1).swapaxes(0, 1)
        return apart[:, :, 0] if self.rows.classes <= 2 else apart

    # -- choosing ------------------------------------------------------------------------------------------------------

    def _losses(self, scores: Array, rows: Array) -> tuple[float, float]:
        """The accuracy and the log loss of scores on these rows, calibrated on them; or R² and the squared error."""
        table, scores = self.rows, scores[rows]
        if not np.isfinite(scores).all():
            return -np.inf, np.inf
        target, weights = table.target[rows], None if table.weights is None else table.weights[rows]
        if not table.classes:
            error = float(np.average((scores - target) ** 2, weights=weights))
            spread = float(np.average((target - np.average(target, weights=weights)) ** 2, weights=weights))
            return 1 - error / spread if spread else 0.0, error
        found = calibrated(scores, target, table.classes, table.mass(rows))
        logs = log_softmax(found.scale * by_class(scores) + found.shifts, axis=1)
        right = float(np.average(logs.argmax(axis=1) == target, weights=weights))
        return right, -float(np.average(logs[np.arange(target.size), target], weights=weights))

    def ranked(self) -> list[Trial]:
        """The trials within one standard error of the best score, the lowest loss first."""
        best = max((trial.score for trial in self.trials), default=0.0)
        tested = int((self.rows.folds >= 0).sum())
        error = float(np.sqrt(max(best * (1 - best), 0.0) / max(tested, 1))) if self.rows.classes else np.inf
        return sorted((one for one in self.trials if one.score >= best - error), key=lambda one: one.loss)


def fourier_features(setting: TableSetting, X: Any, seed: int) -> FourierFeatures | None:
    """The random features of a setting for rows such as these."""
    return FourierFeatures.drawn(X, setting.fourier, FOURIER_COUNT, seed) if setting.fourier else None


def penalty_path(
    X: Any, target: Array, classes: int, strengths: Array, weights: Array | None = None, **accuracy: Any
) -> tuple[Array, Array]:
    """The planes (penalties, planes, d) and biases of the log loss, or of least squares, for each penalty."""
    alphas = strengths / X.shape[0]
    if classes:
        return logistic_path(X.toarray(), target, classes, alphas, weights, **accuracy)
    return ridge_path(X.toarray(), target, alphas, weights)


def _rule(setting: TableSetting) -> Any:
    if setting.learner == "AROW":
        return AROWRule(setting.strength).encode(1.0, CONSTANT, 1.0)._replace(bias=setting.bias_step)
    rule = PassiveAggressiveRule(setting.learner, setting.strength)
    return rule.encode(1.0, CONSTANT, setting.bias_step)
