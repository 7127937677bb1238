"""What the tests of kernel perceptron share."""

import numpy as np

from rosenblatt import KernelPerceptron

SQUARE = {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}


def draw(classes, rows=50, seed=0):
    """Whole numbers, classes that a square separates, but for a few rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(rows, 4)).astype(float)
    X[rng.random(X.shape) < 0.3] = 0.0
    scores = np.column_stack([X, X**2]) @ rng.normal(size=(8, classes)) + rng.normal(size=(rows, classes))
    y = np.argmax(scores, axis=1)
    y[:classes] = np.arange(classes)
    return X, y


def fitted(X, y, **settings):
    return KernelPerceptron(**{**SQUARE, "order": "cyclic", "max_epochs": 3, **settings}).fit(X, y)
