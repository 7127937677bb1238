"""Contracts of the kernel perceptron."""

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_cases import SQUARE, draw, fitted
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning

from rosenblatt import KernelPerceptron
from rosenblatt.kernel import perceptron as kernel_machines
from rosenblatt.kernel.functions import GrowingRows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- contracts -------------------------------------------------------------------------------------------------------

VARIANTS = [
    {"keep": keep, "multiclass": multiclass}
    for keep in ("last", "average", "vote")
    for multiclass in ("multinomial", "ovr", "ovo")
]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))
def test_contracts(variant):
    X, y = draw(3)
    make = KernelPerceptron(**SQUARE, **variant, max_epochs=3, random_state=5)
    whole, pieces = clone(make).fit(X, y), clone(make)
    for _ in range(3):
        pieces.partial_fit(X, y)
    assert np.array_equal(whole.decision_function(X), pieces.decision_function(X))
    assert whole.report_.updates == pieces.report_.updates
    assert whole.support_vectors_.shape == pieces.support_vectors_.shape
    assert np.array_equal(clone(make).fit(sp.csr_array(X), y).decision_function(X), whole.decision_function(X))
    ordered = clone(make).set_params(order="cyclic", max_epochs=1)
    parts = clone(ordered).partial_fit(X[:20], y[:20], classes=[0, 1, 2])
    parts.partial_fit(sp.csr_array(X[20:35]), y[20:35]).partial_fit(X[35:], y[35:])
    assert np.array_equal(parts.decision_function(X), clone(ordered).fit(X, y).decision_function(X))
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    ordered.set_params(max_epochs=3)
    weighed = clone(ordered).fit(X, y, sample_weight=weight)
    copied = clone(ordered).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.allclose(weighed.decision_function(X), copied.decision_function(X), rtol=1e-12)
    absent = clone(make).fit(X, y, sample_weight=(weight > 0).astype(float))
    assert np.array_equal(
        absent.decision_function(X), clone(make).fit(X[weight > 0], y[weight > 0]).decision_function(X)
    )
    copy = pickle.loads(pickle.dumps(whole))
    assert np.array_equal(copy.partial_fit(X, y).decision_function(X), whole.partial_fit(X, y).decision_function(X))
    clean = clone(make).fit(X, y)
    errors = np.count_nonzero(clean.predict(X) != y)
    assert clean.report_.errors == errors


@pytest.mark.parametrize("order", ["shuffle", "cyclic", "random", "explicit"])
def test_orders(order):
    X, y = make_moons(60, noise=0.05, random_state=0)
    order = np.random.default_rng(0).permutation(60) if order == "explicit" else order
    model = KernelPerceptron(gamma=5.0, order=order, record_errors=True, random_state=0).fit(X, y)
    assert (model.report_.outcome, model.report_.errors) == ("separated", 0)
    assert model.report_.epochs[-1].errors == 0
    with pytest.raises(ValueError, match="order names row 60"):
        KernelPerceptron(order=[60]).fit(X, y)


def test_blocks_and_logs_of_any_size_are_the_same(monkeypatch):
    X, y = draw(3, rows=90)
    weight = np.random.default_rng(0).integers(0, 5, 90).astype(float)
    for keep in ("last", "vote"):
        for multiclass in ("ovr", "multinomial"):
            expected = fitted(X, y, keep=keep, multiclass=multiclass)
            heavy = KernelPerceptron(**SQUARE, keep=keep, multiclass=multiclass, order="cyclic", max_epochs=3)
            heavy = heavy.fit(X, y, sample_weight=weight).decision_function(X)
            with monkeypatch.context() as patch:
                patch.setattr(kernel_machines, "BLOCK", 7)
                patch.setattr(kernel_machines, "LOG_ROOM", 3)
                small = fitted(X, y, keep=keep, multiclass=multiclass, cache_size=0.005)
                again = clone(small).fit(X, y, sample_weight=weight)
            assert np.array_equal(small.decision_function(X), expected.decision_function(X))
            assert np.array_equal(again.decision_function(X), heavy)


def test_report_is_none_where_counting_takes_longer_than_learning(monkeypatch):
    from rosenblatt.kernel import perceptron as kernel

    X, y = draw(2)
    monkeypatch.setattr(kernel, "PRODUCTS_PER_SECOND", 0)
    with pytest.warns(ConvergenceWarning, match="the last made"):
        model = fitted(X, y, max_epochs=1)
    assert model.report_.errors is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert fitted(X, y, max_epochs=1, record_errors=True).report_.errors is not None
        assert fitted(X, y, max_epochs=4).report_.errors is not None
        fitted(X, y, max_epochs=1)


def test_float32_and_early_stopping():
    X, y = load_iris(return_X_y=True)
    model = KernelPerceptron(max_epochs=5, random_state=0).fit(X.astype(np.float32), y)
    assert model.support_vectors_.dtype == np.float32
    assert model.score(X, y) > 0.8
    early = KernelPerceptron(early_stopping=True, n_iter_no_change=3, random_state=0, max_epochs=30).fit(X, y)
    assert early.report_.outcome in ("early", "separated")
    with pytest.raises(ValueError, match="new classes"):
        model.partial_fit(X, y + 1)


def test_gathered_rows_are_safe_to_share():
    one = GrowingRows(2, np.float64)
    one.add(np.ones((3, 2)))
    two = one.copy()
    one.add(np.full((2, 2), 5.0))
    two.add(np.full((1, 2), 7.0))
    assert one.rows.tolist()[3:] == [[5.0, 5.0]] * 2
    assert two.rows.tolist()[3:] == [[7.0, 7.0]]
    three = pickle.loads(pickle.dumps(two))
    three.add(sp.csr_matrix([[0.0, 2.0]]))
    assert three.rows.tolist()[-1] == [0.0, 2.0]
    assert two.size == 4


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "sigmoid"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"degree": -1}, "degree"),
        ({"max_support": 0}, "max_support"),
        ({"max_support": 5, "keep": "vote"}, 'keep="last"'),
        ({"max_support": 5}, "multiclass"),
        ({"order": "worst"}, "order"),
        ({"cache_size": -1}, "cache_size"),
        ({"keep": "pocket"}, "keep"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = draw(3)
    with pytest.raises(ValueError, match=message):
        KernelPerceptron(**parameters).fit(X, y)


def test_later_calls_must_agree_with_the_first():
    X, y = draw(2)
    model = KernelPerceptron(max_epochs=2, random_state=0).partial_fit(X, y)
    for change in ({"keep": "vote"}, {"max_support": 5}):
        with pytest.raises(ValueError, match="first call"):
            clone(model).partial_fit(X, y).set_params(**change).partial_fit(X, y)
