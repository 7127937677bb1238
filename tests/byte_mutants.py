"""Files that are not text, spoilt byte by byte: what is read from one must be what it says, or it must be refused.

As a program, `python byte_mutants.py KIND COUNT FOLDER [FIRST]`, so that a crash is seen from outside; the file that
made it stays in the folder.
"""

import faulthandler
import random
import resource
import sys
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from rosenblatt import FileError, read

NASTY = [0, 1, -1, 127, 128, 255, 1 << 15, (1 << 31) - 1, 1 << 30, -(1 << 31), (1 << 63) - 1, -(1 << 63), 1 << 40]
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
    try:
        X, y = read(path, label=-1)
    except FileError:
        return True
    *columns, labels = slow_table(path, kind).values()
    X = X.toarray() if hasattr(X, "toarray") else X
    assert X.T.tolist() == [feature for cells in columns for feature in features(cells)]
    assert y.tolist() == labels or y.tolist() == [float(label) for label in labels]
    return False


# -- all kinds -------------------------------------------------------------------------------------------------------


def run(kind, count, folder, first=0):
    """How many of `count` mutants are refused."""
    refused = 0
    for k in range(first, first + count):
        rng = random.Random(f"{kind} {k}")
        path = Path(folder, f"mutant-{k}.{kind}")
        path.write_bytes(spoilt(rng.choice(whole(kind)), rng))
        refused += check_table(path, kind)
        path.unlink()
    return refused


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    print(run(sys.argv[1], int(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:])))
