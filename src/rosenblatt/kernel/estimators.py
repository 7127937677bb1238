"""Learners with kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.compiled.row_arrays import read_only
from rosenblatt.kernel.budgets import BudgetState
from rosenblatt.kernel.perceptron import (
    KernelModel,
    KernelState,
)
from rosenblatt.kernel.plans import KernelDualPlan, KernelPlan
from rosenblatt.shell.epoch_classifier import EpochClassifier
from rosenblatt.shell.fitted_attributes import check_model, check_scheme
from rosenblatt.shell.parameters import BIAS_STEP, COMMON, chosen_bias

Array = np.ndarray[Any, Any]
MEGABYTE = 1 << 20

KERNEL: dict[str, Any] = {
    "kernel": [StrOptions({"linear", "poly", "rbf"}), callable],
    "degree": [Interval(Real, 0, None, closed="left")],
    "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0, None, closed="neither")],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "cache_size": [Interval(Real, 0, None, closed="left")],
    "class_weight": COMMON["class_weight"],
    "max_epochs": COMMON["max_epochs"],
    "random_state": COMMON["random_state"],
}
KERNEL_PERCEPTRON: dict[str, Any] = {
    **{name: rule for name, rule in COMMON.items() if name != "warm_start"},
    **KERNEL,
    "keep": [StrOptions({"last", "average", "vote"})],
    "order": [StrOptions({"shuffle", "cyclic", "random"}), "array-like"],
    **BIAS_STEP,
    "max_support": [Interval(Integral, 1, None, closed="left"), None],
    "when_full": [StrOptions({"projectron++", "forgetron"})],
    "projection_tol": [Interval(Real, 0, None, closed="left")],
}


class KernelClassifier(EpochClassifier):
    """What classifiers with kernels share."""

    kernel: str | Callable[[Any, Any], Any]
    degree: float
    gamma: float | str
    coef0: float
    cache_size: float
    _kept: KernelModel
    several_labels: ClassVar[bool] = True
    STORED = EpochClassifier.STORED - {"coef_", "intercept_"}

    def _kernel(self) -> dict[str, Any]:
        """The parameters that the plans of classifiers with kernels share."""
        kernel = {"kernel": self.kernel, "degree": float(self.degree), "gamma": self.gamma, "coef0": float(self.coef0)}
        return kernel | {"memory": self.cache_size * MEGABYTE} | self._shared()

    def _row_order(self) -> Any:
        """The support in the order of its rows in X, or as stored if the rows have no numbers."""
        rows = self._kept.rows
        return slice(None) if rows is None or (rows < 0).any() else np.argsort(rows, kind="stable")

    @property
    def support_vectors_(self) -> Any:
        """The support rows."""
        return self._kept.support[self._row_order()]

    @property
    def dual_coef_(self) -> Array:
        """The coefficients of the support rows, (planes, S)."""
        return read_only(self._kept.coef.T[:, self._row_order()])

    @property
    def intercept_(self) -> Array:  # type: ignore[override]
        """The bias of each plane."""
        return self._kept.intercept

    def _check_learned(self) -> None:
        check_model(self, KernelModel, KernelState | BudgetState, inputs=self.n_features_in_)
        check_scheme(self)


class KernelPerceptron(KernelClassifier):
    """The perceptron in the space of a kernel, f(x) = Σ_j β_j K(x_j, x) (+ b).

    A misclassified row, y·f ≤ 0, joins the support: β += y. That is w += y·φ(x) in the space in which
    K(x, x′) = φ(x)·φ(x′), and if a plane there separates the rows, learning ends after at most max K(x, x)/γ² mistakes.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf"} or callable, default="rbf"
        x·x′; (γ x·x′ + coef0)^degree; exp(−γ‖x − x′‖²); or a function of two matrices of rows that returns the
        matrix of their kernels.
    degree : float, default=3
        The degree of the polynomial kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1/(d·Var(X)), "auto" 1/d.
    coef0 : float, default=0.0
        The constant of the polynomial kernel.
    keep : {"last", "average", "vote"}, default="last"
        Which β is the model: the last; the average over all visits; or all of them, voting.
    multiclass : {"multinomial", "ovr", "ovo"}, default="multinomial"
        How more than two classes are learned: all planes together, one-vs-rest or one-vs-one.
    max_support : int, default=None
        The most support rows of each plane; None: as many as it takes. A limit needs keep="last".
    when_full : {"projectron++", "forgetron"}, default="projectron++"
        What happens to a row that the support has no room for: it is projected onto the support, or the oldest row is
        forgotten after all have shrunk. Both divide K by max K(x, x).
    projection_tol : float, default=0.1
        Of Projectron++: rows whose squared distance to the support's span is at most this are projected too.
    fit_intercept : bool, default=False
        Whether there is a bias b; if not, planes go through the origin.
    bias_step : {"unit", "radius"} or float, default="unit"
        With `fit_intercept`, b += y·c², c² = 1, max K(x, x) or a number: the kernel is K(x, x′) + c².
    order : {"shuffle", "cyclic", "random"} or sequence of rows, default="shuffle"
        The order in which an epoch visits its rows: see `Perceptron`.
    max_epochs : int, default=None
        None: until 2·10⁹ kernel values, 1,000 epochs at most, 10 at least (for a vote 10).
    cache_size : float, default=200
        Megabytes for kernel values of support rows with all rows, reused in later epochs.
    early_stopping, validation_fraction, scoring, n_iter_no_change, record_errors, class_weight, random_state
        As in `Perceptron`.

    Attributes
    ----------
    support_ : ndarray of shape (S,)
        The distinct rows that made mistakes, in the order of X; of equal rows the one that erred first. After
        `partial_fit` each has its number in the call in which it joined. With `max_support` every plane has a support
        of its own, so that a row may appear more than once.
    support_vectors_ : array or CSR matrix of shape (S, d)
        These rows.
    dual_coef_ : ndarray of shape (planes, S)
        β of each: for two classes y·α, α the mistakes on the row. One row per plane, so for K classes (K, S), and for
        one-vs-one (K(K − 1)/2, S), with 0 where a row made no mistake with that plane. Of a vote, β of the last
        iterate.
    intercept_ : ndarray of shape (planes,)
        The bias of each plane.
    classes_ : ndarray
        The classes, sorted.
    n_iter_ : int
        Epochs that were run.
    report_ : Report
        How the fit ended; margin, radius and bound are those of the kernel's space. On many rows errors and margin are
        None where counting them would take longer than learning did; `record_errors` counts them all the same.

    References
    ----------
    M. Aizerman, E. Braverman, L. Rozonoer, "Theoretical foundations of the potential function method", 1964.
    Y. Freund, R. Schapire, "Large margin classification using the perceptron algorithm", 1999. O. Dekel,
    S. Shalev-Shwartz, Y. Singer, "The Forgetron: a kernel-based perceptron on a budget", 2008. F. Orabona, J. Keshet,
    B. Caputo, "Bounded kernel-based online learning", JMLR 10, 2009.

    Examples
    --------
    >>> from rosenblatt import KernelPerceptron
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], ["same", "same", "other", "other"]
    >>> model = KernelPerceptron("poly", degree=2, gamma=1, coef0=1, order="cyclic").fit(X, y)
    >>> model.report_.outcome, model.report_.errors
    ('separated', 0)
    """

    keep: str
    max_support: int | None
    when_full: str
    projection_tol: float
    fit_intercept: bool
    bias_step: float | str
    order: Any
    record_errors: bool
    _state: Any
    _parameter_constraints = KERNEL_PERCEPTRON

    def __init__(
        self,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        *,
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        keep: str = "last",
        multiclass: str = "multinomial",
        max_support: int | None = None,
        when_full: str = "projectron++",
        projection_tol: float = 0.1,
        fit_intercept: bool = False,
        bias_step: float | str = "unit",
        order: str | Sequence[int] = "shuffle",
        max_epochs: int | None = None,
        cache_size: float = 200,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> KernelPlan:
        room = self.max_support
        if room is not None and self.keep != "last":
            raise ValueError(f'max_support={room} needs keep="last": the average and the vote need every mistake.')
        how: dict[str, Any] = {"budget_rule": self.when_full, "eta": float(self.projection_tol)}
        return KernelPlan(bias=chosen_bias(self), budget=room and int(room), **how, **self._kernel())

    @property
    def support_(self) -> Array:
        """The numbers of the support rows in X, ascending."""
        rows = self._kept.rows
        if rows is None or (rows < 0).any():
            raise AttributeError("This model was saved before support rows had numbers: fit it again.")
        return read_only(np.sort(rows))


KERNEL_SVM: dict[str, Any] = {
    **KERNEL,
    "C": [Interval(Real, 0, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "intercept_scaling": [Interval(Real, 0, None, closed="neither"), None],
    "multiclass": [StrOptions({"ovr", "ovo"})],
}


class KernelSVM(KernelClassifier):
    """The support vector machine with a kernel, solved until its duality gap is closed.

    With f = w·φ(x) + b and row weights s_i it minimises

        ½‖w‖² + C Σ s_i max(0, 1 − y_i f_i)

    as lectures and SVC do, by maximising the dual

        Σ α_i − ½ Σ α_i α_j y_i y_j K(x_i, x_j),   Σ y_i α_i = 0,   0 ≤ α_i ≤ C s_i

    two rows at a time: the one that violates its optimality condition most, and the one that together with it raises
    the dual most. If `intercept_scaling` is a number B, b is penalised like a weight, by ½(b/B)²: the kernel is then
    K + B², and Σ y_i α_i need not be 0. It has solved the problem
    when (primal − dual)/primal ≤ `tol`, which bounds the error of either. This gap is computed from the rows and α, and
    includes a bound on its own rounding.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the training errors; the smaller, the stronger the penalty.
    kernel, degree, gamma, coef0
        As in `KernelPerceptron`.
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    intercept_scaling : float or None, default=None
        None: the intercept is free. A number B: it is the weight of a constant feature B and penalised like the others.
    multiclass : {"ovr", "ovo"}, default="ovr"
        How more than two classes are learned: one-vs-rest or one-vs-one.
    tol : float, default=1e-4
        The relative duality gap to reach, in every plane.
    max_epochs : int, default=None
        Rounds at most; None: 10,000.
    cache_size : float, default=200
        Megabytes for rows of the kernel matrix: all of it if it fits (5,000 rows in 200), else as many of its rows as
        fit, two at least; the others are computed again when they are needed.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class's rows; "balanced" gives all classes the same total weight.
    random_state : int, RandomState or None, default=None
        Not used: the ascent draws nothing.

    Attributes
    ----------
    support_ : ndarray of shape (S,)
        The rows with α > 0 in some plane, ascending.
    support_vectors_ : array or CSR matrix of shape (S, d)
        These rows.
    dual_coef_ : ndarray of shape (planes, S)
        y·α of each: (1, S) for two classes, as in scikit-learn's SVC; for K classes one row per plane, (K, S), and for
        one-vs-one (K(K − 1)/2, S), with 0 where a row is no support of that plane.
    intercept_ : ndarray of shape (planes,)
        The bias of each plane.
    classes_ : ndarray
        The classes, sorted.
    n_iter_ : int
        Epochs that were run, here rounds of the ascent.
    report_ : Report
        How the fit ended: "solved" when its duality gap was closed, "stalled" when it could not be lowered to `tol`.
        `gap` is infinite for a kernel that is not positive semidefinite, for which no gap bounds anything; whether a
        callable is, is checked on as many rows as fit into `cache_size`.

    References
    ----------
    C. Cortes, V. Vapnik, "Support-vector networks", Machine Learning 20, 1995. R.-E. Fan, P.-H. Chen, C.-J. Lin,
    "Working set selection using second order information for training support vector machines", JMLR 6, 2005.

    Examples
    --------
    >>> from rosenblatt import KernelSVM
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]
    >>> model = KernelSVM(C=100.0, gamma=1.0).fit(X, y)
    >>> model.predict(X).tolist(), model.report_.outcome, model.report_.gap <= 1e-4
    ([-1, -1, 1, 1], 'solved', True)
    """

    C: float
    tol: float
    fit_intercept: bool
    intercept_scaling: float | None
    support_: Array
    STORED = KernelClassifier.STORED | {"support_"}
    _parameter_constraints = KERNEL_SVM

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        multiclass: str = "ovr",
        tol: float = 1e-4,
        max_epochs: int | None = None,
        cache_size: float = 200,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> KernelDualPlan:
        free = self.fit_intercept and self.intercept_scaling is None
        bias = "none" if free or not self.fit_intercept else float(self.intercept_scaling or 0.0) ** 2
        return KernelDualPlan(C=float(self.C), tol=float(self.tol), bias=bias, free=free, **self._kernel())

    @property
    def partial_fit(self) -> Any:
        """Not available: the dual needs all rows at once."""
        raise AttributeError("KernelSVM has no partial_fit: the dual needs all rows at once.")
