"""A compact binary copy of a source, from which later passes read: blocks of rows, and a footer that describes them.

    magic · block · block · … · table of blocks · footer (JSON) · its length · its SHA-256 · magic

A small copy is held in memory; a larger one is a file in the user's cache folder (`cache_folder`).

A block holds the values (in single precision if that is lossless), the columns, the lengths of rows and the labels.
`learn.orders` defines where blocks begin, so that a shuffled pass over the file visits rows in the same order as one
in memory. The footer lists the files that the cache is a copy of; if one of them has changed since, or may have, the
cache is rebuilt. Each block has a checksum.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import time
import zlib
from collections.abc import Iterable
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp

from rosenblatt.compiled.row_gathering import room
from rosenblatt.formats.byte_sources import (
    STDIN,
    FileStamp,
    cache_folder,
    expand_paths,
    file_stamps,
    make_folder,
)
from rosenblatt.formats.contents import Contents, Inventory, with_layout
from rosenblatt.formats.declared_fields import is_count, verify
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading
from rosenblatt.formats.row_blocks import RowBlock, parse_tasks
from rosenblatt.formats.safe_writing import os_error_message, replace_atomically
from rosenblatt.learn.orders import block_bounds
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.model_files.encoding import Arrays, decode, encode
from rosenblatt.scale.memory_trimming import give_back
from rosenblatt.scale.read_ahead import ahead

Array = np.ndarray[Any, Any]
MAGIC, SUFFIX = b"rbcache2", ".rbcache"
HELD_SHARE = 8  # a copy of up to this fraction of the memory limit is held in memory
RACY = 2_000_000_000  # ns: a file changed this shortly before it was read may change again unnoticed
ROWS, STORED, LABELS, SINGLE, CHECK = range(1, 6)  # columns of the table, after the offset
DAMAGED = "expected a valid cache, found a damaged one: delete it"


@dataclass(frozen=True)
class RowCache:
    """A valid cache."""

    path: Path
    contents: Contents
    names: tuple[str, ...] | None  # the name of each stored code, if labels are names
    shift: int  # to be subtracted from stored columns
    table: Array  # one row per block
    data: memoryview | None = None  # all of it, if it is held in memory

    @property
    def bounds(self) -> Array:
        """The first row of each block, and the end."""
        return np.concatenate([[0], np.cumsum(self.table[:, ROWS])])


class CachedBlock(NamedTuple):
    """Rows as they are stored."""

    values: Array
    columns: Array  # empty if rows are dense
    lengths: Array
    labels: Array  # float64, or int32 codes of names
    label_counts: Array  # empty if each row has one label


# -- writing ---------------------------------------------------------------------------------------------------------


class _Output:
    """Bytes in memory as long as they are at most `hold`, then in a file at `path`, which replaces an older one."""

    def __init__(self, path: Path, hold: int) -> None:
        self.path, self.hold, self.size = path, hold, 0
        self.file: BinaryIO = io.BytesIO()
        self.stack = ExitStack()

    def __enter__(self) -> _Output:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stack.__exit__(*error)

    @property
    def data(self) -> memoryview | None:
        """What was written, if it is in memory."""
        return self.file.getbuffer() if isinstance(self.file, io.BytesIO) else None

    def write(self, data: bytes) -> None:
        """Append."""
        self.size += len(data)
        if isinstance(self.file, io.BytesIO) and self.size > self.hold:
            held = self.file.getvalue()
            make_folder(self.path.parent)
            self.file = self.stack.enter_context(replace_atomically(self.path))
            self.file.write(held)
        self.file.write(data)


class _Writer:
    """Divides pieces into blocks and writes them."""

    def __init__(self, file: _Output) -> None:
        self.file, self.at = file, 0
        self.table: list[tuple[int, ...]] = []
        self.codes: dict[str, int] = {}
        self.radius2 = 0.0
        self.dense = False
        self.pending: CachedBlock | None = None
        self.write(MAGIC)

    def write(self, data: bytes) -> None:
        self.file.write(data)
        self.at += len(data)

    def add(self, piece: RowBlock) -> None:
        if not piece.rows:
            return
        self.radius2 = max(self.radius2, encode_rows(piece.X)[1])
        block = self._block(piece)
        if self.pending is not None:
            block = _joined(self.pending, block)
        starts = np.concatenate([[0], np.cumsum(block.lengths, dtype=np.int64)])
        bounds = block_bounds(starts)
        label_starts = _label_starts(block)
        for first, end in zip(bounds[:-2].tolist(), bounds[1:-1].tolist(), strict=True):
            self._put(_cut(block, starts, label_starts, first, end))
        self.pending = _cut(block, starts, label_starts, int(bounds[-2]), int(bounds[-1]))

    def finish(self) -> None:
        if self.pending is not None:
            self._put(self.pending)

    def _block(self, piece: RowBlock) -> CachedBlock:
        """The piece, with names as codes in the order of first occurrence."""
        labels = piece.labels
        if labels is None:
            raise FileError("expected a label in every row, found a table without a label column")
        if labels.dtype.kind == "O":
            for name in labels:
                self.codes.setdefault(name, len(self.codes))
            labels = np.array([self.codes[name] for name in labels], np.int32)
        counts = np.zeros(0, np.uint32) if piece.starts is None else np.diff(piece.starts).astype(np.uint32)
        if sp.issparse(piece.X):
            X = piece.X
            lengths = np.diff(X.indptr).astype(np.uint32)
            return CachedBlock(X.data, X.indices.view(np.uint32), lengths, labels, counts)
        self.dense = True
        values = np.ascontiguousarray(piece.X)
        lengths = np.full(values.shape[0], values.shape[1], np.uint32)
        return CachedBlock(values.ravel(), np.zeros(0, np.uint32), lengths, labels, counts)

    def _put(self, block: CachedBlock) -> None:
        if not block.lengths.size:
            return
        single = block.values.astype(np.float32)
        lossless = bool((single == block.values).all())
        labels = block.labels if block.labels.dtype == np.int32 else block.labels.astype(np.float64)
        parts = (single if lossless else block.values, block.columns, block.lengths, labels, block.label_counts)
        data = b"".join(part.tobytes() for part in parts)
        several = block.labels.size if block.label_counts.size else -1
        self.table.append((self.at, block.lengths.size, block.values.size, several, int(lossless), zlib.crc32(data)))
        self.write(data)


def _joined(a: CachedBlock, b: CachedBlock) -> CachedBlock:
    """The rows of both; if one block has label counts, the result does too."""
    counts = [block.label_counts for block in (a, b)]
    if counts[0].size or counts[1].size:
        counts = [
            one if one.size else np.ones(block.lengths.size, np.uint32)
            for one, block in zip(counts, (a, b), strict=True)
        ]
    pairs = zip((*a[:4], counts[0]), (*b[:4], counts[1]), strict=True)
    return CachedBlock(*(np.concatenate(pair) for pair in pairs))


def _label_starts(block: CachedBlock) -> Array:
    counts = block.label_counts if block.label_counts.size else np.ones(block.lengths.size, np.uint32)
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def cut(block: CachedBlock, first: int, end: int) -> CachedBlock:
    """Rows `first` to `end` of a block."""
    starts = np.concatenate([[0], np.cumsum(block.lengths, dtype=np.int64)])
    return _cut(block, starts, _label_starts(block), first, end)


def _cut(block: CachedBlock, starts: Array, label_starts: Array, first: int, end: int) -> CachedBlock:
    inside = slice(int(starts[first]), int(starts[end]))
    return CachedBlock(
        block.values[inside],
        block.columns[inside],
        block.lengths[first:end],
        block.labels[int(label_starts[first]) : int(label_starts[end])],
        block.label_counts[first:end],
    )


def convert(source: Any, how: Reading, path: Path, size: int, longest: int | None = None, hold: int = 0) -> RowCache:
    """Copy a source into a cache, in one pass: in memory up to `hold` bytes, else at `path`.

    Parsing runs in other threads.
    """
    plain = [one for one in expand_paths(source) if one != STDIN]
    taken, before = time.time_ns(), file_stamps(plain)
    how = with_layout(source, how, size)
    racy = any(max(stamp.modified, stamp.changed) > taken - RACY for stamp in before)
    copied = {
        "paths": [os.path.abspath(one) for one in plain],
        "stamps": [asdict(stamp) for stamp in before],
        "racy": racy,
    }
    return write_cache(ahead(parse_tasks(source, how, size, longest)), how, path, hold, copied, expand_paths(source)[0])


def write_cache(
    pieces: Iterable[RowBlock], how: Reading, path: Path, hold: int, copied: dict[str, Any], named: str | None = None
) -> RowCache:
    """Write a cache of these rows: in memory up to `hold` bytes, else at `path`.

    `copied` lists the files that it is a copy of, and `named` is the file that errors name.
    """
    facts = Inventory()
    with _Output(path, hold) as output:
        writer = _Writer(output)
        for piece in pieces:
            facts.add(piece)
            writer.add(piece)
        writer.finish()
        if not facts.rows:
            raise FileError("expected rows, found none", named)
        table = np.array(writer.table, dtype=np.int64)
        final = facts.complete_reading(how, named)
        footer = {
            **copied,
            "asked": encode(how, Arrays(), "reading"),
            "contents": encode(facts.contents(final, writer.radius2, writer.dense), Arrays(), "contents"),
            "names": list(writer.codes) if writer.codes else None,
            "shift": facts.shift(how),
            "table": writer.at,
        }
        writer.write(table.tobytes())
        text = json.dumps(footer, separators=(",", ":")).encode()
        writer.write(text)
        writer.write(len(text).to_bytes(8, "little") + hashlib.sha256(table.tobytes() + text).digest() + MAGIC)
    del writer
    give_back()
    return load_cache(path, output.data)[0]


# -- reading ---------------------------------------------------------------------------------------------------------


FOREIGN = "expected a cache of rosenblatt, found something else"


def load_cache(path: Path, data: memoryview | None = None) -> tuple[RowCache, dict[str, Any]]:
    """The cache at `path`, or the one in `data`, and its footer; an error if it is not valid."""
    try:
        with open(path, "rb") if data is None else io.BytesIO(data) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 48, 0))
            tail = file.read(48)
            length = int.from_bytes(tail[:8], "little")
            if len(tail) < 48 or tail[40:] != MAGIC or length > size - 48:
                raise FileError(FOREIGN, path)
            file.seek(size - 48 - length)
            text = file.read(length)
            footer = json.loads(text)
            file.seek(footer["table"])
            index = file.read(max(size - 48 - length - footer["table"], 0))
        if hashlib.sha256(index + text).digest() != tail[8:40]:
            raise FileError("expected a valid cache, found a damaged one", path)
        contents = decode(footer["contents"], Arrays())
        names = None if footer["names"] is None else tuple(footer["names"])
        table = np.frombuffer(index, np.int64).reshape(-1, 6)
        cache = RowCache(path, contents, names, footer["shift"], table, data)
        footer["stamps"] = [FileStamp(**one) for one in footer["stamps"]]
        footer["asked"], footer["racy"] = decode(footer["asked"], Arrays()), bool(footer["racy"])
        if not (_fits_together(cache) and _within(cache, footer["table"]) and _settled(contents.how, footer["asked"])):
            raise FileError(FOREIGN, path)
    except FileError:
        raise
    except OSError as error:
        raise FileError(os_error_message("read", error), path) from error
    except Exception as error:  # a forged file may be wrong in any way
        raise FileError(FOREIGN, path) from error
    return cache, footer


def _fits_together(cache: RowCache) -> bool:
    """Whether the footer is consistent with the table of blocks: the file may be malicious."""
    about, names, table = cache.contents, cache.names, cache.table
    verify(about, Contents)
    width, labels = about.how.n_features, about.labels
    return bool(
        is_count(width, 1)
        and (width or 0) < 1 << 32
        and is_count(cache.shift)
        and cache.shift in (0, 1)
        and (about.rows, about.stored) == (table[:, ROWS].sum(), table[:, STORED].sum())
        and (not about.dense or (table[:, STORED] == table[:, ROWS] * width).all())
        and isinstance(about.radius2, float)
        and (names is None or (all(isinstance(name, str) for name in names) and len(set(names)) == len(names)))
        and _in_order(labels, names is not None)
        and (labels is None or names is None or set(labels) == set(names))
        and _in_order(about.how.labels, False)
        and (about.how.multilabel or (table[:, LABELS] < 0).all())
    )


def _in_order(labels: tuple[Any, ...] | None, names: bool) -> bool:
    """Whether these are valid labels: sorted, unique, names or finite numbers."""
    if labels is None:
        return True
    fine = (isinstance(label, str) if names else math.isfinite(label) for label in labels)
    return bool(labels) and labels == tuple(sorted(set(labels))) and all(fine)


def _within(cache: RowCache, end: int) -> bool:
    """Whether all blocks lie within the part of the file that holds blocks."""
    least, most = [0, 1, 0, -1, 0], [end, end, end, end, 1]
    if not ((least <= cache.table[:, :CHECK]) & (cache.table[:, :CHECK] <= most)).all():
        return False
    offset, rows, stored, several, single, _ = cache.table.T
    a_value, a_label = 8 - 4 * single + (0 if cache.contents.dense else 4), 8 if cache.names is None else 4
    labels = np.where(several < 0, rows * a_label, several * a_label + 4 * rows)
    return bool((offset + stored * a_value + 4 * rows + labels <= end).all())


def _settled(how: Reading, asked: Reading) -> bool:
    """Whether a reading is the requested one, except for what only the rows determine."""
    found = {name: getattr(asked, name) for name in ("n_features", "zero_based", "multilabel", "labels")}
    return replace(how, **found) == asked


def place(source: Any, how: Reading) -> Path:
    """The path of the cache of a source, in `cache_folder`."""
    paths = [os.path.abspath(one) for one in expand_paths(source)]
    key = json.dumps([paths, encode(how, Arrays(), "reading")])
    return cache_folder() / f"{Path(paths[0]).name}.{hashlib.sha256(key.encode()).hexdigest()[:8]}{SUFFIX}"


def fresh(source: Any, how: Reading) -> RowCache | None:
    """The cache of a source, if there is one and no file has changed since; else None."""
    path = place(source, how)
    if not path.exists():
        return None
    try:
        cache, footer = load_cache(path)
    except FileError:
        return None
    if footer["racy"] or footer["stamps"] != list(file_stamps(expand_paths(source))):
        return None
    return cache if replace(footer["asked"], layout=how.layout, n_features=how.n_features) == how else None


def cached(source: Any, how: Reading, size: int, longest: int | None = None, memory: int = 0) -> RowCache:
    """The cache of a source: the existing one if it is up to date, else a new one, in memory if it is small."""
    return fresh(source, how) or convert(source, how, place(source, how), size, longest, memory // HELD_SHARE)


def read_blocks(cache: RowCache, numbers: Array) -> CachedBlock:
    """These blocks, checked and joined."""
    table = cache.table[numbers]
    rows, stored, single = int(table[:, ROWS].sum()), int(table[:, STORED].sum()), bool(table[:, SINGLE].all())
    several = bool((table[:, LABELS] >= 0).any())
    labels = int(np.where(table[:, LABELS] < 0, table[:, ROWS], table[:, LABELS]).sum())
    whole = CachedBlock(
        room(stored, np.float32 if single else np.float64),
        room(0 if cache.contents.dense else stored, np.uint32),
        np.empty(rows, np.uint32),
        np.empty(labels, np.float64 if cache.names is None else np.int32),
        np.ones(rows if several else 0, np.uint32),
    )
    ends = [0, 0, 0, 0, 0]
    try:
        with nullcontext() if cache.data is not None else open(cache.path, "rb", buffering=0) as file:
            for number in numbers:
                for k, part in enumerate(_read_block(cache, file, number)):
                    count = part.size if k < 4 or not several else int(cache.table[number, ROWS])
                    whole[k][ends[k] : ends[k] + count] = part if part.size else 1  # no counts: one label per row
                    ends[k] += count
    except OSError as error:
        raise FileError(os_error_message("read", error), cache.path) from error
    if not _sound(whole, cache):
        raise FileError(DAMAGED, cache.path)
    return whole


def _read_block(cache: RowCache, file: io.FileIO | None, number: int) -> CachedBlock:
    offset, rows, stored, several, single, check = cache.table[number].tolist()
    labels = rows if several < 0 else several
    kinds = [
        (np.dtype(np.float32 if single else np.float64), stored),
        (np.dtype(np.uint32), 0 if cache.contents.dense else stored),
        (np.dtype(np.uint32), rows),
        (np.dtype(np.float64 if cache.names is None else np.int32), labels),
        (np.dtype(np.uint32), 0 if several < 0 else rows),
    ]
    size = sum(kind.itemsize * count for kind, count in kinds)
    if file is None:
        assert cache.data is not None
        data: bytes | memoryview = cache.data[offset : offset + size]
    else:
        data = os.pread(file.fileno(), size, offset)
    if len(data) < size or zlib.crc32(data) != check:
        raise FileError(DAMAGED, cache.path)
    parts, at = [], 0
    for kind, count in kinds:
        parts.append(np.frombuffer(data, kind, count, at))
        at += kind.itemsize * count
    return CachedBlock(*parts)


def _sound(block: CachedBlock, cache: RowCache) -> bool:
    """Whether lengths, counts and labels are consistent; a checksum detects damage, but not a malicious file.

    Columns are checked against the number of features in `ExampleEncoder.of_blocks`.
    """
    values, _, lengths, labels, counts = block
    if lengths.sum(dtype=np.uint64) != values.size or (counts.size and counts.sum(dtype=np.uint64) != labels.size):
        return False
    if cache.contents.dense and (lengths != cache.contents.how.n_features).any():
        return False
    if cache.names is None:
        return bool(np.isfinite(labels).all())
    return bool(labels.min(initial=0) >= 0 and labels.max(initial=0) < len(cache.names))
