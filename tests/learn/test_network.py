"""Networks: gradients against finite differences, XOR, the model of vision, the Mark I, scikit-learn's contract."""

import os
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from network_cases import (
    XOR,
    XOR_SIDES,
    iris,  # noqa: F401 (fixtures)
)
from scipy.special import expit, log_softmax
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import Layer, MarkI, MultilayerPerceptron, Perceptron, RandomWiring
from rosenblatt.network.backpropagation import (
    Architecture,
    Optimiser,
    forward,
    loss_and_gradient,
    new_network_state,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
VISION = (
    Layer(600, "relu", bias=False),
    Layer(100, "log-square", bias=False, nonnegative=True, gain_control=True),
    Layer(50, "relu", bias=False),
)


def objective(net, flat, X, codes, mass=None):
    """The mean loss of rows plus penalty, and its gradient."""
    gradient = np.empty_like(flat)
    return loss_and_gradient(net, flat, gradient, X, codes, mass), gradient


def not_solved(estimator):
    """The Mark I alone feels the order of rows; the network has few enough there for one batch."""
    if not isinstance(estimator, MarkI):
        return {}
    reason = "compares fits on rows in different orders"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.compiled
@parametrize_with_checks(
    [MultilayerPerceptron(max_epochs=100), MarkI(max_epochs=50), RandomWiring()], expected_failed_checks=not_solved
)
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


# -- gradients -------------------------------------------------------------------------------------------------------

NETS = {
    "none hidden": (),
    "relu": (Layer(5),),
    "logistic": (Layer(4, "logistic"), Layer(3, "logistic")),
    "tanh": (Layer(4, "tanh"),),
    "identity": (Layer(4, "identity", bias=False),),
    "log-square": (Layer(4, "log-square"),),
    "gain control": (Layer(5, "tanh", gain_control=True),),
    "vision": (Layer(7, bias=False), Layer(4, "log-square", False, True, True), Layer(3, bias=False)),
}


@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
@pytest.mark.parametrize("layers", NETS.values(), ids=NETS)
def test_gradient_is_that_of_finite_differences(layers, loss, weighed):
    rng = np.random.default_rng(3)
    X, codes = rng.normal(size=(11, 6)), rng.integers(0, 3, 11)
    mass = rng.uniform(0.5, 3, 11) if weighed else None
    last = Layer(3, "identity" if loss == "cross-entropy" else "logistic")
    net = Architecture(6, (*layers, last), loss, alpha=0.3)
    flat = net.start(1, np.float64)
    flat += 0.1 * rng.normal(size=flat.size)  # biases too
    _, gradient = objective(net, flat, X, codes, mass)
    for j in range(flat.size):
        step = np.zeros_like(flat)
        step[j] = 1e-6
        slope = (objective(net, flat + step, X, codes, mass)[0] - objective(net, flat - step, X, codes, mass)[0]) / 2e-6
        assert gradient[j] == pytest.approx(slope, abs=2e-8, rel=1e-6)
    sparse = objective(net, flat, sp.csr_matrix(X), codes, mass)
    assert np.allclose(sparse[1], gradient, atol=1e-12)


def test_loss_is_what_it_says():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(9, 4)), rng.integers(0, 3, 9)
    for loss, activation in (("cross-entropy", "identity"), ("squared", "logistic")):
        net = Architecture(4, (Layer(5, "tanh"), Layer(3, activation)), loss, alpha=0.2)
        flat = net.start(0, np.float64)
        (A, a), (B, b) = net.views(flat)
        s = np.tanh(X @ A + a) @ B + b
        losses = -log_softmax(s, axis=1)[np.arange(9), codes]
        if loss == "squared":
            losses = 0.5 * ((expit(s) - np.eye(3)[codes]) ** 2).sum(axis=1)
        assert objective(net, flat, X, codes)[0] == pytest.approx(losses.mean() + 0.1 * ((A**2).sum() + (B**2).sum()))


def test_layers_answer_as_their_formulas_say():
    X = np.array([[1.0, -2.0], [0.5, 3.0]])
    net = Architecture(
        2, (Layer(3, "log-square", bias=False, gain_control=True), Layer(2, "identity")), "cross-entropy"
    )
    flat = net.start(0, np.float64)
    (A, none), (B, b) = net.views(flat)
    assert none.size == 0
    y = np.log((X @ A) ** 2 + 1)
    z = y / np.sqrt(1 + (y**2).mean(axis=1, keepdims=True))
    assert np.allclose(forward(net, flat, X)[0], z @ B + b)


@pytest.mark.parametrize("kind", ["adam", "sgd"])
def test_optimisers_make_the_steps_of_their_papers(kind):
    net = Architecture(2, (Layer(2, "identity"),), "cross-entropy")
    state, rng = new_network_state(net, 0, np.float64), np.random.default_rng(1)
    optimiser = Optimiser(kind, 0.1)
    w, m, v = state.flat.copy(), np.zeros(6), np.zeros(6)
    for t in range(1, 6):
        g = rng.normal(size=6)
        optimiser.step(state, g)
        if kind == "adam":
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            w = w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
        else:
            m = 0.9 * m - 0.1 * g
            w = w + m
        assert np.allclose(state.flat, w, rtol=1e-12)


# -- what is learned -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("loss", ["cross-entropy", "squared"])
@pytest.mark.parametrize("activation", ["tanh", "logistic"])
def test_xor_is_learned(activation, loss, solver):
    assert Perceptron(max_epochs=50).fit(XOR, XOR_SIDES).report_.errors > 0
    rate = 0.1 if solver == "adam" else 0.5
    model = MultilayerPerceptron(
        (8,), activation=activation, loss=loss, solver=solver, learning_rate_init=rate, tol=1e-6, random_state=0
    ).fit(XOR, XOR_SIDES)
    assert model.report_.errors == 0
    assert model.predict(XOR).tolist() == XOR_SIDES.tolist()


def test_two_sign_units_solve_xor():
    """The lecture's net: h1 = sign(x1 + x2 − ½), h2 = sign(3/2 − x1 − x2), out = sign(h1 + h2 − 1)."""
    model = MultilayerPerceptron((2,), activation="tanh", max_epochs=1, random_state=0).fit(XOR, XOR_SIDES)
    steep = 50.0
    model.coefs_[0][:] = steep * np.array([[1, -1], [1, -1]])
    model.intercepts_[0][:] = steep * np.array([-0.5, 1.5])
    model.coefs_[1][:] = [[-1, 1], [-1, 1]]
    model.intercepts_[1][:] = [1, -1]
    assert model.predict(XOR).tolist() == XOR_SIDES.tolist()


def test_defaults_learn_xor_and_digits():
    assert MultilayerPerceptron(random_state=0).fit(XOR, XOR_SIDES).report_.errors == 0
    X, y = load_digits(return_X_y=True)
    model = MultilayerPerceptron((40,), random_state=0, max_epochs=25).fit(X[:1200] / 16, y[:1200])
    assert model.score(X[1200:] / 16, y[1200:]) > 0.88


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_model_of_vision_is_built_and_trained(dtype):
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(dtype)
    epochs = 8
    model = MultilayerPerceptron(VISION, max_epochs=epochs, random_state=0).fit(X[:1200], y[:1200])
    assert [w.shape for w in model.coefs_] == [(64, 600), (600, 100), (100, 50), (50, 10)]
    assert [b.size for b in model.intercepts_] == [0, 0, 0, 10]
    assert model.coefs_[0].dtype == dtype
    assert (model.coefs_[1] >= 0).all()
    assert (model.coefs_[1] == 0).any()  # the border was met
    assert (model.coefs_[0] < 0).any()
    assert model.score(X[1200:], y[1200:]) > 0.85


@pytest.mark.compiled
@pytest.mark.skipif("ROSENBLATT_DATA" not in os.environ, reason="needs MNIST")
def test_mnist():
    import gzip
    from pathlib import Path

    at = Path(os.environ["ROSENBLATT_DATA"]) / "mnist"
    if not at.is_dir():
        pytest.skip("needs MNIST")
    images, labels = (
        np.frombuffer(gzip.decompress((at / name).read_bytes()), np.uint8, offset=head)
        for name, head in (("t10k-images-idx3-ubyte.gz", 16), ("t10k-labels-idx1-ubyte.gz", 8))
    )
    X = images.reshape(-1, 784).astype(np.float32) / np.float32(255)
    model = MultilayerPerceptron((128,), max_epochs=6, random_state=0).fit(X[:8000], labels[:8000])
    assert model.score(X[8000:], labels[8000:]) > 0.92


def test_probabilities_are_those_of_the_scores(iris):
    X, y = iris
    model = MultilayerPerceptron(max_epochs=30, random_state=0).fit(X, y)
    chances = model.predict_proba(X)
    assert np.allclose(chances, np.exp(log_softmax(model.decision_function(X), axis=1)))
    two = MultilayerPerceptron(max_epochs=30, random_state=0).fit(X[y < 2], y[y < 2])
    assert np.allclose(two.predict_proba(X)[:, 1], expit(two.decision_function(X)))
    squared = MultilayerPerceptron(loss="squared", max_epochs=3).fit(X, y)
    assert not hasattr(squared, "predict_proba")


def test_penalty_makes_weights_small(iris):
    X, y = iris
    sizes = [
        np.abs(MultilayerPerceptron(alpha=alpha, max_epochs=60, random_state=0).fit(X, y).coefs_[0]).sum()
        for alpha in (0.0, 0.1, 1.0)
    ]
    assert sizes[0] > sizes[1] > sizes[2]


# -- contracts -------------------------------------------------------------------------------------------------------


def weights(model):
    return model._state.flat


@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_calls_of_partial_fit_are_the_epochs_of_fit(solver, iris):
    X, y = iris
    make = MultilayerPerceptron((6,), solver=solver, batch_size=32, max_epochs=4, random_state=3)
    pieces = clone(make)
    for _ in range(4):
        pieces.partial_fit(X, y)
    whole = make.fit(X, y)
    assert np.array_equal(weights(whole), weights(pieces))
    assert whole.report_.updates == pieces.report_.updates == 20
    assert [a.loss for a in whole.report_.epochs] == [b.loss for b in pieces.report_.epochs]


def test_sparse_is_dense_and_weight_zero_is_absent(iris):
    X, y = iris
    make = MultilayerPerceptron((6,), batch_size=32, max_epochs=4, random_state=3, record_errors=True)
    dense = clone(make).fit(X, y)
    assert np.allclose(weights(clone(make).fit(sp.csr_array(X), y)), weights(dense), rtol=1e-9)
    assert dense.report_.epochs[-1].errors == dense.report_.errors
    keep = np.random.default_rng(0).random(len(y)) < 0.7
    absent = clone(make).fit(X, y, sample_weight=keep.astype(float))
    assert np.array_equal(weights(absent), weights(clone(make).fit(X[keep], y[keep])))
    assert absent.report_.errors == clone(make).fit(X[keep], y[keep]).report_.errors


def test_whole_weights_are_copies_in_a_full_batch(iris):
    X, y = iris
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    make = MultilayerPerceptron((6,), batch_size=1000, max_epochs=5, random_state=3)
    weighed = clone(make).fit(X, y, sample_weight=weight)
    copied = clone(make).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.allclose(weights(weighed), weights(copied), rtol=1e-7)
    balanced = clone(make).set_params(class_weight={0: 2.0}).fit(X, y)
    assert np.allclose(weights(balanced), weights(clone(make).fit(X, y, sample_weight=1.0 + (y == 0))))


def test_same_seed_same_bits_and_copies(iris):
    X, y = iris
    model = MultilayerPerceptron((6,), max_epochs=3, random_state=1).fit(X, y)
    again = clone(model).fit(X, y)
    assert np.array_equal(weights(model), weights(again))
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.decision_function(X), model.decision_function(X))
    assert np.array_equal(weights(copy.partial_fit(X, y)), weights(model.partial_fit(X, y)))
    assert not np.array_equal(weights(clone(model).set_params(random_state=2).fit(X, y)), weights(again))


def test_dtype_is_kept(iris):
    X, y = iris
    model = MultilayerPerceptron(max_epochs=2).fit(X.astype(np.float32), y)
    assert weights(model).dtype == np.float32
    assert model.partial_fit(X, y).coefs_[0].dtype == np.float32


def test_early_stopping_returns_the_best_epoch(iris):
    X, y = iris
    model = MultilayerPerceptron(early_stopping=True, n_iter_no_change=4, learning_rate_init=0.05, random_state=0)
    model.fit(X, y)
    scores = [record.score for record in model.report_.epochs]
    assert model.report_.outcome == "early"
    assert model._state.epoch == int(np.argmax(scores)) + 1
    assert len(scores) == int(np.argmax(scores)) + 1 + 4
    assert model.loss_ == model.report_.loss == model.report_.epochs[int(np.argmax(scores))].loss
    with pytest.raises(ValueError, match="early_stopping"):
        model.partial_fit(X, y)


def test_report_says_how_it_ended(iris):
    X, y = iris
    with pytest.warns(ConvergenceWarning, match="2 epochs while the loss"):
        short = MultilayerPerceptron(max_epochs=2).fit(X, y)
    assert short.report_.outcome == "budget"
    assert "loss" in str(short.report_)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        done = MultilayerPerceptron(learning_rate_init=0.02, tol=1e-2, random_state=0).fit(X, y)
    assert done.report_.outcome == "stalled"
    assert "the loss stopped improving" in str(done.report_)
    assert done.n_iter_ == len(done.report_.epochs)


class Interrupting:
    """A callback that stops, fails, or interrupts after an epoch."""

    def __init__(self, how, after):
        self.how, self.after = how, after

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        if self.how == "interrupt" and context.task_name == "epoch" and context.task_id == self.after:
            raise KeyboardInterrupt

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name == "epoch":
            assert fitted_estimator.predict(X).shape == (len(y),)
            return self.how == "stop" and context.task_id + 1 >= self.after
        return None


@pytest.mark.parametrize("estimator", [MultilayerPerceptron((6,)), MarkI(40)])
def test_callbacks_and_interrupts(estimator, iris):
    X, y = iris
    X, y = X[:, :2], y
    make = clone(estimator).set_params(max_epochs=5, random_state=0)
    stopped = clone(make).set_callbacks(Interrupting("stop", 2)).fit(X, y)
    assert (stopped.report_.outcome, stopped.n_iter_) == ("early", 2)
    two = clone(make).set_params(max_epochs=2).fit(X, y)
    assert np.array_equal(stopped.decision_function(X), two.decision_function(X))
    model = clone(make).set_callbacks(Interrupting("interrupt", 2))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)


def test_an_interrupted_fit_keeps_its_last_whole_epoch(iris, monkeypatch):
    X, y = iris
    make = MultilayerPerceptron((6,), batch_size=50, max_epochs=5, random_state=0)
    step, calls = Optimiser.step, []

    def interrupted(self, state, gradient):
        calls.append(1)
        if len(calls) == 8:  # in the middle of the third epoch
            raise KeyboardInterrupt
        step(self, state, gradient)

    monkeypatch.setattr(Optimiser, "step", interrupted)
    model = clone(make)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.setattr(Optimiser, "step", step)
    assert model.report_.outcome == "interrupted"
    assert np.array_equal(weights(model), weights(clone(make).set_params(max_epochs=2).fit(X, y)))
