"""Linear models of any loss and any penalty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from rosenblatt.objective.dense_rows import ProductReader
from rosenblatt.objective.losses import LOSSES, names
from rosenblatt.objective.objective_plan import MINIBATCH, ObjectivePlan
from rosenblatt.objective.penalties import PENALTIES
from rosenblatt.shell.encoding import PLAIN, WIDENING, Reader
from rosenblatt.shell.online_classifier import OnlineClassifier
from rosenblatt.shell.online_learner import OnlineLearner
from rosenblatt.shell.online_regressor import OnlineRegressor
from rosenblatt.shell.parameters import COMMON, PASSES

Array = np.ndarray[Any, Any]
RATES = {"optimal", "1/t", "1/sqrt(t)"}

LINEAR: dict[str, Any] = {
    "penalty": [StrOptions({str(name) for name in PENALTIES if name is not None}), None],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "l1_ratio": [Interval(Real, 0, 1, closed="both")],
    "epsilon": [Interval(Real, 0, None, closed="left")],
    "learning_rate": [Interval(Real, 0, None, closed="neither"), StrOptions(RATES), callable],
    "solver": [StrOptions({"auto", "stochastic", "batch", "gradient", *MINIBATCH})],
    "tol": [Interval(Real, 0, None, closed="left")],
    **{name: rule for name, rule in COMMON.items() if name not in ("multiclass", "class_weight", "record_errors")},
    "order": PASSES,
}


class ObjectiveLearner(OnlineLearner):
    """What `LinearClassifier` and `LinearRegressor` share: the objective."""

    loss: str
    penalty: str | None
    alpha: float
    l1_ratio: float
    learning_rate: Any
    solver: str
    tol: float
    fit_intercept: bool

    def _objective_plan(self, width: float) -> ObjectivePlan:
        if LOSSES[self.loss].refusal:
            raise ValueError(f'loss="{self.loss}" can be evaluated, not minimised: {LOSSES[self.loss].refusal}.')
        if self.solver == "stochastic" and PENALTIES[self.penalty].parts(1.0, 0.5) is None:
            raise ValueError(f'penalty="{self.penalty}" has no proximal step per feature: use solver="batch".')
        if self.solver == "batch" and self.learning_rate != "optimal":
            raise ValueError(
                f'solver="batch" finds its own steps: learning_rate={self.learning_rate!r} is for "stochastic" and '
                '"gradient".'
            )
        if self.solver in MINIBATCH:
            self._check_products()
        return ObjectivePlan(
            rate=self.learning_rate,
            bias="unit" if self.fit_intercept else "none",
            solver=self.solver,
            loss=self.loss,
            penalty=self.penalty,
            alpha=float(self.alpha),
            ratio=float(self.l1_ratio),
            width=width,
            tol=float(self.tol),
            patience=int(self.n_iter_no_change),
            **self._shared(),
        )

    @property
    def _reader(self) -> Reader:  # type: ignore[override]
        if self.solver in MINIBATCH:
            return ProductReader(self.solver)
        return WIDENING if self.solver in ("auto", "stochastic") else PLAIN

    def _check_products(self) -> None:
        """Refuse settings that the mini-batch solvers do not support."""
        if self.learning_rate != "optimal":
            raise ValueError(
                f'solver="{self.solver}" finds its own step size: learning_rate={self.learning_rate!r} is for '
                '"stochastic" and "gradient".'
            )
        if self.early_stopping:
            raise ValueError(
                f'early_stopping is not supported with solver="{self.solver}", whose step size falls to 0 over its '
                "whole budget: set max_epochs."
            )
        if PENALTIES[self.penalty].parts(1.0, 0.5) is None:
            raise ValueError(
                f'penalty="{self.penalty}" is not a sum of squares and absolute values: use solver="batch".'
            )
        if self.solver == "minibatch+lbfgs":
            sharp = (PENALTIES[self.penalty].parts(1.0, float(self.l1_ratio)) or (1.0, 0.0))[0]
            what = f'loss="{self.loss}"' if LOSSES[self.loss].kinked else f'penalty="{self.penalty}"' if sharp else ""
            if what:
                raise ValueError(f'L-BFGS needs a smooth objective, {what} has kinks: use "minibatch" or "batch".')


def _takes_pieces(model: Any) -> bool:
    if model.solver in ("stochastic", "auto"):
        return True
    raise AttributeError('partial_fit is for solver="auto" and "stochastic": others need all rows at once.')


def _tells_chances(model: Any) -> bool:
    if model.loss in ("log", "modified_huber"):
        return True
    raise AttributeError(f'loss="{model.loss}" defines no probabilities: use "log" or "modified_huber".')


class LinearClassifier(ObjectiveLearner, OnlineClassifier):
    """A linear classifier of any loss of the margin and any penalty.

    With f = w·x + b, m = y·f and row weights s_i it minimises

        F(w, b) = Σ s_i ℓ(m_i)/Σ s_i + α·P(w)          P(w) = ½‖w‖², Σ|w| or ρΣ|w| + ½(1 − ρ)‖w‖²

    so that `alpha` and `l1_ratio` mean what they mean in scikit-learn's `SGDClassifier`; the intercept is free.

    Parameters
    ----------
    loss : str, default="log"
        "perceptron" max(0, −m); "hinge" max(0, 1 − m); "squared_hinge" its square; "log" ln(1 + e^−m), for many
        classes ln Σ e^f_k − f_y; "exponential" e^−m; "modified_huber" the squared hinge, straight below m = −1.
        ("zero_one" can be evaluated, with `rosenblatt.losses`, but not minimised.)
    penalty : {"l2", "l1", "elasticnet"} or None, default="l2"
        The penalty on the weights: ½‖w‖², ‖w‖₁, a mixture of both, or none.
    alpha : float, default=1e-4
        The weight of the penalty.
    l1_ratio : float, default=0.15
        ρ, for the elastic net.
    learning_rate : float, "optimal", "1/t", "1/sqrt(t)" or callable, default="optimal"
        η of the stochastic solver, where t counts visits, and of "gradient", where it counts steps. "optimal" is
        1/(α(t + t₀)), t₀ such that no first step overshoots (Bottou 2010); without a penalty it falls with the root of
        the epochs. A callable gets the number of the epoch, from 1. "batch" has no rate.
    solver : {"auto", "stochastic", "batch", "gradient", "minibatch", "minibatch+lbfgs"}, default="auto"
        "auto": "batch" if `fit` has up to 2·10⁶ stored values, times the classes if there are more than two, and
        neither a learning rate nor an order is given; otherwise, and in `partial_fit`, from files and in shards,
        "stochastic".
        "stochastic": one step per row; a sparse row costs its own non-zeros, whatever the penalty, and L1 gives exact
        zeros. "batch": accelerated proximal gradient with line search, one step per epoch, to any accuracy.
        "gradient": w ← w − η∇F over all rows, once per epoch; η = 1 for "optimal". "minibatch": steps with momentum
        over some hundred rows at a time, by matrix products, for dense rows and many classes; it finds its step size
        from the data and decreases it to 0 over `max_epochs`. It takes float16, int8 and memory-mapped rows as they
        are and, if scikit-learn's `array_api_dispatch` is on, torch and CuPy arrays, also on a GPU; predictions are
        returned on X's device. "minibatch+lbfgs" continues with L-BFGS to the minimum of a smooth objective.
    multiclass : {"auto", "multinomial", "ovr"}, default="auto"
        For more than two classes, "auto" is softmax for the log loss and one-vs-rest for the others.
    tol : float, default=1e-4
        "stochastic" stops when F has not decreased by this share of itself for `n_iter_no_change` epochs; "batch",
        "gradient" and "minibatch+lbfgs" when a step could not lower F by tol² of itself and a duality gap proves that
        the model is within tol·F of the minimum, tol² where F < tol ("solved"; "stalled" where none can). On devices
        and for narrow types "minibatch+lbfgs" proves it by the strong convexity of an L2 penalty. 0: run to
        `max_epochs`.
    fit_intercept, order, max_epochs, early_stopping, validation_fraction, scoring, n_iter_no_change, class_weight, \
warm_start, random_state
        As in `Perceptron`.

    Attributes
    ----------
    coef_, intercept_, classes_, n_iter_
        As in `Perceptron`.
    report_ : Report
        With `objective`, F of the model; the mini-batch solvers also report its parts, `data_loss` and `penalty`, and
        `gradient_norm`. Their outcome is "solved" only if the gradient over all rows is as small as `tol` requires.

    References
    ----------
    L. Bottou, "Large-scale machine learning with stochastic gradient descent", 2010. J. Langford, L. Li, T. Zhang,
    "Sparse online learning via truncated gradient", JMLR 10, 2009. A. Beck, M. Teboulle, "A fast iterative
    shrinkage-thresholding algorithm for linear inverse problems", SIAM J. Imaging Sciences 2, 2009.

    Examples
    --------
    >>> from rosenblatt import LinearClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    >>> model = LinearClassifier(loss="log", alpha=0.1, solver="batch", tol=1e-8).fit(X, y)
    >>> model.predict_proba([[1.5]]).round(6)
    array([[0.5, 0.5]])
    >>> print(f"{model.coef_[0, 0]:.4f} {model.report_.objective:.4f}")
    0.6367 0.6155
    """

    _parameter_constraints: dict[str, Any] = {
        **LINEAR,
        "loss": [StrOptions(names("margin"))],
        "multiclass": [StrOptions({"auto", "multinomial", "ovr"})],
        "class_weight": COMMON["class_weight"],
    }
    del _parameter_constraints["epsilon"]

    def __init__(
        self,
        *,
        loss: str = "log",
        penalty: str | None = "l2",
        alpha: float = 1e-4,
        l1_ratio: float = 0.15,
        learning_rate: float | str | Callable[[int], float] = "optimal",
        solver: str = "auto",
        multiclass: str = "auto",
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

    def _plan(self) -> ObjectivePlan:
        if self.multiclass == "multinomial" and self.loss != "log":
            raise ValueError(
                f'multiclass="multinomial" is for loss="log" (softmax); loss="{self.loss}" learns by "ovr".'
            )
        return self._objective_plan(0.0)

    @available_if(_takes_pieces)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Make one stochastic epoch over these rows; for solver="auto" and "stochastic".

        Epochs of `partial_fit` are those of `fit` with solver="stochastic". A model that "auto" fitted in a batch
        learns on from its minimum.

        Parameters
        ----------
        X, y, classes, sample_weight
            As in `Perceptron.partial_fit`.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, classes, sample_weight)

    @available_if(_tells_chances)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of classes, or of labels, for the log loss and the modified Huber loss.

        Log: 1/(1 + e^−f), softmax for many classes. Modified Huber: (clip(f, −1, 1) + 1)/2. One-vs-rest: the values of
        all classes, scaled to sum to 1.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows whose probabilities are wanted.

        Returns
        -------
        ndarray of shape (n, K)
        """
        return self._reader.answer(self._chances(self._scores(X).astype(np.float64)), X)

    def _chances(self, scores: Array) -> Array:
        if self._kept.scheme.joint:
            chances = np.exp(scores - scores.max(axis=1, keepdims=True))
            return np.asarray(chances / chances.sum(axis=1, keepdims=True))
        chances = expit(scores) if self.loss == "log" else (np.clip(scores, -1.0, 1.0) + 1.0) / 2.0
        if scores.ndim == 1:
            return np.column_stack([1.0 - chances, chances])
        if self._by_labels:
            return np.asarray(chances)
        chances = np.where(chances.sum(axis=1, keepdims=True) > 0, chances, 1.0)  # all 0: equal probabilities
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    @available_if(_tells_chances)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of `predict_proba`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows whose probabilities are wanted.

        Returns
        -------
        ndarray of shape (n, K)
        """
        with np.errstate(divide="ignore"):
            found = np.log(self._chances(self._scores(X).astype(np.float64)))
        return self._reader.answer(found, X)


class LinearRegressor(ObjectiveLearner, OnlineRegressor):
    """A linear regressor of any loss of the residual and any penalty.

    With r = w·x + b − y and row weights s_i it minimises F(w, b) = Σ s_i ℓ(r_i)/Σ s_i + α·P(w), the penalties being
    those of `LinearClassifier`: least squares with them are ridge regression (scikit-learn's `Ridge(alpha=n·α)`),
    `Lasso` and `ElasticNet`, with the same `alpha` and `l1_ratio`.

    Parameters
    ----------
    loss : str, default="squared"
        "squared" ½r²; "absolute" |r|; "huber" ½r², straight beyond ε; "log_cosh" ln cosh r; "epsilon_insensitive"
        max(0, |r| − ε).
    epsilon : float, default=0.1
        ε of the Huber and the epsilon-insensitive loss.
    solver : {"auto", "stochastic", "batch", "gradient", "minibatch", "minibatch+lbfgs"}, default="auto"
        How the objective is minimised: see `LinearClassifier`.
    penalty, alpha, l1_ratio, learning_rate, tol, fit_intercept, order, max_epochs, early_stopping, \
validation_fraction, scoring, n_iter_no_change, warm_start, random_state
        As in `LinearClassifier`; held-out rows are scored by R².

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The weights, one per feature.
    intercept_ : ndarray of shape (1,)
        The bias.
    n_iter_ : int
        Epochs that were run.
    report_ : Report
        With `objective`; `errors` counts rows outside the tube, for "epsilon_insensitive".

    References
    ----------
    As for `LinearClassifier`. P. Huber, "Robust estimation of a location parameter", Ann. Math. Statistics 35, 1964.

    Examples
    --------
    >>> from rosenblatt import LinearRegressor
    >>> X, y = [[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0]
    >>> model = LinearRegressor(penalty=None, solver="batch", tol=1e-9).fit(X, y)
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([2.]), array([1.]))
    """

    epsilon: float
    _parameter_constraints: dict[str, Any] = {**LINEAR, "loss": [StrOptions(names("residual"))]}

    def __init__(
        self,
        *,
        loss: str = "squared",
        epsilon: float = 0.1,
        penalty: str | None = "l2",
        alpha: float = 1e-4,
        l1_ratio: float = 0.15,
        learning_rate: float | str | Callable[[int], float] = "optimal",
        solver: str = "auto",
        tol: float = 1e-4,
        fit_intercept: bool = True,
        order: str | Sequence[int] = "shuffle",
        max_epochs: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> ObjectivePlan:
        return self._objective_plan(float(self.epsilon))

    @available_if(_takes_pieces)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Make one stochastic epoch over these rows; for solver="auto" and "stochastic".

        As in `LinearClassifier.partial_fit`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, sample_weight)
