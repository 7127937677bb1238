"""Bytes from files, many files, compressed files and pipes."""

import ast
import functools
import gzip
import io
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import zstandard
from sklearn.datasets import dump_svmlight_file

import rosenblatt
from rosenblatt import FileError, read, stream
from rosenblatt.formats import byte_sources as sources
from rosenblatt.formats.byte_sources import detect_format, expand_paths, line_chunks
from rosenblatt.formats.reading import make_reading
from written import ROWS, TABLE, written

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


LONG_LINES = [
    ("rows.svm.gz", b"1 1:1\n1 ", b"1:1 ", {}),
    ("rows.svm.zst", b"1 1:1\n1 ", b"1:1 ", {}),
    ("rows.txt.gz", b"a\tb\na\t", b"cd ", {"format": "text"}),
    ("rows.csv.gz", b"label,a\n1,", b"234 ", {}),
    ("rows.tsv.zst", b"label\ta\n1\t", b"234 ", {}),
    ("head.csv.gz", b"", b"abc,", {}),
]
# Tracing starts before there are other threads and never stops: Python crashes if they allocate meanwhile.
PEAKS = """
import os, sys, tracemalloc
tracemalloc.start()
from rosenblatt import FileError, stream
for path, settings in eval(sys.argv[1]):
    for repeat in range(2):  # whatever is compiled or imported takes memory of its own
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            list(stream(path, memory="32MB", **settings))
        except FileError as error:
            found = error.line, str(error)
    print((*found, tracemalloc.get_traced_memory()[1] - before), flush=True)
os._exit(0)
"""


@pytest.mark.compiled
def test_lines_longer_than_memory_allows_are_refused(tmp_path):
    files = []
    for name, begin, more, settings in LONG_LINES:
        pack = zstandard.compress if name.endswith(".zst") else functools.partial(gzip.compress, compresslevel=1)
        files.append((str(written(tmp_path, pack(begin + more * (1 << 23)), name)), settings))
    command = [sys.executable, "-c", PEAKS, repr(files)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for (name, *_), found in zip(LONG_LINES, lines, strict=True):
        line, message, peak = ast.literal_eval(found)
        assert line in (1, 2, None), name
        assert re.search(r"longer than memory allows|a record of more than", message), name
        assert peak < 32_000_000, name


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
    last_end, longer = sources.last_line_end, sources.enlarged
    monkeypatch.setattr(sources, "last_line_end", lambda *given: looked.append(given[1] - given[2]) or last_end(*given))
    monkeypatch.setattr(sources, "enlarged", lambda data, room: moved.append(data.size) or longer(data, room))
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
    monkeypatch.setattr("rosenblatt.formats.read_and_stream.block_bytes", lambda memory: 300)
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
from rosenblatt import read
from rosenblatt.records import Reading
from rosenblatt.formats import table_batches, table_layout

def slow(self, size=-1, read=table_batches._FeedHandle.read):
    time.sleep(0.05)
    return read(self, size)

table_batches._FeedHandle.read = slow
how = Reading("csv", layout=table_layout.Layout((table_layout.Column("a"),), None, ""))
try:
    read(sys.argv[1], like=how)
except ValueError as error:
    print(error)
    sys.exit(2)
"""
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, timeout=600)
        assert run.returncode == 2, run.stderr
        assert "line 3: expected 2 columns, found 1" in run.stdout
