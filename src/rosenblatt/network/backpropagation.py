"""Layers of units and backpropagation.

Layer l computes s = W z + b from its input and y = F(s) for each unit; with gain control each output is divided by
the pooled activity of the layer: z = y/√(1 + mean y²). The output of the last layer is o; the loss of a row is

    cross-entropy   −log softmax(s)_true           squared error   ½ Σ_k (o_k − u_k)²,  u one-hot, o logistic

Backpropagation (Rumelhart, Hinton, Williams 1986): with g = ∂loss/∂z of a layer, δ = g·F′(s), ∂W = zᵀδ, ∂b = Σδ, and
g = δWᵀ for the layer below. All weights are stored in one vector, so that an optimiser is one pass over three vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.row_arrays import Dense, Sparse
from rosenblatt.formats.declared_fields import at_least, floats, must, size
from rosenblatt.formats.errors import NotFiniteError
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.epochs import Ending, EpochRecord, PartOfEpoch, Patience, Solver, Source
from rosenblatt.learn.evaluation import whole_problem
from rosenblatt.learn.examples import Examples, Facts
from rosenblatt.learn.models import copy_rows
from rosenblatt.learn.orders import Cyclic, visited
from rosenblatt.learn.overflow import all_finite
from rosenblatt.learn.plan import Needs, Plan, class_count
from rosenblatt.learn.report import Report
from rosenblatt.learn.scans import errors_in
from rosenblatt.learn.schemes import JOINT, Scheme

Array = np.ndarray[Any, Any]
MOST_EPOCHS, MOST_STEPS = 2_000, 10_000
ROWS_AT_ONCE = 1 << 12
PATIENT_EPOCHS, PATIENT_STEPS = 10, 100
SMALL_LOSS = 0.02  # as a fraction of the loss of a random guess


class Activation(NamedTuple):
    """F, as y = value(s), and as slope(s, y, g), which multiplies g by F′(s)."""

    value: Callable[[Array], Array]
    slope: Callable[[Array, Array, Array], Any] | None  # None for steps, which cannot be trained
    spread: float  # initial weights are uniform within √(spread/(fan in + fan out))


def _log_square_slope(s: Array, y: Array, g: Array) -> None:
    g *= s
    g *= 2 / (s * s + 1)


ACTIVATIONS = {
    "identity": Activation(lambda s: s, lambda s, y, g: g, 6.0),
    "logistic": Activation(lambda s: expit(s, out=s), lambda s, y, g: np.multiply(g, y * (1 - y), out=g), 2.0),
    "tanh": Activation(lambda s: np.tanh(s, out=s), lambda s, y, g: np.multiply(g, 1 - y * y, out=g), 6.0),
    "relu": Activation(lambda s: np.maximum(s, 0, out=s), lambda s, y, g: np.multiply(g, y > 0, out=g), 6.0),
    "log-square": Activation(lambda s: np.log1p(s * s), _log_square_slope, 6.0),
    # By the tie rule a sum of 0 is on the negative side.
    "sign": Activation(lambda s: np.where(s > 0, s.dtype.type(1), s.dtype.type(-1)), None, 6.0),
    "heaviside": Activation(lambda s: (s > 0).astype(s.dtype), None, 6.0),
}


@dataclass(frozen=True)
class Layer:
    """One layer of a `MultilayerPerceptron`.

    Parameters
    ----------
    units : int
        The number of outputs.
    activation : {"relu", "logistic", "tanh", "identity", "log-square", "sign", "heaviside"}, default="relu"
        F(s); "log-square" is log(s² + 1). "sign" is 1 for s > 0, else −1, and "heaviside" 1 for s > 0, else 0: units
        to compute with (`forward`), not to train, because their slope is 0.
    bias : bool, default=True
        Whether the units have biases.
    nonnegative : bool, default=False
        Keep the weights (not the biases) at 0 or above.
    gain_control : bool, default=False
        Divide each output by the pooled activity of the layer, y/√(1 + mean y²) (divisive normalisation).

    Examples
    --------
    >>> from rosenblatt import Layer
    >>> Layer(100, "log-square", nonnegative=True, gain_control=True)
    Layer(units=100, activation='log-square', bias=True, nonnegative=True, gain_control=True)

    Two sign units and a third that needs both, which is XOR:

    >>> hidden = Layer(2, "sign").forward([[0, 0], [1, 1], [0, 1], [1, 0]], [[1, -1], [1, -1]], [-0.5, 1.5])
    >>> Layer(1, "sign").forward(hidden, [[1], [1]], [-1]).ravel()
    array([-1., -1.,  1.,  1.])
    """

    units: Annotated[int, at_least(1)]
    activation: str = "relu"
    bias: bool = True
    nonnegative: bool = False
    gain_control: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.units, int | np.integer) or isinstance(self.units, bool) or self.units < 1:
            raise ValueError(f"units of a layer must be a whole number, at least 1, got {self.units!r}.")
        if not isinstance(self.activation, str) or self.activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {sorted(ACTIVATIONS)}, got {self.activation!r}.")
        for name in ("bias", "nonnegative", "gain_control"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name} of a layer must be True or False, got {getattr(self, name)!r}.")

    def check(self) -> None:
        """Units that can be trained."""
        must(ACTIVATIONS[self.activation].slope is not None, "layers that were trained")

    def forward(self, X: Any, coef: Any, intercept: Any = 0.0) -> Array:
        """The outputs F(XW + b) of the units for given weights.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            The inputs of the layer, one row each.
        coef : array-like of shape (d, units)
            W, as in `MultilayerPerceptron.coefs_`.
        intercept : float or array-like of shape (units,), default=0.0
            b.

        Returns
        -------
        ndarray of shape (n, units)
        """
        X = well_formed(X) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
        weights, shift = np.asarray(coef, dtype=np.float64), np.asarray(intercept, dtype=np.float64)
        if X.ndim != 2 or weights.shape != (X.shape[1], self.units) or shift.shape not in ((), (self.units,)):
            raise ValueError(
                f"X has shape {X.shape}, coef {weights.shape} and intercept {shift.shape}: a layer of {self.units} "
                f"units takes X of shape (n, d), coef of shape (d, {self.units}) and one intercept per unit."
            )
        out, _ = _layer_output(self, X, weights, np.broadcast_to(shift, (self.units,)))
        return out


@dataclass(frozen=True)
class Architecture:
    """The fixed part of a network: its layers, the output layer last, and its loss."""

    inputs: Annotated[int, size("d")]
    layers: tuple[Layer, ...]
    loss: str  # "cross-entropy" or "squared"
    alpha: float = 0.0  # adds ½·alpha·‖W‖² to the mean loss, without biases

    def check(self, classes: int, weights: int) -> None:
        """An output for each class, and as many weights as the layers have."""
        last = {"cross-entropy": "identity", "squared": "logistic"}.get(self.loss)
        good = self.layers and self.layers[-1].units == classes and self.layers[-1].activation == last
        must(good, "an answer for each class")
        must(weights == self.size, f"{self.size} weights")

    def views(self, flat: Array) -> list[tuple[Array, Array]]:
        """W (fan in, units) and b (units, or empty) of each layer, as views of the vector of all weights."""
        found, at, below = [], 0, self.inputs
        for layer in self.layers:
            weights = flat[at : at + below * layer.units].reshape(below, layer.units)
            at += weights.size
            shift = flat[at : at + (layer.units if layer.bias else 0)]
            at += shift.size
            found.append((weights, shift))
            below = int(layer.units)
        return found

    @property
    def size(self) -> int:
        """The number of weights."""
        belows = [self.inputs, *(layer.units for layer in self.layers)]
        return sum(
            below * layer.units + layer.units * layer.bias for below, layer in zip(belows, self.layers, strict=False)
        )

    def start(self, seed: int, dtype: Any) -> Array:
        """Random weights in Glorot and Bengio's range, biases 0; absolute values for nonnegative layers."""
        rng = np.random.default_rng((seed, 0x11E7))
        flat = np.zeros(self.size, dtype)
        for layer, (weights, _) in zip(self.layers, self.views(flat), strict=True):
            reach = np.sqrt(ACTIVATIONS[layer.activation].spread / sum(weights.shape))
            weights[:] = rng.uniform(-reach, reach, weights.shape)
            if layer.nonnegative:
                np.abs(weights, out=weights)
        return flat


class LayerOutput(NamedTuple):
    """The values computed by a layer, for the backward pass."""

    given: Any  # z of the layer below
    sums: Array  # s, or y if F overwrites it
    units: Array  # y
    gain: Array | None  # √(1 + mean y²)


def forward(net: Architecture, flat: Array, X: Any) -> tuple[Array, list[LayerOutput]]:
    """The outputs (s of the last layer for cross-entropy), and the intermediate results of every layer."""
    z, trails = X, []
    for layer, (weights, shift) in zip(net.layers, net.views(flat), strict=True):
        z, trail = _layer_output(layer, z, weights, shift)
        trails.append(trail)
    return z, trails


def _layer_output(layer: Layer, z: Any, weights: Array, shift: Array) -> tuple[Array, LayerOutput]:
    """The output of a layer, and its intermediate results."""
    s = np.asarray(z @ weights)
    if shift.size:
        s += shift
    y, gain = ACTIVATIONS[layer.activation].value(s), None
    out = y
    if layer.gain_control:
        gain = np.sqrt(1 + np.mean(y * y, axis=1, keepdims=True), dtype=y.dtype)
        out = y / gain
    return out, LayerOutput(z, s, y, gain)


def loss_and_gradient(
    net: Architecture, flat: Array, gradient: Array, X: Any, codes: Array, mass: Array | None
) -> float:
    """The mean loss of rows (weighted by `mass`) plus penalty; its gradient is written to `gradient`."""
    out, trails = forward(net, flat, X)
    loss, slope = _answer(net, out, codes, mass)
    return loss + backward(net, flat, gradient, slope, trails)


def _answer(net: Architecture, out: Array, codes: Array, mass: Array | None) -> tuple[float, Array]:
    """The mean loss and its derivative: with respect to s for cross-entropy (in place), to o for squared error."""
    at = np.arange(codes.size)
    if net.loss == "cross-entropy":
        out -= out.max(axis=1, keepdims=True)
        true = out[at, codes]
        np.exp(out, out=out)
        total = out.sum(axis=1, keepdims=True)
        losses = np.log(total[:, 0]) - true
        out /= total
        out[at, codes] -= 1
    else:
        out = out.copy()
        out[at, codes] -= 1
        losses = 0.5 * np.einsum("ik,ik->i", out, out)
    if mass is None:
        out *= 1 / codes.size
        return float(losses.mean(dtype=np.float64)), out
    share = mass / mass.sum()
    out *= share[:, None].astype(out.dtype)
    return float(share @ losses), out


def backward(net: Architecture, flat: Array, gradient: Array, g: Array, trails: list[LayerOutput]) -> float:
    """Fill `gradient` from g, the derivative of the loss with respect to the outputs; returns the penalty."""
    penalty = 0.0
    layers = list(zip(net.layers, net.views(flat), net.views(gradient), trails, strict=True))
    for depth in range(len(layers) - 1, -1, -1):
        layer, (weights, _), (dw, db), trail = layers[depth]
        if trail.gain is not None:
            pooled = np.einsum("ik,ik->i", g, trail.units)[:, None]
            g = g / trail.gain - trail.units * (pooled / (layer.units * trail.gain**3))
        if depth < len(layers) - 1 or net.loss == "squared":
            slope = ACTIVATIONS[layer.activation].slope
            assert slope is not None  # steps are refused before training
            slope(trail.sums, trail.units, g)
        dw[:] = trail.given.T @ g
        if db.size:
            db[:] = g.sum(axis=0)
        if net.alpha:
            dw += net.alpha * weights
            penalty += 0.5 * net.alpha * float(np.vdot(weights, weights))
        if depth:
            g = g @ weights.T
    return penalty


# -- optimisers: one pass over the vectors ---------------------------------------------------------------------------


@compiled
def _adam(w: Array, g: Array, m: Array, v: Array, rate: float, first: float, second: float, small: float) -> None:
    """m, v: running means of g and g²; w −= rate·m/(√v + small) (Kingma and Ba 2015)."""
    kind = w.dtype.type
    b, c, eta, least, one = kind(first), kind(second), kind(rate), kind(small), kind(1.0)
    for j in range(w.size):
        m[j] = b * m[j] + (one - b) * g[j]
        v[j] = c * v[j] + (one - c) * g[j] * g[j]
        w[j] -= eta * m[j] / (np.sqrt(v[j]) + least)


@compiled
def _momentum(w: Array, g: Array, m: Array, rate: float, inertia: float) -> None:
    """Polyak's heavy ball: m = inertia·m − rate·g, w += m."""
    kind = w.dtype.type
    a, eta = kind(inertia), kind(rate)
    for j in range(w.size):
        m[j] = a * m[j] - eta * g[j]
        w[j] += m[j]


@dataclass(frozen=True)
class Optimiser:
    """How a gradient moves the weights."""

    kind: str  # "adam" or "sgd"
    rate: float
    momentum: float = 0.9
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-8

    def step(self, state: NetworkState, gradient: Array) -> None:
        """One step."""
        state.steps += 1
        if self.kind == "adam":
            t = state.steps
            root = np.sqrt(1 - self.beta_2**t)
            rate = self.rate * root / (1 - self.beta_1**t)
            _adam(state.flat, gradient, state.first, state.second, rate, self.beta_1, self.beta_2, self.epsilon * root)
        else:
            _momentum(state.flat, gradient, state.first, self.rate, self.momentum)
        for layer, (weights, _) in zip(state.net.layers, state.net.views(state.flat), strict=True):
            if layer.nonnegative:
                np.maximum(weights, 0, out=weights)


# -- training --------------------------------------------------------------------------------------------------------


@dataclass
class NetworkState:
    """The weights of a network, and the state of its optimiser."""

    net: Architecture
    flat: Annotated[Array, floats("weights")]
    seed: int
    epoch: int = 0
    steps: int = 0
    first: Annotated[Array, floats("weights")] = field(default_factory=lambda: np.zeros(0))
    second: Annotated[Array, floats("weights")] = field(default_factory=lambda: np.zeros(0))

    def check(self) -> None:
        """One dtype."""
        must(self.flat.dtype == self.first.dtype == self.second.dtype, "one dtype")

    def copy(self) -> NetworkState:
        """An independent copy."""
        return replace(self, flat=self.flat.copy(), first=self.first.copy(), second=self.second.copy())

    @property
    def updates(self) -> int:
        """Steps so far."""
        return self.steps

    @property
    def dtype(self) -> Any:
        """The type of the weights."""
        return self.flat.dtype

    def kept(self) -> NetworkModel:
        """The network with its current weights."""
        return NetworkModel(self.net, self.flat)


def new_network_state(net: Architecture, seed: int, dtype: Any) -> NetworkState:
    """A network with its random initial weights."""
    flat = net.start(seed, dtype)
    return NetworkState(net, flat, seed, 0, 0, np.zeros_like(flat), np.zeros_like(flat))


@dataclass(frozen=True)
class NetworkModel:
    """A trained network."""

    net: Architecture
    flat: Annotated[Array, floats("weights")]
    scheme = JOINT

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.net.layers[-1].units)

    @property
    def width(self) -> int:
        """The number of features."""
        return int(self.net.inputs)

    def outputs(self, rows: Dense | Sparse, index: Array) -> Array:
        """The outputs of the last layer, (n, K)."""
        out = np.empty((index.size, self.net.layers[-1].units), self.flat.dtype)
        flat = self.flat
        for begin in range(0, index.size, ROWS_AT_ONCE):
            X = copy_rows(rows, index[begin : begin + ROWS_AT_ONCE], self.net.inputs)
            out[begin : begin + ROWS_AT_ONCE] = forward(self.net, flat, X)[0]
        return out

    def scores(self, rows: Dense | Sparse, index: Array) -> Array:
        """Decision values: for two classes the second output minus the first, (n,); (n, K) for more."""
        out = self.outputs(rows, index)
        return out[:, 1] - out[:, 0] if out.shape[1] == 2 else out


class BackpropagationPass:
    """One pass of mini-batches over rows, possibly in pieces, which a batch may span."""

    def __init__(self, state: NetworkState, optimiser: Optimiser, batch: int) -> None:
        self.state, self.optimiser, self.batch = state, optimiser, batch
        self.gradient = np.empty_like(state.flat)
        self.waiting: list[tuple[Any, Array, Array | None]] = []  # rows, codes and weights that fill no batch yet
        self.count, self.total, self.mass = 0, 0.0, 0.0

    def visit(self, examples: Examples, index: Array) -> None:
        """Learn from these rows; those that do not fill a batch wait for the next piece."""
        at = 0
        while at < index.size:
            batch = index[at : at + self.batch - self.count]
            weight = None if examples.weights is None else examples.weights[batch]
            self.waiting.append((copy_rows(examples.rows, batch, examples.n_features), examples.target[batch], weight))
            at, self.count = at + batch.size, self.count + batch.size
            if self.count == self.batch:
                self._step()

    def _step(self) -> None:
        X, codes, weight = self.waiting[0]
        if len(self.waiting) > 1:
            parts, each, weights = zip(*self.waiting, strict=True)
            X = sp.vstack(parts, format="csr") if sp.issparse(X) else np.concatenate(parts)
            codes = np.concatenate(each)
            weight = None if weight is None else np.concatenate(weights)
        self.waiting, self.count = [], 0
        loss = loss_and_gradient(self.state.net, self.state.flat, self.gradient, X, codes, weight)
        self.optimiser.step(self.state, self.gradient)
        share = float(codes.size if weight is None else weight.sum())
        self.total, self.mass = self.total + share * loss, self.mass + share

    def end(self) -> float:
        """Process the last batch, however short; returns the mean loss of all batches, each before its step."""
        if self.waiting:
            self._step()
        loss = self.total / max(self.mass, 1e-300)  # 0 if an order names none of the rows that take part
        if not (np.isfinite(loss) and all_finite(self.state.flat)):
            what = f"The loss is {loss} in epoch {self.state.epoch + 1}"
            remedy = f"Scale the features, or lower learning_rate_init from {self.optimiser.rate}."
            raise NotFiniteError(what, remedy=remedy)
        return loss


@dataclass(frozen=True, kw_only=True)
class NetworkPlan(Plan):
    """The layers before the last, the objective and the optimiser."""

    layers: tuple[Layer, ...]
    loss: str
    alpha: float
    optimiser: Optimiser
    batch: int
    tol: float
    patience: float | None  # epochs without a lower loss; None: by the number of steps

    @property
    def needs(self) -> Needs:
        """Weights of layers do not mix."""
        return Needs(self.why_not_in_parts, "only weights of linear learners can be mixed", radius=True)

    def scheme(self, classes: int, labels: bool) -> Scheme:
        """One output per class."""
        return JOINT

    def limit(self, facts: Facts) -> int:
        """Fewer epochs of many steps."""
        steps = -(-facts.rows // self.batch)
        return self.max_epochs or min(max(MOST_EPOCHS, MOST_STEPS // max(steps, 1)), super().limit(facts))

    def new_state(self, source: Source, seed: int, weights: Any = None) -> NetworkState:
        """Random weights."""
        facts = source.facts
        last = Layer(class_count(facts), "identity" if self.loss == "cross-entropy" else "logistic")
        net = Architecture(facts.n_features, (*self.layers, last), self.loss, self.alpha)
        return new_network_state(net, seed, facts.dtype)

    def follow(self, state: NetworkState) -> NetworkSolver:
        """The only solver."""
        return NetworkSolver(self, state)

    def refuse_change(self, state: NetworkState) -> None:
        """Nothing: the layers of the first call stay."""


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


class NetworkSolver(Solver):
    """Makes epochs of mini-batches until the loss has not decreased by `tol` of itself for `patience` epochs.

    Units with similar initial weights must first diverge, which takes many steps with hardly any decrease: by default
    patience lasts `PATIENT_STEPS` steps. It also stops when the loss is a fiftieth of that of a guess and a scan finds
    every row classified correctly.
    """

    state: NetworkState

    def __init__(self, plan: NetworkPlan, state: NetworkState) -> None:
        self.plan, self.state = plan, state

    def begin(self, source: Source, records: Sequence[EpochRecord]) -> None:
        """Continue the patience of the epochs so far."""
        tol, patience = self.plan.tol, self.plan.patience
        if patience is None:
            steps = -(-source.facts.rows // self.plan.batch)
            patience = max(PATIENT_EPOCHS, -(-PATIENT_STEPS // max(steps, 1)))
        self.patience = Patience(tol, patience, cumulative=True)
        for record in records:
            self.patience.spent(record.loss)
        if records and records[-1].converged:
            self._separates(source, records[-1].loss)

    def _separates(self, source: Source, loss: float) -> bool:
        """Whether the loss is small and every row is right; the outcome is then "separated"."""
        classes = int(self.state.net.layers[-1].units)
        guess = np.log(classes) if self.state.net.loss == "cross-entropy" else 0.5 * (1.0 - 1.0 / classes)
        small = loss <= SMALL_LOSS * guess and self.patience.patience < np.inf
        found = small and errors_in(source, self.model()) == 0
        self.finished = "separated" if found else "stalled"
        return bool(found)

    def epoch(self, source: Source) -> Iterator[PartOfEpoch]:
        """One pass: a batch may span parts."""
        state, run = self.state, BackpropagationPass(self.state, self.plan.optimiser, self.plan.batch)
        for examples in source.parts(state.epoch):
            before, problem = state.updates, whole_problem(examples, JOINT)
            order = self.plan.make_order(problem, state.seed) if source.whole else Cyclic(problem.size)
            run.visit(examples, visited(order, examples.present, state.epoch, 0, order.size))
            yield PartOfEpoch(examples.target.shape[0], state.updates - before)
        self.loss = run.end()

    def ending(self, source: Source) -> Ending:
        """The mean loss of the batches, and whether it stopped decreasing or has every row right."""
        errors = errors_in(source, self.model()) if self.plan.record_errors else None
        spent = self.patience.spent(self.loss)
        return Ending(self.loss, self._separates(source, self.loss) or spent, errors)

    def snapshot(self) -> NetworkModel:
        """A copy: later training must not change it."""
        kept = self.state.kept()
        return replace(kept, flat=kept.flat.copy())

    def conclude(self, source: Source, report: Report, kept: NetworkModel) -> NetworkReport:
        """Errors, and the loss of the epoch that is the model."""
        loss = report.epochs[self.state.epoch - 1].loss
        return NetworkReport(**{**report.__dict__, "errors": errors_in(source, kept)}, loss=loss)

    def complaint(self, name: str, report: Report) -> str:
        """The budget ended while the loss still fell."""
        return (
            f"{name} spent its budget of {report.n_epochs} epochs while the loss, now {report.epochs[-1].loss:.3g}, "
            f"still fell; {report.errors:,} of {report.rows:,} training rows are wrong. More epochs (max_epochs) may "
            "help."
        )
