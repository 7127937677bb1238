"""The bias step c²: the bias is a feature of value c, for every learner and every kind of row."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from loop_cases import modest, real_numbers, whole_numbers
from sklearn.base import clone

from rosenblatt import (
    AROW,
    PAUM,
    AveragedPerceptron,
    HierarchicalPerceptron,
    KernelPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
    load,
    save,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ADDITIVE: list[Any] = [
    Perceptron(margin=2.0),
    Perceptron(multiclass="ovr", learning_rate=0.5),
    Perceptron(multiclass="ovo", order="worst"),
    Perceptron(keep="pocket"),
    PAUM(multiclass="ovr"),
]
ROUNDED: list[Any] = [
    AveragedPerceptron(),
    Perceptron(update="batch", learning_rate="line-search"),
    PassiveAggressive(),
    PassiveAggressive(variant="PA-II", keep="average", multiclass="ovr"),
    AROW(),
    AROW(covariance="full", multiclass="ovr"),
    SecondOrderPerceptron(a=0.5),
    SecondOrderPerceptron(a=0.5, covariance="full"),
    HierarchicalPerceptron(),
    PassiveAggressiveRegressor(variant="PA-II"),
]
EVERY = [*ADDITIVE, *ROUNDED, VotedPerceptron(), KernelPerceptron("linear", fit_intercept=True)]


def named(model: Any) -> str:
    return f"{type(model).__name__}-{'-'.join(map(str, model.get_params().values()))}"[:60]


def target(model: Any, y: Any) -> Any:
    return np.asarray(y, dtype=float) if isinstance(model, PassiveAggressiveRegressor) else y


def with_and_without(model: Any, data: Any, c: float) -> tuple[Any, Any]:
    """The model with the bias step c², and the model without bias on rows (x, c)."""
    X, y = np.array(data.X, dtype=np.float64), target(model, data.y)
    settings = {"max_epochs": 3, "random_state": 5}
    mine = clone(model).set_params(bias_step=c * c, **settings).fit(X, y, sample_weight=data.weights)
    other = clone(model).set_params(fit_intercept=False, **settings)
    return mine, other.fit(np.column_stack([X, np.full(len(X), c)]), y, sample_weight=data.weights)


@pytest.mark.parametrize("model", ADDITIVE, ids=named)
@modest(20)
@given(rows=st.data(), c=st.sampled_from([0.25, 0.5, 1.0, 2.0]))
def test_the_bias_is_a_feature_of_value_c_to_the_bit(model, rows, c):
    data = rows.draw(whole_numbers(classes=3))
    mine, other = with_and_without(model, data, c)
    assert np.array_equal(mine.coef_, other.coef_[:, :-1])
    assert np.array_equal(mine.intercept_, c * other.coef_[:, -1])
    assert [epoch.updates for epoch in mine.report_.epochs] == [epoch.updates for epoch in other.report_.epochs]


@pytest.mark.parametrize("model", ROUNDED, ids=named)
@modest(20)
@given(rows=st.data(), c=st.sampled_from([0.1, 0.5, 3.0]))
def test_the_bias_is_a_feature_of_value_c(model, rows, c):
    regression = isinstance(model, PassiveAggressiveRegressor)
    data = rows.draw(real_numbers(classes=3, regression=regression))
    mine, other = with_and_without(model, data, c)
    W = np.atleast_2d(other.coef_)
    np.testing.assert_allclose(np.atleast_2d(mine.coef_), W[:, :-1], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(np.atleast_1d(mine.intercept_), c * W[:, -1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("model", EVERY, ids=named)
def test_sparse_rows_partial_fit_and_files_give_the_same(model, tmp_path):
    rng = np.random.default_rng(3)
    X = rng.integers(-3, 4, (30, 4)).astype(float)
    y = target(model, np.arange(30) % 3)
    model = clone(model).set_params(bias_step=0.25, max_epochs=2, random_state=1)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_matrix(X), y)
    answers = (lambda m: m.predict(X)) if not hasattr(dense, "decision_function") else lambda m: m.decision_function(X)
    np.testing.assert_allclose(answers(dense), answers(sparse), rtol=1e-9, atol=1e-12)
    save(dense, tmp_path / "a.model")
    for copy in (load(tmp_path / "a.model"), pickle.loads(pickle.dumps(dense))):
        assert copy.bias_step == 0.25
        assert np.array_equal(answers(copy), answers(dense))
    parts = clone(model).partial_fit(X, y).partial_fit(X, y)
    np.testing.assert_allclose(answers(parts), answers(dense), rtol=1e-9, atol=1e-12)
    unit = clone(model).set_params(bias_step="unit").fit(X, y)
    assert not np.allclose(answers(unit), answers(dense))
    assert np.array_equal(answers(unit), answers(clone(model).set_params(bias_step=1).fit(X, y)))


@pytest.mark.parametrize("learner", [AROW, SecondOrderPerceptron])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
def test_a_new_class_starts_with_the_variance_of_the_bias(learner, covariance, multiclass):
    X, c = np.random.default_rng(0).normal(size=(20, 3)), 0.5
    y = np.arange(20) % 2
    later = np.arange(20) % 3
    settings = {"covariance": covariance, "multiclass": multiclass, "order": "cyclic"}
    mine = learner(bias_step=c * c, **settings).partial_fit(X, y).partial_fit(X, later)
    wide = np.column_stack([X, np.full(20, c)])
    other = learner(fit_intercept=False, **settings).partial_fit(wide, y).partial_fit(wide, later)
    np.testing.assert_allclose(mine.coef_, other.coef_[:, :-1], rtol=1e-8)
    np.testing.assert_allclose(mine.intercept_, c * other.coef_[:, -1], rtol=1e-8)


@modest(15)
@given(
    seed=st.integers(0, 10**6),
    c2=st.sampled_from([0.001, 0.01, 0.1, 4, 100.0]),
    margin=st.sampled_from([0.0, 2.0]),
    rate=st.sampled_from([0.5, 1.0]),
)
def test_the_bound_holds(seed, c2, margin, rate):
    rng = np.random.default_rng(seed)
    w, b = rng.normal(size=2), rng.normal()
    X = rng.normal(size=(15, 2)) * 2
    f = X @ w + b
    X, y = X[np.abs(f) > 0.4], (f > 0)[np.abs(f) > 0.4]
    if np.unique(y).size < 2:
        return
    model = Perceptron(bias_step=c2, margin=margin, learning_rate=rate, max_epochs=20_000, random_state=0).fit(X, y)
    report = model.report_
    if report.outcome != "separated":
        return
    w, b = model.coef_[0], model.intercept_[0]
    low = (np.where(y, 1, -1) * (X @ w + b)).min()
    R2 = (X**2).sum(axis=1).max()
    assert report.bound == pytest.approx((c2 + R2 + 2 * margin / rate) * (w @ w + b * b / c2) / low**2, rel=1e-9)
    assert report.updates <= report.bound


@pytest.mark.parametrize("learner", [AROW, SecondOrderPerceptron, HierarchicalPerceptron])
@pytest.mark.parametrize("bad", ["radius", 0, -1.0, np.nan, "0.1"])
def test_what_is_no_bias_step_is_refused(learner, bad):
    with pytest.raises(ValueError, match="bias_step"):
        learner(bias_step=bad).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("model", [AROW(), AROW(covariance="full"), SecondOrderPerceptron()], ids=named)
def test_variances_out_of_range_are_refused(model):
    X = np.array([[0.0], [1.0]], dtype=np.float32)
    for c2 in (1e-60, 1e60):
        with pytest.raises(ValueError, match="bias_step"):
            clone(model).set_params(bias_step=c2, max_epochs=2).fit(X, [0, 1])
        clone(model).set_params(bias_step=c2, max_epochs=2).fit(X.astype(np.float64), [0, 1])


@pytest.mark.parametrize("change", [{"bias_step": 0.5}, {"fit_intercept": False}])
def test_a_second_order_learner_keeps_its_bias_in_a_stream(change):
    X, y = [[0.0], [1.0]], [0, 1]
    model = AROW(bias_step=0.25).partial_fit(X, y).set_params(**change)
    with pytest.raises(ValueError, match=r"bias_step was 0\.25"):
        model.partial_fit(X, y)
    model = AROW(fit_intercept=False).partial_fit(X, y).set_params(fit_intercept=True)
    with pytest.raises(ValueError, match="no bias"):
        model.partial_fit(X, y)
