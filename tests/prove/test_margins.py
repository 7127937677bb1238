"""Margins, distances, projections and the line, on the lectures' cases."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from rosenblatt import Perceptron, margins, max_margin, separability


def plane(coef, intercept, classes=(-1, 1)):
    return SimpleNamespace(coef_=np.atleast_2d(coef).astype(float), intercept_=intercept, classes_=np.array(classes))


def test_distances_of_the_lectures():
    seen = margins(plane([3, 4], -12.0), [[0, 4], [0, 0]], [1, -1])
    np.testing.assert_allclose(seen.distances, [0.8, -2.4])
    np.testing.assert_allclose(seen.geometric, [0.8, 2.4])
    np.testing.assert_allclose(seen.functional, [4, 12])
    assert (seen.margin, seen.errors) == (pytest.approx(0.8), 0)


def test_the_line_of_the_lectures():
    for sign in (1, -1):
        slope, offset = margins(plane([2 * sign, 3 * sign], 1.0 * sign), [[0, 0]], [1]).line
        assert (slope, offset) == (pytest.approx(-2 / 3), pytest.approx(-1 / 3))
    assert margins(plane([2, 0], 1.0), [[0, 0]], [1]).line == (math.inf, -0.5)
    assert all(map(math.isnan, margins(plane([0, 0], 1.0), [[0, 0]], [1]).line))
    with pytest.raises(ValueError, match="two dimensions"):
        _ = margins(plane([1, 2, 3], 0.0), [[0, 0, 0]], [1]).line


def test_projections_lie_on_the_plane():
    rng = np.random.default_rng(0)
    X, w, b = rng.standard_normal((20, 3)), rng.standard_normal(3), 0.7
    seen = margins(plane(w, b), X, np.sign(X @ w + b).astype(int))
    foot = seen.project(X)
    np.testing.assert_allclose(foot @ w + b, 0, atol=1e-12)
    np.testing.assert_array_equal(seen.project(sp.csr_matrix(X)), foot)
    np.testing.assert_allclose(np.linalg.norm(X - foot, axis=1), np.abs(seen.distances))
    with pytest.raises(ValueError, match="w is 0"):
        margins(plane([0.0, 0.0], 1.0), [[1, 2]], [1]).project([[1, 2]])


def test_distribution():
    seen = margins(plane([1.0], 0.0), [[1.0], [2.0], [3.0], [-4.0]], [1, 1, 1, 1])
    assert seen.distribution((0.0, 1.0)) == {0.0: -4.0, 1.0: 3.0}
    assert (seen.below(1.5), seen.errors) == (0.5, 1)
    assert "1 of them wrong" in str(seen)


def test_no_normal():
    seen = margins(plane([0.0], 1.0), [[1.0], [2.0]], [1, -1])
    assert seen.geometric.tolist() == [math.inf, -math.inf]
    assert margins(plane([0.0], 0.0), [[1.0]], [1]).margin == 0.0


def test_many_classes_by_the_nearest_boundary():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    seen = margins(model, X, y)
    scores = X @ model.coef_.T + model.intercept_
    for i in (0, 70, 120):
        others = [r for r in range(3) if r != y[i]]
        far = [(scores[i, y[i]] - scores[i, r]) / np.linalg.norm(model.coef_[y[i]] - model.coef_[r]) for r in others]
        assert seen.geometric[i] == pytest.approx(min(far))
        assert seen.functional[i] == pytest.approx(min(scores[i, y[i]] - scores[i, r] for r in others))
    assert seen.distances.shape == (150, 3)
    assert seen.errors == int((model.predict(X) != y).sum())


def test_of_a_fitted_model_and_of_certificates():
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    model = Perceptron(random_state=0).fit(X, y)
    assert margins(model, X, y).margin == pytest.approx(model.report_.margin)
    widest, verdict = max_margin(X, y), separability(X, y)
    assert margins(widest, X, y).margin == pytest.approx(widest.margin)
    assert margins(verdict, sp.csr_matrix(X), y).margin == pytest.approx(verdict.margin)


@pytest.mark.parametrize("model", [Perceptron(multiclass="ovo", max_epochs=50), SVC(kernel="linear")])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_vs_one_has_no_plane_a_class(model):
    X, y = load_iris(return_X_y=True)
    model.fit(X, y)
    assert model.coef_.shape[0] == model.classes_.size
    with pytest.raises(ValueError, match="one-vs-one"):
        margins(model, X, y)
    model.fit(X[:100], y[:100])
    assert margins(model, X[:100], y[:100]).errors == 0


def test_what_has_no_margins():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="coef_"):
        margins(Perceptron(), X, y)
    with pytest.raises(ValueError, match="no plane"):
        margins(separability(X, y)[1], X, y)
    with pytest.raises(ValueError, match="several"):
        margins(separability(X, y)[0], X, y)
    with pytest.raises(ValueError, match="pass y == 0"):
        margins(separability(X, y)[0], X, (y == 0).astype(int))
    first = separability(X, y)[0]
    assert margins(first, X, y == 0).margin == pytest.approx(first.margin)
    with pytest.raises(ValueError, match="planes for"):
        margins(plane(np.eye(4)[:2], 0.0, classes=(0, 1, 2)), X, y)
    with pytest.raises(ValueError, match="features"):
        margins(plane([1.0], 0.0), X, y)
    with pytest.raises(ValueError, match="label"):
        margins(plane([1.0] * 4, 0.0), X, y)


def test_a_distance_needs_no_label():
    line, three = (
        Perceptron.from_weights([3, 4], -12),
        Perceptron.from_weights([[3, 4], [0, 0], [0, 1]], classes=list("abc")),
    )
    X = [[0, 4], [0, 0], [-1, -1]]
    seen = margins(line, X)
    assert (seen.distances.tolist(), seen.geometric.tolist()) == ([0.8, -2.4, -3.8], [0.8, 2.4, 3.8])
    for model in (line, three):
        seen, told = margins(model, X), margins(model, X, model.predict(X))
        for name in ("functional", "geometric", "distances"):
            assert np.array_equal(getattr(seen, name), getattr(told, name))
