"""The search of a grid in one pass: every column is a fit of its own, and the contract is scikit-learn's."""

import pickle
import signal
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV as Peer
from sklearn.model_selection import GroupKFold, KFold, ParameterGrid, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rosenblatt
from rosenblatt import AROW, AveragedPerceptron, GridSearchCV, PassiveAggressive, Perceptron
from rosenblatt.search import grid_search, grid_search_pass
from rosenblatt.search.column_sweeps import WIDEST

GRIDS = [
    (Perceptron, {"margin": [0.0, 1.0, (1.0, 3.0)], "learning_rate": [1.0, 2.0, "1/t"], "keep": ["last", "average"]}),
    (AveragedPerceptron, {"bias_step": ["unit", "radius"], "max_epochs": [1, 3, 4], "fit_intercept": [True, False]}),
    (PassiveAggressive, {"C": [0.01, 0.1, 1.0], "variant": ["PA", "PA-I", "PA-II"], "keep": ["last", "average"]}),
    (PassiveAggressive, {"C": [0.1], "class_weight": [None, "balanced", {0: 2.5, 1: 0.5}], "max_epochs": [2, 5]}),
    (AROW, {"r": [0.1, 1.0, 10.0], "fit_intercept": [True, False], "max_epochs": [1, 3]}),
    (AROW, {"bias_step": ["unit", 0.01, 9.0]}),
    (PassiveAggressive, {"bias_step": ["unit", "radius", 0.01], "keep": ["last", "average"]}),
]


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def table(classes=2, n=90, d=6, seed=0, whole=False, kind="dense"):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    X *= rng.random((n, d)) < 0.7
    y = np.argmax(X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes)), axis=1)
    y[:classes] = np.arange(classes)
    return (sp.csr_matrix(X) if kind == "sparse" else X), y


def test_the_report_is_that_of_the_best_model():
    X, y = table()
    search = GridSearchCV(Perceptron(max_epochs=3, random_state=0), {"margin": [0.0, 1.0]}, cv=3)
    with pytest.raises(AttributeError):
        search.report_  # noqa: B018
    assert search.fit(X, y).report_ is search.best_estimator_.report_
    assert str(search.report_).startswith(("separated", "stopped"))


def columns_of(search, X, y, **how):
    """Every fit of the grid, one by one, over the same visits: rows in file order."""
    found = []
    for params in ParameterGrid(search.param_grid):
        scores = []
        for train, test in search.cv.split(X, y, how.get("groups")):
            model = clone(search.estimator).set_params(**params)
            weight = how.get("sample_weight")
            weights = [
                None if weight is None else weight[part] for part in (train, test)
            ]  # as scikit-learn passes them
            model.fit(X[train], y[train], sample_weight=weights[0])
            scores.append(model.score(X[test], y[test], sample_weight=weights[1]))
        found.append(scores)
    return np.array(found)


def split_scores(search):
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(search.n_splits_)]).T


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("learner", "grid"), GRIDS, ids=lambda one: getattr(one, "__name__", ""))
def test_every_column_is_a_fit_of_its_own(learner, grid, classes, kind):
    if classes > 2 and "margin" in grid:
        grid = {**grid, "margin": [0.0, 1.0]}
    X, y = table(classes, kind=kind)
    search = GridSearchCV(learner(order="cyclic", max_epochs=4), grid, cv=KFold(4)).fit(X, y)
    assert search.one_pass_ == 4 * len(ParameterGrid(grid))
    np.testing.assert_array_equal(split_scores(search), columns_of(search, X, y))
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    best = clone(search.estimator).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.coef_, best.coef_)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_more_columns_than_are_kept_in_registers():
    X, y = table(3, n=40, kind="sparse")
    model, grid = PassiveAggressive(order="cyclic", max_epochs=1), {"C": np.geomspace(0.01, 1.0, 30).tolist()}
    search = GridSearchCV(model, grid, cv=KFold(3), refit=False).fit(X, y)
    assert search.one_pass_ * 3 > WIDEST
    np.testing.assert_array_equal(split_scores(search), columns_of(search, X, y))


@pytest.mark.parametrize("multiclass", ["multinomial", "ovr"])
@given(seed=st.integers(0, 10**6), weighted=st.booleans(), kind=st.sampled_from(["dense", "sparse"]))
@settings(max_examples=10, deadline=None)
def test_whole_numbers_come_out_to_the_bit(multiclass, seed, weighted, kind):
    X, y = table(3, n=40, d=4, seed=seed, whole=True, kind=kind)
    weight = np.random.default_rng(seed).integers(0, 4, y.size).astype(float) if weighted else None
    if weighted:
        weight[::5] = 1.0
    grid = {"margin": [0.0, 2.0], "keep": ["last", "average"], "max_epochs": [1, 3]}
    model = Perceptron(order="cyclic", multiclass=multiclass)
    shared = pass_of(GridSearchCV(model, grid, cv=KFold(3)), X, y, sample_weight=weight)
    for params in ParameterGrid(grid):
        for fold, (train, test) in enumerate(shared.splits):
            if shared.scores(params, fold, 0) is None:  # a class is missing: fitted by itself
                continue
            own = clone(model).set_params(**params)
            own.fit(X[train], y[train], sample_weight=None if weight is None else weight[train])
            found, expected = shared.scores(params, fold, 0), own.decision_function(X[test])
            if params["keep"] == "last":
                np.testing.assert_array_equal(found, expected)
            else:  # a mean is not a whole number
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def pass_of(search, X, y, **how):
    """The pass of a search, which keeps the scores of all settings."""
    kept = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid_search.SharedPass, "share_time", lambda self, results: kept.append(self))
        search.fit(X, y, **{name: value for name, value in how.items() if value is not None})
    (shared,) = kept
    return shared


def test_the_scores_of_shuffled_rows_are_those_of_the_same_explicit_visits():
    X, y = table(3, n=60)
    model = PassiveAggressive(C=0.3, max_epochs=1, random_state=7)
    shared = pass_of(GridSearchCV(model, {"C": [0.1, 0.3]}, cv=KFold(3)), X, y)
    for fold, (train, test) in enumerate(shared.splits):
        visits = [row for row in shared.order.piece(0, 0, 60) if row in set(train)]
        places = {row: place for place, row in enumerate(train)}
        own = clone(model).set_params(order=[places[row] for row in visits], C=0.1).fit(X[train], y[train])
        np.testing.assert_allclose(shared.scores({"C": 0.1}, fold, 0), own.decision_function(X[test]), rtol=1e-12)


def test_blocks_that_fit_memory_give_the_same(monkeypatch):
    X, y = table(3)
    grid = {"C": [0.01, 0.1, 1.0, 10.0], "keep": ["last", "average"]}
    model = PassiveAggressive(order="cyclic", max_epochs=3)
    blocks = []
    run = grid_search_pass.ManySettings
    monkeypatch.setattr(
        grid_search_pass, "ManySettings", lambda data, many, *how: blocks.append(len(many)) or run(data, many, *how)
    )
    whole = GridSearchCV(model, grid, cv=KFold(5)).fit(X, y)
    assert blocks == [20]
    parts = GridSearchCV(model, grid, cv=KFold(5), memory=6 * 3 * 16 * 7).fit(X, y)
    assert len(blocks) > 3
    assert max(blocks[1:]) <= 7
    blocks.clear()
    GridSearchCV(model, grid, cv=KFold(5), memory=6 * 16 * 23).fit(X, y)  # W has a multiple of 8 columns
    assert max(blocks) * 3 <= 16
    np.testing.assert_array_equal(split_scores(whole), split_scores(parts))


@pytest.mark.parametrize(
    "cv", [3, StratifiedKFold(4, shuffle=True, random_state=0), ShuffleSplit(3, random_state=1), KFold(5)]
)
def test_results_have_scikit_learns_form(cv):
    X, y = table()
    grid = [{"C": [0.1, 1.0]}, {"C": [0.5], "keep": ["average"]}]
    how = {"cv": cv, "scoring": ["accuracy", "f1", "roc_auc"], "refit": "f1", "return_train_score": True}
    model = PassiveAggressive(order="cyclic", max_epochs=3)
    ours, peer = GridSearchCV(model, grid, **how).fit(X, y), Peer(model, grid, **how).fit(X, y)
    assert ours.cv_results_.keys() == peer.cv_results_.keys()
    for name, values in peer.cv_results_.items():
        if "time" not in name and name != "params":
            np.testing.assert_array_equal(np.ma.getdata(ours.cv_results_[name]), np.ma.getdata(values))
    assert ours.best_params_ == peer.best_params_
    assert {name for name in vars(peer) if name[0] != "_"} <= set(vars(ours))


def same_as_peer(model, grid, X, y, cv=None, **how):
    """Every score is that of scikit-learn's search, rows in file order; returns our search."""
    given = {"cv": KFold(3) if cv is None else cv(), "refit": how.pop("refit", True)}
    ours, peer = GridSearchCV(model, grid, **given), Peer(model, grid, **{**given, "cv": cv() if cv else given["cv"]})
    ours.fit(X, y, **how)
    peer.fit(X, y, **how)
    np.testing.assert_array_equal(split_scores(ours), split_scores(peer))
    return ours


PA = PassiveAggressive(order="cyclic", max_epochs=3)


def test_class_weights_of_the_estimator_count_once():
    X, y = table()
    heavy = {0: 1, 1: 8}
    same_as_peer(clone(PA).set_params(class_weight=heavy), {"C": [0.1, 0.01]}, X, y)
    same_as_peer(PA, {"class_weight": [heavy, "balanced", None], "C": [0.01]}, X, y)


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (Perceptron(order="cyclic", max_epochs=2), {"margin": [0.0, (1.0, 3.0)]}),
        (Perceptron(order="cyclic", max_epochs=2), {"margin": [(1.0, 3.0), 0.0]}),
        (PA, {"class_weight": [None, {0: 0, 1: 0, 2: 0}]}),
        (PA, {"class_weight": [None, {7: 1}]}),
    ],
)
def test_a_setting_that_a_fit_refuses_has_no_score(model, grid):
    X, y = table(3)
    search = same_as_peer(model, grid, X, y, refit=False)
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() == 1


def test_rows_of_weight_0_are_not_there():
    rng = np.random.default_rng(1)
    X, y = table(n=80)
    weight = rng.integers(0, 3, y.size).astype(float)
    X[weight == 0] *= 100
    grid = {"C": [0.01, 1.0], "bias_step": ["unit", "radius"], "max_epochs": [1, 9]}
    same_as_peer(PA, grid, X, y, sample_weight=weight)
    X, y = table(3, n=60)
    weight = np.where((y == 0) & (np.arange(60) >= 20), 0.0, 1.0)  # no row of class 0 counts outside the first fold
    weight[:20] = np.maximum(weight[:20], 1.0)
    same_as_peer(PA, {"C": [0.1, 1.0]}, X, y, sample_weight=weight, refit=False)


@pytest.mark.parametrize(
    "cv",
    [
        lambda: [(np.arange(40), np.arange(40, 60)), (np.arange(40), np.arange(60, 80))],
        lambda: [(np.arange(90), np.arange(30))],
        lambda: ShuffleSplit(3, random_state=0).split(np.zeros(90)),
        lambda: ShuffleSplit(3, random_state=np.random.RandomState(0)),
    ],
)
def test_unusual_folds(cv):
    X, y = table()
    same_as_peer(PA, {"C": [0.1, 1.0]}, X, y, cv)


def test_folds_of_the_same_sums_are_told_apart(monkeypatch):
    X, y = table()
    held_out = [np.array([0, 4, 5]), np.array([1, 2, 6])]  # as many, of the same sum and sum of squares
    cv = [(np.setdiff1d(np.arange(y.size), test), test) for test in held_out]
    expected = split_scores(Peer(PA, {"C": [0.1, 1.0]}, cv=cv, refit=False).fit(X, y))
    fitted = []
    monkeypatch.setattr(PassiveAggressive, "fit", lambda *given, **how: fitted.append(given))
    search = GridSearchCV(PA, {"C": [0.1, 1.0]}, cv=cv, refit=False).fit(X, y)
    np.testing.assert_array_equal(split_scores(search), expected)
    assert not fitted


def test_labels_in_a_column():
    X, y = table()
    same_as_peer(PA, {"C": [0.1, 1.0]}, X, y[:, None])


def test_a_search_holds_a_model_and_no_rows():
    X, y = table()
    search = GridSearchCV(PA, {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.one_pass_ == 6
    assert len(pickle.dumps(search)) < X.nbytes + len(pickle.dumps(search.best_estimator_))
    fresh = GridSearchCV(make_pipeline(StandardScaler(), PA), {"passiveaggressive__C": [1.0]}, cv=3)
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(X * np.nan, y)
    assert not hasattr(fresh, "one_pass_")


def test_groups_are_kept_together():
    X, y = table()
    groups = np.arange(y.size) % 9
    model, grid = Perceptron(order="cyclic", max_epochs=2), {"margin": [0.0, 1.0]}
    ours = GridSearchCV(model, grid, cv=GroupKFold(3)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(split_scores(ours), columns_of(ours, X, y, groups=groups))
    assert ours.one_pass_ == 6


def test_a_fold_without_a_class_is_fitted_by_itself():
    X, y = table(3, n=60)
    y[:20] = np.where(y[:20] == 2, 0, y[:20])
    y[20:40], y[40:] = np.where(y[20:40] == 2, 1, y[20:40]), np.arange(20) % 3
    model, grid = Perceptron(order="cyclic", max_epochs=2), {"margin": [0.0, 1.0]}
    ours = GridSearchCV(model, grid, cv=KFold(3)).fit(X, y)
    assert ours.one_pass_ == 2 * 2
    np.testing.assert_array_equal(split_scores(ours), columns_of(ours, X, y))


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (make_pipeline(StandardScaler(), Perceptron(order="cyclic", max_epochs=2)), {"perceptron__margin": [0.0, 1.0]}),
        (Perceptron(order="cyclic", max_epochs=2), {"multiclass": ["ovo"]}),
        (Perceptron(order="cyclic", max_epochs=2, update="batch"), {"learning_rate": [1.0, 2.0]}),
        (AROW(order="cyclic", max_epochs=2), {"covariance": ["full"]}),
        (PassiveAggressive(order="cyclic", early_stopping=True, max_epochs=3, random_state=0), {"C": [1.0]}),
    ],
)
def test_what_is_not_for_a_pass_runs_as_in_scikit_learn(model, grid):
    X, y = table(3)
    ours, peer = GridSearchCV(model, grid, cv=KFold(3)).fit(X, y), Peer(model, grid, cv=KFold(3)).fit(X, y)
    assert ours.one_pass_ == 0
    np.testing.assert_array_equal(split_scores(ours), split_scores(peer))


def test_settings_in_and_outside_the_pass_are_told_together():
    X, y = table(3)
    grid = [{"C": [0.1, 1.0]}, {"multiclass": ["ovo", "ovr"], "C": [0.5]}]
    model = PassiveAggressive(order="cyclic", max_epochs=2)
    ours = GridSearchCV(model, grid, cv=KFold(3)).fit(X, y)
    assert ours.one_pass_ == 6
    np.testing.assert_array_equal(split_scores(ours), columns_of(ours, X, y))


def test_a_function_of_X_gets_X():
    X, y = table()
    seen = []

    def scoring(estimator, X, y):
        seen.append(X.shape[1])
        return accuracy_score(y, estimator.predict(X))

    GridSearchCV(Perceptron(max_epochs=2), {"margin": [0.0, 1.0]}, scoring=scoring, cv=3).fit(X, y)
    assert seen == [6] * 6
    by_answers = GridSearchCV(
        Perceptron(max_epochs=2, order="cyclic"), {"margin": [0.0, 1.0]}, scoring=make_scorer(accuracy_score), cv=3
    ).fit(X, y)
    assert by_answers.one_pass_ == 6


def test_wrong_settings_are_told_as_scikit_learn_tells_them():
    X, y = table()
    grid = {"C": [-1.0, 1.0]}
    search = GridSearchCV(PassiveAggressive(max_epochs=2, order="cyclic"), grid, cv=3).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"][0])
    assert search.best_params_ == {"C": 1.0}
    with pytest.raises(ValueError, match="C"):
        GridSearchCV(PassiveAggressive(max_epochs=2), grid, cv=3, error_score="raise").fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        GridSearchCV(PassiveAggressive(max_epochs=2), {"C": [1.0]}, cv=3, error_score="raise").fit(X * np.nan, y)
    with pytest.raises(ValueError, match="memory"):
        GridSearchCV(PassiveAggressive(), {"C": [1.0]}, memory="lots").fit(X, y)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_nan_is_told_by_its_row_in_x(sparse):
    """Not by its row in a fold, neither in training rows nor in test rows."""
    X, y = table(n=60)
    X[7, 2] = np.nan
    rows, told = sp.csr_matrix(X) if sparse else X, "Input X contains NaN at row 7, column 2"
    model, cv = PassiveAggressive(max_epochs=2, order="cyclic"), [(np.arange(5, 60), np.arange(5))]
    with pytest.raises(ValueError, match=told):
        GridSearchCV(model, {"C": [0.1, 1.0]}, cv=cv, error_score="raise").fit(rows, y)
    with pytest.warns(UserWarning, match=told):
        search = GridSearchCV(model, {"C": [0.1]}, cv=[(np.arange(20, 60), np.arange(5, 20))], refit=False).fit(rows, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    apart = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=[(np.arange(20, 60), np.arange(8, 20))], refit=False).fit(rows, y)
    assert apart.one_pass_ == 0
    assert np.isfinite(apart.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_nan_in_rows_with_several_labels_fails_only_the_folds_that_have_it(sparse):
    X, y = table(n=60)
    X[7, 2] = np.nan
    labels = np.column_stack([y, 1 - y, X[:, 0] > 0]).astype(int)
    labels = sp.csr_matrix(labels) if sparse else labels
    cv = [(np.arange(20, 60), np.arange(8, 20)), (np.arange(5, 60), np.arange(5))]
    search = GridSearchCV(Perceptron(max_epochs=2, order="cyclic"), {"learning_rate": [1.0]}, cv=cv, refit=False)
    with pytest.warns(FitFailedWarning, match="contains NaN"):
        search.fit(X, labels)
    assert np.isfinite(search.cv_results_["split0_test_score"]).all()
    assert np.isnan(search.cv_results_["split1_test_score"]).all()


def test_ctrl_c_leaves_the_search_as_it_was(monkeypatch):
    X, y = table()
    search = GridSearchCV(PassiveAggressive(max_epochs=5, order="cyclic"), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    before = dict(vars(search))
    monkeypatch.setattr(grid_search_pass.ManySettings, "scores", lambda *given: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        search.fit(X[:50], y[:50])
    assert vars(search) == before


def test_a_search_is_not_stored_and_learns_in_memory(tmp_path):
    X, y = table()
    search = GridSearchCV(Perceptron(max_epochs=2), {"margin": [0.0, 1.0]}, cv=3).fit(X, y)
    with pytest.raises(rosenblatt.FileError, match="save the model that it found, its best_estimator_"):
        rosenblatt.save(search, tmp_path / "m")
    rosenblatt.save(search.best_estimator_, tmp_path / "m")
    np.testing.assert_array_equal(rosenblatt.load(tmp_path / "m").predict(X), search.predict(X))
    (tmp_path / "rows.svm").write_text("1 1:1\n0 1:-1\n")
    with pytest.raises(TypeError, match="online learners"):
        rosenblatt.fit(search, tmp_path / "rows.svm")


def test_a_search_is_cloned_and_its_parameters_are_scikit_learns():
    search = GridSearchCV(Perceptron(), {"margin": [0.0]}, memory="1MB")
    assert clone(search).get_params()["memory"] == "1MB"
    assert set(Peer(Perceptron(), {}).get_params()) < set(search.get_params())


def test_scores_that_overflow_name_the_largest_value():
    X = np.random.default_rng(0).normal(size=(40, 3))
    search = GridSearchCV(Perceptron(max_epochs=2), {"margin": [0.0, 1.0]}, cv=2, error_score="raise")
    row, column = np.unravel_index(np.abs(X).argmax(), X.shape)
    with pytest.raises(ValueError, match=f"overflowed.* at row {row}, column {column}. Scale the features"):
        search.fit(X * 1e300, (X[:, 0] > 0).astype(int))


@pytest.mark.parametrize("variant", ["PA", "PA-II"])
def test_a_row_that_no_fold_uses_cannot_spoil_them(variant):
    """Its score overflows, and 0 times infinity is NaN."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(41, 3))
    y = (X[:, 0] > 0).astype(int)
    X[20], y[20] = 1e308, 0
    cv = [(np.delete(np.arange(30), 20), np.arange(30, 41))]
    model = PassiveAggressive(order="cyclic", max_epochs=3, variant=variant)
    ours, theirs = (
        search(model, {"C": [0.1, 1.0]}, cv=cv, refit=False, error_score="raise").fit(X, y)
        for search in (GridSearchCV, Peer)
    )
    assert ours.one_pass_ == 2
    assert ours.cv_results_["split0_test_score"].tolist() == theirs.cv_results_["split0_test_score"].tolist()
