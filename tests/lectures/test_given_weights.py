"""Cases of the lectures that begin with given weights: a line or two each, without invented rows."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import rosenblatt
from rosenblatt import LinearClassifier, LinearRegressor, Perceptron, margins, trace

QUIZ = [[1, 2, -2], [3, -2, -1], [-1, 2, 4]]
XOR = [[0, 0], [1, 1], [0, 1], [1, 0]], [-1, -1, 1, 1]


def test_the_line_of_given_weights():
    """Mons, problem 1.2: w = (1, 2, 3) is x2 = −(2/3)x1 − 1/3; −w is the same line with the sides swapped."""
    plane, other = Perceptron.from_weights([2, 3], 1), Perceptron.from_weights([-2, -3], -1)
    X, y = [[0, 0], [-1, -1]], [1, -1]
    assert margins(plane, X, y).line == pytest.approx((-2 / 3, -1 / 3))
    assert margins(other, X, y).line == pytest.approx((-2 / 3, -1 / 3))
    assert (plane.predict(X).tolist(), other.predict(X).tolist()) == ([1, -1], [-1, 1])


def test_the_quiz_is_one_partial_fit():
    model = Perceptron.from_weights(QUIZ, classes=(1, 2, 3), fit_intercept=False)
    x = [[1, -0.5, 3]]
    assert (model.decision_function(x).tolist(), model.predict(x).tolist()) == ([[-6, 1, 10]], [3])
    model.partial_fit(x, [2])
    assert model.coef_.tolist() == [[1, 2, -2], [4, -2.5, 2], [-2, 2.5, 1]]


def test_distances_from_a_plane():
    seen = margins(Perceptron.from_weights([3, 4], -12), [[0, 4], [0, 0]], [1, -1])
    assert seen.distances == pytest.approx([0.8, -2.4])


def test_scores_of_the_interactive_page():
    W, b = [[0.52, 0.68], [-0.82, 0.52], [0.20, -1.17]], [-0.18, -0.05, -0.06]
    model = LinearClassifier.from_weights(W, b, classes=(0, 1, 2))
    rows = [[0.5, 0.4], [0.8, 0.3], [0.3, 0.8], [-0.4, 0.3], [-0.3, 0.7], [-0.7, 0.2], [0.7, -0.4], [0.5, -0.6]]
    losses = -np.log(model.predict_proba([*rows, [-0.4, -0.5]])[range(9), [0, 0, 0, 1, 1, 1, 2, 2, 2]])
    assert losses == pytest.approx([0.70, 0.63, 0.64, 0.66, 0.63, 0.53, 0.58, 0.45, 0.67], abs=0.005)


def test_two_sign_units_solve_xor():
    X, y = XOR
    units = Perceptron.from_weights([1, 1], -0.5), Perceptron.from_weights([-1, -1], 1.5)
    hidden = np.column_stack([unit.predict(X) for unit in units])
    assert Perceptron.from_weights([1, 1], -1).predict(hidden).tolist() == y


LINEAR = [
    (getattr(rosenblatt, name), {})
    for name in ("Perceptron", "AveragedPerceptron", "PAUM", "PassiveAggressive", "LinearClassifier", "Pegasos")
] + [(rosenblatt.LinearSVM, {}), (rosenblatt.MaxMargin, {}), (Perceptron, {"keep": "pocket"})]
SECOND = [
    (getattr(rosenblatt, name), {"covariance": covariance})
    for name in ("AROW", "SecondOrderPerceptron")
    for covariance in ("diagonal", "full")
]
LINEAR += SECOND


@pytest.mark.parametrize(("kind", "params"), LINEAR, ids=lambda one: getattr(one, "__name__", str(one)))
def test_every_linear_classifier(kind, params, tmp_path):
    model = kind.from_weights([3, 4], -12, classes=("below", "above"), **params)
    X = [[0, 4], [0, 0]]
    assert model.decision_function(X).tolist() == [-4, 12]  # sorted, "below" is the second class
    assert model.predict(X).tolist() == ["above", "below"]
    assert (model.report_, model.n_iter_, model.n_features_in_) == (None, 0, 2)
    rosenblatt.save(model, tmp_path / "model")
    for same in (rosenblatt.load(tmp_path / "model"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert same.decision_function(X).tolist() == [-4, 12]
        assert same.report_ is None
    if hasattr(model, "partial_fit"):
        assert model.partial_fit(X, ["above", "below"]).report_.n_epochs == 1


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("kind", "params"), SECOND, ids=lambda one: getattr(one, "__name__", str(one)))
def test_second_order_learners_begin_with_their_first_covariance(kind, params, form):
    """The first step from given weights, worked out by hand: q = xᵀΣx with Σ = I."""
    x, w, y = np.array([2.0, -1.0, 1.0]), np.array([-1.0, 0.5, 0.25]), 1  # the intercept is the last
    model = kind.from_weights(w[:2], w[2], **params).partial_fit(form([x[:2]]), [y])
    if kind is rosenblatt.AROW:
        expected = w + (1 - y * w @ x) / (x @ x + 1) * y * x
    elif params["covariance"] == "full":
        expected = np.linalg.solve(np.eye(3) + np.outer(x, x), w + y * x)  # A⁻¹v
    else:
        expected = (w + y * x) / (1 + x * x)
    assert [*model.coef_[0], *model.intercept_] == pytest.approx(expected)


@pytest.mark.parametrize(("kind", "params"), SECOND, ids=lambda one: getattr(one, "__name__", str(one)))
def test_a_second_order_trace_starts_at_given_weights(kind, params):
    X, y = [[3, 1], [1, -3], [-1, 3], [2.5, -1]], [1, -1, 1, 1]
    more = {"a": 3.0} if kind is rosenblatt.SecondOrderPerceptron else {}
    model = kind.from_weights([1, 1], -3, order="cyclic", max_epochs=2, **params, **more)
    floats, fractions = trace(X, y, model), trace(X, y, model, exact=True)
    assert fractions.start == (((1, 1),), (-3,))
    assert [step.row for step in floats.updates] == [step.row for step in fractions.updates] != []
    for one, other in zip(floats.updates, fractions.updates, strict=True):
        assert one.coef[0] == pytest.approx([float(value) for value in other.coef[0]])
    for _ in range(2):
        model.partial_fit(X, y)
    assert model.coef_[0] == pytest.approx([float(value) for value in fractions.coef[0]])


def test_given_weights_have_one_vote(tmp_path):
    model = rosenblatt.VotedPerceptron.from_weights([3, 4], -12, order="cyclic")
    X, y = [[0, 4], [0, 0], [4, 1]], [1, -1, -1]
    assert (model.vectors_.tolist(), model.intercepts_.tolist(), model.votes_.tolist()) == ([[3, 4]], [-12], [1])
    assert (model.decision_function(X).tolist(), model.predict(X).tolist()) == ([1, -1, 1], [1, -1, 1])
    rosenblatt.save(model, tmp_path / "model")
    same = rosenblatt.load(tmp_path / "model").partial_fit(X, y)
    assert same.vectors_.tolist() == [[3, 4], [-1, 3]]
    assert same.votes_.tolist() == [3, 0]  # its own, and two rows answered right; the third made the next
    run = trace(X, y, model, exact=True, max_epochs=1)
    assert run.start == (((3, 4),), (-12,))
    assert [step.coef[0] for step in run.updates] == [(-1, 3)]
    classes = rosenblatt.VotedPerceptron.from_weights(QUIZ, classes=(1, 2, 3))
    assert classes.predict([[1, -0.5, 3]]).tolist() == [3]


@pytest.mark.parametrize("kind", [LinearRegressor, rosenblatt.PassiveAggressiveRegressor])
def test_every_linear_regressor(kind, tmp_path):
    model = kind.from_weights([2.0, -1.0], 0.5)
    assert model.predict([[1, 1], [0, 3]]).tolist() == [1.5, -2.5]
    rosenblatt.save(model, tmp_path / "model")
    assert rosenblatt.load(tmp_path / "model").partial_fit([[1, 1]], [1.5]).coef_.shape == (2,)


def test_a_trace_starts_at_given_weights():
    X, y = [[3, 1], [1, -3], [-1, 3], [2.5, -1]], [1, -1, 1, 1]  # Mons, exercise II
    run = trace(X, y, Perceptron.from_weights([1, 1], -3, order="cyclic"), exact=True)
    assert run.start == (((1, 1),), (-3,))
    assert [(step.row, *step.intercept, *step.coef[0]) for step in run.updates] == [(2, -2, 0, 4), (3, -1, 2.5, 3)]
    fitted = Perceptron(order="cyclic").fit(X, y)
    assert trace(X, y, fitted).start == (((0, 0),), (0,))


def test_classes_in_any_order():
    model = Perceptron.from_weights(QUIZ, classes=("c", "a", "b"))
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.coef_.tolist() == [QUIZ[1], QUIZ[2], QUIZ[0]]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Perceptron.from_weights(QUIZ), "2 classes need 1"),
        (lambda: Perceptron.from_weights([1, 2], classes=(1, 2, 3)), "3 classes need 3"),
        (lambda: Perceptron.from_weights(QUIZ, classes=(1, 1, 2)), "one class per row"),
        (lambda: Perceptron.from_weights([1, 2], [1, 2]), "one number per plane"),
        (lambda: Perceptron.from_weights([1, np.nan]), "NaN"),
        (lambda: Perceptron.from_weights(["a"]), "numbers"),
        (lambda: LinearRegressor.from_weights(QUIZ), "one plane"),
        (lambda: rosenblatt.AROW.from_weights([1, 2], 1, fit_intercept=False), "through the origin"),
        (lambda: rosenblatt.KernelSVM.from_weights([1, 2]), "linear"),
        (lambda: rosenblatt.HierarchicalPerceptron.from_weights([1, 2]), "each node of its tree"),
        (lambda: rosenblatt.MarkI.from_weights([1, 2]), "wired"),
        (lambda: Perceptron.from_weights(QUIZ, classes=(3, 2, 1), multiclass="ovo"), "order of sorted classes"),
    ],
)
def test_what_is_no_model_is_refused(wrong, says):
    with pytest.raises((ValueError, TypeError), match=says):
        wrong()


def test_assigned_weights_are_where_learning_goes_on():
    X, y = [[1.0, 0.0], [0.0, 1.0]], [1, -1]
    model = Perceptron(order="cyclic").fit(X, y)
    model.coef_, model.intercept_ = [[-1.0, 5.0]], [2.0]
    assert model.decision_function(X).tolist() == [1, 7]
    model.partial_fit(X, y)  # only the second row is wrong
    assert (model.coef_.tolist(), model.intercept_.tolist()) == ([[-1, 4]], [1])
    given = Perceptron.from_weights([-1, 5], 2, order="cyclic").partial_fit(X, y)
    assert given.coef_.tolist() == [[-1, 4]]
    model.coef_ = np.ones((1, 3))
    with pytest.raises(ValueError, match="assign real numbers of shape"):
        model.partial_fit(X, y)


def test_assigned_weights_are_a_warm_start():
    X, y = [[1.0, 0.0], [0.0, 1.0]], [1, -1]
    model = Perceptron(order="cyclic", warm_start=True).fit(X, y)
    model.coef_ = np.array([[3.0, -3.0]])
    assert model.fit(X, y).report_.updates == 0
    assert model.coef_.tolist() == [[3, -3]]


@pytest.mark.parametrize("again", [lambda m: m, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_weights_cannot_be_written_to_in_place(again):
    for model in (
        again(Perceptron().fit([[1.0], [-1.0]], [1, -1])),
        again(LinearRegressor().fit([[1.0], [-1.0]], [1, -1])),
    ):
        for array in (model.coef_, model.intercept_):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 7.0
