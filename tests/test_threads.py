"""Work on several threads: the same bits, the same errors, and Ctrl-C is handled."""

import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ctrl_c import CtrlC
from rosenblatt import AveragedPerceptron, Perceptron
from rosenblatt.compiled import row_arrays, threads
from rosenblatt.learn import row_checks
from rosenblatt.shell.encoding import validated


@pytest.fixture
def small(monkeypatch):
    """Pieces of a few rows, so that small data go through many of them."""
    monkeypatch.setattr(threads, "MANY_VALUES", 0)
    monkeypatch.setattr(row_arrays, "MANY_VALUES", 0)
    monkeypatch.setattr(row_checks, "MANY_VALUES", 0)
    for name in ("VALUES_PER_THREAD", "VALUES_AT_ONCE"):
        monkeypatch.setattr(row_arrays, name, 64)


def rows(kind, classes=3, n=300, d=12):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    y = np.argmax(X @ rng.normal(size=(d, classes)) + rng.normal(size=(n, classes)), axis=1)
    if kind == "unsorted":
        X = sp.csr_matrix(X)
        for i in range(n):
            part = slice(X.indptr[i], X.indptr[i + 1])
            X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
        X.has_sorted_indices = False
        return X, y
    return (sp.csr_matrix(X) if kind == "sparse" else X), y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["dense", "sparse", "unsorted"])
@pytest.mark.parametrize("multiclass", ["multinomial", "ovr", "ovo"])
def test_any_number_of_threads_gives_the_same_bits(kind, classes, multiclass, small, monkeypatch):
    X, y = rows(kind, classes)
    found = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("ROSENBLATT_THREADS", count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = AveragedPerceptron(multiclass=multiclass, max_epochs=3, random_state=0).fit(X, y)
        report = model.report_
        found.append(
            (model.decision_function(X).tobytes(), report.outcome, report.errors, report.margin, report.radius)
        )
        assert report.errors == np.count_nonzero(model.predict(X) != y)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_the_first_bad_row_is_named_whoever_finds_it(kind, small, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_THREADS", "4")
    X, y = rows("dense")
    X[[250, 101, 40], 0] = np.nan
    X = sp.csr_matrix(X) if kind == "sparse" else X
    for _ in range(20):
        with pytest.raises(ValueError, match="NaN at row 40, column 0"):
            Perceptron().fit(X, y)


def test_a_repeated_column_is_found_in_every_part(small, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_THREADS", "3")
    for place in (0, 150, 299):
        X, _ = rows("unsorted")
        start = X.indptr[place]
        assert X.indptr[place + 1] - start > 1
        X.indices[start + 1] = X.indices[start]
        coded, radius2 = row_checks.encode_rows(X)
        assert coded.values.size == X.data.size - 1
        assert radius2 == pytest.approx(np.square(X.toarray()).sum(axis=1).max())


def test_pieces_within_pieces_run_on_their_own_thread(monkeypatch):
    monkeypatch.setenv("ROSENBLATT_THREADS", "2")

    def inner(piece):
        return threading.get_ident()

    def outer(piece):
        return threading.get_ident(), threads.in_threads(inner, range(4))

    for own, others in threads.in_threads(outer, range(6)):
        assert set(others) == {own}


def test_pieces_are_of_one_size_and_cover_all_rows(small, monkeypatch):
    monkeypatch.setattr(row_arrays, "MOST_ROWS", 40)
    rng = np.random.default_rng(0)  # no hypothesis: its watch of the garbage collector swallows Ctrl-C, sent below
    for _ in range(300):
        total, columns = int(rng.integers(1, 10_000)), int(rng.integers(1, 4))
        per_row = float(rng.uniform(0.1, 50.0))
        found = row_arrays.in_pieces(lambda span: span, total, per_row, columns)
        assert [begin for begin, _ in found] == [0, *(end for _, end in found[:-1])]
        assert found[-1][1] == total
        sizes = {end - begin for begin, end in found[:-1]}
        assert len(sizes) <= 1
        assert max(sizes, default=1) <= 40
        assert max(sizes, default=1) * per_row * columns <= max(64, per_row * columns) + per_row * columns


def test_few_values_need_no_thread(monkeypatch):
    monkeypatch.setenv("ROSENBLATT_THREADS", "2")
    here = threading.get_ident()
    seen = threads.in_threads(lambda piece: threading.get_ident(), range(8), threads.MANY_VALUES - 1)
    assert set(seen) == {here}


@pytest.mark.parametrize("asked", ["0", "two", "-1", "1.5"])
def test_a_wrong_number_of_threads_is_refused(asked, monkeypatch):
    monkeypatch.setenv("ROSENBLATT_THREADS", asked)
    with pytest.raises(ValueError, match="ROSENBLATT_THREADS must be a whole number, 1 or more"):
        threads.in_threads(abs, [1, 2])


def test_the_number_of_threads_is_that_of_scikit_learn(monkeypatch):
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
    from threadpoolctl import threadpool_limits

    monkeypatch.delenv("ROSENBLATT_THREADS", raising=False)
    assert threads.thread_count() == _openmp_effective_n_threads()
    with threadpool_limits(1):
        assert threads.thread_count() == 1


def test_ctrl_c_stops_the_work(monkeypatch):
    monkeypatch.setenv("ROSENBLATT_THREADS", "2")
    done = []

    def piece(k):
        if k == 4:
            keys.press()
        time.sleep(0.005)
        done.append(k)

    with CtrlC() as keys:
        threads.in_threads(piece, range(100_000))
    assert len(done) < 10_000


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_short_way_through_validation_says_what_the_long_one_does(dtype):
    settings = {"dtype": [np.float64, np.float32], "ensure_all_finite": False, "accept_sparse": "csr"}
    fitted = Perceptron().fit(np.eye(3), [0, 1, 1])
    cases = [
        np.ones((2, 3), dtype), np.ones((2, 4), dtype), np.ones((0, 3), dtype), np.ones((2, 0), dtype),
        np.ones(3, dtype), np.ones((2, 3), int), np.asfortranarray(np.ones((4, 3), dtype)), np.ones((2, 3), "c16"),
        np.ma.ones((2, 3)),
    ]  # fmt: skip
    for reset in (False, True):
        for X in cases:
            one, two = (Perceptron().fit(np.eye(3), [0, 1, 1]) for _ in range(2))
            try:
                expected = validate_data(one, X, reset=reset, **settings)
            except ValueError:
                with pytest.raises(ValueError, match=r"."):
                    validated(two, X, reset=reset, **settings)
                continue
            found = validated(two, X, reset=reset, **settings)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)
            assert two.n_features_in_ == one.n_features_in_
    assert fitted.n_features_in_ == 3


def test_valid_parameters_are_told_apart_by_type():
    X, y = np.eye(3), [0, 1, 1]
    Perceptron(max_epochs=9, margin=1.0).fit(X, y)
    with pytest.raises(ValueError, match="max_epochs"):
        Perceptron(max_epochs=9.0, margin=1.0).fit(X, y)
    model = Perceptron(max_epochs=9, margin=1.0)
    model.max_epochs = -1
    with pytest.raises(ValueError, match="max_epochs"):
        model.fit(X, y)
