"""The widest plane: known margins, both ends of the proof, and the classifier with scikit-learn's contract."""

import dataclasses
import math
import pickle
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from rosenblatt import (
    CertificateError,
    InseparableError,
    MaxMargin,
    UndecidedError,
    max_margin,
    separability,
)
from rosenblatt.records import Separability, WidestPlane

APART = ([[0.0, 1.0], [1.0, 0.0], [3.0, 3.0], [4.0, 2.0]], [0, 0, 1, 1])


def checked(X, y, **options):
    plane = max_margin(X, y, **options)
    plane.verify(X, y)
    assert WidestPlane.from_json(plane.to_json()) == plane
    assert 0 < plane.margin <= plane.upper
    return plane


# -- the function ----------------------------------------------------------------------------------------------------


def test_iris():
    X, y = load_iris(return_X_y=True)
    plane = checked(X, y == 0)
    assert plane.margin == pytest.approx(0.8175557693, abs=1e-10)
    assert plane.gap <= 1e-6


def test_wdbc():
    X, y = load_breast_cancer(return_X_y=True)
    plane = checked((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert plane.margin == pytest.approx(0.0013998468, abs=1e-10)
    assert plane.gap <= 1e-6


@pytest.mark.parametrize(("k", "margin"), [(0, 2.897995169), (1, 0.1146728284)])
def test_digits(k, margin):
    X, y = load_digits(return_X_y=True)
    plane = checked(X, y == k)
    assert plane.margin == pytest.approx(margin, abs=1e-9)
    assert plane.gap <= 1e-6
    assert len(plane.support) <= 66


def test_cuhk_through_the_origin():
    plane = checked([[1, 0], [0, -1], [0, 1], [-1, 0]], [1, -1, 1, -1], fit_intercept=False)
    assert plane.margin == pytest.approx(math.sqrt(0.5), rel=1e-12)
    assert "0.70710678" in str(plane)


def slow_margin(X, y):
    """The half distance of the hulls in the plane, from every pair of points and every point and edge."""

    def point_to_segment(p, a, b):
        d = b - a
        t = np.clip((p - a) @ d / max(d @ d, 1e-300), 0, 1)
        return np.linalg.norm(p - a - t * d)

    plus, minus = X[y == 1], X[y == 0]
    best = math.inf
    for one, other in ((plus, minus), (minus, plus)):
        for p in one:
            best = min(best, *(np.linalg.norm(p - q) for q in other))
            for a, b in combinations(other, 2):
                best = min(best, point_to_segment(p, a, b))
    return best / 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_equals_the_slow_twin_in_the_plane(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-6, 7, (int(rng.integers(3, 10)), 2)).astype(float)
    y = (X @ rng.integers(-3, 4, 2) > rng.integers(-3, 4) + 0.5).astype(int)
    if len(set(y.tolist())) == 2:
        if separability(X, y).separable:
            assert checked(X, y).margin == pytest.approx(slow_margin(X, y), rel=1e-9)
        else:
            with pytest.raises(InseparableError):
                max_margin(X, y)


def test_many_rows_use_a_pool():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 8))
    f = X @ rng.standard_normal(8)
    keep = np.abs(f) > 0.2
    plane = checked(X[keep], f[keep] > 0)
    assert plane.gap <= 1e-6
    through = checked(X[keep], f[keep] > 0, fit_intercept=False)
    assert through.gap <= 1e-6
    assert through.margin <= plane.upper


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sparse(monkeypatch, fit_intercept):
    X, y = load_iris(return_X_y=True)
    dense = max_margin(X, y == 0, fit_intercept=fit_intercept)
    monkeypatch.setattr("rosenblatt.prove.exact.labelled_rows.DENSE_VALUES", 0)
    plane = checked(sp.csr_matrix(X), y == 0, fit_intercept=fit_intercept)
    assert plane.margin == pytest.approx(dense.margin, rel=1e-9)
    monkeypatch.setattr("rosenblatt.prove.max_margin.hulls.SMALL_PROBLEM", 0)
    monkeypatch.setattr("rosenblatt.prove.max_margin.hulls.FIRST_POOL", 3)
    assert checked(sp.csr_matrix(X), y == 0, fit_intercept=fit_intercept).gap <= 1e-6


def test_a_corral_of_many_rows():
    rng = np.random.default_rng(0)
    plane = checked(rng.standard_normal((160, 150)), np.arange(160) % 2)
    assert len(plane.support) > 64
    assert plane.gap <= 1e-6


def test_scales():
    X = np.array([[1e-12, 3e12], [2e-12, 1e12], [-1e-12, -1e12], [-3e-12, -2e12]])
    assert checked(X, [1, 1, 0, 0]).margin > 0
    thin = [[1.0, 0.0], [1.0, 1.0], [1.0 + 1e-12, 0.0], [1.0 + 1e-12, 1.0]]
    assert checked(thin, [0, 0, 1, 1]).margin == pytest.approx(5e-13, rel=1e-3)


@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("size", [1e308, 1e200, 1.0, 1e-200, 1e-310])
def test_the_ends_of_the_doubles(monkeypatch, size, fit_intercept, kind):
    monkeypatch.setattr("rosenblatt.prove.exact.labelled_rows.DENSE_VALUES", 0)
    X = kind([[-size, 0.0], [size, 0.0], [size, size / 4]])
    plane = checked(X, [0, 1, 1], fit_intercept=fit_intercept)
    assert plane.margin == pytest.approx(size, rel=1e-6)
    assert plane.gap <= 1e-6
    assert plane.support


def test_margins_that_no_double_holds():
    small = max_margin([[0.0], [5e-324]], [0, 1])
    assert (small.margin, small.upper, small.gap) == (0.0, 5e-324, 1.0)
    large = max_margin([[-1.7e308] * 4, [1.7e308] * 4], [0, 1])
    assert (large.margin, large.upper, large.gap) == (np.finfo(float).max, math.inf, 1.0)
    uneven = [[1e-300], [-1e-160], [1.0]], [0, 1, 0]
    assert checked(*uneven, fit_intercept=False).gap >= 0
    large.verify([[-1.7e308] * 4, [1.7e308] * 4], [0, 1])


def test_inseparable():
    X, y = [[0, 0], [1, 1], [0, 1], [1, 0]], [0, 0, 1, 1]
    with pytest.raises(InseparableError) as caught:
        max_margin(X, y)
    caught.value.verdict.verify(X, y)
    assert pickle.loads(pickle.dumps(caught.value)).verdict == caught.value.verdict
    with pytest.raises(InseparableError):
        max_margin([[0.0], [0.0]], [0, 1])


def thin():
    """Rows that a plane separates, but none of the doubles that were found."""
    e = 2.0**-52
    return [[1, 1 + e, 1], [1 + e, 1 + 3 * e, 1 - e], [1 + e, 1 + 2 * e, 1], [1, 1, 1 + 2 * e], [1 + 3 * e, 1, 1]]


def unknown(monkeypatch):
    """Sparse rows on which the search is cut short."""
    monkeypatch.setattr("rosenblatt.prove.exact.labelled_rows.DENSE_VALUES", 0)
    monkeypatch.setattr("rosenblatt.prove.separation.search.MANY_COLUMNS", 4)
    monkeypatch.setattr("rosenblatt.prove.separation.many_columns.MIN_EPOCHS", 1)
    monkeypatch.setattr("rosenblatt.prove.separation.many_columns.VALUE_VISITS", 0)
    monkeypatch.setattr("rosenblatt.prove.separation.search.MAX_HULL_VALUES", 0)
    rng = np.random.default_rng(0)
    return sp.csr_matrix(rng.integers(1, 50, (60, 8)).astype(float)), rng.integers(0, 2, 60)


def test_no_plane_found_is_not_no_plane(monkeypatch):
    X, y = thin(), [0, 0, 1, 0, 0]
    with pytest.raises(UndecidedError, match="no plane in doubles") as caught:
        max_margin(X, y)
    assert caught.value.verdict.separable is True
    caught.value.verdict.verify(X, y)
    with pytest.warns(ConvergenceWarning, match="no plane in doubles"):
        model = MaxMargin().fit(X, y)
    assert (model.report_.outcome, model.report_.witness) == ("undecided", None)
    assert "none is ruled out" in str(model.report_)
    X, y = unknown(monkeypatch)
    with pytest.raises(UndecidedError, match="could not be decided") as caught:
        max_margin(X, y)
    assert caught.value.verdict.separable is None
    assert pickle.loads(pickle.dumps(caught.value)).verdict == caught.value.verdict
    with pytest.warns(ConvergenceWarning, match="could not be decided"):
        assert MaxMargin().fit(X, y).report_.outcome == "undecided"


def test_bad_input():
    with pytest.raises(ValueError, match="two classes"):
        max_margin([[1.0], [2.0]], [1, 1])
    with pytest.raises(ValueError, match="two classes"):
        max_margin([[1.0], [2.0], [3.0]], [1, 2, 3])
    with pytest.raises(ValueError, match="tol"):
        max_margin(*APART, tol=0)


def test_a_false_plane_is_refused():
    X, y = APART
    plane = checked(X, y)

    def refused(claim, **changes):
        with pytest.raises(CertificateError) as caught:
            dataclasses.replace(plane, **changes).verify(X, y)
        assert caught.value.claim == claim

    refused("margin", margin=math.nextafter(plane.margin, 9))
    refused("upper", upper=math.nextafter(plane.upper, 0))
    refused("upper", weights=(plane.weights[0] * 0.5, *plane.weights[1:]), support=plane.support[::-1])
    refused("support", weights=(-1.0, *plane.weights[1:]))
    refused("support", support=(99, *plane.support[1:]))
    refused("support", support=(plane.support[0] + 0.5, *plane.support[1:]))
    refused("support", weights=plane.weights[1:])
    refused("support", weights=("1", *plane.weights[1:]))
    refused("support", support=plane.support[:1] * len(plane.support))
    refused("coef", coef=-plane.coef)
    refused("coef", coef=plane.coef * np.inf)
    refused("shape", shape=(3, 2))
    refused("classes", classes=(0, 2))
    through = max_margin([[1.0], [-2.0]], [1, 0], fit_intercept=False)
    with pytest.raises(CertificateError, match="intercept"):
        dataclasses.replace(through, intercept=0.5).verify([[1.0], [-2.0]], [1, 0])


def test_one_class_in_the_support_proves_nothing():
    X, y = APART
    assert dataclasses.replace(max_margin(X, y), support=(2, 3), weights=(0.5, 0.5)).support == (2, 3)
    with pytest.raises(CertificateError, match="upper"):
        dataclasses.replace(max_margin(X, y), support=(2, 3), weights=(0.5, 0.5)).verify(X, y)


# -- the classifier --------------------------------------------------------------------------------------------------


@parametrize_with_checks([MaxMargin(), MaxMargin(fit_intercept=False)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_contract(estimator, check):
    check(estimator)


def test_classifier():
    X, y = load_iris(return_X_y=True)
    model = MaxMargin().fit(X, y == 0)
    assert (model.coef_.shape, model.intercept_.shape) == ((1, 4), (1,))
    assert (model.report_.outcome, model.report_.errors) == ("solved", 0)
    assert model.report_.margin == max_margin(X, y == 0).margin
    assert model.report_.gap <= 1e-6
    assert model.n_iter_ > 0
    assert "gap" in str(model.report_)
    model.certificates_[0].verify(X, y == 0)


def test_classes_that_are_separable():
    X, y = load_digits(return_X_y=True)
    few = np.isin(y, (0, 2, 4))
    model = MaxMargin().fit(X[few], y[few])
    assert (model.coef_.shape, model.report_.outcome, model.report_.errors) == ((3, 64), "solved", 0)
    assert model.report_.margin == min(one.margin for one in model.certificates_)
    assert (model.predict(X[few]) == y[few]).all()
    assert clone(model).fit(X[few], y[few]).coef_.tolist() == model.coef_.tolist()


def test_inseparable_rows_fall_back_to_the_squared_hinge():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="squared hinge"):
        model = MaxMargin().fit(X[50:], y[50:])
    assert model.report_.outcome == "inseparable"
    assert isinstance(model.report_.witness, Separability)
    model.report_.witness.verify(X[50:], y[50:])
    assert "witness" in str(model.report_)
    assert model.report_.gap < 1e-9
    peer = LinearSVC(C=1.0, loss="squared_hinge", intercept_scaling=1e4, tol=1e-10, max_iter=10**6).fit(X[50:], y[50:])
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-3)
    with pytest.warns(ConvergenceWarning):
        many = MaxMargin().fit(X, y)
    assert [type(one).__name__ for one in many.certificates_] == ["WidestPlane", "Separability", "Separability"]
    assert many.score(X, y) > 0.9
    with pytest.warns(ConvergenceWarning):
        again = MaxMargin().fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(again.coef_, many.coef_, rtol=1e-6)


def test_wide_squared_hinge_is_solved_by_conjugate_gradients():
    rng = np.random.default_rng(0)
    X = sp.random(12, 1600, density=0.02, random_state=0, format="csr")
    y = rng.integers(0, 2, 12)
    X, y = sp.vstack([X, X[:1]], format="csr"), np.append(y, 1 - y[0])
    for fit_intercept in (True, False):
        with pytest.warns(ConvergenceWarning):
            model = MaxMargin(fit_intercept=fit_intercept).fit(X, y)
        assert model.report_.gap < 1e-6


def test_weights():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:]
    weights = np.random.default_rng(0).integers(0, 4, 100)
    with pytest.warns(ConvergenceWarning):
        weighed = MaxMargin().fit(X, y, sample_weight=weights)
    with pytest.warns(ConvergenceWarning):
        repeated = MaxMargin().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, rtol=1e-8)


def test_a_gap_that_doubles_do_not_close():
    X = np.array([[1.0, 0.3], [1.0, 1.7], [1.0 + 2.0**-50, 0.1], [1.0 + 2.0**-50, 1.9]]) * [1.0, 1e6]
    with pytest.warns(ConvergenceWarning, match="gap"):
        model = MaxMargin(tol=1e-15).fit(X, [0, 0, 1, 1])
    assert model.report_.outcome == "budget"


def test_a_call_that_raises_leaves_the_model_as_it_was():
    model = MaxMargin().fit(*APART)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match="NaN"):
        model.fit([[math.nan, 1.0], [1.0, 2.0]], [0, 1])
    with pytest.raises(ValueError, match="2 classes"):
        model.fit(APART[0], [1, 1, 1, 1])
    with pytest.raises(ValueError, match="None"):
        model.fit(APART[0], None)
    assert model.__dict__ == before


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_company():
    X, y = load_iris(return_X_y=True)
    assert GridSearchCV(MaxMargin(), {"fit_intercept": [True, False]}, cv=3).fit(X, y).best_score_ > 0.8
    assert CalibratedClassifierCV(MaxMargin(), cv=3).fit(X, y).predict_proba(X).shape == (150, 3)
    assert pickle.loads(pickle.dumps(MaxMargin().fit(X, y == 0))).score(X, y == 0) == 1.0
