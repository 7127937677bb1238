"""Support vector machines: by dual coordinate ascent, and by stochastic subgradient steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.metaestimators import available_if

from rosenblatt.compiled.threads import thread_count
from rosenblatt.objective.linear import LINEAR, ObjectiveLearner
from rosenblatt.objective.pegasos import PegasosPlan
from rosenblatt.objective.svm_merging import ShardedPlan
from rosenblatt.shell.encoding import PLAIN
from rosenblatt.shell.online_classifier import OnlineClassifier
from rosenblatt.shell.parameters import COMMON

Array = np.ndarray[Any, Any]


def _never(model: Any) -> bool:
    raise AttributeError("The dual has a variable for each row and needs all rows at once: use fit.")


class LinearSVM(OnlineClassifier):
    """The linear support vector machine, solved until its duality gap is closed.

    With f = w·x + b, ξ = max(0, 1 − y·f) and row weights s_i it minimises

        ½‖w‖² + C Σ s_i ξ_i  (hinge)          or          ½‖w‖² + C Σ s_i ξ_i²  (squared hinge)

    as lectures and SVC do, or, if `intercept_scaling` is a number B, … + ½(b/B)², as LIBLINEAR does. It works by dual
    coordinate ascent with shrinking, and stops when the relative duality gap, (primal − dual)/primal, is below `tol`:
    the objective is then within that fraction of its minimum. `report_.gap` is the gap that was reached.

    Parameters
    ----------
    C : float, default=1.0
        The weight of the training errors; the smaller, the stronger the penalty.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        The loss of a row: ξ or ξ².
    multiclass : {"ovr", "crammer_singer"}, default="ovr"
        For more than two classes: each against the rest, all in one pass; or together (hinge only),
        ½‖W‖² + C Σ s_i max_k(f_k + [k ≠ y] − f_y).
    fit_intercept : bool, default=True
        Whether there is a bias b; if not, planes go through the origin.
    intercept_scaling : float or None, default=None
        None: the intercept is free. A number B: it is the weight of a constant feature B and penalised like the others,
        the less the larger B is; LIBLINEAR's problem, with B = 1 that of LinearSVC.
    tol : float, default=1e-3
        The relative duality gap to reach.
    shrinking : bool, default=True
        Leave out rows whose dual variables seem final, until the gap of the others is closed.
    max_epochs : int, default=None
        The maximum number of passes of the dual ascent.
    n_jobs : int or None, default=1
        The number of shards S into which rows are cut, each with a thread: S copies of w learn side by side, and their
        changes are added several times per pass (CoCoA+). The result is the same whenever S is, within `tol` of the
        same minimum for every S. None means 1, −1 as many as there are cores. It pays from about a million stored
        values on.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class's rows; "balanced" gives all classes the same total weight.
    random_state : int, RandomState or None, default=None
        Seeds the order in which rows are visited.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_
        As in `Perceptron`.
    support_ : ndarray of shape (S,)
        The rows that w is made of, ascending.
    dual_coef_ : ndarray of shape (1, S) or (K, S)
        Their coefficients: `coef_` = `dual_coef_` @ X[`support_`]. y·α, (1, S) for two classes as in scikit-learn's
        SVC; for K classes one row per plane, with 0 where a row does not support it.
    report_ : Report
        With `gap` and `objective`.

    References
    ----------
    C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. Keerthi, S. Sundararajan, "A dual coordinate descent method for large-scale
    linear SVM", ICML 2008. C. Ma et al., "Adding vs. averaging in distributed primal-dual optimization", ICML 2015.
    K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector
    machines", JMLR 2, 2001.

    Examples
    --------
    >>> from rosenblatt import LinearSVM
    >>> model = LinearSVM(C=10.0, tol=1e-6, fit_intercept=False).fit([[2.0], [-2.0], [-9.0]], [1, -1, -1])
    >>> float(model.coef_[0, 0].round(4)), 2 in model.support_, model.report_.outcome
    (0.5, False, 'solved')
    """

    C: float
    loss: str
    intercept_scaling: float | None
    fit_intercept: bool
    tol: float
    shrinking: bool
    n_jobs: int | None
    STORED = OnlineClassifier.STORED | {"support_", "dual_coef_"}
    _parameter_constraints: dict[str, Any] = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "squared_hinge"})],
        "multiclass": [StrOptions({"ovr", "crammer_singer"})],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "shrinking": ["boolean"],
        "max_epochs": COMMON["max_epochs"],
        "n_jobs": [Interval(Integral, 1, None, closed="left"), Options(Integral, {-1}), None],
        "class_weight": COMMON["class_weight"],
        "random_state": COMMON["random_state"],
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: str = "hinge",
        multiclass: str = "ovr",
        fit_intercept: bool = True,
        intercept_scaling: float | None = None,
        tol: float = 1e-3,
        shrinking: bool = True,
        max_epochs: int | None = None,
        n_jobs: int | None = 1,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> ShardedPlan:
        if self.multiclass == "crammer_singer" and self.loss != "hinge":
            raise ValueError('multiclass="crammer_singer" is for loss="hinge".')
        return ShardedPlan(
            jobs=thread_count() if self.n_jobs == -1 else self.n_jobs or 1,
            bias="unit" if self.fit_intercept else "none",
            squared=self.loss == "squared_hinge",
            C=float(self.C),
            scale=float(self.intercept_scaling or 1.0) if self.fit_intercept else 0.0,
            free=self.fit_intercept and self.intercept_scaling is None,
            tol=float(self.tol),
            shrinking=self.shrinking,
            multiclass=self.multiclass,
            max_epochs=self.max_epochs,
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Solve until the gap is closed or the budget is spent.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The training rows.
        y : array-like of shape (n,), or an indicator of labels of shape (n, K)
            The labels of the rows.
        sample_weight : array-like of shape (n,), optional
            A row of weight s has the penalty s·C.

        Returns
        -------
        self
        """
        return super().fit(X, y, sample_weight)

    @available_if(_never)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Not available: a dual needs all rows at once."""


class Pegasos(ObjectiveLearner, OnlineClassifier):
    """The primal estimated sub-gradient solver for support vector machines.

    It minimises ½λ‖w‖² + mean of max(0, 1 − y·f), λ = `alpha`, by steps on mini-batches of k rows, t = 1, 2, …

        w ← (1 − 1/t)w + 1/(λtk) Σ y·x over the rows of the batch with y·f < 1

    and, with `project`, w ← w·min(1, 1/(√λ‖w‖)), since the optimal w is no longer than 1/√λ. The intercept is the
    weight of a constant feature 1 and counts in ‖w‖. With more than two classes each is learned against the rest.
    With λ = 1/(nC) the problem is that of `LinearSVM(intercept_scaling=1.0)`.

    Parameters
    ----------
    alpha : float, default=1e-4
        λ.
    batch_size : int, default=1
        k. The last batch of an epoch may be smaller.
    project : bool, default=False
        Whether w is shortened to 1/√λ after each step.
    tol, fit_intercept, order, max_epochs, early_stopping, validation_fraction, scoring, n_iter_no_change, \
class_weight, warm_start, random_state
        As in `LinearClassifier`, with the stochastic solver.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_, report_
        As in `LinearClassifier`.

    References
    ----------
    S. Shalev-Shwartz, Y. Singer, N. Srebro, A. Cotter, "Pegasos: primal estimated sub-gradient solver for SVM",
    Mathematical Programming 127, 2011.

    Examples
    --------
    >>> from rosenblatt import Pegasos
    >>> X, y = [[2.0], [1.0], [-1.0], [-2.0]], [1, 1, 0, 0]
    >>> model = Pegasos(alpha=0.1, fit_intercept=False, order="cyclic", max_epochs=1, tol=0).fit(X, y)
    >>> model.coef_
    array([[5.]])
    """

    loss = "hinge"
    penalty = "l2"
    solver = "stochastic"
    multiclass = "ovr"
    batch_size: int
    project: bool

    _reader = PLAIN
    _parameter_constraints: dict[str, Any] = {
        **{name: LINEAR[name] for name in LINEAR if name in ("tol", "order") or name in COMMON},
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "project": ["boolean"],
        "class_weight": COMMON["class_weight"],
    }

    def __init__(
        self,
        *,
        alpha: float = 1e-4,
        batch_size: int = 1,
        project: bool = False,
        tol: float = 1e-4,
        fit_intercept: bool = True,
        order: str | Sequence[int] = "shuffle",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        class_weight: Mapping[Any, float] | str | None = None,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> PegasosPlan:
        return PegasosPlan(
            bias="unit" if self.fit_intercept else "none",
            alpha=float(self.alpha),
            tol=float(self.tol),
            patience=int(self.n_iter_no_change),
            batch_size=int(self.batch_size),
            project=bool(self.project),
            **self._shared(),
        )
