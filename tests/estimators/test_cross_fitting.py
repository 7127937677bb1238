"""What table models report of new rows: on noise what chance gives, with intervals that cover it."""

import warnings

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from rosenblatt import TableClassifier, TableRegressor
from rosenblatt.tables import cross_fitting
from rosenblatt.tables import fit as table_fit
from rosenblatt.tables import results as table_results
from rosenblatt.tables import search as table_search
from rosenblatt.tables import search_rows as table_search_rows
from rosenblatt.tables.cross_fitting import Candidates, best_first, halves
from rosenblatt.tables.measures import accuracy_interval, r2, r2_interval


def summaries_of_noise(estimator, seeds, rows=300):
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, 5))
        y = rng.integers(2, size=rows) if isinstance(estimator, TableClassifier) else rng.normal(size=rows)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the model is no better than the majority
            found.append(estimator.set_params(random_state=seed).fit(X, y).summary_)
    return found


def mean_and_error(values):
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize(
    ("learner", "seeds", "many"), [("linear", 40, False), ("auto", 12, False), ("linear", 40, True)], ids=str
)
def test_on_noise_accuracy_is_that_of_chance(learner, seeds, many, monkeypatch):
    if many:  # held out once, as of tables in files
        monkeypatch.setattr(table_fit, "MANY_ROWS", 100)
    found = summaries_of_noise(TableClassifier(learner=learner), seeds, 1200 if many else 300)
    accuracy, error = mean_and_error([one.score for one in found])
    assert abs(accuracy - 0.5) < 3 * error
    loss, error = mean_and_error([one.log_loss for one in found])
    assert loss > np.log(2) - 2 * error
    area, error = mean_and_error([one.area for one in found])
    assert abs(area - 0.5) < 3 * error
    covered = sum(abs(one.score - 0.5) <= one.interval for one in found)
    assert covered >= binom.ppf(0.001, seeds, 0.95)


def test_on_noise_a_searched_regressor_explains_nothing():
    found = summaries_of_noise(TableRegressor(learner="auto"), 8)
    score, error = mean_and_error([one.score for one in found])
    assert score < error
    assert np.mean([one.score for one in found]) < np.mean([one.best_score for one in found])


@pytest.mark.parametrize("classes", [2, 3, 0])
def test_predictions_of_a_half_do_not_change_with_its_labels(classes, monkeypatch):
    rng = np.random.default_rng(0)
    n = 90
    target = rng.integers(classes, size=n) if classes else rng.normal(size=n)
    scores = rng.normal(size=(4, n, 3) if classes == 3 else (4, n))
    second = rng.random(n) < 0.5
    monkeypatch.setattr(cross_fitting, "cuts", lambda *_: iter([second]))
    every = np.ones(n, bool)
    early = np.arange(n) < 60
    candidates = [Candidates(scores[:2], every, ~early, (0, 1)), Candidates(scores, early, early, (0, 0, 1, 2))]

    def predicted(labels):
        (cut,) = halves(candidates, labels, classes, None, np.ones(classes), 0)
        return {int(row): one for half in cut for row, one in zip(half.rows, half.predictions, strict=True)}

    before = predicted(target)
    assert sorted(before) == list(range(n))
    other = target.copy()
    other[second] = (target[second] + 1) % classes if classes else -target[second]
    after = predicted(other)
    assert all(np.array_equal(before[k], after[k]) for k in np.flatnonzero(second).tolist())
    assert any(not np.array_equal(before[k], after[k]) for k in np.flatnonzero(~second).tolist())


@pytest.mark.parametrize("balanced", [False, True])
def test_halves_are_cut_without_regard_to_frequent_classes(balanced):
    counts = [200, 200, 200] if balanced else [300, 200, 7]
    target = np.repeat([0, 1, 2], counts)
    cuts = list(cross_fitting.cuts(target, 3, 0))
    sizes = np.array([np.bincount(target[one], minlength=3) for one in cuts])
    assert (np.abs(sizes.sum(axis=1) - target.size / 2) <= 1.5).all()
    assert (np.abs(sizes[:, 2] - counts[2] / 2) <= 0.5).all()
    assert (np.ptp(sizes[:, 0]) <= 1) == balanced


@pytest.mark.parametrize(("most", "reported"), [(100, "others"), (250, "sample")])
def test_rows_that_chose_the_setting_are_not_scored_by_it(most, reported, monkeypatch):
    monkeypatch.setattr(table_search_rows, "SEARCH_ROWS", most)
    monkeypatch.setattr(table_search, "GROUPS", table_search.GROUPS[:1])
    kept = []
    monkeypatch.setattr(table_results, "halves", lambda found, *args: kept.append(found) or halves(found, *args))
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    model = TableClassifier(learner="auto", random_state=0).fit(X, X[:, 0] + rng.logistic(size=300) > 0)
    (candidates,) = kept
    asked = np.sum([one.reported for one in candidates], axis=0)
    searched = model.summary_.searched_rows
    assert asked.max() == 1  # no row is counted twice
    assert asked.sum() == (300 - searched if reported == "others" else searched)


def test_rows_of_a_race_by_learners_of_fewer_rows_are_not_scored(monkeypatch):
    monkeypatch.setattr(table_search, "RACE_ROWS", 500)
    searches = []
    run = table_search.TableSearch.run
    monkeypatch.setattr(table_search.TableSearch, "run", lambda self: searches.append(self) or run(self))
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1200, 3))
    TableClassifier(learner="auto", random_state=0).fit(X, X[:, 0] + rng.logistic(size=1200) > 0)
    (search,) = searches
    (found,) = search.candidates()
    assert found.known.all()
    assert 1200 - found.reported.sum() == search.race_rows.size == 240
    assert (search.rows.folds[~found.reported] == 0).all()
    scores = [one.score for one in search.trials]
    assert (
        search.ranked()[0].setting
        == search.trials[best_first(scores, [t.loss for t in search.trials], 1200, 2)[0]].setting
    )


@pytest.mark.parametrize("accuracy", [0.5, 0.8, 0.95, 0.99, 0.998])
@pytest.mark.parametrize("rows", [40, 300, 5000])
def test_intervals_of_an_accuracy_cover_it(accuracy, rows):
    right = np.arange(rows + 1)
    half = np.array([accuracy_interval(k / rows, rows) for k in right.tolist()])
    covered = binom.pmf(right, rows, accuracy)[np.abs(right / rows - accuracy) <= half].sum()
    assert covered > 0.92
    exact = binomtest(rows - 1, rows).proportion_ci(0.95, method="exact")
    assert accuracy_interval((rows - 1) / rows, rows) == pytest.approx((rows - 1) / rows - exact.low)


def test_intervals_of_r2_cover_it():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        predicted, noise = rng.normal(size=150), rng.normal(size=150)
        target = predicted + noise
        covered += abs(r2(target, predicted) - 0.5) <= r2_interval(target, noise**2)
    assert 0.92 < covered / 400 < 0.98
    assert r2_interval(np.ones(5), np.zeros(5)) == 0
