"""Gradient descent as on the slides: W ← W − η∇J."""

import warnings

import numpy as np
import pytest

from rosenblatt import LinearClassifier, LinearRegressor, Perceptron

KTH = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]], [1, 1, 1, -1, -1, -1]


def steps(kind, epochs, X, y, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = kind(solver="gradient", max_epochs=epochs, tol=0, **how).fit(X, y)
    return np.append(model.coef_, model.intercept_)


@pytest.mark.parametrize("rate", ["optimal", 1.0, 0.5, 6.0])
def test_of_the_perceptron_criterion_it_is_the_batch_perceptron(rate):
    X, y = KTH
    model = LinearClassifier(loss="perceptron", penalty=None, solver="gradient", learning_rate=rate).fit(X, y)
    batch = Perceptron(update="batch", learning_rate=1.0 if rate == "optimal" else rate).fit(X, y)
    assert model.coef_ == pytest.approx(batch.coef_, rel=1e-12)
    assert model.intercept_ == pytest.approx(batch.intercept_, rel=1e-12)
    assert model.report_.updates == batch.report_.updates
    assert (model.report_.outcome, model.report_.errors) == ("solved", 0)


def test_least_squares_by_the_update_of_the_slide():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 3)), rng.normal(size=12)
    rows, w = np.column_stack([X, np.ones(12)]), np.zeros(4)
    for _ in range(5):
        w -= 0.1 * (rows.T @ (rows @ w - y) / 12 + 0.3 * np.append(w[:3], 0))
    assert steps(LinearRegressor, 5, X, y, learning_rate=0.1, alpha=0.3) == pytest.approx(w, rel=1e-12)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_logistic_regression_by_the_update_of_the_slide(penalty):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(9, 2)), np.array([1, -1, 1, 1, -1, -1, 1, -1, 1])
    z, w = np.column_stack([X, np.ones(9)]) * y[:, None], np.zeros(3)
    for t in range(1, 5):
        slope = w[:2] if penalty == "l2" else np.sign(w[:2])
        w -= 1 / np.sqrt(t) * (-(z / (1 + np.exp(z @ w))[:, None]).mean(axis=0) + 0.2 * np.append(slope, 0))
    found = steps(LinearClassifier, 4, X, y, penalty=penalty, alpha=0.2, learning_rate="1/sqrt(t)")
    assert found == pytest.approx(w, rel=1e-12)


def test_it_ends_where_the_gradient_does():
    X, y = KTH
    model = LinearClassifier(alpha=0.1, solver="gradient", learning_rate=0.5).fit(X, y)
    best = LinearClassifier(alpha=0.1, solver="batch", tol=1e-8).fit(X, y)
    assert model.report_.outcome == "solved"
    assert model.coef_ == pytest.approx(best.coef_, abs=1e-3)


@pytest.mark.parametrize("kind", [LinearClassifier, LinearRegressor])
def test_a_rate_that_would_be_ignored_is_refused(kind):
    with pytest.raises(ValueError, match=r'solver="batch" finds its own steps: learning_rate=0.1'):
        kind(solver="batch", learning_rate=0.1).fit(*KTH)
