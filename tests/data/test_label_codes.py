"""Distinct labels and their codes in one pass: NumPy's answer, or none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rosenblatt.learn.labels import FEW_LABELS, MOST_HASHED, coded_labels, encode_labels

DTYPES = ["f8", "f4", "f2", ">f8", "i8", "i1", "u8", "U3", "U1", "S4", "S3", "?"]


@st.composite
def labels(draw):
    """Enough labels for the pass, of one dtype, many of them equal."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    values = st.text("ab\u00e9\0 ", max_size=3) if dtype.kind == "U" else st.integers(0, 90)
    if dtype.kind == "f":
        values = st.sampled_from([-0.0, 0.0, 1.0, -1.0, 2.5, 1e30, -7.0])
    pool = np.array(draw(st.lists(values, min_size=1, max_size=6)))
    pool = pool.astype("S" if dtype.kind == "S" else dtype).astype(dtype)
    n = draw(st.integers(FEW_LABELS + 1, FEW_LABELS + 60))
    y = pool[np.random.default_rng(draw(st.integers(0, 99))).integers(0, pool.size, n)]
    return y[::2] if draw(st.booleans()) and n // 2 > FEW_LABELS else y


@settings(deadline=None)
@given(labels())
def test_codes_are_those_of_numpy(y):
    found = coded_labels(y)
    classes, codes = np.unique(y, return_inverse=True)
    if found is None:
        assert y.dtype.kind in "biu" or y.itemsize % 4 or 0.0 in classes
        return
    assert found[0].dtype == classes.dtype
    np.testing.assert_array_equal(found[0], classes)
    np.testing.assert_array_equal(found[1], codes)


@pytest.mark.parametrize("count", [MOST_HASHED, MOST_HASHED + 1])
def test_more_labels_than_the_table_holds_are_sorted_instead(count):
    y = np.random.default_rng(0).permutation(np.repeat([f"class {k}" for k in range(count)], 2))
    found = coded_labels(y)
    assert (found is None) == (count > MOST_HASHED)
    if found is not None:
        classes, codes = np.unique(y, return_inverse=True)
        np.testing.assert_array_equal(found[0], classes)
        np.testing.assert_array_equal(found[1], codes)


def test_two_zeros_are_one_label():
    y = np.tile([0.0, -0.0, 1.0], 50)
    classes, codes = coded_labels(y)
    assert classes.tolist() == [0.0, 1.0]
    assert codes.tolist() == [0, 0, 1] * 50
    assert coded_labels(np.tile([0.0, -0.0, 1.0, 2.0], 50)) is None


def test_missing_numbers_are_left_to_the_check():
    y = np.tile([0.0, 1.0, np.nan], 50)
    found = coded_labels(y)
    assert found is None or np.isnan(found[0][-1])


def test_a_read_only_view_with_gaps():
    y = np.array(["no", "yes"] * 300)[::3]
    y.flags.writeable = False
    classes, codes = coded_labels(y)
    assert classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(classes[codes], y)


def test_padding_of_wide_numbers_is_no_part_of_a_label():
    y = np.frombuffer(np.random.default_rng(0).bytes(np.dtype("g").itemsize * 300), "g").copy()
    y[:] = np.tile([0.0, 1.0, 2.0], 100)  # leaves the padding as it was
    found = coded_labels(y)
    assert found is None or found[0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("n", [1, FEW_LABELS + 1, 5000])
def test_codes_into_classes_out_of_order_stay_below_their_number(n):
    """Classes that were assigned or forged: their first and last look as if they were consecutive."""
    classes = np.array([0, 7, 2])
    assert encode_labels(np.full(n, 7), classes).max() < classes.size
    np.testing.assert_array_equal(encode_labels(np.full(n, 7), np.arange(5, 9)), np.full(n, 2))
