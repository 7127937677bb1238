"""Passive-aggressive learners: the smallest step that gives a row its margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.online.rules import PassiveAggressiveRule
from rosenblatt.online.solver import OnlinePlan
from rosenblatt.shell.encoding import WIDENING
from rosenblatt.shell.online_classifier import OnlineClassifier
from rosenblatt.shell.online_regressor import OnlineRegressor
from rosenblatt.shell.parameters import BIAS_STEP, COMMON, chosen_bias

AGGRESSIVE: dict[str, Any] = {
    **BIAS_STEP,
    "C": [Interval(Real, 0, None, closed="neither")],
    "variant": [StrOptions({"PA", "PA-I", "PA-II"})],
    "keep": [StrOptions({"last", "average"})],
}


class PassiveAggressive(OnlineClassifier):
    """The passive-aggressive classifier.

    With ℓ = max(0, 1 − y·f) and x̂ the row with the bias counted as a feature, w += τ·y·x̂ with

        PA: τ = ℓ/‖x̂‖²        PA-I: τ = min(C, ℓ/‖x̂‖²)        PA-II: τ = ℓ/(‖x̂‖² + 1/(2C))

    For many classes ℓ = max(0, 1 − (s_y − max s_r)), the true class and its best rival move, and ‖x̂‖² counts twice.
    It has separated the rows when y·f > 0 on all of them.

    Parameters
    ----------
    C : float, default=1.0
        The largest step (PA-I); smaller values give smaller steps (PA-II).
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        "PA" takes the whole step that the margin needs, "PA-I" at most `C`, "PA-II" a smaller one for smaller `C`.
    keep : {"last", "average"}, default="last"
        Which weights are the model: the last, or the average over all visits.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : {"unit", "radius"} or float, default="unit"
        c², what a step of size 1 adds to the bias, which is a feature of value c: ‖x̂‖² = ‖x‖² + c². Rows of norm 1
        (TF-IDF) learn better with 0.01: test accuracy of PA-II, averaged, 5 epochs, medians of five seeds, for 1 and
        0.01: 0.9539 and 0.9563, 0.9405 and 0.9446, 0.9883 and 0.9900 (20 Newsgroups: comp, sci, rec.sport against the
        rest), equal on acq (0.9767); longer rows are unaffected (a9a, 0.8499 and 0.8498); PA-I gains as much. The
        averaged perceptron gains on some and loses on others, and AROW is the same within 0.001
        (`benchmarks/bench.py bias`).
    order : {"shuffle", "blocks", "cyclic", "random", "first", "worst"} or sequence of int, default="shuffle"
        The order in which an epoch visits its rows: see `Perceptron`.
    multiclass : {"multinomial", "ovr", "ovo"}, default="multinomial"
        How more than two classes are learned: all planes together, one-vs-rest or one-vs-one.
    max_epochs : int or None, default=None
        The maximum number of epochs. None: 2·10⁹ stored values visited or 10,000 epochs, whichever comes first, but at
        least 10.
    early_stopping : bool, default=False
        Whether rows are held out, and the epoch that scores best on them becomes the model.
    validation_fraction : float, default=0.1
        The share of rows held out for early stopping.
    scoring : str or callable, optional
        The measure of held-out rows: a scorer of scikit-learn, or a function of (estimator, X, y). None: accuracy.
    n_iter_no_change : int, default=5
        Epochs without a better held-out score before training stops.
    record_errors : bool, default=False
        Whether each epoch's record counts the rows that the model gets wrong, at the cost of a scan.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, which multiply those of rows; "balanced" makes all classes weigh the same.
    warm_start : bool, default=False
        Whether `fit` continues from the weights of the last call.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the choice of held-out rows.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, report_
        As in `Perceptron`.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, "Online passive-aggressive algorithms", JMLR 7, 2006.

    Examples
    --------
    >>> from rosenblatt import PassiveAggressive
    >>> model = PassiveAggressive(variant="PA", order="cyclic").fit([[1.0], [-1.0]], ["up", "down"])
    >>> model.decision_function([[1.0], [-1.0]]).tolist()
    [1.0, -1.0]
    """

    _reader = WIDENING
    _parameter_constraints: dict[str, Any] = {**COMMON, **AGGRESSIVE}

    def __init__(
        self,
        *,
        C: float = 1.0,
        variant: str = "PA-I",
        keep: str = "last",
        fit_intercept: bool = True,
        bias_step: float | str = "unit",
        order: str | Sequence[int] = "shuffle",
        multiclass: str = "multinomial",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> OnlinePlan:
        return OnlinePlan(rule=PassiveAggressiveRule(self.variant, self.C), bias=chosen_bias(self), **self._shared())


class PassiveAggressiveRegressor(OnlineRegressor):
    """The passive-aggressive regressor.

    ℓ = max(0, |y − f| − ε), and w += sign(y − f)·τ·x̂ with the τ of `PassiveAggressive`. It has solved the
    problem when every training row is within ε.

    Parameters
    ----------
    C : float, default=1.0
        The largest step (PA-I); smaller values give smaller steps (PA-II).
    epsilon : float, default=0.1
        Half the width of the tube within which the loss is 0.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
        "PA" takes the whole step that the margin needs, "PA-I" at most `C`, "PA-II" a smaller one for smaller `C`.
    keep : {"last", "average"}, default="last"
        Which weights are the model: the last, or the average over all visits.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : {"unit", "radius"} or float, default="unit"
        c², what a step of size 1 adds to the bias: ‖x̂‖² = ‖x‖² + c².
    order : {"shuffle", "blocks", "cyclic", "random", "first", "worst"} or sequence of int, default="shuffle"
        The order in which an epoch visits its rows: see `Perceptron`.
    max_epochs : int or None, default=None
        The maximum number of epochs. None: 2·10⁹ stored values visited or 10,000 epochs, whichever comes first, but at
        least 10.
    early_stopping : bool, default=False
        Whether rows are held out, and the epoch with the best R² on them becomes the model.
    validation_fraction : float, default=0.1
        The share of rows held out for early stopping.
    scoring : str or callable, optional
        The measure of held-out rows: a scorer of scikit-learn, or a function of (estimator, X, y). None: R².
    n_iter_no_change : int, default=5
        Epochs without a better held-out score before training stops.
    record_errors : bool, default=False
        Whether each epoch's record counts the rows that the model gets wrong, at the cost of a scan.
    warm_start : bool, default=False
        Whether `fit` continues from the weights of the last call.
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the choice of held-out rows.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The weights, one per feature.
    intercept_ : ndarray of shape (1,)
        The bias.
    n_iter_, report_
        As in `Perceptron`.

    References
    ----------
    K. Crammer, O. Dekel, J. Keshet, S. Shalev-Shwartz, Y. Singer, "Online passive-aggressive algorithms", JMLR 7, 2006.

    Examples
    --------
    >>> from rosenblatt import PassiveAggressiveRegressor
    >>> model = PassiveAggressiveRegressor(variant="PA", epsilon=0.0, fit_intercept=False, order="cyclic", max_epochs=1)
    >>> model.fit([[1.0], [2.0]], [3.0, 6.0]).coef_
    array([3.])
    """

    _reader = WIDENING
    _parameter_constraints: dict[str, Any] = {
        **{name: rule for name, rule in COMMON.items() if name not in ("multiclass", "class_weight")},
        **AGGRESSIVE,
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        epsilon: float = 0.1,
        variant: str = "PA-I",
        keep: str = "last",
        fit_intercept: bool = True,
        bias_step: float | str = "unit",
        order: str | Sequence[int] = "shuffle",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> OnlinePlan:
        rule = PassiveAggressiveRule(self.variant, self.C, self.epsilon)
        return OnlinePlan(rule=rule, bias=chosen_bias(self), **self._shared())
