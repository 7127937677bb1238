"""`rosenblatt.losses`: the lectures' losses by name, and the objective of the interactive page."""

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt
from rosenblatt import LinearClassifier, LinearRegressor, losses

FORMULAS = {
    "zero_one": (lambda m: float(m <= 0), lambda m: 0),
    "perceptron": (lambda m: max(0, -m), lambda m: -float(m <= 0)),
    "hinge": (lambda m: max(0, 1 - m), lambda m: -float(m < 1)),
    "squared_hinge": (lambda m: max(0, 1 - m) ** 2, lambda m: -2 * max(0, 1 - m)),
    "log": (lambda m: np.log(1 + np.exp(-m)), lambda m: -1 / (1 + np.exp(m))),
    "exponential": (lambda m: np.exp(-m), lambda m: -np.exp(-m)),
    "modified_huber": (
        lambda m: max(0, 1 - m) ** 2 if m >= -1 else -4 * m,
        lambda m: -2 * max(0, 1 - m) if m >= -1 else -4,
    ),
    "squared": (lambda r: r * r / 2, lambda r: r),
    "absolute": (abs, np.sign),
    "huber": (lambda r: r * r / 2 if abs(r) <= 0.5 else 0.5 * abs(r) - 0.125, lambda r: np.clip(r, -0.5, 0.5)),
    "log_cosh": (lambda r: np.log(np.cosh(r)), np.tanh),
    "epsilon_insensitive": (lambda r: max(0, abs(r) - 0.5), lambda r: np.sign(r) * (abs(r) > 0.5)),
}
W, B = [[0.52, 0.68], [-0.82, 0.52], [0.20, -1.17]], [-0.18, -0.05, -0.06]
ROWS = [[0.5, 0.4], [0.8, 0.3], [0.3, 0.8], [-0.4, 0.3], [-0.3, 0.7], [-0.7, 0.2], [0.7, -0.4], [0.5, -0.6]]
ROWS += [[-0.4, -0.5]]
Y = [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("name", FORMULAS)
def test_every_loss_and_its_gradient(name):
    at = np.array([-2.0, -0.75, 0.0, 0.25, 1.5])
    value, slope = FORMULAS[name]
    assert losses.value(name, at, epsilon=0.5) == pytest.approx([value(m) for m in at])
    assert losses.gradient(name, at, epsilon=0.5) == pytest.approx([slope(m) for m in at])


def test_unknown_names_raise():
    for call in (losses.value, losses.gradient):
        with pytest.raises(ValueError, match=r"loss must be one of .*'hinge'.*got 'hingee'"):
            call("hingee", [0.0])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_interactive_page(form):
    found = losses.objective(LinearClassifier.from_weights(W, B, classes=(0, 1, 2), alpha=0.2), form(ROWS), Y)
    assert found.losses == pytest.approx([0.70, 0.63, 0.64, 0.66, 0.63, 0.53, 0.58, 0.45, 0.67], abs=0.005)
    assert (found.data_loss, found.penalty) == pytest.approx((0.61, 0.308), abs=0.0005 + 0.005)
    assert found.penalty == pytest.approx(0.308, abs=0.0005)
    assert found.coef_gradient[0] == pytest.approx([-0.097, -0.076], abs=0.0005)
    assert found.coef_gradient[1:] == pytest.approx(np.array([[0.118, -0.046], [-0.021, 0.121]]), abs=0.0005)
    assert found.intercept_gradient == pytest.approx([0.008, 0.008, -0.016], abs=0.0006)
    assert found.penalty_gradient == pytest.approx(0.2 * np.array(W))


@pytest.mark.parametrize("loss", ["log", "squared_hinge", "exponential"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("penalty", ["l2", "elasticnet"])
def test_gradients_are_those_of_the_objective(loss, classes, penalty):
    rng = np.random.default_rng(0)
    planes = 1 if classes == 2 else 3
    coef, b = rng.normal(size=(planes, 2)), rng.normal(size=planes)
    y, s = np.arange(9) % classes, rng.uniform(0.5, 2, 9)

    def at(coef, b):
        model = LinearClassifier.from_weights(coef, b, classes=range(classes), loss=loss, penalty=penalty, alpha=0.3)
        return losses.objective(model, ROWS, y, s)

    found, h = at(coef, b), 1e-6
    for k in range(planes):
        for j in range(2):
            step = np.zeros_like(coef)
            step[k, j] = h
            slope = (at(coef + step, b).total - at(coef - step, b).total) / (2 * h)
            assert (found.coef_gradient + found.penalty_gradient)[k, j] == pytest.approx(slope, abs=1e-6)
        step = h * (np.arange(planes) == k)
        slope = (at(coef, b + step).total - at(coef, b - step).total) / (2 * h)
        assert found.intercept_gradient[k] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize("model", [LinearClassifier(solver="batch"), LinearRegressor(loss="huber")])
def test_it_is_the_objective_of_the_report(model):
    found = losses.objective(model.fit(ROWS, Y), ROWS, Y)
    assert found.total == pytest.approx(model.report_.objective, rel=1e-9)


def test_what_has_no_objective_is_refused():
    with pytest.raises(TypeError, match="not a Perceptron"):
        losses.objective(rosenblatt.Perceptron.from_weights([1, 2]), [[1, 2]], [1])
    with pytest.raises(ValueError, match="the model knows"):
        losses.objective(LinearClassifier.from_weights([1, 2]), [[1, 2]], [3])
