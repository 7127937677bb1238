"""Tables: CSV, Parquet and Arrow, each the same rows; what is malformed is refused, and the place named."""

import datetime
import decimal
import gzip
import re
import weakref

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import zstandard

from rosenblatt import FileError, read
from rosenblatt.formats import table_batches
from rosenblatt.formats.contents import with_layout
from rosenblatt.formats.reading import make_reading
from written import ROWS, TABLE, written


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
        ("a,label\n" + "1,x\n" * 30 + "oops,y\n", {}, 32, "expected a number as in the other rows, found 'oops'"),
        ("a,label\n" + "1,x\n" * 30 + ",y\n", {}, 32, "expected a number as in the other rows, found ''"),
        ("a,label\n1,x\nnan,y\n", {}, 3, "expected a finite number, found 'nan'"),
        ("a,label\n1,x\n-inf,y\n", {}, 3, "expected a finite number, found '-inf'"),
        ("a,label\n1,x\n1e999,y\n", {}, 3, "expected a finite number, found '1e999'"),
        ("a,label\n1,x\n2,\n", {}, 3, "expected a label, found nothing"),
        ("a,label\n\n1,x\n\r\n2\n", {}, 5, "expected 2 columns, found 1"),
        ("a,label\n\n1,x\n\n\nnan,y\n", {}, 6, "expected a finite number, found 'nan'"),
        ('a,label\n1,"x\n""z"\n\nnan,y\n', {}, 5, "expected a finite number, found 'nan'"),
        ('a,label\n1,"x\nz"\n2,\n', {}, 4, "expected a label, found nothing"),
        ("a,label\n" + "\n1,x\n" * 30 + "oops,y\n", {}, 62, "expected a number as in the other rows, found 'oops'"),
        ("a,b\n1,2\n", {}, None, "cannot tell which column is the label"),
        ("a,label,y\n1,2,3\n", {}, None, "cannot tell which column is the label"),
        ("a,b\n1,2\n", {"label": "c"}, None, "expected a column named 'c'"),
        ("a,b\n1,2\n", {"label": 7}, None, "expected the label in column 7"),
        ("a,a,label\n1,2,3\n", {}, 1, "two columns named 'a'"),
        ("a,label\n", {}, None, "expected rows, found none"),
        ("", {}, None, "expected a valid table"),
        ('a,label\n1,"x\n2,y\n', {}, None, "expected matching quotation marks"),
    ],
)
def test_table_errors_name_the_place(tmp_path, content, settings, line, what):
    path = written(tmp_path, content, "t.csv")
    with pytest.raises(FileError, match=re.escape(what)) as caught:
        read(path, **settings)
    assert caught.value.line == line


def test_other_table_errors(tmp_path):
    with pytest.raises(FileError, match="expected a valid table"):
        read(written(tmp_path, "not parquet at all", "t.parquet"))
    with pytest.raises(FileError, match="expected a valid table"):
        read(written(tmp_path, "not arrow at all", "t.arrow"))
    pa.parquet.write_table(pa.table({"a": [[1], [2]], "y": [1, 2]}), tmp_path / "l.parquet")
    with pytest.raises(FileError, match="expected numbers or text"):
        read(tmp_path / "l.parquet")
    pa.parquet.write_table(pa.table({"a": [1.0, None], "y": [1, 2]}), tmp_path / "n.parquet")
    with pytest.raises(FileError, match="expected a finite number, found nothing"):
        read(tmp_path / "n.parquet")
    written(tmp_path, "a,y\n1,2\n", "p1.csv")
    written(tmp_path, "b,y\n1,2\n", "p2.csv")
    with pytest.raises(FileError, match="expected the columns"):
        read(str(tmp_path / "p?.csv"))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_every_type_is_read_or_refused(tmp_path, kind):
    write = pa.parquet.write_table if kind == "parquet" else pa.feather.write_feather
    path = str(tmp_path / f"t.{kind}")
    words, digits = ["b", "a", "b"], ["1.5", "-2", "3"]
    for text in (pa.string(), pa.large_string(), pa.string_view()):
        write(pa.table({"a": pa.array(words, text), "b": pa.array(digits, text), "y": pa.array(words, text)}), path)
        X, y = read(path)
        np.testing.assert_array_equal(X.toarray(), [[0, 1, 1.5], [1, 0, -2], [0, 1, 3]])
        assert y.tolist() == words
    large = decimal.Decimal(2**60 + 1)
    cents = [decimal.Decimal("0.10"), decimal.Decimal("5.07"), decimal.Decimal("8901234567890123456789012345.67")]
    write(pa.table({"a": pa.array(cents), "y": [large, large - 1, large]}), path)
    X, y = read(path)
    assert X.tolist() == [[float(cent)] for cent in cents]  # each rounded once
    assert y.tolist() == [str(large), str(large - 1), str(large)]
    other = [pa.array([b"a"] * 3), pa.array([b"a"] * 3, pa.binary_view()), pa.array([datetime.date(2000, 1, 1)] * 3)]
    for column in (*other, pa.array([{"a": 1}] * 3), other[2].dictionary_encode()):
        (pa.parquet.write_table if kind == "parquet" else write_stream)(pa.table({"a": column, "y": words}), path)
        with pytest.raises(FileError, match="expected numbers or text, found values of type") as caught:
            read(path)
        assert caught.value.column == "a"


def write_stream(table, path):
    with pa.ipc.new_stream(path, table.schema) as file:
        file.write_table(table)


def test_codes_of_views(tmp_path):
    names = pa.array(["a", "b"], pa.string_view())
    table = pa.table({"a": pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), names), "y": [1, 2, 3]})
    write_stream(table, str(tmp_path / "t.arrow"))
    np.testing.assert_array_equal(read(tmp_path / "t.arrow")[0].toarray(), [[0, 1], [1, 0], [0, 1]])


def test_tables_without_columns_and_with_endless_nulls(tmp_path):
    path = str(tmp_path / "t.arrow")
    nothing = pa.Array.from_buffers(pa.null(), 1 << 62, [None])
    for table, what in [
        (pa.record_batch([], names=[]), "expected columns, found none"),
        (pa.record_batch({"y": [1, 2]}), "expected a feature column besides the label 'y', found none"),
        (pa.record_batch({"a": nothing, "y": nothing}), "expected a finite number, found nothing"),
    ]:
        with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(allow_64bit=True)) as file:
            file.write_batch(table)
        with pytest.raises(FileError, match=what):
            read(path)


def test_names_that_end_with_nul(tmp_path):
    for row, column in [("1,n\0", "label"), ("n\0,x", "a")]:
        with pytest.raises(FileError, match="does not end with NUL") as caught:
            read(written(tmp_path, f"a,label\n3,y\n{row}\n", "t.csv"))
        assert (caught.value.line, caught.value.column) == (3, column)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_table_that_is_cut_short_lets_go_of_its_file(tmp_path, monkeypatch, pack):
    handles, make = [], pa.PythonFile

    def given(handle, mode):
        handles.append(weakref.ref(handle))
        return make(handle, mode)

    monkeypatch.setattr(pa, "PythonFile", given)
    monkeypatch.setattr(table_batches, "MAX_WAIT", 1.0)
    data = pack(b"a,label\n" + b"".join(b"%d.5,%d\n" % (k * k, k % 2) for k in range(9000)))
    path = written(tmp_path, data, "t.csv.gz" if pack is gzip.compress else "t.csv.zst")
    read(path)
    for kept in (20, len(data) // 2, len(data) - 3):
        path.write_bytes(data[:kept])
        with pytest.raises(FileError, match="found a damaged one"):
            read(path)
        assert handles
        assert not any(handle() for handle in handles)


def test_whole_numbers_that_no_double_is(tmp_path):
    large = 2**53 + 1
    for name, write in (("parquet", pa.parquet.write_table), ("arrow", pa.feather.write_feather)):
        path = tmp_path / f"t.{name}"
        write(pa.table({"a": [1, 2, large], "y": [0, 1, 0]}), str(path))
        with pytest.raises(FileError, match=f"expected a number that a double can represent, found {large}") as caught:
            read(path)
        assert (caught.value.line, caught.value.column) == (3, "a")
        write(pa.table({"a": [1, 2, 2**60], "y": [large, large - 1, -large]}), str(path))
        X, y = read(path)
        assert X[2, 0] == 2**60
        assert y.tolist() == [str(large), str(large - 1), str(-large)]
    X, y = read(written(tmp_path, f"a,y\n1,{large}\n2,{large - 1}\n", "t.csv"))
    assert y.tolist() == [str(large), str(large - 1)]
    X, y = read(written(tmp_path, f"a,y\n1,{large}.0\n2,{large - 1}.\n", "t.csv"))
    assert y.tolist() == [f"{large}.0", f"{large - 1}."]
    assert read(written(tmp_path, "a,y\n1,1e20\n2,3\n", "t.csv"))[1].tolist() == [1e20, 3]


def test_new_tables_are_read_like_the_first(tmp_path):
    first = written(tmp_path, "size,colour,label\n1,red,x\n2,blue,y\n", "a.csv")
    how = with_layout(first, make_reading(first))
    X, y = read(written(tmp_path, "colour,size\ngreen,5\nred,6\n", "b.csv"), like=how)
    np.testing.assert_array_equal(X.toarray(), [[5, 0, 0], [6, 0, 1]])
    assert y is None
    with pytest.raises(FileError, match="expected a column named 'colour'"):
        read(written(tmp_path, "size\n5\n", "c.csv"), like=how)
    with pytest.raises(FileError, match="expected a finite number, found 'big'") as caught:
        read(written(tmp_path, "size,colour\n1,red\nbig,red\n", "d.csv"), like=how)
    assert (caught.value.line, caught.value.column) == (3, "size")


@pytest.mark.parametrize("separator", [";", "\t", "|", ","])
def test_the_separator_of_a_csv_file_is_told_by_its_first_line(separator, tmp_path):
    rows = [["a", "the, name; of\t| it", "label"], ["1", "x", "yes"], ["2.5", "y; z, w", "no"]]
    text = "\n".join(separator.join(f'"{one}"' if len(one) > 3 else one for one in row) for row in rows) + "\n"
    (tmp_path / "t.csv").write_text("\n" + text)
    X, y = read(tmp_path / "t.csv")
    assert X.toarray().tolist() == [[1.0, 1.0, 0.0], [2.5, 0.0, 1.0]]
    assert y.tolist() == ["yes", "no"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_first_line_longer_than_is_read_at_first(end, tmp_path):
    columns = 11_500
    names = [f"c{k:05}" for k in range(columns - 1)]
    assert len(",".join(names)) > 1 << 16
    rows = [",".join(str((i * k) % 7) for k in range(columns - 1)) for i in range(3)]
    text = end.join([",".join([*names, "label"]), *(f"{row},{'ab'[i % 2]}" for i, row in enumerate(rows))]) + end
    X, y = read(written(tmp_path, text, "wide.csv"))
    assert X.tolist() == [[(i * k) % 7 for k in range(columns - 1)] for i in range(3)]
    assert y.tolist() == ["a", "b", "a"]
