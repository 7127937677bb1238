"""Contracts of the linear models, and what they refuse."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import numbers, small
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from rosenblatt import LinearClassifier, LinearRegressor
from rosenblatt.learn import epochs
from rosenblatt.objective import objective_plan

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- contracts -------------------------------------------------------------------------------------------------------

KINDS = [
    LinearClassifier(solver="stochastic", max_epochs=3, random_state=0, penalty="elasticnet", alpha=0.01),
    LinearClassifier(solver="stochastic", max_epochs=3, random_state=0, loss="hinge", multiclass="ovr"),
    LinearRegressor(max_epochs=3, solver="stochastic", random_state=0, loss="huber", penalty="l1", alpha=0.01),
    LinearClassifier(max_epochs=30, solver="batch", penalty="elasticnet", alpha=0.01),
    LinearRegressor(max_epochs=30, solver="batch"),
]
STOCHASTIC = KINDS[:3]


def data_for(model, classes):
    if isinstance(model, LinearRegressor):
        return numbers()
    return small(classes=classes)


def same(one, other, **tolerance):
    assert np.allclose(one.coef_, other.coef_, **(tolerance or {"rtol": 1e-9, "atol": 1e-12}))
    assert np.allclose(one.intercept_, other.intercept_, **(tolerance or {"rtol": 1e-9, "atol": 1e-12}))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_is_dense_and_the_dtype_is_kept(kind, classes):
    X, y = data_for(kind, classes)
    dense = clone(kind).fit(X, y)
    same(clone(kind).fit(sp.csr_array(X), y), dense)
    narrow = clone(kind).fit(X.astype(np.float32), y)
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    same(narrow, dense, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_weight_k_is_the_row_k_times_in_a_row(kind, classes):
    X, y = data_for(kind, classes)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    model = clone(kind).set_params(order="cyclic")
    again = np.repeat(np.arange(len(y)), weight)
    same(clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[again], y[again]))


@pytest.mark.parametrize("kind", STOCHASTIC)
def test_epochs_one_by_one_are_one_fit(kind):
    X, y = data_for(kind, 3)
    step = clone(kind)
    for _ in range(3):
        step.partial_fit(X, y)
    same(step, clone(kind).fit(X, y), rtol=0, atol=0)


@pytest.mark.parametrize("kind", STOCHASTIC)
def test_pieces_are_one_epoch(kind):
    X, y = data_for(kind, 3)
    whole = clone(kind).set_params(order="cyclic", learning_rate=0.05).partial_fit(X, y)
    parts = clone(whole)
    more = {} if isinstance(kind, LinearRegressor) else {"classes": np.unique(y)}
    for piece in (slice(0, 7), slice(7, 40), slice(40, None)):
        parts.partial_fit(X[piece], y[piece], **more)
    same(parts, whole)


@pytest.mark.parametrize("kind", STOCHASTIC[:2])
def test_new_classes_may_come_later(kind):
    X, y = small(classes=3)
    model = clone(kind).partial_fit(X[y < 2], y[y < 2])
    assert model.coef_.shape == (1, 6)
    model.partial_fit(X, y)
    assert model.coef_.shape == (3, 6)
    assert set(model.predict(X)) <= {0, 1, 2}


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bits_and_copies_agree(kind):
    X, y = data_for(kind, 3)
    model, other = clone(kind).fit(X, y), clone(kind).fit(X, y)
    same(model, other, rtol=0, atol=0)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.report_ == model.report_
    assert "objective" in str(model.report_)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_raises_leaves_the_model(kind):
    X, y = data_for(kind, 3)
    model = clone(kind).fit(X, y)
    before = {name: pickle.dumps(part) for name, part in vars(model).items()}
    spoilt = X.copy()
    spoilt[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        model.fit(spoilt, y)
    assert {name: pickle.dumps(part) for name, part in vars(model).items()} == before


@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_goes_on(kind):
    X, y = data_for(kind, 2)
    model = clone(kind).set_params(warm_start=True, max_epochs=200, tol=1e-3).fit(X, y)
    assert model.fit(X, y).n_iter_ <= 200
    told = clone(kind).set_params(max_epochs=1).fit(X, y, coef_init=model.coef_, intercept_init=model.intercept_)
    assert told.report_.objective <= 1.5 * model.report_.objective


@pytest.mark.parametrize("learner", [LinearClassifier, LinearRegressor])
def test_auto_is_batch_where_an_epoch_is_cheap(learner, monkeypatch):
    X, y = small(classes=3)

    def fit(**how):
        return learner(max_epochs=4, tol=0, random_state=0, **how).fit(X, y)

    def pieces(**how):
        return learner(random_state=0, **how).partial_fit(X, y).partial_fit(X, y)

    exactly = {"rtol": 0, "atol": 0}
    same(fit(), fit(solver="batch"), **exactly)
    for how in ({"order": "cyclic"}, {"learning_rate": 0.1}):
        same(fit(**how), fit(solver="stochastic", **how), **exactly)
    same(pieces(), pieces(solver="stochastic"), **exactly)
    monkeypatch.setattr(objective_plan, "MOST_BATCH_PRODUCTS", 3 * X.size - 1)  # three planes, or one of numbers
    same(fit(), fit(solver="stochastic" if learner is LinearClassifier else "batch"), **exactly)


@pytest.mark.parametrize("loss", ["log", "modified_huber"])
@pytest.mark.parametrize("solver", ["stochastic", "batch"])
def test_labels_by_indicator(loss, solver):
    X, _ = small()
    Y = (X[:, :3] > 0.3).astype(int)
    model = LinearClassifier(loss=loss, alpha=0.01, solver=solver, max_epochs=20, random_state=0).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert (model.predict(X) == Y).mean() > 0.8
    chances = model.predict_proba(X)
    assert chances.shape == Y.shape
    assert np.array_equal(chances > 0.5, model.predict(X) == 1)
    column = LinearClassifier(loss=loss, alpha=0.01, solver=solver, max_epochs=20, random_state=0, order="cyclic")
    if solver == "stochastic":
        model.set_params(order="cyclic").fit(X, Y)
        assert np.allclose(model.coef_[1], column.fit(X, Y[:, 1]).coef_[0])


@pytest.mark.parametrize("multiclass", ["auto", "ovr"])
@pytest.mark.parametrize("loss", ["log", "modified_huber"])
def test_probabilities(loss, multiclass):
    for classes in (2, 3):
        X, y = small(classes=classes)
        model = LinearClassifier(loss=loss, multiclass=multiclass, alpha=0.01, solver="batch").fit(X, y)
        chances = model.predict_proba(X)
        assert chances.shape == (len(y), classes)
        assert np.allclose(chances.sum(axis=1), 1)
        assert (chances >= 0).all()
        assert np.mean(chances.argmax(axis=1) == model.predict(X)) > 0.95
    far = -1e6 * np.sign(model.coef_.sum(axis=0))[None, :]
    assert np.isfinite(model.predict_proba(far)).all()


def test_early_stopping_returns_the_best_epoch():
    X, y = small(300)
    model = LinearClassifier(
        solver="stochastic", early_stopping=True, n_iter_no_change=3, max_epochs=50, random_state=0
    ).fit(X, y)
    scores = [record.score for record in model.report_.epochs]
    assert model.report_.outcome in ("early", "stalled")
    assert max(scores) == scores[np.argmax(scores)]


def test_grid_search_over_alpha():
    X, y = small(100)
    search = GridSearchCV(
        LinearClassifier(solver="stochastic", random_state=0, max_epochs=5), {"alpha": [1e-3, 10.0]}, cv=3
    ).fit(X, y)
    assert search.best_params_ == {"alpha": 1e-3}


def test_the_report_says_how_it_ended():
    X, y = small()
    with pytest.warns(ConvergenceWarning, match="spent its budget of 2 epochs while the objective"):
        model = LinearClassifier(solver="stochastic", max_epochs=2, tol=1e-12, random_state=0).fit(X, y)
    assert model.report_.outcome == "budget"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearClassifier(solver="stochastic", alpha=0.1, tol=1e-2, random_state=0).fit(X, y)
    assert model.report_.outcome == "stalled"
    assert "the objective stopped improving" in str(model.report_)
    assert model.report_.bound is None
    assert model.report_.errors == np.count_nonzero(model.predict(X) != y)


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"loss": "hingee"}, "'loss' parameter"),
        ({"penalty": "l3"}, "'penalty' parameter"),
        ({"l1_ratio": 1.5}, "'l1_ratio' parameter"),
        ({"solver": "newton"}, "'solver' parameter"),
        ({"tol": -1e-3}, "'tol' parameter"),
        ({"learning_rate": 0.0}, "'learning_rate' parameter"),
        ({"learning_rate": "fast"}, "'learning_rate' parameter"),
        ({"learning_rate": lambda epoch: -1.0}, r"learning_rate\(1\) returned -1.0"),
        ({"multiclass": "multinomial", "loss": "hinge"}, "softmax"),
        ({"loss": "zero_one"}, "no step decreases it"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    X, y = small()
    with pytest.raises(ValueError, match=message):
        LinearClassifier(**parameters).fit(X, y)


def test_bad_parameters_of_the_regressor():
    X, y = numbers()
    with pytest.raises(ValueError, match="'epsilon' parameter"):
        LinearRegressor(epsilon=-0.1).fit(X, y)
    with pytest.raises(ValueError, match="'loss' parameter"):
        LinearRegressor(loss="hinge").fit(X, y)


def test_methods_that_make_no_sense_are_not_there():
    X, y = small()
    assert not hasattr(LinearClassifier(loss="hinge"), "predict_proba")
    with pytest.raises(AttributeError, match="has no attribute 'partial_fit'"):
        LinearClassifier(solver="batch").partial_fit(X, y)


def test_a_penalty_that_is_no_sum_is_for_the_batch_solver(monkeypatch):
    from rosenblatt.objective.penalties import L2
    from rosenblatt.objective.penalties import PENALTIES as table

    class Other(L2):
        """Not taken apart."""

        @staticmethod
        def parts(alpha, ratio):
            return None

    monkeypatch.setitem(table, "l2", Other)
    X, y = small()
    with pytest.raises(ValueError, match='use solver="batch"'):
        LinearClassifier(solver="stochastic").fit(X, y)


def test_weights_that_overflow_are_told():
    X, y = numbers()
    with pytest.raises(ValueError, match="overflowed in epoch 1"):
        LinearRegressor(learning_rate=1e12).fit(1e6 * X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_interruption_keeps_the_last_whole_epoch(kind, monkeypatch):
    X, y = data_for(kind, 2)
    model = clone(kind).set_params(tol=0)
    record = epochs.EpochRecord

    def third(epoch, *others):
        if epoch == 3:
            raise KeyboardInterrupt
        return record(epoch, *others)

    monkeypatch.setattr(epochs, "EpochRecord", third)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.report_.outcome == "interrupted"
    assert model.n_iter_ == 2
    monkeypatch.undo()
    same(model, clone(kind).set_params(max_epochs=2, tol=0).fit(X, y), rtol=0, atol=0)


# -- problems whose least objective is 0 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "of"),
    [
        (LinearClassifier(loss="perceptron", solver="batch"), "side"),
        (LinearClassifier(loss="perceptron", penalty=None, solver="batch"), "side"),
        (LinearClassifier(loss="hinge", penalty=None, solver="batch"), "side"),
        (LinearRegressor(loss="absolute", penalty=None, solver="batch"), "plane"),
        (LinearRegressor(loss="epsilon_insensitive", epsilon=10.0, solver="batch"), "column"),
        (LinearRegressor(loss="absolute", solver="batch"), "nothing"),
    ],
)
def test_batch_descent_ends_where_the_least_objective_is_0(model, of):
    X = np.random.default_rng(0).normal(size=(200, 6))
    y = {"side": X[:, 0] > 0, "plane": X @ np.arange(6.0), "column": X[:, 0], "nothing": np.zeros(200)}[of]
    report = clone(model).fit(X, y).report_
    assert report.outcome == "solved"
    assert report.objective == pytest.approx(0.0, abs=1e-7)
