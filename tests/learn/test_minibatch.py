"""Mini-batch descent: the path of penalties, array libraries, scales and types of rows, seeds and refusals."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from array_api_compat import array_namespace
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from tests.minibatch_path import fit_path

from rosenblatt.formats.errors import NonFiniteInputError
from rosenblatt.objective.feature_statistics import all_directions, directions
from rosenblatt.objective.minibatch import (
    PLACES,
    MiniBatchDescent,
    _least_of_quadratic,
    _refined,
    default_batch,
)
from rosenblatt.objective.minibatch_settings import Settings
from rosenblatt.objective.row_reader import to_host

SOURCE = Path(__file__).parents[2] / "src" / "rosenblatt"


def blobs(n=1200, d=20, K=5, seed=0, far=1.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    X = rng.standard_normal((n, d)) + far * rng.standard_normal((K, d))[y]
    return X.astype(np.float32), y


def accuracy(W, b, X, y):
    return float(((X @ W.T + b).argmax(axis=1) == y).mean())


def softmax_objective(X, y, alpha, W, b):
    """The mean log loss and the penalty, in the features as given."""
    f = X @ W.T + b
    return float(np.mean(logsumexp(f, axis=1) - f[np.arange(len(y)), y])) + 0.5 * alpha * float((W**2).sum())


# -- the path --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["softmax", "hinge", "squared_hinge"])
@pytest.mark.parametrize("standardised", [True, False])
def test_a_path_of_penalties_is_its_single_fits(loss, standardised):
    X, y = blobs()
    path = (1e-4, 1e-2, 1.0)
    if not standardised:
        path = (1e-2, 1e-2)  # the scale of the variables depends on the largest penalty
    settings = Settings(loss, 5, path, standardised=standardised)
    W, b = fit_path(X.astype(np.float64), y, settings)
    for k, alpha in enumerate(path):
        one, c = fit_path(X.astype(np.float64), y, dataclasses.replace(settings, alphas=(alpha,)))
        np.testing.assert_allclose(W[k], one[0], rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(b[k], c[0], rtol=1e-8, atol=1e-10)


def test_it_approaches_the_minimum_that_scikit_learn_finds():
    X, y = blobs(n=3000, far=0.5)
    X = X.astype(np.float64)
    peer = LogisticRegression(C=1 / (0.01 * 3000), tol=1e-8, max_iter=1000).fit(X, y)
    least = softmax_objective(X, y, 0.01, peer.coef_, peer.intercept_)
    descent = MiniBatchDescent(X, y, Settings("softmax", 5, (0.01,), epochs=20))
    for _ in range(20):
        descent.epoch()
    report = descent.report(*descent.point())
    assert least <= report.loss[0] + report.penalty[0] <= 1.001 * least


@pytest.mark.parametrize("loss", ["softmax", "log", "hinge"])
def test_the_model_is_no_worse_than_the_start_and_the_means_of_the_steps(loss):
    X, y = blobs(n=3000, d=40, far=0.3)
    descent = MiniBatchDescent(
        X.astype(np.float64), y, Settings(loss, 5, (1e-3, 0.1, 1.0), standardised=True, epochs=1)
    )
    descent.epoch()

    def F(point):
        report = descent.report(*point)
        return report.loss + report.penalty

    least = np.min([F(descent.first), *(F(mean.point()) for mean in descent.means)], axis=0)
    assert (F(descent.point()) <= least * (1.0 + 1e-3)).all()
    assert (F(descent.point()) < F(descent.means[-1].point()))[1:].all()  # large penalties, where steps add noise


def test_the_metric_of_all_rows_is_a_ridge_of_their_covariance():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((500, 12)) @ rng.standard_normal((12, 12))
    C = Z.T @ Z / 500
    found = all_directions(array_namespace(Z), C, Z, 100)
    M = found.M
    ridge = np.trace(C) / 12
    np.testing.assert_allclose(M, ridge * np.linalg.inv(C + ridge * np.eye(12)), rtol=1e-9, atol=1e-12)
    assert found.square == pytest.approx(np.trace(M @ C))
    assert found.largest == pytest.approx(np.linalg.eigvals(M @ C).real.max(), rel=0.05)
    assert found.least == pytest.approx(np.linalg.eigvalsh(M).min())


def test_the_first_step_is_refined_between_steps_that_were_doubled():
    steps = np.array([0.0, *2.0 ** np.arange(-4, 5)])
    least = np.array([1.5, 4.0, 0.01, 100.0])  # the last two lie outside

    def F(step):
        return np.log(np.maximum(step, 1e-9) / least) ** 2

    best, values = _refined(steps, np.array([F(step) for step in steps]), F)
    np.testing.assert_allclose(best, [1.5, 4.0, 2.0**-4, 16.0])
    np.testing.assert_allclose(values, F(best), atol=1e-12)


@pytest.mark.parametrize("where", [(0.2, 0.3), (0.0, 0.4), (0.5, 0.0), (0.6, 0.9), (-0.3, -0.1), (0.3, 1.4)])
def test_the_model_is_where_a_quadratic_over_the_triangle_is_least(where):
    H = np.array([[2.0, 0.7], [0.7, 1.0]])

    def F(shares):
        at = np.asarray(shares)[..., 1:] - where
        return 3.0 + np.einsum("...i,ij,...j", at, H, at)

    found = _least_of_quadratic(np.array([F(place) for place in PLACES]))
    grid = np.linspace(0, 1, 201)
    s, t = (each.ravel() for each in np.meshgrid(grid, grid))
    inside = s + t <= 1.0
    points = np.stack([1.0 - s - t, s, t], axis=1)[inside]
    assert found.sum() == pytest.approx(1.0)
    assert (found >= 0.0).all()
    assert F(found) <= F(points).min() + 1e-12


def test_l1_leaves_exact_zeros_and_the_informative_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 12))
    y = np.where(X[:, 0] - X[:, 1] > 0, 1.0, -1.0)
    W, _ = fit_path(X, y, Settings("log", 1, (0.05,), l1_ratio=1.0, epochs=10))
    assert np.flatnonzero(W[0, 0]).tolist() == [0, 1]


# -- scale, types and libraries --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.01, 100.0])
@pytest.mark.parametrize("loss", ["softmax", "hinge", "perceptron"])
def test_units_of_the_features_do_not_matter(loss, scale):
    X, y = blobs(far=0.6)
    settings = Settings(loss, 5, (1e-3,), standardised=True)
    W, b = (each[0] for each in fit_path(X, y, settings))
    V, c = (each[0] for each in fit_path(np.float32(scale) * X, y, settings))
    agree = ((X @ W.T + b).argmax(1) == (np.float32(scale) * X @ V.T + c).argmax(1)).mean()
    assert agree >= 0.995
    assert accuracy(W, b, X, y) > 0.75


def test_penalties_on_the_weights_as_given_scale_with_the_features():
    X, y = blobs()
    W, _ = fit_path(X.astype(np.float64), y, Settings("softmax", 5, (0.01,)))
    V, _ = fit_path(100.0 * X.astype(np.float64), y, Settings("softmax", 5, (0.01 * 100.0**2,)))
    np.testing.assert_allclose(W, 100.0 * V, rtol=1e-6, atol=1e-9)


def test_correlated_features_far_from_zero_are_learned_as_quickly():
    X, y = blobs(n=3000, d=60, far=0.5)
    rng = np.random.default_rng(1)
    common = X + 30.0 * rng.standard_normal((3000, 1)).astype(np.float32) + np.float32(100.0)
    settings = Settings("softmax", 5, (1e-3,), standardised=True)
    plain = accuracy(*(each[0] for each in fit_path(X, y, settings)), X, y)
    assert accuracy(*(each[0] for each in fit_path(common, y, settings)), common, y) >= plain - 0.02
    assert directions(np.asarray(common - common.mean(0)), 256, 8, 0).Q.shape[1] == 8
    assert directions(rng.standard_normal((3000, 60)), 256, 8, 0).Q.shape[1] == 0


@pytest.mark.parametrize("loss", ["softmax", "squared_hinge", "exponential"])
def test_rows_multiplied_as_they_are_give_the_model_of_standardised_rows(loss, monkeypatch):
    X, y = blobs(d=40)
    X = X.astype(np.float64) * np.linspace(0.5, 3.0, 40) + np.linspace(-1.0, 1.0, 40)
    settings = Settings(loss, 5, (1e-3, 1e-1))
    given, expected = MiniBatchDescent(X, y, settings), fit_path(X, y, settings)
    assert given.as_given
    for module, limit in (("scaled_objective", "MOST_SHIFT_MULTIPLIED"), ("feature_statistics", "MOST_SHIFT_SUMMED")):
        monkeypatch.setattr(f"rosenblatt.objective.{module}.{limit}", 0.0)
    assert not MiniBatchDescent(X, y, settings).as_given
    for found, one in zip(fit_path(X, y, settings), expected, strict=True):
        np.testing.assert_allclose(found, one, rtol=1e-7, atol=1e-9)
    far = MiniBatchDescent(X + 1e4, y, settings)
    assert not far.as_given


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_a_gpu_computes_from_the_covariance_of_all_rows_agrees_between_libraries(dtype, monkeypatch):
    strict = pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    monkeypatch.setattr("rosenblatt.objective.row_reader.on_gpu", lambda X: True)
    X, y = blobs(n=1500, d=130, far=0.4)
    X, s = X.astype(dtype), np.random.default_rng(1).random(1500).astype(dtype) + 0.5
    settings = Settings("softmax", 5, (1e-3, 1e-1), standardised=True)
    assert MiniBatchDescent(X, y, settings, s).metric.M is not None
    far = 1e-9 if dtype == "float64" else 2e-3
    for weights in (None, s):
        W, b = fit_path(X, y, settings, weights)
        V, c = fit_path(
            strict.asarray(X), strict.asarray(y), settings, None if weights is None else strict.asarray(weights)
        )
        np.testing.assert_allclose(to_host(V), W, rtol=far, atol=far)
        np.testing.assert_allclose(to_host(c), b, rtol=far, atol=far)
    assert accuracy(W[0], b[0], X, y) > 0.9


@pytest.mark.parametrize("kind", [np.float16, np.int8])
def test_narrow_rows_are_learned_as_the_same_numbers_in_32_bits(kind):
    X, y = blobs()
    narrow = (X * (10 if kind == np.int8 else 1)).astype(kind)
    settings = Settings("softmax", 5, (1e-3,), standardised=True)
    wide = fit_path(narrow.astype(np.float32), y, settings)
    for found, expected in zip(fit_path(narrow, y, settings), wide, strict=True):
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
@pytest.mark.parametrize("loss", ["softmax", "squared_hinge", "absolute"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_array_api_strict_and_torch_agree_to_rounding(loss, dtype, library):
    array = pytest.importorskip(library, reason=f"{library} is not installed").asarray
    X, y = blobs(n=600, d=10)
    X, s = X.astype(dtype), np.random.default_rng(1).random(600).astype(dtype) + 0.5
    y = X[:, 0].copy() if loss == "absolute" else y
    settings = Settings(loss, 1 if loss == "absolute" else 5, (1e-3, 1e-1), standardised=True)
    W, b = fit_path(X, y, settings, s)
    V, c = fit_path(array(X), array(y), settings, array(s))
    assert type(V) is type(array(X))
    far = 1e-9 if dtype == "float64" else 2e-3
    np.testing.assert_allclose(to_host(V), W, rtol=far, atol=far)
    np.testing.assert_allclose(to_host(c), b, rtol=far, atol=far)


def test_torch_rows_of_16_bits_stay_so_until_their_batch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, y = blobs()
    settings = Settings("softmax", 5, (1e-3,), standardised=True)
    wide, _ = fit_path(X, y, settings)
    for kind in (torch.float16, torch.bfloat16):
        W, b = fit_path(torch.asarray(X).to(kind), torch.asarray(y), settings)
        assert W.dtype == torch.float32
        assert accuracy(to_host(W[0]), to_host(b[0]), X, y) == pytest.approx(accuracy(wide[0], 0.0, X, y), abs=0.03)


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32"])
def test_on_a_gpu_results_stay_there_and_agree_with_the_cpu(kind):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    X, y = blobs(n=8000)
    settings = Settings("softmax", 5, (1e-3, 1e-1), standardised=True, batch=256)
    W, b = fit_path(X, y, settings)
    V, c = fit_path(torch.asarray(X).to(getattr(torch, kind)).cuda(), torch.asarray(y).cuda(), settings)
    assert V.is_cuda
    assert V.dtype == torch.float32
    for k in range(2):
        said = (X @ to_host(V[k]).T + to_host(c[k])).argmax(1)
        assert (said == (X @ W[k].T + b[k]).argmax(1)).mean() >= 0.98


# -- seeds, weights, sizes, refusals ---------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    X, y = blobs()
    settings = Settings("softmax", 5)
    first, again = fit_path(X, y, settings)[0], fit_path(X, y, settings)[0]
    np.testing.assert_array_equal(first, again)
    assert (first != fit_path(X, y, dataclasses.replace(settings, seed=1))[0]).any()


def test_every_epoch_visits_every_row_once_also_in_runs(monkeypatch):
    X, y = blobs(n=1003)
    descent = MiniBatchDescent(X, y, Settings("softmax", 5, batch=64))
    monkeypatch.setattr("rosenblatt.objective.minibatch.MOST_RUNS", 300)
    first, second = descent.order(0), descent.order(1)
    assert sorted(first) == sorted(second) == list(range(1003))
    assert (first != second).any()
    assert (np.diff(first.reshape(-1)[:4]) == 1).all()  # a run


def test_a_thousand_classes():
    rng = np.random.default_rng(0)
    centres, y = rng.standard_normal((1000, 64)), np.repeat(np.arange(1000), 8)
    X = (centres[y] + 0.4 * rng.standard_normal((8000, 64))).astype(np.float32)
    W, b = fit_path(X, y, Settings("softmax", 1000, (1e-5,), standardised=True, epochs=4))
    assert accuracy(W[0], b[0], X, y) > 0.95


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("row", [0, 777, 1199])
def test_a_value_that_is_not_finite_is_refused_with_its_row_and_column(bad, row):
    X, y = blobs()
    X[row, 3] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(NonFiniteInputError, match=f"contains {what} at row {row}, column 3"):
        fit_path(X, y, Settings("softmax", 5))


def test_constant_columns_and_few_rows():
    X, y = blobs(n=12, d=3, K=2)
    X[:, 1] = 7.0
    W, _ = fit_path(X, np.where(y == 1, 1.0, -1.0), Settings("log", 1))
    assert np.isfinite(W).all()
    assert not W[0, 0, 1]
    assert [default_batch(n, False) for n in (1, 5000, 10**6)] == [16, 64, 512]
    assert default_batch(1_230_000, True, 10_000) == 16384
    assert default_batch(1_230_000, True, 100_000) == 2048


def test_the_core_needs_neither_numba_nor_scikit_learn():
    code = f"""
import sys, types
for name in ("numba", "sklearn", "lazy_loader"):
    sys.modules[name] = None
package = types.ModuleType("rosenblatt")
package.__path__ = [{str(SOURCE)!r}]
sys.modules["rosenblatt"] = package
import numpy as np
sys.path.insert(0, {str(SOURCE.parents[1])!r})
from rosenblatt.objective.minibatch_settings import Settings
from tests.minibatch_path import fit_path
print(fit_path(np.eye(40), np.arange(40) % 2, Settings("softmax", 2))[0].shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 2, 40)"
