"""`TableClassifier` and `TableRegressor`: raw tables and text in, a scored and calibrated model out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from rosenblatt.data.columns.label_copies import accuracy_alone, r2_alone
from rosenblatt.estimators.base.calibration import Calibration, by_class, calibrated
from rosenblatt.estimators.base.state_checks import is_array, is_number, must
from rosenblatt.estimators.base.table_model import (
    TableModel,
    TrainingParts,
    TrainingRows,
    UnseenRows,
    doubts,
    proven_margin,
    r2,
)
from rosenblatt.estimators.base.table_summary import TableSummary
from rosenblatt.estimators.linear import LinearRegressor
from rosenblatt.estimators.passive_aggressive import PassiveAggressive
from rosenblatt.estimators.table_search import DEFAULT, LEAST_PASSES, NUMBER_DEFAULT, PASSES, VISITS

Array = np.ndarray[Any, Any]
SUSPICIOUS = 0.99  # a column that alone predicts this well may contain the label
MOST_WEIGHTS = 50
LARGEST = 1e150  # standard deviation of a target, so that its square is finite
FEW_ROWS = 20  # classes with fewer rows than this are not held out of a large table
NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class TargetScale:
    """The mean and the standard deviation of a numeric target."""

    mean: float
    deviation: float


class TableClassifier(ClassifierMixin, TableModel):
    """A classifier of raw tables: encoding, learning, out-of-fold scores and calibrated probabilities.

    `TableEncoder` turns columns into numbers. A linear learner is scored out of fold, with encoders that are
    learned again in each fold (with "auto" once, without labels), and the out-of-fold scores calibrate `predict_proba`:
    by Platt's sigmoid with his smoothed targets, for several classes by one scale and a shift per class. `predict` is
    the most probable class.

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
    >>> table = pl.DataFrame({"age": [20.5, 30, 25, 60, 70.5, 65] * 5, "city": ["Bonn", "Bonn", "Köln"] * 10})
    >>> model = TableClassifier(random_state=0).fit(table, ["young", "young", "young", "old", "old", "old"] * 5)
    >>> model.predict(pl.DataFrame({"city": ["Bonn"], "age": [81.0]}))
    array(['old'], dtype='<U5')
    """

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
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
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
        chance, parts = np.bincount(target).max() / target.size, _parts(unseen.folds)
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
            found |= self._honest(self.calibration_.probabilities(unseen.scores), unseen)
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

    def _honest(self, probabilities: Array, unseen: UnseenRows) -> dict[str, Any]:
        """The weighted measures on rows that the model did not learn from."""
        target, weights = unseen.target, unseen.weights
        accuracy = float(np.average(probabilities.argmax(axis=1) == target, weights=weights))
        present = np.unique(target)
        area = None
        if self.classes_.size == 2 and present.size == 2:
            area = area_under_curve(target == 1, probabilities[:, 1], weights)
        elif present.size > 2:
            area = float(np.mean([area_under_curve(target == k, probabilities[:, k], weights) for k in present]))
        others: tuple[tuple[str, float], ...] = ()
        if self.scoring is not None:
            answers = OutOfFold(self.classes_, probabilities, unseen.scores)
            others = ((_name_of(self.scoring), _measure(self.scoring, answers, self.classes_[target], weights)),)
        rows = target.size if weights is None else weights.sum() ** 2 / (weights**2).sum()  # Kish's effective size
        smallest = np.finfo(np.float64).eps
        own = np.clip(probabilities[np.arange(target.size), target], smallest, 1 - smallest)
        return {
            "score": accuracy,
            "interval": NORMAL_95 * float(np.sqrt(accuracy * (1 - accuracy) / rows)),
            "log_loss": float(np.average(-np.log(own), weights=weights)),
            "area": area,
            "other_scores": others,
        }

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


class TableRegressor(RegressorMixin, TableModel):
    """A regressor of raw tables: encoding, learning and out-of-fold scores.

    `TableEncoder` turns columns into numbers; the target is standardised for the learner.

    Parameters
    ----------
    columns : mapping of str to str or transformer, optional
        The kind of some columns, or their encoders, as in `TableEncoder`.
    learner : "auto", estimator or None, default=None
        None is least squares with a small L2 penalty. "auto" searches least squares over the penalty, with numbers as
        they are or as splines, for up to 10,000 rows also with random Fourier features, and takes the highest
        out-of-fold R².
    scoring : str or callable, optional
        A scikit-learn scorer; the summary reports its value along with R².
    cv : int, default=5
        The number of folds. Of more than 200,000 rows an eighth, and at most 100,000, are held out once instead: the
        model learns from the others.
    seconds : float, optional
        For "auto": search for so long, rather than for a number of visits of values. It is not reproducible: with the
        same seed another run may try other settings and give another model.
    random_state : int, RandomState or None

    Attributes
    ----------
    summary_ : TableSummary
    setting_ : TableSetting or None
        What the search chose.
    fourier_ : FourierFeatures or None
        The random features beside those of the encoder, if the search chose them.
    encoder_ : TableEncoder
    learner_ : estimator
        None if there is no column to learn from: then the mean is predicted.
    target_ : TargetScale

    Examples
    --------
    >>> import polars as pl
    >>> from rosenblatt import TableRegressor
    >>> table = pl.DataFrame({"size": [k / 2 for k in range(30)]})
    >>> model = TableRegressor(random_state=0).fit(table, [3.0 * k for k in range(30)])
    >>> model.summary_.measure, round(model.summary_.score, 1)
    ('R²', 1.0)
    """

    _default_name = "least squares"
    _default_setting = NUMBER_DEFAULT
    target_: TargetScale

    def __init__(
        self,
        *,
        columns: Mapping[str, Any] | None = None,
        learner: Any = None,
        scoring: Any = None,
        cv: int = 5,
        seconds: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.columns, self.learner, self.scoring, self.cv = columns, learner, scoring, cv
        self.seconds, self.random_state = seconds, random_state

    # -- parts of fit --------------------------------------------------------------------------------------------------

    def _encode_target(self, y: Array) -> Array:
        try:
            values = y.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"TableRegressor needs numbers, but y has {y[:1].tolist()[0]!r}.") from None
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(f"y contains NaN or infinity, at row {row}: leave out rows without a label.")
        with np.errstate(over="ignore"):
            self._take_scale(float(values.mean()), float(values.std()))
        return values

    def _take_scale(self, mean: float, deviation: float) -> None:
        """Store the scale of the target."""
        self.target_ = TargetScale(mean, deviation or 1.0)
        if not np.isfinite(mean * deviation) or deviation > LARGEST:
            raise ValueError("y has values whose squares overflow: scale it.")

    def _class_count(self) -> None:
        return None

    def _class_counts(self, target: Array) -> Array:
        return np.array([target.size])

    def _rare(self, counts: Array) -> tuple[Array, list[str]]:
        return np.zeros(0), []

    def _default_learner(self, rows: int) -> LinearRegressor:
        if not self._large:
            return LinearRegressor(loss="squared", penalty="l2", alpha=1 / rows, solver="batch")
        passes = max(LEAST_PASSES, min(PASSES, 4 * VISITS // rows))
        return LinearRegressor(
            loss="squared", penalty="l2", alpha=1 / rows, solver="stochastic", order="blocks", max_epochs=passes
        )

    def _class_shares(self) -> Array:
        return np.ones(0)

    def _for_learning(self, target: Array) -> Array:
        return self._standardised(target)

    def _from_learning(self, scores: Array) -> Array:
        return scores * self.target_.deviation + self.target_.mean

    def _loss_unit(self) -> float:
        return self.target_.deviation**2

    def _standardised(self, target: Array) -> Array:
        return (target - self.target_.mean) / self.target_.deviation

    def _folds(self, target: Array, rng: Any) -> tuple[Array, list[str]]:
        count, folds = min(self.cv, target.size // 2), np.full(target.size, -1)
        if count < 2:
            return folds, []
        return rng.permutation(np.arange(target.size) % count), []

    def _scores(self, learner: Any, X: Any) -> Array:
        if learner is None or not X.shape[0]:
            return np.full(X.shape[0], self.target_.mean)
        return self._from_learning(learner.predict(X))

    def _calibrate(self, unseen: UnseenRows) -> None:
        """Nothing to do: predictions of numbers need no calibration."""

    def _suspicious(self, unseen: UnseenRows) -> Iterator[str]:
        for column in unseen.columns if unseen.target.size and len(unseen.columns) > 1 else ():
            alone = r2_alone(column, unseen.target, _parts(unseen.folds))
            if alone >= SUSPICIOUS:
                yield f"column {column.name!r} alone predicts the label (R² {alone:.3f}): check where it comes from"

    def _summarise(self, unseen: UnseenRows, training: TrainingParts, counts: Array) -> TableSummary:
        found: dict[str, Any] = self._base_summary("regression", int(counts.sum()), "R²")
        found |= {"classes": (), "baseline": 0.0, "training_score": self._on_training_rows(training)}
        found |= self._unseen_summary(unseen)
        scores, target, folds, weights, _ = unseen
        if target.size:
            found["score"] = r2(target, scores, weights)
            parts = _parts(folds)
            each = [
                r2(target[parts == k], scores[parts == k], None if weights is None else weights[parts == k])
                for k in np.unique(parts)
            ]
            found["interval"] = NORMAL_95 * float(np.std(each, ddof=1) / np.sqrt(len(each))) if len(each) > 1 else 0.0
            found["mean_error"] = float(np.average(np.abs(target - scores), weights=weights))
            if self.scoring is not None:
                value = _measure(self.scoring, OutOfFold(None, scores, scores), target, weights)
                found["other_scores"] = ((_name_of(self.scoring), value),)
        if self.learner_ is None:
            found["warnings"] = ("no column can be used: the mean is always predicted",)
        elif target.size:
            found["warnings"] = tuple(doubts(found))
        return TableSummary(**found)

    def _on_training_rows(self, training: TrainingParts) -> float:
        """R² on training rows, by weight."""
        mass = errors = total = squares = 0.0
        for part in training.ask(self._deviations):
            mass, errors, total, squares = mass + part[0], errors + part[1], total + part[2], squares + part[3]
        spread = squares - total * (total / mass)  # the square could overflow
        return 1 - errors / spread if spread > 0 else 0.0

    def _deviations(self, rows: TrainingRows) -> tuple[float, float, float, float]:
        """Weighted sums of: 1, squared errors, deviations from the mean, and squared deviations."""
        each = np.ones(rows.target.size) if rows.weights is None else rows.weights
        errors = (each * (rows.target - self._scores(self.learner_, rows.X)) ** 2).sum()
        away = rows.target - self.target_.mean
        return float(each.sum()), float(errors), float(each @ away), float(each @ away**2)

    def _weights(self, training: TrainingParts) -> tuple[tuple[str, float], ...]:
        names, coef, deviation = self._feature_weights(training, self.target_.deviation)
        if not names:
            return ()
        order = np.argsort(-np.abs(coef[0]) * deviation, kind="stable")[:MOST_WEIGHTS]
        return tuple((names[k], float(coef[0, k])) for k in order.tolist() if coef[0, k] * deviation[k] != 0)

    def predict(self, X: Any) -> Array:
        """The predicted number of each row.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
        """
        return self._table_scores(X)

    def _check_whole(self) -> None:
        super()._check_whole()
        if "summary_" in vars(self):
            must(isinstance(vars(self).get("target_"), TargetScale), "the scale of the target")
            must(is_number(self.target_.mean) and is_number(self.target_.deviation), "numbers")


def area_under_curve(positive: Array, scores: Array, weights: Array | None = None) -> float:
    """The weighted probability that a positive row scores above a negative one; ties count ½."""
    _, place = np.unique(scores, return_inverse=True)
    mass = np.ones(scores.size) if weights is None else weights
    ours, others = (np.bincount(place, mass * one) for one in (positive, ~positive))
    below = np.cumsum(others) - 0.5 * others
    return float(ours @ below / (ours.sum() * others.sum()))


def _name_of(scoring: Any) -> str:
    return scoring if isinstance(scoring, str) else "scoring"


def _measure(scoring: Any, answers: OutOfFold, truth: Array, weights: Array | None) -> float:
    """The user's measure, on rows that the model did not learn from."""
    by_weight = {} if weights is None else {"sample_weight": weights}
    return float(get_scorer(scoring)(answers, np.arange(truth.size), truth, **by_weight))


def _parts(folds: Array) -> Array:
    """The folds; a single held-out part is cut into five."""
    return folds if folds.max(initial=0) else np.arange(folds.size) % 5


class OutOfFold:
    """Out-of-fold predictions as an estimator, for scikit-learn's scorers; X is row numbers."""

    def __init__(self, classes: Array | None, answers: Array, scores: Array) -> None:
        self.answers, self.scores = answers, scores
        self._estimator_type = "regressor" if classes is None else "classifier"
        if classes is not None:
            self.classes_ = classes

    def fit(self, X: Any, y: Any) -> OutOfFold:
        """Do nothing."""
        return self

    @available_if(lambda self: hasattr(self, "classes_"))  # type: ignore[untyped-decorator]
    def predict_proba(self, rows: Array) -> Array:
        """The probabilities."""
        found: Array = self.answers[rows]
        return found

    @available_if(lambda self: hasattr(self, "classes_"))  # type: ignore[untyped-decorator]
    def decision_function(self, rows: Array) -> Array:
        """The scores; of two classes one number per row."""
        found: Array = self.scores[rows]
        return found[:, 1] - found[:, 0] if found.ndim == 2 and found.shape[1] == 2 else found

    def predict(self, rows: Array) -> Array:
        """The predictions."""
        if hasattr(self, "classes_"):
            rows = self.classes_[self.answers[rows].argmax(axis=1)]
            return rows
        found: Array = self.answers[rows]
        return found

    def __sklearn_tags__(self) -> Any:
        """The tags of a classifier or a regressor."""
        return (TableClassifier() if hasattr(self, "classes_") else TableRegressor()).__sklearn_tags__()
