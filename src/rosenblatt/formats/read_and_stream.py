"""`read` and `stream`: files of any format as rows and labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.formats.byte_sources import (
    CHUNK_BYTES,
    expand_paths,
    spooled,
)
from rosenblatt.formats.contents import Inventory, with_layout
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading, format_family, in_bytes, make_reading
from rosenblatt.formats.row_blocks import csr_from_arrays, encode_target, row_blocks

Array = np.ndarray[Any, Any]


@contextmanager
def rereadable(source: Any, how: Reading, scan: bool = False) -> Iterator[Any]:
    """The source in a form that can be read twice, which tables and sources with a prior scan need."""
    with spooled(source) if scan or format_family(how.format) == "table" else nullcontext(source) as found:
        yield found


def read(source: Any, *, query_id: bool = False, like: Reading | None = None, **settings: Any) -> tuple[Any, ...]:
    r"""Read a file into rows and labels.

    Parameters
    ----------
    source : path, pattern of paths, sequence of paths, or "-"
        svmlight (LIBSVM), CSV, TSV, Parquet, Arrow, JSON lines, .npy, .npz, or lines of `label<TAB>text`; also as .gz,
        .bz2 and .zst. "-" is standard input. A pipe, such as `<(command)`, is copied to a temporary file first.
    query_id : bool, default=False
        svmlight: whether to also return the `qid` of each row, −1 if it has none.
    like : Reading, optional
        Read the file as another one was, such as `reading_` of a model trained by `rosenblatt.fit`.
    **settings
        format, n_features, zero_based, multilabel, label, header, delimiter, encoding, categorical, ngrams, labelled:
        see `Reading`.

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
    _, *found = read_rows(source, like, **settings)
    return tuple(found if query_id else found[:2])


def read_rows(source: Any, like: Reading | None = None, **settings: Any) -> tuple[Reading, Any, Any, Any]:
    """How a file was read, X, y and the query of each row."""
    with spooled(source, stdin=False) as source:
        how = make_reading(source, like, **settings)
        with rereadable(source, how) as again:
            return _read_all(again, with_layout(again, how))


def _read_all(source: Any, how: Reading) -> tuple[Reading, Any, Any, Any]:
    """How a source was read, all of its rows, their labels, and their query ids if there are any."""
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
    return final, X, y, np.concatenate(queries) if queries else None


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
