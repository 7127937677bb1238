"""What the tests of report share."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning


def separable(seed, n=500, d=10, margin=0.02):
    """Rows at least `margin` away from a plane, on both its sides."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    b = rng.normal() / 2
    X = rng.normal(size=(20 * n, d))
    X = X[np.abs(X @ w + b) > margin][:n]
    return X, np.where(X @ w + b > 0, "yes", "no")


def overlapping(seed, n=120, d=3, classes=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), np.arange(n) % classes


def quietly(model, *args, **kwargs):
    """Fit where the budget is meant to run out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def three_classes(seed=0, n=60):
    """Three groups in the plane that can be told apart, each from the rest too."""
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 6.0], [6.0, -5.0], [-6.0, -5.0]])
    y = np.arange(n) % 3
    return centres[y] + rng.uniform(-1, 1, size=(n, 2)), y


def sides(y):
    return np.where(y == np.unique(y)[1], 1.0, -1.0)
