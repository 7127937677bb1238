"""Four ways to a line: naive Bayes, Rocchio, regression with a threshold, and the perceptron.

All four answer by the sign of w·x + b and differ in how they choose w and b. The first three look at means, the
perceptron at mistakes: rows far out on their own side pull means about, but nobody gets them wrong.
"""

import numpy as np
from sklearn.naive_bayes import GaussianNB

from rosenblatt import LinearRegressor, Perceptron, max_margin


def rows(n, seed):
    """Two classes with a gap along the diagonal, and in one of them a tenth of the rows far out."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    along, off = rng.uniform(-3, 3, n), y * rng.uniform(0.2, 1.5, n)
    X = np.column_stack([along + off, along - off])
    far = np.flatnonzero(y == 1)[:: n // 20]
    X[far] += [25.0, -5.0]
    return X, y


def naive_bayes(X, y):
    """Features as independent Gaussians of equal variance: the log odds are w·x + b."""
    found = GaussianNB().fit(X, y)
    (low, high), variance = found.theta_, found.var_.mean(axis=0)
    odds = np.log(found.class_prior_[1] / found.class_prior_[0])
    return (high - low) / variance, odds - ((high**2 - low**2) / (2 * variance)).sum()


def rocchio(X, y):
    """The nearer of the two means: w joins them, and b is halfway."""
    low, high = X[y == -1].mean(axis=0), X[y == 1].mean(axis=0)
    return high - low, (low @ low - high @ high) / 2


def regression(X, y):
    """Least squares on the labels −1 and +1, cut at 0."""
    found = LinearRegressor(alpha=0.0).fit(X, y)
    return found.coef_, found.intercept_


def perceptron(X, y):
    """Any line without mistakes."""
    found = Perceptron(order="cyclic").fit(X, y)
    return found.coef_[0], found.intercept_[0]


def widest(X, y):
    """The line without mistakes that is farthest from the rows."""
    found = max_margin(X, y)
    return found.coef, found.intercept


def main():
    X, y = rows(200, seed=0)
    T, u = rows(2000, seed=1)
    print(f"{len(y)} rows that a line separates\n")
    print(f"{'':16}{'direction of w':>16}{'wrong rows':>12}{'wrong new rows':>16}")
    for method in (naive_bayes, rocchio, regression, perceptron, widest):
        line = Perceptron.from_weights(*method(X, y))  # a model from its weights: predicts, scores, can be drawn
        angle = np.degrees(np.arctan2(*line.coef_[0, ::-1]))
        wrong, new = np.sum(line.predict(X) != y), np.mean(line.predict(T) != u)
        print(f"{method.__name__.replace('_', ' '):16}{angle:15.0f}°{wrong:12}{new:16.1%}")
    print("\nThe gap runs along the diagonal: the right direction of w is -45°.")


if __name__ == "__main__":
    main()
