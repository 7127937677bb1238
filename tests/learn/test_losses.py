"""Losses and penalties: against finite differences, against scikit-learn, and against their own definitions."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn._loss import loss as theirs
from sklearn.linear_model import _sgd_fast as sgd

from rosenblatt.objective.compiled_losses import curve, near
from rosenblatt.objective.losses import CODES, LOSSES, names
from rosenblatt.objective.penalties import PENALTIES

WIDTH = 0.4
GRID = np.array([-30.0, -3.0, -1.5, -1.0, -0.4, -0.1, 0.0, 0.25, 0.4, 0.7, 1.0, 1.3, 2.0, 40.0])
KINKS = {"zero_one": [0], "perceptron": [0], "hinge": [1], "absolute": [0], "epsilon_insensitive": [-WIDTH, WIDTH]}


@pytest.mark.parametrize("name", LOSSES)
def test_slope_is_the_derivative(name):
    at = np.concatenate([GRID[:-1] + 1e-3, np.random.default_rng(0).uniform(-4, 4, 200)])
    at = at[~np.isclose(at[:, None], KINKS.get(name, [np.inf]), atol=1e-4).any(axis=1)]
    h = 1e-6 * np.maximum(1, np.abs(at))
    differences = (curve(name, at + h, WIDTH) - curve(name, at - h, WIDTH)) / (2 * h)
    assert np.allclose(curve(name, at, WIDTH, slopes=True), differences, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "zero_one"])
def test_slope_at_a_kink_is_one_of_the_slopes_there(name):
    for kink in KINKS.get(name, []):
        low, at, high = curve(name, [kink - 1e-9, kink, kink + 1e-9], WIDTH, slopes=True)
        assert low <= at <= high


@pytest.mark.parametrize(
    ("name", "peer"),
    [
        ("perceptron", sgd.Hinge(0.0)),
        ("hinge", sgd.Hinge(1.0)),
        ("squared_hinge", sgd.SquaredHinge(1.0)),
        ("modified_huber", sgd.ModifiedHuber()),
        ("epsilon_insensitive", sgd.EpsilonInsensitive(WIDTH)),
    ],
)
def test_value_is_that_of_scikit_learns_descent(name, peer):
    if LOSSES[name].of == "margin":
        expected = [peer.py_loss(m, 1.0) for m in GRID]
        assert np.allclose([peer.py_loss(-m, -1.0) for m in GRID], expected)
    else:
        expected = [peer.py_loss(2.0 + r, 2.0) for r in GRID]
    assert np.allclose(curve(name, GRID, WIDTH), expected)


def test_value_is_that_of_scikit_learns_losses():
    one, zero = np.ones(len(GRID)), np.zeros(len(GRID))
    assert np.allclose(curve("log", GRID), theirs.HalfBinomialLoss().loss(y_true=one, raw_prediction=GRID))
    assert np.allclose(curve("squared", GRID), theirs.HalfSquaredError().loss(y_true=zero, raw_prediction=GRID))
    assert np.allclose(curve("absolute", GRID), theirs.AbsoluteError().loss(y_true=zero, raw_prediction=GRID))
    huber = theirs.HuberLoss(delta=WIDTH).loss(y_true=zero, raw_prediction=GRID)
    assert np.allclose(curve("huber", GRID, WIDTH), huber)
    # AdaBoost's loss there takes the score for half of ours.
    exponential = theirs.ExponentialLoss().loss(y_true=one, raw_prediction=GRID)
    assert np.allclose(curve("exponential", GRID), exponential)


def test_log_cosh_and_zero_one_are_what_they_are_called():
    assert np.allclose(curve("log_cosh", GRID[1:-1]), np.log(np.cosh(GRID[1:-1])))
    assert curve("log_cosh", 1e4) == 1e4 - np.log(2)
    assert curve("zero_one", [-1, 0, 1e-300, 1]).tolist() == [1, 1, 0, 0]  # a tie is a mistake


@pytest.mark.parametrize("name", LOSSES)
def test_no_loss_overflows_or_loses_its_slope_far_out(name):
    far = np.array([-1e4, 1e4])
    assert np.isfinite(curve(name, far, WIDTH)).all()
    assert np.isfinite(curve(name, far, WIDTH, slopes=True)).all()


@pytest.mark.parametrize("step", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("name", LOSSES)
def test_proximal_map_is_the_nearest_low_point(name, step):
    if not LOSSES[name].kinked:
        assert near(CODES[name], 0.3, step, WIDTH) == 0.3
        return
    for m in GRID[np.abs(GRID) < 5]:

        def above(p, m=m):
            return float(curve(name, p, WIDTH)) + (p - m) ** 2 / (2 * step)

        found = near(CODES[name], float(m), step, WIDTH)
        best = minimize_scalar(above, bracket=(m - step, m + step), tol=1e-12)
        assert above(found) <= best.fun + 1e-9
        assert abs(found - best.x) < 1e-4


def test_every_loss_says_what_it_is():
    assert names("margin") | names("residual") == set(LOSSES)
    for loss in LOSSES.values():
        assert len(loss.__doc__ or "") > 10
    assert "no step decreases it" in LOSSES["zero_one"].refusal


# -- penalties -------------------------------------------------------------------------------------------------------

W = np.random.default_rng(1).normal(size=(3, 4))


@pytest.mark.parametrize("name", PENALTIES)
def test_penalty_slope_is_the_derivative(name):
    penalty = PENALTIES[name]
    for place in np.ndindex(W.shape):
        h = np.zeros(W.shape)
        h[place] = 1e-6
        difference = (penalty.value(W + h, 0.3, 0.2) - penalty.value(W - h, 0.3, 0.2)) / 2e-6
        assert np.isclose(penalty.slope(W, 0.3, 0.2)[place], difference, atol=1e-8)
    assert not penalty.slope(np.zeros(2), 0.3, 0.2).any()
    assert len(penalty.__doc__ or "") > 10


def test_penalties_are_scaled_as_in_scikit_learn():
    flat = np.abs(W).sum(), 0.5 * (W**2).sum()
    expected = {None: 0, "l2": 0.3 * flat[1], "l1": 0.3 * flat[0], "elasticnet": 0.3 * (0.2 * flat[0] + 0.8 * flat[1])}
    for name, penalty in PENALTIES.items():
        assert np.isclose(penalty.value(W, 0.3, 0.2), expected[name])


@pytest.mark.parametrize("name", PENALTIES)
def test_shrinking_is_the_proximal_map(name):
    penalty = PENALTIES[name]
    for w in (-2.0, -0.3, 0.0, 0.1, 1.7):
        for step in (0.1, 2.0):

            def above(v, w=w, step=step):
                return penalty.value(np.array([v]), 0.5, 0.4) + (v - w) ** 2 / (2 * step)

            found = float(penalty.shrink(np.array([w]), step, 0.5, 0.4)[0])
            assert above(found) <= minimize_scalar(above, bracket=(w - 1, w + 1), tol=1e-12).fun + 1e-12


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "zero_one"])
def test_conjugate_is_the_largest_distance_to_a_line(name):
    """ℓ*(u) = max_m um − ℓ(m), on a grid; it is never below, for any m, and is reached."""
    loss, m = LOSSES[name], np.linspace(-60, 60, 240_001)
    low, high = loss.slopes(WIDTH)
    u = np.linspace(max(low, -5.0), min(high, 5.0), 41)
    of_m = curve(name, m, WIDTH)
    most = np.array([np.max(one * m - of_m) for one in u])
    found = loss.conjugate(u, WIDTH)
    assert (found >= most - 1e-12).all()
    inner = slice(1, -1) if name in ("log", "exponential", "log_cosh") else slice(None)
    assert np.allclose(found[inner], most[inner], atol=1e-6)
    slopes = curve(name, m, WIDTH, slopes=True)
    assert (slopes >= low).all()
    assert (slopes <= high).all()
