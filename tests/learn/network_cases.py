"""What the tests of network share."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
XOR_SIDES = np.array([0, 0, 1, 1])


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]
