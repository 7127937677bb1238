"""The Mark I."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from network_cases import (
    XOR,
    XOR_SIDES,
    iris,  # noqa: F401 (fixtures)
)
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from family import contents
from rosenblatt import MarkI, MultilayerPerceptron, Perceptron, RandomWiring

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# -- the Mark I ------------------------------------------------------------------------------------------------------


def test_units_are_wired_as_told():
    X = np.random.default_rng(0).normal(size=(101, 30))
    wiring = RandomWiring(64, n_connections=10, threshold="median", inhibitory=0.3, random_state=0).fit(X)
    wires = wiring.wiring_.toarray()
    assert wires.shape == (30, 64)
    assert ((wires != 0).sum(axis=0) == 10).all()
    assert (wires == -1).sum() / 640 == pytest.approx(0.3, abs=0.05)
    assert len({tuple(column) for column in wires.T}) == 64
    answers = wiring.transform(X)
    assert np.array_equal(answers, (X @ wires > wiring.thresholds_).astype(float))
    assert (answers.sum(axis=0) == 50).all()  # above the median
    assert np.array_equal(wiring.transform(sp.csr_matrix(X)), answers)
    assert wiring.get_feature_names_out().tolist()[:2] == ["randomwiring0", "randomwiring1"]
    few = RandomWiring(5, n_connections=99, threshold=1.0).fit(X[:, :4])
    assert (np.abs(few.wiring_.toarray()) == 1).all()
    assert (few.thresholds_ == 1.0).all()
    with pytest.raises(ValueError, match="row 3, column 1"):
        wiring.transform(np.where(np.arange(3030).reshape(101, 30) == 91, np.nan, X))


@pytest.mark.parametrize("threshold", ["median", "drawn"])
def test_thresholds_weigh_rows(threshold):
    X = np.random.default_rng(0).normal(size=(20, 5))
    weight = np.random.default_rng(1).integers(0, 4, 20)
    one = RandomWiring(7, threshold=threshold, random_state=0).fit(X, sample_weight=weight)
    other = RandomWiring(7, threshold=threshold, random_state=0).fit(np.repeat(X, weight, axis=0))
    assert np.array_equal(one.thresholds_, other.thresholds_)
    if threshold == "drawn":  # each is the unit's sum at one of the rows that are there
        sums = X[weight > 0] @ one.wiring_.toarray()
        assert (np.isclose(sums, one.thresholds_).any(axis=0)).all()


def test_mark_i_is_wiring_and_perceptron():
    X, y = make_moons(80, noise=0.1, random_state=0)
    model = MarkI(60, n_connections=2, order="cyclic", max_epochs=5, random_state=4).fit(X, y)
    pipe = make_pipeline(
        RandomWiring(60, n_connections=2, random_state=4), Perceptron(order="cyclic", max_epochs=5, multiclass="ovr")
    ).fit(X, y)
    assert np.array_equal(model.coef_, pipe[-1].coef_)
    assert np.array_equal(model.decision_function(X), pipe.decision_function(X))
    assert model.report_.errors == pipe[-1].report_.errors
    assert model.report_.updates == pipe[-1].report_.updates
    sparse = clone(model).fit(sp.csr_array(X), y)
    assert np.array_equal(sparse.coef_, model.coef_)


def test_mark_i_learns_what_no_plane_separates():
    bars = np.zeros((40, 20, 20))
    for k in range(20):
        bars[k, k, :] = bars[20 + k, :, k] = 1.0
    X, y = bars.reshape(40, 400), np.repeat([0, 1], 20)
    assert Perceptron(max_epochs=100).fit(X, y).report_.outcome == "budget"
    model = MarkI(threshold=1.5, random_state=0).fit(X, y)
    assert (model.report_.outcome, model.report_.errors) == ("separated", 0)
    assert model.coef_.shape == (1, 512)
    assert model.n_features_in_ == 400


def test_mark_i_keeps_the_contracts(iris):
    X, y = iris
    make = MarkI(50, n_connections=3, max_epochs=3, random_state=0)
    pieces = clone(make)
    for _ in range(3):
        pieces.partial_fit(X, y)
    whole = clone(make).fit(X, y)
    assert np.array_equal(whole.coef_, pieces.coef_)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    ordered = clone(make).set_params(order="cyclic")
    weighed = clone(ordered).fit(X, y, sample_weight=weight)
    copied = clone(ordered).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.array_equal(weighed.coef_, copied.coef_)
    before = contents(whole)
    for call in (lambda: whole.fit(X * np.nan, y), lambda: whole.fit(X, None), lambda: whole.fit(X, y[:-1])):
        with pytest.raises(ValueError):  # noqa: PT011
            call()
        assert contents(whole) == before
    copy = pickle.loads(pickle.dumps(whole))
    assert np.array_equal(copy.predict(X), whole.predict(X))
    assert MarkI(20, max_epochs=2).fit(X.astype(np.float32), y).coef_.dtype == np.float32


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_units": 0}, "n_units"),
        ({"n_connections": 0}, "n_connections"),
        ({"inhibitory": 1.5}, "inhibitory"),
        ({"threshold": "mean"}, "threshold"),
    ],
)
def test_bad_wiring_is_refused(parameters, message):
    for estimator in (RandomWiring, MarkI):
        with pytest.raises(ValueError, match=message):
            estimator(**parameters).fit(XOR, XOR_SIDES)


def test_an_order_that_names_no_row_that_takes_part_teaches_nothing():
    X, y = np.eye(4), [0, 1, 0, 1]
    model = MultilayerPerceptron(order=[0], max_epochs=1, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y, sample_weight=[0, 1, 1, 1])
    assert (model.report_.updates, model.report_.loss) == (0, 0.0)
