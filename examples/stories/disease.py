"""Disease or not: two blood values that overlap, where a missed patient costs more than a false alarm.

No line separates the sick from the healthy, so the perceptron never comes to rest. Its last weights are whatever the
last rows left; the average of all weights is steady; and class weights say what a mistake costs.
"""

import warnings

import numpy as np

from rosenblatt import AveragedPerceptron, Perceptron, separability


def patients(n, seed):
    """Two standardised blood values; one patient in five is sick."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.2).astype(int)
    return (rng.normal(size=(n, 2)) + np.outer(y, [1.6, 1.1])).round(2), y


def main():
    warnings.simplefilter("ignore")  # budgets are spent: that is what this story is about
    X, y = patients(300, seed=1)
    T, u = patients(2000, seed=2)
    verdict = separability(X, y)
    verdict.verify(X, y)
    print(f"Can a line tell the sick (1) from the healthy (0)?\n\n{verdict}\n")

    print("accuracy on new patients, in runs that differ only in the order of the rows")
    for name, kind in (("last weights", Perceptron), ("average weights", AveragedPerceptron)):
        runs = [kind(max_epochs=10, random_state=seed).fit(X, y).score(T, u) for seed in range(6)]
        print(f"  {name:17} {min(runs):.3f} to {max(runs):.3f}")

    print(f"\nof {np.sum(u == 1)} sick and {np.sum(u == 0)} healthy patients")
    for cost in (1, 4, 12):
        model = AveragedPerceptron(max_epochs=10, class_weight={0: 1, 1: cost}, random_state=0).fit(X, y)
        said = model.predict(T)
        missed, alarms = np.sum((u == 1) & (said == 0)), np.sum((u == 0) & (said == 1))
        print(f"  a missed patient costs {cost:2} false alarms: {missed:4} missed, {alarms:4} false alarms")


if __name__ == "__main__":
    main()
