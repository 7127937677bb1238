"""Batches of a table: CSV, TSV, Parquet and Arrow files as PyArrow reads them, within a bound on memory."""

from __future__ import annotations

import io
import os
import re
import time
import weakref
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rosenblatt.formats.arrow import plain_layout
from rosenblatt.formats.byte_sources import PACKED, STDIN, open_bytes
from rosenblatt.formats.errors import FileError

MAX_WAIT = 60.0  # seconds, for a read in progress to finish
NOT_DECODED = 'expected UTF-8, found other bytes: give encoding (--encoding), such as "latin-1"'


@dataclass(frozen=True)
class Batch:
    """Consecutive rows of a table; the first is record number `record`, counted from 1 including a header."""

    path: str
    record: int
    columns: dict[str, Any]
    rows: int
    written: bool  # whether the table is text, CSV or TSV

    def line(self, i: int) -> int:
        """The line number of row i, or its row number in a binary format."""
        return _line_of_record(self.path, self.record + i) if self.written else self.record + i


def _line_of_record(path: str, record: int) -> int:
    """The line where a record of CSV or TSV starts: blank lines are not records, and quoted values may span lines."""
    seen, line, quoted = 0, 0, False
    with open_bytes(path) as file:
        lines, begins = io.BufferedReader(file, 1 << 20), True
        while text := lines.readline(1 << 20):  # reads a long line in parts
            line += begins
            if begins and not quoted and text.strip(b"\r\n"):
                seen += 1
                if seen == record:
                    break
            begins = text.endswith(b"\n")
            quoted ^= bool(text.count(b'"') % 2)
    return line


def batches(path: str, how: Any, size: int) -> Iterator[Batch]:
    """Read a table as `how`, a reading, says, in batches of about `size` bytes; CSV and TSV columns are text."""
    import pyarrow as pa  # here and below, because only tables need it
    import pyarrow.csv
    import pyarrow.ipc
    import pyarrow.json
    import pyarrow.parquet

    written = how.format in ("csv", "tsv")
    record = 2 if how.header and written else 1
    with arrow_errors_as_file_errors(path), open_bytes(path) as file:
        for batch in SOURCES[how.format](pa, file, path, how, size):
            if not written:  # text was checked when it was split into columns
                batch.validate(full=True)
            names = batch.schema.names
            if not names:
                raise FileError("expected columns, found none", path)
            if len(set(names)) != len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise FileError(f"expected distinct column names, found two columns named {twice!r}", path, 1)
            columns = dict(zip(names, map(plain_layout, batch.columns), strict=True))
            yield Batch(path, record, columns, batch.num_rows, written)
            record += batch.num_rows


@contextmanager
def arrow_errors_as_file_errors(path: str) -> Iterator[None]:
    """Raise errors from PyArrow as FileErrors."""
    import pyarrow as pa

    try:
        yield
    except UnicodeDecodeError as error:
        raise FileError(NOT_DECODED, path) from error
    except pa.ArrowException as error:
        raise _as_file_error(str(error), path) from error


def _csv_batches(pa: Any, file: Any, path: str, how: Any, size: int) -> Iterator[Any]:
    read = pa.csv.ReadOptions(use_threads=False, block_size=max(1 << 16, size), encoding=how.encoding or "utf8")
    read.autogenerate_column_names = not how.header
    delimiter = "\t" if how.format == "tsv" else how.delimiter or _delimiter(path)
    parse = pa.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    names = _csv_column_names(pa, path, read, parse)
    text = pa.csv.ConvertOptions(column_types={name: pa.string() for name in names}, null_values=[])
    record = 2 if how.header else 1
    with _ArrowFeed(file) as feed:
        reader = None
        try:
            reader = pa.csv.open_csv(feed.handle(pa), read, parse, text)
            for batch in reader:
                if feed.failed is not None:
                    break
                record += batch.num_rows
                yield batch
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error):
                raise
            raise _record_too_long(read.block_size, path, _line_of_record(path, record)) from error
        finally:
            del reader  # a pending error would keep it alive
    if feed.quotes % 2:  # PyArrow treats the end of the file as the end of the quoted value
        raise FileError("expected matching quotation marks, found one that is never closed", path)


def _delimiter(path: str) -> str:
    """What separates the values of a CSV file: a comma, unless its first line has none but another separator."""
    with open_bytes(path) as file:
        first = next((line for line in file.read(1 << 16).splitlines() if line.strip()), b"")
    outside = re.sub(rb'"[^"]*"', b"", first)
    return next((one for one in (",", ";", "\t", "|") if one.encode() in outside), ",")


def _csv_column_names(pa: Any, path: str, read: Any, parse: Any) -> list[str]:
    """The column names of a CSV file: from its first lines, or from a whole block if those are long."""
    with open_bytes(path) as file:
        if b"\n" not in file.read(read.block_size) and file.read(1):
            raise _record_too_long(read.block_size, path, 1)
    for size in sorted({min(read.block_size, 1 << 16), read.block_size}):
        first = pa.csv.ReadOptions(use_threads=False, block_size=size, encoding=read.encoding)
        first.autogenerate_column_names = read.autogenerate_column_names
        try:
            with open_bytes(path) as file, _ArrowFeed(file) as feed:
                return list(pa.csv.open_csv(feed.handle(pa), first, parse).schema.names)
        except pa.ArrowInvalid as error:
            failed = error  # the names may be longer than the first lines that were read
    if "straddling" not in str(failed):
        raise failed
    raise _record_too_long(read.block_size, path, None) from failed


def _record_too_long(limit: int, path: str, line: int | None) -> FileError:
    what = f"a record of more than {limit:,} bytes is too long to read, or a quotation mark is not closed"
    return FileError(what, path, line)


class _ArrowFeed:
    """A file that PyArrow reads ahead in its own thread; counts the quotation marks in it.

    The thread must be done with Python before the file is closed, or it crashes, at the latest when Python exits.
    PyArrow does not wait for the thread, so leaving the block does: further reads return end-of-file, until the thread
    has released the handle. An error while reading also ends the file and is raised here, because inside PyArrow it
    would keep the file alive.
    """

    def __init__(self, file: Any) -> None:
        self.file, self.quotes, self.ended = file, 0, False
        self.failed: Exception | None = None
        self._held: weakref.ref[Any] | None = None

    def handle(self, pa: Any) -> Any:
        """The file object for PyArrow; nothing else may keep a reference to it."""
        given = _FeedHandle(self)
        self._held = weakref.ref(given)
        return pa.PythonFile(given, "r")

    def __enter__(self) -> _ArrowFeed:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended, waited = True, time.monotonic()
        while self._held is not None and self._held() is not None and time.monotonic() - waited < MAX_WAIT:
            time.sleep(0.001)
        if self.failed is not None:
            raise self.failed


class _FeedHandle(io.RawIOBase):
    """The file object of a feed that PyArrow holds."""

    def __init__(self, feed: _ArrowFeed) -> None:
        self._feed = feed

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._feed.ended:
            return b""
        try:
            data: bytes = self._feed.file.read(size)
        except Exception as error:
            # A traceback would keep this handle alive.
            self._feed.ended, self._feed.failed = True, error.with_traceback(None)
            return b""
        self._feed.quotes += data.count(b'"')
        return data


def _opens_natively(path: str) -> bool:
    """Whether PyArrow can open the file itself, without a Python file object."""
    return path != STDIN and not path.endswith(PACKED) and os.path.getsize(path) > 0


def _parquet_batches(pa: Any, file: Any, path: str, how: Any, size: int) -> Iterator[Any]:
    with pa.OSFile(path) if _opens_natively(path) else pa.PythonFile(file, "r") as whole:
        # Without buffer_size it reads a whole row group at once.
        table = pa.parquet.ParquetFile(whole, pre_buffer=False, buffer_size=1 << 16)
        about = table.metadata
        weight = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        per_row = max(1, weight // max(1, about.num_rows))
        yield from table.iter_batches(batch_size=max(1, min(1 << 16, size // per_row)), use_threads=False)


def _arrow_batches(pa: Any, file: Any, path: str, how: Any, size: int) -> Iterator[Any]:
    stream = file.read(6) != b"ARROW1"
    file.seek(0)

    def whole() -> Any:
        return pa.memory_map(path) if _opens_natively(path) else pa.PythonFile(file, "r")

    if stream:
        for batch in pa.ipc.open_stream(whole()):
            batch.validate()  # checks the sizes of the buffers; their contents are checked slice by slice
            for first, rows in _slices(batch, size):
                yield batch.slice(first, rows)
        return
    reader = pa.ipc.open_file(whole())
    for k in range(reader.num_record_batches):
        before = pa.total_allocated_bytes()
        batch = reader.get_batch(k)
        batch.validate()
        # A compressed batch is decompressed into memory of its own.
        mapped = _opens_natively(path) and pa.total_allocated_bytes() - before < batch.nbytes // 2
        for first, rows in _slices(batch, size):
            yield batch.slice(first, rows)
            if mapped:
                reader = pa.ipc.open_file(whole())  # mapped again, so that pages already read can leave memory
                batch = reader.get_batch(k)


def _json_batches(pa: Any, file: Any, path: str, how: Any, size: int) -> Iterator[Any]:
    """A JSON object per line, whose keys are columns; the types of columns are those of the first lines."""
    with _ArrowFeed(file) as feed:
        reader = None
        try:
            options = pa.json.ReadOptions(use_threads=False, block_size=max(1 << 20, size))
            yield from (reader := pa.json.open_json(feed.handle(pa), options))
        finally:
            del reader  # a pending error would keep it alive


def _array_batches(pa: Any, file: Any, path: str, how: Any, size: int) -> Iterator[Any]:
    """An array of rows, whose columns are named x0, x1, …; of an .npz file X, with the labels y."""
    try:
        found = np.load(file if path.endswith(PACKED) else path, mmap_mode=None, allow_pickle=False)
        X, y = (found, None) if how.format == "npy" else (found["X"], found.get("y"))
    except (ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        wanted = "an array of numbers or text" if how.format == "npy" else "arrays X and y"
        raise FileError(f"expected {wanted}, found: {' '.join(str(error).split())[:200]}", path) from error
    if X.ndim != 2 or (y is not None and y.shape != X.shape[:1]):
        shapes = f"{X.shape}{'' if y is None else f' and {y.shape}'}"
        raise FileError(f"expected rows and columns, and a label per row, found arrays of shape {shapes}", path)
    rows = max(1, size // max(1, 8 * X.shape[1]))
    for first in range(0, max(1, len(X)), rows):
        part = {f"x{k}": pa.array(np.ascontiguousarray(column)) for k, column in enumerate(X[first : first + rows].T)}
        part |= {} if y is None else {"label": pa.array(y[first : first + rows])}
        yield pa.RecordBatch.from_pydict(part)


# What yields the rows of a table, as record batches of about `size` bytes.
SOURCES = {
    "csv": _csv_batches,
    "tsv": _csv_batches,
    "parquet": _parquet_batches,
    "arrow": _arrow_batches,
    "jsonl": _json_batches,
    "npy": _array_batches,
    "npz": _array_batches,
}


def _slices(batch: Any, size: int) -> Iterator[tuple[int, int]]:
    """The first row and the number of rows of each slice of about `size` bytes; an empty batch is one slice.

    Each value counts as at least a double, which it becomes: nulls take no bytes in the file.
    """
    rows = max(1, size * batch.num_rows // max(1, batch.nbytes, 8 * batch.num_rows * batch.num_columns))
    return ((first, rows) for first in range(0, max(1, batch.num_rows), rows))


def _as_file_error(message: str, path: str) -> FileError:
    """A message of PyArrow as a FileError."""
    row = re.search(r"Row #(\d+)", message)
    found = re.search(r"Expected (\d+) columns, got (\d+)", message)
    line = _line_of_record(path, int(row.group(1))) if row else None
    if found:
        return FileError(f"expected {found.group(1)} columns, found {found.group(2)}", path, line)
    if "invalid UTF8" in message:
        return FileError(NOT_DECODED, path, line)
    return FileError(f"expected a valid table, found: {' '.join(message.split())[:200]}", path, line)
