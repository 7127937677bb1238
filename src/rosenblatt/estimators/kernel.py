"""Learners with kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rosenblatt.data.examples import Examples, Facts, read_only
from rosenblatt.estimators.base.epoch_classifier import EpochClassifier
from rosenblatt.estimators.base.fitted_attributes import check_model, check_scheme
from rosenblatt.estimators.base.fitting import warn
from rosenblatt.estimators.base.report import Report
from rosenblatt.estimators.perceptron import BIAS_STEP, COMMON, checked_order
from rosenblatt.learn.epochs import Source, Training
from rosenblatt.learn.evaluation import row_margins
from rosenblatt.learn.kernel.budgets import BudgetSolver, BudgetState, new_budget_state
from rosenblatt.learn.kernel.functions import Kernel, scale_gamma
from rosenblatt.learn.kernel.perceptron import (
    KernelModel,
    KernelPerceptronSolver,
    KernelState,
    largest_diagonal,
    new_kernel_state,
)
from rosenblatt.learn.kernel.svm_dual import KernelDualSolver, KernelDualState, new_kernel_dual_state
from rosenblatt.learn.online.rules import PerceptronRule, squared_bias_feature
from rosenblatt.learn.online.solver import Plan, whole_problem
from rosenblatt.learn.overflow import check_scores
from rosenblatt.learn.schemes import TWO
from rosenblatt.prove.mistake_formula import Separator, mistake_bound

Array = np.ndarray[Any, Any]
MEGABYTE = 1 << 20
PRODUCTS_PER_SECOND = 1e10  # a low estimate for any machine
MOST_KERNELS = 2_000_000_000  # kernel values at most, if max_epochs is None

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
    "budget": [Interval(Integral, 1, None, closed="left"), None],
    "budget_rule": [StrOptions({"projectron++", "forgetron"})],
    "eta": [Interval(Real, 0, None, closed="left")],
}


class KernelClassifier(EpochClassifier):
    """What classifiers with kernels share."""

    kernel: str | Callable[[Any, Any], Any]
    degree: float
    gamma: float | str
    coef0: float
    cache_size: float
    _kept: KernelModel
    STORED = EpochClassifier.STORED - {"coef_", "intercept_"}
    _takes_labels = True
    _needs_memory = "its support may be the whole file"

    def _kernel(self, examples: Examples) -> Kernel:
        """The kernel for such rows, without a bias."""
        settings = (float(self.degree), scale_gamma(self.gamma, examples), float(self.coef0))
        return Kernel(self.kernel, *settings)

    def _plan(self) -> Plan:
        return Plan(rule=PerceptronRule())

    def _limit(self, plan: Plan, facts: Facts) -> int:
        few = 10 if plan.keep == "vote" else max(10, MOST_KERNELS // facts.rows**2)
        return self.max_epochs or min(1_000, few)

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
        """The bias of each plane; it is part of the kernel."""
        return np.asarray(self._kept.kernel.shift * self._kept.coef.sum(axis=0))

    def _publish(self, kept: Any) -> None:
        """Nothing to store: the public attributes are computed from the support rows."""

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
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1/(d·Var(X)), "auto" 1/d.
    coef0 : float, default=0.0
    keep : {"last", "average", "vote"}, default="last"
        Which β is the model: the last; the average over all visits; or all of them, voting.
    multiclass : {"multinomial", "ovr", "ovo"}, default="multinomial"
    budget : int, default=None
        The most support rows of each plane; None: as many as it takes. A budget needs keep="last".
    budget_rule : {"projectron++", "forgetron"}, default="projectron++"
        What happens to a row that the budget has no room for: it is projected onto the support, or the oldest row is
        forgotten after all have shrunk. Both divide K by max K(x, x).
    eta : float, default=0.1
        Of Projectron++: rows whose squared distance to the support's span is at most this are projected too.
    fit_intercept : bool, default=False
    bias_step : {"unit", "radius"} or float, default="unit"
        With `fit_intercept`, b += y·c², c² = 1, max K(x, x) or a number: the kernel is K(x, x′) + c².
    order : {"shuffle", "cyclic", "random"} or sequence of rows, default="shuffle"
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
        `partial_fit` each has its number in the call in which it joined. With a budget every plane has a support of
        its own, so that a row may appear more than once.
    support_vectors_ : array or CSR matrix of shape (S, d)
        These rows.
    dual_coef_ : ndarray of shape (planes, S)
        β of each: for two classes y·α, α the mistakes on the row. One row per plane, so for K classes (K, S), and for
        one-vs-one (K(K − 1)/2, S), with 0 where a row made no mistake with that plane. Of a vote, β of the last
        iterate.
    intercept_ : ndarray of shape (planes,)
    classes_ : ndarray
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
    budget: int | None
    budget_rule: str
    eta: float
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
        budget: int | None = None,
        budget_rule: str = "projectron++",
        eta: float = 0.1,
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

    def _plan(self) -> Plan:
        if self.budget is not None and self.keep != "last":
            raise ValueError(f'budget={self.budget} needs keep="last": the average and the vote need every mistake.')
        order = checked_order(self.order)
        return Plan(rule=PerceptronRule(), order=order, keep=self.keep, record_errors=self.record_errors)

    @property
    def support_(self) -> Array:
        """The numbers of the support rows in X, ascending."""
        rows = self._kept.rows
        if rows is None or (rows < 0).any():
            raise AttributeError("This model was saved before support rows had numbers: fit it again.")
        return read_only(np.sort(rows))

    def _new_state(self, source: Any, plan: Plan, *start: Any) -> Any:
        examples = source.examples
        classes, seed = int(examples.classes.size), self._new_seed()
        scheme, kernel = self._scheme(classes, examples.target.ndim == 2), self._kernel(examples)
        if self.fit_intercept:
            reach2 = largest_diagonal(kernel, examples) if self.bias_step == "radius" else 0.0
            kernel = replace(kernel, shift=float(squared_bias_feature(self.bias_step, reach2)))
        if self.budget is None:
            return new_kernel_state(examples, kernel, scheme, self.keep, classes, seed)
        if scheme.joint:
            raise ValueError(f'A budget is for two classes; with {classes} classes give multiclass="ovr" or "ovo".')
        rule, budget = self.budget_rule, int(self.budget)
        return new_budget_state(examples, kernel, scheme, classes, seed, rule, budget, float(self.eta))

    def _grown(self, examples: Examples, plan: Plan) -> Any:
        if self._state.keep != self.keep or isinstance(self._state, BudgetState) != (self.budget is not None):
            raise ValueError("keep and budget must be what they were in the first call of partial_fit.")
        return super()._grown(examples, plan)

    def _solver(self, plan: Plan, state: Any) -> Any:
        if isinstance(state, BudgetState):
            return BudgetSolver(plan, state)
        return KernelPerceptronSolver(plan, state, self.cache_size * MEGABYTE)

    def _conclude(self, run: Training, report: Report) -> Report:
        solver, source, state = run.solver, run.source, run.solver.state
        if not self._worth_a_scan(source.facts, state):
            return report
        errors, lows = scan_kernel_model(source, self._kept)
        separators = _separators(self._kept, lows) if self.keep != "vote" else []
        margin = min((_geometric(one) for one in separators), default=None)
        outcome = report.outcome
        if outcome == "budget" and (errors == 0 if self.keep == "last" else solver.clean(source)):
            outcome = solver.finished  # the last epoch made updates, but no row is wrong after it
        bound = None
        if outcome == "separated" and state.whole and self.budget is None:
            if self.keep != "last":
                separators = _separators(state.last(), scan_kernel_model(source, state.last())[1])
            bound = self._bound(separators, state)
        return replace(report, outcome=outcome, errors=errors, margin=margin, bound=bound)

    def _worth_a_scan(self, facts: Facts, state: Any) -> bool:
        """Whether counting errors takes no longer than learning did, or less than a second."""
        if self.budget is not None or self.record_errors:
            return True
        values = facts.rows * state.support.size
        return bool(values <= state.computed or values * facts.stored / max(facts.rows, 1) <= PRODUCTS_PER_SECOND)

    def _complaint(self, report: Report) -> str:
        if report.errors is not None:
            return super()._complaint(report)
        return (
            f"KernelPerceptron spent its budget of {report.n_epochs} epochs; the last made "
            f"{report.epochs[-1].updates:,} updates."
        )

    def _bound(self, separators: list[Separator], state: KernelState) -> float | None:
        """The bound on mistakes, summed over planes; the bias counts as a feature of the kernel."""
        classes = state.classes if state.scheme.joint else 2
        bounds = [
            mistake_bound(Separator(one.low, one.norm2 + one.bias2, 0.0), state.reach2, bias="none", classes=classes)
            for one in separators
        ]
        return None if any(bound is None for bound in bounds) else float(sum(bounds))  # type: ignore[arg-type]


@dataclass(frozen=True)
class KernelScan:
    """Counts the misclassified rows and finds the smallest y·f of each plane."""

    kept: KernelModel
    tie_is_mistake: bool = True

    def __call__(self, examples: Examples, shard: int) -> tuple[int, Array]:
        """Scan these examples."""
        kept, labels = self.kept, examples.target.ndim == 2
        problem = whole_problem(examples, kept.scheme)
        errors, lows = 0, np.full(1 if kept.scheme.joint else kept.coef.shape[1], np.inf)
        for index in problem.pieces(1):
            raw = check_scores(kept.raw(problem.rows, index, examples.n_features))
            truth = examples.target[index]
            if kept.scheme.joint:
                seen = row_margins(problem, index, raw, PerceptronRule())
                margins, bad = seen.margins[:, None], seen.wrong
            else:
                sides = kept.scheme.sides(truth, kept.classes)
                margins = np.where(sides != 0, sides * raw, np.inf)
                if labels or kept.scheme == TWO:
                    wrong = margins <= 0 if self.tie_is_mistake else (raw > 0) != (sides > 0)
                    bad = np.asarray(wrong.any(axis=1))
                else:
                    bad = np.asarray(np.argmax(kept.decided(raw), axis=1) != truth)
            errors += int(np.count_nonzero(bad))
            lows = np.minimum(lows, margins.min(axis=0))
        return errors, lows


def scan_kernel_model(source: Source, kept: KernelModel, tie_is_mistake: bool = True) -> tuple[int, Array]:
    """The errors and the smallest y·f of each plane over all rows."""
    (found,) = source.ask(KernelScan(kept, tie_is_mistake))
    return found[0], found[1]


def _separators(kept: KernelModel, lows: Array) -> list[Separator]:
    norms, biases = kept.norms2(), kept.kernel.shift * kept.coef.sum(axis=0) ** 2
    if kept.scheme.joint:
        return [Separator(float(lows[0]), float(norms.sum()), float(biases.sum()))]
    return [Separator(float(a), float(b), float(c)) for a, b, c in zip(lows, norms, biases, strict=True)]


def _geometric(plane: Separator) -> float:
    if plane.norm2 > 0:
        return plane.low / math.sqrt(plane.norm2)
    return math.inf if plane.low > 0 else min(plane.low, 0.0)


KERNEL_SVM: dict[str, Any] = {
    **KERNEL,
    "C": [Interval(Real, 0, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="neither")],
    "fit_intercept": ["boolean"],
    "multiclass": [StrOptions({"ovr", "ovo"})],
}


class KernelSVM(KernelClassifier):
    """The support vector machine with a kernel, solved until its duality gap is closed.

    With the bias in the kernel, K̂ = K + 1 (so that b is penalised like a weight), it maximises the dual

        Σ α_i − ½ Σ α_i α_j y_i y_j K̂(x_i, x_j),   0 ≤ α_i ≤ C s_i

    of ½‖w‖² + ½b² + C Σ s_i max(0, 1 − y_i f_i), s the row weights, two rows at a time: the one that violates
    its optimality condition most, and the one that together with it raises the dual most. It has solved the problem
    when (primal − dual)/primal ≤ `tol`, which bounds the error of either. This gap is computed from the rows and α, and
    includes a bound on its own rounding.

    Parameters
    ----------
    C : float, default=1.0
    kernel, degree, gamma, coef0
        As in `KernelPerceptron`.
    fit_intercept : bool, default=True
    multiclass : {"ovr", "ovo"}, default="ovr"
    tol : float, default=1e-4
        The relative duality gap to reach, in every plane.
    max_epochs : int, default=None
        Rounds at most; None: 10,000.
    cache_size : float, default=200
        Megabytes for rows of the kernel matrix: all of it if it fits (5,000 rows in 200), else as many of its rows as
        fit, two at least; the others are computed again when they are needed.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None

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
    classes_ : ndarray
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
    support_: Array
    _needs_memory = "its dual needs all rows at once"
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
        multiclass: str = "ovr",
        tol: float = 1e-4,
        max_epochs: int | None = None,
        cache_size: float = 200,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    @property
    def partial_fit(self) -> Any:
        """Not available: the dual needs all rows at once."""
        raise AttributeError("KernelSVM has no partial_fit: the dual needs all rows at once.")

    def _limit(self, plan: Plan, facts: Facts) -> int:
        return self.max_epochs or 10_000

    def _new_state(self, source: Any, plan: Plan, *start: Any) -> KernelDualState:
        examples = source.examples
        classes = int(examples.classes.size)
        scheme = self._scheme(classes, examples.target.ndim == 2)
        kernel = replace(self._kernel(examples), shift=1.0 if self.fit_intercept else 0.0)
        return new_kernel_dual_state(examples, kernel, scheme, classes, float(self.C), self._new_seed())

    def _solver(self, plan: Plan, state: KernelDualState) -> KernelDualSolver:
        return KernelDualSolver(state, float(self.tol), self.cache_size * MEGABYTE)

    def _publish(self, kept: Any) -> None:
        self.support_ = read_only(self._state.support_rows())
        del self._state  # it holds all training rows; prediction needs only the support

    def _conclude(self, run: Training, report: Report) -> Report:
        run.solver.check_all()  # type: ignore[attr-defined]
        errors, lows = scan_kernel_model(run.source, self._kept, tie_is_mistake=False)
        margin = min(_geometric(one) for one in _separators(self._kept, lows))
        gap = run.solver.state.gap
        if report.outcome == "stalled":
            what = f"a relative duality gap of {gap:.2g}, above tol={self.tol}: scale the features, or lower C"
            if gap == np.inf:
                what = (
                    "a kernel that is not positive semidefinite, so that nothing tells how far it is from the optimum"
                )
            warn(f"KernelSVM stalled with {what}.")
        return replace(report, errors=errors, margin=margin, gap=gap)

    def _complaint(self, report: Report) -> str:
        return (
            f"KernelSVM spent its budget of {report.n_epochs} rounds with a relative duality gap of "
            f"{report.gap:.2g}, above tol={self.tol}. Scale the features, or give it more rounds (max_epochs)."
        )
