"""LinearClassifier and LinearRegressor: optima of others, plain twins, worked cases, contracts."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, HuberRegressor, Lasso, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import LinearClassifier, LinearRegressor
from rosenblatt.data.examples import Examples, encode_rows
from rosenblatt.learn.epochs import InMemory, Training
from rosenblatt.learn.linear.losses import curve, names
from rosenblatt.learn.linear.proximal_gradient import SmoothedObjective
from rosenblatt.learn.linear.stochastic import objective
from rosenblatt.learn.models import Planes
from rosenblatt.learn.online.solver import problems
from rosenblatt.learn.schemes import JOINT

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MARGIN = sorted(names("margin") - {"zero_one"})
RESIDUAL = sorted(names("residual"))
PENALTIES = [None, "l2", "l1", "elasticnet"]


def order_dependent(estimator):
    """The only checks that may fail: they shuffle the rows, which a stochastic learner must feel."""
    if estimator.solver == "batch":
        return {}
    reason = "compares fits on rows in different orders"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.compiled
@parametrize_with_checks(
    [
        LinearClassifier(),
        LinearRegressor(),
        LinearClassifier(solver="batch", tol=1e-10),
        LinearRegressor(solver="batch", tol=1e-10),
    ],
    expected_failed_checks=order_dependent,
)
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def small(n=60, d=6, classes=2, seed=0):
    """Few rows with empty places, classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + 0.1
    X[:, 0] *= (rng.random(n) < 0.2) * 2
    y = np.argmax(X @ rng.normal(size=(d, classes)) + 0.7 * rng.normal(size=(n, classes)), axis=1)
    return X, y


def numbers(n=60, d=6, seed=0):
    X, _ = small(n, d, seed=seed)
    rng = np.random.default_rng(seed + 1)
    return X, X @ rng.normal(size=d) + 0.5 + 0.3 * rng.normal(size=n)


def signed(y):
    return np.where(y == 1, 1.0, -1.0)


def penalty_value(w, penalty, alpha, ratio):
    l1, l2 = {None: (0, 0), "l2": (0, 1), "l1": (1, 0), "elasticnet": (ratio, 1 - ratio)}[penalty]
    return alpha * (l1 * np.abs(w).sum() + 0.5 * l2 * (w**2).sum())


def value(model, X, y, w, b):
    """F, from its definition."""
    f = X @ w + b
    of = signed(y) * f if isinstance(model, LinearClassifier) else f - y
    width = getattr(model, "epsilon", 0.0)
    return curve(model.loss, of, width).mean() + penalty_value(w, model.penalty, model.alpha, model.l1_ratio)


def reached(model, X, y):
    return value(model, X, y, np.ravel(model.coef_), float(model.intercept_[0]))


# -- optima of others ------------------------------------------------------------------------------------------------

BATCH = {"solver": "batch", "tol": 1e-9, "max_epochs": 5000}


@pytest.mark.compiled
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_logistic_regression_is_that_of_scikit_learn(form):
    X, y = load_breast_cancer(return_X_y=True)  # as it comes: features of very different units
    model = LinearClassifier(alpha=1e-2, **BATCH).fit(form(X), y)
    peer = LogisticRegression(C=1 / (len(y) * 1e-2), tol=1e-12, solver="newton-cholesky").fit(X, y)
    best = value(model, X, y, peer.coef_[0], peer.intercept_[0])
    assert abs(reached(model, X, y) - best) <= 1e-6 * best
    assert model.report_.outcome == "converged"
    assert np.isclose(model.report_.objective, reached(model, X, y), rtol=1e-12)
    assert np.allclose(model.predict_proba(form(X)), peer.predict_proba(X), atol=1e-3)


def test_softmax_regression_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    alpha = 1e-2
    model = LinearClassifier(alpha=alpha, **BATCH).fit(X, y)
    peer = LogisticRegression(C=1 / (len(y) * alpha), tol=1e-10, max_iter=1000).fit(X, y)

    def F(m):
        logs = log_softmax(X @ m.coef_.T + m.intercept_, axis=1)
        return -logs[np.arange(len(y)), y].mean() + 0.5 * alpha * (m.coef_**2).sum()

    assert abs(F(model) - F(peer)) <= 1e-6 * F(peer)
    assert np.isclose(model.report_.objective, F(model))
    assert np.allclose(model.predict_proba(X), peer.predict_proba(X), atol=1e-3)
    assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


@pytest.mark.compiled
@pytest.mark.parametrize("intercept", [True, False])
def test_ridge_is_that_of_scikit_learn(intercept):
    X, y = load_diabetes(return_X_y=True)
    X = 5 + 100 * X
    model = LinearRegressor(alpha=0.3, fit_intercept=intercept, **BATCH).fit(X, y)
    peer = Ridge(alpha=0.3 * len(y), fit_intercept=intercept, tol=1e-12).fit(X, y)
    best = value(model, X, y, peer.coef_, peer.intercept_)
    assert abs(reached(model, X, y) - best) <= 1e-6 * best
    assert np.allclose(model.coef_, peer.coef_, rtol=1e-3, atol=1e-4)


@pytest.mark.compiled
@pytest.mark.parametrize("alpha", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_lasso_and_elastic_net_are_those_of_scikit_learn(form, alpha):
    X, y = load_diabetes(return_X_y=True)
    X = 20 * X
    for penalty, peer in (("l1", Lasso(alpha, tol=1e-12)), ("elasticnet", ElasticNet(alpha, l1_ratio=0.4, tol=1e-12))):
        peer.set_params(max_iter=100_000).fit(X, y)
        model = LinearRegressor(penalty=penalty, alpha=alpha, l1_ratio=0.4, **BATCH).fit(form(X), y)
        best = value(model, X, y, peer.coef_, peer.intercept_)
        assert abs(reached(model, X, y) - best) <= 1e-6 * best
        assert np.array_equal(model.coef_ == 0, peer.coef_ == 0)
    assert (Lasso(3.0).fit(X, y).coef_ == 0).any()


@pytest.mark.parametrize("penalty", ["l2", None])
@pytest.mark.parametrize("loss", ["squared_hinge", "modified_huber", "exponential", "log"])
def test_smooth_classifiers_reach_the_optimum_of_a_convex_solver(loss, penalty):
    X, y = small()
    model = LinearClassifier(loss=loss, penalty=penalty, alpha=0.02, **BATCH).fit(X, y)
    best = minimize(lambda v: value(model, X, y, v[:-1], v[-1]), np.zeros(X.shape[1] + 1), method="BFGS", tol=1e-9)
    assert reached(model, X, y) <= best.fun + 1e-6 * abs(best.fun)


@pytest.mark.parametrize("loss", ["huber", "log_cosh", "squared"])
def test_smooth_regressors_reach_the_optimum_of_a_convex_solver(loss):
    X, y = numbers()
    model = LinearRegressor(loss=loss, epsilon=0.2, alpha=0.02, **BATCH).fit(X, y)
    best = minimize(lambda v: value(model, X, y, v[:-1], v[-1]), np.zeros(X.shape[1] + 1), method="BFGS", tol=1e-9)
    assert reached(model, X, y) <= best.fun + 1e-6 * abs(best.fun)


def test_huber_is_mild_on_outliers():
    X, y = numbers(200)
    y[:5] += 1000
    model = LinearRegressor(loss="huber", epsilon=1.35, **BATCH).fit(X, y)
    peer = HuberRegressor().fit(X, y)
    assert np.allclose(model.coef_, peer.coef_, atol=0.15)


def one_norm_svm(X, y, alpha):
    """min mean ξ + αΣ|w| as a linear program over (w⁺, w⁻, b⁺, b⁻, ξ)."""
    n, d = X.shape
    Z = signed(y)[:, None] * X
    cost = np.concatenate([np.full(2 * d, alpha), [0, 0], np.full(n, 1 / n)])
    rows = np.hstack([-Z, Z, -signed(y)[:, None], signed(y)[:, None], -np.eye(n)])
    return linprog(cost, A_ub=rows, b_ub=-np.ones(n), bounds=(0, None)).fun


def absolute_lp(X, y, alpha, tube):
    """min mean max(0, |r| − ε) + αΣ|w| as a linear program."""
    n, d = X.shape
    cost = np.concatenate([np.full(2 * d, alpha), [0, 0], np.full(n, 1 / n)])
    one = np.ones((n, 1))
    above = np.hstack([X, -X, one, -one, -np.eye(n)])
    below = np.hstack([-X, X, -one, one, -np.eye(n)])
    return linprog(cost, A_ub=np.vstack([above, below]), b_ub=np.concatenate([y + tube, tube - y])).fun


@pytest.mark.parametrize("solver", ["batch", pytest.param("stochastic", marks=pytest.mark.compiled)])
def test_one_norm_svm_comes_near_the_linear_program(solver):
    X, y = small(200)
    best = one_norm_svm(X, y, 0.01)
    model = LinearClassifier(loss="hinge", penalty="l1", alpha=0.01, solver=solver, tol=1e-3, random_state=0)
    if solver == "stochastic":
        model.set_params(max_epochs=1000, tol=0)
    assert best - 1e-9 <= reached(model.fit(X, y), X, y) <= 1.01 * best


@pytest.mark.parametrize("solver", ["batch", pytest.param("stochastic", marks=pytest.mark.compiled)])
@pytest.mark.parametrize(("loss", "tube"), [("absolute", 0.0), ("epsilon_insensitive", 0.1)])
def test_absolute_loss_comes_near_the_linear_program(loss, tube, solver):
    X, y = numbers(200)
    best = absolute_lp(X, y, 0.01, tube)
    model = LinearRegressor(loss=loss, epsilon=tube, penalty="l1", alpha=0.01, solver=solver, tol=1e-3, random_state=0)
    if solver == "stochastic":
        model.set_params(max_epochs=1000, tol=0)
    model.fit(X, y)
    assert best - 1e-9 <= reached(model, X, y) <= 1.01 * best
    if tube:
        inside = np.abs(model.predict(X) - y) <= tube
        assert model.report_.errors == np.count_nonzero(~inside)
    else:
        assert model.report_.errors is None


@pytest.mark.compiled
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log", "modified_huber", "exponential"])
def test_stochastic_comes_near_batch(loss, penalty):
    X, y = small(300)
    batch = LinearClassifier(loss=loss, penalty=penalty, alpha=0.02, solver="batch", tol=1e-5).fit(X, y)
    model = LinearClassifier(loss=loss, penalty=penalty, alpha=0.02, max_epochs=300, tol=0, random_state=0).fit(X, y)
    assert model.report_.objective <= 1.01 * batch.report_.objective


def test_l1_gives_exact_zeros_by_both_solvers():
    X, y = make_classification(200, 30, n_informative=3, n_redundant=0, shuffle=False, random_state=0)
    for solver in ("batch", "stochastic"):
        model = LinearClassifier(penalty="l1", alpha=0.03, solver=solver, max_epochs=30, random_state=0).fit(X, y)
        assert np.count_nonzero(model.coef_) < 15, solver
        assert model.coef_[0, :3].any()


def test_xor_cannot_be_learned_by_a_plane():
    X, y = np.array([[0.0, 0], [1, 1], [0, 1], [1, 0]]), [0, 0, 1, 1]
    model = LinearClassifier(penalty=None, solver="batch", tol=1e-8).fit(X, y)
    assert np.isclose(model.report_.objective, np.log(2))  # no better than a coin
    assert model.score(X, y) <= 0.75


# -- the interactive page --------------------------------------------------------------------------------------------


def test_case_of_the_interactive_page():
    W = np.array([[0.52, 0.68], [-0.82, 0.52], [0.20, -1.17]])
    b = np.array([-0.18, -0.05, -0.06])
    X = np.array(
        [
            [0.5, 0.4],
            [0.8, 0.3],
            [0.3, 0.8],
            [-0.4, 0.3],
            [-0.3, 0.7],
            [-0.7, 0.2],
            [0.7, -0.4],
            [0.5, -0.6],
            [-0.4, -0.5],
        ]
    )
    y = np.repeat(np.arange(3, dtype=np.int32), 3)
    plan = LinearClassifier(alpha=0.2)._plan()  # 0.1·ΣW² is α = 0.2 of ½ΣW²
    rows, reach = encode_rows(X)
    examples = Examples(rows, 2, y, np.arange(3), None, None, reach)
    F = objective(InMemory(examples), plan, Planes(W, b, JOINT, 3))
    assert np.isclose(plan.penalty_of(W), 0.308, atol=5e-4)
    assert np.isclose(F - plan.penalty_of(W), 0.61, atol=5e-3)
    (problem,) = problems(examples, JOINT, 3)
    smooth = SmoothedObjective(problem, plan, JOINT, 2, 3)
    point = smooth.point(W, b + W @ smooth.mean)
    loss, slopes = smooth.loss(point.scores, 0.0)
    by_W, by_c = smooth.gradient(slopes)
    by_W = by_W + np.outer(by_c, smooth.mean)  # from the mean row back to the origin
    assert np.isclose(loss, F - plan.penalty_of(W))
    assert np.allclose(by_W, [[-0.097, -0.076], [0.118, -0.046], [-0.021, 0.121]], atol=6e-4)
    assert np.allclose(by_c, [0.008, 0.008, -0.016], atol=6e-4)
    chances = np.exp(log_softmax(point.scores, axis=1))
    losses = -np.log(chances[np.arange(9), y])
    assert np.allclose(losses, [0.70, 0.63, 0.64, 0.66, 0.63, 0.53, 0.58, 0.45, 0.67], atol=6e-3)
    assert np.allclose(plan.penalty_class.slope(W, 0.2, 0.0), 0.2 * W)  # the gradient of its own penalty
    # The whole gradient, against finite differences of F.
    for k, j in np.ndindex(W.shape):
        h = np.zeros_like(W)
        h[k, j] = 1e-6
        ups, downs = (objective(InMemory(examples), plan, Planes(W + s * h, b, JOINT, 3)) for s in (1, -1))
        assert np.isclose((ups - downs) / 2e-6, by_W[k, j] + 0.2 * W[k, j], atol=1e-8)


# -- the plain twin --------------------------------------------------------------------------------------------------


def twin(model, X, y, epochs, rate, classes=1):
    """Stochastic descent with every weight pulled at every visit; columns are classes."""
    l1, l2 = {None: (0, 0), "l2": (0, 1), "l1": (1, 0), "elasticnet": (model.l1_ratio, 1 - model.l1_ratio)}[
        model.penalty
    ]
    l1, l2 = model.alpha * l1, model.alpha * l2
    W, b, t = np.zeros((classes, X.shape[1])), np.zeros(classes), 0
    u, q = 0.0, np.zeros_like(W)  # what each weight should have been pulled by, and has been
    for _ in range(epochs):
        for x, target in zip(X, y, strict=True):
            eta, f = rate(t), W @ x + b
            if isinstance(model, LinearRegressor):
                g = curve(model.loss, f - target, model.epsilon, slopes=True)
            elif classes > 1 and model.loss == "log":
                g = np.exp(log_softmax(f)) - np.eye(classes)[target]
            else:
                side = signed(np.array([target])) if classes == 1 else 2 * np.eye(classes)[target] - 1
                g = side * curve(model.loss, side * f, 0.0, slopes=True)
            step = eta * g
            if model.loss == "exponential":
                most = (1 + np.abs(f)) / (x @ x + model.fit_intercept)
                step = np.clip(step, -most, most)
            W, u, q = (1 - eta * l2) * W - step[:, None] * x, (1 - eta * l2) * u + eta * l1, (1 - eta * l2) * q
            new = np.where(W > 0, np.maximum(W - (u + q), 0), np.minimum(W + (u - q), 0))
            W, q = new, q + (new - W)
            b = b - step * model.fit_intercept
            t += 1
    return W, b


RATES = {0.1: lambda t: 0.1, "1/t": lambda t: 1 / (1 + t), "1/sqrt(t)": lambda t: 1 / np.sqrt(1 + t)}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", MARGIN)
def test_classifier_is_its_plain_twin(loss, penalty, form):
    for classes in (2, 3):
        X, y = small(40, 5, classes)
        rate = list(RATES)[classes - 1] if loss != "exponential" else 0.1
        model = LinearClassifier(
            loss=loss, penalty=penalty, alpha=0.05, learning_rate=rate, order="cyclic", max_epochs=2, tol=0,
            fit_intercept=classes == 3,
        ).fit(form(X), y)  # fmt: skip
        W, b = twin(model, X, y, 2, RATES[rate], 1 if classes == 2 else 3)
        assert np.allclose(model.coef_, W, atol=1e-10)
        assert np.allclose(model.intercept_, b, atol=1e-10)
        if penalty in ("l1", "elasticnet"):
            assert np.array_equal(model.coef_ == 0, W == 0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", RESIDUAL)
def test_regressor_is_its_plain_twin(loss, penalty, form):
    X, y = numbers(40, 5)
    model = LinearRegressor(
        loss=loss, penalty=penalty, alpha=0.05, learning_rate=0.1, order="cyclic", max_epochs=2, tol=0
    ).fit(form(X), y)
    W, b = twin(model, X, y, 2, RATES[0.1])
    assert np.allclose(model.coef_, W[0], atol=1e-10)
    assert np.allclose(model.intercept_, b, atol=1e-10)


def test_optimal_rate_is_the_one_it_says():
    X, y = small(40, 5)
    alpha = 0.1
    model = LinearClassifier(loss="hinge", alpha=alpha, order="cyclic", max_epochs=3, fit_intercept=False).fit(X, y)
    reach = (X**2).sum(axis=1).max()
    W, _ = twin(model, X, y, 3, lambda t: 1 / (alpha * t + reach))
    assert np.allclose(model.coef_, W)


def test_a_step_longer_than_the_penalty_allows_forgets_everything():
    X, y = small(30, 4)
    model = LinearClassifier(alpha=1.0, learning_rate=2.0, order="cyclic", max_epochs=1, loss="hinge").fit(X, y)
    assert np.isfinite(model.coef_).all()
    last = 2.0 * signed(y)[-1] * X[-1]
    assert np.allclose(model.coef_[0], last) or not model.coef_.any()


def test_a_tiny_scale_is_multiplied_out():
    X, y = small(50, 4)
    model = LinearClassifier(
        alpha=0.9, penalty="elasticnet", learning_rate=0.5, order="cyclic", max_epochs=2, fit_intercept=False
    )
    model.fit(sp.csr_array(X), y)
    W, _ = twin(model, X, y, 2, lambda t: 0.5)
    assert np.allclose(model.coef_, W, atol=1e-12)


# -- contracts -------------------------------------------------------------------------------------------------------

KINDS = [
    LinearClassifier(max_epochs=3, random_state=0, penalty="elasticnet", alpha=0.01),
    LinearClassifier(max_epochs=3, random_state=0, loss="hinge", multiclass="ovr"),
    LinearRegressor(max_epochs=3, random_state=0, loss="huber", penalty="l1", alpha=0.01),
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
    model = LinearClassifier(early_stopping=True, n_iter_no_change=3, max_epochs=50, random_state=0).fit(X, y)
    scores = [record.score for record in model.report_.epochs]
    assert model.report_.outcome in ("early", "converged")
    assert max(scores) == scores[np.argmax(scores)]


def test_grid_search_over_alpha():
    X, y = small(100)
    search = GridSearchCV(LinearClassifier(random_state=0, max_epochs=5), {"alpha": [1e-3, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"alpha": 1e-3}


def test_the_report_says_how_it_ended():
    X, y = small()
    with pytest.warns(ConvergenceWarning, match="spent its budget of 2 epochs while the objective"):
        model = LinearClassifier(max_epochs=2, tol=1e-12, random_state=0).fit(X, y)
    assert model.report_.outcome == "budget"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LinearClassifier(alpha=0.1, tol=1e-2, random_state=0).fit(X, y)
    assert model.report_.outcome == "converged"
    assert "the objective no longer falls" in str(model.report_)
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
        ({"loss": "zero_one"}, "no step makes it smaller"),
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
    from rosenblatt.learn.linear.penalties import L2
    from rosenblatt.learn.linear.penalties import PENALTIES as table

    class Other(L2):
        """Not taken apart."""

        @staticmethod
        def parts(alpha, ratio):
            return None

    monkeypatch.setitem(table, "l2", Other)
    X, y = small()
    with pytest.raises(ValueError, match='use solver="batch"'):
        LinearClassifier().fit(X, y)


def test_weights_that_overflow_are_told():
    X, y = numbers()
    with pytest.raises(ValueError, match="overflowed in epoch 1"):
        LinearRegressor(learning_rate=1e12).fit(1e6 * X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_interruption_keeps_the_last_whole_epoch(kind, monkeypatch):
    X, y = data_for(kind, 2)
    model = clone(kind).set_params(tol=0)
    whole = Training._epoch

    def third(self):
        if len(self.records) == 2:
            raise KeyboardInterrupt
        yield from whole(self)

    monkeypatch.setattr(Training, "_epoch", third)
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
    assert report.outcome == "converged"
    assert report.objective == pytest.approx(0.0, abs=1e-7)
