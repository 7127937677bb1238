"""Eight values of an array as one: compiled code does what the plain functions do, at any offset and of any type."""

import numpy as np
import pytest
from numba import config
from numba.core.errors import TypingError

from rosenblatt.compiling import compiled
from rosenblatt.learn.simd_lanes import WIDTH, add_scaled, load, store, zeros


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
