"""Passive-aggressive learners: the smallest step that gives a row its margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.estimators.base.online_classifier import OnlineClassifier
from rosenblatt.estimators.base.online_regressor import OnlineRegressor
from rosenblatt.estimators.perceptron import COMMON, checked_order
from rosenblatt.learn.online.rules import PassiveAggressiveRule
from rosenblatt.learn.online.solver import Plan

AGGRESSIVE: dict[str, Any] = {
    "C": [Interval(Real, 0, None, closed="neither")],
    "variant": [StrOptions({"PA", "PA-I", "PA-II"})],
    "keep": [StrOptions({"last", "average"})],
}


class PassiveAggressive(OnlineClassifier):
    """The passive-aggressive classifier.

    With ℓ = max(0, 1 − y·f) and x̂ the row with the bias counted as a feature, w += τ·y·x̂ with

        PA: τ = ℓ/‖x̂‖²        PA-I: τ = min(C, ℓ/‖x̂‖²)        PA-II: τ = ℓ/(‖x̂‖² + 1/(2C))

    For many classes ℓ = max(0, 1 − (s_y − max s_r)), the true class and its best rival move, and ‖x̂‖² counts twice.
    It converges when y·f > 0 on every training row.

    Parameters
    ----------
    C : float, default=1.0
        The largest step (PA-I), or how little is smoothed (PA-II).
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
    keep : {"last", "average"}, default="last"
    other parameters
        As in `Perceptron`.

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

    _parameter_constraints: dict[str, Any] = {**COMMON, **AGGRESSIVE}

    def __init__(
        self,
        *,
        C: float = 1.0,
        variant: str = "PA-I",
        keep: str = "last",
        fit_intercept: bool = True,
        order: str | Sequence[int] = "shuffle",
        multiclass: str = "multinomial",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> Plan:
        return _plan(self, PassiveAggressiveRule(self.variant, self.C))


class PassiveAggressiveRegressor(OnlineRegressor):
    """The passive-aggressive regressor.

    ℓ = max(0, |y − f| − ε), and w += sign(y − f)·τ·x̂ with the τ of `PassiveAggressive`. It converges when every
    training row is within ε.

    Parameters
    ----------
    C : float, default=1.0
    epsilon : float, default=0.1
        Half the width of the tube within which no loss is felt.
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
    keep : {"last", "average"}, default="last"
    other parameters
        As in `Perceptron`; held-out rows are scored by R².

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
    intercept_ : ndarray of shape (1,)
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
        order: str | Sequence[int] = "shuffle",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> Plan:
        return _plan(self, PassiveAggressiveRule(self.variant, self.C, self.epsilon))


def _plan(model: Any, rule: PassiveAggressiveRule) -> Plan:
    return Plan(
        rule=rule,
        bias="unit" if model.fit_intercept else "none",
        order=checked_order(model.order),
        keep=model.keep,
        record_errors=model.record_errors,
    )
