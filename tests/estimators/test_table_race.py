"""The race of learner="auto": rows encoded once, folds that learn together and apart, and settings that drop out."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.metrics import log_loss, roc_auc_score

from rosenblatt import TableClassifier, TableRegressor
from rosenblatt.learn.calibration import by_class, calibrated, calibrated_losses
from rosenblatt.search.penalty_paths import CentredRows, logistic_columns
from rosenblatt.tables import results as table_results
from rosenblatt.tables import search as table_search
from rosenblatt.tables import search_folds as table_search_folds
from rosenblatt.tables import search_rows as table_search_rows
from rosenblatt.tables import settings as table_settings
from rosenblatt.tables.cross_fitting import simplest_first
from rosenblatt.tables.measures import area_under_curve
from rosenblatt.tables.search import TableSearch, in_the_race
from rosenblatt.tables.search_folds import FoldLearner


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def searches(monkeypatch):
    """The searches that were made, of few passes and features."""
    kept = []
    ranked = TableSearch.ranked
    monkeypatch.setattr(TableSearch, "ranked", lambda self: kept.append(self) or ranked(self))
    monkeypatch.setattr(table_settings, "PASSES", 2)
    monkeypatch.setattr(table_settings, "FOURIER_COUNT", 30)
    return kept


def steps(n=120, seed=0):
    """A table whose label depends on whether a number is near 0."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": rng.normal(size=n)}), np.where(np.abs(x) < 0.7, "in", "out")


# -- losses ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_many_learners_are_those_of_each_alone(classes, weighted):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, 150)
    signal = np.array([-1.0, 0.0, 0.5, 4.0, 40.0])[:, None, None]  # worse than chance, none, …, almost separated
    scores = (
        signal * np.eye(classes)[y] + rng.normal(size=(5, 150, classes)) * np.array([1, 1e-3, 1, 2, 9])[:, None, None]
    )
    scores = scores[..., 1] - scores[..., 0] if classes == 2 else scores
    weights = rng.choice([0.0, 1.0, 2.0], 150) if weighted else None
    right, losses = calibrated_losses(scores, y, classes, weights)
    for k in range(5):
        found = calibrated(scores[k], y, classes, weights)
        logs = log_softmax(found.scale * by_class(scores[k]) + found.shifts, axis=1)
        assert np.average(losses[k], weights=weights) == pytest.approx(
            -np.average(logs[np.arange(150), y], weights=weights), abs=1e-6
        )
        assert (right[k] == (logs.argmax(axis=1) == y)).mean() > 0.98


@pytest.mark.parametrize("weighted", [False, True])
def test_the_area_under_the_curve_is_that_of_scikit_learn(weighted):
    rng = np.random.default_rng(0)
    truth, scores = rng.random(200) < 0.3, rng.integers(0, 9, 200) / 9  # with equal scores
    weights = rng.random(200) if weighted else None
    assert area_under_curve(truth, scores, weights) == pytest.approx(
        roc_auc_score(truth, scores, sample_weight=weights), abs=1e-12
    )


def test_the_log_loss_of_the_summary_is_that_of_scikit_learn(monkeypatch):
    halves, kept = table_results.halves, []
    monkeypatch.setattr(table_results, "halves", lambda *args: kept.append((args, list(halves(*args)))) or kept[-1][1])
    frame, y = steps()
    weights = np.random.default_rng(0).random(y.size) + 0.1
    summary = TableClassifier(learner="linear", random_state=0).fit(frame, y, weights).summary_
    (((_, target, _, mass, *_), cuts),) = kept
    losses, areas = [], []
    for cut in cuts:
        rows = np.concatenate([half.rows for half in cut])
        assert np.array_equal(np.sort(rows), np.arange(y.size))
        chances = np.concatenate([half.predictions for half in cut])
        losses.append(log_loss(target[rows], chances, sample_weight=mass[rows]))
        for rows, chances, _ in cut:
            areas.append(roc_auc_score(target[rows], chances[:, 1], sample_weight=mass[rows]))
    assert summary.log_loss == pytest.approx(np.mean(losses))
    assert summary.area == pytest.approx(np.mean(areas))


# -- folds -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_columns_with_rows_of_their_own_learn_from_these_alone(classes):
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(60, 4)) + 1, rng.integers(0, classes, 60), rng.random(60) + 0.5
    member, alphas = rng.random((3, 60)) < [[0.5], [0.8], [0.9]], np.array([0.01, 0.1, 1.0])
    accuracy = {"tol": 1e-8, "iterations": 10_000}
    rows = CentredRows.of(X, weights)
    coef, intercept = rows.planes(logistic_columns(rows, y, classes, alphas, member, **accuracy))
    for k, mine in enumerate(member):
        some = CentredRows.of(X[mine], weights[mine])
        alone, bias = some.planes(logistic_columns(some, y[mine], classes, alphas[k : k + 1], **accuracy))
        assert coef[k] == pytest.approx(alone[0], abs=1e-6)
        own, other = (one - one.mean() * (classes > 2) for one in (intercept[k], bias[0]))
        assert own == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_labels_of_one_column_do_not_decide_how_far_another_goes(classes):
    rng = np.random.default_rng(0)
    X, fold = rng.normal(size=(60, 4)), np.arange(60) % 3
    y, alphas, member = (X[:, 0] > 0).astype(int), np.full(3, 1e-3), fold != np.arange(3)[:, None]
    rows = CentredRows.of(X)
    found = [
        logistic_columns(rows, np.where(fold == 1, labels, y), classes, alphas, member)[:, 1]
        for labels in (y, 1 - y, np.zeros_like(y))
    ]
    assert np.ptp(found[0]) > 0
    assert np.allclose(found[1:], found[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("group", [0, 1, 3])
def test_no_fold_has_seen_the_labels_of_its_rows(searches, monkeypatch, group):
    frame, y = steps(60)
    TableClassifier(learner="auto", random_state=0).fit(frame, y)
    (search,) = searches
    settings, found = table_search.GROUPS[group], []
    for target in (search.rows.target, np.where(search.rows.folds == 1, 1, search.rows.target)):
        other = FoldLearner(replace(search.rows, target=target))
        other.scores(settings, other.form(settings[0]), [0])
        found.append(other.scores(settings, other.form(settings[0]), [1])[0])
    assert np.array_equal(*found)
    assert np.ptp(found[0]) > 0


def test_a_table_is_encoded_once_in_each_form(searches, monkeypatch):
    calls = []
    encoded = table_search_folds.encoded
    monkeypatch.setattr(table_search_folds, "encoded", lambda *args: calls.append(args) or encoded(*args))
    frame, y = steps()
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    assert len(calls) == 2  # numbers as they are, and as splines
    assert model.setting_.splines or model.setting_.fourier
    assert np.array_equal(
        model.predict_proba(frame), TableClassifier(learner="auto", random_state=0).fit(frame, y).predict_proba(frame)
    )


# -- the race ----------------------------------------------------------------------------------------------------------


def test_settings_far_behind_drop_out(searches, monkeypatch):
    frame, y = steps()
    TableClassifier(learner="auto", random_state=0).fit(frame, y)
    (search,) = searches
    noise = np.where(np.arange(40) % 2, 1.0, -1.0) * np.arange(1, 7)[:, None]  # of mean 0
    losses = 1 + 0.1 * noise + np.array([0.0, 0.01, 3.0, 0.02, 4.0, 5.0])[:, None]
    assert in_the_race(search.rows, losses, np.arange(40)) == list(range(6))  # so few rows decide nothing
    monkeypatch.setattr(table_search, "FEW_TO_RACE", 40)
    assert in_the_race(search.rows, losses, np.arange(40)) == [0, 1, 3]
    losses[3] += 1.0
    assert in_the_race(search.rows, losses, np.arange(40)) == [0, 1]
    assert in_the_race(search.rows, losses[[3]], np.arange(40)) == [0]


def test_more_rows_than_race(searches, monkeypatch):
    monkeypatch.setattr(table_search, "RACE_ROWS", 100)
    monkeypatch.setattr(table_search, "FEW_TO_RACE", 10)
    frame, y = steps(200)
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    (search,) = searches
    assert search.racer.rows.target.size == 100
    assert model.setting_.splines or model.setting_.fourier
    assert all(scores.shape[0] == 200 for scores in search.scores.values())
    assert len(search.trials) < sum(map(len, table_search.GROUPS)) / 2
    assert model.summary_.searched_rows == 0
    assert f"of {model.summary_.raced} settings, {len(search.trials)} on all folds: the simplest" in str(model.summary_)
    assert model.summary_.raced >= 2 * len(search.trials) - len(table_search.GROUPS)
    assert model.summary_.score > 0.85


# -- classes and folds that the race may miss --------------------------------------------------------------------------


def rare(seed=0, n=200):
    """A table whose first class has one row."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = np.where(x > 0, 2, 1)
    y[0] = 0
    return pd.DataFrame({"x": x, "z": rng.normal(size=n)}), y


@pytest.mark.parametrize("features", [1_000, 1])  # all penalties at once, and one by one
def test_learners_of_the_race_know_every_class(searches, monkeypatch, features):
    monkeypatch.setattr(table_search, "RACE_ROWS", 100)
    monkeypatch.setattr(table_search, "FEW_TO_RACE", 5)
    monkeypatch.setattr(table_settings, "MOST_FEATURES", features)
    monkeypatch.setattr(table_search, "GROUPS", [table_search.GROUPS[0][:2], table_search.GROUPS[7][2:3]])
    for seed in range(3):
        TableClassifier(learner="auto", random_state=seed).fit(*rare())
    for search in searches:
        racer = search.racer
        assert 100 <= racer.rows.target.size < 150
        assert set(racer.rows.target[racer.rows.folds != 0].tolist()) == {0, 1, 2}


@pytest.mark.parametrize("group", [0, 1, 7])
@pytest.mark.parametrize("features", [1_000, 1])
@pytest.mark.parametrize("codes", [(1, 2), (0, 2)])
def test_scores_of_a_class_without_rows_are_in_its_own_column(searches, monkeypatch, group, features, codes):
    monkeypatch.setattr(table_settings, "MOST_FEATURES", features)
    settings = table_search.GROUPS[group][:2]
    monkeypatch.setattr(table_search, "GROUPS", [])
    frame, y = rare(n=80)
    TableClassifier(learner="auto", random_state=0).fit(frame, y)
    rows = searches[0].rows
    left = rows.take(np.flatnonzero(rows.target > 0))
    target = np.array(codes)[left.target - 1]
    learner = FoldLearner(replace(left, target=target))
    scores = learner.scores(settings, learner.form(settings[0]), [0])[0]
    test = np.flatnonzero(left.folds == 0)
    assert scores.shape == (2, test.size, 3)
    assert (scores.argmax(axis=2) == target[test]).mean() > 0.85


@pytest.mark.parametrize("model", [TableClassifier, TableRegressor])
def test_a_first_fold_with_few_rows_in_the_race_is_raced_whole(searches, monkeypatch, model):
    monkeypatch.setattr(table_search, "RACE_ROWS", 20)
    monkeypatch.setattr(table_search, "GROUPS", [table_search.GROUPS[0]])
    frame, y = steps(80)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model(learner="auto", cv=40, random_state=3).fit(frame, y if model is TableClassifier else frame.x)
    (search,) = searches
    assert search.racer is search.learner
    assert np.isfinite(search.lowest)
    assert len(search.trials) >= 4


@pytest.mark.parametrize("race_rows", [40, 1_000])  # a sample of the rows, and all of them
@pytest.mark.parametrize("part", ["first fold", "other class"])
def test_rows_without_weight_in_the_race(searches, monkeypatch, race_rows, part):
    monkeypatch.setattr(table_search, "RACE_ROWS", race_rows)
    monkeypatch.setattr(table_search, "FEW_TO_RACE", 5)
    TableClassifier(learner="auto", random_state=0).fit(*steps(80))
    rows = searches[0].rows
    without = rows.folds == 0 if part == "first fold" else (rows.folds != 0) & (rows.target == 0)
    search = TableSearch(replace(rows, weights=np.where(without, 0.0, 1.0)), True).run()
    assert search.ranked()
    assert all(np.isfinite([one.score, one.loss]).all() for one in search.trials)


def test_a_simpler_form_that_is_as_good_is_chosen():
    rng = np.random.default_rng(0)
    common, noise = rng.random(400), rng.normal(size=(3, 400)) * 0.1
    noise -= noise.mean(axis=1, keepdims=True)
    error = noise[1].std() / 20  # of the mean of 400 differences, where the first two losses have no noise in common
    losses = common + np.array([[0.0], [0.9 * error], [9 * error]]) + noise * np.array([[0], [1], [0]])
    assert simplest_first([0, 1, 2], losses, (2, 1, 0)) == [1, 0, 2]
    assert simplest_first([0, 1, 2], losses, (0, 1, 2)) == [0, 1, 2]
    losses[1] += 0.2 * error
    assert simplest_first([0, 1, 2], losses, (2, 1, 0)) == [0, 1, 2]
    few = np.where(np.arange(400) < 4, 1.0, 0.0)  # with so few rows that count, the difference is not known as well
    assert simplest_first([0, 1, 2], losses, (2, 2, 0), few) == [0, 1, 2]


def test_a_loss_that_is_not_a_number_never_leads(searches, monkeypatch):
    real = table_search_rows.calibrated_losses

    def without_the_first(*args):
        right, losses = real(*args)
        if len(losses) == 5:
            losses[0] = np.nan
        return right, losses

    monkeypatch.setattr(table_search_rows, "calibrated_losses", without_the_first)
    TableClassifier(learner="auto", random_state=0).fit(*steps())
    (search,) = searches
    assert np.isfinite(search.lowest)
    assert any(one.setting.splines for one in search.trials)


# -- no search ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "budget", "seconds", "reason"),
    [
        (3, 10**9, None, "there are too few rows for folds"),
        (40, 0, None, "its budget ends before"),
        (40, 10**9, 1e-9, "its seconds end before"),
    ],
)
def test_a_search_that_tried_nothing_says_why(searches, monkeypatch, rows, budget, seconds, reason):
    monkeypatch.setattr(table_search, "BUDGET", budget)
    frame, y = steps(rows)
    y[0], y[1:] = "in", np.where(np.arange(rows - 1) % 2 if rows > 3 else True, "out", "in")
    model = TableClassifier(learner="auto", seconds=seconds, random_state=0).fit(frame, y)
    assert model.summary_.tried == 0
    assert f'learner="auto" tried no setting, because {reason}: learner="linear" is used' in str(model.summary_)
    fixed = TableClassifier(learner="linear", random_state=0).fit(frame, y)
    assert "tried no setting" not in str(fixed.summary_)


def test_a_search_without_columns_says_so():
    model = TableClassifier(learner="auto", random_state=0).fit(np.ones((20, 1)), np.arange(20) % 2)
    assert 'learner="auto" tried no setting, because no column can be used' in str(model.summary_)
