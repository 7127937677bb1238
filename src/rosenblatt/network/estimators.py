"""Networks: layers trained by backpropagation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if

from rosenblatt.compiled.row_arrays import Dense
from rosenblatt.formats.declared_fields import must
from rosenblatt.network.backpropagation import (
    ACTIVATIONS,
    Layer,
    NetworkModel,
    NetworkPlan,
    NetworkState,
    Optimiser,
)
from rosenblatt.shell.epoch_classifier import EpochClassifier
from rosenblatt.shell.fitted_attributes import check_model
from rosenblatt.shell.parameters import COMMON, PASSES

Array = np.ndarray[Any, Any]

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
    "adam_epsilon": [Interval(Real, 0, None, closed="neither")],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "order": PASSES,
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
        The loss of the last layer: log loss of a softmax, or squared error.
    solver : {"adam", "sgd"}, default="adam"
        "sgd" has momentum.
    alpha : float, default=0.0
        The weight of the penalty ½‖W‖²; 0 means none.
    learning_rate_init : float, default=0.001
        The step size at the start.
    momentum : float, default=0.9
        The momentum of "sgd".
    beta_1, beta_2, adam_epsilon : float, default=0.9, 0.999, 1e-8
        Parameters of Adam: β₁, β₂ and ε.
    batch_size : int, default=200
        Rows per step.
    order : {"shuffle", "blocks", "cyclic", "random"} or sequence of rows, default="shuffle"
        The order in which rows fill the batches: see `Perceptron`.
    max_epochs : int, default=None
        None: 2·10⁹ stored values or 2,000 epochs (10,000 steps where that is more), whichever comes first, at least 10.
    tol : float, default=1e-5
        The fall of the loss, relative to it, that counts as progress.
    n_iter_no_change : int or None, default=None
        Stop when the loss did not fall by `tol` of itself within this many epochs (with `early_stopping`: the score did
        not rise). None: 10 epochs, or 100 steps where that is more. It also stops when the loss is 1/50 of that
        of a random guess and every training row is right.
    early_stopping : bool, default=False
        Score each epoch on held-out rows, and return the best epoch's model.
    validation_fraction : float, default=0.1
        The share of rows held out for early stopping.
    scoring : str or callable, optional
        The measure of held-out rows: a scorer of scikit-learn, or a function of (estimator, X, y). None: accuracy.
    record_errors : bool, default=False
        Count the training errors after each epoch (one more pass).
    class_weight : dict, "balanced" or None, default=None
        The weight of each class's rows; "balanced" gives all classes the same total weight.
    random_state : int, RandomState or None, default=None
        Seeds the first weights, the order of rows and the choice of held-out rows.

    Attributes
    ----------
    coefs_ : list of ndarray
        W of each layer, (inputs, units).
    intercepts_ : list of ndarray
        b of each layer; empty where a layer has none.
    classes_ : ndarray
        The classes, sorted.
    loss_ : float
        The mean loss over the epoch that is the model.
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
    adam_epsilon: float
    batch_size: int
    order: Any
    tol: float
    n_iter_no_change: int | None
    record_errors: bool
    _kept: NetworkModel
    _state: NetworkState
    STORED = EpochClassifier.STORED - {"coef_", "intercept_"}
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
        adam_epsilon: float = 1e-8,
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

    def _plan(self) -> NetworkPlan:
        return NetworkPlan(
            layers=tuple(self._layers()),
            loss=self.loss,
            alpha=float(self.alpha),
            optimiser=Optimiser(
                self.solver,
                float(self.learning_rate_init),
                float(self.momentum),
                float(self.beta_1),
                float(self.beta_2),
                float(self.adam_epsilon),
            ),
            batch=int(self.batch_size),
            tol=float(self.tol),
            patience=math.inf if self.early_stopping else self.n_iter_no_change,
            **self._shared(),
        )

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

    def _check_learned(self) -> None:
        check_model(self, NetworkModel, NetworkState, d=self.n_features_in_)
        kept, state = self._kept, vars(self).get("_state")
        same = state is None or (state.net == kept.net and state.flat.dtype == kept.flat.dtype)
        must(same and not self._by_labels, "its own network")
        epochs = self.report_.epochs if "report_" in vars(self) else ()
        must(state is None or state.epoch <= len(epochs), "a record of each epoch")

    @property
    def loss_(self) -> float:
        """The mean loss over the epoch that is the model."""
        return float(self.report_.epochs[self._state.epoch - 1].loss)

    @property
    def coefs_(self) -> list[Array]:
        """The weights of each layer, (fan in, units)."""
        return [weights for weights, _ in self._kept.net.views(self._kept.flat)]

    @property
    def intercepts_(self) -> list[Array]:
        """The biases of each layer; empty where it has none."""
        return [shift for _, shift in self._kept.net.views(self._kept.flat)]

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the classes, for cross-entropy.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, d)
            The rows whose probabilities are wanted.

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
