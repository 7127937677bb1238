"""The order of the rows: the same rows in another order give another plane.

One pass over rows sorted by class ends with whatever the second class taught last. In random orders every run ends
with a plane that separates the rows, each with a different one, after a different number of mistakes; all numbers are
below the bound, which knows nothing of the order. The widest plane does not depend on it at all.
"""

import warnings

import numpy as np

from rosenblatt import AveragedPerceptron, MaxMargin, Perceptron, margins, teaching


def main():
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = rng.normal(size=(200, 2)) + np.outer(y, [2.5, 2.5])
    print("one pass, rows right at its end     last w   average of all w")
    for name, order in (("sorted by class", np.arange(200)), ("shuffled", rng.permutation(200))):
        models = [
            kind(order="cyclic", max_epochs=1).fit(X[order], y[order]) for kind in (Perceptron, AveragedPerceptron)
        ]
        print(f"  {name:31}{models[0].score(X, y):9.1%}{models[1].score(X, y):15.1%}")

    X, y, _ = teaching.teacher(300, 5, margin=0.05, random_state=3)
    widest = MaxMargin(fit_intercept=False).fit(X, y)
    margin = margins(widest, X, y).margin
    bound = (widest.report_.radius / margin) ** 2
    runs = [Perceptron(fit_intercept=False, random_state=seed).fit(X, y) for seed in range(20)]
    updates, found = [run.report_.updates for run in runs], [run.report_.margin for run in runs]
    units = np.array([run.coef_[0] / np.linalg.norm(run.coef_) for run in runs])
    planes, apart = len({run.coef_.tobytes() for run in runs}), np.degrees(np.arccos((units @ units.T).min()))
    print(f"\n20 random orders: {planes} planes, up to {apart:.0f}° apart; all separate the rows")
    print(f"  mistakes {min(updates)} to {max(updates)}; (R/γ)² = {bound:.0f} bounds every order")
    print(f"  margin   {min(found):.4f} to {max(found):.4f}; the widest plane has {margin:.4f}")
    other = MaxMargin(fit_intercept=False).fit(X[::-1], y[::-1])
    same = np.allclose(widest.coef_, other.coef_, rtol=1e-4)
    print(f"  the widest plane from the rows in reverse: {'the same' if same else 'another'}")


if __name__ == "__main__":
    main()
