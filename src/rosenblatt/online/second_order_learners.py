"""Second-order online learners, which also learn the variance of each weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.online.rules import AROWRule, SecondOrderRule
from rosenblatt.online.solver import OnlinePlan
from rosenblatt.shell.encoding import WIDENING
from rosenblatt.shell.online_classifier import OnlineClassifier
from rosenblatt.shell.parameters import COMMON, chosen_bias

SECOND: dict[str, Any] = {
    **{name: rule for name, rule in COMMON.items() if name != "warm_start"},
    "covariance": [StrOptions({"diagonal", "full"})],
    "bias_step": [StrOptions({"unit"}), Interval(Real, 0, None, closed="neither")],
}


class AROW(OnlineClassifier):
    """Adaptive regularisation of weights.

    Stores a mean w and a covariance Σ, initially I. On a row with y·f < 1, with v = xᵀΣx and β = 1/(v + r):

        w += max(0, 1 − y·f)·β·y·Σx          Σ −= β·Σx xᵀΣ

    so that weights of frequent features change less. It tolerates label noise well. Rows are separated when y·f > 0 on
    all.

    Parameters
    ----------
    r : float, default=1.0
        Regularisation: the larger r, the smaller the steps.
    covariance : {"diagonal", "full"}, default="diagonal"
        "full" stores (d + 1)² numbers per class, so it is for few features.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : "unit" or float, default="unit"
        c², the initial variance of the bias in units of that of a weight, as if it were a feature of value c.
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
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the choice of held-out rows.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, report_
        As in `Perceptron`.

    References
    ----------
    K. Crammer, A. Kulesza, M. Dredze, "Adaptive regularization of weight vectors", NIPS 2009.

    Examples
    --------
    >>> from rosenblatt import AROW
    >>> model = AROW(order="cyclic", fit_intercept=False).fit([[1.0], [-1.0]], [1, 0])
    >>> model.coef_.round(3)
    array([[0.8]])
    """

    _reader = WIDENING
    _parameter_constraints: dict[str, Any] = {**SECOND, "r": [Interval(Real, 0, None, closed="neither")]}

    def __init__(
        self,
        *,
        r: float = 1.0,
        covariance: str = "diagonal",
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
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> OnlinePlan:
        return OnlinePlan(rule=AROWRule(self.r, self.covariance == "full"), bias=chosen_bias(self), **self._shared())


class SecondOrderPerceptron(OnlineClassifier):
    """The second-order perceptron: a perceptron that whitens the rows it erred on.

    f = vᵀ(A + xxᵀ)⁻¹x with A = aI at the start; on a mistake v += y·x, A += xxᵀ. The model is the plane A⁻¹v.

    Parameters
    ----------
    a : float, default=1.0
        The diagonal of A at the start; the larger, the closer to a plain perceptron.
    covariance : {"diagonal", "full"}, default="diagonal"
        "diagonal" stores only the diagonal of A.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : "unit" or float, default="unit"
        c², the initial variance of the bias in units of that of a weight, as if it were a feature of value c.
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
    random_state : int, RandomState or None, default=None
        Seeds the order of rows and the choice of held-out rows.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, report_
        As in `Perceptron`.

    References
    ----------
    N. Cesa-Bianchi, A. Conconi, C. Gentile, "A second-order perceptron algorithm", SIAM Journal on Computing 34, 2005.

    Examples
    --------
    >>> from rosenblatt import SecondOrderPerceptron
    >>> model = SecondOrderPerceptron(covariance="full", order="cyclic", fit_intercept=False)
    >>> model.fit([[1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]], [1, -1, 1, -1]).coef_
    array([[0.5, 0.5]])
    """

    _reader = WIDENING
    _parameter_constraints: dict[str, Any] = {**SECOND, "a": [Interval(Real, 0, None, closed="neither")]}

    def __init__(
        self,
        *,
        a: float = 1.0,
        covariance: str = "diagonal",
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
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> OnlinePlan:
        rule = SecondOrderRule(self.a, self.covariance == "full")
        return OnlinePlan(rule=rule, bias=chosen_bias(self), **self._shared())
