"""Readers: every format comes back as it was written, and what is malformed is named by place."""

import csv
import gzip
import io
import os
import random
import re
import subprocess
import sys
from itertools import pairwise

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
from rosenblatt.data import numbers, sources, svmlight, text
from rosenblatt.data.reading import pieces, prepared, reading
from rosenblatt.data.sources import chunks, detect, expand

FUZZ = int(os.environ.get("ROSENBLATT_FUZZ", "300"))


def parse(data, **settings):
    padded = np.frombuffer(data + bytes(numbers.PADDING), np.uint8)
    return svmlight.parse(padded, len(data), "x", 1, **settings)


def written(tmp_path, content, name="rows.svm"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


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


def test_more_hard_numbers_than_fit_at_once():
    word = "0.12345678901234567890123"
    lines = parse((f"{word} 1:{word}\n" * 5000).encode())
    assert (lines.values == float(word)).all()
    assert (lines.labels == float(word)).all()


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
    with pytest.raises(FileError, match="one label a row, found 2"):
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
        ("1 a:1", 1, 3, "expected index:value, the index a whole number, found 'a:1'"),
        ("1 -1:1", 1, 3, "expected index:value"),
        ("1 1:", 1, 5, "expected a finite number, found nothing"),
        ("1 1:nan", 1, 5, "expected a finite number, found 'nan'"),
        ("1 1:inf", 1, 5, "expected a finite number"),
        ("1 1:1e999", 1, 5, "expected a finite number"),
        ("1 1:1e", 1, 5, "expected a finite number"),
        ("1 1:1.2.3", 1, 5, "expected a finite number, found '1.2.3'"),
        ("1 1:-", 1, 5, "expected a finite number"),
        ("1 1:1,2:1", 1, 5, "expected a finite number"),
        ("1 2:1 1:1", 1, 7, "expected indices that rise within a line, found '1:1'"),
        ("1 2:1 2:1", 1, 7, "expected indices that rise"),
        ("1 4294967296:1", 1, 3, "expected an index of at most 2,147,483,647"),
        ("1 99999999999999999999:1", 1, 3, "expected an index of at most"),
        ("1 qid:x 1:1", 1, 3, "expected a whole number after 'qid:'"),
        ("1 qid7 1:1", 1, 3, "expected a whole number after 'qid:'"),
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
    with pytest.raises(FileError, match=r"q.svm, line 4: expected one label a row, found 2 in a row"):
        read(path, multilabel=False)
    with pytest.raises(FileError, match=r"z.svm: expected 1 features, found an index of 1"):
        read(written(tmp_path, "1 0:1 1:1\n", "z.svm"), n_features=1)


def test_svmlight_indices_and_widths(tmp_path):
    path = written(tmp_path, "1 0:1 4:1\n0 2:1\n")
    assert read(path)[0].shape == (2, 5)
    assert read(path, n_features=9)[0].shape == (2, 9)
    assert read(path, n_features=9, zero_based=True)[0].shape == (2, 9)
    with pytest.raises(FileError, match="expected index:value"):
        read(path, zero_based=False)
    with pytest.raises(FileError, match="at most 3"):
        read(path, n_features=4, zero_based=True)
    with pytest.raises(FileError, match="expected 4 features, found an index of 4"):
        read(path, n_features=4)
    one = written(tmp_path, "1 1:1 4:1\n0 2:1\n", "one.svm")
    assert read(one, n_features=4)[0].shape == (2, 4)
    with pytest.raises(FileError, match="at most 3"):
        read(one, n_features=3, zero_based=False)
    assert read(written(tmp_path, "1\n0\n", "none.svm"))[0].shape == (2, 1)


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(4)
        if kind == 0:
            data[at : at + 1] = rng.choice(
                ["0", "9", "e", ".", "-", " ", ":", ",", "#", "\n", "q", "\t", '"', "x", "é"]
            ).encode()
        elif kind == 1:
            del data[at : at + rng.choice([1, 1, 3, 10])]
        elif kind == 2:
            data[at:at] = data[at : at + rng.choice([1, 2, 8])]
        else:
            data[at:at] = bytes([rng.randrange(256)])
    return bytes(data)


NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def slow_svmlight(data):
    """What svmlight says, in plain Python; None where it is malformed."""
    rows = []
    for line in data.split(b"\n"):
        line = line.split(b"#")[0]
        words = [word for word in re.split(rb"[ \t\r\v\f]+", line) if word]
        if not words:
            continue
        labels = []
        if not (line[:1] in (b" ", b"\t", b"\r", b"\v", b"\f") and re.match(rb"\d{1,16}:", words[0])):
            labels = words.pop(0).split(b",")
            if not all(NUMBER.fullmatch(one) for one in labels):
                return None
        if words and words[0].startswith(b"qid") and not re.fullmatch(rb"qid:\d{1,16}", words.pop(0)):
            return None
        pairs = [word.split(b":", 1) for word in words]
        for pair in pairs:
            if len(pair) != 2 or not re.fullmatch(rb"\d{1,16}", pair[0]) or not NUMBER.fullmatch(pair[1]):
                return None
        index = [int(pair[0]) for pair in pairs]
        if any(b <= a for a, b in pairwise(index)) or any(one > svmlight.HIGHEST for one in index):
            return None
        values = [float(pair[1]) for pair in pairs]
        if not np.isfinite([*map(float, labels), *values]).all():
            return None
        rows.append((tuple(map(float, labels)), index, values))
    return rows


def test_mutated_svmlight_says_what_it_says_or_is_refused():
    whole = b"+1 1:0.5 7:-2e-3 # c\n-1 qid:3 2:1 3:4.25 10:100\n2 1:1e10\n1,2 3:.5\n"
    rng, refused = random.Random(0), 0
    for _ in range(FUZZ):
        data = mutated(whole, rng) + b"\n"
        expected = slow_svmlight(data)
        if expected is None:
            with pytest.raises(FileError):
                parse(data)
            refused += 1
            continue
        lines = parse(data)
        found = [
            (
                tuple(lines.labels[a:b].tolist()),
                lines.columns[c:d].tolist(),
                lines.values[c:d].tolist(),
            )
            for a, b, c, d in zip(
                lines.label_starts, lines.label_starts[1:], lines.starts, lines.starts[1:], strict=False
            )
        ]
        assert found == expected, data
    assert 0 < refused < FUZZ


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


def test_long_lines_and_small_chunks(tmp_path):
    path = written(tmp_path, b"1 1:1 2:2 3:3\n" * 50 + b"2 " + b" ".join(b"%d:1" % k for k in range(1, 500)))
    for size in (1, 7, 64, 1000):
        found = list(chunks(str(path), size))
        assert b"".join(bytes(one.data[: one.size]) for one in found) == path.read_bytes() + b"\n"
        assert [one.line for one in found] == sorted({one.line for one in found})
    with pytest.raises(FileError, match="expected rows, found none"):
        read(written(tmp_path, "", "empty.svm"))


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
    assert expand(odd) == (str(odd),)


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
        assert detect(str(written(tmp_path, content, name))) == kind
    for content in ("hello there\n", "\n\n"):
        with pytest.raises(FileError, match=r"cannot be told|found none"):
            detect(str(written(tmp_path, content, "a")))
    assert detect("-") == "svmlight"


def test_settings_are_checked(tmp_path):
    path = written(tmp_path, "1 1:1\n0 1:2\n")
    how = reading(path)
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
        ("label", 1.5), ("header", "yes"), ("labelled", None),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=rf"^{name} must be .*, got {re.escape(repr(value))}\.$"):
            read(path, **{name: value})
    with pytest.raises(ValueError, match="n_features is not for tables"):
        read(written(tmp_path, "a,y\n1,2\n", "t.csv"), n_features=5)
    with pytest.raises(TypeError, match="not as bytes"):
        read(str(path).encode())
    with pytest.raises(ValueError, match="at least 8MB"):
        next(stream(path, memory="1MB"))
    assert how.known is False


def test_stream_is_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("rosenblatt.data.reading.piece_size", lambda memory: 300)
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
from rosenblatt.data import reading, tables

def slow(self, size=-1, read=tables._Handle.read):
    time.sleep(0.05)
    return read(self, size)

tables._Handle.read = slow
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
    ]:
        path = written(tmp_path, content, "rows.txt")
        with pytest.raises(FileError, match=re.escape(what)) as caught:
            read(path, format="text")
        assert (caught.value.line, caught.value.column) == (line, column)


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


# -- tables ----------------------------------------------------------------------------------------------------------

TABLE = {
    "size": [1.5, 2.0, -3.0, 4.0],
    "colour": ["red", "blue", "red", ""],
    "n": [1, 2, 3, 4],
    "label": ["a", "b", "a", "b"],
}
ROWS = [[1.5, 0, 0, 1, 1], [2, 0, 1, 0, 2], [-3, 0, 0, 1, 3], [4, 1, 0, 0, 4]]


def test_every_table_says_the_same(tmp_path):
    table = pa.table(TABLE)
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pa.csv.write_csv(table, tmp_path / "t.tsv", pa.csv.WriteOptions(delimiter="\t"))
    pa.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    pa.feather.write_feather(table, tmp_path / "t.feather")
    with pa.ipc.new_stream(str(tmp_path / "t.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=3)
    coded = pa.table({**TABLE, "colour": pa.array(TABLE["colour"]).dictionary_encode()})
    pa.parquet.write_table(coded, tmp_path / "coded.parquet")
    for name in ("t.csv", "t.tsv", "t.parquet", "t.feather", "t.arrow", "coded.parquet"):
        X, y = read(tmp_path / name)
        np.testing.assert_array_equal(X.toarray(), ROWS)
        assert y.tolist() == TABLE["label"]
        X, y = read(tmp_path / name, label="n", categorical="hash", n_features=8)
        assert X.shape == (4, 9)
        assert y.tolist() == [1, 2, 3, 4]
        assert y.dtype == np.int64


def test_tables_of_numbers_are_dense(tmp_path):
    X, y = read(written(tmp_path, "a, b,y\n1, 2.5,0.5\n+3,4e1,2\n", "t.csv"))
    np.testing.assert_array_equal(X, [[1, 2.5], [3, 40]])
    assert y.tolist() == [0.5, 2.0]
    X, y = read(written(tmp_path, "1,2\n3,4\n", "h.csv"), header=False, label=-1)
    assert X.tolist() == [[1], [3]]
    assert y.tolist() == [2, 4]
    flags = pa.table({"a": [True, False], "y": [1.5, 2.5]})
    pa.parquet.write_table(flags, tmp_path / "f.parquet")
    assert read(tmp_path / "f.parquet")[0].tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("content", "settings", "line", "what"),
    [
        ("a,label\n1,x\n2\n", {}, 3, "expected 2 columns, found 1"),
        ("a,label\n1,x,5\n", {}, 2, "expected 2 columns, found 3"),
        ("a,label\n" + "1,x\n" * 30 + "oops,y\n", {}, 32, "expected a number as in other rows, found 'oops'"),
        ("a,label\n" + "1,x\n" * 30 + ",y\n", {}, 32, "expected a number as in other rows, found ''"),
        ("a,label\n1,x\nnan,y\n", {}, 3, "expected a finite number, found 'nan'"),
        ("a,label\n1,x\n-inf,y\n", {}, 3, "expected a finite number, found '-inf'"),
        ("a,label\n1,x\n1e999,y\n", {}, 3, "expected a finite number, found '1e999'"),
        ("a,label\n1,x\n2,\n", {}, 3, "expected a label, found nothing"),
        ("a,label\n\n1,x\n\r\n2\n", {}, 5, "expected 2 columns, found 1"),
        ("a,label\n\n1,x\n\n\nnan,y\n", {}, 6, "expected a finite number, found 'nan'"),
        ('a,label\n1,"x\n""z"\n\nnan,y\n', {}, 5, "expected a finite number, found 'nan'"),
        ('a,label\n1,"x\nz"\n2,\n', {}, 4, "expected a label, found nothing"),
        ("a,label\n" + "\n1,x\n" * 30 + "oops,y\n", {}, 62, "expected a number as in other rows, found 'oops'"),
        ("a,b\n1,2\n", {}, None, "which column is the label?"),
        ("a,label,y\n1,2,3\n", {}, None, "which column is the label?"),
        ("a,b\n1,2\n", {"label": "c"}, None, "expected a column named 'c'"),
        ("a,b\n1,2\n", {"label": 7}, None, "expected a label in column 7"),
        ("a,a,label\n1,2,3\n", {}, 1, "two columns named 'a'"),
        ("a,label\n", {}, None, "expected rows, found none"),
        ("", {}, None, "expected a table"),
        ('a,label\n1,"x\n2,y\n', {}, None, "expected quotation marks in pairs"),
    ],
)
def test_table_errors_name_the_place(tmp_path, content, settings, line, what):
    path = written(tmp_path, content, "t.csv")
    with pytest.raises(FileError, match=re.escape(what)) as caught:
        read(path, **settings)
    assert caught.value.line == line


def test_other_table_errors(tmp_path):
    with pytest.raises(FileError, match="expected a table"):
        read(written(tmp_path, "not parquet at all", "t.parquet"))
    with pytest.raises(FileError, match="expected a table"):
        read(written(tmp_path, "not arrow at all", "t.arrow"))
    pa.parquet.write_table(pa.table({"a": [[1], [2]], "y": [1, 2]}), tmp_path / "l.parquet")
    with pytest.raises(FileError, match="expected numbers or names"):
        read(tmp_path / "l.parquet")
    pa.parquet.write_table(pa.table({"a": [1.0, None], "y": [1, 2]}), tmp_path / "n.parquet")
    with pytest.raises(FileError, match="expected a finite number, found nothing"):
        read(tmp_path / "n.parquet")
    written(tmp_path, "a,y\n1,2\n", "p1.csv")
    written(tmp_path, "b,y\n1,2\n", "p2.csv")
    with pytest.raises(FileError, match="expected the columns"):
        read(str(tmp_path / "p?.csv"))


def test_whole_numbers_that_no_double_is(tmp_path):
    large = 2**53 + 1
    for name, write in (("parquet", pa.parquet.write_table), ("arrow", pa.feather.write_feather)):
        path = tmp_path / f"t.{name}"
        write(pa.table({"a": [1, 2, large], "y": [0, 1, 0]}), str(path))
        with pytest.raises(FileError, match=f"expected a number that a double can hold, found {large}") as caught:
            read(path)
        assert (caught.value.line, caught.value.column) == (3, "a")
        write(pa.table({"a": [1, 2, 2**60], "y": [large, large - 1, -large]}), str(path))
        X, y = read(path)
        assert X[2, 0] == 2**60
        assert y.tolist() == [str(large), str(large - 1), str(-large)]
    X, y = read(written(tmp_path, f"a,y\n1,{large}\n2,{large - 1}\n", "t.csv"))
    assert y.tolist() == [str(large), str(large - 1)]
    assert read(written(tmp_path, "a,y\n1,1e20\n2,3\n", "t.csv"))[1].tolist() == [1e20, 3]


def test_new_tables_are_read_like_the_first(tmp_path):
    first = written(tmp_path, "size,colour,label\n1,red,x\n2,blue,y\n", "a.csv")
    how = prepared(first, reading(first))
    X, y = read(written(tmp_path, "colour,size\ngreen,5\nred,6\n", "b.csv"), like=how)
    np.testing.assert_array_equal(X.toarray(), [[5, 0, 0], [6, 0, 1]])
    assert y is None
    with pytest.raises(FileError, match="expected a column named 'colour'"):
        read(written(tmp_path, "size\n5\n", "c.csv"), like=how)
    with pytest.raises(FileError, match="expected a finite number, found 'big'") as caught:
        read(written(tmp_path, "size,colour\n1,red\nbig,red\n", "d.csv"), like=how)
    assert (caught.value.line, caught.value.column) == (3, "size")


def test_missing_extras_are_explained(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileError, match=re.escape("pip install 'rosenblatt[arrow]'")):
        read(written(tmp_path, "a,y\n1,2\n", "t.csv"))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(FileError, match=re.escape("pip install 'rosenblatt[arrow]'")):
        read(written(tmp_path, zstandard.compress(b"1 1:1\n"), "t.svm.zst"))


def slow_csv(data):
    """The cells of a table, by Python's csv."""
    return [line for line in csv.reader(io.StringIO(data.decode(), newline="")) if line]


def slow_features(cells):
    """One column of cells as features: its numbers, or a column for each of its names, which are in order."""
    plain = [cell.strip(" \t\r") for cell in cells]
    if all(cell.isascii() and NUMBER.fullmatch(cell.encode()) for cell in plain):
        return [[float(cell) for cell in plain]]
    return [[float(cell == name) for cell in cells] for name in sorted(set(cells))]


@pytest.mark.parametrize("cell", [b"%d.5", b"n%d"])
def test_mutated_csv_says_what_it_says_or_is_refused(tmp_path, cell):
    row = b"%d," + cell + b",%s\n"
    whole = b"a,b,label\n" + b"".join(row % (k, k // 2, b"xy"[k % 2 : k % 2 + 1]) for k in range(12))
    rng, refused, right = random.Random(0), 0, 0
    for _ in range(FUZZ):
        data = mutated(whole, rng)
        path = written(tmp_path, data, "t.csv")
        try:
            X, y = read(path, label=2)
        except FileError:
            refused += 1
            continue
        columns = list(zip(*slow_csv(data)[1:], strict=True))
        expected = [feature for cells in columns[:2] for feature in slow_features(cells)]
        assert (X.toarray() if sp.issparse(X) else X).T.tolist() == expected, data
        labels = list(columns[2]) if y.dtype.kind == "U" else [float(cell) for cell in columns[2]]
        assert y.tolist() == labels, data
        right += 1
    assert refused
    assert right


# -- the rest --------------------------------------------------------------------------------------------------------


def test_stamps(tmp_path):
    path = written(tmp_path, "1 1:1\n")
    before = sources.stamps([str(path)])
    sources.unchanged([str(path)], before)
    with pytest.raises(FileError, match="no such file"):
        sources.stamps([str(tmp_path / "nothing")])
    assert next(iter(pieces(path, reading(path)))).rows == 1


def test_errors_can_be_sent_between_processes():
    import pickle

    error = pickle.loads(pickle.dumps(FileError("what", "file", 3, "column")))
    assert str(error) == "file, line 3, column 'column': what"
    assert isinstance(error, rosenblatt.FileError)


def test_a_glance_sees_what_a_parse_finds():
    def glanced(data):
        return svmlight.glance(np.frombuffer(data + bytes(8), np.uint8), len(data))

    for data in (b"1 1:1 7:2\n-1\n2.5 3:1 \n0 \n", b"1 0:1\n", b"3 12345678:1\n"):
        seen, lines = glanced(data), parse(data)
        np.testing.assert_array_equal(seen.labels, lines.labels)
        assert (seen.stored, seen.least, seen.most) == (lines.values.size, lines.least, lines.most)
    for data in (
        b"\n", b" 1:1\n", b"1,2 1:1\n", b"1 1:1 # c\n", b"1 qid:1 1:1\n", b"1\t1:1\n", b"x 1:1\n", b"1 x:1\n", b"1 1\n",
        b"1 99999999999:1\n", b"1 1:1 99999999999:1\n", b"1 1:1 x:1\n",
    ):  # fmt: skip
        assert glanced(data) is None
