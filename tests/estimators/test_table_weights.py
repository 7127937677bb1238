"""`sample_weight` of models of tables, and the smoothing of their probabilities."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, r2_score, roc_auc_score

from rosenblatt import TableClassifier, TableRegressor
from rosenblatt.learn.calibration import calibrated
from rosenblatt.tables import fit as table_fit
from rosenblatt.tables import results as table_results

RNG = np.random.default_rng(0)
N = 240
FRAME = pd.DataFrame({"x": RNG.normal(size=N), "y": RNG.normal(size=N).round(1), "city": RNG.choice(["a", "b"], N)})
LABELS = np.where(FRAME["x"] + RNG.normal(size=N) > 0, "yes", "no")
NUMBERS = 3 * FRAME["x"].to_numpy() + RNG.normal(size=N)
WEIGHTS = RNG.integers(0, 4, N).astype(float)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("many", [False, True], ids=["folds", "held out"])
@pytest.mark.parametrize(("estimator", "y"), [(TableClassifier, LABELS), (TableRegressor, NUMBERS)])
def test_weight_0_is_a_row_that_is_not_there_and_weight_1_counts_once(estimator, y, many, monkeypatch):
    monkeypatch.setattr(table_fit, "MANY_ROWS", 100 if many else 10**6)
    some = WEIGHTS > 0
    absent = estimator(random_state=0).fit(FRAME[some], y[some])
    weightless = estimator(random_state=0).fit(FRAME, y, sample_weight=some.astype(float))
    np.testing.assert_allclose(weightless.learner_.coef_, absent.learner_.coef_, rtol=1e-9)
    assert weightless.summary_.score == pytest.approx(absent.summary_.score, rel=1e-9)
    assert weightless.summary_.rows == some.sum()
    ask = "predict_proba" if estimator is TableClassifier else "predict"
    np.testing.assert_allclose(getattr(weightless, ask)(FRAME), getattr(absent, ask)(FRAME), rtol=1e-6)


def test_scores_are_by_weight(monkeypatch):
    halves, kept = table_results.halves, []
    monkeypatch.setattr(table_results, "halves", lambda *args: kept.append((args, list(halves(*args)))) or kept[-1][1])
    model = TableClassifier(learner="linear", random_state=0, scoring="balanced_accuracy").fit(
        FRAME, LABELS, sample_weight=WEIGHTS + 0.5
    )
    (((_, target, _, mass, *_), cuts),) = kept
    assert mass.tolist() == (WEIGHTS + 0.5).tolist()
    found, rows = model.summary_, np.concatenate([half.rows for cut in cuts for half in cut])
    chances = np.concatenate([half.predictions for cut in cuts for half in cut])
    truth, how = target[rows], {"sample_weight": mass[rows]}
    assert found.score == pytest.approx(accuracy_score(truth, chances.argmax(axis=1), **how))
    assert found.log_loss == pytest.approx(log_loss(truth, chances, **how))
    areas, others = [], []
    for rows, chances, _ in (half for cut in cuts for half in cut):
        truth, how = target[rows], {"sample_weight": mass[rows]}
        areas.append(roc_auc_score(truth, chances[:, 1], **how))
        others.append(balanced_accuracy_score(truth, chances.argmax(axis=1), **how))
    assert found.area == pytest.approx(np.mean(areas))
    assert found.other_scores == (("balanced_accuracy", pytest.approx(np.mean(others))),)
    trained = accuracy_score(LABELS, model.predict(FRAME), sample_weight=mass)
    assert found.training_score == pytest.approx(trained)


def test_r2_is_by_weight():
    model = TableRegressor(learner="linear", random_state=0).fit(FRAME, NUMBERS, sample_weight=WEIGHTS + 0.5)
    wanted = r2_score(NUMBERS, model.predict(FRAME), sample_weight=WEIGHTS + 0.5)
    assert model.summary_.training_score == pytest.approx(wanted)
    twice = TableRegressor(learner="linear", random_state=0).fit(FRAME, NUMBERS, sample_weight=2 * (WEIGHTS + 0.5))
    assert twice.summary_.score == pytest.approx(model.summary_.score, rel=1e-6)


def test_weights_move_the_probabilities():
    plain = TableClassifier(learner="linear", random_state=0).fit(FRAME, LABELS)
    heavy = TableClassifier(learner="linear", random_state=0).fit(
        FRAME, LABELS, sample_weight=np.where(LABELS == "yes", 5.0, 1.0)
    )
    assert heavy.predict_proba(FRAME)[:, 1].mean() > plain.predict_proba(FRAME)[:, 1].mean() + 0.1


@pytest.mark.parametrize("classes", [2, 3])
def test_decisions_predictions_and_probabilities_agree(classes):
    """Classes of very different sizes, whose shifts move the decision away from the learner's."""
    y = np.minimum(np.arange(N) % 12, classes - 1)
    model = TableClassifier(learner="linear", random_state=0).fit(FRAME, y)
    chances, scores = model.predict_proba(FRAME), model.decision_function(FRAME)
    if classes == 2:
        np.testing.assert_allclose(scores, np.log(chances[:, 1] / chances[:, 0]), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(model.predict(FRAME), (scores > 0).astype(int))
    else:
        np.testing.assert_allclose(scores - scores[:, :1], np.log(chances / chances[:, :1]), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(model.predict(FRAME), scores.argmax(axis=1))


def test_weights_that_cannot_be():
    for weights, message in [(WEIGHTS[:-1], "weight"), (-WEIGHTS, "negative|weight"), (WEIGHTS * np.nan, "NaN|finite")]:
        with pytest.raises(ValueError, match=message):
            TableClassifier(learner="linear").fit(FRAME, LABELS, sample_weight=weights)


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_targets_are_smoothed_as_much_for_many_classes_as_for_two(classes):
    """Scores that separate the classes: the probability of the own class is that of the smoothed target."""
    target = np.repeat(np.arange(classes), 60 // classes)
    scores = np.where(np.arange(classes) == target[:, None], 1.0, 0.0)
    found = calibrated(scores if classes > 2 else scores[:, 1] - scores[:, 0], target, classes)
    chances = found.probabilities(scores if classes > 2 else scores[:, 1] - scores[:, 0])
    assert chances[np.arange(60), target] == pytest.approx(np.full(60, 1 - 1 / 32), abs=1e-4)  # 30 rows of two classes
