"""`TableRegressor`: raw tables and text in, a scored regressor out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from rosenblatt.data.columns.label_copies import r2_alone
from rosenblatt.data.declared_fields import is_number, must
from rosenblatt.estimators.base.cross_fitting import Half
from rosenblatt.estimators.base.table_measures import (
    MOST_WEIGHTS,
    SUSPICIOUS,
    OutOfFold,
    doubts,
    r2,
    r2_interval,
    score_parts,
    scorer_name,
    user_score,
)
from rosenblatt.estimators.base.table_model import TableModel, TrainingParts, TrainingRows, UnseenRows
from rosenblatt.estimators.base.table_summary import TableSummary
from rosenblatt.estimators.linear import LinearRegressor
from rosenblatt.estimators.table_settings import LEAST_PASSES, NUMBER_DEFAULT, PASSES, VISITS

Array = np.ndarray[Any, Any]
LARGEST = 1e150  # standard deviation of a target, so that its square is finite


@dataclass(frozen=True)
class TargetScale:
    """The mean and the standard deviation of a numeric target."""

    mean: float
    deviation: float


class TableRegressor(RegressorMixin, TableModel):
    """A regressor of raw tables: encoding, learning and out-of-fold scores.

    `TableEncoder` turns columns into numbers; the target is standardised for the learner. For what the summary reports
    with "auto", the setting is chosen again by one half of the rows and measured on the other.

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

    STORED = TableModel.STORED | {"target_"}

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
            if y.dtype.kind == "M":  # NumPy would take the number of their units
                raise TypeError
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
            alone = r2_alone(column, unseen.target, score_parts(unseen.folds))
            if alone >= SUSPICIOUS:
                yield f"column {column.name!r} alone predicts the label (R² {alone:.3f}): check where it comes from"

    def _summarise(self, unseen: UnseenRows, training: TrainingParts, counts: Array) -> TableSummary:
        found: dict[str, Any] = self._base_summary("regression", int(counts.sum()), "R²")
        found |= {"classes": (), "baseline": 0.0, "training_score": self._on_training_rows(training)}
        found |= self._unseen_summary(unseen)
        if unseen.target.size:
            found |= self._honest(self._halves(unseen), unseen)
        if self.learner_ is None:
            found["warnings"] = ("no column can be used: the mean is always predicted",)
        elif unseen.target.size:
            found["warnings"] = tuple(doubts(found))
        return TableSummary(**found)

    def _honest(self, cuts: list[list[Half]], unseen: UnseenRows) -> dict[str, Any]:
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
        others = list[float]()
        for one in found if self.scoring is not None else ():
            answers = OutOfFold(None, one, one, self.__sklearn_tags__())
            others.append(user_score(self.scoring, answers, target, weights))
        return {
            "score": float(np.mean([r2(target, one, weights) for one in found])),
            "interval": r2_interval(target, errors, weights),
            "mean_error": float(np.average(np.mean([np.abs(target - one) for one in found], axis=0), weights=weights)),
            "other_scores": ((scorer_name(self.scoring), float(np.mean(others))),) if others else (),
        }

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
