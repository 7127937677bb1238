"""`rosenblatt.teaching`, step units, and one-hot targets, as the lectures use them."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.svm import SVC

import rosenblatt
from rosenblatt import Layer, MultilayerPerceptron, Perceptron, teaching, trace

KTH = np.array([[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]]), np.array([1, 1, 1, -1, -1, -1])
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]


@pytest.mark.parametrize("form", [list, np.asarray, sp.csr_matrix])
def test_augmented_rows(form):
    """Mons, exercise II: w(0) = (−3, 1, 1) with x0 = 1."""
    X, y = [[3, 1], [1, -3], [-1, 3], [2.5, -1]], [1, -1, 1, 1]
    rows = teaching.augment(form(X))
    rows = rows.toarray() if sp.issparse(rows) else rows
    assert rows.tolist() == [[1, 3, 1], [1, 1, -3], [1, -1, 3], [1, 2.5, -1]]
    run = trace(rows, y, fit_intercept=False, coef_init=[-3, 1, 1], exact=True)
    assert [step.coef[0] for step in run.updates] == [(-2, 0, 4), (-1, 2.5, 3)]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_label_normalisation(form):
    """The whole augmented row is multiplied, x0 too; w is right where w·z > 0."""
    X, y = KTH
    z = teaching.normalise_labels(teaching.augment(form(X)), y)
    z = z.toarray() if sp.issparse(z) else z
    assert z.tolist() == [[1, 1.5, -0.5], [1, 1, 1], [1, -2, 1], [-1, 1, 1.5], [-1, -2, 2], [-1, 2, 2]]
    assert (z @ [0.2, 0.5, 1.0] > 0).all()  # where case 2 ends
    named = teaching.normalise_labels(X, np.where(y > 0, "yes", "no"))
    assert named.tolist() == teaching.normalise_labels(X, y).tolist() == teaching.normalise_labels(X, y > 0).tolist()


def test_one_hot_targets():
    assert teaching.one_hot([2, 0, 2]).tolist() == [[0, 1], [1, 0], [0, 1]]
    assert teaching.one_hot(["b", "a"], classes=["b", "c", "a"]).tolist() == [[1, 0, 0], [0, 0, 1]]
    for wrong, says in ((([[1, 0]],), "one class per row"), ((["a", "d"], ["a", "b"]), r"'d' in row 1.*\['a', 'b'\]")):
        with pytest.raises(ValueError, match=says):
            teaching.one_hot(*wrong)


@pytest.mark.parametrize(("d", "margin"), [(1, 0.5), (2, 0.0), (2, 0.3), (10, 0.2), (50, 0.9)])
def test_a_teacher(d, margin):
    X, y, h = teaching.teacher(300, d, margin=margin, random_state=1)
    w = h.coef_[0]
    assert np.linalg.norm(w) == pytest.approx(1)
    assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-9
    assert (y * (X @ w) >= margin - 1e-12).all()
    assert (h.score(X, y), set(y)) == (1.0, {-1, 1})
    if margin:
        report = Perceptron(fit_intercept=False, random_state=0).fit(X, y).report_
        assert report.updates <= 1 / margin**2
    again = teaching.teacher(300, d, margin=margin, random_state=1)
    assert np.array_equal(again[0], X)


def test_the_rows_of_a_teacher_are_uniform_over_the_ball():
    """P(‖x‖ ≤ r) = r^d; and of a disc, half lies within |w·x| ≤ 0.404 of the middle line."""
    X, _, h = teaching.teacher(20_000, 2, margin=0.0, random_state=0)
    assert np.mean(np.linalg.norm(X, axis=1) <= 0.5) == pytest.approx(0.25, abs=0.015)
    assert np.mean(np.abs(X @ h.coef_[0]) <= 0.404) == pytest.approx(0.5, abs=0.015)
    X, _, h = teaching.teacher(20_000, 3, margin=0.5, random_state=0)
    cap = np.mean(np.abs(X @ h.coef_[0]) >= 0.75)  # volumes of caps: (1 − t)²(2 + t)
    assert cap == pytest.approx(0.25**2 * 2.75 / (0.5**2 * 2.5), abs=0.015)


@pytest.mark.parametrize("bad", [{"n": 0}, {"d": 1.5}, {"margin": 1.0}, {"margin": -0.1}])
def test_a_teacher_that_cannot_be(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        teaching.teacher(**{"n": 5, "d": 2, **bad})


@pytest.mark.parametrize("C", [0.1, 1.0, math.inf])
def test_the_quadratic_programme_is_that_of_the_svm(C):
    X, y = KTH
    H, f, A, b = teaching.qp(X, y, C)
    found = minimize(
        lambda p: p @ H @ p / 2 + f @ p,
        np.zeros(f.size),
        jac=lambda p: H @ p + f,
        constraints={"type": "ineq", "fun": lambda p: b - A @ p, "jac": lambda p: -A},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    svm = SVC(kernel="linear", C=min(C, 1e9), tol=1e-8).fit(X, y)
    assert found.x[:2] == pytest.approx(svm.coef_[0], abs=1e-4)
    assert found.x[2] == pytest.approx(svm.intercept_[0], abs=1e-4)
    slack = np.maximum(0, 1 - y * (X @ found.x[:2] + found.x[2]))
    assert found.x[3:] == pytest.approx(slack if np.isfinite(C) else [], abs=1e-6)


def test_a_programme_needs_two_classes_and_a_price():
    for bad, says in (((KTH[0], KTH[1], 0.0), "C must be"), ((KTH[0], range(6), 1.0), "two classes in each of 6 rows")):
        with pytest.raises(ValueError, match=says):
            teaching.qp(*bad)


# -- step units ------------------------------------------------------------------------------------------------------


def test_step_units_compute_xor():
    """KTH: h1 = sign(x1 + x2 − ½), h2 = sign(3/2 − x1 − x2), out = sign(h1 + h2 − 1)."""
    X, y = XOR
    W, b = [[1, -1], [1, -1]], [-0.5, 1.5]
    hidden = Layer(2, "sign").forward(X, W, b)
    assert hidden.tolist() == [[-1, 1], [1, -1], [1, 1], [1, 1]]
    assert Layer(1, "sign").forward(hidden, [[1], [1]], -1).ravel().tolist() == y
    steps = Layer(2, "heaviside").forward(sp.csr_array(X), W, b)
    assert Layer(1, "heaviside").forward(steps, [[1], [1]], -1.5).ravel().tolist() == [0, 0, 1, 1]
    assert Layer(1, "sign").forward([[0.0]], [[1]]).tolist() == [[-1]]  # the tie rule: f > 0 is positive


def test_a_layer_computes_what_the_network_does():
    X, y = KTH
    model = MultilayerPerceptron((3,), activation="tanh", max_epochs=50, random_state=0)
    with pytest.warns(match="budget"):
        model.fit(X, y)
    out = Layer(3, "tanh").forward(X, model.coefs_[0], model.intercepts_[0])
    out = Layer(2, "identity").forward(out, model.coefs_[1], model.intercepts_[1])
    assert out[:, 1] - out[:, 0] == pytest.approx(model.decision_function(X))
    with pytest.raises(ValueError, match=r"coef of shape \(d, 3\)"):
        Layer(3).forward(X, np.ones((3, 3)))


@pytest.mark.parametrize("activation", ["sign", "heaviside"])
def test_step_units_are_not_trained(activation):
    for model in (MultilayerPerceptron((2,), activation=activation), MultilayerPerceptron([Layer(2, activation)])):
        for learn in (model.fit, model.partial_fit):
            with pytest.raises(ValueError, match=f'activation "{activation}" cannot be trained.*slope of a step is 0'):
                learn(*XOR)


# -- one-hot y -------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["Perceptron", "LinearClassifier", "LinearSVM", "KernelPerceptron", "AROW"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_one_hot_classes_are_told_to_be_read_as_labels(name, form):
    X, y = np.eye(3) * 4, [0, 1, 2]
    hot = form(teaching.one_hot(y))
    with pytest.warns(UserWarning, match=r"read as labels.*y\.argmax\(axis=1\)") as heard:
        getattr(rosenblatt, name)(max_epochs=20).fit(X, hot)
    assert [one.filename for one in heard if "read as labels" in str(one.message)] == [__file__]


def test_labels_are_labels(recwarn):
    X, y = np.eye(3), [[1, 0, 1], [0, 1, 0], [0, 0, 1]]
    Perceptron().fit(X, y)
    Perceptron().partial_fit([[1.0]], [[1, 0]])  # one row says nothing
    Perceptron().fit(X, [0, 1, 2])
    assert not [one for one in recwarn if "labels" in str(one.message)]
    with pytest.warns(UserWarning, match="read as labels"):
        Perceptron().partial_fit(X, np.eye(3, dtype=int))


def test_an_exercise_is_checked_exactly():
    kth = [[1.5, -0.5], [1, 1], [-2, 1], [-1, -1.5], [2, -2], [-2, -2]], [1, 1, 1, -1, -1, -1]
    run = trace(*kth, learning_rate=0.2, coef_init=[[1, 0.5]], order=[4, 2, 0], max_epochs=1, exact=True, first=1)
    task = teaching.exercise(run)
    assert str(task).splitlines()[:2] == ["step 1 of 3: w = (1, 0.5), b = 0", "row 5: x = (2, −2), y = −1"]
    assert not task.answer([0.6, 0.9], 0.2)
    assert not task.answer([0.6, 0.9000000001], -0.2)
    assert task.answer([0.6, "9/10"], "-1/5")
    assert str(task).startswith("step 2 of 3: w = (0.6, 0.9), b = −0.2")
    assert task.answer([0.2, 1.1], 0)
    assert not task.finished
    assert task.answer([0.5, 1], 0.2)
    assert task.finished
    assert str(task) == "All 3 steps are right, with 2 wrong answers on the way."
    with pytest.raises(ValueError, match="Every step"):
        task.answer([0.5, 1], 0.2)
    with pytest.raises(ValueError, match="2 numbers for w, and b"):
        teaching.exercise(run).answer([1, 2])
    for wrong in (trace(*kth), trace(*kth, update="batch", exact=True)):
        with pytest.raises(ValueError, match="exact=True"):
            teaching.exercise(wrong)


@pytest.mark.parametrize("activation", ["logistic", "tanh", "relu", "identity"])
def test_backpropagation_is_the_gradient_of_the_loss(activation):
    rng = np.random.default_rng(3)
    W, b = (
        [rng.normal(size=shape).round(2) for shape in ((3, 4), (4, 2))],
        [rng.normal(size=n).round(2) for n in (4, 2)],
    )
    x, u, eta = [0.5, -1.0, 2.0], [1.0, 0.0], 0.25
    found = teaching.backpropagation(W, b, x, u, activation=activation, learning_rate=eta)

    def loss():
        hidden = Layer(4, activation).forward([x], W[0], b[0])
        return 0.5 * float(((Layer(2, activation).forward(hidden, W[1], b[1])[0] - u) ** 2).sum())

    assert float(found.loss) == pytest.approx(loss())
    for given, slopes, moved in [
        *zip(W, found.coef_gradients, found.coefs, strict=True),
        *zip(b, found.intercept_gradients, found.intercepts, strict=True),
    ]:
        assert np.allclose(np.array(moved, float), given - eta * np.array(slopes, float))
        for place in np.ndindex(given.shape):
            before, tiny = given[place], 1e-5
            given[place] = before + tiny
            above = loss()
            given[place] = before - tiny
            assert (above - loss()) / (2 * tiny) == pytest.approx(float(slopes[place]), abs=1e-6)
            given[place] = before
    assert str(found).splitlines()[0] == "forward   x = (0.5, −1, 2)"
    assert isinstance(found.loss, Fraction) == (activation in ("relu", "identity"))


def test_what_is_no_network_is_refused():
    for W, b, x, u in (
        ([[[1, 2]]], [[0]], [1], [1, 2]),
        ([[[1], [2]]], [[0]], [1], [1]),
        ([[[1]]], [[0]], [1], [1, 2]),
        ([], [], [1], [1]),
    ):
        with pytest.raises(ValueError, match=r"\(from, to\)"):
            teaching.backpropagation(W, b, x, u)
    with pytest.raises(ValueError, match="activation"):
        teaching.backpropagation([[[1]]], [[0]], [1], [1], activation="sign")
