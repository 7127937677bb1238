"""Learners of all folds of a table: settings learned side by side, and the scores of the rows that each fold holds out.

The settings of online learners in all folds are columns of one run, and the penalties of the log loss columns of one
descent. Columns of the table are encoded once, because no encoding uses labels; no fold's learner sees the labels of
its test rows.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.learn.calibration import by_class
from rosenblatt.learn.orders import Shuffled
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.learn.schemes import JOINT, TWO
from rosenblatt.online.rules import CONSTANT, AROWRule, PassiveAggressiveRule
from rosenblatt.search.many_settings import FoldRows, ManySettings, Setting
from rosenblatt.search.penalty_paths import CentredRows, logistic_columns, ridge_path
from rosenblatt.tables import settings as table_settings
from rosenblatt.tables.columns.encoding import encoded, learned
from rosenblatt.tables.columns.fourier import FourierFeatures
from rosenblatt.tables.search_rows import TableForm, TableRows, in_form
from rosenblatt.tables.settings import TableSetting, wave_count

Array = np.ndarray[Any, Any]
MOST_SCORES = 10_000_000  # that one descent works on at a time
STEPS, FEWER_STEPS = 100, 40  # of a descent, at most; of one of many rows


@dataclass
class FoldLearner:
    """Learns settings on the folds of a table."""

    rows: TableRows
    starts: dict[TableSetting, tuple[Array, Array]] = field(default_factory=dict)  # planes of logistic regressions
    forms: dict[tuple[bool, float, int], TableForm] = field(default_factory=dict)

    @property
    def folds(self) -> int:
        """The number of folds."""
        return int(self.rows.folds.max(initial=-1)) + 1

    def form(self, setting: TableSetting, count: int | None = None) -> TableForm:
        """The table in the form of a setting; `count` is the number of its random features, if it has any."""
        most = wave_count(self.rows.target.size, self.rows.classes)
        count = min(count or most, most) if setting.fourier else 0
        key = (setting.splines, setting.fourier, count)
        if key not in self.forms:
            self.forms[key] = self._encoded(setting, count)
        return self.forms[key]

    def _encoded(self, setting: TableSetting, count: int) -> TableForm:
        if setting.fourier:
            plain = self.form(replace(setting, fourier=0.0))
            return replace(plain, waves=FourierFeatures.drawn(plain.X, setting.fourier, count, self.rows.seed))
        columns = in_form(setting, self.rows.columns, self.rows.fixed)
        encodings = tuple(learned(column) for column in columns)
        n = self.rows.target.size
        return TableForm(encodings, encoded(encodings, columns, n), mass=self.rows.mass(np.arange(n)))

    def scores(self, group: list[TableSetting], form: TableForm, folds: list[int]) -> list[Array]:
        """The scores of the rows that each fold holds out, (settings, rows) or (settings, rows, classes)."""
        K, learner = self.rows.classes, group[0].learner
        if not form.shape[1]:
            sizes = [int((self.rows.folds == fold).sum()) for fold in folds]
            return [np.zeros((len(group), size, K) if K > 2 else (len(group), size)) for size in sizes]
        if not group[0].by_descent:
            return self._online(group, form, folds)
        if learner == "log" and form.is_small:
            return self._at_once(group, form, folds)
        return [self._fold_alone(group, form, fold) for fold in folds]

    def out_of_fold(self, setting: TableSetting) -> Array:
        """The score of each row by a learner of the other folds, 0 for rows in no test part."""
        form, folds = self.form(setting), list(range(self.folds))
        parts = [part[0] for part in self.scores([setting], form, folds)]
        found = np.zeros((self.rows.target.size, *parts[0].shape[1:]))
        for fold, part in zip(folds, parts, strict=True):
            found[self.rows.folds == fold] = part
        return found

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
                W = self._descent(centred, target, alphas, np.repeat(member, S, axis=0))
            else:
                train = np.flatnonzero(member[0])
                centred, target = form.centred(train), rows.target[train]
                W = self._descent(centred, target, alphas)
            coef, b = (one.reshape(len(part), S, planes, -1) for one in centred.planes(W))
            for k, one in enumerate(group):
                self.starts[one] = (coef[:, k].mean(axis=0), b[:, k].mean(axis=0)[:, 0])
            for k, fold in enumerate(part):
                scores = form.dense[rows.folds == fold] @ coef[k].reshape(S * planes, -1).T + b[k].ravel()
                found.append(self._by_setting(scores, S))
        return found

    def _descent(
        self,
        centred: CentredRows,
        target: Array,
        alphas: Array,
        member: Array | None = None,
        start: Array | None = None,
    ) -> Array:
        steps = STEPS if target.size <= table_settings.FEW_ROWS else FEWER_STEPS
        return logistic_columns(centred, target, self.rows.classes, alphas, member, start, iterations=steps)

    def _fold_alone(self, group: list[TableSetting], form: TableForm, fold: int) -> Array:
        """The scores of one fold by learners fitted to the others."""
        rows, train, test = self.rows, np.flatnonzero(self.rows.folds != fold), np.flatnonzero(self.rows.folds == fold)
        X, target, mass, found = form.X[train], rows.target[train], rows.mass(train), []
        if form.is_small:
            alphas, dense = np.array([one.strength for one in group]) / train.size, X.toarray() if sp.issparse(X) else X
            coef, b = ridge_path(dense, target, alphas, mass)
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
        scheme = TWO if rows.classes == 2 else JOINT
        member = rows.folds[:, None] != np.array(folds)
        given, codes = np.zeros(0) if rows.weights is None else rows.weights, rows.target.astype(np.int32)
        data = FoldRows(encode_rows(form.X)[0], codes, given, member, form.X.shape[1], rows.classes, scheme)
        shares = tuple(rows.class_weights.tolist())
        settings = [Setting(_rule(key), fold, shares, key.passes(n)) for fold in range(len(folds)) for key in keys]
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

    def planes(self, setting: TableSetting) -> tuple[Array, Array] | None:
        """The weights and biases of a logistic regression of all rows, close to its minimum."""
        if setting not in self.starts:
            return None
        rows, centred = self.rows, self.form(setting).centred()
        alphas, start = np.array([setting.strength / rows.target.size]), centred.columns(*self.starts[setting])
        W = self._descent(centred, rows.target, alphas, None, start)
        coef, intercept = centred.planes(W.astype(np.float64))
        return coef[0], intercept[0]


def _rule(setting: TableSetting) -> Any:
    if setting.learner == "AROW":
        return AROWRule(setting.strength).encode(1.0, CONSTANT, 1.0)._replace(bias=setting.bias_step)
    rule = PassiveAggressiveRule(setting.learner, setting.strength)
    return rule.encode(1.0, CONSTANT, setting.bias_step)
