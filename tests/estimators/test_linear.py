"""LinearClassifier and LinearRegressor: optima of others, plain twins, worked cases, contracts."""

import numpy as np
import pytest
import scipy.sparse as sp
from linear_cases import numbers, signed, small
from scipy.optimize import linprog, minimize
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.linear_model import ElasticNet, HuberRegressor, Lasso, LogisticRegression, Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import LinearClassifier, LinearRegressor
from rosenblatt.learn.evaluation import problems
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.models import Planes
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.learn.schemes import JOINT
from rosenblatt.objective.compiled_losses import curve
from rosenblatt.objective.proximal_gradient import SmoothedObjective
from rosenblatt.objective.stochastic import TotalLoss
from rosenblatt.shell.online_learner import plan_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def order_dependent(estimator):
    """The only checks that may fail: they shuffle the rows, which a stochastic learner must feel."""
    if estimator.solver != "stochastic":
        return {}
    reason = "compares fits on rows in different orders"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.compiled
@parametrize_with_checks(
    [
        LinearClassifier(solver="stochastic"),
        LinearRegressor(),
        LinearClassifier(solver="batch", tol=1e-10),
        LinearRegressor(solver="batch", tol=1e-10),
    ],
    expected_failed_checks=order_dependent,
)
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


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
    assert model.report_.outcome == "solved"
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
    model = LinearClassifier(
        solver="stochastic", loss=loss, penalty=penalty, alpha=0.02, max_epochs=300, tol=0, random_state=0
    ).fit(X, y)
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


def objective(examples, plan, planes):
    (problem,) = problems(examples, planes.scheme, planes.classes)
    index = problem.index(0, problem.size)
    loss = TotalLoss(plan)(problem, index, planes.raw(problem.rows, index))
    return loss / problem.total + plan.penalty_of(planes.coef)


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
    plan = plan_of(LinearClassifier(alpha=0.2))  # 0.1·ΣW² is α = 0.2 of ½ΣW²
    rows, reach = encode_rows(X)
    examples = Examples(rows, 2, y, np.arange(3), None, None, reach)
    F = objective(examples, plan, Planes(W, b, JOINT, 3))
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
        ups, downs = (objective(examples, plan, Planes(W + s * h, b, JOINT, 3)) for s in (1, -1))
        assert np.isclose((ups - downs) / 2e-6, by_W[k, j] + 0.2 * W[k, j], atol=1e-8)


# -- a minimum that is proven ------------------------------------------------------------------------------------------


def least(rows, sides, alpha):
    """The least mean log loss + ½α‖w‖², by Newton's method with a line search in doubled coordinates of QR."""
    Q, R = np.linalg.qr(rows)
    back = np.linalg.inv(R)
    A, v = alpha * back.T @ back, np.zeros(rows.shape[1])

    def F(v):
        return np.logaddexp(0, -sides * (Q @ v)).mean() + 0.5 * v @ A @ v

    for _ in range(200):
        p = 1 / (1 + np.exp(sides * (Q @ v)))
        step = np.linalg.solve((Q * (p * (1 - p))[:, None]).T @ Q / len(Q) + A, Q.T @ (sides * p) / len(Q) - A @ v)
        t = 1.0
        while F(v + t * step) > F(v) and t > 1e-12:
            t /= 2
        v = v + t * step
    return F(v)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solved_is_never_above_the_minimum(dtype):
    """Rows far from the origin without an intercept, and features that depend on each other."""
    solved = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3)) + 10.0 ** rng.integers(0, 4) * rng.normal(size=3)
        X = (X @ rng.normal(size=(3, 3))).astype(dtype)
        y = rng.random(60) < 1 / (1 + np.exp(-scaled(X) @ rng.normal(size=3)))
        alpha = (1e-2, 1e-5, 1e-7)[seed % 3]
        model = LinearClassifier(alpha=alpha, fit_intercept=False, solver="batch", max_epochs=2000).fit(X, y)
        best = least(X.astype(float), np.where(y, 1.0, -1.0), alpha)
        w = model.coef_[0].astype(float)
        mine = np.logaddexp(0, -np.where(y, 1.0, -1.0) * (X.astype(float) @ w)).mean() + 0.5 * alpha * w @ w
        if model.report_.outcome == "solved":
            solved += 1
            assert mine <= best * (1 + model.tol) + 1e-12
    assert solved >= 12


def scaled(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.mark.parametrize("penalty", ["l2", "l1", None])
@pytest.mark.parametrize("loss", ["log", "hinge", "squared_hinge", "modified_huber"])
def test_ordinary_rows_are_solved(loss, penalty):
    """The first proof succeeds, so that a fit makes no more epochs than its last step needs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = X @ rng.normal(size=5) + rng.normal(size=300) > 0
    for target in (y, rng.integers(0, 3, 300)):
        model = LinearClassifier(loss=loss, penalty=penalty, alpha=1e-3, solver="batch").fit(X, target)
        assert model.report_.outcome == "solved"


@pytest.mark.parametrize("apart", [1e-2, 1e-5, 1e-7, 1e-8, 1e-10])
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_nearly_equal_columns_without_a_penalty_are_fitted_and_never_falsely_solved(offset, apart):
    """The minimum lies at weights of the size 1/apart; the same columns, apart by 1, show what it is."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=200), rng.normal(size=200)
    X = np.column_stack([x, x + apart * z]) + offset
    Z = np.column_stack([X[:, 0] - X[:, 0].mean(), (X[:, 1] - X[:, 0]) / apart, np.ones(200)])
    y = x + 0.5 * z + 0.5 * rng.normal(size=200)
    r = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    model = LinearRegressor(penalty=None, solver="batch").fit(X, y)
    mine = 0.5 * np.mean((y - model.predict(X)) ** 2)
    assert model.report_.outcome == "stalled" or mine <= 0.5 * np.mean(r * r) * (1 + 2e-4)
    sign = np.where(y > 0, 1.0, -1.0)
    best = minimize(lambda p: np.logaddexp(0, -sign * (Z @ p)).mean(), np.zeros(3), tol=1e-10).fun
    model = LinearClassifier(penalty=None, solver="batch").fit(X, y > 0)
    assert model.report_.outcome == "stalled" or model.report_.objective <= best * (1 + 2e-4)


@pytest.mark.parametrize("value", [0.0, 1.0, 7.0])
def test_of_a_constant_feature_the_mean_is_learned(value):
    model = LinearRegressor(penalty=None, solver="batch").fit(np.full((5, 1), value), [1, 2, 3, 4, 100])
    assert model.predict([[value]]).tolist() == [22.0]
    assert model.report_.outcome == "solved"
