"""Networks: layers trained by backpropagation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from rosenblatt.data.declared_fields import must
from rosenblatt.data.examples import Dense, Examples, Facts
from rosenblatt.estimators.base.epoch_classifier import EpochClassifier
from rosenblatt.estimators.base.fitted_attributes import check_model
from rosenblatt.estimators.base.report import Report
from rosenblatt.estimators.linear import LINEAR
from rosenblatt.estimators.perceptron import COMMON, checked_order
from rosenblatt.learn.epochs import Source, Training
from rosenblatt.learn.network.backpropagation import (
    ACTIVATIONS,
    PATIENT_EPOCHS,
    Architecture,
    Layer,
    NetworkModel,
    NetworkSolver,
    NetworkState,
    Optimiser,
    new_network_state,
)
from rosenblatt.learn.online.rules import PerceptronRule
from rosenblatt.learn.online.solver import Plan, errors_in

Array = np.ndarray[Any, Any]
MOST_EPOCHS, MOST_STEPS = 2_000, 10_000


@dataclass(frozen=True, kw_only=True)
class NetworkReport(Report):
    """How the training of a network ended.

    Attributes
    ----------
    loss : float
        The mean loss over the last epoch. "separated" means that it is small and that every training row is right,
        "stalled" that it stopped improving; `margin` and `bound` are None.
    """

    loss: float = float("nan")

    def __str__(self) -> str:
        """The report in words."""
        lines = super().__str__().splitlines()
        if self.outcome == "stalled":
            lines[0] = "stalled: the loss stopped improving"
        return "\n".join([*lines, f"  loss     {self.loss:.6g}"])


NETWORK: dict[str, Any] = {
    **{
        name: COMMON[name]
        for name in ("max_epochs", "early_stopping", "validation_fraction", "scoring", "n_iter_no_change")
    },
    **{name: COMMON[name] for name in ("record_errors", "class_weight", "random_state")},
    "hidden_layer_sizes": [list, tuple, np.ndarray, Layer, Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(ACTIVATIONS))],
    "loss": [StrOptions({"cross-entropy", "squared"})],
    "solver": [StrOptions({"adam", "sgd"})],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "learning_rate_init": [Interval(Real, 0, None, closed="neither")],
    "momentum": [Interval(Real, 0, 1, closed="left")],
    "beta_1": [Interval(Real, 0, 1, closed="left")],
    "beta_2": [Interval(Real, 0, 1, closed="left")],
    "epsilon": [Interval(Real, 0, None, closed="neither")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "order": LINEAR["order"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "n_iter_no_change": [*COMMON["n_iter_no_change"], None],
}


def _has_probabilities(model: Any) -> bool:
    if model.loss != "cross-entropy":
        raise AttributeError('predict_proba needs loss="cross-entropy": other losses define no probabilities.')
    return True


class MultilayerPerceptron(EpochClassifier):
    """Layers of smooth units, trained by backpropagation in mini-batches.

    Layer by layer z ← F(W z + b). The last layer has one unit per class, and the loss of a row whose class is k is

        cross-entropy: −log softmax(s)_k        squared error: ½ Σ_j (o_j − u_j)², u one-hot, o logistic

    The objective is its mean + ½·alpha·‖W‖², biases left out.

    Parameters
    ----------
    hidden_layer_sizes : sequence of int and `Layer`, default=(100,)
        The layers before the last: a number of units with `activation`, or a `Layer` with an activation of its own,
        non-negative weights, gain control.
    activation : {"relu", "logistic", "tanh", "identity", "log-square"}, default="relu"
        Units of "sign" or "heaviside" are refused: see `Layer`.
    loss : {"cross-entropy", "squared"}, default="cross-entropy"
    solver : {"adam", "sgd"}, default="adam"
        "sgd" has momentum.
    alpha : float, default=0.0
    learning_rate_init : float, default=0.001
    momentum : float, default=0.9
    beta_1, beta_2, epsilon : float, default=0.9, 0.999, 1e-8
        Parameters of Adam.
    batch_size : int, default=200
    order : {"shuffle", "blocks", "cyclic", "random"} or sequence of rows, default="shuffle"
        The order in which rows fill the batches: see `Perceptron`.
    max_epochs : int, default=None
        None: 2·10⁹ stored values or 2,000 epochs (10,000 steps where that is more), whichever comes first, at least 10.
    tol : float, default=1e-5
    n_iter_no_change : int or None, default=None
        Stop when the loss did not fall by `tol` of itself within this many epochs (with `early_stopping`: the score did
        not rise). None: 10 epochs, or 100 steps where that is more. It also stops when the loss is 1/50 of that
        of a random guess and every training row is right.
    early_stopping : bool, default=False
        Score each epoch on held-out rows, and return the best epoch's model.
    validation_fraction : float, default=0.1
    scoring : str or callable, optional
        The measure of held-out rows: a scorer of scikit-learn, or a function of (estimator, X, y). None: accuracy.
    record_errors : bool, default=False
        Count the training errors after each epoch (one more pass).
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    coefs_ : list of ndarray
        W of each layer, (inputs, units).
    intercepts_ : list of ndarray
        b of each layer; empty where a layer has none.
    classes_ : ndarray
    loss_ : float
    n_iter_ : int
        Epochs that were run.
    report_ : NetworkReport
        How the fit ended.

    References
    ----------
    D. Rumelhart, G. Hinton, R. Williams, "Learning representations by back-propagating errors", Nature 323, 1986.
    D. Kingma, J. Ba, "Adam: a method for stochastic optimization", 2015.

    Examples
    --------
    >>> from rosenblatt import MultilayerPerceptron
    >>> X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], ["same", "same", "other", "other"]
    >>> model = MultilayerPerceptron((8,), activation="tanh", learning_rate_init=0.1, random_state=0).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'same', 'other', 'other']
    """

    hidden_layer_sizes: Sequence[int | Layer]
    activation: str
    loss: str
    solver: str
    alpha: float
    learning_rate_init: float
    momentum: float
    beta_1: float
    beta_2: float
    epsilon: float
    batch_size: int
    order: Any
    tol: float
    n_iter_no_change: int | None  # type: ignore[assignment]
    record_errors: bool
    _kept: NetworkModel
    _state: NetworkState
    STORED = (EpochClassifier.STORED | {"loss_"}) - {"coef_", "intercept_"}
    _parameter_constraints = NETWORK

    def __init__(
        self,
        hidden_layer_sizes: Sequence[int | Layer] = (100,),
        *,
        activation: str = "relu",
        loss: str = "cross-entropy",
        solver: str = "adam",
        alpha: float = 0.0,
        learning_rate_init: float = 0.001,
        momentum: float = 0.9,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        batch_size: int = 200,
        order: str | Sequence[int] = "shuffle",
        max_epochs: int | None = None,
        tol: float = 1e-5,
        n_iter_no_change: int | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        scoring: Any = None,
        record_errors: bool = False,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._take(locals())

    def _plan(self) -> Plan:
        self._layers()
        return Plan(rule=PerceptronRule(), order=checked_order(self.order), record_errors=self.record_errors)

    def _limit(self, plan: Plan, facts: Facts) -> int:
        steps = -(-facts.rows // int(self.batch_size))
        return self.max_epochs or min(max(MOST_EPOCHS, MOST_STEPS // max(steps, 1)), super()._limit(plan, facts))

    def _layers(self) -> list[Layer]:
        given: Any = self.hidden_layer_sizes
        given = [given] if isinstance(given, int | np.integer | Layer) else list(given)
        layers = []
        for one in given:
            if not isinstance(one, int | np.integer | Layer) or isinstance(one, bool):
                raise ValueError(f"hidden_layer_sizes holds numbers of units and layers, got {one!r}.")
            layers.append(one if isinstance(one, Layer) else Layer(int(one), self.activation))
            if ACTIVATIONS[layers[-1].activation].slope is None:
                raise ValueError(
                    f'Units with activation "{layers[-1].activation}" cannot be trained by backpropagation: the slope '
                    'of a step is 0, so that weights below it would never change. Use "tanh" or "logistic", its smooth '
                    "forms, or MarkI, whose first layer is fixed."
                )
        return layers

    def _new_state(self, source: Source, plan: Plan, *start: Any) -> NetworkState:
        facts = source.facts
        assert facts.classes is not None
        last = Layer(int(facts.classes.size), "identity" if self.loss == "cross-entropy" else "logistic")
        net = Architecture(facts.n_features, (*self._layers(), last), self.loss, float(self.alpha))
        return new_network_state(net, self._new_seed(), facts.dtype)

    def _optimiser(self) -> Optimiser:
        return Optimiser(
            self.solver,
            float(self.learning_rate_init),
            float(self.momentum),
            float(self.beta_1),
            float(self.beta_2),
            float(self.epsilon),
        )

    def _solver(self, plan: Plan, state: NetworkState) -> NetworkSolver:
        patience = math.inf if self.early_stopping else self.n_iter_no_change
        return NetworkSolver(plan, state, self._optimiser(), int(self.batch_size), float(self.tol), patience)

    def _held_out_patience(self) -> float:
        return self.n_iter_no_change or PATIENT_EPOCHS

    def _conclude(self, run: Training, report: Report) -> Report:
        errors, loss = errors_in(run.source, self._kept), report.epochs[run.solver.state.epoch - 1].loss
        return NetworkReport(**{**report.__dict__, "errors": errors}, loss=loss)

    def _check_learned(self) -> None:
        check_model(self, NetworkModel, NetworkState, d=self.n_features_in_)
        kept, state = self._kept, vars(self).get("_state")
        same = state is None or (state.net == kept.net and state.flat.dtype == kept.flat.dtype)
        must(same and not self._by_labels, "its own network")

    @property
    def coefs_(self) -> list[Array]:
        """The weights of each layer, (fan in, units)."""
        return [weights for weights, _ in self._kept.net.views(self._kept.flat)]

    @property
    def intercepts_(self) -> list[Array]:
        """The biases of each layer; empty where it has none."""
        return [shift for _, shift in self._kept.net.views(self._kept.flat)]

    def _publish(self, kept: Any) -> None:
        self.loss_ = self.report_.epochs[self._state.epoch - 1].loss

    def _attributes(self, kept: Any, examples: Examples) -> dict[str, Any]:
        # A copy: later training must not change it.
        return super()._attributes(replace(kept, flat=kept.flat.copy()), examples)

    def _complaint(self, report: Report) -> str:
        return (
            f"MultilayerPerceptron spent its budget of {report.n_epochs} epochs while the loss, now "
            f"{self.loss_:.3g}, still fell; {report.errors:,} of {report.rows:,} training rows are wrong. "
            "More epochs (max_epochs) may help."
        )

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, for cross-entropy.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, K)
        """
        rows = self._known_rows(X)
        n = rows.values.shape[0] if isinstance(rows, Dense) else rows.starts.size - 1
        s = self._kept.outputs(rows, np.arange(n, dtype=np.uint64))
        s -= s.max(axis=1, keepdims=True)
        np.exp(s, out=s)
        s /= s.sum(axis=1, keepdims=True)
        return s
