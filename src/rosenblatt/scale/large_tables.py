"""Models of tables in files that are larger than memory: one pass for the statistics, one for a cache of encoded rows.

The model learns from most rows, in the order of the file; a sample that fits in memory is held out to calibrate and
score it. A large table in memory is treated in the same way, with the same rows and the same results up to rounding.
The words of a text column come from another sample.
"""

from __future__ import annotations

import secrets
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from rosenblatt.data.columns.encoding import ColumnEncoding, ParsedColumn, encoded, learned, parsed
from rosenblatt.data.columns.frames import Table
from rosenblatt.data.columns.held_out import row_hashes
from rosenblatt.data.columns.numbers import Moments
from rosenblatt.data.columns.values import ColumnValues, as_codes, as_numbers, written
from rosenblatt.data.declared_fields import must
from rosenblatt.data.examples import Examples, Sparse
from rosenblatt.data.formats.byte_sources import (
    CHUNK_BYTES,
    cache_folder,
    expand_paths,
    file_stamps,
    format_by_name,
    open_bytes,
)
from rosenblatt.data.formats.contents import MAX_LABELS
from rosenblatt.data.formats.reading import Reading
from rosenblatt.data.formats.row_blocks import RowBlock, csr_from_arrays
from rosenblatt.data.formats.table_batches import arrow_errors_as_file_errors, import_pyarrow
from rosenblatt.data.safe_writing import process_name
from rosenblatt.estimators.base.fitting import RowsWanted, train_from
from rosenblatt.estimators.base.table_model import TableModel, TrainingParts, TrainingRows, UnseenRows
from rosenblatt.estimators.table_classifier import TableClassifier
from rosenblatt.estimators.table_encoder import TableEncoder
from rosenblatt.estimators.table_regressor import TableRegressor, TargetScale
from rosenblatt.scale import row_cache
from rosenblatt.scale.checkpoints import Checkpoint
from rosenblatt.scale.file_source import CachedRows, FileSource, example_encoder
from rosenblatt.scale.memory_trimming import give_back
from rosenblatt.scale.row_cache import SUFFIX, RowCache, write_cache
from rosenblatt.scale.table_survey import LabelledParts, NumberedRows, Survey

Array = np.ndarray[Any, Any]
IN_MEMORY = 8  # a table in memory takes about this many times the bytes of its file
PART = 128  # a part of the rows takes at most this fraction of the memory limit


def fits_in_memory(source: Any, memory: int) -> bool:
    """Whether a table in these files can be held, encoded and learned from in this many bytes."""
    paths, room = expand_paths(source), memory // IN_MEMORY
    for path, stamp in zip(paths, file_stamps(paths), strict=True):
        room -= stamp.size if stamp.size > room else _unpacked_bytes(path, stamp.size, room)
        if room < 0:
            return False
    return True


def _unpacked_bytes(path: str, size: int, room: int) -> int:
    """The size of a file once it is decompressed; counting stops beyond `room`."""
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
    """The estimator, chosen by the labels if it is a mapping of parameters, and the encoder of its target."""
    names, counts, labels = survey.labels()
    if not isinstance(estimator, TableModel):
        regression = (task or labels.task) == "regression"
        estimator = (TableRegressor if regression else TableClassifier)(**estimator)
    if isinstance(estimator, TableRegressor):
        if survey.label.numbers < survey.rows:
            raise ValueError(f"TableRegressor needs numbers, but y has {survey.label.strays[0]!r}.")
        found = Moments.joined(survey.label.moments)
        estimator._take_scale(found.mean, found.deviation)
        return estimator, NumberTarget(np.array([survey.rows]))
    if survey.label.sample is not None:
        raise ValueError(f"There are more than {MAX_LABELS:,} different labels: for numbers use TableRegressor.")
    classes, codes = np.unique(labels.classes, return_inverse=True)
    rows = np.bincount(codes, counts, classes.size).astype(np.int64)
    estimator._take_classes(classes, rows)
    return estimator, ClassTarget(dict(zip(names, codes.tolist(), strict=True)), rows)


# -- fit ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowEncoding:
    """Encodes rows and labels for the learner."""

    encoder: TableEncoder
    target: ClassTarget | NumberTarget
    scale: TargetScale | None  # of a numeric target

    def __call__(self, table: Table, labels: ColumnValues) -> RowBlock:
        """These rows, encoded."""
        target = self.target(labels)
        if self.scale is not None:
            target = (target - self.scale.mean) / self.scale.deviation
        return RowBlock(self.encoder.transform(table), target)


@dataclass
class Preparation:
    """A model whose encoder is learned and whose setting is chosen, and its held-out rows."""

    estimator: Any
    target: ClassTarget | NumberTarget
    tested: Table
    truth: Array  # of the held-out rows
    columns: list[ParsedColumn]  # of the held-out rows
    rare: Array  # classes that are not held out
    returned: NumberedRows  # the rows of these classes, which are learned from after all
    notes: list[str]

    @property
    def width(self) -> int:
        """The number of features."""
        return sum(one.encoding.width for one in self.estimator.encoder_.columns_)

    @property
    def encoding(self) -> RowEncoding:
        """The encoding of the training rows."""
        return RowEncoding(self.estimator.encoder_, self.target, target_scale(self.estimator))

    def conclude(self, training: TrainingParts, began: float) -> None:
        """Calibrate, score and summarise the model."""
        model = self.estimator
        X = encoded(model.encoder_.columns_, self.columns, self.tested.rows)
        folds = np.zeros(self.tested.rows, np.int64)
        unseen = UnseenRows(model._scores(model.learner_, X), self.truth, folds, None, self.columns)
        model._conclude(unseen, training, self.notes, self.target.counts, began)


def fit_large_table(
    estimator: Any, parts: LabelledParts, task: str | None, memory: int, point: Checkpoint, kinds: dict[str, str]
) -> tuple[Any, int]:
    """Fit a model of tables to files; the model, and the number of rows without a label.

    `estimator` is a model of tables, or a mapping of its parameters; `kinds` are the kinds of columns known from the
    format.
    """
    began = time.perf_counter()
    survey = new_survey(estimator, parts.label, kinds, memory).read(parts)
    survey.check(expand_paths(parts.source)[0])
    ready = prepared(estimator, survey, task, kinds)
    with _temporary_cache(ready, _encoded_rows(ready, parts, survey), memory) as cache:
        training = CacheTraining(ready.estimator, cache, ready.target.counts)
        ready.estimator.learner_ = None
        if cache is not None:
            ready.estimator.learner_ = learned_from(ready, training.source, cache.contents.rows, point)
        ready.conclude(training, began)
    give_back()
    return ready.estimator, survey.unlabelled


def new_survey(estimator: Any, label: str, kinds: dict[str, str], memory: int) -> Survey:
    """A survey of no rows yet, for a model of tables or a mapping of its parameters."""
    settings = estimator.get_params() if isinstance(estimator, TableModel) else estimator
    return Survey(label, _seed(settings), {**kinds, **(settings.get("columns") or {})}, memory)


def prepared(estimator: Any, survey: Survey, task: str | None, kinds: dict[str, str]) -> Preparation:
    """Learn the encoder of a model and choose its setting, from a survey of all rows."""
    estimator, target = _target(estimator, survey, task)
    estimator._validate_params()
    rng = estimator._begin(kinds)
    estimator._seed, estimator._large = survey.seed, True
    survey.leave_rows()
    held = survey.held.joined()
    truth = target(held.labels)
    rare, notes = estimator._rare(target.counts)
    back = np.isin(truth, rare) if rare.size else np.zeros(truth.size, np.bool_)
    returned, tested = held.take(np.flatnonzero(back)), held.table.take(np.flatnonzero(~back))
    survey.learn(returned)
    columns = _learn_columns(estimator, survey, tested, truth[~back], target, notes)
    columns = _choose_setting(estimator, survey, columns, target, notes, rng)
    return Preparation(estimator, target, tested, truth[~back], columns, rare, returned, notes)


def _seed(settings: Any) -> int:
    """The seed that a model with these parameters would draw."""
    drawn = TableClassifier(random_state=settings.get("random_state"))
    drawn._begin(None)
    return drawn._seed


def _learn_columns(
    estimator: Any, survey: Survey, tested: Table, truth: Array, target: Any, notes: list[str]
) -> list[ParsedColumn]:
    """Decide the kinds of columns and learn their encodings; returns the columns of the held-out rows."""
    encoder = estimator.encoder_
    encoder._begin(list(survey.columns), True)
    estimator._name_columns()
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
            sample = survey.texts.column(name)
            if sample is None:
                encoder.left_out_[name] = "text that first appears late in a large file: declare it as text (columns)"
                continue
            encodings.append(learned(encoder._in_form(sample, parsed(sample, kind, format))))
            notes.append(f"column {name!r} is encoded by what a sample of {len(sample):,} rows has")
        else:
            encodings.append(survey.columns[name].encoding(kind, format, encoder.max_names))
        columns.append(column)
    encoder.columns_ = tuple(encodings)
    return columns


def _choose_setting(
    estimator: Any, survey: Survey, columns: list[ParsedColumn], target: Any, notes: list[str], rng: Any
) -> list[ParsedColumn]:
    """Search a sample of the rows, and encode numbers as the chosen setting requires; returns the held-out columns."""
    encoder, (table, labels, _, _) = estimator.encoder_, survey.searched.joined()
    parts = [encoder._parsed(table, one) for one in encoder.columns_]
    estimator._choose(parts, target(labels), None, None, rng)
    for k, (one, other) in enumerate(zip(parts, estimator._in_form(parts), strict=True)):
        if one is not other:
            encoder.columns_ = (*encoder.columns_[:k], learned(other), *encoder.columns_[k + 1 :])
            notes.append(f"column {one.name!r} is encoded by what a sample of {table.rows:,} rows has")
    found: list[ParsedColumn] = estimator._in_form(columns)
    return found


def _encoded_rows(ready: Preparation, parts: LabelledParts, survey: Survey) -> Iterator[RowBlock]:
    """The encoded training rows: the rows of the files that are not held out, then those of rare classes."""
    for first, table, labels, _ in parts:
        rest = np.flatnonzero(~survey.held.takes(row_hashes(first, table.rows, survey.seed)))
        if rest.size:
            yield ready.encoding(table.take(rest), labels.take(rest))
    if ready.returned.table.rows:
        yield ready.encoding(ready.returned.table, ready.returned.labels)


@contextmanager
def _temporary_cache(ready: Preparation, pieces: Iterable[RowBlock], memory: int) -> Iterator[RowCache | None]:
    """A cache of the rows, removed at the end of the block; None if there is no column to learn from."""
    if not ready.width:
        yield None
        return
    how = Reading("svmlight", n_features=ready.width, zero_based=True, multilabel=False)
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

    def ask(self, question: Callable[[TrainingRows], Any]) -> Iterator[Any]:
        """The answer to the question for each part."""
        if self.cache is None:
            yield question(no_features(self.estimator, self.counts))
            return
        numbers = isinstance(self.estimator, TableRegressor)
        wanted = RowsWanted(type(self.estimator).__name__, not numbers, False, None, True, False, False)
        yield from self.source(wanted).ask(AskTraining(question, target_scale(self.estimator)))


def no_features(estimator: Any, counts: Array) -> TrainingRows:
    """Rows for a table without a column to learn from: one per class, weighted by its count."""
    numbers = isinstance(estimator, TableRegressor)
    truth = np.full(1, estimator.target_.mean) if numbers else np.arange(counts.size)
    return TrainingRows(sp.csr_matrix((truth.size, 0)), truth, counts.astype(np.float64))


def target_scale(estimator: Any) -> TargetScale | None:
    """The scale of a numeric target; None for classes."""
    return estimator.target_ if isinstance(estimator, TableRegressor) else None


@dataclass(frozen=True)
class AskTraining:
    """A question about encoded rows and their target in the form that a table model uses."""

    question: Callable[[TrainingRows], Any]
    scale: TargetScale | None

    def __call__(self, examples: Examples, shard: int) -> Any:
        """The answer for these rows."""
        assert isinstance(examples.rows, Sparse)
        values, columns, starts = examples.rows
        X = csr_from_arrays(values, columns, starts, examples.n_features)
        target = examples.target
        if self.scale is not None:
            target = target * self.scale.deviation + self.scale.mean
        return self.question(TrainingRows(X, target, None))

    def check(self, answer: Any, rows: int, features: int) -> None:
        """Sums that are numbers."""
        must(isinstance(answer, tuple), "sums over rows")
        told = [one for one in answer if one is not None]
        must(all(isinstance(one, int | float | np.ndarray) for one in told), "numbers")
        must(not any(np.isnan(one).any() for one in told), "numbers, found NaN")


def learned_from(
    ready: Preparation, source: Callable[[RowsWanted], Any], rows: int, point: Checkpoint, mixing: str | None = None
) -> Any:
    """The learner, trained on this many rows of a source."""
    learner = ready.estimator._new_learner(rows, ready.width)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # passes are limited on purpose
        for _ in train_from(learner, source, mixing=mixing, save=point.save, resume=point.resume):
            pass
    for name in ("reading_", "_contents"):  # they describe the encoded rows, not the user's file
        vars(learner).pop(name, None)
    return learner
