"""`read` and `stream`: files of any format as rows and labels.

A `Reading` says how a file becomes rows: its format and settings and, once the file has been scanned, the number of
features, where indices start, and what the columns of a table mean. It is stored with a model, so that new files are
read as the training file was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.data.errors import FileError
from rosenblatt.data.formats import hashed_text, svmlight, table_batches, table_layout
from rosenblatt.data.formats.byte_sources import (
    CHUNK_BYTES,
    FORMATS,
    STDIN,
    FileStamp,
    LineChunk,
    check_unchanged,
    detect_format,
    expand_paths,
    file_stamps,
    line_chunks,
    spooled,
)

Array = np.ndarray[Any, Any]
MAX_LABELS = 1 << 16  # with more distinct labels than this, they are not taken as classes
MAX_FEATURES = svmlight.MAX_INDEX  # column indices have 32 bits, as in SciPy
MAX_NGRAM = 100  # words
UNIT_BYTES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}
BYTES_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


def in_bytes(memory: str | int) -> int:
    """The number of bytes in a size such as "256MB", "1.5 GiB" or 1000000."""
    if isinstance(memory, int | np.integer) and memory > 0:
        return int(memory)
    found = BYTES_PATTERN.fullmatch(memory) if isinstance(memory, str) else None
    if found is None or found.group(2).upper() not in UNIT_BYTES:
        raise ValueError(f'memory must be a size such as "256MB" or a number of bytes, got {memory!r}.')
    return int(Fraction(found.group(1)) * UNIT_BYTES[found.group(2).upper()])


@dataclass(frozen=True)
class Reading:
    r"""How a file becomes rows and labels.

    Attributes
    ----------
    format : str
        "svmlight", "csv", "tsv", "parquet", "arrow" or "text".
    n_features : int or None
        None until it is known.
    zero_based : bool or "auto"
        svmlight: whether indices start at 0. "auto": if the file has an index 0.
    multilabel : bool or None
        svmlight: whether y is a label indicator. None: if some row does not have exactly one label.
    labels : tuple of float or None
        svmlight with several labels per row: the label of each column of y.
    label : str, int or None
        Tables: the name of the label column, or its number from 0, negative from the end, if no column has that name.
        None: the one named label, target, class or y.
    header : bool
        CSV and TSV: whether the first line has the column names.
    categorical : {"onehot", "hash"}
        Tables: how columns of text are encoded.
    ngrams : tuple of int
        Text: the shortest and the longest n-grams, in words.
    labelled : bool
        Text: whether each line starts with a label and a tab. Tables: whether there is a label column.
    layout : Layout or None
        Tables: what each column means, once it is known.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rosenblatt import Perceptron, Reading, fit
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("+1 1:2 2:1\n-1 1:-1 2:1\n+1 1:3\n-1 2:4\n")
    >>> reading = fit(Perceptron(random_state=0), path).reading_
    >>> isinstance(reading, Reading), reading.format, reading.n_features
    (True, 'svmlight', 2)
    """

    format: str
    n_features: int | None = None
    zero_based: bool | str = "auto"
    multilabel: bool | None = None
    labels: tuple[float, ...] | None = None
    label: str | int | None = None
    header: bool = True
    categorical: str = "onehot"
    ngrams: tuple[int, int] = (1, 1)
    labelled: bool = True
    layout: table_layout.Layout | None = None

    @property
    def known(self) -> bool:
        """Whether rows can be read without scanning the file first."""
        if self.format in ("svmlight", "text"):
            return self.n_features is not None and self.zero_based != "auto"
        return self.layout is not None


def format_family(format: str) -> str:
    """Which formats can replace each other: "svmlight", "text", or "table" for all kinds of tables."""
    return format if format in ("svmlight", "text") else "table"


TEXT_FEATURES, HASHED_FEATURES = 1 << 20, 1 << 16


def make_reading(source: Any, like: Reading | None = None, **settings: Any) -> Reading:
    """How to read this source: from the settings, or else from the name or first line of its first file."""
    if like is not None:
        if settings:
            raise ValueError(f"like already says how to read: {sorted(settings)} cannot be given as well.")
        return like
    kind = settings.pop("format", None) or detect_format(expand_paths(source)[0])
    unknown = sorted(set(settings) - set(Reading.__dataclass_fields__) | (set(settings) & {"layout", "labels"}))
    if unknown or kind not in FORMATS:
        what = f"no setting {unknown[0]!r}" if unknown else f"no format {kind!r}; it must be one of {FORMATS}"
        raise ValueError(f"There is {what}.")
    if isinstance(settings.get("n_features"), np.integer):
        settings["n_features"] = int(settings["n_features"])  # a Python integer, which does not overflow
    found = Reading(kind, **settings)
    _check_settings(found)
    if kind == "text":
        low, high = found.ngrams
        found = replace(found, n_features=found.n_features or TEXT_FEATURES, zero_based=True, ngrams=(low, high))
    return found


def _check_settings(how: Reading) -> None:
    """Refuse invalid settings; the error names the setting."""
    grams, width = how.ngrams, how.n_features
    in_range = width is None or (_is_positive_integer(width) and width <= MAX_FEATURES)
    pair = isinstance(grams, tuple | list) and len(grams) == 2 and all(_is_positive_integer(one) for one in grams)
    for name, holds, wanted in (
        ("categorical", how.categorical in ("onehot", "hash"), '"onehot" or "hash"'),
        ("n_features", in_range, f"an integer from 1 to {MAX_FEATURES:,}, or None"),
        ("zero_based", isinstance(how.zero_based, bool) or how.zero_based == "auto", 'True, False or "auto"'),
        ("multilabel", how.multilabel is None or isinstance(how.multilabel, bool), "True, False or None"),
        ("label", how.label is None or isinstance(how.label, str | int), "the name or number of a column, or None"),
        ("header", isinstance(how.header, bool), "True or False"),
        ("labelled", isinstance(how.labelled, bool), "True or False"),
        (
            "ngrams",
            pair and grams[0] <= grams[1] <= MAX_NGRAM,
            f"two integers with 1 ≤ first ≤ last ≤ {MAX_NGRAM}",
        ),
    ):
        if not holds:
            raise ValueError(f"{name} must be {wanted}, got {getattr(how, name)!r}.")
    if how.n_features is not None and format_family(how.format) == "table" and how.categorical == "onehot":
        raise ValueError('n_features must be None for tables, whose columns determine it, unless categorical="hash".')


def _is_positive_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


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


def parse_tasks(source: Any, how: Reading, size: int = CHUNK_BYTES, longest: int | None = None) -> Iterator[ParseTask]:
    """Split a source into blocks of about `size` bytes, each a task that any thread can run to parse it.

    A line of more than `longest` bytes is refused.
    """
    for path in expand_paths(source):
        before = file_stamps([path]) if path != STDIN else ()
        if how.format in ("svmlight", "text"):
            parse = _svmlight_block if how.format == "svmlight" else _text_block
            for chunk in line_chunks(path, size, longest):
                yield partial(_run_unless_changed, partial(parse, path, how, chunk), path, before)
        else:
            assert how.layout is not None
            for batch in table_batches.batches(path, how.format, size, how.header):
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


# -- scanning --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contents:
    """A summary of the contents of a source, and how it is read."""

    how: Reading
    rows: int
    stored: int
    radius2: float  # 0 if it was not computed
    labels: tuple[Any, ...] | None  # sorted; None if there are none, or too many to be classes
    counts: tuple[int, ...]
    dense: bool
    most: int = -1  # the highest column, and whether there is a column 0, as written
    zero: bool = False


@dataclass
class Inventory:
    """Counts and ranges over the rows of a source, collected block by block."""

    rows: int = 0
    stored: int = 0
    most: int = -1  # the highest column as written
    zero: bool = False  # whether an index 0 was found
    several: bool = False
    counts: dict[Any, int] | None = field(default_factory=dict)  # the count of each label; None if there are too many

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block."""
        self.rows += block.rows
        self.several = self.several or block.several
        if sp.issparse(block.X):
            self.stored += block.X.nnz
            self.most = max(self.most, int(block.X.indices.max(initial=-1)))
            self.zero = self.zero or bool((block.X.indices == 0).any())
        else:
            self.stored += block.X.size
            self.most = block.X.shape[1] - 1
        if block.labels is not None:
            self._count(block.labels)

    def add_preview(self, glance: svmlight.LinePreview) -> None:
        """Add lines that were previewed but not parsed."""
        self.rows += glance.labels.size
        self.stored += glance.stored
        self.most = max(self.most, glance.most)
        self.zero = self.zero or glance.least == 0
        self._count(glance.labels)

    def _count(self, labels: Array) -> None:
        if self.counts is not None:
            found, counts = np.unique(labels, return_counts=True)
            for label, count in zip(found.tolist(), counts.tolist(), strict=True):
                self.counts[label] = self.counts.get(label, 0) + count
            if len(self.counts) > MAX_LABELS:
                self.counts = None

    def complete_reading(self, how: Reading, path: str | None = None) -> Reading:
        """The reading, completed by what was found; an error about a contradiction names `path`."""
        if how.format == "svmlight":
            zero = self.zero if how.zero_based == "auto" else bool(how.zero_based)
            shift = 1 if how.zero_based == "auto" and not zero else 0
            width = max(self.most + 1 - shift, 1)
            if how.n_features is not None and width > how.n_features:
                raise FileError(f"expected {how.n_features:,} features, found index {self.most:,}", path)
            how = replace(how, zero_based=zero, n_features=how.n_features or width)
            if how.multilabel or (how.multilabel is None and self.several):
                if self.counts is None:
                    raise FileError(f"expected at most {MAX_LABELS:,} different labels, found more", path)
                how = replace(how, multilabel=True, labels=tuple(sorted(self.counts)))
            return replace(how, multilabel=bool(how.multilabel))
        return replace(how, n_features=self.most + 1) if how.n_features is None else how

    def shift(self, how: Reading) -> int:
        """The offset to subtract from columns that were read before it was known where they start."""
        return 1 if how.format == "svmlight" and how.zero_based == "auto" and not self.zero else 0

    def contents(self, how: Reading, radius2: float = 0.0, dense: bool = False) -> Contents:
        """A summary of what was found."""
        labels = None if not self.counts else tuple(sorted(self.counts))
        counts = () if not self.counts or labels is None else tuple(self.counts[label] for label in labels)
        return Contents(how, self.rows, self.stored, radius2, labels, counts, dense, self.most, self.zero)


def merge_contents(parts: Sequence[Contents], how: Reading) -> tuple[Contents, int]:
    """The combined contents of several sources under `how`, and the offset of their columns."""
    inventory = Inventory(
        rows=sum(part.rows for part in parts),
        stored=sum(part.stored for part in parts),
        most=max(part.most for part in parts),
        zero=any(part.zero for part in parts),
        several=any(bool(part.how.multilabel) for part in parts),
    )
    for part in parts:
        if part.labels is None and part.rows:
            inventory.counts = None
        for label, count in zip(part.labels or (), part.counts, strict=True):
            if inventory.counts is not None:
                inventory.counts[label] = inventory.counts.get(label, 0) + count
    if inventory.counts is not None and len(inventory.counts) > MAX_LABELS:
        inventory.counts = None
    radius2, dense = max(part.radius2 for part in parts), all(part.dense for part in parts if part.rows)
    return inventory.contents(inventory.complete_reading(how), radius2, dense), inventory.shift(how)


def preview_tasks(
    source: Any, how: Reading, size: int = CHUNK_BYTES, longest: int | None = None
) -> Iterator[Callable[[], RowBlock | svmlight.LinePreview]]:
    """As `parse_tasks`, but svmlight lines in the common form are only previewed.

    They are parsed when they are used, and may be refused then. Only for a reading whose first column is not yet known,
    as for `Inventory`.
    """
    if how.format != "svmlight" or how.zero_based != "auto":
        yield from parse_tasks(source, how, size, longest)
        return
    for path in expand_paths(source):
        before = file_stamps([path])
        for chunk in line_chunks(path, size, longest):
            yield partial(_run_unless_changed, partial(_preview_or_parse, path, how, chunk), path, before)
        check_unchanged([path], before)


def _preview_or_parse(path: str, how: Reading, chunk: LineChunk) -> RowBlock | svmlight.LinePreview:
    return svmlight.preview_lines(chunk.data, chunk.size) or _svmlight_block(path, how, chunk)


def with_layout(source: Any, how: Reading, size: int = CHUNK_BYTES) -> Reading:
    """The reading with the layout of a table, which must be known before rows can be encoded."""
    if how.format in ("svmlight", "text") or how.layout is not None:
        return how
    layout = table_layout.scan_layout(
        expand_paths(source),
        how.format,
        size,
        header=how.header,
        label=how.label,
        labelled=how.labelled,
        categorical=how.categorical,
        hashed=how.n_features or HASHED_FEATURES,
    )
    if layout.n_features > MAX_FEATURES:
        raise FileError(
            f"expected at most {MAX_FEATURES:,} features, found {layout.n_features:,}", expand_paths(source)[0]
        )
    return replace(how, layout=layout, n_features=layout.n_features)


@contextmanager
def rereadable(source: Any, how: Reading, scan: bool = False) -> Iterator[Any]:
    """The source in a form that can be read twice, which tables and sources with a prior scan need."""
    with spooled(source) if scan or format_family(how.format) == "table" else nullcontext(source) as found:
        yield found


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


# -- public functions ------------------------------------------------------------------------------------------------


def read(source: Any, *, query_id: bool = False, like: Reading | None = None, **settings: Any) -> tuple[Any, ...]:
    r"""Read a file into rows and labels.

    Parameters
    ----------
    source : path, pattern of paths, sequence of paths, or "-"
        svmlight (LIBSVM), CSV, TSV, Parquet, Arrow, or lines of `label<TAB>text`; the text formats also as .gz and
        .zst. "-" is standard input. A pipe, such as `<(command)`, is copied to a temporary file first.
    query_id : bool, default=False
        svmlight: whether to also return the `qid` of each row, −1 if it has none.
    like : Reading, optional
        Read the file as another one was, such as `reading_` of a model trained by `rosenblatt.fit`.
    **settings
        format, n_features, zero_based, multilabel, label, header, categorical, ngrams, labelled: see `Reading`.

    Returns
    -------
    X : ndarray or csr_matrix of shape (n, d)
    y : ndarray of shape (n,), or an indicator of shape (n, K) if rows have several labels
    query : ndarray of shape (n,)
        If `query_id` is True.

    Raises
    ------
    FileError
        If the file is not as expected: names the file, line, column, and what was expected.

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.svm")
    >>> _ = path.write_text("+1 1:0.5 3:2  # a comment\n-1 2:25e-2\n")
    >>> X, y = rosenblatt.read(path)
    >>> X.toarray()
    array([[0.5 , 0.  , 2.  ],
           [0.  , 0.25, 0.  ]])
    >>> y
    array([ 1., -1.])
    """
    with spooled(source, stdin=False) as source:
        how = make_reading(source, like, **settings)
        with rereadable(source, how) as again:
            X, y, queries = _read_all(again, with_layout(again, how))
    return (X, y, queries) if query_id else (X, y)


def _read_all(source: Any, how: Reading) -> tuple[Any, Any, Any]:
    """All rows of a source, their labels, and their query ids if there are any."""
    inventory, found = Inventory(), []
    for block in row_blocks(source, how):
        inventory.add(block)
        found.append(block)
    if not inventory.rows:
        raise FileError("expected rows, found none", expand_paths(source)[0])
    final = inventory.complete_reading(how, expand_paths(source)[0])
    assert final.n_features is not None
    X = _concatenate_blocks([block.X for block in found], inventory.shift(how), final.n_features)
    labels = [encode_target(block, final) for block in found]
    y = None if any(one is None for one in labels) else np.concatenate(labels)
    queries = [block.queries for block in found if block.queries is not None]
    return X, y, np.concatenate(queries) if queries else None


def _concatenate_blocks(parts: list[Any], shift: int, width: int) -> Any:
    """All rows in one matrix; empties the parts on the way to save memory."""
    if not sp.issparse(parts[0]):
        return np.concatenate(parts)
    sizes = np.array([part.nnz for part in parts])
    starts = np.concatenate(
        [[0], *(part.indptr[1:] + offset for part, offset in zip(parts, _offsets(sizes), strict=True))]
    )
    values, columns = np.empty(int(sizes.sum())), np.empty(int(sizes.sum()), np.uint32)
    for part, at in zip(parts, _offsets(sizes), strict=True):
        values[at : at + part.nnz] = part.data
        np.subtract(part.indices.view(np.uint32), np.uint32(shift), out=columns[at : at + part.nnz])
        part.data = part.indices = np.zeros(0)
    return csr_from_arrays(values, columns, starts.astype(np.int64), width)


def _offsets(sizes: Array) -> Array:
    return np.cumsum(sizes) - sizes


def stream(
    source: Any, memory: str | int = "64MB", *, like: Reading | None = None, **settings: Any
) -> Iterator[tuple[Any, Any]]:
    r"""Read a file of any size in blocks of bounded size, all with the same number of columns.

    The file is read twice unless `n_features` (for svmlight also `zero_based`) is given: a first scan finds them.

    Parameters
    ----------
    source : path, pattern of paths, or sequence of paths
        As for `read`.
    memory : str or int, default="64MB"
        The memory limit for a block, including what is needed to parse it.
    like, **settings
        As for `read`.

    Yields
    ------
    X, y : the rows and labels of a block

    Examples
    --------
    >>> import rosenblatt, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "rows.csv")
    >>> _ = path.write_text("height,colour,label\n1.5,red,yes\n2,blue,no\n")
    >>> for X, y in rosenblatt.stream(path, memory="16MB"):
    ...     print(X.toarray(), y)
    [[1.5 0.  1. ]
     [2.  1.  0. ]] ['yes' 'no']
    """
    size, longest = block_bytes(in_bytes(memory)), max_line_bytes(in_bytes(memory))
    with spooled(source, stdin=False) as source:
        how = make_reading(source, like, **settings)
        scan = not how.known or (how.format == "svmlight" and how.multilabel is not False and like is None)
        with rereadable(source, how, scan) as again:
            how = with_layout(again, how, size)
            if scan and how.layout is None:
                how = _scan_rows(again, how, size, longest)
            for block in row_blocks(again, how, size, longest):
                yield block.X, encode_target(block, how)


def _scan_rows(source: Any, how: Reading, size: int, longest: int) -> Reading:
    """The reading, completed by a scan of all rows."""
    inventory = Inventory()
    for block in row_blocks(source, how, size, longest):
        inventory.add(block)
    if not inventory.rows:
        raise FileError("expected rows, found none", expand_paths(source)[0])
    return inventory.complete_reading(how, expand_paths(source)[0])


def block_bytes(memory: int) -> int:
    """The number of bytes to read at once, such that they and their rows stay within `memory`."""
    if memory < 8_000_000:
        raise ValueError(f"memory must be at least 8MB, got {memory:,} bytes.")
    return min(CHUNK_BYTES, max_line_bytes(memory))


def max_line_bytes(memory: int) -> int:
    """The longest line that, with its row and what is needed to parse it, stays within `memory`."""
    return memory // 16
