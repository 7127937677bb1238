"""`TableRegressor`: raw tables and text in, a scored regressor out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from rosenblatt.formats.declared_fields import is_number, must
from rosenblatt.tables.model import TableModel
from rosenblatt.tables.targets import NumberTarget, TargetScale

Array = np.ndarray[Any, Any]


class TableRegressor(RegressorMixin, TableModel):
    """A regressor of raw tables: encoding, learning and out-of-fold scores.

    `TableEncoder` turns columns into numbers; the target is standardised for the learner. For what the summary reports
    with "auto", the setting is chosen again by one half of the rows and measured on the other.

    Parameters
    ----------
    columns : mapping of str to str or transformer, optional
        The kind of some columns, or their encoders, as in `TableEncoder`.
    learner : "auto", "linear" or estimator, default="auto"
        "auto" searches least squares over the penalty, with numbers as they are, as splines, and with random Fourier
        features for smooth functions of several columns (up to 200,000 rows). It takes the lowest squared error on test
        rows, or the simplest setting whose error is within one standard error of that. "linear", or None, is least
        squares with a small L2 penalty.
    scoring : str or callable, optional
        A scikit-learn scorer; the summary reports its value along with R².
    cv : int, default=5
        The number of folds. Of more than 200,000 rows an eighth, and at most 100,000, are held out once instead: the
        model learns from the others.
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
        None if there is no column to learn from: then the mean is predicted.
    target_ : TargetScale
        The mean and the deviation of the target, by which predictions go back to its unit.

    Examples
    --------
    >>> import polars as pl
    >>> from rosenblatt import TableRegressor
    >>> table = pl.DataFrame({"size": [k / 2 for k in range(30)]})
    >>> model = TableRegressor(random_state=0).fit(table, [3.0 * k for k in range(30)])
    >>> model.summary_.measure, round(model.summary_.score, 1)
    ('R²', 1.0)
    """

    STORED = TableModel.STORED | {"target_"}
    _target = NumberTarget
    target_: TargetScale

    def predict(self, X: Any) -> Array:
        """The predicted number of each row.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n, d)
            The rows to predict.
        """
        return np.concatenate([self.target_.predictions(self.learner_, part) for part in self._parts(X)])

    def _score_planes(self) -> tuple[Array, Array]:
        coef, bias = self._learned_planes(1)
        return self.target_.deviation * coef, self.target_.given(bias)

    def _check_whole(self) -> None:
        super()._check_whole()
        if "summary_" in vars(self):
            must(isinstance(vars(self).get("target_"), TargetScale), "the scale of the target")
            must(is_number(self.target_.mean) and is_number(self.target_.deviation), "numbers")
