"""Shards: the parts into which rows are divided, and the questions that are asked of a shard where its rows are.

A shard holds its name and how to get its rows, never the rows of a file; the worker that processes it opens it through
a `Store`, which keeps the rows of the most recently used shards in memory. A question (`AskContents`, `AskExamples`,
…) is a small record that is called with a shard and the store, so that threads and the workers of a cluster run the
same code.
"""

from __future__ import annotations

import hashlib
import itertools
import pickle
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Protocol

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from rosenblatt.formats import table_batches, table_layout
from rosenblatt.formats.arrow import check_buffers
from rosenblatt.formats.byte_sources import CHUNK_BYTES, file_stamps
from rosenblatt.formats.contents import LABELS, Contents, Inventory
from rosenblatt.formats.declared_fields import AMOUNT, must, verify
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading
from rosenblatt.formats.row_blocks import RowBlock, row_blocks
from rosenblatt.formats.sparse_checks import well_formed
from rosenblatt.learn.epochs import ShardQuestion
from rosenblatt.learn.examples import Examples
from rosenblatt.learn.labels import as_labels, check_labels, check_no_trailing_nul, distinct
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.scale.file_source import ExampleEncoder
from rosenblatt.scale.row_cache import RowCache, cached, cut, read_blocks

Array = np.ndarray[Any, Any]
NO_ROWS = "expected rows, found none"


# -- the rows that a process holds -----------------------------------------------------------------------------------


class Store:
    """The rows of shards, at most `limit` bytes: a least-recently-used cache."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0
        self.entries: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self.lock = threading.Lock()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value of this key, which is made if it is not stored."""
        with self.lock:
            if key in self.entries:
                self.entries.move_to_end(key)
                return self.entries[key][0]
        value = make()
        size = size_of(value)
        with self.lock:
            if size <= self.limit and key not in self.entries:
                self.entries[key] = (value, size)
                self.held += size
                while self.held > self.limit:
                    self.held -= self.entries.popitem(last=False)[1][1]
        return value

    def drop(self, key: Any) -> None:
        """Remove this key."""
        with self.lock:
            self.held -= self.entries.pop(key, (None, 0))[1]


def size_of(value: Examples | RowBlock | ShardContents | RowCache) -> int:
    """The size in bytes of rows, or of a description of them."""
    if isinstance(value, ShardContents):
        return 1000
    if isinstance(value, RowCache):
        return 1000 if value.data is None else value.data.nbytes
    if isinstance(value, Examples):
        others = (value.target, value.weights, value.present)
        return sum(array.nbytes for array in (*value.rows, *others) if array is not None)
    X = value.X
    labels = 0 if value.labels is None else value.labels.nbytes
    return int(labels + (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes))


# -- shards ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FileShard:
    """The rows of files: all of them, or one of several parts of equal length."""

    name: str
    paths: tuple[str, ...]
    part: int = 0
    parts: int = 1

    def batches(self, how: Reading) -> Iterator[table_batches.Batch]:
        """The tables, batch by batch."""
        for path in self.paths:
            yield from table_batches.batches(path, how, CHUNK_BYTES)

    def contents(self, how: Reading, store: Store) -> Contents:
        """The contents of the files; their cache is made if needed."""
        try:
            return self._cache(how, store).contents
        except FileError as error:
            if error.what != NO_ROWS:
                raise error if error.path is not None else FileError(error.what, self.name) from error
            return Inventory().contents(how)  # a file without rows is not an error

    def _cache(self, how: Reading, store: Store) -> RowCache:
        """The cache of the files; parts of the same files share one that is held in memory."""
        key = (self.paths, file_stamps(self.paths), how)
        made: RowCache = store.get(key, lambda: self._converted(how, store.limit))
        if made.data is None:  # the file may be removed before it is needed again
            store.drop(key)
        return made

    def _converted(self, how: Reading, memory: int) -> RowCache:
        return cached(list(self.paths), how, CHUNK_BYTES, None, memory)

    def pieces(self, how: Reading, store: Store) -> Iterator[RowBlock]:
        """The rows, as they are read."""
        yield from row_blocks(list(self.paths), how)

    def examples(self, encoder: ExampleEncoder, asked: Reading, shift: int, store: Store) -> Examples:
        """The rows as examples."""
        cache = self._cache(asked, store)
        ends = cache.bounds
        first, end = (int(ends[-1]) * k // self.parts for k in (self.part, self.part + 1))
        low, high = int(np.searchsorted(ends, first, side="right")) - 1, int(np.searchsorted(ends, end))
        rows = cut(read_blocks(cache, np.arange(low, high)), first - int(ends[low]), end - int(ends[low]))
        return encoder.of_blocks(rows, replace(cache, shift=shift), None)

    def key(self) -> Any:
        """The key of the rows in a store, which changes when a file does."""
        return self.name, file_stamps(self.paths)


@dataclass(frozen=True)
class HeldShard:
    """Rows in memory, or computed by a recipe: a block of arrays, or a partition of a frame."""

    name: str
    recipe: Callable[[], Any]  # → (X, y), or a pandas frame

    def piece(self, how: Reading, store: Store) -> RowBlock:
        """The rows, kept in the store."""
        made: RowBlock = store.get((self.name, how), lambda: self._made(how))
        return made

    def _made(self, how: Reading) -> RowBlock:
        if how.layout is not None:
            (batch,) = self.batches(how)
            return RowBlock(*table_layout.encode_batch(batch, how.layout))
        made = self.recipe()
        X, y = made if isinstance(made, tuple) else (made, None)
        return RowBlock(_rows_of(X, self.name), None if y is None else _labels_of(y, self.name, X.shape[0]))

    def batches(self, how: Reading) -> Iterator[table_batches.Batch]:
        """The partition of a frame, as a table."""
        frame = self.recipe()
        with table_batches.arrow_errors_as_file_errors(self.name):
            table = pa.Table.from_pandas(frame, preserve_index=False)
            table.validate(full=True)  # before its offsets are used
            table = table.combine_chunks()
        columns = {name: table.column(name).combine_chunks() for name in table.column_names}
        columns = {name: c.chunk(0) if hasattr(c, "chunk") else c for name, c in columns.items()}
        yield table_batches.Batch(self.name, 1, columns, table.num_rows, False)

    def contents(self, how: Reading, store: Store) -> Contents:
        """The contents of the rows."""
        piece, facts = self.piece(how, store), Inventory()
        if piece.labels is not None:
            _check_learnable(piece.labels, self.name)
        if how.n_features is not None and piece.X.shape[1] != how.n_features:
            raise FileError(f"expected {how.n_features:,} features, found {piece.X.shape[1]:,}", self.name)
        facts.add(piece)
        reach = _reach(piece, self.name) if piece.rows else 0.0
        return facts.contents(facts.complete_reading(how), reach, not sp.issparse(piece.X))

    def pieces(self, how: Reading, store: Store) -> Iterator[RowBlock]:
        """The rows, in one piece."""
        yield self.piece(how, store)

    def key(self) -> Any:
        """The key of the rows in a store."""
        return self.name


Shard = FileShard | HeldShard


def _rows_of(X: Any, name: str) -> Any:
    """X as float32 or float64, C-contiguous or CSR."""
    check_buffers(X, name)
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    kind = np.float32 if X.dtype == np.float32 else np.float64
    if sp.issparse(X):
        return sp.csr_matrix(_sound(X, name)).astype(kind, copy=False)
    if hasattr(X, "to_scipy_sparse"):  # from the package `sparse`
        return sp.csr_matrix(_sound(X.to_scipy_sparse(), name)).astype(kind, copy=False)
    rows = np.ascontiguousarray(X, dtype=kind)
    if rows.ndim != 2:
        raise FileError(f"expected rows and columns, found an array of shape {rows.shape}", name)
    return rows


def _sound(X: Any, name: str) -> Any:
    try:
        return well_formed(X)
    except ValueError as error:
        raise FileError(str(error), name) from error


def _labels_of(y: Any, name: str, rows: int) -> Array:
    check_buffers(y, name)
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise FileError(f"expected one label for each of {rows:,} rows, found labels of shape {labels.shape}", name)
    try:
        _check_not_missing(labels)
    except ValueError as error:
        raise FileError(str(error), name) from error
    return labels.astype(object) if labels.dtype.kind == "U" else labels


def _check_not_missing(labels: Array) -> None:
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(f"expected a label in every row, found {labels[~np.isfinite(labels)][0]}")
    if labels.dtype.kind in "mM" or (labels.dtype.kind == "O" and set(map(type, labels)) != {str}):
        check_labels(labels, distinct(labels))
    elif labels.dtype.kind == "O":
        check_no_trailing_nul(labels)


def _check_learnable(labels: Array, name: str) -> None:
    """Refuse labels other than numbers and text, which are all that files have."""
    for kind in set(map(type, labels)) if labels.dtype.kind == "O" else {labels.dtype.type}:
        if not issubclass(kind, LABELS) or issubclass(kind, np.datetime64 | np.timedelta64 | np.complexfloating):
            raise FileError(f"expected labels that are numbers or text, found {kind.__name__}", name)


def _reach(piece: RowBlock, name: str) -> float:
    try:
        return encode_rows(piece.X)[1]
    except ValueError as error:
        raise FileError(str(error), name) from error


# -- questions to a shard --------------------------------------------------------------------------------------------


class AskShard(Protocol):
    """A question to a shard.

    A worker may have faulty memory, another version of a library, or modified code: the question checks its answers.
    """

    def __call__(self, shard: Shard, store: Store) -> Any:
        """The answer."""

    def check(self, answer: Any, shard: Shard) -> None:
        """Refuse what cannot be the answer."""


def accepted(answer: Any, question: AskShard, shard: Shard, worker: str) -> Any:
    """The answer of a shard; an error that names the shard and the worker if it is not valid."""
    try:
        question.check(answer, shard)
    except Exception as error:  # it may be wrong in any way; all give the same error
        raise FileError(f"the answer of {worker} cannot be used: {error}", shard.name) from error
    return answer


@dataclass(frozen=True)
class AskColumns:
    """The types of the columns of tables."""

    how: Reading

    def __call__(self, shard: Shard, store: Store) -> dict[str, table_layout.ColumnSurvey]:
        """Scan the tables of a shard."""
        return table_layout.survey_columns(shard.batches(self.how))

    def check(self, answer: Any, shard: Shard) -> None:
        """Columns by their names."""
        must(isinstance(answer, dict) and all(isinstance(name, str) for name in answer), "columns by their names")
        for one in answer.values():
            verify(one, table_layout.ColumnSurvey)


@dataclass(frozen=True)
class AskNames:
    """The names in the columns of tables."""

    how: Reading
    columns: tuple[str, ...]

    def __call__(self, shard: Shard, store: Store) -> dict[str, set[str]]:
        """Collect the names of a shard."""
        return table_layout.collect_names(shard.batches(self.how), self.columns)

    def check(self, answer: Any, shard: Shard) -> None:
        """Names in the columns that were asked for."""
        must(isinstance(answer, dict) and set(answer) == set(self.columns), "the requested columns")
        for words in answer.values():
            must(isinstance(words, set) and all(isinstance(word, str) for word in words), "names that are text")


@dataclass(frozen=True)
class ShardContents:
    """The contents of a shard."""

    contents: Contents
    single: bool  # whether values are in single precision


@dataclass(frozen=True)
class AskContents:
    """The contents of shards."""

    how: Reading

    def __call__(self, shard: Shard, store: Store) -> ShardContents:
        """Scan a shard; a `HeldShard` only once, because its rows may have been dropped by then."""
        if isinstance(shard, FileShard):
            return ShardContents(shard.contents(self.how, store), False)
        found: ShardContents = store.get((self.how, "holds", shard.key()), lambda: self._scanned(shard, store))
        return found

    def _scanned(self, shard: HeldShard, store: Store) -> ShardContents:
        contents = shard.contents(self.how, store)
        return ShardContents(contents, bool(shard.piece(self.how, store).X.dtype == np.float32))

    def check(self, answer: Any, shard: Shard) -> None:
        """What the shard holds."""
        verify(answer, ShardContents)


@dataclass(frozen=True)
class ShardOpener:
    """How shards become examples, the same for all of them."""

    encoder: ExampleEncoder
    asked: Reading  # as the user gave it, before the files were read: it identifies the cache
    shift: int
    single: bool
    digest: str = ""

    def named(self) -> ShardOpener:
        """The opener with a digest of itself, which is part of the key of examples."""
        return replace(self, digest=hashlib.sha256(pickle.dumps(replace(self, digest=""))).hexdigest()[:16])

    def key(self, shard: Shard) -> Any:
        """The key of a shard's examples in a store."""
        return self.digest, shard.key()

    def examples(self, shard: Shard, store: Store) -> tuple[Examples, float]:
        """The examples of a shard, and the seconds it took to read them."""
        began = time.perf_counter()
        made: Examples = store.get(self.key(shard), lambda: self._made(shard, store))
        return made, time.perf_counter() - began

    def _made(self, shard: Shard, store: Store) -> Examples:
        if isinstance(shard, FileShard):
            return shard.examples(self.encoder, self.asked, self.shift, store)
        piece = shard.piece(self.asked, store)
        store.drop((shard.name, self.asked))  # replaced by its examples
        return self.encoder.of_piece(replace(piece, X=piece.X.astype(self.dtype, copy=False)))

    @property
    def dtype(self) -> Any:
        """The type of the rows."""
        return np.float32 if self.single else np.float64


@dataclass(frozen=True)
class TimedAnswer:
    """The answer of a shard, and the seconds it took to read its rows."""

    value: Any
    reading: Annotated[float, AMOUNT]

    @property
    def nbytes(self) -> int:
        """Its size when sent, for answers that are large."""
        return int(getattr(self.value, "nbytes", 0))


@dataclass(frozen=True)
class AskExamples:
    """A question about the examples of shards."""

    opening: ShardOpener
    question: ShardQuestion
    places: dict[str, int]  # the position of each shard in the order of mixing
    sizes: Sequence[int]  # the number of rows of each
    features: int

    def __call__(self, shard: Shard, store: Store) -> TimedAnswer:
        """Ask a shard."""
        examples, reading = self.opening.examples(shard, store)
        return TimedAnswer(self.question(examples, self.places[shard.name]), reading)

    def check(self, answer: Any, shard: Shard) -> None:
        """An answer about the rows of the shard."""
        verify(answer, TimedAnswer)
        self.question.check(answer.value, self.sizes[self.places[shard.name]], self.features)


# -- from a source to shards -----------------------------------------------------------------------------------------


def file_groups(paths: Sequence[str], shards: int) -> list[FileShard]:
    """The files, in their order, in as many groups as there are shards, or one per file if there are fewer files."""
    count = min(shards, len(paths))
    bounds = [len(paths) * k // count for k in range(count + 1)]
    groups = [tuple(paths[a:b]) for a, b in itertools.pairwise(bounds)]
    return [FileShard(group[0] if len(group) == 1 else f"{group[0]} … {group[-1]}", group) for group in groups]


def paths_of(shards: Sequence[Shard]) -> list[str]:
    """The files that shards are read from."""
    return [path for shard in shards if isinstance(shard, FileShard) for path in shard.paths]


def cut_up(groups: Sequence[FileShard], rows: Sequence[int], shards: int) -> tuple[list[Shard], list[int]]:
    """Groups with these numbers of rows, divided into shards, and the number of rows of each; none is empty."""
    found: list[Shard] = []
    sizes: list[int] = []
    for k, (group, count) in enumerate(zip(groups, rows, strict=True)):
        parts = shards // len(groups) + (k < shards % len(groups))
        for part in range(parts):
            size = count * (part + 1) // parts - count * part // parts
            if size:
                name = group.name if parts == 1 else f"{group.name} [{part + 1}/{parts}]"
                found.append(replace(group, name=name, part=part, parts=parts))
                sizes.append(size)
    return found, sizes


@dataclass(frozen=True)
class ArraySlice:
    """A slice of arrays in memory."""

    X: Any
    y: Any
    first: int
    end: int

    def __call__(self) -> tuple[Any, Any]:
        """The rows and their labels."""
        return self.X[self.first : self.end], None if self.y is None else self.y[self.first : self.end]


def array_shards(X: Any, y: Any, shards: int) -> list[HeldShard]:
    """Arrays in memory, divided into shards of equal length."""
    check_buffers(X, "X")
    check_buffers(y, "y")
    X = sp.csr_matrix(well_formed(X)) if sp.issparse(X) else np.asarray(X)
    y = None if y is None else as_labels(y)
    n = X.shape[0]
    bounds = [n * k // shards for k in range(shards + 1)]
    return [HeldShard(f"rows {a:,} to {b:,}", ArraySlice(X, y, a, b)) for a, b in itertools.pairwise(bounds) if b > a]
