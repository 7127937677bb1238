"""Early stopping by the user's own rows and measure: X_val, y_val, sample_weight_val, scoring."""

import warnings

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, mean_absolute_error, r2_score

import rosenblatt
from rosenblatt import LinearClassifier, MultilayerPerceptron, Perceptron

pytestmark = pytest.mark.usefixtures("quiet")
EPOCHS = 7
RNG = np.random.default_rng(3)
W = RNG.normal(size=(3, 5))


def rows(n, noise=2.0):
    X = RNG.normal(size=(n, 5)).round(2)
    return X, np.argmax(X @ W.T + noise * RNG.normal(size=(n, 3)), axis=1)


X, Y = rows(70)
X_VAL, Y_VAL = rows(40)
WEIGHTS = RNG.uniform(0.1, 3, size=40)
CLASSIFIERS = [
    rosenblatt.Perceptron(),
    rosenblatt.Perceptron(keep="pocket", order="cyclic"),
    rosenblatt.AveragedPerceptron(),
    rosenblatt.VotedPerceptron(),
    rosenblatt.PAUM(),
    rosenblatt.PassiveAggressive(),
    rosenblatt.AROW(),
    rosenblatt.SecondOrderPerceptron(),
    rosenblatt.LinearClassifier(solver="stochastic", alpha=1e-4),
    rosenblatt.LinearClassifier(loss="log", solver="batch", alpha=1e-4),
    rosenblatt.Pegasos(alpha=1e-3),
    rosenblatt.HierarchicalPerceptron(),
    rosenblatt.KernelPerceptron(kernel="rbf"),
    rosenblatt.MultilayerPerceptron(hidden_layer_sizes=(4,), learning_rate_init=0.05),
    rosenblatt.MarkI(n_units=20),
]
REGRESSORS = [rosenblatt.PassiveAggressiveRegressor(C=0.1), rosenblatt.LinearRegressor(alpha=1e-4, solver="stochastic")]


def fitted(model, X, y, epochs=EPOCHS, **settings):
    knobs = {"max_epochs": epochs, "random_state": 0, "n_iter_no_change": 100} | settings
    given = {
        name: knobs.pop(name) for name in ("X_val", "y_val", "sample_weight_val", "sample_weight") if name in knobs
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).set_params(**knobs).fit(X, y, **given)


def best_of_separate_fits(model, X, y, score):
    """The oracle: one fit per number of epochs, each scored from outside; the first best one."""
    each = [fitted(model, X, y, epochs) for epochs in range(1, EPOCHS + 1)]
    scores = [score(one) for one in each]
    return each[int(np.argmax(scores))], scores


def check_best(model, X, y, found, score):
    best, scores = best_of_separate_fits(model, X, y, score)
    reached = [record.score for record in found.report_.epochs]
    np.testing.assert_allclose(reached, scores[: len(reached)], rtol=1e-9)
    np.testing.assert_array_equal(found.predict(X_VAL), best.predict(X_VAL))
    assert score(found) == max(scores[: len(reached)])


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_the_epoch_chosen_is_the_best_of_separate_fits(model):
    given = {"X_val": X_VAL, "y_val": Y_VAL, "sample_weight_val": WEIGHTS, "early_stopping": True}
    found = fitted(model, X, Y, **given)
    check_best(model, X, Y, found, lambda one: accuracy_score(Y_VAL, one.predict(X_VAL), sample_weight=WEIGHTS))


@pytest.mark.parametrize("model", REGRESSORS, ids=str)
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_the_best_epoch_of_a_regression(model, scoring):
    y, y_val = X @ W[0] + RNG.normal(size=70), X_VAL @ W[0] + RNG.normal(size=40)
    found = fitted(model, X, y, X_val=X_VAL, y_val=y_val, early_stopping=True, scoring=scoring)

    def score(one):
        said = one.predict(X_VAL)
        return r2_score(y_val, said) if scoring is None else -mean_absolute_error(y_val, said)

    check_best(model, X, y, found, score)


def test_the_measure_chooses_the_epoch():
    network = MultilayerPerceptron(hidden_layer_sizes=(4,), learning_rate_init=0.05)
    for scoring, score in {
        "neg_log_loss": lambda one: -log_loss(Y_VAL, one.predict_proba(X_VAL)),
        "balanced_accuracy": lambda one: balanced_accuracy_score(Y_VAL, one.predict(X_VAL)),
    }.items():
        found = fitted(network, X, Y, X_val=X_VAL, y_val=Y_VAL, early_stopping=True, scoring=scoring)
        check_best(network, X, Y, found, score)

    def share_of_class_1(estimator, rows, truth):
        assert truth is Y_VAL
        return float((estimator.predict(rows) == 1).mean())

    found = fitted(Perceptron(), X, Y, X_val=X_VAL, y_val=Y_VAL, early_stopping=True, scoring=share_of_class_1)
    check_best(Perceptron(), X, Y, found, lambda one: float((one.predict(X_VAL) == 1).mean()))


def test_own_rows_mean_that_none_are_split_off():
    found = fitted(Perceptron(), X, Y, X_val=X_VAL, y_val=Y_VAL, early_stopping=True)
    assert found.report_.rows == 70
    assert fitted(Perceptron(), X, Y, early_stopping=True).report_.rows < 70
    separated = fitted(
        Perceptron(), X[:3], [0, 1, 2], X_val=X_VAL, y_val=Y_VAL, early_stopping=True
    )  # one row per class
    assert separated.report_.rows == 3


def test_the_measure_of_rows_that_are_split_off():
    frame = pl.DataFrame(X, schema=[f"c{k}" for k in range(5)])
    names = np.array(["a", "b", "c"])[Y]
    plain = fitted(Perceptron(), frame, names, early_stopping=True)
    for rows_, y in ((frame, names), (sp.csr_matrix(X), names.tolist()), (X.tolist(), names)):
        same = fitted(Perceptron(), rows_, y, early_stopping=True, scoring="accuracy")
        assert [one.score for one in same.report_.epochs] == [one.score for one in plain.report_.epochs]
        np.testing.assert_array_equal(same.coef_, plain.coef_)
    weights = RNG.uniform(0, 2, size=70) * (RNG.random(70) > 0.2)
    plain = fitted(Perceptron(), X, Y, early_stopping=True, sample_weight=weights)
    same = fitted(Perceptron(), X, Y, early_stopping=True, sample_weight=weights, scoring="accuracy")
    np.testing.assert_allclose(
        [one.score for one in same.report_.epochs], [one.score for one in plain.report_.epochs], rtol=1e-12
    )


def test_labels_by_indicator():
    Y2, Y2_VAL = np.eye(3, dtype=int)[Y], np.eye(3, dtype=int)[Y_VAL]
    found = fitted(Perceptron(), X, Y2, X_val=X_VAL, y_val=Y2_VAL, early_stopping=True)
    check_best(Perceptron(), X, Y2, found, lambda one: accuracy_score(Y2_VAL, one.predict(X_VAL)))


@pytest.mark.parametrize(
    "name", ["Perceptron", "PassiveAggressiveRegressor", "KernelPerceptron", "MultilayerPerceptron"]
)
def test_what_cannot_be_scored_is_refused(name):
    model = getattr(rosenblatt, name)(early_stopping=True, max_epochs=2)
    for given, message in [
        ({"X_val": X_VAL}, "X_val is given without y_val"),
        ({"y_val": Y_VAL}, "y_val is given without X_val"),
        ({"sample_weight_val": WEIGHTS}, "sample_weight_val is given without X_val"),
        ({"X_val": X_VAL[:, :4], "y_val": Y_VAL}, "4 features"),
        ({"X_val": X_VAL, "y_val": Y_VAL[:-1]}, "inconsistent"),
        ({"X_val": X_VAL, "y_val": Y_VAL, "sample_weight_val": WEIGHTS[:-1]}, "weight"),
        ({"X_val": X_VAL * np.nan, "y_val": Y_VAL}, "NaN"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(X, Y, **given)
        assert not hasattr(model, "report_")
    with pytest.raises(ValueError, match="set early_stopping=True"):
        clone(model).set_params(early_stopping=False).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)


def test_classes_and_scores_that_cannot_be():
    model = Perceptron(early_stopping=True, max_epochs=2)
    with pytest.raises(ValueError, match="y_val has the class 3, which y does not have"):
        model.fit(X, Y, X_val=X_VAL, y_val=Y_VAL + 1)
    with pytest.raises(ValueError, match="the name of a scorer of scikit-learn"):
        clone(model).set_params(scoring="accurate").fit(X, Y)
    with pytest.raises(ValueError, match="gives nan on the held-out rows"):
        clone(model).set_params(scoring=lambda *rows: np.nan).fit(X, Y)


def test_validation_rows_of_a_search_and_of_weights():
    model = LinearClassifier(solver="stochastic", early_stopping=True, scoring="accuracy", max_epochs=3, random_state=0)
    assert clone(model).scoring == "accuracy"
    found = model.fit(X, Y, X_val=X_VAL, y_val=Y_VAL, sample_weight_val=None)
    assert found.report_.epochs[0].score == accuracy_score(
        Y_VAL, fitted(LinearClassifier(solver="stochastic"), X, Y, 1).predict(X_VAL)
    )
