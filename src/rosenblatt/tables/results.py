"""The results of a fit of a table: calibrated answers, honest scores, and the summary."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.learn.calibration import Calibration, by_class, calibrated
from rosenblatt.tables.columns.label_copies import accuracy_alone, r2_alone
from rosenblatt.tables.cross_fitting import Candidates, Half, halves
from rosenblatt.tables.measures import (
    ClassesOutOfFold,
    NumbersOutOfFold,
    accuracy_interval,
    area_under_curve,
    doubts,
    planes_of,
    proven_margin,
    r2,
    r2_interval,
    user_score,
)
from rosenblatt.tables.plan import LINEAR, LearnedTable, TrainingParts, TrainingRows, UnseenRows
from rosenblatt.tables.summary import TableSummary
from rosenblatt.tables.targets import ClassTarget, NumberTarget, Target

Array = np.ndarray[Any, Any]
SUSPICIOUS = 0.99  # a column that alone predicts this well may contain the label
MOST_WEIGHTS = 50


def concluded(found: LearnedTable, unseen: UnseenRows, training: TrainingParts, began: float) -> dict[str, Any]:
    """Calibrate, score and summarise: the attributes of the fitted model."""
    plan, target, encoder = found.task.plan, found.task.target, found.encoder
    answers = _answers(target, found.learner, unseen if unseen.target.size else _seen(training, target, found.learner))
    notes = [*found.notes, *answers.suspicious(unseen), *found.choice.notes]
    kinds = Counter("numbers" if one.kind == "splines" else one.kind for one in encoder.columns_)
    used, folds = {one.name for one in encoder.columns_}, int(unseen.folds.max(initial=-1)) + 1
    said: dict[str, Any] = {
        "task": target.task,
        "measure": target.measure,
        "rows": target.rows,
        "kinds": tuple(kinds.most_common()),
        "missing": tuple((name, n) for name, n in encoder.missing_counts_.items() if name in used),
        "left_out": tuple(encoder.left_out_.items()),
        "columns": tuple((one.name, one.kind, encoder.reasons_[one.name]) for one in encoder.columns_),
        "learner": _learner_name(found),
        "passes": int(np.max(getattr(found.learner, "n_iter_", 0))),
        "folds": folds,
        "held_out": int(unseen.target.size) if folds == 1 else 0,
        "score": None,
        "interval": None,
        **(found.choice.details or {}),
        **answers.on_training_rows(training, found.fourier is not None),
    }
    if unseen.target.size:
        candidates = unseen.candidates or (Candidates.only(unseen.scores),)
        cuts = list(halves(candidates, unseen.target, target.classes, unseen.weights, target.weights, plan.seed))
        said |= answers.measured(cuts, unseen, plan.scoring)
    if found.learner is None:
        notes.append(f"no column can be used: {answers.always} is always predicted")
    elif unseen.target.size:
        notes += doubts(said, answers.always)
    weights = answers.largest(*_feature_weights(found, training, answers.scale))
    summary = TableSummary(**said, weights=weights, warnings=tuple(notes), seconds=time.perf_counter() - began)
    learned = {"encoder_": encoder, "fourier_": found.fourier, "learner_": found.learner}
    learned |= {name: value for name, value in vars(encoder).items() if name in ("n_features_in_", "feature_names_in_")}
    return learned | {"setting_": found.choice.setting, "summary_": summary, **answers.attributes}


def _learner_name(found: LearnedTable) -> str:
    if found.learner is None:
        return "no learner"
    if found.choice.setting is not None:
        return str(found.choice.setting)
    return found.task.target.default_name if found.task.plan.learner in (LINEAR, None) else type(found.learner).__name__


# -- questions to the training rows -----------------------------------------------------------------------------------


def _scored(target: Target, learner: Any, rows: TrainingRows) -> tuple[Array, Array, Array | None]:
    """The scores, the target and the weights of training rows."""
    return target.scores(learner, rows.X), rows.target, rows.weights


def _seen(training: TrainingParts, target: Target, learner: Any) -> UnseenRows:
    """The training rows, for a table with too few rows for folds."""
    scores, targets, weights = zip(*training.ask(partial(_scored, target, learner)), strict=True)
    y = np.concatenate(targets)
    return UnseenRows(np.concatenate(scores), y, y, None if weights[0] is None else np.concatenate(weights), [])


def feature_sums(rows: TrainingRows) -> tuple[int, Array, Array]:
    """The number of rows, and the sums of the values of each feature and of their squares."""
    X, ones = rows.X, np.ones(rows.X.shape[0])
    squares = X.multiply(X) if sp.issparse(X) else X * X
    return X.shape[0], X.T @ ones, squares.T @ ones


def _feature_weights(found: LearnedTable, training: TrainingParts, scale: float) -> tuple[list[str], Array, Array]:
    """Names of features, what each adds to the score per unit, (planes, features), and its standard deviation."""
    coef = planes_of(found.learner)
    if coef is None:
        return [], np.zeros((0, 0)), np.zeros(0)
    n, sums, squares = 0, np.zeros(coef.shape[1]), np.zeros(coef.shape[1])
    for rows, values, squared in training.ask(feature_sums):
        n, sums, squares = n + rows, sums + values, squares + squared
    deviation = np.sqrt(np.maximum(squares / n - (sums / n) ** 2, 0.0))
    names = found.encoder.get_feature_names_out().tolist()  # random features have no names
    return names, scale * coef[:, : len(names)], deviation[: len(names)]


def _largest(names: list[str], values: Array, deviation: Array) -> tuple[tuple[str, float], ...]:
    """The features of largest influence."""
    order = np.argsort(-np.abs(values) * deviation, kind="stable")[:MOST_WEIGHTS]
    return tuple((names[k], float(values[k])) for k in order.tolist() if values[k] * deviation[k] != 0)


def _parts(folds: Array) -> Array:
    """The folds; a single held-out part is cut into five."""
    return folds if folds.max(initial=0) else np.arange(folds.size) % 5


def _answers(target: Target, learner: Any, rows: UnseenRows) -> ClassAnswers | NumberAnswers:
    if isinstance(target, NumberTarget):
        return NumberAnswers(target, learner)
    mass = target.weights[rows.target] * (1.0 if rows.weights is None else rows.weights)
    return ClassAnswers(target, learner, calibrated(rows.scores, rows.target, target.classes, mass))


# -- classes ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassAnswers:
    """A learner whose scores are calibrated to probabilities of classes; asked about rows, how many it gets right."""

    target: ClassTarget
    learner: Any
    calibration: Calibration
    always = "the most frequent class"  # without a learner

    @property
    def attributes(self) -> dict[str, Any]:
        """What the model needs for its answers."""
        return {"classes_": self.target.names, "calibration_": self.calibration}

    @property
    def scale(self) -> float:
        """What the learner's scores are multiplied by."""
        return self.calibration.scale

    def suspicious(self, unseen: UnseenRows) -> Iterator[str]:
        """Columns that alone predict the label."""
        columns, target, K = unseen.columns, unseen.target, self.target.classes
        if target.size < 2 * K:
            return
        chance, parts = np.bincount(target).max() / target.size, _parts(unseen.folds)
        for column in columns:
            alone = accuracy_alone(column, target, K, parts)
            if alone >= SUSPICIOUS and 1 - alone <= (1 - chance) / 2 and len(columns) > 1:
                yield f"column {column.name!r} alone predicts {alone:.3f} of the labels: check where it comes from"

    def on_training_rows(self, training: TrainingParts, fourier: bool) -> dict[str, Any]:
        """The classes, the weighted accuracy on training rows, and whether these are separated."""
        right, total, margin = 0.0, 0.0, float("inf")
        for hit, mass, least in training.ask(self):
            right, total, margin = right + hit, total + mass, min(margin, least)
        names, counts = self.target.names, self.target.counts
        order = np.argsort(-counts, kind="stable").tolist()
        said: dict[str, Any] = {"classes": tuple((str(names[k]), int(counts[k])) for k in order)}
        said |= {"baseline": float(counts.max()) / self.target.rows, "training_score": right / total}
        if margin <= 0 or self.learner is None:
            return said
        where = " in columns and random features" if fourier else ""
        return said | {
            "separated": f"separated, proven: whatever rounding does, every training row is on its side of the learned "
            f"planes{where}, by {0.995 * margin:.3g} or more"  # so that it is not rounded up
        }

    def __call__(self, rows: TrainingRows) -> tuple[float, float, float]:
        """The weight of the correctly predicted rows, that of all rows, and the smallest proven margin."""
        scores = self.target.scores(self.learner, rows.X)
        hit = self.calibration.probabilities(scores).argmax(axis=1) == rows.target
        mass = np.ones(rows.target.size) if rows.weights is None else rows.weights
        right_side = bool((by_class(scores).argmax(axis=1) == rows.target).all())
        margin = proven_margin(self.learner, rows.X, rows.target) if right_side else -np.inf
        return float(mass[hit].sum()), float(mass.sum()), margin

    def measured(self, cuts: list[list[Half]], unseen: UnseenRows, scoring: Any) -> dict[str, Any]:
        """The weighted measures on rows that neither the model nor its calibration learned from."""
        smallest, target = np.finfo(np.float64).eps, unseen.target
        weights = np.ones(target.size) if unseen.weights is None else unseen.weights
        rows = np.concatenate([half.rows for cut in cuts for half in cut])
        chances = np.concatenate([half.predictions for cut in cuts for half in cut])
        own = np.clip(chances[np.arange(rows.size), target[rows]], smallest, 1 - smallest)
        accuracy = float(np.average(chances.argmax(axis=1) == target[rows], weights=weights[rows]))
        each = weights[np.unique(rows)]
        present = np.unique(target[rows])
        parts = [half for cut in cuts for half in cut]
        if any(np.unique(target[half.rows]).size < present.size for half in parts):  # a class that one half lacks
            parts = [Half(*map(np.concatenate, zip(*cut, strict=True))) for cut in cuts]
        areas, others = list[float](), list[tuple[Any, Array, Array | None]]()
        for half in parts:
            truth, mass = target[half.rows], None if unseen.weights is None else weights[half.rows]
            areas += self._areas(half.predictions, truth, mass)
            answers = ClassesOutOfFold(self.target.names, half.predictions, half.scores)
            others.append((answers, self.target.names[truth], mass))
        return {
            "score": accuracy,
            "interval": accuracy_interval(accuracy, each.sum() ** 2 / (each**2).sum()),  # Kish's effective size
            "log_loss": float(np.average(-np.log(own), weights=weights[rows])),
            "area": float(np.mean(areas)) if areas else None,
            "other_scores": user_score(scoring, others),
        }

    def _areas(self, chances: Array, truth: Array, weights: Array | None) -> list[float]:
        """The area under the curve of the second of two classes, or the mean over several; nothing for one class."""
        present, K = np.unique(truth), self.target.classes
        if present.size < min(K, 3):
            return []
        classes = [1] if K == 2 else present
        return [float(np.mean([area_under_curve(truth == k, chances[:, k], weights) for k in classes]))]

    def largest(self, names: list[str], coef: Array, deviation: Array) -> tuple[tuple[str, float], ...]:
        """The features of largest influence, with what they add to the log odds of the last, or of a named, class."""
        if coef.shape[0] == self.target.classes > 2:
            coef = coef - coef.mean(axis=0)
            place = np.abs(coef).argmax(axis=0)
            names = [f"{name} → {self.target.names[k]!s}" for name, k in zip(names, place, strict=True)]
            coef = np.take_along_axis(coef, place[None], axis=0)
        return _largest(names, coef[0], deviation) if coef.shape[0] == 1 else ()


# -- numbers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumberAnswers:
    """A learner of standardised numbers; asked about rows, how far they are from its predictions."""

    target: NumberTarget
    learner: Any
    always = "the mean"  # without a learner

    @property
    def attributes(self) -> dict[str, Any]:
        """What the model needs for its answers."""
        return {"target_": self.target.scale}

    @property
    def scale(self) -> float:
        """What the learner's predictions are multiplied by."""
        return self.target.scale.deviation

    def suspicious(self, unseen: UnseenRows) -> Iterator[str]:
        """Columns that alone predict the label."""
        for column in unseen.columns if unseen.target.size and len(unseen.columns) > 1 else ():
            alone = r2_alone(column, unseen.target, _parts(unseen.folds))
            if alone >= SUSPICIOUS:
                yield f"column {column.name!r} alone predicts the label (R² {alone:.3f}): check where it comes from"

    def on_training_rows(self, training: TrainingParts, fourier: bool) -> dict[str, Any]:
        """R² on training rows, by weight."""
        mass, errors, total, squares = map(sum, zip(*training.ask(self), strict=True))
        spread = squares - total * (total / mass)  # the square could overflow
        return {"classes": (), "baseline": 0.0, "training_score": 1 - errors / spread if spread > 0 else 0.0}

    def __call__(self, rows: TrainingRows) -> tuple[float, float, float, float]:
        """Weighted sums of: 1, squared errors, deviations from the mean, and squared deviations."""
        each = np.ones(rows.target.size) if rows.weights is None else rows.weights
        errors = (each * (rows.target - self.target.scores(self.learner, rows.X)) ** 2).sum()
        away = rows.target - self.target.scale.mean
        return float(each.sum()), float(errors), float(each @ away), float(each @ away**2)

    def measured(self, cuts: list[list[Half]], unseen: UnseenRows, scoring: Any) -> dict[str, Any]:
        """The weighted measures on rows that neither the model nor the choice of its setting learned from."""
        rows = np.unique(np.concatenate([half.rows for half in cuts[0]]))
        target, weights = unseen.target[rows], None if unseen.weights is None else unseen.weights[rows]
        found = list[Array]()
        for cut in cuts:
            predicted = np.zeros(unseen.target.size)
            for half in cut:
                predicted[half.rows] = half.predictions
            found.append(predicted[rows])
        errors = np.mean([(target - one) ** 2 for one in found], axis=0)
        return {
            "score": float(np.mean([r2(target, one, weights) for one in found])),
            "interval": r2_interval(target, errors, weights),
            "mean_error": float(np.average(np.mean([np.abs(target - one) for one in found], axis=0), weights=weights)),
            "other_scores": user_score(scoring, [(NumbersOutOfFold(one), target, weights) for one in found]),
        }

    def largest(self, names: list[str], coef: Array, deviation: Array) -> tuple[tuple[str, float], ...]:
        """The features of largest influence, with what they add to the prediction."""
        return _largest(names, coef[0], deviation) if names else ()
