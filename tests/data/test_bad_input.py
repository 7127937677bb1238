"""What cannot be learned from is refused, by name of row, column or parameter, and the model stays what it was."""

import numpy as np
import pytest
import scipy.sparse as sp
from bad_input_cases import X, each_way, every_estimator, refused, y
from sklearn.exceptions import NotFittedError

from family import same_model, target_for
from rosenblatt import (
    PAUM,
    AveragedPerceptron,
    Perceptron,
    VotedPerceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def spoilt(estimator, bad, *words):
    """These rows are refused by `fit`, by `partial_fit` and by `predict`."""
    labels = target_for(estimator(), y)
    each_way(estimator, lambda m: m.fit(bad, labels), lambda m: m.partial_fit(bad, labels), *words)
    refused(estimator(max_epochs=2).fit(X, labels), lambda m: m.predict(bad), *words)


# -- X ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
@every_estimator
def test_value_that_is_not_finite(estimator, form, dtype, value, name):
    for row, column in ((0, 0), (13, 2), (29, 3)):
        bad = X.astype(dtype)
        bad[row, column] = value
        spoilt(estimator, form(bad), name, f"row {row}", f"column {column}")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_first_of_many_is_named_wherever_it_stands(form, value):
    # Rows are read in pieces: the number of a row counts from the beginning of X, not of the piece.
    tall = np.ones((70_000, 2))
    tall[66_001, 1] = value
    tall[69_000, 0] = value
    refused(Perceptron(), lambda m: m.fit(form(tall), np.arange(70_000) % 2), "row 66001", "column 1")


@pytest.mark.filterwarnings("ignore:overflow")  # where compilation is off, numpy tells
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_large_values_are_no_infinity(form):
    large = X.copy()
    large[3] = [1e200 * (2 * y[3] - 1), 0, 0, 0]  # its square overflows, it does not, nor does its score
    Perceptron(max_epochs=1).fit(form(large), y, coef_init=[[2.0, 1.0, 0.0, 0.0]])
    large[20, 1] = np.nan
    refused(Perceptron(), lambda m: m.fit(form(large), y), "NaN", "row 20", "column 1")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (X[:0], ["0 sample"]),
        (X[:, :0], ["0 feature"]),
        (sp.csr_array((0, 4)), ["0 sample"]),
        (X[:, 0], ["1D array"]),
        (X[None], ["dim 3"]),
        (X.astype(complex), ["Complex"]),
        ([["a", "b"]] * 30, ["string"]),
        ([[1.0, 2.0]] * 29 + [[1.0]], []),
    ],
    ids=["no rows", "no columns", "no sparse rows", "1-D", "3-D", "complex", "words", "ragged"],
)
@every_estimator
def test_table_that_is_none(estimator, bad, words):
    labels = target_for(estimator(), y)[: 0 if words == ["0 sample"] else 30]
    each_way(estimator, lambda m: m.fit(bad, labels), lambda m: m.partial_fit(bad, labels), *words)


@pytest.mark.parametrize("bad", [X[:, :3], np.hstack([X, X]), sp.csr_array(X[:, :3])], ids=["less", "more", "sparse"])
@every_estimator
def test_other_number_of_features_later(estimator, bad):
    model = estimator(max_epochs=2)
    labels = target_for(model, y)
    model.fit(X, labels)
    words = (f"{bad.shape[1]} features", "4 features")
    refused(model, lambda m: m.partial_fit(bad, labels), *words)
    refused(model, lambda m: m.predict(bad), *words)


@every_estimator
def test_model_that_has_learned_nothing(estimator):
    with pytest.raises(NotFittedError):
        estimator().predict(X)


# -- CSR -------------------------------------------------------------------------------------------------------------


def broken(change, kind):
    """A CSR matrix whose arrays were changed behind its back."""
    matrix = sp.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(kind), matrix.indptr.astype(kind)
    change(matrix)
    return matrix


def swap_in(name, place, value):
    def change(matrix):
        getattr(matrix, name)[place] = value

    return change


def unsort_and_spoil(matrix):
    matrix.indices[40:44] = [3, 1, 9, 0]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (swap_in("indices", 43, 4), ["index 4", "row 10", "4 columns"]),
        (swap_in("indices", 41, -1), ["index -1", "row 10"]),
        (swap_in("indices", 119, 2**31 - 1), ["index 2147483647", "row 29"]),
        (unsort_and_spoil, ["index 9", "row 10"]),
        (swap_in("indptr", 5, 30), ["indptr", "row 5", "30"]),
        (swap_in("indptr", 5, -4), ["indptr", "row 4"]),
        (swap_in("indptr", 30, 121), ["indptr", "row 29", "121"]),
        (swap_in("indptr", 0, 1), ["indptr"]),
    ],
    ids=["beyond", "negative", "far", "unsorted", "falls", "below 0", "past the end", "start"],
)
@every_estimator
def test_broken_csr(estimator, change, words, kind):
    spoilt(estimator, broken(change, kind), *words)


@pytest.mark.filterwarnings("ignore:overflow")
def test_broken_csr_behind_a_row_whose_square_overflows():
    bad = sp.csr_array(X)
    bad.data[0] = 1e200
    bad.indices[-1] = 77
    refused(Perceptron(), lambda m: m.fit(bad, y), "index 77", "row 29")


def test_indptr_of_the_wrong_length():
    bad = sp.csr_array(X)
    bad.indptr = bad.indptr[:-1]
    refused(Perceptron(), lambda m: m.fit(bad, y), "indptr")


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@every_estimator
def test_duplicates_are_summed_and_order_does_not_matter(estimator, kind):
    whole = np.random.default_rng(1).integers(-3, 4, size=(30, 4)).astype(float)
    labels = target_for(estimator(), y)
    # Each value as two stored ones, columns falling, and a stored zero.
    indices = np.tile(np.array([3, 3, 2, 2, 1, 1, 0, 0, 0], dtype=kind), 30)
    parts = np.stack([whole[:, ::-1] - 1, np.ones((30, 4))], axis=2).reshape(30, 8)
    data = np.hstack([parts, np.zeros((30, 1))]).ravel()
    matrix = sp.csr_array((data, indices, np.arange(0, 271, 9, dtype=kind)), shape=(30, 4))
    kept = matrix.data.copy()
    model = estimator(max_epochs=3, random_state=0).fit(matrix, labels)
    plain = estimator(max_epochs=3, random_state=0).fit(sp.csr_array(whole), labels)
    # A stored zero adds nothing, but may shift what is summed with what.
    assert same_model(model, plain, exact=estimator in (Perceptron, AveragedPerceptron, VotedPerceptron, PAUM))
    assert np.allclose(model.predict(matrix), plain.predict(whole))
    assert model.report_.radius == plain.report_.radius
    assert np.array_equal(matrix.data, kept)  # the caller's matrix is not sorted in place
    assert matrix.indices[0] == 3
