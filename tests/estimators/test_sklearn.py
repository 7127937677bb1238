"""scikit-learn's contract: its own checks, and the company that estimators keep there."""

import contextlib
import io
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.callback import FitCallback, ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from family import CLASSIFIERS, ESTIMATORS, answers, same_model, target_for
from rosenblatt import AveragedPerceptron, PassiveAggressiveRegressor, Perceptron, VotedPerceptron

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y has exactly one 1 in every row"
)


def order_dependent(estimator):
    """The only checks that may fail: they shuffle the rows, which an order-dependent learner must feel.

    `test_contracts` has the exact statement instead: weight k is the row k times in a row.
    """
    reason = "compares fits on rows in different orders"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.compiled
# As scikit-learn lowers max_iter for its own: rows that no plane separates would be visited for 10,000 epochs.
@parametrize_with_checks(
    [estimator(max_epochs=100) for estimator in ESTIMATORS], expected_failed_checks=order_dependent
)
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def small(estimator, **parameters):
    """An estimator whose fit takes a moment, also with compilation off."""
    return estimator(**{"max_epochs": 3, "random_state": 0, **parameters})


# -- copies ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clone_keeps_parameters_and_nothing_learned(estimator, iris):
    X, y = iris
    model = small(estimator, order=list(range(100)), fit_intercept=False)
    fitted = clone(model).fit(X, target_for(model, y))
    copy = clone(fitted)
    assert copy.get_params() == model.get_params()
    assert set(vars(copy)) == set(model.get_params())
    assert same_model(copy.fit(X, target_for(model, y)), fitted)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pickled_model_predicts_and_learns_on_alike(estimator, iris):
    X, y = iris
    model = small(estimator)
    y = target_for(model, y)
    model.fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(answers(copy, X), answers(model, X))
    assert copy.report_ == model.report_
    assert same_model(copy.partial_fit(X[::-1], y[::-1]), model.partial_fit(X[::-1], y[::-1]))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_partial_fit_on_a_copy_leaves_the_original(estimator, iris):
    X, y = iris
    model = small(estimator)
    y = target_for(model, y)
    before = answers(model.fit(X, y), X)
    pickle.loads(pickle.dumps(model)).partial_fit(X, y)
    assert np.array_equal(answers(model, X), before)


# -- company ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_grid_search_finds_the_best_epochs_itself(estimator, iris):
    X, y = iris
    model = small(estimator)
    y = target_for(model, y)
    search = GridSearchCV(model, {"max_epochs": [1, 4], "fit_intercept": [True, False]}, cv=3).fit(X, y)
    by_hand = [
        cross_val_score(clone(model).set_params(**parameters), X, y, cv=3).mean()
        for parameters in search.cv_results_["params"]
    ]
    assert np.array_equal(search.cv_results_["mean_test_score"], by_hand)
    assert same_model(search.best_estimator_, clone(model).set_params(**search.best_params_).fit(X, y))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_calibration_gives_probabilities(estimator, classes, iris):
    X, y = iris
    X, y = X[y < classes], y[y < classes]
    model = CalibratedClassifierCV(small(estimator), cv=3).fit(X, y)
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (len(y), classes)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_are_routed_through_cross_validation(estimator, iris):
    X, y = iris
    model = small(estimator, order="cyclic")
    y = target_for(model, y)
    # Rows of weight 0 with every label false: a score that is right shows that the weights arrived.
    poison = np.random.default_rng(1).random(len(y)) < 0.4
    spoilt, weight = np.where(poison, (y + 1) % 3, y), np.where(poison, 0.0, 1.0)
    folds = KFold(3)
    expected = []
    for train, test in folds.split(X):
        kept = train[~poison[train]]
        expected.append(clone(model).fit(X[kept], y[kept]).score(X[test], spoilt[test]))
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        scores = cross_val_score(model, X, spoilt, cv=folds, params={"sample_weight": weight})
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match=estimator.__name__):
            make_pipeline(scaler, small(estimator)).fit(X, y, sample_weight=weight)
        pipeline = make_pipeline(scaler, model)
        pipeline.fit(X, spoilt, sample_weight=weight)
    assert np.array_equal(scores, expected)
    scaled = StandardScaler().fit_transform(X)[~poison]
    assert same_model(pipeline[-1], clone(model).fit(scaled, y[~poison]))


# -- frames ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", [pd, pl])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_frames_are_learned_from_as_their_arrays_are(estimator, library, iris):
    X, y = iris
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    frame = library.DataFrame(dict(zip(names, X.T, strict=True)))
    labels = y if estimator is PassiveAggressiveRegressor else load_iris().target_names[y].tolist()
    model = small(estimator).fit(frame, library.Series(labels))
    plain = small(estimator).fit(X, np.asarray(labels))
    assert same_model(model, plain)
    assert model.feature_names_in_.tolist() == names
    assert np.array_equal(model.predict(frame), plain.predict(X))
    before = answers(model, frame)
    for wrong in (frame[names[::-1]], library.DataFrame(dict(zip(["other", *names[1:]], X.T, strict=True)))):
        with pytest.raises(ValueError, match="feature names"):
            model.predict(wrong)
        with pytest.raises(ValueError, match="feature names"):
            model.partial_fit(wrong, library.Series(labels))
    assert np.array_equal(answers(model, frame), before)
    model.partial_fit(frame, library.Series(labels))
    assert same_model(model, plain.partial_fit(X, np.asarray(labels)))


def test_float32_frame_keeps_its_type(iris):
    X, y = iris
    for library in (pd, pl):
        frame = library.DataFrame({f"x{j}": column for j, column in enumerate(X.astype(np.float32).T)})
        assert small(Perceptron).fit(frame, y).coef_.dtype == np.float32


def test_weights_and_labels_from_a_frame(iris):
    X, y = iris
    weight = np.arange(len(y)) % 3
    data = pd.DataFrame({"weight": weight, "label": pd.Categorical(load_iris().target_names[y])})
    model = small(Perceptron).fit(X, data["label"], sample_weight=data["weight"])
    assert same_model(model, small(Perceptron).fit(X, load_iris().target_names[y].astype(object), sample_weight=weight))
    with pytest.warns(sklearn.exceptions.DataConversionWarning):
        column = small(Perceptron).fit(X, data[["label"]], sample_weight=weight)
    assert same_model(column, model)


# -- callbacks -------------------------------------------------------------------------------------------------------


class Recorder:
    """Writes down each task, and what the model of each epoch says of the rows; stops when told to."""

    def __init__(self, stop_after=None, fail_in=None):
        self.stop_after, self.fail_in = stop_after, fail_in
        self.begun, self.ended, self.said, self.calls = [], [], [], []

    def setup(self, estimator, context):
        self.calls.append("setup")
        self.max_epochs = context.max_subtasks

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None):
        self.begun.append((context.task_name, context.task_id))
        if self.fail_in == "begin":
            raise OSError("a callback's own trouble")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.ended.append((context.task_name, context.task_id))
        if context.task_name != "epoch":
            return None
        if self.fail_in == "end" and context.task_id == 1:
            raise OSError("a callback's own trouble")
        self.said.append(fitted_estimator.predict(X))
        return self.stop_after is not None and context.task_id + 1 >= self.stop_after


@pytest.fixture(scope="module")
def noisy():
    """Two classes that no plane separates, so that no fit ends before its budget."""
    X, y = make_classification(120, 6, flip_y=0.3, random_state=0)
    return X, y


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_callback_sees_the_model_of_every_epoch(estimator, noisy):
    X, y = noisy
    recorder = Recorder()
    assert isinstance(recorder, FitCallback)
    model = small(estimator).set_callbacks(recorder)
    y = target_for(model, y)
    model.fit(X, y)
    epochs = [("epoch", number) for number in range(3)]
    assert recorder.calls == ["setup", "teardown"]
    assert recorder.begun == [("fit", 0), *epochs]
    assert recorder.ended == [*epochs, ("fit", 0)]
    assert recorder.max_epochs == 3
    for epoch, said in enumerate(recorder.said, start=1):
        assert np.array_equal(said, small(estimator, max_epochs=epoch).fit(X, y).predict(X))
    assert same_model(model, small(estimator).fit(X, y))
    assert not any(name.startswith("_callback") for name in vars(model))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_callback_may_stop_the_fit(estimator, noisy):
    X, y = noisy
    model = small(estimator, max_epochs=5).set_callbacks(Recorder(), Recorder(stop_after=2))
    y = target_for(model, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # stopped by a wish, not by the budget
        model.fit(X, y)
    assert (model.report_.outcome, model.n_iter_, len(model.report_.epochs)) == ("early", 2, 2)
    assert same_model(model, small(estimator, max_epochs=2).fit(X, y))


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
def test_callback_sees_many_classes_and_labels(keep, multiclass, iris):
    X, y = iris
    for target in (y, np.eye(3, dtype=int)[y]):
        recorder = Recorder()
        model = small(Perceptron, keep=keep, multiclass=multiclass, max_epochs=2).set_callbacks(recorder).fit(X, target)
        assert np.array_equal(recorder.said[-1], model.predict(X))


@pytest.mark.parametrize("fail_in", ["begin", "end"])
def test_callback_that_fails_leaves_the_model(fail_in, noisy):
    X, y = noisy
    model = small(Perceptron).fit(X, y)
    before, names = model.coef_.copy(), set(vars(model))
    recorder = Recorder(fail_in=fail_in)
    model.set_callbacks(recorder)
    with pytest.raises(OSError, match="own trouble"):
        model.fit(-X, y)
    assert recorder.calls == ["setup", "teardown"]
    assert np.array_equal(model.coef_, before)
    assert set(vars(model)) == names | {"_skl_callbacks"}


def test_scoring_monitor_logs_each_epoch(noisy):
    X, y = noisy
    monitor = ScoringMonitor(scoring="accuracy")
    model = small(AveragedPerceptron).set_callbacks(monitor).fit(X, y)
    log = [row for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    expected = [small(AveragedPerceptron, max_epochs=epoch).fit(X, y).score(X, y) for epoch in (1, 2, 3)]
    assert [row["accuracy"] for row in log] == expected
    assert model.n_iter_ == 3


def test_progress_bar_is_drawn(noisy):
    pytest.importorskip("rich")
    X, y = noisy
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        model = small(Perceptron).set_callbacks(ProgressBar()).fit(X, y)
    assert "Perceptron - fit" in written.getvalue()
    assert same_model(model, small(Perceptron).fit(X, y))


def test_callbacks_of_a_search_reach_every_fit(noisy):
    X, y = noisy

    class Passing(Recorder):
        max_propagation_depth = None

    recorder = Passing()
    GridSearchCV(small(Perceptron), {"max_epochs": [1, 2]}, cv=2, refit=False).set_callbacks(recorder).fit(X, y)
    assert [name for name, _ in recorder.ended].count("epoch") == 2 * (1 + 2)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_without_callbacks_no_context_is_made(estimator, noisy, monkeypatch):
    def never(*args, **kwargs):
        raise AssertionError("a callback context for nobody")

    monkeypatch.setattr(estimator, "_init_callback_context", never)
    monkeypatch.setattr("rosenblatt.shell.online_learner.fitted_attributes", never)
    X, y = noisy
    model = small(estimator)
    model.fit(X, target_for(model, y)).partial_fit(X, target_for(model, y))


def test_voted_model_of_an_epoch_votes(noisy):
    X, y = noisy
    recorder = Recorder()
    model = small(VotedPerceptron).set_callbacks(recorder).fit(X, y)
    assert not hasattr(model, "coef_")
    assert model.votes_.sum() + model.report_.updates == 3 * len(y)
