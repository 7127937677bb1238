"""Parameters that no network can have."""

import numpy as np
import pytest
from network_cases import (
    XOR,
    XOR_SIDES,
    iris,  # noqa: F401 (fixtures)
)

from family import contents
from rosenblatt import Layer, MultilayerPerceptron
from rosenblatt.network.backpropagation import (
    ACTIVATIONS,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- bad parameters --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden_layer_sizes": (3, 0)}, "at least 1"),
        ({"hidden_layer_sizes": (3, "many")}, "numbers of units and layers"),
        ({"hidden_layer_sizes": (2.5,)}, "numbers of units and layers"),
        ({"activation": "sign"}, "activation"),
        ({"loss": "hinge"}, "loss"),
        ({"alpha": -1.0}, "alpha"),
        ({"learning_rate_init": 0.0}, "learning_rate_init"),
        ({"momentum": 1.0}, "momentum"),
        ({"batch_size": 0}, "batch_size"),
        ({"solver": "newton"}, "solver"),
    ],
)
def test_bad_parameters_are_refused(parameters, message, iris):
    X, y = iris
    model = MultilayerPerceptron(max_epochs=2, random_state=0).fit(X, y).set_params(**parameters)
    before = contents(model)
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=message):
            call(X, y)
    assert contents(model) == before


def test_layers_are_checked():
    with pytest.raises(ValueError, match="activation"):
        Layer(3, "sine")
    with pytest.raises(ValueError, match="whole number"):
        Layer(True)
    steps = {name for name, one in ACTIVATIONS.items() if one.slope is None}
    assert (steps, set(ACTIVATIONS) - steps) == (
        {"sign", "heaviside"},
        {"identity", "logistic", "tanh", "relu", "log-square"},
    )
    one = MultilayerPerceptron(Layer(3), max_epochs=1).fit(XOR, XOR_SIDES)
    assert [w.shape for w in one.coefs_] == [(2, 3), (3, 2)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_loss_that_runs_away_is_an_error(iris):
    X, y = iris
    model = MultilayerPerceptron(activation="identity", max_epochs=3, random_state=0).fit(X, y)
    before = contents(model)
    model.set_params(solver="sgd", learning_rate_init=1e9)
    with pytest.raises(ValueError, match="lower learning_rate_init"):
        model.fit(1e15 * X.astype(np.float32), y)
    model.set_params(solver="adam", learning_rate_init=0.001)
    assert contents(model) == before


def test_bad_data_are_refused(iris):
    X, y = iris
    model = MultilayerPerceptron(max_epochs=2)
    with pytest.raises(ValueError, match="multilabel"):
        model.fit(X, np.eye(3, dtype=int)[y])
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="balanced"):
        MultilayerPerceptron(class_weight="balanced").partial_fit(X, y)
    model.partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2]).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"new classes \[3\]"):
        model.partial_fit(X, y + 1)
    with pytest.raises(ValueError, match="new classes"):
        model.partial_fit(X, y, classes=[0, 7])
