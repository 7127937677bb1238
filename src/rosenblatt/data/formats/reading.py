"""`read` and `stream`: files of any format as rows and labels.

A `Reading` says how a file becomes rows: its format and settings, and, once it was scanned, the number of features,
where indices start, what table columns mean. It is kept with a model, so that new files are read as the first one was.
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
from rosenblatt.data.formats import svmlight, tables, text
from rosenblatt.data.formats.byte_sources import (
    CHUNK,
    FORMATS,
    STDIN,
    Chunk,
    Stamp,
    chunks,
    detect,
    expand,
    spooled,
    stamps,
    unchanged,
)

Array = np.ndarray[Any, Any]
MOST_LABELS = 1 << 16  # labels up to which they can be classes
MOST_FEATURES = svmlight.HIGHEST  # columns are counted in 32 bits, as SciPy does
LONGEST_GRAM = 100  # words
SIZES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 1 << 10, "MI": 1 << 20, "GI": 1 << 30}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", re.IGNORECASE)


def in_bytes(memory: str | int) -> int:
    """A number of bytes, as in "256MB", "1.5 GiB" or 1000000."""
    if isinstance(memory, int | np.integer) and memory > 0:
        return int(memory)
    found = SIZE.fullmatch(memory) if isinstance(memory, str) else None
    if found is None or found.group(2).upper() not in SIZES:
        raise ValueError(f'memory must be a number of bytes, such as "256MB", got {memory!r}.')
    return int(Fraction(found.group(1)) * SIZES[found.group(2).upper()])


@dataclass(frozen=True)
class Reading:
    """How a file becomes rows and labels.

    Attributes
    ----------
    format : str
        "svmlight", "csv", "tsv", "parquet", "arrow" or "text".
    n_features : int or None
        None until it is known.
    zero_based : bool or "auto"
        svmlight: whether indices count from 0. "auto": if an index 0 is there.
    multilabel : bool or None
        svmlight: whether y is an indicator of labels. None: if a row has other than one.
    labels : tuple of float or None
        svmlight, several labels a row: the label of each column of y.
    label : str, int or None
        Tables: the column of the label. None: one called label, target, class or y.
    header : bool
        CSV and TSV: whether the first line has the names of columns.
    categorical : {"onehot", "hash"}
        Tables: what becomes of names.
    ngrams : tuple of int
        Text: the shortest and the longest n-gram of words.
    labelled : bool
        Text: whether each line starts with a label and a tab. Tables: whether a column is the label.
    layout : Layout or None
        Tables: what each column means, once it is known.
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
    layout: tables.Layout | None = None

    @property
    def known(self) -> bool:
        """Whether rows can be made without a scan."""
        if self.format in ("svmlight", "text"):
            return self.n_features is not None and self.zero_based != "auto"
        return self.layout is not None


def family(format: str) -> str:
    """What can take the place of each other: svmlight, text, and tables of any kind."""
    return format if format in ("svmlight", "text") else "table"


TEXT_FEATURES, HASHED_NAMES = 1 << 20, 1 << 16


def reading(source: Any, like: Reading | None = None, **settings: Any) -> Reading:
    """How to read this source, from what is said and, for the rest, from the name of its first file."""
    if like is not None:
        if settings:
            raise ValueError(f"like says how to read; {sorted(settings)} cannot be given too.")
        return like
    kind = settings.pop("format", None) or detect(expand(source)[0])
    unknown = sorted(set(settings) - set(Reading.__dataclass_fields__) | (set(settings) & {"layout", "labels"}))
    if unknown or kind not in FORMATS:
        what = f"no setting {unknown[0]!r}" if unknown else f"no format {kind!r}: it is one of {FORMATS}"
        raise ValueError(f"There is {what}.")
    if isinstance(settings.get("n_features"), np.integer):
        settings["n_features"] = int(settings["n_features"])  # which does not overflow
    found = Reading(kind, **settings)
    _check(found)
    if kind == "text":
        low, high = found.ngrams
        found = replace(found, n_features=found.n_features or TEXT_FEATURES, zero_based=True, ngrams=(low, high))
    return found


def _check(how: Reading) -> None:
    """Refuse settings that say nothing, each by its name."""
    grams, width = how.ngrams, how.n_features
    in_range = width is None or (_whole_number(width) and width <= MOST_FEATURES)
    pair = isinstance(grams, tuple | list) and len(grams) == 2 and all(_whole_number(one) for one in grams)
    for name, holds, wanted in (
        ("categorical", how.categorical in ("onehot", "hash"), '"onehot" or "hash"'),
        ("n_features", in_range, f"a whole number from 1 to {MOST_FEATURES:,}, or None"),
        ("zero_based", isinstance(how.zero_based, bool) or how.zero_based == "auto", 'True, False or "auto"'),
        ("multilabel", how.multilabel is None or isinstance(how.multilabel, bool), "True, False or None"),
        ("label", how.label is None or isinstance(how.label, str | int), "the name or the number of a column"),
        ("header", isinstance(how.header, bool), "True or False"),
        ("labelled", isinstance(how.labelled, bool), "True or False"),
        (
            "ngrams",
            pair and grams[0] <= grams[1] <= LONGEST_GRAM,
            f"two whole numbers, 1 ≤ first ≤ last ≤ {LONGEST_GRAM}",
        ),
    ):
        if not holds:
            raise ValueError(f"{name} must be {wanted}, got {getattr(how, name)!r}.")
    if how.n_features is not None and family(how.format) == "table" and how.categorical == "onehot":
        raise ValueError('n_features is not for tables, whose columns tell it, unless categorical="hash".')


def _whole_number(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


@dataclass(frozen=True)
class Piece:
    """Some rows: an array or CSR matrix, with labels as they are written."""

    X: Any
    labels: Array | None  # one a row; for several, all of them, those of row i from starts[i] on
    starts: Array | None = None
    queries: Array | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    @property
    def several(self) -> bool:
        """Whether a row has other than one label."""
        return self.starts is not None


Task = Callable[[], Piece]


def tasks(source: Any, how: Reading, size: int = CHUNK, longest: int | None = None) -> Iterator[Task]:
    """The rows of a source, in pieces of about `size` bytes of its text, each ready to be parsed by any thread.

    A line that is longer than `longest` bytes is refused.
    """
    for path in expand(source):
        before = stamps([path]) if path != STDIN else ()
        if how.format in ("svmlight", "text"):
            parse = _svmlight if how.format == "svmlight" else _text
            for chunk in chunks(path, size, longest):
                yield partial(_unchanged, partial(parse, path, how, chunk), path, before)
        else:
            assert how.layout is not None
            for batch in tables.batches(path, how.format, size, how.header):
                yield partial(_unchanged, partial(_table, batch, how.layout), path, before)
        if before:
            unchanged([path], before)


def _unchanged(task: Callable[[], Any], path: str, before: Sequence[Stamp]) -> Any:
    """What a task makes; where it refuses rows of a file that has changed meanwhile, that is the error."""
    try:
        return task()
    except FileError:
        if before:
            unchanged([path], before)
        raise


def pieces(source: Any, how: Reading, size: int = CHUNK, longest: int | None = None) -> Iterator[Piece]:
    """The rows of a source, piece by piece. Columns are as written where it is not known where they start."""
    for task in tasks(source, how, size, longest):
        yield task()


def _table(batch: tables.Batch, layout: tables.Layout) -> Piece:
    return Piece(*tables.rows(batch, layout))


def _svmlight(path: str, how: Reading, chunk: Chunk) -> Piece:
    base = 1 if how.zero_based is False else 0
    limit = svmlight.HIGHEST - base if how.n_features is None else how.n_features - 1
    if how.n_features is not None and how.zero_based == "auto":
        limit += 1  # checked again when it is known where columns start
    limit = min(limit, svmlight.HIGHEST)
    lines = svmlight.parse(chunk.data, chunk.size, path, chunk.line, base=base, limit=limit)
    width = limit + 1 if how.n_features is not None else max(lines.most + 1 - base, 1)
    if lines.several and how.multilabel is False:
        row = int(np.argmax(np.diff(lines.label_starts) != 1))
        found = np.diff(lines.label_starts)[row]
        raise FileError(f"expected one label a row, found {found} in a row", path, _line(chunk, row))
    X = csr(lines.values, lines.columns, lines.starts, width)
    return Piece(X, lines.labels, lines.label_starts if lines.several else None, lines.queries)


def _line(chunk: Chunk, row: int) -> int:
    """The line of a row of svmlight: blank lines and comments are none."""
    lines = bytes(chunk.data[: chunk.size]).split(b"\n")
    filled = [k for k, line in enumerate(lines) if line.split(b"#")[0].strip()]
    return chunk.line + filled[row]


def csr(values: Array, columns: Array, starts: Array, width: int) -> Any:
    """A CSR matrix of these very arrays."""
    X = sp.csr_matrix((starts.size - 1, width))
    X.data, X.indices = values, columns.view(np.int32)
    X.indptr = starts.astype(np.int32) if values.size < 1 << 31 else starts
    return X


def _text(path: str, how: Reading, chunk: Chunk) -> Piece:
    assert how.n_features is not None
    found = text.hash_lines(
        chunk.data, chunk.size, path, chunk.line, features=how.n_features, ngrams=how.ngrams, labelled=how.labelled
    )
    X = csr(found.values, found.columns, found.starts, how.n_features)
    return Piece(X, np.array(found.labels, dtype=object) if how.labelled else None)


# -- what a scan finds -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contents:
    """What a source holds, and how it is read."""

    how: Reading
    rows: int
    stored: int
    radius2: float  # 0 where it was not looked for
    labels: tuple[Any, ...] | None  # in order; None when there are none, or too many to be classes
    counts: tuple[int, ...]
    dense: bool
    most: int = -1  # the highest column, and whether there is a column 0, as they were read
    zero: bool = False


@dataclass
class Inventory:
    """What there is to know about a source, gathered piece by piece."""

    rows: int = 0
    stored: int = 0
    most: int = -1  # the highest column as written
    zero: bool = False  # whether an index 0 was written
    several: bool = False
    counts: dict[Any, int] | None = field(default_factory=dict)  # of each label; None when there are too many

    def add(self, piece: Piece) -> None:
        """Take note of a piece."""
        self.rows += piece.rows
        self.several = self.several or piece.several
        if sp.issparse(piece.X):
            self.stored += piece.X.nnz
            self.most = max(self.most, int(piece.X.indices.max(initial=-1)))
            self.zero = self.zero or bool((piece.X.indices == 0).any())
        else:
            self.stored += piece.X.size
            self.most = piece.X.shape[1] - 1
        if piece.labels is not None:
            self._count(piece.labels)

    def see(self, glance: svmlight.Glance) -> None:
        """Take note of lines that were looked at, not parsed."""
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
            if len(self.counts) > MOST_LABELS:
                self.counts = None

    def settle(self, how: Reading, path: str | None = None) -> Reading:
        """The reading with what is known now; `path` is named where that cannot be."""
        if how.format == "svmlight":
            zero = self.zero if how.zero_based == "auto" else bool(how.zero_based)
            shift = 1 if how.zero_based == "auto" and not zero else 0
            width = max(self.most + 1 - shift, 1)
            if how.n_features is not None and width > how.n_features:
                raise FileError(f"expected {how.n_features:,} features, found an index of {self.most:,}", path)
            how = replace(how, zero_based=zero, n_features=how.n_features or width)
            if how.multilabel or (how.multilabel is None and self.several):
                if self.counts is None:
                    raise FileError(f"expected at most {MOST_LABELS:,} labels, found more", path)
                how = replace(how, multilabel=True, labels=tuple(sorted(self.counts)))
            return replace(how, multilabel=bool(how.multilabel))
        return replace(how, n_features=self.most + 1) if how.n_features is None else how

    def shift(self, how: Reading) -> int:
        """What must be taken from columns that were read before it was known where they start."""
        return 1 if how.format == "svmlight" and how.zero_based == "auto" and not self.zero else 0

    def contents(self, how: Reading, radius2: float = 0.0, dense: bool = False) -> Contents:
        """What was found, now that all of it is known."""
        labels = None if not self.counts else tuple(sorted(self.counts))
        counts = () if not self.counts or labels is None else tuple(self.counts[label] for label in labels)
        return Contents(how, self.rows, self.stored, radius2, labels, counts, dense, self.most, self.zero)


def united(parts: Sequence[Contents], how: Reading) -> tuple[Contents, int]:
    """What several sources hold together, read as `how` asks, and the shift of their columns."""
    facts = Inventory(
        rows=sum(part.rows for part in parts),
        stored=sum(part.stored for part in parts),
        most=max(part.most for part in parts),
        zero=any(part.zero for part in parts),
        several=any(bool(part.how.multilabel) for part in parts),
    )
    for part in parts:
        if part.labels is None and part.rows:
            facts.counts = None
        for label, count in zip(part.labels or (), part.counts, strict=True):
            if facts.counts is not None:
                facts.counts[label] = facts.counts.get(label, 0) + count
    if facts.counts is not None and len(facts.counts) > MOST_LABELS:
        facts.counts = None
    radius2, dense = max(part.radius2 for part in parts), all(part.dense for part in parts if part.rows)
    return facts.contents(facts.settle(how), radius2, dense), facts.shift(how)


def looked_through(
    source: Any, how: Reading, size: int = CHUNK, longest: int | None = None
) -> Iterator[Callable[[], Piece | svmlight.Glance]]:
    """As `tasks`, but plain lines of svmlight are only looked at: whoever uses them parses them, and may refuse them.

    Only for a reading of which it is not known where columns start, as `Inventory` counts them.
    """
    if how.format != "svmlight" or how.zero_based != "auto":
        yield from tasks(source, how, size, longest)
        return
    for path in expand(source):
        before = stamps([path])
        for chunk in chunks(path, size, longest):
            yield partial(_unchanged, partial(_looked, path, how, chunk), path, before)
        unchanged([path], before)


def _looked(path: str, how: Reading, chunk: Chunk) -> Piece | svmlight.Glance:
    return svmlight.glance(chunk.data, chunk.size) or _svmlight(path, how, chunk)


def prepared(source: Any, how: Reading, size: int = CHUNK) -> Reading:
    """The reading with what a table needs to be known before rows can be made at all."""
    if how.format in ("svmlight", "text") or how.layout is not None:
        return how
    layout = tables.scan(
        expand(source),
        how.format,
        size,
        header=how.header,
        label=how.label,
        labelled=how.labelled,
        categorical=how.categorical,
        hashed=how.n_features or HASHED_NAMES,
    )
    if layout.n_features > MOST_FEATURES:
        raise FileError(f"expected at most {MOST_FEATURES:,} features, found {layout.n_features:,}", expand(source)[0])
    return replace(how, layout=layout, n_features=layout.n_features)


@contextmanager
def lasting(source: Any, how: Reading, scan: bool = False) -> Iterator[Any]:
    """The source, such that it can be read as often as it must be: tables, and whatever is scanned first, twice."""
    with spooled(source) if scan or family(how.format) == "table" else nullcontext(source) as found:
        yield found


def shifted(piece: Piece, shift: int, width: int) -> Piece:
    """The piece with columns that start at 0."""
    if sp.issparse(piece.X):
        X = piece.X
        piece = replace(piece, X=csr(X.data, (X.indices - np.int32(shift)).view(np.uint32), X.indptr, width))
    return piece


def target(piece: Piece, how: Reading) -> Any:
    """The labels of a piece, or their indicator."""
    if not how.multilabel or piece.labels is None:
        return _named(piece.labels) if piece.labels is not None else None
    starts = np.arange(piece.rows + 1) if piece.starts is None else piece.starts
    known = np.array(how.labels or ())
    at = np.searchsorted(known, piece.labels)
    strange = ~np.isin(piece.labels, known)
    if strange.any():
        raise FileError(f"expected one of the labels {list(known)}, found {piece.labels[strange][0]}")
    y = np.zeros((piece.rows, known.size), np.int8)
    y[np.repeat(np.arange(piece.rows), np.diff(starts)), at] = 1
    return y


def _named(labels: Array) -> Array:
    return labels.astype(str) if labels.dtype.kind == "O" else labels


# -- what users call -------------------------------------------------------------------------------------------------


def read(source: Any, *, query_id: bool = False, like: Reading | None = None, **settings: Any) -> tuple[Any, ...]:
    r"""Read a file into rows and labels.

    Parameters
    ----------
    source : path, pattern of paths, sequence of paths, or "-"
        svmlight (LIBSVM), CSV, TSV, Parquet, Arrow, or lines of `label<TAB>text`; the text formats also as .gz and
        .zst. "-" is standard input. What a pipe holds, such as `<(command)`, is copied to a file first.
    query_id : bool, default=False
        svmlight: whether to return the `qid` of each row too, −1 where there is none.
    like : Reading, optional
        How another file was read, such as `reading_` of a model trained by `rosenblatt.fit`.
    **settings
        format, n_features, zero_based, multilabel, label, header, categorical, ngrams: see `Reading`.

    Returns
    -------
    X : ndarray or csr_matrix of shape (n, d)
    y : ndarray of shape (n,), or an indicator of shape (n, K) where rows have several labels
    query : ndarray of shape (n,)
        If asked for.

    Raises
    ------
    FileError
        Where the file is not what it should be: its name, line, column, and what was expected.

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
        how = reading(source, like, **settings)
        with lasting(source, how) as again:
            X, y, queries = _whole(again, prepared(again, how))
    return (X, y, queries) if query_id else (X, y)


def _whole(source: Any, how: Reading) -> tuple[Any, Any, Any]:
    """All rows of a source, their labels, and the query of each where there is one."""
    facts, found = Inventory(), []
    for piece in pieces(source, how):
        facts.add(piece)
        found.append(piece)
    if not facts.rows:
        raise FileError("expected rows, found none", expand(source)[0])
    final = facts.settle(how, expand(source)[0])
    assert final.n_features is not None
    X = _joined([piece.X for piece in found], facts.shift(how), final.n_features)
    labels = [target(piece, final) for piece in found]
    y = None if any(one is None for one in labels) else np.concatenate(labels)
    queries = [piece.queries for piece in found if piece.queries is not None]
    return X, y, np.concatenate(queries) if queries else None


def _joined(parts: list[Any], shift: int, width: int) -> Any:
    """All rows in one; the parts are used up."""
    if not sp.issparse(parts[0]):
        return np.concatenate(parts)
    sizes = np.array([part.nnz for part in parts])
    starts = np.concatenate(
        [[0], *(part.indptr[1:] + offset for part, offset in zip(parts, _before(sizes), strict=True))]
    )
    values, columns = np.empty(int(sizes.sum())), np.empty(int(sizes.sum()), np.uint32)
    for part, at in zip(parts, _before(sizes), strict=True):
        values[at : at + part.nnz] = part.data
        np.subtract(part.indices.view(np.uint32), np.uint32(shift), out=columns[at : at + part.nnz])
        part.data = part.indices = np.zeros(0)
    return csr(values, columns, starts.astype(np.int64), width)


def _before(sizes: Array) -> Array:
    return np.cumsum(sizes) - sizes


def stream(
    source: Any, memory: str | int = "64MB", *, like: Reading | None = None, **settings: Any
) -> Iterator[tuple[Any, Any]]:
    r"""Read a file of any size in pieces of bounded size, each of the same width.

    The file is read twice unless `n_features` (for svmlight also `zero_based`) is given: the first scan finds them.

    Parameters
    ----------
    source : path, pattern of paths, or sequence of paths
        As for `read`.
    memory : str or int, default="64MB"
        What a piece, with all that is needed to make it, may take.
    like, **settings
        As for `read`.

    Yields
    ------
    X, y : rows and labels of a piece

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
    size, longest = piece_size(in_bytes(memory)), longest_line(in_bytes(memory))
    with spooled(source, stdin=False) as source:
        how = reading(source, like, **settings)
        scan = not how.known or (how.format == "svmlight" and how.multilabel is not False and like is None)
        with lasting(source, how, scan) as again:
            how = prepared(again, how, size)
            if scan and how.layout is None:
                how = _scanned(again, how, size, longest)
            for piece in pieces(again, how, size, longest):
                yield piece.X, target(piece, how)


def _scanned(source: Any, how: Reading, size: int, longest: int) -> Reading:
    """The reading with what only a look at all rows can tell."""
    facts = Inventory()
    for piece in pieces(source, how, size, longest):
        facts.add(piece)
    if not facts.rows:
        raise FileError("expected rows, found none", expand(source)[0])
    return facts.settle(how, expand(source)[0])


def piece_size(memory: int) -> int:
    """Bytes of text to read at once, so that they and their rows stay within `memory`."""
    if memory < 8_000_000:
        raise ValueError(f"memory must be at least 8MB, got {memory:,} bytes.")
    return min(CHUNK, longest_line(memory))


def longest_line(memory: int) -> int:
    """Bytes of a line that, with its row and all that is needed to make it, stays within `memory`."""
    return memory // 16
