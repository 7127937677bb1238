"""The slow twin of `separability`: every set of rows is tried, in fractions.

A circuit is a smallest set of rows z_i with Σ λ_i z_i = 0 for some λ > 0. Rows are completely separable when there is
no circuit (Gordan), overlap when every row is in one (Stiemke), and are quasi-completely separable otherwise.
"""

from fractions import Fraction
from itertools import combinations


def null_space(rows):
    """A basis of {λ: Σ λ_i rows_i = 0}, by Gauss in fractions."""
    m = [[Fraction(row[j]) for row in rows] for j in range(len(rows[0]))]
    n, pivots = len(rows), []
    for column in range(n):
        at = next((i for i in range(len(pivots), len(m)) if m[i][column]), None)
        if at is None:
            continue
        r = len(pivots)
        m[r], m[at] = m[at], m[r]
        m[r] = [value / m[r][column] for value in m[r]]
        for i in range(len(m)):
            if i != r and m[i][column]:
                factor = m[i][column]
                m[i] = [a - factor * b for a, b in zip(m[i], m[r], strict=True)]
        pivots.append(column)
    basis = []
    for free in range(n):
        if free not in pivots:
            v = [Fraction(0)] * n
            v[free] = Fraction(1)
            for i, column in enumerate(pivots):
                v[column] = -m[i][free]
            basis.append(v)
    return basis


def rank(rows):
    return len(rows) - len(null_space(rows)) if rows else 0


def signed_rows(X, y, fit_intercept=True):
    """z_i = y_i (x_i, 1), y_i = +1 for the larger label."""
    high = max(y)
    return [
        [(1 if label == high else -1) * Fraction(value) for value in ([*row, 1] if fit_intercept else row)]
        for row, label in zip(X, y, strict=True)
    ]


def circuits(z):
    width = len(z[0])
    for size in range(1, width + 2):
        for chosen in combinations(range(len(z)), size):
            space = null_space([z[i] for i in chosen])
            if len(space) == 1 and (all(v > 0 for v in space[0]) or all(v < 0 for v in space[0])):
                yield chosen


def verdict(X, y, fit_intercept=True):
    z = signed_rows(X, y, fit_intercept)
    covered = set()
    for circuit in circuits(z):
        covered.update(circuit)
        if len(covered) == len(z):
            return "overlap"
    return "quasi-complete" if covered else "complete"
