"""Readers: every format comes back as it was written, and what is malformed is named by place."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from reading_cases import parse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from rosenblatt import FileError, read, stream
from rosenblatt.formats.reading import Reading
from written import written

# -- numbers ---------------------------------------------------------------------------------------------------------

WORDS = [
    "0",
    "-0",
    "1",
    "+1",
    "1.",
    ".5",
    "-.5",
    "00.10",
    "1e5",
    "1E-5",
    "1e+5",
    "1e22",
    "1e23",
    "123456789",
    "1234567890123",
    "9007199254740993",
    "9007199254740992",
    "0.1",
    "1e-308",
    "2.2250738585072014e-308",
    "4.9e-324",
    "1e-400",
    "1.7976931348623157e308",
    "123456789012345678901234567890",
    "1e-300",
    "1e300",
    "0.000000000000000000000000000012345",
    "3.14159265358979323846",
    "8.5e-301",
    "9.5e299",
    "2.5e-5",
    "6.5e15",
    "0e999999",
    "5e-324",
    "1e310",
    "18446744073709551615",
    "9999999999999999999",
    "7.2057594037927933e16",
    "9.007199254740993e15",
    "1e123456789",
    "5708990770823839524233143877797980545530986496",
]


@pytest.mark.parametrize("word", WORDS)
def test_numbers_are_rounded_as_python_rounds_them(word):
    if float(word) in (float("inf"), float("-inf")):
        with pytest.raises(FileError, match="finite"):
            parse(f"1 1:{word}\n".encode())
        return
    lines = parse(f"{word} 1:{word}\n".encode())
    assert lines.values.tobytes() == lines.labels.tobytes() == np.float64(float(word)).tobytes()


def test_random_numbers_are_rounded_as_python_rounds_them():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 1 << 63, 400, dtype=np.int64).view(np.float64)
    values = values[np.isfinite(values)]
    words = [repr(float(v)) for v in values] + [
        f"{v:.{k}e}" for v, k in zip(values, rng.integers(0, 25, 400), strict=False)
    ]
    words += [f"{v:.{k}f}" for v, k in zip(rng.normal(size=300) * 1e4, rng.integers(0, 22, 300), strict=True)]
    words = [word for word in words if np.isfinite(float(word))]
    found = parse("".join(f"1 1:{word}\n" for word in words).encode()).values
    assert found.tobytes() == np.array([float(word) for word in words]).tobytes()


@pytest.mark.parametrize("count", [1, 4096, 4097, 9000])
def test_rows_of_any_length_and_any_number_of_digits(count):
    words = [f"{'0' * (k % 30)}{k}.{k:025}" for k in range(count)]
    pairs = " ".join(f"{k + 1}:{word}" for k, word in enumerate(words))
    lines = parse(f"{words[0]} 7:1\n{','.join(words)} {pairs}\n{words[-1]} {pairs}\n".encode())
    values = [float(word) for word in words]
    assert lines.labels.tolist() == [values[0], *values, values[-1]]
    assert lines.label_starts.tolist() == [0, 1, 1 + count, 2 + count]
    assert lines.values.tolist() == [1.0, *values, *values]
    assert lines.columns.tolist() == [7, *range(1, count + 1), *range(1, count + 1)]
    assert lines.starts.tolist() == [0, 1, 1 + count, 1 + 2 * count]


def test_wide_rows_are_what_scikit_learn_wrote(tmp_path):
    X = np.random.default_rng(0).normal(size=(3, 20_000)) * 1e-3
    dump_svmlight_file(X, [1, 2, 3], str(tmp_path / "wide.svm"))
    found, y = read(tmp_path / "wide.svm")
    np.testing.assert_array_equal(found.toarray(), load_svmlight_file(str(tmp_path / "wide.svm"))[0].toarray())
    assert y.tolist() == [1, 2, 3]


def test_of_two_errors_the_first_is_named():
    digits = "1" * 30
    for content, line, column in [
        (f"1 1:1 2:{digits}e999 3:x\n", 1, 9),
        (f"1 1:1 2:{digits} 3:x\n", 1, 42),
        (f"1 1:{digits}e999\n{digits}e999 1:1\n", 1, 5),
        (f"1 1:1\n{digits}e999,x\n", 2, 1),
        (f"1 1:1\n{digits}e5-3 1:1\n", 2, 33),
    ]:
        with pytest.raises(FileError, match="expected") as caught:
            parse(content.encode())
        assert (caught.value.line, caught.value.column) == (line, column)


# -- svmlight --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("comment", [None, "made here"])
def test_svmlight_is_what_scikit_learn_reads(tmp_path, zero_based, comment):
    X = sp.random(300, 50, 0.1, format="lil", random_state=0)
    X[0, 0] = 1.5
    X = X.tocsr()
    path = str(tmp_path / "rows.svm")
    dump_svmlight_file(X, np.arange(300) % 5 - 2.5, path, zero_based=zero_based, comment=comment)
    ours, theirs = read(path), load_svmlight_file(path)
    for mine, other in zip(ours, theirs, strict=True):
        for name in ("data", "indices", "indptr") if sp.issparse(mine) else ():
            np.testing.assert_array_equal(getattr(mine, name), getattr(other, name))
        assert mine.shape == other.shape
        assert (mine != other).sum() == 0


def test_svmlight_queries_blanks_and_line_ends(tmp_path):
    content = b"# top\n\n1 qid:7 1:1 3:2 # x:y\r\n \t\n-1\tqid:0\t2:3\n+2.5\n3 2:1"
    X, y, query = read(written(tmp_path, content), query_id=True)
    np.testing.assert_array_equal(X.toarray(), [[1, 0, 2], [0, 3, 0], [0, 0, 0], [0, 1, 0]])
    np.testing.assert_array_equal(y, [1, -1, 2.5, 3])
    np.testing.assert_array_equal(query, [7, 0, -1, -1])


def test_svmlight_several_labels(tmp_path):
    path = written(tmp_path, "1,3 1:1\n3 2:1\n 1:1 2:2\n")
    X, y = read(path)
    np.testing.assert_array_equal(y, [[1, 1], [0, 1], [0, 0]])
    assert X.shape == (3, 2)
    assert read(path, multilabel=True)[1].shape == (3, 2)
    (X2, y2), *_ = stream(path)
    np.testing.assert_array_equal(y2, y)
    assert (X2 != X).nnz == 0
    with pytest.raises(FileError, match="one label per row, found 2"):
        read(path, multilabel=False)
    np.testing.assert_array_equal(read(written(tmp_path, "2 1:1\n1 1:2\n"), multilabel=True)[1], [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("content", "line", "column", "what"),
    [
        ("x 1:1", 1, 1, "expected a label, which is a number, found 'x'"),
        ("1 1:1\nnan 1:1", 2, 1, "expected a label"),
        ("1e999 1:1", 1, 1, "expected a label"),
        ("1,,2 1:1", 1, 3, "expected a label"),
        ("1, 1:1", 1, 3, "expected a label"),
        ("1x 1:1", 1, 2, "expected a label"),
        ("1:2 3:4", 1, 2, "expected a label"),
        ("1 1", 1, 4, "expected ':' after the index, found nothing"),
        ("1 a:1", 1, 3, "expected index:value with an integer index, found 'a:1'"),
        ("1 -1:1", 1, 3, "expected index:value"),
        ("1 1:", 1, 5, "expected a finite number, found nothing"),
        ("1 1:nan", 1, 5, "expected a finite number, found 'nan'"),
        ("1 1:inf", 1, 5, "expected a finite number"),
        ("1 1:1e999", 1, 5, "expected a finite number"),
        ("1 1:1e", 1, 5, "expected a finite number"),
        ("1 1:1.2.3", 1, 5, "expected a finite number, found '1.2.3'"),
        ("1 1:-", 1, 5, "expected a finite number"),
        ("1 1:1,2:1", 1, 5, "expected a finite number"),
        ("1 2:1 1:1", 1, 7, "expected increasing indices within a line, found '1:1'"),
        ("1 2:1 2:1", 1, 7, "expected increasing indices"),
        ("1 4294967296:1", 1, 3, "expected an index of at most 2,147,483,647"),
        ("1 99999999999999999999:1", 1, 3, "expected an index of at most"),
        ("1 qid:x 1:1", 1, 3, "expected an integer after 'qid:'"),
        ("1 qid7 1:1", 1, 3, "expected an integer after 'qid:'"),
        ("1 1:1 qid:3", 1, 7, "expected index:value"),
        ("1 1:\x01", 1, 5, "expected a finite number"),
        ("1 1:1\0", 1, 6, "expected index:value"),
    ],
)
def test_svmlight_errors_name_the_place(tmp_path, content, line, column, what):
    path = written(tmp_path, content)
    with pytest.raises(FileError, match=re.escape(what)) as caught:
        read(path)
    assert (caught.value.path, caught.value.line, caught.value.column) == (str(path), line, column)


def test_several_labels_where_one_was_said(tmp_path):
    path = written(tmp_path, "# several\n1 1:1\n\n1,2 2:1\n", "q.svm")
    with pytest.raises(FileError, match=r"q.svm, line 4: expected one label per row, found 2"):
        read(path, multilabel=False)
    with pytest.raises(FileError, match=r"z.svm: expected 1 features, found index 1"):
        read(written(tmp_path, "1 0:1 1:1\n", "z.svm"), n_features=1)


def test_indices_that_32_bits_do_not_hold_are_refused(tmp_path):
    wide = Reading("svmlight", n_features=1 << 33, zero_based=False)
    for index in (2147483649, 4294967297, 8589934592):
        with pytest.raises(FileError, match=r"line 2, column 3: expected an index of at most 2,147,483,648"):
            read(written(tmp_path, f"1 1:1\n1 {index}:1\n"), like=wide)
    path = written(tmp_path, "1 1:1\n2 2147483647:1\n")
    for settings in ({}, {"n_features": 2147483647}, {"n_features": np.int32(2147483647)}):
        X, _ = read(path, **settings)
        assert (X.shape, X.indices.tolist()) == ((2, 2147483647), [0, 2147483646])
    table = written(tmp_path, "a,b,label\n1,x,0\n2,y,1\n", "t.csv")
    assert read(table, categorical="hash", n_features=2147483646)[0].shape == (2, 2147483647)
    with pytest.raises(FileError, match=r"expected at most 2,147,483,647 features, found 2,147,483,648"):
        read(table, categorical="hash", n_features=2147483647)


def test_svmlight_indices_and_widths(tmp_path):
    path = written(tmp_path, "1 0:1 4:1\n0 2:1\n")
    assert read(path)[0].shape == (2, 5)
    assert read(path, n_features=9)[0].shape == (2, 9)
    assert read(path, n_features=9, zero_based=True)[0].shape == (2, 9)
    with pytest.raises(FileError, match="expected index:value"):
        read(path, zero_based=False)
    with pytest.raises(FileError, match="at most 3"):
        read(path, n_features=4, zero_based=True)
    with pytest.raises(FileError, match="expected 4 features, found index 4"):
        read(path, n_features=4)
    one = written(tmp_path, "1 1:1 4:1\n0 2:1\n", "one.svm")
    assert read(one, n_features=4)[0].shape == (2, 4)
    with pytest.raises(FileError, match="at most 3"):
        read(one, n_features=3, zero_based=False)
    assert read(written(tmp_path, "1\n0\n", "none.svm"))[0].shape == (2, 1)
