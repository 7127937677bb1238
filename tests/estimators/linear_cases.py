"""What the tests of linear share."""

import numpy as np

from rosenblatt.objective.losses import names

MARGIN = sorted(names("margin") - {"zero_one"})
RESIDUAL = sorted(names("residual"))
PENALTIES = [None, "l2", "l1", "elasticnet"]


def small(n=60, d=6, classes=2, seed=0):
    """Few rows with empty places, classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + 0.1
    X[:, 0] *= (rng.random(n) < 0.2) * 2
    y = np.argmax(X @ rng.normal(size=(d, classes)) + 0.7 * rng.normal(size=(n, classes)), axis=1)
    return X, y


def numbers(n=60, d=6, seed=0):
    X, _ = small(n, d, seed=seed)
    rng = np.random.default_rng(seed + 1)
    return X, X @ rng.normal(size=d) + 0.5 + 0.3 * rng.normal(size=n)


def signed(y):
    return np.where(y == 1, 1.0, -1.0)
