"""The linear models against their plain twin."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import MARGIN, PENALTIES, RESIDUAL, numbers, signed, small
from scipy.special import log_softmax

from rosenblatt import LinearClassifier, LinearRegressor
from rosenblatt.objective.compiled_losses import curve

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- the plain twin --------------------------------------------------------------------------------------------------


def twin(model, X, y, epochs, rate, classes=1):
    """Stochastic descent with every weight pulled at every visit; columns are classes."""
    l1, l2 = {None: (0, 0), "l2": (0, 1), "l1": (1, 0), "elasticnet": (model.l1_ratio, 1 - model.l1_ratio)}[
        model.penalty
    ]
    l1, l2 = model.alpha * l1, model.alpha * l2
    W, b, t = np.zeros((classes, X.shape[1])), np.zeros(classes), 0
    u, q = 0.0, np.zeros_like(W)  # what each weight should have been pulled by, and has been
    for _ in range(epochs):
        for x, target in zip(X, y, strict=True):
            eta, f = rate(t), W @ x + b
            if isinstance(model, LinearRegressor):
                g = curve(model.loss, f - target, model.epsilon, slopes=True)
            elif classes > 1 and model.loss == "log":
                g = np.exp(log_softmax(f)) - np.eye(classes)[target]
            else:
                side = signed(np.array([target])) if classes == 1 else 2 * np.eye(classes)[target] - 1
                g = side * curve(model.loss, side * f, 0.0, slopes=True)
            step = eta * g
            if model.loss == "exponential":
                most = (1 + np.abs(f)) / (x @ x + model.fit_intercept)
                step = np.clip(step, -most, most)
            W, u, q = (1 - eta * l2) * W - step[:, None] * x, (1 - eta * l2) * u + eta * l1, (1 - eta * l2) * q
            new = np.where(W > 0, np.maximum(W - (u + q), 0), np.minimum(W + (u - q), 0))
            W, q = new, q + (new - W)
            b = b - step * model.fit_intercept
            t += 1
    return W, b


RATES = {0.1: lambda t: 0.1, "1/t": lambda t: 1 / (1 + t), "1/sqrt(t)": lambda t: 1 / np.sqrt(1 + t)}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", MARGIN)
def test_classifier_is_its_plain_twin(loss, penalty, form):
    for classes in (2, 3):
        X, y = small(40, 5, classes)
        rate = list(RATES)[classes - 1] if loss != "exponential" else 0.1
        model = LinearClassifier(
            loss=loss, penalty=penalty, alpha=0.05, learning_rate=rate, order="cyclic", max_epochs=2, tol=0,
            fit_intercept=classes == 3,
        ).fit(form(X), y)  # fmt: skip
        W, b = twin(model, X, y, 2, RATES[rate], 1 if classes == 2 else 3)
        assert np.allclose(model.coef_, W, atol=1e-10)
        assert np.allclose(model.intercept_, b, atol=1e-10)
        if penalty in ("l1", "elasticnet"):
            assert np.array_equal(model.coef_ == 0, W == 0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", RESIDUAL)
def test_regressor_is_its_plain_twin(loss, penalty, form):
    X, y = numbers(40, 5)
    model = LinearRegressor(
        loss=loss, penalty=penalty, alpha=0.05, learning_rate=0.1, order="cyclic", max_epochs=2, tol=0
    ).fit(form(X), y)
    W, b = twin(model, X, y, 2, RATES[0.1])
    assert np.allclose(model.coef_, W[0], atol=1e-10)
    assert np.allclose(model.intercept_, b, atol=1e-10)


def test_optimal_rate_is_the_one_it_says():
    X, y = small(40, 5)
    alpha = 0.1
    model = LinearClassifier(loss="hinge", alpha=alpha, order="cyclic", max_epochs=3, fit_intercept=False).fit(X, y)
    reach = (X**2).sum(axis=1).max()
    W, _ = twin(model, X, y, 3, lambda t: 1 / (alpha * t + reach))
    assert np.allclose(model.coef_, W)


def test_a_step_longer_than_the_penalty_allows_forgets_everything():
    X, y = small(30, 4)
    model = LinearClassifier(alpha=1.0, learning_rate=2.0, order="cyclic", max_epochs=1, loss="hinge").fit(X, y)
    assert np.isfinite(model.coef_).all()
    last = 2.0 * signed(y)[-1] * X[-1]
    assert np.allclose(model.coef_[0], last) or not model.coef_.any()


def test_a_tiny_scale_is_multiplied_out():
    X, y = small(50, 4)
    model = LinearClassifier(
        alpha=0.9, penalty="elasticnet", learning_rate=0.5, order="cyclic", max_epochs=2, fit_intercept=False
    )
    model.fit(sp.csr_array(X), y)
    W, _ = twin(model, X, y, 2, lambda t: 0.5)
    assert np.allclose(model.coef_, W, atol=1e-12)
