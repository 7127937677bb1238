"""What a fit says of its ending is so: on the lectures' XOR and house prices."""

import warnings

import numpy as np
import pytest

import rosenblatt
from rosenblatt import (
    LinearClassifier,
    LinearRegressor,
    LinearSVM,
    MaxMargin,
    MultilayerPerceptron,
    PassiveAggressiveRegressor,
    Pegasos,
    Perceptron,
)

KTH = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]], [1, 1, 1, -1, -1, -1]
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]
HOUSES = [[2104, 5, 1], [1416, 3, 2], [1534, 3, 2], [852, 2, 1], [1200, 3, 1]]  # square feet, rooms, floors
PRICES = [460, 232, 315, 178, 240]


@pytest.mark.parametrize("seed", [0, 2, 9, 19])
def test_the_default_network_learns_xor(seed):
    model = MultilayerPerceptron(random_state=seed).fit(*XOR)
    assert (model.report_.outcome, model.report_.errors) == ("separated", 0)


@pytest.mark.compiled
@pytest.mark.parametrize("seed", [1, 4])
def test_the_network_of_the_slides_learns_xor(seed):
    """Logistic units and squared error: thousands of epochs lower the loss by hardly anything, and then it learns."""
    model = MultilayerPerceptron((4,), activation="logistic", loss="squared", random_state=seed).fit(*XOR)
    assert (model.report_.outcome, model.report_.errors) == ("separated", 0)


def test_a_network_that_cannot_learn_stalls():
    X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1]  # each row once in each class
    model = MultilayerPerceptron((2,), learning_rate_init=0.05, random_state=0).fit(X, y)
    assert (model.report_.outcome, model.report_.errors > 0) == ("stalled", True)
    assert str(model.report_).startswith("stalled: the loss stopped improving")


def r2(X, y):
    rows, y = np.column_stack([X, np.ones(len(X))]), np.asarray(y, float)
    rest = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
    return 1 - rest @ rest / ((y - y.mean()) @ (y - y.mean()))


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_house_prices_as_they_come(columns, unit):
    X, y = np.array(HOUSES)[:, :columns], unit * np.array(PRICES)
    model = LinearRegressor().fit(X, y)
    assert model.report_.outcome == "solved"
    assert model.score(X, y) == pytest.approx(r2(X, y), abs=1e-3)


def test_small_tables_in_any_units():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n, d = rng.integers(6, 40), rng.integers(1, 4)
        X = 10.0 ** rng.uniform(0, 4, d) * rng.normal(size=(n, d)) + 10.0 ** rng.uniform(0, 4, d)
        y = X @ rng.normal(size=d) + 10 * rng.normal(size=n)
        assert LinearRegressor().fit(X, y).score(X, y) == pytest.approx(r2(X, y), abs=1e-3)


def test_auto_learns_pieces_row_by_row():
    X, y = np.array(HOUSES) / 1000, np.array(PRICES)
    auto, by_row = LinearRegressor(random_state=0), LinearRegressor(solver="stochastic", random_state=0)
    for _ in range(3):
        assert auto.partial_fit(X, y).coef_.tolist() == by_row.partial_fit(X, y).coef_.tolist()
    given = {"learning_rate": 0.01, "random_state": 0, "max_epochs": 3, "tol": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [LinearRegressor(solver=one, **given).fit(X, y).coef_.tolist() for one in ("auto", "stochastic")]
    assert found[0] == found[1]


def test_one_word_for_each_ending():
    X, y = KTH
    numbers = [2.0 * a - b for a, b in X]
    ends = {
        "separated": [Perceptron().fit(X, y), rosenblatt.KernelPerceptron().fit(X, y)],
        "solved": [
            LinearClassifier(solver="batch").fit(X, y),
            LinearSVM().fit(X, y),
            rosenblatt.KernelSVM().fit(X, y),
            MaxMargin().fit(X, y),
            PassiveAggressiveRegressor(epsilon=0.5, max_epochs=1000).fit(X, numbers),
        ],
        "stalled": [
            LinearClassifier(solver="stochastic", alpha=0.1, tol=0.1, random_state=0).fit(X, y),
            Pegasos(alpha=0.1, tol=0.1, random_state=0).fit(X, y),
        ],
    }
    for word, models in ends.items():
        for model in models:
            assert (model.report_.outcome, str(model.report_).split(":")[0]) == (word, word), model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert Perceptron(max_epochs=5).fit(*XOR).report_.outcome == "budget"
        assert MaxMargin().fit(*XOR).report_.outcome == "inseparable"


@pytest.mark.parametrize("penalty", [None, "l2", "l1"])
@pytest.mark.parametrize("rows", [KTH, XOR])
def test_zero_weights_are_no_solution_of_the_perceptron_criterion(penalty, rows):
    """At w = 0 no loss is met and every row is wrong."""
    model = LinearClassifier(loss="perceptron", penalty=penalty, solver="batch").fit(*rows)
    assert model.coef_.any() or model.report_.outcome == "stalled"
    if penalty is None and rows is KTH:
        assert (model.report_.outcome, model.report_.errors) == ("solved", 0)


def test_a_trace_of_version_0_1_is_read():
    run = rosenblatt.trace(*KTH, exact=True)
    written = run.to_json().replace('"outcome": "separated"', '"outcome": "converged"')
    assert rosenblatt.records.Trace.from_json(written) == run
