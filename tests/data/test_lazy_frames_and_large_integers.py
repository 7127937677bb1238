"""Lazy frames and whole numbers beyond double precision are refused with a sentence, wherever they are given."""

import numpy as np
import pytest

from rosenblatt import (
    GridSearchCV,
    KernelSVM,
    LinearProbe,
    LinearRegressor,
    MaxMargin,
    Perceptron,
    TableClassifier,
    margins,
    max_margin,
    separability,
)

pl = pytest.importorskip("polars")
X, Y = np.column_stack([np.arange(20.0), np.arange(20) % 3]), np.arange(20) // 10
LAZY, LAZY_ROWS = pl.DataFrame({"y": Y}).lazy(), pl.DataFrame(X, schema=["a", "b"]).lazy()
GRID = {"max_epochs": [1, 2]}


@pytest.mark.parametrize("learner", [Perceptron, KernelSVM, LinearRegressor, LinearProbe, MaxMargin, TableClassifier])
def test_a_lazy_frame_is_no_target(learner):
    with pytest.raises(ValueError, match=r"^y is a LazyFrame, which has no rows yet: collect\(\) it first"):
        learner().fit(X, LAZY)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("y", lambda: Perceptron().partial_fit(X, LAZY)),
        ("y", lambda: GridSearchCV(Perceptron(), GRID).fit(X, LAZY)),
        ("X", lambda: GridSearchCV(Perceptron(), GRID).fit(LAZY_ROWS, Y)),
        ("sample_weight", lambda: GridSearchCV(Perceptron(), GRID).fit(X, Y, sample_weight=LAZY)),
        ("sample_weight", lambda: Perceptron().fit(X, Y, sample_weight=LAZY)),
        ("sample_weight", lambda: TableClassifier(learner="linear").fit(X, Y, sample_weight=LAZY)),
        ("y", lambda: separability(X, LAZY)),
        ("X", lambda: separability(LAZY_ROWS, Y)),
        ("y", lambda: max_margin(X, LAZY)),
        ("y", lambda: margins(Perceptron().fit(X, Y), X, LAZY)),
        ("X", lambda: margins(Perceptron().fit(X, Y), LAZY_ROWS, Y)),
    ],
)
def test_a_lazy_frame_is_refused_by_name(name, call):
    with pytest.raises(ValueError, match=f"^{name} is a LazyFrame, which has no rows yet"):
        call()


def test_integers_that_no_double_holds_are_refused():
    huge = 10**400
    with pytest.raises(ValueError, match="X has a whole number that is too large"):
        Perceptron().fit([[huge], [-1]], [0, 1])
    with pytest.raises(ValueError, match="y must be numbers for regression: int too large"):
        LinearRegressor().fit([[1.0], [2.0]], [huge, -1])
    with pytest.raises(ValueError, match="sample_weight must be numbers: int too large"):
        Perceptron().fit([[1.0], [2.0]], [0, 1], sample_weight=[huge, 1])


@pytest.mark.parametrize("large", [2**63, 2**64])
def test_integers_of_64_bits_beside_negative_ones_are_learned(large):
    model = Perceptron().fit([[1.0], [2.0], [5.0]], [-1, -1, large])
    assert [int(one) for one in model.classes_] == [-1, large]
    assert Perceptron().fit([[large], [-1]], [0, 1]).n_features_in_ == 1
