"""The objective of the mini-batches: its losses, its gradient in the features as given, its products."""

import numpy as np
import pytest
from array_api_compat import array_namespace
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from rosenblatt.objective.compiled_losses import curve
from rosenblatt.objective.losses import LOSSES
from rosenblatt.objective.minibatch import MiniBatchDescent
from rosenblatt.objective.minibatch_settings import Settings
from rosenblatt.objective.row_reader import wide_product
from rosenblatt.objective.softmax import softmax

NUMPY = array_namespace(np.empty(0))


LEARNED = {name: loss for name, loss in LOSSES.items() if not loss.refusal}


@pytest.mark.parametrize("name", sorted(LEARNED))
def test_losses_on_arrays_are_those_of_the_online_learners_kinks_too(name):
    m = np.concatenate([np.linspace(-3, 3, 61), [0.0, 1.0, -1.0, 0.1, -0.1, 20.0, -20.0]])
    value, slope = LEARNED[name].arrays(NUMPY, m, 0.1)
    np.testing.assert_allclose(value, curve(name, m), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(slope, curve(name, m, slopes=True), rtol=1e-13, atol=1e-13)


def test_softmax_does_not_depend_on_the_level_of_the_scores():
    """Large scores are shifted before they are exponents, others are not."""
    rng = np.random.default_rng(0)
    f, codes = 3 * rng.standard_normal((40, 2, 3)), rng.integers(0, 3, 40)[:, None, None]
    expected = softmax(NUMPY, f.copy(), codes, np.arange(3))
    for level in (20.0, -20.0, 1000.0, -1000.0):
        for found, one in zip(softmax(NUMPY, f + level, codes, np.arange(3)), expected, strict=True):
            np.testing.assert_allclose(found, one, rtol=1e-9, atol=1e-11)


def test_softmax_has_the_slopes_of_finite_differences():
    rng = np.random.default_rng(0)
    f, codes = 3 * rng.standard_normal((4, 2, 3)), np.array([0, 2, 1, 2])[:, None, None]
    _, slopes = softmax(NUMPY, f.copy(), codes, np.arange(3))
    for at in np.ndindex(f.shape):
        ends = []
        for side in (1e-6, -1e-6):
            moved = f.copy()
            moved[at] += side
            ends.append(softmax(NUMPY, moved, codes, np.arange(3))[0].sum())
        assert slopes[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


PROBLEMS = [
    ("softmax", "codes"),
    ("log", "codes"),
    ("log", "labels"),
    *((name, "signs") for name in ("log", "squared_hinge", "hinge", "perceptron", "modified_huber", "exponential")),
    *((name, "numbers") for name, loss in LEARNED.items() if loss.of == "residual"),
]


def problem(kind, n=60, d=4):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d)) * np.array([1.0, 10.0, 0.1, 3.0]) + np.array([0.0, 5.0, 1.0, 0.0])
    y = {
        "codes": rng.integers(0, 3, n),
        "labels": (rng.random((n, 3)) < 0.4).astype(np.int8),
        "signs": np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0),
        "numbers": 50.0 + 7.0 * X[:, 0] + rng.standard_normal(n),
    }[kind]
    return X, y, 3 if kind in ("codes", "labels") else 1


def objective(X, y, s, loss, kind, alpha, W, b):
    """F, written out row by row in the features as given."""
    total = 0.0
    for x, one, weight in zip(X, y, s, strict=True):
        f = W @ x + b
        if loss == "softmax":
            total += weight * (np.log(np.exp(f - f[one]).sum()))
        elif kind == "numbers":
            total += weight * LOSSES[loss].value(float(f[0] - one), 0.1)
        else:
            side = {"codes": np.where(np.arange(3) == one, 1, -1), "labels": 2 * np.int8(one) - 1}.get(kind, [one])
            total += weight * sum(LOSSES[loss].value(float(m), 0.1) for m in np.asarray(side) * f)
    return total / s.sum() + 0.5 * alpha * (W**2).sum()


@pytest.mark.parametrize(("loss", "kind"), PROBLEMS)
def test_loss_penalty_and_gradient_are_those_of_the_objective_in_the_features_as_given(loss, kind):
    X, y, K = problem(kind)
    s = np.random.default_rng(4).integers(1, 4, len(y)).astype(float)
    alpha = 0.03
    descent = MiniBatchDescent(X, y, Settings(loss, K, (alpha,), batch=20), s)
    rng = np.random.default_rng(5)
    V, c = 0.3 * rng.standard_normal((X.shape[1], K)), 0.3 * rng.standard_normal((1, K))
    report = descent.report(V, c)
    W, b = (each[0] for each in descent.planes(V, c))
    F = objective(X, y, s, loss, kind, alpha, W, b)
    assert report.loss[0] + report.penalty[0] == pytest.approx(F, rel=1e-9)
    assert report.penalty[0] == pytest.approx(0.5 * alpha * (W**2).sum(), rel=1e-9)
    by_W, by_b = np.empty_like(W), np.empty_like(b)
    for array, out in ((W, by_W), (b, by_b)):
        for at in np.ndindex(array.shape):
            size, keep = 1e-6 * max(1.0, abs(array[at])), array[at]
            ends = []
            for side in (size, -size):
                array[at] = keep + side
                ends.append(objective(X, y, s, loss, kind, alpha, W, b))
            array[at] = keep
            out[at] = (ends[0] - ends[1]) / (2 * size)
    _, G, g, _ = descent.whole(V, c)
    smooth = descent.by_feature * V * descent.smooth
    found_W, found_b = (each[0] for each in descent.gradient_as_given(G + smooth, g))
    np.testing.assert_allclose(found_W, by_W, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found_b, by_b, rtol=1e-5, atol=1e-6)
    assert report.gradient[0] == pytest.approx(np.sqrt((by_W**2).sum() + (by_b**2).sum()), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("loss", "kind", "intercept"),
    [(*each, intercept) for each in PROBLEMS for intercept in (True, False) if each[0] != "softmax" or not intercept],
)
def test_the_first_step_is_along_the_gradient_over_all_rows_and_lowers_the_objective(loss, kind, intercept):
    X, y, K = problem(kind)
    s = np.random.default_rng(4).integers(1, 4, len(y)).astype(float)
    path = (1e-3, 1.0)
    descent = MiniBatchDescent(X, y, Settings(loss, K, path, batch=20, intercept=intercept), s)
    zero, c = np.zeros_like(descent.V), np.zeros_like(descent.c)
    _, G, _, _ = descent.whole(zero, c)
    steps = descent.V / -descent.divided(G)
    for k in range(2):
        step = steps[0, k * K]
        np.testing.assert_allclose(steps[:, k * K : (k + 1) * K], step, rtol=1e-7)
        assert step == 0.0 if loss == "perceptron" else step > 0.0  # whose minimum is at 0
    before, after = descent.report(zero, c), descent.report(descent.V, c)
    assert (after.loss + after.penalty <= before.loss + before.penalty).all()
    assert steps[0, 0] >= steps[0, K]  # a larger penalty, a shorter step


def test_softmax_starts_at_the_discriminants_of_the_classes():
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    y = rng.choice(4, 4000, p=shares)
    X = 5.0 + 3.0 * (rng.standard_normal((4000, 30)) + 0.5 * rng.standard_normal((4, 30))[y])
    s = rng.integers(1, 3, 4000).astype(float)
    descent = MiniBatchDescent(X, y, Settings("softmax", 4, (1e-4, 1.0), standardised=True), s)
    Z = (X - descent.mean) * descent.inverse
    means = np.stack([np.average(Z[y == k], axis=0, weights=s[y == k]) for k in range(4)], axis=1)
    along = descent.V.reshape(30, 2, 4) / descent.divided(means)[:, None, :]
    np.testing.assert_allclose(along, np.broadcast_to(along[:1], along.shape), rtol=1e-6)
    assert (along > 0.0).all()
    assert (along[0, 0] > along[0, 1]).all()  # a larger penalty, a shorter step
    zero, c = np.zeros_like(descent.V), np.zeros_like(descent.c)
    before, after = descent.report(zero, c), descent.report(descent.V, descent.c)
    assert (after.loss + after.penalty < before.loss + before.penalty).all()
    W, b = (each[0] for each in descent.planes(descent.V, descent.c))
    peer = LinearDiscriminantAnalysis().fit(X, y)
    assert ((X @ W.T + b).argmax(1) == peer.predict(X)).mean() > 0.97


def test_rows_of_weight_zero_do_not_count():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((1200, 20)), rng.integers(0, 5, 1200)
    s = np.ones(len(y))
    s[::3] = 0.0
    report = MiniBatchDescent(X, y, Settings("softmax", 5), s).report(np.zeros((20, 5)), np.zeros((1, 5)))
    only = MiniBatchDescent(X, y, Settings("softmax", 5), None, np.flatnonzero(s))
    assert report.loss[0] == pytest.approx(only.report(np.zeros((20, 5)), np.zeros((1, 5))).loss[0])
    assert only.rows.n == int(s.sum())


@pytest.mark.parametrize("where", ["cpu", "cuda"])
def test_products_of_16_bits_have_sums_of_32(where):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if where == "cuda" and not torch.cuda.is_available():
        pytest.skip("no GPU")
    a = torch.full((1, 1024), 16.0, dtype=torch.float16, device=where)
    found = wide_product(array_namespace(a), a, a.T, torch.float32)
    assert found.dtype == torch.float32
    assert float(found[0, 0]) == 1024 * 256.0  # beyond the largest float16
