"""Tables: CSV, TSV, Parquet and Arrow, read by PyArrow, a column a feature or, for names, several.

A column whose every value is a number is one feature. Any other column holds names: one feature a name ("onehot"), or
all such columns together share `hashed` features, at the hash of column=name ("hash"). What a column is, and which
names it has, is decided by all rows, never by the first few. A column with nearly only numbers is no column of names:
what is no number there is an error.
"""

from __future__ import annotations

import io
import os
import re
import time
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.errors import FileError
from rosenblatt.data.formats.byte_sources import STDIN, opened
from rosenblatt.data.formats.text import murmur

Array = np.ndarray[Any, Any]
LABEL_NAMES = ("label", "target", "class", "y")
LONGEST_WAIT = 60.0  # seconds, for a read that is under way
NEARLY = 0.9  # the share of numbers from which on the rest are errors


@dataclass(frozen=True)
class Column:
    """A column of features: numbers (`names` is None) or names."""

    name: str
    names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Layout:
    """How the columns of a table become features, in this order, the hashed ones last."""

    columns: tuple[Column, ...]
    label: str | None
    label_kind: str  # "int", "float", "name", or "" without a label
    hashed: int = 0

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return sum(1 if c.names is None else len(c.names) for c in self.columns) + self.hashed

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature: that of its column, with the name it stands for, or its place among the hashed."""
        plain = [name for c in self.columns for name in _features(c)]
        return (*plain, *(f"hash {k}" for k in range(self.hashed)))


def _features(column: Column) -> list[str]:
    return [column.name] if column.names is None else [f"{column.name}={name}" for name in column.names]


def arrow(path: str) -> Any:
    """PyArrow, or a sentence that says how to get it."""
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.csv
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise FileError("reading tables needs PyArrow: pip install 'rosenblatt[arrow]'", path) from error
    return pyarrow


@dataclass(frozen=True)
class Batch:
    """Some rows of a table; the first is record `record`, counted from 1, a header among them."""

    path: str
    record: int
    columns: dict[str, Any]
    rows: int
    written: bool  # whether records are lines of text

    def line(self, i: int) -> int:
        """The line of row i; of a format without lines, its number."""
        return _line(self.path, self.record + i) if self.written else self.record + i


def _line(path: str, record: int) -> int:
    """The line on which a record of CSV or TSV begins: blank lines are none, and quotations may go on over several."""
    seen, line, quoted = 0, 0, False
    with opened(path) as file:
        lines, begins = io.BufferedReader(file, 1 << 20), True
        while text := lines.readline(1 << 20):  # of a longer line, a part of it
            line += begins
            if begins and not quoted and text.strip(b"\r\n"):
                seen += 1
                if seen == record:
                    break
            begins = text.endswith(b"\n")
            quoted ^= bool(text.count(b'"') % 2)
    return line


def batches(path: str, kind: str, size: int, header: bool) -> Iterator[Batch]:
    """The table in batches of about `size` bytes; the columns of CSV and TSV as text."""
    pa = arrow(path)
    written = kind in ("csv", "tsv")
    record = 2 if header and written else 1
    with refusing(path), opened(path) as file:
        source = {"csv": _csv, "tsv": _csv, "parquet": _parquet, "arrow": _arrow}[kind]
        for batch in source(pa, file, path, kind, size, header):
            if not written:  # text was checked when it was split into columns
                batch.validate(full=True)
            names = batch.schema.names
            if not names:
                raise FileError("expected columns, found none", path)
            if len(set(names)) != len(names):
                twice = next(name for name in names if names.count(name) > 1)
                raise FileError(f"expected names that differ, found two columns named {twice!r}", path, 1)
            yield Batch(path, record, dict(zip(names, batch.columns, strict=True)), batch.num_rows, written)
            record += batch.num_rows


@contextmanager
def refusing(path: str) -> Iterator[None]:
    """What PyArrow refuses to do with a table is a FileError."""
    pa = arrow(path)
    try:
        yield
    except UnicodeDecodeError as error:
        raise FileError("expected UTF-8, found other bytes", path) from error
    except pa.ArrowException as error:
        raise _translated(str(error), path) from error


def _csv(pa: Any, file: Any, path: str, kind: str, size: int, header: bool) -> Iterator[Any]:
    read = pa.csv.ReadOptions(use_threads=False, block_size=max(1 << 16, size), autogenerate_column_names=not header)
    parse = pa.csv.ParseOptions(delimiter="\t" if kind == "tsv" else ",", newlines_in_values=True)
    names = _names(pa, path, read, parse)
    text = pa.csv.ConvertOptions(column_types={name: pa.string() for name in names}, null_values=[])
    record = 2 if header else 1
    with _Feed(file) as feed:
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
            raise _long(read.block_size, path, _line(path, record)) from error
        finally:
            del reader  # which an error on its way would keep
    if feed.quotes % 2:  # PyArrow takes the end of the file for the end of the quotation
        raise FileError("expected quotation marks in pairs, found one that is never closed", path)


def _names(pa: Any, path: str, read: Any, parse: Any) -> list[str]:
    """The names of the columns of a CSV file."""
    with opened(path) as file:
        if b"\n" not in file.read(read.block_size) and file.read(1):
            raise _long(read.block_size, path, 1)
    try:
        with opened(path) as file, _Feed(file) as feed:
            return list(pa.csv.open_csv(feed.handle(pa), read, parse).schema.names)
    except pa.ArrowInvalid as error:
        if "straddling" not in str(error):
            raise
        raise _long(read.block_size, path, None) from error


def _long(limit: int, path: str, line: int | None) -> FileError:
    what = (
        f"a record of more than {limit:,} bytes is longer than is read at once, unless a quotation mark is not closed"
    )
    return FileError(what, path, line)


class _Feed:
    """A file as PyArrow reads it, ahead and in a thread of its own; counts the quotation marks in it.

    The thread must be done with Python before the file is closed, or it crashes at the latest when Python ends. PyArrow
    does not wait for it, so leaving the block does: the file ends at once, until nobody there holds it any more. An
    error in reading the file ends it, too, and is raised here: within PyArrow it would hold on to the file.
    """

    def __init__(self, file: Any) -> None:
        self.file, self.quotes, self.ended = file, 0, False
        self.failed: Exception | None = None
        self._held: weakref.ref[Any] | None = None

    def handle(self, pa: Any) -> Any:
        """What PyArrow reads from; nobody else may keep it."""
        given = _Handle(self)
        self._held = weakref.ref(given)
        return pa.PythonFile(given, "r")

    def __enter__(self) -> _Feed:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended, waited = True, time.monotonic()
        while self._held is not None and self._held() is not None and time.monotonic() - waited < LONGEST_WAIT:
            time.sleep(0.001)
        if self.failed is not None:
            raise self.failed


class _Handle(io.RawIOBase):
    """What PyArrow holds of a feed."""

    def __init__(self, feed: _Feed) -> None:
        self._feed = feed

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._feed.ended:
            return b""
        try:
            data: bytes = self._feed.file.read(size)
        except Exception as error:
            self._feed.ended, self._feed.failed = True, error.with_traceback(None)  # which would hold on to this handle
            return b""
        self._feed.quotes += data.count(b'"')
        return data


def _native(path: str) -> bool:
    """Whether PyArrow can read the file by itself, without Python in between."""
    return path != STDIN and not path.endswith((".gz", ".zst")) and os.path.getsize(path) > 0


def _parquet(pa: Any, file: Any, path: str, kind: str, size: int, header: bool) -> Iterator[Any]:
    with pa.OSFile(path) if _native(path) else pa.PythonFile(file, "r") as whole:
        table = pa.parquet.ParquetFile(whole, pre_buffer=False, buffer_size=1 << 16)  # else a row group at once
        about = table.metadata
        weight = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        per_row = max(1, weight // max(1, about.num_rows))
        yield from table.iter_batches(batch_size=max(1, min(1 << 16, size // per_row)), use_threads=False)


def _arrow(pa: Any, file: Any, path: str, kind: str, size: int, header: bool) -> Iterator[Any]:
    stream = file.read(6) != b"ARROW1"
    file.seek(0)

    def whole() -> Any:
        return pa.memory_map(path) if _native(path) else pa.PythonFile(file, "r")

    if stream:
        for batch in pa.ipc.open_stream(whole()):
            batch.validate()  # buffers are as long as they must be; what is in them is looked at slice by slice
            for first, rows in _slices(batch, size):
                yield batch.slice(first, rows)
        return
    reader = pa.ipc.open_file(whole())
    for k in range(reader.num_record_batches):
        before = pa.total_allocated_bytes()
        batch = reader.get_batch(k)
        batch.validate()
        mapped = _native(path) and pa.total_allocated_bytes() - before < batch.nbytes // 2  # a packed one is unpacked
        for first, rows in _slices(batch, size):
            yield batch.slice(first, rows)
            if mapped:
                reader = pa.ipc.open_file(whole())  # mapped anew, so that what was read can leave memory
                batch = reader.get_batch(k)


def _slices(batch: Any, size: int) -> Iterator[tuple[int, int]]:
    """Where slices of about `size` bytes begin in a batch, and their rows; an empty batch is one slice.

    A value counts as a double, which it becomes: nulls take no bytes in the file, however many there are.
    """
    rows = max(1, size * batch.num_rows // max(1, batch.nbytes, 8 * batch.num_rows * batch.num_columns))
    return ((first, rows) for first in range(0, max(1, batch.num_rows), rows))


def _translated(message: str, path: str) -> FileError:
    """What PyArrow says, as our error."""
    row = re.search(r"Row #(\d+)", message)
    found = re.search(r"Expected (\d+) columns, got (\d+)", message)
    line = _line(path, int(row.group(1))) if row else None
    if found:
        return FileError(f"expected {found.group(1)} columns, found {found.group(2)}", path, line)
    return FileError(f"expected a table, but {' '.join(message.split())[:200]}", path, line)


# -- values ----------------------------------------------------------------------------------------------------------


def _is_text(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(pa: Any, column: Any, batch: Batch, name: str) -> Any:
    """The column as text or numbers; other kinds are refused."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(pa, column.dictionary, batch, name).take(column.indices)
    if _is_text(pa, kind) or pa.types.is_floating(kind) or pa.types.is_integer(kind):
        return column
    if pa.types.is_boolean(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64())
    if pa.types.is_string_view(kind) or pa.types.is_decimal(kind):  # a decimal is rounded as its text is
        return column.cast(pa.large_string())
    raise FileError(f"expected numbers or names, found values of type {kind}", batch.path, None, name)


def _numbers(pa: Any, column: Any) -> tuple[Array, Array]:
    """The column as float64, and which of its values are numbers."""
    if not _is_text(pa, column.type):
        values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return values, np.ones(len(column), np.bool_) if not column.null_count else ~np.asarray(column.is_null())
    trimmed = pa.compute.utf8_trim(column, " \t\r")  # no other blank: control characters are no part of a number
    try:
        return trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False), np.ones(len(column), np.bool_)
    except pa.ArrowInvalid:
        values, good = np.zeros(len(column)), np.zeros(len(column), np.bool_)
        for i, word in enumerate(trimmed.to_pylist()):
            if word is not None and NUMBER.fullmatch(word):
                values[i], good[i] = float(word), True
        return values, good


WHOLE = re.compile(r"\s*[-+]?\d{1,400}\s*", re.ASCII)
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE | re.ASCII)


def _finite(values: Array, good: Array, column: Any, batch: Batch, name: str) -> Array:
    """The values, all of them finite numbers."""
    wrong = ~(good & np.isfinite(values))
    if wrong.any():
        i = int(np.argmax(wrong))
        word = column[i].as_py()
        found = "nothing" if word is None or word == "" else repr(word)
        raise FileError(f"expected a finite number, found {found}", batch.path, batch.line(i), name)
    return values


def _rounded(values: Array, column: Any) -> int | None:
    """The first row with a whole number that its double is not, or None."""
    for i in np.flatnonzero(np.isfinite(values) & (np.abs(values) >= 2**53)).tolist():
        given = column[i].as_py()
        if isinstance(given, str):
            given = int(given) if WHOLE.fullmatch(given) else None
        if isinstance(given, int) and given != int(values[i]):
            return i
    return None


def _exact(pa: Any, values: Array, column: Any, batch: Batch, name: str) -> None:
    """Refuse whole numbers that no double is; what is written as text is rounded, as numbers there are."""
    i = _rounded(values, column) if pa.types.is_integer(column.type) else None
    if i is not None:
        found = column[i].as_py()
        raise FileError(f"expected a number that a double can hold, found {found}", batch.path, batch.line(i), name)


def _nameable(pa: Any, column: Any, batch: Batch, name: str) -> Any:
    """The column; a name that ends with NUL is refused, since NumPy would drop its end."""
    if _is_text(pa, column.type):
        cut = np.asarray(pa.compute.ends_with(column, "\0").fill_null(False))
        if cut.any():
            i = int(np.argmax(cut))
            found = repr(column[i].as_py())
            raise FileError(
                f"expected a name that does not end with NUL, found {found}", batch.path, batch.line(i), name
            )
    return column


def _words(column: Any) -> list[str]:
    """The names in a column; a missing one is the empty name."""
    return ["" if word is None else str(word) for word in column.to_pylist()]


# -- the first scan --------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What a column holds, as far as it was looked at."""

    numbers: int = 0
    total: int = 0
    whole: bool = True
    first: tuple[Batch, int, str] | None = None  # where the first that is no number is, and its text
    rounded: bool = False  # whether there is a whole number that no double is

    def add(self, values: Array, good: Array, column: Any, batch: Batch) -> None:
        """Take note of a piece of the column."""
        self.numbers += int(good.sum())
        self.total += good.size
        self.whole = self.whole and bool(np.isfinite(values).all() and (values == np.floor(values)).all())
        if self.first is None and not good.all():
            i = int(np.argmin(good))
            self.first = replace(batch, columns={}), i, str(column[i].as_py())
        self.rounded = self.rounded or _rounded(values, column) is not None

    @property
    def label_kind(self) -> str:
        """What labels like these are; whole numbers that no double is are names, which nothing rounds."""
        if self.numbers < self.total or self.rounded:
            return "name"
        return "int" if self.whole else "float"

    def joined(self, other: Seen) -> Seen:
        """What both saw, `other` further down."""
        first = self.first or other.first
        rounded = self.rounded or other.rounded
        return Seen(self.numbers + other.numbers, self.total + other.total, self.whole and other.whole, first, rounded)


def survey(parts: Iterable[Batch]) -> dict[str, Seen]:
    """What each column of these batches holds."""
    seen: dict[str, Seen] = {}
    for batch in parts:
        pa = arrow(batch.path)
        seen = seen or {name: Seen() for name in batch.columns}
        _same_columns(batch.path, list(batch.columns), list(seen))
        with refusing(batch.path):
            for name, column in batch.columns.items():
                column = _plain(pa, column, batch, name)
                values, good = _numbers(pa, column)
                if not _is_text(pa, column.type):
                    _finite(values, good, column, batch, name)
                seen[name].add(values, good, column, batch)
    return seen


def together(surveys: Sequence[tuple[str, dict[str, Seen]]]) -> dict[str, Seen]:
    """The surveys of several tables as one; each comes with the path of its table."""
    found: dict[str, Seen] = {}
    for path, seen in surveys:
        if seen:
            found = found or {name: Seen() for name in seen}
            _same_columns(path, list(seen), list(found))
            found = {name: one.joined(seen[name]) for name, one in found.items()}
    if not found or not next(iter(found.values())).total:
        raise FileError("expected rows, found none", surveys[0][0])
    return found


def columns_of_names(seen: dict[str, Seen], label: str | None) -> list[str]:
    """The columns that hold names; one with nearly only numbers is refused."""
    found = [name for name, one in seen.items() if name != label and one.numbers < one.total]
    for name in found:
        one = seen[name]
        if one.numbers >= NEARLY * one.total and one.first is not None:
            batch, i, word = one.first
            raise FileError(f"expected a number as in other rows, found {word!r}", batch.path, batch.line(i), name)
    return found


def vocabulary(parts: Iterable[Batch], columns: Sequence[str]) -> dict[str, set[str]]:
    """The names in these columns."""
    found: dict[str, set[str]] = {name: set() for name in columns}
    for batch in parts:
        pa = arrow(batch.path)
        with refusing(batch.path):
            for name in columns:
                given = _nameable(pa, _plain(pa, batch.columns[name], batch, name), batch, name)
                found[name].update(_words(given.unique()))
    return found


def settled(seen: dict[str, Seen], label: str | None, names: dict[str, set[str]], hashed: int, path: str) -> Layout:
    """The layout of columns that hold this; `hashed` is 0 where every name has a feature of its own."""
    columns = tuple(
        Column(name, tuple(sorted(names[name])) if name in names else None) for name in seen if name != label
    )
    if not columns:
        raise FileError(f"expected a column beside {label!r}, the label, found none", path)
    about = seen[label] if label is not None else None
    return Layout(columns, label, "" if about is None else about.label_kind, hashed if names else 0)


def scan(
    paths: Sequence[str],
    kind: str,
    size: int,
    *,
    header: bool,
    label: str | int | None,
    labelled: bool,
    categorical: str,
    hashed: int,
) -> Layout:
    """How the columns of these tables become features."""
    arrow(paths[0])
    seen = together([(path, survey(batches(path, kind, size, header))) for path in paths])
    target = label_of(label, list(seen), paths[0]) if labelled else None
    columns = columns_of_names(seen, target)
    names: dict[str, set[str]] = {name: set() for name in columns}
    if columns and categorical == "onehot":
        for path in paths:
            for name, words in vocabulary(batches(path, kind, size, header), columns).items():
                names[name] |= words
    return settled(seen, target, names, hashed if categorical == "hash" else 0, paths[0])


def names(path: str, kind: str, size: int, header: bool) -> tuple[str, ...]:
    """The names of the columns of a table; none where it has no rows."""
    return next((tuple(batch.columns) for batch in batches(path, kind, size, header)), ())


def _same_columns(path: str, found: list[str], names: list[str]) -> None:
    if found != names:
        raise FileError(f"expected the columns {names}, found {found}", path, 1)


def label_of(label: str | int | None, names: list[str], path: str) -> str:
    """The column of the label."""
    if isinstance(label, int):
        if not -len(names) <= label < len(names):
            raise FileError(f"expected a label in column {label}, found {len(names)} columns", path)
        return names[label]
    if label is not None:
        if label not in names:
            raise FileError(f"expected a column named {label!r}, found {names}", path)
        return label
    found = [name for name in names if name.strip().lower() in LABEL_NAMES]
    if len(found) != 1:
        raise FileError(f"which column is the label? pass label, one of {names}", path)
    return found[0]


# -- rows ------------------------------------------------------------------------------------------------------------


def rows(batch: Batch, layout: Layout) -> tuple[Any, Any]:
    """The features of a batch, dense if all columns are numbers and CSR otherwise, and its labels or None."""
    with refusing(batch.path):
        return _features_of(arrow(batch.path), batch, layout), _labels(arrow(batch.path), batch, layout)


def _features_of(pa: Any, batch: Batch, layout: Layout) -> Any:
    missing = [column.name for column in layout.columns if column.name not in batch.columns]
    if missing:
        raise FileError(f"expected a column named {missing[0]!r}, found {list(batch.columns)}", batch.path, 1)
    dense = all(column.names is None for column in layout.columns)
    X = np.empty((batch.rows, layout.n_features)) if dense else None
    parts: list[tuple[Array, Array, Array]] = []
    first = 0
    for column in layout.columns:
        given = _plain(pa, batch.columns[column.name], batch, column.name)
        if column.names is not None:
            words = _words(_nameable(pa, given, batch, column.name))
            parts.append(_indicators(words, column, layout, first))
            first += len(column.names)
            continue
        values = _finite(*_numbers(pa, given), given, batch, column.name)
        _exact(pa, values, given, batch, column.name)
        if X is not None:
            X[:, first] = values
        else:
            at = np.flatnonzero(values)
            parts.append((at, np.full(at.size, first), values[at]))
        first += 1
    return _assembled(parts, (batch.rows, layout.n_features)) if X is None else X


def _assembled(parts: list[tuple[Array, Array, Array]], shape: tuple[int, int]) -> Any:
    at, columns, values = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return sp.csr_matrix((values, (at, columns)), shape=shape)


def _indicators(given: list[str], column: Column, layout: Layout, first: int) -> tuple[Array, Array, Array]:
    """A one for each row at the feature of its name; a name never seen has none."""
    words, inverse = np.unique(np.array(given, dtype=object).astype(str), return_inverse=True)
    assert column.names is not None
    if layout.hashed:
        base = layout.n_features - layout.hashed
        places = np.array([base + _hashed(f"{column.name}={word}") % layout.hashed for word in words], np.int64)
    else:
        known = {name: first + k for k, name in enumerate(column.names)}
        places = np.array([known.get(str(word), -1) for word in words], np.int64)
    columns = places[inverse]
    at = np.flatnonzero(columns >= 0)
    return at, columns[at], np.ones(at.size)


def _hashed(word: str) -> int:
    data = np.frombuffer(word.encode() + bytes(4), np.uint8)
    return int(murmur(data, 0, data.size - 4))


def _labels(pa: Any, batch: Batch, layout: Layout) -> Any:
    if layout.label is None or layout.label not in batch.columns:
        return None
    given = _plain(pa, batch.columns[layout.label], batch, layout.label)
    if layout.label_kind == "name":
        words = np.array(_words(_nameable(pa, given, batch, layout.label)), dtype=object)
        if (words == "").any():
            line = batch.line(int(np.argmax(words == "")))
            raise FileError("expected a label, found nothing", batch.path, line, layout.label)
        return words
    values = _finite(*_numbers(pa, given), given, batch, layout.label)
    if layout.label_kind == "int" and (values == np.floor(values)).all() and (np.abs(values) < 2**53).all():
        return values.astype(np.int64)
    return values
