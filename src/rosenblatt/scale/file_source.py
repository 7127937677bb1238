"""The rows of files as a source of examples, piece by piece.

Pieces are parsed, or read from the cache and shuffled, in another thread while the solver learns from the previous
one: `FileRows.tasks` yields the functions that make them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rosenblatt.compiled.row_arrays import Dense, Sparse, radius2, read_only
from rosenblatt.compiled.row_gathering import gather
from rosenblatt.formats.byte_sources import expand_paths
from rosenblatt.formats.contents import Contents
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading
from rosenblatt.formats.row_blocks import RowBlock, encode_target, parse_tasks
from rosenblatt.learn.examples import Examples, Facts, class_weights
from rosenblatt.learn.labels import check_labels
from rosenblatt.learn.orders import Blocks, ShufflePool
from rosenblatt.learn.row_checks import encode_rows
from rosenblatt.scale.read_ahead import ahead
from rosenblatt.scale.row_cache import DAMAGED, CachedBlock, RowCache, read_blocks
from rosenblatt.shell.fitting import RowsWanted

Array = np.ndarray[Any, Any]
AT_ONCE = 16  # consecutive blocks that are read together


@dataclass(frozen=True)
class ExampleEncoder:
    """How rows become examples for one estimator."""

    how: Reading
    classes: Array | None  # None for regression
    shares: Array | None  # one weight per class
    n_features: int

    def size(self, contents: Contents) -> int:
        """The number of rows with a weight above 0."""
        return contents.rows if self.shares is None else int(np.array(contents.counts)[self.shares > 0].sum())

    def mass(self, contents: Contents) -> float:
        """The weight of all rows."""
        return float(contents.rows) if self.shares is None else float(np.dot(contents.counts, self.shares))

    def facts(self, contents: Contents, dtype: Any = np.float64) -> Facts:
        """Counts and sizes over all rows of these contents."""
        masses = None
        if contents.counts and not self.how.multilabel and self.classes is not None:
            masses = np.array(contents.counts, dtype=np.float64) * (1.0 if self.shares is None else self.shares)
        every = self.shares is None or bool(self.shares.all())  # else the longest row may have weight 0
        return Facts(
            self.n_features,
            self.classes,
            bool(self.how.multilabel),
            np.dtype(dtype),
            self.size(contents),
            self.mass(contents),
            contents.stored,
            contents.radius2 if every else 0.0,
            masses,
        )

    def examples(self, rows: Dense | Sparse, truth: Any, reach: float) -> Examples:
        """Examples of these rows and labels (numbers, codes of `classes`, or an indicator)."""
        weights = present = None
        if self.shares is not None:
            weights = self.shares[truth]
            if not weights.all():
                present = np.flatnonzero(weights).astype(np.uint64)
                reach = radius2(rows, present)
        return Examples(rows, self.n_features, truth, self.classes, weights, present, reach)

    def truth(self, labels: Array, names: tuple[str, ...] | None = None) -> Array:
        """Labels as codes, or as numbers for regression."""
        if self.classes is None:
            return labels.astype(np.float64)
        if names is not None:  # codes in the order of first occurrence
            return np.searchsorted(self.classes, np.array(names)).astype(np.int32)[labels]
        if labels.dtype.kind == "O":
            labels = labels.astype(str if self.classes.dtype.kind == "U" else self.classes.dtype)
        codes = np.searchsorted(self.classes, labels).astype(np.int32)
        unknown = self.classes[np.minimum(codes, self.classes.size - 1)] != labels
        if unknown.any():
            raise strange_label(labels[unknown][0])
        return codes

    def of_piece(self, piece: RowBlock) -> Examples:
        """Examples of a parsed piece."""
        if self.how.multilabel:
            truth = encode_target(piece, self.how)
        else:
            assert piece.labels is not None
            truth = self.truth(piece.labels)
        rows, reach = encode_rows(piece.X)
        return self.examples(rows, truth, reach)

    def of_blocks(self, blocks: CachedBlock, cache: RowCache, order: Array | None) -> Examples:
        """Examples of joined blocks of the cache, with their rows in this order."""
        values, columns, lengths, labels, counts = blocks
        columns -= np.uint32(cache.shift)  # −1 wraps around to the largest number
        if columns.max(initial=0) >= self.n_features:
            raise FileError(DAMAGED, cache.path)
        if self.classes is None and cache.names is not None:
            raise ValueError("The labels are names, but a regressor needs numbers.")
        if self.how.multilabel:
            counts = counts if counts.size else np.ones(lengths.size, np.uint32)
            starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
            truth = encode_target(RowBlock(np.empty((lengths.size, 0)), labels, starts), self.how)
        else:
            try:
                truth = self.truth(labels, cache.names)
            except ValueError as error:
                raise FileError(DAMAGED, cache.path) from error
        truth = truth if order is None else truth[order]
        rows: Dense | Sparse
        if cache.contents.dense:
            grid = values.reshape(lengths.size, -1)
            rows = Dense((grid if order is None else grid[order]).astype(np.float64, copy=False))
        else:
            starts = np.zeros(lengths.size + 1, np.uint32 if values.size < 1 << 32 else np.uint64)
            np.cumsum(lengths, out=starts[1:], dtype=starts.dtype)
            if order is None:
                rows = Sparse(values.astype(np.float64, copy=False), columns, starts)
            else:
                rows = Sparse(*gather(values, columns, starts, order))
        rows = type(rows)(*map(read_only, rows))
        return self.examples(rows, truth, cache.contents.radius2)


def example_encoder(wanted: RowsWanted, contents: Contents) -> ExampleEncoder:
    """The encoder of these rows for an estimator with these requirements."""
    how, d, weights = contents.how, contents.how.n_features, wanted.class_weight
    assert d is not None
    if not wanted.classes:
        if how.multilabel or (contents.labels is not None and isinstance(contents.labels[0], str)):
            raise ValueError(f"{wanted.name} learns numbers, but the labels are names or sets.")
        return ExampleEncoder(how, None, None, d)
    if how.multilabel:
        if not wanted.several:
            raise ValueError(f"{wanted.name} learns one class per row; these have several labels.")
        if weights is not None:
            raise ValueError("class_weight does not apply to rows with several labels.")
        return ExampleEncoder(how, np.arange(len(how.labels or ())), None, d)
    if contents.labels is None:
        raise ValueError("There are too many different labels for classes: use a regressor for numbers.")
    classes = np.array(contents.labels)
    check_labels(classes, classes)
    if classes.size < 2:
        raise ValueError(f"{wanted.name} needs at least 2 classes to learn from; y has 1 class: {classes.item(0)!r}.")
    counts = np.array(contents.counts, dtype=np.float64)
    if isinstance(weights, str) and not counts.all():
        raise ValueError(f'class_weight="balanced" needs rows of every class; {classes[counts == 0][0]!r} has none.')
    shares = class_weights(weights, classes, np.arange(classes.size), counts)
    if shares is not None and not shares.any():
        raise ValueError("class_weight is zero on every row: there is nothing to learn from.")
    if shares is not None and not shares.all() and wanted.radius:
        raise ValueError("class_weight leaves out a class, but the rows of that class would still count for max‖x‖.")
    return ExampleEncoder(how, classes, shares, d)


def strange_label(label: Any) -> ValueError:
    """The error for a label that is not one of the classes."""
    label = label.item() if isinstance(label, np.generic) else label
    return ValueError(f"The label {label!r} is not one of the given classes.")


@dataclass
class ParsedRows:
    """Rows that are parsed again in each pass, in the order of the file."""

    source: Any
    contents: Contents
    size: int
    longest: int  # the maximum number of bytes per line

    def tasks(self, encoder: ExampleEncoder, order: Blocks | None, epoch: int) -> Iterator[Callable[[], Examples]]:
        """Functions that make the examples of a pass, piece by piece."""
        for task in parse_tasks(self.source, self.contents.how, self.size, self.longest):
            yield partial(_parsed, task, encoder)


def _parsed(task: Callable[[], RowBlock], encoder: ExampleEncoder) -> Examples:
    return encoder.of_piece(task())


@dataclass
class CachedRows:
    """Rows from a cache, in the order of the file or shuffled."""

    cache: RowCache
    contents: Contents = field(init=False)

    def __post_init__(self) -> None:
        self.contents = self.cache.contents

    def tasks(self, encoder: ExampleEncoder, order: Blocks | None, epoch: int) -> Iterator[Callable[[], Examples]]:
        """Functions that make the examples of a pass, piece by piece."""
        if order is not None:
            for pool in order.pools(epoch):
                yield partial(self._shuffled, pool, epoch, encoder)
            return
        count = self.cache.table.shape[0]
        for begin in range(0, count, AT_ONCE):
            yield partial(self._in_turn, np.arange(begin, min(begin + AT_ONCE, count)), encoder)

    def _in_turn(self, numbers: Array, encoder: ExampleEncoder) -> Examples:
        return encoder.of_blocks(read_blocks(self.cache, numbers), self.cache, None)

    def _shuffled(self, pool: ShufflePool, epoch: int, encoder: ExampleEncoder) -> Examples:
        order = pool.order.piece(epoch, 0, pool.order.size)
        return encoder.of_blocks(read_blocks(self.cache, pool.blocks), self.cache, order)


FileRows = ParsedRows | CachedRows


@dataclass
class PassFacts:
    """The counts that a first scan would have found, collected during the only pass."""

    classes: Array | None
    rows: int = 0
    counts: Any = 0

    def add(self, examples: Examples) -> None:
        """Count a piece."""
        self.rows += examples.target.shape[0]
        if self.classes is not None:
            self.counts = self.counts + np.bincount(examples.target, minlength=self.classes.size)

    def contents(self, rows: FileRows) -> Contents:
        """The contents with these counts."""
        if not self.rows:
            raise FileError(
                "expected rows, found none", expand_paths(rows.source)[0] if isinstance(rows, ParsedRows) else None
            )
        counts = () if self.classes is None else tuple(self.counts.tolist())
        return replace(rows.contents, rows=self.rows, counts=counts)


@dataclass
class FileSource:
    """The rows of files, for the training loop."""

    rows: FileRows
    encoder: ExampleEncoder
    in_turn: bool  # whether rows are visited in the order of the file
    seed: int = 0  # of the shuffled order
    whole = False

    @property
    def lasting(self) -> bool:
        """Whether a scan needs no parsing."""
        return isinstance(self.rows, CachedRows)

    @property
    def facts(self) -> Facts:
        """Counts and sizes over all rows."""
        return self.encoder.facts(self.rows.contents)

    @property
    def described(self) -> dict[str, Any]:
        """The fitted attributes of an estimator that describe the files."""
        return {"reading_": self.rows.contents.how, "_contents": self.rows.contents}

    def parts(self, epoch: int) -> Iterator[Examples]:
        """The rows of a pass, in its order; if the rows have not been counted yet, the pass counts them."""
        order = None
        if isinstance(self.rows, CachedRows) and not self.in_turn:
            order = Blocks(self.rows.cache.bounds, self.seed)
        census = None if self.rows.contents.rows else PassFacts(self.encoder.classes)
        for examples in self._pieces(order, epoch):
            if census is not None:
                census.add(examples)
            yield examples
        if census is not None:
            self.rows.contents = census.contents(self.rows)

    def _pieces(self, order: Blocks | None, epoch: int) -> Iterator[Examples]:
        """The pieces that have rows; no reference to them is kept, and reading ahead stops at the end."""
        pieces = ahead(self.rows.tasks(self.encoder, order, epoch), workers=2 if order is None else 1)
        with closing(pieces):  # type: ignore[type-var]
            for piece in pieces:
                if piece.size:
                    yield piece
                del piece

    def ask(self, question: Any) -> Iterator[Any]:
        """The answers of all pieces, in the order of the file."""
        for examples in self._pieces(None, 0):
            yield question(examples, 0)
