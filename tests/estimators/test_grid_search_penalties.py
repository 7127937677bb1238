"""Penalties and schedules of `LinearClassifier` in one pass: every column is a fit of its own over the same visits."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV as Peer
from sklearn.model_selection import KFold, ParameterGrid

from rosenblatt import GridSearchCV, LinearClassifier
from rosenblatt.objective import objective_plan
from rosenblatt.search import many_descents

CV = KFold(3)
GRIDS = {
    "alpha": ({}, {"alpha": [1e-4, 0.01, 1.0], "max_epochs": [1, 3]}),
    "penalties": ({"loss": "hinge"}, {"penalty": ["l2", "l1", "elasticnet", None], "alpha": [1e-3, 0.05]}),
    "ratios": ({"penalty": "elasticnet", "alpha": 0.03}, {"l1_ratio": [0.0, 0.3, 1.0]}),
    "rates": ({"loss": "modified_huber"}, {"learning_rate": [0.01, 0.1, "1/t", "1/sqrt(t)", "optimal"]}),
    "scales": ({"loss": "squared_hinge", "learning_rate": 0.5}, {"alpha": [0.5, 1.9, 3.0]}),
    "intercepts": ({"loss": "perceptron"}, {"fit_intercept": [True, False], "alpha": [1e-4, 0.1]}),
    "stops": ({"max_epochs": 12}, {"tol": [0.1, 1e-3, 0.0], "n_iter_no_change": [1, 3]}),
}


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def table(classes=2, n=60, d=6, kind="dense", whole=False):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    X *= rng.random((n, d)) < 0.7
    y = np.argmax(X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes)), axis=1)
    y[:classes] = y[-classes:] = y[20 : 20 + classes] = np.arange(classes)
    return (sp.csr_matrix(X) if kind == "sparse" else X), y


@pytest.fixture
def runs(monkeypatch):
    """The runs that a search makes."""
    made, whole = [], many_descents.ManyDescents.__init__

    def kept(self, *given):
        whole(self, *given)
        made.append(self)

    monkeypatch.setattr(many_descents.ManyDescents, "__init__", kept)
    return made


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", GRIDS)
def test_every_column_is_a_fit_of_its_own(name, classes, kind, runs):
    X, y = table(classes, kind=kind)
    fixed, grid = GRIDS[name]
    model = LinearClassifier(order="cyclic", **{"max_epochs": 3, "random_state": 0, **fixed})
    search = GridSearchCV(model, grid, cv=CV, refit=False, return_train_score=True).fit(X, y)
    peer = Peer(model, grid, cv=CV, refit=False, return_train_score=True).fit(X, y)
    assert search.one_pass_ == len(ParameterGrid(grid)) * 3
    for part in ("train", "test"):
        for k in range(3):
            column = f"split{k}_{part}_score"
            np.testing.assert_array_equal(search.cv_results_[column], peer.cv_results_[column])
    (run,) = runs
    for m, one in enumerate(run.descents):
        own = clone(model).set_params(max_epochs=one.epochs, tol=one.plan.tol, n_iter_no_change=one.plan.patience)
        own.set_params(alpha=one.plan.alpha, penalty=one.plan.penalty, l1_ratio=one.plan.ratio)
        own.set_params(learning_rate=one.plan.rate, fit_intercept=one.plan.bias != "none")
        train = np.flatnonzero(run.data.member[:, one.fold])
        own.fit(X[train], y[train])
        columns = slice(m * run.K, (m + 1) * run.K)
        np.testing.assert_allclose(run.state.v[:, columns].T, own.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(run.state.b[columns], own.intercept_, rtol=1e-9, atol=1e-12)
        assert run.state.clock[m] == own.n_iter_ * train.size


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3])
def test_bits_on_whole_numbers(classes, dtype, runs):
    X, y = table(classes, whole=True)
    X = X.astype(dtype)
    model = LinearClassifier(loss="perceptron", penalty=None, order="cyclic", max_epochs=3, tol=0)
    GridSearchCV(model, {"learning_rate": [1.0, 0.5, 4.0]}, cv=CV, refit=False).fit(X, y)
    (run,) = runs
    for m, one in enumerate(run.descents):
        train = np.flatnonzero(run.data.member[:, one.fold])
        own = clone(model).set_params(learning_rate=one.plan.rate).fit(X[train], y[train])
        assert run.state.v[:, m * run.K : (m + 1) * run.K].T.tobytes() == own.coef_.tobytes()


def test_shuffled_visits_blocks_and_the_best_model():
    """With a memory for few columns, and a search that goes on to fit the best setting."""
    X, y = table(3, n=90)
    model = LinearClassifier(solver="stochastic", max_epochs=4, random_state=0)
    grid = {"alpha": np.logspace(-5, 1, 7), "penalty": ["l2", "l1"]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    small = GridSearchCV(model, grid, cv=3, memory=6 * 16 * 8).fit(X, y)
    assert search.one_pass_ == small.one_pass_ == 42
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], small.cv_results_["mean_test_score"])
    assert search.best_params_ == small.best_params_
    own = clone(model).set_params(**search.best_params_).fit(X, y)
    assert np.array_equal(search.best_estimator_.coef_, own.coef_)
    assert np.array_equal(search.predict_proba(X), own.predict_proba(X))


def mean_answer(y, answers):
    return float(np.mean(answers))


@pytest.mark.parametrize(
    ("settings", "how", "given"),
    [
        ({"class_weight": "balanced"}, {}, {}),
        ({"loss": "exponential"}, {}, {}),
        ({"solver": "batch"}, {}, {}),
        ({"solver": "auto", "order": "shuffle"}, {}, {}),
        ({"learning_rate": lambda epoch: 0.1 / epoch}, {}, {}),
        ({"early_stopping": True, "validation_fraction": 0.3}, {}, {}),
        ({}, {"scoring": "neg_log_loss"}, {}),
        ({}, {"scoring": ["accuracy", "neg_brier_score"], "refit": False}, {}),
        ({}, {"scoring": make_scorer(mean_answer, response_method=("predict_proba", "decision_function"))}, {}),
        ({}, {}, {"sample_weight": np.linspace(0.5, 2.0, 60)}),
    ],
)
def test_what_the_pass_cannot_do_is_run_as_scikit_learn_runs_it(settings, how, given):
    X, y = table()
    model = LinearClassifier(**{"order": "cyclic", "max_epochs": 3, "random_state": 0, **settings})
    ours, theirs = (one(model, {"alpha": [1e-3, 0.1]}, cv=CV, **how).fit(X, y, **given) for one in (GridSearchCV, Peer))
    assert ours.one_pass_ == 0
    for name in [name for name in theirs.cv_results_ if "test" in name]:
        np.testing.assert_array_equal(ours.cv_results_[name], theirs.cv_results_[name])


def test_other_losses_learn_beside_and_auto_visits_many_rows(monkeypatch):
    X, y = table()
    model, grid = LinearClassifier(order="cyclic", max_epochs=3), {"loss": ["log", "hinge"], "alpha": [1e-3, 0.1]}
    ours, theirs = (one(model, grid, cv=CV).fit(X, y) for one in (GridSearchCV, Peer))
    assert ours.one_pass_ == 6
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    auto = LinearClassifier(solver="auto", max_epochs=3, random_state=0)
    assert GridSearchCV(auto, {"alpha": [1e-3, 0.1]}, cv=CV).fit(X, y).one_pass_ == 0
    monkeypatch.setattr(objective_plan, "MOST_BATCH_PRODUCTS", 10)
    assert GridSearchCV(auto, {"alpha": [1e-3, 0.1]}, cv=CV).fit(X, y).one_pass_ == 6


def test_weights_that_overflow_have_no_score():
    X, y = table()
    grid = {"learning_rate": [1e200, 0.01]}
    search = GridSearchCV(
        LinearClassifier(loss="squared_hinge", order="cyclic", max_epochs=3), grid, cv=CV, error_score=-1.0
    ).fit(X, y)
    assert search.one_pass_ == 6
    assert search.cv_results_["mean_test_score"][0] == -1.0 < 0.5 < search.cv_results_["mean_test_score"][1]


@pytest.mark.parametrize(
    ("loss", "dtype", "rates"),
    [
        ("hinge", np.float64, [1e-3, 1e154]),  # the squared weights of the penalty overflow
        ("perceptron", np.float64, [1e-3, 1e307]),
        ("hinge", np.float32, [1e-3, 1e38]),  # weights of float32 overflow
    ],
)
def test_a_column_fails_where_its_own_fit_fails(loss, dtype, rates):
    """Scores of test rows may be finite where the weights or the objective are not."""
    X, y = table()
    model, grid = LinearClassifier(loss=loss, order="cyclic", max_epochs=3), {"learning_rate": rates}
    ours, theirs = (one(model, grid, cv=CV, refit=False).fit(X.astype(dtype), y) for one in (GridSearchCV, Peer))
    assert ours.one_pass_ == 6
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert np.isnan(theirs.cv_results_["mean_test_score"]).tolist() == [False, True]


def test_a_row_too_long_for_any_step_size_fails_only_the_folds_that_learn_it():
    X, y = table()
    X[0, 0] = 1e200
    ours, theirs = (
        one(LinearClassifier(order="cyclic", max_epochs=2), {"alpha": [1e-3, 0.1]}, cv=CV, refit=False).fit(X, y)
        for one in (GridSearchCV, Peer)
    )
    assert np.isfinite(theirs.cv_results_["split0_test_score"]).all()
    for k in range(3):
        np.testing.assert_array_equal(
            ours.cv_results_[f"split{k}_test_score"], theirs.cv_results_[f"split{k}_test_score"]
        )


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_columns_of_many_classes_round_float32_as_a_fit_does(kind, runs):
    """With a loss that has a kink at 0, where one rounding too few changes whole steps."""
    X, y = table(4, n=36, d=2, kind=kind)
    X = X.astype(np.float32)
    model = LinearClassifier(loss="perceptron", order="cyclic", max_epochs=3, tol=0, learning_rate=0.05)
    grid = {"penalty": ["l2", "l1"], "alpha": [1e-4, 0.1, 5.0]}
    GridSearchCV(model, grid, cv=CV, refit=False).fit(X, y)
    (run,) = runs
    for m, one in enumerate(run.descents):
        train = np.flatnonzero(run.data.member[:, one.fold])
        own = clone(model).set_params(alpha=one.plan.alpha, penalty=one.plan.penalty).fit(X[train], y[train])
        columns = slice(m * run.K, (m + 1) * run.K)
        np.testing.assert_allclose(run.state.v[:, columns].T, own.coef_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(run.state.b[columns], own.intercept_, rtol=1e-4, atol=1e-5)


def test_a_score_that_does_not_exist_is_told_as_scikit_learn_tells_it():
    X, y = table()
    told = []
    for one in (GridSearchCV, Peer):
        with pytest.raises(ValueError, match="scoring") as error:
            one(LinearClassifier(), {"alpha": [0.1]}, scoring=["accuracy", "none such"], refit=False).fit(X, y)
        told.append(type(error.value))
    assert told[0] is told[1]
