"""The compiled loops for many classes, and votes, against the slow twin."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from loop_cases import ORDERS, SCHEMES, as_kind, every_kind, few_kinds, is_exact, modest, same, teach, whole_numbers

import reference as twin
from rosenblatt import (
    Perceptron,
    VotedPerceptron,
)
from rosenblatt.compiled.rows import FETCHED
from rosenblatt.learn.models import score_many
from rosenblatt.learn.row_checks import encode_rows

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y has exactly one 1 in every row"
)


@every_kind
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", ORDERS)
@modest(12)
@given(
    rows=st.data(),
    bias=st.sampled_from(["none", "unit", "radius", 0.25]),
    margin=st.sampled_from([(0, 0), (3, 3), (1, 4)]),
    keep=st.sampled_from(["last", "average", "pocket"]),
    epochs=st.sampled_from([1, 2, 4]),
)
def test_perceptron_many_classes(kind, scheme, order, rows, bias, margin, keep, epochs):
    if scheme == "multinomial":
        margin = (margin[0], margin[0])  # it lies between two classes: there are no sides
    data = rows.draw(whole_numbers(classes=3, labels=scheme == "labels"))
    options, slow_order = ORDERS[order]
    X = as_kind(data.X, kind)
    model = Perceptron(
        multiclass="ovr" if scheme == "labels" else scheme,
        fit_intercept=bias != "none",
        bias_step="unit" if bias == "none" else bias,
        margin=margin,
        keep=keep,
        max_epochs=epochs,
        **options,
    ).fit(X, teach(data, scheme), sample_weight=data.weights)
    slow = twin.train(
        data.X,
        data.y,
        twin.Perceptron(*margin),
        scheme="ovr" if scheme == "labels" else scheme,
        classes=3,
        bias=bias,
        order=slow_order,
        keep=keep,
        weights=data.weights,
        epochs=epochs,
    )
    same(model, slow, exact=is_exact(slow, keep))
    if is_exact(slow, keep):
        assert answers(model, X) == [answer(slow, x, scheme) for x in data.X]


def answers(model: Any, X: Any) -> list[Any]:
    said = model.predict(X)
    return said.tolist() if said.ndim == 2 else np.searchsorted(model.classes_, said).tolist()


def answer(slow: twin.Outcome, x: Any, scheme: str) -> Any:
    """The class that the twin's planes stand for: the first of the largest score, or all labels above 0."""
    scores = slow.scores(x)
    if scheme == "ovo":
        return twin.pair_winner(scores, 3)
    if scheme == "labels":
        return [int(score > 0) for score in scores]
    return max(range(len(scores)), key=lambda k: (scores[k], -k))


@few_kinds
@pytest.mark.parametrize("rate", [1.0, "1/t"])
@modest(15)
@given(data=whole_numbers(classes=3))
def test_one_vs_rest_in_one_pass_is_a_fit_for_each_class(kind, rate, data):
    X, options = as_kind(data.X, kind), {"order": "cyclic", "max_epochs": 1, "learning_rate": rate}
    model = Perceptron(multiclass="ovr", **options).fit(X, data.y, data.weights)
    for k in range(3):
        alone = Perceptron(**options).fit(X, np.array(data.y) == k, data.weights)
        assert np.array_equal(model.coef_[k], alone.coef_[0])
        assert model.intercept_[k] == alone.intercept_[0]


# -- votes -----------------------------------------------------------------------------------------------------------


@every_kind
@modest(25)
@given(
    data=whole_numbers(),
    bias=st.sampled_from(["none", "unit", "radius", 0.25]),
    epochs=st.sampled_from([1, 3]),
    start=...,
)
def test_votes_two_classes(kind, data, bias, epochs, start: bool):
    X = as_kind(data.X, kind)
    model = VotedPerceptron(
        fit_intercept=bias != "none", bias_step="unit" if bias == "none" else bias, order="cyclic", max_epochs=epochs
    )
    first = ([[1, -2, 3, 1][: len(data.X[0])]], [0 if bias == "none" else -1]) if start else None
    model.fit(X, data.y, data.weights, *(first or (None, None)))
    slow = twin.train(
        data.X,
        data.sides,
        twin.Perceptron(),
        bias=bias,
        keep="vote",
        weights=data.weights,
        start=first,
        epochs=epochs,
    )
    ballot = slow.machines[0].ballots[0]
    assert np.array_equal(model.vectors_, [survivor.planes[0][0] for survivor in ballot])
    assert np.array_equal(model.intercepts_, [survivor.planes[1][0] for survivor in ballot])
    assert np.array_equal(model.votes_, [survivor.votes for survivor in ballot])
    assert np.array_equal(model.decision_function(X), [slow.votes(x)[0] for x in data.X])


@few_kinds
@pytest.mark.parametrize("scheme", SCHEMES)
@modest(25)
@given(rows=st.data(), epochs=st.sampled_from([1, 3]))
def test_votes_many_classes(kind, scheme, rows, epochs):
    data = rows.draw(whole_numbers(classes=3, labels=scheme == "labels"))
    X = as_kind(data.X, kind)
    one_each = "ovr" if scheme == "labels" else scheme
    model = VotedPerceptron(multiclass=one_each, order="cyclic", max_epochs=epochs)
    model.fit(X, teach(data, scheme), data.weights)
    slow = twin.train(
        data.X,
        data.y,
        twin.Perceptron(),
        scheme=one_each,
        classes=3,
        keep="vote",
        weights=data.weights,
        epochs=epochs,
    )
    ballots = [ballot for machine in slow.machines for ballot in machine.ballots]
    vectors, votes = model.vectors_, model.votes_
    if scheme == "multinomial":
        vectors, votes = [vectors], [votes]
    for ballot, mine, count in zip(ballots, vectors, votes, strict=True):
        written = [s.planes[0] if scheme == "multinomial" else s.planes[0][0] for s in ballot]
        assert np.array_equal(mine, written)
        assert np.array_equal(count, [survivor.votes for survivor in ballot])
    if scheme == "ovo":
        duels = [[slow.votes(x, machine)[0] for machine in range(3)] for x in data.X]
        assert answers(model, X) == [twin.pair_winner(duel, 3) for duel in duels]
    else:
        assert np.array_equal(model.decision_function(X), [slow.votes(x) for x in data.X])


@pytest.mark.parametrize("K", [2, 7, 8, 9, 16, 17, 20, 24, 25, 31, 32, 33, 40, 57, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_scores_of_any_number_of_classes(K, dtype):
    """Eight columns are computed at a time, the last eight of them again where K is no multiple of eight."""
    rng = np.random.default_rng(K)
    X = rng.integers(-4, 5, (12, 30)) * (rng.random((12, 30)) < 0.5)
    X[5] = 0
    W, b = rng.integers(-9, 10, (30, K)).astype(dtype), rng.integers(-9, 10, K).astype(dtype)
    out = np.full((12, K), np.nan, dtype)
    score_many(encode_rows(sp.csr_matrix(X.astype(dtype)))[0], np.arange(12, dtype=np.uint64), W, b, out)
    np.testing.assert_array_equal(out, X @ W + b)


def test_sparse_scores_by_weights_that_are_prefetched():
    rng, K = np.random.default_rng(0), 1024
    d = FETCHED // K + 2
    X = sp.random(6, d, 0.02, format="csr", dtype=np.float32, random_state=0)
    X.data[:] = rng.integers(-4, 5, X.nnz)
    W, out = rng.integers(-9, 10, (d, K)).astype(np.float32), np.full((6, K), np.nan, np.float32)
    score_many(encode_rows(X)[0], np.arange(6, dtype=np.uint64), W, np.zeros(K, np.float32), out)
    np.testing.assert_array_equal(out, X @ W)
