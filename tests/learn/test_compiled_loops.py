"""The compiled loops against their slow twin in `reference`: to the bit where the numbers are exact, else to rounding.

Small whole numbers make ties, zero rows and duplicates (with either label) common, and keep every sum of an additive
rule exact in float32 too, so that the two must agree to the last bit whatever the order of additions.
"""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loop_cases import (
    KINDS,
    ORDERS,
    as_kind,
    dtype_of,
    every_kind,
    few_kinds,
    is_exact,
    modest,
    real_numbers,
    same,
    seen,
    teach,
    whole_numbers,
)

import reference as twin
from rosenblatt import (
    Perceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
BATCH: tuple[dict[str, Any], Any] = ({"update": "batch"}, "batch")


# -- the perceptron, two classes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ORDERS)
@modest(25)
@given(
    data=whole_numbers(),
    bias=st.sampled_from(["none", "unit", "radius", 0.25]),
    margin=st.sampled_from([(0, 0), (2, 2), (0, 5), (4, 1)]),
    rate=st.sampled_from([1.0, 0.5, 2.0]),
    keep=st.sampled_from(["last", "average", "pocket"]),
    epochs=st.sampled_from([1, 2, 4]),
)
def test_perceptron_two_classes(kind, order, data, bias, margin, rate, keep, epochs):
    options, slow_order = ORDERS[order]
    model = Perceptron(
        fit_intercept=bias != "none",
        bias_step="unit" if bias == "none" else bias,
        margin=margin,
        learning_rate=rate,
        keep=keep,
        max_epochs=epochs,
        **options,
    ).fit(as_kind(data.X, kind), data.names, sample_weight=data.weights)
    slow = twin.train(
        data.X,
        data.sides,
        twin.Perceptron(*margin, rate),
        bias=bias,
        order=slow_order,
        keep=keep,
        weights=data.weights,
        epochs=epochs,
    )
    assert model.coef_.dtype == dtype_of(kind)
    same(model, slow, exact=is_exact(slow, keep))


@every_kind
@modest(25)
@given(data=whole_numbers(), epochs=st.sampled_from([1, 3]), scheme=st.sampled_from(["last", "average", "pocket"]))
def test_perceptron_starts_anywhere(kind, data, epochs, scheme):
    d = len(data.X[0])
    start = [[2, -1, 1, 3][:d]], [-2]
    model = Perceptron(order="cyclic", keep=scheme, max_epochs=epochs)
    model.fit(as_kind(data.X, kind), data.y, data.weights, coef_init=start[0], intercept_init=start[1])
    slow = twin.train(
        data.X, data.sides, twin.Perceptron(), keep=scheme, weights=data.weights, start=start, epochs=epochs
    )
    same(model, slow, exact=is_exact(slow, scheme))


@few_kinds
@pytest.mark.parametrize(
    ("rate", "order"),
    [*itertools.product(["1/t", "1/sqrt(t)", "callable"], ["shuffle", "cyclic", "batch"]), ("line-search", "batch")],
)
@modest(25)
@given(data=real_numbers(), keep=st.sampled_from(["last", "average"]))
def test_rates(kind, order, rate, data, keep):
    given_rate = (lambda epoch: 3 / (epoch + 1)) if rate == "callable" else rate
    options, slow_order = BATCH if order == "batch" else ORDERS[order]
    model = Perceptron(learning_rate=given_rate, keep=keep, max_epochs=4, **options)
    X = as_kind(data.X, kind)
    model.fit(X, data.y, data.weights)
    slow = twin.train(
        seen(X),
        data.sides,
        twin.Perceptron(rate=given_rate),
        order=slow_order,
        keep=keep,
        weights=data.weights,
        epochs=4,
    )
    same(model, slow, exact=False)


@few_kinds
@pytest.mark.parametrize("scheme", ["one", "multinomial", "ovr", "labels", "ovo"])
@modest(15)
@given(
    rows=st.data(),
    bias=st.sampled_from(["none", "unit", "radius", 0.25]),
    margin=st.sampled_from([0, 1]),
    keep=st.sampled_from(["last", "average", "pocket"]),
)
def test_batch(kind, scheme, rows, bias, margin, keep):
    """Real numbers: a batch divides by the weight of all rows, which is rarely a power of two."""
    classes = 2 if scheme == "one" else 3
    data = rows.draw(real_numbers(classes=classes, labels=scheme == "labels"))
    X, one_each = as_kind(data.X, kind), {"labels": "ovr", "one": "ovr"}.get(scheme, scheme)
    model = Perceptron(update="batch", multiclass=one_each, margin=margin, keep=keep, max_epochs=4)
    model.set_params(fit_intercept=bias != "none", bias_step="unit" if bias == "none" else bias)
    model.fit(X, teach(data, scheme), data.weights)
    slow = twin.train(
        seen(X),
        data.sides if scheme == "one" else data.y,
        twin.Perceptron(margin, margin),
        scheme="one" if scheme == "one" else one_each,
        classes=classes,
        bias=bias,
        order="batch",
        keep=keep,
        weights=data.weights,
        epochs=4,
    )
    same(model, slow, exact=False)
