"""The search of learner="auto": what it tries, what it chooses, budgets and clocks, model files, refusals."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from rosenblatt import FileError, LinearClassifier, LinearRegressor, PassiveAggressive, TableClassifier, TableRegressor
from rosenblatt.learn.calibration import calibrated
from rosenblatt.model_files.save_and_load import from_bytes, to_bytes
from rosenblatt.search.penalty_paths import CentredRows, logistic_columns, ridge_path
from rosenblatt.tables import model as table_model
from rosenblatt.tables import search as table_search
from rosenblatt.tables import search_folds as table_search_folds
from rosenblatt.tables import search_rows as table_search_rows
from rosenblatt.tables import settings as table_settings
from rosenblatt.tables.columns.numbers import SplineEncoding, side_by_side
from rosenblatt.tables.search import TableSearch
from rosenblatt.tables.settings import DEFAULT, TableSetting


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def budget(monkeypatch):
    """A budget for small tables, and fewer settings, so that tests are quick with compilation off."""
    monkeypatch.setattr(table_search, "BUDGET", 10**9)
    monkeypatch.setattr(table_settings, "PASSES", 2)
    monkeypatch.setattr(table_settings, "FOURIER_COUNT", 30)


def waves(n=120, classes=2, seed=0, missing=False):
    """A table whose label is no linear function of its numbers, with a column of names."""
    rng = np.random.default_rng(seed)
    x, name = rng.uniform(-3, 3, n), rng.choice(["a", "b"], n)
    y = np.digitize(np.cos(2 * x) + 0.1 * rng.normal(size=n), np.linspace(-0.3, 0.3, classes - 1))
    y[:classes] = np.arange(classes)
    x = np.where(rng.random(n) < 0.1, np.nan, x) if missing else x
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "name": name}), y


# -- penalties at once -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("shape", [(60, 5), (20, 40)])
def test_each_penalty_of_the_log_loss_is_a_logistic_regression(classes, shape):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=shape) * np.linspace(0.1, 2, shape[1]) + 1, rng.integers(0, classes, shape[0])
    y[:classes] = np.arange(classes)
    weights, strengths = rng.random(shape[0]) + 0.5, np.array([0.3, 3.0])
    alphas = strengths / weights.sum()
    rows = CentredRows.of(X, weights)
    coef, intercept = rows.planes(logistic_columns(rows, y, classes, alphas, tol=1e-8, iterations=10_000))
    for k, strength in enumerate(strengths):
        peer = LogisticRegression(C=1 / strength, tol=1e-10, max_iter=10_000).fit(X, y, sample_weight=weights)
        own, other = X @ coef[k].T + intercept[k], peer.decision_function(X)
        own = own[:, 0] if classes == 2 else own - own.mean(axis=1, keepdims=True)
        other = other if classes == 2 else other - other.mean(axis=1, keepdims=True)
        assert own == pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize("shape", [(60, 5), (20, 40)])
def test_each_penalty_of_least_squares_is_a_ridge_regression(shape):
    rng = np.random.default_rng(1)
    X, y, weights = rng.normal(size=shape) + 2, rng.normal(size=shape[0]), rng.random(shape[0]) + 0.5
    alphas = np.array([0.01, 1.0])
    coef, intercept = ridge_path(X, y, alphas, weights)
    for k, alpha in enumerate(alphas):
        peer = Ridge(alpha=alpha * weights.sum()).fit(X, y, sample_weight=weights)
        assert coef[k, 0] == pytest.approx(peer.coef_, abs=1e-8)
        assert intercept[k, 0] == pytest.approx(peer.intercept_, abs=1e-8)


def test_hat_functions_interpolate_and_sum_to_one():
    values = np.random.default_rng(0).normal(size=50)
    encoding = SplineEncoding.fit(values)
    asked = np.r_[values, -9.0, 9.0, encoding.knots]
    hats = side_by_side([encoding.width], [encoding.entries(asked)], asked.size).toarray()
    twin = np.column_stack([np.interp(asked, encoding.knots, unit) for unit in np.eye(encoding.knots.size)])
    assert hats == pytest.approx(twin, abs=1e-12)
    assert hats.sum(axis=1) == pytest.approx(np.ones(asked.size))


# -- what is chosen ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
def test_a_table_that_no_line_separates_gets_splines_or_random_features(budget, classes):
    frame, y = waves(classes=classes, missing=True)
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    assert model.setting_.splines or model.setting_.fourier
    fixed = TableClassifier(learner=PassiveAggressive(C=0.1, keep="average", max_epochs=9), random_state=0).fit(
        frame, y
    )
    assert model.summary_.score > fixed.summary_.score + 0.1
    assert fixed.setting_ is None
    assert fixed.summary_.tried == 0


def test_the_chosen_setting_has_the_lowest_log_loss_within_a_standard_error_of_the_best(budget, monkeypatch):
    kept = []
    ranked = TableSearch.ranked
    monkeypatch.setattr(TableSearch, "ranked", lambda self: kept.append(self) or ranked(self))
    frame, y = waves()
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    (search,) = kept
    best = max(one.score for one in search.trials)
    error = np.sqrt(best * (1 - best) / y.size)
    near = [one for one in search.trials if one.score >= best - error]
    lowest = min(near, key=lambda one: one.loss)
    chosen = next(one for one in search.trials if one.setting == model.setting_)
    above = chosen.losses - lowest.losses
    assert above.mean() <= above.std() / np.sqrt(y.size)
    assert chosen is lowest or chosen.setting.complexity < lowest.setting.complexity
    summary = model.summary_
    assert (summary.tried, summary.near, summary.best_score) == (len(search.trials), len(near), best)
    assert summary.score == pytest.approx(chosen.score, abs=summary.interval)  # the same folds, cross-fitted
    assert summary.log_loss == pytest.approx(chosen.loss, abs=0.05)
    assert [one[2] for one in summary.runners_up] == sorted(one[2] for one in summary.runners_up)
    text = str(summary)
    assert f"of {len(search.raced)} settings: the simplest with about the lowest log loss" in text
    assert not near[1:] or f"; then {summary.runners_up[0][0]} (log loss" in text


def test_the_scores_that_are_reported_are_those_of_a_model_of_the_other_folds(budget, monkeypatch):
    frame, y = waves()
    learn, kept = table_model.learn_table, []
    monkeypatch.setattr(table_model, "learn_table", lambda *args: kept.append(learn(*args)) or kept[-1])
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[:1])
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    ((_, searched, _),) = kept
    X, alone = model.encoder_.transform(frame), np.zeros(y.size)
    for fold in range(5):
        train, test = np.flatnonzero(searched.folds != fold), np.flatnonzero(searched.folds == fold)
        learner = model.setting_.estimator(train.size, X.shape[1]).fit(X[train], y[train])
        alone[test] = learner.decision_function(X[test])
    assert searched.scores == pytest.approx(alone, abs=0.02)
    assert np.array_equal(searched.target, y)


def test_the_same_seed_gives_the_same_bits(budget):
    frame, y = waves(missing=True)
    one, other = (TableClassifier(learner="auto", random_state=3).fit(frame, y) for _ in range(2))
    assert one.setting_ == other.setting_
    assert np.array_equal(one.predict_proba(frame), other.predict_proba(frame))


def test_kinds_that_were_asked_for_stay(budget):
    frame, y = waves()
    model = TableClassifier(learner="auto", columns={"x": "numbers"}, random_state=0).fit(frame, y)
    assert {one.name: one.kind for one in model.encoder_.columns_}["x"] == "numbers"


def test_text_weights_and_classes_that_are_missing_in_folds(budget):
    rng = np.random.default_rng(0)
    frame, y = waves(60)
    frame["note"] = [" ".join(rng.choice(["good", "bad", "so", "very"], 5)) + f" {k}" for k in range(60)]
    y = np.where(y == 1, "yes", "no").astype(object)
    y[:2] = "rare"
    weights = rng.integers(0, 3, 60)
    weights[:3] = 1
    model = TableClassifier(learner="auto", class_weight="balanced", random_state=0).fit(
        frame, y, sample_weight=weights
    )
    assert model.summary_.tried > 0
    assert model.predict_proba(frame).sum(axis=1) == pytest.approx(np.ones(60))
    kept = weights > 0
    again = TableClassifier(learner="auto", class_weight="balanced", random_state=0).fit(
        frame[kept], y[kept], weights[kept]
    )
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))


def test_more_rows_than_are_searched(budget, monkeypatch):
    monkeypatch.setattr(table_search_rows, "SEARCH_ROWS", 80)
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[:3])
    frame, y = waves(200)
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    assert 80 <= model.summary_.searched_rows < 200
    assert f"on a sample of {model.summary_.searched_rows} rows" in str(model.summary_)
    assert model.summary_.rows == 200
    assert model.setting_.splines
    monkeypatch.setattr("rosenblatt.tables.fit.MANY_ROWS", 150)
    large = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    assert large.summary_.held_out
    assert large.setting_.splines
    assert {one.kind for one in large.encoder_.columns_} == {"splines", "names"}


def test_wide_rows_are_learned_one_by_one(budget, monkeypatch):
    monkeypatch.setattr(table_settings, "MOST_FEATURES", 1)
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[::2][:2])
    frame, y = waves(60)
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    assert isinstance(model.learner_, LinearClassifier)
    assert model.learner_.solver == "stochastic"
    assert model.summary_.tried


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_numbers_are_searched_too(budget):
    frame, _ = waves(missing=True)
    target = np.cos(2 * frame["x"].fillna(0)) * 1000 + 5
    model = TableRegressor(learner="auto", random_state=0).fit(frame, target)
    assert model.setting_.splines or model.setting_.fourier
    assert isinstance(model.learner_, LinearRegressor)
    assert model.score(frame, target) > 0.7
    summary = model.summary_
    assert summary.best_score - summary.interval < summary.score <= summary.best_score
    assert f"of {summary.raced} settings: the simplest with about the lowest mean squared error" in str(summary)


# -- budgets, clocks and Ctrl-C ----------------------------------------------------------------------------------------


def test_beyond_the_budget_the_default_setting_is_taken(monkeypatch):
    monkeypatch.setattr(table_search, "BUDGET", 0)
    frame, y = waves()
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    assert model.setting_ == DEFAULT
    assert model.summary_.tried == 0
    assert model.summary_.learner == "averaged passive-aggressive, PA-I, C = 0.1"
    assert isinstance(
        TableRegressor(learner="auto", random_state=0).fit(frame, np.arange(120) / 7).learner_, LinearRegressor
    )


def test_groups_end_where_the_budget_does(budget, monkeypatch):
    frame, y = waves()
    spent = []
    cost = table_search.cost
    monkeypatch.setattr(table_search, "cost", lambda *args: spent.append(cost(*args)) or spent[-1])
    TableClassifier(learner="auto", random_state=0).fit(frame, y)
    monkeypatch.setattr(table_search, "BUDGET", sum(spent[:2]))
    assert TableClassifier(learner="auto", random_state=0).fit(frame, y).summary_.tried == len(table_search.GROUPS[0])


def test_seconds_end_the_search_whatever_the_budget(monkeypatch):
    frame, y = waves()
    now = [0.0]

    def clock():
        now[0] += 1.0
        return now[0]

    monkeypatch.setattr(table_settings, "PASSES", 2)
    monkeypatch.setattr(table_search, "clock", clock)
    first = len(table_search.GROUPS[0])
    tried = [TableClassifier(learner="auto", seconds=s, random_state=0).fit(frame, y).summary_.tried for s in (1, 4, 6)]
    assert tried == [0, first, first + len(table_search.GROUPS[2])]  # the second is for more features


@pytest.mark.parametrize("seconds", [0, -1.0, "long"])
def test_seconds_must_be_positive(seconds):
    frame, y = waves(20)
    with pytest.raises(ValueError, match="seconds"):
        TableClassifier(learner="auto", seconds=seconds).fit(frame, y)


def test_ctrl_c_leaves_the_model_as_it_was(budget, monkeypatch):
    frame, y = waves()
    model = TableClassifier(learner="auto", random_state=0).fit(frame, y)
    before = dict(vars(model))

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(table_search_folds, "logistic_columns", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(frame, 1 - y)
    assert vars(model) == before


def test_numbers_that_are_constant_in_a_fold():
    X = np.zeros((10, 20))
    X[0] = np.random.default_rng(0).normal(size=20)
    rows = CentredRows.of(np.ones((4, 6)))
    W = logistic_columns(rows, np.array([0, 1, 1, 1]), 2, np.array([0.1, 1.0]), tol=1e-9)
    coef, intercept = rows.planes(W)
    assert coef.shape == (2, 1, 6)
    assert not coef.any()
    assert intercept.ravel() == pytest.approx(np.log(3), abs=1e-6)
    model = TableClassifier(learner="auto", random_state=0).fit(X, [0, 1] * 5)
    assert set(model.predict(X)) <= {0, 1}


def test_the_losses_of_numbers_are_in_the_unit_of_the_target(budget):
    frame, y = waves()
    found = [TableRegressor(learner="auto", random_state=0).fit(frame, scale * y) for scale in (1.0, 1024.0)]
    small, large = (np.array([loss for *_, loss in model.summary_.runners_up]) for model in found)
    assert small.size
    assert large == pytest.approx(1024.0**2 * small)
    for _, score, loss in found[0].summary_.runners_up:
        assert loss == pytest.approx((1 - score) * y.var())


def test_folds_without_rows_in_the_sample(budget, monkeypatch):
    monkeypatch.setattr(table_search_rows, "SEARCH_ROWS", 30)
    monkeypatch.setattr(table_search_rows, "CLASS_ROWS", 5)
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[:1])
    frame, y = waves()
    summary = TableClassifier(learner="auto", cv=50, random_state=0).fit(frame, y).summary_
    assert summary.folds > summary.searched_rows
    assert summary.tried == sum(map(len, table_search.GROUPS))


@pytest.mark.parametrize("weights", [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
def test_calibration_leaves_out_rows_without_weight(weights):
    rng = np.random.default_rng(0)
    target = rng.integers(0, 3, 90)
    scores, mass = 5 * np.eye(3)[target] + 4 * rng.normal(size=(90, 3)), np.array(weights)[target]
    kept = mass > 0 if mass.any() else np.ones(90, bool)
    found = calibrated(scores, target, 3, mass)
    alone = calibrated(scores[kept], target[kept], 3, mass[kept] if mass.any() else None)
    assert 0 < found.scale != 1.0
    assert found.scale == alone.scale
    assert np.array_equal(found.shifts, alone.shifts)


# -- model files -------------------------------------------------------------------------------------------------------


@pytest.fixture
def with_waves(budget, monkeypatch):
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[3:4])
    frame, y = waves()
    return frame, TableClassifier(learner="auto", random_state=0).fit(frame, y)


def test_a_model_with_random_features_is_stored_and_says_so(with_waves):
    frame, model = with_waves
    assert model.fourier_ is not None
    assert "random Fourier features" in str(model.summary_)
    again = from_bytes(to_bytes(model))
    assert again.setting_ == model.setting_
    assert np.array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert all("x" in name or "z" in name or "name" in name for name, _ in model.summary_.weights)


def test_random_features_that_do_not_fit_are_refused(with_waves):
    _, model = with_waves
    model.fourier_ = type(model.fourier_)(model.fourier_.frequencies[:1], model.fourier_.phases, 1.0)
    with pytest.raises(FileError, match="frequencies"):
        to_bytes(model)


def test_settings_are_written_in_words():
    assert str(TableSetting("log", 3.0, splines=True)) == "logistic regression, α·n = 3, numbers as splines"
    assert str(TableSetting("PA-II", 0.1, "average", 0.01)) == (
        "averaged passive-aggressive, PA-II, C = 0.1, bias step 0.01"
    )
    assert str(TableSetting("AROW", 10.0)) == "AROW, r = 10"


@pytest.mark.parametrize(
    "forged",
    [
        {"learner": "nope"},
        {"learner": 1},
        {"strength": "x"},
        {"strength": -1.0},
        {"keep": "all"},
        {"bias_step": None},
        {"splines": "no"},
        {"fourier": np.nan},
    ],
)
def test_a_forged_setting_is_refused(forged):
    frame, y = waves(20)
    model = TableClassifier(learner="linear", random_state=0).fit(frame, y)
    model.setting_ = DEFAULT
    assert from_bytes(to_bytes(model)).setting_ == DEFAULT
    model.setting_ = replace(DEFAULT, **forged)
    with pytest.raises(FileError, match="a setting"):
        to_bytes(model)
