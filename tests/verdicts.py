"""Small sets of each kind, and verdicts that have been checked."""

import dataclasses
import pickle

import pytest
from hypothesis import strategies as st

from rosenblatt import CertificateError, separability

XOR = ([[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1])
QUASI = ([[0.0], [1.0], [1.0], [2.0]], [0, 0, 1, 1])
APART = ([[0.0, 1.0], [1.0, 0.0], [3.0, 3.0], [4.0, 2.0]], [0, 0, 1, 1])


def checked(X, y, **options):
    """The verdict, once it has verified itself and survived as text."""
    verdict = separability(X, y, **options)
    verdict.verify(X, y)
    assert type(verdict).from_json(verdict.to_json()) == verdict
    return verdict


@st.composite
def rows_and_labels(draw):
    """Small whole numbers of every kind: separable, touching, duplicates, constant columns, zero rows, one class."""
    n, d = draw(st.integers(1, 7)), draw(st.integers(1, 4))
    reach = draw(st.integers(0, 3))
    X = [[draw(st.integers(-reach, reach)) for _ in range(d)] for _ in range(n)]
    kind = draw(st.sampled_from(["random", "teacher", "same", "constant", "zero", "twin", "combination"]))
    y = [draw(st.integers(0, 1)) for _ in range(n)]
    if kind == "teacher":
        w, b = [draw(st.integers(-2, 2)) for _ in range(d)], draw(st.integers(-1, 1))
        y = [int(sum(a * c for a, c in zip(row, w, strict=True)) > b) for row in X]
    elif kind == "same":
        y = [y[0]] * n
    elif kind == "constant":
        X = [[2, *row[1:]] for row in X]
    elif kind == "zero":
        X[0] = [0] * d
    elif kind == "twin":
        X, y = [*X, X[0]], [*y, 1 - y[0]]
    elif kind == "combination":
        X = [[*row, 2 * row[0] - 1] for row in X]
    shift = draw(st.sampled_from([0, 0, -30, 40]))
    return [[float(value) * 2.0 ** (shift * (j % 2)) for j, value in enumerate(row)] for row in X], y


def refused(record, X, y, claim, **changes):
    with pytest.raises(CertificateError) as caught:
        dataclasses.replace(record, **changes).verify(X, y)
    assert caught.value.claim == claim
    assert claim in str(pickle.loads(pickle.dumps(caught.value)))
