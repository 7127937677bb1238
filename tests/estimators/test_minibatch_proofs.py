"""What solver="minibatch+lbfgs" proves before it says that its problem is solved."""

from dataclasses import replace

import numpy as np
import pytest

from rosenblatt import LinearClassifier
from rosenblatt.objective.lbfgs import LimitedMemory
from rosenblatt.objective.minibatch import MiniBatchDescent
from rosenblatt.objective.minibatch_settings import Settings

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows_of_many_units(seed):
    """Uncentred features whose units differ by powers of 10, two of them nearly equal."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 60)), int(rng.integers(2, 8))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, d) + 10.0 ** rng.uniform(-1, 5)
    X[:, 1] = X[:, 0] * (1 + 1e-6 * rng.normal(size=n))
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    return X, y, float(10.0 ** rng.uniform(-8, 1)), bool(rng.integers(2))


def test_a_solved_model_is_at_the_minimum_of_any_rows():
    """A gradient that promised little once stood for a minimum 10 % below."""
    compared = 0
    for seed in range(60):
        X, y, alpha, intercept = rows_of_many_units(seed)
        common = {"alpha": alpha, "fit_intercept": intercept, "random_state": 0, "max_epochs": 3000}
        model = LinearClassifier(solver="minibatch+lbfgs", tol=1e-4, **common).fit(X, y)
        best = LinearClassifier(solver="batch", tol=1e-7, **common).fit(X, y)
        if model.report_.outcome == "solved" == best.report_.outcome:
            least = best.report_.objective
            assert model.report_.objective <= least + 1.01e-4 * max(model.report_.objective, 1e-4), seed
            compared += 1
    assert compared >= 20


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("offset", [0.0, 3.0])
def test_strong_convexity_bounds_the_distance_to_the_minimum(dtype, classes, offset):
    rng = np.random.default_rng(classes)
    X = (rng.normal(size=(300, 5)) + offset).astype(dtype)
    y = rng.integers(0, classes, 300)
    least = LinearClassifier(solver="batch", alpha=0.01, tol=1e-10, max_epochs=20_000).fit(X.astype(float), y)
    target = y if classes > 2 else 2.0 * y - 1.0
    kind = Settings("softmax" if classes > 2 else "log", 1 if classes == 2 else classes, (0.01,), epochs=4)
    descent = MiniBatchDescent(X, target, kind)
    for _ in range(4):
        descent.epoch()
        found = descent.report(*descent.point())
        assert found.gap >= float(found.loss[0] + found.penalty[0]) - least.report_.objective
    exact = LimitedMemory(descent, *descent.point())
    for _ in range(60):
        exact.iterate()
    found = descent.report(*exact.point)
    distance = float(found.loss[0] + found.penalty[0]) - least.report_.objective
    assert max(distance, 0.0) <= found.gap + 1e-9
    assert found.gap <= (1e-4 if dtype == np.float64 else 1e-2) * least.report_.objective
    free = MiniBatchDescent(X, target, replace(kind, alphas=(0.0,)))
    assert free.report(*free.point()).gap == np.inf
