"""CSR rows that need no conversion skip scikit-learn's validation; what it says of them is said all the same."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from rosenblatt import MaxMargin, Perceptron
from rosenblatt.learn.row_checks import VALUES_IN_CACHE, _scan_sparse

DENSE = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0], [3.0, 0.0, 0.0], [0.0, -2.0, 1.0]])
Y = [1, 0, 1, 0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_are_checked_as_others_are(form, dtype):
    X = form(DENSE.astype(dtype))
    model = Perceptron(random_state=0).fit(X, Y)
    assert model.n_features_in_ == 3
    assert model.coef_.dtype == dtype
    for call in (model.predict, lambda rows: model.partial_fit(rows, Y)):
        with pytest.raises(ValueError, match="X has 2 features, but Perceptron is expecting 3 features"):
            call(X[:, :2])
    with pytest.raises(ValueError, match="0 sample"):
        Perceptron().fit(X[:0], [])
    with pytest.raises(ValueError, match="0 feature"):
        Perceptron().fit(X[:, :0], Y)
    broken = X.copy()
    broken.data[2] = np.nan
    with pytest.raises(ValueError, match="NaN at row 1, column 1"):
        Perceptron().fit(broken, Y)


def test_sparse_rows_have_no_names():
    model = Perceptron(random_state=0).fit(pd.DataFrame(DENSE, columns=["a", "b", "c"]), Y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(sp.csr_array(DENSE))
    model.fit(sp.csr_array(DENSE), Y)
    assert not hasattr(model, "feature_names_in_")


def test_rows_of_weight_0_are_checked_before_they_are_left_out():
    """SciPy reads wherever the arrays say when it takes the other rows."""
    X = sp.csr_matrix(DENSE)
    X.indptr[4] = 60
    with pytest.raises(ValueError, match="not a valid CSR matrix"):
        MaxMargin().fit(X, Y, sample_weight=[1, 1, 1, 0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("which", ["data", "indices", "indptr"])
@pytest.mark.parametrize("classes", [2, 10])
def test_arrays_with_gaps_are_read_as_they_stand(which, classes):
    rng = np.random.default_rng(0)
    X = sp.csr_matrix(rng.normal(size=(300, 40)) * (rng.random((300, 40)) < 0.2))
    y = rng.integers(0, classes, 300)
    gaps = X.copy()
    wide = np.full(2 * getattr(X, which).size, 39, getattr(X, which).dtype)
    wide[::2] = getattr(X, which)
    setattr(gaps, which, wide[::2])
    whole, other = (Perceptron(max_epochs=3, random_state=0).fit(rows, y) for rows in (X, gaps))
    np.testing.assert_array_equal(other.coef_, whole.coef_)
    np.testing.assert_array_equal(whole.decision_function(gaps), whole.decision_function(X))


@pytest.mark.parametrize("index", [np.uint32, np.uint64])
def test_a_scan_of_csr_arrays_says_what_a_look_at_each_row_says(index):
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, d = int(rng.integers(1, 6)), 4
        lengths = rng.integers(0, 4, n)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = [np.sort(rng.choice(d, length, replace=False)) for length in lengths]
        change = rng.integers(0, 4)
        at = int(rng.integers(n))
        if change == 1 and lengths[at]:
            rows[at] = rows[at][::-1]
        if change == 2 and lengths[at]:
            rows[at][0] = d + 1
        if change == 3:
            starts[at + 1] = rng.integers(0, starts[-1] + 3)
        values = rng.normal(size=lengths.sum())
        columns = np.concatenate(rows).astype(index)
        begin = int(rng.integers(n))  # as a piece of a longer matrix
        norm2, bad, increasing = _scan_sparse(values, columns, starts.astype(index), d, begin, n)
        spans = [slice(int(a), int(b)) for a, b in pairwise(starts)]
        wrong = [
            i
            for i in range(begin, n)
            if not spans[i].start <= spans[i].stop <= values.size or (columns[spans[i]] >= d).any()
        ]
        assert bad == (wrong[0] if wrong else -1)
        if not wrong:
            assert increasing == all((np.diff(columns[spans[i]].astype(int)) > 0).all() for i in range(begin, n))
            assert np.isclose(norm2, max(np.square(values[spans[i]]).sum() for i in range(begin, n)))


@pytest.mark.compiled
@pytest.mark.parametrize("fault", ["none", "column", "order", "start", "value"])
def test_a_scan_of_many_blocks_finds_a_fault_in_any_of_them(fault):
    rng = np.random.default_rng(3)
    n, d = 4000, 100
    lengths = rng.integers(0, 100, n)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32)
    columns = np.concatenate([np.sort(rng.choice(d, length, replace=False)) for length in lengths]).astype(np.uint32)
    values = rng.normal(size=columns.size).astype(np.float32)
    assert columns.size > 2 * VALUES_IN_CACHE
    norms = np.add.reduceat(np.append(np.square(values, dtype=np.float64), 0.0), starts[:-1])
    largest = norms[lengths > 0].max()
    for at in np.flatnonzero(lengths > 1)[:: n // 7]:
        found, bad, increasing = largest, -1, True
        broken = columns.copy(), values.copy(), starts.copy()
        first = starts[at]
        if fault == "column":
            broken[0][first], bad = d, at
        if fault == "order":
            broken[0][first : first + 2], increasing = broken[0][first : first + 2][::-1].copy(), False
        if fault == "start":
            broken[2][at + 1], bad = columns.size + 1, at
        if fault == "value":
            broken[1][first], found = np.inf, np.inf
        norm2, row, rising = _scan_sparse(broken[1], broken[0], broken[2], d, 0, n)
        assert row == bad
        if bad < 0:
            assert rising == increasing
            assert np.isclose(norm2, found) or (np.isinf(found) and np.isinf(norm2))
