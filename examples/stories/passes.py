"""How many passes? One is too few, and many are too many.

After one pass the perceptron has seen every row once, and the weights are still rough. After many it has learned the
noise by heart: the training rows come out right, and new rows suffer. The average of all weights suffers less.
"""

import warnings

import numpy as np

from rosenblatt import AveragedPerceptron, Perceptron, teaching


def rows(n, noise, rng):
    """Rows of a teacher in 40 dimensions; a share of the labels is wrong."""
    X, y, _ = teaching.teacher(n, 40, margin=0.02, random_state=7)
    return X, np.where(rng.random(n) < noise, -y, y), y


def main():
    warnings.simplefilter("ignore")
    X, noisy, y = rows(1400, 0.08, np.random.default_rng(0))
    train, test = slice(0, 150), slice(150, None)
    models = {"last": Perceptron(random_state=0), "average": AveragedPerceptron(random_state=0)}
    print("          training rows right        new rows right")
    print("passes      last   average         last   average")
    reached = []
    for epoch in range(1, 201):
        for model in models.values():
            model.partial_fit(X[train], noisy[train])
        if epoch in (1, 2, 3, 5, 10, 20, 50, 100, 200):
            seen = [model.score(X[train], noisy[train]) for model in models.values()]
            new = [model.score(X[test], y[test]) for model in models.values()]
            reached.append((new[0], epoch))
            print(f"{epoch:6}{seen[0]:10.1%}{seen[1]:10.1%}{new[0]:13.1%}{new[1]:10.1%}")
    print(f"\nOf the last weights the best are those after {max(reached)[1]} passes.")


if __name__ == "__main__":
    main()
