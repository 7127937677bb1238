"""The perceptron with kernels: the slow twins, exact counts, budgets."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

from family import contents
from rosenblatt import KernelPerceptron, KernelSVM, Perceptron
from rosenblatt.learn.kernel import perceptron as kernel_machines
from rosenblatt.learn.kernel.functions import GrowingRows, Kernel

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SQUARE = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}


def order_dependent(estimator):
    reason = "compares fits on rows in different orders"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@pytest.mark.compiled
@parametrize_with_checks(
    [
        KernelPerceptron(max_epochs=100),
        KernelPerceptron(keep="vote", multiclass="ovr", max_epochs=5),
        KernelPerceptron(budget=20, multiclass="ovo", max_epochs=10),
        KernelSVM(),
        KernelSVM(multiclass="ovo"),
    ],
    expected_failed_checks=order_dependent,
)
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def draw(classes, rows=50, seed=0):
    """Whole numbers, classes that a square separates, but for a few rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(rows, 4)).astype(float)
    X[rng.random(X.shape) < 0.3] = 0.0
    scores = np.column_stack([X, X**2]) @ rng.normal(size=(8, classes)) + rng.normal(size=(rows, classes))
    y = np.argmax(scores, axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def square(x, z):
    return (1.0 + sum(p * q for p, q in zip(x, z, strict=True))) ** 2


def fitted(X, y, **settings):
    return KernelPerceptron(**{**SQUARE, "order": "cyclic", "max_epochs": 3, **settings}).fit(X, y)


# -- the slow twin ---------------------------------------------------------------------------------------------------


class Twin:
    """The kernel perceptron of two classes with everything written out: all β there ever were."""

    def __init__(self, K, bias=0.0):
        self.K, self.bias, self.steps, self.ballots, self.visits, self.sums = K, bias, [], [(0, [])], 0, {}

    def f(self, x, steps=None):
        return sum(s * (self.K(z, x) + self.bias) for z, s in (self.steps if steps is None else steps))

    def visit(self, x, side):
        self.visits += 1
        if side * self.f(x) <= 0:
            self.steps = [*self.steps, (x, side)]
            self.ballots.append((0, self.steps))
            return 1
        self.ballots[-1] = (self.ballots[-1][0] + 1, self.steps)
        return 0

    def votes(self, x):
        return sum(count * (1 if self.f(x, steps) > 0 else -1) for count, steps in self.ballots)


def averaged(trail, x, K):
    return np.mean([sum(s * K(z, x) for z, s in steps) for steps in trail])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("keep", ["last", "average", "vote"])
@pytest.mark.parametrize("task", ["binary", "ovr", "ovo", "labels"])
def test_learner_is_its_slow_twin(task, keep, form):
    classes = 2 if task == "binary" else 3
    X, y = draw(classes, rows=24)
    if task == "labels":
        y = np.column_stack([y == 0, y != 2]).astype(int)
    pairs = {"binary": [(0, 1)], "ovo": [(0, 1), (0, 2), (1, 2)], "ovr": [(None, k) for k in range(3)], "labels": []}[
        task
    ]
    sides = [np.where(y == b, 1, np.where(y == a, -1, 0 if a is not None else -1)) for a, b in pairs]
    if task == "labels":
        sides = [2 * y[:, k] - 1 for k in range(2)]
    model = fitted(form(X), y, keep=keep, multiclass="ovr" if task == "labels" else task if task != "binary" else "ovo")
    raw = model._kept.raw(model._rows(form(X))[0], np.arange(24, dtype=np.uint64), 4)
    total = 0
    for k, mine in enumerate(sides):
        twin, trail = Twin(square), []
        for _ in range(3):
            made = 0
            for x, side in zip(X.tolist(), mine.tolist(), strict=True):
                if side:
                    made += twin.visit(x, side)
                    trail.append(twin.steps)
            total += made
        for t, x in enumerate(X.tolist()):
            if keep == "last":
                assert raw[t, k] == twin.f(x)
            elif keep == "vote":
                assert raw[t, k] == twin.votes(x)
            else:
                assert raw[t, k] == pytest.approx(averaged(trail, x, square), rel=1e-9)
    assert model.report_.updates == total


@pytest.mark.parametrize("keep", ["last", "average", "vote"])
def test_many_classes_in_one_pass_are_their_slow_twin(keep):
    X, y = draw(3, rows=24)
    rows = X.tolist()
    model = fitted(X, y, keep=keep)
    beta = [[0.0] * 3 for _ in rows]
    trail, updates = [], 0
    for _ in range(3):
        for t, true in enumerate(y.tolist()):
            scores = [sum(beta[j][k] * square(rows[j], rows[t]) for j in range(24)) for k in range(3)]
            said = max(range(3), key=lambda k: (scores[k], -k))
            if said != true:
                beta[t][true] += 1
                beta[t][said] -= 1
                updates += 1
            trail.append((said == true, [list(row) for row in beta]))
    assert model.report_.updates == updates
    G = np.array([[square(a, b) for b in rows] for a in rows])
    found = model.decision_function(X)
    if keep == "last":
        assert np.array_equal(found, G @ np.array(beta))
    elif keep == "average":
        assert np.allclose(found, G @ np.mean([b for _, b in trail], axis=0))
    else:
        votes = np.zeros((24, 3))
        for right, b in trail:
            if right:
                votes[np.arange(24), np.argmax(G @ np.array(b), axis=1)] += 1
        assert np.array_equal(found, votes)


@pytest.mark.compiled
def test_digits_count_exactly():
    """8 against the rest, (1 + x·x′)², file order: 878 mistakes, 59 epochs, 232 support rows."""
    X, y = load_digits(return_X_y=True)
    for cache in (200, 0, 1):
        model = KernelPerceptron(**SQUARE, order="cyclic", cache_size=cache).fit(X, y == 8)
        assert (model.report_.updates, model.n_iter_, model.support_vectors_.shape[0]) == (878, 59, 232)
        assert (model.report_.outcome, model.report_.errors) == ("converged", 0)
        assert model.report_.bound >= 878
    assert np.abs(model.dual_coef_).sum() <= 878


@pytest.mark.parametrize("bias_step", ["unit", "radius"])
def test_linear_kernel_is_the_perceptron(bias_step):
    X, y = draw(2, rows=30)
    for keep in ("last", "average", "vote"):
        for fit_intercept in (True, False):
            settings = {"keep": keep, "fit_intercept": fit_intercept, "bias_step": bias_step, "max_epochs": 4}
            dual = KernelPerceptron("linear", order="cyclic", **settings).fit(X, y)
            primal = Perceptron(order="cyclic", **settings).fit(X, y)
            assert np.allclose(dual.decision_function(X), primal.decision_function(X), rtol=1e-9)
            assert dual.report_.updates == primal.report_.updates
            assert dual.report_.errors == primal.report_.errors
            assert dual.report_.radius == pytest.approx(primal.report_.radius)
            if keep == "last":
                assert dual.report_.margin == pytest.approx(primal.report_.margin)
                assert np.allclose(dual.intercept_, primal.intercept_)
                assert np.allclose(dual.dual_coef_ @ dual.support_vectors_, primal.coef_)


def test_bound_and_margin_are_those_of_the_space():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    for keep in ("last", "average", "vote"):
        model = KernelPerceptron(**SQUARE, keep=keep, order="cyclic", max_epochs=100).fit(X, [0, 0, 1, 1])
        assert model.report_.outcome == "converged"
        assert model.report_.updates <= model.report_.bound
        assert (model.report_.margin is None) == (keep == "vote")
    linear = KernelPerceptron("linear", fit_intercept=True, order="cyclic").fit(X[:3], [0, 0, 1])
    primal = Perceptron(order="cyclic").fit(X[:3], [0, 0, 1])
    assert linear.report_.bound == pytest.approx(primal.report_.bound)
    three = KernelPerceptron("linear", order="cyclic").fit(np.eye(3), [0, 1, 2])
    assert three.report_.bound == pytest.approx(
        Perceptron(fit_intercept=False, order="cyclic").fit(np.eye(3), [0, 1, 2]).report_.bound
    )


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
            KernelPerceptron("poly", degree=30, gamma=1.0, coef0=1.0, budget=budget).fit(X.astype(np.float32) * 100, y)


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
    model = KernelPerceptron(gamma=1.0, budget=budget, budget_rule="forgetron", order="cyclic", max_epochs=3).fit(
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
    model = KernelPerceptron(gamma=1.0, budget=budget, eta=eta, order="cyclic", max_epochs=3).fit(form(X), y)
    assert model.report_.updates == updates
    assert model.dual_coef_.shape[1] == len(S) <= budget
    assert np.allclose(model.decision_function(X), beta @ G[S], atol=1e-7)


def test_budgets_do_not_depend_on_the_scale_of_the_kernel():
    X, y = make_moons(80, noise=0.2, random_state=1)
    for rule in ("forgetron", "projectron++"):
        settings = {"budget": 6, "budget_rule": rule, "order": "cyclic", "max_epochs": 2}
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
                **SQUARE, budget=7, budget_rule=rule, multiclass=multiclass, max_epochs=3, random_state=0, eta=0.0
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
    small = KernelPerceptron(budget=30, multiclass="ovr", record_errors=True, random_state=0).fit(np.eye(3), [0, 1, 2])
    assert small.report_.outcome == "converged"
    assert small.report_.epochs[-1].errors == 0
    unordered = KernelPerceptron(budget=30, multiclass="ovr", order="random", random_state=0).fit(np.eye(3), [0, 1, 2])
    assert unordered.report_.errors == 0


# -- contracts -------------------------------------------------------------------------------------------------------

VARIANTS = [
    {"keep": keep, "multiclass": multiclass}
    for keep in ("last", "average", "vote")
    for multiclass in ("multinomial", "ovr", "ovo")
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))
def test_contracts(variant):
    X, y = draw(3)
    make = KernelPerceptron(**SQUARE, **variant, max_epochs=3, random_state=5)
    whole, pieces = clone(make).fit(X, y), clone(make)
    for _ in range(3):
        pieces.partial_fit(X, y)
    assert np.array_equal(whole.decision_function(X), pieces.decision_function(X))
    assert whole.report_.updates == pieces.report_.updates
    assert whole.support_vectors_.shape == pieces.support_vectors_.shape
    assert np.array_equal(clone(make).fit(sp.csr_array(X), y).decision_function(X), whole.decision_function(X))
    ordered = clone(make).set_params(order="cyclic", max_epochs=1)
    parts = clone(ordered).partial_fit(X[:20], y[:20], classes=[0, 1, 2])
    parts.partial_fit(sp.csr_array(X[20:35]), y[20:35]).partial_fit(X[35:], y[35:])
    assert np.array_equal(parts.decision_function(X), clone(ordered).fit(X, y).decision_function(X))
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    ordered.set_params(max_epochs=3)
    weighed = clone(ordered).fit(X, y, sample_weight=weight)
    copied = clone(ordered).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.allclose(weighed.decision_function(X), copied.decision_function(X), rtol=1e-12)
    absent = clone(make).fit(X, y, sample_weight=(weight > 0).astype(float))
    assert np.array_equal(
        absent.decision_function(X), clone(make).fit(X[weight > 0], y[weight > 0]).decision_function(X)
    )
    copy = pickle.loads(pickle.dumps(whole))
    assert np.array_equal(copy.partial_fit(X, y).decision_function(X), whole.partial_fit(X, y).decision_function(X))
    clean = clone(make).fit(X, y)
    errors = np.count_nonzero(clean.predict(X) != y)
    assert clean.report_.errors == errors


@pytest.mark.parametrize("order", ["shuffle", "cyclic", "random", "explicit"])
def test_orders(order):
    X, y = make_moons(60, noise=0.05, random_state=0)
    order = np.random.default_rng(0).permutation(60) if order == "explicit" else order
    model = KernelPerceptron(gamma=5.0, order=order, record_errors=True, random_state=0).fit(X, y)
    assert (model.report_.outcome, model.report_.errors) == ("converged", 0)
    assert model.report_.epochs[-1].errors == 0
    with pytest.raises(ValueError, match="order names row 60"):
        KernelPerceptron(order=[60]).fit(X, y)


def test_blocks_and_logs_of_any_size_are_the_same(monkeypatch):
    X, y = draw(3, rows=90)
    weight = np.random.default_rng(0).integers(0, 5, 90).astype(float)
    for keep in ("last", "vote"):
        for multiclass in ("ovr", "multinomial"):
            expected = fitted(X, y, keep=keep, multiclass=multiclass)
            heavy = KernelPerceptron(**SQUARE, keep=keep, multiclass=multiclass, order="cyclic", max_epochs=3)
            heavy = heavy.fit(X, y, sample_weight=weight).decision_function(X)
            with monkeypatch.context() as patch:
                patch.setattr(kernel_machines, "BLOCK", 7)
                patch.setattr(kernel_machines, "LOG_ROOM", 3)
                small = fitted(X, y, keep=keep, multiclass=multiclass, cache_size=0.005)
                again = clone(small).fit(X, y, sample_weight=weight)
            assert np.array_equal(small.decision_function(X), expected.decision_function(X))
            assert np.array_equal(again.decision_function(X), heavy)


def test_report_is_none_where_counting_takes_longer_than_learning(monkeypatch):
    from rosenblatt.estimators import kernel

    X, y = draw(2)
    monkeypatch.setattr(kernel, "A_MOMENT", 0)
    with pytest.warns(ConvergenceWarning, match="the last made"):
        model = fitted(X, y, max_epochs=1)
    assert model.report_.errors is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fitted(X, y, max_epochs=1, record_errors=True).report_.errors is not None
        assert fitted(X, y, max_epochs=4).report_.errors is not None
        fitted(X, y, max_epochs=1)


def test_float32_and_early_stopping():
    X, y = load_iris(return_X_y=True)
    model = KernelPerceptron(max_epochs=5, random_state=0).fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    assert model.score(X, y) > 0.8
    early = KernelPerceptron(early_stopping=True, n_iter_no_change=3, random_state=0, max_epochs=30).fit(X, y)
    assert early.report_.outcome in ("early", "converged")
    with pytest.raises(ValueError, match="new classes"):
        model.partial_fit(X, y + 1)


def test_gathered_rows_are_safe_to_share():
    one = GrowingRows(2, np.float64)
    one.add(np.ones((3, 2)))
    two = one.copy()
    one.add(np.full((2, 2), 5.0))
    two.add(np.full((1, 2), 7.0))
    assert one.rows.tolist()[3:] == [[5.0, 5.0]] * 2
    assert two.rows.tolist()[3:] == [[7.0, 7.0]]
    three = pickle.loads(pickle.dumps(two))
    three.add(sp.csr_matrix([[0.0, 2.0]]))
    assert three.rows.tolist()[-1] == [0.0, 2.0]
    assert two.size == 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"degree": -1}, "degree"),
        ({"budget": 0}, "budget"),
        ({"budget": 5, "keep": "vote"}, 'keep="last"'),
        ({"budget": 5}, "multiclass"),
        ({"order": "worst"}, "order"),
        ({"cache_size": -1}, "cache_size"),
        ({"keep": "pocket"}, "keep"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = draw(3)
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**parameters).fit(X, y)


def test_later_calls_must_agree_with_the_first():
    X, y = draw(2)
    model = KernelPerceptron(max_epochs=2, random_state=0).partial_fit(X, y)
    for change in ({"keep": "vote"}, {"budget": 5}):
        with pytest.raises(ValueError, match="first call"):
            clone(model).partial_fit(X, y).set_params(**change).partial_fit(X, y)
