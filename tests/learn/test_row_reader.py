"""Rows as they are read: widened, and only those that are used."""

import numpy as np

from rosenblatt.objective.row_reader import RowReader


def test_rows_are_widened_a_batch_at_a_time():
    X = np.random.default_rng(0).standard_normal((400, 6)).astype(np.float32)
    reader = RowReader(X.astype(np.float16))
    assert reader.at(np.array([3, 5])).dtype == np.float32
    np.testing.assert_array_equal(reader.at(np.array([3, 5])), X.astype(np.float16).astype(np.float32)[[3, 5]])
    only = RowReader(X, np.array([7, 9, 11]))
    np.testing.assert_array_equal(np.concatenate([block for _, _, block in only.blocks()]), X[[7, 9, 11]])
    assert only.number(1) == 9
