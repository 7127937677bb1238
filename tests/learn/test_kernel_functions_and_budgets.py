"""Kernel functions, and perceptrons whose support stays within a budget."""

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_cases import SQUARE, draw, fitted
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import pairwise_kernels

from family import contents
from rosenblatt import KernelPerceptron
from rosenblatt.kernel.functions import Kernel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- kernels ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("linear", {}),
        ("poly", {"degree": 3.0, "gamma": 0.5, "coef0": 1.0}),
        ("poly", {"degree": 2.0, "gamma": 1.0, "coef0": 0.0}),
        ("poly", {"degree": 1.0, "gamma": 2.0, "coef0": 0.5}),
        ("rbf", {"gamma": 0.3}),
    ],
)
def test_kernels_are_those_of_scikit_learn(kind, settings, form):
    X, _ = draw(2)
    A, B = form(X[:20]), form(X[20:])
    kernel = Kernel(kind, **settings)
    named = {name: value for name, value in settings.items() if kind != "linear"}
    expected = pairwise_kernels(X[:20], X[20:], metric={"poly": "polynomial"}.get(kind, kind), **named)
    assert np.allclose(kernel.block(A, B), expected)
    own = pairwise_kernels(X[:20], metric={"poly": "polynomial"}.get(kind, kind), **named)
    assert np.allclose(kernel.diagonal(A), np.diag(own))
    assert np.allclose(Kernel(kind, **settings, shift=2.0).block(A, B), expected + 2.0)
    coef = np.random.default_rng(0).normal(size=(30, 2))
    assert np.allclose(kernel.score(A, B, coef), expected @ coef)


def test_half_powers_and_gamma_by_name():
    X, y = draw(2)
    X = np.abs(X)
    assert np.allclose(Kernel("poly", 1.5, 1.0, 1.0).block(X, X), (X @ X.T + 1) ** 1.5)
    for gamma, value in (("scale", 1 / (4 * X.var())), ("auto", 0.25), (0.7, 0.7)):
        for form in (np.asarray, sp.csr_array):
            assert KernelPerceptron(gamma=gamma, max_epochs=1).fit(form(X), y)._state.kernel.gamma == pytest.approx(
                value
            )
    keep = np.arange(len(y)) % 3 > 0
    weighed = KernelPerceptron(max_epochs=1).fit(X, y, sample_weight=keep.astype(float))
    assert weighed._state.kernel.gamma == pytest.approx(1 / (4 * X[keep].var()))
    assert KernelPerceptron(max_epochs=1).fit(np.ones((4, 2)), [0, 1, 0, 1])._state.kernel.gamma == 1.0


def test_callable_kernel_is_the_built_in_one():
    X, y = draw(3)
    own = KernelPerceptron(lambda A, B: (A @ B.T + 1) ** 2, order="cyclic", max_epochs=3).fit(X, y)
    assert np.array_equal(own.decision_function(X), fitted(X, y).decision_function(X))
    assert own.report_.radius == fitted(X, y).report_.radius


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda A, B: np.where(A @ B.T > 20, np.nan, 1.0), "kernel returned NaN"),
        (lambda A, B: np.full((len(A), len(B)), np.inf), "kernel returned infinity"),
        (lambda A, B: np.ones(3), "kernel returned shape"),
    ],
)
def test_bad_kernels_are_refused(kernel, message):
    X, y = draw(2)
    model = KernelPerceptron(max_epochs=2, random_state=0).fit(X, y)
    before = {name: value for name, value in contents(model).items() if name != "kernel"}
    model.kernel = kernel
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    model.kernel = "rbf"
    assert {name: value for name, value in contents(model).items() if name != "kernel"} == before


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_overflow_is_refused():
    X, y = draw(2)
    for budget in (None, 5):
        with pytest.raises(ValueError, match="overflows"):
            KernelPerceptron("poly", degree=30, gamma=1.0, coef0=1.0, max_support=budget).fit(
                X.astype(np.float32) * 100, y
            )


# -- budgets ---------------------------------------------------------------------------------------------------------


def forgetron(G, sides, order, budget):
    """ALGORITHMS: Dekel, Shalev-Shwartz and Singer, in plain Python; (row, β) of the support, mistakes."""
    support, Q, M = [], 0.0, 0

    def f(t):
        return sum(b * G[j][t] for j, b in support)

    for t in order:
        if sides[t] * f(t) > 0:
            continue
        support.append((t, float(sides[t])))
        M += 1
        if len(support) > budget:
            r, b = support[0]
            p = f(r)
            grid = np.linspace(0, 1, 200001)[1:]
            able = grid[(b * b - 2 * b * p) * grid**2 + 2 * abs(b) * grid + Q - 15 / 32 * M <= 1e-12]
            phi = float(able.max())
            support = [(j, phi * value) for j, value in support]
            e = abs(support[0][1])
            Q += e * e + 2 * e - 2 * e * np.sign(support[0][1]) * f(r)
            support = support[1:]
    return support, M


def projectron(G, sides, order, budget, eta):
    """Orabona, Keshet and Caputo, with a fresh inverse each time."""
    S, beta, updates = [], np.zeros(0), 0
    for t in order:
        k = np.array([G[j][t] for j in S])
        margin = sides[t] * float(beta @ k) if S else 0.0
        if margin >= 1:
            continue
        c = np.linalg.solve(np.array([[G[i][j] for j in S] for i in S]), k) if S else np.zeros(0)
        delta = max(G[t][t] - float(k @ c), 0.0)
        full = len(S) >= budget
        if margin <= 0:
            if delta <= eta or full:
                beta = beta + sides[t] * c
            else:
                S, beta = [*S, t], np.append(beta, float(sides[t]))
            updates += 1
        else:
            loss, P = 1 - margin, G[t][t] - delta
            far = 0.0 if full else delta / eta
            if loss > far and P > 0:
                beta = beta + min(loss / P, 1.0, 2 * (loss - far) / P) * sides[t] * c
                updates += 1
    return S, beta, updates


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("budget", [1, 3, 8, 1000])
def test_forgetron_is_its_slow_twin(budget, form):
    X, y = make_moons(60, noise=0.3, random_state=0)
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    sides = 2 * y - 1
    support, mistakes = forgetron(G, sides, [*range(60)] * 3, budget)
    model = KernelPerceptron(gamma=1.0, max_support=budget, when_full="forgetron", order="cyclic", max_epochs=3).fit(
        form(X), y
    )
    assert model.report_.updates == mistakes
    assert model.dual_coef_.shape[1] == len(support) <= budget
    expected = sum(b * G[j] for j, b in support)
    assert np.allclose(model.decision_function(X), expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("eta", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("budget", [1, 5, 1000])
def test_projectron_is_its_slow_twin(budget, eta, form):
    X, y = make_moons(60, noise=0.3, random_state=0)
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    S, beta, updates = projectron(G, 2 * y - 1, [*range(60)] * 3, budget, eta)
    model = KernelPerceptron(gamma=1.0, max_support=budget, projection_tol=eta, order="cyclic", max_epochs=3).fit(
        form(X), y
    )
    assert model.report_.updates == updates
    assert model.dual_coef_.shape[1] == len(S) <= budget
    assert np.allclose(model.decision_function(X), beta @ G[S], atol=1e-7)


def test_budgets_do_not_depend_on_the_scale_of_the_kernel():
    X, y = make_moons(80, noise=0.2, random_state=1)
    for rule in ("forgetron", "projectron++"):
        settings = {"max_support": 6, "when_full": rule, "order": "cyclic", "max_epochs": 2}
        one = KernelPerceptron(lambda A, B: (A @ B.T + 1) ** 3, **settings).fit(X, y)
        other = KernelPerceptron(lambda A, B: 7 * (A @ B.T + 1) ** 3, **settings).fit(X, y)
        assert np.allclose(one.decision_function(X), other.decision_function(X))
        assert one.report_.bound is None
        assert one.score(X, y) > 0.6


def test_a_budget_keeps_the_contracts():
    X, y = draw(3)
    for rule in ("forgetron", "projectron++"):
        for multiclass in ("ovr", "ovo"):
            make = KernelPerceptron(
                **SQUARE,
                max_support=7,
                when_full=rule,
                multiclass=multiclass,
                max_epochs=3,
                random_state=0,
                projection_tol=0.0,
            )
            whole, pieces = clone(make).fit(X, y), clone(make)
            for _ in range(3):
                pieces.partial_fit(X, y)
            assert np.allclose(whole.decision_function(X), pieces.decision_function(X))
            for one in whole._state.machines:
                assert one.beta.size <= 7
            assert whole.report_.updates == pieces.report_.updates
            mixed = clone(make).partial_fit(X, y).partial_fit(sp.csr_array(X), y).partial_fit(X, y)
            assert np.allclose(mixed.decision_function(X), whole.decision_function(X))
            pieces.partial_fit(3 * X, y)  # larger rows than before: units follow
            assert pieces.report_.radius > whole.report_.radius
            weight = np.random.default_rng(0).integers(0, 3, len(y))
            ordered = clone(make).set_params(order="cyclic")
            weighed = clone(ordered).fit(X, y, sample_weight=weight)
            copied = clone(ordered).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
            assert np.allclose(weighed.decision_function(X), copied.decision_function(X))
    small = KernelPerceptron(max_support=30, multiclass="ovr", record_errors=True, random_state=0).fit(
        np.eye(3), [0, 1, 2]
    )
    assert small.report_.outcome == "separated"
    assert small.report_.epochs[-1].errors == 0
    unordered = KernelPerceptron(max_support=30, multiclass="ovr", order="random", random_state=0).fit(
        np.eye(3), [0, 1, 2]
    )
    assert unordered.report_.errors == 0
