"""The mean of all iterates is computed in blocks, and zeros change their layout without a copy."""

import numpy as np
import pytest

from rosenblatt.planes.average import BLOCK, Average
from rosenblatt.planes.companions import Weights, in_other_layout


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [3, BLOCK // 2, BLOCK // 2 + 1, BLOCK + 7])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_mean_of_blocks_is_that_of_the_whole(dtype, columns, order):
    rng = np.random.default_rng(0)
    w, total = rng.standard_normal((2, columns)).astype(dtype, order=order), rng.standard_normal((2, columns))
    b, moved = rng.standard_normal(2).astype(dtype), rng.standard_normal(2)
    found = Average(total, moved).mean(Weights(w, b), 7.0)
    np.testing.assert_array_equal(found.coef, (w - total / 7.0).astype(dtype))
    np.testing.assert_array_equal(found.intercept, (b - moved / 7.0).astype(dtype))
    assert found.coef.dtype == found.intercept.dtype == dtype
    assert not np.shares_memory(found.coef, w)


def test_before_the_first_visit_the_mean_is_the_start():
    w = Weights(np.array([[1.5, -2.0]]), np.array([0.5]))
    found = Average.zeros(w).mean(w, 0.0)
    np.testing.assert_array_equal(found.coef, w.coef)


@pytest.mark.parametrize("last", [0.0, 3.0, np.nan])
def test_the_other_layout_is_a_copy_of_its_own(last):
    array = np.zeros((3, 4), np.float32)
    array[2, 3] = last
    found = in_other_layout(array)
    np.testing.assert_array_equal(found, array.T)
    assert found.flags.c_contiguous
    assert found.dtype == array.dtype
    assert not np.shares_memory(found, array)
