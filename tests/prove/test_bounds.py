"""Mistake bounds in three forms, PAUM's, and bounds on the error of new rows."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from rosenblatt import (
    PAUM,
    LinearClassifier,
    MaxMargin,
    Perceptron,
    clopper_pearson,
    generalisation_bounds,
    max_margin,
    mistake_bounds,
    paum_bounds,
)
from rosenblatt.prove.generalisation_bounds import compression_bound, held_out_bound, margin_bound, online_bound
from rosenblatt.prove.mistake_bounds import novikoff

CUHK = ([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1])


# -- mistakes --------------------------------------------------------------------------------------------------------


def test_the_lectures_bound_is_tight():
    X, y = CUHK
    model = Perceptron(fit_intercept=False, order="cyclic").fit(X, y)
    achieved, *others = mistake_bounds(model, X, y)
    assert (achieved.form, achieved.source) == ("origin", "achieved")
    assert achieved.value == pytest.approx(2.0)
    assert achieved.share == pytest.approx(1.0)
    assert {(one.form, one.source) for one in others} == {
        ("origin", "widest"),
        ("unit", "widest"),
        ("radius", "widest"),
    }
    assert "100 % of it used" in str(achieved)


@pytest.mark.parametrize(("step", "form"), [("unit", "unit"), ("radius", "radius")])
def test_updates_stay_below_every_bound(step, form):
    X, y = load_digits(return_X_y=True)
    for k in (0, 4):
        model = Perceptron(bias_step=step, order="cyclic").fit(X, y == k)
        mine = [one for one in mistake_bounds(model, X, y == k) if one.form == form]
        assert {one.source for one in mine} == {"achieved", "widest"}
        for one in mine:
            assert model.report_.updates <= one.value
            assert one.share == pytest.approx(model.report_.updates / one.value)
            assert one.radius == pytest.approx(math.sqrt(5913))
        achieved, widest = mine
        assert widest.margin >= achieved.margin
        if form == "radius":
            assert widest.value == pytest.approx((2 * widest.radius / widest.margin) ** 2)
            assert achieved.value == pytest.approx(model.report_.bound)


@pytest.mark.parametrize(("step", "form", "words"), [(4, 4.0, "bias step 4"), (1.0, "unit", "bias step 1")])
def test_a_bias_step_that_is_a_number_has_its_own_form(step, form, words):
    X, y = load_iris(return_X_y=True)
    model = Perceptron(bias_step=step, order="cyclic").fit(X, y == 0)
    mine = [one for one in mistake_bounds(model, X, y == 0) if one.form == form]
    assert {one.source for one in mine} == {"achieved", "widest"}
    assert mine[0].value == pytest.approx(model.report_.bound)
    assert [one.share for one in mine] == pytest.approx([model.report_.updates / one.value for one in mine])
    assert max(one.share for one in mine) <= 1
    assert str(mine[0]).startswith(f"{words}: at most")


def test_forms():
    assert novikoff("origin", 2.0, 0.5) == 16.0
    assert novikoff("unit", 2.0, 0.5, bias=3.0) == pytest.approx(5 * 10 / 0.25)
    assert novikoff("radius", 2.0, 0.5) == 64.0
    assert novikoff(0.25, 2.0, 0.5, bias=3.0) == pytest.approx(4.25 * 37 / 0.25)
    assert novikoff("origin", 2.0, 0.0) == math.inf


def test_no_bound_without_separation():
    X, y = load_iris(return_X_y=True)
    model = Perceptron(max_epochs=3)
    with pytest.warns(ConvergenceWarning):
        model.fit(X[50:], y[50:])
    assert mistake_bounds(model, X[50:], y[50:]) == ()
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    with pytest.raises(ValueError, match="two classes"):
        mistake_bounds(model, X, y)


def test_of_a_model_without_a_report():
    X, y = CUHK
    found = mistake_bounds(max_margin(X, y, fit_intercept=False), X, y)
    assert found[0].share is None


@pytest.mark.compiled  # minutes of updates otherwise
def test_paum():
    X, y = load_digits(return_X_y=True)
    y = y == 0
    R, gamma = math.sqrt(5913), max_margin(X, y).margin
    for scale, updates in ((0.0, 280), (1.0, 928), (10.0, 6077)):
        tau = scale * R**2
        model = PAUM(margin=(tau, tau), order="cyclic").fit(X, y)
        bounds = paum_bounds(R, gamma, (tau, tau))
        assert model.report_.updates == updates <= bounds.updates
        f = model.decision_function(X) / np.linalg.norm(model.coef_)
        assert f[y].min() >= bounds.margins[1]
        assert -f[~y].max() >= bounds.margins[0]


def test_paum_without_bias():
    even = paum_bounds(1.0, 0.5, (0.0, 2.0), fit_intercept=False)
    assert even.updates == pytest.approx((1 + 4) / 0.25)
    assert even.margins == (0.0, pytest.approx(0.5 * 2 / 5))
    with pytest.raises(ValueError, match="radius"):
        paum_bounds(0.0, 0.5, (1.0, 1.0))


# -- new rows --------------------------------------------------------------------------------------------------------


def test_clopper_pearson_solves_its_equations():
    for errors, n in ((0, 20), (3, 100), (20, 20), (7, 31)):
        low, high = clopper_pearson(errors, n, 0.9)
        assert low <= errors / n <= high
        if errors < n:
            assert binom.cdf(errors, n, high) == pytest.approx(0.05)
        if errors > 0:
            assert binom.sf(errors - 1, n, low) == pytest.approx(0.05)
    assert held_out_bound(0, 100) == pytest.approx(1 - 0.05 ** (1 / 100))
    for wrong in ((-1, 10), (11, 10), (0, 0)):
        with pytest.raises(ValueError, match="count of errors"):
            clopper_pearson(*wrong)


def test_formulas():
    n, k, delta = 1000, 10, 0.05
    ways = math.log(math.comb(n, k))
    assert compression_bound(k, n) == pytest.approx((ways + math.log(n) + math.log(1 / delta)) / (n - k))
    assert compression_bound(5, 5) == math.inf
    with pytest.raises(ValueError, match="k=6"):
        compression_bound(6, 5)
    assert online_bound(10, n) == pytest.approx(0.01 + math.sqrt(2 / n * math.log(1 / delta)))
    value, rho = margin_bound(np.full(10**6, 0.9), 1.0)
    assert rho == 0.5
    assert value == pytest.approx(4 / 1000 + math.sqrt(math.log(2 / delta) / 2e6))


def test_held_out_comes_first():
    X, y = load_digits(return_X_y=True)
    y = y == 0
    model = Perceptron(random_state=0).fit(X[:900], y[:900])
    found = generalisation_bounds(model, X[:900], y[:900], held_out=(X[900:], y[900:]))
    assert [one.name for one in found] == ["held out", "compression", "online to batch", "margin"]
    assert found[0].value < 0.05
    assert not found[0].vacuous
    assert "errors on 897 rows" in str(found[0])
    small = generalisation_bounds(model, X[:20], y[:20])
    assert small[-1].vacuous
    assert "(vacuous)" in str(small[-1])


def test_support_compresses():
    X, y = load_digits(return_X_y=True)
    plane = max_margin(X, y == 0)
    first = generalisation_bounds(plane, X, y == 0)[0]
    assert first.value == pytest.approx(compression_bound(len(plane.support), len(X)))
    model = MaxMargin().fit(X, y == 0)
    again = generalisation_bounds(model, sp.csr_matrix(X), y == 0)[0]
    assert again == first


def test_what_is_not_known_is_not_told():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning):
        model = MaxMargin().fit(X, y)
    assert generalisation_bounds(model, X, y) == ()
    zero = max_margin([[1.0], [-1.0]], [1, 0])
    zero.coef[:] = 0.0
    object.__setattr__(zero, "intercept", 0.0)
    assert generalisation_bounds(zero, [[1.0], [-1.0]], [1, 0])[-1].value == math.inf


@pytest.mark.parametrize(
    "options", [{"fit_intercept": False}, {"bias_step": "unit"}, {"bias_step": "radius"}, {"bias_step": 3}]
)
def test_the_margin_asked_for_counts(options):
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0] > 0
    model = Perceptron(margin=20.0, learning_rate=0.5, random_state=0, **options).fit(X, y)
    assert model.report_.outcome == "separated"
    shares = [bound.share for bound in mistake_bounds(model, X, y) if bound.share is not None]
    assert shares
    assert max(shares) <= 1.0
    achieved = next(bound for bound in mistake_bounds(model, X, y) if bound.share is not None)
    assert achieved.value == pytest.approx(model.report_.bound, rel=1e-6)


def test_updates_of_many_rows_compress_nothing():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = X @ [1.0, 2.0, 3.0] > 0
    for model in (Perceptron(update="batch"), LinearClassifier(solver="batch"), Perceptron(order=np.arange(60))):
        names = {bound.name for bound in generalisation_bounds(model.fit(X, y), X, y)}
        assert names == {"margin"}
    assert "online to batch" not in {
        bound.name for bound in generalisation_bounds(Perceptron(order="first").fit(X, y), X, y)
    }


def test_held_out_errors_are_those_of_the_model():
    X, y = load_iris(return_X_y=True)
    model = Perceptron(multiclass="ovr", random_state=0, max_epochs=20)
    with pytest.warns(ConvergenceWarning):
        model.fit(X[::2], y[::2])
    wrong = np.count_nonzero(model.predict(X[1::2]) != y[1::2])
    assert f"{wrong} errors on 75 rows" in str(
        generalisation_bounds(model, X[::2], y[::2], held_out=(X[1::2], y[1::2]))[0]
    )


@pytest.mark.parametrize("confidence", [0, 1, 1.5, math.nan])
def test_a_confidence_lies_between_0_and_1(confidence):
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(ValueError, match="confidence"):
        generalisation_bounds(Perceptron().fit(X, y), X, y, confidence=confidence)
    with pytest.raises(ValueError, match="count of errors"):
        clopper_pearson(1.5, 10)
