"""House prices: a number instead of a class, from square metres, years and neighbourhoods.

The batch solver finds the least-squares plane whatever the units. Gradient descent as on the slides needs units of
about the same size: in raw units a rate that does not diverge is too small to get anywhere.
"""

import warnings

import numpy as np
from sklearn.preprocessing import StandardScaler

from rosenblatt import LinearRegressor

NAMES = ["square metre", "room", "year", "in the centre", "by the lake"]


def houses(n, seed):
    """Characteristics and prices in thousands; a house is in the centre, by the lake or in a suburb."""
    rng = np.random.default_rng(seed)
    area, year, place = rng.uniform(40, 220, n), rng.integers(1890, 2021, n), rng.integers(0, 3, n)
    X = np.column_stack([area, np.round(area / 32 + rng.uniform(0, 2, n)), year, place == 0, place == 1]).astype(float)
    return X, (X @ [3.1, 9, 0.8, 120, 200] - 1500 + rng.normal(0, 25, n)).round()


def descended(X, y, rate, steps):
    """R² after so many steps W ← W − η∇J."""
    model = LinearRegressor(solver="gradient", learning_rate=rate, max_epochs=steps, alpha=0.0, tol=0)
    reached = model.fit(X, y).score(X, y)
    return f"{reached:.4f}" if reached > -1 else "diverges"


def main():
    warnings.simplefilter("ignore")
    X, y = houses(100, seed=0)
    T, u = houses(200, seed=1)
    model = LinearRegressor(alpha=0.0).fit(X, y)
    exact = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    print(f"{len(y)} houses, least squares: {model.report_.outcome}, R² {model.score(X, y):.4f}")
    print(f"on new houses R² {model.score(T, u):.4f}\n\none more             price   by numpy.linalg.lstsq")
    for name, found, known in zip(NAMES, model.coef_, exact, strict=False):
        print(f"{name:16} {found:9.2f} {known:9.2f}")

    Z = StandardScaler().fit_transform(X)
    print("\nR² by gradient descent      20 steps     200 steps")
    for name, data, rate in (("raw units", X, 1e-6), ("raw units", X, 4e-7), ("standard units", Z, 0.3)):
        reached = [descended(data, y, rate, steps) for steps in (20, 200)]
        print(f"{name}, η = {rate:g}".ljust(28) + "".join(f"{one:>9}     " for one in reached).rstrip())

    y[0] *= 10  # one price with a zero too many
    print("\nwith a zero too many in one price, R² on new houses")
    for loss in ("squared", "huber"):
        model = LinearRegressor(loss=loss, epsilon=25.0, alpha=0.0).fit(X, y)
        print(f"  {loss:9} {model.score(T, u):.4f}")


if __name__ == "__main__":
    main()
