"""Files that are not text, spoilt byte by byte: what is read from one must be what it says, or it must be refused.

As a program, `python byte_mutants.py COUNT FOLDER KIND …`, so that a crash is seen from outside; the file that made it
stays in the folder.
"""

import faulthandler
import gzip
import hashlib
import json
import math
import os
import random
import re
import resource
import sys
import zlib
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import zstandard

from rosenblatt import FileError, read
from rosenblatt.compiled.row_arrays import Sparse
from rosenblatt.formats.reading import Reading, make_reading
from rosenblatt.scale import row_cache as scale_cache
from rosenblatt.scale.file_source import CachedRows, example_encoder
from rosenblatt.shell.fitting import RowsWanted
from rosenblatt.tables.columns.files import read_table
from rosenblatt.tables.columns.values import as_numbers

NASTY = [0, 1, -1, 127, 128, 255, 1 << 15, (1 << 31) - 1, 1 << 30, -(1 << 31), (1 << 63) - 1, -(1 << 63), 1 << 40]
WANTED = RowsWanted("Perceptron", True, True, None, in_turn=True, once=False, radius=False)
MEMORY = 16 << 30  # no mutant may ask for more, whatever the size that it states


def spoilt(data, rng):
    """The data with a few bytes changed, cut out, repeated or cut off, or with integers of extreme values."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        at, kind = rng.randrange(len(data) + 1), rng.randrange(8)
        if kind < 2 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at : at + 1] = bytes([rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])])
        elif kind < 5:
            width = rng.choice([4, 8])
            at -= at % width if rng.random() < 0.8 else 0
            number = rng.choice(NASTY) & ((1 << 8 * width) - 1)
            data[at : at + width] = number.to_bytes(width, "little")[: len(data) - at]
        elif kind == 5:
            del data[at : at + rng.choice([1, 4, 8, 100])]
        elif kind == 6:
            data[at:at] = data[at : at + rng.choice([1, 4, 8, 100])]
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


# -- tables ----------------------------------------------------------------------------------------------------------


def table(text=None):
    """A table with columns of many types, the last the label."""
    names = ["a", "bb", "", "ccc", "é", "a"] * 4
    return pa.table(
        {
            "real": [k / 4 for k in range(24)],
            "whole": pa.array(range(24), pa.int32()),
            "flag": [k % 3 == 0 for k in range(24)],
            "name": pa.array([None if k == 5 else name for k, name in enumerate(names)], text or pa.string()),
            "coded": pa.array(names, text).dictionary_encode(),
            "label": pa.array(["p", "q"] * 12),
        }
    )


def ipc(table, kind, compression=None):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with getattr(pa.ipc, f"new_{kind}")(sink, table.schema, options=options) as file:
        file.write_table(table, max_chunksize=10)
    return sink.getvalue().to_pybytes()


def parquet(table, **settings):
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink, row_group_size=10, **settings)
    return sink.getvalue().to_pybytes()


@cache
def whole(kind):
    """Files as they should be."""
    if kind == "arrow":
        views = table().set_column(3, "name", table()["name"].cast(pa.string_view()))
        wide = table(pa.large_string())
        return [
            *(ipc(one, form) for one in (table(), views, wide) for form in ("file", "stream")),
            *(ipc(table(), "file", packed) for packed in ("lz4", "zstd")),
        ]
    if kind == "gz":
        return [gzip.compress(LINES, 1), gzip.compress(LINES[:3000]) + gzip.compress(LINES[3000:])]
    if kind == "zst":
        checked = zstandard.ZstdCompressor(write_checksum=True).compress(LINES)
        return [zstandard.compress(LINES), checked, zstandard.compress(LINES[:3000]) + checked]
    return [
        parquet(table(), compression="none"),
        parquet(table(), compression="none", use_dictionary=False),
        parquet(table(), compression="zstd", data_page_version="2.0"),
        parquet(table(), compression="snappy", write_page_checksum=True),
    ]


def slow_table(path, kind):
    """The columns of a table that is known to be good, as lists, by PyArrow."""
    if kind == "parquet":
        found = pa.parquet.ParquetFile(path).read()
    elif path.read_bytes()[:6] == b"ARROW1":
        found = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    else:
        found = pa.ipc.open_stream(pa.memory_map(str(path))).read_all()
    found.validate(full=True)
    return {name: column.to_pylist() for name, column in zip(found.column_names, found.columns, strict=True)}


def features(cells):
    """One column as features: its numbers, or a column for each of its names, which are in order."""
    if not any(isinstance(cell, str) for cell in cells):
        return [[float(cell) for cell in cells]]
    try:
        return [[float(cell) for cell in cells]]
    except (TypeError, ValueError):
        names = ["" if cell is None else cell for cell in cells]
        return [[float(cell == name) for cell in names] for name in sorted(set(names))]


def check_table(path, kind):
    """Whether a table is refused; an AssertionError where what is read is not what it says."""
    check_typed(path, kind)
    try:
        X, y = read(path, label=-1)
    except FileError:
        return True
    *columns, labels = slow_table(path, kind).values()
    X = X.toarray() if hasattr(X, "toarray") else X
    assert X.T.tolist() == [feature for cells in columns for feature in features(cells)]
    assert y.tolist() == labels or y.tolist() == [float(label) for label in labels]
    return False


def check_typed(path, kind):
    """The same for the columns as models of tables read them, of any type and with missing values."""
    try:
        found = read_table(path, Reading(kind))
        values = {name: found.values(name) for name in found.columns}
    except FileError:
        return
    for name, cells in slow_table(path, kind).items():
        assert len(values[name]) == len(cells)
        if all(isinstance(cell, int | float) for cell in cells):
            numbers = [float(cell) if math.isfinite(cell) else math.nan for cell in cells]
            np.testing.assert_array_equal(as_numbers(values[name]), numbers)


# -- compressed text -------------------------------------------------------------------------------------------------

LINES = b"".join(b"%d 1:%d 3:0.5 7:-%d\n" % (k % 3, k, k * k) for k in range(300))


def unpacked(data, kind):
    """What is within, all of it; None where it is damaged."""
    try:
        if kind == "gz":
            return gzip.decompress(data)
        found = []
        while data:
            frame = zstandard.ZstdDecompressor().decompressobj()
            found.append(frame.decompress(data))
            if not frame.eof:
                return None
            data = frame.unused_data
        return b"".join(found)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError):
        return None


def rows(path):
    """What is read, to be compared; None where it is refused."""
    try:
        X, y = read(path, zero_based=False)
    except FileError:
        return None
    return X.toarray().tolist(), y.tolist()


def check_packed(path, kind):
    """Whether a compressed file is refused; an AssertionError where it is read as something else than is within."""
    found, content = rows(path), unpacked(path.read_bytes(), kind)
    plain = path.with_name("plain.svm")
    plain.write_bytes(b"" if content is None else content)
    assert found == (None if content is None else rows(plain))
    return found is None


# -- caches ----------------------------------------------------------------------------------------------------------

SOURCES = {
    "sparse.svm": "".join(f"{k % 2} {k % 5 + 1}:{k / 3} 7:1\n" for k in range(40)),
    "several.svm": "".join(f"{k % 3},{k % 2 + 3} {k % 5 + 1}:{k} 7:1\n" for k in range(40)),
    "names.csv": "size,kind,label\n" + "".join(f"{k},k{k % 3},{'xyz'[k % 3]}\n" for k in range(40)),
    "dense.csv": "a,b,label\n" + "".join(f"{k},{k * k}.5,{k % 2}\n" for k in range(40)),
}


def examples(found):
    """What is learned from, piece by piece, as a learner gets it."""
    encoder, held = example_encoder(WANTED, found.contents), []
    for task in CachedRows(found).tasks(encoder, None, 0):
        piece = task()
        n, d, classes = piece.target.shape[0], piece.n_features, piece.classes.size
        if isinstance(piece.rows, Sparse):
            values, columns, starts = piece.rows
            assert starts.size == n + 1
            assert starts[0] == 0
            assert starts[-1] == values.size == columns.size
            assert (starts[1:] >= starts[:-1]).all()
            assert columns.size == 0 or columns.max() < d
        else:
            assert piece.rows.values.shape == (n, d)
        several = piece.target.ndim == 2
        assert piece.target.shape[1:] == ((classes,) if several else ())
        assert several or (piece.target.min() >= 0 and piece.target.max() < classes)
        held.append([array.tobytes() for array in (*piece.rows, piece.target)])
    return held


@cache
def caches(folder):
    """The bytes of a cache of each source, where it stands, and what is learned from it."""
    made = []
    with patch.object(scale_cache, "RACY", 0):
        for name, content in SOURCES.items():
            path = Path(folder, name)
            path.write_text(content)
            os.utime(path, (10**9, 10**9))
            kept = scale_cache.cached(path, make_reading(path), 500)
            made.append((path, kept.path, kept.path.read_bytes(), examples(kept)))
    return made


def forged(data, rng):
    """A cache with other blocks, another index or another footer, and hashes that are right again."""
    length = int.from_bytes(data[-48:-40], "little")
    text = data[-48 - length : -48]
    begin = json.loads(text)["table"]
    body, index = bytearray(data[:begin]), np.frombuffer(data[begin : -48 - length], np.int64).reshape(-1, 6).copy()
    kind = rng.randrange(3)
    if kind == 0:
        place = rng.randrange(8, len(body) - 4) & ~3
        body[place : place + 4] = (rng.choice(NASTY) & 0xFFFFFFFF).to_bytes(4, "little")
    elif kind == 1:
        index[rng.randrange(len(index)), rng.randrange(5)] = rng.choice([*NASTY, len(data), 5, 41])
    else:
        number = rng.choice(list(re.finditer(rb"(?<=[:,\[ ])-?\d+(\.\d+)?|true|false|null|\"[^\"]*\"", text)))
        other = rng.choice([b"0", b"-1", b"3", b"99", b"true", b"null", b'"x"', b"[]", b"1e999", b"{}", b"4294967296"])
        text = text[: number.start()] + other + text[number.end() :]
    if kind == 0:
        for k, end in enumerate([*index[1:, 0].tolist(), begin]):
            index[k, 5] = zlib.crc32(bytes(body[index[k, 0] : end]))
    tail = len(text).to_bytes(8, "little") + hashlib.sha256(index.tobytes() + text).digest() + data[-8:]
    return bytes(body) + index.tobytes() + text + tail


def check_cache(path, kind, rng):
    """Whether a cache is refused; an AssertionError where what is learned from lies outside its arrays."""
    source, place, data, whole = rng.choice(caches(path.parent))
    place.write_bytes(forged(data, rng) if kind == "forged" else spoilt(data, rng))
    try:
        found = scale_cache.fresh(source, make_reading(source))
        held = None if found is None else examples(found)
    except ValueError as error:
        if not isinstance(error, FileError) and "class" not in str(error):  # too few classes, or too many, is no damage
            raise
        held = None
    assert kind == "forged" or held in (None, whole)
    return held is None


# -- all kinds -------------------------------------------------------------------------------------------------------


def run(kind, count, folder):
    """How many of `count` mutants are refused."""
    refused = 0
    for k in range(count):
        rng = random.Random(f"{kind} {k}")
        path = Path(folder, f"mutant-{k}.{kind if kind in ('arrow', 'parquet') else f'svm.{kind}'}")
        if kind in ("arrow", "parquet"):
            path.write_bytes(spoilt(rng.choice(whole(kind)), rng))
            refused += check_table(path, kind)
        elif kind in ("gz", "zst"):
            path.write_bytes(spoilt(rng.choice(whole(kind)), rng))
            refused += check_packed(path, kind)
        else:
            refused += check_cache(path, kind, rng)
        path.unlink(missing_ok=True)
    return refused


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for each in sys.argv[3:]:
        print(each, run(each, int(sys.argv[1]), sys.argv[2]), flush=True)
