"""The support vector machine with a kernel, against its quadratic program."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.datasets import load_iris, load_wine, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from rosenblatt import KernelPerceptron, KernelSVM
from rosenblatt.kernel import svm_dual
from rosenblatt.kernel.pair_ascent import pair_step
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.shell.fitted import fitted

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y has exactly one 1 in every row"
)


def quadratic_program(G, y, limit):
    """max Σα − ½αᵀQα within the box, by a general solver."""
    Q = G * np.outer(y, y)
    found = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        np.zeros(len(y)),
        jac=lambda a: Q @ a - 1,
        bounds=[(0, u) for u in limit],
        method="L-BFGS-B",
        options={"maxiter": 50000, "maxfun": 500000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.x, -found.fun


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_svm_reaches_the_optimum_of_its_quadratic_program(fit_intercept, C, weighed, form):
    X, y = make_moons(70, noise=0.3, random_state=0)
    weight = np.random.default_rng(0).integers(0, 4, 70).astype(float) if weighed else np.ones(70)
    sides = 2.0 * y - 1
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)) + fit_intercept
    _, best = quadratic_program(G, sides, C * weight)
    model = KernelSVM(C, gamma=1.0, fit_intercept=fit_intercept, intercept_scaling=1.0, tol=1e-8, random_state=0)
    model.fit(form(X), y, sample_weight=weight)
    assert model.report_.outcome == "solved"
    assert model.report_.gap <= 1e-8
    mine = np.zeros(70)
    mine[model.support_] = model.dual_coef_[0]
    f = G @ mine
    dual = np.abs(mine).sum() - 0.5 * mine @ f
    primal = 0.5 * mine @ f + C * weight @ np.maximum(0, 1 - sides * f)
    assert dual == pytest.approx(best, rel=1e-6)
    assert primal == pytest.approx(best, rel=1e-6)
    assert model.report_.epochs[-1].loss == pytest.approx(primal)
    assert (sides * mine >= 0).all()
    assert (np.abs(mine) <= C * weight + 1e-12).all()
    assert np.allclose(model.decision_function(X), f)
    assert model.intercept_[0] == pytest.approx(fit_intercept * mine.sum())
    assert model.report_.errors == np.count_nonzero(((sides * f) <= 0) & (weight > 0))


@pytest.mark.parametrize("kind", ["linear", "poly"])
def test_svm_with_other_kernels(kind):
    X, y = make_moons(60, noise=0.2, random_state=1)
    G = {"linear": X @ X.T, "poly": (X @ X.T + 1) ** 3}[kind] + 1
    _, best = quadratic_program(G, 2.0 * y - 1, np.ones(60))
    model = KernelSVM(kernel=kind, gamma=1.0, coef0=1.0, intercept_scaling=1.0, tol=1e-6).fit(X, y)
    assert model.report_.epochs[-1].loss == pytest.approx(best, rel=1e-5)
    own = KernelSVM(kernel=lambda A, B: (A @ B.T + 1) ** 3, intercept_scaling=1.0, tol=1e-6).fit(X, y)
    if kind == "poly":
        assert np.allclose(own.decision_function(X), model.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
def test_svm_of_many_classes_is_one_a_plane(multiclass):
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    model = KernelSVM(gamma=1.0, multiclass=multiclass, tol=1e-7, random_state=0).fit(X, y)
    raw = fitted(model).model.raw(encode_rows(X)[0], np.arange(150, dtype=np.uint64), 2)
    for k, (a, b) in enumerate([(None, 0), (None, 1), (None, 2)] if multiclass == "ovr" else [(0, 1), (0, 2), (1, 2)]):
        part = np.ones(150, bool) if a is None else (y == a) | (y == b)
        alone = KernelSVM(gamma=1.0, tol=1e-7, random_state=0).fit(X[part], y[part] == b)
        assert np.allclose(raw[part, k], alone.decision_function(X[part]), atol=1e-3)
    labels = KernelSVM(gamma=1.0, tol=1e-7).fit(X, np.eye(3, dtype=int)[y])
    if multiclass == "ovr":
        assert np.allclose(labels.decision_function(X), raw, atol=1e-3)
    assert model.report_.margin < 0


@pytest.mark.parametrize("cache_size", [0, 0.01, 0.05, 200])
@pytest.mark.parametrize("multiclass", ["ovr", "ovo"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [None, 1.0])
def test_svm_in_small_memory(cache_size, multiclass, form, scale, monkeypatch):
    """Kernel rows that do not fit are computed again, rows are left out and come back: the optimum is the same."""
    monkeypatch.setattr(svm_dual, "GAP_STEPS", 5)
    monkeypatch.setattr(svm_dual, "SHRINK_STEPS", 10)
    X, y = load_iris(return_X_y=True)
    X, y = X[::2, :2], y[::2]
    model = KernelSVM(
        10.0, gamma=1.0, multiclass=multiclass, tol=1e-3, cache_size=cache_size, intercept_scaling=scale
    ).fit(form(X), y)
    assert model.report_.outcome == "solved"
    f = fitted(model).model.raw(encode_rows(X)[0], np.arange(75, dtype=np.uint64), 2)
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)) + (scale or 0.0)
    gaps = []
    for k, (a, b) in enumerate([(0, None), (1, None), (2, None)] if multiclass == "ovr" else [(1, 0), (2, 0), (2, 1)]):
        part = np.ones(75, bool) if b is None else (y == a) | (y == b)
        sides = np.where(y[part] == a, 1.0, -1.0)
        beta = np.zeros(75)
        beta[model.support_] = model.dual_coef_[k]
        assert (beta[~part] == 0).all()
        assert np.allclose(f[:, k], G @ beta + (0.0 if scale else model.intercept_[k]))
        assert scale or abs(beta.sum()) < 1e-12
        primal = 0.5 * beta @ G @ beta + 10.0 * np.maximum(0, 1 - sides * f[part, k]).sum()
        dual = np.abs(beta).sum() - 0.5 * beta @ G @ beta
        gaps.append((primal - dual) / primal)
    assert model.report_.gap == pytest.approx(max(gaps), abs=1e-9)
    assert max(gaps) <= 1e-3


@pytest.mark.parametrize("cache_size", [0, 200])
def test_svm_leaves_out_rows_without_weight(cache_size):
    """Classes without weight leave planes of one-vs-one without rows, and such rows may overflow."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::5], np.arange(30) % 4
    settings = {"kernel": "linear", "multiclass": "ovo", "cache_size": cache_size}
    model = KernelSVM(class_weight={2: 0.0, 3: 0.0}, **settings).fit(X, y)
    assert model.report_.outcome == "solved"
    plain = KernelSVM(**settings).fit(X[y < 2], y[y < 2])
    weightless = X.copy()
    weightless[y >= 2] = 1e200
    for rows in (X, weightless):
        with np.errstate(over="ignore", invalid="ignore"):
            weighed = KernelSVM(**settings).fit(rows, y % 2, sample_weight=(y < 2).astype(float))
        assert np.allclose(weighed.decision_function(X), plain.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("cache_size", [0, 200])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_equal_rows_of_two_classes_end_at_their_box_at_once(kernel, cache_size):
    """The optimum of contradictory rows is α = C for both: a single step, as in SVC."""
    for scale in (None, 1.0):
        model = KernelSVM(1e7, kernel=kernel, cache_size=cache_size, intercept_scaling=scale)
        model.fit([[0.0], [0.0]], [0, 1])
        assert (model.report_.outcome, model.report_.updates) == ("solved", 1)
        assert model.dual_coef_.tolist() == [[-1e7, 1e7]]
        many = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 2, axis=0)
        model.fit(many, np.arange(40) % 2)
        assert (model.report_.outcome, model.report_.n_epochs) == ("solved", 1)


def test_svm_that_cannot_close_its_gap_says_so_with_the_gap():
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.warns(ConvergenceWarning, match="stalled with a relative duality gap"):
        model = KernelSVM(1e7, kernel="linear").fit(X, np.arange(40) % 2)
    assert model.report_.outcome == "stalled"
    assert model.report_.gap > 0.9
    assert model.report_.n_epochs < 100


@pytest.mark.compiled  # elsewhere rounding finds steps to make, round after round
def test_planes_without_a_step_to_make_are_told_apart():
    """Two planes of three made no step in the same round; comparing their arrays raised ValueError."""
    model = KernelSVM(1e10, kernel="poly", degree=2, gamma=1.0, coef0=1.0, tol=0.01)
    model.fit([[110.0], [112.0], [122.0], [112.0], [80.0]], [0, 1, 2, 0, 0])
    assert model.report_.outcome == "stalled"


@pytest.mark.parametrize("cache_size", [0.01, 200])
@pytest.mark.parametrize("C", [1.0, 1e7])
@pytest.mark.parametrize("kernel", [lambda A, B: -(A @ B.T), lambda A, B: np.tanh(A @ B.T - 1)])
def test_a_kernel_that_is_not_semidefinite_is_never_solved(kernel, C, cache_size):
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.warns(ConvergenceWarning, match="not positive semidefinite"):
        model = KernelSVM(C, kernel=kernel, cache_size=cache_size).fit(X, np.arange(40) % 2)
    assert model.report_.outcome == "stalled"
    assert model.report_.gap == np.inf
    for fine in (lambda A, B: A @ B.T, lambda A, B: np.zeros((len(A), len(B)))):
        assert KernelSVM(kernel=fine).fit(X, np.arange(40) % 2).report_.outcome == "solved"


def test_a_polynomial_that_is_not_semidefinite_is_not_solved():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = KernelSVM(kernel="poly", degree=2, gamma=1.0, coef0=-2.0).fit(X, np.arange(40) % 2)
    assert (model.report_.outcome, model.report_.gap) == ("stalled", np.inf)


@pytest.mark.parametrize("kind", [KernelSVM, KernelPerceptron])
def test_a_complex_kernel_is_refused(kind):
    with pytest.raises(ValueError, match="kernel returned complex numbers"):
        kind(kernel=lambda A, B: (A @ B.T).astype(complex)).fit([[0.0], [1.0]], [0, 1])


def test_svm_that_ran_out_of_rounds_says_so():
    X, y = make_moons(90, noise=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        short = KernelSVM(gamma=1.0, intercept_scaling=1.0, tol=1e-9, max_epochs=2).fit(X, y)
    assert short.report_.outcome == "budget"
    assert short.report_.gap > 1e-9


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_svm_is_that_of_scikit_learn(kernel, C, form):
    X, y = make_moons(80, noise=0.3, random_state=2)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    settings = {"kernel": kernel, "gamma": 0.7, "coef0": 1.0, "degree": 2}
    sides, limit = 2.0 * y - 1, C * weight
    for cache_size in (0.01, 200):
        mine = KernelSVM(C, tol=1e-8, cache_size=cache_size, **settings).fit(form(X), y, sample_weight=weight)
        theirs = SVC(C=C, tol=1e-8, **settings).fit(X, y, sample_weight=weight)
        assert mine.report_.outcome == "solved"
        assert np.allclose(mine.decision_function(X), theirs.decision_function(X), atol=2e-3)
        beta = mine.dual_coef_[0]
        assert abs(beta.sum()) < 1e-12 * np.abs(beta).sum()
        f = mine.decision_function(X)
        primal = 0.5 * beta @ (f[mine.support_] - mine.intercept_) + limit @ np.maximum(0, 1 - sides * f)
        assert mine.report_.epochs[-1].loss == pytest.approx(primal, rel=1e-9)


def test_the_machine_of_the_lectures():
    """KTH's rows with C = 1: w = (17, 102)/74, b = 96/74, in one round."""
    X = np.array([[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]])
    model = KernelSVM(kernel="linear", tol=1e-9).fit(X, [1, 1, 1, -1, -1, -1])
    assert np.allclose(74 * model.dual_coef_ @ X[model.support_], [[17, 102]])
    assert np.allclose(74 * model.intercept_, 96)
    assert model.report_.epochs[-1].loss == pytest.approx(1.023648649)


def test_a_penalised_intercept_is_a_constant_feature():
    X, y = make_moons(60, noise=0.3, random_state=0)
    wide = np.column_stack([X, np.full(60, 3.0)])
    mine = KernelSVM(kernel="linear", intercept_scaling=3.0, tol=1e-8).fit(X, y)
    theirs = KernelSVM(kernel="linear", fit_intercept=False, tol=1e-8).fit(wide, y)
    assert np.allclose(mine.decision_function(X), theirs.decision_function(wide), atol=1e-3)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear"])
def test_the_two_problems_bound_each_other(kernel, C):
    X, y = make_moons(80, noise=0.3, random_state=2)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, 80)
    settings = {"kernel": kernel, "gamma": 0.7, "coef0": 1.0, "degree": 2}
    sides, limit = 2.0 * y - 1, C * weight
    mine = KernelSVM(C, intercept_scaling=1.0, tol=1e-6, cache_size=0.01, **settings).fit(X, y, sample_weight=weight)
    theirs = SVC(C=C, tol=1e-6, **settings).fit(X, y, sample_weight=weight)

    def hinge(f):
        return limit @ np.maximum(0, 1 - sides * f)

    def square(model):
        f = model.decision_function(X)[model.support_] - model.intercept_[0]
        return float(model.dual_coef_[0] @ f)

    def objective(model, b2):
        return 0.5 * square(model) + hinge(model.decision_function(X)) + 0.5 * b2 * model.intercept_[0] ** 2

    assert objective(mine, 1) <= objective(theirs, 1) * (1 + 2e-6)  # ours counts b² too
    assert objective(theirs, 0) <= objective(mine, 0) * (1 + 2e-6)  # theirs does not


def test_single_precision_rows_give_way_where_they_do_not_suffice():
    """Values near 1e6 leave 0.1 of single precision: double precision takes over, and the gap is still closed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 1000.0
    y = X[:, 0] + 0.3 * rng.normal(size=60) > 1000
    model = KernelSVM(1.0, kernel="linear", cache_size=0.01, max_epochs=200).fit(X, y)
    assert model.report_.gap <= 1e-4
    large = KernelSVM(1e-40, kernel=lambda A, B: 1e39 * (A @ B.T), cache_size=0.01).fit(X - 1000, y)
    assert large.report_.outcome == "solved"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_svm_refuses_what_it_cannot_do():
    X, y = make_moons(40, random_state=0)
    assert not hasattr(KernelSVM(), "partial_fit")
    for parameters in ({"C": 0.0}, {"C": -1.0}, {"tol": 0.0}, {"kernel": "cosine"}, {"multiclass": "multinomial"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            KernelSVM(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="kernel returned NaN"):
        KernelSVM(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)
    with pytest.raises(ValueError, match="overflows"):
        KernelSVM(kernel="poly", degree=40, gamma=1.0).fit(1000 * X.astype(np.float32), y)
    model = KernelSVM().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert "_state" not in vars(model)
    flat = KernelSVM(kernel="linear", fit_intercept=False).fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert flat.predict([[0.0, 0.0]]).tolist() == [0]


def test_svm_hard_case_of_the_lectures():
    """XOR: not separable by a plane, by a square it is."""
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), [-1, -1, 1, 1]
    model = KernelSVM(1e6, kernel="poly", degree=2, gamma=1.0, coef0=1.0, tol=1e-6).fit(X, y)
    assert model.predict(X).tolist() == y
    assert (np.abs(model.decision_function(X)) >= 1 - 1e-3).all()
    assert model.support_.tolist() == [0, 1, 2, 3]


def test_each_class_against_the_rest_votes_as_two_classes_do():
    X, y = load_iris(return_X_y=True)
    settings = {"keep": "vote", "order": "cyclic", "max_epochs": 3}
    scores = KernelPerceptron(multiclass="ovr", **settings).fit(X, y).decision_function(X)
    for k in range(3):
        alone = KernelPerceptron(**settings).fit(X, y == k)
        assert np.array_equal(scores[:, k], alone.decision_function(X))


@pytest.mark.parametrize("seed", range(30))
def test_a_step_of_a_pair_is_the_best_in_its_box(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(2, 2 if seed % 5 else 1))
    (a, c), (_, b) = A @ A.T  # of rank one for every fifth: no single best point
    r, s = rng.normal(size=2)
    low, down = -rng.random(2) * (rng.random(2) < 0.7)
    high, up = rng.random(2) * (rng.random(2) < 0.7)
    u, v = pair_step(a, b, c, r, s, (low, high, down, up))
    assert low <= u <= high
    assert down <= v <= up
    U, V = np.meshgrid(np.linspace(low, high, 201), np.linspace(down, up, 201))
    values = r * U + s * V - 0.5 * (a * U**2 + 2 * c * U * V + b * V**2)
    assert r * u + s * v - 0.5 * (a * u**2 + 2 * c * u * v + b * v**2) >= values.max() - 1e-12


@pytest.mark.compiled  # eight million steps
def test_a_gap_that_closes_slowly_is_not_given_up():
    """Features of unequal scales and a large C: in the end the gap closes because the primal falls."""
    model = KernelSVM(kernel="linear", C=1000.0, max_epochs=3000)
    model.fit(*load_wine(return_X_y=True))
    assert model.report_.outcome == "solved"
