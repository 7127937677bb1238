"""Early stopping, records of epochs, and the report in words."""

import dataclasses

import numpy as np
import pytest
from report_cases import overlapping, quietly, separable, sides

import reference as twin
from rosenblatt import (
    PAUM,
    PassiveAggressiveRegressor,
    Perceptron,
    VotedPerceptron,
)
from rosenblatt.shell.online_learner import examples_of, split

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

    training, held_out = split(examples_of(model, X, y, weights), 0.25, seed=3)
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
    _, held_out = split(examples_of(model, X, y), model.validation_fraction, seed=1)
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
    assert said[0] == "separated: the last iterate has every training row on its right side"
    assert [line.split()[0] for line in said[1:]] == ["epochs", "updates", "errors", "margin", "bound"]
    assert "0 of 4 training rows" in said[3]
    assert "0.707107" in said[4]
    assert "2 updates at most" in said[5]


def test_the_report_says_what_is_not_known_by_leaving_it_out():
    X, y = overlapping(3, n=60, d=2)
    said = str(quietly(VotedPerceptron(max_epochs=2, random_state=0), X, y).report_)
    assert said.startswith("stopped by its budget")
    assert "of 60 training rows" in said
    assert "margin" not in said
    assert "bound" not in said
    early = Perceptron(early_stopping=True, random_state=0).fit(X, y).report_
    assert str(early).startswith("stopped early; the best epoch is the model")


def test_paum_converges_only_above_its_margins():
    X, y = separable(4, n=60, d=3, margin=0.4)
    model = PAUM(margin=(1.0, 30.0), random_state=0).fit(X, y)
    f = model.decision_function(X)
    assert model.report_.outcome == "separated"
    assert (-f[y == "no"]).min() > 1.0
    assert f[y == "yes"].min() > 30.0
    # A plane that has every row right, but not far enough, has not converged: the warning says 0 rows are wrong.
    for epochs in range(1, model.n_iter_):
        early = quietly(PAUM(margin=(1.0, 30.0), max_epochs=epochs, random_state=0), X, y).report_
        far = early.outcome == "separated"
        assert not far or epochs == model.n_iter_ - 1
