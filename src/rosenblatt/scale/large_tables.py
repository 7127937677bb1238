"""Models of tables in files that are larger than memory: one pass for the statistics, one for a cache of encoded rows.

Most rows are learned from, in the order of the file; a sample that fits in memory is held out to calibrate and to score
the model, as for a large table in memory, which gives the same rows and the same numbers to rounding. The words of a
column of text are those of another sample.
"""

from __future__ import annotations

import copy
import secrets
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from rosenblatt.data.columns.accumulation import ColumnAccumulator
from rosenblatt.data.columns.encoding import ColumnEncoding, ParsedColumn, encoded, learned, parsed
from rosenblatt.data.columns.files import table_parts
from rosenblatt.data.columns.frames import Table
from rosenblatt.data.columns.held_out import LEAST_LEVEL, at_level, row_hashes
from rosenblatt.data.columns.kinds import TEXT_WORDS
from rosenblatt.data.columns.labels import Labels, labels_of
from rosenblatt.data.columns.numbers import Moments
from rosenblatt.data.columns.values import ColumnValues, as_codes, as_numbers, written
from rosenblatt.data.errors import FileError
from rosenblatt.data.formats.byte_sources import (
    CHUNK_BYTES,
    cache_folder,
    check_unchanged,
    expand_paths,
    file_stamps,
    format_by_name,
    open_bytes,
)
from rosenblatt.data.formats.reading import MAX_LABELS, Reading, RowBlock, csr_from_arrays
from rosenblatt.data.formats.table_batches import arrow_errors_as_file_errors, import_pyarrow
from rosenblatt.data.safe_writing import process_name
from rosenblatt.estimators import table_search
from rosenblatt.estimators.base import table_model
from rosenblatt.estimators.base.fitting import RowsWanted, train_from
from rosenblatt.estimators.base.table_model import TableModel, TrainingRows, UnseenRows
from rosenblatt.estimators.tables import TableClassifier, TableRegressor
from rosenblatt.scale import row_cache
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.file_source import CachedRows, FileSource, example_encoder
from rosenblatt.scale.memory import give_back
from rosenblatt.scale.read_ahead import ahead
from rosenblatt.scale.row_cache import SUFFIX, RowCache, write_cache

Array = np.ndarray[Any, Any]
IN_MEMORY = 8  # a table in memory takes about so many times the bytes of its file
PART, SAMPLE = 128, 48  # parts and samples of rows take at most these fractions of the memory limit


def fits_in_memory(source: Any, memory: int) -> bool:
    """Whether a table in these files can be held, encoded and learned from in so many bytes."""
    paths, room = expand_paths(source), memory // IN_MEMORY
    for path, stamp in zip(paths, file_stamps(paths), strict=True):
        room -= stamp.size if stamp.size > room else _unpacked_bytes(path, stamp.size, room)
        if room < 0:
            return False
    return True


def _unpacked_bytes(path: str, size: int, room: int) -> int:
    """The bytes that a file of this size takes once it is unpacked; counting stops beyond `room`."""
    if path.endswith((".gz", ".zst")):
        size = 0
        with open_bytes(path) as file:
            while size <= room and (part := file.read(CHUNK_BYTES)):
                size += len(part)
    elif format_by_name(path) == "parquet":
        with arrow_errors_as_file_errors(path):
            about = import_pyarrow(path).parquet.read_metadata(path)
        packed = (about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        size = max(sum(packed), 8 * about.num_rows * about.num_columns)
    return size


# -- the rows of the files ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelledParts:
    """The rows of the files that have a label, part by part, the same in every pass."""

    source: Any
    how: Reading
    size: int
    label: str

    def __iter__(self) -> Iterator[tuple[int, Table, ColumnValues, int]]:
        """The number of the first row, the columns, the labels, and how many rows had no label."""
        paths = expand_paths(self.source)
        before, first, names = file_stamps(paths), 0, None
        parts = ahead((partial(_itself, part) for part in table_parts(self.source, self.how, self.size)), workers=1)
        with closing(parts):  # type: ignore[type-var]
            for part in parts:
                names = names or list(part.columns)
                if list(part.columns) != names:
                    raise FileError(f"expected the columns {names}, found {list(part.columns)}", paths[-1])
                labels = part.values(self.label)
                rest, absent = part.without(self.label), labels.missing
                if absent:
                    present = np.flatnonzero(labels.present)
                    rest, labels = rest.take(present), labels.take(present)
                yield first, rest, labels, absent
                first += rest.rows
        check_unchanged(paths, before)


def _itself(value: Any) -> Any:
    return value


@dataclass
class Sample:
    """Rows at random, as many as fit: those whose hash ends with enough zeros."""

    most: int
    bytes: int
    level: int = LEAST_LEVEL
    rows: int = 0
    size: int = 0
    tables: list[Table] = field(default_factory=list)
    labels: list[ColumnValues] = field(default_factory=list)
    hashes: list[Array] = field(default_factory=list)

    def add(self, table: Table, labels: ColumnValues, hashes: Array) -> list[Table]:
        """Take those of these rows that belong to the sample; the earlier rows that no longer do, if it is too full."""
        rows, dropped = np.flatnonzero(at_level(hashes, self.level)), list[Table]()
        self._keep(table.take(rows), labels.take(rows), hashes[rows])
        while self.rows > self.most or (self.rows and self.size > self.bytes):
            self.level += 1
            before = list(zip(self.tables, self.labels, self.hashes, strict=True))
            self.tables, self.labels, self.hashes, self.rows, self.size = [], [], [], 0, 0
            for k, (one, truth, found) in enumerate(before):
                stay = at_level(found, self.level)
                if k < len(before) - 1:
                    dropped.append(one.take(np.flatnonzero(~stay)))
                rows = np.flatnonzero(stay)
                self._keep(one.take(rows), truth.take(rows), found[rows])
        return dropped

    def _keep(self, table: Table, labels: ColumnValues, hashes: Array) -> None:
        self.rows += table.rows
        self.size += sum(int(column.nbytes) for column in table.columns.values())
        self.tables.append(table)
        self.labels.append(labels)
        self.hashes.append(hashes)

    def joined(self) -> tuple[Table, ColumnValues]:
        """All rows, and their labels."""
        columns = {
            name: pa.chunked_array([table.columns[name] for table in self.tables]).combine_chunks()
            for name in self.tables[0].columns
        }
        values = pa.chunked_array([one.values for one in self.labels]).combine_chunks()
        first = self.labels[0]
        return Table(columns, len(values)), ColumnValues(first.name, values, first.categorical)


# -- the pass for the statistics ---------------------------------------------------------------------------------------


class Survey:
    """What one pass over the files finds: the statistics of columns and labels, and two samples of rows."""

    def __init__(self, parts: LabelledParts, seed: int, asked: dict[str, Any], memory: int) -> None:
        self.seed, self.asked, self.memory = seed, asked, memory
        self.columns: dict[str, ColumnAccumulator] = {}
        self.label = ColumnAccumulator(parts.label, MAX_LABELS, as_names=True)
        self.label_type: Any = None
        self.held = Sample(table_model.HELD_OUT, memory // SAMPLE)
        self.texts = Sample(1 << 62, memory // SAMPLE, 0)
        self.searched = Sample(table_search.SEARCH_ROWS, memory // SAMPLE, 0)
        self.wordy: list[str] = []
        self.rows = self.unlabelled = 0
        for _, table, labels, absent in parts:
            self.unlabelled += absent
            if table.rows:
                self._add(table, labels)
        if not self.rows:
            path = expand_paths(parts.source)[0]
            if self.unlabelled:
                raise FileError("expected labels, found none", path, None, parts.label)
            raise FileError("expected rows, found none", path)

    def _add(self, table: Table, labels: ColumnValues) -> None:
        if not self.columns:
            room = max(4096, self.memory // 1024 // max(1, len(table.columns)))
            for name in table.columns:
                self.columns[name] = ColumnAccumulator(name, room, self.asked.get(name) == "names")
        hashes = row_hashes(self.rows, table.rows, self.seed)
        self.rows += table.rows
        self.label.add(labels)
        self.label_type = None if labels.is_text else labels.values.type
        dropped = self.held.add(table, labels, hashes)
        rest = np.flatnonzero(~at_level(hashes, self.held.level))
        self.learn(table.take(rest))
        self.searched.add(table.take(rest), labels.take(rest), table_search.search_hashes(hashes[rest]))
        for one in dropped:
            self.learn(one)
        self.wordy = self.wordy or self._wordy()
        if self.wordy:
            kept = Table({name: table.columns[name] for name in self.wordy}, table.rows).take(rest)
            self.texts.add(kept, labels.take(rest), hashes[rest] >> np.uint64(32))

    def learn(self, table: Table) -> None:
        """Add rows to the statistics of the rows that are learned from."""
        for name, column in self.columns.items():
            if table.rows:
                column.add(table.values(name))

    def _wordy(self) -> list[str]:
        """Columns that look like text so far, or whose encoding needs rows for another reason."""
        builtin = ("numbers", "names", "booleans", "dates", "drop")
        asked = [name for name, kind in self.asked.items() if name in self.columns and kind not in builtin]
        likely = [name for name, one in self.columns.items() if one.statistics().median_words >= TEXT_WORDS]
        return list(dict.fromkeys([*asked, *likely]))

    def all_rows(self, held: Table) -> dict[str, ColumnAccumulator]:
        """The statistics of all rows, those that are held out included."""
        every = copy.deepcopy(self.columns)
        for name, column in every.items():
            if held.rows:
                column.add(held.values(name))
        return every

    def labels(self) -> tuple[list[str], Array, Labels]:
        """The different labels as they are written, how often each occurs, and what they are."""
        names, counts = list(self.label.names), np.array(list(self.label.names.values()))
        values = pa.array(names, pa.large_string())
        kind = self.label_type
        if kind is not None and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            values = values.cast(kind)
        return names, counts, labels_of(ColumnValues(self.label.name, values, self.label.categorical))


# -- labels ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClassTarget:
    """The class of each label, and the rows of each class."""

    codes: dict[str, int]
    counts: Array

    def __call__(self, labels: ColumnValues) -> Array:
        """The classes of these rows."""
        found, words = as_codes(labels)
        places = np.array([self.codes[name] for name in written(words)], np.int64)
        return places[found] if places.size else np.zeros(0, np.int64)


@dataclass(frozen=True)
class NumberTarget:
    """Labels as numbers, and how many there are."""

    counts: Array

    def __call__(self, labels: ColumnValues) -> Array:
        """The numbers of these rows."""
        return as_numbers(labels)


def _target(estimator: Any, survey: Survey, task: str | None) -> tuple[Any, ClassTarget | NumberTarget]:
    """The estimator, which the labels choose if it is a mapping of parameters, and how labels become its target."""
    names, counts, labels = survey.labels()
    if not isinstance(estimator, TableModel):
        regression = (task or labels.task) == "regression"
        estimator = (TableRegressor if regression else TableClassifier)(**estimator)
    if isinstance(estimator, TableRegressor):
        if survey.label.numbers < survey.rows:
            raise ValueError(f"TableRegressor learns numbers, and y has {survey.label.strays[0]!r}.")
        found = Moments.joined(survey.label.moments)
        estimator._take_scale(found.mean, found.deviation)
        return estimator, NumberTarget(np.array([survey.rows]))
    if survey.label.sample is not None:
        raise ValueError(f"There are more than {MAX_LABELS:,} different labels: for numbers use TableRegressor.")
    classes, codes = np.unique(as_classes(labels.values), return_inverse=True)
    rows = np.bincount(codes, counts, classes.size).astype(np.int64)
    estimator._take_classes(classes, rows)
    return estimator, ClassTarget(dict(zip(names, codes.tolist(), strict=True)), rows)


def as_classes(values: Array) -> Array:
    """Fractions as text, where they were asked to be classes."""
    return values.astype(str) if values.dtype.kind == "f" and (values != np.floor(values)).any() else values


# -- fit ---------------------------------------------------------------------------------------------------------------


def fit_large_table(
    estimator: Any, parts: LabelledParts, task: str | None, memory: int, point: Checkpoint, kinds: dict[str, str]
) -> tuple[Any, int]:
    """Fit a model of tables to files; the model, and the number of rows without a label.

    `estimator` is a model of tables, or a mapping of its parameters; `kinds` are those that the format tells.
    """
    began = time.perf_counter()
    settings = estimator.get_params() if isinstance(estimator, TableModel) else estimator
    seed = _seed(settings)
    survey = Survey(parts, seed, {**kinds, **(settings.get("columns") or {})}, memory)
    estimator, target = _target(estimator, survey, task)
    estimator._validate_params()
    rng = estimator._begin(kinds)
    estimator._seed, estimator._large = seed, True
    held, labels = survey.held.joined()
    truth = target(labels)
    rare, notes = estimator._rare(target.counts)
    back = np.isin(truth, rare) if rare.size else np.zeros(truth.size, np.bool_)
    returned, tested = held.take(np.flatnonzero(back)), held.take(np.flatnonzero(~back))
    survey.learn(returned)
    columns = _learn_columns(estimator, survey, tested, truth[~back], target, notes)
    columns = _choose_setting(estimator, survey, columns, target, notes, rng)
    pieces = _encoded_rows(
        estimator, parts, survey, target, RowBlock(estimator.encoder_.transform(returned), truth[back])
    )
    with _temporary_cache(estimator, pieces, memory) as cache:
        training = CacheTraining(estimator, cache, target.counts)
        estimator.learner_ = _learned(estimator, training, point)
        X = encoded(estimator.encoder_.columns_, columns, tested.rows)
        unseen = UnseenRows(
            estimator._scores(estimator.learner_, X), truth[~back], np.zeros(tested.rows, np.int64), None, columns
        )
        estimator._conclude(unseen, training, notes, target.counts, began)
    give_back()
    return estimator, survey.unlabelled


def _seed(settings: Any) -> int:
    """The seed that a model with these parameters draws."""
    drawn = TableClassifier(random_state=settings.get("random_state"))
    drawn._begin(None)
    return drawn._seed


def _learn_columns(
    estimator: Any, survey: Survey, tested: Table, truth: Array, target: Any, notes: list[str]
) -> list[ParsedColumn]:
    """Decide the kinds of columns and learn their encodings; the columns of the rows that are held out."""
    encoder = estimator.encoder_
    encoder._begin(list(survey.columns), True)
    estimator._name_columns()
    texts = survey.texts.joined()[0] if survey.wordy else None
    encodings, columns = list[ColumnEncoding](), list[ParsedColumn]()
    for name, every in survey.all_rows(tested).items():
        found = every.statistics()
        kind = encoder._decide(ColumnValues(name, pa.nulls(0), every.categorical), found)
        if kind is None:
            continue
        format = (found.date_format or "") if kind == "dates" else ""
        values = tested.values(name)
        column = encoder._in_form(values, parsed(values, kind, format))
        if encoder._copies(column, found, truth, estimator._class_count()):
            continue
        if kind in ("text", "splines") or column.raw is not None:
            if texts is None or name not in texts.columns:
                encoder.left_out_[name] = "text that begins late in a large file: say that it is (columns)"
                continue
            values = texts.values(name)
            encodings.append(learned(encoder._in_form(values, parsed(values, kind, format))))
            notes.append(f"column {name!r} is encoded by what a sample of {texts.rows:,} rows has")
        else:
            encodings.append(survey.columns[name].encoding(kind, format, encoder.max_names))
        columns.append(column)
    encoder.columns_ = tuple(encodings)
    return columns


def _choose_setting(
    estimator: Any, survey: Survey, columns: list[ParsedColumn], target: Any, notes: list[str], rng: Any
) -> list[ParsedColumn]:
    """Search a sample of the rows, and encode numbers as the setting asks; the columns that are held out, likewise."""
    encoder, (table, labels) = estimator.encoder_, survey.searched.joined()
    parts = [encoder._parsed(table, one) for one in encoder.columns_]
    estimator._choose(parts, target(labels), None, None, rng)
    for k, (one, other) in enumerate(zip(parts, estimator._in_form(parts), strict=True)):
        if one is not other:
            encoder.columns_ = (*encoder.columns_[:k], learned(other), *encoder.columns_[k + 1 :])
            notes.append(f"column {one.name!r} is encoded by what a sample of {table.rows:,} rows has")
    found: list[ParsedColumn] = estimator._in_form(columns)
    return found


def _encoded_rows(
    estimator: Any, parts: LabelledParts, survey: Survey, target: Any, last: RowBlock
) -> Iterator[RowBlock]:
    """The rows to learn from, encoded: those of the files that are not held out, then the last ones."""
    for first, table, labels, _ in parts:
        hashes = row_hashes(first, table.rows, survey.seed)
        rest = np.flatnonzero(~at_level(hashes, survey.held.level))
        if rest.size:
            X = estimator.encoder_.transform(table.take(rest))
            yield RowBlock(X, _learnable(estimator, target(labels.take(rest))))
    if last.rows:
        yield RowBlock(last.X, _learnable(estimator, last.labels))


def _learnable(estimator: Any, target: Any) -> Array:
    found: Array = estimator._standardised(target) if isinstance(estimator, TableRegressor) else target
    return found


@contextmanager
def _temporary_cache(estimator: Any, pieces: Iterable[RowBlock], memory: int) -> Iterator[RowCache | None]:
    """A cache of the rows while the block runs; None where there is no column to learn from."""
    width = sum(one.encoding.width for one in estimator.encoder_.columns_)
    if not width:
        yield None
        return
    how = Reading("svmlight", n_features=width, zero_based=True, multilabel=False)
    path = cache_folder() / f"table-{process_name()}-{secrets.token_hex(4)}{SUFFIX}"
    try:
        copied = {"paths": [], "stamps": [], "racy": True}
        yield write_cache(pieces, how, path, memory // row_cache.HELD_SHARE, copied)
    finally:
        path.unlink(missing_ok=True)


@dataclass(frozen=True)
class CacheTraining:
    """The encoded rows of a cache, part by part."""

    estimator: Any
    cache: RowCache | None
    counts: Array  # the rows of each class

    def source(self, wanted: RowsWanted) -> FileSource:
        """The rows, for the training loop."""
        assert self.cache is not None
        return FileSource(CachedRows(self.cache), example_encoder(wanted, self.cache.contents), wanted.in_turn)

    def __iter__(self) -> Iterator[TrainingRows]:
        """The rows with their target as the estimator has it."""
        numbers = isinstance(self.estimator, TableRegressor)
        if self.cache is None:  # one row per class, by weight
            truth = np.full(1, self.estimator.target_.mean) if numbers else np.arange(self.counts.size)
            yield TrainingRows(sp.csr_matrix((truth.size, 0)), truth, self.counts.astype(np.float64))
            return
        wanted = RowsWanted(type(self.estimator).__name__, not numbers, False, None, True, False, False)
        source = self.source(wanted)
        for examples in source.ask(_as_they_are):
            values, columns, starts = examples.rows
            X = csr_from_arrays(values, columns, starts, examples.n_features)
            target = examples.target
            if numbers:
                target = target * self.estimator.target_.deviation + self.estimator.target_.mean
            yield TrainingRows(X, target, None)


def _as_they_are(examples: Any, shard: int) -> Any:
    return examples


def _learned(estimator: Any, training: CacheTraining, point: Checkpoint) -> Any:
    """The learner, trained on the rows of the cache; None where there is no column to learn from."""
    if training.cache is None:
        return None
    width = sum(one.encoding.width for one in estimator.encoder_.columns_)
    learner = estimator._new_learner(training.cache.contents.rows, width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # passes are limited on purpose
        for _ in train_from(learner, training.source, save=point.save, resume=point.resume):
            pass
    for name in ("reading_", "_contents"):  # of the cache, which is gone soon
        vars(learner).pop(name, None)
    return learner
