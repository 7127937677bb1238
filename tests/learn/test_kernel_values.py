"""The compiled parts of kernels and of the kernel machine's ascent, against plain twins."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from rosenblatt.compiled.row_arrays import Dense
from rosenblatt.kernel import pair_ascent
from rosenblatt.kernel.functions import Kernel
from rosenblatt.kernel.gaussian import gaussian
from rosenblatt.kernel.kernel_row_cache import KernelRowCache
from rosenblatt.kernel.sparse_products import sparse_products
from rosenblatt.learn.examples import Examples


@pytest.mark.parametrize(("dtype", "within"), [(np.float64, 1e-15), (np.float32, 1e-6)])
def test_exponentials_are_right_to_the_last_bits(dtype, within):
    distances2 = np.concatenate([np.linspace(0, 2, 999), np.geomspace(1e-12, 700, 1000)]).astype(dtype)
    values = np.zeros((1, distances2.size), dtype)
    gaussian(values, np.zeros(1, dtype), distances2, 1.0, 0.0)
    assert np.allclose(
        values[0], np.exp(-distances2.astype(np.float64)), rtol=within, atol=0 if within < 1e-9 else 1e-37
    )
    gaussian(shifted := np.zeros((1, distances2.size), dtype), np.zeros(1, dtype), distances2, 0.5, 1.0)
    assert np.allclose(shifted[0], 1 + np.exp(-0.5 * distances2.astype(np.float64)), rtol=within, atol=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_exponentials_at_the_edges():
    a, b = np.zeros(1), np.array([0.0, 800.0, np.inf, np.nan, 1.0])
    gaussian(values := np.array([[1.0, 0.0, 0.0, 0.0, np.nan]]), a, b, 1.0, 0.0)
    assert values[0, 0] == 1.0  # rounding may make a squared distance negative
    assert values[0, 1] < 1e-300
    assert values[0, 2] == 0.0
    assert np.isnan(values[0, 3:]).all()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_of_sparse_rows(dtype, wide):
    A, B = (sp.random_array((n, 30), density=0.2, random_state=n, dtype=dtype, format="csr") for n in (17, 23))
    if wide:
        A.indices, A.indptr, B.indices, B.indptr = (
            part.astype(np.int64) for part in (A.indices, A.indptr, B.indices, B.indptr)
        )
    found = sparse_products(A, B)
    assert found.dtype == dtype
    assert np.allclose(found, A.toarray() @ B.toarray().T, rtol=1e-6)
    for kernel in (Kernel("rbf", gamma=0.7, shift=1.0), Kernel("poly", 2, 0.5, 1.0)):
        assert np.allclose(kernel.block(A, B), kernel.block(A.toarray(), B.toarray()), rtol=1e-5)
    assert sparse_products(A[:0], B).shape == (0, 23)


def room(y, alpha, limit):
    """Whether β = yα may go up, and down."""
    return (alpha < limit, alpha > 0) if y > 0 else (alpha > 0, alpha < limit)


def naive_ascent(G, y, alpha, limit, f, slack, most):
    """Pairs chosen by trying every one; the step itself is that of `pair_step`, which has its own test."""
    n = len(y)
    for step in range(most):
        r = y - f
        free = [room(y[k], alpha[k], limit[k]) for k in range(n)]
        violation = [max(r[k] if free[k][0] else 0, -r[k] if free[k][1] else 0) for k in range(n)]
        i = int(np.argmax(violation))
        if violation[i] <= slack:
            return step
        gains = np.zeros(n)
        for k in range(n):
            a, b, c = G[i, i], G[k, k], G[i, k]
            u, v = np.array([b * r[i] - c * r[k], a * r[k] - c * r[i]]) / max(a * b - c * c, 1e-12 * a * b)
            if r[i] * u > 0 and ((v > 0 and free[k][0]) or (v < 0 and free[k][1])):
                gains[k] = r[i] * u + r[k] * v
        j = int(np.argmax(gains))
        box = [(-alpha[k], limit[k] - alpha[k]) if y[k] > 0 else (alpha[k] - limit[k], alpha[k]) for k in (i, j)]
        u, v = float(np.clip(r[i] / G[i, i], *box[0])), 0.0
        if gains[j] > r[i] ** 2 / G[i, i]:
            u, v = pair_ascent.pair_step(G[i, i], G[j, j], G[i, j], r[i], r[j], (*box[0], *box[1]))
        for k, move in ((i, u), (j, v)):
            alpha[k] = np.clip(alpha[k] + y[k] * move, 0, limit[k])
            f += move * G[k]
    return most


def active_rows(y, limit, diagonal, alpha, r):
    free = np.array([room(*one) for one in zip(y, alpha, limit, strict=True)])
    up, down = 1.0 * free[:, 0], -1.0 * free[:, 1]
    return pair_ascent.AscentRows(y, limit, diagonal.copy(), alpha, r, up, down, np.empty(y.size))


def dual(G, y, alpha):
    return alpha.sum() - 0.5 * (alpha * y) @ G @ (alpha * y)


@pytest.mark.parametrize(("n", "most"), [(20, 300), (2 * pair_ascent.CHUNK + 7, 5)])
@pytest.mark.parametrize("seed", range(3))
def test_an_ascent_in_pairs_takes_the_steps_of_its_plain_twin(seed, n, most):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[1] = X[0]  # a pair without a single best step
    y, limit = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0), rng.choice([0.0, 0.5, 2.0], n, p=[0.1, 0.5, 0.4])
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)) + 1
    given = np.minimum(rng.random(n) * (rng.random(n) < 0.3), limit)
    f = G @ (given * y)
    for slack in (1e-3, 0.5):
        mine, twin, f_twin = given.copy(), given.copy(), f.copy()
        rows = active_rows(y, limit, np.diag(G), mine, y - f)
        cached = pair_ascent.CachedKernelRows(G, np.arange(n), np.zeros(n, np.int64))
        steps, gain, missing = pair_ascent.ascend_in_pairs(rows, cached, slack, most, 0, False)
        assert missing == -1
        assert steps == naive_ascent(G, y, twin, limit, f_twin, slack, most)
        assert np.allclose(rows.alpha, twin, atol=1e-9)
        assert np.allclose(y - rows.r, G @ (rows.alpha * y), atol=1e-9)
        assert gain == pytest.approx(dual(G, y, rows.alpha) - dual(G, y, given))
        slacks = np.maximum(0, y * rows.r)
        primal = limit @ slacks + 0.5 * (rows.alpha * y) @ G @ (rows.alpha * y)
        gap = pair_ascent.gap_of(y, limit, rows.alpha, rows.r)
        assert gap == pytest.approx(primal - dual(G, y, rows.alpha))


@pytest.mark.parametrize("seed", range(3))
def test_with_a_free_intercept_an_ascent_in_pairs_ends_at_the_optimum_of_svc(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    X[1] = X[0]  # a pair without a single best step
    y, limit = np.where(X[:, 0] + rng.normal(size=30) > 0, 1.0, -1.0), rng.choice([0.5, 2.0], 30)
    G = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    rows = active_rows(y, limit, np.diag(G), np.zeros(30), y.copy())
    cached = pair_ascent.CachedKernelRows(G, np.arange(30), np.zeros(30, np.int64))
    total = 0.0
    for _ in range(100):
        pair_ascent.recentre(rows)
        steps, gain, missing = pair_ascent.ascend_in_pairs(rows, cached, 1e-7, 5000, 0, True)
        total += gain
        assert missing == -1
        if not steps:
            break
    assert np.all((rows.alpha >= 0) & (rows.alpha <= limit))
    assert rows.alpha @ y == pytest.approx(0, abs=1e-9)
    assert total == pytest.approx(dual(G, y, rows.alpha))
    theirs = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(G, y, sample_weight=limit)
    alpha = np.zeros(30)
    alpha[theirs.support_] = np.abs(theirs.dual_coef_[0])
    assert dual(G, y, rows.alpha) == pytest.approx(dual(G, y, alpha), rel=1e-7)


def memory_case(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    examples = Examples(Dense(X), 3, (y > 0).astype(np.int64), np.array([0, 1]), None, None, 1.0)
    kernel = Kernel("rbf", gamma=0.7, shift=1.0)
    cache = KernelRowCache(examples, kernel, 10 * 40 * np.dtype(dtype).itemsize, 0, dtype)
    return cache, kernel.block(X, X), active_rows(y, np.ones(40), np.full(40, 2.0), np.zeros(40), y.copy())


def check_cache(cache, G):
    values, slots, _ = cache.cached
    held = np.flatnonzero(slots >= 0)
    assert np.unique(slots[held]).size == held.size
    assert np.array_equal(cache.owners[slots[held]], held)
    assert np.allclose(values[slots[held]], G[np.ix_(cache.index[held], cache.index)], rtol=1e-6)
    return held


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_cache_holds_the_rows_that_were_used_last(dtype):
    cache, G, rows = memory_case(dtype)
    cache.choose(np.arange(40))
    assert cache.cached.values.shape == (10, 40)
    for cache.clock, row in enumerate([3, 7, 3, 20, 21, 22, 23, 24, 25, 26, 27, 28]):
        if cache.cached.slots[row] < 0:
            cache.fetch(row, rows)
        cache.cached.used[cache.cached.slots[row]] = cache.clock
        assert row in check_cache(cache, G)
    assert 3 not in check_cache(cache, G)  # the longest unused
    assert cache.cached.values.nbytes <= 10 * 40 * np.dtype(dtype).itemsize


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_that_are_left_out_make_room_for_more_rows(dtype):
    cache, G, rows = memory_case(dtype)
    cache.choose(np.arange(40))
    for cache.clock, row in enumerate(range(0, 20, 2)):
        cache.fetch(row, rows)
    held = check_cache(cache, G)
    kept = np.arange(0, 40, 4)
    cache.keep(kept)
    assert np.array_equal(cache.index, kept)
    assert np.array_equal(kept[check_cache(cache, G)], np.intersect1d(held, kept))
    assert cache.cached.values.shape[0] == 10  # all that are left fit
    cache.keep(np.array([1, 2, 5]))
    check_cache(cache, G)
    beta = np.random.default_rng(1).normal(size=(40, 2))
    beta[::3] = 0
    assert np.allclose(cache.scores(beta), G @ beta)


def test_an_ascent_asks_for_a_missing_row_unless_another_is_nearly_as_good():
    cache, G, rows = memory_case()
    cache.choose(np.arange(40))
    steps, gain, missing = pair_ascent.ascend_in_pairs(rows, cache.cached, 0.0, 5, 0, False)
    assert (steps, gain, missing) == (0, 0.0, 0)  # all violate alike, none is in memory
    asked = 0
    while missing >= 0:
        cache.clock += steps + 1
        cache.fetch(missing, rows)
        steps, gain, missing = pair_ascent.ascend_in_pairs(rows, cache.cached, 1e-6, 10**4, cache.clock, False)
        asked += 1
    assert asked < 200
    r = rows.y - G @ (rows.alpha * rows.y)
    assert np.allclose(rows.r, r, atol=1e-9)
    assert max(np.max(r * rows.up), np.max(r * rows.down)) <= 2e-6
