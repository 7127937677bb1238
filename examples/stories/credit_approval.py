"""Credit approval: a bank has files of past applicants, good and bad, and looks for the formula behind them.

The formula is a weighted sum of an applicant's attributes above a threshold. Nobody knows it. The perceptron takes the
first applicant that it gets wrong, corrects its weights, and stops when there is none left.
"""

import numpy as np
from sklearn.preprocessing import StandardScaler

from rosenblatt import Perceptron

ATTRIBUTES = ["age", "salary", "years in residence", "years in job", "debt"]
FORMULA = np.array([0.2, 1.5, 0.3, 0.8, -1.6])  # in standard units


def applicants(n, seed):
    """Attributes, and the right decision; cases on the edge, where luck decides, are left out."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(20, 65, 3 * n)
    salary = rng.normal(30_000 + 600 * (age - 20), 9_000).clip(12_000)
    home, job = rng.uniform(0, 0.6, (2, 3 * n)) * (age - 18)
    X = np.column_stack([age, salary, home, job, rng.gamma(2.0, 8_000, 3 * n)])
    score = (X - X.mean(axis=0)) / X.std(axis=0) @ FORMULA
    clear = np.flatnonzero(np.abs(score) > 0.3)[:n]
    return X[clear], np.where(score[clear] > 0, "grant", "deny")


def main():
    X, y = applicants(600, seed=0)
    X, y, new, right = X[:400], y[:400], X[400:], y[400:]
    scaler = StandardScaler().fit(X)  # years and dollars in the same units
    model = Perceptron(order="first").fit(scaler.transform(X), y)
    report = model.report_
    print(f"{len(y)} applicants of the past, {np.sum(y == 'grant')} of them with credit: {report.outcome}")
    print(f"after {report.updates} corrections; Novikoff's bound allows {report.bound:,.0f}.\n")

    print("attribute             weight   in the formula (both of length 1)")
    w, truth = model.coef_[0] / np.linalg.norm(model.coef_), FORMULA / np.linalg.norm(FORMULA)
    for k in np.argsort(-np.abs(truth)):
        print(f"{ATTRIBUTES[k]:20}  {w[k]:+6.2f}   {truth[k]:+6.2f}")
    print(f"\nnew applicants judged as by the formula: {model.score(scaler.transform(new), right):.1%}")

    one = scaler.transform([[23, 30_000, 1, 1, 15_000]])  # the applicant of the slide
    print(f"\nage 23, $30,000 a year, 1 year in residence and in job, debt $15,000: {model.predict(one)[0]}")
    parts = one[0] * model.coef_[0]
    for k in np.argsort(-np.abs(parts)):
        print(f"  {'for' if parts[k] > 0 else 'against':8}{ATTRIBUTES[k]:20}{parts[k]:+6.1f}")


if __name__ == "__main__":
    main()
