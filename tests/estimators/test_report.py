"""The truth about stopping: what a report says is what anyone finds who counts by hand."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from report_cases import overlapping, quietly, separable, sides
from sklearn.exceptions import ConvergenceWarning

from rosenblatt import (
    AROW,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
    VotedPerceptron,
)
from rosenblatt.learn.plan import default_epochs

# -- converged -------------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_fifty_separable_sets_are_separated_fifty_times():
    for seed in range(50):
        X, y = separable(seed)
        assert X.shape == (500, 10)
        model = Perceptron(random_state=seed).fit(X, y)  # a warning would be an error: see below
        report = model.report_
        assert (report.outcome, report.errors) == ("separated", 0)
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
    assert model.report_.outcome == last.report_.outcome == "separated"
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
    assert (model.report_.outcome, model.report_.errors, model.report_.updates) == ("separated", 0, 2)


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
            assert (report.outcome, report.errors) == ("separated", 0)


@pytest.mark.parametrize(
    "model", [PassiveAggressive(C=0.1), AROW(), AROW(covariance="full"), SecondOrderPerceptron(covariance="full")]
)
def test_margin_based_learners_converge_when_every_row_is_right(model):
    X, y = separable(3, n=40, d=2, margin=0.3)
    model.set_params(random_state=0, max_epochs=500).fit(X, y)
    right = np.where(y == "yes", 1, -1) * model.decision_function(X)
    assert model.report_.outcome == "separated"
    assert right.min() > 0
    assert (model.report_.errors, model.report_.bound) == (0, None)


def test_passive_aggressive_does_not_wait_for_margin_one():
    X, y = separable(3, n=40, d=2, margin=0.3)
    model = PassiveAggressive(C=0.01, random_state=0).fit(X, y)
    right = np.where(y == "yes", 1, -1) * model.decision_function(X)
    assert model.report_.outcome == "separated"
    assert 0 < right.min() < 1


def test_the_diagonal_second_order_perceptron_says_converged_only_of_a_clean_plane():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(30, 4))
        y = X @ rng.normal(size=4) > 0
        report = quietly(SecondOrderPerceptron(random_state=seed, max_epochs=200), X, y).report_
        assert report.outcome != "separated" or report.errors == 0, seed


def test_regression_converges_when_every_row_is_in_its_tube():
    X = np.arange(6.0)[:, None]
    model = PassiveAggressiveRegressor(epsilon=0.5, order="cyclic").fit(X, 2 * X[:, 0] + 1)
    assert (model.report_.outcome, model.report_.errors) == ("solved", 0)
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
        assert (report.outcome, report.errors) == ("solved", 0)


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
