"""CoNLL columns: one token per line, its columns separated by spaces or tabs, a blank line between sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, overload

import numpy as np

from rosenblatt.compiled.machine_code import exactly
from rosenblatt.formats.byte_sources import LineChunk, expand_paths, line_chunks
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.interning import Words, WordTable, intern
from rosenblatt.formats.vocabulary import Vocabulary

Array = np.ndarray[Any, Any]
CHUNK = 1 << 19  # bytes of text that are parsed at a time
LONGEST_LINE = 1 << 24  # bytes: no token is that long, and a compressed file of one huge line would fill the memory
LINE_FEED, SPACE, TAB, RETURN = 10, 32, 9, 13
CELLS, BREAKS, LINES, COLUMNS, FIRST, FOUND = range(6)


@exactly
def _parse(data: Array, size: int, table: WordTable, cells: Array, breaks: Array, tally: Array) -> bool:
    """Number the cells of complete lines; False if a line has a different number of columns from those before.

    `breaks` gets the number of cells at each blank line.
    """
    at = 0
    while at < size:
        tally[LINES] += 1
        found = 0
        while data[at] != LINE_FEED:
            if data[at] == SPACE or data[at] == TAB or data[at] == RETURN:
                at += 1
                continue
            begin = at
            while data[at] != LINE_FEED and data[at] != SPACE and data[at] != TAB and data[at] != RETURN:
                at += 1
            cells[tally[CELLS]] = intern(table, data, begin, at)
            tally[CELLS] += 1
            found += 1
        at += 1
        if found == 0:
            breaks[tally[BREAKS]] = tally[CELLS]
            tally[BREAKS] += 1
        elif tally[COLUMNS] == 0:
            tally[COLUMNS], tally[FIRST] = found, tally[LINES]
        elif tally[COLUMNS] != found:
            tally[FOUND] = found
            return False
    return True


@dataclass(frozen=True)
class ColumnSentences(Sequence[list[tuple[str, ...]]]):
    """Sentences whose tokens are columns of text; a sequence of lists of tuples.

    Attributes
    ----------
    words : Vocabulary
        The distinct cells.
    cells : ndarray of shape (tokens, columns)
        The number of each cell in `words`.
    bounds : ndarray
        The first token of each sentence, and the end.
    """

    words: Vocabulary
    cells: Array
    bounds: Array

    def __len__(self) -> int:
        return int(self.bounds.size - 1)

    @overload
    def __getitem__(self, at: int) -> list[tuple[str, ...]]: ...
    @overload
    def __getitem__(self, at: slice) -> list[list[tuple[str, ...]]]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[place] for place in range(len(self))[at]]
        place = range(len(self))[at]
        names = self.words.names
        rows = self.cells[int(self.bounds[place]) : int(self.bounds[place + 1])]
        return [tuple(names[cell] for cell in row) for row in rows.tolist()]

    def column(self, number: int) -> list[list[str]]:
        """One column of every sentence."""
        names, bounds = self.words.names, self.bounds.tolist()
        cells = [names[cell] for cell in self.cells[:, number].tolist()]
        return [cells[begin:end] for begin, end in pairwise(bounds)]

    def without_last(self) -> ColumnSentences:
        """All columns except the last."""
        return ColumnSentences(self.words, np.ascontiguousarray(self.cells[:, :-1]), self.bounds)


class ColumnReader:
    """Reads CoNLL columns piece by piece."""

    def __init__(self, path: str, columns: int = 0, first: int = 0, words: Words | None = None) -> None:
        self.path, self.columns, self.first = path, columns, first
        self.words = Words() if words is None else words

    def parse(self, chunk: LineChunk) -> tuple[Array, Array]:
        """The cells of a chunk, and the tokens at whose ends sentences end."""
        self._check_text(chunk)
        most = chunk.size // 2 + 1
        self.words.reserve(most, chunk.size)
        cells, breaks = np.empty(most, dtype=np.int32), np.empty(chunk.size + 1, dtype=np.int64)
        tally = np.zeros(6, dtype=np.int64)
        tally[COLUMNS] = self.columns
        good = _parse(chunk.data, chunk.size, self.words.table, cells, breaks, tally)
        if tally[FIRST]:
            self.columns, self.first = int(tally[COLUMNS]), chunk.line + int(tally[FIRST]) - 1
        if not good:
            what = f"expected {self.columns} columns, as in line {self.first}, found {int(tally[FOUND])}"
            raise FileError(what, self.path, chunk.line + int(tally[LINES]) - 1)
        columns = max(self.columns, 1)
        return cells[: tally[CELLS]].reshape(-1, columns).copy(), breaks[: tally[BREAKS]] // columns

    def _check_text(self, chunk: LineChunk) -> None:
        whole = chunk.data[: chunk.size].tobytes()
        try:
            whole.decode()
        except UnicodeDecodeError as error:
            line = chunk.line + whole.count(b"\n", 0, error.start)
            raise FileError("expected text in UTF-8, found other bytes", self.path, line) from None


def _sentence_bounds(ends: Array, tokens: int) -> Array:
    """Bounds from the positions of blank lines: several in a row count as one, and the last is optional."""
    distinct = np.unique(np.concatenate([[0], ends, [tokens]]))
    return distinct.astype(np.uint64)


def column_sentences(source: Any) -> ColumnSentences:
    """All sentences of files with CoNLL columns."""
    cells, ends, tokens = [], [], 0
    reader: ColumnReader | None = None
    for path in expand_paths(source):
        reader = ColumnReader(path, reader.columns, reader.first, reader.words) if reader else ColumnReader(path)
        for chunk in _chunks(path):
            some, breaks = reader.parse(chunk)
            cells.append(some)
            ends.append(breaks + tokens)
            tokens += some.shape[0]
        ends.append(np.array([tokens]))
    assert reader is not None
    if not tokens:
        raise FileError("expected tokens, found none", reader.path)
    whole = np.concatenate([part for part in cells if part.size])
    return ColumnSentences(reader.words.vocabulary(), whole, _sentence_bounds(np.concatenate(ends), tokens))


def sentence_blocks(source: Any) -> Iterator[ColumnSentences]:
    """Sentences of files with CoNLL columns, some at a time, in bounded memory."""
    for path in expand_paths(source):
        reader, open_sentence = ColumnReader(path), list[Array]()
        for chunk in _chunks(path):
            some, ends = reader.parse(chunk)
            open_sentence.append(some)
            if not ends.size:
                continue  # joined when the sentence ends, so that a long one is copied once
            cells = _joined(open_sentence)
            ends, words = ends + (cells.shape[0] - some.shape[0]), reader.words.vocabulary()
            done = int(ends[-1])
            if done:
                yield ColumnSentences(words, cells[:done], _sentence_bounds(ends, done))
            reader, left = _reader_after(reader, words, cells[done:])
            open_sentence = [left]
        cells = _joined(open_sentence)
        if cells.size:
            bounds = np.array([0, cells.shape[0]], dtype=np.uint64)
            yield ColumnSentences(reader.words.vocabulary(), cells, bounds)


def _chunks(path: str) -> Iterator[LineChunk]:
    return line_chunks(path, CHUNK, LONGEST_LINE, "is not a token", returns=True)


def _joined(parts: list[Array]) -> Array:
    """All cells in one array; the number of columns may be unknown before the first part."""
    found = [part for part in parts if part.size]
    return np.concatenate(found) if found else np.zeros((0, 0), dtype=np.int32)


def _reader_after(reader: ColumnReader, words: Vocabulary, left: Array) -> tuple[ColumnReader, Array]:
    """A reader with only the words of the remaining cells, and these cells renumbered."""
    used, cells = np.unique(left, return_inverse=True)
    whole, begins = words.text.tobytes(), np.append(0, words.ends)
    left_words = Words(tuple(whole[begins[word] : begins[word + 1]] for word in used.tolist()))
    after = ColumnReader(reader.path, reader.columns, reader.first, left_words)
    return after, cells.reshape(left.shape).astype(np.int32)


def read_conll(source: str | PathLike[str] | Sequence[Any]) -> tuple[ColumnSentences, list[list[str]]]:
    r"""Read sentences from CoNLL columns, the last of which is the tag.

    One token per line, its columns separated by spaces or tabs, and a blank line between sentences.

    Parameters
    ----------
    source : path, pattern of paths, sequence of paths, or "-"
        UTF-8, plain or compressed (.gz, .zst).

    Returns
    -------
    X : sequence of sentences
        Each a list of tokens, each a tuple of all columns but the last; stored as integers.
    y : list of lists of str
        The tags.

    Raises
    ------
    FileError
        If a line has a different number of columns from those before it; the error names the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rosenblatt import SequencePerceptron, read_conll
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.conll")
    >>> _ = path.write_text("the DT B-NP\ndog NN I-NP\nbarks VB O\n\nit PRP B-NP\n")
    >>> X, y = read_conll(path)
    >>> X[1], y[1]
    ([('it', 'PRP')], ['B-NP'])
    >>> template = "U00:%x[0,0]\nU01:%x[-1,1]/%x[0,1]\nB"
    >>> SequencePerceptron(template=template, random_state=0).fit(X, y).predict(X)
    [['B-NP', 'I-NP', 'O'], ['B-NP']]
    """
    found = column_sentences(source)
    if found.cells.shape[1] < 2:
        raise FileError("expected at least 2 columns, the last being the tag, found 1", expand_paths(source)[0])
    return found.without_last(), found.column(found.cells.shape[1] - 1)
