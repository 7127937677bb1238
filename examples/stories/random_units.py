"""Random units: the Mark I wired its first layer at random and trained only the second. Do smooth units do better?

Rosenblatt's association units are steps: on or off. "Extreme learning machines" keep the idea, random weights that
never learn, with smooth units. On a ring around a disc, which no line separates, both work with enough units. Smooth
ones need fewer: a boundary of steps is a polygon, that of smooth units a curve.
"""

import warnings

import numpy as np

from rosenblatt import AveragedPerceptron, Layer, MarkI


def rows(n, seed):
    """A disc, and a ring around it."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    r, angle = np.where(y == 1, rng.uniform(1.1, 2.0, n), rng.uniform(0.0, 0.9, n)), rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([r * np.cos(angle), r * np.sin(angle)]), y


def main():
    warnings.simplefilter("ignore")
    X, y = rows(200, seed=0)
    T, u = rows(2000, seed=1)
    learner = AveragedPerceptron(max_epochs=10, random_state=0)
    print(f"new rows right, mean of 4 wirings (a line: {learner.fit(X, y).score(T, u):.0%})\n")
    print("units    Mark I    random steps    the same, smooth")
    for units in (3, 6, 12, 25, 50):
        right = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            W, b = 2 * rng.normal(size=(2, units)), 2 * rng.normal(size=units)
            machine = MarkI(units, keep="average", max_epochs=10, random_state=seed).fit(X, y)
            found = [machine.score(T, u)]
            for kind in ("sign", "tanh"):
                layer = Layer(units, kind)  # weights that were drawn, not learned
                found.append(learner.fit(layer.forward(X, W, b), y).score(layer.forward(T, W, b), u))
            right.append(found)
        print("{:5}{:10.1%}{:14.1%}{:18.1%}".format(units, *np.mean(right, axis=0)))


if __name__ == "__main__":
    main()
