"""solver="minibatch" in LinearClassifier and LinearRegressor: outcome, report, weights, refusals, where answers lie."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from rosenblatt import LinearClassifier, LinearRegressor, load, save

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NAMES = np.array(["ant", "bee", "cat", "dog"])


def blobs(n=400, d=8, K=4, far=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    return rng.standard_normal((n, d)) + far * rng.standard_normal((K, d))[y], y


def fitted(X, y, **how):
    return LinearClassifier(**{"solver": "minibatch", "alpha": 1e-2, "random_state": 0, **how}).fit(X, y)


@pytest.mark.parametrize("loss", ["log", "squared_hinge", "hinge", "perceptron", "modified_huber", "exponential"])
@pytest.mark.parametrize("K", [2, 4])
def test_every_loss_learns_classes_by_name(loss, K):
    X, y = blobs(K=K, far=2.0)
    model = fitted(X, NAMES[y], loss=loss)
    assert model.score(X, NAMES[y]) > 0.9
    assert model.report_.errors == (model.predict(X) != NAMES[y]).sum()
    assert model.report_.outcome == "budget"
    assert model.coef_.shape == ((1 if K == 2 else K), 8)


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "log_cosh", "epsilon_insensitive"])
def test_every_loss_of_the_residual_learns_numbers_in_any_unit(loss):
    X, _ = blobs()
    y = X @ np.arange(8.0) + 3.0
    for unit in (1.0, 1000.0):
        model = LinearRegressor(loss=loss, solver="minibatch", alpha=0.0, random_state=0).fit(X, unit * y)
        assert model.score(X, unit * y) > 0.99


def test_it_says_budget_and_the_finish_says_solved_at_the_minimum_that_scikit_learn_finds():
    X, y = blobs(far=0.7)
    with pytest.warns(ConvergenceWarning, match=r'budget of \d+ epochs; the gradient has length .*"minibatch\+lbfgs"'):
        budget = fitted(X, y)
    assert budget.report_.outcome == "budget"
    assert not budget.report_.epochs[-1].converged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solved = fitted(X, y, solver="minibatch+lbfgs", tol=1e-7)
    peer = LogisticRegression(C=1 / (0.01 * len(y)), tol=1e-10, max_iter=5000).fit(X, y)
    assert solved.report_.outcome == "solved"
    np.testing.assert_allclose(solved.coef_, peer.coef_, atol=1e-5)
    for model in (budget, solved):
        report = model.report_
        assert report.objective == pytest.approx(report.data_loss + report.penalty)
        assert report.penalty == pytest.approx(0.005 * (model.coef_**2).sum())
        chances = model.predict_proba(X)
        assert report.data_loss == pytest.approx(-np.log(chances[np.arange(len(y)), y]).mean())
        errors = chances - np.eye(4)[y]
        by_W = errors.T @ X / len(y) + 0.01 * model.coef_
        length = np.sqrt((by_W**2).sum() + (errors.mean(0) ** 2).sum())
        assert report.gradient_norm == pytest.approx(length, rel=1e-6, abs=1e-10)
        assert "gradient" in str(report)
    assert solved.report_.gradient_norm < 1e-3 * budget.report_.gradient_norm


def test_least_squares_with_a_finish_are_ridge_regression():
    X, _ = blobs()
    y = X @ np.arange(8.0) + np.random.default_rng(1).standard_normal(400)
    model = LinearRegressor(solver="minibatch+lbfgs", alpha=0.1, tol=1e-8, random_state=0).fit(X, y)
    peer = Ridge(alpha=0.1 * len(y)).fit(X, y)
    assert model.report_.outcome == "solved"
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert model.intercept_[0] == pytest.approx(peer.intercept_, abs=1e-6)


def test_epochs_are_records_of_the_one_loop_and_the_seed_decides():
    X, y = blobs()
    model = fitted(X, y, max_epochs=7)
    assert [record.epoch for record in model.report_.epochs] == list(range(1, 8))
    losses = [record.loss for record in model.report_.epochs]
    least = fitted(X, y, solver="minibatch+lbfgs", tol=1e-7).report_.epochs[-1].loss
    assert least < losses[-1] < losses[0] < 0.5 * np.log(model.classes_.size)
    assert losses[-1] < 1.05 * least
    np.testing.assert_array_equal(model.coef_, fitted(X, y, max_epochs=7).coef_)
    assert (model.coef_ != fitted(X, y, max_epochs=7, random_state=1).coef_).any()


def test_weights_are_repetitions_at_the_minimum_and_zero_is_absence():
    X, y = blobs(far=0.7)
    s = np.random.default_rng(0).integers(0, 4, len(y))
    how = {"solver": "minibatch+lbfgs", "tol": 1e-8}
    weighed = LinearClassifier(alpha=0.01, random_state=0, **how).fit(X, y, sample_weight=s)
    repeated = fitted(np.repeat(X, s, axis=0), np.repeat(y, s), **how)
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-5)
    only = LinearClassifier(solver="minibatch", random_state=0).fit(X, y, sample_weight=(s > 0).astype(float))
    np.testing.assert_array_equal(
        only.coef_, LinearClassifier(solver="minibatch", random_state=0).fit(X[s > 0], y[s > 0]).coef_
    )
    doubled = fitted(X, y, class_weight={0: 5.0}, **how)
    given = LinearClassifier(alpha=0.01, random_state=0, **how).fit(X, y, sample_weight=np.where(y == 0, 5.0, 1.0))
    np.testing.assert_array_equal(doubled.coef_, given.coef_)


def test_labels_by_an_indicator():
    X, y = blobs(far=2.0)
    Y = np.eye(4, dtype=int)[y]
    Y[:5] = 0
    model = fitted(X, Y)
    assert (model.predict(X) == Y).mean() > 0.95
    assert model.report_.errors == (model.predict(X) != Y).any(axis=1).sum()


@pytest.mark.parametrize("kind", ["float16", "int8", "uint8"])
def test_narrow_rows_are_used_as_they_are(kind, tmp_path):
    X, y = blobs(far=2.0)
    narrow = (10 * X + (100 if kind == "uint8" else 0)).astype(kind)
    np.save(tmp_path / "rows.npy", narrow)
    expected = fitted(narrow.astype(np.float32), y)
    for rows in (narrow, np.load(tmp_path / "rows.npy", mmap_mode="r")):
        model = fitted(rows, y)
        assert model.coef_.dtype == np.float32
        assert model.score(rows, y) == pytest.approx(expected.score(narrow.astype(np.float32), y), abs=0.01)
    np.testing.assert_allclose(fitted(narrow, y).coef_, expected.coef_, rtol=1e-5, atol=1e-6)


def test_a_warm_start_begins_where_the_last_fit_ended():
    X, y = blobs()
    model = fitted(X, y, solver="minibatch+lbfgs", tol=1e-8)
    again = fitted(X, y, max_epochs=1).fit(X, y, coef_init=model.coef_, intercept_init=model.intercept_)
    assert again.report_.epochs[0].loss < 1.2 * model.report_.objective


def test_it_is_saved_and_loaded(tmp_path):
    X, y = blobs()
    model = fitted(X, NAMES[y])
    save(model, tmp_path / "m.model")
    again = load(tmp_path / "m.model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.report_.gradient_norm == model.report_.gradient_norm


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("kind", ["float64", "float16"])
def test_a_value_that_is_not_finite_is_refused_with_its_row(bad, kind):
    X, y = blobs()
    X[123, 4] = bad
    with pytest.raises(ValueError, match="row 123, column 4"):
        fitted(X.astype(kind), y)


def test_what_it_cannot_do_is_refused_in_words():
    X, y = blobs()
    with pytest.raises(ValueError, match="multiplies dense rows"):
        fitted(sp.csr_matrix(X), y)
    with pytest.raises(ValueError, match="1 class"):
        fitted(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="finds its own step size"):
        fitted(X, y, learning_rate=0.1)
    with pytest.raises(ValueError, match="set max_epochs"):
        fitted(X, y, early_stopping=True)
    with pytest.raises(ValueError, match='loss="hinge" has kinks'):
        fitted(X, y, loss="hinge", solver="minibatch+lbfgs")
    with pytest.raises(ValueError, match='penalty="l1" has kinks'):
        fitted(X, y, penalty="l1", solver="minibatch+lbfgs")
    with pytest.raises(AttributeError, match="partial_fit"):
        _ = LinearClassifier(solver="minibatch").partial_fit


def test_ctrl_c_keeps_the_last_whole_epoch(monkeypatch):
    from rosenblatt.objective.minibatch import MiniBatchDescent

    X, y = blobs()
    whole, step = fitted(X, y, max_epochs=6), MiniBatchDescent.by_variables
    model, seen = LinearClassifier(solver="minibatch", alpha=1e-2, random_state=0, max_epochs=6), []

    def interrupted(self, *how):
        seen.append(1)
        if len(seen) == 60:
            raise KeyboardInterrupt
        return step(self, *how)

    monkeypatch.setattr(MiniBatchDescent, "by_variables", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.report_.outcome == "interrupted"
    assert [e.loss for e in model.report_.epochs] == [e.loss for e in whole.report_.epochs[:2]]
    assert model.predict(X).shape == y.shape


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_arrays_of_other_libraries_stay_what_they_are(library, monkeypatch):
    array = pytest.importorskip(library, reason=f"{library} is not installed").asarray
    X, y = blobs(far=2.0)
    expected = fitted(X, y)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    with config_context(array_api_dispatch=True):
        model = fitted(array(X), array(y), max_epochs=None)
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-9)
        for method in ("predict", "decision_function", "predict_proba"):
            found = getattr(model, method)(array(X))
            assert type(found) is type(array(X))
            np.testing.assert_allclose(np.asarray(found), getattr(expected, method)(X), rtol=1e-7, atol=1e-9)
        weighed = LinearRegressor(solver="minibatch", random_state=0).fit(array(X), array(X)[:, 0], array(np.ones(400)))
        assert type(weighed.predict(array(X))) is type(array(X))
        assert list(fitted(array(X), NAMES[y]).predict(array(X))[:3]) == list(NAMES[y][:3])
        bad = X.copy()
        bad[7, 1] = np.nan
        with pytest.raises(ValueError, match="row 7, column 1"):
            fitted(array(bad), array(y))
        with pytest.raises(ValueError, match="rows × features"):
            fitted(array(X[0]), array(y))
    if library == "torch":
        assert type(model.predict(array(X))) is np.ndarray  # dispatch is off: NumPy's, as in scikit-learn
