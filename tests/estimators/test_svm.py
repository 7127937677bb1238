"""LinearSVM and Pegasos: quadratic programs, scikit-learn's optima, plain twins, contracts."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import LinearSVM, Pegasos
from rosenblatt.learn.best_intercept import best_intercept
from rosenblatt.objective.svm_dual import DualAscent

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FORMS = [np.asarray, sp.csr_array]


def order_dependent(estimator):
    """Only Pegasos feels the order of rows; the dual is solved to 1e-10."""
    if isinstance(estimator, LinearSVM):
        return {}
    reason = "compares fits on rows in different orders"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.compiled
@parametrize_with_checks(
    [LinearSVM(tol=1e-10), Pegasos(max_epochs=100)],
    expected_failed_checks=order_dependent,
)
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def blobs(n=50, d=4, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    y = np.argmax(X @ rng.normal(size=(d, classes)) + 0.5 * rng.normal(size=(n, classes)), axis=1)
    return X, y


def signed(y):
    return np.where(y == 1, 1.0, -1.0)


def primal(model, X, y, weight=1.0):
    """The objective, from its definition."""
    W, b = model.coef_, model.intercept_
    scale = model.intercept_scaling or np.inf if model.fit_intercept else 1.0
    total = 0.5 * (W**2).sum() + 0.5 * ((b / scale) ** 2).sum()
    f = X @ W.T + b
    if model.multiclass == "crammer_singer" and len(W) > 1:
        rivals = f + 1 - np.eye(len(W))[y]
        slack = rivals.max(axis=1) - f[np.arange(len(y)), y]
    else:
        sides = signed(y)[:, None] if len(W) == 1 else 2 * np.eye(len(W))[y] - 1
        slack = np.maximum(0, 1 - sides * f)
    losses = slack**2 if model.loss == "squared_hinge" else slack
    return total + model.C * (np.asarray(weight) * (losses.sum(axis=1) if losses.ndim == 2 else losses)).sum()


# -- quadratic programs ----------------------------------------------------------------------------------------------


def free_program(X, y, C, squared):
    """The minimum with a free intercept: LIBSVM's for the hinge, a quasi-Newton method's for its smooth square."""
    s = signed(y)
    if not squared:
        peer = SVC(kernel="linear", C=C, tol=1e-10).fit(X, y)
        w, b = peer.coef_[0], peer.intercept_[0]
        return 0.5 * w @ w + C * np.maximum(0, 1 - s * (X @ w + b)).sum()
    A = np.hstack([X, np.ones((len(y), 1))])

    def objective(v):
        slack = np.maximum(0, 1 - s * (A @ v))
        return 0.5 * v[:-1] @ v[:-1] + C * slack @ slack, np.append(v[:-1], 0) - 2 * C * (s * slack) @ A

    return minimize(objective, np.zeros(A.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9}).fun


def dual_program(X, y, C, scale, squared):
    """The dual objective's maximum, by a bounded quasi-Newton method on the quadratic program."""
    if scale is None:
        return free_program(X, y, C, squared)
    Z = signed(y)[:, None] * np.hstack([X, np.full((len(y), 1), scale)])
    Q = Z @ Z.T + (np.eye(len(y)) / (2 * C) if squared else 0)
    found = minimize(
        lambda a: (0.5 * a @ Q @ a - a.sum(), Q @ a - 1),
        np.zeros(len(y)),
        jac=True,
        bounds=[(0, None if squared else C)] * len(y),
        method="L-BFGS-B",
        options={"maxiter": 20_000, "maxfun": 200_000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return -found.fun


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("scale", [None, 1.0])
def test_svm_is_its_quadratic_program(scale, loss, C, form, shrinking):
    X, y = blobs()
    model = LinearSVM(loss=loss, C=C, intercept_scaling=scale, tol=1e-6, shrinking=shrinking, random_state=0)
    model.fit(form(X), y)
    best = dual_program(X, y, C, scale, loss == "squared_hinge")
    assert model.report_.outcome == "solved"
    assert 0 <= model.report_.gap <= 1e-6
    assert np.isclose(primal(model, X, y), best, rtol=3e-6)
    assert np.isclose(model.report_.objective, primal(model, X, y), rtol=1e-9)
    assert "gap closed" in str(model.report_)


@pytest.mark.parametrize("form", FORMS)
def test_gap_is_a_promise_kept(form):
    X, y = blobs(200, seed=3)
    for scale in (None, 1.0):
        best = dual_program(X, y, 1.0, scale, False)
        for tol in (0.1, 1e-2, 1e-3):
            model = LinearSVM(tol=tol, intercept_scaling=scale, random_state=0).fit(form(X), y)
            assert primal(model, X, y) <= best / (1 - model.report_.gap) + 1e-6
            assert model.report_.gap <= tol


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_a_free_intercept_is_found_at_every_scale_and_offset(scale):
    X, y = blobs(300, seed=1)
    for offset in (0.0, 3.0):
        Z = (X + offset) * scale
        for loss in ("hinge", "squared_hinge"):
            C = 0.1 / scale**2
            model = LinearSVM(loss=loss, C=C, tol=1e-4, random_state=0).fit(Z, y)
            assert (model.report_.outcome, model.n_iter_ < 2000) == ("solved", True)
            assert primal(model, Z, y) <= free_program(Z, y, C, loss == "squared_hinge") * (1 + 2e-4)


def test_the_machine_of_the_lectures():
    """KTH's rows with C = 1: the slide's programme has w = (0.2297, 1.3784) = (17, 102)/74, b = 96/74."""
    X = np.array([[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]])
    model = LinearSVM(tol=1e-9, random_state=0).fit(X, [1, 1, 1, -1, -1, -1])
    assert np.allclose(74 * model.coef_[0], [17, 102], atol=1e-4)
    assert np.allclose(74 * model.intercept_, 96, atol=1e-4)
    assert np.isclose(model.report_.objective, 1.02364865, atol=1e-7)
    assert abs(model.dual_coef_.sum()) < 1e-12


def test_classes_together_have_free_intercepts_too():
    """Against the primal by a smooth approximation from below, and classes that are mirrored, whose b are mirrored."""
    X, y = blobs(60, classes=3)
    model = LinearSVM(multiclass="crammer_singer", C=0.1, tol=1e-4, random_state=0).fit(X + 1.0, y)
    assert model.report_.outcome == "solved"
    assert np.allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-9)
    eye = np.eye(3)[y]

    def below(v, sharp=1e3):
        W, b = v[:-3].reshape(3, -1), v[-3:]
        f = (X + 1.0) @ W.T + b
        G = sharp * (f + 1 - eye - (f * eye).sum(axis=1, keepdims=True))
        soft = (logsumexp(G, axis=1) - np.log(3)) / sharp
        p = np.exp(G - logsumexp(G, axis=1, keepdims=True)) - eye
        grad = np.append((W + 0.1 * p.T @ (X + 1.0)).ravel(), 0.1 * p.sum(axis=0))
        return 0.5 * (W**2).sum() + 0.1 * soft.sum(), grad

    least = minimize(below, np.zeros(15), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 20000})
    mine = primal(model, X + 1.0, y)
    assert least.fun - 1e-6 <= mine <= (least.fun + 0.1 * 60 * np.log(3) / 1e3) * (1 + 2e-4)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_the_best_intercept_is_the_best(n, seed, squared, whole):
    rng = np.random.default_rng(seed)
    f = rng.integers(-3, 4, n).astype(float) if whole else rng.normal(size=n)
    positive, C = rng.random(n) < 0.5, rng.random(n) + 0.1
    side = np.where(positive, 1.0, -1.0)

    def loss(b):
        xi = np.maximum(0, 1 - side * (f + b))
        return C @ (xi**2 if squared else xi)

    b = best_intercept(f, positive, C, squared)
    assert loss(b) <= min(map(loss, [*np.linspace(b - 5, b + 5, 201), b - 1e-3, b + 1e-3])) + 1e-9


@pytest.mark.compiled
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("loss", "multiclass"), [("hinge", "ovr"), ("squared_hinge", "ovr"), ("hinge", "crammer_singer")]
)
def test_svm_of_many_classes_is_that_of_scikit_learn(loss, multiclass, form):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    model = LinearSVM(loss=loss, multiclass=multiclass, C=0.3, intercept_scaling=1.0, tol=1e-6, random_state=0)
    model.fit(form(X), y)
    peer = LinearSVC(loss=loss, multi_class=multiclass, C=0.3, tol=1e-9, dual=True, max_iter=10**6).fit(X, y)
    ours = primal(model, X, y)
    model.coef_, model.intercept_ = peer.coef_, peer.intercept_
    assert np.isclose(ours, primal(model, X, y), rtol=2e-6)


@pytest.mark.compiled
def test_svm_of_two_classes_is_that_of_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for scale in (1.0, 5.0):
        model = LinearSVM(loss="squared_hinge", C=0.5, intercept_scaling=scale, tol=1e-8).fit(X, y)
        peer = LinearSVC(C=0.5, intercept_scaling=scale, tol=1e-10, dual=True, max_iter=10**6).fit(X, y)
        assert np.allclose(model.coef_, peer.coef_, atol=1e-3)
        assert np.allclose(model.intercept_, peer.intercept_, atol=1e-3)


@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize("multiclass", ["ovr", "crammer_singer"])
@pytest.mark.parametrize("form", FORMS)
def test_support_vectors_make_the_plane(form, multiclass, scale):
    for classes in (2, 3):
        X, y = blobs(classes=classes)
        how = {"multiclass": multiclass, "intercept_scaling": scale, "tol": 1e-4, "random_state": 0}
        model = LinearSVM(**how).fit(form(X), y)
        assert np.allclose(model.dual_coef_ @ X[model.support_], model.coef_)
        assert np.allclose(model.dual_coef_.sum(axis=1), 0 if scale is None else model.intercept_)
        assert model.dual_coef_.shape == (len(model.coef_), len(model.support_))
        assert 0 < len(model.support_) < len(y)
        rest = np.setdiff1d(np.arange(len(y)), model.support_)
        alone = LinearSVM(**how).fit(X[model.support_], y[model.support_])
        assert np.isclose(primal(alone, X[model.support_], y[model.support_]), primal(model, X, y), rtol=2e-3)
        assert rest.size


@pytest.mark.parametrize("form", FORMS)
def test_labels_by_indicator_are_a_machine_each(form):
    X, _ = blobs()
    Y = (X[:, :3] > 0.2).astype(int)
    model = LinearSVM(tol=1e-7, random_state=0).fit(form(X), Y)
    assert model.predict(X).shape == Y.shape
    for k in range(3):
        one = LinearSVM(tol=1e-7, random_state=0).fit(form(X), Y[:, k])
        assert np.allclose(one.coef_[0], model.coef_[k], atol=2e-2)


def test_empty_rows_and_no_intercept():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.5]])
    y = np.array([1, 1, 0])
    for loss in ("hinge", "squared_hinge"):
        for form in FORMS:
            model = LinearSVM(loss=loss, fit_intercept=False, tol=1e-8).fit(form(X), y)
            assert model.intercept_[0] == 0
            assert model.report_.outcome == "solved"
    together = LinearSVM(multiclass="crammer_singer", fit_intercept=False, tol=1e-6).fit(
        np.vstack([X, -X]), [0, 1, 2] * 2
    )
    assert np.isfinite(together.coef_).all()


# -- Pegasos ---------------------------------------------------------------------------------------------------------


def pegasos_twin(X, y, lam, k, project, intercept, epochs):
    """The paper's figures 1 and 2, in plain NumPy; the intercept is one more feature."""
    Z = np.hstack([X, np.full((len(y), 1), float(intercept))])
    w, t = np.zeros(Z.shape[1]), 0
    for _ in range(epochs):
        for begin in range(0, len(y), k):
            t += 1
            A, s = Z[begin : begin + k], signed(y)[begin : begin + k]
            wrong = s * (A @ w) < 1
            w = (1 - 1 / t) * w + (s[wrong] @ A[wrong]) / (lam * t * len(A))
            if project:
                w = w * min(1, 1 / (np.sqrt(lam) * np.linalg.norm(w))) if w.any() else w
    return w


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("project", [True, False])
@pytest.mark.parametrize("k", [1, 7, 50])
def test_pegasos_is_its_plain_twin(k, project, intercept, form):
    X, y = blobs()
    model = Pegasos(
        alpha=0.05, batch_size=k, project=project, fit_intercept=intercept, order="cyclic", max_epochs=3, tol=0
    ).fit(form(X), y)
    w = pegasos_twin(X, y, 0.05, k, project, intercept, 3)
    assert np.allclose(model.coef_[0], w[:-1])
    assert np.allclose(model.intercept_[0], w[-1] if intercept else 0)
    if project:
        assert np.linalg.norm(np.append(model.coef_, model.intercept_)) <= 1 / np.sqrt(0.05) + 1e-9


@pytest.mark.compiled
@pytest.mark.parametrize("project", [True, False])
def test_pegasos_comes_near_the_machine(project):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    C = 0.1
    best = LinearSVM(C=C, intercept_scaling=1.0, tol=1e-5).fit(X, y).report_.objective / (C * len(y))
    model = Pegasos(alpha=1 / (len(y) * C), project=project, max_epochs=200, tol=0, random_state=0).fit(X, y)
    slack = np.maximum(0, 1 - signed(y) * model.decision_function(X)).mean()
    mine = slack + 0.5 * ((model.coef_**2).sum() + (model.intercept_**2).sum()) / (len(y) * C)
    assert best * (1 - 1e-4) <= mine <= 1.02 * best


def test_pegasos_says_how_it_ended():
    X, y = blobs(200)
    model = Pegasos(alpha=0.05, tol=1e-2, n_iter_no_change=2, random_state=0).fit(X, y)
    assert model.report_.outcome == "stalled"
    slack = np.maximum(0, 1 - signed(y) * model.decision_function(X)).mean()
    norm2 = (model.coef_**2).sum() + (model.intercept_**2).sum()
    assert np.isclose(model.report_.objective, slack + 0.5 * 0.05 * norm2)


def test_pegasos_interrupted_goes_back_to_the_last_epoch(monkeypatch):
    from rosenblatt.objective import pegasos

    X, y = blobs()
    run, calls = pegasos.pegasos_steps, []

    def steps(*arguments):
        calls.append(1)
        run(*arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(pegasos, "pegasos_steps", steps)
    model = Pegasos(alpha=0.05, random_state=0, tol=0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.report_.outcome == "interrupted"
    assert np.array_equal(model.coef_, Pegasos(alpha=0.05, random_state=0, tol=0, max_epochs=2).fit(X, y).coef_)


def test_pegasos_of_many_classes_is_one_machine_each():
    X, y = blobs(classes=3)
    model = Pegasos(alpha=0.05, order="cyclic", max_epochs=2, tol=0).fit(X, y)
    for k in range(3):
        assert np.allclose(model.coef_[k], pegasos_twin(X, (y == k).astype(int), 0.05, 1, False, True, 2)[:-1])


def test_pegasos_weights_are_repeats():
    X, y = blobs()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    for k in (1, 5):
        model = Pegasos(alpha=0.05, batch_size=k, order="cyclic", max_epochs=2)
        one, other = clone(model).fit(X, y, sample_weight=weight), clone(model).fit(X[again], y[again])
        assert np.allclose(one.coef_, other.coef_)
    half = clone(model).fit(X, y, sample_weight=np.full(len(y), 0.5))
    assert np.isfinite(half.coef_).all()


# -- contracts -------------------------------------------------------------------------------------------------------

KINDS = [
    LinearSVM(tol=1e-7, random_state=0),
    LinearSVM(tol=1e-7, loss="squared_hinge", random_state=0),
    Pegasos(alpha=0.05, random_state=0, max_epochs=3, tol=0),
]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_is_dense_and_the_dtype_is_kept(kind, classes):
    X, y = blobs(classes=classes)
    dense = clone(kind).fit(X, y)
    assert np.allclose(clone(kind).fit(sp.csr_array(X), y).coef_, dense.coef_, atol=1e-3)
    narrow = clone(kind).fit(X.astype(np.float32), y)
    assert narrow.coef_.dtype == np.float32
    assert np.allclose(narrow.coef_, dense.coef_, atol=1e-2)


def test_weights_are_shares_of_C():
    X, y = blobs()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    again = np.repeat(np.arange(len(y)), weight.astype(int))
    one = LinearSVM(tol=1e-8, random_state=0).fit(X, y, sample_weight=weight)
    other = LinearSVM(tol=1e-8, random_state=0).fit(X[again], y[again])
    assert np.allclose(one.coef_, other.coef_, atol=1e-3)
    assert (weight[one.support_] > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bits_and_copies_agree(kind):
    X, y = blobs(classes=3)
    model, other = clone(kind).fit(X, y), clone(kind).fit(X, y)
    assert np.array_equal(model.coef_, other.coef_)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    assert copy.report_ == model.report_


def test_pegasos_epochs_one_by_one_are_one_fit():
    X, y = blobs(classes=3)
    step = clone(KINDS[2])
    for _ in range(3):
        step.partial_fit(X, y)
    assert np.array_equal(step.coef_, clone(KINDS[2]).fit(X, y).coef_)


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_that_raises_leaves_the_model(kind):
    X, y = blobs()
    model = clone(kind).fit(X, y)
    before = {name: pickle.dumps(part) for name, part in vars(model).items()}
    with pytest.raises(ValueError, match="1 class"):
        model.fit(X, np.zeros(len(y)))
    assert {name: pickle.dumps(part) for name, part in vars(model).items()} == before


def test_a_spent_budget_is_told_with_its_gap():
    X, y = blobs(300)
    with pytest.warns(ConvergenceWarning, match="spent its budget of 2 epochs before its relative duality gap"):
        model = LinearSVM(C=100.0, max_epochs=2, tol=1e-9, random_state=0).fit(X, y)
    assert model.report_.outcome == "budget"
    assert model.report_.gap > 1e-9


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVM(C=0.0), "'C' parameter"),
        (LinearSVM(tol=0.0), "'tol' parameter"),
        (LinearSVM(loss="log"), "'loss' parameter"),
        (LinearSVM(intercept_scaling=0.0), "'intercept_scaling' parameter"),
        (LinearSVM(multiclass="crammer_singer", loss="squared_hinge"), 'loss="hinge"'),
        (Pegasos(alpha=0.0), "'alpha' parameter"),
        (Pegasos(batch_size=0), "'batch_size' parameter"),
        (Pegasos(alpha=-1.0), "'alpha' parameter"),
    ],
)
def test_bad_parameters_are_named(model, message):
    X, y = blobs()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_a_dual_takes_no_pieces():
    assert not hasattr(LinearSVM(), "partial_fit")


def test_an_interrupted_solver_leaves_nothing_behind(monkeypatch):
    X, y = blobs()

    def stop(self, dtype):
        raise KeyboardInterrupt

    monkeypatch.setattr("rosenblatt.objective.svm_dual.DualAscent.closed", stop)
    model = LinearSVM()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_pass_broken_off_leaves_the_last_whole_one(form, classes, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = form(rng.normal(size=(80, 4))), rng.integers(0, classes, size=80)
    knobs = {"C": 10.0, "tol": 1e-9, "random_state": 0}
    model = LinearSVM(**knobs).fit(X, y)
    sweep, passes = DualAscent.sweep, []

    def broken(self, epoch, seed):
        made = sweep(self, epoch, seed)
        passes.append(epoch)
        if len(passes) == 3:
            raise KeyboardInterrupt
        return made

    with monkeypatch.context() as patch:
        patch.setattr(DualAscent, "sweep", broken)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    whole = LinearSVM(**knobs, max_epochs=2).fit(X, y)
    assert (model.report_.outcome, model.n_iter_, model.report_.updates) == ("interrupted", 2, whole.report_.updates)
    assert np.array_equal(model.coef_, whole.coef_)
    assert np.array_equal(model.intercept_, whole.intercept_)
    assert np.array_equal(model.support_, whole.support_)
    assert np.array_equal(model.dual_coef_, whole.dual_coef_)
    assert np.array_equal(model.predict(X), whole.predict(X))


def test_pegasos_is_not_done_before_its_bound_says_anything():
    """One step a pass, λ = 0.1: for a thousand passes F may lie far above what w = 0 gives, and says nothing."""
    X, y = load_iris(return_X_y=True)
    model = Pegasos(alpha=0.1, batch_size=1000, max_epochs=20_000, random_state=0).fit(X, y == 1)
    assert len(model.report_.epochs) > 1000
    best = LinearSVM(C=1.0 / (0.1 * 150), intercept_scaling=1.0, tol=1e-6).fit(X, y == 1).report_.objective * 0.1
    assert model.report_.objective < 2.0 * best
