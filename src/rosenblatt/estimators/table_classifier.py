"""`TableClassifier`: raw tables and text in, a scored and calibrated classifier out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight

from rosenblatt.data.columns.label_copies import accuracy_alone
from rosenblatt.data.declared_fields import is_array, is_number, must
from rosenblatt.data.examples import check_labels
from rosenblatt.estimators.base.calibration import Calibration, by_class, calibrated
from rosenblatt.estimators.base.cross_fitting import Half
from rosenblatt.estimators.base.table_measures import (
    MOST_WEIGHTS,
    SUSPICIOUS,
    OutOfFold,
    accuracy_interval,
    area_under_curve,
    doubts,
    proven_margin,
    score_parts,
    scorer_name,
    user_score,
)
from rosenblatt.estimators.base.table_model import TableModel, TrainingParts, TrainingRows, UnseenRows
from rosenblatt.estimators.base.table_summary import TableSummary
from rosenblatt.estimators.passive_aggressive import PassiveAggressive
from rosenblatt.estimators.table_settings import DEFAULT, LEAST_PASSES, PASSES, VISITS

Array = np.ndarray[Any, Any]
FEW_ROWS = 20  # classes with fewer rows than this are not held out of a large table


class TableClassifier(ClassifierMixin, TableModel):
    """A classifier of raw tables: encoding, learning, out-of-fold scores and calibrated probabilities.

    `TableEncoder` turns columns into numbers. A linear learner is scored out of fold, with encoders that are
    learned again in each fold (with "auto" once, without labels), and the out-of-fold scores calibrate `predict_proba`:
    by Platt's sigmoid with his smoothed targets, for several classes by one scale and a shift per class. `predict` is
    the most probable class. For what the summary reports, calibration and choice are made again by one half of the rows
    and measured on the other.

    Parameters
    ----------
    columns : mapping of str to str or transformer, optional
        The kind of some columns, or their encoders, as in `TableEncoder`.
    learner : "auto", estimator or None, default=None
        None is the averaged passive-aggressive learner (PA-I, C = 0.1), with up to ten passes. "auto" searches: PA-I
        and PA-II over C, averaged and last weights, and bias steps; the log loss over its penalty; AROW over r; numbers
        as they are or as splines; for up to 10,000 rows also the log loss with random Fourier features. Settings race
        on a part of the rows, and the best few are learned on all folds; of those whose out-of-fold accuracy is within
        one standard error of the best it takes the one with the lowest log loss.
        At most 20,000 rows are searched. If even that takes too many visits of values (text with many classes),
        nothing is searched.
    scoring : str or callable, optional
        A scikit-learn scorer; the summary reports its value along with the accuracy.
    cv : int, default=5
        The number of folds. Of more than 200,000 rows an eighth, and at most 100,000, are held out once instead: the
        model learns from the others.
    class_weight : mapping, "balanced" or None
        As for `PassiveAggressive`, unless an estimator is given.
    seconds : float, optional
        For "auto": search for so long, rather than for a number of visits of values. It is not reproducible: with the
        same seed another run may try other settings and give another model.
    random_state : int, RandomState or None

    Attributes
    ----------
    summary_ : TableSummary
        What was learned and how good it is; `print` it.
    setting_ : TableSetting or None
        What the search chose.
    fourier_ : FourierFeatures or None
        The random features beside those of the encoder, if the search chose them.
    encoder_ : TableEncoder
    learner_ : estimator
        None if there is no column to learn from: then the majority is predicted.
    classes_ : ndarray of shape (K,)
    calibration_ : Calibration

    Examples
    --------
    >>> import polars as pl
    >>> from rosenblatt import TableClassifier
    >>> table = pl.DataFrame({"age": [20.5, 30, 65, 60, 70.5, 65] * 40, "city": ["Bonn", "Bonn", "Köln"] * 80})
    >>> model = TableClassifier(random_state=0).fit(table, (["works"] * 3 + ["retired"] * 3) * 40)
    >>> model.predict(pl.DataFrame({"city": ["Bonn"], "age": [81.0]}))
    array(['retired'], dtype='<U7')
    """

    STORED = TableModel.STORED | {"calibration_", "_class_weights"}
    _parameter_constraints: dict[str, Any] = {
        **TableModel._parameter_constraints,
        "class_weight": [Mapping, StrOptions({"balanced"}), None],
    }
    _default_name = "averaged passive-aggressive"
    _default_setting = DEFAULT
    classes_: Array
    calibration_: Calibration
    _class_weights: Array

    def __init__(
        self,
        *,
        columns: Mapping[str, Any] | None = None,
        learner: Any = None,
        scoring: Any = None,
        cv: int = 5,
        class_weight: Mapping[Any, float] | str | None = None,
        seconds: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.columns, self.learner, self.scoring, self.cv, self.seconds = columns, learner, scoring, cv, seconds
        self.class_weight, self.random_state = class_weight, random_state

    # -- parts of fit --------------------------------------------------------------------------------------------------

    def _encode_target(self, y: Array) -> Array:
        try:
            classes, codes = np.unique(y, return_inverse=True)
        except TypeError as error:
            raise ValueError(f"Labels y must all be of one kind so that they can be sorted: {error}.") from error
        check_labels(y, classes)
        self._take_classes(classes, np.bincount(codes, minlength=classes.size))
        return codes

    def _take_classes(self, classes: Array, counts: Array) -> None:
        """Store the classes and their weights; `counts` has the number of rows of each class."""
        self.classes_ = classes
        if classes.size < 2:
            raise ValueError(f"TableClassifier needs two classes or more, and y has one class: {classes[0]!s}.")
        if isinstance(self.class_weight, str):
            self._class_weights = counts.sum() / (counts.size * counts)
        else:
            self._class_weights = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)

    def _class_count(self) -> int:
        return int(self.classes_.size)

    def _class_counts(self, target: Array) -> Array:
        return np.bincount(target, minlength=self.classes_.size)

    def _rare(self, counts: Array) -> tuple[Array, list[str]]:
        rare = np.flatnonzero(counts < FEW_ROWS)
        if not rare.size:
            return rare, []
        return rare, [f"classes with fewer than {FEW_ROWS} rows are not held out: {self._named(rare, counts)}"]

    def _named(self, classes: Array, counts: Array) -> str:
        shown = [f"{self.classes_[k]!s} ({counts[k]})" for k in classes[:10].tolist()]
        return f"{', '.join(shown)}{', …' if classes.size > 10 else ''}"

    def _default_learner(self, rows: int) -> PassiveAggressive:
        weights = None if self.class_weight is None else dict(enumerate(self._class_weights.tolist()))
        passes = max(LEAST_PASSES, min(PASSES, VISITS // rows))
        return PassiveAggressive(C=0.1, keep="average", order="blocks", max_epochs=passes, class_weight=weights)

    def _class_shares(self) -> Array:
        return self._class_weights

    def _folds(self, target: Array, rng: Any) -> tuple[Array, list[str]]:
        """The fold of each row; −1 for rows of classes with fewer rows than folds."""
        counts = np.bincount(target)
        count = min(self.cv, int(np.sort(counts)[-2]))
        folds, notes = np.full(target.size, -1), list[str]()
        if count < 2:
            return folds, ["every class but one has a single row: there are no out-of-fold scores"]
        small = np.flatnonzero(counts < count)
        if small.size:
            which = self._named(small, counts)
            notes.append(f"classes with fewer rows than the {count} folds are in no fold's test part: {which}")
        for k in np.flatnonzero(counts >= count):
            rows = rng.permutation(np.flatnonzero(target == k))
            folds[rows] = (np.arange(rows.size) + rng.randint(count)) % count
        return folds, notes

    def _scores(self, learner: Any, X: Any) -> Array:
        if learner is None or not X.shape[0]:
            return np.zeros((X.shape[0], self.classes_.size))
        if hasattr(learner, "decision_function"):
            found: Array = learner.decision_function(X)
            return found
        logs: Array = np.log(np.maximum(learner.predict_proba(X), 1e-12))
        return logs

    def _calibrate(self, unseen: UnseenRows) -> None:
        mass = self._class_weights[unseen.target] * (1.0 if unseen.weights is None else unseen.weights)
        self.calibration_ = calibrated(unseen.scores, unseen.target, self.classes_.size, mass)

    def _suspicious(self, unseen: UnseenRows) -> Iterator[str]:
        columns, target = unseen.columns, unseen.target
        if target.size < 2 * self.classes_.size:
            return
        chance, parts = np.bincount(target).max() / target.size, score_parts(unseen.folds)
        for column in columns:
            alone = accuracy_alone(column, target, self.classes_.size, parts)
            if alone >= SUSPICIOUS and 1 - alone <= (1 - chance) / 2 and len(columns) > 1:
                yield f"column {column.name!r} alone predicts {alone:.3f} of the labels: check where it comes from"

    def _summarise(self, unseen: UnseenRows, training: TrainingParts, counts: Array) -> TableSummary:
        n = int(counts.sum())
        found: dict[str, Any] = self._base_summary("classification", n, "accuracy")
        found["classes"] = tuple(
            (str(self.classes_[k]), int(counts[k])) for k in np.argsort(-counts, kind="stable").tolist()
        )
        found["baseline"] = float(counts.max()) / n
        found["training_score"], margin = self._on_training_rows(training)
        found |= self._unseen_summary(unseen)
        if unseen.target.size:
            found |= self._honest(self._halves(unseen), unseen)
        if self.learner_ is None:
            found["warnings"] = ("no column can be used: the most frequent class is always predicted",)
        elif unseen.target.size:
            found["warnings"] = tuple(doubts(found))
        if margin > 0 and self.learner_ is not None:
            where = " in columns and random features" if self.fourier_ is not None else ""
            found["separated"] = (
                f"separated, proven: whatever rounding does, every training row is on its side of the learned planes"
                f"{where}, by {0.995 * margin:.3g} or more"  # so that it is not rounded up
            )
        return TableSummary(**found)

    def _on_training_rows(self, training: TrainingParts) -> tuple[float, float]:
        """The weighted accuracy on training rows, and a proven lower bound of the smallest margin."""
        right, total, margin = 0.0, 0.0, float("inf")
        for hit, mass, least in training.ask(self._hits):
            right, total, margin = right + hit, total + mass, min(margin, least)
        return right / total, margin

    def _hits(self, rows: TrainingRows) -> tuple[float, float, float]:
        """The weight of the correctly predicted rows, that of all rows, and the smallest proven margin."""
        scores = self._scores(self.learner_, rows.X)
        hit = self.calibration_.probabilities(scores).argmax(axis=1) == rows.target
        mass = np.ones(rows.target.size) if rows.weights is None else rows.weights
        right_side = bool((by_class(scores).argmax(axis=1) == rows.target).all())
        margin = proven_margin(self.learner_, rows.X, rows.target) if right_side else -np.inf
        return float(mass[hit].sum()), float(mass.sum()), margin

    def _honest(self, cuts: list[list[Half]], unseen: UnseenRows) -> dict[str, Any]:
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
        areas, others = list[float](), list[float]()
        for half in parts:
            truth, mass = target[half.rows], None if unseen.weights is None else weights[half.rows]
            areas += self._areas(half.predictions, truth, mass)
            if self.scoring is not None:
                answers = OutOfFold(self.classes_, half.predictions, half.scores, self.__sklearn_tags__())
                others.append(user_score(self.scoring, answers, self.classes_[truth], mass))
        return {
            "score": accuracy,
            "interval": accuracy_interval(accuracy, each.sum() ** 2 / (each**2).sum()),  # Kish's effective size
            "log_loss": float(np.average(-np.log(own), weights=weights[rows])),
            "area": float(np.mean(areas)) if areas else None,
            "other_scores": ((scorer_name(self.scoring), float(np.mean(others))),) if others else (),
        }

    def _areas(self, chances: Array, truth: Array, weights: Array | None) -> list[float]:
        """The area under the curve of the second of two classes, or the mean over several; nothing for one class."""
        present = np.unique(truth)
        if present.size < min(self.classes_.size, 3):
            return []
        classes = [1] if self.classes_.size == 2 else present
        return [float(np.mean([area_under_curve(truth == k, chances[:, k], weights) for k in classes]))]

    def _weights(self, training: TrainingParts) -> tuple[tuple[str, float], ...]:
        names, coef, deviation = self._feature_weights(training, self.calibration_.scale)
        if not names:
            return ()
        if coef.shape[0] == self.classes_.size > 2:
            coef = coef - coef.mean(axis=0)
            place = np.abs(coef).argmax(axis=0)
            names = [f"{name} → {self.classes_[k]!s}" for name, k in zip(names, place, strict=True)]
            value = np.take_along_axis(coef, place[None], axis=0)[0]
        elif coef.shape[0] == 1:
            value = coef[0]
        else:
            return ()
        order = np.argsort(-np.abs(value) * deviation, kind="stable")[:MOST_WEIGHTS]
        return tuple((names[k], float(value[k])) for k in order.tolist() if value[k] * deviation[k] != 0)

    # -- use -----------------------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Calibrated scores of rows: the log odds, (n,), of two classes; (n, K) for more; `predict` is the highest.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
        """
        scores = by_class(self._table_scores(X))
        scores = self.calibration_.scale * scores + self.calibration_.shifts
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, (n, K).

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
        """
        scores = self._table_scores(X)
        return self.calibration_.probabilities(scores)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
        """
        codes = self.predict_proba(X).argmax(axis=1)
        found: Array = self.classes_[codes]
        return found

    def _check_whole(self) -> None:
        super()._check_whole()
        if "summary_" not in vars(self):
            return
        K, calibration = vars(self)["classes_"].size, self.__dict__.get("calibration_")
        must(isinstance(calibration, Calibration) and K >= 2, "a calibration")
        assert calibration is not None
        must(is_number(calibration.scale) and is_array(calibration.shifts, (K,)), "a shift for each class")
        must(np.isfinite(calibration.shifts).all(), "shifts that are numbers")
        if self.learner_ is not None:
            must(np.array_equal(vars(self.learner_).get("classes_"), np.arange(K)), "a learner of these classes")
