"""The truth about stopping: what a report says is what anyone finds who counts by hand."""

import dataclasses
import math
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import reference as twin
from rosenblatt import (
    AROW,
    PAUM,
    AveragedPerceptron,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)
from rosenblatt.learn.online.solver import default_epochs


def separable(seed, n=500, d=10, margin=0.02):
    """Rows at least `margin` away from a plane, on both its sides."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    b = rng.normal() / 2
    X = rng.normal(size=(20 * n, d))
    X = X[np.abs(X @ w + b) > margin][:n]
    return X, np.where(X @ w + b > 0, "yes", "no")


def overlapping(seed, n=120, d=3, classes=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.arange(n) % classes


def quietly(model, *args, **kwargs):
    """Fit where the budget is meant to run out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def three_classes(seed=0, n=60):
    """Three groups in the plane that can be told apart, each from the rest too."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 6.0], [6.0, -5.0], [-6.0, -5.0]])
    y = np.arange(n) % 3
    return centres[y] + rng.uniform(-1, 1, size=(n, 2)), y


# -- converged -------------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_fifty_separable_sets_are_separated_fifty_times():
    for seed in range(50):
        X, y = separable(seed)
        assert X.shape == (500, 10)
        model = Perceptron(random_state=seed).fit(X, y)  # a warning would be an error: see below
        report = model.report_
        assert (report.outcome, report.errors) == ("converged", 0)
        assert np.array_equal(model.predict(X), y)
        assert report.margin > 0
        assert report.updates <= report.bound
        # It stops at once: only the last epoch is clean.
        assert [record.converged for record in report.epochs] == [False] * (model.n_iter_ - 1) + [True]


@pytest.mark.parametrize("keep", ["last", "average", "vote", "pocket"])
@pytest.mark.parametrize("order", ["shuffle", "cyclic", "random"])
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
def test_convergence_is_that_of_the_last_iterate(keep, order):
    X, y = separable(1, n=30, d=2, margin=0.2)
    model = Perceptron(keep=keep, order=order, max_epochs=1000, random_state=0).fit(X, y)
    last = Perceptron(order=order, max_epochs=1000, random_state=0).fit(X, y)
    assert model.report_.outcome == last.report_.outcome == "converged"
    assert model.n_iter_ == last.n_iter_
    assert model.report_.updates == last.report_.updates
    assert model.report_.bound == pytest.approx(last.report_.bound)
    assert last.report_.errors == 0


def test_rows_that_the_order_skips_are_looked_at_before_it_says_converged():
    X, y = [[1.0, 0.0], [-1.0, 0.0], [1.0, -3.0], [-1.0, 3.0]], [1, 0, 0, 1]
    with pytest.warns(ConvergenceWarning, match="2 of 4"):
        model = Perceptron(fit_intercept=False, order=[0, 1], max_epochs=6).fit(X, y)
    assert (model.report_.outcome, model.report_.errors, model.n_iter_) == ("budget", 2, 6)
    assert not any(record.converged for record in model.report_.epochs)


def test_a_budget_that_ends_on_a_clean_plane_has_converged():
    """The update of the last visit may be the one that was missing."""
    model = Perceptron(order="cyclic", max_epochs=1).fit([[1.0], [-1.0]], [1, 0])
    assert (model.report_.outcome, model.report_.errors, model.report_.updates) == ("converged", 0, 2)


@pytest.mark.parametrize("keep", ["average", "vote", "pocket"])
def test_a_budget_that_ends_on_a_clean_plane_has_converged_whatever_is_kept(keep):
    for seed in range(40):
        X, y = separable(seed, n=12, d=2, margin=0.05)
        if np.unique(y).size == 2:
            last = quietly(Perceptron(max_epochs=1, random_state=seed), X, y)
            model = quietly(Perceptron(keep=keep, max_epochs=1, random_state=seed), X, y)
            assert model.report_.outcome == last.report_.outcome


@pytest.mark.parametrize("order", ["shuffle", "random", "first", "worst"])
def test_a_pocket_holds_the_clean_plane_once_there_is_one(order):
    for seed in range(25):
        X, y = separable(seed, n=10, d=2, margin=0.1)
        if np.unique(y).size == 2:
            report = Perceptron(keep="pocket", order=order, random_state=seed).fit(X, y).report_
            assert (report.outcome, report.errors) == ("converged", 0)


@pytest.mark.parametrize(
    "model", [PassiveAggressive(C=0.1), AROW(), AROW(covariance="full"), SecondOrderPerceptron(covariance="full")]
)
def test_margin_based_learners_converge_when_every_row_is_right(model):
    X, y = separable(3, n=40, d=2, margin=0.3)
    model.set_params(random_state=0, max_epochs=500).fit(X, y)
    right = np.where(y == "yes", 1, -1) * model.decision_function(X)
    assert model.report_.outcome == "converged"
    assert right.min() > 0
    assert (model.report_.errors, model.report_.bound) == (0, None)


def test_passive_aggressive_does_not_wait_for_margin_one():
    X, y = separable(3, n=40, d=2, margin=0.3)
    model = PassiveAggressive(C=0.01, random_state=0).fit(X, y)
    right = np.where(y == "yes", 1, -1) * model.decision_function(X)
    assert model.report_.outcome == "converged"
    assert 0 < right.min() < 1


def test_the_diagonal_second_order_perceptron_says_converged_only_of_a_clean_plane():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 4))
        y = X @ rng.normal(size=4) > 0
        report = quietly(SecondOrderPerceptron(random_state=seed, max_epochs=200), X, y).report_
        assert report.outcome != "converged" or report.errors == 0, seed


def test_regression_converges_when_every_row_is_in_its_tube():
    X = np.arange(6.0)[:, None]
    model = PassiveAggressiveRegressor(epsilon=0.5, order="cyclic").fit(X, 2 * X[:, 0] + 1)
    assert (model.report_.outcome, model.report_.errors) == ("converged", 0)
    assert np.abs(model.predict(X) - (2 * X[:, 0] + 1)).max() <= 0.5 + 1e-12


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_rounding_does_not_keep_a_row_outside_its_tube(dtype, variant):
    """A step puts a row on the very edge of its tube: an ulp beyond it is no reason to run out the budget."""
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(30, 3)).astype(dtype)
        y = (X @ np.array([1, 2, -1], dtype) + 0.5).astype(dtype)
        report = quietly(PassiveAggressiveRegressor(variant=variant, random_state=seed), X, y).report_
        assert (report.outcome, report.errors) == ("converged", 0)


# -- budget ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("keep", ["last", "average", "vote", "pocket"])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
def test_overlapping_rows_end_by_budget_and_the_warning_counts_them(form, classes, keep, multiclass):
    X, y = overlapping(5, classes=classes)
    X = form(X)
    with pytest.warns(ConvergenceWarning) as caught:
        model = Perceptron(keep=keep, multiclass=multiclass, max_epochs=7, random_state=1).fit(X, y)
    wrong = int(np.count_nonzero(model.predict(X) != y))
    if classes == 2:  # a tie predicts a class, and is a mistake all the same
        wrong = int(np.count_nonzero(sides(y) * model.decision_function(X) <= 0))
    report = model.report_
    assert (report.outcome, report.errors, report.rows, report.bound) == ("budget", wrong, 120, None)
    assert wrong > 0
    (said,) = [str(one.message) for one in caught if one.category is ConvergenceWarning]
    assert re.search(rf"budget of 7 epochs with {wrong} of 120 training rows wrong", said)
    assert model.n_iter_ == len(report.epochs) == 7


def test_a_tie_counts_as_wrong():
    """f = 0 predicts the negative class, but in training it is a mistake on either side."""
    with pytest.warns(ConvergenceWarning, match="2 of 2"):
        model = Perceptron(fit_intercept=False, max_epochs=3).fit([[0.0], [0.0]], [0, 1])
    assert (model.report_.errors, model.report_.margin) == (2, 0)


def test_rows_of_weight_zero_are_not_counted():
    X, y = overlapping(2, n=40)
    weights = np.where(np.arange(40) < 25, 1.0, 0.0)
    model = quietly(Perceptron(max_epochs=4, random_state=0), X, y, sample_weight=weights)
    assert model.report_.rows == 25
    assert model.report_.errors == np.count_nonzero(model.predict(X[:25]) != y[:25])
    assert model.report_.radius == pytest.approx(np.linalg.norm(X[:25], axis=1).max())


def test_labels_count_a_row_with_any_label_wrong():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 3)), rng.integers(0, 2, (50, 4))
    model = quietly(Perceptron(max_epochs=4, random_state=0), X, Y)
    assert model.report_.errors == np.count_nonzero((model.predict(X) != Y).any(axis=1)) > 0


def test_the_default_budget():
    """2·10⁹ stored values or 10,000 epochs, whichever comes first, never before 10 epochs; less for a vote."""
    assert default_epochs(4, "last") == 10_000
    assert default_epochs(1_000_000, "average") == 2_000
    assert default_epochs(10**9, "last") == 10
    assert (default_epochs(4, "vote"), default_epochs(10**9, "vote")) == (1000, 10)  # every update is stored
    with pytest.warns(ConvergenceWarning, match="1000 epochs"):
        model = VotedPerceptron(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert model.n_iter_ == 1000


@pytest.mark.compiled
def test_the_default_budget_of_a_small_set_is_ten_thousand_epochs():
    with pytest.warns(ConvergenceWarning, match="10000 epochs"):
        model = Perceptron(random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert model.n_iter_ == 10_000


# -- bounds ----------------------------------------------------------------------------------------------------------


def sides(y):
    return np.where(y == np.unique(y)[1], 1.0, -1.0)


@pytest.mark.parametrize("rate", [1.0, 0.25])
@pytest.mark.parametrize("tau", [(0.0, 0.0), (2.0, 2.0), (0.5, 3.0)])
@pytest.mark.parametrize("bias", ["none", "unit", "radius"])
@pytest.mark.parametrize("update", ["online", "batch"])
def test_bounds_of_two_classes(rate, tau, bias, update):
    X, y = separable(4, n=60, d=3, margin=0.4)
    if bias == "none":
        X = X[np.abs(X[:, 0]) > 0.4]
        y = np.where(X[:, 0] > 0, "yes", "no")
    options = {"fit_intercept": bias != "none", "bias_step": "unit" if bias == "none" else bias}
    model = Perceptron(learning_rate=rate, margin=tau, update=update, max_epochs=20_000, random_state=2, **options)
    report = model.fit(X, y).report_
    assert report.outcome == "converged"
    w, b = model.coef_[0], model.intercept_[0]
    gamma = (sides(y) * (X @ w + b)).min() / np.linalg.norm(w)
    R, eta, most = np.linalg.norm(X, axis=1).max(), rate, max(tau)
    expected = {
        "none": (R**2 + 2 * most / eta) / gamma**2,
        "unit": (1 + R**2 + 2 * most / eta) * (1 + b**2 / (w @ w)) / gamma**2,
        "radius": (2 * R / gamma) ** 2 * (1 + most / (eta * R**2)),
    }[bias]
    assert report.bound == pytest.approx(expected, rel=1e-9)
    assert report.radius == pytest.approx(R)
    assert report.updates <= report.bound


@pytest.mark.parametrize("tau", [0.0, 5.0])
@pytest.mark.parametrize("bias", ["none", "unit", "radius"])
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
    }[bias]
    assert model.report_.outcome == "converged"
    assert model.report_.bound == pytest.approx(expected, rel=1e-9)
    assert model.report_.margin == pytest.approx(low / math.sqrt(W2), rel=1e-9)
    assert model.report_.updates <= model.report_.bound


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_bounds_of_many_planes_are_summed_and_the_margin_is_the_smallest(multiclass):
    X, y = three_classes()
    model = Perceptron(multiclass=multiclass, random_state=0).fit(X, y)
    assert model.report_.outcome == "converged"
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
    assert model.report_.outcome == "converged"
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
    assert (report.outcome, report.errors, report.bound) == ("converged", 0, None)


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


# -- early stopping --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["last", "average", "vote", "pocket"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovo"])
def test_early_stopping_returns_the_very_model_it_scored_best(keep, weighted, multiclass):
    X, y = overlapping(9, n=200, d=6, classes=3)
    X[:, 0] += y  # something to learn, so that scores rise and fall
    weights = 1.0 + np.arange(200) % 2 if weighted else None
    options = {"keep": keep, "multiclass": multiclass, "random_state": 3}
    model = Perceptron(early_stopping=True, validation_fraction=0.25, n_iter_no_change=4, max_epochs=60, **options)
    model.fit(X, y, sample_weight=weights)

    report = model.report_
    scores = [record.score for record in report.epochs]
    best = int(np.argmax(scores))  # the first of the best
    assert report.outcome == "early"
    assert len(scores) == model.n_iter_ == best + 1 + 4

    examples = model._examples(X, y, weights, reset=False)
    training, held_out = model._split(examples, seed=3)
    assert model.score(X[held_out], y[held_out], None if weights is None else weights[held_out]) == pytest.approx(
        scores[best], rel=1e-12
    )
    rows = training.present
    assert set(rows) | set(held_out) == set(range(200))
    assert not set(rows) & set(held_out)
    assert np.bincount(y[held_out]).tolist() == [17, 17, 17]  # of each class its share, rounded up

    # The best epoch, restored: the same as a fit of that many epochs to the rows that were learned from.
    again = quietly(
        Perceptron(max_epochs=best + 1, **options), X[rows], y[rows], None if weights is None else weights[rows]
    )
    assert np.array_equal(model.decision_function(X), again.decision_function(X))
    assert report.updates == again.report_.updates
    # Errors and rows are those of the rows learned from.
    assert report.rows == rows.size
    assert report.errors == np.count_nonzero(model.predict(X[rows]) != y[rows])


def test_early_stopping_of_a_regression_scores_r_squared():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=80)
    model = PassiveAggressiveRegressor(early_stopping=True, n_iter_no_change=3, random_state=1).fit(X, y)
    scores = [record.score for record in model.report_.epochs]
    assert model.report_.outcome == "early"
    _, held_out = model._split(model._examples(X, y, None, reset=False), seed=1)
    assert model.score(X[held_out], y[held_out]) == pytest.approx(max(scores), rel=1e-9)


def test_without_early_stopping_there_are_no_scores():
    X, y = separable(1, n=30, d=2, margin=0.2)
    assert {record.score for record in Perceptron(random_state=0).fit(X, y).report_.epochs} == {None}


# -- epochs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["last", "average", "vote", "pocket"])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
def test_recorded_errors_are_those_of_the_model_after_each_epoch(keep, multiclass):
    X, y = overlapping(4, n=60, d=3, classes=3)
    options = {"keep": keep, "multiclass": multiclass, "random_state": 8}
    model = quietly(Perceptron(record_errors=True, max_epochs=4, **options), X, y)
    for record in model.report_.epochs:
        alone = quietly(Perceptron(max_epochs=record.epoch, **options), X, y)
        assert record.errors == np.count_nonzero(alone.predict(X) != y)
    assert model.report_.epochs[-1].errors == model.report_.errors


def test_recorded_errors_of_a_regression_are_rows_outside_the_tube():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    model = quietly(PassiveAggressiveRegressor(epsilon=0.4, record_errors=True, max_epochs=3, random_state=0), X, y)
    # The last row visited lies on the edge of its tube, to rounding: inside.
    outside = int(np.count_nonzero(np.abs(y - model.predict(X)) > 0.4 + 1e-14))
    assert model.report_.epochs[-1].errors == model.report_.errors == outside


def test_an_epoch_record_has_what_happened():
    X, y = overlapping(7, n=50, d=2)
    model = quietly(Perceptron(order="cyclic", max_epochs=3), X, y)
    slow = twin.train(X.tolist(), sides(y).astype(int).tolist(), twin.Perceptron(), epochs=3)
    report = model.report_
    assert [record.epoch for record in report.epochs] == [1, 2, 3]
    assert [record.updates for record in report.epochs] == slow.updates
    assert [record.loss for record in report.epochs] == pytest.approx(slow.losses, rel=1e-9)
    assert all(record.errors is None for record in report.epochs)  # nobody asked
    assert all(record.seconds > 0 for record in report.epochs)
    assert sum(record.seconds for record in report.epochs) <= report.seconds
    assert model.n_iter_ == 3
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.errors = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.epochs[0].updates = 0


def test_updates_count_updates_and_not_visits():
    """scikit-learn's `t_` is documented as the number of weight updates and counts samples visited."""
    X, y = overlapping(3, n=100, d=2)
    model = quietly(Perceptron(order="cyclic", max_epochs=5), X, y)
    slow = twin.train(X.tolist(), sides(y).astype(int).tolist(), twin.Perceptron(), epochs=5)
    assert model.report_.updates == sum(slow.updates) == sum(record.updates for record in model.report_.epochs)
    assert model.report_.updates < 500


def test_updates_of_one_vs_rest_are_summed():
    X, y = overlapping(3, n=60, d=2, classes=3)
    model = quietly(Perceptron(multiclass="ovr", order="cyclic", max_epochs=2), X, y)
    alone = [quietly(Perceptron(order="cyclic", max_epochs=2), X, y == k).report_.updates for k in range(3)]
    assert model.report_.updates == sum(alone)


def test_partial_fit_goes_on_counting():
    X, y = overlapping(3, n=60, d=2)
    model = Perceptron(order="cyclic")
    for _ in range(3):
        model.partial_fit(X, y)
    whole = quietly(Perceptron(order="cyclic", max_epochs=3), X, y)
    assert [record.epoch for record in model.report_.epochs] == [1, 2, 3]
    assert [r.updates for r in model.report_.epochs] == [r.updates for r in whole.report_.epochs]
    assert model.report_.updates == whole.report_.updates
    assert (model.report_.errors, model.report_.bound) == (None, None)  # partial_fit makes no scan


# -- in words --------------------------------------------------------------------------------------------------------


def test_the_report_reads_well():
    X, y = [[1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0]], [1, -1, 1, -1]
    said = str(Perceptron(fit_intercept=False, order="cyclic").fit(X, y).report_).splitlines()
    assert said[0] == "converged: the last iterate has every training row on its right side"
    assert [line.split()[0] for line in said[1:]] == ["epochs", "updates", "errors", "margin", "bound"]
    assert "0 of 4 training rows" in said[3]
    assert "0.707107" in said[4]
    assert "2 updates at most" in said[5]


def test_the_report_says_what_is_not_known_by_leaving_it_out():
    X, y = overlapping(3, n=60, d=2)
    said = str(quietly(VotedPerceptron(max_epochs=2, random_state=0), X, y).report_)
    assert said.startswith("stopped by its budget, not converged")
    assert "of 60 training rows" in said
    assert "margin" not in said
    assert "bound" not in said
    early = Perceptron(early_stopping=True, random_state=0).fit(X, y).report_
    assert str(early).startswith("stopped early; the best epoch is the model")


def test_paum_converges_only_above_its_margins():
    X, y = separable(4, n=60, d=3, margin=0.4)
    model = PAUM(margin=(1.0, 30.0), random_state=0).fit(X, y)
    f = model.decision_function(X)
    assert model.report_.outcome == "converged"
    assert (-f[y == "no"]).min() > 1.0
    assert f[y == "yes"].min() > 30.0
    # A plane that has every row right, but not far enough, has not converged: the warning says 0 rows are wrong.
    for epochs in range(1, model.n_iter_):
        early = quietly(PAUM(margin=(1.0, 30.0), max_epochs=epochs, random_state=0), X, y).report_
        far = early.outcome == "converged"
        assert not far or epochs == model.n_iter_ - 1
