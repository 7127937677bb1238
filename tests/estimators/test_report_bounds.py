"""The bounds and margins that a report states."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from report_cases import overlapping, quietly, separable, sides, three_classes

from rosenblatt import (
    AROW,
    AveragedPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)


@pytest.mark.parametrize("rate", [1.0, 0.25])
@pytest.mark.parametrize("tau", [(0.0, 0.0), (2.0, 2.0), (0.5, 3.0)])
@pytest.mark.parametrize("bias", ["none", "unit", "radius", 0.1])
@pytest.mark.parametrize("update", ["online", "batch"])
def test_bounds_of_two_classes(rate, tau, bias, update):
    X, y = separable(4, n=60, d=3, margin=0.4)
    if bias == "none":
        X = X[np.abs(X[:, 0]) > 0.4]
        y = np.where(X[:, 0] > 0, "yes", "no")
    options = {"fit_intercept": bias != "none", "bias_step": "unit" if bias == "none" else bias}
    model = Perceptron(learning_rate=rate, margin=tau, update=update, max_epochs=20_000, random_state=2, **options)
    report = model.fit(X, y).report_
    assert report.outcome == "separated"
    w, b = model.coef_[0], model.intercept_[0]
    gamma = (sides(y) * (X @ w + b)).min() / np.linalg.norm(w)
    R, eta, most = np.linalg.norm(X, axis=1).max(), rate, max(tau)
    expected = {
        "none": (R**2 + 2 * most / eta) / gamma**2,
        "unit": (1 + R**2 + 2 * most / eta) * (1 + b**2 / (w @ w)) / gamma**2,
        "radius": (2 * R / gamma) ** 2 * (1 + most / (eta * R**2)),
        0.1: (0.1 + R**2 + 2 * most / eta) * (1 + b**2 / (0.1 * (w @ w))) / gamma**2,
    }[bias]
    expected *= len(y) if update == "batch" else 1  # of the rows that move w
    assert report.bound == pytest.approx(expected, rel=1e-9)
    assert report.radius == pytest.approx(R)
    assert report.updates <= report.bound


@pytest.mark.parametrize("tau", [0.0, 5.0])
@pytest.mark.parametrize("bias", ["none", "unit", "radius", 0.1])
def test_bound_of_multinomial(tau, bias):
    """W is one long vector, of which an update moves two blocks: R² counts twice."""
    X, y = three_classes()
    options = {"fit_intercept": bias != "none", "bias_step": "unit" if bias == "none" else bias}
    model = Perceptron(margin=tau, random_state=0, **options).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    true = scores[np.arange(y.size), y]
    scores[np.arange(y.size), y] = -np.inf
    low = (true - scores.max(axis=1)).min()
    R2, W2, b2 = (X**2).sum(axis=1).max(), (model.coef_**2).sum(), (model.intercept_**2).sum()
    expected = {
        "none": (2 * R2 + 2 * tau) * W2 / low**2,
        "unit": (2 * (R2 + 1) + 2 * tau) * (W2 + b2) / low**2,
        "radius": (2 * 2 * R2 + 2 * tau) * (W2 + b2 / R2) / low**2,
        0.1: (2 * (R2 + 0.1) + 2 * tau) * (W2 + b2 / 0.1) / low**2,
    }[bias]
    assert model.report_.outcome == "separated"
    assert model.report_.bound == pytest.approx(expected, rel=1e-9)
    assert model.report_.margin == pytest.approx(low / math.sqrt(W2), rel=1e-9)
    assert model.report_.updates <= model.report_.bound


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_bounds_of_many_planes_are_summed_and_the_margin_is_the_smallest(multiclass):
    X, y = three_classes()
    model = Perceptron(multiclass=multiclass, random_state=0).fit(X, y)
    assert model.report_.outcome == "separated"
    bounds, margins = [], []
    pairs = [(k, None) for k in range(3)] if multiclass == "ovr" else [(1, 0), (2, 0), (2, 1)]
    for (positive, negative), w, b in zip(pairs, model.coef_, model.intercept_, strict=True):
        mine = slice(None) if negative is None else (y == positive) | (y == negative)
        margin = (np.where(y[mine] == positive, 1, -1) * (X[mine] @ w + b)).min() / np.linalg.norm(w)
        R2 = (X**2).sum(axis=1).max()
        bounds.append((1 + R2) * (1 + b**2 / (w @ w)) / margin**2)
        margins.append(margin)
    assert model.report_.bound == pytest.approx(sum(bounds), rel=1e-9)
    assert model.report_.margin == pytest.approx(min(margins), rel=1e-9)
    assert model.report_.updates <= model.report_.bound


@pytest.mark.parametrize("bias_step", ["unit", "radius"])
def test_the_bound_holds_for_labels_that_every_row_has(bias_step):
    """Where all rows are on one side the bias may be long and w short: |b| ≤ R‖w‖ does not hold."""
    model = Perceptron(bias_step=bias_step, order="cyclic").fit([[0.1], [1.0]], np.ones((2, 2), dtype=int))
    assert model.report_.outcome == "separated"
    assert model.report_.bound is None or model.report_.updates <= model.report_.bound


def test_the_bound_is_that_of_the_last_iterate():
    X, y = separable(4, n=60, d=3, margin=0.4)
    last = Perceptron(random_state=2).fit(X, y).report_
    averaged = AveragedPerceptron(random_state=2).fit(X, y).report_
    assert averaged.bound == pytest.approx(last.bound, rel=1e-12)
    assert averaged.margin != pytest.approx(last.margin)


def test_whole_weights_keep_the_bound():
    X, y = separable(4, n=60, d=3, margin=0.4)
    weights = np.arange(60) % 4
    model = Perceptron(random_state=2).fit(X, y, sample_weight=weights)
    mine = weights > 0
    gamma = (sides(y) * (X @ model.coef_[0] + model.intercept_[0]))[mine].min() / np.linalg.norm(model.coef_)
    R2, ratio = (X[mine] ** 2).sum(axis=1).max(), model.intercept_[0] ** 2 / (model.coef_**2).sum()
    assert model.report_.bound == pytest.approx((1 + R2) * (1 + ratio) / gamma**2)
    assert model.report_.updates <= model.report_.bound


@pytest.mark.parametrize(
    ("model", "extra"),
    [
        (Perceptron(), {"sample_weight": 0.5 + np.arange(60) % 2}),
        (Perceptron(class_weight={"yes": 1.5}), {}),
        (Perceptron(learning_rate="1/t"), {}),
        (Perceptron(learning_rate="1/sqrt(t)"), {}),
        (Perceptron(learning_rate=lambda epoch: 1.0), {}),
        (Perceptron(learning_rate="line-search", update="batch"), {}),
        (Perceptron(), {"coef_init": [[0.0, 0.0, 1.0]]}),
        (Perceptron(), {"intercept_init": [-1.0]}),
        (PassiveAggressive(), {}),
        (AROW(), {}),
        (SecondOrderPerceptron(covariance="full"), {}),
    ],
    ids=[
        "weights",
        "class weight",
        "1/t",
        "1/sqrt(t)",
        "callable",
        "line",
        "coef",
        "intercept",
        "PA",
        "AROW",
        "second",
    ],
)
def test_no_bound_where_none_holds(model, extra):
    X, y = separable(4, n=60, d=3, margin=0.4)
    report = model.set_params(random_state=2).fit(X, y, **extra).report_
    assert (report.outcome, report.errors, report.bound) == ("separated", 0, None)


def test_a_start_at_zero_is_a_start_at_zero():
    X, y = separable(4, n=60, d=3, margin=0.4)
    plain = Perceptron(random_state=2).fit(X, y).report_
    given = Perceptron(random_state=2).fit(X, y, coef_init=np.zeros((1, 3)), intercept_init=[0.0]).report_
    assert given.bound == plain.bound is not None


def test_a_warm_start_has_no_bound():
    X, y = separable(4, n=60, d=3, margin=0.4)
    model = Perceptron(warm_start=True, random_state=2).fit(X, y)
    assert model.report_.bound is not None
    report = model.fit(X, y).report_
    assert (report.updates, report.bound) == (0, None)


# -- margins ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array], ids=["dense", "matrix", "array"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("keep", ["last", "average", "pocket"])
@pytest.mark.parametrize("make", [separable, overlapping])
def test_the_margin_is_the_geometric_one(form, dtype, keep, make):
    X, y = make(6, n=80, d=4)
    X = X.astype(dtype)
    model = quietly(Perceptron(keep=keep, max_epochs=40, random_state=0), form(X), y)
    w, b = model.coef_[0].astype(np.float64), float(model.intercept_[0])
    expected = (sides(y) * (X.astype(np.float64) @ w + b)).min() / np.linalg.norm(w)
    assert model.report_.margin == pytest.approx(expected, rel=1e-4 if dtype == np.float32 else 1e-9, abs=1e-6)
    assert (model.report_.margin > 0) == (model.report_.errors == 0)


def test_a_vote_has_no_margin_and_neither_has_a_regression():
    X, y = separable(6, n=40, d=2, margin=0.3)
    assert VotedPerceptron(random_state=0, max_epochs=50).fit(X, y).report_.margin is None
    assert quietly(PassiveAggressiveRegressor(max_epochs=2), X, X[:, 0]).report_.margin is None
