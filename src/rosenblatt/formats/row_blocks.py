"""Rows of files, block by block: a source is split into tasks, each of which any thread can parse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.formats import hashed_text, svmlight, table_batches, table_layout
from rosenblatt.formats.byte_sources import (
    CHUNK_BYTES,
    STDIN,
    FileStamp,
    LineChunk,
    check_unchanged,
    expand_paths,
    file_stamps,
    line_chunks,
)
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class RowBlock:
    """A block of rows: an array or CSR matrix, with labels as written in the file."""

    X: Any
    labels: Array | None  # one per row; if several per row, those of row i start at starts[i]
    starts: Array | None = None
    queries: Array | None = None

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def several(self) -> bool:
        """Whether any row does not have exactly one label."""
        return self.starts is not None


ParseTask = Callable[[], RowBlock]


def parse_tasks(
    source: Any, how: Reading, size: int = CHUNK_BYTES, longest: int | None = None, parse: Any = None
) -> Iterator[ParseTask]:
    """Split a source into blocks of about `size` bytes, each a task that any thread can run to parse it.

    A line of more than `longest` bytes is refused. `parse` replaces the parser of lines.
    """
    for path in expand_paths(source):
        before = file_stamps([path]) if path != STDIN else ()
        if how.format in ("svmlight", "text"):
            parse = parse or (_svmlight_block if how.format == "svmlight" else _text_block)
            for chunk in line_chunks(path, size, longest):
                yield partial(_run_unless_changed, partial(parse, path, how, chunk), path, before)
        else:
            assert how.layout is not None
            for batch in table_batches.batches(path, how, size):
                yield partial(_run_unless_changed, partial(_table_block, batch, how.layout), path, before)
        if before:
            check_unchanged([path], before)


def _run_unless_changed(task: Callable[[], Any], path: str, before: Sequence[FileStamp]) -> Any:
    """Run a task; if it fails and the file has changed in the meantime, report the change instead."""
    try:
        return task()
    except FileError:
        if before:
            check_unchanged([path], before)
        raise


def row_blocks(source: Any, how: Reading, size: int = CHUNK_BYTES, longest: int | None = None) -> Iterator[RowBlock]:
    """The rows of a source, block by block. Columns are as written if it is not yet known where they start."""
    for task in parse_tasks(source, how, size, longest):
        yield task()


def _table_block(batch: table_batches.Batch, layout: table_layout.Layout) -> RowBlock:
    return RowBlock(*table_layout.encode_batch(batch, layout))


def _svmlight_block(path: str, how: Reading, chunk: LineChunk) -> RowBlock:
    base = 1 if how.zero_based is False else 0
    limit = svmlight.MAX_INDEX - base if how.n_features is None else how.n_features - 1
    if how.n_features is not None and how.zero_based == "auto":
        limit += 1  # checked again once it is known where columns start
    limit = min(limit, svmlight.MAX_INDEX)
    lines = svmlight.parse_lines(chunk.data, chunk.size, path, chunk.line, base=base, limit=limit)
    svmlight.check_labels(lines.labels, chunk.data, chunk.size, path, chunk.line)
    width = limit + 1 if how.n_features is not None else max(lines.most + 1 - base, 1)
    if lines.several and how.multilabel is False:
        row = int(np.argmax(np.diff(lines.label_starts) != 1))
        found = np.diff(lines.label_starts)[row]
        raise FileError(f"expected one label per row, found {found}", path, _line_of_row(chunk, row))
    X = csr_from_arrays(lines.values, lines.columns, lines.starts, width)
    return RowBlock(X, lines.labels, lines.label_starts if lines.several else None, lines.queries)


def _line_of_row(chunk: LineChunk, row: int) -> int:
    """The line number of a row of svmlight; blank lines and comments are not rows."""
    lines = bytes(chunk.data[: chunk.size]).split(b"\n")
    filled = [k for k, line in enumerate(lines) if line.split(b"#")[0].strip()]
    return chunk.line + filled[row]


def csr_from_arrays(values: Array, columns: Array, starts: Array, width: int) -> Any:
    """A CSR matrix that shares these arrays."""
    X = sp.csr_matrix((starts.size - 1, width))
    X.data, X.indices = values, columns.view(np.int32)
    X.indptr = starts.astype(np.int32) if values.size < 1 << 31 else starts
    return X


def _text_block(path: str, how: Reading, chunk: LineChunk) -> RowBlock:
    assert how.n_features is not None
    found = hashed_text.hash_lines(
        chunk.data, chunk.size, path, chunk.line, features=how.n_features, ngrams=how.ngrams, labelled=how.labelled
    )
    X = csr_from_arrays(found.values, found.columns, found.starts, how.n_features)
    return RowBlock(X, np.array(found.labels, dtype=object) if how.labelled else None)


def preview_tasks(
    source: Any, how: Reading, size: int = CHUNK_BYTES, longest: int | None = None
) -> Iterator[Callable[[], RowBlock | svmlight.LinePreview]]:
    """As `parse_tasks`, but svmlight lines in the common form are only previewed.

    They are parsed when they are used, and may be refused then. Only for a reading whose first column is not yet known,
    as for `Inventory`.
    """
    preview = how.format == "svmlight" and how.zero_based == "auto"
    return parse_tasks(source, how, size, longest, _preview_or_parse if preview else None)


def _preview_or_parse(path: str, how: Reading, chunk: LineChunk) -> RowBlock | svmlight.LinePreview:
    return svmlight.preview_lines(chunk.data, chunk.size) or _svmlight_block(path, how, chunk)


def encode_target(block: RowBlock, how: Reading) -> Any:
    """The labels of a block, or their indicator matrix."""
    if not how.multilabel or block.labels is None:
        return _text_as_str(block.labels) if block.labels is not None else None
    starts = np.arange(block.rows + 1) if block.starts is None else block.starts
    known = np.array(how.labels or ())
    at = np.searchsorted(known, block.labels)
    strange = ~np.isin(block.labels, known)
    if strange.any():
        raise FileError(f"expected one of the labels {known.tolist()}, found {block.labels[strange][0]}")
    y = np.zeros((block.rows, known.size), np.int8)
    y[np.repeat(np.arange(block.rows), np.diff(starts)), at] = 1
    return y


def _text_as_str(labels: Array) -> Array:
    return labels.astype(str) if labels.dtype.kind == "O" else labels
