"""Eight values of an array as one: compiled code does what the plain functions do, at any offset and of any type."""

import numpy as np
import pytest
from numba import config
from numba.core.errors import TypingError

from rosenblatt.compiled.machine_code import compiled
from rosenblatt.compiled.simd_lanes import WIDTH, add_products, add_scaled, lane, load, store, zero_products, zeros


@compiled
def add_rows(W, at, out, to, a):
    total = zeros(W)
    for row in range(W.shape[0]):
        total = add_scaled(total, a[row], load(W, row * W.shape[1] + at))
    store(out, to, total)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factors", [np.float32, np.float64])
def test_lanes_are_sums_of_eight_columns(dtype, factors):
    rng = np.random.default_rng(0)
    W, a = rng.integers(-9, 9, (5, 24)).astype(dtype), rng.integers(-9, 9, 5).astype(factors)
    for at, to in ((0, 0), (3, 5), (16, 1)):
        out = np.full(16, 0.5, dtype)
        add_rows(W, at, out, to, a)
        expected = np.full(16, 0.5)
        expected[to : to + WIDTH] = a @ W[:, at : at + WIDTH]
        np.testing.assert_array_equal(out, expected)
        assert out.dtype == dtype


def test_lanes_that_are_read_are_copies():
    values = np.arange(10.0)
    lanes = load(values, 1)
    values[:] = 0
    np.testing.assert_array_equal(lanes, np.arange(1.0, 9.0))


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="plain Python reads any array")
@pytest.mark.parametrize(
    ("W", "out"), [(np.zeros((16, 2)).T, np.zeros(16)), (np.zeros((2, 16)), np.zeros(16, np.float32))]
)
def test_lanes_refuse_other_layouts_and_other_types(W, out):
    with pytest.raises(TypingError, match="lanes of float64 need a C-contiguous array"):
        add_rows(W, 0, out, 0, np.ones(2))


@compiled
def sum_of_products(x, at, index, w):
    four = zero_products(w)
    for j in range(at, x.size - 3, np.uint64(4)):
        four = add_products(four, x, j, index, w)
    return lane(four, 0), lane(four, 1), lane(four, 2), lane(four, 3)


@pytest.mark.parametrize("index", [np.uint32, np.uint64])
@pytest.mark.parametrize(("values", "weights"), [("f4", "f4"), ("f8", "f8"), ("f4", "f8")])
def test_sums_of_products_at_any_offset(values, weights, index):
    rng = np.random.default_rng(0)
    x, w = rng.integers(-9, 9, 13).astype(values), rng.integers(-9, 9, 50).astype(weights)
    column = rng.permutation(50)[:13].astype(index)
    for at in (0, 1, 2, 10):
        found = sum_of_products(x, np.uint64(at), column, w)
        products = (x * w[column])[at : 13 - (13 - at) % 4]
        np.testing.assert_array_equal(found, products.reshape(-1, 4).sum(axis=0))


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="plain Python rounds to the type of the sum")
def test_values_wider_than_weights_are_refused():
    with pytest.raises(TypingError, match="lanes of float32 need"):
        sum_of_products(np.ones(4), np.uint64(0), np.arange(4, dtype=np.uint32), np.ones(4, np.float32))
