"""Rows that are hard for a mini-batch solver: ordered by size, of unlike weights, far from 0, very large or small."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from rosenblatt import LinearClassifier, LinearProbe, LinearRegressor, Perceptron


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 8))
w = rng.normal(size=8)
y = (X @ w > 0).astype(int)
HEAVY = np.random.default_rng(1).lognormal(0.0, 2.0, (1000, 8))
UNLIKE = np.where(np.arange(1000) % 100, 1e-3, 1.0)


@pytest.mark.parametrize(
    ("Z", "weights"),
    [
        (X * np.linspace(0.001, 1.0, 1000)[:, None], None),
        (np.where(np.arange(1000)[:, None] < 250, 0.0, X), None),
        (X, UNLIKE),
        (HEAVY, None),
    ],
    ids=["small rows first", "zeros first", "unlike weights", "heavy tails"],
)
def test_the_step_size_holds_for_all_rows(Z, weights):
    model = LinearRegressor(solver="minibatch", alpha=1e-6, max_epochs=20, random_state=0).fit(Z, Z @ w, weights)
    assert model.score(Z, Z @ w, weights) > 0.9
    classes = LinearClassifier(loss="squared_hinge", solver="minibatch", random_state=0).fit(Z, y, weights)
    assert classes.report_.objective < 1.0  # what weights of 0 have


@pytest.mark.parametrize("kind", ["classifier", "probe"])
def test_features_far_from_zero_are_not_constant(kind):
    model = LinearProbe(random_state=0) if kind == "probe" else LinearClassifier(solver="minibatch", random_state=0)
    assert model.fit(X + 3e6, y).score(X + 3e6, y) > 0.95


@pytest.mark.parametrize("size", [1e-25, 1e20])
def test_single_precision_of_any_size(size):
    Z = (X * size).astype(np.float32)
    assert LinearProbe(random_state=0).fit(Z, y).score(Z, y) > 0.95


@pytest.mark.parametrize("constant", [1e36, 3e38])
def test_a_constant_near_the_largest_number_changes_nothing(constant):
    Z = np.hstack([X, np.full((1000, 1), constant)]).astype(np.float32)
    for model in (LinearProbe(random_state=0), LinearClassifier(solver="minibatch", random_state=0)):
        alone = clone(model).fit(X.astype(np.float32), y).score(X.astype(np.float32), y)
        assert model.fit(Z, y).score(Z, y) == pytest.approx(alone, abs=0.01)


def test_a_weight_of_zero_beside_rows_of_half_precision():
    weights = np.ones(1000)
    weights[3] = 0.0
    model = LinearClassifier(solver="minibatch", random_state=0).fit(X.astype(np.float16), y, weights)
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("size", [1e-46, 1e38])
def test_weights_beyond_single_precision(size):
    model = LinearProbe(random_state=0).fit(X.astype(np.float32), y, np.full(1000, size))
    assert model.score(X.astype(np.float32), y) > 0.95


def test_missing_values_in_held_out_rows_are_refused():
    Z = np.repeat(X, 20, axis=0).astype(np.float32)
    labels = np.arange(20_000) % 1000
    for row in range(0, 20_000, 20):
        Z[row] = np.nan
        with pytest.raises(ValueError, match=rf"NaN at row {row}\b"):
            LinearProbe(refit=False, alphas=[1e-3, 1e-2], max_epochs=1, random_state=0).fit(Z, labels)
        Z[row] = 0.0
        if row >= 60:
            break


def test_score_takes_every_form_of_y_that_fit_takes():
    model = LinearProbe(random_state=0).fit(X, y)
    assert model.score(X, y[:, None]) == model.score(X, y)
    labels = np.stack([y, 1 - y], axis=1)
    both = LinearProbe(random_state=0).fit(X, labels)
    assert both.score(X, sp.csr_array(labels)) == both.score(X, labels)
    with pytest.raises(ValueError, match=r"y has shape \(1000, 3\)"):
        both.score(X, np.zeros((1000, 3)))


def test_big_endian_files(tmp_path):
    np.save(tmp_path / "rows.npy", X.astype(">f4"))
    model = LinearProbe(random_state=0).fit(str(tmp_path / "rows.npy"), y)
    np.testing.assert_array_equal(model.coef_, LinearProbe(random_state=0).fit(X.astype("<f4"), y).coef_)


def test_a_start_with_a_weight_on_a_constant_feature():
    Z = X.copy()
    Z[:, 0] = 5.0
    model = LinearClassifier(solver="minibatch", alpha=1e-3, random_state=0)
    model.fit(Z, y, coef_init=np.full((1, 8), 50.0), intercept_init=np.zeros(1))
    assert model.report_.penalty == pytest.approx(0.5e-3 * float((model.coef_**2).sum()), rel=1e-6)
    assert model.coef_[0, 0] == 0.0


def test_rows_of_torch_that_ask_for_a_gradient():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from rosenblatt.objective.minibatch import MiniBatchDescent
    from rosenblatt.objective.minibatch_settings import Settings

    descent = MiniBatchDescent(torch.asarray(X).requires_grad_(), torch.asarray(2.0 * y - 1.0), Settings("log", 1))
    descent.epoch()
    assert not descent.V.requires_grad


def test_a_sparse_column_of_classes_is_a_column_of_classes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = (X[:, 0] > 0).astype(int)
    for learner in (LinearProbe(random_state=0), Perceptron(random_state=0)):
        expected = clone(learner).fit(X, y)
        with pytest.warns(DataConversionWarning):
            found = learner.fit(X, sp.csr_array(y[:, None]))
        np.testing.assert_array_equal(found.coef_, expected.coef_)


@pytest.mark.parametrize("kind", ["timestamp[s]", "bool", "string"])
def test_arrow_lists_that_hold_no_numbers_are_refused(kind):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    values = pa.array([0, 1, 2, 3] * 10).cast(pa.timestamp("s") if "time" in kind else pa.type_for_alias(kind))
    X = pa.FixedSizeListArray.from_arrays(values, 2)
    with pytest.raises(ValueError, match=f"Arrow lists of embeddings must hold numbers, found {re.escape(kind)}"):
        LinearProbe().fit(X, np.arange(20) % 2)


# -- steps that must not overshoot -----------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((600, 6))
NUMBERS = ROWS @ np.arange(6.0) + 0.1 * RNG.standard_normal(600)
THREE = (ROWS @ RNG.standard_normal((6, 3))).argmax(axis=1)
RARE = (RNG.random(600) < 0.2).astype(int)
ONE_HEAVY = np.where(np.arange(600) == 1, 1e5, 1.0)
THREE_HEAVY = np.where((np.arange(600) > 4) & (np.arange(600) < 8), 1.0, 1e-30)


def excess(model, X, y, weights=None):
    """By how much F is above its minimum."""
    model = model.set_params(solver="minibatch", random_state=0).fit(X, y, sample_weight=weights)
    exact = clone(model).set_params(solver="batch", tol=1e-8, max_epochs=20_000).fit(X, y, sample_weight=weights)
    return model.report_.objective - exact.report_.objective


@pytest.mark.parametrize(
    ("model", "X", "y", "weights", "most"),
    [
        (LinearRegressor(alpha=1e-4), ROWS * 1e-3, NUMBERS, None, 0.02),
        (LinearRegressor(alpha=100.0), ROWS, NUMBERS, None, 0.02),
        (LinearRegressor(), ROWS * 0.0, NUMBERS, None, 0.02),
        (LinearClassifier(alpha=1e4), ROWS, RARE, None, 1e-3),
        (LinearClassifier(alpha=1e-4), ROWS * 1e-3, RARE, None, 1e-3),
        (LinearClassifier(), ROWS * 0.0, THREE, None, 1e-3),
        (LinearRegressor(alpha=1e-4), ROWS, NUMBERS, ONE_HEAVY, 1e-3),
        (LinearClassifier(alpha=1e-4), ROWS, THREE, ONE_HEAVY, 0.1),
        (LinearClassifier(alpha=1e-4), ROWS, THREE, THREE_HEAVY, 0.1),
        (LinearClassifier(loss="exponential"), ROWS, THREE, None, 0.02),
    ],
)
def test_intercepts_heavy_rows_and_steep_losses_do_not_diverge(model, X, y, weights, most):
    """The curvature of an intercept is not that of small features, and a sample may lack the rows that count most."""
    assert excess(model, X, y, weights) < most


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nothing_to_learn_is_no_reason_to_warn(dtype):
    model = LinearRegressor(solver="minibatch", random_state=0).fit(ROWS.astype(dtype), np.full(600, 3.0))
    assert model.report_.objective == 0.0
    assert model.predict(ROWS[:1].astype(dtype)) == pytest.approx(3.0)


def test_very_small_single_precision_features_without_a_penalty():
    X = (ROWS * 1e-20).astype(np.float32)
    assert LinearClassifier(solver="minibatch", alpha=0.0, random_state=0).fit(X, THREE).score(X, THREE) > 0.95
