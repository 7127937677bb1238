"""`TableClassifier`: raw tables and text in, a scored and calibrated classifier out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions

from rosenblatt.formats.declared_fields import is_array, is_number, must
from rosenblatt.learn.calibration import Calibration, by_class
from rosenblatt.tables.model import TableModel
from rosenblatt.tables.targets import ClassTarget, class_scores

Array = np.ndarray[Any, Any]


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
    learner : "auto", "linear" or estimator, default="auto"
        "auto" searches the log loss over its penalty, with numbers as they are, as splines, and with random Fourier
        features for smooth functions of several columns (up to 200,000 rows); with more than 1,000 features, such as
        words, also AROW over r (three passes) and PA-I over C. Settings race on a part of the rows, and the best few
        are learned on all folds (of more than 10,000 rows on one); of those whose accuracy on test rows is within one
        standard error of the best it takes the one with the lowest log loss, or the simplest whose loss is within one
        standard error of that. At most 20,000 rows are searched. If even that takes too many visits of values (text
        with many classes), nothing is searched. "linear", or None, is one linear learner with fixed settings: averaged
        passive-aggressive (PA-I, C = 0.1), with up to ten passes.
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
    verbose : bool, default=False
        Print what is done, with the seconds so far, to standard error: reading, folds, compilation, passes.
    random_state : int, RandomState or None
        Seeds the folds, the order of rows and, in a search, the sample of rows.

    Attributes
    ----------
    report_ : TableReport
        How the fit ended.
    summary_ : TableSummary
        What was learned and how good it is; `print` it.
    setting_ : TableSetting or None
        What the search chose.
    fourier_ : FourierFeatures or None
        The random features beside those of the encoder, if the search chose them.
    encoder_ : TableEncoder
        The encoder of the columns, fitted to the table.
    learner_ : estimator
        None if there is no column to learn from: then the majority is predicted.
    classes_ : ndarray of shape (K,)
        The classes, sorted.
    calibration_ : Calibration
        How scores become probabilities.

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
    _target = ClassTarget
    classes_: Array
    calibration_: Calibration

    def __init__(
        self,
        *,
        columns: Mapping[str, Any] | None = None,
        learner: Any = "auto",
        scoring: Any = None,
        cv: int = 5,
        class_weight: Mapping[Any, float] | str | None = None,
        seconds: float | None = None,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        given: dict[str, Any] = {"columns": columns, "learner": learner, "scoring": scoring, "cv": cv}
        super().__init__(**given, seconds=seconds, verbose=verbose, random_state=random_state)
        self.class_weight = class_weight

    def decision_function(self, X: Any) -> Array:
        """Calibrated scores of rows: the log odds, (n,), of two classes; (n, K) for more; `predict` is the highest.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
            The rows to score.
        """
        scores = by_class(self._scores(X))
        scores = self.calibration_.scale * scores + self.calibration_.shifts
        return scores[:, 1] - scores[:, 0] if self.classes_.size == 2 else scores

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, (n, K).

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
            The rows whose probabilities are wanted.
        """
        scores = self._scores(X)
        return self.calibration_.probabilities(scores)

    def predict(self, X: Any) -> Array:
        """The most probable class of each row.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
            The rows to predict.
        """
        codes = self.predict_proba(X).argmax(axis=1)
        found: Array = self.classes_[codes]
        return found

    def _score_planes(self) -> tuple[Array, Array]:
        K, shifts = self.classes_.size, self.calibration_.shifts
        coef, bias = self._learned_planes(1 if K == 2 else K)
        coef, bias = self.calibration_.scale * coef, self.calibration_.scale * bias
        return coef, bias + (shifts[1:] - shifts[0] if K == 2 else shifts)

    def _scores(self, X: Any) -> Array:
        """The scores of the learner."""
        return np.concatenate([class_scores(self.learner_, part, self.classes_.size) for part in self._parts(X)])

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
