"""The design's contracts, over every estimator to which each applies."""

import warnings
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp
from contract_cases import PROPERTY
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from contracts import ADDITIVE, EVERY, ROUNDED, cases, draw, learned, make, tables
from family import ESTIMATORS, answers, same_model, target_for
from rosenblatt import (
    AveragedPerceptron,
    PassiveAggressiveRegressor,
    Perceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# -- sparse = dense --------------------------------------------------------------------------------------------------


def sparse_forms(X):
    yield sp.csr_matrix(X)
    yield sp.csr_array(X)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield wide
    yield sp.coo_array(X)


@cases(ADDITIVE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense_to_the_bit_on_whole_numbers(estimator, parameters, task, dtype):
    X, y = draw(task)
    X = X.astype(dtype)
    dense = make(estimator, parameters, task).fit(X, y)
    sparse = make(estimator, parameters, task).fit(sp.csr_array(X), y)
    assert same_model(sparse, dense)
    assert sparse.report_.errors == dense.report_.errors
    # An average is a quotient, and its scores are rounded sums.
    compare = np.allclose if estimator is AveragedPerceptron else np.array_equal
    assert compare(sparse.report_.margin or 0, dense.report_.margin or 0)
    assert compare(sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X))


@cases(ROUNDED)
def test_sparse_is_dense_to_rounding(estimator, parameters, task):
    X, y = draw(task, integer=False)
    dense = learned(make(estimator, parameters, task), X, y)
    sparse = learned(make(estimator, parameters, task), sp.csr_array(X), y)
    assert same_model(sparse, dense, exact=False)
    assert np.allclose(answers(sparse, X), answers(dense, sp.csr_array(X)))


@pytest.mark.parametrize("task", ["binary", "multinomial", "ovo"])
def test_every_sparse_form_is_the_same(task):
    X, y = draw(task)
    dense = make(Perceptron, {}, task).fit(X, y)
    for form in sparse_forms(X):
        assert same_model(make(Perceptron, {}, task).fit(form, y), dense)
        assert np.array_equal(dense.predict(form), dense.predict(X))


@cases(EVERY)
def test_a_dense_model_learns_on_from_sparse_rows(estimator, parameters, task):
    X, y = draw(task)
    mixed, dense = make(estimator, parameters, task), make(estimator, parameters, task)
    for form in (X, sp.csr_array(X), X, sp.csr_array(X)):
        mixed.partial_fit(form, target_for(mixed, y))
        dense.partial_fit(X, target_for(mixed, y))
    additive = (estimator, parameters) in ADDITIVE.values()
    assert same_model(mixed, dense, exact=additive)


@PROPERTY
@given(
    table=tables(),
    keep=st.sampled_from(["last", "average", "vote", "pocket"]),
    multiclass=st.sampled_from(["multinomial", "ovr", "ovo"]),
    order=st.sampled_from(["shuffle", "cyclic", "random", "first", "worst"]),
)
def test_sparse_is_dense_on_any_small_table(table, keep, multiclass, order):
    X, y = table
    knobs = {"keep": keep, "multiclass": multiclass, "order": order, "max_epochs": 4, "random_state": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense = Perceptron(**knobs).fit(X, y)
        sparse = Perceptron(**knobs).fit(sp.csr_array(X), y)
    assert same_model(sparse, dense)
    assert sparse.report_.outcome == dense.report_.outcome
    assert np.array_equal(sparse.predict(X), dense.predict(X))


# -- dtype -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("task", ["binary", "multinomial", "ovo"])
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_dtype_is_kept(estimator, task, form):
    if estimator is PassiveAggressiveRegressor and task != "binary":
        pytest.skip("numbers have no classes")
    X, y = draw(task)
    for dtype, other in ((np.float32, np.float64), (np.float64, np.float32)):
        model = make(estimator, {}, task)
        y = target_for(model, y)
        model.fit(form(X.astype(dtype)), y)
        if hasattr(model, "coef_"):
            assert model.coef_.dtype == model.intercept_.dtype == dtype
        converted = deepcopy(model).partial_fit(form(X.astype(other)), y)
        assert same_model(converted, model.partial_fit(form(X.astype(dtype)), y))
        if hasattr(model, "coef_"):
            assert converted.coef_.dtype == dtype
        # Rows are scored in their own type.
        assert np.allclose(answers(model, form(X.astype(other))), answers(model, form(X.astype(dtype))), atol=1e-4)


@pytest.mark.parametrize("kind", [np.int64, np.int16, np.uint16, bool, object])
def test_whole_numbers_are_learned_from_as_doubles(kind):
    """Of 16 bits and more; those of 8 bits, which embeddings are made of, as floats of 32 (`test_narrow_rows`)."""
    X, y = draw("binary")
    X = np.abs(X).clip(0, 1)
    model = Perceptron(max_epochs=3, random_state=0).fit(X.astype(kind), y)
    assert model.coef_.dtype == np.float64
    assert same_model(model, Perceptron(max_epochs=3, random_state=0).fit(X, y))


# -- epochs and pieces -----------------------------------------------------------------------------------------------


@cases(EVERY)
@pytest.mark.parametrize("order", ["shuffle", "cyclic", "random", "explicit"])
def test_calls_of_partial_fit_are_the_epochs_of_fit(estimator, parameters, task, order):
    if order != "shuffle" and ("order" in parameters or parameters.get("update") == "batch"):
        pytest.skip("the variant has its own order")
    X, y = draw(task)
    if order in ("random", "explicit"):
        X = sp.csr_array(X)
    if order == "explicit":
        order = [3, 3, 0, 1, *range(39, 2, -1)]
    if "order" not in parameters:
        parameters = {**parameters, "order": order}
    whole, pieces = make(estimator, parameters, task), make(estimator, parameters, task)
    y = target_for(whole, y)
    whole.fit(X, y)
    for _ in range(whole.n_iter_):
        pieces.partial_fit(X, y)
    assert same_model(pieces, whole)
    assert pieces.n_iter_ == whole.n_iter_ == 3
    for one, other in zip(pieces.report_.epochs, whole.report_.epochs, strict=True):
        assert (one.epoch, one.updates, one.loss) == (other.epoch, other.updates, other.loss)
    # What the next epoch needs is the same too, and a fit forgets what was before.
    assert same_model(pieces.partial_fit(X, y), whole.partial_fit(X, y))
    assert same_model(pieces.fit(X, y), make(estimator, parameters, task).fit(X, y))


@cases({name: variant for name, variant in EVERY.items() if name not in ("by epoch", "radius", "pocket", "PAUM")})
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_pieces_in_file_order_are_one_epoch(estimator, parameters, task, form):
    # A pocket, a batch and PLA look at all rows at once: a piece is not what they would see.
    if "order" in parameters or parameters.get("update") == "batch":
        pytest.skip("looks at all rows at once")
    X, y = draw(task)
    parameters = {**parameters, "order": "cyclic"}
    whole, pieces = make(estimator, parameters, task), make(estimator, parameters, task)
    y = target_for(whole, y)
    classes = {} if estimator is PassiveAggressiveRegressor or task == "labels" else {"classes": np.unique(y)}
    for _ in range(2):
        whole.partial_fit(form(X), y, **classes)
        for begin, end in ((0, 1), (1, 8), (8, 9), (9, 30), (30, 40)):
            pieces.partial_fit(form(X[begin:end]), y[begin:end], **classes)
    assert same_model(pieces, whole)
    assert np.array_equal(answers(pieces, X), answers(whole, X))
