"""Contracts of row weights: weight k is the row k times in a row."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from contract_cases import PROPERTY
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from contracts import EVERY, TASKS, cases, draw, make, tables
from family import CLASSIFIERS, ESTIMATORS, same_model, target_for
from rosenblatt import (
    AROW,
    AveragedPerceptron,
    PassiveAggressive,
    Perceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- weights ---------------------------------------------------------------------------------------------------------


@cases({name: variant for name, variant in EVERY.items() if variant[1].get("order") != "random"})
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_weight_k_is_the_row_k_times_in_a_row(estimator, parameters, task, form):
    X, y = draw(task)
    weight = np.random.default_rng(3).integers(1, 5, size=len(y))
    if parameters.get("update") != "batch" and "order" not in parameters:
        parameters = {**parameters, "order": "cyclic"}
    weighted, copied = make(estimator, parameters, task), make(estimator, parameters, task)
    y = target_for(weighted, y)
    weighted.fit(form(X), y, sample_weight=weight)
    copied.fit(form(np.repeat(X, weight, axis=0)), np.repeat(y, weight, axis=0))
    if parameters.get("order") == "first" or parameters.get("order") == "worst":
        # One visit an epoch: a weight of k gives a row k visits at once, copies one each.
        assert weighted.report_.updates >= copied.report_.updates
        return
    assert same_model(weighted, copied, exact=parameters.get("update") != "batch")
    assert weighted.report_.margin == copied.report_.margin or parameters.get("update") == "batch"
    assert [e.updates for e in weighted.report_.epochs] == [e.updates for e in copied.report_.epochs]
    assert np.allclose([e.loss for e in weighted.report_.epochs], [e.loss for e in copied.report_.epochs])


@PROPERTY
@given(
    table=tables(),
    weight=st.lists(st.integers(1, 4), min_size=9, max_size=9),
    keep=st.sampled_from(["last", "average", "vote", "pocket"]),
    multiclass=st.sampled_from(["multinomial", "ovr", "ovo"]),
)
def test_weight_is_copies_on_any_small_table(table, weight, keep, multiclass):
    X, y = table
    weight = weight[: len(y)]
    knobs = {"keep": keep, "multiclass": multiclass, "order": "cyclic", "max_epochs": 4}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        weighted = Perceptron(**knobs).fit(X, y, sample_weight=weight)
        copied = Perceptron(**knobs).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert same_model(weighted, copied)
    assert weighted.report_.outcome == copied.report_.outcome


def test_weights_in_an_explicit_order_are_copies_too():
    X, y = draw("binary")
    weight = np.random.default_rng(3).integers(1, 5, size=len(y))
    order = np.random.default_rng(4).permutation(len(y))
    first = np.concatenate([[0], np.cumsum(weight)])
    long = np.concatenate([np.arange(first[row], first[row + 1]) for row in order])
    for estimator, parameters in ((Perceptron, {}), (AveragedPerceptron, {}), (AROW, {}), (PassiveAggressive, {})):
        weighted = make(estimator, parameters, "binary", order=order).fit(X, y, sample_weight=weight)
        copied = make(estimator, parameters, "binary", order=long).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        assert same_model(weighted, copied)


@cases(EVERY)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_weight_zero_is_the_row_absent(estimator, parameters, task, form):
    X, y = draw(task, integer=False)
    # A row that would change everything, and a class that only absent rows have.
    weight = (np.random.default_rng(5).random(len(y)) < 0.7).astype(float)
    weight[:4] = 1.0
    X[10], weight[10] = 1e6, 0.0
    present = weight > 0
    without, absent = make(estimator, parameters, task), make(estimator, parameters, task)
    y = target_for(without, y)
    without.fit(form(X[present]), y[present])
    absent.fit(form(X), y, sample_weight=weight)
    assert same_model(absent, without)
    for name in ("outcome", "updates", "errors", "margin", "radius", "bound", "rows"):
        assert getattr(absent.report_, name) == getattr(without.report_, name), name


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weight_zero_is_absent_where_rows_are_held_out(estimator):
    X, y = draw("binary", integer=False)
    weight = np.where(np.arange(len(y)) % 4 == 2, 0.0, 1.0)
    knobs = {"early_stopping": True, "validation_fraction": 0.3, "max_epochs": 6, "random_state": 0}
    without, absent = estimator(**knobs), estimator(**knobs)
    y = target_for(without, y)
    without.fit(X[weight > 0], y[weight > 0])
    absent.fit(X, y, sample_weight=weight)
    assert same_model(absent, without)
    assert [epoch.score for epoch in absent.report_.epochs] == [epoch.score for epoch in without.report_.epochs]


def test_rows_are_held_out_by_class():
    X, y = draw("multinomial")
    X, y = np.vstack([X, X[:1]]), np.append(y, 9)  # a class of one row, which stays to be learned
    model = Perceptron(early_stopping=True, validation_fraction=0.5, max_epochs=3, random_state=0).fit(X, y)
    counts = np.bincount(y)
    assert model.report_.rows == sum(n - min(-(-n // 2), n - 1) for n in counts if n)
    assert model.coef_[4].any()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_any_layout_of_memory_is_the_same(estimator):
    X, y = draw("binary", integer=False)
    y = target_for(estimator(), y)
    plain = estimator(max_epochs=3, random_state=0).fit(X, y)
    wide = np.zeros((len(y), 10))
    wide[:, ::2] = X
    for form in (np.asfortranarray(X), wide[:, ::2], np.vstack([X, X])[: len(y)], X[::-1].copy()[::-1]):
        assert same_model(estimator(max_epochs=3, random_state=0).fit(form, y), plain)
        assert np.array_equal(plain.predict(form), plain.predict(X))


def test_weight_zero_is_absent_from_an_explicit_order():
    X, y = draw("binary")
    order = [5, 1, 0, 2, 5, 9, 3, 4]
    weight = np.ones(len(y))
    weight[[1, 5]] = 0.0
    absent = Perceptron(order=order, max_epochs=3).fit(X, y, sample_weight=weight)
    without = Perceptron(order=[0, 2, 9, 3, 4], max_epochs=3).fit(X, y)
    assert np.array_equal(absent.coef_, without.coef_)


def test_a_class_that_only_absent_rows_have_is_no_class():
    X, y = draw("multinomial")
    model = Perceptron(max_epochs=3, random_state=0).fit(X, y, sample_weight=(y != 3).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert same_model(model, Perceptron(max_epochs=3, random_state=0).fit(X[y != 3], y[y != 3]))


@cases({name: variant for name, variant in EVERY.items() if not name.startswith("regression")}, TASKS[:-1])
def test_class_weight_weighs_the_rows_of_the_class(estimator, parameters, task):
    X, y = draw(task)
    share = {0: 2, 1: 3}
    weight = np.array([share.get(label, 1) for label in y], dtype=float)
    by_class = make(estimator, parameters, task, class_weight=share).fit(X, y)
    by_row = make(estimator, parameters, task).fit(X, y, sample_weight=weight)
    assert same_model(by_class, by_row)
    both = make(estimator, parameters, task, class_weight=share).fit(X, y, sample_weight=weight)
    assert same_model(both, make(estimator, parameters, task).fit(X, y, sample_weight=weight**2))


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_class_weight_zero_is_the_rows_absent(estimator):
    X, y = draw("multinomial", integer=False)
    with_zero = make(estimator, {}, "multinomial", class_weight={2: 0.0})
    without = make(estimator, {}, "multinomial")
    for _ in range(2):
        with_zero.partial_fit(X, y)
        without.partial_fit(X[y != 2], y[y != 2], classes=[0, 1, 2, 3])
    assert same_model(with_zero, without)


@pytest.mark.parametrize("estimator", CLASSIFIERS)
def test_balanced_classes_count_absent_rows_not(estimator):
    X, y = draw("multinomial")
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, 1.0)
    balanced = make(estimator, {}, "multinomial", class_weight="balanced").fit(X, y, sample_weight=weight)
    X, y = X[weight > 0], y[weight > 0]
    counts = np.bincount(y)
    by_hand = make(estimator, {}, "multinomial").fit(X, y, sample_weight=len(y) / (counts.size * counts[y]))
    assert same_model(balanced, by_hand)
