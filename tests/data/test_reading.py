"""Readers: every format comes back as it was written, and what is malformed is named by place."""

import functools
import gzip
import io
import re
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import zstandard
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.feature_extraction.text import HashingVectorizer

import rosenblatt
from rosenblatt import FileError, read, stream
from rosenblatt.data.formats import byte_sources as sources
from rosenblatt.data.formats import decimal_numbers as numbers
from rosenblatt.data.formats import svmlight, text
from rosenblatt.data.formats.byte_sources import detect_format, expand_paths, line_chunks
from rosenblatt.data.formats.reading import Reading, make_reading, row_blocks
from written import ROWS, TABLE, written


def parse(data, **settings):
    padded = np.frombuffer(data + bytes(numbers.PADDING), np.uint8)
    return svmlight.parse(padded, len(data), "x", 1, **settings)


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
    X = sp.random(300, 50, 0.1, format="csr", random_state=0)
    X[0, 0] = 1.5
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


# -- where bytes come from -------------------------------------------------------------------------------------------


def test_compressed_and_cut_short(tmp_path):
    content = b"".join(b"1 1:%d 3:1\n" % k for k in range(5000))
    plain = read(written(tmp_path, content))
    packed = {
        ".gz": gzip.compress(content),
        ".zst": zstandard.compress(content[:30000]) + zstandard.compress(content[30000:]),
    }
    for suffix, data in packed.items():
        found = read(written(tmp_path, data, f"rows.svm{suffix}"))
        assert (found[0] != plain[0]).nnz == 0
        for broken in (data[:-5], data[: len(data) // 2], data[:50] + b"xxxx" + data[54:], b"no archive", data + b"xx"):
            with pytest.raises(FileError, match=r"damaged|cannot read|expected"):
                read(written(tmp_path, broken, f"bad.svm{suffix}"))
    assert read(written(tmp_path, gzip.compress(b"a,label\n1,2\n2,3\n"), "t.csv.gz"))[0].tolist() == [[1], [2]]


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    mark = b"\xef\xbb\xbf"
    for name, content, settings in [
        ("a.svm", b"1 1:2\n0 2:1\n", {}),
        ("a", b"1 1:2\n0 2:1\n", {}),
        ("a.txt", b"spam\tbuy now\nham\thello\n", {"n_features": 16}),
        ("a.csv", b"label,a\n1,2\n0,3\n", {}),
        ("a.tsv", b'"label"\ta\n1\t2\n0\t3\n', {}),
        ("b.csv", b"1,2\n0,3\n", {"header": False, "label": 0}),
    ]:
        (X, y), (X2, y2) = (read(written(tmp_path, start + content, name), **settings) for start in (b"", mark))
        assert abs(X - X2).sum() == 0
        assert y.tolist() == y2.tolist()
    assert [bytes(one.data[: one.size]) for one in line_chunks(str(written(tmp_path, mark, "a")), 2)] == []
    with pytest.raises(FileError, match="line 1, column 1: expected a label"):
        read(written(tmp_path, mark + mark + b"1 1:2\n"))


def test_long_lines_and_small_chunks(tmp_path):
    path = written(tmp_path, b"1 1:1 2:2 3:3\n" * 50 + b"2 " + b" ".join(b"%d:1" % k for k in range(1, 500)))
    for size in (1, 7, 64, 1000):
        found = list(line_chunks(str(path), size))
        assert b"".join(bytes(one.data[: one.size]) for one in found) == path.read_bytes() + b"\n"
        assert [one.line for one in found] == sorted({one.line for one in found})
    with pytest.raises(FileError, match="expected rows, found none"):
        read(written(tmp_path, "", "empty.svm"))


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "begin", "more", "settings"),
    [
        ("rows.svm.gz", b"1 1:1\n1 ", b"1:1 ", {}),
        ("rows.svm.zst", b"1 1:1\n1 ", b"1:1 ", {}),
        ("rows.txt.gz", b"a\tb\na\t", b"cd ", {"format": "text"}),
        ("rows.csv.gz", b"label,a\n1,", b"234 ", {}),
        ("rows.tsv.zst", b"label\ta\n1\t", b"234 ", {}),
        ("head.csv.gz", b"", b"abc,", {}),
    ],
)
def test_lines_longer_than_memory_allows_are_refused(tmp_path, name, begin, more, settings):
    pack = zstandard.compress if name.endswith(".zst") else functools.partial(gzip.compress, compresslevel=1)
    path = written(tmp_path, pack(begin + more * (1 << 23)), name)

    def refused():
        with pytest.raises(FileError, match=r"longer than memory allows|a record of more than") as caught:
            list(stream(path, memory="32MB", **settings))
        assert caught.value.line in (1, 2, None)

    refused()  # whatever is compiled or imported takes memory of its own
    tracemalloc.start()
    try:
        refused()
        assert tracemalloc.get_traced_memory()[1] < 32_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("settings", [{}, {"classes": [1, 2], "n_features": 2, "zero_based": False}])
@pytest.mark.parametrize("plan", [{}, {"max_epochs": 1, "order": "cyclic"}])
@pytest.mark.compiled
def test_training_refuses_lines_longer_than_memory_allows(tmp_path, plan, settings):
    path = written(tmp_path, gzip.compress(b"1 1:1\n2 " + b"2:1 " * 3_000_000, 1), "rows.svm.gz")
    with pytest.raises(FileError, match="10,000,000 bytes is longer than memory allows") as caught:
        rosenblatt.fit(rosenblatt.Perceptron(**plan), path, memory="160MB", **settings)
    assert caught.value.line == 2


def test_a_long_line_is_read_in_linear_time(tmp_path, monkeypatch):
    looked, moved = [], []
    last_end, longer = sources._last_line_end, sources._enlarged
    monkeypatch.setattr(
        sources, "_last_line_end", lambda *given: looked.append(given[1] - given[2]) or last_end(*given)
    )
    monkeypatch.setattr(sources, "_enlarged", lambda data, room: moved.append(data.size) or longer(data, room))
    content = b"1 " + b" ".join(b"%d:1" % k for k in range(1, 5000))
    path = str(written(tmp_path, content + b"\n"))
    (chunk,) = line_chunks(path, 16, len(content))
    assert bytes(chunk.data[: chunk.size]) == content + b"\n"
    assert sum(looked) < 2 * len(content)
    assert sum(moved) < 3 * len(content)
    with pytest.raises(FileError, match=f"line 1: a line of more than {len(content) - 1:,} bytes is longer"):
        list(line_chunks(path, 16, len(content) - 1))


def test_patterns_lists_and_names(tmp_path):
    for k in range(3):
        written(tmp_path, f"{k} {k + 1}:1\n", f"part-{k}.svm")
    for source in (str(tmp_path / "part-*.svm"), [tmp_path / f"part-{k}.svm" for k in range(3)]):
        X, y = read(source)
        assert X.shape == (3, 3)
        assert y.tolist() == [0, 1, 2]
    for wrong in (str(tmp_path / "no-*.svm"), [], tmp_path / "nothing.svm"):
        with pytest.raises(FileError, match=r"no file|empty list|no such file"):
            read(wrong)
    odd = written(tmp_path, "1 1:1\n", "odd[1].svm")
    assert expand_paths(odd) == (str(odd),)


def test_formats_are_told_apart(tmp_path):
    for content, name, kind in [
        ("1 1:1\n", "a", "svmlight"),
        ("# c\n+1\n", "a", "svmlight"),
        ("1 " + "1:1 " * 20000, "a", "svmlight"),
        ("spam\tbuy\n", "a.txt", "text"),
        ("", "a.tsv.gz", "tsv"),
        ("", "a.PARQUET", "parquet"),
        ("", "a.feather", "arrow"),
    ]:
        assert detect_format(str(written(tmp_path, content, name))) == kind
    for content in ("hello there\n", "\n\n"):
        with pytest.raises(FileError, match=r"cannot tell the format|found none"):
            detect_format(str(written(tmp_path, content, "a")))
    assert detect_format("-") == "svmlight"


def test_settings_are_checked(tmp_path):
    path = written(tmp_path, "1 1:1\n0 1:2\n")
    how = make_reading(path)
    for wrong in (
        {"colour": 1},
        {"format": "xml"},
        {"categorical": "x"},
        {"layout": 1},
        {"like": how, "format": "csv"},
    ):
        with pytest.raises(ValueError, match=r"\w"):
            read(path, **wrong)
    with pytest.raises(ValueError, match="ngrams"):
        read(path, format="text", ngrams=(2, 1))
    for name, value in [
        ("zero_based", "foo"), ("zero_based", 0), ("n_features", "x"), ("n_features", -3), ("n_features", 0),
        ("n_features", True), ("ngrams", 5), ("ngrams", (1, 2.5)), ("ngrams", "12"), ("multilabel", "no"),
        ("label", 1.5), ("header", "yes"), ("labelled", None), ("n_features", 1 << 31), ("n_features", 10**30),
        ("ngrams", (1, 101)), ("ngrams", (10**30, 10**30)),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name} must be .*, got {re.escape(repr(value))}\.$"):
            read(path, **{name: value})
    with pytest.raises(ValueError, match=r"from 1 to 2,147,483,647, or None, got 9223372036854775808\.$"):
        read(path, n_features=np.uint64(1 << 63))
    with pytest.raises(ValueError, match="n_features must be None for tables"):
        read(written(tmp_path, "a,y\n1,2\n", "t.csv"), n_features=5)
    with pytest.raises(TypeError, match="not as bytes"):
        read(str(path).encode())
    with pytest.raises(ValueError, match="at least 8MB"):
        next(stream(path, memory="1MB"))
    assert how.known is False


def test_stream_is_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("rosenblatt.data.formats.reading.block_bytes", lambda memory: 300)
    X = sp.random(100, 30, 0.2, format="csr", random_state=0)
    path = str(tmp_path / "rows.svm")
    dump_svmlight_file(X, np.arange(100), path, zero_based=False)
    X, _ = read(path)
    for settings in (
        {},
        {"n_features": 30, "zero_based": False},
        {"n_features": 30, "zero_based": False, "multilabel": False},
    ):
        found = list(stream(path, **settings))
        assert len(found) > 5
        assert (sp.vstack([one[0] for one in found]) != X).nnz == 0
        np.testing.assert_array_equal(np.concatenate([one[1] for one in found]), np.arange(100))
    with pytest.raises(FileError, match="found none"):
        list(stream(written(tmp_path, "", "empty.svm")))


def test_standard_input():
    script = "import rosenblatt; X, y = rosenblatt.read('-'); print(X.toarray().tolist(), y.tolist())"
    run = subprocess.run(
        [sys.executable, "-c", script], input="1 1:2\n0 2:1\n", capture_output=True, text=True, check=True
    )
    assert run.stdout == "[[2.0, 0.0], [0.0, 1.0]] [1.0, 0.0]\n"


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Puts bytes on standard input."""
    monkeypatch.setenv("ROSENBLATT_CACHE", str(tmp_path / "caches"))
    monkeypatch.setattr(sys, "stdin", None)
    return lambda data: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_tables_from_standard_input(tmp_path, typed):
    table = pa.table(TABLE)
    for name, write in (
        ("csv", pa.csv.write_csv),
        ("parquet", pa.parquet.write_table),
        ("arrow", pa.feather.write_feather),
    ):
        write(table, str(tmp_path / name))
        typed((tmp_path / name).read_bytes())
        X, y = read("-", format=name)
        np.testing.assert_array_equal(X.toarray(), ROWS)
        assert y.tolist() == TABLE["label"]
        typed((tmp_path / name).read_bytes())
        ((X, y),) = stream("-", format=name)
        np.testing.assert_array_equal(X.toarray(), ROWS)
    typed(b"a,label\n1,x\nnan,y\n")
    with pytest.raises(FileError, match="-, line 3, column 'a': expected a finite number, found 'nan'"):
        read("-", format="csv")
    assert list((tmp_path / "caches").iterdir()) == []


def test_a_stream_of_standard_input(typed):
    typed(b"1 1:2\n0 2:1\n")
    ((X, y),) = stream("-")
    assert X.toarray().tolist() == [[2, 0], [0, 1]]
    assert y.tolist() == [1, 0]
    typed(b"1 1:2\n0 2:1\n")
    ((X, y),) = stream("-", n_features=3, zero_based=False, multilabel=False)
    assert X.shape == (2, 3)
    typed(b"")
    with pytest.raises(FileError, match="expected rows, found none"):
        list(stream("-"))


def test_no_thread_that_reads_outlives_python(tmp_path):
    path = written(tmp_path, b"a,label\n1,2\n3\n" + b"1,2\n" * 6_000_000, "t.csv")
    script = """
import sys, time
from rosenblatt.data.formats import reading
from rosenblatt.data.formats import tables

def slow(self, size=-1, read=tables._FeedHandle.read):
    time.sleep(0.05)
    return read(self, size)

tables._FeedHandle.read = slow
how = reading.Reading("csv", layout=tables.Layout((tables.Column("a"),), None, ""))
try:
    reading.read(sys.argv[1], like=how)
except ValueError as error:
    print(error)
    sys.exit(2)
"""
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=60)
        assert run.returncode == 2, run.stderr
        assert "line 3: expected 2 columns, found 1" in run.stdout


# -- text ------------------------------------------------------------------------------------------------------------

SENTENCES = [
    "The quick brown fox, the LAZY dog!",
    "a b c dd",
    "",
    "under_score 12 3x",
    "Ünïcode ÉCOLE straße İstanbul",
    "日本語 テキスト x",
    "tab\tinside",
    "😀 emoji ok",
    "x\u2028y zz",
    "word " * 700,
    " ".join(f"word{k % 90}" for k in range(200)),
    " ".join(f"other{k}" for k in range(5000)),
    "re re re peat",
    "ǅ titled ﬁ ligature",
    "a\u0301 combining",
]


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("features", [1 << 20, 1000])
@pytest.mark.parametrize("plain", [False, True])
def test_text_is_hashed_as_scikit_learn_hashes_it(tmp_path, ngrams, features, plain):
    texts = [one for one in SENTENCES if one.isascii() or not plain]
    labels = ["Ab", "Çd", "e f"] if not plain else ["A", "b c", "D"]
    lines = [f"{labels[k % 3]}\t{one}" for k, one in enumerate(texts)]
    path = written(tmp_path, "\n\n".join(lines), "rows.txt")
    X, y = read(path, format="text", n_features=features, ngrams=ngrams)
    theirs = HashingVectorizer(n_features=features, ngram_range=ngrams).transform(texts)
    assert X.shape == theirs.shape
    np.testing.assert_allclose(
        X.toarray() if features < 2000 else X.data, theirs.toarray() if features < 2000 else theirs.data
    )
    assert y.tolist() == [labels[k % 3] for k in range(len(texts))]


def test_text_errors_name_the_place(tmp_path):
    for content, line, column, what in [
        (b"a\tx\nno tab here\n", 2, 1, "label<TAB>text, found 'no tab here'"),
        (b"a\tx\n\ty\n", 2, 1, "label<TAB>text"),
        (b"a\tx\nb\ty\xff\n", 2, 4, "expected UTF-8, found the byte 0xff"),
        (b"a\tx b\0\ty\nb\0\tx\n", 2, 1, r"expected a label that does not end with NUL, found 'b\x00'"),
    ]:
        path = written(tmp_path, content, "rows.txt")
        with pytest.raises(FileError, match=re.escape(what)) as caught:
            read(path, format="text")
        assert (caught.value.line, caught.value.column) == (line, column)


def test_nul_within_a_label_is_kept(tmp_path):
    _, y = read(written(tmp_path, b"a\0b\tx\n\0a\tx\n", "rows.txt"), n_features=16)
    assert y.tolist() == ["a\0b", "\0a"]


def test_lines_without_labels():
    data = b"Hello there\nhi you\n"
    found = text.hash_lines(
        np.frombuffer(data + bytes(8), np.uint8), len(data), "x", 1, features=64, ngrams=(1, 1), labelled=False
    )
    assert found.starts.tolist() == [0, 2, 4]
    other = "Höhe\n".encode()
    found = text.hash_lines(
        np.frombuffer(other + bytes(8), np.uint8), len(other), "x", 1, features=64, ngrams=(1, 1), labelled=False
    )
    assert found.labels == []
    assert found.values.size == 1


# -- the rest --------------------------------------------------------------------------------------------------------


def test_stamps(tmp_path):
    path = written(tmp_path, "1 1:1\n")
    before = sources.file_stamps([str(path)])
    sources.check_unchanged([str(path)], before)
    with pytest.raises(FileError, match="no such file"):
        sources.file_stamps([str(tmp_path / "nothing")])
    assert next(iter(row_blocks(path, make_reading(path)))).rows == 1


def test_errors_can_be_sent_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(FileError("what", "file", 3, "column")))
    assert str(error) == "file, line 3, column 'column': what"
    assert isinstance(error, rosenblatt.FileError)


def test_a_glance_sees_what_a_parse_finds():
    def glanced(data):
        return svmlight.preview_lines(np.frombuffer(data + bytes(8), np.uint8), len(data))

    for data in (b"1 1:1 7:2\n-1\n2.5 3:1 \n0 \n", b"1 0:1\n", b"3 12345678:1\n"):
        seen, lines = glanced(data), parse(data)
        np.testing.assert_array_equal(seen.labels, lines.labels)
        assert (seen.stored, seen.least, seen.most) == (lines.values.size, lines.least, lines.most)
    for data in (
        b"\n", b" 1:1\n", b"1,2 1:1\n", b"1 1:1 # c\n", b"1 qid:1 1:1\n", b"1\t1:1\n", b"x 1:1\n", b"1 x:1\n", b"1 1\n",
        b"1 99999999999:1\n", b"1 1:1 99999999999:1\n", b"1 1:1 x:1\n",
    ):  # fmt: skip
        assert glanced(data) is None
