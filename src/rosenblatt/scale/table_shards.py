"""Shards of tables: a worker surveys its rows, encodes them with the driver's encoder, and learns from them.

The driver joins the surveys of all shards, learns the encoder and searches a sample of rows. It sends workers an
`EncodedTable`, a reading that yields encoded rows.
"""

from __future__ import annotations

import copy
import hashlib
import pickle
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from rosenblatt.formats.byte_sources import cache_folder, file_stamps
from rosenblatt.formats.contents import Contents
from rosenblatt.formats.declared_fields import is_count, must, verify
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading
from rosenblatt.formats.row_blocks import RowBlock
from rosenblatt.scale import row_cache
from rosenblatt.scale.large_tables import Preparation, encoded_reading
from rosenblatt.scale.row_cache import SUFFIX, RowCache, load_cache, write_cache
from rosenblatt.scale.shards import FileShard, HeldShard, Shard, Store
from rosenblatt.scale.table_survey import LabelledParts, Sample, Survey
from rosenblatt.tables.columns.accumulation import ColumnAccumulator
from rosenblatt.tables.columns.held_out import at_level, row_hashes

Array = np.ndarray[Any, Any]
ROOM = 40  # bits for the number of a row in its group of files


@dataclass(frozen=True)
class TableGroups:
    """How the rows of each group of files, or partition of a frame, are read and numbered."""

    how: Reading
    size: int  # bytes that are read at a time
    label: str
    places: dict[Any, int]  # the position of each group

    def parts(self, shard: Shard) -> LabelledParts:
        """The rows of the group that a shard belongs to."""
        source = list(shard.paths) if isinstance(shard, FileShard) else shard.recipe
        return LabelledParts(source, self.how, self.size, self.label, self.places[group_key(shard)] << ROOM)


def group_key(shard: Shard) -> Any:
    """The key that the shards of one group share."""
    return shard.paths if isinstance(shard, FileShard) else shard.name


@dataclass(frozen=True)
class AskSurvey:
    """A survey of the rows of each group."""

    groups: TableGroups
    empty: Survey

    def __call__(self, shard: Shard, store: Store) -> Survey:
        """Read the rows once."""
        return copy.deepcopy(self.empty).read(self.groups.parts(shard))

    def check(self, answer: Any, shard: Shard) -> None:
        """Statistics and samples of as many rows."""
        must(isinstance(answer, Survey) and is_count(answer.rows) and is_count(answer.unlabelled), "a survey of rows")
        must(isinstance(answer.label, ColumnAccumulator) and answer.label.rows == answer.rows, "a label for each row")
        for sample in (answer.held, answer.searched, answer.texts):
            verify(sample, Sample)
            must(sample.rows <= answer.rows, f"samples of {answer.rows:,} rows")
        training = answer.rows - answer.held.rows
        for name, one in answer.columns.items():
            must(isinstance(name, str) and isinstance(one, ColumnAccumulator), "columns by their names")
            must(is_count(one.missing) and one.missing <= one.rows == training, "statistics of columns")


@dataclass(frozen=True, eq=False)
class EncodedTable(Reading):
    """Reads the training rows of a table, encoded; two of them are equal if their digests are."""

    groups: Any = None
    learned: Any = None  # the encoding of rows
    rare: tuple[int, ...] = ()
    seed: int = 0
    level: int = 0  # of the sample of held-out rows
    digest: str = ""

    @classmethod
    def of(cls, groups: TableGroups, ready: Preparation, survey: Survey) -> EncodedTable:
        """The reading for a model whose encoder is learned."""
        made = cls(
            **vars(encoded_reading(ready.width)),
            groups=groups,
            learned=ready.encoding,
            rare=tuple(ready.rare.tolist()),
            seed=survey.seed,
            level=survey.held.level,
        )
        return replace(made, digest=hashlib.sha256(pickle.dumps(made)).hexdigest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EncodedTable) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def plain(self) -> Reading:
        """How the encoded rows would be read from a file."""
        assert self.n_features is not None
        return encoded_reading(self.n_features)

    def pieces(self, shard: Shard) -> Iterator[RowBlock]:
        """The training rows of the group of a shard."""
        for first, table, labels, _ in self.groups.parts(shard):
            held = at_level(row_hashes(first, table.rows, self.seed), self.level)
            if self.rare:
                held &= ~np.isin(self.learned.codes(labels), self.rare)
            rest = np.flatnonzero(~held)
            if rest.size:
                yield self.learned(table.take(rest), labels.take(rest))


@dataclass(frozen=True)
class TableFiles(FileShard):
    """The rows of tables in files."""

    def contents(self, how: Reading, store: Store) -> Contents:
        """The contents of the encoded rows."""
        assert isinstance(how, EncodedTable)
        return replace(super().contents(how, store), how=how.plain)

    def _converted(self, how: Reading, memory: int) -> RowCache:
        """The cache of the encoded rows: in memory if it is small, else a file that is removed at the end."""
        assert isinstance(how, EncodedTable)
        path, taken, stamps = self.cache_path(how), time.time_ns(), file_stamps(self.paths)
        try:
            found, footer = load_cache(path)
            if footer["stamps"] == list(stamps) and not footer["racy"]:
                return found
        except FileError:
            pass  # there is no usable cache
        racy = any(max(stamp.modified, stamp.changed) > taken - row_cache.RACY for stamp in stamps)
        copied = {"paths": list(self.paths), "stamps": [asdict(stamp) for stamp in stamps], "racy": racy}
        return write_cache(how.pieces(self), how.plain, path, memory // row_cache.HELD_SHARE, copied)

    def cache_path(self, how: EncodedTable) -> Path:
        """The file for encoded rows that do not fit in memory."""
        key = f"{self.paths}{how.digest}".encode()
        return cache_folder() / f"table-{hashlib.sha256(key).hexdigest()[:16]}{SUFFIX}"


@dataclass(frozen=True)
class TablePartition(HeldShard):
    """The rows of a partition of a frame."""

    def contents(self, how: Reading, store: Store) -> Contents:
        """The contents of the encoded rows."""
        assert isinstance(how, EncodedTable)
        return replace(super().contents(how, store), how=how.plain)

    def _made(self, how: Reading) -> RowBlock:
        assert isinstance(how, EncodedTable)
        found = list(how.pieces(self))
        if not found:
            return RowBlock(sp.csr_matrix((0, how.n_features)), np.zeros(0))
        (piece,) = found
        return piece


def as_table_shards(groups: list[Any]) -> list[Any]:
    """The same groups, as shards of tables."""
    return [
        TableFiles(group.name, group.paths)
        if isinstance(group, FileShard)
        else TablePartition(group.name, group.recipe)
        for group in groups
    ]


@dataclass(frozen=True)
class AskRemoval:
    """Remove the cache of encoded rows."""

    how: EncodedTable

    def __call__(self, shard: Shard, store: Store) -> bool:
        """Remove the cache of a shard's group, on its worker."""
        if isinstance(shard, TableFiles):
            shard.cache_path(self.how).unlink(missing_ok=True)
        return True

    def check(self, answer: Any, shard: Shard) -> None:
        """It is removed."""
        must(answer is True, "that a cache is removed")
