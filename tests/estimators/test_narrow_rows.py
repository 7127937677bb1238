"""Online learners on rows of 16 and 8 bits, which are widened in blocks."""

import tracemalloc

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import rosenblatt
from rosenblatt import Perceptron
from rosenblatt.objective.linear import LinearClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

LEARNERS = [
    ("Perceptron", {}),
    ("Perceptron", {"order": "first"}),
    ("Perceptron", {"update": "batch"}),
    ("Perceptron", {"multiclass": "ovo"}),
    ("Perceptron", {"keep": "pocket"}),
    ("Perceptron", {"early_stopping": True, "class_weight": "balanced"}),
    ("VotedPerceptron", {}),
    ("PassiveAggressive", {"multiclass": "ovr"}),
    ("AROW", {}),
    ("SecondOrderPerceptron", {}),
    ("LinearClassifier", {}),
    ("LinearClassifier", {"solver": "stochastic"}),
    ("LinearClassifier", {"solver": "batch"}),
    ("Pegasos", {}),
    ("LinearSVM", {}),
    ("KernelPerceptron", {}),
    ("MarkI", {}),
    ("PassiveAggressiveRegressor", {}),
    ("LinearRegressor", {}),
]


def rows(kind, n=120):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    X = rng.standard_normal((n, 6)) + 2 * rng.standard_normal((3, 6))[y]
    weights = rng.integers(0, 3, n).astype(float)
    return (X if kind == "float16" else 10 * X).astype(kind), y, weights


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["float16", "int8"])
@pytest.mark.parametrize(("name", "how"), LEARNERS)
def test_narrow_rows_are_learned_as_the_same_numbers_in_32_bits(name, how, kind):
    X, y, weights = rows(kind)
    found, expected = (
        getattr(rosenblatt, name)(max_epochs=3, random_state=0, **how).fit(Z, y, sample_weight=weights)
        for Z in (X, X.astype(np.float32))
    )
    for attribute in ("coef_", "intercept_"):
        if hasattr(expected, attribute):
            assert getattr(found, attribute).dtype == getattr(expected, attribute).dtype
            np.testing.assert_array_equal(getattr(found, attribute), getattr(expected, attribute))
    assert found.report_.errors == expected.report_.errors
    answer = "decision_function" if hasattr(found, "decision_function") else "predict"
    np.testing.assert_array_equal(getattr(found, answer)(X), getattr(expected, answer)(X.astype(np.float32)))
    assert found.score(X, y) == expected.score(X.astype(np.float32), y)


@pytest.mark.parametrize("order", ["C", "F"])
def test_parts_searches_and_refusals(order):
    X, y, _ = rows("float16")
    X = np.asarray(X, order=order)
    model, wide = Perceptron(random_state=0), Perceptron(random_state=0)
    for part in (slice(0, 50), slice(50, None)):
        model.partial_fit(X[part], y[part], classes=[0, 1, 2])
        wide.partial_fit(X[part].astype(np.float32), y[part], classes=[0, 1, 2])
    np.testing.assert_array_equal(model.coef_, wide.coef_)
    for search in (GridSearchCV, rosenblatt.GridSearchCV):
        grid = search(Perceptron(random_state=0, max_epochs=2), {"margin": [0.0, 1.0]}, cv=2).fit(X, y)
        same = search(Perceptron(random_state=0, max_epochs=2), {"margin": [0.0, 1.0]}, cv=2).fit(X.astype("f4"), y)
        assert grid.best_score_ == same.best_score_
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN at row 7, column 2"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="X has 5 features, but Perceptron is expecting 6 features"):
        model.predict(X[:, :5])


@pytest.mark.compiled
@pytest.mark.parametrize("learner", [Perceptron, LinearClassifier])
def test_no_copy_of_all_rows_is_made(learner):
    rng = np.random.default_rng(0)
    few = rng.standard_normal((500, 512)).astype(np.float16)
    X, y = np.tile(few, (200, 1)), np.tile(rng.integers(0, 2, 500), 200)
    model = learner(max_epochs=1, random_state=0)
    model.fit(X, y).score(X, y)  # compiled, outside of what is measured: of many rows, as what threads run is too
    tracemalloc.start()
    model.fit(X, y).score(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 0.1 * X.nbytes
