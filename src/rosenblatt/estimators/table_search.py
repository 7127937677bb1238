"""The search of `learner="auto"`: which learner, how strong, and numbers as they are, as splines or in random features.

The settings of online learners in all folds are columns of one run, the penalties of the log loss columns of one
descent. Columns of the table are encoded once, because no encoding looks at labels; no fold's learner sees the labels
of its test rows. Settings race on one fold of at most `RACE_ROWS` rows, and the better half goes on to all folds. Of
the settings whose accuracy is within one standard error of the best, the one with the lowest log loss is chosen.
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

from rosenblatt.data.columns.encoding import ColumnEncoding, ParsedColumn, encoded, learned
from rosenblatt.data.columns.fourier import FourierFeatures
from rosenblatt.data.columns.held_out import at_level, level_for, row_hashes
from rosenblatt.estimators.base.calibration import by_class, calibrated_losses
from rosenblatt.estimators.base.state_checks import is_number
from rosenblatt.estimators.linear import LinearClassifier, LinearRegressor
from rosenblatt.estimators.passive_aggressive import PassiveAggressive
from rosenblatt.estimators.second_order import AROW
from rosenblatt.learn.linear.penalty_paths import PrincipalRows, logistic_columns, ridge_path
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
RACE_ROWS, FEW_TO_RACE = 2_000, 200  # rows that show which settings are far behind; test rows that do not
MOST_SCORES = 2_000_000  # that a descent works on at a time
ERRORS = 2.0  # of the difference in loss on the first fold, by which a setting is out of the race
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
# What is learned together, in the order in which a budget is spent. Some of the first two go on to all folds; others
# only if their loss in the race is the lowest so far.
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
class TableForm:
    """The rows of a table in one form, encoded once for all folds: no encoding looks at labels."""

    encodings: tuple[ColumnEncoding, ...]
    plain: Any  # rows without random features
    waves: FourierFeatures | None = None
    mass: Array | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and features."""
        n, d = self.plain.shape
        return n, d + (0 if self.waves is None else self.waves.width)

    @property
    def is_small(self) -> bool:
        """Whether all penalties are tried at once."""
        return at_once(*self.shape)

    @cached_property
    def X(self) -> Any:
        """The rows as CSR."""
        return self.plain if self.waves is None else self.waves.beside(self.plain)

    @cached_property
    def principal(self) -> PrincipalRows:
        """The rows along their principal axes."""
        dense = self.plain.toarray()
        if self.waves is not None:
            dense = np.hstack([dense, self.waves.values(dense)])
        return PrincipalRows.of(dense, self.mass, np.float32)


@dataclass
class TableSearch:
    """Tries settings on the folds of a table; `trials`, and the out-of-fold scores of each, fill as groups end."""

    rows: TableRows
    few: bool  # whether the whole table has few enough rows for random Fourier features
    seconds: float | None = None
    trials: list[Trial] = field(default_factory=list)
    scores: dict[TableSetting, Array] = field(default_factory=dict)
    spent: float = 0.0
    raced: int = 0  # settings tried on one fold at least
    starts: dict[TableSetting, Array] = field(default_factory=dict)  # planes of logistic regressions
    _lowest: float = np.inf  # loss in the first fold
    _forms: dict[tuple[bool, float], TableForm] = field(default_factory=dict)
    _lost: set[tuple[bool, float]] = field(default_factory=set)  # forms with which no learner improved

    def run(self) -> TableSearch:
        """Try as many groups of settings as the budget, or the time, allows."""
        deadline = np.inf if self.seconds is None else clock() + self.seconds
        # Products are too small to be shared by threads.
        with _get_threadpool_controller().limit(limits=1, user_api="blas"):
            for k, group in enumerate(GROUPS if self.rows.classes else NUMBER_GROUPS):
                if not self._over(deadline) and self._applies(group[0]):
                    self._try(group, k < 2, deadline)
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
            return self.few and 0 < self.form(replace(setting, fourier=0.0)).shape[1] <= MOST_FEATURES
        return not setting.splines or any(
            one is not other for one, other in zip(self._columns(setting), self.rows.columns, strict=True)
        )

    def _columns(self, setting: TableSetting) -> list[ParsedColumn]:
        return in_form(setting, self.rows.columns, self.rows.fixed)

    def _cost(self, group: Sequence[TableSetting], form: TableForm, folds: int) -> float:
        """Values visited in so many folds by all columns."""
        planes = self.rows.classes if self.rows.classes > 2 else 1
        if group[0].learner in ("log", "squared"):
            n, d = form.shape
            values = n * d if form.is_small else form.X.nnz
            return DESCENT * float(values) * planes * len(group) * folds
        machines = len({replace(one, keep="last") for one in group}) * (2 if group[0].learner == "AROW" else 1)
        return passes(form.shape[0]) * float(form.X.nnz) * planes * machines * folds

    # -- learning ------------------------------------------------------------------------------------------------------

    def _try(self, group: list[TableSetting], sure: bool, deadline: float) -> None:
        """Race the settings of a group on one fold; learn those that are not far behind on all folds."""
        n, K, racer = self.rows.target.size, self.rows.classes, self._racer
        self.spent += racer._cost(group, racer.form(group[0]), 1)
        if self._over(deadline):
            return
        first = np.flatnonzero(racer.rows.folds == 0)
        raced = racer._fold_scores(group, racer.form(group[0]), [0])[0]
        self.raced += len(group)
        losses = racer._row_losses(raced, first)[1]
        lowest = float(np.fmin.reduce(racer._mean(losses, first), initial=np.inf))  # a loss that is NaN never leads
        if not (sure or lowest < self._lowest):
            self._lost.add((group[0].splines, group[0].fourier))
            return
        self._lowest = min(lowest, self._lowest)
        kept = racer._in_the_race(losses, first)
        group = [group[k] for k in kept]
        others = list(range(int(racer is self), self.folds))
        self.spent += self._cost(group, self.form(group[0]), len(others))
        if self._over(deadline):
            return
        scores = np.zeros((len(group), n, K) if K > 2 else (len(group), n))
        if racer is self:
            scores[:, first] = raced[kept]
        for fold, part in zip(others, self._fold_scores(group, self.form(group[0]), others), strict=True):
            scores[:, self.rows.folds == fold] = part
        tested = np.flatnonzero(self.rows.folds >= 0)
        self.scores |= dict(zip(group, scores, strict=True))
        self.trials += map(Trial, group, *self._losses(scores[:, tested], tested))

    @cached_property
    def _racer(self) -> TableSearch:
        """The search of so many rows as show which settings are far behind; of all, if its test rows are too few."""
        n, seed = self.rows.target.size, self.rows.seed
        if n <= RACE_ROWS:
            return self
        chosen, folds = np.zeros(n, bool), self.rows.folds
        chosen[np.random.default_rng(seed).permutation(n)[:RACE_ROWS]] = True
        least = max(1, min(CLASS_ROWS, RACE_ROWS // max(self.rows.classes, 1)))
        for k in range(self.rows.classes):  # learners of the race must know every class
            training = np.flatnonzero((self.rows.target == k) & (folds != 0))
            if np.count_nonzero(chosen[training]) < least:
                chosen[training[:least]] = True
        if np.count_nonzero(folds[chosen] == 0) < FEW_TO_RACE:
            return self
        return TableSearch(self.rows.take(np.flatnonzero(chosen)), self.few)

    def _in_the_race(self, losses: Array, rows: Array) -> list[int]:
        """The better half of the settings, less those whose loss is above the lowest by several standard errors.

        A few test rows tell too little: then all of them.
        """
        if rows.size < FEW_TO_RACE:
            return list(range(len(losses)))
        order = np.argsort(self._mean(losses, rows), kind="stable")
        above = losses - losses[order[0]]
        mean = self._mean(above, rows)
        error = np.sqrt(self._mean((above - mean[:, None]) ** 2, rows) / rows.size)
        half = order[: (order.size + 1) // 2]
        return sorted(half[~(mean[half] > ERRORS * error[half])].tolist())

    def form(self, setting: TableSetting) -> TableForm:
        """The table in the form of a setting."""
        key = (setting.splines, setting.fourier)
        if key not in self._forms:
            self._forms[key] = self._encoded(setting)
        return self._forms[key]

    def _encoded(self, setting: TableSetting) -> TableForm:
        if setting.fourier:
            plain = self.form(replace(setting, fourier=0.0))
            waves = fourier_features(setting, plain.X, self.rows.seed)
            assert waves is not None
            return replace(plain, waves=waves)
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
        rows, n, S = self.rows, self.rows.target.size, len(group)
        principal, found = form.principal, list[Array]()
        planes = rows.classes if rows.classes > 2 else 1
        together = max(1, MOST_SCORES // (n * S * planes))
        for part in (folds[k : k + together] for k in range(0, len(folds), together)):
            member = rows.folds != np.repeat(part, S)[:, None]
            alphas = np.array([one.strength for one in group] * len(part)) / np.count_nonzero(member, axis=1)
            # Every fold begins at 0: the planes of another one have seen the labels of its rows.
            W = logistic_columns(principal, rows.target, rows.classes, alphas, member)
            self.starts |= {one: W[:, k] for k, one in enumerate(group)}
            for k, fold in enumerate(part):
                scores = W[:, k * S : k * S + S] @ principal.Z[rows.folds == fold].T  # (planes, settings, rows)
                found.append(scores[0] if planes == 1 else np.moveaxis(scores, 0, 2))
        return found

    def _fold_alone(self, group: list[TableSetting], form: TableForm, fold: int) -> Array:
        """The scores of one fold by learners of the others."""
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
        """The scores of all classes: one that the model has not seen has the lowest score in each row."""
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
        known = np.arange(rows.classes)  # also those that have no row here
        examples = PassiveAggressive()._examples(form.X, rows.target, rows.weights, reset=True, known=known)
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
        """Scores of planes side by side, (rows, planes), as (settings, rows) or (settings, rows, classes)."""
        apart = scores.reshape(scores.shape[0], count, -1).swapaxes(0, 1)
        return apart[:, :, 0] if self.rows.classes <= 2 else apart

    # -- choosing ------------------------------------------------------------------------------------------------------

    def _mean(self, values: Array, rows: Array) -> Array:
        """The mean over these rows, by weight, of each line of values."""
        weights = None if self.rows.weights is None else self.rows.weights[rows]
        found: Array = np.average(values, axis=1, weights=weights)
        return found

    def _row_losses(self, scores: Array, rows: Array) -> tuple[Array, Array]:
        """Whether these rows are right, and their log loss, by each setting, calibrated on them; or squared errors."""
        table, target = self.rows, self.rows.target[rows]
        finite: Array = np.all(np.isfinite(scores).reshape(scores.shape[0], -1), axis=1, keepdims=True)
        scores = np.where(np.isfinite(scores), scores, 0.0)
        if not table.classes:
            return finite, np.where(finite, (scores - target) ** 2, np.inf)
        right, losses = calibrated_losses(scores, target, table.classes, table.mass(rows))
        return right & finite, np.where(finite, losses, np.inf)

    def _losses(self, scores: Array, rows: Array) -> tuple[list[float], list[float]]:
        """The accuracy and the log loss of each setting on these rows, calibrated on them; or R² and squared error."""
        right, losses = self._row_losses(scores, rows)
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
        rows, principal = self.rows, self.form(setting).principal
        alphas, start = np.array([setting.strength / rows.target.size]), self.starts[setting][:, None]
        W = logistic_columns(principal, rows.target, rows.classes, alphas, None, start, tol=3e-4, iterations=300)
        coef, intercept = principal.planes(W.astype(np.float64))
        return coef[0], intercept[0]

    def ranked(self) -> list[Trial]:
        """The trials within one standard error of the best score, the lowest loss first."""
        best = max((trial.score for trial in self.trials), default=0.0)
        tested = int((self.rows.folds >= 0).sum())
        error = float(np.sqrt(max(best * (1 - best), 0.0) / max(tested, 1))) if self.rows.classes else np.inf
        return sorted((one for one in self.trials if one.score >= best - error), key=lambda one: one.loss)


def fourier_features(setting: TableSetting, X: Any, seed: int) -> FourierFeatures | None:
    """The random features of a setting for rows such as these."""
    return FourierFeatures.drawn(X, setting.fourier, FOURIER_COUNT, seed) if setting.fourier else None


def _rule(setting: TableSetting) -> Any:
    if setting.learner == "AROW":
        return AROWRule(setting.strength).encode(1.0, CONSTANT, 1.0)._replace(bias=setting.bias_step)
    rule = PassiveAggressiveRule(setting.learner, setting.strength)
    return rule.encode(1.0, CONSTANT, setting.bias_step)
