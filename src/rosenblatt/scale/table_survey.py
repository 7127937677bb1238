"""The survey of a large table, in one pass: statistics of its columns and labels, and samples of its rows.

Surveys of the parts of a table, each made by the worker that reads the part, are joined into one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa

from rosenblatt.formats.byte_sources import check_unchanged, expand_paths, file_stamps
from rosenblatt.formats.contents import MAX_LABELS
from rosenblatt.formats.declared_fields import instance, must
from rosenblatt.formats.errors import FileError
from rosenblatt.formats.reading import Reading
from rosenblatt.scale.read_ahead import ahead
from rosenblatt.tables import fit as table_fit
from rosenblatt.tables import search_rows as table_search_rows
from rosenblatt.tables.columns.accumulation import ColumnAccumulator
from rosenblatt.tables.columns.files import table_parts
from rosenblatt.tables.columns.frames import Table, as_table
from rosenblatt.tables.columns.held_out import LEAST_LEVEL, at_level, row_hashes
from rosenblatt.tables.columns.kinds import TEXT_WORDS
from rosenblatt.tables.columns.labels import Labels, labels_of, names_if_rounded
from rosenblatt.tables.columns.values import ColumnValues, one_column

Array = np.ndarray[Any, Any]
NUMBERS = (pa.types.is_integer, pa.types.is_floating)
SAMPLE = 48  # a sample of rows takes at most this fraction of the memory limit


@dataclass(frozen=True)
class LabelledParts:
    """The rows of a table that have a label, part by part, the same in every pass.

    `source` is files, or a function that returns a frame; `first` is the number of the first row.
    """

    source: Any
    how: Reading
    size: int
    label: str
    first: int = 0

    def __iter__(self) -> Iterator[tuple[int, Table, ColumnValues, int]]:
        """The number of the first row, the columns, the labels, and how many rows had no label."""
        paths = [] if callable(self.source) else expand_paths(self.source)
        before, first, names = file_stamps(paths), self.first, None
        parts = ahead((partial(_itself, part) for part in self._tables()), workers=1)
        with closing(parts):  # type: ignore[type-var]
            for part in parts:
                names = names or list(part.columns)
                if list(part.columns) != names:
                    raise other_columns(names, list(part.columns), paths[-1])
                if self.label not in names:
                    where = paths[0] if paths else "a partition of the frame"
                    raise FileError(f"expected a column named {self.label!r}, found {names}", where)
                rest, labels, absent = part.labelled(self.label)
                yield first, rest, labels, absent
                first += rest.rows
        check_unchanged(paths, before)

    def _tables(self) -> Iterator[Table]:
        if not callable(self.source):
            yield from table_parts(self.source, self.how, self.size)
            return
        frame = self.source()
        if len(frame):
            yield as_table(frame)


def _itself(value: Any) -> Any:
    return value


def other_columns(expected: list[str], found: list[str], path: str) -> FileError:
    """The error for a part of a table with other columns."""
    return FileError(f"expected the columns {expected}, found {found}", path)


def common_type(one: Any, other: Any) -> Any:
    """The common type of labels of two types: integers, or numbers, if both are, else text, for which it is None."""
    if one == other:
        return one
    integers, floats = ([kind is not None and test(kind) for kind in (one, other)] for test in NUMBERS)
    if all(integers):
        return pa.int64()
    return pa.float64() if all(a or b for a, b in zip(integers, floats, strict=True)) else None


# -- samples -----------------------------------------------------------------------------------------------------------


class NumberedRows(NamedTuple):
    """Rows with their labels, their numbers in the table, and the hashes of those."""

    table: Table
    labels: ColumnValues
    numbers: Array
    hashes: Array

    def take(self, rows: Array) -> NumberedRows:
        """Some of the rows."""
        return NumberedRows(self.table.take(rows), self.labels.take(rows), self.numbers[rows], self.hashes[rows])

    @property
    def nbytes(self) -> int:
        """The bytes of the columns."""
        return sum(int(column.nbytes) for column in self.table.columns.values())


@dataclass
class Sample:
    """A random sample of as many rows as fit: those whose hash, shifted by `shift` bits, ends with enough zeros."""

    most: int
    bytes: int
    level: int = LEAST_LEVEL
    shift: int = 0
    rows: int = 0
    size: int = 0
    parts: Annotated[list[NumberedRows], instance(list)] = field(default_factory=list)

    def check(self) -> None:
        """As many rows as its parts have."""
        rows = [part.numbers.size for part in self.parts]
        must(sum(rows) == self.rows, f"samples of {self.rows:,} rows")
        must(all(part.table.rows == part.hashes.size == n for part, n in zip(self.parts, rows, strict=True)), "rows")

    def add(self, rows: NumberedRows) -> list[NumberedRows]:
        """Add those rows that belong to the sample; returns the earlier rows that no longer fit."""
        self._keep(rows.take(np.flatnonzero(self.takes(rows.hashes))))
        dropped = list[NumberedRows]()
        while self._too_full:
            dropped += self.raise_level(self.level + 1)[:-1]
        return dropped

    def join(self, other: Sample) -> list[NumberedRows]:
        """Add the rows of another sample; returns the rows of either that no longer fit."""
        differ, level = self.level != other.level, max(self.level, other.level)
        for part in other.parts:
            self._keep(part)
        dropped = self.raise_level(level) if differ else []
        while self._too_full:
            dropped += self.raise_level(self.level + 1)
        return dropped

    def takes(self, hashes: Array) -> Array:
        """Whether rows with these hashes belong to the sample."""
        return at_level(hashes >> np.uint64(self.shift), self.level)

    @property
    def _too_full(self) -> bool:
        return self.rows > self.most or bool(self.rows and self.size > self.bytes)

    def raise_level(self, level: int) -> list[NumberedRows]:
        """Keep only the rows of this level; returns the others, part by part."""
        before, dropped = self.parts, list[NumberedRows]()
        self.level, self.parts, self.rows, self.size = level, [], 0, 0
        for part in before:
            stay = self.takes(part.hashes)
            dropped.append(part.take(np.flatnonzero(~stay)))
            self._keep(part.take(np.flatnonzero(stay)))
        return dropped

    def _keep(self, rows: NumberedRows) -> None:
        self.rows += rows.table.rows
        self.size += rows.nbytes
        self.parts.append(rows)

    def joined(self) -> NumberedRows:
        """All rows, in the order of the table."""
        first = self.parts[0]
        columns = {
            name: one_column([part.table.columns[name] for part in self.parts]).combine_chunks()
            for name in first.table.columns
        }
        values = one_column([part.labels.values for part in self.parts]).combine_chunks()
        table, labels = Table(columns, len(values)), ColumnValues(first.labels.name, values, first.labels.categorical)
        numbers, hashes = (np.concatenate([part[k] for part in self.parts]) for k in (2, 3))
        return NumberedRows(table, labels, numbers, hashes).take(np.argsort(numbers, kind="stable"))

    def column(self, name: str) -> ColumnValues | None:
        """The values of one column, from the parts that have it; None if there are none."""
        found = [part.table.columns[name] for part in self.parts if name in part.table.columns]
        return Table({name: one_column(found).combine_chunks()}, 0).values(name) if found else None


# -- the pass for the statistics ---------------------------------------------------------------------------------------


class Survey:
    """Collects statistics of columns and labels, and samples of rows, in a pass over the rows.

    Some rows are held out (`held`); of the others, some are searched (`searched`), and some provide the words of text
    columns (`texts`). Statistics of columns are those of the training rows.
    """

    def __init__(self, label: str, seed: int, asked: dict[str, Any], memory: int) -> None:
        self.seed, self.asked, self.memory = seed, asked, memory
        self.columns: dict[str, ColumnAccumulator] = {}
        self.label = ColumnAccumulator(label, MAX_LABELS, as_names=True)
        self.label_type: Any = None
        self.held = Sample(table_fit.HELD_OUT, memory // SAMPLE)
        self.texts = Sample(1 << 62, memory // SAMPLE, 0, 32)
        self.searched = Sample(table_search_rows.SEARCH_ROWS, memory // SAMPLE, 0, 32)
        self.wordy: list[str] = []
        self.rows = self.unlabelled = 0

    def read(self, parts: LabelledParts) -> Survey:
        """Add the rows of a table."""
        for first, table, labels, absent in parts:
            self.unlabelled += absent
            if table.rows:
                self._add(first, table, labels)
        return self

    def check(self, path: str) -> None:
        """Refuse a table without rows, or without labels."""
        if not self.rows:
            if self.unlabelled:
                raise FileError("expected labels, found none", path, None, self.label.name)
            raise FileError("expected rows, found none", path)

    def _add(self, first: int, table: Table, labels: ColumnValues) -> None:
        if not self.columns:
            room = max(4096, self.memory // 1024 // max(1, len(table.columns)))
            for name in table.columns:
                self.columns[name] = ColumnAccumulator(name, room, self.asked.get(name) == "names")
        numbers = np.arange(first, first + table.rows)
        rows = NumberedRows(table, labels, numbers, row_hashes(first, table.rows, self.seed))
        kind = None if labels.is_text else labels.values.type
        self.label_type = common_type(self.label_type, kind) if self.rows else kind
        self.rows += table.rows
        self.label.add(labels)
        dropped = self.held.add(rows)
        for one in (rows.take(np.flatnonzero(~self.held.takes(rows.hashes))), *dropped):
            self.learn(one)

    def learn(self, rows: NumberedRows) -> None:
        """Add training rows."""
        if self.searched.parts and not rows.table.rows:
            return
        for name, column in self.columns.items():
            column.add(rows.table.values(name))
        self.searched.add(rows)
        self.wordy = self.wordy or self._wordy()
        if self.wordy:
            table = Table({name: rows.table.columns[name] for name in self.wordy}, rows.table.rows)
            self.texts.add(rows._replace(table=table))

    def leave_rows(self) -> None:
        """Hold out fewer rows if none are left to learn from, as may happen with a handful of rows."""
        while self.held.rows == self.rows:
            for one in self.held.raise_level(self.held.level + 1):
                self.learn(one)

    def join(self, other: Survey, path: str) -> None:
        """Add the survey of other rows, which come from the file at `path`."""
        self.unlabelled += other.unlabelled
        if not other.rows:
            return
        if not self.rows:
            unlabelled = self.unlabelled
            vars(self).update(vars(other))
            self.unlabelled = unlabelled
            return
        if list(self.columns) != list(other.columns):
            raise other_columns(list(self.columns), list(other.columns), path)
        self.rows += other.rows
        self.label.join(other.label)
        self.label_type = common_type(self.label_type, other.label_type)
        for name, column in self.columns.items():
            column.join(other.columns[name])
        self.wordy = list(dict.fromkeys([*self.wordy, *other.wordy]))
        self.searched.join(other.searched)
        self.texts.join(other.texts)
        for one in self.held.join(other.held):
            self.learn(one)

    def _wordy(self) -> list[str]:
        """Columns that look like text so far, or whose encoding needs a sample of rows for another reason."""
        builtin = ("numbers", "names", "booleans", "dates", "drop")
        asked = [name for name, kind in self.asked.items() if name in self.columns and kind not in builtin]
        likely = [name for name, one in self.columns.items() if one.statistics().median_words >= TEXT_WORDS]
        return list(dict.fromkeys([*asked, *likely]))

    def all_rows(self, held: Table) -> dict[str, ColumnAccumulator]:
        """The statistics of all rows, including those held out."""
        every = copy.deepcopy(self.columns)
        for name, column in every.items():
            if held.rows:
                column.add(held.values(name))
        return every

    def labels(self) -> tuple[list[str], Array, Labels]:
        """The distinct labels as written, how often each occurs, and their type."""
        names, counts = list(self.label.names), np.array(list(self.label.names.values()))
        values = pa.array(names, pa.large_string())
        if self.label_type is not None and pa.types.is_floating(self.label_type):  # integers stay as they are written
            values = values.cast(self.label_type) if names_if_rounded(values) is None else values
        return names, counts, labels_of(ColumnValues(self.label.name, values, self.label.categorical))
