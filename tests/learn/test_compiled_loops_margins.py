"""Passive-aggressive and second-order loops against the slow twin; loops that pause."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from loop_cases import (
    KINDS,
    SCHEMES,
    as_kind,
    dtype_of,
    every_kind,
    few_kinds,
    modest,
    real_numbers,
    same,
    seen,
    shuffled,
    teach,
    whole_numbers,
)
from sklearn.base import clone

import reference as twin
import rosenblatt.compiled.row_arrays
import rosenblatt.online.solver
from rosenblatt import (
    AROW,
    PAUM,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    SecondOrderPerceptron,
)
from rosenblatt.shell.online_learner import examples_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:y has exactly one 1 in every row"
)

# -- passive-aggressive ----------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@modest(25)
@given(
    data=real_numbers(zeros=True),
    C=st.sampled_from([0.05, 1.0, 8.0]),
    keep=st.sampled_from(["last", "average"]),
    bias=st.sampled_from(["none", "unit"]),
)
def test_passive_aggressive(kind, variant, data, C, keep, bias):
    X = as_kind(data.X, kind)
    model = PassiveAggressive(
        variant=variant, C=C, keep=keep, fit_intercept=bias == "unit", max_epochs=3, random_state=7
    ).fit(X, data.y, data.weights)
    slow = twin.train(
        seen(X),
        data.sides,
        twin.PassiveAggressive(variant, C),
        bias=bias,
        order=shuffled(7),
        keep=keep,
        weights=data.weights,
        epochs=3,
    )
    # An unclipped step ends at margin 1 but for rounding, so a second visit may or may not count as an update.
    same(model, slow, exact=False, counted=False)
    assert model.n_iter_ == len(slow.updates)


@few_kinds
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("scheme", SCHEMES)
@modest(15)
@given(rows=st.data(), keep=st.sampled_from(["last", "average"]), bias=st.sampled_from(["none", "unit"]))
def test_passive_aggressive_many_classes(kind, variant, scheme, rows, keep, bias):
    data = rows.draw(real_numbers(classes=3, labels=scheme == "labels", zeros=True))
    X, one_each = as_kind(data.X, kind), "ovr" if scheme == "labels" else scheme
    model = PassiveAggressive(
        variant=variant,
        C=0.3,
        keep=keep,
        fit_intercept=bias == "unit",
        multiclass=one_each,
        order="cyclic",
        max_epochs=3,
    ).fit(X, teach(data, scheme), data.weights)
    slow = twin.train(
        seen(X),
        data.y,
        twin.PassiveAggressive(variant, 0.3),
        scheme=one_each,
        classes=3,
        bias=bias,
        keep=keep,
        weights=data.weights,
        epochs=3,
    )
    same(model, slow, exact=False, counted=False)


@every_kind
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@modest(20)
@given(
    data=real_numbers(regression=True, zeros=True),
    keep=st.sampled_from(["last", "average"]),
    epsilon=st.sampled_from([0.0, 0.2]),
)
def test_passive_aggressive_regression(kind, variant, data, keep, epsilon):
    X = as_kind(data.X, kind)
    model = PassiveAggressiveRegressor(
        variant=variant, C=0.5, epsilon=epsilon, keep=keep, order="cyclic", max_epochs=3
    ).fit(X, data.y, data.weights)
    slow = twin.train(
        seen(X),
        np.asarray(data.y, dtype=dtype_of(kind)).astype(np.float64).tolist(),
        twin.PassiveAggressive(variant, 0.5, epsilon),
        scheme="regression",
        keep=keep,
        weights=data.weights,
        # A step ends on the edge of the tube, but for rounding, which so decides whether the model has converged.
        epochs=model.n_iter_,
        stop=False,
    )
    same(model, slow, exact=False, counted=False)
    np.testing.assert_allclose(model.predict(X), [slow.scores(x)[0] for x in seen(X)], rtol=1e-3, atol=1e-3)


SIGNS = st.sampled_from([-1, 1])


@pytest.mark.parametrize("kind", ["dense64", "csr64-int32"])
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("scheme", ["one", "multinomial", "ovr"])
@modest(20)
@given(rows=st.lists(st.tuples(SIGNS, SIGNS, SIGNS), min_size=3, max_size=6), codes=st.permutations(range(6)))
def test_passive_aggressive_on_the_kink(kind, variant, scheme, rows, codes):
    """Rows of ±1 with a bias have ‖x̂‖² = 4, so every step is a binary fraction: margins are exactly 0 and 1."""
    classes = 2 if scheme == "one" else 3
    y = [code % classes for code in codes[: len(rows)] if code < len(rows)]
    rows = rows[: len(y)]
    if len(set(y)) < classes:
        return
    X = [list(row) for row in rows]
    # Of two classes q + 1/(2C) = 4 + 4; of several 2q + 1/(2C) = 8 + 8.
    C = {"PA-I": 0.125, "PA-II": 0.0625 if scheme == "multinomial" else 0.125}.get(variant, 1.0)
    model = PassiveAggressive(
        variant=variant, C=C, order="cyclic", max_epochs=2, multiclass=scheme if classes > 2 else "ovr"
    ).fit(as_kind(X, kind), y)
    truth = [2 * code - 1 for code in y] if scheme == "one" else y
    slow = twin.train(X, truth, twin.PassiveAggressive(variant, C), scheme=scheme, classes=classes, epochs=2)
    same(model, slow)


# -- second order ----------------------------------------------------------------------------------------------------

SECOND_ORDER: dict[str, tuple[Any, Any]] = {
    "AROW": (AROW(r=0.7), twin.AROW(r=0.7)),
    "second-order": (SecondOrderPerceptron(a=0.5), twin.SecondOrder(a=0.5)),
}


def second_order(name: str, covariance: str, bias: Any) -> tuple[Any, Any]:
    model, rule = SECOND_ORDER[name]
    model = clone(model).set_params(covariance=covariance, fit_intercept=bias != "none", max_epochs=2)
    model.set_params(bias_step="unit" if bias == "none" else bias)
    return model, replace(rule, full=covariance == "full")


@pytest.mark.parametrize("kind", ["dense32", "dense64", "csr32-int64", "csr64-int32"])
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("name", SECOND_ORDER)
@modest(20)
@given(rows=st.data(), bias=st.sampled_from(["none", "unit", 0.3]))
def test_second_order(kind, covariance, name, rows, bias):
    data = rows.draw(real_numbers(zeros=bias == "none"))
    model, rule = second_order(name, covariance, bias)
    X = as_kind(data.X, kind)
    model.set_params(random_state=7).fit(X, data.y, data.weights)
    slow = twin.train(
        seen(X),
        data.sides,
        rule,
        bias=bias,
        order=shuffled(7),
        weights=data.weights,
        epochs=2,
    )
    same(model, slow, exact=False)


@few_kinds
@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("name", SECOND_ORDER)
@pytest.mark.parametrize("scheme", SCHEMES)
@modest(15)
@given(rows=st.data(), bias=st.sampled_from(["none", "unit", 0.3]))
def test_second_order_many_classes(kind, covariance, name, scheme, rows, bias):
    data = rows.draw(real_numbers(classes=3, labels=scheme == "labels", zeros=bias == "none"))
    model, rule = second_order(name, covariance, bias)
    X, one_each = as_kind(data.X, kind), "ovr" if scheme == "labels" else scheme
    model.set_params(multiclass=one_each, order="cyclic").fit(X, teach(data, scheme), data.weights)
    slow = twin.train(
        seen(X),
        data.y,
        rule,
        scheme=one_each,
        classes=3,
        bias=bias,
        weights=data.weights,
        epochs=2,
    )
    same(model, slow, exact=False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arow_on_sparse_rows_of_every_length(dtype):
    """Stored values are read four at a time: rows of 0 to 9 values have every remainder."""
    rng = np.random.default_rng(0)
    lengths = np.arange(60) % 10
    X = np.array([np.r_[rng.normal(size=n), np.zeros(9 - n)] for n in lengths], dtype)
    y = rng.integers(0, 2, 60)
    dense, sparse = (AROW(r=0.7, order="cyclic", max_epochs=3).fit(form, y) for form in (X, sp.csr_matrix(X)))
    slow = twin.train(X.astype(float).tolist(), [2 * int(k) - 1 for k in y], twin.AROW(r=0.7), epochs=3)
    same(dense, slow, exact=False)
    same(sparse, slow, exact=False)


# -- the loop in pieces ----------------------------------------------------------------------------------------------


@few_kinds
@pytest.mark.parametrize(
    ("update", "keep"),
    [*itertools.product(["online", "batch"], ["last", "average", "pocket"]), ("online", "vote")],
)
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
@modest(8)
@given(data=whole_numbers(classes=3))
def test_pieces_make_the_whole(monkeypatch, kind, keep, update, multiclass, data):
    """An epoch is cut into short calls of compiled code, so that Ctrl-C is heard: where it is cut must not matter."""
    X = as_kind(data.X, kind)

    def fit() -> Any:
        model = Perceptron(keep=keep, update=update, multiclass=multiclass, max_epochs=3, random_state=1)
        return model.fit(X, data.y, data.weights)

    whole = fit()
    with monkeypatch.context() as patch:
        patch.setattr(rosenblatt.compiled.row_arrays, "VALUES_AT_ONCE", 1)  # one row a call
        patch.setattr(rosenblatt.online.solver, "LOG_ROOM", 2)  # the log of updates fills up at every row
        pieces = fit()
        assert np.array_equal(whole.decision_function(X), pieces.decision_function(X))
    for mine, other in zip(whole.report_.epochs, pieces.report_.epochs, strict=True):
        assert (mine.updates, mine.loss) == (other.updates, other.loss)
    if keep != "vote":
        assert np.array_equal(whole.coef_, pieces.coef_)
        assert np.array_equal(whole.intercept_, pieces.intercept_)


def test_paum_is_the_perceptron_with_uneven_margins():
    X, y = [[1, 2], [-1, 0], [0, -3], [2, 2]], [0, 1, 0, 1]
    model = PAUM(margin=(1, 7), order="cyclic", max_epochs=5).fit(X, y)
    slow = twin.train(X, [-1, 1, -1, 1], twin.Perceptron(1, 7), bias="radius", epochs=5)
    same(model, slow)


# -- what the loops are given ----------------------------------------------------------------------------------------


@every_kind
def test_rows_reach_the_loops_as_they_are(kind):
    """No copy, and the type of the values and indices kept: else the tests above would compare less than they say."""
    form, dtype, index = KINDS[kind]
    X = as_kind([[1, 0], [0, 2], [3, 0]], kind)
    rows = examples_of(Perceptron(), X, [0, 1, 1]).rows
    assert rows.values.dtype == dtype
    assert np.shares_memory(rows.values, X if form == "dense" else X.data)
    if form == "csr":
        assert rows.columns.dtype.itemsize == np.dtype(index).itemsize
        assert np.shares_memory(rows.columns, X.indices)


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_need_not_be_canonical(form):
    """Columns out of order, a column twice in a row, zeros that are stored: the same model, and the input untouched."""
    X = form((np.array([2.0, 1.0, 5.0, -3.0, 0.0, 1.0]), np.array([2, 0, 1, 1, 0, 2]), np.array([0, 2, 4, 6])))
    before = X.data.copy(), X.indices.copy()
    dense, y = np.array([[1.0, 0.0, 2.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]), [0, 1, 1]
    for model in (Perceptron(bias_step="radius"), PassiveAggressive(), AROW()):
        model.set_params(max_epochs=5, order="cyclic")
        sparse = clone(model).fit(X, y)
        assert np.array_equal(sparse.coef_, clone(model).fit(dense, y).coef_)
        assert np.array_equal(sparse.decision_function(X), sparse.decision_function(dense))
    assert np.array_equal(X.data, before[0])
    assert np.array_equal(X.indices, before[1])
